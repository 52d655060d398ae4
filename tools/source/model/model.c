#include "model.h"
#include "../ground/ground.h"
#include "../ground/tables.h"
#include "../tape/tape.h"
#include "../tape/record.h"
#include "../tape/plan.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "stacks.h"
#include "initial.h"
#include "update.h"

TFN__RARE
/* A model is one block of memory:
 *
 *     infer: its tape and plan | table of weights | train: its tape and plan      metadata
 *     parameters, state | rounded copy | gradients | moments | before | averages
 *     tables | workspace | ids
 *
 * The metadata need real memory even to size a model. Recording and planning a tape need more than
 * the tape keeps; that memory is released and the next pieces overlap it. The other lines are
 * regions of floats, 64-byte aligned. The caller may supply parameters, gradients, moments and
 * workspace. Models for inference have no gradients, moments, `before` or averages. Gradients,
 * moments and averages are in the order of the parameters, but only for those that train
 * (desc.groups). So a norm or an all-reduce is one loop, and an optimizer one loop per group. For
 * lengths of moments, see tfn__moment_at. tfn_model_size and tfn_model_init run the same code, the
 * first with an arena that only counts the floats.
 *
 * A step is a forward and backward of the tape `train` for each micro-batch, then one update; both
 * parts are public. Evaluation and logits run the tape `infer`, which has no backward and needs
 * less workspace. */

/* -- one block of memory ---------------------------------------------------------------------- */

/* Always false in builds without training, so that the compiler drops code for it. */
SHARED bool tfn__trains(const tfn_model_desc *d) { return TFN__TRAINS && !d->inference; }

/* Returns the positions of a source that a tape must hold. */
static int32_t tfn__source_capacity(const tfn_model_desc *d)
{
    if (!tfn__is_pair(d)) return 0;
    return d->source_context;
}

/* Returns the offset of the next piece of a block. */
static size_t tfn__next_piece(const tfn__arena *a)
{
    return a->used + ((0 - a->used) & (TFN__ALIGN - 1));
}

/* Rounds down to a multiple of 8. The size of a tape in a block is rounded like this, so that a
 * table of weights can grow down from its end; what a tape needs is rounded up. */
static size_t tfn__eights(size_t bytes)
{
    return bytes & ~(size_t)7;
}

/* Starts a tape in the rest of the block. The caller records, then calls tfn__tape_end, which plans
 * the tape and keeps only its nodes and their order. The next piece begins after them. */
SHARED void tfn__tape_begin(tfn_tape *t, const tfn__arena *a, int32_t batch, int32_t source,
                            int32_t target, bool training)
{
    const size_t start = tfn__next_piece(a);
    unsigned char *mem = a->base;
    size_t left = 0;
    if (start < a->size) {
        mem += start;
        left = tfn__eights(a->size - start);
    }
    tfn_tape_init(t, mem, left, batch, source, target, training);
}

/* Plans the tape. The peak records what planning needs beyond that, which the block must hold. */
SHARED tfn_status tfn__tape_end(tfn_tape *t, tfn__arena *a, const tfn_kernels *k,
                                const tfn_model_desc *d)
{
    const size_t start = tfn__next_piece(a);
    const tfn_status status = tfn_tape_plan(t, k, d->threads);
    size_t end;
    if (status != TFN_OK) return status;
    t->half = tfn__is_half(d);
    end = start + tfn__eights(t->peak + 7);
    if (end > a->peak) a->peak = end;
    a->used = start + tfn__order_end(t);
    return TFN_OK;
}

/* Connects the builder to a tape. The first tape creates weights at the end of its block. */
static void tfn__build_on(tfn__builder *b, tfn_tape *t)
{
    b->t = t;
    if (b->grows && t->nodes)
        b->weights = (tfn__weight *)(void *)((unsigned char *)t->nodes + t->size);
}

/* Moves the finished table of weights after that tape, in the order of the flat vector. A model for
 * decoders has dropped the tape, and the table replaces it. The old table at the end of the block
 * must not overlap the new one: tfn__take sees a smaller block, and the peak includes both. */
