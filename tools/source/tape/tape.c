#include "tape.h"

/* From here on no loop is hot, and gcc may take less time: O1 for the tape, which runs once for
 * every node of a tiny model's token (Og there costs such a token 15 %), Og for what follows it. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC push_options
#pragma GCC optimize("O1", "fp-contract=off")
#endif
/* A tape is a graph of operations that is recorded once, planned once and run many times.
 *
 * RECORD. A call such as tfn_linear(t, x, w, b, act) computes nothing. It checks shapes and appends
 * a tfn_node: the operation, the nodes it reads, the rows and columns it makes. A tfn_var is the
 * number of a node. Rows are symbols (B*Tt, see tfn_rows), so that one tape runs every batch within
 * its capacities. Leaves (parameters, tables, buffers, inputs) do no work: they name memory that
 * the caller binds.
 *
 * PLAN. tfn_tape_plan writes the timeline, a list of entries in the order in which they will run.
 * First the forward of each node; then, if the tape trains, the gradient 1 of the last value and
 * the backward of the nodes in reverse. Of x - linear - norm - loss:
 *
 *     0 linear   1 norm   2 loss   3 seed   4 loss'   5 norm'   6 linear'
 *
 * A buffer is a node's value, what its forward saves for its backward, or its gradient. It lives
 * from the first entry that touches it to the last. The value of the linear above lives from 0 to
 * 5, because the backward of the norm reads it; that of the norm from 1 to 4; the gradient of the
 * norm from 4 to 5. Buffers that never live at one time share memory: they are placed largest
 * first, each at the lowest offset that is free during its life. Without a backward lives are
 * short, which is why inference needs a fraction of the memory. The workspace is one block:
 *
 *     work:  scratch of thread 0 | of thread 1 | ... | values, saved arrays and gradients, shared
 *
 * RUN. tfn_tape_forward walks the entries up to forward_count, tfn_tape_backward the others. An
 * entry's tfn__call holds the pointers and sizes of this run; the operation's row in TFN__OPS names
 * the function for it. An entry is cut into chunks, which threads share out. Each output is
 * written by one chunk, in one order: neither the number of threads nor their speed changes a bit.
 *
 * GRADIENTS add up where a value has several readers. The plan knows which of them comes first on
 * the timeline: that one stores, the others add (grad_add), and nothing is cleared in advance. A
 * parameter that no gradient reaches is cleared by tfn_tape_backward.
 *
 * RECOMPUTATION (tfn_recompute) trades time for memory: values of a segment die in the forward, and
 * their forward runs again (TFN__REDO) just before the backward of their segment. Such a value has
 * two lives, each with a place of its own: value[0] and value[1].
 *
 * A new operation is a kernel pair, two functions here that call it for a chunk, a row of TFN__OPS,
 * and a function that records it; the rules at the end of this file walk through one. */

/* -- the operations -------------------------------------------------------------------------- */

/* -- how an operation's work is cut into chunks: each output has one writer, so that neither
 * the number of threads nor the order of the chunks can change a bit
 * -------------------------------- */

/* Why that holds: a chunk is a range of rows, columns or heads of the output, and whatever is
 * summed for an output element is summed inside its chunk, over all terms in their order. No sum
 * is ever split into parts that threads add up. So a chunk may be small or large, and may run when
 * it likes. An operation's sums decide along what it can be cut: a norm's rows are independent,
 * but dgain sums over rows, so that its chunks are ranges of columns; both kinds may follow each
 * other in one entry, as in tfn__norm_backward, and threads then work on both at once. */

/* Sizes of chunks when there is more than one thread. They change no bit, only how evenly the
 * threads are loaded against what taking a chunk costs. */
enum { TFN__CHUNK_FLOATS = 16384,       /* of elementwise work, in whole rows */
       TFN__CHUNK_COLS = 64,            /* of sums over all rows, in columns */
       TFN__PRODUCT_ROWS = 128,         /* of a matrix product: a block of so many rows, */
       TFN__PRODUCT_COLS = 256,         /* and of so many columns, where rows are few */
       TFN__PRODUCT_MANY_ROWS = 256 };  /* rows are many from here on, for each thread */

