/* A wrapper around each kernel, and the models that are trained with these. */
#include "denormals.h"
#include <fenv.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

struct denormals_state denormals;

/* Counts the denormal ones among n floats, by their bits. */
static int64_t denormals_in(const float *x, int64_t n)
{
    int64_t found = 0;
    for (int64_t at = 0; at < n; at += 65536) {
        const int64_t end = n - at < 65536 ? n : at + 65536;
        uint32_t count = 0;
        for (int64_t i = at; i < end; i++) {
            uint32_t u;
            memcpy(&u, x + i, sizeof u);
            count += (u & 0x7fffffffu) - 1 < 0x7fffffu;
        }
        found += count;
    }
    return found;
}

static void denormals_found(int64_t found, const char *where)
{
    if (found && !denormals.counts.where) denormals.counts.where = where;
}
static void denormals_most(int64_t *most, const float *x, int64_t n, const char *where)
{
    const int64_t found = denormals_in(x, n);
    if (found > *most) *most = found;
    denormals_found(found, where);
}
static void denormals_read(int64_t found, int64_t n, const char *where)
{
    denormals.counts.operands += found;
    denormals.counts.read += n;
    denormals_found(found, where);
}

/* Counts in a factor of a product; element (r, c) is x[r*row + c*col]. */
static void denormals_factor(const float *x, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t row,
                             ptrdiff_t col)
{
    int64_t found = 0;
    if (col != 1 && row == 1) {                         /* transposed: column by column */
        denormals_factor(x, cols, rows, col, row);
        return;
    }
    for (ptrdiff_t r = 0; r < rows; r++) {
        if (col == 1) found += denormals_in(x + r*row, cols);
        else for (ptrdiff_t c = 0; c < cols; c++) found += denormals_in(x + r*row + c*col, 1);
    }
    denormals_read(found, (int64_t)rows * cols, "matmul");
}

/* Around each kernel: check for an underflow in it, and scan the workspace after it. */
static void denormals_before(void) { feclearexcept(FE_UNDERFLOW); }
static void denormals_after(const char *where)
{
    denormals_counts *c = &denormals.counts;
    c->calls++;
    if (fetestexcept(FE_UNDERFLOW)) c->underflows++;
    if (!denormals.scan) return;
    denormals_most(denormals.backward ? &c->gradients : &c->values, denormals.work,
                   denormals.floats, where);
}

static void denormals_matmul(const tfn_matmul_args *p, float *work)
{
    denormals_factor(p->a, p->m, p->k, p->a_row, p->a_col);
    denormals_factor(p->b, p->k, p->n, p->b_row, p->b_col);
    denormals_before();
    denormals.real->matmul(p, work);
    denormals_after("matmul");
}

/* Calls attention pair by pair, each on empty scratch, which then holds the operands of its last
 * strip of queries: all of them, if a pair has one head and at most 64 queries. */
static void denormals_attention(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                                float *work, bool backward)
{
    const ptrdiff_t floats = denormals.real->attention_work(p->tq, p->tk, p->head_size);
    for (ptrdiff_t u = first; u < last; u++) {
        memset(work, 0, (size_t)floats * sizeof *work);
        denormals_before();
        if (backward) denormals.real->attention_backward(p, u, u + 1, work);
        else denormals.real->attention_forward(p, u, u + 1, work);
        denormals_after("attention");
        denormals_read(denormals_in(work, floats), floats, "attention");
    }
}
static void denormals_attention_forward(const tfn_attention_args *p, ptrdiff_t first,
                                        ptrdiff_t last,
                                        float *work)
{
    denormals_attention(p, first, last, work, false);
}
static void denormals_attention_backward(const tfn_attention_args *p, ptrdiff_t first,
                                         ptrdiff_t last,
                                         float *work)
{
    denormals_attention(p, first, last, work, true);
}