static void tfn__keep_weights(tfn_model *m, tfn__arena *a, tfn__builder *b)
{
    const size_t count = (size_t)b->count;
    const size_t bytes = count * sizeof *m->weights;
    void *table;
    if (m->error.status != TFN_OK) return;
    a->size -= bytes;
    table = tfn__take(a, count, sizeof *m->weights, &m->error);
    a->size += bytes;
    a->peak += tfn__eights(bytes + 7);
    if (!table) return;
    m->weights = (tfn__weight *)table;
    for (size_t i = 0; i < count; i++) m->weights[i] = b->weights[count - 1 - i];
    b->weights = m->weights;
    b->grows = false;
}

/* Records one of the two tapes: the whole model, for the largest batch that the options allow. */
static void tfn__record_model(tfn_model *m, tfn__arena *a, tfn__builder *b, tfn_tape *t,
                              bool training, tfn_var *logits, tfn_var *loss)
{
    const tfn_model_desc *d = &m->desc;
    if (m->error.status != TFN_OK) return;
    tfn__tape_begin(t, a, d->batch, tfn__source_capacity(d), d->context, training);
    t->tokens = d->batch_tokens;
    tfn__build_on(b, t);
    b->embedding = tfn__none;
    b->memory = tfn__none;
    *loss = tfn__build_model(b, logits);
    if (tfn__tape_end(t, a, m->kernels, d) != TFN_OK) m->error = t->error;
}

/* "no parameter is called decoder.*.nrom*; did you mean decoder.0.self.norm.weight?" */
static void tfn__no_match(tfn_model *m, const tfn_group *g)
{
    const char *what = "no parameter is called %s";
    tfn__nearest nearest = tfn__nearest_to(g->pattern);
    char name[sizeof ((tfn_param_info *)0)->name];
    char best[sizeof name];
    tfn__text t;
    if (!TFN__DETAILS) {
        tfn__fail_name(&m->error, TFN_NOT_FOUND, "model", what, g->pattern);
        return;
    }
    for (int32_t i = 0; i < m->weight_count; i++) {
        const int32_t distance = nearest.distance;
        if (g->rank > 0 && m->weights[i].kind != TFN__MATRIX) continue;
        t = tfn__text_in(name, sizeof name);
        tfn__weight_name(m->weights + i, &t);
        tfn__compare_name(&nearest, tfn__end(&t), best);
        if (nearest.distance < distance) TFNORM_MEMCPY(best, name, sizeof best);
    }
    if (g->rank > 0) what = "no linear map that can have LoRA is called %s";
    tfn__fail(&m->error, TFN_NOT_FOUND, "model", what, 0, 0);
    t = tfn__text_in(m->error.name, sizeof m->error.name);
    tfn__put(&t, g->pattern);
    if (nearest.name) tfn__put_texts(&t, "; did you mean ", nearest.name, "?");
    tfn__end(&t);
}

/* True if a group matches a weight: by its name, or for a group with a rank, by the name of its
 * matrix. */
static bool tfn__group_matches(const tfn_group *g, const tfn__weight *w)
{
    char name[sizeof ((tfn_param_info *)0)->name];
    tfn__text t = tfn__text_in(name, sizeof name);
    tfn__weight named = *w;
    if (g->rank > 0 && !tfn__is_lora(w)) return false;
    if (g->rank > 0) named.kind = TFN__MATRIX;
    tfn__weight_name(&named, &t);
    return tfn__name_matches(g->pattern, tfn__end(&t));
}

/* Reports a pattern that matches nothing, which is probably a typo. A pattern whose matches all
 * belong to later groups is fine. */
static void tfn__check_patterns(tfn_model *m)
{
    if (!TFN__GROUPS) return;
    for (int k = 0; k < TFN_MOST_GROUPS; k++) {
        const tfn_group *g = m->desc.groups + k;
        bool found = !g->pattern[0];
        for (int32_t i = 0; i < m->weight_count; i++)
            if (!found) found = tfn__group_matches(g, m->weights + i);
        if (!found && m->error.status == TFN_OK) tfn__no_match(m, g);
    }
}

