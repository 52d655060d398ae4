# Every backward with a sign flipped must be caught: each row of mutants.txt changes one place of a copy
# of the header, and the tests named there must then fail. Only those are built and run, with one
# instance of the kernels; clang -O0 first, which takes half a second where gcc takes four, because
# gcc optimizes the kernels whatever the options are.
# mutants.sh random N SEED: N random faults instead, see random_mutants.py.
if [ "${1:-}" = random ]; then exec python3 random_mutants.py "$2" "$3"; fi
. ./check.sh
. ./mutate.sh
flags="-std=c99 -O1 -DTFNORM_NO_SIMD" cc=${CC:-cc}
if have clang; then cc=clang flags="-std=c99 -O0 -DTFNORM_NO_SIMD"; fi
flags="$flags $fma"

field() { printf '%s\n' "$1" | awk -F ' +[|] +' -v n="$2" '{ print $n }'; }

# the tests with a separate copy of the header
copy=$work/copy
mkdir -p "$copy/tests/build"
cp ../tfnorm.h "$copy/"
one_line_each ../tfnorm.h > "$work/lines"
cp -r ../tools "$copy/"
cp ./*.c ./*.h "$copy/tests/"
for folder in golden inside $(ls ./*/test_*.c | xargs dirname | sort -u); do cp -r "$folder" "$copy/tests/"; done

program() {             # program NAME PART: builds a test with the copied header, runs tests with PART in their names
    more=
    if [ "$1" = padding ]; then more=-O1; fi    # trains 91 models: 85 s without, 20 with
    # shellcheck disable=SC2086
    (cd "$copy/tests" && $cc $flags $more "$(ls ./*/"test_$1.c")" -o "test_$1" -lm &&
        TEST_TIER=quick TEST_ONLY=$2 timeout 300 "./test_$1") > "$copy/log" 2>&1
}
passes() {              # at least one test runs, and none fails
    program "$1" "$2" && grep -q '^ok' "$copy/log" || { cat "$copy/log"; return 1; }
}
killed() {              # killed FUNCTION COMMAND TEST PART: the mutant compiles, and its test fails
    mutate "$work/lines" "$1" "$2" "$copy/tfnorm.h" || return 1
    if program "$3" "$4"; then echo "test_$3 passes"; return 1; fi
    # killed by a check, not by the compiler
    if ! grep -q '^FAILED' "$copy/log"; then cat "$copy/log"; return 1; fi
}

# MUTANTS=REGEX: only matching rows; without it the default tier only checks that all rows apply
grep ' | ' mutants.txt | grep -v '^#' | grep -e "${MUTANTS:-.}" > "$work/rows"
if [ "$tier" = default ] && [ -z "${MUTANTS:-}" ]; then         # rows that no longer apply
    while IFS= read -r row; do
        mutate "$work/lines" "$(field "$row" 2)" "$(field "$row" 3)" - > "$work/said" ||
            printf '%s: %s\n' "$(field "$row" 1)" "$(cat "$work/said")"
    done < "$work/rows" > "$work/outgrown"
    current() { cat "$work/outgrown"; [ ! -s "$work/outgrown" ]; }
    check "mutants: each changes one place" current
    # Rows survive reformatting: every tenth also applies if a line ends after each comma and parenthesis.
    sed '/^    /{/\\$/!{s/\([(,]\) *\([^ )]\)/\1\n      \2/g;};}' ../tfnorm.h > "$work/spread.h"
    one_line_each "$work/spread.h" > "$work/spread"
    spread() {
        [ "$(grep -c "" "$work/spread.h")" -gt "$(($(grep -c "" ../tfnorm.h) * 3 / 2))" ] || return 1
        awk 'NR % 10 == 5' "$work/rows" | while IFS= read -r row; do
            mutate "$work/spread" "$(field "$row" 2)" "$(field "$row" 3)" - || { echo "$row"; exit 1; }
        done
    }
    check "mutants: rows survive line breaks" spread
    echo "  left out: whether their tests notice them (tier full)"
    finish
    exit
fi
if [ "$tier" != night ] && [ -z "${MUTANTS:-}" ]; then
    awk 'NR % 10 == 1' "$work/rows" > "$work/some" && mv "$work/some" "$work/rows"
    echo "left out: nine of ten rows (tier night, or MUTANTS=.)"
fi
while IFS= read -r row; do
    printf '%s|%s\n' "$(field "$row" 4)" "$(field "$row" 5)"
done < "$work/rows" | sort -u > "$work/tests"
while IFS='|' read -r test part; do     # tests must pass without a mutant
    check "mutants: none in $test${part:+, $part}" passes "$test" "$part"
done < "$work/tests"
[ "$failed" = 0 ] || { finish; exit 1; }
while IFS= read -r row; do
    check "mutant: $(field "$row" 1)" killed "$(field "$row" 2)" "$(field "$row" 3)" \
        "$(field "$row" 4)" "$(field "$row" 5)"
done < "$work/rows"
finish
