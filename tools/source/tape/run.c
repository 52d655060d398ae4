#include "run.h"
#include "../ground/ground.h"
#include "op_linear.h"
#include "op_table.h"
#include "record.h"
#include "plan.h"
#include "tape.h"

/* -- run ------------------------------------------------------------------------------------- */

/* A run does not change the tape: sizes, regions, tokens and the random key are all in tfn_run. So
 * the same tape may run in several threads at once, each with its own workspace.
 *
 * The shapes of an entry come from the sizes of the run, its offsets from the capacities of the
 * plan. A short batch leaves the end of each buffer unused, and has the same bits as on a tape made
 * for its size. */

/* Returns the address of a node's value in this run, or NULL if it is absent or not computed. */
static float *tfn__place_of(const tfn_tape *t, const tfn_run *r, int32_t id, bool again)
{
    const tfn_node *n = t->nodes + id;
    int64_t at = n->value[tfn__life_of(n, again)];
    if (!id) return NULL;
    if (n->op == TFN__OP_PARAM) return r->params + at;
    if (n->op == TFN__OP_TABLE) return r->tables + at;
    if (n->op == TFN__OP_BUFFER) return r->buffers + at;
    if (n->op == TFN__OP_INPUT) {
        union { const float *in; float *out; } u;       /* inputs are only read */
        u.in = r->inputs[n->arg[TFN__INPUT_SLOT]];
        return u.out;
    }
    if (at < 0) return NULL;
    return r->work + at;
}
/* Returns the address of its gradient, or NULL if it has none. */
static float *tfn__grad_of(const tfn_tape *t, const tfn_run *r, int32_t id)
{
    const tfn_node *n = t->nodes + id;
    if (n->grad < 0) return NULL;
    if (n->op == TFN__OP_PARAM) return r->grads + n->grad;
    return r->work + n->grad;
}

/* True if a region is bound, or the tape does not use it. */
static bool tfn__bound(int64_t floats, const float *region) { return floats <= 0 || region; }
/* True if all regions are bound except the gradients, which only a backward needs. */
static bool tfn__regions_bound(const tfn_tape *t, const tfn_run *r)
{
    return tfn__bound(t->params, r->params) && tfn__bound(t->tables, r->tables)
        && tfn__bound(t->buffers, r->buffers) && tfn__bound(t->state, r->state)
        && tfn__bound(t->work, r->work);
}

/* Returns the address of a value. After a run only the last value and those that tfn_keep protects
 * are valid; others may have been overwritten. */
TFNORM_API float *tfn_value(const tfn_tape *t, const tfn_run *r, tfn_var x)
{
    if (!t || !r || !t->planned || !tfn__known(t, x)) return NULL;
    if (!tfn__regions_bound(t, r)) return NULL;
    return tfn__place_of(t, r, x.id, false);
}
/* Returns the address of a value's gradient, or NULL if it has none. */
TFNORM_API float *tfn_gradient(const tfn_tape *t, const tfn_run *r, tfn_var x)
{
    if (!t || !r || !t->planned || !tfn__known(t, x)) return NULL;
    if (!tfn__regions_bound(t, r) || !tfn__bound(t->grads, r->grads)) return NULL;
    if (!(t->nodes[x.id].flags & TFN__NEED)) return NULL;
    return tfn__grad_of(t, r, x.id);
}

/* Fills input j of a call: its value, its shape, and in a backward its gradient. If a run
 * accumulates the gradients of parameters over several batches, the first writer adds, too. */
static void tfn__bind_input(tfn__call *c, int j, bool again, bool backward)
{
    const tfn_node *n = c->n;
    const tfn_node *x = c->t->nodes + n->in[j];
    const tfn_run *r = c->r;
    c->x[j] = tfn__place_of(c->t, r, n->in[j], again);
    c->x_rows[j] = (ptrdiff_t)tfn__rows_at(x, r->batch, r->source, r->target);
    c->x_cols[j] = x->cols;
    c->dx[j] = NULL;
    c->add[j] = false;
    if (!backward || !(n->grad_need >> j & 1)) return;
    c->dx[j] = tfn__grad_of(c->t, r, n->in[j]);
    c->add[j] = (n->grad_add >> j & 1) || (r->accumulate && x->op == TFN__OP_PARAM);
}

/* Fills a call with the pointers and sizes of an entry in this run. */
SHARED void tfn__make_call(tfn__call *c, const tfn_tape *t, const tfn_run *r, int32_t entry,
                           float *work)
{
    int32_t id = tfn__entry_node(entry);
    int32_t kind = tfn__entry_kind(entry);
    const tfn_node *n = t->nodes + id;
    bool again = kind != TFN__FORWARD;
    bool backward = kind >= TFN__SEED;
    int64_t saved = n->saved[tfn__life_of(n, again)];
    /* the same for every entry of a run */
    c->t = t;
    c->r = r;
    c->k = t->kernels;
    c->n = n;
    c->work = work;
    tfn__set_threads(c, t->threads);
    /* the node's shape and buffers; absent ones are NULL */
    c->rows = (ptrdiff_t)tfn__rows_at(n, r->batch, r->source, r->target);
    c->cols = n->cols;
    c->y = NULL;
    c->saved = NULL;
    c->dy = NULL;
    if (!tfn__outside(n)) c->y = tfn__place_of(t, r, id, again);
    if (saved >= 0) c->saved = r->work + saved;
    if (backward) c->dy = tfn__grad_of(t, r, id);
    for (int j = 0; j < TFN_INPUTS; j++) tfn__bind_input(c, j, again, backward);
}

