#include "step.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../kernels/blocks.h"
#include "../tape/tape.h"
#include "../tape/op_linear.h"
#include "../tape/op_loss.h"
#include "../tape/plan.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "stacks.h"
#include "initial.h"
#include "update.h"
#include "model.h"

TFN__SMALL

/* -- batches ---------------------------------------------------------------------------------- */

/* A batch is arrays of the caller: tokens (B, T), targets (B, T) or (B), lengths (B), the same for
 * a source, segments (B, T). Sentences are padded on the right. Padding is neither checked nor
 * computed. All ids are checked before a call changes anything, because they index tables. An error
 * of a batch (TFN_BAD_BATCH) affects only its call. The arrays are bound to the slots of the run
 * and forgotten when the call returns. */

/* Checks ids (batch, time), or only those within the lengths: each must be below `most`, and none
 * may be below 0 unless `ignored`. The error reports the first bad value. */
SHARED void tfn__check_ids(tfn_error *e, const char *text, const int32_t *ids, int32_t batch,
                           int32_t time, const int32_t *lengths, int32_t most, bool ignored)
{
    for (int32_t b = 0; b < batch; b++) {
        const int32_t *row = ids + (int64_t)b * time;
        const int32_t n = lengths ? lengths[b] : time;
        for (int32_t t = 0; t < n; t++)
            if (row[t] >= most || (row[t] < 0 && !ignored)) {
                tfn__fail(e, TFN_BAD_BATCH, "batch", text, row[t], most);
                return;
            }
    }
}

/* Checks that `time` is from 1 to `most`, and that no length exceeds it. */
SHARED void tfn__check_time(tfn_error *e, const char *text, int32_t time, int32_t most,
                            const int32_t *lengths, int32_t batch)
{
    if (time < 1 || time > most) tfn__fail(e, TFN_BAD_BATCH, "batch", text, time, most);
    if (e->status != TFN_OK || !lengths) return;
    for (int32_t b = 0; b < batch; b++)
        if (lengths[b] < 0 || lengths[b] > time)
            tfn__fail(e, TFN_BAD_BATCH, "batch", "a length is %d, the batch has %d positions",
                      lengths[b], time);
}

/* Returns the positions an encoder makes of `time` tokens or frames. Two convolutions of kernel 3
 * and stride 2 make n positions of 4 n + 3 frames. */
SHARED int32_t tfn__positions(const tfn_model_desc *d, int32_t time)
{
    if (!tfn__convolves(d)) return time;
    return (time - 3) / 4;
}

/* Returns the positions of the stack that has the targets, which may read frames. */
static int32_t tfn__target_positions(const tfn_model_desc *d, int32_t time)
{
    if (tfn__is_frames_only(d)) return tfn__positions(d, time);
    return time;
}

/* Checks frames (batch, time, bands). Any number is legal; at most `context` positions may result.
 */
static void tfn__check_frames(tfn_error *e, const tfn_model_desc *d, const float *frames,
                              int32_t time, int32_t context, const int32_t *lengths, int32_t batch)
{
    const bool convolves = tfn__convolves(d);
    if (!frames) tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no frames", 0, 0);
    if (convolves && time % 4 != 3)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "%d frames, but the number must be 4 n + 3", time, 0);
    if (convolves) context = 4 * context + 3;
    tfn__check_time(e, "there are %d frames, the limit is %d", time, context, lengths, batch);
}

/* Checks the input of the encoder of an encoder-decoder. */
SHARED void tfn__check_source(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    if (d->bands) {
        tfn__check_frames(e, d, x->frames, x->source_time, d->source_context, x->source_lengths,
                          x->batch);
        return;
    }
    if (!x->source)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "an encoder-decoder needs source tokens", 0, 0);
    tfn__check_time(e, "source time is %d, the limit is %d", x->source_time, d->source_context,
                    x->source_lengths, x->batch);
    if (e->status != TFN_OK) return;
    tfn__check_ids(e, "a source token is %d, the vocabulary has %d", x->source, x->batch,
                   x->source_time, x->source_lengths, d->vocab, false);
}

