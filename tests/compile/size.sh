# The cost of the header: time to compile, bytes of code, and its parts for a Cortex-M4F.
. ./check.sh
printf '#define TFNORM_IMPLEMENTATION\n#include "../../../tfnorm.h"\n' > "$work/tfnorm.c"

text() { "$1" "$2" | awk 'NR == 2 { print $1 }'; }         # bytes of code and constants

# If perf works, instructions are compared, which are the same on a busy machine; seconds are only printed.
counter=
if have perf && perf stat -x, -e instructions:u true 2>&1 | grep -q '^[0-9]'; then
    counter="perf stat -x, -e instructions:u -o $work/count"
fi

# once: the cost of compiling the reference with COMMAND, measured again only for medians
rm -f "$work"/cost-* "$work"/*.o
reference() {
    kept=$work/cost-$(echo "$1" | tr ' ' _)
    [ "${PAIRS:-1}" = 1 ] && [ -s "$kept" ] || cost "$work/reference.c" "$1" > "$kept" || return 1
    cat "$kept"
}
# cost FILE COMPILER FLAG ...: "seconds of processor time, 1e9 instructions" of compiling it, or 0
cost() {
    file=$1; shift
    : > "$work/count"
    (sh -c "$counter $* -c $file -o ${file%.c}.o" || exit 1; times) > "$work/times" || return 1
    awk 'FNR == 2 && /m/ { seconds = $1 * 60 + $2 }
         /instructions/ { count = $1 / 1e9 }
         END { print seconds, count + 0 }' FS='[ms]' "$work/times" FS=, "$work/count"
}

# the reference: 400 functions of loops, branches and a switch
awk 'BEGIN { for (i = 1; i <= 400; i++) {
    printf "float f%d(float *a, int n) { float s = %d; for (int i = 0; i < n; i++) {", i, i
    printf "s += a[i] * (a[(i * %d) %% n] > s ? s : -a[i]);", i
    printf "if (i %% %d == 3) a[i] = s; }", i % 7 + 5
    print "switch (n & 7) { case 0: return s * 2; case 1: return a[n / 2];"
    print "case 5: return s - a[0]; } return s; }" } }' > "$work/reference.c"

# ratio MOST COMMAND-OF-REFERENCE COMMAND-OF-HEADER: compiling the header must take at most MOST times the
# instructions of compiling the reference. Seconds are printed, too; PAIRS=9 takes their median.
ratio() {
    : > "$work/pairs"
    for pair in $(seq "${PAIRS:-1}"); do
        header=$(cost "$work/tfnorm.c" "$3") && reference=$(reference "$2") || return 1
        echo "$header $reference" >> "$work/pairs"
    done
    awk '{ print $1 / $3, $1, $3, $2, $4 }' "$work/pairs" | sort -n | awk -v most="$1" '
        { line[NR] = $0 }
        END { split(line[int((NR + 1) / 2)], m)
              printf "%.2f times the seconds of the reference (%.1f, %.1f)", m[1], m[2], m[3]
              if (!m[5]) exit
              printf ", %.2f times its instructions, at most %.2f (%.1fe9, %.1fe9)", \
                     m[4] / m[5], most, m[4], m[5]
              exit m[4] > most * m[5] }' > "$work/ratio"
    status=$?
    cat "$work/ratio"
    return $status
}
# The limits are slightly above the current cost of these versions; others differ.
known() { case "$1 $("$1" -dumpversion)" in "gcc 12"* | "clang 14"*) ;; *) return 1 ;; esac; }
# compiles NAME MOST COMMAND-OF-REFERENCE COMMAND-OF-HEADER. Where nothing is counted, the default tier
# compiles only for clang's warnings.
compiles() {
    if [ -n "$counter" ] && known "$cc"; then check "$1: instructions to compile" ratio "$2" "$3" "$4"
    else
        skip "$1: instructions to compile" "no gcc 12 or clang 14, or perf counts none"
        case $tier:$1 in default:clang\ -O2) ;; default:*) return ;; esac
        check "$1: it compiles" ratio 1000 "$3" "$4"
    fi
    echo "  $1: $(cat "$work/ratio")"
}
for cc in gcc clang; do
    have "$cc" size || { skip "size $cc" "no $cc or size"; continue; }
    most=$([ $cc = gcc ] && echo 5.4 || echo 8)
    compiles "$cc -O2" "$most" "$cc -O2" "$cc -O2 -Werror"       # warnings only at -O2, such as loops not unrolled
    [ ! -e "$work/tfnorm.o" ] || echo "  $cc -O2: $(text size "$work/tfnorm.o") bytes .text"
    most=$([ $cc = gcc ] && echo 1.05 || echo 0.57)
    compiles "$cc, TFNORM_DEBUG -O0" "$most" "$cc -O2" "$cc -O0 -std=c99 -DTFNORM_DEBUG"
done

# Programs for a Cortex-M4F, without newlib's start-up and exit, because boards have their own.
arm=arm-none-eabi
# links MOST SOURCE FLAG ...: at most MOST bytes of code and constants; stores the number in $work/bytes
links() {
    most=$1 source=$2
    shift 2
    $arm-gcc -std=c99 -Os -mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard \
        -ffunction-sections -fdata-sections -Wl,--gc-sections --specs=nano.specs --specs=nosys.specs \
        -nostartfiles -Wl,-e,main -DTFNORM_NO_STDIO -DTFNORM_NO_MALLOC -DTFNORM_NO_QUANT \
        "$@" compile/"$source" -o "$work/m4f.elf" -lm ||
        return 1
    text $arm-size "$work/m4f.elf" > "$work/bytes"
    [ "$(cat "$work/bytes")" -le "$most" ] || { echo "$(cat "$work/bytes") bytes, at most $most"; return 1; }
}
sets="-DTFNORM_NO_SCALES -DTFNORM_ARCHS=TFN_SET(TFN_ARCH_DECODER) -DTFNORM_NORMS=TFN_SET(TFN_NORM_LAYER)
      -DTFNORM_POSITIONS=TFN_SET(TFN_POSITION_LEARNED)
      -DTFNORM_ACTIVATIONS=TFN_SET(TFN_ACTIVATION_GELU_TANH)"
training="-DTFNORM_PLAIN -DTFNORM_NO_TOKENIZERS -DTFNORM_NO_METRICS -DTFNORM_NO_FILES
          -DTFNORM_OPTIMIZERS=TFN_SET(TFN_OPTIMIZER_ADAMW) -DTFNORM_SCHEDULES=TFN_SET(TFN_SCHEDULE_CONSTANT)"
lean="-DTFNORM_NO_DECODERS -DTFNORM_NO_DROPOUT -DTFNORM_NO_GROUPS"
weigh() {
    check "Cortex-M4F $1" links "$2" "$3" $4
    echo "  Cortex-M4F $1: $(cat "$work/bytes") bytes .text"
}
if have $arm-gcc $arm-size; then
    weigh "decoder within 40 KB" 40960 decoder.c -DTFNORM_NO_TRAINING
    weigh "small decoder within 28 KB" 28672 decoder.c "-DTFNORM_NO_TRAINING -DTFNORM_ONLY_DECODERS $sets"
    weigh "trainer within 52.5 KB" 53760 trainer.c "$training $sets"
    weigh "trainer without messages within 49 KB" 50176 trainer.c "-DTFNORM_NO_MESSAGES $training $sets"
    weigh "trainer without decoders, dropout, groups within 49 KB" 50176 trainer.c "$lean $training $sets"
    weigh "the same without messages within 45.5 KB" 46592 trainer.c "-DTFNORM_NO_MESSAGES $lean $training $sets"
else skip "Cortex-M4F" "no $arm-gcc"
fi
finish
