#include "strips.h"
#include "../ground/ground.h"
#include "blocks.h"

/* Keys that query i of sentence b sees: all that are no padding, causally those up to i. They are
 * the first so many: a mask is a loop's bound. */
SHARED ptrdiff_t tfn__seen(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i)
{
    ptrdiff_t keys = p->tk;
    if (p->lengths) keys = tfn__min(tfn__max(p->lengths[b], 0), p->tk);
    if (p->causal) keys = tfn__min(i + 1, keys);
    return keys;
}

/* Queries of sentence b that are no padding. */
SHARED ptrdiff_t tfn__queries(const tfn_attention_args *p, ptrdiff_t b)
{
    if (!p->q_lengths) return p->tq;
    return tfn__min(tfn__max(p->q_lengths[b], 0), p->tq);
}

/* Of the keys that a query sees a window hides all but the last. */
SHARED ptrdiff_t tfn__first_key(ptrdiff_t window, ptrdiff_t seen)
{
    if (!TFN__ALL || window <= 0) return 0;
    return tfn__max(seen - window, 0);
}

/* Scores of row r of the strip. */
SHARED ptrdiff_t tfn__scores_of(const tfn__strip *a, ptrdiff_t r)
{
    const ptrdiff_t seen = tfn__seen(a->p, a->b, a->row + r);
    if (!TFN__ALL) return seen;
    return seen - a->low;
}

/* The place of row r's first score in the bias of its head. */
SHARED ptrdiff_t tfn__bias_at(const tfn__strip *a, ptrdiff_t r)
{
    const tfn_score_bias *s = &a->p->bias;
    return a->b * s->sentence + a->h * s->head + s->zero + a->low - (a->row + r);
}

/* Where the strip's rows begin in q or y, the head's in k or v, and a row's pair in stats. */
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

/* Floats of a row of scores, with room to fill its last block of 16, an odd number of cache lines;
 * and of all keys or values of a head, packed or not. */
SHARED ptrdiff_t tfn__score_ld(ptrdiff_t tk) { return (tk + 31) / 32 * 32 + 16; }
SHARED ptrdiff_t tfn__head_floats(ptrdiff_t tk, ptrdiff_t size)
{
    return (tk + TFN__NR - 1) / TFN__NR * TFN__NR * size + TFN__NR;
}

/* The bias of key 0 for the query, whose position is the last of `count`. */
SHARED const float *tfn__bias_of_row(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t h)
{
    const tfn_score_bias *s = &p->bias;
    return s->at + b * s->sentence + h * s->head + s->zero - (p->count - 1);
}

/* Keys that the query of sentence b may read: of a ring more than it has places. */
SHARED ptrdiff_t tfn__keys_cached(const tfn_attention_cached_args *p, ptrdiff_t b)
{
    ptrdiff_t n = p->count;
    if (p->lengths) n = p->lengths[b];
    if (!TFN__ALL || p->window <= 0) n = tfn__min(n, p->capacity);
    return tfn__max(n, 0);
}

/* The lanes of a block of 16, for comparisons with a count. (A table with -inf is no constant to
 * every compiler.) */
SHARED const float tfn__lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
