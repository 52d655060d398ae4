#ifndef TFNORM_ONLY_KERNELS
/* -- tape: record once, plan once, run many -------------------------------------------------- */

/* A value on a tape. {0} means none, and is what every call on a failed tape returns. */
typedef struct tfn_var { int32_t id; } tfn_var;

/* How many rows a value has; the sizes are known when the tape runs. */
typedef enum tfn_rows {
    TFN_ROWS_FIXED = 0,    /* a number given with the shape: parameters */
    TFN_ROWS_BATCH,        /* B */
    TFN_ROWS_SOURCE,       /* B*Ts */
    TFN_ROWS_TARGET,       /* B*Tt */
    TFN_ROWS_FRAMES,       /* B*(4*Ts + 3): two convolutions make B*Ts of them */
    TFN_ROWS_HALF,         /* B*(2*Ts + 1): between those two convolutions */
    TFN_ROWS_TARGET_FRAMES,    /* B*(4*Tt + 3): frames of an encoder without a decoder */
    TFN_ROWS_TARGET_HALF,      /* B*(2*Tt + 1) */
    TFN_ROWS_COUNT
} tfn_rows;

/* The loss of a number y with target t: see tfn_number_loss and desc.number_loss. */
#define TFN__NUMBER_LOSS_LIST(X)                                                                  \
    X(TFN_NUMBER_LOSS_SQUARED, "squared", "(y - t)^2", NULL)                                      \
    X(TFN_NUMBER_LOSS_HUBER, "huber", "e = |y - t|: e^2/2 up to delta, then delta (e - delta/2)", \
      "Huber 1964")
typedef enum tfn_number_loss_kind {
    TFN__NUMBER_LOSS_LIST(TFN__CHOICE_ENUM) TFN_NUMBER_LOSS_COUNT
} tfn_number_loss_kind;

#define TFN_INPUTS 6       /* most inputs of a node */
#define TFN_SLOTS  16      /* most integer arrays, and most float inputs, that a run binds */

/* One operation and its value: indices and offsets, no pointers. */
typedef struct tfn_node {
    uint8_t  op, rows, reads, grad_add;  /* reads: mask of arrays for the backward; grad_add: a bit
                                          * for each input */
    uint8_t  grad_need, flags;           /* grad_need: a bit for each input that needs a gradient */
    int16_t  layer;
    int32_t  segment;                    /* recomputed together; 0: kept */
    int32_t  in[TFN_INPUTS];
    int32_t  count, cols, saved_cols;    /* count: rows if TFN_ROWS_FIXED; saved_cols: saved floats
                                          * a row */
    int32_t  arg[4];
    float    number[2];
    uint32_t site;                       /* stable name of its random numbers */
    /* the timeline entry after which each of value, saved, grad is dead */
    int32_t  dies[5];
    int64_t  value[2], saved[2], grad;   /* offsets in their regions, in floats; [1]: of the
                                          * recomputed life */
} tfn_node;

/* The arguments of a user's operation. dx[i] is NULL if no gradient is needed; add[i] says whether
 * dx[i] is added to or stored. */
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
    tfn_error  error;                    /* the first error; later calls do nothing */
    tfn_node  *nodes;                    /* nodes[0] is "none" */
    int32_t   *order;                    /* the timeline, made by the plan */
    size_t     size, peak;               /* bytes of the block, and the most that the plan used */
    int32_t    count, order_count, forward_count, segment;
    int32_t    batch, source, target;    /* capacities B, Ts, Tt */
    int32_t    tokens;                   /* > 0: the most rows B*Ts, B*Tt */
    int32_t    layer, threads, customs;
    uint32_t   site;
    uint32_t   inputs_read, targets_read;    /* bits: slots that a run, and a backward, must bind */
    uint32_t   numbers_read;             /* bits: float inputs that a backward must bind */
    bool       training, planned, half;
    tfn_cache_type cache_type;           /* private: of the caches that are recorded */
    bool       counts;                   /* private: keeps no nodes, see tfn__tape_count */
    int32_t    placed;                   /* private: nodes with a place in the workspace */
    int64_t    params, grads, tables, buffers, state;    /* floats of each region */
    int64_t    work, values, scratch;    /* floats of the workspace, of its values, and of scratch a
                                          * thread */
    const tfn_custom_op *custom;         /* `customs` operations of your own; set both before use */
    const tfn_kernels   *kernels;
    const tfn_quant_kernels *quant;      /* the packed kernels beside them */
} tfn_tape;

