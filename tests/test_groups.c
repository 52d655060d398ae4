/* Groups of parameters: patterns, rates, decay, and what is frozen. Every recipe with a part of its
 * tensors frozen: those keep their bits and have neither gradient nor moments, the others have the
 * gradients of the model that trains all; sizes are exact, resumed runs and threads have the same
 * bits. */
#include <stdint.h>
#include "lib.h"
#include "check.h"

enum { GROUPS_B = 2, GROUPS_T = 5, GROUPS_TS = 4, GROUPS_FRAMES = 4 * GROUPS_TS + 3,
       GROUPS_V = 13, GROUPS_BANDS = 3, GROUPS_SAVED = 1 << 21 };

/* -- models and batches ------------------------------------------------------------------------ */

/* What the recipes take in turn. */
static const tfn_model_desc groups_turns[] = {
    { .optimizer = TFN_OPTIMIZER_ADAMW, .decay = 0.1f },
    { .optimizer = TFN_OPTIMIZER_SGD, .activation = TFN_ACTIVATION_SWIGLU, .dropout = 0.125f,
      .norm_warmup = 3, .untied = true },
    { .optimizer = TFN_OPTIMIZER_RADAM, .dropout = 0.125f, .recompute = true, .decay_all = true,
      .decay = 0.1f },
    { .optimizer = TFN_OPTIMIZER_ADAM, .half = true, .loss_scale = 1 }
};
enum { GROUPS_TURNS = sizeof groups_turns / sizeof *groups_turns };

/* Groups that freeze: at the bottom, at the top, vectors, maps, and in between. */
static const char *const groups_frozen[][3] = {
    { "*.0.* frozen" },
    { "*.1.* frozen" },
    { "*weight frozen" },
    { "* frozen", "*weight" },
    { "* frozen", "*.1.*" },
    { "* frozen", "*.[qow]*", "*.1.*.w2* frozen" },
    { "*.[kvx-z]*.weight frozen", "*.w?.* frozen" }
};
enum { GROUPS_SETS = sizeof groups_frozen / sizeof *groups_frozen };

static int groups_recipes(void)
{
    int n = 0;
    while (tfn_recipe_at(n)) n++;
    return n;
}

/* Case i: each recipe with each architecture. */
static tfn_model_desc groups_desc(int i)
{
    tfn_model_desc d = groups_turns[i % GROUPS_TURNS];
    d.recipe = tfn_recipe_at(i / 3)->name;
    d.arch = (tfn_arch)(i % 3);
    d.vocab = GROUPS_V;
    d.context = GROUPS_T;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = GROUPS_TS;
    if (d.arch == TFN_ARCH_ENCODER_DECODER && i / 3 % 2) d.bands = GROUPS_BANDS;
    d.batch = GROUPS_B;
    d.width = strcmp(d.recipe, "prmsnorm") ? 12 : 64;
    d.heads = 2;
    d.ffn = 16;
    if (i % 8 == 1) d.beta1 = 0.9f;             /* SGD with and without momentum */
    d.micro_batches = 2;
    d.schedule.lr = 1e-2f;
    d.seed = (uint64_t)i;
    d.threads = 1;
    return d;
}

/* The same with the groups of a set. */
static tfn_model_desc groups_freeze(tfn_model_desc d, int set)
{
    for (int k = 0; k < 3; k++) {
        const char *text = groups_frozen[set][k];
        if (text) CHECK(tfn_group_add(&d, text, NULL));
    }
    CASE("%s, arch %d, set %d", d.recipe, (int)d.arch, set);
    return d;
}

typedef struct groups_batch {
    tfn_batch batch;
    int32_t   tokens[GROUPS_B * GROUPS_T], targets[GROUPS_B * GROUPS_T];
    int32_t   source[GROUPS_B * GROUPS_TS];
    float     frames[GROUPS_B * GROUPS_FRAMES * GROUPS_BANDS];
} groups_batch;

