#include "plan.h"
#include "../ground/basics.h"
#include "../kernels/blocks.h"
#include "../kernels/strips.h"
#include "../kernels/products.h"
#include "op_linear.h"
#include "op_loss.h"
#include "op_table.h"
#include "record.h"

/* -- plan: the timeline, then a place for every buffer by liveness --------------------------- */

SHARED int32_t tfn__timeline_entry(int32_t node, int32_t kind)
{
    return node*TFN__ENTRY_KINDS + kind;
}

/* How many of these a node of this tape has. */
static int tfn__buffers(const tfn_tape *t)
{
    if (t->training) return TFN__BUFFERS;
    return TFN__SAVE + 1;
}

/* Rows of a value in a run of these sizes. */
SHARED int64_t tfn__rows_at(const tfn_node *n, int64_t batch, int64_t source, int64_t target)
{
    if (n->rows == TFN_ROWS_FIXED) return n->count;
    if (n->rows == TFN_ROWS_BATCH) return batch;
    if (tfn__on_target(n->rows)) source = target;
    return tfn__rows_of_positions(n->rows, batch * source, batch);
}
/* The most rows of any run: B*Tt by the capacities, but not more than `tokens` positions. */
SHARED int64_t tfn__rows_max(const tfn_tape *t, const tfn_node *n)
{
    int64_t rows = tfn__rows_at(n, t->batch, t->source, t->target);
    int64_t most;
    if (!t->tokens || n->rows <= TFN_ROWS_BATCH) return rows;
    most = tfn__rows_of_positions(n->rows, t->tokens, t->batch);
    if (most < rows) return most;
    return rows;
}

/* The plan is made once, too; what came before this, entries and rows, every run asks for. */
TFN__RARE
/* Floats that a node with so many rows saves. */
SHARED int64_t tfn__saved_floats(const tfn_node *n, int64_t rows)
{
    if (n->flags & TFN__BATCH_STATISTICS) return n->saved_cols;
    return rows * n->saved_cols;
}

#ifndef TFNORM_NO_TRAINING
/* An operation of the user's has its own. */
static bool tfn__has_backward(const tfn_tape *t, const tfn_node *n)
{
    if (n->op == TFN__OP_CUSTOM) return tfn__custom_of(t, n)->backward != NULL;
    return tfn__ops[n->op].backward != NULL;
}
static const char *tfn__op_name(const tfn_tape *t, const tfn_node *n)
{
    if (n->op == TFN__OP_CUSTOM) return tfn__custom_of(t, n)->name;
    return tfn__ops[n->op].name;
}

/* Inputs that no gradient flows into: what a probe watches, and a table of angles. */
static bool tfn__constant(const tfn_node *n, int input)
{
    return n->op == TFN__OP_PROBE || (n->op == TFN__OP_ROTARY && input == 1);
}

/* Two passes find where gradients flow. Neither alone is enough: a value may depend on parameters
 * and not reach the loss (a probe's, or the last layer's cache), or reach it and depend on none
 * (an input, frozen features). Only what does both costs memory and time in the backward. */

/* LEARNS, from the first node to the last: a parameter that has a place for its gradient, which a
 * frozen one has not, or what reads a value that learns. */
static void tfn__mark_learns(tfn_tape *t)
{
    for (int32_t i = 1; i < t->count; i++) {
        tfn_node *n = t->nodes + i;
        if (n->op == TFN__OP_PARAM && n->grad >= 0) n->flags |= TFN__LEARNS;
        for (int j = 0; j < TFN_INPUTS; j++)
            if (n->in[j] && !tfn__constant(n, j) && (t->nodes[n->in[j]].flags & TFN__LEARNS))
                n->flags |= TFN__LEARNS;
    }
}

/* NEED, from the last node to the first: the last value, and what a value reads that has a gradient
 * itself; of these only what learns. */
static void tfn__mark_needs(tfn_tape *t)
{
    tfn_node *loss = t->nodes + t->count - 1;
    if (loss->flags & TFN__LEARNS) loss->flags |= TFN__NEED;
    for (int32_t i = t->count - 1; i > 0; i--) {
        tfn_node *n = t->nodes + i;
        if (!(n->flags & TFN__NEED)) continue;
        if (!tfn__is_leaf(n) && !tfn__has_backward(t, n)) {
            tfn__tape_error(t, TFN_NO_GRADIENT, tfn__op_name(t, n), NULL, 0, 0);
            t->error.node = i;
            t->error.layer = n->layer;
            return;
        }
        for (int j = 0; j < TFN_INPUTS; j++) {
            tfn_node *x = t->nodes + n->in[j];
            if (!n->in[j] || !(x->flags & TFN__LEARNS) || tfn__constant(n, j)) continue;
            x->flags |= TFN__NEED;
            n->grad_need |= (uint8_t)(1u << j);
        }
    }
}

