/* Identities between rows (variants.md, section 15): two models with the same parameters by name
 * compute the same function, and a control with a small change does not. With an identity as the
 * output matrix, logits are the output of a stack. Also the results of the profiles of Admin and
 * LSUV. test_identities_double.c compiles this file in double, where "the same" is 1e-10. */
#include "../lib.h"
#include "../check.h"

enum { IDENTITIES_B = 2, IDENTITIES_T = 7, IDENTITIES_TS = 6, IDENTITIES_V = 29, IDENTITIES_C = 24,
       IDENTITIES_ROWS = IDENTITIES_B * IDENTITIES_T };

#ifdef TFN__DOUBLE
static const double identities_equal = 1e-10;
#else
static const double identities_equal = 3e-4;
#endif
static const double identities_apart = 1e-3;      /* least difference of a control */

static const char *const identities_arches[] = { "decoder", "encoder", "encoder-decoder" };

/* -- models ---------------------------------------------------------------------------------- */

static const int32_t identities_lengths[] = { 7, 5 }, identities_source_lengths[] = { 4, 6 };
static int32_t identities_tokens[IDENTITIES_ROWS], identities_targets[IDENTITIES_ROWS];
static int32_t identities_source[IDENTITIES_B * IDENTITIES_TS];

static tfn_batch identities_batch(tfn_arch arch)
{
    tfn_batch b;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < IDENTITIES_ROWS; i++) {
        identities_tokens[i] = (5*i + 3) % IDENTITIES_V;
        identities_targets[i] = (7*i + 1) % IDENTITIES_V;
    }
    for (int i = 0; i < IDENTITIES_B * IDENTITIES_TS; i++)
        identities_source[i] = (11*i + 2) % IDENTITIES_V;
    b.tokens = identities_tokens;
    b.targets = identities_targets;
    b.lengths = identities_lengths;
    b.batch = IDENTITIES_B;
    b.time = IDENTITIES_T;
    if (arch != TFN_ARCH_ENCODER_DECODER) return b;
    b.source = identities_source;
    b.source_lengths = identities_source_lengths;
    b.source_time = IDENTITIES_TS;
    return b;
}

/* 3 layers, N = 3 and M = 2; updates have no effect. */
static tfn_model_desc identities_desc(tfn_arch arch, const char *topology)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = arch;
    d.vocab = IDENTITIES_V;
    d.context = IDENTITIES_T;
    d.source_context = arch == TFN_ARCH_ENCODER_DECODER ? IDENTITIES_TS : 0;
    d.width = IDENTITIES_C;
    d.heads = 3;
    d.ffn = 32;
    d.layers = 3;
    d.decoder_layers = arch == TFN_ARCH_ENCODER_DECODER ? 2 : 0;
    d.untied = true;
    d.separate_source = arch == TFN_ARCH_ENCODER_DECODER;
    d.topology = tfn_topology_find(topology);
    d.batch = IDENTITIES_B;
    d.threads = 1;
    d.optimizer = TFN_OPTIMIZER_SGD;
    d.schedule.lr = (float)1e-30;
    if (!d.topology) FAIL("no topology is called %s", topology);
    return d;
}

static bool identities_find(const tfn_model *m, const char *name, tfn_param_info *p)
{
    for (int32_t i = 0; tfn_model_param(m, i, p); i++)
        if (!strcmp(p->name, name)) return true;
    return false;
}

/* True if name is PREFIX..., or ends with it after a dot: "out.weight" is not "norm_out.weight" */
static bool identities_ends(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && !strcmp(name + n - k, end) && (n == k || name[n - k - 1] == '.');
}

static void identities_eye(tfn_model *m)
{
    tfn_param_info p;
    if (!identities_find(m, "output.weight", &p)) return;
    for (int32_t i = 0; i < p.rows * p.cols; i++) p.data[i] = i % p.cols == i / p.cols ? 1 : 0;
}

/* Numbers that depend only on the name: gains and scales near 1, biases near 0. */
static void identities_fill(tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        tfn_key key = tfn_key_make(3);
        bool zero = identities_ends(p.name, "bias") || strstr(p.name, "shift")
                 || strstr(p.name, "gate");
        float size;
        for (const char *c = p.name; *c; c++) key = tfn_key_fold(key, (uint64_t)*c);
        if (strstr(p.name, ".running_") || strstr(p.name, ".updates")) continue;
        size = (float)(1.5 / sqrt(p.rows));
        for (int32_t j = 0; j < p.rows * p.cols; j++) {
            float u = 2 * tfn_random_uniform(key, (uint64_t)j) - 1;
            p.data[j] = p.rows > 1 ? u * size : (zero ? 0 : 1) + u / 4;
        }
    }
    identities_eye(m);
}

/* Makes a model that is not profiled, as if it had made steps. */
static bool identities_start(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) {
        identities_eye(m);
        return true;
    }
    FAIL("%s: %s", d->topology->name, tfn_error_text(&m->error, text, sizeof text));
    return false;
}
static bool identities_open(tfn_model *m, const tfn_model_desc *d)
{
    if (!identities_start(m, d)) return false;
    identities_fill(m);
    m->step = 1;
    return true;
}

/* x = factor*x + offset for all parameters with this start and end ("": all). */
static int identities_all(tfn_model *m, const char *start, const char *end, double factor,
                          double offset)
{
    tfn_param_info p;
    int found = 0;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (strncmp(p.name, start, strlen(start)) || !identities_ends(p.name, end)) continue;
        found++;
        for (int32_t j = 0; j < p.rows * p.cols; j++)
            p.data[j] = (float)(factor * (double)p.data[j] + offset);
    }
    return found;
}
static void identities_set(tfn_model *m, const char *end, double value)
{
    if (!identities_all(m, "", end, 0, value)) FAIL("no parameter is called %s", end);
}
static void identities_scale(tfn_model *m, const char *end, double factor)
{
    if (!identities_all(m, "", end, factor, 0)) FAIL("no parameter is called %s", end);
}

/* Copies to parameters of `to` with the part `there` in their names those with `here` instead. */
static void identities_rename(tfn_model *to, const char *there, const tfn_model *from,
                              const char *here)
{
    tfn_param_info p, q;
    int found = 0;
    for (int32_t i = 0; tfn_model_param(to, i, &p); i++) {
        const char *at = strstr(p.name, there);
        char name[100];
        if (!at || (at > p.name && at[-1] != '.')) continue;
        snprintf(name, sizeof name, "%.*s%s%s", (int)(at - p.name), p.name, here,
                 at + strlen(there));
        if (!identities_find(from, name, &q) || q.rows * q.cols != p.rows * p.cols)
            FAIL("there is no %s", name);
        else memcpy(p.data, q.data, (size_t)(p.rows * p.cols) * sizeof *p.data);
        found++;
    }
    if (!found) FAIL("no parameter is called %s", there);
}
static void identities_share(tfn_model *to, const tfn_model *from)
{
    identities_rename(to, "", from, "");
}

/* -- comparisons ----------------------------------------------------------------------------- */

typedef struct identities_out {
    double y[IDENTITIES_ROWS][IDENTITIES_V], slope[IDENTITIES_V][IDENTITIES_C];
} identities_out;

static void identities_logits(tfn_model *m, identities_out *o)
{
    tfn_batch batch = identities_batch(m->desc.arch);
    const float *y = tfn_model_logits(m, &batch);
    if (!y) FAIL("%s: no logits", m->desc.topology->name);
    for (int i = 0; i < IDENTITIES_ROWS * IDENTITIES_V; i++)
        o->y[i / IDENTITIES_V][i % IDENTITIES_V] = y ? (double)y[i] : NAN;
}

/* Computes logits and the gradient of the embedding: equal functions have equal ones. */
static void identities_run(tfn_model *m, identities_out *o)
{
    tfn_batch batch = identities_batch(m->desc.arch);
    int64_t step = m->step;
    tfn_report report;
    tfn_param_info p;
    identities_logits(m, o);
    CHECK(tfn_model_step(m, &batch, &report) == TFN_OK && report.updated);
    m->step = step;
    if (!identities_find(m, "embedding.weight", &p)) FAIL("no embedding");
    else for (int i = 0; i < p.rows * p.cols; i++)
        o->slope[i / p.cols][i % p.cols] = (double)p.grad[i];
}

static double identities_gap(const double *a, const double *b, int n)
{
    double gap = 0, most = 1e-300;
    for (int i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) < 1e30)) return 1e30;
        gap = fmax(gap, fabs(a[i] - b[i]));
        most = fmax(most, fabs(b[i]));
    }
    return gap / most;
}

/* The largest difference relative to the largest value: of the logits, and of the gradient. */
static double identities_distance(tfn_model *a, tfn_model *b, bool slopes)
{
    static identities_out one, two;
    double y, slope = 0;
    if (slopes) identities_run(a, &one), identities_run(b, &two);
    else identities_logits(a, &one), identities_logits(b, &two);
    y = identities_gap(one.y[0], two.y[0], IDENTITIES_ROWS * IDENTITIES_V);
    if (slopes) slope = identities_gap(one.slope[0], two.slope[0], IDENTITIES_V * IDENTITIES_C);
    return fmax(y, slope);
}
static void identities_text(const char *what, const tfn_model *a, const tfn_model *b, double gap)
{
    FAIL("%s and %s, %s%s: they differ by %.2g", a->desc.topology->name, b->desc.topology->name,
         identities_arches[a->desc.arch], what, gap);
}
static void identities_same(tfn_model *a, tfn_model *b)
{
    double gap = identities_distance(a, b, true);
    if (!(gap <= identities_equal)) identities_text("", a, b, gap);
}
static void identities_same_logits(tfn_model *a, tfn_model *b)
{
    double gap = identities_distance(a, b, false);
    if (!(gap <= identities_equal)) identities_text(", logits", a, b, gap);
}
static void identities_other(tfn_model *a, tfn_model *b)
{
    double gap = identities_distance(a, b, false);
    if (!(gap >= identities_apart && gap < 1e30)) identities_text(", control", a, b, gap);
}