/* Called for each probe, in the forward with its value and in the backward with its gradient. */
typedef void tfn_probe_fn(void *user, int32_t id, const float *data, ptrdiff_t rows,
                          ptrdiff_t cols, bool backward);

/* Everything that changes from run to run. The tape itself is constant. */
typedef struct tfn_run {
    int32_t        batch, source, target;     /* B, Ts, Tt of this run, within the capacities */
    int32_t        start;                     /* position of the first target token */
    float         *params, *grads, *tables, *buffers, *state, *work;
    int64_t        step;                      /* updates done */
    const float   *inputs[TFN_SLOTS];
    const int32_t *ints[TFN_SLOTS];
    tfn_key        key;                       /* of dropout: seed, step and micro-batch */
    bool           accumulate;                /* true: add to the parameters' gradients */
    bool           skip_padding;              /* true: rows at and beyond the lengths bound below
                                               * change no bit of the others and have no target.
                                               * On a tape that trains they are 0 in every value
                                               * and gradient; an input of your own must be finite
                                               * there. false: they are rows like others. */
    float          loss_scale;                /* d(last node); 0: 1 */
    tfn_probe_fn  *probe;
    void          *probe_user;
} tfn_run;

/* The integer arrays that every model binds. LENGTHS belong to target rows, SOURCE_LENGTHS to
 * source rows. A tape of your own may bind them, too. */
enum { TFN_INT_TOKENS, TFN_INT_TARGETS, TFN_INT_LENGTHS, TFN_INT_SOURCE, TFN_INT_SOURCE_LENGTHS,
       TFN_INT_SEGMENTS, TFN_INT_BEAM,
       TFN_INT_CLUSTERS = 8, TFN_INT_CLUSTER_TARGETS = 11 };   /* with desc.cutoffs, 3 of each */

/* Starts a tape in a block of memory for nodes and plan. Capacities are as above. */
TFNORM_API void tfn_tape_init(tfn_tape *t, void *mem, size_t size, int32_t batch, int32_t source,
                              int32_t target, bool training);
TFNORM_API size_t tfn_tape_bytes(int32_t nodes);      /* bytes of a block for this many nodes */

TFNORM_API tfn_var tfn_param(tfn_tape *t, int32_t rows, int32_t cols);       /* next in params */
TFNORM_API tfn_var tfn_input(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols);
TFNORM_API tfn_var tfn_linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b,
                              tfn_activation_kind act);
TFNORM_API tfn_var tfn_linear_transposed(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b);  /* x w^T */
/* Convolution over time with stride 2: y_t = [x_2t x_2t+1 x_2t+2] w + b in each sentence; w (3*C,
 * out). */
TFNORM_API tfn_var tfn_convolution(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b);
TFNORM_API tfn_var tfn_layernorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, float eps);
TFNORM_API tfn_var tfn_rmsnorm(tfn_tape *t, tfn_var x, tfn_var gain, float eps);
/* Norm of rows. `like` sets kind, groups, part, eps, slope, factor (0: 1), offset and the detached
 * parts. It normalizes every `cols` columns of x, for example each head. gain, bias: (1, cols) or
 * none. */
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
/* z + w_k x, w (1,n); z may be none. With w (g,n), channel i of x has the weight (i mod g, k). */
TFNORM_API tfn_var tfn_mix(tfn_tape *t, tfn_var z, tfn_var x, tfn_var w, int32_t k);
/* x - SiLU(q) x, where the second x is constant in the backward; q (1,1): Chen 2025 */
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
                                     int32_t kind);                  /* loss of each row, in nats */
/* The losses of numbers x (rows, n), summed over each row: (rows, 1). A run binds their targets, of
 * the same shape, as float input `slot`. A NaN target is ignored. delta > 0 is for Huber's loss. */
TFNORM_API tfn_var tfn_number_loss(tfn_tape *t, tfn_var x, int32_t slot, tfn_number_loss_kind kind,
                                   float delta);
