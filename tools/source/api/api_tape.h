#ifndef TFNORM_ONLY_KERNELS
/* -- tape: record once, plan once, run many -------------------------------------------------- */

/* A value on a tape; {0} is "none", and what every call on a failed tape returns. */
typedef struct tfn_var { int32_t id; } tfn_var;

/* How many rows a value has: known when the tape runs. */
typedef enum tfn_rows {
    TFN_ROWS_FIXED = 0,    /* a number given with the shape: parameters */
    TFN_ROWS_BATCH,        /* B */
    TFN_ROWS_SOURCE,       /* B*Ts */
    TFN_ROWS_TARGET,       /* B*Tt */
    TFN_ROWS_FRAMES,       /* B*(4*Ts + 3): what two convolutions make B*Ts of, */
    TFN_ROWS_HALF,         /* B*(2*Ts + 1): and what stands between them */
    TFN_ROWS_TARGET_FRAMES,    /* the same for B*Tt: frames of an encoder alone, */
    TFN_ROWS_TARGET_HALF,      /* half as many */
    TFN_ROWS_COUNT
} tfn_rows;

/* The loss of a number y whose target is t: see tfn_number_loss and desc.number_loss. */
#define TFN__NUMBER_LOSS_LIST(X)                                                                  \
    X(TFN_NUMBER_LOSS_SQUARED, "squared", "(y - t)^2", NULL)                                      \
    X(TFN_NUMBER_LOSS_HUBER, "huber", "e = |y - t|: e^2/2 up to delta, then delta (e - delta/2)", \
      "Huber 1964")
typedef enum tfn_number_loss_kind {
    TFN__NUMBER_LOSS_LIST(TFN__CHOICE_ENUM) TFN_NUMBER_LOSS_COUNT
} tfn_number_loss_kind;

#define TFN_INPUTS 6       /* most inputs a node has */
#define TFN_SLOTS  16      /* integer arrays and float inputs that a run binds, each */

/* One operation and the value it makes: indices and offsets, no pointers. */
typedef struct tfn_node {
    uint8_t  op, rows, reads, grad_add;  /* reads: what the backward reads; grad_add: bit a input */
    uint8_t  grad_need, flags;           /* grad_need: inputs that want a gradient, a bit each */
    int16_t  layer;
    int32_t  segment;                    /* recomputed together; 0: kept */
    int32_t  in[TFN_INPUTS];
    int32_t  count, cols, saved_cols;    /* count: rows if TFN_ROWS_FIXED; saved floats a row */
    int32_t  arg[4];
    float    number[2];
    uint32_t site;                       /* stable name of its random numbers */
    /* timeline entry after which value, saved, grad are dead */
    int32_t  dies[5];
    int64_t  value[2], saved[2], grad;   /* floats into their region; [1]: recomputed life */
} tfn_node;

/* What an operation of the user's sees. Inputs' gradients are NULL where none is wanted; add[i]
 * says whether dx[i] is stored or added to. */
typedef struct tfn_custom_args {
    void        *user;
    const float *x[TFN_INPUTS], *dy;
    float       *y, *dx[TFN_INPUTS];
    bool         add[TFN_INPUTS];
    ptrdiff_t    rows, cols, x_rows[TFN_INPUTS], x_cols[TFN_INPUTS];
} tfn_custom_args;

typedef struct tfn_custom_op {
    const char *name;
    void (*forward)(const tfn_custom_args *args);
    void (*backward)(const tfn_custom_args *args);   /* NULL: no gradient passes */
    void *user;
} tfn_custom_op;

