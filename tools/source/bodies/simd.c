/* The vector macros. The kernels are one body that is compiled once per instruction set: the header
 * includes itself with TFN__BODY and one TFN__USE_ macro defined. A new instruction set must define
 * these macros over one vector type. Plain C, at the end, shows with a vector of one float what
 * each computes.
 *
 *   N(name)           the name of this instance's function
 *   V, W              the vector type and its number of lanes
 *   LOAD, STORE       W floats at an address of any alignment
 *   LOADN, STOREN     only the first k lanes (0 <= k <= W). The other lanes are loaded as 0, and
 *                     their memory is neither read nor written
 *   SET, SETBITS      the same number, or the same 32 bits, in all lanes
 *   ADD SUB MUL DIV ROOT   each rounded once
 *   FMA(a, b, c)      a*b + c, rounded once, or twice where NO_FMA is defined
 *   MIN, MAX          b if either is NaN
 *   LESS(a, b, x, y)  x in the lanes where a < b, else y
 *   AND, OR           bitwise
 *   EXP2(t)           2^n, where t = n + 1.5 * 2^23, so that the low bits of t are n; or
 *   SCALE(r, n)       r * 2^n, rounded once (a set defines either of the two) */

#if defined TFN__USE_AVX512
#define TFN__N(name)         name##_avx512
#define TFN__ISA_NAME        "avx512"
#define TFN__ISA_ID          TFN_ISA_AVX512
#define TFN__W               16
#define TFN__V               __m512
#define TFN__LOAD(p)         _mm512_loadu_ps(p)
#define TFN__STORE(p, v)     _mm512_storeu_ps(p, v)
#define TFN__LOADN(p, k)     _mm512_maskz_loadu_ps((__mmask16)((1u << (k)) - 1u), p)
#define TFN__STOREN(p, v, k) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (k)) - 1u), v)
#define TFN__SET(x)          _mm512_set1_ps(x)
#define TFN__SETBITS(u)      _mm512_castsi512_ps(_mm512_set1_epi32((int)(u)))
#define TFN__ADD(a, b)       _mm512_add_ps(a, b)
#define TFN__SUB(a, b)       _mm512_sub_ps(a, b)
#define TFN__MUL(a, b)       _mm512_mul_ps(a, b)
#define TFN__DIV(a, b)       _mm512_div_ps(a, b)
#define TFN__FMA(a, b, c)    _mm512_fmadd_ps(a, b, c)
/* maskz with all lanes, because g++ warns of the plain forms that they "may be used uninitialized"
 * (GCC bug 105593). */
#define TFN__MIN(a, b)       _mm512_maskz_min_ps((__mmask16)0xffff, a, b)
#define TFN__MAX(a, b)       _mm512_maskz_max_ps((__mmask16)0xffff, a, b)
#define TFN__ROOT(a)         _mm512_maskz_sqrt_ps((__mmask16)0xffff, a)
#define TFN__LESS(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x)
#define TFN__BITS(a)         _mm512_castps_si512(a)
#define TFN__AND(a, b)       _mm512_castsi512_ps(_mm512_and_si512(TFN__BITS(a), TFN__BITS(b)))
#define TFN__OR(a, b)        _mm512_castsi512_ps(_mm512_or_si512(TFN__BITS(a), TFN__BITS(b)))
#define TFN__SCALE(r, n)     _mm512_maskz_scalef_ps((__mmask16)0xffff, r, n)
#define TFN__HALVES(h)       _mm256_loadu_si256((const __m256i *)(const void *)(h))
#define TFN__BF16(h)         _mm512_castsi512_ps(_mm512_maskz_slli_epi32((__mmask16)0xffff, \
    _mm512_maskz_cvtepu16_epi32((__mmask16)0xffff, TFN__HALVES(h)), 16))
#define TFN__F16(h)          _mm512_maskz_cvtph_ps((__mmask16)0xffff, TFN__HALVES(h))
#define TFN__BF16_LOW(v)     _mm512_castsi512_ps(_mm512_maskz_slli_epi32((__mmask16)0xffff, \
    TFN__BITS(v), 16))
#define TFN__F16_OF(i)       _mm512_maskz_cvtph_ps((__mmask16)0xffff, \
    _mm512_maskz_cvtepi32_epi16((__mmask16)0xffff, i))
#define TFN__F16_LOW(v)      TFN__F16_OF(TFN__BITS(v))
#define TFN__F16_HIGH(v)     TFN__F16_OF(_mm512_maskz_srli_epi32((__mmask16)0xffff, \
    TFN__BITS(v), 16))

