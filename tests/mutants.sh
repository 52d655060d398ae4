# Every backward with a sign flipped must be caught: each row of mutants.txt changes one line of a copy
# of the header, and the test program named there must then fail.
. ./check.sh
flags="-std=c99 -O1 -DTFNORM_NO_SIMD"            # one instance of the kernels compiles fast
if grep -qw fma /proc/cpuinfo 2> /dev/null; then flags="$flags -mfma"; fi

field() { printf '%s\n' "$1" | awk -F ' +[|] +' -v n="$2" '{ print $n }'; }

# the tests beside a header of their own
copy=$work/copy
mkdir -p "$copy/tests"
cp ../tfnorm.h "$copy/"
cp -r ../tools "$copy/"
cp ./*.c ./*.h "$copy/tests/"
if [ -d golden ]; then cp -r golden "$copy/tests/"; fi

program() {             # program NAME: build and run a test with the copy's header
    # shellcheck disable=SC2086
    (cd "$copy/tests" && ${CC:-cc} $flags "test_$1.c" -o "test_$1" -lm && TEST_TIER=quick "./test_$1")
}
killed() {              # killed FUNCTION COMMAND TEST: the mutant compiles, and its test fails
    sed "/^static .*$1/,/^}/$2" ../tfnorm.h > "$copy/tfnorm.h"
    changed=$(diff ../tfnorm.h "$copy/tfnorm.h" | grep -c '^>')
    if [ "$changed" != 1 ]; then echo "changes $changed lines"; return 1; fi
    if program "$3" > "$copy/log" 2>&1; then echo "test_$3 passes"; return 1; fi
    # killed by a check, not by the compiler
    if ! grep -q '^FAILED' "$copy/log"; then cat "$copy/log"; return 1; fi
}

grep ' | ' mutants.txt | grep -v '^#' > "$work/rows"
for test in $(awk '{ print $NF }' "$work/rows" | sort -u); do     # must pass unchanged
    check "mutants: none in test_$test" program "$test"
done
[ "$failed" = 0 ] || { finish; exit 1; }
while IFS= read -r row; do
    check "mutant: $(field "$row" 1)" killed "$(field "$row" 2)" "$(field "$row" 3)" "$(field "$row" 4)"
done < "$work/rows"
finish
