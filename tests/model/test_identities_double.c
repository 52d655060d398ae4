/* The identities between rows to 1e-10, in double. */
#define TFN__DOUBLE
#include "test_identities.c"
