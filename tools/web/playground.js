// The page: its state, the two workers, the drawings.
"use strict";
const SIDES = ["left", "right"];
const wholes = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => String(from + i));

// The options of a side in their order. flag: of normlab compare; whose: what that takes without it;
// values or rows: what there is to choose from; number: anything of that kind.
const OPTIONS = [
    { name: "recipe", rows: "recipe", usual: ["post", "pre"] },
    { name: "norm", flag: "--norm", rows: "norm", own: true, usual: "" },
    { name: "init", flag: "--init", rows: "init", own: true, usual: "" },
    { name: "layers", flag: "--layers", whose: "6", values: wholes(1, 24), usual: "4" },
    { name: "width", flag: "--width", whose: "32", values: ["16", "32", "48", "64", "96", "128"], usual: "32" },
    { name: "base", flag: "--mup", whose: "0", values: ["0", "16", "32", "48", "64", "96", "128"], usual: "0" },
    { name: "heads", flag: "--heads", whose: "2", values: ["1", "2", "4", "8"], usual: "2" },
    { name: "optimizer", flag: "--optimizer", rows: "optimizer", whose: "adam", usual: "adam" },
    { name: "lr", flag: "--lr", whose: "0.002", number: { min: 0, max: 1000, step: "any" }, usual: "0.008" },
    { name: "warmup", flag: "--warmup", whose: "0", number: { min: 0, max: 100000, step: 1 }, usual: "0" },
    { name: "schedule", flag: "--schedule", rows: "schedule", whose: "linear", usual: "linear" },
    { name: "steps", flag: "--steps", whose: "400", number: { min: 1, max: 100000, step: 1 }, usual: "500" },
    { name: "dropout", flag: "--dropout", whose: "0", number: { min: 0, max: 0.9, step: "any" }, usual: "0" },
    { name: "task", flag: "--task", whose: "reverse", values: ["reverse", "grammar", "headline", "text", "markov", "file"], usual: "reverse" },
    { name: "seed", flag: "--seed", whose: "1", number: { min: 0, max: 1e9, step: 1 }, usual: "1" },
];
const MUP_OPTIMIZERS = ["adam", "adamw", "radam", "lion", "sgd"];       // whose rates muP knows
// Comparisons of one click. One initialization on both sides, where it is not the subject.
const PRESETS = [
    { name: "presetPlace", set: "" },
    { name: "presetWarm", set: "recipe=post&warmup=0~200" },
    { name: "presetDeep", set: "recipe=post~pre&layers=12&lr=0.002&warmup=100&steps=400" },
    { name: "presetB2t", set: "recipe=post~b2t&init=xavier&layers=10&lr=0.002&warmup=100&steps=400" },
    { name: "presetAdmin", set: "recipe=post~admin&init=xavier&layers=6&lr=0.004&steps=600" },
    { name: "presetDeepNorm", set: "recipe=post~deepnorm&layers=6&lr=0.004&steps=600" },
    { name: "presetRms", set: "recipe=pre&norm=~rmsnorm" },
    { name: "presetSame", set: "recipe=pre" },
];
const NAMES = { post: "Post-LN", pre: "Pre-LN", admin: "Admin", b2t: "B2T", deepnorm: "DeepNorm", peri: "Peri-LN", rezero: "ReZero", lns: "LayerNorm Scaling",
    "resi-dual": "ResiDual", sandwich: "Sandwich-LN", dlcl: "DLCL", "t-fixup": "T-Fixup", "mix-ln": "Mix-LN", ngpt: "nGPT", hybridnorm: "HybridNorm" };
const usual = (option, side) => Array.isArray(option.usual) ? option.usual[side] : option.usual;
const initial = side => Object.fromEntries(OPTIONS.map(o => [o.name, usual(o, side)]));

const state = { sides: [initial(0), initial(1)], row: 0, kind: 0, layer: 0, head: 0, speed: 3 };
let playing = false, turn = 0, drawn = 0, scales = {}, handles = [], boxes = {}, rows = {}, shelf = null, module = null;
let pace = 1;                       // updates of a turn, so that it ends between two drawings
let ownText = null;                 // { name, bytes, hash } of the task "file"
const TEXT_LEAST = 1000, TEXT_MOST = 2 ** 23;
let runs = [0, 1].map(() => blank());

function blank() {
    return { first: 0, step: 0, losses: [], held: [], rates: [], hashes: new Map(), guessing: 0,
             seen: null, firstSeen: null, report: null, look: null, ready: false, error: "", parameters: 0 };
}

// -- the address ----------------------------------------------------------------------------------

