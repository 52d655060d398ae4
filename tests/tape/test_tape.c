/* The tape and its operations. Each operation is declared once, in a row of tape_rows: a function
 * that records it on inputs that it asks for. Every row is tested with golden values from PyTorch;
 * with central differences in double (test_tape_double.c compiles this file so); for equal bits
 * with every instruction set, 1, 2 and 3 threads, reused or kept memory, recomputation, larger
 * capacities and inference; with dead buffers full of NaN (test_tape_poison.c); and it has a timing
 * line. */
#include "../hook.h"
#include <stdint.h>
#ifdef TFN__DOUBLE
#define float double
#define TAPE_GOLDEN 1e-8
#else
#define TAPE_GOLDEN 1e-5
#endif
#ifdef TFN__CHECKED
static int tape_wrote_beside;
#define TFNORM_ASSERT(x) do { if (!(x)) tape_wrote_beside++; } while (0)
#else
#define TFNORM_ALL_ISA
#endif
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "../check.h"
#include "../golden/golden.h"
#include "../golden/golden_ops.h"

#define TAPE_PARAMS 8
#define TAPE_EXTRA  3              /* positions of a table after the longest sentence */

enum { TAPE_KEEP_Y = 1, TAPE_KEEP_ALL = 2, TAPE_RECOMPUTE = 4, TAPE_LARGER = 8, TAPE_INFER = 16 };

typedef struct tape_dims {
    int32_t batch, source, target, width, out, deep, heads, vocab;
} tape_dims;
static const tape_dims tape_small = { 2, 5, 4, 8, 7, 8, 4, 11 };
/* more rows than a block, depth beyond two blocks, times not a multiple of 16 */
static const tape_dims tape_large = { 3, 37, 131, 72, 45, 784, 4, 50 };

struct tape_case;
typedef tfn_var tape_builder(struct tape_case *c);
typedef struct tape_row {
    const char   *name;
    tape_builder *build;
    bool          golden;
} tape_row;

typedef struct tape_case {
    const tape_row *row;
    tape_dims d;
    int       mode;
    tfn_tape  t;
    tfn_run   r;
    tfn_var   y, loss, params[TAPE_PARAMS];
    int32_t   rows[TAPE_PARAMS], cols[TAPE_PARAMS], count, segment;
    float     scale[TAPE_PARAMS], next_scale;
    float    *weights;              /* loss = weights * y, element by element */
    tfn_custom_op custom[2];
    int32_t  *ids, *tokens, *targets, *lengths[2];
    void     *mem;
    float    *floats;
    ptrdiff_t y_size, work;
} tape_case;

static void *tape_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p) exit(2);
    return p;
}

/* -- inputs for builders ------------------------------------------------------------------- */

/* A parameter with random numbers. */
static tfn_var tape_p(tape_case *c, int32_t rows, int32_t cols)
{
    int32_t i = c->count++;
    c->rows[i] = rows;
    c->cols[i] = cols;
    c->scale[i] = c->next_scale;
    c->params[i] = tfn_param(&c->t, rows, cols);
    return c->params[i];
}

static int32_t tape_row_count(const tape_case *c, tfn_rows rows)
{
    switch (rows) {
    case TFN_ROWS_BATCH:         return c->d.batch;
    case TFN_ROWS_SOURCE:        return c->d.batch * c->d.source;
    case TFN_ROWS_TARGET:        return c->d.batch * c->d.target;
    case TFN_ROWS_HALF:          return c->d.batch * (2 * c->d.source + 1);
    case TFN_ROWS_FRAMES:        return c->d.batch * (4 * c->d.source + 3);
    case TFN_ROWS_TARGET_HALF:   return c->d.batch * (2 * c->d.target + 1);
    case TFN_ROWS_TARGET_FRAMES: return c->d.batch * (4 * c->d.target + 3);
    default:                     return 0;
    }
}

/* A value in the workspace with a gradient: the rows of a parameter, gathered in order. */
static tfn_var tape_x(tape_case *c, tfn_rows rows, int32_t cols)
{
    return tfn_embedding(&c->t, tape_p(c, tape_row_count(c, rows), cols), 7, rows, 1);
}
static tfn_var tape_target(tape_case *c) { return tape_x(c, TFN_ROWS_TARGET, c->d.width); }

/* Begins another segment, if the case recomputes. */
static void tape_segment(tape_case *c)
{
    if (c->mode & TAPE_RECOMPUTE) tfn_recompute(&c->t, ++c->segment);
}

static const tfn_var tape_none = { 0 };

/* y = weights * x, with a gradient; and y = x without one: two custom operations */
static void tape_weigh(const tfn_custom_args *a)
{
    const float *w = (const float *)a->user;
    for (ptrdiff_t i = 0; i < a->rows * a->cols; i++) a->y[i] = w[i] * a->x[0][i];
}
static void tape_weigh_back(const tfn_custom_args *a)
{
    const float *w = (const float *)a->user;
    for (ptrdiff_t i = 0; i < a->rows * a->cols; i++) {
        float g = w[i] * a->dy[i];
        a->dx[0][i] = a->add[0] ? a->dx[0][i] + g : g;
    }
}
static void tape_copy(const tfn_custom_args *a)
{
    memcpy(a->y, a->x[0], (size_t)(a->rows * a->cols) * sizeof *a->y);
}

/* -- the operations, each once ------------------------------------------------------------- */

static tfn_var tape_linear(tape_case *c, tfn_activation_kind act)
{
    tfn_var x = tape_x(c, TFN_ROWS_TARGET, c->d.deep), w = tape_p(c, c->d.deep, c->d.out);
    return tfn_linear(&c->t, x, w, tape_p(c, 1, c->d.out), act);
}
static tfn_var tape_activation(tape_case *c, tfn_activation_kind act)
{
    c->next_scale = 4;
    return tfn_activation(&c->t, tape_target(c), act);
}
static tfn_var tape_gated(tape_case *c, tfn_activation_kind act)
{
    tfn_var gate, up;
    c->next_scale = 2;
    gate = tape_target(c);
    up = tape_target(c);
    return tfn_glu(&c->t, gate, up, act);
}
#define TAPE_EACH_ACTIVATION(X)                                                                \
    X(identity, TFN_ACTIVATION_IDENTITY) X(relu, TFN_ACTIVATION_RELU) X(gelu,                  \
        TFN_ACTIVATION_GELU) X(gelu_tanh, TFN_ACTIVATION_GELU_TANH)                            \
    X(silu, TFN_ACTIVATION_SILU) X(tanh, TFN_ACTIVATION_TANH) X(relu2, TFN_ACTIVATION_RELU2)
#define TAPE_ACTIVATED(name, act)                                                              \
    static tfn_var tape_linear_##name(tape_case *c) { return tape_linear(c, act); }            \
    static tfn_var tape_activation_##name(tape_case *c) { return tape_activation(c, act); }    \
    static tfn_var tape_gated_##name(tape_case *c) { return tape_gated(c, act); }
TAPE_EACH_ACTIVATION(TAPE_ACTIVATED)

static tfn_var tape_linear_plain(tape_case *c)
{
    tfn_var x = tape_x(c, TFN_ROWS_TARGET, c->d.deep);
    return tfn_linear(&c->t, x, tape_p(c, c->d.deep, c->d.out), tape_none, TFN_ACTIVATION_IDENTITY);
}
static tfn_var tape_linear_transposed(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_linear_transposed(&c->t, x, tape_p(c, c->d.out, c->d.width), tape_none);
}
static tfn_var tape_linear_transposed_bias(tape_case *c)
{
    tfn_var x = tape_x(c, TFN_ROWS_TARGET, c->d.deep), w = tape_p(c, c->d.out, c->d.deep);
    return tfn_linear_transposed(&c->t, x, w, tape_p(c, 1, c->d.out));
}
static tfn_var tape_linear_fixed(tape_case *c)      /* its input is a parameter */
{
    tfn_var x = tape_p(c, c->d.out, c->d.width), w = tape_p(c, c->d.width, c->d.out);
    return tfn_linear(&c->t, x, w, tape_p(c, 1, c->d.out), TFN_ACTIVATION_GELU);
}
static tfn_var tape_linear_made(tape_case *c)       /* its weight is a value */
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.out);
    return tfn_linear(&c->t, x, tfn_scale(&c->t, w, tape_p(c, 1, c->d.out)), tape_none,
                      TFN_ACTIVATION_IDENTITY);
}
static tfn_var tape_linear_frozen(tape_case *c)     /* no gradient for its input */
{
    tfn_var x = tfn_input(&c->t, 1, TFN_ROWS_TARGET, c->d.width);
    return tfn_linear(&c->t, x, tape_p(c, c->d.width, c->d.out), tape_none, TFN_ACTIVATION_SILU);
}

static tfn_var tape_conv(tape_case *c)
{
    int32_t width = c->d.width;
    tfn_var x = tape_x(c, TFN_ROWS_FRAMES, width), w = tape_p(c, 3 * width, width);
    x = tfn_convolution(&c->t, x, w, tape_p(c, 1, width));
    w = tape_p(c, 3 * width, c->d.out);
    return tfn_convolution(&c->t, x, w, tape_p(c, 1, c->d.out));
}
static tfn_var tape_conv_target(tape_case *c)       /* an encoder without decoder */
{
    int32_t width = c->d.width;
    tfn_var x = tape_x(c, TFN_ROWS_TARGET_FRAMES, width), w = tape_p(c, 3 * width, width);
    x = tfn_convolution(&c->t, x, w, tape_none);
    return tfn_convolution(&c->t, x, tape_p(c, 3 * width, c->d.out), tape_none);
}
static tfn_var tape_conv_twice(tape_case *c)        /* one value twice, without a bias */
{
    tfn_var x = tape_x(c, TFN_ROWS_HALF, c->d.width), w = tape_p(c, 3 * c->d.width, c->d.out), y;
    y = tfn_convolution(&c->t, x, w, tape_none);
    return tfn_add(&c->t, y, tfn_convolution(&c->t, x, tape_p(c, 3 * c->d.width, c->d.out),
                                             tape_none), 1,
                   2);
}

