/* NODE_FOLDER=folder node make_tokenizers.mjs > golden_tokenizers.h: parts of tokenizer.json that
 * the flags of a tokenizer cannot express. Each row changes a file of golden_hub.h (see hub_changed
 * in text/test_hub.c) and has the ids of the strings below from the library "tokenizers" (npm
 * install tokenizers in that folder). */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { Tokenizer } = createRequire(join(process.env.NODE_FOLDER ?? ".", "x.js"))("tokenizers");
const source = readFileSync(new URL("golden_hub.h", import.meta.url), "latin1");
function file(name) {
    const begin = source.indexOf(`golden_hub_${name}[]`);
    const body = source.slice(begin, source.indexOf("};", begin));
    const parts = Array.from(body.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, s]) =>
        s.replace(/\\([0-7]{1,3}|.)/g, (_, c) => /[0-7]/.test(c[0]) ? String.fromCharCode(parseInt(c, 8)) :
            { n: "\n", t: "\t" }[c] ?? c));
    return Buffer.from(parts.join(""), "latin1").toString();
}
const texts = ["", "Hello  world's 12345 \u00e9t\u00e9 E\u0301T\u00c9!", " the\u00a0 ﬁ ½ ①x² ＡＢ\u3000１２ ǅ Å Å",
    "a-b_c (d) \"e\" 3.14, 日本語です。日本\nカタカナ\r\n\r\n  \tx", "HelloWorld camelCase don'T WE'LL ſ's",
    "<|eot_id|>x <unk> [MASK]y [UNK] \u0301\u0300e", "한국어 각 각 \u1112\u1161\u11ab ÀÁ Ǆ İI ß ς Σ",
    "\u0001\u0007\u200b\ufeff\ufffd\u2581a\u2581 \u2581\u2581b ", "xxxxx   12 34567 \u0663\u0664 a1b2²³",
    "naïve café ü\u0323 👍🏽 🇩🇪 x\u200dy --- ... !? $5"];
const level = (more) => JSON.stringify(Object.assign(
    { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false }, more));
const split = (regex, behavior = "Isolated", invert = false) => JSON.stringify(
    { type: "Split", pattern: { Regex: regex }, behavior, invert });
const text_split = (string, behavior) => JSON.stringify(
    { type: "Split", pattern: { String: string }, behavior, invert: false });
const pre = (...parts) => ['"pre_tokenizer":{', `"pre_tokenizer":{"type":"Sequence","pretokenizers":[${
    parts.join(",")}]},"old":{`];
const norm = (...parts) => ['"normalizer":null', `"normalizer":{"type":"Sequence","normalizers":[${
    parts.join(",")}]}`];
const type = (name, more) => JSON.stringify(Object.assign({ type: name }, more));
const replace = (pattern, content) => type("Replace", { pattern, content });
const O200K = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" +
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+" +
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}" +
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const NEMO = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" +
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}" +
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const DEEPSEEK = [split("\\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
    split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" +
        "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")];
const bytes = [];
for (const regex of [O200K, NEMO, "\\d+|\\w+|.", "(?<=a)b|\\bW|^[a-z]|x{2,3}?|o$", "(?:ab|a|b)+?l|[[a-e]&&x]{0}l",
    "l*o|[^\\S\\n]+|\\x{65E5}|\\u672C", "(?i)HELLO|the(?-i:X)?|K", "\\p{^L}+|\\P{L}", "(x|xx)(?!x)|'(?=[Tt])"])
    if (!regex.includes("&&")) bytes.push([pre(split(regex), level())]);
bytes.push([pre(...DEEPSEEK, level())],
    [pre(type("Digits", { individual_digits: true }), level({ use_regex: true }))],
    [pre(type("Digits", { individual_digits: false }), level({ use_regex: true }))],
    [pre(type("Punctuation", { behavior: "Contiguous" }), level({ use_regex: true }),
         type("Digits", { individual_digits: false }), split("[0-9][0-9][0-9]"))],
    [pre(type("WhitespaceSplit"), level({ add_prefix_space: true }))],
    [pre(level({ add_prefix_space: true, use_regex: true }))], [pre(level())],
    [pre(type("Whitespace"), level())], [pre(type("BertPreTokenizer"), level())],
    [pre(type("CharDelimiterSplit", { delimiter: "e" }), level())]);
for (const behavior of ["Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"])
    bytes.push([pre(split("[ l]", behavior), level())], [pre(split("[ lx]+?", behavior, true), level())],
        [pre(text_split(" ", behavior), type("Punctuation", { behavior }), level())]);
