/* Norms of rows and softmax of one instruction set, forward and backward. Section columns has what
 * all sets share. */

/* -- norms of rows, forward --------------------------------------------------------------------
 * y = gain * n + bias, n = (x - mean) * rstd, for each group of each row. The kinds differ in mean
 * and rstd (tfn_norm_kind). Sums over features use 16 lanes and the tree. */

/* Returns sum((x - mean)^2)/n. It needs a second pass, because sum(x^2)/n - mean^2 would cancel.
 * Lanes beyond n hold 0 - mean, so first_lanes keeps their squares out of the sum. */
static float TFN__N(tfn__row_variance)(const float *x, ptrdiff_t n, float mean)
{
    const TFN__V m = TFN__SET(mean);
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V d = TFN__SUB(TFN__GET(x + i, k), m);
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(TFN__MUL(d, d), k));
    });
    return TFN__N(tfn__tree)(acc) / (float)n;
}

/* Rows of LayerNorm to process in parallel. With a single row each addition waits for the previous
 * one, and gain and bias are reread for every row. Narrow vectors need no more than one row,
 * because their 16 lanes are several accumulators. */
#if TFN__W < 8
#define TFN__ABREAST 1
#else
#define TFN__ABREAST 4
#endif

/* y = gain * ((x - mean) * rstd) + bias for R rows. gain and bias may be NULL. The last product and
 * the bias are one fused multiply-add, in plain C, too. In hot loops R is constant, and so is
 * whether gain and bias are NULL. */
static TFN__INLINE void TFN__N(tfn__normalize)(float *y, const float *x, const float *gain,
                                               const float *bias, ptrdiff_t cols,
                                               const float *mean, const float *rstd,
                                               const bool offset, const int R)
{
    TFN__V m[TFN__ABREAST], s[TFN__ABREAST], g = TFN__SET(1), b = TFN__SET(0);
    for (int r = 0; r < R; r++) {
        m[r] = TFN__SET(mean[r]);
        s[r] = TFN__SET(rstd[r]);
    }
    TFN__EACH(c, k, cols) {
        if (gain) g = TFN__GET(gain + c, k);
        if (gain && offset) g = TFN__ADD(TFN__SET(1), g);
        if (bias) b = TFN__GET(bias + c, k);
        TFN__UNROLL
        for (int r = 0; r < R; r++) {
            TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + r*cols + c, k), m[r]), s[r]);
            if (gain) {
                if (bias) v = TFN__FMA(g, v, b);
                else v = TFN__MUL(g, v);
            } else if (bias) {
                v = TFN__ADD(v, b);
            }
            TFN__PUT(y + r*cols + c, v, k);
        }
    }
}

/* AdaNorm's factor C (1 - k n), which the gradient treats as a constant (Xu et al. 2019, eq. 6). */
static TFN__INLINE TFN__V TFN__N(tfn__ada)(const tfn_norm_args *p, TFN__V n)
{
    const TFN__V kn = TFN__MUL(TFN__SET(p->slope), n);
    return TFN__MUL(TFN__SET(p->factor), TFN__SUB(TFN__SET(1), kn));
}

/* -- norms of rows, backward: the gradient of x ------------------------------------------------
 * LayerNorm with C features: from d mean/dx_i = 1/C and d rstd/dx_i = -rstd^2 n_i/C follows
 *     dn_j/dx_i = rstd * ([i = j] - 1/C - n_i n_j/C).
 * With g = dy*gain, the gradient of n, dx_i = sum_j g_j dn_j/dx_i. All kinds have the form
 *     dx = rstd * (g - a - n*b),
 * where a is the part through the mean, and b the part through rstd. With s = sum(g*n):
 *     LAYER         a = mean(g)           b = s/C
 *     RMS           a = 0                 b = s/k in the k features that enter rstd, else 0
 *     RMS_OUTSIDE   a = 0                 b = s/(k*rms*rstd), likewise
 *     L2            a = 0                 b = s, or 0 if the row is shorter than eps
 *     CRMS          a = b*sum(x)*rstd     b = s/(C+1)
 *     CENTER        a = mean(g)           b = 0
 *     ADA           a = mean(g)           b = s/((C-1)*deviation*rstd)
 * If the mean is treated as a constant (detach_mean), a = 0; if rstd is (detach_std), b = 0. */

/* Returns k lanes of g, from feature i on. `how` tells how the gain enters (TFN__GAIN_AS_IS ...);
 * it is constant in hot loops. */
