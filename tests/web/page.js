// node page.js FOLDER TEST ...: tests the page that build.sh made in FOLDER, in a browser, from file://.
const assert = require("assert"), fs = require("fs"), path = require("path"), { pathToFileURL } = require("url");
const { command, launch, open, tasks } = require("./chromium.js");
const file = pathToFileURL(path.resolve(process.argv[2], "playground.html")).href;
const second = file.replace("playground.html", "generate.html");
const [test, ...rest] = process.argv.slice(3);
const ready = "typeof runs === 'object' && module && runs.every(r => r.ready || r.error)";

async function begun(browser, hash = "", options = {}) {
    const page = await open(browser, file + hash, options);
    await page.until(ready, 120);
    return page;
}
// Plays for some seconds; returns the frames that the browser shows, and the drawings among them.
const playing = (page, seconds) => page.run(`new Promise(done => {
    let frames = 0, drawings = 0, known = drawn;
    const begin = performance.now(), next = now => {
        frames++;
        if (drawn !== known) drawings++;
        known = drawn;
        if (now - begin < 1000 * ${seconds}) requestAnimationFrame(next);
        else done([frames, drawings]);
    };
    play();
    requestAnimationFrame(next);
})`);
// There was no problem, and no request except for the file and the workers, which are its own text.
function clean(page, own = file) {
    assert.deepEqual(page.problems, []);
    assert.deepEqual(page.requests.filter(url => url.split("#")[0] !== own && !/^(blob|data):/.test(url)), []);
}

