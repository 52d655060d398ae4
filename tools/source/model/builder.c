#include "builder.h"
#include "../ground/math.h"
#include "../kernels/products.h"
#include "../tape/record.h"
#include "options.h"
#include "resolve.h"

TFN__RARE
/* The builder records a whole model on a tape. It walks through the stacks, their layers and the
 * sub-layers of these, from the tokens to the loss; training, evaluation and one-token decoding are
 * recorded by the same functions. Topologies are data here. A sub-layer F, attention or feed-
 * forward, with the input x in a layer that began with x_0, is joined to the stream by
 *
 *     u = in * N_in(source) - s               source: x, x_0, or the u of the layer's first F
 *     p = Drop(N_branch(F(u)))
 *     z = skip * from + out * p + extra * x_0       from: x, N_in(x), or x_0
 *     x = N_sum(z)
 *
 * where every norm, scale and shift is absent unless the join of the topology's row has it. So
 * Post-LN has N_sum alone, Pre-LN N_in alone, DeepNorm N_sum and a constant skip.
 *
 * Parameters are found by where they belong: the spot (stack, layer, sub-layer), their part in it
 * (W_q, the norm before F) and their kind (matrix, bias, gain). The first tape makes them in the
 * order in which it wants them, which is the order of the flat vector; later tapes find them again.
 * A spot is a value of four bytes that goes down with the calls. What belongs elsewhere is asked
 * for with another one: a gain that the sub-layers of a layer share belongs to no sub-layer, a
 * shared embedding to no stack. The order of calls is the order of nodes and of parameters, hence
 * part of the bits: two calls that record never stand in one argument list. */

/* -- what a plain build leaves out ------------------------------------------------------------ */

/* A plain build (TFN__ALL is false: no training, no other norms) has the plain rows only, and
 * refuses the options below when it resolves a description. Asked through these functions they are
 * constants there, and the compiler drops the code that depends on them. */
SHARED bool tfn__is_folded(const tfn_model_desc *d)  { return TFN__ALL && d->folded; }
SHARED bool tfn__is_half(const tfn_model_desc *d)    { return TFN__ALL && d->half; }
SHARED bool tfn__convolves(const tfn_model_desc *d)
{
    return TFN__ALL && d->bands > 0 && d->frame_map == TFN_FRAME_MAP_CONVOLUTIONS;
}
/* Floats that a weight takes in its region; of a packed one, its bytes, counted in floats. */
SHARED int64_t tfn__weight_floats(const tfn__weight *w)
{
    const tfn__packed p = { tfn__type_of(w), TFN__PACKS && w->table, w->rows, w->cols };
    if (TFN__PACKS && p.type) return (int64_t)(tfn__packed_bytes(&p) / sizeof(float));
    return (int64_t)w->rows * w->cols;
}
SHARED bool tfn__is_watched(const tfn_model_desc *d) { return TFN__ALL && d->probes; }
SHARED bool tfn__caps_logits(const tfn_model_desc *d) { return TFN__ALL && d->logit_cap > 0; }

/* Of a join. */
SHARED bool tfn__gates(const tfn_join *j)         { return TFN__ALL && j->gate; }
SHARED bool tfn__shifts(const tfn_join *j)        { return TFN__ALL && j->shifts; }
SHARED bool tfn__scales_hidden(const tfn_join *j) { return TFN__ALL && j->scales; }
SHARED bool tfn__has_inner_norm(const tfn_join *j) { return TFN__ALL && j->norm_inner; }
SHARED bool tfn__has_last_extra(const tfn_join *j) { return TFN__ALL && j->extra_last; }
SHARED bool tfn__interpolates(const tfn_join *j)
{
    return TFN__ALL && j->skip.kind == TFN_SCALE_LERP;
}
SHARED tfn_source tfn__source_of(const tfn_join *j)
{
    if (!TFN__ALL) return TFN_SOURCE_STREAM;
    return j->source;
}
SHARED bool tfn__has_head_scale(const tfn_join *j, tfn_head_scale where)
{
    return TFN__ALL && j->head_scale == where;
}

/* A flag of norms beyond gain and bias. */
SHARED bool tfn__norm_has(const tfn_norm_rule *norm, uint32_t flag)
{
    return TFN__ALL && (norm->flags & flag) != 0;
}

/* Of a scale: the schedule, and the unit in which a learned one is stored. */
SHARED bool tfn__is_scheduled(const tfn_scale_rule *s)
{
    return TFN__ALL && s->kind == TFN_SCALE_SCHEDULED;
}
SHARED float tfn__unit_of(const tfn_scale_rule *s)
{
    if (!TFN__ALL) return 1;
    return tfn__positive_or(s->unit, 1);
}

