/* A skipped update changes nothing. For every recipe a number that is not finite appears at each
 * place, in each of three micro-batches, in the first update (which profiles, or was profiled
 * before) and in a later one. Then parameters, running statistics, moments, profile and step are as
 * before the first micro-batch, and training continues as if the update had not been tried. */
#include <stdint.h>
#include "../lib.h"
#include "../check.h"
#include "../batch.h"

enum { SKIP_B = 2, SKIP_T = 5, SKIP_TS = 4, SKIP_V = 13, SKIP_BANDS = 3, SKIP_MICRO = 3 };

/* -- models and batches -------------------------------------------------------------------- */

static int skip_recipes(void)
{
    int n = 0;
    while (tfn_recipe_at(n)) n++;
    return n;
}

/* Options for the recipes, in turn. */
static const tfn_model_desc skip_turns[] = {
    { .optimizer = TFN_OPTIMIZER_ADAMW, .activation = TFN_ACTIVATION_GELU, .untied = true },
    { .optimizer = TFN_OPTIMIZER_SGD, .activation = TFN_ACTIVATION_SWIGLU, .dropout = 0.125f,
      .norm_warmup = 3 },
    { .optimizer = TFN_OPTIMIZER_RADAM, .activation = TFN_ACTIVATION_GELU, .untied = true,
      .dropout = 0.125f, .recompute = true },
    { .optimizer = TFN_OPTIMIZER_ADAMW, .activation = TFN_ACTIVATION_SWIGLU, .norm_warmup = 3,
      .ema = 0.9f },
    { .optimizer = TFN_OPTIMIZER_LION, .activation = TFN_ACTIVATION_GELU, .untied = true,
      .dropout = 0.125f, .clip_value = 0.01f },
    { .optimizer = TFN_OPTIMIZER_MUON, .activation = TFN_ACTIVATION_GELU },
    { .optimizer = TFN_OPTIMIZER_ADAFACTOR, .activation = TFN_ACTIVATION_SWIGLU, .untied = true,
      .relative_rate = true },
    { .optimizer = TFN_OPTIMIZER_SCHEDULE_FREE, .activation = TFN_ACTIVATION_GELU }
};
enum { SKIP_TURNS = sizeof skip_turns / sizeof *skip_turns };

/* Each recipe with another stack in every round. */
static tfn_model_desc skip_desc(int recipe, int round)
{
    tfn_model_desc d = skip_turns[recipe % SKIP_TURNS];
    d.recipe = tfn_recipe_at(recipe)->name;
    d.arch = (tfn_arch)((recipe + round) % 3);
    CASE("%s, arch %d, round %d", d.recipe, (int)d.arch, round);
    d.vocab = SKIP_V;
    d.context = SKIP_T;
    d.source_context = d.arch == TFN_ARCH_ENCODER_DECODER ? SKIP_TS : 0;
    d.bands = d.arch != TFN_ARCH_DECODER && recipe / 3 % 2 == round / 3 % 2 ? SKIP_BANDS : 0;
    if (d.bands && recipe / 6 % 2) d.frame_map = TFN_FRAME_MAP_LINEAR;
    if (d.bands && d.arch == TFN_ARCH_ENCODER) {
        d.head = (tfn_head)(TFN_HEAD_SEQUENCE + (recipe / 12 + round) % 3);
        d.classes = d.numbers = SKIP_V;
    }
    d.batch = SKIP_B;
    d.width = strcmp(d.recipe, "prmsnorm") ? 12 : 64;
    d.layers = d.decoder_layers = 2;
    d.heads = 2;
    d.ffn = 16;
    /* has no norm, so it would diverge and its own updates be skipped */
    if (!strcmp(d.recipe, "hanin-rolnick")) d.activation = TFN_ACTIVATION_GELU;
    d.beta1 = recipe % 8 == 1 ? (float)0.9 : 0;             /* SGD with and without momentum */
    d.micro_batches = SKIP_MICRO;
    d.schedule.lr = (float)1e-3;
    d.probes = true;
    d.seed = (uint64_t)recipe;
    d.threads = 1;
    return d;
}

