/* node tokens.mjs FOLDER FILE: the Rust library of the npm package tokenizers, for tokens.py.
 * FOLDER has the package, FILE is a tokenizer.json. The first line of the standard input is a JSON list of
 * texts. At each further line it encodes them, and answers with a line { seconds, ids }: processor
 * time, and a list of ids for each text. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder, file] = process.argv.slice(2);
const tokenizer = createRequire(join(folder, "x.js"))("tokenizers").Tokenizer.fromFile(file);
let texts;
for await (const line of createInterface({ input: process.stdin })) {
    if (!texts) {
        texts = JSON.parse(line);
        continue;
    }
    const begin = process.cpuUsage(), encoded = [];
    for (const text of texts)
        encoded.push(await tokenizer.encode(text, null, { addSpecialTokens: false }));
    const { user, system } = process.cpuUsage(begin);
    const ids = encoded.map((e) => e.getIds());
    console.log(JSON.stringify({ seconds: (user + system) / 1e6, ids }));
}