/* Records a decoder that reads one token after another. */
static void tfn__build_decode(tfn__builder *b)
{
    b->decode = true;
    tfn__build_table(b);
    tfn__build_logits(b, tfn__build_stack(b, TFN__IN_DECODER));
}

/* Records a model that only decoders run. Its tape, recorded as a decoder records its own, serves
 * only to create the weights, and is dropped before the data are laid out: see memory.kept. Builds
 * with TFN__SENTENCES false have no operations for another tape. */
static void tfn__record_weights(tfn_model *m, tfn__arena *a, tfn__builder *b)
{
    tfn_tape *t = &m->infer;
    int64_t tables;
    tfn__tape_begin(t, a, 1, 0, m->desc.context, false);
    tfn__build_on(b, t);
    tfn__build_decode(b);
    m->error = t->error;
    a->peak = (size_t)t->count * sizeof(tfn_node);
    tables = t->tables;
    TFNORM_MEMSET(t, 0, sizeof *t);
    t->tables = tables;
}

/* Lays out the metadata: tapes and table of weights. The tape `infer` is recorded first and creates
 * the weights. `train` looks them up, and adds dropout and the probes of profiles. */
static void tfn__lay_metadata(tfn_model *m, tfn__arena *a)
{
    tfn__builder b;
    tfn_var logits;
    TFNORM_MEMSET(&b, 0, sizeof b);
    b.d = &m->desc;
    b.grows = true;
    if (tfn__only_decodes(&m->desc)) tfn__record_weights(m, a, &b);
    else tfn__record_model(m, a, &b, &m->infer, false, &m->logits, &m->loss);
    tfn__keep_weights(m, a, &b);
    if (m->error.status != TFN_OK) return;
    if (TFN__ALL) TFNORM_MEMCPY(m->outputs, b.outputs, sizeof m->outputs);
    if (tfn__trains(&m->desc))
        tfn__record_model(m, a, &b, &m->train, true, &logits, &m->train_loss);
    m->weight_count = b.count;
    m->param_floats = b.floats;
    m->buffer_floats = b.buffers;
    m->trained_floats = b.trained;
    if (m->error.status == TFN_OK && tfn__trains(&m->desc)) tfn__check_patterns(m);
}

/* True if training makes averages of the weights, for desc.ema or for its optimizer. */
SHARED bool tfn__averages(const tfn_model_desc *d)
{
    return d->ema > 0 || tfn__trains_by(d, TFN_OPTIMIZER_SCHEDULE_FREE);
}

/* Returns a region of floats: the caller's, or one in the block. *bytes counts only bytes of the
 * block. */
static float *tfn__region(tfn_model *m, tfn__arena *a, float *given, int64_t floats, size_t *bytes)
{
    const size_t count = tfn__count(floats);
    *bytes = 0;
    if (given) return given;
    *bytes = tfn__mul(count, sizeof(float));
    if (floats == 0) return NULL;
    return (float *)(void *)tfn__take(a, count, sizeof(float), &m->error);
}

/* True if a first batch sets some weights. The builder has recorded probes for that. */
SHARED bool tfn__needs_profile(const tfn_model *m)
{
    if (!TFN__ALL) return false;
    for (int32_t i = 1; i < m->train.count; i++) {
        const tfn_node *n = m->train.nodes + i;
        if (n->op == TFN__OP_PROBE && n->arg[0] >= TFN__PROFILE) return true;
    }
    return false;
}

/* A profile changes parameters before its update is known to be good, so they are copied. The copy
 * uses the moments, which are still 0 because no update was made. If they are missing or too short,
 * for example because some weights are frozen, the copy follows the one of the buffers in `before`.
 */
SHARED bool tfn__copy_in_moments(const tfn_model *m)
{
    return tfn__moments_floats(m) >= m->param_floats;
}

/* Returns the floats of m->before: the buffers, and the parameters if the moments do not hold them.
 */
static int64_t tfn__before_floats(const tfn_model *m)
{
    if (!tfn__trains(&m->desc)) return 0;
    if (!tfn__needs_profile(m) || tfn__copy_in_moments(m)) return m->buffer_floats;
    return m->buffer_floats + m->param_floats;
}