/* AVX2 has no mask registers. Lane i of TFN__MASK(k) is all ones if i < k. */
#elif defined TFN__USE_AVX2
#define TFN__N(name)         name##_avx2
#define TFN__ISA_NAME        "avx2"
#define TFN__ISA_ID          TFN_ISA_AVX2
#define TFN__W               8
#define TFN__V               __m256
#define TFN__LOAD(p)         _mm256_loadu_ps(p)
#define TFN__STORE(p, v)     _mm256_storeu_ps(p, v)
#define TFN__MASK(k)         _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(k)), \
                                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define TFN__LOADN(p, k)     _mm256_maskload_ps(p, TFN__MASK(k))
#define TFN__STOREN(p, v, k) _mm256_maskstore_ps(p, TFN__MASK(k), v)
#define TFN__SET(x)          _mm256_set1_ps(x)
#define TFN__SETBITS(u)      _mm256_castsi256_ps(_mm256_set1_epi32((int)(u)))
#define TFN__ADD(a, b)       _mm256_add_ps(a, b)
#define TFN__SUB(a, b)       _mm256_sub_ps(a, b)
#define TFN__MUL(a, b)       _mm256_mul_ps(a, b)
#define TFN__DIV(a, b)       _mm256_div_ps(a, b)
#define TFN__FMA(a, b, c)    _mm256_fmadd_ps(a, b, c)
#define TFN__MIN(a, b)       _mm256_min_ps(a, b)
#define TFN__MAX(a, b)       _mm256_max_ps(a, b)
#define TFN__ROOT(a)         _mm256_sqrt_ps(a)
#define TFN__LESS(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ))
#define TFN__AND(a, b)       _mm256_and_ps(a, b)
#define TFN__OR(a, b)        _mm256_or_ps(a, b)
#define TFN__EXP2(t) _mm256_castsi256_ps(_mm256_add_epi32(             \
    _mm256_slli_epi32(_mm256_castps_si256(t), 23), _mm256_set1_epi32(0x3f800000)))
#define TFN__HALVES(h)       _mm_loadu_si128((const __m128i *)(const void *)(h))
#define TFN__BF16(h)         _mm256_castsi256_ps(_mm256_slli_epi32( \
    _mm256_cvtepu16_epi32(TFN__HALVES(h)), 16))
#define TFN__F16(h)          _mm256_cvtph_ps(TFN__HALVES(h))
#define TFN__BITS(a)         _mm256_castps_si256(a)
#define TFN__BF16_LOW(v)     _mm256_castsi256_ps(_mm256_slli_epi32(TFN__BITS(v), 16))
#define TFN__F16_OF(i)       _mm256_cvtph_ps(_mm256_castsi256_si128( \
    _mm256_permute4x64_epi64(_mm256_packus_epi32(i, i), 8)))
#define TFN__F16_LOW(v)      TFN__F16_OF(_mm256_and_si256(TFN__BITS(v), \
                                                          _mm256_set1_epi32(0xffff)))
#define TFN__F16_HIGH(v)     TFN__F16_OF(_mm256_srli_epi32(TFN__BITS(v), 16))

/* 128 bits: SSE2, which every x86-64 has, and the same with FMA3, which processors have since 2012.
 * SSE2 has no blend instruction, so LESS uses bitwise operations. */
#elif defined TFN__USE_SSE2 || defined TFN__USE_FMA128
#ifdef TFN__USE_FMA128
#define TFN__N(name)         name##_fma128
#define TFN__ISA_NAME        "fma128"
#define TFN__ISA_ID          TFN_ISA_FMA128
#define TFN__FMA(a, b, c)    _mm_fmadd_ps(a, b, c)
#else
#define TFN__N(name)         name##_sse2
#define TFN__ISA_NAME        "sse2"
#define TFN__ISA_ID          TFN_ISA_SSE2
#define TFN__FMA(a, b, c)    _mm_add_ps(_mm_mul_ps(a, b), c)
#define TFN__NO_FMA
#endif
#define TFN__W               4
#define TFN__V               __m128
#define TFN__LOAD(p)         _mm_loadu_ps(p)
#define TFN__STORE(p, v)     _mm_storeu_ps(p, v)
#define TFN__SET(x)          _mm_set1_ps(x)
#define TFN__SETBITS(u)      _mm_castsi128_ps(_mm_set1_epi32((int)(u)))
#define TFN__ADD(a, b)       _mm_add_ps(a, b)
#define TFN__SUB(a, b)       _mm_sub_ps(a, b)
#define TFN__MUL(a, b)       _mm_mul_ps(a, b)
#define TFN__DIV(a, b)       _mm_div_ps(a, b)
#define TFN__MIN(a, b)       _mm_min_ps(a, b)
#define TFN__MAX(a, b)       _mm_max_ps(a, b)
#define TFN__ROOT(a)         _mm_sqrt_ps(a)
#define TFN__LESS(a, b, x, y) _mm_or_ps(_mm_and_ps(_mm_cmplt_ps(a, b), x), \
                                        _mm_andnot_ps(_mm_cmplt_ps(a, b), y))
