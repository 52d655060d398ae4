#include "../ground/ground.h"
#include "../ground/math.h"
#include "columns.h"

#if (defined TFNORM_DEBUG || defined TFN__REFERENCE)
/* The main kernels in plain loops: read this section first. It is compiled only for debugging and
 * for the tests. They check that every instruction set with a fused multiply-add has exactly the
 * bits of these functions. Builds on math and strips.
 *
 * The order of operations below defines the library's results (see "The arithmetic" in the rules).
 * A sum over features uses 16 lanes. An element of a matrix product is one chain of fused
 * multiply-adds. Gradients are added in the order of the rows. Parentheses matter. Rows are rows of
 * a matrix: an array (B, T, C) has B*T rows. */

/* Returns the sum of 16 lanes, where term i was added to lane i mod 16, by the tree +8, +4, +2,
 * +1. */
static inline float tfn__ref_tree(float *lane)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

/* Returns sum x[i] y[i] in lanes, for statistics and the sums of backwards. */
static inline float tfn__ref_dot(const float *x, const float *y, ptrdiff_t n)
{
    float lane[16] = { 0 };
    for (ptrdiff_t i = 0; i < n; i++) lane[i % 16] += x[i] * y[i];
    return tfn__ref_tree(lane);
}

/* Returns sum x[i] y[i] as one chain, like an element of a matrix product. */
static inline float tfn__ref_chain(const float *x, const float *y, ptrdiff_t n)
{
    float sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum = tfn__fma(x[i], y[i], sum);
    return sum;
}

/* Returns exp(x) for x <= 0, or exactly 0 below 2^-60, so that no denormals follow. It is the plain
 * form of the function in section vmath. */
static inline float tfn__ref_exp(float x) { return tfn__vexp_tail_plain(x); }

static inline float tfn__ref_max(const float *x, ptrdiff_t n)
{
    float max = x[0];
    for (ptrdiff_t i = 1; i < n; i++)
        if (x[i] > max) max = x[i];
    return max;
}

/* Returns rstd of a row whose squares overflow or lose bits: see section columns. */
static inline float tfn__ref_far_rstd(tfn_norm_kind kind, float *mean, const float *x,
                                      ptrdiff_t cols, float eps)
{
    tfn_norm_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.kind = kind;
    p.eps = eps;
    return tfn__far_rstd(&p, x, cols, mean);
}

/* -- LayerNorm ---------------------------------------------------------------------------------
 * y = gain * n + bias,  n = (x - mean) / sqrt(variance + eps)           Ba et al. 2016, eq. 4
 * y, x (rows, cols); gain, bias (cols). mean and rstd = 1/sqrt(variance + eps), both (rows), are
 * saved for the backward. The variance needs a second pass, because mean(x^2) - mean^2 would
 * cancel. */
static inline void tfn__ref_layernorm_forward(float *y, float *mean, float *rstd, const float *x,
                                              const float *gain, const float *bias,
                                              ptrdiff_t rows, ptrdiff_t cols, float eps)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        float sum[16] = { 0 };
        float square[16] = { 0 };
        for (ptrdiff_t c = 0; c < cols; c++) sum[c % 16] += x[c];
        mean[r] = tfn__ref_tree(sum) / (float)cols;
        for (ptrdiff_t c = 0; c < cols; c++)
            square[c % 16] += (x[c] - mean[r]) * (x[c] - mean[r]);
        rstd[r] = 1 / TFN__SQRT(tfn__ref_tree(square) / (float)cols + eps);
        if (tfn__is_far(mean[r], rstd[r]))
            rstd[r] = tfn__ref_far_rstd(TFN_NORM_LAYER, mean + r, x, cols, eps);
        for (ptrdiff_t c = 0; c < cols; c++)
            y[c] = tfn__fma(gain[c], (x[c] - mean[r]) * rstd[r], bias[c]);
    }
}

/* With g = dy*gain:  dx += rstd * (g - mean(g) - n*mean(g*n)),  dgain += dy*n,  dbias += dy.
 * The two means are the gradients through mean and variance. */
