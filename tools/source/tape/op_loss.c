#include "op_loss.h"
#include "../ground/math.h"
#include "op_linear.h"
#include "op_values.h"

/* Operations of the losses, of probes, and those that a program adds by tfn_custom. */

/* -- loss: -log p(target) of each row. in: logits; number: smoothing -------------------------- */

#ifndef TFNORM_NO_TRAINING
/* Chunks of the loss are cut by rows, anywhere in a sentence, and the kernel takes rows side by
 * side: the loops below go from one change between rows that count and padding to the next. */

/* The number of rows from r on, before end, that are alike: all count, or all are padding. */
static ptrdiff_t tfn__rows_alike(const tfn__call *c, ptrdiff_t r, ptrdiff_t end, bool *counts)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    ptrdiff_t time;
    ptrdiff_t stop;                     /* where in the sentence they end */
    *counts = true;
    if (!tfn__padding_of(c->r, rows)) return end - r;
    time = c->rows / tfn__max(c->r->batch, 1);
    stop = tfn__counted_rows(c->r, rows, r / time);
    *counts = r % time < stop;
    if (!*counts) stop = time;
    return tfn__min(end - r, stop - r % time);
}

/* Chunks of rows as wide as the vocabulary, although y has one column. */
static ptrdiff_t tfn__loss_row_step(const tfn__call *c)
{
    return tfn__row_step(c, c->rows, c->x_cols[0]);
}
/* The same for forward and backward. */
SHARED ptrdiff_t tfn__loss_chunks(const tfn__call *c)
{
    return tfn__pieces(c->rows, tfn__loss_row_step(c));
}

/* Padding has no targets, whatever the array holds there: its loss is 0. */
SHARED void tfn__loss_forward(const tfn__call *c)
{
    ptrdiff_t cols = c->x_cols[0];
    ptrdiff_t n;
    tfn__range s = tfn__slice(c->rows, tfn__loss_row_step(c), c->chunk);
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    float *stats = c->saved;
    float *nll = c->saved + 2*c->rows;
    bool counts;
    if (!targets) return;                       /* only the logits are wanted */
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
/* dlogits = dy (softmax - target), from the saved statistics; 0 for the padding. */
SHARED void tfn__loss_backward(const tfn__call *c)
{
    ptrdiff_t cols = c->x_cols[0];
    ptrdiff_t n;
    tfn__range s = tfn__slice(c->rows, tfn__loss_row_step(c), c->chunk);
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    bool counts;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r += n) {
        float *dx = c->dx[0] + r*cols;
        n = tfn__rows_alike(c, r, s.first + s.count, &counts);
        if (counts)
            c->k->cross_entropy_backward(dx, c->dy + r, c->saved + 2*r, c->x[0] + r*cols,
                                         targets + r, n, cols, c->n->number[0],
                                         c->n->arg[TFN__LOSS_KIND], c->add[0]);
        else if (!c->add[0]) TFNORM_MEMSET(dx, 0, (size_t)(n * cols) * sizeof *dx);
    }
}
#endif

#ifndef TFNORM_NO_TRAINING
/* y = x where a target counts, else 0, or with `add` nothing; the backward is the same map. */
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
#endif

#ifndef TFNORM_NO_TRAINING
/* -- losses of numbers. in: x; number: delta --------------------------------------------------- */

/* The loss of one number, e = x - t: e^2, or Huber's, which grows as |e| from delta on, so that a
 * target that is far off pulls no harder than one at delta. */
static double tfn__number_loss_of(const tfn_node *n, float e)
{
    const double delta = (double)n->number[0];
    const double size = e < 0 ? -(double)e : (double)e;
    if (n->arg[TFN__LOSS_KIND] == TFN_NUMBER_LOSS_SQUARED) return size * size;
    if (size <= delta) return size * size / 2;
    return delta * (size - delta / 2);
}
/* And its derivative: 2 e, or e within +-delta. */
static float tfn__number_slope(const tfn_node *n, float e)
{
    const float delta = n->number[0];
    if (n->arg[TFN__LOSS_KIND] == TFN_NUMBER_LOSS_SQUARED) return 2 * e;
    if (e > delta) return delta;
    if (e < -delta) return -delta;
    return e;
}

