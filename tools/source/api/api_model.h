#ifndef TFNORM_ONLY_KERNELS

/* -- model ----------------------------------------------------------------------------------- */

#define TFN__ARCH_LIST(X)                                                                         \
    X(TFN_ARCH_DECODER, "decoder", "causal self-attention", "Radford et al. 2018")                \
    X(TFN_ARCH_ENCODER, "encoder", "self-attention both ways", "Devlin et al. 2018")              \
    X(TFN_ARCH_ENCODER_DECODER, "encoder-decoder", "both, and cross-attention",                   \
      "Vaswani et al. 2017")
typedef enum tfn_arch { TFN__ARCH_LIST(TFN__CHOICE_ENUM) TFN_ARCH_COUNT } tfn_arch;

#define TFN__POSITION_LIST(X)                                                                     \
    X(TFN_POSITION_LEARNED, "learned", "a vector for each position", "Gehring et al. 2017")       \
    X(TFN_POSITION_SINUSOIDAL, "sinusoidal",                                                      \
      "10000^(-2k/C), sines then cosines, from position 0", "Vaswani et al. 2017")                \
    X(TFN_POSITION_SINUSOIDAL_FAIRSEQ, "fairseq",                                      \
      "10000^(-k/(C/2-1)), from position 2", "fairseq")                                           \
    X(TFN_POSITION_ROTARY, "rotary", "queries and keys turned by base^(-2k/D)", "Su et al. 2021") \
    X(TFN_POSITION_NONE, "none", "none", NULL)                                                    \
    X(TFN_POSITION_ALIBI, "alibi", "-m|i - j| added to scores, a slope m for each head",          \
      "Press et al. 2022")                                                                        \
    X(TFN_POSITION_RELATIVE, "relative",                                                          \
      "a number for each head and bucket of distances j - i, added to scores",                    \
      "T5, Raffel 2020")                                                                          \
    X(TFN_POSITION_LEARNED_RELATIVE, "learned-relative", "learned and relative, both",            \
      "MPNet, Song et al. 2020")
typedef enum tfn_position_kind {
    TFN_POSITION_DEFAULT = 0,     /* LEARNED */
    TFN__POSITION_LIST(TFN__CHOICE_ENUM) TFN_POSITION_COUNT
} tfn_position_kind;

/* Scaling of rotary positions for texts longer than the training texts: the rates f become slower
 * by a factor s. `waves` is the number of periods of f in a training text, rotary_context f/(2 pi).
 */
#define TFN__ROTARY_SCALING_LIST(X)                                                               \
    X(TFN_ROTARY_SCALING_NONE, "none", "f", NULL)                                                 \
    X(TFN_ROTARY_SCALING_LINEAR, "linear", "f/s", "Chen et al. 2023")                             \
    X(TFN_ROTARY_SCALING_LLAMA3, "llama3",                                                        \
      "waves > rotary_high: f; < rotary_low: f/s; between: between", "Llama 3.1, 2024")
typedef enum tfn_rotary_scaling {
    TFN__ROTARY_SCALING_LIST(TFN__CHOICE_ENUM) TFN_ROTARY_SCALING_COUNT
} tfn_rotary_scaling;

/* Maps of attention that keep a bias in a model without biases (desc.no_bias); off and output say
 * it for any model. */
#define TFN__ATTENTION_BIAS_LIST(X)                                                               \
    X(TFN_ATTENTION_BIAS_NONE, "none", "as other maps", NULL)                                     \
    X(TFN_ATTENTION_BIAS_QKV, "qkv", "queries, keys and values", "Qwen 2, 2024")                  \
    X(TFN_ATTENTION_BIAS_ALL, "all", "the output, too", NULL)                                     \
    X(TFN_ATTENTION_BIAS_OFF, "off", "none, whatever other maps have", "GPT-J, 2021")             \
    X(TFN_ATTENTION_BIAS_OUTPUT, "output", "the output only, whatever other maps have",           \
      "GPT-Neo, 2021")
typedef enum tfn_attention_bias {
    TFN__ATTENTION_BIAS_LIST(TFN__CHOICE_ENUM) TFN_ATTENTION_BIAS_COUNT
} tfn_attention_bias;

/* How frames become positions. Speech has about a hundred frames a second; two convolutions turn
 * every four frames into one position, which depends on seven of them. Patches of a picture, or
 * windows that the caller cuts from a sensor's signal, are positions already. */
#define TFN__FRAME_MAP_LIST(X)                                                                    \
    X(TFN_FRAME_MAP_CONVOLUTIONS, "convolutions",                                                 \
      "two of kernel 3 and stride 2, each with a ReLU: n positions of 4 n + 3 frames",            \
      "Karita et al. 2019")                                                                       \
    X(TFN_FRAME_MAP_LINEAR, "linear", "x W + b: a position of each frame",                        \
      "Dosovitskiy et al. 2020, eq. 1")
