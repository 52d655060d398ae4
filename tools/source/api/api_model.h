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
      "a number for each head and bucket of distances j - i, added to scores", "T5, Raffel 2020")
typedef enum tfn_position_kind {
    TFN_POSITION_DEFAULT = 0,     /* LEARNED */
    TFN__POSITION_LIST(TFN__CHOICE_ENUM) TFN_POSITION_COUNT
} tfn_position_kind;

/* For texts longer than those trained on: the rates f of rotary positions, slower by a factor s.
 * `waves` are those of f within the texts trained on, rotary_context f/(2 pi). */
#define TFN__ROTARY_SCALING_LIST(X)                                                               \
    X(TFN_ROTARY_SCALING_NONE, "none", "f", NULL)                                                 \
    X(TFN_ROTARY_SCALING_LINEAR, "linear", "f/s", "Chen et al. 2023")                             \
    X(TFN_ROTARY_SCALING_LLAMA3, "llama3",                                                        \
      "waves > rotary_high: f; < rotary_low: f/s; between: between", "Llama 3.1, 2024")
typedef enum tfn_rotary_scaling {
    TFN__ROTARY_SCALING_LIST(TFN__CHOICE_ENUM) TFN_ROTARY_SCALING_COUNT
} tfn_rotary_scaling;

/* Linear maps of attention that have a bias in a model whose maps have none. */
#define TFN__ATTENTION_BIAS_LIST(X)                                                               \
    X(TFN_ATTENTION_BIAS_NONE, "none", "as other maps", NULL)                                     \
    X(TFN_ATTENTION_BIAS_QKV, "qkv", "queries, keys and values", "Qwen 2, 2024")                  \
    X(TFN_ATTENTION_BIAS_ALL, "all", "the output, too", NULL)
typedef enum tfn_attention_bias {
    TFN__ATTENTION_BIAS_LIST(TFN__CHOICE_ENUM) TFN_ATTENTION_BIAS_COUNT
} tfn_attention_bias;

/* How frames become positions. Speech has a hundred frames a second, and two convolutions make a
 * fourth of them, each of which has heard seven. Patches of a picture, or the windows of a sensor
 * that the caller cuts, are positions already. */
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
    X(TFN_HEAD_NUMBERS, "numbers", "so many `numbers`, from the first position (encoder only)",   \
      NULL)
typedef enum tfn_head { TFN__HEAD_LIST(TFN__CHOICE_ENUM) TFN_HEAD_COUNT } tfn_head;

/* Label smoothing, over all V classes or over the V - 1 false ones: see cross_entropy_forward. */
#define TFN__SMOOTHING_LIST(X)                                                                    \
    X(TFN_SMOOTHING_UNIFORM, "uniform", "(1-e) nll + e/V sum", "Szegedy et al. 2016")             \
    X(TFN_SMOOTHING_FAIRSEQ, "fairseq", "(1-e-e_i) nll + e_i sum, e_i = e/(V-1)", "fairseq")
typedef enum tfn_smoothing {
    TFN__SMOOTHING_LIST(TFN__CHOICE_ENUM) TFN_SMOOTHING_COUNT
} tfn_smoothing;

/* Parameters that train otherwise than the rest, by their names: see tfn_model_param. A pattern has
 * '*' for any characters, also none, '?' for any one, "[qv]" and "[0-5]" for one of these; it must
 * match the whole name of some parameter. Of several groups that match one the last counts, alone.
 *
 *     strcpy(desc.groups[0].pattern, "encoder.*");               // or tfn_group_add(&desc,
 *     desc.groups[0].frozen = true;                              //     "encoder.* frozen", NULL)
 *
 * Frozen: no step changes the values. What trains is a flat vector of its own, in the order of the
 * parameters; gradients and moments are as long as it is, and no gradient is computed that nothing
 * that trains needs. A running statistic that is frozen stays as it is, too, though a training step
 * goes on normalizing by its batch; sigmaReparam's u and v stay with a frozen matrix. A profile
 * (tfn_model_profile) is no step but part of the initialization: it sets frozen weights, too.
 *
 * LoRA (Hu et al. 2021, section 4.1). A group with a rank r gives each linear map whose matrix W
 * (in, out) its pattern matches ("decoder.*.self.[qv].weight", "*.w?.*") two more, A (in, r) and
 * B (r, out), of the names ".lora_a" and ".lora_b":
 *     y = x W + b + alpha/r (x A) B
 * "output.weight" is also the name of an output that is tied to the embedding: its W is E^T, and
 * what looks words up in E has no part in A and B.
 * A starts as U(+-1/sqrt(in)), as in the authors' code (loralib) and in peft, B as 0: so that a new
 * model is the one without LoRA, bit for bit. Such groups say nothing of other parameters, and if
 * there is one, all parameters that no other group matches are frozen. Begin with the weights of a
 * model without LoRA (tfn_model_load_weights), train, save what has trained alone, kilobytes
 * (tfn_model_save_adapter), and let tfn_model_fold merge it into W. */
