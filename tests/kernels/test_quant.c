/* Weights of 8, 4 and 16 bits: packing, and products with the same bits in every instruction set as
 * from plain loops over their definition. */
#include "../lib.h"
#include "../check.h"
#ifdef TEST_LINKED
#include "../../tools/source/kernels/products.h"
#endif

/* Every available instruction set of integers, with the best one of floats. */
#define QUANT_EACH(k)                                                                          \
    for (int isa_ = 1; isa_ < TFN_QUANT_COUNT; isa_++)                                         \
        for (const tfn_quant_kernels *k = tfn_quant_kernels_for((tfn_quant_isa)isa_); k; k = NULL)
#define QUANT_GUARD 12345.5f

static float *quant_floats(ptrdiff_t n, float value)
{
    float *x = (float *)malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    if (!x) exit(2);
    for (ptrdiff_t i = 0; i < n; i++) x[i] = value;
    return x;
}
static float *quant_random(ptrdiff_t n, uint64_t stream)
{
    float *x = quant_floats(n, 0);
    for (ptrdiff_t i = 0; i < n; i++) x[i] = tfn_random_normal(tfn_key_make(stream), (uint64_t)i);
    return x;
}

/* Rounded by itself, whatever the compiler's flags. */
static float quant_times(float a, float b)
{
    volatile float p = a * b;
    return p;
}
static float quant_plus(float a, float b)
{
    volatile float s = a + b;
    return s;
}

/* A block of inputs by definition: amax/127, a * (127/amax) to the nearest, ties to even. */
static float quant_inputs(int *q, const float *a, ptrdiff_t count)
{
    float amax = 0;
    for (ptrdiff_t i = 0; i < 32; i++) {
        q[i] = 0;
        if (i < count && fabsf(a[i]) > amax) amax = fabsf(a[i]);
    }
    if (amax < ldexpf(1, -56)) return 0;
    for (ptrdiff_t i = 0; i < count && i < 32; i++) {
        volatile float inverse = 127 / amax;
        q[i] = (int)rint((double)quant_times(a[i], inverse));
    }
    return amax / 127;
}

/* The scale and q of a matrix from unpacked values. The scale is an 8-bit number that need not be
 * the largest common divisor of the block, so it is read from the packed bytes. */
static float quant_scale(const void *w, tfn_weights type, ptrdiff_t k, ptrdiff_t n,
                         ptrdiff_t block, ptrdiff_t j)
{
    const ptrdiff_t blocks = (k + 31) / 32;
    const ptrdiff_t panels = (n + 15) / 16;
    const ptrdiff_t bytes = type == TFN_WEIGHTS_Q8 ? 512 : 256;
    const unsigned char *at = (const unsigned char *)w + panels * blocks * bytes;
    uint32_t u;
    float scale;
    at += 2 * ((j / 16 * blocks + block) * 16 + j % 16);
    u = (uint32_t)(at[0] | at[1] << 8) << 16;           /* the lower byte first, on any machine */
    memcpy(&scale, &u, 4);
    return scale;
}

/* Element (i, j) of the product, starting from y, in plain loops. `b` is the matrix, unpacked. */
static float quant_element(float y, const float *a, const float *b, const void *w,
                           tfn_weights type, ptrdiff_t k, ptrdiff_t n, ptrdiff_t j)
{
    for (ptrdiff_t block = 0; block < (k + 31) / 32; block++) {
        const ptrdiff_t first = block * 32;
        const ptrdiff_t count = k - first < 32 ? k - first : 32;
        const float sw = quant_scale(w, type, k, n, block, j);
        int q[32];
        const float sx = quant_inputs(q, a + first, count);
        int sum = 0;
        for (ptrdiff_t i = 0; i < count; i++) {
            const float x = b[(first + i) * n + j];
            if (sw > 0 || sw < 0) sum += q[i] * (int)rint((double)x / (double)sw);
        }
        y = quant_plus(y, quant_times((float)sum, quant_times(sx, sw)));
    }
    return y;
}

enum { QUANT_ZERO, QUANT_BIAS, QUANT_ADD, QUANT_STARTS };

typedef struct quant_case { ptrdiff_t m, n, k, first; int start; } quant_case;

/* One product in every instruction set. c's rows are 3 longer than needed; the excess must stay. */
static void quant_check(tfn_weights type, const quant_case *t)
{
    const ptrdiff_t outputs = t->n + t->first;
    const ptrdiff_t ld = t->n + 3;
    const size_t bytes = tfn_quant_bytes(type, t->k, outputs);
    float *b = quant_random(t->k * outputs, 1);
    float *a = quant_random(t->m * t->k, 2);
    float *start = quant_random(t->m * ld, 3);
    void *w = malloc(bytes);
    const tfn_kernels *f = tfn_kernels_for(TFN_ISA_BEST);
    if (!w) exit(2);
    if (t->k > 40) for (int i = 0; i < 32; i++) a[i] = 0;           /* a block of zeros */
    tfn_quant_pack(w, type, b, t->k, outputs, outputs, 1);
    tfn_quant_unpack(b, w, type, t->k, outputs, 0, outputs);
    QUANT_EACH(kernels) {
        float *c = quant_floats(t->m * ld, QUANT_GUARD);
        float *work = quant_floats(tfn_quant_work(f, type, t->m, t->n, t->k) + 1, QUANT_GUARD);
        tfn_quant_args p;
        memset(&p, 0, sizeof p);
        p.c = c, p.a = a, p.w = w, p.type = type;
        p.m = t->m, p.n = t->n, p.k = t->k;
        p.c_ld = ld, p.start_ld = ld, p.a_ld = t->k;
        p.first = t->first, p.outputs = outputs;
        if (t->start == QUANT_BIAS) p.start = start, p.start_ld = 0;
        if (t->start == QUANT_ADD) {
            for (ptrdiff_t i = 0; i < t->m; i++)
                memcpy(c + i * ld, start + i * ld, (size_t)t->n * sizeof *c);
            p.start = c;
        }
        CASE("%s %s m %d n %d k %d first %d start %d", kernels->name,
             tfn_choice_name("weights", (int32_t)type), (int)t->m, (int)t->n, (int)t->k,
             (int)t->first, t->start);
        tfn_quant_product(f, kernels, &p, work);
        CHECK(work[tfn_quant_work(f, type, t->m, t->n, t->k)] == QUANT_GUARD);
        for (ptrdiff_t i = 0; i < t->m; i++) {
            for (ptrdiff_t j = 0; j < t->n; j++) {
                float y = 0;
                if (t->start == QUANT_BIAS) y = start[j];
                if (t->start == QUANT_ADD) y = start[i * ld + j];
                y = quant_element(y, a + i * t->k, b, w, type, t->k, outputs, t->first + j);
                CHECK_BITS(c + i * ld + j, &y, sizeof y);
            }
            for (ptrdiff_t j = t->n; j < ld; j++) CHECK(c[i * ld + j] == QUANT_GUARD);
        }
        free(c);
        free(work);
    }
    free(a);
    free(b);
    free(w);
    free(start);
}

