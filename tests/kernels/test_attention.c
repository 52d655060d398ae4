/* Attention against a naive reference in double. Bits are equal for every instruction set, for a
 * sentence by itself, in any strip, and row by row from a cache. Masked keys may hold anything.
 * With TFN__DOUBLE (test_attention_double.c): gradients against central differences. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef TFN__DOUBLE
#define ATTENTION_CLOSE 1e-13
#else
#define ATTENTION_CLOSE 1e-5
#endif
#include "../lib.h"
#include "../check.h"

#define ATTENTION_EACH_ISA(k)                                                                  \
    for (int isa_ = 1; isa_ < TFN_ISA_COUNT; isa_++)                                           \
        for (const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa_); k; k = NULL)
#define ATTENTION_GAP 3              /* floats between two rows of a matrix */
#define ATTENTION_WORK 7             /* floats after the work area, which must not change */

enum { ATTENTION_FULL, ATTENTION_CAUSAL };

/* lengths: "" for none, else a digit for each sentence, in eighths of tk; + and - are out of
 * range. */
typedef struct attention_case {
    int32_t batch, tq, tk, heads, kv_heads, size, causal;
    const char *lengths;
    float dropout;
    bool add;
    float cap;
    int32_t window;
    bool bias;
    int32_t ahead;
} attention_case;

static const attention_case attention_cases[] = {
    /* B  Tq   Tk  H  G  D */
    { 2,   7,   7, 4, 2,  8, ATTENTION_CAUSAL, "", 0, false, 0, 0, false },
    { 1,   1,   1, 1, 1,  1, ATTENTION_CAUSAL, "", 0, false, 0, 0, false },
    { 3,  17,  17, 2, 1,  3, ATTENTION_FULL, "807", 0, false, 0, 0, false },
    { 3,  33,  50, 6, 2, 33, ATTENTION_FULL, "385", 0, true, 0, 0, false },
    { 2, 100, 100, 3, 3,  1, ATTENTION_CAUSAL, "81", 0, true, 0, 0, false },
    { 2, 129, 129, 2, 2, 64, ATTENTION_CAUSAL, "", 0, false, 0, 0, false },
    { 4,  40,  90, 4, 4,  3, ATTENTION_FULL, "+-80", 0, false, 0, 0, false },
    { 2,  70,  45, 2, 1, 16, ATTENTION_CAUSAL, "58", 0, true, 0, 0, false },    /* more queries than keys */
    { 2,  45,  70, 2, 1, 16, ATTENTION_CAUSAL, "85", 0, false, 0, 0, false },      /* fewer */
    { 1, 107, 107, 6, 2, 16, ATTENTION_CAUSAL, "7", (float)0.3, false, 0, 0, false },
    { 2,  35, 301, 1, 1, 33, ATTENTION_FULL, "83", (float)0.1, true, 0, 0, false },
    { 1,  65, 410, 2, 2, 130, ATTENTION_FULL, "", 0, false, 0, 0, false },
    { 2,  64,  64, 2, 2, 64, ATTENTION_CAUSAL, "", (float)0.5, false, 0, 0, false },
    { 1,   2, 700, 3, 1,  8, ATTENTION_FULL, "", 0, false, 0, 0, false },
    { 2,  37,  37, 2, 1, 16, ATTENTION_CAUSAL, "84", 0, true, 2, 0, false },
    { 3,  35,  50, 6, 2, 33, ATTENTION_FULL, "385", (float)0.2, false, (float)0.5, 0, false },
    { 2, 100, 100, 2, 1, 16, ATTENTION_CAUSAL, "", 0, false, 0, 40, false },
    { 3, 200, 200, 4, 2, 24, ATTENTION_CAUSAL, "853", (float)0.25, true, 0, 33, true },
    { 1, 150, 150, 1, 1, 7, ATTENTION_CAUSAL, "", 0, false, 2, 1, false },
    { 2,  90,  90, 2, 2, 16, ATTENTION_CAUSAL, "-7", 0, false, 0, 64, true },
    { 2, 130, 130, 2, 1, 16, ATTENTION_CAUSAL, "", (float)0.5, false, 0, 200, false },
    { 4,  70,  45, 2, 1, 16, ATTENTION_CAUSAL, "5+83", 0, true, 0, 20, true },
    { 3,  33,  50, 6, 2, 33, ATTENTION_FULL, "385", (float)0.2, true, 0, 0, true },
    { 2,  64,  64, 2, 2, 64, ATTENTION_CAUSAL, "", 0, false, 0, 0, true },
    /* windows that reach ahead */
    { 3, 200, 200, 2, 1, 24, ATTENTION_CAUSAL, "873", (float)0.25, true, 0, 67, true, 33 },
    { 2, 100, 100, 2, 2, 16, ATTENTION_CAUSAL, "", 0, false, 0, 3, false, 1 },
    { 2,  70,  70, 4, 2,  8, ATTENTION_CAUSAL, "-5", 0, false, 2, 41, false, 20 },
    { 1,  33,  33, 1, 1,  3, ATTENTION_CAUSAL, "", 0, true, 0, 201, false, 100 },
    /* no queries */
    { 2,   0,   7, 2, 1,  8, ATTENTION_CAUSAL, "84", 0, false, 0, 0, false },
    { 2,   0,   7, 2, 1,  8, ATTENTION_FULL, "", 0, true, 0, 0, false },
};
#define ATTENTION_CASES ((int)(sizeof attention_cases / sizeof *attention_cases))

