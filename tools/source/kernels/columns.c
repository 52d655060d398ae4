#include "columns.h"
#include "../ground/ground.h"
#include "../ground/math.h"
#include "blocks.h"

/* Norms that few models use, once for all instruction sets: norms of single values (DyT and its
 * siblings), SeeDNorm, and norms of columns over a batch (BatchNorm, PowerNorm). Norms of rows are
 * in section norms, with a copy per instruction set; section `reference` has LayerNorm, RMSNorm
 * and softmax in plain loops. */

/* Returns the number of groups in a row. It is a constant in small builds, which have only
 * LayerNorm and RMSNorm, so that they contain no code for groups; the same holds for parts. */
SHARED ptrdiff_t tfn__norm_groups(const tfn_norm_args *p)
{
    if (!TFN__ALL) return 1;
    return tfn__max(p->groups, 1);
}

/* Returns how many of a group's n features enter the statistics: fewer than n in pRMSNorm (Zhang &
 * Sennrich 2019). */
SHARED ptrdiff_t tfn__norm_count(const tfn_norm_args *p, ptrdiff_t n)
{
    const bool rms = p->kind == TFN_NORM_RMS || p->kind == TFN_NORM_RMS_OUTSIDE;
    if (TFN__ALL && rms && p->part > 0) return tfn__min(p->part, n);
    return n;
}

/* True for kinds that subtract the mean. */
static bool tfn__norm_centered(const tfn_norm_args *p)
{
    return p->kind == TFN_NORM_LAYER || p->kind == TFN_NORM_CENTER || p->kind == TFN_NORM_ADA
           || p->kind == TFN_NORM_ABSMAX;
}

/* -- rows far from 1 ---------------------------------------------------------------------------
 * Squares of numbers above about 1e19 overflow a float, and below 1e-19 they lose bits. Rows with
 * such numbers are rare, so one plain loop serves all instruction sets. It multiplies the row by a
 * power of two, which is exact. Ordinary rows never come here. */

/* Returns the scale of a row: 2^-80 if it has large numbers, else 2^60. Then the squares are in
 * range. So is the scaled eps: a row of small numbers is only far from 1 if eps is below 2^-100. */
static float tfn__far_scale(const float *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(x[i] >= -1 && x[i] <= 1)) return (float)(1 / 1208925819614629174706176.0);
    return (float)1152921504606846976.0;
}

/* Returns rstd, or NaN if it is 0 or has lost bits, so that the update is skipped. */
static float tfn__factor_or_nan(float rstd)
{
    const float least = (float)1.17549435e-38;
    if (rstd >= least) return rstd;
    return (float)NAN;
}

/* Returns the number whose root the norm needs, over the scaled row: the mean square, or for some
 * kinds another sum of squares. *mean is the mean of the scaled row, or 0 if the norm does not
 * center. */
static TFN__APART float tfn__far_square(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                        float scale, float *mean)
{
    const ptrdiff_t count = tfn__norm_count(p, n);
    float sum = 0;
    float rest = 0;                     /* sum of x - mean: corrects the rounding of the mean */
    float square = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum += x[i] * scale;
    *mean = 0;
    if (tfn__norm_centered(p)) {
        *mean = sum / (float)n;
        for (ptrdiff_t i = 0; i < n; i++) rest += x[i]*scale - *mean;
        *mean += rest / (float)n;
    }
    for (ptrdiff_t i = 0; i < count; i++)
        square += (x[i]*scale - *mean) * (x[i]*scale - *mean);
    switch (p->kind) {
    case TFN_NORM_ADA:  return square / (float)tfn__max(n - 1, 1);
    case TFN_NORM_CRMS: return (square + sum*sum) / (float)(n + 1);
    case TFN_NORM_L2:   return square;
    default:            return square / (float)tfn__max(count, 1);
    }
}

/* Returns the root to which eps is added or with which it is compared, as tfn__spread of section
 * norms, which calls this function for rows far from 1. */
SHARED float tfn__far_spread(const tfn_norm_args *p, const float *x, ptrdiff_t n)
{
    const float scale = tfn__far_scale(x, n);
    float mean;
    return TFN__SQRT(tfn__far_square(p, x, n, scale, &mean)) / scale;
}

/* Returns rstd, the factor of x - mean, of a row of n features. *mean is their mean, or 0 for kinds
 * that do not center. CENTER has a constant factor. */
