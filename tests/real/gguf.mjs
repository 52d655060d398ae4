/* node gguf.mjs: llama.cpp reads the models of golden/gguf and predicts the next token after nine;
 * its probabilities must be those of tfn, within TOLERANCE, because llama.cpp keeps keys and values
 * in half precision. The npm package node-llama-cpp is in the folder NODE_FOLDER, and TFN is the
 * command (build/bin/tfn). The repository keeps none of llama.cpp. */
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const TOLERANCE = 3e-4, TOKENS = 9;
const here = dirname(fileURLToPath(import.meta.url));
const models = join(here, "../golden/gguf");
const tfn = process.env.TFN ?? join(here, "../build/bin/tfn");
let llama;
try {
    const folder = join(process.env.NODE_FOLDER ?? here, "x.js");
    const { getLlama } = await import(pathToFileURL(createRequire(folder).resolve("node-llama-cpp")));
    llama = await getLlama({ gpu: false, build: "never", logLevel: "error" });
} catch {
    console.log("left out: gguf: NODE_FOLDER has no npm package node-llama-cpp");
    console.log("0 passed, 0 failed");
    process.exit(0);
}

const room = mkdtempSync(join(tmpdir(), "gguf-"));

/* The probabilities of the next token, by tfn's logits after the last one. */
function ours(file, ids) {
    const out = join(room, "m.safetensors");
    execFileSync(tfn, ["import", file, "--out", out, "--force"], { stdio: ["ignore", "ignore", 2] });
    const text = execFileSync(tfn, ["logits", out, "--ids", ids.join(" ")], { encoding: "utf8" });
    const logits = text.trim().split("\n").at(-1).trim().split(/\s+/).map(Number);
    const e = logits.map((x) => Math.exp(x - Math.max(...logits)));
    return e.map((x) => x / e.reduce((a, b) => a + b));
}

async function theirs(file, ids) {
    const model = await llama.loadModel({ modelPath: file });
    const context = await model.createContext({ contextSize: 32, batchSize: 32, flashAttention: false });
    const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
    const last = [ids.at(-1), { generateNext: { probabilities: true, options } }];
    const said = await context.getSequence().controlledEvaluate([...ids.slice(0, -1), last]);
    await context.dispose();
    await model.dispose();
    return said.at(-1).next.probabilities;
}

let passed = 0, failed = 0;
for (const file of readdirSync(models).filter((f) => f.endsWith(".gguf") && f !== "blocks.gguf")) {
    const path = join(models, file);
    const { vocab_size: vocab } = JSON.parse(readFileSync(path.replace(".gguf", ".json")));
    const ids = Array.from({ length: TOKENS }, (_, i) => (7*i + 3) % vocab);
    const a = ours(path, ids), b = await theirs(path, ids);
    const most = Math.max(...a.map((p, i) => Math.abs(p - (b.get(i) ?? 0))));
    const good = a.length === vocab && most <= TOLERANCE;
    good ? passed++ : failed++;
    console.log(`${good ? "ok    " : "FAILED"} ${file}: largest difference of a probability `
        + `${most.toExponential(1)}, of ${Math.max(...a).toFixed(3)}`);
}
rmSync(room, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