/* x (rows, 1), but 0 and without a gradient in rows whose target in the slot is below 0 or padding.
 * Use it in your own loss, to ignore the same rows as a cross-entropy. */
TFNORM_API tfn_var tfn_mask_targets(tfn_tape *t, tfn_var x, int32_t slot);
TFNORM_API tfn_var tfn_custom(tfn_tape *t, int32_t index, const tfn_var *in, int32_t count,
                              tfn_rows rows, int32_t fixed, int32_t cols);
TFNORM_API void tfn_probe(tfn_tape *t, tfn_var x, int32_t id);      /* reports x and its gradient */
/* Keeps x and its gradient readable after a run. For a linear map with an activation, this is the
 * gradient before the activation. */
TFNORM_API void tfn_keep(tfn_tape *t, tfn_var x);
TFNORM_API void tfn_recompute(tfn_tape *t, int32_t segment);        /* from here on; 0: keep all */

/* Plans the memory. Afterwards t->params, t->work ... are the floats that a run must bind. */
TFNORM_API tfn_status tfn_tape_plan(tfn_tape *t, const tfn_kernels *kernels, int32_t threads);
TFNORM_API tfn_status tfn_tape_forward(const tfn_tape *t, const tfn_run *r);
/* Starts from d(last node) = 1. */
TFNORM_API tfn_status tfn_tape_backward(const tfn_tape *t, const tfn_run *r);
TFNORM_API float     *tfn_value(const tfn_tape *t, const tfn_run *r, tfn_var x);
TFNORM_API float     *tfn_gradient(const tfn_tape *t, const tfn_run *r, tfn_var x);

/* -- norms: rows of data --------------------------------------------------------------------- */

/* Rows of the options "norm" and "decoder_norm", and of norm_rule. Flags are added. Gain and bias
 * start at 1 and 0. */
enum {
    TFN_FLAG_GAIN = 1,                        /* a learned vector (C) */
    TFN_FLAG_BIAS = 2,                        /* a learned vector (C) */
    TFN_FLAG_SCALAR = 4,                      /* one learned gain, sqrt(C) at the start */
    TFN_FLAG_OFFSET = 8,                      /* the gain is 1 + weight, the weight starts at 0 */
    TFN_FLAG_DETACH_MEAN = 16,                /* the mean is constant in the backward */
    TFN_FLAG_DETACH_STD = 32,                 /* the deviation is constant in the backward */
    TFN_FLAG_BY_HEAD = 64,                    /* statistics of each of `heads` contiguous groups */
    TFN_FLAG_SHIFT = 128,                     /* for TFN_NORM_POINT: a learned shift */
    /* Describes a norm, and is not a choice: its statistics are of the whole tensor, in inference,
     * too. So a position depends on later ones and on other sentences of the batch. It is not
     * causal, and decoding gives other results. */
    TFN_FLAG_WHOLE = 256,
    TFN_FLAG_PLAIN = 512                      /* for TFN_NORM_ADA: n itself, slope 0 and factor 1 */
};
typedef struct tfn_norm_rule {
    const char   *name;
    const char   *formula, *paper;      /* NULL without the extra norms, as in small builds */
    int32_t       year;
    tfn_norm_kind kind;
    uint32_t      flags;
    float         eps;                  /* 0: desc.norm_eps, or 1e-5 */
    float         part;                 /* statistics of the first part*C channels; 0: of all */
    tfn_squash_kind squash;             /* for TFN_NORM_POINT; alpha starts at 1/2 */
} tfn_norm_rule;
TFNORM_API const tfn_norm_rule *tfn_norm_find(const char *name);         /* NULL: unknown */
TFNORM_API const tfn_norm_rule *tfn_norm_at(int32_t i);                  /* NULL: past the end */

/* -- topologies: rows of data ---------------------------------------------------------------- */

/* A scale of the residual join: value * N^n * M^m * l^layer, where N and M are the depths of
 * encoder and decoder (equal if there is one stack), and l is the layer from 1. Learned scales
 * start there. */
