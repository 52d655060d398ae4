/* Norms, softmax, feed-forward functions, dropout, loss and optimizers: forward against naive
 * double code, backward against central differences of that code, and the same bits on all
 * instruction sets with a fused multiply-add. */
#define TEST_EXACT
#include "../lib.h"
#include "../check.h"
#include "../exact_fma.h"

static const ptrdiff_t kernels_cols[] = { 1, 2, 15, 16, 17, 33, 100 };
#define KERNELS_EACH_COLS(c)                                                                   \
    for (size_t at_ = 0; at_ < sizeof kernels_cols / sizeof *kernels_cols; at_++)              \
        for (ptrdiff_t c = kernels_cols[at_]; c; c = 0)

/* -- common checks ----------------------------------------------------------------------------- */

static uint64_t kernels_drawn;

static float kernels_draw(void)
{
    return tfn_random_normal(tfn_key_make(5), kernels_drawn++);
}

static void kernels_fill(float *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) x[i] = kernels_draw();
}

#define KERNELS_MAX 12000            /* floats of the outputs of one case */
#define KERNELS_GUARD 12345.5f

/* A case runs on every instruction set. Sets with an FMA must give the same bits, the others nearly
 * the same, and none may write past n floats. Outputs hold `before`, for kernels that add. */
typedef void (*kernels_case)(const tfn_kernels *k, float *out, const void *data);

static void kernels_try(const char *name, const tfn_kernels *k, kernels_case run, const void *data,
                        ptrdiff_t n, const float *before, float *out)
{
    for (ptrdiff_t i = 0; i < n; i++) out[i] = before ? before[i] : (float)NAN;
    for (ptrdiff_t i = n; i < n + 16; i++) out[i] = KERNELS_GUARD;
    run(k, out, data);
    for (ptrdiff_t i = n; i < n + 16; i++)
        if (out[i] != KERNELS_GUARD) FAIL("%s %s: wrote beyond its end", name, k->name);
}

static void kernels_run(const char *name, kernels_case run, const void *data, ptrdiff_t n,
                        const float *before, float *result)
{
    static float out[KERNELS_MAX + 16];
    const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
    if (n > KERNELS_MAX) exit(2);
    kernels_try(name, best, run, data, n, before, out);
    memcpy(result, out, (size_t)n * sizeof *out);
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k || k == best) continue;
        kernels_try(name, k, run, data, n, before, out);
        if (k->fma == best->fma) {
            if (memcmp(result, out, (size_t)n * sizeof *out))
                FAIL("%s: other bits on %s", name, k->name);
        } else {
            for (ptrdiff_t i = 0; i < n; i++) {
                double a = (double)out[i], b = (double)result[i];
                if (a != a && b != b) continue;                 /* both NaN */
                if (!(out[i] == result[i] || fabs(a - b) <= 1e-4 * (1 + fabs(b))))
                    FAIL("%s %s: %g, not %g", name, k->name, a, b);
            }
        }
    }
}

static void kernels_close(const char *name, const float *y, const double *wanted, ptrdiff_t n,
                          double tolerance)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(fabs((double)y[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i]))))
            FAIL("%s[%d] is %.9g, not %.9g", name, (int)i, (double)y[i], wanted[i]);
}

/* Naive double code of one row: y (outs) from x (ins). */
typedef void (*kernels_row)(double *y, const double *x, ptrdiff_t n, const void *data);

/* d(sum w*y)/dx by central differences, of fourth order. */
static void kernels_slope(double *dx, kernels_row f, const double *x, const double *w, ptrdiff_t n,
                          ptrdiff_t outs, const void *data)
{
    static const double step[4] = { -2, -1, 1, 2 }, factor[4] = { 1, -8, 8, -1 };
    double z[256], y[256];
    memcpy(z, x, (size_t)n * sizeof *z);
    for (ptrdiff_t i = 0; i < n; i++) {
        dx[i] = 0;
        for (int s = 0; s < 4; s++) {
            z[i] = x[i] + step[s] * 1e-3;
            f(y, z, n, data);
            for (ptrdiff_t j = 0; j < outs; j++) dx[i] += w[j] * y[j] * factor[s] / 12e-3;
        }
        z[i] = x[i];
    }
}

static void kernels_widen(double *d, const float *f, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) d[i] = (double)f[i];
}

/* The backward of row-wise kernels: dx must be the gradient of f, plus `before` if given. */
static void kernels_check_slope(const char *name, const float *dx, const float *before,
                                kernels_row f, const float *x, const float *dy, ptrdiff_t rows,
                                ptrdiff_t cols, const void *data, double tolerance)
{
    double in[256], w[256], wanted[256];
    for (ptrdiff_t r = 0; r < rows; r++) {
        kernels_widen(in, x + r*cols, cols);
        kernels_widen(w, dy + r*cols, cols);
        kernels_slope(wanted, f, in, w, cols, cols, data);
        for (ptrdiff_t c = 0; before && c < cols; c++) wanted[c] += (double)before[r*cols + c];
        kernels_close(name, dx + r*cols, wanted, cols, tolerance);
    }
}

/* -- norms ------------------------------------------------------------------------------------- */

enum { KERNELS_ROWS = 5 };
typedef struct kernels_norm {
    const float *x, *dy, *gain, *bias, *mean, *rstd;
    ptrdiff_t rows, cols;
    bool rms, add;
} kernels_norm;

static tfn_norm_args kernels_norm_call(const kernels_norm *d)
{
    tfn_norm_args p;
    memset(&p, 0, sizeof p);
    p.kind = d->rms ? TFN_NORM_RMS : TFN_NORM_LAYER;
    p.x = d->x, p.dy = d->dy, p.gain = d->gain;
    p.bias = d->rms ? NULL : d->bias;
    p.rows = d->rows, p.cols = d->cols;
    p.eps = 1e-3f;
    p.add = p.add_params = d->add;
    return p;
}

static void kernels_norm_row(double *y, const double *x, ptrdiff_t n, const void *data)
{
    const kernels_norm *d = (const kernels_norm *)data;
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < n && !d->rms; i++) mean += x[i] / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] = (x[i] - mean) / sqrt(square + 1e-3) * (d->gain ? (double)d->gain[i] : 1);
        if (d->bias && !d->rms) y[i] += (double)d->bias[i];
    }
}

static void kernels_norm_forward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_norm *d = (const kernels_norm *)data;
    tfn_norm_args p = kernels_norm_call(d);
    p.y = out;
    p.mean = out + d->rows * d->cols;
    p.rstd = p.mean + d->rows;
    k->norm_forward(&p);
}

static void kernels_norm_backward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_norm *d = (const kernels_norm *)data;
    float mean[KERNELS_ROWS], rstd[KERNELS_ROWS];
    tfn_norm_args p = kernels_norm_call(d);
    memcpy(mean, d->mean, sizeof mean);
    memcpy(rstd, d->rstd, sizeof rstd);
    p.dx = out;
    p.mean = d->rms ? NULL : mean;
    p.rstd = rstd;
    k->norm_backward(&p);
}

static void kernels_norm_case(ptrdiff_t cols, bool rms, bool gain, bool bias)
{
    static float x[600], dy[600], g[100], b[100], before[600], y[600], dx[600];
    const ptrdiff_t n = KERNELS_ROWS * cols;
    const char *name = rms ? "rmsnorm" : "layernorm";
    kernels_norm d = { NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, false, false };
    kernels_fill(x, n);
    kernels_fill(dy, n);
    kernels_fill(g, cols);
    kernels_fill(b, cols);
    kernels_fill(before, n);
    for (ptrdiff_t c = 0; c < cols; c++) x[c] = 2;             /* a row without variance */
    d.x = x;
    d.dy = dy;
    d.gain = gain ? g : NULL;
    d.bias = bias ? b : NULL;
    d.rows = KERNELS_ROWS;
    d.cols = cols;
    d.rms = rms;
    kernels_run(name, kernels_norm_forward, &d, n + 2 * d.rows, NULL, y);
    for (ptrdiff_t r = 0; r < d.rows; r++) {
        double in[256], wanted[256];
        kernels_widen(in, x + r*cols, cols);
        kernels_norm_row(wanted, in, cols, &d);
        kernels_close(name, y + r*cols, wanted, cols, 2e-6);
    }
    d.mean = y + n;
    d.rstd = y + n + d.rows;
    for (int add = 0; add < 2; add++) {
        d.add = add;
        kernels_run(name, kernels_norm_backward, &d, n, add ? before : NULL, dx);
        kernels_check_slope(name, dx + cols, add ? before + cols : NULL, kernels_norm_row, x + cols,
                            dy + cols, d.rows - 1, cols, &d, 2e-5);
    }
}

TEST(kernels_norms)
{
    KERNELS_EACH_COLS(cols)
        for (int which = 0; which < 8; which++)
            kernels_norm_case(cols, which & 1, which & 2, which & 4);
}

TEST(kernels_norms_wide)              /* means far from 0, and more columns than one block */
{
    enum { COLS = 5003 };
    static float x[2*COLS], y[2*COLS + 4];
    double mean = 0, square = 0;
    kernels_norm d = { NULL, NULL, NULL, NULL, NULL, NULL, 2, COLS, false, false };
    for (int c = 0; c < 2*COLS; c++) x[c] = 100 + kernels_draw();
    d.x = x;
    kernels_run("layernorm", kernels_norm_forward, &d, 2*COLS + 4, NULL, y);
    for (int c = 0; c < COLS; c++) mean += (double)x[c] / COLS;
    for (int c = 0; c < COLS; c++) square += ((double)x[c] - mean) * ((double)x[c] - mean) / COLS;
    CHECK_CLOSE((double)y[2*COLS], mean, 1e-6);
    CHECK_CLOSE((double)y[2*COLS + 2], 1 / sqrt(square + 1e-3), 1e-6);
    for (int c = 0; c < COLS; c++)
        CHECK_CLOSE((double)y[c], ((double)x[c] - mean) / sqrt(square + 1e-3), 2e-5);
}

