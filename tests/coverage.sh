# make coverage: the lines and branches of each part that the test programs of the default tier run,
# by gcov, in a build without optimization. COVERAGE="step metrics": only by these programs. It is not
# part of a tier. Programs that compile the whole header are left out and named.
. ./check.sh
have gcc gcov || { skip coverage "no gcc or gcov"; finish; exit; }
programs=${COVERAGE:-$(ls ./*/test_*.c | sed 's|.*/test_||; s|\.c$||' | grep -v -e '_double$' -e '_poison$')}
flags="-std=c99 -O0 --coverage -fprofile-update=atomic"
compiles() { MAKEFLAGS= make -s -j2 -f library.mk NAME=coverage CC=gcc CFLAGS="$flags" FLAGS=; }
check "coverage: the parts compile" compiles
find build/coverage -name '*.gcda' -exec rm {} +
runs() {
    gcc -std=c99 -O1 -DTEST_LINKED "$(test_file "$1")" build/coverage.o -o "$work/$1" -lgcov -lm &&
        "$work/$1" > "$work/log" 2>&1 || { complaints "$work/log"; return 1; }
}
for name in $programs; do
    if grep -q -e '^#define TFNORM_' -e 'tools/' "$(test_file "$name")"; then
        echo "  left out: $name, which does not link the parts"
    else check "coverage: $name" runs "$name"
    fi
done
# File 'x.c', then lines, branches and calls of it; for a file in several objects, the one where most ran counts
find build/coverage -name '*.gcno' | while read -r notes; do
    gcov -n -b "$notes" 2> /dev/null
done | tr -d "'" | awk '
    /^File / { file = $2; sub(/.*tools\/source\//, "", file); if ($2 !~ /tools\/source\/.*\.c$/) file = "" }
    file == "" { next }
    /^Lines executed/ { split($2, p, "[:%]"); hit = p[2]*$4/100; best = !(file in ran) || hit > ran[file]
                        if (best) { ran[file] = hit; lines[file] = $4 } }
    /^Taken at least once/ { split($4, p, "[:%]"); if (best) { taken[file] = p[2]*$6/100; branches[file] = $6 } }
    END { for (f in lines) { printf "%-28s %6d lines %5.1f %%   %6d branches %5.1f %%\n", f, lines[f],
              100*ran[f]/lines[f], branches[f], branches[f] ? 100*taken[f]/branches[f] : 100
              a += ran[f]; b += lines[f]; c += taken[f]; d += branches[f] }
          if (b) printf "%-28s %6d lines %5.1f %%   %6d branches %5.1f %%\n", "~ all", b, 100*a/b, d, 100*c/d }' |
    sort | sed 's/^~ /  /' > "$work/table"
filled() { [ "$(wc -l < "$work/table")" -gt 30 ]; }
check "coverage: every part has a row" filled
cat "$work/table"
finish