/* A product's first factor is read for the gradient of its second one only, a frozen matrix or
 * scale: then nothing keeps that factor, the input of a map, alive for the backward. */
static void tfn__mark_reads(tfn_tape *t)
{
    for (int32_t i = 1; i < t->count; i++) {
        tfn_node *n = t->nodes + i;
        const bool convolution = TFN__ALL && n->op == TFN__OP_CONV;
        const bool product = n->op == TFN__OP_LINEAR || n->op == TFN__OP_SCALE || convolution;
        if (product && !(n->grad_need & TFN__IN1)) n->reads &= (uint8_t)~TFN__IN0;
    }
}

/* The end of the nodes from `first` on that are of its segment; *needed: one has a backward. */
static int32_t tfn__segment_end(const tfn_tape *t, int32_t first, bool *needed)
{
    int32_t i = first;
    *needed = false;
    for (; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        if (n->segment != t->nodes[first].segment) break;
        if (!tfn__is_leaf(n) && (n->flags & TFN__NEED)) *needed = true;
    }
    return i;
}

/* Gradient checkpointing (Chen 2016): only what a segment's readers outside need is kept between
 * forward and backward, the rest costs one more forward. The second forward draws the same dropout
 * mask, because that depends on the site alone. */

/* Values of a segment that nobody outside reads are made again in the backward, if it comes to the
 * segment: no gradient reaches a layer whose output nothing reads. */
static void tfn__mark_again(tfn_tape *t)
{
    int32_t end = 1;
    bool needed = false;
    for (int32_t i = 1; i < t->count; i++) {
        tfn_node *n = t->nodes + i;
        if (i == end) end = tfn__segment_end(t, i, &needed);
        if (!needed || !n->segment || tfn__outside(n) || (n->flags & TFN__KEEP)) continue;
        n->flags |= TFN__AGAIN;
    }

/* What another segment reads must outlive the forward: that reader's backward comes before
     * this segment's second forward. */
    for (int32_t i = 1; i < t->count; i++)
        for (int j = 0; j < TFN_INPUTS; j++) {
            tfn_node *x = t->nodes + t->nodes[i].in[j];
            if (x->segment != t->nodes[i].segment) x->flags &= (uint8_t)~TFN__AGAIN;
        }
    t->nodes[t->count - 1].flags &= (uint8_t)~TFN__AGAIN;
}

/* At most four entries a node, for which tfn_tape_bytes leaves room: forward, second forward,
 * prepare and backward. A probe has a forward and a backward, which comes when the gradient that it
 * watches is complete. */

/* The functions below write entries at e of the timeline and return its new end. */

/* The second forward of a segment. */
static int32_t tfn__redo(tfn_tape *t, int32_t segment, int32_t e)
{
    for (int32_t i = 1; i < t->count; i++)
        if (t->nodes[i].segment == segment && (t->nodes[i].flags & TFN__AGAIN))
            t->order[e++] = tfn__timeline_entry(i, TFN__REDO);
    return e;
}

/* A gradient is complete when its value's own backward comes: then its probes see it. */
static int32_t tfn__probe_order(tfn_tape *t, int32_t node, int32_t e)
{
    if (!(t->nodes[node].flags & TFN__PROBED)) return e;
    for (int32_t i = node + 1; i < t->count; i++)
        if (t->nodes[i].op == TFN__OP_PROBE && t->nodes[i].in[0] == node)
            t->order[e++] = tfn__timeline_entry(i, TFN__BACKWARD);
    return e;
}

/* The first writer of a gradient stores, later ones add. */
static void tfn__mark_writers(tfn_tape *t, tfn_node *n)
{
    for (int j = 0; j < TFN_INPUTS; j++) {
        tfn_node *x = t->nodes + n->in[j];
        if (!(n->grad_need >> j & 1)) continue;
        if (x->flags & TFN__WRITTEN) n->grad_add |= (uint8_t)(1u << j);
        x->flags |= TFN__WRITTEN;
    }
}

