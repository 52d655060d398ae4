#include "ggml.h"
#include "files.h"

TFN__SMALL

SHARED const tfn__block *tfn__block_of(tfn_dtype dtype)
{
    static const tfn__block blocks[] = {
        { TFN_DTYPE_Q4_0, 32, 18 },  { TFN_DTYPE_Q4_1, 32, 20 },  { TFN_DTYPE_Q5_0, 32, 22 },
        { TFN_DTYPE_Q5_1, 32, 24 },  { TFN_DTYPE_Q8_0, 32, 34 },  { TFN_DTYPE_Q4_K, 256, 144 },
        { TFN_DTYPE_Q5_K, 256, 176 }, { TFN_DTYPE_Q6_K, 256, 210 }
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].dtype == (int32_t)dtype) return blocks + i;
    return NULL;
}

/* A little-endian half. */
static float tfn__half_at(const uint8_t *s)
{
    return (float)tfn__ieee((uint64_t)s[0] | (uint64_t)s[1] << 8, 5, 10);
}

/* A number from 0 to 255 in two's complement. */
static int tfn__signed_byte(uint8_t u)
{
    return u < 128 ? u : (int)u - 256;
}

/* 32 values of 4 or 5 bits: nibbles of values i and i + 16 share a byte, and bit i of `high`, if
 * any, is the fifth. y = d q + m. */
static void tfn__decode_nibbles(const uint8_t *s, const uint8_t *high, float d, float m, int zero,
                                float *to)
{
    for (int i = 0; i < 32; i++) {
        int q = s[i & 15] >> (i < 16 ? 0 : 4) & 15;
        if (high) q |= (high[i >> 3] >> (i & 7) & 1) << 4;
        to[i] = (float)(q - zero) * d + m;
    }
}

/* Scale and minimum j of 8, 6 bits each, in the 12 bytes of a super-block. */
static void tfn__super_scale(const uint8_t *s, int j, int *scale, int *least)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *least = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
        *least = s[j + 4] >> 4 | s[j] >> 6 << 4;
    }
}

/* 256 values of 4 or 5 bits in 8 groups of 32 with scales and minimums: y = d q - m. Groups 2k and
 * 2k + 1 share 32 bytes; the fifth bits of group j are bits j of `high`. */
static void tfn__decode_super(const uint8_t *s, const uint8_t *high, const uint8_t *low, float *to)
{
    const float d = tfn__half_at(s);
    const float least = tfn__half_at(s + 2);
    for (int j = 0; j < 8; j++) {
        int scale, minimum;
        float by, less;
        tfn__super_scale(s + 4, j, &scale, &minimum);
        by = d * (float)scale;
        less = least * (float)minimum;
        for (int i = 0; i < 32; i++) {
            int q = low[j / 2 * 32 + i] >> 4 * (j & 1) & 15;
            if (high) q |= (high[i] >> j & 1) << 4;
            to[32*j + i] = by * (float)q - less;
        }
    }
}

/* 256 values of 6 bits in 16 groups of 16 with scales of 8 bits: y = d s (q - 32). */
static void tfn__decode_6(const uint8_t *s, float *to)
{
    const uint8_t *high = s + 128;
    const uint8_t *scales = s + 192;
    const float d = tfn__half_at(s + 208);
    for (int i = 0; i < 256; i++) {
        const int half = i / 128;               /* of the block; `part` is the quarter of that */
        const int part = i % 128 / 32;
        const int at = i % 32;
        const int low = s[64*half + 32*(part & 1) + at] >> (part < 2 ? 0 : 4) & 15;
        const int q = low | (high[32*half + at] >> 2*part & 3) << 4;
        to[i] = d * (float)tfn__signed_byte(scales[i / 16]) * (float)(q - 32);
    }
}

