# What the header costs: seconds to compile, bytes of code, and a decoder on a Cortex-M4F in 40 KB.
. ./check.sh
printf '#define TFNORM_IMPLEMENTATION\n#include "../../../tfnorm.h"\n' > "$work/tfnorm.c"

text() { "$1" "$2" | awk 'NR == 2 { print $1 }'; }         # bytes of code and constants

# seconds FILE COMPILER FLAG ...: processor time of compiling it
seconds() {
    file=$1; shift
    (sh -c "$* -c $file -o ${file%.c}.o" || exit 1; times) > "$work/times" || return 1
    awk 'NR == 2 { split($1, t, "[ms]"); print t[1]*60 + t[2] }' "$work/times"
}

# 400 functions of loops, branches and a switch: how fast does this machine compile just now?
awk 'BEGIN { for (i = 1; i <= 400; i++) {
    printf "float f%d(float *a, int n) { float s = %d; for (int i = 0; i < n; i++) {", i, i
    printf "s += a[i] * (a[(i * %d) %% n] > s ? s : -a[i]);", i
    printf "if (i %% %d == 3) a[i] = s; }", i % 7 + 5
    print "switch (n & 7) { case 0: return s * 2; case 1: return a[n / 2];"
    print "case 5: return s - a[0]; } return s; }" } }' > "$work/reference.c"

# compile_time QUIET COMPILER FLAG ...: at most ten seconds of processor time, or as many times that
# as the reference takes longer now than QUIET seconds; the best of five tries counts.
compile_time() {
    quiet=$1; shift
    for try in 1 2 3 4 5; do
        reference=$(seconds "$work/reference.c" "$@") || return 1
        s=$(seconds "$work/tfnorm.c" "$@") || return 1
        echo "$s (try $try, the reference $reference)" > "$work/seconds"
        awk -v s="$s" -v r="$reference" -v q="$quiet" \
            'BEGIN { exit !(s <= 10 || s <= 10 * r / q) }' && return 0
    done
    return 1
}
for cc in gcc clang; do
    have "$cc" size || { skip "size $cc" "no $cc or size"; continue; }
    quiet=$([ $cc = gcc ] && echo 2.3 || echo 1.6)
    check "$cc -O2 compiles within 10 s" compile_time $quiet "$cc" -O2
    echo "  $cc -O2: $(cat "$work/seconds") s to compile, $(text size "$work/tfnorm.o") bytes .text"
done

arm=arm-none-eabi
decoder_links() {
    $arm-gcc -std=c99 -Os -mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard \
        -ffunction-sections -fdata-sections -Wl,--gc-sections --specs=nano.specs --specs=nosys.specs \
        -DTFNORM_NO_STDIO -DTFNORM_NO_TRAINING -DTFNORM_NO_MALLOC \
        compile/decoder.c -o "$work/decoder.elf" -lm || return 1
    bytes=$(text $arm-size "$work/decoder.elf")
    echo "$bytes bytes"
    [ "$bytes" -le 40960 ]
}
if have $arm-gcc $arm-size; then
    check "Cortex-M4F decoder within 40 KB" decoder_links
    echo "  Cortex-M4F decoder: $(text $arm-size "$work/decoder.elf") bytes .text"
else skip "Cortex-M4F decoder" "no $arm-gcc"
fi
finish