static tfn_var tape_layernorm(tape_case *c)
{
    tfn_var x = tape_target(c), gain = tape_p(c, 1, c->d.width);
    return tfn_layernorm(&c->t, x, gain, tape_p(c, 1, c->d.width), (float)1e-5);
}
static tfn_var tape_layernorm_made(tape_case *c)    /* its gain is a value */
{
    tfn_var x = tape_target(c), gain = tape_p(c, 1, c->d.width);
    return tfn_layernorm(&c->t, x, tfn_scale(&c->t, gain, tape_p(c, 1, 1)), tape_none, (float)1e-5);
}
static tfn_var tape_layernorm_gain(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_layernorm(&c->t, x, tape_p(c, 1, c->d.width), tape_none, (float)1e-5);
}
static tfn_var tape_layernorm_bias(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_layernorm(&c->t, x, tape_none, tape_p(c, 1, c->d.width), (float)1e-5);
}
static tfn_var tape_layernorm_plain(tape_case *c)
{
    return tfn_layernorm(&c->t, tape_target(c), tape_none, tape_none, (float)1e-5);
}
static tfn_var tape_layernorm_frozen(tape_case *c)
{
    tfn_var x = tfn_input(&c->t, 1, TFN_ROWS_TARGET, c->d.width), gain = tape_p(c, 1, c->d.width);
    return tfn_layernorm(&c->t, x, gain, tape_p(c, 1, c->d.width), (float)1e-5);
}
static tfn_var tape_rmsnorm(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_rmsnorm(&c->t, x, tape_p(c, 1, c->d.width), (float)1e-5);
}
static tfn_var tape_rmsnorm_plain(tape_case *c)
{
    return tfn_rmsnorm(&c->t, tape_target(c), tape_none, (float)1e-5);
}
static tfn_var tape_softmax(tape_case *c)
{
    c->next_scale = 4;
    return tfn_softmax(&c->t, tape_target(c));
}
static tfn_var tape_gated_frozen(tape_case *c)      /* a gradient for one half at a time */
{
    tfn_var gate = tape_target(c), up = tape_target(c);
    tfn_var gate1 = tfn_input(&c->t, 1, TFN_ROWS_TARGET, c->d.width);
    tfn_var up1 = tfn_input(&c->t, 2, TFN_ROWS_TARGET, c->d.width);
    tfn_var a = tfn_glu(&c->t, gate1, up, TFN_ACTIVATION_SILU),
        b = tfn_glu(&c->t, gate, up1, TFN_ACTIVATION_SILU);
    return tfn_add(&c->t, a, b, 1, 1);
}
static tfn_var tape_add(tape_case *c)
{
    tfn_var x = tape_target(c), y = tape_target(c);
    return tfn_add(&c->t, x, y, (float)0.75, (float)-1.25);
}
static tfn_var tape_add_self(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_add(&c->t, x, x, (float)0.75, (float)-1.5);
}
static tfn_var tape_scale_scalar(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_scale(&c->t, x, tape_p(c, 1, 1));
}
static tfn_var tape_scale_columns(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_scale(&c->t, x, tape_p(c, 1, c->d.width));
}
static tfn_var tape_scale_made(tape_case *c)
{
    tfn_var x = tape_target(c), v = tape_p(c, 1, c->d.width);
    return tfn_scale(&c->t, x, tfn_scale(&c->t, v, tape_p(c, 1, 1)));
}
static tfn_var tape_scale_groups(tape_case *c)      /* one number per head */
{
    tfn_var x = tape_target(c);
    return tfn_scale(&c->t, x, tape_p(c, 1, c->d.heads));
}
static tfn_var tape_ramp(tape_case *c)              /* buffers hold 1: update 1 of 4 */
{
    tfn_var x = tape_target(c);
    return tfn__ramp(&c->t, x, tfn__buffer_at(&c->t, 1, 1, 0), 4);
}
static tfn_var tape_sigma(tape_case *c)             /* u and v are 1: sigma is the sum of W */
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.width), gamma = tape_p(c, 1, 1);
    tfn_var u = tfn__buffer_at(&c->t, 1, c->d.width, 0);
    w = tfn__reparameterized(&c->t, w, gamma, u, u);
    return tfn_linear(&c->t, x, w, tape_none, TFN_ACTIVATION_IDENTITY);
}
static tfn_var tape_shift_scalar(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_shift(&c->t, x, tape_p(c, 1, 1), (float)-0.75);
}
static tfn_var tape_shift_columns(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_shift(&c->t, x, tape_p(c, 1, c->d.width), (float)1.5);
}
static tfn_var tape_magnitude(tape_case *c)
{
    return tfn__magnitude(&c->t, tape_target(c));
}
static tfn_var tape_clamp(tape_case *c)
{
    return tfn__clamp(&c->t, tape_target(c), 0.62f);
}
static tfn_var tape_mix(tape_case *c)               /* w is used twice, one weight not at all */
{
    tfn_var x = tape_target(c), z = tape_target(c), w = tape_p(c, 1, 3);
    return tfn_mix(&c->t, tfn_mix(&c->t, tape_none, x, w, 2), z, w, 0);
}
static tfn_var tape_mix_groups(tape_case *c)        /* of channels: 0, 1, 2, 0, 1 ... */
{
    tfn_var x = tape_target(c), z = tape_target(c), w = tape_p(c, 3, 2);
    return tfn_mix(&c->t, tfn_mix(&c->t, tape_none, x, w, 1), z, w, 0);
}
static tfn_var tape_gate(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_gate(&c->t, x, tape_p(c, 1, 1));
}
static tfn_var tape_exp_capped(tape_case *c)
{
    c->next_scale = 8;
    return tfn__exp_capped_of(&c->t, tape_target(c));
}

/* Arguments for a norm of any kind: rows of heads, in groups, of a part. */
static tfn_norm_args tape_like(tfn_norm_kind kind, ptrdiff_t groups, ptrdiff_t part)
{
    tfn_norm_args like;
    memset(&like, 0, sizeof like);
    like.kind = kind;
    like.groups = groups;
    like.part = part;
    like.eps = (float)0.125;
    return like;
}
static tfn_var tape_norm_heads(tape_case *c)
{
    tfn_norm_args like = tape_like(TFN_NORM_LAYER, 0, 0);
    int32_t size = c->d.width / c->d.heads;
    tfn_var x = tape_target(c), gain = tape_p(c, 1, size);
    return tfn_norm(&c->t, x, gain, tape_p(c, 1, size), size, &like);
}
static tfn_var tape_norm_groups(tape_case *c)
{
    tfn_norm_args like = tape_like(TFN_NORM_CRMS, 2, 0);
    tfn_var x = tape_target(c), gain = tape_p(c, 1, c->d.width);
    return tfn_norm(&c->t, x, gain, tape_p(c, 1, c->d.width), c->d.width, &like);
}
/* Half of the features of each of two groups; gain + 1. (With one feature it has a kink at 0.) */
static tfn_var tape_norm_part(tape_case *c)
{
    tfn_norm_args like = tape_like(TFN_NORM_RMS_OUTSIDE, 2, c->d.width / 4);
    tfn_var x = tape_target(c);
    like.offset = true;
    return tfn_norm(&c->t, x, tape_p(c, 1, c->d.width), tape_none, c->d.width, &like);
}
static tfn_var tape_squashed(tape_case *c)
{
    tfn_var x = tape_target(c), gain = tape_p(c, 1, c->d.width), bias = tape_p(c, 1, c->d.width);
    tfn_var alpha = tape_p(c, 1, 1);
    return tfn_squash(&c->t, x, gain, bias, alpha, tape_p(c, 1, 1), TFN_SQUASH_ERF);
}
static tfn_var tape_squashed_plain(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_squash(&c->t, x, tape_none, tape_none, tape_p(c, 1, 1), tape_none,
                        TFN_SQUASH_TANH);
}
static tfn_var tape_seednorm(tape_case *c)
{
    tfn_var x = tape_target(c), gain = tape_p(c, 1, c->d.width), alpha = tape_p(c, 1, c->d.width);
    c->next_scale = (float)0.25;                    /* tanh unsaturated */
    return tfn_seednorm(&c->t, x, gain, alpha, tape_p(c, 1, c->d.width), (float)0.125);
}
/* Running statistics that do not change between two runs. */
static tfn_var tape_batchnorm(tape_case *c)
{
    tfn_var x = tape_target(c), gain = tape_p(c, 1, c->d.width), bias = tape_p(c, 1, c->d.width);
    tfn_var running = tfn__buffer_at(&c->t, 2, c->d.width, 0);
    return tfn__batch_norm(&c->t, x, gain, bias, running, TFN_NORM_BATCH, 0, (float)0.125);
}
static tfn_var tape_dropout(tape_case *c)
{
    return tfn_dropout(&c->t, tape_target(c), (float)0.25);
}
static tfn_var tape_dropout_source(tape_case *c)
{
    return tfn_dropout(&c->t, tape_x(c, TFN_ROWS_SOURCE, c->d.width), (float)0.25);
}
static tfn_var tape_embed(tape_case *c)
{
    return tfn_embedding(&c->t, tape_p(c, c->d.vocab, c->d.width), TFN_INT_TOKENS, TFN_ROWS_TARGET,
                     (float)2.5);
}
static tfn_var tape_embed_source(tape_case *c)
{
    return tfn_embedding(&c->t, tape_p(c, c->d.vocab, c->d.width), TFN_INT_TOKENS, TFN_ROWS_SOURCE,
                         1);
}
static tfn_var tape_embed_batch(tape_case *c)
{
    return tfn_embedding(&c->t, tape_p(c, c->d.vocab, c->d.width), TFN_INT_TOKENS, TFN_ROWS_BATCH,
                         1);
}
static tfn_var tape_embed_absent(tape_case *c)      /* no array bound: token 0 everywhere */
{
    return tfn_embedding(&c->t, tape_p(c, c->d.vocab, c->d.width), TFN_INT_SEGMENTS,
                         TFN_ROWS_TARGET,
                     1);
}
static tfn_var tape_position(tape_case *c)
{
    tfn_var x = tape_target(c);
    return tfn_position(&c->t, x, tape_p(c, c->d.target + TAPE_EXTRA, c->d.width));
}
static tfn_var tape_rotary(tape_case *c)
{
    int32_t size = c->d.width == 8 ? 4 : 18;
    tfn_var x = tape_target(c);
    return tfn_rotary(&c->t, x, tfn__table(&c->t, c->d.target + TAPE_EXTRA, size), size);
}
static tfn_var tape_first(tape_case *c) { return tfn_first_rows(&c->t, tape_target(c)); }

/* kv: key/value heads */
static tfn_var tape_attend(tape_case *c, bool cross, int32_t kv, bool padded, bool causal,
                           float dropout)
{
    int32_t size = c->d.width / c->d.heads;
    int32_t slot = !padded ? -1 : cross ? TFN_INT_SOURCE_LENGTHS : TFN_INT_LENGTHS;
    tfn_rows rows = cross ? TFN_ROWS_SOURCE : TFN_ROWS_TARGET;
    tfn_var q, k, v;
    c->next_scale = 2;
    q = tape_x(c, TFN_ROWS_TARGET, c->d.width);
    k = tape_x(c, rows, kv * size);
    c->next_scale = 1;
    v = tape_x(c, rows, kv * size);
    return tfn_attention(&c->t, q, k, v, c->d.heads, kv, causal, slot, dropout);
}
static tfn_var tape_attention_full(tape_case *c)
{
    return tape_attend(c, false, c->d.heads, false, false, 0);
}
static tfn_var tape_attention_causal(tape_case *c)
{
    return tape_attend(c, false, c->d.heads, false, true, 0);
}
static tfn_var tape_attention_cross(tape_case *c)
{
    return tape_attend(c, true, c->d.heads, false, false, 0);
}
static tfn_var tape_attention_padded(tape_case *c)
{
    return tape_attend(c, false, c->d.heads, true, false, 0);
}
static tfn_var tape_attention_causal_padded(tape_case *c)
{
    return tape_attend(c, false, c->d.heads, true, true, 0);
}
static tfn_var tape_attention_cross_padded(tape_case *c)
{
    return tape_attend(c, true, c->d.heads, true, false, 0);
}
static tfn_var tape_attention_grouped(tape_case *c)
{
    return tape_attend(c, false, 2, false, false, 0);
}
static tfn_var tape_attention_grouped_causal_padded(tape_case *c)
{
    return tape_attend(c, false, 2, true, true, 0);
}
static tfn_var tape_attention_multi_query_cross(tape_case *c)
{
    return tape_attend(c, true, 1, true, false, 0);
}
static tfn_var tape_attention_dropout(tape_case *c)
{
    return tape_attend(c, false, 2, false, true, (float)0.25);
}
static tfn_var tape_attention_frozen(tape_case *c)  /* no gradient for keys, then for queries */
{
    tfn_var q = tape_target(c), k = tape_target(c), v = tape_target(c), a, b;
    tfn_var x = tfn_input(&c->t, 1, TFN_ROWS_TARGET, c->d.width);
    tfn_var z = tfn_input(&c->t, 2, TFN_ROWS_TARGET, c->d.width);
    a = tfn_attention(&c->t, q, x, v, c->d.heads, c->d.heads, true, -1, 0);
    b = tfn_attention(&c->t, x, k, z, c->d.heads, c->d.heads, false, TFN_INT_LENGTHS, 0);
    return tfn_add(&c->t, a, b, 1, 1);
}

static tfn_var tape_loss(tape_case *c, float smoothing, int32_t kind)
{
    c->next_scale = 3;
    return tfn_cross_entropy(&c->t, tape_x(c, TFN_ROWS_TARGET, c->d.out), TFN_INT_TARGETS,
                             smoothing, kind);
}
static tfn_var tape_cross_entropy(tape_case *c) { return tape_loss(c, 0, 0); }
static tfn_var tape_cross_entropy_uniform(tape_case *c) { return tape_loss(c, (float)0.125, 0); }
static tfn_var tape_cross_entropy_fairseq(tape_case *c) { return tape_loss(c, (float)0.125, 1); }

/* Numbers and an input, some further apart than delta. */
static tfn_var tape_numbers(tape_case *c, tfn_number_loss_kind kind)
{
    c->next_scale = 3;
    return tfn_number_loss(&c->t, tape_x(c, TFN_ROWS_TARGET, c->d.out), 1, kind, 1);
}
static tfn_var tape_number_squared(tape_case *c) { return tape_numbers(c, TFN_NUMBER_LOSS_SQUARED); }
static tfn_var tape_number_huber(tape_case *c) { return tape_numbers(c, TFN_NUMBER_LOSS_HUBER); }

