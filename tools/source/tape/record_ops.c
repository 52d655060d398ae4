#include "record_ops.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../kernels/packing.h"
#include "tape.h"
#include "op_linear.h"
#include "op_norms.h"
#include "op_attention.h"
#include "op_loss.h"
#include "op_table.h"
#include "record.h"

/* A model is recorded once, so speed does not matter here. */
TFN__RARE

/* -- linear maps and norms ------------------------------------------------------------------- */

/* Returns the function of the gate if the kind is a gated unit, which has two linear maps. Returns
 * other kinds unchanged. */
SHARED tfn_activation_kind tfn__gate_of(tfn_activation_kind act)
{
    switch (act) {
    case TFN_ACTIVATION_GEGLU: return TFN_ACTIVATION_GELU;
    case TFN_ACTIVATION_GEGLU_TANH: return TFN_ACTIVATION_GELU_TANH;
    case TFN_ACTIVATION_SWIGLU: return TFN_ACTIVATION_SILU;
    default: return act;
    }
}
/* Returns the kind for a node: GELU_TANH for the default, others unchanged. */
static int32_t tfn__act_of(tfn_activation_kind act)
{
    if (act == TFN_ACTIVATION_DEFAULT) return (int32_t)TFN_ACTIVATION_GELU_TANH;
    return (int32_t)act;
}
/* Checks that the kind is a function of one value, and that the build keeps it. Otherwise the
 * kernel would write nothing, and later operations would read old contents of the memory. */
static bool tfn__act_ok(tfn_tape *t, const char *op, tfn_activation_kind act)
{
    const bool known = (unsigned)act < TFN_ACTIVATION_COUNT;
    if (!known || tfn__gate_of(act) != act)
        tfn__tape_error(t, TFN_BAD_OPTION, op, "activation %d is not elementwise; %d is",
                        (int32_t)act, TFN_ACTIVATION_GELU_TANH);
    else if (TFN__FUNCTIONS != UINT32_MAX && !(TFN__FUNCTIONS >> tfn__act_of(act) & 1))
        tfn__tape_error(t, TFN_UNSUPPORTED, op, "activation %d is left out by TFNORM_ACTIVATIONS",
                        tfn__act_of(act), 0);
    return t->error.status == TFN_OK;
}

/* Checks that w is a weight with as many inputs as x has channels. A packed weight serves only one
 * of the two maps, x W or x W^T. */
static bool tfn__weight_fits(tfn_tape *t, tfn_var x, tfn_var w, int32_t in, bool transposed)
{
    const tfn_node *xn = tfn__need(t, "linear", x);
    const tfn_node *wn = tfn__need(t, "linear", w);
    const tfn__packed packed = tfn__packed_node(wn);
    if (t->error.status != TFN_OK) return false;
    if (wn->rows != TFN_ROWS_FIXED)
        tfn__bad_shape(t, "linear", "the weight is not a parameter (value %d)", w.id, 0);
    else if (xn->cols != in)
        tfn__bad_shape(t, "linear", "input has %d channels, weight needs %d", xn->cols, in);
    else if (x.id == w.id)
        tfn__bad_shape(t, "linear", "input and weight are one value (%d)", x.id, 0);
    else if (packed.type && packed.table != transposed)
        tfn__bad_shape(t, "linear", "weights of fewer bits: packed for the other direction", 0, 0);
    return t->error.status == TFN_OK;
}

/* Records y = act(x W + b), or with W^T. The backward of ReLU needs only the sign of u = x W + b,
 * which y has, too. The backward of other activations reads u, which a tape that trains saves. */
static tfn_var tfn__linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b, tfn_activation_kind act,
                           bool transposed)
{
    const tfn_node *xn = tfn__need(t, "linear", x);
    const tfn_node *wn = tfn__need(t, "linear", w);
    int32_t in = wn->count;
    int32_t out = wn->cols;
    tfn_node *n;
    if (transposed) {
        in = wn->cols;
        out = wn->count;
    }
    if (act != TFN_ACTIVATION_IDENTITY && !tfn__act_ok(t, "linear", act)) return tfn__none;
    if (!tfn__weight_fits(t, x, w, in, transposed)) return tfn__none;
    if (!tfn__check_optional(t, "linear", b, 1, out)) return tfn__none;
    n = tfn__record(t, TFN__OP_LINEAR, xn->rows, xn->count, out, x, w, b);
    if (!n) return tfn__none;
    n->arg[TFN__LINEAR_ACTIVATION] = tfn__act_of(act);
    n->arg[TFN__LINEAR_TRANSPOSED] = transposed;
    if (act == TFN_ACTIVATION_RELU) n->reads |= TFN__OUT;
    else if (act != TFN_ACTIVATION_IDENTITY && t->training) n->saved_cols = out;
    return tfn__var_of(t, n);
}

