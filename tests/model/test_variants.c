/* Every recipe, on the properties of every model: gradients (test_variants_double.c), equal bits
 * for threads, instruction sets, recomputation and shapes, causality, padding, decoding. */
#define MODEL_VARIANTS
#include "test_model.c"
