#include "update.h"
#include "../ground/ground.h"
#include "../kernels/optim.h"
#include "../tape/record.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "initial.h"

TFN__SMALL
/* An optimizer's pass over all parameters. What trains is a flat vector, and so are the gradients;
 * the moments are two more behind each other, or what the optimizer's row has instead:
 *
 *     FLAT                     runs of tensors that train alike, a call of the kernel for each
 *     FLAT, of fewer bits      tensors in pieces, whose moments become floats in the workspace
 *     others                   tensor by tensor, with a scratch in the workspace
 *
 * All three read the same constants (tfn__update_args_of), and differ in nothing but what they see
 * at once. The step around it, with clipping, averages and what is skipped, is the model's. */

/* The larger of two counts, which want 64 bits on small machines, too. */
SHARED int64_t tfn__larger_of(int64_t a, int64_t b)
{
    if (a > b) return a;
    return b;
}

/* Nothing may be copied from or to NULL, not even 0 floats. */
SHARED void tfn__copy_floats(float *to, const float *from, int64_t floats)
{
    if (floats > 0) TFNORM_MEMCPY(to, from, (size_t)floats * sizeof(float));
}

/* -- rates and decays of parameters ----------------------------------------------------------- */

/* Whether it has weight decay: as its group says, or by its kind. */
SHARED bool tfn__decays(const tfn_model_desc *d, const tfn__weight *w)
{
    const int group = tfn__own_group(w);
    float own = 0;
    if (group >= 0) own = d->groups[group].decay;
    if (own < 0) return false;
    if (w->kind == TFN__MATRIX || tfn__is_lora(w)) return true;
    return (d->decay_all || own > 0) && w->kind < TFN__STATE;
}

/* muP's factor of the rate. SGD moves what has one side of the width by its gradient, which is as
 * 1/width; Adam moves each number by as much, which a product over the width sums. */
static float tfn__mup_rate(const tfn_model_desc *d, const tfn__weight *w)
{
    const bool mixes = w->part == TFN__PART_MIX || w->part == TFN__PART_MEMORY_MIX;
    const bool number = (w->rows == 1 && w->cols == 1) || mixes;        /* no side of the width */
    const bool hidden = tfn__is_hidden(w);
    const bool sgd = d->optimizer == TFN_OPTIMIZER_SGD;
    if (tfn__is_lora(w)) return 1;
    if (sgd && !hidden && !number) return tfn__mup(d);
    if (!sgd && hidden) return 1 / tfn__mup(d);
    return 1;
}

/* The decay of a parameter, and its factor of the schedule's rate. muP leaves their product as it
 * is. */
static float tfn__decay_of(const tfn_model_desc *d, const tfn__weight *w)
{
    const int group = tfn__own_group(w);
    float decay = d->decay;
    if (!tfn__decays(d, w)) return 0;
    if (group >= 0) decay = tfn__positive_or(d->groups[group].decay, decay);
    return decay / tfn__mup_rate(d, w);
}
SHARED float tfn__rate_of(const tfn_model_desc *d, const tfn__weight *w)
{
    const float rate = tfn__mup_rate(d, w);
    const int group = tfn__own_group(w);
    if (group < 0) return rate;
    return rate * d->groups[group].rate;
}

/* -- where moments lie ------------------------------------------------------------------------ */

/* The optimizer sees this tensor as a matrix. To those that see hidden ones alone, embeddings and
 * what makes the logits are none: the direction of each word is its own (Jordan et al. 2024). */
static bool tfn__is_matrix_to(const tfn_model_desc *d, const tfn__weight *w)
{
#ifndef TFNORM_NO_TRAINING
    const tfn__state_rule rule = tfn__state_rule_of(d->optimizer);
    if (!TFN__BY_TENSOR) return false;
    if (rule.matrices == TFN__MATRICES_HIDDEN) return tfn__is_hidden(w);
    return rule.matrices == TFN__MATRICES_ALL && w->kind == TFN__MATRIX;
#else
    (void)d;
    (void)w;
    return false;
#endif
}

