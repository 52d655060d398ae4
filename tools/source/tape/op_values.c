#include "op_values.h"
#include "../ground/ground.h"
#include "../ground/math.h"
#include "../kernels/blocks.h"
#include "op_linear.h"

/* -- elementwise ----------------------------------------------------------------------------- */

/* y = softmax of each row of x, for example for the weights of a learned sum of layers. */
SHARED void tfn__softmax_op(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    ptrdiff_t at = s.first * c->cols;
    c->k->softmax_forward(c->y + at, c->x[0] + at, s.count, c->cols);
}

/* Returns the function of an activation or gated unit. */
static tfn_activation_kind tfn__function_of(const tfn__call *c)
{
    return (tfn_activation_kind)c->n->arg[TFN__FUNCTION];
}

/* y = act(x) */
SHARED void tfn__activate_forward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    c->k->activation_forward(c->y + s.first, c->x[0] + s.first, s.count, tfn__function_of(c));
}
/* y = act(gate) * up */
SHARED void tfn__gated_op(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    c->k->gated_forward(c->y + s.first, c->x[0] + s.first, c->x[1] + s.first, s.count,
                        tfn__function_of(c));
}

/* y = a x + b z. in: x, z; number: a, b */
SHARED void tfn__add_forward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    c->k->combine(c->y + s.first, c->x[0] + s.first, c->x[1] + s.first, s.count,
                  c->n->number[0], c->n->number[1], false);
}

/* out = a in, or out += a in if `add`, for this chunk. */
SHARED void tfn__multiply(const tfn__call *c, float *out, const float *in, float a, bool add)
{
    tfn__range s = tfn__chunk_values(c);
    c->k->combine(out + s.first, in + s.first, NULL, s.count, a, 0, add);
}
/* y = a x. number: a */
SHARED void tfn__multiple_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], c->n->number[0], false);
}

/* out = in * by for this chunk's rows. by is (1, 1), (1, g) for g groups of channels, or (1, C).
 * The backward uses it, too: dx = dy * by. */
static void tfn__scale_rows(const tfn__call *c, float *out, const float *in, bool add)
{
    ptrdiff_t groups = c->x_cols[1];
    ptrdiff_t each = c->cols / tfn__max(groups, 1);
    tfn__range s = tfn__chunk_rows(c);
    if (groups < 2) {
        tfn__multiply(c, out, in, c->x[1][0], add);
        return;
    }
    out += s.first * c->cols;
    in += s.first * c->cols;
    if (!TFN__ALL || each == 1) {
        c->k->scale_columns(out, in, c->x[1], s.count, c->cols, add);
        return;
    }
    for (ptrdiff_t i = 0; i < s.count * groups; i++)
        c->k->combine(out + i*each, in + i*each, NULL, each, c->x[1][i % groups], 0, add);
}
/* Learned scales of residual branches: LayerScale (1, C), ReZero (1, 1), scales of heads (1, H). */
SHARED void tfn__scale_forward(const tfn__call *c) { tfn__scale_rows(c, c->y, c->x[0], false); }

/* y = exp(min(x, ln 100)), or 0 below TFN__TAIL: the learned temperature of Swin v2's attention
 * (Liu 2022), one number per head. */
static const float tfn__exp_cap = (float)4.60517018598809137;           /* ln 100 */
static float tfn__exp_capped(float x)
{
    float y;
    if (!(x < tfn__exp_cap)) x = tfn__exp_cap;
    y = (float)tfn__exp((double)x);
    if (y < TFN__TAIL) return 0;
    return y;
}
SHARED void tfn__exp_capped_forward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) c->y[i] = tfn__exp_capped(c->x[0][i]);
}

/* sigma = u^T W v, which is the largest singular value if u and v are its singular vectors
 * (spectral norm, Miyato 2018). in: W (in, out), buffers u (1, in), v (1, out). */
SHARED void tfn__sigma_forward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    double sum = 0;
    for (ptrdiff_t r = 0; r < c->x_rows[0]; r++)
        sum += (double)c->x[1][r] * (double)c->k->dot(c->x[0] + r*cols, c->x[2], cols);
    c->y[0] = (float)sum;
}

