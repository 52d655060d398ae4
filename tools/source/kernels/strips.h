#ifndef TFN__STRIPS_H
#define TFN__STRIPS_H
#include "../ground/ground.h"

/* Scaled dot-product attention (Vaswani et al. 2017, eq. 1): the section `reference` has it in
 * plain loops. Here a strip of queries of one head goes together, so that memory grows with the
 * number of keys, not with its square, and the products are matrix products. Chains are those of
 * the reference: every strip, tile or triangle goes on where the last one stopped. */
#define TFN__STRIP 64        /* query rows whose scores are held at once */
#define TFN__STEP  8         /* rows or keys that go together along the causal diagonal */
#define TFN__CACHE_BLOCK 64  /* keys of a cache of 16 bits that are floats at once */

/* A strip of query rows of one head, D = size, and its scratch. Rows a power of two apart share few
 * sets of the cache, so what is read often is copied to where its rows lie close together. Scores
 * of a causal strip: a block that is an ordinary product, and a triangle, computed in steps.
 *
 *               key 0          before      keys
 *     row       +----------------+
 *               |                |##
 *               | seen by all    |####
 *     row+rows-1|                |#######
 *               +----------------+--------
 */
typedef struct tfn__strip {
    const tfn_attention_args *p;
    ptrdiff_t b, g, h, size;      /* sentence, key/value head, head; floats of a head */
    ptrdiff_t all;                /* keys that the last query sees */
    ptrdiff_t row, rows;          /* queries row ... row + rows - 1 */
    ptrdiff_t low;                /* the key of the first score: a window hides all before it */
    ptrdiff_t before, keys;       /* every row sees the keys below `before`, the last row all */
    ptrdiff_t ld;                 /* floats between two rows of scores */
    float    *q, *dy;             /* (rows, D) */
    float    *s, *ds;             /* scores, then weights, and their gradients: (rows, keys) */
    float    *kt, *vt;            /* right factors of q k^T and dy v^T, packed */
    float    *x;                  /* (all, D): forward the values, backward the keys */
    float    *dk, *dv;            /* (all, D) */
    float    *work;               /* of products */
} tfn__strip;

SHARED ptrdiff_t tfn__seen(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i);
SHARED ptrdiff_t tfn__queries(const tfn_attention_args *p, ptrdiff_t b);
SHARED ptrdiff_t tfn__first_key(ptrdiff_t window, ptrdiff_t seen);
SHARED ptrdiff_t tfn__scores_of(const tfn__strip *a, ptrdiff_t r);
SHARED ptrdiff_t tfn__bias_at(const tfn__strip *a, ptrdiff_t r);
SHARED ptrdiff_t tfn__q_at(const tfn__strip *a, ptrdiff_t ld);
SHARED ptrdiff_t tfn__k_at(const tfn__strip *a, ptrdiff_t ld);
SHARED ptrdiff_t tfn__stats_at(const tfn__strip *a, ptrdiff_t r);
SHARED ptrdiff_t tfn__score_ld(ptrdiff_t tk);
SHARED ptrdiff_t tfn__head_floats(ptrdiff_t tk, ptrdiff_t size);
SHARED const float *tfn__bias_of_row(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t h);
SHARED ptrdiff_t tfn__keys_cached(const tfn_attention_cached_args *p, ptrdiff_t b);
extern SHARED const float tfn__lane[16];
#endif /* TFN__STRIPS_H */
