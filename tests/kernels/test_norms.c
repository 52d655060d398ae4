/* Every norm against plain formulas in double, and its backward against central differences of
 * these (where the backward treats a value as constant, it is frozen). Running statistics and
 * PowerNorm, whose backward is not a gradient, are compared with the steps written out. All
 * instruction sets and any range of columns give the same bits. TFN__DOUBLE (test_norms_double.c)
 * checks more digits. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef TFN__DOUBLE
#define NORMS_CLOSE 1e-9
#define NORMS_SHARP 1e-12
#else
#define NORMS_CLOSE 3e-5
#define NORMS_SHARP 3e-6
#endif
#define TEST_EXACT
#include "../lib.h"
#include "../check.h"

enum { NORMS_COLS = 100, NORMS_ROWS = 5, NORMS_MAX = 8000, NORMS_GUARD = 12345 };
static const ptrdiff_t norms_cols[] = { 1, 2, 15, 16, 17, 33, 100 };

static uint64_t norms_drawn;
static void norms_fill(float *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) x[i] = tfn_random_normal(tfn_key_make(9), norms_drawn++);
}

static void norms_close(const char *name, const float *y, const double *wanted, ptrdiff_t n,
                        double tolerance)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(fabs((double)y[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i]))))
            FAIL("%s[%d] is %.12g, not %.12g", name, (int)i, (double)y[i], wanted[i]);
}

/* A call on every instruction set, with outputs that hold `before`. Sets with an FMA give the same
 * bits, the others nearly the same, and none writes past n floats. */
typedef void (*norms_call)(const tfn_kernels *k, float *out, const void *data);

static void norms_try(const char *name, const tfn_kernels *k, norms_call call, const void *data,
                      ptrdiff_t n, const float *before, float *out)
{
    memcpy(out, before, (size_t)n * sizeof *out);
    for (ptrdiff_t i = n; i < n + 16; i++) out[i] = NORMS_GUARD;
    call(k, out, data);
    for (ptrdiff_t i = n; i < n + 16; i++)
        if (out[i] != NORMS_GUARD) FAIL("%s %s: wrote beyond its end", name, k->name);
}

static void norms_run(const char *name, norms_call call, const void *data, ptrdiff_t n,
                      const float *before, float *result)
{
    static float out[NORMS_MAX + 16];
    const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
    if (n > NORMS_MAX) exit(2);
    norms_try(name, best, call, data, n, before, out);
    memcpy(result, out, (size_t)n * sizeof *out);
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k || k == best) continue;
        norms_try(name, k, call, data, n, before, out);
        if (k->fma == best->fma && memcmp(result, out, (size_t)n * sizeof *out))
            FAIL("%s: other bits on %s", name, k->name);
        for (ptrdiff_t i = 0; i < n; i++) {
            double a = (double)out[i], b = (double)result[i];
            if (!(fabs(a - b) <= 1e-4 * (1 + fabs(b))))
                FAIL("%s %s: [%d] %g, not %g", name, k->name, (int)i, a, b);
        }
    }
}

/* d(sum w*f)/dx by central differences of fourth order; f(y, x, data). */
typedef void (*norms_formula)(double *y, const double *x, const void *data);
static void norms_slope(double *dx, norms_formula f, const double *x, const double *w, ptrdiff_t n,
                        ptrdiff_t outs, const void *data)
{
    static const double step[4] = { -2, -1, 1, 2 }, factor[4] = { 1, -8, 8, -1 };
    static double z[NORMS_MAX], y[NORMS_MAX];
    const double h = 1e-4;
    memcpy(z, x, (size_t)n * sizeof *z);
    for (ptrdiff_t i = 0; i < n; i++) {
        dx[i] = 0;
        for (int s = 0; s < 4; s++) {
            z[i] = x[i] + step[s] * h;
            f(y, z, data);
            for (ptrdiff_t j = 0; j < outs; j++) dx[i] += w[j] * y[j] * factor[s] / (12*h);
        }
        z[i] = x[i];
    }
}

static void norms_widen(double *d, const float *f, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) d[i] = (double)f[i];
}

/* -- norms of rows ------------------------------------------------------------------------- */

/* norms_rows_run writes y, mean, rstd, dx, dgain, dbias. */
typedef struct norms_rows {
    tfn_norm_args p;
    bool no_mean;                       /* the backward gets no mean */
    const double *frozen;               /* a row for values that the backward treats as constant */
} norms_rows;

static void norms_rows_run(const tfn_kernels *k, float *out, const void *data)
{
    const norms_rows *d = (const norms_rows *)data;
    const ptrdiff_t groups = d->p.groups > 0 ? d->p.groups : 1, split = d->p.cols / 3;
    tfn_norm_args p = d->p;
    p.y = out;
    p.mean = p.y + p.rows*p.cols;
    p.rstd = p.mean + p.rows*groups;
    p.dx = p.rstd + p.rows*groups;
    p.dgain = p.dx + p.rows*p.cols;
    p.dbias = p.dgain + p.cols;
    k->norm_forward(&p);
    if (d->no_mean) p.mean = NULL;
    k->norm_backward(&p);
    k->norm_params_backward(&p, split, p.cols - split);
    k->norm_params_backward(&p, 0, split);
    p.dgain = p.dbias = NULL;
    k->norm_params_backward(&p, 0, p.cols);
}

/* n of one group of C features; detached values come from `frozen`. */
static void norms_group(double *y, const double *x, const double *frozen, ptrdiff_t C,
                        const tfn_norm_args *p)
{
    const double *for_mean = p->detach_mean ? frozen : x, *for_std = p->detach_std ? frozen : x;
    const ptrdiff_t part = p->part > 0 && p->part < C ? p->part : C;
    double mean = 0, own = 0, var = 0, sum = 0, square = 0, some = 0, by = 0;
    const double eps = (double)p->eps, d = (double)C;
    for (ptrdiff_t i = 0; i < C; i++) mean += for_mean[i] / d;
    for (ptrdiff_t i = 0; i < C; i++) own += for_std[i] / d;
    for (ptrdiff_t i = 0; i < C; i++) var += (for_std[i] - own) * (for_std[i] - own) / d;
    for (ptrdiff_t i = 0; i < C; i++) sum += for_std[i], square += for_std[i] * for_std[i];
    for (ptrdiff_t i = 0; i < part; i++) some += for_std[i] * for_std[i] / (double)part;
    switch (p->kind) {
    case TFN_NORM_LAYER: case TFN_NORM_ABSMAX: by = 1 / sqrt(var + eps); break;
    case TFN_NORM_RMS: by = 1 / sqrt(some + eps); break;
    case TFN_NORM_RMS_OUTSIDE: by = 1 / (sqrt(some) + eps); break;
    case TFN_NORM_L2: by = 1 / fmax(sqrt(square), eps); break;
    case TFN_NORM_CRMS: by = 1 / sqrt((square + sum*sum) / (d + 1) + eps); break;
    case TFN_NORM_CENTER: by = C > 1 ? d / (d - 1) : 1; break;
    case TFN_NORM_ADA: by = 1 / (sqrt(C > 1 ? var * d / (d - 1) : 0) + eps); break;
    default: exit(2);
    }
    if (p->kind == TFN_NORM_RMS || p->kind == TFN_NORM_RMS_OUTSIDE || p->kind == TFN_NORM_L2
        || p->kind == TFN_NORM_CRMS) mean = 0;
    for (ptrdiff_t i = 0; i < C; i++) y[i] = (x[i] - mean) * by;
}