TFNORM_API tfn_var tfn_linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b, tfn_activation_kind act)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__linear(t, x, w, b, act, false);
}
/* W^T serves an output that is tied to the embedding, whose table is (words, channels). */
TFNORM_API tfn_var tfn_linear_transposed(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__linear(t, x, w, b, TFN_ACTIVATION_IDENTITY, true);
}

/* Records an operation that keeps the shape of its first input. */
static tfn_node *tfn__map(tfn_tape *t, int op, tfn_var x, tfn_var y, tfn_var z)
{
    const tfn_node *xn = tfn__need(t, tfn__ops[op].name, x);
    return tfn__record(t, op, xn->rows, xn->count, xn->cols, x, y, z);
}
/* The same for operations with one input. */
static tfn_node *tfn__map_one(tfn_tape *t, int op, tfn_var x)
{
    return tfn__map(t, op, x, tfn__none, tfn__none);
}

/* Returns a x. Returns x itself if a is 1, and also after an error, which the tape keeps. */
SHARED tfn_var tfn__multiple(tfn_tape *t, tfn_var x, float a)
{
    tfn_node *n = NULL;
    if (a < 1 || a > 1) n = tfn__map_one(t, TFN__OP_MULTIPLE, x);
    if (!n) return x;
    n->number[0] = a;
    return tfn__var_of(t, n);
}

/* Returns the kind of a norm combined with its flags, as its node stores them. */
static int32_t tfn__norm_kind_and_flags(const tfn_norm_args *like)
{
    int32_t flags = 0;
    if (like->offset) flags |= TFN_FLAG_OFFSET;
    if (like->detach_mean) flags |= TFN_FLAG_DETACH_MEAN;
    if (like->detach_std) flags |= TFN_FLAG_DETACH_STD;
    return (int32_t)like->kind + flags * TFN__NORM_KINDS;
}

/* Checks that this build has the norm, that norms of `cols` channels divide a row, and that groups
 * divide a norm. */
static bool tfn__norm_fits(tfn_tape *t, tfn_var x, int32_t cols, const tfn_norm_args *like)
{
    const tfn_node *xn = tfn__need(t, "norm", x);
    ptrdiff_t groups = tfn__max(like->groups, 1);
    const bool asks = (TFN__ALL || TFN__TRAINS) && t->error.status == TFN_OK;
    if (asks && (cols < 1 || xn->cols % cols))
        tfn__bad_shape(t, "norm", "norms of %d channels do not divide %d channels", cols, xn->cols);
    else if (asks && cols % groups)
        tfn__bad_shape(t, "norm", "a norm of %d channels has no %d groups of equal size", cols,
                       groups);
    else if (like->kind > TFN_NORM_ABSMAX)
        tfn__tape_error(t, TFN_UNSUPPORTED, "norm", "kind %d is not a norm of rows", like->kind, 0);
    else if (like->kind > TFN_NORM_RMS && !TFN__ALL)
        tfn__tape_error(t, TFN_UNSUPPORTED, "norm", tfn__plain_only, 0, 0);
    else if ((TFNORM_NORMS) != UINT32_MAX && !((TFNORM_NORMS) >> like->kind & 1))
        tfn__tape_error(t, TFN_UNSUPPORTED, "norm", "kind %d is left out by TFNORM_NORMS",
                        like->kind, 0);
    return t->error.status == TFN_OK;
}

/* AdaNorm's factor is recorded as an operation of its own. */
TFNORM_API tfn_var tfn_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, int32_t cols,
                            const tfn_norm_args *like)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__given(&t->error, "norm", "like", like)) return tfn__none;
    int32_t groups = (int32_t)tfn__max(like->groups, 1);
    tfn_node *n;
    if (!tfn__norm_fits(t, x, cols, like)) return tfn__none;
    if (!tfn__check_optional(t, "norm", gain, 1, cols)) return tfn__none;
    if (!tfn__check_optional(t, "norm", bias, 1, cols)) return tfn__none;
    n = tfn__map(t, TFN__OP_NORM, x, gain, bias);
    if (!n) return tfn__none;
    n->arg[TFN__NORM_KIND] = (int32_t)like->kind;
    n->arg[TFN__NORM_GROUPS] = 1;
    n->arg[TFN__NORM_COLS] = cols;
    n->number[0] = like->eps;
    if (TFN__TRAINS && t->training) n->saved_cols = 2 * (n->cols / cols) * groups;  /* mean, rstd */
    if (!TFN__ALL) return tfn__var_of(t, n);

    n->arg[TFN__NORM_KIND] = tfn__norm_kind_and_flags(like);
    n->arg[TFN__NORM_GROUPS] = groups;
    n->arg[TFN__NORM_PART] = (int32_t)like->part;
    n->number[1] = like->slope;
    if (like->kind == TFN_NORM_ADA && like->factor > 0)
        return tfn__multiple(t, tfn__var_of(t, n), like->factor);
    return tfn__var_of(t, n);
}

