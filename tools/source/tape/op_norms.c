#include "op_norms.h"
#include "../ground/ground.h"
#include "op_linear.h"

/* Most functions below unpack a tfn__call and run a kernel on this chunk. The kernels have the
 * mathematics. */

/* -- norms of rows. in: x, gain, bias (or none); number: eps, slope of AdaNorm ---------------- */

/* Return the two parts of the slot. */
static int tfn__norm_kind_of(const tfn_node *n)
{
    return n->arg[TFN__NORM_KIND] % TFN__NORM_KINDS;
}
static bool tfn__norm_flag(const tfn_node *n, int flag)
{
    return (n->arg[TFN__NORM_KIND] / TFN__NORM_KINDS & flag) != 0;
}

/* Returns the kernel's arguments for `count` rows of the value from `first` on. A row of the value
 * holds `each` rows of the norm, for example one per head. The saved array is the mean (rows, each,
 * groups), then rstd with the same shape. */
static tfn_norm_args tfn__norm_of(const tfn__call *c, ptrdiff_t first, ptrdiff_t count)
{
    const tfn_node *n = c->n;
    ptrdiff_t cols = n->arg[TFN__NORM_COLS];
    ptrdiff_t each = c->cols / tfn__max(cols, 1);
    const ptrdiff_t stats = n->saved_cols / 2;          /* mean and rstd of a row of the value */
    tfn_norm_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.kind = (tfn_norm_kind)tfn__norm_kind_of(n);
    if (TFN__ALL) {
        p.offset = tfn__norm_flag(n, TFN_FLAG_OFFSET);
        p.detach_mean = tfn__norm_flag(n, TFN_FLAG_DETACH_MEAN);
        p.detach_std = tfn__norm_flag(n, TFN_FLAG_DETACH_STD);
        p.groups = n->arg[TFN__NORM_GROUPS];
        p.part = n->arg[TFN__NORM_PART];
        p.slope = n->number[1];
        p.factor = 1;                       /* tfn_norm records the factor as another operation */
    }
    p.rows = count * each;
    p.cols = cols;
    p.eps = n->number[0];
    p.x = c->x[0] + first * c->cols;
    p.gain = c->x[1];
    p.bias = c->x[2];
    if (c->saved) {
        p.mean = c->saved + first*stats;
        p.rstd = c->saved + (c->rows + first)*stats;
    }
    return p;
}

/* True for TFN_NORM_ABSMAX, which normalizes x/(max|x|/8) with the maximum over the whole tensor,
 * and so must be one chunk. */
static bool tfn__norm_is_whole(const tfn_node *n)
{
    return TFN__ALL && tfn__norm_kind_of(n) == TFN_NORM_ABSMAX;
}

/* Returns eps times s^2, s = max|x|/8, which has the same effect as dividing x by s before the
 * norm. The maximum skips the padding. */
static float tfn__absmax_eps(const tfn__call *c)
{
    const int32_t *lengths = tfn__lengths_of(c);
    ptrdiff_t time = tfn__time_of(c);
    ptrdiff_t sentences = 1;
    float most = 0;
    if (lengths) sentences = c->r->batch;
    for (ptrdiff_t b = 0; b < sentences; b++) {
        ptrdiff_t rows = c->rows;
        float m;
        if (lengths) rows = lengths[b];
        m = c->k->absmax(c->x[0] + b*time*c->cols, rows * c->cols) / 8;
        if (m > most) most = m;
    }
    return c->n->number[0] * most * most;
}

/* Computes y. A tape that trains also saves the statistics for the backward. */
SHARED void tfn__norm_forward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    tfn_norm_args p;
    if (tfn__norm_is_whole(c->n)) {
        s.first = 0;
        s.count = c->rows;
    }
    p = tfn__norm_of(c, s.first, s.count);
    if (tfn__norm_is_whole(c->n)) p.eps = tfn__absmax_eps(c);
    p.y = c->y + s.first * c->cols;
    c->k->norm_forward(&p);
}
/* Rows are independent, so they may be cut anywhere. */
SHARED ptrdiff_t tfn__norm_chunks(const tfn__call *c)
{
    if (tfn__norm_is_whole(c->n)) return 1;
    return tfn__by_rows(c);
}