/* -- everything that an update can change -------------------------------------------------- */

typedef struct skip_state {
    float  *params, *moments;            /* the buffers follow the parameters */
    float  *averages;                    /* made by the first update */
    size_t  param_bytes, moment_bytes, average_bytes;
    double  rate_squares;                /* for schedule-free AdamW */
    int64_t step;
    bool    profiled;
} skip_state;

static void *skip_copy(const void *from, size_t bytes)
{
    void *p = malloc(bytes + 1);
    if (!p) exit(2);
    if (bytes) memcpy(p, from, bytes);
    return p;
}
static skip_state skip_save(const tfn_model *m)
{
    skip_state s;
    s.param_bytes = (size_t)(m->param_floats + m->buffer_floats) * sizeof(float);
    s.moment_bytes = m->memory.moments;
    s.params = (float *)skip_copy(m->params, s.param_bytes);
    s.moments = (float *)skip_copy(m->moments, s.moment_bytes);
    s.average_bytes = m->memory.averages;
    s.averages = (float *)skip_copy(m->averages, s.average_bytes);
    s.rate_squares = m->rate_squares;
    s.step = m->step;
    s.profiled = m->profiled;
    return s;
}
static void skip_free(skip_state *s)
{
    free(s->params);
    free(s->moments);
    free(s->averages);
}
/* The name of a difference, or NULL. */
static const char *skip_differs(const tfn_model *m, const skip_state *s)
{
    if (memcmp(m->params, s->params, (size_t)m->param_floats * sizeof(float))) return "parameters";
    if (memcmp(m->params, s->params, s->param_bytes)) return "running statistics";
    if (s->moment_bytes && memcmp(m->moments, s->moments, s->moment_bytes)) return "moments";
    if (s->step && s->average_bytes && memcmp(m->averages, s->averages, s->average_bytes))
        return "averages";
    if (m->rate_squares != s->rate_squares) return "sum of rates";
    if (m->step != s->step) return "step";
    if (m->profiled != s->profiled) return "profile";
    return m->micro || m->sums.targets ? "micro-batches" : NULL;
}
static void skip_restore(tfn_model *m, const skip_state *s)
{
    memcpy(m->params, s->params, s->param_bytes);
    if (s->moment_bytes) memcpy(m->moments, s->moments, s->moment_bytes);
    if (s->average_bytes) memcpy(m->averages, s->averages, s->average_bytes);
    m->rate_squares = s->rate_squares;
    m->step = s->step;
    m->profiled = s->profiled;
    m->micro = 0;
    memset(&m->sums, 0, sizeof m->sums);
}

/* -- places of the bad number -------------------------------------------------------------- */

enum { SKIP_PARAM_NAN, SKIP_PARAM_INF, SKIP_PARAM_HUGE, SKIP_LAST_NAN, SKIP_ACTIVATION,
       SKIP_GRADIENT, SKIP_STATISTIC, SKIP_NO_TARGET, SKIP_FRAME_NAN, SKIP_FRAME_INF,
       SKIP_FRAME_HUGE, SKIP_PLACES };
static const char *const skip_places[SKIP_PLACES] = {
    "NaN in a parameter", "infinity in a parameter", "a huge parameter",
        "NaN in the last parameter",
    "NaN in an activation", "NaN in a gradient", "infinity in a running statistic", "no target",
    "NaN in a frame", "infinity in a frame", "a huge frame"
};

/* A probe that writes into the values that it should only read. */
static void skip_spoil(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                       bool backward)
{
    union { const float *in; float *out; } u;
    u.in = data;
    (void)rows, (void)cols;
    if (tfn_probe_of(id).point != TFN_WATCH_READ) return;
    if (backward == (*(int *)user == SKIP_GRADIENT)) u.out[0] = (float)NAN;
}

