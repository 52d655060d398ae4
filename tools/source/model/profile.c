#include "profile.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../kernels/packing.h"
#include "../tape/tape.h"
#include "../tape/op_linear.h"
#include "../tape/record.h"
#include "../tape/plan.h"
#include "resolve.h"
#include "builder.h"
#include "initial.h"
#include "fold.h"
#include "update.h"
#include "model.h"
#include "step.h"

TFN__SMALL

/* -- data-dependent initialization: forwards of the training tape with probes ---------------- */

/* LSUV changes one matrix at a time, in the order of the flat vector, until its output has variance
 * 1. Each try takes a forward. Admin needs one forward: when the probe of a skip is reached, its
 * scale is set from the variances of the branches before it, and the forward continues with that
 * scale. LSUV comes first in a model with both, because it changes what Admin measures. */

/* Returns the node that a probe watches. The callback gets the number of its rows, but not their
 * kind, which decides where padding is. */
static const tfn_node *tfn__probed_node(const tfn_tape *t, int32_t id)
{
    for (int32_t i = 1; i < t->count; i++)
        if (t->nodes[i].op == TFN__OP_PROBE && t->nodes[i].arg[TFN__PROBE_ID] == id)
            return t->nodes + t->nodes[i].in[0];
    return t->nodes;
}

/* Returns the sum of (x - mean)^power, power 1 or 2, over a value's rows without padding. *count is
 * the number of terms. */
static double tfn__sum_powers(const tfn_run *r, const tfn_node *n, const float *x, double mean,
                              int power, int64_t *count)
{
    const tfn_rows kind = (tfn_rows)n->rows;
    const bool sentences = tfn__padding_of(r, kind) != NULL;
    const ptrdiff_t rows = (ptrdiff_t)tfn__rows_at(n, r->batch, r->source, r->target);
    const ptrdiff_t pieces = sentences ? r->batch : 1;
    const ptrdiff_t each = rows / tfn__max(pieces, 1);
    double sum = 0;
    *count = 0;
    for (ptrdiff_t b = 0; b < pieces; b++) {
        const float *piece = x + b*each*n->cols;
        ptrdiff_t values = each * n->cols;
        if (sentences) values = tfn__counted_rows(r, kind, b) * n->cols;
        for (ptrdiff_t i = 0; i < values; i++) {
            const double d = (double)piece[i] - mean;
            if (power == 2) sum += d*d;
            else sum += d;
        }
        *count += values;
    }
    return sum;
}

/* Returns the variance of a probed value over its rows without padding; NaN if there are none. */
static double tfn__variance_of(const tfn_model *m, int32_t id, const float *x)
{
    const tfn_node *n = tfn__probed_node(&m->train, id);
    int64_t count;
    const double mean = tfn__sum_powers(&m->run, n, x, 0, 1, &count) / (double)count;
    return tfn__sum_powers(&m->run, n, x, mean, 2, &count) / (double)count;
}

typedef struct tfn__profile {
    tfn_model *m;
    double     ratio[3];               /* Admin: the running scale r of each stack */
    double     branch;                 /* Admin: Var(F) of the current branch */
    int32_t    target;                 /* LSUV: the weight whose output is measured */
    double     variance;               /* LSUV: the variance of that output */
    bool       refused;                /* a number was not finite */
    bool       watched;                /* the user's probe sees the last forward */
} tfn__profile;

/* Sets the scale of a skip to r. It also sets the rounded copy, which the current forward uses. */
static void tfn__set_profiled(tfn_model *m, const tfn__weight *w, float r)
{
    float *scale = tfn__weight_data(m, w);
    for (int32_t i = 0; i < w->cols; i++) scale[i] = r;
    if (m->desc.half && w->kind < TFN__STATE)
        tfn__copy_floats(m->run.params + w->at, scale, w->cols);
}

/* Admin (Liu 2020, section 4.3; the authors' code): sets w := r at once, so that the rest of the
 * forward uses it, then r := sqrt(Var(w x) + Var(F)). r starts at 1 in each stack. The branch is
 * probed before the skip. Variances exclude padding, which the authors' code includes. */