#define TFN_MOST_GROUPS 10
typedef struct tfn_group {
    char    pattern[44];          /* empty: no group */
    float   rate;                 /* 0: 1; times the schedule's rate */
    float   decay;                /* 0: desc.decay where that applies; -1: none; > 0: this, of every
                                   * parameter of the group, norms and biases, too */
    int32_t rank;                 /* > 0: LoRA; rate, decay and frozen are those of A and B */
    float   alpha;                /* 0: rank, so that the factor is 1 */
    bool    frozen;
} tfn_group;

/* A loss of your own: records what makes the loss of each row, (rows, 1), of the logits (B*T, V) or
 * (B, classes). Anything may stand there but parameters: a cross-entropy of the slot
 * TFN_INT_TARGETS with more besides, or operations of your own, which fill d(logits) in their
 * backward, see tfn_custom; set t->custom and t->customs first. Rows count as always: those whose
 * target is below 0 or padding have no loss and no gradient, see tfn_mask_targets. Called when
 * sizes are asked for and when the model is made, for each of its tapes: the same operations each
 * time, at most 250 if tfn_model_scratch is to bound them. What it returns is the last value of the
 * tape. */
typedef tfn_var tfn_loss_fn(void *user, tfn_tape *t, tfn_var logits);

/* All zero but vocab and context is legal and good. */
typedef struct tfn_model_desc {
    int32_t vocab, context;       /* required: V, and the longest sentence T; an encoder of frames
                                   * has no words, and its vocab may be 0 */
    tfn_arch arch;                /* 0: decoder */
    int32_t source_context;       /* 0: context */
    int32_t width;                /* 0: 64 */
    int32_t layers;               /* 0: 2 */
    int32_t decoder_layers;       /* 0: layers; of an encoder-decoder */
    int32_t heads;                /* 0: width/32, at least 1 */
    int32_t kv_heads;             /* 0: as many as heads */
    tfn_cache_type cache_type;    /* 0: floats; else decoders have a cache of 16 bits */
    int32_t head_size;            /* D, channels of a head; 0: width/heads, and stays 0; else
                                   * heads * head_size may differ from the width */
    int32_t embedding_size;       /* E, channels of a word's embedding; 0: width, and stays 0; else
                                   * x_0 is E[token] W, W (E, C), and the output matrix reads x W,
                                   * W (C, E), as in OPT's model of 350 M */
    int32_t ffn;                  /* 0: 4*width */
    int32_t segments;             /* 0: no segment embeddings (encoder only) */
    int32_t classes;              /* of TFN_HEAD_SEQUENCE and TFN_HEAD_POSITIONS */
    int32_t numbers;              /* of TFN_HEAD_NUMBERS */
    int32_t bands;                /* 0: an encoder reads tokens; else frames of so many numbers:
                                   * spectra, sensors, patches of pictures; see tfn_batch */
    tfn_frame_map frame_map;      /* 0: convolutions */
    tfn_head head;                /* 0: tokens */
    int32_t cutoffs[2];           /* 0: none; the words, by frequency, in two or three clusters that
                                   * begin with these: adaptive input and softmax, see below */
    tfn_activation_kind activation;    /* 0: GELU, tanh form */
    tfn_position_kind position;   /* 0: learned */
    float rotary_base;            /* 0: 10000 */
    int32_t rotary_size;          /* r: so many channels of a head turn, j < r/2 with j + D/2, by
                                   * base^(-2j/r); the others stay (GPT-J, NeoX). 0: all, r = D */
    tfn_rotary_scaling rotary_scaling;   /* 0: none; its four numbers are: */
    float rotary_factor;          /* s, at least 1; 0: 8 */
    float rotary_low, rotary_high;       /* 0: 1 and 4 */
    int32_t rotary_context;       /* 0: 8192 */
    int32_t relative_buckets;     /* of relative positions, at least 4; 0: 32. The first half of */
    int32_t relative_distance;    /* them are distances of their own, the others share those up to
                                   * this one; 0: 128 */
    bool untied;                  /* false: the output matrix is the embedding */
    bool separate_source;         /* false: encoder and decoder share the embedding */
    bool scale_embedding;         /* true: embeddings times sqrt(C), as the papers do */
    bool scale_output;            /* true: the output matrix reads x/sqrt(C): T5 */
    bool no_bias;                 /* true: linear maps without bias */
    tfn_attention_bias attention_bias;   /* 0: none but those */
    bool output_bias;             /* true: logits have a bias, a number for each word */
    bool head_transform;          /* true: N(f(x W + b)) in front of the output matrix, f the
                                   * activation, without its gate: BERT's head of masked words */
    tfn_activation_kind pooler;   /* f of the classes f(x W_p) W_c of a sequence head, or of its
                                   * numbers; 0: tanh, as BERT's; DistilBERT's is ReLU */

    int32_t mup_base_width;       /* 0: rates and scales are as they are at any width; else they are
                                   * those of this width, and follow `width`: muP, see below */

    const char *recipe;           /* NULL: "pre"; sets topology, norm and init together */
    const char *norm;             /* NULL: the recipe's; see tfn_norm_at */
    const char *decoder_norm;     /* NULL: norm; of the decoder of an encoder-decoder */
    const char *init;             /* NULL: the recipe's; see tfn_init_at */
    const tfn_topology *topology;          /* NULL: the recipe's; one's own row */
    const tfn_topology *decoder_topology;  /* NULL: topology (hybrid stacks) */
    /* Rows of one's own, in the place of the names above, which then are NULL or the rows' names.
     * Like those of topologies they are used as long as the model is, and files know them by their
     * names: no row of the library may have the same. Small builds want TFNORM_ALL_NORMS. */
    const tfn_norm_rule *norm_rule;          /* NULL: the row that norm names */
    const tfn_norm_rule *decoder_norm_rule;  /* NULL: that of decoder_norm; without it norm_rule */
    const tfn_init_rule *init_rule;          /* NULL: the row that init names */
    tfn_qk_norm qk_norm;          /* 0: the topology's */
    float score_scale;            /* > 0: scores are q . k times this; 0: 1/sqrt(D). T5: 1 */
    bool scale_by_layer;          /* true: and divided by the layer's number, from 1: GPT-2's
                                   * scale_attn_by_inverse_layer_idx */
    int32_t window;               /* W > 0: a position of the decoder reads the last W, itself
                                   * included (Mistral), and its cache holds no more of them; */
    int32_t window_from;          /* in the layers from this one on, of 0, 1 ...; and */
    int32_t window_period;        /* p > 0: not in layers p - 1, 2p - 1 ...; Gemma 3: 6 */
    float window_base;            /* of those layers' rotary positions, whose rates then are not
                                   * scaled; 0: as in the other layers. Gemma 3: 10000 */
    float attention_cap;          /* > 0: scores become cap*tanh(score/cap); Gemma 2: 50 */
    float logit_cap;              /* the same of the logits; Gemma 2: 30 */
    float norm_eps;               /* 0: the norm's, or 1e-5 */
    float norm_factor;            /* c of adanorm; 0: 1; the authors' scripts have 1, 1.5 and 2 */
    int64_t norm_warmup;          /* of PowerNorm; 0: schedule.warmup */
    bool folded;                  /* inference: what tfn_model_fold fills, without extra state */
    tfn_weights weights;          /* 0: floats; else matrices of linear maps, embeddings and the
                                   * output are of this type, and frozen: see tfn_model_quantize */

    float dropout;                /* residual branches and embeddings */
    float attention_dropout, activation_dropout;
    float smoothing;              /* label smoothing */
    tfn_smoothing smoothing_kind; /* 0: (1-e) nll + e/V sum */
    tfn_number_loss_kind number_loss;     /* 0: squared */
    float delta;                  /* of the Huber loss; 0: 1 */
    tfn_loss_fn *loss;            /* NULL: cross-entropy. Code is not saved: give it again when you
                                   * load. report.nll is then the loss; with neither cutoffs
                                   * nor a head of numbers */
    void *loss_user;              /* what it gets */

    tfn_optimizer optimizer;      /* 0: AdamW */
    tfn_schedule schedule;        /* all 0: constant 1e-3 */
    float beta1, beta2, eps;      /* 0: 0.9, 0.98, 1e-8; SGD: beta1 is the momentum, 0 none; Lion:
                                   * beta2 0.99; Adafactor: beta1 0, no first moment, beta2 grows
                                   * as 1 - t^-0.8, eps does not count */
    float decay;                  /* weight decay of matrices; norms, biases, scales have none */
    tfn_radam radam;              /* 0: the paper's rule; where the codes differ: tfn_radam */
    tfn_moment_type moment_type;  /* 0: floats; else moments of 16 or 8 bits */
    bool  decay_all;              /* true: of every parameter, norms, biases and scales too, as
                                   * fairseq, and so of Admin's w */
    bool  nesterov, eps_inside;   /* eps_inside: where PyTorch's Adam has eps, false: fairseq's; see
                                   * tfn_update_args */
    float muon_rate;              /* of Muon's matrices, times the schedule's; 0: 20, so that 1e-3
                                   * for the rest, which AdamW updates, makes the authors' 0.02 */
    float muon_momentum;          /* 0: 0.95; of those matrices, instead of beta1 */
    bool  relative_rate;          /* true: Adafactor's rate is relative to a tensor's size: times
                                   * its RMS, at least 1e-3; the authors' schedule then is
                                   * TFN_SCHEDULE_INVERSE_SQRT with lr 1e-2, anchor 10000 */
    float clip;                   /* 0: no clipping by the global norm */
    float clip_value;             /* 0: none; > 0: then each number of the gradient of the mean
                                   * loss is at most this far from 0 */
    tfn_group groups[TFN_MOST_GROUPS];    /* empty patterns: every parameter trains alike */
    float ema;                    /* 0: none; else the decay of moving averages of the parameters,
                                   * such as 0.999: see tfn_model_swap_ema. The optimizer
                                   * schedule-free makes its own instead */
    int32_t micro_batches;        /* 0: 1; gradients of so many batches make one step */

    int32_t batch;                /* 0: 1; the largest B of a batch */
    int32_t batch_tokens;         /* 0: any; the most B*T, and B*Ts: less memory if rows differ */
    int32_t threads;              /* 0: 1, or OpenMP's number where it is on; without OpenMP and
                                   * TFNORM_PARALLEL_FOR more than 1 is refused */
    tfn_isa isa;                  /* 0: best */
    uint64_t seed;
    bool inference;               /* true: no gradients, no moments */
    bool recompute;               /* true: layers are computed again in the backward */
    bool probes;                  /* true: every run can be watched, see tfn_model_watch */
    bool half;                    /* true: simulated half precision, see below; one thread, and
                                   * more are refused */
    float loss_scale;             /* of half, at the start; 0: 128; without half it is 1 */

    bool blank;                   /* true: no first values are drawn, which takes a large model
                                   * seconds: weights are 0, or as they stand in `parameters`, until
                                   * they are loaded */
    bool only_decoders;           /* true: of a decoder made for inference, tfn_decoder alone runs;
                                   * the model keeps its table of weights, and no workspace */
    float *parameters, *gradients, *moments, *workspace;   /* NULL: inside the block */
} tfn_model_desc;

