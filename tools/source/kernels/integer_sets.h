#ifndef TFN__INTEGER_SETS_H
#define TFN__INTEGER_SETS_H
#include "../ground/ground.h"

/* Products of quantized weights: the body bodies/integer.c, compiled once per instruction set.
 * Offers a table of kernels for each set, and the helpers that the body shares. Builds on
 * packing. */

#ifdef TFN__QUANT

enum { TFN__QTALL = 4 };        /* rows of inputs in a tile: they share each block of weights */

/* How far ahead a product of one row prefetches. It is bound by memory, and the processor's own
 * prefetchers stop at the end of a 4096-byte page. Fetching one cache line per block, three pages
 * ahead, makes a row of Q8 15 to 28 % faster with AVX-512 and 8 % with AVX2. Fetching every line
 * gains nothing, and neither does Q4, where blocks are half as long. */
enum { TFN__QAHEAD = 3 * 4096 };        /* bytes */

/* A panel of a matrix: pointers to its first block and to that block's scales. */
typedef struct tfn__quant_panel {
    const uint8_t  *q;
    const uint16_t *scales;
    ptrdiff_t       blocks, bytes;       /* blocks in the panel, bytes in a block */
    bool            four;                /* true: Q4, false: Q8 */
} tfn__quant_panel;

SHARED tfn__quant_panel tfn__quant_panel_of(const tfn_quant_args *p);

/* Returns four bytes as a word. The byte order does not matter: weights and inputs are loaded in
 * the same way, and byte i of one is only multiplied by byte i of the other. */
static TFN__INLINE int32_t tfn__quant_word(const int8_t *x)
{
    int32_t word;
    TFNORM_MEMCPY(&word, x, sizeof word);
    return word;
}

/* A tile (rows, 16): its results and the start values of its chains. For whole panels both point
 * into the caller's arrays, which makes 64 rows 13 % faster with AVX-512. */
typedef struct tfn__quant_chains {
    float       *c;
    const float *start;                 /* NULL: chains start at 0 */
    ptrdiff_t    c_ld, start_ld;
} tfn__quant_chains;
SHARED void tfn__quant_begin(float *y, const tfn_quant_args *p, ptrdiff_t i, ptrdiff_t rows,
                             ptrdiff_t j, ptrdiff_t count);
SHARED void tfn__quant_end(const tfn_quant_args *p, const float *y, ptrdiff_t i, ptrdiff_t rows,
                           ptrdiff_t j, ptrdiff_t count);
#endif
#if defined TFN__QUANT && defined TFN__X86_WIDE
SHARED bool tfn__has_f16c(void);
#if (defined __clang__ && __clang_major__ >= 12) || (!defined __clang__ && __GNUC__ >= 11)
#define TFN__QVNNI
#endif
SHARED bool tfn__has_avx_vnni(void);
#endif

extern SHARED const tfn_quant_kernels tfn__quant_kernels_plain;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_sse2;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_ssse3;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_avx2;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_avx_vnni;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_avx512_vnni;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_neon;
extern SHARED const tfn_quant_kernels tfn__quant_kernels_wasm;
#endif /* TFN__INTEGER_SETS_H */
