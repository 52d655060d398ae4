#include "joins.h"
#include "../ground/math.h"
#include "../kernels/packing.h"
#include "../tape/tape.h"
#include "../tape/record.h"
#include "../tape/record_ops.h"
#include "method_tables.h"
#include "options.h"
#include "resolve.h"

TFN__RARE

/* -- linear maps ------------------------------------------------------------------------------ */

/* True if the linear maps of this place are gamma/sigma W. A folded model has multiplied the factor
 * into W. Places at the ends of a model follow the stack next to them. */
static bool tfn__reparameterizes(const tfn_model_desc *d, tfn__spot at)
{
    tfn__spot stack = tfn__last_stack(d);
    if (at.stack != TFN__NO_STACK) stack = tfn__spot_of_stack(at.stack);
    return !tfn__is_folded(d) && tfn__has(d, stack, TFN_TOPOLOGY_SIGMA_REPARAM);
}

/* Returns the matrix w (in, out) as its linear map reads it: unchanged, or gamma/sigma w, where
 * sigma estimates its largest singular value (sigmaReparam, Zhai 2023). */
SHARED tfn_var tfn__read_matrix(tfn__builder *b, tfn__spot at, tfn_var w, int part, int32_t in,
                                int32_t out)
{
    tfn_var gamma;
    tfn_var u;
    tfn_var v;
    if (!tfn__reparameterizes(b->d, at)) return w;
    gamma = tfn__weight_of(b, at, part, TFN__GAMMA, 1, 1, 1);
    u = tfn__weight_of(b, at, part, TFN__SIGMA_U, 1, in, 0);
    v = tfn__weight_of(b, at, part, TFN__SIGMA_V, 1, out, 0);
    return tfn__reparameterized(b->t, w, gamma, u, v);
}

/* Returns y + alpha/r (x A) B for a linear map y of x that has LoRA, otherwise y. In the flat
 * vector, A and B follow the map's other weights. */
SHARED tfn_var tfn__add_lora(tfn__builder *b, tfn__spot at, tfn_var y, tfn_var x, int part,
                             int32_t in, int32_t out)
{
    const int group = tfn__lora_group(b->d, at, part);
    const tfn_group *g;
    tfn_var a;
    tfn_var by;
    if (group < 0) return y;
    g = b->d->groups + group;
    a = tfn__weight_of(b, at, part, TFN__LORA_A, in, g->rank, 0);
    by = tfn__weight_of(b, at, part, TFN__LORA_B, g->rank, out, 0);
    x = tfn_linear(b->t, x, a, tfn__none, TFN_ACTIVATION_IDENTITY);
    x = tfn_linear(b->t, x, by, tfn__none, TFN_ACTIVATION_IDENTITY);
    return tfn_add(b->t, y, x, 1, g->alpha / (float)g->rank);
}

/* Records act(x W + b), x (rows, in), W (in, out). The weights are made in the order of the flat
 * vector: matrix, bias, parts of sigma. The activation becomes a node of its own if something else
 * needs the sum: LSUV probes it, half precision rounds it, LoRA adds to it. */
SHARED tfn_var tfn__apply_linear(tfn__builder *b, tfn__spot at, tfn_var x, int part, int32_t in,
                                 int32_t out, tfn_activation_kind act)
{
    const bool watched = tfn__needs_unit_variance(b->d);
    tfn_var w = tfn__matrix_at(b, at, part, in, out, false);
    tfn_var bias = tfn__none;
    tfn_var y;
    if (tfn__biased(b->d, at, part)) bias = tfn__weight_of(b, at, part, TFN__BIAS, 1, out, 0);
    w = tfn__read_matrix(b, at, w, part, in, out);
    if (TFN__ALL && part == TFN__PART_PROJECT_IN) b->map = w;
    if (!tfn__is_half(b->d) && !watched && tfn__lora_group(b->d, at, part) < 0)
        return tfn_linear(b->t, x, w, bias, act);

    y = tfn_linear(b->t, x, w, bias, TFN_ACTIVATION_IDENTITY);
    if (b->t->training && watched) tfn__probe_output(b, at, part, y);
    y = tfn__add_lora(b, at, y, x, part, in, out);
    if (act == TFN_ACTIVATION_IDENTITY) return y;
    return tfn_activation(b->t, y, act);
}

/* -- norms and their parameters -------------------------------------------------------------- */

/* Returns the model's eps if it has one, or the norm's, or 1e-5. */
SHARED float tfn__eps_of(const tfn_model_desc *d, const tfn_norm_rule *norm)
{
    return tfn__positive_or(d->norm_eps, tfn__positive_or(norm->eps, (float)1e-5));
}

/* Returns the eps of the norm `part`. ResiDual's second stream is small and needs a small eps. A
 * folded skip a x has divided the sum by a, so the variance and eps are divided by a^2. */