TEST(quant_products)
{
    static const quant_case cases[] = {
        { 1, 1, 1, 0, QUANT_ZERO }, { 1, 15, 31, 0, QUANT_BIAS }, { 2, 16, 32, 0, QUANT_ADD },
        { 3, 17, 33, 0, QUANT_BIAS }, { 4, 40, 64, 16, QUANT_ADD }, { 5, 33, 100, 32, QUANT_BIAS },
        { 7, 50, 96, 0, QUANT_ZERO }, { 9, 19, 300, 0, QUANT_BIAS }, { 63, 5, 45, 0, QUANT_ADD },
        { 64, 3, 37, 0, QUANT_ADD }, { 65, 4, 70, 48, QUANT_BIAS }, { 131, 2, 33, 0, QUANT_ADD }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        quant_check(TFN_WEIGHTS_Q8, cases + i);
        quant_check(TFN_WEIGHTS_Q4, cases + i);
    }
}

/* The largest possible sums: all q at their limits, with either sign. */
TEST(quant_extremes)
{
    enum { K = 64, N = 16 };
    float b[K * N];
    float a[K];
    float w[K * N / 2];
    float work[K * 4];
    for (int t = 0; t < 8; t++) {
        const tfn_weights type = t % 2 ? TFN_WEIGHTS_Q4 : TFN_WEIGHTS_Q8;
        for (int i = 0; i < K; i++) a[i] = (t & 2) ? -1.5f : 1.5f;
        for (int i = 0; i < K * N; i++) b[i] = (t & 4) ? -4.0f : 4.0f;
        tfn_quant_pack(w, type, b, K, N, N, 1);
        tfn_quant_unpack(b, w, type, K, N, 0, N);
        QUANT_EACH(kernels) {
            float c[N];
            tfn_quant_args p;
            memset(&p, 0, sizeof p);
            p.c = c, p.a = a, p.w = w, p.type = type;
            p.m = 1, p.n = N, p.k = K, p.c_ld = N, p.a_ld = K, p.outputs = N;
            CASE("%s %d", kernels->name, t);
            tfn_quant_product(tfn_kernels_for(TFN_ISA_PLAIN), kernels, &p, work);
            for (int j = 0; j < N; j++) {
                const float y = quant_element(0, a, b, w, type, K, N, j);
                CHECK_BITS(c + j, &y, sizeof y);
                CHECK_CLOSE(y, a[0] * b[j] * K, 1e-6);
            }
        }
    }
}

/* Compares a product of 16-bit weights, table or not, with the float kernel's product of the same
 * values. c's rows are 3 longer than needed; the excess must stay. */
static void quant_halves_check(const tfn_kernels *f, const tfn_quant_kernels *kernels,
                               tfn_weights type, bool table, const quant_case *t)
{
    const ptrdiff_t outputs = t->n + t->first;
    const ptrdiff_t ld = t->n + 3;
    const ptrdiff_t size = tfn_quant_work(f, type, t->m, t->n, t->k);
    const ptrdiff_t rows = table ? outputs : t->k;
    const ptrdiff_t cols = table ? t->k : outputs;
    float *b = quant_random(t->k * outputs, 4);
    float *a = quant_random(t->m * t->k, 5);
    float *start = quant_random(t->m * ld, 6);
    float *c = quant_floats(t->m * ld, QUANT_GUARD);
    float *d = quant_floats(t->m * ld, QUANT_GUARD);
    float *work = quant_floats(size + 1, QUANT_GUARD);
    float *other = quant_floats(f->matmul_work(t->m, t->n, t->k), 0);
    void *w = malloc((size_t)(2 * t->k * outputs));     /* exact, so that sanitizers see excess */
    tfn_quant_args p;
    tfn_matmul_args e;
    memset(&p, 0, sizeof p);
    memset(&e, 0, sizeof e);
    if (!w) exit(2);
    tfn_quant_pack(w, type, b, rows, cols, cols, 1);
    tfn_quant_unpack(b, w, type, rows, cols, 0, cols);
    p.c = c, p.a = a, p.w = w, p.type = type, p.table = table;
    e.c = d, e.a = a, e.b = b + t->first * (table ? t->k : 1);
    p.m = e.m = t->m, p.n = e.n = t->n, p.k = e.k = t->k;
    p.c_ld = p.start_ld = e.c_ld = e.start_ld = ld;
    p.a_ld = e.a_row = t->k;
    e.a_col = 1, e.b_row = table ? 1 : outputs, e.b_col = table ? t->k : 1;
    p.first = t->first, p.outputs = outputs;
    if (t->start == QUANT_BIAS) p.start = e.start = start, p.start_ld = e.start_ld = 0;
    if (t->start == QUANT_STARTS) p.start = e.start = start;
    if (t->start == QUANT_ADD) {
        memcpy(c, start, (size_t)(t->m * ld) * sizeof *c);
        memcpy(d, start, (size_t)(t->m * ld) * sizeof *d);
        p.start = c, e.start = d;
    }
    CASE("%s %s %d table %d m %d n %d k %d first %d start %d", f->name, kernels->name, (int)type,
         table, (int)t->m, (int)t->n, (int)t->k, (int)t->first, t->start);
    tfn_quant_product(f, kernels, &p, work);
    f->matmul(&e, other);
    CHECK(work[size] == QUANT_GUARD);
    CHECK_BITS(c, d, (size_t)(t->m * ld) * sizeof *c);
    free(a), free(b), free(c), free(d);
    free(w), free(start), free(work), free(other);
}