typedef enum tfn_frame_map {
    TFN__FRAME_MAP_LIST(TFN__CHOICE_ENUM) TFN_FRAME_MAP_COUNT
} tfn_frame_map;

#define TFN__HEAD_LIST(X)                                                                         \
    X(TFN_HEAD_TOKENS, "tokens", "one a position: language models, masked tokens", NULL)          \
    X(TFN_HEAD_SEQUENCE, "sequence", "one of `classes`, from the first position (encoder only)",  \
      NULL)                                                                                       \
    X(TFN_HEAD_POSITIONS, "positions", "one of `classes` for each position (encoder only)",       \
      "Devlin et al. 2018, figure 4d")                                                            \
    X(TFN_HEAD_NUMBERS, "numbers", "`numbers` values, from the first position (encoder only)",    \
      NULL)
typedef enum tfn_head { TFN__HEAD_LIST(TFN__CHOICE_ENUM) TFN_HEAD_COUNT } tfn_head;

/* Label smoothing, over all V classes or over the V - 1 wrong ones: see cross_entropy_forward. */
#define TFN__SMOOTHING_LIST(X)                                                                    \
    X(TFN_SMOOTHING_UNIFORM, "uniform", "(1-e) nll + e/V sum", "Szegedy et al. 2016")             \
    X(TFN_SMOOTHING_FAIRSEQ, "fairseq", "(1-e-e_i) nll + e_i sum, e_i = e/(V-1)", "fairseq")
typedef enum tfn_smoothing {
    TFN__SMOOTHING_LIST(TFN__CHOICE_ENUM) TFN_SMOOTHING_COUNT
} tfn_smoothing;

/* Options for some of the parameters, selected by name (see tfn_model_param). In a pattern '*'
 * stands for any characters or none, '?' for one character, and "[qv]" or "[0-5]" for one of those.
 * A pattern must match the whole name of at least one parameter. If several groups match a
 * parameter, only the last counts.
 *
 *     strcpy(desc.groups[0].pattern, "encoder.*");               // or tfn_group_add(&desc,
 *     desc.groups[0].frozen = true;                              //     "encoder.* frozen", NULL)
 *
 * Frozen: no step changes the values. Gradients and moments are flat vectors of only the parameters
 * that train, in their order, and gradients that no trained parameter needs are not computed. A
 * frozen running statistic also stays as it is, although a training step still normalizes by its
 * batch. sigmaReparam's u and v stay if their matrix is frozen. A profile (tfn_model_profile) is
 * part of the initialization, not a step, so it does set frozen weights.
 *
 * LoRA (Hu et al. 2021, section 4.1): a group with rank r > 0 adds two matrices A (in, r) and B (r,
 * out) to every linear map whose matrix W (in, out) it matches ("decoder.*.self.[qv].weight",
 * "*.w?.*"). Their names end in ".lora_a" and ".lora_b":
 *     y = x W + b + alpha/r (x A) B
 * "output.weight" also names an output tied to the embedding E: W is E^T there, and A and B do not
 * change how words are looked up in E. A starts as U(+-1/sqrt(in)), as in the authors' code
 * (loralib) and in peft, and B as 0, so a new model computes the same bits as one without LoRA. If
 * any group has a rank, all other parameters are frozen, except those that a group without a rank
 * matches. A typical use: load weights of a model without LoRA (tfn_model_load_weights), train,
 * save only A and B, some kilobytes (tfn_model_save_adapter), and merge them into W
 * (tfn_model_fold). */
#define TFN_MOST_GROUPS 10
typedef struct tfn_group {
    char    pattern[44];          /* name pattern; empty: unused */
    float   rate;                 /* factor of the schedule's rate; 0: 1 */
    float   decay;                /* weight decay of every parameter of the group, including norms
                                   * and biases; 0: desc.decay where it applies; -1: none */
    int32_t rank;                 /* > 0: LoRA; rate, decay and frozen then apply to A and B */
    float   alpha;                /* scale of LoRA; 0: rank, which makes the factor 1 */
    bool    frozen;
} tfn_group;

/* A loss function of your own. It records the loss of each row, (rows, 1), of the logits (B*T, V)
 * or (B, classes), and returns it as the last value of the tape. It may use any operation except
 * parameters: for example a cross-entropy of the slot TFN_INT_TARGETS plus another term, or custom
 * operations, which fill d(logits) in their backward (see tfn_custom; set t->custom and t->customs
 * first). Rows with a target below 0 or in the padding have no loss and no gradient (see
 * tfn_mask_targets). It is called for each tape, when sizes are computed and when the model is
 * made, and must record the same operations every time, at most 250 so that tfn_model_scratch can
 * bound them. */
typedef tfn_var tfn_loss_fn(void *user, tfn_tape *t, tfn_var logits);