/* y = a/b x, or a x if b is 0; a and b are (1, 1). in: x, a, b. */
static float tfn__ratio_of(const tfn__call *c)
{
    const float a = c->x[1][0];
    const float b = c->x[2][0];
    if (b < 0 || b > 0) return a / b;
    return a;
}
/* With b = sigma(W) and a learned a = gamma this is sigma reparameterization (Zhai 2023). */
SHARED void tfn__rescale_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], tfn__ratio_of(c), false);
}

/* y = min(1, t/steps) x. in: x, a buffer (1, 1) that holds t, the number of updates; number:
 * steps */
static float tfn__ramp_of(const tfn__call *c)
{
    const float updates = c->x[1][0];
    const float steps = c->n->number[0];
    if (updates < steps) return updates / steps;
    return 1;
}
/* A schedule inside the forward pass: the weight of a branch grows linearly to 1. It applies in
 * evaluation, too, where t does not change. */
SHARED void tfn__ramp_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], tfn__ramp_of(c), false);
}

/* y = x + a by. in: x, by (1, 1) or (1, C); number: a */
SHARED void tfn__shift_forward(const tfn__call *c)
{
    const float a = c->n->number[0];
    tfn__range s = tfn__chunk_rows(c);
    ptrdiff_t step = 0;                         /* floats from one channel's number to the next */
    if (c->x_cols[1] > 1) step = 1;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        for (ptrdiff_t i = 0; i < c->cols; i++)
            c->y[r*c->cols + i] = c->x[0][r*c->cols + i] + a * c->x[1][i*step];
}

/* y = z + w_k x, a term of a weighted sum of layers. in: x, w (groups, outputs), z or none. With
 * several groups the weight of channel i is w(i mod groups, k). */

/* One weight per group. It goes value by value, because a group's channels are not adjacent. */
static void tfn__mix_groups(const tfn__call *c)
{
    const ptrdiff_t groups = c->x_rows[1];
    const ptrdiff_t outputs = c->x_cols[1];
    const float *w = c->x[1] + c->n->arg[TFN__MIX_OUTPUT];
    tfn__range s = tfn__chunk_rows(c);
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        for (ptrdiff_t i = 0; i < c->cols; i++) {
            const ptrdiff_t at = r*c->cols + i;
            c->y[at] = w[i % groups * outputs] * c->x[0][at];
            if (c->x[2]) c->y[at] += c->x[2][at];
        }
}
/* One weight for all channels: y = w_k x + 1 z. */
SHARED void tfn__mix_forward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    if (c->x_rows[1] > 1) {
        tfn__mix_groups(c);
        return;
    }
    c->k->combine(c->y + s.first, c->x[0] + s.first, tfn__at(c->x[2], s.first), s.count,
                  c->x[1][c->n->arg[TFN__MIX_OUTPUT]], 1, false);
}

/* SiLU(q) = q/(1 + exp(-q)), or 0 if the logistic function is below TFN__TAIL */
static float tfn__silu(float q)
{
    const float e = (float)tfn__exp(-(double)q);
    if (e > 1 / TFN__TAIL) return 0;
    return q / (1 + e);
}
/* y = x - SiLU(q) x (GPAS, Chen 2025). The backward treats the second x as a constant. in: x,
 * q (1, 1) */
SHARED void tfn__gate_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], 1 - tfn__silu(c->x[1][0]), false);
}

/* y = |x| */
SHARED void tfn__magnitude_forward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        c->y[i] = c->x[0][i];
        if (c->x[0][i] < 0) c->y[i] = -c->x[0][i];
    }
}

/* y = max(-c, min(x, c)) */
SHARED void tfn__clamp_forward(const tfn__call *c)
{
    const float limit = c->n->number[0];
    tfn__range s = tfn__chunk_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        c->y[i] = c->x[0][i];
        if (c->x[0][i] > limit) c->y[i] = limit;
        if (c->x[0][i] < -limit) c->y[i] = -limit;
    }
}

/* Stores or adds one number of a gradient. */
SHARED void tfn__store_or_add_one(float *d, float value, bool add)
{
    if (add) *d += value;
    else *d = value;
}

/* Applies the dropout mask. The random index of an element consists of sentence, position and
 * channel, with 20 bits for each of the last two, so that it does not depend on padding or
 * capacities. The backward draws the same mask again; it is not stored. */