/* In every instruction set of floats with the best one of integers, and the reverse. */
static void quant_halves_both(const quant_case *t)
{
    const tfn_quant_kernels *best = tfn_quant_kernels_for(TFN_QUANT_BEST);
    for (int form = 0; form < 4; form++) {
        const tfn_weights type = form & 1 ? TFN_WEIGHTS_F16 : TFN_WEIGHTS_BF16;
        for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
            const tfn_kernels *f = tfn_kernels_for((tfn_isa)isa);
            if (f) quant_halves_check(f, best, type, form > 1, t);
        }
        QUANT_EACH(kernels)
            quant_halves_check(tfn_kernels_for(TFN_ISA_BEST), kernels, type, form > 1, t);
    }
}

/* 16-bit numbers are read exactly: a product equals the float kernel's with the same values. Sizes
 * are near those of tiles, and near the numbers of rows at which the method changes. */
TEST(quant_halves)
{
    static const quant_case cases[] = {
        { 3, 17, 33, 0, QUANT_BIAS }, { 2, 300, 130, 16, QUANT_ADD }, { 1, 513, 64, 0, QUANT_BIAS },
        { 70, 20, 65, 0, QUANT_ADD }, { 1, 2100, 19, 0, QUANT_STARTS },
        { 5, 33, 1100, 32, QUANT_ADD }, { 9, 140, 390, 0, QUANT_ADD },
        { 340, 140, 130, 16, QUANT_BIAS }, { 20, 1300, 400, 0, QUANT_ADD }
    };
    static const ptrdiff_t rows[] = { 1, 2, 4, 5, 8, 9 };
    static const ptrdiff_t outputs[] = { 1, 15, 16, 31, 32, 33, 80 };
    static const ptrdiff_t inputs[] = { 1, 7, 8, 9, 40 };
    int start = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) quant_halves_both(cases + i);
    for (size_t m = 0; m < sizeof rows / sizeof *rows; m++) {
        for (size_t n = 0; n < sizeof outputs / sizeof *outputs; n++) {
            for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++) {
                quant_case t = { rows[m], outputs[n], inputs[k], 0, QUANT_ZERO };
                t.first = start / 4 % 2 * 16;
                t.start = start++ % 4;
                quant_halves_both(&t);
            }
        }
    }
}

/* The value of a half by definition. */
static double quant_half(unsigned h)
{
    const double sign = h & 0x8000 ? -1 : 1;
    const int exponent = h >> 10 & 31;
    const double fraction = (h & 1023) / 1024.0;
    if (exponent == 31) return h & 1023 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, -14);
    return sign * ldexp(1 + fraction, exponent - 15);
}

/* All 65,536 halves: reads 64 at a time, a NaN with the bits of plain C, and writes them again. A
 * value between two halves is rounded to the nearest, ties to even. */
TEST(quant_all_halves)
{
    static float x[65536], plain[65536];
    static uint16_t h[65536];
    for (int i = 0; i < 65536; i++) h[i] = (uint16_t)i;
    QUANT_EACH(kernels) {
        CASE("%s", kernels->name);
        for (int i = 0; i < 65536; i += 64) kernels->halves(x + i, h + i, 64, TFN_WEIGHTS_F16);
        if (kernels->isa == TFN_QUANT_PLAIN) memcpy(plain, x, sizeof x);
        CHECK_BITS(x, plain, sizeof x);
        for (unsigned i = 0; i < 65536; i++) {
            const double y = quant_half(i);
            if (y == y) CHECK((double)x[i] == y && !signbit(x[i]) == (i < 32768));
            else CHECK(x[i] != x[i]);
        }
        kernels->halves(x, h, 65536, TFN_WEIGHTS_BF16);
        for (uint32_t i = 0; i < 65536; i++) {
            const uint32_t u = i << 16;
            CHECK(!memcmp(x + i, &u, 4));
        }
    }
    for (uint32_t i = 0; i < 0x7f80; i++) {                         /* BF16, up to infinity */
        const uint32_t tries[4] = { i << 16, (i << 16) + 0x7fff, (i << 16) + 0x8000,
                                    (i << 16) + 0x8001 };
        const uint32_t right[4] = { i, i, i + (i & 1), i + 1 };
        for (int t = 0; t < 4; t++) {
            uint16_t got[1];
            float y;
            memcpy(&y, tries + t, sizeof y);
            CASE("%g", (double)y);
            tfn_quant_pack(got, TFN_WEIGHTS_BF16, &y, 1, 1, 1, 1);
            CHECK_INT(got[0], right[t]);
        }
    }
    for (unsigned i = 0; i < 31743; i++) {                          /* up to the largest finite */
        const float low = (float)quant_half(i);
        const float high = (float)quant_half(i + 1);
        const float tries[4] = { low, (low + high) / 2, nextafterf((low + high) / 2, low),
                                 nextafterf((low + high) / 2, high) };
        const unsigned right[4] = { i, i + (i & 1), i, i + 1 };
        for (int t = 0; t < 4; t++) {
            uint16_t got[1];
            CASE("%g", (double)tries[t]);
            tfn_quant_pack(got, TFN_WEIGHTS_F16, tries + t, 1, 1, 1, 1);
            CHECK_INT(got[0], right[t]);
        }
    }
}

/* The error is at most half a step, except in Q4 where the search has cut the largest numbers. It
 * is not larger than with the plain scale amax/127 or amax/7. */
TEST(quant_errors)
{
    enum { K = 320, N = 48 };
    float *b = quant_random(K * N, 8);
    float *y = quant_floats(K * N, 0);
    static float w[K * N / 2];
    for (int t = 0; t < 2; t++) {
        const tfn_weights type = t ? TFN_WEIGHTS_Q4 : TFN_WEIGHTS_Q8;
        const float most = t ? 7 : 127;
        double ours = 0;
        double plain = 0;
        CHECK(tfn_quant_bytes(type, K, N) <= sizeof w);
        tfn_quant_pack(w, type, b, K, N, 1, K);                     /* b is (N, K) here */
        tfn_quant_unpack(y, w, type, K, N, 0, N);
        for (int j = 0; j < N; j++) {
            for (int block = 0; block < K / 32; block++) {
                const float *x = b + j * K + 32 * block;
                const float scale = quant_scale(w, type, K, N, block, j);
                float amax = 0;
                for (int i = 0; i < 32; i++) amax = fmaxf(amax, fabsf(x[i]));
                for (int i = 0; i < 32; i++) {
                    const float d = y[(32 * block + i) * N + j] - x[i];
                    const float step = amax / most;
                    const float e = (float)rint((double)(x[i] / step)) * step - x[i];
                    ours += (double)d * (double)d;
                    plain += (double)e * (double)e;
                    if (type == TFN_WEIGHTS_Q8) CHECK(fabsf(d) <= fabsf(scale) * 0.75f);
                    CHECK(fabsf(d) <= fabsf(scale) * 3);
                }
            }
        }
        CASE("%d: %g of %g", t, ours, plain);
        CHECK(ours > 0 && ours < plain * (t ? 0.9 : 1.02));
    }
    free(b);
    free(y);
}