#define TFN__AND(a, b)       _mm_and_ps(a, b)
#define TFN__OR(a, b)        _mm_or_ps(a, b)
#define TFN__EXP2(t) _mm_castsi128_ps(_mm_add_epi32(                   \
    _mm_slli_epi32(_mm_castps_si128(t), 23), _mm_set1_epi32(0x3f800000)))

/* AArch64. MIN and MAX are selections, because vminq and vmaxq return NaN if either operand is. */
#elif defined TFN__USE_NEON
#define TFN__N(name)         name##_neon
#define TFN__ISA_NAME        "neon"
#define TFN__ISA_ID          TFN_ISA_NEON
#define TFN__W               4
#define TFN__V               float32x4_t
#define TFN__LOAD(p)         vld1q_f32(p)
#define TFN__STORE(p, v)     vst1q_f32(p, v)
#define TFN__SET(x)          vdupq_n_f32(x)
#define TFN__SETBITS(u)      vreinterpretq_f32_u32(vdupq_n_u32(u))
#define TFN__ADD(a, b)       vaddq_f32(a, b)
#define TFN__SUB(a, b)       vsubq_f32(a, b)
#define TFN__MUL(a, b)       vmulq_f32(a, b)
#define TFN__DIV(a, b)       vdivq_f32(a, b)
#define TFN__FMA(a, b, c)    vfmaq_f32(c, a, b)
#define TFN__MIN(a, b)       vbslq_f32(vcltq_f32(a, b), a, b)
#define TFN__MAX(a, b)       vbslq_f32(vcgtq_f32(a, b), a, b)
#define TFN__ROOT(a)         vsqrtq_f32(a)
#define TFN__LESS(a, b, x, y) vbslq_f32(vcltq_f32(a, b), x, y)
#define TFN__BITS(a)         vreinterpretq_u32_f32(a)
#define TFN__AND(a, b)       vreinterpretq_f32_u32(vandq_u32(TFN__BITS(a), TFN__BITS(b)))
#define TFN__OR(a, b)        vreinterpretq_f32_u32(vorrq_u32(TFN__BITS(a), TFN__BITS(b)))
#define TFN__EXP2(t)         vreinterpretq_f32_u32(vaddq_u32(vshlq_n_u32(TFN__BITS(t), 23), \
                                                             vdupq_n_u32(0x3f800000)))
#define TFN__BF16(h)         vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vld1_u16(h)), 16))
#define TFN__F16(h)          vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h)))
#define TFN__BF16_LOW(v)     vreinterpretq_f32_u32(vshlq_n_u32(TFN__BITS(v), 16))
#define TFN__F16_LOW(v)      vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(TFN__BITS(v))))
#define TFN__F16_HIGH(v)     vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(TFN__BITS(v), 16)))

/* WebAssembly. The engine decides whether a relaxed multiply-add rounds once or twice, and must
 * always do the same. On a processor with FMA it is that instruction; tfn_bits tests it. SIMD
 * without the relaxed extension has no fused multiply-add. */