static float tfn__eps_at(const tfn_model_desc *d, tfn__spot at, const tfn_norm_rule *norm,
                         int part)
{
    float eps = tfn__eps_of(d, norm);
    if (part == TFN__PART_FINAL_NORM && tfn__has(d, at, TFN_TOPOLOGY_SIDE_STREAM))
        return (float)1e-7;
    if (part == TFN__PART_NORM && tfn__folds_skip(d, at)) {
        const tfn_scale_rule skip = tfn__join_at(d, at).skip;
        const float a = tfn__rule_value(d, &skip, at);
        eps /= a * a;
    }
    return eps;
}

/* Records two running statistics in one buffer (2, cols): mean and variance, which start at 0 and
 * 1, or PowerNorm's mean square and nu, which start at 1 and 0. They are two weights with names of
 * their own, without a gap between them. */
static tfn_var tfn__running_of(tfn__builder *b, tfn__spot at, int part, int32_t cols, bool power)
{
    const int first = power ? TFN__SQUARE : TFN__MEAN;
    const tfn__weight *w = tfn__known_weight(b, at, part, first);
    if (!w) {
        const tfn__packed shape = { TFN_WEIGHTS_FLOAT, false, 1, cols };
        const int64_t begin = b->buffers;
        w = tfn__new_weight(b, at, part, first, &shape, (float)power);
        b->buffers = begin + cols;
        tfn__new_weight(b, at, part, first + 1, &shape, (float)!power);
        b->buffers = begin + tfn__padded(2 * (int64_t)cols);
    }
    if (!w) return tfn__none;
    return tfn__buffer_at(b->t, 2, cols, w->at);
}

/* Records BatchNorm, or PowerNorm after an RMSNorm of each head. A norm whose affine part folds
 * disappears, because its statistics are then constants. */
static tfn_var tfn__batch_norm_of(tfn__builder *b, tfn__spot at, tfn_var x, int part, tfn_var gain,
                                  tfn_var bias, const tfn_norm_rule *norm)
{
    const int32_t cols = tfn__need(b->t, "norm", x)->cols;
    const bool power = norm->kind == TFN_NORM_POWER;
    tfn_norm_args groups = tfn__plain_norm(TFN_NORM_RMS, tfn__eps_of(b->d, norm));
    tfn_var running;
    groups.groups = 1;
    if (cols % b->d->heads == 0) groups.groups = b->d->heads;
    if (power) x = tfn_norm(b->t, x, tfn__none, tfn__none, cols, &groups);
    if (tfn__folds_norm(b->d, at, part)) return x;
    running = tfn__running_of(b, at, part, cols, power);
    return tfn__batch_norm(b->t, x, gain, bias, running, norm->kind, (int32_t)b->d->norm_warmup,
                           groups.eps);
}

/* Returns the arguments of a norm of rows. LayerNorm becomes RMSNorm where it reads a centred
 * stream. */
static tfn_norm_args tfn__norm_args_of(const tfn_model_desc *d, tfn__spot at,
                                       const tfn_norm_rule *norm, int part, int32_t cols,
                                       bool folds)
{
    const bool reads_stream = part == TFN__PART_NORM_IN || part == TFN__PART_FINAL_NORM;
    tfn_norm_args n = tfn__plain_norm(norm->kind, tfn__eps_at(d, at, norm, part));
    if (!TFN__ALL) return n;
    if (reads_stream && tfn__centred(d)) n.kind = TFN_NORM_RMS;
    if (!tfn__norm_has(norm, TFN_FLAG_PLAIN)) {
        n.slope = (float)0.1;                            /* AdaNorm's k */
        n.factor = d->norm_factor;                       /* AdaNorm's C */
    }
    n.offset = tfn__norm_has(norm, TFN_FLAG_OFFSET) && !folds;
    n.detach_mean = tfn__norm_has(norm, TFN_FLAG_DETACH_MEAN);
    n.detach_std = tfn__norm_has(norm, TFN_FLAG_DETACH_STD);
    if (tfn__norm_has(norm, TFN_FLAG_BY_HEAD)) n.groups = d->heads;
    if (norm->part > 0) n.part = tfn__max((int32_t)(norm->part * (float)cols), 1);
    return n;
}

/* True for norms that are not norms of rows. They follow those in the list of kinds. */
static bool tfn__is_other_norm(const tfn_norm_rule *norm)
{
    return TFN__ALL && norm->kind > TFN_NORM_ABSMAX;
}

/* Records a norm that learns more than gain and bias: a squash has an alpha and perhaps a shift,
 * SeeDNorm two vectors, and norms over the batch have running statistics. */
