#include "op_attention.h"
#include "../ground/ground.h"
#include "../ground/tables.h"
#include "../kernels/packing.h"
#include "../kernels/products.h"
#include "op_linear.h"
#include "op_values.h"

/* -- embeddings and positions ---------------------------------------------------------------- */

/* Returns the position of the first row of a sentence, which is the number of positions decoded so
 * far. A source is always read from its beginning. */
static ptrdiff_t tfn__start_of(const tfn__call *c)
{
    if (c->n->rows == TFN_ROWS_SOURCE) return 0;
    return c->r->start;
}

#if TFN__PACKS
/* tfn__embed_op for a packed table. A token outside the table gives zeros. */
static void tfn__packed_words(const tfn__call *c, const int32_t *tokens, tfn__range s, float scale)
{
    const tfn__packed table = tfn__packed_input(c, 0);
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++) {
        float *y = c->y + r * c->cols;
        int32_t v = 0;
        if (tokens) v = tokens[r];
        if (v >= 0 && v < table.rows) tfn__packed_row(y, c->x[0], &table, v, scale, c->t->quant);
        else TFNORM_MEMSET(y, 0, (size_t)c->cols * sizeof *y);
    }
}
#endif

/* y = scale * row `token` of x. in: table; number: scale. If the run binds no tokens, every row
 * reads row 0 of the table, as for the segments of a single text. */
SHARED void tfn__embed_op(const tfn__call *c)
{
    static const int32_t zero = 0;
    const int32_t *tokens = c->r->ints[c->n->arg[TFN__EMBED_SLOT]];
    const float scale = c->n->number[0];
    tfn__range s = tfn__chunk_rows(c);
#if TFN__PACKS
    if (tfn__packed_input(c, 0).type) {
        tfn__packed_words(c, tokens, s, scale);
        return;
    }
#endif
    if (tokens) {
        c->k->embed_forward(c->y + s.first*c->cols, c->x[0], tokens + s.first, s.count, c->cols,
                            c->x_rows[0], scale);
        return;
    }
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        c->k->embed_forward(c->y + r*c->cols, c->x[0], &zero, 1, c->cols, c->x_rows[0], scale);
}

/* Returns how many sentences are in a chunk of an operation that depends on the position. */
static ptrdiff_t tfn__sentence_step(const tfn__call *c)
{
    return tfn__row_step(c, c->r->batch, tfn__time_of(c) * c->cols);
}
SHARED ptrdiff_t tfn__by_positions(const tfn__call *c)
{
    if (tfn__serial(c)) return 1;
    return tfn__pieces(c->r->batch, tfn__sentence_step(c));
}
/* Returns the sentences of this chunk. */
static tfn__range tfn__chunk_sentences(const tfn__call *c)
{
    return tfn__slice(c->r->batch, tfn__sentence_step(c), c->chunk);
}

/* y = x + row of the position. in: x, table (positions, C) */
SHARED void tfn__position_op(const tfn__call *c)
{
    const tfn__range s = tfn__chunk_sentences(c);
    const ptrdiff_t time = tfn__time_of(c);
    const ptrdiff_t at = s.first * time * c->cols;
    c->k->position_forward(c->y + at, c->x[0] + at, c->x[1], s.count, time, c->cols,
                           tfn__start_of(c));
}

/* Rotates pairs of channels of each head by the angle of the position (RoPE, Su 2021, eq. 34), or
 * back, for gradients. in: x, table of cosines and sines (positions, head size) */
static void tfn__rotate(const tfn__call *c, float *out, const float *in, bool back, bool add)
{
    const int32_t head_size = c->n->arg[TFN__ROTARY_HEAD_SIZE];
    const tfn__range s = tfn__chunk_sentences(c);
    const ptrdiff_t time = tfn__time_of(c);
    const ptrdiff_t at = s.first * time * c->cols;
    c->k->rotary(out + at, in + at, c->x[1], s.count, time, c->cols / head_size, head_size,
                 tfn__start_of(c), back, add);
}
SHARED void tfn__rotary_op(const tfn__call *c) { tfn__rotate(c, c->y, c->x[0], false, false); }

