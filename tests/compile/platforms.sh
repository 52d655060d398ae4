# Other machines: MinGW under wine, seven processors under qemu, WebAssembly in node. Core tests run
# there. The bits must be canonical, or on processors without FMA the second set. Files are exchanged between
# each and this machine.
. ./check.sh
export WINEDEBUG=-all TEST_TIER=quick

run() { "$@" > "$work/log" 2>&1 || { complaints "$work/log"; return 1; }; }

mingw=x86_64-w64-mingw32
if have $mingw-gcc $mingw-objdump; then
    narrow() {            # GCC bug 54412: 128-bit vectors only
        $mingw-gcc -O3 -DTFNORM_IMPLEMENTATION -c -x c ../tfnorm.h -o "$work/win.o" &&
            ! $mingw-objdump -d "$work/win.o" | grep -m 3 -E '%[yz]mm'
    }
    check "MinGW: no ymm or zmm register" narrow
    check "MinGW builds" $mingw-gcc -O2 -std=c99 all.c -o "$work/all.exe" -lm
    check "MinGW builds tfn" make -s -C ../tools out="$PWD/$work/win" CC=$mingw-gcc \
        CFLAGS="-O1 -std=c99 -DTFNORM_NO_SIMD" "$PWD/$work/win/tfn"
    trains() {
        run wine "$work/win/tfn.exe" train --task copy --layers 1 --width 16 --steps 20 --quiet --force \
            --out "$work/win.safetensors" && [ -s "$work/win.safetensors" ]
    }
    if have wine; then
        check "MinGW under wine" run env TEST_WITHOUT="$long_cases" wine "$work/all.exe"
        check "MinGW: tfn trains" trains
    else skip "MinGW under wine" "no wine"
    fi
else skip MinGW "no $mingw-gcc"
fi

# If one machine lacks FMA, both must do without.
cc=${CC:-cc}
check "files: this machine's program" $cc -O1 -std=c99 compile/exchange.c -o "$work/exchange" -lm
exchanged() {           # exchanged NAME ISA RUNNER: the same bytes from both; each reads the other's
    "$work/exchange" write "$work/here" "$2" && "$3" "$work/exchange-$1" write "$work/there" "$2" &&
        cmp "$work/here" "$work/there" && cmp "$work/here.types" "$work/there.types" &&
        "$3" "$work/exchange-$1" read "$work/here" "$2" && "$work/exchange" read "$work/there" "$2"
}
emulated() {            # emulated NAME RUNNER TESTS: only some tests, because it takes minutes
    # These three take two thirds of the time of math, bits and files. Before night, only a big-endian machine of
    # 32 bits runs them.
    without='math_shuffle, files_callbacks, files_resume'
    case $tier-$1 in night-* | *-mips) without= ;; esac
    # shellcheck disable=SC2086
    run env TEST_WITHOUT="$without" "$2" "$work/all-$1" $3
}

# name; compiler and flags; qemu's name; kernels without FMA here; tests besides math, bits and files
wide=-D_FILE_OFFSET_BITS=64     # otherwise stat of a 32-bit glibc refuses large inode numbers
rows() { cat << ROWS
aarch64  | aarch64-linux-gnu-gcc                          | aarch64 |      | golden tokenize dense kernels attention
riscv64  | riscv64-linux-gnu-gcc                          | riscv64 |      | golden dense
armv7    | arm-linux-gnueabihf-gcc -mfpu=vfpv4 $wide      | arm     |      | tokenize
vfpv3    | arm-linux-gnueabihf-gcc -mfpu=vfpv3-d16 $wide  | arm     | sse2 |
ppc64le  | powerpc64le-linux-gnu-gcc                      | ppc64le |      |
s390x    | s390x-linux-gnu-gcc -fexcess-precision=fast    | s390x   |      | golden tokenize
mips     | mips-linux-gnu-gcc $wide                       | mips    | sse2 |
i386     | i686-linux-gnu-gcc -msse2 -mfpmath=sse $wide   | i386    | sse2 | golden
ROWS
}
rows > "$work/rows"
while IFS='|' read -r name command qemu isa more; do
    name=$(echo $name) isa=$(echo $isa) qemu=$(echo $qemu)
    have ${command%% -*} || { skip "$name" "no ${command%% -*}"; continue; }
    runner=
    for q in "qemu-$qemu-static" "qemu-$qemu"; do if have "$q"; then runner=$q; fi; done
    [ -n "$runner" ] || { skip "$name" "no qemu-$qemu"; continue; }
    atomic=                 # 8-byte atomics need a library there
    [ "$name" = mips ] && atomic=-latomic
    # shellcheck disable=SC2086
    check "$name: files' program" $command -O1 -std=c99 -static compile/exchange.c -o "$work/exchange-$name" -lm $atomic
    check "$name: files there and back" exchanged "$name" "$isa" "$runner"
    # shellcheck disable=SC2086
    check "$name builds" $command -O1 -std=c99 -static all.c -o "$work/all-$name" -lm $atomic
    check "$name under $runner" emulated "$name" "$runner" "math bits files $more"
done < "$work/rows"

# Under -std=c99 gcc evaluates float expressions in double on s390x. The header's must not be; the tests'
# own may, hence -fexcess-precision above.
doubled() { s390x-linux-gnu-gcc -O1 -std=c99 -static kernels/test_bits.c -o "$work/doubled" -lm && qemu-s390x-static "$work/doubled"; }
if have s390x-linux-gnu-gcc qemu-s390x-static; then check "s390x -std=c99: no float in double" doubled
else skip "s390x -std=c99" "no s390x-linux-gnu-gcc or qemu-s390x-static"
fi

# the promise excludes x87
x87() { i686-linux-gnu-gcc -O1 -static -DBITS_EXCLUDED kernels/test_bits.c -o "$work/x87" -lm && qemu-i386-static "$work/x87"; }
if have i686-linux-gnu-gcc qemu-i386-static; then check "x87 is seen" x87
else skip x87 "no i686-linux-gnu-gcc or qemu-i386-static"
fi

wasm() {                # wasm CLANG LINKER FLAGS BITS: with a time limit, because clang 14 once hung
    # shellcheck disable=SC2086
    timeout 300 $1 --target=wasm32 -O2 $3 -std=c99 -ffreestanding -Icompile/bare -c compile/bare/wasm.c -o "$work/wasm.o" &&
        $2 --no-entry -z stack-size=1048576 "$work/wasm.o" -o "$work/wasm.wasm" &&
        node $relaxed compile/bare/wasm.js "$work/wasm.wasm" "$4"
}
have node || { skip WebAssembly "no node"; finish; exit; }
relaxed=                # node 20 hides relaxed SIMD behind a flag, which later ones do not know
if node --experimental-wasm-relaxed-simd -e 0 2> /dev/null; then relaxed=--experimental-wasm-relaxed-simd; fi
for pair in "clang wasm-ld" "clang-19 wasm-ld-19"; do
    # shellcheck disable=SC2086
    have $pair || { skip "WebAssembly, $pair" "not installed"; continue; }
    check "WebAssembly, ${pair% *}" wasm $pair ""
    check "WebAssembly, ${pair% *} -msimd128" wasm $pair -msimd128
    [ "${pair% *}" = clang ] || check "WebAssembly, ${pair% *} -mrelaxed-simd" wasm $pair "-msimd128 -mrelaxed-simd" canonical
done
finish