static tfn_var tfn__other_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part, tfn_var gain,
                               tfn_var bias, const tfn_norm_rule *norm)
{
    const int32_t cols = tfn__need(b->t, "norm", x)->cols;
    tfn_var alpha;
    tfn_var shift = tfn__none;
    tfn_var direction;
    if (norm->kind == TFN_NORM_POINT) {
        alpha = tfn__weight_of(b, at, part, TFN__ALPHA, 1, 1, (float)0.5);
        if (tfn__norm_has(norm, TFN_FLAG_SHIFT))
            shift = tfn__weight_of(b, at, part, TFN__SHIFT, 1, 1, 0);
        return tfn_squash(b->t, x, gain, bias, alpha, shift, norm->squash);
    }
    if (norm->kind == TFN_NORM_SEED) {
        alpha = tfn__weight_of(b, at, part, TFN__ALPHA, 1, cols, 1);
        direction = tfn__weight_of(b, at, part, TFN__DIRECTION, 1, cols, 0);
        return tfn_seednorm(b->t, x, gain, alpha, direction, tfn__eps_of(b->d, norm));
    }
    return tfn__batch_norm_of(b, at, x, part, gain, bias, norm);
}

/* Returns the start of a gain: 1, or 0 if the norm adds 1 to it. Zero gamma subtracts 1 in the norm
 * after a branch. */
static float tfn__gain_start(const tfn_model_desc *d, const tfn_norm_rule *norm, int part)
{
    float start = 1;
    if (!TFN__ALL) return start;
    if (tfn__norm_has(norm, TFN_FLAG_OFFSET)) start = 0;
    if (part == TFN__PART_NORM_BRANCH && tfn__init_row(d)->zero_branch) start -= 1;
    return start;
}

/* Normalizes each group of `cols` columns of x; `whole`: these are all. For heads, LayerNorm
 * replaces a norm that is not a norm of rows. The order of recording is gain, bias, other
 * parameters, the norm, ScaleNorm's scalar. */
static tfn_var tfn__apply_norm_of(tfn__builder *b, tfn__spot at, tfn_var x, int part, int32_t cols,
                                  bool whole)
{
    const bool folds = whole && tfn__folds_norm(b->d, at, part);
    const tfn_norm_rule *norm = tfn__norm_rule_of(b->d, at);
    tfn_var gain = tfn__none;
    tfn_var bias = tfn__none;
    tfn_norm_args args;
    if (!whole && tfn__is_other_norm(norm)) norm = tfn__norms;
    if ((norm->flags & TFN_FLAG_GAIN) && !folds)
        gain = tfn__gain_at(b, at, part, cols, tfn__gain_start(b->d, norm, part));
    if ((norm->flags & TFN_FLAG_BIAS) && !folds)
        bias = tfn__weight_of(b, at, part, TFN__BIAS, 1, cols, 0);
    if (tfn__is_other_norm(norm)) return tfn__other_norm(b, at, x, part, gain, bias, norm);

    args = tfn__norm_args_of(b->d, at, norm, part, cols, folds);
    x = tfn_norm(b->t, x, gain, bias, cols, &args);
    if (folds || !tfn__norm_has(norm, TFN_FLAG_SCALAR)) return x;
    gain = tfn__gain_at(b, at, part, 1, TFN__SQRT((float)cols));
    return tfn_scale(b->t, x, gain);
}

/* Normalizes whole rows. */
SHARED tfn_var tfn__apply_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part)
{
    return tfn__apply_norm_of(b, at, x, part, tfn__need(b->t, "norm", x)->cols, true);
}

/* Returns x/|x| for each group of `cols` columns, with |x| at least 1e-12, as PyTorch's normalize
 * does. */
SHARED tfn_var tfn__unit_rows(tfn__builder *b, tfn_var x, int32_t cols)
{
    const tfn_norm_args l2 = tfn__plain_norm(TFN_NORM_L2, (float)1e-12);
    return tfn_norm(b->t, x, tfn__none, tfn__none, cols, &l2);
}

/* -- the join of a branch with the stream ---------------------------------------------------- */

/* Returns the value of a learned scale: the stored number times its unit. When an optimizer moves
 * the stored number by the learning rate, the value moves by that many units (nGPT, section 2.5).
 */
static tfn_var tfn__scale_weight(tfn__builder *b, tfn__spot at, const tfn_scale_rule *s, int part,
                                 int kind, int32_t cols)
{
    const float start = tfn__rule_value(b->d, s, at);
    const float unit = tfn__unit_of(s);
    const tfn_var stored = tfn__weight_of(b, at, part, kind, 1, cols, start / unit);
    return tfn__multiple(b->t, stored, unit);
}

/* Returns the learned factor of a scale, or none. */
static tfn_var tfn__scale_factor(tfn__builder *b, tfn__spot at, const tfn_scale_rule *s, int part,
                                 int32_t cols)
{
    if (tfn__is_refused_scale(s)) return tfn__none;
    switch (s->kind) {
    case TFN_SCALE_LEARNED:
        return tfn__scale_weight(b, at, s, part, TFN__GAIN, 1);
    case TFN_SCALE_SHARED:
        return tfn__scale_weight(b, tfn__layer_of(at), s, part, TFN__GAIN, 1);
    case TFN_SCALE_VECTOR:
    case TFN_SCALE_PROFILED:
        return tfn__scale_weight(b, at, s, part, TFN__GAIN, cols);
    case TFN_SCALE_FOLDED:
        return tfn__scale_weight(b, at, s, part, TFN__FOLDED_SCALE, cols);
    default:
        return tfn__none;
    }
}

