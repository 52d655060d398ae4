/* Elementary functions of vectors, sums over rows, and dropout. The coefficients are from Remez's
 * algorithm (tools/fit.py). The largest errors, measured over all floats in ULP: exp 0.90, tanh
 * 1.37, erf 1.12; without FMA exp 1.17, tanh 1.37, erf 1.33. The double build uses libm.
 *
 * Functions that decay to 0 (the exp of a softmax, the logistic function, derivatives) are exactly
 * 0 below TFN__TAIL, and no intermediate result is denormal. The public exp has its full range. */

/* Returns x limited to low .. high. NaN stays NaN, because MIN and MAX return their second
 * operand if either is NaN. */
static TFN__INLINE TFN__V TFN__N(tfn__vlimit)(TFN__V x, float low, float high)
{
    return TFN__MAX(TFN__SET(low), TFN__MIN(TFN__SET(high), x));
}

#ifdef TFN__DOUBLE
static TFN__INLINE TFN__V TFN__N(tfn__vabs)(TFN__V x)  { return fabs(x); }
static TFN__INLINE TFN__V TFN__N(tfn__vexp)(TFN__V x)  { return exp(x); }
static TFN__INLINE TFN__V TFN__N(tfn__vexp_near)(TFN__V x)
{
    return exp(TFN__N(tfn__vlimit)(x, -TFN__TAIL_LOG, TFN__TAIL_LOG));
}
static TFN__INLINE TFN__V TFN__N(tfn__vtanh)(TFN__V x) { return tanh(x); }
static TFN__INLINE TFN__V TFN__N(tfn__verf)(TFN__V x)  { return erf(x); }
#else
/* Returns c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule. */
static TFN__INLINE TFN__V TFN__N(tfn__vseries)(const float *c, int n, TFN__V x)
{
    TFN__V y = TFN__SET(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) y = TFN__FMA(y, x, TFN__SET(c[i]));
    return y;
}

/* 1.5 * 2^23. Floats around it are 1 apart, so adding it rounds x to an integer n, and the low bits
 * of the sum are n. Subtracting it again leaves n as a float. */
#define TFN__MAGIC TFN__SET((float)12582912)

static TFN__INLINE TFN__V TFN__N(tfn__vabs)(TFN__V x)
{
    return TFN__AND(x, TFN__SETBITS(0x7fffffffu));
}

/* exp(n ln 2 + r) = 2^n (1 + r + r^2 q(r)), |r| <= ln(2)/2. Returns the factor of 2^n, and in *t
 * n + magic. ln 2 is split into two parts so that n times the first is exact. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp_part)(TFN__V x, TFN__V *t)
{
    static const float c[] = {
        1, 1, (float)0.49999994, (float)0.166665167, (float)0.0416681059, (float)0.00836914126,
        (float)0.00138367398
    };
    TFN__V n, r;
    *t = TFN__FMA(x, TFN__SET((float)1.44269504), TFN__MAGIC);
    n = TFN__SUB(*t, TFN__MAGIC);
    r = TFN__FMA(n, TFN__SET((float)-0.693145752), x);
    r = TFN__FMA(n, TFN__SET((float)-1.42860677e-6), r);
    return TFN__N(tfn__vseries)(c, 7, r);
}

/* exp(x). 2^n is split into two factors, so that neither leaves the range of floats if the result
 * is denormal or infinite. At the limits the result is already 0 or infinity. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp)(TFN__V x)
{
    TFN__V t, r = TFN__N(tfn__vexp_part)(TFN__N(tfn__vlimit)(x, (float)-104, (float)89), &t);
    const TFN__V n = TFN__SUB(t, TFN__MAGIC);
#ifdef TFN__SCALE
    return TFN__SCALE(r, n);
#else
    t = TFN__FMA(n, TFN__SET((float)0.5), TFN__MAGIC);
    r = TFN__MUL(r, TFN__EXP2(t));
    t = TFN__SUB(n, TFN__SUB(t, TFN__MAGIC));
    return TFN__MUL(r, TFN__EXP2(TFN__ADD(t, TFN__MAGIC)));
#endif
}

/* exp(x) with |x| limited to TFN__TAIL_LOG, which is always a normal number. Within the limit it
 * has the same bits as exp. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp_near)(TFN__V x)
{
    TFN__V t, r;
    x = TFN__N(tfn__vlimit)(x, -TFN__TAIL_LOG, TFN__TAIL_LOG);
    r = TFN__N(tfn__vexp_part)(x, &t);
#ifdef TFN__SCALE
    return TFN__SCALE(r, TFN__SUB(t, TFN__MAGIC));
#else
    return TFN__MUL(r, TFN__EXP2(t));
#endif
}

/* Returns y >= 0 with the sign of x. */
static TFN__INLINE TFN__V TFN__N(tfn__vsign)(TFN__V x, TFN__V y)
{
    return TFN__OR(y, TFN__AND(x, TFN__SETBITS(0x80000000u)));
}

