#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../ground/math.h"
#include "../kernels/strips.h"
#include "../tape/tape.h"
#include "../tape/op_linear.h"
#include "../tape/op_attention.h"
#include "../tape/record.h"
#include "../tape/plan.h"
#include "../tape/run.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "update.h"
#include "step.h"
#include "decoder.h"

TFN__SMALL
/* Hidden states, attention weights, and pooled vectors of sentences. Nothing is recorded or kept
 * for them: a call runs the tape for inference, or a decoder's, up to the node it needs. At that
 * node's entry, the workspace holds its inputs, and then its value. Later entries would overwrite
 * both, but the run ends there. Builds on step and decoder.
 *
 * A plain build has these functions, but they return an error. Builds on step and decoder. */

/* Returns 0 without a model. */
TFNORM_API int32_t tfn_model_channels(const tfn_model *m)
{
    if (!m || !m->weights) return 0;
    return tfn__stream(&m->desc);
}

/* In a plain build the builder does not record where the stacks end, which saves bytes on
 * microcontrollers. So all functions below return this error. */
static tfn_status tfn__no_reading(tfn_model *m)
{
    if (!m) return TFN_NULL;
    return tfn__fail(&m->error, TFN_UNSUPPORTED, "reading", tfn__plain_only, 0, 0);
}

/* -- nodes and stacks ------------------------------------------------------------------------ */

/* Returns the builder's number of a stack. If the model has no such stack, sets an error and
 * returns TFN__NO_STACK. The user may pass any number as the enumerator. */
static int tfn__stack_of(tfn_error *e, const tfn_model_desc *d, tfn_stack stack)
{
    tfn__spot at = tfn__last_stack(d);
    if (stack == TFN_STACK_ENCODER) at = tfn__spot_of_stack(TFN__IN_ENCODER);
    if (stack == TFN_STACK_DECODER) at = tfn__spot_of_stack(TFN__IN_DECODER);
    if ((unsigned)stack <= TFN_STACK_DECODER && tfn__has_stack(d, at))
        return at.stack;
    tfn__fail(e, TFN_BAD_BATCH, "reading", "the model has no stack %d", (int64_t)stack, 0);
    return TFN__NO_STACK;
}

/* Returns the node after `layers` layers of a stack. The builder marked the embedding and the
 * output of each layer, first in the encoder, then in the decoder. */
static int32_t tfn__hidden_node(const tfn_model *m, int stack, int32_t layers)
{
    const tfn_tape *t = &m->infer;
    int32_t before = layers;                    /* marked nodes before it */
    if (layers == TFN_LAYERS_ALL) return m->outputs[stack == TFN__IN_DECODER].id;
    if (stack == TFN__IN_DECODER && tfn__is_pair(&m->desc))
        before += m->desc.layers + 1;
    for (int32_t i = 1; i < t->count; i++) {
        if (!(t->nodes[i].flags & TFN__LAYER)) continue;
        if (before == 0) return i;
        before--;
    }
    return 0;
}

/* Returns the timeline entry of a node's forward. Leaves have none and are never asked for. */
static int32_t tfn__forward_entry(const tfn_tape *t, int32_t node)
{
    const int32_t wanted = tfn__timeline_entry(node, TFN__FORWARD);
    for (int32_t e = 0; e < t->forward_count; e++)
        if (t->order[e] == wanted) return e;
    return t->forward_count;
}

/* Copies a run without its probe. A user who reads and watches would otherwise see an incomplete
 * forward. */
static tfn_run tfn__unwatched(const tfn_run *r)
{
    tfn_run quiet = *r;
    quiet.probe = NULL;
    return quiet;
}

/* -- hidden states --------------------------------------------------------------------------- */

/* Checks the array of a result. Its size cannot be checked. */
static void tfn__check_result(tfn_error *e, const float *to)
{
    if (!to) tfn__fail(e, TFN_BAD_BATCH, "reading", "there is no array for the result", 0, 0);
}

/* Returns the layers of a stack, given by the builder's number. */
static int32_t tfn__stack_depth(const tfn_model *m, int stack)
{
    return tfn__depth(&m->desc, stack == TFN__IN_DECODER);
}