/* -- user's rows ----------------------------------------------------------------------------- */

static tfn_scale_rule identities_constant(double value)
{
    tfn_scale_rule s;
    memset(&s, 0, sizeof s);
    s.kind = TFN_SCALE_CONSTANT;
    s.value = (float)value;
    return s;
}
static tfn_topology identities_row(bool in, bool branch, bool sum, uint32_t flags)
{
    tfn_topology t;
    memset(&t, 0, sizeof t);
    t.name = "own";
    t.formula = t.paper = "none";
    t.flags = flags;
    t.attention.norm_in = in;
    t.attention.norm_branch = branch;
    t.attention.norm_sum = sum;
    t.ffn = t.attention;
    return t;
}
static void identities_skip(tfn_topology *t, double a)
{
    t->attention.skip = t->ffn.skip = identities_constant(a);
}
static void identities_branch(tfn_topology *t, double a)
{
    t->attention.out = t->ffn.out = identities_constant(a);
}

/* A host that ends after a sub-layer: later ones pass the stream on. BRANCH: the stream there
 * becomes the sub-layer's output, without the skip and the norm of the sum. One at a time. */
static struct { const tfn_topology *host; int32_t layer; int kind; bool branch; } identities_end;

static void identities_cut_rule(const tfn_place *place, tfn_join *join)
{
    const int at = 3*place->layer + (int)place->kind;
    const int end = 3*identities_end.layer + identities_end.kind;
    if (identities_end.host->rule) identities_end.host->rule(place, join);
    if (at > end) {
        memset(join, 0, sizeof *join);
        join->out = identities_constant(0);
    } else if (at == end && identities_end.branch) {
        join->norm_sum = join->gate = false;
        join->skip = identities_constant(0);
        memset(&join->extra, 0, sizeof join->extra);
    }
}
static tfn_topology identities_cut(const tfn_topology *host, int32_t layer, int kind, bool branch)
{
    tfn_topology t = *host;
    identities_end.host = host;
    identities_end.layer = layer;
    identities_end.kind = kind;
    identities_end.branch = branch;
    t.name = "cut";
    t.flags &= ~(uint32_t)(TFN_TOPOLOGY_FINAL_NORM | TFN_TOPOLOGY_SIDE_STREAM);
    t.rule = identities_cut_rule;
    return t;
}

/* The stream of `m` (of its decoder, if it has two) after a sub-layer, or that branch. */
static void identities_inside(const tfn_model *m, int32_t layer, int kind, bool branch,
                              identities_out *o)
{
    tfn_model_desc d = m->desc;
    tfn_topology cut = identities_cut(m->desc.decoder_topology, layer, kind, branch);
    tfn_model c;
    d.decoder_topology = &cut;
    if (d.arch != TFN_ARCH_ENCODER_DECODER) d.topology = &cut;
    if (!identities_start(&c, &d)) return;
    identities_share(&c, m);
    identities_eye(&c);
    identities_logits(&c, o);
    tfn_model_free(&c);
}

/* x_0 = E[token] + P[position] */
static void identities_first(const tfn_model *m, identities_out *o)
{
    tfn_param_info e, p;
    bool encoder = m->desc.arch == TFN_ARCH_ENCODER;
    if (!identities_find(m, "embedding.weight", &e)
        || !identities_find(m, encoder ? "encoder.position.weight" : "decoder.position.weight", &p))
        FAIL("no tables");
    else for (int r = 0; r < IDENTITIES_ROWS; r++)
        for (int c = 0; c < IDENTITIES_V; c++)
            o->y[r][c] = c >= e.cols ? 0
                       : (double)e.data[identities_tokens[r] * e.cols + c]
                       + (double)p.data[r % IDENTITIES_T * e.cols + c];
}
/* LayerNorm of rows with gain 1 and bias 0. */
static void identities_norm(identities_out *o, double eps)
{
    for (int r = 0; r < IDENTITIES_ROWS; r++) {
        double mean = 0, var = 0;
        for (int c = 0; c < IDENTITIES_C; c++) mean += o->y[r][c] / IDENTITIES_C;
        for (int c = 0; c < IDENTITIES_C; c++)
            var += (o->y[r][c] - mean) * (o->y[r][c] - mean) / IDENTITIES_C;
        for (int c = 0; c < IDENTITIES_C; c++)
            o->y[r][c] = (o->y[r][c] - mean) / sqrt(var + eps);
    }
}
static void identities_add(identities_out *y, const identities_out *x, double a)
{
    for (int r = 0; r < IDENTITIES_ROWS; r++)
        for (int c = 0; c < IDENTITIES_V; c++) y->y[r][c] += a * x->y[r][c];
}
/* The variance over the rows that are not padding. */
static double identities_variance(const identities_out *o)
{
    double sum = 0, squares = 0, n = 0;
    for (int r = 0; r < IDENTITIES_ROWS; r++) {
        if (r % IDENTITIES_T >= identities_lengths[r / IDENTITIES_T]) continue;
        for (int c = 0; c < IDENTITIES_C; c++) sum += o->y[r][c];
        n += IDENTITIES_C;
    }
    for (int r = 0; r < IDENTITIES_ROWS; r++)
        for (int c = 0; c < IDENTITIES_C; c++)
            if (r % IDENTITIES_T < identities_lengths[r / IDENTITIES_T])
                squares += pow(o->y[r][c] - sum / n, 2);
    return squares / n;
}

/* -- T2, T3: scales of the skip -------------------------------------------------------------- */

/* DeepNorm is Post-LN with branches over a, and eps over a^2; Admin with all w = a. */
TEST(identities_deepnorm)
{
    for (int arch = 0; arch < 3; arch++) {
        const bool both = arch == TFN_ARCH_ENCODER_DECODER;
        const double a = both ? 0.81 * pow(81 * 2, 1.0 / 16) : pow(6, 0.25);
        const double b = both ? pow(6, 0.25) : a, eps = both ? 1e-12 : 0.02;
        for (int control = 0; control < 3; control++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "deepnorm");
            tfn_topology row = identities_row(false, false, true, 0), decoder = row;
            tfn_model deep, post, admin;
            d.norm_eps = (float)eps;
            if (!identities_open(&deep, &d)) return;
            identities_branch(&row, (control == 1 ? 1.01 : 1) / a);
            identities_branch(&decoder, (control == 1 ? 1.01 : 1) / b);
            d.topology = &row;
            d.decoder_topology = &decoder;
            if (control != 2) d.norm_eps = (float)(eps / (a * a));
            if (!identities_open(&post, &d)) return;
            d = identities_desc((tfn_arch)arch, "admin");
            d.norm_eps = (float)eps;
            if (!identities_open(&admin, &d)) return;
            identities_set(&admin, "skip.weight", control == 1 ? 1.01 * b : b);
            if (both) identities_all(&admin, "encoder.", "skip.weight", a / b, 0);
            if (!control) identities_same(&post, &deep);
            else if (control == 1 || !both) identities_other(&post, &deep);
            if (control == 1) identities_other(&admin, &deep);
            else identities_same(&admin, &deep);
            tfn_model_free(&deep);
            tfn_model_free(&post);
            tfn_model_free(&admin);
        }
    }
}

/* A schedule of 0 updates is over from the start: Post-LN. One of 4 is not. */
TEST(identities_schedule_over)
{
    for (int steps = 0; steps <= 4; steps += 4) {
        tfn_model_desc d = identities_desc(TFN_ARCH_DECODER, "post");
        tfn_topology row = *tfn_topology_find("post");
        tfn_model plain, scheduled;
        CASE("%d updates", steps);
        row.attention.out.kind = row.ffn.out.kind = TFN_SCALE_SCHEDULED;
        row.attention.out.value = row.ffn.out.value = (float)steps;
        if (!identities_open(&plain, &d)) return;
        d.topology = &row;
        if (!identities_open(&scheduled, &d)) return;
        if (steps) identities_other(&plain, &scheduled);
        else identities_same(&plain, &scheduled);
        tfn_model_free(&plain);
        tfn_model_free(&scheduled);
    }
}

/* factor[c] times column c, or row c */
static void identities_times(const tfn_model *m, const char *start, const char *end,
                             const float *factor, bool rows, bool over)
{
    tfn_param_info p;
    char name[100];
    snprintf(name, sizeof name, "%s%s", start, end);
    if (!identities_find(m, name, &p)) {
        FAIL("there is no %s", name);
        return;
    }
    for (int32_t i = 0; i < p.rows * p.cols; i++) {
        float f = factor[rows ? i / p.cols : i % p.cols];
        p.data[i] *= over ? 1 / f : f;
    }
}

/* variants.md, F3: multiplies the norm before a sub-layer, or the tables, by w; divides readers by
 * w. */
