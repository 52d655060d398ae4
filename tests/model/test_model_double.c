/* Gradients of whole models against central differences, in double. */
#define TFN__DOUBLE
#include "test_model.c"
