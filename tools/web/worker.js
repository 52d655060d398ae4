// One side of the page: an engine in a worker. Every message is { id, call, ... }; its answer has the
// same id, or an error's text. The page counts runs, and drops answers that belong to a run that it has
// replaced.
"use strict";
let engine = null, every = 1;

// Makes updates up to `to`, for a limited time in milliseconds. Returns the loss of each, losses of
// the held-out sentences now and then, hashes at hundreds, and the measurements of the last update
// and of the run's first.
function run({ to, milliseconds }) {
    const begin = performance.now(), losses = [], held = [], hashes = [];
    let report = null, firstSeen = null, step = engine.updates();
    while (step < to) {
        const first = step === 0, last = step + 1 === to || performance.now() - begin > milliseconds;
        report = engine.step(first || last);
        if (first) firstSeen = engine.sublayers();
        step = report.step;
        losses.push(report.nll, report.rate);
        if (step % every === 0) held.push(step, engine.heldOut());
        if (step % 100 === 0) hashes.push([step, engine.hash()]);
        if (last) break;
    }
    return { step, losses, held, hashes, report, firstSeen, spent: performance.now() - begin,
             seen: report && engine.sublayers() };
}

// For generate.html: the model's description, scores of the next token, the state of the random numbers.
let about = null, scores = null, random = 0, decoder = new TextDecoder();
const shown = id => new TextDecoder().decode(engine.token(id));
function uniform() {            // a linear congruence modulo 2^32; its upper bits
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    return (random >>> 8) / 2 ** 24;
}
// The ids of the `count` highest scores, the highest first.
function best(scores, count) {
    const ids = [];
    for (let id = 0; id < scores.length; id++) {
        if (ids.length === count && !(scores[id] > scores[ids[count - 1]])) continue;
        let at = Math.min(ids.length, count - 1);
        for (; at > 0 && scores[ids[at - 1]] < scores[id]; at--) ids[at] = ids[at - 1];
        ids[at] = id;
    }
    return ids;
}
// [id, p] of the topK likeliest, the likeliest first; 0: of all, in any order.
function probabilities(scores, temperature, topK) {
    const kept = topK ? best(scores, topK) : Array.from(scores.keys()), t = temperature || 1;
    const most = scores[best(scores, 1)[0]];
    const weights = kept.map(id => Math.exp((scores[id] - most) / t));
    const sum = weights.reduce((a, b) => a + b, 0);
    return kept.map((id, i) => [id, weights[i] / sum]);
}
function likeliest(scores, temperature, topK, count) {
    const all = new Map(probabilities(scores, temperature, topK));
    return best(scores, Math.min(count, all.size)).map(id => ({ text: shown(id), p: all.get(id) }));
}
// Draws the next token; at temperature 0 it is the likeliest.
function draw(temperature, topK) {
    const all = probabilities(scores, temperature, temperature === 0 ? 1 : topK);
    let left = uniform();
    const found = all.find(([, p]) => (left -= p) < 0) || all[0];
    return { id: found[0], p: found[1] };
}

// A file on the disk, read a mebibyte or more at a time.
function pieces(file) {
    const reader = new FileReaderSync();
    let from = 0, kept = new Uint8Array(0);
    return { size: file.size, read(at, bytes) {
        if (at < from || at + bytes > from + kept.length) {
            from = at;
            kept = new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + Math.max(bytes, 2 ** 20))));
        }
        return kept.subarray(at - from, at - from + bytes);
    } };
}

let started = null;                     // of the run, to look ahead
const calls = {
    async start({ module, args, steps, checkpoint, text }) {
        started = { args, checkpoint, text };
        engine = await Tfnorm.engine(module);
        const hash = text ? engine.text(text) : "";
        engine.start(args);
        if (checkpoint) engine.load(checkpoint);
        every = Math.max(5, Math.round(steps / 40));
        const rates = Array.from({ length: 201 }, (_, i) => engine.rate(Math.max(1, Math.round(i * steps / 200))));
        return { step: engine.updates(), held: [engine.updates(), engine.heldOut()],
                 hash, guessing: engine.guessing(), parameters: engine.parameters(), rates };
    },
    run,
    // Measures the next update with an engine that is then discarded.
    async foresee({ module }) {
        const { args, checkpoint, text } = started, other = await Tfnorm.engine(module);
        if (text) other.text(text);
        other.start(args);
        if (checkpoint) other.load(checkpoint);
        other.step(true);
        return { seen: other.sublayers() };
    },
    look({ row, stack, layer, kind, head }) {
        return { sample: engine.sample(row), attention: engine.attention(row, stack, layer, kind, head) };
    },
    memory: () => ({ bytes: engine.bytes() }),
    hash: () => ({ step: engine.updates(), hash: engine.hash() }),
    save: ({ extra }) => ({ bytes: engine.save(extra) }),
    // -- generate.html: a model from a file, tokens one after the other
    async open({ module, file }) {
        engine = await Tfnorm.engine(module);
        about = engine.open(pieces(file));
        return { about: { ...about, memory: engine.bytes() } };
    },
    begin({ text, temperature, topK, seed }) {
        scores = engine.begin(text, about.vocab);
        random = seed >>> 0;
        decoder = new TextDecoder();
        return { tokens: engine.ids().map(id => ({ text: shown(id) })), next: likeliest(scores, temperature, topK, 8) };
    },
    // Writes tokens for a limited time in milliseconds. Returns them and the attention of the last one.
    write({ count, temperature, topK, layer, head, milliseconds }) {
        const begin = performance.now(), tokens = [];
        let attends = null, ended = false, last = false;
        while (!last && !ended) {
            const { id, p } = draw(temperature, topK);
            if (id === engine.end()) { ended = true; break; }
            last = tokens.length + 1 === count || performance.now() - begin > milliseconds;
            if (last) attends = engine.attends(id, layer, head);
            scores = engine.read(id, about.vocab);
            tokens.push({ text: decoder.decode(engine.token(id), { stream: true }), p });
        }
        return { tokens, attends, ended, next: likeliest(scores, temperature, topK, 8), spent: performance.now() - begin };
    },
    // The likeliest next tokens after each layer, beginning with the embedding.
    lens({ count }) {
        return { layers: Array.from({ length: about.layers + 1 }, (_, i) =>
            likeliest(engine.lens(i, about.vocab), 1, 0, count)) };
    },
    async extra({ module, bytes }) { return { extra: (await Tfnorm.engine(module)).extra(bytes) }; },
};
onmessage = async ({ data }) => {
    try { postMessage({ id: data.id, ...await calls[data.call](data) }); }
    catch (error) { postMessage({ id: data.id, error: error.message }); }
};