// An option that is usual on both sides is left out; "post~pre" is left and right, "post" both.
function address() {
    const q = new URLSearchParams();
    for (const o of OPTIONS) {
        const [a, b] = state.sides.map(s => s[o.name]);
        if (a === usual(o, 0) && b === usual(o, 1)) continue;
        q.set(o.name, a === b ? a : a + "~" + b);
    }
    for (const name of ["row", "kind", "layer", "head"]) if (state[name]) q.set(name, state[name]);
    if (state.speed !== 3) q.set("speed", state.speed);
    if (language) q.set("lang", "de");
    return q.toString().replace(/%7E/g, "~");
}
function readAddress(text) {
    const q = new URLSearchParams(text);
    for (const o of OPTIONS) {
        const value = q.get(o.name);
        [0, 1].forEach(side => {
            let x = value === null ? usual(o, side) : value.split("~")[value.includes("~") ? side : 0];
            if (o.name === "schedule" && x === "step") x = usual(o, side);      // it needs an option that is not here
            if (o.values && !o.values.includes(x) && !/^[0-9]+$/.test(x)) x = usual(o, side);
            state.sides[side][o.name] = x;
        });
    }
    for (const name of ["row", "kind", "layer", "head"]) state[name] = Number(q.get(name)) || 0;
    state.speed = q.has("speed") ? Math.min(3, Number(q.get("speed")) || 0) : 3;
    if (q.has("lang")) language = q.get("lang") === "de" ? 1 : 0;
}
function keepAddress() {
    const text = address();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
}

// The arguments of normlab compare for a side, without those that have its default values.
function argumentsOf(side) {
    const s = state.sides[side], args = [s.recipe];
    for (const o of OPTIONS)
        if (o.flag && s[o.name] !== "" && s[o.name] !== o.whose) args.push(o.flag, s[o.name]);
    return args;
}
// The settings of a side: norm and initialization are the recipe's unless it sets others.
function resolved(side, option) {
    const value = state.sides[side][option.name];
    if (option.number) return String(Number(value));
    if (!option.own || value) return value;
    const recipe = rows.recipe && rows.recipe.find(r => r.name === state.sides[side].recipe);
    return recipe ? recipe[option.name] : "";
}
const differs = option => resolved(0, option) !== resolved(1, option);
const differences = () => OPTIONS.filter(differs);
const planned = () => Math.max(...state.sides.map(s => Number(s.steps) || 1));

// -- workers --------------------------------------------------------------------------------------

let workers = null;

// -- a run ----------------------------------------------------------------------------------------

async function restart(checkpoints = [null, null]) {
    const mine = ++turn;
    scales = {};
    pace = 1;
    runs = [0, 1].map(() => blank());
    keepAddress();
    showPresets();
    showOptions();
    showBlocks();
    draw(true);
    $("problem").hidden = true;
    await Promise.all([0, 1].map(async side => {
        workers[side].renew();
        const own = state.sides[side].task === "file";
        if (own && !ownText) return fail(side, say("textMissing"));
        const answer = await workers[side].ask("start", { module, args: argumentsOf(side),
            steps: planned(), checkpoint: checkpoints[side], text: own ? ownText.bytes : null });
        if (mine !== turn) return;
        const run = runs[side];
        if (answer.error) return fail(side, answer.error);
        if (own) ownText.hash = answer.hash;
        Object.assign(run, { first: answer.step, step: answer.step, held: answer.held, rates: answer.rates,
            guessing: answer.guessing, parameters: answer.parameters, ready: true });
    }));
    if (mine !== turn) return;
    draw(true);
    look();
    if (playing) loop(mine);
    else if (!tour) foresee(mine);      // a lesson asks for a prediction first
}
// The charts of a run that waits show what its first update will be.
async function foresee(mine) {
    await Promise.all([0, 1].map(async side => {
        const run = runs[side];
        if (!run.ready || run.error || run.seen) return;
        const answer = await workers[side].ask("foresee", { module });
        if (mine === turn && !answer.error && !run.seen) run.seen = answer.seen;
    }));
    if (mine === turn) draw(true);
}
function fail(side, why) {
    runs[side].error = refusal(why);
    problem(say("failed", { side: say(SIDES[side]), why: refusal(why) }));
}

