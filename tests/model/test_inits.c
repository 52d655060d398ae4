/* Initial values. Every rule of tfn_init_at against its formula (variants.md, section 8), written
 * here once more: deviations within sampling error, extremes of uniform draws, Gram matrices of
 * orthogonal ones, halves of mirrored ones; for all stacks and depths of 1 to 60. Start values of
 * every learned scale of every row; constants against the values that papers print. */
#include "../lib.h"
#include "../check.h"

enum { INITS_C = 16, INITS_V = 24, INITS_T = 8, INITS_HEADS = 2 };

/* -- the place of a parameter ---------------------------------------------------------------- */

typedef struct inits_place {
    char   stack, sub;          /* 'e', 'd' or 0; 's', 'c', 'f' or 0 */
    char   part[40];            /* "q", "norm_in" ... */
    bool   bias, both, separate;
    tfn_arch arch;
    int    n, m, depth, layer;  /* N, M, this stack's depth, the layer from 1, or 0 */
    int    in, out;             /* of the matrix, or of the bias's matrix */
} inits_place;

/* "decoder.3.self.q.weight" */
static inits_place inits_parse(const tfn_model_desc *d, const tfn_param_info *p, int in)
{
    inits_place a;
    const char *s = p->name, *end = strrchr(s, '.');
    memset(&a, 0, sizeof a);
    a.arch = d->arch;
    a.both = d->arch == TFN_ARCH_ENCODER_DECODER;
    a.separate = d->separate_source;
    a.n = d->layers;
    a.m = a.both ? d->decoder_layers : d->layers;
    a.bias = !strcmp(end, ".bias");
    a.in = a.bias ? in : p->rows;
    a.out = p->cols;
    if (!strncmp(s, "encoder.", 8)) a.stack = 'e', s += 8;
    else if (!strncmp(s, "decoder.", 8)) a.stack = 'd', s += 8;
    a.depth = a.stack == 'd' ? a.m : a.n;
    if (*s >= '0' && *s <= '9') {
        a.layer = atoi(s) + 1;
        s = strchr(s, '.') + 1;
    }
    if (!strncmp(s, "self.", 5)) a.sub = 's', s += 5;
    else if (!strncmp(s, "cross.", 6)) a.sub = 'c', s += 6;
    else if (!strncmp(s, "ffn.", 4)) a.sub = 'f', s += 4;
    else if (!strncmp(s, "before.", 7)) a.sub = 'f', s += 7;
    snprintf(a.part, sizeof a.part, "%.*s", (int)(end - s), s);
    return a;
}

static bool inits_in(const char *part, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(part, *list)) return true;
    return false;
}

/* -- the rules, from variants.md ------------------------------------------------------------- */

typedef enum inits_kind { INITS_ZERO, INITS_NORMAL, INITS_UNIFORM, INITS_TRUNCATED,
                          INITS_ORTHOGONAL, INITS_MIRRORED } inits_kind;
/* size: a deviation; for UNIFORM and MIRRORED the limit; for TRUNCATED that of the full normal */
typedef struct inits_draw { inits_kind kind; double size; } inits_draw;

static inits_draw inits_of(inits_kind kind, double size)
{
    inits_draw d = { kind, size };
    return size > 0 ? d : (d.kind = INITS_ZERO, d);
}

/* The factor of a gain for V, O, W_1, W_2: DeepNorm, T-Fixup, Sub-LN. */
static double inits_branch_gain(const char *init, const inits_place *a)
{
    const double n = a->n, m = a->m, l = a->depth;
    const bool encoder = a->both && a->stack == 'e', decoder = a->both && a->stack == 'd';
    if (!strncmp(init, "deepnorm", 8)) {
        const double middle = pow(pow(n, 4) * m, -1.0 / 16);
        if (encoder) return middle * (strcmp(init, "deepnorm") ? 1.15 : 0.87);
        return decoder ? pow(12*m, -0.25) : pow(8*l, -0.25);
    }
    if (!strncmp(init, "t-fixup", 7))
        return a->stack == 'e' ? 0.67 * pow(n, -0.25) : pow(9*m, -0.25);
    if (!strcmp(init, "sub-ln")) {
        if (a->sub == 'c') return 1;
        if (encoder) return sqrt(log(3*m) * log(2*n) / 3);
        return decoder ? sqrt(log(3*m)) : sqrt(log(2*l));
    }
    return 1;
}

static double inits_gain(const char *init, const inits_place *a)
{
    static const char *const fused[] = { "fused", "fairseq", "b2t", "looklinear", NULL };
    const double b = a->both ? 2*a->n + 3*a->m : 2*a->depth, root = sqrt(0.5);
    const char c = a->part[0];
    const bool qk = c == 'q' || c == 'k', qkv = qk || c == 'v';
    const bool last = c == 'o' || !strcmp(a->part, "w2");
    double g = qk ? 1 : inits_branch_gain(init, a);
    if (qkv && inits_in(init, fused)) g *= root;
    if (!strcmp(init, "b2t")) g *= pow(a->depth, -0.5);
    if (!strcmp(init, "t-fixup-code") && qk) g *= root;
    if (!strcmp(init, "gpt2") && last) g *= 1 / sqrt(2*a->depth);
    if (!strncmp(init, "fixup", 5)) {       /* the code: 12 branches for cross-attention (V09) */
        const double branches = a->sub == 'c' && strcmp(init, "fixup") ? 12 : b;
        g *= last ? 0 : qkv ? pow(branches, -1.0 / 6) * root : pow(b, -0.5);
    }
    if (!strcmp(init, "ds-init")) g *= pow(a->layer, -0.5);
    if (!strcmp(init, "ds-init-code")) {  /* self-attention's q, k, v are one d x 3d matrix (V14) */
        g *= pow(a->layer, -0.25);
        if (qkv && a->sub == 's') g *= root;
    }
    if (!strcmp(init, "post-ln-init")) g /= a->depth - a->layer + 1;
    return g;
}

