/* The implementation in double, for gradients against central differences. */
#define TFN__DOUBLE
#include "lib.c"
