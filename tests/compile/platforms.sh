# Other machines: MinGW under wine, AArch64 and RISC-V under qemu, WebAssembly; each runs the kernels'
# tests and must give TFN_BITS_HASH where it has a fused multiply-add.
. ./check.sh
export WINEDEBUG=-all TEST_TIER=quick

run() { "$@" > "$work/log" 2>&1 || { tail -n 40 "$work/log"; return 1; }; }
programs="test_bits all"

if have x86_64-w64-mingw32-gcc; then
    mingw() { x86_64-w64-mingw32-gcc -O2 -std=c99 "$1.c" -o "$work/$1.exe" -lm; }
    narrow() {            # GCC bug 54412: 128-bit vectors only
        x86_64-w64-mingw32-gcc -O3 -c -x c -DTFNORM_IMPLEMENTATION ../tfnorm.h -o "$work/win.o" &&
            ! x86_64-w64-mingw32-objdump -d "$work/win.o" | grep -m 3 -E '%[yz]mm'
    }
    check "MinGW: no ymm or zmm register" narrow
    for p in $programs; do
        check "MinGW builds $p" mingw "$p"
        if have wine; then check "MinGW $p under wine" run wine "$work/$p.exe"
        else skip "MinGW $p" "no wine"
        fi
    done
else skip MinGW "no x86_64-w64-mingw32-gcc"
fi

for cpu in aarch64 riscv64; do
    cc=$cpu-linux-gnu-gcc
    have "$cc" || { skip "$cpu" "no $cc"; continue; }
    qemu=
    for q in "qemu-$cpu-static" "qemu-$cpu"; do if have "$q"; then qemu=$q; fi; done
    [ -n "$qemu" ] || { skip "$cpu" "no qemu-$cpu"; continue; }
    emulated() { "$cc" -O2 -std=c99 -static "$1.c" -o "$work/$1-$cpu" -lm && run "$qemu" "$work/$1-$cpu"; }
    for p in $programs; do check "$cpu $p under qemu" emulated "$p"; done
done
finish