/* A row without gain and bias; AdaNorm's factor comes from frozen numbers. */
static void norms_row_n(double *y, const double *x, const void *data)
{
    const norms_rows *d = (const norms_rows *)data;
    const ptrdiff_t groups = d->p.groups > 0 ? d->p.groups : 1, C = d->p.cols / groups;
    double n[NORMS_COLS];
    for (ptrdiff_t at = 0; at < d->p.cols; at += C) {
        norms_group(y + at, x + at, d->frozen + at, C, &d->p);
        if (d->p.kind != TFN_NORM_ADA) continue;
        norms_group(n, d->frozen + at, d->frozen + at, C, &d->p);
        for (ptrdiff_t i = 0; i < C; i++)
            y[at + i] *= (double)d->p.factor * (1 - (double)d->p.slope * n[i]);
    }
}

static void norms_row(double *y, const double *x, const void *data)
{
    const tfn_norm_args *p = &((const norms_rows *)data)->p;
    norms_row_n(y, x, data);
    for (ptrdiff_t i = 0; i < p->cols && p->kind != TFN_NORM_ADA; i++) {
        if (p->gain) y[i] *= (p->offset ? 1 : 0) + (double)p->gain[i];
        if (p->bias) y[i] += (double)p->bias[i];
    }
}

static void norms_check_rows(const char *name, norms_rows *d)
{
    static float before[NORMS_MAX], out[NORMS_MAX];
    const tfn_norm_args *p = &d->p;
    const ptrdiff_t groups = p->groups > 0 ? p->groups : 1, n = p->rows * p->cols;
    const ptrdiff_t dx = n + 2*p->rows*groups, count = 2*n + 2*p->rows*groups + 2*p->cols;
    double x[NORMS_COLS], w[NORMS_COLS], y[NORMS_COLS];
    double dgain[NORMS_COLS] = { 0 }, dbias[NORMS_COLS] = { 0 };
    norms_fill(before, count);
    norms_run(name, norms_rows_run, d, count, before, out);
    for (ptrdiff_t c = 0; c < p->cols && p->add_params; c++) {
        dgain[c] = (double)before[dx + n + c];
        dbias[c] = (double)before[dx + n + p->cols + c];
    }
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        norms_widen(x, p->x + r*p->cols, p->cols);
        norms_widen(w, p->dy + r*p->cols, p->cols);
        d->frozen = x;
        norms_row(y, x, d);
        norms_close(name, out + r*p->cols, y, p->cols, NORMS_SHARP);
        norms_row_n(y, x, d);
        for (ptrdiff_t c = 0; c < p->cols; c++) dgain[c] += w[c] * y[c], dbias[c] += w[c];
        norms_slope(y, norms_row, x, w, p->cols, p->cols, d);
        for (ptrdiff_t c = 0; p->add && c < p->cols; c++)
            y[c] += (double)before[dx + r*p->cols + c];
        norms_close(name, out + dx + r*p->cols, y, p->cols, NORMS_CLOSE);
    }
    if (p->kind != TFN_NORM_ADA)
        norms_close(name, out + dx + n, dgain, p->cols, NORMS_CLOSE);
    norms_close(name, out + dx + n + p->cols, dbias, p->cols, NORMS_CLOSE);
}

static const char *const norms_names[] = {
    "LayerNorm", "RMSNorm", "RMSNorm, eps outside", "L2", "CRMSNorm", "CenterNorm", "AdaNorm",
    "absmax"
};

/* The flags of a case are the bits of `which`. */
static void norms_rows_case(tfn_norm_kind kind, ptrdiff_t cols, int which)
{
    static float x[NORMS_ROWS*NORMS_COLS], dy[NORMS_ROWS*NORMS_COLS];
    static float gain[NORMS_COLS], bias[NORMS_COLS];
    norms_rows d;
    memset(&d, 0, sizeof d);
    norms_fill(x, NORMS_ROWS * cols);
    norms_fill(dy, NORMS_ROWS * cols);
    norms_fill(gain, cols);
    norms_fill(bias, cols);
    d.p.kind = kind;
    d.p.x = x, d.p.dy = dy;
    d.p.rows = NORMS_ROWS, d.p.cols = cols;
    d.p.eps = (float)(kind == TFN_NORM_L2 ? 1e-2 : 0.125);
    d.p.slope = (float)0.25, d.p.factor = (float)1.5;
    d.p.gain = which & 1 ? gain : NULL;
    d.p.bias = which & 2 ? bias : NULL;
    d.p.offset = which & 4;
    d.p.add = which & 8;
    d.p.add_params = which & 16;
    d.no_mean = which & 1 && kind != TFN_NORM_LAYER && kind != TFN_NORM_CENTER
                && kind != TFN_NORM_ADA && kind != TFN_NORM_ABSMAX;
    norms_check_rows(norms_names[kind], &d);
}

TEST(norms_of_rows)
{
    for (int kind = TFN_NORM_LAYER; kind <= TFN_NORM_ABSMAX; kind++)
        for (size_t c = 0; c < sizeof norms_cols / sizeof *norms_cols; c++)
            for (int which = 0; which < 32; which += 1 + (int)c % 3)
                norms_rows_case((tfn_norm_kind)kind, norms_cols[c], which);
}

/* A case for the tests below: random x, dy, gain. */
static norms_rows norms_some(tfn_norm_kind kind, ptrdiff_t cols)
{
    static float x[NORMS_ROWS*NORMS_COLS], dy[NORMS_ROWS*NORMS_COLS], gain[NORMS_COLS];
    norms_rows d;
    memset(&d, 0, sizeof d);
    norms_fill(x, NORMS_ROWS * cols);
    norms_fill(dy, NORMS_ROWS * cols);
    norms_fill(gain, cols);
    d.p.kind = kind;
    d.p.x = x, d.p.dy = dy, d.p.gain = gain;
    d.p.rows = NORMS_ROWS, d.p.cols = cols;
    d.p.eps = (float)0.125;
    d.p.slope = (float)0.1, d.p.factor = 1;
    return d;
}