for (const steps of [[type("NFKC")], [type("NFD")], [type("NFKD"), type("StripAccents")],
    [type("NFD"), type("Lowercase"), type("StripAccents"), type("NFC")], [type("Nmt"), type("NFKC")],
    [type("Strip", { strip_left: true, strip_right: true }), type("Prepend", { prepend: "<|" })],
    [replace({ Regex: "\\s+" }, " "), type("Lowercase"), replace({ String: "l" }, "[]")],
    [replace({ Regex: "xx?" }, "-"), type("NFC")]])
    bytes.push([norm(...steps)]);
bytes.push([norm(type("Lowercase")), ['"special":true', '"special":false,"normalized":true']],
    [['"single_word":false', '"single_word":true'], ['"lstrip":false', '"lstrip":true']],
    [['"single_word":false,"lstrip":false,"rstrip":false', '"single_word":true,"lstrip":true,"rstrip":true']]);
const rows = bytes.map((changes) => ["LLAMA3", changes]);
for (const changes of [
    [['"model":{"type":"WordPiece",', '"model":{']],
    [['"type":"BertPreTokenizer"', '"type":"Whitespace"']],
    [['"pre_tokenizer":{', `"pre_tokenizer":{"type":"Sequence","pretokenizers":[${type("WhitespaceSplit")},${
        type("Punctuation", { behavior: "MergedWithNext" })}]},"old":{`]],
    [['"normalizer":{', `"normalizer":{"type":"Sequence","normalizers":[${type("NFD")},${type("Lowercase")},${
        type("StripAccents")}]},"old":{`]],
    [['"decoder":{', '"decoder":null,"old":{']],
    [['"model":{"type":"WordPiece"', '"model":{"type":"WordLevel"'], ['"type":"BertPreTokenizer"', '"type":"Whitespace"']]])
    rows.push(["BERT", changes]);
for (const changes of [
    [['"type":"BPE",', ""]], [['<0x41>', "<0x4x>"]], [['<0xEF>', "<0xZZ>"]],
    [['"special":true', '"special":false,"normalized":true']],
    [['"prepend":"', '"prepend":"x']]])
    rows.push(["LLAMA", changes]);
for (const changes of [
    [['"type":"Unigram",', ""]], [["WhitespaceSplit", "Whitespace"]],
    [['"add_prefix_space":true', '"prepend_scheme":"never","add_prefix_space":false']],
    [['"replacement":"\u2581"', '"replacement":"_"']],
    [norm(type("NFKC"), type("Lowercase"))]])
    rows.push(["XLMR", changes]);

/* -- as C -- */
const c_text = (s) => '"' + Array.from(Buffer.from(s), (b) => b === 34 || b === 92 ? "\\" +
    String.fromCharCode(b) : b === 63 ? "\\?" : b < 32 || b > 126 ? "\\" + b.toString(8).padStart(3, "0") :
    String.fromCharCode(b)).join("") + '"';
function put(items, indent = "    ", first = "", last = "") {
    let line = indent + first;
    for (const item of items) {
        if (line.length + item.length > 98) { console.log(line.trimEnd()); line = indent; }
        line += item + " ";
    }
    console.log(line.trimEnd() + last);
}
const pieces = (s) => {                         /* a literal in lines */
    const all = c_text(s).slice(1, -1).match(/\\[0-7]{3}|\\.|[^\\]/g) ?? [];
    const lines = [];
    let line = "";
    for (const c of all) {
        if (line.length > 76) { lines.push(`"${line}"`); line = ""; }
        line += c;
    }
    return [...lines, `"${line}"`];
};
console.log("/* Made by golden/make_tokenizers.mjs: changes of files, and the ids of the texts. */");
console.log("static const char *const golden_tokenizer_texts[] = {");
for (const text of texts) put([...pieces(text)].map((s, i, a) => i + 1 < a.length ? s : s + ","));
console.log("};");
console.log("typedef struct golden_tokenizer_row {\n    int file;\n    const char *change[3][2];\n} golden_tokenizer_row;");
const ids = [];
console.log("static const golden_tokenizer_row golden_tokenizer_rows[] = {");
for (const [name, changes] of rows) {
    let json = file(name.toLowerCase());
    for (const [from, to] of changes) {
        if (!json.includes(from)) throw new Error(`${name} has no ${from}`);
        json = json.replace(from, () => to);
    }
    const object = JSON.parse(json);
    delete object.old;
    let reference;
    try {
        reference = Tokenizer.fromString(JSON.stringify(object));
    } catch (e) {
        throw new Error(`${name} ${JSON.stringify(changes)}: ${e.message}`);
    }
    for (const text of texts) {
        const found = (await reference.encode(text, null, { addSpecialTokens: false })).getIds();
        ids.push(found.length, ...found);
    }
    console.log(`    { HUB_${name}, {`);
    for (const [from, to] of changes) put(["{", ...pieces(from), ",", ...pieces(to), "},"], "        ");
    console.log("    } },");
}
console.log("};");
console.log("static const short golden_tokenizer_ids[] = {");
put(ids.map((id) => id + ","));
console.log("};");
