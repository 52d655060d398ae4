#include "update.h"
#include "../ground/ground.h"
#include "../kernels/losses.h"
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

/* The terms in a block of a flat sum. */
enum { TFN__SQUARE_BLOCK = 4096 };

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
    const tfn__state_rule rule = tfn__state_rule_of(d->optimizer);
    if (!TFN__TRAINS || !TFN__BY_TENSOR) return false;
    if (rule.matrices == TFN__MATRICES_HIDDEN) return tfn__is_hidden(w);
    return rule.matrices == TFN__MATRICES_ALL && w->kind == TFN__MATRIX;
}

/* Returns the floats that moment 0 or 1 keeps for a tensor, without padding. */
SHARED int64_t tfn__moment_of(const tfn_model_desc *d, const tfn__weight *w, int which)
{
    const tfn__state_rule rule = tfn__state_rule_of(d->optimizer);
    if (!TFN__TRAINS || d->inference || w->line < 0) return 0;
    return tfn__moment_floats(&rule, which, w->rows, w->cols, tfn__is_matrix_to(d, w), d->beta1);
}

/* Returns the blocks of an FP8 moment with `count` numbers. */
static int64_t tfn__moment_blocks(int64_t count)
{
    return (count + TFN__MOMENT_BLOCK - 1) / TFN__MOMENT_BLOCK;
}

/* Returns the bytes of a moment with `count` numbers, without padding. */
SHARED int64_t tfn__moment_bytes(const tfn_model_desc *d, int64_t count)
{
    if (TFN__PACKS && d->moment_type == TFN_MOMENT_TYPE_BF16) return 2 * count;
    if (TFN__PACKS && d->moment_type == TFN_MOMENT_TYPE_FP8)
        return tfn__moment_blocks(count) * (TFN__MOMENT_BLOCK + 1);
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

/* Returns the scratch of one thread in an update that works tensor by tensor. */
SHARED int64_t tfn__own_scratch(const tfn_model *m)
{
    int64_t most = 0;
    if (TFN__PACKS && m->desc.moment_type) most = 2 * TFN__MOMENT_PIECE;
    if (!TFN__BY_TENSOR) return most;
    if (tfn__state_rule_of(m->desc.optimizer).matrices == TFN__MATRICES_FLAT) return most;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        tfn_update_args u;
        TFNORM_MEMSET(&u, 0, sizeof u);
        u.optimizer = m->desc.optimizer;
        u.matrix = tfn__is_matrix_to(&m->desc, w);
        most = tfn__larger_of(most, m->kernels->update_work(w->rows, w->cols, &u));
    }
    return most;
}

/* Returns the most threads that share the update of a model. */
static int32_t tfn__most_updaters(const tfn_model *m)
{
    return tfn__sharers(m->desc.threads, m->trained_floats);
}
/* Returns the threads that share it after the last run. While the weights stay in the caches, a
 * thread updates those that it has read itself, so one thread does it if it did the backward. */
SHARED int32_t tfn__updaters(const tfn_model *m)
{
#ifdef TFN__TEAMS
    const bool cached = m->trained_floats < TFN__CACHED_WEIGHTS;
    if (cached && !TFN__ALWAYS_TEAMS && !tfn__team_pays(&m->train, &m->run)) return 1;
#endif
    return tfn__most_updaters(m);
}

/* Returns the blocks of the flat sum of the gradient's squares. */
static int64_t tfn__square_blocks(const tfn_model *m)
{
    return (m->trained_floats + TFN__SQUARE_BLOCK - 1) / TFN__SQUARE_BLOCK;
}

/* Returns the scratch of all threads in an update, or of the norm of the gradient. They use the
 * workspace, whose values are no longer needed then. */
SHARED int64_t tfn__update_scratch(const tfn_model *m)
{
    const int32_t threads = tfn__most_updaters(m);
    if (!TFN__TRAINS) return 0;
    if (threads < 2) return tfn__own_scratch(m);
    return tfn__larger_of(threads * tfn__padded(tfn__own_scratch(m)), tfn__square_blocks(m));
}

