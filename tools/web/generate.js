// The second page: a model from a file goes on with a text, token by token. What the last token
// looked at is shaded, of a chosen layer and all its heads.
"use strict";
let module = null, side = null, about = null, writing = false, spans = [];

function showAll() {
    showWords();
    document.title = "tfnorm.h: " + say("writeTitle");
    $("write").textContent = say(writing ? "stop" : "write");
    $("model").textContent = about ? say("aboutModel", { ...about, parameters: about.parameters.toLocaleString(language ? "de" : "en") }) : "";
}
async function open(file) {
    problem("");
    writing = false;
    const bytes = new Uint8Array(await file.arrayBuffer());
    const fresh = new Side(), answer = await fresh.ask("open", { module, bytes });
    if (answer.error) return problem(say("wrongFile", { file: file.name, why: answer.error }));
    side = fresh;
    about = answer.about;
    $("layer").replaceChildren(...Array.from({ length: about.layers }, (_, i) => new Option(i + 1, i)));
    $("write").disabled = false;
    $("output").replaceChildren();
    $("next").replaceChildren();
    showAll();
}
const settings = () => ({ temperature: Math.max(0, Number($("temperature").value) || 0), topK: Math.max(0, Number($("topK").value) | 0),
    seed: Number($("seed").value) || 0, layer: Number($("layer").value) || 0 });

function shade(weights) {
    const most = Math.max(...weights), first = spans.length - weights.length;
    spans.forEach((e, i) => {
        const weight = weights[i - first], part = weight ? Math.round(60 * weight / most) : 0;
        e.style.background = part ? `color-mix(in srgb, var(--right) ${part}%, transparent)` : "";
    });
}
function showNext(next) {
    const visible = t => t.replace(/ /g, "␣").replace(/\n/g, "↵") || "∅";
    $("next").replaceChildren(...next.flatMap(({ text, p }) => [element("span", { textContent: visible(text) }),
        element("i", { style: `width: ${(100 * p).toFixed(2)}%` }), element("span", { textContent: (100 * p).toFixed(1) + " %" })]));
}
async function write() {
    if (writing) { writing = false; return showAll(); }
    writing = true;
    showAll();
    const mine = side, first = await mine.ask("begin", { text: $("text").value, ...settings() });
    if (first.error) { writing = false; showAll(); return problem(first.error); }
    spans = first.tokens.map(t => element("span", { textContent: t.text }));
    $("output").replaceChildren(...spans);
    showNext(first.next);
    let tokens = 0, spent = 0;
    while (writing && mine === side && tokens < 3000) {
        const answer = await mine.ask("write", { count: 1000, milliseconds: 30, ...settings() });
        if (answer.error) { problem(answer.error); break; }
        for (const { text, p } of answer.tokens) {
            const e = element("span", { textContent: text, className: "new", title: (100 * p).toFixed(1) + " %" });
            spans.push(e);
            $("output").append(e);
        }
        tokens += answer.tokens.length;
        spent += answer.spent;
        if (answer.attends) shade(answer.attends);
        $("output").scrollTop = $("output").scrollHeight;
        showNext(answer.next);
        if (tokens) $("speed").textContent = say("tokensASecond", { rate: Math.round(tokens / spent * 1000) });
        if (answer.ended) break;
        await new Promise(done => setTimeout(done));
    }
    if (mine === side) { writing = false; showAll(); }
}
async function begin() {
    if (/^de\b/.test(navigator.language)) language = 1;
    if (/lang=(de|en)/.test(location.hash)) language = /lang=de/.test(location.hash) ? 1 : 0;
    $("text").value = "the dog ";
    showAll();
    themes(() => {});
    try { module = await Tfnorm.module(); }
    catch (error) { return problem(say("noEngine", { why: error.message })); }
    $("language").onclick = () => { language = 1 - language; showAll(); };
    $("choose").onclick = () => $("file").click();
    $("file").onchange = () => { if ($("file").files[0]) open($("file").files[0]); $("file").value = ""; };
    $("write").onclick = write;
    ondragover = event => event.preventDefault();
    ondrop = event => { event.preventDefault(); if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]); };
}
begin();