/* Lays out the data: regions of floats, which the size pass only counts. The two tapes share a
 * workspace because they never run at the same time. Half precision computes with a rounded copy of
 * the parameters; state is never rounded. */
static void tfn__lay_data(tfn_model *m, tfn__arena *a)
{
    const tfn_model_desc *d = &m->desc;
    const int64_t params = m->param_floats;
    const int64_t trained = m->trained_floats;
    int64_t work = m->infer.work;
    int64_t scratch = m->infer.scratch;
    m->memory.metadata = a->used;
    m->params = tfn__region(m, a, d->parameters, params + m->buffer_floats, &m->memory.parameters);
    if (m->params) m->run.buffers = m->params + params;
    m->run.params = m->params;
    if (tfn__is_half(d)) m->run.params = tfn__region(m, a, NULL, params, &m->memory.working);
    if (tfn__trains(d)) {
        work = tfn__larger_of(work, m->train.work);
        scratch = tfn__larger_of(scratch, m->train.scratch);
        work = tfn__larger_of(work, tfn__update_scratch(m));
        m->run.grads = tfn__region(m, a, d->gradients, trained, &m->memory.gradients);
        m->moments = tfn__region(m, a, d->moments, tfn__moments_floats(m), &m->memory.moments);
        m->before = tfn__region(m, a, NULL, tfn__before_floats(m), &m->memory.before);
        if (tfn__averages(d)) m->averages = tfn__region(m, a, NULL, trained, &m->memory.averages);
    }
    m->run.tables = tfn__region(m, a, NULL, m->infer.tables, &m->memory.tables);
    m->run.work = tfn__region(m, a, d->workspace, work, &m->memory.workspace);
    m->memory.scratch = (size_t)(scratch * d->threads) * sizeof(float);
    if (tfn__convolves(d)) m->lengths = tfn__take_ids(a, (size_t)d->batch, &m->error);
    if (tfn__clusters(d))                   /* at most 3 clusters, of tokens and of targets */
        m->words = tfn__take_ids(a, tfn__mul(6 * (size_t)d->batch, (size_t)d->context), &m->error);
}

/* Lays out a model, for both sizing (with counted data) and init. Returns the bytes of a block at
 * any address, including what aligning may cost, or 0 after an error, which is in m->error. */
static size_t tfn__lay_out(tfn_model *m, const tfn_model_desc *d, void *mem, size_t size, bool real)
{
    tfn__arena a = tfn__arena_in(mem, mem ? size : 0);
    TFNORM_MEMSET(m, 0, sizeof *m);
    if (!tfn_model_resolve(&m->desc, d, &m->error)) return 0;
    m->kernels = tfn_kernels_for(m->desc.isa);
    tfn__lay_metadata(m, &a);
    if (m->error.status != TFN_OK) return 0;
    if (!real) tfn__only_count(&a);
    tfn__lay_data(m, &a);
    if (m->error.status != TFN_OK) return 0;
    m->memory.total = a.used;
    m->memory.kept = a.used + TFN__ALIGN - 1;
    if (a.peak > a.used) m->memory.total = a.peak;
    return m->memory.total + TFN__ALIGN - 1;
}

/* The bytes that one tape of a model needs, and those of its weights. */
typedef struct tfn__tape_size { size_t kept, plan, weights; } tfn__tape_size;

/* Records the model on a tape that only counts. */
static tfn__tape_size tfn__count_tape(const tfn_model_desc *d, bool training)
{
    tfn__tape_size n;
    tfn__builder b;
    tfn_tape t;
    tfn_node node;
    tfn_var logits;
    TFNORM_MEMSET(&b, 0, sizeof b);
    tfn__tape_count(&t, &node, training);
    b.t = &t;
    b.d = d;
    b.grows = true;
    if (tfn__only_decodes(d)) tfn__build_decode(&b);
    else tfn__build_model(&b, &logits);
    n.kept = tfn__order_end(&t) + TFN__ALIGN;
    n.plan = tfn__plan_bytes(&t) + TFN__ALIGN;
    n.weights = (size_t)b.count * sizeof(tfn__weight) + TFN__ALIGN;
    return n;
}