SHARED float tfn__far_rstd(const tfn_norm_args *p, const float *x, ptrdiff_t n, float *mean)
{
    const float scale = tfn__far_scale(x, n);
    const float square = tfn__far_square(p, x, n, scale, mean);
    const float spread = TFN__SQRT(square) / scale;
    *mean /= scale;
    switch (p->kind) {
    case TFN_NORM_CENTER:
        return (float)n / (float)tfn__max(n - 1, 1);
    case TFN_NORM_ADA:
    case TFN_NORM_RMS_OUTSIDE:
        return tfn__factor_or_nan(1 / (spread + p->eps));
    case TFN_NORM_L2:
        if (spread < p->eps) return 1 / p->eps;
        if (spread >= 0 && spread <= 0) return 0;
        return tfn__factor_or_nan(1 / spread);
    default:
        return tfn__factor_or_nan(scale / TFN__SQRT(square + p->eps * scale * scale));
    }
}

/* -- parts of the backward that section norms shares ------------------------------------------- */

/* Return the form of this norm (TFN__GAIN_AS_IS ..., TFN__SHIFT_NONE ...). With detach_mean (Xu et
 * al. 2019) the mean counts as a constant, so it has no gradient. */
SHARED int tfn__gain_form(const tfn_norm_args *p)
{
    if (p->kind == TFN_NORM_ADA) return TFN__GAIN_ADA;
    if (p->offset) return TFN__GAIN_OFFSET;
    return TFN__GAIN_AS_IS;
}

SHARED int tfn__shift_form(const tfn_norm_args *p)
{
    if (p->kind == TFN_NORM_CRMS) return TFN__SHIFT_SUM;
    if (tfn__norm_centered(p) && !p->detach_mean) return TFN__SHIFT_MEAN;
    return TFN__SHIFT_NONE;
}

/* dx = rstd * g for the features that do not enter rstd (pRMSNorm): they are only scaled by it. */
SHARED void tfn__norm_rest(const tfn_norm_args *p, const tfn__norm_group *row)
{
    const float unit = p->offset ? (float)1 : (float)0;
    for (ptrdiff_t c = row->count; c < row->n; c++) {
        float g = row->dy[c];
        if (row->gain) g = g * (unit + row->gain[c]);
        g = row->rstd * g;
        if (p->add) g = row->dx[c] + g;
        row->dx[c] = g;
    }
}

/* Sets dx to 0, unless `add`: then the caller's sums continue from its present values. A chain is a
 * sum in the order of the rows. */
SHARED void tfn__start_chains(float *dx, ptrdiff_t n, bool add)
{
    if (!dx || add) return;
    for (ptrdiff_t i = 0; i < n; i++) dx[i] = 0;
}

#if TFN__ALL
/* -- norms that few models have ---------------------------------------------------------------
 * Plain C that uses only + - * / and square roots, so that it has the same bits everywhere. For
 * tanh, erf, exp and sums of whole rows it calls the kernels. */

/* The number of values or columns in a block. It is a multiple of 16, so that every block begins in
 * lane 0 of sums that have 16 lanes. */
#define TFN__BLOCK 64

/* Returns element c of a gain, or 1 if it is NULL. DyT's alpha may be NULL, too. */
static float tfn__gain_or_1(const float *gain, ptrdiff_t c)
{
    if (!gain) return 1;
    return gain[c];
}

/* -- norms of single values: y = gain * f(alpha*x + shift) + bias -------------------------------
 * x, y (rows, cols); gain, bias (cols); alpha, shift one number each. There are no statistics: f,
 * which is odd and saturates, replaces the division by them. */

/* Returns x limited to -most .. most. NaN stays NaN. */
static float tfn__clip(float x, float most)
{
    if (x > most) return most;
    if (x < -most) return -most;
    return x;
}

/* atan(x) = -atan(-x) = pi/2 - atan(1/x) = pi/6 + atan((x sqrt 3 - 1)/(x + sqrt 3)). The first two
 * identities reduce x to 0..1, the third to |x| <= tan(pi/12), where 15 terms of the series
 * x - x^3/3 + x^5/5 - ... suffice. */