/* Returns the arguments of a norm over all channels of a row, without groups and flags. */
SHARED tfn_norm_args tfn__plain_norm(tfn_norm_kind kind, float eps)
{
    tfn_norm_args like;
    TFNORM_MEMSET(&like, 0, sizeof like);
    like.kind = kind;
    like.eps = eps;
    return like;
}
TFNORM_API tfn_var tfn_layernorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, float eps)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_norm_args like = tfn__plain_norm(TFN_NORM_LAYER, eps);
    return tfn_norm(t, x, gain, bias, tfn__need(t, "norm", x)->cols, &like);
}
/* RMSNorm has no bias, as in Zhang & Sennrich 2019. */
TFNORM_API tfn_var tfn_rmsnorm(tfn_tape *t, tfn_var x, tfn_var gain, float eps)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_norm_args like = tfn__plain_norm(TFN_NORM_RMS, eps);
    return tfn_norm(t, x, gain, tfn__none, tfn__need(t, "norm", x)->cols, &like);
}

/* Returns the kind of rows that a convolution makes: of frames half as many, of these positions.
 * Returns FIXED if the input has neither. */
static int tfn__rows_after_convolution(int rows)
{
    switch (rows) {
    case TFN_ROWS_FRAMES:        return TFN_ROWS_HALF;
    case TFN_ROWS_HALF:          return TFN_ROWS_SOURCE;
    case TFN_ROWS_TARGET_FRAMES: return TFN_ROWS_TARGET_HALF;
    case TFN_ROWS_TARGET_HALF:   return TFN_ROWS_TARGET;
    default:                     return TFN_ROWS_FIXED;
    }
}
TFNORM_API tfn_var tfn_convolution(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "convolution", x);
    const tfn_node *wn = tfn__need(t, "convolution", w);
    int64_t window = 3 * (int64_t)xn->cols;
    const int rows = tfn__rows_after_convolution(xn->rows);
    if (t->error.status != TFN_OK) return tfn__none;
    if (rows == TFN_ROWS_FIXED)
        tfn__bad_shape(t, "convolution", "rows of kind %d are not frames", xn->rows, 0);
    else if (wn->count != window)
        tfn__bad_shape(t, "convolution", "a kernel of %d rows, %d are expected", wn->count, window);
    if (!tfn__check_param(t, "convolution", w, wn->count, wn->cols)) return tfn__none;
    if (!tfn__check_optional(t, "convolution", b, 1, wn->cols)) return tfn__none;
    return tfn__var_of(t, tfn__record(t, TFN__OP_CONV, rows, 1, wn->cols, x, w, b));
}

/* gain, bias, alpha and shift are optional. Their defaults are 1, 0, 1 and 0. */
TFNORM_API tfn_var tfn_squash(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var alpha,
                              tfn_var shift, tfn_squash_kind f)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "pointwise norm", x);
    tfn_node *n;
    tfn__check_optional(t, "pointwise norm", gain, 1, xn->cols);
    tfn__check_optional(t, "pointwise norm", bias, 1, xn->cols);
    tfn__check_optional(t, "pointwise norm", alpha, 1, 1);
    tfn__check_optional(t, "pointwise norm", shift, 1, 1);
    n = tfn__map(t, TFN__OP_POINT, x, gain, bias);
    if (!n) return tfn__none;
    n->in[3] = alpha.id;
    n->in[4] = shift.id;
    n->arg[TFN__POINT_FUNCTION] = (int32_t)f;
    return tfn__var_of(t, n);
}

/* gain, alpha and direction are required. Two numbers a row are saved. */
TFNORM_API tfn_var tfn_seednorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var alpha,
                                tfn_var direction, float eps)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "SeeDNorm", x);
    tfn_node *n;
    if (!tfn__check_param(t, "SeeDNorm", gain, 1, xn->cols)) return tfn__none;
    if (!tfn__check_param(t, "SeeDNorm", alpha, 1, xn->cols)) return tfn__none;
    if (!tfn__check_param(t, "SeeDNorm", direction, 1, xn->cols)) return tfn__none;
    n = tfn__map(t, TFN__OP_SEED, x, gain, alpha);
    if (!n) return tfn__none;
    n->in[3] = direction.id;
    n->number[0] = eps;
    if (t->training) n->saved_cols = 2;
    return tfn__var_of(t, n);
}

/* Normalizes each channel over all positions of a batch. `running` is a buffer (2, C) of statistics
 * for evaluation: mean and variance, or PowerNorm's mean square and nu. */