/* dx for this chunk's rows. */
static void tfn__norm_rows_backward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    tfn_norm_args p = tfn__norm_of(c, s.first, s.count);
    if (!c->dx[0]) return;                  /* nothing below learns */
    p.dy = c->dy + s.first * c->cols;
    p.dx = c->dx[0] + s.first * c->cols;
    p.add = c->add[0];
    c->k->norm_backward(&p);
}
/* dgain and dbias for some columns, as chains over all rows. */
static void tfn__norm_cols_backward(const tfn__call *c, ptrdiff_t chunk)
{
    tfn_norm_args p = tfn__norm_of(c, 0, c->rows);
    tfn__range j = tfn__cols_of(c, p.cols, chunk);
    p.dy = c->dy;
    p.dgain = c->dx[1];
    p.dbias = c->dx[2];
    p.add_params = c->add[2];
    if (p.dgain) p.add_params = c->add[1];
    c->k->norm_params_backward(&p, j.first, j.count);
}
/* Chunks of rows come first, then chunks of columns. */
SHARED void tfn__norm_backward(const tfn__call *c)
{
    ptrdiff_t rows = tfn__by_rows(c);
    if (c->chunk < rows) tfn__norm_rows_backward(c);
    else tfn__norm_cols_backward(c, c->chunk - rows);
}
/* The gain, the bias or both may be absent or frozen. The kernel skips a gradient that is NULL. */
SHARED ptrdiff_t tfn__norm_backward_chunks(const tfn__call *c)
{
    ptrdiff_t cols = c->n->arg[TFN__NORM_COLS];
    ptrdiff_t chunks = tfn__by_rows(c);
    if (c->dx[1] || c->dx[2]) chunks += tfn__pieces(cols, tfn__col_step(c, cols));
    return chunks;
}

#if TFN__ALL
/* -- convolution over time, kernel 3, stride 2. in: x, W (3 C, out), b or none ----------------- */

/* y_t = [x_2t x_2t+1 x_2t+2] W + b. Three of the 2T + 1 rows of a sentence at a time are the rows
 * of a matrix (T, 3 C). They overlap (stride 2 C), so nothing is copied. The rows of y that count
 * read only frames that count. Rows of padding, whose frames may be anything, are set to 0. */

/* Returns sentence b of x as this matrix, for `time` rows of y. */
static tfn__matrix tfn__conv_windows(const tfn__call *c, ptrdiff_t b, ptrdiff_t time)
{
    ptrdiff_t in = c->x_cols[0];
    const tfn__matrix m = { c->x[0] + b*(2*time + 1)*in, 2*in, 1 };
    return m;
}

/* One sentence: a product for the rows that count, and 0 in the others. */
SHARED void tfn__conv_forward(const tfn__call *c)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    ptrdiff_t time = c->rows / tfn__max(c->r->batch, 1);
    ptrdiff_t counted = tfn__counted_rows(c->r, (tfn_rows)c->n->rows, c->chunk);
    float *y = c->y + c->chunk*time*out;
    tfn_matmul_args p = tfn__product(y, counted, out, 3*in, tfn__conv_windows(c, c->chunk, time),
                                     tfn__matrix_of(c->x[1], out));
    p.start = c->x[2];
    c->k->matmul(&p, c->work);
    TFNORM_MEMSET(y + counted*out, 0, (size_t)((time - counted) * out) * sizeof *y);
}

/* For one sentence, dx_2t = dy_t W_0^T + dy_t-1 W_2^T and dx_2t+1 = dy_t W_1^T, where W_k (C, out)
 * are the three blocks of W. Each of the three products writes every other row of dx. The product
 * with W_2 comes last, because it adds to rows that hold the product with W_0, except the last. */
static void tfn__conv_input_backward(const tfn__call *c, ptrdiff_t time)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    tfn__matrix dy = tfn__matrix_of(c->dy + c->chunk*time*out, out);
    float *dx = c->dx[0] + c->chunk*(2*time + 1)*in;
    if (!c->add[0]) TFNORM_MEMSET(dx + 2*time*in, 0, (size_t)in * sizeof *dx);
    for (ptrdiff_t k = 0; k < 3; k++) {
        tfn__matrix w = tfn__matrix_of(c->x[1] + k*in*out, out);
        tfn_matmul_args p = tfn__product(dx + k*in, time, in, out, dy, tfn__transpose(w));
        p.c_ld = 2*in;
        if (c->add[0] || k == 2) tfn__add_product(&p);
        c->k->matmul(&p, c->work);
    }
}