static void identities_fold_skip(tfn_model *post, const char *stack, int layer, const char *sub,
                                 const float *w, bool memory)
{
    const bool both = post->desc.arch == TFN_ARCH_ENCODER_DECODER;
    const char *before = !strcmp(sub, "ffn") ? both && *stack == 'd' ? "cross" : "self"
                       : !strcmp(sub, "cross") ? "self" : "ffn";
    char at[100], norm[100];
    snprintf(at, sizeof at, "%s.%d.%s.", stack, layer, sub);
    snprintf(norm, sizeof norm, "%s.%d.%s.norm.", stack,
             !strcmp(sub, "self") ? layer - 1 : layer, before);
    if (layer == 0 && !strcmp(sub, "self")) {
        identities_times(post, both && *stack == 'e' ? "encoder." : "", "embedding.weight", w,
                         false, false);
        identities_times(post, stack, ".position.weight", w, false, false);
    } else {
        identities_times(post, norm, "weight", w, false, false);
        identities_times(post, norm, "bias", w, false, false);
    }
    if (!strcmp(sub, "ffn")) {
        identities_times(post, at, "w1.weight", w, true, true);
        return;
    }
    identities_times(post, at, "q.weight", w, true, true);
    if (!strcmp(sub, "cross") && !memory) return;
    identities_times(post, at, "v.weight", w, true, true);
    if (strcmp(sub, "cross")) identities_times(post, at, "k.weight", w, true, true);
}

/* Admin is Post-LN with its vectors folded; but not if the memory's readers are divided, too. */
TEST(identities_admin_fold)
{
    for (int arch = 0; arch < 3; arch++)
        for (int control = 0; control < 2; control++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "admin");
            tfn_model admin, post;
            tfn_param_info p;
            if (!identities_open(&admin, &d)) return;
            d.topology = tfn_topology_find("post");
            if (!identities_open(&post, &d)) return;
            for (int32_t i = 0; tfn_model_param(&admin, i, &p); i++) {
                char stack[20], sub[20];
                int layer;
                if (!identities_ends(p.name, "skip.weight")) continue;
                if (sscanf(p.name, "%19[a-z].%d.%19[a-z].", stack, &layer, sub) != 3)
                    FAIL("%s", p.name);
                if (control && arch != TFN_ARCH_ENCODER_DECODER && layer == 1) continue;
                identities_fold_skip(&post, stack, layer, sub, p.data, control);
            }
            if (control) identities_other(&post, &admin);
            else identities_same_logits(&post, &admin);
            tfn_model_free(&admin);
            tfn_model_free(&post);
        }
}

/* -- T4: sums of layers ---------------------------------------------------------------------- */

/* Gives weight only to the last layer. */
static void identities_mix_last(tfn_model *m, double value, int from_end)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (identities_ends(p.name, "mix.weight"))
            for (int32_t j = 0; j < p.cols; j++)
                p.data[j] = j == (p.cols > from_end ? p.cols - 1 - from_end : 0) ? (float)value : 0;
}

TEST(identities_linear_aggregation)
{
    for (int arch = 0; arch < 3; arch++)
        for (int pre = 0; pre < 2; pre++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, pre ? "pre" : "post");
            tfn_topology row = *d.topology;
            tfn_model host, mixed;
            if (!identities_open(&host, &d)) return;
            row.aggregate = TFN_AGGREGATE_LINEAR;
            d.topology = pre ? &row : tfn_topology_find("linear-aggregation");
            if (!identities_open(&mixed, &d)) return;
            identities_mix_last(&mixed, 1, 0);
            identities_same(&mixed, &host);
            identities_mix_last(&mixed, pre ? 1 : 1.01, pre);
            identities_other(&mixed, &host);
            tfn_model_free(&host);
            tfn_model_free(&mixed);
        }
}

/* DLCL's own norms after the layers become norms of the last sum. */
TEST(identities_dlcl)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_desc((tfn_arch)arch, "dlcl");
        tfn_topology row = identities_row(true, false, false, TFN_TOPOLOGY_FINAL_NORM);
        tfn_model host, mixed;
        if (!identities_open(&mixed, &d)) return;
        row.ffn.norm_sum = true;
        d.topology = &row;
        if (!identities_open(&host, &d)) return;
        identities_rename(&host, "ffn.norm.", &mixed, "norm_out.");
        identities_mix_last(&mixed, 1, 0);
        identities_same(&mixed, &host);
        identities_mix_last(&mixed, 1, 1);
        identities_other(&mixed, &host);
        tfn_model_free(&host);
        tfn_model_free(&mixed);
    }
}

/* Post-LN with gains of 1: a norm of what is normed changes nothing. Dense: all weights are 1. */
/* Options of DLCL's weights: if those of a group or of all channels are equal, they act as one;
 * softmax of equal logits is the mean, where the other weights start. */
TEST(identities_dlcl_options)
{
    static const char *const rows[] = { "dlcl-vector", "dlcl-groups", "dlcl-softmax" };
    for (int arch = 0; arch < 3; arch++)
        for (int i = 0; i < 3; i++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, rows[i]);
            tfn_model mixed, plain;
            tfn_param_info p, q;
            if (!identities_open(&mixed, &d)) return;
            d.topology = tfn_topology_find("dlcl");
            if (!identities_open(&plain, &d)) return;
            for (int32_t k = 0; tfn_model_param(&mixed, k, &p); k++) {
                if (!identities_ends(p.name, "mix.weight")) continue;
                if (!identities_find(&plain, p.name, &q)) FAIL("there is no %s", p.name);
                for (int32_t j = 0; j < q.cols; j++)
                    q.data[j] = i == 2 ? 1 / (float)q.cols : (float)(0.5 + 0.25*j);
                for (int32_t j = 0; j < p.rows * p.cols; j++)
                    p.data[j] = i == 2 ? (float)0.3 : q.data[j % p.cols];
            }
            identities_same(&mixed, &plain);
            if (!identities_find(&mixed, "mix.weight", &p))
                identities_find(&mixed, arch == 1 ? "encoder.mix.weight" : "decoder.mix.weight",
                                &p);
            p.data[p.cols - 1] += (float)0.5;
            identities_other(&mixed, &plain);
            tfn_model_free(&mixed);
            tfn_model_free(&plain);
        }
}

TEST(identities_dlcl_post)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_desc((tfn_arch)arch, "dlcl-post");
        tfn_model host, mixed, dense;
        d.norm_eps = (float)1e-13;
        if (!identities_open(&mixed, &d)) return;
        d.topology = tfn_topology_find("post");
        if (!identities_open(&host, &d)) return;
        d.topology = tfn_topology_find("dense");
        if (!identities_open(&dense, &d)) return;
        identities_set(&mixed, "mix.weight", 1);
        identities_same(&mixed, &dense);
        identities_mix_last(&mixed, 1, 0);
        identities_other(&mixed, &dense);
        identities_set(&mixed, "norm.weight", 1);
        identities_set(&host, "norm.weight", 1);
        identities_set(&mixed, "norm_out.weight", 1);
        identities_set(&mixed, "norm.bias", 0);
        identities_set(&host, "norm.bias", 0);
        identities_set(&mixed, "norm_out.bias", 0);
        identities_same(&mixed, &host);
        identities_set(&mixed, "norm_out.weight", 1.01);
        identities_other(&mixed, &host);
        tfn_model_free(&host);
        tfn_model_free(&mixed);
        tfn_model_free(&dense);
    }
}

/* Transparent attention to only the last layer is Pre-LN. */
TEST(identities_transparent)
{
    tfn_model_desc d = identities_desc(TFN_ARCH_ENCODER_DECODER, "transparent");
    tfn_model host, mixed;
    tfn_param_info p;
    if (!identities_open(&mixed, &d)) return;
    d.topology = tfn_topology_find("pre");
    if (!identities_open(&host, &d)) return;
    for (int control = 0; control < 2; control++) {
        for (int32_t i = 0; tfn_model_param(&mixed, i, &p); i++)
            if (identities_ends(p.name, "memory_mix.weight"))
                for (int32_t j = 0; j < p.cols; j++)
                    p.data[j] = j == p.cols - 1 - control ? 100 : 0;
        if (control) identities_other(&mixed, &host);
        else identities_same(&mixed, &host);
    }
    tfn_model_free(&host);
    tfn_model_free(&mixed);
}

/* -- T5: a row whose scales are 1 is its host ------------------------------------------------ */

static void identities_check_host(const tfn_topology *row, const char *host, const char *part,
                                  double value, double other)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_desc((tfn_arch)arch, host);
        tfn_model one, two;
        if (!identities_open(&one, &d)) return;
        d.topology = row;
        if (!identities_open(&two, &d)) return;
        identities_set(&two, part, value);
        identities_same(&two, &one);
        identities_set(&two, part, other);
        identities_other(&two, &one);
        tfn_model_free(&one);
        tfn_model_free(&two);
    }
}

