/* Updates with packed moments (tfn_moment_type): unpacks each piece, updates it, and packs it
 * again. Conversions use only integer operations, square roots, and exact squares and differences,
 * so that every machine gets the same bits. In FP8 each block of 32 numbers shares E, the exponent
 * of its largest number. A code has a sign (only in the first moment), a 4-bit exponent e, and a
 * fraction f of 3 bits (first moment) or 4 bits (second). Its value is
 *
 *     (1 + f) 2^(E + e - 14), e > 0        f 2^(E - 13), e = 0
 *
 * So the largest number has e = 14, or 15 if it is rounded up. A tensor's codes come first, padded
 * with 0 to whole blocks, then one byte per block, E + 127. Loops over a block have a constant
 * length and no branches, so that compilers vectorize them. */
#if TFN__PACKS
/* Decodes a block. `part` holds e and f in the position of a float's exponent and fraction. Numbers
 * with e = 0 are computed as differences, as in tfn__from_f16. */
static TFN__INLINE void TFN__N(tfn__fp8_read)(float *y, const uint8_t *codes, uint32_t exponent,
                                              const int which)
{
    const int place = 20 - which;                    /* of the last bit of f */
    const uint32_t sign = which ? 0 : 0x80;
    const uint32_t least = (exponent - 13) << 23;
    for (int i = 0; i < TFN__MOMENT_BLOCK; i++) {
        const uint32_t part = (codes[i] & ~sign) << place;
        const float small = tfn__from_bits(least + part) - tfn__from_bits(least);
        uint32_t u = least - (1u << 23) + part;
        float x;
        if (part < 1u << 23) u = tfn__to_bits(small);
        x = tfn__from_bits(u | (codes[i] & sign) << 24);
        y[i] = x;
        if (which) y[i] = x * x;
    }
}

/* Decodes a block whose numbers are all x or -x: NaN, or 0 because they could be denormal. */
static void TFN__N(tfn__fp8_same)(float *y, const uint8_t *codes, float x, int which)
{
    for (int i = 0; i < TFN__MOMENT_BLOCK; i++) {
        y[i] = x;
        if (!which && codes[i] & 0x80) y[i] = -x;
    }
}

/* Encodes a block x and its exponent. Stores the second moment as its root. Rounds stochastically:
 * adds random bits to the fraction bits that the code drops, so that they carry with a probability
 * equal to their value. */
static TFN__INLINE void TFN__N(tfn__fp8_write)(uint8_t *codes, uint8_t *exponent, float *x,
                                               const uint32_t *random, const int which)
{
    const int drop = 20 - which;
    uint32_t most = 0;
    int32_t one;                                     /* the exponent of codes with e = 1 */
    if (which) TFN__EACH(i, k, TFN__MOMENT_BLOCK) TFN__STORE(x + i, TFN__ROOT(TFN__LOAD(x + i)));
    for (int i = 0; i < TFN__MOMENT_BLOCK; i++) {
        const uint32_t size = tfn__to_bits(x[i]) & 0x7fffffffu;
        if (size > most) most = size;
    }
    *exponent = (uint8_t)(most >> 23);
    one = (int32_t)(most >> 23) - 13;
    for (int i = 0; i < TFN__MOMENT_BLOCK; i++) {
        const uint32_t u = tfn__to_bits(x[i]);
        const uint32_t size = u & 0x7fffffffu;
        const int32_t up = (int32_t)(size >> 23) - one;
        int32_t left = up;
        int32_t right = -up;
        uint32_t code;
        if (left < 0) left = 0;
        if (right < 0) right = 0;
        if (right > 31) right = 31;
        code = (((size & 0x7fffffu) | 1u << 23) >> right) + ((uint32_t)left << 23);
        code = (code + (random[i] & ((1u << drop) - 1))) >> drop;
        if (which && code == 0) code = 1;
        if (size - 1 >= 0x7f800000u) code = 0;       /* 0 and NaN */
        if (!which) code |= u >> 24 & 0x80;
        codes[i] = (uint8_t)code;
    }
}

/* Stores n numbers as BF16. Finite numbers are rounded stochastically, others as tfn__to_bf16
 * does. */