static void kernels_norm_params(const tfn_kernels *k, float *out, const void *data)
{
    static float mean[300], rstd[300];
    const kernels_norm *d = (const kernels_norm *)data;
    const ptrdiff_t half = d->cols / 2;                   /* two ranges of columns, like threads */
    tfn_norm_args p = kernels_norm_call(d);
    memcpy(mean, d->mean, sizeof mean);
    memcpy(rstd, d->rstd, sizeof rstd);
    p.mean = d->rms ? NULL : mean;
    p.rstd = rstd;
    p.dgain = out;
    p.dbias = d->rms ? NULL : out + d->cols;
    if (d->rms) memset(out + d->cols, 0, (size_t)d->cols * sizeof *out);
    k->norm_params_backward(&p, half, d->cols - half);
    k->norm_params_backward(&p, 0, half);
}

TEST(kernels_norm_params_chains)
{
    enum { ROWS = 300 };
    static float x[ROWS*100], dy[ROWS*100], mean[ROWS], rstd[ROWS], before[200], got[200];
    kernels_fill(x, ROWS*100);
    kernels_fill(dy, ROWS*100);
    kernels_fill(mean, ROWS);
    kernels_fill(rstd, ROWS);
    KERNELS_EACH_COLS(cols)
        for (int which = 0; which < 4; which++) {
            kernels_norm d = { x, dy, NULL, NULL, mean, rstd, ROWS, cols, false, false };
            d.rms = which & 1;
            d.add = which & 2;
            kernels_fill(before, 2*cols);
            kernels_run("norm_params", kernels_norm_params, &d, 2*cols, before, got);
            for (ptrdiff_t c = 0; c < cols; c++) {
                double gain = d.add ? (double)before[c] : 0;
                double bias = d.add && !d.rms ? (double)before[cols + c] : 0;
                for (int r = 0; r < ROWS; r++) {
                    double n = (double)x[r*cols + c] - (d.rms ? 0 : (double)mean[r]);
                    gain += (double)dy[r*cols + c] * n * (double)rstd[r];
                    if (!d.rms) bias += (double)dy[r*cols + c];
                }
                CHECK_CLOSE((double)got[c], gain, 5e-5);
                CHECK_CLOSE((double)got[cols + c], bias, 5e-5);
            }
        }
}

/* -- softmax ----------------------------------------------------------------------------------- */

typedef struct kernels_soft {
    const float *x, *dy;
    ptrdiff_t rows, cols;
    bool in_place, add;
} kernels_soft;

static void kernels_soft_row(double *y, const double *x, ptrdiff_t n, const void *data)
{
    double max = x[0], sum = 0;
    (void)data;
    for (ptrdiff_t i = 1; i < n; i++) max = fmax(max, x[i]);
    for (ptrdiff_t i = 0; i < n; i++) sum += y[i] = exp(x[i] - max);
    for (ptrdiff_t i = 0; i < n; i++) y[i] /= sum;
}

static void kernels_soft_forward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_soft *d = (const kernels_soft *)data;
    if (d->in_place) memcpy(out, d->x, (size_t)(d->rows * d->cols) * sizeof *out);
    k->softmax_forward(out, d->in_place ? out : d->x, d->rows, d->cols);
}

static void kernels_soft_backward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_soft *d = (const kernels_soft *)data;         /* x holds y here */
    if (d->in_place) memcpy(out, d->dy, (size_t)(d->rows * d->cols) * sizeof *out);
    k->softmax_backward(out, d->in_place ? out : d->dy, d->x, d->rows, d->cols, d->add);
}

TEST(kernels_softmax)
{
    static float x[600], y[600], dy[600], before[600], dx[600];
    KERNELS_EACH_COLS(cols)
        for (int in_place = 0; in_place < 2; in_place++) {
            const ptrdiff_t n = KERNELS_ROWS * cols;
            kernels_soft d = { x, dy, KERNELS_ROWS, cols, false, false };
            d.in_place = in_place;
            kernels_fill(x, n);
            kernels_fill(dy, n);
            kernels_fill(before, n);
            for (ptrdiff_t c = 0; c < cols; c++) {
                x[c] = -7e4f;                                   /* all equal, huge */
                x[cols + c] = c % 3 ? -300 : (float)c;          /* some vanish */
            }
            kernels_run("softmax", kernels_soft_forward, &d, n, NULL, y);
            for (ptrdiff_t r = 0; r < d.rows; r++) {
                double in[256], wanted[256];
                kernels_widen(in, x + r*cols, cols);
                kernels_soft_row(wanted, in, cols, NULL);
                kernels_close("softmax", y + r*cols, wanted, cols, 3e-7);
            }
            d.x = y;
            for (d.add = false;; d.add = true) {
                kernels_run("softmax", kernels_soft_backward, &d, n, d.add ? before : NULL, dx);
                kernels_check_slope("softmax backward", dx, d.add ? before : NULL, kernels_soft_row,
                                    x, dy, d.rows, cols, NULL, 2e-6);
                if (d.add || in_place) break;
            }
        }
}

TEST(kernels_softmax_edges)
{
    static float x[100], y[100];
    kernels_soft d = { x, NULL, 1, 100, false, false };
    for (int c = 0; c < 100; c++) x[c] = c == 40 ? 3e38f : -INFINITY;
    kernels_run("softmax", kernels_soft_forward, &d, 100, NULL, y);
    for (int c = 0; c < 100; c++) CHECK(y[c] == (c == 40 ? 1 : 0));
    x[7] = NAN;                                                /* the maximum must not hide it */
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (k) k->softmax_forward(y, x, 1, 100);
        for (int c = 0; k && c < 100; c++) CHECK(isnan(y[c]));
        if (k) k->softmax_forward(y, x, 0, 100);
    }
}

/* A row gets the same bits by itself and among others, short (eight at a time) and long (two). */
TEST(kernels_softmax_rows)
{
    static const ptrdiff_t cols[] = { 7, 256, 257 };
    static float x[19 * 257], all[19 * 257], one[257];
    kernels_fill(x, 19 * 257);
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++)
        for (int c = 0; c < 3; c++) {
            const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
            if (k) k->softmax_forward(all, x, 19, cols[c]);
            for (ptrdiff_t r = 0; k && r < 19; r++) {
                k->softmax_forward(one, x + r*cols[c], 1, cols[c]);
                CHECK_BITS(one, all + r*cols[c], (size_t)cols[c] * sizeof *one);
            }
        }
}

/* -- activations ------------------------------------------------------------------------------- */

static const tfn_activation_kind kernels_kinds[] = {
    TFN_ACTIVATION_RELU, TFN_ACTIVATION_GELU, TFN_ACTIVATION_GELU_TANH, TFN_ACTIVATION_SILU,
        TFN_ACTIVATION_TANH, TFN_ACTIVATION_IDENTITY, TFN_ACTIVATION_RELU2, TFN_ACTIVATION_DEFAULT
};
#define KERNELS_EACH_KIND(kind)                                                                \
    for (size_t kind_ = 0; kind_ < sizeof kernels_kinds / sizeof *kernels_kinds; kind_++)      \
        for (int once_ = 1; once_; once_ = 0)                                                  \
            for (tfn_activation_kind kind = kernels_kinds[kind_]; once_; once_ = 0)

static double kernels_f(double x, tfn_activation_kind kind)
{
    switch (kind) {
    case TFN_ACTIVATION_RELU: return x > 0 ? x : 0;
    case TFN_ACTIVATION_GELU: return x * 0.5 * erfc(-x / sqrt(2));
    case TFN_ACTIVATION_SILU: return x / (1 + exp(-x));
    case TFN_ACTIVATION_TANH: return tanh(x);
    case TFN_ACTIVATION_IDENTITY: return x;
    case TFN_ACTIVATION_RELU2: return x > 0 ? x*x : 0;
    default: return x / (1 + exp(-2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x*x*x)));
    }
}

static double kernels_df(double x, tfn_activation_kind kind)
{
    const double e = 1e-3;
    if (kind == TFN_ACTIVATION_RELU2) return x > 0 ? 2*x : 0;
    return (8 * (kernels_f(x + e, kind) - kernels_f(x - e, kind)) - kernels_f(x + 2*e, kind)
            + kernels_f(x - 2*e, kind)) / (12*e);
}

typedef struct kernels_act {
    const float *x, *dy, *up;
    ptrdiff_t n;
    tfn_activation_kind kind;
    bool in_place, add, add_up;
} kernels_act;

static void kernels_act_forward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_act *d = (const kernels_act *)data;
    if (d->in_place) memcpy(out, d->x, (size_t)d->n * sizeof *out);
    k->activation_forward(out, d->in_place ? out : d->x, d->n, d->kind);
}

static void kernels_act_backward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_act *d = (const kernels_act *)data;
    if (d->in_place) memcpy(out, d->dy, (size_t)d->n * sizeof *out);
    k->activation_backward(out, d->in_place ? out : d->dy, d->x, d->n, d->kind, d->add);
}

static void kernels_gate_forward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_act *d = (const kernels_act *)data;
    k->gated_forward(out, d->x, d->up, d->n, d->kind);
}

static void kernels_gate_backward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_act *d = (const kernels_act *)data;
    k->gated_backward(out, out + d->n, d->dy, d->x, d->up, d->n, d->kind, d->add, d->add_up);
}