static double tfn__atan(double x)
{
    static const double pi = 3.14159265358979323846;
    static const double root3 = 1.73205080756887729353;
    static const double tan15 = 0.26794919243112270647;
    double offset = 0;
    double sum = 0;
    if (x < 0) return -tfn__atan(-x);
    if (x > 1) return pi/2 - tfn__atan(1/x);
    if (x > tan15) {
        offset = pi/6;
        x = (x*root3 - 1) / (x + root3);
    }
    for (int k = 29; k > 0; k -= 2) sum = 1.0/k - x*x*sum;
    return x*sum + offset;
}

/* Returns f(z) for the squashes that no kernel computes, and f'(z) in *derivative. Each f is odd,
 * has the slope 1 or 2/pi at 0, and saturates at +-1. The comments give f; f'. */
static float tfn__squash(tfn_squash_kind which, float z, float *derivative)
{
    static const double pi = 3.14159265358979323846;
    const float a = z < 0 ? -z : z;
    float v;
    switch (which) {
    case TFN_SQUASH_ISRU:                           /* z/sqrt(z^2 + 1); (z^2 + 1)^(-3/2) */
        v = tfn__clip(z, (float)1e9);               /* so that the square is finite */
        v = 1 / TFN__SQRT(v*v + 1);
        *derivative = v*v*v;
        return tfn__clip(z*v, 1);                   /* above 1e9, z*v would exceed 1 */
    case TFN_SQUASH_EXP:                            /* sign(z) (1 - exp(-|z|)); exp(-|z|) */
        v = tfn__clip(a, TFN__TAIL_LOG);            /* above that, f is +-1 */
        v = (float)tfn__exp(-(double)v);
        *derivative = v;
        if (z < 0) return v - 1;
        return 1 - v;
    case TFN_SQUASH_ATAN:                           /* 2/pi atan z; 2/pi / (1 + z^2) */
        *derivative = (float)(2/pi) / (1 + z*z);
        return (float)(2/pi * tfn__atan((double)z));
    case TFN_SQUASH_SIN:                            /* sin z; cos z, up to |z| = pi/2 */
        *derivative = 0;
        if ((double)a < pi/2) *derivative = (float)tfn__cos((double)z);
        if ((double)a > pi/2) return tfn__clip(z, 1);
        return (float)tfn__sin((double)z);
    default:                                        /* softsign: z/(1 + |z|); 1/(1 + |z|)^2 */
        v = 1 / (1 + a);
        *derivative = v*v;
        return z / (1 + a);
    }
}

/* erf'(z) = 2/sqrt(pi) exp(-z^2). The exponent is limited to -42, because exp of less could be
 * denormal. The caller counts such small derivatives as 0. */
static void tfn__erf_derivative(const tfn_kernels *k, float *derivative, const float *z,
                                ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        derivative[i] = -(z[i]*z[i]);
        if (derivative[i] < -TFN__TAIL_LOG) derivative[i] = -TFN__TAIL_LOG;
    }
    k->exp(derivative, derivative, n);
    for (ptrdiff_t i = 0; i < n; i++) derivative[i] *= (float)1.1283791670955126;
}

/* Computes f(z), z = alpha*x + shift, for n <= TFN__BLOCK values from x[at] on, which are in
 * columns from c on. Unless g is NULL, it also computes g = dy*gain*f'(z), where f'(z) below
 * TFN__TAIL counts as 0. tanh' = 1 - tanh^2. */
static void tfn__point_block(const tfn_kernels *k, const tfn_point_args *p, ptrdiff_t at,
                             ptrdiff_t c, ptrdiff_t n, float *f, float *g)
{
    const float alpha = tfn__gain_or_1(p->alpha, 0);
    const float shift = tfn__bias_or_0(p->shift, 0);
    float derivative[TFN__BLOCK];
    derivative[0] = 0;          /* silences gcc 12 -O1, which does not see that n > 0 */
    for (ptrdiff_t i = 0; i < n; i++) f[i] = alpha * p->x[at + i] + shift;
    if (p->squash == TFN_SQUASH_TANH) {
        k->tanh(f, f, n);
        for (ptrdiff_t i = 0; i < n; i++) derivative[i] = 1 - f[i]*f[i];
    } else if (p->squash == TFN_SQUASH_ERF) {
        if (g) tfn__erf_derivative(k, derivative, f, n);
        k->erf(f, f, n);
    } else {
        for (ptrdiff_t i = 0; i < n; i++) f[i] = tfn__squash(p->squash, f[i], &derivative[i]);
    }

    if (!g) return;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (derivative[i] < TFN__TAIL) derivative[i] = 0;
        g[i] = p->dy[at + i] * tfn__gain_or_1(p->gain, c + i) * derivative[i];
    }
}

