/* The tests of test_generate.c without training. */
#define TFNORM_NO_TRAINING
#define TFNORM_ALL_NORMS
#define TFNORM_NO_SIMD
#include "test_generate.c"
