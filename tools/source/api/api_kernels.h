/* -- kernels --------------------------------------------------------------------------------- */

/* Plain functions on plain pointers, which have no state and cannot fail. There is one table per
 * instruction set. All tables with a fused multiply-add have the same bits. If `add` is false, a
 * gradient is stored; if true, it is added to the present one. Arrays of different arguments must
 * not overlap, unless a comment allows it. */

typedef enum tfn_isa {
    TFN_ISA_BEST = 0,      /* the widest that both processor and compiler have */
    TFN_ISA_PLAIN,         /* C without vectors; on x86-64 only with TFNORM_ALL_ISA */
    TFN_ISA_SSE2,          /* x86, 128 bits; no fused multiply-add, so other bits */
    TFN_ISA_FMA128,        /* x86, 128 bits with FMA3; only with TFNORM_ALL_ISA or -mfma */
    TFN_ISA_AVX2,          /* x86, 256 bits with FMA3 */
    TFN_ISA_AVX512,        /* x86, 512 bits (AVX-512F) */
    TFN_ISA_NEON,          /* AArch64 */
    TFN_ISA_WASM,          /* WebAssembly SIMD, 128 bits; without -mrelaxed-simd there is no fused
                            * multiply-add, so other bits */
    TFN_ISA_COUNT
} tfn_isa;

/* Each option that is an enumeration has a list, whose rows are: enumerator, name in checkpoints
 * and on command lines, formula, paper. Add new ones at the end of the list. See tfn_choice. */
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

/* c (m, n) = start + a (m, k) * b (k, n). Element (i, p) of a is a[i*a_row + p*a_col], likewise b.
 * c and start have unit column stride. start NULL: +0; start == c: accumulates; for a bias (n) set
 * start_ld to 0. Each element is one chain of fused multiply-adds over k in increasing order, so
 * blocks, tiles, vectors and threads cannot change a bit. */
typedef struct tfn_matmul_args {
    float       *c;
    const float *start, *a, *b;
    ptrdiff_t    m, n, k;
    ptrdiff_t    c_ld, start_ld, a_row, a_col, b_row, b_col;
} tfn_matmul_args;

/* Numbers added to scaled scores, by head and by the distance from the query to the key (ALiBi,
 * Press 2022; T5, Raffel 2020). Query i and key j of head h of sentence b get
 * at[b*sentence + h*head + zero + j - i]. at NULL: none. */
typedef struct tfn_score_bias {
    const float *at;
    ptrdiff_t    sentence, head, zero;
} tfn_score_bias;

/* Scaled dot-product attention (Vaswani 2017, eq. 1) with H query heads and G key/value heads:
 * head h reads h*G/H. q, y (B*Tq, H*D); k, v (B*Tk, G*D). Rows of q, k, v, y are q_ld ... floats
 * apart. causal: query i reads keys 0..i. lengths (B) or NULL: keys from lengths[b] on are never
 * read. stats (B*Tq, H, 2) saves the maximum and the sum of each softmax. dropout > 0 applies to
 * the weights: see dropout below; the index of a weight is ((b*H + h) * 2^20 + query) * 2^20 + key.
 * window W > 0 (causal only): a query reads the last W of the keys that it sees; keys outside the
 * window must still be finite. ahead > 0 (with a window of more keys): query i sees keys
 * 0..i + ahead, and reads keys i + ahead - W + 1..i + ahead of these. The backward needs y and
 * stats from the forward. */
typedef struct tfn_attention_args {
    float       *y, *stats;
    const float *q, *k, *v;
    const int32_t *lengths;
    const int32_t *q_lengths;         /* (B) or NULL: rows of y, stats and dq from q_lengths[b] on
                                       * are not written, and have no effect */
    float       *dq, *dk, *dv;        /* backward only; dk, dv sum over the heads of a group */
    const float *dy;
    ptrdiff_t    batch, tq, tk;
    ptrdiff_t    window;              /* 0: none */
    ptrdiff_t    ahead;               /* 0: a causal query sees no later keys */
    int32_t      heads, kv_heads, head_size;
    ptrdiff_t    q_ld, k_ld, v_ld, y_ld;     /* gradients have the strides of their values */
    float        scale;               /* usually 1/sqrt(D) */
    float        cap;                 /* > 0: scores are cap*tanh(score/cap) (Gemma 2) */
    tfn_score_bias bias;
    float       *dbias;               /* like bias, always added to; NULL: none. Not with a cap */
    float        dropout;
    tfn_key      key;
    bool         causal, add_dq, add_dk, add_dv;
} tfn_attention_args;

