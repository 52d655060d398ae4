#include "op_linear.h"
#include "../ground/ground.h"
#include "../kernels/products.h"

/* -- linear: y = act(x W + b), or act(x W^T + b). in: x, W, b or none -------------------------- */

/* Returns the fused activation, or IDENTITY if there is none. */
static tfn_activation_kind tfn__linear_activation(const tfn__call *c)
{
    return (tfn_activation_kind)c->n->arg[TFN__LINEAR_ACTIVATION];
}

/* Returns the weight as (in, out). A transposed one is stored as (out, in), for example if a tied
 * output head uses the table of the embedding, whose rows are words. */
static tfn__matrix tfn__linear_weight(const tfn__call *c)
{
    if (c->n->arg[TFN__LINEAR_TRANSPOSED])
        return tfn__transpose(tfn__matrix_of(c->x[1], c->x_cols[0]));
    return tfn__matrix_of(c->x[1], c->cols);
}

/* Tells how a node's weights are packed. A node that is not a parameter, such as the result of
 * another operation, holds floats. */
SHARED tfn__packed tfn__packed_node(const tfn_node *n)
{
    tfn__packed p = { TFN_WEIGHTS_FLOAT, false, 0, 0 };
    p.rows = n->count;
    p.cols = n->cols;
    if (!TFN__PACKS || n->op != TFN__OP_PARAM) return p;
    p.type = (tfn_weights)n->arg[TFN__PARAM_WEIGHTS];
    p.table = n->arg[TFN__PARAM_TABLE] != 0;
    return p;
}

#if TFN__PACKS
/* Tells how input j of a call is packed. */
SHARED tfn__packed tfn__packed_input(const tfn__call *c, int j)
{
    return tfn__packed_node(c->t->nodes + c->n->in[j]);
}

/* Computes a chunk of x W + b with packed weights, and reduces *p to the chunk. The chunk's columns
 * begin at a multiple of 32, and so at a panel. Each chunk quantizes its own rows of
 * x, which costs one more pass over x. */
static void tfn__packed_product(const tfn__call *c, tfn_matmul_args *p)
{
    const tfn__packed w = tfn__packed_input(c, 1);
    tfn_quant_args q;
    TFNORM_MEMSET(&q, 0, sizeof q);
    q.outputs = p->n;
    q.first = tfn__product_block(c, p, c->chunk);
    q.c = p->c;
    q.c_ld = p->c_ld;
    q.start = p->start;
    q.start_ld = p->start_ld;
    q.a = p->a;
    q.a_ld = p->a_row;
    q.w = c->x[1];
    q.type = w.type;
    q.table = w.table;
    q.m = p->m;
    q.n = p->n;
    q.k = p->k;
    tfn_quant_product(c->k, c->t->quant, &q, c->work);
}
#endif

/* Returns the place of the pre-activation u = x W + b. A tape that trains saves it for the
 * backward. Otherwise it is in y, and is activated in place. ReLU saves nothing either, because its
 * output tells the sign of u. */
static float *tfn__linear_sum(const tfn__call *c)
{
    if (c->saved) return c->saved;
    return c->y;
}

/* y = act(x W + b). The chains of the product start from the bias. Each chunk activates its own
 * block while it is in the cache. */
SHARED void tfn__linear_forward(const tfn__call *c)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    tfn_activation_kind act = tfn__linear_activation(c);
    float *u = tfn__linear_sum(c);
    tfn_matmul_args p = tfn__product(u, c->rows, out, in, tfn__matrix_of(c->x[0], in),
                                     tfn__linear_weight(c));
    p.start = c->x[2];
#if TFN__PACKS
    if (tfn__packed_input(c, 1).type) tfn__packed_product(c, &p);
    else
#endif
    tfn__product_chunk(c, &p, c->chunk);
    if (act == TFN_ACTIVATION_IDENTITY) return;
    for (ptrdiff_t r = 0; r < p.m; r++)
        c->k->activation_forward(c->y + (p.c - u) + r*out, p.c + r*out, p.n, act);
}
/* Chunks are blocks of y. */
SHARED ptrdiff_t tfn__linear_chunks(const tfn__call *c)
{
    return tfn__product_chunks(c, c->rows, c->cols, c->x_cols[0]);
}

/* Turns dy into du = dy act'(u), in place. It is an entry of its own on the timeline
 * (TFN__PREPARE), because each of the products below reads all of du. */
SHARED void tfn__linear_prepare(const tfn__call *c)
{
    tfn__range s = tfn__chunk_values(c);
    const float *u = tfn__linear_sum(c);
    c->k->activation_backward(c->dy + s.first, c->dy + s.first, u + s.first, s.count,
                              tfn__linear_activation(c), false);
}

/* Sets up the products dx = du W^T and dW = x^T du, or du^T x for a transposed W. If a gradient is
 * not needed, the product's c is NULL. */
