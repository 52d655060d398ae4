/* Products of quantized weights: one body, compiled once per instruction set, like the bodies of
 * the float kernels. A new instruction set defines these macros, over vectors of 32-bit integers
 * and vectors of as many floats, and gets a line in integer_sets and one in tfn__quant_of.
 * tests/kernels/test_quant.c then compares it with plain loops, to the bit.
 *
 *   QN(name), QW      the name of this instance's function; the number of lanes
 *   QI, QF            the vector types
 *   QLOAD(p)          4 QW bytes of weights
 *   QLOW, QHIGH       the lower or upper half of each byte, 0 .. 15
 *   QDOT8(s, w, x)    in each lane s plus four products of the lane's four q in w and the four q of
 *                     the inputs at x, for Q8
 *   QDOT4(s, w, x)    the same for Q4, whose halves are q + 8
 *   QEXTRA8           the offset of q in QDOT8: 128 if the instruction needs unsigned bytes, else
 *                     0 (for Q4 it is 8). Callers subtract the offset times the sum of the inputs
 *   QPREPARE8(w)      adds that offset to bytes as they are stored
 *   QSET, QFLOAT      an integer in all lanes; conversion to floats, exact
 *   QSCALE(p)         QW scales, 16-bit numbers that are upper halves of floats, as floats
 *   QFADD, QFMUL, QFSET, QFLOADF, QFSTORE   arithmetic of floats; each result is rounded once
 *   QHALVES(h), QNAN(v)   optional: QW numbers of F16 as floats; true if any of them is NaN */
/* vpdpbusd multiplies unsigned bytes by signed bytes, and adds four products to each lane. The
 * weights are the unsigned ones: q + 128, which is q with the highest bit flipped, or the halves of
 * Q4 as they are. For the forms with maskz see simd. */
#if defined TFN__QUSE_AVX512
#define TFN__QN(name)      name##_avx512_vnni
#define TFN__QNAME         "avx512-vnni"
#define TFN__QID           TFN_QUANT_AVX512_VNNI
#define TFN__QW            16
#define TFN__QI            __m512i
#define TFN__QF            __m512
#define TFN__QLOAD(p)      _mm512_loadu_si512((const void *)(p))
#define TFN__QHALF         _mm512_set1_epi8(15)
#define TFN__QLOW(w)       _mm512_and_si512(w, TFN__QHALF)
#define TFN__QHIGH(w)      _mm512_and_si512(_mm512_srli_epi32(w, 4), TFN__QHALF)
#define TFN__QEXTRA8       128
#define TFN__QPREPARE8(w)  _mm512_xor_si512(w, _mm512_set1_epi32((int)0x80808080u))
#define TFN__QDOT8(s, w, x) _mm512_dpbusd_epi32(s, w, _mm512_set1_epi32(tfn__quant_word(x)))
#define TFN__QDOT4(s, w, x) TFN__QDOT8(s, w, x)
#define TFN__QSET(i)       _mm512_set1_epi32(i)
#define TFN__QFLOAT(s)     _mm512_maskz_cvtepi32_ps((__mmask16)0xffff, s)
#define TFN__QSCALE(p)     _mm512_castsi512_ps(_mm512_maskz_slli_epi32((__mmask16)0xffff, \
    _mm512_maskz_cvtepu16_epi32((__mmask16)0xffff, \
                                _mm256_loadu_si256((const __m256i *)(const void *)(p))), 16))
#define TFN__QFADD(a, b)   _mm512_add_ps(a, b)
#define TFN__QFMUL(a, b)   _mm512_mul_ps(a, b)
#define TFN__QFSET(x)      _mm512_set1_ps(x)
#define TFN__QFLOADF(p)    _mm512_loadu_ps(p)
#define TFN__QHALVES(h)    _mm512_maskz_cvtph_ps((__mmask16)0xffff, \
    _mm256_loadu_si256((const __m256i *)(const void *)(h)))
#define TFN__QNAN(v)       (_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0)
#define TFN__QFSTORE(p, v) _mm512_storeu_ps(p, v)