/* tanh is odd. With a = |x|, s = x^2: near 0 it is a + a s q(s), elsewhere 1 - 2/(exp(2a) + 1),
 * which would cancel near 0. Both are computed, and each lane selects one. */
static TFN__INLINE TFN__V TFN__N(tfn__vtanh)(TFN__V x)
{
    static const float c[] = {
        (float)-0.333332807, (float)0.133314058, (float)-0.0537365153, (float)0.0206281673,
        (float)-0.00569229666
    };
    const TFN__V one = TFN__SET(1);
    const TFN__V a = TFN__N(tfn__vabs)(x);
    const TFN__V s = TFN__MUL(x, x);
    const TFN__V e = TFN__N(tfn__vexp_near)(TFN__ADD(a, a));
    const TFN__V inner = TFN__FMA(TFN__MUL(a, s), TFN__N(tfn__vseries)(c, 5, s), a);
    const TFN__V outer = TFN__SUB(one, TFN__DIV(TFN__SET(2), TFN__ADD(e, one)));
    return TFN__N(tfn__vsign)(x, TFN__LESS(a, TFN__SET((float)0.625), inner, outer));
}

/* erf is odd. With a = |x|, s = x^2: below 1 it is a + a q(s), elsewhere 1 - exp(m d(m) - m) with
 * m = min(a, 4), because from 4 on erf rounds to 1. */
static TFN__INLINE TFN__V TFN__N(tfn__verf)(TFN__V x)
{
    static const float c[] = {
        (float)0.128379166, (float)-0.37612626, (float)0.112835787, (float)-0.0268533472,
        (float)0.0051871622, (float)-0.00079978531, (float)7.80690316e-05
    };
    static const float d[] = {
        (float)-0.128480017, (float)-0.635831535, (float)-0.105116092, (float)0.0227984507,
        (float)-0.00318694627, (float)0.000210642567
    };
    const TFN__V one = TFN__SET(1);
    const TFN__V a = TFN__N(tfn__vabs)(x);
    const TFN__V s = TFN__MUL(x, x);
    const TFN__V m = TFN__MIN(TFN__SET(4), a);
    const TFN__V inner = TFN__FMA(a, TFN__N(tfn__vseries)(c, 7, s), a);
    const TFN__V t = TFN__SUB(TFN__MUL(m, TFN__N(tfn__vseries)(d, 6, m)), m);
    const TFN__V outer = TFN__SUB(one, TFN__N(tfn__vexp_near)(t));
    return TFN__N(tfn__vsign)(x, TFN__LESS(a, one, inner, outer));
}
#undef TFN__MAGIC
#endif

/* exp(x) for x <= 0, or exactly 0 if it is below TFN__TAIL. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp_tail)(TFN__V x)
{
    const TFN__V e = TFN__N(tfn__vexp_near)(x);
    return TFN__LESS(e, TFN__SET(TFN__TAIL), TFN__SET(0), e);
}

/* Returns v, a multiple of the logistic function 1/(1 + e), or exactly 0 if that function is below
 * TFN__TAIL. */
static TFN__INLINE TFN__V TFN__N(tfn__vlogistic_tail)(TFN__V v, TFN__V e)
{
    return TFN__LESS(TFN__SET(1 / TFN__TAIL), e, TFN__SET(0), v);
}