static tfn_var tape_diamond(tape_case *c)           /* values and a weight used twice */
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.width), g = tape_p(c, 1, c->d.width);
    tfn_var u = tfn_linear(&c->t, x, w, tape_none, TFN_ACTIVATION_IDENTITY), n, m;
    tape_segment(c);
    n = tfn_layernorm(&c->t, u, g, tape_none, (float)1e-5);
    m = tfn_glu(&c->t, u, n, TFN_ACTIVATION_SILU);
    tape_segment(c);
    n = tfn_linear(&c->t, tfn_activation(&c->t, n, TFN_ACTIVATION_TANH), w, tape_none,
                   TFN_ACTIVATION_IDENTITY);
    return tfn_add(&c->t, m, tfn_scale(&c->t, n, g), 1, (float)0.5);
}

/* Two layers with everything: segments, dropout, cross-attention, a shared norm. */
static tfn_var tape_stack(tape_case *c)
{
    tfn_tape *t = &c->t;
    int32_t width = c->d.width, slot = TFN_INT_LENGTHS;
    tfn_var w = tape_p(c, width, width), g = tape_p(c, 1, width), b = tape_p(c, 1, width);
    tfn_var m = tape_x(c, TFN_ROWS_SOURCE, width), x = tape_target(c), q, k, v, h;
    for (int layer = 0; layer < 2; layer++) {
        tape_segment(c);
        h = tfn_layernorm(t, x, g, b, (float)1e-5);
        q = tfn_linear(t, h, w, b, TFN_ACTIVATION_GELU);
        k = tfn_scale(t, h, g);
        v = tfn_add(t, h, x, 1, (float)0.5);
        h = tfn_attention(t, q, k, v, c->d.heads, c->d.heads, true, slot, (float)0.125);
        x = tfn_add(t, x, tfn_dropout(t, h, (float)0.125), 1, 1);
        q = tfn_rmsnorm(t, x, g, (float)1e-5);
        k = tfn_linear(t, m, w, b, TFN_ACTIVATION_RELU);
        v = tfn_scale(t, m, g);
        h = tfn_attention(t, q, k, v, c->d.heads, c->d.heads, false, TFN_INT_SOURCE_LENGTHS, 0);
        x = tfn_add(t, x, tfn_linear(t, h, w, tape_none, TFN_ACTIVATION_SILU), (float)0.5, 1);
    }
    return x;
}

#define TAPE_ROW(text, name, golden) { text, tape_##name, golden },
static const tape_row tape_rows[] = {
    TAPE_ROW("linear-identity", linear_identity, true)
    TAPE_ROW("linear-relu", linear_relu, true)
    TAPE_ROW("linear-gelu", linear_gelu, true)
    TAPE_ROW("linear-gelu-tanh", linear_gelu_tanh, true)
    TAPE_ROW("linear-silu", linear_silu, true)
    TAPE_ROW("linear-tanh", linear_tanh, true)
    TAPE_ROW("linear-relu2", linear_relu2, true)
    TAPE_ROW("linear-plain", linear_plain, true)
    TAPE_ROW("linear-transposed", linear_transposed, true)
    TAPE_ROW("linear-transposed-bias", linear_transposed_bias, true)
    TAPE_ROW("linear-fixed", linear_fixed, true)
    TAPE_ROW("linear-made", linear_made, true)
    TAPE_ROW("linear-frozen", linear_frozen, false)
    TAPE_ROW("conv", conv, true)
    TAPE_ROW("conv-target", conv_target, false)
    TAPE_ROW("conv-twice", conv_twice, false)
    TAPE_ROW("layernorm", layernorm, true)
    TAPE_ROW("layernorm-gain", layernorm_gain, true)
    TAPE_ROW("layernorm-bias", layernorm_bias, true)
    TAPE_ROW("layernorm-plain", layernorm_plain, true)
    TAPE_ROW("layernorm-frozen", layernorm_frozen, false)
    TAPE_ROW("layernorm-made", layernorm_made, true)
    TAPE_ROW("rmsnorm", rmsnorm, true)
    TAPE_ROW("rmsnorm-plain", rmsnorm_plain, true)
    TAPE_ROW("softmax", softmax, true)
    TAPE_ROW("activation-identity", activation_identity, true)
    TAPE_ROW("activation-relu", activation_relu, true)
    TAPE_ROW("activation-gelu", activation_gelu, true)
    TAPE_ROW("activation-gelu-tanh", activation_gelu_tanh, true)
    TAPE_ROW("activation-silu", activation_silu, true)
    TAPE_ROW("activation-tanh", activation_tanh, true)
    TAPE_ROW("activation-relu2", activation_relu2, true)
    TAPE_ROW("gated-identity", gated_identity, true)
    TAPE_ROW("gated-relu", gated_relu, true)
    TAPE_ROW("gated-gelu", gated_gelu, true)
    TAPE_ROW("gated-gelu-tanh", gated_gelu_tanh, true)
    TAPE_ROW("gated-silu", gated_silu, true)
    TAPE_ROW("gated-tanh", gated_tanh, true)
    TAPE_ROW("gated-relu2", gated_relu2, true)
    TAPE_ROW("gated-frozen", gated_frozen, true)
    TAPE_ROW("add", add, true)
    TAPE_ROW("add-self", add_self, true)
    TAPE_ROW("scale-scalar", scale_scalar, true)
    TAPE_ROW("scale-columns", scale_columns, true)
    TAPE_ROW("scale-made", scale_made, true)
    TAPE_ROW("scale-groups", scale_groups, false)
    TAPE_ROW("ramp", ramp, false)
    TAPE_ROW("sigma", sigma, false)
    TAPE_ROW("shift-scalar", shift_scalar, false)
    TAPE_ROW("shift-columns", shift_columns, false)
    TAPE_ROW("mix-groups", mix_groups, false)
    TAPE_ROW("mix", mix, false)
    TAPE_ROW("gate", gate, false)
    TAPE_ROW("magnitude", magnitude, false)
    TAPE_ROW("clamp", clamp, false)
    TAPE_ROW("exp-capped", exp_capped, false)
    TAPE_ROW("norm-heads", norm_heads, false)
    TAPE_ROW("norm-groups", norm_groups, false)
    TAPE_ROW("norm-part", norm_part, false)
    TAPE_ROW("squashed", squashed, false)
    TAPE_ROW("squashed-plain", squashed_plain, false)
    TAPE_ROW("seednorm", seednorm, false)
    TAPE_ROW("batchnorm", batchnorm, false)
    TAPE_ROW("dropout", dropout, false)
    TAPE_ROW("dropout-source", dropout_source, false)
    TAPE_ROW("embed", embed, true)
    TAPE_ROW("embed-source", embed_source, true)
    TAPE_ROW("embed-batch", embed_batch, true)
    TAPE_ROW("embed-absent", embed_absent, true)
    TAPE_ROW("position", position, true)
    TAPE_ROW("rotary", rotary, true)
    TAPE_ROW("first", first, true)
    TAPE_ROW("attention-full", attention_full, true)
    TAPE_ROW("attention-causal", attention_causal, true)
    TAPE_ROW("attention-cross", attention_cross, true)
    TAPE_ROW("attention-padded", attention_padded, true)
    TAPE_ROW("attention-causal-padded", attention_causal_padded, true)
    TAPE_ROW("attention-cross-padded", attention_cross_padded, true)
    TAPE_ROW("attention-grouped", attention_grouped, true)
    TAPE_ROW("attention-grouped-causal-padded", attention_grouped_causal_padded, true)
    TAPE_ROW("attention-multi-query-cross", attention_multi_query_cross, true)
    TAPE_ROW("attention-dropout", attention_dropout, false)
    TAPE_ROW("attention-frozen", attention_frozen, false)
    TAPE_ROW("cross-entropy", cross_entropy, true)
    TAPE_ROW("cross-entropy-uniform", cross_entropy_uniform, true)
    TAPE_ROW("cross-entropy-fairseq", cross_entropy_fairseq, true)
    TAPE_ROW("number-squared", number_squared, true)
    TAPE_ROW("number-huber", number_huber, true)
    TAPE_ROW("diamond", diamond, true)
    TAPE_ROW("stack", stack, false)
};

/* -- one case: record, plan, fill ---------------------------------------------------------- */

static ptrdiff_t tape_size(const tape_case *c, tfn_var x)
{
    const tfn_node *n = c->t.nodes + x.id;
    int32_t rows = n->rows == TFN_ROWS_FIXED ? n->count : tape_row_count(c, (tfn_rows)n->rows);
    return (ptrdiff_t)rows * n->cols;
}

static void tape_record(tape_case *c, const tape_row *row, const tape_dims *d, int mode)
{
    static const tfn_custom_op ops[2] = { { "weigh", tape_weigh, tape_weigh_back, NULL },
                                          { "copy", tape_copy, NULL, NULL } };
    int32_t more = mode & TAPE_LARGER ? TAPE_EXTRA : 0;
    size_t bytes = tfn_tape_bytes(100);
    const tfn_node *n;
    memset(c, 0, sizeof *c);
    memcpy(c->custom, ops, sizeof ops);
    c->row = row;
    c->d = *d;
    c->mode = mode;
    c->next_scale = 1;
    c->mem = tape_alloc(bytes);
    tfn_tape_init(&c->t, c->mem, bytes, d->batch + more, d->source + more, d->target + more,
                  !(mode & TAPE_INFER));
    c->t.custom = c->custom;
    c->t.customs = 2;
    tape_segment(c);
    c->y = row->build(c);
    tfn_recompute(&c->t, 0);
    n = c->t.nodes + c->y.id;
    c->loss = tfn_custom(&c->t, 0, &c->y, 1, (tfn_rows)n->rows, n->count, n->cols);
    if (mode & TAPE_KEEP_Y) tfn_keep(&c->t, c->y);
    if (mode & TAPE_INFER) tfn_keep(&c->t, c->loss);
    for (int32_t i = 1; i < c->t.count && mode & TAPE_KEEP_ALL; i++) {
        tfn_var x;
        x.id = i;
        tfn_keep(&c->t, x);
    }
}

static void tape_fill_ints(tape_case *c)
{
    const tape_dims *d = &c->d;
    int32_t time = 4 * (d->source > d->target ? d->source : d->target) + 3, n = d->batch * time;
    c->ids = (int32_t *)tape_alloc((size_t)(3*n + 2*d->batch) * sizeof *c->ids);
    c->tokens = c->ids + n;
    c->targets = c->tokens + n;
    c->lengths[0] = c->targets + n;
    c->lengths[1] = c->lengths[0] + d->batch;
    for (int32_t i = 0; i < n; i++) {
        c->ids[i] = i;
        c->tokens[i] = (i*5 + i/3) % d->vocab;
        c->targets[i] = i % 4 == 2 ? -1 : (i*7 + 3) % d->out;
    }
    for (int32_t b = 0; b < d->batch; b++) {
        c->lengths[0][b] = d->source - b * (d->source / 2);
        c->lengths[1][b] = d->target - b * (d->target / 2);
    }
    c->r.ints[TFN_INT_TOKENS] = c->tokens;
    c->r.ints[TFN_INT_TARGETS] = c->targets;
    c->r.ints[TFN_INT_LENGTHS] = c->lengths[1];
    c->r.ints[TFN_INT_SOURCE_LENGTHS] = c->lengths[0];
    c->r.ints[7] = c->ids;
}

/* cos and sin of t * 10000^(-2j/D), in the order of rotary tables */
static void tape_fill_tables(tape_case *c)
{
    for (int32_t i = 1; i < c->t.count; i++) {
        const tfn_node *n = c->t.nodes + i;
        int32_t half = n->cols / 2;
        if (n->op != TFN__OP_TABLE) continue;
        for (int32_t t = 0; t < n->count; t++)
            for (int32_t j = 0; j < half; j++) {
                double angle = t * pow(10000, -2.0 * j / n->cols);
                float *row = c->r.tables + n->value[0] + (ptrdiff_t)t * n->cols;
                row[j] = (float)cos(angle);
                row[half + j] = (float)sin(angle);
            }
    }
}