/* y = gain * f(alpha*x + shift) + bias: DyT with tanh (Zhu et al. 2025), Derf with erf
 * (Chen et al. 2025). */
TFNORM_API void tfn_point_forward(const tfn_kernels *k, const tfn_point_args *p)
{
    float f[TFN__BLOCK];
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t c = 0; c < p->cols; c += TFN__BLOCK) {
            const ptrdiff_t n = tfn__min(p->cols - c, TFN__BLOCK);
            float *y = p->y + r*p->cols + c;
            tfn__point_block(k, p, r*p->cols + c, c, n, f, NULL);
            for (ptrdiff_t i = 0; i < n; i++)
                y[i] = tfn__gain_or_1(p->gain, c + i) * f[i] + tfn__bias_or_0(p->bias, c + i);
        }
}

#if TFN__TRAINS
/* With g = dy*gain*f'(z): dx = alpha*g. It computes f(z) again; the forward saves nothing. */
TFNORM_API void tfn_point_backward(const tfn_kernels *k, const tfn_point_args *p)
{
    const float alpha = tfn__gain_or_1(p->alpha, 0);
    float f[TFN__BLOCK];
    float g[TFN__BLOCK];
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t c = 0; c < p->cols; c += TFN__BLOCK) {
            const ptrdiff_t n = tfn__min(p->cols - c, TFN__BLOCK);
            float *dx = p->dx + r*p->cols + c;
            tfn__point_block(k, p, r*p->cols + c, c, n, f, g);
            tfn__start_chains(dx, n, p->add);
            for (ptrdiff_t i = 0; i < n; i++) dx[i] += alpha * g[i];
        }
}

/* dalpha = sum(g*x), dshift = sum(g): each row is summed in 16 lanes, and then added to a chain.
 * dgain = sum(dy*f) and dbias = sum(dy), chains over the rows. */
TFNORM_API void tfn_point_params_backward(const tfn_kernels *k, const tfn_point_args *p)
{
    float f[TFN__BLOCK];
    float g[TFN__BLOCK];
    tfn__start_chains(p->dgain, p->cols, p->add_gain);
    tfn__start_chains(p->dbias, p->cols, p->add_bias);
    tfn__start_chains(p->dalpha, 1, p->add_alpha);
    tfn__start_chains(p->dshift, 1, p->add_shift);
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        float sum_gx[16] = { 0 };                   /* over this row; blocks begin in lane 0 */
        float sum_g[16] = { 0 };
        for (ptrdiff_t c = 0; c < p->cols; c += TFN__BLOCK) {
            const ptrdiff_t at = r*p->cols + c;
            const ptrdiff_t n = tfn__min(p->cols - c, TFN__BLOCK);
            tfn__point_block(k, p, at, c, n, f, g);
            for (ptrdiff_t i = 0; i < n; i++) {
                sum_gx[i % 16] += g[i] * p->x[at + i];
                sum_g[i % 16] += g[i];
                if (p->dgain) p->dgain[c + i] += p->dy[at + i] * f[i];
                if (p->dbias) p->dbias[c + i] += p->dy[at + i];
            }
        }
        if (p->dalpha) *p->dalpha += tfn__take_lanes(sum_gx);
        if (p->dshift) *p->dshift += tfn__take_lanes(sum_g);
    }
}
#endif

/* -- SeeDNorm: y = (t*alpha + gain) * n, t = tanh(z), z = x . direction, n = x*rstd -------------
 * x, y (rows, cols); alpha, gain, direction (cols); t, z, rstd (rows). */

/* Returns 1/rms of a row. */
static float tfn__seed_rstd(const tfn_kernels *k, const tfn_seed_args *p, const float *x)
{
    const float rstd = 1 / TFN__SQRT(k->dot(x, x, p->cols) / (float)p->cols + p->eps);
    tfn_norm_args rms;
    float mean = 0;
    if (!tfn__is_far(mean, rstd)) return rstd;
    TFNORM_MEMSET(&rms, 0, sizeof rms);
    rms.kind = TFN_NORM_RMS;
    rms.eps = p->eps;
    return tfn__far_rstd(&rms, x, p->cols, &mean);
}