/* Returns the number of chunks of an entry. */
static ptrdiff_t tfn__entry_chunks(const tfn__call *c, int32_t kind)
{
    const tfn__op *op = tfn__ops + c->n->op;
    if (kind == TFN__SEED) return 1;
    if (kind == TFN__PREPARE) return tfn__by_rows(c);
    if (kind == TFN__BACKWARD) return op->backward_chunks(c);
    return op->chunks(c);
}

/* Sets the gradient of the loss itself: 1, or the loss scale, which prevents underflow in half
 * precision. */
static void tfn__seed_gradient(const tfn__call *c)
{
    float scale = 1;
    if (!c->dy) return;                         /* the last value depends on no parameter */
    if (c->r->loss_scale > 0) scale = c->r->loss_scale;
    for (ptrdiff_t i = 0; i < c->rows * c->cols; i++) c->dy[i] = scale;
}

static void tfn__entry_chunk(tfn__call *c, int32_t kind, ptrdiff_t chunk)
{
    const tfn__op *op = tfn__ops + c->n->op;
    c->chunk = chunk;
    switch (kind) {
    case TFN__SEED:     tfn__seed_gradient(c);  break;
    case TFN__PREPARE:  tfn__linear_prepare(c); break;
    case TFN__BACKWARD: op->backward(c);        break;
    default:            op->forward(c);         break;
    }
}

/* Simulates half precision: rounds everything that an entry wrote. The loss stays in float, and so
 * does sigma, as in its authors' code. */
static void tfn__round_entry(const tfn__call *c, int32_t kind)
{
    void (*const to_half)(float *x, ptrdiff_t n) = c->k->round_to_half;
    const int op = c->n->op;
    const bool loss = op == TFN__OP_LOSS || op == TFN__OP_TARGETS || op == TFN__OP_NUMBERS;
    const bool exact = loss || (TFN__ALL && c->n->op == TFN__OP_SIGMA);
    switch (kind) {
    case TFN__SEED:
        break;
    case TFN__PREPARE:
        to_half(c->dy, c->rows * c->cols);
        break;
    case TFN__BACKWARD:
        for (int j = 0; j < TFN_INPUTS; j++)
            if (c->dx[j]) to_half(c->dx[j], c->x_rows[j] * c->x_cols[j]);
        break;
    default:
        if (!exact) to_half(c->y, c->rows * c->cols);
        break;
    }
}

/* -- padding: 0 by rule ----------------------------------------------------------------------- */

/* On a tape that trains, the padding of every array that an entry has written is set to 0 after the
 * entry: +0 in values, -0 in gradients. So every operation reads zeros there, and padding cannot
 * grow from layer to layer and overflow. A sum over rows gets the term -0, or -0 times a number
 * that is +0 or positive, which changes no bit, not even the sign of a 0. Operations for which this
 * does not hold skip padding themselves: norms over the batch, which would normalize padding with
 * the statistics of other rows (tfn_columns_args.skip), attention (q_lengths), and sums of products
 * that may be negative. Outside training no operation sums over rows, so padding reaches nothing
 * else and is computed like other rows.
 *
 * The rule costs a pass over the padding, and nothing if a run binds no lengths. Threads clear the
 * padding after an entry, in a separate round of chunks. A chunk is a sentence. */

/* Returns array number i of those that an entry writes, or NULL if there is none, with the kind of
 * its rows and its shape. A forward writes a value, all other entries write gradients. */
static float *tfn__written(const tfn__call *c, int32_t kind, int i, tfn_rows *rows,
                           ptrdiff_t *count, ptrdiff_t *cols)
{
    *rows = (tfn_rows)c->n->rows;
    *count = c->rows;
    *cols = c->cols;
    if (kind == TFN__BACKWARD) {
        *rows = (tfn_rows)c->t->nodes[c->n->in[i]].rows;
        *count = c->x_rows[i];
        *cols = c->x_cols[i];
        return c->dx[i];
    }
    if (i > 0) return NULL;
    if (kind == TFN__SEED || kind == TFN__PREPARE) return c->dy;
    return c->y;
}

/* Sets the padding of sentence b in all these arrays to 0. */
static void tfn__clear_padding(const tfn__call *c, int32_t kind, ptrdiff_t b)
{
    const bool gradient = kind == TFN__SEED || kind == TFN__PREPARE || kind == TFN__BACKWARD;
    const float zero = gradient ? -(float)0 : (float)0;
    for (int i = 0; i < TFN_INPUTS; i++) {
        tfn_rows rows;
        ptrdiff_t count;
        ptrdiff_t cols;
        ptrdiff_t end;
        ptrdiff_t first;
        float *p = tfn__written(c, kind, i, &rows, &count, &cols);
        if (!p || !tfn__padding_of(c->r, rows)) continue;
        end = count / c->r->batch * (b + 1);
        first = count / c->r->batch * b + tfn__counted_rows(c->r, rows, b);
        for (ptrdiff_t j = first * cols; j < end * cols; j++) p[j] = zero;
    }
}