enum { KERNELS_N = 1003 };

/* x over the relevant range, away from RELU's kink. */
static void kernels_points(float *x)
{
    for (int i = 0; i < KERNELS_N; i++) x[i] = (float)(i - 501) / 40 + 0.003f;
}

TEST(kernels_activations)
{
    static float x[KERNELS_N], dy[KERNELS_N], before[KERNELS_N], y[KERNELS_N];
    static double wanted[KERNELS_N];
    kernels_points(x);
    kernels_fill(dy, KERNELS_N);
    kernels_fill(before, KERNELS_N);
    KERNELS_EACH_KIND(kind)
        for (int which = 0; which < 3; which++) {
            kernels_act d = { x, dy, NULL, KERNELS_N, kind, which == 1, which == 2, false };
            kernels_run("activation", kernels_act_forward, &d, d.n, NULL, y);
            for (int i = 0; i < KERNELS_N; i++) wanted[i] = kernels_f((double)x[i], kind);
            kernels_close("activation", y, wanted, d.n, 3e-7);
            kernels_run("activation", kernels_act_backward, &d, d.n, d.add ? before : NULL, y);
            for (int i = 0; i < KERNELS_N; i++)
                wanted[i] = (double)dy[i] * kernels_df((double)x[i], kind)
                          + (d.add ? (double)before[i] : 0);
            kernels_close("activation backward", y, wanted, d.n, 1e-6);
        }
}

TEST(kernels_gated)
{
    static float x[KERNELS_N], dy[KERNELS_N], up[KERNELS_N], before[2*KERNELS_N], y[2*KERNELS_N];
    static float parts[KERNELS_N];
    static double wanted[2*KERNELS_N];
    kernels_points(x);
    kernels_fill(dy, KERNELS_N);
    kernels_fill(up, KERNELS_N);
    kernels_fill(before, 2*KERNELS_N);
    KERNELS_EACH_KIND(kind)
        for (int which = 0; which < 4; which++) {
            kernels_act d = { x, dy, up, KERNELS_N, kind, false, which & 1, which & 2 };
            kernels_run("gated", kernels_gate_forward, &d, d.n, NULL, y);
            for (int i = 0; i < KERNELS_N; i++)
                wanted[i] = kernels_f((double)x[i], kind) * (double)up[i];
            kernels_close("gated", y, wanted, d.n, 1e-6);
            kernels_run("activation", kernels_act_forward, &d, d.n, NULL, parts);
            for (int i = 0; i < KERNELS_N; i++) parts[i] *= up[i];
            CHECK_BITS(y, parts, sizeof parts);
            kernels_run("gated", kernels_gate_backward, &d, 2*d.n, before, y);
            for (int i = 0; i < KERNELS_N; i++) {
                wanted[i] = (double)dy[i] * (double)up[i] * kernels_df((double)x[i], kind)
                          + (d.add ? (double)before[i] : 0);
                wanted[d.n + i] = (double)dy[i] * kernels_f((double)x[i], kind)
                                + (d.add_up ? (double)before[d.n + i] : 0);
            }
            kernels_close("gated backward", y, wanted, 2*d.n, 2e-6);
        }
}

TEST(kernels_activation_edges)        /* large arguments give the limits, never NaN */
{
    static const float x[] = {
        0, -0.0f, 11, -11, 90, -90, 1e5f, -1e5f, 1e20f, -1e20f, 3e38f, -3e38f
    };
    enum { N = sizeof x / sizeof *x };
    float y[N], dy[N], dx[N];
    for (int i = 0; i < N; i++) dy[i] = 1;
    KERNELS_EACH_KIND(kind) {
        kernels_act d = { x, dy, NULL, N, kind, false, false, false };
        kernels_run("activation", kernels_act_forward, &d, N, NULL, y);
        kernels_run("activation", kernels_act_backward, &d, N, NULL, dx);
        for (int i = 2; i < N; i++) {
            bool all = kind == TFN_ACTIVATION_IDENTITY, bounded = kind == TFN_ACTIVATION_TANH;
            float limit = x[i] > 0 || all ? x[i] : 0;
            if (kind == TFN_ACTIVATION_RELU2 && x[i] > 0) {
                CHECK(y[i] == x[i] * x[i] && dx[i] == x[i] + x[i]);
                continue;
            }
            if (bounded) limit = x[i] > 0 ? 1 : -1;
            CHECK_CLOSE((double)y[i], (double)limit, 2e-4);
            CHECK_CLOSE((double)dx[i], bounded || (x[i] < 0 && !all) ? 0 : 1, 2e-4);
        }
        CHECK(y[0] == 0 && y[1] == 0);
    }
}

/* -- decaying values are 0 below 2^-60, and never denormal before
 * -------------------------------- */

static const float kernels_tail = 8.67361737988403547e-19f;      /* 2^-60 */

/* Exactly 0, or at least `least`. */
static void kernels_no_tail(const char *name, float x, float y, float least)
{
    if (!(y == 0 || fabsf(y) >= least))
        FAIL("%s(%g) is %g, below %g", name, (double)x, (double)y, (double)least);
}

/* Values and derivatives. Where x s is cut at s = 2^-60, the function is at most about 2^-53. */
static void kernels_tails_of(tfn_activation_kind kind, const float *x, const float *dy)
{
    static float y[KERNELS_N], dx[KERNELS_N];
    kernels_act d = { x, dy, NULL, KERNELS_N, kind, false, false, false };
    kernels_run("activation", kernels_act_forward, &d, d.n, NULL, y);
    kernels_run("activation backward", kernels_act_backward, &d, d.n, NULL, dx);
    for (int i = 0; i < KERNELS_N; i++) {
        const double exact = kernels_f((double)x[i], kind), off = fabs((double)y[i] - exact);
        kernels_no_tail("activation", x[i], y[i], kernels_tail);
        kernels_no_tail("derivative", x[i], dx[i], kernels_tail);
        if (kind != TFN_ACTIVATION_GELU && !(off <= 1e-5 * fabs(exact) + 1e-16))
            FAIL("activation %d of %g is %g, not %g", kind, (double)x[i], (double)y[i], exact);
        if (x[i] < -50 && kind != TFN_ACTIVATION_TANH && kind != TFN_ACTIVATION_IDENTITY)
            CHECK(y[i] == 0 && dx[i] == 0);
    }
}

TEST(kernels_tails)
{
    static float x[KERNELS_N], dy[KERNELS_N];
    KERNELS_EACH_KIND(kind)
        for (int most = 8; most <= 512; most *= 8) {
            for (int i = 0; i < KERNELS_N; i++) {
                x[i] = -(float)(i + 1) * (float)most / KERNELS_N - 0.5f;
                dy[i] = 1;
            }
            kernels_tails_of(kind, x, dy);
        }
}

/* A square below 2^-60 is 0, and so is its derivative; from 2^-30 on neither is. NaN stays. */
TEST(kernels_small_squares)
{
    const float root = 9.31322574615478516e-10f;
    const float x[] = { root, root * 0.9999f, 1e-20f, 1e-38f, -1e-20f, NAN, 2 * root };
    const float wanted[] = { kernels_tail, 0, 0, 0, 0, NAN, 4 * kernels_tail };
    enum { N = sizeof x / sizeof *x };
    float y[N], dy[N], dx[N];
    kernels_act d = { x, dy, NULL, N, TFN_ACTIVATION_RELU2, false, false, false };
    for (int i = 0; i < N; i++) dy[i] = 1;
    kernels_run("squared ReLU", kernels_act_forward, &d, N, NULL, y);
    kernels_run("squared ReLU backward", kernels_act_backward, &d, N, NULL, dx);
    for (int i = 0; i < N; i++) {
        if (wanted[i] != wanted[i]) {
            CHECK(y[i] != y[i] && dx[i] != dx[i]);
            continue;
        }
        CHECK(y[i] == wanted[i]);
        CHECK(dx[i] == (wanted[i] > 0 ? x[i] + x[i] : 0));
    }
}

enum { KERNELS_SCORES = 203 };

/* Scores 0, -0.5, -1 ...: the weights, and the gradients of a loss. */
TEST(kernels_tails_softmax)
{
    float x[KERNELS_SCORES], y[KERNELS_SCORES], d[KERNELS_SCORES], stats[2], loss, e;
    const int32_t target = 0;
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k) continue;
        for (int i = 0; i < KERNELS_SCORES; i++) x[i] = -0.5f * (float)i;
        k->softmax_forward(y, x, 1, KERNELS_SCORES);
        k->cross_entropy_forward(&loss, NULL, stats, x, &target, 1, KERNELS_SCORES, 0, 0);
        k->cross_entropy_backward(d, NULL, stats, x, &target, 1, KERNELS_SCORES, 0, 0, false);
        for (int i = 1; i < KERNELS_SCORES; i++) {
            e = expf(x[i]) < kernels_tail ? 0 : expf(x[i]) / stats[1];
            CHECK(fabsf(y[i] - e) <= 1e-6f * e && fabsf(d[i] - e) <= 1e-6f * e);
        }
        CHECK(y[83] > 0 && y[84] == 0 && d[83] > 0 && d[84] == 0);
    }
}