SHARED tfn_var tfn__batch_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var running,
                               tfn_norm_kind kind, int32_t warmup, float eps)
{
    tfn_node *n;
    const tfn_node *xn = tfn__need(t, "batch norm", x);
    /* training computes statistics, which exclude padding, so it needs positions of sentences */
    if (t->training && !tfn__has_time(t, "batch norm", xn)) return tfn__none;
    n = tfn__map(t, TFN__OP_COLUMNS, x, gain, bias);
    if (!n) return tfn__none;
    n->in[3] = running.id;
    n->arg[TFN__BATCH_KIND] = (int32_t)kind;
    n->arg[TFN__BATCH_WARMUP] = warmup;
    n->number[0] = eps;
    if (t->training) {
        n->saved_cols = 4 * n->cols;
        n->flags |= TFN__BATCH_STATISTICS;
    }
    return tfn__var_of(t, n);
}

/* -- elementwise operations ------------------------------------------------------------------ */

/* The softmax is over all columns of a row. */
TFNORM_API tfn_var tfn_softmax(tfn_tape *t, tfn_var x)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__var_of(t, tfn__map_one(t, TFN__OP_SOFTMAX, x));
}

/* Prefer the activation of tfn_linear where it fits: it saves a pass over memory. */
TFNORM_API tfn_var tfn_activation(tfn_tape *t, tfn_var x, tfn_activation_kind act)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__act_ok(t, "activation", act)) return tfn__none;
    return tfn__var_with(t, tfn__map_one(t, TFN__OP_ACTIVATE, x), tfn__act_of(act), 0);
}

/* exp(min(x, ln 100)) */
SHARED tfn_var tfn__exp_capped_of(tfn_tape *t, tfn_var x)
{
    return tfn__var_of(t, tfn__map_one(t, TFN__OP_EXP_CAPPED, x));
}

/* Returns what relative positions add to scores, for each head and each of `span` distances, from
 * the numbers of their buckets (buckets, H). The middle distance is 0. */
SHARED tfn_var tfn__relative_of(tfn_tape *t, tfn_var numbers, int32_t span, int32_t distance,
                                bool both)
{
    const int32_t heads = tfn__need(t, "relative positions", numbers)->cols;
    tfn_node *n = tfn__record(t, TFN__OP_RELATIVE, TFN_ROWS_BATCH, 1, heads * span, numbers,
                              tfn__none, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__RELATIVE_DISTANCE] = distance;
    n->arg[TFN__RELATIVE_BOTH] = both;
    return tfn__var_of(t, n);
}

/* |x| */
SHARED tfn_var tfn__magnitude(tfn_tape *t, tfn_var x)
{
    return tfn__var_of(t, tfn__map_one(t, TFN__OP_MAGNITUDE, x));
}

/* max(-limit, min(x, limit)) */
SHARED tfn_var tfn__clamp(tfn_tape *t, tfn_var x, float limit)
{
    tfn_node *n = tfn__map_one(t, TFN__OP_CLAMP, x);
    if (!n) return tfn__none;
    n->number[0] = limit;
    return tfn__var_of(t, n);
}

/* gate and up must be different values, because the kernel stores a gradient for each. */
TFNORM_API tfn_var tfn_glu(tfn_tape *t, tfn_var gate, tfn_var up, tfn_activation_kind act)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *gn = tfn__need(t, "gated unit", gate);
    const tfn_node *un = tfn__need(t, "gated unit", up);
    if (gate.id == up.id)
        return tfn__bad_shape(t, "gated unit", "gate and up are one value (%d)", gate.id, 0);
    if (!tfn__act_ok(t, "gated unit", act)) return tfn__none;
    if (!tfn__same_shape(t, "gated unit", gn, un)) return tfn__none;
    return tfn__var_with(t, tfn__map(t, TFN__OP_GATED, gate, up, tfn__none), tfn__act_of(act), 0);
}

/* a x + b y. x and y may be one value: then the backward stores its first gradient and adds the
 * second. */
TFNORM_API tfn_var tfn_add(tfn_tape *t, tfn_var x, tfn_var y, float a, float b)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "add", x);
    const tfn_node *yn = tfn__need(t, "add", y);
    tfn_node *n;
    if (!tfn__same_shape(t, "add", xn, yn)) return tfn__none;
    n = tfn__map(t, TFN__OP_ADD, x, y, tfn__none);
    if (!n) return tfn__none;
    n->number[0] = a;
    n->number[1] = b;
    return tfn__var_of(t, n);
}

/* `by` has one number, one for each group of adjacent channels, or one for each channel. */
TFNORM_API tfn_var tfn_scale(tfn_tape *t, tfn_var x, tfn_var by)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "scale", x);
    int32_t groups = tfn__need(t, "scale", by)->cols;
    if (groups < 1 || xn->cols % groups != 0) groups = xn->cols;      /* for the error */
    if (!tfn__check_param(t, "scale", by, 1, groups)) return tfn__none;
    return tfn__var_of(t, tfn__map(t, TFN__OP_SCALE, x, by, tfn__none));
}

