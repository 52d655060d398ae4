#include "builder.h"
#include "../ground/math.h"
#include "../kernels/products.h"
#include "../tape/record.h"
#include "options.h"
#include "resolve.h"

TFN__RARE

/* -- features a plain build omits ------------------------------------------------------------ */

/* A plain build (TFN__ALL is false) has only Pre-LN and Post-LN, with LayerNorm or RMSNorm. It
 * rejects the options below when it resolves a description. So these functions are constants there,
 * and the compiler drops the code that depends on them. */
SHARED bool tfn__is_folded(const tfn_model_desc *d)  { return TFN__ALL && d->folded; }
SHARED bool tfn__is_half(const tfn_model_desc *d)    { return TFN__ALL && d->half; }
SHARED bool tfn__convolves(const tfn_model_desc *d)
{
    return TFN__ALL && d->bands > 0 && d->frame_map == TFN_FRAME_MAP_CONVOLUTIONS;
}
static bool tfn__is_watched(const tfn_model_desc *d) { return TFN__ALL && d->probes; }
SHARED bool tfn__caps_logits(const tfn_model_desc *d) { return TFN__ALL && d->logit_cap > 0; }

/* Returns the size of a weight in its region, in floats. The bytes of a packed weight are counted
 * in floats, too. */
SHARED int64_t tfn__weight_floats(const tfn__weight *w)
{
    const tfn__packed p = { tfn__type_of(w), TFN__PACKS && w->table, w->rows, w->cols };
    if (TFN__PACKS && p.type) return (int64_t)(tfn__packed_bytes(&p) / sizeof(float));
    return (int64_t)w->rows * w->cols;
}

/* Properties of a join. */
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

/* True if the norm has this flag, and never in plain builds. So do not ask for GAIN or BIAS, which
 * plain builds do have. */
SHARED bool tfn__norm_has(const tfn_norm_rule *norm, uint32_t flag)
{
    return TFN__ALL && (norm->flags & flag) != 0;
}

/* Properties of a scale: whether it follows a schedule, and the unit in which a learned one is
 * stored. */
SHARED bool tfn__is_scheduled(const tfn_scale_rule *s)
{
    return TFN__ALL && s->kind == TFN_SCALE_SCHEDULED;
}
SHARED float tfn__unit_of(const tfn_scale_rule *s)
{
    if (!TFN__ALL) return 1;
    return tfn__positive_or(s->unit, 1);
}

/* True if this build cannot compute the scale. The library's rows in a plain build have no such
 * scale, but a row of the user may. */
SHARED bool tfn__is_refused_scale(const tfn_scale_rule *s)
{
    if (!TFN__SCALES) return s->kind != TFN_SCALE_NONE;
    return !TFN__ALL && s->kind > TFN_SCALE_VECTOR;
}
/* Returns why this build rejects a join, or NULL. A plain build rejects only rows of the user;
 * TFNORM_NO_SCALES also rejects rows of the library that have scales. */
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

/* -- spots: keys of places ------------------------------------------------------------------- */
enum { TFN__NO_LAYER = -1 };

SHARED tfn__spot tfn__spot_in(int stack, int32_t layer, int sub)
{
    tfn__spot at;
    at.layer = (int16_t)layer;
    at.stack = (uint8_t)stack;
    at.sub = (uint8_t)sub;
    return at;
}

/* The spots of the model, of a stack, of a layer, of a sub-layer's layer, and of a weight. */
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

/* Properties of a spot. */
SHARED bool tfn__in_decoder(tfn__spot at)  { return at.stack == TFN__IN_DECODER; }
static bool tfn__in_sublayer(tfn__spot at) { return at.sub < TFN__NO_SUB; }
SHARED bool tfn__in_ffn(tfn__spot at)
{
    return at.sub == TFN_SUBLAYER_FFN || at.sub == TFN_SUBLAYER_FFN_BEFORE;
}

/* True if the model has this stack. Models that are only an encoder or only a decoder have one. */
SHARED bool tfn__has_stack(const tfn_model_desc *d, tfn__spot at)
{
    if (tfn__in_decoder(at)) return !tfn__is_encoder_only(d);
    return !tfn__is_decoder_only(d);
}

/* Returns the stack whose output becomes logits. */
SHARED tfn__spot tfn__last_stack(const tfn_model_desc *d)
{
    if (tfn__is_encoder_only(d)) return tfn__spot_of_stack(TFN__IN_ENCODER);
    return tfn__spot_of_stack(TFN__IN_DECODER);
}

