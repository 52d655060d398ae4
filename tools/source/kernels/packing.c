#include "packing.h"

#if !TFN__PACKS                 /* then all parameters are floats */
SHARED size_t tfn__packed_bytes(const tfn__packed *p)
{
    (void)p;
    return 0;
}
#else

/* Return the number of blocks of k inputs, and of panels of n outputs. */
SHARED ptrdiff_t tfn__quant_blocks(ptrdiff_t k) { return (k + TFN__QBLOCK - 1) / TFN__QBLOCK; }
static ptrdiff_t tfn__quant_panels(ptrdiff_t n) { return (n + TFN__QPANEL - 1) / TFN__QPANEL; }

/* Returns the bytes of a block of a panel, without scales, or 0 for types without panels. */
SHARED ptrdiff_t tfn__quant_block_bytes(tfn_weights type)
{
    if (type == TFN_WEIGHTS_Q8) return TFN__QPANEL * TFN__QBLOCK;
    if (type == TFN_WEIGHTS_Q4) return TFN__QPANEL * TFN__QBLOCK / 2;
    return 0;
}

/* Returns the offset of a matrix's scales, in bytes. They come after the integers of all panels, at
 * a multiple of 256. If scales followed the integers of each block, every second block would not be
 * aligned to a cache line. */
SHARED ptrdiff_t tfn__quant_scales(tfn_weights type, ptrdiff_t k, ptrdiff_t n)
{
    return tfn__quant_panels(n) * tfn__quant_blocks(k) * tfn__quant_block_bytes(type);
}

TFNORM_API size_t tfn_quant_bytes(tfn_weights type, ptrdiff_t k, ptrdiff_t n)
{
    double bytes;
    if (type <= TFN_WEIGHTS_FLOAT || type >= TFN_WEIGHTS_COUNT || k <= 0 || n <= 0) return 0;
    if ((double)k * (double)n > (double)(PTRDIFF_MAX / 16)) return 0;
    bytes = 2.0 * (double)k * (double)n + 64;
    if (tfn__quant_block_bytes(type))
        bytes = (double)tfn__quant_panels(n) * (double)tfn__quant_blocks(k)
            * (double)(tfn__quant_block_bytes(type) + 2 * TFN__QPANEL) + 64;
    if (bytes > (double)(SIZE_MAX / 4)) return 0;
    return ((size_t)bytes - 1) / 64 * 64;
}

/* -- 16 bits ---------------------------------------------------------------------------------- */

/* BF16 is a float without its lower 16 bits: eight bits of fraction, including the implicit one,
 * and the range of a float. F16, the IEEE half, has eleven bits and a range from 2^-24 to 65504.
 * Both convert to float exactly. Trained weights are well within the range of F16, whose error is
 * an eighth of BF16's. Most models of the hub are saved in BF16. */

/* Returns the nearest BF16 number, ties to even. NaN stays NaN. */
SHARED uint16_t tfn__to_bf16(float x)
{
    const uint32_t u = tfn__to_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Returns the nearest half, ties to even; from 65520 on it is infinite. Adding 2^13 times the power
 * of two at or below |x| (at least 2^-14) rounds. 113 is the biased exponent of 2^-14 in a float,
 * and 112 the difference of the biases, 127 - 15. */
SHARED uint16_t tfn__to_f16(float x)
{
    const uint32_t u = tfn__to_bits(x);
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    const uint32_t a = u & 0x7fffffffu;
    uint32_t power = a & 0x7f800000u;
    float large;
    uint32_t r;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00);
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00);
    if (power < 113u << 23) power = 113u << 23;
    large = tfn__from_bits(power + (13u << 23));
    r = tfn__to_bits((tfn__from_bits(a) + large) - large);
    if (r >= 113u << 23) return (uint16_t)(sign | ((r - (112u << 23)) >> 13));
    return (uint16_t)(sign | (uint16_t)(tfn__from_bits(r) * 16777216));
}

/* -- packing ---------------------------------------------------------------------------------- */

/* A block of 32 weights becomes a scale and 32 integers. Packing runs once per model, when it is
 * quantized, and takes a few seconds for 100 million weights. So it is plain C, and it tries
 * several scales to find the one with the least error. */

/* Returns x rounded to the nearest integer, ties to even, for |x| < 2^22. Adding 1.5 * 2^23
 * rounds. */
static TFN__INLINE float tfn__quant_round(float x)
{
    const float large = 12582912;
    return (x + large) - large;
}

