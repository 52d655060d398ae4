/* The rows of test_rows.c in double, where an inexact fold fails. */
#define TFN__DOUBLE
#include "test_rows.c"