/* Returns the rows of a batch: of the target, or of the source if that has more. */
static int64_t tfn__batch_rows(const tfn_model_desc *d, const tfn_batch *x)
{
    const int64_t target = (int64_t)x->batch * tfn__target_positions(d, x->time);
    int64_t source;
    if (!tfn__is_pair(d) || x->source_time < 0) return tfn__larger_of(target, 0);
    source = (int64_t)x->batch * tfn__positions(d, x->source_time);
    return tfn__larger_of(source, target);
}

/* Checks that a batch fits the sizes the tapes were planned for. */
static void tfn__check_sizes_of(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    const int64_t rows = tfn__batch_rows(d, x);
    if (d->batch_tokens && rows > d->batch_tokens)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "%d tokens, the limit is %d", rows, d->batch_tokens);
    if (x->batch < 1 || x->batch > d->batch)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "%d sentences, the limit is %d", x->batch, d->batch);
}

/* Checks the input of the stack that gives the logits: tokens, or frames of an encoder. */
static void tfn__check_input(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    if (tfn__is_frames_only(d)) {
        tfn__check_frames(e, d, x->frames, x->time, d->context, x->lengths, x->batch);
        return;
    }
    if (!x->tokens) tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no tokens", 0, 0);
    tfn__check_time(e, "time is %d, the limit is %d", x->time, d->context, x->lengths, x->batch);
    if (e->status != TFN_OK) return;
    tfn__check_ids(e, "a token is %d, the vocabulary has %d", x->tokens, x->batch, x->time,
                   x->lengths, d->vocab, false);
}

/* Checks targets; a target below 0 is ignored. Heads of sentences have one target a sentence,
 * (batch), others one a position. Any number is legal. */
static void tfn__check_targets(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    const char *text = "a target is %d, there are %d classes";
    const int32_t time = tfn__target_positions(d, x->time);
    if (tfn__is_head(d, TFN_HEAD_NUMBERS)) return;
    if (tfn__is_head(d, TFN_HEAD_SEQUENCE)) {
        tfn__check_ids(e, text, x->targets, x->batch, 1, NULL, d->classes, true);
        return;
    }
    for (int32_t b = 0; b < x->batch; b++) {
        int32_t counted = time;
        if (x->lengths) counted = tfn__target_positions(d, x->lengths[b]);
        tfn__check_ids(e, text, x->targets + (ptrdiff_t)b * time, 1, counted, NULL,
                       tfn__logit_cols(d), true);
    }
}

/* Checks a batch before anything changes, so that the model stays usable after an error. Sizes are
 * checked first, because they say how many ids may be read. */
static bool tfn__check_batch(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x,
                             bool targets)
{
    tfn__check_sizes_of(e, d, x);
    if (targets && tfn__is_head(d, TFN_HEAD_NUMBERS) && !x->numbers)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no numbers to learn", 0, 0);
    if (targets && !tfn__is_head(d, TFN_HEAD_NUMBERS) && !x->targets)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no targets", 0, 0);
    if (e->status != TFN_OK) return false;
    tfn__check_input(e, d, x);
    if (e->status != TFN_OK) return false;
    if (tfn__is_pair(d)) tfn__check_source(e, d, x);
    if (e->status != TFN_OK) return false;
    if (targets) tfn__check_targets(e, d, x);
    if (x->segments)
        tfn__check_ids(e, "a segment is %d, there are %d", x->segments, x->batch, x->time,
                       x->lengths, d->segments, false);
    return e->status == TFN_OK;
}

/* Returns lengths in positions. Models of convolutions and decoders have room for a converted copy;
 * in others the caller's lengths already count positions. */
static const int32_t *tfn__lengths_in_positions(const tfn_model_desc *d, const int32_t *lengths,
                                                int32_t batch, int32_t *to)
{
    if (!to || !lengths) return lengths;
    for (int32_t b = 0; b < batch; b++) to[b] = tfn__positions(d, lengths[b]);
    return to;
}

/* Binds the caller's arrays to the slots that the builder's nodes read. `lengths` is room for
 * lengths of frames in positions, or NULL. */