/* A parameter that every batch uses, or the last one; or a running statistic; NULL: none. */
static float *skip_number(const tfn_model *m, int place)
{
    float *found = NULL;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (place == SKIP_STATISTIC && strstr(p.name, ".running_")) return p.data;
        if (place == SKIP_STATISTIC || !p.grad) continue;
        if (place != SKIP_LAST_NAN && strstr(p.name, "q.weight")) return p.data;
        found = p.data;
    }
    return found;
}

static float skip_value(int place)
{
    switch (place) {
    case SKIP_PARAM_INF: case SKIP_STATISTIC: case SKIP_FRAME_INF: return (float)INFINITY;
    case SKIP_PARAM_HUGE: case SKIP_FRAME_HUGE: return (float)1e38;
    default: return (float)NAN;
    }
}

static bool skip_is_stored(int place) { return place <= SKIP_LAST_NAN || place == SKIP_STATISTIC; }

/* One micro-batch with a bad number at `place`. A stored one is restored afterwards if it is still
 * there; one before the first micro-batch stays. */
static void skip_spoilt_step(tfn_model *m, batch_room *b, int place, tfn_report *report)
{
    const float bad = skip_value(place);
    float *x = skip_is_stored(place) && m->micro ? skip_number(m, place) : NULL, old = x ? *x : 0;
    int which = place;
    if (x) *x = bad;
    if (place >= SKIP_FRAME_NAN) b->frames[7] = bad;
    if (place == SKIP_ACTIVATION || place == SKIP_GRADIENT)
        CHECK(tfn_model_watch(m, skip_spoil, &which) == TFN_OK);
    CHECK(tfn_model_step(m, &b->batch, report) == TFN_OK);
    CHECK(tfn_model_watch(m, NULL, NULL) == TFN_OK);
    if (x && !memcmp(x, &bad, sizeof bad)) *x = old;
}

/* An update whose micro-batch `at` has a bad number at `place`, or none. */
static void skip_update(tfn_model *m, uint64_t seed, int place, int at, tfn_report *report)
{
    for (int i = 0; i < m->desc.micro_batches; i++) {
        static batch_room b;
        batch_fill_uneven(&b, &m->desc, seed + (uint64_t)i);
        for (int j = 0; j < SKIP_B * SKIP_T && place == SKIP_NO_TARGET; j++) b.targets[j] = -1;
        for (int j = 0; j < SKIP_B * SKIP_V && place == SKIP_NO_TARGET; j++)
            b.numbers[j] = (float)NAN;
        if (i == at && place != SKIP_NO_TARGET) skip_spoilt_step(m, &b, place, report);
        else CHECK(tfn_model_step(m, &b.batch, report) == TFN_OK);
    }
}

static bool skip_has_place(const tfn_model *m, int place, int at)
{
    if (place == SKIP_STATISTIC) return skip_number(m, place) != NULL;
    if (place == SKIP_NO_TARGET) return at == 0;
    return place < SKIP_FRAME_NAN || m->desc.bands;
}

/* True if the number may have no effect: it is only large, or a statistic that is restored. */
static bool skip_may_pass(int place, int at)
{
    return place == SKIP_PARAM_HUGE || place == SKIP_FRAME_HUGE
        || (place == SKIP_STATISTIC && at == 1);
}

/* -- every recipe, place, micro-batch, and time -------------------------------------------- */

enum { SKIP_FIRST, SKIP_PROFILED, SKIP_TRAINED, SKIP_WHENS };
static const char *const skip_whens[] = { "first update", "profiled before", "later update" };

typedef struct skip_count { int tried, skipped; } skip_count;

static void skip_begin(tfn_model *m, int when)
{
    static batch_room b;
    tfn_report report;
    batch_fill_uneven(&b, &m->desc, 99);
    if (when == SKIP_PROFILED) CHECK(tfn_model_profile(m, &b.batch) == TFN_OK);
    if (when == SKIP_TRAINED) skip_update(m, 77, 0, -1, &report);
}