/* One query with scores that decrease by 0.5, head size 1: dv = p, dk_j = p_j (j - sum(p j)). */
TEST(kernels_tails_attention)
{
    enum { N = KERNELS_SCORES };
    static float q[1], dq[1], y[1], dy[1], stats[2], key[N], v[N], dk[N], dv[N], work[1 << 14];
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        tfn_attention_args p;
        if (!k) continue;
        if (k->attention_work(1, N, 1) > 1 << 14) exit(2);
        memset(&p, 0, sizeof p);
        q[0] = dy[0] = 1;
        for (int j = 0; j < N; j++) key[j] = -0.5f * (float)j, v[j] = (float)j;
        p.y = y, p.stats = stats, p.q = q, p.k = key, p.v = v, p.dy = dy;
        p.dq = dq, p.dk = dk, p.dv = dv;
        p.batch = p.tq = p.heads = p.kv_heads = p.head_size = 1;
        p.tk = N;
        p.q_ld = p.k_ld = p.v_ld = p.y_ld = 1;
        p.scale = 1;
        k->attention_forward(&p, 0, 1, work);
        k->attention_backward(&p, 0, 1, work);
        for (int j = 0; j < N; j++) {
            kernels_no_tail("attention, dv", key[j], dv[j], kernels_tail / stats[1]);
            kernels_no_tail("attention, dk", key[j], dk[j], kernels_tail / stats[1]);
        }
        CHECK(dv[83] > 0 && dv[84] == 0 && dk[83] > 0 && dk[84] == 0);
    }
}

/* Derivatives of the squashing norms, z from 0.01 to 1e12, both signs. */
static void kernels_squash_backward(const tfn_kernels *k, float *out, const void *data)
{
    tfn_point_args p = *(const tfn_point_args *)data;
    p.dx = out;
    tfn_point_backward(k, &p);
}

TEST(kernels_tails_squash)
{
    static float x[KERNELS_N], dy[KERNELS_N], dx[KERNELS_N];
    tfn_point_args p;
    memset(&p, 0, sizeof p);
    for (int i = 0; i < KERNELS_N; i++) {
        x[i] = (i % 2 ? -1.0f : 1.0f) * powf(10, (float)i * 14 / KERNELS_N - 2);
        dy[i] = 1;
    }
    p.x = x, p.dy = dy;
    p.rows = 1, p.cols = KERNELS_N;
    for (int kind = TFN_SQUASH_TANH; kind <= TFN_SQUASH_SOFTSIGN; kind++) {
        p.squash = (tfn_squash_kind)kind;
        kernels_run("squash", kernels_squash_backward, &p, KERNELS_N, NULL, dx);
        for (int i = 0; i < KERNELS_N; i++)
            kernels_no_tail("squash", x[i], dx[i], kernels_tail);
        CHECK(dx[0] > 0.9f || kind == TFN_SQUASH_ATAN);
    }
}

/* -- dropout ----------------------------------------------------------------------------------- */

typedef struct kernels_drop {
    const float *x;
    ptrdiff_t n, piece;
    float p;
    uint64_t key, first;
    bool in_place, add;
} kernels_drop;

static void kernels_dropout(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_drop *d = (const kernels_drop *)data;
    if (d->in_place) memcpy(out, d->x, (size_t)d->n * sizeof *out);
    for (ptrdiff_t i = 0; i < d->n; i += d->piece) {
        ptrdiff_t n = d->n - i < d->piece ? d->n - i : d->piece;
        k->dropout(out + i, (d->in_place ? out : d->x) + i, n, d->p, tfn_key_make(d->key),
                   d->first + (uint64_t)i, d->add);
    }
}

TEST(kernels_dropout_values)
{
    enum { N = 3000 };
    static float x[N], before[N], once[N], y[N];
    static const uint64_t first[] = { 0, 12345, (1u << 20) - 700, (UINT64_C(1) << 32) - 5,
                                      (UINT64_C(5) << 40) - 1, UINT64_MAX - 2999 };
    kernels_fill(x, N);
    kernels_fill(before, N);
    for (size_t f = 0; f < sizeof first / sizeof *first; f++) {
        kernels_drop d = { x, N, N, 0.3f, 9, first[f], false, false };
        int kept = 0;
        kernels_run("dropout", kernels_dropout, &d, N, NULL, once);
        for (int i = 0; i < N; i++) {
            CHECK(once[i] == 0 || once[i] == x[i] * (1 / (1 - 0.3f)));
            kept += once[i] != 0;
        }
        CHECK(kept > 1950 && kept < 2250);
        for (d.piece = 1; d.piece < N; d.piece = 7 * d.piece + 2) {      /* in pieces of any size */
            kernels_run("dropout", kernels_dropout, &d, N, NULL, y);
            CHECK_BITS(y, once, sizeof y);
        }
        d.piece = N;
        d.in_place = true;
        kernels_run("dropout", kernels_dropout, &d, N, NULL, y);
        CHECK_BITS(y, once, sizeof y);
        d.in_place = false;
        d.add = true;
        kernels_run("dropout", kernels_dropout, &d, N, before, y);
        for (int i = 0; i < N; i++) CHECK(y[i] == before[i] + once[i]);
    }
}

TEST(kernels_dropout_limits)
{
    enum { N = 500 };
    static float x[N], y[N];
    kernels_drop d = { x, N, N, 0, 9, 0, false, false };
    kernels_fill(x, N);
    x[3] = INFINITY;
    kernels_run("dropout", kernels_dropout, &d, N, NULL, y);             /* nothing changes */
    CHECK_BITS(y, x, sizeof y);
    d.p = 1;
    kernels_run("dropout", kernels_dropout, &d, N, NULL, y);
    for (int i = 0; i < N; i++) CHECK(y[i] == 0);
    d.p = 0.5f;
    for (int i = 0; i < N; i++) x[i] = INFINITY;                         /* dropped: 0, not NaN */
    kernels_run("dropout", kernels_dropout, &d, N, NULL, y);
    for (int i = 0; i < N; i++) CHECK(y[i] == 0 || isinf(y[i]));
}

/* The distance of the number of equal bits of two masks from n/2 (p = 1/2), in standard
 * deviations. */
static double kernels_agreement(const float *a, const float *b, ptrdiff_t n)
{
    double equal = 0;
    for (ptrdiff_t i = 0; i < n; i++) equal += (a[i] != 0) == (b[i] != 0);
    return fabs(equal - (double)n / 2) / sqrt((double)n / 4);
}

TEST(kernels_dropout_random)
{
    enum { N = 200000 };
    static float one[N], a[N], b[N];
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    static const float rates[] = { 0.01f, 0.1f, 0.5f, 0.9f };
    for (int i = 0; i < N; i++) one[i] = 1;
    for (int r = 0; r < 4; r++)
        for (uint64_t key = 0; key < 8; key++) {
            double p = (double)rates[r], dropped = 0, groups = 0;
            k->dropout(a, one, N, rates[r], tfn_key_make(key), key << 35, false);
            for (int i = 0; i < N; i++) dropped += a[i] == 0;
            CHECK(fabs(dropped - p * N) < 5 * sqrt(p * (1 - p) * N));
            for (int g = 0; g < N; g += 100) {              /* chi-square of 2,000 groups */
                double count = 0;
                for (int i = g; i < g + 100; i++) count += a[i] == 0;
                groups += (count - 100*p) * (count - 100*p) / (100 * p * (1 - p));
            }
            CHECK(fabs(groups - 2000) < 6 * sqrt(2 * 2000.0 + 2000 / (100 * p * (1 - p))));
        }
    for (uint64_t key = 0; key < 20; key++) {          /* keys, blocks and lags are independent */
        k->dropout(a, one, N, 0.5f, tfn_key_make(key), 0, false);
        k->dropout(b, one, N, 0.5f, tfn_key_make(key + 1), 0, false);
        CHECK(kernels_agreement(a, b, N) < 5);
        k->dropout(b, one, N, 0.5f, tfn_key_make(key), (key + 1) << 20, false);
        CHECK(kernels_agreement(a, b, N) < 5);
        for (ptrdiff_t lag = 1; lag < 40; lag++) CHECK(kernels_agreement(a, a + lag, N - lag) < 5);
        for (ptrdiff_t lag = 64; lag < N; lag *= 2)
            CHECK(kernels_agreement(a, a + lag, N - lag) < 5);
    }
}

TEST(kernels_dropout_rows)              /* the same place in many rows, as in attention */
{
    enum { N = 20000 };
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    float one[2] = { 1, 1 }, y[2];
    for (int p = 1; p <= 9; p += 4) {
        double dropped = 0, both = 0, share = p / 10.0;
        for (uint64_t row = 0; row < N; row++) {
            k->dropout(y, one, 2, (float)share, tfn_key_make(1), row << 20, false);
            dropped += y[0] == 0;
            both += y[0] == 0 && y[1] == 0;
        }
        CHECK(fabs(dropped / N - share) < 5 * sqrt(share * (1 - share) / N));
        CHECK(fabs(both / N - share*share) < 5 * sqrt(share*share / N));
    }
}

/* -- scale of columns -------------------------------------------------------------------------- */

typedef struct kernels_scale {
    const float *x, *v, *dy;
    ptrdiff_t rows, cols;
    bool add;
} kernels_scale;

static void kernels_scale_forward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_scale *d = (const kernels_scale *)data;
    k->scale_columns(out, d->x, d->v, d->rows, d->cols, d->add);
}

static void kernels_scale_backward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_scale *d = (const kernels_scale *)data;
    const ptrdiff_t half = d->cols / 2;
    k->scale_columns_backward(out, d->dy, d->x, d->rows, half, d->cols, d->add);
    k->scale_columns_backward(out + half, d->dy + half, d->x + half, d->rows, d->cols - half,
                              d->cols, d->add);
}

