#ifndef TFN__BLOCKS_H
#define TFN__BLOCKS_H
#include "../ground/ground.h"

/* Matrix products, and flat sums. Offers the sizes of blocks, and helpers that all instances of
 * the kernels share. Builds on ground. The product itself is tfn__matmul in section dense. It
 * computes, for i < m and j < n,
 *
 *     y = start ? start[i*start_ld + j] : 0;
 *     for (p = 0; p < k; p++) y = fma(a[i*a_row + p*a_col], b[p*b_row + j*b_col], y);
 *     c[i*c_ld + j] = y;
 *
 * Each element is one chain in order of p, so the bits do not depend on how the loops are blocked.
 * They are blocked as in Goto & van de Geijn 2008, so that data that is reread soon stays in a near
 * cache.
 *
 *                        2W                  A tile of c, MR rows by two vectors of W floats, stays
 *                      +----+---------       in registers while p runs. A step of p loads two
 *               p  KC  | :: |  b             vectors of b and MR numbers of a, and does 2*MR
 *          KC   |      +----+---------       vector FMAs: each load is used MR times or twice.
 *      +-------+v
 *   MR |. . . .|       +----+---------       A few panels of b, PASS steps in all by 2W columns,
 *      +-------+       |tile|  c             are reread for every MR rows of a, from L2 or L1.
 *      |   a   | MC    +----+                These rows are reread for every panel, from L1. A
 *      |       |       |                     block of a, MC rows by KC steps, is reread for every
 *                                            such group of panels, from L2. A block of b comes
 *                                            from L3, or once from memory.
 *
 * Packing copies a panel so that it is contiguous: panels of b as rows of 2W floats, panels of a as
 * columns of a tile's height. Then cache lines are used whole, and rows a power of two apart do not
 * evict each other from the same set. Packing costs a pass over the data, so it is only done if a
 * panel is reread often enough: see the crossovers above tfn__matmul.
 *
 * A block of a takes 504 KiB, which fits L2. A packed block of b takes 1.5 MiB, which fits L3. If
 * no other rows will reread it, it takes a quarter of that, which fits L2. */
#define TFN__KC 384          /* steps of p in a block */
#define TFN__MC 336          /* rows of a in a block: a multiple of every MR */
#define TFN__NC 1024         /* columns of b in a packed block of KC steps */
#define TFN__NR 32           /* columns of the widest tile */
#define TFN__PASS 1152       /* steps of p in a group of panels: three panels of KC steps. Groups of
                              * one panel (384) make large products 2 to 6 % slower with AVX-512 and
                              * up to 2 % with AVX2. */

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
#define TFN__FETCH_FAR(p) __builtin_prefetch(p, 0, 2)        /* into L2 */
#else
#define TFN__FETCH(p) ((void)(p))
#define TFN__FETCH_FAR(p) ((void)(p))
#endif

/* Returns the size of the next part if `left` is split evenly into parts of at most `most`. So 15
 * rows in tiles of at most 14 become 8 and 7. A tile of only 1 row would leave the processor
 * idle. */
static TFN__INLINE ptrdiff_t tfn__part(ptrdiff_t left, ptrdiff_t most)
{
    const ptrdiff_t parts = (left + most - 1) / most;
    if (parts == 0) return 0;
    return (left + parts - 1) / parts;
}

/* Returns x + i, or NULL if the operand x is absent. */
static TFN__INLINE const float *tfn__at(const float *x, ptrdiff_t i)
{
    if (!x) return NULL;
    return x + i;
}

/* Sets c and start of t to block (i, j) of the product p, for the steps from q on. Chains start
 * from p->start if q is 0, and otherwise continue from c. */
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

/* With up to this many rows of c, and unit column stride in b, a product computes row by row and
 * needs no scratch. */
enum { TFN__VECTOR_ROWS = 2 };

SHARED ptrdiff_t tfn__matmul_b(ptrdiff_t n, ptrdiff_t k);
SHARED ptrdiff_t tfn__matmul_a(ptrdiff_t m, ptrdiff_t k);

/* A flat sum whose terms arrive in pieces. It has the same bits as the kernel `dot` over all terms
 * at once. Term i is added to lane i mod 16. The sum of every 4,096 terms is a term of the next
 * level, where the same rule holds. */
typedef struct tfn__flat_sum {
    int64_t count;           /* terms so far */
    float   lane[3][16];     /* levels: terms, blocks of terms, blocks of blocks */
} tfn__flat_sum;

SHARED float tfn__take_lanes(float *lane);
SHARED void tfn__flat_add(tfn__flat_sum *s, const float *x, const float *y, ptrdiff_t n);
SHARED float tfn__flat_total(tfn__flat_sum *s);
#endif /* TFN__BLOCKS_H */
