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

# compile_ratio MOST COMPILER FLAG ...: the header takes at most MOST times as long as the reference,
# by the median of five pairs, of one in the default tier (processor time, in which the speed of the
# machine and its neighbours cancel out). debug_ratio: a debug build against the reference at -O2.
compile_ratio() {
    most=$1; shift
    ratio_of "$most" "$*" "$*"
}
debug_ratio() { ratio_of "$1" "$2 -O2" "$2 -O0 -std=c99 -DTFNORM_DEBUG"; }
ratio_of() {            # ratio_of MOST COMMAND-OF-REFERENCE COMMAND-OF-HEADER
    most=$1
    : > "$work/ratios"
    for pair in $(seq "$(if full; then echo 5; else echo 1; fi)"); do
        reference=$(seconds "$work/reference.c" "$2") || return 1
        s=$(seconds "$work/tfnorm.c" "$3") || return 1
        awk -v s="$s" -v r="$reference" 'BEGIN { print s / r, s, r }' >> "$work/ratios"
    done
    sort -n "$work/ratios" | awk -v most="$most" '
        { line[NR] = $0 }
        END { split(line[int((NR + 1) / 2)], m)
              printf "%.2f times the reference, at most %.2f (%.1f s, %.2f s)\n", m[1], most, m[2], m[3]
              exit m[1] > most }' > "$work/ratio"
    status=$?
    cat "$work/ratio"
    return $status
}
for cc in gcc clang; do
    have "$cc" size || { skip "size $cc" "no $cc or size"; continue; }
    most=$([ $cc = gcc ] && echo 4.8 || echo 6.6)
    check "$cc -O2: time to compile" compile_ratio $most "$cc" -O2
    echo "  $cc -O2: $(cat "$work/ratio"), $(text size "$work/tfnorm.o") bytes .text"
    most=$([ $cc = gcc ] && echo 0.7 || echo 0.5)
    check "$cc, TFNORM_DEBUG -O0: time to compile" debug_ratio $most "$cc"
    echo "  $cc, TFNORM_DEBUG -O0: $(cat "$work/ratio")"
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