TEST(kernels_scale_columns)
{
    enum { ROWS = 60 };
    static float x[ROWS*100], dy[ROWS*100], v[100], before[ROWS*100], y[ROWS*100], dv[100];
    KERNELS_EACH_COLS(cols)
        for (int add = 0; add < 2; add++) {
            kernels_scale d = { x, v, dy, ROWS, cols, false };
            d.add = add;
            kernels_fill(x, ROWS*cols);
            kernels_fill(dy, ROWS*cols);
            kernels_fill(v, cols);
            kernels_fill(before, ROWS*cols);
            kernels_run("scale_columns", kernels_scale_forward, &d, ROWS*cols, before, y);
            kernels_run("scale_columns", kernels_scale_backward, &d, cols, before, dv);
            for (ptrdiff_t c = 0; c < cols; c++) {
                double sum = add ? (double)before[c] : 0;
                for (ptrdiff_t i = c; i < ROWS*cols; i += cols) {
                    double wanted = (double)x[i] * (double)v[c] + (add ? (double)before[i] : 0);
                    CHECK_CLOSE((double)y[i], wanted, 1e-6);
                    sum += (double)dy[i] * (double)x[i];
                }
                CHECK_CLOSE((double)dv[c], sum, 2e-5);
            }
        }
}

/* -- cross-entropy ----------------------------------------------------------------------------- */

typedef struct kernels_loss {
    const float *x, *dloss, *stats;
    const int32_t *targets;
    ptrdiff_t rows, cols;
    double smoothing;
    int32_t kind, target;
    bool in_place, add;
} kernels_loss;

/* y[0] is the loss, y[1] the nll. */
static void kernels_loss_row(double *y, const double *x, ptrdiff_t n, const void *data)
{
    const kernels_loss *d = (const kernels_loss *)data;
    double e = d->smoothing, each = e / (double)(n - (d->kind ? 1 : 0));
    double sum = 0, max = x[0], all = 0;
    for (ptrdiff_t i = 1; i < n; i++) max = fmax(max, x[i]);
    for (ptrdiff_t i = 0; i < n; i++) sum += exp(x[i] - max);
    for (ptrdiff_t i = 0; i < n; i++) all += log(sum) + max - x[i];
    y[1] = log(sum) + max - x[d->target];
    y[0] = y[1];
    if (e > 0) y[0] = (d->kind ? 1 - e - each : 1 - e) * y[1] + each * all;
}

static void kernels_loss_forward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_loss *d = (const kernels_loss *)data;
    float *nll = out + d->rows, *stats = nll + d->rows;
    for (ptrdiff_t r = 0; r < 2 * d->rows; r++) stats[r] = 0;
    k->cross_entropy_forward(out, nll, stats, d->x, d->targets, d->rows, d->cols,
                             (float)d->smoothing, d->kind);
    k->cross_entropy_forward(out, NULL, stats, d->x, d->targets, d->rows, d->cols,
                             (float)d->smoothing, d->kind);
}

static void kernels_loss_backward(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_loss *d = (const kernels_loss *)data;
    if (d->in_place) memcpy(out, d->x, (size_t)(d->rows * d->cols) * sizeof *out);
    k->cross_entropy_backward(out, d->dloss, d->stats, d->in_place ? out : d->x, d->targets,
                              d->rows, d->cols, (float)d->smoothing, d->kind, d->add);
}

static void kernels_loss_case(kernels_loss *d, const float *before)
{
    static float y[4*KERNELS_ROWS], dx[600];
    const ptrdiff_t cols = d->cols, rows = d->rows;
    kernels_run("cross_entropy", kernels_loss_forward, d, 4*rows, NULL, y);
    d->stats = y + 2*rows;
    kernels_run("cross_entropy", kernels_loss_backward, d, rows*cols, d->add ? before : NULL, dx);
    for (ptrdiff_t r = 0; r < rows; r++) {
        double in[256], wanted[256] = { 0, 0 }, w[2] = { 1, 0 };
        bool counts = d->targets[r] >= 0 && d->targets[r] < cols;
        d->target = d->targets[r];
        w[0] = d->dloss ? (double)d->dloss[r] : 1;
        kernels_widen(in, d->x + r*cols, cols);
        if (counts) kernels_loss_row(wanted, in, cols, d);
        CHECK_CLOSE((double)y[r], wanted[0], 1e-6);
        CHECK_CLOSE((double)y[rows + r], wanted[1], 1e-6);
        for (ptrdiff_t c = 0; c < cols; c++) wanted[c] = 0;
        if (counts) kernels_slope(wanted, kernels_loss_row, in, w, cols, 2, d);
        for (ptrdiff_t c = 0; d->add && c < cols; c++) wanted[c] += (double)before[r*cols + c];
        kernels_close("cross_entropy backward", dx + r*cols, wanted, cols, 2e-6);
    }
}

TEST(kernels_cross_entropy)
{
    static float x[600], before[600], dloss[KERNELS_ROWS];
    kernels_fill(before, 600);
    kernels_fill(dloss, KERNELS_ROWS);
    KERNELS_EACH_COLS(cols)
        for (int which = 0; which < 24; which++) {
            int32_t targets[KERNELS_ROWS] = { 0, 0, -1, 0, 0 };
            kernels_loss d = { x, NULL, NULL, targets, KERNELS_ROWS, cols, 0, 0, 0, false, false };
            targets[1] = (int32_t)cols - 1;
            targets[3] = (int32_t)cols / 2;
            targets[4] = which & 1 ? (int32_t)cols : -100;              /* both are ignored */
            kernels_fill(x, KERNELS_ROWS*cols);
            for (ptrdiff_t c = 0; c < cols; c++) x[c] = 20*x[c] + 1000;
            d.smoothing = which % 3 && cols > 1 ? (double)0.1f : 0;
            d.kind = which % 3 == 2;
            d.add = which & 4;
            d.in_place = !d.add && which & 8;
            d.dloss = which & 2 ? dloss : NULL;
            kernels_loss_case(&d, before);
        }
}

TEST(kernels_cross_entropy_smoothing)   /* the weights of the classes */
{
    static float x[50], stats[2], dx[50];
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    int32_t target = 3;
    float loss, nll;
    for (int kind = 0; kind < 2; kind++) {
        double sum = 0;
        kernels_fill(x, 50);
        x[3] = 200;                                         /* p is 1 for the true class, else 0 */
        k->cross_entropy_forward(&loss, &nll, stats, x, &target, 1, 50, 0.2f, kind);
        k->cross_entropy_backward(dx, NULL, stats, x, &target, 1, 50, 0.2f, kind, false);
        for (int c = 0; c < 50; c++) {
            double e = (double)0.2f, each = kind ? e / 49 : e / 50;
            sum += (double)dx[c];
            CHECK_CLOSE((double)dx[c], c != 3 ? -each : kind ? e : e - each, 1e-7);
        }
        CHECK_CLOSE(sum, 0, 1e-6);
        CHECK(nll == 0 && loss > 30);
    }
}

/* The only class has the whole target: no loss and no gradient, however much is smoothed. */
TEST(kernels_cross_entropy_one_class)
{
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        for (int kind = 0; k && kind < TFN_SMOOTHING_COUNT; kind++) {
            const float x = 3;
            const int32_t target = 0;
            float loss = 7, nll = 7, stats[2], dx = 7;
            CASE("%s, kind %d", k->name, kind);
            k->cross_entropy_forward(&loss, &nll, stats, &x, &target, 1, 1, 0.67f, kind);
            k->cross_entropy_backward(&dx, NULL, stats, &x, &target, 1, 1, 0.67f, kind, false);
            CHECK_CLOSE((double)loss, 0, 1e-7);
            CHECK_CLOSE((double)nll, 0, 1e-7);
            CHECK_CLOSE((double)dx, 0, 1e-7);
        }
    }
}

/* -- optimizers -------------------------------------------------------------------------------- */

enum { KERNELS_P = 37, KERNELS_STEPS = 20 };
typedef struct kernels_opt {
    tfn_update_args u;
    const float *start, *grads;
    bool momentum;
} kernels_opt;

static void kernels_optimize(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_opt *d = (const kernels_opt *)data;
    float *m = d->momentum ? out + KERNELS_P : NULL, *v = out + 2*KERNELS_P;
    memset(out, 0, 3*KERNELS_P * sizeof *out);
    memcpy(out, d->start, KERNELS_P * sizeof *out);
    for (int t = 1; t <= KERNELS_STEPS; t++) {
        tfn_update_args u = d->u;
        tfn_update_at(&u, t);
        if (u.optimizer == TFN_OPTIMIZER_SGD || u.optimizer == TFN_OPTIMIZER_LION) v = NULL;
        k->update(out, d->grads + t, m, v, KERNELS_P, &u);
    }
}

/* RAdam by its table: the action at step t, and r. */
static double kernels_rectified(const tfn_update_args *u, int t, bool *known)
{
    double b2 = (double)u->beta2, most = 2 / (1 - b2) - 1, power = pow(b2, t);
    double rho = most - 2*t * power / (1 - power);
    *known = u->radam == TFN_RADAM_DEFAULT ? rho > 4 : rho >= 5;
    return *known ? sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) : 1;
}

static double kernels_adam_step(const tfn_update_args *u, int t, double m, double v, bool *decays)
{
    double b1 = (double)u->beta1, b2 = (double)u->beta2, lr = (double)u->lr, eps = (double)u->eps;
    double first = m / (1 - pow(b1, t)), root = sqrt(1 - pow(b2, t)), r = 1;
    bool known = true;
    *decays = u->optimizer != TFN_OPTIMIZER_ADAM;
    if (u->optimizer == TFN_OPTIMIZER_RADAM) r = kernels_rectified(u, t, &known);
    if (!known && u->radam == TFN_RADAM_AUTHORS) *decays = false;
    if (!known && (u->radam == TFN_RADAM_AUTHORS || u->radam == TFN_RADAM_DECAY)) return 0;
    if (!known) return lr * first;
    if (u->eps_inside) return lr * r * first / (sqrt(v) / root + eps);
    return lr * r * root * first / (sqrt(v) + eps);
}