typedef enum tfn_scale_kind {
    TFN_SCALE_NONE = 0, TFN_SCALE_CONSTANT,
    TFN_SCALE_LEARNED, TFN_SCALE_VECTOR,      /* a scalar; a number for each channel */
    TFN_SCALE_SHARED,                         /* a scalar for all sub-layers of a layer */
    TFN_SCALE_PROFILED,                       /* VECTOR, set by tfn_model_profile */
    TFN_SCALE_FOLDED,                         /* as PROFILED, then folded into the weights */
    TFN_SCALE_SCHEDULED,                      /* min(1, t/value) after t updates; the weight
                                               * "schedule.updates" counts them, up to 2^24 */
    TFN_SCALE_LERP                            /* only for skips: 1 - |out| for each channel; the
                                               * branch is multiplied by |out| */
} tfn_scale_kind;
typedef struct tfn_scale_rule {
    tfn_scale_kind kind;
    float value, n, m, layer;
    float unit;               /* learned scales are stored divided by unit, so that lr acts on
                               * value/unit; 0: 1 */
} tfn_scale_rule;

/* Norms of queries and keys, applied before rotary positions, except UNIT. L2 has a learned scalar
 * instead of 1/sqrt(D); COSINE has exp(min(tau, ln 100)) for each head. HEAD, FULL and QKV_HEAD use
 * the model's norm, with a gain (D) or of all heads. UNIT has sqrt(D) and a learned vector that
 * queries and keys share, so kv_heads must equal heads. */
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

/* The source of a sub-layer's input, or of its skip. */
typedef enum tfn_source {
    TFN_SOURCE_STREAM = 0,        /* x */
    TFN_SOURCE_NORMED,            /* N_in(x); only for skips */
    TFN_SOURCE_LAYER,             /* x_0 */
    TFN_SOURCE_FIRST              /* the input of the layer's first sub-layer; not for skips */
} tfn_source;

/* A learned number for each head (NormFormer). */
typedef enum tfn_head_scale {
    TFN_HEAD_SCALE_NONE = 0,
    TFN_HEAD_SCALE_BEFORE,        /* on W_O's input: the heads */
    TFN_HEAD_SCALE_AFTER          /* on W_O's output, in blocks of D channels */
} tfn_head_scale;

/* One sub-layer F with input x, in a layer that began with x_0:
 *   p = out * N_branch(F(in * N_in(source)));  z = skip*x + p + extra*x_0;  x = N_sum(z) */
typedef struct tfn_join {
    bool norm_in, norm_branch, norm_sum;
    bool norm_inner;              /* a norm before the last matrix of F: W_O, W_2 */
    bool shifts;                  /* Fixup: x - s before F; W_2(f(x W_1 - s) - s) inside */
    bool gate;                    /* GPAS: x - SiLU(q) sg(x), with q of the layer; on the sum, or on
                                   * the skip if the sum is normalized */
    bool extra_last;              /* extra*x_0 is added after N_sum */
    bool scales;                  /* nGPT: learned vectors after W_1 and W_3 */
    tfn_source source;            /* STREAM, LAYER or FIRST */
    tfn_source skip_from;         /* STREAM, NORMED or LAYER */
    tfn_qk_norm qk;               /* of attention, unless the model's option is set */
    tfn_head_scale head_scale;
    tfn_scale_rule in, out, skip, extra;
} tfn_join;

typedef enum tfn_sublayer {
    TFN_SUBLAYER_SELF_ATTENTION, TFN_SUBLAYER_CROSS_ATTENTION, TFN_SUBLAYER_FFN,
    TFN_SUBLAYER_FFN_BEFORE                      /* the first half of Macaron's */
} tfn_sublayer;
typedef struct tfn_place {              /* the place of a sub-layer, for rules */
    tfn_sublayer kind;
    bool    decoder, alone;             /* alone: there is no other stack */
    int32_t layer, depth;               /* layer from 1 */
    int32_t encoder_depth, decoder_depth, width;     /* N, M (equal if there is one stack), C */
} tfn_place;

