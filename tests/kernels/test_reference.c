/* The section `reference` of the header, its formulas in plain loops, against the kernels of every
 * instruction set: the same bits with a fused multiply-add, nearly the same without. The reference
 * adds to gradients, so the kernels must add, too, to the same random numbers. */
#define TEST_EXACT
#include "../lib.h"
#include "../check.h"

enum { REFERENCE_MAX = 70000 };      /* floats of the largest array */

/* Sizes across the limits of lanes (16), vectors, tiles, strips (64), blocks (256, 384). */
typedef struct reference_size { ptrdiff_t rows, cols; } reference_size;
static const reference_size reference_sizes[] = {
    { 0, 5 }, { 3, 0 }, { 1, 1 }, { 2, 1 }, { 3, 2 }, { 5, 15 }, { 9, 16 }, { 4, 17 }, { 7, 33 },
    { 65, 48 }, { 2, 257 }, { 13, 1000 }, { 3, 5003 }, { 67, 401 }
};
#define REFERENCE_SIZES (sizeof reference_sizes / sizeof *reference_sizes)

/* Arrays of random numbers; each begins with the same numbers in every call. */
typedef struct reference_data { float *at[16]; } reference_data;

static reference_data reference_begin(void)
{
    reference_data d;
    for (int i = 0; i < 16; i++) {
        d.at[i] = (float *)malloc(REFERENCE_MAX * sizeof(float));
        if (!d.at[i]) exit(2);
        for (ptrdiff_t j = 0; j < REFERENCE_MAX; j++)
            d.at[i][j] = tfn_random_normal(tfn_key_make(14 + (uint64_t)i), (uint64_t)j);
    }
    return d;
}

static void reference_end(reference_data *d)
{
    for (int i = 0; i < 16; i++) free(d->at[i]);
}

/* Copies array `from`, the old values of a gradient, to array `to`. */
static void reference_copy(const reference_data *d, int to, int from)
{
    memcpy(d->at[to], d->at[from], REFERENCE_MAX * sizeof(float));
}

/* Reports the first of n numbers that differs: in any bit, or much, without an FMA. */
static void reference_compare(const char *name, const tfn_kernels *k, reference_size size,
                              const float *got, const float *wanted, ptrdiff_t n)
{
    const bool fma = tfn_kernels_for(TFN_ISA_PLAIN)->fma;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double most = 1e-4 * (1 + fabs((double)wanted[i]));
        if (!memcmp(got + i, wanted + i, sizeof *got)) continue;
        if (k->fma != fma && fabs((double)got[i] - (double)wanted[i]) <= most) continue;
        FAIL("%s, %s, (%d, %d): [%d] is %.9g, not %.9g", name, k->name, (int)size.rows,
             (int)size.cols, (int)i, (double)got[i], (double)wanted[i]);
        return;
    }
}

/* A test of one size: reference and kernels fill different arrays, which are compared. */
typedef void reference_case(const lib_reference *ref, const tfn_kernels *k,
                            const reference_data *d, reference_size size);

static void reference_each(reference_case *test)
{
    reference_data d = reference_begin();
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k) continue;
        for (size_t i = 0; i < REFERENCE_SIZES; i++)
            test(lib_reference_kernels(), k, &d, reference_sizes[i]);
    }
    reference_end(&d);
}

/* -- norms: 0 x, 1 gain, 2 bias, 3 dy, 4 gradients before; 8 to 15 outputs in pairs -- */