static void tfn__profile_probe(void *user, int32_t id, const float *data, ptrdiff_t rows,
                               ptrdiff_t cols, bool backward)
{
    tfn__profile *p = (tfn__profile *)user;
    const bool is_branch = id % 2 == 0;
    const tfn__weight *w;
    double variance;
    double *ratio;
    float r;
    if (p->watched && p->m->run.probe)
        p->m->run.probe(p->m->run.probe_user, id, data, rows, cols, backward);
    if (backward || id < TFN__PROFILE || id >= TFN__OUTPUTS) return;
    w = p->m->weights + (id - TFN__PROFILE) / 2;
    variance = tfn__variance_of(p->m, id, data);
    if (!tfn__finite(variance)) p->refused = true;
    if (is_branch) {
        p->branch = variance;
        return;
    }
    ratio = p->ratio + w->stack;
    r = (float)*ratio;
    if (!tfn__finite((double)r)) p->refused = true;
    tfn__set_profiled(p->m, w, r);
    *ratio = (double)TFN__SQRT((float)((double)r * (double)r * variance + p->branch));
}

/* LSUV: measures the variance of one output. */
static void tfn__output_probe(void *user, int32_t id, const float *data, ptrdiff_t rows,
                              ptrdiff_t cols, bool backward)
{
    tfn__profile *p = (tfn__profile *)user;
    (void)rows;
    (void)cols;
    if (backward || id != TFN__OUTPUTS + p->target) return;
    p->variance = tfn__variance_of(p->m, id, data);
}

/* Runs a forward of the training tape on the bound batch, with this probe instead of the user's.
 * Dropout is the same as in the first step. */
static void tfn__forward_probed(tfn__profile *p, tfn_probe_fn *probe)
{
    tfn_run r = p->m->run;
    r.probe = probe;
    r.probe_user = p;
    r.key = tfn__step_key(p->m, 0);
    tfn_tape_forward(&p->m->train, &r);
}

/* Divides the matrix of p->target by the standard deviation of its output, until the variance is
 * within 0.1 of 1, at most ten times. A variance of 0 changes nothing. Returns false if a variance
 * is not finite. */
static bool tfn__unit_output(tfn__profile *p)
{
    const tfn__weight *w = p->m->weights + p->target;
    float *data = tfn__weight_data(p->m, w);
    for (int tries = 0; tries < 10; tries++) {
        float variance;
        p->variance = 1;
        tfn__forward_probed(p, tfn__output_probe);
        variance = (float)p->variance;
        if (!tfn__finite((double)variance)) return false;
        if (!(variance > 0)) return true;
        if (p->variance > 0.9 && p->variance < 1.1) return true;
        for (int64_t i = 0; i < (int64_t)w->rows * w->cols; i++) data[i] /= TFN__SQRT(variance);
        tfn__refresh(p->m);
    }
    return true;
}

/* LSUV (Mishkin & Matas 2016): adjusts the matrices of linear maps in order, because each changes
 * the input of the next. */
static void tfn__unit_outputs(tfn__profile *p)
{
    for (p->target = 0; p->target < p->m->weight_count; p->target++) {
        const tfn__weight *w = p->m->weights + p->target;
        if (w->kind != TFN__MATRIX || tfn__is_table(w->part)) continue;
        if (!tfn__unit_output(p)) p->refused = true;
        if (p->refused) return;
    }
}

/* Profiles at the beginning of an update, which may still undo it. If a number is not finite,
 * restores everything and returns false. The user's probe sees only a profile that the user asked
 * for (`watched`); in a step it sees only the forward of the step. */