typedef struct tfn_tape {
    tfn_error  error;                    /* the first one; later calls do nothing */
    tfn_node  *nodes;                    /* nodes[0] is "none" */
    int32_t   *order;                    /* the timeline, made by the plan */
    size_t     size, peak;               /* bytes of the block; of them used at most, by the plan */
    int32_t    count, order_count, forward_count, segment;
    int32_t    batch, source, target;    /* capacities: B, Ts, Tt; > 0: the most rows B*Ts, B*Tt */
    int32_t    tokens;
    int32_t    layer, threads, customs;
    uint32_t   site;
    uint32_t   inputs_read, targets_read;    /* slots that a run, a backward must bind: bits */
    uint32_t   numbers_read;             /* and float inputs that a backward must bind */
    bool       training, planned, half;
    tfn_cache_type cache_type;           /* private: of the caches that are recorded */
    bool       counts;                   /* private: keeps no nodes, see tfn__tape_count */
    int32_t    placed;                   /* private: nodes with a place in the workspace */
    int64_t    params, grads, tables, buffers, state;    /* floats of each region */
    int64_t    work, values, scratch;    /* floats: the workspace; its values, scratch a thread */
    const tfn_custom_op *custom;         /* the caller's `customs` own operations; set before use */
    const tfn_kernels   *kernels;
    const tfn_quant_kernels *quant;      /* beside them */
} tfn_tape;

/* Called for each probe in forward (backward false: the value) and backward (its gradient). */
typedef void tfn_probe_fn(void *user, int32_t id, const float *data, ptrdiff_t rows,
                          ptrdiff_t cols, bool backward);

/* All that changes from run to run; the tape itself stays constant. */
typedef struct tfn_run {
    int32_t        batch, source, target;     /* B, Ts, Tt of this run, within the capacities */
    int32_t        start;                     /* position of the first target token */
    float         *params, *grads, *tables, *buffers, *state, *work;
    int64_t        step;                      /* updates done */
    const float   *inputs[TFN_SLOTS];
    const int32_t *ints[TFN_SLOTS];
    tfn_key        key;                       /* of dropout: seed, step and micro-batch */
    bool           accumulate;                /* add to the parameters' gradients */
    bool           skip_padding;              /* rows at and beyond the lengths bound below count
                                               * for nothing: they have no target, add nothing to
                                               * the gradient of a scalar, and are 0 behind
                                               * tfn_convolution. false: they are rows like others
                                               * */
    float          loss_scale;                /* d(last node); 0: 1 */
    tfn_probe_fn  *probe;
    void          *probe_user;
} tfn_run;

/* The integer arrays every model binds. LENGTHS are those of target rows, SOURCE_LENGTHS those of
 * source rows; a tape of your own may bind them, too. */
enum { TFN_INT_TOKENS, TFN_INT_TARGETS, TFN_INT_LENGTHS, TFN_INT_SOURCE, TFN_INT_SOURCE_LENGTHS,
       TFN_INT_SEGMENTS, TFN_INT_BEAM,
       TFN_INT_CLUSTERS = 8, TFN_INT_CLUSTER_TARGETS = 11 };   /* of desc.cutoffs: 3 each */

/* Start a tape in a block of memory for nodes; capacities as above. The plan lies in the block
 * too. */
TFNORM_API void tfn_tape_init(tfn_tape *t, void *mem, size_t size, int32_t batch, int32_t source,
                              int32_t target, bool training);
TFNORM_API size_t tfn_tape_bytes(int32_t nodes);      /* block for a tape of so many nodes */

TFNORM_API tfn_var tfn_param(tfn_tape *t, int32_t rows, int32_t cols);       /* next in params */
TFNORM_API tfn_var tfn_input(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols);
TFNORM_API tfn_var tfn_linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b,
                              tfn_activation_kind act);
TFNORM_API tfn_var tfn_linear_transposed(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b);  /* x w^T */
/* over time, of stride 2: y_t = [x_2t x_2t+1 x_2t+2] w + b of each sentence; w (3*C, out) */
TFNORM_API tfn_var tfn_convolution(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b);
TFNORM_API tfn_var tfn_layernorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, float eps);
TFNORM_API tfn_var tfn_rmsnorm(tfn_tape *t, tfn_var x, tfn_var gain, float eps);
/* A norm of rows as `like` says (kind, groups, part, eps, slope, factor (0: 1), offset, detached
 * parts), of `cols` columns each, which divide those of x: a head's, for example. gain, bias (1,
 * cols) or none. */
