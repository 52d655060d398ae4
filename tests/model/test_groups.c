/* Groups of parameters: patterns, rates, decay, frozen weights, and LoRA. Every recipe is trained
 * with a part of its tensors frozen: these keep their bits and have neither gradient nor moments;
 * the others have the gradients of the model that trains everything; sizes are exact; resumed runs
 * and threads have the same bits. Every recipe with LoRA starts like the model without it and
 * leaves the base unchanged; folded, or saved as an adapter, it is the same function. */
#include <stdint.h>
#include "../lib.h"
#include "../check.h"
#include "../batch.h"
#include "../golden/golden.h"
#include "../golden/golden_lora.h"

enum { GROUPS_B = 2, GROUPS_T = 5, GROUPS_TS = 4, GROUPS_V = 13, GROUPS_BANDS = 3,
       GROUPS_SAVED = 1 << 21 };

/* -- models and batches ------------------------------------------------------------------------ */

/* Options for the recipes, in turn. */
static const tfn_model_desc groups_turns[] = {
    { .optimizer = TFN_OPTIMIZER_ADAMW, .decay = 0.1f },
    { .optimizer = TFN_OPTIMIZER_SGD, .activation = TFN_ACTIVATION_SWIGLU, .dropout = 0.125f,
      .norm_warmup = 3, .untied = true, .clip = 1 },
    { .optimizer = TFN_OPTIMIZER_RADAM, .dropout = 0.125f, .recompute = true, .decay_all = true,
      .decay = 0.1f },
    { .optimizer = TFN_OPTIMIZER_ADAM, .half = true, .loss_scale = 1 },
    { .optimizer = TFN_OPTIMIZER_MUON, .decay = 0.1f },
    { .optimizer = TFN_OPTIMIZER_ADAFACTOR, .ema = 0.5f }
};
enum { GROUPS_TURNS = sizeof groups_turns / sizeof *groups_turns };

/* Groups that freeze: at the bottom, at the top, maps, vectors (and a map, for recipes without a
 * bias), and in between. */
static const char *const groups_frozen[][3] = {
    { "*.0.* frozen" },
    { "*.1.* frozen" },
    { "*weight frozen" },
    { "* frozen", "*weight", "*.1.*.w2.weight frozen" },
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

/* Case i: every recipe with every architecture. */
static tfn_model_desc groups_desc(int i)
{
    tfn_model_desc d = groups_turns[(i / 3 + i % 3) % GROUPS_TURNS];
    d.recipe = tfn_recipe_at(i / 3)->name;
    d.arch = (tfn_arch)(i % 3);
    d.vocab = GROUPS_V;
    d.context = GROUPS_T;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = GROUPS_TS;
    if (d.arch != TFN_ARCH_DECODER && i / 3 % 2) d.bands = GROUPS_BANDS;
    if (d.bands && i / 6 % 2) d.frame_map = TFN_FRAME_MAP_LINEAR;
    if (d.bands && d.arch == TFN_ARCH_ENCODER) {
        d.head = (tfn_head)(TFN_HEAD_SEQUENCE + i / 12 % 3);
        d.classes = d.numbers = GROUPS_V;
    }
    d.batch = GROUPS_B;
    d.width = strcmp(d.recipe, "prmsnorm") ? 12 : 64;
    d.heads = 2;
    d.ffn = 16;
    if (i % 8 == 1) d.beta1 = 0.9f;             /* SGD with and without momentum */
    d.micro_batches = 2;
    d.schedule.lr = 1e-3f;
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

/* Trains `count` micro-batches, from number `first` on. */
static void groups_train(tfn_model *m, int first, int count)
{
    batch_room b;
    tfn_report report = { 0 };
    char text[200];
    for (int i = first; i < first + count; i++) {
        batch_fill_uneven(&b, &m->desc, (uint64_t)i);
        if (tfn_model_step(m, &b.batch, &report) != TFN_OK)
            FAIL("%s", tfn_error_text(&m->error, text, sizeof text));
        if (report.skipped) FAIL("micro-batch %d: the update was skipped", i);
    }
}

/* -- frozen weights ---------------------------------------------------------------------------- */

static float *groups_copy(const tfn_model *m)
{
    const size_t bytes = (size_t)(m->param_floats + m->buffer_floats) * sizeof(float);
    float *copy = (float *)malloc(bytes);
    if (!copy) exit(2);
    memcpy(copy, m->params, bytes);
    return copy;
}

/* Gradients of the last step equal those of the model that trains everything, or do not exist. */
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
    if (m->desc.optimizer <= TFN_OPTIMIZER_RADAM)
        CHECK_INT(m->memory.moments * (size_t)plain->trained_floats,
                  plain->memory.moments * (size_t)trained);
    else CHECK(m->memory.moments <= plain->memory.moments);
    CHECK(m->memory.workspace <= plain->memory.workspace);
}

/* True for gradients that are 0 except for rounding, such as of a key's bias: these move
 * nothing. */
static bool groups_is_zero(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] < -1e-4f || x[i] > 1e-4f) return false;
    return true;
}