/* y / (1 + exp(-x)), which is y times the logistic function of x. */
static TFN__INLINE TFN__V TFN__N(tfn__vlogistic)(TFN__V y, TFN__V x)
{
    const TFN__V e = TFN__N(tfn__vexp_near)(TFN__SUB(TFN__SET(0), x));
    return TFN__N(tfn__vlogistic_tail)(TFN__DIV(y, TFN__ADD(TFN__SET(1), e)), e);
}

/* Returns x, or exactly 0 if |x| is below `least`. */
static TFN__INLINE TFN__V TFN__N(tfn__vcut)(TFN__V x, float least)
{
    return TFN__LESS(TFN__N(tfn__vabs)(x), TFN__SET(least), TFN__SET(0), x);
}

/* Stores k lanes of v at y, or adds them if `add`. Kernels write gradients with this: the plan
 * makes the first writer of a gradient store it, and the others add. */
static TFN__INLINE void TFN__N(tfn__store_or_add)(float *y, TFN__V v, ptrdiff_t k, bool add)
{
    if (add) v = TFN__ADD(TFN__GET(y, k), v);
    TFN__PUT(y, v, k);
}

/* y = f(x) for n numbers, where f handles only whole vectors. The rest goes through a copy, so that
 * the code of f exists once. y may be x. Activations use `kind`; other functions ignore it. */
#if TFN__W == 1
#define TFN__WITH_REST(f, y, x, n, kind) f(y, x, n, kind)
#else
#define TFN__WITH_REST(f, y, x, n, kind) TFN__N(tfn__with_rest)(f, y, x, n, kind)
static void TFN__N(tfn__with_rest)(void (*f)(float *y, const float *x, ptrdiff_t n,
                                             tfn_activation_kind kind),
                                   float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind)
{
    const ptrdiff_t left = n % TFN__W;
    float last[TFN__W];
    f(y, x, n - left, kind);
    if (left == 0) return;
    TFN__STORE(last, TFN__LOADN(x + n - left, left));
    f(last, last, TFN__W, kind);
    TFN__STOREN(y + n - left, TFN__LOAD(last), left);
}
#endif

/* The elementary functions of the public table, first for whole vectors (n a multiple of W), then
 * for any n. They do not use TFN__EACH, because compilers would expand its body twice, once for
 * whole vectors and once for the rest, and these bodies are long: erf has two polynomials and an
 * exp. The rest of a row costs as much as a whole vector, as it would with masks. */
static void TFN__N(tfn__exps)(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind)
{
    (void)kind;
    for (; n > 0; n -= TFN__W, x += TFN__W, y += TFN__W)
        TFN__STORE(y, TFN__N(tfn__vexp)(TFN__LOAD(x)));
}
static void TFN__N(tfn__tanhs)(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind)
{
    (void)kind;
    for (; n > 0; n -= TFN__W, x += TFN__W, y += TFN__W)
        TFN__STORE(y, TFN__N(tfn__vtanh)(TFN__LOAD(x)));
}
static void TFN__N(tfn__erfs)(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind)
{
    (void)kind;
    for (; n > 0; n -= TFN__W, x += TFN__W, y += TFN__W)
        TFN__STORE(y, TFN__N(tfn__verf)(TFN__LOAD(x)));
}
static void TFN__N(tfn__exp)(float *y, const float *x, ptrdiff_t n)
{
    TFN__WITH_REST(TFN__N(tfn__exps), y, x, n, TFN_ACTIVATION_IDENTITY);
}
static void TFN__N(tfn__tanh)(float *y, const float *x, ptrdiff_t n)
{
    TFN__WITH_REST(TFN__N(tfn__tanhs), y, x, n, TFN_ACTIVATION_IDENTITY);
}
static void TFN__N(tfn__erf)(float *y, const float *x, ptrdiff_t n)
{
    TFN__WITH_REST(TFN__N(tfn__erfs), y, x, n, TFN_ACTIVATION_IDENTITY);
}