static bool tfn__open_profile(tfn_model *m, bool watched)
{
    tfn__profile p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.m = m;
    p.ratio[TFN__IN_ENCODER] = 1;
    p.ratio[TFN__IN_DECODER] = 1;
    p.watched = watched;
    m->profiled = true;
    m->profile_open = true;
    if (!tfn__needs_profile(m)) return true;
    tfn__copy_floats(tfn__params_before(m), m->params, m->param_floats);
    if (tfn__needs_unit_variance(&m->desc)) tfn__unit_outputs(&p);
    tfn__forward_probed(&p, tfn__profile_probe);
    tfn__fold_skips(m);
    if (!tfn__all_finite(m->params, m->param_floats + m->buffer_floats)) p.refused = true;
    if (p.refused) tfn__undo_update(m);
    return !p.refused;
}

/* True if a model was neither profiled nor trained. Only such a model profiles itself. */
static bool tfn__is_new(const tfn_model *m)
{
    return TFN__ALL && !m->profiled && !m->step && !m->micro;
}

/* Profiles a new model on a batch of the user's choice, and does nothing to others. Targets are
 * ignored and may be missing. */
TFNORM_API tfn_status tfn_model_profile(tfn_model *m, const tfn_batch *batch)
{
    tfn_status status;
    if (!TFN__TRAINS) return tfn__cannot_train(m);
    status = tfn__ready(m, batch, false);
    if (status != TFN_OK) return status;
    if (m->desc.inference) {
        tfn__unbind(&m->run);
        return tfn__fail(&m->error, TFN_NOT_READY, "model",
                         "a model made for inference cannot profile", 0, 0);
    }
    tfn__without_targets(&m->run);
    if (tfn__is_new(m)) {
        tfn__begin_update(m);
        if (!tfn__open_profile(m, true)) status = TFN_NOT_FINITE;
        tfn__close_profile(m);
    }
    tfn__unbind(&m->run);
    return status;
}

/* Returns an error for models that cannot train now. With averages in place of the weights, the
 * next call forgets the error (tfn__forgive). The error of a model for inference stays. */
static tfn_status tfn__check_trains(tfn_model *m)
{
    if (m->desc.inference)
        return tfn__fail(&m->error, TFN_NOT_READY, "model",
                         "a model made for inference cannot train", 0, 0);
    if (m->swapped)
        return tfn__fail(&m->error, TFN_BAD_BATCH, "model", "averages are in place of the weights: "
                         "tfn_model_swap_ema swaps them back", 0, 0);
    return TFN_OK;
}

/* Begins tfn_model_step and tfn_model_gradient. */
static tfn_status tfn__ready_to_train(tfn_model *m, const tfn_batch *batch)
{
    tfn_status status = tfn__ready(m, batch, true);
    if (status != TFN_OK) return status;
    status = tfn__check_trains(m);
    if (status != TFN_OK) tfn__unbind(&m->run);
    return status;
}

/* Computes the gradient of the bound batch, and returns its sums. If the loss is not finite, there
 * is no backward, because the update will be skipped. */
static tfn_sums tfn__gradient_of(tfn_model *m, int32_t shard, bool add)
{
    tfn_sums sums;
    if (!m->micro) tfn__begin_update(m);
    if (tfn__is_new(m)) {
        tfn__open_profile(m, false);
        tfn__refresh(m);
    }
    m->run.loss_scale = m->loss_scale;
    m->run.key = tfn__step_key(m, shard);
    m->run.accumulate = add;
    tfn_tape_forward(&m->train, &m->run);
    sums = tfn__sums_of(m, &m->train, m->train_loss);
    if (tfn__finite(sums.loss)) {
        tfn_tape_backward(&m->train, &m->run);
        tfn__keep_statistics(m);
    }
    tfn__add_sums(&m->sums, &sums);
    m->micro++;
    return sums;
}

/* Every call adds to the model's own sums. They are for a later tfn_model_step, for an update
 * without sums of the caller, and for a checkpoint in the middle of an update. */