/* The arrays of a call: x holds q, k, v, dy, bias; out holds y, dq, dk, dv, dbias, stats. */
typedef struct attention_data {
    const attention_case *c;
    tfn_attention_args p;
    int32_t lengths[8];
    float  *x, *out;
    size_t  x_count, out_count;
    ptrdiff_t q_size, k_size, stats_size;     /* floats, with the gaps */
    ptrdiff_t bias_size;                      /* 0: none */
} attention_data;

static void *attention_alloc(size_t count)
{
    void *p = malloc((count ? count : 1) * sizeof(float));
    if (!p) exit(2);
    return p;
}

/* Fills the columns of a row with numbers and the gaps with NaN. */
static void attention_fill(float *x, ptrdiff_t count, ptrdiff_t cols, ptrdiff_t ld, uint64_t seed)
{
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = i % ld < cols ? tfn_random_normal(tfn_key_make(seed), (uint64_t)i) : (float)NAN;
}

static void attention_point(attention_data *a, float *x, float *out)
{
    tfn_attention_args *p = &a->p;
    p->q = x;
    p->dy = x + a->q_size;
    p->k = p->dy + a->q_size;
    p->v = p->k + a->k_size;
    p->y = out;
    p->dq = out + a->q_size;
    p->dk = p->dq + a->q_size;
    p->dv = p->dk + a->k_size;
    p->dbias = a->bias_size ? p->dv + a->k_size : NULL;
    p->stats = p->dv + a->k_size + a->bias_size;
    p->bias.at = a->bias_size ? p->v + a->k_size : NULL;
}

/* Fills the outputs with numbers to add to, also in the gaps, which must not change. */
static void attention_reset(attention_data *a)
{
    for (size_t i = 0; i < a->out_count; i++) a->out[i] = (float)((int)(i % 23) - 11) / 8;
}

static void attention_make(attention_data *a, const attention_case *c)
{
    tfn_attention_args *p = &a->p;
    ptrdiff_t cols = c->heads * c->size, k_cols = c->kv_heads * c->size;
    memset(a, 0, sizeof *a);
    a->c = c;
    p->batch = c->batch, p->tq = c->tq, p->tk = c->tk;
    p->heads = c->heads, p->kv_heads = c->kv_heads, p->head_size = c->size;
    p->q_ld = p->y_ld = cols + ATTENTION_GAP;
    p->k_ld = p->v_ld = k_cols + ATTENTION_GAP;
    p->scale = (float)(1.5 / sqrt((double)c->size));
    p->cap = c->cap;
    p->dropout = c->dropout;
    p->window = c->window;
    p->ahead = c->ahead;
    p->key = tfn_key_make(5);
    p->causal = c->causal == ATTENTION_CAUSAL;
    p->add_dq = p->add_dk = p->add_dv = c->add;
    for (int b = 0; c->lengths[b]; b++)
        a->lengths[b] = c->lengths[b] == '+' ? c->tk + 9 : c->lengths[b] == '-' ? -9
                      : (c->lengths[b] - '0') * c->tk / 8;
    p->lengths = *c->lengths ? a->lengths : NULL;
    a->q_size = c->batch * c->tq * p->q_ld;
    a->k_size = c->batch * c->tk * p->k_ld;
    a->stats_size = (ptrdiff_t)c->batch * c->tq * c->heads * 2;
    p->bias.zero = c->tq - 1;
    p->bias.head = c->tq + c->tk - 1;
    p->bias.sentence = c->heads * p->bias.head;
    if (c->bias) a->bias_size = c->batch * p->bias.sentence;
    a->x_count = (size_t)(2*a->q_size + 2*a->k_size + a->bias_size);
    a->out_count = (size_t)(2*a->q_size + 2*a->k_size + a->bias_size + a->stats_size);
    a->x = attention_alloc(a->x_count);
    a->out = attention_alloc(a->out_count);
    attention_point(a, a->x, a->out);
    attention_fill(a->x, 2*a->q_size, cols, p->q_ld, 1);
    attention_fill(a->x + 2*a->q_size, 2*a->k_size, k_cols, p->k_ld, 2);
    attention_fill(a->x + 2*a->q_size + 2*a->k_size, a->bias_size, 1, 1, 3);
    attention_reset(a);
}

