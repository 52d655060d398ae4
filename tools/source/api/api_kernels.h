/* -- kernels --------------------------------------------------------------------------------- */

/* Plain functions on plain pointers: no state, no failure. One table per instruction set, all with
 * the same bits where the machine has a fused multiply-add. `add` false stores a gradient, true
 * adds to what is there. Pointers of different arguments must not overlap unless said. */

typedef enum tfn_isa {
    TFN_ISA_BEST = 0,      /* the widest that machine and compiler have */
    TFN_ISA_PLAIN,         /* C without vectors; on x86-64 only with TFNORM_ALL_ISA */
    TFN_ISA_SSE2,          /* x86, 128 bits, no fused multiply-add: other bits */
    TFN_ISA_FMA128,        /* x86, 128 bits with FMA3; only with TFNORM_ALL_ISA or -mfma */
    TFN_ISA_AVX2,          /* x86, 256 bits with FMA3 */
    TFN_ISA_AVX512,        /* x86, 512 bits (AVX-512F) */
    TFN_ISA_NEON,          /* AArch64 */
    TFN_ISA_WASM,          /* WebAssembly SIMD, 128 bits; compiled without -mrelaxed-simd there is
                            * no fused multiply-add: other bits */
    TFN_ISA_COUNT
} tfn_isa;

/* Options that are enumerations have a list: enumerator, name in checkpoints and on command lines,
 * what it is, paper. A new one is a row at its list's end: see tfn_choice. */
#define TFN__CHOICE_ENUM(value, name, formula, paper) value,

#define TFN__ACTIVATION_LIST(X)                                                                   \
    X(TFN_ACTIVATION_RELU, "relu", "max(x, 0)", "Nair & Hinton 2010")                             \
    X(TFN_ACTIVATION_GELU, "gelu", "x/2 (1 + erf(x/sqrt 2))", "Hendrycks & Gimpel 2016")          \
    X(TFN_ACTIVATION_GELU_TANH, "gelu-tanh", "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",     \
      "Hendrycks & Gimpel 2016")                                                                  \
    X(TFN_ACTIVATION_SILU, "silu", "x/(1 + exp(-x))", "Elfwing et al. 2018")                      \
    X(TFN_ACTIVATION_TANH, "tanh", "tanh(x)", NULL)                                               \
    X(TFN_ACTIVATION_GEGLU, "geglu", "GELU(x W1) * (x W3), then W2; model only", "Shazeer 2020")  \
    X(TFN_ACTIVATION_SWIGLU, "swiglu", "SiLU(x W1) * (x W3), then W2; model only", "Shazeer 2020") \
    X(TFN_ACTIVATION_IDENTITY, "identity", "x", NULL)                                             \
    X(TFN_ACTIVATION_RELU2, "relu2", "max(x, 0)^2", "So et al. 2021")                             \
    X(TFN_ACTIVATION_GEGLU_TANH, "geglu-tanh", "geglu with gelu-tanh, as in Gemma; model only",   \
      "Shazeer 2020")
typedef enum tfn_activation_kind {
    TFN_ACTIVATION_DEFAULT = 0,   /* GELU_TANH */
    TFN__ACTIVATION_LIST(TFN__CHOICE_ENUM) TFN_ACTIVATION_COUNT
} tfn_activation_kind;

/* c (m, n) = start + a (m, k) * b (k, n). Element (i, p) of a is a[i*a_row + p*a_col],
 * likewise b; c and start have unit column stride. start NULL: +0; start == c: accumulate; a
 * bias (n): start_ld 0. Each element is one chain of fused multiply-adds over k in increasing
 * order: blocks, tiles, vectors and threads cannot change a bit. */
typedef struct tfn_matmul_args {
    float       *c;
    const float *start, *a, *b;
    ptrdiff_t    m, n, k;
    ptrdiff_t    c_ld, start_ld, a_row, a_col, b_row, b_col;
} tfn_matmul_args;

/* Numbers that are added to scaled scores by head and by how far a key is from its query (ALiBi,
 * Press 2022; T5, Raffel 2020): query i and key j of head h of sentence b have
 * at[b*sentence + h*head + zero + j - i]. at NULL: none. */
typedef struct tfn_score_bias {
    const float *at;
    ptrdiff_t    sentence, head, zero;
} tfn_score_bias;

