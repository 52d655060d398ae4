# The core tests and those of recipes under the sanitizers: address and undefined behaviour, threads
# (with the hook and with OpenMP), and uninitialized memory. The library is plain C here: with vectors a
# sanitized compile takes minutes, and clang's memory sanitizer does not track all of their instructions.
# Kernels with vectors run next to guard pages under the address sanitizer, and in Valgrind, which
# tracks sets up to AVX2, except those of many sizes, which take too long.
. ./check.sh
core() { "$@" -o "$work/all" all.c -lm && run "$work/all" $programs; }
recipes() { "$@" -o "$work/variants" model/test_variants.c -lm && run "$work/variants"; }
sizes=default           # of kernels next to guard pages; all sizes in the night tier
[ "$tier" = night ] && sizes=full
beside_pages() {        # with clang -O0, because optimizing the kernels takes minutes
    "$@" -O0 -o "$work/guard" kernels/test_guard.c -lm && TEST_TIER=$sizes "$work/guard" > "$work/log" 2>&1 ||
        { complaints "$work/log"; return 1; }
}
run() { TEST_TIER=quick "$@" > "$work/log" 2>&1 || { complaints "$work/log"; return 1; }; }
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

plain="-DTFNORM_NO_SIMD $fma"
compilers=clang         # gcc has the same runtimes, and slower code
if [ "$tier" = night ] || ! have clang; then compilers="gcc clang"; fi
threaded=$(for name in $(sed -n 's/^#define ALL_FILE .*, //p' all_list.h); do
    if grep -qw threads "$(test_file "$name")"; then echo "$name"; fi
done)                   # the programs of all.c that use threads
[ "$tier" = night ] || echo "left out: cases whose code other tests run, too (tier night)"
for cc in $compilers; do
    have "$cc" || { skip "sanitizers $cc" "no $cc"; continue; }
    for kind in address,undefined thread $([ "$cc" = gcc ] || echo memory); do
        echo 'int main(void){return 0;}' | "$cc" -fsanitize=$kind -x c - -o "$work/probe" 2> /dev/null ||
            { skip "sanitizer $cc $kind" "its library is missing"; continue; }
        set -- "$cc" -O1 -g -fsanitize=$kind -fno-sanitize-recover=all -include assert.h \
            -DTFNORM_ASSERT=assert
        programs=
        if [ $kind = thread ] && [ "$tier" != night ]; then programs=$threaded; fi
        if [ $kind = address,undefined ]; then set -- "$@" -include redzones.h; fi
        export TEST_WITHOUT=$long_cases
        check "sanitizer $cc $kind" core "$@" $plain
        # threads.c, below, runs every recipe; tests with poisoned memory find uninitialized values
        case $tier-$kind in night-* | *-address,undefined)
            check "sanitizer $cc $kind, recipes" recipes "$@" $plain ;;
        esac
        [ $cc-$kind != clang-address,undefined ] ||
            check "sanitizer $cc $kind, kernels next to guard pages" beside_pages "$@"
        unset TEST_WITHOUT
    done
done
# OpenMP needs clang, whose runtime tells the sanitizer about its threads (gcc's does not, so every
# region would look like a race). A race on purpose must be found, to show that the sanitizer works.
threads() { "$@" compile/threads.c -o "$work/threads" -lm && run "$work/threads"; }
races() {
    if threads "$@" -DTHREADS_RACE > /dev/null 2>&1; then echo "a race on purpose was not found"; return 1; fi
    grep -q 'data race' "$work/log"
}
export TSAN_OPTIONS=ignore_noninstrumented_modules=1
for hook in -fopenmp -pthread; do
    echo 'int main(void){return 0;}' | clang $hook -fsanitize=thread -x c - -o "$work/probe" 2> /dev/null ||
        { skip "sanitizer clang thread $hook" "no clang, or no library of it"; continue; }
    check "sanitizer clang thread $hook, every recipe" threads clang -O1 -g $plain $hook -fsanitize=thread
    check "sanitizer clang thread $hook sees a race" races clang -O1 -g $plain $hook -fsanitize=thread
done
if have valgrind && have gcc; then
    gcc -O1 -g all.c -o "$work/all" -lm
    export TEST_WITHOUT='long_chains, large_products, small_products, attention_some_gradients,
        attention_sentence_alone, attention_from_cache, attention_masked_nan, attention_pairs_alone,
        norms_points, norms_of_rows, quant_recipes, quant_halves, quant_loads_floats, kernels_dropout_random,
        kernels_muon_halves'
    check "valgrind, kernels (it hides AVX-512)" run valgrind --quiet --error-exitcode=9 --leak-check=full \
        "$work/all" dense kernels quant norms attention embed
else skip valgrind "not installed"
fi
finish