/* The squared error of a block of Q4. */
static double quant_block_error(const float *x)
{
    unsigned char w[320];
    float y[32];
    double error = 0;
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_Q4, 32, 1), sizeof w);
    tfn_quant_pack(w, TFN_WEIGHTS_Q4, x, 32, 1, 1, 1);
    tfn_quant_unpack(y, w, TFN_WEIGHTS_Q4, 32, 1, 0, 1);
    for (int i = 0; i < 32; i++) error += (double)(y[i] - x[i]) * (double)(y[i] - x[i]);
    return error;
}

/* Q4's candidates: 8 on one side is exact with a scale of the right sign. With 8.5 on both sides
 * among whole numbers it is best to cut both, to 7 and to 8: an error of 2.5 with scale 1. */
TEST(quant_search)
{
    float x[32];
    for (int i = 0; i < 32; i++) x[i] = (float)(i * 5 % 15 - 7);
    x[3] = -8;
    CHECK(quant_block_error(x) <= 0);
    x[3] = 8;
    CHECK(quant_block_error(x) <= 0);
    x[3] = 8.5f;
    x[4] = -8.5f;
    CHECK(quant_block_error(x) <= 2.5);
}

/* A value that is not finite makes its own results NaN, and no others. */
TEST(quant_not_finite)
{
    enum { K = 40, N = 20, M = 3 };
    const float bad[3] = { INFINITY, -INFINITY, NAN };
    float b[K * N];
    float a[M * K];
    float w[1024];
    float work[4096];
    const tfn_kernels *f = tfn_kernels_for(TFN_ISA_BEST);
    for (int t = 0; t < 12; t++) {
        const tfn_weights type = t % 2 ? TFN_WEIGHTS_Q4 : TFN_WEIGHTS_Q8;
        for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7) - 3;
        for (int i = 0; i < M * K; i++) a[i] = (float)(i % 5) - 2;
        if (t < 6) b[37 * N + 18] = bad[t / 2];
        else a[1 * K + 35] = bad[t / 2 - 3];
        tfn_quant_pack(w, type, b, K, N, N, 1);
        QUANT_EACH(kernels) {
            float c[M * N];
            tfn_quant_args p;
            memset(&p, 0, sizeof p);
            p.c = c, p.a = a, p.w = w, p.type = type;
            p.m = M, p.n = N, p.k = K, p.c_ld = N, p.a_ld = K, p.outputs = N;
            CHECK(tfn_quant_work(f, type, M, N, K) <= 4096);
            tfn_quant_product(f, kernels, &p, work);
            CASE("%s %d", kernels->name, t);
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++)
                    CHECK((c[i * N + j] != c[i * N + j]) == (t < 6 ? j == 18 : i == 1));
        }
    }
}

/* A table is stored transposed, so that each of its rows is an output. Packing writes no byte after
 * the size that tfn__packed_bytes returns. */
TEST(quant_packed_tables)
{
    enum { ROWS = 5, COLS = 70, ROOM = 1 << 14 };
    static unsigned char bytes[ROOM];
    float *x = quant_random(ROWS * COLS, 5);
    for (int type = TFN_WEIGHTS_FLOAT + 1; type < TFN_WEIGHTS_COUNT; type++) {
        float y[COLS];
        size_t n;
        tfn__packed p;
        memset(&p, 0, sizeof p);
        CASE("type %d", type);
        p.type = (tfn_weights)type;
        p.table = true;
        p.rows = ROWS;
        p.cols = COLS;
        n = tfn__packed_bytes(&p);
        CHECK_INT(n, tfn_quant_bytes(p.type, COLS, ROWS));
        memset(bytes, 0xa5, sizeof bytes);
        tfn__pack_param(bytes, &p, x);
        for (size_t i = n; i < ROOM; i++) CHECK(bytes[i] == 0xa5);
        for (int v = 0; v < ROWS; v++) {
            tfn__packed_row(y, bytes, &p, v, 1, tfn_quant_kernels_for(TFN_QUANT_PLAIN));
            for (int c = 0; c < COLS; c++) CHECK(fabsf(y[c] - x[v * COLS + c]) < 0.5f);
        }
    }
    free(x);
}

TEST(quant_refused)
{
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_FLOAT, 4, 4), 0);
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_COUNT, 4, 4), 0);
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_Q8, 0, 4), 0);
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_Q8, PTRDIFF_MAX, PTRDIFF_MAX), 0);
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_Q8, 33, 17), 2 * 2 * (512 + 32));
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_Q4, 32, 16), 320);
    CHECK_INT(tfn_quant_bytes(TFN_WEIGHTS_BF16, 3, 5), 64);
    CHECK_INT(tfn_quant_work(NULL, TFN_WEIGHTS_Q8, 1, 1, 1), 0);
    CHECK(tfn_quant_kernels_for(TFN_QUANT_BEST) != NULL);
    CHECK(tfn_quant_kernels_for(TFN_QUANT_PLAIN) != NULL);
    CHECK(tfn_quant_kernels_for(TFN_QUANT_COUNT) == NULL);
    tfn_quant_product(NULL, NULL, NULL, NULL);
    tfn_quant_pack(NULL, TFN_WEIGHTS_Q8, NULL, 1, 1, 1, 1);
    tfn_quant_unpack(NULL, NULL, TFN_WEIGHTS_Q8, 1, 1, 0, 1);
}

/* -- models ---------------------------------------------------------------------------------- */

enum { QUANT_T = 12, QUANT_B = 3, QUANT_VOCAB = 37 };