static TFN__INLINE TFN__V TFN__N(tfn__norm_g)(const tfn_norm_args *p, const float *dy,
                                              const float *gain, TFN__V n, ptrdiff_t i,
                                              ptrdiff_t k, const int how)
{
    TFN__V g = TFN__GET(dy + i, k);                   /* in missing lanes g is +0 */
    if (how == TFN__GAIN_ADA) return TFN__MUL(g, TFN__N(tfn__ada)(p, n));
    if (gain && how == TFN__GAIN_OFFSET)
        g = TFN__MUL(g, TFN__ADD(TFN__SET(1), TFN__GET(gain + i, k)));
    if (gain && how == TFN__GAIN_AS_IS) g = TFN__MUL(g, TFN__GET(gain + i, k));
    return g;
}

/* dx for one group of one row. b = s/divisor, or 0 if the divisor is 0. `shift` selects a
 * (TFN__SHIFT_NONE ...). The first pass sums g and g*n over all features. The second stores dx for
 * the features that enter rstd. */
static TFN__INLINE void TFN__N(tfn__norm_gradient)(const tfn_norm_args *p,
                                                   const tfn__norm_group *row, float divisor,
                                                   const int how, const int shift)
{
    const float *x = row->x;
    const float *dy = row->dy;
    const float *gain = row->gain;
    const ptrdiff_t n = row->n;
    const ptrdiff_t count = row->count;
    const TFN__V m = TFN__SET(row->mean);
    const TFN__V s = TFN__SET(row->rstd);
    const bool add = p->add;
    float *dx = row->dx;
    TFN__V sum_g[TFN__LANES], sum_gn[TFN__LANES], a = TFN__SET(0), b = a;

    /* sum(g), s = sum(g*n) */
    TFN__N(tfn__zero_lanes)(sum_g);
    TFN__N(tfn__zero_lanes)(sum_gn);
    TFN__EACH16(l, i, k, n, {
        const TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + i, k), m), s);
        const TFN__V g = TFN__N(tfn__norm_g)(p, dy, gain, v, i, k, how);
        sum_g[l] = TFN__ADD(sum_g[l], g);
        sum_gn[l] = TFN__ADD(sum_gn[l], TFN__MUL(g, v));
    });

    /* a and b of the table */
    if (divisor > 0) b = TFN__SET(TFN__N(tfn__tree)(sum_gn) / divisor);
    if (shift == TFN__SHIFT_MEAN) a = TFN__SET(TFN__N(tfn__tree)(sum_g) / (float)n);
    if (shift == TFN__SHIFT_SUM)
        a = TFN__MUL(b, TFN__SET(TFN__N(tfn__row_sum)(x, n) * row->rstd));

    /* dx = rstd * (g - a - n*b) */
    TFN__EACH(c, k, count) {
        const TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + c, k), m), s);
        TFN__V g = TFN__N(tfn__norm_g)(p, dy, gain, v, c, k, how);
        g = TFN__MUL(s, TFN__SUB(TFN__SUB(g, a), TFN__MUL(v, b)));
        TFN__N(tfn__store_or_add)(dx + c, g, k, add);
    }
}

/* -- the kinds that few models have ------------------------------------------------------------
 * To compile fast they are optimized with -O1, or by clang for size. The vectors make them fast
 * enough. */
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__
#pragma GCC push_options
#if TFN__W > 1
#pragma GCC optimize("O1", "fp-contract=off")
#endif
#endif
TFN__SMALL

/* AdaNorm: y = C (1 - k n) n. */
static void TFN__N(tfn__ada_row)(const tfn_norm_args *p, float *y, const float *x, ptrdiff_t cols,
                                 float mean, float rstd)
{
    const TFN__V m = TFN__SET(mean);
    const TFN__V r = TFN__SET(rstd);
    TFN__EACH(c, k, cols) {
        const TFN__V n = TFN__MUL(TFN__SUB(TFN__GET(x + c, k), m), r);
        TFN__PUT(y + c, TFN__MUL(TFN__N(tfn__ada)(p, n), n), k);
    }
}

/* Returns the root to which eps is added (RMS_OUTSIDE, ADA) or with which it is compared (L2):
 * AdaNorm's standard deviation, with 1/(n-1); the root mean square; or the length |x|. */