/* Scaled dot-product attention with H query heads and G key/value heads (head h reads h*G/H);
 * Vaswani 2017, eq. 1. q, y (B*Tq, H*D); k, v (B*Tk, G*D); rows of q, k, v, y are q_ld ...
 * floats apart; causal: query i reads keys 0..i. lengths (B) or NULL: keys at and beyond
 * lengths[b] are never read. stats keeps m, l of the softmax: (B*Tq, H, 2). Dropout on the
 * weights: rate p > 0 with a key, see dropout below; its index is ((b*H + h) * 2^20 + query) *
 * 2^20 + key. window W > 0, causal: a query reads the last W of the keys that it sees, and hidden
 * ones must be finite. The backward wants y and stats from the forward. */
typedef struct tfn_attention_args {
    float       *y, *stats;
    const float *q, *k, *v;
    const int32_t *lengths;
    const int32_t *q_lengths;         /* (B) or NULL: rows of y, stats and dq at and beyond
                                       * q_lengths[b] are not written, and count for nothing */
    float       *dq, *dk, *dv;        /* backward only; dk, dv chained over the heads of a group */
    const float *dy;
    ptrdiff_t    batch, tq, tk;
    ptrdiff_t    window;              /* 0: none */
    int32_t      heads, kv_heads, head_size;
    ptrdiff_t    q_ld, k_ld, v_ld, y_ld;     /* gradients have the strides of their values */
    float        scale;               /* usually 1/sqrt(D) */
    float        cap;                 /* > 0: scores are cap*tanh(score/cap) (Gemma 2) */
    tfn_score_bias bias;
    float       *dbias;               /* like bias, added to; NULL: not wanted. Not with a cap */
    float        dropout;
    tfn_key      key;
    bool         causal, add_dq, add_dk, add_dv;
} tfn_attention_args;

/* What a cache is made of. 16 bits take half the memory and are made floats again, exactly, where
 * they are read, a block of keys at a time: the scores are those of the rounded keys and values,
 * with the same bits everywhere, however many positions are fed at once; but no longer those of a
 * whole forward, which rounds none. F16 has three bits of fraction more than BF16; what is beyond
 * its range, 65504, becomes the end of it. */
#define TFN__CACHE_TYPE_LIST(X)                                                                   \
    X(TFN_CACHE_TYPE_FLOAT, "float32", "k, v", NULL)                                              \
    X(TFN_CACHE_TYPE_BF16, "bf16", "the upper 16 bits of a float, to the nearest", NULL)          \
    X(TFN_CACHE_TYPE_F16, "f16", "IEEE half, to the nearest", NULL)
typedef enum tfn_cache_type {
    TFN__CACHE_TYPE_LIST(TFN__CHOICE_ENUM) TFN_CACHE_TYPE_COUNT
} tfn_cache_type;

/* One new query row per sentence against a cache: q, y (B, H*D); k_cache (B, G, D, capacity):
 * keys in lanes; v_cache (B, G, capacity, D). count: keys valid for every sentence, or per
 * sentence in lengths; for a bias the query is at count - 1. window W > 0: the last W of them are
 * read, and the cache is a ring, key j in place j mod capacity, which is at least W. With a type
 * the caches are k_half and v_half, and work has 64*D floats more. */
typedef struct tfn_attention_cached_args {
    float         *y;
    const float   *q, *k_cache, *v_cache;
    const int32_t *lengths;           /* NULL: count for all */
    const int32_t *beam;              /* NULL, or cache row to read for sentence b */
    ptrdiff_t      batch, count, capacity, q_ld, y_ld;
    ptrdiff_t      window;            /* 0: none */
    tfn_score_bias bias;
    int32_t        heads, kv_heads, head_size;
    float          scale, cap;
    tfn_cache_type  type;             /* 0: floats */
    const uint16_t *k_half, *v_half;  /* of another type, in the form of k_cache and v_cache */
} tfn_attention_cached_args;

/* Norms of rows: y = gain * n + bias, n = (x - mean) * rstd. Compiled with TFNORM_NO_TRAINING, but
 * not TFNORM_ALL_NORMS, only LAYER and RMS are there. */
