#ifndef TFN__BUILDER_H
#define TFN__BUILDER_H
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../kernels/packing.h"

/* The builder records a whole model on a tape, from the tokens to the loss: stacks walks through
 * the layers, and joins through their sub-layers. The same functions record training, evaluation
 * and one-token decoding. This part offers both the table of parameters, probes, and functions that
 * answer questions about a description: what this build has, which norms and scales a folded model
 * omits. Builds on record_ops and resolve.
 *
 * Topologies are data. A sub-layer F, attention or feed-forward, reads the stream x in a layer that
 * began with x_0:
 *
 *     u = in * N_in(source) - s        source: x, x_0, or the N_in(source) of the layer's first F
 *     p = Drop(N_branch(F(u)))
 *     z = skip * from + out * p + extra * x_0       from: x, N_in(x), or x_0
 *     x = N_sum(z)                                  a row may add extra * x_0 here instead
 *
 * A norm, scale or shift is absent unless the topology's row asks for it. For example, Post-LN has
 * only N_sum, Pre-LN only N_in, and DeepNorm N_sum and a constant skip.
 *
 * A parameter has three keys: its spot (stack, layer, sub-layer), its part there (W_q, the norm
 * before F) and its kind (matrix, bias, gain). The first tape creates parameters in the order in
 * which it records them, which is their order in the flat vector. Later tapes look them up. A spot
 * is a 4-byte key, passed by value. A gain that the sub-layers of a layer share has a spot without
 * a sub-layer; a shared embedding has one without a stack.
 *
 * The order of calls determines the order of nodes and parameters, and so the bits of a result. Two
 * calls that record must therefore never be arguments of one call. */

SHARED bool tfn__is_folded(const tfn_model_desc *d);
SHARED bool tfn__is_half(const tfn_model_desc *d);
SHARED bool tfn__convolves(const tfn_model_desc *d);
/* The type of a weight's numbers. It is a constant in builds without packed weights. */
static TFN__INLINE tfn_weights tfn__type_of(const tfn__weight *w)
{
    if (!TFN__PACKS) return TFN_WEIGHTS_FLOAT;
    return (tfn_weights)w->weights;
}
SHARED int64_t tfn__weight_floats(const tfn__weight *w);
SHARED bool tfn__caps_logits(const tfn_model_desc *d);
SHARED bool tfn__gates(const tfn_join *j);
SHARED bool tfn__shifts(const tfn_join *j);
SHARED bool tfn__scales_hidden(const tfn_join *j);
SHARED bool tfn__has_inner_norm(const tfn_join *j);
SHARED bool tfn__has_last_extra(const tfn_join *j);
SHARED bool tfn__interpolates(const tfn_join *j);
SHARED tfn_source tfn__source_of(const tfn_join *j);
SHARED bool tfn__has_head_scale(const tfn_join *j, tfn_head_scale where);
SHARED bool tfn__norm_has(const tfn_norm_rule *norm, uint32_t flag);
SHARED bool tfn__is_scheduled(const tfn_scale_rule *s);
SHARED float tfn__unit_of(const tfn_scale_rule *s);
SHARED bool tfn__is_refused_scale(const tfn_scale_rule *s);
SHARED const char *tfn__refusal(const tfn_join *j);

enum { TFN__NO_STACK, TFN__IN_ENCODER, TFN__IN_DECODER };
enum { TFN__NO_SUB = TFN_SUBLAYER_FFN_BEFORE + 1 };