static TFN__APART float TFN__N(tfn__spread)(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                            float mean)
{
    const ptrdiff_t count = tfn__norm_count(p, n);
    const ptrdiff_t others = tfn__max(n - 1, 1);
    float spread;
    if (p->kind == TFN_NORM_ADA)
        spread = TFN__SQRT(TFN__N(tfn__row_variance)(x, n, mean) * (float)n / (float)others);
    else if (p->kind == TFN_NORM_RMS_OUTSIDE)
        spread = TFN__SQRT(TFN__N(tfn__row_dot)(x, x, count) / (float)count);
    else spread = TFN__SQRT(TFN__N(tfn__row_dot)(x, x, count));
    if (tfn__is_far(mean, 1 / spread)) return tfn__far_spread(p, x, n);
    return spread;
}

/* Returns rstd, the factor of x - mean. CRMSNorm (Jiang et al. 2023) includes an implicit feature
 * -sum(x), which makes the sum of the row 0. Without eps (nGPT has none) L2 of a zero row is 0. */
static float TFN__N(tfn__rstd_extra)(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                     float mean)
{
    float spread;
    if (p->kind == TFN_NORM_CENTER) return (float)n / (float)tfn__max(n - 1, 1);
    if (p->kind == TFN_NORM_CRMS) {
        const float sum = TFN__N(tfn__row_sum)(x, n);
        return 1 / TFN__SQRT((TFN__N(tfn__row_dot)(x, x, n) + sum*sum) / (float)(n + 1) + p->eps);
    }
    spread = TFN__N(tfn__spread)(p, x, n, mean);
    if (p->kind != TFN_NORM_L2) return 1 / (spread + p->eps);
    if (spread < p->eps) return 1 / p->eps;
    if (spread >= 0 && spread <= 0) return 0;
    return 1 / spread;
}

/* Returns the largest |x|. It ignores NaN. */
static float TFN__N(tfn__absmax)(const float *x, ptrdiff_t n)
{
    const TFN__V zero = TFN__SET(0);
    TFN__V acc[TFN__LANES];
    float t[16];
    float max = 0;
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V v = TFN__GET(x + i, k);
        acc[l] = TFN__MAX(TFN__MAX(v, TFN__SUB(zero, v)), acc[l]);
    });
    for (int l = 0; l < TFN__LANES; l++) TFN__STORE(t + l*TFN__W, acc[l]);
    for (int l = 0; l < 16; l++)
        if (t[l] > max) max = t[l];
    return max;
}

/* Returns the number that s is divided by to give b in the table above, or 0 for b = 0. */
static float TFN__N(tfn__norm_divisor)(const tfn_norm_args *p, const tfn__norm_group *row)
{
    const ptrdiff_t n = row->n;
    if (p->detach_std || p->kind == TFN_NORM_CENTER) return 0;
    if (p->kind == TFN_NORM_L2) {
        if (p->eps > 0 && row->rstd >= 1 / p->eps) return 0;
        return 1;
    }
    if (p->kind == TFN_NORM_CRMS) return (float)(n + 1);
    if (p->kind == TFN_NORM_RMS_OUTSIDE)
        return (float)row->count * (TFN__N(tfn__spread)(p, row->x, n, 0) * row->rstd);
    if (p->kind == TFN_NORM_ADA)
        return (float)(n - 1) * (TFN__N(tfn__spread)(p, row->x, n, row->mean) * row->rstd);
    return (float)row->count;
}

/* dx for any norm with any flags. */
static void TFN__N(tfn__norm_gradient_any)(const tfn_norm_args *p, tfn__norm_group row)
{
    float divisor;
    row.count = tfn__norm_count(p, row.n);
    divisor = TFN__N(tfn__norm_divisor)(p, &row);
    TFN__N(tfn__norm_gradient)(p, &row, divisor, tfn__gain_form(p), tfn__shift_form(p));
    tfn__norm_rest(p, &row);
}

TFN__SMALL_END
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__
#pragma GCC pop_options
#endif

/* -- the kernels of all norms ------------------------------------------------------------------ */

/* tfn__normalize for one row, with or without gain and bias. */
static TFN__APART void TFN__N(tfn__normalize_any)(float *y, const float *x, const float *gain,
                                                  const float *bias, ptrdiff_t cols, float mean,
                                                  float rstd, bool offset)
{
    TFN__N(tfn__normalize)(y, x, gain, bias, cols, &mean, &rstd, offset, 1);
}