static void tfn__linear_products(const tfn__call *c, tfn_matmul_args *dx, tfn_matmul_args *dw)
{
    ptrdiff_t rows = c->rows;
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    tfn__matrix x = tfn__matrix_of(c->x[0], in);
    tfn__matrix du = tfn__matrix_of(c->dy, out);
    tfn__matrix w = tfn__linear_weight(c);

    *dx = tfn__product(c->dx[0], rows, in, out, du, tfn__transpose(w));
    if (c->n->arg[TFN__LINEAR_TRANSPOSED])
        *dw = tfn__product(c->dx[1], out, in, rows, tfn__transpose(du), x);
    else
        *dw = tfn__product(c->dx[1], in, out, rows, tfn__transpose(x), du);

    if (c->add[0]) tfn__add_product(dx);
    if (c->add[1]) tfn__add_product(dw);
}

/* Returns the chunks of a gradient, or 0 if it is not needed: inputs of the model need no dx, and
 * frozen weights no dW. */
static ptrdiff_t tfn__gradient_chunks(const tfn__call *c, const tfn_matmul_args *p)
{
    if (!p->c) return 0;
    return tfn__product_chunks(c, p->m, p->n, p->k);
}

#if TFN__PACKS
/* Unpacks `count` outputs of W into floats, for the products of the backward: y (in, count), or
 * (count, in) for a 16-bit table, which has that order in memory. */
static tfn__matrix tfn__unpacked(const tfn__call *c, float *y, const tfn__packed *w,
                                 ptrdiff_t first, ptrdiff_t count)
{
    const ptrdiff_t in = c->x_cols[0];
    if (w->table && !tfn__quant_block_bytes(w->type)) {
        c->t->quant->halves(y, (const uint16_t *)(const void *)c->x[1] + first * in, count * in,
                            w->type);
        return tfn__transpose(tfn__matrix_of(y, in));
    }
    tfn_quant_unpack(y, c->x[1], w->type, in, c->cols, first, count);
    return tfn__matrix_of(y, count);
}

/* Computes a chunk of dx = du W^T with packed weights, which are constants. The gradient passes
 * through the quantization of inputs unchanged (straight-through, Bengio et al. 2013). Chains over
 * outputs continue from tile to tile. */
static void tfn__packed_backward(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk)
{
    const tfn__packed w = tfn__packed_input(c, 1);
    const ptrdiff_t in = c->x_cols[0];
    const ptrdiff_t first = tfn__product_block(c, p, chunk);
    const float *du = p->a;
    for (ptrdiff_t j = 0; j < c->cols; j += TFN__QTILE_K) {
        tfn__matrix b;
        p->k = tfn__min(c->cols - j, TFN__QTILE_K);
        b = tfn__transpose(tfn__unpacked(c, c->work, &w, j, p->k));
        p->a = du + j;
        p->b = b.at + first * b.col;
        p->b_row = b.row;
        p->b_col = b.col;
        c->k->matmul(p, c->work + in * p->k);
        tfn__add_product(p);
    }
}
#endif

/* Chunks of dx come first, then chunks of dW, then chunks of db, the column sums of du. */
SHARED void tfn__linear_backward(const tfn__call *c)
{
    ptrdiff_t chunk = c->chunk;
    tfn_matmul_args dx;
    tfn_matmul_args dw;
    tfn__range j;
    tfn__linear_products(c, &dx, &dw);

    if (chunk < tfn__gradient_chunks(c, &dx)) {
#if TFN__PACKS
        if (tfn__packed_input(c, 1).type) tfn__packed_backward(c, &dx, chunk);
        else
#endif
        tfn__product_chunk(c, &dx, chunk);
        return;
    }
    chunk -= tfn__gradient_chunks(c, &dx);
    if (chunk < tfn__gradient_chunks(c, &dw)) {
        tfn__product_chunk(c, &dw, chunk);
        return;
    }
    chunk -= tfn__gradient_chunks(c, &dw);
    j = tfn__cols_of(c, c->cols, chunk);
    c->k->column_sum(c->dx[2] + j.first, c->dy + j.first, c->rows, j.count, c->cols, c->add[2]);
}
#ifdef TFN__TEAMS
/* Returns the number of chunks of dx. */
SHARED ptrdiff_t tfn__linear_input_chunks(const tfn__call *c)
{
    tfn_matmul_args dx;
    tfn_matmul_args dw;
    tfn__linear_products(c, &dx, &dw);
    return tfn__gradient_chunks(c, &dx);
}
#endif
/* Returns the number of all chunks: blocks of dx, blocks of dW, ranges of columns of db. */
SHARED ptrdiff_t tfn__linear_backward_chunks(const tfn__call *c)
{
    ptrdiff_t chunks;
    tfn_matmul_args dx;
    tfn_matmul_args dw;
    tfn__linear_products(c, &dx, &dw);
    chunks = tfn__gradient_chunks(c, &dx) + tfn__gradient_chunks(c, &dw);
    if (c->dx[2]) chunks += tfn__by_cols(c);
    return chunks;
}