/* Cai et al. 2025: RMSNorm with a gain that depends on the row. t in (-1, 1) measures how far the
 * row points in a learned direction. stats (rows, 2) keeps t and rstd for the backward. */
TFNORM_API void tfn_seed_forward(const tfn_kernels *k, const tfn_seed_args *p)
{
    const ptrdiff_t cols = p->cols;
    if (cols <= 0) return;
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const float *x = p->x + r*cols;
        const float rstd = tfn__seed_rstd(k, p, x);
        float t = k->dot(x, p->direction, cols);
        k->tanh(&t, &t, 1);
        for (ptrdiff_t c = 0; c < cols; c++)
            p->y[r*cols + c] = (t * p->alpha[c] + p->gain[c]) * (x[c] * rstd);
        if (p->stats) {
            p->stats[2*r] = t;
            p->stats[2*r + 1] = rstd;
        }
    }
}

#if TFN__TRAINS
/* For row r, with g = (t*alpha + gain)*dy: *mean_gn = mean(g*n), and the gradient of z is
 * *dz = (1 - t^2) sum(dy*alpha*n). */
static void tfn__seed_sums(const tfn_seed_args *p, ptrdiff_t r, float *mean_gn, float *dz)
{
    const float *x = p->x + r*p->cols;
    const float *dy = p->dy + r*p->cols;
    const float t = p->stats[2*r];
    const float rstd = p->stats[2*r + 1];
    float sum_gn[16] = { 0 };
    float sum_an[16] = { 0 };
    for (ptrdiff_t c = 0; c < p->cols; c++) {
        const float d = dy[c] * (x[c] * rstd);
        sum_gn[c % 16] += (t * p->alpha[c] + p->gain[c]) * d;
        sum_an[c % 16] += p->alpha[c] * d;
    }
    *mean_gn = tfn__take_lanes(sum_gn) / (float)p->cols;
    *dz = (1 - t) * (1 + t) * tfn__take_lanes(sum_an);
}

/* dx = rstd * (g - n*mean(g*n)) + dz*direction: RMSNorm's gradient, and the part through z. */
TFNORM_API void tfn_seed_backward(const tfn_seed_args *p)
{
    if (p->cols <= 0) return;
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const float *x = p->x + r*p->cols;
        const float *dy = p->dy + r*p->cols;
        const float t = p->stats[2*r];
        const float rstd = p->stats[2*r + 1];
        float *dx = p->dx + r*p->cols;
        float mean_gn;
        float dz;
        tfn__seed_sums(p, r, &mean_gn, &dz);
        for (ptrdiff_t c = 0; c < p->cols; c++) {
            const float g = (t * p->alpha[c] + p->gain[c]) * dy[c];
            float d = rstd * (g - x[c]*rstd * mean_gn) + dz * p->direction[c];
            if (p->add) d = dx[c] + d;
            dx[c] = d;
        }
    }
}

/* dgain = sum(dy*n), dalpha = sum(t*dy*n), ddirection = sum(dz*x), chains over the rows. */
TFNORM_API void tfn_seed_params_backward(const tfn_seed_args *p)
{
    tfn__start_chains(p->dgain, p->cols, p->add_gain);
    tfn__start_chains(p->dalpha, p->cols, p->add_alpha);
    tfn__start_chains(p->ddirection, p->cols, p->add_direction);
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const float *x = p->x + r*p->cols;
        const float *dy = p->dy + r*p->cols;
        const float t = p->stats[2*r];
        const float rstd = p->stats[2*r + 1];
        float mean_gn;
        float dz;
        tfn__seed_sums(p, r, &mean_gn, &dz);
        for (ptrdiff_t c = 0; c < p->cols; c++) {
            const float v = dy[c] * (x[c] * rstd);
            if (p->dgain) p->dgain[c] += v;
            if (p->dalpha) p->dalpha[c] += t*v;
            if (p->ddirection) p->ddirection[c] += dz*x[c];
        }
    }
}
#endif

/* -- norms of columns over a batch: y = gain*n + bias, n = (x - mean)*scale ---------------------
 * BatchNorm (Ioffe & Szegedy 2015, algorithm 1): mean and 1/sqrt(variance + eps) of a column over
 * the rows of the batch. Outside training it uses running statistics. PowerNorm (Shen et al. 2020):
 * the mean is 0, and the scale is 1/sqrt(mean(x^2) + eps), where mean(x^2) is the batch's during
 * warm-up, then a running mean. The batch's own factor is saved, too, because PowerNorm's backward
 * multiplies by it.
 * x, y (batch, time, cols); statistics, gain, bias (cols). Sums over rows omit padding.
 * The code works on a block of columns at a time. The statistics of a block take a few KiB of
 * stack, while the rows stream through. Each sum is a chain over the rows. */

