# Macros that keep little of the header: what is kept has the bits of a build that keeps all, what is
# left out is refused by name.
. ./check.sh
sets="-DTFNORM_PLAIN -DTFNORM_NO_SCALES -DTFNORM_NO_FILES -DTFNORM_NO_METRICS -DTFNORM_NO_TOKENIZERS
      -DTFNORM_ARCHS=TFN_SET(TFN_ARCH_DECODER) -DTFNORM_NORMS=TFN_SET(TFN_NORM_LAYER)
      -DTFNORM_POSITIONS=TFN_SET(TFN_POSITION_LEARNED) -DTFNORM_OPTIMIZERS=TFN_SET(TFN_OPTIMIZER_ADAMW)
      -DTFNORM_ACTIVATIONS=TFN_SET(TFN_ACTIVATION_GELU_TANH)
      -DTFNORM_SCHEDULES=TFN_SET(TFN_SCHEDULE_CONSTANT)"
# build NAME FLAG ...
build() {
    name=$1
    shift
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c99 -O0 -DTFNORM_NO_SIMD -DTFNORM_EXACT "$@" compile/small.c -o "$work/$name" -lm &&
        "$work/$name" > "$work/$name.out"
}
hashes() { grep -E '^(trained|decoded)' "$work/$1.out"; }
same() { hashes whole > "$work/a" && hashes "$1" > "$work/b" && cmp "$work/a" "$work/b" && [ -s "$work/a" ]; }
alike() { [ "$(grep -c . "$work/a")" = 3 ] && [ "$(grep decoded "$work/a" | sort -u | wc -l)" = 1 ]; }
# the status is TFN_UNSUPPORTED; the last one is there in both
refuses() {
    sed -n '/: /p' "$work/kept.out"
    [ "$(grep -c ': there' "$work/whole.out")" = 7 ] && [ "$(grep -c ': there' "$work/kept.out")" = 1 ] &&
        [ "$(grep -c ' which this build has left out' "$work/kept.out")" = 6 ] &&
        grep -q 'position: .* model: position is 4, which this build has left out' "$work/kept.out"
}
silent() { ! grep -q 'which this build has left out' "$work/silent.out" && [ "$(grep -c ': [1-9]' "$work/silent.out")" = 6 ]; }

check "small: all is kept" build whole
# shellcheck disable=SC2086
check "small: little is kept" build kept $sets
check "small: the same bits" same kept
check "small: the same bits of only_decoders" alike
check "small: what was left out is refused" refuses
# shellcheck disable=SC2086
check "small: without messages" build silent $sets -DTFNORM_NO_MESSAGES
check "small: errors without a sentence" silent
check "small: the same bits without messages" same silent
finish