/* A row of an option that is an enumeration, such as "optimizer", "schedule.kind" or "activation":
 * the names are those of tfn_model_desc. */
typedef struct tfn_choice {
    int32_t     value;
    char        name[20];
    const char *formula;          /* NULL with TFNORM_NO_TRAINING */
    const char *paper;            /* NULL, too, where there is none */
} tfn_choice;
TFNORM_API const tfn_choice *tfn_choice_at(const char *option, int32_t i);  /* NULL: past the end */
TFNORM_API const tfn_choice *tfn_choice_find(const char *option, const char *name);
/* The name of a value; NULL: it has none, such as a default that was not resolved. */
TFNORM_API const char       *tfn_choice_name(const char *option, int32_t value);

/* Adaptive input (Baevski & Auli 2018) and adaptive softmax (Grave 2017), of a decoder: words of
 * cluster k = 0, 1, 2 have vectors of width/4^k numbers and a map to the width. The head tells the
 * words of the first cluster and the other clusters apart, tails the words within each; so rare
 * words have few weights. Unless untied, input and output share them. Logits are log p. */

/* muP (Yang et al. 2022, Tensor Programs V, table 8): what is best at one width is best at all, so
 * that rates are searched for with a small model. With m = width/mup_base_width,
 *                                    embedding, bias, gain   matrix (hidden)   output
 *     deviation at the start         that of width/m         ~ 1/sqrt(width)   that of width/m
 *     times                          1                       1                 1/m
 *     rate of Adam, AdamW, RAdam,    1                       1/m               1
 *       Lion
 *     rate of SGD                    m; one number: 1        1                 m
 * and scores of attention are sqrt(32) q k/D instead of q k/sqrt(D): the same for heads of 32
 * channels. Weight decay times the rate stays what it is. So a model of m = 1 with such heads is
 * the one without muP, to the bit. ffn and kv_heads * D are taken to grow with the width; LoRA's A
 * and B have the rate itself. Other optimizers, and methods with scales of their own by width, are
 * refused. */