typedef enum tfn_norm_kind {
    TFN_NORM_LAYER = 0,    /* mean; 1/sqrt(var + eps): Ba 2016 */
    TFN_NORM_RMS,          /* 0; 1/sqrt(mean(x^2) + eps): Zhang & Sennrich 2019, eq. 4 */
    TFN_NORM_RMS_OUTSIDE,  /* 0; 1/(sqrt(mean(x^2)) + eps): their PyTorch code */
    TFN_NORM_L2,           /* 0; 1/max(|x|, eps): Nguyen & Salazar 2019, with a gain ScaleNorm */
    TFN_NORM_CRMS,         /* 0; 1/sqrt((sum(x^2) + sum(x)^2)/(C+1) + eps): Jiang 2023, for C of the
                            * C+1 features of a vector whose sum is 0 */
    TFN_NORM_CENTER,       /* mean; C/(C-1): LipsFormer, Qi 2023 */
    TFN_NORM_ADA,          /* mean; 1/(s + eps), s with 1/(C-1); y = factor*(1 - slope*n)*n, all
                            * before n taken for a constant; no gain, no bias: Xu 2019, eq. 6 */
    TFN_NORM_ABSMAX,       /* the kernel is LAYER's: with eps*a^2 for eps, a = max|x|/8 of the whole
                            * tensor, that is CogView's LayerNorm of x/a (Ding 2021). A tape takes
                            * this eps by itself, with a of the rows that count; a caller must */
    /* not functions of one row's moments: */
    TFN_NORM_POINT,        /* tfn_point_args */
    TFN_NORM_SEED,         /* tfn_seed_args */
    TFN_NORM_BATCH,        /* tfn_columns_args: Ioffe & Szegedy 2015 */
    TFN_NORM_POWER         /* tfn_columns_args: PowerNorm, Shen 2020 */
} tfn_norm_kind;
typedef struct tfn_norm_args {
    tfn_norm_kind kind;                 /* up to ABSMAX */
    float       *y, *mean, *rstd;       /* mean, rstd (rows, groups) are kept, or NULL */
    const float *x, *gain, *bias;       /* (rows, cols); (cols) or NULL for 1 and 0 */
    float       *dx, *dgain, *dbias;    /* backward; dgain, dbias chain over the rows, or NULL */
    const float *dy;
    ptrdiff_t    rows, cols;
    ptrdiff_t    groups;                /* 0: 1; statistics of each of so many groups of columns */
    ptrdiff_t    part;                  /* 0: all; statistics of a group's first so many (RMS) */
    float        eps, slope, factor;
    bool         offset;                /* the gain is 1 + gain: Gemma */
    bool         detach_mean, detach_std;    /* the backward takes them for constants: Xu 2019 */
    bool         add, add_params;
} tfn_norm_args;

/* y = gain * f(alpha*x + shift) + bias: DyT (tanh), Zhu 2025; Derf and its siblings, Chen 2025. */
typedef enum tfn_squash_kind {
    TFN_SQUASH_TANH = 0, TFN_SQUASH_ERF,
    TFN_SQUASH_ISRU,                    /* z / sqrt(z^2 + 1) */
    TFN_SQUASH_EXP,                     /* sign(z) (1 - exp(-|z|)) */
    TFN_SQUASH_ATAN,                    /* 2/pi atan z */
    TFN_SQUASH_SIN,                     /* sin z, z clipped to +-pi/2 */
    TFN_SQUASH_SOFTSIGN                 /* z / (1 + |z|) */
} tfn_squash_kind;
typedef struct tfn_point_args {
    tfn_squash_kind   squash;
    float       *y;
    const float *x, *alpha, *shift, *gain, *bias;    /* alpha, shift: one number; NULL: 1, 0 */
    float       *dx, *dalpha, *dshift, *dgain, *dbias;    /* each may be NULL */
    const float *dy;
    ptrdiff_t    rows, cols;
    bool         add, add_alpha, add_shift, add_gain, add_bias;
} tfn_point_args;

/* SeeDNorm, Cai 2025: y = (t*alpha + gain) * n, t = tanh(x . direction) a row, n of RMSNorm;
 * vectors of C. */
typedef struct tfn_seed_args {
    float       *y, *stats;             /* (rows, 2): t and rstd */
    const float *x, *gain, *alpha, *direction;
    float       *dx, *dgain, *dalpha, *ddirection;
    const float *dy;
    ptrdiff_t    rows, cols;
    float        eps;
    bool         add, add_gain, add_alpha, add_direction;
} tfn_seed_args;

/* Norms of each column over the rows of a batch; rows at and beyond lengths[b] do not count in the
 * statistics, but are normalized unless `skip` is set.
 * BATCH: n = (x - mean)/sqrt(var + eps). POWER: n = x/sqrt(v + eps), v = mean(x^2),
 * after `warmup` updates the running v; its backward is not the gradient but,
 * as the authors' code: with g = dy*gain, h = g - (1 - 0.9)*nu*n: dx = h/sqrt(v + eps) with the
 * batch's v, nu += mean(h*n). That mean is over the rows that count, and h = g in the others: the
 * authors' code averages over padding, too, so that its results depend on how long the longest
 * sentence of a batch is.
 * running and next (2, cols): BATCH mean and variance (momentum 0.1, variance over 1/(T-1)), first
 * 0 and 1; POWER v and nu (0.9), first 1 and 0. next gets what running becomes when the update is
 * done: both rows in the forward, then nu in POWER's backward. If no row counts, running normalizes
 * and stays. Without training it normalizes too, the backward takes it for a constant, next is not
 * written, and stats may be NULL. */