/* The block of columns that is computed. Arrays have one element per column. */
typedef struct tfn__columns {
    ptrdiff_t at;                        /* the block is columns at ... at + width - 1 */
    ptrdiff_t width;
    ptrdiff_t count;                     /* rows without padding; 0: use running statistics */
    float gain[TFN__BLOCK];
    float mean[TFN__BLOCK];
    float scale[TFN__BLOCK];             /* n = (x - mean)*scale */
    float square[TFN__BLOCK];            /* the batch's variance, or PowerNorm's mean of squares */
    float rstd[TFN__BLOCK];              /* 1/sqrt(square + eps); the backward multiplies by it */
    float dy[TFN__BLOCK];                /* sum(dy) */
    float dyn[TFN__BLOCK];               /* sum(dy*n) */
    float hn[TFN__BLOCK];                /* sum(h*n) */
    float a[TFN__BLOCK];                 /* h = g - a - n*b, g = dy*gain */
    float b[TFN__BLOCK];
} tfn__columns;

/* Return the number of rows without padding, in sentence s and in the whole batch. */
static ptrdiff_t tfn__counted_in(const tfn_columns_args *p, ptrdiff_t s)
{
    if (!p->lengths) return p->time;
    return tfn__min(tfn__max(p->lengths[s], 0), p->time);
}
static ptrdiff_t tfn__counted(const tfn_columns_args *p)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t s = 0; s < p->batch; s++) n += tfn__counted_in(p, s);
    return n;
}

/* True if row r of (batch, time) is not padding. */
static bool tfn__row_counts(const tfn_columns_args *p, ptrdiff_t r)
{
    return r % p->time < tfn__counted_in(p, r / p->time);
}

/* Begins the block at column `at`. Outside training `count` is 0, so that running statistics are
 * used. */
static void tfn__columns_begin(const tfn_columns_args *p, tfn__columns *b, ptrdiff_t at,
                               ptrdiff_t end)
{
    b->at = at;
    b->width = tfn__min(end - at, TFN__BLOCK);
    b->count = 0;
    if (p->training) b->count = tfn__counted(p);
    for (ptrdiff_t c = 0; c < b->width; c++) b->gain[c] = tfn__gain_or_1(p->gain, at + c);
}

