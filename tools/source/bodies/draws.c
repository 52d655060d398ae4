/* Random numbers for initial weights. Section simd has no macros for doubles, so compilers must
 * vectorize these loops: they have a constant length, no branches and no calls. Sets with narrow
 * vectors draw one number at a time, because two doubles in a vector gain nothing. */

#if TFN__W >= 8
/* Draws computed at a time. */
#define TFN__DRAWS 64

/* 2^52. A double of this size has the bits of an integer below 2^52 as its fraction. */
#define TFN__TWO_52 4503599627370496.0

/* Returns the integer u < 2^52 as a double. */
static TFN__INLINE double TFN__N(tfn__whole)(uint64_t u)
{
    return tfn__double_of(u | UINT64_C(0x433) << 52) - TFN__TWO_52;
}

static TFN__INLINE uint64_t TFN__N(tfn__double_bits)(double x)
{
    uint64_t u;
    TFNORM_MEMCPY(&u, &x, sizeof u);
    return u;
}

/* Same as tfn__series, unrolled so that the loop around it can be vectorized. */
static TFN__INLINE double TFN__N(tfn__each_series)(const double *c, const int n, double x)
{
    double y = c[n - 1];
    TFN__UNROLL
    for (int i = n - 2; i >= 0; i--) y = y*x + c[i];
    return y;
}

/* Computes the next block of draws of a key. x is key + (index + 1) * TFN__GOLDEN. */
static TFN__NOINLINE void TFN__N(tfn__draw_bits)(uint64_t *bits, uint64_t x)
{
    for (int i = 0; i < TFN__DRAWS; i++) bits[i] = tfn__mix(x + (uint64_t)i * TFN__GOLDEN);
}

/* y = -2 ln u, where u = (upper half of a draw + 1/2)/2^32, with the operations of tfn__log. `high`
 * is 1 if the fraction is above that of sqrt(2): the sum carries into bit 52. Then m is halved, and
 * n is one more. */
static TFN__NOINLINE void TFN__N(tfn__draw_logs)(float *y, const uint64_t *bits)
{
    static const double c[] = TFN__LOG_SERIES;
    const uint64_t fraction = (UINT64_C(1) << 52) - 1;
    for (int i = 0; i < TFN__DRAWS; i++) {
        const uint64_t x = TFN__N(tfn__double_bits)((TFN__N(tfn__whole)(bits[i] >> 32) + 0.5)
                                                    / 4294967296.0);
        const uint64_t high = ((x & fraction) + (fraction - UINT64_C(0x6a09e667f3bcd))) >> 52;
        const double n = TFN__N(tfn__whole)((x >> 52) + high) - 1023;
        const double m = tfn__double_of((x & fraction) | (1023 - high) << 52);
        const double s = (m - 1) / (m + 1);
        const double rest = 2*s * TFN__N(tfn__each_series)(c, 10, s*s) + n * TFN__LN2_LOW;
        y[i] = (float)(-2 * (n * TFN__LN2_HIGH + rest));
    }
}

/* y = cos(2 pi v), where v = lower half of a draw / 2^32, with the operations of tfn__cos. Computes
 * both series and selects the bits of one. */
static TFN__NOINLINE void TFN__N(tfn__draw_cosines)(float *y, const uint64_t *bits)
{
    static const double odd[] = TFN__SINE_SERIES;
    static const double even[] = TFN__COSINE_SERIES;
    for (int i = 0; i < TFN__DRAWS; i++) {
        const double x = TFN__N(tfn__whole)(bits[i] & 0xffffffffu) * TFN__TURN;
        const int32_t nearest = (int32_t)(x * TFN__QUARTERS + 0.5);
        const double n = (double)nearest;
        const double a = x - n * TFN__QUARTER_HIGH;
        const double b = n * TFN__QUARTER_MIDDLE;
        const double near = a - b;
        const double r = near + (((a - near) - b) - n * TFN__QUARTER_LOW);
        const double s = r * TFN__N(tfn__each_series)(odd, 9, r*r);
        const double t = TFN__N(tfn__each_series)(even, 9, r*r);
        const uint64_t turns = (TFN__N(tfn__double_bits)(n + TFN__TWO_52) + 1) & 3;
        const uint64_t use = (uint64_t)0 - (turns & 1);
        const uint64_t value = (TFN__N(tfn__double_bits)(t) & use)
                             | (TFN__N(tfn__double_bits)(s) & ~use);
        y[i] = (float)tfn__double_of(value ^ turns >> 1 << 63);
    }
}

static void TFN__N(tfn__draw_normals)(float *y, uint64_t x, float size)
{
    uint64_t bits[TFN__DRAWS];
    float logs[TFN__DRAWS];
    float cosines[TFN__DRAWS];
    TFN__N(tfn__draw_bits)(bits, x);
    TFN__N(tfn__draw_logs)(logs, bits);
    TFN__N(tfn__draw_cosines)(cosines, bits);
    TFN__EACH(i, k, TFN__DRAWS) {
        const TFN__V radius = TFN__ROOT(TFN__LOAD(logs + i));
        TFN__STORE(y + i, TFN__MUL(TFN__MUL(radius, TFN__LOAD(cosines + i)), TFN__SET(size)));
    }
}

static void TFN__N(tfn__draw_uniforms)(float *y, uint64_t x, float size)
{
    uint64_t bits[TFN__DRAWS];
    TFN__N(tfn__draw_bits)(bits, x);
    for (int i = 0; i < TFN__DRAWS; i++) {
        const float u = (float)(int32_t)(bits[i] >> 40) * (float)(1.0 / 16777216);
        y[i] = (2*u - 1) * size;
    }
}
#endif

/* y = size * draws from index `first` on: normal, or uniform in [-1, 1). */
static void TFN__N(tfn__random_values)(float *y, ptrdiff_t n, tfn_key key, uint64_t first,
                                       float size, bool normal)
{
#if TFN__W >= 8
    for (; n >= TFN__DRAWS; y += TFN__DRAWS, first += TFN__DRAWS, n -= TFN__DRAWS) {
        const uint64_t x = key.bits + (first + 1) * TFN__GOLDEN;
        if (normal) TFN__N(tfn__draw_normals)(y, x, size);
        else TFN__N(tfn__draw_uniforms)(y, x, size);
    }
#endif
    for (ptrdiff_t i = 0; i < n; i++, first++) {
        float draw;
        if (normal) draw = tfn_random_normal(key, first);
        else draw = 2 * tfn_random_uniform(key, first) - 1;
        y[i] = draw * size;
    }
}
