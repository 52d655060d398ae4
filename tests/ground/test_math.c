/* The library's own mathematics: errors in ULP against libm's double, edge cases, and the same bits
 * on every instruction set and machine. */
#define TEST_EXACT
#include "../lib.h"
#include "../check.h"

#define MATH_EACH_ISA(k)                                                                       \
    for (int isa_ = 1; isa_ < TFN_ISA_COUNT; isa_++)                                           \
        for (const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa_); k; k = NULL)

static uint64_t math_hash(uint64_t h, const void *p, size_t size)
{
    const unsigned char *b = (const unsigned char *)p;
    for (size_t i = 0; i < size; i++) h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}
#define MATH_HASH UINT64_C(0xcbf29ce484222325)

static void math_same_hash(const char *name, uint64_t h, uint64_t wanted)
{
    if (h != wanted)
        FAIL("%s: the hash is 0x%08lx%08lx", name, (unsigned long)(h >> 32),
             (unsigned long)(h & 0xffffffff));
}

/* -- fused multiply-add --------------------------------------------------------------------- */

/* a*b + c rounded once: the product is exact in double, and sum + rest is the exact result. */
static float math_fma(float a, float b, float c)
{
    volatile double product = (double)a * (double)b, sum = product + (double)c;
    volatile double part = sum - product, other = sum - part;
    double rest = (product - other) + ((double)c - part), below, above;
    float low = (float)sum, high;
    int exponent;
    if ((double)low > sum) low = nextafterf(low, -INFINITY);
    high = nextafterf(low, INFINITY);
    below = sum - (double)low;
    above = (double)high - sum;
    if (below - above < -2*rest) return low;
    if (below - above > -2*rest) return high;
    return fmod((double)low / ldexp(1, (frexp((double)high, &exponent), exponent - 24)), 2) == 0
         ? low : high;
}

static float math_draw(uint64_t i, int spread)
{
    uint64_t r = tfn_random_bits(tfn_key_make(3), i);
    double m = 1 + (double)(r & 0x7fffff) / 8388608;
    return (float)ldexp(r >> 63 ? -m : m, (int)((r >> 40) % (unsigned)(2*spread + 1)) - spread);
}

TEST(math_fma_once)
{
    float e = ldexpf(1, -24), next = 1 + 2*e;
    if (!tfn_kernels_for(TFN_ISA_PLAIN)->fma) SKIP("no fused multiply-add in plain C");
    for (uint64_t i = 0; i < 300000; i++) {
        float a = math_draw(3*i, 3), b = math_draw(3*i + 1, 3);
        float c = math_draw(3*i + 2, i % 2 ? 3 : 30), y;
        if (i % 5 == 0) c = -(float)((double)a * (double)b);                  /* cancellation */
        if (i % 5 == 1) a = (float)(i % 4096 + 4096), b = (float)(i / 4096 % 4096 + 4096);
        if (i % 5 == 2) a = 1, b = e * math_draw(3*i + 1, 0), c = math_draw(3*i + 2, 0);
        y = lib_fma(a, b, c);
        if (y != math_fma(a, b, c))
            FAIL("%a * %a + %a is %a, not %a", (double)a, (double)b, (double)c, (double)y,
                 (double)math_fma(a, b, c));
    }
    CHECK(lib_fma(next, e, next) == next + 2*e);            /* past a tie by 2^-47 */
    CHECK(lib_fma(1, e, 1) == 1);                           /* ties: to even */
    CHECK(lib_fma(1, e, next) == next + 2*e);
    CHECK(lib_fma(ldexpf(1, -100), ldexpf(1, -49), e * 0) == ldexpf(1, -149));
    CHECK(lib_fma(next, ldexpf(1, -149), ldexpf(1, -60)) == ldexpf(1, -60));
    CHECK(lib_fma(ldexpf(3, -75), ldexpf(1, -75), 0) == ldexpf(2, -149));    /* 1.5 of the least */
    CHECK(lib_fma(3e38f, 2, -3e38f) == 3e38f);              /* the product alone would overflow */
    CHECK(isinf(lib_fma(3e38f, 2, 3e38f)) && isnan(lib_fma(INFINITY, 0, 1)));
    CHECK(isinf(lib_fma(1, 1, INFINITY)) && lib_fma(-1, INFINITY, 5) < 0);
}

/* -- scalar functions ------------------------------------------------------------------------- */

/* The sine of x + turn pi/2, |x| up to a million. The argument is reduced here, with pi/2 in four
 * parts (33 bits each: products with n are exact) and the sum in two parts, because some C
 * libraries are not accurate enough: MinGW's sine uses the processor's pi of 66 bits. All are
 * accurate for small arguments. */