/* Returns the largest of three needs, in the order of tfn__lay_metadata:
 *
 *     infer: nodes, timeline, items | weights, in the end of the block       the first plan
 *     infer: nodes, timeline | table of weights | weights                    the table turned round
 *     infer: nodes, timeline | table of weights | train: nodes, timeline, items
 *
 * Decoders are sized in this scratch, too. They record a tape for each stack but no weights, which
 * needs less. */
TFNORM_API size_t tfn_model_scratch(const tfn_model_desc *desc)
{
    tfn_model_desc d;
    tfn__tape_size n;
    size_t most;
    size_t kept;
    if (!tfn_model_resolve(&d, desc, NULL)) return 0;
    n = tfn__count_tape(&d, false);
    kept = n.kept + n.weights;
    most = kept + n.weights;
    if (n.plan + n.weights > most) most = n.plan + n.weights;
    if (tfn__trains(&d)) n = tfn__count_tape(&d, true);
    if (tfn__trains(&d) && kept + n.plan > most) most = kept + n.plan;
    return most + TFN__ALIGN;
}

TFNORM_API size_t tfn_model_size(const tfn_model_desc *desc, void *scratch, size_t scratch_size)
{
    tfn_model m;
    return tfn__lay_out(&m, desc, scratch, scratch_size, false);
}

/* Fills the rotations of layers with a window. They have their own base, and are never scaled. */
static void tfn__fill_window_table(tfn_model *m, ptrdiff_t rows)
{
    const int32_t size = tfn__head_size(&m->desc);
    tfn_model_desc d = m->desc;
    d.rotary_base = d.window_base;
    d.rotary_scaling = TFN_ROTARY_SCALING_NONE;
    tfn__rotary_table(m->run.tables + tfn__padded((int64_t)rows * size), rows, size, &d);
}

/* Fills the table of positions, sinusoids or rotations. Nothing changes it later. */
static void tfn__fill_table(tfn_model *m)
{
    const tfn_model_desc *d = &m->desc;
    const ptrdiff_t rows = tfn__max(d->context, d->source_context);
    if (!TFN__POSITION_TABLES) return;
    if (tfn__has_window_rotations(d)) tfn__fill_window_table(m, rows);
    if (tfn__is_alibi(d)) {
        tfn__alibi_table(m->run.tables, rows, d->heads);
        return;
    }
    if (tfn__is_position(d, TFN_POSITION_ROTARY))
        tfn__rotary_table(m->run.tables, rows, tfn__head_size(d), d);
    else if (m->infer.tables)
        tfn__sinusoid_table(m->run.tables, rows, tfn__embedded(d),
                            tfn__is_position(d, TFN_POSITION_SINUSOIDAL_FAIRSEQ));
}

/* Clears a region. A region that a model does not have is NULL. */
SHARED void tfn__clear(float *p, int64_t floats)
{
    if (p) TFNORM_MEMSET(p, 0, (size_t)floats * sizeof(float));
}

/* Sets parameters and state of a new model. Each weight draws from its own stream, keyed by its
 * number, so the order of drawing is free. Tensors are padded to 16 floats. The padding is 0 and
 * stays 0, so that sums over the flat vector may include it. */
static void tfn__init_weights(tfn_model *m)
{
    tfn__clear(m->params, m->param_floats + m->buffer_floats);
    for (int32_t i = 0; i < m->weight_count; i++)
        if (!tfn__type_of(m->weights + i))
            tfn__init_weight(m, i, tfn__weight_data(m, m->weights + i));
    tfn__unit_weights(m, true, false);
    if (TFN__ALL && TFN__TRAINS) tfn__start_sigma(m);
}

/* Lays out the model before comparing with the size of the block. Until then only metadata are
 * written, and these stay within the block. */