/* True if the stack reads the source. Every other stack reads the target. */
SHARED bool tfn__reads_source(const tfn_model_desc *d, tfn__spot at)
{
    return at.stack == TFN__IN_ENCODER && tfn__is_pair(d);
}

/* Each stack has its own topology and its own norm. A spot of the whole model has those of
 * d->topology. */
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
    return tfn__norm_row(d, tfn__in_decoder(at));
}

/* True if the stack's row has this flag. tfn__has is constant false in plain builds, so ask with
 * tfn__has_plain for the two flags that plain rows may have: final norm and embedding norm. */
SHARED bool tfn__has_plain(const tfn_model_desc *d, tfn__spot at, uint32_t flag)
{
    return (tfn__row(d, at)->flags & flag) != 0;
}
SHARED bool tfn__has(const tfn_model_desc *d, tfn__spot at, uint32_t flag)
{
    return TFN__ALL && tfn__has_plain(d, at, flag);
}

/* Returns how the input of a layer is mixed from the outputs of the layers before it. */
SHARED tfn_aggregate tfn__aggregate_of(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL) return TFN_AGGREGATE_NONE;
    return tfn__row(d, at)->aggregate;
}

/* Returns the join of a sub-layer. It is computed on demand, not stored, because a row's rule
 * depends only on the place. Rules count layers from 1. */
SHARED tfn_join tfn__join_at(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_place place = tfn__place_at(d, tfn__in_decoder(at), (tfn_sublayer)at.sub,
                                          at.layer + 1);
    return tfn_topology_join(tfn__row(d, at), &place);
}

/* Returns how attention normalizes queries and keys: the option, or else the topology's choice. */
SHARED tfn_qk_norm tfn__qk_form(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL) return TFN_QK_NORM_NONE;
    if (d->qk_norm != TFN_QK_NORM_DEFAULT) return d->qk_norm;
    return tfn__join_at(d, at).qk;
}

/* Returns value * N^n * M^m * l^layer, where N and M are the depths of encoder and decoder, and l
 * counts layers from 1. Without a scale, returns 1. */
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

/* Returns the spot of a sub-layer in the layer of `at`. */
SHARED tfn__spot tfn__sublayer_at(tfn__spot at, tfn_sublayer kind)
{
    return tfn__spot_in(at.stack, at.layer, (int)kind);
}

/* -- parameters: a table over one flat vector ------------------------------------------------ */
static const char *const tfn__kind_names[] = { TFN__WEIGHT_KINDS(TFN__NAME) };

/* Writes a name such as "decoder.3.self.q.weight". */
SHARED void tfn__weight_name(const tfn__weight *w, tfn__text *t)
{
    static const char *const stacks[] = { "", "encoder.", "decoder." };
    static const char *const subs[] = { "self.", "cross.", "ffn.", "before.", "" };
    tfn__put(t, stacks[w->stack]);
    if (w->layer >= 0) tfn__put_int(t, NULL, w->layer, ".");
    tfn__put_texts(t, subs[w->sub], tfn__part_names[w->part], tfn__kind_names[w->kind]);
}

/* The group number of weights in a model with LoRA that match none of its groups. They are frozen,
 * and have no options. */
enum { TFN__BASE = -2 };

/* Returns the weight's group, TFN__BASE, or -1 if it has none. Always -1 in a build without
 * groups. */
SHARED int tfn__own_group(const tfn__weight *w)
{
    if (!TFN__GROUPS) return -1;
    return w->group;
}

/* True if no step changes the weight. */
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

/* Returns the group with a rank whose pattern matches the matrix of this part, or -1 if the map has
 * no LoRA. A folded model has no LoRA. */
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

/* Returns the offset of a weight's gradient and moments in their flat vectors, or a number below 0
 * if it has none: see tfn__assign_group. */
SHARED int64_t tfn__trained_at(const tfn__weight *w) { return 16 * (int64_t)w->line; }

/* Returns a weight, or NULL. A linear search is enough: a model has some hundred weights, and looks
 * them up when its tapes are recorded or it is folded, never when a tape runs. */
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

/* Returns a weight that the builder has made, or NULL. A tape that only counts has no table, so
 * it counts a shared weight at each use, and the count is an upper bound. */