/* Returns the number of chunks for this: one per sentence, or 0 if the entry writes no padding. */
static ptrdiff_t tfn__padding_chunks(const tfn__call *c, int32_t kind)
{
    if (!TFN__TRAINS || !TFN__SENTENCES || !c->t->training || !c->r->skip_padding) return 0;
    for (int i = 0; i < TFN_INPUTS; i++) {
        tfn_rows rows;
        ptrdiff_t count;
        ptrdiff_t cols;
        if (tfn__written(c, kind, i, &rows, &count, &cols) && tfn__padding_of(c->r, rows))
            return c->r->batch;
    }
    return 0;
}

#ifdef TFN__CHECKED
/* -- checks of a debug build ------------------------------------------------------------------ */

/* Two mistakes of an operation would give numbers that are only slightly wrong: reading a dead
 * array, because the operation's mask lacks an array that its backward reads; and writing outside
 * an array. The first becomes visible as NaN in the loss. The second is found by a comparison,
 * right where it happens.
 *
 * In a debug build the workspace starts as NaN. For each entry the floats around its arrays are
 * copied, the entry runs, and these floats are compared. Then every array that no later entry reads
 * becomes NaN again. A correct operation reads none of these floats, so the bits are the same as in
 * any other build, and all tests can run in this one. The checks do not find writes beyond these
 * edges, or after the last float of the workspace or of the gradients (a sanitizer does), nor
 * mistakes of kernels that are called without a tape. */

/* Fills p with a signaling NaN. Any result computed from it is a quiet NaN, so that a loop of one
 * step too many is found even if it writes a NaN over a NaN. */
static void tfn__fill_nan(float *p, int64_t n)
{
    const uint32_t signaling = 0x7fa5a5a5;
    float nan = (float)NAN;
    if (sizeof nan == sizeof signaling) TFNORM_MEMCPY(&nan, &signaling, sizeof nan);
    for (int64_t i = 0; i < n; i++) TFNORM_MEMCPY(p + i, &nan, sizeof nan);
}

/* Fills the buffers that no entry after e reads, according to the plan. The sizes come from the
 * plan's capacities, not from this run. */
static void tfn__kill_dead(const tfn_tape *t, const tfn_run *r, int32_t e)
{
    for (int32_t i = 1; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        const int64_t rows = tfn__rows_max(t, n);
        const int64_t saved = tfn__saved_floats(n, rows);
        const int64_t at[TFN__BUFFERS] = { n->value[0], n->saved[0], n->value[1], n->saved[1],
                                           n->grad };
        if (tfn__outside(n)) continue;
        for (int b = 0; b < TFN__BUFFERS; b++) {
            if (n->dies[b] != e || at[b] < 0) continue;
            if (b == TFN__SAVE || b == TFN__SAVE2) tfn__fill_nan(r->work + at[b], saved);
            else tfn__fill_nan(r->work + at[b], rows * n->cols);
        }
    }
}

/* Fills the padding that an operation has written with NaN, before it is cleared, because it must
 * not matter. In the test of padding, which defines TFN__POISONED, it stays NaN on tapes that do
 * not train. */
static void tfn__poison_padding(const tfn__call *c, int32_t kind)
{
    for (int i = 0; i < TFN_INPUTS; i++) {
        tfn_rows rows;
        ptrdiff_t count;
        ptrdiff_t cols;
        float *p = tfn__written(c, kind, i, &rows, &count, &cols);
        if (!p || !tfn__padding_of(c->r, rows)) continue;
        for (ptrdiff_t b = 0; b < c->r->batch; b++) {
            const ptrdiff_t first = count / c->r->batch * b + tfn__counted_rows(c->r, rows, b);
            const ptrdiff_t end = count / c->r->batch * (b + 1);
            tfn__fill_nan(p + first*cols, (end - first) * cols);
        }
    }
}

/* True if the padding of an array that an entry reads is 0. Leaves belong to the caller and are not
 * checked. */
static bool tfn__is_clear(const tfn__call *c, const tfn_node *n, const float *p)
{
    const tfn_run *r = c->r;
    const tfn_rows rows = (tfn_rows)n->rows;
    const ptrdiff_t all = (ptrdiff_t)tfn__rows_at(n, r->batch, r->source, r->target);
    if (!p || n->op <= TFN__OP_INPUT || !tfn__padding_of(r, rows)) return true;
    for (ptrdiff_t b = 0; b < r->batch; b++) {
        const ptrdiff_t first = all / r->batch * b + tfn__counted_rows(r, rows, b);
        const ptrdiff_t end = all / r->batch * (b + 1);
        for (ptrdiff_t i = first * n->cols; i < end * n->cols; i++)
            if (!(p[i] >= 0 && p[i] <= 0)) return false;
    }
    return true;
}
static bool tfn__reads_clear(const tfn__call *c, int32_t kind)
{
    const tfn_node *n = c->n;
    const int reads = kind == TFN__BACKWARD ? n->reads : TFN__READ_ALL;
    if (!c->t->training) return true;
    for (int j = 0; j < TFN_INPUTS; j++)
        if ((reads >> j & 1) && !tfn__is_clear(c, c->t->nodes + n->in[j], c->x[j])) return false;
    return kind != TFN__BACKWARD || tfn__is_clear(c, n, c->dy);
}