TFNORM_API tfn_var tfn_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, int32_t cols,
                                 const tfn_norm_args *like);
/* gain * f(alpha x + shift) + bias; alpha, shift (1, 1) or none */
TFNORM_API tfn_var tfn_squash(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var alpha,
                                tfn_var shift, tfn_squash_kind f);
TFNORM_API tfn_var tfn_seednorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var alpha,
                                tfn_var direction, float eps);
TFNORM_API tfn_var tfn_softmax(tfn_tape *t, tfn_var x);
TFNORM_API tfn_var tfn_activation(tfn_tape *t, tfn_var x, tfn_activation_kind act);
TFNORM_API tfn_var tfn_glu(tfn_tape *t, tfn_var gate, tfn_var up, tfn_activation_kind act);
/* z = a*x + b*y */
TFNORM_API tfn_var tfn_add(tfn_tape *t, tfn_var x, tfn_var y, float a, float b);
/* by: parameter (1,1), (1,g) for g groups of channels, or (1,C) */
TFNORM_API tfn_var tfn_scale(tfn_tape *t, tfn_var x, tfn_var by);
/* x + a*by, by (1,1) or (1,C) */
TFNORM_API tfn_var tfn_shift(tfn_tape *t, tfn_var x, tfn_var by, float a);
/* z + w_k x, w (1,n); z may be none. w (g,n): channel i of x has the weight (i mod g, k). */
TFNORM_API tfn_var tfn_mix(tfn_tape *t, tfn_var z, tfn_var x, tfn_var w, int32_t k);
/* x - SiLU(q) x, the second x constant in the backward; q (1,1): Chen 2025 */
TFNORM_API tfn_var tfn_gate(tfn_tape *t, tfn_var x, tfn_var q);
TFNORM_API tfn_var tfn_dropout(tfn_tape *t, tfn_var x, float p);
TFNORM_API tfn_var tfn_embedding(tfn_tape *t, tfn_var table, int32_t slot, tfn_rows rows,
                                 float scale);
TFNORM_API tfn_var tfn_position(tfn_tape *t, tfn_var x, tfn_var table);
TFNORM_API tfn_var tfn_rotary(tfn_tape *t, tfn_var x, tfn_var table, int32_t head_size);
TFNORM_API tfn_var tfn_first_rows(tfn_tape *t, tfn_var x);    /* row 0 of each sentence */
/* Self- or cross-attention of projected q, k, v; lengths: integer slot or -1. */
TFNORM_API tfn_var tfn_attention(tfn_tape *t, tfn_var q, tfn_var k, tfn_var v, int32_t heads,
                              int32_t kv_heads, bool causal, int32_t lengths, float dropout);
TFNORM_API tfn_var tfn_cross_entropy(tfn_tape *t, tfn_var logits, int32_t slot, float smoothing,
                                     int32_t kind);                  /* loss per row, in nats */
/* Of numbers x (rows, n) whose targets, of the same shape, a run binds as float input `slot`: the
 * sum of the losses of each row, (rows, 1). A target that is NaN is ignored; delta > 0 is that of
 * Huber's loss. */
TFNORM_API tfn_var tfn_number_loss(tfn_tape *t, tfn_var x, int32_t slot, tfn_number_loss_kind kind,
                                   float delta);
/* x (rows, 1) where the target of the slot counts, 0 and without a gradient where it is below 0 or
 * padding: what makes a loss of your own ignore what a cross-entropy ignores. */
TFNORM_API tfn_var tfn_mask_targets(tfn_tape *t, tfn_var x, int32_t slot);
TFNORM_API tfn_var tfn_custom(tfn_tape *t, int32_t index, const tfn_var *in, int32_t count,
                              tfn_rows rows, int32_t fixed, int32_t cols);
TFNORM_API void tfn_probe(tfn_tape *t, tfn_var x, int32_t id);      /* report x and its gradient */
/* x and its gradient stay readable after a run; the gradient of a linear with an activation is then
 * the one before the activation, which takes its place. */