/* The backward half: the seed, then the nodes in reverse, each segment after its second forward. */
static int32_t tfn__backward_order(tfn_tape *t, int32_t e)
{
    int32_t redone = 0;
    for (int32_t i = 1; i < t->count; i++) t->nodes[i].flags &= (uint8_t)~TFN__WRITTEN;
    t->order[e++] = tfn__timeline_entry(t->count - 1, TFN__SEED);
    for (int32_t i = t->count - 1; i > 0; i--) {
        tfn_node *n = t->nodes + i;
        e = tfn__probe_order(t, i, e);
        if (tfn__is_leaf(n) || !(n->flags & TFN__NEED)) continue;
/* the first node of a segment, from behind, that has a backward */
        if (n->segment && n->segment != redone) {
            redone = n->segment;
            e = tfn__redo(t, redone, e);
        }
        if (n->op == TFN__OP_LINEAR && n->arg[TFN__LINEAR_ACTIVATION] != TFN_ACTIVATION_IDENTITY)
            t->order[e++] = tfn__timeline_entry(i, TFN__PREPARE);
        t->order[e++] = tfn__timeline_entry(i, TFN__BACKWARD);
        tfn__mark_writers(t, n);
    }
    return e;
}
#endif

/* The forward half: every node but the leaves, in order of recording, which is an order in which
 * inputs come first. */
static void tfn__make_order(tfn_tape *t)
{
    int32_t e = 0;
    for (int32_t i = 1; i < t->count; i++)
        if (!tfn__is_leaf(t->nodes + i)) t->order[e++] = tfn__timeline_entry(i, TFN__FORWARD);
    t->forward_count = e;
#ifndef TFNORM_NO_TRAINING
    if (t->training) e = tfn__backward_order(t, e);
#endif
    t->order_count = e;
}

/* From here on a plan is about memory alone. Every value, saved array and gradient is an item with
 * a size and a life [first, last] on the timeline. Two items may overlap in memory if and only if
 * their lives do not overlap. Finding the smallest block for all is NP-hard (it is two-dimensional
 * packing with one side fixed); placing the largest first comes close, since the small ones fill
 * the gaps that the large ones leave. Its cost is the square of the number of items at worst,
 * once. */

/* The items of a tape, every buffer of every node that has a place in the workspace. */
typedef struct tfn__layout {
    tfn_tape  *t;
    tfn__item *items;
    int32_t    count;
} tfn__layout;

/* The node and the buffer that an item is. */
static tfn_node *tfn__owner_of(const tfn__layout *p, const tfn__item *item)
{
    return p->t->nodes + item->owner / TFN__BUFFERS;
}
static int tfn__buffer_of(const tfn__item *item) { return item->owner % TFN__BUFFERS; }

/* The item of a buffer, by bisection: owners rise. */
static tfn__item *tfn__item_of(const tfn__layout *p, int32_t node, int buffer)
{
    const int32_t owner = node*TFN__BUFFERS + buffer;
    int32_t low = 0;
    int32_t high = p->count - 1;
/* low <= the wanted index <= high */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->items[middle].owner < owner) low = middle + 1;
        else high = middle;
    }
    return p->items + low;
}

/* A buffer is in use at entry e; e rises from call to call. */
static void tfn__touch(const tfn__layout *p, int32_t node, int buffer, int32_t e)
{
    tfn__item *item;
    if (tfn__outside(p->t->nodes + node)) return;
    item = tfn__item_of(p, node, buffer);
    if (item->first < 0) item->first = e;
    item->last = e;
}

/* All that entry e reads or writes is in use at e. A forward reads its inputs and writes value and
 * saved; a backward reads what its row says and the gradient, and writes those of its inputs. */
static void tfn__touch_entry(const tfn__layout *p, int32_t e)
{
    const tfn_tape *t = p->t;
    int32_t i = tfn__entry_node(t->order[e]);
    int32_t kind = tfn__entry_kind(t->order[e]);
    const tfn_node *n = t->nodes + i;
    bool forward = kind == TFN__FORWARD || kind == TFN__REDO;
    bool again = kind != TFN__FORWARD;
    int own = 2 * tfn__life_of(n, again);
    unsigned reads = n->reads;
    if (kind == TFN__SEED) {
        tfn__touch(p, i, TFN__GRAD, e);
        return;
    }
    if (forward) reads = TFN__READ_ALL;

/* inputs and their gradients; a probe reads the gradient of what it watches */
    for (int j = 0; j < TFN_INPUTS; j++) {
        int32_t x = n->in[j];
        bool gradient = (n->grad_need >> j & 1) || n->op == TFN__OP_PROBE;
        if (!x) continue;
        if (reads >> j & 1)
            tfn__touch(p, x, TFN__VALUE + 2 * tfn__life_of(t->nodes + x, again), e);
        if (!forward && gradient) tfn__touch(p, x, TFN__GRAD, e);
    }
/* the node's own buffers, of the life that this entry sees */
    if (reads & TFN__OUT) tfn__touch(p, i, TFN__VALUE + own, e);
    if (reads & TFN__SAVED) tfn__touch(p, i, TFN__SAVE + own, e);
    if (!forward) tfn__touch(p, i, TFN__GRAD, e);
}