TFNORM_API tfn_status tfn_model_gradient(tfn_model *m, const tfn_batch *batch, int32_t shard,
                                         bool add, tfn_sums *sums)
{
    tfn_sums these;
    tfn_status status;
    if (!TFN__TRAINS) return tfn__cannot_train(m);
    status = tfn__ready_to_train(m, batch);
    if (status != TFN_OK) return status;
    these = tfn__gradient_of(m, shard, add);
    tfn__unbind(&m->run);
    if (!sums) return TFN_OK;
    if (add) tfn__add_sums(sums, &these);
    else *sums = these;
    return TFN_OK;
}

/* The vector exists from the start, all 0. The padding between tensors should stay 0, because the
 * norm of the gradient includes it. */
TFNORM_API float *tfn_model_gradients(tfn_model *m, int64_t *floats)
{
    if (floats) *floats = 0;
    if (!m || !m->run.grads) return NULL;
    if (floats) *floats = m->trained_floats;
    return m->run.grads;
}

/* A negative rate would increase the loss, and one that is not finite would ruin every weight. */
TFNORM_API tfn_status tfn_model_update(tfn_model *m, const tfn_sums *sums, float rate,
                                       tfn_report *report)
{
    tfn_report unread;
    tfn_sums all;
    if (!TFN__TRAINS) return tfn__cannot_train(m);
    if (!m) return TFN_NULL;
    tfn__forgive(&m->error);
    tfn__made(&m->error, "model", m->weights);
    if (tfn__check_trains(m) != TFN_OK) return m->error.status;
    all = m->sums;
    if (sums) all = *sums;
    if (!tfn__finite((double)rate) || rate < 0)
        tfn__fail(&m->error, TFN_BAD_BATCH, "update", "the rate must be finite and >= 0", 0, 0);
    if (all.targets < 0)
        tfn__fail(&m->error, TFN_BAD_BATCH, "update", "sums of %d targets", all.targets, 0);
    if (m->error.status != TFN_OK) return m->error.status;
    if (!report) report = &unread;
    return tfn__finish_update(m, &all, rate, report);
}

static void tfn__exchange(float *a, float *b, int64_t floats)
{
    for (int64_t i = 0; i < floats; i++) {
        const float kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}
/* Swaps values in place, so that pointers of the user and of decoders stay valid. */
TFNORM_API tfn_status tfn_model_swap_ema(tfn_model *m)
{
    if (!TFN__TRAINS) return tfn__cannot_train(m);
    if (!m) return TFN_NULL;
    tfn__forgive(&m->error);
    tfn__made(&m->error, "model", m->weights);
    if (m->error.status != TFN_OK) return m->error.status;
    if (!m->averages)
        return tfn__fail(&m->error, TFN_BAD_BATCH, "model", "it has no averages: desc.ema is 0, or "
                         "it was made for inference", 0, 0);
    if (!m->step) return TFN_OK;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->line < 0) continue;
        tfn__exchange(m->params + w->at, m->averages + tfn__trained_at(w),
                      (int64_t)w->rows * w->cols);
    }
    m->swapped = !m->swapped;
    return TFN_OK;
}

/* The first micro-batch of an update stores its gradient, the others add theirs. The report covers
 * the whole update after the last micro-batch, and only the micro-batch after the others. */
TFNORM_API tfn_status tfn_model_step(tfn_model *m, const tfn_batch *batch, tfn_report *report)
{
    tfn_report unread;
    tfn_sums sums;
    tfn_status status;
    if (!TFN__TRAINS) return tfn__cannot_train(m);
    status = tfn__ready_to_train(m, batch);
    if (status != TFN_OK) return status;
    if (!report) report = &unread;
    sums = tfn__gradient_of(m, m->micro, m->micro > 0);
    tfn__unbind(&m->run);
    if (m->micro >= m->desc.micro_batches)
        return tfn__finish_update(m, &m->sums, tfn_model_rate(m), report);
    tfn__report(report, &sums, m->step);
    return TFN_OK;
}

/* Updates count from 1, so the next one is step + 1. */
TFNORM_API float tfn_model_rate(const tfn_model *m)
{
    if (!m) return (float)NAN;
    return tfn_schedule_at(&m->desc.schedule, m->step + 1, m->desc.width);
}

