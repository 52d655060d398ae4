#ifndef TFN__INTEGER_SETS_H
#define TFN__INTEGER_SETS_H
#include "../ground/ground.h"

/* Products of quantized weights: the body is section integer, compiled once per instruction set.
 * Offers a table of kernels for each set. Builds on packing. */

/* The compiler and the build decide which sets exist: see TFN__BUILD_PLAIN in ground. */
extern SHARED const tfn_quant_kernels tfn__quant_kernels_plain;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_sse2;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_ssse3;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_avx2;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_avx_vnni;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_avx512_vnni;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_neon;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_wasm;
#endif /* TFN__INTEGER_SETS_H */