/* The loop of a sum, in blocks of 16 terms. The body gets the index i of a vector, its number of
 * lanes k, and the number l of its accumulator. The body is expanded twice: for whole blocks, where
 * k is constant, and for the last block. A single loop would keep the accumulators in memory. */
#define TFN__EACH16(l, i, k, n, ...)                                                           \
    do {                                                                                       \
        ptrdiff_t i = 0;                                                                       \
        for (const ptrdiff_t k = TFN__W; i + 16 <= (n);)                                       \
            for (int l = 0; l < TFN__LANES; l++, i += TFN__W) __VA_ARGS__                      \
        for (int l = 0; i < (n); l++, i += TFN__W) {                                           \
            const ptrdiff_t k = tfn__min((n) - i, TFN__W);                                     \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    } while (0)

static TFN__INLINE void TFN__N(tfn__zero_lanes)(TFN__V *acc)
{
    for (int l = 0; l < TFN__LANES; l++) acc[l] = TFN__SET(0);
}

/* Returns v with all lanes from k on set to +0, so that the exp of missing lanes is not summed. */
static TFN__INLINE TFN__V TFN__N(tfn__first_lanes)(TFN__V v, ptrdiff_t k)
{
    float t[TFN__W];
    if (k == TFN__W) return v;
    TFN__STORE(t, v);
    return TFN__LOADN(t, k);
}

/* Return the sum of x, and of x*y, over a row. */
static TFN__APART float TFN__N(tfn__row_sum)(const float *x, ptrdiff_t n)
{
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, { acc[l] = TFN__ADD(acc[l], TFN__GET(x + i, k)); });
    return TFN__N(tfn__tree)(acc);
}

static TFN__APART float TFN__N(tfn__row_dot)(const float *x, const float *y, ptrdiff_t n)
{
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        acc[l] = TFN__ADD(acc[l], TFN__MUL(TFN__GET(x + i, k), TFN__GET(y + i, k)));
    });
    return TFN__N(tfn__tree)(acc);
}

static TFN__INLINE float TFN__N(tfn__greater)(float a, float b)
{
    if (b > a) return b;
    return a;
}

/* Return the largest of 16 lanes, and of n >= 1 values. They may skip a NaN. It is not lost,
 * because a sum of exponentials always follows, and becomes NaN. */
static TFN__INLINE float TFN__N(tfn__largest)(const TFN__V *acc)
{
    float t[16];
    for (int l = 0; l < TFN__LANES; l++) TFN__STORE(t + l*TFN__W, acc[l]);
    for (int l = 0; l < 8; l++) t[l] = TFN__N(tfn__greater)(t[l], t[l + 8]);
    for (int l = 0; l < 4; l++) t[l] = TFN__N(tfn__greater)(t[l], t[l + 4]);
    for (int l = 0; l < 2; l++) t[l] = TFN__N(tfn__greater)(t[l], t[l + 2]);
    return TFN__N(tfn__greater)(t[0], t[1]);
}

static TFN__APART float TFN__N(tfn__row_max)(const float *x, ptrdiff_t n)
{
    TFN__V acc[TFN__LANES];
    float max;
    ptrdiff_t i = 0;
    for (int l = 0; l < TFN__LANES; l++) acc[l] = TFN__SET(x[0]);
    for (; i + 16 <= n;)
        for (int l = 0; l < TFN__LANES; l++, i += TFN__W)
            acc[l] = TFN__MAX(TFN__LOAD(x + i), acc[l]);
    max = TFN__N(tfn__largest)(acc);
    for (; i < n; i++) max = TFN__N(tfn__greater)(max, x[i]);
    return max;
}

/* The numerators and the denominator of a softmax: y = exp(x - max), or 0 below TFN__TAIL. Returns
 * the sum of y. y may be x, or NULL if only the sum is needed. */
static TFN__APART float TFN__N(tfn__row_exp_sum)(float *y, const float *x, ptrdiff_t n, float max)
{
    const TFN__V m = TFN__SET(max);
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V e = TFN__N(tfn__vexp_tail)(TFN__SUB(TFN__GET(x + i, k), m));
        if (y) TFN__PUT(y + i, e, k);
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(e, k));
    });
    return TFN__N(tfn__tree)(acc);
}