/* The numbers in a cache. 16 bits take half the memory. Keys and values are rounded when they are
 * stored, and converted to floats again, exactly, when they are read. The bits are the same
 * everywhere, for any number of positions fed at once. They differ from a full forward, which
 * rounds nothing. F16 has three bits of fraction more than BF16; values beyond +-65504 saturate. */
#define TFN__CACHE_TYPE_LIST(X)                                                                   \
    X(TFN_CACHE_TYPE_FLOAT, "float32", "k, v", NULL)                                              \
    X(TFN_CACHE_TYPE_BF16, "bf16", "upper 16 bits of a float, rounded to nearest", NULL)          \
    X(TFN_CACHE_TYPE_F16, "f16", "IEEE half, rounded to nearest", NULL)
typedef enum tfn_cache_type {
    TFN__CACHE_TYPE_LIST(TFN__CHOICE_ENUM) TFN_CACHE_TYPE_COUNT
} tfn_cache_type;

/* Attention of new queries of each sentence to a cache. q, y (B, queries, H*D); k_cache (B, G, D,
 * capacity), where positions are the lanes; v_cache (B, G, capacity, D). count: the keys that the
 * first query of a sentence sees, unless lengths has one number per sentence. If causal, every
 * query sees one key more than the query before it; otherwise all see the same. For a bias, the
 * last key counted is at the query's position. window W > 0: only the last W keys are read, and the
 * cache is a ring: key j is at j mod capacity, and capacity must be at least W, or W + queries - 1
 * if they are causal. If type is not 0, the caches are k_half and v_half, and work needs 64*D
 * floats more. */
typedef struct tfn_attention_cached_args {
    float         *y;
    const float   *q, *k_cache, *v_cache;
    const int32_t *lengths;           /* NULL: `count` keys in every sentence */
    const int32_t *beam;              /* the cache's row that sentence b reads; NULL: row b */
    ptrdiff_t      batch, count, capacity, q_ld, y_ld;      /* _ld: between sentences */
    ptrdiff_t      window;            /* 0: none */
    tfn_score_bias bias;
    int32_t        heads, kv_heads, head_size;
    float          scale, cap;
    tfn_cache_type  type;             /* 0: floats */
    const uint16_t *k_half, *v_half;  /* for 16 bits; shaped like k_cache and v_cache */
    ptrdiff_t      queries;           /* of each sentence; 0 counts as 1 */
    ptrdiff_t      q_row, y_row;      /* floats between queries of a sentence; unused if 1 */
    bool           causal;
} tfn_attention_cached_args;

/* Norms of rows: y = gain * n + bias, n = (x - mean) * rstd. The comments give mean; rstd. A build
 * with TFNORM_NO_TRAINING and without TFNORM_ALL_NORMS has only LAYER and RMS. */