/* Quantizes a block with the given scale. Returns the squared error, sum (w - scale q)^2. The order
 * and the roundings of the sum are fixed, so that every machine chooses the same scale. */
static float tfn__quant_try(int8_t *q, const float *w, float scale, float least, float most)
{
    const float inverse = 1 / scale;
    float error = 0;
    for (int i = 0; i < TFN__QBLOCK; i++) {
        float r = tfn__quant_round(w[i] * inverse);
        float d;
        if (r < least) r = least;
        if (r > most) r = most;
        d = w[i] - scale * r;
        error += d * d;
        q[i] = (int8_t)r;
    }
    return error;
}

/* The candidate scales: max|w| divided by these numbers, in units of 1/4. Q8 tries 126.5 to 127. Q4
 * tries 5 to 8.5, with either sign, because q ranges from -8 to 7. The best scale may clip the
 * largest number to keep the others precise, or the reverse. On normally distributed weights this
 * reduces the relative error of Q4 from 0.097 to 0.081; the error of Q8 is 0.0053. */
enum { TFN__Q8_FROM = 506, TFN__Q8_TO = 508, TFN__Q4_FROM = 20, TFN__Q4_TO = 34 };

/* Quantizes a block: fills q, and returns the scale as BF16. */
static uint16_t tfn__quant_block(int8_t *q, const float *w, tfn_weights type)
{
    const bool four = type == TFN_WEIGHTS_Q4;
    const uint32_t largest = tfn__quant_largest(w);
    const float amax = tfn__from_bits(largest);
    int8_t tried[TFN__QBLOCK];
    float least = -1;
    uint16_t best = 0;
    int step = TFN__Q8_FROM;
    int end = TFN__Q8_TO;
    if (four) {
        step = TFN__Q4_FROM;
        end = TFN__Q4_TO;
    }
    TFNORM_MEMSET(q, 0, TFN__QBLOCK);
    if (largest < TFN__QLEAST) return 0;
    if (largest >= TFN__QINFINITE) return 0x7fc0;       /* NaN */
    for (; step <= end; step++) {
        for (int sign = 0; sign <= four; sign++) {
            uint16_t bits = tfn__to_bf16(amax * 4 / (float)step);
            float error;
            if (sign) bits |= 0x8000;
            error = tfn__quant_try(tried, w, tfn__from_bf16(bits), (float)(four ? -8 : -127),
                                   (float)(four ? 7 : 127));
            if (least >= 0 && error >= least) continue;
            least = error;
            best = bits;
            TFNORM_MEMCPY(q, tried, TFN__QBLOCK);
        }
    }
    return best;
}

/* Puts q of a block into its panel, as inputs of output `lane`. `group` is the line of the picture
 * at TFN__QBLOCK, `at` the column. */
static void tfn__quant_put(uint8_t *block, const int8_t *q, ptrdiff_t lane, tfn_weights type)
{
    for (ptrdiff_t i = 0; i < TFN__QBLOCK; i++) {
        const ptrdiff_t group = i / 4;
        const ptrdiff_t at = lane * 4 + i % 4;
        if (type == TFN_WEIGHTS_Q8)
            block[group * 64 + at] = (uint8_t)q[i];
        else
            block[group / 2 * 64 + at] |= (uint8_t)((q[i] + 8) << group % 2 * 4);
    }
}

/* Returns q of input i of output `lane`. */
static int tfn__quant_get(const uint8_t *block, ptrdiff_t i, ptrdiff_t lane, tfn_weights type)
{
    const ptrdiff_t group = i / 4;
    const ptrdiff_t at = lane * 4 + i % 4;
    if (type == TFN_WEIGHTS_Q8) return (int8_t)block[group * 64 + at];
    return (block[group / 2 * 64 + at] >> group % 2 * 4 & 15) - 8;
}

/* Gathers a block of 32 floats that are b_row apart. If there are only `count`, it pads with 0,
 * which adds 0 to every sum. */
SHARED void tfn__quant_gather(float *block, const float *b, ptrdiff_t count, ptrdiff_t b_row)
{
    for (ptrdiff_t i = 0; i < TFN__QBLOCK; i++) {
        block[i] = 0;
        if (i < count) block[i] = b[i * b_row];
    }
}