typedef struct tfn_columns_args {
    tfn_norm_kind kind;                 /* BATCH or POWER */
    float       *y, *next;
    float       *stats;                 /* (2, cols), for the backward. BATCH: mean and rstd; POWER:
                                         * what x and what h is multiplied by */
    const float *x, *gain, *bias, *running;
    const int32_t *lengths;             /* (batch) or NULL: all time rows count */
    float       *dx, *dgain, *dbias;
    const float *dy;
    ptrdiff_t    batch, time, cols;
    int64_t      step, warmup;          /* step from 1 */
    float        eps;
    bool         training, add, add_gain, add_bias;
    bool         skip;                  /* rows that do not count are not normalized: y and dx are
                                         * 0 there, and dgain and dbias leave them out */
} tfn_columns_args;

/* Optimizers: g the gradient, m and v its moments, lr the rate, b1 and b2 the betas, d the decay.
 * A row begins with what its two moments hold, and which tensors it must see as matrices:
 *   EACH     a float for each weight          NONE    nothing
 *   ASKED    the same if beta1 > 0            REST    EACH, but nothing of those matrices
 *   SUMS     EACH, but of those matrices one for each row and one for each column
 * and of matrices FLAT: none, the tensors of a model are one vector to it; ALL of them; or HIDDEN:
 * neither embeddings nor what makes the logits. */
#define TFN__OPTIMIZER_LIST(X)                                                                    \
    X(ASKED, NONE, FLAT, TFN_OPTIMIZER_SGD, "sgd",                                                \
      "g += d p; m = b1 m + g; p -= lr m; without b1 no m",                                       \
      "Sutskever et al. 2013; PyTorch")                                                           \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_ADAM, "adam", "g += d p; p -= lr m^/(sqrt v^ + eps)",       \
      "Kingma & Ba 2015, algorithm 1")                                                            \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_ADAMW, "adamw", "p -= lr (m^/(sqrt v^ + eps) + d p)",       \
      "Loshchilov & Hutter 2019, algorithm 2")                                                    \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_RADAM, "radam",                                             \
      "adamw, m^ alone until the variance of v^ is known", "Liu et al. 2020, algorithm 2")        \
    X(EACH, NONE, FLAT, TFN_OPTIMIZER_LION, "lion",                                               \
      "p -= lr (sign(b1 m + (1-b1) g) + d p); m = b2 m + (1-b2) g",                               \
      "Chen et al. 2023, algorithm 2")                                                            \
    X(EACH, REST, HIDDEN, TFN_OPTIMIZER_MUON, "muon",                                             \
      "p -= 20 lr (s O(m) + d p), O(m) = U V^T of m = U S V^T; the rest by adamw",                \
      "Jordan et al. 2024")                                                                       \
    X(ASKED, SUMS, ALL, TFN_OPTIMIZER_ADAFACTOR, "adafactor",                                     \
      "p -= lr (u/max(1, rms u) + d p), u = g/sqrt(r c/sum r), r and c sums of g^2",              \
      "Shazeer & Stern 2018, algorithm 4")                                                        \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_SCHEDULE_FREE, "schedule-free",                             \
      "z -= lr (g/(sqrt v^ + eps) + d y); x += c (z - x); y = b1 x + (1-b1) z",                   \
      "Defazio et al. 2024, algorithm 1")
#define TFN__OPTIMIZER_ENUM(first, second, matrices, value, name, formula, paper) value,
typedef enum tfn_optimizer {
    TFN_OPTIMIZER_DEFAULT = 0,    /* ADAMW */
    TFN__OPTIMIZER_LIST(TFN__OPTIMIZER_ENUM) TFN_OPTIMIZER_COUNT
} tfn_optimizer;

/* RAdam while the variance of the second moment is unknown, which rho_t tells. PYTORCH has the
 * decay in the gradient, not in the step as the others, and eps_inside does not count. */
#define TFN__RADAM_LIST(X)                                                                        \
    X(TFN_RADAM_DEFAULT, "paper", "rho_t <= 4: SGD with momentum", "Liu et al. 2020, algorithm 2") \
    X(TFN_RADAM_AUTHORS, "authors", "rho_t < 5: neither step nor decay", "the authors' code")     \
    X(TFN_RADAM_DECAY, "decay", "rho_t < 5: only decay", "Transformer-Clinic, code")              \
    X(TFN_RADAM_MOMENTUM, "momentum", "rho_t < 5: SGD with momentum", "deepnmt, code")            \
    X(TFN_RADAM_PYTORCH, "pytorch", "rho_t <= 5: SGD with momentum", "torch.optim.RAdam")