static void skip_one(tfn_model *m, int place, int at, int when, skip_count *count)
{
    float *stored = skip_is_stored(place) && !at ? skip_number(m, place) : NULL;
    const float old = stored ? *stored : 0;
    const char *differs;
    skip_state before;
    tfn_report report;
    if (stored) *stored = skip_value(place);
    before = skip_save(m);
    skip_update(m, 5, place, at, &report);
    count->tried++;
    count->skipped += report.skipped;
    differs = report.skipped ? skip_differs(m, &before) : NULL;
    if (differs)
        FAIL("%s, %s, %s, micro-batch %d: other %s", m->desc.recipe, skip_whens[when],
             skip_places[place], at + 1, differs);
    if (!report.skipped && !skip_may_pass(place, at))
        FAIL("%s, %s, %s, micro-batch %d: not skipped", m->desc.recipe, skip_whens[when],
             skip_places[place], at + 1);
    if (differs || !report.skipped) skip_restore(m, &before);
    if (stored) *stored = old;
    skip_free(&before);
}

static void skip_recipe(const tfn_model_desc *d, int when, skip_count *count)
{
    tfn_model m, twin;
    tfn_report one, two;
    skip_state end;
    const char *differs;
    if (!batch_open(&m, d) || !batch_open(&twin, d)) return;
    skip_begin(&m, when);
    skip_begin(&twin, when);
    for (int i = 0; i < SKIP_PLACES * SKIP_MICRO; i++) {
        const int place = i / SKIP_MICRO, at = i % SKIP_MICRO;
        if (!skip_has_place(&m, place, at)) continue;
        skip_one(&m, place, at, when, count);
    }
    skip_update(&m, 11, 0, -1, &one);
    skip_update(&twin, 11, 0, -1, &two);
    end = skip_save(&twin);
    differs = skip_differs(&m, &end);
    if (differs || memcmp(&one, &two, sizeof one) || !two.updated)
        FAIL("%s, %s: goes on with other %s", d->recipe, skip_whens[when],
             differs ? differs : "reports");
    skip_free(&end);
    tfn_model_free(&m);
    tfn_model_free(&twin);
}

/* In the full tier on all architectures, with and without frames. */
TEST(skip_changes_nothing)
{
    const int rounds = check_tier() >= 2 ? 6 : 1;
    skip_count count = { 0, 0 };
    for (int recipe = 0; recipe < skip_recipes(); recipe++)
        for (int round = 0; round < rounds; round++)
            for (int when = 0; when < SKIP_WHENS; when++) {
                const tfn_model_desc d = skip_desc(recipe, round);
                skip_recipe(&d, when, &count);
            }
    printf("  %d updates were spoilt, %d of them skipped%s\n", count.tried, count.skipped,
           rounds > 1 ? "" : "; left out: two architectures of each recipe");
    CHECK(count.skipped > count.tried * 2 / 3);
}

/* -- a profile on request -------------------------------------------------------------------- */

/* Refused without a change, or without effect; a good profile afterwards equals the first. */
static void skip_check_refusal(tfn_model *m, batch_room *b, int place, int *refused)
{
    static const int32_t empty[SKIP_B] = { 0, 0 };
    float *x = skip_is_stored(place) ? skip_number(m, place) : NULL;
    const float old = x ? *x : 0;
    const char *differs;
    skip_state before;
    tfn_status status;
    if (x) *x = skip_value(place);
    if (place >= SKIP_FRAME_NAN) b->frames[7] = skip_value(place);
    if (place == SKIP_NO_TARGET) b->batch.lengths = empty;           /* here: no rows either */
    before = skip_save(m);
    status = tfn_model_profile(m, &b->batch);
    differs = skip_differs(m, &before);
    *refused += status == TFN_NOT_FINITE;
    if (status != TFN_OK && differs)
        FAIL("%s, profile with %s: other %s", m->desc.recipe, skip_places[place], differs);
    if (status == TFN_OK) skip_restore(m, &before);
    if (x) *x = old;
    skip_free(&before);
}

