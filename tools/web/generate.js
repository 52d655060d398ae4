// The second page: a model from a file continues a text, token by token. Shading shows the attention
// of the last token, in a chosen layer and head. While it pauses, the logit lens is shown, too.
"use strict";
let module = null, side = null, about = null, writing = false, spans = [], lens = null, inside = false;

function showAll() {
    showWords();
    document.title = "tfnorm.h: " + say("writeTitle");
    $("write").textContent = say(writing ? "stop" : "write");
    $("model").textContent = (inside ? say("builtIn") + " " : "") + (about ? say("aboutModel", { ...about, parameters: spokenNumber(about.parameters),
        memory: spokenNumber(Math.round(about.memory / 1e6)) }) : "");
    const chosen = $("head").value;
    $("head").replaceChildren(new Option(say("allHeads"), -1), ...Array.from({ length: about ? about.heads : 0 }, (_, i) => new Option(i + 1, i)));
    if (chosen) $("head").value = chosen;
    showLens();
}
async function open(file) {
    problem("");
    writing = false;
    const fresh = new Side(), answer = await fresh.ask("open", { module, file });
    if (answer.error) {
        fresh.end();
        return problem(say("wrongFile", { file: file.name, why: answer.error }));
    }
    if (side) side.end();
    side = fresh;
    about = answer.about;
    inside = false;
    spans = [];
    lens = null;
    $("head").value = "-1";
    $("layer").replaceChildren(...Array.from({ length: about.layers }, (_, i) => new Option(i + 1, i)));
    $("write").disabled = false;
    $("output").replaceChildren();
    $("next").replaceChildren();
    showAll();
}
const visible = t => t.replace(/ /g, "␣").replace(/\n/g, "↵") || "∅";
const percent = p => (100 * p).toFixed(1) + " %";
// Shows the three likeliest tokens after each layer, and marks the last layer's first choice.
function showLens() {
    $("lensWhy").textContent = !about || (lens && lens.layers) ? "" : !about.lens ? say("lensLarge") : lens ? lens.error : say("lensWait");
    $("lens").replaceChildren(...(lens && lens.layers || []).map((row, i, all) => element("tr", {},
        element("th", { scope: "row", textContent: i ? `${say("layer")} ${i}` : say("embedding") }),
        ...row.map(({ text, p }) => element("td", { className: text === all.at(-1)[0].text ? "chosen" : "" },
            element("code", { textContent: visible(text) }), " " + percent(p))))));
}
async function look() {
    const mine = side, answer = about.lens ? await mine.ask("lens", { count: 3 }) : null;
    if (mine !== side || writing) return;
    lens = answer;
    showLens();
}
const settings = () => ({ temperature: Math.max(0, Number($("temperature").value) || 0), topK: Math.max(0, Number($("topK").value) | 0),
    seed: Number($("seed").value) || 0, layer: Number($("layer").value) || 0, head: Number($("head").value || -1) });

function shade(weights) {
    const most = Math.max(...weights), first = spans.length - weights.length;
    spans.forEach((e, i) => {
        const weight = weights[i - first], part = weight ? Math.round(60 * weight / most) : 0;
        e.style.background = part ? `color-mix(in srgb, var(--right) ${part}%, transparent)` : "";
    });
}
function showNext(next) {
    $("next").replaceChildren(...next.flatMap(({ text, p }) => [element("span", { textContent: visible(text) }),
        element("i", { style: `width: ${(100 * p).toFixed(2)}%` }), element("span", { textContent: percent(p) })]));
}
// The model inside knows single sentences: after one it begins another.
const BEGINNINGS = ["a girl ", "the mice ", "two ", "the old ", "the child ", "small ", "the teacher ", "a fast "];
async function write() {
    if (writing) { writing = false; return showAll(); }
    if (!about) return;
    writing = true;
    showAll();
    $("output").replaceChildren();
    const mine = side, more = inside ? BEGINNINGS : [];
    for (const text of [$("text").value, ...more]) {
        if (!await writeOne(mine, text)) break;
        $("output").append("\n");
    }
    if (mine === side) { writing = false; showAll(); look(); }
}
// Continues one text. Returns true if it has ended.
async function writeOne(mine, text) {
    const first = await mine.ask("begin", { text, ...settings() });
    if (mine !== side) return false;
    if (first.error) { problem(first.error); return false; }
    for (const e of spans) e.style.background = "";
    spans = first.tokens.map(t => element("span", { textContent: t.text }));
    $("output").append(...spans);
    showNext(first.next);
    let tokens = 0, spent = 0;
    while (writing && mine === side && tokens < 3000) {
        const answer = await mine.ask("write", { count: inside ? 1 : 1000, milliseconds: 30, ...settings() });
        if (mine !== side) return false;
        if (answer.error) { problem(answer.error); return false; }
        for (const { text, p } of answer.tokens) {
            const e = element("span", { textContent: text, className: "new", title: percent(p) });
            spans.push(e);
            $("output").append(e);
        }
        tokens += answer.tokens.length;
        spent += answer.spent;
        if (answer.attends) shade(answer.attends);
        $("output").scrollTop = $("output").scrollHeight;
        showNext(answer.next);
        if (tokens) $("speed").textContent = say("tokensASecond", { rate: Math.round(tokens / spent * 1000) });
        if (answer.ended) return true;
        await new Promise(done => setTimeout(done, inside ? 40 : 0));       // slow enough to follow
    }
    return false;
}
async function begin() {
    if (/^de\b/.test(navigator.language)) language = 1;
    if (/lang=(de|en)/.test(location.hash)) language = /lang=de/.test(location.hash) ? 1 : 0;
    $("text").value = "the dog ";
    showAll();
    themes(() => {});
    module = await loaded();
    if (!module) return;
    $("language").onclick = () => { language = 1 - language; showAll(); };
    $("choose").onclick = chosenFiles($("file"), open);
    $("write").onclick = write;
    droppedFiles(open);
    await open(new File([Uint8Array.from(atob(MODEL), c => c.charCodeAt(0))], "model.safetensors"));
    inside = true;
    showAll();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) write();
}
begin();