TEST(identities_hosts)
{
    static const struct { const char *row, *host, *part; double value, other; } rows[] = {
        { "gpas", "pre", "gate.weight", 0, 0.1 },
        { "gpas-post", "post", "gate.weight", 0, 0.1 },
        { "layerscale", "pre", "out.weight", 1, 1.01 },
        { "rezero", "no-norm", "out.weight", 1, 1.01 },
        { "skipinit", "no-norm", "out.weight", 1, 1.01 },
        { "rezero-post", "post", "out.weight", 1, 1.01 },
        { "admin", "post", "skip.weight", 1, 1.01 },
        { "normformer-res", "normformer", "skip.weight", 1, 1.01 },
        { "pre-embed-scale", "pre", "embedding_scale.weight", 1, 1.01 }
    };
    tfn_topology own = *tfn_topology_find("pre");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        identities_check_host(tfn_topology_find(rows[i].row), rows[i].host, rows[i].part,
                              rows[i].value, rows[i].other);
    own.attention.head_scale = TFN_HEAD_SCALE_BEFORE;          /* NormFormer without its norms */
    identities_check_host(&own, "pre", "head_scale.weight", 1, 1.01);
    own.attention.head_scale = TFN_HEAD_SCALE_AFTER;
    identities_check_host(&own, "pre", "head_scale.weight", 1, 1.01);
}

/* BranchNorm: x = N(x + min(1, t/4000) F(x)) */
TEST(identities_branchnorm)
{
    static const struct { int64_t step; double factor; } at[] = {
        { 4000, 1 }, { 9000, 1 }, { 1000, 0.25 }, { 0, 0 }
    };
    for (int arch = 0; arch < 3; arch++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "branchnorm");
            tfn_topology row = identities_row(false, false, true, 0);
            tfn_model one, two;
            if (!identities_open(&one, &d)) return;
            identities_branch(&row, at[i].factor);
            d.topology = &row;
            if (!identities_open(&two, &d)) return;
            identities_set(&one, "schedule.updates", (double)at[i].step);
            identities_same(&one, &two);
            identities_set(&one, "schedule.updates", 2000);
            identities_other(&one, &two);
            tfn_model_free(&one);
            tfn_model_free(&two);
        }
}

/* Norms of queries and keys that are switched off. */
TEST(identities_without_qk_norm)
{
    static const char *const rows[][2] = {
        { "olmo2", "output-norm" }, { "swin-v2", "output-norm" }, { "qknorm", "pre" },
        { "qk-head", "pre" }, { "qkv-head", "pre" }
    };
    for (int arch = 0; arch < 3; arch++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int off = 0; off < 2; off++) {
                tfn_model_desc d = identities_desc((tfn_arch)arch, rows[i][0]);
                tfn_model one, two;
                d.qk_norm = off ? TFN_QK_NORM_NONE : TFN_QK_NORM_DEFAULT;
                if (!identities_open(&one, &d)) return;
                d = identities_desc((tfn_arch)arch, rows[i][1]);
                if (!identities_open(&two, &d)) return;
                if (off) identities_same(&one, &two);
                else identities_other(&one, &two);
                tfn_model_free(&one);
                tfn_model_free(&two);
            }
}

/* Constants by layer, folded by hand: LNS into the norms, Hanin & Rolnick into the last matrices.
 * Macaron is Pre-LN if its first half gives 0 and its second twice as much. */
TEST(identities_constants)
{
    static const char *const rows[][2] = {
        { "lns", "pre" }, { "hanin-rolnick", "no-norm" }, { "macaron-pre", "pre" }
    };
    for (int arch = 0; arch < 3; arch++)
        for (int row = 0; row < 3; row++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, rows[row][0]);
            tfn_model one, two;
            if (!identities_open(&one, &d)) return;
            d.topology = tfn_topology_find(rows[row][1]);
            if (!identities_open(&two, &d)) return;
            for (int stack = 0; stack < 2; stack++)
                for (int l = 1; l <= 3; l++) {
                    char at[20];
                    snprintf(at, sizeof at, "%s.%d.", identities_arches[stack], l - 1);
                    for (int i = 0; i < 2; i++) {
                        static const char *const norm[] = { "norm_in.weight", "norm_in.bias" };
                        static const char *const o[] = { "o.weight", "o.bias" };
                        static const char *const w[] = { "w2.weight", "w2.bias" };
                        if (row == 0) identities_all(&two, at, norm[i], 1 / sqrt(l), 0);
                        if (row == 1) identities_all(&two, at, o[i], pow(0.9, l), 0);
                        if (row == 1) identities_all(&two, at, w[i], pow(0.9, l), 0);
                    }
                }
            if (row == 2) {
                identities_set(&one, "before.w2.weight", 0);
                identities_set(&one, "before.w2.bias", 0);
                identities_scale(&one, "ffn.w2.weight", 2);
                identities_scale(&one, "ffn.w2.bias", 2);
            }
            identities_same(&one, &two);
            identities_scale(&two, "w2.weight", 1.01);
            identities_other(&one, &two);
            tfn_model_free(&one);
            tfn_model_free(&two);
        }
}

/* Fixup with multipliers of 1 and shifts of 0 has no effect. */
TEST(identities_fixup)
{
    static const char *const shifts[] = { "shift_in.weight", "shift_1.weight", "shift_2.weight",
                                          "final_shift.weight", "out.weight" };
    for (int arch = 0; arch < 3; arch++)
        for (int control = -1; control < 5; control++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "fixup");
            tfn_model one, two;
            d.activation = TFN_ACTIVATION_RELU;
            if (!identities_open(&one, &d)) return;
            d.topology = tfn_topology_find("no-norm");
            d.no_bias = true;
            if (!identities_open(&two, &d)) return;
            for (int i = 0; i < 5; i++)
                identities_set(&one, shifts[i], (i == 4) + (control == i ? 0.5 : 0));
            if (arch != TFN_ARCH_DECODER) identities_set(&one, "final_scale.weight", 1);
            if (control < 0) identities_same(&one, &two);
            else identities_other(&one, &two);
            tfn_model_free(&one);
            tfn_model_free(&two);
        }
}

/* One norm for the whole layer, or two that are equal. */
TEST(identities_parallel)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_desc((tfn_arch)arch, "parallel");
        tfn_model one, two;
        if (!identities_open(&one, &d)) return;
        d.topology = tfn_topology_find("parallel-shared");
        if (!identities_open(&two, &d)) return;
        identities_other(&one, &two);
        identities_rename(&one, "ffn.norm_in", &two, "self.norm_in");
        if (arch == TFN_ARCH_ENCODER_DECODER)
            identities_rename(&one, "cross.norm_in", &two, "self.norm_in");
        identities_same(&one, &two);
        tfn_model_free(&one);
        tfn_model_free(&two);
    }
}

/* Post-LN in the first quarter of the layers; in HybridNorm* the first layer is Pre-LN. */
static void identities_mixed_rule(const tfn_place *place, tfn_join *join)
{
    join->norm_sum = place->layer <= 2;
    join->norm_in = place->layer > 2;
}
static void identities_first_rule(const tfn_place *place, tfn_join *join)
{
    const bool ffn = place->kind == TFN_SUBLAYER_FFN;
    if (!ffn) join->qk = TFN_QK_NORM_QKV_HEAD;
    join->norm_in = ffn || place->layer == 1;
    if (ffn && place->layer > 1) join->skip_from = TFN_SOURCE_NORMED;
}
TEST(identities_by_layer)
{
    for (int arch = 0; arch < 3; arch++)
        for (int i = 0; i < 2; i++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, i ? "hybridnorm-first" : "mix-ln");
            tfn_topology row = identities_row(false, false, false, TFN_TOPOLOGY_FINAL_NORM);
            tfn_model one, two;
            d.layers = 8;
            d.decoder_layers = arch == TFN_ARCH_ENCODER_DECODER ? 11 : 0;
            if (!identities_open(&one, &d)) return;
            row.rule = i ? identities_first_rule : identities_mixed_rule;
            d.topology = &row;
            if (!identities_open(&two, &d)) return;
            identities_same(&one, &two);
            d.topology = tfn_topology_find(i ? "hybridnorm" : "pre");
            tfn_model_free(&two);
            if (!identities_open(&two, &d)) return;
            identities_other(&one, &two);
            tfn_model_free(&one);
            tfn_model_free(&two);
        }
}

/* -- T6: stacks at the start ----------------------------------------------------------------- */

/* The stream is x_0 to the end (through LayerNorm) until a scale is not 0. */
static void identities_check_identity(const char *recipe, tfn_arch arch, int norm, const char *part)
{
    const tfn_recipe *r = tfn_recipe_find(recipe);
    tfn_model_desc d = identities_desc(arch, r->topology);
    identities_out found, wanted;
    tfn_param_info p;
    tfn_model m;
    double gap;
    int changed = 0;
    d.recipe = recipe;
    d.norm_eps = (float)1e-13;
    if (!identities_start(&m, &d)) return;
    identities_logits(&m, &found);
    identities_first(&m, &wanted);
    if (norm) identities_norm(&wanted, 1e-13);
    gap = identities_gap(found.y[0], wanted.y[0], IDENTITIES_ROWS * IDENTITIES_V);
    if (!(gap < identities_equal))
        FAIL("%s, %s: not the identity by %.2g", recipe, identities_arches[arch], gap);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        for (int32_t j = 0; identities_ends(p.name, part) && j < p.rows * p.cols; j++, changed++)
            p.data[j] += (float)(0.1 * (1 + j % 3));
    identities_logits(&m, &found);
    gap = identities_gap(found.y[0], wanted.y[0], IDENTITIES_ROWS * IDENTITIES_V);
    if (!changed || !(gap > identities_apart))
        FAIL("%s, %s: the identity with other scales", recipe, identities_arches[arch]);
    tfn_model_free(&m);
}

