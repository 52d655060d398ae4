# Other machines: MinGW under wine, AArch64 and RISC-V under qemu. The core tests run there, and must
# give TFN_BITS_HASH where there is a fused multiply-add.
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
    if have wine; then check "MinGW under wine" run wine "$work/all.exe"
    else skip "MinGW under wine" "no wine"
    fi
else skip MinGW "no $mingw-gcc"
fi

emulated() {              # emulated CPU: not all of the tests, because it takes minutes
    "$1-linux-gnu-gcc" -O2 -std=c99 -static all.c -o "$work/all-$1" -lm &&
        run "$qemu" "$work/all-$1" math dense kernels attention golden bits
}
for cpu in aarch64 riscv64; do
    have "$cpu-linux-gnu-gcc" || { skip "$cpu" "no $cpu-linux-gnu-gcc"; continue; }
    qemu=
    for q in "qemu-$cpu-static" "qemu-$cpu"; do if have "$q"; then qemu=$q; fi; done
    [ -n "$qemu" ] || { skip "$cpu" "no qemu-$cpu"; continue; }
    check "$cpu under qemu" emulated "$cpu"
done
finish