TEST(norms_groups)
{
    static const ptrdiff_t shapes[][2] = {      /* columns, groups */
        { 2, 2 }, { 12, 3 }, { 34, 2 }, { 48, 3 }, { 99, 9 }, { 100, 4 }, { 100, 1 }
    };
    for (int kind = TFN_NORM_LAYER; kind <= TFN_NORM_ABSMAX; kind++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int offset = 0; offset < 2; offset++) {
                norms_rows d = norms_some((tfn_norm_kind)kind, shapes[s][0]);
                d.p.groups = shapes[s][1];
                d.p.offset = offset;
                norms_check_rows(norms_names[kind], &d);
            }
}

TEST(norms_part_of_features)
{
    static const ptrdiff_t shapes[][3] = {      /* columns, groups, part */
        { 1, 1, 1 }, { 2, 1, 1 }, { 17, 1, 16 }, { 17, 1, 17 }, { 17, 1, 40 }, { 100, 1, 6 },
        { 100, 1, 33 }, { 99, 3, 20 }
    };
    for (int which = 0; which < 8; which++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            tfn_norm_kind kind = which & 1 ? TFN_NORM_RMS : TFN_NORM_RMS_OUTSIDE;
            norms_rows d = norms_some(kind, shapes[s][0]);
            d.p.groups = shapes[s][1];
            d.p.part = shapes[s][2];
            d.p.offset = which & 2;
            d.p.add = which & 4;
            norms_check_rows("pRMSNorm", &d);
            d.p.gain = NULL;
            norms_check_rows("pRMSNorm without gain", &d);
        }
}

TEST(norms_detached)
{
    for (int which = 1; which < 4; which++)
        for (size_t c = 0; c < sizeof norms_cols / sizeof *norms_cols; c++) {
            norms_rows d = norms_some(TFN_NORM_LAYER, norms_cols[c]);
            d.p.detach_mean = which & 1;
            d.p.detach_std = which & 2;
            norms_check_rows("DetachNorm", &d);
            d.p.kind = TFN_NORM_RMS;
            d.p.detach_mean = false;
            norms_check_rows("RMSNorm, detached", &d);
        }
}

/* CogView: LayerNorm of x/(a/8), where a is the largest |x| of the tensor and gets no gradient. */
TEST(norms_absmax)
{
    norms_rows d = norms_some(TFN_NORM_ABSMAX, 33);
    const ptrdiff_t n = d.p.rows * d.p.cols;
    float scaled[NORMS_ROWS*33], out[2][NORMS_ROWS*33], most = 0;
    for (ptrdiff_t i = 0; i < n; i++) most = (float)fmax((double)most, fabs((double)d.p.x[i]));
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        tfn_norm_args p = d.p;
        float a;
        if (!k) continue;
        a = k->absmax(p.x, n);
        CHECK(a == most && k->absmax(p.x, 0) == 0 && k->absmax(p.x + 3, 1) == (float)fabs(p.x[3]));
        for (ptrdiff_t i = 0; i < n; i++) scaled[i] = p.x[i] / (a / 8);
        p.y = out[0];
        p.eps = (float)1e-3 * (a/8) * (a/8);
        k->norm_forward(&p);
        p.kind = TFN_NORM_LAYER;
        p.x = scaled;
        p.y = out[1];
        p.eps = (float)1e-3;
        k->norm_forward(&p);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE((double)out[0][i], (double)out[1][i], NORMS_SHARP);
    }
}

/* Rows that are zero, short, or constant. */
TEST(norms_row_edges)
{
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        static const float x[3*20] = { 0 };
        float small[20], y[20], dx[20], dy[20], mean[1], rstd[1];
        tfn_norm_args p;
        if (!k) continue;
        norms_fill(dy, 20);
        memset(&p, 0, sizeof p);
        p.y = y, p.mean = mean, p.rstd = rstd, p.dx = dx, p.dy = dy;
        p.x = x;
        p.rows = 1;
        p.cols = 20;
        p.kind = TFN_NORM_L2;                       /* nGPT: no eps */
        k->norm_forward(&p);
        k->norm_backward(&p);
        for (int i = 0; i < 20; i++) CHECK(y[i] == 0 && dx[i] == 0);
        for (int i = 0; i < 20; i++) small[i] = (float)((i - 10) * 1e-4);
        p.x = small;                                /* shorter than eps: y = x/eps */
        p.eps = (float)0.25;
        k->norm_forward(&p);
        k->norm_backward(&p);
        for (int i = 0; i < 20; i++) CHECK(y[i] == 4*small[i] && dx[i] == 4*dy[i]);
        for (int kind = TFN_NORM_LAYER; kind <= TFN_NORM_ABSMAX; kind++) {
            p.kind = (tfn_norm_kind)kind;
            p.x = x;
            p.slope = (float)0.1, p.factor = 1;
            k->norm_forward(&p);
            k->norm_backward(&p);
            for (int i = 0; i < 20; i++) CHECK(y[i] == 0 && fabs((double)dx[i]) < 1e6);
        }
        p.kind = TFN_NORM_LAYER;                    /* no row, no statistics to store */
        p.mean = p.rstd = NULL;
        k->norm_forward(&p);
        p.rows = 0;
        k->norm_forward(&p);
        k->norm_backward(&p);
        p.rows = 1;
        p.cols = 0;
        k->norm_forward(&p);
    }
}

/* L2 compares the length with eps where both are tiny, and a row with NaN has no length. */
TEST(norms_lengths)
{
    static const struct { float x, eps, wanted; } rows[] = {
        { (float)1e-27, (float)1e-25, (float)0.01 }, { (float)1e-23, (float)1e-25, 1 }, { 0, 0, 0 },
        { 0, (float)1e-25, 0 }, { (float)NAN, 0, (float)NAN },
        { (float)NAN, (float)1e-25, (float)NAN }, { (float)NAN, (float)0.25, (float)NAN }
    };
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
            const float x[20] = { rows[i].x };
            float y[20];
            tfn_norm_args p;
            if (!k) continue;
            CASE("%s, x %g, eps %g", k->name, (double)rows[i].x, (double)rows[i].eps);
            memset(&p, 0, sizeof p);
            p.kind = TFN_NORM_L2;
            p.y = y, p.x = x, p.rows = 1, p.cols = 20, p.eps = rows[i].eps;
            k->norm_forward(&p);
            if (rows[i].x != rows[i].x) CHECK(y[0] != y[0] && y[19] != y[19]);
            else CHECK_CLOSE((double)y[0], (double)rows[i].wanted, 1e-6);
        }
}