/* 256 bits: AVX2, and AVX-VNNI, which has the instruction above on 256 bits, in processors since
 * 2021 without AVX-512. Plain AVX2 multiplies |w| by x with the sign of w applied. */
#elif defined TFN__QUSE_AVX2 || defined TFN__QUSE_AVX_VNNI
#define TFN__QW            8
#define TFN__QI            __m256i
#define TFN__QF            __m256
#define TFN__QLOAD(p)      _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define TFN__QHALF         _mm256_set1_epi8(15)
#define TFN__QLOW(w)       _mm256_and_si256(w, TFN__QHALF)
#define TFN__QHIGH(w)      _mm256_and_si256(_mm256_srli_epi32(w, 4), TFN__QHALF)
#define TFN__QALL(x)       _mm256_set1_epi32(tfn__quant_word(x))
#ifdef TFN__QUSE_AVX_VNNI
#define TFN__QN(name)      name##_avx_vnni
#define TFN__QNAME         "avx-vnni"
#define TFN__QID           TFN_QUANT_AVX_VNNI
#define TFN__QEXTRA8       128
#define TFN__QPREPARE8(w)  _mm256_xor_si256(w, _mm256_set1_epi32((int)0x80808080u))
#define TFN__QDOT8(s, w, x) _mm256_dpbusd_avx_epi32(s, w, TFN__QALL(x))
#define TFN__QDOT4(s, w, x) TFN__QDOT8(s, w, x)
#else
/* vpmaddubsw adds two products in 16 bits, which cannot overflow, because |q| q' <= 127^2 */
#define TFN__QN(name)      name##_avx2
#define TFN__QNAME         "avx2"
#define TFN__QID           TFN_QUANT_AVX2
#define TFN__QEXTRA8       0
#define TFN__QPREPARE8(w)  (w)
#define TFN__QPAIRS(s, v)  _mm256_add_epi32(s, _mm256_madd_epi16(v, _mm256_set1_epi16(1)))
#define TFN__QDOT8(s, w, x) TFN__QPAIRS(s, \
    _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(TFN__QALL(x), w)))
#define TFN__QDOT4(s, w, x) TFN__QPAIRS(s, _mm256_maddubs_epi16(w, TFN__QALL(x)))
#endif
#define TFN__QSET(i)       _mm256_set1_epi32(i)
#define TFN__QFLOAT(s)     _mm256_cvtepi32_ps(s)
#define TFN__QSCALE(p)     _mm256_castsi256_ps(_mm256_slli_epi32( \
    _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))), 16))
#define TFN__QFADD(a, b)   _mm256_add_ps(a, b)
#define TFN__QFMUL(a, b)   _mm256_mul_ps(a, b)
#define TFN__QFSET(x)      _mm256_set1_ps(x)
#define TFN__QFLOADF(p)    _mm256_loadu_ps(p)
#define TFN__QHALVES(h)    _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(h)))
#define TFN__QNAN(v)       (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0)
#define TFN__QFSTORE(p, v) _mm256_storeu_ps(p, v)

/* 128 bits: SSSE3 works like AVX2. SSE2, which every x86-64 has, lacks products of bytes. */
#elif defined TFN__QUSE_SSE2 || defined TFN__QUSE_SSSE3
#define TFN__QW            4
#define TFN__QI            __m128i
#define TFN__QF            __m128
#define TFN__QLOAD(p)      _mm_loadu_si128((const __m128i *)(const void *)(p))
#define TFN__QHALF         _mm_set1_epi8(15)
#define TFN__QLOW(w)       _mm_and_si128(w, TFN__QHALF)
#define TFN__QHIGH(w)      _mm_and_si128(_mm_srli_epi32(w, 4), TFN__QHALF)
#define TFN__QALL(x)       _mm_set1_epi32(tfn__quant_word(x))
#define TFN__QEXTRA8       0
#define TFN__QPREPARE8(w)  (w)
#ifdef TFN__QUSE_SSSE3
#define TFN__QN(name)      name##_ssse3
#define TFN__QNAME         "ssse3"
#define TFN__QID           TFN_QUANT_SSSE3
#define TFN__QPAIRS(s, v)  _mm_add_epi32(s, _mm_madd_epi16(v, _mm_set1_epi16(1)))
#define TFN__QDOT8(s, w, x) TFN__QPAIRS(s, \
    _mm_maddubs_epi16(_mm_abs_epi8(w), _mm_sign_epi8(TFN__QALL(x), w)))