typedef enum tfn_radam { TFN__RADAM_LIST(TFN__CHOICE_ENUM) TFN_RADAM_COUNT } tfn_radam;

/* What moments are kept in, of the optimizers whose row says FLAT, but not of schedule-free, one of
 * whose points would be rounded: sgd, adam, adamw, radam, lion. An update makes floats of them, a
 * piece at a time, and then fewer bits again, up or down at random so that the mean is the number:
 * to the nearest, a second moment would not move, as with beta2 = 0.999 an update changes it by
 * less than half of what BF16 can tell apart (where gradients had become a tenth, sqrt(v) was still
 * twice too large 1500 updates later). The draws are counted, by seed, update and place, so that a
 * run has the same bits everywhere and may be resumed.
 * FP8: blocks of 32 numbers of a tensor share an exponent, as in Rouhani et al. 2023 (MX), 33 bytes
 * a block; of m a sign, 4 bits of exponent, 3 of fraction; of v, which spans twice as many powers
 * of two, the root, 4 and 4, and no v but 0 becomes 0, as others are divided by it (Li et al.
 * 2023). Dettmers et al. 2021 have blocks of 2048, a table of values, and round to the nearest. */
#define TFN__MOMENT_TYPE_LIST(X)                                                                  \
    X(TFN_MOMENT_TYPE_FLOAT, "float32", "m, v", NULL)                                             \
    X(TFN_MOMENT_TYPE_BF16, "bf16", "the upper 16 bits of floats, rounded at random", NULL)       \
    X(TFN_MOMENT_TYPE_FP8, "fp8", "8 bits of m and sqrt(v), by blocks of 32, rounded at random",  \
      "Dettmers et al. 2021")
typedef enum tfn_moment_type {
    TFN__MOMENT_TYPE_LIST(TFN__CHOICE_ENUM) TFN_MOMENT_TYPE_COUNT
} tfn_moment_type;

/* One pass of an optimizer over n values with its gradient g and moments m, v: variants in the
 * optim section. */
typedef struct tfn_update_args {
    tfn_optimizer optimizer;
    tfn_radam     radam;
    float lr, beta1, beta2, eps, decay;
    float grad_scale;           /* 1/tokens times the clipping factor */
    float clip_value;           /* > 0: then each number of the gradient is at most this far from
                                 * 0 */
    float matrix_rate;          /* of Muon's matrices, times lr */
    float momentum;             /* and their beta1 */
    bool  relative;             /* Adafactor: lr times RMS(p) of the tensor, at least 1e-3 */
    bool  nesterov;
    bool  eps_inside;           /* true: sqrt(v / (1 - beta2^t)) + eps, as PyTorch's Adam and AdamW;
                                 * false: (sqrt v + eps) / sqrt(1 - beta2^t), as fairseq's Adam and
                                 * RAdam and PyTorch's RAdam */
    /* of this tensor: it is one of those that the optimizer's row calls matrices */
    bool  matrix;
    /* of this step, filled by tfn_update_at: */
    bool  adaptive, skip;       /* divided by the second moment; moments alone change */
    float step_size, root;      /* bias corrections */
    float beta2_now;            /* Adafactor's beta2, which grows */
} tfn_update_args;
#ifndef TFNORM_NO_TRAINING
/* The constants of update t, from 1, for a loop that calls tfn_kernels.update itself: fills what
 * stands last in *u from the rest. u may be NULL: nothing. */
TFNORM_API void tfn_update_at(tfn_update_args *u, int64_t t);
#endif