/* Simulated half precision (as fairseq's, in which Xiong 2020, Liu 2020 and Takase 2022 trained): a
 * copy of the weights, every activation and every gradient is rounded to IEEE half after each
 * operation; the parameters themselves, moments and the loss stay in float. The loss is scaled: a
 * gradient that is not finite halves the scale and skips the update, 256 updates without one double
 * it. Below 0.03125 a step returns TFN_NOT_FINITE. The model makes its copy anew in each call, a
 * decoder its own when a sentence begins: both see weights that you write yourself, too. */

/* B sentences of T tokens each, row-major; padded on the right. */
typedef struct tfn_batch {
    const int32_t *tokens;    /* (B, T): the decoder's, or the encoder's of TFN_ARCH_ENCODER */
    const int32_t *targets;         /* (B, T) of positions, or (B): classes; < 0: ignored */
    const int32_t *lengths;         /* (B) or NULL: all T. What stands beyond is not looked at, in
                                     * no array: no result depends on it, nor on how much it is */
    const int32_t *source;          /* (B, Ts), encoder-decoder */
    /* of desc.bands: (B, Ts, bands) instead of source; of an encoder alone (B, T, bands) instead of
     * tokens. time and lengths count frames, context positions: as many by a linear map; by
     * convolutions n of 4 n + 3 frames, T must be such a number, and L frames fill (L - 3)/4.
     * Padding may be anything, NaN too */
    const float   *frames;
    const int32_t *source_lengths;  /* (B) or NULL */
    const int32_t *segments;        /* (B, T) or NULL: 0 */
    int32_t batch, time, source_time;
    const float   *numbers;         /* (B, numbers): the targets of such a head; NaN: ignored */
} tfn_batch;