// Both sides go on to the same update. A side with fewer updates, such as the one next to a loaded
// checkpoint, catches up.
async function advance(mine, count) {
    const steps = runs.filter(r => r.ready && !r.error).map(r => r.step);
    const goal = Math.max(...steps, Math.min(...steps) + count);
    while (mine === turn && runs.some(r => r.ready && !r.error && r.step < goal)) {
        const begin = performance.now();
        await Promise.all([0, 1].map(async side => {
            const run = runs[side];
            if (!run.ready || run.error || run.step >= goal) return;
            const answer = await workers[side].ask("run", { to: goal, milliseconds: 200 });
            if (mine !== turn) return;
            if (answer.error) return fail(side, answer.error);
            for (let i = 0; i < answer.losses.length; i += 2) run.losses.push(answer.losses[i]);
            run.held.push(...answer.held);
            for (const [step, hash] of answer.hashes) run.hashes.set(step, hash);
            run.step = answer.step;
            run.report = answer.report || run.report;
            run.seen = answer.seen || run.seen;
            run.firstSeen = run.firstSeen || answer.firstSeen || run.seen;
        }));
        if (mine !== turn) return;
        const spent = performance.now() - begin;
        pace = Math.max(1, Math.min(50, Math.round(count * TURN / Math.max(1, spent)), pace * 2));
        draw();
    }
}
const waits = [1000, 200, 40, 0];
const TURN = 20, FRAME = 25;        // milliseconds; every other frame of a sixtieth of a second is drawn
async function loop(mine) {
    let looked = 0;
    while (playing && mine === turn) {
        const step = Math.max(...runs.map(r => r.step));
        if (step >= planned() || runs.every(r => r.error)) {
            setPlaying(false);
            break;
        }
        const begin = performance.now();
        await advance(mine, Math.min(state.speed === 3 ? pace : 1, Math.max(1, planned() - step)));
        if (performance.now() - looked > 1000) {
            looked = performance.now();
            await look();
        }
        const rest = waits[state.speed] - (performance.now() - begin);
        if (rest > 0) await new Promise(done => setTimeout(done, rest));
    }
    if (mine === turn) {
        draw(true);
        await look();
    }
}
const ended = () => Math.max(...runs.map(r => r.step)) >= planned();
function setPlaying(on) {
    playing = on;
    $("play").textContent = say(on ? "pause" : "play");
    $("play").setAttribute("aria-pressed", on);
}
function play() {
    if (!module) return;
    if (!playing && ended()) {
        setPlaying(true);
        restart();
        return;
    }
    setPlaying(!playing);
    if (playing && runs.every(r => r.ready || r.error)) loop(turn);
}
async function oneStep() {
    setPlaying(false);
    if (!runs.every(r => r.ready || r.error) || ended()) return;
    await advance(turn, 1);
    draw(true);
    look();
}

// Shows what both sides write for a sentence, and their attention.
let looking = false;
async function look() {
    if (looking) return;
    looking = true;
    const mine = turn, both = [0, 1].filter(side => runs[side].ready && !runs[side].error);
    const places = [[1, 0], [1, 1], [0, 0]], [stack, kind] = places[state.kind];
    await Promise.all(both.map(async side => {
        const heads = Number(state.sides[side].heads), layers = Number(state.sides[side].layers);
        const answer = await workers[side].ask("look", { row: state.row, stack, kind,
            layer: Math.min(state.layer, layers - 1), head: Math.min(state.head, heads - 1) });
        if (mine === turn && !answer.error) runs[side].look = answer;
    }));
    looking = false;
    if (mine === turn) showLook();
    else look();
}

// -- display --------------------------------------------------------------------------------------

function showTexts() {
    showWords();
    document.title = "tfnorm.h: " + say("title");
    $("equal").title = say("equalHelp");
    const fill = (id, texts, chosen) =>
        $(id).replaceChildren(...texts.map((text, i) => new Option(text, i, false, i === chosen)));
    fill("speed", say("speeds"), state.speed);
    fill("kind", say("kinds"), state.kind);
    setPlaying(playing);
    showTerms();
}

function choices(option, side) {
    const list = rows[option.rows];
    if (option.name === "task")
        return option.values.map(v => [v, v === "file" && ownText ? ownText.name : say("tasks")[v]]);
    if (!list) return option.values.map(v => [v, option.name === "base" && v === "0" ? say("off") : v]);
    const all = list.filter(r => option.name !== "schedule" || r.name !== "step")       // it needs one more option
        .map(r => [r.name, r.name, r.formula + "\n" + r.paper]);
    if (!option.own) return all;
    const recipe = rows.recipe.find(r => r.name === state.sides[side].recipe);
    return [["", `(${recipe ? recipe[option.name] : ""})`, say("own")], ...all];
}
// muP works with five optimizers.
function excluded(option, side, value) {
    const s = state.sides[side];
    if (option.name === "optimizer") return s.base !== "0" && !MUP_OPTIMIZERS.includes(value);
    return option.name === "base" && value !== "0" && !MUP_OPTIMIZERS.includes(s.optimizer);
}
function control(option, side) {
    const label = `${say(option.name)}, ${say(SIDES[side])}`, value = state.sides[side][option.name];
    let e;
    if (option.number) {
        e = element("input", { type: "number", ...option.number, value });
    } else {
        const list = choices(option, side);
        if (!list.some(([v]) => v === value)) list.push([value, value]);
        e = element("select", {}, ...list.map(([v, text, title]) =>
            Object.assign(new Option(text, v, false, v === value), { title: title || "", disabled: v !== value && excluded(option, side, v) })));
    }
    e.dataset.option = option.name;
    e.dataset.side = side;
    e.setAttribute("aria-label", label);
    e.onchange = () => {
        if (e.value === "" && option.number) e.value = usual(option, side);
        state.sides[side][option.name] = e.value;
        restart();
        if (option.name === "task" && e.value === "file" && !ownText) $("fileText").click();
    };
    return e;
}
function showOptions() {
    const active = document.activeElement && document.activeElement.dataset;
    $("options").replaceChildren(...OPTIONS.map(o => {
        const name = element("span", { textContent: say(o.name) });
        if (GLOSSARY[o.name]) term(name, o.name);
        const row = element("tr", {}, element("th", { scope: "row" }, name),
            ...[0, 1].map(side => element("td", {}, control(o, side))));
        if (differs(o)) row.className = "differs";
        return row;
    }));
    if (active && active.option)
        $("options").querySelector(`[data-option="${active.option}"][data-side="${active.side}"]`).focus();
    const list = differences(), named = o => `${say(o.name)} (${resolved(0, o) || "–"}, ${resolved(1, o) || "–"})`;
    const what = list.map(named).join(", ");
    $("oneInit").hidden = !list.some(o => o.name === "init");
    const key = list.length === 0 ? "differsNothing" : list.length === 1 ? "differs" : "differsMany";
    const text = say(key, { what: "\0", count: list.length }).split("\0");
    $("difference").replaceChildren(text[0], ...(list.length ? [element("mark", { textContent: what }), text[1] || ""] : []));
    const most = name => Math.max(...state.sides.map(s => Number(s[name])));
    for (const [id, name] of [["layer", "layers"], ["head", "heads"]])
        $(id).replaceChildren(...wholes(1, most(name)).map((t, i) => new Option(t, i, false, i === Math.min(state[id], most(name) - 1))));
}