/* The arrays that an entry may write: its value, its saved array, its gradient (PREPARE works in
 * place), and the gradients of its inputs. The edges are TFN__EDGE floats before and after each
 * array. That is as much as alignment puts between arrays, so the edges include the first float of
 * the next array. Running statistics and caches are in other regions and are not checked. */
enum { TFN__OWN = 3 + TFN_INPUTS, TFN__EDGE = 16, TFN__SIDES = 2 * TFN__EDGE };
typedef struct tfn__edges {
    const tfn_tape *t;
    const tfn_run  *r;
    float    *own[TFN__OWN];
    int64_t   floats[TFN__OWN];
    float     kept[TFN__OWN * TFN__SIDES];       /* the edges before the entry ran */
} tfn__edges;

/* True if p points into the array. It compares addresses as integers, because the arrays may belong
 * to different objects, and C does not define how pointers into these compare. */
static bool tfn__is_in(const float *p, const float *array, int64_t floats)
{
    const uintptr_t at = (uintptr_t)p;
    const uintptr_t begin = (uintptr_t)array;
    return array && at >= begin && at < begin + (size_t)floats * sizeof *array;
}

/* Returns the address of float i of all edges, or NULL if it is outside the workspace and the
 * gradients, or if the entry may write it, because it belongs to another of its arrays or to the
 * scratch. */
static float *tfn__edge(const tfn__edges *x, int i)
{
    const tfn_tape *t = x->t;
    const tfn_run *r = x->r;
    const int side = i % TFN__SIDES;
    float *own = x->own[i / TFN__SIDES];
    float *p;
    if (!own) return NULL;
    if (side < TFN__EDGE) p = own - 1 - side;
    else p = own + x->floats[i / TFN__SIDES] + side - TFN__EDGE;
    if (!tfn__is_in(p, r->work, t->work) && !tfn__is_in(p, r->grads, t->grads)) return NULL;
    if (tfn__is_in(p, r->work, t->threads * t->scratch)) return NULL;
    for (int k = 0; k < TFN__OWN; k++)
        if (tfn__is_in(p, x->own[k], x->floats[k])) return NULL;
    return p;
}

/* Copies the edges before an entry runs. The sizes come from this run, not from the plan, because
 * an entry must not write after the last row of a short batch. */
static void tfn__keep_edges(tfn__edges *x, const tfn__call *c)
{
    const bool saves = c->saved != NULL;
    TFNORM_MEMSET(x, 0, sizeof *x);
    x->t = c->t;
    x->r = c->r;
    x->own[0] = c->y;
    x->own[1] = c->saved;
    x->own[2] = c->dy;
    x->floats[0] = x->floats[2] = c->rows * c->cols;
    if (saves) x->floats[1] = tfn__saved_floats(c->n, c->rows);
    for (int j = 0; j < TFN_INPUTS; j++) {
        x->own[3 + j] = c->dx[j];
        x->floats[3 + j] = c->x_rows[j] * c->x_cols[j];
    }
    for (int i = 0; i < TFN__OWN * TFN__SIDES; i++) {
        const float *p = tfn__edge(x, i);
        if (p) TFNORM_MEMCPY(x->kept + i, p, sizeof *p);
    }
}

/* True if no edge has changed. It compares bits, because most edges are NaN. */
static bool tfn__edges_kept(const tfn__edges *x)
{
    for (int i = 0; i < TFN__OWN * TFN__SIDES; i++) {
        const float *p = tfn__edge(x, i);
        const char *now = (const char *)p;
        const char *before = (const char *)(x->kept + i);
        if (!p) continue;
        for (size_t k = 0; k < sizeof *p; k++)
            if (now[k] != before[k]) return false;
    }
    return true;
}
#endif

/* Runs entries [first, last) on one thread: entry by entry, chunk by chunk. */
static void tfn__run_serial(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
    for (int32_t e = first; e < last; e++) {
        int32_t kind = tfn__entry_kind(t->order[e]);
        tfn__call c;
        tfn__make_call(&c, t, r, t->order[e], r->work);
        tfn__set_threads(&c, 1);
        c.chunks = tfn__entry_chunks(&c, kind);
#ifdef TFN__CHECKED
        const bool clear = tfn__reads_clear(&c, kind);
        tfn__edges edges;
        TFNORM_ASSERT(clear && "an operation reads padding that is not 0");
        (void)clear;
        tfn__keep_edges(&edges, &c);
#endif
        for (ptrdiff_t i = 0; i < c.chunks; i++) tfn__entry_chunk(&c, kind, i);
        if (TFN__ALL && t->half) tfn__round_entry(&c, kind);
#ifdef TFN__CHECKED
        const bool kept = tfn__edges_kept(&edges);
        TFNORM_ASSERT(kept && "an operation wrote outside its arrays");
        (void)kept;
#ifndef TFN__POISONED
        if (t->training)
#endif
        tfn__poison_padding(&c, kind);
#endif
        for (ptrdiff_t b = tfn__padding_chunks(&c, kind); b-- > 0;)
            tfn__clear_padding(&c, kind, b);
#ifdef TFN__CHECKED
        tfn__kill_dead(t, r, e);
#endif
    }
}