static inline void tfn__ref_layernorm_backward(float *dx, float *dgain, float *dbias,
                                               const float *dy, const float *x, const float *gain,
                                               const float *mean, const float *rstd,
                                               ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, dy += cols, dx += cols) {
        float sum_g[16] = { 0 };
        float sum_gn[16] = { 0 };
        float mean_g;
        float mean_gn;
        for (ptrdiff_t c = 0; c < cols; c++) {
            sum_g[c % 16] += dy[c] * gain[c];
            sum_gn[c % 16] += (dy[c] * gain[c]) * ((x[c] - mean[r]) * rstd[r]);
        }
        mean_g = tfn__ref_tree(sum_g) / (float)cols;
        mean_gn = tfn__ref_tree(sum_gn) / (float)cols;
        for (ptrdiff_t c = 0; c < cols; c++) {
            const float n = (x[c] - mean[r]) * rstd[r];
            dx[c] += rstd[r] * (dy[c] * gain[c] - mean_g - n * mean_gn);
            dgain[c] = tfn__fma(dy[c], n, dgain[c]);
            dbias[c] += dy[c];
        }
    }
}

/* -- RMSNorm -----------------------------------------------------------------------------------
 * y = gain * n,  n = x / sqrt(mean(x^2) + eps)                 Zhang & Sennrich 2019, eq. 4
 * LayerNorm without mean and bias. y, x (rows, cols); gain (cols). rstd (rows) is saved. */
static inline void tfn__ref_rmsnorm_forward(float *y, float *rstd, const float *x,
                                            const float *gain, ptrdiff_t rows, ptrdiff_t cols,
                                            float eps)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        float mean = 0;
        rstd[r] = 1 / TFN__SQRT(tfn__ref_dot(x, x, cols) / (float)cols + eps);
        if (tfn__is_far(mean, rstd[r]))
            rstd[r] = tfn__ref_far_rstd(TFN_NORM_RMS, &mean, x, cols, eps);
        for (ptrdiff_t c = 0; c < cols; c++) y[c] = gain[c] * (x[c] * rstd[r]);
    }
}

/* With g = dy*gain:  dx += rstd * (g - n*mean(g*n)),  dgain += dy*n. */
static inline void tfn__ref_rmsnorm_backward(float *dx, float *dgain, const float *dy,
                                             const float *x, const float *gain, const float *rstd,
                                             ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, dy += cols, dx += cols) {
        float sum_gn[16] = { 0 };
        float mean_gn;
        for (ptrdiff_t c = 0; c < cols; c++)
            sum_gn[c % 16] += (dy[c] * gain[c]) * (x[c] * rstd[r]);
        mean_gn = tfn__ref_tree(sum_gn) / (float)cols;
        for (ptrdiff_t c = 0; c < cols; c++) {
            const float n = x[c] * rstd[r];
            dx[c] += rstd[r] * (dy[c] * gain[c] - n * mean_gn);
            dgain[c] = tfn__fma(dy[c], n, dgain[c]);
        }
    }
}

/* -- softmax -----------------------------------------------------------------------------------
 * y_i = exp(x_i - m) / sum_j exp(x_j - m),  m = max(x)                            Bridle 1990
 * Subtracting m only prevents exp from overflowing. y, x (rows, cols). */
static inline void tfn__ref_softmax_forward(float *y, const float *x, ptrdiff_t rows,
                                            ptrdiff_t cols)
{
    if (cols <= 0) return;
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        const float m = tfn__ref_max(x, cols);
        float lane[16] = { 0 };
        float sum;
        for (ptrdiff_t c = 0; c < cols; c++) {
            y[c] = tfn__ref_exp(x[c] - m);
            lane[c % 16] += y[c];
        }
        sum = tfn__ref_tree(lane);
        for (ptrdiff_t c = 0; c < cols; c++) y[c] /= sum;
    }
}

/* dx_i += y_i * (dy_i - sum_j dy_j y_j), which is the Jacobian diag(y) - y y^T times dy. */
static inline void tfn__ref_softmax_backward(float *dx, const float *dy, const float *y,
                                             ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, dx += cols, dy += cols, y += cols) {
        const float dot = tfn__ref_dot(dy, y, cols);
        for (ptrdiff_t c = 0; c < cols; c++) dx[c] += y[c] * (dy[c] - dot);
    }
}

/* -- the linear map ----------------------------------------------------------------------------
 * y = x w + bias.  y (rows, outs), x (rows, ins), w (ins, outs), bias (outs). The chain of each
 * element starts with its bias. */
static inline void tfn__ref_linear_forward(float *y, const float *x, const float *w,
                                           const float *bias, ptrdiff_t rows, ptrdiff_t ins,
                                           ptrdiff_t outs)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t o = 0; o < outs; o++) {
            float sum = bias[o];
            for (ptrdiff_t i = 0; i < ins; i++) sum = tfn__fma(x[r*ins + i], w[i*outs + o], sum);
            y[r*outs + o] = sum;
        }
}

