/* Gradients of every operation against central differences, in double. */
#define TFN__DOUBLE
#include "test_tape.c"