#define TFN__QDOT4(s, w, x) TFN__QPAIRS(s, _mm_maddubs_epi16(w, TFN__QALL(x)))
#else
/* Bytes are widened to 16 bits. The two partial sums of an output are neighbours, and are added. */
#define TFN__QN(name)      name##_sse2
#define TFN__QNAME         "sse2"
#define TFN__QID           TFN_QUANT_SSE2
#define TFN__QLOWER(v)     _mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8)
#define TFN__QUPPER(v)     _mm_srai_epi16(_mm_unpackhi_epi8(v, v), 8)
#define TFN__QDOT8(s, w, x) _mm_add_epi32(s, tfn__quant_together_sse2( \
    _mm_madd_epi16(TFN__QLOWER(w), TFN__QLOWER(TFN__QALL(x))), \
    _mm_madd_epi16(TFN__QUPPER(w), TFN__QLOWER(TFN__QALL(x)))))
#define TFN__QDOT4(s, w, x) TFN__QDOT8(s, w, x)
static TFN__INLINE __m128i tfn__quant_together_sse2(__m128i lower, __m128i upper)
{
    const __m128 a = _mm_castsi128_ps(lower);
    const __m128 b = _mm_castsi128_ps(upper);
    return _mm_add_epi32(_mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)),
                         _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd)));
}
#endif
#define TFN__QSET(i)       _mm_set1_epi32(i)
#define TFN__QFLOAT(s)     _mm_cvtepi32_ps(s)
#define TFN__QSCALE(p)     _mm_castsi128_ps(_mm_unpacklo_epi16( \
    _mm_setzero_si128(), _mm_loadl_epi64((const __m128i *)(const void *)(p))))
#define TFN__QFADD(a, b)   _mm_add_ps(a, b)
#define TFN__QFMUL(a, b)   _mm_mul_ps(a, b)
#define TFN__QFSET(x)      _mm_set1_ps(x)
#define TFN__QFLOADF(p)    _mm_loadu_ps(p)
#define TFN__QFSTORE(p, v) _mm_storeu_ps(p, v)

/* AArch64. The dot product is optional from Armv8.2 on and always present since 8.4. Without it
 * products have 16 bits, and neighbours are added twice, so that four products make one sum. */
#elif defined TFN__QUSE_NEON
#define TFN__QN(name)      name##_neon
#define TFN__QNAME         "neon"
#define TFN__QID           TFN_QUANT_NEON
#define TFN__QW            4
#define TFN__QI            int32x4_t
#define TFN__QF            float32x4_t
#define TFN__QB(v)         vreinterpretq_s8_s32(v)
#define TFN__QLOAD(p)      vreinterpretq_s32_s8(vld1q_s8((const int8_t *)(p)))
#define TFN__QU(v)         vreinterpretq_u8_s32(v)
#define TFN__QLOW(w)       vreinterpretq_s32_u8(vandq_u8(TFN__QU(w), vdupq_n_u8(15)))
#define TFN__QHIGH(w)      vreinterpretq_s32_u8(vshrq_n_u8(TFN__QU(w), 4))
#define TFN__QALL(x)       TFN__QB(vdupq_n_s32(tfn__quant_word(x)))
#define TFN__QEXTRA8       0
#define TFN__QPREPARE8(w)  (w)
#ifdef __ARM_FEATURE_DOTPROD
#define TFN__QDOT8(s, w, x) vdotq_s32(s, TFN__QB(w), TFN__QALL(x))
#else
#define TFN__QDOT8(s, w, x) vaddq_s32(s, tfn__quant_dot_neon(TFN__QB(w), TFN__QALL(x)))
static TFN__INLINE int32x4_t tfn__quant_dot_neon(int8x16_t w, int8x16_t x)
{
    const int32x4_t a = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)));
    return vpaddq_s32(a, vpaddlq_s16(vmull_high_s8(w, x)));
}
#endif
#define TFN__QDOT4(s, w, x) TFN__QDOT8(s, w, x)
#define TFN__QSET(i)       vdupq_n_s32(i)
#define TFN__QFLOAT(s)     vcvtq_f32_s32(s)
#define TFN__QSCALE(p)     vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16))
#define TFN__QFADD(a, b)   vaddq_f32(a, b)
#define TFN__QFMUL(a, b)   vmulq_f32(a, b)
#define TFN__QFSET(x)      vdupq_n_f32(x)
#define TFN__QFLOADF(p)    vld1q_f32(p)
#define TFN__QFSTORE(p, v) vst1q_f32(p, v)

