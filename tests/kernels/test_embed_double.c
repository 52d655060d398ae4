/* Embeddings, positions and rotations in double. */
#define TFN__DOUBLE
#include "test_embed.c"
