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

/* Sizes of chunks with more than one thread. They change no bit, but balance an even load against
 * the cost of taking a chunk. */
enum { TFN__CHUNK_FLOATS = 16384,       /* for elementwise work, in whole rows */
       TFN__CHUNK_COLS = 64,            /* columns, for sums over all rows */
       TFN__PRODUCT_ROWS = 128,         /* rows in a block of a matrix product */
       TFN__PRODUCT_COLS = 256,         /* columns in a block, if there are few rows */
       TFN__PRODUCT_MANY_ROWS = 256 };  /* rows for each thread that count as many */

/* Returns range number `chunk` of n items cut into ranges of `step`. The last one is shorter. */
SHARED tfn__range tfn__slice(ptrdiff_t n, ptrdiff_t step, ptrdiff_t chunk)
{
    const tfn__range s = { chunk * step, tfn__min(step, n - chunk * step) };
    return s;
}

/* Returns the number of these ranges. */
SHARED ptrdiff_t tfn__pieces(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step; }

/* True if one thread does the whole operation in one chunk. */
SHARED bool tfn__serial(const tfn__call *c) { return c->t->threads < 2; }

/* Returns the rows in a chunk of a (rows, cols) array. */
SHARED ptrdiff_t tfn__row_step(const tfn__call *c, ptrdiff_t rows, ptrdiff_t cols)
{
    if (tfn__serial(c)) return tfn__max(rows, 1);
    return tfn__max(TFN__CHUNK_FLOATS / tfn__max(cols, 1), 1);
}

/* Returns the columns in a chunk, for outputs that sum over all rows of a column. */
SHARED ptrdiff_t tfn__col_step(const tfn__call *c, ptrdiff_t cols)
{
    if (tfn__serial(c)) return tfn__max(cols, 1);
    return TFN__CHUNK_COLS;
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

/* Chunks of a product (m, n) are blocks of rows, also cut into blocks of columns if rows would not
 * keep every thread busy. Blocks never cut the sum over k. */
static ptrdiff_t tfn__product_cols(const tfn__call *c, ptrdiff_t m, ptrdiff_t n)
{
    if (tfn__serial(c)) return tfn__max(n, 1);
    if (m >= TFN__PRODUCT_MANY_ROWS * c->t->threads) return tfn__max(n, 1);
    return TFN__PRODUCT_COLS;
}
static ptrdiff_t tfn__product_rows(const tfn__call *c, ptrdiff_t m)
{
    if (tfn__serial(c)) return tfn__max(m, 1);
    return TFN__PRODUCT_ROWS;
}
/* Returns the number of these blocks. */
SHARED ptrdiff_t tfn__product_chunks(const tfn__call *c, ptrdiff_t m, ptrdiff_t n)
{
    return tfn__pieces(m, tfn__product_rows(c, m)) * tfn__pieces(n, tfn__product_cols(c, m, n));
}

/* Reduces the product *p to a chunk, a block of y, and returns its first column. */
SHARED ptrdiff_t tfn__product_block(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk)
{
    ptrdiff_t wide = tfn__pieces(p->n, tfn__product_cols(c, p->m, p->n));
    tfn__range i = tfn__slice(p->m, tfn__product_rows(c, p->m), chunk / wide);
    tfn__range j = tfn__slice(p->n, tfn__product_cols(c, p->m, p->n), chunk % wide);
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