static double math_sine(double x, int turn)
{
    static const double pi_2[4] = { 1.57079632673412561417, 6.07710050630396597660e-11,
                                    2.02226624871116645580e-21, 8.47842766036889956997e-32 };
    const double n = floor(x * 0.63661977236758134308 + 0.5);
    double hi = x, lo = 0, y;
    for (int i = 0; i < 4; i++) {
        const double p = -n * pi_2[i], sum = hi + p, back = sum - hi;
        lo += (hi - (sum - back)) + (p - back);
        hi = sum;
    }
    turn += (int)fmod(n, 4) + 4;
    y = turn & 1 ? cos(hi) - sin(hi) * lo : sin(hi) + cos(hi) * lo;
    return turn & 2 ? -y : y;
}

static void math_close(const char *name, double x, double y, double wanted, double limit)
{
    if (!(fabs(y - wanted) <= limit * fabs(wanted)))
        FAIL("%s(%.17g) is %.17g, not %.17g", name, x, y, wanted);
}

/* x^0 to x^most against a running product, because MinGW's pow is less accurate than ours. */
static void math_powers(double x, int most)
{
    double power = 1, rest = 0;
    for (int n = 0; n <= most; n++) {
        const double p = power * x, lost = fma(power, x, -p);
        math_close("pow", n, lib_pow(x, n), power, 2e-14);
        rest = rest * x + lost;
        power = p + rest;
        rest -= power - p;
    }
}

TEST(math_scalar_errors)
{
    for (int i = -100000; i <= 100000; i++) {
        double u = i / 100000.0, x = 700 * u, large = 1e6 * u, base = exp(60 * u);
        math_close("exp", x, lib_exp(x), exp(x), 5e-16);
        math_close("exp", u, lib_exp(u), exp(u), 5e-16);
        math_close("log", base, lib_log(base), log(base), 8e-16);
        if (i) math_close("log", 1 + u/100, lib_log(1 + u/100), log(1 + u/100), 8e-16);
        math_close("sin", large, lib_sin(large), math_sine(large, 0), 5e-16);
        math_close("cos", large, lib_cos(large), math_sine(large, 1), 5e-16);
        math_close("sin", large/10, lib_sin(large/10), math_sine(large/10, 0), 5e-16);
        math_close("cos", u * 4, lib_cos(u * 4), math_sine(u * 4, 1), 5e-16);
        math_close("pow", base, lib_pow(base, 0.5), sqrt(base), 2e-14);
    }
    math_powers(0.999, 100000);
    for (int e = -1074; e <= 1023; e++)
        for (int j = 0; j < 8; j++) {
            double x = ldexp(1 + j / 8.0, e);
            if (x != 1) math_close("log", x, lib_log(x), log(x), 8e-16);
            if (e < 9) math_close("exp", -x, lib_exp(-x), exp(-x), 5e-16);
            if (e < 20) math_close("sin", x, lib_sin(x), math_sine(x, 0), 5e-16);
        }
}

TEST(math_scalar_edges)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    CHECK(lib_exp(0) == 1 && lib_exp(-inf) == 0 && lib_exp(-1e300) == 0);
    CHECK(isinf(lib_exp(inf)) && isinf(lib_exp(1000)) && isnan(lib_exp(nan)));
    math_close("exp", 709.78, lib_exp(709.78), exp(709.78), 5e-16);
    CHECK(fabs(lib_exp(-740) - exp(-740)) <= 4.94e-324);
    CHECK(lib_log(1) == 0 && isinf(lib_log(inf)) && lib_log(0) < -1e308);
    CHECK(isnan(lib_log(-1)) && isnan(lib_log(nan)));
    CHECK(lib_sin(0) == 0 && lib_cos(0) == 1 && lib_sin(-2.5) == -lib_sin(2.5));
    CHECK(isnan(lib_sin(nan)) && isnan(lib_cos(inf)) && !isnan(lib_cos(1e18)));
    CHECK(lib_pow(0, 3) == 0 && lib_pow(0, 0) == 1);
    CHECK(lib_pow(1, 1e300) == 1 && lib_pow(5, 0) == 1);
}

TEST(math_scalar_bits)
{
    uint64_t h = MATH_HASH;
    for (int i = 1; i <= 20000; i++) {
        double y[5];
        y[0] = lib_exp((i - 10000) / 150.0);
        y[1] = lib_log(i / 777.0);
        y[2] = lib_sin(i * 31.7);
        y[3] = lib_cos(i * 0.37);
        y[4] = lib_pow(i / 19.0, i % 13 / 3.0 - 2);
        for (int j = 0; j < 5; j++) {            /* least byte first, on every machine */
            uint64_t u;
            unsigned char bytes[8];
            memcpy(&u, y + j, 8);
            for (int b = 0; b < 8; b++) bytes[b] = (unsigned char)(u >> 8*b);
            h = math_hash(h, bytes, 8);
        }
    }
    math_same_hash("scalar functions", h, UINT64_C(0x1c136b9e3b6e4a2b));
}