TFNORM_API void tfn_keep(tfn_tape *t, tfn_var x);
TFNORM_API void tfn_recompute(tfn_tape *t, int32_t segment);        /* from here on; 0: keep all */

/* Place everything; afterwards t->params, t->work ... say how many floats a run must bind. */
TFNORM_API tfn_status tfn_tape_plan(tfn_tape *t, const tfn_kernels *kernels, int32_t threads);
TFNORM_API tfn_status tfn_tape_forward(const tfn_tape *t, const tfn_run *r);
/* d(last node) = 1 */
TFNORM_API tfn_status tfn_tape_backward(const tfn_tape *t, const tfn_run *r);
TFNORM_API float     *tfn_value(const tfn_tape *t, const tfn_run *r, tfn_var x);
TFNORM_API float     *tfn_gradient(const tfn_tape *t, const tfn_run *r, tfn_var x);

/* -- norms: rows of data --------------------------------------------------------------------- */

/* What the options "norm" and "decoder_norm" name, and norm_rule points to; flags are added. Gain
 * and bias start at 1, 0. */
enum {
    TFN_FLAG_GAIN = 1,                        /* a vector of C, learned */
    TFN_FLAG_BIAS = 2,                        /* the same */
    TFN_FLAG_SCALAR = 4,                      /* one learned gain, sqrt(C) at the start */
    TFN_FLAG_OFFSET = 8,                      /* the gain is 1 + weight, the weight starts at 0 */
    TFN_FLAG_DETACH_MEAN = 16,                /* the backward takes the mean for a constant, */
    TFN_FLAG_DETACH_STD = 32,                 /* or the deviation */
    TFN_FLAG_BY_HEAD = 64,                    /* statistics of `heads` contiguous groups */
    TFN_FLAG_SHIFT = 128,                     /* of TFN_NORM_POINT: a learned shift */
    /* A property, not a choice: statistics of the whole tensor, at inference too. What stands at a
     * position depends on later ones and on the other sentences of the batch: neither causal nor
     * equal in decode. */
    TFN_FLAG_WHOLE = 256,
    TFN_FLAG_PLAIN = 512                      /* of TFN_NORM_ADA: n itself, slope 0 and factor 1 */
};
typedef struct tfn_norm_rule {
    const char   *name;
    const char   *formula, *paper;      /* NULL without the extra norms, as in small builds */
    int32_t       year;
    tfn_norm_kind kind;
    uint32_t      flags;
    float         eps;                  /* 0: desc.norm_eps, or 1e-5 */
    float         part;                 /* statistics of the first part*C features; 0: of all */
    tfn_squash_kind squash;             /* of TFN_NORM_POINT, whose alpha starts at 1/2 */
} tfn_norm_rule;
TFNORM_API const tfn_norm_rule *tfn_norm_find(const char *name);         /* NULL: unknown */
TFNORM_API const tfn_norm_rule *tfn_norm_at(int32_t i);                  /* NULL: past the end */

/* -- topologies: rows of data ---------------------------------------------------------------- */

/* A scale of the residual join: value * N^n * M^m * l^layer, N and M the depths of encoder and
 * decoder (a lone stack counts as both), l the layer from 1; learned ones start there. */
typedef enum tfn_scale_kind {
    TFN_SCALE_NONE = 0, TFN_SCALE_CONSTANT,
    TFN_SCALE_LEARNED, TFN_SCALE_VECTOR,      /* a scalar, or one a channel */
    TFN_SCALE_SHARED,                         /* a scalar for all sub-layers of a layer */
    TFN_SCALE_PROFILED,                       /* VECTOR, set by tfn_model_profile */
    TFN_SCALE_FOLDED,                         /* the same, then folded into the weights */
    TFN_SCALE_SCHEDULED,                      /* min(1, t/value) after t updates, which the weights
                                               * "schedule.updates" count, up to 2^24 */
    TFN_SCALE_LERP                            /* skip only: 1 - |out|, channel by channel; the
                                               * branch is multiplied by |out|, too */
} tfn_scale_kind;
typedef struct tfn_scale_rule {
    tfn_scale_kind kind;
    float value, n, m, layer;
    float unit;               /* learned: stored times unit, so that lr acts on value/unit; 0: 1 */
} tfn_scale_rule;

