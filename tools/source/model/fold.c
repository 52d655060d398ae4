#include "fold.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../ground/math.h"
#include "../kernels/packing.h"
#include "../kernels/products.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "joins.h"
#include "initial.h"

TFN__SMALL
/* A folded model computes the same function with fewer operations. In the join of a sub-layer F
 *
 *     u = in * N_in(source) - s;  p = N_branch(F(u));  x = N_sum(skip * x + out * p + extra * x_0)
 *
 * everything affine next to a linear map goes into the map. For a norm N(x) = g n(x) + t:
 *
 *     u W + b            = n (in g W) + b + (in t - s) W               tfn__fold_input
 *     (h (g n + t)) W_O  = n (h g W_O) + h t W_O, and W_2 alike        tfn__fold_inner
 *     out p              = F(u) with out W_O, out b; or out g of N_branch    tfn__fold_output
 *     N_sum(a x + p)     = N_sum(x + p/a), eps/a^2                     tfn__fold_output
 *     w x + F(x)         = x' + F(x'/w), x' = w x from the norm before    tfn__fold_skip
 *
 * Outside the joins, W becomes gamma/sigma W (sigmaReparam) and then W + alpha/r A B (LoRA). Tables
 * that are read with rows of length 1 get such rows, and weights under a softmax become its result.
 * If everything that writes to the stream can be centred, it is, and LayerNorm becomes RMSNorm.
 *
 * The builder tells where each of these holds (tfn__folds_norm and the functions next to it), and
 * omits from the folded model exactly what goes into weights here. Everything is checked before
 * anything is written. Then weights are copied and changed in place. */

/* Returns the weight of a model at a spot, or NULL. Most parts exist only in some rows, and a
 * folded model lacks those that were folded. */
static const tfn__weight *tfn__weight_in(const tfn_model *m, tfn__spot at, int part, int kind)
{
    return tfn__find_weight(m->weights, m->weight_count, at, part, kind);
}

/* Matrices that read the stream. In cross-attention only the first does; keys and values read the
 * memory. */
static const int tfn__readers[] = {
    TFN__PART_Q, TFN__PART_K, TFN__PART_V, TFN__PART_W1, TFN__PART_W3
};
static int tfn__reader_count(tfn__spot at)
{
    if (at.sub == TFN_SUBLAYER_CROSS_ATTENTION) return 1;
    return (int)(sizeof tfn__readers / sizeof *tfn__readers);
}

/* -- profiled skips --------------------------------------------------------------------------- */

/* Divides row r of a matrix by unit * w[r]. */
static void tfn__divide_rows(const tfn_model *m, const tfn__weight *matrix, const float *w,
                             float unit)
{
    float *p = m->params + matrix->at;
    for (int32_t r = 0; r < matrix->rows; r++, p += matrix->cols)
        for (int32_t c = 0; c < matrix->cols; c++) p[c] /= unit * w[r];
}

/* True if weights can be divided by unit*w. 0, infinities and NaN fail, and so do numbers so close
 * to these that weights would overflow or vanish. */
static bool tfn__divides(const float *w, int32_t count, float unit)
{
    for (int32_t i = 0; i < count; i++) {
        double size = (double)unit * (double)w[i];
        if (size < 0) size = -size;
        if (!(size > 1e-30 && size < 1e30)) return false;
    }
    return true;
}

/* Multiplies the learned vectors of a norm by unit * w. A gain that is stored as an offset from 1
 * is stored so again. */
static void tfn__scale_norm(const tfn_model *m, tfn__spot at, const float *w, float unit)
{
    static const int kinds[] = { TFN__GAIN, TFN__BIAS, TFN__ALPHA };
    const tfn_norm_rule *norm = tfn__norm_rule_of(&m->desc, at);
    const int count = norm->kind == TFN_NORM_SEED ? 3 : 2;      /* SeeDNorm: alpha is in the gain */
    for (int k = 0; k < count; k++) {
        const tfn__weight *p = tfn__weight_in(m, at, TFN__PART_NORM, kinds[k]);
        const bool offset = kinds[k] == TFN__GAIN && (norm->flags & TFN_FLAG_OFFSET);
        if (!p) continue;
        for (int32_t i = 0; i < p->cols; i++) {
            float *x = m->params + p->at + i;
            const float by = unit * w[i];
            if (offset) *x = by * (1 + *x) - 1;
            else *x = by * *x;
        }
    }
}

/* Moves the scale unit*w of a skip into the norm before it, and its inverse into the matrices that
 * read the stream. See tfn__skip_moves. */
static void tfn__fold_skip(const tfn_model *m, tfn__spot at, const float *w, float unit)
{
    tfn__scale_norm(m, tfn__spot_before(&m->desc, at), w, unit);
    for (int i = 0; i < tfn__reader_count(at); i++) {
        const tfn__weight *matrix = tfn__weight_in(m, at, tfn__readers[i], TFN__MATRIX);
        if (matrix) tfn__divide_rows(m, matrix, w, unit);
    }
}