/* Options of a model. Set vocab and context; 0 in any other field is a good default. */
typedef struct tfn_model_desc {
    /* Sizes */
    int32_t vocab, context;       /* V, and the longest sentence T; required, but vocab may be 0 for
                                   * an encoder of frames, which has no words */
    tfn_arch arch;                /* 0: decoder */
    int32_t source_context;       /* longest source; 0: context */
    int32_t width;                /* channels C of the stream; 0: 64 */
    int32_t layers;               /* 0: 2 */
    int32_t decoder_layers;       /* of an encoder-decoder; 0: layers */
    int32_t heads;                /* 0: width/32, at least 1 */
    int32_t kv_heads;             /* heads of keys and values; 0: heads */
    int32_t head_size;            /* channels D of a head; 0: width/heads, and resolving keeps the
                                   * 0; else heads * head_size may differ from the width */
    int32_t ffn;                  /* hidden units of the feed-forward; 0: 4*width */

    /* The method: topology, norm, first weights */
    const char *recipe;           /* topology, norm and init together; NULL: "pre" */
    const char *norm;             /* see tfn_norm_at; NULL: the recipe's */
    const char *decoder_norm;     /* of an encoder-decoder's decoder; NULL: norm */
    const char *init;             /* see tfn_init_at; NULL: the recipe's */
    const tfn_topology *topology;          /* a row, also of your own; NULL: the recipe's */
    const tfn_topology *decoder_topology;  /* of the decoder; NULL: topology */
    /* Rows of your own, instead of the names above. The names are then NULL or the names of the
     * rows. Like topologies, rows must exist as long as the model. Files store their names, so no
     * row of the library may have the same name. Small builds need TFNORM_ALL_NORMS for them. */
    const tfn_norm_rule *norm_rule;          /* NULL: the row that norm names */
    const tfn_norm_rule *decoder_norm_rule;  /* NULL: the row that decoder_norm names, or else
                                              * norm_rule */
    const tfn_init_rule *init_rule;          /* NULL: the row that init names */
    float norm_eps;               /* 0: the norm's, or 1e-5 */
    float norm_factor;            /* c of adanorm; 0: 1. The authors' scripts use 1, 1.5 and 2 */
    int64_t norm_warmup;          /* updates, of PowerNorm; 0: schedule.warmup */

    /* Inputs: words and frames */
    int32_t cutoffs[2];           /* first words of the second and third cluster, for adaptive input
                                   * and softmax, see below; words are sorted by frequency; 0: no
                                   * clusters */
    int32_t embedding_size;       /* channels E of a word's embedding; 0: width, and resolving keeps
                                   * the 0; else x_0 is E[token] W with W (E, C), and the output
                                   * matrix reads x W with W (C, E), as in OPT-350M */
    bool map_last;                /* true: with embedding_size, positions, segments and the norm of
                                   * the embedding have its E channels, and x_0 is their map, with
                                   * a bias (ELECTRA). The output matrix reads x W^T, or a
                                   * head_transform of E channels */
    int32_t segments;             /* segment embeddings (encoder only); 0: none */
    bool separate_source;         /* true: the encoder has its own embedding; false: it shares the
                                   * decoder's */
    bool scale_embedding;         /* true: embeddings times sqrt(C), as in papers */
    float embedding_factor;       /* embeddings are also multiplied by this number; 0: 1. Granite:
                                   * 12 */
    int32_t bands;                /* numbers in a frame (spectra, sensors, patches of pictures: see
                                   * tfn_batch); 0: the encoder reads tokens */
    tfn_frame_map frame_map;      /* 0: convolutions */

    /* Outputs */
    tfn_head head;                /* 0: tokens */
    int32_t classes;              /* for TFN_HEAD_SEQUENCE and TFN_HEAD_POSITIONS */
    int32_t numbers;              /* for TFN_HEAD_NUMBERS */
    bool untied;                  /* true: the output has a matrix of its own; false: it is tied to
                                   * the embedding */
    bool output_bias;             /* true: logits have a bias, one number a word */
    bool head_transform;          /* true: N(f(x W + b)) before the output matrix, with the
                                   * activation f without its gate, as in BERT's head for masked
                                   * words */
    tfn_activation_kind pooler;   /* f in f(x W_p) W_c of a head for sequences or numbers; 0: tanh,
                                   * as in BERT; DistilBERT has ReLU */
    bool scale_output;            /* true: the output matrix reads x/sqrt(C), as in T5 */
    float logit_divisor;          /* logits are divided by this number, before a cap; 0: 1. Granite:
                                   * 8 */
    float logit_cap;              /* > 0: logits become cap*tanh(logit/cap). Gemma 2: 30 */

    /* Inside a layer */
    tfn_activation_kind activation;    /* 0: GELU, tanh form */
    bool no_bias;                 /* true: linear maps have no bias */
    tfn_attention_bias attention_bias;   /* maps with a bias despite no_bias; 0: none */
    float branch_factor;          /* a branch is multiplied by this number before it is added to the
                                   * stream; 0: 1. Granite: 0.22 */
    tfn_qk_norm qk_norm;          /* 0: the topology's */
    float score_scale;            /* factor of q . k in scores; 0: 1/sqrt(D). T5: 1 */
    bool scale_by_layer;          /* true: scores are also divided by the number of the layer, from
                                   * 1 (GPT-2's scale_attn_by_inverse_layer_idx) */
    float qkv_clip;               /* c > 0: queries, keys and values are limited to -c ... c before
                                   * anything else. OLMo: 8 */
    float attention_cap;          /* > 0: scores become cap*tanh(score/cap). Gemma 2: 50 */

    /* Positions */
    tfn_position_kind position;   /* 0: learned */
    float rotary_base;            /* 0: 10000 */
    int32_t rotary_size;          /* channels r of a head that rotate: j < r/2 with j + D/2, by
                                   * base^(-2j/r); the others stay (GPT-J, NeoX); 0: all, r = D */
    tfn_rotary_scaling rotary_scaling;   /* 0: none */
    float rotary_factor;          /* s, at least 1; 0: 8 */
    float rotary_low, rotary_high;       /* of LLAMA3, in waves; 0: 1 and 4 */
    int32_t rotary_context;       /* length of training texts; 0: 8192 */
    int32_t rotary_period;        /* p > 0: layers p - 1, 2p - 1 ... do not rotate (SmolLM 3: 4); 0:
                                   * all do */
    int32_t relative_buckets;     /* buckets of relative positions, at least 4; 0: 32. The first
                                   * half are single distances */
    int32_t relative_distance;    /* the largest distance of the other half, which shares buckets;
                                   * 0: 128 */

    /* Windows */
    int32_t window;               /* W > 0: a position of the decoder attends to the last W
                                   * positions including itself (Mistral), and caches hold no more;
                                   * a position of an encoder without a decoder attends to W/2
                                   * before it, itself, and W/2 after it (ModernBERT); 0: no
                                   * window */
    int32_t window_from;          /* the first layer with the window, from 0 */
    int32_t window_period;        /* p > 0: layers p - 1, 2p - 1 ... have no window; Gemma 3: 6 */
    int32_t window_shift;         /* s: with a period, layers p - 1 - s, 2p - 1 - s ... have no
                                   * window instead. GPT-Neo: p = 2, s = 1 */
    float window_base;            /* rotary base of layers with a window, whose rates are not
                                   * scaled; 0: as in other layers. Gemma 3: 10000 */

    /* Loss and regularization */
    float dropout;                /* rate on residual branches and embeddings */
    float attention_dropout, activation_dropout;
    float smoothing;              /* e of label smoothing */
    tfn_smoothing smoothing_kind; /* 0: (1-e) nll + e/V sum */
    tfn_number_loss_kind number_loss;     /* 0: squared */
    float delta;                  /* of the Huber loss; 0: 1 */
    tfn_loss_fn *loss;            /* your own loss; NULL: cross-entropy. Files do not store code:
                                   * set it again to load. report.nll is then the loss. Not with
                                   * cutoffs or a head of numbers */
    void *loss_user;              /* passed to loss */

    /* Updates */
    tfn_optimizer optimizer;      /* 0: AdamW */
    tfn_schedule schedule;        /* all 0: constant 1e-3 */
    float beta1, beta2, eps;      /* 0: 0.9, 0.98, 1e-8. SGD: beta1 is the momentum, 0 none. Lion:
                                   * beta2 0.99. Adafactor: beta1 0 (no first moment), beta2 is 1 -
                                   * t^-0.8, eps is not used */
    float decay;                  /* weight decay of matrices; norms, biases, scales have none */
    bool  decay_all;              /* true: decay also applies to norms, biases and scales, as in
                                   * fairseq, including Admin's w */
    tfn_radam radam;              /* where published codes differ; 0: the paper's rule */
    bool  nesterov, eps_inside;   /* eps_inside: true: eps is added to the corrected root, as in
                                   * PyTorch's Adam; false: before the correction, as in fairseq.
                                   * See tfn_update_args */
    float muon_rate;              /* Muon's matrices: factor of the schedule's rate; 0: 20, so that
                                   * 1e-3 for the rest (AdamW) gives the authors' 0.02 */
    float muon_momentum;          /* of Muon's matrices, instead of beta1; 0: 0.95 */
    bool  relative_rate;          /* true: Adafactor's rate is multiplied by the RMS of the tensor,
                                   * at least 1e-3; the authors then use TFN_SCHEDULE_INVERSE_SQRT
                                   * with lr 1e-2, anchor 10000 */
    tfn_moment_type moment_type;  /* 0: floats; else 16 or 8 bits */
    float clip;                   /* largest global norm of the gradient; 0: none */
    float clip_value;             /* largest absolute value of each number in the gradient of the
                                   * mean loss; 0: none */
    tfn_group groups[TFN_MOST_GROUPS];    /* empty patterns: all parameters train alike */
    float ema;                    /* decay of moving averages of the parameters, such as 0.999: see
                                   * tfn_model_swap_ema; 0: none. The schedule-free optimizer makes
                                   * its own averages instead */
    int32_t micro_batches;        /* batches whose gradients make one step; 0: 1 */
    int32_t mup_base_width;       /* muP, see below: rates and scales are given for this width and
                                   * adapt to `width`; 0: off */

    /* Batches and the machine */
    int32_t batch;                /* the largest B of a batch; 0: 1 */
    int32_t batch_tokens;         /* the most B*T and B*Ts, to save memory if lengths differ; 0: no
                                   * limit */
    int32_t threads;              /* 0: 1, or OpenMP's number if enabled. More than 1 is an error
                                   * without OpenMP and TFNORM_PARALLEL_FOR */
    tfn_isa isa;                  /* 0: best */
    uint64_t seed;

    /* Training or inference, and memory */
    bool inference;               /* true: no gradients, no moments */
    bool only_decoders;           /* true: only tfn_decoder runs this decoder for inference; the
                                   * model keeps its table of weights but has no workspace */
    bool folded;                  /* true: a model for inference that tfn_model_fold fills, without
                                   * the scales and norms that fold */
    tfn_weights weights;          /* type of the matrices of linear maps, embeddings and output,
                                   * which then are frozen: see tfn_model_quantize; 0: floats */
    tfn_cache_type cache_type;    /* of decoders; 0: floats, else 16 bits */
    bool blank;                   /* true: draws no initial weights, which takes seconds for large
                                   * models: weights are 0, or the contents of `parameters`, until
                                   * they are loaded */
    bool recompute;               /* true: the backward computes layers again, which saves memory */
    bool probes;                  /* true: enables tfn_model_watch */
    bool half;                    /* true: simulated half precision, see below; more than one thread
                                   * is an error */
    float loss_scale;             /* of half, at the start; 0: 128. 1 without half */
    float *parameters, *gradients, *moments, *workspace;   /* your own memory; NULL: inside the
                                                            * block */
} tfn_model_desc;