static void attention_free(attention_data *a)
{
    free(a->x);
    free(a->out);
}

/* Runs pairs [first, last) in a work area full of NaN, with a guard after it. */
static void attention_pairs(const tfn_kernels *k, const tfn_attention_args *p, ptrdiff_t first,
                            ptrdiff_t last)
{
    size_t n = (size_t)k->attention_work(p->tq, p->tk, p->head_size);
    float *work = attention_alloc(n + ATTENTION_WORK);
    for (size_t i = 0; i < n; i++) work[i] = (float)NAN;
    for (size_t i = n; i < n + ATTENTION_WORK; i++) work[i] = 77;
    k->attention_forward(p, first, last, work);
    for (size_t i = 0; i < n; i++) work[i] = (float)NAN;
    k->attention_backward(p, first, last, work);
    for (size_t i = n; i < n + ATTENTION_WORK; i++) CHECK(work[i] == (float)77);
    free(work);
}

static void attention_run(const tfn_kernels *k, attention_data *a)
{
    attention_reset(a);
    attention_pairs(k, &a->p, 0, a->p.batch * a->p.kv_heads);
}

static int32_t attention_keys(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i)
{
    ptrdiff_t n = p->tk;
    if (p->lengths && p->lengths[b] < n) n = p->lengths[b] > 0 ? p->lengths[b] : 0;
    if (p->causal && i + 1 + p->ahead < n) n = i + 1 + p->ahead;
    return (int32_t)n;
}

/* The first key that query i reads, if it sees n keys. */
static int32_t attention_first(const tfn_attention_args *p, ptrdiff_t i, int32_t n)
{
    ptrdiff_t first = 0;
    if (p->ahead > 0) first = i - p->ahead;
    else if (p->window > 0) first = n - p->window;
    if (first >= n) first = n - 1;
    return first > 0 ? (int32_t)first : 0;
}

/* -- the reference ------------------------------------------------------------------------ */