/* Frozen tensors have their old bits; others with a gradient have moved. */
static void groups_unmoved(const tfn_model *m, const float *before)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const float *old = before + (p.data - m->params);
        const size_t count = (size_t)p.rows * (size_t)p.cols;
        const bool same = !memcmp(old, p.data, count * sizeof(float));
        if (p.frozen && !same) FAIL("%s has moved", p.name);
        if (m->desc.clip > 0 || !p.grad || !same) continue;    /* clipping may make it tiny */
        if (!groups_is_zero(p.grad, count)) FAIL("%s has not moved", p.name);
    }
}

/* Saved during an update and loaded by another model: the bits of the run that continued. */
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
    if (!batch_open(&other, d)) return;
    if (tfn_model_load(&other, &f) != TFN_OK)
        FAIL("%s", tfn_error_text(&f.error, text, sizeof text));
    groups_train(m, 3, 3);
    groups_train(&other, 3, 3);
    CHECK(tfn_model_hash(m) == tfn_model_hash(&other));
    CHECK_BITS(m->moments, other.moments, m->memory.moments);
    tfn_model_free(&other);
}

/* A block of tfn_model_size bytes is enough, and one byte less is not. */
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
    two.threads = HOOK_THREADS(2);
    if (d->half || !batch_open(&m, &two)) return;
    groups_train(&m, 0, 6);
    CHECK(tfn_model_hash(&m) == hash);
    tfn_model_free(&m);
}