/* Norms of queries and keys, before rotary positions but for UNIT. L2 has a learned scalar in the
 * place of 1/sqrt(D), COSINE exp(min(tau, ln 100)) a head. HEAD, FULL and QKV_HEAD are the model's
 * norm, a gain of (D) or of all heads. UNIT has a learned vector, which queries and keys share, so
 * kv_heads must be heads, and sqrt(D). */
#define TFN__QK_NORM_LIST(X)                                                                      \
    X(TFN_QK_NORM_NONE, "none", "q . k / sqrt(D)", NULL)                                          \
    X(TFN_QK_NORM_L2, "l2", "g cos(q, k)", "Henry et al. 2020")                                   \
    X(TFN_QK_NORM_COSINE, "cosine", "exp(min(tau, ln 100)) cos(q, k)", "Liu et al. 2021, Swin v2") \
    X(TFN_QK_NORM_HEAD, "head", "N(q) . N(k) / sqrt(D)", "Dehghani et al. 2023; Gemma 3")         \
    X(TFN_QK_NORM_FULL, "full", "head, the norm over all heads", "OLMo 2 2024")                   \
    X(TFN_QK_NORM_UNIT, "unit", "sqrt(D) (s q/|q|) . (s k/|k|)", "Loshchilov et al. 2024")        \
    X(TFN_QK_NORM_QKV_HEAD, "qkv-head", "head, of the values too", "Zhuo et al. 2025")
typedef enum tfn_qk_norm {
    TFN_QK_NORM_DEFAULT = 0,      /* the topology's, or NONE */
    TFN__QK_NORM_LIST(TFN__CHOICE_ENUM) TFN_QK_NORM_COUNT
} tfn_qk_norm;

/* What a sub-layer reads, or its skip starts from. */
typedef enum tfn_source {
    TFN_SOURCE_STREAM = 0,        /* x */
    TFN_SOURCE_NORMED,            /* N_in(x); of skips only */
    TFN_SOURCE_LAYER,             /* x_0 */
    TFN_SOURCE_FIRST              /* what the layer's first sub-layer read; not of skips */
} tfn_source;

/* A learned number for each head (NormFormer). */
typedef enum tfn_head_scale {
    TFN_HEAD_SCALE_NONE = 0,
    TFN_HEAD_SCALE_BEFORE,        /* of W_O's input: the heads */
    TFN_HEAD_SCALE_AFTER          /* of W_O's output, in blocks of D channels */
} tfn_head_scale;

/* One sub-layer F with input x, in a layer that began with x_0:
 *   p = out * N_branch(F(in * N_in(source)));  z = skip*x + p + extra*x_0;  x = N_sum(z) */
typedef struct tfn_join {
    bool norm_in, norm_branch, norm_sum;
    bool norm_inner;              /* before the last matrix of F: W_O, W_2 */
    bool shifts;                  /* Fixup's: x - s before F; W_2(f(x W_1 - s) - s) in it */
    bool gate;                    /* GPAS: x - SiLU(q) sg(x), q of the layer: of the sum, or where
                                   * that is normed of the skip */
    bool extra_last;              /* extra*x_0 after N_sum */
    bool scales;                  /* nGPT: learned vectors behind W_1 and W_3 */
    tfn_source source;            /* STREAM, LAYER or FIRST */
    tfn_source skip_from;         /* STREAM, NORMED or LAYER */
    tfn_qk_norm qk;               /* of attention, unless the model's option overrides it */
    tfn_head_scale head_scale;
    tfn_scale_rule in, out, skip, extra;
} tfn_join;