SHARED void tfn__bind(tfn_run *r, const tfn_model_desc *d, const tfn_batch *x, int32_t *lengths)
{
    const int32_t *of_frames = x->source_lengths;
    int slot = TFN_INT_SOURCE_LENGTHS;
    r->batch = x->batch;
    r->target = tfn__target_positions(d, x->time);
    r->source = 0;
    if (tfn__is_pair(d)) r->source = tfn__positions(d, x->source_time);
    r->start = 0;
    r->skip_padding = true;
    r->ints[TFN_INT_TOKENS] = x->tokens;
    r->ints[TFN_INT_TARGETS] = x->targets;
    r->ints[TFN_INT_LENGTHS] = x->lengths;
    r->ints[TFN_INT_SOURCE] = x->source;
    r->ints[TFN_INT_SEGMENTS] = x->segments;
    r->inputs[TFN__FRAMES] = x->frames;
    r->inputs[TFN__NUMBERS] = x->numbers;
    if (tfn__is_frames_only(d)) {
        of_frames = x->lengths;
        slot = TFN_INT_LENGTHS;
    }
    r->ints[slot] = tfn__lengths_in_positions(d, of_frames, x->batch, lengths);
}

/* Forgets the caller's arrays, which may be freed after the call. */
SHARED void tfn__unbind(tfn_run *r)
{
    for (int i = 0; i < TFN_SLOTS; i++) {
        r->ints[i] = NULL;
        r->inputs[i] = NULL;
    }
}

/* Returns the number of a word in cluster k, or -1 if it belongs to another. As targets, the head
 * (cluster 0) also has one number for each other cluster, after its own words. */
static int32_t tfn__part_word(const tfn_model_desc *d, int32_t k, int32_t word, bool target)
{
    const int32_t low = tfn__cluster_at(d, k);
    const int32_t high = tfn__cluster_at(d, k + 1);
    if (word >= low && word < high) return word - low;
    if (!target || k > 0 || word < high) return -1;
    if (word < tfn__cluster_at(d, 2)) return high;
    return high + 1;
}

/* Writes n words as numbers of each cluster into `to` (clusters, n). Without ids the slots are
 * NULL. */
SHARED void tfn__part_words(tfn_run *r, const tfn_model_desc *d, int32_t *to, const int32_t *ids,
                            int64_t n, bool targets)
{
    int slot = TFN_INT_CLUSTERS;
    if (targets) slot = TFN_INT_CLUSTER_TARGETS;
    for (int32_t k = 0; k < tfn__clusters(d); k++, to += n) {
        r->ints[slot + k] = NULL;
        if (!ids) continue;
        for (int64_t i = 0; i < n; i++) to[i] = tfn__part_word(d, k, ids[i], targets);
        r->ints[slot + k] = to;
    }
}

/* Half precision computes with a rounded copy of the parameters. The model and each decoder have a
 * copy of their own and renew it when a call begins, so that weights may change in between, even
 * through a pointer of the user. */
SHARED void tfn__refresh_copy(const tfn_model *m, float *copy)
{
    if (!tfn__is_half(&m->desc)) return;
    TFNORM_MEMCPY(copy, m->params, (size_t)m->param_floats * sizeof(float));
    m->kernels->round_to_half(copy, (ptrdiff_t)m->param_floats);
}
SHARED void tfn__refresh(tfn_model *m) { tfn__refresh_copy(m, m->run.params); }

/* Binds tokens and targets by cluster, three arrays each. */
static void tfn__bind_words(tfn_model *m, const tfn_batch *x, bool targets)
{
    const int64_t n = (int64_t)x->batch * x->time;
    const int32_t *ids = targets ? x->targets : NULL;
    if (!tfn__clusters(&m->desc)) return;
    tfn__part_words(&m->run, &m->desc, m->words, x->tokens, n, false);
    tfn__part_words(&m->run, &m->desc, m->words + 3*n, ids, n, true);
}

/* Begins every call on a model with a batch: returns an error, or binds everything. An earlier
 * batch's error is cleared; an error of the model itself stays. */