SHARED void tfn__decode_block(tfn_dtype dtype, const uint8_t *s, float *to)
{
    const float d = tfn__half_at(s);
    switch (dtype) {
    case TFN_DTYPE_Q4_0: tfn__decode_nibbles(s + 2, NULL, d, 0, 8, to); break;
    case TFN_DTYPE_Q4_1: tfn__decode_nibbles(s + 4, NULL, d, tfn__half_at(s + 2), 0, to); break;
    case TFN_DTYPE_Q5_0: tfn__decode_nibbles(s + 6, s + 2, d, 0, 16, to); break;
    case TFN_DTYPE_Q5_1: tfn__decode_nibbles(s + 8, s + 4, d, tfn__half_at(s + 2), 0, to); break;
    case TFN_DTYPE_Q8_0:
        for (int i = 0; i < 32; i++) to[i] = (float)tfn__signed_byte(s[2 + i]) * d;
        break;
    case TFN_DTYPE_Q4_K: tfn__decode_super(s, NULL, s + 16, to); break;
    case TFN_DTYPE_Q5_K: tfn__decode_super(s, s + 16, s + 48, to); break;
    default: tfn__decode_6(s, to); break;
    }
}

/* Store a scale as a half. False: the half is infinite or not a number. */
static bool tfn__put_half(uint8_t *to, float d)
{
    const uint64_t bits = tfn__ieee_bits((double)d, 5, 10);
    to[0] = (uint8_t)(bits & 255);
    to[1] = (uint8_t)(bits >> 8);
    return (bits & 0x7c00) != 0x7c00;
}

/* 1/d, or 0 if a float cannot hold it. */
static float tfn__inverse(float d)
{
    float v = 0;
    if (d < 0 || d > 0) v = 1 / d;
    if (!(v - v <= 0)) v = 0;
    return v;
}

/* The nearest whole number, halves away from 0. */
static int tfn__quant(float v)
{
    const int n = (int)v;
    const float rest = v - (float)n;
    if (rest >= (float)0.5) return n + 1;
    if (rest <= (float)-0.5) return n - 1;
    return n;
}

/* y = d q with q from -127 to 127. */
static bool tfn__encode_8(const float *x, uint8_t *to)
{
    float most = 0;
    float by;
    for (int i = 0; i < 32; i++) {
        const float v = x[i] < 0 ? -x[i] : x[i];
        if (!(v - v <= 0)) return false;
        if (v > most) most = v;
    }
    by = tfn__inverse(most / 127);
    if (!tfn__put_half(to, most / 127)) return false;
    for (int i = 0; i < 32; i++) to[2 + i] = (uint8_t)(tfn__quant(x[i] * by) & 255);
    return true;
}

/* y = d (q - 8) with q from 0 to 15. The value of the largest magnitude becomes q = 0, whatever its
 * sign. */
static bool tfn__encode_4(const float *x, uint8_t *to)
{
    float most = 0;
    float end = 0;
    float by;
    for (int i = 0; i < 32; i++) {
        const float v = x[i] < 0 ? -x[i] : x[i];
        if (!(v - v <= 0)) return false;
        if (v <= most) continue;
        most = v;
        end = x[i];
    }
    by = tfn__inverse(end / -8);
    if (!tfn__put_half(to, end / -8)) return false;
    for (int i = 0; i < 16; i++) {
        const int low = (int)(x[i] * by + (float)8.5);
        const int high = (int)(x[i + 16] * by + (float)8.5);
        to[2 + i] = (uint8_t)(tfn__min(low, 15) | tfn__min(high, 15) << 4);
    }
    return true;
}

/* Encode 32 values as Q8_0 or Q4_0, to the bits of ggml's reference. False: a value is not finite,
 * or the block's scale does not fit into a half. */
SHARED bool tfn__encode_block(tfn_dtype dtype, const float *x, uint8_t *to)
{
    if (dtype == TFN_DTYPE_Q8_0) return tfn__encode_8(x, to);
    return tfn__encode_4(x, to);
}
TFN__SMALL_END