SHARED const tfn__weight *tfn__known_weight(const tfn__builder *b, tfn__spot at, int part,
                                            int kind)
{
    if (b->t->counts) return NULL;
    return tfn__find_weight(b->weights, b->count, at, part, kind);
}

/* Returns the group of a new weight, found by its name. There are four exceptions. u and v of
 * sigmaReparam are in the group of their matrix. The counter of updates has no group. If no group
 * matches A and B of LoRA, they are in the group that gives their rank. If no group matches another
 * weight of a model with LoRA, it is frozen (TFN__BASE). */
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

/* Sets the group, and the place in the flat vector of trained weights. Places are counted in lines
 * of 16 floats (one cache line), so that 32 bits reach 2^35 floats. */
static void tfn__assign_group(tfn__builder *b, tfn__weight *w)
{
    w->line = -1;
    w->group = (int8_t)tfn__group_of(b, w);
    if (!TFN__TRAINS || b->d->inference) return;
    if (w->kind >= TFN__STATE || tfn__is_frozen(b->d, w)) return;
    if (tfn__type_of(w))
        tfn__tape_error(b->t, TFN_BAD_OPTION, "weights", "weights of fewer bits do not train: "
                        "set desc.inference, or desc.groups (LoRA, or all frozen)", 0, 0);
    if (b->trained / 16 >= INT32_MAX) tfn__tape_error(b->t, TFN_TOO_LARGE, "model", NULL, 0, 0);
    w->line = (int32_t)(b->trained / 16);
    b->trained += tfn__padded((int64_t)w->rows * w->cols);
}

/* Appends a weight to the flat vector, or to the buffers if it is state. Returns NULL if
 * the table is complete or full. Each weight begins at a multiple of 16 floats, a cache line.
 * `initial` is its first value unless the init rule draws it. The row in the table is taken from
 * the end of the tape's block. */
SHARED tfn__weight *tfn__new_weight(tfn__builder *b, tfn__spot at, int part, int kind,
                                    const tfn__packed *shape, float initial)
{
    int64_t *floats = kind >= TFN__STATE ? &b->buffers : &b->floats;
    tfn__weight *w;
    if (!b->grows || !tfn__has_room(b->t, "model", sizeof *w)) return NULL;
    b->count++;
    if (b->t->counts) return &b->counted;
    b->t->size -= sizeof *w;
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
    tfn__assign_group(b, w);
    return w;
}

/* Returns the parameter (rows, cols) of a place: the first tape creates it, the others look it up.
 * If several sub-layers share it, it must be one node, because each node decides whether its
 * gradient is stored or added. */
static tfn_var tfn__weight_shaped(tfn__builder *b, tfn__spot at, int part, int kind,
                                  const tfn__packed *shape, float initial)
{
    const bool shared = !tfn__in_sublayer(at) || part == TFN__PART_QK_SCALE;
    const tfn__weight *w = tfn__known_weight(b, at, part, kind);
    if (!w) w = tfn__new_weight(b, at, part, kind, shape, initial);
    if (!w) return tfn__none;
    if (kind >= TFN__STATE) return tfn__buffer_at(b->t, shape->rows, shape->cols, w->at);
    return tfn__param_at(b->t, shape, w->at, tfn__trained_at(w), shared);
}
/* The same for a weight of floats. */
SHARED tfn_var tfn__weight_of(tfn__builder *b, tfn__spot at, int part, int kind, int32_t rows,
                              int32_t cols, float initial)
{
    const tfn__packed shape = { TFN_WEIGHTS_FLOAT, false, rows, cols };
    return tfn__weight_shaped(b, at, part, kind, &shape, initial);
}

/* Records a matrix that only linear maps read, or a table of words. It is packed if the model's
 * weights are. Other matrices are never packed: positions, segments, convolutions, and the maps of
 * the clusters of words and of map_last, which are read in both directions. */
SHARED tfn_var tfn__matrix_at(tfn__builder *b, tfn__spot at, int part, int32_t rows, int32_t cols,
                              bool table)
{
    const tfn__packed shape = { b->d->weights, table, rows, cols };
    if (!TFN__PACKS || (part == TFN__PART_PROJECT_IN && tfn__maps_last(b->d)))
        return tfn__weight_of(b, at, part, TFN__MATRIX, rows, cols, 0);
    return tfn__weight_shaped(b, at, part, TFN__MATRIX, &shape, 0);
}