/* gamma/sigma W, gamma (1, 1), sigma = u^T W v with buffers u (1, in), v (1, out) */
SHARED tfn_var tfn__reparameterized(tfn_tape *t, tfn_var w, tfn_var gamma, tfn_var u, tfn_var v)
{
    const tfn_node *wn = tfn__need(t, "sigma", w);
    tfn_var sigma;
    if (!tfn__check_param(t, "sigma", gamma, 1, 1)) return tfn__none;
    if (!tfn__check_param(t, "sigma", u, 1, wn->count)) return tfn__none;
    if (!tfn__check_param(t, "sigma", v, 1, wn->cols)) return tfn__none;
    sigma = tfn__var_of(t, tfn__record(t, TFN__OP_SIGMA, TFN_ROWS_FIXED, 1, 1, w, u, v));
    return tfn__var_of(t, tfn__map(t, TFN__OP_RESCALE, w, gamma, sigma));
}

/* min(1, t/steps) x. `updates` is the buffer (1, 1) that holds t. */
SHARED tfn_var tfn__ramp(tfn_tape *t, tfn_var x, tfn_var updates, float steps)
{
    return tfn__var_with(t, tfn__map(t, TFN__OP_RAMP, x, updates, tfn__none), 0, steps);
}

/* x + a by. `by` has one number, or one for each channel. */
TFNORM_API tfn_var tfn_shift(tfn_tape *t, tfn_var x, tfn_var by, float a)
{
    if (!tfn__recording(t)) return tfn__none;
    int32_t cols = tfn__need(t, "shift", x)->cols;
    if (tfn__need(t, "shift", by)->cols == 1) cols = 1;
    if (!tfn__check_param(t, "shift", by, 1, cols)) return tfn__none;
    return tfn__var_with(t, tfn__map(t, TFN__OP_SHIFT, x, by, tfn__none), 0, a);
}

/* z + column k of w times x. A sum of layers is a chain of these nodes: each adds a term to the z
 * of the one before. */
TFNORM_API tfn_var tfn_mix(tfn_tape *t, tfn_var z, tfn_var x, tfn_var w, int32_t k)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *wn = tfn__need(t, "mix", w);
    const tfn_node *xn = tfn__need(t, "mix", x);
    if (k < 0 || k >= wn->cols) tfn__bad_shape(t, "mix", "weight %d, there are %d", k, wn->cols);
    if (!tfn__check_param(t, "mix", w, wn->count, wn->cols)) return tfn__none;
    if (wn->count > xn->cols)
        tfn__bad_shape(t, "mix", "%d groups of weights, there are %d channels", wn->count,
                       xn->cols);
    if (z.id && !tfn__same_shape(t, "mix", xn, tfn__need(t, "mix", z))) return tfn__none;
    return tfn__var_with(t, tfn__map(t, TFN__OP_MIX, x, w, z), k, 0);
}

/* GPAS's gate. q is one learned number, a parameter (1, 1). */
TFNORM_API tfn_var tfn_gate(tfn_tape *t, tfn_var x, tfn_var q)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__check_param(t, "gate", q, 1, 1)) return tfn__none;
    return tfn__var_of(t, tfn__map(t, TFN__OP_GATE, x, q, tfn__none));
}

static bool tfn__is_rate(float p) { return p >= 0 && p < 1; }           /* false for NaN */

/* Evaluation has no dropout. The mask depends on the site, which counts the dropouts of a tape, so
 * other nodes may be added without changing the mask. */
TFNORM_API tfn_var tfn_dropout(tfn_tape *t, tfn_var x, float p)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_node *n;
    if (!tfn__is_rate(p))
        return tfn__tape_error(t, TFN_BAD_OPTION, "dropout", "the rate is not in [0, 1)", 0, 0);
    if (!TFN__TRAINS || !t->training || p <= 0) return x;
    n = tfn__map_one(t, TFN__OP_DROPOUT, x);
    if (!n) return tfn__none;
    n->number[0] = p;
    n->site = ++t->site;
    return tfn__var_of(t, n);
}

/* -- embeddings and positions ---------------------------------------------------------------- */

TFNORM_API tfn_var tfn_embedding(tfn_tape *t, tfn_var table, int32_t slot, tfn_rows rows,
                                 float scale)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *w = tfn__need(t, "embedding", table);
    tfn_node *n;
    if (!tfn__slot_ok(t, "embedding", slot)) return tfn__none;
    if (!tfn__check_param(t, "embedding", table, w->count, w->cols)) return tfn__none;
    n = tfn__record(t, TFN__OP_EMBED, (int)rows, 1, w->cols, table, tfn__none, tfn__none);
    return tfn__var_with(t, n, slot, scale);
}