/* Copies one row of each sentence: y (B, C) from x (B*T, C). A classifier reads the first row. A
 * decoder reads the last row of a prompt of T tokens. */
static ptrdiff_t tfn__x_time(const tfn__call *c) { return c->x_rows[0] / tfn__max(c->rows, 1); }
static void tfn__pick_rows(const tfn__call *c, ptrdiff_t position)
{
    ptrdiff_t time = tfn__x_time(c);
    for (ptrdiff_t b = 0; b < c->rows; b++)
        TFNORM_MEMCPY(c->y + b*c->cols, c->x[0] + (b*time + position)*c->cols,
                      (size_t)c->cols * sizeof(float));
}
/* Pick the first position, and the last. */
SHARED void tfn__first_forward(const tfn__call *c) { tfn__pick_rows(c, 0); }
SHARED void tfn__last_forward(const tfn__call *c) { tfn__pick_rows(c, tfn__x_time(c) - 1); }

/* Clears some columns of a (rows, cols) gradient, before rows are added to it. */
static void tfn__clear_cols(float *d, ptrdiff_t rows, ptrdiff_t cols, tfn__range j)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        TFNORM_MEMSET(d + r*cols + j.first, 0, (size_t)j.count * sizeof *d);
}

/* Row `token` of dtable += scale * dy, with tokens in order. Threads divide the columns. */
SHARED void tfn__embed_backward_op(const tfn__call *c)
{
    static const int32_t zero = 0;
    const int32_t *tokens = c->r->ints[c->n->arg[TFN__EMBED_SLOT]];
    const float scale = c->n->number[0];
    tfn__range j = tfn__cols_of(c, c->cols, c->chunk);
    float *dtable = c->dx[0] + j.first;
    const float *dy = c->dy + j.first;
    if (!c->add[0]) tfn__clear_cols(c->dx[0], c->x_rows[0], c->cols, j);
    if (tokens) {
        c->k->embed_backward(dtable, dy, tokens, c->rows, j.count, c->cols, c->x_rows[0], scale);
        return;
    }
    for (ptrdiff_t r = 0; r < c->rows; r++)
        c->k->embed_backward(dtable, dy + r*c->cols, &zero, 1, j.count, c->cols, c->x_rows[0],
                             scale);
}

/* dx = dy; dtable is the sum over the sentences. */
SHARED void tfn__position_backward_op(const tfn__call *c)
{
    ptrdiff_t rows = tfn__by_rows(c);
    tfn__range j;
    if (c->chunk < rows) {
        tfn__pass_on(c, 0, 1);
        return;
    }
    j = tfn__cols_of(c, c->cols, c->chunk - rows);
    if (!c->add[1]) tfn__clear_cols(c->dx[1], c->x_rows[1], c->cols, j);
    c->k->position_backward(c->dx[1] + j.first, c->dy + j.first, c->r->batch, tfn__time_of(c),
                            j.count, c->cols, tfn__start_of(c), true);
}
/* Chunks are rows of dx, then columns of the table's gradient, if it is learned. */
SHARED ptrdiff_t tfn__position_backward_chunks(const tfn__call *c)
{
    if (!c->dx[1]) return tfn__by_rows(c);
    return tfn__by_rows(c) + tfn__by_cols(c);
}

/* The transpose of a rotation is the inverse rotation. */
SHARED void tfn__rotary_backward(const tfn__call *c)
{
    tfn__rotate(c, c->dx[0], c->dy, true, c->add[0]);
}