/* A value of an option that is an enumeration, such as "optimizer", "schedule.kind" or
 * "activation". Options have the names of tfn_model_desc. */
typedef struct tfn_choice {
    int32_t     value;
    char        name[20];
    const char *formula;          /* NULL with TFNORM_NO_TRAINING */
    const char *paper;            /* NULL if there is none, or with TFNORM_NO_TRAINING */
} tfn_choice;
TFNORM_API const tfn_choice *tfn_choice_at(const char *option, int32_t i);  /* NULL: past the end */
TFNORM_API const tfn_choice *tfn_choice_find(const char *option, const char *name);
/* Returns the name of a value, or NULL if it has none, such as a default that was not resolved. */
TFNORM_API const char       *tfn_choice_name(const char *option, int32_t value);

/* Adaptive input (Baevski & Auli 2018) and adaptive softmax (Grave 2017), for decoders: the words
 * of cluster k = 0, 1, 2 have vectors of width/4^k numbers and a map to the width, so rare words
 * have few weights. The head predicts a word of the first cluster or another cluster; the tails
 * predict the word within a cluster. Input and output share all weights unless untied. Logits are
 * log p. */

/* muP (Yang et al. 2022, Tensor Programs V, table 8): the best rates at one width are the best at
 * every width, so they can be searched with a small model. With m = width/mup_base_width,
 *                                    embedding, bias, gain   matrix (hidden)   output
 *     deviation at the start         as at width/m           ~ 1/sqrt(width)   as at width/m  
 *     times                          1                       1                 1/m
 *     rate of Adam, AdamW, RAdam,    1                       1/m               1
 *       Lion
 *     rate of SGD                    m; one number: 1        1                 m
 * Attention scores are sqrt(32) q k/D instead of q k/sqrt(D), which is equal for heads of 32
 * channels. Weight decay times the rate does not change. A model with m = 1 and such heads computes
 * the same bits as without muP. ffn and kv_heads * D should grow with the width. LoRA's A and B use
 * the rate itself. Other optimizers, and methods whose own scales depend on the width, are errors.
 */