/* Returns the unit in which the scale of a skip is stored. */
static float tfn__skip_unit(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_join j = tfn__join_at(d, at);
    return tfn__unit_of(&j.skip);
}

/* Folds Admin's scales of skips into weights after profiling where this is possible; from then on
 * they are 1. */
SHARED void tfn__fold_skips(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const tfn__spot at = tfn__spot_of(w);
        float *data = tfn__weight_data(m, w);
        float unit;
        if (w->part != TFN__PART_SKIP || w->kind != TFN__FOLDED_SCALE) continue;
        unit = tfn__skip_unit(&m->desc, at);
        if (!tfn__skip_moves(&m->desc, at) || !tfn__divides(data, w->cols, unit)) continue;
        tfn__fold_skip(m, at, data, unit);
        for (int32_t c = 0; c < w->cols; c++) data[c] = 1 / unit;
    }
}

/* -- one sub-layer ---------------------------------------------------------------------------- */

/* The arguments of functions for one sub-layer. They read numbers from the trained model (old) and
 * change the folded one (new), which starts as a copy. */
typedef struct tfn__folding {
    tfn_model       *to;
    const tfn_model *from;
    tfn__spot        at;                 /* the sub-layer */
    tfn_join         join;               /* its join */
} tfn__folding;

/* Returns number i of a weight in the trained model, or `otherwise` if it has no such weight. A
 * scalar gives its one number for every i. */
static double tfn__old_at(const tfn_model *from, tfn__spot at, int part, int kind, int32_t i,
                          double otherwise)
{
    const tfn__weight *w = tfn__weight_in(from, at, part, kind);
    if (!w) return otherwise;
    return (double)tfn__weight_data(from, w)[i % w->cols];
}
static double tfn__old(const tfn__folding *f, int part, int kind, int32_t i, double otherwise)
{
    return tfn__old_at(f->from, f->at, part, kind, i, otherwise);
}

/* Returns the numbers of a weight in the folded model, or NULL. *w is the weight. */
static float *tfn__new(const tfn__folding *f, int part, int kind, const tfn__weight **w)
{
    *w = tfn__weight_in(f->to, f->at, part, kind);
    if (!*w) return NULL;
    return tfn__weight_data(f->to, *w);
}

/* Computes g and t of channel i for a norm g n(x) + t. For BATCH and POWER, n(x) is x, because
 * their statistics are constants now, and part of g and t. */
static void tfn__fold_norm(const tfn__folding *f, int part, int32_t i, double *g, double *t)
{
    const tfn_norm_rule *norm = tfn__norm_rule_of(&f->to->desc, f->at);
    const double eps = (double)tfn__eps_of(&f->to->desc, norm);
    *g = tfn__old(f, part, TFN__GAIN, i, 1);
    if (norm->flags & TFN_FLAG_OFFSET) *g += 1;
    *t = tfn__old(f, part, TFN__BIAS, i, 0);
    if (norm->kind == TFN_NORM_BATCH) {
        *g *= tfn__pow(tfn__old(f, part, TFN__VARIANCE, i, 1) + eps, -0.5);
        *t -= *g * tfn__old(f, part, TFN__MEAN, i, 0);
    }
    if (norm->kind == TFN_NORM_POWER)
        *g *= tfn__pow(tfn__old(f, part, TFN__SQUARE, i, 1) + eps, -0.5);
}

/* Folds g u + t, which W reads in channel i: adds t times row i of W to the bias, then multiplies
 * the row by g. The bias comes first because it needs the old row. Where t may differ from 0, the
 * builder has made a bias. */
static void tfn__fold_row(const tfn__folding *f, int part, int32_t i, double g, double t)
{
    const tfn__weight *w;
    const tfn__weight *bias;
    float *p = tfn__new(f, part, TFN__MATRIX, &w);
    float *b = tfn__new(f, part, TFN__BIAS, &bias);
    if (!p) return;
    p += (int64_t)i * w->cols;
    for (int32_t c = 0; c < w->cols; c++) {
        if (b) b[c] += (float)t * p[c];
        p[c] *= (float)g;
    }
}

/* Returns the value of a scheduled scale, min(1, t/value), after the t updates so far. The folded
 * model keeps this value. */
static double tfn__old_ramp(const tfn__folding *f, const tfn_scale_rule *s)
{
    const float updates = (float)tfn__old_at(f->from, tfn__spot_of_model(), TFN__PART_SCHEDULE,
                                             TFN__UPDATES, 0, 0);
    if (updates < s->value) return (double)(updates / s->value);
    return 1;
}