/* The rows that were not picked have gradient 0. */
static void tfn__pick_rows_backward(const tfn__call *c, ptrdiff_t position)
{
    ptrdiff_t time = tfn__x_time(c);
    tfn__start_sum(c->dx[0], c->x_rows[0] * c->cols, c->add[0]);
    for (ptrdiff_t b = 0; b < c->rows; b++)
        c->k->combine(c->dx[0] + (b*time + position)*c->cols, c->dy + b*c->cols, NULL, c->cols, 1,
                      0, true);
}
SHARED void tfn__first_backward(const tfn__call *c) { tfn__pick_rows_backward(c, 0); }
/* The same for the last position. */
SHARED void tfn__last_backward(const tfn__call *c)
{
    tfn__pick_rows_backward(c, tfn__x_time(c) - 1);
}

/* -- scores by distance. in: numbers of buckets (buckets, H) ----------------------------------- */

static int32_t tfn__bucket_of(const tfn__call *c, ptrdiff_t d, ptrdiff_t span)
{
    return tfn__bucket((int32_t)(d - span / 2), (int32_t)c->x_rows[0],
                       c->n->arg[TFN__RELATIVE_DISTANCE], c->n->arg[TFN__RELATIVE_BOTH] != 0);
}

/* y (B, H*(2T - 1)): for each head the numbers that are added to scores at the distances 1 - T to
 * T - 1. They are the same for all sentences, but each sentence needs its own gradient. */
SHARED void tfn__relative_forward(const tfn__call *c)
{
    const ptrdiff_t heads = c->x_cols[0];
    const ptrdiff_t span = c->cols / heads;
    for (ptrdiff_t d = 0; d < span; d++) {
        const float *x = c->x[0] + tfn__bucket_of(c, d, span) * heads;
        for (ptrdiff_t r = 0; r < c->rows * heads; r++) c->y[r*span + d] = x[r % heads];
    }
}

/* The gradient of a bucket is the sum over its distances, and for each distance over sentences. */
SHARED void tfn__relative_backward(const tfn__call *c)
{
    const ptrdiff_t heads = c->x_cols[0];
    const ptrdiff_t span = c->cols / heads;
    tfn__start_sum(c->dx[0], c->x_rows[0] * heads, c->add[0]);
    for (ptrdiff_t d = 0; d < span; d++) {
        float *dx = c->dx[0] + tfn__bucket_of(c, d, span) * heads;
        for (ptrdiff_t r = 0; r < c->rows * heads; r++) dx[r % heads] += c->dy[r*span + d];
    }
}

/* -- attention. in: q (B*Tq, H*D), k and v (B*Tk, G*D), a bias by distance (B or 1, H*(2T - 1)) or
 * none; number: dropout, cap of the scores ---- */

/* Returns input j as a bias. If it has one row, all sentences share it. */
static tfn_score_bias tfn__bias_of(const tfn__call *c, int j, int32_t heads)
{
    tfn_score_bias bias;
    bias.at = c->x[j];
    bias.head = c->x_cols[j] / heads;
    bias.sentence = 0;
    if (c->x_rows[j] > 1) bias.sentence = c->x_cols[j];
    bias.zero = bias.head / 2;
    return bias;
}

/* Returns an integer array of the run, or NULL if the operation names none. */
static const int32_t *tfn__ints_or_none(const tfn__call *c, int32_t slot)
{
    if (slot < 0) return NULL;
    return c->r->ints[slot];
}

/* Returns the kernel's arguments for all sentences and heads. Scores are scaled by 1/sqrt(D)
 * (Vaswani 2017, eq. 1). stats are the maximum and the sum of each softmax. The backward recomputes
 * the weights from them, because saving the weights would take T^2 floats a head. */