/* Simulated half precision, like fairseq's, with which Xiong 2020, Liu 2020 and Takase 2022
 * trained: a copy of the weights, every activation and every gradient are rounded to IEEE half
 * after each operation. Parameters, moments and the loss stay in float. The loss is scaled: a
 * gradient that is not finite halves the scale and skips the update; 256 updates without one double
 * it. Below 0.03125 a step returns TFN_NOT_FINITE. A model renews its copy in each call, and a
 * decoder when a sentence begins, so weights that you write yourself take effect. */

/* B sentences of T tokens, row-major, padded on the right. */
typedef struct tfn_batch {
    const int32_t *tokens;    /* (B, T): the decoder's, or the encoder's with TFN_ARCH_ENCODER */
    const int32_t *targets;         /* (B, T) in positions, or classes (B); < 0: ignored */
    const int32_t *lengths;         /* (B) or NULL: all T. Values beyond a length are never read, in
                                     * any array */
    const int32_t *source;          /* (B, Ts), encoder-decoder */
    /* Frames, if desc.bands is set: (B, Ts, bands) instead of source, or (B, T, bands) instead of
     * tokens for TFN_ARCH_ENCODER. time and lengths then count frames, while context counts
     * positions. A linear map makes a position of each frame. Convolutions make n positions of T =
     * 4 n + 3 frames; a length of L frames gives (L - 3)/4 positions. Padding may contain any
     * numbers, even NaN. */
    const float   *frames;
    const int32_t *source_lengths;  /* (B) or NULL: all Ts */
    const int32_t *segments;        /* (B, T) or NULL: all 0 */
    int32_t batch, time, source_time;
    const float   *numbers;         /* (B, numbers): targets of TFN_HEAD_NUMBERS; NaN: ignored */
} tfn_batch;