static void tfn__drop(const tfn__call *c, float *out, const float *in, bool add)
{
    tfn__range s = tfn__chunk_rows(c);
    tfn_key key = tfn_key_fold(c->r->key, c->n->site);
    ptrdiff_t time = 1;
    if (c->n->rows == TFN_ROWS_SOURCE) time = c->r->source;
    if (c->n->rows == TFN_ROWS_TARGET) time = c->r->target;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++) {
        /* sentence << 20 | position */
        const uint64_t place = (uint64_t)(r / time) << 20 | (uint64_t)(r % time);
        c->k->dropout(out + r*c->cols, in + r*c->cols, c->cols, c->n->number[0], key, place << 20,
                      add);
    }
}
/* y = x / (1 - p) where the mask keeps x, else 0. The backward applies the same map to dy. */
SHARED void tfn__dropout_forward(const tfn__call *c) { tfn__drop(c, c->y, c->x[0], false); }
SHARED void tfn__dropout_backward(const tfn__call *c)
{
    tfn__drop(c, c->dx[0], c->dy, c->add[0]);
}

/* dx = y (dy - <dy, y>) for each row. It reads y, not x. */
SHARED void tfn__softmax_backward_op(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    ptrdiff_t at = s.first * c->cols;
    c->k->softmax_backward(c->dx[0] + at, c->dy + at, c->y + at, s.count, c->cols, c->add[0]);
}
/* dx = dy act'(x) */
SHARED void tfn__activate_backward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    c->k->activation_backward(c->dx[0] + s.first, c->dy + s.first, c->x[0] + s.first, s.count,
                              tfn__function_of(c), c->add[0]);
}
/* dgate = dy up act'(gate), dup = dy act(gate) */
SHARED void tfn__gated_backward_op(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    float *dgate = NULL;
    float *dup = NULL;
    if (c->dx[0]) dgate = c->dx[0] + s.first;
    if (c->dx[1]) dup = c->dx[1] + s.first;
    c->k->gated_backward(dgate, dup, c->dy + s.first, c->x[0] + s.first, c->x[1] + s.first,
                         s.count, tfn__function_of(c), c->add[0], c->add[1]);
}

/* dx = a dy for this chunk, if the input needs a gradient. */
SHARED void tfn__pass_on(const tfn__call *c, int input, float a)
{
    if (c->dx[input]) tfn__multiply(c, c->dx[input], c->dy, a, c->add[input]);
}
/* dx = a dy, dz = b dy */
SHARED void tfn__add_backward(const tfn__call *c)
{
    for (int i = 0; i < 2; i++) tfn__pass_on(c, i, c->n->number[i]);
}
/* dx = a dy */
SHARED void tfn__multiple_backward(const tfn__call *c) { tfn__pass_on(c, 0, c->n->number[0]); }

/* Returns <dy, x>, the gradient of a number that multiplies all values, or the sum of dy if x is
 * NULL. It is the flat sum over the rows that count, as if they were contiguous, because padding
 * must not move a term to another lane. */
static float tfn__dot_counted(const tfn__call *c, const float *x)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    const ptrdiff_t time = c->rows / tfn__max(c->r->batch, 1);
    tfn__flat_sum sum;
    if (!tfn__padding_of(c->r, rows)) return c->k->dot(c->dy, x, c->rows * c->cols);
    TFNORM_MEMSET(&sum, 0, sizeof sum);
    for (ptrdiff_t b = 0; b < c->r->batch; b++) {
        const ptrdiff_t at = b*time*c->cols;
        tfn__flat_add(&sum, c->dy + at, tfn__at(x, at),
                      tfn__counted_rows(c->r, rows, b) * c->cols);
    }
    return tfn__flat_total(&sum);
}

/* Clears a gradient of n numbers before loops add to it, unless `add`. */
SHARED void tfn__start_sum(float *d, ptrdiff_t n, bool add)
{
    if (!add) TFNORM_MEMSET(d, 0, (size_t)n * sizeof *d);
}

