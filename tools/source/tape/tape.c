#include "tape.h"

/* From here on no loop is hot, so gcc may spend less time: O1 for the tape, which runs once for
 * every node of a tiny model's token (Og would make such a token 15 % slower), Og for what follows
 * it. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC push_options
#pragma GCC optimize("O1", "fp-contract=off")
#endif
/* RECORD. A call such as tfn_linear(t, x, w, b, act) computes nothing. It checks shapes and appends
 * a tfn_node: the operation, the nodes it reads, the rows and columns of its value. A tfn_var is
 * the number of a node. Rows are symbols (B*Tt, see tfn_rows), so that one tape runs every batch
 * within its capacities. Leaves (parameters, tables, buffers, inputs) do no work: they name memory
 * that the caller binds.
 *
 * PLAN. tfn_tape_plan writes the timeline, a list of entries in the order in which they will run:
 * the forward of each node, then, if the tape trains, the gradient 1 of the last value and the
 * backward of the nodes in reverse. For x - linear - norm - loss:
 *
 *     0 linear   1 norm   2 loss   3 seed   4 loss'   5 norm'   6 linear'
 *
 * A buffer is a node's value, what its forward saves for its backward, or its gradient. It lives
 * from the first entry that touches it to the last. The value of the linear above lives from 0 to
 * 5, because the norm's backward reads it. The norm's value lives from 1 to 4, and its gradient
 * from 4 to 5. Buffers that never live at the same time share memory: they are placed largest
 * first, each at the lowest offset that is free during its life. Without a backward lives are
 * short, which is why inference needs a fraction of the memory. The workspace is one block:
 *
 *     work:  scratch of thread 0 | of thread 1 | ... | values, saved arrays and gradients, shared
 *
 * RUN. tfn_tape_forward runs the entries up to forward_count, tfn_tape_backward the others. An
 * entry's tfn__call holds the pointers and sizes of this run. The operation's row in TFN__OPS names
 * the function. An entry is cut into chunks, which threads share. Each output is written by one
 * chunk, in one order, so that neither the number of threads nor their speed changes a bit.
 *
 * GRADIENTS add up if a value has several readers. The plan knows which of them comes first on the
 * timeline: it stores, the others add (grad_add), and nothing is cleared in advance. A parameter
 * that no gradient reaches is cleared by tfn_tape_backward.
 *
 * RECOMPUTATION (tfn_recompute) trades time for memory: values of a segment die in the forward, and
 * their forward runs again (TFN__REDO) just before the backward of their segment. Each of these
 * values has two lives with different offsets, value[0] and value[1].
 *
 * A new operation needs a pair of kernels, two functions here that call them for a chunk, a row of
 * TFN__OPS, and a function that records it. The rules at the end of this file walk through one. */

/* -- the operations -------------------------------------------------------------------------- */

/* -- chunks of an operation's work: each output has one writer ------------------------------- */

/* A chunk is a range of rows, columns or heads of the output. A sum for an output element is
 * computed inside one chunk, over all terms in order; it is never split into parts that threads add
 * up. So chunks may have any size and run at any time. The sums of an operation decide how it can
 * be cut: a norm's rows are independent, but dgain sums over rows, so its chunks are ranges of
 * columns. One entry may have both kinds, as in tfn__norm_backward, and threads then work on both
 * at once. */

/* Sizes of chunks with more than one thread. They change no bit. An entry has TFN__CHUNKS_EACH
 * chunks for each thread, so that a thread that the system delays holds up little, unless they were
 * so small that taking them and the wait at the end cost more than the work: a chunk of values has
 * at least TFN__CHUNK_FLOATS, a chunk of a product TFN__CHUNK_STEPS multiplications, which take
 * some microseconds. */
enum { TFN__CHUNKS_EACH = 4,
       TFN__CHUNK_FLOATS = 4096,        /* for elementwise work, in whole rows */
       TFN__CHUNK_STEPS = 131072,       /* of a product */
       TFN__CHUNK_COLS = 64,            /* most columns, for sums over all rows */
       TFN__PRODUCT_ROWS = 32,          /* least rows and columns in a block of a product */
       TFN__PRODUCT_COLS = 64 };

