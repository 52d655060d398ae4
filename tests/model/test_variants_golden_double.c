/* The same in double, where only the rounding of the stored values remains. */
#define TFN__DOUBLE
#include "test_variants_golden.c"