#ifdef TFN__TEAMS
/* -- does a team pay? ------------------------------------------------------------------------- */

/* Threads give each other cache lines: a value that one writes and others read, a weight that all
 * have read and one updates. Between cores with a common third-level cache a message takes 35 ns,
 * between cores without one 160 ns, and there a model of width 48 with 512 positions takes two
 * threads longer than one. So a run has a team only if its multiplications outweigh what is handed
 * over, in multiplications of one thread:
 *
 *     a value of the forward, with its gradient in the backward       COST_VALUE
 *     a weight that trains and stays in the caches between updates    COST_WEIGHT
 *     an entry of the forward, for its barrier and its imbalance      COST_ENTRY
 *
 * The costs were measured on the cores that are far apart (Zen 4, AVX-512), and 10 to 20 % were
 * added. A kernel without SIMD multiplies more slowly, so there a team pays sooner than this says.
 * The work is that of the forward, because the backward has the same proportions. It depends only
 * on the sizes of the run, and no bit depends on the answer. */
enum { TFN__COST_VALUE = 40, TFN__COST_WEIGHT = 60, TFN__COST_ENTRY = 90000,
       TFN__ROW_STEPS = 2 };       /* reading a weight takes as long as multiplying it so often */

/* Adds the multiplications of a forward entry to *steps, and its weights to *weights. */
static void tfn__add_cost(const tfn_tape *t, const tfn_run *r, const tfn_node *n, float rows,
                          float *steps, float *weights)
{
    const tfn_node *x = t->nodes + n->in[0];
    const tfn_node *w = t->nodes + n->in[1];            /* for attention: the keys */
    const float cols = (float)n->cols;
    if (n->op == TFN__OP_LINEAR) {
        *weights += cols * (float)x->cols;
        *steps += (rows + (float)TFN__ROW_STEPS) * cols * (float)x->cols;
    } else if (n->op == TFN__OP_ATTEND) {
        *steps += rows * cols * (float)(tfn__on_target(w->rows) ? r->target : r->source);
    } else if (TFN__ALL && n->op == TFN__OP_CONV) {
        *weights += cols * (float)w->count;
        *steps += rows * cols * (float)w->count;
    }
}

/* True if a run of these sizes is worth a team. */
SHARED bool tfn__team_pays(const tfn_tape *t, const tfn_run *r)
{
    float steps = 0;
    float weights = 0;
    float cost = 0;
    for (int32_t e = 0; e < t->forward_count; e++) {
        const tfn_node *n = t->nodes + tfn__entry_node(t->order[e]);
        const float rows = (float)tfn__rows_at(n, r->batch, r->source, r->target);
        tfn__add_cost(t, r, n, rows, &steps, &weights);
        cost += (float)TFN__COST_VALUE * rows * (float)n->cols + (float)TFN__COST_ENTRY;
    }
    if (weights > (float)TFN__CACHED_WEIGHTS) weights = (float)TFN__CACHED_WEIGHTS;
    if (t->training) cost += (float)TFN__COST_WEIGHT * weights;
    return steps >= cost;
}

/* A run is one parallel region. Every thread walks the timeline. Each has a queue with its share of
 * an entry's chunks, which are neighbours. It empties its own queue first, then helps with the
 * others. So it mostly works on rows that it wrote in the previous entry, which are in its cache.
 * An entry is over when all its chunks are done, not when all threads have arrived. So no thread
 * waits for one that the system has suspended, unless it holds a chunk.
 *
 * The protocol: a round is an entry, or the clearing of its padding. A queue holds the number of a
 * round and of its next chunk in one word, so that a compare-and-swap can only take a chunk of the
 * intended round. A queue that is still at an earlier round has given no chunk of this one. `done`
 * counts the finished chunks of all rounds so far. A thread that has walked to a round knows how
 * many chunks precede it, and takes none until `done` has reached that number. Its acquire makes
 * everything that these chunks wrote visible. A thread that was suspended finds the queues of its
 * round empty, and walks on without taking a chunk.
 *
 * The caller, thread 0, runs small rounds without a queue. The other threads skip them, and wait at
 * the next round that threads share. So consecutive small entries need no synchronization. Small
 * entries before the first shared one run before the team starts. */

enum { TFN__QUEUES = 16 };         /* most queues; more threads share them */

/* A queue in a cache line of its own. */
typedef struct tfn__queue {
    tfn__atomic next;              /* round << 32 | next chunk */
    char        line[64 - sizeof(uint64_t)];
} tfn__queue;

/* What the threads of a region share. It is on the caller's stack, so `before` and `after` keep the
 * caller's other variables out of its cache lines. */
typedef struct tfn__team {
    char     before[64];
    const tfn_tape *t;
    const tfn_run  *r;
    int32_t  first, last, queues;
    char     line[64];             /* keeps the fields above out of the cache lines of queues */
    tfn__queue  queue[TFN__QUEUES];
    tfn__atomic done;              /* chunks finished since the region began */
    tfn__atomic over;              /* 1: all chunks of the region are done */
    char     after[64];
} tfn__team;

/* A round is small below this many multiplications of a product, or numbers of another entry. */
enum { TFN__SMALL_STEPS = 524288, TFN__SMALL_FLOATS = 16384 };

