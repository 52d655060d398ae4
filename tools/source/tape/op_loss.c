#include "op_loss.h"
#include "../ground/math.h"
#include "op_linear.h"
#include "op_values.h"

/* -- loss: -log p(target) of each row. in: logits; number: smoothing -------------------------- */

/* A chunk of the loss may begin and end anywhere in a sentence, and the kernel takes contiguous
 * rows. So the loops below do one run of rows at a time, which all count or are all padding. */

/* Returns the length of the run that begins at row r and ends before `end`. *counts tells whether
 * its rows count. */
static ptrdiff_t tfn__rows_alike(const tfn__call *c, ptrdiff_t r, ptrdiff_t end, bool *counts)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    ptrdiff_t time;
    ptrdiff_t stop;                     /* the position in the sentence where the run ends */
    *counts = true;
    if (!tfn__padding_of(c->r, rows)) return end - r;
    time = c->rows / tfn__max(c->r->batch, 1);
    stop = tfn__counted_rows(c->r, rows, r / time);
    *counts = r % time < stop;
    if (!*counts) stop = time;
    return tfn__min(end - r, stop - r % time);
}

/* Returns the rows in a chunk. A row is as wide as the vocabulary, although y has one column. */
static ptrdiff_t tfn__loss_row_step(const tfn__call *c)
{
    return tfn__row_step(c, c->rows, c->x_cols[0]);
}
/* Forward and backward have the same chunks. */
SHARED ptrdiff_t tfn__loss_chunks(const tfn__call *c)
{
    return tfn__pieces(c->rows, tfn__loss_row_step(c));
}

/* The loss of padding is 0, even if the array has targets there. */
SHARED void tfn__loss_forward(const tfn__call *c)
{
    ptrdiff_t cols = c->x_cols[0];
    ptrdiff_t n;
    tfn__range s = tfn__slice(c->rows, tfn__loss_row_step(c), c->chunk);
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    float *stats = c->saved;
    float *nll = c->saved + 2*c->rows;
    bool counts;
    if (!targets) return;                       /* the run only needs the logits */
    for (ptrdiff_t r = s.first; r < s.first + s.count; r += n) {
        n = tfn__rows_alike(c, r, s.first + s.count, &counts);
        if (counts) {
            c->k->cross_entropy_forward(c->y + r, nll + r, stats + 2*r, c->x[0] + r*cols,
                                        targets + r, n, cols, c->n->number[0],
                                        c->n->arg[TFN__LOSS_KIND]);
        } else {
            TFNORM_MEMSET(c->y + r, 0, (size_t)n * sizeof *c->y);
            TFNORM_MEMSET(nll + r, 0, (size_t)n * sizeof *nll);
        }
    }
}
/* dlogits = dy (softmax - target), from the saved statistics. The rule in run.c handles padding. */
SHARED void tfn__loss_backward(const tfn__call *c)
{
    ptrdiff_t cols = c->x_cols[0];
    ptrdiff_t n;
    tfn__range s = tfn__slice(c->rows, tfn__loss_row_step(c), c->chunk);
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    bool counts;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r += n) {
        n = tfn__rows_alike(c, r, s.first + s.count, &counts);
        if (counts)
            c->k->cross_entropy_backward(c->dx[0] + r*cols, c->dy + r, c->saved + 2*r,
                                         c->x[0] + r*cols, targets + r, n, cols, c->n->number[0],
                                         c->n->arg[TFN__LOSS_KIND], c->add[0]);
    }
}

/* y = x in rows that have a target, and 0 in others; if `add`, y += x in rows that have a target.
 * The backward is the same map. */
static void tfn__pass_targets(const tfn__call *c, float *y, const float *x, bool add)
{
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    ptrdiff_t n;
    bool counts;
    for (ptrdiff_t r = 0; r < c->rows; r += n) {
        n = tfn__rows_alike(c, r, c->rows, &counts);
        for (ptrdiff_t i = r; i < r + n; i++) {
            const bool passes = counts && targets && targets[i] >= 0;
            if (!add) y[i] = 0;
            if (passes) y[i] += x[i];
        }
    }
}
SHARED void tfn__targets_forward(const tfn__call *c)
{
    tfn__pass_targets(c, c->y, c->x[0], false);
}
SHARED void tfn__targets_backward(const tfn__call *c)
{
    tfn__pass_targets(c, c->dx[0], c->dy, c->add[0]);
}

/* -- losses of numbers. in: x; number: delta --------------------------------------------------- */

/* Returns the loss of one number with the error e = x - t: e^2, or Huber's loss, which is linear
 * from |e| = delta on, so that the gradient of an outlier is limited. */
static double tfn__number_loss_of(const tfn_node *n, float e)
{
    const double delta = (double)n->number[0];
    const double size = e < 0 ? -(double)e : (double)e;
    if (n->arg[TFN__LOSS_KIND] == TFN_NUMBER_LOSS_SQUARED) return size * size;
    if (size <= delta) return size * size / 2;
    return delta * (size - delta / 2);
}
/* Returns its derivative: 2 e, or e limited to +-delta. */
static float tfn__number_slope(const tfn_node *n, float e)
{
    const float delta = n->number[0];
    if (n->arg[TFN__LOSS_KIND] == TFN_NUMBER_LOSS_SQUARED) return 2 * e;
    if (e > delta) return delta;
    if (e < -delta) return -delta;
    return e;
}