/* Returns a scale of the join at channel i. */
static double tfn__old_scale(const tfn__folding *f, const tfn_scale_rule *s, int part, int32_t i)
{
    tfn__spot at = f->at;
    int kind = TFN__GAIN;
    switch (s->kind) {
    case TFN_SCALE_NONE:
    case TFN_SCALE_LERP:      return 1;
    case TFN_SCALE_CONSTANT:  return (double)tfn__rule_value(&f->from->desc, s, at);
    case TFN_SCALE_SCHEDULED: return tfn__old_ramp(f, s);
    case TFN_SCALE_SHARED:    at = tfn__layer_of(at); break;
    case TFN_SCALE_FOLDED:    kind = TFN__FOLDED_SCALE; break;
    default:                  break;
    }
    return tfn__old_at(f->from, at, part, kind, i, 1) * (double)tfn__unit_of(s);
}

/* Folds channel i of u, the input of F: norm, scale, shift. */
static void tfn__fold_input(const tfn__folding *f, int32_t i)
{
    const double in = tfn__old_scale(f, &f->join.in, TFN__PART_IN, i);
    double g = 1;
    double t = 0;
    if (f->join.norm_in) tfn__fold_norm(f, TFN__PART_NORM_IN, i, &g, &t);
    t = t * in - tfn__old(f, TFN__PART_SHIFT_IN, TFN__GAIN, 0, 0);
    for (int r = 0; r < tfn__reader_count(f->at); r++)
        tfn__fold_row(f, tfn__readers[r], i, g * in, t);
}

/* Folds the input of the last matrix, W_O or W_2: inner norm, scale of heads, Fixup's shift before
 * W_2. */
static void tfn__fold_inner(const tfn__folding *f, int last)
{
    const tfn_model_desc *d = &f->to->desc;
    const int norm = last == TFN__PART_O ? TFN__PART_NORM_O : TFN__PART_NORM_2;
    const bool norms = f->join.norm_inner && tfn__folds_norm(d, f->at, norm);
    const bool heads = f->join.head_scale == TFN_HEAD_SCALE_BEFORE
                    && tfn__folds_head_scale(d, f->at);
    const int32_t head_size = tfn__head_size(d);
    const tfn__weight *w;
    if (!tfn__new(f, last, TFN__MATRIX, &w)) return;
    for (int32_t i = 0; i < w->rows; i++) {
        double g = 1;
        double t = 0;
        if (norms) tfn__fold_norm(f, norm, i, &g, &t);
        if (heads) g *= tfn__old(f, TFN__PART_HEAD_SCALE, TFN__GAIN, i / head_size, 1);
        if (last == TFN__PART_W2) t -= tfn__old(f, TFN__PART_SHIFT_2, TFN__GAIN, 0, 0);
        tfn__fold_row(f, last, i, g, t);
    }
}

/* Multiplies the columns of a matrix or vector by out/skip, the scale of the branch over the scale
 * of the skip. A bias is scaled like its matrix. */
static void tfn__fold_columns(const tfn__folding *f, int part, int kind)
{
    const bool out = tfn__folds_out(&f->to->desc, f->at);
    const bool skip = tfn__folds_skip(&f->to->desc, f->at);
    const tfn__weight *w;
    float *p = tfn__new(f, part, kind, &w);
    if (!p) return;
    for (int64_t k = 0; k < (int64_t)w->rows * w->cols; k++) {
        const int32_t i = (int32_t)(k % w->cols);
        double o = 1;
        if (out) o = tfn__old_scale(f, &f->join.out, TFN__PART_OUT, i);
        if (skip) o /= tfn__old_scale(f, &f->join.skip, TFN__PART_SKIP, i);
        p[k] *= (float)o;
    }
}

/* Folds the scale of heads after W_O: blocks of C/H columns, one for each head. */
static void tfn__fold_head_scale_after(const tfn__folding *f, int kind)
{
    const tfn__weight *w;
    float *p = tfn__new(f, TFN__PART_O, kind, &w);
    int32_t block;
    if (!p) return;
    block = w->cols / f->to->desc.heads;
    for (int64_t k = 0; k < (int64_t)w->rows * w->cols; k++) {
        const int32_t head = (int32_t)(k % w->cols) / block;
        p[k] *= (float)tfn__old(f, TFN__PART_HEAD_SCALE, TFN__GAIN, head, 1);
    }
}

/* Folds what follows the last matrix. The scale of heads goes into the matrix. The scale of the
 * branch goes into the norm of the branch if there is one, otherwise into the matrix. */
static void tfn__fold_output(const tfn__folding *f, int last)
{
    if (f->join.head_scale == TFN_HEAD_SCALE_AFTER && last == TFN__PART_O) {
        tfn__fold_head_scale_after(f, TFN__MATRIX);
        tfn__fold_head_scale_after(f, TFN__BIAS);
    }
    if (!f->join.norm_branch) {
        tfn__fold_columns(f, last, TFN__MATRIX);
        tfn__fold_columns(f, last, TFN__BIAS);
        return;
    }
    tfn__fold_columns(f, TFN__PART_NORM_BRANCH, TFN__GAIN);
    tfn__fold_columns(f, TFN__PART_NORM_BRANCH, TFN__BIAS);
    if (tfn__norm_rule_of(&f->to->desc, f->at)->kind == TFN_NORM_SEED)
        tfn__fold_columns(f, TFN__PART_NORM_BRANCH, TFN__ALPHA);
}