/* A matrix with gain g. */
static inits_draw inits_matrix(const char *init, const inits_place *a, double g)
{
    static const char *const normal[] = { "xavier", "deepnorm", "small", "sub-ln", "zero-gamma",
                                          "post-ln-init", NULL };
    const double sum = a->in + a->out, in = a->in;
    const bool ffn = a->part[0] == 'w';
    if (!strcmp(init, "small") && !ffn) return inits_of(INITS_NORMAL, g * sqrt(2.0 / (5*INITS_C)));
    if (inits_in(init, normal)) return inits_of(INITS_NORMAL, g * sqrt(2 / sum));
    if (!strcmp(init, "gpt2")) return inits_of(INITS_NORMAL, 0.02 * g);
    if (!strcmp(init, "truncated")) return inits_of(INITS_TRUNCATED, 0.02);
    if (!strcmp(init, "he")) return inits_of(INITS_NORMAL, sqrt(2 / in));
    if (!strcmp(init, "ngpt")) return inits_of(INITS_NORMAL, 1 / sqrt(in));
    if (!strcmp(init, "orthogonal") || !strcmp(init, "lsuv")) return inits_of(INITS_ORTHOGONAL, 1);
    if (!strcmp(init, "framework") || !strcmp(init, "deepnorm-torchscale")
        || (ffn && (!strcmp(init, "fairseq") || !strcmp(init, "b2t"))))
        return inits_of(INITS_UNIFORM, g / sqrt(in));
    if (!strcmp(init, "looklinear") && ffn) return inits_of(INITS_MIRRORED, sqrt(6 / sum));
    return inits_of(INITS_UNIFORM, g * sqrt(6 / sum));
}

/* Biases: only in the frameworks' default, and only if a rule has them. */
static inits_draw inits_bias(const char *init, const inits_place *a)
{
    const bool qkv = strchr("qkv", a->part[0]) != NULL, ffn = a->part[0] == 'w';
    const double size = 1 / sqrt(a->in);
    if (!strcmp(init, "framework")) return inits_of(INITS_UNIFORM, size);
    if (!strcmp(init, "deepnorm-torchscale"))
        return inits_of(INITS_UNIFORM, size * inits_gain(init, a));
    if (!strcmp(init, "fairseq") || !strcmp(init, "b2t"))
        return inits_of(INITS_UNIFORM, qkv || ffn ? size : 0);
    return inits_of(INITS_UNIFORM, !strcmp(init, "t-fixup-code") && qkv ? size : 0);
}

/* Embeddings, positions, segments: N(0, 1/C). */
static inits_draw inits_table(const char *init, const inits_place *a)
{
    const bool decoder = a->arch == TFN_ARCH_DECODER || (a->separate && !a->stack);
    double size = 1 / sqrt(INITS_C);
    if (!strcmp(init, "gpt2")) return inits_of(INITS_NORMAL, 0.02);
    if (!strcmp(init, "truncated")) return inits_of(INITS_TRUNCATED, 0.02);
    if (!strncmp(init, "t-fixup", 7) && !strcmp(a->part, "embedding"))
        size *= pow(9 * (decoder ? a->m : a->n), -0.25);
    return inits_of(INITS_NORMAL, size);
}

/* The untied output matrix: N(0, 1/C) if the code is fairseq's or torchscale's (2.6), 0 in Fixup
 * (V09); in others like a matrix without a gain. */
static inits_draw inits_output(const char *init, const inits_place *a)
{
    static const char *const tables[] = { "fused", "fairseq", "b2t", "t-fixup", "t-fixup-code",
                                          "looklinear", "deepnorm-torchscale", "small", NULL };
    if (!strncmp(init, "fixup", 5)) return inits_of(INITS_ZERO, 0);
    if (inits_in(init, tables)) return inits_of(INITS_NORMAL, 1 / sqrt(INITS_C));
    return inits_matrix(init, a, 1);
}

/* -- samples --------------------------------------------------------------------------------- */

enum { INITS_CLASSES = 12 };
static const char *const inits_classes[] = { "q", "k", "v", "o", "w1", "w2", "w3", "embedding",
                                             "position", "segment", "output", NULL };
/* Sums of draws relative to their size, by class, stack and bias or not; over all depths. */
typedef struct inits_pool { double n, sum[5]; double most; inits_kind kind; } inits_pool;
static inits_pool inits_pools[INITS_CLASSES][3][2];

static void inits_count(inits_pool *p, const float *x, int n, inits_draw d)
{
    p->kind = d.kind == INITS_MIRRORED ? INITS_UNIFORM : d.kind;
    for (int i = 0; i < n; i++) {
        const double z = (double)x[i] / d.size;
        double power = z;
        for (int k = 1; k < 5; k++, power *= z) p->sum[k] += power;
        p->most = fmax(p->most, fabs(z));
    }
    p->n += n;
}