/* Scales beyond constants and learned ones; joins that a row of the user can have in a plain build,
 * where they are an error. */
SHARED bool tfn__is_refused_scale(const tfn_scale_rule *s)
{
    if (!TFN__SCALES) return s->kind != TFN_SCALE_NONE;
    return !TFN__ALL && s->kind > TFN_SCALE_VECTOR;
}
/* Why a join is refused; NULL: it is not. Scales can be left out of a build that has all else,
 * where a row of the library's is as wrong without them as one of the caller's. */
SHARED const char *tfn__refusal(const tfn_join *j)
{
    const bool beyond = tfn__is_refused_scale(&j->in) || tfn__is_refused_scale(&j->out)
                     || tfn__is_refused_scale(&j->skip) || tfn__is_refused_scale(&j->extra);
    if (!TFN__SCALES && beyond) return "scales are left out by TFNORM_NO_SCALES";
    if (TFN__ALL) return NULL;
    if (j->norm_inner || j->shifts || j->gate || j->extra_last || j->scales || beyond)
        return tfn__plain_only;
    if (j->source != TFN_SOURCE_STREAM || j->qk > TFN_QK_NORM_NONE) return tfn__plain_only;
    if (j->head_scale != TFN_HEAD_SCALE_NONE) return tfn__plain_only;
    return NULL;
}

/* -- spots: where something belongs ------------------------------------------------------------ */
enum { TFN__NO_LAYER = -1 };

SHARED tfn__spot tfn__spot_in(int stack, int32_t layer, int sub)
{
    tfn__spot at;
    at.layer = (int16_t)layer;
    at.stack = (uint8_t)stack;
    at.sub = (uint8_t)sub;
    return at;
}

/* What belongs to the whole model, to a stack, to a layer, to the layer of a sub-layer. */
SHARED tfn__spot tfn__spot_of_model(void)
{
    return tfn__spot_in(TFN__NO_STACK, TFN__NO_LAYER, TFN__NO_SUB);
}
SHARED tfn__spot tfn__spot_of_stack(int stack)
{
    return tfn__spot_in(stack, TFN__NO_LAYER, TFN__NO_SUB);
}
SHARED tfn__spot tfn__spot_of_layer(int stack, int32_t layer)
{
    return tfn__spot_in(stack, layer, TFN__NO_SUB);
}
SHARED tfn__spot tfn__layer_of(tfn__spot at)
{
    return tfn__spot_in(at.stack, at.layer, TFN__NO_SUB);
}
SHARED tfn__spot tfn__spot_of(const tfn__weight *w)
{
    return tfn__spot_in(w->stack, w->layer, w->sub);
}

/* Questions about a spot. */
SHARED bool tfn__in_decoder(tfn__spot at)  { return at.stack == TFN__IN_DECODER; }
static bool tfn__in_sublayer(tfn__spot at) { return at.sub < TFN__NO_SUB; }
SHARED bool tfn__in_ffn(tfn__spot at)
{
    return at.sub == TFN_SUBLAYER_FFN || at.sub == TFN_SUBLAYER_FFN_BEFORE;
}

/* An encoder alone and a decoder alone are the only stacks of their models. */
SHARED bool tfn__has_stack(const tfn_model_desc *d, tfn__spot at)
{
    if (tfn__in_decoder(at)) return !tfn__is_encoder_alone(d);
    return !tfn__is_decoder_alone(d);
}

/* The stack whose output the model's end reads. */
SHARED tfn__spot tfn__last_stack(const tfn_model_desc *d)
{
    if (tfn__is_encoder_alone(d)) return tfn__spot_of_stack(TFN__IN_ENCODER);
    return tfn__spot_of_stack(TFN__IN_DECODER);
}

/* The stack whose tokens are the source; every other stack reads the target. */
SHARED bool tfn__reads_source(const tfn_model_desc *d, tfn__spot at)
{
    return at.stack == TFN__IN_ENCODER && tfn__is_pair(d);
}

/* Options that a stack has of its own: its topology and its norm. */
SHARED const tfn_topology *tfn__stack_row(const tfn_model_desc *d, int32_t stack)
{
    return stack == TFN__IN_DECODER ? d->decoder_topology : d->topology;
}
SHARED const tfn_topology *tfn__row(const tfn_model_desc *d, tfn__spot at)
{
    return tfn__stack_row(d, at.stack);
}
SHARED const tfn_norm_rule *tfn__norm_rule_of(const tfn_model_desc *d, tfn__spot at)
{
    if (tfn__in_decoder(at)) return tfn__norm_row(d->decoder_norm_rule, d->decoder_norm);
    return tfn__norm_row(d->norm_rule, d->norm);
}