static void reference_norm_of(const lib_reference *ref, const tfn_kernels *k,
                              const reference_data *d, reference_size size, bool layer)
{
    const char *name = layer ? "LayerNorm" : "RMSNorm";
    const ptrdiff_t n = size.rows * size.cols;
    const float eps = (float)1e-5;
    float mean[2][128], rstd[2][128], dbias[2][5100];
    tfn_norm_args p;
    memset(&p, 0, sizeof p);
    p.kind = layer ? TFN_NORM_LAYER : TFN_NORM_RMS;
    p.x = d->at[0];
    p.gain = d->at[1];
    if (layer) p.bias = d->at[2];
    p.dy = d->at[3];
    p.y = d->at[8];
    p.mean = mean[0];
    p.rstd = rstd[0];
    p.dx = d->at[10];
    p.dgain = d->at[12];
    if (layer) p.dbias = dbias[0];
    p.rows = size.rows;
    p.cols = size.cols;
    p.eps = eps;
    p.add = true;
    p.add_params = true;
    for (int i = 8; i < 14; i++) reference_copy(d, i, 4);
    memcpy(dbias[0], d->at[5], sizeof dbias[0]);
    memcpy(dbias[1], d->at[5], sizeof dbias[1]);
    k->norm_forward(&p);
    k->norm_backward(&p);
    k->norm_params_backward(&p, 0, size.cols);
    if (size.cols <= 0) return;
    if (layer) {
        ref->layernorm_forward(d->at[9], mean[1], rstd[1], p.x, p.gain, p.bias, p.rows, p.cols,
                               eps);
        ref->layernorm_backward(d->at[11], d->at[13], dbias[1], p.dy, p.x, p.gain, mean[1],
                                rstd[1], p.rows, p.cols);
        reference_compare("mean of LayerNorm", k, size, mean[0], mean[1], p.rows);
        reference_compare("dbias of LayerNorm", k, size, dbias[0], dbias[1], p.cols);
    } else {
        ref->rmsnorm_forward(d->at[9], rstd[1], p.x, p.gain, p.rows, p.cols, eps);
        ref->rmsnorm_backward(d->at[11], d->at[13], p.dy, p.x, p.gain, rstd[1], p.rows, p.cols);
    }
    reference_compare("rstd of a norm", k, size, rstd[0], rstd[1], p.rows);
    reference_compare(name, k, size, d->at[8], d->at[9], n);
    reference_compare("dx of a norm", k, size, d->at[10], d->at[11], n);
    reference_compare("dgain of a norm", k, size, d->at[12], d->at[13], p.cols);
}

static void reference_layernorm_of(const lib_reference *ref, const tfn_kernels *k,
                                   const reference_data *d, reference_size size)
{
    reference_norm_of(ref, k, d, size, true);
}
TEST(reference_layernorm) { reference_each(reference_layernorm_of); }

static void reference_rmsnorm_of(const lib_reference *ref, const tfn_kernels *k,
                                 const reference_data *d, reference_size size)
{
    reference_norm_of(ref, k, d, size, false);
}
TEST(reference_rmsnorm) { reference_each(reference_rmsnorm_of); }

/* -- softmax -- */

static void reference_softmax_of(const lib_reference *ref, const tfn_kernels *k,
                                 const reference_data *d, reference_size size)
{
    const ptrdiff_t n = size.rows * size.cols;
    reference_copy(d, 10, 4);
    reference_copy(d, 11, 4);
    for (ptrdiff_t i = 0; i < n; i++) d->at[7][i] = 20 * d->at[0][i];       /* some below 2^-60 */
    k->softmax_forward(d->at[8], d->at[7], size.rows, size.cols);
    ref->softmax_forward(d->at[9], d->at[7], size.rows, size.cols);
    k->softmax_backward(d->at[10], d->at[3], d->at[8], size.rows, size.cols, true);
    ref->softmax_backward(d->at[11], d->at[3], d->at[8], size.rows, size.cols);
    reference_compare("softmax", k, size, d->at[8], d->at[9], n);
    reference_compare("dx of softmax", k, size, d->at[10], d->at[11], n + size.cols);
}
TEST(reference_softmax) { reference_each(reference_softmax_of); }

/* -- the linear map: rows of `cols` features, to another number of outputs -- */

static void reference_matmul(const tfn_kernels *k, tfn_matmul_args p)
{
    float *work = (float *)malloc((size_t)(k->matmul_work(p.m, p.n, p.k) + 1) * sizeof *work);
    if (!work) exit(2);
    k->matmul(&p, work);
    free(work);
}

/* c (m, n) = start + a b, by the strides of a and b. */
static tfn_matmul_args reference_product(float *c, const float *start, ptrdiff_t start_ld,
                                         const float *a, const float *b, ptrdiff_t m, ptrdiff_t n,
                                         ptrdiff_t k)
{
    tfn_matmul_args p;
    memset(&p, 0, sizeof p);
    p.c = c;
    p.start = start;
    p.start_ld = start_ld;
    p.a = a;
    p.b = b;
    p.m = m;
    p.n = n;
    p.k = k;
    p.c_ld = n;
    p.a_row = k;
    p.a_col = 1;
    p.b_row = n;
    p.b_col = 1;
    return p;
}