SHARED tfn_status tfn__ready(tfn_model *m, const tfn_batch *x, bool targets)
{
    if (!m) return TFN_NULL;
    tfn__forgive(&m->error);
    tfn__made(&m->error, "model", m->weights);
    if (!x) tfn__fail(&m->error, TFN_BAD_BATCH, "batch", "the batch is NULL", 0, 0);
    if (tfn__only_decodes(&m->desc))
        tfn__fail(&m->error, TFN_BAD_BATCH, "model", "only_decoders is set", 0, 0);
    if (m->error.status != TFN_OK) return m->error.status;
    if (!tfn__check_batch(&m->error, &m->desc, x, targets)) return m->error.status;
    tfn__bind(&m->run, &m->desc, x, m->lengths);
    tfn__bind_words(m, x, targets);
    m->run.step = m->step;
    tfn__refresh(m);
    return TFN_OK;
}

/* Makes a run compute only logits: the loss node does nothing. */
SHARED void tfn__without_targets(tfn_run *r)
{
    r->ints[TFN_INT_TARGETS] = NULL;
    r->inputs[TFN__NUMBERS] = NULL;
}

/* Ignores the targets of the batch, which need not be valid. */
TFNORM_API const float *tfn_model_logits(tfn_model *m, const tfn_batch *batch)
{
    tfn_status status;
    if (tfn__ready(m, batch, false) != TFN_OK) return NULL;
    tfn__without_targets(&m->run);
    status = tfn_tape_forward(&m->infer, &m->run);
    tfn__unbind(&m->run);
    if (status != TFN_OK) return NULL;
    return tfn_value(&m->infer, &m->run, m->logits);
}

/* -- one step --------------------------------------------------------------------------------- */

/* One step of training is `micro_batches` gradients and an update, by calls of tfn_model_step or of
 * its public parts:
 *
 *     before the first     copy the running statistics; a new model profiles itself
 *     tfn__gradient_of     forward, sum of the loss, backward into the gradients (store or add)
 *     tfn__finish_update   norm of the gradient; update and loss scale, or undo
 *
 * The loss is a sum over targets. The update divides by their number once, so every target counts
 * the same, however the batches of a step share them. m->micro counts gradients since the last
 * update, and m->sums adds up their sums. */

/* Copies what changes before an update is complete. Each micro-batch changes the running
 * statistics; a profile at the first update also changes parameters. An update is made whole or not
 * at all. */
SHARED void tfn__begin_update(tfn_model *m)
{
    tfn__copy_floats(m->before, m->run.buffers, m->buffer_floats);
}

/* The place for the parameters that a profile changes. See tfn__copy_in_moments. */
SHARED float *tfn__params_before(const tfn_model *m)
{
    if (tfn__copy_in_moments(m)) return m->moments;
    return m->before + m->buffer_floats;
}

/* The result of the calls that train in a build without training. */
SHARED tfn_status tfn__cannot_train(tfn_model *m)
{
    if (!m) return TFN_NULL;
    return tfn__fail(&m->error, TFN_UNSUPPORTED, "model", "left out by TFNORM_NO_TRAINING", 0, 0);
}

/* Targets have a row for each position, or one for each sentence. */
static tfn_rows tfn__target_rows(const tfn_model *m)
{
    if (tfn__by_sentences(&m->desc)) return TFN_ROWS_BATCH;
    return TFN_ROWS_TARGET;
}
static ptrdiff_t tfn__targets_each(const tfn_model *m)
{
    if (tfn__by_sentences(&m->desc)) return 1;
    return m->run.target;
}

/* Counts the targets of a row: a class not below 0, or numbers that are not NaN. */
static int64_t tfn__targets_of_row(const tfn_model *m, ptrdiff_t row)
{
    const float *numbers = m->run.inputs[TFN__NUMBERS];
    const int32_t each = m->desc.numbers;
    int64_t count = 0;
    if (!tfn__is_head(&m->desc, TFN_HEAD_NUMBERS)) return m->run.ints[TFN_INT_TARGETS][row] >= 0;
    for (ptrdiff_t i = row * each; i < (row + 1) * each; i++) count += tfn__is_target(numbers[i]);
    return count;
}

/* Counts the targets of a batch, without padding and ignored ones. */
static int64_t tfn__count_targets(const tfn_model *m)
{
    const ptrdiff_t time = tfn__targets_each(m);
    int64_t count = 0;
    for (ptrdiff_t b = 0; b < m->run.batch; b++) {
        const ptrdiff_t counted = tfn__counted_rows(&m->run, tfn__target_rows(m), b);
        for (ptrdiff_t i = 0; i < counted; i++) count += tfn__targets_of_row(m, b*time + i);
    }
    return count;
}