// The row of the header that makes a block: under its picture, and where the pointer is on it.
function headerRow(recipe, picture) {
    const [line, text] = HEADER.rows[HEADER.recipes[recipe]], name = say(line ? "headerLine" : "headerRow", { line });
    picture.onpointermove = event => tip(event, name + "\n" + text);
    picture.onpointerleave = event => tip(event);
    const row = element("details", {}, element("summary", { textContent: name }), element("pre", { textContent: text }));
    if (HEADER.source) row.append(element("a", { href: `${HEADER.source}#L${line}`, textContent: `${HEADER.source}#L${line}` }));
    return row;
}
// The two small layers, with an explanation of each box.
let minis = [];
function showMinis() {
    const text = state.sides.some(s => ["text", "markov", "file"].includes(s.task));
    minis = [0, 1].map(side => {
        const s = state.sides[side], layers = Math.max(1, Number(s.layers) || 1), layer = Math.ceil(layers / 2);
        const norm = rows.norm.find(r => r.name === resolved(side, OPTIONS[1]));
        const items = shelf.block(s.recipe, text ? 3 : 0, layers, layer, false);
        return { side, stack: text ? 1 : 0, layer: layer - 1, norm, items, list: items.length ? Picture.boxes(items, norm ? norm.name : "") : [], of: layers };
    });
    Picture.compare(minis[0].list, minis[1].list);
    $("minis").replaceChildren(...minis.map(mini => {
        const { side, list, items } = mini, recipe = state.sides[side].recipe, row = rows.recipe.find(r => r.name === recipe);
        const box = element("div", { className: SIDES[side] }, element("h3", {}, element("i"), element("b", { textContent: NAMES[recipe] || recipe })));
        if (!row || !list.length) return box;
        const picture = element("div", { className: "layer" });
        picture.innerHTML = Picture.svg(items, list, `${say(SIDES[side])}: ${row.formula}`);
        picture.querySelectorAll("[data-box]").forEach(g => g.setAttribute("aria-label", list[g.dataset.box].label));
        mini.flow = element("p", { className: "flow" });
        box.append(element("p", { textContent: Picture.places(list) }), picture, mini.flow);
        return box;
    }));
    showFlow();
}
const seenOf = (mini, kind) => (runs[mini.side].seen || []).find(s => s.stack === mini.stack && s.layer === mini.layer && s.kind === kind);
function boxText(mini, index) {
    const item = mini.list[index];
    return Picture.about(item, seenOf(mini, item.kind), mini.norm);
}
// The size of the stream at each point of the drawn layer.
function showFlow() {
    for (const mini of minis) {
        if (!mini.flow) continue;
        const seen = (runs[mini.side].seen || []).filter(s => s.stack === mini.stack && s.layer === mini.layer);
        const place = say("flowPlace", { stack: say(mini.stack ? "decoder" : "encoder"), layer: mini.layer + 1, layers: mini.of });
        const sizes = seen.length ? [seen[0].input, ...seen.map(s => s.stream)].map(Picture.size).join(" → ") : "…";
        mini.flow.textContent = say("flow", { place, sizes });
    }
}
function showBlocks() {
    showMinis();
    $("blocks").replaceChildren(...[0, 1].map(side => {
        const s = state.sides[side], row = rows.recipe.find(r => r.name === s.recipe);
        const box = element("div", { className: SIDES[side] });
        if (!row) return box;
        const layers = Math.max(1, Number(s.layers)), alone = ["text", "markov", "file"].includes(s.task);
        box.append(element("h3", {}, element("b", { textContent: s.recipe })),
            element("p", {}, element("code", { textContent: row.formula })),
            element("p", { textContent: row.paper }),
            element("p", { textContent: say("normIs", { norm: s.norm || row.norm, init: s.init || row.init }) }));
        const picture = element("div");
        picture.innerHTML = Charts.block(shelf.block(s.recipe, alone ? 3 : 1, layers, Math.ceil(layers / 2)));
        const svg = picture.querySelector("svg");
        if (svg) {
            svg.setAttribute("role", "img");
            svg.setAttribute("aria-label", `${s.recipe}: ${row.formula}`);
        }
        box.append(picture, headerRow(s.recipe, picture));
        return box;
    }));
}