/* dby = <dy, x>, summed over the channels of each group. */
static void tfn__scale_by_backward(const tfn__call *c)
{
    ptrdiff_t groups = c->x_cols[1];
    ptrdiff_t each = c->cols / groups;
    if (groups == 1) {
        tfn__store_or_add_one(c->dx[1], tfn__dot_counted(c, c->x[0]), c->add[1]);
    } else if (each == 1) {
        c->k->scale_columns_backward(c->dx[1], c->dy, c->x[0], c->rows, c->cols, c->cols,
                                     c->add[1]);
    } else {
        tfn__start_sum(c->dx[1], groups, c->add[1]);
        for (ptrdiff_t b = 0; b < tfn__sentences_of(c); b++) {
            const tfn__range s = tfn__sentence_rows(c, b);
            for (ptrdiff_t i = s.first * groups; i < (s.first + s.count) * groups; i++)
                c->dx[1][i % groups] += c->k->dot(c->dy + i*each, c->x[0] + i*each, each);
        }
    }
}
/* dx = dy by, in chunks of rows. The last chunk is dby. */
SHARED void tfn__scale_backward(const tfn__call *c)
{
    if (c->chunk == tfn__by_rows(c)) tfn__scale_by_backward(c);
    else if (c->dx[0]) tfn__scale_rows(c, c->dx[0], c->dy, c->add[0]);
}

/* Chunks of rows, and one more if in[1], which is a few numbers, needs a gradient. */
SHARED ptrdiff_t tfn__rows_and_by(const tfn__call *c)
{
    if (!c->dx[1]) return tfn__by_rows(c);
    return tfn__by_rows(c) + 1;
}

/* dx = dy exp(x) below the cap, and 0 above it. */
SHARED void tfn__exp_capped_backward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        float x = c->x[0][i];
        float d = 0;
        if (x < tfn__exp_cap) d = c->dy[i] * tfn__exp_capped(x);
        tfn__store_or_add_one(c->dx[0] + i, d, c->add[0]);
    }
}

/* dW = dsigma u v^T, some rows of W at a time. */
SHARED ptrdiff_t tfn__by_weight_rows(const tfn__call *c)
{
    return tfn__pieces(c->x_rows[0], tfn__row_step(c, c->x_rows[0], c->x_cols[0]));
}
SHARED void tfn__sigma_backward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    tfn__range s = tfn__slice(c->x_rows[0], tfn__row_step(c, c->x_rows[0], cols), c->chunk);
    if (!c->dx[0]) return;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        c->k->combine(c->dx[0] + r*cols, c->x[2], NULL, cols, c->dy[0] * c->x[1][r], 0, c->add[0]);
}

/* dx = a/b dy; da = <dy, x>/b; db = -a/b^2 <dy, x>. If b is 0: dx = a dy, da = <dy, x>, db = 0. */
SHARED void tfn__rescale_backward(const tfn__call *c)
{
    const float b = c->x[2][0];
    float da;
    float db = 0;
    if (c->chunk < tfn__by_rows(c)) {
        tfn__pass_on(c, 0, tfn__ratio_of(c));
        return;
    }
    da = tfn__dot_counted(c, c->x[0]);
    if (b < 0 || b > 0) {
        da /= b;
        db = -tfn__ratio_of(c) * da;
    }
    if (c->dx[1]) tfn__store_or_add_one(c->dx[1], da, c->add[1]);
    if (c->dx[2]) tfn__store_or_add_one(c->dx[2], db, c->add[2]);
}

/* The backward treats the ramp as a constant, because the number of updates is not learned. */
SHARED void tfn__ramp_backward(const tfn__call *c) { tfn__pass_on(c, 0, tfn__ramp_of(c)); }

/* dx = dy; dby = a times the sum of dy, over all channels or for each channel. */
SHARED void tfn__shift_backward(const tfn__call *c)
{
    float a = c->n->number[0];
    if (c->chunk < tfn__by_rows(c)) {
        tfn__pass_on(c, 0, 1);
    } else if (c->x_cols[1] == 1) {
        tfn__store_or_add_one(c->dx[1], a * tfn__dot_counted(c, NULL), c->add[1]);
    } else {
        tfn__start_sum(c->dx[1], c->cols, c->add[1]);
        for (ptrdiff_t b = 0; b < tfn__sentences_of(c); b++) {
            const tfn__range s = tfn__sentence_rows(c, b);
            for (ptrdiff_t i = s.first * c->cols; i < (s.first + s.count) * c->cols; i++)
                c->dx[1][i % c->cols] += a * c->dy[i];
        }
    }
}