/* A flag of the stack's row: plain rows have a final norm and an embedding norm. */
SHARED bool tfn__has_plain(const tfn_model_desc *d, tfn__spot at, uint32_t flag)
{
    return (tfn__row(d, at)->flags & flag) != 0;
}
SHARED bool tfn__has(const tfn_model_desc *d, tfn__spot at, uint32_t flag)
{
    return TFN__ALL && tfn__has_plain(d, at, flag);
}

/* How the inputs of this stack's layers come from all layers before them. */
SHARED tfn_aggregate tfn__aggregate_of(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL) return TFN_AGGREGATE_NONE;
    return tfn__row(d, at)->aggregate;
}

/* The join of a sub-layer. It is asked for where it is wanted, not carried along: a row's rule is a
 * function of the place alone. Rules count layers from 1. */
SHARED tfn_join tfn__join_at(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_place place = tfn__place_at(d, tfn__in_decoder(at), (tfn_sublayer)at.sub,
                                          at.layer + 1);
    return tfn_topology_join(tfn__row(d, at), &place);
}

/* What an attention does to its queries and keys: the option, or what the row says. */
SHARED tfn_qk_norm tfn__qk_form(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL) return TFN_QK_NORM_NONE;
    if (d->qk_norm != TFN_QK_NORM_DEFAULT) return d->qk_norm;
    return tfn__join_at(d, at).qk;
}

/* value * N^n * M^m * l^layer, with the depths N of the encoder, M of the decoder; 1 without a
 * scale. */
SHARED float tfn__rule_value(const tfn_model_desc *d, const tfn_scale_rule *s, tfn__spot at)
{
    const int32_t layer = (int32_t)tfn__max(at.layer + 1, 1);
    double v = (double)s->value;
    if (!TFN__SCALES || s->kind == TFN_SCALE_NONE) return 1;
    v *= tfn__pow(tfn__depth(d, false), (double)s->n)
       * tfn__pow(tfn__depth(d, true), (double)s->m);
    return (float)(v * tfn__pow(layer, (double)s->layer));
}

SHARED tfn__subs tfn__subs_of(const tfn_model_desc *d, tfn__spot at)
{
    const bool cross = tfn__in_decoder(at) && tfn__is_pair(d);
    tfn__subs subs;
    subs.count = 0;
    if (tfn__has(d, at, TFN_TOPOLOGY_MACARON)) subs.kind[subs.count++] = TFN_SUBLAYER_FFN_BEFORE;
    subs.kind[subs.count++] = TFN_SUBLAYER_SELF_ATTENTION;
    if (cross) subs.kind[subs.count++] = TFN_SUBLAYER_CROSS_ATTENTION;
    subs.kind[subs.count++] = TFN_SUBLAYER_FFN;
    return subs;
}

/* The place of a sub-layer of the layer of `at`. */
SHARED tfn__spot tfn__sublayer_at(tfn__spot at, tfn_sublayer kind)
{
    return tfn__spot_in(at.stack, at.layer, (int)kind);
}

/* -- parameters: a table over one flat vector -------------------------------------------------- */
static const char *const tfn__kind_names[] = { TFN__KINDS(TFN__NAME) };

/* "decoder.3.self.q.weight" */
SHARED void tfn__weight_name(const tfn__weight *w, tfn__text *t)
{
    static const char *const stacks[] = { "", "encoder.", "decoder." };
    static const char *const subs[] = { "self.", "cross.", "ffn.", "before.", "" };
    tfn__put(t, stacks[w->stack]);
    if (w->layer >= 0) tfn__put_int(t, NULL, w->layer, ".");
    tfn__put_texts(t, subs[w->sub], tfn__part_names[w->part], tfn__kind_names[w->kind]);
}

/* What has no group where others have LoRA: frozen, and otherwise like what has none. */
enum { TFN__BASE = -2 };

/* Its group; -1: none, as everywhere in a build without groups. */
SHARED int tfn__own_group(const tfn__weight *w)
{
    if (!TFN__GROUPS) return -1;
    return w->group;
}

/* No step changes the weight. */
SHARED bool tfn__is_frozen(const tfn_model_desc *d, const tfn__weight *w)
{
    const int group = tfn__own_group(w);
    if (group == TFN__BASE) return true;
    return group >= 0 && d->groups[group].frozen;
}

SHARED bool tfn__is_lora(const tfn__weight *w)
{
    return w->kind == TFN__LORA_A || w->kind == TFN__LORA_B;
}

/* The group with a rank that the linear map of this part is in, by the name of its matrix; -1: it
 * has no LoRA, or no longer, in a folded model. */