/* Properties of whole stacks. Flags are added. */
enum {
    TFN_TOPOLOGY_FINAL_NORM      = 1,     /* after the last layer */
    TFN_TOPOLOGY_EMBEDDING_NORM  = 2,     /* x_0 is normalized */
    TFN_TOPOLOGY_FIXNORM         = 4,     /* rows of the embedding always have length 1; two stacks
                                           * that share a table: if either has the flag */
    TFN_TOPOLOGY_MACARON         = 8,     /* half a feed-forward before the attention */
    TFN_TOPOLOGY_SIDE_STREAM     = 16,    /* ResiDual: y = x_0 + sum of all p, output x + N(y): see
                                           * side_scale */
    TFN_TOPOLOGY_TRANSPARENT     = 32,    /* layers of the decoder read a learned mean of encoder
                                           * layers */
    TFN_TOPOLOGY_EDGE_SHIFTS     = 64,    /* Fixup: the output is shifted, and the encoder's is also
                                           * scaled */
    TFN_TOPOLOGY_BIASLESS        = 128,   /* linear maps have no bias */
    TFN_TOPOLOGY_UNIT_WEIGHTS    = 256,   /* nGPT: weights of length 1 along C after each update */
    TFN_TOPOLOGY_LOGIT_SCALE     = 512,   /* nGPT: a learned scale for each word */
    TFN_TOPOLOGY_EMBEDDING_SCALE = 1024,  /* x_0 times a learned scalar, sqrt(C) at the start */
    TFN_TOPOLOGY_SIGMA_REPARAM   = 2048,  /* linear maps are gamma/sigma W, see below */
    TFN_TOPOLOGY_SIGMA_OWN       = 4096   /* gamma starts at sigma, so that maps start as drawn;
                                           * otherwise at 1 */
};
/* sigmaReparam (Zhai 2023, section 3.2): a linear map uses gamma/sigma W instead of W (in, out),
 * where sigma = u^T W v and gamma is a learned scalar. u and v are state, saved with the weights.
 * They start near W's first singular vectors, and follow W by one power iteration after each
 * update: v = W^T u/|W^T u|, u = W v/|W v|. The gradient goes through sigma but treats u and v as
 * constants. The authors' code iterates when a forward begins, in evaluation, too, which gives the
 * same numbers. If W is 0, sigma counts as 1. All maps of sub-layers and of the model's ends have
 * it, except embeddings, a tied output and clusters of words. tfn_model_fold merges it. */

/* How the input of a layer, and of the stack's end, is made from the layers y_0 .. y_l. */
typedef enum tfn_aggregate {
    TFN_AGGREGATE_NONE = 0,
    TFN_AGGREGATE_NORMED,     /* sum of w_k N_k(y_k), without N_0; w_k starts at 1/(l+1) */
    TFN_AGGREGATE_NORM,       /* N(sum of w_k y_k) */
    TFN_AGGREGATE_DENSE,      /* N(sum of y_k) */
    TFN_AGGREGATE_LINEAR      /* sum of w_k y_k */
} tfn_aggregate;

/* The weights w of an aggregate, as in DLCL's code (Wang 2019). All zero: one number for each y_k.
 * The tensor is (groups, outputs). */
typedef struct tfn_mix_rule {
    int32_t groups;           /* weights for each y_k; channel i has weight i mod groups; 0: 1 */
    bool    channels;         /* true: as many groups as channels */
    bool    softmax;          /* true: w = softmax of the stored numbers over the y_k, by group */
    bool    ones;             /* true: they start at 1 instead of 1/(l+1) */
    int32_t window;           /* 0: all. With softmax, only the last `window` y_k are mixed.
                               * Without, the others start at 0 but are learned, as in the code;
                               * 1/(l+1) becomes 1/window, and ones are not changed */
} tfn_mix_rule;

typedef struct tfn_topology {
    const char *name;
    const char *formula, *paper;        /* as in norms */
    int32_t     year;
    uint32_t    flags;
    tfn_aggregate aggregate;
    /* NULL, or changes *join, which holds the row's, for a place */
    void      (*rule)(const tfn_place *place, tfn_join *join);
    tfn_join    attention, ffn;         /* self- and cross-attention share one */
    tfn_mix_rule mix;                   /* of the aggregate */
    /* For TFN_TOPOLOGY_SIDE_STREAM; 0: 1. y = side_scale (x_0 + sum of all p), small to avoid
     * overflow in half precision; the output is side_weight x + N(y). */
    float       side_scale, side_weight;
} tfn_topology;