typedef struct tfn_report {
    double   loss;            /* nats per target with smoothing, or the head's loss per number; NaN
                               * without targets, also where the call returns TFN_OK */
    double   nll;             /* the same without smoothing */
    int64_t  tokens;          /* targets counted: tokens, classes or numbers; 0: loss is NaN */
    int64_t  step;            /* updates so far, including this one */
    float    lr, grad_norm;   /* of this update; the norm before clipping */
    float    loss_scale;      /* of this step; 1 without half precision */
    bool     updated;         /* false: the step needs more micro-batches, or it was skipped */
    bool     skipped;         /* true: a loss, gradient, profile or running statistic was not
                               * finite, or there were no targets; the model is as before the first
                               * micro-batch */
    int32_t  culprit;         /* the parameter with a gradient that is not finite, or the running
                               * statistic; -1: none, or the loss or the profile */
} tfn_report;

/* The sums that a gradient belongs to, over targets, in nats, with smoothing (loss) and without
 * (nll). The mean loss is loss/targets. */
typedef struct tfn_sums {
    double  loss, nll;
    int64_t targets;
} tfn_sums;

typedef struct tfn_param_info {
    char     name[64];        /* such as "decoder.3.self.q.weight" */
    float   *data;
    float   *grad;            /* in tfn_model_gradients; NULL without training, for running
                               * statistics, and if frozen */
    int32_t  rows, cols;
    int32_t  layer;           /* from 0; -1: outside the layers */
    bool     decay;           /* true: weight decay applies */
    bool     frozen;          /* true: no step changes it */
    float    rate;            /* factor of the schedule's rate */
    tfn_weights weights;      /* type of its numbers; data is NULL unless floats */
    void    *packed;          /* bytes of packed numbers, see tfn_quant_pack; NULL for floats. The
                               * packed rows are its inputs, or the columns of an embedding */
    size_t   bytes;           /* of packed; 0 for floats */
} tfn_param_info;

typedef struct tfn_allocator {
    void *(*allocate)(size_t size, void *user);
    void  (*release)(void *mem, size_t size, void *user);
    void  *user;
} tfn_allocator;

/* Bytes of a model's block and its parts. On a board with little RAM, a model that only decoders
 * run (desc.only_decoders) and its decoder can share one array:
 *     tfn_model_init(&model, &desc, ram, sizeof ram);
 *     tfn_decoder_init(&decoder, &model, 1, 1, ram + model.memory.kept,
 *                      sizeof ram - model.memory.kept); */
typedef struct tfn_memory {             /* memory of your own counts as 0 */
    size_t total, parameters, gradients, moments, tables, workspace, scratch, metadata;
    size_t working;           /* the rounded copy of half precision */
    size_t before;            /* the copy that a skipped update restores */
    size_t averages;          /* of trained parameters, with desc.ema */
    size_t kept;              /* bytes from the beginning of the block that stay in use once the
                               * model is made. With only_decoders, the rest is yours, for example
                               * for a decoder */
} tfn_memory;

typedef struct tfn__weight {            /* private: one parameter tensor */
    int64_t at;                         /* offset in its region, in floats */
    int32_t rows, cols;
    int32_t line;                       /* offset among trained parameters, in lines of 16 floats;
                                         * -1: none */
    float   initial;                    /* first value of biases, gains and scales */
    int16_t layer;                      /* from 0; -1: outside the layers */
    uint8_t stack, sub, part, kind;
    int8_t  group;                      /* of desc.groups; -1: none */
    uint8_t weights;                    /* tfn_weights */
    bool    table;                      /* packed by its columns */
} tfn__weight;

