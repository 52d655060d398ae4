/* muP (Yang et al. 2022, table 8): the coordinate check of its figure 5, in which a few updates
 * have the same effect on activations and logits at all widths; rates, scales and initial values
 * against the table; refused options; and at its own base width nothing changes. */
#include <math.h>
#include "../lib.h"
#include "../check.h"

enum { MUP_B = 4, MUP_T = 8, MUP_V = 23, MUP_BASE = 32, MUP_WIDTHS = 4, MUP_STEPS = 3 };
static const int32_t mup_widths[MUP_WIDTHS] = { 32, 64, 128, 256 };

static tfn_model_desc mup_desc(int32_t width)
{
    tfn_model_desc d = { 0 };
    d.vocab = MUP_V;
    d.context = MUP_T;
    d.width = width;
    d.heads = 4;
    d.layers = 2;
    d.batch = MUP_B;
    d.threads = 1;
    d.schedule.lr = 1e-2f;
    d.mup_base_width = MUP_BASE;
    return d;
}

static bool mup_open(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("width %d: %s", (int)d->width, tfn_error_text(&m->error, text, sizeof text));
    return false;
}

typedef struct mup_batch {
    tfn_batch batch;
    int32_t   tokens[MUP_B * MUP_T], targets[MUP_B * MUP_T];
} mup_batch;
static const tfn_batch *mup_fill(mup_batch *b)
{
    memset(b, 0, sizeof *b);
    for (int i = 0; i < MUP_B * MUP_T; i++) {
        b->tokens[i] = (i * 7 + i / 5) % MUP_V;
        b->targets[i] = (i * 5 + 3) % MUP_V;
    }
    b->batch.tokens = b->tokens;
    b->batch.targets = b->targets;
    b->batch.batch = MUP_B;
    b->batch.time = MUP_T;
    return &b->batch;
}

/* -- the coordinate check ---------------------------------------------------------------------- */

typedef struct mup_seen { float *stack, *logits; int64_t count; } mup_seen;
static void mup_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                      bool backward)
{
    mup_seen *s = (mup_seen *)user;
    if (backward || tfn_probe_of(id).point != TFN_WATCH_STACK) return;
    s->count = rows * cols;
    s->stack = (float *)realloc(s->stack, (size_t)s->count * sizeof(float));
    memcpy(s->stack, data, (size_t)s->count * sizeof(float));
}
static mup_seen mup_look(tfn_model *m, const tfn_batch *batch)
{
    mup_seen s = { NULL, NULL, 0 };
    const size_t bytes = sizeof(float) * MUP_B * MUP_T * MUP_V;
    const float *logits;
    tfn_model_watch(m, mup_probe, &s);
    logits = tfn_model_logits(m, batch);
    s.logits = (float *)malloc(bytes);
    memcpy(s.logits, logits, bytes);
    tfn_model_watch(m, NULL, NULL);
    return s;
}
static double mup_mean_change(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs((double)a[i] - (double)b[i]);
    return sum / (double)n;
}

/* The effect of the updates by width: on the last stack's output, and on the logits. */
static void mup_changes(tfn_model_desc d, double *stack, double *logits)
{
    for (int i = 0; i < MUP_WIDTHS; i++) {
        tfn_model m;
        mup_batch b;
        mup_seen before, after;
        d.width = mup_widths[i];
        d.probes = true;
        if (!mup_open(&m, &d)) return;
        before = mup_look(&m, mup_fill(&b));
        for (int step = 0; step < MUP_STEPS; step++)
            CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
        after = mup_look(&m, &b.batch);
        stack[i] = mup_mean_change(before.stack, after.stack, after.count);
        logits[i] = mup_mean_change(before.logits, after.logits, MUP_B * MUP_T * MUP_V);
        free(before.stack);
        free(before.logits);
        free(after.stack);
        free(after.logits);
        tfn_model_free(&m);
    }
}