typedef struct tfn_report {
    double   loss;            /* nats per target, smoothing included; or a head's loss per number */
    double   nll;             /* the same without smoothing */
    int64_t  tokens;          /* targets counted: tokens, classes or numbers */
    int64_t  step;            /* updates done, this one included */
    float    lr, grad_norm;   /* of this update; the norm is before clipping */
    float    loss_scale;      /* of this step; 1 without half precision */
    bool     updated;         /* false: more micro-batches are wanted */
    bool     skipped;         /* a loss, gradient, profile or running statistic was not finite, or
                               * there were no targets: all is as before the first micro-batch */
    int32_t  culprit;         /* the parameter whose gradient, or the running statistic, that is not
                               * finite; or -1: the loss or the profile */
} tfn_report;

/* What a gradient is the gradient of: sums over targets, in nats, with smoothing and without. The
 * mean loss is loss/targets. */
typedef struct tfn_sums {
    double  loss, nll;
    int64_t targets;
} tfn_sums;

typedef struct tfn_param_info {
    char     name[64];        /* "decoder.3.self.q.weight" */
    float   *data;
    float   *grad;            /* as tfn_model_gradients has it; NULL without training, of running
                               * statistics, and if frozen */
    int32_t  rows, cols;
    int32_t  layer;           /* from 0; -1: outside the layers */
    bool     decay;           /* its group: weight decay applies */
    bool     frozen;          /* and no step changes it */
    float    rate;            /* and its rate is the schedule's times this */
    tfn_weights weights;      /* what its numbers are; if not floats, data is NULL */
    void    *packed;          /* and these are its bytes, see tfn_quant_pack: its inputs are the */
    size_t   bytes;           /* rows, of an embedding the columns; NULL and 0 of floats */
} tfn_param_info;