/* What all threads need for the norm of the gradient: room for the sum of each block. */
typedef struct tfn__squares_job {
    const tfn_model *m;
    float *blocks;
} tfn__squares_job;

static void tfn__squares_share(void *job, tfn__worker *self)
{
    const tfn__squares_job *j = (const tfn__squares_job *)job;
    const tfn_model *m = j->m;
    const ptrdiff_t n = (ptrdiff_t)m->trained_floats;
    tfn__range s;
    TFN__EACH_PART(self, s, n, TFN__PART_FLOATS)
        for (ptrdiff_t i = s.first; i < s.first + s.count; i += TFN__SQUARE_BLOCK) {
            const float *g = m->run.grads + i;
            j->blocks[i / TFN__SQUARE_BLOCK] = m->kernels->dot(g, g, tfn__min(n - i,
                                                                             TFN__SQUARE_BLOCK));
        }
}

/* Returns the sum of the squares of the gradient. Threads compute the sums of the blocks, and the
 * flat sum of these is the flat sum of all terms. */
SHARED float tfn__gradient_squares(tfn_model *m)
{
    const float *g = m->run.grads;
    tfn__squares_job job;
    if (tfn__updaters(m) < 2) return m->kernels->dot(g, g, (ptrdiff_t)m->trained_floats);
    job.m = m;
    job.blocks = m->run.work;
    tfn__share_model(m, tfn__squares_share, &job);
    return m->kernels->dot(job.blocks, NULL, (ptrdiff_t)tfn__square_blocks(m));
}

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
#if TFN__TRAINS
    tfn_update_at(&u, m->step + 1);
#endif
    return u;
}

/* What all threads need for an update. */
typedef struct tfn__update_job {
    tfn_model *m;
    float lr, grad_scale;
} tfn__update_job;

/* Returns p + i, or NULL if p is absent. */
static float *tfn__past(float *p, int64_t i)
{
    if (!p) return NULL;
    return p + i;
}

/* Updates n numbers, whose results do not depend on each other, part by part. */
static void tfn__update_parts(const tfn_model *m, tfn__worker *self, float *p, const float *g,
                              float *first, float *second, ptrdiff_t n, const tfn_update_args *u)
{
    tfn__range s;
    TFN__EACH_PART(self, s, n, TFN__PART_FLOATS)
        m->kernels->update(p + s.first, g + s.first, tfn__past(first, s.first),
                           tfn__past(second, s.first), s.count, u);
}

/* Updates one tensor. One that is a matrix to the optimizer is one part. Muon updates others number
 * by number. */
static void tfn__update_tensor_of(tfn_model *m, tfn__worker *self, const tfn__weight *w,
                                  float *first, float *second, const tfn_update_args *u)
{
    float *p = m->params + w->at;
    const float *g = m->run.grads + tfn__trained_at(w);
    tfn__range s;
    if (!u->matrix && u->optimizer == TFN_OPTIMIZER_MUON) {
        tfn__update_parts(m, self, p, g, first, second, (ptrdiff_t)w->rows * w->cols, u);
        return;
    }
    TFN__EACH_PART(self, s, 1, 1)
        m->kernels->update_tensor(p, g, first, second, w->rows, w->cols, u, self->work);
}

/* Updates all tensors that are matrices to the optimizer, or all others. The places of moments are
 * those of tfn__moment_at, computed along the way. */
static void tfn__update_tensors(const tfn__update_job *j, tfn__worker *self, bool matrices)
{
    tfn_model *m = j->m;
    const float lr = j->lr;
    int64_t first = 0;
    int64_t second = tfn__moment_at(m, 0, 1);
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const int64_t floats = tfn__moment_of(&m->desc, w, 0);
        const float rate = tfn__rate_of(&m->desc, w);
        tfn_update_args u;
        if (w->line < 0) continue;
        u = tfn__update_args_of(m, lr * rate, j->grad_scale);
        u.decay = tfn__decay_of(&m->desc, w);
        u.matrix = tfn__is_matrix_to(&m->desc, w);
        if (u.matrix == matrices)
            tfn__update_tensor_of(m, self, w, floats ? m->moments + first : NULL,
                                  m->moments + second, &u);
        first += tfn__padded(floats);
        second += tfn__padded(tfn__moment_of(&m->desc, w, 1));
    }
}
/* Matrices first, because they take longest, so that no thread is left with one at the end. */
static void tfn__update_by_tensor(void *job, tfn__worker *self)
{
    const tfn__update_job *j = (const tfn__update_job *)job;
    tfn__update_tensors(j, self, true);
    tfn__update_tensors(j, self, false);
}