/* Checks and binds a batch. After TFN_OK it is bound, and *stack is the builder's number. */
static tfn_status tfn__begin_reading(tfn_model *m, const tfn_batch *batch, tfn_stack which,
                                     int *stack)
{
    tfn_status status = tfn__ready(m, batch, false);
    if (status != TFN_OK) return status;
    tfn__without_targets(&m->run);
    *stack = tfn__stack_of(&m->error, &m->desc, which);
    return TFN_OK;
}

/* Ends the checks of a call: unbinds the batch if one has failed. Such an error is cleared by the
 * next call. */
static tfn_status tfn__end_checks(tfn_model *m)
{
    if (m->error.status != TFN_OK) tfn__unbind(&m->run);
    return m->error.status;
}

/* Makes all checks of a call that reads hidden states after `layers` layers. */
static tfn_status tfn__begin_hidden(tfn_model *m, const tfn_batch *batch, tfn_stack which,
                                    int32_t layers, int *stack)
{
    tfn_status status = tfn__begin_reading(m, batch, which, stack);
    int32_t depth;
    if (status != TFN_OK) return status;
    depth = tfn__stack_depth(m, *stack);
    if (layers < TFN_LAYERS_ALL || layers > depth)
        tfn__fail(&m->error, TFN_BAD_BATCH, "reading", "after %d layers, the stack has %d", layers,
                  depth);
    return tfn__end_checks(m);
}

/* Runs from entry *e through the entry of a node, and returns the node's value. Threads share each
 * part like a whole run. */
static const float *tfn__run_to(const tfn_tape *t, const tfn_run *r, int32_t *e, int32_t node)
{
    const int32_t end = tfn__forward_entry(t, node) + 1;
    tfn_var x;
    if (*e < end) {
        tfn__run_entries(t, r, *e, end);
        *e = end;
    }
    x.id = node;
    return tfn_value(t, r, x);
}

/* Stops after the node, so the first layers cost only the first layers. The result points into the
 * workspace. */
TFNORM_API const float *tfn_model_hidden(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                         int32_t layers)
{
    const float *hidden;
    tfn_run r;
    int32_t e = 0;
    int at;
    if (!TFN__ALL) {
        tfn__no_reading(m);
        return NULL;
    }
    if (tfn__begin_hidden(m, batch, stack, layers, &at) != TFN_OK) return NULL;
    r = tfn__unwatched(&m->run);
    hidden = tfn__run_to(&m->infer, &r, &e, tfn__hidden_node(m, at, layers));
    tfn__unbind(&m->run);
    return hidden;
}

/* Copies the next value and returns the end of the copy. */
static float *tfn__copy_hidden(const tfn_model *m, const tfn_run *r, int32_t *e, int32_t node,
                               float *hidden)
{
    const tfn_node *n = m->infer.nodes + node;
    const int64_t floats = tfn__rows_at(n, r->batch, r->source, r->target) * n->cols;
    tfn__copy_floats(hidden, tfn__run_to(&m->infer, r, e, node), floats);
    return hidden + floats;
}

/* Copies each value before the run continues and may overwrite it. If the stack's output is the
 * output of the last layer, as in Post-LN, nothing is left to run, and the value is still there. */
TFNORM_API tfn_status tfn_model_hidden_all(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                           float *hidden)
{
    tfn_status status;
    tfn_run r;
    int32_t e = 0;
    int at;
    if (!TFN__ALL) return tfn__no_reading(m);
    status = tfn__begin_reading(m, batch, stack, &at);
    if (status != TFN_OK) return status;
    tfn__check_result(&m->error, hidden);
    if (tfn__end_checks(m) != TFN_OK) return m->error.status;
    r = tfn__unwatched(&m->run);
    for (int32_t l = 0; l <= tfn__stack_depth(m, at); l++)
        hidden = tfn__copy_hidden(m, &r, &e, tfn__hidden_node(m, at, l), hidden);
    tfn__copy_hidden(m, &r, &e, tfn__hidden_node(m, at, TFN_LAYERS_ALL), hidden);
    tfn__unbind(&m->run);
    return TFN_OK;
}

/* -- the logit lens -------------------------------------------------------------------------- */

/* Checks that the nodes after `last`, the end of the layers, read no other layer's value up to the
 * logits. `first` is the embedding; nodes before it are matrices. */