SHARED int tfn__lora_group(const tfn_model_desc *d, tfn__spot at, int part)
{
    char name[sizeof ((tfn_param_info *)0)->name];
    tfn__text t = tfn__text_in(name, sizeof name);
    tfn__weight matrix;
    if (!tfn__has_lora(d) || d->folded) return -1;
    TFNORM_MEMSET(&matrix, 0, sizeof matrix);
    matrix.layer = at.layer;
    matrix.stack = at.stack;
    matrix.sub = at.sub;
    matrix.part = (uint8_t)part;
    matrix.kind = TFN__MATRIX;
    tfn__weight_name(&matrix, &t);
    return tfn__group_named(d, tfn__end(&t), true);
}

/* Where its gradient and its moments stand in their flat vectors; below 0: it has none. */
SHARED int64_t tfn__trained_at(const tfn__weight *w) { return 16 * (int64_t)w->line; }

/* A search through the list: a model has some hundred weights, and looks them up when its tapes are
 * recorded, never when they run. */
SHARED const tfn__weight *tfn__find_weight(const tfn__weight *weights, int32_t count,
                                           tfn__spot at, int part, int kind)
{
    for (int32_t i = 0; i < count; i++) {
        const tfn__weight *w = weights + i;
        if (w->part == part && w->kind == kind && w->layer == at.layer && w->stack == at.stack
            && w->sub == at.sub) return w;
    }
    return NULL;
}

/* The group of a new weight: by its name, but that u and v of sigmaReparam go with their matrix,
 * updates are counted whatever is frozen, A and B of LoRA are else in the group with their rank,
 * and beside LoRA what is in no group is frozen. */
static int tfn__group_of(const tfn__builder *b, const tfn__weight *w)
{
    char name[sizeof ((tfn_param_info *)0)->name];
    tfn__text t = tfn__text_in(name, sizeof name);
    int group;
    if (!TFN__TRAINS || b->d->inference || w->kind == TFN__UPDATES) return -1;
    if (!TFN__GROUPS) return -1;
    if (w->kind >= TFN__SIGMA_U)
        return tfn__find_weight(b->weights, b->count, tfn__spot_of(w), w->part, TFN__MATRIX)->group;
    tfn__weight_name(w, &t);
    group = tfn__group_named(b->d, tfn__end(&t), false);
    if (group >= 0) return group;
    if (tfn__is_lora(w)) return tfn__lora_group(b->d, tfn__spot_of(w), w->part);
    if (tfn__has_lora(b->d)) return TFN__BASE;
    return -1;
}

/* Its group, and its place in the flat vector of what trains. A line is a cache line of 16 floats,
 * so that 32 bits hold the place of 2^35 floats. */
static void tfn__join_group(tfn__builder *b, tfn__weight *w)
{
    w->line = -1;
    w->group = (int8_t)tfn__group_of(b, w);
    if (!TFN__TRAINS || b->d->inference) return;
    if (w->kind >= TFN__STATE || tfn__is_frozen(b->d, w)) return;
    if (tfn__type_of(w))
        tfn__tape_error(b->t, TFN_BAD_OPTION, "weights", "weights of fewer bits do not train: "
                        "desc.inference, or desc.groups with LoRA, or with all frozen", 0, 0);
    if (b->trained / 16 >= INT32_MAX) tfn__tape_error(b->t, TFN_TOO_LARGE, "model", NULL, 0, 0);
    w->line = (int32_t)(b->trained / 16);
    b->trained += tfn__padded((int64_t)w->rows * w->cols);
}

/* The next of the flat vector, or of the buffers for state; each begins at a multiple of 16 floats,
 * a cache line. `initial` is where it starts if its init rule draws nothing. The table takes its
 * row from the end of the tape's block. */
SHARED tfn__weight *tfn__new_weight(tfn__builder *b, tfn__spot at, int part, int kind,
                                    const tfn__packed *shape, float initial)
{
    int64_t *floats = kind >= TFN__STATE ? &b->buffers : &b->floats;
    tfn__weight *w;
    if (!b->grows || !tfn__has_room(b->t, "model", sizeof *w)) return NULL;
    b->t->size -= sizeof *w;
    b->count++;
    w = --b->weights;
    w->at = *floats;
    w->rows = shape->rows;
    w->cols = shape->cols;
    if (TFN__PACKS) w->weights = (uint8_t)shape->type;
    if (TFN__PACKS) w->table = shape->table;
    w->layer = at.layer;
    w->stack = at.stack;
    w->sub = at.sub;
    w->part = (uint8_t)part;
    w->kind = (uint8_t)kind;
    w->initial = initial;
    *floats += tfn__padded(tfn__weight_floats(w));
    tfn__join_group(b, w);
    return w;
}