#elif defined TFN__USE_WASM
#define TFN__N(name)         name##_wasm
#define TFN__ISA_NAME        "wasm"
#define TFN__ISA_ID          TFN_ISA_WASM
#ifdef __wasm_relaxed_simd__
#define TFN__FMA(a, b, c)    wasm_f32x4_relaxed_madd(a, b, c)
#else
#define TFN__FMA(a, b, c)    wasm_f32x4_add(wasm_f32x4_mul(a, b), c)
#define TFN__NO_FMA
#endif
#define TFN__W               4
#define TFN__V               v128_t
#define TFN__LOAD(p)         wasm_v128_load(p)
#define TFN__STORE(p, v)     wasm_v128_store(p, v)
#define TFN__SET(x)          wasm_f32x4_splat(x)
#define TFN__SETBITS(u)      wasm_i32x4_splat((int32_t)(u))
#define TFN__ADD(a, b)       wasm_f32x4_add(a, b)
#define TFN__SUB(a, b)       wasm_f32x4_sub(a, b)
#define TFN__MUL(a, b)       wasm_f32x4_mul(a, b)
#define TFN__DIV(a, b)       wasm_f32x4_div(a, b)
#define TFN__MIN(a, b)       wasm_v128_bitselect(a, b, wasm_f32x4_lt(a, b))
#define TFN__MAX(a, b)       wasm_v128_bitselect(a, b, wasm_f32x4_gt(a, b))
#define TFN__ROOT(a)         wasm_f32x4_sqrt(a)
#define TFN__LESS(a, b, x, y) wasm_v128_bitselect(x, y, wasm_f32x4_lt(a, b))
#define TFN__AND(a, b)       wasm_v128_and(a, b)
#define TFN__OR(a, b)        wasm_v128_or(a, b)
#define TFN__EXP2(t)         wasm_i32x4_add(wasm_i32x4_shl(t, 23), wasm_i32x4_splat(0x3f800000))

/* Plain C: the reference that the tests compare all others with. */
#else
#define TFN__N(name)         name##_plain
#define TFN__ISA_NAME        "plain"
#define TFN__ISA_ID          TFN_ISA_PLAIN
#define TFN__W               1
#define TFN__V               float
#define TFN__LOAD(p)         (*(p))
#define TFN__STORE(p, v)     (*(p) = (v))
#define TFN__LOADN(p, k)     TFN__N(tfn__loadn)(p, k)
#define TFN__STOREN(p, v, k) do { if ((k) > 0) *(p) = (v); } while (0)
#define TFN__SET(x)          (x)
#define TFN__SETBITS(u)      tfn__from_bits(u)
#define TFN__ADD(a, b)       ((a) + (b))
#define TFN__SUB(a, b)       ((a) - (b))
#define TFN__MUL(a, b)       ((a) * (b))
#define TFN__DIV(a, b)       ((a) / (b))
#define TFN__FMA(a, b, c)    tfn__fma(a, b, c)
#define TFN__MIN(a, b)       ((a) < (b) ? (a) : (b))
#define TFN__MAX(a, b)       ((a) > (b) ? (a) : (b))
#define TFN__ROOT(a)         TFN__SQRT(a)
#define TFN__LESS(a, b, x, y) ((a) < (b) ? (x) : (y))
#define TFN__AND(a, b)       tfn__from_bits(tfn__to_bits(a) & tfn__to_bits(b))
#define TFN__OR(a, b)        tfn__from_bits(tfn__to_bits(a) | tfn__to_bits(b))
#define TFN__EXP2(t)         tfn__from_bits((tfn__to_bits(t) << 23) + 0x3f800000u)
#endif

/* TFNORM_EXACT: vector sets without FMA multiply and add lane by lane, in software, with one
 * rounding. Code without fused multiply-adds is as fast as before: most of softmax, the elementwise
 * parts of norms, and the integer products of quantized weights. */
#if defined TFN__NO_FMA && defined TFNORM_EXACT
#undef TFN__NO_FMA
#undef TFN__FMA
#define TFN__FMA(a, b, c)    TFN__N(tfn__exact_fma)(a, b, c)
static TFN__APART TFN__V TFN__N(tfn__exact_fma)(TFN__V a, TFN__V b, TFN__V c)
{
    float x[TFN__W];
    float y[TFN__W];
    float z[TFN__W];
    TFN__STORE(x, a);
    TFN__STORE(y, b);
    TFN__STORE(z, c);
    for (int i = 0; i < TFN__W; i++) z[i] = tfn__fma(x[i], y[i], z[i]);
    return TFN__LOAD(z);
}
#endif

#if TFN__W == 1
static TFN__INLINE float TFN__N(tfn__loadn)(const float *p, ptrdiff_t k)
{
    if (k > 0) return *p;
    return 0;
}
#elif !defined TFN__LOADN      /* 128-bit sets have no masked access, so they use a copy */
#define TFN__LOADN(p, k)     TFN__N(tfn__loadn)(p, k)
#define TFN__STOREN(p, v, k) TFN__N(tfn__storen)(p, v, k)
static TFN__APART TFN__V TFN__N(tfn__loadn)(const float *p, ptrdiff_t k)
{
    float t[TFN__W] = { 0 };
    for (ptrdiff_t i = 0; i < k; i++) t[i] = p[i];
    return TFN__LOAD(t);
}
static TFN__APART void TFN__N(tfn__storen)(float *p, TFN__V v, ptrdiff_t k)
{
    float t[TFN__W];
    TFN__STORE(t, v);
    for (ptrdiff_t i = 0; i < k; i++) p[i] = t[i];
}
#endif