/* dx += dy w^T, dw += x^T dy, dbias += the sum of the rows of dy. */
static inline void tfn__ref_linear_backward(float *dx, float *dw, float *dbias, const float *dy,
                                            const float *x, const float *w, ptrdiff_t rows,
                                            ptrdiff_t ins, ptrdiff_t outs)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += ins, dx += ins, dy += outs)
        for (ptrdiff_t o = 0; o < outs; o++) {
            for (ptrdiff_t i = 0; i < ins; i++) {
                dx[i] = tfn__fma(dy[o], w[i*outs + o], dx[i]);
                dw[i*outs + o] = tfn__fma(x[i], dy[o], dw[i*outs + o]);
            }
            dbias[o] += dy[o];
        }
}

/* -- attention ---------------------------------------------------------------------------------
 * y = softmax(scale q k^T) v,  scale = 1/sqrt(D)                        Vaswani et al. 2017, eq. 1
 * q, k, v, y (B*T, H*D): head h has columns h*D ... h*D + D - 1. If causal, query i sees keys 0..i.
 * stats (B*T, H, 2) saves the maximum and the sum of each softmax. */

/* One query of one head. It sees the first `seen` keys and values, rows of k and v that are ld
 * floats apart. It divides by the sum at the end, D numbers of y instead of T weights. */
static inline void tfn__ref_query_forward(float *y, float *stats, const float *q, const float *k,
                                          const float *v, ptrdiff_t seen, ptrdiff_t ld,
                                          ptrdiff_t size, float scale)
{
    float lane[16] = { 0 };
    float m = -(float)INFINITY;
    for (ptrdiff_t j = 0; j < seen; j++) {
        const float s = tfn__ref_chain(q, k + j*ld, size) * scale;
        if (s > m) m = s;
    }
    for (ptrdiff_t d = 0; d < size; d++) y[d] = 0;
    for (ptrdiff_t j = 0; j < seen; j++) {
        const float e = tfn__ref_exp(tfn__ref_chain(q, k + j*ld, size) * scale - m);
        lane[j % 16] += e;
        for (ptrdiff_t d = 0; d < size; d++) y[d] = tfn__fma(e, v[j*ld + d], y[d]);
    }
    stats[0] = m;
    stats[1] = tfn__ref_tree(lane);
    for (ptrdiff_t d = 0; d < size; d++) y[d] /= stats[1];
}

/* With p = softmax(s), s = scale q k^T, and dp = dy v^T: ds = p * (dp - sum(dp*p)). The sum over
 * keys equals sum(dy*y) over the D features, which is cheaper. Then
 *     dq += scale ds k,  dk += scale ds^T q,  dv += p^T dy. */
static inline void tfn__ref_query_backward(float *dq, float *dk, float *dv, const float *dy,
                                           const float *y, const float *stats, const float *q,
                                           const float *k, const float *v, ptrdiff_t seen,
                                           ptrdiff_t ld, ptrdiff_t size, float scale)
{
    const float dot = tfn__ref_dot(dy, y, size);
    for (ptrdiff_t j = 0; j < seen; j++, k += ld, v += ld, dk += ld, dv += ld) {
        const float s = tfn__ref_chain(q, k, size) * scale;
        const float p = tfn__ref_exp(s - stats[0]) / stats[1];
        const float dp = tfn__ref_chain(dy, v, size);
        const float ds = p * (dp - dot) * scale;
        for (ptrdiff_t d = 0; d < size; d++) {
            dq[d] = tfn__fma(ds, k[d], dq[d]);
            dk[d] = tfn__fma(ds, q[d], dk[d]);
            dv[d] = tfn__fma(p, dy[d], dv[d]);
        }
    }
}

/* All heads of all queries. Query i of sentence b is row r = b*T + i. */
static inline void tfn__ref_attention_forward(float *y, float *stats, const float *q,
                                              const float *k, const float *v, ptrdiff_t batch,
                                              ptrdiff_t time, ptrdiff_t heads, ptrdiff_t size,
                                              float scale, bool causal)
{
    const ptrdiff_t ld = heads * size;
    for (ptrdiff_t r = 0; r < batch * time; r++)
        for (ptrdiff_t h = 0; h < heads; h++) {
            const ptrdiff_t at = r*ld + h*size;
            const ptrdiff_t first = (r - r % time)*ld + h*size;        /* of this sentence */
            ptrdiff_t seen = time;
            if (causal) seen = r % time + 1;
            tfn__ref_query_forward(y + at, stats + (r*heads + h)*2, q + at, k + first, v + first,
                                   seen, ld, size, scale);
        }
}