static double attention_dot(const float *a, const float *b, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Row i of head h of sentence b: stores y at its place in out; adds to dq, dk, dv. */
static void attention_reference_row(const attention_data *a, double *out, ptrdiff_t b, ptrdiff_t i,
                                    ptrdiff_t h)
{
    const tfn_attention_args *p = &a->p;
    int32_t d = p->head_size, n = attention_keys(p, b, i), low = attention_first(p, i, n);
    ptrdiff_t bias = b*p->bias.sentence + h*p->bias.head + p->bias.zero - i;
    ptrdiff_t g = h * p->kv_heads / p->heads, at = (b*p->tq + i) * p->q_ld + h*d;
    double *w = (double *)malloc((size_t)(4*p->tk + 1) * sizeof *w), *keep = w + p->tk, sum = 0;
    double *score = keep + p->tk;
    double *y = out + at, *dq = out + a->q_size + at, *dk = out + 2*a->q_size;
    double max = -1e300, dot = 0;
    uint64_t first = (((uint64_t)(b*p->heads + h) << 20) + (uint64_t)i) << 20;
    float *mask = attention_alloc((size_t)p->tk);
    for (int32_t j = 0; j < n; j++) mask[j] = 1;
    if (p->dropout > 0)
        tfn_kernels_for(TFN_ISA_PLAIN)->dropout(mask, mask, n, p->dropout, p->key, first, false);
    for (int32_t j = low; j < n; j++) {
        const float *k = p->k + (b*p->tk + j) * p->k_ld + g*d;
        keep[j] = (double)mask[j];
        w[j] = attention_dot(p->q + at, k, d) * (double)p->scale;
        if (p->cap > 0) w[j] = (double)p->cap * tanh(w[j] / (double)p->cap);
        score[j] = w[j];
        if (p->bias.at) w[j] += (double)p->bias.at[bias + j];
        max = w[j] > max ? w[j] : max;
    }
    for (int32_t j = low; j < n; j++) sum += w[j] = exp(w[j] - max);
    for (int32_t c = 0; c < d; c++) y[c] = 0;
    for (int32_t j = low; j < n; j++) {
        const float *v = p->v + (b*p->tk + j) * p->v_ld + g*d;
        w[j] /= sum;
        for (int32_t c = 0; c < d; c++) y[c] += w[j] * keep[j] * (double)v[c];
    }
    for (int32_t c = 0; c < d; c++) dot += y[c] * (double)p->dy[at + c];
    for (int32_t j = low; j < n; j++) {
        ptrdiff_t key = (b*p->tk + j) * p->k_ld + g*d;
        double ds = attention_dot(p->dy + at, p->v + key, d) * keep[j];
        ds = w[j] * (ds - dot) * (double)p->scale;
        if (p->dbias) out[2*a->q_size + 2*a->k_size + bias + j] += ds / (double)p->scale;
        if (p->cap > 0) ds *= 1 - pow(score[j] / (double)p->cap, 2);
        for (int32_t c = 0; c < d; c++) {
            dq[c] += ds * (double)p->k[key + c];
            dk[key + c] += ds * (double)p->q[at + c];
            dk[a->k_size + key + c] += w[j] * keep[j] * (double)p->dy[at + c];
        }
    }
    free(mask);
    free(w);
}

/* y, dq, dk, dv as doubles; without stats. */
static double *attention_reference(attention_data *a)
{
    size_t n = a->out_count - (size_t)a->stats_size;
    double *out = (double *)malloc(n * sizeof *out);
    if (!out) exit(2);
    attention_reset(a);
    for (size_t i = 0; i < n; i++) {
        bool is_q = i < (size_t)(2*a->q_size);
        ptrdiff_t at = is_q ? (ptrdiff_t)i : (ptrdiff_t)i - 2*a->q_size;
        ptrdiff_t ld = is_q ? a->p.q_ld : a->p.k_ld;
        bool gap = at % ld >= ld - ATTENTION_GAP;
        bool bias = at >= 2*a->k_size && !is_q;
        out[i] = gap || bias || a->c->add ? (double)a->out[i] : 0;
    }
    for (ptrdiff_t b = 0; b < a->p.batch; b++)
        for (ptrdiff_t i = 0; i < a->p.tq; i++)
            for (ptrdiff_t h = 0; h < a->p.heads; h++) attention_reference_row(a, out, b, i, h);
    return out;
}

static double attention_error(const float *x, const double *wanted, ptrdiff_t n)
{
    double worst = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double e = fabs((double)x[i] - wanted[i]) / (1 + fabs(wanted[i]));
        worst = check_worse(worst, e);
    }
    return worst;
}

TEST(attention_reference_test)
{
    static const char *const names[] = { "y", "dq", "dk", "dv", "dbias" };
    for (int i = 0; i < ATTENTION_CASES; i++) {
        attention_data a;
        double *wanted;
        attention_make(&a, &attention_cases[i]);
        wanted = attention_reference(&a);
        ATTENTION_EACH_ISA(k) {
            double e[5];
            attention_run(k, &a);
            e[0] = attention_error(a.p.y, wanted, a.q_size);
            e[1] = attention_error(a.p.dq, wanted + a.q_size, a.q_size);
            e[2] = attention_error(a.p.dk, wanted + 2*a.q_size, a.k_size);
            e[3] = attention_error(a.p.dv, wanted + 2*a.q_size + a.k_size, a.k_size);
            e[4] = attention_error(a.p.dv + a.k_size, wanted + 2*a.q_size + 2*a.k_size, a.bias_size);
            for (int j = 0; j < 5; j++)
                if (!(e[j] <= ATTENTION_CLOSE))
                    FAIL("case %d, %s: %s is off by %.3g", i, k->name,
                         names[j], e[j]);
        }
        free(wanted);
        attention_free(&a);
    }
}

/* -- equal bits --------------------------------------------------------------------------- */

TEST(attention_same_bits)
{
    for (int i = 0; i < ATTENTION_CASES; i++) {
        attention_data a;
        const char *first = NULL;
        float *out;
        attention_make(&a, &attention_cases[i]);
        out = attention_alloc(a.out_count);
        ATTENTION_EACH_ISA(k) {
            if (!k->fma) continue;
            attention_run(k, &a);
            if (first && memcmp(out, a.out, a.out_count * sizeof *out))
                FAIL("case %d: %s and %s differ", i, first, k->name);
            first = k->name;
            memcpy(out, a.out, a.out_count * sizeof *out);
        }
        free(out);
        attention_free(&a);
    }
}

/* One pair at a time, from last to first, gives the same as one call, so threads may share them. */
TEST(attention_pairs_alone)
{
    for (int i = 0; i < ATTENTION_CASES; i++) {
        const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
        attention_data a;
        float *out;
        attention_make(&a, &attention_cases[i]);
        out = attention_alloc(a.out_count);
        attention_run(k, &a);
        memcpy(out, a.out, a.out_count * sizeof *out);
        attention_reset(&a);
        for (ptrdiff_t u = a.p.batch * a.p.kv_heads; u-- > 0;) attention_pairs(k, &a.p, u, u + 1);
        CHECK_BITS(a.out, out, a.out_count * sizeof *out);
        free(out);
        attention_free(&a);
    }
}

