/* Cross-entropy over rows of logits, with label smoothing. */

/* Returns sum(max - x) over the classes of a row. */
static float TFN__N(tfn__row_below)(const float *x, ptrdiff_t n, float max)
{
    const TFN__V m = TFN__SET(max);
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V d = TFN__SUB(m, TFN__GET(x + i, k));
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(d, k));
    });
    return TFN__N(tfn__tree)(acc);
}

/* With m = max x, l = sum exp(x - m), and the target y:
 *     nll = log l + m - x_y,  sum_v(-log p_v) = V log l + sum(m - x)
 * tfn__smooth tells how label smoothing combines the two into the loss. From l on it is computed in
 * double, then rounded. If the target is not a class (as in padding), the loss is 0. stats (rows,
 * 2) keeps m and l for the backward. */
static void TFN__N(tfn__cross_entropy_forward)(float *loss, float *nll, float *stats,
                                               const float *logits, const int32_t *targets,
                                               ptrdiff_t rows, ptrdiff_t cols, float smoothing,
                                               int32_t kind)
{
    const float *x = logits;
    double each, rest;
    tfn__smooth((double)smoothing, kind, cols, &each, &rest);
    for (ptrdiff_t r = 0; r < rows; r++, x += cols) {
        const int32_t y = targets[r];
        double hard = 0;                           /* nll */
        double smooth = 0;
        if (y >= 0 && y < cols) {
            const float max = TFN__N(tfn__row_max)(x, cols);
            const float sum = TFN__N(tfn__row_exp_sum)(NULL, x, cols, max);
            const double z = tfn__log((double)sum);
            hard = z + ((double)max - (double)x[y]);
            smooth = hard;
            if (smoothing > 0) {
                const double below = (double)TFN__N(tfn__row_below)(x, cols, max);
                smooth = rest*hard + each*((double)cols * z + below);
            }
            stats[2*r] = max;
            stats[2*r + 1] = sum;
        }
        loss[r] = (float)smooth;
        if (nll) nll[r] = (float)hard;
    }
}

/* dx = scale * exp(x - max) - share, for n classes with the same share of the target. */
static void TFN__N(tfn__classes_gradient)(float *dx, const float *x, ptrdiff_t n, float max,
                                          float scale, float share, bool add)
{
    const TFN__V m = TFN__SET(max);
    const TFN__V s = TFN__SET(scale);
    const TFN__V t = TFN__SET(-share);
    TFN__EACH(i, k, n) {
        const TFN__V e = TFN__N(tfn__vexp_tail)(TFN__SUB(TFN__GET(x + i, k), m));
        TFN__N(tfn__store_or_add)(dx + i, TFN__FMA(s, e, t), k, add);
    }
}

/* dx_v = dloss * (p_v - each - rest [v = y]), p = exp(x - m)/l. It does the classes before the true
 * class y, then y, then the classes after it. If dloss is NULL, it counts as 1. */
static void TFN__N(tfn__cross_entropy_backward)(float *dlogits, const float *dloss,
                                                const float *stats, const float *logits,
                                                const int32_t *targets, ptrdiff_t rows,
                                                ptrdiff_t cols, float smoothing, int32_t kind,
                                                bool add)
{
    double each, rest;
    tfn__smooth((double)smoothing, kind, cols, &each, &rest);
    for (ptrdiff_t r = 0; r < rows; r++, dlogits += cols, logits += cols) {
        const ptrdiff_t y = targets[r];
        const ptrdiff_t after = y + 1;
        const float m = stats[2*r];
        float d = 1;
        if (dloss) d = dloss[r];
        if (y >= 0 && y < cols) {
            const float s = d / stats[2*r + 1];
            const float false_share = (float)((double)d * each);
            const float true_share = (float)((double)d * (each + rest));
            TFN__N(tfn__classes_gradient)(dlogits, logits, y, m, s, false_share, add);
            TFN__N(tfn__classes_gradient)(dlogits + y, logits + y, 1, m, s, true_share, add);
            TFN__N(tfn__classes_gradient)(dlogits + after, logits + after, cols - after, m, s,
                                          false_share, add);
        } else if (!add) {
            for (ptrdiff_t c = 0; c < cols; c++) dlogits[c] = 0;
        }
    }
}
