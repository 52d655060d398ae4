#ifndef TFN__GGML_H
#define TFN__GGML_H
#include "../ground/ground.h"

/* The block formats of GGUF: 32 or 256 values share a scale. Decodes a block to floats, and
 * encodes two of the formats, in the arithmetic of ggml's reference, so that the results have its
 * bits. Builds on ground and files. */

enum { TFN__BLOCK_MOST = 256, TFN__BLOCK_BYTES = 210 };         /* the largest block */
typedef struct tfn__block {
    int32_t dtype, values, bytes;
} tfn__block;
SHARED const tfn__block *tfn__block_of(tfn_dtype dtype);        /* NULL: not a block format */
SHARED void tfn__decode_block(tfn_dtype dtype, const uint8_t *s, float *to);
SHARED bool tfn__encode_block(tfn_dtype dtype, const float *x, uint8_t *to);
#endif /* TFN__GGML_H */
