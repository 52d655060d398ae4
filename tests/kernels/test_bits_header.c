/* The bits of tfnorm.h in one piece; test_bits.c itself links the parts. */
#include "test_bits.c"