/* Floats that moment 0 or 1 keeps of a tensor, without padding. */
SHARED int64_t tfn__moment_of(const tfn_model_desc *d, const tfn__weight *w, int which)
{
#ifndef TFNORM_NO_TRAINING
    const tfn__state_rule rule = tfn__state_rule_of(d->optimizer);
    if (d->inference || w->line < 0) return 0;
    return tfn__moment_floats(&rule, which, w->rows, w->cols, tfn__is_matrix_to(d, w), d->beta1);
#else
    (void)d;
    (void)w;
    (void)which;
    return 0;
#endif
}

/* Bytes of so many numbers of a moment, without padding. */
SHARED int64_t tfn__moment_bytes(const tfn_model_desc *d, int64_t count)
{
#ifndef TFNORM_NO_TRAINING
    const int64_t blocks = (count + TFN__MOMENT_BLOCK - 1) / TFN__MOMENT_BLOCK;
    if (TFN__PACKS && d->moment_type == TFN_MOMENT_TYPE_BF16) return 2 * count;
    if (TFN__PACKS && d->moment_type == TFN_MOMENT_TYPE_FP8)
        return blocks * (TFN__MOMENT_BLOCK + 1);
#else
    (void)d;
#endif
    return count * (int64_t)sizeof(float);
}

/* Floats of the region that moment 0 or 1 of a tensor takes, padded as tensors are. */
static int64_t tfn__moment_room(const tfn_model_desc *d, const tfn__weight *w, int which)
{
    const int64_t size = (int64_t)sizeof(float);
    return tfn__padded((tfn__moment_bytes(d, tfn__moment_of(d, w, which)) + size - 1) / size);
}

/* Where moment 0 or 1 of tensor i lies among the moments: first those of all tensors, then the
 * second ones, each padded as tensors are. So where both are as long as the parameters, they are
 * two flat vectors. Of moment 1 and i = weight_count: the floats of all. */
SHARED int64_t tfn__moment_at(const tfn_model *m, int32_t i, int which)
{
    int64_t at = 0;
    for (int k = 0; k <= which; k++) {
        int32_t end = m->weight_count;
        if (k == which) end = i;
        for (int32_t j = 0; j < end; j++)
            at += tfn__moment_room(&m->desc, m->weights + j, k);
    }
    return at;
}

/* Floats of both moments of all tensors. */
SHARED int64_t tfn__moments_floats(const tfn_model *m)
{
    return tfn__moment_at(m, m->weight_count, 1);
}

/* The scratch of an update that sees tensors alone. It lies in the workspace, whose values nobody
 * needs any more when an update is made. */
SHARED int64_t tfn__update_scratch(const tfn_model *m)
{
    int64_t most = 0;
#ifndef TFNORM_NO_TRAINING
#ifdef TFN__QUANT
    if (m->desc.moment_type) most = 2 * TFN__MOMENT_PIECE;
#endif
    if (!TFN__BY_TENSOR) return most;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        tfn_update_args u;
        TFNORM_MEMSET(&u, 0, sizeof u);
        u.optimizer = m->desc.optimizer;
        u.matrix = tfn__is_matrix_to(&m->desc, w);
        most = tfn__larger_of(most, m->kernels->update_work(w->rows, w->cols, &u));
    }
#else
    (void)m;
#endif
    return most;
}

#ifndef TFNORM_NO_TRAINING
/* -- the passes ------------------------------------------------------------------------------- */

/* Two parameters train alike: with one decay and one rate, or not at all. */
static bool tfn__train_alike(const tfn_model_desc *d, const tfn__weight *a, const tfn__weight *b)
{
    const float decays[2] = { tfn__decay_of(d, a), tfn__decay_of(d, b) };
    const float rates[2] = { tfn__rate_of(d, a), tfn__rate_of(d, b) };
    if (decays[0] < decays[1] || decays[0] > decays[1]) return false;
    if (rates[0] < rates[1] || rates[0] > rates[1]) return false;
    return tfn__is_frozen(d, a) == tfn__is_frozen(d, b);
}

/* Past the last tensor after i that follows it and trains alike; state has no place in the flat
 * vector, and is like any. */