typedef enum tfn_sublayer {
    TFN_SUBLAYER_SELF_ATTENTION, TFN_SUBLAYER_CROSS_ATTENTION, TFN_SUBLAYER_FFN,
    TFN_SUBLAYER_FFN_BEFORE                      /* the first half of a Macaron */
} tfn_sublayer;
typedef struct tfn_place {              /* where a row is asked for */
    tfn_sublayer kind;
    bool    decoder, alone;             /* alone: no other stack */
    int32_t layer, depth;               /* layer from 1 */
    int32_t encoder_depth, decoder_depth, width;     /* N, M (a lone stack counts as both), C */
} tfn_place;

/* What whole stacks have; flags are added. */
enum {
    TFN_TOPOLOGY_FINAL_NORM      = 1,     /* behind the last layer */
    TFN_TOPOLOGY_EMBEDDING_NORM  = 2,     /* x_0 is normed */
    TFN_TOPOLOGY_FIXNORM         = 4,     /* rows of the embedding have length 1 wherever it is
                                           * used: a table of two stacks, if one says so */
    TFN_TOPOLOGY_MACARON         = 8,     /* half a feed-forward before the attention */
    TFN_TOPOLOGY_SIDE_STREAM     = 16,    /* ResiDual: y = x_0 + sum of all p; output x + N(y): see
                                           * side_scale */
    TFN_TOPOLOGY_TRANSPARENT     = 32,    /* layers of the decoder see a learned mean of encoder
                                           * layers */
    TFN_TOPOLOGY_EDGE_SHIFTS     = 64,    /* Fixup: the output is shifted, the encoder's scaled */
    TFN_TOPOLOGY_BIASLESS        = 128,   /* linear maps have no bias */
    TFN_TOPOLOGY_UNIT_WEIGHTS    = 256,   /* nGPT: weights of length 1 along C after each update */
    TFN_TOPOLOGY_LOGIT_SCALE     = 512,   /* nGPT: a learned scale for each word */
    TFN_TOPOLOGY_EMBEDDING_SCALE = 1024,  /* x_0 times a learned scalar, sqrt(C) at the start */
    TFN_TOPOLOGY_SIGMA_REPARAM   = 2048,  /* linear maps are gamma/sigma W, see below */
    TFN_TOPOLOGY_SIGMA_OWN       = 4096   /* gamma starts at sigma, so that maps start as drawn;
                                           * else at 1 */
};
/* sigmaReparam (Zhai 2023, section 3.2): a linear map reads gamma/sigma W in the place of W (in,
 * out), sigma = u^T W v, gamma a learned scalar. u and v are state, saved with the weights: they
 * follow W by one power iteration, v = W^T u/|W^T u|, u = W v/|W v|, after each update, and begin
 * near W's first singular vectors. The gradient takes them for constants and goes through sigma.
 * The authors' code iterates when a forward begins, in evaluation too: the same numbers. Where W is
 * 0, sigma counts as 1. All maps of sub-layers and of the model's ends have it, but for embeddings,
 * a tied output and the clusters of words. tfn_model_fold merges it. */

/* How the input of a layer, and of what follows the last, comes from all layers y_0 .. y_l. */
typedef enum tfn_aggregate {
    TFN_AGGREGATE_NONE = 0,
    TFN_AGGREGATE_NORMED,     /* sum of w_k N_k(y_k), y_0 as it is; w_k = 1/(l+1) at the start */
    TFN_AGGREGATE_NORM,       /* N(sum of w_k y_k) */
    TFN_AGGREGATE_DENSE,      /* N(sum of y_k) */
    TFN_AGGREGATE_LINEAR      /* sum of w_k y_k */
} tfn_aggregate;

/* The weights w of an aggregate, as rows of DLCL's code have them (Wang 2019). All zero: one number
 * for each y_k. The tensor is (groups, outputs). */
