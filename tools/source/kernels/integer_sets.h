#ifndef TFN__INTEGER_SETS_H
#define TFN__INTEGER_SETS_H
#include "../ground/ground.h"

#ifdef TFN__QUANT

enum { TFN__QTALL = 4 };        /* rows of inputs that a block of weights, once loaded, serves */

/* One row waits for memory, whose streams the processor follows within pages of 4096 bytes. To ask
 * for one line a block three pages ahead makes a row of Q8 15 to 28 % faster with AVX-512, 8 with
 * AVX2. To ask for every line, or for Q4's, whose blocks are half as long, gains nothing. */
enum { TFN__QAHEAD = 3 * 4096 };        /* bytes */

/* A panel of a matrix, from its first block on. */
typedef struct tfn__quant_panel {
    const uint8_t  *q;
    const uint16_t *scales;
    ptrdiff_t       blocks, bytes;       /* blocks of the panel, bytes of a block */
    bool            four;                /* Q4 */
} tfn__quant_panel;

SHARED tfn__quant_panel tfn__quant_panel_of(const tfn_quant_args *p);

/* Four bytes as a word. Bytes of weights and of inputs come in alike on any machine, and products
 * are of the same byte of both, so it does not matter which end of a word comes first. */
static TFN__INLINE int32_t tfn__quant_word(const int8_t *x)
{
    int32_t word;
    TFNORM_MEMCPY(&word, x, sizeof word);
    return word;
}

/* A tile (rows, 16): where its chains end, and what they start with. Whole panels do both in place,
 * which makes 64 rows 13 % faster with AVX-512. */
typedef struct tfn__quant_chains {
    float       *c;
    const float *start;                 /* NULL: 0 */
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