/* Floats of a buffer at full capacity; 0: it needs no place. */
static int64_t tfn__buffer_floats(const tfn_tape *t, const tfn_node *n, int buffer)
{
    int64_t rows = tfn__rows_max(t, n);
    if (buffer == TFN__SAVE || buffer == TFN__SAVE2) return tfn__saved_floats(n, rows);
    if (buffer == TFN__GRAD && !(n->flags & TFN__NEED)) return 0;
    return rows * n->cols;
}

/* Whether somebody reads a buffer after the run: the user, who kept it, or the model, which makes
 * running statistics of those of the batch. */
static bool tfn__outlives(const tfn_node *n, int buffer)
{
    bool second_life = buffer == TFN__VALUE2 || buffer == TFN__SAVE2;
    bool saved = buffer == TFN__SAVE || buffer == TFN__SAVE2;
    if ((n->flags & TFN__KEEP) && !second_life) return true;
    return (n->flags & TFN__BATCH_STATISTICS) && saved;
}

/* Sizes and lives of all items. */
static void tfn__find_lives(const tfn__layout *p)
{
    const tfn_tape *t = p->t;
    for (int32_t e = 0; e < t->order_count; e++) tfn__touch_entry(p, e);
    for (int32_t k = 0; k < p->count; k++) {
        tfn__item *item = p->items + k;
        const tfn_node *n = tfn__owner_of(p, item);
        int buffer = tfn__buffer_of(item);
        item->size = tfn__padded(tfn__buffer_floats(t, n, buffer));
        if (tfn__outlives(n, buffer)) item->last = t->order_count;
    }
}

/* The order of placing. Equal sizes by owner: the same plan on every machine. */
static bool tfn__larger(const void *items, int32_t i, int32_t j)
{
    const tfn__item *a = (const tfn__item *)items + i;
    const tfn__item *b = (const tfn__item *)items + j;
    if (a->size != b->size) return a->size > b->size;
    return a->owner < b->owner;
}

/* The lowest offset at which an item fits between those that live at the same time. The placed ones
 * stand in order of their offset from head on. */
static int64_t tfn__lowest_place(const tfn__item *items, int32_t head, const tfn__item *item)
{
    int64_t at = 0;
    for (int32_t k = head; k >= 0; k = items[k].next) {
        const tfn__item *placed = items + k;
#ifndef TFNORM_DEBUG
        /* never in use at one time; in a debug build what is dead stays NaN, and nothing takes its
         * place */
        if (placed->first > item->last || item->first > placed->last) continue;
#endif
        /* the gap before it is large enough */
        if (placed->at - at >= item->size) break;
        if (placed->at + placed->size > at) at = placed->at + placed->size;
    }
    return at;
}

/* A list and a loop over it for every item: a plan is made once, and this needs no memory but the
 * items.
 *
 * Largest first, each at the lowest offset that is free during its whole life. The floats that all
 * together need are close to the most that live at one time. */
static int64_t tfn__place(tfn__item *items, int32_t count)
{
    int32_t *order = (int32_t *)(void *)(items + count);
    int32_t head = -1;
    int64_t end = 0;
    tfn__order(order, count, tfn__larger, items);
    for (int32_t i = 0; i < count; i++) {
        tfn__item *item = items + order[i];
        int32_t *link = &head;
        if (item->first < 0 || item->size <= 0) continue;
        item->at = tfn__lowest_place(items, head, item);
        if (item->at + item->size > end) end = item->at + item->size;

        while (*link >= 0) {                    /* into the list, behind those at lower offsets */
            if (items[*link].at > item->at) break;
            link = &items[*link].next;
        }
        item->next = *link;
        *link = order[i];
    }
    return end;
}