const last = list => list[list.length - 1];
function showNumbers() {
    $("numbers").replaceChildren(...[0, 1].map(side => {
        const run = runs[side], held = run.held.length ? Charts.short(last(run.held)) : "–";
        const line = element("span", { className: SIDES[side] }, element("b", { textContent: state.sides[side].recipe }), ` ${held}`);
        if (run.parameters) line.append(" · " + say("parameters", { count: spokenNumber(run.parameters) }));
        if (run.report && run.report.skipped) line.append(" ", element("span", { className: "bad", textContent: say("skipped") }));
        if (run.error) line.append(" ", element("span", { className: "bad", textContent: run.error }));
        return line;
    }));
}
let clock = { step: 0, time: 0, rate: 0 };
function showCounter() {
    const step = Math.max(...runs.map(r => r.step)), now = performance.now();
    if (step < clock.step) clock = { step, time: now, rate: 0 };
    if (now - clock.time > 1000) clock = { step, time: now, rate: (step - clock.step) / (now - clock.time) * 1000 };
    const parts = [element("b", { textContent: say("update", { step }) }), ` / ${planned()}`];
    if (playing && clock.rate > 0) parts.push(" · " + say("stepsASecond", { rate: Charts.short(+clock.rate.toPrecision(2)) }));
    $("counter").replaceChildren(...parts);
    $("progress").value = Math.min(1, step / planned());
}
function showHashes() {
    $("badge").textContent = module ? say(module.kind === "relaxed" ? "bitsCanonical" : "bitsOther") : "";
    const step = Math.max(0, ...[...runs[0].hashes.keys()].filter(k => runs[1].hashes.has(k)));
    if (!step) return $("hashes").replaceChildren(element("p", { textContent: say("bitsWait") }));
    const isa = module.kind === "relaxed" ? "" : " --isa sse2", list = differences();
    const named = side => state.sides[side].task === "file" ? ` --text '${ownText.name.replace(/'/g, "'\\''")}'` : "";
    const command = side => "normlab compare " + argumentsOf(side).join(" ") + named(side) + isa + " --hash " + step;
    const lines = [0, 1].map(side => element("p", { className: SIDES[side] },
        element("b", { textContent: say(SIDES[side]) }), " ", element("code", { textContent: runs[side].hashes.get(step) })));
    let text = command(0) + "\n" + command(1);
    if (list.every(o => o.name === "recipe"))
        text = command(0).replace(state.sides[0].recipe, [...new Set(state.sides.map(s => s.recipe))].join(" "));
    $("hashes").replaceChildren(element("p", { textContent: say("bitsText", { step }) }), ...lines,
        element("pre", { textContent: text }));
}
function marked(wrote, right) {
    const apart = right.includes(" "), a = apart ? wrote.split(" ") : [...wrote], b = apart ? right.split(" ") : [...right];
    return a.flatMap((t, i) => [t === b[i] ? t : element("s", { textContent: t }), apart ? " " : ""]);
}
function showLook() {
    const any = runs.find(r => r.look);
    if (!any) return;
    const { read, right } = any.look.sample, cells = [];
    cells.push(element("dt", { textContent: say("reads") }), element("dd", { textContent: read }));
    runs.forEach((run, side) => {
        const wrote = run.look ? run.look.sample.wrote : "";
        cells.push(element("dt", { textContent: say(SIDES[side]) }),
            element("dd", { className: "wrote " + SIDES[side] }, ...(run.look ? marked(wrote, run.look.sample.right) : [])));
    });
    cells.push(element("dt", { textContent: say("wanted") }), element("dd", { textContent: right }));
    $("samples").replaceChildren(...cells);
    [0, 1].forEach(side => {
        const canvas = $("attention" + side);
        boxes["attention" + side] = runs[side].look && Charts.attention(canvas, runs[side].look.attention, side);
        canvas.setAttribute("aria-label", `${say("attention")}, ${say(SIDES[side])}: ${state.sides[side].recipe}`);
    });
}