/* The parameter (rows, cols) of a place: made by the first tape, found again by the others. One
 * that several sub-layers share must be one node: the flags of its gradient are counted by node. */
static tfn_var tfn__weight_shaped(tfn__builder *b, tfn__spot at, int part, int kind,
                                  const tfn__packed *shape, float initial)
{
    const bool shared = !tfn__in_sublayer(at) || part == TFN__PART_QK_SCALE;
    const tfn__weight *w = tfn__find_weight(b->weights, b->count, at, part, kind);
    if (!w) w = tfn__new_weight(b, at, part, kind, shape, initial);
    if (!w) return tfn__none;
    if (kind >= TFN__STATE) return tfn__buffer_at(b->t, shape->rows, shape->cols, w->at);
    return tfn__param_at(b->t, shape, w->at, tfn__trained_at(w), shared);
}
/* The same of floats, as nearly all are. */
SHARED tfn_var tfn__weight_of(tfn__builder *b, tfn__spot at, int part, int kind, int32_t rows,
                              int32_t cols, float initial)
{
    const tfn__packed shape = { TFN_WEIGHTS_FLOAT, false, rows, cols };
    return tfn__weight_shaped(b, at, part, kind, &shape, initial);
}

/* A matrix that linear maps alone read, or a table of words: packed, if the model's are. Others
 * that are called matrices are not: positions, segments, convolutions, and the maps between the
 * clusters of words, which are read in both directions. */
SHARED tfn_var tfn__matrix_at(tfn__builder *b, tfn__spot at, int part, int32_t rows, int32_t cols,
                              bool table)
{
    const tfn__packed shape = { b->d->weights, table, rows, cols };
    if (!TFN__PACKS) return tfn__weight_of(b, at, part, TFN__MATRIX, rows, cols, 0);
    return tfn__weight_shaped(b, at, part, TFN__MATRIX, &shape, 0);
}

/* A learned scalar or vector. */
SHARED tfn_var tfn__gain_at(tfn__builder *b, tfn__spot at, int part, int32_t cols, float initial)
{
    return tfn__weight_of(b, at, part, TFN__GAIN, 1, cols, initial);
}

/* The count of updates that scheduled scales read, one for the whole model. It is saved with the
 * weights: without it they mean nothing. */
SHARED tfn_var tfn__updates_of(tfn__builder *b)
{
    return tfn__weight_of(b, tfn__spot_of_model(), TFN__PART_SCHEDULE, TFN__UPDATES, 1, 1, 0);
}

/* -- probes: numbers of what is watched -------------------------------------------------------- */

/* A point of a sub-layer or stack can be watched, on every tape that the builder records. */
SHARED tfn_var tfn__point_at(tfn__builder *b, tfn__spot at, tfn_watched point, tfn_var x)
{
    int32_t id = (int32_t)point;
    if (!tfn__is_watched(b->d)) return x;
    if (tfn__in_sublayer(at)) id |= at.sub << TFN__KIND_BIT;
    if (tfn__in_decoder(at)) id |= 1 << TFN__DECODER_BIT;
    if (at.layer > 0) id |= at.layer << TFN__LAYER_BIT;
    tfn_probe(b->t, x, id);
    return x;
}

/* The profile sees the branch, then the skip before its scale: see tfn__profile_probe. */
SHARED void tfn__probe_profile(tfn__builder *b, tfn__spot at, tfn_scale_kind skip, tfn_var x,
                               tfn_var p)
{
    int kind = TFN__GAIN;
    const tfn__weight *w;
    int32_t id;
    if (!TFN__ALL || !b->t->training) return;
    if (skip == TFN_SCALE_FOLDED) kind = TFN__FOLDED_SCALE;
    else if (skip != TFN_SCALE_PROFILED) return;
    w = tfn__find_weight(b->weights, b->count, at, TFN__PART_SKIP, kind);
    if (!w) return;                             /* the evaluation's tape comes first and makes it */
    id = TFN__PROFILE + 2 * (int32_t)(w - b->weights);
    tfn_probe(b->t, p, id);
    tfn_probe(b->t, x, id + 1);
}

/* LSUV watches the outputs of linear maps. */
SHARED void tfn__probe_output(tfn__builder *b, tfn__spot at, int part, tfn_var y)
{
    const tfn__weight *w = tfn__find_weight(b->weights, b->count, at, part, TFN__MATRIX);
    if (w) tfn_probe(b->t, y, TFN__OUTPUTS + (int32_t)(w - b->weights));
}

/* -- what a folded model leaves out: see tfn_model_fold --------------------------------------- */

/* Each function says whether its derivation holds at a sub-layer. The builder asks it to leave
 * something out, the fold to put the same thing into weights: the two must ask the same question,
 * or the folded model is another function. Where none holds, a scale or norm stays as it was
 * trained, and the folded model is right with it. Those named tfn__folds_ are false for models that
 * are not folded. */