/* Checks mean, variance, fourth moment and extremes of n draws within five deviations. Returns
 * NULL, or the name of the wrong one. */
static const char *inits_fault(const inits_pool *p, double *value)
{
    /* E z^2, E z^4; the variances of z^2 and z^4 */
    static const double moments[][4] = { { 0, 0, 0, 0 }, { 1, 3, 2, 96 },
                                         { 1.0 / 3, 1.0 / 5, 4.0 / 45, 16.0 / 225 },
                                         { 0.77374, 1.4162, 0.818, 4.5 } };
    const double *m = moments[p->kind], n = p->n;
    *value = p->sum[1] / n;
    if (!(fabs(*value) <= 5 * sqrt(m[0] / n))) return "mean";
    *value = p->sum[2] / n / m[0];
    if (!(fabs(*value - 1) <= 5 * sqrt(m[2] / n) / m[0])) return "relative variance";
    *value = p->sum[4] / n / m[1];
    if (n > 1000 && !(fabs(*value - 1) <= 6 * sqrt(m[3] / n) / m[1])) return "fourth moment";
    *value = p->most;
    if (p->kind == INITS_UNIFORM && (p->most > 1.000001 || p->most < 1 - 16 / n)) return "extreme";
    if (p->kind == INITS_TRUNCATED && (p->most > 2.000001 || (n > 1000 && p->most < 1.9)))
        return "extreme";
    return p->kind == INITS_NORMAL && n > 10000 && (p->most < 3.2 || p->most > 6.5) ? "extreme"
                                                                                    : NULL;
}
static void inits_judge(const inits_pool *p, const char *init, const char *what)
{
    double value;
    const char *fault = inits_fault(p, &value);
    if (fault) FAIL("%s, %s: the %s is %g of %g draws", init, what, fault, value, p->n);
}

/* The judge itself must see sizes off by 2 % in many draws or by a quarter in few, and another
 * distribution. */
TEST(inits_controls)
{
    static float x[60000];
    static const struct { inits_kind kind; double size; int n; bool good; } tries[] = {
        { INITS_NORMAL, 0.25, 60000, true }, { INITS_NORMAL, 0.255, 60000, false },
        { INITS_NORMAL, 0.245, 60000, false }, { INITS_NORMAL, 0.25, 256, true },
        { INITS_NORMAL, 0.35, 256, false }, { INITS_NORMAL, 0.18, 256, false },
        { INITS_UNIFORM, 0.25, 60000, true }, { INITS_UNIFORM, 0.255, 60000, false },
        { INITS_UNIFORM, 0.2499, 60000, false }, { INITS_UNIFORM, 0.3, 256, false },
        { INITS_TRUNCATED, 0.25, 60000, false }
    };
    for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
        const inits_draw d = { tries[t].kind, tries[t].size };
        inits_pool p;
        double value;
        for (int i = 0; i < tries[t].n; i++) {
            x[i] = tfn_random_normal(tfn_key_make(1), (uint64_t)i) / 4;
            if (d.kind == INITS_UNIFORM)
                x[i] = (2 * tfn_random_uniform(tfn_key_make(2), (uint64_t)i) - 1) / 4;
        }
        memset(&p, 0, sizeof p);
        inits_count(&p, x, tries[t].n, d);
        if ((inits_fault(&p, &value) == NULL) != tries[t].good) FAIL("try %d", (int)t);
    }
}

/* True if the rows, or the columns if they are fewer, are orthogonal with length `size`. */
static bool inits_orthogonal(const tfn_param_info *p, double size)
{
    const int few = p->rows < p->cols ? p->rows : p->cols, many = p->rows + p->cols - few;
    const int next = p->rows < p->cols ? p->cols : 1, step = p->rows < p->cols ? 1 : p->cols;
    for (int i = 0; i < few; i++)
        for (int j = 0; j <= i; j++) {
            double dot = 0;
            for (int k = 0; k < many; k++)
                dot += (double)p->data[i*next + k*step] * (double)p->data[j*next + k*step];
            if (!(fabs(dot - (i == j ? size*size : 0)) < 1e-5)) return false;
        }
    return true;
}

/* True if the second half is minus the first, along the hidden units; an odd last one is 0. */
static bool inits_mirrored(const tfn_param_info *p, bool down)
{
    const int n = down ? p->rows : p->cols, half = n / 2;
    for (int i = 0; i < p->rows * p->cols; i++) {
        const int at = down ? i / p->cols : i % p->cols;
        const int back = half * (down ? p->cols : 1);
        const float x = p->data[i], wanted = at < half ? x : at < 2*half ? -p->data[i - back] : 0;
        if (x < wanted || x > wanted) return false;
    }
    return true;
}