/* Returns x times a scale of the join. A constant scale goes to *constant, for the sum that
 * follows. */
static tfn_var tfn__apply_scale(tfn__builder *b, tfn__spot at, tfn_var x, const tfn_scale_rule *s,
                                int part, float *constant)
{
    const int32_t cols = tfn__need(b->t, "scale", x)->cols;
    tfn_var factor;
    *constant = 1;
    if (!TFN__SCALES) return x;
    if (s->kind == TFN_SCALE_CONSTANT) *constant = tfn__rule_value(b->d, s, at);
    if (tfn__is_scheduled(s)) return tfn__ramp(b->t, x, tfn__updates_of(b), s->value);
    factor = tfn__scale_factor(b, at, s, part, cols);
    if (!factor.id) return x;
    return tfn_scale(b->t, x, factor);
}

/* Applies the gate of GPAS: x - SiLU(q) sg(x), where sg stops the gradient, with one learned q a
 * layer. */
static tfn_var tfn__apply_gate(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const tfn__spot layer = tfn__layer_of(at);
    return tfn_gate(b->t, x, tfn__gain_at(b, layer, TFN__PART_GATE, 1, 0));
}

static tfn_var tfn__attention_branch(tfn__builder *b, tfn__spot at, const tfn_join *join,
                                     tfn_var u);
static tfn_var tfn__ffn_branch(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u);

/* Returns the value the branch starts from. */
static tfn_var tfn__read_source(tfn__builder *b, const tfn_join *join, const tfn__flow *flow)
{
    const tfn_source source = tfn__source_of(join);
    if (source == TFN_SOURCE_LAYER) return flow->x0;
    if (source != TFN_SOURCE_FIRST) return flow->x;
    if (!flow->first.id)
        return tfn__tape_error(b->t, TFN_BAD_OPTION, "model", "the first sub-layer of a layer "
                               "cannot read what the first one read", 0, 0);
    return flow->first;
}

/* Records u = in * N_in(source) - s, the input of F; *normed is N_in(source). */
static tfn_var tfn__branch_input(tfn__builder *b, tfn__spot at, const tfn_join *join,
                                 tfn__flow *flow, tfn_var *normed)
{
    tfn_var u = tfn__read_source(b, join, flow);
    float in;
    if (join->norm_in) u = tfn__apply_norm(b, at, u, TFN__PART_NORM_IN);
    *normed = u;
    if (!flow->first.id) flow->first = u;
    if (tfn__folds_input(b->d, at)) return u;
    u = tfn__apply_scale(b, at, u, &join->in, TFN__PART_IN, &in);
    u = tfn__multiple(b->t, u, in);
    if (!tfn__shifts(join)) return u;
    return tfn_shift(b->t, u, tfn__gain_at(b, at, TFN__PART_SHIFT_IN, 1, 0), -1);
}

/* Records nGPT's x + |out| (p - x), where x and p have length 1 (Loshchilov 2024, eq. 10 and 11).
 * As in the authors' code, a learned rate is used by its magnitude. A constant rate is a number of
 * the sum. */
static tfn_var tfn__interpolate(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var x,
                                tfn_var p)
{
    const int32_t cols = tfn__need(b->t, "scale", x)->cols;
    float constant = 1;
    tfn_var rate;
    x = tfn__unit_rows(b, x, cols);
    p = tfn_add(b->t, p, x, 1, -1);
    rate = tfn__scale_factor(b, at, &join->out, TFN__PART_OUT, cols);
    if (rate.id) {
        rate = tfn__magnitude(b->t, rate);
        p = tfn_scale(b->t, p, rate);
    } else {
        p = tfn__apply_scale(b, at, p, &join->out, TFN__PART_OUT, &constant);
    }
    return tfn_add(b->t, x, p, 1, constant);
}

/* Records skip * x + out * p. Constant scales are numbers of the sum; learned ones are operations.
 * ResiDual's second stream, y = side_scale (x_0 + sum of all p), adds the scaled branch, too. */
static tfn_var tfn__join_sum(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn__flow *flow,
                             tfn_var x, tfn_var p)
{
    float keep = 1;
    float out = 1;
    if (tfn__gates(join) && join->norm_sum) x = tfn__apply_gate(b, at, x);
    if (tfn__interpolates(join)) return tfn__interpolate(b, at, join, x, p);
    if (!tfn__folds_out(b->d, at)) p = tfn__apply_scale(b, at, p, &join->out, TFN__PART_OUT, &out);
    if (flow->side.id) {
        const float scale = tfn__positive_or(tfn__row(b->d, at)->side_scale, 1);
        flow->side = tfn_add(b->t, flow->side, p, 1, out * scale);
    }
    tfn__probe_profile(b, at, join->skip.kind, x, p);
    if (!tfn__folds_skip(b->d, at) && !tfn__folds_profile(b->d, at))
        x = tfn__apply_scale(b, at, x, &join->skip, TFN__PART_SKIP, &keep);
    return tfn_add(b->t, x, p, keep, out);
}