/* (u - s) W + b = u W + (b - s 1^T W): maps that read a shifted value have a bias that takes the
 * shift, in models without biases too. Keys and values of a cross-attention read the memory. */
static bool tfn__reads_shift(const tfn_model_desc *d, tfn__spot at, int part)
{
    if (!tfn__in_sublayer(at) || !tfn__join_at(d, at).shifts) return false;
    switch (part) {
    case TFN__PART_K:
    case TFN__PART_V:  return at.sub == TFN_SUBLAYER_SELF_ATTENTION;
    case TFN__PART_Q:
    case TFN__PART_W1:
    case TFN__PART_W2:
    case TFN__PART_W3: return true;
    default:           return false;
    }
}

/* The linear map of this part has a bias. */
SHARED bool tfn__biased(const tfn_model_desc *d, tfn__spot at, int part)
{
    if (tfn__is_folded(d) && tfn__reads_shift(d, at, part)) return true;
    if (TFN__ALL && (part == TFN__PART_PROJECT_IN || part == TFN__PART_PROJECT_OUT)) return false;
    if (!d->no_bias && !tfn__has(d, at, TFN_TOPOLOGY_BIASLESS)) return true;
    if (!TFN__ALL || d->attention_bias == TFN_ATTENTION_BIAS_NONE) return false;
    if (part == TFN__PART_O) return d->attention_bias == TFN_ATTENTION_BIAS_ALL;
    return part == TFN__PART_Q || part == TFN__PART_K || part == TFN__PART_V;
}

/* What the first sub-layer of this layer reads, later ones read too. */
static bool tfn__first_is_read(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    if ((tfn_sublayer)at.sub != subs.kind[0]) return false;
    for (int i = 1; i < subs.count; i++)
        if (tfn__join_at(d, tfn__sublayer_at(at, subs.kind[i])).source == TFN_SOURCE_FIRST)
            return true;
    return false;
}

/* The matrix behind a norm of a sub-layer, the first of several, or -1: no matrix alone. */
static int tfn__reader_of_norm(tfn__spot at, int norm)
{
    switch (norm) {
    case TFN__PART_NORM_O: return TFN__PART_O;
    case TFN__PART_NORM_2: return TFN__PART_W2;
    case TFN__PART_NORM_IN:
        if (tfn__in_ffn(at)) return TFN__PART_W1;
        return TFN__PART_Q;
    default: return -1;
    }
}

/* (g n + t) W = n (g W) + t W: the affine part of a norm that linear maps of this sub-layer alone
 * read. t wants a bias, and so do the means of a batch. SeeDNorm's factor of n is no constant. */
SHARED bool tfn__folds_norm(const tfn_model_desc *d, tfn__spot at, int part)
{
    const tfn_norm_rule *norm = tfn__norm_rule_of(d, at);
    const bool shifted = (norm->flags & TFN_FLAG_BIAS) != 0 || norm->kind == TFN_NORM_BATCH;
    const int reader = tfn__reader_of_norm(at, part);
    if (!tfn__is_folded(d) || reader < 0 || norm->kind == TFN_NORM_SEED) return false;
    if (shifted && !tfn__biased(d, at, reader)) return false;
    if (part != TFN__PART_NORM_IN) return true;
    if (tfn__join_at(d, at).skip_from == TFN_SOURCE_NORMED) return false;
    return !tfn__first_is_read(d, at);
}

/* u = in * y - s: into the maps that read u, which nothing else does; with the norm before it. */
SHARED bool tfn__folds_input(const tfn_model_desc *d, tfn__spot at)
{
    tfn_join j;
    if (!tfn__is_folded(d)) return false;
    j = tfn__join_at(d, at);
    if (j.norm_in) return tfn__folds_norm(d, at, TFN__PART_NORM_IN);
    return j.skip_from != TFN_SOURCE_NORMED;
}

/* (h y) W = y (h W), h a head's scale: not across a norm, but for one of constant statistics. */
SHARED bool tfn__folds_head_scale(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_folded(d)) return false;
    if (!tfn__join_at(d, at).norm_inner) return true;
    if (tfn__norm_rule_of(d, at)->kind != TFN_NORM_BATCH) return false;
    return tfn__folds_norm(d, at, TFN__PART_NORM_O);
}

/* u W + b - s: a bias, if no scale comes between. */
SHARED bool tfn__folds_shift_1(const tfn_model_desc *d, tfn__spot at)
{
    return tfn__is_folded(d) && !tfn__join_at(d, at).scales;
}