/* Returns the profiled scale of the skip here if it folds, or NULL. */
static const tfn__weight *tfn__skip_to_fold(const tfn__folding *f)
{
    int kind = TFN__GAIN;
    if (!tfn__folds_profile(&f->to->desc, f->at)) return NULL;
    if (f->join.skip.kind == TFN_SCALE_FOLDED) kind = TFN__FOLDED_SCALE;
    return tfn__weight_in(f->from, f->at, TFN__PART_SKIP, kind);
}

/* Folds Fixup's shift of the hidden units: u W_1 + b - s. */
static void tfn__fold_shift_1(const tfn__folding *f)
{
    const float shift = (float)tfn__old(f, TFN__PART_SHIFT_1, TFN__GAIN, 0, 0);
    const tfn__weight *w;
    float *bias = tfn__new(f, TFN__PART_W1, TFN__BIAS, &w);
    if (!bias) return;
    for (int32_t c = 0; c < w->cols; c++) bias[c] -= shift;
}

/* Folds one sub-layer from its input to its output. The skip comes last, because the shifts apply
 * to x: they must be in the biases before rows are divided for x' = w x. */
static void tfn__fold_sublayer(const tfn__folding *f)
{
    const tfn_model_desc *d = &f->to->desc;
    const bool ffn = tfn__in_ffn(f->at);
    const int last = ffn ? TFN__PART_W2 : TFN__PART_O;
    const tfn__weight *skip = tfn__skip_to_fold(f);
    if (tfn__folds_input(d, f->at))
        for (int32_t i = 0; i < tfn__stream(d); i++) tfn__fold_input(f, i);
    if (ffn && tfn__folds_shift_1(d, f->at)) tfn__fold_shift_1(f);
    tfn__fold_inner(f, last);
    tfn__fold_output(f, last);
    if (skip && tfn__skip_moves(d, f->at))
        tfn__fold_skip(f->to, f->at, tfn__weight_data(f->from, skip), tfn__skip_unit(d, f->at));
}

/* Calls a function for each sub-layer of each stack. */
static void tfn__fold_sublayers(tfn__folding *f, void (*fold)(const tfn__folding *f))
{
    const tfn_model_desc *d = &f->to->desc;
    for (int stack = TFN__IN_ENCODER; stack <= TFN__IN_DECODER; stack++) {
        const tfn__spot top = tfn__spot_of_stack(stack);
        const tfn__subs subs = tfn__subs_of(d, top);
        if (!tfn__has_stack(d, top)) continue;
        for (int32_t l = 0; l < tfn__depth(d, tfn__in_decoder(top)); l++)
            for (int i = 0; i < subs.count; i++) {
                f->at = tfn__spot_in(stack, l, (int)subs.kind[i]);
                f->join = tfn__join_at(d, f->at);
                fold(f);
            }
    }
}

TFN__SMALL_END
TFN__RARE

/* -- checks that both models compute the same function --------------------------------------- */

/* True if two rules of scales are equal. It compares numbers, not bits: -0 equals 0. */
static bool tfn__same_scale(const tfn_scale_rule *a, const tfn_scale_rule *b)
{
    const float x[] = { a->value, a->n, a->m, a->layer, a->unit };
    const float y[] = { b->value, b->n, b->m, b->layer, b->unit };
    for (int i = 0; i < 5; i++)
        if (x[i] < y[i] || x[i] > y[i]) return false;
    return a->kind == b->kind;
}
static bool tfn__same_join(const tfn_join *a, const tfn_join *b)
{
    return a->norm_in == b->norm_in && a->norm_branch == b->norm_branch
        && a->norm_sum == b->norm_sum && a->norm_inner == b->norm_inner && a->shifts == b->shifts
        && a->gate == b->gate && a->extra_last == b->extra_last && a->scales == b->scales
        && a->source == b->source && a->skip_from == b->skip_from && a->qk == b->qk
        && a->head_scale == b->head_scale && tfn__same_scale(&a->in, &b->in)
        && tfn__same_scale(&a->out, &b->out) && tfn__same_scale(&a->skip, &b->skip)
        && tfn__same_scale(&a->extra, &b->extra);
}

/* True if the rows of a stack agree at every kind of sub-layer in every layer. */
static bool tfn__same_rows(const tfn_model_desc *a, const tfn_model_desc *b, int stack)
{
    const tfn__spot top = tfn__spot_of_stack(stack);
    const tfn_topology *x = tfn__row(a, top);
    const tfn_topology *y = tfn__row(b, top);
    if (!tfn__has_stack(a, top)) return true;
    if (x->flags != y->flags || x->aggregate != y->aggregate) return false;
    for (int32_t l = 0; l < tfn__depth(a, tfn__in_decoder(top)); l++)
        for (int sub = 0; sub < TFN__NO_SUB; sub++) {
            const tfn__spot at = tfn__spot_in(stack, l, sub);
            const tfn_join j = tfn__join_at(a, at);
            const tfn_join k = tfn__join_at(b, at);
            if (!tfn__same_join(&j, &k)) return false;
        }
    return true;
}