static void tfn__check_lens(tfn_error *e, const tfn_model *m, int32_t first, int32_t last)
{
    const tfn_tape *t = &m->infer;
    for (int32_t i = last + 1; i <= m->logits.id; i++) {
        for (int a = 0; a < TFN_INPUTS; a++) {
            const int32_t in = t->nodes[i].in[a];
            if (in < first || in >= last) continue;
            tfn__fail(e, TFN_BAD_BATCH, "reading",
                      "the output is made of several layers, which no lens shows", 0, 0);
        }
    }
}

/* The arrays may overlap. */
static void tfn__move_floats(float *to, const float *from, int64_t floats)
{
    if (to < from)
        for (int64_t i = 0; i < floats; i++) to[i] = from[i];
    if (to > from)
        for (int64_t i = floats - 1; i >= 0; i--) to[i] = from[i];
}

/* Skips layers: the value of the chosen node replaces the value of the last layer, and the run
 * continues from there. */
TFNORM_API const float *tfn_model_lens(tfn_model *m, const tfn_batch *batch, int32_t layers)
{
    const tfn_node *n;
    const float *x;
    tfn_var last;
    int32_t node;
    tfn_run r;
    int32_t e = 0;
    int at;
    if (!TFN__ALL) {
        tfn__no_reading(m);
        return NULL;
    }
    if (tfn__begin_hidden(m, batch, TFN_STACK_LAST, layers, &at) != TFN_OK) return NULL;
    last.id = tfn__hidden_node(m, at, tfn__stack_depth(m, at));
    tfn__check_lens(&m->error, m, tfn__hidden_node(m, at, 0), last.id);
    if (tfn__end_checks(m) != TFN_OK) return NULL;

    r = tfn__unwatched(&m->run);
    node = last.id;
    if (layers != TFN_LAYERS_ALL) node = tfn__hidden_node(m, at, layers);
    n = m->infer.nodes + node;
    x = tfn__run_to(&m->infer, &r, &e, node);
    tfn__move_floats(tfn_value(&m->infer, &r, last), x,
                     tfn__rows_at(n, r.batch, r.source, r.target) * n->cols);
    e = tfn__forward_entry(&m->infer, last.id) + 1;
    x = tfn__run_to(&m->infer, &r, &e, m->logits.id);
    tfn__unbind(&m->run);
    return x;
}

/* -- pooling: a vector of each sentence ------------------------------------------------------ */

/* Writes y (cols): the mean of n rows of x, the first row or the last; 0 without rows. Sums add the
 * rows in order, as all sums over rows do. */
static void tfn__pool_rows(float *y, const float *x, ptrdiff_t n, ptrdiff_t cols, tfn_pool pool)
{
    const ptrdiff_t last = (n - 1) * cols;
    TFNORM_MEMSET(y, 0, (size_t)cols * sizeof *y);
    if (n <= 0) return;
    if (pool == TFN_POOL_FIRST) {
        tfn__copy_floats(y, x, cols);
        return;
    }
    if (pool == TFN_POOL_LAST) {
        tfn__copy_floats(y, x + last, cols);
        return;
    }
    for (ptrdiff_t r = 0; r < n; r++)
        for (ptrdiff_t c = 0; c < cols; c++) y[c] += x[r*cols + c];
    for (ptrdiff_t c = 0; c < cols; c++) y[c] /= (float)n;
}

/* Divides y by its length, or by 1e-12 if that is larger, as in PyTorch's normalize. A vector of
 * zeros stays 0, and cosines are dot products. */
static void tfn__to_unit_length(const tfn_kernels *k, float *y, ptrdiff_t cols)
{
    const float least = (float)1e-12;
    float length = TFN__SQRT(k->dot(y, y, cols));
    if (length < least) length = least;
    for (ptrdiff_t c = 0; c < cols; c++) y[c] /= length;
}

/* Reads the hidden states in the workspace, without a copy. A sentence has `time` consecutive rows,
 * of which the first `counted` are not padding. For frames these are positions after the
 * convolutions. */