typedef struct tfn_model {
    tfn_error error;
    tfn_model_desc desc;                /* resolved */
    const tfn_kernels *kernels;
    tfn_tape  train, infer;
    tfn__weight *weights;
    int32_t   weight_count, micro;
    tfn_run   run;
    int32_t  *lengths;                  /* lengths of frames, in positions */
    int32_t  *words;                    /* tokens and targets by cluster */
    float    *params, *moments;         /* run.params is params or its rounded copy */
    float    *averages;                 /* of trained parameters; NULL without desc.ema */
    bool      swapped;                  /* parameters and averages are exchanged */
    double    rate_squares;             /* schedule-free: the sum of step_size^2 so far */
    float     loss_scale;
    int32_t   finite_steps;             /* updates since the scale changed */
    int64_t   param_floats, buffer_floats, step;             /* the buffers follow the parameters */
    int64_t   trained_floats;           /* of gradients and of each moment */
    bool      profiled;
    bool      profile_open;             /* the current update made it, and may be skipped */
    float    *before;                   /* copy of the buffers before this update */
    tfn_sums  sums;                     /* of the micro-batches so far */
    tfn_var   logits, loss, train_loss; /* on infer, infer, train */
    tfn_var   outputs[2];               /* of encoder and decoder, on infer; see tfn_model_hidden */
    tfn_memory memory;
    void     *mem;                      /* of tfn_model_new */
    size_t    mem_size;
    tfn_allocator allocator;
} tfn_model;

/* Copies *desc to *out with all defaults filled in. Returns false and sets *e if an option is out
 * of range (see tfn__limits), not a number, unknown, or contradicts another. */
TFNORM_API bool tfn_model_resolve(tfn_model_desc *out, const tfn_model_desc *desc, tfn_error *e);
/* Returns enough bytes of scratch for tfn_model_size, or 0 if desc is invalid. This is at most
 * twice the metadata that making the model needs. */
TFNORM_API size_t tfn_model_scratch(const tfn_model_desc *desc);
/* Returns the exact bytes that tfn_model_init needs at any address, or 0 if desc is invalid. */
TFNORM_API size_t tfn_model_size(const tfn_model_desc *desc, void *scratch, size_t scratch_size);
TFNORM_API tfn_status tfn_model_init(tfn_model *m, const tfn_model_desc *desc, void *mem,
                                     size_t size);
#ifndef TFNORM_NO_MALLOC
/* Sizes, allocates (NULL: malloc) and initializes in one call. tfn_model_free releases the block.
 */
TFNORM_API tfn_status tfn_model_new(tfn_model *m, const tfn_model_desc *desc,
                                    const tfn_allocator *allocator);
TFNORM_API void tfn_model_free(tfn_model *m);          /* NULL: does nothing */
#endif
/* Runs one micro-batch forward and backward, and updates the parameters after the last micro-batch
 * of a step. An update is made whole or not at all: see report->skipped. report may be NULL here
 * and in tfn_model_eval. */
TFNORM_API tfn_status tfn_model_step(tfn_model *m, const tfn_batch *batch, tfn_report *report);
/* The parts of a step, for a loop of your own: compute gradients, change them as you like, update.
 * tfn_model_step is exactly
 *     tfn_model_gradient(m, batch, i, i > 0, NULL);                 i = 0 .. micro_batches - 1
 *     tfn_model_update(m, NULL, tfn_model_rate(m), report); */

/* Runs forward and backward of one batch. Stores the gradient in the flat vector and the sums in
 * *sums (may be NULL), or with `add` adds to both. shard, from 0, numbers the batch within the
 * update and selects its dropout; micro-batch i of tfn_model_step is shard i. Any number of calls
 * make one update. The first call after an update lets a new model profile itself. If sums->loss is
 * not finite, there was no backward and the vector is invalid; an update with these sums is
 * skipped. */
TFNORM_API tfn_status tfn_model_gradient(tfn_model *m, const tfn_batch *batch, int32_t shard,
                                         bool add, tfn_sums *sums);
/* Returns the flat vector of gradients, which you may write to, and its number of floats in *floats
 * (may be NULL). The order is the order of the trained parameters (tfn_model_param). It holds the
 * gradient of sums.loss * m->loss_scale; dividing by (targets * m->loss_scale) gives the gradient
 * of the mean loss. loss_scale is 1 except in half precision. Returns NULL if nothing trains. */
TFNORM_API float     *tfn_model_gradients(tfn_model *m, int64_t *floats);
/* Returns the schedule's rate of the next update; NaN for NULL. */
TFNORM_API float      tfn_model_rate(const tfn_model *m);
/* Clips the gradients and updates with this rate (>= 0). sums must belong to the vector of
 * gradients; NULL means the sums of all tfn_model_gradient calls since the last update. An update
 * is made whole or not at all: see report->skipped. Without targets it is skipped. report may be
 * NULL. */
TFNORM_API tfn_status tfn_model_update(tfn_model *m, const tfn_sums *sums, float rate,
                                       tfn_report *report);
/* Exchanges the parameters with their averages; the next call exchanges them back, bit for bit.
 * With desc.ema every update moves the averages towards the parameters. The schedule-free optimizer
 * makes averages, too, and they are its result (its x; the parameters are y, where it takes
 * gradients). Use the averages to evaluate, decode, fold, or save weights_only. Training is an
 * error until they are exchanged back. Before the first update, nothing happens. A checkpoint is
 * the same in both states, and a model for inference loads the averages from it. Running statistics
 * and sigmaReparam's u and v are not averaged; they belong to the last update. TFN_BAD_BATCH: there
 * are no averages. */