/* How often a waiting thread spins before it yields the processor. Entries of small models are
 * shorter than a context switch. */
enum { TFN__SPINS = 2000 };

static uint64_t tfn__atomic_load(const tfn__atomic *x)
{
    return __atomic_load_n(x, __ATOMIC_ACQUIRE);
}

/* Compare and swap: if *x equals *old, sets *x to `wanted` and returns true; else sets *old to
 * *x. */
static bool tfn__atomic_replace(tfn__atomic *x, uint64_t *old, uint64_t wanted)
{
    return __atomic_compare_exchange_n(x, old, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Takes the next chunk of a queue, which has `share` chunks of a round. Returns false if all are
 * taken, or if the queue is already at a later round. */
static bool tfn__take_chunk(tfn__queue *queue, uint32_t round, ptrdiff_t share, ptrdiff_t *chunk)
{
    const uint64_t first = (uint64_t)round << 32;
    uint64_t q = tfn__atomic_load(&queue->next);
    uint64_t taken;
    do {
        taken = 0;
        if (q > first) taken = q - first;
        if (taken >= (uint64_t)share) return false;
    } while (!tfn__atomic_replace(&queue->next, &q, first + taken + 1));
    *chunk = (ptrdiff_t)taken;
    return true;
}

/* Waits a moment. A short wait keeps the processor, a long one yields it to the thread that holds
 * the chunk. */
static void tfn__relax(int *spins)
{
    if (*spins >= TFN__SPINS) {
        TFN__YIELD();
        return;
    }
    ++*spins;
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

/* How far a thread has walked: its current round, and the number of chunks in all rounds before it.
 * An entry is one round, or two if the second clears its padding. All threads count in the same
 * way. */
typedef struct tfn__walk {
    int32_t  index;                /* of the thread */
    uint32_t round;
    uint64_t before;
    uint64_t unseen;               /* chunks that the caller has finished but not added to `done` */
} tfn__walk;

/* Returns a queue's share of n chunks. Shares differ by at most one. If `up`, the first queue has a
 * larger one, otherwise the last. */
static tfn__range tfn__queue_share(ptrdiff_t n, int32_t queue, int32_t queues, bool up)
{
    const ptrdiff_t more = up ? queues - 1 : 0;
    const ptrdiff_t begin = (n * queue + more) / queues;
    const tfn__range s = { begin, (n * (queue + 1) + more) / queues - begin };
    return s;
}

/* Returns how many chunks of a round compute rows of its result. In a backward, chunks for the
 * gradients of parameters follow. Each queue gets a share of both kinds, so that the thread that
 * wrote rows of this gradient also reads them in the next entry. */
static ptrdiff_t tfn__row_chunks(const tfn__call *c, int32_t kind, bool clears, ptrdiff_t chunks)
{
    if (clears || kind != TFN__BACKWARD) return chunks;
    if (c->n->op == TFN__OP_LINEAR) return tfn__linear_input_chunks(c);
    return tfn__min(tfn__by_rows(c), chunks);
}

/* True if a round is not worth a barrier, which takes a few tenths of a microsecond on an idle
 * machine: one chunk, up to three chunks of a small entry, or the clearing of little padding.
 * Attention, convolutions and custom operations are small only if they have one chunk, because one
 * of a few chunks may take long. */
static bool tfn__is_small(const tfn__call *c, bool clears, ptrdiff_t chunks)
{
    const int op = c->n->op;
    const bool long_chunks = op == TFN__OP_ATTEND || op == TFN__OP_CACHED
                          || op == TFN__OP_CUSTOM || (TFN__ALL && op == TFN__OP_CONV);
    const float floats = (float)tfn__max(c->rows, c->x_rows[0])
                       * (float)tfn__max(c->cols, c->x_cols[0]);
    if (chunks < 2) return true;
    if (clears) return floats < (float)TFN__SMALL_FLOATS;
    if (chunks > 3 || long_chunks) return false;
    if (op == TFN__OP_LINEAR)
        return (float)c->rows * (float)c->cols * (float)c->x_cols[0] < (float)TFN__SMALL_STEPS;
    return floats < (float)TFN__SMALL_FLOATS;
}

static void tfn__round_chunk(tfn__call *c, int32_t kind, bool clears, ptrdiff_t chunk)
{
    if (clears) tfn__clear_padding(c, kind, chunk);
    else tfn__entry_chunk(c, kind, chunk);
}

/* Adds the caller's finished chunks to `done`, and waits until all chunks before this round are
 * done. */
static void tfn__await(tfn__team *m, tfn__walk *w)
{
    int spins = 0;
    if (w->unseen) __atomic_fetch_add(&m->done, w->unseen, __ATOMIC_ACQ_REL);
    w->unseen = 0;
    while (tfn__atomic_load(&m->done) < w->before) tfn__relax(&spins);
}

/* Takes chunks of a round until none is left. */
static void tfn__take_chunks(tfn__team *m, tfn__walk *w, tfn__call *c, int32_t kind, bool clears,
                             ptrdiff_t chunks)
{
    const ptrdiff_t rows = tfn__row_chunks(c, kind, clears, chunks);
    uint64_t mine = 0;
    for (int32_t i = 0; i < m->queues; i++) {
        const int32_t queue = (w->index + i) % m->queues;
        const tfn__range first = tfn__queue_share(rows, queue, m->queues, true);
        const tfn__range last = tfn__queue_share(chunks - rows, queue, m->queues, false);
        ptrdiff_t taken;
        while (tfn__take_chunk(m->queue + queue, w->round, first.count + last.count, &taken)) {
            ptrdiff_t chunk = first.first + taken;
            if (taken >= first.count) chunk = rows + last.first + taken - first.count;
            tfn__round_chunk(c, kind, clears, chunk);
            mine++;
        }
    }
    if (mine) __atomic_fetch_add(&m->done, mine, __ATOMIC_ACQ_REL);
}

static void tfn__walk_round(tfn__team *m, tfn__walk *w, tfn__call *c, int32_t kind, bool clears,
                            ptrdiff_t chunks)
{
    if (!tfn__is_small(c, clears, chunks)) {
        tfn__await(m, w);
        tfn__take_chunks(m, w, c, kind, clears, chunks);
    } else if (w->index == 0 && chunks > 0) {
        if (!w->unseen) tfn__await(m, w);       /* else only its own rounds followed since */
        for (ptrdiff_t i = 0; i < chunks; i++) tfn__round_chunk(c, kind, clears, i);
        w->unseen += (uint64_t)chunks;
    }
    w->before += (uint64_t)tfn__max(chunks, 0);
    w->round++;
}

/* The body of each thread. Every thread makes its own call for each entry. The calls differ only in
 * the scratch, but sharing one would need synchronization. */
static void tfn__team_member(void *team, int index)
{
    tfn__team *m = (tfn__team *)team;
    float *work = m->r->work + index * m->t->scratch;
    tfn__walk walk = { 0, 0, 0, 0 };
    if (tfn__atomic_load(&m->over)) return;         /* it begins after all others have ended */
    walk.index = index;
    for (int32_t e = m->first; e < m->last; e++) {
        int32_t kind = tfn__entry_kind(m->t->order[e]);
        ptrdiff_t sentences;
        tfn__call c;
        tfn__make_call(&c, m->t, m->r, m->t->order[e], work);
        c.chunks = tfn__entry_chunks(&c, kind);
        tfn__walk_round(m, &walk, &c, kind, false, c.chunks);
        sentences = tfn__padding_chunks(&c, kind);
        if (sentences > 0) tfn__walk_round(m, &walk, &c, kind, true, sentences);
    }
    if (index != 0) return;
    tfn__await(m, &walk);
    __atomic_store_n(&m->over, 1, __ATOMIC_RELEASE);
}

/* Returns the first entry of [first, last) that threads share, or `last`. */
static int32_t tfn__first_shared(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
    for (int32_t e = first; e < last; e++) {
        const int32_t kind = tfn__entry_kind(t->order[e]);
        tfn__call c;
        tfn__make_call(&c, t, r, t->order[e], r->work);
        if (!tfn__is_small(&c, false, tfn__entry_chunks(&c, kind))) return e;
    }
    return last;
}

/* Starts the threads, using the caller's hook or OpenMP, and waits for them. */
static void tfn__on_threads(int32_t threads, void (*f)(void *context, int index), void *context)
{
#ifdef TFNORM_PARALLEL_FOR
    TFNORM_PARALLEL_FOR(threads, f, context);
#else
#pragma omp parallel num_threads(threads)
    f(context, omp_get_thread_num());
#endif
}

/* Runs entries [first, last) on all threads of the tape. */
static void tfn__run_team(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
    tfn__team team;
    const int32_t shared = tfn__first_shared(t, r, first, last);
    tfn__run_serial(t, r, first, shared);
    if (shared == last) return;
    TFNORM_MEMSET(&team, 0, sizeof team);
    team.t = t;
    team.r = r;
    team.first = shared;
    team.last = last;
    team.queues = (int32_t)tfn__min(t->threads, TFN__QUEUES);
    tfn__on_threads(t->threads, tfn__team_member, &team);
}

/* Threads that share work outside a tape. */
typedef struct tfn__crew {
    char     before[64];           /* as in tfn__team */
    tfn__share_fn *f;
    void    *job;
    float   *work;                 /* scratch of all threads */
    int64_t  scratch;              /* floats of one */
    bool     alone;
    char     line[64];
    tfn__atomic queue;
    char     after[64];
} tfn__crew;

static void tfn__crew_member(void *crew, int index)
{
    tfn__crew *c = (tfn__crew *)crew;
    tfn__worker w;
    TFNORM_MEMSET(&w, 0, sizeof w);
    w.queue = &c->queue;
    w.alone = c->alone;
    if (c->work) w.work = c->work + index * c->scratch;
    c->f(c->job, &w);
}

/* Gives the caller the next part of an array of n items, `step` at a time, that no other thread has
 * taken, until it returns false. A part that belongs to a later array is kept until then. */
SHARED bool tfn__next_part(tfn__worker *w, tfn__range *s, ptrdiff_t n, ptrdiff_t step)
{
    uint64_t parts;
    if (w->alone) step = tfn__max(n, 1);
    parts = (uint64_t)tfn__pieces(n, step);
    if (!w->holds) w->taken = __atomic_fetch_add(w->queue, 1, __ATOMIC_RELAXED);
    w->holds = w->taken >= w->passed + parts;
    if (w->holds) {
        w->passed += parts;
        return false;
    }
    *s = tfn__slice(n, step, (ptrdiff_t)(w->taken - w->passed));
    return true;
}

/* Returns how many of the threads are worth starting for work over this many numbers. */
SHARED int32_t tfn__sharers(int32_t threads, int64_t floats)
{
    const int64_t most = floats / TFN__SHARE_FLOATS;
    if (most < threads) return (int32_t)tfn__max((ptrdiff_t)most, 1);
    return threads;
}

/* Lets so many threads do a job, each with `scratch` floats of `work`, and returns when it is done.
 * Parts are taken in any order by any thread, so each number must have one writer, and a sum must
 * have an order that does not depend on the parts. */
SHARED void tfn__share(int32_t threads, float *work, int64_t scratch, tfn__share_fn *f, void *job)
{
    tfn__crew crew;
    TFNORM_MEMSET(&crew, 0, sizeof crew);
    crew.f = f;
    crew.job = job;
    crew.work = work;
    crew.scratch = scratch;
    crew.alone = threads < 2 || TFNORM_PARALLEL_COUNT(threads) < 2;
    if (crew.alone) tfn__crew_member(&crew, 0);
    else tfn__on_threads(threads, tfn__crew_member, &crew);
}
#endif

/* Runs entries [first, last) of the timeline. */
SHARED void tfn__run_entries(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
#ifdef TFN__TEAMS
    const bool pays = t->threads > 1 && (TFN__ALWAYS_TEAMS || tfn__team_pays(t, r));
    if (pays && TFNORM_PARALLEL_COUNT(t->threads) > 1) {
        tfn__run_team(t, r, first, last);
        return;
    }
#endif
    tfn__run_serial(t, r, first, last);
}

/* True if a run binds everything that the tape reads. Tokens may be absent, they are 0 then, and so
 * may targets, when there is no loss. */
static bool tfn__run_bound(const tfn_tape *t, const tfn_run *r)
{
    if (!tfn__regions_bound(t, r)) return false;
    for (int i = 0; i < TFN_SLOTS; i++)
        if ((t->inputs_read >> i & 1) && !r->inputs[i]) return false;
    return true;
}
/* True if a run binds targets and a region for the gradients, which the backward needs. */
static bool tfn__backward_bound(const tfn_tape *t, const tfn_run *r)
{
    for (int i = 0; i < TFN_SLOTS; i++)
        if ((t->targets_read >> i & 1) && !r->ints[i]) return false;
    for (int i = 0; i < TFN_SLOTS; i++)
        if ((t->numbers_read >> i & 1) && !r->inputs[i]) return false;
    return tfn__bound(t->grads, r->grads);
}

/* True if the sizes of a run are within the tape's capacities. */
static bool tfn__batch_fits(const tfn_tape *t, const tfn_run *r)
{
    int64_t longest = tfn__max(r->source, r->target);
    if (r->batch < 0 || r->source < 0 || r->target < 0 || r->start < 0) return false;
    if (r->batch > t->batch || r->source > t->source || r->target > t->target) return false;
    return !t->tokens || r->batch * longest <= t->tokens;
}

/* Returns TFN_OK, or the reason why a run cannot start. A mistake in the run does not become the
 * tape's error, because the tape is const here. */
static tfn_status tfn__run_status(const tfn_tape *t, const tfn_run *r)
{
    if (!t || !r) return TFN_NULL;
    if (t->error.status != TFN_OK) return t->error.status;
    if (!t->planned || !tfn__run_bound(t, r)) return TFN_NOT_READY;
    if (!tfn__batch_fits(t, r)) return TFN_BAD_BATCH;
    return TFN_OK;
}

/* Computes all values. The backward finds the values that it reads in the workspace. */
TFNORM_API tfn_status tfn_tape_forward(const tfn_tape *t, const tfn_run *r)
{
    tfn_status status = tfn__run_status(t, r);
    if (status != TFN_OK) return status;
#ifdef TFN__CHECKED
    tfn__fill_nan(r->work, t->work);
#endif
    tfn__run_entries(t, r, 0, t->forward_count);
    return TFN_OK;
}

/* Sets the gradients that no entry writes to 0. Frozen parameters have no gradient. */
static void tfn__clear_unreached(const tfn_tape *t, const tfn_run *r)
{
    for (int32_t i = 1; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        if (n->op == TFN__OP_PARAM && n->grad >= 0 && !(n->flags & TFN__WRITTEN))
            TFNORM_MEMSET(r->grads + n->grad, 0,
                          (size_t)n->count * (size_t)n->cols * sizeof(float));
    }
}

/* Computes the gradients, from the values that the forward of the same run has left in the
 * workspace. */
TFNORM_API tfn_status tfn_tape_backward(const tfn_tape *t, const tfn_run *r)
{
    tfn_status status = tfn__run_status(t, r);
    if (status != TFN_OK) return status;
    if (!t->training || !tfn__backward_bound(t, r)) return TFN_NOT_READY;
    if (!r->accumulate) tfn__clear_unreached(t, r);
    tfn__run_entries(t, r, t->forward_count, t->order_count);
    return TFN_OK;
}