/* True if the norms of a stack agree. Rows with the same name may be user's rows with other
 * numbers. */
static bool tfn__same_norm(const tfn_model_desc *a, const tfn_model_desc *b, int stack)
{
    const tfn_norm_rule *x = tfn__norm_rule_of(a, tfn__spot_of_stack(stack));
    const tfn_norm_rule *y = tfn__norm_rule_of(b, tfn__spot_of_stack(stack));
    if (x == y) return true;
    if (!tfn__equal(x->name, y->name) || x->kind != y->kind || x->flags != y->flags) return false;
    if (x->eps < y->eps || x->eps > y->eps || x->part < y->part || x->part > y->part) return false;
    return x->squash == y->squash;
}

/* Compares options by their bytes, which the resolver copied from the caller. */
#define TFN__SAME(field)                                                                           \
    { #field, offsetof(tfn_model_desc, field), sizeof(((tfn_model_desc *)0)->field) }
static bool tfn__same_bytes(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* Returns the name of the first option that makes the functions of two models differ, or NULL. Some
 * options of shapes and biases are not in the list, because the weights show them
 * (tfn__check_shapes). */
static const char *tfn__other_option(const tfn_model_desc *a, const tfn_model_desc *b)
{
    static const struct { char name[20]; size_t at, size; } options[] = {
        TFN__SAME(arch), TFN__SAME(vocab), TFN__SAME(width), TFN__SAME(layers), TFN__SAME(heads),
        TFN__SAME(kv_heads), TFN__SAME(head_size), TFN__SAME(embedding_size), TFN__SAME(ffn),
        TFN__SAME(map_last),
        TFN__SAME(head), TFN__SAME(bands), TFN__SAME(frame_map), TFN__SAME(segments),
        TFN__SAME(cutoffs), TFN__SAME(activation), TFN__SAME(position), TFN__SAME(rotary_base),
        TFN__SAME(untied), TFN__SAME(separate_source), TFN__SAME(scale_embedding),
        TFN__SAME(qk_norm), TFN__SAME(attention_cap), TFN__SAME(logit_cap), TFN__SAME(norm_eps),
        TFN__SAME(norm_factor), TFN__SAME(mup_base_width), TFN__SAME(attention_bias),
        TFN__SAME(output_bias), TFN__SAME(head_transform), TFN__SAME(pooler),
        TFN__SAME(rotary_size), TFN__SAME(rotary_scaling),
        TFN__SAME(rotary_factor), TFN__SAME(rotary_low), TFN__SAME(rotary_high),
        TFN__SAME(rotary_context), TFN__SAME(score_scale), TFN__SAME(scale_by_layer),
        TFN__SAME(relative_buckets), TFN__SAME(relative_distance), TFN__SAME(scale_output),
        TFN__SAME(window), TFN__SAME(window_from), TFN__SAME(window_period),
        TFN__SAME(window_shift), TFN__SAME(window_base), TFN__SAME(rotary_period),
        TFN__SAME(embedding_factor), TFN__SAME(branch_factor), TFN__SAME(logit_divisor),
        TFN__SAME(qkv_clip)
    };
    const char *x = (const char *)a;
    const char *y = (const char *)b;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!tfn__same_bytes(x + options[i].at, y + options[i].at, options[i].size))
            return options[i].name;
    if (tfn__is_pair(a) && a->decoder_layers != b->decoder_layers)
        return "decoder_layers";
    if (!tfn__same_norm(a, b, TFN__IN_ENCODER)) return "norm";
    if (!tfn__same_norm(a, b, TFN__IN_DECODER)) return "decoder_norm";
    if (a->no_bias && !b->no_bias) return "no_bias";
    if (!tfn__same_rows(a, b, TFN__IN_ENCODER)) return "topology";
    if (!tfn__same_rows(a, b, TFN__IN_DECODER)) return "decoder_topology";
    return NULL;
}

/* True if `to` is not folded and has no LoRA. Then only W + alpha/r A B is folded, and the model
 * can still train: gains, scales and statistics stay. */
static bool tfn__merges(const tfn_model *to)
{
    return !to->desc.folded && !tfn__has_lora(&to->desc);
}

/* True if a tied output has LoRA. Its matrix E^T + alpha/r A B then differs from the embedding. */
static bool tfn__tied_lora(const tfn_model *from)
{
    if (from->desc.untied) return false;
    return tfn__weight_in(from, tfn__spot_of_model(), TFN__PART_OUTPUT, TFN__LORA_A) != NULL;
}

/* Returns the option of `to` that differs from `from`, or NULL. If `from` has LoRA at a tied
 * output, `to` must be untied instead. With rows of length 1 (FixNorm) this is not possible. */
static const char *tfn__misfit(const tfn_model *to, const tfn_model *from)
{
    tfn_model_desc desc = from->desc;
    if (tfn__tied_lora(from) && !tfn__unit_table(&desc, false)) desc.untied = true;
    return tfn__other_option(&to->desc, &desc);
}

/* These are arrays because a linker drops an array with the code that reads it, but keeps a
 * string. */
static const char tfn__fold_tied[] = "LoRA of a tied output does not change the embedding: the "
                                     "model to fold into must be untied";
static const char tfn__fold_options[] = "the models must have the same options, but folded";
static const char tfn__fold_option[] = "the models must have the same options, but folded: %s "
                                       "differs";
static const char tfn__fold_shape[] = "the models must have the same options, but folded: %s has "
                                      "another shape";

/* Checks that `to` is folded or has no LoRA, that `from` is not folded, that neither is packed, and
 * that their other options match. */
static void tfn__check_fold(tfn_model *to, const tfn_model *from)
{
    const char *other = tfn__misfit(to, from);
    if (tfn__tied_lora(from) && !to->desc.untied)
        tfn__fail(&to->error, TFN_BAD_OPTION, "fold", tfn__fold_tied, 0, 0);
    if (to->desc.weights || from->desc.weights)
        tfn__fail(&to->error, TFN_BAD_OPTION, "fold",
                  "weights are %d, but only floats (0) can be folded: fold, then quantize",
                  (int64_t)(to->desc.weights | from->desc.weights), 0);
    if (from->desc.folded || !(to->desc.folded || tfn__merges(to)))
        tfn__fail(&to->error, TFN_BAD_OPTION, "fold", tfn__fold_options, 0, 0);
    if (other)
        tfn__fail_name(&to->error, TFN_BAD_OPTION, "fold", tfn__fold_option, other);
}

/* Reports an error that names a weight. */
static void tfn__fail_weight(tfn_model *to, const char *text, const tfn__weight *w)
{
    char name[sizeof to->error.name];
    tfn__text t = tfn__text_in(name, sizeof name);
    tfn__weight_name(w, &t);
    tfn__end(&t);
    tfn__fail_name(&to->error, TFN_BAD_OPTION, "fold", text, name);
}

/* Rejects profiled scales of a skip with values that the fold cannot handle. The error names the
 * weight. */
static void tfn__check_sublayer(const tfn__folding *f)
{
    const tfn__weight *skip = tfn__skip_to_fold(f);
    const float *w;
    if (!skip) return;
    w = tfn__weight_data(f->from, skip);
    if (tfn__skip_is_one(&f->to->desc, f->at)) {
        for (int32_t i = 0; i < skip->cols; i++)
            if (w[i] < 1 || w[i] > 1)
                tfn__fail_weight(f->to, "%s is not 1, and no norm before it can absorb it", skip);
        return;
    }
    if (!tfn__divides(w, skip->cols, tfn__skip_unit(&f->to->desc, f->at)))
        tfn__fail_weight(f->to, "%s is too small or too large to divide matrices by it", skip);
}

/* Returns the weight of `from` that matches a weight of `to`, or NULL. */
static const tfn__weight *tfn__counterpart(const tfn_model *from, const tfn__weight *w)
{
    return tfn__weight_in(from, tfn__spot_of(w), w->part, w->kind);
}

/* Returns the embedding (V, E) of a tied `from` if w is the output matrix of an untied model, which
 * starts as its transpose; otherwise NULL. */
static const tfn__weight *tfn__untied_from(const tfn_model *from, const tfn__weight *w)
{
    if (w->part != TFN__PART_OUTPUT || w->kind != TFN__MATRIX || from->desc.untied) return NULL;
    return tfn__weight_in(from, tfn__spot_of_model(), TFN__PART_EMBEDDING, TFN__MATRIX);
}

/* Checks that each weight of `to` has a match in `from`, except that biases may be new, and so may
 * the matrix of an output that was tied. LoRA cannot be added to W if `to` keeps a gamma, which
 * would multiply it. */
static void tfn__check_shapes(tfn_model *to, const tfn_model *from)
{
    if (tfn__merges(to) && tfn__has_lora(&from->desc))
        for (int32_t i = 0; i < to->weight_count; i++)
            if (to->weights[i].kind == TFN__GAMMA)
                tfn__fail_weight(to, "LoRA is added to gamma/sigma W, but %s stays: set folded",
                                 to->weights + i);
    for (int32_t i = 0; i < to->weight_count; i++) {
        const tfn__weight *w = to->weights + i;
        const tfn__weight *old = tfn__counterpart(from, w);
        if (!old && (w->kind == TFN__BIAS || tfn__untied_from(from, w))) continue;
        if (old && old->rows == w->rows && old->cols == w->cols) continue;
        tfn__fail_weight(to, tfn__fold_shape, w);
    }
}

TFN__RARE_END
TFN__SMALL

/* -- outside the sub-layers ------------------------------------------------------------------ */

/* y (cols, rows) = x^T, for x (rows, cols). */
static void tfn__copy_transposed(float *y, const float *x, int32_t rows, int32_t cols)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) y[c*rows + r] = x[r*cols + c];
}