typedef struct quant_data {
    int32_t tokens[QUANT_B * QUANT_T], targets[QUANT_B * QUANT_T], source[QUANT_B * QUANT_T];
    int32_t lengths[QUANT_B];
    tfn_batch batch;
} quant_data;

static void quant_draw(quant_data *d, tfn_arch arch)
{
    memset(d, 0, sizeof *d);
    for (uint64_t i = 0; i < QUANT_B * QUANT_T; i++) {
        d->tokens[i] = (int32_t)(tfn_random_bits(tfn_key_make(20), i) % QUANT_VOCAB);
        d->targets[i] = (int32_t)(tfn_random_bits(tfn_key_make(21), i) % QUANT_VOCAB);
        d->source[i] = (int32_t)(tfn_random_bits(tfn_key_make(22), i) % QUANT_VOCAB);
    }
    for (int i = 0; i < QUANT_B; i++) d->lengths[i] = QUANT_T - 2*i;
    d->batch.tokens = d->tokens;
    d->batch.targets = d->targets;
    d->batch.batch = QUANT_B;
    d->batch.time = QUANT_T;
    if (arch != TFN_ARCH_ENCODER_DECODER) return;
    d->batch.source = d->source;
    d->batch.source_lengths = d->lengths;
    d->batch.source_time = QUANT_T;
}

/* 40 channels are one block and part of another; 24, the width of a head, less than one. */
static tfn_model_desc quant_desc(const char *recipe, tfn_arch arch)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = QUANT_VOCAB;
    d.context = QUANT_T;
    d.batch = QUANT_B;
    d.width = 48;
    d.heads = 2;
    d.ffn = 80;
    d.layers = 2;
    d.arch = arch;
    d.recipe = recipe;
    d.threads = 1;
    return d;
}

static bool quant_new(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s", tfn_error_text(&m->error, text, sizeof text));
    return false;
}

/* Trains the model, so that gains, scales and biases have moved from their start. */
static bool quant_trained(tfn_model *m, const tfn_model_desc *d, const quant_data *data)
{
    if (!quant_new(m, d)) return false;
    for (int i = 0; i < 3; i++) CHECK(tfn_model_step(m, &data->batch, NULL) == TFN_OK);
    return true;
}

/* True if one of its stacks uses matrices other than in products, so that it must be folded. */
static bool quant_wants_fold(const tfn_model *m)
{
    const uint32_t flags = m->desc.topology->flags | m->desc.decoder_topology->flags;
    return flags & (TFN_TOPOLOGY_SIGMA_REPARAM | TFN_TOPOLOGY_FIXNORM);
}

/* Makes `q` from `m`, folded if necessary. */
static bool quant_make(tfn_model *q, const tfn_model *m, tfn_model_desc d, tfn_weights type)
{
    tfn_model folded;
    const tfn_model *from = m;
    char text[200];
    d.inference = true;
    d.folded = quant_wants_fold(m);
    if (d.folded) {
        if (!quant_new(&folded, &d)) return false;
        CHECK(tfn_model_fold(&folded, m) == TFN_OK);
        from = &folded;
    }
    d.weights = type;
    if (!quant_new(q, &d)) return false;
    if (tfn_model_quantize(q, from) != TFN_OK)
        FAIL("%s", tfn_error_text(&q->error, text, sizeof text));
    if (d.folded) tfn_model_free(&folded);
    return true;
}

/* The same model in floats, with the values of the packed weights. */
static bool quant_unpacked(tfn_model *f, const tfn_model *q)
{
    tfn_model_desc d = q->desc;
    tfn_param_info from;
    tfn_param_info to;
    d.weights = TFN_WEIGHTS_FLOAT;
    if (!quant_new(f, &d)) return false;
    for (int32_t i = 0; tfn_model_param(q, i, &from); i++) {
        const bool table = strstr(from.name, "embedding") != NULL;
        const ptrdiff_t rows = from.rows;
        const ptrdiff_t cols = from.cols;
        CHECK(tfn_model_param(f, i, &to));
        CHECK(!strcmp(from.name, to.name));
        if (!from.weights) {
            memcpy(to.data, from.data, (size_t)(rows * cols) * sizeof(float));
            continue;
        }
        CHECK(!from.data && from.packed && from.bytes);
        if (table && from.weights <= TFN_WEIGHTS_Q4) {
            float *y = quant_floats(rows * cols, 0);
            tfn_quant_unpack(y, from.packed, from.weights, cols, rows, 0, rows);
            for (ptrdiff_t r = 0; r < rows; r++)
                for (ptrdiff_t c = 0; c < cols; c++) to.data[r * cols + c] = y[c * rows + r];
            free(y);
        } else {
            tfn_quant_unpack(to.data, from.packed, from.weights, rows, cols, 0, cols);
        }
    }
    return true;
}

/* Each position of a decoder by itself has the bits of the full forward. */
static void quant_decodes(tfn_model *q, quant_data *data, const float *logits)
{
    const size_t scratch = tfn_model_scratch(&q->desc);
    void *work = malloc(scratch);
    const size_t size = tfn_decoder_size(q, QUANT_B, 1, work, scratch);
    void *mem = malloc(size);
    tfn_decoder d;
    CHECK(tfn_decoder_init(&d, q, QUANT_B, 1, mem, size) == TFN_OK);
    if (data->batch.source) CHECK(tfn_decoder_start(&d, &data->batch) == TFN_OK);
    for (int t = 0; t < QUANT_T; t++) {
        int32_t token[QUANT_B];
        const float *y;
        for (int b = 0; b < QUANT_B; b++) token[b] = data->tokens[b * QUANT_T + t];
        y = tfn_decoder_next(&d, token, 1, NULL);
        CHECK(y != NULL);
        for (int b = 0; y && b < QUANT_B; b++)
            CHECK_BITS(y + b * QUANT_VOCAB, logits + (b * QUANT_T + t) * QUANT_VOCAB,
                       QUANT_VOCAB * sizeof *y);
    }
    free(mem);
    free(work);
}

