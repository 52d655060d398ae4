# Finds accesses just past the end of an array: runs the quick tier of tests with few products, and
# of plain kernels, under the address sanitizer. Forbidden bytes follow each array of a test and each
# piece of an arena (redzones.h). clang compiles in seconds with -O0, but takes a minute with -O1. sanitizers.sh runs
# all tests.
. ./check.sh
cc=${CC:-cc}
if have clang; then cc=clang; fi
flags="-std=c99 -w -O0 -fsanitize=address,bounds -fno-sanitize-recover=all -include redzones.h"
flags="$flags -DTFNORM_NO_SIMD"
export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=0      # sanitizers.sh looks for leaks
echo 'int main(void){return 0;}' > "$work/probe.c"
# shellcheck disable=SC2086
if ! $cc $flags "$work/probe.c" -o "$work/probe" 2> /dev/null; then
    skip edges "$cc has no address sanitizer"
    finish
    exit
fi

# An access past the end of a piece is an error, until the memory is taken again.
cat > "$work/piece.c" <<'END'
#define TFNORM_IMPLEMENTATION
#include "../../../tfnorm.h"
int main(int argc, char **argv)
{
    static unsigned char block[1000];
    tfn_error e = { TFN_OK, 0, 0, 0, 0, 0, 0 };
    tfn__arena a = tfn__arena_in(block, sizeof block);
    tfn__arena again = a;
    int32_t *p = tfn__take_ids(&a, 3, &e);
    if (argc > 1) return p[3];
    p = tfn__take_ids(&again, 5, &e);
    return p[3] + (argv == NULL);
}
END
# shellcheck disable=SC2086
pieces() {
    $cc $flags "$work/piece.c" -o "$work/piece" -lm && "$work/piece" || return 1
    if "$work/piece" past > "$work/said" 2>&1; then echo "an access past the end was not found"; return 1; fi
    grep -q use-after-poison "$work/said"
}
check "edges: a piece of an arena ends" pieces

# shellcheck disable=SC2086
core() {
    $cc $flags all.c -o "$work/all" -lm && TEST_TIER=quick "$work/all" "$@" > "$work/log" 2>&1 ||
        { complaints "$work/log"; return 1; }
}
export TEST_WITHOUT='generate_draws generate_beams quant_halves quant_loads_floats quant_recipes quant_model_bits quant_lora kernels_muon_halves kernels_dropout_random norms_batch norms_of_rows norms_points norms_power_steps norms_groups'
check "edges: texts, options, generation and kernels" core metrics tokenize hub peft foreign generate embed quant kernels norms schedules
finish
