# Macros that leave out most of the header: the rest has the bits of a full build, and features
# that are left out are refused with an error that names the macro.
. ./check.sh
sets="-DTFNORM_PLAIN -DTFNORM_NO_QUANT -DTFNORM_NO_SCALES -DTFNORM_NO_FILES -DTFNORM_NO_METRICS -DTFNORM_NO_TOKENIZERS
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
# The status is TFN_UNSUPPORTED, or TFN_NOT_FOUND for rows, and each error names a macro that this
# build defines. The last of each kind exists in both builds.
refuses() {
    grep -E ': (12|4), ' "$work/kept.out" > "$work/refused"
    cat "$work/refused"
    [ "$(grep -c ': there' "$work/whole.out")" = 31 ] && [ "$(grep -c ': there' "$work/kept.out")" = 9 ] &&
        [ "$(grep -c . "$work/refused")" = 22 ] && names "$work/refused" $sets &&
        grep -q 'position: 12, model: TFNORM_POSITIONS does not keep 4' "$work/refused"
}
names() {               # names FILE FLAG ...: each line names a macro of the flags
    file=$1
    shift
    while read -r line; do
        macro=$(echo "$line" | grep -o 'TFNORM_[A-Z_]*' | head -n 1)
        case " $* " in *" -D$macro"[=\ ]*) ;; *) echo "no macro: $line"; return 1 ;; esac
    done < "$file"
}
lean="-DTFNORM_NO_DECODERS -DTFNORM_NO_DROPOUT -DTFNORM_NO_GROUPS"
refuses_lean() {
    sed 1d "$work/lean.out" > "$work/refused"
    cat "$work/refused"
    [ "$(grep -c ': 12, ' "$work/refused")" = 7 ] && names "$work/refused" $lean
}
same_lean() { [ "$(grep '^lean' "$work/whole.out")" = "$(grep . "$work/lean.out" | head -n 1)" ]; }
unscaled() { grep -q 'scales: 12, model: scales are left out by TFNORM_NO_SCALES' "$work/unscaled.out"; }
silent() { ! grep -q TFNORM "$work/silent.out" && [ "$(grep -cE ': (12|4), ' "$work/silent.out")" = 22 ]; }

check "small: the full build" build whole
# shellcheck disable=SC2086
check "small: a small build" build kept $sets
check "small: the same bits" same kept
check "small: the same bits of only_decoders" alike
check "small: missing features are refused, with the macro's name" refuses
# shellcheck disable=SC2086
check "small: without messages" build silent $sets -DTFNORM_NO_MESSAGES
check "small: errors without a sentence" silent
check "small: the same bits without messages" same silent
# shellcheck disable=SC2086
check "small: without decoders, dropout and groups" build lean $sets $lean
check "small: its missing features are refused" refuses_lean
check "small: the same bits without decoders, dropout and groups" same_lean
check "small: all but scales, files and texts" build unscaled -DTFNORM_NO_SCALES -DTFNORM_NO_FILES \
    -DTFNORM_NO_METRICS -DTFNORM_NO_TOKENIZERS
check "small: only rows with scales are refused" unscaled
finish