/* NaN means: no target. */
SHARED bool tfn__is_target(float t) { return t == t; }

/* The sum of a row, in double and in its order, then rounded: rows are short. */
SHARED void tfn__numbers_forward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    const float *x = c->x[0];
    const float *targets = c->r->inputs[c->n->arg[TFN__LOSS_SLOT]];
    if (!targets) return;                       /* only the numbers are wanted */
    for (ptrdiff_t r = 0; r < c->rows; r++, x += cols, targets += cols) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < cols; j++)
            if (tfn__is_target(targets[j])) sum += tfn__number_loss_of(c->n, x[j] - targets[j]);
        c->y[r] = (float)sum;
    }
}
/* dx = dy * slope; 0 where there is no target. */
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
#endif

/* The index of the largest, the first of equals. */
SHARED int32_t tfn__largest(const float *x, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}
/* log sum exp x = x_i - log softmax(x)_i for every i, of which the largest is the most exact;
 * scratch (n). */
SHARED double tfn__log_sum(const tfn_kernels *k, float *scratch, const float *x, ptrdiff_t n)
{
    const int32_t best = tfn__largest(x, (int32_t)n);
    k->softmax_forward(scratch, x, 1, n);
    return (double)x[best] - tfn__log((double)scratch[best]);
}

#ifdef TFN__EXTRA_NORMS
/* log p of all words of an adaptive softmax (Grave 2017). in: logits of the head, whose last ones
 * stand for the tails, and logits of each tail. A word of the head has log p_head(word), one of
 * tail k has log p_head(tail k) + log p_tail(word). */
SHARED void tfn__words_op(const tfn__call *c)
{
    ptrdiff_t tails = (c->x[1] != NULL) + (c->x[2] != NULL);
    ptrdiff_t words = c->x_cols[0] - tails;                         /* of the head */
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
#endif

/* -- probes and the user's own operations ---------------------------------------------------- */

/* Tell the callback the value. It may read, not write: a run without it has the same bits. */
SHARED void tfn__probe_forward(const tfn__call *c)
{
    if (c->r->probe)
        c->r->probe(c->r->probe_user, c->n->arg[TFN__PROBE_ID], c->x[0], c->x_rows[0],
                    c->x_cols[0], false);
}
/* The part of a call that is public, with the user's pointer. */
static tfn_custom_args tfn__custom_args_of(const tfn__call *c)
{
    tfn_custom_args a;
    TFNORM_MEMSET(&a, 0, sizeof a);
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
/* One chunk: the user's code is called by one thread at a time. */
SHARED void tfn__custom_forward(const tfn__call *c)
{
    tfn_custom_args a = tfn__custom_args_of(c);
    tfn__custom_of(c->t, c->n)->forward(&a);
}

#ifndef TFNORM_NO_TRAINING
/* Its place on the timeline is after the last write to the gradient that it watches. */
SHARED void tfn__probe_backward(const tfn__call *c)
{
    tfn_var x;
    x.id = c->n->in[0];
    if (!c->r->probe || !(c->t->nodes[x.id].flags & TFN__NEED)) return;
    c->r->probe(c->r->probe_user, c->n->arg[TFN__PROBE_ID], tfn_gradient(c->t, c->r, x),
                c->x_rows[0], c->x_cols[0], true);
}
/* The plan assumes that it reads its inputs and its output, and knows nothing of saved arrays. */
SHARED void tfn__custom_backward(const tfn__call *c)
{
    tfn_custom_args a = tfn__custom_args_of(c);
    tfn__custom_of(c->t, c->n)->backward(&a);
}
#endif