static const struct {
    const char   *what;
    tfn_optimizer optimizer;
    float         rate, decay;
    bool          untied;
} mup_cases[] = {
    { "AdamW", TFN_OPTIMIZER_ADAMW, 4e-3f, 0.1f, false },
    { "Adam, untied", TFN_OPTIMIZER_ADAM, 4e-3f, 0, true },
    { "Lion", TFN_OPTIMIZER_LION, 2e-3f, 0, false },
    { "SGD, untied", TFN_OPTIMIZER_SGD, 0.2f, 0, true }
};

static double mup_most_over_least(const double *v)
{
    double least = v[0], most = v[0];
    for (int i = 1; i < MUP_WIDTHS; i++) {
        if (v[i] < least) least = v[i];
        if (v[i] > most) most = v[i];
    }
    return most / least;
}

/* With muP the changes are equal over widths that differ by a factor of eight, including the first
 * logits, which decrease with the width. Without, logits change more and more. */
TEST(mup_coordinates)
{
    for (size_t k = 0; k < sizeof mup_cases / sizeof *mup_cases; k++) {
        tfn_model_desc d = mup_desc(0);
        double with[2][MUP_WIDTHS], without[2][MUP_WIDTHS];
        CASE("%s", mup_cases[k].what);
        d.optimizer = mup_cases[k].optimizer;
        d.schedule.lr = mup_cases[k].rate;
        d.decay = mup_cases[k].decay;
        d.untied = mup_cases[k].untied;
        mup_changes(d, with[0], with[1]);
        d.mup_base_width = 0;
        mup_changes(d, without[0], without[1]);
        for (int i = 0; i < MUP_WIDTHS; i++)
            printf("       %-14s width %3d: muP %.3f %.3f, without %.3f %.3f\n", mup_cases[k].what,
                   (int)mup_widths[i], with[0][i], with[1][i], without[0][i], without[1][i]);
        CHECK(mup_most_over_least(with[0]) < 1.25);
        CHECK(with[1][MUP_WIDTHS - 1] < 1.05 * with[1][0] && mup_most_over_least(with[1]) < 1.75);
        CHECK(without[0][MUP_WIDTHS - 1] > 1.3 * without[0][0]);
        CHECK(without[1][MUP_WIDTHS - 1] > 1.9 * without[1][0]);
    }
}

/* -- the table --------------------------------------------------------------------------------- */

enum { MUP_INPUT, MUP_HIDDEN, MUP_OUTPUT, MUP_NUMBER };     /* columns; a single number */
static int mup_column(const tfn_param_info *p)
{
    if (p->rows == 1 && p->cols == 1) return MUP_NUMBER;
    if (!strcmp(p->name, "output.weight")) return MUP_OUTPUT;
    if (p->rows == 1 || strstr(p->name, "embedding") || strstr(p->name, "position"))
        return MUP_INPUT;
    return MUP_HIDDEN;
}

/* Yang et al. 2022, table 8, with m = 4. */
TEST(mup_rates)
{
    static const struct { tfn_optimizer optimizer; float rates[4]; } rows[] = {
        { TFN_OPTIMIZER_ADAM, { 1, 0.25f, 1, 1 } },
        { TFN_OPTIMIZER_ADAMW, { 1, 0.25f, 1, 1 } },
        { TFN_OPTIMIZER_RADAM, { 1, 0.25f, 1, 1 } },
        { TFN_OPTIMIZER_LION, { 1, 0.25f, 1, 1 } },
        { TFN_OPTIMIZER_SGD, { 4, 1, 4, 1 } }
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        tfn_model_desc d = mup_desc(4 * MUP_BASE);
        tfn_model m;
        tfn_param_info p;
        int seen[4] = { 0, 0, 0, 0 };
        d.optimizer = rows[k].optimizer;
        d.recipe = "rezero";
        d.untied = true;
        d.decay = 0.5f;
        snprintf(d.groups[0].pattern, sizeof d.groups[0].pattern, "*.w2.*");
        d.groups[0].rate = 0.5f;
        CASE("optimizer %d", (int)d.optimizer);
        if (!mup_open(&m, &d)) return;
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
            const float own = strstr(p.name, ".w2.") ? 0.5f : 1;
            const float rate = rows[k].rates[mup_column(&p)];
            seen[mup_column(&p)]++;
            if (!(p.rate == rate * own)) FAIL("the rate of %s is %g", p.name, (double)p.rate);
        }
        for (int i = 0; i < 4; i++) CHECK(seen[i] > 0);
        tfn_model_free(&m);
    }
}