TFNORM_API tfn_status tfn_model_pool(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                     int32_t layers, tfn_pool pool, bool unit, float *vectors)
{
    tfn_status status;
    const tfn_node *n;
    const float *x;
    int32_t node;
    tfn_run r;
    int32_t e = 0;
    int at;
    if (!TFN__ALL) return tfn__no_reading(m);
    status = tfn__begin_hidden(m, batch, stack, layers, &at);
    if (status != TFN_OK) return status;
    tfn__check_result(&m->error, vectors);
    if ((unsigned)pool >= TFN_POOL_COUNT)
        tfn__fail(&m->error, TFN_BAD_BATCH, "reading", "pool %d, there are %d", (int64_t)pool,
                  TFN_POOL_COUNT);
    if (tfn__end_checks(m) != TFN_OK) return m->error.status;

    r = tfn__unwatched(&m->run);
    node = tfn__hidden_node(m, at, layers);
    n = m->infer.nodes + node;
    x = tfn__run_to(&m->infer, &r, &e, node);
    for (ptrdiff_t b = 0; b < r.batch; b++) {
        const ptrdiff_t time = (ptrdiff_t)tfn__rows_at(n, 1, r.source, r.target);
        const ptrdiff_t counted = tfn__counted_rows(&r, (tfn_rows)n->rows, b);
        float *y = vectors + b*n->cols;
        tfn__pool_rows(y, x + b*time*n->cols, counted, n->cols, pool);
        if (unit) tfn__to_unit_length(m->kernels, y, n->cols);
    }
    tfn__unbind(&m->run);
    return TFN_OK;
}

/* -- attention of a batch -------------------------------------------------------------------- */

/* Checks layer, kind, head and array. Only the decoder of an encoder-decoder has a memory to attend
 * to. */
static void tfn__check_attention(tfn_error *e, const tfn_model *m, int stack, int32_t layer,
                                 tfn_sublayer kind, int32_t head, const float *weights)
{
    const bool crosses = stack == TFN__IN_DECODER && tfn__is_pair(&m->desc);
    tfn__check_result(e, weights);
    if (layer < 0 || layer >= tfn__stack_depth(m, stack))
        tfn__fail(e, TFN_BAD_BATCH, "reading", "layer %d, the stack has %d", layer,
                  tfn__stack_depth(m, stack));
    if (kind != TFN_SUBLAYER_SELF_ATTENTION && !(crosses && kind == TFN_SUBLAYER_CROSS_ATTENTION))
        tfn__fail(e, TFN_BAD_BATCH, "reading", "the stack has no attention of kind %d",
                  (int64_t)kind, 0);
    if (head >= m->desc.heads)
        tfn__fail(e, TFN_BAD_BATCH, "reading", "head %d, there are %d", head, m->desc.heads);
}

/* Returns the number of attentions before this one in its stack, in the order of recording. A
 * decoder with cross-attention has two a layer, self-attention first. */
static int32_t tfn__attentions_before(const tfn_model *m, int stack, int32_t layer,
                                      tfn_sublayer kind)
{
    if (stack == TFN__IN_ENCODER || tfn__is_decoder_only(&m->desc)) return layer;
    return 2*layer + (kind == TFN_SUBLAYER_CROSS_ATTENTION);
}

/* Returns the node of an operation that has `before` others of its kind before it. Node numbers
 * depend on the options, but the order within a kind does not. */
static int32_t tfn__nth_node(const tfn_tape *t, int op, int32_t before)
{
    for (int32_t i = 1; i < t->count; i++) {
        if (t->nodes[i].op != op) continue;
        if (before == 0) return i;
        before--;
    }
    return 0;
}

/* Runs up to a node, without it, and makes its call. Its inputs are then in the workspace, and
 * might be overwritten by its entry. */
static void tfn__run_before(tfn__call *c, const tfn_tape *t, const tfn_run *r, int32_t node)
{
    tfn__run_entries(t, r, 0, tfn__forward_entry(t, node));
    tfn__make_call(c, t, r, tfn__timeline_entry(node, TFN__FORWARD), r->work);
}

/* How scores q k of a query become weights. Keys from `first` to before `seen`, out of `all`, are
 * attended to. bias starts at key 0, or is NULL. */
typedef struct tfn__weighing {
    float scale, cap;
    const float *bias;
    ptrdiff_t first, seen, all;
} tfn__weighing;

/* Turns scores into weights as the kernels do: times the scale, or with a cap cap tanh(scale
 * s/cap), plus the bias; then softmax over the keys that are attended to. */
