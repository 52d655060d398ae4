# Sourced by the test scripts, the shell's twin of check.h:
#   check NAME COMMAND ...   a test: passes if the command succeeds; a failure shows its output;
#                            after TEST_DEADLINE (a time of `date +%s`) it is left out
#   skip NAME REASON         the machine lacks something
#   have TOOL ...            true if all are installed
#   well_formed FILE         true if an XML reader accepts it
#   get_tool NAME [FILE]     a program of ../tools, which the Makefile compiles once: as $work/NAME
#   shown_by FILE            true if FILE has the lines of the standard input; "..." skips some; blanks at
#                            their ends do not count
#   canonical                true if the bits of this machine are canonical
#   finish                   prints the tally; a script that ran no test has failed
#   test_file NAME           prints the path FLOOR/test_NAME.c
# Scripts run in tests/ and keep their files in $work. $fma is -mfma if this processor has the instruction,
# which plain C otherwise emulates slowly.
work=build/work-$(basename "$0" .sh)
mkdir -p "$work"
tier=${TEST_TIER:-default}
passed=0 failed=0 lacking=0
fma=$(if grep -qw fma /proc/cpuinfo 2> /dev/null; then echo -mfma; fi)

# Cases for TEST_WITHOUT before the night tier: they are long, and other cases run the same code.
long_cases='inits_scales, inits_rules, quant_recipes, mup_coordinates, mup_initial, options_models, options_any,
    groups_lora_recipes, groups_recipes_frozen, reading_recipes, reading_watched, math_shuffle, papers_kv_heads,
    papers_decay_all, long_chains, generate_draws, identities_admin_direct, identities_admin_folded,
    step_recipes'
[ "$tier" != night ] || long_cases=

have() { for tool; do command -v "$tool" > /dev/null 2>&1 || return 1; done; }
skip() { echo "skipped: $1: $2"; lacking=1; }
# the lines of a test program about failures
complaints() { grep -a -v -e '^ok ' -e ': forward ' -e '^skipped' "$1"; }
check() {
    check_name=$1 check_begin=$(date +%s)
    shift
    if [ "$check_begin" -ge "${TEST_DEADLINE:-9999999999}" ]; then
        echo "left out: $check_name: no time"
        lacking=1
        return
    fi
    if "$@" > "$work/output" 2>&1 < /dev/null; then word='ok    ' passed=$((passed + 1))
    else
        word=FAILED failed=$((failed + 1))
        complaints "$work/output" | head -n 20 | cut -c 1-200 | sed 's/^/  /'
    fi
    printf '%s %-44s %6d s\n' "$word" "$check_name" $(($(date +%s) - check_begin))
}
# shown_by FILE: every line of the standard input is in the file, in this order; "..." skips lines
shown_by() {
    awk '{ sub(/[ \t]+$/, "") }
         NR == FNR { said[NR] = $0; count = NR; next }
         $0 == "..." { skip = 1; next }
         { at++; if (skip) while (at <= count && said[at] != $0) at++
           skip = 0; lines++
           if (at > count || said[at] != $0) { print "not printed: " $0; exit bad = 1 } }
         END { exit bad || (!skip && at != count) || lines < 1 }' "$1" -
}
canonical() {
    printf '#include "../../../tfnorm.h"\nint main(void) { return tfn_bits(TFN_ISA_BEST)[0] != 99; }\n' > "$work/bits.c"
    MAKEFLAGS= make -s build/lib.o && ${CC:-cc} "$work/bits.c" build/lib.o -o "$work/bits" -lm && "$work/bits"
}
test_file() { ls ./*/"test_$1.c"; }
get_tool() { MAKEFLAGS= make -s "build/bin/$1" && cp "build/bin/$1" "${2:-$work/$1}"; }
# flags that the header compiles with
strict='-Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Wundef
        -Wcast-qual -Wvla -Werror'
strict_c='-Wstrict-prototypes -Wmissing-prototypes'
# Without an XML reader: tags must close in order, and attributes be in quotes.
well_formed() {
    if have xmllint; then xmllint --nonet --noout "$1"; return; fi
    if have python3; then
        python3 -c 'import sys, xml.parsers.expat as x
x.ParserCreate().ParseFile(open(sys.argv[1], "rb"))' "$1"; return
    fi
    well_formed_roughly "$1"
}
well_formed_roughly() {
    awk 'BEGIN { RS = "<"; depth = 0 }
         NR == 1 { if ($0 !~ /^[ \n]*$/) exit bad = 1; next }
         { tag = substr($0, 1, index($0, ">")); rest = substr($0, length(tag) + 1) }
         tag == "" || rest ~ /&([^lgaq#]|#[^0-9]|$)/ || rest ~ />/ { print "bad: " $0; exit bad = 1 }
         tag ~ /^\?/ { if (NR > 2) exit bad = 1; next }
         tag ~ /^!/ { next }
         tag ~ /^\// { if (stack[depth--] != substr(tag, 2, length(tag) - 2)) exit bad = 1; next }
         gsub(/"[^"]*"/, "", tag) >= 0 && tag ~ /["<]/ { exit bad = 1 }
         tag ~ /\/>$/ { next }
         { sub(/[ >].*/, "", tag); gsub(/\n/, "", tag); stack[++depth] = tag }
         END { exit bad || depth != 0 }' "$1"
}
finish() {
    if [ "$passed$failed$lacking" = 000 ]; then echo "FAILED no test ran"; failed=1; fi
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
full() { [ "$tier" = full ] || [ "$tier" = extra ] || [ "$tier" = night ]; }