/* Copies the trained weights. New biases are 0, and a new output matrix is the embedding's
 * transpose. */
static void tfn__fold_copy(tfn_model *to, const tfn_model *from)
{
    for (int32_t i = 0; i < to->weight_count; i++) {
        const tfn__weight *w = to->weights + i;
        const tfn__weight *old = tfn__counterpart(from, w);
        const size_t bytes = (size_t)w->rows * (size_t)w->cols * sizeof(float);
        const tfn__weight *table = tfn__untied_from(from, w);
        float *data = tfn__weight_data(to, w);
        if (old) TFNORM_MEMCPY(data, tfn__weight_data(from, old), bytes);
        else if (table) tfn__copy_transposed(data, tfn__weight_data(from, table), table->rows,
                                             table->cols);
        else TFNORM_MEMSET(data, 0, bytes);
    }
}

/* Replaces W by gamma/sigma W with sigma = u^T W v. If W is 0, sigma counts as 1. */
static void tfn__fold_sigma(tfn_model *to, const tfn_model *from, const tfn__weight *gamma)
{
    const tfn__spot at = tfn__spot_of(gamma);
    const tfn__weight *w = tfn__weight_in(to, at, gamma->part, TFN__MATRIX);
    const tfn__weight *left = tfn__weight_in(from, at, gamma->part, TFN__SIGMA_U);
    const tfn__weight *right = tfn__weight_in(from, at, gamma->part, TFN__SIGMA_V);
    const float *u = tfn__weight_data(from, left);
    const float *v = tfn__weight_data(from, right);
    float ratio = *tfn__weight_data(from, gamma);
    float *p = tfn__weight_data(to, w);
    double sigma = 0;
    for (int32_t r = 0; r < w->rows; r++) {
        const float dot = to->kernels->dot(p + (int64_t)r * w->cols, v, w->cols);
        sigma += (double)u[r] * (double)dot;
    }
    if (sigma < 0 || sigma > 0) ratio /= (float)sigma;
    for (int64_t i = 0; i < (int64_t)w->rows * w->cols; i++) p[i] *= ratio;
}