/* The size is exact. */
static void quant_fits(const tfn_model_desc *d)
{
    const size_t scratch = tfn_model_scratch(d);
    void *work = malloc(scratch);
    const size_t size = tfn_model_size(d, work, scratch);
    void *mem = malloc(size);
    tfn_model m;
    CHECK(size > 0);
    CHECK_INT(tfn_model_init(&m, d, mem, size - 1), TFN_NO_MEMORY);
    CHECK_INT(tfn_model_init(&m, d, mem, size), TFN_OK);
    free(mem);
    free(work);
}

/* A saved and loaded model is the same. */
static void quant_saves(tfn_model *q)
{
    static unsigned char bytes[400000];
    tfn_file file, two[2];
    tfn_model_desc d;
    tfn_model again;
    char text[300];
    int64_t step;
    memset(&file, 0, sizeof file);
    file.to = bytes;
    file.to_size = sizeof bytes;
    if (tfn_model_save(&file, q, NULL) != TFN_OK)
        FAIL("%s", tfn_error_text(&file.error, text, sizeof text));
    file.from = bytes;
    file.from_size = (size_t)file.used;
    if (tfn_model_peek(&file, &d, &step) != TFN_OK)
        FAIL("%s", tfn_error_text(&file.error, text, sizeof text));
    CHECK_INT(d.weights, q->desc.weights);
    CHECK(d.inference);
    d.threads = 1;
    if (!quant_new(&again, &d)) return;
    if (tfn_model_load(&again, &file) != TFN_OK)
        FAIL("%s", tfn_error_text(&file.error, text, sizeof text));
    CHECK(tfn_model_hash(&again) == tfn_model_hash(q));
    two[0] = two[1] = file;                             /* packed weights have no mean */
    CHECK_INT(tfn_model_load_weights(&again, two, 2), TFN_UNSUPPORTED);
    CHECK(tfn_model_hash(&again) == tfn_model_hash(q) && again.error.status == TFN_OK);
    quant_fits(&d);
    tfn_model_free(&again);
}

/* A file in memory, of which one call fails (-1: none). */
typedef struct quant_disk {
    const unsigned char *bytes;
    int calls, fails;
} quant_disk;
static bool quant_get(void *user, uint64_t at, void *to, size_t bytes)
{
    quant_disk *disk = (quant_disk *)user;
    if (disk->calls++ == disk->fails) return false;
    memcpy(to, disk->bytes + at, bytes);
    return true;
}

/* Whichever call fails, the first ones and then a sample, the model is unchanged or half loaded. */
static void quant_half_loads(const tfn_model_desc *d, const void *bytes, size_t size)
{
    quant_disk disk = { (const unsigned char *)bytes, 0, 0 };
    tfn_io io = { quant_get, NULL, &disk, 0 };
    int half = 0;
    io.size = size;
    for (disk.fails = 0; disk.fails < 9999; disk.fails += 1 + disk.fails / 8) {
        tfn_model m;
        tfn_file file;
        uint64_t hash;
        memset(&file, 0, sizeof file);
        file.io = &io;
        disk.calls = 0;
        if (!quant_new(&m, d)) return;
        hash = tfn_model_hash(&m);
        tfn_model_load(&m, &file);
        if (m.error.status == TFN_NOT_READY) half++;
        else CHECK(file.error.status == TFN_OK || tfn_model_hash(&m) == hash);
        tfn_model_free(&m);
        if (file.error.status == TFN_OK) break;
        CHECK_INT(file.error.status, TFN_BAD_FILE);
    }
    CHECK(half > 9 && disk.fails < 9999);
}

/* The same with LoRA. */
static void quant_loads_lora(tfn_file file, tfn_model_desc d, const tfn_model *wanted)
{
    tfn_model m;
    tfn_param_info p, q;
    char text[300];
    int packed = 0;
    d.inference = false;
    strcpy(d.groups[0].pattern, "*.weight");
    d.groups[0].rank = 3;
    if (!quant_new(&m, &d)) return;
    if (tfn_model_load_weights(&m, &file, 1) != TFN_OK)
        FAIL("%s", tfn_error_text(&file.error, text, sizeof text));
    for (int32_t i = 0, j = 0; tfn_model_param(&m, i, &p); i++) {
        if (!p.packed) continue;
        while (tfn_model_param(wanted, j, &q) && strcmp(q.name, p.name)) j++;
        CASE("%s", p.name);
        CHECK_BITS(p.packed, q.packed, q.bytes);
        packed++;
    }
    CHECK(packed > 9);
    tfn_model_free(&m);
}

/* Loads a file of floats into packed weights: they equal its model in floats, quantized. */
static void quant_loads(tfn_file file, tfn_model_desc d)
{
    tfn_model floats, wanted, found;
    tfn_param_info p;
    tfn_file two[2];
    char text[300];
    const tfn_weights type = d.weights;
    d.weights = TFN_WEIGHTS_FLOAT;
    if (!quant_new(&floats, &d)) return;
    CHECK_INT(tfn_model_load(&floats, &file), TFN_OK);
    d.weights = type;
    if (!quant_new(&wanted, &d) || !quant_new(&found, &d)) return;
    CHECK_INT(tfn_model_quantize(&wanted, &floats), TFN_OK);
    for (int32_t i = 0; tfn_model_param(&found, i, &p); i++)            /* overwrites old weights */
        if (p.packed) memset(p.packed, 0x5a, p.bytes);
    if (tfn_model_load(&found, &file) != TFN_OK)
        FAIL("%s", tfn_error_text(&file.error, text, sizeof text));
    CHECK(tfn_model_hash(&found) == tfn_model_hash(&wanted) && found.step == wanted.step);
    two[0] = two[1] = file;                             /* packed weights have no mean */
    CHECK_INT(tfn_model_load_weights(&found, two, 2), TFN_UNSUPPORTED);
    if (type == TFN_WEIGHTS_Q4) quant_half_loads(&d, file.from, file.from_size);
    /* a model that trains takes the weights, not their averages */
    if (!(d.ema > 0)) quant_loads_lora(file, d, &wanted);
    tfn_model_free(&found);
    tfn_model_free(&wanted);
    tfn_model_free(&floats);
}

static void quant_error(tfn_status status, tfn_error *e, const char *wanted);