/* Returns the most positions that a sentence can have in values with these rows. */
static int32_t tfn__capacity_of(const tfn_tape *t, int rows)
{
    if (rows == TFN_ROWS_SOURCE) return t->source;
    if (rows == TFN_ROWS_TARGET) return t->target;
    return 1;
}

/* Records an operation on x and a table with a row of `cols` numbers for each position. */
static tfn_var tfn__positional(tfn_tape *t, int op, tfn_var x, tfn_var table, int32_t cols)
{
    const char *name = tfn__ops[op].name;
    const tfn_node *xn = tfn__need(t, name, x);
    const tfn_node *w = tfn__need(t, name, table);
    int32_t positions = tfn__capacity_of(t, xn->rows);
    if (!tfn__has_time(t, name, xn)) return tfn__none;
    if (w->count < positions)
        tfn__bad_shape(t, name, "the table has %d positions, %d are expected", w->count, positions);
    if (!tfn__check_param(t, name, table, w->count, cols)) return tfn__none;
    return tfn__var_of(t, tfn__map(t, op, x, table, tfn__none));
}

/* The table has sinusoids, which have no gradient, or is a learned parameter. */
TFNORM_API tfn_var tfn_position(tfn_tape *t, tfn_var x, tfn_var table)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__positional(t, TFN__OP_POSITION, x, table, tfn__need(t, "position", x)->cols);
}

/* The table has a row of head_size numbers for each position, shared by all heads. */
TFNORM_API tfn_var tfn_rotary(tfn_tape *t, tfn_var x, tfn_var table, int32_t head_size)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_var y = tfn__none;
    int32_t cols = tfn__need(t, "rotary", x)->cols;
    if (head_size < 2 || head_size % 2 || cols % head_size)
        tfn__bad_shape(t, "rotary", "the head size %d is odd or does not divide %d", head_size,
                       cols);
    y = tfn__positional(t, TFN__OP_ROTARY, x, table, head_size);
    if (y.id) tfn__node_at(t, y.id)->arg[TFN__ROTARY_HEAD_SIZE] = head_size;
    return y;
}

/* Records one row of each sentence: y (B, C). */
static tfn_var tfn__row_of_each(tfn_tape *t, int op, tfn_var x)
{
    const char *name = tfn__ops[op].name;
    const tfn_node *xn = tfn__need(t, name, x);
    if (!tfn__has_time(t, name, xn)) return tfn__none;
    return tfn__var_of(t, tfn__record(t, op, TFN_ROWS_BATCH, 1, xn->cols, x, tfn__none, tfn__none));
}
/* y (B, C) has one row for each sentence. */
TFNORM_API tfn_var tfn_first_rows(tfn_tape *t, tfn_var x)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__row_of_each(t, TFN__OP_FIRST, x);
}
/* Records the last position of each sentence, for a decoder. It needs logits only there, and has no
 * padding. */
SHARED tfn_var tfn__last(tfn_tape *t, tfn_var x) { return tfn__row_of_each(t, TFN__OP_LAST, x); }

/* -- attention and loss ---------------------------------------------------------------------- */

/* Checks that heads divide the channels, and key/value heads the heads. */
static bool tfn__heads_fit(tfn_tape *t, int32_t cols, int32_t kv_cols, int32_t heads, int32_t kv)
{
    if (heads < 1 || kv < 1 || heads % kv)
        tfn__bad_shape(t, "attention", "%d heads cannot share %d key/value heads", heads, kv);
    else if (cols % heads)
        tfn__bad_shape(t, "attention", "%d channels do not split into %d heads", cols, heads);
    else if (kv_cols != cols / heads * kv)
        tfn__bad_shape(t, "attention", "keys have %d channels, %d are expected", kv_cols,
                       cols / heads * kv);
    return t->error.status == TFN_OK;
}

/* Checks that q, k and v are three different values, because the backward writes a gradient for
 * each. */
static bool tfn__three_values(tfn_tape *t, tfn_var q, tfn_var k, tfn_var v)
{
    int32_t twice = -1;
    if (q.id == v.id || k.id == v.id) twice = v.id;
    if (q.id == k.id) twice = q.id;
    if (twice < 0) return true;
    tfn__bad_shape(t, "attention", "q, k and v must be three values (%d appears twice)", twice, 0);
    return false;
}