const PICKS = {
    gradient: s => s.gradient, stream: s => s.stream, branch: s => s.branch,
    share: s => s.branch / (s.sum || s.stream),
    moved: s => s.weights > 0 ? s.moved / s.weights : 0,
};
const still = matchMedia("(prefers-reduced-motion: reduce)");
let pending = false, urgent = false, spoke = 0, spelled = 0;      // texts change four times a second
function draw(now = false) {
    urgent = urgent || now;
    if (pending) return;
    pending = true;
    requestAnimationFrame(drawFrame);
}
function drawFrame() {
    const time = performance.now(), whole = urgent;
    if (!whole && time - drawn < (still.matches ? 500 : FRAME)) return requestAnimationFrame(drawFrame);
    pending = urgent = false;
    drawn = time;
    boxes.loss = Charts.loss($("loss"), runs, planned());
    for (const id in PICKS) boxes[id] = Charts.bars($(id), runs, PICKS[id], scales[id] ||= {});
    handles = Charts.rate($("rate"), runs, planned(), Math.max(...runs.map(r => r.step)),
        state.sides.map(s => ({ warmup: Number(s.warmup) })));
    showCounter();
    if (time - spelled < 250 && !whole) return;
    spelled = time;
    showNumbers();
    showFlow();
    $("step").disabled = ended();
    showHashes();
    speak(time);
}
// Describes the curves for screen readers.
function speak(time) {
    const at = side => runs[side].held.length ? Charts.short(last(runs[side].held)) : "–";
    const text = say("spoken", { step: Math.max(...runs.map(r => r.step)), steps: planned(), left: at(0), right: at(1) });
    $("loss").setAttribute("aria-label", text);
    $("rate").setAttribute("aria-label", say("rate"));
    for (const id in PICKS) {
        const range = runs.map((run, side) => {
            const values = (run.seen || []).map(PICKS[id]);
            return values.length ? `${say(SIDES[side])} ${Charts.short(Math.min(...values))} – ${Charts.short(Math.max(...values))}` : "";
        });
        $(id).setAttribute("aria-label", `${say(id)}: ${range.join(", ")}`);
    }
    if (time - spoke < 5000) return;
    spoke = time;
    $("spoken").textContent = text;
}

// -- input ----------------------------------------------------------------------------------------

