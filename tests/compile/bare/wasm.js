// node wasm.js FILE [BITS]: what tfn_bits says of the best kernels and of plain C decides which hash
// tfn_selfcheck must give, as in test_bits.c; of the best it must say BITS.
const module_ = new WebAssembly.Module(require("fs").readFileSync(process.argv[2]));
const wasm = new WebAssembly.Instance(module_, {}).exports;

function text(at) {
    const bytes = new Uint8Array(wasm.memory.buffer);
    let s = "";
    for (; bytes[at]; at++) s += String.fromCharCode(bytes[at]);
    return s;
}

let failed = false;
for (const wide of [0, 1]) {
    const isa = wasm.find(wide), bits = text(wasm.bits(isa));
    const hash = wasm.hash(isa), wanted = wasm.wanted(bits == "canonical");
    console.log(bits, BigInt.asUintN(64, hash).toString(16));
    if (wide && process.argv[3] && bits != process.argv[3]) failed = true;
    if (hash != wanted || (bits != "canonical" && bits != "differ: no FMA")) failed = true;
}
process.exit(failed ? 1 : 0);