/* Packs part p for types with panels. For Q4 it ORs halves into bytes, which must be 0 before. */
static void tfn__quant_pack_panels(uint8_t *w, tfn_weights type, const tfn__quant_part *p,
                                   const float *b, ptrdiff_t b_row, ptrdiff_t b_col)
{
    const ptrdiff_t blocks = tfn__quant_blocks(p->k);
    const ptrdiff_t bytes = tfn__quant_block_bytes(type);
    uint16_t *scales = (uint16_t *)(void *)(w + tfn__quant_scales(type, p->k, p->n));
    for (ptrdiff_t j = 0; j < p->outputs; j++) {
        const ptrdiff_t panel = (p->output + j) / TFN__QPANEL;
        const ptrdiff_t lane = (p->output + j) % TFN__QPANEL;
        for (ptrdiff_t i = 0; i < p->inputs; i += TFN__QBLOCK) {
            const ptrdiff_t at = panel * blocks + (p->input + i) / TFN__QBLOCK;
            float block[TFN__QBLOCK];
            int8_t q[TFN__QBLOCK];
            tfn__quant_gather(block, b + i * b_row + j * b_col, p->inputs - i, b_row);
            scales[at * TFN__QPANEL + lane] = tfn__quant_little(tfn__quant_block(q, block, type));
            tfn__quant_put(w + at * bytes, q, lane, type);
        }
    }
}

/* Packs part p of w, whose bytes must be 0 before. b begins with the part's first input and output.
 * The result does not depend on how a matrix is divided into parts. */
SHARED void tfn__quant_pack_part(void *w, tfn_weights type, const tfn__quant_part *p,
                                 const float *b, ptrdiff_t b_row, ptrdiff_t b_col)
{
    uint16_t *half = (uint16_t *)w;
    if (tfn__quant_block_bytes(type)) {
        tfn__quant_pack_panels((uint8_t *)w, type, p, b, b_row, b_col);
        return;
    }
    for (ptrdiff_t i = 0; i < p->inputs; i++) {
        for (ptrdiff_t j = 0; j < p->outputs; j++) {
            const ptrdiff_t at = (p->input + i) * p->n + p->output + j;
            const float x = b[i * b_row + j * b_col];
            if (type == TFN_WEIGHTS_BF16) half[at] = tfn__to_bf16(x);
            else half[at] = tfn__to_f16(x);
        }
    }
}

TFNORM_API void tfn_quant_pack(void *w, tfn_weights type, const float *b, ptrdiff_t k, ptrdiff_t n,
                               ptrdiff_t b_row, ptrdiff_t b_col)
{
    const tfn__quant_part all = { k, n, 0, k, 0, n };
    if (!w || !b || tfn_quant_bytes(type, k, n) == 0) return;
    if (tfn__quant_block_bytes(type)) TFNORM_MEMSET(w, 0, tfn_quant_bytes(type, k, n));
    tfn__quant_pack_part(w, type, &all, b, b_row, b_col);
}

/* Unpacks the inputs of one output in a block, to floats that are ld apart. */
SHARED void tfn__quant_unpack_lane(float *y, const uint8_t *q, uint16_t scale, tfn_weights type,
                                   ptrdiff_t lane, ptrdiff_t inputs, ptrdiff_t ld)
{
    const float s = tfn__quant_scale(scale);
    for (ptrdiff_t i = 0; i < inputs; i++)
        y[i * ld] = s * (float)tfn__quant_get(q, i, lane, type);
}

/* Unpacks a block of a panel for its first `count` outputs: y (inputs, count), rows ld floats
 * apart. */
static void tfn__quant_unpack_block(float *y, const uint8_t *q, const uint16_t *scales,
                                    tfn_weights type, ptrdiff_t inputs, ptrdiff_t count,
                                    ptrdiff_t ld)
{
    for (ptrdiff_t lane = 0; lane < count; lane++)
        tfn__quant_unpack_lane(y + lane, q, scales[lane], type, lane, inputs, ld);
}

/* Unpacks outputs first ... first + count - 1: y (k, count). */
static void tfn__quant_unpack_panels(float *y, const uint8_t *w, tfn_weights type, ptrdiff_t k,
                                     ptrdiff_t n, ptrdiff_t first, ptrdiff_t count)
{
    const ptrdiff_t blocks = tfn__quant_blocks(k);
    const ptrdiff_t size = tfn__quant_block_bytes(type);
    const uint16_t *scales;
    scales = (const uint16_t *)(const void *)(w + tfn__quant_scales(type, k, n));
    for (ptrdiff_t j = 0; j < count; j += TFN__QPANEL) {
        for (ptrdiff_t b = 0; b < blocks; b++) {
            const ptrdiff_t at = (first + j) / TFN__QPANEL * blocks + b;
            tfn__quant_unpack_block(y + b * TFN__QBLOCK * count + j, w + at * size,
                                    scales + at * TFN__QPANEL, type,
                                    tfn__min(k - b * TFN__QBLOCK, TFN__QBLOCK),
                                    tfn__min(count - j, TFN__QPANEL), count);
        }
    }
}