static void groups_fill(groups_batch *b, const tfn_model_desc *d, uint64_t seed)
{
    static const int32_t lengths[GROUPS_B] = { GROUPS_T, 3 };
    const tfn_key key = tfn_key_make(seed);
    uint64_t at = 0;
    memset(&b->batch, 0, sizeof b->batch);
    for (int i = 0; i < GROUPS_B * GROUPS_T; i++) {
        b->tokens[i] = (int32_t)(tfn_random_bits(key, at++) % GROUPS_V);
        b->targets[i] = (int32_t)(tfn_random_bits(key, at++) % GROUPS_V);
    }
    for (int i = 0; i < GROUPS_B * GROUPS_TS; i++)
        b->source[i] = (int32_t)(tfn_random_bits(key, at++) % GROUPS_V);
    for (int i = 0; i < GROUPS_B * GROUPS_FRAMES * GROUPS_BANDS; i++)
        b->frames[i] = 2 * tfn_random_uniform(key, at++) - 1;
    b->batch.tokens = b->tokens;
    b->batch.targets = b->targets;
    b->batch.lengths = lengths;
    b->batch.batch = GROUPS_B;
    b->batch.time = GROUPS_T;
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    if (d->bands) b->batch.frames = b->frames;
    else b->batch.source = b->source;
    b->batch.source_time = d->bands ? GROUPS_FRAMES : GROUPS_TS;
}

static bool groups_open(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s", tfn_error_text(&m->error, text, sizeof text));
    return false;
}

/* So many micro-batches, from number `first` on. */
static void groups_train(tfn_model *m, int first, int count)
{
    groups_batch b;
    tfn_report report;
    char text[200];
    for (int i = first; i < first + count; i++) {
        groups_fill(&b, &m->desc, (uint64_t)i);
        if (tfn_model_step(m, &b.batch, &report) != TFN_OK)
            FAIL("%s", tfn_error_text(&m->error, text, sizeof text));
        if (report.skipped) FAIL("micro-batch %d: the update was skipped", i);
    }
}

/* -- what is frozen ---------------------------------------------------------------------------- */

static float *groups_copy(const tfn_model *m)
{
    const size_t bytes = (size_t)(m->param_floats + m->buffer_floats) * sizeof(float);
    float *copy = (float *)malloc(bytes);
    if (!copy) exit(2);
    memcpy(copy, m->params, bytes);
    return copy;
}

/* Gradients of the last step: those of the model that trains all, or none. */
static void groups_compare(const tfn_model *plain, const tfn_model *m)
{
    tfn_param_info a, b;
    int64_t trained = 0;
    int frozen = 0;
    for (int32_t i = 0; tfn_model_param(plain, i, &a) && tfn_model_param(m, i, &b); i++) {
        const size_t bytes = (size_t)a.rows * (size_t)a.cols * sizeof(float);
        frozen += b.frozen;
        CHECK(!a.frozen);
        if (b.frozen) {
            if (b.grad) FAIL("%s is frozen and has a gradient", b.name);
            continue;
        }
        CHECK(!a.grad == !b.grad);
        if (!b.grad) continue;
        trained += ((int64_t)a.rows * a.cols + 15) / 16 * 16;
        if (memcmp(a.grad, b.grad, bytes)) FAIL("the gradient of %s differs", b.name);
    }
    CHECK(frozen > 0);
    CHECK_INT(m->trained_floats, trained);
    CHECK_INT(m->memory.gradients, (size_t)trained * sizeof(float));
    CHECK_INT(m->memory.moments * (size_t)plain->trained_floats,
              plain->memory.moments * (size_t)trained);
    CHECK(m->memory.workspace <= plain->memory.workspace);
}

/* What is 0 but for rounding, such as the gradient of a key's bias, moves nothing. */
static bool groups_is_zero(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] < -1e-4f || x[i] > 1e-4f) return false;
    return true;
}

/* Frozen tensors have their old bits; others that have a gradient have moved. */
static void groups_unmoved(const tfn_model *m, const float *before)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const float *old = before + (p.data - m->params);
        const size_t count = (size_t)p.rows * (size_t)p.cols;
        const bool same = !memcmp(old, p.data, count * sizeof(float));
        if (p.frozen && !same) FAIL("%s has moved", p.name);
        if (p.grad && same && !groups_is_zero(p.grad, count)) FAIL("%s has not moved", p.name);
    }
}