/* Records N_sum(z + extra * x_0), or N_sum(z) + extra * x_0. A gate applies to z if no norm
 * follows. */
static tfn_var tfn__finish_sum(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var z,
                               tfn_var x0)
{
    const bool extra = join->extra.kind != TFN_SCALE_NONE;
    const bool last = tfn__has_last_extra(join);
    float scale = 1;
    if (extra) x0 = tfn__apply_scale(b, at, x0, &join->extra, TFN__PART_EXTRA, &scale);
    if (extra && !last) z = tfn_add(b->t, z, x0, 1, scale);
    if (tfn__gates(join) && !join->norm_sum) z = tfn__apply_gate(b, at, z);
    tfn__point_at(b, at, TFN_WATCH_SUM, z);
    if (join->norm_sum) z = tfn__apply_norm(b, at, z, TFN__PART_NORM);
    if (extra && last) z = tfn_add(b->t, z, x0, 1, scale);
    return z;
}

/* Returns the value the skip carries. */
static tfn_var tfn__skip_of(const tfn_join *join, const tfn__flow *flow, tfn_var normed)
{
    if (join->skip_from == TFN_SOURCE_NORMED) return normed;
    if (join->skip_from == TFN_SOURCE_LAYER) return flow->x0;
    return flow->x;
}

/* Records one sub-layer: the formula of the join (see builder) from left to right, with the points
 * that can be watched between the steps. */
SHARED void tfn__apply_sublayer(tfn__builder *b, tfn__spot at, tfn__flow *flow)
{
    const tfn_join join = tfn__join_at(b->d, at);
    tfn_var normed;
    tfn_var p;
    tfn_var z;
    if (tfn__refusal(&join)) {
        tfn__tape_error(b->t, TFN_UNSUPPORTED, "model", tfn__refusal(&join), 0, 0);
        return;
    }
    tfn__point_at(b, at, TFN_WATCH_INPUT, flow->x);
    p = tfn__branch_input(b, at, &join, flow, &normed);
    tfn__point_at(b, at, TFN_WATCH_READ, p);

    if (tfn__in_ffn(at)) p = tfn__ffn_branch(b, at, &join, p);
    else p = tfn__attention_branch(b, at, &join, p);
    if (join.norm_branch) p = tfn__apply_norm(b, at, p, TFN__PART_NORM_BRANCH);
    if (TFN__ALL) p = tfn__multiple(b->t, p, tfn__positive_or(b->d->branch_factor, 1));
    p = tfn_dropout(b->t, p, b->d->dropout);
    tfn__point_at(b, at, TFN_WATCH_BRANCH, p);

    z = tfn__join_sum(b, at, &join, flow, tfn__skip_of(&join, flow, normed), p);
    z = tfn__finish_sum(b, at, &join, z, flow->x0);
    flow->x = tfn__point_at(b, at, TFN_WATCH_OUTPUT, z);
}

/* -- branches --------------------------------------------------------------------------------- */

/* Records the cache of the memory's keys and values. These are the first caches of the state, one a
 * layer. */
SHARED tfn_var tfn__memory_cache(tfn__builder *b, tfn_var k, tfn_var v)
{
    const tfn_model_desc *d = b->d;
    const int32_t cols = tfn__head_size(d) * d->kv_heads;
    if (!k.id) return tfn__cache_memory(b->t, cols, d->kv_heads, d->source_context);
    return tfn__cache_encoded(b->t, k, v, cols, d->kv_heads, d->source_context);
}

/* True for self-attention with a window, in a layer of the decoder, or of the only stack. */
static bool tfn__has_window(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL || at.sub != TFN_SUBLAYER_SELF_ATTENTION) return false;
    if (!tfn__in_decoder(at) && !tfn__is_encoder_only(d)) return false;
    return tfn__layer_has_window(d, at.layer);
}

/* Returns the size of the window, or 0 if there is none or no text is longer than it. In an encoder
 * it is negative: minus the positions on either side. */
static int32_t tfn__window_of(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__has_window(d, at) || !tfn__window_hides(d)) return 0;
    if (tfn__is_encoder_only(d)) return -(d->window / 2);
    return d->window;
}

/* Applies nGPT's vector s, which queries and keys share. It is stored as s/sqrt(C), about the size
 * of a weight. Queries are also multiplied by D, which makes the scores sqrt(D) q k (section
 * 2.3.2). */
static tfn_var tfn__unit_qk(tfn__builder *b, tfn__spot at, tfn_var x, bool query)
{
    const float root = TFN__SQRT((float)b->d->width);
    const int32_t cols = tfn__need(b->t, "attention", x)->cols;
    tfn_var s = tfn__gain_at(b, at, TFN__PART_QK_SCALE, cols, 1 / root);
    if (query) s = tfn__multiple(b->t, s, root * (float)tfn__head_size(b->d));
    else s = tfn__multiple(b->t, s, root);
    return tfn_scale(b->t, x, s);
}