/* WebAssembly, like NEON without the dot product. Relaxed SIMD has a dot product, but its result is
 * not defined for bytes that need all eight bits, so it is not used. */
#elif defined TFN__QUSE_WASM
#define TFN__QN(name)      name##_wasm
#define TFN__QNAME         "wasm"
#define TFN__QID           TFN_QUANT_WASM
#define TFN__QW            4
#define TFN__QI            v128_t
#define TFN__QF            v128_t
#define TFN__QLOAD(p)      wasm_v128_load(p)
#define TFN__QLOW(w)       wasm_v128_and(w, wasm_i8x16_splat(15))
#define TFN__QHIGH(w)      wasm_u8x16_shr(w, 4)
#define TFN__QEXTRA8       0
#define TFN__QPREPARE8(w)  (w)
#define TFN__QDOT8(s, w, x) \
    wasm_i32x4_add(s, tfn__quant_dot_wasm(w, wasm_i32x4_splat(tfn__quant_word(x))))
#define TFN__QDOT4(s, w, x) TFN__QDOT8(s, w, x)
static TFN__INLINE v128_t tfn__quant_dot_wasm(v128_t w, v128_t x)
{
    const v128_t a = wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extmul_low_i8x16(w, x));
    const v128_t b = wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extmul_high_i8x16(w, x));
    return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6),
                          wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
}
#define TFN__QSET(i)       wasm_i32x4_splat(i)
#define TFN__QFLOAT(s)     wasm_f32x4_convert_i32x4(s)
#define TFN__QSCALE(p)     wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16)
#define TFN__QFADD(a, b)   wasm_f32x4_add(a, b)
#define TFN__QFMUL(a, b)   wasm_f32x4_mul(a, b)
#define TFN__QFSET(x)      wasm_f32x4_splat(x)
#define TFN__QFLOADF(p)    wasm_v128_load(p)
#define TFN__QFSTORE(p, v) wasm_v128_store(p, v)

/* Plain C: a vector is one integer, and four bytes are one 32-bit word. */
#else
#define TFN__QN(name)      name##_plain
#define TFN__QNAME         "plain"
#define TFN__QID           TFN_QUANT_PLAIN
#define TFN__QW            1
#define TFN__QI            int32_t
#define TFN__QF            float
#define TFN__QLOAD(p)      tfn__quant_word((const int8_t *)(p))
#define TFN__QLOW(w)       ((w) & 0x0f0f0f0f)
#define TFN__QHIGH(w)      ((int32_t)((uint32_t)(w) >> 4) & 0x0f0f0f0f)
#define TFN__QEXTRA8       0
#define TFN__QPREPARE8(w)  (w)
#define TFN__QDOT8(s, w, x) tfn__quant_dot_plain(s, w, tfn__quant_word(x))
#define TFN__QDOT4(s, w, x) TFN__QDOT8(s, w, x)
#ifdef TFN__SMLAD
/* Armv7E-M: bytes 0 and 2, then 1 and 3, are widened to pairs of 16 bits */
static TFN__INLINE int32_t tfn__quant_dot_plain(int32_t s, int32_t w, int32_t x)
{
    const uint32_t wu = (uint32_t)w;
    const uint32_t xu = (uint32_t)x;
    s = __smlad(__sxtb16((int8x4_t)wu), __sxtb16((int8x4_t)xu), s);
    return __smlad(__sxtb16((int8x4_t)(wu >> 8)), __sxtb16((int8x4_t)(xu >> 8)), s);
}
#else
/* Returns byte i of a word, counted from its low end. Both words come from tfn__quant_word. */
static TFN__INLINE int32_t tfn__quant_byte(int32_t word, int i)
{
    return (int32_t)(((uint32_t)word >> 8*i & 255) ^ 128) - 128;
}
static TFN__INLINE int32_t tfn__quant_dot_plain(int32_t s, int32_t w, int32_t x)
{
    for (int i = 0; i < 4; i++) s += tfn__quant_byte(w, i) * tfn__quant_byte(x, i);
    return s;
}
#endif
#define TFN__QSET(i)       (i)
#define TFN__QFLOAT(s)     ((float)(s))
#define TFN__QSCALE(p)     tfn__quant_scale(*(p))
#define TFN__QFADD(a, b)   ((a) + (b))
#define TFN__QFMUL(a, b)   ((a) * (b))
#define TFN__QFSET(x)      (x)
#define TFN__QFLOADF(p)    (*(p))
#define TFN__QFSTORE(p, v) (*(p) = (v))
#endif