/* Updates the flat vectors in runs of tensors with the same options, such as matrices, which have
 * weight decay, and others, which have none. The first moments are a flat vector, and the second
 * moments follow; an optimizer with fewer moments does not read them. */
static void tfn__update_flat(void *job, tfn__worker *self)
{
    const tfn__update_job *j = (const tfn__update_job *)job;
    tfn_model *m = j->m;
    const float lr = j->lr;
    float *first = m->moments;
    float *second = tfn__past(first, m->trained_floats);
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
        u = tfn__update_args_of(m, lr * tfn__rate_of(&m->desc, w), j->grad_scale);
        u.decay = tfn__decay_of(&m->desc, w);
        tfn__update_parts(m, self, m->params + w->at, m->run.grads + at, tfn__past(first, at),
                          tfn__past(second, at), (ptrdiff_t)(end - w->at), &u);
    }
}

#if TFN__PACKS
/* Updates a part of one tensor with packed moments. A weight's random numbers do not depend on
 * other weights. A part must begin at a multiple of TFN__MOMENT_PIECE. */
static void tfn__update_pieces(const tfn_model *m, const tfn__weight *w, tfn_packed_moments packed,
                               const tfn_update_args *u, tfn__range s, float *work)
{
    const ptrdiff_t bytes = s.first * (packed.type == TFN_MOMENT_TYPE_BF16 ? 2 : 1);
    for (int k = 0; k < 2; k++) {
        if (!packed.data[k]) continue;
        packed.data[k] = (uint8_t *)packed.data[k] + bytes;
        packed.exponents[k] += s.first / TFN__MOMENT_BLOCK;
    }
    packed.first += (uint64_t)s.first;
    m->kernels->update_packed(m->params + w->at + s.first,
                              m->run.grads + tfn__trained_at(w) + s.first, &packed, s.count, u,
                              work);
}

/* Sets the pointers to moment `which` of a tensor: n numbers, or 0 if the optimizer does not keep
 * it. FP8 exponents follow the codes. */
static void tfn__set_packed(tfn_packed_moments *packed, int which, float *data, ptrdiff_t n)
{
    packed->data[which] = NULL;
    packed->exponents[which] = NULL;
    if (n == 0) return;
    packed->data[which] = data;
    packed->exponents[which] = (uint8_t *)data + tfn__moment_blocks(n) * TFN__MOMENT_BLOCK;
}

/* Updates packed moments, tensor by tensor. */
static void tfn__update_small(void *job, tfn__worker *self)
{
    const tfn__update_job *j = (const tfn__update_job *)job;
    tfn_model *m = j->m;
    const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_make(m->desc.seed), 3),
                                     (uint64_t)m->step);
    int64_t place[2] = { 0, tfn__moment_at(m, 0, 1) };
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        tfn_update_args u;
        tfn_packed_moments packed;
        tfn__range s;
        if (w->line < 0) continue;
        packed.type = m->desc.moment_type;
        packed.key = key;
        packed.first = (uint64_t)w->at;
        for (int k = 0; k < 2; k++) {
            float *moments = m->moments;               /* NULL for SGD without momentum */
            if (moments) moments += place[k];
            tfn__set_packed(&packed, k, moments, (ptrdiff_t)tfn__moment_of(&m->desc, w, k));
            place[k] += tfn__moment_room(&m->desc, w, k);
        }
        u = tfn__update_args_of(m, j->lr * tfn__rate_of(&m->desc, w), j->grad_scale);
        u.decay = tfn__decay_of(&m->desc, w);
        TFN__EACH_PART(self, s, (ptrdiff_t)w->rows * w->cols, TFN__PART_FLOATS)
            tfn__update_pieces(m, w, packed, &u, s, self->work);
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