/* Rows without columns: nothing is written, and nothing is divided by 0. */
TEST(norms_no_columns)
{
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        float out[2] = { 7, 7 }, rstd[1] = { 1 };
        tfn_norm_args p;
        tfn_seed_args s;
        if (!k) continue;
        CASE("%s", k->name);
        memset(&p, 0, sizeof p);
        memset(&s, 0, sizeof s);
        p.y = p.dx = out, p.x = p.dy = out, p.rstd = rstd, p.rows = 1;
        s.y = s.dx = s.stats = out, s.x = s.dy = s.gain = s.alpha = s.direction = out, s.rows = 1;
        feclearexcept(FE_ALL_EXCEPT);
        k->norm_forward(&p);
        k->norm_backward(&p);
        tfn_seed_forward(k, &s);
        tfn_seed_backward(&s);
        k->softmax_forward(out, out, 1, 0);
        k->softmax_backward(out, out, out, 1, 0, false);
        CHECK_INT(fetestexcept(FE_INVALID | FE_DIVBYZERO), 0);
        CHECK(out[0] == 7 && out[1] == 7 && rstd[0] == 1);
    }
}

/* -- squashing ------------------------------------------------------------------------------ */

static double norms_f(tfn_squash_kind squash, double z)
{
    const double pi = 3.14159265358979323846, a = fabs(z), sign = z < 0 ? -1 : 1;
    switch (squash) {
    case TFN_SQUASH_ERF: return erf(z);
    case TFN_SQUASH_ISRU: return z / sqrt(z*z + 1);
    case TFN_SQUASH_EXP: return sign * (1 - exp(-a));
    case TFN_SQUASH_ATAN: return 2/pi * atan(z);
    case TFN_SQUASH_SIN: return sin(fmax(-pi/2, fmin(pi/2, z)));
    case TFN_SQUASH_SOFTSIGN: return z / (1 + a);
    default: return tanh(z);
    }
}

typedef struct norms_point { tfn_point_args p; } norms_point;

/* Writes y, dx, dgain, dbias, dalpha, dshift. */
static void norms_point_run(const tfn_kernels *k, float *out, const void *data)
{
    tfn_point_args p = ((const norms_point *)data)->p;
    p.y = out;
    p.dx = p.y + p.rows*p.cols;
    p.dgain = p.dx + p.rows*p.cols;
    p.dbias = p.dgain + p.cols;
    p.dalpha = p.dbias + p.cols;
    p.dshift = p.dalpha + 1;
    tfn_point_forward(k, &p);
    tfn_point_backward(k, &p);
    tfn_point_params_backward(k, &p);
    p.dgain = p.dbias = p.dalpha = p.dshift = NULL;
    tfn_point_params_backward(k, &p);
}

/* x is alpha, shift, gain, bias, then the values. */
static void norms_point_formula(double *y, const double *x, const void *data)
{
    const tfn_point_args *p = &((const norms_point *)data)->p;
    const double *gain = x + 2, *bias = gain + p->cols, *v = bias + p->cols;
    for (ptrdiff_t i = 0; i < p->rows * p->cols; i++)
        y[i] = gain[i % p->cols] * norms_f(p->squash, x[0]*v[i] + x[1]) + bias[i % p->cols];
}

static void norms_point_case(tfn_squash_kind squash, ptrdiff_t rows, ptrdiff_t cols, int which)
{
    static float x[NORMS_MAX], dy[NORMS_MAX], before[NORMS_MAX], out[NORMS_MAX];
    static double in[NORMS_MAX], w[NORMS_MAX], y[NORMS_MAX], d[NORMS_MAX];
    static float gain[NORMS_COLS], bias[NORMS_COLS];
    const float alpha = (float)0.75, shift = (float)0.125;
    const double a = which & 1 ? 0.75 : 1, s = which & 2 ? 0.125 : 0;
    const double kinks[3] = { 0, 1.5708, -1.5708 };
    const ptrdiff_t n = rows * cols;
    norms_point c;
    memset(&c, 0, sizeof c);
    norms_fill(x, n);
    norms_fill(dy, n);
    norms_fill(gain, cols);
    norms_fill(bias, cols);
    norms_fill(before, 2*n + 2*cols + 2);
    for (ptrdiff_t i = 0; i < n; i++)
        for (int j = 0; j < 3; j++)             /* differences fail at kinks of the derivative */
            if (fabs(a * (double)x[i] + s - kinks[j]) < 0.01) x[i] += (float)0.03125;
    c.p.squash = squash;
    c.p.x = x, c.p.dy = dy;
    c.p.alpha = which & 1 ? &alpha : NULL;
    c.p.shift = which & 2 ? &shift : NULL;
    c.p.gain = which & 4 ? gain : NULL;
    c.p.bias = which & 8 ? bias : NULL;
    c.p.rows = rows, c.p.cols = cols;
    c.p.add = c.p.add_shift = c.p.add_bias = which & 1;
    c.p.add_alpha = c.p.add_gain = which & 2;
    norms_run("point", norms_point_run, &c, 2*n + 2*cols + 2, before, out);
    in[0] = a, in[1] = s;
    for (ptrdiff_t i = 0; i < cols; i++) {
        in[2 + i] = which & 4 ? (double)gain[i] : 1;
        in[2 + cols + i] = which & 8 ? (double)bias[i] : 0;
    }
    norms_widen(in + 2 + 2*cols, x, n);
    norms_widen(w, dy, n);
    norms_point_formula(y, in, &c);
    norms_close("point, y", out, y, n, NORMS_SHARP);
    norms_slope(d, norms_point_formula, in, w, 2 + 2*cols + n, n, &c);
    for (ptrdiff_t i = 0; i < n && c.p.add; i++) d[2 + 2*cols + i] += (double)before[n + i];
    for (ptrdiff_t i = 0; i < cols && c.p.add_gain; i++) d[2 + i] += (double)before[2*n + i];
    for (ptrdiff_t i = 0; i < cols && c.p.add_bias; i++)
        d[2 + cols + i] += (double)before[2*n + cols + i];
    if (c.p.add_alpha) d[0] += (double)before[2*n + 2*cols];
    if (c.p.add_shift) d[1] += (double)before[2*n + 2*cols + 1];
    norms_close("point, dx", out + n, d + 2 + 2*cols, n, NORMS_CLOSE);
    norms_close("point, dgain and dbias", out + 2*n, d + 2, 2*cols, NORMS_CLOSE);
    norms_close("point, dalpha and dshift", out + 2*n + 2*cols, d, 2, NORMS_CLOSE);
}

TEST(norms_points)
{
    for (int squash = TFN_SQUASH_TANH; squash <= TFN_SQUASH_SOFTSIGN; squash++)
        for (size_t c = 0; c < sizeof norms_cols / sizeof *norms_cols; c++)
            for (int which = 0; which < 16; which += 1 + 4 * (int)(c % 2))
                norms_point_case((tfn_squash_kind)squash, c < 5 ? 4 : 2, norms_cols[c], which);
}

/* The columns of a row are summed in 16 lanes. At values of x this small f' is 1. They are powers of two,
 * so that dy*x is exact and a compiler may fuse it with the addition. */