TEST(identities_at_start)
{
    for (int arch = 0; arch < 3; arch++) {
        identities_check_identity("rezero", (tfn_arch)arch, 0, "out.weight");
        identities_check_identity("skipinit", (tfn_arch)arch, 0, "out.weight");
        identities_check_identity("rezero-post", (tfn_arch)arch, 1, "out.weight");
        identities_check_identity("swin-v2", (tfn_arch)arch, 1, "norm_branch.weight");
        identities_check_identity("zero-gamma", (tfn_arch)arch, 1, "norm_branch.weight");
        identities_check_identity("fixup", (tfn_arch)arch, 0, "w2.weight");
        identities_check_identity("fixup", (tfn_arch)arch, 0, "o.weight");
    }
}

/* The mean of equal layers is that layer: weights start at 1/(l+1). */
TEST(identities_mean_of_layers)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_topology row = identities_row(false, false, false, 0);
        tfn_model_desc d = identities_desc((tfn_arch)arch, "pre");
        identities_out found, wanted;
        tfn_model m;
        row.aggregate = TFN_AGGREGATE_LINEAR;
        identities_branch(&row, 0);
        d.topology = &row;
        if (!identities_start(&m, &d)) return;
        identities_logits(&m, &found);
        identities_first(&m, &wanted);
        CHECK(identities_gap(found.y[0], wanted.y[0], IDENTITIES_ROWS * IDENTITIES_V)
              < identities_equal);
        identities_scale(&m, "mix.weight", 1.01);
        identities_logits(&m, &found);
        CHECK(identities_gap(found.y[0], wanted.y[0], IDENTITIES_ROWS * IDENTITIES_V)
              > identities_apart);
        tfn_model_free(&m);
    }
}

/* -- T7: LookLinear -------------------------------------------------------------------------- */

/* Not fmax: two of them in one reduction crash gcc 12's vectorizer for AArch64. */
static double identities_larger(double a, double b) { return b > a ? b : a; }

/* The worst |F(a + b) - F(a) - F(b)| of tokens: E[2] = E[0] + E[1], E[3] = -2 E[0]. */
static double identities_curvature(tfn_model *m)
{
    static const int32_t tokens[IDENTITIES_T] = { 0, 1, 2, 3 };
    tfn_batch b = identities_batch(m->desc.arch);
    const float *y;
    double worst = 0, most = 0;
    tfn_param_info e;
    if (!identities_find(m, "embedding.weight", &e)) return NAN;
    for (int c = 0; c < e.cols; c++) {
        e.data[2*e.cols + c] = e.data[c] + e.data[e.cols + c];
        e.data[3*e.cols + c] = -2 * e.data[c];
    }
    b.tokens = tokens;
    b.lengths = NULL;
    b.batch = 1;
    y = tfn_model_logits(m, &b);
    for (int c = 0; y && c < IDENTITIES_C; c++) {
        double p = (double)y[c], q = (double)y[IDENTITIES_V + c];
        worst = identities_larger(worst, fabs((double)y[2*IDENTITIES_V + c] - p - q));
        worst = identities_larger(worst, fabs((double)y[3*IDENTITIES_V + c] + 2*p));
        most = identities_larger(most, fabs(p));
    }
    return y ? worst / most : NAN;
}

TEST(identities_looklinear)
{
    for (int ffn = 32; ffn < 34; ffn++) {
        tfn_topology row = identities_row(false, false, false, 0);
        tfn_model_desc d = identities_desc(TFN_ARCH_DECODER, "post");
        tfn_model m;
        row.attention.out = identities_constant(0);
        row.ffn.skip = identities_constant(0);          /* the stream is F's output */
        d.topology = &row;
        d.layers = 1;
        d.ffn = ffn;
        d.init = "looklinear";
        d.position = TFN_POSITION_NONE;
        for (int act = 0; act < 3; act++) {             /* those with f(x) - f(-x) = x; tanh */
            static const tfn_activation_kind acts[] = { TFN_ACTIVATION_RELU, TFN_ACTIVATION_GELU,
                TFN_ACTIVATION_TANH };
            d.activation = acts[act];
            if (!identities_start(&m, &d)) return;
            if (act < 2) CHECK(identities_curvature(&m) < identities_equal);
            else CHECK(identities_curvature(&m) > identities_apart);
            identities_scale(&m, "w1.weight", 1.25);    /* still mirrored */
            if (act < 2) CHECK(identities_curvature(&m) < identities_equal);
            identities_set(&m, "w1.bias", 0.01);
            if (act < 2) CHECK(identities_curvature(&m) > identities_apart);
            tfn_model_free(&m);
        }
    }
}

/* -- T8, T12: a stream of mean 0 ------------------------------------------------------------- */

/* Rows that write to the stream get mean 0, all except `spare`. */
static void identities_centre(tfn_model *m, const char *spare)
{
    static const char *const writers[] = {
        "embedding.weight", "position.weight", "o.weight", "o.bias", "w2.weight", "w2.bias"
    };
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int k = 0; k < 6; k++) {
            if (!identities_ends(p.name, writers[k]) || (spare && !strcmp(p.name, spare))) continue;
            for (int32_t r = 0; r < p.rows; r++) {
                double mean = 0;
                for (int32_t c = 0; c < p.cols; c++)
                    mean += (double)p.data[r * p.cols + c] / p.cols;
                for (int32_t c = 0; c < p.cols; c++) p.data[r * p.cols + c] -= (float)mean;
            }
        }
}

/* The norm whose output a matrix reads, or "". */
static void identities_norm_before(const char *matrix, tfn_arch arch, char *norm, size_t size)
{
    const char *dot = strrchr(matrix, '.');
    char part[20];
    int n;
    norm[0] = 0;
    if (!strcmp(matrix, "output.weight"))
        snprintf(norm, size, "%s.final_norm.weight",
                 arch == TFN_ARCH_ENCODER ? "encoder" : "decoder");
    if (!dot || strcmp(dot, ".weight")) return;
    while (dot > matrix && dot[-1] != '.') dot--;
    snprintf(part, sizeof part, "%s", dot);
    n = (int)(dot - matrix);
    if (strstr(matrix, "cross.") && (part[0] == 'k' || part[0] == 'v') && part[1] == '.')
        snprintf(norm, size, "encoder.final_norm.weight");
    else if ((strchr("qkv", part[0]) && part[1] == '.') || !strcmp(part, "w1.weight"))
        snprintf(norm, size, "%.*snorm_in.weight", n, matrix);
}

/* The last channel is minus the sum of the others: n_d W_d is added to all their rows. */
static void identities_reduce(tfn_model *to, const tfn_model *from)
{
    tfn_param_info p, q, g, h;
    char norm[100];
    for (int32_t i = 0; tfn_model_param(to, i, &p); i++) {
        if (!identities_find(from, p.name, &q)) FAIL("there is no %s", p.name);
        identities_norm_before(p.name, to->desc.arch, norm, sizeof norm);
        for (int32_t r = 0; r < p.rows; r++)
            for (int32_t c = 0; c < p.cols; c++) p.data[r*p.cols + c] = q.data[r*q.cols + c];
        if (!norm[0]) continue;
        if (!identities_find(from, norm, &g) || !identities_find(to, norm, &h)) {
            FAIL("there is no %s", norm);
            continue;
        }
        for (int32_t r = 0; r < p.rows; r++)
            for (int32_t c = 0; c < p.cols; c++)
                p.data[r*p.cols + c] = (g.data[r] * q.data[r*q.cols + c]
                                        - g.data[p.rows] * q.data[p.rows*q.cols + c]) / h.data[r];
    }
}

/* Pre-LN without the norms' biases, Pre-RMSNorm and Pre-CRMSNorm. */
TEST(identities_centred)
{
    static const char *const spare[] = { "decoder.0.ffn.w2.bias", "encoder.0.self.o.weight",
                                         "decoder.1.cross.o.bias" };
    for (int arch = 0; arch < 3; arch++)
        for (int control = 0; control < 2; control++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "pre");
            tfn_model layer, rms, crms;
            tfn_param_info p;
            d.norm_eps = (float)0.01;
            if (!identities_open(&layer, &d)) return;
            d.norm = "rmsnorm";
            if (!identities_open(&rms, &d)) return;
            d.norm = "crmsnorm";
            if (!identities_open(&crms, &d)) return;
            for (int32_t i = 0; tfn_model_param(&layer, i, &p); i++)
                for (int32_t j = 0; identities_ends(p.name, "bias") && strstr(p.name, "norm")
                                    && j < p.cols; j++)
                    p.data[j] = 0;
            identities_centre(&rms, control ? spare[arch] : NULL);
            for (int32_t i = 0; tfn_model_param(&crms, i, &p); i++)    /* different gains */
                for (int32_t j = 0; p.rows == 1 && j < p.cols; j++) p.data[j] *= (float)1.5;
            identities_reduce(&crms, &rms);
            if (!control) {
                identities_same_logits(&rms, &layer);
                identities_same_logits(&crms, &layer);
            } else {
                identities_other(&rms, &layer);
                identities_other(&crms, &layer);
            }
            tfn_model_free(&layer);
            tfn_model_free(&rms);
            tfn_model_free(&crms);
        }
}