/* What all threads need to average: the factor of z, and beta1. */
typedef struct tfn__free_job {
    tfn_model *m;
    float c, beta1;
    bool  units;                        /* a rule changes x before y follows */
} tfn__free_job;

/* y = b1 x + (1-b1) z for a part of a weight. */
static void tfn__place_between(const tfn__free_job *j, const tfn__weight *w, tfn__range s)
{
    const tfn_model *m = j->m;
    const int64_t at = tfn__trained_at(w) + s.first;
    m->kernels->combine(m->params + w->at + s.first, m->averages + at, m->moments + at, s.count,
                        j->beta1, 1 - j->beta1, false);
}

/* x = (1-c) x + c z, and y if x stays. */
static void tfn__average_points(void *job, tfn__worker *self)
{
    const tfn__free_job *j = (const tfn__free_job *)job;
    const tfn_model *m = j->m;
    tfn__range s;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->line < 0) continue;
        TFN__EACH_PART(self, s, (ptrdiff_t)w->rows * w->cols, TFN__PART_FLOATS) {
            const int64_t at = tfn__trained_at(w) + s.first;
            float *x = m->averages + at;
            m->kernels->combine(x, x, m->moments + at, s.count, 1 - j->c, j->c, false);
            if (!j->units) tfn__place_between(j, w, s);
        }
    }
}
/* y after a rule has changed x. */
static void tfn__place_points(void *job, tfn__worker *self)
{
    const tfn__free_job *j = (const tfn__free_job *)job;
    tfn__range s;
    for (int32_t i = 0; i < j->m->weight_count; i++) {
        const tfn__weight *w = j->m->weights + i;
        if (w->line < 0) continue;
        TFN__EACH_PART(self, s, (ptrdiff_t)w->rows * w->cols, TFN__PART_FLOATS)
            tfn__place_between(j, w, s);
    }
}

/* x = (1-c) x + c z with c = step_size^2 / the sum of all so far, so that a warm-up counts little;
 * then y = b1 x + (1-b1) z. If a rule keeps weights at length 1, x is kept there, too. A rate of 0
 * changes nothing. */
static void tfn__average_free(tfn_model *m, float lr)
{
    const tfn_update_args u = tfn__update_args_of(m, lr, 1);
    const double square = (double)u.step_size * (double)u.step_size;
    tfn__free_job job;
    if (!(square > 0)) return;
    m->rate_squares += square;
    job.m = m;
    job.c = (float)(square / m->rate_squares);
    job.beta1 = u.beta1;
    job.units = tfn__unit_rule(m);
    tfn__share_model(m, tfn__average_points, &job);
    if (!job.units) return;
    tfn__unit_weights(m, false, true);
    tfn__share_model(m, tfn__place_points, &job);
}

/* Updates all parameters in the form that the optimizer's row requires. */
SHARED void tfn__update_all(tfn_model *m, float lr, float grad_scale)
{
    const tfn__state_rule rule = tfn__state_rule_of(m->desc.optimizer);
    const bool schedule_free = tfn__trains_by(&m->desc, TFN_OPTIMIZER_SCHEDULE_FREE);
    tfn__update_job job;
    job.m = m;
    job.lr = lr;
    job.grad_scale = grad_scale;
    if (schedule_free && !m->step) tfn__start_free(m);
#if TFN__PACKS
    if (m->desc.moment_type) {
        tfn__share_model(m, tfn__update_small, &job);
        return;
    }
#endif
    if (!TFN__BY_TENSOR || rule.matrices == TFN__MATRICES_FLAT)
        tfn__share_model(m, tfn__update_flat, &job);
    else tfn__share_model(m, tfn__update_by_tensor, &job);
    if (schedule_free) tfn__average_free(m, lr);
}
TFN__SMALL_END
