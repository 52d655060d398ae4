/* node onnx_runtime.mjs FOLDER FILE ...: runs ONNX files with the npm package onnxruntime-node of
 * FOLDER, for onnx_runtime.py. Each line of the standard input is { file, ids, path }: the index of
 * a file among the arguments, lists of token ids, and perhaps where to write the output. The model
 * of the file runs once. The answer is a line { seconds }, processor time. */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [folder, ...files] = process.argv.slice(2);
const { InferenceSession, Tensor } =
    createRequire(resolve(folder, "x.js"))("onnxruntime-node");
const options = { intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: "all" };
const sessions = [];
for (const file of files)
    sessions.push(await InferenceSession.create(file, options));

for await (const line of createInterface({ input: process.stdin })) {
    const { file, ids, path } = JSON.parse(line), session = sessions[file];
    const tokens = BigInt64Array.from(ids.flat(), BigInt);
    const feeds = { ids: new Tensor("int64", tokens, [ids.length, ids[0].length]) };
    const begin = process.cpuUsage();
    const { data } = (await session.run(feeds))[session.outputNames[0]];
    const { user, system } = process.cpuUsage(begin);
    if (path)
        writeFileSync(path, data);
    console.log(JSON.stringify({ seconds: (user + system) / 1e6 }));
}