/* For transposing 4 columns of W rows, in groups of four lanes (see tfn__transpose4 in dense):
 *
 *   QLOAD(s, p)       four floats from each of s[0] + p, s[4] + p, s[8] + p ..., in this order
 *   ZIPLO(a, b)       a0 b0 a1 b1, within each group of four lanes of a and b
 *   ZIPHI(a, b)       a2 b2 a3 b3, likewise */
#if defined TFN__X86
#define TFN__QUARTER(p)   _mm_loadu_ps((const float *)(const void *)(p))
#endif
#if defined TFN__USE_AVX512
#define TFN__QROW(s, p, i, v) \
    _mm512_maskz_insertf32x4((__mmask16)0xffff, v, TFN__QUARTER((s)[4*(i)] + (p)), i)
#define TFN__QLOAD(s, p)  TFN__QROW(s, p, 3, TFN__QROW(s, p, 2, TFN__QROW(s, p, 1, \
    TFN__QROW(s, p, 0, _mm512_setzero_ps()))))
#define TFN__ZIPLO(a, b)  _mm512_maskz_unpacklo_ps((__mmask16)0xffff, a, b)
#define TFN__ZIPHI(a, b)  _mm512_maskz_unpackhi_ps((__mmask16)0xffff, a, b)
#elif defined TFN__USE_AVX2
#define TFN__QLOAD(s, p)  _mm256_insertf128_ps( \
    _mm256_castps128_ps256(TFN__QUARTER((s)[0] + (p))), TFN__QUARTER((s)[4] + (p)), 1)
#define TFN__ZIPLO(a, b)  _mm256_unpacklo_ps(a, b)
#define TFN__ZIPHI(a, b)  _mm256_unpackhi_ps(a, b)
#elif defined TFN__X86 && TFN__W > 1
#define TFN__QLOAD(s, p)  TFN__QUARTER((s)[0] + (p))
#define TFN__ZIPLO(a, b)  _mm_unpacklo_ps(a, b)
#define TFN__ZIPHI(a, b)  _mm_unpackhi_ps(a, b)
#elif defined TFN__USE_NEON
#define TFN__QLOAD(s, p)  vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)((s)[0] + (p))))
#define TFN__ZIPLO(a, b)  vzip1q_f32(a, b)
#define TFN__ZIPHI(a, b)  vzip2q_f32(a, b)
#elif defined TFN__USE_WASM
#define TFN__QLOAD(s, p)  wasm_v128_load((s)[0] + (p))
#define TFN__ZIPLO(a, b)  wasm_i32x4_shuffle(a, b, 0, 4, 1, 5)
#define TFN__ZIPHI(a, b)  wasm_i32x4_shuffle(a, b, 2, 6, 3, 7)
#endif

/* An elementwise loop is written once, for whole vectors and for the tail:
 *
 *   TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__MUL(s, TFN__GET(x + i, k)), k);
 *
 * k is the number of lanes in this step, at most W. The compiler makes a fast path for k == W. */
#define TFN__GET(p, k)    ((k) == TFN__W ? TFN__LOAD(p) : TFN__LOADN(p, k))
#define TFN__PUT(p, v, k) \
    do { if ((k) == TFN__W) TFN__STORE(p, v); else TFN__STOREN(p, v, k); } while (0)
#define TFN__EACH(i, k, n)                                                                     \
    for (ptrdiff_t i = 0, k; (k = tfn__min((n) - i, TFN__W)) > 0; i += TFN__W)

/* Sums have the same order on all machines. Term i is added to lane i mod 16; 16/W vectors hold the
 * 16 lanes. A fixed tree adds the lanes: lane i + lane i+8, then +4, +2, +1. Missing terms of the
 * last block add +0, which changes no sum. */
#define TFN__LANES (16 / TFN__W)
static TFN__INLINE float TFN__N(tfn__tree)(const TFN__V *acc)
{
    float t[16];
    for (int i = 0; i < TFN__LANES; i++) TFN__STORE(t + i*TFN__W, acc[i]);
    for (int i = 0; i < 8; i++) t[i] += t[i + 8];
    for (int i = 0; i < 4; i++) t[i] += t[i + 4];
    return (t[0] + t[2]) + (t[1] + t[3]);
}