TEST(norms_point_lanes)
{
    enum { COLS = 100 };
    float x[COLS], dy[COLS], dalpha, dshift, lanes[2][16];
    tfn_point_args p;
    memset(&p, 0, sizeof p);
    memset(lanes, 0, sizeof lanes);
    norms_fill(dy, COLS);
    for (int i = 0; i < COLS; i++) {
        x[i] = (float)ldexp(1, -60 - i % 7);
        lanes[0][i % 16] += dy[i] * x[i];
        lanes[1][i % 16] += dy[i];
    }
    p.squash = TFN_SQUASH_TANH;
    p.x = x;
    p.dy = dy;
    p.dalpha = &dalpha;
    p.dshift = &dshift;
    p.rows = 1;
    p.cols = COLS;
    tfn_point_params_backward(tfn_kernels_for(TFN_ISA_BEST), &p);
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            for (int which = 0; which < 2; which++) lanes[which][i] += lanes[which][i + half];
    CHECK_BITS(&dalpha, lanes[0], sizeof dalpha);
    CHECK_BITS(&dshift, lanes[1], sizeof dshift);
}

/* Values and derivatives over a wide range, and far away. */
TEST(norms_squash_accuracy)
{
    static const float far_away[] = { 0, (float)1e-30, 20, 1000, (float)1e10, (float)1e30 };
    enum { N = 4000, ALL = N + 12 };
    static float x[ALL], y[ALL], dx[ALL], ones[ALL];
    for (int i = 0; i < N; i++) x[i] = (float)((i - N/2 + 0.37) * 0.004);
    for (int i = 0; i < 12; i++) x[N + i] = i % 2 ? -far_away[i / 2] : far_away[i / 2];
    for (int i = 0; i < ALL; i++) ones[i] = 1;
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++)
        for (int squash = TFN_SQUASH_TANH; squash <= TFN_SQUASH_SOFTSIGN; squash++) {
            const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
            double worst = 0, worst_slope = 0;
            tfn_point_args p;
            if (!k) continue;
            memset(&p, 0, sizeof p);
            p.squash = (tfn_squash_kind)squash;
            p.x = x, p.y = y, p.dy = ones, p.dx = dx;
            p.rows = 1;
            p.cols = ALL;
            tfn_point_forward(k, &p);
            tfn_point_backward(k, &p);
            for (int i = 0; i < ALL; i++) {
                const double z = (double)x[i], h = 1e-5;
                double slope = norms_f(p.squash, z + h) - norms_f(p.squash, z - h);
                worst = fmax(worst, fabs((double)y[i] - norms_f(p.squash, z)));
                if (i < N) worst_slope = fmax(worst_slope, fabs((double)dx[i] - slope / (2*h)));
                CHECK(fabs((double)y[i]) <= 1.000001 && dx[i] >= 0 && (double)dx[i] < 1.2);
            }
            if (!(worst <= 5e-7 && worst_slope <= 2e-6))
                FAIL("%s: squash %d is off by %.3g, its slope by %.3g", k->name, squash, worst,
                     worst_slope);
        }
}

/* -- SeeDNorm --------------------------------------------------------------------------------- */

static const double norms_seed_eps = 0.125;

/* Writes y, dx, dgain, dalpha, ddirection, stats. */
static void norms_seed_run(const tfn_kernels *k, float *out, const void *data)
{
    tfn_seed_args p = *(const tfn_seed_args *)data;
    p.y = out;
    p.dx = p.y + p.rows*p.cols;
    p.dgain = p.dx + p.rows*p.cols;
    p.dalpha = p.dgain + p.cols;
    p.ddirection = p.dalpha + p.cols;
    p.stats = p.ddirection + p.cols;
    tfn_seed_forward(k, &p);
    tfn_seed_backward(&p);
    tfn_seed_params_backward(&p);
    p.dgain = p.dalpha = p.ddirection = NULL;
    tfn_seed_params_backward(&p);
}

/* x is gain, alpha, direction, then the values. */
static void norms_seed_formula(double *y, const double *x, const void *data)
{
    const tfn_seed_args *p = (const tfn_seed_args *)data;
    const ptrdiff_t C = p->cols;
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const double *v = x + 3*C + r*C;
        double dot = 0, square = 0;
        for (ptrdiff_t c = 0; c < C; c++) dot += v[c] * x[2*C + c], square += v[c]*v[c] / (double)C;
        for (ptrdiff_t c = 0; c < C; c++)
            y[r*C + c] = (tanh(dot) * x[C + c] + x[c]) * v[c] / sqrt(square + norms_seed_eps);
    }
}

TEST(norms_seed)
{
    static float x[NORMS_MAX], dy[NORMS_MAX], v[3*NORMS_COLS], before[NORMS_MAX], out[NORMS_MAX];
    static double in[NORMS_MAX], w[NORMS_MAX], y[NORMS_MAX], d[NORMS_MAX];
    for (size_t i = 0; i < sizeof norms_cols / sizeof *norms_cols; i++)
        for (int which = 0; which < 16; which += 5) {
            const ptrdiff_t C = norms_cols[i], n = NORMS_ROWS * C;
            tfn_seed_args p;
            memset(&p, 0, sizeof p);
            norms_fill(x, n);
            norms_fill(dy, n);
            norms_fill(v, 3*C);
            norms_fill(before, 2*n + 3*C + 2*NORMS_ROWS);
            for (ptrdiff_t c = 0; c < C; c++) v[2*C + c] *= (float)0.25;     /* tanh unsaturated */
            p.x = x, p.dy = dy, p.gain = v, p.alpha = v + C, p.direction = v + 2*C;
            p.rows = NORMS_ROWS, p.cols = C;
            p.eps = (float)norms_seed_eps;
            p.add = which & 1, p.add_gain = which & 2, p.add_alpha = which & 4;
            p.add_direction = which & 8;
            norms_run("seed", norms_seed_run, &p, 2*n + 3*C + 2*NORMS_ROWS, before, out);
            norms_widen(in, v, 3*C);
            norms_widen(in + 3*C, x, n);
            norms_widen(w, dy, n);
            norms_seed_formula(y, in, &p);
            norms_close("seed, y", out, y, n, NORMS_SHARP);
            norms_slope(d, norms_seed_formula, in, w, 3*C + n, n, &p);
            for (ptrdiff_t c = 0; c < n && p.add; c++) d[3*C + c] += (double)before[n + c];
            for (ptrdiff_t c = 0; c < 3*C; c++)
                if (c / C == 0 ? p.add_gain : c / C == 1 ? p.add_alpha : p.add_direction)
                    d[c] += (double)before[2*n + c];
            norms_close("seed, dx", out + n, d + 3*C, n, NORMS_CLOSE);
            norms_close("seed, parameters", out + 2*n, d, 3*C, NORMS_CLOSE);
        }
}

/* -- norms over a batch ----------------------------------------------------------------------- */

