# Every fuzzer of fuzz/ under the address and undefined-behaviour sanitizers, FUZZ_SECONDS each (10;
# at night 1,800), from seed FUZZ_SEED (1).
. ./check.sh
seconds=${FUZZ_SECONDS:-$([ "$tier" = night ] && echo 1800 || echo 10)}
export UBSAN_OPTIONS=print_stacktrace=1
cc=clang
have clang || cc=gcc
plain="-DTFNORM_NO_SIMD $fma"           # with vectors a sanitized compile takes minutes
[ "$tier" != night ] || plain=
sanitize="-O1 -g $plain -fsanitize=address,undefined -fno-sanitize-recover=all"

build() { $cc $sanitize "$@"; }
check "fuzz: the implementation compiles" build -DTEST_LIBRARY -c lib.c -o "$work/lib.o"
fuzz() {                # fuzz FILE: all its cases pass, and the last line gives its counts
    program=$work/$(basename "$1" .c)
    build -DTEST_LINKED "$1" "$work/lib.o" -o "$program" -lm &&
        "$program" "${FUZZ_SEED:-1}" "$seconds" > "$work/log" 2>&1
    status=$?
    tail -n 20 "$work/log"
    return $status
}
for f in fuzz/*.c; do
    [ -e "$f" ] || { skip fuzz "no fuzzers"; continue; }
    check "fuzz $(basename "$f" .c)" fuzz "$f"
    if [ -e "$work/log" ]; then grep ' executions, ' "$work/log"; fi
done
finish