typedef struct tfn_mix_rule {
    int32_t groups;           /* 0: 1; so many weights for each y_k: channel i has i mod groups */
    bool    channels;         /* as many groups as channels */
    bool    softmax;          /* what is stored are logits: softmax over the y_k, group by group */
    bool    ones;             /* they start at 1, not at 1/(l+1) */
    int32_t window;           /* 0: all. With softmax only the last so many y_k are mixed; without,
                               * the others start at 0, but are learned, as in the code (1/(l+1)
                               * becomes 1/window, and ones are not changed) */
} tfn_mix_rule;

typedef struct tfn_topology {
    const char *name;
    const char *formula, *paper;        /* as of a norm */
    int32_t     year;
    uint32_t    flags;
    tfn_aggregate aggregate;
    /* NULL, or what differs by place: changes *join, which holds the row's */
    void      (*rule)(const tfn_place *place, tfn_join *join);
    tfn_join    attention, ffn;         /* self- and cross-attention share a join */
    tfn_mix_rule mix;                   /* of the aggregate */
    /* of TFN_TOPOLOGY_SIDE_STREAM, each 0: 1. y = side_scale (x_0 + sum of all p), small against
     * overflow in half precision; output side_weight x + N(y) */
    float       side_scale, side_weight;
} tfn_topology;

TFNORM_API const tfn_topology *tfn_topology_find(const char *name);     /* NULL: unknown */
TFNORM_API const tfn_topology *tfn_topology_at(int32_t i);              /* NULL: past the end */
/* The join of a sub-layer: the row's, changed by its rule. Of NULL: all zero. */
TFNORM_API tfn_join tfn_topology_join(const tfn_topology *t, const tfn_place *place);

/* Initial weights: a base distribution with a gain per matrix class. */
typedef enum tfn_distribution {
    TFN_DISTRIBUTION_XAVIER_NORMAL,      /* variance 2/(in+out): Xiong 2020, section 3.3 */
    TFN_DISTRIBUTION_XAVIER_UNIFORM,     /* the same variance (Glorot & Bengio 2010) */
    TFN_DISTRIBUTION_NORMAL,             /* standard deviation `std` */
    TFN_DISTRIBUTION_TRUNCATED_NORMAL,   /* the same, redrawn outside two standard deviations */
    /* U(+-1/sqrt(in)) for weights and biases: PyTorch's nn.Linear */
    TFN_DISTRIBUTION_FAN_IN_UNIFORM,
    TFN_DISTRIBUTION_FAN_IN_NORMAL,      /* variance 1/in */
    TFN_DISTRIBUTION_HE_NORMAL,          /* variance 2/in: He 2015 */
    TFN_DISTRIBUTION_ORTHOGONAL,         /* orthonormal rows or columns: Saxe 2014 */
    TFN_DISTRIBUTION_MIRRORED  /* Xavier; W_1 = [A, -A], W_2 = [C; -C]: LookLinear, Balduzzi 2017 */
} tfn_distribution;
typedef struct tfn_gains { float q, k, v, o, w1, w2, embedding; } tfn_gains;
typedef struct tfn_init_rule {
    const char      *name;
    const char      *formula, *paper;             /* as of a norm */
    int32_t          year;
    tfn_distribution base;                        /* of attention and the rest */
    tfn_distribution ffn_base;                    /* of W_1, W_2, W_3 */
    float            std;                         /* of NORMAL and TRUNCATED_NORMAL */
    float            embedding_std;               /* 0: 1/sqrt(C) */
    bool             zero_output;                 /* an untied output matrix starts at 0 */
    bool             zero_branch;                 /* and so do the gains of N_branch */
    bool             qkv_bias;                    /* draw the biases of q, k, v: U(+-1/sqrt(in)) */
    bool             gain_bias;                   /* gains act on biases too */
    bool             unit_variance;               /* LSUV: W over the deviation of its output */
    bool             table_output;                /* an untied output matrix is N(0, 1/C) */
    /* NULL: all 1. Gains at a place; they hold 1 when it is called */
    void           (*rule)(const tfn_place *place, tfn_gains *gains);
} tfn_init_rule;
TFNORM_API const tfn_init_rule *tfn_init_find(const char *name);
TFNORM_API const tfn_init_rule *tfn_init_at(int32_t i);