/* Quantizes one block of inputs: computes q, their scale, and the sum of q. Adding 1.5 * 2^23
 * rounds x * inverse to an integer, ties to even, and the low byte of the sum is q. |q| <= 127,
 * because 127/amax * amax is at most 127 (1 + 2^-23). */
static TFN__INLINE void TFN__QN(tfn__quant_inputs)(int8_t *q, float *scale, int32_t *sum,
                                                   const float *a)
{
    const float large = 12582912;
    const uint32_t largest = tfn__quant_largest(a);
    float inverse = 0;
    int32_t s = 0;
    *scale = 0;
    if (largest >= TFN__QINFINITE) *scale = tfn__from_bits(0x7fc00000u);
    else if (largest >= TFN__QLEAST) {
        *scale = tfn__from_bits(largest) / 127;
        inverse = 127 / tfn__from_bits(largest);
    }
    for (int i = 0; i < TFN__QBLOCK; i++) {
        float x = a[i] * inverse + large;
        int32_t u;
        TFNORM_MEMCPY(&u, &x, sizeof u);
        if (largest >= TFN__QINFINITE) u = 0;
        u = (int32_t)(int8_t)(u & 255);
        q[i] = (int8_t)u;
        s += u;
    }
    *sum = s;
}

/* Quantizes rows of inputs, block by block. A block that k cuts short is padded with 0. */
static void TFN__QN(tfn__quant_rows)(const tfn_quant_rows *r, const float *a, ptrdiff_t m,
                                     ptrdiff_t k, ptrdiff_t a_ld)
{
    const ptrdiff_t blocks = tfn__quant_blocks(k);
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t b = 0; b < blocks; b++) {
            const float *x = a + i * a_ld + b * TFN__QBLOCK;
            const ptrdiff_t at = i * blocks + b;
            float block[TFN__QBLOCK];
            if (k - b * TFN__QBLOCK < TFN__QBLOCK) {
                tfn__quant_gather(block, x, k - b * TFN__QBLOCK, 1);
                x = block;
            }
            TFN__QN(tfn__quant_inputs)(r->q + at * TFN__QBLOCK, r->scale + at, r->sum + at, x);
        }
    }
}

/* Loads all groups of a block for QW outputs, in the form that QDOT needs. */
static TFN__INLINE void TFN__QN(tfn__quant_load)(TFN__QI *w, const uint8_t *block, bool four)
{
    if (four) {
        TFN__UNROLL
        for (int g = 0; g < TFN__QGROUPS; g += 2) {
            const TFN__QI both = TFN__QLOAD(block + g * 32);
            w[g] = TFN__QLOW(both);
            w[g + 1] = TFN__QHIGH(both);
        }
        return;
    }
    TFN__UNROLL
    for (int g = 0; g < TFN__QGROUPS; g++) {
        const TFN__QI q = TFN__QLOAD(block + g * 64);
        w[g] = TFN__QPREPARE8(q);
    }
}

/* Returns s plus the sum of a block's products. Callers start s with minus the excess that the
 * offset of q adds. */
