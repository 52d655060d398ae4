# The runners: a run without tests, a failing test and a program that ends early are failures in each
# of them; a skipped test is not.
. ./check.sh
page=$PWD/$work/said
says() {                # says CODE LINE COMMAND ...: it ends with CODE and prints LINE
    expected=$1 line=$2
    shift 2
    "$@" > "$page" 2>&1
    code=$?
    cat "$page"
    [ "$code" = "$expected" ] && grep -qx -e "$line" "$page"
}
program() {             # program NAME BODY: a test program with BODY in its main
    printf '#include "../../check.h"\nTEST(good) { CHECK(1); }\nTEST(bad) { CHECK(0); }\n' > "$work/$1.c"
    printf 'TEST(lacks) { SKIP("a tool"); }\nint main(void) { if (check_tier() > 9) { RUN(good); ' >> "$work/$1.c"
    printf 'RUN(bad); RUN(lacks); }\n%s\nreturn DONE(); }\n' "$2" >> "$work/$1.c"
    ${CC:-cc} -O0 "$work/$1.c" -o "$work/$1"
}
# case_of CODE LINE BODY
case_of() { program one "$3" && says "$1" "$2" "$work/one"; }
check "a program without tests fails" case_of 1 "FAILED no test ran" ""
check "a program with a good test passes" case_of 0 "1 passed, 0 failed" "RUN(good);"
check "a program with a bad test fails" case_of 1 "1 passed, 1 failed" "RUN(good); RUN(bad);"
check "a program whose tool is missing passes" case_of 0 "0 passed, 0 failed" "RUN(lacks);"
without() { program one "RUN(good);" && says 1 "FAILED no test ran" env TEST_ONLY=nothing "$work/one"; }
check "a program whose tests are all filtered fails" without

script() {              # script CODE LINE BODY: a script of check.sh in a copy of this folder
    mkdir -p "$work/scripts/build" && cp check.sh job.sh sum.sh "$work/scripts" &&
        printf '. ./check.sh\n%s\nfinish\n' "$3" > "$work/scripts/one.sh" &&
        (cd "$work/scripts" && says "$1" "$2" sh one.sh)
}
check "a script without tests fails" script 1 "FAILED no test ran" ""
check "a script with a good test passes" script 0 "1 passed, 0 failed" "check good true"
check "a script with a bad test fails" script 1 "0 passed, 1 failed" "check bad false"
check "a script whose tool is missing passes" script 0 "0 passed, 0 failed" "skip one 'no tool'"

job() {                 # job CODE LINE BODY: runs BODY as the only job, and sums its lines
    mkdir -p "$work/scripts/build" && cp check.sh job.sh sum.sh "$work/scripts" &&
        printf '%s\n' "$3" > "$work/scripts/one.sh" || return 1
    (cd "$work/scripts" && sh job.sh one > lines; says "$1" "$2" sh sum.sh < lines)
}
check "a job without output fails" job 1 "FAILED one: ended early with status 0" ""
check "a job that reports no test fails" job 1 "FAILED one: no test ran" "echo 0 passed, 0 failed"
check "a job that crashes fails" job 1 "FAILED one: ended early with status 3" "echo ok; exit 3"
check "a job with a good test passes" job 0 "1 passed, 0 failed" "echo 'ok  x'; echo 1 passed, 0 failed"
check "an empty sum fails" says 1 "0 passed, 0 failed" sh -c "cd $work/scripts && sh sum.sh < /dev/null"

# all.c: an unknown name is an error, no name comes twice, and every listed file exists
listed() {
    sed -n 's|^#define ALL_FILE \(.*\), \(.*\)|\1/test_\2.c|p' all_list.h > "$work/listed"
    [ -s "$work/listed" ] && [ -z "$(sort "$work/listed" | uniq -d)" ] && xargs ls < "$work/listed"
}
check "the files of all.c exist, each once" listed
finish
