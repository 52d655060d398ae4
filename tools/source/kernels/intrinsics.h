#ifndef TFN__INTRINSICS_H
#define TFN__INTRINSICS_H
#include "../ground/ground.h"

/* The compiler's vector intrinsics. Only the parts that include bodies need this, because it takes
 * longer to compile than most parts. Builds on ground. */
#if defined TFN__X86 && defined __GNUC__ && !defined __clang__   /* warnings: GCC bug 105593 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined TFN__X86
#include <immintrin.h>
#elif defined TFN__NEON
#include <arm_neon.h>
#elif defined TFN__SMLAD
#include <arm_acle.h>
#elif defined TFN__WASM
#include <wasm_simd128.h>
#endif
#endif /* TFN__INTRINSICS_H */