/* Range number `chunk` of n items that are cut into ranges of `step`; the last is shorter. */
SHARED tfn__range tfn__slice(ptrdiff_t n, ptrdiff_t step, ptrdiff_t chunk)
{
    const tfn__range s = { chunk * step, tfn__min(step, n - chunk * step) };
    return s;
}

/* How many such ranges there are. */
SHARED ptrdiff_t tfn__pieces(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step; }

/* One thread takes the whole of an operation in one chunk. */
SHARED bool tfn__serial(const tfn__call *c) { return c->t->threads < 2; }

/* Rows in a chunk of a (rows, cols) array. */
SHARED ptrdiff_t tfn__row_step(const tfn__call *c, ptrdiff_t rows, ptrdiff_t cols)
{
    if (tfn__serial(c)) return tfn__max(rows, 1);
    return tfn__max(TFN__CHUNK_FLOATS / tfn__max(cols, 1), 1);
}

/* Columns in a chunk, where an output is a sum over all rows of its column. */
SHARED ptrdiff_t tfn__col_step(const tfn__call *c, ptrdiff_t cols)
{
    if (tfn__serial(c)) return tfn__max(cols, 1);
    return TFN__CHUNK_COLS;
}

/* The ways in which most operations are cut: not at all, by columns of y, by rows of y. */
SHARED ptrdiff_t tfn__one(const tfn__call *c)
{
    (void)c;
    return 1;
}
/* ... for sums over rows, such as the gradient of a bias. */
SHARED ptrdiff_t tfn__by_cols(const tfn__call *c)
{
    return tfn__pieces(c->cols, tfn__col_step(c, c->cols));
}
/* ... for what each row gives alone: nearly every forward. */
SHARED ptrdiff_t tfn__by_rows(const tfn__call *c)
{
    return tfn__pieces(c->rows, tfn__row_step(c, c->rows, c->cols));
}

/* This chunk's columns; `chunk` counts from the first chunk that is one of columns. */
SHARED tfn__range tfn__cols_of(const tfn__call *c, ptrdiff_t cols, ptrdiff_t chunk)
{
    return tfn__slice(cols, tfn__col_step(c, cols), chunk);
}
/* This chunk's rows, and their values. */
SHARED tfn__range tfn__my_rows(const tfn__call *c)
{
    return tfn__slice(c->rows, tfn__row_step(c, c->rows, c->cols), c->chunk);
}
SHARED tfn__range tfn__my_values(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    s.first *= c->cols;
    s.count *= c->cols;
    return s;
}

/* Rows of `cols` floats, one behind the other. */
SHARED tfn__matrix tfn__matrix_of(const float *at, ptrdiff_t cols)
{
    const tfn__matrix m = { at, cols, 1 };
    return m;
}
/* The same memory read as the transposed matrix: the strides change places, nothing moves. */
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
/* The product goes on from what stands in y. */
SHARED void tfn__add_product(tfn_matmul_args *p)
{
    p->start = p->c;
    p->start_ld = p->c_ld;
}

/* Chunks of a product (m, n) are blocks of rows, cut into blocks of columns, too, where rows
 * alone would not give every thread its share. Blocks never cut the sum over k. */
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
/* How many blocks that makes. */
SHARED ptrdiff_t tfn__product_chunks(const tfn__call *c, ptrdiff_t m, ptrdiff_t n)
{
    return tfn__pieces(m, tfn__product_rows(c, m)) * tfn__pieces(n, tfn__product_cols(c, m, n));
}

/* The product *p becomes that of a chunk: a block of y, whose first column is returned. */
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

/* Do a chunk of the product *p. */
SHARED void tfn__product_chunk(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk)
{
    tfn__product_block(c, p, chunk);
    c->k->matmul(p, c->work);
}