TEST(math_normal)
{
    const tfn_key key = tfn_key_make(11);
    enum { N = 400000 };
    double sum[5] = { 0 }, tail = 0, next = 0, last = 0;
    for (uint64_t i = 0; i < N; i++) {
        double z = (double)tfn_random_normal(key, i), power = 1;
        for (int j = 1; j <= 4; j++) sum[j] += power *= z;
        tail += fabs(z) > 3;
        next += last * z;
        last = z;
        if (!(fabs(z) < 6.8)) FAIL("draw %d is %g", (int)i, z);
    }
    CHECK(fabs(sum[1] / N) < 5 / sqrt(N));                   /* five standard deviations */
    CHECK(fabs(sum[2] / N - 1) < 5 * sqrt(2.0 / N));
    CHECK(fabs(sum[3] / N) < 5 * sqrt(15.0 / N));
    CHECK(fabs(sum[4] / N - 3) < 5 * sqrt(96.0 / N));
    CHECK(fabs(next / N) < 5 / sqrt(N));
    CHECK(fabs(tail / N - 0.0026998) < 5 * sqrt(0.0027 / N));
    CHECK(tfn_random_normal(key, 5) == tfn_random_normal(key, 5));
    CHECK(tfn_random_normal(key, 5) != tfn_random_normal(tfn_key_make(12), 5));
}

/* -- vector functions ------------------------------------------------------------------------- */