/* Numbers for the parameters in order, then for the weights. Inputs without gradient get those of
 * the first two. */
static void tape_fill(tape_case *c)
{
    tfn_key key = golden_key(c->row->name);
    ptrdiff_t params = (ptrdiff_t)c->t.params, tables = (ptrdiff_t)c->t.tables, n;
    uint64_t at = 0;
    c->y_size = tape_size(c, c->y);
    c->work = (ptrdiff_t)c->t.work;
    n = tape_row_count(c, TFN_ROWS_TARGET) * (ptrdiff_t)c->d.width;
    c->floats = (float *)tape_alloc((size_t)(2*params + tables + c->y_size + 2*n + c->work
                                             + (ptrdiff_t)c->t.buffers) * sizeof *c->floats);
    c->r.batch = c->d.batch;
    c->r.source = c->d.source;
    c->r.target = c->d.target;
    c->r.params = c->floats;
    c->r.grads = c->r.params + params;
    c->r.tables = c->r.grads + params;
    c->weights = c->r.tables + tables;
    c->r.inputs[1] = c->weights + c->y_size;
    c->r.inputs[2] = c->r.inputs[1] + n;
    c->r.buffers = c->weights + c->y_size + 2*n;
    c->r.work = c->r.buffers + c->t.buffers;
    for (int64_t j = 0; j < c->t.buffers; j++) c->r.buffers[j] = 1;
    c->r.key = tfn_key_make(99);
    c->r.step = 3;
    memset(c->floats, 0, (size_t)(2*params) * sizeof *c->floats);
    for (int32_t i = 0; i < c->count; i++)
        for (ptrdiff_t j = 0; j < tape_size(c, c->params[i]); j++) {
            tfn_value(&c->t, &c->r, c->params[i])[j] = c->scale[i] * golden_draw(key, at++);
            c->r.grads[c->t.nodes[c->params[i].id].grad + j] = (float)NAN;      /* overwritten */
        }
    for (ptrdiff_t j = 0; j < c->y_size; j++) c->weights[j] = golden_draw(key, at++);
    for (ptrdiff_t j = 0; j < 2*n; j++) c->weights[c->y_size + j] = golden_draw(key, at++);
    for (int32_t i = 0; i < 2 && i < c->count; i++)
        if (tape_size(c, c->params[i]) == n)
            memcpy(c->weights + c->y_size + i*n, tfn_value(&c->t, &c->r, c->params[i]),
                   (size_t)n * sizeof *c->floats);
    c->custom[0].user = c->weights;
}

static bool tape_start(tape_case *c, const tape_row *row, const tape_dims *d, int mode,
                       const tfn_kernels *k, int32_t threads)
{
    char text[200];
    tape_record(c, row, d, mode);
    if (tfn_tape_plan(&c->t, k, threads) != TFN_OK) {
        FAIL("plan: %s", tfn_error_text(&c->t.error, text, sizeof text));
        return false;
    }
    tape_fill_ints(c);
    tape_fill(c);
    tape_fill_tables(c);
    return true;
}

static void tape_end(tape_case *c)
{
    free(c->mem);
    free(c->ids);
    free(c->floats);
}

/* Runs the forward and copies the loss before the backward reuses its memory. */
static void tape_run(tape_case *c, float *loss)
{
    CHECK(tfn_tape_forward(&c->t, &c->r) == TFN_OK);
    memcpy(loss, tfn_value(&c->t, &c->r, c->loss), (size_t)c->y_size * sizeof *loss);
    if (c->mode & TAPE_INFER) return;
    CHECK(tfn_tape_backward(&c->t, &c->r) == TFN_OK);
}

static const tape_row *tape_now;       /* the row under test */

/* -- golden values ------------------------------------------------------------------------- */

static void tape_compare(const char *what, const float *found, const double *wanted, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double size = fabs(wanted[i]) > 1 ? fabs(wanted[i]) : 1;
        if (!(fabs((double)found[i] - wanted[i]) <= TAPE_GOLDEN * size))
            FAIL("%s %s[%d] is %.9g, not %.9g", tape_now->name, what, (int)i, (double)found[i],
                 wanted[i]);
    }
}

static void tape_check_golden(const tfn_kernels *k)
{
    const golden_row *g = golden_find(golden_ops, tape_now->name);
    tape_case c;
    float *loss;
    const double *at;
    ptrdiff_t total = 0;
    char what[16];
    if (!g) {
        FAIL("%s has no golden values", tape_now->name);
        return;
    }
    if (!tape_start(&c, tape_now, &tape_small, TAPE_KEEP_Y, k, 1)) return;
    loss = (float *)tape_alloc((size_t)c.y_size * sizeof *loss);
    tape_run(&c, loss);
    for (int32_t i = 0; i < c.count; i++) total += tape_size(&c, c.params[i]);
    CHECK_INT(c.y_size + total, g->count);
    at = golden_ops_values + g->first;
    if (c.y_size + total == g->count) {
        tape_compare("y", tfn_value(&c.t, &c.r, c.y), at, c.y_size);
        at += c.y_size;
        for (int32_t i = 0; i < c.count; at += tape_size(&c, c.params[i]), i++) {
            snprintf(what, sizeof what, "d%d", (int)i);
            tape_compare(what, c.r.grads + c.t.nodes[c.params[i].id].grad, at,
                         tape_size(&c, c.params[i]));
        }
    }
    free(loss);
    tape_end(&c);
}

/* -- central differences ------------------------------------------------------------------- */

#ifdef TFN__DOUBLE
static double tape_sum(tape_case *c)
{
    const float *loss;
    double sum = 0;
    tfn_tape_forward(&c->t, &c->r);
    loss = tfn_value(&c->t, &c->r, c->loss);
    for (ptrdiff_t i = 0; i < c->y_size; i++) sum += loss[i];
    return sum;
}

/* Richardson's form of the central difference, error of order h^4. */
static double tape_difference(tape_case *c, double *p)
{
    const double h = 1e-3, x = *p;
    double d[2];
    for (int i = 0; i < 2; i++) {
        double step = h / (1 + i), up;
        *p = x + step;
        up = tape_sum(c);
        *p = x - step;
        d[i] = (up - tape_sum(c)) / (2 * step);
    }
    *p = x;
    return (4*d[1] - d[0]) / 3;
}

/* True if two step sizes disagree, because the function has a kink (ReLU) between them. */
static bool tape_kink(tape_case *c, double *p, double found)
{
    const double h = 1e-6, x = *p;
    double up, down, at = tape_sum(c);
    *p = x + h;
    up = (tape_sum(c) - at) / h;
    *p = x - h;
    down = (at - tape_sum(c)) / h;
    *p = x;
    return fabs((up + down) / 2 - found) <= 1e-5 * (1 + fabs(found));
}

/* The gate's input gets the gradient dy, not dy (1 - SiLU(q)): the second x is constant. */
static double tape_gate_share(const tape_case *c)
{
    double q = *tfn_value(&c->t, &c->r, c->params[1]);
    return 1 - q / (1 + exp(-q));
}

static void tape_check_gradient(void)
{
    tape_case c;
    bool kinks = strstr(tape_now->name, "relu") || strstr(tape_now->name, "capped")
                 || !strcmp(tape_now->name, "stack");
    if (!tape_start(&c, tape_now, &tape_small, 0, tfn_kernels_for(TFN_ISA_BEST), 1)) return;
    tfn_tape_forward(&c.t, &c.r);
    tfn_tape_backward(&c.t, &c.r);
    for (int32_t i = 0; i < c.count; i++) {
        ptrdiff_t n = tape_size(&c, c.params[i]);
        double *p = tfn_value(&c.t, &c.r, c.params[i]), most = 0;
        const double *g = c.r.grads + c.t.nodes[c.params[i].id].grad;
        double share = i == 0 && !strcmp(tape_now->name, "gate") ? tape_gate_share(&c) : 1;
        for (ptrdiff_t j = 0; j < n; j++) most = fabs(g[j]) > most ? fabs(g[j]) : most;
        for (ptrdiff_t j = 0; j < n; j++) {
            double d = tape_difference(&c, p + j) / share, size = fabs(g[j]) + 1e-3 * most + 1e-6;
            if (!(fabs(d - g[j]) <= 1e-7 * size) && !(kinks && tape_kink(&c, p + j, g[j])))
                FAIL("%s: d%d[%d] is %.12g, not %.12g", tape_now->name, (int)i, (int)j, g[j], d);
        }
    }
    tape_end(&c);
}
#endif

/* -- equal bits ---------------------------------------------------------------------------- */

typedef struct tape_result { float *loss, *grads; ptrdiff_t losses, params; } tape_result;

static tape_result tape_results(const tape_row *row, const tape_dims *d, int mode,
                                const tfn_kernels *k, int32_t threads)
{
    tape_result a = { NULL, NULL, 0, 0 };
    tape_case c;
    if (!tape_start(&c, row, d, mode, k, threads)) return a;
    a.losses = c.y_size;
    a.params = (ptrdiff_t)c.t.params;
    a.loss = (float *)tape_alloc((size_t)(a.losses + a.params) * sizeof *a.loss);
    a.grads = a.loss + a.losses;
    tape_run(&c, a.loss);
    memcpy(a.grads, c.r.grads, (size_t)a.params * sizeof *a.grads);
    tape_end(&c);
    return a;
}

static bool tape_finite(const float *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(x[i] - x[i] >= 0)) return false;
    return true;
}

static void tape_same(const tape_result *a, const char *what, const tape_dims *d, int mode,
                      const tfn_kernels *k, int32_t threads)
{
    tape_result b = tape_results(tape_now, d, mode, k, threads);
    if (!b.loss) return;
    if (!tape_finite(b.loss, b.losses)) FAIL("%s: %s: not finite", tape_now->name, what);
    if (memcmp(a->loss, b.loss, (size_t)a->losses * sizeof *a->loss))
        FAIL("%s: %s: other outputs", tape_now->name, what);
    if (!(mode & TAPE_INFER) && memcmp(a->grads, b.grads, (size_t)a->params * sizeof *a->grads))
        FAIL("%s: %s: other gradients", tape_now->name, what);
    free(b.loss);
}

static void tape_check_bits(const tape_dims *d)
{
    const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
    tape_result a = tape_results(tape_now, d, 0, best, 1);
    if (!a.loss) return;
    CHECK(tape_finite(a.loss, a.losses + a.params));
#ifdef TFN__CHECKED
    CHECK_INT(tape_wrote_beside, 0);
#endif
    tape_same(&a, "everything kept", d, TAPE_KEEP_ALL, best, 1);
    tape_same(&a, "recomputed", d, TAPE_RECOMPUTE, best, 1);
    tape_same(&a, "recomputed under a larger plan", d, TAPE_RECOMPUTE | TAPE_LARGER, best, 1);
    tape_same(&a, "under a larger plan", d, TAPE_LARGER, best, 1);
    if (!strstr(tape_now->name, "dropout") && strcmp(tape_now->name, "stack")
        && strcmp(tape_now->name, "batchnorm"))
        tape_same(&a, "inference", d, TAPE_INFER, best, 1);
#ifndef TFN__CHECKED
    tape_same(&a, "2 threads", d, 0, best, 2);
    tape_same(&a, "3 threads", d, 0, best, 3);
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (k && k->fma && best->fma && k != best) tape_same(&a, k->name, d, 0, k, 1);
    }
#endif
    free(a.loss);
}

#ifndef TFN__DOUBLE
/* The second of two accumulating backward passes doubles the gradients. */
static void tape_check_accumulate(void)
{
    tape_result a = tape_results(tape_now, &tape_small, 0, tfn_kernels_for(TFN_ISA_BEST), 1);
    tape_case c;
    if (a.loss && tape_start(&c, tape_now, &tape_small, 0, tfn_kernels_for(TFN_ISA_BEST), 1)) {
        tape_run(&c, a.loss);
        c.r.accumulate = true;
        tape_run(&c, a.loss);
        for (ptrdiff_t i = 0; i < a.params; i++)
            CHECK_CLOSE((double)c.r.grads[i], 2 * (double)a.grads[i], 1e-5);
        tape_end(&c);
    }
    free(a.loss);
}

