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

/* Returns the number of buffers for each node of this tape. */
static int tfn__buffers(const tfn_tape *t)
{
    if (t->training) return TFN__BUFFERS;
    return TFN__SAVE + 1;
}

/* Returns the rows of a value in a run of these sizes. */
SHARED int64_t tfn__rows_at(const tfn_node *n, int64_t batch, int64_t source, int64_t target)
{
    if (n->rows == TFN_ROWS_FIXED) return n->count;
    if (n->rows == TFN_ROWS_BATCH) return batch;
    if (tfn__on_target(n->rows)) source = target;
    return tfn__rows_of_positions(n->rows, batch * source, batch);
}
/* Returns the most rows in any run: B*Tt at capacity, but at most `tokens` positions. */
SHARED int64_t tfn__rows_max(const tfn_tape *t, const tfn_node *n)
{
    int64_t rows = tfn__rows_at(n, t->batch, t->source, t->target);
    int64_t most;
    if (!t->tokens || n->rows <= TFN_ROWS_BATCH) return rows;
    most = tfn__rows_of_positions(n->rows, t->tokens, t->batch);
    if (most < rows) return most;
    return rows;
}

/* The plan is made once. Entries and rows, above, are used in every run. */
TFN__RARE
/* Returns the floats that a node with this many rows saves. */
SHARED int64_t tfn__saved_floats(const tfn_node *n, int64_t rows)
{
    if (n->flags & TFN__BATCH_STATISTICS) return n->saved_cols;
    return rows * n->saved_cols;
}

/* A user's operation has its own backward. */
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

/* True for inputs that get no gradient: the input of a probe, and the table of angles. */
static bool tfn__constant(const tfn_node *n, int input)
{
    return n->op == TFN__OP_PROBE || (n->op == TFN__OP_ROTARY && input == 1);
}

/* Two passes find where gradients flow. Both are needed: a value may depend on parameters and not
 * reach the loss (a probe's, or the last layer's cache), or reach it and not depend on any (an
 * input, frozen features). Only values with both properties cost memory and time in the backward.
 */

/* Marks LEARNS, from the first node to the last: parameters with a place for a gradient, which
 * frozen ones lack, and nodes that read a value that learns. */
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

/* Marks NEED, from the last node to the first: the last value, and inputs of nodes with a gradient,
 * if they learn. */
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

/* The first factor of a product is read only for the gradient of the second. If that is a frozen
 * matrix or scale, the first factor need not stay alive for the backward. */
static void tfn__mark_reads(tfn_tape *t)
{
    for (int32_t i = 1; i < t->count; i++) {
        tfn_node *n = t->nodes + i;
        const bool convolution = TFN__ALL && n->op == TFN__OP_CONV;
        const bool product = n->op == TFN__OP_LINEAR || n->op == TFN__OP_SCALE || convolution;
        if (product && !(n->grad_need & TFN__IN1)) n->reads &= (uint8_t)~TFN__IN0;
    }
}

/* Returns the end of the segment that starts at `first`; *needed: one of its nodes has a backward.
 */
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

/* Gradient checkpointing (Chen 2016): only values that other segments read are kept between forward
 * and backward; the others cost one more forward. It draws the same dropout masks, because they
 * depend only on the site. */

/* Marks the values of a segment that only it reads, to compute them again in the backward if the
 * segment has one. No gradient reaches a layer whose output is not read. */
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

/* A value that another segment reads must outlive the forward, because that reader's backward comes
 * before this segment's second forward. */
    for (int32_t i = 1; i < t->count; i++)
        for (int j = 0; j < TFN_INPUTS; j++) {
            tfn_node *x = t->nodes + t->nodes[i].in[j];
            if (x->segment != t->nodes[i].segment) x->flags &= (uint8_t)~TFN__AGAIN;
        }
    t->nodes[t->count - 1].flags &= (uint8_t)~TFN__AGAIN;
}

/* A node has at most four entries: forward, second forward, prepare and backward. tfn_tape_bytes
 * leaves room for these. A probe has a forward, and a backward when the gradient it watches is
 * complete. */

/* The functions below write entries at e of the timeline and return its new end. */

/* Writes the second forward of a segment. */
static int32_t tfn__redo(tfn_tape *t, int32_t segment, int32_t e)
{
    for (int32_t i = 1; i < t->count; i++)
        if (t->nodes[i].segment == segment && (t->nodes[i].flags & TFN__AGAIN))
            t->order[e++] = tfn__timeline_entry(i, TFN__REDO);
    return e;
}