static int32_t tfn__alike_end(const tfn_model *m, int32_t i)
{
    const tfn__weight *first = m->weights + i;
    for (i++; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->kind < TFN__STATE && !tfn__train_alike(&m->desc, first, w)) break;
    }
    return i;
}

/* The numbers of one optimizer step, which is the same for all groups but in rate and decay. */
static tfn_update_args tfn__update_args_of(const tfn_model *m, float lr, float grad_scale)
{
    const tfn_model_desc *d = &m->desc;
    tfn_update_args u;
    TFNORM_MEMSET(&u, 0, sizeof u);
    u.optimizer = d->optimizer;
    u.radam = d->radam;
    u.lr = lr;
    u.beta1 = d->beta1;
    u.beta2 = d->beta2;
    u.eps = d->eps;
    u.grad_scale = grad_scale;
    u.clip_value = d->clip_value;
    u.matrix_rate = d->muon_rate;
    u.momentum = d->muon_momentum;
    u.relative = d->relative_rate;
    u.nesterov = d->nesterov;
    u.eps_inside = d->eps_inside;
    tfn_update_at(&u, m->step + 1);
    return u;
}

/* The update of optimizers that see each tensor alone. Each has its moments where tfn__moment_at
 * says, which is counted along. */
static void tfn__update_tensors(tfn_model *m, float lr, float grad_scale)
{
    int64_t first = 0;
    int64_t second = tfn__moment_at(m, 0, 1);
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const int64_t floats = tfn__moment_of(&m->desc, w, 0);
        const float rate = tfn__rate_of(&m->desc, w);
        tfn_update_args u;
        if (w->line < 0) continue;
        u = tfn__update_args_of(m, lr * rate, grad_scale);
        u.decay = tfn__decay_of(&m->desc, w);
        u.matrix = tfn__is_matrix_to(&m->desc, w);
        m->kernels->update_tensor(m->params + w->at, m->run.grads + tfn__trained_at(w),
                                  floats ? m->moments + first : NULL, m->moments + second,
                                  w->rows, w->cols, &u, m->run.work);
        first += tfn__padded(floats);
        second += tfn__padded(tfn__moment_of(&m->desc, w, 1));
    }
}

/* The optimizer is one loop over the flat vectors, a run of tensors at a time that train alike:
 * those with weight decay, as matrices have it, and those without. The first moment is a flat
 * vector of what trains, the second one behind it; an optimizer that keeps fewer does not read
 * them. */
static void tfn__update_flat(tfn_model *m, float lr, float grad_scale)
{
    float *first = m->moments;
    float *second = first ? first + m->trained_floats : NULL;
    int32_t next;
    for (int32_t i = 0; i < m->weight_count; i = next) {
        const tfn__weight *w = m->weights + i;
        const int64_t at = tfn__trained_at(w);
        int64_t end = m->param_floats;
        tfn_update_args u;
        next = i + 1;
        if (w->line < 0) continue;
        next = tfn__alike_end(m, i);
        if (next < m->weight_count) end = m->weights[next].at;
        u = tfn__update_args_of(m, lr * tfn__rate_of(&m->desc, w), grad_scale);
        u.decay = tfn__decay_of(&m->desc, w);
        m->kernels->update(m->params + w->at, m->run.grads + at, first ? first + at : NULL,
                           second ? second + at : NULL, (ptrdiff_t)(end - w->at), &u);
    }
}

#ifdef TFN__QUANT
/* Of one tensor: a piece of its moments becomes floats in the workspace, is updated, and goes back.
 * Each weight has its own draws, whatever else trains. */
static void tfn__update_pieces(const tfn_model *m, const tfn__weight *w, tfn__moment *moments,
                               tfn_key key, const tfn_update_args *u)
{
    const ptrdiff_t count = (ptrdiff_t)w->rows * w->cols;
    for (ptrdiff_t at = 0; at < count; at += TFN__MOMENT_PIECE) {
        const ptrdiff_t n = tfn__min(count - at, TFN__MOMENT_PIECE);
        float *wide[2] = { m->run.work, m->run.work + TFN__MOMENT_PIECE };
        for (int k = 0; k < 2; k++) {
            if (moments[k].count) tfn__moment_read(wide[k], moments + k, at, n);
            else wide[k] = NULL;
        }
        m->kernels->update(m->params + w->at + at, m->run.grads + tfn__trained_at(w) + at, wide[0],
                           wide[1], n, u);
        for (int k = 0; k < 2; k++)
            if (wide[k]) tfn__moment_write(wide[k], moments + k, at, n, key, (uint64_t)w->at);
    }
}

