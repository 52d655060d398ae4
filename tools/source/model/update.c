#include "update.h"
#include "../ground/ground.h"
#include "../kernels/optim.h"
#include "../tape/record.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "initial.h"

TFN__SMALL
/* Trained parameters are a flat vector, and so are their gradients. The optimizer's row decides
 * about moments and passes:
 *
 *     FLAT              one call of the kernel for each run of tensors with the same options
 *     FLAT, packed      tensors in pieces, with moments as floats in the workspace
 *     others            tensor by tensor, with scratch in the workspace
 *
 * All three read the same constants (tfn__update_args_of). */

/* Returns the larger of two 64-bit counts. */
SHARED int64_t tfn__larger_of(int64_t a, int64_t b)
{
    if (a > b) return a;
    return b;
}

/* Copies floats. memcpy must not get NULL, not even for 0 floats. */
SHARED void tfn__copy_floats(float *to, const float *from, int64_t floats)
{
    if (floats > 0) TFNORM_MEMCPY(to, from, (size_t)floats * sizeof(float));
}

/* -- rates and decays of parameters ----------------------------------------------------------- */

/* True if the weight has weight decay, by its group or else by its kind. */
SHARED bool tfn__decays(const tfn_model_desc *d, const tfn__weight *w)
{
    const int group = tfn__own_group(w);
    float own = 0;
    if (group >= 0) own = d->groups[group].decay;
    if (own < 0) return false;
    if (w->kind == TFN__MATRIX || tfn__is_lora(w)) return true;
    return (d->decay_all || own > 0) && w->kind < TFN__STATE;
}

/* Returns muP's factor of the rate. SGD moves a parameter with a side of the width by its gradient,
 * which is ~ 1/width. Adam moves each number by the same amount, and products over the width add
 * up. */
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

/* The decay of a parameter and its factor of the schedule's rate. muP does not change their
 * product. */
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

/* -- places of moments ----------------------------------------------------------------------- */

/* True if the optimizer treats this tensor as a matrix. An optimizer of hidden matrices treats
 * embeddings and output matrices as vectors, because each word has its own direction (Jordan et al.
 * 2024). */
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

/* Returns the floats that moment 0 or 1 keeps for a tensor, without padding. */
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

/* Returns the bytes of a moment with `count` numbers, without padding. */
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

/* Returns the floats of the region that moment 0 or 1 of a tensor takes, padded as tensors are. */
static int64_t tfn__moment_room(const tfn_model_desc *d, const tfn__weight *w, int which)
{
    const int64_t size = (int64_t)sizeof(float);
    return tfn__padded((tfn__moment_bytes(d, tfn__moment_of(d, w, which)) + size - 1) / size);
}

/* Returns the place of moment 0 or 1 of tensor i: first moments of all tensors come before second
 * ones, each padded as tensors are. If both are as long as the parameters, they are two flat
 * vectors. For moment 1 and i = weight_count, the result is the size of all. */
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

/* Returns the floats of both moments of all tensors. */
SHARED int64_t tfn__moments_floats(const tfn_model *m)
{
    return tfn__moment_at(m, m->weight_count, 1);
}

/* Returns the scratch of an update that works tensor by tensor. It uses the workspace, whose values
 * are no longer needed when an update is made. */
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

/* True if two parameters have the same decay and rate, and if both or neither are frozen. */
static bool tfn__train_alike(const tfn_model_desc *d, const tfn__weight *a, const tfn__weight *b)
{
    const float decays[2] = { tfn__decay_of(d, a), tfn__decay_of(d, b) };
    const float rates[2] = { tfn__rate_of(d, a), tfn__rate_of(d, b) };
    if (decays[0] < decays[1] || decays[0] > decays[1]) return false;
    if (rates[0] < rates[1] || rates[0] > rates[1]) return false;
    return tfn__is_frozen(d, a) == tfn__is_frozen(d, b);
}

/* Returns the end of the tensors from i on that have the same options. State is skipped, because it
 * has no place in the flat vector. */
static int32_t tfn__alike_end(const tfn_model *m, int32_t i)
{
    const tfn__weight *first = m->weights + i;
    for (i++; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->kind < TFN__STATE && !tfn__train_alike(&m->desc, first, w)) break;
    }
    return i;
}

/* Returns the arguments of one step; they are the same for all groups except rate and decay. */
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

/* Updates tensor by tensor. The places of moments are those of tfn__moment_at, computed along the
 * way. */
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

/* Updates the flat vectors in runs of tensors with the same options, such as matrices, which have
 * weight decay, and others, which have none. The first moments are a flat vector, and the second
 * moments follow; an optimizer with fewer moments does not read them. */
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
/* Updates one tensor with packed moments: each piece is unpacked into the workspace, updated, and
 * packed again. The random numbers of a weight do not depend on other weights. */
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

/* Updates packed moments, tensor by tensor. */
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

/* Starts schedule-free AdamW, which has three points (Defazio et al. 2024): z, which the optimizer
 * moves (the first moment); x, the average of all z (the averages); and y between them, where
 * gradients are taken (the parameters). All start at the weights. */
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

/* x = (1-c) x + c z with c = step_size^2 / the sum of all so far, so that a warm-up counts little;
 * then y = b1 x + (1-b1) z. If a rule keeps weights at length 1, x is kept there, too. A rate of 0
 * changes nothing. */
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

/* Updates all parameters in the form that the optimizer's row requires. */
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