static void inits_check_draw(const char *init, const tfn_param_info *p, const inits_place *a,
                             inits_draw d)
{
    inits_pool one;
    int n = p->rows * p->cols, k = 0;
    memset(&one, 0, sizeof one);
    if (d.kind == INITS_ZERO) {
        for (int i = 0; i < n; i++)
            if (p->data[i] < 0 || p->data[i] > 0) {
                FAIL("%s, %s: %g, not 0", init, p->name, (double)p->data[i]);
                return;
            }
        return;
    }
    if (d.kind == INITS_ORTHOGONAL) {
        if (!inits_orthogonal(p, d.size)) FAIL("%s, %s: not orthogonal", init, p->name);
        return;
    }
    while (k < INITS_CLASSES - 1 && inits_classes[k] && strcmp(inits_classes[k], a->part)) k++;
    if (d.kind == INITS_MIRRORED) {
        const bool down = !strcmp(a->part, "w2");
        if (!inits_mirrored(p, down)) FAIL("%s, %s: not mirrored", init, p->name);
        if (down) n = p->rows / 2 * p->cols;            /* only the first half */
        else for (int r = 1; r < p->rows; r++) inits_count(&one, p->data + r*p->cols, p->cols/2, d);
        if (!down) n = p->cols / 2;
    }
    inits_count(&one, p->data, n, d);
    inits_judge(&one, init, p->name);
    {
        inits_pool *pool = &inits_pools[k][a->stack == 'e' ? 1 : a->stack == 'd' ? 2 : 0][a->bias];
        pool->kind = one.kind;
        pool->n += one.n;
        pool->most = fmax(pool->most, one.most);
        for (int i = 0; i < 5; i++) pool->sum[i] += one.sum[i];
    }
}

/* -- every rule, stack and depth ------------------------------------------------------------- */

static void inits_check_model(const tfn_model_desc *d)
{
    static const char *const tables[] = { "embedding", "position", "segment", NULL };
    static const char *const matrices[] = { "q", "k", "v", "o", "w1", "w2", "w3", NULL };
    tfn_param_info p;
    tfn_model m;
    int in = 0;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) {
        FAIL("%s: no model", d->init);
        return;
    }
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        inits_place a = inits_parse(&m.desc, &p, in);
        in = p.rows;                                    /* a bias follows its matrix */
        if (inits_in(a.part, matrices)) {
            inits_draw draw = a.bias ? inits_bias(d->init, &a)
                                    : inits_matrix(d->init, &a, inits_gain(d->init, &a));
            if (!strcmp(a.part, "w3") && draw.kind == INITS_MIRRORED) continue;
            inits_check_draw(d->init, &p, &a, draw);
        } else if (inits_in(a.part, tables)) {
            inits_check_draw(d->init, &p, &a, inits_table(d->init, &a));
        } else if (!strcmp(a.part, "output")) {
            inits_check_draw(d->init, &p, &a, inits_output(d->init, &a));
        }
    }
    tfn_model_free(&m);
}

static tfn_model_desc inits_desc(tfn_arch arch, int n, int m)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = arch;
    d.vocab = INITS_V;
    d.context = INITS_T;
    d.width = INITS_C;
    d.heads = INITS_HEADS;
    d.ffn = 40;
    d.layers = n;
    d.decoder_layers = arch == TFN_ARCH_ENCODER_DECODER ? m : 0;
    d.untied = true;
    d.recipe = "post";
    d.threads = 1;
    d.inference = true;
    return d;
}

/* Shapes on which every rule is checked: a decoder, an encoder and pairs. Single stacks have
 * `layers`, pairs as many as `both` says. */
static const struct { int layers, both[2], ffn; bool separate; tfn_activation_kind activation; }
inits_shapes[] = {
    {  2, {  2,  3 }, 40, false, TFN_ACTIVATION_RELU },
    {  6, {  6,  6 }, 41, false, TFN_ACTIVATION_SWIGLU },
    { 18, { 18,  7 }, 40, false, TFN_ACTIVATION_RELU },
    { 60, { 60, 12 }, 40, false, TFN_ACTIVATION_SWIGLU },
    {  1, {  2,  3 }, 41, true,  TFN_ACTIVATION_RELU },
    {  4, {  6,  6 }, 40, true,  TFN_ACTIVATION_SWIGLU },
    {  7, { 18,  7 }, 41, true,  TFN_ACTIVATION_RELU },
    { 10, { 60, 12 }, 40, true,  TFN_ACTIVATION_RELU }
};
enum { INITS_SHAPES = sizeof inits_shapes / sizeof *inits_shapes };

static void inits_check_shape(const tfn_init_rule *rule, int i, tfn_arch arch)
{
    tfn_model_desc d = inits_desc(arch, inits_shapes[i].both[0], inits_shapes[i].both[1]);
    CASE("%s, shape %d, arch %d", rule->name, i, (int)arch);
    if (arch != TFN_ARCH_ENCODER_DECODER) d.layers = inits_shapes[i].layers;
    else d.separate_source = inits_shapes[i].separate;
    if (arch == TFN_ARCH_ENCODER) d.segments = 3;
    d.init = rule->name;
    d.seed = (uint64_t)(3*i + (int)arch);
    d.activation = inits_shapes[i].activation;
    d.ffn = inits_shapes[i].ffn;
    inits_check_model(&d);
}

TEST(inits_rules)
{
    static const char *const stacks[] = { "", "encoder", "decoder" };
    const tfn_init_rule *rule;
    for (int r = 0; (rule = tfn_init_at(r)) != NULL; r++) {
        memset(inits_pools, 0, sizeof inits_pools);
        for (int i = 0; i < INITS_SHAPES; i++)
            for (int arch = 0; arch < 3; arch++) inits_check_shape(rule, i, (tfn_arch)arch);
        CASE("%s", rule->name);
        for (int k = 0; k < INITS_CLASSES; k++)
            for (int s = 0; s < 6; s++) {
                const inits_pool *p = &inits_pools[k][s / 2][s % 2];
                char what[80];
                snprintf(what, sizeof what, "all %s %s%s", stacks[s / 2], inits_classes[k]
                         ? inits_classes[k] : "others", s % 2 ? " biases" : "");
                if (p->n > 0) inits_judge(p, rule->name, what);
            }
    }
}