/* A recipe: the three together, under the name of the method. */
typedef struct tfn_recipe { const char *name, *topology, *norm, *init; } tfn_recipe;
TFNORM_API const tfn_recipe *tfn_recipe_find(const char *name);
TFNORM_API const tfn_recipe *tfn_recipe_at(int32_t i);

/* -- schedules ------------------------------------------------------------------------------- */

/* The rate of update t = 1, 2, ... With W = warmup, S = steps and A = anchor, every kind but Noam
 * begins with the warm-up of Xiong 2020, eq. 1, for t <= W, so that the rate of W is lr:
 *   lr_init + t (lr - lr_init)/W
 * and goes on as its row says, for t > W and with r = (S - t + 1)/(S - W + 1); Noam has its formula
 * from t = 1. So no update has a rate of 0 and update S still moves; lr_min comes behind it. */
#define TFN__SCHEDULE_LIST(X)                                                                     \
    X(TFN_SCHEDULE_CONSTANT, "constant", "lr", NULL)                                              \
    X(TFN_SCHEDULE_INVERSE_SQRT, "inverse-sqrt", "lr sqrt(A/t); lr while t <= A", "fairseq")      \
    X(TFN_SCHEDULE_NOAM, "noam", "lr width^-1/2 min(t^-1/2, t W^-3/2)",                           \
      "Vaswani et al. 2017, eq. 3")                                                               \
    X(TFN_SCHEDULE_LINEAR, "linear", "lr_min + (lr - lr_min) r", NULL)                            \
    X(TFN_SCHEDULE_STEP, "step", "lr; see step_at", NULL)                                         \
    X(TFN_SCHEDULE_COSINE, "cosine", "lr_min + (lr - lr_min) (1 - cos(pi r))/2",                  \
      "Loshchilov & Hutter 2017, eq. 5")                                                          \
    X(TFN_SCHEDULE_WARMUP_STABLE_DECAY, "stable-decay",                                           \
      "lr_min + (lr - lr_min) min(1, (S - t + 1)/(D + 1)), D = decay_steps", "Hu et al. 2024")    \
    X(TFN_SCHEDULE_T_FIXUP, "t-fixup", "lr sqrt(A/(A + t - W))", "Huang et al. 2020")             \
    X(TFN_SCHEDULE_POLYNOMIAL, "polynomial", "lr_min + (lr - lr_min) r^power", "fairseq")
typedef enum tfn_schedule_kind {
    TFN_SCHEDULE_DEFAULT = 0,     /* CONSTANT */
    TFN__SCHEDULE_LIST(TFN__CHOICE_ENUM) TFN_SCHEDULE_COUNT
} tfn_schedule_kind;

typedef struct tfn_schedule {
    tfn_schedule_kind kind;
    float   lr;               /* peak; 0: 1e-3, of Lion 1e-4; of Noam the factor, 0: 1 */
    float   lr_init, lr_min;
    int64_t warmup, steps;    /* steps: the last update of those that end */
    int64_t anchor;           /* of the inverse square root, 0: warmup, at least 1; of T-Fixup,
                               * 0: 4000 */
    int64_t step_at;          /* > 0: once after so many updates times step_factor, of any kind */
    float   step_factor;      /* 0: 0.1 */
    int64_t decay_steps;      /* 0: steps/10; at least 1, at most steps - warmup */
    float   power;            /* of POLYNOMIAL; 0: 1 */
    bool    fairseq;          /* true: fairseq's counting. Update t + 1 has the rate lr(t), the
                               * first lr(0) = lr_init, and r = (S - t)/(S - W): 0 at t = S. */
    bool    frozen;           /* true: the rate is 0, and no weight moves */
} tfn_schedule;
/* The rate of update t, from 1; width is Noam's. Of NULL: NaN. */
TFNORM_API float tfn_schedule_at(const tfn_schedule *s, int64_t t, int32_t width);
#endif /* TFNORM_ONLY_KERNELS */
