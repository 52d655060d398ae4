# What the header costs: seconds to compile, bytes of code, and a decoder on a Cortex-M4F in 40 KB.
. ./check.sh
printf '#define TFNORM_IMPLEMENTATION\n#include "../../../tfnorm.h"\n' > "$work/tfnorm.c"

text() { "$1" "$2" | awk 'NR == 2 { print $1 }'; }         # bytes of code and constants

# compile_time COMPILER FLAG ...: at most ten seconds of processor time; a busy machine inflates it,
# so the best of five tries counts
compile_time() {
    for try in 1 2 3 4 5; do
        (sh -c "$* -c $work/tfnorm.c -o $work/tfnorm.o" || exit 1; times) > "$work/times" || return 1
        seconds=$(awk 'NR == 2 { split($1, t, "[ms]"); print t[1]*60 + t[2] }' "$work/times")
        echo "$seconds (try $try)" > "$work/seconds"
        awk -v s="$seconds" 'BEGIN { exit !(s <= 10) }' && return 0
    done
    return 1
}
for cc in gcc clang; do
    have "$cc" size || { skip "size $cc" "no $cc or size"; continue; }
    check "$cc -O2 compiles within 10 s" compile_time "$cc" -O2
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