typedef enum tfn_norm_kind {
    TFN_NORM_LAYER = 0,    /* mean; 1/sqrt(var + eps): Ba 2016 */
    TFN_NORM_RMS,          /* 0; 1/sqrt(mean(x^2) + eps): Zhang & Sennrich 2019, eq. 4 */
    TFN_NORM_RMS_OUTSIDE,  /* 0; 1/(sqrt(mean(x^2)) + eps): their PyTorch code */
    TFN_NORM_L2,           /* 0; 1/max(|x|, eps): Nguyen & Salazar 2019; with a gain: ScaleNorm */
    TFN_NORM_CRMS,         /* 0; 1/sqrt((sum(x^2) + sum(x)^2)/(C+1) + eps): Jiang 2023. x has C of
                            * the C+1 features of a vector whose sum is 0 */
    TFN_NORM_CENTER,       /* mean; C/(C-1): LipsFormer, Qi 2023 */
    TFN_NORM_ADA,          /* mean; 1/(s + eps), s with 1/(C-1); y = factor*(1 - slope*n) * n, where
                            * the backward treats the product before n as a constant. No gain, no
                            * bias: Xu 2019, eq. 6 */
    TFN_NORM_ABSMAX,       /* CogView's LayerNorm of x/a, a = max|x|/8 over the tensor (Ding 2021).
                            * Same kernel as LAYER, with eps*a^2 as eps. A tape computes it, over
                            * the rows that count; a direct caller must pass it */
    /* not functions of one row's mean and rstd: */
    TFN_NORM_POINT,        /* tfn_point_args */
    TFN_NORM_SEED,         /* tfn_seed_args */
    TFN_NORM_BATCH,        /* tfn_columns_args: Ioffe & Szegedy 2015 */
    TFN_NORM_POWER         /* tfn_columns_args: PowerNorm, Shen 2020 */
} tfn_norm_kind;
typedef struct tfn_norm_args {
    tfn_norm_kind kind;                 /* up to ABSMAX */
    float       *y, *mean, *rstd;       /* mean, rstd (rows, groups) for the backward, or NULL */
    const float *x, *gain, *bias;       /* (rows, cols); gain and bias (cols), NULL: 1 and 0 */
    float       *dx, *dgain, *dbias;    /* backward; dgain, dbias sum over the rows; NULL: none */
    const float *dy;
    ptrdiff_t    rows, cols;
    ptrdiff_t    groups;                /* 0: 1; groups of columns, each with its own statistics */
    ptrdiff_t    part;                  /* 0: all; how many of a group's first columns enter its
                                         * statistics (RMS) */
    float        eps, slope, factor;
    bool         offset;                /* the gain is 1 + gain: Gemma */
    bool         detach_mean, detach_std;    /* the backward treats them as constants: Xu 2019 */
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

/* SeeDNorm (Cai 2025): y = (t*alpha + gain) * n. t = tanh(x . direction) is one number per row, n
 * is RMSNorm's. gain, alpha, direction (cols). */
typedef struct tfn_seed_args {
    float       *y, *stats;             /* stats (rows, 2): t and rstd, for the backward */
    const float *x, *gain, *alpha, *direction;
    float       *dx, *dgain, *dalpha, *ddirection;
    const float *dy;
    ptrdiff_t    rows, cols;
    float        eps;
    bool         add, add_gain, add_alpha, add_direction;
} tfn_seed_args;

/* Norms of each column over the rows of a batch. Rows from lengths[b] on do not count in the
 * statistics, but are normalized unless `skip` is set.
 * BATCH: n = (x - mean)/sqrt(var + eps).
 * POWER: n = x/sqrt(v + eps), v = mean(x^2), and after `warmup` updates the running v. The backward
 * is not the gradient, but follows the authors' code: with g = dy*gain, h = g - (1 - 0.9)*nu*n:
 * dx = h/sqrt(v + eps) with the batch's v, and nu += mean(h*n). The mean is over the rows that
 * count, and h = g in the others. (The authors' code averages over padding, too, so that its
 * results depend on the length of the longest sentence in a batch.)
 * running and next (2, cols). BATCH: mean and variance (momentum 0.1, variance with 1/(T-1)), which
 * start at 0 and 1. POWER: v and nu (0.9), which start at 1 and 0. Copy next to running after the
 * update: the forward writes both rows, then POWER's backward writes nu. If no row counts, running
 * normalizes, and does not change. Without `training` running normalizes, too, the backward treats
 * it as a constant, next is not written, and stats may be NULL. */
typedef struct tfn_columns_args {
    tfn_norm_kind kind;                 /* BATCH or POWER */
    float       *y, *next;
    float       *stats;                 /* (2, cols), for the backward. BATCH: mean and rstd; POWER:
                                         * the factors of x and of h */
    const float *x, *gain, *bias, *running;
    const int32_t *lengths;             /* (batch) or NULL: all rows count */
    float       *dx, *dgain, *dbias;
    const float *dy;
    ptrdiff_t    batch, time, cols;
    int64_t      step, warmup;          /* step counts from 1 */
    float        eps;
    bool         training, add, add_gain, add_bias;
    bool         skip;                  /* rows that do not count are not normalized: there y and dx
                                         * are 0, and dgain and dbias omit them */
} tfn_columns_args;

/* Optimizers. g is the gradient, m and v are its moments, lr is the rate, b1 and b2 are the betas,
 * d is the decay. A row begins with the form of its two moments:
 *   EACH     a float for each weight          NONE    nothing
 *   ASKED    EACH if beta1 > 0, else NONE     REST    EACH, but nothing for matrices
 *   SUMS     EACH, but for matrices a float per row and a float per column
 * The third column tells which tensors it treats as matrices:
 *   FLAT     none: all tensors of a model are one vector
 *   ALL      all matrices
 *   HIDDEN   all matrices except embeddings and the map to the logits */
#define TFN__OPTIMIZER_LIST(X)                                                                    \
    X(ASKED, NONE, FLAT, TFN_OPTIMIZER_SGD, "sgd",                                                \
      "g += d p; m = b1 m + g; p -= lr m; without b1 no m",                                       \
      "Sutskever et al. 2013; PyTorch")                                                           \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_ADAM, "adam", "g += d p; p -= lr m^/(sqrt v^ + eps)",       \
      "Kingma & Ba 2015, algorithm 1")                                                            \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_ADAMW, "adamw", "p -= lr (m^/(sqrt v^ + eps) + d p)",       \
      "Loshchilov & Hutter 2019, algorithm 2")                                                    \
    X(EACH, EACH, FLAT, TFN_OPTIMIZER_RADAM, "radam",                                             \
      "adamw, only m^ until the variance of v^ is known", "Liu et al. 2020, algorithm 2")         \
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

