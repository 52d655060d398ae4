/* The bits of the whole tfnorm.h; test_bits.c itself links the parts. */
#include "test_bits.c"