/* Replaces W by W + alpha/r A B (Hu et al. 2021, section 4.1), summing over r in double. */
static void tfn__fold_lora(tfn_model *to, const tfn_model *from, const tfn__weight *left)
{
    const tfn__spot at = tfn__spot_of(left);
    const int group = tfn__lora_group(&from->desc, at, left->part);
    const tfn__weight *w = tfn__weight_in(to, at, left->part, TFN__MATRIX);
    const float *a = tfn__weight_data(from, left);
    const float *b = tfn__weight_data(from, tfn__weight_in(from, at, left->part, TFN__LORA_B));
    float *p = tfn__weight_data(to, w);
    const int32_t rank = left->cols;
    double factor;
    if (group < 0) return;                  /* a build without groups has no LoRA */
    factor = (double)from->desc.groups[group].alpha / rank;
    for (int32_t r = 0; r < w->rows; r++)
        for (int32_t c = 0; c < w->cols; c++) {
            double sum = 0;
            for (int32_t k = 0; k < rank; k++)
                sum += (double)a[(int64_t)r*rank + k] * (double)b[(int64_t)k*w->cols + c];
            p[(int64_t)r*w->cols + c] += (float)(factor * sum);
        }
}

/* Normalizes embeddings whose rows are read with length 1 (FixNorm), and replaces the learned
 * weights of mixed layers by their softmax. */
static void tfn__fold_tables(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const tfn__spot at = tfn__spot_of(w);
        float *p = tfn__weight_data(m, w);
        if (w->part == TFN__PART_EMBEDDING
            && tfn__unit_table(&m->desc, at.stack == TFN__IN_ENCODER))
            for (int32_t r = 0; r < w->rows; r++)
                tfn__unit_vector(p + (int64_t)r * w->cols, w->cols, 1);
        if (w->part == TFN__PART_MEMORY_MIX) m->kernels->softmax_forward(p, p, 1, w->cols);
        if (w->part == TFN__PART_MIX && tfn__row(&m->desc, at)->mix.softmax)
            m->kernels->softmax_forward(p, p, w->rows, w->cols);
    }
}

/* Subtracts the mean from each row that is added to the stream: of tables, of W_O and W_2, and
 * their biases. Then the stream has mean 0, and LayerNorm subtracts nothing. */