TEST(skip_refused_profiles)
{
    int refused = 0;
    for (int recipe = 0; recipe < skip_recipes(); recipe++)
        for (int round = 0; round < 6; round++) {
            const tfn_model_desc d = skip_desc(recipe, round);
            static batch_room b;
            tfn_model m, twin;
            skip_state end;
            if (!batch_open(&m, &d) || !batch_open(&twin, &d)) return;
            for (int place = 0; place < SKIP_PLACES; place++) {
                if (!skip_has_place(&m, place, 0)) continue;
                batch_fill_uneven(&b, &d, 3);
                skip_check_refusal(&m, &b, place, &refused);
            }
            batch_fill_uneven(&b, &d, 3);
            CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
            CHECK(tfn_model_profile(&twin, &b.batch) == TFN_OK);
            end = skip_save(&twin);
            if (skip_differs(&m, &end)) FAIL("%s: another profile", d.recipe);
            skip_free(&end);
            tfn_model_free(&m);
            tfn_model_free(&twin);
        }
    printf("  %d profiles were refused\n", refused);
    CHECK(refused >= 3 * 6 * 4);                /* for three recipes */
}

/* -- saved and loaded between two micro-batches ----------------------------------------------- */

enum { SKIP_FILE = 1 << 22 };

static unsigned char skip_bytes[SKIP_FILE];

static tfn_file skip_to_memory(const tfn_model *m)
{
    char text[200];
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.to = skip_bytes;
    f.to_size = sizeof skip_bytes;
    if (tfn_model_save(&f, m, NULL) != TFN_OK)
        FAIL("%s: %s", m->desc.recipe, tfn_error_text(&f.error, text, sizeof text));
    f.from = skip_bytes;
    f.from_size = (size_t)f.used;
    f.to = NULL;
    return f;
}
static void skip_through_file(tfn_model *to, const tfn_model *from)
{
    tfn_file f = skip_to_memory(from);
    char text[200];
    if (tfn_model_load(to, &f) != TFN_OK)
        FAIL("%s: %s", from->desc.recipe, tfn_error_text(&f.error, text, sizeof text));
}

/* The micro-batches from `first` to the last, which may have a bad number. */
static void skip_rest(tfn_model *m, int first, int last, bool spoilt, tfn_report *report)
{
    static batch_room b;
    for (int i = first; i <= last; i++) {
        batch_fill_uneven(&b, &m->desc, 40 + (uint64_t)i);
        if (spoilt && i == last) skip_spoilt_step(m, &b, SKIP_ACTIVATION, report);
        else CHECK(tfn_model_step(m, &b.batch, report) == TFN_OK);
    }
}

/* A run that was resumed between micro-batches undoes a skipped update and continues like one
 * without interruption. The model that resumes it has its own past. */
static void skip_resumed(const tfn_model_desc *d, int when, int cut, bool spoilt)
{
    tfn_model m, other;
    tfn_report report, twin;
    skip_state before, after;
    const char *differs;
    if (!batch_open(&m, d) || !batch_open(&other, d)) return;
    skip_update(&other, 500, 0, -1, &report);
    skip_begin(&m, when);
    before = skip_save(&m);
    skip_rest(&m, 0, cut, false, &report);
    skip_through_file(&other, &m);
    skip_rest(&other, cut + 1, SKIP_MICRO - 1, spoilt, &report);
    skip_rest(&m, cut + 1, SKIP_MICRO - 1, spoilt, &twin);
    after = skip_save(&m);
    differs = skip_differs(&other, spoilt ? &before : &after);
    if (!differs) differs = skip_differs(&other, &after);
    if (differs || report.skipped != spoilt || memcmp(&report, &twin, sizeof twin))
        FAIL("%s, %s, saved after micro-batch %d%s: other %s", d->recipe, skip_whens[when], cut + 1,
             spoilt ? ", then spoilt" : "", differs ? differs : "report");
    skip_free(&before);
    skip_free(&after);
    tfn_model_free(&m);
    tfn_model_free(&other);
}