/* Returns the flat sum of the values (rows) that have counted targets. Ignored values are skipped,
 * not added as zeros, so that no term moves to another lane. */
static double tfn__sum_targets(const tfn_model *m, const float *values)
{
    const ptrdiff_t time = tfn__targets_each(m);
    tfn__flat_sum sum;
    TFNORM_MEMSET(&sum, 0, sizeof sum);
    for (ptrdiff_t b = 0; b < m->run.batch; b++, values += time) {
        const ptrdiff_t counted = tfn__counted_rows(&m->run, tfn__target_rows(m), b);
        for (ptrdiff_t i = 0; i < counted; i++)
            if (tfn__targets_of_row(m, b*time + i)) tfn__flat_add(&sum, values + i, NULL, 1);
    }
    return (double)tfn__flat_total(&sum);
}

/* Returns the sums of the loss, with smoothing and without (nll). The loss node saves nll as the
 * third array of its rows. A sum over clusters of words is never smoothed. */
SHARED tfn_sums tfn__sums_of(const tfn_model *m, const tfn_tape *t, tfn_var loss)
{
    const tfn_node *n = t->nodes + loss.id;
    const ptrdiff_t rows = (ptrdiff_t)tfn__rows_at(n, m->run.batch, m->run.source, m->run.target);
    tfn_sums s;
    s.loss = tfn__sum_targets(m, m->run.work + n->value[0]);
    s.nll = s.loss;
    if (n->op == TFN__OP_LOSS) s.nll = tfn__sum_targets(m, m->run.work + n->saved[0] + 2*rows);
    s.targets = tfn__count_targets(m);
    return s;
}

/* Adds sums in the order of the calls: they are doubles, but order still shows in the last bits. */
SHARED void tfn__add_sums(tfn_sums *to, const tfn_sums *s)
{
    to->loss += s->loss;
    to->nll += s->nll;
    to->targets += s->targets;
}

/* True if x is neither infinite nor NaN: for these x - x is NaN. */
SHARED bool tfn__finite(double x) { return x - x >= 0; }

/* Turns sums over targets into means. Without targets the means are NaN, as 0 would look like a
 * perfect model. */
SHARED void tfn__report(tfn_report *r, const tfn_sums *sums, int64_t step)
{
    TFNORM_MEMSET(r, 0, sizeof *r);
    r->loss = r->nll = (double)NAN;
    if (sums->targets) {
        const double scale = 1.0 / (double)sums->targets;
        r->loss = sums->loss * scale;
        r->nll = sums->nll * scale;
    }
    r->tokens = sums->targets;
    r->step = step;
    r->culprit = -1;
}

/* Returns the loss of a batch without dropout. Norms over the batch use their running statistics.
 */
TFNORM_API tfn_status tfn_model_eval(tfn_model *m, const tfn_batch *batch, tfn_report *report)
{
    tfn_sums sums;
    tfn_report unread;
    tfn_status status;
    if (!TFN__TRAINS) return tfn__cannot_train(m);
    status = tfn__ready(m, batch, true);
    if (!report) report = &unread;
    if (status != TFN_OK) return status;
    status = tfn_tape_forward(&m->infer, &m->run);
    if (status == TFN_OK) {
        sums = tfn__sums_of(m, &m->infer, m->loss);
        tfn__report(report, &sums, m->step);
    }
    tfn__unbind(&m->run);
    return status;
}

/* Returns the first parameter whose gradient is not finite, or -1. */
static int32_t tfn__bad_gradient(const tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const float *g;
        if (w->line < 0) continue;
        g = m->run.grads + tfn__trained_at(w);
        if (!tfn__finite((double)m->kernels->dot(g, g, (ptrdiff_t)w->rows * w->cols))) return i;
    }
    return -1;
}

/* Returns the norm of the gradient of the mean loss. The stored gradient is the gradient of the
 * sum, times the loss scale. */
static float tfn__grad_norm(tfn_model *m, int64_t targets, int32_t *culprit)
{
    const double sum = (double)tfn__gradient_squares(m);
    *culprit = -1;
    if (tfn__finite(sum)) return TFN__SQRT((float)sum) / tfn__float_of(targets) / m->loss_scale;
    *culprit = tfn__bad_gradient(m);
    return (float)sum;
}