/* Saved within an update and loaded by another model: the bits of the run that went on. */
static void groups_resume(tfn_model *m, const tfn_model_desc *d)
{
    static unsigned char saved[GROUPS_SAVED];
    tfn_model_desc peeked;
    tfn_model other;
    tfn_file f;
    char text[300];
    memset(&f, 0, sizeof f);
    f.to = saved;
    f.to_size = sizeof saved;
    CHECK(tfn_model_save(&f, m, NULL) == TFN_OK);
    f.from = saved;
    f.from_size = (size_t)f.used;
    CHECK(tfn_model_peek(&f, &peeked, NULL) == TFN_OK);
    CHECK(!memcmp(peeked.groups, m->desc.groups, sizeof peeked.groups));
    if (!groups_open(&other, d)) return;
    if (tfn_model_load(&other, &f) != TFN_OK)
        FAIL("%s", tfn_error_text(&f.error, text, sizeof text));
    groups_train(m, 3, 3);
    groups_train(&other, 3, 3);
    CHECK(tfn_model_hash(m) == tfn_model_hash(&other));
    CHECK_BITS(m->moments, other.moments, m->memory.moments);
    tfn_model_free(&other);
}

/* Exactly the bytes that tfn_model_size says, and not one less. */
static void groups_exact(const tfn_model_desc *d, uint64_t hash)
{
    const size_t scratch = tfn_model_scratch(d);
    void *room = malloc(scratch);
    const size_t size = tfn_model_size(d, room, scratch);
    unsigned char *block = (unsigned char *)malloc(size);
    tfn_model_desc two = *d;
    tfn_model m;
    if (!room || !block) exit(2);
    CHECK(tfn_model_init(&m, d, block, size - 1) == TFN_NO_MEMORY);
    CHECK(tfn_model_init(&m, d, block, size) == TFN_OK);
    groups_train(&m, 0, 6);
    CHECK(tfn_model_hash(&m) == hash);
    free(block);
    free(room);
    two.threads = 2;
    if (d->half || !groups_open(&m, &two)) return;
    groups_train(&m, 0, 6);
    CHECK(tfn_model_hash(&m) == hash);
    tfn_model_free(&m);
}

/* The first update profiles, if the recipe does: that sets frozen weights, too. */
static void groups_case(int i, int set)
{
    const tfn_model_desc all = groups_desc(i);
    const tfn_model_desc some = groups_freeze(all, set);
    groups_batch b;
    float *before;
    tfn_model plain, m;
    if (!groups_open(&plain, &all)) return;
    if (groups_open(&m, &some)) {
        groups_fill(&b, &all, 0);
        CHECK(tfn_model_profile(&plain, &b.batch) == TFN_OK);
        CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
        before = groups_copy(&m);
        CHECK_BITS(plain.params, m.params, (size_t)m.param_floats * sizeof(float));
        groups_train(&plain, 0, 1);
        groups_train(&m, 0, 1);
        groups_compare(&plain, &m);
        groups_train(&plain, 1, 1);
        groups_train(&m, 1, 1);
        if (!strstr(all.recipe, "powernorm")) groups_compare(&plain, &m);    /* it reads nu */
        groups_train(&m, 2, 1);
        groups_resume(&m, &some);
        groups_unmoved(&m, before);
        groups_exact(&some, tfn_model_hash(&m));
        free(before);
        tfn_model_free(&m);
    }
    tfn_model_free(&plain);
}

TEST(groups_recipes_frozen)
{
    for (int i = 0; i < 3 * groups_recipes(); i++) groups_case(i, i % GROUPS_SETS);
}

/* -- names ------------------------------------------------------------------------------------- */

static tfn_model_desc groups_small(void)
{
    tfn_model_desc d = { 0 };
    d.vocab = GROUPS_V;
    d.context = GROUPS_T;
    d.batch = GROUPS_B;
    d.width = 8;
    d.layers = 2;
    d.threads = 1;
    return d;
}