/* Multiplies queries of length 1 by the temperature, and by sqrt(D) because attention divides by
 * it. L2 (Henry 2020): a learned scalar that starts at log2(T^2 - T), where T is about the longest
 * sentence. COSINE (Swin v2): exp(min(tau, ln 100)) for each head, tau starts at ln 10. */
static tfn_var tfn__scale_queries(tfn__builder *b, tfn__spot at, tfn_var q, tfn_qk_norm form)
{
    const float root = TFN__SQRT((float)tfn__head_size(b->d));
    const double ln2 = 0.693147180559945309;
    const float ln10 = (float)2.30258509299404568;
    tfn_var by;
    if (form == TFN_QK_NORM_L2) {
        const double t = (double)tfn__max(b->d->context, 2);
        by = tfn__gain_at(b, at, TFN__PART_QK_SCALE, 1, (float)(tfn__log(t * (t - 1)) / ln2));
    } else {
        by = tfn__gain_at(b, at, TFN__PART_QK_SCALE, b->d->heads, ln10);
        by = tfn__exp_capped_of(b->t, by);
    }
    return tfn_scale(b->t, q, tfn__multiple(b->t, by, root));
}

/* Normalizes queries (part Q_NORM) or keys. HEAD and FULL (OLMo 2) use the model's norm, for each
 * head or for all heads together. The other forms make the length 1. Then nGPT scales both. L2 and
 * COSINE have a learned temperature, which only the queries get, so that the product has it once.
 */
static tfn_var tfn__apply_qk_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part,
                                  tfn_qk_norm form)
{
    const int32_t size = tfn__head_size(b->d);
    const bool query = part == TFN__PART_Q_NORM;
    const int32_t heads = query ? b->d->heads : b->d->kv_heads;
    switch (form) {
    case TFN_QK_NORM_HEAD:
    case TFN_QK_NORM_QKV_HEAD:
        return tfn__apply_norm_of(b, at, x, part, size, heads == 1);
    case TFN_QK_NORM_FULL:
        return tfn__apply_norm(b, at, x, part);
    case TFN_QK_NORM_UNIT:
        x = tfn__unit_rows(b, x, size);
        return tfn__unit_qk(b, at, x, query);
    case TFN_QK_NORM_L2:
    case TFN_QK_NORM_COSINE:
        x = tfn__unit_rows(b, x, size);
        if (!query) return x;
        return tfn__scale_queries(b, at, x, form);
    default:
        return x;
    }
}

/* True if queries and keys of this layer rotate. */
static bool tfn__rotates(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_position(d, TFN_POSITION_ROTARY)) return false;
    return !TFN__ALL || !d->rotary_period || (at.layer + 1) % d->rotary_period;
}

/* Limits queries, keys or values to -c ... c (OLMo). */
static tfn_var tfn__clip_qkv(tfn__builder *b, tfn_var x)
{
    if (!TFN__ALL || !(b->d->qkv_clip > 0)) return x;
    return tfn__clamp(b->t, x, b->d->qkv_clip);
}

/* Returns queries (B*T, D * heads) or keys (B*T, D * kv_heads): projected, normalized, rotated.
 * nGPT normalizes after the rotation. */
SHARED tfn_var tfn__project(tfn__builder *b, tfn__spot at, tfn_var u, bool query, bool rotate)
{
    const tfn_model_desc *d = b->d;
    const tfn_qk_norm form = tfn__qk_form(d, at);
    const int32_t size = tfn__head_size(d);
    int32_t out = size * d->kv_heads;
    int part = TFN__PART_K;
    int norm = TFN__PART_K_NORM;
    tfn_var table = b->table;
    tfn_var x;
    if (tfn__has_window(d, at)) table = b->window_table;
    if (query) {
        out = tfn__all_heads(d);
        part = TFN__PART_Q;
        norm = TFN__PART_Q_NORM;
    }
    x = tfn__apply_linear(b, at, u, part, tfn__stream(d), out, TFN_ACTIVATION_IDENTITY);
    x = tfn__clip_qkv(b, x);
    if (form != TFN_QK_NORM_UNIT) x = tfn__apply_qk_norm(b, at, x, norm, form);
    if (rotate && tfn__rotates(d, at)) x = tfn_rotary(b->t, x, table, size);
    if (form == TFN_QK_NORM_UNIT) x = tfn__apply_qk_norm(b, at, x, norm, form);
    if (query) x = tfn__multiple(b->t, x, tfn__query_scale(d, form, at.layer + 1));
    return x;
}