SHARED tfn_attention_args tfn__attention_of(const tfn__call *c)
{
    const int32_t heads = c->n->arg[TFN__ATTEND_HEADS];
    const int32_t window = c->n->arg[TFN__ATTEND_WINDOW];
    const int32_t head_size = (int32_t)(c->cols / heads);
    tfn_attention_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.y = c->y;
    p.stats = c->saved;
    p.q = c->x[0];
    p.k = c->x[1];
    p.v = c->x[2];
    p.lengths = tfn__ints_or_none(c, c->n->arg[TFN__ATTEND_LENGTHS]);
    if (c->t->training) p.q_lengths = tfn__padding_of(c->r, (tfn_rows)c->n->rows);
    p.batch = c->r->batch;
    p.tq = c->rows / tfn__max(p.batch, 1);
    p.tk = c->x_rows[1] / tfn__max(p.batch, 1);
    p.heads = heads;
    p.kv_heads = c->n->arg[TFN__ATTEND_KV_HEADS];
    p.head_size = head_size;
    p.q_ld = c->cols;
    p.y_ld = c->cols;
    p.k_ld = c->x_cols[1];
    p.v_ld = c->x_cols[1];
    p.scale = 1 / TFN__SQRT((float)head_size);
    p.dropout = c->n->number[0];
    p.cap = c->n->number[1];
    p.key = tfn_key_fold(c->r->key, c->n->site);
    p.causal = window != 0;
    if (!TFN__ALL) return p;
    if (window > 0 && window < INT32_MAX) p.window = window;
    if (window < 0) {
        p.ahead = -(ptrdiff_t)window;
        p.window = 2*p.ahead + 1;
    }
    if (c->x[3]) p.bias = tfn__bias_of(c, 3, heads);
    return p;
}

/* A chunk is one key/value head of one sentence with all query heads that share it, because dk and
 * dv are sums over them. */
SHARED ptrdiff_t tfn__by_heads(const tfn__call *c)
{
    if (tfn__serial(c)) return 1;
    return (ptrdiff_t)c->r->batch * c->n->arg[TFN__ATTEND_KV_HEADS];
}
/* Returns this chunk's pairs of sentence and key/value head. */
static tfn__range tfn__chunk_heads(const tfn__call *c, const tfn_attention_args *p)
{
    tfn__range s = { c->chunk, 1 };
    if (tfn__serial(c)) s.count = p->batch * p->kv_heads;
    return s;
}
/* The kernel takes a range of pairs [first, last). */
SHARED void tfn__attend_forward(const tfn__call *c)
{
    tfn_attention_args p = tfn__attention_of(c);
    tfn__range s = tfn__chunk_heads(c, &p);
    c->k->attention_forward(&p, s.first, s.first + s.count, c->work);
}

/* Clears the gradient of the bias for these pairs of sentence and key/value head. The kernel adds
 * to it, and no other chunk writes it. */
static void tfn__clear_bias(const tfn_attention_args *p, tfn__range pairs)
{
    const ptrdiff_t floats = p->bias.head * (p->heads / p->kv_heads);
    TFNORM_MEMSET(p->dbias + pairs.first * floats, 0,
                  (size_t)(pairs.count * floats) * sizeof(float));
}
/* dq, dk and dv may each be absent, for example for keys that come from a frozen encoder. */
SHARED void tfn__attend_backward(const tfn__call *c)
{
    tfn_attention_args p = tfn__attention_of(c);
    tfn__range s = tfn__chunk_heads(c, &p);
    p.dy = c->dy;
    p.dq = c->dx[0];
    p.dk = c->dx[1];
    p.dv = c->dx[2];
    p.add_dq = c->add[0];
    p.add_dk = c->add[1];
    p.add_dv = c->add[2];
    p.dbias = c->dx[3];
    if (p.dbias && !c->add[3]) tfn__clear_bias(&p, s);
    c->k->attention_backward(&p, s.first, s.first + s.count, c->work);
}

/* -- caches of decoding: keys (B, G, D, capacity), then values (B, G, capacity, D) ------------- */