TFNORM_API tfn_status tfn_model_init(tfn_model *m, const tfn_model_desc *desc, void *mem,
                                     size_t size)
{
    size_t bytes;
    if (!m) return TFN_NULL;
    bytes = tfn__lay_out(m, desc, mem, size, true);
    if (m->error.status == TFN_OK && bytes > size)
        tfn__fail(&m->error, TFN_NO_MEMORY, "model", "the block has %d bytes, but %d are needed",
                  (int64_t)size, (int64_t)bytes);
    if (m->error.status != TFN_OK) return m->error.status;
    tfn__fill_table(m);
    if (TFN__ALL || TFN__TRAINS) m->loss_scale = m->desc.loss_scale;
    if (tfn__trains(&m->desc)) {
        tfn__clear(m->run.grads, m->trained_floats);
        tfn__clear(m->moments, tfn__moments_floats(m));
        if (m->averages) tfn__clear(m->averages, m->trained_floats);
    }
    /* parameters given for inference may be const, and have their values */
    if (m->desc.parameters && (m->desc.blank || !tfn__trains(&m->desc))) return TFN_OK;
    if (m->desc.blank) tfn__clear(m->params, m->param_floats + m->buffer_floats);
    else tfn__init_weights(m);
    return TFN_OK;
}

#if TFN__ALLOCATES
static void *tfn__malloc(size_t size, void *user)
{
    (void)user;
    return malloc(size);
}
static void tfn__free(void *mem, size_t size, void *user)
{
    (void)size;
    (void)user;
    free(mem);
}

/* Returns NULL for a size of 0, too, which is an error reported before. */
static void *tfn__allocate(tfn_model *m, const tfn_allocator *a, size_t size)
{
    void *mem;
    if (size == 0) return NULL;
    mem = a->allocate(size, a->user);
    if (!mem)
        tfn__fail(&m->error, TFN_NO_MEMORY, "model", "the allocator has no %d bytes",
                  (int64_t)size, 0);
    return mem;
}

/* Returns the bytes of the block, found with temporary scratch, or 0 after an error. */
static size_t tfn__allocated_size(tfn_model *m, const tfn_model_desc *desc, const tfn_allocator *a)
{
    const size_t scratch = tfn_model_scratch(desc);
    void *mem = tfn__allocate(m, a, scratch);
    size_t bytes;
    if (!mem) return 0;
    bytes = tfn__lay_out(m, desc, mem, scratch, false);
    a->release(mem, scratch, a->user);
    return bytes;
}

/* Sizes, allocates and initializes. m->mem is set last because tfn_model_init clears the model. If
 * init fails, the model keeps its block, which tfn_model_free releases. */
TFNORM_API tfn_status tfn_model_new(tfn_model *m, const tfn_model_desc *desc,
                                    const tfn_allocator *allocator)
{
    static const tfn_allocator standard = { tfn__malloc, tfn__free, NULL };
    const tfn_allocator a = allocator ? *allocator : standard;
    tfn_model_desc resolved;
    size_t bytes;
    void *mem;
    if (!m) return TFN_NULL;
    TFNORM_MEMSET(m, 0, sizeof *m);
    if (!tfn_model_resolve(&resolved, desc, &m->error)) return m->error.status;
    if (!a.allocate) tfn__given(&m->error, "model", "allocator.allocate", NULL);
    if (!a.release) tfn__given(&m->error, "model", "allocator.release", NULL);
    if (m->error.status != TFN_OK) return m->error.status;
    bytes = tfn__allocated_size(m, desc, &a);
    mem = tfn__allocate(m, &a, bytes);
    if (!mem) return m->error.status;
    tfn_model_init(m, desc, mem, bytes);
    m->mem = mem;
    m->mem_size = bytes;
    m->allocator = a;
    return m->error.status;
}

TFNORM_API void tfn_model_free(tfn_model *m)
{
    if (!m) return;
    if (m->mem) m->allocator.release(m->mem, m->mem_size, m->allocator.user);
    TFNORM_MEMSET(m, 0, sizeof *m);
    tfn__fail(&m->error, TFN_NOT_READY, "model", "the model was freed", 0, 0);
}
#endif
TFN__RARE_END