typedef struct tfn_kernels {
    const char *name;           /* "avx512" ... */
    tfn_isa     isa;
    bool        fma;            /* false: the bits are not canonical */

    /* Matrix product; work: matmul_work floats. */
    void      (*matmul)(const tfn_matmul_args *p, float *work);
    ptrdiff_t (*matmul_work)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
    /* dbias (cols) = chain over rows of dy (rows, cols), ld floats a row. */
    void (*column_sum)(float *dbias, const float *dy, ptrdiff_t rows, ptrdiff_t cols,
                       ptrdiff_t ld, bool add);

    /* Norms of rows, and their gradients: struct tfn_norm_args. The parameters' gradients of
     * columns [first, first + count). */
    void (*norm_forward)(const tfn_norm_args *p);
    void (*norm_backward)(const tfn_norm_args *p);
    void (*norm_params_backward)(const tfn_norm_args *p, ptrdiff_t first, ptrdiff_t count);

    /* y = exp(x - max) / sum, per row; y may be x. dx = y * (dy - sum(dy*y)); dx may be dy. */
    void (*softmax_forward)(float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols);
    void (*softmax_backward)(float *dx, const float *dy, const float *y, ptrdiff_t rows,
                             ptrdiff_t cols, bool add);

    /* Attention of sentence and key/value head pairs [first, last) of B*G; work: attention_work
     * floats, linear in tk. The cached form wants those of tq = 0 and tk = capacity. */
    void (*attention_forward)(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                              float *work);
    void (*attention_backward)(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                               float *work);
    ptrdiff_t (*attention_work)(ptrdiff_t tq, ptrdiff_t tk, ptrdiff_t head_size);
    void (*attention_cached)(const tfn_attention_cached_args *p, ptrdiff_t first, ptrdiff_t last,
                             float *work);

    /* y = f(x), dx = f'(x) dy over n values; y may be x, dx may be dy. */
    void (*activation_forward)(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind);
    void (*activation_backward)(float *dx, const float *dy, const float *x, ptrdiff_t n,
                                tfn_activation_kind kind, bool add);
    /* y = f(gate) * up (Shazeer 2020); kind is TFN_ACTIVATION_GELU, TFN_ACTIVATION_SILU ... */
    void (*gated_forward)(float *y, const float *gate, const float *up, ptrdiff_t n,
                          tfn_activation_kind kind);
    void (*gated_backward)(float *dgate, float *dup, const float *dy, const float *gate,
                           const float *up,
                           ptrdiff_t n, tfn_activation_kind kind, bool add_gate, bool add_up);

    /* y = scale * table[token], (rows, cols) from (V, cols); a token outside 0..V-1 gives
     * zeros. The backward adds to dtable in the order of the rows, on columns [0, cols) of
     * rows ld apart. */
    void (*embed_forward)(float *y, const float *table, const int32_t *tokens, ptrdiff_t rows,
                          ptrdiff_t cols, ptrdiff_t vocab, float scale);
    void (*embed_backward)(float *dtable, const float *dy, const int32_t *tokens, ptrdiff_t rows,
                           ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t vocab, float scale);
    /* y = x + table[t + start], rows b*time + t; y may be x. The backward chains dtable over
     * b, columns as above. */
    void (*position_forward)(float *y, const float *x, const float *table, ptrdiff_t batch,
                             ptrdiff_t time, ptrdiff_t cols, ptrdiff_t start);
    void (*position_backward)(float *dtable, const float *dy, ptrdiff_t batch, ptrdiff_t time,
                              ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t start, bool add);
    /* Rotary positions, half-split (Su 2021; LLaMA): y[j] = x[j] cos - x[j+D/2] sin, y[j+D/2]
     * = x[j+D/2] cos + x[j] sin. table (T, D): D/2 cosines then D/2 sines of row t + start;
     * the inverse rotation is the backward. y may be x. */
    void (*rotary)(float *y, const float *x, const float *table, ptrdiff_t batch, ptrdiff_t time,
                   ptrdiff_t heads, ptrdiff_t head_size, ptrdiff_t start, bool inverse, bool add);
    /* y = x / (1-p) where the mask of (key, first + i) keeps, else 0. Its own backward. y may
     * be x. */
    void (*dropout)(float *y, const float *x, ptrdiff_t n, float p, tfn_key key, uint64_t first,
                    bool add);
    /* y = a*x + b*z + add*y; z may be NULL; y may be x or z. */
    void (*combine)(float *y, const float *x, const float *z, ptrdiff_t n, float a, float b,
                    bool add);
    /* y = x * v, v (cols); dv (columns [0, cols)) chains dy*x over the rows. */
    void (*scale_columns)(float *y, const float *x, const float *v, ptrdiff_t rows,
                          ptrdiff_t cols, bool add);
    void (*scale_columns_backward)(float *dv, const float *dy, const float *x, ptrdiff_t rows,
                                   ptrdiff_t cols, ptrdiff_t ld, bool add);
    /* the canonical flat sum of x*y; y NULL: of x */
    float (*dot)(const float *x, const float *y, ptrdiff_t n);
    /* the largest |x|; 0 of none */
    float (*absmax)(const float *x, ptrdiff_t n);
    /* x becomes the nearest IEEE half, ties to even, infinite from 65520 on */
    void (*round_to_half)(float *x, ptrdiff_t n);

    /* Cross-entropy in nats per row; targets < 0 are ignored: loss 0. stats keeps max and sum
     * (rows, 2). Label smoothing e over V classes: kind 0: (1-e)*nll + e/V * sum_v -log p_v
     * (PyTorch; Szegedy 2016); kind 1: e_i = e/(V-1): (1-e-e_i)*nll + e_i * sum_v -log p_v
     * (fairseq). nll may be NULL. */
    void (*cross_entropy_forward)(float *loss, float *nll, float *stats, const float *logits,
                                  const int32_t *targets,
                                  ptrdiff_t rows, ptrdiff_t cols, float smoothing, int32_t kind);
    /* dlogits may be logits. dloss (rows) or NULL for 1. */
    void (*cross_entropy_backward)(float *dlogits, const float *dloss, const float *stats,
                                   const float *logits,
                                   const int32_t *targets, ptrdiff_t rows, ptrdiff_t cols,
                                   float smoothing, int32_t kind, bool add);

    /* One step of an optimizer. Of schedule-free AdamW p is y, which stays, and m is z, which
     * moves: x and y follow by `combine`. */
    void (*update)(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                   const tfn_update_args *u);
    /* The same of one tensor p (rows, cols), for optimizers whose row does not say FLAT; of
     * Adafactor, v of a matrix is the rows' sums, then the columns'. work: update_work floats. */
    void (*update_tensor)(float *p, const float *g, float *m, float *v, ptrdiff_t rows,
                          ptrdiff_t cols, const tfn_update_args *u, float *work);
    ptrdiff_t (*update_work)(ptrdiff_t rows, ptrdiff_t cols, const tfn_update_args *u);
    /* Elementwise functions on n values, for tests and users: errors are in the math section. */
    void (*exp)(float *y, const float *x, ptrdiff_t n);
    void (*tanh)(float *y, const float *x, ptrdiff_t n);
    void (*erf)(float *y, const float *x, ptrdiff_t n);
} tfn_kernels;