/* Returns values (B*T, D * kv_heads): projected, and normalized by one of the forms. */
SHARED tfn_var tfn__project_values(tfn__builder *b, tfn__spot at, tfn_var u)
{
    const tfn_model_desc *d = b->d;
    const int32_t size = tfn__head_size(d);
    tfn_var x = tfn__apply_linear(b, at, u, TFN__PART_V, tfn__stream(d), size * d->kv_heads,
                                  TFN_ACTIVATION_IDENTITY);
    x = tfn__clip_qkv(b, x);
    if (tfn__qk_form(d, at) != TFN_QK_NORM_QKV_HEAD) return x;
    return tfn__apply_norm_of(b, at, x, TFN__PART_V_NORM, size, d->kv_heads == 1);
}

/* Returns what a layer of the decoder reads of the encoder: its output, or a learned mean of its
 * embedding and layers, normalized as the output would be (Bapna 2018). */
SHARED tfn_var tfn__memory_of(tfn__builder *b, tfn__spot at)
{
    const tfn__spot encoder = tfn__spot_of_stack(TFN__IN_ENCODER);
    const tfn__spot layer = tfn__layer_of(at);
    const int32_t count = b->d->layers + 1;
    tfn_var weights;
    tfn_var mean = tfn__none;
    tfn_var y;
    if (!tfn__has(b->d, encoder, TFN_TOPOLOGY_TRANSPARENT)) return b->memory;
    weights = tfn__gain_at(b, layer, TFN__PART_MEMORY_MIX, count, 0);
    if (!b->d->folded) weights = tfn_softmax(b->t, weights);
    y.id = b->encoder_first - 1;
    for (int32_t k = 0; k < count; k++) {
        y = tfn__next_layer(b->t, y);
        mean = tfn_mix(b->t, mean, y, weights, k);
    }
    if (!tfn__has(b->d, encoder, TFN_TOPOLOGY_FINAL_NORM)) return mean;
    return tfn__apply_norm(b, encoder, mean, TFN__PART_FINAL_NORM);
}

/* Returns the places of a layer's cache: one for each position of the context or window, plus the
 * positions that one run appends before it reads. When n positions go in together, the last is in
 * its place before the first is computed, which must still see the W - 1 before it. */
static int32_t tfn__places(const tfn__builder *b, tfn__spot at)
{
    const int32_t window = tfn__window_of(b->d, at);
    if (!window) return b->d->context;
    return (int32_t)tfn__min((ptrdiff_t)window + b->t->target - 1, b->d->context);
}

/* Records softmax(q k^T / sqrt(D)) v for each head, where k and v come from u or from the memory,
 * with the lengths of its sentences. In decoding, k and v are in a cache: the memory's since
 * decoding began, the others appended by each step. */
static tfn_var tfn__attend(tfn__builder *b, tfn__spot at, tfn_var q, tfn_var u)
{
    const tfn_model_desc *d = b->d;
    const int32_t kv_cols = tfn__head_size(d) * d->kv_heads;
    const bool self = at.sub == TFN_SUBLAYER_SELF_ATTENTION;
    const bool causal = self && tfn__in_decoder(at);
    int32_t lengths = TFN_INT_SOURCE_LENGTHS;
    tfn_var cache;
    tfn_var k;
    tfn_var v;
    if (self && !tfn__reads_source(d, at)) lengths = TFN_INT_LENGTHS;
    if (TFN__PAIRS && b->decode && !self) {
        cache.id = b->memory.id + at.layer;             /* filled when decoding began */
        return tfn__attend_cached(b->t, q, cache, d->heads, lengths);
    }
    if (!self) u = tfn__memory_of(b, at);
    k = tfn__project(b, at, u, false, self);
    v = tfn__project_values(b, at, u);
    if (!TFN__SENTENCES || (b->decode && causal)) {
        cache = tfn__cache_rows(b->t, k, v, kv_cols, d->kv_heads, tfn__places(b, at));
        return tfn__attend_cached(b->t, q, cache, d->heads, -1);
    }
    return tfn_attention(b->t, q, k, v, d->heads, d->kv_heads, causal, lengths,
                         d->attention_dropout);
}

/* Sets the extras of an attention node y: a cap c that makes scores s c tanh(s/c) (Gemma 2, the
 * second number), the window, and what positions add to the scores of self-attention. */
static void tfn__set_scores(tfn__builder *b, tfn__spot at, tfn_var y)
{
    const int32_t window = tfn__window_of(b->d, at);
    tfn_node *n;
    if (!y.id) return;
    n = tfn__node_at(b->t, y.id);
    n->number[1] = b->d->attention_cap;
    if (window && n->op == TFN__OP_CACHED) n->arg[TFN__CACHED_WINDOW] = window;
    if (window && n->op == TFN__OP_ATTEND) n->arg[TFN__ATTEND_WINDOW] = window;
    if (!TFN__ALL || at.sub != TFN_SUBLAYER_SELF_ATTENTION) return;
    if (n->op == TFN__OP_CACHED) n->in[1] = b->bias.id;
    else n->in[3] = b->bias.id;
}