TEST(quant_loads_floats)
{
    static unsigned char bytes[1 << 21];
    for (int arch = 0; arch < TFN_ARCH_COUNT; arch++) {
        tfn_model_desc d = quant_desc("pre", (tfn_arch)arch);
        quant_data data;
        tfn_model m, q;
        tfn_file file;
        d.ema = arch ? 0 : 0.5f;                        /* with averages, which are loaded */
        quant_draw(&data, d.arch);
        if (!quant_trained(&m, &d, &data)) return;
        memset(&file, 0, sizeof file);
        file.to = bytes;
        file.to_size = sizeof bytes;
        CHECK_INT(tfn_model_save(&file, &m, NULL), TFN_OK);
        file.from = bytes;
        file.from_size = (size_t)file.used;
        d.inference = true;
        for (int type = 1; type < TFN_WEIGHTS_COUNT; type++) {
            CASE("arch %d %s", arch, tfn_choice_name("weights", type));
            d.weights = (tfn_weights)type;
            quant_loads(file, d);
        }
        d.weights = TFN_WEIGHTS_Q8;                     /* packed weights are not packed again */
        if (!quant_new(&q, &d)) return;
        CHECK_INT(tfn_model_load(&q, &file), TFN_OK);
        CHECK_INT(tfn_model_save(&file, &q, NULL), TFN_OK);
        file.from_size = (size_t)file.used;
        tfn_model_free(&q);
        d.weights = TFN_WEIGHTS_Q4;
        if (!quant_new(&q, &d)) return;
        quant_error(tfn_model_load(&q, &file), &file.error, "weights is q8, the model has q4");
        memset(&file.error, 0, sizeof file.error);
        tfn_model_free(&q);
        d.weights = TFN_WEIGHTS_FLOAT;
        if (!quant_new(&q, &d)) return;
        quant_error(tfn_model_load(&q, &file), &file.error, "weights is q8, the model has float32");
        tfn_model_free(&q);
        tfn_model_free(&m);
    }
}

/* One recipe and architecture in each type. */
static void quant_recipe(const char *recipe, tfn_arch arch)
{
    tfn_model_desc d = quant_desc(recipe, arch);
    quant_data data;
    tfn_model m;
    quant_draw(&data, arch);
    if (!quant_trained(&m, &d, &data)) return;
    for (int type = 1; type < TFN_WEIGHTS_COUNT; type++) {
        const bool whole = type > TFN_WEIGHTS_Q4;
        const size_t floats = QUANT_B * QUANT_T * QUANT_VOCAB;
        float *logits = quant_floats((ptrdiff_t)floats, 0);
        const float *y;
        tfn_model q;
        tfn_model f;
        double most = 0.03;                     /* inputs are rounded to 8 bits */
        double error = 0;
        double size = 0;
        if (!strcmp(recipe, "prmsnorm")) most = 0.25;   /* divides by the size of three channels */
        CASE("%s arch %d %s", recipe, (int)arch, tfn_choice_name("weights", type));
        if (!quant_make(&q, &m, d, (tfn_weights)type)) break;
        memcpy(logits, tfn_model_logits(&q, &data.batch), floats * sizeof *logits);
        if (arch != TFN_ARCH_ENCODER) quant_decodes(&q, &data, logits);
        quant_saves(&q);
        if (quant_unpacked(&f, &q)) {
            y = tfn_model_logits(&f, &data.batch);
            if (whole) CHECK_BITS(y, logits, floats * sizeof *y);
            for (size_t i = 0; i < floats; i++) {
                error += (double)(y[i] - logits[i]) * (double)(y[i] - logits[i]);
                size += (double)y[i] * (double)y[i];
            }
            CHECK(sqrt(error) <= most * sqrt(size));
            tfn_model_free(&f);
        }
        free(logits);
        tfn_model_free(&q);
    }
    tfn_model_free(&m);
}

TEST(quant_recipes)
{
    const tfn_recipe *r;
    for (int32_t i = 0; (r = tfn_recipe_at(i)) != NULL; i++) {
        const tfn_norm_rule *norm = tfn_norm_find(r->norm);
        if (norm && (norm->flags & TFN_FLAG_WHOLE)) continue;       /* decoding differs */
        if (check_tier() < 2 && i % 4) continue;
        for (int arch = 0; arch < TFN_ARCH_COUNT; arch++) quant_recipe(r->name, (tfn_arch)arch);
    }
    if (check_tier() < 2) LEFT_OUT("three recipes of four");
}

/* Every instruction set of floats with the canonical bits, with its own one of integers. */
TEST(quant_model_bits)
{
    uint64_t first = 0;
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        tfn_model_desc d = quant_desc("pre", TFN_ARCH_DECODER);
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        quant_data data;
        tfn_model m;
        uint64_t hash = 0;
        if (!k || !k->fma) continue;
        d.isa = TFN_ISA_PLAIN;
        quant_draw(&data, d.arch);
        if (!quant_trained(&m, &d, &data)) return;
        d.isa = (tfn_isa)isa;
        for (int type = 1; type < TFN_WEIGHTS_COUNT; type++) {
            tfn_model q;
            const float *y;
            if (!quant_make(&q, &m, d, (tfn_weights)type)) return;
            y = tfn_model_logits(&q, &data.batch);
            for (int i = 0; i < QUANT_B * QUANT_T * QUANT_VOCAB; i++) {
                uint32_t u;
                memcpy(&u, y + i, sizeof u);
                hash = hash * 31 + u;
            }
            tfn_model_free(&q);
        }
        tfn_model_free(&m);
        CASE("%s", k->name);
        if (!first) first = hash;
        CHECK(hash == first);
    }
}

/* LoRA on 16-bit weights equals LoRA on floats of the same values, to the bit, with its gradients.
 * On Q8 and Q4 its gradients are similar. The packed weights do not change. */