static void attention_same_rows(const char *what, const float *x, ptrdiff_t x_ld, const float *y,
                                ptrdiff_t y_ld, ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        if (memcmp(x + r*x_ld, y + r*y_ld, (size_t)cols * sizeof *x)) {
            FAIL("%s: row %d differs", what, (int)r);
            return;
        }
}

/* Compares sentence b of a with the same in a batch by itself, without padding and gaps. The mask
 * of dropout depends on the sentence's number, so with dropout only sentence 0 is compared. */
static void attention_compare_alone(const tfn_kernels *k, const attention_data *a, ptrdiff_t b)
{
    const tfn_attention_args *p = &a->p;
    const ptrdiff_t tk = p->lengths ? p->lengths[b] : p->tk, at = b*p->tq, key = b*p->tk;
    const ptrdiff_t cols = p->heads * p->head_size, k_cols = p->kv_heads * p->head_size;
    float *t = attention_alloc((size_t)(p->tq * 5*cols + tk * 4*k_cols)), *s = t;
    tfn_attention_args o = *p;
    float *q = s, *dy = q + p->tq*cols, *kk = dy + p->tq*cols, *v = kk + tk*k_cols;
    o.batch = 1;
    o.tk = tk;
    o.lengths = NULL;
    o.dbias = NULL;
    if (o.bias.at) o.bias.at += b * p->bias.sentence;
    o.q_ld = o.y_ld = cols;
    o.k_ld = o.v_ld = k_cols;
    for (ptrdiff_t r = 0; r < p->tq; r++) {
        memcpy(q + r*cols, p->q + (at + r)*p->q_ld, (size_t)cols * sizeof *q);
        memcpy(dy + r*cols, p->dy + (at + r)*p->y_ld, (size_t)cols * sizeof *q);
    }
    for (ptrdiff_t r = 0; r < tk; r++) {
        memcpy(kk + r*k_cols, p->k + (key + r)*p->k_ld, (size_t)k_cols * sizeof *q);
        memcpy(v + r*k_cols, p->v + (key + r)*p->v_ld, (size_t)k_cols * sizeof *q);
    }
    o.q = q, o.dy = dy, o.k = kk, o.v = v;
    o.y = v + tk*k_cols, o.dq = o.y + p->tq*cols, o.stats = attention_alloc((size_t)a->stats_size);
    o.dk = o.dq + p->tq*cols, o.dv = o.dk + tk*k_cols;
    attention_pairs(k, &o, 0, o.kv_heads);
    attention_same_rows("y alone", o.y, cols, p->y + at*p->y_ld, p->y_ld, p->tq, cols);
    attention_same_rows("dq alone", o.dq, cols, p->dq + at*p->q_ld, p->q_ld, p->tq, cols);
    attention_same_rows("dk alone", o.dk, k_cols, p->dk + key*p->k_ld, p->k_ld, tk, k_cols);
    attention_same_rows("dv alone", o.dv, k_cols, p->dv + key*p->v_ld, p->v_ld, tk, k_cols);
    attention_same_rows("stats alone", o.stats, 2*p->heads, p->stats + at*2*p->heads, 2*p->heads,
                        p->tq, 2*p->heads);
    free(o.stats);
    free(t);
}

TEST(attention_sentence_alone)
{
    for (int i = 0; i < ATTENTION_CASES; i++) {
        attention_data a;
        attention_make(&a, &attention_cases[i]);
        for (int b = 0; b < 8; b++)
            a.lengths[b] = a.lengths[b] < 0 ? 0 : a.lengths[b] > a.c->tk ? a.c->tk : a.lengths[b];
        a.p.add_dq = a.p.add_dk = a.p.add_dv = false;
        ATTENTION_EACH_ISA(k) {
            attention_run(k, &a);
            for (ptrdiff_t b = 0; b < (a.p.dropout > 0 ? 1 : a.p.batch); b++)
                attention_compare_alone(k, &a, b);
        }
        attention_free(&a);
    }
}

/* -- masks ---------------------------------------------------------------------------------- */