static void kernels_naive(const kernels_opt *d, double *p)
{
    const tfn_update_args *u = &d->u;
    double lr = (double)u->lr, b1 = (double)u->beta1, b2 = (double)u->beta2, w = (double)u->decay;
    for (int i = 0; i < KERNELS_P; i++) {
        double x = (double)d->start[i], m = 0, v = 0;
        for (int t = 1; t <= KERNELS_STEPS; t++) {
            double g = (double)u->grad_scale * (double)d->grads[t + i], step;
            bool decays;
            if (u->clip_value > 0) g = fmax(fmin(g, (double)u->clip_value), -(double)u->clip_value);
            if (u->optimizer == TFN_OPTIMIZER_LION) {
                double c = b1*m + (1 - b1)*g;
                x -= lr * ((c > 0) - (c < 0) + w*x);
                m = b2*m + (1 - b2)*g;
                continue;
            }
            if (u->optimizer == TFN_OPTIMIZER_SGD) {
                g += w * x;
                m = b1*m + g;
                x -= lr * (!d->momentum ? g : u->nesterov ? g + b1*m : m);
                continue;
            }
            if (u->optimizer == TFN_OPTIMIZER_ADAM) g += w * x;
            m = b1*m + (1 - b1)*g;
            v = b2*v + (1 - b2)*g*g;
            step = kernels_adam_step(u, t, m, v, &decays);
            if (decays) x -= lr * w * x;
            x -= step;
        }
        p[i] = x;
    }
}

static void kernels_opt_case(tfn_optimizer optimizer, int which)
{
    static float start[KERNELS_P], grads[KERNELS_P + KERNELS_STEPS + 1], y[3*KERNELS_P];
    double wanted[KERNELS_P];
    kernels_opt d;
    memset(&d, 0, sizeof d);
    kernels_fill(start, KERNELS_P);
    kernels_fill(grads, KERNELS_P + KERNELS_STEPS + 1);
    d.u.optimizer = optimizer;
    d.u.lr = 0.01f;
    d.u.beta2 = which & 1 ? 0.98f : 0.9f;
    d.u.beta1 = which & 2 && optimizer == TFN_OPTIMIZER_SGD ? 0 : 0.9f;
    d.u.eps = which & 1 ? 0.1f : 1e-8f;             /* a large eps shows its place in the formula */
    d.u.decay = which & 4 ? 0.3f : 0;
    d.u.grad_scale = 0.25f;
    d.u.clip_value = which & 2 ? 0.1f : 0;
    d.u.eps_inside = which & 2;
    d.u.nesterov = which & 1;
    d.u.radam = (tfn_radam)(which / 8);
    d.momentum = d.u.beta1 > 0;
    d.start = start;
    d.grads = grads;
    kernels_run("update", kernels_optimize, &d, 3*KERNELS_P, NULL, y);
    kernels_naive(&d, wanted);
    kernels_close("update", y, wanted, KERNELS_P, 2e-6);
}

TEST(kernels_optimizers)
{
    for (int which = 0; which < 8; which++) {
        kernels_opt_case(TFN_OPTIMIZER_SGD, which);
        kernels_opt_case(TFN_OPTIMIZER_ADAM, which);
        kernels_opt_case(TFN_OPTIMIZER_ADAMW, which);
        kernels_opt_case(TFN_OPTIMIZER_DEFAULT, which);
        kernels_opt_case(TFN_OPTIMIZER_LION, which);
    }
    for (int which = 0; which < 32; which++) kernels_opt_case(TFN_OPTIMIZER_RADAM, which);
}

/* Lion's sign of 0 is 0: weights without gradient and moment stay, like words of a vocabulary that
 * are in no batch. */
TEST(kernels_lion_rests)
{
    static const float none[KERNELS_P];
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        float p[KERNELS_P], m[KERNELS_P] = { 0 };
        tfn_update_args u;
        if (!k) continue;
        memset(&u, 0, sizeof u);
        u.optimizer = TFN_OPTIMIZER_LION;
        u.lr = 1;
        u.beta1 = u.beta2 = 0.9f;
        u.grad_scale = 1;
        for (int i = 0; i < KERNELS_P; i++) p[i] = 1;
        tfn_update_at(&u, 1);
        k->update(p, none, m, NULL, KERNELS_P, &u);
        for (int i = 0; i < KERNELS_P; i++) CHECK(p[i] == 1 && m[i] == 0);
    }
}

/* Moments after gradients of all sizes, then without any: never below 2^-100, and 0 in the end. A
 * tiny eps must not make the step large. */
static void kernels_fading(const tfn_kernels *k, float *out, const void *data)
{
    const kernels_opt *d = (const kernels_opt *)data;
    float *m = out + KERNELS_P, *v = out + 2*KERNELS_P;
    static const float none[KERNELS_P];
    memset(out, 0, 3*KERNELS_P * sizeof *out);
    for (int t = 1; t <= 1200; t++) {
        tfn_update_args u = d->u;
        tfn_update_at(&u, t);
        if (u.optimizer == TFN_OPTIMIZER_SGD || u.optimizer == TFN_OPTIMIZER_LION) v = NULL;
        k->update(out, t > 3 ? none : d->grads, m, v, KERNELS_P, &u);
        for (int i = KERNELS_P; i < 3*KERNELS_P; i++)
            kernels_no_tail("moment", (float)t, out[i], 7.88860905221011805e-31f);
    }
}

TEST(kernels_tails_optimizers)
{
    static const tfn_optimizer kinds[] = { TFN_OPTIMIZER_SGD, TFN_OPTIMIZER_ADAM,
                                           TFN_OPTIMIZER_ADAMW, TFN_OPTIMIZER_RADAM,
                                           TFN_OPTIMIZER_LION };
    static float grads[KERNELS_P], y[3*KERNELS_P];
    kernels_opt d;
    float most;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < KERNELS_P; i++)
        grads[i] = (i % 2 ? -1.0f : 1.0f) * powf(10, (float)(i - 43));
    d.u.lr = 0.01f;
    d.u.beta1 = d.u.beta2 = 0.9f;
    d.u.eps = 1e-30f;
    d.u.grad_scale = 1;
    d.grads = grads;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        d.u.optimizer = kinds[i];
        kernels_run("moments", kernels_fading, &d, 3*KERNELS_P, NULL, y);
        /* Lion moves by the rate as long as it has a moment */
        most = kinds[i] == TFN_OPTIMIZER_LION ? 1200 * d.u.lr : 1;
        for (int j = 0; j < KERNELS_P; j++) CHECK(fabsf(y[j]) <= most);
        for (int j = KERNELS_P; j < 3*KERNELS_P; j++) CHECK(y[j] == 0);
    }
}

/* Running statistics of a column that becomes 0 after its first batch. */
TEST(kernels_tails_running)
{
    static const tfn_norm_kind kinds[] = { TFN_NORM_BATCH, TFN_NORM_POWER };
    for (int kind = 0; kind < 2; kind++) {
        float x[3] = { 1, 2, 3 }, y[3], stats[2], running[2] = { 1, 1 }, next[2];
        tfn_columns_args p;
        memset(&p, 0, sizeof p);
        p.kind = kinds[kind];
        p.x = x, p.y = y, p.stats = stats, p.running = running, p.next = next;
        p.batch = p.cols = 1;
        p.time = 3;
        p.eps = 1e-5f;
        p.training = true;
        for (p.step = 1; p.step < 1500; p.step++) {
            memcpy(next, running, sizeof next);
            tfn_columns_forward(&p, 0, 1);
            for (int i = 0; i < 2; i++)
                kernels_no_tail("running", (float)p.step, next[i], 7.88860905221011805e-31f);
            memcpy(running, next, sizeof next);
            memset(x, 0, sizeof x);
        }
        CHECK(running[0] == 0 && (running[1] == 0 || kind == 1));
    }
}

TEST(kernels_radam_rectification)       /* the numbers of Liu 2020b for b2 = 0.98 and 0.999 */
{
    static const struct { double b2, r; int t; } known[] = {
        { 0.98, 0.0766, 5 }, { 0.98, 0.1155, 6 }, { 0.98, 0.5, 33 }, { 0.98, 0.9, 140 },
        { 0.98, 0.99, 284 }, { 0.999, 0.0258, 6 }, { 0.999, 0.5, 556 }, { 0.999, 0.9, 2737 }
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tfn_update_args u;
        memset(&u, 0, sizeof u);
        u.optimizer = TFN_OPTIMIZER_RADAM;
        u.lr = 1;
        u.beta2 = (float)known[i].b2;
        u.eps_inside = true;
        tfn_update_at(&u, known[i].t);
        CHECK(u.adaptive && fabs((double)u.step_size - known[i].r) < 0.01 * known[i].r);
        tfn_update_at(&u, 4);
        CHECK(!u.adaptive && u.step_size == 1);               /* adaptive from t = 5 on */
    }
}

/* The first updates of the authors' RAdam are skipped, later ones are not, in any order. */
TEST(kernels_radam_skips)
{
    static const int steps[] = { 1, 4, 5, 100, 3, 6 };
    tfn_update_args u;
    memset(&u, 0, sizeof u);
    u.optimizer = TFN_OPTIMIZER_RADAM;
    u.radam = TFN_RADAM_AUTHORS;
    u.lr = 1;
    u.beta2 = (float)0.999;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        CASE("update %d", steps[i]);
        tfn_update_at(&u, steps[i]);
        CHECK(u.skip == (steps[i] < 6) && u.adaptive == (steps[i] >= 6));
    }
    u.optimizer = TFN_OPTIMIZER_ADAM;
    u.skip = true;
    tfn_update_at(&u, 1);
    CHECK(!u.skip && u.adaptive);
}