enum { NORMS_BATCH = 3, NORMS_TIME = 5, NORMS_TOKENS = NORMS_BATCH * NORMS_TIME };

/* Writes y, dx, dgain, dbias, next (2, cols), stats (2, cols). */
static void norms_columns_run(const tfn_kernels *k, float *out, const void *data)
{
    tfn_columns_args p = *(const tfn_columns_args *)data;
    const ptrdiff_t split = p.cols / 3, n = p.batch * p.time * p.cols;
    p.y = out;
    p.dx = p.y + n;
    p.dgain = p.dx + n;
    p.dbias = p.dgain + p.cols;
    p.next = p.dbias + p.cols;
    p.stats = p.training ? p.next + 2*p.cols : NULL;
    (void)k;
    tfn_columns_forward(&p, 0, split);
    tfn_columns_forward(&p, split, p.cols - split);
    tfn_columns_backward(&p, split, p.cols - split);
    tfn_columns_backward(&p, 0, split);
    p.dx = p.dgain = p.dbias = NULL;
    tfn_columns_backward(&p, 0, p.cols);
}

static bool norms_counts(const tfn_columns_args *p, ptrdiff_t r)
{
    return !p->lengths || r % p->time < p->lengths[r / p->time];
}

/* Mean and variance of column c over the rows that count; returns their number. */
static double norms_moments(const tfn_columns_args *p, const double *x, ptrdiff_t c, double *mean,
                            double *var)
{
    double n = 0;
    *mean = *var = 0;
    for (ptrdiff_t r = 0; r < p->batch * p->time; r++)
        if (norms_counts(p, r)) n++, *mean += x[r*p->cols + c];
    *mean /= n;
    for (ptrdiff_t r = 0; r < p->batch * p->time; r++)
        if (norms_counts(p, r)) *var += pow(x[r*p->cols + c] - *mean, 2) / n;
    return n;
}

/* x is gain, bias, then the values. */
static void norms_batch_formula(double *y, const double *x, const void *data)
{
    const tfn_columns_args *p = (const tfn_columns_args *)data;
    const double *v = x + 2*p->cols;
    for (ptrdiff_t c = 0; c < p->cols; c++) {
        double mean, var;
        norms_moments(p, v, c, &mean, &var);
        if (!p->training) mean = (double)p->running[c], var = (double)p->running[p->cols + c];
        for (ptrdiff_t r = 0; r < p->batch * p->time; r++)
            y[r*p->cols + c] = x[p->cols + c] + x[c] * (v[r*p->cols + c] - mean)
                                                / sqrt(var + (double)p->eps);
    }
}

static tfn_columns_args norms_columns(tfn_norm_kind kind, ptrdiff_t cols, int which)
{
    static const int32_t lengths[NORMS_BATCH] = { 5, 0, 2 }, all[NORMS_BATCH] = { 9, 5, -1 };
    static float v[4*NORMS_COLS], x[NORMS_TOKENS*NORMS_COLS], dy[NORMS_TOKENS*NORMS_COLS];
    tfn_columns_args p;
    memset(&p, 0, sizeof p);
    norms_fill(v, 4*cols);
    norms_fill(x, NORMS_TOKENS * cols);
    norms_fill(dy, NORMS_TOKENS * cols);
    for (ptrdiff_t c = 0; c < 2*cols; c++) v[2*cols + c] = (float)fabs(v[2*cols + c]);
    p.kind = kind;
    p.x = x, p.dy = dy;
    p.gain = which & 1 ? v : NULL;
    p.bias = which & 2 ? v + cols : NULL;
    p.running = v + 2*cols;
    p.lengths = which & 4 ? lengths : which & 8 ? all : NULL;
    p.batch = NORMS_BATCH, p.time = NORMS_TIME, p.cols = cols;
    p.eps = (float)0.125;
    p.step = 1;
    p.training = true;
    p.add = which & 8, p.add_gain = which & 4, p.add_bias = which & 1;
    return p;
}

static void norms_batch_case(ptrdiff_t cols, int which, bool training)
{
    static float before[NORMS_MAX], out[NORMS_MAX];
    static double in[NORMS_MAX], w[NORMS_MAX], y[NORMS_MAX], d[NORMS_MAX], next[2*NORMS_COLS];
    const ptrdiff_t n = NORMS_TOKENS * cols;
    tfn_columns_args p = norms_columns(TFN_NORM_BATCH, cols, which);
    p.training = training;
    norms_fill(before, 2*n + 6*cols);
    norms_run("batch", norms_columns_run, &p, 2*n + 6*cols, before, out);
    for (ptrdiff_t c = 0; c < cols; c++) {
        in[c] = p.gain ? (double)p.gain[c] : 1;
        in[cols + c] = p.bias ? (double)p.bias[c] : 0;
    }
    norms_widen(in + 2*cols, p.x, n);
    norms_widen(w, p.dy, n);
    norms_batch_formula(y, in, &p);
    norms_close("batch, y", out, y, n, NORMS_SHARP);
    norms_slope(d, norms_batch_formula, in, w, 2*cols + n, n, &p);
    for (ptrdiff_t i = 0; i < n && p.add; i++) d[2*cols + i] += (double)before[n + i];
    for (ptrdiff_t c = 0; c < 2*cols; c++)
        if (c < cols ? p.add_gain : p.add_bias) d[c] += (double)before[2*n + c];
    norms_close("batch, dx", out + n, d + 2*cols, n, NORMS_CLOSE);
    norms_close("batch, parameters", out + 2*n, d, 2*cols, NORMS_CLOSE);
    for (ptrdiff_t c = 0; c < cols; c++) {
        double mean, var, count = norms_moments(&p, in + 2*cols, c, &mean, &var);
        var *= count / (count - 1);
        next[c] = 0.9 * (double)p.running[c] + 0.1 * mean;
        next[cols + c] = 0.9 * (double)p.running[cols + c] + 0.1 * var;
        if (!training) next[c] = (double)before[2*n + 2*cols + c];       /* unchanged */
        if (!training) next[cols + c] = (double)before[2*n + 3*cols + c];
    }
    norms_close("batch, next", out + 2*n + 2*cols, next, 2*cols, NORMS_SHARP);
}

TEST(norms_batch)
{
    static const ptrdiff_t cols[] = { 1, 2, 17, 70 };
    for (int i = 0; i < 4; i++)
        for (int which = 0; which < 16; which += i < 3 ? 1 : 5)
            for (int training = 0; training < 2; training++)
                norms_batch_case(cols[i], which, training);
}

/* PowerNorm with its state, one step and one column at a time, like the authors' code except that
 * padding is left out of nu. */
typedef struct norms_power { double psi, nu; } norms_power;