/* Return the addresses of the keys and the values of a cache. */
static float *tfn__key_cache(const tfn__call *c, const tfn_node *cache)
{
    return c->r->state + (int64_t)cache->arg[TFN__CACHE_PLACE] * TFN__CACHE_ALIGN;
}
/* The values come after the keys of all sentences that the capacity allows. */
static ptrdiff_t tfn__cache_keys(const tfn__call *c, const tfn_node *cache)
{
    return (ptrdiff_t)c->t->batch * cache->cols * cache->arg[TFN__CACHE_CAPACITY];
}
static float *tfn__value_cache(const tfn__call *c, const tfn_node *cache)
{
    return tfn__key_cache(c, cache) + tfn__cache_keys(c, cache);
}

#if TFN__PACKS
/* A 16-bit cache has the same layout in half the bytes. Numbers are rounded once, when a position
 * is stored, so that all later readers, including other beams and heads, see the same number. */
static uint16_t *tfn__half_cache(const tfn__call *c, const tfn_node *cache, bool values)
{
    uint16_t *keys = (uint16_t *)(void *)tfn__key_cache(c, cache);
    if (!values) return keys;
    return keys + tfn__cache_keys(c, cache);
}

/* Rounds to nearest. Finite numbers beyond the range of F16 saturate, because an infinite score
 * would outweigh all others, and two of them would give NaN. */
static uint16_t tfn__to_cache(float x, int32_t type)
{
    uint16_t h;
    if (type == TFN_CACHE_TYPE_BF16) return tfn__to_bf16(x);
    h = tfn__to_f16(x);
    if ((h & 0x7fff) == 0x7c00 && x - x == 0) h--;
    return h;
}

/* tfn__store_rows for a 16-bit cache, and only row t of sentence b. */
static void tfn__store_halves(const tfn__call *c, ptrdiff_t b, ptrdiff_t t, ptrdiff_t time,
                              ptrdiff_t to)
{
    const int32_t type = c->n->arg[TFN__CACHE_TYPE];
    const ptrdiff_t capacity = c->n->arg[TFN__CACHE_CAPACITY];
    const ptrdiff_t size = c->cols / c->n->arg[TFN__CACHE_KV_HEADS];
    uint16_t *keys = tfn__half_cache(c, c->n, false) + b*c->cols*capacity;
    uint16_t *values = tfn__half_cache(c, c->n, true) + b*c->cols*capacity;
    for (ptrdiff_t i = 0; i < c->cols; i++) {
        const ptrdiff_t from = (b*time + t)*c->cols + i;
        const ptrdiff_t head = i / size * size * capacity;
        keys[i*capacity + to] = tfn__to_cache(c->x[0][from], type);
        values[head + to*size + i % size] = tfn__to_cache(c->x[1][from], type);
    }
}
#endif

/* Stores the rows of k and v at positions from `start` on, for each sentence and head. In a ring
 * they wrap around, and overwrite positions that are in no window any more. */
static void tfn__store_rows(const tfn__call *c, ptrdiff_t start)
{
    ptrdiff_t groups = c->n->arg[TFN__CACHE_KV_HEADS];
    ptrdiff_t capacity = c->n->arg[TFN__CACHE_CAPACITY];
    ptrdiff_t size = c->cols / groups;
    ptrdiff_t time = c->x_rows[0] / tfn__max(c->r->batch, 1);
#if TFN__PACKS
    if (c->n->arg[TFN__CACHE_TYPE]) {
        for (ptrdiff_t b = 0; b < c->r->batch; b++)
            for (ptrdiff_t t = 0; t < time; t++)
                tfn__store_halves(c, b, t, time, (start + t) % capacity);
        return;
    }
#endif
    for (ptrdiff_t h = 0; h < c->r->batch * groups; h++) {
        float *keys = tfn__key_cache(c, c->n) + h*size*capacity;
        float *values = tfn__value_cache(c, c->n) + h*capacity*size;
        for (ptrdiff_t t = 0; t < time; t++) {
            /* row t of sentence h / groups, channels of head h % groups */
            const ptrdiff_t from = (h/groups*time + t)*c->cols + h%groups*size;
            ptrdiff_t to = start + t;
            if (TFN__ALL) to %= capacity;
            for (ptrdiff_t i = 0; i < size; i++) keys[i*capacity + to] = c->x[0][from + i];
            TFNORM_MEMCPY(values + to*size, c->x[1] + from, (size_t)size * sizeof(float));
        }
    }
}
/* A decoder appends its own positions; an encoder's output begins at 0. */
SHARED void tfn__cache_op(const tfn__call *c) { tfn__store_rows(c, c->r->start); }
SHARED void tfn__encoded_op(const tfn__call *c) { tfn__store_rows(c, 0); }