TFNORM_API tfn_status tfn_model_swap_ema(tfn_model *m);
/* Computes the loss without dropout. Nothing changes. */
TFNORM_API tfn_status tfn_model_eval(tfn_model *m, const tfn_batch *batch, tfn_report *report);
/* Returns the logits (B*T, V), (B, classes) or (B*T, classes), where T counts positions, or the
 * numbers (B, numbers). They are valid until the next call on the model. */
TFNORM_API const float *tfn_model_logits(tfn_model *m, const tfn_batch *batch);
/* Points of a forward that can be watched, in any model with desc.probes. `probe` gets the values
 * at each point of every sub-layer, in every forward: of a training step, tfn_model_eval,
 * tfn_model_logits and tfn_model_profile. In the backward of a step it also gets their gradients,
 * which are gradients of the summed loss. tfn_probe_of decodes the id. probe NULL stops watching.
 * For decoders, use tfn_decoder_watch. */
typedef enum tfn_watched {
    TFN_WATCH_NONE,           /* an id of no point */
    TFN_WATCH_INPUT,          /* x, the input of the sub-layer */
    TFN_WATCH_READ,           /* u = in * N_in(x), the input of F */
    TFN_WATCH_BRANCH,         /* p, after norm and dropout */
    TFN_WATCH_SUM,            /* z */
    TFN_WATCH_OUTPUT,         /* x after N_sum */
    TFN_WATCH_EMBEDDING,      /* x_0 of a stack */
    TFN_WATCH_STACK           /* output of a stack, after its final norm */
} tfn_watched;
typedef struct tfn_probe_info {
    tfn_watched  point;
    tfn_sublayer kind;
    bool         decoder;
    int32_t      layer;       /* from 0 */
} tfn_probe_info;
TFNORM_API tfn_probe_info tfn_probe_of(int32_t id);
TFNORM_API tfn_status     tfn_model_watch(tfn_model *m, tfn_probe_fn *probe, void *user);
/* Data-dependent initialization (Admin, LSUV) on a batch of any size; nothing happens for other
 * methods, or if the model was profiled or trained before. If you do not call it, the first step
 * uses its own batch. TFN_NOT_FINITE: a number of the profile is not finite, and nothing was
 * changed. */
TFNORM_API tfn_status tfn_model_profile(tfn_model *m, const tfn_batch *batch);
/* Copies the weights of `from` to `to` and folds into them whatever can be folded. `to` must have
 * the same options, but .inference and .folded. It then has no gains of norms before a linear map,
 * no scales of branches, no constant or profiled scales of skips, no shifts, no batch statistics
 * before a linear map, and RMSNorm for the LayerNorm of an untied Pre-LN model. If in a row of your
 * own something else reads the result of a scale or gain, `to` keeps it. Outputs agree to rounding.
 * If `to` is made without .folded and without groups that have a rank, it gets the weights as they
 * are, plus LoRA, if any, added to its matrices. It can go on training, or be exported
 * (tfn_export_write). LoRA of a tied output needs a `to` with .untied; its output matrix becomes
 * E^T + alpha/r A B. TFN_BAD_OPTION: another option or shape differs, or a profiled scale is 0; the
 * error names it. */
TFNORM_API tfn_status tfn_model_fold(tfn_model *to, const tfn_model *from);
/* Packs the weights of `from` into `to`, which has the same options but desc.weights: see
 * tfn_quant_pack. Norms, biases, positions and scales stay floats.
 *
 *     tfn_model_desc small = model.desc;
 *     small.inference = true;
 *     small.weights = TFN_WEIGHTS_Q8;
 *     tfn_model_new(&quantized, &small, NULL);                 // its matrices are 0
 *     tfn_model_quantize(&quantized, &model);
 *
 * With LoRA (desc.groups) instead of .inference, `to` can train: A and B are floats (QLoRA,
 * Dettmers et al. 2023). The forward quantizes inputs as usual, and the backward ignores that.
 * Methods that use matrices outside of products (sigmaReparam, FixNorm) must be folded first.
 * Absent with TFNORM_NO_QUANT. TFN_BAD_OPTION: another option or shape differs. */
#ifndef TFNORM_NO_QUANT
TFNORM_API tfn_status tfn_model_quantize(tfn_model *to, const tfn_model *from);
#endif
/* Describes parameter tensor i, in the order of the flat vectors. Returns false past the last. */
TFNORM_API bool       tfn_model_param(const tfn_model *m, int32_t i, tfn_param_info *info);
TFNORM_API uint64_t   tfn_model_hash(const tfn_model *m);       /* 64 bits over all parameters */
#endif /* TFNORM_ONLY_KERNELS */