/* Returns rstd over n features, and in *mean their mean, or 0 for kinds that do not center. RMSNorm
 * comes first because small builds have only RMSNorm and LayerNorm. */
static TFN__INLINE float TFN__N(tfn__moments)(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                              float *mean)
{
    const ptrdiff_t count = tfn__norm_count(p, n);
    *mean = 0;
    if (tfn__is_kept(TFNORM_NORMS, (int)p->kind, TFN_NORM_RMS))
        return 1 / TFN__SQRT(TFN__N(tfn__row_dot)(x, x, count) / (float)count + p->eps);
    if (TFN__ALL && (p->kind == TFN_NORM_RMS_OUTSIDE || p->kind == TFN_NORM_L2
                     || p->kind == TFN_NORM_CRMS))
        return TFN__N(tfn__rstd_extra)(p, x, n, 0);
    *mean = TFN__N(tfn__row_sum)(x, n) / (float)n;
    if (TFN__ALL && (p->kind == TFN_NORM_CENTER || p->kind == TFN_NORM_ADA))
        return TFN__N(tfn__rstd_extra)(p, x, n, *mean);
    return 1 / TFN__SQRT(TFN__N(tfn__row_variance)(x, n, *mean) + p->eps);
}

/* Normalizes one group of one row: n features from x[at] on, beginning at column c. Builds that
 * train have an extra copy of the loop for the usual form with gain and bias. */
static TFN__INLINE void TFN__N(tfn__norm_row)(const tfn_norm_args *p, ptrdiff_t at, ptrdiff_t c,
                                              ptrdiff_t n, float mean, float rstd)
{
    const float *gain = tfn__at(p->gain, c);
    const float *bias = tfn__at(p->bias, c);
    const float *x = p->x + at;
    float *y = p->y + at;
    if (TFN__ALL && p->kind == TFN_NORM_ADA) {
        TFN__N(tfn__ada_row)(p, y, x, n, mean, rstd);
        return;
    }
    if (TFN__TRAINS && !p->offset && gain && bias)
        TFN__N(tfn__normalize)(y, x, gain, bias, n, &mean, &rstd, false, 1);
    else TFN__N(tfn__normalize_any)(y, x, gain, bias, n, mean, rstd, TFN__ALL && p->offset);
}

/* LayerNorm's mean = sum(x)/n and rstd = 1/sqrt(sum((x - mean)^2)/n + eps) for up to ABREAST rows
 * of x (rows, n). Sums use lanes as everywhere. Missing rows repeat the last one. */
static TFN__APART void TFN__N(tfn__layer_moments)(const float *x, ptrdiff_t rows, ptrdiff_t n,
                                                  float eps, float *mean, float *rstd)
{
    TFN__V acc[TFN__ABREAST][TFN__LANES], m[TFN__ABREAST];
    const float *row[TFN__ABREAST];

    /* sums and means */
    for (int r = 0; r < TFN__ABREAST; r++) {
        row[r] = x + tfn__min(r, rows - 1) * n;
        TFN__N(tfn__zero_lanes)(acc[r]);
    }
    TFN__EACH16(l, i, k, n, {
        for (int r = 0; r < TFN__ABREAST; r++)
            acc[r][l] = TFN__ADD(acc[r][l], TFN__GET(row[r] + i, k));
    });
    for (int r = 0; r < TFN__ABREAST; r++) {
        mean[r] = TFN__N(tfn__tree)(acc[r]) / (float)n;
        m[r] = TFN__SET(mean[r]);
        TFN__N(tfn__zero_lanes)(acc[r]);
    }

    /* sums of (x - mean)^2 */
    TFN__EACH16(l, i, k, n, {
        for (int r = 0; r < TFN__ABREAST; r++) {
            const TFN__V d = TFN__SUB(TFN__GET(row[r] + i, k), m[r]);
            acc[r][l] = TFN__ADD(acc[r][l], TFN__N(tfn__first_lanes)(TFN__MUL(d, d), k));
            TFN__FETCH(row[r] + TFN__ABREAST * n + i);      /* the next rows */
        }
    });
    for (int r = 0; r < TFN__ABREAST; r++)
        rstd[r] = 1 / TFN__SQRT(TFN__N(tfn__tree)(acc[r]) / (float)n + eps);
}

/* The usual RMSNorm, without groups, part, offset and bias. For narrow rows this special case takes
 * a third less time than the general code. */