/* Keys and values that no query sees hold NaN; their gradients are 0, or their old values. */
TEST(attention_masked_nan)
{
    for (int i = 0; i < ATTENTION_CASES; i++) {
        attention_data a;
        float *out;
        attention_make(&a, &attention_cases[i]);
        out = attention_alloc(a.out_count);
        ATTENTION_EACH_ISA(k) {
            const ptrdiff_t k_cols = a.p.k_ld - ATTENTION_GAP;
            attention_fill(a.x + 2*a.q_size, 2*a.k_size, k_cols, a.p.k_ld, 2);
            attention_run(k, &a);
            memcpy(out, a.out, a.out_count * sizeof *out);
            for (ptrdiff_t b = 0; b < a.p.batch; b++)
                for (ptrdiff_t j = attention_keys(&a.p, b, a.p.tq - 1); j < a.p.tk; j++)
                    for (ptrdiff_t c = 0; c < a.p.k_ld; c++) {
                        const ptrdiff_t at = (b*a.p.tk + j)*a.p.k_ld + c;
                        a.x[2*a.q_size + at] = a.x[2*a.q_size + a.k_size + at] = (float)NAN;
                        if (c < k_cols && !a.c->add)
                            CHECK(a.p.dk[at] == 0 && a.p.dv[at] == 0 && !signbit(a.p.dk[at]));
                    }
            attention_run(k, &a);
            CHECK_BITS(a.out, out, a.out_count * sizeof *out);
        }
        free(out);
        attention_free(&a);
    }
}

/* A causal row does not see later rows, not even infinity or NaN in its own strip. */
TEST(attention_causality)
{
    static const int32_t times[] = { 1, 5, 8, 31, 32, 33, 47, 64, 69 };
    static const attention_case c = { 2, 70, 70, 2, 1, 24, ATTENTION_CAUSAL, "", 0, false, 0 };
    attention_data a;
    float *out;
    attention_make(&a, &c);
    out = attention_alloc(a.out_count);
    ATTENTION_EACH_ISA(k) {
        attention_fill(a.x, 2*a.q_size, c.heads * c.size, a.p.q_ld, 1);
        attention_fill(a.x + 2*a.q_size, 2*a.k_size, c.kv_heads * c.size, a.p.k_ld, 2);
        attention_run(k, &a);
        memcpy(out, a.out, a.out_count * sizeof *out);
        for (int n = (int)(sizeof times / sizeof *times); n-- > 0;) {
            const ptrdiff_t t = times[n];
            for (ptrdiff_t b = 0; b < 2; b++)
                for (ptrdiff_t i = t; i < c.tk; i++)
                    for (ptrdiff_t j = 0; j < c.size; j++) {
                        const ptrdiff_t row = (b*c.tk + i)*a.p.k_ld + j;
                        a.x[2*a.q_size + row] = j % 2 ? (float)NAN : (float)INFINITY;
                        a.x[2*a.q_size + a.k_size + row] = (float)-INFINITY;
                        a.x[(b*c.tq + i)*a.p.q_ld + j] = (float)NAN;
                    }
            attention_run(k, &a);
            for (ptrdiff_t b = 0; b < 2; b++) {
                const ptrdiff_t at = b*c.tq*a.p.q_ld;
                attention_same_rows("y", a.p.y + at, a.p.q_ld, out + at, a.p.q_ld, t, 48);
                attention_same_rows("dq", a.p.dq + at, a.p.q_ld, out + a.q_size + at, a.p.q_ld,
                                    t, 48);
            }
        }
    }
    free(out);
    attention_free(&a);
}

/* Gradients that are not requested are not written and do not change the others; without stats the
 * forward is the same. */
TEST(attention_some_gradients)
{
    for (int i = 0; i < ATTENTION_CASES; i++) {
        const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
        attention_data a;
        float *out, *work;
        attention_make(&a, &attention_cases[i]);
        out = attention_alloc(a.out_count);
        work = attention_alloc((size_t)k->attention_work(a.p.tq, a.p.tk, a.p.head_size));
        attention_run(k, &a);
        memcpy(out, a.out, a.out_count * sizeof *out);
        for (int mask = 0; mask < 8; mask++) {
            const size_t q_bytes = (size_t)a.q_size * sizeof *out;
            const size_t k_bytes = (size_t)a.k_size * sizeof *out;
            attention_data o = a;
            attention_reset(&o);
            o.p.stats = NULL;
            k->attention_forward(&o.p, 0, o.p.batch * o.p.kv_heads, work);
            CHECK_BITS(o.p.y, out, q_bytes);
            o.p.stats = out + 2*a.q_size + 2*a.k_size + a.bias_size;
            if (mask & 1) o.p.dq = NULL;
            if (mask & 2) o.p.dk = NULL;
            if (mask & 4) o.p.dv = NULL;
            k->attention_backward(&o.p, 0, o.p.batch * o.p.kv_heads, work);
            if (o.p.dq) CHECK_BITS(o.p.dq, out + a.q_size, q_bytes);
            if (o.p.dk) CHECK_BITS(o.p.dk, out + 2*a.q_size, k_bytes);
            if (o.p.dv) CHECK_BITS(o.p.dv, out + 2*a.q_size + a.k_size, k_bytes);
        }
        free(out);
        free(work);
        attention_free(&a);
    }
}