/* RAdam's step while the variance of the second moment is unknown, according to rho_t. PYTORCH adds
 * the decay to the gradient, not to the step like the others, and ignores eps_inside. */
#define TFN__RADAM_LIST(X)                                                                        \
    X(TFN_RADAM_DEFAULT, "paper", "rho_t <= 4: SGD with momentum", "Liu et al. 2020, algorithm 2") \
    X(TFN_RADAM_AUTHORS, "authors", "rho_t < 5: neither step nor decay", "the authors' code")     \
    X(TFN_RADAM_DECAY, "decay", "rho_t < 5: only decay", "Transformer-Clinic, code")              \
    X(TFN_RADAM_MOMENTUM, "momentum", "rho_t < 5: SGD with momentum", "deepnmt, code")            \
    X(TFN_RADAM_PYTORCH, "pytorch", "rho_t <= 5: SGD with momentum", "torch.optim.RAdam")
typedef enum tfn_radam { TFN__RADAM_LIST(TFN__CHOICE_ENUM) TFN_RADAM_COUNT } tfn_radam;

/* How moments are stored, for sgd, adam, adamw, radam and lion. (Schedule-free cannot use fewer
 * bits, because one of its points would be rounded.) An update converts moments to floats, a piece
 * at a time, and then rounds them stochastically, so that the mean is exact. Rounding to nearest
 * would freeze v: with beta2 = 0.999 one update is smaller than half a BF16 ulp. (After gradients
 * had become ten times smaller, sqrt(v) was still twice too large 1500 updates later.) The random
 * numbers depend on the seed, the update and the place, so a run has the same bits everywhere, and
 * can be resumed. FP8: blocks of 32 numbers of a tensor share an exponent, as in Rouhani et al.
 * 2023 (MX), in 33 bytes. m has a sign, 4 bits of exponent and 3 of fraction. v spans twice as many
 * powers of two, so its root is stored, with 4 bits of exponent and 4 of fraction. Only v = 0
 * becomes 0, because the step is divided by sqrt(v) (Li et al. 2023). Dettmers et al. 2021 use
 * blocks of 2048, a table of values, and rounding to nearest. */
#define TFN__MOMENT_TYPE_LIST(X)                                                                  \
    X(TFN_MOMENT_TYPE_FLOAT, "float32", "m, v", NULL)                                             \
    X(TFN_MOMENT_TYPE_BF16, "bf16", "upper 16 bits of floats, rounded stochastically", NULL)      \
    X(TFN_MOMENT_TYPE_FP8, "fp8", "8 bits of m and sqrt(v), blocks of 32, rounded stochastically", \
      "Dettmers et al. 2021")
typedef enum tfn_moment_type {
    TFN__MOMENT_TYPE_LIST(TFN__CHOICE_ENUM) TFN_MOMENT_TYPE_COUNT
} tfn_moment_type;

