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
    async extra({ module, bytes }) { return { extra: (await Tfnorm.engine(module)).extra(bytes) }; },
};
onmessage = async ({ data }) => {
    try { postMessage({ id: data.id, ...await calls[data.call](data) }); }
    catch (error) { postMessage({ id: data.id, error: error.message }); }
};