static TFN__INLINE TFN__QI TFN__QN(tfn__quant_sum)(TFN__QI s, const TFN__QI *w, const int8_t *x,
                                                   bool four)
{
    if (four) {
        TFN__UNROLL
        for (int g = 0; g < TFN__QGROUPS; g++) s = TFN__QDOT4(s, w[g], x + 4*g);
        return s;
    }
    TFN__UNROLL
    for (int g = 0; g < TFN__QGROUPS; g++) s = TFN__QDOT8(s, w[g], x + 4*g);
    return s;
}

/* Computes a tile y (rows, 16): a panel of w times `rows` rows of inputs, from row i on, added to
 * the start values. Callers pass constant `rows` and `four`, which makes one loop for each.
 *
 * It does QW outputs at a time. Their chains stay in registers over all blocks. The weights of a
 * block are loaded once, in the form that QDOT needs. Then each row multiplies them by its own
 * inputs, adds up in integers, and does one step of its chain, with three roundings: scale times
 * scale, times the sum, plus the chain. */
static TFN__INLINE void TFN__QN(tfn__quant_tile)(const tfn__quant_chains *y,
                                                 const tfn__quant_panel *p,
                                                 const tfn_quant_rows *r, ptrdiff_t i, int rows,
                                                 bool four)
{
    const int32_t extra = four ? 8 : TFN__QEXTRA8;
    for (ptrdiff_t lane = 0; lane < TFN__QPANEL; lane += TFN__QW) {
        TFN__QF acc[TFN__QTALL];
        TFN__UNROLL
        for (int t = 0; t < rows; t++) {
            acc[t] = TFN__QFSET(0);
            if (y->start) acc[t] = TFN__QFLOADF(y->start + t * y->start_ld + lane);
        }
        for (ptrdiff_t b = 0; b < p->blocks; b++) {
            const TFN__QF scale = TFN__QSCALE(p->scales + b * TFN__QPANEL + lane);
            TFN__QI w[TFN__QGROUPS];
            if (!four && rows == 1) TFN__FETCH_FAR(p->q + b * p->bytes + TFN__QAHEAD);
            TFN__QN(tfn__quant_load)(w, p->q + b * p->bytes + lane * 4, four);
            TFN__UNROLL
            for (int t = 0; t < rows; t++) {
                const ptrdiff_t at = (i + t) * p->blocks + b;
                TFN__QI s = TFN__QSET(-extra * r->sum[at]);
                s = TFN__QN(tfn__quant_sum)(s, w, r->q + at * TFN__QBLOCK, four);
                acc[t] = TFN__QFADD(acc[t], TFN__QFMUL(TFN__QFLOAT(s),
                                    TFN__QFMUL(scale, TFN__QFSET(r->scale[at]))));
            }
        }
        TFN__UNROLL
        for (int t = 0; t < rows; t++) TFN__QFSTORE(y->c + t * y->c_ld + lane, acc[t]);
    }
}

#if TFN__QW == 1
/* Return s plus the products of a group of Q8, or of two groups of Q4, for one output. w may have
 * any alignment. Where words must be aligned, loading one is a call of memcpy, so this code loads
 * bytes: on RV32IMF a token then takes 0.74 times the instructions of floats, with words three
 * times. */
#ifdef TFN__SMLAD
/* These processors load words at any address, and multiply two pairs of 16-bit numbers at once. */
static TFN__INLINE int32_t tfn__quant_direct8(int32_t s, const uint8_t *w, const int8_t *x)
{
    return TFN__QDOT8(s, TFN__QLOAD(w), x);
}
static TFN__INLINE int32_t tfn__quant_direct4(int32_t s, const uint8_t *w, const int8_t *x)
{
    const int32_t both = TFN__QLOAD(w);
    s = TFN__QDOT4(s, TFN__QLOW(both), x);
    return TFN__QDOT4(s, TFN__QHIGH(both), x + 4);
}
#else
/* The products are written out, because gcc -Os would not unroll a loop, which takes twice the
 * instructions. In this order gcc -O2 can still vectorize them. */