/* sqrt(C) x/|x| is LayerNorm without gain and bias. */
TEST(identities_scalenorm)
{
    for (int arch = 0; arch < 3; arch++)
        for (int control = 0; control < 3; control++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "pre");
            tfn_model scale, layer;
            d.norm = "scalenorm";
            d.norm_eps = (float)1e-13;
            if (!identities_open(&scale, &d)) return;
            d.norm = "layernorm-simple";
            if (!identities_open(&layer, &d)) return;
            if (control != 1) identities_centre(&scale, NULL);
            identities_share(&layer, &scale);
            identities_set(&scale, "norm_in.weight", sqrt(IDENTITIES_C));
            identities_set(&scale, "final_norm.weight", sqrt(IDENTITIES_C));
            if (control == 2) identities_scale(&scale, "norm_in.weight", 1.01);
            if (!control) identities_same_logits(&scale, &layer);
            else identities_other(&scale, &layer);
            tfn_model_free(&scale);
            tfn_model_free(&layer);
        }
}

/* FixNorm with a final ScaleNorm: logits are G cos, whatever the embedding's length. */
TEST(identities_fixnorm)
{
    for (int arch = 0; arch < 3; arch++)
        for (int control = 0; control < 2; control++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, control ? "pre" : "pre-fixnorm");
            static identities_out o;
            tfn_model m;
            double most = 0, g = 3;
            d.norm = "scalenorm";
            d.untied = false;
            if (!identities_open(&m, &d)) return;
            identities_scale(&m, "embedding.weight", 30);
            identities_set(&m, "final_norm.weight", g);
            identities_logits(&m, &o);
            for (int i = 0; i < IDENTITIES_ROWS * IDENTITIES_V; i++)
                most = fmax(most, fabs(o.y[i / IDENTITIES_V][i % IDENTITIES_V]));
            CHECK(control ? most > 2*g : most <= g * 1.000001 && most > g / 2);
            tfn_model_free(&m);
        }
}

/* -- T9: B2T and ResiDual -------------------------------------------------------------------- */

TEST(identities_b2t)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_topology row = identities_row(false, false, true, 0);
        tfn_model_desc d = identities_desc((tfn_arch)arch, "post");
        tfn_model post, b2t, own;
        row.ffn.extra.kind = TFN_SCALE_LEARNED;
        if (!identities_open(&post, &d)) return;
        d.topology = tfn_topology_find("b2t");
        if (!identities_open(&b2t, &d)) return;
        d.topology = &row;
        if (!identities_open(&own, &d)) return;
        identities_set(&own, "extra.weight", 0);
        identities_same(&own, &post);
        identities_other(&own, &b2t);
        identities_set(&own, "extra.weight", 1);
        identities_same(&own, &b2t);
        identities_set(&own, "extra.weight", 0.9);
        identities_other(&own, &b2t);
        tfn_model_free(&post);
        tfn_model_free(&b2t);
        tfn_model_free(&own);
    }
}

/* The output is Post-LN's plus N(y), eps 1e-7, where y is x_0 plus all branches, at every depth.
 * With two stacks the encoder, too, is ResiDual's. */
static void identities_check_residual(tfn_arch arch, int32_t depth)
{
    tfn_model_desc d = identities_desc(arch, "resi-dual");
    identities_out y, p, stream, found;
    const int subs = arch == TFN_ARCH_ENCODER_DECODER ? 3 : 2;
    const tfn_topology *post = tfn_topology_find("post");
    tfn_model dual, host;
    d.layers = arch == TFN_ARCH_ENCODER_DECODER ? 3 : depth;
    d.decoder_layers = arch == TFN_ARCH_ENCODER_DECODER ? depth : 0;
    if (!identities_open(&dual, &d)) return;
    if (arch != TFN_ARCH_ENCODER_DECODER) d.topology = post;
    d.decoder_topology = post;
    if (!identities_open(&host, &d)) return;
    for (int stack = 0; stack < 2; stack++) {     /* the encoder of two keeps its norm's gain */
        const char *at = identities_arches[stack];
        if (stack == 1 && arch == TFN_ARCH_ENCODER_DECODER) continue;
        identities_all(&dual, at, "final_norm.weight", 0, 1);
        identities_all(&dual, at, "final_norm.bias", 0, 0);
    }
    identities_logits(&dual, &found);
    identities_logits(&host, &stream);
    identities_first(&host, &y);
    for (int32_t l = 1; l <= depth; l++)
        for (int k = 0; k < subs; k++) {
            identities_inside(&host, l, subs == 2 ? 2*k : k, true, &p);
            identities_add(&y, &p, 1);
        }
    identities_norm(&y, 1e-7);
    identities_add(&found, &stream, -1);
    CHECK(identities_gap(found.y[0], y.y[0], IDENTITIES_ROWS * IDENTITIES_V) < identities_equal);
    identities_add(&y, &p, 0.01);
    CHECK(identities_gap(found.y[0], y.y[0], IDENTITIES_ROWS * IDENTITIES_V) > identities_apart);
    identities_other(&dual, &host);
    identities_all(&dual, identities_arches[arch == TFN_ARCH_ENCODER], "final_norm.weight", 0, 0);
    identities_same(&dual, &host);
    tfn_model_free(&dual);
    tfn_model_free(&host);
}
TEST(identities_residual)
{
    for (int arch = 0; arch < 3; arch++)
        for (int32_t depth = 1; depth <= 3; depth++)
            identities_check_residual((tfn_arch)arch, depth);
}

/* -- T13: nGPT ------------------------------------------------------------------------------- */

/* The largest deviation from length 1 of vectors along the channels, over all matrices. */
static double identities_lengths_off(const tfn_model *m)
{
    double worst = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        bool rows = strstr(p.name, "embedding.") || identities_ends(p.name, "o.weight")
                 || identities_ends(p.name, "w2.weight");
        if (p.rows == 1) continue;
        CHECK_INT(rows ? p.cols : p.rows, IDENTITIES_C);
        for (int32_t a = 0; a < (rows ? p.rows : p.cols); a++) {
            double sum = 0;
            for (int32_t c = 0; c < IDENTITIES_C; c++)
                sum += pow((double)p.data[rows ? a*p.cols + c : c*p.cols + a], 2);
            worst = check_worse(worst, fabs(sqrt(sum) - 1));
        }
    }
    return worst;
}

static double identities_rows_off(const identities_out *o)
{
    double worst = 0;
    for (int r = 0; r < IDENTITIES_ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < IDENTITIES_C; c++) sum += o->y[r][c] * o->y[r][c];
        worst = check_worse(worst, fabs(sqrt(sum) - 1));
    }
    return worst;
}

TEST(identities_ngpt)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_desc((tfn_arch)arch, "ngpt");
        tfn_batch batch = identities_batch((tfn_arch)arch);
        identities_out o;
        tfn_report report;
        tfn_model m;
        d.recipe = "ngpt";
        d.position = TFN_POSITION_ROTARY;
        d.activation = TFN_ACTIVATION_SWIGLU;
        d.optimizer = TFN_OPTIMIZER_ADAM;
        d.schedule.lr = (float)0.01;
        if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
            FAIL("no model");
            return;
        }
        CHECK(identities_lengths_off(&m) < 1e-6);
        for (int step = 0; step < 5; step++) {
            CHECK(tfn_model_step(&m, &batch, &report) == TFN_OK && report.updated);
            CHECK(identities_lengths_off(&m) < 1e-6);
        }
        identities_set(&m, "logit_scale.weight", 1 / sqrt(IDENTITIES_C));
        for (int32_t l = 1; l <= (arch == TFN_ARCH_ENCODER_DECODER ? 2 : 3); l++)
            for (int k = 0; k < 3; k++) {
                if (k == 1 && arch != TFN_ARCH_ENCODER_DECODER) continue;
                identities_inside(&m, l, k, false, &o);
                if (!(identities_rows_off(&o) < 1e-6))
                    FAIL("a row's length is off by %g", identities_rows_off(&o));
            }
        identities_scale(&m, "w2.weight", 1.01);
        CHECK(identities_lengths_off(&m) > 1e-3);
        identities_inside(&m, 1, 0, true, &o);                 /* without the norm of the sum */
        CHECK(identities_rows_off(&o) > 1e-3);
        tfn_model_free(&m);
    }
}

/* Only the stack of nGPT has weights of length 1. */
TEST(identities_ngpt_hybrid)
{
    for (int other = 0; other < 2; other++) {
        const char *const rows[] = { "ngpt", "post" };
        tfn_model_desc d = identities_desc(TFN_ARCH_ENCODER_DECODER, rows[other]);
        tfn_model m;
        d.decoder_topology = tfn_topology_find(rows[!other]);
        if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
            FAIL("no model");
            return;
        }
        for (int stack = 0; stack < 2; stack++) {
            const bool decoder = !stack, unit = decoder == other;      /* the stack of nGPT */
            tfn_param_info p;
            double sum = 0;
            CHECK(identities_find(&m, decoder ? "decoder.0.self.o.weight"
                                              : "encoder.0.self.o.weight", &p));
            for (int32_t c = 0; c < p.cols; c++) sum += pow((double)p.data[c], 2);
            if ((fabs(sqrt(sum) - 1) < 1e-6) != unit)
                FAIL("%s in the %s: a row of length %g", rows[decoder ? !other : other],
                     identities_arches[stack], sqrt(sum));
        }
        tfn_model_free(&m);
    }
}

/* -- T14: norms switched off ----------------------------------------------------------------- */

