// One side of the page: an engine in a worker. Every message is { id, call, ... }; its answer has the
// same id, or an error's text. What belongs to a run that was replaced meanwhile is dropped by the
// page, which counts runs.
"use strict";
let engine = null, every = 1;

// Updates up to `to`, at most so many milliseconds of them: losses of each, what was held out every
// so many updates, hashes at hundreds, and what is seen in the last one.
function run({ to, milliseconds }) {
    const begin = performance.now(), losses = [], held = [], hashes = [];
    let report = null, step = engine.updates();
    while (step < to) {
        const last = step + 1 === to || performance.now() - begin > milliseconds;
        report = engine.step(last);
        step = report.step;
        losses.push(report.nll, report.rate);
        if (step % every === 0) held.push(step, engine.heldOut());
        if (step % 100 === 0) hashes.push([step, engine.hash()]);
        if (last) break;
    }
    return { step, losses, held, hashes, report, spent: performance.now() - begin,
             seen: report && engine.sublayers() };
}

// Of generate.html: what the model is, scores of the next token, the random numbers' state.
let about = null, scores = null, random = 0, decoder = new TextDecoder();
const shown = id => new TextDecoder().decode(engine.token(id));
function uniform() {            // a linear congruence modulo 2^32; its upper bits
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    return (random >>> 8) / 2 ** 24;
}
// [id, p] of the topK likeliest (0: all), the likeliest first.
function probabilities(temperature, topK) {
    const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b);
    const kept = topK ? order.slice(0, topK) : order, t = temperature || 1;
    const weights = kept.map(id => Math.exp((scores[id] - scores[kept[0]]) / t));
    const sum = weights.reduce((a, b) => a + b, 0);
    return kept.map((id, i) => [id, weights[i] / sum]);
}
const likeliest = (temperature, topK) => probabilities(temperature, topK).slice(0, 8).map(([id, p]) => ({ text: shown(id), p }));
// The next token: of temperature 0 the likeliest.
function draw(temperature, topK) {
    const all = probabilities(temperature, topK);
    let left = uniform();
    const found = temperature === 0 ? all[0] : all.find(([, p]) => (left -= p) < 0) || all[0];
    return { id: found[0], p: found[1] };
}

const calls = {
    async start({ module, args, steps, checkpoint }) {
        engine = await Tfnorm.engine(module);
        engine.start(args);
        if (checkpoint) engine.load(checkpoint);
        every = Math.max(5, Math.round(steps / 40));
        const rates = Array.from({ length: 201 }, (_, i) => engine.rate(Math.max(1, Math.round(i * steps / 200))));
        return { step: engine.updates(), held: [engine.updates(), engine.heldOut()],
                 guessing: engine.guessing(), parameters: engine.parameters(), rates };
    },
    run,
    look({ row, stack, layer, kind, head }) {
        return { sample: engine.sample(row), attention: engine.attention(row, stack, layer, kind, head) };
    },
    hash: () => ({ step: engine.updates(), hash: engine.hash() }),
    save: ({ extra }) => ({ bytes: engine.save(extra) }),
    // -- generate.html: a model from a file, tokens one after the other
    async open({ module, bytes }) {
        engine = await Tfnorm.engine(module);
        return { about: about = engine.open(bytes) };
    },
    begin({ text, temperature, topK, seed, layer }) {
        scores = engine.begin(text, about.vocab);
        random = seed >>> 0;
        decoder = new TextDecoder();
        return { tokens: engine.ids().map(id => ({ text: shown(id) })), next: likeliest(temperature, topK), layer };
    },
    write({ count, temperature, topK, layer, milliseconds }) {
        const begin = performance.now(), tokens = [];
        let attends = null, ended = false;
        while (tokens.length < count && !ended && performance.now() - begin < milliseconds) {
            const { id, p } = draw(temperature, topK);
            if (id === engine.end()) { ended = true; break; }
            attends = engine.attends(id, layer) || attends;
            scores = engine.read(id, about.vocab);
            tokens.push({ text: decoder.decode(engine.token(id), { stream: true }), p });
        }
        return { tokens, attends, ended, next: likeliest(temperature, topK), spent: performance.now() - begin };
    },
    async extra({ module, bytes }) { return { extra: (await Tfnorm.engine(module)).extra(bytes) }; },
};
onmessage = async ({ data }) => {
    try { postMessage({ id: data.id, ...await calls[data.call](data) }); }
    catch (error) { postMessage({ id: data.id, error: error.message }); }
};
