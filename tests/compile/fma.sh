# If a processor has a fused multiply-add, both compilers use its instruction, with and without
# optimization, on bare metal, and where errno is kept. If it has none, no code may
# call fmaf, because some libm get halfway cases wrong. Reads the assembly, without an emulator.
. ./check.sh

kernels="-ffreestanding -Icompile/bare -DTFNORM_IMPLEMENTATION -DTFNORM_ONLY_KERNELS -DTFNORM_NO_MALLOC"
compiled() {            # compiled INSTRUCTION COMPILER FLAG ...: INSTRUCTION occurs ("none": not checked), fmaf does not
    instruction=$1
    shift
    "$@" $kernels -S -x c ../tfnorm.h -o "$work/kernels.s" || return 1
    if grep -n -m 3 -w -E '_?fmaf' "$work/kernels.s"; then echo "calls fmaf"; return 1; fi
    [ "$instruction" = none ] || grep -q -E "$instruction" "$work/kernels.s" ||
        { echo "no $instruction"; return 1; }
}
fuses() {               # fuses NAME INSTRUCTION COMPILER FLAG ...
    name=$1 wanted=$2
    shift 2
    check "$name -O0 -fmath-errno" compiled "$wanted" "$@" -O0 -fmath-errno
    if full; then check "$name -O2" compiled "$wanted" "$@" -O2; fi
}

# target and flags of clang; the instruction
clang_rows() { cat << 'ROWS'
riscv64-linux-gnu                                        fmadd\.s
riscv64-unknown-elf -march=rv64gc                        fmadd\.s
riscv32 -march=rv32imaf -mabi=ilp32f                     fmadd\.s
riscv32 -march=rv32imac -mabi=ilp32                      none
thumbv7em-none-eabihf -mcpu=cortex-m4                    vfma\.f32
thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=softfp   vfma\.f32
thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=soft     none
thumbv7m-none-eabi -mcpu=cortex-m3                       none
thumbv8m.main-none-eabihf -mcpu=cortex-m33               vfma\.f32
arm-linux-gnueabihf -mfpu=vfpv4                          vfma\.f32
arm-linux-gnueabihf -mcpu=cortex-a7                      vfma\.f32
arm-linux-gnueabihf -mfpu=vfpv3                          none
powerpc64le-linux-gnu                                    xsmadd[am]sp|fmadds
powerpc64-linux-gnu                                      xsmadd[am]sp|fmadds
powerpc-linux-gnu                                        none
s390x-linux-gnu                                          maebr
aarch64-linux-gnu                                        fmadd|fmla
aarch64-none-elf                                         fmadd|fmla
arm64-apple-macos                                        fmadd|fmla
x86_64-linux-gnu -mfma -DTFNORM_NO_SIMD                  vfmadd
x86_64-unknown-freebsd -mfma -DTFNORM_NO_SIMD            vfmadd
x86_64-linux-gnu                                         vfmadd
i686-linux-gnu -msse2                                    none
i686-linux-gnu -mfma                                     vfmadd
mips-linux-gnu                                           none
mipsisa32r6-linux-gnu                                    none
wasm32                                                   none
wasm32 -msimd128                                         none
ROWS
}
newer=
if [ "$tier" = night ]; then newer=clang-19; else echo "left out: clang-19 (tier night)"; fi
for cc in clang $newer; do
    have $cc || { skip "$cc" "no $cc"; continue; }
    clang_rows > "$work/rows"
    while read -r target rest; do
        instruction=${rest##* } flags=${rest% *}
        [ "$flags" = "$rest" ] && flags=
        # shellcheck disable=SC2086
        fuses "$cc $target$(echo " $flags" | sed 's/ *$//')" "$instruction" $cc --target=$target $flags
    done < "$work/rows"
done

gcc_rows() { cat << 'ROWS'
riscv64-linux-gnu-gcc                                    fmadd\.s
arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard       vfma\.f32
arm-none-eabi-gcc -mcpu=cortex-m3 -mfloat-abi=soft       none
arm-linux-gnueabihf-gcc -mfpu=vfpv4                      vfma\.f32
arm-linux-gnueabihf-gcc -mfpu=vfpv3-d16                  none
powerpc64le-linux-gnu-gcc                                xsmadd[am]sp|fmadds
s390x-linux-gnu-gcc                                      maebr
s390x-linux-gnu-gcc -std=c99                             maebr
aarch64-linux-gnu-gcc                                    fmadd|fmla
i686-linux-gnu-gcc -msse2 -mfpmath=sse                   none
mips-linux-gnu-gcc                                       none
gcc -mfma -DTFNORM_NO_SIMD                               vfmadd
ROWS
}
gcc_rows > "$work/rows"
while read -r cc rest; do
    instruction=${rest##* } flags=${rest% *}
    [ "$flags" = "$rest" ] && flags=
    have "$cc" || { skip "$cc" "not installed"; continue; }
    # shellcheck disable=SC2086
    fuses "$cc$(echo " $flags" | sed 's/ *$//')" "$instruction" $cc $flags
done < "$work/rows"
finish