#ifndef TFN__CHECKED
static double tape_clock(tape_case *c, bool forward)
{
    clock_t start = clock(), now;
    int runs = 0;
    do {
        if (forward) tfn_tape_forward(&c->t, &c->r);
        else tfn_tape_backward(&c->t, &c->r);
        runs++;
        now = clock();
    } while (now - start < CLOCKS_PER_SEC / 200);
    return (double)(now - start) * 1e6 / CLOCKS_PER_SEC / runs;
}

static void tape_time(void)
{
    tape_case c;
    double forward, backward;
    if (!tape_start(&c, tape_now, &tape_large, TAPE_KEEP_ALL, tfn_kernels_for(TFN_ISA_BEST), 1))
        return;
    forward = tape_clock(&c, true);
    backward = tape_clock(&c, false);
    printf("       %s: forward %.1f us, backward %.1f us, %s\n", tape_now->name, forward, backward,
           c.t.kernels->name);
    tape_end(&c);
}
#endif
#endif

TEST(tape_op)
{
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT && tape_now->golden; isa++)
        if (tfn_kernels_for((tfn_isa)isa)) tape_check_golden(tfn_kernels_for((tfn_isa)isa));
    tape_check_bits(&tape_small);
#ifdef TFN__DOUBLE
    tape_check_gradient();
#else
    tape_check_accumulate();
    tape_check_bits(&tape_large);
#ifndef TFN__CHECKED
    tape_time();
#endif
#endif
}

/* -- parts equal to the whole -------------------------------------------------------------- */

static tfn_var tape_parts_whole(tape_case *c)
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.out);
    return tfn_linear(&c->t, x, w, tape_p(c, 1, c->d.out), TFN_ACTIVATION_GELU);
}
static tfn_var tape_parts_apart(tape_case *c)
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.out);
    x = tfn_linear(&c->t, x, w, tape_p(c, 1, c->d.out), TFN_ACTIVATION_IDENTITY);
    return tfn_activation(&c->t, x, TFN_ACTIVATION_GELU);
}
static tfn_var tape_parts_square(tape_case *c)
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.out);
    return tfn_linear(&c->t, x, w, tape_p(c, 1, c->d.out), TFN_ACTIVATION_RELU2);
}
static tfn_var tape_parts_square_apart(tape_case *c)
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.out);
    x = tfn_linear(&c->t, x, w, tape_p(c, 1, c->d.out), TFN_ACTIVATION_IDENTITY);
    return tfn_activation(&c->t, x, TFN_ACTIVATION_RELU2);
}
static tfn_var tape_parts_smooth(tape_case *c)      /* smoothing 0 is none */
{
    return tape_loss(c, 0, 1);
}
static tfn_var tape_parts_lengths(tape_case *c)     /* a slot without an array masks nothing */
{
    tfn_var y = tape_attend(c, true, c->d.heads, false, false, 0);
    c->t.nodes[y.id].arg[3] = TFN_INT_SEGMENTS;     /* bound to no array */
    return y;
}

/* The same parameters give the same bits; `name` seeds both. */
static void tape_equal_parts(const char *name, tape_builder *one, tape_builder *two)
{
    tape_row rows[2];
    tape_result a;
    rows[0].name = rows[1].name = name;
    rows[0].golden = rows[1].golden = false;
    rows[0].build = one;
    rows[1].build = two;
    tape_now = rows;
    a = tape_results(rows, &tape_large, 0, tfn_kernels_for(TFN_ISA_BEST), 1);
    tape_now = rows + 1;
    if (a.loss) tape_same(&a, "its parts", &tape_large, 0, tfn_kernels_for(TFN_ISA_BEST), 1);
    free(a.loss);
}

TEST(tape_parts)
{
    tape_equal_parts("linear and activation", tape_parts_whole, tape_parts_apart);
    tape_equal_parts("linear and squared ReLU", tape_parts_square, tape_parts_square_apart);
    tape_equal_parts("cross-entropy without smoothing", tape_cross_entropy, tape_parts_smooth);
    tape_equal_parts("attention without lengths", tape_attention_cross, tape_parts_lengths);
}

/* -- probes and keep ----------------------------------------------------------------------- */

typedef struct tape_probed {
    int       calls[2][2];             /* probe, direction */
    double    sums[2][2];
    ptrdiff_t rows, cols;
} tape_probed;

static void tape_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                       bool backward)
{
    tape_probed *p = (tape_probed *)user;
    if (id < 7 || id > 8 || !data) return;
    p->calls[id - 7][backward]++;
    for (ptrdiff_t i = 0; i < rows * cols; i++)
        p->sums[id - 7][backward] += (double)data[i] * (double)(i + 1);
    p->rows = rows;
    p->cols = cols;
}
/* Probe 7 on a value that is used before and after it: it must see the whole gradient. Probe 8 on
 * the output of a fused linear map. */
static tfn_var tape_probe_build(tape_case *c)
{
    tfn_var x = tape_target(c), y;
    y = tfn_linear(&c->t, x, tape_p(c, c->d.width, c->d.width), tape_none, TFN_ACTIVATION_GELU);
    tfn_probe(&c->t, x, 7);
    tfn_probe(&c->t, y, 8);
    return tfn_add(&c->t, x, y, 1, 2);
}
static tfn_var tape_keep_build(tape_case *c)
{
    tfn_var x = tape_target(c), y = tfn_softmax(&c->t, x);
    return tfn_add(&c->t, x, y, 1, 2);
}

TEST(tape_probes)
{
    static const tape_row row = { "probe", tape_probe_build, false };
    tape_case c;
    tape_probed p;
    double sums[2] = { 0, 0 };
    float *loss;
    tape_now = &row;
    memset(&p, 0, sizeof p);
    if (!tape_start(&c, &row, &tape_small, 0, tfn_kernels_for(TFN_ISA_BEST), 2)) return;
    loss = (float *)tape_alloc((size_t)c.y_size * sizeof *loss);
    c.r.probe = tape_probe;
    c.r.probe_user = &p;
    tape_run(&c, loss);
    for (int i = 0; i < 2; i++) CHECK(p.calls[i][0] == 1 && p.calls[i][1] == 1);
    CHECK(p.rows == c.d.batch * c.d.target && p.cols == c.d.width);
    for (ptrdiff_t i = 0; i < c.y_size; i++) {
        sums[0] += (double)c.r.params[i] * (double)(i + 1);         /* x is the first parameter */
        sums[1] += 2 * (double)c.weights[i] * (double)(i + 1);      /* dy of the fused linear */
    }
    CHECK_CLOSE(p.sums[0][0], sums[0], 1e-6);
    CHECK_CLOSE(p.sums[1][1], sums[1], 1e-5);
    sums[0] = 0;
    for (ptrdiff_t i = 0; i < c.y_size; i++) sums[0] += (double)c.r.grads[i] * (double)(i + 1);
    CHECK_CLOSE(p.sums[0][1], sums[0], 1e-5);         /* dx is the gradient of the parameter */
    free(loss);
    tape_end(&c);
}

/* A kept value or gradient is that of the time when it was made. */
TEST(tape_kept)
{
    static const tape_row row = { "keep", tape_keep_build, false };
    const float *y, *dy;
    tape_case c;
    float *loss;
    tape_now = &row;
    tape_record(&c, &row, &tape_small, 0);
    for (int32_t i = 1; i < c.t.count; i++)
        if (c.t.nodes[i].op == TFN__OP_SOFTMAX) {
            c.y.id = i;
            tfn_keep(&c.t, c.y);
        }
    if (tfn_tape_plan(&c.t, tfn_kernels_for(TFN_ISA_BEST), 1) != TFN_OK) FAIL("plan");
    tape_fill_ints(&c);
    tape_fill(&c);
    loss = (float *)tape_alloc((size_t)c.y_size * sizeof *loss);
    tape_run(&c, loss);
    y = tfn_value(&c.t, &c.r, c.y);
    dy = tfn_gradient(&c.t, &c.r, c.y);
    CHECK(y && dy);
    for (ptrdiff_t i = 0; y && dy && i < c.y_size; i++) {
        CHECK_CLOSE((double)dy[i], 2 * (double)c.weights[i], 1e-6);
        double sum = (double)c.r.params[i] + 2 * (double)y[i];
        CHECK_CLOSE((double)loss[i], (double)c.weights[i] * sum, 1e-5);
    }
    free(loss);
    tape_end(&c);
}

/* -- a custom operation with six inputs ---------------------------------------------------- */

/* y = x_0 x_2 + sum of (i+1) x_i^2: six inputs, the third without gradient */
static void tape_six(const tfn_custom_args *a)
{
    for (ptrdiff_t j = 0; j < a->rows * a->cols; j++) {
        float sum = a->x[0][j] * a->x[2][j];
        for (int i = 0; i < TFN_INPUTS; i++) sum += (float)(i + 1) * a->x[i][j] * a->x[i][j];
        a->y[j] = sum;
    }
}
static void tape_six_back(const tfn_custom_args *a)
{
    for (int i = 0; i < TFN_INPUTS; i++)
        for (ptrdiff_t j = 0; j < a->rows * a->cols && a->dx[i]; j++) {
            float g = ((float)(2*i + 2) * a->x[i][j] + (i ? 0 : a->x[2][j])) * a->dy[j];
            a->dx[i][j] = a->add[i] ? a->dx[i][j] + g : g;
        }
}
static tfn_var tape_six_build(tape_case *c)
{
    tfn_var in[TFN_INPUTS], y;
    c->custom[1].name = "six";
    c->custom[1].forward = tape_six;
    c->custom[1].backward = tape_six_back;
    for (int i = 0; i < TFN_INPUTS; i++) in[i] = tape_target(c);
    in[2] = tfn_activation(&c->t, tfn_input(&c->t, 1, TFN_ROWS_TARGET, c->d.width),
                           TFN_ACTIVATION_TANH);
    y = tfn_custom(&c->t, 1, in, TFN_INPUTS, TFN_ROWS_TARGET, 0, c->d.width);
    return tfn_add(&c->t, y, in[0], 1, 1);
}

TEST(tape_custom)
{
    static const tape_row row = { "six", tape_six_build, false };
    tape_case c;
    float *loss;
    tape_now = &row;
    tape_check_bits(&tape_small);
    if (!tape_start(&c, &row, &tape_small, TAPE_KEEP_Y, tfn_kernels_for(TFN_ISA_BEST), 1)) return;
    loss = (float *)tape_alloc((size_t)c.y_size * sizeof *loss);
    tape_run(&c, loss);
    for (int32_t i = 0; i < c.count; i++)
        for (ptrdiff_t j = 0; j < c.y_size; j++) {
            const float *g = tfn_gradient(&c.t, &c.r, c.params[i]);
            const float *x = tfn_value(&c.t, &c.r, c.params[i]);
            double slope = (2*i + 2) * (double)x[j];
            double wanted = (slope + (i ? 0 : 1 + tanh((double)x[j]))) * (double)c.weights[j];
            CHECK(i == 2 ? !g : g && fabs((double)g[j] - wanted) < 1e-5);
        }
    for (ptrdiff_t j = 0; j < c.y_size; j++)        /* the loss does not depend on number 2 */
        CHECK(c.r.grads[c.t.nodes[c.params[2].id].grad + j] == 0);
    free(loss);
    tape_end(&c);
}

