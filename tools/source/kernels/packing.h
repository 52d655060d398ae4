#ifndef TFN__PACKING_H
#define TFN__PACKING_H
#include "../ground/ground.h"
#include "../ground/math.h"

/* Weights of fewer bits: their form in memory, and packing and unpacking. Builds on math. */

/* How a model's parameter (rows, cols) is packed. The rows of a linear map are its inputs. A table
 * of words has one row per word; as a matrix, for the logits, its inputs are the columns. */
typedef struct tfn__packed {
    tfn_weights type;
    bool        table;
    int32_t     rows, cols;
} tfn__packed;

SHARED size_t tfn__packed_bytes(const tfn__packed *p);
#if TFN__PACKS
/* The form of Q8 and Q4. A matrix with k inputs and n outputs is stored in panels of 16 outputs.
 * The outputs are the lanes of the products: a vector holds four inputs of each output, and on most
 * processors one instruction multiplies them by four quantized inputs and adds the products up,
 * output by output. No sum ever goes across lanes.
 *
 *     Q8, a block of a panel:   inputs 0-3 of outputs 0, 1 .. 15 | inputs 4-7 of .. | .. 28-31
 *     Q4:                       two of these eight groups share 64 bytes: the even group is in the
 *                               lower halves of the bytes; a half is q + 8
 *
 * In bytes, where o is the output within the panel and i the input within the block:
 *
 *              0 .. 3        4 .. 7              60 .. 63
 *        0   | o 0, i 0-3  | o 1, i 0-3  |  ..  | o 15, i 0-3   |     group 0
 *       64   | o 0, i 4-7  | o 1, i 4-7  |  ..  | o 15, i 4-7   |     group 1
 *       ...
 *      448   | o 0, i 28-31| o 1, i 28-31|  ..  | o 15, i 28-31 |     group 7
 *
 * An AVX-512 vector is a line of this picture, an AVX2 vector half a line, and a 128-bit vector a
 * quarter; a board without vectors reads 4 bytes. So one form in memory and in files serves all
 * processors. Loading a model rearranges nothing, and weights may be used in place, in a mapped
 * file or in flash.
 *
 * The blocks of a panel are contiguous. The panels follow each other, and after the last one come
 * the scales: for each block of each panel 16 numbers, the upper halves of floats (BF16). Eight
 * bits of fraction are enough, because the integers are chosen for the scale as it is stored.
 * Converting it to a float is a shift on any machine; an IEEE half would need a table or ten
 * instructions.
 *
 * The last panel and the last block are padded with 0. BF16 and F16 have no panels: two bytes per
 * weight, in the same order as floats. */
enum { TFN__QBLOCK = 32, TFN__QPANEL = 16, TFN__QGROUPS = TFN__QBLOCK / 4,
       TFN__QROWS = 64 };       /* rows of inputs quantized at once, for all panels */
SHARED ptrdiff_t tfn__quant_blocks(ptrdiff_t k);
SHARED ptrdiff_t tfn__quant_block_bytes(tfn_weights type);
SHARED ptrdiff_t tfn__quant_scales(tfn_weights type, ptrdiff_t k, ptrdiff_t n);

/* Converts a scale from little-endian. Scales are little-endian in memory, too, so that a matrix
 * has the same bytes on every machine. Weights in BF16 and F16 have the machine's byte order, like
 * floats. */
static TFN__INLINE uint16_t tfn__quant_little(uint16_t h)
{
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint16_t)(h << 8 | h >> 8);
#else
    return h;
#endif
}
/* Returns four bytes of packed weights as a little-endian machine would read them, so that hashes
 * are the same on any machine. */
static TFN__INLINE uint32_t tfn__quant_bits(uint32_t u, tfn_weights type)
{
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    if (type) u = u << 16 | u >> 16;
    if (tfn__quant_block_bytes(type)) u = (u & 0xff00ff) << 8 | (u >> 8 & 0xff00ff);
#endif
    (void)type;
    return u;
}
static TFN__INLINE float tfn__quant_scale(uint16_t h)
{
    return tfn__from_bf16(tfn__quant_little(h));
}
SHARED uint16_t tfn__to_bf16(float x);
SHARED uint16_t tfn__to_f16(float x);

/* Returns the bits of the largest |x| in a block. Infinity and NaN count as larger than all finite
 * numbers. */
static TFN__INLINE uint32_t tfn__quant_largest(const float *x)
{
    uint32_t most = 0;
    for (int i = 0; i < TFN__QBLOCK; i++) {
        const uint32_t u = tfn__to_bits(x[i]) & 0x7fffffffu;
        if (u > most) most = u;
    }
    return most;
}
#define TFN__QLEAST    0x23800000u      /* bits of 2^-56: a block of smaller numbers becomes 0 */
#define TFN__QINFINITE 0x7f800000u
SHARED void tfn__quant_gather(float *block, const float *b, ptrdiff_t count, ptrdiff_t b_row);

/* The part of a matrix (k, n) that one call packs. */
typedef struct tfn__quant_part {
    ptrdiff_t k, n;
    ptrdiff_t input, inputs;            /* first and number; `input` is a multiple of 32, and so is
                                         * the end, unless it is k */
    ptrdiff_t output, outputs;          /* first and number */
} tfn__quant_part;
SHARED void tfn__quant_pack_part(void *w, tfn_weights type, const tfn__quant_part *p,
                                 const float *b, ptrdiff_t b_row, ptrdiff_t b_col);
SHARED void tfn__quant_unpack_lane(float *y, const uint8_t *q, uint16_t scale, tfn_weights type,
                                   ptrdiff_t lane, ptrdiff_t inputs, ptrdiff_t ld);

/* -- helpers that the products of all instruction sets share ----------------------------------- */

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
#endif /* TFN__PACKING_H */