TEST(quant_lora)
{
    for (int type = 1; type < TFN_WEIGHTS_COUNT; type++) {
        tfn_model_desc d = quant_desc("pre", TFN_ARCH_DECODER);
        quant_data data;
        tfn_model base, q, f;
        static float logits[QUANT_B * QUANT_T * QUANT_VOCAB];
        float *g, *h;
        int64_t floats, other;
        uint64_t before;
        double dot = 0, gg = 0, hh = 0;
        CASE("%s", tfn_choice_name("weights", type));
        quant_draw(&data, d.arch);
        if (!quant_trained(&base, &d, &data)) return;
        strcpy(d.groups[0].pattern, "*.weight");
        d.groups[0].rank = 3;
        d.weights = (tfn_weights)type;
        if (!quant_new(&q, &d)) return;
        CHECK(tfn_model_quantize(&q, &base) == TFN_OK);
        if (!quant_unpacked(&f, &q)) return;
        before = tfn_model_hash(&q);
        memcpy(logits, tfn_model_logits(&q, &data.batch), sizeof logits);
        if (type > TFN_WEIGHTS_Q4)
            CHECK_BITS(tfn_model_logits(&f, &data.batch), logits, sizeof logits);
        for (int step = 0; step < 3; step++) {
            CHECK(tfn_model_step(&q, &data.batch, NULL) == TFN_OK);
            CHECK(tfn_model_step(&f, &data.batch, NULL) == TFN_OK);
        }
        CHECK(before != tfn_model_hash(&q));
        g = tfn_model_gradients(&q, &floats);
        h = tfn_model_gradients(&f, &other);
        CHECK_INT(floats, other);
        if (type > TFN_WEIGHTS_Q4) CHECK_BITS(g, h, (size_t)floats * sizeof *g);
        for (int64_t i = 0; i < floats; i++) {
            dot += (double)g[i] * (double)h[i];
            gg += (double)g[i] * (double)g[i];
            hh += (double)h[i] * (double)h[i];
        }
        CHECK(gg > 0 && dot / sqrt(gg * hh) > 0.99);
        tfn_model_free(&q);
        tfn_model_free(&f);
        tfn_model_free(&base);
    }
}

static void quant_error(tfn_status status, tfn_error *e, const char *wanted)
{
    char text[300];
    CHECK(status != TFN_OK);
    tfn_error_text(e, text, sizeof text);
    if (!strstr(text, wanted)) FAIL("\"%s\" lacks \"%s\"", text, wanted);
}

TEST(quant_model_errors)
{
    tfn_model_desc d = quant_desc("pre", TFN_ARCH_DECODER);
    tfn_model m, q;
    if (!quant_new(&m, &d)) return;
    d.weights = TFN_WEIGHTS_Q8;
    quant_error(tfn_model_new(&q, &d, NULL), &q.error, "weights of fewer bits do not train");
    d.inference = true;
    d.recipe = "sigma-reparam";
    quant_error(tfn_model_new(&q, &d, NULL), &q.error, "only linear maps and embeddings read");
    d.recipe = "pre";
    d.ffn = 90;
    if (!quant_new(&q, &d)) return;
    quant_error(tfn_model_quantize(&q, &m), &q.error, "ffn differs");
    tfn_model_free(&q);
    d.ffn = 80;
    if (!quant_new(&q, &d)) return;
    quant_error(tfn_model_quantize(&q, &q), &q.error, "they are 1 and 1");
    tfn_model_free(&q);
    if (!quant_new(&q, &d)) return;
    quant_error(tfn_model_fold(&q, &m), &q.error, "fold, then quantize");
    tfn_model_free(&q);
    CHECK_INT(tfn_model_quantize(NULL, &m), TFN_NULL);
    CHECK_INT(tfn_model_quantize(&m, NULL), TFN_NULL);
    tfn_model_free(&m);
}

/* Pairs of models that cannot be folded or packed: the text of the error; NULL: `to` has none. */
TEST(quant_pairs_refused)
{
    enum { FLOATS, FOLDED, PACKED, PACKED_FOLDED, NO_BIAS, LORA, BROKEN, MODELS };
    static const struct { int to, from; bool fold; const char *text; } rows[] = {
        { FOLDED, PACKED, true, "weights are 1, but only floats (0) can be folded" },
        { FOLDED, FOLDED, true, "fold: the models must have the same options, but folded" },
        { LORA, FLOATS, true, "fold: the models must have the same options, but folded" },
        { FOLDED, BROKEN, true, NULL },
        { FLOATS, FLOATS, false, "they are 0 and 0" },
        { PACKED_FOLDED, FLOATS, false, "same options but weights: folded differs" },
        { PACKED, NO_BIAS, false, ".bias has another shape" },
        { PACKED, BROKEN, false, NULL }
    };
    tfn_model_desc d = quant_desc("pre", TFN_ARCH_DECODER);
    tfn_model m[MODELS], broken;
    tfn_error e;
    d.inference = true;
    for (int i = 0; i < BROKEN; i++) {
        tfn_model_desc c = d;
        c.folded = i == FOLDED || i == PACKED_FOLDED;
        if (i == PACKED || i == PACKED_FOLDED) c.weights = TFN_WEIGHTS_Q8;
        c.no_bias = i == NO_BIAS;
        if (i == LORA) CHECK(tfn_group_add(&c, "*.q.weight rank=2", &e));
        if (!quant_new(m + i, &c)) return;
    }
    d.vocab = 0;
    CHECK_INT(tfn_model_init(&broken, &d, NULL, 0), TFN_BAD_OPTION);
    m[BROKEN] = broken;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model *to = m + rows[i].to;
        tfn_status status = rows[i].fold ? tfn_model_fold(to, m + rows[i].from)
                                         : tfn_model_quantize(to, m + rows[i].from);
        CASE("row %d", (int)i);
        CHECK_INT(status, TFN_BAD_OPTION);
        if (rows[i].text) quant_error(status, &to->error, rows[i].text);
        else CHECK_INT(to->error.status, TFN_OK);
        to->error.status = TFN_OK;
    }
    /* a bad batch is no error of the model */
    CHECK(!tfn_model_logits(m + FLOATS, NULL) && m[FLOATS].error.status == TFN_BAD_BATCH);
    CHECK_INT(tfn_model_fold(m + FOLDED, m + FLOATS), TFN_OK);
    CHECK_INT(tfn_model_quantize(m + PACKED, m + FLOATS), TFN_OK);
    for (int i = 0; i < BROKEN; i++) tfn_model_free(m + i);
}

int main(void)
{
    RUN(quant_products);
    RUN(quant_extremes);
    RUN(quant_halves);
    RUN(quant_all_halves);
    RUN(quant_errors);
    RUN(quant_search);
    RUN(quant_not_finite);
    RUN(quant_packed_tables);
    RUN(quant_refused);
    RUN(quant_loads_floats);
    RUN(quant_recipes);
    RUN(quant_model_bits);
    RUN(quant_lora);
    RUN(quant_model_errors);
    RUN(quant_pairs_refused);
    return DONE();
}