TEST(identities_norms_off)
{
    for (int arch = 0; arch < 3; arch++)
        for (int on = 0; on < 2; on++) {
            tfn_topology peri = identities_row(on, true, false, TFN_TOPOLOGY_FINAL_NORM);
            tfn_topology keel = identities_row(on, false, true, 0);
            tfn_model_desc d = identities_desc((tfn_arch)arch, "output-norm");
            tfn_model one, two;
            if (!identities_open(&one, &d)) return;
            d.topology = &peri;
            if (!identities_open(&two, &d)) return;
            if (on) identities_other(&one, &two);
            else identities_same(&one, &two);
            tfn_model_free(&two);
            d.topology = tfn_topology_find("peri");
            if (!identities_open(&two, &d)) return;
            identities_other(&one, &two);
            tfn_model_free(&one);
            tfn_model_free(&two);
            if (arch == TFN_ARCH_ENCODER_DECODER) continue;         /* KEEL has one constant */
            identities_skip(&keel, pow(6, 0.25));
            d.topology = tfn_topology_find("deepnorm");
            if (!identities_open(&one, &d)) return;
            d.topology = &keel;
            if (!identities_open(&two, &d)) return;
            if (on) identities_other(&one, &two);
            else identities_same(&one, &two);
            tfn_model_free(&one);
            tfn_model_free(&two);
        }
}

/* -- Admin's profile (V04) ------------------------------------------------------------------- */

static const char *const identities_subs[] = { "self", "cross", "ffn" };

/* Collects all vectors w in the order of the sub-layers; returns how many numbers. */
static int identities_vectors(const tfn_model *m, float *w, int room)
{
    tfn_param_info p;
    int n = 0;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t j = 0; identities_ends(p.name, "skip.weight") && j < p.cols && n < room; j++)
            w[n++] = p.data[j];
    return n;
}

static tfn_model_desc identities_admin(tfn_arch arch, const char *topology)
{
    tfn_model_desc d = identities_desc(arch, topology);
    d.init = "fused";
    d.separate_source = false;
    d.scale_embedding = true;
    return d;
}

static bool identities_profile(tfn_model *m)
{
    tfn_batch batch = identities_batch(m->desc.arch);
    if (tfn_model_profile(m, &batch) == TFN_OK) return true;
    FAIL("no profile");
    return false;
}

/* The scalar w of a sub-layer; all numbers of its vector are equal. */
static double identities_omega(const tfn_model *m, const char *stack, int32_t layer, int kind)
{
    tfn_param_info p;
    char name[60];
    snprintf(name, sizeof name, "%s.%d.%s.skip.weight", stack, (int)layer - 1,
             identities_subs[kind]);
    if (!identities_find(m, name, &p)) {
        FAIL("there is no %s", name);
        return NAN;
    }
    for (int32_t j = 0; j < p.cols; j++)
        if (p.data[j] < p.data[0] || p.data[j] > p.data[0]) FAIL("%s is no scalar", name);
    return (double)p.data[0];
}

/* w_1 = 1; w_s+1^2 = Var(w_s x_s) + Var(F_s); with gains of 1 that is Var(x_0) + sum of Var(F). */
static void identities_check_chain(const tfn_model *m, const char *stack, int subs)
{
    identities_out x, f;
    double w = 1, sum;
    int32_t depth = *stack == 'd' && subs == 3 ? 2 : 3;
    const double equal = identities_equal > 1e-6 ? 1e-5 : 1e-6;    /* ratios are single */
    identities_first(m, &x);
    for (int r = 0; r < IDENTITIES_ROWS; r++)           /* the embedding times sqrt(C) */
        for (int c = 0; c < IDENTITIES_C; c++) {
            tfn_param_info e;
            identities_find(m, "embedding.weight", &e);
            x.y[r][c] += (sqrt(IDENTITIES_C) - 1)
                       * (double)e.data[identities_tokens[r] * e.cols + c];
        }
    sum = identities_variance(&x);
    for (int32_t l = 1; l <= depth; l++)
        for (int k = 0; k < 3; k += subs == 2 ? 2 : 1) {
            double found = identities_omega(m, stack, l, k), var = identities_variance(&x);
            CHECK_CLOSE(found, w, equal);
            if (l > 1 || k) CHECK_CLOSE(found * found, sum, 1e-3);
            CHECK(l == 1 && !k ? w <= 1 : found > 1);
            identities_inside(m, l, k, true, &f);
            CHECK(identities_variance(&f) > 0.01);
            w = sqrt(found * found * var + identities_variance(&f));
            CHECK(l == 1 || w >= found);
            sum += identities_variance(&f);
            identities_inside(m, l, k, false, &x);
        }
}

TEST(identities_profile_chain)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_admin((tfn_arch)arch, "admin");
        tfn_model m, alone;
        float w[900], first = 0;
        if (!identities_start(&m, &d)) return;
        for (int i = identities_vectors(&m, w, 900); i--;) first += fabs((double)w[i] - 1) > 0;
        CHECK(first < 1);                               /* all start at 1 */
        if (!identities_profile(&m)) return;
        identities_check_chain(&m, identities_arches[arch == TFN_ARCH_ENCODER],
                               arch == TFN_ARCH_ENCODER_DECODER ? 3 : 2);
        if (arch == TFN_ARCH_ENCODER_DECODER) {    /* its encoder as a separate model */
            tfn_batch batch = identities_batch(TFN_ARCH_ENCODER_DECODER);
            d = identities_admin(TFN_ARCH_ENCODER, "admin");
            d.context = IDENTITIES_TS;
            if (!identities_start(&alone, &d)) return;
            identities_share(&alone, &m);
            identities_eye(&alone);
            identities_all(&alone, "", "skip.weight", 0, 1);
            batch.tokens = batch.source;
            batch.lengths = batch.source_lengths;
            batch.time = batch.source_time;
            batch.source = NULL;
            CHECK(tfn_model_profile(&alone, &batch) == TFN_OK);
            for (int32_t l = 1; l <= 3; l++)
                for (int k = 0; k < 3; k += 2)
                    CHECK_CLOSE(identities_omega(&alone, "encoder", l, k),
                                identities_omega(&m, "encoder", l, k), 1e-6);
            tfn_model_free(&alone);
        }
        tfn_model_free(&m);
    }
}

/* In half precision, the profile also stores its scales in the rounded copy of the weights, and
 * goes on with this copy. */
TEST(identities_profile_half)
{
    tfn_model_desc d = identities_admin(TFN_ARCH_DECODER, "admin");
    tfn_param_info p;
    tfn_model m;
    double most = 0;
    d.half = true;
    d.threads = 1;
    if (!identities_start(&m, &d) || !identities_profile(&m)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        for (int32_t j = 0; identities_ends(p.name, "skip.weight") && j < p.cols; j++) {
            const double rounded = (double)m.run.params[p.data - m.params + j];
            CHECK_CLOSE(rounded, (double)p.data[j], 1e-3);
            most = fmax(most, rounded);
        }
    CHECK(most > 1.1);
    tfn_model_free(&m);
}

/* T15: the same for all threads and instruction sets; other weights give other scales. */
TEST(identities_profile_determinism)
{
    const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_admin((tfn_arch)arch, "admin");
        float w[900], other[900];
        int n = 0;
        d.dropout = d.attention_dropout = d.activation_dropout = (float)0.1;
        d.seed = 1;
        for (int i = 0; i < 4 + TFN_ISA_COUNT; i++) {
            tfn_model m;
            d.threads = HOOK_THREADS(i < 3 ? i + 1 : 1);
            d.isa = i > 4 ? (tfn_isa)(i - 4) : TFN_ISA_BEST;
            d.seed = i == 3 ? 2 : 1;
            if (i > 4 && (!tfn_kernels_for(d.isa) || !tfn_kernels_for(d.isa)->fma || !best->fma))
                continue;
            if (!identities_start(&m, &d) || !identities_profile(&m)) return;
            n = identities_vectors(&m, i ? other : w, 900);
            if (i == 3) CHECK(memcmp(w, other, (size_t)n * sizeof *w));
            else if (i) CHECK_BITS(w, other, (size_t)n * sizeof *w);
            tfn_model_free(&m);
        }
        CHECK(n > 60);
    }
}

/* Profiling again from the same weights gives the same scales. The first step profiles with its own
 * batch, and a model that has made steps never profiles. Other rows have no profile. */
TEST(identities_profile_again)
{
    for (int arch = 0; arch < 3; arch++) {
        tfn_model_desc d = identities_admin((tfn_arch)arch, "admin");
        tfn_batch batch = identities_batch((tfn_arch)arch);
        float w[900], other[900];
        tfn_report report;
        uint64_t hash;
        tfn_model m;
        size_t n;
        d.dropout = (float)0.1;
        if (!identities_start(&m, &d) || !identities_profile(&m)) return;
        n = (size_t)identities_vectors(&m, w, 900) * sizeof *w;
        hash = tfn_model_hash(&m);
        if (!identities_profile(&m)) return;
        CHECK(tfn_model_hash(&m) == hash);
        CHECK(tfn_model_step(&m, &batch, &report) == TFN_OK && report.updated);
        identities_vectors(&m, other, 900);
        CHECK_BITS(w, other, n);
        tfn_model_free(&m);
        for (int64_t step = 0; step < 2; step++) {
            if (!identities_start(&m, &d)) return;
            m.step = step;
            CHECK(tfn_model_step(&m, &batch, &report) == TFN_OK && report.updated);
            identities_vectors(&m, other, 900);
            if (!step) CHECK_BITS(w, other, n);
            for (size_t i = 0; step && i < n / sizeof *w; i++)
                CHECK(other[i] >= 1 && other[i] <= 1);
            tfn_model_free(&m);
        }
        d.topology = tfn_topology_find("post");
        if (!identities_start(&m, &d)) return;
        hash = tfn_model_hash(&m);
        if (!identities_profile(&m)) return;
        CHECK(tfn_model_hash(&m) == hash);
        tfn_model_free(&m);
    }
}