/* No two tensors have the same numbers, nor two seeds; the same seed gives the same. */
TEST(inits_streams)
{
    tfn_model_desc d = inits_desc(TFN_ARCH_ENCODER_DECODER, 6, 6);
    tfn_model one, two;
    uint64_t hash;
    CHECK(tfn_model_new(&one, &d, NULL) == TFN_OK);
    for (int32_t i = 0; i < one.weight_count; i++)
        for (int32_t j = 0; j < i; j++) {
            tfn_param_info p, q;
            tfn_model_param(&one, i, &p);
            tfn_model_param(&one, j, &q);
            if (p.rows == 1 || q.rows == 1) continue;
            if (p.data[0] / q.data[0] * q.data[1] < p.data[1] * 1.0001f
                && p.data[0] / q.data[0] * q.data[1] > p.data[1] * 0.9999f)
                FAIL("%s is a multiple of %s", p.name, q.name);
        }
    hash = tfn_model_hash(&one);
    tfn_model_free(&one);
    CHECK(tfn_model_new(&two, &d, NULL) == TFN_OK);
    CHECK(tfn_model_hash(&two) == hash);
    tfn_model_free(&two);
    d.seed = 1;
    CHECK(tfn_model_new(&two, &d, NULL) == TFN_OK);
    CHECK(tfn_model_hash(&two) != hash);
    tfn_model_free(&two);
}

/* -- start values of learned parameters ------------------------------------------------------ */

/* The value at which all numbers of a one-row parameter start; NaN: unknown. */
static double inits_scale(const char *topology, const tfn_model_desc *d, const inits_place *a)
{
    static const char *const zeros[] = { "gate", "memory_mix", "shift_in", "shift_1", "shift_2",
                                         "final_shift", NULL };
    static const char *const ones[] = { "skip", "extra", "head_scale", "scale_1", "scale_3",
                                        "final_scale", NULL };
    const int depth = a->depth;
    if (inits_in(a->part, zeros)) return 0;
    if (inits_in(a->part, ones)) return 1;
    if (!strcmp(a->part, "mix")) {
        const int outputs = a->layer ? a->layer : depth + 1;
        if (!strcmp(topology, "dlcl-one")) return 1;
        return 1.0 / (!strcmp(topology, "dlcl-window") && outputs > 3 ? 3 : outputs);
    }
    if (!strcmp(a->part, "embedding_scale")) return sqrt(INITS_C);
    if (!strcmp(a->part, "logit_scale")) return 1 / sqrt(INITS_C);
    if (!strcmp(a->part, "qk_scale"))
        return !strcmp(topology, "ngpt") ? 1 / sqrt(INITS_C)
             : !strcmp(topology, "swin-v2") ? log(10)
             : log2((double)d->context * d->context - d->context);
    if (strcmp(a->part, "out")) return NAN;
    if (!strcmp(topology, "fixup")) return 1;
    if (!strcmp(topology, "layerscale")) return depth <= 18 ? 0.1 : depth <= 24 ? 1e-5 : 1e-6;
    if (!strcmp(topology, "ngpt")) return 1 / sqrt(INITS_C);        /* times 0.05 sqrt(C): 0.05 */
    return 0;                                                       /* ReZero, SkipInit */
}

/* The same for a norm's parameter. */
static double inits_norm(const tfn_norm_rule *norm, const char *part, const char *end)
{
    const bool dyt = norm->kind == TFN_NORM_POINT;
    if (!strcmp(end, ".alpha")) return dyt ? 0.5 : 1;
    if (!strcmp(end, ".running_var") || !strcmp(end, ".running_square")) return 1;
    if (strcmp(end, ".weight")) return 0;
    if (!strcmp(norm->name, "scalenorm")) return sqrt(strcmp(part, "norm_2") ? INITS_C : 40);
    return !strcmp(norm->name, "rmsnorm-offset") ? 0 : 1;
}

static int inits_check_scales(const tfn_topology *t, const tfn_norm_rule *norm, tfn_arch arch,
                              int n, int m)
{
    tfn_model_desc d = inits_desc(arch, n, m);
    tfn_param_info p;
    tfn_model model;
    int in = 0, found = 0;
    d.topology = t;
    d.norm = norm->name;
    d.init = "xavier";
    d.activation = TFN_ACTIVATION_SWIGLU;
    if (tfn_model_new(&model, &d, NULL) != TFN_OK) {
        FAIL("%s: no model", t->name);
        return 0;
    }
    for (int32_t i = 0; tfn_model_param(&model, i, &p); i++) {
        inits_place a = inits_parse(&d, &p, in);
        const char *end = strrchr(p.name, '.');
        double wanted;
        in = p.rows;
        if (p.rows > 1 || !strcmp(a.part, "embedding") || !strcmp(a.part, "schedule")) continue;
        if (strstr(end, ".sigma_") || !strcmp(end, ".gamma")) continue;         /* test_sigma.c */
        wanted = strstr(a.part, "norm") ? inits_norm(norm, a.part, end)
               : a.bias ? 0 : inits_scale(t->name, &d, &a);
        found += !a.bias && !strstr(a.part, "norm");
        for (int32_t j = 0; j < p.cols; j++)
            if (!(fabs((double)p.data[j] - wanted) <= 1e-6 * fabs(wanted))) {
                FAIL("%s, %s: %s starts at %g, not %g", t->name, norm->name, p.name,
                     (double)p.data[j], wanted);
                break;
            }
    }
    tfn_model_free(&model);
    return found;
}

