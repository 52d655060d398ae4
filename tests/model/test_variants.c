/* Every recipe, with the properties of every model: gradients (test_variants_double.c), equal bits
 * for all threads, instruction sets, recomputation and shapes, causality, padding, decoding. */
#define MODEL_VARIANTS
#include "test_model.c"