/* muP leaves the rates of LoRA's A and B, and of the factors with one number per layer. */
TEST(mup_plain_rates)
{
    static const tfn_optimizer optimizers[] = { TFN_OPTIMIZER_ADAMW, TFN_OPTIMIZER_SGD };
    static const char *const rows[][2] = { { "pre", ".lora_" }, { "dlcl", ".mix" },
                                           { "resi-dual", ".lora_" } };
    for (size_t k = 0; k < 2 * (sizeof rows / sizeof *rows); k++) {
        tfn_model_desc d = mup_desc(4 * MUP_BASE);
        tfn_model m;
        tfn_param_info p;
        int seen = 0;
        d.optimizer = optimizers[k % 2];
        d.recipe = rows[k / 2][0];
        if (strchr(rows[k / 2][1], '_')) CHECK(tfn_group_add(&d, "*.self.q.weight rank=2", NULL));
        CASE("%s, optimizer %d", d.recipe, (int)d.optimizer);
        if (!mup_open(&m, &d)) return;
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
            if (!strstr(p.name, rows[k / 2][1])) continue;
            seen++;
            if (!(p.rate == 1)) FAIL("the rate of %s is %g", p.name, (double)p.rate);
        }
        CHECK(seen > 1);
        tfn_model_free(&m);
    }
}

/* One update of AdamW with a gradient of 0 is only decay, as without muP. */
TEST(mup_decay)
{
    tfn_model_desc d = mup_desc(4 * MUP_BASE);
    const tfn_sums sums = { 1, 1, 5 };
    tfn_model m;
    tfn_param_info p;
    float *before;
    d.decay = 0.5f;
    d.schedule.lr = 0.1f;
    if (!mup_open(&m, &d)) return;
    before = (float *)malloc((size_t)m.param_floats * sizeof *before);
    memcpy(before, m.params, (size_t)m.param_floats * sizeof *before);
    CHECK(tfn_model_update(&m, &sums, 0.1f, NULL) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        const float *was = before + (p.data - m.params);
        for (int32_t j = 0; p.decay && j < p.rows * p.cols; j += 37)
            CHECK_CLOSE((double)p.data[j], 0.95 * (double)was[j], 1e-6);
    }
    free(before);
    tfn_model_free(&m);
}

static double mup_deviation(tfn_model_desc d, const char *name)
{
    tfn_model m;
    tfn_param_info p;
    double sum = 0;
    if (!mup_open(&m, &d)) return 0;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        if (strcmp(p.name, name)) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++)
            sum += (double)p.data[j] * (double)p.data[j] / (p.rows * p.cols);
    }
    tfn_model_free(&m);
    return sqrt(sum);
}

/* The deviation at m = 4 over that at m = 1: 1 for inputs and outputs, 1/2 for hidden matrices,
 * whatever the distribution. */
TEST(mup_initial)
{
    static const char *const names[] = {
        "embedding.weight", "decoder.position.weight", "output.weight", "decoder.0.self.q.weight",
        "decoder.1.ffn.w2.weight"
    };
    static const char *const inits[] = {
        "xavier", "framework", "gpt2", "truncated", "orthogonal", "he"
    };
    for (size_t k = 0; k < sizeof inits / sizeof *inits; k++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            tfn_model_desc d = mup_desc(MUP_BASE);
            double narrow, wide, wanted = 1;
            if (i > 2) wanted = 0.5;
            d.init = inits[k];
            d.untied = true;
            narrow = mup_deviation(d, names[i]);
            d.width = 4 * MUP_BASE;
            wide = mup_deviation(d, names[i]);
            CASE("%s, %s", inits[k], names[i]);
            if (!(fabs(wide / narrow / wanted - 1) < 0.1))
                FAIL("the deviation goes from %g to %g", narrow, wide);
        }
}

