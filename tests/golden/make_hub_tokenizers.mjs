/* npm install @huggingface/tokenizers @anush008/tokenizers tiktoken
 * node make_hub_tokenizers.mjs > golden_hub.h
 * Small tokenizer.json files in the forms of GPT-2, OPT, Llama 3, Qwen 2 and BLOOM, whose merges
 * are learned here from examples/04_language_model.txt, and the ids of strings from
 * @huggingface/tokenizers: `plain` with special tokens removed from added_tokens, `marked` with
 * all. If no added token and no ignore_merges matters, tiktoken with the same ranks and expression
 * must give the same. BLOOM's expression has nested sets, which JavaScript lacks, so it uses
 * @anush008/tokenizers. Then files of other kinds, with the ids and the decoded texts from
 * @anush008/tokenizers, which is the library "tokenizers" itself. */
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";
import { Tiktoken } from "tiktoken";
import library from "@anush008/tokenizers";

const GPT2 = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const LLAMA3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" +
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const QWEN2 = LLAMA3.replace("{1,3}", "");
const BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+";

/* -- bytes shown as characters -- */
const shown = [];
for (let b = 0, next = 256; b < 256; b++) {
    const prints = (b > 32 && b < 127) || (b > 160 && b !== 173);
    shown.push(String.fromCodePoint(prints ? b : next++));
}
const show = (bytes) => Array.from(bytes, (b) => shown[b]).join("");
const bytes_of = (token) => Uint8Array.from(Array.from(token, (c) => shown.indexOf(c)));

/* -- merges, the plain way -- */
function learn(text, regex, count, symbols = (w) => Array.from(show(Buffer.from(w)))) {
    const words = new Map();
    for (const [word] of text.matchAll(regex)) words.set(word, (words.get(word) ?? 0) + 1);
    const all = Array.from(words, ([w, n]) => [symbols(w), n]);
    const merges = [];
    while (merges.length < count) {
        const pairs = new Map();
        for (const [word, n] of all)
            for (let i = 1; i < word.length; i++) {
                const pair = word[i - 1] + " " + word[i];
                pairs.set(pair, (pairs.get(pair) ?? 0) + n);
            }
        const [best] = Array.from(pairs).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
        const [left, right] = best.split(" ");
        merges.push([left, right]);
        for (const entry of all) {
            const out = [];
            for (const c of entry[0])
                if (c === right && out.at(-1) === left) out[out.length - 1] = left + right;
                else out.push(c);
            entry[0] = out;
        }
    }
    return merges;
}

/* -- the files -- */
const text = readFileSync(new URL("../../examples/04_language_model.txt", import.meta.url), "utf8")
    .slice(0, 60000) +
    "\n日本語 日本 日本語 été Été naïve 123 1234 12345 we'll they're it's don't ".repeat(40);
const added = (id, content, more) => Object.assign(
    { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false,
      special: true }, more);
const level = (more) => Object.assign(
    { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true }, more);
const split = (regex, more) => ({ type: "Sequence", pretokenizers: [
    Object.assign({ type: "Split", pattern: { Regex: regex }, behavior: "Isolated",
                    invert: false }, more),
    level({ use_regex: false })] });