/* A factor of the branch p goes into its last matrix, or into the gain of the norm behind that: a
 * gain stored as it is, not as an offset from 1. */
static bool tfn__folds_branch(const tfn_model_desc *d, tfn__spot at)
{
    const uint32_t either = TFN_FLAG_GAIN | TFN_FLAG_OFFSET;
    tfn_join j;
    if (!tfn__is_folded(d)) return false;
    j = tfn__join_at(d, at);
    if (j.skip.kind == TFN_SCALE_LERP) return false;
    if (!j.norm_branch) return true;
    return (tfn__norm_rule_of(d, at)->flags & either) == TFN_FLAG_GAIN;
}

/* The scale of the branch itself: constant, or learned as any vector. */
SHARED bool tfn__folds_out(const tfn_model_desc *d, tfn__spot at)
{
    tfn_scale_kind kind;
    if (!tfn__folds_branch(d, at)) return false;
    kind = tfn__join_at(d, at).out.kind;
    return kind != TFN_SCALE_NONE && kind <= TFN_SCALE_SHARED;
}

/* N(a x + p) = N(x + p/a) with eps over a^2, for a > 0 by which one can divide, and norms that
 * divide by a root; if nothing else reads p or adds to the sum. */
SHARED bool tfn__folds_skip(const tfn_model_desc *d, tfn__spot at)
{
    tfn_join j;
    float a;
    if (!tfn__folds_branch(d, at)) return false;
    j = tfn__join_at(d, at);
    if (!j.norm_sum || j.skip.kind != TFN_SCALE_CONSTANT) return false;
    if (j.extra.kind != TFN_SCALE_NONE || j.gate) return false;
    if (tfn__has(d, at, TFN_TOPOLOGY_SIDE_STREAM)) return false;
    if (tfn__norm_rule_of(d, at)->kind > TFN_NORM_RMS) return false;
    a = tfn__rule_value(d, &j.skip, at);
    return a > (float)1e-9 && a < (float)1e9;
}

/* More than the skip and the branch of its first sub-layer read the input x_0 of the layer. */
static bool tfn__layer_is_read(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    if (tfn__row(d, at)->aggregate != TFN_AGGREGATE_NONE) return true;
    if (at.stack == TFN__IN_ENCODER && tfn__has(d, at, TFN_TOPOLOGY_TRANSPARENT)) return true;
    for (int i = 0; i < subs.count; i++) {
        const tfn_join j = tfn__join_at(d, tfn__sublayer_at(at, subs.kind[i]));
        if (j.extra.kind != TFN_SCALE_NONE) return true;
        if (i == 0) continue;
        if (j.source != TFN_SOURCE_STREAM || j.skip_from == TFN_SOURCE_LAYER) return true;
    }
    return false;
}

/* The sub-layer before this one: of the same layer, or the last of the layer before, which is
 * TFN__NO_LAYER before the first. */
SHARED tfn__spot tfn__spot_before(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    for (int i = 1; i < subs.count; i++)
        if ((tfn_sublayer)at.sub == subs.kind[i]) return tfn__sublayer_at(at, subs.kind[i - 1]);
    return tfn__spot_in(at.stack, at.layer - 1, (int)subs.kind[subs.count - 1]);
}

/* Admin's scale w of a skip that reads x = g n + t, the output of the norm before it: x' = w x has
 * the gain w g and the bias w t, the skip is x', and the branch F(x) is that of x' with W/w in the
 * maps that read it (Liu 2020, appendix C). So x must be read by these two alone, the branch by
 * linear maps, and the sub-layer before must end with a norm. */
SHARED bool tfn__skip_moves(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__spot before = tfn__spot_before(d, at);
    const bool begins = before.layer != at.layer;                    /* a layer: x is x_0 */
    const tfn_join j = tfn__join_at(d, at);
    const bool later = j.source == TFN_SOURCE_LAYER || j.skip_from == TFN_SOURCE_LAYER;
    tfn_join last;
    if (j.skip.kind != TFN_SCALE_PROFILED && j.skip.kind != TFN_SCALE_FOLDED) return false;
    if (!(tfn__norm_rule_of(d, at)->flags & TFN_FLAG_GAIN) || j.norm_in) return false;
    /* the branch: linear in x, which neither x - s is nor gamma/sigma W in W */
    if (j.source == TFN_SOURCE_FIRST) return false;
    if (j.shifts && !tfn__folds_input(d, at)) return false;
    if (!d->folded && tfn__has(d, at, TFN_TOPOLOGY_SIGMA_REPARAM)) return false;
    if (!begins && later) return false;

    /* the norm before it, and that nobody else reads what it gives */
    if (before.layer < 0) return false;
    last = tfn__join_at(d, before);
    if (!last.norm_sum) return false;
    if (last.extra.kind != TFN_SCALE_NONE && last.extra_last) return false;
    return !begins || !tfn__layer_is_read(d, at);
}