static void tfn__weigh_scores(const tfn_kernels *k, float *s, const tfn__weighing *how)
{
    const ptrdiff_t first = how->first;
    const ptrdiff_t n = how->seen - first;
    const float cap = how->cap;
    k->combine(s + first, s + first, NULL, n, how->scale, 0, false);
    if (cap > 0) {
        for (ptrdiff_t i = first; i < how->seen; i++) s[i] /= cap;
        k->tanh(s + first, s + first, n);
        k->combine(s + first, s + first, NULL, n, cap, 0, false);
    }
    if (how->bias) k->combine(s + first, s + first, how->bias + first, n, 1, 1, false);
    k->softmax_forward(s + first, s + first, 1, n);
    for (ptrdiff_t i = 0; i < first; i++) s[i] = 0;
    for (ptrdiff_t i = how->seen; i < how->all; i++) s[i] = 0;
}

/* Writes weights (Tq, Tk) of head h of sentence b. Computes scores for all keys, one strip of
 * queries at a time because the node's scratch has room for that, then overwrites those not
 * attended to. */
static void tfn__weights_of_head(const tfn__call *c, const tfn_attention_args *p, ptrdiff_t b,
                                 ptrdiff_t h, float *weights)
{
    const ptrdiff_t size = p->head_size;
    const ptrdiff_t group = h / (p->heads / p->kv_heads);
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.b = p->k + b*p->tk*p->k_ld + group*size;
    t.n = p->tk;
    t.k = size;
    t.c_ld = p->tk;
    t.a_row = p->q_ld;
    t.a_col = 1;
    t.b_row = 1;
    t.b_col = p->k_ld;
    for (ptrdiff_t i = 0; i < p->tq; i += t.m) {
        t.m = tfn__min(p->tq - i, TFN__STRIP);
        t.a = p->q + (b*p->tq + i)*p->q_ld + h*size;
        t.c = weights + i*p->tk;
        c->k->matmul(&t, c->work);
    }
    /* each query attends up to itself, to the end of the sentence, or within its window */
    for (ptrdiff_t i = 0; i < p->tq; i++) {
        tfn__weighing how = { p->scale, p->cap, NULL, 0, tfn__seen(p, b, i), p->tk };
        how.first = tfn__first_key_of(p, b, i);
        if (p->bias.at)
            how.bias = p->bias.at + b*p->bias.sentence + h*p->bias.head + p->bias.zero - i;
        tfn__weigh_scores(c->k, weights + i*p->tk, &how);
    }
}

/* Queries and keys are those that attention reads: projected, with biases, normalized, scaled and
 * rotated according to the options. The tape for inference has no dropout of weights. Attention
 * computes (e v)/l where these weights are e/l; both agree to rounding. */
TFNORM_API tfn_status tfn_model_attention(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                          int32_t layer, tfn_sublayer kind, int32_t head,
                                          float *weights)
{
    tfn_status status;
    tfn_attention_args p;
    int32_t before;
    tfn_run r;
    tfn__call c;
    int at;
    if (!TFN__ALL) return tfn__no_reading(m);
    status = tfn__begin_reading(m, batch, stack, &at);
    if (status != TFN_OK) return status;
    tfn__check_attention(&m->error, m, at, layer, kind, head, weights);
    if (tfn__end_checks(m) != TFN_OK) return m->error.status;

    r = tfn__unwatched(&m->run);
    before = tfn__attentions_before(m, at, layer, kind);
    if (at == TFN__IN_DECODER && tfn__is_pair(&m->desc))
        before += m->desc.layers;                       /* the encoder has one a layer */
    tfn__run_before(&c, &m->infer, &r, tfn__nth_node(&m->infer, TFN__OP_ATTEND, before));
    p = tfn__attention_of(&c);
    /* (B, H, Tq, Tk), or (B, Tq, Tk) for one head */
    for (ptrdiff_t b = 0; b < p.batch; b++)
        for (ptrdiff_t h = 0; h < p.heads; h++) {
            if (head >= 0 && h != head) continue;
            tfn__weights_of_head(&c, &p, b, h, weights);
            weights += p.tq * p.tk;
        }
    tfn__unbind(&m->run);
    return TFN_OK;
}

/* -- attention of a decoder ------------------------------------------------------------------ */