/* y = the mean of (x - mean)^2 over the rows without padding, or of x if mean is NULL. */
static void tfn__column_mean(float *y, const float *mean, const tfn_columns_args *p,
                             const tfn__columns *b)
{
    for (ptrdiff_t c = 0; c < b->width; c++) y[c] = 0;
    for (ptrdiff_t s = 0; s < p->batch; s++) {
        const float *x = p->x + s*p->time*p->cols + b->at;
        for (ptrdiff_t t = 0; t < tfn__counted_in(p, s); t++, x += p->cols)
            for (ptrdiff_t c = 0; c < b->width; c++) {
                if (mean) y[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
                else y[c] += x[c];
            }
    }
    for (ptrdiff_t c = 0; c < b->width; c++) y[c] /= (float)b->count;
}

/* Returns a running statistic, or 0 if it is below TFN__LEAST. Otherwise the statistic of a column
 * that has become 0 would decay to a denormal. */
static float tfn__running(float x)
{
    if (x < TFN__LEAST && x > -TFN__LEAST) return 0;
    return x;
}

/* Computes the next running statistics. BatchNorm: the mean, and the variance with 1/(T-1) for T
 * rows. PowerNorm: during warm-up the mean of squares is averaged over all batches, and then moved
 * once more, as in the authors' code. The backward updates PowerNorm's nu. The moving averages keep
 * 0.9 of the old value. */
static void tfn__columns_next(const tfn_columns_args *p, const tfn__columns *b)
{
    const float *first = p->running + b->at;       /* means; PowerNorm's means of squares */
    const float *second = first + p->cols;         /* variances; nu */
    const float unbiased = (float)b->count / (float)tfn__max(b->count - 1, 1);
    float *next = p->next + b->at;
    float t = 1;
    if (p->step > 1) t = (float)p->step;
    for (ptrdiff_t c = 0; c < b->width; c++) {
        float x = first[c];
        float z = second[c];
        if (b->count > 0 && p->kind == TFN_NORM_POWER) {
            if (p->step < p->warmup) x = x * ((t - 1) / t) + b->square[c] / t;
            x = (float)0.9 * x + (float)0.1 * b->square[c];
        } else if (b->count > 0) {
            x = (float)0.9 * x + (float)0.1 * b->mean[c];
            z = (float)0.9 * z + (float)0.1 * (b->square[c] * unbiased);
        }
        next[c] = tfn__running(x);
        next[p->cols + c] = tfn__running(z);
    }
}

/* Computes the statistics of a block, and selects those that normalize: the batch's, or the running
 * ones if no row counts, or for PowerNorm after its warm-up. If squares of a column overflow, the
 * factor is NaN, because the running statistics could not hold them either. */
static void tfn__columns_moments(const tfn_columns_args *p, tfn__columns *b)
{
    const bool power = p->kind == TFN_NORM_POWER;
    const float *mean = p->running + b->at;
    const float *square = mean + p->cols;
    if (power) square = p->running + b->at;
    for (ptrdiff_t c = 0; c < b->width; c++) {
        b->mean[c] = 0;
        if (!power && !b->count) b->mean[c] = mean[c];
        b->square[c] = square[c];
    }
    if (b->count && !power) tfn__column_mean(b->mean, NULL, p, b);
    if (b->count) tfn__column_mean(b->square, b->mean, p, b);
    for (ptrdiff_t c = 0; c < b->width; c++) {
        b->rstd[c] = 1 / TFN__SQRT(b->square[c] + p->eps);
        b->rstd[c] = tfn__factor_or_nan(b->rstd[c]);
        b->scale[c] = b->rstd[c];
        if (power && p->step > p->warmup)
            b->scale[c] = tfn__factor_or_nan(1 / TFN__SQRT(square[c] + p->eps));
    }
}

/* Saves for the backward: first the mean, or for PowerNorm, which has no mean, the scale of n; then
 * the batch's own factor. */
static void tfn__columns_save(const tfn_columns_args *p, const tfn__columns *b)
{
    const float *first = b->mean;
    if (p->kind == TFN_NORM_POWER) first = b->scale;
    for (ptrdiff_t c = 0; c < b->width; c++) {
        p->stats[b->at + c] = first[c];
        p->stats[p->cols + b->at + c] = b->rstd[c];
    }
}

/* Normalizes columns first ... first + count - 1. Threads divide columns, never rows, so that sums
 * over rows have one order. Padding does not count, but is normalized like other rows, or set to 0
 * if p->skip. */
TFNORM_API void tfn_columns_forward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count)
{
    const ptrdiff_t end = first + count;
    tfn__columns b;
    for (ptrdiff_t at = first; at < end; at += b.width) {
        float bias[TFN__BLOCK];
        tfn__columns_begin(p, &b, at, end);
        tfn__columns_moments(p, &b);
        if (p->training) tfn__columns_next(p, &b);
        if (p->training) tfn__columns_save(p, &b);
        for (ptrdiff_t c = 0; c < b.width; c++) bias[c] = tfn__bias_or_0(p->bias, at + c);
        for (ptrdiff_t r = 0; r < p->batch * p->time; r++) {
            const float *x = p->x + r*p->cols + at;
            float *y = p->y + r*p->cols + at;
            if (p->skip && !tfn__row_counts(p, r)) {
                tfn__start_chains(y, b.width, false);
                continue;
            }
            for (ptrdiff_t c = 0; c < b.width; c++)
                y[c] = b.gain[c] * ((x[c] - b.mean[c]) * b.scale[c]) + bias[c];
        }
    }
}

#if TFN__TRAINS
/* Restores the statistics that the forward used: from stats, or outside training from running. */
static void tfn__columns_restore(const tfn_columns_args *p, tfn__columns *b)
{
    const float *first = tfn__at(p->stats, b->at);
    const float *rstd = tfn__at(first, p->cols);
    if (!p->training) {
        tfn__columns_moments(p, b);
        return;
    }
    for (ptrdiff_t c = 0; c < b->width; c++) {
        b->rstd[c] = rstd[c];
        if (p->kind == TFN_NORM_POWER) {
            b->mean[c] = 0;
            b->scale[c] = first[c];
        } else {
            b->mean[c] = first[c];
            b->scale[c] = rstd[c];
        }
    }
}

