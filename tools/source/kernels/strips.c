#include "strips.h"
#include "../ground/ground.h"
#include "blocks.h"

/* Returns how many keys after its own position a causal query sees. */
static ptrdiff_t tfn__ahead_of(const tfn_attention_args *p)
{
    if (!TFN__ALL) return 0;
    return p->ahead;
}

/* Returns the number of keys that query i of sentence b sees: all without padding, or if causal
 * those up to i + ahead. A query always sees the first keys, so a mask is just a loop bound. */
SHARED ptrdiff_t tfn__seen(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i)
{
    ptrdiff_t keys = p->tk;
    if (p->lengths) keys = tfn__min(tfn__max(p->lengths[b], 0), p->tk);
    if (p->causal) keys = tfn__min(i + tfn__ahead_of(p) + 1, keys);
    return keys;
}

/* Returns how many of the `keys` that the last query of a strip sees are seen by all its queries,
 * if the first is query i. The first sees one more, at the start of the diagonal. */
SHARED ptrdiff_t tfn__seen_by_all(const tfn_attention_args *p, ptrdiff_t i, ptrdiff_t keys)
{
    if (!p->causal) return keys;
    return tfn__min(i + tfn__ahead_of(p), keys);
}

/* Returns the number of queries of sentence b without padding. */
SHARED ptrdiff_t tfn__queries(const tfn_attention_args *p, ptrdiff_t b)
{
    if (!p->q_lengths) return p->tq;
    return tfn__min(tfn__max(p->q_lengths[b], 0), p->tq);
}

/* Returns the first key in the window of a query that sees `seen` keys. The window hides all but
 * the last `window` keys; 0 means no window. */
SHARED ptrdiff_t tfn__first_key(ptrdiff_t window, ptrdiff_t seen)
{
    if (!TFN__ALL || window <= 0) return 0;
    return tfn__max(seen - window, 0);
}

/* Returns the first key in the window of query i of sentence b. If the window reaches ahead, the
 * end of the sentence may cut it off, and does not move its beginning. A query in the padding,
 * whose window has no keys, reads the last key. */
SHARED ptrdiff_t tfn__first_key_of(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i)
{
    const ptrdiff_t seen = tfn__seen(p, b, i);
    const ptrdiff_t ahead = tfn__ahead_of(p);
    if (ahead <= 0) return tfn__first_key(p->window, seen);
    return tfn__max(tfn__min(i + ahead + 1 - p->window, seen - 1), 0);
}

/* Returns the number of scores in row r of the strip. */
SHARED ptrdiff_t tfn__scores_of(const tfn__strip *a, ptrdiff_t r)
{
    const ptrdiff_t seen = tfn__seen(a->p, a->b, a->row + r);
    if (!TFN__ALL) return seen;
    return seen - a->low;
}

/* Returns the index of row r's first score in the bias of its head. */
SHARED ptrdiff_t tfn__bias_at(const tfn__strip *a, ptrdiff_t r)
{
    const tfn_score_bias *s = &a->p->bias;
    return a->b * s->sentence + a->h * s->head + s->zero + a->low - (a->row + r);
}

/* Return the index of the strip's first row in q or y, of the head's first row in k or v, and of a
 * row's pair in stats. */
SHARED ptrdiff_t tfn__q_at(const tfn__strip *a, ptrdiff_t ld)
{
    return (a->b * a->p->tq + a->row) * ld + a->h * a->size;
}
SHARED ptrdiff_t tfn__k_at(const tfn__strip *a, ptrdiff_t ld)
{
    return a->b * a->p->tk * ld + a->g * a->size;
}
SHARED ptrdiff_t tfn__stats_at(const tfn__strip *a, ptrdiff_t r)
{
    return ((a->b * a->p->tq + a->row + r) * a->p->heads + a->h) * 2;
}

/* Return the floats in a row of scores, and in all keys or values of a head, packed or not. A row
 * of scores has room to pad its last block of 16. It is an odd number of cache lines, so that rows
 * do not share cache sets. */
SHARED ptrdiff_t tfn__score_ld(ptrdiff_t tk) { return (tk + 31) / 32 * 32 + 16; }
SHARED ptrdiff_t tfn__head_floats(ptrdiff_t tk, ptrdiff_t size)
{
    return (tk + TFN__NR - 1) / TFN__NR * TFN__NR * size + TFN__NR;
}

/* Returns the number of queries of each sentence. */
SHARED ptrdiff_t tfn__cached_queries(const tfn_attention_cached_args *p)
{
    return tfn__max(p->queries, 1);
}
/* Returns the most queries in a strip. A plain build takes queries one by one, which needs less
 * memory. */
SHARED ptrdiff_t tfn__cached_rows(ptrdiff_t queries)
{
    if (!TFN__ALL) return 1;
    return tfn__max(tfn__min(queries, TFN__CACHED_ROWS), 1);
}

/* Returns the number of keys that query i of a sentence has seen if there is no window. */
static ptrdiff_t tfn__count_at(const tfn_attention_cached_args *p, ptrdiff_t i)
{
    if (p->causal) return p->count + i;
    return p->count;
}

/* Returns the address of the bias of key 0 for query i. */
SHARED const float *tfn__bias_of_row(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t h,
                                     ptrdiff_t i)
{
    const tfn_score_bias *s = &p->bias;
    return s->at + b * s->sentence + h * s->head + s->zero - (tfn__count_at(p, i) - 1);
}

/* Returns the number of keys up to query i of sentence b. In a ring (with a window) it may exceed
 * the capacity. */
SHARED ptrdiff_t tfn__keys_cached(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t i)
{
    ptrdiff_t n = tfn__count_at(p, i);
    if (p->lengths) n = p->lengths[b];
    if (!TFN__ALL || p->window <= 0) n = tfn__min(n, p->capacity);
    return tfn__max(n, 0);
}

/* The indices of 16 lanes, to compare with a count. (Some compilers do not accept a constant table
 * with -inf.) */
SHARED const float tfn__lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