/* dW for some columns, as a chain over the rows of all sentences. It skips padding, where dy is 0
 * and x may be NaN. */
static void tfn__conv_weight_backward(const tfn__call *c, ptrdiff_t time, tfn__range j)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    ptrdiff_t batch = tfn__max(c->r->batch, 1);
    for (ptrdiff_t b = 0; b < batch; b++) {
        ptrdiff_t counted = tfn__counted_rows(c->r, (tfn_rows)c->n->rows, b);
        tfn__matrix x = tfn__conv_windows(c, b, time);
        tfn__matrix dy = tfn__matrix_of(c->dy + b*time*out + j.first, out);
        tfn_matmul_args p = tfn__product(c->dx[1] + j.first, 3*in, j.count, counted,
                                         tfn__transpose(x), dy);
        p.c_ld = out;
        if (c->add[1] || b > 0) tfn__add_product(&p);
        c->k->matmul(&p, c->work);
    }
}

/* Chunks are first the sentences of dx, then columns of dW and db. */
SHARED void tfn__conv_backward(const tfn__call *c)
{
    ptrdiff_t out = c->cols;
    ptrdiff_t time = c->rows / tfn__max(c->r->batch, 1);
    ptrdiff_t sentences = 0;
    tfn__range j;
    if (c->dx[0]) sentences = c->r->batch;
    if (c->chunk < sentences) {
        tfn__conv_input_backward(c, time);
        return;
    }
    j = tfn__cols_of(c, out, c->chunk - sentences);
    if (c->dx[1]) tfn__conv_weight_backward(c, time, j);
    if (c->dx[2])
        c->k->column_sum(c->dx[2] + j.first, c->dy + j.first, c->rows, j.count, out, c->add[2]);
}
/* Returns the number of these chunks. */
SHARED ptrdiff_t tfn__conv_backward_chunks(const tfn__call *c)
{
    ptrdiff_t chunks = tfn__by_cols(c);
    if (c->dx[0]) chunks += c->r->batch;
    return chunks;
}

/* -- pointwise norms: gain * f(alpha x + shift) + bias. in: x, gain, bias, alpha, shift ------- */

/* Returns the kernel's arguments for some rows. The forward has y, the backward dy. DyT and its
 * siblings (Zhu 2025, Chen 2025) need no statistics, so nothing is saved. */
static tfn_point_args tfn__point_of(const tfn__call *c, tfn__range s)
{
    ptrdiff_t at = s.first * c->cols;
    tfn_point_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.squash = (tfn_squash_kind)c->n->arg[TFN__POINT_FUNCTION];
    p.x = c->x[0] + at;
    p.gain = c->x[1];
    p.bias = c->x[2];
    p.alpha = c->x[3];
    p.shift = c->x[4];
    p.rows = s.count;
    p.cols = c->cols;
    p.y = c->y + at;
    if (c->dy) p.dy = c->dy + at;
    return p;
}
SHARED void tfn__point_forward(const tfn__call *c)
{
    tfn_point_args p = tfn__point_of(c, tfn__chunk_rows(c));
    tfn_point_forward(c->k, &p);
}

/* -- SeeDNorm. in: x, gain, alpha, direction; number: eps -------------------------------------- */

static tfn_seed_args tfn__seed_of(const tfn__call *c, tfn__range s)
{
    ptrdiff_t at = s.first * c->cols;
    tfn_seed_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.x = c->x[0] + at;
    p.gain = c->x[1];
    p.alpha = c->x[2];
    p.direction = c->x[3];
    p.rows = s.count;
    p.cols = c->cols;
    p.eps = c->n->number[0];
    if (c->saved) p.stats = c->saved + 2*s.first;
    p.y = c->y + at;
    if (c->dy) p.dy = c->dy + at;
    return p;
}
SHARED void tfn__seed_forward(const tfn__call *c)
{
    tfn_seed_args p = tfn__seed_of(c, tfn__chunk_rows(c));
    tfn_seed_forward(c->k, &p);
}

/* -- norms over the batch. in: x, gain, bias, running statistics (2, C); number: eps ---------- */

/* The saved array holds the statistics of this batch (2, C), then the next running statistics (2,
 * C). The model copies the latter into its buffers after an update, so that a failed update changes
 * nothing. */