/* Sums dy and dy*n over all rows, which are the gradients of bias and gain. Also sums h*n over the
 * rows without padding. Only PowerNorm uses that sum, for nu; its a and b are already set. */
static void tfn__columns_sums(const tfn_columns_args *p, tfn__columns *b)
{
    tfn__start_chains(b->dy, b->width, false);
    tfn__start_chains(b->dyn, b->width, false);
    tfn__start_chains(b->hn, b->width, false);
    for (ptrdiff_t r = 0; r < p->batch * p->time; r++) {
        const float *x = p->x + r*p->cols + b->at;
        const float *dy = p->dy + r*p->cols + b->at;
        const bool counts = tfn__row_counts(p, r);
        if (p->skip && !counts) continue;
        for (ptrdiff_t c = 0; c < b->width; c++) {
            const float n = (x[c] - b->mean[c]) * b->scale[c];
            const float g = dy[c] * b->gain[c];
            b->dy[c] += dy[c];
            b->dyn[c] += dy[c] * n;
            if (counts) b->hn[c] += (g - b->a[c] - n*b->b[c]) * n;
        }
    }
}

/* dx = rstd*h, h = g - a - n*b. In padding dx = rstd*g, because the statistics do not depend on
 * x there. */
static void tfn__columns_gradient(const tfn_columns_args *p, const tfn__columns *b)
{
    for (ptrdiff_t r = 0; r < p->batch * p->time; r++) {
        const float *x = p->x + r*p->cols + b->at;
        const float *dy = p->dy + r*p->cols + b->at;
        const bool counts = tfn__row_counts(p, r);
        float *dx = p->dx + r*p->cols + b->at;
        if (p->skip && !counts) {
            tfn__start_chains(dx, b->width, p->add);
            continue;
        }
        for (ptrdiff_t c = 0; c < b->width; c++) {
            const float n = (x[c] - b->mean[c]) * b->scale[c];
            const float before = p->add ? dx[c] : 0;
            float h = dy[c] * b->gain[c];
            if (p->training && counts) h = h - b->a[c] - n*b->b[c];
            dx[c] = b->rstd[c] * h + before;
        }
    }
}

/* Adds a block's sums to the gradient of the gain or the bias, which may be NULL. */
static void tfn__columns_add(float *dgain, const float *sum, const tfn__columns *b, bool add)
{
    if (!dgain) return;
    tfn__start_chains(dgain + b->at, b->width, add);
    for (ptrdiff_t c = 0; c < b->width; c++) dgain[b->at + c] += sum[c];
}

/* BatchNorm: a = sum(g)/T, b = sum(g*n)/T, where T counts the rows without padding. The sums are
 * over all rows, because padding was normalized, too. PowerNorm: a = 0, b = (1 - 0.9)*nu, and nu
 * grows by the mean of h*n over the rows without padding. */
TFNORM_API void tfn_columns_backward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count)
{
    const bool power = p->kind == TFN_NORM_POWER && p->training;
    const ptrdiff_t end = first + count;
    tfn__columns b;
    for (ptrdiff_t at = first; at < end; at += b.width) {
        const float *nu = p->running + p->cols + at;
        tfn__columns_begin(p, &b, at, end);
        tfn__columns_restore(p, &b);
        for (ptrdiff_t c = 0; c < b.width; c++) {
            b.a[c] = 0;
            b.b[c] = 0;
            if (power) b.b[c] = (float)0.1 * nu[c];
        }
        tfn__columns_sums(p, &b);

        /* PowerNorm's next nu, or BatchNorm's a and b */
        for (ptrdiff_t c = 0; c < b.width; c++) {
            if (power) {
                p->next[p->cols + at + c] = nu[c] + b.hn[c] / (float)tfn__max(b.count, 1);
            } else if (b.count > 0) {
                b.a[c] = b.gain[c] * b.dy[c] / (float)b.count;
                b.b[c] = b.gain[c] * b.dyn[c] / (float)b.count;
            }
        }
        tfn__columns_add(p->dgain, b.dyn, &b, p->add_gain);
        tfn__columns_add(p->dbias, b.dy, &b, p->add_bias);
        if (p->dx) tfn__columns_gradient(p, &b);
    }
}
#endif
#endif
