/* node gguf.mjs: llama.cpp and tfn read each other's files. The npm package node-llama-cpp is in the
 * folder NODE_FOLDER, and TFN is the command (build/bin/tfn). The repository keeps none of
 * llama.cpp. In order:
 *
 *   golden models   of golden/gguf: the probabilities of the next token after nine
 *   written models  the same models, written by tfn export in each type and read again by both
 *   a trained model greedy text, ids of texts, and probabilities by type
 *   tokenizers      of golden/gguf: llama.cpp's ids are those of hub/test_gguf.c, which tfn gives
 *   quantized files written by llama.cpp (quantize.py): the weights have the bits of tfn's
 *
 * llama.cpp keeps keys and values in half precision unless it is told otherwise, as here. It
 * multiplies matrices of blocks with activations that it rounds to 8 bits, and matrices of halves
 * with halves. So tolerances differ by type. Its GELU comes from a table of halves, with tanh, also
 * where the published model has erf. */
import { createRequire } from "node:module";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const TOLERANCE = { f32: 1e-6, f16: 2e-3, bf16: 3e-3, q8_0: 1e-2, q4_0: 1e-2 }, TOKENS = 9;
const CACHE = { experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32" };
const here = dirname(fileURLToPath(import.meta.url));
const models = join(here, "../golden/gguf");
const tfn = process.env.TFN ?? join(here, "../build/bin/tfn");
let llama, libraries;
try {
    const require = createRequire(join(process.env.NODE_FOLDER ?? here, "x.js"));
    const { getLlama } = await import(pathToFileURL(require.resolve("node-llama-cpp")));
    llama = await getLlama({ gpu: false, build: "never", logLevel: "error" });
    libraries = join(process.env.NODE_FOLDER ?? here,
                     "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64");
} catch {
    console.log("left out: gguf: NODE_FOLDER has no npm package node-llama-cpp");
    console.log("0 passed, 0 failed");
    process.exit(0);
}

const room = mkdtempSync(join(tmpdir(), "gguf-"));
let passed = 0, failed = 0;
function check(good, text) {
    good ? passed++ : failed++;
    console.log(`${good ? "ok    " : "FAILED"} ${text}`);
}
function run(...words) {
    return execFileSync(tfn, words, { encoding: "utf8", stdio: ["ignore", "pipe", 2] });
}
function imported(file) {
    const out = join(room, "imported.safetensors");
    const said = run("import", file, "--out", out, "--force");
    return { out, hash: said.match(/^hash .*$/m)[0] };
}
function softmax(logits) {
    const most = Math.max(...logits), e = logits.map((x) => Math.exp(x - most));
    const sum = e.reduce((a, b) => a + b);
    return e.map((x) => x / sum);
}

/* The probabilities of the next token, by tfn's logits after the last one. */
function ours(file, ids) {
    const text = run("logits", imported(file).out, "--ids", ids.join(" "));
    return softmax(text.trim().split("\n").at(-1).trim().split(/\s+/).map(Number));
}

/* The same by llama.cpp. */
async function theirs(model, ids) {
    const context = await model.createContext({ contextSize: 128, batchSize: 128, threads: 1,
                                                flashAttention: false, ...CACHE });
    const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
    const last = [ids.at(-1), { generateNext: { probabilities: true, options } }];
    const said = await context.getSequence().controlledEvaluate([...ids.slice(0, -1), last]);
    await context.dispose();
    return said.at(-1).next.probabilities;
}
async function compare(file, vocab, type, name) {
    const ids = Array.from({ length: TOKENS }, (_, i) => (7*i + 3) % vocab);
    const model = await llama.loadModel({ modelPath: file });
    const a = ours(file, ids), b = await theirs(model, ids);
    const most = Math.max(...a.map((p, i) => Math.abs(p - (b.get(i) ?? 0))));
    await model.dispose();
    const gelu = /bloom|gemma|gpt|phi\./.test(name) ? 3e-4 : 0;
    check(a.length === vocab && most <= Math.max(TOLERANCE[type], gelu), `${name}: largest difference of a `
        + `probability ${most.toExponential(1)}, of ${Math.max(...a).toFixed(3)}`);
}

/* -- golden models, and the same written by tfn ------------------------------------------------- */

for (const file of readdirSync(models).filter((f) => f.endsWith(".gguf"))) {
    const path = join(models, file), config = path.replace(".gguf", ".json");
    if (!existsSync(config)) continue;
    const { vocab_size: vocab } = JSON.parse(readFileSync(config));
    await compare(path, vocab, "f32", file);
    const model = join(room, "model.safetensors");
    run("import", path, "--out", model, "--force");
    for (const type of ["f32", "f16", "q8_0"]) {                /* rows of q8_0 may stay f32 */
        const written = join(room, `${type}-${file}`);
        run("export", model, written, "--type", type);
        await compare(written, vocab, type, `${file} written as ${type}`);
    }
}

/* -- a trained model ---------------------------------------------------------------------------- */

const source = join(here, "../../tools/source/hub/gguf.c"), book = join(room, "book.txt");
writeFileSync(book, readFileSync(source));
const SHAPES = { llama: ["--recipe", "pre-rms", "--set", "activation=swiglu,no_bias=true"],
                 gpt2: ["--recipe", "gpt2", "--position", "learned", "--set",
                        "activation=gelu-tanh"],
                 smollm3: ["--recipe", "pre-rms", "--set",
                           "activation=swiglu,no_bias=true,rotary_period=4"] };
const PROMPTS = ["static void tfn__", "/* Put ", "    if (!tfn", "x"];
const TEXTS = [readFileSync(source, "utf8").slice(0, 4000), "", " ", "\n\n  \t x", "it's I'LL 1234567",
               "\u00e4\u4e2d\u6587 \u{1f600} caf\u0065\u0301", "a".repeat(300), "<s> </s> <pad>",
               "\u0000\u0001\u007f", "   leading", "trailing   ", "\u00a0\u2003x\u3000y"];

async function greedy(model, prompt, count) {
    const context = await model.createContext({ contextSize: 128, batchSize: 128, threads: 1,
                                                flashAttention: false, ...CACHE });
    const ids = model.tokenize(prompt, false), all = [];
    for await (const id of context.getSequence().evaluate(ids, { temperature: 0 })) {
        all.push(id);
        if (all.length >= count) break;
    }
    await context.dispose();
    return [...ids, ...all];
}

/* Of the tokens after the first n: by how much tfn's likeliest token exceeds the probability of
 * llama.cpp's token, at most. */
function misses(checkpoint, ids, n) {
    const lines = run("logits", checkpoint, "--ids", ids.join(" ")).trim().split("\n");
    let most = 0;
    for (let i = n; i < ids.length; i++) {
        const p = softmax(lines[i - 1].trim().split(/\s+/).map(Number));
        most = Math.max(most, Math.max(...p) - p[ids[i]]);
    }
    return most;
}
for (const [shape, options] of Object.entries(SHAPES)) {
    const trained = join(room, `${shape}.safetensors`);
    const tokenizer = shape !== "gpt2" ? ["bpe", "--vocab", "600"] : ["bytes"];
    execFileSync(tfn, ["train", book, "--tokenizer", ...tokenizer, ...options, "--layers",
                       shape === "smollm3" ? "5" : "2", "--width", "64", "--heads", "2", "--steps", "200", "--out", trained],
                 { stdio: "ignore" });
    for (const type of ["f32", "f16", "bf16", "q8_0", "q4_0"]) {
        const file = join(room, `${shape}-${type}.gguf`);
        run("export", trained, file, "--type", type);
        const model = await llama.loadModel({ modelPath: file });
        const vocab = Number(run("import", file, "--out", join(room, "x.safetensors"), "--force")
            .match(/^tokens +(\d+)/m)[1]);
        await compare(file, vocab, type, `trained ${shape} as ${type}`);
        let same = 0, most = 0;
        for (const prompt of PROMPTS) {
            const checkpoint = join(room, "x.safetensors");
            const text = run("generate", checkpoint, "--prompt", prompt, "--max-tokens", "30");
            const ids = await greedy(model, prompt, 30);
            same += text === model.detokenize(ids) + "\n";
            most = Math.max(most, misses(checkpoint, ids, model.tokenize(prompt, false).length));
        }
        /* rounding of activations may exchange two tokens of nearly equal probability */
        check(type === "f32" ? same === PROMPTS.length : most <= 2 * TOLERANCE[type],
              `trained ${shape} as ${type}: ${same} of ${PROMPTS.length} greedy texts agree; `
              + `another token is at most ${most.toExponential(1)} likelier`);
        await model.dispose();
    }
    const model = await llama.loadModel({ modelPath: join(room, `${shape}-f32.gguf`) });
    const lines = TEXTS.flatMap((t) => t.split("\n")).filter((t) => !t.includes("\0"));
    writeFileSync(join(room, "lines.txt"), lines.join("\n") + "\n");
    const found = run("tokens", trained, join(room, "lines.txt")).split("\n");
    const differ = lines.filter((t, i) => model.tokenize(t, false).join(" ") !== found[i].trim());
    check(!differ.length, `trained ${shape}: ids of ${lines.length} lines, ${differ.length} differ `
        + JSON.stringify(differ.slice(0, 3)));
    await model.dispose();
}

/* -- tokenizers --------------------------------------------------------------------------------- */

/* Rows of the test in C: { "file", "text", first token, number of ids, { ids } } */
const ROW = /\{ "(tokens-\w+)", "([^"]*)", -?\d+, \d+,\s*\{ ([\d, ]+) \} \}/g;
const rows = [...readFileSync(join(here, "../hub/test_gguf.c"), "utf8").matchAll(ROW)];
check(rows.length >= 6, `${rows.length} texts for tokenizers`);
for (const [, file, escaped, ids] of rows) {
    const bytes = escaped.replace(/\\x(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    const text = Buffer.from(bytes, "latin1").toString();
    const model = await llama.loadModel({ modelPath: join(models, `${file}.gguf`), vocabOnly: true });
    const found = model.tokenize(text, false).join(", ");
    check(found === ids.trim(), `${file} ${JSON.stringify(text)}: ids ${found}`);
    await model.dispose();
}

/* -- files that llama.cpp writes ---------------------------------------------------------------- */

const input = join(room, "llama-f32.gguf");
for (const type of ["f16", "q8_0", "q4_0"]) {
    const file = join(room, `theirs-${type}.gguf`);
    const said = spawnSync("python3", [join(here, "quantize.py"), libraries, input, file, type]);
    if (said.status !== 0) {
        console.log(`left out: gguf: no python3, or llama.cpp's libraries do not write ${type}`);
        continue;
    }
    await compare(file, 600, type, `written by llama.cpp as ${type}`);
    if (type === "q4_0") continue;              /* our matrix that gives logits is q8_0 there */
    check(imported(file).hash === imported(join(room, `llama-${type}.gguf`)).hash,
          `written by llama.cpp as ${type}: the bits of tfn export`);
}

rmSync(room, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