/* Returns range number `chunk` of n items cut into ranges of `step`. The last one is shorter. */
SHARED tfn__range tfn__slice(ptrdiff_t n, ptrdiff_t step, ptrdiff_t chunk)
{
    const tfn__range s = { chunk * step, tfn__min(step, n - chunk * step) };
    return s;
}

/* Returns the number of these ranges. */
SHARED ptrdiff_t tfn__pieces(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step; }

/* True if one thread does the whole operation in one chunk. */
SHARED bool tfn__serial(const tfn__call *c) { return tfn__threads_of(c) < 2; }

/* Returns how many chunks are enough for all threads. */
static ptrdiff_t tfn__most_chunks(const tfn__call *c)
{
    return TFN__CHUNKS_EACH * (ptrdiff_t)tfn__threads_of(c);
}

/* Returns the items in each of at most `parts` equal parts of n items, rounded up to a multiple of
 * `unit`, such as the columns of a cache line. */
static ptrdiff_t tfn__whole_parts(ptrdiff_t n, ptrdiff_t parts, ptrdiff_t unit)
{
    const ptrdiff_t each = tfn__max((n + parts - 1) / tfn__max(parts, 1), 1);
    return (each + unit - 1) / unit * unit;
}

/* Returns the rows in a chunk of a (rows, cols) array. */
SHARED ptrdiff_t tfn__row_step(const tfn__call *c, ptrdiff_t rows, ptrdiff_t cols)
{
    ptrdiff_t step;
    if (tfn__serial(c)) return tfn__max(rows, 1);
    step = rows / tfn__most_chunks(c);
    return tfn__max(tfn__max(step, TFN__CHUNK_FLOATS / tfn__max(cols, 1)), 1);
}

/* Returns the columns in a chunk, for outputs that sum over all rows of a column. */
SHARED ptrdiff_t tfn__col_step(const tfn__call *c, ptrdiff_t cols)
{
    const ptrdiff_t rows = tfn__max(tfn__max(c->rows, c->x_rows[0]), 1);
    ptrdiff_t step;
    if (tfn__serial(c)) return tfn__max(cols, 1);
    step = tfn__min(tfn__whole_parts(cols, tfn__most_chunks(c), 16), TFN__CHUNK_COLS);
    return tfn__max(step, TFN__CHUNK_FLOATS / rows / 16 * 16);
}

/* Returns the items in a chunk when threads share them. Each takes `steps` multiplications. */
SHARED ptrdiff_t tfn__item_step(const tfn__call *c, ptrdiff_t items, ptrdiff_t steps)
{
    return tfn__max(tfn__whole_parts(items, tfn__most_chunks(c), 1),
                    tfn__pieces(TFN__CHUNK_STEPS, tfn__max(steps, 1)));
}

/* The numbers of chunks of most operations. One chunk: */
SHARED ptrdiff_t tfn__one(const tfn__call *c)
{
    (void)c;
    return 1;
}
/* By columns, for sums over rows, such as the gradient of a bias: */
SHARED ptrdiff_t tfn__by_cols(const tfn__call *c)
{
    return tfn__pieces(c->cols, tfn__col_step(c, c->cols));
}
/* By rows, for results of single rows, as in nearly every forward: */
SHARED ptrdiff_t tfn__by_rows(const tfn__call *c)
{
    return tfn__pieces(c->rows, tfn__row_step(c, c->rows, c->cols));
}

/* Returns the columns of a chunk. `chunk` counts from the first chunk of columns. */
SHARED tfn__range tfn__cols_of(const tfn__call *c, ptrdiff_t cols, ptrdiff_t chunk)
{
    return tfn__slice(cols, tfn__col_step(c, cols), chunk);
}
/* Return the rows of this chunk, and their values. */
SHARED tfn__range tfn__chunk_rows(const tfn__call *c)
{
    return tfn__slice(c->rows, tfn__row_step(c, c->rows, c->cols), c->chunk);
}
SHARED tfn__range tfn__chunk_values(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    s.first *= c->cols;
    s.count *= c->cols;
    return s;
}

