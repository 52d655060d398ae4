// node lessons.js FOLDER SEEDS [LESSON.STEP ...]: runs every graded question of the page's lessons with
// this many seeds, and prints how often the right answer came out. Fails below 18 of 20.
const fs = require("fs"), path = require("path"), folder = path.resolve(process.argv[2]);
const Tfnorm = require(path.join(folder, "tfnorm.js"));
const [seeds, ...only] = process.argv.slice(3);
const sources = path.join(__dirname, "../../tools/web");
const read = name => fs.readFileSync(path.join(sources, name), "utf8");
// The lessons, and the page's way from an address to the arguments of normlab compare.
const { LESSONS, readAddress, argumentsOf, state, planned } = new Function("document", `
    const matchMedia = () => ({}), $ = () => ({});
    ${read("texts.js")} ${read("lessons.js")} ${read("playground.js").replace(/\nbegin\(\);\s*$/, "\n")}
    return { LESSONS, readAddress, argumentsOf, state, planned };`)({});

// Trains a side for `to` updates. Returns what the page would find.
async function train(module, args, to, steps) {
    const engine = await Tfnorm.engine(module), every = Math.max(5, Math.round(steps / 40));
    engine.start(args);
    let loss = engine.heldOut(), firstSeen = null;
    for (let step = 1; step <= to; step++) {
        engine.step(step === 1 || step === to);
        if (step === 1) firstSeen = engine.sublayers();
        if (step % every === 0) loss = engine.heldOut();
    }
    return { loss, guessing: engine.guessing(), seen: engine.sublayers(), firstSeen };
}
async function main() {
    const module = await Tfnorm.module();
    let failed = 0;
    for (const [i, lesson] of LESSONS.entries()) for (const [j, step] of lesson.steps.entries()) {
        const name = `${i + 1}.${j + 1}`, said = [];
        if (only.length && !only.includes(name)) continue;
        let right = 0;
        for (let seed = 1; seed <= seeds; seed++) {
            readAddress(step.set + "&seed=" + seed);
            const sides = [];
            for (const side of [0, 1]) sides.push(await train(module, argumentsOf(side), step.to, planned()));
            const answer = step.judge(...sides), numbers = Object.values(step.numbers(...sides)).join(" ");
            right += answer === step.right;
            said.push(`${answer}: ${numbers}`);
        }
        console.log(`lesson ${name}: ${right} of ${seeds} seeds; answer: its numbers by seed: ${said.join(" | ")}`);
        if (right < 0.9 * seeds) failed++;
    }
    process.exit(failed ? 1 : 0);
}
main().catch(error => { console.log(error.stack); process.exit(1); });
