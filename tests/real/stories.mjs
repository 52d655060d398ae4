/* node stories.mjs MODEL.bin TOKENIZER.bin RUN: a trained model of llama2.c, such as stories260K,
 * imported as a folder of the hub, writes the texts of llama2.c's own program RUN. The tokenizer
 * becomes SentencePiece's model. TFN is the command (build/bin/tfn). The repository keeps none of
 * llama2.c. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tfn = process.env.TFN ?? join(here, "../build/bin/tfn");
const [model, words, run] = process.argv.slice(2);
if (!run || ![model, words, run].every(existsSync)) {
    console.log("left out: stories: it needs MODEL.bin, TOKENIZER.bin and llama2.c's program");
    console.log("0 passed, 0 failed");
    process.exit(0);
}
const room = mkdtempSync(join(tmpdir(), "stories-"));
let passed = 0, failed = 0;
function check(good, text) {
    good ? passed++ : failed++;
    console.log(`${good ? "ok    " : "FAILED"} ${text}`);
}

/* -- the weights: version 0 of llama2.c, all of one kind next to each other --------------------- */

const file = readFileSync(model);
const [dim, hidden, layers, heads, kvHeads, signed, context] =
    Array.from({ length: 7 }, (_, i) => file.readInt32LE(4 * i));
const vocab = Math.abs(signed), size = dim / heads;
let at = 28;
function take(count) {
    const part = new Float32Array(file.buffer.slice(file.byteOffset + at,
                                                    file.byteOffset + at + 4 * count));
    at += 4 * count;
    return part;
}

/* Channels 2j and 2j + 1 of a head turn together here, j and j + D/2 in the hub. */
function halves(w, count) {
    const out = new Float32Array(w.length);
    for (let h = 0; h < count; h++)
        for (let j = 0; j < size; j++) {
            const from = h * size + (j < size / 2 ? 2*j : 2*(j - size / 2) + 1);
            out.set(w.subarray(from * dim, (from + 1) * dim), (h * size + j) * dim);
        }
    return out;
}
const tensors = {}, kv = kvHeads * size;
tensors["model.embed_tokens.weight"] = [[vocab, dim], take(vocab * dim)];
for (const [name, shape] of [
    ["input_layernorm", [dim]], ["self_attn.q_proj", [dim, dim]], ["self_attn.k_proj", [kv, dim]],
    ["self_attn.v_proj", [kv, dim]], ["self_attn.o_proj", [dim, dim]],
    ["post_attention_layernorm", [dim]], ["mlp.gate_proj", [hidden, dim]],
    ["mlp.down_proj", [dim, hidden]], ["mlp.up_proj", [hidden, dim]]])
    for (let i = 0; i < layers; i++) {
        let w = take(shape.reduce((a, b) => a * b));
        if (name.endsWith("q_proj")) w = halves(w, heads);
        if (name.endsWith("k_proj")) w = halves(w, kvHeads);
        tensors[`model.layers.${i}.${name}.weight`] = [shape, w];
    }
tensors["model.norm.weight"] = [[dim], take(dim)];
take(context * size);                           /* cosines and sines of the positions */
if (signed < 0) tensors["lm_head.weight"] = [[vocab, dim], take(vocab * dim)];
const header = {}, data = [];
let end = 0;
for (const [name, [shape, w]] of Object.entries(tensors)) {
    header[name] = { dtype: "F32", shape, data_offsets: [end, end + 4 * w.length] };
    data.push(Buffer.from(w.buffer));
    end += 4 * w.length;
}
const head = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
length.writeBigUInt64LE(BigInt(head.length));
writeFileSync(join(room, "model.safetensors"), Buffer.concat([length, head, ...data]));
writeFileSync(join(room, "config.json"), JSON.stringify({
    model_type: "llama", vocab_size: vocab, hidden_size: dim, intermediate_size: hidden,
    num_hidden_layers: layers, num_attention_heads: heads, num_key_value_heads: kvHeads,
    max_position_embeddings: context, rms_norm_eps: 1e-5, rope_theta: 10000, hidden_act: "silu",
    tie_word_embeddings: signed > 0, bos_token_id: 1, eos_token_id: 1 }));

/* -- the tokenizer: a score, a length and the bytes of each token ------------------------------- */

const list = readFileSync(words), pieces = [];
for (let p = 4; p < list.length && pieces.length < vocab;) {
    const bytes = list.readInt32LE(p + 4);
    pieces.push([list.readFloatLE(p), list.subarray(p + 8, p + 8 + bytes)]);
    p += 8 + bytes;
}
function varint(n) {
    return n < 128 ? [n] : [n % 128 + 128, ...varint(Math.floor(n / 128))];
}
const field = (number, bytes) =>
    Buffer.from([...varint(number << 3 | 2), ...varint(bytes.length), ...bytes]);
const KINDS = { unknown: 2, control: 3, byte: 6, normal: 1 };
const all = pieces.map(([score, bytes], id) => {
    const kind = id === 0 ? "unknown" : id < 3 ? "control" : id < 259 ? "byte" : "normal";
    const text = kind === "control" ? bytes.toString().trim()
        : bytes.toString().replaceAll(" ", "\u2581");
    const number = Buffer.alloc(4);
    number.writeFloatLE(score);
    return field(1, Buffer.concat([field(1, Buffer.from(text)), Buffer.from([2 << 3 | 5]), number,
                                   Buffer.from([3 << 3, KINDS[kind]])]));
});
const trainer = Buffer.from([3 << 3, 2, ...varint(35 << 3), 1, ...varint(40 << 3), 0,
                             ...varint(41 << 3), 1, ...varint(42 << 3), 2]);
const normalizer = Buffer.from([3 << 3, 1, 4 << 3, 0, 5 << 3, 1]);
writeFileSync(join(room, "tokenizer.model"),
              Buffer.concat([...all, field(2, trainer), field(3, normalizer)]));

/* -- texts -------------------------------------------------------------------------------------- */

const PROMPTS = ["Once upon a time", "Lily", "The dog", "One day, a boy named Tim",
                 "\"Hello,\" said", "There was a big \u00e9l\u00e9phant", "  two spaces",
                 "Mom and Dad"];
const checkpoint = join(room, "stories.safetensors"), most = String(context / 2);
execFileSync(tfn, ["import", room, "--out", checkpoint, "--force"],
             { stdio: ["ignore", "ignore", 2] });
for (const prompt of PROMPTS) {
    const theirs = execFileSync(run, [model, "-z", words, "-t", "0", "-n", most, "-i", prompt],
                                { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
        .trimEnd();
    const ours = execFileSync(tfn, ["generate", checkpoint, "--prompt", prompt, "--max-tokens",
                                    most], { encoding: "utf8" });
    check(theirs.length > prompt.length && ours.startsWith(theirs),
          `${JSON.stringify(prompt)}: ${theirs.length} characters agree`);
    if (!ours.startsWith(theirs)) console.log(`  theirs ${theirs}\n  ours   ${ours}`);
}
rmSync(room, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
