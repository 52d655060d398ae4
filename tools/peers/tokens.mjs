/* node tokens.mjs FOLDER PACKAGE SOURCE: encodes texts with an npm package of FOLDER, for
 * tokens.py. SOURCE is the path of a tokenizer.json for tokenizers, and the name of an encoding for
 * tiktoken and tiktoken-node. Each line of the standard input is a JSON list of texts. The answer
 * is a line { seconds, ids }: processor time, and a list of ids for each text. */
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [folder, name, source] = process.argv.slice(2);
const library = createRequire(resolve(folder, "x.js"))(name);

/* Each function opens a tokenizer and returns a function that encodes a text. */
const openers = {
    "tokenizers"() {
        const tokenizer = library.Tokenizer.fromFile(source);
        return (text) => tokenizer.encode(text, null, { addSpecialTokens: false });
    },
    "tiktoken"() {
        const encoding = library.get_encoding(source);
        return (text) => encoding.encode_ordinary(text);
    },
    "tiktoken-node"() {
        const encoding = library.getEncoding(source);
        return (text) => encoding.encode(text);
    },
};

const encode = openers[name]();
const idsOf = (encoded) => Array.from(encoded.getIds?.() ?? encoded);
for await (const line of createInterface({ input: process.stdin })) {
    const texts = JSON.parse(line), encoded = [];
    const begin = process.cpuUsage();
    for (const text of texts)
        encoded.push(await encode(text));
    const { user, system } = process.cpuUsage(begin);
    console.log(JSON.stringify({ seconds: (user + system) / 1e6, ids: encoded.map(idsOf) }));
}