typedef struct tfn_allocator {
    void *(*allocate)(size_t size, void *user);
    void  (*release)(void *mem, size_t size, void *user);
    void  *user;
} tfn_allocator;

/* Bytes by class, of tfn_model_memory. */
/* Bytes of the block and its parts. On a board whose RAM is short, of a model that decoders alone
 * run (desc.only_decoders), one array serves the model while it is made, and then the decoder:
 *     tfn_model_init(&model, &desc, ram, sizeof ram);
 *     tfn_decoder_init(&decoder, &model, 1, 1, ram + model.memory.kept,
 *                      sizeof ram - model.memory.kept); */
typedef struct tfn_memory {             /* of the block; what you gave a place of its own is 0 */
    size_t total, parameters, gradients, moments, tables, workspace, scratch, metadata;
    size_t working;           /* the rounded copy of half precision */
    size_t before;            /* what an update that is skipped gives back */
    size_t averages;          /* of what trains, with desc.ema */
    size_t kept;              /* from the beginning of the block, what is used once the model is
                               * made; with only_decoders the rest, which recording has used, is
                               * yours: a decoder may lie there */
} tfn_memory;

typedef struct tfn__weight {            /* private: one parameter tensor */
    int64_t at;                         /* floats into the region */
    int32_t rows, cols;
    int32_t line;                       /* place in what trains, in lines of 16 floats; -1: none */
    float   initial;                    /* constant start of biases, gains and scales */
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
    int32_t  *lengths;                  /* of sources of frames, in positions */
    int32_t  *words;                    /* tokens and targets as each cluster has them */
    float    *params, *moments;         /* run.params are these, or their rounded copy */
    float    *averages;                 /* of what trains; NULL without desc.ema */
    bool      swapped;                  /* each stands in the other's place */
    double    rate_squares;             /* schedule-free: the sum of step_size^2 so far */
    float     loss_scale;
    int32_t   finite_steps;             /* updates since the scale changed */
    int64_t   param_floats, buffer_floats, step;             /* the buffers lie behind */
    int64_t   trained_floats;           /* of gradients and of each moment: what is not frozen */
    bool      profiled;
    bool      profile_open;             /* made by the update under way, which may be skipped */
    float    *before;                   /* the buffers before this update; see tfn__before_floats */
    tfn_sums  sums;                     /* of the micro-batches so far */
    tfn_var   logits, loss, train_loss; /* on infer, infer, train */
    tfn_var   outputs[2];               /* of encoder and decoder, on infer; see tfn_model_hidden */
    tfn_memory memory;
    void     *mem;                      /* of tfn_model_new */
    size_t    mem_size;
    tfn_allocator allocator;
} tfn_model;