/* Write the places, behind the threads' scratch, into the nodes. */
static void tfn__settle(const tfn__layout *p)
{
    int64_t start = p->t->threads * p->t->scratch;
    for (int32_t k = 0; k < p->count; k++) {
        const tfn__item *item = p->items + k;
        tfn_node *n = tfn__owner_of(p, item);
        int buffer = tfn__buffer_of(item);
        n->dies[buffer] = -1;
        if (item->size <= 0 || item->first < 0) continue;
        n->dies[buffer] = item->last;
        if (buffer == TFN__GRAD) n->grad = start + item->at;
        else if (buffer % 2 == TFN__VALUE) n->value[buffer / 2] = start + item->at;
        else n->saved[buffer / 2] = start + item->at;
    }
}

/* -- scratch: what packing of matrices and scores of attention take, for each thread ----------- */

/* Of a linear map or convolution: the product (rows, in) (in, out), in training those of both
 * gradients, and of a transposed W's. Who decodes one sentence, from flash perhaps, pays for no
 * packed matrix. */
static int64_t tfn__product_work(const tfn_tape *t, const tfn_kernels *k, ptrdiff_t rows,
                                 ptrdiff_t in, ptrdiff_t out)
{
    ptrdiff_t work = k->matmul_work(rows, out, in);
    if (!t->training) return work;
    work = tfn__max(work, k->matmul_work(rows, in, out));
    work = tfn__max(work, k->matmul_work(in, out, rows));
    return tfn__max(work, k->matmul_work(out, in, rows));
}

#ifdef TFN__QUANT
/* The same with packed weights: the product, and in training that of dx, tile by tile. dW is not
 * wanted: packed weights are frozen. */
static int64_t tfn__packed_work(const tfn_tape *t, const tfn_kernels *k, tfn_weights type,
                                ptrdiff_t rows, ptrdiff_t in, ptrdiff_t out)
{
    const ptrdiff_t tile = tfn__min(out, TFN__QTILE_K);
    const ptrdiff_t work = tfn_quant_work(k, type, rows, out, in);
    if (!t->training) return work;
    return tfn__max(work, in * tile + k->matmul_work(rows, in, tile));
}
#endif

/* Scratch floats one thread wants for a node at full capacity. */
static int64_t tfn__scratch_of(const tfn_tape *t, const tfn_kernels *k, const tfn_node *n)
{
    ptrdiff_t rows = (ptrdiff_t)tfn__rows_max(t, n);
    const tfn_node *x = t->nodes + n->in[0];
    const tfn_node *w = t->nodes + n->in[1];            /* of attention: the keys */
#ifdef TFN__QUANT
    if (n->op == TFN__OP_LINEAR && tfn__packed_node(w).type)
        return tfn__packed_work(t, k, tfn__packed_node(w).type, rows, x->cols, n->cols);
#endif
    if (n->op == TFN__OP_LINEAR) {
        if (!t->training && rows <= TFN__VECTOR_ROWS && !n->arg[TFN__LINEAR_TRANSPOSED]) return 0;
        return tfn__product_work(t, k, rows, x->cols, n->cols);
    }
    if (TFN__ALL && n->op == TFN__OP_CONV) return tfn__product_work(t, k, rows, w->count, n->cols);
    if (n->op == TFN__OP_ATTEND) {
        ptrdiff_t queries = t->target;
        ptrdiff_t keys = t->target;
        if (n->rows == TFN_ROWS_SOURCE) queries = t->source;
        if (w->rows == TFN_ROWS_SOURCE) keys = t->source;
        return k->attention_work(queries, keys, n->cols / n->arg[TFN__ATTEND_HEADS]);
    }
    if (TFN__DECODES && n->op == TFN__OP_CACHED) {
        const tfn_node *cache = t->nodes + n->arg[TFN__CACHED_CACHE];
        const int32_t size = n->cols / n->arg[TFN__CACHED_HEADS];
        ptrdiff_t floats = k->attention_work(0, cache->arg[TFN__CACHE_CAPACITY], size);
#ifdef TFN__QUANT
        if (cache->arg[TFN__CACHE_TYPE]) floats += (ptrdiff_t)TFN__CACHE_BLOCK * size;
#endif
        return floats;
    }
    return 0;
}

/* The most of all nodes: threads work on one entry at a time. */
static int64_t tfn__most_scratch(const tfn_tape *t, const tfn_kernels *k)
{
    int64_t most = 0;
    for (int32_t i = 1; i < t->count; i++) {
        int64_t floats = tfn__padded(tfn__scratch_of(t, k, t->nodes + i));
        if (floats > most) most = floats;
    }
    return most;
}