/* The update of moments of fewer bits, tensor by tensor. */
static void tfn__update_small(tfn_model *m, float lr, float grad_scale)
{
    const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_make(m->desc.seed), 3),
                                     (uint64_t)m->step);
    int64_t place[2] = { 0, tfn__moment_at(m, 0, 1) };
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        tfn_update_args u;
        tfn__moment moments[2];
        if (w->line < 0) continue;
        for (int k = 0; k < 2; k++) {
            moments[k].type = m->desc.moment_type;
            moments[k].which = k;
            moments[k].count = (ptrdiff_t)tfn__moment_of(&m->desc, w, k);
            moments[k].data = NULL;
            if (moments[k].count) moments[k].data = m->moments + place[k];
            place[k] += tfn__moment_room(&m->desc, w, k);
        }
        u = tfn__update_args_of(m, lr * tfn__rate_of(&m->desc, w), grad_scale);
        u.decay = tfn__decay_of(&m->desc, w);
        tfn__update_pieces(m, w, moments, key, &u);
    }
}
#endif

/* Schedule-free AdamW has three points (Defazio et al. 2024): z, which the optimizer moves, is the
 * first moment; x, the average of all z, the averages; and y between both, at which gradients are
 * taken, the parameters. All begin where the weights are. */
static void tfn__start_free(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const int64_t count = (int64_t)w->rows * w->cols;
        if (w->line < 0) continue;
        tfn__copy_floats(m->moments + tfn__trained_at(w), m->params + w->at, count);
        tfn__copy_floats(m->averages + tfn__trained_at(w), m->params + w->at, count);
    }
    m->rate_squares = 0;
}

/* x = (1-c) x + c z, c = step_size^2 / the sum of these so far, so that a warm-up counts little;
 * then y = b1 x + (1-b1) z. Where a rule keeps weights at length 1, it keeps x so. A rate of 0
 * moves nothing. */
static void tfn__average_free(tfn_model *m, float lr)
{
    const tfn_update_args u = tfn__update_args_of(m, lr, 1);
    const double square = (double)u.step_size * (double)u.step_size;
    float c;
    if (!(square > 0)) return;
    m->rate_squares += square;
    c = (float)(square / m->rate_squares);
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->line < 0) continue;
        const ptrdiff_t count = (ptrdiff_t)w->rows * w->cols;
        const float *z = m->moments + tfn__trained_at(w);
        float *x = m->averages + tfn__trained_at(w);
        float *y = m->params + w->at;
        m->kernels->combine(x, x, z, count, 1 - c, c, false);
        tfn__unit_weight(m, w, x);
        m->kernels->combine(y, x, z, count, u.beta1, 1 - u.beta1, false);
    }
}

/* The update of all parameters, in the form that the optimizer's row asks for. */
SHARED void tfn__update_all(tfn_model *m, float lr, float grad_scale)
{
    const tfn__state_rule rule = tfn__state_rule_of(m->desc.optimizer);
    const bool schedule_free = tfn__trains_by(&m->desc, TFN_OPTIMIZER_SCHEDULE_FREE);
    if (schedule_free && !m->step) tfn__start_free(m);
#ifdef TFN__QUANT
    if (m->desc.moment_type) {
        tfn__update_small(m, lr, grad_scale);
        return;
    }
#endif
    if (!TFN__BY_TENSOR || rule.matrices == TFN__MATRICES_FLAT)
        tfn__update_flat(m, lr, grad_scale);
    else tfn__update_tensors(m, lr, grad_scale);
    if (schedule_free) tfn__average_free(m, lr);
}
#endif
TFN__SMALL_END