/* -- the cache ------------------------------------------------------------------------------ */

/* Rows of k and v in the form of the decoder's cache, keys in lanes; sentence b is cache row
 * beam[b]. With a window it is a ring: of the keys that query i sees, later ones overwrite the
 * first. */
static void attention_cache(const attention_data *a, float *keys, float *values, ptrdiff_t capacity,
                            ptrdiff_t i, const int32_t *beam)
{
    const tfn_attention_args *p = &a->p;
    const ptrdiff_t d = p->head_size;
    for (ptrdiff_t n = 0; n < p->batch * p->kv_heads * d * capacity; n++)
        keys[n] = values[n] = (float)NAN;
    for (ptrdiff_t b = 0; b < p->batch; b++)
        for (ptrdiff_t g = 0; g < p->kv_heads; g++)
            for (ptrdiff_t j = 0; j < (p->window ? attention_keys(p, b, i) : p->tk); j++)
                for (ptrdiff_t c = 0; c < d; c++) {
                    const ptrdiff_t unit = beam[b] * p->kv_heads + g, place = j % capacity;
                    keys[(unit*d + c)*capacity + place] = p->k[(b*p->tk + j)*p->k_ld + g*d + c];
                    values[(unit*capacity + place)*d + c] = p->v[(b*p->tk + j)*p->v_ld + g*d + c];
                }
}

/* One row of every sentence from the cache. A causal one has a count, others have their lengths. */
static void attention_cached_row(const tfn_kernels *k, const attention_data *a,
                                 tfn_attention_cached_args *o, ptrdiff_t i, ptrdiff_t first)
{
    const tfn_attention_args *p = &a->p;
    const size_t n = (size_t)k->attention_work(0, o->capacity, o->head_size);
    float *y = o->y, *work = attention_alloc(n + ATTENTION_WORK);
    int32_t lengths[8];
    for (size_t j = 0; j < n; j++) work[j] = (float)NAN;
    for (size_t j = n; j < n + ATTENTION_WORK; j++) work[j] = 77;
    for (ptrdiff_t j = 0; j < p->batch * o->y_ld; j++) y[j] = 9;
    for (ptrdiff_t b = 0; b < p->batch; b++) lengths[b] = attention_keys(p, b, i);
    o->q = p->q + i*p->q_ld;
    o->q_ld = p->tq * p->q_ld;
    o->lengths = p->lengths ? lengths : NULL;
    o->count = i + 1;
    if (!p->lengths) o->count = attention_keys(p, 0, i);
    k->attention_cached(o, first, p->batch * p->kv_heads, work);
    k->attention_cached(o, 0, first, work);
    for (size_t j = n; j < n + ATTENTION_WORK; j++) CHECK(work[j] == (float)77);
    attention_same_rows("cached", y, o->y_ld, p->y + i*p->y_ld, p->tq * p->y_ld, p->batch,
                        p->heads * p->head_size);
    for (ptrdiff_t j = o->y_ld - ATTENTION_GAP; j < o->y_ld; j++) CHECK(y[j] == (float)9);
    free(work);
}

TEST(attention_from_cache)
{
    static const int32_t beam[] = { 2, 0, 3, 1 }, one[] = { 0, 1, 2, 3 }, two[] = { 1, 0 };
    for (int i = 0; i < ATTENTION_CASES; i++) {
        attention_case c = attention_cases[i];
        ptrdiff_t capacity = c.tk + i % 3;
        tfn_attention_cached_args o;
        attention_data a;
        size_t size;
        float *keys, *values;
        if (c.ahead) continue;                  /* no decoder has that */
        c.dropout = 0;
        if (c.window) capacity = (c.window + i % 3 + 15) / 16 * 16;
        attention_make(&a, &c);
        size = (size_t)(c.batch * c.kv_heads * c.size * capacity);
        keys = attention_alloc(2*size);
        values = keys + size;
        memset(&o, 0, sizeof o);
        o.k_cache = keys;
        o.v_cache = values;
        o.beam = c.batch == 4 ? beam : c.batch == 2 ? two : NULL;
        o.batch = c.batch, o.capacity = capacity;
        o.heads = c.heads, o.kv_heads = c.kv_heads, o.head_size = c.size;
        o.scale = a.p.scale;
        o.cap = a.p.cap;
        o.window = a.p.window;
        o.bias = a.p.bias;
        o.y_ld = c.heads * c.size + ATTENTION_GAP;
        o.y = attention_alloc((size_t)(c.batch * o.y_ld));
        attention_cache(&a, keys, values, capacity, 0, o.beam ? o.beam : one);
        ATTENTION_EACH_ISA(k) {
            attention_run(k, &a);
            for (ptrdiff_t t = 0; t < c.tq; t++) {
                if (c.window)
                    attention_cache(&a, keys, values, capacity, t, o.beam ? o.beam : one);
                attention_cached_row(k, &a, &o, t, t % 2);
            }
        }
        free(o.y);
        free(keys);
        attention_free(&a);
    }
}