static void norms_power_step(norms_power *s, const tfn_columns_args *p, ptrdiff_t c, double *y,
                             double *dx, double *dgain)
{
    const ptrdiff_t rows = p->batch * p->time;
    const double gain = p->gain ? (double)p->gain[c] : 1, t = (double)p->step;
    const double bias = p->bias ? (double)p->bias[c] : 0, eps = (double)p->eps;
    double v = 0, count = 0, nu = 0, used;
    for (ptrdiff_t r = 0; r < rows; r++)
        if (norms_counts(p, r)) count++, v += pow((double)p->x[r*p->cols + c], 2);
    v /= count;
    used = p->step <= p->warmup ? v : s->psi;
    if (p->step < p->warmup) s->psi = s->psi * (t - 1) / t + v / t;
    s->psi = 0.9 * s->psi + 0.1 * v;
    *dgain = 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
        const double z = (double)p->x[r*p->cols + c] / sqrt(used + eps);
        const double dy = (double)p->dy[r*p->cols + c];
        const double h = dy * gain - (norms_counts(p, r) ? (1 - 0.9) * s->nu * z : 0);
        y[r*p->cols + c] = gain * z + bias;
        dx[r*p->cols + c] = h / sqrt(v + eps);
        *dgain += dy * z;
        if (norms_counts(p, r)) nu += h * z / count;
    }
    s->nu += nu;
}

static void norms_power_case(ptrdiff_t cols, int which)
{
    static float before[NORMS_MAX], out[NORMS_MAX], running[2*NORMS_COLS];
    static double y[NORMS_MAX], dx[NORMS_MAX];
    norms_power state[NORMS_COLS];
    const ptrdiff_t n = NORMS_TOKENS * cols;
    for (ptrdiff_t c = 0; c < cols; c++) {
        state[c].psi = running[c] = 1;
        state[c].nu = running[cols + c] = 0;
    }
    for (int step = 1; step <= 7; step++) {
        tfn_columns_args p = norms_columns(TFN_NORM_POWER, cols, which);
        const float *next = out + 2*n + 2*cols;
        p.running = running;
        p.step = step;
        p.warmup = which & 2 ? 3 : 0;
        norms_fill(before, 2*n + 6*cols);
        norms_run("power", norms_columns_run, &p, 2*n + 6*cols, before, out);
        for (ptrdiff_t c = 0; c < cols; c++) {
            double dgain, add = p.add_gain ? (double)before[2*n + c] : 0;
            norms_power_step(&state[c], &p, c, y, dx, &dgain);
            CHECK_CLOSE((double)out[2*n + c], add + dgain, NORMS_CLOSE);
            CHECK_CLOSE((double)next[c], state[c].psi, NORMS_SHARP);
            CHECK_CLOSE((double)next[cols + c], state[c].nu, NORMS_SHARP);
        }
        for (ptrdiff_t i = 0; i < n && p.add; i++) dx[i] += (double)before[n + i];
        norms_close("power, y", out, y, n, NORMS_SHARP);
        norms_close("power, dx", out + n, dx, n, NORMS_CLOSE);
        memcpy(running, next, (size_t)(2*cols) * sizeof *running);
    }
}

TEST(norms_power_steps)
{
    static const ptrdiff_t cols[] = { 1, 2, 17, 70, 100 };
    for (int i = 0; i < 5; i++)
        for (int which = 0; which < 16; which++) norms_power_case(cols[i], which);
}

/* Without training, or in a batch in which no row counts, the running statistics are used. */
TEST(norms_columns_running)
{
    static const int32_t none[NORMS_BATCH] = { 0, -1, 0 };
    enum { COLS = 19, N = NORMS_TOKENS * COLS };
    static float before[NORMS_MAX], out[NORMS_MAX];
    static double y[N], dx[N];
    for (int which = 0; which < 8; which++) {
        const bool power = which & 1;
        tfn_columns_args p = norms_columns(power ? TFN_NORM_POWER : TFN_NORM_BATCH, COLS, 3);
        const float *var = power ? p.running : p.running + COLS;
        float *next = out + 2*N + 2*COLS;
        p.training = which & 2;
        p.lengths = which & 2 ? none : NULL;
        p.step = which & 4 ? 9 : 1;
        p.warmup = 5;
        memset(before, 0, sizeof before);
        norms_run("running", norms_columns_run, &p, 2*N + 6*COLS, before, out);
        for (ptrdiff_t i = 0; i < N; i++) {
            const ptrdiff_t c = i % COLS;
            const double by = 1 / sqrt((double)var[c] + (double)p.eps), x = (double)p.x[i];
            const double n = (x - (power ? 0 : (double)p.running[c])) * by;
            y[i] = (double)p.gain[c] * n + (double)p.bias[c];
            dx[i] = (double)p.gain[c] * (double)p.dy[i] * by;
        }
        norms_close("running, y", out, y, N, NORMS_SHARP);
        norms_close("running, dx", out + N, dx, N, NORMS_SHARP);
        for (ptrdiff_t c = 0; c < COLS && p.training; c++)
            CHECK(next[c] == p.running[c] && next[COLS + c] == p.running[COLS + c]);
        for (ptrdiff_t c = 0; c < 2*COLS && !p.training; c++) CHECK(next[c] == 0);
    }
}

/* -- rows whose squares overflow or lose bits
 * ---------------------------------------------------- */

/* A norm without eps is independent of the scale of x. So y equals that of the same row at ordinary
 * size, and dx that divided by the factor; or both are NaN. Never 0. */
enum { NORMS_FAR = 37 };
typedef struct norms_far_row {
    float x[NORMS_FAR], y[NORMS_FAR], dx[NORMS_FAR], mean, rstd;
} norms_far_row;

static void norms_far_run(const tfn_kernels *k, int kind, norms_far_row *r, double by)
{
    float dy[NORMS_FAR];
    tfn_norm_args p;
    memset(&p, 0, sizeof p);
    for (int i = 0; i < NORMS_FAR; i++) {
        r->x[i] = (float)((1 + (i * 7) % 11 - 0.25 * i) * by);
        dy[i] = (float)(i * 5 % 13 - 6);
    }
    p.kind = (tfn_norm_kind)kind;
    p.y = r->y, p.dx = r->dx, p.x = r->x, p.dy = dy, p.mean = &r->mean, p.rstd = &r->rstd;
    p.rows = 1, p.cols = NORMS_FAR, p.factor = 1;
    k->norm_forward(&p);
    k->norm_backward(&p);
}

static void norms_far_check(const norms_far_row *usual, const norms_far_row *scaled, int kind, double by)
{
    int nans = 0;
    for (int i = 0; i < NORMS_FAR; i++) {
        const double y = (double)scaled->y[i] / (kind == TFN_NORM_CENTER ? by : 1);
        const double dx = (double)scaled->dx[i] * (kind == TFN_NORM_CENTER ? 1 : by);
        if (scaled->y[i] != scaled->y[i]) {
            nans++;
            continue;
        }
        CHECK_CLOSE(y, (double)usual->y[i], 1e-5);
        if (by < 1e36) CHECK_CLOSE(dx, (double)usual->dx[i], 1e-4);
    }
    CHECK(nans == 0 || nans == NORMS_FAR);
    if (by < 1e36 || kind == TFN_NORM_CENTER) CHECK_INT(nans, 0);
}