/* The table of an instruction set, or NULL where compiler or machine lack it. */
TFNORM_API const tfn_kernels *tfn_kernels_for(tfn_isa isa);
/* "avx2"; NULL or unknown: best */
TFNORM_API tfn_isa            tfn_isa_find(const char *name);
/* "canonical", or "differ: reason" for the bits of that instruction set on this machine. */
TFNORM_API const char        *tfn_bits(tfn_isa isa);

/* Norms that few models have, the same for all tables, of which they use a few kernels. Not there
 * with TFNORM_NO_TRAINING, but for the forwards with TFNORM_ALL_NORMS. Columns [first, first +
 * count) of norms over a batch. */
#if !defined TFNORM_NO_TRAINING || defined TFNORM_ALL_NORMS
TFNORM_API void tfn_point_forward(const tfn_kernels *k, const tfn_point_args *p);
TFNORM_API void tfn_seed_forward(const tfn_kernels *k, const tfn_seed_args *p);
TFNORM_API void tfn_columns_forward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count);
#endif
#ifndef TFNORM_NO_TRAINING
TFNORM_API void tfn_point_backward(const tfn_kernels *k, const tfn_point_args *p);
TFNORM_API void tfn_point_params_backward(const tfn_kernels *k, const tfn_point_args *p);
TFNORM_API void tfn_seed_backward(const tfn_seed_args *p);
TFNORM_API void tfn_seed_params_backward(const tfn_seed_args *p);
TFNORM_API void tfn_columns_backward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count);
#endif

/* -- weights of fewer bits ------------------------------------------------------------------- */

/* A matrix of k inputs and n outputs, quantized (Q8, Q4) or rounded (BF16, F16), in bytes of its
 * own form: what tfn_quant_pack writes, tfn_quant_product multiplies with. Of Q8 and Q4 each output
 * has blocks of 32 inputs that share a scale, a number of 16 bits (BF16): 34 and 18 bytes a block.
 * A row of inputs is quantized alike when a product runs, to q of -127 .. 127 and a float as scale:
 * amax/127, amax the largest |a| of a block; q = a * (127/amax), to the nearest integer, ties to
 * even. amax below 2^-56 makes the block 0, an infinite number or a NaN makes its results NaN. Then
 *
 *     y = start;  for each block: y = y + (float)(sum of the block's q q') * (scale * scale')
 *
 * where the sum is of integers, exact in any order, and each of the three float operations is
 * rounded: no FMA, so processors with and without one have the same bits. BF16 and F16 are exact to
 * read: a product is the one of `matmul` with these numbers. */