/* DLCL's weights, with groups, and with windows, which without softmax only shape the start. */
TEST(inits_mix)
{
    static const tfn_mix_rule rules[] = {
        { 0, true, false, false, 0 }, { 3, false, false, false, 2 }, { 0, false, false, true, 2 },
        { 0, false, true, false, 2 }, { 0, true, true, true, 2 }, { 0, false, false, false, 1 }
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const tfn_mix_rule *rule = &rules[i];
        const int groups = rule->channels ? INITS_C : rule->groups ? rule->groups : 1;
        tfn_topology row = *tfn_topology_find("dlcl-post");
        tfn_model_desc d = inits_desc(TFN_ARCH_DECODER, 5, 5);
        tfn_param_info p;
        tfn_model m;
        int found = 0;
        row.mix = *rule;
        d.topology = &row;
        if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
            FAIL("rule %d: no model", (int)i);
            continue;
        }
        for (int32_t k = 0; tfn_model_param(&m, k, &p); k++) {
            const int layer = strchr(p.name, '.')[1] - '0';         /* or "mix" of the stack */
            const int outputs = layer < 10 ? layer + 1 : 6;
            const int inside = rule->window && rule->window < outputs ? rule->window : outputs;
            if (!strstr(p.name, "mix.weight")) continue;
            found++;
            CHECK_INT(p.rows, groups);
            CHECK_INT(p.cols, rule->softmax ? inside : outputs);
            for (int j = 0; j < p.rows * p.cols; j++) {
                const bool outside = !rule->softmax && !rule->ones && j % p.cols < p.cols - inside;
                CHECK_CLOSE((double)p.data[j], outside ? 0 : rule->ones ? 1 : 1.0 / inside, 1e-6);
            }
        }
        CHECK_INT(found, 6);
        tfn_model_free(&m);
    }
}

/* Every row, at depths around all limits of LayerScale; every norm in Pre- and Post-LN. */
TEST(inits_scales)
{
    static const int depths[][2] = { { 18, 19 }, { 24, 25 }, { 3, 2 } };
    static const char *const learned[] = {
        "admin", "admin-direct", "dlcl", "dlcl-post", "dlcl-softmax", "dlcl-one", "dlcl-window",
        "fixup", "gpas", "gpas-post", "layerscale",
        "linear-aggregation", "ngpt", "normformer", "normformer-res", "pre-embed-scale", "qknorm",
        "rezero", "rezero-post", "skipinit", "swin-v2", NULL
    };
    const tfn_topology *t;
    const tfn_norm_rule *norm;
    for (int i = 0; (t = tfn_topology_at(i)) != NULL; i++)
        for (int k = 0; k < 3; k++)
            for (int arch = 0; arch < 3; arch++) {
                bool some = inits_in(t->name, learned);
                int found;
                CASE("%s, arch %d, depth %d", t->name, arch, depths[k][0]);
                if (!strcmp(t->name, "transparent")) some = arch == TFN_ARCH_ENCODER_DECODER;
                if (!strcmp(t->name, "normformer-code")) some = arch != TFN_ARCH_ENCODER;
                found = inits_check_scales(t, tfn_norm_find("layernorm"), (tfn_arch)arch,
                                           depths[k][0], depths[k][1]);
                if ((found > 0) != some) FAIL("%d learned scales", found);
            }
    for (int i = 0; (norm = tfn_norm_at(i)) != NULL; i++)
        for (int k = 0; k < 3; k++)
            for (int arch = 0; arch < 3; arch++) {
                static const char *const hosts[] = { "pre", "post", "sub-ln" };
                CASE("%s in %s, arch %d", norm->name, hosts[k], arch);
                inits_check_scales(tfn_topology_find(hosts[k]), norm, (tfn_arch)arch, 2, 3);
            }
}

/* Zero-gamma: the gains after branches, and only those; also with Gemma's offset. */
TEST(inits_zero_gamma)
{
    static const char *const norms[] = { "layernorm", "rmsnorm", "rmsnorm-offset" };
    for (int i = 0; i < 9; i++) {       /* norms x architectures */
        const char *const name = norms[i / 3];
        const bool offset = !strcmp(name, "rmsnorm-offset");
        tfn_model_desc d = inits_desc((tfn_arch)(i % 3), 2, 3);
        tfn_param_info p;
        tfn_model m;
        d.recipe = "zero-gamma";
        d.norm = name;
        CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
        for (int32_t j = 0; tfn_model_param(&m, j, &p); j++) {
            const bool branch = strstr(p.name, "norm_branch.weight") != NULL;
            const double gain = (double)p.data[0] + offset;
            if (!strstr(p.name, "norm") || !strstr(p.name, ".weight")) continue;
            if (fabs(gain - !branch) > 0) FAIL("%s, %s starts at %g", d.norm, p.name, gain);
        }
        tfn_model_free(&m);
    }
}

