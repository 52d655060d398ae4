# Sourced by the test scripts, the shell's twin of check.h:
#   check NAME COMMAND ...   a test: passes if the command succeeds; a failure shows its output;
#                            after TEST_DEADLINE (seconds of `date +%s`) it is left out
#   skip NAME REASON         what the machine lacks
#   have TOOL ...            true if all are installed
#   finish                   the tally, at the end
# Scripts run in tests/ and keep their files in $work.
work=build/work-$(basename "$0" .sh)
mkdir -p "$work"
tier=${TEST_TIER:-default}
passed=0 failed=0

have() { for tool; do command -v "$tool" > /dev/null 2>&1 || return 1; done; }
skip() { echo "skipped: $1: $2"; }
# the lines of a test program that say what is wrong
complaints() { grep -a -v -e '^ok ' -e ': forward ' -e '^skipped' "$1"; }
check() {
    check_name=$1 check_begin=$(date +%s)
    shift
    if [ "$check_begin" -ge "${TEST_DEADLINE:-9999999999}" ]; then
        echo "left out: $check_name: no time"
        return
    fi
    if "$@" > "$work/output" 2>&1 < /dev/null; then word='ok    ' passed=$((passed + 1))
    else
        word=FAILED failed=$((failed + 1))
        complaints "$work/output" | head -n 20 | cut -c 1-200 | sed 's/^/  /'
    fi
    printf '%s %-44s %6d s\n' "$word" "$check_name" $(($(date +%s) - check_begin))
}
finish() { echo "$passed passed, $failed failed"; [ "$failed" = 0 ]; }
full() { [ "$tier" = full ] || [ "$tier" = extra ] || [ "$tier" = night ]; }