/* Records a learned scalar or vector. */
SHARED tfn_var tfn__gain_at(tfn__builder *b, tfn__spot at, int part, int32_t cols, float initial)
{
    return tfn__weight_of(b, at, part, TFN__GAIN, 1, cols, initial);
}

/* Records the count of updates that scheduled scales read, one for the whole model. It is saved
 * with the weights, which mean nothing without it. */
SHARED tfn_var tfn__updates_of(tfn__builder *b)
{
    return tfn__weight_of(b, tfn__spot_of_model(), TFN__PART_SCHEDULE, TFN__UPDATES, 1, 1, 0);
}

/* -- probes ---------------------------------------------------------------------------------- */

/* Makes a point of a sub-layer or stack visible to the user, on every tape that is recorded. */
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

/* Returns the place of a weight in the table, or -1 if the table lacks it. A tape that only counts
 * has no table, so any place will do. */
static int32_t tfn__weight_index(const tfn__builder *b, tfn__spot at, int part, int kind)
{
    const tfn__weight *w = tfn__known_weight(b, at, part, kind);
    if (b->t->counts) return 0;
    if (!w) return -1;
    return (int32_t)(w - b->weights);
}

/* Probes the branch, then the skip before its scale. See tfn__profile_probe. */
SHARED void tfn__probe_profile(tfn__builder *b, tfn__spot at, tfn_scale_kind skip, tfn_var x,
                               tfn_var p)
{
    int kind = TFN__GAIN;
    int32_t id;
    if (!TFN__ALL || !b->t->training) return;
    if (skip == TFN_SCALE_FOLDED) kind = TFN__FOLDED_SCALE;
    else if (skip != TFN_SCALE_PROFILED) return;
    id = TFN__PROFILE + 2 * tfn__weight_index(b, at, TFN__PART_SKIP, kind);
    if (id < TFN__PROFILE) return;      /* cannot happen: a tape of evaluation made the scale */
    tfn_probe(b->t, p, id);
    tfn_probe(b->t, x, id + 1);
}

/* Probes the output of a linear map for LSUV. */
SHARED void tfn__probe_output(tfn__builder *b, tfn__spot at, int part, tfn_var y)
{
    const int32_t index = tfn__weight_index(b, at, part, TFN__MATRIX);
    if (index >= 0) tfn_probe(b->t, y, TFN__OUTPUTS + index);
}

/* -- omissions of a folded model: see tfn_model_fold ----------------------------------------- */

/* Each function tells whether one derivation holds at a sub-layer. The builder asks it before it
 * omits a norm or scale, and the fold asks it before it moves that norm or scale into weights. Both
 * must ask the same function, or the folded model would compute something else. Where no derivation
 * holds, the norm or scale stays, and the result is still right. Functions named tfn__folds_ return
 * false for models that are not folded. */

/* (u - s) W + b = u W + (b - s 1^T W): a map that reads a shifted value needs a bias for the shift,
 * even in a model without biases. Keys and values of cross-attention read the memory, which has no
 * shift. */
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

static bool tfn__is_attention_map(int part)
{
    return part == TFN__PART_Q || part == TFN__PART_K || part == TFN__PART_V
        || part == TFN__PART_O;
}

/* True if the linear map of this part has a bias. OFF and OUTPUT of attention_bias hold whatever
 * other maps have. QKV and ALL add biases where other maps have none. */
SHARED bool tfn__biased(const tfn_model_desc *d, tfn__spot at, int part)
{
    if (tfn__is_folded(d) && tfn__reads_shift(d, at, part)) return true;
    if (TFN__ALL && part == TFN__PART_PROJECT_OUT) return false;
    if (TFN__ALL && part == TFN__PART_PROJECT_IN) return d->map_last && !d->no_bias;
    if (TFN__ALL && tfn__is_attention_map(part)) {
        if (d->attention_bias == TFN_ATTENTION_BIAS_OFF) return false;
        if (d->attention_bias == TFN_ATTENTION_BIAS_OUTPUT) return part == TFN__PART_O;
    }
    if (!d->no_bias && !tfn__has(d, at, TFN_TOPOLOGY_BIASLESS)) return true;
    if (!TFN__ALL || d->attention_bias == TFN_ATTENTION_BIAS_NONE) return false;
    if (part == TFN__PART_O) return d->attention_bias == TFN_ATTENTION_BIAS_ALL;
    return tfn__is_attention_map(part);
}