/* Packed moments of the values that update_packed changes. */
typedef struct tfn_packed_moments {
    tfn_moment_type type;       /* BF16 or FP8 */
    void    *data[2];           /* m and v; NULL if the optimizer has none. FP8: whole blocks */
    uint8_t *exponents[2];      /* FP8: one for each block of 32 numbers */
    tfn_key  key;               /* of the random bits that round */
    uint64_t first;             /* value i uses draw first + i */
} tfn_packed_moments;

/* The constants of one pass of an optimizer over n values. */
typedef struct tfn_update_args {
    tfn_optimizer optimizer;
    tfn_radam     radam;
    float lr, beta1, beta2, eps, decay;
    float grad_scale;           /* 1/tokens times the clipping factor */
    float clip_value;           /* > 0: each number of the gradient is clipped to +-clip_value */
    float matrix_rate;          /* Muon: the rate of matrices is lr times this */
    float momentum;             /* Muon: the beta1 of matrices */
    bool  relative;             /* Adafactor: the rate is lr * max(RMS(p) of the tensor, 1e-3) */
    bool  nesterov;
    bool  eps_inside;           /* true: sqrt(v / (1 - beta2^t)) + eps, as PyTorch's Adam and AdamW;
                                 * false: (sqrt v + eps) / sqrt(1 - beta2^t), as fairseq's Adam and
                                 * RAdam and PyTorch's RAdam */
    /* for this tensor: */
    bool  matrix;               /* true: the optimizer treats it as a matrix */
    /* for this update, filled by tfn_update_at: */
    bool  adaptive;             /* true: the step is divided by the root of the second moment */
    bool  skip;                 /* true: only the moments change */
    float step_size, root;      /* include the bias corrections */
    float beta2_now;            /* Adafactor's beta2, which grows */
} tfn_update_args;
#ifndef TFNORM_NO_TRAINING
/* Fills the last members of *u for update t, which counts from 1, from the other members. Needed by
 * a loop that calls tfn_kernels.update itself. Does nothing if u is NULL. */
TFNORM_API void tfn_update_at(tfn_update_args *u, int64_t t);
#endif