static void TFN__N(tfn__rms_rows)(const tfn_norm_args *p)
{
    const ptrdiff_t cols = p->cols;
    const float *x = p->x;
    float *y = p->y;
    float zero = 0;
    for (ptrdiff_t r = 0; r < p->rows; r++, x += cols, y += cols) {
        float s = 1 / TFN__SQRT(TFN__N(tfn__row_dot)(x, x, cols) / (float)cols + p->eps);
        if (tfn__is_far(0, s)) s = tfn__far_rstd(p, x, cols, &zero);
        TFN__N(tfn__normalize)(y, x, p->gain, NULL, cols, &zero, &s, false, 1);
        if (p->mean) p->mean[r] = 0;
        if (p->rstd) p->rstd[r] = s;
    }
}

/* Here a group of a row counts as a row of n columns, so there are rows*groups rows. The usual
 * RMSNorm has its own function. LayerNorm does ABREAST rows at a time, all other kinds one. */
static void TFN__N(tfn__norm_forward)(const tfn_norm_args *p)
{
    const ptrdiff_t groups = tfn__norm_groups(p);
    const ptrdiff_t n = p->cols / groups;
    const ptrdiff_t rows = p->rows * groups;
    const bool plain = groups == 1 && p->part <= 0 && !p->offset && !p->bias;
    const bool affine = groups == 1 && p->gain && p->bias && !p->offset;
    float mean[TFN__ABREAST], rstd[TFN__ABREAST];
    if (n <= 0) return;
    if (TFN__TRAINS && plain && p->kind == TFN_NORM_RMS) {
        TFN__N(tfn__rms_rows)(p);
        return;
    }
    for (ptrdiff_t r = 0, count; r < rows; r += count) {
        count = 1;
        if (p->kind == TFN_NORM_LAYER) count = tfn__min(rows - r, TFN__ABREAST);

        /* mean and rstd */
        if (TFN__ABREAST > 1 && count > 1)
            TFN__N(tfn__layer_moments)(p->x + r*n, count, n, p->eps, mean, rstd);
        else rstd[0] = TFN__N(tfn__moments)(p, p->x + r*n, n, mean);
        for (ptrdiff_t i = 0; i < count; i++)
            if (tfn__is_far(mean[i], rstd[i]))
                rstd[i] = tfn__far_rstd(p, p->x + (r + i) * n, n, mean + i);

        /* y */
        if (TFN__TRAINS && TFN__ABREAST > 1 && affine && count == TFN__ABREAST)
            TFN__N(tfn__normalize)(p->y + r*n, p->x + r*n, p->gain, p->bias, n, mean, rstd, false,
                                   TFN__ABREAST);
        else
            for (ptrdiff_t i = 0; i < count; i++)
                TFN__N(tfn__norm_row)(p, (r + i) * n, (r + i) % groups * n, n, mean[i], rstd[i]);

        /* keep both for the backward */
        for (ptrdiff_t i = 0; i < count; i++) {
            if (p->mean) p->mean[r + i] = mean[i];
            if (p->rstd) p->rstd[r + i] = rstd[i];
        }
    }
}
#undef TFN__ABREAST

/* dx, one group of one row at a time. LayerNorm and RMSNorm in their usual forms get their own
 * copies of the loop, in which the form is constant. */
static void TFN__N(tfn__norm_backward)(const tfn_norm_args *p)
{
    const ptrdiff_t groups = tfn__norm_groups(p);
    const bool plain = !p->offset && !p->detach_mean && !p->detach_std && p->part <= 0;
    const ptrdiff_t n = p->cols / groups;
    if (n <= 0) return;
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t g = 0; g < groups; g++) {
            const ptrdiff_t at = r*p->cols + g*n;
            tfn__norm_group row;
            row.x = p->x + at;
            row.dy = p->dy + at;
            row.dx = p->dx + at;
            row.gain = tfn__at(p->gain, g*n);
            row.n = n;
            row.count = n;
            row.mean = tfn__bias_or_0(p->mean, r*groups + g);
            row.rstd = p->rstd[r*groups + g];
            if (plain && p->kind == TFN_NORM_LAYER)
                TFN__N(tfn__norm_gradient)(p, &row, (float)n, TFN__GAIN_AS_IS, TFN__SHIFT_MEAN);
            else if (plain && p->kind == TFN_NORM_RMS)
                TFN__N(tfn__norm_gradient)(p, &row, (float)n, TFN__GAIN_AS_IS, TFN__SHIFT_NONE);
            else if (TFN__ALL) TFN__N(tfn__norm_gradient_any)(p, row);
        }
}