/* Fills the kernel's arguments for the positions of this run. They see all positions of an
 * encoder's memory, or in self-attention the positions up to their own. in: q */
SHARED void tfn__cached_of(tfn_attention_cached_args *p, const tfn__call *c, const tfn_node *cache)
{
    ptrdiff_t time = c->r->target;
    TFNORM_MEMSET(p, 0, sizeof *p);
    p->heads = c->n->arg[TFN__CACHED_HEADS];
    p->kv_heads = cache->arg[TFN__CACHE_KV_HEADS];
    p->head_size = (int32_t)(c->cols / p->heads);
    p->capacity = cache->arg[TFN__CACHE_CAPACITY];
    p->k_cache = tfn__key_cache(c, cache);
    p->v_cache = tfn__value_cache(c, cache);
#if TFN__PACKS
    p->type = (tfn_cache_type)cache->arg[TFN__CACHE_TYPE];
    p->k_half = tfn__half_cache(c, cache, false);
    p->v_half = tfn__half_cache(c, cache, true);
#endif
    p->lengths = tfn__ints_or_none(c, c->n->arg[TFN__CACHED_LENGTHS]);
    p->batch = c->r->batch;
    p->queries = time;
    p->q_ld = time * c->cols;
    p->y_ld = p->q_ld;
    p->q_row = c->cols;
    p->y_row = c->cols;
    p->scale = 1 / TFN__SQRT((float)p->head_size);
    p->count = c->r->start + 1;
    p->causal = cache->op != TFN__OP_MEMORY;
    if (!p->causal) p->count = c->r->source;
    p->q = c->x[0];
    p->y = c->y;
    if (!TFN__ALL) return;
    p->cap = c->n->number[1];
    p->window = c->n->arg[TFN__CACHED_WINDOW];
    if (c->x[1]) p->bias = tfn__bias_of(c, 1, p->heads);
}
/* Chunks are pairs of a sentence and a key/value head. Returns the pairs in a chunk. */
static ptrdiff_t tfn__cached_step(const tfn__call *c, const tfn_attention_cached_args *p)
{
    const ptrdiff_t keys = tfn__min(p->count + p->queries, p->capacity);
    return tfn__item_step(c, p->batch * p->kv_heads, c->cols / p->kv_heads * keys * p->queries);
}
SHARED ptrdiff_t tfn__by_cached(const tfn__call *c)
{
    tfn_attention_cached_args p;
    if (tfn__serial(c)) return 1;
    tfn__cached_of(&p, c, c->t->nodes + c->n->arg[TFN__CACHED_CACHE]);
    return tfn__pieces(p.batch * p.kv_heads, tfn__cached_step(c, &p));
}
SHARED void tfn__cached_op(const tfn__call *c)
{
    tfn_attention_cached_args p;
    tfn__range s = { 0, 0 };
    tfn__cached_of(&p, c, c->t->nodes + c->n->arg[TFN__CACHED_CACHE]);
    s.count = p.batch * p.kv_heads;
    if (!tfn__serial(c)) s = tfn__slice(s.count, tfn__cached_step(c, &p), c->chunk);
    c->k->attention_cached(&p, s.first, s.first + s.count, c->work);
}