/* nGPT's effective values: 0.05 of the way; factor 1 for queries, keys and logits. */
TEST(inits_ngpt)
{
    tfn_place place = { TFN_SUBLAYER_FFN, true, true, 1, 2, 2, 2, INITS_C };
    tfn_join j = tfn_topology_join(tfn_topology_find("ngpt"), &place);
    CHECK_CLOSE((double)j.out.value, 0.05, 1e-6);
    CHECK_CLOSE((double)j.out.unit, 0.05 * sqrt(INITS_C), 1e-6);
    CHECK(j.out.kind == TFN_SCALE_VECTOR && j.skip.kind == TFN_SCALE_LERP);
    CHECK(j.qk == TFN_QK_NORM_UNIT && j.scales && j.norm_branch && j.norm_sum && !j.norm_in);
}

/* -- constants ------------------------------------------------------------------------------- */

static tfn_join inits_join(const char *topology, char stack, int n, int m, tfn_sublayer kind,
                           int layer, int width)
{
    tfn_place p = { kind, stack == 'd', !(n && m), layer, 0, n ? n : m, m ? m : n, width };
    p.depth = stack == 'd' ? p.decoder_depth : p.encoder_depth;
    return tfn_topology_join(tfn_topology_find(topology), &p);
}
static double inits_constant(const tfn_scale_rule *s)
{
    CHECK(s->kind == TFN_SCALE_CONSTANT && s->n == 0 && s->m == 0 && s->layer == 0);
    return (double)s->value;
}

/* N or M 0: a single stack. V13: DeepNorm; V04: admin-torch, with 2 or 3 sub-layers a layer. */
TEST(inits_skip_constants)
{
    static const struct { const char *topology; char stack; int n, m; double value; } values[] = {
        { "deepnorm", 'e', 6, 6, 1.418 },   { "deepnorm", 'd', 6, 6, 2.060 },
        { "deepnorm", 'e', 18, 18, 1.999 }, { "deepnorm", 'd', 18, 18, 2.711 },
        { "deepnorm", 'e', 60, 12, 2.633 }, { "deepnorm", 'd', 60, 12, 2.449 },
        { "deepnorm", 'e', 12, 0, 2.213 },  { "deepnorm", 'd', 0, 12, 2.213 },
        { "deepnorm", 'd', 0, 32, 2.828 },
        { "admin-constant", 'e', 6, 6, 2.017 },   { "admin-constant", 'd', 6, 6, 2.335 },
        { "admin-constant", 'e', 12, 12, 2.601 }, { "admin-constant", 'd', 12, 12, 3.041 },
        { "admin-constant", 'e', 18, 18, 3.041 }, { "admin-constant", 'd', 18, 18, 3.567 },
        { "admin-constant", 'd', 0, 6, 2.017 },   { "admin-constant", 'e', 12, 0, 2.601 },
        { "admin-sqrt", 'e', 6, 6, 3.464 },       { "admin-sqrt", 'd', 6, 6, 4.243 },
        { "admin-sqrt", 'd', 0, 8, 4 }
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int kind = 0; kind < 3; kind++) {
            tfn_join j = inits_join(values[i].topology, values[i].stack, values[i].n, values[i].m,
                                    (tfn_sublayer)kind, 1 + kind, 64);
            if (!(fabs(inits_constant(&j.skip) - values[i].value) <= 0.0006))
                FAIL("%s %c, %d and %d: %g, not %g", values[i].topology, values[i].stack,
                     values[i].n, values[i].m, (double)j.skip.value, values[i].value);
            CHECK(j.out.kind == TFN_SCALE_NONE && j.norm_sum && !j.norm_in);
        }
}

/* DeepNorm's gains as its table prints them, and the deviations of W_2. */
TEST(inits_deepnorm_gains)
{
    static const struct { char stack; int n, m; double gain; } values[] = {
        { 'e', 6, 6, 0.497 }, { 'd', 6, 6, 0.343 }, { 'e', 18, 18, 0.353 }, { 'd', 18, 18, 0.261 },
        { 'e', 60, 12, 0.268 }, { 'd', 60, 12, 0.289 }, { 'e', 12, 0, 0.319 }
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const bool both = values[i].m > 0;
        const bool decoder = values[i].stack == 'd';
        const tfn_place place = { TFN_SUBLAYER_FFN, decoder, !both, 1,
                                  decoder ? values[i].m : values[i].n, values[i].n,
                                  both ? values[i].m : values[i].n, INITS_C };
        tfn_gains gains = { 1, 1, 1, 1, 1, 1, 1 };
        tfn_model_desc d = inits_desc(both ? TFN_ARCH_ENCODER_DECODER : TFN_ARCH_ENCODER,
                                      values[i].n,
                                      values[i].m);
        double sum = 0, n = 0;
        tfn_param_info p;
        tfn_model m;
        d.recipe = "deepnorm";
        tfn_init_find("deepnorm")->rule(&place, &gains);
        CHECK(fabs((double)gains.w2 - values[i].gain) <= 0.0006);
        CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
        for (int32_t k = 0; tfn_model_param(&m, k, &p); k++) {
            const size_t length = strlen(p.name);
            if (p.name[0] != values[i].stack || length < 9
                || strcmp(p.name + length - 9, "w2.weight")) continue;
            for (int32_t j = 0; j < p.rows * p.cols; j++) sum += pow((double)p.data[j], 2);
            n += p.rows * p.cols;
        }
        CHECK(fabs(sqrt(sum / n * (INITS_C + 40) / 2) / values[i].gain - 1) < 5 / sqrt(2 * n)
                                                                            + 0.002);
        tfn_model_free(&m);
    }
}

