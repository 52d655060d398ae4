/* Every norm's gradients against central differences, in double. */
#define TFN__DOUBLE
#include "test_norms.c"