/* A table of angles gets no gradient, even if it is a parameter and nothing else needs one. */
TEST(tape_rotary_table)
{
    size_t size = tfn_tape_bytes(10);
    void *mem = tape_alloc(size);
    static float params[64], grads[64], work[4096], x[2 * 4 * 4];
    const tfn_custom_op weigh = { "weigh", tape_weigh, tape_weigh_back, x };
    tfn_tape t;
    tfn_run r;
    tfn_var table, scale, y;
    tfn_tape_init(&t, mem, size, 2, 0, 4, true);
    t.custom = &weigh;
    t.customs = 1;
    table = tfn_param(&t, 4, 4);
    scale = tfn_param(&t, 1, 4);
    y = tfn_rotary(&t, tfn_input(&t, 0, TFN_ROWS_TARGET, 4), table, 4);
    y = tfn_scale(&t, y, scale);
    tfn_custom(&t, 0, &y, 1, TFN_ROWS_TARGET, 0, 4);
    memset(&r, 0, sizeof r);
    r.batch = 2;
    r.target = 4;
    r.params = params;
    r.grads = grads;
    r.work = work;
    r.inputs[0] = x;
    for (int i = 0; i < 32; i++) x[i] = (float)(i + 1);
    for (int i = 0; i < 64; i++) params[i] = grads[i] = 1;
    CHECK(tfn_tape_plan(&t, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_OK && t.work <= 4096);
    CHECK(tfn_tape_forward(&t, &r) == TFN_OK && tfn_tape_backward(&t, &r) == TFN_OK);
    for (int i = 0; i < 16; i++) CHECK(grads[t.nodes[table.id].grad + i] == 0);
    for (int i = 0; i < 4; i++) CHECK(fabs((double)tfn_gradient(&t, &r, scale)[i]) > 1);
    free(mem);
}

/* -- recomputation saves memory ------------------------------------------------------------ */

static tfn_var tape_deep(tape_case *c)              /* eight layers of three values each */
{
    tfn_var x = tape_target(c), w = tape_p(c, c->d.width, c->d.width);
    for (int i = 0; i < 8; i++) {
        tape_segment(c);
        for (int j = 0; j < 3; j++) x = tfn_linear(&c->t, x, w, tape_none, TFN_ACTIVATION_SILU);
    }
    return x;
}

TEST(tape_recomputed)
{
    static const tape_row row = { "deep", tape_deep, false };
    ptrdiff_t work[3];
    for (int i = 0; i < 3; i++) {
        tape_case c;
        tape_now = &row;
        if (!tape_start(&c, &row, &tape_small, i == 0 ? 0 : i == 1 ? TAPE_RECOMPUTE : TAPE_INFER,
                        tfn_kernels_for(TFN_ISA_BEST), 1)) return;
        work[i] = (ptrdiff_t)c.t.values;
        tape_end(&c);
    }
    CHECK(work[1] < work[0] / 2);
    CHECK(work[2] < work[0] / 8);
    tape_check_bits(&tape_small);
    tape_check_bits(&tape_large);
}

/* The workspace of attention grows linearly with T. */
TEST(tape_linear_in_time)
{
    static const tape_row row = { "attention-full", tape_attention_full, true };
    double work[3];
    for (int i = 0; i < 3; i++) {
        tape_dims d = tape_small;
        tape_case c;
        d.target = 500 << i;
        tape_record(&c, &row, &d, 0);
        CHECK(tfn_tape_plan(&c.t, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_OK);
        work[i] = (double)c.t.work;
        free(c.mem);
    }
    CHECK(work[2] - work[1] <= 2.01 * (work[1] - work[0]) + 4096);
    CHECK(work[2] <= 4.1 * work[0]);
}

/* -- errors: the first one stays, with the found and the expected value -------------------- */

typedef tfn_var tape_mistake(tfn_tape *t, tfn_var x, tfn_var w);   /* x (B*T, 8), w (8, 8) */
#define TAPE_MISTAKE(name, call)                                                               \
    static tfn_var tape_bad_##name(tfn_tape *t, tfn_var x, tfn_var w)                          \
    { (void)x; (void)w; return call; }

static tfn_var tape_var(int32_t id) { tfn_var v; v.id = id; return v; }

static tfn_var tape_bad_norm(tfn_tape *t, tfn_var x, tfn_norm_kind kind, int32_t cols,
                             ptrdiff_t groups)
{
    tfn_norm_args like = tape_like(kind, groups, 0);
    return tfn_norm(t, x, tape_none, tape_none, cols, &like);
}

TAPE_MISTAKE(linear_in, tfn_linear(t, x, tfn_param(t, 48, 8), tape_none, TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_bias, tfn_linear(t, x, w, tfn_param(t, 1, 5), TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_bias_rows, tfn_linear(t, x, w, tfn_param(t, 3, 8), TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_weight, tfn_linear(t, x, x, tape_none, TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_missing, tfn_linear(t, tape_none, w, tape_none, TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_unknown, tfn_linear(t, tape_var(77), w, tape_none, TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_negative, tfn_linear(t, tape_var(-3), w, tape_none, TFN_ACTIVATION_RELU))
TAPE_MISTAKE(linear_same, tfn_linear(t, w, w, tape_none, TFN_ACTIVATION_IDENTITY))
TAPE_MISTAKE(linear_unit, tfn_linear(t, x, w, tape_none, TFN_ACTIVATION_GEGLU))
TAPE_MISTAKE(linear_gemma, tfn_linear(t, x, w, tape_none, TFN_ACTIVATION_GEGLU_TANH))
TAPE_MISTAKE(linear_kind, tfn_linear(t, x, w, tape_none, (tfn_activation_kind)55))
TAPE_MISTAKE(transposed_in, tfn_linear_transposed(t, x, tfn_param(t, 8, 9), tape_none))
TAPE_MISTAKE(norm_gain, tfn_layernorm(t, x, tfn_param(t, 1, 7), tape_none, 1))
TAPE_MISTAKE(norm_bias, tfn_layernorm(t, x, tape_none, tfn_param(t, 2, 8), 1))
TAPE_MISTAKE(norm_value, tfn_rmsnorm(t, x, x, 1))
TAPE_MISTAKE(softmax_missing, tfn_softmax(t, tape_none))
TAPE_MISTAKE(activation_unit, tfn_activation(t, x, TFN_ACTIVATION_SWIGLU))
TAPE_MISTAKE(gated_same, tfn_glu(t, x, x, TFN_ACTIVATION_SILU))
TAPE_MISTAKE(gated_rows, tfn_glu(t, x, w, TFN_ACTIVATION_SILU))
TAPE_MISTAKE(gated_unit, tfn_glu(t, x, tfn_softmax(t, x), TFN_ACTIVATION_GEGLU))
TAPE_MISTAKE(add_cols, tfn_add(t, x, tfn_input(t, 0, TFN_ROWS_TARGET, 9), 1, 1))
TAPE_MISTAKE(add_rows, tfn_add(t, x, tfn_input(t, 0, TFN_ROWS_SOURCE, 8), 1, 1))
TAPE_MISTAKE(scale_cols, tfn_scale(t, x, tfn_param(t, 1, 7)))
TAPE_MISTAKE(scale_groups, tfn_scale(t, x, tfn_param(t, 1, 3)))
TAPE_MISTAKE(scale_wide, tfn_scale(t, x, tfn_param(t, 1, 16)))
TAPE_MISTAKE(scale_value, tfn_scale(t, x, x))
TAPE_MISTAKE(shift_cols, tfn_shift(t, x, tfn_param(t, 1, 4), 1))
TAPE_MISTAKE(shift_rows, tfn_shift(t, x, w, 1))
TAPE_MISTAKE(shift_missing, tfn_shift(t, x, tape_none, 1))
TAPE_MISTAKE(mix_weight, tfn_mix(t, tape_none, x, tfn_param(t, 1, 3), 3))
TAPE_MISTAKE(mix_negative, tfn_mix(t, tape_none, x, tfn_param(t, 1, 3), -1))
TAPE_MISTAKE(mix_rows, tfn_mix(t, tape_none, x, tfn_param(t, 9, 3), 0))
TAPE_MISTAKE(mix_shape, tfn_mix(t, tfn_input(t, 0, TFN_ROWS_TARGET, 9), x, tfn_param(t, 1, 3), 0))
TAPE_MISTAKE(gate_cols, tfn_gate(t, x, tfn_param(t, 1, 8)))
TAPE_MISTAKE(gate_value, tfn_gate(t, x, x))
TAPE_MISTAKE(norm_divides, tape_bad_norm(t, x, TFN_NORM_LAYER, 3, 1))
TAPE_MISTAKE(norm_groups, tape_bad_norm(t, x, TFN_NORM_RMS, 4, 3))
TAPE_MISTAKE(norm_none, tape_bad_norm(t, x, TFN_NORM_RMS, 0, 1))
TAPE_MISTAKE(norm_kind, tape_bad_norm(t, x, TFN_NORM_POINT, 8, 1))
TAPE_MISTAKE(squash_gain, tfn_squash(t, x, tfn_param(t, 1, 4), tape_none, tape_none, tape_none,
                                       TFN_SQUASH_TANH))
TAPE_MISTAKE(squash_alpha, tfn_squash(t, x, tape_none, tape_none, tfn_param(t, 1, 8), tape_none,
                                        TFN_SQUASH_TANH))
TAPE_MISTAKE(squash_shift, tfn_squash(t, x, tape_none, tape_none, tape_none,
                                        tfn_param(t, 3, 1), TFN_SQUASH_TANH))
TAPE_MISTAKE(seed_gain, tfn_seednorm(t, x, tape_none, tfn_param(t, 1, 8), tfn_param(t, 1, 8), 1))
TAPE_MISTAKE(seed_direction, tfn_seednorm(t, x, tfn_param(t, 1, 8), tfn_param(t, 1, 8), w, 1))
TAPE_MISTAKE(dropout_one, tfn_dropout(t, x, 1))
TAPE_MISTAKE(dropout_negative, tfn_dropout(t, x, (float)-0.5))
TAPE_MISTAKE(dropout_nan, tfn_dropout(t, x, (float)NAN))
TAPE_MISTAKE(conv_rows, tfn_convolution(t, x, w, tape_none))
TAPE_MISTAKE(conv_kernel, tfn_convolution(t, tfn_input(t, 0, TFN_ROWS_FRAMES, 8), w, tape_none))
TAPE_MISTAKE(embed_slot, tfn_embedding(t, w, 16, TFN_ROWS_TARGET, 1))
TAPE_MISTAKE(embed_value, tfn_embedding(t, x, 0, TFN_ROWS_TARGET, 1))
TAPE_MISTAKE(embed_rows, tfn_embedding(t, w, 0, (tfn_rows)9, 1))
TAPE_MISTAKE(input_slot, tfn_input(t, -1, TFN_ROWS_TARGET, 3))
TAPE_MISTAKE(input_cols, tfn_input(t, 0, TFN_ROWS_TARGET, -3))
TAPE_MISTAKE(param_rows, tfn_param(t, -2, 3))
TAPE_MISTAKE(position_rows, tfn_position(t, x, tfn_param(t, 3, 8)))
TAPE_MISTAKE(position_cols, tfn_position(t, x, tfn_param(t, 30, 7)))
TAPE_MISTAKE(position_fixed, tfn_position(t, w, tfn_param(t, 30, 8)))
TAPE_MISTAKE(rotary_odd, tfn_rotary(t, x, tfn_param(t, 30, 3), 3))
TAPE_MISTAKE(rotary_divides, tfn_rotary(t, x, tfn_param(t, 30, 6), 6))
TAPE_MISTAKE(rotary_one, tfn_rotary(t, x, tfn_param(t, 30, 1), 1))
TAPE_MISTAKE(rotary_zero, tfn_rotary(t, x, tfn_param(t, 30, 3), 0))
TAPE_MISTAKE(first_fixed, tfn_first_rows(t, w))
TAPE_MISTAKE(heads, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 3, 3, false, -1, 0))
TAPE_MISTAKE(groups, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 4, 3, false, -1, 0))
TAPE_MISTAKE(no_heads, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 0, 0, false, -1,
                                     0))
TAPE_MISTAKE(kv_cols, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 4, 2, false, -1, 0))
TAPE_MISTAKE(same_kv, tfn_attention(t, x, tfn_softmax(t, x), x, 4, 4, false, -1, 0))
TAPE_MISTAKE(lengths, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 4, 4, false, 16, 0))
TAPE_MISTAKE(attention_rate, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 4, 4, false,
                                           -1,
                                        1))
TAPE_MISTAKE(loss_slot, tfn_cross_entropy(t, x, 17, 0, 0))
TAPE_MISTAKE(loss_smoothing, tfn_cross_entropy(t, x, 1, (float)1.5, 0))
TAPE_MISTAKE(number_slot, tfn_number_loss(t, x, 16, TFN_NUMBER_LOSS_SQUARED, 0))
TAPE_MISTAKE(number_kind, tfn_number_loss(t, x, 1, TFN_NUMBER_LOSS_COUNT, 1))
TAPE_MISTAKE(number_delta, tfn_number_loss(t, x, 1, TFN_NUMBER_LOSS_HUBER, 0))
TAPE_MISTAKE(number_nan, tfn_number_loss(t, x, 1, TFN_NUMBER_LOSS_HUBER, (float)NAN))
TAPE_MISTAKE(custom_index, tfn_custom(t, 2, &x, 1, TFN_ROWS_TARGET, 0, 8))
TAPE_MISTAKE(custom_count, tfn_custom(t, 0, &x, 7, TFN_ROWS_TARGET, 0, 8))
TAPE_MISTAKE(add_missing, tfn_add(t, tape_none, x, 1, 1))
TAPE_MISTAKE(add_fixed, tfn_add(t, w, tfn_param(t, 9, 8), 1, 1))
TAPE_MISTAKE(linear_only_missing, tfn_linear(t, tape_none, w, tape_none, TFN_ACTIVATION_IDENTITY))
TAPE_MISTAKE(norm_missing, tape_bad_norm(t, tape_none, TFN_NORM_LAYER, 8, 1))
TAPE_MISTAKE(conv_missing, tfn_convolution(t, tape_none, w, tape_none))
TAPE_MISTAKE(conv_bias, tfn_convolution(t, tfn_input(t, 0, TFN_ROWS_FRAMES, 8), tfn_param(t, 24, 8),
                                        tfn_param(t, 1, 7)))
TAPE_MISTAKE(seed_alpha, tfn_seednorm(t, x, tfn_param(t, 1, 8), w, tfn_param(t, 1, 8), 1))
TAPE_MISTAKE(scale_empty, tfn_scale(t, x, tfn_param(t, 1, 0)))
TAPE_MISTAKE(no_kv_heads, tfn_attention(t, x, tfn_softmax(t, x), tfn_softmax(t, x), 4, 0, false, -1,
                                        0))
TAPE_MISTAKE(same_qk, tfn_attention(t, x, x, tfn_softmax(t, x), 4, 4, false, -1, 0))
TAPE_MISTAKE(same_keys, tfn_attention(t, x, tfn_softmax(t, x), tape_var(3), 4, 4, false, -1, 0))
TAPE_MISTAKE(kv_shape, tfn_attention(t, x, tfn_softmax(t, x), tfn_input(t, 0, TFN_ROWS_TARGET, 4),
                                     4, 4, false, -1, 0))
TAPE_MISTAKE(number_infinite, tfn_number_loss(t, x, 1, TFN_NUMBER_LOSS_HUBER, (float)INFINITY))
TAPE_MISTAKE(number_missing, tfn_number_loss(t, tape_none, 1, TFN_NUMBER_LOSS_SQUARED, 0))
TAPE_MISTAKE(targets_slot, tfn_mask_targets(t, x, 16))
TAPE_MISTAKE(custom_negative, tfn_custom(t, -1, &x, 1, TFN_ROWS_TARGET, 0, 8))
TAPE_MISTAKE(custom_count_negative, tfn_custom(t, 0, &x, -1, TFN_ROWS_TARGET, 0, 8))
TAPE_MISTAKE(custom_inputs, tfn_custom(t, 0, NULL, 1, TFN_ROWS_TARGET, 0, 8))
TAPE_MISTAKE(custom_table, (t->custom = NULL, tfn_custom(t, 0, &x, 1, TFN_ROWS_TARGET, 0, 8)))
TAPE_MISTAKE(keep_missing, (tfn_keep(t, tape_none), tape_none))
TAPE_MISTAKE(embed_below, tfn_embedding(t, w, 0, (tfn_rows)-1, 1))

typedef struct tape_wrong {
    const char   *name;
    tape_mistake *make;
    tfn_status    status;
    const char   *words[3];            /* that its message must contain */
} tape_wrong;
#define TAPE_WRONG(name, status, a, b, c) { #name, tape_bad_##name, status, { a, b, c } },
static const tape_wrong tape_wrongs[] = {
    TAPE_WRONG(linear_in, TFN_BAD_SHAPE, "linear: ", "8 channels", "needs 48")
    TAPE_WRONG(linear_bias, TFN_BAD_SHAPE, "linear: ", "5 columns", "8 are expected")
    TAPE_WRONG(linear_bias_rows, TFN_BAD_SHAPE, "linear: ", "3 rows", "1 are expected")
    TAPE_WRONG(linear_weight, TFN_BAD_SHAPE, "linear: ", "weight", "parameter")
    TAPE_WRONG(linear_missing, TFN_BAD_SHAPE, "linear: ", "missing", "(node")
    TAPE_WRONG(linear_unknown, TFN_BAD_SHAPE, "linear: ", "value 77", "(node")
    TAPE_WRONG(linear_negative, TFN_BAD_SHAPE, "linear: ", "value -3", "(node")
    TAPE_WRONG(linear_same, TFN_BAD_SHAPE, "linear: ", "", "")
    TAPE_WRONG(linear_unit, TFN_BAD_OPTION, "linear: ", "activation", "")
    TAPE_WRONG(linear_gemma, TFN_BAD_OPTION, "linear: ", "activation", "")
    TAPE_WRONG(linear_kind, TFN_BAD_OPTION, "linear: ", "activation", "55")
    TAPE_WRONG(transposed_in, TFN_BAD_SHAPE, "linear: ", "8 channels", "needs 9")
    TAPE_WRONG(norm_gain, TFN_BAD_SHAPE, "norm: ", "7 columns", "8 are expected")
    TAPE_WRONG(norm_bias, TFN_BAD_SHAPE, "norm: ", "2 rows", "1 are expected")
    TAPE_WRONG(norm_value, TFN_BAD_SHAPE, "norm: ", "parameter is expected", "")
    TAPE_WRONG(softmax_missing, TFN_BAD_SHAPE, "softmax: ", "missing", "")
    TAPE_WRONG(activation_unit, TFN_BAD_OPTION, "activation: ", "", "")
    TAPE_WRONG(gated_same, TFN_BAD_SHAPE, "gated unit: ", "one value", "")
    TAPE_WRONG(gated_rows, TFN_BAD_SHAPE, "gated unit: ", "different rows", "")
    TAPE_WRONG(gated_unit, TFN_BAD_OPTION, "gated unit: ", "", "")
    TAPE_WRONG(add_cols, TFN_BAD_SHAPE, "add: ", "8 channels", "9")
    TAPE_WRONG(add_rows, TFN_BAD_SHAPE, "add: ", "different rows", "")
    TAPE_WRONG(scale_cols, TFN_BAD_SHAPE, "scale: ", "7 columns", "8 are expected")
    TAPE_WRONG(scale_groups, TFN_BAD_SHAPE, "scale: ", "3 columns", "8 are expected")
    TAPE_WRONG(scale_wide, TFN_BAD_SHAPE, "scale: ", "16 columns", "8 are expected")
    TAPE_WRONG(scale_value, TFN_BAD_SHAPE, "scale: ", "parameter is expected", "")
    TAPE_WRONG(shift_cols, TFN_BAD_SHAPE, "shift: ", "4 columns", "8 are expected")
    TAPE_WRONG(shift_rows, TFN_BAD_SHAPE, "shift: ", "8 rows", "1 are expected")
    TAPE_WRONG(shift_missing, TFN_BAD_SHAPE, "shift: ", "missing", "")
    TAPE_WRONG(mix_weight, TFN_BAD_SHAPE, "mix: ", "weight 3", "there are 3")
    TAPE_WRONG(mix_negative, TFN_BAD_SHAPE, "mix: ", "weight -1", "there are 3")
    TAPE_WRONG(mix_rows, TFN_BAD_SHAPE, "mix: ", "9 groups", "8 channels")
    TAPE_WRONG(mix_shape, TFN_BAD_SHAPE, "mix: ", "8 channels", "9")
    TAPE_WRONG(gate_cols, TFN_BAD_SHAPE, "gate: ", "8 columns", "1 are expected")
    TAPE_WRONG(gate_value, TFN_BAD_SHAPE, "gate: ", "parameter is expected", "")
    TAPE_WRONG(norm_divides, TFN_BAD_SHAPE, "norm: ", "3 channels", "divide 8")
    TAPE_WRONG(norm_groups, TFN_BAD_SHAPE, "norm: ", "4 channels", "")
    TAPE_WRONG(norm_none, TFN_BAD_SHAPE, "norm: ", "0 channels", "")
    TAPE_WRONG(norm_kind, TFN_UNSUPPORTED, "norm: ", "not a norm of rows", "")
    TAPE_WRONG(squash_gain, TFN_BAD_SHAPE, "pointwise norm: ", "4 columns", "8 are expected")
    TAPE_WRONG(squash_alpha, TFN_BAD_SHAPE, "pointwise norm: ", "8 columns", "1 are expected")
    TAPE_WRONG(squash_shift, TFN_BAD_SHAPE, "pointwise norm: ", "3 rows", "1 are expected")
    TAPE_WRONG(seed_gain, TFN_BAD_SHAPE, "SeeDNorm: ", "missing", "")
    TAPE_WRONG(seed_direction, TFN_BAD_SHAPE, "SeeDNorm: ", "8 rows", "1 are expected")
    TAPE_WRONG(dropout_one, TFN_BAD_OPTION, "dropout: ", "[0, 1)", "")
    TAPE_WRONG(dropout_negative, TFN_BAD_OPTION, "dropout: ", "[0, 1)", "")
    TAPE_WRONG(dropout_nan, TFN_BAD_OPTION, "dropout: ", "[0, 1)", "")
    TAPE_WRONG(conv_rows, TFN_BAD_SHAPE, "convolution: ", "not frames", "")
    TAPE_WRONG(conv_kernel, TFN_BAD_SHAPE, "convolution: ", "rows", "24 are expected")
    TAPE_WRONG(embed_slot, TFN_BAD_SHAPE, "embedding: ", "slot 16", "there are 16")
    TAPE_WRONG(embed_value, TFN_BAD_SHAPE, "embedding: ", "parameter is expected", "")
    TAPE_WRONG(embed_rows, TFN_BAD_SHAPE, "embedding: ", "9", "")
    TAPE_WRONG(input_slot, TFN_BAD_SHAPE, "input: ", "slot -1", "there are 16")
    TAPE_WRONG(input_cols, TFN_BAD_SHAPE, "input: ", "-3", "")
    TAPE_WRONG(param_rows, TFN_BAD_SHAPE, "parameter: ", "-2", "")
    TAPE_WRONG(position_rows, TFN_BAD_SHAPE, "position: ", "3 positions", "5 are expected")
    TAPE_WRONG(position_cols, TFN_BAD_SHAPE, "position: ", "7 columns", "8 are expected")
    TAPE_WRONG(position_fixed, TFN_BAD_SHAPE, "position: ", "", "")
    TAPE_WRONG(rotary_odd, TFN_BAD_SHAPE, "rotary: ", "head size 3", "8")
    TAPE_WRONG(rotary_divides, TFN_BAD_SHAPE, "rotary: ", "head size 6", "8")
    TAPE_WRONG(rotary_one, TFN_BAD_SHAPE, "rotary: ", "head size 1", "8")
    TAPE_WRONG(rotary_zero, TFN_BAD_SHAPE, "rotary: ", "head size 0", "8")
    TAPE_WRONG(first_fixed, TFN_BAD_SHAPE, "first: ", "", "")
    TAPE_WRONG(heads, TFN_BAD_SHAPE, "attention: ", "8 channels", "3 heads")
    TAPE_WRONG(groups, TFN_BAD_SHAPE, "attention: ", "4 heads", "3 key/value")
    TAPE_WRONG(no_heads, TFN_BAD_SHAPE, "attention: ", "0 heads", "")
    TAPE_WRONG(kv_cols, TFN_BAD_SHAPE, "attention: ", "8 channels", "4 are expected")
    TAPE_WRONG(same_kv, TFN_BAD_SHAPE, "attention: ", "three values", "")
    TAPE_WRONG(lengths, TFN_BAD_SHAPE, "attention: ", "slot 16", "there are 16")
    TAPE_WRONG(attention_rate, TFN_BAD_OPTION, "attention: ", "[0, 1)", "")
    TAPE_WRONG(loss_slot, TFN_BAD_SHAPE, "cross-entropy: ", "slot 17", "there are 16")
    TAPE_WRONG(loss_smoothing, TFN_BAD_OPTION, "cross-entropy: ", "smoothing", "")
    TAPE_WRONG(number_slot, TFN_BAD_SHAPE, "number loss: ", "slot 16", "there are 16")
    TAPE_WRONG(number_kind, TFN_BAD_OPTION, "number loss: ", "kind 2", "there are 2")
    TAPE_WRONG(number_delta, TFN_BAD_OPTION, "number loss: ", "delta", "above 0")
    TAPE_WRONG(number_nan, TFN_BAD_OPTION, "number loss: ", "delta", "above 0")
    TAPE_WRONG(custom_index, TFN_BAD_OPTION, "custom: ", "operation 2", "has 2")
    TAPE_WRONG(custom_count, TFN_BAD_SHAPE, "custom: ", "7 inputs", "limit is 6")
    TAPE_WRONG(add_missing, TFN_BAD_SHAPE, "add: ", "missing", "")
    TAPE_WRONG(add_fixed, TFN_BAD_SHAPE, "add: ", "different rows", "")
    TAPE_WRONG(linear_only_missing, TFN_BAD_SHAPE, "linear: ", "missing", "")
    TAPE_WRONG(norm_missing, TFN_BAD_SHAPE, "norm: ", "missing", "")
    TAPE_WRONG(conv_missing, TFN_BAD_SHAPE, "convolution: ", "missing", "")
    TAPE_WRONG(conv_bias, TFN_BAD_SHAPE, "convolution: ", "7 columns", "8 are expected")
    TAPE_WRONG(seed_alpha, TFN_BAD_SHAPE, "SeeDNorm: ", "8 rows", "1 are expected")
    TAPE_WRONG(scale_empty, TFN_BAD_SHAPE, "scale: ", "0 columns", "8 are expected")
    TAPE_WRONG(no_kv_heads, TFN_BAD_SHAPE, "attention: ", "4 heads", "0 key/value")
    TAPE_WRONG(same_qk, TFN_BAD_SHAPE, "attention: ", "three values", "")
    TAPE_WRONG(same_keys, TFN_BAD_SHAPE, "attention: ", "three values", "")
    TAPE_WRONG(kv_shape, TFN_BAD_SHAPE, "attention: ", "8 channels", "the other 4")
    TAPE_WRONG(number_infinite, TFN_BAD_OPTION, "number loss: ", "delta", "above 0")
    TAPE_WRONG(number_missing, TFN_BAD_SHAPE, "number loss: ", "missing", "")
    TAPE_WRONG(targets_slot, TFN_BAD_SHAPE, "targets: ", "slot 16", "there are 16")
    TAPE_WRONG(custom_negative, TFN_BAD_OPTION, "custom: ", "operation -1", "has 2")
    TAPE_WRONG(custom_count_negative, TFN_BAD_SHAPE, "custom: ", "-1 inputs", "limit is 6")
    TAPE_WRONG(custom_inputs, TFN_NULL, "custom: ", "in", "")
    TAPE_WRONG(custom_table, TFN_NULL, "custom: ", "tape.custom", "")
    TAPE_WRONG(keep_missing, TFN_BAD_SHAPE, "keep: ", "missing", "")
    TAPE_WRONG(embed_below, TFN_BAD_SHAPE, "embedding: ", "kind -1", "last kind is 7")
};

static void tape_begin(tfn_tape *t, void *mem, size_t size, const tfn_custom_op *ops)
{
    tfn_tape_init(t, mem, size, 2, 4, 5, true);
    t->custom = ops;
    t->customs = 2;
}

TEST(tape_mistakes)
{
    static const tfn_custom_op ops[2] = { { "weigh", tape_weigh, tape_weigh_back, NULL },
                                          { "copy", tape_copy, NULL, NULL } };
    size_t size = tfn_tape_bytes(30);
    void *mem = tape_alloc(size);
    for (size_t i = 0; i < sizeof tape_wrongs / sizeof *tape_wrongs; i++) {
        const tape_wrong *wrong = tape_wrongs + i;
        tfn_tape t;
        tfn_var x, y, w;
        char text[200];
        tape_begin(&t, mem, size, ops);
        w = tfn_param(&t, 8, 8);
        x = tfn_embedding(&t, w, 0, TFN_ROWS_TARGET, 1);
        y = wrong->make(&t, x, w);
        tfn_error_text(&t.error, text, sizeof text);
        if (y.id || t.error.status != wrong->status)
            FAIL("%s: status %d (%s), value %d", wrong->name, (int)t.error.status, text, (int)y.id);
        for (int j = 0; j < 3; j++)
            if (!strstr(text, wrong->words[j]))
                FAIL("%s: \"%s\" lacks \"%s\"", wrong->name, text, wrong->words[j]);
        if (!t.error.status) continue;
        y = tfn_softmax(&t, x);                         /* the first error stays */
        CHECK(!y.id && t.error.status == wrong->status);
        tfn_linear(&t, x, tfn_param(&t, 3, 3), tape_none, TFN_ACTIVATION_RELU);
        CHECK(tfn_tape_plan(&t, tfn_kernels_for(TFN_ISA_BEST), 1) == wrong->status);
        {
            char again[200];
            CHECK(!strcmp(text, tfn_error_text(&t.error, again, sizeof again)));
        }
    }
    free(mem);
}

/* A gradient that reaches an operation without a backward is an error; otherwise it is fine. */
TEST(tape_no_gradient)
{
    static const tfn_custom_op ops[2] = { { "weigh", tape_weigh, tape_weigh_back, NULL },
                                          { "copy", tape_copy, NULL, NULL } };
    size_t size = tfn_tape_bytes(30);
    void *mem = tape_alloc(size);
    char text[200];
    for (int wants = 0; wants < 2; wants++) {
        tfn_tape t;
        tfn_var x, w;
        tape_begin(&t, mem, size, ops);
        w = tfn_param(&t, 8, 8);
        x = wants ? tfn_embedding(&t, w, 0, TFN_ROWS_TARGET, 1) : tfn_input(&t, 0, TFN_ROWS_TARGET,
            8);
        x = tfn_custom(&t, 1, &x, 1, TFN_ROWS_TARGET, 0, 8);
        tfn_linear(&t, x, w, tape_none, TFN_ACTIVATION_IDENTITY);
        CHECK(tfn_tape_plan(&t, tfn_kernels_for(TFN_ISA_BEST), 1)
              == (wants ? TFN_NO_GRADIENT : TFN_OK));
        tfn_error_text(&t.error, text, sizeof text);
        if (wants && (!strstr(text, "copy: ") || !strstr(text, "(node 3")))
            FAIL("\"%s\" does not name the operation", text);
    }
    free(mem);
}

/* A tape in every block up to the needed size: only TFN_NO_MEMORY, with a message. */
TEST(tape_full)
{
    size_t full = tfn_tape_bytes(11);                   /* node 0 and ten more */
    unsigned char *mem = (unsigned char *)tape_alloc(full + 64);
    bool fits = false;
    char text[200];
    for (size_t size = full % 16; size <= full; size += 16) {
        tfn_tape t;
        tfn_var x;
        memset(mem, 0xa5, full + 64);
        tfn_tape_init(&t, mem, size, 2, 4, 5, true);
        x = tfn_embedding(&t, tfn_param(&t, 8, 8), 0, TFN_ROWS_TARGET, 1);
        for (int i = 0; i < 8; i++) x = tfn_softmax(&t, x);
        fits = tfn_tape_plan(&t, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_OK;
        tfn_error_text(&t.error, text, sizeof text);
        if (!fits && (t.error.status != TFN_NO_MEMORY || strlen(text) < 10))
            FAIL("%d bytes: status %d, \"%s\"", (int)size, (int)t.error.status, text);
        for (size_t i = size; i < full + 64; i++)
            if (mem[i] != 0xa5) {
                FAIL("%d bytes: wrote at %d", (int)size, (int)i);
                break;
            }
    }
    CHECK(fits);
    free(mem);
}

/* A tape for training without parameters: its backward has no result, and no error. */
TEST(tape_without_parameters)
{
    enum { ROWS = 2, COLS = 3 };
    static const float logits[ROWS * COLS] = { 1, 2, 3, -1, 0, 1 };
    static const int32_t targets[ROWS] = { 2, 0 };
    size_t size = tfn_tape_bytes(8);
    void *mem = tape_alloc(size);
    float *work;
    tfn_tape t;
    tfn_run r;
    tfn_tape_init(&t, mem, size, 1, 1, ROWS, true);
    tfn_cross_entropy(&t, tfn_input(&t, 0, TFN_ROWS_TARGET, COLS), TFN_INT_TARGETS, 0,
                      TFN_SMOOTHING_UNIFORM);
    CHECK(tfn_tape_plan(&t, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_OK);
    work = (float *)tape_alloc(((size_t)t.work + 1) * sizeof *work);
    memset(&r, 0, sizeof r);
    r.batch = 1;
    r.source = 1;
    r.target = ROWS;
    r.work = work;
    r.inputs[0] = logits;
    r.ints[TFN_INT_TARGETS] = targets;
    CHECK(tfn_tape_forward(&t, &r) == TFN_OK);
    CHECK(tfn_tape_backward(&t, &r) == TFN_OK);
    free(work);
    free(mem);
}

TEST(tape_order)
{
    static const tape_row row = { "softmax", tape_softmax, false };
    tape_case c;
    tfn_run r;
    tape_record(&c, &row, &tape_small, 0);
    memset(&r, 0, sizeof r);
    CHECK(tfn_tape_forward(&c.t, &r) == TFN_NOT_READY);
    CHECK(tfn_tape_backward(&c.t, &r) == TFN_NOT_READY);
    free(c.mem);
    if (!tape_start(&c, &row, &tape_small, 0, tfn_kernels_for(TFN_ISA_BEST), 1)) return;
    r = c.r;
    r.batch++;
    CHECK(tfn_tape_forward(&c.t, &r) == TFN_BAD_BATCH
          && tfn_tape_backward(&c.t, &r) == TFN_BAD_BATCH);
    r = c.r;
    r.target++;
    CHECK(tfn_tape_forward(&c.t, &r) == TFN_BAD_BATCH);
    r = c.r;
    r.source = -1;
    CHECK(tfn_tape_forward(&c.t, &r) == TFN_BAD_BATCH);
    r = c.r;
    r.start = -1;
    CHECK(tfn_tape_forward(&c.t, &r) == TFN_BAD_BATCH);
    r = c.r;
    r.batch = 0;                                        /* nothing to do */
    CHECK(tfn_tape_forward(&c.t, &r) == TFN_OK && tfn_tape_backward(&c.t, &r) == TFN_OK);
    CHECK(!tfn_value(&c.t, &c.r, tape_none) && !tfn_value(&c.t, &c.r, tape_var(1000)));
    tfn_softmax(&c.t, c.y);
    CHECK(c.t.error.status == TFN_NOT_READY);
    tape_end(&c);
    {
        size_t size = tfn_tape_bytes(3);
        void *mem = tape_alloc(size);
        tfn_tape_init(&c.t, mem, size, 1, 1, 1, false);
        CHECK(tfn_tape_plan(&c.t, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_NOT_READY);
        tfn_tape_init(&c.t, NULL, size, 1, 1, 1, false);
        CHECK(c.t.error.status == TFN_NO_MEMORY);
        tfn_tape_init(&c.t, mem, size, INT32_MAX, 1, INT32_MAX, false);
        tfn_input(&c.t, 0, TFN_ROWS_TARGET, INT32_MAX);
        tfn_softmax(&c.t, tape_var(1));
        CHECK(tfn_tape_plan(&c.t, tfn_kernels_for(TFN_ISA_BEST), 1) == TFN_TOO_LARGE);
        free(mem);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof tape_rows / sizeof *tape_rows; i++) {
        char name[64];
        tape_now = tape_rows + i;
        snprintf(name, sizeof name, "tape %s", tape_now->name);
        check_run(name, tape_op);
    }
    RUN(tape_parts);
    RUN(tape_probes);
    RUN(tape_kept);
    RUN(tape_custom);
    RUN(tape_rotary_table);
    RUN(tape_recomputed);
    RUN(tape_linear_in_time);
    RUN(tape_mistakes);
    RUN(tape_no_gradient);
    RUN(tape_full);
    RUN(tape_without_parameters);
    RUN(tape_order);
    return DONE();
}
