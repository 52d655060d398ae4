#ifndef TFN__MATH_H
#define TFN__MATH_H
#include "ground.h"

/* Scalar arithmetic whose bits do not depend on the machine: the fused multiply-add, conversions of
 * 16-bit floats, and exp, log, pow, sin and cos in double. Builds on ground.
 *
 * gcc defines __FP_FAST_FMAF if fmaf is an instruction. clang defines it for few processors, and
 * where functions set errno (on bare metal, for example) it calls libm's fmaf in spite of the
 * instruction. So with clang the LLVM intrinsic is called by its name. Without the instruction the
 * intrinsic, too, calls libm, hence this list of processors. */
#ifdef __clang__
#if defined __FMA__ || defined __aarch64__ || defined __ARM_FEATURE_FMA \
    || (defined __riscv_flen && __riscv_flen >= 32) || defined __powerpc64__ || defined __s390x__ \
    || (defined __loongarch_frlen && __loongarch_frlen >= 32) || defined __FP_FAST_FMAF
#define TFN__LLVM_FMA
#endif
#elif defined __FP_FAST_FMAF
#define TFN__GCC_FMA
#endif

/* Returns a*b + c, rounded once if that is an instruction. libm's fmaf is never used, because some
 * round halfway cases wrongly. Without the instruction TFNORM_EXACT computes it slowly but right:
 * the product is exact in double, and a sum rounded to odd may be rounded once more (Boldo &
 * Melquiond 2008). Otherwise it is rounded twice. */
#ifdef TFN__DOUBLE
#define TFN__PLAIN_FMA false
static TFN__INLINE float tfn__fma(float a, float b, float c) { return a*b + c; }
#else
static TFN__INLINE uint32_t tfn__to_bits(float x)
{
    uint32_t u;
    TFNORM_MEMCPY(&u, &x, sizeof u);
    return u;
}

static TFN__INLINE float tfn__from_bits(uint32_t u)
{
    float x;
    TFNORM_MEMCPY(&x, &u, sizeof x);
    return x;
}

#if TFN__PACKS
/* Returns the value of a BF16 number, which is the upper half of a float. */
static TFN__INLINE float tfn__from_bf16(uint16_t h) { return tfn__from_bits((uint32_t)h << 16); }

/* Returns the value of an IEEE half. A denormal half, m * 2^-24, is computed by a subtraction,
 * 2^-14 (1 + m/1024) - 2^-14. Selections replace branches, so that compilers can vectorize a loop
 * over this function. */
static TFN__INLINE float tfn__from_f16(uint16_t h)
{
    const uint32_t rest = (uint32_t)(h & 0x7fff) << 13;
    const float denormal = tfn__from_bits((113u << 23) + rest) - tfn__from_bits(113u << 23);
    uint32_t u = rest + (112u << 23);
    if (rest >= 31u << 23) u += 112u << 23;
    if (rest < 1u << 23) u = tfn__to_bits(denormal);
    return tfn__from_bits((uint32_t)(h & 0x8000) << 16 | u);
}
#endif

#if defined TFN__LLVM_FMA
#define TFN__PLAIN_FMA true
#ifdef __cplusplus
extern "C"
#endif
float tfn__llvm_fma(float a, float b, float c) __asm__("llvm.fma.f32");
static TFN__INLINE float tfn__fma(float a, float b, float c) { return tfn__llvm_fma(a, b, c); }
#elif defined TFN__GCC_FMA
#define TFN__PLAIN_FMA true
static TFN__INLINE float tfn__fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#elif defined TFNORM_EXACT
#define TFN__PLAIN_FMA true
static TFN__INLINE float tfn__fma(float a, float b, float c)
{
    const double product = (double)a * (double)b;
    double sum = product + (double)c;
    const double part = sum - product;                       /* the part of c that the sum has */
    const double lost = (product - (sum - part)) + ((double)c - part);
    uint64_t u;
    TFNORM_MEMCPY(&u, &sum, sizeof u);
    if (lost != 0 && lost == lost && u % 2 == 0) {           /* round to the odd neighbour */
        if ((lost > 0) == (sum > 0)) u++;
        else u--;
    }
    TFNORM_MEMCPY(&sum, &u, sizeof u);
    return (float)sum;
}
#else
#define TFN__PLAIN_FMA false
static TFN__INLINE float tfn__fma(float a, float b, float c) { return a*b + c; }
#endif
#endif

/* A denormal costs about 150 cycles on many processors, and functions that decay to 0 produce
 * them: in one model 0.7 % of the gradients after GELU were denormal and took three quarters of the
 * time. So such functions are exactly 0 below TFN__TAIL. It is far above the denormals, so that
 * products with small numbers stay normal, too. */
#define TFN__TAIL       ((float)8.67361737988403547e-19)       /* 2^-60 */
#define TFN__TAIL_LOG   ((float)42)                            /* slightly above 60 ln 2 */
#define TFN__TAIL_ROOT  ((float)9.31322574615478516e-10)       /* 2^-30 */
#define TFN__LEAST      ((float)7.88860905221011805e-31)       /* 2^-100, for averages */
#define TFN__LEAST_ROOT ((float)8.88178419700125232e-16)       /* 2^-50 */

/* Returns the double with the bits u. */
static TFN__INLINE double tfn__double_of(uint64_t u)
{
    double x;
    TFNORM_MEMCPY(&x, &u, sizeof x);
    return x;
}

/* Returns c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule. */
static inline double tfn__series(const double *c, int n, double x)
{
    double y = c[--n];
    while (n) y = y*x + c[--n];
    return y;
}

/* Returns the nearest integer; halves round away from 0. Needs |x| < 2^31. */
static inline int32_t tfn__round(double x)
{
    if (x < 0) return (int32_t)(x - 0.5);
    return (int32_t)(x + 0.5);
}