static TFN__INLINE int32_t tfn__quant_direct8(int32_t s, const uint8_t *w, const int8_t *x)
{
    s += (int8_t)w[0] * x[0];
    s += (int8_t)w[1] * x[1];
    s += (int8_t)w[2] * x[2];
    return s + (int8_t)w[3] * x[3];
}
static TFN__INLINE int32_t tfn__quant_direct4(int32_t s, const uint8_t *w, const int8_t *x)
{
    s += (w[0] & 15) * x[0];
    s += (w[1] & 15) * x[1];
    s += (w[2] & 15) * x[2];
    s += (w[3] & 15) * x[3];
    s += (w[0] >> 4) * x[4];
    s += (w[1] >> 4) * x[5];
    s += (w[2] >> 4) * x[6];
    return s + (w[3] >> 4) * x[7];
}
#endif

/* Returns s plus the products of a block for one output, whose weights are read in place. Groups,
 * or in Q4 pairs of groups, are 64 bytes apart. x (32) are the inputs of the row. */
static TFN__INLINE int32_t tfn__quant_direct_plain(int32_t s, const uint8_t *w, const int8_t *x,
                                                   bool four)
{
    const int8_t *end = x + TFN__QBLOCK;
    if (four) for (; x < end; x += 8, w += 64) s = tfn__quant_direct4(s, w, x);
    else for (; x < end; x += 4, w += 64) s = tfn__quant_direct8(s, w, x);
    return s;
}

/* A tile of one row, y (16), with the order and roundings of tfn__quant_tile. It goes output by
 * output and block by block, so that the chain stays in a register and nothing is buffered. At -Os
 * there is one copy for both types, which tests the type once per block; else one for each. */
static TFN__INLINE void tfn__quant_row_plain(float *y, const tfn__quant_panel *p,
                                             const tfn_quant_rows *r, ptrdiff_t i, bool four)
{
    const int32_t extra = four ? 8 : 0;
    for (ptrdiff_t lane = 0; lane < TFN__QPANEL; lane++) {
        float acc = y[lane];
        for (ptrdiff_t b = 0; b < p->blocks; b++) {
            const float scale = tfn__quant_scale(p->scales[b * TFN__QPANEL + lane]);
            const ptrdiff_t at = i * p->blocks + b;
            const int32_t s = tfn__quant_direct_plain(-extra * r->sum[at],
                                                      p->q + b * p->bytes + lane * 4,
                                                      r->q + at * TFN__QBLOCK, four);
            acc += (float)s * (scale * r->scale[at]);
        }
        y[lane] = acc;
    }
}
#endif

/* A tile of 1 ... QTALL rows, of either type. In plain C each row rereads the panel, because boards
 * need small code, and gcc's loops over one row are faster than its loops over four (with Q8 by
 * half). clang's loops over four rows are 30 to 50 % faster, so it uses them for full tiles. */
static void TFN__QN(tfn__quant_tiles)(const tfn__quant_chains *y, const tfn__quant_panel *p,
                                      const tfn_quant_rows *r, ptrdiff_t i, ptrdiff_t rows)
{
#if TFN__QW > 1
    switch (rows) {
    case 1:
        if (p->four) TFN__QN(tfn__quant_tile)(y, p, r, i, 1, true);
        else TFN__QN(tfn__quant_tile)(y, p, r, i, 1, false);
        return;
    case 2:
        if (p->four) TFN__QN(tfn__quant_tile)(y, p, r, i, 2, true);
        else TFN__QN(tfn__quant_tile)(y, p, r, i, 2, false);
        return;
    case 3:
        if (p->four) TFN__QN(tfn__quant_tile)(y, p, r, i, 3, true);
        else TFN__QN(tfn__quant_tile)(y, p, r, i, 3, false);
        return;
    default:
        if (p->four) TFN__QN(tfn__quant_tile)(y, p, r, i, TFN__QTALL, true);
        else TFN__QN(tfn__quant_tile)(y, p, r, i, TFN__QTALL, false);
    }
#else
#if defined __clang__ && !defined __OPTIMIZE_SIZE__
    const bool tall = rows == TFN__QTALL;
#else
    const bool tall = false;
#endif
    ptrdiff_t t = 0;
    if (p->four && tall) TFN__QN(tfn__quant_tile)(y, p, r, i, TFN__QTALL, true);
    else if (tall) TFN__QN(tfn__quant_tile)(y, p, r, i, TFN__QTALL, false);
    else if (p->four) for (; t < rows; t++)
        tfn__quant_row_plain(y->c + t * TFN__QPANEL, p, r, i + t, true);
    else for (; t < rows; t++)
        tfn__quant_row_plain(y->c + t * TFN__QPANEL, p, r, i + t, false);
#endif
}