/* The first update profiles if the recipe does, which also sets frozen weights. */
static void groups_case(int i, int set)
{
    const tfn_model_desc all = groups_desc(i);
    const tfn_model_desc some = groups_freeze(all, set);
    batch_room b;
    float *before;
    tfn_model plain, m;
    if (!batch_open(&plain, &all)) return;
    if (batch_open(&m, &some)) {
        batch_fill_uneven(&b, &all, 0);
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
    const int step = check_tier() > 1 ? 1 : 2;
    for (int i = 0; i < 3 * groups_recipes(); i += step) groups_case(i, i % GROUPS_SETS);
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

/* A pattern freezes exactly the listed parameters. */
TEST(groups_patterns)
{
    static const struct { const char *pattern; int matches; } cases[] = {
        { "embedding.weight", 1 }, { "embedding", 0 }, { "*", 36 }, { "**", 36 }, { "?*", 36 },
        { "decoder.?.self.[qv].weight", 4 }, { "decoder.[1-3].*", 16 }, { "*norm*", 10 },
        { "*.bias", 17 }, { "*bia?", 17 }, { "decoder.0.*.norm_in.*s", 2 }, { "[ed]*", 36 },
        { "*.self.[a-r].*", 12 }, { "*.w[12].weight", 4 }, { "d*0*f*w*1*", 2 }, { "*[", 0 },
        { "*[q", 0 }, { "decoder.0.self.q.weigh", 0 }, { "decoder.0.self.q.weight?", 0 },
        { "*.[]", 0 }, { "[!-~]*", 36 }, { "decoder.[0-0].*", 16 }, { "decoder.[2-9].*", 0 }, { "[f-z]*", 0 },
        { "decoder.[b1-].*", 16 }, { "decoder.[-1].*", 16 }, { "decoder.[1-]*", 16 }, { "[z-a]*", 0 }, { "*0.*.*.*", 16 },
        { "decoder.[2-90].*", 16 }, { "decoder.[2-9a-z1].*", 16 }
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

/* If two patterns match nothing, the message is about the first. */
TEST(groups_first_pattern)
{
    tfn_model_desc d = groups_small();
    tfn_model m;
    char text[300];
    strcpy(d.groups[1].pattern, "*.biass");
    strcpy(d.groups[2].pattern, "embeding.weight");
    CHECK_INT(tfn_model_new(&m, &d, NULL), TFN_NOT_FOUND);
    tfn_error_text(&m.error, text, sizeof text);
    if (!strstr(text, "is called *.biass;")) FAIL("%s", text);
    tfn_model_free(&m);
}

/* A text, the model's message about it, and the text in a checkpoint. */
TEST(groups_texts)
{
    static const struct { const char *text, *error; } cases[] = {
        { "*.bias", NULL }, { "*.bias rate=0.5 decay=0", NULL }, { "*.bias frozen", NULL },
        { "*.bias rate=2e-3  decay=0.25", NULL },
        { "", "is not a pattern" }, { " *.bias", "is not a pattern" },
        { "*.bias frozn", "is not a pattern" }, { "*.bias rank=", "is not a pattern" },
        { "*.bias rate=0", "is not a pattern" }, { "*.bias rate=x", "is not a pattern" },
        { "*.bias decay=-1", "is not a pattern" }, { "*.bias decay=", "is not a pattern" },
        { "*.bias rate=1 2", "is not a pattern" }, { "*.bias frozen5", "is not a pattern" },
        { "*.a-pattern-of-46-characters-which-is-too-long", "has 46 characters, at most 43 fit" },
        { "*.bias alpha=2", "is not a pattern" },
        { "*.bias rate=1e7", "or at most 1000000" }, { "*.bias decay=2000", "at most 1000" },
        { "*.biass frozen", "is called *.biass; did you mean decoder.0.self.norm_in.bias?" },
        { "embedding* rank=2", "no linear map that can have LoRA is called embedding*" },
        { "decoder.0.self.q.bais rank=1", "did you mean decoder.0.self.q.weight?" },
        { "decoder.0.self.q.bais rank=2", "did you mean decoder.0.self.q.weight?" }
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

/* An error keeps as much of a name as fits. */
TEST(groups_long_text)
{
    tfn_model_desc d = groups_small();
    tfn_error e;
    char text[sizeof e.name + 2];
    memset(text, 'x', sizeof text);
    text[0] = ' ';                                  /* no pattern */
    for (size_t n = sizeof e.name - 2; n < sizeof text; n++) {
        const size_t kept = n < sizeof e.name ? n : sizeof e.name - 1;
        text[n] = 0;
        CHECK(!tfn_group_add(&d, text, &e));
        CHECK_INT(strlen(e.name), kept);
        CHECK(!memcmp(e.name, text, kept));
        text[n] = 'x';
    }
}

/* Numbers out of range, a pattern without an end, too many groups. */
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
    d.groups[1].rate = -5;                      /* ignored: without a pattern it is no group */
    CHECK(tfn_model_resolve(&out, &d, &e));
    for (int i = 0; i < TFN_MOST_GROUPS; i++) CHECK(tfn_group_add(&d, "*", &e));
    CHECK(!tfn_group_add(&d, "*", &e) && e.status == TFN_BAD_OPTION);
}

/* -- rates and decay --------------------------------------------------------------------------- */

/* One update of plain SGD: p - lr rate (g/tokens + decay p), with the last group that matches. */
/* Optimizers that treat each tensor separately: three times the rate moves three times as far. */
TEST(groups_rates_of_tensors)
{
    static const tfn_optimizer kinds[] = { TFN_OPTIMIZER_MUON, TFN_OPTIMIZER_ADAFACTOR };
    for (int i = 0; i < 2; i++) {
        tfn_model_desc d = groups_small();
        batch_room b;
        tfn_param_info p;
        tfn_model plain, m;
        float *before;
        d.optimizer = kinds[i];
        if (!batch_open(&plain, &d)) return;
        CHECK(tfn_group_add(&d, "decoder.0.* rate=3", NULL));
        if (!batch_open(&m, &d)) return;
        before = groups_copy(&m);
        batch_fill_uneven(&b, &m.desc, 1);
        CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
        CHECK(tfn_model_step(&plain, &b.batch, NULL) == TFN_OK);
        for (int32_t j = 0; tfn_model_param(&m, j, &p); j++) {
            const double rate = strstr(p.name, "decoder.0.") ? 3 : 1;
            const ptrdiff_t at = p.data - m.params;
            CASE("optimizer %d, %s", (int)kinds[i], p.name);
            for (int k = 0; k < p.rows * p.cols; k++) {
                const double old = (double)before[at + k];
                const double by = (double)plain.params[at + k] - old;
                CHECK_CLOSE((double)p.data[k] - old, rate * by, 1e-6);
            }
        }
        free(before);
        tfn_model_free(&m);
        tfn_model_free(&plain);
    }
}

TEST(groups_rates)
{
    tfn_model_desc d = groups_small();
    batch_room b;
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
    if (!batch_open(&m, &d)) return;
    before = groups_copy(&m);
    batch_fill_uneven(&b, &m.desc, 1);
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

/* A checkpoint is resumed only by a model with the same groups; any model loads its weights. */
TEST(groups_loaded)
{
    static unsigned char saved[GROUPS_SAVED];
    tfn_model_desc d = groups_small();
    tfn_model m, other;
    tfn_file f;
    char text[300];
    memset(&f, 0, sizeof f);
    if (!batch_open(&m, &d)) return;
    groups_train(&m, 0, 2);
    f.to = saved;
    f.to_size = sizeof saved;
    CHECK(tfn_model_save(&f, &m, NULL) == TFN_OK);
    f.from = saved;
    f.from_size = (size_t)f.used;
    CHECK(tfn_group_add(&d, "decoder.* frozen", NULL));
    if (batch_open(&other, &d)) {
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
    if (batch_open(&other, &d)) {
        memset(&f.error, 0, sizeof f.error);
        CHECK(tfn_model_load(&other, &f) == TFN_OK);
        CHECK(other.memory.gradients == 0 && other.memory.moments == 0);
        tfn_model_free(&other);
    }
    tfn_model_free(&m);
}

/* Everything is frozen: nothing moves and nothing is stored for it. */
TEST(groups_all_frozen)
{
    for (int optimizer = 0; optimizer < TFN_OPTIMIZER_COUNT; optimizer++) {
        tfn_model_desc d = groups_small();
        tfn_model m;
        uint64_t hash;
        d.optimizer = (tfn_optimizer)optimizer;
        CASE("%s", tfn_choice_name("optimizer", optimizer));
        CHECK(tfn_group_add(&d, "* frozen", NULL));
        if (!batch_open(&m, &d)) continue;
        hash = tfn_model_hash(&m);
        groups_train(&m, 0, 2);
        CHECK(tfn_model_hash(&m) == hash && m.step == 2);
        CHECK(m.memory.gradients == 0 && m.memory.moments == 0);
        tfn_model_free(&m);
    }
}

/* -- LoRA -------------------------------------------------------------------------------------- */

/* Loss, logits and the gradients of A and B from PyTorch (golden/make_lora.py). */
static void groups_golden(const char *name, const float *found, int count, double scale)
{
    const golden_row *row = golden_find(golden_lora, name);
    if (!row || row->count != count) {
        FAIL("no golden values for %s (%d numbers)", name, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        const double wanted = golden_lora_values[row->first + i];
        const double size = fabs(wanted) > 1 ? fabs(wanted) : 1;
        const double value = scale * (double)found[i];
        if (!(fabs(value - wanted) <= 2e-5 * size))
            FAIL("%s[%d] is %.7g, not %.7g", name, i, value, wanted);
    }
}

static void groups_draw(const tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const char *dot = strrchr(p.name, '.');
        const bool gain = strstr(p.name, "norm") && dot && !strcmp(dot, ".weight");
        const tfn_key key = golden_key(p.name);
        for (int32_t k = 0; k < p.rows * p.cols; k++) {
            p.data[k] = (p.rows > 1 ? 0.5f : 0.25f) * golden_draw(key, (uint64_t)k);
            if (gain) p.data[k] += 1;
        }
    }
}

TEST(groups_lora_golden)
{
    static const int32_t tokens[] = { 1, 7, 3, 3, 10, 4, 0, 2, 9, 5 };
    static const int32_t targets[] = { 7, 3, 3, 10, 6, 0, 2, 9, 5, 8 };
    tfn_model_desc d = { 0 };
    tfn_batch batch = { 0 };
    tfn_param_info p;
    tfn_sums sums;
    tfn_model m;
    float loss;
    int adapters = 0;
    d.vocab = 11;
    d.context = 5;
    d.batch = d.heads = 2;
    d.width = 8;
    d.ffn = 12;
    d.threads = 1;
    CHECK(tfn_group_add(&d, "*.self.[qv].* rank=3 alpha=6", NULL));
    CHECK(tfn_group_add(&d, "*.w1.weight rank=2 alpha=1", NULL));
    if (!batch_open(&m, &d)) return;
    groups_draw(&m);
    batch.tokens = tokens;
    batch.targets = targets;
    batch.batch = 2;
    batch.time = 5;
    CHECK(tfn_model_gradient(&m, &batch, 0, false, &sums) == TFN_OK);
    loss = (float)sums.loss;
    groups_golden("loss", &loss, 1, 1);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        CHECK(!p.grad == !strstr(p.name, ".lora_"));
        if (!p.grad) continue;
        groups_golden(p.name, p.grad, p.rows * p.cols, 1);
        adapters++;
    }
    CHECK_INT(adapters, 12);
    groups_golden("logits", tfn_model_logits(&m, &batch), 110, 1);
    tfn_model_free(&m);
}

/* Fed token by token or all at once, the scores of the last position are equal to the bit. */
static void groups_decodes(tfn_model *m, const batch_room *b)
{
    const size_t scratch = tfn_model_scratch(&m->desc);
    const tfn_norm_rule *norm = tfn_norm_find(m->desc.norm);
    tfn_batch batch = b->batch;
    const float *logits;
    tfn_decoder d;
    size_t size;
    void *room;
    void *block;
    if (m->desc.arch == TFN_ARCH_ENCODER || (norm->flags & TFN_FLAG_WHOLE)) return;
    room = malloc(scratch);
    size = tfn_decoder_size(m, GROUPS_B, 1, room, scratch);
    block = malloc(size);
    if (!room || !block) exit(2);
    batch.lengths = NULL;
    CHECK(tfn_decoder_init(&d, m, GROUPS_B, 1, block, size) == TFN_OK);
    if (batch.source_time) CHECK(tfn_decoder_start(&d, &batch) == TFN_OK);
    for (int t = 0; t < GROUPS_T; t++) {
        const int32_t next[] = { b->tokens[t], b->tokens[GROUPS_T + t] };
        const float *row = tfn_decoder_next(&d, next, 1, NULL);
        if (!row || t + 1 < GROUPS_T) continue;
        logits = tfn_model_logits(m, &batch);
        CHECK(logits != NULL);
        for (int k = 0; logits && k < GROUPS_B; k++)
            CHECK_BITS(row + k*GROUPS_V, logits + ((k + 1)*GROUPS_T - 1)*GROUPS_V,
                       GROUPS_V * sizeof(float));
    }
    free(block);
    free(room);
}

/* The number of rows of logits: positions, or sentences. */
static int groups_rows(const tfn_model_desc *d)
{
    const bool each = d->head == TFN_HEAD_TOKENS || d->head == TFN_HEAD_POSITIONS;
    return each ? GROUPS_B * GROUPS_T : GROUPS_B;
}

/* Computes the logits of a batch. */
static bool groups_logits(tfn_model *m, const batch_room *b, float *to)
{
    const float *logits = tfn_model_logits(m, &b->batch);
    if (logits) memcpy(to, logits, (size_t)(groups_rows(&m->desc) * GROUPS_V) * sizeof *to);
    return logits != NULL;
}

/* LoRA on a tied output cannot be folded into a model that is also tied. */
static void groups_stays_tied(const tfn_model_desc *d, const tfn_model *m)
{
    tfn_model to;
    char text[200];
    if (!batch_open(&to, d)) return;
    CHECK(tfn_model_fold(&to, m) == TFN_BAD_OPTION);
    tfn_error_text(&to.error, text, sizeof text);
    if (!strstr(text, "LoRA of a tied output")) FAIL("%s", text);
    tfn_model_free(&to);
}

/* A folded model has A B in its matrices and no separate maps. So has a model without LoRA that is
 * not folded, except if a scale is next to the matrix, or the embedding's rows have length 1. */
static void groups_folds(const tfn_model_desc *d, tfn_model *m, const batch_room *b, bool fold)
{
    enum { ALL = GROUPS_B * GROUPS_T * GROUPS_V };
    const bool tied = d->head == TFN_HEAD_TOKENS && !d->untied;
    float one[ALL], two[ALL];
    tfn_model_desc folded = *d;
    tfn_param_info p;
    tfn_model to;
    char text[200];
    folded.inference = true;
    folded.folded = fold;
    folded.half = false;
    if (!fold) memset(folded.groups, 0, sizeof folded.groups);
    if (tied && !d->half) groups_stays_tied(&folded, m);
    folded.untied = tied || d->untied;
    if (d->half || !batch_open(&to, &folded)) return;
    if (tfn_model_fold(&to, m) != TFN_OK) {
        tfn_error_text(&to.error, text, sizeof text);
        const bool unit = tied && strstr(text, "untied differs");
        if (!unit && (fold || !strstr(text, "is added to gamma/sigma W"))) FAIL("%s", text);
        tfn_model_free(&to);
        return;
    }
    for (int32_t i = 0; tfn_model_param(&to, i, &p); i++) CHECK(!strstr(p.name, "lora"));
    CHECK(groups_logits(m, b, one) && groups_logits(&to, b, two));
    for (int i = 0; i < groups_rows(d) * GROUPS_V; i++) {
        if (groups_rows(d) > GROUPS_B && i / GROUPS_V % GROUPS_T >= 3) continue;    /* padding */
        CHECK_CLOSE((double)two[i], (double)one[i], 2e-3);
    }
    tfn_model_free(&to);
}

/* Saves a model, or only its trained weights, in memory, ready to be read. */
static void groups_put(tfn_file *f, unsigned char *to, const tfn_model *m, bool adapter)
{
    memset(f, 0, sizeof *f);
    f->to = to;
    f->to_size = GROUPS_SAVED;
    if (adapter) CHECK(tfn_model_save_adapter(f, m, NULL) == TFN_OK);
    else CHECK(tfn_model_save(f, m, NULL) == TFN_OK);
    f->from = to;
    f->from_size = (size_t)f->used;
}

/* Without LoRA, and not folded: copies all weights unchanged. */
static void groups_copies(const tfn_model_desc *d, const tfn_model *m)
{
    tfn_model to;
    char text[200];
    if (!batch_open(&to, d)) return;
    if (tfn_model_fold(&to, m) != TFN_OK) FAIL("%s", tfn_error_text(&to.error, text, sizeof text));
    CHECK(tfn_model_hash(&to) == tfn_model_hash(m));
    tfn_model_free(&to);
}

/* Saves the adapter and loads it onto the base, which was saved without LoRA. */
static void groups_adapts(const tfn_model_desc *all, const tfn_model *plain, const tfn_model *m)
{
    static unsigned char base[GROUPS_SAVED], adapter[GROUPS_SAVED];
    tfn_model_desc d;
    tfn_model to;
    tfn_file f, g;
    char text[300];
    groups_put(&f, base, plain, false);
    groups_put(&g, adapter, m, true);
    CHECK(g.used < 24000);
    CHECK(tfn_model_peek(&g, &d, NULL) == TFN_OK);
    CHECK(!memcmp(d.groups, m->desc.groups, sizeof d.groups));
    d.batch = all->batch;
    d.threads = 1;
    d.inference = true;
    if (batch_open(&to, &d)) {
        if (tfn_model_load_weights(&to, &f, 1) != TFN_OK)
            FAIL("%s", tfn_error_text(&f.error, text, sizeof text));
        if (tfn_model_load_weights(&to, &g, 1) != TFN_OK)
            FAIL("%s", tfn_error_text(&g.error, text, sizeof text));
        CHECK(tfn_model_hash(&to) == tfn_model_hash(m));
        tfn_model_free(&to);
    }
    d = *all;
    d.inference = true;
    if (batch_open(&to, &d)) {                             /* a model without LoRA refuses it */
        CHECK(tfn_model_load_weights(&to, &g, 1) == TFN_BAD_SHAPE);
        tfn_error_text(&g.error, text, sizeof text);
        if (!strstr(text, "rank=2 alpha=3, the model has none")) FAIL("%s", text);
        tfn_model_free(&to);
    }
}

static void groups_lora_case(int i)
{
    const tfn_model_desc all = groups_desc(i);
    tfn_model_desc some = all;
    tfn_report one, two;
    batch_room b;
    tfn_model plain, m;
    float *before;
    CASE("%s, arch %d", all.recipe, (int)all.arch);
    CHECK(tfn_group_add(&some, "*.[qvo].weight rank=2 alpha=3", NULL));
    CHECK(tfn_group_add(&some, "*.w?.* rank=3 rate=0.5", NULL));
    if (all.head == TFN_HEAD_TOKENS)
        CHECK(tfn_group_add(&some, "output.weight rank=2 alpha=1", NULL));
    if (!batch_open(&plain, &all)) return;
    if (batch_open(&m, &some)) {
        batch_fill_uneven(&b, &all, 0);
        CHECK(tfn_model_profile(&plain, &b.batch) == TFN_OK);
        CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
        CHECK(tfn_model_eval(&plain, &b.batch, &one) == TFN_OK);
        CHECK(tfn_model_eval(&m, &b.batch, &two) == TFN_OK);
        CHECK_BITS(&one.loss, &two.loss, sizeof one.loss);
        before = groups_copy(&m);
        groups_train(&m, 0, 3);
        groups_resume(&m, &some);
        groups_unmoved(&m, before);
        groups_exact(&some, tfn_model_hash(&m));
        groups_decodes(&m, &b);
        groups_folds(&some, &m, &b, true);
        groups_folds(&some, &m, &b, false);
        groups_adapts(&all, &plain, &m);
        groups_copies(&all, &plain);
        free(before);
        tfn_model_free(&m);
    }
    tfn_model_free(&plain);
}

TEST(groups_lora_recipes)
{
    for (int i = 0; i < groups_recipes(); i++) groups_lora_case(3*i + i % 3);
}

/* Other weights that train with LoRA, refused groups, and the bytes for gpt2's shape. */
TEST(groups_lora_groups)
{
    tfn_model_desc d = groups_small();
    tfn_param_info p;
    tfn_model m;
    d.untied = true;
    CHECK(tfn_group_add(&d, "*.q.weight rank=2", NULL));
    CHECK(tfn_group_add(&d, "*norm* rate=2", NULL));
    CHECK(tfn_group_add(&d, "output.weight rank=1 frozen", NULL));
    if (batch_open(&m, &d)) {
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
            const bool trains = strstr(p.name, "q.lora_") || strstr(p.name, "norm");
            if (p.frozen == trains) FAIL("%s", p.name);
        }
        CHECK(m.desc.groups[0].alpha > 1.5f && m.desc.groups[0].alpha < 2.5f);
        tfn_model_free(&m);
    }
    d = groups_small();
    CHECK(tfn_group_add(&d, "embedding.weight rank=2", NULL));
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_NOT_FOUND);
    d = groups_small();
    CHECK(!tfn_group_add(&d, "* rank=0", NULL) && !tfn_group_add(&d, "* rank=1.5", NULL));
    CHECK(!tfn_group_add(&d, "* rank=2 alpha=0", NULL));
}

/* A mean needs files with the same tensors; other files are named in the error and change
 * nothing. */
TEST(groups_lora_files)
{
    enum { BASE, ADAPTER, WHOLE, KINDS };
    static unsigned char room[KINDS][GROUPS_SAVED];
    const tfn_model_desc plain = groups_small();
    tfn_model_desc d = groups_small();
    tfn_file f[KINDS], two[2];
    tfn_model base, m, to;
    char text[300];
    CHECK(tfn_group_add(&d, "*.[qv].weight rank=2", NULL));
    if (!batch_open(&base, &plain)) return;
    if (batch_open(&m, &d)) {
        groups_train(&m, 0, 2);
        groups_put(&f[BASE], room[BASE], &base, false);
        groups_put(&f[ADAPTER], room[ADAPTER], &m, true);
        groups_put(&f[WHOLE], room[WHOLE], &m, false);
        for (int i = 0; i < KINDS * KINDS; i++) {
            uint64_t hash;
            CASE("files %d and %d", i / KINDS, i % KINDS);
            if (!batch_open(&to, &d)) break;
            hash = tfn_model_hash(&to);
            two[0] = f[i / KINDS];
            two[1] = f[i % KINDS];
            if (i / KINDS == i % KINDS) CHECK(tfn_model_load_weights(&to, two, 2) == TFN_OK);
            else {
                CHECK(tfn_model_load_weights(&to, two, 2) == TFN_NOT_FOUND);
                tfn_error_text(&two[1].error, text, sizeof text);
                if (!strstr(text, "is not in all files")) FAIL("%s", text);
                CHECK(tfn_model_hash(&to) == hash);
                groups_train(&to, 0, 1);
            }
            tfn_model_free(&to);
        }
        tfn_model_free(&m);
    }
    tfn_model_free(&base);
}

/* An adapter has no frozen LoRA, such as one below another; its model accepts it without. */
TEST(groups_lora_frozen)
{
    static unsigned char room[GROUPS_SAVED];
    tfn_model_desc d = groups_small();
    tfn_file f;
    tfn_model m;
    char text[300];
    CHECK(tfn_group_add(&d, "*.q.weight rank=2 frozen", NULL));
    CHECK(tfn_group_add(&d, "*.v.weight rank=2", NULL));
    if (!batch_open(&m, &d)) return;
    groups_train(&m, 0, 2);
    const uint64_t hash = tfn_model_hash(&m);
    groups_put(&f, room, &m, true);
    groups_train(&m, 2, 2);
    CHECK(tfn_model_hash(&m) != hash);
    if (tfn_model_load_weights(&m, &f, 1) != TFN_OK)
        FAIL("%s", tfn_error_text(&f.error, text, sizeof text));
    CHECK(tfn_model_hash(&m) == hash);
    tfn_model_free(&m);
}

/* Fine-tuning starts from the last weights of a base, even if that has averages. So a model for
 * inference takes these if it has LoRA and the base has none. */
static void groups_lora_average(const tfn_model_desc *base_desc)
{
    static unsigned char base_room[GROUPS_SAVED], room[GROUPS_SAVED];
    tfn_model_desc d = *base_desc;
    tfn_report wanted, found;
    tfn_model base, m, to;
    batch_room b;
    tfn_file f, g;
    CHECK(tfn_group_add(&d, "*.[qv].weight rank=2", NULL));
    if (!batch_open(&base, base_desc)) return;
    groups_train(&base, 0, 6);
    groups_put(&f, base_room, &base, false);
    tfn_model_free(&base);
    batch_fill_uneven(&b, &d, 9);
    if (!batch_open(&m, &d)) return;
    CHECK(tfn_model_load_weights(&m, &f, 1) == TFN_OK);
    groups_train(&m, 0, 4);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK);
    groups_put(&g, room, &m, true);
    CHECK(tfn_model_eval(&m, &b.batch, &wanted) == TFN_OK);
    tfn_model_free(&m);
    d.inference = true;
    if (!batch_open(&to, &d)) return;
    CHECK(tfn_model_load_weights(&to, &f, 1) == TFN_OK);
    CHECK(tfn_model_load_weights(&to, &g, 1) == TFN_OK);
    CHECK(tfn_model_eval(&to, &b.batch, &found) == TFN_OK);
    CHECK_BITS(&found.loss, &wanted.loss, sizeof found.loss);
    tfn_model_free(&to);
}
TEST(groups_lora_averages)
{
    tfn_model_desc d = groups_small();
    d.schedule.lr = 0.01f;
    d.ema = 0.9f;
    CASE("ema");
    groups_lora_average(&d);
    d.ema = 0;
    d.optimizer = TFN_OPTIMIZER_SCHEDULE_FREE;
    CASE("schedule-free");
    groups_lora_average(&d);
}

static size_t groups_bytes(const tfn_model_desc *d)
{
    const size_t scratch = tfn_model_scratch(d);
    void *room = malloc(scratch);
    const size_t bytes = tfn_model_size(d, room, scratch);
    free(room);
    return bytes;
}

TEST(groups_lora_memory)
{
    tfn_model_desc d = { 0 };
    tfn_model_desc infer;
    size_t bytes[3];
    double full;
    double lora;
    if (sizeof(size_t) < 8) SKIP("gpt2 wants 64 bits");
    d.vocab = 50257;
    d.context = 64;
    d.width = 768;
    d.layers = d.heads = 12;
    d.batch = 4;
    d.threads = 1;
    d.recompute = true;
    infer = d;
    infer.inference = true;
    bytes[0] = groups_bytes(&infer);
    bytes[1] = groups_bytes(&d);
    CHECK(tfn_group_add(&d, "decoder.*.self.[qv].weight rank=8", NULL));
    bytes[2] = groups_bytes(&d);
    full = (double)bytes[1] / (double)bytes[0];
    lora = (double)bytes[2] / (double)bytes[0];
    printf("       gpt2, B 4, T 64: inference %.0f MB; training with LoRA of q and v, rank 8, "
           "%.3f of it (%.0f MB), of all weights %.2f\n", (double)bytes[0] / 1e6, lora,
           (double)bytes[2] / 1e6, full);
    CHECK(bytes[0] > 0 && lora <= 1.15 && full > 3);
}

int main(void)
{
    RUN(groups_patterns);
    RUN(groups_first_pattern);
    RUN(groups_texts);
    RUN(groups_long_text);
    RUN(groups_refused);
    RUN(groups_rates);
    RUN(groups_rates_of_tensors);
    RUN(groups_loaded);
    RUN(groups_all_frozen);
    RUN(groups_recipes_frozen);
    RUN(groups_lora_golden);
    RUN(groups_lora_groups);
    RUN(groups_lora_files);
    RUN(groups_lora_frozen);
    RUN(groups_lora_averages);
    RUN(groups_lora_memory);
    RUN(groups_lora_recipes);
    return DONE();
}
