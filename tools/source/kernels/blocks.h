#ifndef TFN__BLOCKS_H
#define TFN__BLOCKS_H
#include "../ground/ground.h"

/* Matrix products. All that follows computes, for i < m and j < n,
 *
 *     y = start ? start[i*start_ld + j] : 0;
 *     for (p = 0; p < k; p++) y = fma(a[i*a_row + p*a_col], b[p*b_row + j*b_col], y);
 *     c[i*c_ld + j] = y;
 *
 * and since each element is one chain in order of p, no cut of the loops below changes a bit.
 * The cut is that of Goto & van de Geijn 2008: what is read again soon stays near the processor.
 *
 *                        2W                  c's tile, MR rows by two vectors of W floats, stays in
 *                      +----+---------       registers while p runs. A step of p reads two vectors
 *               p  KC  | :: |  b             of b and MR single numbers of a, and does 2*MR vector
 *          KC   |      +----+---------       FMAs: a load is used MR times or twice.
 *      +-------+v
 *   MR |. . . .|       +----+---------       b's panels, PASS steps of them by 2W, are read for
 *      +-------+       |tile|  c             each MR rows of a: from the second cache, or the
 *      |   a   | MC    +----+                first; these rows for each panel: from the first.
 *      |       |       |                     a's block, MC rows by KC steps, is read for each
 *                                            PASS: from the second. b's block comes from the
 *                                            third, or from memory once.
 *
 * Packing copies a panel so that it is read from end to end: b's as rows of 2W, a's as columns of a
 * tile's height. Cache lines are used whole then, and rows that are a power of two apart do not
 * push each other out of their set. It costs a pass over the data, so it is done only where a panel
 * is read often enough: see the crossovers above tfn__matmul.
 *
 * a's block is 504 KiB, for a cache of the second level; b's packed one 1.5 MiB, for one of the
 * third, or a quarter of it for one of the second when no other rows will read it again. */
#define TFN__KC 384          /* steps of p in a block */
#define TFN__MC 336          /* rows of a in a block: a multiple of each MR */
#define TFN__NC 1024         /* columns of b in a packed block of KC steps */
#define TFN__NR 32           /* columns of the widest tile */
#define TFN__PASS 1152       /* steps of the panels of b that rows of a pass by before the next rows
                              * do: three panels of KC steps. With one, as of 384, AVX-512 is 2 to 6
                              * % slower where b is large, AVX2 up to 2. */

#if defined __OPTIMIZE_SIZE__ || defined TFNORM_DEBUG
#define TFN__UNROLL
#elif defined __clang__
#define TFN__UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__
#define TFN__UNROLL _Pragma("GCC unroll 16")
#else
#define TFN__UNROLL
#endif
#if defined __GNUC__ && !defined __OPTIMIZE_SIZE__ && !defined TFNORM_DEBUG
#define TFN__FETCH(p) __builtin_prefetch(p, 0, 3)
#define TFN__FETCH_FAR(p) __builtin_prefetch(p, 0, 2)        /* to the second cache */
#else
#define TFN__FETCH(p) ((void)(p))
#define TFN__FETCH_FAR(p) ((void)(p))
#endif

/* The next part when `left` is split evenly into parts of at most `most`: 15 rows in tiles of at
 * most 14 are 8 and 7, not 14 and 1, which would leave the processor idle. */
static TFN__INLINE ptrdiff_t tfn__part(ptrdiff_t left, ptrdiff_t most)
{
    const ptrdiff_t parts = (left + most - 1) / most;
    if (parts == 0) return 0;
    return (left + parts - 1) / parts;
}

/* x + i, or NULL for an operand that is absent. */
static TFN__INLINE const float *tfn__at(const float *x, ptrdiff_t i)
{
    if (!x) return NULL;
    return x + i;
}

/* Where block (i, j) of the product p is, for the steps from q on. A chain starts from p->start in
 * its first steps, and goes on from c in the others. */
static TFN__INLINE void tfn__place_c(tfn_matmul_args *t, const tfn_matmul_args *p, ptrdiff_t i,
                                     ptrdiff_t j, ptrdiff_t q)
{
    t->c = p->c + i * p->c_ld + j;
    t->start = t->c;
    t->start_ld = p->c_ld;
    if (q == 0) {
        t->start = tfn__at(p->start, i * p->start_ld + j);
        t->start_ld = p->start_ld;
    }
}

/* Rows of c that are computed one by one, where b's columns lie side by side: they want no work. */
enum { TFN__VECTOR_ROWS = 2 };

SHARED ptrdiff_t tfn__matmul_b(ptrdiff_t n, ptrdiff_t k);
SHARED ptrdiff_t tfn__matmul_a(ptrdiff_t m, ptrdiff_t k);

#ifndef TFNORM_NO_TRAINING

/* A flat sum whose terms come in pieces. It has the bits of the kernel `dot` of all terms side by
 * side: a term goes to the lane of its index mod 16; the sum of each block of 4,096 terms goes to
 * the next level in the same way. */
typedef struct tfn__flat_sum {
    int64_t count;           /* terms so far */
    float   lane[3][16];     /* of terms; of blocks; of blocks of blocks */
} tfn__flat_sum;
#endif
SHARED float tfn__take_lanes(float *lane);
SHARED void tfn__flat_add(tfn__flat_sum *s, const float *x, const float *y, ptrdiff_t n);
SHARED float tfn__flat_total(tfn__flat_sum *s);
#endif /* TFN__BLOCKS_H */