#if TFN__PACKS
/* Unpacks keys of a 16-bit cache as the right factor of a product. */
static void tfn__widen_keys(tfn_matmul_args *t, const tfn_attention_cached_args *p, ptrdiff_t at,
                            float *wide)
{
    t->n = tfn__min(t->n, TFN__CACHE_BLOCK);
    t->b = wide;
    t->b_row = t->n;
    for (ptrdiff_t i = 0; i < p->head_size; i++, at += p->capacity)
        for (ptrdiff_t j = 0; j < t->n; j++) {
            const uint16_t h = p->k_half[at + j];
            if (p->type == TFN_CACHE_TYPE_BF16) wide[i*t->n + j] = tfn__from_bf16(h);
            else wide[i*t->n + j] = tfn__from_f16(h);
        }
}
#endif

/* Writes the weights of position t of head h of sentence b, over `all` keys. The cache stores time
 * contiguously, so the product with one row needs scratch only for 16-bit keys. */
static void tfn__weights_of_row(const tfn__call *c, ptrdiff_t t, ptrdiff_t b, ptrdiff_t h,
                                ptrdiff_t all, float *weights)
{
    const tfn_node *cache = c->t->nodes + c->n->arg[TFN__CACHED_CACHE];
    tfn_attention_cached_args p;
    ptrdiff_t group;
    tfn_matmul_args row;
    tfn__weighing how = { 0, 0, NULL, 0, 0, all };
    tfn__cached_of(&p, c, cache);
    group = h / (p.heads / p.kv_heads);
    how.scale = p.scale;
    how.cap = p.cap;
    how.seen = tfn__keys_cached(&p, b, t);
    how.first = tfn__first_key(p.window, how.seen);
    if (p.bias.at) how.bias = tfn__bias_of_row(&p, b, h, t);
    TFNORM_MEMSET(&row, 0, sizeof row);
    row.a = p.q + b*p.q_ld + t*p.q_row + h*p.head_size;
    row.m = 1;
    row.k = p.head_size;
    row.a_col = 1;
    row.b_row = p.capacity;
    row.b_col = 1;
    for (ptrdiff_t j = how.first; j < how.seen; j += row.n) {       /* a window's cache is a ring */
        const ptrdiff_t at = (b*p.kv_heads + group) * p.head_size * p.capacity + j % p.capacity;
        row.n = tfn__min(how.seen - j, p.capacity - j % p.capacity);
        row.b = p.k_cache + at;
#if TFN__PACKS
        if (p.type) tfn__widen_keys(&row, &p, at, c->work);
#endif
        row.c = weights + j;
        c->k->matmul(&row, c->work);
    }
    tfn__weigh_scores(c->k, weights, &how);
}

/* Appends the keys and values of these positions to the caches, but does not advance the decoder.
 * Values beyond its position are never read, and the next call overwrites them. */
TFNORM_API tfn_status tfn_decoder_attention(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                            int32_t layer, tfn_sublayer kind, int32_t head,
                                            float *weights)
{
    ptrdiff_t all;
    int32_t before;
    tfn_run r;
    tfn__call c;
    if (!d) return TFN_NULL;
    if (!TFN__ALL) return tfn__fail(&d->error, TFN_UNSUPPORTED, "reading", tfn__plain_only, 0, 0);
    if (!tfn__begin_next(d, tokens, time, NULL)) return d->error.status;
    tfn__check_attention(&d->error, d->model, TFN__IN_DECODER, layer, kind, head, weights);
    if (d->error.status != TFN_OK) return d->error.status;

    /* runs up to the attention; self-attention's cache is written before it */
    tfn__bind_next(d, tokens, time);
    r = tfn__unwatched(&d->run);
    before = tfn__attentions_before(d->model, TFN__IN_DECODER, layer, kind);
    tfn__run_before(&c, &d->decode, &r, tfn__nth_node(&d->decode, TFN__OP_CACHED, before));
    all = r.start + time;
    if (kind == TFN_SUBLAYER_CROSS_ATTENTION) all = r.source;
    for (ptrdiff_t b = 0; b < r.batch; b++)
        for (ptrdiff_t h = 0; h < d->model->desc.heads; h++) {
            if (head >= 0 && h != head) continue;
            for (ptrdiff_t t = 0; t < time; t++, weights += all)
                tfn__weights_of_row(&c, t, b, h, all, weights);
        }
    d->run.ints[TFN_INT_TOKENS] = NULL;
    return TFN_OK;
}
TFN__SMALL_END