/* True if a later sub-layer of the layer reads the same input as this one, the first. */
static bool tfn__first_is_read(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    if ((tfn_sublayer)at.sub != subs.kind[0]) return false;
    for (int i = 1; i < subs.count; i++)
        if (tfn__join_at(d, tfn__sublayer_at(at, subs.kind[i])).source == TFN_SOURCE_FIRST)
            return true;
    return false;
}

/* Returns the first matrix that reads a norm of a sub-layer, or -1 if something other than
 * matrices may read it. */
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

/* (g n + t) W = n (g W) + t W: the affine part of a norm folds if only linear maps of this
 * sub-layer read it. t needs a bias, and so does the mean of a batch. SeeDNorm multiplies n by a
 * factor that is not constant. */
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

/* u = in * y - s folds into the maps that read u, because nothing else reads u. If y is the output
 * of a norm, the norm must fold, too. */
SHARED bool tfn__folds_input(const tfn_model_desc *d, tfn__spot at)
{
    tfn_join j;
    if (!tfn__is_folded(d)) return false;
    j = tfn__join_at(d, at);
    if (j.norm_in) return tfn__folds_norm(d, at, TFN__PART_NORM_IN);
    return j.skip_from != TFN_SOURCE_NORMED;
}

/* (h y) W = y (h W), where h is the scale of a head. It does not pass through a norm, unless the
 * norm's statistics are constant. */
SHARED bool tfn__folds_head_scale(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_folded(d)) return false;
    if (!tfn__join_at(d, at).norm_inner) return true;
    if (tfn__norm_rule_of(d, at)->kind != TFN_NORM_BATCH) return false;
    return tfn__folds_norm(d, at, TFN__PART_NORM_O);
}

/* u W + b - s: the shift folds into the bias if no scale comes between. */
SHARED bool tfn__folds_shift_1(const tfn_model_desc *d, tfn__spot at)
{
    return tfn__is_folded(d) && !tfn__join_at(d, at).scales;
}

/* A factor of the branch p goes into its last matrix, or into the gain of the norm after that
 * matrix. The gain must be stored as it is, not as an offset from 1. */
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

/* A scale of the branch folds if it is constant, or learned as an ordinary vector. */
SHARED bool tfn__folds_out(const tfn_model_desc *d, tfn__spot at)
{
    tfn_scale_kind kind;
    if (!tfn__folds_branch(d, at)) return false;
    kind = tfn__join_at(d, at).out.kind;
    return kind != TFN_SCALE_NONE && kind <= TFN_SCALE_SHARED;
}

/* N(a x + p) = N(x + p/a) with eps/a^2, if the norm divides by a root and a > 0 is neither tiny nor
 * huge, so that eps/a^2 stays a normal float. Nothing else may read p or add to the sum. */
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

/* True if anything reads the input x_0 of the layer besides the skip and the branch of its first
 * sub-layer. */
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

/* Returns the spot of the previous sub-layer, in the same layer or at the end of the one before.
 * Its layer is TFN__NO_LAYER for the first sub-layer of a stack. */
SHARED tfn__spot tfn__spot_before(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    for (int i = 1; i < subs.count; i++)
        if ((tfn_sublayer)at.sub == subs.kind[i]) return tfn__sublayer_at(at, subs.kind[i - 1]);
    return tfn__spot_in(at.stack, at.layer - 1, (int)subs.kind[subs.count - 1]);
}

/* Admin's scale w of a skip that reads x = g n + t, the output of the norm before it. Let x' = w x,
 * with gain w g and bias w t. The skip becomes x', and the branch F(x) becomes F(x') with W/w in
 * the maps that read it (Liu 2020, appendix C). So only these two may read x, the branch must read
 * it through linear maps, and the previous sub-layer must end with a norm. */