/* Writes a value's probes before its own backward, when its gradient is complete. */
static int32_t tfn__probe_order(tfn_tape *t, int32_t node, int32_t e)
{
    if (!(t->nodes[node].flags & TFN__PROBED)) return e;
    for (int32_t i = node + 1; i < t->count; i++)
        if (t->nodes[i].op == TFN__OP_PROBE && t->nodes[i].in[0] == node)
            t->order[e++] = tfn__timeline_entry(i, TFN__BACKWARD);
    return e;
}

/* The first writer of a gradient stores it, later ones add. */
static void tfn__mark_writers(tfn_tape *t, tfn_node *n)
{
    for (int j = 0; j < TFN_INPUTS; j++) {
        tfn_node *x = t->nodes + n->in[j];
        if (!(n->grad_need >> j & 1)) continue;
        if (x->flags & TFN__WRITTEN) n->grad_add |= (uint8_t)(1u << j);
        x->flags |= TFN__WRITTEN;
    }
}

/* Writes the backward: the seed, then the nodes in reverse, each segment after its second forward.
 */
static int32_t tfn__backward_order(tfn_tape *t, int32_t e)
{
    int32_t redone = 0;
    for (int32_t i = 1; i < t->count; i++) t->nodes[i].flags &= (uint8_t)~TFN__WRITTEN;
    t->order[e++] = tfn__timeline_entry(t->count - 1, TFN__SEED);
    for (int32_t i = t->count - 1; i > 0; i--) {
        tfn_node *n = t->nodes + i;
        e = tfn__probe_order(t, i, e);
        if (tfn__is_leaf(n) || !(n->flags & TFN__NEED)) continue;
        /* the segment's last node with a backward comes first */
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

/* Writes the forward: every node except leaves, in the order of recording, in which inputs come
 * first. */
static void tfn__make_order(tfn_tape *t)
{
    int32_t e = 0;
    for (int32_t i = 1; i < t->count; i++)
        if (!tfn__is_leaf(t->nodes + i)) t->order[e++] = tfn__timeline_entry(i, TFN__FORWARD);
    t->forward_count = e;
    if (TFN__TRAINS && t->training) e = tfn__backward_order(t, e);
    t->order_count = e;
}

/* The rest of the plan places buffers in memory. Every value, saved array and gradient is an item
 * with a size and a life [first, last] on the timeline. Two items may overlap in memory only if
 * their lives do not. Finding the smallest block is NP-hard (two-dimensional packing with one side
 * fixed). Placing the largest first comes close, because small items fill the gaps between large
 * ones. It takes at most the square of the number of items, once. */

/* The items of a tape: every buffer of every node that has a place in the workspace. */
typedef struct tfn__layout {
    tfn_tape  *t;
    tfn__item *items;
    int32_t    count;
} tfn__layout;

/* Return the node and the buffer of an item. */
static tfn_node *tfn__owner_of(const tfn__layout *p, const tfn__item *item)
{
    return p->t->nodes + item->owner / TFN__BUFFERS;
}
static int tfn__buffer_of(const tfn__item *item) { return item->owner % TFN__BUFFERS; }

/* Returns the item of a buffer by bisection. Items are ordered by owner. */
static tfn__item *tfn__item_of(const tfn__layout *p, int32_t node, int buffer)
{
    const int32_t owner = node*TFN__BUFFERS + buffer;
    int32_t low = 0;
    int32_t high = p->count - 1;
    /* low <= the index <= high */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->items[middle].owner < owner) low = middle + 1;
        else high = middle;
    }
    return p->items + low;
}

/* Marks a buffer as used at entry e. Calls come in order of e. */
static void tfn__touch(const tfn__layout *p, int32_t node, int buffer, int32_t e)
{
    tfn__item *item;
    if (tfn__outside(p->t->nodes + node)) return;
    item = tfn__item_of(p, node, buffer);
    if (item->first < 0) item->first = e;
    item->last = e;
}

