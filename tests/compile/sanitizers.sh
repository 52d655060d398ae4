# The core tests under the address, undefined-behaviour and thread sanitizers and under valgrind.
. ./check.sh
core() { "$@" -o "$work/all" all.c -lm && run "$work/all"; }
run() { TEST_TIER=quick "$@" > "$work/log" 2>&1 || { complaints "$work/log"; return 1; }; }
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

for cc in gcc clang; do
    have "$cc" || { skip "sanitizers $cc" "no $cc"; continue; }
    for kind in address,undefined thread; do
        echo 'int main(void){return 0;}' | "$cc" -fsanitize=$kind -x c - -o "$work/probe" 2> /dev/null ||
            { skip "sanitizer $cc $kind" "its library is missing"; continue; }
        check "sanitizer $cc $kind" core "$cc" -O1 -g -fsanitize=$kind -fno-sanitize-recover=all \
            -include assert.h -DTFNORM_ASSERT=assert
    done
done
if have valgrind && have gcc; then
    gcc -O1 -g all.c -o "$work/all" -lm
    check "valgrind (it hides AVX-512)" run valgrind --quiet --error-exitcode=9 --leak-check=full "$work/all"
else skip valgrind "not installed"
fi
finish