SHARED bool tfn__skip_moves(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__spot before = tfn__spot_before(d, at);
    const bool begins = before.layer != at.layer;      /* the first sub-layer: x is x_0 */
    const tfn_join j = tfn__join_at(d, at);
    const bool reads_x0 = j.source == TFN_SOURCE_LAYER || j.skip_from == TFN_SOURCE_LAYER;
    tfn_join last;
    if (j.skip.kind != TFN_SCALE_PROFILED && j.skip.kind != TFN_SCALE_FOLDED) return false;
    if (!(tfn__norm_rule_of(d, at)->flags & TFN_FLAG_GAIN) || j.norm_in) return false;
    /* the branch must be linear in x: x - s is not, and gamma W/sigma is not linear in W */
    if (j.source == TFN_SOURCE_FIRST) return false;
    if (j.shifts && !tfn__folds_input(d, at)) return false;
    if (!d->folded && tfn__has(d, at, TFN_TOPOLOGY_SIGMA_REPARAM)) return false;
    /* in a later sub-layer, x_0 is another stream than x */
    if (!begins && reads_x0) return false;

    /* there is a norm before it, and nothing else reads its output */
    if (before.layer < 0) return false;
    last = tfn__join_at(d, before);
    if (!last.norm_sum) return false;
    if (last.extra.kind != TFN_SCALE_NONE && last.extra_last) return false;
    return !begins || !tfn__layer_is_read(d, at);
}

/* True if the profiled w of the skip is 1 after any profile. This is so at the first sub-layer of a
 * stack, which has no norm before it. The fold still checks that w is 1, because a user may have
 * changed it. */
SHARED bool tfn__skip_is_one(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_scale_rule s = tfn__join_at(d, at).skip;
    const float value = tfn__rule_value(d, &s, at);
    const float unit = tfn__unit_of(&s);
    if (tfn__spot_before(d, at).layer >= 0 || s.kind != TFN_SCALE_FOLDED) return false;
    return !(value < 1 || value > 1) && !(unit < 1 || unit > 1);
}

/* True if a folded model omits the profiled scale of the skip here. */
SHARED bool tfn__folds_profile(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_folded(d)) return false;
    return tfn__skip_is_one(d, at) || tfn__skip_moves(d, at);
}

/* LayerNorm subtracts the mean of a row. If all rows of the stream have mean 0, RMSNorm, which does
 * not subtract, gives the same result. If nothing else reads the stream, its mean is free, so
 * everything that is added to it may be centred. This function returns true for a sub-layer that
 * reads the stream only through LayerNorm, and adds only scalars times the stream and outputs of
 * matrices. */
static bool tfn__centred_at(const tfn_join *j)
{
    if (!j->norm_in || j->norm_branch || j->norm_sum || j->source == TFN_SOURCE_FIRST) return false;
    if (j->skip_from == TFN_SOURCE_NORMED || j->skip.kind > TFN_SCALE_LEARNED) return false;
    if (j->out.kind == TFN_SCALE_PROFILED || j->out.kind == TFN_SCALE_FOLDED) return false;
    return j->extra.kind <= TFN_SCALE_LEARNED;
}

/* True if everything that writes to the stream of a stack can be centred, and everything after the
 * last layer reads it through LayerNorm. It asks every kind of sub-layer, including kinds that the
 * stack lacks. */
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

/* True if all streams can be centred, so that LayerNorm becomes RMSNorm (Jiang 2023). The
 * stream's first terms must be parameters that only the stream reads: a table that is also the
 * output matrix cannot be centred, nor can sinusoids. */
SHARED bool tfn__centred(const tfn_model_desc *d)
{
    if (!tfn__is_folded(d) || !d->untied || d->bands || d->cutoffs[0]) return false;
    if (d->embedding_size) return false;
    if (tfn__is_position(d, TFN_POSITION_SINUSOIDAL)) return false;
    if (tfn__is_position(d, TFN_POSITION_SINUSOIDAL_FAIRSEQ)) return false;
    if (d->qk_norm == TFN_QK_NORM_FULL) return false;
    return tfn__centred_stack(d, TFN__IN_ENCODER) && tfn__centred_stack(d, TFN__IN_DECODER);
}

/* True if the rows of an embedding have length 1 (FixNorm). This is a property of the table, so it
 * is true if any stack that reads the table asks for it. `own`: the source has its own table. */
SHARED bool tfn__unit_table(const tfn_model_desc *d, bool own)
{
    const bool encoder = tfn__has(d, tfn__spot_of_stack(TFN__IN_ENCODER), TFN_TOPOLOGY_FIXNORM);
    const bool decoder = tfn__has(d, tfn__spot_of_stack(TFN__IN_DECODER), TFN_TOPOLOGY_FIXNORM);
    if (own || tfn__is_encoder_only(d)) return encoder;
    if (tfn__is_decoder_only(d) || d->separate_source || d->bands) return decoder;
    return encoder || decoder;
}
TFN__RARE_END