static tfn_columns_args tfn__columns_of(const tfn__call *c)
{
    tfn_columns_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.kind = (tfn_norm_kind)c->n->arg[TFN__BATCH_KIND];
    p.y = c->y;
    p.x = c->x[0];
    p.gain = c->x[1];
    p.bias = c->x[2];
    p.running = c->x[3];
    p.dy = c->dy;
    if (c->saved) {
        p.stats = c->saved;
        p.next = c->saved + 2*c->cols;
    }
    p.lengths = tfn__lengths_of(c);
    p.batch = c->r->batch;
    p.time = tfn__time_of(c);
    p.cols = c->cols;
    p.step = c->r->step + 1;
    p.warmup = c->n->arg[TFN__BATCH_WARMUP];
    p.eps = c->n->number[0];
    p.training = c->t->training;
    p.skip = c->t->training && c->r->skip_padding;
    return p;
}
/* The statistics of a column sum over all rows that count, so chunks are ranges of columns. */
SHARED void tfn__columns_forward(const tfn__call *c)
{
    tfn__range j = tfn__cols_of(c, c->cols, c->chunk);
    tfn_columns_args p = tfn__columns_of(c);
    tfn_columns_forward(&p, j.first, j.count);
}

/* Chunks of rows give dx; one chunk after them gives the gradients of the parameters. */
SHARED ptrdiff_t tfn__rows_and_one(const tfn__call *c) { return tfn__by_rows(c) + 1; }

#if TFN__TRAINS
/* dx for this chunk's rows. */
static void tfn__point_rows_backward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    tfn_point_args p = tfn__point_of(c, s);
    if (!c->dx[0]) return;
    p.dx = c->dx[0] + s.first * c->cols;
    p.add = c->add[0];
    tfn_point_backward(c->k, &p);
}
/* Chunks of rows, then one chunk for all parameters, because alpha and shift are single numbers
 * whose gradients sum over the whole array. */
SHARED void tfn__point_backward(const tfn__call *c)
{
    if (c->chunk < tfn__by_rows(c)) {
        tfn__point_rows_backward(c);
        return;
    }
    for (ptrdiff_t b = 0; b < tfn__sentences_of(c); b++) {
        tfn_point_args p = tfn__point_of(c, tfn__sentence_rows(c, b));
        p.dgain = c->dx[1];
        p.dbias = c->dx[2];
        p.dalpha = c->dx[3];
        p.dshift = c->dx[4];
        p.add_gain = c->add[1] || b > 0;
        p.add_bias = c->add[2] || b > 0;
        p.add_alpha = c->add[3] || b > 0;
        p.add_shift = c->add[4] || b > 0;
        tfn_point_params_backward(c->k, &p);
    }
}

/* dx for this chunk's rows. */
static void tfn__seed_rows_backward(const tfn__call *c)
{
    tfn__range s = tfn__chunk_rows(c);
    tfn_seed_args p = tfn__seed_of(c, s);
    if (!c->dx[0]) return;
    p.dx = c->dx[0] + s.first * c->cols;
    p.add = c->add[0];
    tfn_seed_backward(&p);
}
/* Chunks of rows, then one chunk for gain, alpha and direction. */
SHARED void tfn__seed_backward(const tfn__call *c)
{
    if (c->chunk < tfn__by_rows(c)) {
        tfn__seed_rows_backward(c);
        return;
    }
    for (ptrdiff_t b = 0; b < tfn__sentences_of(c); b++) {
        tfn_seed_args p = tfn__seed_of(c, tfn__sentence_rows(c, b));
        p.dgain = c->dx[1];
        p.dalpha = c->dx[2];
        p.ddirection = c->dx[3];
        p.add_gain = c->add[1] || b > 0;
        p.add_alpha = c->add[2] || b > 0;
        p.add_direction = c->add[3] || b > 0;
        tfn_seed_params_backward(&p);
    }
}

/* A column's dx, dgain and dbias depend only on that column. */
SHARED void tfn__columns_backward(const tfn__call *c)
{
    tfn__range j = tfn__cols_of(c, c->cols, c->chunk);
    tfn_columns_args p = tfn__columns_of(c);
    p.dx = c->dx[0];
    p.dgain = c->dx[1];
    p.dbias = c->dx[2];
    p.add = c->add[0];
    p.add_gain = c->add[1];
    p.add_bias = c->add[2];
    tfn_columns_backward(&p, j.first, j.count);
}
#endif
#endif