/* -- watching -------------------------------------------------------------------------------- */

/* Sets the probe of a model's or decoder's runs, if its tapes have probes (desc.probes). Plain
 * builds record none. */
SHARED tfn_status tfn__watch(tfn_run *r, tfn_error *e, const tfn_model_desc *d,
                             tfn_probe_fn *probe, void *user)
{
    if (e->status != TFN_OK && e->status != TFN_BAD_BATCH) return e->status;
    if (!TFN__ALL) return tfn__fail(e, TFN_UNSUPPORTED, "model", tfn__plain_only, 0, 0);
    if (!d->probes) return TFN_NOT_READY;
    r->probe = probe;
    r->probe_user = user;
    return TFN_OK;
}

TFNORM_API tfn_status tfn_model_watch(tfn_model *m, tfn_probe_fn *probe, void *user)
{
    if (!m) return TFN_NULL;
    tfn__made(&m->error, "model", m->weights);
    return tfn__watch(&m->run, &m->error, &m->desc, probe, user);
}

/* Decodes an id that tfn__point_at has made. */
TFNORM_API tfn_probe_info tfn_probe_of(int32_t id)
{
    tfn_probe_info info = { TFN_WATCH_NONE, TFN_SUBLAYER_SELF_ATTENTION, false, 0 };
    const int32_t point = id & ((1 << TFN__KIND_BIT) - 1);
    if (id < 1 || id >= TFN__PROFILE || point > TFN_WATCH_STACK) return info;
    info.point = (tfn_watched)point;
    info.kind = (tfn_sublayer)(id >> TFN__KIND_BIT & 7);
    info.decoder = id >> TFN__DECODER_BIT & 1;
    info.layer = id >> TFN__LAYER_BIT;
    return info;
}

/* -- parameters by name, hash ----------------------------------------------------------------- */

/* Describes weight i. `data`, `packed` and `grad` point into the model; `name` is a copy. */
TFNORM_API bool tfn_model_param(const tfn_model *m, int32_t i, tfn_param_info *info)
{
    const tfn__weight *w;
    tfn__text t;
    if (!m || !info) return false;
    t = tfn__text_in(info->name, sizeof info->name);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return false;
    if (i < 0 || i >= m->weight_count) return false;
    w = m->weights + i;
    tfn__weight_name(w, &t);
    tfn__end(&t);
    info->data = tfn__weight_data(m, w);
    info->weights = tfn__type_of(w);
    info->packed = NULL;
    info->bytes = 0;
    if (info->weights) {
        info->packed = info->data;
        info->bytes = (size_t)tfn__weight_floats(w) * sizeof(float);
        info->data = NULL;
    }
    info->grad = NULL;
    if (m->run.grads && w->line >= 0) info->grad = m->run.grads + tfn__trained_at(w);
    info->rows = w->rows;
    info->cols = w->cols;
    info->layer = w->layer;
    info->decay = tfn__decays(&m->desc, w);
    info->frozen = tfn__is_frozen(&m->desc, w);
    info->rate = tfn__rate_of(&m->desc, w);
    return true;
}

/* Hashes the bits of all weights and state in order, without padding. The order matters: the hash
 * changes if two weights swap places. */
TFNORM_API uint64_t tfn_model_hash(const tfn_model *m)
{
    uint64_t hash = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const float *data = tfn__weight_data(m, m->weights + i);
        for (int64_t j = 0; j < tfn__weight_floats(m->weights + i); j++) {
#ifdef TFN__DOUBLE
            uint64_t bits;
#else
            uint32_t bits;
#endif
            TFNORM_MEMCPY(&bits, data + j, sizeof bits);
#if TFN__PACKS
            bits = tfn__quant_bits(bits, p.weights);
#endif
            hash = tfn__mix(hash ^ bits) + UINT64_C(0x9e3779b97f4a7c15);
        }
    }
    return hash;
}
TFN__SMALL_END