/* Returns 2^n. Needs -1022 <= n <= 1023. */
static inline double tfn__power2(int32_t n) { return tfn__double_of((uint64_t)(n + 1023) << 52); }

/* ln 2 in two parts. The first has 32 bits, so its product with a 21-bit integer is exact. */
#define TFN__LN2_HIGH 6.93147180369123816490e-01
#define TFN__LN2_LOW  1.90821492927058770002e-10

/* exp(n ln 2 + r) = 2^n exp(r), |r| <= ln(2)/2, by Taylor's series. 2^n is split into two factors,
 * because it is not a double itself if the result is denormal or just below infinity. */
static inline double tfn__exp(double x)
{
    static const double c[] = {
        1, 1, 1.0/2, 1.0/6, 1.0/24, 1.0/120, 1.0/720, 1.0/5040, 1.0/40320, 1.0/362880,
        1.0/3628800, 1.0/39916800, 1.0/479001600, 1.0/6227020800
    };
    int32_t n, half;
    double r;
    if (x <= -746) return 0;
    if (x > 710) x = 710;                         /* infinity */
    if (x != x) return x;
    n = tfn__round(x * 1.44269504088896340736);
    half = n / 2;
    r = (x - n * TFN__LN2_HIGH) - n * TFN__LN2_LOW;
    return tfn__series(c, 14, r) * tfn__power2(half) * tfn__power2(n - half);
}

/* Coefficients of the Taylor series of artanh(s)/s, sin(x)/x and cos(x), in powers of the
 * square. */
#define TFN__LOG_SERIES                                                                            \
    { 1, 1.0/3, 1.0/5, 1.0/7, 1.0/9, 1.0/11, 1.0/13, 1.0/15, 1.0/17, 1.0/19 }
#define TFN__SINE_SERIES                                                                           \
    { 1, -1.0/6, 1.0/120, -1.0/5040, 1.0/362880, -1.0/39916800, 1.0/6227020800,                    \
      -1.0/1307674368000, 1.0/355687428096000 }
#define TFN__COSINE_SERIES                                                                         \
    { 1, -1.0/2, 1.0/24, -1.0/720, 1.0/40320, -1.0/3628800, 1.0/479001600,                         \
      -1.0/87178291200, 1.0/20922789888000 }

/* log(2^n m) = n ln 2 + 2 artanh(s), s = (m-1)/(m+1), 1/sqrt(2) <= m < sqrt(2). n and m are the
 * exponent and the fraction of x's bits. */
static inline double tfn__log(double x)
{
    static const double c[] = TFN__LOG_SERIES;
    static const double halves[] = { 1, 0.5 };
    int32_t n = 0;
    uint64_t u;
    double m;
    double s;
    bool high;
    if (x < 0 || x != x) return (double)NAN;
    if (!(x > 0)) return -HUGE_VAL;
    if (x > 1.7976931348623157e308) return x;     /* infinity */
    if (x < 2.2250738585072014e-308) {            /* denormal */
        x *= 18014398509481984.0;                 /* 2^54 */
        n = -54;
    }
    TFNORM_MEMCPY(&u, &x, sizeof u);
    n += (int32_t)(u >> 52) - 1023;
    m = tfn__double_of((u & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
    high = m > 1.41421356237309504880;            /* no branch: it would be right half the time */
    m *= halves[high];
    n += high;
    s = (m - 1) / (m + 1);
    return n * TFN__LN2_HIGH + (2*s * tfn__series(c, 10, s*s) + n * TFN__LN2_LOW);
}

/* Returns x^y for x >= 0. 0^0 is 1. */
static inline double tfn__pow(double x, double y)
{
    if (y == 0) return 1;
    return tfn__exp(y * tfn__log(x));
}

/* pi/2 is the sum of the first three. HIGH and MIDDLE have 33 bits, so that n times each is exact
 * (Cody & Waite 1980). TFN__QUARTERS is 2/pi, and TFN__TURN is 2 pi/2^32. */
#define TFN__QUARTER_HIGH   1.57079632673412561417e+00
#define TFN__QUARTER_MIDDLE 6.07710050630396597660e-11
#define TFN__QUARTER_LOW    2.02226624879595063154e-21
#define TFN__QUARTERS       0.63661977236758134308
#define TFN__TURN           (6.28318530717958647693 / 4294967296.0)

/* Returns sin(x + turns pi/2) for |x| up to a million. The rest after n pi/2, |r| <= pi/4, goes
 * into Taylor's series of the sine, r (1 - ...), or of the cosine. Tables select it and the sign:
 * branches would be wrong half the time for random angles, and a first value of a weight would take
 * four times as long. */
static inline double tfn__sine(double x, int32_t turns)
{
    static const double odd[] = TFN__SINE_SERIES;
    static const double even[] = TFN__COSINE_SERIES;
    const double *const series[] = { odd, even };
    static const double signs[] = { 1, -1 };
    double factors[] = { 0, 1 };
    int32_t n;
    double a, b, r;
    if (!(x > -1e9 && x < 1e9)) return x - x;     /* NaN for NaN and infinity; huge x give 0 */
    n = tfn__round(x * TFN__QUARTERS);
    a = x - n * TFN__QUARTER_HIGH;
    b = n * TFN__QUARTER_MIDDLE;
    r = a - b;
    r += ((a - r) - b) - n * TFN__QUARTER_LOW;
    turns += n & 3;
    factors[0] = r;
    return signs[turns >> 1 & 1] * (factors[turns & 1] * tfn__series(series[turns & 1], 9, r*r));
}

static inline double tfn__sin(double x) { return tfn__sine(x, 0); }
static inline double tfn__cos(double x) { return tfn__sine(x, 1); }
#endif /* TFN__MATH_H */