/* Returns contiguous rows of `cols` floats as a matrix. */
SHARED tfn__matrix tfn__matrix_of(const float *at, ptrdiff_t cols)
{
    const tfn__matrix m = { at, cols, 1 };
    return m;
}
/* Returns the transposed matrix: the same memory with the strides exchanged. */
SHARED tfn__matrix tfn__transpose(tfn__matrix m)
{
    const tfn__matrix transposed = { m.at, m.col, m.row };
    return transposed;
}

/* y = a b; y (m, n), a (m, k), b (k, n) */
SHARED TFN__NOINLINE tfn_matmul_args tfn__product(float *y, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                                                  tfn__matrix a, tfn__matrix b)
{
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = y;
    p.c_ld = n;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = a.at;
    p.a_row = a.row;
    p.a_col = a.col;
    p.b = b.at;
    p.b_row = b.row;
    p.b_col = b.col;
    return p;
}
/* Makes the product start from the contents of y. */
SHARED void tfn__add_product(tfn_matmul_args *p)
{
    p->start = p->c;
    p->start_ld = p->c_ld;
}

/* Chunks of a product (m, n) with sums over k are blocks of equal size. Blocks never cut the sum.
 * A block packs its rows of a and its columns of b for itself, so blocks are as square as rows and
 * columns allow: among all of the same area these read the least. Their number is a multiple of the
 * thread count, because 9 blocks take two threads as long as 10. */
typedef struct tfn__blocks {
    ptrdiff_t rows, cols;
} tfn__blocks;

static tfn__blocks tfn__blocks_of(const tfn__call *c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    tfn__blocks b = { tfn__max(m, 1), tfn__max(n, 1) };
    const ptrdiff_t steps = TFN__CHUNK_STEPS / tfn__max(k, 1) + 1;    /* outputs in a chunk */
    ptrdiff_t high = 1;                                               /* blocks, downwards */
    ptrdiff_t parts;
    if (tfn__serial(c)) return b;
    parts = tfn__min(tfn__most_chunks(c), b.rows * b.cols / steps);
    if (parts < 2) return b;
    if (parts > tfn__threads_of(c)) parts -= parts % tfn__threads_of(c);
    while (high * high * b.cols < parts * b.rows) high++;             /* high/wide = m/n */
    high = tfn__min(high, parts);
    while (parts % high) high++;                                      /* parts = high * wide */
    high = tfn__min(high, tfn__pieces(b.rows, TFN__PRODUCT_ROWS));
    while (parts % high) high--;
    b.rows = tfn__whole_parts(b.rows, high, 1);
    b.cols = tfn__whole_parts(b.cols, parts / high, TFN__PRODUCT_COLS / 2);
    b.cols = tfn__max(b.cols, TFN__PRODUCT_COLS);
    return b;
}
/* Returns the number of these blocks. */
SHARED ptrdiff_t tfn__product_chunks(const tfn__call *c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    const tfn__blocks b = tfn__blocks_of(c, m, n, k);
    return tfn__pieces(m, b.rows) * tfn__pieces(n, b.cols);
}

/* Reduces the product *p to a chunk, a block of y, and returns its first column. */
SHARED ptrdiff_t tfn__product_block(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk)
{
    const tfn__blocks b = tfn__blocks_of(c, p->m, p->n, p->k);
    const ptrdiff_t wide = tfn__pieces(p->n, b.cols);
    tfn__range i = tfn__slice(p->m, b.rows, chunk / wide);
    tfn__range j = tfn__slice(p->n, b.cols, chunk % wide);
    /* the corner of the block in a, b, y and the start */
    p->a += i.first * p->a_row;
    p->b += j.first * p->b_col;
    p->c += i.first * p->c_ld + j.first;
    if (p->start) p->start += i.first * p->start_ld + j.first;
    p->m = i.count;
    p->n = j.count;
    return j.first;
}

/* Does a chunk of the product *p. */
SHARED void tfn__product_chunk(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk)
{
    tfn__product_block(c, p, chunk);
    c->k->matmul(p, c->work);
}