/* Fills factor[] for the elements first .. first + count - 1 with `scale` (kept) or 0 (dropped).
 * Each 2^20 elements share one draw of the generator; the range must not cross into the next draw.
 * Within a draw a 32-bit mixer with two multiplications scrambles the index (Wellons's lowbias32
 * without its last step). An element is kept if the upper 31 bits are at least p * 2^31. The inner
 * loop always does 16 elements, so factor[] must have room for a multiple of 16. */
static TFN__INLINE void TFN__N(tfn__dropout_factors)(float *factor, ptrdiff_t count, tfn_key key,
                                                     uint64_t first, int32_t least, float scale)
{
    const uint64_t draw = tfn_random_bits(key, first >> 20);
    const uint32_t low = (uint32_t)draw;
    const uint32_t high = (uint32_t)(draw >> 32);
    const uint32_t start = (uint32_t)(first & 0xfffff);
    for (ptrdiff_t at = 0; at < count; at += 16)
        for (ptrdiff_t i = at; i < at + 16; i++) {
            uint32_t h = low ^ (start + (uint32_t)i);
            h = (h ^ h >> 16) * 0x7feb352du + high;
            h = (h ^ h >> 15) * 0x846ca68bu;
            factor[i] = (int32_t)(h >> 1) >= least ? scale : 0;
        }
}

/* Dropout (Srivastava 2014): y = x/(1-p) where the mask keeps x, else 0. y may be x. The mask is
 * never stored: the backward is this kernel on the gradient, and draws the mask again. A dropped
 * element is 0 even if x is infinite or NaN. */
static TFN__APART void TFN__N(tfn__dropout)(float *y, const float *x, ptrdiff_t n, float p,
                                            tfn_key key, uint64_t first, bool add)
{
    const TFN__V zero = TFN__SET(0);
    int32_t least = INT32_MAX;                    /* p = 1 drops everything */
    float scale = 0;
    float factor[256];
    if (p < 1) {
        least = 0;
        if (p > 0) least = (int32_t)((double)p * 2147483648.0);
        scale = 1 / (1 - p);
    }
    for (ptrdiff_t count; n > 0; n -= count, x += count, y += count, first += (uint64_t)count) {
        const ptrdiff_t same_draw = (ptrdiff_t)(0x100000 - (first & 0xfffff));
        count = tfn__min(tfn__min(n, 256), same_draw);
        TFN__N(tfn__dropout_factors)(factor, count, key, first, least, scale);
        TFN__EACH(i, k, count) {
            const TFN__V f = TFN__GET(factor + i, k);
            const TFN__V v = TFN__MUL(TFN__GET(x + i, k), f);
            TFN__N(tfn__store_or_add)(y + i, TFN__LESS(zero, f, v, zero), k, add);
        }
    }
}

/* Rounds x to the nearest IEEE half, ties to even; from 65520 on it becomes infinite. `large` is
 * 2^13 times the power of two at or below |x|, which counts as 2^-14, the least normal half, if
 * smaller. Near `large` floats are 2^-10 of that power apart, so adding it rounds |x|, and
 * subtracting it is exact. NaN stays NaN. */
static void TFN__N(tfn__round_to_half)(float *x, ptrdiff_t n)
{
#ifdef TFN__DOUBLE
    (void)x;
    (void)n;
#else
    const TFN__V most = TFN__SET((float)65519.996);         /* the last float below 65520 */
    const TFN__V infinity = TFN__SETBITS(0x7f800000u);
    const TFN__V least = TFN__SETBITS(0x38800000u);         /* 2^-14 */
    TFN__EACH(i, k, n) {
        const TFN__V v = TFN__GET(x + i, k);
        const TFN__V a = TFN__N(tfn__vabs)(v);
        const TFN__V large = TFN__MUL(TFN__MAX(TFN__AND(a, infinity), least), TFN__SET(8192));
        const TFN__V rounded = TFN__SUB(TFN__ADD(a, large), large);
        TFN__PUT(x + i, TFN__N(tfn__vsign)(v, TFN__LESS(most, a, infinity, rounded)), k);
    }
#endif
}