/* |y - wanted| in units of the last place of the float nearest to wanted. */
static double math_ulp(float y, double wanted)
{
    int exponent;
    if (isnan(wanted) || isnan(y)) return isnan(wanted) && isnan(y) ? 0 : 1e9;
    if (isinf(y)) return wanted * (y > 0 ? 1 : -1) >= 3.4028235677973366e38 ? 0 : 1e9;
    frexp(wanted, &exponent);
    return fabs((double)y - wanted) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

typedef struct math_function {
    const char *name;
    double (*f)(double);
    double limit, limit_without;         /* of the error, with and without FMA */
} math_function;

static const math_function math_functions[3] = {
    { "exp", exp, 0.95, 1.25 }, { "tanh", tanh, 1.4, 1.4 }, { "erf", erf, 1.15, 1.35 }
};

static void math_apply(const tfn_kernels *k, int function, float *y, const float *x, ptrdiff_t n)
{
    (function == 0 ? k->exp : function == 1 ? k->tanh : k->erf)(y, x, n);
}

/* Every step-th bit pattern: all exponents, both signs, NaN and infinity. */
static void math_scan(const tfn_kernels *k, int function, uint64_t step, uint64_t *hash)
{
    const math_function *f = &math_functions[function];
    double worst = 0, at = 0;
    float x[1000], y[1000];
    for (uint64_t u = 0; u <= UINT32_MAX;) {
        ptrdiff_t n = 0;
        for (; n < 1000 && u <= UINT32_MAX; u += step) {
            uint32_t bits = (uint32_t)u;
            memcpy(x + n++, &bits, 4);
        }
        math_apply(k, function, y, x, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            double error = math_ulp(y[i], f->f((double)x[i]));
            if (error > worst) worst = error, at = (double)x[i];
            if (!isnan(y[i])) *hash = math_hash(*hash, y + i, 4);
        }
    }
    if (worst > (k->fma ? f->limit : f->limit_without))
        FAIL("%s %s: %.3f ULP at %.9g", k->name, f->name, worst, at);
}

TEST(math_vector_errors)
{
    static const uint64_t steps[3] = { 65521, 8191, 509 };
    for (int function = 0; function < 3; function++) {
        uint64_t canonical = 0;
        MATH_EACH_ISA(k) {
            uint64_t hash = MATH_HASH;
            math_scan(k, function, steps[check_tier()], &hash);
            if (k->fma && !canonical) canonical = hash;
            if (k->fma && hash != canonical)
                FAIL("%s: other bits on %s", math_functions[function].name, k->name);
        }
    }
}

TEST(math_vector_bits)           /* the same on all machines with an FMA */
{
    static const uint64_t wanted[3] = {
        UINT64_C(0x8a8c59c05b3ffe93), UINT64_C(0xe4fcfe13a01b0497), UINT64_C(0x69beb20491787e25)
    };
    const uint32_t one = 1;
    if (!*(const unsigned char *)&one) SKIP("the hash is of little-endian floats");
    MATH_EACH_ISA(k)
        for (int function = 0; function < 3 && k->fma; function++) {
            uint64_t hash = MATH_HASH;
            math_scan(k, function, 1000003, &hash);
            math_same_hash(math_functions[function].name, hash, wanted[function]);
        }
}

/* The value of a function for one x, in every lane and every length. */
static float math_at(const tfn_kernels *k, int function, float x)
{
    float in[35], y[36], first;
    for (int i = 0; i < 35; i++) in[i] = x;
    math_apply(k, function, &first, &x, 1);
    for (ptrdiff_t n = 0; n <= 35; n++) {
        for (int i = 0; i < 36; i++) y[i] = 77;
        math_apply(k, function, y, in, n);
        for (ptrdiff_t i = 0; i < n; i++) CHECK_BITS(y + i, &first, 4);
        CHECK(y[n] == 77);
    }
    return first;
}

TEST(math_vector_edges)
{
    MATH_EACH_ISA(k) {
        CHECK(math_at(k, 0, 0) == 1 && math_at(k, 0, -INFINITY) == 0);
        CHECK(isinf(math_at(k, 0, INFINITY)) && isinf(math_at(k, 0, 88.72284f)));
        CHECK(math_ulp(math_at(k, 0, 88.722836f), exp((double)88.722836f)) < 1);
        CHECK(isnan(math_at(k, 0, NAN)) && isnan(math_at(k, 1, NAN)) && isnan(math_at(k, 2, NAN)));
        CHECK(math_at(k, 0, -103.9f) == ldexpf(1, -149) && math_at(k, 0, -104) == 0);
        CHECK(math_at(k, 0, -87.5f) > 0 && math_at(k, 0, -3e38f) == 0);      /* denormal */
        for (int function = 1; function <= 2; function++) {
            float least = ldexpf(1, -149), tiny = math_at(k, function, least);
            CHECK(math_at(k, function, INFINITY) == 1 && math_at(k, function, -INFINITY) == -1);
            CHECK(math_at(k, function, 20) == 1 && math_at(k, function, -3e38f) == -1);
            CHECK(math_at(k, function, 0) == 0 && !signbit(math_at(k, function, 0)));
            CHECK(signbit(math_at(k, function, -0.0f)));
            CHECK(tiny == least);
        }
    }
}

/* A shuffle is a permutation for each n. With enough keys, each element reaches each place, though
 * for small n not equally often. The largest n is legal. */
TEST(math_shuffle)
{
    static const int sizes[] = { 1, 2, 3, 4, 5, 16, 17, 64, 65, 1000 };
    const int64_t large[] = { (INT64_C(1) << 60) + 1, INT64_C(1) << 62 };
    const tfn_key key = tfn_key_make(5);
    bool seen[1000];
    CHECK(tfn_random_shuffle(key, 0, 0) == 0 && tfn_random_shuffle(key, 0, 1) == 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int n = sizes[i];
        int kept = 0;
        CASE("n %d", n);
        memset(seen, 0, sizeof seen);
        for (int k = 0; k < n; k++) {
            const int64_t to = tfn_random_shuffle(key, k, n);
            if (to < 0 || to >= n || seen[to]) FAIL("%d goes to %d", k, (int)to);
            else seen[to] = true;
            kept += to == k;
        }
        if (n == 1000) CHECK(kept < 10);
    }
    for (int n = 2; n <= 65; n++) {             /* every number goes to every place equally often */
        const int draws = 4000;
        static int places[65][65];
        double chi = 0;
        CASE("places of %d", n);
        memset(places, 0, sizeof places);
        for (int k = 0; k < n; k++)
            for (uint64_t draw = 0; draw < draws; draw++)
                places[k][tfn_random_shuffle(tfn_key_fold(key, draw), k, n)]++;
        for (int k = 0; k < n * n; k++) {
            const double off = places[k / n][k % n] - (double)draws / n;
            chi += off * off * n / draws;
        }
        /* (n - 1)^2 degrees of freedom; six sigma */
        CHECK(chi < (n - 1) * (n - 1) + 6 * sqrt(2.0) * (n - 1) + 12);
    }
    for (int i = 0; i < 2; i++) {
        int64_t last = -1;
        int above = 0;
        CASE("n %.0f", (double)large[i]);
        for (int64_t k = 0; k < 1000; k++) {
            const int64_t to = tfn_random_shuffle(key, k, large[i]);
            CHECK(to >= 0 && to < large[i] && to != last);
            above += to >= large[i] / 2;
            last = to;
        }
        CHECK(abs(above - 500) < 80);                                               /* 5 sigma */
    }
}

int main(void)
{
    RUN(math_fma_once);
    RUN(math_scalar_errors);
    RUN(math_scalar_edges);
    RUN(math_scalar_bits);
    RUN(math_normal);
    RUN(math_vector_errors);
    RUN(math_vector_bits);
    RUN(math_vector_edges);
    RUN(math_shuffle);
    return DONE();
}
