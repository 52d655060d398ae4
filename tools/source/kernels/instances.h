#ifndef TFN__INSTANCES_H
#define TFN__INSTANCES_H
#include "../ground/ground.h"

/* The kernels: the bodies, compiled once per instruction set. Offers a table of kernels for each
 * set. The target and the build's options decide which tables exist (TFN__BUILD_X in ground), and
 * section choice picks one for this processor. Builds on blocks, columns, strips, losses and
 * intrinsics, which the bodies share. */
extern SHARED const tfn_kernels tfn__kernels_plain;
extern SHARED const tfn_kernels tfn__kernels_sse2;
extern SHARED const tfn_kernels tfn__kernels_fma128;
extern SHARED const tfn_kernels tfn__kernels_avx2;
extern SHARED const tfn_kernels tfn__kernels_avx512;
extern SHARED const tfn_kernels tfn__kernels_neon;
extern SHARED const tfn_kernels tfn__kernels_wasm;

/* Products with 16-bit weights, of the sets that have instructions for them: section halves. The
 * one for AVX2 also needs F16C. */
SHARED ptrdiff_t tfn__matmul_halves_avx2(const tfn_quant_args *h, float *work);
SHARED ptrdiff_t tfn__matmul_halves_avx512(const tfn_quant_args *h, float *work);
SHARED ptrdiff_t tfn__matmul_halves_neon(const tfn_quant_args *h, float *work);
#endif /* TFN__INSTANCES_H */