/* Fill the defaults; false and an error where an option has no legal value: outside its range (see
 * tfn__limits), not a number, unknown, or one that does not go with another. */
TFNORM_API bool tfn_model_resolve(tfn_model_desc *out, const tfn_model_desc *desc, tfn_error *e);
/* Bytes of scratch that tfn_model_size needs, at most twice as many as the model's metadata take
 * while they are made. 0: invalid. */
TFNORM_API size_t tfn_model_scratch(const tfn_model_desc *desc);
/* Bytes of the block that tfn_model_init needs, exact, for any address. 0: invalid. */
TFNORM_API size_t tfn_model_size(const tfn_model_desc *desc, void *scratch, size_t scratch_size);
TFNORM_API tfn_status tfn_model_init(tfn_model *m, const tfn_model_desc *desc, void *mem,
                                     size_t size);
#ifndef TFNORM_NO_MALLOC
/* Size, allocate (NULL: malloc) and init in one call; tfn_model_free gives the block back. */
TFNORM_API tfn_status tfn_model_new(tfn_model *m, const tfn_model_desc *desc,
                                    const tfn_allocator *allocator);
TFNORM_API void tfn_model_free(tfn_model *m);          /* NULL: nothing */
#endif
/* One micro-batch forward and backward, and the update when all of a step are in. An update is made
 * whole or not at all: see report->skipped. Here and in eval report may be NULL. */
TFNORM_API tfn_status tfn_model_step(tfn_model *m, const tfn_batch *batch, tfn_report *report);
/* The step in parts, for a loop of your own: gradients, then whatever you like with them, then the
 * update. tfn_model_step is exactly their sum,
 *     tfn_model_gradient(m, batch, i, i > 0, NULL);                 i = 0 .. micro_batches - 1
 *     tfn_model_update(m, NULL, tfn_model_rate(m), report); */

/* Forward and backward of one batch. Its gradient is stored into the flat vector, or with `add`
 * added to what is there; its sums likewise into *sums (NULL: not wanted). shard numbers the batch
 * within the update, from 0, and gives it dropout of its own: micro-batch i of tfn_model_step is
 * shard i. As many calls as you like make one update. The first one after an update lets a new
 * model profile itself. Where sums->loss is not finite there was no backward: what the vector holds
 * is of no use, and an update from these sums is skipped. */
TFNORM_API tfn_status tfn_model_gradient(tfn_model *m, const tfn_batch *batch, int32_t shard,
                                         bool add, tfn_sums *sums);
/* The flat vector of gradients, in the order of the parameters that train (tfn_model_param), and
 * its number of floats (NULL: not wanted); write to it what you like. It holds the gradient of
 * sums.loss * m->loss_scale, so that divided by (targets * m->loss_scale) it is that of the mean
 * loss; the scale is 1 but in half precision. NULL: the model does not train, or no part of it. */
TFNORM_API float     *tfn_model_gradients(tfn_model *m, int64_t *floats);
/* The schedule's rate of the update to come. Of NULL: NaN. */
TFNORM_API float      tfn_model_rate(const tfn_model *m);
/* Clip, and update with this rate (>= 0), from the vector of gradients and the sums it belongs to;
 * sums NULL: those of all calls of tfn_model_gradient since the last update. Made whole or not at
 * all: see report->skipped; sums without a target drop the update. report may be NULL. */
TFNORM_API tfn_status tfn_model_update(tfn_model *m, const tfn_sums *sums, float rate,
                                       tfn_report *report);
/* Exchange the parameters and their averages of desc.ema, which every update that is not skipped
 * brings nearer to the parameters, or of the optimizer schedule-free, whose result the averages are
 * (its x; the parameters are y, at which it takes gradients). Evaluate with the averages, decode,
 * fold, save weights_only; then exchange them again, which gives back the same bits. Until then
 * training is refused (the mistake of that call). Before the first update nothing happens. A
 * checkpoint is the same in either state, and a model made for inference takes the averages from
 * it. State behind the parameters, running statistics and sigmaReparam's u and v, is that of the
 * last update. TFN_BAD_BATCH: no averages. */