TFNORM_API const tfn_topology *tfn_topology_find(const char *name);     /* NULL: unknown */
TFNORM_API const tfn_topology *tfn_topology_at(int32_t i);              /* NULL: past the end */
/* Returns the join of a sub-layer: the row's, changed by its rule. NULL: all zero. */
TFNORM_API tfn_join tfn_topology_join(const tfn_topology *t, const tfn_place *place);

/* Initial weights: a base distribution, and a gain for each class of matrix. */
typedef enum tfn_distribution {
    TFN_DISTRIBUTION_XAVIER_NORMAL,      /* variance 2/(in+out): Xiong 2020, section 3.3 */
    TFN_DISTRIBUTION_XAVIER_UNIFORM,     /* the same variance (Glorot & Bengio 2010) */
    TFN_DISTRIBUTION_NORMAL,             /* standard deviation `std` */
    TFN_DISTRIBUTION_TRUNCATED_NORMAL,   /* the same, drawn again outside two deviations */
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
    const char      *formula, *paper;             /* as in norms */
    int32_t          year;
    tfn_distribution base;                        /* of attention and the rest */
    tfn_distribution ffn_base;                    /* of W_1, W_2, W_3 */
    float            std;                         /* for NORMAL and TRUNCATED_NORMAL */
    float            embedding_std;               /* 0: 1/sqrt(C) */
    bool             zero_output;                 /* true: an untied output matrix starts at 0 */
    bool             zero_branch;                 /* true: the gains of N_branch start at 0 */
    bool             qkv_bias;                    /* true: biases of q, k, v are drawn from
                                                   * U(+-1/sqrt(in)) */
    bool             gain_bias;                   /* true: gains also apply to biases */
    bool             unit_variance;               /* LSUV: W over the deviation of its output */
    bool             table_output;                /* true: an untied output matrix is N(0, 1/C) */
    /* NULL: all gains 1; otherwise sets gains for a place, which are 1 before */
    void           (*rule)(const tfn_place *place, tfn_gains *gains);
} tfn_init_rule;
TFNORM_API const tfn_init_rule *tfn_init_find(const char *name);
TFNORM_API const tfn_init_rule *tfn_init_at(int32_t i);

/* A recipe: the name of a method for a topology, a norm and an initialization. */
typedef struct tfn_recipe { const char *name, *topology, *norm, *init; } tfn_recipe;
TFNORM_API const tfn_recipe *tfn_recipe_find(const char *name);
TFNORM_API const tfn_recipe *tfn_recipe_at(int32_t i);

/* -- schedules ------------------------------------------------------------------------------- */

/* The rate of update t = 1, 2, ... Let W = warmup, S = steps, A = anchor. For t <= W, all kinds
 * except Noam warm up as in Xiong 2020, eq. 1, so that update W has the rate lr:
 *     lr_init + t (lr - lr_init)/W
 * For t > W the row's formula applies, with r = (S - t + 1)/(S - W + 1). Noam's applies from t = 1.
 * No update has rate 0, and update S still changes weights; lr_min comes after it. */
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
    float   lr;               /* peak; 0: 1e-3, for Lion 1e-4; for Noam a factor, 0: 1 */
    float   lr_init, lr_min;
    int64_t warmup, steps;    /* steps: the last update, for kinds that end */
    int64_t anchor;           /* for the inverse square root, 0: warmup, at least 1; for T-Fixup, 0:
                               * 4000 */
    int64_t step_at;          /* > 0: after this many updates the rate is multiplied by step_factor,
                               * once, for any kind */
    float   step_factor;      /* 0: 0.1 */
    int64_t decay_steps;      /* 0: steps/10; at least 1, at most steps - warmup */
    float   power;            /* for POLYNOMIAL; 0: 1 */
    bool    fairseq;          /* true: counts as fairseq: update t + 1 has the rate lr(t), the first
                               * has lr(0) = lr_init, and r = (S - t)/(S - W), 0 at t = S */
    bool    frozen;           /* true: the rate is 0, and no weight changes */
} tfn_schedule;
/* Returns the rate of update t, from 1; width is for Noam. NULL: NaN. */
TFNORM_API float tfn_schedule_at(const tfn_schedule *s, int64_t t, int32_t width);
#endif /* TFNORM_ONLY_KERNELS */