/* The product. Panels are the outer loop, so that weights are read once, while the rows stay in a
 * cache. Rows are processed QTALL at a time. */
static void TFN__QN(tfn__quant_product)(const tfn_quant_args *p, const tfn_quant_rows *r)
{
    tfn__quant_panel panel = tfn__quant_panel_of(p);
    for (ptrdiff_t j = 0; j < p->n; j += TFN__QPANEL) {
        const ptrdiff_t count = tfn__min(p->n - j, TFN__QPANEL);
        for (ptrdiff_t i = 0; i < p->m; i += TFN__QTALL) {
            const ptrdiff_t rows = tfn__min(p->m - i, TFN__QTALL);
            float y[TFN__QTALL * TFN__QPANEL];
            tfn__quant_chains at = { y, y, TFN__QPANEL, TFN__QPANEL };
            if (TFN__QW > 1 && count == TFN__QPANEL) {
                at.c = p->c + i * p->c_ld + j;
                at.start = tfn__at(p->start, i * p->start_ld + j);
                at.c_ld = p->c_ld;
                at.start_ld = p->start_ld;
                TFN__QN(tfn__quant_tiles)(&at, &panel, r, i, rows);
                continue;
            }
            tfn__quant_begin(y, p, i, rows, j, count);
            TFN__QN(tfn__quant_tiles)(&at, &panel, r, i, rows);
            tfn__quant_end(p, y, i, rows, j, count);
        }
        panel.q += panel.blocks * panel.bytes;
        panel.scales += panel.blocks * TFN__QPANEL;
    }
}

/* Converts n 16-bit numbers to floats. The compiler vectorizes these plain loops, except that gcc
 * does not find the F16 conversion of x86, hence QHALVES. That instruction makes signaling NaNs
 * quiet, so from the first NaN on the plain loop takes over. Thus the bits are the same
 * everywhere. */
static void TFN__QN(tfn__quant_halves)(float *y, const uint16_t *h, ptrdiff_t n, tfn_weights type)
{
    ptrdiff_t i = 0;
    if (type == TFN_WEIGHTS_BF16) {
        for (; i < n; i++) y[i] = tfn__from_bf16(h[i]);
        return;
    }
#ifdef TFN__QHALVES
    for (; i + TFN__QW <= n; i += TFN__QW) {
        const TFN__QF v = TFN__QHALVES(h + i);
        if (TFN__QNAN(v)) break;
        TFN__QFSTORE(y + i, v);
    }
#endif
    for (; i < n; i++) y[i] = tfn__from_f16(h[i]);
}

SHARED const tfn_quant_kernels TFN__QN(tfn__quant_kernels) = {
    TFN__QNAME, TFN__QID, TFN__QN(tfn__quant_rows), TFN__QN(tfn__quant_product),
    TFN__QN(tfn__quant_halves)
};
#undef TFN__QN
#undef TFN__QNAME
#undef TFN__QID
#undef TFN__QW
#undef TFN__QI
#undef TFN__QF
#undef TFN__QB
#undef TFN__QU
#undef TFN__QLOAD
#undef TFN__QHALF
#undef TFN__QLOW
#undef TFN__QHIGH
#undef TFN__QALL
#undef TFN__QEXTRA8
#undef TFN__QPREPARE8
#undef TFN__QPAIRS
#undef TFN__QLOWER
#undef TFN__QUPPER
#undef TFN__QDOT8
#undef TFN__QDOT4
#undef TFN__QSET
#undef TFN__QFLOAT
#undef TFN__QSCALE
#undef TFN__QFADD
#undef TFN__QFMUL
#undef TFN__QFSET
#undef TFN__QFLOADF
#undef TFN__QFSTORE
#undef TFN__QHALVES
#undef TFN__QNAN