/* The output is divided by m, and scores are sqrt(32)/D q k. A model without muP whose weights
 * include both factors gives the same logits. */
TEST(mup_scales)
{
    tfn_model_desc d = mup_desc(8 * MUP_BASE);
    tfn_model m;
    tfn_model plain;
    mup_batch b;
    tfn_param_info p;
    tfn_param_info q;
    float logits[MUP_B * MUP_T * MUP_V];
    const float *found;
    d.untied = true;
    if (!mup_open(&m, &d)) return;
    d.mup_base_width = 0;
    if (!mup_open(&plain, &d)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        float by = 1;
        CHECK(tfn_model_param(&plain, i, &q));
        if (strstr(p.name, "output.")) by = 0.125f;
        if (strstr(p.name, ".self.q.")) by = (float)sqrt(32.0 / (8.0 * MUP_BASE / 4));
        for (int32_t j = 0; j < p.rows * p.cols; j++) q.data[j] = by * p.data[j];
    }
    memcpy(logits, tfn_model_logits(&m, mup_fill(&b)), sizeof logits);
    found = tfn_model_logits(&plain, &b.batch);
    for (int i = 0; i < MUP_B * MUP_T * MUP_V; i++)
        CHECK_CLOSE((double)logits[i], (double)found[i], 1e-5);
    tfn_model_free(&m);
    tfn_model_free(&plain);
}

/* At the base width, with heads of 32, muP changes nothing, to the bit. */
TEST(mup_base)
{
    tfn_model_desc d = mup_desc(2 * MUP_BASE);
    uint64_t hashes[2];
    d.heads = 2;
    d.decay = 0.1f;
    for (int i = 0; i < 2; i++) {
        tfn_model m;
        mup_batch b;
        d.mup_base_width = i ? 2 * MUP_BASE : 0;
        if (!mup_open(&m, &d)) return;
        for (int step = 0; step < MUP_STEPS; step++)
            CHECK(tfn_model_step(&m, mup_fill(&b), NULL) == TFN_OK);
        hashes[i] = tfn_model_hash(&m);
        tfn_model_free(&m);
    }
    CHECK(hashes[0] == hashes[1]);
}

static void mup_refuses(const tfn_model_desc *d, const char *wanted)
{
    tfn_model_desc out;
    tfn_error e;
    char text[200];
    CHECK(!tfn_model_resolve(&out, d, &e) && e.status == TFN_UNSUPPORTED);
    if (!strstr(tfn_error_text(&e, text, sizeof text), wanted)) FAIL("it says %s", text);
}
TEST(mup_refused)
{
    static const tfn_optimizer others[] = { TFN_OPTIMIZER_MUON, TFN_OPTIMIZER_ADAFACTOR };
    static const char *const recipes[] = { "ngpt", "sigma-reparam", "scalenorm", "dyt-lm" };
    tfn_model_desc d = mup_desc(64);
    tfn_model_desc out;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        d.optimizer = others[i];
        mup_refuses(&d, "adam, adamw, radam, lion and sgd");
        d.inference = true;
        CHECK(tfn_model_resolve(&out, &d, NULL));           /* a model trained elsewhere */
        d.inference = false;
    }
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        d = mup_desc(64);
        d.recipe = recipes[i];
        mup_refuses(&d, "scales of its own");
    }
    d = mup_desc(64);
    d.scale_embedding = true;
    mup_refuses(&d, "scale_embedding");
    d = mup_desc(64);
    d.cutoffs[0] = 9;
    mup_refuses(&d, "cutoffs");
}

int main(void)
{
    RUN(mup_coordinates);
    RUN(mup_rates);
    RUN(mup_plain_rates);
    RUN(mup_decay);
    RUN(mup_initial);
    RUN(mup_scales);
    RUN(mup_base);
    RUN(mup_refused);
    return DONE();
}
