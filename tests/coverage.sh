# make coverage: the lines and branches of each part that the test programs of the default tier run,
# by gcov, in a build without optimization. COVERAGE="step metrics": only by these programs. It is not
# part of a tier. What did not run is in build/work-coverage/missing, line by line. unreached.txt lists
# what no test can reach, each with the reason; coverage.py says how it counts. Threads may lose a count, but not
# all of them.
. ./check.sh
have gcc gcov python3 || { skip coverage "no gcc, gcov or python3"; finish; exit; }
all=$(ls ./*/test_*.c | sed 's|.*/test_||; s|\.c$||' | grep -v -e '_double$' -e '_poison$')
programs=${COVERAGE:-$all}
[ "$COVERAGE" ] || whole=whole
in_one_piece=" files memory tape "      # these compile tfnorm.h for themselves, in the plain build
other=" bits_header generate_bare options_bare debug judge lab references tools "   # other builds; tools
flags="-std=c99 -O0 --coverage -fprofile-update=single"   # atomic takes twice the time
notes=build/coverage
compiles() { MAKEFLAGS= make -s -j2 -f library.mk NAME=coverage CC=gcc CFLAGS="$flags" FLAGS=; }
check "coverage: the parts compile" compiles
find $notes -name '*.gcda' -exec rm {} +
rm -rf $notes/own && mkdir -p $notes/own
builds() {
    case "$in_one_piece" in
    *" $1 "*) gcc $flags "$(test_file "$1")" -o "$notes/own/$1" -lm && cp "$notes/own/$1" "$work/$1" ;;
    *) gcc -std=c99 -O1 -DTEST_LINKED "$(test_file "$1")" $notes.o -o "$work/$1" -lgcov -lm ;;
    esac
}
runs() { builds "$1" && "$work/$1" > "$work/log" 2>&1 || { complaints "$work/log"; return 1; }; }
for name in $programs; do
    case "$other" in
    *" $name "*) echo "  left out: $name, which does not test the plain library" ;;
    *) check "coverage: $name" runs "$name" ;;
    esac
done
check "coverage: what is required, and no more is listed" \
    python3 coverage.py $notes "$work/table" "$work/missing" $whole
filled() { [ "$(wc -l < "$work/table")" -gt 30 ]; }
check "coverage: every part has a row" filled
cat "$work/table"
finish