typedef struct tfn_kernels {
    const char *name;           /* "avx512" ... */
    tfn_isa     isa;
    bool        fma;            /* false: the bits are not canonical */

    /* Matrix product: tfn_matmul_args. work: matmul_work floats. */
    void      (*matmul)(const tfn_matmul_args *p, float *work);
    ptrdiff_t (*matmul_work)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
    /* dbias (cols) = the sum of the rows of dy (rows, cols), a chain. Rows are ld floats apart. */
    void (*column_sum)(float *dbias, const float *dy, ptrdiff_t rows, ptrdiff_t cols,
                       ptrdiff_t ld, bool add);

    /* Norms of rows: tfn_norm_args. norm_backward computes dx, norm_params_backward the gradients
     * of the parameters for columns [first, first + count). */
    void (*norm_forward)(const tfn_norm_args *p);
    void (*norm_backward)(const tfn_norm_args *p);
    void (*norm_params_backward)(const tfn_norm_args *p, ptrdiff_t first, ptrdiff_t count);

    /* Softmax of each row: y = exp(x - max) / sum. y may be x. dx = y * (dy - sum(dy*y)). dx may be
     * dy. */
    void (*softmax_forward)(float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols);
    void (*softmax_backward)(float *dx, const float *dy, const float *y, ptrdiff_t rows,
                             ptrdiff_t cols, bool add);

    /* Attention for the pairs [first, last) of the B*G pairs of a sentence and a key/value head.
     * work: attention_work floats, linear in tk. For attention_cached call attention_work with
     * tq = -queries and tk = capacity. */
    void (*attention_forward)(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                              float *work);
    void (*attention_backward)(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                               float *work);
    ptrdiff_t (*attention_work)(ptrdiff_t tq, ptrdiff_t tk, ptrdiff_t head_size);
    void (*attention_cached)(const tfn_attention_cached_args *p, ptrdiff_t first, ptrdiff_t last,
                             float *work);

    /* y = f(x), dx = f'(x) dy for n values. y may be x, dx may be dy. */
    void (*activation_forward)(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind);
    void (*activation_backward)(float *dx, const float *dy, const float *x, ptrdiff_t n,
                                tfn_activation_kind kind, bool add);
    /* y = f(gate) * up (Shazeer 2020). kind is TFN_ACTIVATION_GELU, TFN_ACTIVATION_SILU ... */
    void (*gated_forward)(float *y, const float *gate, const float *up, ptrdiff_t n,
                          tfn_activation_kind kind);
    void (*gated_backward)(float *dgate, float *dup, const float *dy, const float *gate,
                           const float *up,
                           ptrdiff_t n, tfn_activation_kind kind, bool add_gate, bool add_up);

    /* y (rows, cols) = scale * table[token], table (V, cols). A token outside 0..V-1 gives zeros.
     * The backward adds to dtable in the order of the rows, in columns [0, cols) of rows that are
     * ld apart. */
    void (*embed_forward)(float *y, const float *table, const int32_t *tokens, ptrdiff_t rows,
                          ptrdiff_t cols, ptrdiff_t vocab, float scale);
    void (*embed_backward)(float *dtable, const float *dy, const int32_t *tokens, ptrdiff_t rows,
                           ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t vocab, float scale);
    /* y = x + table[t + start] for rows b*time + t. y may be x. In the backward dtable is a sum
     * over b, with columns as above. */
    void (*position_forward)(float *y, const float *x, const float *table, ptrdiff_t batch,
                             ptrdiff_t time, ptrdiff_t cols, ptrdiff_t start);
    void (*position_backward)(float *dtable, const float *dy, ptrdiff_t batch, ptrdiff_t time,
                              ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t start, bool add);
    /* Rotary positions, half-split (Su 2021; LLaMA): y[j] = x[j] cos - x[j+D/2] sin, y[j+D/2]
     * = x[j+D/2] cos + x[j] sin. table (T, D): row t + start has D/2 cosines, then D/2 sines. The
     * inverse rotation is the backward. y may be x. */
    void (*rotary)(float *y, const float *x, const float *table, ptrdiff_t batch, ptrdiff_t time,
                   ptrdiff_t heads, ptrdiff_t head_size, ptrdiff_t start, bool inverse, bool add);
    /* y = x / (1-p) where the mask of (key, first + i) keeps x, else 0. The backward is the same
     * function. y may be x. */
    void (*dropout)(float *y, const float *x, ptrdiff_t n, float p, tfn_key key, uint64_t first,
                    bool add);
    /* y = a*x + b*z, or += if `add`. z may be NULL. y may be x or z. */
    void (*combine)(float *y, const float *x, const float *z, ptrdiff_t n, float a, float b,
                    bool add);
    /* y = x * v, v (cols). dv is the sum of dy*x over the rows, for columns [0, cols). */
    void (*scale_columns)(float *y, const float *x, const float *v, ptrdiff_t rows,
                          ptrdiff_t cols, bool add);
    void (*scale_columns_backward)(float *dv, const float *dy, const float *x, ptrdiff_t rows,
                                   ptrdiff_t cols, ptrdiff_t ld, bool add);
    /* Returns the canonical flat sum of x*y, or of x if y is NULL. */
    float (*dot)(const float *x, const float *y, ptrdiff_t n);
    /* Returns the largest |x|, or 0 if n is 0. */
    float (*absmax)(const float *x, ptrdiff_t n);
    /* Rounds x to the nearest IEEE half, ties to even. From 65520 on it becomes infinite. */
    void (*round_to_half)(float *x, ptrdiff_t n);

    /* Cross-entropy of each row, in nats. Targets below 0 are ignored: their loss is 0. stats
     * (rows, 2) saves the maximum and the sum. Label smoothing e over V classes, kind 0: (1-e)*nll
     * + e/V * sum_v -log p_v (PyTorch; Szegedy 2016); kind 1, e_i = e/(V-1): (1-e-e_i)*nll
     * + e_i * sum_v -log p_v (fairseq). nll may be NULL. */
    void (*cross_entropy_forward)(float *loss, float *nll, float *stats, const float *logits,
                                  const int32_t *targets,
                                  ptrdiff_t rows, ptrdiff_t cols, float smoothing, int32_t kind);
    /* dlogits may be logits. dloss (rows) or NULL for 1. */
    void (*cross_entropy_backward)(float *dlogits, const float *dloss, const float *stats,
                                   const float *logits,
                                   const int32_t *targets, ptrdiff_t rows, ptrdiff_t cols,
                                   float smoothing, int32_t kind, bool add);

    /* One update of an optimizer. For schedule-free AdamW p is y, which does not change, and m is
     * z; compute x and y with `combine` afterwards. */
    void (*update)(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                   const tfn_update_args *u);
    /* The same for one tensor p (rows, cols), for optimizers whose row does not say FLAT. In
     * Adafactor v of a matrix has the sums of rows, then the sums of columns. work: update_work
     * floats. */
    void (*update_tensor)(float *p, const float *g, float *m, float *v, ptrdiff_t rows,
                          ptrdiff_t cols, const tfn_update_args *u, float *work);
    ptrdiff_t (*update_work)(ptrdiff_t rows, ptrdiff_t cols, const tfn_update_args *u);
    /* Elementwise functions of n values, for tests and users. Section vmath gives their errors. */
    void (*exp)(float *y, const float *x, ptrdiff_t n);
    void (*tanh)(float *y, const float *x, ptrdiff_t n);
    void (*erf)(float *y, const float *x, ptrdiff_t n);
    /* y[i] = size * draw first + i of the key: tfn_random_normal if `normal`, otherwise
     * 2 * tfn_random_uniform - 1. */
    void (*random_values)(float *y, ptrdiff_t n, tfn_key key, uint64_t first, float size,
                          bool normal);
    /* Same as `update`, with packed moments. work: 512 floats. NULL in builds without them. */
    void (*update_packed)(float *p, const float *g, const tfn_packed_moments *m, ptrdiff_t n,
                          const tfn_update_args *u, float *work);
} tfn_kernels;