/* -- which rows count ------------------------------------------------------------------------ */

/* Rows come from sentences on a grid of B times Ts (source) or Tt (target) positions. A shorter
 * sentence fills the left of its line. The rest is padding, which must not change a bit of anything
 * else. */

/* Returns the positions per sentence on the grid of a value whose rows are positions. */
SHARED ptrdiff_t tfn__time_of(const tfn__call *c)
{
    if (c->n->rows == TFN_ROWS_SOURCE) return c->r->source;
    return c->r->target;
}
/* Returns the lengths of its sentences, or NULL if all are full. */
SHARED const int32_t *tfn__lengths_of(const tfn__call *c)
{
    if (c->n->rows == TFN_ROWS_SOURCE) return c->r->ints[TFN_INT_SOURCE_LENGTHS];
    return c->r->ints[TFN_INT_LENGTHS];
}

/* Returns the rows of `sentences` sentences that have `positions` source or target positions in
 * total. A convolution with kernel 3 and stride 2 makes T rows from 2T + 1 rows (HALF), and these
 * from 4T + 3 rows (FRAMES). */
SHARED int64_t tfn__rows_of_positions(int rows, int64_t positions, int64_t sentences)
{
    if (!TFN__ALL) return positions;
    switch (rows) {
    case TFN_ROWS_HALF:
    case TFN_ROWS_TARGET_HALF:   return 2*positions + sentences;
    case TFN_ROWS_FRAMES:
    case TFN_ROWS_TARGET_FRAMES: return 4*positions + 3*sentences;
    default:                     return positions;
    }
}

/* True if rows of this kind are on the grid of targets, where an encoder without a decoder is,
 * too. */
SHARED bool tfn__on_target(int rows)
{
    if (rows == TFN_ROWS_TARGET) return true;
    return TFN__ALL && (rows == TFN_ROWS_TARGET_FRAMES || rows == TFN_ROWS_TARGET_HALF);
}

/* Returns the lengths of a value's sentences, in positions, or NULL if all rows count. */
SHARED const int32_t *tfn__padding_of(const tfn_run *r, tfn_rows rows)
{
    if (!r->skip_padding || rows == TFN_ROWS_FIXED || rows == TFN_ROWS_BATCH) return NULL;
    if (tfn__on_target((int)rows)) return r->ints[TFN_INT_LENGTHS];
    return r->ints[TFN_INT_SOURCE_LENGTHS];
}

/* Returns how many rows of sentence b count: all but the padding, which is on the right. */
SHARED ptrdiff_t tfn__counted_rows(const tfn_run *r, tfn_rows rows, ptrdiff_t b)
{
    const int32_t *lengths = tfn__padding_of(r, rows);
    ptrdiff_t positions = r->source;
    if (rows == TFN_ROWS_BATCH) return 1;
    if (tfn__on_target((int)rows)) positions = r->target;
    if (lengths) positions = tfn__min(tfn__max(lengths[b], 0), positions);
    if (positions == 0) return 0;                   /* an empty sentence has no frames */
    return (ptrdiff_t)tfn__rows_of_positions((int)rows, positions, 1);
}

/* For loops that skip a value's padding: the number of sentences, and the rows of sentence b that
 * count. Without padding all rows are one sentence. */
SHARED ptrdiff_t tfn__sentences_of(const tfn__call *c)
{
    if (!tfn__padding_of(c->r, (tfn_rows)c->n->rows)) return 1;
    return c->r->batch;
}
SHARED tfn__range tfn__sentence_rows(const tfn__call *c, ptrdiff_t b)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    tfn__range s = { 0, c->rows };
    if (!tfn__padding_of(c->r, rows)) return s;
    s.first = c->rows / c->r->batch * b;
    s.count = tfn__counted_rows(c->r, rows, b);
    return s;
}

/* -- frames: a copy of the caller's array, whose padding the tape can set to 0 ----------------- */

/* Chunks of operations that work sentence by sentence. */
SHARED ptrdiff_t tfn__by_sentence(const tfn__call *c) { return c->r->batch; }

/* Copies one sentence. A linear map cannot read the caller's array directly, because its gradient
 * sums over all rows, and the padding may hold NaN; the copy's is cleared by the rule in run.c.
 * Convolutions skip padding themselves, so they read the caller's array. */
SHARED void tfn__frames_op(const tfn__call *c)
{
    const ptrdiff_t n = c->rows / tfn__max(c->r->batch, 1) * c->cols;
    TFNORM_MEMCPY(c->y + c->chunk*n, c->r->inputs[c->n->arg[TFN__INPUT_SLOT]] + c->chunk*n,
                  (size_t)n * sizeof *c->y);
}