#define TFN__WEIGHTS_LIST(X)                                                                      \
    X(TFN_WEIGHTS_FLOAT, "float32", "w", NULL)                                                    \
    X(TFN_WEIGHTS_Q8, "q8", "s q, q of -127 .. 127, s for 32 inputs", NULL)                       \
    X(TFN_WEIGHTS_Q4, "q4", "s q, q of -8 .. 7, s for 32 inputs", NULL)                           \
    X(TFN_WEIGHTS_BF16, "bf16", "the upper 16 bits of a float", NULL)                             \
    X(TFN_WEIGHTS_F16, "f16", "IEEE half", NULL)
typedef enum tfn_weights { TFN__WEIGHTS_LIST(TFN__CHOICE_ENUM) TFN_WEIGHTS_COUNT } tfn_weights;

/* Instruction sets of integers, all with the same bits. */
typedef enum tfn_quant_isa {
    TFN_QUANT_BEST = 0,
    TFN_QUANT_PLAIN,            /* C; with Armv7E-M's SMLAD where the compiler has it */
    TFN_QUANT_SSE2,
    TFN_QUANT_SSSE3,
    TFN_QUANT_AVX2,
    TFN_QUANT_AVX_VNNI,
    TFN_QUANT_AVX512_VNNI,
    TFN_QUANT_NEON,             /* with the dot product where the compiler has it */
    TFN_QUANT_WASM,
    TFN_QUANT_COUNT
} tfn_quant_isa;

/* Rows of inputs, quantized: q (rows, k), k rounded up to blocks of 32, and by block the scale and
 * the sum of q. */
typedef struct tfn_quant_rows {
    int8_t  *q;
    float   *scale;             /* (rows, blocks) */
    int32_t *sum;               /* the same */
} tfn_quant_rows;

/* c (m, n) = start + a (m, k) w. Rows of a are a_ld floats apart, those of c and start as in
 * tfn_matmul_args. first: 0, or the first output, a multiple of 16, if only outputs first ...
 * first + n - 1 are wanted, which c and start then begin with. */
typedef struct tfn_quant_args {
    float       *c;
    const float *start, *a;
    const void  *w;
    tfn_weights  type;
    ptrdiff_t    m, n, k, c_ld, start_ld, a_ld;
    ptrdiff_t    first, outputs;        /* outputs of w in all */
    bool         table;                 /* BF16 and F16: w is (outputs, k) */
} tfn_quant_args;

typedef struct tfn_quant_kernels {
    const char   *name;         /* "avx512-vnni" */
    tfn_quant_isa isa;
    /* rows of a, (m, k) and a_ld apart, as above */
    void (*rows)(const tfn_quant_rows *r, const float *a, ptrdiff_t m, ptrdiff_t k, ptrdiff_t a_ld);
    /* Q8 and Q4: p->m rows that stand quantized in r; p->a is not read */
    void (*product)(const tfn_quant_args *p, const tfn_quant_rows *r);
    /* n numbers of BF16 or F16 as floats */
    void (*halves)(float *y, const uint16_t *h, ptrdiff_t n, tfn_weights type);
} tfn_quant_kernels;
#ifndef TFNORM_NO_QUANT
/* The kernels of an instruction set, or NULL where compiler or machine lack it. */
TFNORM_API const tfn_quant_kernels *tfn_quant_kernels_for(tfn_quant_isa isa);

/* Bytes of a matrix, a multiple of 64; 0 of floats, of an unknown type, and if it has none. */
TFNORM_API size_t tfn_quant_bytes(tfn_weights type, ptrdiff_t k, ptrdiff_t n);
/* Write w, of that many bytes, from b: input p and output j is b[p*b_row + j*b_col]. Scales are
 * those of some candidates whose squared error is the least. */
TFNORM_API void tfn_quant_pack(void *w, tfn_weights type, const float *b, ptrdiff_t k, ptrdiff_t n,
                               ptrdiff_t b_row, ptrdiff_t b_col);
/* The numbers of outputs first ... first + count - 1, y (k, count), of a w of n outputs; first is a
 * multiple of 16. */
TFNORM_API void tfn_quant_unpack(float *y, const void *w, tfn_weights type, ptrdiff_t k,
                                 ptrdiff_t n, ptrdiff_t first, ptrdiff_t count);
/* The product, of any type but FLOAT; work: tfn_quant_work(p->type, m, n, k) floats. Both want
 * the tables of the float kernels and of these. */
TFNORM_API void tfn_quant_product(const tfn_kernels *f, const tfn_quant_kernels *i,
                                  const tfn_quant_args *p, float *work);
TFNORM_API ptrdiff_t tfn_quant_work(const tfn_kernels *f, tfn_weights type, ptrdiff_t m,
                                    ptrdiff_t n, ptrdiff_t k);
#endif