/* Multiplies each head, a block of columns, by a learned scale. */
static tfn_var tfn__scale_heads(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const int32_t cols = tfn__need(b->t, "attention", x)->cols;
    const int32_t heads = b->d->heads;
    if (cols % heads)
        tfn__tape_error(b->t, TFN_BAD_OPTION, "model", "width is %d; scales of %d heads need a "
                        "multiple of that", cols, heads);
    return tfn_scale(b->t, x, tfn__gain_at(b, at, TFN__PART_HEAD_SCALE, heads, 1));
}

/* Records F(u) = N(h y) W_O, where y are the heads' values. Scales h and norm N are optional. */
static tfn_var tfn__attention_branch(tfn__builder *b, tfn__spot at, const tfn_join *join,
                                     tfn_var u)
{
    const tfn_model_desc *d = b->d;
    const tfn_var q = tfn__project(b, at, u, true, at.sub == TFN_SUBLAYER_SELF_ATTENTION);
    tfn_var y = tfn__attend(b, at, q, u);
    tfn__set_scores(b, at, y);
    if (tfn__has_head_scale(join, TFN_HEAD_SCALE_BEFORE) && !tfn__folds_head_scale(d, at))
        y = tfn__scale_heads(b, at, y);
    if (tfn__has_inner_norm(join)) y = tfn__apply_norm(b, at, y, TFN__PART_NORM_O);
    y = tfn__apply_linear(b, at, y, TFN__PART_O, tfn__all_heads(d), tfn__stream(d),
                          TFN_ACTIVATION_IDENTITY);
    if (tfn__has_head_scale(join, TFN_HEAD_SCALE_AFTER) && !d->folded)
        y = tfn__scale_heads(b, at, y);
    return y;
}

/* Returns hidden units act(u W) of W_1 or W_3, (B*T, F). nGPT scales them by a learned vector times
 * sqrt(C) before the activation; Fixup shifts those of W_1. The activation fuses if neither
 * happens. */
static tfn_var tfn__hidden(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u,
                           int part, tfn_activation_kind act)
{
    const tfn_model_desc *d = b->d;
    const bool first = part == TFN__PART_W1;
    const bool scaled = tfn__scales_hidden(join);
    const bool shifted = tfn__shifts(join) && first && !tfn__folds_shift_1(d, at);
    const bool plain = !scaled && !shifted;
    tfn_var h;
    if (plain) return tfn__apply_linear(b, at, u, part, tfn__stream(d), d->ffn, act);
    h = tfn__apply_linear(b, at, u, part, tfn__stream(d), d->ffn, TFN_ACTIVATION_IDENTITY);
    if (scaled) {
        const int scale = first ? TFN__PART_SCALE_1 : TFN__PART_SCALE_3;
        const tfn_var by = tfn__gain_at(b, at, scale, d->ffn, 1);
        h = tfn_scale(b->t, h, tfn__multiple(b->t, by, TFN__SQRT((float)d->width)));
    }
    if (shifted) h = tfn_shift(b->t, h, tfn__gain_at(b, at, TFN__PART_SHIFT_1, 1, 0), -1);
    if (act == TFN_ACTIVATION_IDENTITY) return h;
    return tfn_activation(b->t, h, act);
}

/* Returns f(u W_1) * (u W_3), where f is a form of GELU, or SiLU (GEGLU, SwiGLU: Shazeer 2020). The
 * gate is recorded before the other factor. */
static tfn_var tfn__gated_hidden(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u)
{
    const tfn_var gate = tfn__hidden(b, at, join, u, TFN__PART_W1, TFN_ACTIVATION_IDENTITY);
    const tfn_var up = tfn__hidden(b, at, join, u, TFN__PART_W3, TFN_ACTIVATION_IDENTITY);
    return tfn_glu(b->t, gate, up, tfn__gate_of(b->d->activation));
}

/* Records F(u) = (Drop(h) - s) W_2, where h are the hidden units (B*T, F). The inner norm, if any,
 * comes after the dropout; s is Fixup's shift. */
static tfn_var tfn__ffn_branch(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u)
{
    const tfn_model_desc *d = b->d;
    tfn_var h;
    if (TFN__GATES && tfn__gate_of(d->activation) != d->activation)
        h = tfn__gated_hidden(b, at, join, u);
    else
        h = tfn__hidden(b, at, join, u, TFN__PART_W1, d->activation);
    h = tfn_dropout(b->t, h, d->activation_dropout);
    if (tfn__has_inner_norm(join)) h = tfn__apply_norm(b, at, h, TFN__PART_NORM_2);
    if (tfn__shifts(join) && !d->folded)
        h = tfn_shift(b->t, h, tfn__gain_at(b, at, TFN__PART_SHIFT_2, 1, 0), -1);
    return tfn__apply_linear(b, at, h, TFN__PART_W2, d->ffn, tfn__stream(d),
                             TFN_ACTIVATION_IDENTITY);
}
TFN__RARE_END