#define DENORMALS_AROUND(name, parameters, arguments)                                          \
    static void denormals_##name parameters                                                    \
    {                                                                                          \
        denormals_before();                                                                    \
        denormals.real->name arguments;                                                        \
        denormals_after(#name);                                                                \
    }
DENORMALS_AROUND(column_sum, (float *dbias, const float *dy, ptrdiff_t rows, ptrdiff_t cols,
                              ptrdiff_t ld, bool add), (dbias, dy, rows, cols, ld, add))
DENORMALS_AROUND(norm_forward, (const tfn_norm_args *p), (p))
DENORMALS_AROUND(norm_backward, (const tfn_norm_args *p), (p))
DENORMALS_AROUND(norm_params_backward, (const tfn_norm_args *p, ptrdiff_t first, ptrdiff_t count),
                 (p, first, count))
DENORMALS_AROUND(softmax_forward, (float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols),
                 (y, x, rows, cols))
DENORMALS_AROUND(softmax_backward, (float *dx, const float *dy, const float *y, ptrdiff_t rows,
                                    ptrdiff_t cols, bool add), (dx, dy, y, rows, cols, add))
DENORMALS_AROUND(activation_forward, (float *y, const float *x, ptrdiff_t n,
                                      tfn_activation_kind kind),
                 (y, x, n, kind))
DENORMALS_AROUND(activation_backward, (float *dx, const float *dy, const float *x, ptrdiff_t n,
                                       tfn_activation_kind kind, bool add),
                                           (dx, dy, x, n, kind, add))
DENORMALS_AROUND(gated_forward, (float *y, const float *gate, const float *up, ptrdiff_t n,
                                 tfn_activation_kind kind), (y, gate, up, n, kind))
DENORMALS_AROUND(gated_backward, (float *dgate, float *dup, const float *dy, const float *gate,
                                  const float *up, ptrdiff_t n, tfn_activation_kind kind,
                                      bool add_gate,
                                  bool add_up),
                 (dgate, dup, dy, gate, up, n, kind, add_gate, add_up))
DENORMALS_AROUND(embed_forward, (float *y, const float *table, const int32_t *tokens,
                                 ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t vocab, float scale),
                 (y, table, tokens, rows, cols, vocab, scale))
DENORMALS_AROUND(embed_backward, (float *dtable, const float *dy, const int32_t *tokens,
                                  ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t vocab,
                                  float scale), (dtable, dy, tokens, rows, cols, ld, vocab, scale))
DENORMALS_AROUND(rotary, (float *y, const float *x, const float *table, ptrdiff_t batch,
                          ptrdiff_t time, ptrdiff_t heads, ptrdiff_t head_size, ptrdiff_t start,
                          bool inverse, bool add),
                 (y, x, table, batch, time, heads, head_size, start, inverse, add))
DENORMALS_AROUND(dropout, (float *y, const float *x, ptrdiff_t n, float p, tfn_key key,
                           uint64_t first, bool add), (y, x, n, p, key, first, add))
DENORMALS_AROUND(combine, (float *y, const float *x, const float *z, ptrdiff_t n, float a, float b,
                           bool add), (y, x, z, n, a, b, add))
DENORMALS_AROUND(scale_columns, (float *y, const float *x, const float *v, ptrdiff_t rows,
                                 ptrdiff_t cols, bool add), (y, x, v, rows, cols, add))
DENORMALS_AROUND(scale_columns_backward, (float *dv, const float *dy, const float *x,
                                          ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld, bool add),
                 (dv, dy, x, rows, cols, ld, add))
DENORMALS_AROUND(cross_entropy_forward, (float *loss, float *nll, float *stats,
                                         const float *logits, const int32_t *targets,
                                         ptrdiff_t rows, ptrdiff_t cols, float smoothing,
                                         int32_t kind),
                 (loss, nll, stats, logits, targets, rows, cols, smoothing, kind))
DENORMALS_AROUND(update, (float *p, const float *g, float *m, float *v, ptrdiff_t n,
                          const tfn_update_args *u), (p, g, m, v, n, u))
#undef DENORMALS_AROUND

/* The backward begins with the gradient of the loss. */
static void denormals_cross_entropy_backward(float *dlogits, const float *dloss,
                                             const float *stats, const float *logits,
                                             const int32_t *targets, ptrdiff_t rows,
                                             ptrdiff_t cols, float smoothing, int32_t kind,
                                             bool add)
{
    denormals.backward = true;
    denormals_before();
    denormals.real->cross_entropy_backward(dlogits, dloss, stats, logits, targets, rows, cols,
                                           smoothing, kind, add);
    denormals_after("cross_entropy_backward");
}

/* Makes the model train through the table that counts. Only the dot product stays the real one,
 * because the norm of all gradients squares them. */
static void denormals_watch(tfn_model *m)
{
    tfn_kernels *t = &denormals.table;
    memset(&denormals, 0, sizeof denormals);
    denormals.real = m->kernels;
    denormals.work = m->run.work;
    denormals.floats = m->train.work;
    memset(m->run.work, 0, (size_t)m->train.work * sizeof(float));
    *t = *m->kernels;
#define DENORMALS_TAKE(name) t->name = denormals_##name;
    DENORMALS_TAKE(matmul) DENORMALS_TAKE(column_sum)
    DENORMALS_TAKE(norm_forward) DENORMALS_TAKE(norm_backward)
    DENORMALS_TAKE(norm_params_backward)
    DENORMALS_TAKE(softmax_forward) DENORMALS_TAKE(softmax_backward)
    DENORMALS_TAKE(attention_forward) DENORMALS_TAKE(attention_backward)
    DENORMALS_TAKE(activation_forward) DENORMALS_TAKE(activation_backward)
    DENORMALS_TAKE(gated_forward) DENORMALS_TAKE(gated_backward)
    DENORMALS_TAKE(embed_forward) DENORMALS_TAKE(embed_backward)
    DENORMALS_TAKE(rotary) DENORMALS_TAKE(dropout) DENORMALS_TAKE(combine)
    DENORMALS_TAKE(scale_columns) DENORMALS_TAKE(scale_columns_backward)
    DENORMALS_TAKE(cross_entropy_forward) DENORMALS_TAKE(cross_entropy_backward)
    DENORMALS_TAKE(update)
#undef DENORMALS_TAKE
    m->kernels = t;
    m->train.kernels = t;
}

/* -- a small model of a recipe on a generated task, at a rate ten times too high --------------- */

enum { DENORMALS_BATCH = 6, DENORMALS_TIME = 24, DENORMALS_VOCAB = 32 };

tfn_model_desc denormals_desc(const char *recipe)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.recipe = recipe;
    d.vocab = DENORMALS_VOCAB;
    d.context = DENORMALS_TIME;
    d.batch = DENORMALS_BATCH;
    d.layers = 3;
    d.width = 48;
    d.heads = 3;
    d.decay = 0.1f;
    d.clip = 1;
    d.schedule.lr = 1e-2f;
    d.threads = 1;
    return d;
}