/* dgain += sum(dy*n), dbias += sum(dy) for n columns from c on, all in group g. Each sum is a chain
 * over the rows. The gradients stay in L1 while the rows stream through. The normalized x is
 * recomputed from x, mean and rstd, so that nothing of the size of x is saved. */
static void TFN__N(tfn__norm_params)(const tfn_norm_args *p, ptrdiff_t c, ptrdiff_t n, ptrdiff_t g)
{
    const ptrdiff_t groups = tfn__norm_groups(p);
    const float *dy = p->dy + c;
    const float *x = p->x + c;
    float *dgain = p->dgain;
    float *dbias = p->dbias;
    if (dgain) dgain += c;
    if (dbias) dbias += c;
    tfn__start_chains(dgain, n, p->add_params);
    tfn__start_chains(dbias, n, p->add_params);
    for (ptrdiff_t r = g; r < p->rows * groups; r += groups, dy += p->cols, x += p->cols) {
        const TFN__V m = TFN__SET(tfn__bias_or_0(p->mean, r));
        const TFN__V s = TFN__SET(p->rstd[r]);
        if (dgain)
            TFN__EACH(i, k, n) {
                const TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + i, k), m), s);
                TFN__PUT(dgain + i, TFN__FMA(TFN__GET(dy + i, k), v, TFN__GET(dgain + i, k)), k);
            }
        if (dbias)
            TFN__EACH(i, k, n)
                TFN__PUT(dbias + i, TFN__ADD(TFN__GET(dbias + i, k), TFN__GET(dy + i, k)), k);
    }
}

/* The same for columns first ... first + count - 1, which may belong to several groups. */
static void TFN__N(tfn__norm_params_backward)(const tfn_norm_args *p, ptrdiff_t first,
                                              ptrdiff_t count)
{
    const ptrdiff_t n = p->cols / tfn__norm_groups(p);
    const ptrdiff_t end = first + count;
    for (ptrdiff_t c = first, next; c < end; c = next) {
        next = tfn__min(end, (c / n + 1) * n);
        TFN__N(tfn__norm_params)(p, c, next - c, c / n);
    }
}

/* -- softmax ----------------------------------------------------------------------------------- */

/* y /= by. It divides, because a product with the reciprocal would be rounded twice. */
static void TFN__N(tfn__divide_row)(float *y, ptrdiff_t n, float by)
{
    const TFN__V l = TFN__SET(by);
    TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__DIV(TFN__GET(y + i, k), l), k);
}

/* y = exp(x - max(x))/sum(exp(x - max(x))) for each row of x (rows, cols). y may be x. It does
 * eight short rows or two long ones at a time, so that the sums of several rows overlap. */
static void TFN__N(tfn__softmax_forward)(float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t abreast = cols <= 256 ? 8 : 2;
    float max[8];
    float sum[8];
    if (cols <= 0) return;
    for (ptrdiff_t n; rows > 0; rows -= n, x += n*cols, y += n*cols) {
        n = tfn__min(rows, abreast);
        for (ptrdiff_t r = 0; r < n; r++) max[r] = TFN__N(tfn__row_max)(x + r*cols, cols);
        for (ptrdiff_t r = 0; r < n; r++)
            sum[r] = TFN__N(tfn__row_exp_sum)(y + r*cols, x + r*cols, cols, max[r]);
        for (ptrdiff_t r = 0; r < n; r++) TFN__N(tfn__divide_row)(y + r*cols, cols, sum[r]);
    }
}

/* dx = y * (dy - sum(dy*y)), which is the Jacobian diag(y) - y y^T times dy. */
static void TFN__N(tfn__softmax_backward)(float *dx, const float *dy, const float *y,
                                          ptrdiff_t rows, ptrdiff_t cols, bool add)
{
    for (ptrdiff_t r = 0; r < rows; r++, dx += cols, dy += cols, y += cols) {
        const TFN__V dot = TFN__SET(TFN__N(tfn__row_dot)(dy, y, cols));
        TFN__EACH(c, k, cols) {
            const TFN__V d = TFN__SUB(TFN__GET(dy + c, k), dot);
            TFN__N(tfn__store_or_add)(dx + c, TFN__MUL(TFN__GET(y + c, k), d), k, add);
        }
    }
}