TFNORM_API tfn_var tfn_attention(tfn_tape *t, tfn_var q, tfn_var k, tfn_var v, int32_t heads,
                                 int32_t kv_heads, bool causal, int32_t lengths, float dropout)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *qn = tfn__need(t, "attention", q);
    const tfn_node *kn = tfn__need(t, "attention", k);
    const tfn_node *vn = tfn__need(t, "attention", v);
    tfn_node *n;
    if (!tfn__three_values(t, q, k, v)) return tfn__none;
    if (!tfn__same_shape(t, "attention", kn, vn)) return tfn__none;
    if (!tfn__heads_fit(t, qn->cols, kn->cols, heads, kv_heads)) return tfn__none;
    if (lengths >= 0 && !tfn__slot_ok(t, "attention", lengths)) return tfn__none;
    if (!tfn__is_rate(dropout))
        return tfn__tape_error(t, TFN_BAD_OPTION, "attention", "the dropout is not in [0, 1)", 0,
                               0);
    if (TFN__TRAINS && !TFN__DROPS && t->training && dropout > 0)
        return tfn__tape_error(t, TFN_UNSUPPORTED, "attention", tfn__no_dropout, 0, 0);
    n = tfn__map(t, TFN__OP_ATTEND, q, k, v);
    if (!n) return tfn__none;
    n->arg[TFN__ATTEND_HEADS] = heads;
    n->arg[TFN__ATTEND_KV_HEADS] = kv_heads;
    if (causal) n->arg[TFN__ATTEND_WINDOW] = INT32_MAX;
    n->arg[TFN__ATTEND_LENGTHS] = (int32_t)tfn__max(lengths, -1);
    if (t->training) n->number[0] = dropout;
    n->site = ++t->site;
    n->saved_cols = 2 * heads;                          /* maximum and sum of each softmax */
    return tfn__var_of(t, n);
}

/* Records a cache of keys and values with `cols` channels each, at the end of the state so far. */
static tfn_var tfn__cache_of(tfn_tape *t, int op, tfn_var k, tfn_var v, int32_t cols,
                             int32_t kv_heads, int32_t capacity)
{
    int64_t floats = (int64_t)2 * t->batch * cols * capacity;
    tfn_node *n = tfn__record(t, op, TFN_ROWS_FIXED, 0, cols, k, v, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__CACHE_KV_HEADS] = kv_heads;
    n->arg[TFN__CACHE_CAPACITY] = capacity;
    n->arg[TFN__CACHE_PLACE] = (int32_t)(t->state / TFN__CACHE_ALIGN);
    if (TFN__PACKS) n->arg[TFN__CACHE_TYPE] = (int32_t)t->cache_type;
    if (TFN__PACKS && t->cache_type) floats /= 2;
    t->state += (floats + TFN__CACHE_ALIGN - 1) / TFN__CACHE_ALIGN * TFN__CACHE_ALIGN;
    return tfn__var_of(t, n);
}
/* Appends the rows of k and v to the cache. */
SHARED tfn_var tfn__cache_rows(tfn_tape *t, tfn_var k, tfn_var v, int32_t cols, int32_t kv_heads,
                               int32_t capacity)
{
    return tfn__cache_of(t, TFN__OP_CACHE, k, v, cols, kv_heads, capacity);
}
/* The encoder's tape stores the keys and values of the memory. The decoder's tape refers to them
 * with tfn__cache_memory. */
SHARED tfn_var tfn__cache_encoded(tfn_tape *t, tfn_var k, tfn_var v, int32_t cols,
                                  int32_t kv_heads, int32_t capacity)
{
    return tfn__cache_of(t, TFN__OP_ENCODED, k, v, cols, kv_heads, capacity);
}
SHARED tfn_var tfn__cache_memory(tfn_tape *t, int32_t cols, int32_t kv_heads, int32_t capacity)
{
    return tfn__cache_of(t, TFN__OP_MEMORY, tfn__none, tfn__none, cols, kv_heads, capacity);
}
/* Records attention of q to a cache. `lengths` is a slot, or -1 if every key counts. */
SHARED tfn_var tfn__attend_cached(tfn_tape *t, tfn_var q, tfn_var cache, int32_t heads,
                                  int32_t lengths)
{
    tfn_node *n = tfn__map_one(t, TFN__OP_CACHED, q);
    if (!n) return tfn__none;
    n->arg[TFN__CACHED_HEADS] = heads;
    n->arg[TFN__CACHED_CACHE] = cache.id;
    n->arg[TFN__CACHED_LENGTHS] = lengths;
    return tfn__var_of(t, n);
}

/* Returns the loss of each row, in nats, 0 for padding. The tape remembers the slot: without
 * targets there, a forward gives only logits, and a backward is an error. */
TFNORM_API tfn_var tfn_cross_entropy(tfn_tape *t, tfn_var logits, int32_t slot, float smoothing,
                                     int32_t kind)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *x = tfn__need(t, "cross-entropy", logits);
    tfn_node *n;
    if (!tfn__slot_ok(t, "cross-entropy", slot)) return tfn__none;
    t->targets_read |= UINT32_C(1) << slot;
    if (!tfn__is_rate(smoothing))
        return tfn__tape_error(t, TFN_BAD_OPTION, "cross-entropy", "the smoothing is not in [0, 1)",
                               0, 0);
    n = tfn__record(t, TFN__OP_LOSS, x->rows, x->count, 1, logits, tfn__none, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__LOSS_SLOT] = slot;
    n->arg[TFN__LOSS_KIND] = kind;
    n->number[0] = smoothing;
    n->saved_cols = TFN__LOSS_SAVED;
    return tfn__var_of(t, n);
}