/* True if the running statistic at this place of the buffers is frozen. */
static bool tfn__statistic_stays(const tfn_model *m, int64_t at)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->kind >= TFN__STATE && w->at == at) return tfn__is_frozen(&m->desc, w);
    }
    return false;
}

/* Sets running statistics to the values of the last forward, unless they are frozen. The node saves
 * (4, C), of which the last two rows are the new values; a recomputed node has saved them
 * elsewhere. */
SHARED void tfn__keep_statistics(tfn_model *m)
{
    if (!TFN__ALL) return;
    for (int32_t i = 1; i < m->train.count; i++) {
        const tfn_node *n = m->train.nodes + i;
        const bool again = (n->flags & TFN__AGAIN) != 0;
        const int64_t saved = n->saved[again];
        const int64_t at = m->train.nodes[n->in[3]].value[0];
        if (n->op != TFN__OP_COLUMNS) continue;
        for (int64_t row = 0; row < 2; row++) {
            if (tfn__statistic_stays(m, at + row*n->cols)) continue;
            tfn__copy_floats(m->run.buffers + at + row*n->cols,
                             m->run.work + saved + (2 + row)*n->cols, n->cols);
        }
    }
}

/* Counts one more update of the weights, up to 2^24, because 2^24 + 1 is not a float. */
static void tfn__count_update(tfn_model *m)
{
    if (!TFN__ALL) return;
    for (int32_t i = 0; i < m->weight_count; i++)
        if (m->weights[i].kind == TFN__UPDATES) *tfn__weight_data(m, m->weights + i) += 1;
}

/* Dynamic loss scale (Micikevicius 2018, section 3.2; window and minimum of Liu 2020): halved after
 * a skipped update, doubled after 256 updates without a skip. Gradients are stored times the scale,
 * so that small ones do not become zeros in half precision. Below the minimum training has failed:
 * the step returns TFN_NOT_FINITE, and the scale stays at the minimum. */
static tfn_status tfn__rescale(tfn_model *m, bool skipped)
{
    const float least = (float)0.03125;
    const int32_t window = 256;
    if (!tfn__is_half(&m->desc)) return TFN_OK;
    if (skipped) {
        m->loss_scale *= (float)0.5;
    } else {
        m->finite_steps++;
        if (m->finite_steps < window) return TFN_OK;
        m->loss_scale *= 2;
    }
    m->finite_steps = 0;
    if (m->loss_scale >= least) return TFN_OK;
    m->loss_scale = least;
    return TFN_NOT_FINITE;
}

SHARED bool tfn__all_finite(const float *p, int64_t floats)
{
    for (int64_t i = 0; i < floats; i++)
        if (!tfn__finite((double)p[i])) return false;
    return true;
}

/* Accepts the profile: the moments become 0 again. */
SHARED void tfn__close_profile(tfn_model *m)
{
    if (m->profile_open && tfn__needs_profile(m) && tfn__copy_in_moments(m))
        tfn__clear(m->moments, m->param_floats);
    m->profile_open = false;
}

/* Restores the state before the update: statistics, and the parameters if its profile changed them.
 * Gradients are not restored because the next update stores new ones. */
SHARED void tfn__undo_update(tfn_model *m)
{
    tfn__copy_floats(m->run.buffers, m->before, m->buffer_floats);
    if (m->profile_open) {
        m->profiled = false;
        if (tfn__needs_profile(m))
            tfn__copy_floats(m->params, tfn__params_before(m), m->param_floats);
    }
    tfn__close_profile(m);
    tfn__refresh(m);
}

/* Returns the first running statistic that is not finite, or -1. */
static int32_t tfn__bad_statistic(const tfn_model *m)
{
    if (!TFN__ALL) return -1;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->kind < TFN__STATE) continue;
        if (!tfn__all_finite(tfn__weight_data(m, w), (int64_t)w->rows * w->cols)) return i;
    }
    return -1;
}

/* True if everything an update uses is finite and there are targets. A model that needs a profile
 * and has none by now failed to make it. */