/* Marks everything that entry e uses. A forward reads its inputs and writes value and saved. A
 * backward reads what its row says and its gradient, and writes the gradients of inputs. */
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

    /* inputs and their gradients; a probe reads the gradient of its input */
    for (int j = 0; j < TFN_INPUTS; j++) {
        int32_t x = n->in[j];
        bool gradient = (n->grad_need >> j & 1) || n->op == TFN__OP_PROBE;
        if (!x) continue;
        if (reads >> j & 1)
            tfn__touch(p, x, TFN__VALUE + 2 * tfn__life_of(t->nodes + x, again), e);
        if (!forward && gradient) tfn__touch(p, x, TFN__GRAD, e);
    }
    /* the node's own buffers, in the life of this entry */
    if (reads & TFN__OUT) tfn__touch(p, i, TFN__VALUE + own, e);
    if (reads & TFN__SAVED) tfn__touch(p, i, TFN__SAVE + own, e);
    if (!forward) tfn__touch(p, i, TFN__GRAD, e);
}

/* Returns the floats of a buffer at full capacity, or 0 if it needs no place. */
static int64_t tfn__buffer_floats(const tfn_tape *t, const tfn_node *n, int buffer)
{
    int64_t rows = tfn__rows_max(t, n);
    if (buffer == TFN__SAVE || buffer == TFN__SAVE2) return tfn__saved_floats(n, rows);
    if (buffer == TFN__GRAD && !(n->flags & TFN__NEED)) return 0;
    return rows * n->cols;
}

/* True if a buffer is read after the run: by the user (tfn_keep), or by the model, which updates
 * running statistics from the batch's. */
static bool tfn__outlives(const tfn_node *n, int buffer)
{
    bool second_life = buffer == TFN__VALUE2 || buffer == TFN__SAVE2;
    bool saved = buffer == TFN__SAVE || buffer == TFN__SAVE2;
    if ((n->flags & TFN__KEEP) && !second_life) return true;
    return (n->flags & TFN__BATCH_STATISTICS) && saved;
}

/* Finds the sizes and lives of all items. */
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

/* The order of placing: by size, then by owner, so that the plan is the same on every machine. */
static bool tfn__larger(const void *items, int32_t i, int32_t j)
{
    const tfn__item *a = (const tfn__item *)items + i;
    const tfn__item *b = (const tfn__item *)items + j;
    if (a->size != b->size) return a->size > b->size;
    return a->owner < b->owner;
}

/* Returns the lowest offset where an item fits between placed items that live at the same time.
 * Placed items are linked in order of offset, from head on. */
static int64_t tfn__lowest_place(const tfn__item *items, int32_t head, const tfn__item *item)
{
    int64_t at = 0;
    for (int32_t k = head; k >= 0; k = items[k].next) {
        const tfn__item *placed = items + k;
#ifndef TFNORM_DEBUG
        /* not used at the same time; debug builds reuse no memory, so that dead values stay NaN */
        if (placed->first > item->last || item->first > placed->last) continue;
#endif
        /* the gap before it is large enough */
        if (placed->at - at >= item->size) break;
        if (placed->at + placed->size > at) at = placed->at + placed->size;
    }
    return at;
}

/* Places items largest first, each at the lowest offset that is free during its whole life. The
 * total is close to the most floats that live at one time. One loop over a list for each item needs
 * no other memory, and a plan is made only once. */
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

        while (*link >= 0) {                    /* insert it after those at lower offsets */
            if (items[*link].at > item->at) break;
            link = &items[*link].next;
        }
        item->next = *link;
        *link = order[i];
    }
    return end;
}

/* Writes the places, after the threads' scratch, into the nodes. */
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

/* -- scratch of each thread: packed matrices, scores of attention ---------------------------- */

/* Returns the scratch of a linear map or convolution: the product (rows, in) (in, out), and in
 * training the products of both gradients, also for a transposed W. Decoding one sentence needs no
 * packed matrix, which may then stay in flash. */
static int64_t tfn__product_work(const tfn_tape *t, const tfn_kernels *k, ptrdiff_t rows,
                                 ptrdiff_t in, ptrdiff_t out)
{
    ptrdiff_t work = k->matmul_work(rows, out, in);
    if (!t->training) return work;
    work = tfn__max(work, k->matmul_work(rows, in, out));
    work = tfn__max(work, k->matmul_work(in, out, rows));
    return tfn__max(work, k->matmul_work(out, in, rows));
}

#if TFN__PACKS
/* The same with packed weights: the product, and in training the product for dx, tile by tile.
 * There is no dW, because packed weights are frozen. */
