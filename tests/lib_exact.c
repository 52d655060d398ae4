/* The implementation whose plain C computes the fused multiply-add in software. */
#define TEST_EXACT
#include "lib.c"