/* Returns the table of an instruction set, or NULL if the compiler or the processor lacks it. */
TFNORM_API const tfn_kernels *tfn_kernels_for(tfn_isa isa);
/* Returns the instruction set with this name, such as "avx2"; NULL or unknown: TFN_ISA_BEST. */
TFNORM_API tfn_isa            tfn_isa_find(const char *name);
/* Returns "canonical" if this instruction set has the canonical bits on this machine, else
 * "differ: reason". */
TFNORM_API const char        *tfn_bits(tfn_isa isa);

/* Norms that few models have. The code is the same for all tables; k provides a few kernels.
 * TFNORM_NO_TRAINING omits them, but keeps the forwards with TFNORM_ALL_NORMS. Norms over a batch
 * process columns [first, first + count). */
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

/* A matrix with k inputs and n outputs, quantized (Q8, Q4) or rounded (BF16, F16). tfn_quant_pack
 * writes it in a private form, tfn_quant_product multiplies with it. In Q8 and Q4 blocks of 32
 * inputs of an output share a scale in BF16, so a block takes 34 or 18 bytes. The product quantizes
 * each row of inputs in the same blocks: with amax the largest |a| of a block, the scale is
 * amax/127, a float, and q = a * (127/amax), rounded to the nearest integer, ties to even. If amax
 * is below 2^-56, the block becomes 0. If it is infinite or NaN, the results are NaN. Then
 *
 *     y = start;  for each block: y = y + (float)(sum of the block's q q') * (scale * scale')
 *
 * The sum of integers is exact in any order. Each of the three float operations is rounded, without
 * FMA, so processors with and without FMA have the same bits. BF16 and F16 convert to floats
 * exactly, and a product has the bits of `matmul` with these floats. */
#define TFN__WEIGHTS_LIST(X)                                                                      \
    X(TFN_WEIGHTS_FLOAT, "float32", "w", NULL)                                                    \
    X(TFN_WEIGHTS_Q8, "q8", "s q, q in -127 .. 127, one s for 32 inputs", NULL)                   \
    X(TFN_WEIGHTS_Q4, "q4", "s q, q in -8 .. 7, one s for 32 inputs", NULL)                       \
    X(TFN_WEIGHTS_BF16, "bf16", "upper 16 bits of a float", NULL)                                 \
    X(TFN_WEIGHTS_F16, "f16", "IEEE half", NULL)
typedef enum tfn_weights { TFN__WEIGHTS_LIST(TFN__CHOICE_ENUM) TFN_WEIGHTS_COUNT } tfn_weights;

