#include "blocks.h"

/* Return the floats of scratch for a packed block of b (whole panels of NR columns), and of a (with
 * room for the last vector store to overrun). */
SHARED ptrdiff_t tfn__matmul_b(ptrdiff_t n, ptrdiff_t k)
{
    n = tfn__min((n + TFN__NR - 1) / TFN__NR, TFN__KC * TFN__NC) * TFN__NR;
    return tfn__min(n * tfn__min(k, TFN__KC), TFN__KC * TFN__NC);
}

SHARED ptrdiff_t tfn__matmul_a(ptrdiff_t m, ptrdiff_t k)
{
    return tfn__min(m, TFN__MC) * tfn__min(k, TFN__KC) + TFN__NR;
}

#define TFN__SPAN 4096       /* terms in a block of a flat sum, and blocks in the next level's */

/* Returns the sum of 16 lanes by the fixed tree, and clears the lanes. */
SHARED float tfn__take_lanes(float *lane)
{
    float sum;
    for (int i = 0; i < 8; i++) lane[i] += lane[i + 8];
    for (int i = 0; i < 4; i++) lane[i] += lane[i + 4];
    sum = (lane[0] + lane[2]) + (lane[1] + lane[3]);
    TFNORM_MEMSET(lane, 0, 16 * sizeof *lane);
    return sum;
}

/* Closes a full block: its sum becomes a term of the next level. */
static void tfn__close_blocks(tfn__flat_sum *s)
{
    const int64_t blocks = s->count / TFN__SPAN;
    s->lane[1][(blocks - 1) % 16] += tfn__take_lanes(s->lane[0]);
    if (blocks % TFN__SPAN == 0)
        s->lane[2][(blocks / TFN__SPAN - 1) % 16] += tfn__take_lanes(s->lane[1]);
}

/* Returns term i: x[i]*y[i], or x[i] if y is NULL. */
static TFN__INLINE float tfn__term(const float *x, const float *y, ptrdiff_t i)
{
    if (y) return x[i] * y[i];
    return x[i];
}

/* lane[(at + i) % 16] += term i, in order of i: first up to a multiple of 16, then 16 at a time,
 * then the rest. */
static void tfn__fill_lanes(float *lane, ptrdiff_t at, const float *x, const float *y, ptrdiff_t n)
{
    const ptrdiff_t head = tfn__min((16 - at % 16) % 16, n);
    ptrdiff_t i = 0;
    for (; i < head; i++) lane[at % 16 + i] += tfn__term(x, y, i);
    if (y)
        for (; i + 16 <= n; i += 16)
            for (int l = 0; l < 16; l++) lane[l] += x[i + l] * y[i + l];
    else
        for (; i + 16 <= n; i += 16)
            for (int l = 0; l < 16; l++) lane[l] += x[i + l];
    for (; i < n; i++) lane[(at + i) % 16] += tfn__term(x, y, i);
}

/* Adds n more terms, x[i]*y[i], or x[i] if y is NULL. */
SHARED void tfn__flat_add(tfn__flat_sum *s, const float *x, const float *y, ptrdiff_t n)
{
    while (n > 0) {
        const ptrdiff_t at = (ptrdiff_t)(s->count % TFN__SPAN);
        const ptrdiff_t piece = tfn__min(n, TFN__SPAN - at);
        tfn__fill_lanes(s->lane[0], at, x, y, piece);
        s->count += piece;
        if (at + piece == TFN__SPAN) tfn__close_blocks(s);
        x += piece;
        y = tfn__at(y, piece);
        n -= piece;
    }
}

/* Returns the sum of all terms; call it once. It closes the last block of each level, which may
 * not be full. An empty block adds +0, which changes nothing. */
SHARED float tfn__flat_total(tfn__flat_sum *s)
{
    const int64_t blocks = s->count / TFN__SPAN;
    s->lane[1][blocks % 16] += tfn__take_lanes(s->lane[0]);
    s->lane[2][blocks / TFN__SPAN % 16] += tfn__take_lanes(s->lane[1]);
    return tfn__take_lanes(s->lane[2]);
}