/* Returns one number a row, also for padding. A head of numbers has no padding, because it has a
 * row for each sentence. The tape remembers the slot, as for cross-entropy. */
TFNORM_API tfn_var tfn_number_loss(tfn_tape *t, tfn_var x, int32_t slot, tfn_number_loss_kind kind,
                                   float delta)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *in = tfn__need(t, "number loss", x);
    const bool huber = kind == TFN_NUMBER_LOSS_HUBER;
    tfn_node *n;
    if (!tfn__slot_ok(t, "number loss", slot)) return tfn__none;
    if ((unsigned)kind >= TFN_NUMBER_LOSS_COUNT)
        return tfn__tape_error(t, TFN_BAD_OPTION, "number loss", "kind %d, there are %d",
                               (int32_t)kind, TFN_NUMBER_LOSS_COUNT);
    if (huber && !(delta > 0 && delta - delta == 0))
        return tfn__tape_error(t, TFN_BAD_OPTION, "number loss", "delta is not above 0", 0, 0);
    t->numbers_read |= UINT32_C(1) << slot;
    n = tfn__record(t, TFN__OP_NUMBERS, in->rows, in->count, 1, x, tfn__none, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__LOSS_SLOT] = slot;
    n->arg[TFN__LOSS_KIND] = (int32_t)kind;
    n->number[0] = delta;
    return tfn__var_of(t, n);
}

/* Sets a user's loss to 0 in rows without a target. The gradient starts at 1 in all rows, and also
 * becomes 0 there. */
TFNORM_API tfn_var tfn_mask_targets(tfn_tape *t, tfn_var x, int32_t slot)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *in = tfn__need(t, "targets", x);
    tfn_node *n;
    if (!tfn__slot_ok(t, "targets", slot)) return tfn__none;
    if (in->cols != 1)
        return tfn__bad_shape(t, "targets", "a loss has %d columns, %d is expected", in->cols, 1);
    t->targets_read |= UINT32_C(1) << slot;
    n = tfn__record(t, TFN__OP_TARGETS, in->rows, in->count, 1, x, tfn__none, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__LOSS_SLOT] = slot;
    return tfn__var_of(t, n);
}

/* -- the user's operations, and properties of single values ---------------------------------- */

/* The caller chooses the shape of the result. Inputs may be any values. */
TFNORM_API tfn_var tfn_custom(tfn_tape *t, int32_t index, const tfn_var *in, int32_t count,
                              tfn_rows rows, int32_t fixed, int32_t cols)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_node *n;
    if (index < 0 || index >= t->customs)
        return tfn__tape_error(t, TFN_BAD_OPTION, "custom", "operation %d, the tape has %d", index,
                               t->customs);
    if (count < 0 || count > TFN_INPUTS)
        return tfn__bad_shape(t, "custom", "%d inputs, the limit is %d", count, TFN_INPUTS);
    if (!tfn__given(&t->error, "custom", "tape.custom", t->custom)) return tfn__none;
    if (count && !tfn__given(&t->error, "custom", "in", in)) return tfn__none;
    for (int32_t i = 0; i < count; i++) tfn__need(t, t->custom[index].name, in[i]);
    n = tfn__record(t, TFN__OP_CUSTOM, (int)rows, fixed, cols, tfn__none, tfn__none, tfn__none);
    if (!n) return tfn__none;
    for (int32_t i = 0; i < count; i++) n->in[i] = in[i].id;
    n->arg[TFN__CUSTOM_INDEX] = index;
    return tfn__var_of(t, n);
}

/* A probe is a node, so that the timeline has the time of its callback. */
TFNORM_API void tfn_probe(tfn_tape *t, tfn_var x, int32_t id)
{
    if (!tfn__recording(t)) return;
    tfn_node *n;
    tfn__need(t, "probe", x);
    n = tfn__record(t, TFN__OP_PROBE, TFN_ROWS_FIXED, 0, 0, x, tfn__none, tfn__none);
    if (!n) return;
    n->arg[TFN__PROBE_ID] = id;
    tfn__node_at(t, x.id)->flags |= TFN__PROBED;
}
/* With the flag, the plan lets value and gradient live to the end of the run. */
TFNORM_API void tfn_keep(tfn_tape *t, tfn_var x)
{
    if (!tfn__recording(t)) return;
    tfn__need(t, "keep", x);
    if (t->error.status == TFN_OK) tfn__node_at(t, x.id)->flags |= TFN__KEEP;
}
/* Nodes recorded from here on belong to the segment. */
TFNORM_API void tfn_recompute(tfn_tape *t, int32_t segment)
{
    if (tfn__recording(t)) t->segment = segment;
}
TFN__RARE_END