TEST(skip_after_resuming)
{
    for (int recipe = 0; recipe < skip_recipes(); recipe++)
        for (int when = 0; when < SKIP_WHENS; when++)
            for (int i = 0; i < 4; i++) {
                const tfn_model_desc d = skip_desc(recipe, when);
                if (check_tier() < 2 && (recipe + when + i) % 4 != 0) continue;
                skip_resumed(&d, when, i / 2, i % 2 == 0);
            }
    if (check_tier() < 2) printf("  left out: three quarters of the cases\n");
}

/* A file of version 0.1, saved between two micro-batches, has no copies: the current values count
 * as the old ones. Parameters of an open profile do not, because 0.1 had no such profile. */
TEST(skip_old_file)
{
    static const char *const recipes[] = { "batchnorm", "admin" };
    for (int i = 0; i < 2; i++) {
        tfn_model_desc d = skip_desc(0, 0);
        tfn_report one, two;
        tfn_model m, old;
        skip_state end;
        tfn_file f;
        d.recipe = recipes[i];
        if (!batch_open(&m, &d) || !batch_open(&old, &d)) return;
        skip_rest(&m, 0, 0, false, &one);
        f = skip_to_memory(&m);
        for (size_t at = 0; at + 16 < f.from_size; at++)
            if (!memcmp(skip_bytes + at, "training.before.", 16)) skip_bytes[at + 9] = 'x';
        CHECK_INT(tfn_model_load(&old, &f), i ? TFN_NOT_FOUND : TFN_OK);
        if (i) tfn_model_free(&old);
        if (i) batch_open(&old, &d);
        skip_rest(&m, 1, SKIP_MICRO - 1, false, &one);
        skip_rest(&old, i ? 0 : 1, SKIP_MICRO - 1, false, &two);
        end = skip_save(&m);
        CHECK(!skip_differs(&old, &end) && !memcmp(&one, &two, sizeof one));
        skip_free(&end);
        tfn_model_free(&m);
        tfn_model_free(&old);
    }
}

/* -- memory ----------------------------------------------------------------------------------- */

/* A copy of the buffers, and of the parameters if a profile changes them and the moments have no
 * room for it. */
TEST(skip_memory)
{
    for (int recipe = 0; recipe < skip_recipes(); recipe++)
        for (int sgd = 0; sgd < 2; sgd++) {
            tfn_model_desc d = skip_desc(recipe, 0);
            const bool profiles = !strcmp(d.recipe, "admin") || !strcmp(d.recipe, "admin-direct")
                               || !strcmp(d.recipe, "lsuv");
            int64_t floats;
            tfn_model m;
            d.optimizer = sgd ? TFN_OPTIMIZER_SGD : TFN_OPTIMIZER_ADAM;
            d.beta1 = 0;
            if (!batch_open(&m, &d)) return;
            floats = m.buffer_floats + (sgd && profiles ? m.param_floats : 0);
            if (m.memory.before != (size_t)floats * sizeof(float))
                FAIL("%s: %d bytes", d.recipe, (int)m.memory.before);
            tfn_model_free(&m);
            d.inference = true;
            if (!batch_open(&m, &d)) return;
            CHECK(m.memory.before == 0);
            tfn_model_free(&m);
        }
}

int main(void)
{
    RUN(skip_changes_nothing);
    RUN(skip_refused_profiles);
    RUN(skip_after_resuming);
    RUN(skip_old_file);
    RUN(skip_memory);
    return DONE();
}