/* -- schedules --------------------------------------------------------------------------------- */

static void kernels_rate(const tfn_schedule *s, int64_t t, double wanted)
{
    double rate = (double)tfn_schedule_at(s, t, 256);
    if (!(fabs(rate - wanted) <= 1e-7 * fabs(wanted)))
        FAIL("kind %d: rate %.9g at %d, not %.9g", (int)s->kind, rate, (int)t, wanted);
}

static tfn_schedule kernels_schedule(tfn_schedule_kind kind, float lr, int64_t warmup,
                                     int64_t steps)
{
    tfn_schedule s;
    memset(&s, 0, sizeof s);
    s.kind = kind;
    s.lr = lr;
    s.warmup = warmup;
    s.steps = steps;
    return s;
}

TEST(kernels_schedules_roots)
{
    tfn_schedule s = kernels_schedule(TFN_SCHEDULE_INVERSE_SQRT, 1, 4000, 0), noam;
    kernels_rate(&s, 1, 1 / 4000.0);
    kernels_rate(&s, 4000, 1);
    kernels_rate(&s, 16000, 0.5);
    s.step_at = 8000;                                         /* decay continues after it */
    s.step_factor = 0.25f;
    kernels_rate(&s, 16000, 0.125);
    /* the trap: the rate decays from the first step on */
    s = kernels_schedule(TFN_SCHEDULE_INVERSE_SQRT, 1, 0, 0);
    kernels_rate(&s, 0, 1);
    kernels_rate(&s, 1, 1);
    kernels_rate(&s, 4000, 1 / sqrt(4000));
    s.anchor = 4000;                                          /* the way to avoid it */
    kernels_rate(&s, 1, 1);
    kernels_rate(&s, 4000, 1);
    kernels_rate(&s, 16000, 0.5);
    noam = kernels_schedule(TFN_SCHEDULE_NOAM, 2, 4096, 0);    /* is the inverse square root */
    s = kernels_schedule(TFN_SCHEDULE_INVERSE_SQRT, 2.0f / 1024, 4096, 0);
    kernels_rate(&noam, 0, 0);
    for (int64_t t = 1; t < 100000; t = 2*t + 1)
        kernels_rate(&noam, t, (double)tfn_schedule_at(&s, t, 256));
    kernels_rate(&noam, 10000, 2.0 / 16 / 100);
    s = kernels_schedule(TFN_SCHEDULE_T_FIXUP, 1, 0, 0);
    kernels_rate(&s, 0, 1);
    kernels_rate(&s, 12000, 0.5);
    s.anchor = 1000;
    kernels_rate(&s, 3000, 0.5);
}

/* Every half h, from 0 to 65504: h stays; a float next to the middle between h and the next half
 * goes to its side, and the middle to the even one; above the last half is infinity. In all lanes,
 * with both signs, in runs of every length. */
TEST(kernels_half)
{
    enum { N = 37 };
    float x[N], wanted[N];
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        int n = 0, length = 1;
        if (!k) continue;
        for (int bits = 0; bits < 0x7c00; bits++) {
            const int power = bits >> 10 ? bits >> 10 : 1;
            const float ulp = (float)ldexp(1, power - 25);
            const float half = ulp * (float)((bits & 1023) + (bits >> 10 ? 1024 : 0));
            const float next = bits == 0x7bff ? (float)INFINITY : half + ulp;
            const float middle = half + ulp / 2;
            const float from[] = { half, nextafterf(middle, 0), middle, nextafterf(middle, 1e6f) };
            const float to[] = { half, half, bits % 2 ? next : half, next };
            for (int i = 0; i < 8; i++) {
                x[n] = i % 2 ? -from[i / 2] : from[i / 2];
                wanted[n++] = i % 2 ? -to[i / 2] : to[i / 2];
                if (n < length && (bits < 0x7bff || i < 7)) continue;
                k->round_to_half(x, n);
                if (memcmp(x, wanted, (size_t)n * sizeof *x))
                    FAIL("%s: %d values behind %.9g", k->name, n, (double)half);
                n = 0;
                length = length % N + 1;
            }
        }
        x[0] = (float)NAN;
        x[1] = (float)-INFINITY;
        x[2] = (float)-1e30;
        x[3] = (float)1e-40;
        k->round_to_half(x, 4);
        CHECK(isnan(x[0]) && x[1] < -1e38f && x[2] < -1e38f && x[3] <= 0 && x[3] >= 0);
    }
}

/* random_values has the bits of single draws, for lengths around a block of 64 draws, indices
 * beyond 2^32, and enough numbers to reach each quarter turn and rare radii. */
TEST(kernels_random_values)
{
    static const ptrdiff_t lengths[] = { 0, 1, 63, 64, 65, 130, 10000 };
    static const uint64_t firsts[] = { 0, 7, UINT64_C(0xfffffffff), UINT64_MAX - 70 };
    static float y[10001];
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        for (size_t c = 0; k && c < sizeof lengths / sizeof *lengths; c++)
            for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
                for (int normal = 0; normal < 2; normal++) {
                    const tfn_key key = tfn_key_make(c + 10 * f);
                    const ptrdiff_t n = lengths[c];
                    CASE("%s, %d from %d", k->name, (int)n, (int)f);
                    y[n] = KERNELS_GUARD;
                    k->random_values(y, n, key, firsts[f], (float)0.3, normal != 0);
                    CHECK(y[n] == KERNELS_GUARD);
                    for (ptrdiff_t i = 0; i < n; i++) {
                        const uint64_t index = firsts[f] + (uint64_t)i;
                        float one = 2 * tfn_random_uniform(key, index) - 1;
                        if (normal) one = tfn_random_normal(key, index);
                        one *= (float)0.3;
                        CHECK_BITS(&one, y + i, sizeof one);
                    }
                }
    }
}

/* -- Muon: half of a symmetric product, mirrored, has the bits of the whole -------------------- */

enum { MUON_FLOATS = 340 * 345 };
typedef struct muon_case {
    float g[MUON_FLOATS], m[MUON_FLOATS], p[MUON_FLOATS];
    float x[MUON_FLOATS], next[MUON_FLOATS], a[MUON_FLOATS], b[MUON_FLOATS];
} muon_case;
static muon_case muon;
static float muon_work[4000000];

static float muon_cut(float x, float least)
{
    if (fabsf(x) < least) return 0;
    return x;
}

/* c (rows, cols) = start + a b, or start + a b^T if `transposed`. */
static void muon_product(const tfn_kernels *k, float *c, const float *start, const float *a,
                         const float *b, int rows, int cols, int inner, bool transposed)
{
    tfn_matmul_args p;
    memset(&p, 0, sizeof p);
    p.c = c;
    p.start = start;
    p.a = a;
    p.b = b;
    p.m = rows;
    p.n = p.c_ld = p.start_ld = cols;
    p.k = inner;
    p.a_row = inner;
    p.a_col = 1;
    p.b_row = cols;
    p.b_col = 1;
    if (transposed) {
        p.b_row = 1;
        p.b_col = inner;
    }
    k->matmul(&p, muon_work);
}

/* Muon's first update, with whole products. The matrix must not have more rows than columns. */
static void muon_reference(const tfn_kernels *k, const tfn_update_args *u, int rows, int cols)
{
    const int n = rows * cols;
    float *x = muon.x;
    float *next = muon.next;
    float length;
    for (int i = 0; i < n; i++) {
        const float mean = (1 - u->momentum) * muon.g[i];
        x[i] = exact_product(u->momentum, mean) + mean;
        if (k->fma) x[i] = exact_fma(u->momentum, mean, mean);
    }
    length = sqrtf(k->dot(x, x, n)) + (float)1e-7;
    for (int i = 0; i < n; i++) x[i] = muon_cut(x[i] / length, ldexpf(1, -30));
    for (int step = 0; step < 5; step++) {
        float *last = x;
        muon_product(k, muon.a, NULL, x, x, rows, rows, cols, true);
        for (int i = 0; i < rows * rows; i++) muon.a[i] = muon_cut(muon.a[i], ldexpf(1, -60));
        muon_product(k, muon.b, NULL, muon.a, muon.a, rows, rows, rows, false);
        for (int i = 0; i < rows * rows; i++) {
            const float first = (float)-4.7750 * muon.a[i];
            const float second = (float)2.0315 * muon.b[i];
            muon.b[i] = muon_cut(first + second, ldexpf(1, -60));
        }
        for (int i = 0; i < n; i++) next[i] = (float)3.4445 * x[i];
        muon_product(k, next, next, muon.b, x, rows, cols, rows, false);
        for (int i = 0; i < n; i++) next[i] = muon_cut(next[i], ldexpf(1, -30));
        x = next;
        next = last;
    }
    for (int i = 0; i < n; i++)
        muon.p[i] = 0 - u->lr * u->matrix_rate * sqrtf((float)cols / (float)rows) * x[i];
}

/* Sizes around a tile and a panel, and sums over more than one block. Only the best set also runs
 * more than one block of rows, to save time. */