static inline void tfn__ref_attention_backward(float *dq, float *dk, float *dv, const float *dy,
                                               const float *y, const float *stats, const float *q,
                                               const float *k, const float *v, ptrdiff_t batch,
                                               ptrdiff_t time, ptrdiff_t heads, ptrdiff_t size,
                                               float scale, bool causal)
{
    const ptrdiff_t ld = heads * size;
    for (ptrdiff_t r = 0; r < batch * time; r++)
        for (ptrdiff_t h = 0; h < heads; h++) {
            const ptrdiff_t at = r*ld + h*size;
            const ptrdiff_t first = (r - r % time)*ld + h*size;
            ptrdiff_t seen = time;
            if (causal) seen = r % time + 1;
            tfn__ref_query_backward(dq + at, dk + first, dv + first, dy + at, y + at,
                                    stats + (r*heads + h)*2, q + at, k + first, v + first, seen,
                                    ld, size, scale);
        }
}

/* -- cross-entropy -----------------------------------------------------------------------------
 * loss = -log p_y,  p = softmax(x):  loss = log(sum_v exp(x_v - m)) + m - x_y,  m = max(x)
 * x (rows, cols) are the logits, y = targets[r] is the true class. A target outside 0 .. cols - 1
 * is ignored, and its loss is 0. stats (rows, 2) saves m and the sum. The loss is computed in
 * double, then rounded. */
static inline void tfn__ref_cross_entropy_forward(float *loss, float *stats, const float *x,
                                                  const int32_t *targets, ptrdiff_t rows,
                                                  ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols) {
        float lane[16] = { 0 };
        float m;
        float sum;
        loss[r] = 0;
        if (targets[r] < 0 || targets[r] >= cols) continue;
        m = tfn__ref_max(x, cols);
        for (ptrdiff_t c = 0; c < cols; c++) lane[c % 16] += tfn__ref_exp(x[c] - m);
        sum = tfn__ref_tree(lane);
        loss[r] = (float)(tfn__log((double)sum) + ((double)m - (double)x[targets[r]]));
        stats[2*r] = m;
        stats[2*r + 1] = sum;
    }
}

/* dx_v += dloss * (p_v - [v = y]). */
static inline void tfn__ref_cross_entropy_backward(float *dx, const float *dloss,
                                                   const float *stats, const float *x,
                                                   const int32_t *targets, ptrdiff_t rows,
                                                   ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, dx += cols, x += cols) {
        if (targets[r] < 0 || targets[r] >= cols) continue;
        for (ptrdiff_t c = 0; c < cols; c++) {
            const float e = tfn__ref_exp(x[c] - stats[2*r]);
            float share = 0;
            if (c == targets[r]) share = dloss[r];
            dx[c] += tfn__fma(dloss[r] / stats[2*r + 1], e, -share);
        }
    }
}

/* -- AdamW -------------------------------------------------------------------------------------
 * m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2             Kingma & Ba 2015, algorithm 1
 * p -= lr * decay * p                                         Loshchilov & Hutter 2019, algorithm 2
 * p -= lr * m^ / (sqrt(v^) + eps),  m^ = m/(1 - b1^t),  v^ = v/(1 - b2^t)
 * t counts updates from 1. Averages below 2^-100 become 0, and so do squares of gradients below
 * 2^-50. Otherwise the averages of an unused weight would decay to denormals, which are slow. A
 * weight without a second moment does not move. */
static inline float tfn__ref_cut(float x, float least)
{
    if (x < least && x > -least) return 0;
    return x;
}

static inline void tfn__ref_adamw(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                                  float lr, float b1, float b2, float eps, float decay, int64_t t)
{
    const double correct1 = 1 - tfn__pow((double)b1, (double)t);
    const double correct2 = 1 - tfn__pow((double)b2, (double)t);
    const float step = (float)((double)lr / correct1);
    const float root = (float)(1 / tfn__pow(correct2, 0.5));
    for (ptrdiff_t i = 0; i < n; i++) {
        float d = tfn__ref_cut(g[i], TFN__LEAST);
        m[i] = tfn__ref_cut(tfn__fma(b1, m[i], (1 - b1) * d), TFN__LEAST);
        d = tfn__ref_cut(d, TFN__LEAST_ROOT);
        v[i] = tfn__ref_cut(tfn__fma(b2, v[i], (1 - b2) * d * d), TFN__LEAST);
        if (decay > 0) p[i] -= lr * decay * p[i];
        if (v[i] < TFN__LEAST) continue;
        p[i] -= step * m[i] / tfn__fma(TFN__SQRT(v[i]), root, eps);
    }
}
#endif