static void reference_linear_to(const lib_reference *ref, const tfn_kernels *k,
                                const reference_data *d, reference_size size, ptrdiff_t outs)
{
    const ptrdiff_t rows = size.rows, ins = size.cols;
    const float *x = d->at[0];
    const float *w = d->at[1];
    const float *bias = d->at[2];
    const float *dy = d->at[3];
    tfn_matmul_args p;
    if (ins * outs > REFERENCE_MAX || rows * outs > REFERENCE_MAX) return;
    for (int i = 8; i < 16; i++) reference_copy(d, i, 4);
    reference_matmul(k, reference_product(d->at[8], bias, 0, x, w, rows, outs, ins));
    p = reference_product(d->at[10], d->at[10], ins, dy, w, rows, ins, outs);      /* dy w^T */
    p.b_row = 1;
    p.b_col = outs;
    reference_matmul(k, p);
    p = reference_product(d->at[12], d->at[12], outs, x, dy, ins, outs, rows);     /* x^T dy */
    p.a_row = 1;
    p.a_col = ins;
    reference_matmul(k, p);
    k->column_sum(d->at[14], dy, rows, outs, outs, true);
    ref->linear_forward(d->at[9], x, w, bias, rows, ins, outs);
    ref->linear_backward(d->at[11], d->at[13], d->at[15], dy, x, w, rows, ins, outs);
    reference_compare("linear", k, size, d->at[8], d->at[9], rows * outs);
    reference_compare("dx of linear", k, size, d->at[10], d->at[11], rows * ins);
    reference_compare("dw of linear", k, size, d->at[12], d->at[13], ins * outs);
    reference_compare("dbias of linear", k, size, d->at[14], d->at[15], outs);
}

static void reference_linear_of(const lib_reference *ref, const tfn_kernels *k,
                                const reference_data *d, reference_size size)
{
    static const ptrdiff_t outs[] = { 1, 7, 16, 45, 130 };
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++)
        reference_linear_to(ref, k, d, size, outs[i]);
}
TEST(reference_linear) { reference_each(reference_linear_of); }

/* -- attention: 0 q, 1 k, 2 v, 3 dy -- */

typedef struct reference_heads { ptrdiff_t batch, time, heads, size; } reference_heads;

static void reference_attention_of(const lib_reference *ref, const tfn_kernels *k,
                                   const reference_data *d, reference_heads s, bool causal)
{
    const reference_size shown = { s.time, s.size };
    const ptrdiff_t C = s.heads * s.size, n = s.batch * s.time * C;
    static float stats[2][2000];
    tfn_attention_args p;
    float *work;
    memset(&p, 0, sizeof p);
    p.q = d->at[0];
    p.k = d->at[1];
    p.v = d->at[2];
    p.dy = d->at[3];
    p.y = d->at[8];
    p.stats = stats[0];
    p.dq = d->at[10];
    p.dk = d->at[12];
    p.dv = d->at[14];
    p.batch = s.batch;
    p.tq = s.time;
    p.tk = s.time;
    p.heads = (int32_t)s.heads;
    p.kv_heads = (int32_t)s.heads;
    p.head_size = (int32_t)s.size;
    p.q_ld = C;
    p.k_ld = C;
    p.v_ld = C;
    p.y_ld = C;
    p.scale = 1 / sqrtf((float)s.size);
    p.causal = causal;
    p.add_dq = true;
    p.add_dk = true;
    p.add_dv = true;
    if (n > REFERENCE_MAX || s.batch * s.time * s.heads * 2 > 2000) exit(2);
    work = (float *)malloc((size_t)k->attention_work(p.tq, p.tk, s.size) * sizeof *work);
    if (!work) exit(2);
    for (int i = 8; i < 16; i++) reference_copy(d, i, 4);
    k->attention_forward(&p, 0, s.batch * s.heads, work);
    k->attention_backward(&p, 0, s.batch * s.heads, work);
    free(work);
    ref->attention_forward(d->at[9], stats[1], p.q, p.k, p.v, s.batch, s.time, s.heads, s.size,
                           p.scale, causal);
    ref->attention_backward(d->at[11], d->at[13], d->at[15], p.dy, d->at[9], stats[1], p.q, p.k,
                            p.v, s.batch, s.time, s.heads, s.size, p.scale, causal);
    reference_compare("attention", k, shown, d->at[8], d->at[9], n);
    reference_compare("stats of attention", k, shown, stats[0], stats[1],
                      s.batch * s.time * s.heads * 2);
    reference_compare("dq of attention", k, shown, d->at[10], d->at[11], n);
    reference_compare("dk of attention", k, shown, d->at[12], d->at[13], n);
    reference_compare("dv of attention", k, shown, d->at[14], d->at[15], n);
}