/* The first sub-layer of a stack has no norm before it; there the profiled w is 1, and the fold
 * looks that it is. */
SHARED bool tfn__skip_is_one(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_scale_rule s = tfn__join_at(d, at).skip;
    const float value = tfn__rule_value(d, &s, at);
    const float unit = tfn__unit_of(&s);
    if (tfn__spot_before(d, at).layer >= 0 || s.kind != TFN_SCALE_FOLDED) return false;
    return !(value < 1 || value > 1) && !(unit < 1 || unit > 1);
}

/* The profiled scale of the skip here is left out of a folded model. */
SHARED bool tfn__folds_profile(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_folded(d)) return false;
    return tfn__skip_is_one(d, at) || tfn__skip_moves(d, at);
}

/* LayerNorm subtracts the mean of its row. Where rows of the stream have the mean 0 that changes
 * nothing, and RMSNorm, which does not subtract, gives the same; and if nothing else reads the
 * stream, its mean is free. So all that is added to it may be centred: here a sub-layer that reads
 * the stream through LayerNorm alone, and adds scalars times the stream and outputs of matrices. */
static bool tfn__centred_at(const tfn_join *j)
{
    if (!j->norm_in || j->norm_branch || j->norm_sum || j->source == TFN_SOURCE_FIRST) return false;
    if (j->skip_from == TFN_SOURCE_NORMED || j->skip.kind > TFN_SCALE_LEARNED) return false;
    if (j->out.kind == TFN_SCALE_PROFILED || j->out.kind == TFN_SCALE_FOLDED) return false;
    return j->extra.kind <= TFN_SCALE_LEARNED;
}

/* All that writes to the stream of a stack can be centred, and what reads it behind the last layer
 * does so through LayerNorm, too. Every kind of sub-layer is asked, those it lacks as well. */
static bool tfn__centred_stack(const tfn_model_desc *d, int stack)
{
    const uint32_t others = TFN_TOPOLOGY_EMBEDDING_NORM | TFN_TOPOLOGY_SIDE_STREAM
                          | TFN_TOPOLOGY_FIXNORM | TFN_TOPOLOGY_EDGE_SHIFTS;
    const tfn__spot top = tfn__spot_of_stack(stack);
    const tfn_norm_rule *norm = tfn__norm_rule_of(d, top);
    const tfn_topology *row = tfn__row(d, top);
    const int32_t depth = tfn__depth(d, tfn__in_decoder(top));
    if (norm->kind != TFN_NORM_LAYER || (norm->flags & TFN_FLAG_BY_HEAD)) return false;
    if (row->aggregate != TFN_AGGREGATE_NONE) return false;
    if (!(row->flags & TFN_TOPOLOGY_FINAL_NORM) || (row->flags & others)) return false;
    for (int32_t l = 0; l < depth; l++)
        for (int sub = 0; sub < TFN__NO_SUB; sub++) {
            const tfn_join j = tfn__join_at(d, tfn__spot_in(stack, l, sub));
            if (!tfn__centred_at(&j)) return false;
        }
    return true;
}

/* All that writes to the streams can be centred: then LayerNorm is RMSNorm (Jiang 2023). */
SHARED bool tfn__centred(const tfn_model_desc *d)
{
    if (!tfn__is_folded(d) || !d->untied || d->bands || d->cutoffs[0]) return false;
    if (d->embedding_size) return false;
    if (tfn__is_position(d, TFN_POSITION_SINUSOIDAL)) return false;
    if (tfn__is_position(d, TFN_POSITION_SINUSOIDAL_FAIRSEQ)) return false;
    if (d->qk_norm == TFN_QK_NORM_FULL) return false;
    return tfn__centred_stack(d, TFN__IN_ENCODER) && tfn__centred_stack(d, TFN__IN_DECODER);
}

/* FixNorm is a property of a table, not of the stack that happens to read it first: its rows have
 * length 1 if any stack that reads it says so. `own`: the source's own table. */
SHARED bool tfn__unit_table(const tfn_model_desc *d, bool own)
{
    const bool encoder = tfn__has(d, tfn__spot_of_stack(TFN__IN_ENCODER), TFN_TOPOLOGY_FIXNORM);
    const bool decoder = tfn__has(d, tfn__spot_of_stack(TFN__IN_DECODER), TFN_TOPOLOGY_FIXNORM);
    if (own || tfn__is_encoder_alone(d)) return encoder;
    if (tfn__is_decoder_alone(d) || d->separate_source || d->bands) return decoder;
    return encoder || decoder;
}
TFN__RARE_END