static bool tfn__update_holds(tfn_model *m, const tfn_sums *sums, tfn_report *report)
{
    if (!tfn__finite(sums->loss)) return false;
    report->grad_norm = tfn__grad_norm(m, sums->targets, &report->culprit);
    if (!tfn__finite((double)report->grad_norm)) return false;
    report->culprit = tfn__bad_statistic(m);
    if (report->culprit >= 0) return false;
    if (!m->profiled && !m->step && tfn__needs_profile(m)) return false;
    return sums->targets > 0;
}

/* Updates the averages a of the weights w: a = d a + (1 - d) w with d = min(ema, (1 + t)/(10 + t))
 * after t earlier updates (Kingma & Ba 2015, section 7.2; warm-up of d as in TensorFlow's
 * tf.train.ExponentialMovingAverage). The first average is w. A run that is short beside 1/(1 -
 * ema) thus averages about its last tenth; a bias correction would average all of it, including the
 * start. If a rule keeps weights at length 1, averages are kept there, too. Frozen weights have no
 * average. Running statistics and sigmaReparam's u and v are not averaged. They belong to the
 * latest weights, which the averages are close to. */
static void tfn__average(void *job, tfn__worker *self)
{
    const tfn_model *m = (const tfn_model *)job;
    const float warm = (float)((double)(1 + m->step) / (double)(10 + m->step));
    float d = m->desc.ema;
    tfn__range s;
    if (warm < d) d = warm;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->line < 0) continue;
        TFN__EACH_PART(self, s, (ptrdiff_t)w->rows * w->cols, TFN__PART_FLOATS) {
            const float *p = m->params + w->at + s.first;
            float *a = m->averages + tfn__trained_at(w) + s.first;
            const ptrdiff_t count = s.count;
            if (m->step) m->kernels->combine(a, a, p, count, d, 1 - d, false);
            else tfn__copy_floats(a, p, count);
        }
    }
}

/* Clips, updates, and renormalizes weights if their rules say so. The gradient of the mean loss is
 * the stored one divided by the targets and the loss scale. Clipping limits its norm to `clip`. */
static void tfn__apply_update(tfn_model *m, const tfn_sums *sums, const tfn_report *report)
{
    const float scale = (float)(1.0 / (double)sums->targets) / m->loss_scale;
    float factor = 1;
    if (m->desc.clip > 0) factor = m->desc.clip / (report->grad_norm + (float)1e-6);
    if (!(factor < 1)) factor = 1;
    tfn__close_profile(m);
    tfn__update_all(m, report->lr, scale * factor);
    if (!m->desc.schedule.frozen) {
        tfn__unit_weights(m, false, false);
        tfn__follow_sigma(m);
    }
    if (m->averages && m->desc.ema > 0) {
        tfn__share_model(m, tfn__average, m);
        tfn__unit_weights(m, false, true);
    }
    tfn__count_update(m);
    m->step++;
}

/* Ends an update after all gradients are in: updates, or restores the state before. If the user
 * filled the vector without any call for a gradient, the update also begins here. */
SHARED tfn_status tfn__finish_update(tfn_model *m, const tfn_sums *sums, float rate,
                                     tfn_report *report)
{
    tfn_status status = TFN_OK;
    if (!m->micro) tfn__begin_update(m);
    tfn__report(report, sums, m->step);
    report->lr = rate;
    report->loss_scale = m->loss_scale;
    report->updated = tfn__update_holds(m, sums, report);
    report->skipped = !report->updated;
    if (report->updated) tfn__apply_update(m, sums, report);
    else tfn__undo_update(m);
    if (sums->targets) status = tfn__rescale(m, report->skipped);
    report->step = m->step;
    m->micro = 0;
    TFNORM_MEMSET(&m->sums, 0, sizeof m->sums);
    return status;
}

/* Returns the key of a forward's dropout from seed, step and shard. A resumed run draws the same
 * masks. */
SHARED tfn_key tfn__step_key(const tfn_model *m, int32_t shard)
{
    tfn_key key = tfn_key_fold(tfn_key_make(m->desc.seed), 2);
    key = tfn_key_fold(key, (uint64_t)m->step);
    return tfn_key_fold(key, (uint64_t)shard);
}
TFN__SMALL_END