/* A model that has made steps is never profiled, even on request: its scales are trained. */
TEST(identities_profile_trained)
{
    static const char *const rows[] = { "admin", "admin-direct", "post" };
    for (int i = 0; i < 3; i++) {
        tfn_model_desc d = identities_admin(TFN_ARCH_DECODER, rows[i]);
        tfn_batch batch = identities_batch(TFN_ARCH_DECODER);
        uint64_t hash;
        tfn_model m;
        if (i == 2) d.init = "lsuv";
        if (!identities_open(&m, &d)) return;
        hash = tfn_model_hash(&m);
        tfn_model_profile(&m, &batch);
        if (tfn_model_hash(&m) != hash) FAIL("%s: a profile after a step", rows[i]);
        m.step = 0;
        tfn_model_profile(&m, &batch);
        CHECK(tfn_model_hash(&m) != hash);
        tfn_model_free(&m);
    }
}

/* LSUV comes first; Admin's scales fit the weights that it leaves. */
TEST(identities_profile_both)
{
    tfn_model_desc d = identities_admin(TFN_ARCH_DECODER, "admin");
    tfn_model m;
    d.init = "lsuv";
    if (!identities_start(&m, &d) || !identities_profile(&m)) return;
    identities_check_chain(&m, "decoder", 2);
    tfn_model_free(&m);
}

/* Norms that keep Post-LN bounded; with others the profile proves nothing. */
static bool identities_bounds(const tfn_norm_rule *norm) { return norm->kind != TFN_NORM_CENTER; }

/* admin-direct is admin with its vectors in norms and matrices; with every norm, profiled twice. */
static void identities_check_direct(tfn_arch arch, const char *norm, bool gain)
{
    tfn_model_desc d = identities_admin(arch, "admin");
    tfn_model admin, direct;
    float w[900];
    d.norm = norm;
    if (!identities_start(&admin, &d)) return;
    d.topology = tfn_topology_find("admin-direct");
    if (!identities_start(&direct, &d)) return;
    identities_share(&direct, &admin);
    if (!identities_profile(&admin)) return;
    identities_other(&direct, &admin);
    for (int times = 1; times <= 2; times++) {
        double gap;
        if (!identities_profile(&direct)) return;
        gap = identities_distance(&direct, &admin, false);
        if (!(gap < identities_equal))
            FAIL("admin-direct, %s, %s: off by %.2g after profile %d", norm,
                 identities_arches[arch], gap, times);
    }
    for (int j = identities_vectors(&direct, w, 900); gain && j--;)
        if (w[j] < 1 || w[j] > 1) {
            FAIL("admin-direct, %s: a scale is %g", norm, (double)w[j]);
            break;
        }
    tfn_model_free(&admin);
    tfn_model_free(&direct);
}
TEST(identities_admin_direct)
{
    const tfn_norm_rule *norm;
    for (int arch = 0; arch < 3; arch++)
        for (int i = 0; (norm = tfn_norm_at(i)) != NULL; i++)
            if (identities_bounds(norm))
                identities_check_direct((tfn_arch)arch, norm->name,
                                        (norm->flags & TFN_FLAG_GAIN) != 0);
}

/* The library's own fold of Admin, with every norm; but not if another number was changed. */
TEST(identities_admin_folded)
{
    const tfn_norm_rule *norm;
    for (int arch = 0; arch < 3; arch++)
        for (int i = 0; (norm = tfn_norm_at(i)) != NULL; i++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, "admin");
            tfn_model admin, folded;
            double gap;
            d.norm = norm->name;
            if (!identities_bounds(norm)) continue;
            if (!identities_open(&admin, &d)) return;
            d.inference = d.folded = true;
            if (tfn_model_new(&folded, &d, NULL) != TFN_OK
                || tfn_model_fold(&folded, &admin) != TFN_OK) {
                FAIL("no folded form of admin, %s", norm->name);
                return;
            }
            gap = identities_distance(&folded, &admin, false);
            if (!(gap < identities_equal))
                FAIL("folded, %s, %s: off by %.2g", norm->name, identities_arches[arch], gap);
            identities_scale(&folded, "w2.weight", 1.01);
            identities_other(&folded, &admin);
            tfn_model_free(&admin);
            tfn_model_free(&folded);
        }
}

/* -- LSUV ------------------------------------------------------------------------------------ */

typedef struct identities_spread { double least, most; int count; } identities_spread;

static void identities_watch(void *user, int32_t id, const float *data, ptrdiff_t rows,
                             ptrdiff_t cols, bool backward)
{
    identities_spread *s = (identities_spread *)user;
    const bool source = rows == IDENTITIES_B * IDENTITIES_TS;
    const int32_t *lengths = source ? identities_source_lengths : identities_lengths;
    const ptrdiff_t time = rows / IDENTITIES_B;
    double mean = 0, var = 0, n = 0;
    (void)id;
    if (backward) return;
    for (ptrdiff_t b = 0; b < IDENTITIES_B; b++) n += (double)(lengths[b] * cols);
    for (ptrdiff_t r = 0; r < rows; r++)                        /* without padding */
        for (ptrdiff_t c = 0; c < cols; c++)
            if (r % time < lengths[r / time]) mean += (double)data[r*cols + c] / n;
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < cols; c++)
            if (r % time < lengths[r / time]) var += pow((double)data[r*cols + c] - mean, 2) / n;
    s->least = fmin(s->least, var);
    s->most = fmax(s->most, var);
    s->count++;
}
/* Variances of the outputs of all linear maps, from probes in a training forward. */
static identities_spread identities_spreads(const tfn_model *m)
{
    identities_spread s = { 1e30, 0, 0 };
    const tfn_batch b = identities_batch(m->desc.arch);
    tfn_run r = m->run;
    r.ints[TFN_INT_TOKENS] = b.tokens;
    r.ints[TFN_INT_LENGTHS] = b.lengths;
    r.ints[TFN_INT_SOURCE] = b.source;
    r.ints[TFN_INT_SOURCE_LENGTHS] = b.source_lengths;
    r.probe = identities_watch;
    r.probe_user = &s;
    CHECK(tfn_tape_forward(&m->train, &r) == TFN_OK);
    return s;
}

TEST(identities_lsuv)
{
    static const char *const rows[] = { "post", "pre", "no-norm", "post" };
    for (int arch = 0; arch < 3; arch++)
        for (int i = 0; i < 4; i++) {
            tfn_model_desc d = identities_desc((tfn_arch)arch, rows[i]);
            const int per_layer = 4 + 2, both = arch == TFN_ARCH_ENCODER_DECODER;
            identities_spread s;
            uint64_t hash;
            tfn_model m;
            CASE("arch %d, %s, case %d", arch, rows[i], i);
            d.init = "lsuv";
            d.half = i == 3;
            d.threads = 1;
            if (!identities_start(&m, &d)) return;
            if (!identities_profile(&m)) return;
            s = identities_spreads(&m);
            CHECK_INT(s.count, both ? 3 * per_layer + 2 * (per_layer + 4) : 3 * per_layer);
            CHECK(s.least > 0.9 && s.most < 1.1);
            hash = tfn_model_hash(&m);
            if (!identities_profile(&m)) return;
            CHECK(tfn_model_hash(&m) == hash);         /* variances within 0.1 of 1 stay */
            identities_scale(&m, "w2.weight", 1.25);
            s = identities_spreads(&m);
            CHECK(d.half || s.most > 1.1);              /* half precision reads rounded copies */
            tfn_model_free(&m);
        }
}

int main(void)
{
    RUN(identities_deepnorm);
    RUN(identities_schedule_over);
    RUN(identities_admin_fold);
    RUN(identities_linear_aggregation);
    RUN(identities_dlcl);
    RUN(identities_dlcl_options);
    RUN(identities_dlcl_post);
    RUN(identities_transparent);
    RUN(identities_hosts);
    RUN(identities_branchnorm);
    RUN(identities_without_qk_norm);
    RUN(identities_constants);
    RUN(identities_fixup);
    RUN(identities_parallel);
    RUN(identities_by_layer);
    RUN(identities_at_start);
    RUN(identities_mean_of_layers);
    RUN(identities_looklinear);
    RUN(identities_centred);
    RUN(identities_scalenorm);
    RUN(identities_fixnorm);
    RUN(identities_b2t);
    RUN(identities_residual);
    RUN(identities_ngpt);
    RUN(identities_ngpt_hybrid);
    RUN(identities_norms_off);
    RUN(identities_profile_chain);
    RUN(identities_profile_half);
    RUN(identities_profile_determinism);
    RUN(identities_profile_again);
    RUN(identities_profile_trained);
    RUN(identities_profile_both);
    RUN(identities_admin_direct);
    RUN(identities_admin_folded);
    RUN(identities_lsuv);
    return DONE();
}