/* Instruction sets for products of integers. All have the same bits. */
typedef enum tfn_quant_isa {
    TFN_QUANT_BEST = 0,
    TFN_QUANT_PLAIN,            /* C, with SMLAD of Armv7E-M if the compiler has it */
    TFN_QUANT_SSE2,
    TFN_QUANT_SSSE3,
    TFN_QUANT_AVX2,
    TFN_QUANT_AVX_VNNI,
    TFN_QUANT_AVX512_VNNI,
    TFN_QUANT_NEON,             /* with the dot product if the compiler has it */
    TFN_QUANT_WASM,
    TFN_QUANT_COUNT
} tfn_quant_isa;

/* Quantized rows of inputs: q (rows, k), with k rounded up to blocks of 32, and for each block the
 * scale and the sum of q. */
typedef struct tfn_quant_rows {
    int8_t  *q;
    float   *scale;             /* (rows, blocks) */
    int32_t *sum;               /* (rows, blocks) */
} tfn_quant_rows;

/* c (m, n) = start + a (m, k) w. Rows of a are a_ld floats apart; rows of c and start are as in
 * tfn_matmul_args. To compute only some outputs, first ... first + n - 1, set `first`, which must
 * be a multiple of 16. c and start then begin with output `first`. */
typedef struct tfn_quant_args {
    float       *c;
    const float *start, *a;
    const void  *w;
    tfn_weights  type;
    ptrdiff_t    m, n, k, c_ld, start_ld, a_ld;
    ptrdiff_t    first, outputs;        /* outputs: all outputs of w */
    bool         table;                 /* true, for BF16 and F16: w is (outputs, k) */
} tfn_quant_args;

typedef struct tfn_quant_kernels {
    const char   *name;         /* "avx512-vnni" */
    tfn_quant_isa isa;
    /* Quantizes rows of a (m, k), which are a_ld apart. */
    void (*rows)(const tfn_quant_rows *r, const float *a, ptrdiff_t m, ptrdiff_t k, ptrdiff_t a_ld);
    /* Q8 and Q4: multiplies the p->m quantized rows in r. Does not read p->a. */
    void (*product)(const tfn_quant_args *p, const tfn_quant_rows *r);
    /* Converts n numbers in BF16 or F16 to floats. */
    void (*halves)(float *y, const uint16_t *h, ptrdiff_t n, tfn_weights type);
} tfn_quant_kernels;
#ifndef TFNORM_NO_QUANT
/* Returns the kernels of an instruction set, or NULL if the compiler or the processor lacks it. */
TFNORM_API const tfn_quant_kernels *tfn_quant_kernels_for(tfn_quant_isa isa);

/* Returns the bytes of a matrix, a multiple of 64, or 0 for floats, for an unknown type, and for an
 * empty matrix. */
TFNORM_API size_t tfn_quant_bytes(tfn_weights type, ptrdiff_t k, ptrdiff_t n);
/* Packs w (tfn_quant_bytes bytes) from b: input p of output j is b[p*b_row + j*b_col]. For each
 * block it tries several scales, and takes the one with the least squared error. */
TFNORM_API void tfn_quant_pack(void *w, tfn_weights type, const float *b, ptrdiff_t k, ptrdiff_t n,
                               ptrdiff_t b_row, ptrdiff_t b_col);
/* Unpacks outputs first ... first + count - 1 of w, which has n outputs, into y (k, count). first
 * must be a multiple of 16. */
TFNORM_API void tfn_quant_unpack(float *y, const void *w, tfn_weights type, ptrdiff_t k,
                                 ptrdiff_t n, ptrdiff_t first, ptrdiff_t count);
/* Computes the product for any type except FLOAT. f are the float kernels, i the integer kernels.
 * work: tfn_quant_work(f, p->type, m, n, k) floats. */
TFNORM_API void tfn_quant_product(const tfn_kernels *f, const tfn_quant_kernels *i,
                                  const tfn_quant_args *p, float *work);
TFNORM_API ptrdiff_t tfn_quant_work(const tfn_kernels *f, tfn_weights type, ptrdiff_t m,
                                    ptrdiff_t n, ptrdiff_t k);
#endif