function tip(event, text) {
    const t = $("tip");
    t.hidden = !text;
    if (!text) return;
    t.textContent = text;
    const { width, height } = t.getBoundingClientRect();
    t.style.left = Math.min(event.clientX + 14, innerWidth - width - 6) + "px";
    t.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 6)) + "px";
}
const inside = (event, canvas) => {
    const r = canvas.getBoundingClientRect();
    return [event.clientX - r.left, event.clientY - r.top];
};
// At an element: for taps and the keyboard.
function tipAt(e, text) {
    const r = e.getBoundingClientRect();
    tip({ clientX: r.left - 14, clientY: r.bottom - 8 }, text);
}
// Words that are explained: where the pointer is, at a tap, and at the focus.
function term(e, name) {
    e.dataset.term = name;
    e.tabIndex = 0;
    e.setAttribute("role", "button");
    e.setAttribute("aria-describedby", "term-" + name);
}
function showTerms() {
    $("glossary").replaceChildren(...Object.keys(GLOSSARY).map(name => element("p", { id: "term-" + name, textContent: GLOSSARY[name][language] })));
    for (const e of document.querySelectorAll("[data-term]")) term(e, e.dataset.term);
}
function explained(e) {
    const word = e.closest("[data-term]"), box = e.closest("[data-box]");
    if (word) return [word, GLOSSARY[word.dataset.term][language]];
    if (!box || !box.closest("#minis")) return null;
    return [box, boxText(minis[box.closest("#minis > .left") ? 0 : 1], Number(box.dataset.box))];
}
function explanations() {
    let shown = null;
    const show = (event, follow) => {
        const found = event.target.closest && explained(event.target);
        if (!found) {
            if (shown) tip(event);
            shown = null;
            return;
        }
        shown = found[0];
        if (follow) tip(event, found[1]);
        else tipAt(...found);
    };
    document.addEventListener("pointermove", event => { if (event.pointerType === "mouse" || shown) show(event, true); });
    document.addEventListener("click", event => show(event, false));
    document.addEventListener("focusin", event => show(event, false));
    document.addEventListener("focusout", event => { if (shown) tip(event); shown = null; });
}
function tips() {
    explanations();
    $("loss").onpointermove = event => {
        const [x] = inside(event, $("loss")), step = boxes.loss && boxes.loss.step(x);
        if (!(step >= 0)) return tip(event);
        const line = side => {
            const run = runs[side], y = run.losses[step - 1 - run.first];
            return `${say(SIDES[side])}: ${y === undefined ? "–" : Charts.short(y)}`;
        };
        tip(event, `${say("update", { step })}\n${line(0)}\n${line(1)}`);
    };
    for (const id in PICKS) $(id).onpointermove = event => {
        const b = boxes[id];
        if (!b) return tip(event);
        const [x] = inside(event, $(id)), place = b.longest[Math.floor((x - b.box.x) / b.wide)];
        if (!place) return tip(event);
        const kinds = ["Self-Attention", "Cross-Attention", "Feed-Forward", "Feed-Forward 1"];
        const value = side => {
            const found = b.rows[side].find(s => s.stack === place.stack && s.layer === place.layer && s.kind === place.kind);
            return `${say(SIDES[side])}: ${found ? Charts.short(found.value) : "–"}`;
        };
        tip(event, `${say(place.stack ? "decoder" : "encoder")} ${place.layer + 1}, ${kinds[place.kind]}\n${value(0)}\n${value(1)}`);
    };
    [0, 1].forEach(side => $("attention" + side).onpointermove = event => {
        const b = boxes["attention" + side];
        if (!b) return tip(event);
        const [x, y] = inside(event, $("attention" + side));
        const i = Math.floor((y - b.y0) / b.cell), j = Math.floor((x - b.x0) / b.cell), { queries, keys, weights } = b.map;
        if (i < 0 || j < 0 || i >= queries.length || j >= keys.length) return tip(event);
        tip(event, `${queries[i]} → ${keys[j]}: ${weights[i * keys.length + j].toFixed(3)}`);
    });
    for (const canvas of document.querySelectorAll("canvas")) canvas.onpointerleave = event => tip(event);
}
// The peak of a schedule follows the pointer; the run begins anew when it is let go.
function dragging() {
    const canvas = $("rate");
    let held = -1;
    canvas.onpointerdown = event => {
        const [x, y] = inside(event, canvas);
        const far = handles.map(h => Math.hypot(h.x - x, h.y - y));
        held = far[1] < far[0] ? 1 : 0;
        if (!(far[held] < 30)) held = -1;
        else canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = event => {
        const [x, y] = inside(event, canvas);
        canvas.style.cursor = handles.some(h => Math.hypot(h.x - x, h.y - y) < 14) ? "grab" : "default";
        if (held < 0) return;
        const { box, most, steps } = handles[held], s = state.sides[held];
        const part = Math.max(0, Math.min(1, (x - box.x) / box.w)), high = Math.max(0.01, (box.y + box.h - y) / box.h);
        s.warmup = String(Math.round(part * steps));
        s.lr = String(+(Number(s.lr) > 0 ? high * most : 1e-3).toPrecision(2));
        tip(event, `${say("lr")} ${s.lr}\n${say("warmup")} ${s.warmup}`);
    };
    canvas.onpointerup = canvas.onpointercancel = event => {
        if (held >= 0) restart();
        held = -1;
        tip(event);
    };
}

function download(name, data, type) {
    const a = element("a", { href: URL.createObjectURL(new Blob([data], { type })), download: name });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
async function save(side) {
    const options = new URLSearchParams(state.sides[side]);
    if (state.sides[side].task === "file") options.set("text", ownText.hash);
    const answer = await workers[side].ask("save", { extra: "playground " + options });
    if (answer.error) return fail(side, answer.error);
    download(`${state.sides[side].recipe}-${runs[side].step}.safetensors`, answer.bytes, "application/octet-stream");
}
// Loads a checkpoint with its settings. The other side begins anew and catches up.
async function open(side, file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const reader = new Side(), answer = await reader.ask("extra", { module, bytes });
    reader.end();
    if (answer.error) return problem(say("wrongFile", { file: file.name, why: answer.error }));
    if (!answer.extra.startsWith("playground ")) return problem(say("noExtra", { file: file.name }));
    const q = new URLSearchParams(answer.extra.slice(11));
    if (q.has("text") && !ownText) return problem(say("textMissing"));
    if (q.has("text") && q.get("text") !== ownText.hash) return problem(say("textOther", { file: file.name }));
    for (const o of OPTIONS) state.sides[side][o.name] = q.get(o.name) ?? o.whose ?? usual(o, side);
    setPlaying(false);
    await restart([0, 1].map(k => k === side ? bytes : null));
}
// Takes a text that both sides learn. It may have no control characters except tabs and the ends of
// lines and pages.
async function openText(file) {
    const wrong = (name, values) => problem(say(name, { file: file.name, ...values }));
    if (file.size < TEXT_LEAST) return wrong("textSmall", { bytes: file.size, least: TEXT_LEAST });
    if (file.size > TEXT_MOST) return wrong("textLarge", { bytes: file.size, most: TEXT_MOST });
    const bytes = new Uint8Array(await file.arrayBuffer());
    const at = bytes.findIndex(x => x < 9 || x === 11 || (x > 13 && x < 32));
    if (at >= 0) return wrong("textWrong", { at: at + 1, value: bytes[at] });
    ownText = { name: file.name, bytes, hash: "" };
    for (const s of state.sides) s.task = "file";
    setPlaying(false);
    await restart();
}
// Checkpoints begin with the length of a text "{...", eight bytes.
async function dropped(side, file) {
    const head = new Uint8Array(await file.slice(0, 9).arrayBuffer());
    if (file.name.endsWith(".safetensors") || (head[8] === 123 && head[7] === 0)) open(side, file);
    else openText(file);
}
function csv() {
    const held = runs.map(r => new Map(Array.from({ length: r.held.length / 2 }, (_, i) => [r.held[2 * i], r.held[2 * i + 1]])));
    const lines = ["update,left_nll,right_nll,left_held_out,right_held_out"];
    for (let step = 0; step <= Math.max(...runs.map(r => r.step)); step++) {
        const nll = runs.map(r => r.losses[step - 1 - r.first] ?? "");
        lines.push([step, ...nll, ...held.map(h => h.get(step) ?? "")].join(","));
    }
    return lines.join("\n") + "\n";
}
function showFiles() {
    const button = (text, onclick) => element("button", { type: "button", textContent: text, onclick });
    const list = [];
    [0, 1].forEach(side => {
        const name = say(SIDES[side]);
        const input = element("input", { type: "file", accept: ".safetensors", hidden: true, id: "file" + side });
        list.push(button(say("save", { side: name }), () => save(side)),
            button(say("open", { side: name }), chosenFiles(input, file => open(side, file))), input);
    });
    const input = element("input", { type: "file", accept: ".txt,text/*", hidden: true, id: "fileText" });
    list.push(button(say("textOpen"), chosenFiles(input, openText)), input);
    list.push(button(say("csv"), () => download("curves.csv", csv(), "text/csv")));
    $("files").replaceChildren(...list);
}

function again() { state.row = (state.row + 1) % 128; keepAddress(); look(); }
function makeEqual() { state.sides[1] = { ...state.sides[0] }; restart(); }
function makeOneInit() { for (const s of state.sides) s.init = "xavier"; restart(); }
function showPresets() {
    const now = address().replace(/&?(row|kind|layer|head|speed|lang)=[^&]*/g, "").replace(/^&/, "");
    $("presets").replaceChildren(...PRESETS.map(({ name, set }) => element("button", { type: "button", textContent: say(name),
        ariaPressed: String(now === set), onclick: () => preset(set) })));
}
// Sets both sides, keeps the settings of the display, and trains.
function preset(set) {
    settings(set);
    tour = null;
    showTour();
    setPlaying(!still.matches);
    restart();
}
// Sets both sides from an address, without the settings of the display.
function settings(set) {
    const { row, kind, layer, head, speed } = state;
    readAddress(set);
    Object.assign(state, { row, kind, layer, head, speed });
}
// What "Copy link" copies: for a page without a web address, its name and the settings, which can be
// pasted into the page elsewhere.
function linkText() {
    keepAddress();
    return location.protocol === "file:" ? location.pathname.split("/").pop() + location.hash : location.href;
}
function pasted(text) {
    const at = text.indexOf("#");
    if (at < 0 || !/^[a-z]+=/.test(text.slice(at + 1).trim())) return false;
    readAddress(text.slice(at + 1).trim());
    everything();
    restart();
    return true;
}
function everything() {
    showTexts();
    showPresets();
    showOptions();
    showBlocks();
    showFiles();
    showTours();
    draw(true);
    showLook();
}
function hands() {
    themes(() => {
        Charts.restyle();
        draw(true);
        showLook();
    });
    $("language").onclick = () => { language = 1 - language; keepAddress(); everything(); };
    $("play").onclick = play;
    $("step").onclick = oneStep;
    $("restart").onclick = () => restart();
    $("equal").onclick = makeEqual;
    $("another").onclick = again;
    $("link").onclick = async () => {
        const text = linkText(), file = location.protocol === "file:";
        try { await navigator.clipboard.writeText(text); } catch { prompt(say("link"), text); return; }
        $("link").textContent = say(file ? "copiedPaste" : "copied");
        setTimeout(() => $("link").textContent = say("link"), file ? 6000 : 1500);
    };
    addEventListener("paste", event => {
        if (/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
        if (pasted(event.clipboardData.getData("text"))) event.preventDefault();
    });
    $("oneInit").onclick = makeOneInit;
    $("speed").onchange = () => { state.speed = Number($("speed").value); keepAddress(); };
    for (const id of ["kind", "layer", "head"])
        $(id).onchange = () => { state[id] = Number($(id).value); keepAddress(); look(); };
    onkeydown = event => {
        if (/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
        const keys = { ArrowRight: oneStep, r: () => restart(), e: makeEqual, s: again };
        if (event.key === " " && event.target.tagName !== "BUTTON") keys[" "] = play;
        if (!keys[event.key]) return;
        event.preventDefault();
        keys[event.key]();
    };
    onresize = () => { draw(true); showLook(); };
    onhashchange = () => { readAddress(location.hash.slice(1)); everything(); restart(); };
    tips();
    dragging();
    droppedFiles((file, event) => dropped(event.clientX < innerWidth / 2 ? 0 : 1, file));
}

// -- begin ----------------------------------------------------------------------------------------

async function begin() {
    if (/^de\b/.test(navigator.language)) language = 1;
    readAddress(location.hash.slice(1));
    showTexts();
    $("difference").textContent = say("loading");
    module = await loaded();
    if (!module) return;
    if (!still.matches) setPlaying(true);       // it begins by itself
    shelf = await Tfnorm.engine(module);
    for (const kind of ["recipe", "norm", "init", "optimizer", "schedule"]) rows[kind] = shelf.rows(kind);
    workers = [new Side(), new Side()];
    hands();
    readAddress(location.hash.slice(1));        // it may be another one by now
    showTexts();
    showFiles();
    showTours();
    await restart();
}
begin();
