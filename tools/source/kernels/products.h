#ifndef TFN__PRODUCTS_H
#define TFN__PRODUCTS_H
#include "../ground/ground.h"
#include "packing.h"

/* Chooses the kernels for quantized weights, and computes products with weights of any type. Builds
 * on packing and integer_sets. */

#if TFN__PACKS

SHARED const tfn_quant_kernels *tfn__quant_of(tfn_quant_isa isa);
SHARED const tfn_quant_kernels *tfn__quant_beside(const tfn_kernels *k);
SHARED size_t tfn__packed_bytes(const tfn__packed *p);
SHARED void tfn__pack_param(void *w, const tfn__packed *p, const float *from);
SHARED void tfn__packed_row(float *y, const void *w, const tfn__packed *p, ptrdiff_t v, float scale,
                            const tfn_quant_kernels *kernels);

/* The tile of a 16-bit matrix that is converted to floats at once: inputs by outputs. */
enum { TFN__QTILE_K = 64, TFN__QTILE_N = 256 };
#endif
#endif /* TFN__PRODUCTS_H */
