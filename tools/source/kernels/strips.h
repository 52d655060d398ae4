#ifndef TFN__STRIPS_H
#define TFN__STRIPS_H
#include "../ground/ground.h"

/* Scaled dot-product attention (Vaswani et al. 2017, eq. 1) in strips: the layout and the masks
 * that all instances of the kernels share. Section `reference` has attention in plain loops. A
 * strip is a block of queries of one head. Strips make the products matrix products, and memory
 * grows with the number of keys, not with its square. Chains are the same as in the reference,
 * because every strip, tile or triangle continues where the last one stopped. Builds on blocks. */
#define TFN__STRIP 64        /* query rows in a strip: their scores are in memory at once */
#define TFN__STEP  8         /* rows or keys processed together along the causal diagonal */
#define TFN__CACHED_ROWS 16  /* queries of cached attention in a strip */
#define TFN__CACHE_BLOCK 64  /* keys of a 16-bit cache converted to floats at once */

/* A strip of query rows of one head, and its scratch. Rows a power of two apart share few cache
 * sets, so rows that are read often are copied to contiguous arrays. The scores of a causal strip
 * are a rectangle, which is an ordinary product, and a triangle, which is computed in steps.
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
    ptrdiff_t b, g, h, size;      /* sentence, key/value head, query head; head size D */
    ptrdiff_t all;                /* keys that the last query of the sentence sees */
    ptrdiff_t row, rows;          /* queries row ... row + rows - 1 */
    ptrdiff_t low;                /* key of the first score; the window hides all keys before it */
    ptrdiff_t before, keys;       /* every row sees the keys below `before`, the last row all */
    ptrdiff_t ld;                 /* floats between two rows of scores */
    float    *q, *dy;             /* (rows, D) */
    float    *s, *ds;             /* scores, then weights, and their gradients: (rows, keys) */
    float    *kt, *vt;            /* right factors of q k^T and dy v^T, packed */
    float    *x;                  /* (all, D): values in the forward, keys in the backward */
    float    *dk, *dv;            /* (all, D) */
    float    *work;               /* scratch of the products */
} tfn__strip;

/* Queries of one sentence and head that attend to a cache together. */
typedef struct tfn__cached_strip {
    const tfn_attention_cached_args *p;
    ptrdiff_t b, h;               /* sentence, query head */
    ptrdiff_t row, rows;          /* queries row ... row + rows - 1 */
    ptrdiff_t seen, keys;         /* keys up to the first query, and up to the last one */
    ptrdiff_t first, low;         /* the first key in the window, and the key of the first score */
    ptrdiff_t cache;              /* index of the head in both caches */
    ptrdiff_t ld;                 /* floats between two rows of scores */
    float    *s;                  /* scores, then weights: (rows, keys) */
    float    *work, *wide;        /* scratch of the products; keys or values of 16 bits as floats */
} tfn__cached_strip;

SHARED ptrdiff_t tfn__seen(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i);
SHARED ptrdiff_t tfn__queries(const tfn_attention_args *p, ptrdiff_t b);
SHARED ptrdiff_t tfn__first_key(ptrdiff_t window, ptrdiff_t seen);
SHARED ptrdiff_t tfn__first_key_of(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i);
SHARED ptrdiff_t tfn__seen_by_all(const tfn_attention_args *p, ptrdiff_t i, ptrdiff_t keys);
SHARED ptrdiff_t tfn__scores_of(const tfn__strip *a, ptrdiff_t r);
SHARED ptrdiff_t tfn__bias_at(const tfn__strip *a, ptrdiff_t r);
SHARED ptrdiff_t tfn__q_at(const tfn__strip *a, ptrdiff_t ld);
SHARED ptrdiff_t tfn__k_at(const tfn__strip *a, ptrdiff_t ld);
SHARED ptrdiff_t tfn__stats_at(const tfn__strip *a, ptrdiff_t r);
SHARED ptrdiff_t tfn__score_ld(ptrdiff_t tk);
SHARED ptrdiff_t tfn__head_floats(ptrdiff_t tk, ptrdiff_t size);
SHARED ptrdiff_t tfn__cached_rows(ptrdiff_t queries);
SHARED ptrdiff_t tfn__cached_queries(const tfn_attention_cached_args *p);
SHARED const float *tfn__bias_of_row(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t h,
                                     ptrdiff_t i);
SHARED ptrdiff_t tfn__keys_cached(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t i);
extern SHARED const float tfn__lane[16];
#endif /* TFN__STRIPS_H */
