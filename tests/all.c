/* cc -O2 tests/all.c -o all -lm && ./all
 * The core tests as one program: every test file with its main renamed (the rule is in check.h). */
#define TESTS_ALL
#include "hook.h"
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include "check.h"

#define main math_main
#include "test_math.c"
#undef main
#define main dense_main
#include "test_dense.c"
#undef main
#define main kernels_main
#include "test_kernels.c"
#undef main
#define main attention_main
#include "test_attention.c"
#undef main
#define main tape_main
#include "test_tape.c"
#undef main
#define main model_main
#include "test_model.c"
#undef main
#define main golden_main
#include "test_golden.c"
#undef main
#define main bits_main
#include "test_bits.c"
#undef main

int main(void)
{
    math_main();
    dense_main();
    kernels_main();
    attention_main();
    tape_main();
    model_main();
    golden_main();
    bits_main();
    return CHECK_TALLY();
}