const tests = {
    // Both sides train; prints the hashes on the page, then its command.
    async hash(browser, hash, bits) {
        const page = await begun(browser, "#" + hash);
        await page.run("$('play').click()");
        await page.until("runs.every(r => r.hashes.has(200))", 180);
        await page.run("setPlaying(false), new Promise(done => setTimeout(done, 500)).then(showHashes)");
        assert.match(await page.run("$('badge').textContent"), new RegExp("^" + bits));
        for (const side of ["left", "right"]) console.log(await page.run(`$('hashes').querySelector('.${side} code').textContent`));
        console.log(await page.run("$('hashes').querySelector('pre').textContent"));
        clean(page);
    },
    async state(browser) {
        const hash = "#recipe=admin~rezero&layers=3&optimizer=adam~lion&lr=0.004~0.002&task=grammar&seed=5&kind=1&head=1&lang=de";
        const page = await begun(browser, hash);
        assert.equal(await page.run("location.hash"), hash);
        assert.equal(await page.run("state.sides[1].optimizer"), "lion");
        assert.equal(await page.run("document.querySelectorAll('tr.differs').length"), 4);      // the initialization is each recipe's
        assert.equal(await page.run("argumentsOf(1).join(' ')"),
            "rezero --layers 3 --optimizer lion --steps 500 --task grammar --seed 5");     // 0.002 is normlab's own
        assert.match(await page.run("$('difference').textContent"), /^4 Unterschiede: Rezept \(admin, rezero\), Init\. \(fused, xavier-uniform\), Optimierer \(adam, lion\), Lernrate \(0\.004, 0\.002\)$/);
        // manual changes appear in the address, and a new page with that address is the same
        await page.run(`{ const e = document.querySelector('[data-option=layers][data-side="1"]'); e.value = "2"; e.onchange(); }`);
        await page.until(ready);
        const changed = await page.run("location.hash");
        assert(changed.includes("layers=3~2"), changed);
        const again = await begun(browser, changed);
        assert.equal(await again.run("JSON.stringify(state)"), await page.run("JSON.stringify(state)"));
        await again.run("$('equal').click()");
        await again.until(ready);
        assert.equal(await again.run("document.querySelectorAll('tr.differs').length"), 0);
        await again.run("look(), restart(), 0");            // does not wait for questions to the old run
        await again.until("runs.every(r => r.look)", 20);
        await again.run("oneStep()");
        await again.until("runs.every(r => r.step === 1)");
        assert.equal(await again.run("runs[0].losses[0] === runs[1].losses[0]"), true);
        // the first update is observed, however many the first turn has
        const first = await again.run("JSON.stringify(runs[0].seen)");
        await again.run("restart().then(() => advance(turn, 20))");
        assert.equal(await again.run("JSON.stringify(runs[0].firstSeen)"), first);
        assert.notEqual(await again.run("JSON.stringify(runs[0].seen)"), first);
        clean(again);
        // a change of the address while the engine is unpacked counts
        const early = await open(browser, file, { before: `addEventListener("DOMContentLoaded", () => { location.hash = "layers=3&lang=de"; })` });
        await early.until(ready);
        assert.equal(await early.run("state.sides[0].layers + document.documentElement.lang"), "3de");
        clean(early);
    },
    // A dropped text is learned, with the hashes of the command that the page shows. A file that cannot
    // be learned gives a message, and nothing is lost.
    async text(browser, text, saved) {
        const page = await begun(browser, "#layers=1&lang=en&steps=200&task=file");
        assert.match(await page.run("$('problem').textContent"), /^Right: Choose a text first/);
        const { root } = await page.send("DOM.getDocument");
        const { nodeId } = await page.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#fileText" });
        await page.send("DOM.setFileInputFiles", { nodeId, files: [path.resolve(text)] });
        await page.until(`ownText && ${ready} && runs.every(r => r.ready)`);
        assert(await page.run("$('problem').hidden"));
        await page.run("advance(turn, 20).then(look)");
        const drop = parts => page.run(`{ const to = new DataTransfer(); to.items.add(new File(${parts}));
            $("problem").hidden = true; dispatchEvent(new DragEvent("drop", { dataTransfer: to })); }`);
        for (const [parts, said] of [["['a'.repeat(999)], 'a.txt'", "a.txt is too small to learn from: 999 bytes, at least 1000 are needed."],
            ["[new Uint8Array(2 ** 23 + 1)], 'b'", "b is too large: it has 8388609 bytes, at most 8388608 are possible."],
            ["['a'.repeat(5000), new Uint8Array(1)], 'c.png'", "c.png is not a text: byte 5001 has the value 0."]]) {
            await drop(parts);
            await page.until("!$('problem').hidden");
            assert.equal(await page.run("$('problem').textContent"), said);
        }
        assert.deepEqual(await page.run("runs.map(r => r.step)"), [20, 20]);
        await page.run("advance(turn, 80)");
        assert(await page.run("runs.every(r => r.held.at(-1) < r.held[1] && r.guessing > 2)"));
        const saving = "workers[0].ask('save', { extra: 'playground task=file&text=' + ownText.hash })";
        fs.writeFileSync(saved, Buffer.from(await page.run(`${saving}.then(a => btoa(Array.from(a.bytes, x => String.fromCharCode(x)).join("")))`), "base64"));
        await page.run("draw(true), new Promise(done => setTimeout(done, 200))");
        for (const side of ["left", "right"]) console.log(await page.run(`$('hashes').querySelector('.${side} code').textContent`));
        console.log(await page.run("$('hashes').querySelector('pre').textContent"));
        await page.run(`${saving}.then(a => globalThis.kept = a.bytes)`);
        await drop("['abcdefghij'.repeat(200)], 'other.txt'");
        await page.until(`ownText.name === "other.txt" && ${ready}`);
        await drop("[kept], 'one'");
        await page.until("!$('problem').hidden");
        assert.equal(await page.run("$('problem').textContent"), "one was trained on a different text from the one that is open here.");
        clean(page);
    },
    // A side continues from a checkpoint with the same bits while the other one catches up.
    async files(browser) {
        const page = await begun(browser, "#layers=1&steps=60");
        await page.run("advance(turn, 20)");
        await page.run("workers[0].ask('save', { extra: 'playground ' + new URLSearchParams(state.sides[0]) }).then(a => globalThis.kept = a.bytes)");
        await page.run("advance(turn, 10)");
        const straight = await page.run("workers[0].ask('hash').then(a => a.step + ' ' + a.hash)");
        await page.run("state.sides[0].layers = '2'; restart()");
        await page.until(ready);
        const put = (bytes, name) => page.run(`open(0, new File([${bytes}], "${name}"))`);
        await put("kept", "good.safetensors");
        await page.until(ready);
        assert.equal(await page.run("runs[0].step"), 20);
        assert.equal(await page.run("state.sides[0].layers"), "1");
        await page.run("advance(turn, 30)");
        assert.deepEqual(await page.run("runs.map(r => r.step)"), [30, 30]);
        assert.equal(await page.run("workers[0].ask('hash').then(a => a.step + ' ' + a.hash)"), straight);
        for (const [bytes, text] of [["kept.slice(0, -4)", /^wrong cannot be opened: file: /],
            ["'nothing'", /^wrong cannot be opened: file: /]]) {
            await put(bytes, "wrong");
            await page.until("!$('problem').hidden");
            assert.match(await page.run("$('problem').textContent"), text);
            await page.run("$('problem').hidden = true");
        }
        assert.equal(await page.run("runs[0].step"), 30);               // nothing was lost
        clean(page);
    },
    // The page begins by itself, unless motion is reduced; then its charts show the first update already.
    async begins(browser) {
        const moving = await begun(browser, "#lang=en&layers=1", { motion: true });
        await moving.until("playing && runs.every(r => r.step > 5)");
        await moving.run("[...$('presets').children].find(b => b.textContent === 'With a warm-up').click()");
        await moving.until("playing && runs.every(r => r.step > 2)");
        assert.equal(await moving.run("state.sides.map(s => s.recipe + s.warmup).join()"), "post0,post200");
        assert.equal(await moving.run("$('presets').querySelectorAll('[aria-pressed=true]').length"), 1);
        clean(moving);
        const still = await begun(browser, "#lang=en&layers=1");
        await still.until("runs.every(r => r.seen) && !pending");
        assert.deepEqual(await still.run("[playing, ...runs.map(r => r.step)]"), [false, 0, 0]);
        const blank = `[...document.querySelectorAll("canvas")].filter(e => {
            const { data } = e.getContext("2d").getImageData(0, 0, e.width, e.height);
            return !data.some((x, i) => i % 4 === 3 && x);
        }).map(e => e.id)`;
        await still.until(`${blank}.length === 0`, 10);
        // the preview equals the first update
        const seen = await still.run("JSON.stringify(runs.map(r => r.seen))");
        await still.run("oneStep()");
        await still.until("runs.every(r => r.step === 1)");
        assert.equal(await still.run("JSON.stringify(runs.map(r => r.seen))"), seen);
        // every comparison runs, and has one initialization unless that is part of the method
        const presets = await still.run("PRESETS.length");
        for (let i = 0; i < presets; i++) {
            await still.run(`$("presets").children[${i}].click()`);
            await still.until(ready);
            assert.equal(await still.run("$('problem').hidden || $('problem').textContent"), true);
            assert.equal(await still.run("differences().length"), await still.run(`PRESETS[${i}].name === "presetSame" ? 0 : PRESETS[${i}].name === "presetDeepNorm" ? 2 : 1`), i);
        }
        clean(still);
    },
    // Boxes and words explain themselves: to the pointer, a tap and the keyboard.
    async explains(browser) {
        const page = await begun(browser, "#lang=en&layers=2");
        await page.run("advance(turn, 3)");
        assert.deepEqual(await page.run("minis.map(m => m.list.filter(x => x.apart).map(x => x.label))"),
            [["LayerNorm", "LayerNorm"], ["LayerNorm", "LayerNorm"]]);
        const at = selector => page.run(`{ const r = document.querySelector("${selector}").getBoundingClientRect(); [r.x + r.width / 2, r.y + r.height / 2] }`);
        const tipped = () => page.run("$('tip').hidden ? '' : $('tip').textContent");
        const boxes = await page.run("minis.map(m => m.list.length)");
        for (const side of ["left", "right"]) for (let i = 0; i < boxes[0]; i++) {
            const [x, y] = await at(`#minis .${side} [data-box='${i}']`);
            await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
            assert.match(await tipped(), /[0-9.]+/, side + i);
            assert(!/undefined|NaN|–/.test(await tipped()), await tipped());
        }
        assert.match(await page.run("boxText(minis[1], 0)"), /^layernorm: g \(x - mean\)/);
        assert.match(await page.run("boxText(minis[0], 2)"), /After the addition: in [0-9.]+, out [0-9.]+/);
        for (const name of await page.run("Object.keys(GLOSSARY)")) {
            assert.equal(await page.run(`GLOSSARY.${name}.length`), 2);
            if (!await page.run(`!!document.querySelector("[data-term=${name}]")`)) throw Error("nothing explains " + name);
        }
        await page.run("document.querySelector('[data-term=stream]').focus()");
        assert.match(await tipped(), /^Residual stream: the vector x/);
        await page.run("document.activeElement.blur()");
        assert.equal(await tipped(), "");
        await page.run("document.querySelector('[data-term=warmup]').click()");
        assert.match(await tipped(), /^Warm-up: /);
        clean(page);
    },
    // Every offered setting works or is refused in the page's words, and no run goes past its plan.
    async deadends(browser) {
        const page = await begun(browser, "#lang=en&layers=1&steps=3&schedule=step&base=16");
        const options = (name, enabled) => page.run(`[...document.querySelector("[data-option=${name}][data-side='0']").options].filter(o => ${enabled ? "!o.disabled" : "true"}).map(o => o.value)`);
        assert.equal(await page.run("state.sides[0].schedule"), "linear");
        assert(!(await options("schedule")).includes("step"));
        assert.deepEqual((await options("optimizer", true)).sort(), ["adam", "adamw", "lion", "radam", "sgd"]);
        for (const name of ["schedule", "optimizer"]) for (const value of await options(name, true)) {
            await page.run(`state.sides[0].${name} = "${value}", restart()`);
            assert.equal(await page.run("runs[0].error"), "", value);
        }
        for (const [lang, said] of [["en", /^Left: muP works with adam/], ["de", /^Links: muP geht mit adam/]]) {
            const wrong = await begun(browser, `#lang=${lang}&layers=1&base=16&optimizer=muon~adam`);
            assert.match(await wrong.run("$('problem').textContent"), said);
            assert(!/mup_|tfn_/.test(await wrong.run("document.body.innerText")));
        }
        await page.run("state.sides[0].optimizer = 'adam', restart()");
        for (let i = 0; i < 5; i++) await page.run("oneStep()");
        await page.run("urgent = true, drawFrame()");          // a page in the background gets no frames
        assert.deepEqual(await page.run("[...runs.map(r => r.step), $('step').disabled]"), [3, 3, true]);
        assert(!(await page.run("linkText()")).includes("file:"));
        const text = await page.run("linkText()");
        assert.match(text, /^playground\.html#layers=1/);
        const other = await begun(browser, "#lang=de");
        await other.run(`{ const data = new DataTransfer(); data.setData("text", ${JSON.stringify(text)}); dispatchEvent(new ClipboardEvent("paste", { clipboardData: data })); }`);
        await other.until(ready);
        assert.equal(await other.run("state.sides[0].layers + state.sides[0].steps"), "13");
        clean(page);
        clean(other);
    },
    // After 20 updates: the hashes of both sides, and the command that computes them.
    async twenty(browser, hash = "") {
        const page = await begun(browser, "#" + hash);
        await page.run("advance(turn, 20)");
        for (const side of [0, 1]) console.log(await page.run(`workers[${side}].ask("hash").then(a => a.hash)`));
        const isa = await page.run("module.kind === 'relaxed'") ? "" : " --isa sse2";
        for (const side of [0, 1]) console.log("normlab compare " + await page.run(`argumentsOf(${side}).join(" ")`) + isa + " --hash 20");
        const version = await page.run("HEADER.version"), header = fs.readFileSync("../tfnorm.h", "utf8");
        assert.equal(version, header.match(/define TFNORM_VERSION +"([^"]+)"/)[1]);
        clean(page);
    },
    // The first lesson to its end: a prediction, the training, the observations.
    async lesson(browser) {
        const page = await begun(browser, "#lang=en&layers=2");
        const press = text => page.run(`[...$('tour').querySelectorAll('button')].find(b => b.textContent === ${JSON.stringify(text)}).click()`);
        assert.equal(await page.run("$('tours').querySelectorAll('button').length === LESSONS.length && LESSONS.length"), 8);
        assert.deepEqual(await page.run(`LESSONS.flatMap(l => l.steps).filter(s => !s.answers[s.right] || !$(s.see) ||
            [s.ask, s.after, ...s.answers].some(t => t.length !== 2)).length`), 0);
        await page.run("$('tours').querySelector('button').click()");
        await page.until(ready);
        assert.equal(await page.run("state.sides.map(s => s.recipe + s.layers).join()"), "post4,pre4");
        assert.equal(await page.run("document.activeElement.textContent"), "Both");     // not the closing button
        await press("Both");
        await page.until("tour.both", 180);
        assert.match(await page.run("$('tour').textContent"), /You predicted: BothWhat happened: Only the right one\. You predicted something else\.Why: Post-LN stays at 2\.2/);
        assert.deepEqual(await page.run("runs.map(r => r.step)"), [150, 150]);
        assert(await page.run("runs[0].held.at(-1) > 2 && runs[1].held.at(-1) < 1"));
        assert.equal(await page.run("document.querySelectorAll('.card.seen').length"), 1);
        await page.until("runs.every(r => r.look && r.look.attention) && /reads/.test($('samples').textContent)");
        await press("Next");
        await page.until(ready);
        assert.equal(await page.run("state.sides.map(s => s.recipe + s.warmup).join()"), "post0,post200");
        await page.run("$('tour').querySelector('h2 button').click()");
        assert(await page.run("$('tour').hidden"));
        clean(page);
    },
    // Every lesson from its button to its end, in both languages, with few updates; whole: with all
    // updates, and then its statements about losses are checked.
    async lessons(browser, whole) {
        const page = await begun(browser, "#lang=en&layers=1");
        const press = text => page.run(`[...$('tour').querySelectorAll('button')].find(b => b.textContent === ${JSON.stringify(text)}).click()`);
        if (!whole) await page.run("LESSONS.forEach(l => l.steps.forEach(s => s.to = Math.min(s.to, 2)))");
        const lessons = await page.run("LESSONS");
        const canonical = await page.run("module.kind === 'relaxed'"), ends = [        // losses, of the texts
            [[2.21, 0.365], [2.09, 0.0956]], [[1.83, 0.11], [1.64, 0.399]], [[2.69, 2.68]], [[2.68, 2.88]], [[0.118, 1.72]],
            [[1.48, 0.0957], [2.88, 2.68]], [[0.149, 0.239], [0.149, 0.128]], [[0.546, 1.73], [1.73, 0.103]]];
        for (let i = 0; i < lessons.length; i++) {
            const lang = i % 2, say = (...texts) => texts[lang];
            await page.run(`language = ${lang}, everything(), $('tours').querySelectorAll('button')[${i}].click()`);
            for (const [j, step] of lessons[i].steps.entries()) {
                const name = `lesson ${i + 1}, step ${j + 1}`, answer = step.answers[step.right][lang];
                await page.until(`tour && tour.lesson === ${i} && tour.step === ${j} && ${ready}`);
                assert.equal(await page.run("$('problem').textContent"), "", name);
                assert((await page.run("$('tour').textContent")).includes(step.ask[lang]), name);
                await press(answer);
                await page.until("tour.both", whole ? 900 : 120);
                const said = await page.run("$('tour').textContent");
                assert(said.includes(say("You predicted:", "Deine Vorhersage:") + " " + answer), said);
                assert(!/undefined|NaN|null|\{/.test(said), said);
                if (whole && canonical) assert(said.includes(answer + ". " + say("Your prediction was right.", "Deine Vorhersage war richtig.")), said);
                assert.deepEqual(await page.run("runs.map(r => r.step)"), [step.to, step.to], name);
                assert.equal(await page.run("document.querySelectorAll('.card.seen').length"), 1, name);
                const gap = await page.run("document.querySelector('.card.seen').getBoundingClientRect().top - $('tour').getBoundingClientRect().bottom");
                assert(gap > 0 && gap < 30, `${name}: its chart stands ${gap} pixels below it`);
                if (whole && canonical) assert.deepEqual(await page.run("runs.map(r => +r.held.at(-1).toPrecision(3))"), ends[i][j], name);
                await press([["Next", "Weiter"], ["Done", "Fertig"]][j + 1 < lessons[i].steps.length ? 0 : 1][lang]);
            }
            assert(await page.run("$('tour').hidden && tour === null"));
        }
        clean(page);
    },
    // The second page: a model file of tfn writes what tfn generate writes; printed.
    async write(browser, model, prompt, tokens, weights) {
        const page = await open(browser, second + "#lang=en");
        await page.until("about && spans.length === 0");       // the model inside
        assert.match(await page.run("$('model').textContent"), /This page.s model/);
        await page.run("about = null");
        const { root } = await page.send("DOM.getDocument");
        const { nodeId } = await page.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#file" });
        const give = path => page.send("DOM.setFileInputFiles", { nodeId, files: [path] });
        await give(path.resolve("web.sh"));
        await page.until("!$('problem').hidden");
        assert.match(await page.run("$('problem').textContent"), /^web.sh cannot be opened: file: /);
        await give(path.resolve(model));
        await page.until("about");
        assert(await page.run("$('problem').hidden"));
        assert.equal(await page.run("about.weights"), weights);
        assert.match(await page.run("$('model').textContent"), new RegExp(`parameters \\(${weights}\\), [0-9]+ tokens, context 48; [0-9]+ MB of memory$`));
        await page.run(`$('temperature').value = 0, $('text').value = ${JSON.stringify(prompt)}, $('write').click()`);
        await page.until(`$('output').textContent.length >= ${prompt.length + +tokens}`);
        await page.run("$('write').click()");
        assert.equal(await page.run("$('next').children.length"), 24);
        assert(await page.run("spans.some(e => e.style.background)"));
        await page.until("lens");
        assert.deepEqual(await page.run("[lens.error, lens.layers.length, $('lens').rows.length]"), [undefined, 3, 3]);
        assert.equal(await page.run("lens.layers.at(-1)[0].text"), await page.run("$('next').children[0].textContent.replace('␣', ' ')"));
        assert(await page.run("lens.layers[0][0].p !== lens.layers[2][0].p && lens.layers.every(r => r[0].p >= r[1].p && r[1].p >= r[2].p)"));
        // a mean over attention is the mean of its heads
        const heads = await page.run(`(async () => {
            const found = [];
            for (const head of [-1, 0, 1]) {
                await side.ask("begin", { text: "the model", temperature: 0, topK: 1, seed: 1 });
                const answer = await side.ask("write", { count: 1, temperature: 0, topK: 1, layer: 1, head, milliseconds: 1000 });
                if (answer.error) throw Error(answer.error);
                found.push(Array.from(answer.attends));
            }
            return found; })()`);
        assert.equal(heads[0].length, 10);
        heads[0].forEach((x, i) => assert(Math.abs(x - (heads[1][i] + heads[2][i]) / 2) < 1e-6));
        assert.notDeepEqual(heads[1], heads[2]);
        console.log((await page.run("$('output').textContent")).slice(0, prompt.length + +tokens));
        assert.equal(await page.run("document.documentElement.scrollWidth - innerWidth"), 0);
        assert.deepEqual(page.problems, []);
    },
    async example(browser) {
        const page = await open(browser, file.replace("playground.html", "21_web.html"));
        await page.until("$('go').onclick");
        await page.run("$('go').click()");
        await page.until("/update 300: /.test($('loss').textContent)", 120);
        const [, loss, bits] = (await page.run("$('loss').textContent")).match(/: ([0-9.]+) nats per byte, bits (.*)$/);
        assert(Number(loss) < 1.5, loss);
        assert.equal(bits, "canonical");
        assert.equal((await page.run("$('sample').textContent")).length, 72);
        assert.deepEqual(page.problems, []);
    },
    async errors(browser) {
        const page = await begun(browser, "#width=32&heads=1~5&recipe=pre");
        assert.match(await page.run("$('problem').textContent"), /^Right: The width 32 cannot be divided among 5 heads\. Choose/);
        await page.run("play(), 0");
        await page.until("runs[0].step > 5");
        clean(page);
    },
    // No task of the page's own thread takes `most` ms of the processor. Frames a second are printed only,
    // because a busy machine has fewer.
    async tasks(browser, seconds, most) {
        let page;
        const hundredth = x => Math.round(10 * x) / 10;
        const phase = async (name, during) => {
            const found = await tasks(browser, async () => {
                await during();
                await page.run("performance.mark('here'), new Promise(done => setTimeout(done, 400))");
            });
            console.log(`${name}: ${found.length} tasks, the longest ${found.slice(0, 4).map(hundredth).join(" ")} ms`);
            assert(found.length > 10 && found[0] < most, name);
        };
        await phase("loading", async () => { page = await begun(browser, "#layers=4&steps=100000&lang=en"); });
        await phase("a new run", () => page.run("restart()"));
        await phase("the other language", () => page.run("$('language').click()"));
        await phase("a lesson", () => page.run("begunTour(0, 0)").then(() => page.until(ready)));
        await page.run("tour = null, showTour(), state.sides.forEach(s => Object.assign(s, { layers: '1', width: '16' })), restart()");
        await page.moves(true);
        await phase("training", async () => {
            const [frames, drawings] = await playing(page, seconds);
            console.log(`${hundredth(frames / seconds)} frames a second, ${hundredth(drawings / seconds)} drawings`);
        });
        clean(page);
    },
    // Not a test: seconds from the double-click to the first update; updates and drawings in play.
    async speed(browser, seconds, address) {
        const page = await open(browser, file + address, { before:
            `const looks = setInterval(() => { if (${ready}) clearInterval(looks), advance(turn, 1).then(() => firstUpdate = performance.now()) }, 5)` });
        await page.until("window.firstUpdate");
        const first = await page.run("firstUpdate");
        const before = await page.run("runs[0].step"), [frames, drawings] = await playing(page, seconds);
        const updates = await page.run("runs[0].step") - before;
        console.log(`first update after ${(first / 1000).toFixed(2)} s; ${(1000 * seconds / updates).toFixed(1)} ms an update of both, ` +
            `${(drawings / seconds).toFixed(1)} drawings of ${(frames / seconds).toFixed(1)} frames a second`);
    },
    // Memory at the end is the same as at the first look: the engines' to the byte, JavaScript's except
    // for the curves.
    async memory(browser, first, last) {
        const page = await open(browser, file, {}), sessions = [];
        browser.listeners.push(({ method, params }) => { if (method === "Target.attachedToTarget") sessions.push(params.sessionId); });
        await page.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
        await page.run("location.hash = 'layers=1&width=16&steps=100000'");
        await page.until(ready, 120);
        const heap = async send => {
            await send("HeapProfiler.collectGarbage");
            return (await send("Runtime.getHeapUsage")).usedSize;
        };
        const measured = async updates => {
            await page.run(`setPlaying(true), loop(turn), 0`);
            await page.until(`runs.every(r => r.step >= ${updates})`, 900);
            await page.run("setPlaying(false), new Promise(done => setTimeout(done, 1500))");
            const workers = sessions.slice(-2).map(id => (method, params) => browser.send(method, params, id));
            assert.equal(workers.length, 2);
            return { engines: await page.run("Promise.all(workers.map(w => w.ask('memory').then(a => a.bytes)))"),
                page: await heap(page.send), workers: await Promise.all(workers.map(heap)) };
        };
        const before = await measured(+first), after = await measured(+last), steps = await page.run("runs[0].step");
        console.log(`at ${first} ${JSON.stringify(before)}, at ${steps} ${JSON.stringify(after)}`);
        assert.deepEqual(after.engines, before.engines);
        assert(after.page - before.page < 5e5 + 100 * steps);
        after.workers.forEach((bytes, i) => assert(bytes - before.workers[i] < 5e5));
        clean(page);
    },
    // The page shows each recipe's row of the header, below the picture and on it.
    async header(browser, header) {
        const page = await begun(browser, "#lang=en&layers=1&recipe=sandwich~b2t"), lines = fs.readFileSync(header, "utf8").split("\n");
        const rows = await page.run("rows.recipe.map(r => [r.name, r.formula, ...HEADER.rows[HEADER.recipes[r.name]]])");
        assert(rows.length > 80);
        for (const [name, formula, line, text] of rows) {
            assert(/^TFN__(TOPOLOGY|AGGREGATED)\(/.test(lines[line - 1]) && text.startsWith(lines[line - 1]), name);
            assert(text.replace(/"\s*"/g, "").includes(formula), `${name}: ${formula} is not in ${text}`);
        }
        const wanted = rows.find(r => r[0] === "b2t");
        assert.equal(await page.run("document.querySelector('.blocks .right summary').textContent"), `tfnorm.h, line ${wanted[2]}`);
        await page.run("document.querySelector('.blocks .right svg').dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: 9, clientY: 9 }))");
        assert.equal(await page.run("$('tip').textContent"), `tfnorm.h, line ${wanted[2]}\n${wanted[3]}`);
        clean(page);
    },
    // The findings of axe-core on both pages, light and dark, with a lesson open and a model that wrote.
    async axe(browser, axe, model) {
        const found = [];
        const look = async (page, name, url) => {
            await page.run(fs.readFileSync(axe, "utf8") + "; 0");
            const { violations, passes } = await page.run("axe.run(document, { resultTypes: ['violations'] }).then(r => ({ violations: r.violations, passes: r.passes.length }))");
            assert(passes > 20);
            for (const v of violations) for (const n of v.nodes)
                found.push(`${name}: ${v.id}: ${n.target.join(" ")}: ${n.failureSummary.split("\n")[1].trim()}`);
            clean(page, url);
        };
        for (const dark of [false, true]) {
            const name = dark ? "dark" : "light";
            const page = await begun(browser, "#lang=en&layers=1&recipe=pre~b2t", { dark });
            await page.run("advance(turn, 100).then(look)");
            await page.run("draw(true), begunTour(0, 0)").then(() => page.until(ready));
            await look(page, `playground, ${name}`);
            const other = await open(browser, second + "#lang=en", { dark });
            await other.until("about");
            await other.run("about = null");
            const { root } = await other.send("DOM.getDocument");
            const { nodeId } = await other.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#file" });
            await other.send("DOM.setFileInputFiles", { nodeId, files: [path.resolve(model)] });
            await other.until("about");
            await other.run("$('write').click()");
            await other.until("$('output').textContent.length > 60");
            await other.run("$('write').click()");
            await other.until("lens");
            await look(other, `generate, ${name}`, second);
        }
        assert.deepEqual(found, []);
    },
    // Not a test: the README's picture, examples/pictures/page.webp.
    async picture(browser, out) {
        const page = await begun(browser, "#lang=en", { width: 1600, height: 1000 });
        await page.run("advance(turn, 260).then(look)");
        await page.run("draw(true), new Promise(done => setTimeout(done, 1000))");
        const { data } = await page.send("Page.captureScreenshot", { format: "webp", quality: 75 });
        fs.writeFileSync(out, Buffer.from(data, "base64"));
    },
    // No element is wider than the screen, every control has a name, and no text is cut off.
    async looks(browser) {
        for (const width of [390, 1024, 1600]) for (const dark of [false, true]) for (const lang of ["en", "de"]) {
            const page = await begun(browser, `#lang=${lang}&recipe=sandwich~b2t&layers=2`, { width, dark });
            await page.run("advance(turn, 2).then(look)");
            assert.equal(await page.run("document.documentElement.scrollWidth"), width);
            assert.equal(await page.run("document.documentElement.classList.contains('dark')"), dark);
            const place = await page.run("JSON.parse(JSON.stringify($('tours').lastElementChild.getBoundingClientRect()))");
            assert(place.bottom < 240, "the last lesson's button lies low: " + place.bottom);
            assert.deepEqual(await page.run(`[...document.querySelectorAll("button, select, input:not([hidden])")]
                .filter(e => !(e.textContent.trim() || e.labels?.[0]?.textContent.trim() || e.getAttribute("aria-label"))).map(e => e.outerHTML)`), []);
            assert.deepEqual(await page.run(`[...document.querySelectorAll("canvas")].filter(e => !e.getAttribute("aria-label")).map(e => e.id)`), []);
            assert.deepEqual(await page.run(`[...document.querySelectorAll("button")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)`), []);
            assert.deepEqual(await page.run("contrasts()".replace("contrasts()", `(${contrasts})()`)), []);
            // the picture that answers the title is in sight, and a finger hits every control
            const bottom = await page.run("Math.max(...[...document.querySelectorAll('#minis svg')].map(e => e.getBoundingClientRect().bottom))");
            assert(bottom < (width === 390 ? 800 : 900), `the layers end at ${bottom} of ${width}`);
            if (width === 390) assert.deepEqual(await page.run(`[...document.querySelectorAll("button, select, input, summary")]
                .filter(e => e.offsetParent && e.getBoundingClientRect().height < 43.5).map(e => e.outerHTML)`), []);
            clean(page);
            if (rest[0]) await page.picture(path.join(rest[0], `${width}-${dark ? "dark" : "light"}-${lang}.png`));
        }
    },
};

// Texts whose contrast with their background is below 4.5 (WCAG 2.1, 1.4.3).
function contrasts() {
    const parse = color => (color.match(/[\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(x => x / 255)
        .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const color = parse(getComputedStyle(e).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll("body *")].filter(e => !e.closest("svg, script, [hidden], .unseen") && e.offsetParent &&
        [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.trim().slice(0, 30)];
    }).filter(([ratio]) => ratio < 4.5);
}

if (test === "there") process.exit(command() ? 0 : 1);
launch().then(async browser => {
    try { await tests[test](browser, ...rest); }
    finally { await browser.close(); }
}).catch(error => { console.log(error.stack); process.exit(1); });