/* Every other sentence is determined by the last token, the others by the last two: a model that
 * learns it has sharp distributions. */
static void denormals_task(int32_t *tokens, int32_t *targets, int step)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(13), (uint64_t)step);
    for (int b = 0; b < DENORMALS_BATCH; b++) {
        int x = (int)(tfn_random_bits(key, (uint64_t)(2*b)) % DENORMALS_VOCAB);
        int y = (int)(tfn_random_bits(key, (uint64_t)(2*b + 1)) % DENORMALS_VOCAB);
        for (int t = 0; t < DENORMALS_TIME; t++) {
            const int next = b % 2 ? 5*x + 3 : t ? 2*x + DENORMALS_VOCAB - y : y;
            y = x;
            tokens[b*DENORMALS_TIME + t] = x;
            x = next % DENORMALS_VOCAB;
            targets[b*DENORMALS_TIME + t] = x;
        }
    }
}

tfn_status denormals_step(tfn_model *m, int step, tfn_report *report)
{
    int32_t tokens[DENORMALS_BATCH * DENORMALS_TIME], targets[DENORMALS_BATCH * DENORMALS_TIME];
    tfn_batch batch;
    memset(&batch, 0, sizeof batch);
    denormals_task(tokens, targets, step);
    batch.tokens = tokens;
    batch.targets = targets;
    batch.batch = DENORMALS_BATCH;
    batch.time = DENORMALS_TIME;
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) {
        batch.source = targets;
        batch.source_time = DENORMALS_TIME;
    }
    return tfn_model_step(m, &batch, report);
}

bool denormals_train(const tfn_model_desc *d, int steps, int every)
{
    denormals_counts *c = &denormals.counts;
    tfn_model m;
    tfn_report report;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) return false;
    denormals_watch(&m);
    for (int s = 0; s < steps; s++) {
        denormals.scan = s % every == every - 1;
        denormals.backward = false;
        if (denormals_step(&m, s, &report) != TFN_OK) break;
        denormals_most(&c->parameters, m.params, m.param_floats, "parameters");
        denormals_most(&c->sums, m.run.grads, m.param_floats, "parameters' gradients");
        denormals_most(&c->moments, m.moments, (int64_t)(m.memory.moments / sizeof(float)),
                       "moments");
        c->steps++;
        c->skipped += report.skipped;
        c->loss = report.loss;
    }
    tfn_model_free(&m);
    return true;
}