/* -- the plan's memory, and the plan ----------------------------------------------------------- */

/* There are not too many nodes, and no buffer is so large that the sums of the plan, in 64 bits, or
 * a pointer could overflow. As a float, which does not, and whose roundings are far from what
 * could. */
static bool tfn__plan_sizes_ok(tfn_tape *t)
{
    for (int32_t i = 1; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        float floats = tfn__float_of(tfn__rows_max(t, n)) * ((float)n->cols + (float)n->saved_cols);
        const bool large = floats > (float)1e15 || floats > (float)(PTRDIFF_MAX / 64);
        if (large || i > TFN__MOST_NODES) {
            tfn__tape_error(t, TFN_TOO_LARGE, tfn__ops[n->op].name, NULL, 0, 0);
            return false;
        }
    }
    return true;
}

/* Bytes of nodes and timeline, which stay; items and their order, which do not, lie behind. */
SHARED size_t tfn__order_end(const tfn_tape *t)
{
    size_t entries = 1;                         /* of a node, at most */
    if (t->training) entries = 4;
    return ((size_t)t->count * (sizeof(tfn_node) + entries * sizeof(int32_t)) + 15) / 16 * 16;
}

/* Bytes of all of them. */
SHARED size_t tfn__plan_bytes(const tfn_tape *t)
{
    const size_t items = (size_t)t->placed * (size_t)tfn__buffers(t);
    return tfn__order_end(t) + items * (sizeof(tfn__item) + sizeof(int32_t));
}

/* Find room for the timeline and the items, and list these without life or place. */
static bool tfn__plan_memory(tfn_tape *t, tfn__layout *p)
{
    size_t start = tfn__order_end(t);
    tfn__item *item;
    p->t = t;
    p->count = t->placed * tfn__buffers(t);
    t->peak = tfn__plan_bytes(t);
    if (!tfn__has_room(t, "tape", t->peak - (size_t)t->count * sizeof *t->nodes)) return false;
    t->order = (int32_t *)(void *)(t->nodes + t->count);
    p->items = (tfn__item *)(void *)((unsigned char *)t->nodes + start);

    item = p->items;
    for (int32_t i = 1; i < t->count; i++) {
        if (tfn__outside(t->nodes + i)) continue;
        for (int b = 0; b < tfn__buffers(t); b++) {
            TFNORM_MEMSET(item, 0, sizeof *item);
            item->first = -1;
            item->last = -1;
            item->owner = i*TFN__BUFFERS + b;
            item++;
        }
    }
    return true;
}

/* Mark what has a gradient, write the timeline, find the lives, place the buffers. The places are
 * offsets, so that the plan serves any workspace and any number of runs. */
TFNORM_API tfn_status tfn_tape_plan(tfn_tape *t, const tfn_kernels *kernels, int32_t threads)
{
    tfn__layout layout;
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tape", t->nodes);
    tfn__given(&t->error, "tape", "kernels", kernels);
    if (t->error.status == TFN_OK && t->count < 2)
        tfn__tape_error(t, TFN_NOT_READY, "tape", "nothing is recorded", 0, 0);
/* What the block must hold is known from the nodes alone. */
    if (t->error.status != TFN_OK || !tfn__plan_sizes_ok(t)) return t->error.status;
    if (!tfn__plan_memory(t, &layout)) return t->error.status;
    t->kernels = kernels;
#ifdef TFN__QUANT
    t->quant = tfn__quant_beside(kernels);
#endif
    t->threads = (int32_t)tfn__max(threads, 1);
#ifndef TFNORM_NO_TRAINING
    if (t->training) {
        tfn__mark_learns(t);
        tfn__mark_needs(t);
        tfn__mark_reads(t);
        tfn__mark_again(t);
    }
#else
    if (t->training)
        tfn__tape_error(t, TFN_UNSUPPORTED, "tape", "left out by TFNORM_NO_TRAINING", 0, 0);
#endif
    if (t->error.status != TFN_OK) return t->error.status;

    tfn__make_order(t);
    tfn__find_lives(&layout);
    t->values = tfn__place(layout.items, layout.count);
/* Scratch first, for each thread; the values behind it. */
    t->scratch = tfn__most_scratch(t, kernels);
    tfn__settle(&layout);
    t->work = t->values + t->threads * t->scratch;
    t->planned = true;
    return TFN_OK;
}
TFN__RARE_END