/* With one weight per group of channels: dx = w dy, dz = dy for this chunk's rows. */
static void tfn__mix_groups_rows_backward(const tfn__call *c)
{
    const ptrdiff_t groups = c->x_rows[1];
    const ptrdiff_t outputs = c->x_cols[1];
    const float *w = c->x[1] + c->n->arg[TFN__MIX_OUTPUT];
    tfn__range s = tfn__chunk_rows(c);
    tfn__pass_on(c, 2, 1);
    if (!c->dx[0]) return;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        for (ptrdiff_t i = 0; i < c->cols; i++) {
            const ptrdiff_t at = r*c->cols + i;
            tfn__store_or_add_one(c->dx[0] + at, w[i % groups * outputs] * c->dy[at], c->add[0]);
        }
}
/* The same for dw, as a chain over the rows that count and their channels. */
static void tfn__mix_groups_weight_backward(const tfn__call *c)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    const ptrdiff_t groups = c->x_rows[1];
    const ptrdiff_t outputs = c->x_cols[1];
    const bool padded = tfn__padding_of(c->r, rows) != NULL;
    float *dw = c->dx[1] + c->n->arg[TFN__MIX_OUTPUT];
    ptrdiff_t sentences = 1;
    ptrdiff_t each;
    if (padded) sentences = c->r->batch;
    each = c->rows * c->cols / tfn__max(sentences, 1);
    tfn__start_sum(c->dx[1], groups * outputs, c->add[1]);
    for (ptrdiff_t b = 0; b < sentences; b++) {
        const ptrdiff_t first = b*each;
        ptrdiff_t n = each;
        if (padded) n = tfn__counted_rows(c->r, rows, b) * c->cols;
        for (ptrdiff_t i = 0; i < n; i++)
            dw[i % c->cols % groups * outputs] += c->dy[first + i] * c->x[0][first + i];
    }
}
/* dx = w_k dy, dz = dy, dw_k = <dy, x>; the other weights have gradient 0. */
SHARED void tfn__mix_backward(const tfn__call *c)
{
    const bool rows = c->chunk < tfn__by_rows(c);
    ptrdiff_t k = c->n->arg[TFN__MIX_OUTPUT];
    if (c->x_rows[1] > 1) {
        if (rows) tfn__mix_groups_rows_backward(c);
        else tfn__mix_groups_weight_backward(c);
    } else if (rows) {
        tfn__pass_on(c, 0, c->x[1][k]);
        tfn__pass_on(c, 2, 1);
    } else {
        tfn__start_sum(c->dx[1], c->x_cols[1], c->add[1]);
        c->dx[1][k] += tfn__dot_counted(c, c->x[0]);
    }
}

/* The logistic function 1/(1 + exp(-q)), or 0 if it is below TFN__TAIL. */
static float tfn__logistic(float q)
{
    const float e = (float)tfn__exp(-(double)q);
    if (e > 1 / TFN__TAIL) return 0;
    return 1 / (1 + e);
}
/* dx = dy; dq = -SiLU'(q) <dy, x>, SiLU'(q) = s (1 + q (1 - s)), where s is the logistic
 * function. */
SHARED void tfn__gate_backward(const tfn__call *c)
{
    const float q = c->x[1][0];
    const float s = tfn__logistic(q);
    if (c->chunk < tfn__by_rows(c)) {
        tfn__pass_on(c, 0, 1);
        return;
    }
    tfn__store_or_add_one(c->dx[1], -(s * (1 + q * (1 - s))) * tfn__dot_counted(c, c->x[0]),
                      c->add[1]);
}

/* dx = sign(x) dy, with sign(0) = 0 */
SHARED void tfn__magnitude_backward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        float d = 0;
        if (c->x[0][i] > 0) d = c->dy[i];
        if (c->x[0][i] < 0) d = -c->dy[i];
        tfn__store_or_add_one(c->dx[0] + i, d, c->add[0]);
    }
}

/* dx = dy where x is within the limits, else 0 */
SHARED void tfn__clamp_backward(const tfn__call *c)
{
    const float limit = c->n->number[0];
    tfn__range s = tfn__chunk_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        float d = c->dy[i];
        if (c->x[0][i] > limit || c->x[0][i] < -limit) d = 0;
        tfn__store_or_add_one(c->dx[0] + i, d, c->add[0]);
    }
}