TEST(kernels_muon_halves)
{
    static const int shapes[][2] = { { 1, 1 }, { 5, 9 }, { 31, 64 }, { 40, 40 }, { 64, 65 },
                                     { 97, 100 }, { 33, 420 }, { 340, 345 } };
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        for (size_t c = 0; k && c < sizeof shapes / sizeof *shapes; c++) {
            static float p[MUON_FLOATS];
            const int rows = shapes[c][0];
            const int cols = shapes[c][1];
            tfn_update_args u;
            memset(&u, 0, sizeof u);
            memset(&muon.m, 0, sizeof muon.m);
            memset(p, 0, sizeof p);
            u.optimizer = TFN_OPTIMIZER_MUON;
            u.matrix = true;
            u.lr = (float)0.01;
            u.matrix_rate = 20;
            u.momentum = (float)0.95;
            u.grad_scale = 1;
            if (rows > 100 && k != tfn_kernels_for(TFN_ISA_BEST)) continue;
            CASE("%s, %d x %d", k->name, rows, cols);
            kernels_fill(muon.g, rows * cols);
            if (k->update_work(rows, cols, &u) > 4000000) exit(2);
            k->update_tensor(p, muon.g, muon.m, NULL, rows, cols, &u, muon_work);
            muon_reference(k, &u, rows, cols);
            CHECK_BITS(p, muon.p, sizeof *p * (size_t)(rows * cols));
        }
    }
}

/* -- packed moments, by the formulas of tfn_moment_type, one number at a time ------------------ */

enum { PACKED_N = 600 };
typedef struct packed_case {
    tfn_packed_moments m;
    uint16_t data[2][PACKED_N + 32];
    uint8_t exponents[2][PACKED_N / 32 + 1];
    float p[PACKED_N];
} packed_case;

static float packed_read(const packed_case *c, int which, ptrdiff_t i)
{
    const int bits = 3 + which;
    const int exponent = c->exponents[which][i / 32];
    const uint8_t *codes = (const uint8_t *)c->data[which];
    const int code = which ? codes[i] : codes[i] & 127;
    const int e = code >> bits;
    float x = (float)ldexp(code % (1 << bits), exponent - 127 - 13 - bits);
    if (c->m.type == TFN_MOMENT_TYPE_BF16) {
        const uint32_t u = (uint32_t)c->data[which][i] << 16;
        memcpy(&x, &u, sizeof x);
        return x;
    }
    if (e) x = (float)ldexp(code % (1 << bits) + (1 << bits), exponent - 127 + e - 14 - bits);
    if (exponent < 32) x = 0;
    if (exponent == 255) x = NAN;
    if (which) return x * x;
    return codes[i] & 128 ? -x : x;
}

static uint32_t packed_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* Returns the code of x in a block with this exponent. Adds random bits to the bits that it
 * drops. */
static uint8_t packed_fp8(float x, int exponent, int which, uint32_t random)
{
    const uint32_t u = packed_bits(x);
    const int drop = 20 - which;
    const int e = (int)(u >> 23 & 255) - exponent + 14;
    uint32_t bits = (u & 0x7fffff) | 1u << 23;
    uint32_t code = 0;
    if (e < -22) bits = 0;
    else if (e < 1) bits >>= 1 - e;
    else bits += (uint32_t)(e - 1) << 23;
    if (fabsf(x) > 0) code = (bits + (random & ((1u << drop) - 1))) >> drop;
    if (which && x > 0 && !code) code = 1;
    if (!which) code |= u >> 24 & 0x80;
    return (uint8_t)code;
}

static void packed_write(packed_case *c, int which, float *x, ptrdiff_t n)
{
    for (ptrdiff_t first = 0; first < n; first += 32) {
        uint32_t most = 0;
        for (ptrdiff_t i = first; i < n && i < first + 32; i++) {
            if (which && c->m.type == TFN_MOMENT_TYPE_FP8) x[i] = sqrtf(x[i]);
            if ((packed_bits(x[i]) & 0x7fffffff) > most) most = packed_bits(x[i]) & 0x7fffffff;
        }
        c->exponents[which][first / 32] = (uint8_t)(most >> 23);
        for (ptrdiff_t i = first; i < n && i < first + 32; i++) {
            const uint64_t draw = tfn_random_bits(c->m.key, c->m.first + (uint64_t)i);
            const uint32_t random = (uint32_t)(draw >> 32 * which);
            uint8_t *codes = (uint8_t *)c->data[which];
            uint32_t u = packed_bits(x[i]);
            if (isnan(x[i])) u |= 0x400000;
            else if (!isinf(x[i])) u += random & 0xffff;
            if (c->m.type == TFN_MOMENT_TYPE_BF16) c->data[which][i] = (uint16_t)(u >> 16);
            else codes[i] = packed_fp8(x[i], (int)(most >> 23), which, random);
        }
    }
}

/* Draws gradients of all magnitudes, with zeros, infinities and NaN in some blocks. */
static void packed_gradients(float *g, int step)
{
    for (int i = 0; i < PACKED_N; i++) {
        const uint64_t draw = tfn_random_bits(tfn_key_make(8), (uint64_t)(i + PACKED_N * step));
        const int range = i / 32 % 3 ? 12 : 120;
        g[i] = ldexpf(kernels_draw(), (int)(draw % (uint64_t)range) - range * 3 / 4);
        if (draw >> 20 & 7) continue;
        g[i] = 0;
        if (step == 2 && i / 32 == 5) g[i] = INFINITY;
        if (step == 2 && i / 32 == 6) g[i] = NAN;
    }
}

static void packed_start(packed_case *c, tfn_moment_type type, bool second)
{
    memset(c, 0, sizeof *c);
    c->m.type = type;
    for (int k = 0; k < 1 + second; k++) {
        c->m.data[k] = c->data[k];
        c->m.exponents[k] = c->exponents[k];
    }
    for (int i = 0; i < PACKED_N; i++) c->p[i] = (float)(i % 7);
}

/* Compares four updates by the kernel with four by `update` between packed_read and
 * packed_write. */
static void packed_compare(const tfn_kernels *k, tfn_moment_type type, tfn_optimizer optimizer,
                           ptrdiff_t n)
{
    static packed_case a, b;
    const bool second = optimizer == TFN_OPTIMIZER_ADAMW;
    packed_start(&a, type, second);
    packed_start(&b, type, second);
    for (int step = 0; step < 4; step++) {
        float g[PACKED_N], x[2][PACKED_N], work[512];
        tfn_update_args u;
        memset(&u, 0, sizeof u);
        u.optimizer = optimizer;
        u.lr = (float)0.01;
        u.beta1 = (float)0.9;
        u.beta2 = (float)0.99;
        u.eps = (float)1e-8;
        u.grad_scale = 1;
        tfn_update_at(&u, step + 1);
        packed_gradients(g, step);
        a.m.key = b.m.key = tfn_key_make((uint64_t)step);
        a.m.first = b.m.first = (uint64_t)(1000 * n);
        k->update_packed(a.p, g, &a.m, n, &u, work);
        for (int which = 0; which < 1 + second; which++)
            for (ptrdiff_t i = 0; i < n; i++) x[which][i] = packed_read(&b, which, i);
        k->update(b.p, g, x[0], second ? x[1] : NULL, n, &u);
        for (int which = 0; which < 1 + second; which++) packed_write(&b, which, x[which], n);
        CHECK_BITS(a.p, b.p, sizeof a.p);
        CHECK_BITS(a.data, b.data, sizeof a.data);
        if (type == TFN_MOMENT_TYPE_FP8) CHECK_BITS(a.exponents, b.exponents, sizeof a.exponents);
    }
}

TEST(kernels_update_packed)
{
    static const ptrdiff_t lengths[] = { 0, 1, 31, 32, 33, 256, 299, PACKED_N };
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        for (size_t c = 0; k && c < sizeof lengths / sizeof *lengths; c++) {
            CASE("%s, %d", k->name, (int)lengths[c]);
            packed_compare(k, TFN_MOMENT_TYPE_FP8, TFN_OPTIMIZER_ADAMW, lengths[c]);
            packed_compare(k, TFN_MOMENT_TYPE_FP8, TFN_OPTIMIZER_LION, lengths[c]);
            packed_compare(k, TFN_MOMENT_TYPE_BF16, TFN_OPTIMIZER_ADAMW, lengths[c]);
            packed_compare(k, TFN_MOMENT_TYPE_BF16, TFN_OPTIMIZER_LION, lengths[c]);
        }
    }
}

int main(void)
{
    RUN(kernels_norms);
    RUN(kernels_norms_wide);
    RUN(kernels_norm_params_chains);
    RUN(kernels_softmax);
    RUN(kernels_softmax_edges);
    RUN(kernels_softmax_rows);
    RUN(kernels_activations);
    RUN(kernels_gated);
    RUN(kernels_activation_edges);
    RUN(kernels_small_squares);
    RUN(kernels_tails);
    RUN(kernels_tails_softmax);
    RUN(kernels_tails_attention);
    RUN(kernels_tails_squash);
    RUN(kernels_dropout_values);
    RUN(kernels_dropout_limits);
    RUN(kernels_dropout_random);
    RUN(kernels_dropout_rows);
    RUN(kernels_scale_columns);
    RUN(kernels_cross_entropy);
    RUN(kernels_cross_entropy_smoothing);
    RUN(kernels_cross_entropy_one_class);
    RUN(kernels_optimizers);
    RUN(kernels_lion_rests);
    RUN(kernels_tails_optimizers);
    RUN(kernels_tails_running);
    RUN(kernels_radam_rectification);
    RUN(kernels_radam_skips);
    RUN(kernels_schedules_roots);
    RUN(kernels_half);
    RUN(kernels_random_values);
    RUN(kernels_muon_halves);
    RUN(kernels_update_packed);
    return DONE();
}