static void TFN__N(tfn__bf16_write)(uint16_t *half, const float *x, const uint32_t *random,
                                    ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint32_t u = tfn__to_bits(x[i]);
        uint32_t code = (u + (random[i] & 0xffff)) >> 16;
        uint32_t special = u >> 16;
        if ((u & 0x7fffffu) != 0) special |= 0x40;
        if ((u & 0x7f800000u) == 0x7f800000u) code = special;
        half[i] = (uint16_t)code;
    }
}

/* Computes the draws of a block, split into halves. x is key + (index + 1) * TFN__GOLDEN. */
static void TFN__N(tfn__moment_draws)(uint32_t *low, uint32_t *high, uint64_t x)
{
    for (int i = 0; i < TFN__MOMENT_BLOCK; i++) {
        const uint64_t bits = tfn__mix(x + (uint64_t)i * TFN__GOLDEN);
        low[i] = (uint32_t)bits;
        high[i] = (uint32_t)(bits >> 32);
    }
}

/* Decodes n numbers of moment `which` from `at` on, where a block begins. FP8 fills whole blocks of
 * y. */
static void TFN__N(tfn__moment_read)(float *y, const tfn_packed_moments *m, int which,
                                     ptrdiff_t at, ptrdiff_t n)
{
    const uint16_t *half = (const uint16_t *)m->data[which] + at;
    const uint8_t *codes = (const uint8_t *)m->data[which] + at;
    if (m->type == TFN_MOMENT_TYPE_BF16) {
        for (ptrdiff_t i = 0; i < n; i++) y[i] = tfn__from_bf16(half[i]);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i += TFN__MOMENT_BLOCK) {
        const uint32_t exponent = m->exponents[which][(at + i) / TFN__MOMENT_BLOCK];
        if (exponent == 255) TFN__N(tfn__fp8_same)(y + i, codes + i, (float)NAN, which);
        else if (exponent < 32) TFN__N(tfn__fp8_same)(y + i, codes + i, 0, which);
        else if (which) TFN__N(tfn__fp8_read)(y + i, codes + i, exponent, 1);
        else TFN__N(tfn__fp8_read)(y + i, codes + i, exponent, 0);
    }
}

/* Encodes a block of moment `which` from x, and overwrites x. */
static void TFN__N(tfn__moment_write)(float *x, const tfn_packed_moments *m, int which,
                                      ptrdiff_t at, ptrdiff_t n, const uint32_t *random)
{
    uint8_t *codes = (uint8_t *)m->data[which] + at;
    uint8_t *exponent;
    if (m->type == TFN_MOMENT_TYPE_BF16) {
        TFN__N(tfn__bf16_write)((uint16_t *)m->data[which] + at, x, random, n);
        return;
    }
    exponent = m->exponents[which] + at / TFN__MOMENT_BLOCK;
    for (ptrdiff_t i = n; i < TFN__MOMENT_BLOCK; i++) x[i] = 0;
    if (which) TFN__N(tfn__fp8_write)(codes, exponent, x, random, 1);
    else TFN__N(tfn__fp8_write)(codes, exponent, x, random, 0);
}

/* Same as tfn__update, with packed moments. work holds one unpacked piece of each moment. */
static void TFN__N(tfn__update_packed)(float *p, const float *g, const tfn_packed_moments *m,
                                       ptrdiff_t n, const tfn_update_args *u, float *work)
{
    for (ptrdiff_t at = 0; at < n; at += TFN__MOMENT_PIECE) {
        const ptrdiff_t count = tfn__min(n - at, TFN__MOMENT_PIECE);
        float *wide[2] = { NULL, NULL };
        for (int k = 0; k < 2; k++) {
            if (!m->data[k]) continue;
            wide[k] = work + k * TFN__MOMENT_PIECE;
            TFN__N(tfn__moment_read)(wide[k], m, k, at, count);
        }
        TFN__N(tfn__update)(p + at, g + at, wide[0], wide[1], count, u);
        for (ptrdiff_t i = 0; i < count; i += TFN__MOMENT_BLOCK) {
            const ptrdiff_t size = tfn__min(count - i, TFN__MOMENT_BLOCK);
            const uint64_t index = m->first + (uint64_t)(at + i);
            uint32_t random[2][TFN__MOMENT_BLOCK];
            TFN__N(tfn__moment_draws)(random[0], random[1],
                                      m->key.bits + (index + 1) * TFN__GOLDEN);
            for (int k = 0; k < 2; k++)
                if (wide[k])
                    TFN__N(tfn__moment_write)(wide[k] + i, m, k, at + i, size, random[k]);
        }
    }
}
#endif