/* -- memory ------------------------------------------------------------------------------- */

TEST(attention_work_is_linear)
{
    ATTENTION_EACH_ISA(k) {
        ptrdiff_t a = k->attention_work(4096, 4096, 64), b = k->attention_work(8192, 8192, 64);
        CHECK(a > 0 && b <= 2*a + 4096);
        CHECK(k->attention_work(100000, 128, 64) <= k->attention_work(128, 128, 64) + 8);
        for (ptrdiff_t t = 1; t < 200; t++)           /* smaller shapes need no more room */
            CHECK(k->attention_work(t, t, 32) <= k->attention_work(t + 1, t + 1, 32));
    }
}

/* -- central differences -------------------------------------------------------------------- */

#ifdef TFN__DOUBLE
static double attention_loss(const tfn_kernels *k, attention_data *a, float *work)
{
    double sum = 0;
    k->attention_forward(&a->p, 0, a->p.batch * a->p.kv_heads, work);
    for (ptrdiff_t i = 0; i < a->q_size; i++)
        if (i % a->p.q_ld < a->p.q_ld - ATTENTION_GAP) sum += a->p.y[i] * a->p.dy[i];
    return sum;
}

static void attention_differences(const tfn_kernels *k, const attention_case *c)
{
    attention_data a;
    float *work = attention_alloc((size_t)k->attention_work(c->tq, c->tk, c->size)), *out;
    attention_make(&a, c);
    out = attention_alloc(a.out_count);
    attention_run(k, &a);
    memcpy(out, a.out, a.out_count * sizeof *out);
    for (int which = 0; which < 3; which++) {
        float *x = which == 0 ? a.x : a.x + 2*a.q_size + (which - 1)*a.k_size;
        const float *dx = which == 0 ? out + a.q_size : out + 2*a.q_size + (which - 1)*a.k_size;
        ptrdiff_t count = which ? a.k_size : a.q_size, ld = which ? a.p.k_ld : a.p.q_ld;
        for (ptrdiff_t i = 0; i < count; i++) {
            const double h = 1e-4, keep = x[i];
            double d[2];
            if (i % ld >= ld - ATTENTION_GAP) continue;
            for (int j = 0; j < 2; j++) {             /* Richardson: the error is of order h^4 */
                x[i] = keep + h * (1 + j);
                d[j] = attention_loss(k, &a, work);
                x[i] = keep - h * (1 + j);
                d[j] = (d[j] - attention_loss(k, &a, work)) / (2*h * (1 + j));
            }
            x[i] = keep;
            CHECK_CLOSE(dx[i], (4*d[0] - d[1]) / 3, 1e-9);
        }
    }
    free(out);
    free(work);
    attention_free(&a);
}

TEST(attention_central_differences)
{
    static const attention_case cases[] = {
        { 2, 7, 7, 4, 2, 8, ATTENTION_CAUSAL, "", 0, false, 0 },
        { 2, 35, 35, 2, 1, 3, ATTENTION_CAUSAL, "85", (float)0.2, false, 0 },
        { 3, 5, 9, 6, 2, 3, ATTENTION_FULL, "830", 0, false, 0 },
        { 2, 9, 5, 2, 2, 4, ATTENTION_FULL, "", (float)0.4, false, 0 },
        { 2, 7, 7, 4, 2, 8, ATTENTION_CAUSAL, "58", (float)0.2, false, 1 },
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
        attention_differences(tfn_kernels_for(TFN_ISA_BEST), &cases[i]);
}
#endif

int main(void)
{
    RUN(attention_reference_test);
    RUN(attention_same_bits);
    RUN(attention_pairs_alone);
    RUN(attention_sentence_alone);
    RUN(attention_masked_nan);
    RUN(attention_causality);
    RUN(attention_some_gradients);
    RUN(attention_from_cache);
    RUN(attention_work_is_linear);
#ifdef TFN__DOUBLE
    RUN(attention_central_differences);
#endif
    return DONE();
}