TFNORM_API void tfn_quant_unpack(float *y, const void *w, tfn_weights type, ptrdiff_t k,
                                 ptrdiff_t n, ptrdiff_t first, ptrdiff_t count)
{
    const uint16_t *half = (const uint16_t *)w;
    if (!y || !w || tfn_quant_bytes(type, k, n) == 0) return;
    if (tfn__quant_block_bytes(type)) {
        tfn__quant_unpack_panels(y, (const uint8_t *)w, type, k, n, first, count);
        return;
    }
    for (ptrdiff_t p = 0; p < k; p++) {
        for (ptrdiff_t j = 0; j < count; j++) {
            const uint16_t h = half[p * n + first + j];
            if (type == TFN_WEIGHTS_BF16) y[p * count + j] = tfn__from_bf16(h);
            else y[p * count + j] = tfn__from_f16(h);
        }
    }
}

/* -- helpers that the products of all instruction sets share ----------------------------------- */

/* Returns the panel that contains the first output of the product. */
SHARED tfn__quant_panel tfn__quant_panel_of(const tfn_quant_args *p)
{
    const uint8_t *w = (const uint8_t *)p->w;
    const ptrdiff_t panel = p->first / TFN__QPANEL;
    tfn__quant_panel at;
    at.blocks = tfn__quant_blocks(p->k);
    at.bytes = tfn__quant_block_bytes(p->type);
    at.four = p->type == TFN_WEIGHTS_Q4;
    at.q = w + panel * at.blocks * at.bytes;
    at.scales = (const uint16_t *)(const void *)(w + tfn__quant_scales(p->type, p->k, p->outputs));
    at.scales += panel * at.blocks * TFN__QPANEL;
    return at;
}

/* For a panel that is not whole, a tile is computed in y, a copy: begin copies the start values of
 * its chains into y, end copies the results into c. The panel's padding outputs are computed, too,
 * but must not be stored, because c has no room for them. */
SHARED void tfn__quant_begin(float *y, const tfn_quant_args *p, ptrdiff_t i, ptrdiff_t rows,
                             ptrdiff_t j, ptrdiff_t count)
{
    TFNORM_MEMSET(y, 0, (size_t)(rows * TFN__QPANEL) * sizeof *y);
    if (!p->start) return;
    for (ptrdiff_t t = 0; t < rows; t++)
        TFNORM_MEMCPY(y + t * TFN__QPANEL, p->start + (i + t) * p->start_ld + j,
                      (size_t)count * sizeof *y);
}
SHARED void tfn__quant_end(const tfn_quant_args *p, const float *y, ptrdiff_t i, ptrdiff_t rows,
                           ptrdiff_t j, ptrdiff_t count)
{
    for (ptrdiff_t t = 0; t < rows; t++)
        TFNORM_MEMCPY(p->c + (i + t) * p->c_ld + j, y + t * TFN__QPANEL,
                      (size_t)count * sizeof *y);
}

/* Example of a product (Q8): one input of 100, and an output whose weights are all 1. The input
 * becomes q = 127 with the scale 100/127. The weight becomes q = 127 with the scale 1/127, rounded
 * to 8 bits. The sum of integers is 127 * 127 = 16,129, and 16,129 * (100/127 * 1/127) is 100
 * again, up to rounding.
 *
 * Products go panel by panel, and block by block within a panel, so that weights stream from memory
 * in order. QTALL rows of inputs share a block while it is in registers. A product of one row is
 * bound by memory. */

/* Speed in billions of multiply-adds per second (Q8, Q4), for 768 inputs and 3,072 outputs, on a
 * Zen 4 core. Floats reach 59 there (117 GFLOP/s):
 *
 *                        one row          64 rows
 *        AVX-512 VNNI    85   103         158   158
 *        AVX2            50    58          63    78
 *        SSSE3           23    26          25    30
 *        SSE2            13    12          16    15
 *        plain C          3.8   2.4         3.6   2.3      (gcc; clang 2.8 2.7, 3.6 4.2)
 *
 * Here one row reads 2.5 MB of Q8 from L3, at 78 GB/s. From memory it would be slower. */
#endif