static int64_t tfn__packed_work(const tfn_tape *t, const tfn_kernels *k, tfn_weights type,
                                ptrdiff_t rows, ptrdiff_t in, ptrdiff_t out)
{
    const ptrdiff_t tile = tfn__min(out, TFN__QTILE_K);
    const ptrdiff_t work = tfn_quant_work(k, type, rows, out, in);
    if (!t->training) return work;
    return tfn__max(work, in * tile + k->matmul_work(rows, in, tile));
}
#endif

/* Returns the floats of scratch that one thread needs for a node at full capacity. */
static int64_t tfn__scratch_of(const tfn_tape *t, const tfn_kernels *k, const tfn_node *n)
{
    ptrdiff_t rows = (ptrdiff_t)tfn__rows_max(t, n);
    const tfn_node *x = t->nodes + n->in[0];
    const tfn_node *w = t->nodes + n->in[1];            /* for attention: the keys */
#if TFN__PACKS
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
        const ptrdiff_t queries = t->target;
        ptrdiff_t floats = k->attention_work(-queries, cache->arg[TFN__CACHE_CAPACITY], size);
        if (TFN__PACKS && cache->arg[TFN__CACHE_TYPE])
            floats += (ptrdiff_t)TFN__CACHE_BLOCK * size;
        return floats;
    }
    return 0;
}

/* Returns the most scratch of any node. All threads work on the same entry. */
static int64_t tfn__most_scratch(const tfn_tape *t, const tfn_kernels *k)
{
    int64_t most = 0;
    for (int32_t i = 1; i < t->count; i++) {
        int64_t floats = tfn__padded(tfn__scratch_of(t, k, t->nodes + i));
        if (floats > most) most = floats;
    }
    return most;
}

/* -- memory for planning, and the plan ------------------------------------------------------- */

/* Checks the number of nodes, and that no buffer is so large that 64-bit sums or pointers could
 * overflow. The check uses floats, which do not overflow; their rounding does not matter at this
 * distance. */
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

/* Returns the bytes of nodes and timeline, which stay. Items and their order follow until the plan
 * is made. */
SHARED size_t tfn__order_end(const tfn_tape *t)
{
    size_t entries = 1;                         /* of a node, at most */
    if (t->training) entries = 4;
    return ((size_t)t->count * (sizeof(tfn_node) + entries * sizeof(int32_t)) + 15) / 16 * 16;
}

/* Returns the bytes of all of these. */
SHARED size_t tfn__plan_bytes(const tfn_tape *t)
{
    const size_t items = (size_t)t->placed * (size_t)tfn__buffers(t);
    return tfn__order_end(t) + items * (sizeof(tfn__item) + sizeof(int32_t));
}

/* Finds room for timeline and items, and lists the items without lives or places. */
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

/* Marks gradients, writes the timeline, finds lives and places buffers. Places are offsets, so the
 * plan works with any workspace and for any number of runs. */
TFNORM_API tfn_status tfn_tape_plan(tfn_tape *t, const tfn_kernels *kernels, int32_t threads)
{
    tfn__layout layout;
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tape", t->nodes);
    tfn__given(&t->error, "tape", "kernels", kernels);
    if (t->error.status == TFN_OK && t->count < 2)
        tfn__tape_error(t, TFN_NOT_READY, "tape", "nothing is recorded", 0, 0);
    /* the size of the block depends only on the nodes */
    if (t->error.status != TFN_OK || !tfn__plan_sizes_ok(t)) return t->error.status;
    if (!tfn__plan_memory(t, &layout)) return t->error.status;
    t->kernels = kernels;
#if TFN__PACKS
    t->quant = tfn__quant_beside(kernels);
#endif
    t->threads = (int32_t)tfn__max(threads, 1);
    if (TFN__TRAINS && t->training) {
        tfn__mark_learns(t);
        tfn__mark_needs(t);
        tfn__mark_reads(t);
        tfn__mark_again(t);
    } else if (t->training) {
        tfn__tape_error(t, TFN_UNSUPPORTED, "tape", "left out by TFNORM_NO_TRAINING", 0, 0);
    }
    if (t->error.status != TFN_OK) return t->error.status;

    tfn__make_order(t);
    tfn__find_lives(&layout);
    t->values = tfn__place(layout.items, layout.count);
    /* scratch comes first, for each thread, then the values */
    t->scratch = tfn__most_scratch(t, kernels);
    tfn__settle(&layout);
    t->work = t->values + t->threads * t->scratch;
    t->planned = true;
    return TFN_OK;
}
TFN__RARE_END