/* True if t is a target. NaN means that there is none. */
SHARED bool tfn__is_target(float t) { return t == t; }

/* The loss of a row is the sum of its losses in order, in double, then rounded. Rows are short. */
SHARED void tfn__numbers_forward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    const float *x = c->x[0];
    const float *targets = c->r->inputs[c->n->arg[TFN__LOSS_SLOT]];
    if (!targets) return;                       /* the run only needs the numbers */
    for (ptrdiff_t r = 0; r < c->rows; r++, x += cols, targets += cols) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < cols; j++)
            if (tfn__is_target(targets[j])) sum += tfn__number_loss_of(c->n, x[j] - targets[j]);
        c->y[r] = (float)sum;
    }
}
/* dx = dy * derivative, or 0 if there is no target. */
SHARED void tfn__numbers_backward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    const float *targets = c->r->inputs[c->n->arg[TFN__LOSS_SLOT]];
    for (ptrdiff_t i = 0; i < c->rows * cols; i++) {
        float d = 0;
        if (tfn__is_target(targets[i]))
            d = c->dy[i / cols] * tfn__number_slope(c->n, c->x[0][i] - targets[i]);
        tfn__store_or_add_one(c->dx[0] + i, d, c->add[0]);
    }
}

/* Returns the index of the largest number, the first of equals. */
SHARED int32_t tfn__largest(const float *x, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}
/* Returns log sum exp x, as x_i - log softmax(x)_i. That holds for every i; the largest x_i gives
 * the least rounding error. scratch (n). */
SHARED double tfn__log_sum(const tfn_kernels *k, float *scratch, const float *x, ptrdiff_t n)
{
    const int32_t best = tfn__largest(x, (int32_t)n);
    k->softmax_forward(scratch, x, 1, n);
    return (double)x[best] - tfn__log((double)scratch[best]);
}

/* y = log p of all words of an adaptive softmax (Grave 2017). in: the logits of the head, whose
 * last ones represent the tails, and the logits of each tail. A word of the head has log
 * p_head(word). A word of tail k has log p_head(tail k) + log p_tail(word). */
SHARED void tfn__words_op(const tfn__call *c)
{
    ptrdiff_t tails = (c->x[1] != NULL) + (c->x[2] != NULL);
    ptrdiff_t words = c->x_cols[0] - tails;                         /* in the head */
    tfn__range s = tfn__chunk_rows(c);
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++) {
        const float *head = c->x[0] + r*c->x_cols[0];
        float *y = c->y + r*c->cols;
        const double total = tfn__log_sum(c->k, y, head, c->x_cols[0]);
        for (ptrdiff_t v = 0; v < words; v++) y[v] = (float)((double)head[v] - total);
        y += words;
        for (ptrdiff_t k = 1; k <= tails; k++) {
            const float *tail = c->x[k] + r*c->x_cols[k];
            const ptrdiff_t n = c->x_cols[k];
            const double tail_sum = tfn__log_sum(c->k, y, tail, n);
            const double base = -total + ((double)head[words + k - 1] - tail_sum);
            for (ptrdiff_t v = 0; v < n; v++) y[v] = (float)((double)tail[v] + base);
            y += n;
        }
    }
}

/* -- probes and the user's own operations ---------------------------------------------------- */

/* Passes the value to the callback, which may only read it. So a run without probes has the same
 * bits. */
SHARED void tfn__probe_forward(const tfn__call *c)
{
    if (c->r->probe)
        c->r->probe(c->r->probe_user, c->n->arg[TFN__PROBE_ID], c->x[0], c->x_rows[0],
                    c->x_cols[0], false);
}
/* Returns the public part of a call, with the user's pointer. */
static tfn_custom_args tfn__custom_args_of(const tfn__call *c)
{
    tfn_custom_args a;
    a.user = tfn__custom_of(c->t, c->n)->user;
    a.y = c->y;
    a.dy = c->dy;
    a.rows = c->rows;
    a.cols = c->cols;
    for (int i = 0; i < TFN_INPUTS; i++) a.x[i] = c->x[i];
    TFNORM_MEMCPY(a.dx, c->dx, sizeof a.dx);
    TFNORM_MEMCPY(a.add, c->add, sizeof a.add);
    TFNORM_MEMCPY(a.x_rows, c->x_rows, sizeof a.x_rows);
    TFNORM_MEMCPY(a.x_cols, c->x_cols, sizeof a.x_cols);
    return a;
}
/* There is one chunk, so that the user's code is called by one thread at a time. */
SHARED void tfn__custom_forward(const tfn__call *c)
{
    tfn_custom_args a = tfn__custom_args_of(c);
    tfn__custom_of(c->t, c->n)->forward(&a);
}

/* Passes the gradient to the callback. On the timeline it comes after the last write to it. */
SHARED void tfn__probe_backward(const tfn__call *c)
{
    tfn_var x;
    x.id = c->n->in[0];
    if (!c->r->probe || !(c->t->nodes[x.id].flags & TFN__NEED)) return;
    c->r->probe(c->r->probe_user, c->n->arg[TFN__PROBE_ID], tfn_gradient(c->t, c->r, x),
                c->x_rows[0], c->x_cols[0], true);
}
/* The plan assumes that the user's backward reads all inputs and the output. It cannot save arrays
 * of its own. */
SHARED void tfn__custom_backward(const tfn__call *c)
{
    tfn_custom_args a = tfn__custom_args_of(c);
    tfn__custom_of(c->t, c->n)->backward(&a);
}