TEST(norms_far)
{
    static const double factors[] = { 1e17, 1e19, 1e25, 1e30, 3e36, 3e37, 1e-17, 1e-21, 1e-25 };
    static norms_far_row usual, first, scaled;
    for (int kind = 0; kind <= TFN_NORM_ABSMAX; kind++)
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            bool seen = false;
            for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
                const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
                if (!k) continue;
                CASE("kind %d by %g, %s", kind, factors[f], k->name);
                norms_far_run(k, kind, &usual, 1);
                norms_far_run(k, kind, &scaled, factors[f]);
                norms_far_check(&usual, &scaled, kind, factors[f]);
                if (seen) CHECK_BITS(scaled.y, first.y, sizeof scaled.y);
                if (seen) CHECK_BITS(&scaled.rstd, &first.rstd, sizeof scaled.rstd);
                first = scaled;
                seen = true;
            }
        }
}

/* All values near 1e30, or near 1e-30, with small differences: y is as good as for values near 1, where
 * half an ulp of the mean is 0.002 of the deviation. */
TEST(norms_far_means)
{
    enum { COLS = 4096 };
    static const double factors[] = { 1, 1267650600228229401496703205376.0, 7.888609052210118e-31 };
    static const tfn_norm_kind kinds[] = { TFN_NORM_LAYER, TFN_NORM_ADA, TFN_NORM_ABSMAX };
    static float x[COLS], y[COLS];
    for (int i = 0; i < 3; i++)
        for (int f = 0; f < 3; f++) {
            const tfn_key key = tfn_key_make(3);
            double mean = 0;
            double square = 0;
            tfn_norm_args p;
            for (int c = 0; c < COLS; c++) {
                x[c] = 1 + (tfn_random_uniform(key, (uint64_t)c) - (float)0.5) / 8192;
                mean += (double)x[c] / COLS;
            }
            for (int c = 0; c < COLS; c++) square += ((double)x[c] - mean) * ((double)x[c] - mean);
            memset(&p, 0, sizeof p);
            p.kind = kinds[i];
            p.y = y, p.x = x, p.rows = 1, p.cols = COLS, p.factor = 1;
            for (int c = 0; c < COLS; c++) x[c] *= (float)factors[f];
            tfn_kernels_for(TFN_ISA_BEST)->norm_forward(&p);
            CASE("kind %d by %g", (int)kinds[i], factors[f]);
            for (int c = 0; c < COLS; c++)
                CHECK_CLOSE((double)y[c], ((double)x[c] / factors[f] - mean) / sqrt(square / COLS), 0.004);
        }
}

/* SeeDNorm is correct in the forward. Norms of columns give NaN, because no running statistic could
 * hold such squares. */
TEST(norms_far_others)
{
    static float x[NORMS_FAR], one[NORMS_FAR], zero[NORMS_FAR], y[NORMS_FAR], stats[2*NORMS_FAR];
    static float running[2*NORMS_FAR], next[2*NORMS_FAR];
    tfn_seed_args s;
    double square = 0;
    for (int i = 0; i < NORMS_FAR; i++) {
        x[i] = (float)((1 + i % 5) * 1e25);
        one[i] = 1;
        square += (double)x[i] * (double)x[i] / NORMS_FAR;
    }
    memset(&s, 0, sizeof s);
    s.y = y, s.x = x, s.gain = one, s.alpha = zero, s.direction = one;
    s.rows = 1, s.cols = NORMS_FAR, s.eps = (float)1e-5;
    tfn_seed_forward(tfn_kernels_for(TFN_ISA_BEST), &s);
    for (int i = 0; i < NORMS_FAR; i++)
        CHECK_CLOSE((double)y[i], (double)x[i] / sqrt(square), 1e-5);
    for (int kind = TFN_NORM_BATCH; kind <= TFN_NORM_POWER && sizeof(float) == 4; kind++) {
        tfn_columns_args p;
        memset(&p, 0, sizeof p);
        p.kind = (tfn_norm_kind)kind;
        p.y = y, p.x = x, p.running = running, p.next = next, p.stats = stats;
        p.batch = NORMS_FAR, p.time = 1, p.cols = 1, p.step = 1, p.warmup = 9;
        p.eps = (float)1e-5, p.training = true;
        tfn_columns_forward(&p, 0, 1);
        for (int i = 0; i < NORMS_FAR; i++) CHECK(y[i] != y[i]);
    }
}

/* Skipped rows are 0 and add nothing, even where (0 - mean)/deviation would be infinite. */
TEST(norms_columns_skip)
{
    const float x[3] = { (float)1e37, 0, 0 }, dy[3] = { 2, -(float)0, 5 };
    const int32_t length = 1;
    float running[2] = { 0, 1 }, next[2], stats[2], y[3] = { 7, 7, 7 }, dx[3] = { 7, 7, 7 };
    float dgain = 7, dbias = 7;
    tfn_columns_args p;
    memset(&p, 0, sizeof p);
    p.kind = TFN_NORM_BATCH;
    p.y = y, p.x = x, p.running = running, p.next = next, p.stats = stats, p.lengths = &length;
    p.dy = dy, p.dx = dx, p.dgain = &dgain, p.dbias = &dbias;
    p.batch = 1, p.time = 3, p.cols = 1, p.step = 1, p.eps = (float)1e-5;
    p.training = p.skip = true;
    tfn_columns_forward(&p, 0, 1);
    tfn_columns_backward(&p, 0, 1);
    for (int i = 0; i < 3; i++) CHECK_CLOSE((double)y[i], 0, 0);
    for (int i = 1; i < 3; i++) CHECK_CLOSE((double)dx[i], 0, 0);
    CHECK_CLOSE((double)dgain, 0, 0);
    CHECK_CLOSE((double)dbias, 2, 0);
}

int main(void)
{
    RUN(norms_of_rows);
    RUN(norms_groups);
    RUN(norms_part_of_features);
    RUN(norms_detached);
    RUN(norms_absmax);
    RUN(norms_row_edges);
    RUN(norms_lengths);
    RUN(norms_no_columns);
    RUN(norms_points);
    RUN(norms_point_lanes);
    RUN(norms_squash_accuracy);
    RUN(norms_seed);
    RUN(norms_batch);
    RUN(norms_power_steps);
    RUN(norms_columns_running);
    RUN(norms_columns_skip);
    RUN(norms_far);
    RUN(norms_far_means);
    RUN(norms_far_others);
    return DONE();
}