TEST(reference_attention)
{
    static const reference_heads sizes[] = {
        { 1, 1, 1, 1 }, { 2, 3, 1, 5 }, { 1, 17, 3, 16 }, { 2, 64, 2, 8 }, { 1, 100, 2, 33 },
        { 1, 193, 1, 64 }
    };
    reference_data d = reference_begin();
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k) continue;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            reference_attention_of(lib_reference_kernels(), k, &d, sizes[i], false);
            reference_attention_of(lib_reference_kernels(), k, &d, sizes[i], true);
        }
    }
    reference_end(&d);
}

/* -- cross-entropy -- */

static void reference_cross_entropy_of(const lib_reference *ref, const tfn_kernels *k,
                                       const reference_data *d, reference_size size)
{
    const ptrdiff_t n = size.rows * size.cols;
    int32_t targets[128];
    float stats[2][256] = { { 0 } };
    if (size.cols <= 0) return;
    for (ptrdiff_t r = 0; r < size.rows; r++)              /* every fourth is ignored */
        targets[r] = r % 4 == 3 ? -1 : (int32_t)((7 * r + 3) % size.cols);
    for (int i = 8; i < 12; i++) reference_copy(d, i, 4);
    k->cross_entropy_forward(d->at[8], NULL, stats[0], d->at[0], targets, size.rows, size.cols, 0,
                             0);
    k->cross_entropy_backward(d->at[10], d->at[3], stats[0], d->at[0], targets, size.rows,
                              size.cols, 0, 0, true);
    ref->cross_entropy_forward(d->at[9], stats[1], d->at[0], targets, size.rows, size.cols);
    ref->cross_entropy_backward(d->at[11], d->at[3], stats[1], d->at[0], targets, size.rows,
                                size.cols);
    reference_compare("cross-entropy", k, size, d->at[8], d->at[9], size.rows);
    reference_compare("stats of cross-entropy", k, size, stats[0], stats[1], 2 * size.rows);
    reference_compare("dx of cross-entropy", k, size, d->at[10], d->at[11], n);
}
TEST(reference_cross_entropy) { reference_each(reference_cross_entropy_of); }

/* -- AdamW: some weights have no gradient, others had none for a long time -- */

static void reference_adamw_of(const lib_reference *ref, const tfn_kernels *k,
                               const reference_data *d, reference_size size)
{
    const ptrdiff_t n = size.rows * size.cols;
    tfn_update_args u;
    memset(&u, 0, sizeof u);
    u.optimizer = TFN_OPTIMIZER_ADAMW;
    u.lr = (float)3e-3;
    u.beta1 = (float)0.9;
    u.beta2 = (float)0.98;
    u.eps = (float)1e-8;
    u.decay = (float)0.1;
    u.grad_scale = 1;
    u.eps_inside = true;
    for (int i = 8; i < 10; i++) reference_copy(d, i, 0);
    for (int i = 10; i < 14; i++) memset(d->at[i], 0, REFERENCE_MAX * sizeof(float));
    for (int64_t t = 1; t <= 3; t++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            d->at[7][i] = d->at[3][i] * (float)t;
            if (i % 7 == 1) d->at[7][i] = 0;
            if (i % 7 == 2) d->at[7][i] = (float)1e-17;
            if (i % 7 == 3) d->at[7][i] = (float)1e-33;
        }
        tfn_update_at(&u, t);
        k->update(d->at[8], d->at[7], d->at[10], d->at[12], n, &u);
        ref->adamw(d->at[9], d->at[7], d->at[11], d->at[13], n, u.lr, u.beta1, u.beta2, u.eps,
                   u.decay, t);
    }
    reference_compare("AdamW", k, size, d->at[8], d->at[9], n);
    reference_compare("first moment", k, size, d->at[10], d->at[11], n);
    reference_compare("second moment", k, size, d->at[12], d->at[13], n);
}
TEST(reference_adamw) { reference_each(reference_adamw_of); }

int main(void)
{
    RUN(reference_layernorm);
    RUN(reference_rmsnorm);
    RUN(reference_softmax);
    RUN(reference_linear);
    RUN(reference_attention);
    RUN(reference_cross_entropy);
    RUN(reference_adamw);
    return DONE();
}
