#ifndef TFN__PRODUCTS_H
#define TFN__PRODUCTS_H
#include "../ground/ground.h"
#include "packing.h"

/* Chooses the kernels for quantized weights, and computes products with weights of any type. Builds
 * on packing and integer_sets. */

#if TFN__PACKS

SHARED const tfn_quant_kernels *tfn__quant_beside(const tfn_kernels *k);
SHARED size_t tfn__packed_bytes(const tfn__packed *p);
SHARED void tfn__pack_param(void *w, const tfn__packed *p, const float *from);
SHARED void tfn__packed_row(float *y, const void *w, const tfn__packed *p, ptrdiff_t v, float scale,
                            const tfn_quant_kernels *kernels);

/* 16-bit weights that are converted to floats at once, in sets that do not multiply them directly:
 * their number, and their inputs if many rows of inputs share them. For the backward it is the
 * number of outputs. */
enum { TFN__QTILE = 16384, TFN__QTILE_K = 64,
       TFN__QFEW = 8 };         /* rows for which the float kernels do not pack a table's tile */
#endif
#endif /* TFN__PRODUCTS_H */