/* A pattern freezes exactly the parameters whose names stand behind it. */
TEST(groups_patterns)
{
    static const struct { const char *pattern; int matches; } cases[] = {
        { "embedding.weight", 1 }, { "embedding", 0 }, { "*", 36 }, { "**", 36 }, { "?*", 36 },
        { "decoder.?.self.[qv].weight", 4 }, { "decoder.[1-3].*", 16 }, { "*norm*", 10 },
        { "*.bias", 17 }, { "*bia?", 17 }, { "decoder.0.*.norm_in.*s", 2 }, { "[ed]*", 36 },
        { "*.self.[a-r].*", 12 }, { "*.w[12].weight", 4 }, { "d*0*f*w*1*", 2 }, { "*[", 0 },
        { "*[q", 0 }, { "decoder.0.self.q.weigh", 0 }, { "decoder.0.self.q.weight?", 0 },
        { "*.[]", 0 }, { "[!-~]*", 36 }, { "[z-a]*", 0 }, { "*0.*.*.*", 16 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfn_model_desc d = groups_small();
        tfn_param_info p;
        tfn_model m;
        int frozen = 0;
        CASE("%s", cases[i].pattern);
        strcpy(d.groups[3].pattern, cases[i].pattern);
        d.groups[3].frozen = true;
        CHECK((tfn_model_new(&m, &d, NULL) == TFN_OK) == (cases[i].matches > 0));
        for (int32_t k = 0; tfn_model_param(&m, k, &p); k++) frozen += p.frozen;
        CHECK_INT(frozen, cases[i].matches);
        if (!cases[i].matches) CHECK(m.error.status == TFN_NOT_FOUND);
        tfn_model_free(&m);
    }
}

/* A text, what the model says of it, and the text that a checkpoint has. */
TEST(groups_texts)
{
    static const struct { const char *text, *error; } cases[] = {
        { "*.bias", NULL }, { "*.bias rate=0.5 decay=0", NULL }, { "*.bias frozen", NULL },
        { "*.bias rate=2e-3  decay=0.25", NULL },
        { "", "is no pattern" }, { " *.bias", "is no pattern" }, { "*.bias frozn", "is no pattern" },
        { "*.bias rate=0", "is no pattern" }, { "*.bias rate=x", "is no pattern" },
        { "*.bias decay=-1", "is no pattern" }, { "*.bias decay=", "is no pattern" },
        { "*.bias rate=1 2", "is no pattern" }, { "*.bias frozen5", "is no pattern" },
        { "*.a-pattern-of-44-characters-which-is-too-long", "is no pattern" },
        { "*.bias rate=1e7", "or at most 1e6" }, { "*.bias decay=2000", "at most 1e3" },
        { "*.biass frozen", "no parameter is called *.biass; did you mean decoder.0.self.norm_in.bias?" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfn_model_desc d = groups_small();
        tfn_error e;
        tfn_model m;
        char text[300];
        bool good = tfn_group_add(&d, cases[i].text, &e);
        CASE("%s", cases[i].text);
        memset(&m, 0, sizeof m);
        if (good) {
            good = tfn_model_new(&m, &d, NULL) == TFN_OK;
            e = m.error;
        }
        tfn_error_text(&e, text, sizeof text);
        CHECK(good == !cases[i].error);
        if (!good && !strstr(text, cases[i].error)) FAIL("%s", text);
        tfn_model_free(&m);
    }
}

/* Numbers outside their ranges, a pattern without an end, too many groups. */
TEST(groups_refused)
{
    static const float rates[] = { -1, 1e-20f, 2e6f, (float)NAN, (float)INFINITY };
    static const float decays[] = { -2, -0.5f, 1e4f, (float)NAN };
    tfn_model_desc d, out;
    tfn_error e;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        d = groups_small();
        strcpy(d.groups[0].pattern, "*");
        d.groups[0].rate = rates[i];
        CHECK(!tfn_model_resolve(&out, &d, &e) && e.status == TFN_BAD_OPTION);
    }
    for (size_t i = 0; i < sizeof decays / sizeof *decays; i++) {
        d = groups_small();
        strcpy(d.groups[0].pattern, "*");
        d.groups[0].decay = decays[i];
        CHECK(!tfn_model_resolve(&out, &d, &e) && e.status == TFN_BAD_OPTION);
    }
    d = groups_small();
    memset(d.groups[0].pattern, 'a', sizeof d.groups[0].pattern);
    CHECK(!tfn_model_resolve(&out, &d, &e) && e.status == TFN_BAD_OPTION);
    d = groups_small();
    d.groups[1].rate = -5;                      /* without a pattern it is no group */
    CHECK(tfn_model_resolve(&out, &d, &e));
    for (int i = 0; i < TFN_MOST_GROUPS; i++) CHECK(tfn_group_add(&d, "*", &e));
    CHECK(!tfn_group_add(&d, "*", &e) && e.status == TFN_BAD_OPTION);
}

/* -- rates and decay --------------------------------------------------------------------------- */

/* One update of plain SGD: p - lr rate (g/tokens + decay p), with the last group that matches. */
TEST(groups_rates)
{
    tfn_model_desc d = groups_small();
    groups_batch b;
    tfn_report report;
    tfn_param_info p;
    tfn_model m;
    float *before;
    d.optimizer = TFN_OPTIMIZER_SGD;
    d.schedule.lr = 0.5f;
    d.decay = 0.25f;
    CHECK(tfn_group_add(&d, "decoder.0.* rate=3", NULL));
    CHECK(tfn_group_add(&d, "*.w?.weight decay=0", NULL));
    CHECK(tfn_group_add(&d, "*norm* rate=0.5 decay=0.125", NULL));
    if (!groups_open(&m, &d)) return;
    before = groups_copy(&m);
    groups_fill(&b, &m.desc, 1);
    CHECK(tfn_model_step(&m, &b.batch, &report) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        const bool norm = strstr(p.name, "norm") != NULL;
        const bool first = strstr(p.name, "decoder.0.") != NULL;
        const bool ffn = strstr(p.name, ".w1.weight") || strstr(p.name, ".w2.weight");
        const bool bias = strstr(p.name, ".bias") != NULL;
        float rate = 1;
        float decay = 0.25f;
        if (first) rate = 3;
        if (bias) decay = 0;
        if (ffn) {
            rate = 1;
            decay = 0;
        }
        if (norm) {
            rate = 0.5f;
            decay = 0.125f;
        }
        CASE("%s", p.name);
        CHECK_CLOSE((double)p.rate, (double)rate, 1e-9);
        CHECK(p.decay == (decay > 0));
        for (int k = 0; k < p.rows * p.cols; k++) {
            const float old = before[p.data - m.params + k];
            const float by = p.grad[k] / (float)report.tokens + decay * old;
            CHECK_CLOSE((double)p.data[k], (double)(old - 0.5f * rate * by), 1e-6);
        }
    }
    free(before);
    tfn_model_free(&m);
}

/* A checkpoint is loaded to train on by a model with the same groups; its weights by any. */
TEST(groups_loaded)
{
    static unsigned char saved[GROUPS_SAVED];
    tfn_model_desc d = groups_small();
    tfn_model m, other;
    tfn_file f;
    char text[300];
    memset(&f, 0, sizeof f);
    if (!groups_open(&m, &d)) return;
    groups_train(&m, 0, 2);
    f.to = saved;
    f.to_size = sizeof saved;
    CHECK(tfn_model_save(&f, &m, NULL) == TFN_OK);
    f.from = saved;
    f.from_size = (size_t)f.used;
    CHECK(tfn_group_add(&d, "decoder.* frozen", NULL));
    if (groups_open(&other, &d)) {
        CHECK(tfn_model_load(&other, &f) == TFN_BAD_SHAPE);
        tfn_error_text(&f.error, text, sizeof text);
        if (!strstr(text, "groups[0] is not given, the model has decoder.* frozen"))
            FAIL("%s", text);
        memset(&f.error, 0, sizeof f.error);
        CHECK(tfn_model_load_weights(&other, &f, 1) == TFN_OK);
        CHECK(tfn_model_hash(&m) == tfn_model_hash(&other));
        CHECK(tfn_model_save(&f, &other, NULL) == TFN_OK);
        f.from_size = (size_t)f.used;
        CHECK(tfn_model_load(&m, &f) == TFN_BAD_SHAPE);
        tfn_error_text(&f.error, text, sizeof text);
        if (!strstr(text, "groups[0] is decoder.* frozen, the model has none")) FAIL("%s", text);
        tfn_model_free(&other);
    }
    d.inference = true;
    if (groups_open(&other, &d)) {
        memset(&f.error, 0, sizeof f.error);
        CHECK(tfn_model_load(&other, &f) == TFN_OK);
        CHECK(other.memory.gradients == 0 && other.memory.moments == 0);
        tfn_model_free(&other);
    }
    tfn_model_free(&m);
}

/* All is frozen: nothing moves, nothing is kept for it. */
TEST(groups_all_frozen)
{
    tfn_model_desc d = groups_small();
    tfn_model m;
    uint64_t hash;
    CHECK(tfn_group_add(&d, "* frozen", NULL));
    if (!groups_open(&m, &d)) return;
    hash = tfn_model_hash(&m);
    groups_train(&m, 0, 2);
    CHECK(tfn_model_hash(&m) == hash && m.step == 2);
    CHECK(m.memory.gradients == 0 && m.memory.moments == 0);
    tfn_model_free(&m);
}

int main(void)
{
    RUN(groups_patterns);
    RUN(groups_texts);
    RUN(groups_refused);
    RUN(groups_rates);
    RUN(groups_loaded);
    RUN(groups_all_frozen);
    RUN(groups_recipes_frozen);
    return DONE();
}
