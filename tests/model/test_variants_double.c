/* Gradients of every recipe against central differences, in double. */
#define TFN__DOUBLE
#define MODEL_VARIANTS
#include "test_model.c"
