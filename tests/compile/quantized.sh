# Weights of 8 and of 4 bits: 1,000 tokens of a decoder have one hash, with every instruction set of this
# processor, with and without a fused multiply-add. The extra tier adds emulated processors and
# WebAssembly without relaxed SIMD. See quantized.h; board.sh tests boards.
. ./check.sh
build() {               # build NAME COMPILER FLAG ...
    out=$work/quantized-$1
    shift
    "$@" -O2 -std=c99 compile/quantized.c -o "$out" -lm
}
equal() {               # equal COMMAND ...: its output equals that of this computer's best
    "$@" > "$work/quantized.out" && cat "$work/quantized.out" && cmp "$work/quantized.out" "$work/quantized.best"
}
native=$work/quantized-native
check "quantized: the program" build native "${CC:-cc}"
"$native" > "$work/quantized.best"
no_zero() { cat "$work/quantized.best" && ! grep -q ' 0*$' "$work/quantized.best"; }
check "quantized: two different hashes" no_zero
for isa in plain sse2 fma128 avx2 avx512 neon; do
    "$native" $isa > /dev/null
    if [ $? = 3 ]; then skip "quantized: $isa" "not on this machine"
    else check "quantized: $isa" equal "$native" $isa
    fi
done
if ! full && [ "$tier" != extra ]; then
    echo "left out: emulated processors and WebAssembly (tier extra)"
    finish
    exit
fi

# name; compiler and flags; qemu's name
rows() { cat << 'ROWS'
aarch64  | aarch64-linux-gnu-gcc                                | aarch64
dotprod  | aarch64-linux-gnu-gcc -march=armv8.2-a+dotprod       | aarch64
armv7    | arm-linux-gnueabihf-gcc -mfpu=vfpv4                  | arm
vfpv3    | arm-linux-gnueabihf-gcc -mfpu=vfpv3-d16              | arm
riscv64  | riscv64-linux-gnu-gcc                                | riscv64
ppc64le  | powerpc64le-linux-gnu-gcc                            | ppc64le
s390x    | s390x-linux-gnu-gcc                                  | s390x
mips     | mips-linux-gnu-gcc                                   | mips
i386     | i686-linux-gnu-gcc -msse2 -mfpmath=sse               | i386
ROWS
}
rows > "$work/rows"
while IFS='|' read -r name command qemu; do
    name=$(echo $name) command=$(echo $command) qemu=qemu-$(echo $qemu)-static
    have "${command%% *}" "$qemu" || { skip "quantized: $name" "no ${command%% *} or $qemu"; continue; }
    # shellcheck disable=SC2086
    check "quantized: $name builds" build "$name" $command -static
    check "quantized: $name" equal "$qemu" "$work/quantized-$name"
done < "$work/rows"

wasm() {                # wasm FLAG ...
    clang-19 --target=wasm32 -O2 "$@" -DTFNORM_EXACT -std=c99 -ffreestanding -Icompile/bare -c compile/bare/wasm.c \
        -o "$work/q.o" && wasm-ld-19 --no-entry -z stack-size=1048576 "$work/q.o" -o "$work/q.wasm" || return 1
    equal node -e '
        const bytes = require("fs").readFileSync(process.argv[1]);
        const wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes), {}).exports;
        for (const [name, type] of [["q8", 1], ["q4", 2]]) {
            const hash = BigInt.asUintN(64, wasm.quantized(type, 1));
            console.log(name, hash.toString(16).padStart(16, "0"));
        }' "$work/q.wasm"
}
if have clang-19 wasm-ld-19 node; then
    check "quantized: WebAssembly" wasm
    check "quantized: WebAssembly SIMD" wasm -msimd128
else skip "quantized: WebAssembly" "no clang-19, wasm-ld-19 or node"
fi
finish
