/* The rows of test_rows.c in double, where a fold that is almost right does not pass. */
#define TFN__DOUBLE
#include "test_rows.c"