/* The place of a tensor or sub-layer. tfn__join_at turns it into a tfn_place for a topology. */
typedef struct tfn__spot {
    int16_t layer;                       /* from 0, or TFN__NO_LAYER */
    uint8_t stack;                       /* TFN__NO_STACK: shared by the stacks, or at the model's
                                          * end */
    uint8_t sub;                         /* a tfn_sublayer, or TFN__NO_SUB */
} tfn__spot;
SHARED tfn__spot tfn__spot_in(int stack, int32_t layer, int sub);
SHARED tfn__spot tfn__spot_of_model(void);
SHARED tfn__spot tfn__spot_of_stack(int stack);
SHARED tfn__spot tfn__spot_of_layer(int stack, int32_t layer);
SHARED tfn__spot tfn__layer_of(tfn__spot at);
SHARED tfn__spot tfn__spot_of(const tfn__weight *w);
SHARED bool tfn__in_decoder(tfn__spot at);
SHARED bool tfn__in_ffn(tfn__spot at);
SHARED bool tfn__has_stack(const tfn_model_desc *d, tfn__spot at);
SHARED tfn__spot tfn__last_stack(const tfn_model_desc *d);
SHARED bool tfn__reads_source(const tfn_model_desc *d, tfn__spot at);
SHARED const tfn_topology *tfn__stack_row(const tfn_model_desc *d, int32_t stack);
SHARED const tfn_topology *tfn__row(const tfn_model_desc *d, tfn__spot at);
SHARED const tfn_norm_rule *tfn__norm_rule_of(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__has_plain(const tfn_model_desc *d, tfn__spot at, uint32_t flag);
SHARED bool tfn__has(const tfn_model_desc *d, tfn__spot at, uint32_t flag);
SHARED tfn_aggregate tfn__aggregate_of(const tfn_model_desc *d, tfn__spot at);
SHARED tfn_join tfn__join_at(const tfn_model_desc *d, tfn__spot at);
SHARED tfn_qk_norm tfn__qk_form(const tfn_model_desc *d, tfn__spot at);
SHARED float tfn__rule_value(const tfn_model_desc *d, const tfn_scale_rule *s, tfn__spot at);

/* The sub-layers of a layer in order: Macaron's half feed-forward, self-attention, cross-attention
 * in a decoder that reads an encoder, feed-forward. */
typedef struct tfn__subs {
    int          count;
    tfn_sublayer kind[4];
} tfn__subs;
SHARED tfn__subs tfn__subs_of(const tfn_model_desc *d, tfn__spot at);
SHARED tfn__spot tfn__sublayer_at(tfn__spot at, tfn_sublayer kind);

/* The kinds of tensors and how their names end. Gains include scales. LoRA's matrices belong to the
 * part that they add to. Kinds from TFN__STATE on are not parameters but state of training:
 * FOLDED_SCALE is a profiled scale whose value is folded into other weights, MEAN to NU are running
 * statistics of norms over the batch, UPDATES counts updates for scheduled scales, and SIGMA_U and
 * SIGMA_V are the vectors that estimate sigma. */
#define TFN__WEIGHT_KINDS(X)                                                                       \
    X(MATRIX, ".weight") X(BIAS, ".bias") X(GAIN, ".weight") X(ALPHA, TFN__FULL(".alpha"))         \
    X(SHIFT, TFN__FULL(".shift")) X(DIRECTION, TFN__FULL(".direction"))                            \
    X(GAMMA, TFN__FULL(".gamma")) X(LORA_A, TFN__FULL(".lora_a")) X(LORA_B, TFN__FULL(".lora_b"))  \
    X(FOLDED_SCALE, ".weight") X(MEAN, TFN__FULL(".running_mean"))                                 \
    X(VARIANCE, TFN__FULL(".running_var")) X(SQUARE, TFN__FULL(".running_square"))                 \
    X(NU, TFN__FULL(".running_nu")) X(UPDATES, TFN__FULL(".updates"))                              \
    X(SIGMA_U, TFN__FULL(".sigma_u")) X(SIGMA_V, TFN__FULL(".sigma_v"))

/* The parts of a sub-layer, a layer, a stack and a model. Checkpoints know them by name: add an
 * entry for a new part and never rename an old one. Some code tests for a range, so Q, K and V come
 * first, and W1 to W3, EMBEDDING to SEGMENT, the clusters and their maps keep their order. The
 * order of the others does not matter. TFN__FULL leaves names of parts that only full builds have
 * empty in smaller builds. */
#define TFN__PARTS(X)                                                                              \
    X(Q, "q") X(K, "k") X(V, "v") X(O, "o") X(W1, "w1") X(W2, "w2") X(W3, "w3")                    \
    X(NORM_IN, "norm_in") X(NORM_BRANCH, "norm_branch") X(NORM, "norm")                            \
    X(NORM_O, TFN__FULL("norm_o")) X(NORM_2, TFN__FULL("norm_2"))                                  \
    X(Q_NORM, TFN__FULL("q_norm")) X(K_NORM, TFN__FULL("k_norm")) X(V_NORM, TFN__FULL("v_norm"))   \
    X(QK_SCALE, TFN__FULL("qk_scale")) X(HEAD_SCALE, TFN__FULL("head_scale"))                      \
    X(SCALE_1, TFN__FULL("scale_1")) X(SCALE_3, TFN__FULL("scale_3"))                              \
    X(SHIFT_IN, TFN__FULL("shift_in")) X(SHIFT_1, TFN__FULL("shift_1"))                            \
    X(SHIFT_2, TFN__FULL("shift_2")) X(IN, "in") X(OUT, "out") X(SKIP, "skip") X(EXTRA, "extra")   \
    X(GATE, TFN__FULL("gate")) X(MIX, TFN__FULL("mix")) X(NORM_OUT, "norm_out")                    \
    X(MEMORY_MIX, TFN__FULL("memory_mix")) X(EMBEDDING, "embedding")                               \
    X(CLUSTER_0, TFN__FULL("cluster_0")) X(CLUSTER_1, TFN__FULL("cluster_1"))                      \
    X(CLUSTER_2, TFN__FULL("cluster_2")) X(POSITION, "position")                                   \
    X(RELATIVE, TFN__FULL("relative")) X(SEGMENT, "segment") X(EMBEDDING_NORM, "embedding_norm")   \
    X(EMBEDDING_SCALE, TFN__FULL("embedding_scale")) X(FINAL_NORM, "final_norm")                   \
    X(FINAL_SHIFT, TFN__FULL("final_shift")) X(FINAL_SCALE, TFN__FULL("final_scale"))              \
    X(POOLER, "pooler") X(CLASSIFIER, "classifier") X(OUTPUT, "output")                            \
    X(LOGIT_SCALE, TFN__FULL("logit_scale"))                                                       \
    X(CONV_1, TFN__FULL("conv_1")) X(CONV_2, TFN__FULL("conv_2"))                                  \
    X(PROJECT_0, TFN__FULL("project_0")) X(PROJECT_1, TFN__FULL("project_1"))                      \
    X(PROJECT_2, TFN__FULL("project_2")) X(SCHEDULE, TFN__FULL("schedule"))                        \
    X(TRANSFORM, TFN__FULL("transform")) X(TRANSFORM_NORM, TFN__FULL("transform_norm"))            \
    X(PROJECT_IN, TFN__FULL("project_in")) X(PROJECT_OUT, TFN__FULL("project_out"))               \
    X(FRAMES, "frames")
/* Each list gives an enumeration and a table of names. */
#define TFN__KIND_ENUM(id, name) TFN__##id,
#define TFN__PART_ENUM(id, name) TFN__PART_##id,
#define TFN__NAME(id, name) name,
enum { TFN__WEIGHT_KINDS(TFN__KIND_ENUM) TFN__KIND_COUNT };
enum { TFN__STATE = TFN__FOLDED_SCALE };
enum { TFN__PARTS(TFN__PART_ENUM) TFN__PART_COUNT };
static const char *const tfn__part_names[] = { TFN__PARTS(TFN__NAME) };
SHARED void tfn__weight_name(const tfn__weight *w, tfn__text *t);
SHARED int tfn__own_group(const tfn__weight *w);
SHARED bool tfn__is_frozen(const tfn_model_desc *d, const tfn__weight *w);
SHARED bool tfn__is_lora(const tfn__weight *w);
SHARED int tfn__lora_group(const tfn_model_desc *d, tfn__spot at, int part);
SHARED int64_t tfn__trained_at(const tfn__weight *w);

/* The state of a recording: the tape, the table of weights, and nodes that several stacks use. */
typedef struct tfn__builder {
    tfn_tape    *t;
    const tfn_model_desc *d;
    tfn__weight *weights;              /* the table grows downwards: the newest weight is first */
    int32_t      count;
    tfn__weight  counted;              /* returned as every new weight of a tape that only counts */
    bool         grows;                /* false: the table is complete, only look up */
    int64_t      floats, buffers;      /* ends of the parameters and of the state so far */
    int64_t      trained;              /* end of the parameters that are not frozen */
    bool         decode;               /* one token at a time, with caches of the past */
    int32_t      encoder_first;        /* the first node of the encoder */
    tfn_var      embedding;            /* shared by all stacks that have none of their own */
    tfn_var      map;                  /* from the last embedding to the stream, or none */
    tfn_var      table;                /* sinusoids or rotations */
    tfn_var      window_table;         /* rotations of layers with a window */
    tfn_var      bias;                 /* what the stack's positions add to scores, or none */
    tfn_var      memory;               /* the encoder's output; for decoding its first cache */
    tfn_var      logits[3];            /* one for each cluster of words */
    tfn_var      outputs[2];           /* of the encoder's stack, and of the decoder's */
} tfn__builder;
SHARED const tfn__weight *tfn__find_weight(const tfn__weight *weights, int32_t count,
                                           tfn__spot at, int part, int kind);
SHARED const tfn__weight *tfn__known_weight(const tfn__builder *b, tfn__spot at, int part,
                                            int kind);
SHARED tfn__weight *tfn__new_weight(tfn__builder *b, tfn__spot at, int part, int kind,
                                    const tfn__packed *shape, float initial);
SHARED tfn_var tfn__weight_of(tfn__builder *b, tfn__spot at, int part, int kind, int32_t rows,
                              int32_t cols, float initial);
SHARED tfn_var tfn__matrix_at(tfn__builder *b, tfn__spot at, int part, int32_t rows, int32_t cols,
                              bool table);
SHARED tfn_var tfn__gain_at(tfn__builder *b, tfn__spot at, int part, int32_t cols, float initial);
SHARED tfn_var tfn__updates_of(tfn__builder *b);

/* Each probe has an id. A point that the user watches has the id point | kind << 4 | decoder << 7 |
 * layer << 8, which tfn_probe_of decodes. Larger ids are internal. For a profiled scale that is
 * weight w, PROFILE + 2 w is the branch and PROFILE + 2 w + 1 the skip. OUTPUTS + w is the output
 * of the linear map with matrix w. */
enum { TFN__KIND_BIT = 4, TFN__DECODER_BIT = 7, TFN__LAYER_BIT = 8 };
enum { TFN__PROFILE = 1 << 24, TFN__OUTPUTS = 1 << 25 };
SHARED tfn_var tfn__point_at(tfn__builder *b, tfn__spot at, tfn_watched point, tfn_var x);
SHARED void tfn__probe_profile(tfn__builder *b, tfn__spot at, tfn_scale_kind skip, tfn_var x,
                               tfn_var p);
SHARED void tfn__probe_output(tfn__builder *b, tfn__spot at, int part, tfn_var y);
SHARED bool tfn__biased(const tfn_model_desc *d, tfn__spot at, int part);
SHARED bool tfn__folds_norm(const tfn_model_desc *d, tfn__spot at, int part);
SHARED bool tfn__folds_input(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__folds_head_scale(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__folds_shift_1(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__folds_out(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__folds_skip(const tfn_model_desc *d, tfn__spot at);
SHARED tfn__spot tfn__spot_before(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__skip_moves(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__skip_is_one(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__folds_profile(const tfn_model_desc *d, tfn__spot at);
SHARED bool tfn__centred(const tfn_model_desc *d);
SHARED bool tfn__unit_table(const tfn_model_desc *d, bool own);
#endif /* TFN__BUILDER_H */