static void tfn__centre(const tfn_model *m, const tfn__weight *w)
{
    float *p = m->params + w->at;
    if (w->part != TFN__PART_O && w->part != TFN__PART_W2 && !tfn__is_table(w->part)) return;
    if (w->part == TFN__PART_RELATIVE) return;              /* it adds to scores */
    for (int32_t r = 0; r < w->rows; r++, p += w->cols) {
        double sum = 0;
        for (int32_t c = 0; c < w->cols; c++) sum += (double)p[c];
        for (int32_t c = 0; c < w->cols; c++) p[c] -= (float)(sum / w->cols);
    }
}

#if TFN__PACKS
/* Checks that `to` is packed, `from` is not, and that their weights match, except that `to` may
 * have LoRA. Errors name the difference, as in tfn_model_fold. */
static void tfn__check_quantize(tfn_model *to, const tfn_model *from)
{
    const char *other = tfn__other_option(&to->desc, &from->desc);
    if (!to->desc.weights || from->desc.weights)
        tfn__fail(&to->error, TFN_BAD_OPTION, "quantize",
                  "`to` needs desc.weights, `from` floats: they are %d and %d",
                  (int64_t)to->desc.weights, (int64_t)from->desc.weights);
    if (to->desc.folded != from->desc.folded) other = "folded";
    if (other)
        tfn__fail_name(&to->error, TFN_BAD_OPTION, "quantize",
                       "the models must have the same options but weights: %s differs", other);
    for (int32_t i = 0; i < to->weight_count; i++) {
        const tfn__weight *w = to->weights + i;
        const tfn__weight *old = tfn__counterpart(from, w);
        if (tfn__is_lora(w)) continue;
        if (old && old->rows == w->rows && old->cols == w->cols) continue;
        tfn__fail_weight(to, "the models must have the same options but weights: %s has another "
                         "shape", w);
    }
}

TFNORM_API tfn_status tfn_model_quantize(tfn_model *to, const tfn_model *from)
{
    if (!to || !from) return TFN_NULL;
    tfn__made(&to->error, "quantize", to->weights);
    if (!from->weights && from->error.status == TFN_OK)
        tfn__fail(&to->error, TFN_NOT_READY, "quantize", "`from` was not initialized", 0, 0);
    if (from->error.status != TFN_OK && from->error.status != TFN_BAD_BATCH)
        return from->error.status;
    if (to->error.status == TFN_OK) tfn__check_quantize(to, from);
    if (to->error.status != TFN_OK) return to->error.status;
    for (int32_t i = 0; i < to->weight_count; i++) {
        const tfn__weight *w = to->weights + i;
        const tfn__weight *old = tfn__counterpart(from, w);
        const tfn__packed p = { tfn__type_of(w), w->table, w->rows, w->cols };
        float *data = tfn__weight_data(to, w);
        if (!old) continue;                                     /* LoRA's */
        if (p.type) tfn__pack_param(data, &p, tfn__weight_data(from, old));
        else TFNORM_MEMCPY(data, tfn__weight_data(from, old),
                           (size_t)w->rows * (size_t)w->cols * sizeof *data);
    }
    if (to->desc.inference) to->step = from->step;          /* otherwise training starts anew */
    return TFN_OK;
}
#endif

/* Checks everything, then copies, then folds. sigma is computed from the trained matrices, so it
 * comes first. Centring changes what the other folds have written, so it comes last. */
TFNORM_API tfn_status tfn_model_fold(tfn_model *to, const tfn_model *from)
{
    tfn__folding f;
    if (!to || !from) return TFN_NULL;
    tfn__made(&to->error, "fold", to->weights);
    if (!from->weights && from->error.status == TFN_OK)
        tfn__fail(&to->error, TFN_NOT_READY, "fold", "`from` was not initialized", 0, 0);
    if (from->error.status != TFN_OK && from->error.status != TFN_BAD_BATCH)
        return from->error.status;
    if (to->error.status == TFN_OK) tfn__check_fold(to, from);
    if (to->error.status == TFN_OK) tfn__check_shapes(to, from);
    if (to->error.status != TFN_OK) return to->error.status;

    TFNORM_MEMSET(&f, 0, sizeof f);
    f.to = to;
    f.from = from;
    if (to->desc.folded) tfn__fold_sublayers(&f, tfn__check_sublayer);
    if (to->error.status != TFN_OK) return to->error.status;

    tfn__fold_copy(to, from);
    to->step = from->step;
    for (int32_t i = 0; i < from->weight_count; i++) {
        const tfn__weight *w = from->weights + i;
        if (w->kind == TFN__GAMMA && !tfn__counterpart(to, w)) tfn__fold_sigma(to, from, w);
    }
    for (int32_t i = 0; i < from->weight_count; i++)
        if (from->weights[i].kind == TFN__LORA_A) tfn__fold_lora(to, from, from->weights + i);
    if (!to->desc.folded) return TFN_OK;
    tfn__fold_tables(to);
    tfn__fold_sublayers(&f, tfn__fold_sublayer);
    if (tfn__centred(&to->desc))
        for (int32_t i = 0; i < to->weight_count; i++) tfn__centre(to, to->weights + i);
    return TFN_OK;
}
TFN__SMALL_END