const template = (name, id) => ({ type: "TemplateProcessing",
    single: [{ SpecialToken: { id: name, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
    pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
    special_tokens: { [name]: { id: name, ids: [id], tokens: [name] } } });
const text_json = {};

function file(name, { merges, front = [], behind = [], tokens, pre, post, normalizer = null,
                      whole = false, pairs, escaped }) {
    const vocab = {};
    let id = 0;
    for (const t of front) vocab[t] = id++;
    for (const t of shown.slice().sort()) vocab[t] = id++;
    for (const [a, b] of merges) if (!(a + b in vocab)) vocab[a + b] = id++;
    for (const t of behind) vocab[t] = id++;
    const json = {
        version: "1.0", truncation: null, padding: null,
        added_tokens: tokens(id), normalizer, pre_tokenizer: pre, post_processor: post(id),
        decoder: level(),
        model: { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: "",
                 end_of_word_suffix: "", fuse_unk: false, byte_fallback: false,
                 ignore_merges: whole, vocab,
                 merges: pairs ? merges : merges.map((m) => m.join(" ")) } };
    let s = JSON.stringify(json, null, pairs ? 0 : 1).replace(/\n */g, pairs ? "" : "\n");
    if (escaped)
        s = s.replace(/[^\0-~]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
    text_json[name] = s;
    return json;
}

const by_words = learn(text, GPT2, 150);
const any_case = LLAMA3.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)",
                                "'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL])");
const by_split = learn(text, new RegExp(any_case, "gu"), 150);
const plain_token = { special: false }, late = { normalized: true };
const files = {
    gpt2: file("gpt2", {
        merges: by_words, pre: level(), post: () => level({ trim_offsets: false }), escaped: true,
        tokens: (n) => [added(n, "<|endoftext|>"),
            ...["  ", "    ", "        ", "\t\t", "\n\n\n", "\u00e9\u0301"].map(
                (c, i) => added(n + 1 + i, c, plain_token))] }),
    opt: file("opt", {
        merges: [...by_words, ["\u010a", "\u010a"], ["\u0120", "\u010a"]], pairs: true,
        pre: level({ add_prefix_space: true }), front: ["<s>", "<pad>", "</s>"],
        post: () => template("</s>", 2),
        tokens: (n) => [added(n, "<mask>", { lstrip: true, ...late }), added(0, "<s>", late),
            added(1, "<pad>", late), added(2, "</s>", late),
            added(n + 1, "[R]", { rstrip: true, ...plain_token, ...late })] }),
    llama3: file("llama3", {
        merges: by_split, pre: split(LLAMA3), whole: true, pairs: true,
        behind: [show(Buffer.from(" tokenizers")), show(Buffer.from("日本語です"))],
        tokens: (n) => ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>",
                        "<|eot_id|><|eot"].map((c, i) => added(n + i, c)),
        post: (n) => ({ type: "Sequence",
                        processors: [level(), template("<|begin_of_text|>", n)] }) }),
    qwen2: file("qwen2", {
        merges: by_split, pre: split(QWEN2, { behavior: "Removed", invert: true }),
        post: () => null, escaped: true, normalizer: { type: "NFC" },
        tokens: (n) => [added(n, "<|endoftext|>"), added(n + 1, "<|im_start|>"),
            added(n + 2, "<|im_end|>"), added(n + 3, "<think>", plain_token),
            added(n + 4, "</think>", plain_token),
            added(n + 5, "\u00e9\u00e9", { ...plain_token, ...late })] }),
    bloom: file("bloom", {
        merges: [...learn(text, new RegExp(BLOOM.replace("|[", "|").replace("])]", ")]"), "gu"), 150),
                 ["(", "c"]],                   /* across a cut: never used */
        pre: split(BLOOM), post: () => level(),
        tokens: (n) => ["<unk>", "<s>", "</s>", "<pad>"].map((c, i) => added(n + i, c)) }),
};

/* -- the files of other kinds -- */
const others = {};
function other(name, json) {
    others[name] = Object.assign({ version: "1.0", truncation: null, padding: null }, json);
    text_json[name] = JSON.stringify(others[name]);
}
/* The `most` most frequent results of `parts` in the words of the text. */
function frequent(words, most, parts) {
    const counts = new Map();
    for (const word of words)
        for (const part of parts(word)) counts.set(part, (counts.get(part) ?? 0) + 1);
    return Array.from(counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
        .slice(0, most).map(([part]) => part);
}
const ends = (word) => Array.from(word.slice(1), (_, i) => word.slice(i + 1));
function bert(name, lowercase, more) {
    const words = (lowercase ? text.toLowerCase() : text).match(/[a-z]+|[A-Z][a-z]+/g);
    const tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ..."!'(),-.:;?[]0123456789",
        ..."abcdefghijklmnopqrstuvwxyz",
        ...Array.from("abcdefghijklmnopqrstuvwxyz12", (c) => "##" + c),
        ..."日本語é\u1112\u1161\u11ab", "##", "##é", "##\u1161", "##\u11ab", "ß", "##ß", "σ", "##σ",
        "ας", "ł", "##ł", ...frequent(words, 60, (w) => [w]),
        ...frequent(words, 30, (w) => ends(w).map((e) => "##" + e))];
    const vocab = Object.fromEntries(Array.from(new Set(tokens)).map((t, i) => [t, i]));
    other(name, {
        added_tokens: tokens.slice(0, 5).map((t, i) => added(i, t, { lstrip: t === "[MASK]" })),
        normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true,
                      strip_accents: null, lowercase },
        pre_tokenizer: { type: "BertPreTokenizer" },
        post_processor: { type: "TemplateProcessing",
            single: ["[CLS]", "A", "[SEP]"].map((id) => id === "A" ?
                { Sequence: { id, type_id: 0 } } : { SpecialToken: { id, type_id: 0 } }),
            pair: [], special_tokens: {
                "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
                "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] } } },
        decoder: { type: "WordPiece", prefix: "##", cleanup: true },
        model: Object.assign({ type: "WordPiece", unk_token: "[UNK]",
            continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab }, more) });
}
bert("bert", true);
bert("bert_cased", false, { max_input_chars_per_word: 6 });

/* SentencePiece: pieces in the order of their scores, -id, and all merges that make one. */
const marked_text = text.replace(/ /g, "\u2581");
const piece_merges = learn(marked_text, /\u2581*[^\u2581]+/g, 120, (w) => Array.from(w));
function pieces_of(front) {
    const tokens = [...front, ...piece_merges.map(([a, b]) => a + b)];
    const letters = Array.from(new Set(piece_merges.flat().flatMap((t) => Array.from(t))));
    return Array.from(new Set([...tokens, "\u2581\u2581", ...letters.sort(), ..."日本\n", "\u2581"]));
}
function merges_of(tokens) {
    const id = new Map(tokens.map((t, i) => [t, i]));
    return tokens.flatMap((t) => Array.from(t, (_, i) => [t.slice(0, i), t.slice(i)])
        .filter(([a, b]) => a && id.has(a) && id.has(b) && !t.startsWith("<"))
        .sort((x, y) => id.get(x[0]) - id.get(y[0])));
}
const controls = (count) => ["<unk>", "<s>", "</s>"].map((t, i) => added(i, t)).slice(0, count);
const replace = { type: "Replace", pattern: { String: " " }, content: "\u2581" };
const spaces = [{ type: "Replace", pattern: { String: "\u2581" }, content: " " },
                { type: "ByteFallback" }, { type: "Fuse" }];
const byte_names = Array.from({ length: 256 },
    (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`);
function characters(name, front, pairs, more, parts) {
    const tokens = pieces_of(["<unk>", "<s>", "</s>", ...front]);
    const merges = merges_of(tokens);
    other(name, Object.assign({ added_tokens: controls(3), pre_tokenizer: null,
        post_processor: template("<s>", 1),
        model: Object.assign({ type: "BPE", dropout: null, unk_token: "<unk>",
            continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true,
            byte_fallback: false, ignore_merges: false,
            vocab: Object.fromEntries(tokens.map((t, i) => [t, i])),
            merges: pairs ? merges : merges.map((m) => m.join(" ")) }, more) }, parts));
}
characters("llama", byte_names, false, { byte_fallback: true }, {
    normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "\u2581" }, replace] },
    decoder: { type: "Sequence", decoders: [...spaces,
        { type: "Strip", content: " ", start: 1, stop: 0 }] } });
characters("gemma", [], true, {}, {
    normalizer: replace,
    pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious",
                     invert: false },
    decoder: { type: "Sequence", decoders: spaces } });
characters("mistral", [], true, { ignore_merges: true, fuse_unk: false }, {
    normalizer: null,
    pre_tokenizer: { type: "Metaspace", replacement: "\u2581", prepend_scheme: "first",
                     split: false },
    decoder: { type: "Metaspace", replacement: "\u2581", prepend_scheme: "first" } });

/* A table of replacements: a double array with each node's children at its offset ^ their byte, 0
 * for the value of the node itself. */
function table_of(rules) {
    const root = { next: new Map() };
    let texts = "";
    for (const [from, to] of rules) {
        let node = root;
        for (const byte of Buffer.from(from)) {
            if (!node.next.has(byte)) node.next.set(byte, { next: new Map() });
            node = node.next.get(byte);
        }
        node.value = Buffer.byteLength(texts);
        texts += to + "\0";
    }
    const units = new Map([[0, 0]]);
    let nodes = 0;
    function place(node, at, label) {
        const labels = [...node.next.keys()].concat(node.value === undefined ? [] : [0]);
        const offset = 256 * ++nodes;           /* no two nodes have the same */
        for (const c of labels) units.set(offset ^ c, 0);
        units.set(at, ((offset ^ at) << 10 | label | (node.value === undefined ? 0 : 256)) >>> 0);
        if (node.value !== undefined) units.set(offset, (node.value | 1 << 31) >>> 0);
        for (const [c, child] of node.next) place(child, offset ^ c, c);
    }
    place(root, 0, 0);
    const size = Math.max(...units.keys()) + 1;
    const bytes = Buffer.alloc(4 + 4 * size);
    bytes.writeUInt32LE(4 * size, 0);
    for (const [at, unit] of units) bytes.writeUInt32LE(unit, 4 + 4 * at);
    return Buffer.concat([bytes, Buffer.from(texts)]).toString("base64");
}
const table = table_of([["\t", " "], ["\n", " "], ["\r", " "], ["\u3000", " "], ["\u00bd", "1\u20442"],
    ["e\u0301", "\u00e9"], ["\ufb01", "fi"], ["\u200b", ""], ["\uff21", "A"],
    ["~==", "the"]]);
function unigram(name, byte_fallback, front, parts) {
    const tokens = pieces_of(["<unk>", "<s>", "</s>", ...front]);
    other(name, Object.assign({ added_tokens: controls(3), post_processor: null,
        decoder: { type: "Metaspace", replacement: "\u2581", prepend_scheme: "always" },
        model: { type: "Unigram", unk_id: 0, byte_fallback,
            vocab: tokens.map((t, i) => [t, i < 3 + front.length ? 0 :
                -Math.fround(2 + i / 20 + (i % 7) / 3)]) } }, parts));
}
const metaspace = { type: "Metaspace", replacement: "\u2581", prepend_scheme: "always" };
unigram("t5", false, [], { pre_tokenizer: metaspace,
    normalizer: { type: "Sequence", normalizers: [
        { type: "Precompiled", precompiled_charsmap: table },
        { type: "Strip", strip_left: false, strip_right: true },
        { type: "Replace", pattern: { Regex: " {2,}" }, content: "\u2581" }] } });
unigram("xlmr", true, byte_names, { normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" },
        { type: "Metaspace", replacement: "\u2581", add_prefix_space: true }] },
    decoder: { type: "Sequence", decoders: [{ type: "ByteFallback" }, metaspace] } });

/* -- the strings -- */
const strings = [
    "", " ", "  ", "   ", "a", "Hello  world", "The king is dead, long live the king!",
    "it's we'll they're I'm I'd you've don't", "IT'S WE'LL THEY'RE I'M I'D YOU'VE DON'T",
    "it'S we'Ll they'rE", "it''s 's 'tis '", "x=1+22", "3rd 12345 1234567 0", "12 345,678.90",
    "a\n\nb", "a\r\n\r\nb", "a \n \n b", "\n", "\n\n\n\n\n", " \n", "\n ", "\n\nb", "\n b", "\n",
    "a   b    c", "x  ", "\ttab\t\ttabs\t\t\tthree", "  leading", "trailing  \n  ",
    "a\n  indented\n    more\n        most\n", "foo(bar);\r\nbaz[0] = {};\n", "!!!\n\n???\r\n",
    " !?", "...\n", "日本語", "日本語です", " 日本語です。", "你好，世界", "été Été naïve", "e\u0301te\u0301",
    "a\u0301\u0323 a\u0323\u0301", "\u0301", "é\u0301", "x é\u0301\u0301 y", "😀", "👩‍👩‍👧‍👦 🇩🇪",
    "a😀b", "½ Ⅷ ٣٤٥ १२३४", "x\u00bd\u0661y", "a\u00a0b\u3000c\u2003\u2003d", "\u2028a\u2029",
    "\u200b\u200d", "привет мир", "שָׁלוֹם עוֹלָם", "สวัสดี", "한국어 \u1112\u1161\u11ab",
    "\u212b\u2126 \ufb01", "\u0958\u0928\u093c", " tokenizers", "tokenizers tokenizers", "\0a\0",
    "ee\u0301e\u0301 \u00e9e\u0301",
    "\u1e69 s\u0323\u0307 s\u0307\u0323 \u1e63\u0307 \u1e61\u0323",
    "e\u0327\u0301 \u00e9\u0327 a\u0300\u0301",
    "\u1100\u1161\u11a8\u11a8 \uac00\u11a8 \u1100\u1161",
    "\u0b92\u0bd7 \u0bc6\u0bbe \u09c7\u09be\u0995\u09be", "\u0f73\u0f75\u0f81 \u0344",
    "\uf900\ufa0e\u{2f800}\u{1d15e}\u{1d160}", "\u0915\u093c \u0929\u093c \u0958",
    "\u0301a\u0301", "b\u0301\u0307 a\u0315\u0300", "<|im_end|\u003e\u0338 \u2260 =\u0338",
    "\u0e01\u0e38\u0e48 \u0e01\u0e48\u0e38", "\u05e9\u05bc\u05c1 \u05e9\u05c1\u05bc \ufb2c",
    "<|endoftext|>", "a<|endoftext|>b <|endoftext|> c", "<|endoftext",
    "<|endoftext|><|endoftext|>", "  <|endoftext|>  ", "<s>a</s> <pad><mask>",
    "say  <mask> now\n<mask>", "x[R]  y [R]\n[R]", "<|begin_of_text|>hi<|eot_id|>",
    "<|eot_id|><|eot_id|><|eot", "<|im_start|>user\nHi <think>\n</think> there<|im_end|>\n",
    "<|im_<|im_start|>|>", "<think><think", " <think> ",
    /* white space, non-space, and the long s, which is an s if case is ignored */
    "\u0085a \u0085", "a\ufeffb \ufeff c", "it'\u017f I'\u017fo",
];

/* Strings for the other kinds, after some of those. */
const other_strings = [...strings.slice(0, 58), "<|endoftext|> <s>a</s>", "<s> x </s> <pad>",
    "a [MASK] b[SEP]", "[CLS]the[UNK]", "\u0130stanbul \u00c0\u0301\u0323 \u1e9e \u03a3\u0391\u03a3",
    "co-operate, don't! (isn't it?)", "a".repeat(100), "a".repeat(101), "the##king ## ###",
    "x\u200dy\u00adz\u0007\ufffd!", "\u4e2d\u6587abc\u{20000}x\u3041",
    "\u0958\u1e69\uff21\uff01\u3002",
    "\u2581a \u2581", "fi\ufb01 \u2460 \ufdfa \u210c", "\ud55c \ud55c\ud55c",
    "\u0141\u0141 \u0142", "\u00e9abcde \u00e9abcdef"];

/* Strings for SentencePiece. */
const piece_strings = ["", " ", "  ", "   ", "a", "Hello  world", "  leading", "trailing  \n  ",
    "The king is dead, long live the king!", "it's we'll they're I'm", "a\n\nb", "a \n \n b", "\n",
    "\ttab\t\ttabs", "3rd 12345", "!!!\n\n???\r\n", "日本語です 日本", "été e\u0301te\u0301", "😀 a😀b",
    "\u3000a\u3000 b", "\u00bd \ufb01ne\u200b \uff21", "\u2581a \u2581", "a\u2581\u2581 b\u2581", "\0a\0",
    "the the thethe  the", "<s>a</s> b<unk>", " </s> x </s>", "<0x41><0x0A>", "theof the",
    "aa".repeat(90), "the king ".repeat(16), "日".repeat(50), "x\u00a0y\u2003z\u0085w"];

/* -- the ids -- */
function reference(json, specials) {
    const copy = structuredClone(json);
    if (!specials) copy.added_tokens = copy.added_tokens.filter((t) => !t.special);
    copy.post_processor = null;
    const t = new Tokenizer(copy, {});
    return (s) => Array.from(t.encode(s, { add_special_tokens: false }).ids);
}
function second(json, regex) {
    const ranks = Object.entries(json.model.vocab)
        .filter(([t]) => Array.from(t).every((c) => shown.includes(c)))
        .map(([t, id]) => Buffer.from(bytes_of(t)).toString("base64") + " " + id);
    const t = new Tiktoken(ranks.join("\n"), {}, regex);
    return (s) => Array.from(t.encode(s, [], []));
}
/* A text as strings of C of at most `width` characters. */
function strings_of(s, width) {
    const out = [""];
    for (const b of Buffer.from(s)) {
        let c = String.fromCharCode(b);
        if (b === 34 || b === 63 || b === 92) c = "\\" + c;
        else if (b < 32 || b > 126) c = "\\" + b.toString(8).padStart(3, "0");
        if (out.at(-1).length + c.length > width) out.push("");
        out[out.length - 1] += c;
    }
    return out.map((line) => '"' + line + '"');
}
const rows = [];
const bloom_strings = ["a|b (c) d", "It's 12.5 (or so),  now", "x\u2026\u3002\uff0c\u3001\u0964\u06d4" +
    "\u060cy  z", " ( a", "..  ..a", "\u3000a\u00a0b \u0085 c", "a , b .c", "( ", " )", "   ", "<s>(</s>"];
/* The ids of @anush008/tokenizers, with special tokens or without. */
async function library_ids(json, s, specials) {
    const t = await library.Tokenizer.fromString(JSON.stringify(Object.assign({}, json, {
        post_processor: null,
        added_tokens: json.added_tokens.filter((a) => specials || !a.special) })));
    return (await t.encode(s, null, { addSpecialTokens: false })).getIds();
}
for (const [name, json] of Object.entries(files)) {
    if (name === "bloom") continue;
    const plain = reference(json, false), marked = reference(json, true);
    const regex = { gpt2: GPT2.source, opt: GPT2.source, llama3: LLAMA3, qwen2: QWEN2 }[name];
    const tik = second(json, regex);
    const ordinary = (s) => json.added_tokens.every((t) => !s.includes(t.content) &&
        !s.normalize("NFC").includes(t.content)) && name !== "opt";
    const whole = (s) => s.includes("日本語です") || s.includes(" tokenizers");
    for (const s of strings) {
        const p = plain(s), m = marked(s);
        const second_p = tik(json.normalizer ? s.normalize("NFC") : s);
        if (ordinary(s) && !whole(s) && second_p.join() !== p.join())
            throw new Error(name + " " + JSON.stringify(s) + ": " + p + " or " + second_p);
        rows.push([name, s, p, m, null]);
    }
}
/* Unigram finds its special tokens in any text, which plain ids must not contain. */
const hidden = (model) => Object.assign({}, model, {
    vocab: model.vocab.map(([t, score], i) => [i < 3 ? "\u{10fffd}" + t : t, score]) });
for (const [name, json] of Object.entries(others)) {
    const of = (specials) => library.Tokenizer.fromString(JSON.stringify(Object.assign({}, json, {
        post_processor: null,
        added_tokens: json.added_tokens.filter((t) => specials || !t.special),
        model: Array.isArray(json.model.vocab) && !specials ? hidden(json.model) : json.model })));
    const plain = of(false), marked = of(true);
    for (const s of name.startsWith("bert") ? other_strings : piece_strings) {
        const [p, m] = await Promise.all([plain, marked].map(async (t) =>
            (await t.encode(s, null, { addSpecialTokens: false })).getIds()));
        rows.push([name, s, p, m, await marked.decode(p, false)]);
    }
}

for (const s of [...strings, ...bloom_strings])
    rows.push(["bloom", s, await library_ids(files.bloom, s, false),
               await library_ids(files.bloom, s, true), null]);
console.log("/* Made by golden/make_hub_tokenizers.mjs. */");
const names = [...Object.keys(files), ...Object.keys(others)];
for (const name of names) {
    console.log(`static const char *const golden_hub_${name}[] = {`);
    const s = text_json[name];
    for (const line of strings_of(s, 90)) console.log("    " + line + ",");
    console.log("    NULL\n};");
}
console.log(`typedef struct golden_hub_row {
    int file, bytes;
    const char *text;
    int plains, markeds;
    const short *ids;                   /* plain, then marked */
    const char *decoded;                /* the decoded plain ids; NULL: the original text */
} golden_hub_row;`);
rows.forEach(([, , p, m], i) => {
    if (p.length + m.length === 0) return;
    const line = `static const short golden_hub_ids_${i}[] = { ${[...p, ...m].join(", ")} };`;
    console.log(line.replace(/(.{1,92})( |$)/g, "$1\n    ").trimEnd());
});
console.log("static const golden_hub_row golden_hub_rows[] = {");
rows.forEach(([name, s, p, m, decoded], i) => {
    const ids = p.length + m.length ? "golden_hub_ids_" + i : "NULL";
    const back = decoded === null ? "NULL" : "\n      " + strings_of(decoded, 80).join("\n      ");
    console.log(`    { ${names.indexOf(name)}, ${Buffer.byteLength(s)}, ` +
        `${strings_of(s, 76).join("\n        ")},\n      ` +
        `${p.length}, ${m.length}, ${ids}, ${back} },`.replace(/ +\n/, "\n"));
});
console.log("};");