/* V06: a = min(L/12, L^-0.15), b = C^-0.2, only at the feed-forward. V05: 1. */
TEST(inits_b2t)
{
    static const struct { int depth; double a; } values[] = {
        { 6, 0.500 }, { 8, 0.667 }, { 9, 0.719 }, { 12, 0.689 }, { 18, 0.648 }, { 60, 0.541 }
    };
    static const char *const rows[] = { "b2t", "b2t-pre", "b2t-skip-last" };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int wide = 0; wide < 2; wide++) {
            const double b = wide ? 0.250 : 0.287;
            tfn_join j = inits_join("b2t-no-norm", wide ? 'd' : 'e', wide ? 3 : values[i].depth,
                                    wide ? values[i].depth : 5, TFN_SUBLAYER_FFN, 2,
                                        wide ? 1024 : 512);
            CHECK(fabs(inits_constant(&j.extra) - values[i].a) <= 0.0006);
            CHECK(fabs(inits_constant(&j.skip) - b) <= 0.0006);
            CHECK(fabs(inits_constant(&j.out) - b) <= 0.0006);
            CHECK(!j.norm_in && !j.norm_sum && !j.norm_branch);
            j = inits_join("b2t-no-norm", 'd', 3, values[i].depth, TFN_SUBLAYER_CROSS_ATTENTION, 2,
                           512);
            CHECK(j.extra.kind == TFN_SCALE_NONE && j.skip.kind == TFN_SCALE_NONE);
            CHECK(j.out.kind == TFN_SCALE_NONE);
        }
    for (int i = 0; i < 3; i++) {
        tfn_join j = inits_join(rows[i], 'd', 6, 6, TFN_SUBLAYER_FFN, 2, 64);
        CHECK(inits_constant(&j.extra) == 1 && j.extra_last == (i == 2));
        CHECK(j.norm_in == (i == 1) && j.norm_sum == (i != 1));
        j = inits_join(rows[i], 'd', 6, 6, TFN_SUBLAYER_SELF_ATTENTION, 2, 64);
        CHECK(j.extra.kind == TFN_SCALE_NONE);
    }
}

/* LNS, Hanin & Rolnick, Macaron, BranchNorm; Mix-LN's and HybridNorm's layers. */
TEST(inits_by_layer)
{
    for (int l = 1; l <= 60; l++) {
        tfn_join j = inits_join("lns", 'd', 0, 60, TFN_SUBLAYER_SELF_ATTENTION, l, 64);
        CHECK(fabs(inits_constant(&j.in) - 1 / sqrt(l)) < 1e-6);
        j = inits_join("lns", 'd', 0, 60, TFN_SUBLAYER_FFN, l, 64);
        CHECK(fabs(inits_constant(&j.in) - 1 / sqrt(l)) < 1e-6);
        j = inits_join("hanin-rolnick", 'e', 60, 0, TFN_SUBLAYER_FFN, l, 64);
        CHECK(fabs(inits_constant(&j.out) - pow(0.9, l)) < 1e-6);
        j = inits_join("mix-ln", 'd', 0, 59, TFN_SUBLAYER_FFN, l, 64);       /* floor(59/4) = 14 */
        CHECK(j.norm_sum == (l <= 14) && j.norm_in == (l > 14));
        j = inits_join("macaron", 'd', 6, 60, l % 2 ? TFN_SUBLAYER_FFN : TFN_SUBLAYER_FFN_BEFORE, l,
                       64);
        CHECK(inits_constant(&j.out) == 0.5);
        j = inits_join("macaron", 'd', 6, 60, TFN_SUBLAYER_CROSS_ATTENTION, l, 64);
        CHECK(j.out.kind == TFN_SCALE_NONE);
        j = inits_join("branchnorm", 'd', 6, 60, TFN_SUBLAYER_FFN, l, 64);
        CHECK(j.out.kind == TFN_SCALE_SCHEDULED && j.out.value == 4000);
        j = inits_join("hybridnorm-first", 'd', 0, 60, TFN_SUBLAYER_FFN, l, 64);
        CHECK(j.norm_in && j.skip_from == (l == 1 ? TFN_SOURCE_STREAM : TFN_SOURCE_NORMED));
        j = inits_join("hybridnorm-first", 'd', 0, 60, TFN_SUBLAYER_SELF_ATTENTION, l, 64);
        CHECK(j.norm_in == (l == 1) && j.qk == TFN_QK_NORM_QKV_HEAD);
    }
}

int main(void)
{
    RUN(inits_controls);
    RUN(inits_rules);
    RUN(inits_streams);
    RUN(inits_scales);
    RUN(inits_mix);
    RUN(inits_zero_gamma);
    RUN(inits_ngpt);
    RUN(inits_skip_constants);
    RUN(inits_deepnorm_gains);
    RUN(inits_b2t);
    RUN(inits_by_layer);
    return DONE();
}