TFNORM_API tfn_status tfn_model_swap_ema(tfn_model *m);
/* The loss alone, without dropout; nothing changes. */
TFNORM_API tfn_status tfn_model_eval(tfn_model *m, const tfn_batch *batch, tfn_report *report);
/* Logits (B*T, V), (B, classes) or (B*T, classes) of a batch, T in positions, or its numbers (B,
 * numbers); valid until the next call on the model. */
TFNORM_API const float *tfn_model_logits(tfn_model *m, const tfn_batch *batch);
/* With desc.probes, of a model made for inference too: `probe` is called in each forward, that of a
 * training step, of tfn_model_eval, of tfn_model_logits, of tfn_model_profile, with the values of
 * these points of every sub-layer, and in a step's backward with their gradients, as ids that
 * tfn_probe_of reads; NULL: no longer. Gradients are those of the summed loss. A decoder has a
 * watcher of its own: tfn_decoder_watch. */
typedef enum tfn_watched {
    TFN_WATCH_NONE,           /* an id that is none of these */
    TFN_WATCH_INPUT,          /* x, what the sub-layer begins with */
    TFN_WATCH_READ,           /* u = in * N_in(x), what F reads */
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
/* Data-dependent initialization (Admin, LSUV) on a batch of any size; else it does nothing. The
 * first step of a model that was not profiled does it with its own batch; a model that was profiled
 * or trained is left as it is. TFN_NOT_FINITE: a number of the profile is not finite, and nothing
 * was changed. */
TFNORM_API tfn_status tfn_model_profile(tfn_model *m, const tfn_batch *batch);
/* Give `to` the weights of `from`, with all folded into them that can be. `to` was made with the
 * same options, but .inference and .folded: it has no gains of norms before a linear map, no scales
 * of branches, no constant or profiled scales of skips, no shifts, no statistics of a batch before
 * a linear map, and RMSNorm for the LayerNorm of an untied Pre-LN model. Where a row of your own
 * lets something else read what a scale or gain changes, that one stays in `to` as it is. Outputs
 * agree to rounding.
 * Made without .folded and without groups that have a rank, `to` gets the weights as they are, but
 * LoRA, if there is any, is added to its matrices: the model goes on training, or out to others
 * (tfn_export_write).
 * LoRA of a tied output wants a `to` with .untied, whose output matrix becomes E^T + alpha/r A B.
 * TFN_BAD_OPTION: another option or shape, or a profiled scale that is 0; the error names it. */
TFNORM_API tfn_status tfn_model_fold(tfn_model *to, const tfn_model *from);
/* Give `to`, made with desc.weights, the weights of `from`, which has the same options but floats:
 * see tfn_quant_pack. Norms, biases, positions and scales stay floats.
 *
 *     tfn_model_desc small = model.desc;
 *     small.inference = true;
 *     small.weights = TFN_WEIGHTS_Q8;
 *     tfn_model_new(&quantized, &small, NULL);                 // its matrices are 0
 *     tfn_model_quantize(&quantized, &model);
 *
 * Made with LoRA (desc.groups) in the place of inference it trains, A and B in floats (QLoRA,
 * Dettmers et al. 2023): a forward quantizes inputs as always, and the backward takes that for no
 * change. Recipes that read a matrix otherwise than in a product, sigmaReparam and FixNorm, want
 * folded models. Not there with TFNORM_NO_QUANT. TFN_BAD_OPTION: another option or shape. */
#ifndef TFNORM_NO_QUANT
TFNORM_API tfn_status tfn_model_quantize(tfn_model *to, const tfn_model *from);
#endif
/* Parameter tensor i, false past the last. Its order is that of the flat vectors. */
TFNORM_API bool       tfn_model_param(const tfn_model *m, int32_t i, tfn_param_info *info);
TFNORM_API uint64_t   tfn_model_hash(const tfn_model *m);       /* 64 bits over all parameters */
#endif /* TFNORM_ONLY_KERNELS */
