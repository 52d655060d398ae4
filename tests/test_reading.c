/* Watching. For every recipe, on each architecture and under options in turn: what a
 * probe sees in training without dropout is what it sees in an evaluation, in a model made for
 * inference and in decoding, to the bit. */
#include <stdint.h>
#include "lib.h"
#include "check.h"

enum { READING_B = 2, READING_T = 5, READING_TS = 4, READING_V = 13, READING_BANDS = 3,
       READING_FRAMES = 4 * READING_TS + 3, READING_WIDTH = 64, READING_HEADS = 4,
       READING_ROWS = READING_B * READING_T, READING_FLOATS = READING_ROWS * READING_WIDTH,
       READING_POINTS = 128, READING_LAYERS = 2 };

/* -- models and batches ---------------------------------------------------------------------- */

static const tfn_model_desc reading_turns[] = {
    { .position = TFN_POSITION_ROTARY, .kv_heads = 1, .threads = 2 },
    { .qk_norm = TFN_QK_NORM_L2, .attention_cap = 2, .no_bias = true },
    { .position = TFN_POSITION_NONE, .qk_norm = TFN_QK_NORM_HEAD, .kv_heads = 2, .untied = true },
    { .qk_norm = TFN_QK_NORM_COSINE, .recompute = true, .bands = READING_BANDS },
    { .position = TFN_POSITION_SINUSOIDAL, .attention_cap = 1, .half = true },
    { .position = TFN_POSITION_ROTARY, .qk_norm = TFN_QK_NORM_QKV_HEAD, .cutoffs = { 5, 9 } },
    { .position = TFN_POSITION_ROTARY, .qk_norm = TFN_QK_NORM_UNIT, .scale_embedding = true },
    { .qk_norm = TFN_QK_NORM_FULL, .separate_source = true, .logit_cap = 3 }
};
enum { READING_TURNS = sizeof reading_turns / sizeof *reading_turns };

/* Wide enough for a norm of a sixteenth of the channels; frames and clusters where they may be. */
static tfn_model_desc reading_desc(int recipe, int round)
{
    tfn_model_desc d = reading_turns[(recipe + round) % READING_TURNS];
    d.recipe = tfn_recipe_at(recipe)->name;
    d.arch = (tfn_arch)((recipe + round) % 3);
    CASE("%s, arch %d, round %d", d.recipe, (int)d.arch, round);
    d.vocab = READING_V;
    d.context = READING_T;
    d.batch = READING_B;
    d.width = strcmp(d.recipe, "prmsnorm") ? 16 : READING_WIDTH;
    d.layers = READING_LAYERS;
    d.decoder_layers = READING_LAYERS + 1;
    d.heads = READING_HEADS;
    d.ffn = 16;
    d.probes = true;
    d.seed = (uint64_t)recipe;
    d.threads = d.threads ? HOOK_THREADS(d.threads) : 1;
    d.schedule.lr = (float)0.01;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = READING_TS;
    else d.bands = 0;
    if (d.arch != TFN_ARCH_DECODER) memset(d.cutoffs, 0, sizeof d.cutoffs);
    if (d.cutoffs[0]) d.untied = false;
    return d;
}

typedef struct reading_batch {
    tfn_batch batch;
    int32_t   tokens[READING_ROWS], targets[READING_ROWS], source[READING_B * READING_TS];
    float     frames[READING_B * READING_FRAMES * READING_BANDS];
} reading_batch;

/* padded: the second sentences end before the others do. */
static void reading_fill(reading_batch *b, const tfn_model_desc *d, bool padded)
{
    static const int32_t lengths[] = { READING_T, 3 };
    static const int32_t source_lengths[] = { READING_TS, 2 };
    static const int32_t frame_lengths[] = { READING_FRAMES, 11 };
    const tfn_key key = tfn_key_make(d->seed + 7);
    uint64_t at = 0;
    memset(&b->batch, 0, sizeof b->batch);
    for (int i = 0; i < READING_ROWS; i++) {
        b->tokens[i] = (int32_t)(tfn_random_bits(key, at++) % READING_V);
        b->targets[i] = (int32_t)(tfn_random_bits(key, at++) % READING_V);
    }
    for (int i = 0; i < READING_B * READING_TS; i++)
        b->source[i] = (int32_t)(tfn_random_bits(key, at++) % READING_V);
    for (int i = 0; i < READING_B * READING_FRAMES * READING_BANDS; i++)
        b->frames[i] = 2 * tfn_random_uniform(key, at++) - 1;
    b->batch.tokens = b->tokens;
    b->batch.targets = b->targets;
    b->batch.batch = READING_B;
    b->batch.time = READING_T;
    if (padded && d->arch != TFN_ARCH_DECODER) b->batch.lengths = lengths;
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    b->batch.source = d->bands ? NULL : b->source;
    b->batch.frames = d->bands ? b->frames : NULL;
    b->batch.source_time = d->bands ? READING_FRAMES : READING_TS;
    if (padded) b->batch.source_lengths = d->bands ? frame_lengths : source_lengths;
}

static bool reading_open(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s", tfn_error_text(&m->error, text, sizeof text));
    return false;
}

/* -- what a probe sees ------------------------------------------------------------------------ */

typedef struct reading_point {
    int32_t   id;
    ptrdiff_t rows, cols;
    float     x[READING_FLOATS];
} reading_point;
typedef struct reading_list {
    int count, backward, others;        /* others: the library's own probes */
    reading_point point[READING_POINTS];
} reading_list;

static void reading_see(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                        bool backward)
{
    reading_list *l = (reading_list *)user;
    reading_point *p = l->point + l->count;
    l->backward += backward;
    if (backward) return;
    l->others += tfn_probe_of(id).point == TFN_WATCH_NONE;
    if (tfn_probe_of(id).point == TFN_WATCH_NONE) return;
    if (l->count == READING_POINTS || rows * cols > READING_FLOATS) {
        FAIL("point %d has %d rows and %d columns", (int)id, (int)rows, (int)cols);
        return;
    }
    p->id = id;
    p->rows = rows;
    p->cols = cols;
    memcpy(p->x, data, (size_t)(rows * cols) * sizeof *data);
    l->count++;
}

static void reading_same(const reading_list *a, const reading_list *b, const char *what)
{
    CHECK_INT(a->count, b->count);
    for (int i = 0; i < a->count && i < b->count; i++) {
        const reading_point *p = a->point + i, *q = b->point + i;
        CHECK(p->id == q->id && p->rows == q->rows && p->cols == q->cols);
        if (memcmp(p->x, q->x, (size_t)(p->rows * p->cols) * sizeof *p->x))
            FAIL("%s: point %d of layer %d, kind %d", what, (int)tfn_probe_of(p->id).point,
                 (int)tfn_probe_of(p->id).layer, (int)tfn_probe_of(p->id).kind);
    }
}

static const reading_point *reading_find(const reading_list *l, tfn_watched point, bool decoder,
                                         int32_t layer, tfn_sublayer kind)
{
    for (int i = 0; i < l->count; i++) {
        const tfn_probe_info info = tfn_probe_of(l->point[i].id);
        if (info.point != point || info.decoder != decoder) continue;
        if (point >= TFN_WATCH_EMBEDDING) return l->point + i;
        if (info.layer == layer && info.kind == kind) return l->point + i;
    }
    return NULL;
}

/* -- watching: training, evaluation, inference, decoding -------------------------------------- */

/* Statistics of a batch are those of training there, and running ones elsewhere. */
static bool reading_of_batches(const tfn_model *m)
{
    return tfn_norm_find(m->desc.norm)->kind >= TFN_NORM_BATCH
        || tfn_norm_find(m->desc.decoder_norm)->kind >= TFN_NORM_BATCH;
}
static bool reading_is_whole(const tfn_model *m)
{
    return (tfn_norm_find(m->desc.norm)->flags & TFN_FLAG_WHOLE) != 0;
}

/* Chunks of 2, 1 and 2 positions: each point of the decoder has the rows of the full forward. */
static void reading_decode(tfn_model *m, const reading_batch *b, const reading_list *full)
{
    static reading_list seen;
    const int32_t chunks[] = { 2, 1, 2 };
    const bool two = m->desc.arch == TFN_ARCH_ENCODER_DECODER;
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    void *scratch = malloc(scratch_size);
    const size_t size = tfn_decoder_size(m, READING_B, 2, scratch, scratch_size);
    void *mem = malloc(size);
    tfn_decoder d;
    int32_t at = 0, tokens[READING_B * 2];
    CHECK(tfn_decoder_init(&d, m, READING_B, 2, mem, size) == TFN_OK);
    CHECK(tfn_decoder_watch(&d, reading_see, &seen) == TFN_OK);
    seen.count = 0;
    if (two) CHECK(tfn_decoder_start(&d, &b->batch) == TFN_OK);
    for (int i = 0; i < seen.count; i++) {
        const reading_point *p = seen.point + i, *q = full->point + i;
        CHECK(p->id == q->id && !tfn_probe_of(p->id).decoder);
        CHECK_BITS(p->x, q->x, (size_t)(p->rows * p->cols) * sizeof *p->x);
    }
    for (int step = 0; step < 3; at += chunks[step], step++) {
        for (int32_t s = 0; s < READING_B; s++)
            for (int32_t t = 0; t < chunks[step]; t++)
                tokens[s*chunks[step] + t] = b->tokens[s*READING_T + at + t];
        seen.count = 0;
        CHECK(tfn_decoder_next(&d, tokens, chunks[step], NULL) != NULL);
        CHECK(seen.count > 0);
        for (int i = 0; i < seen.count; i++) {
            const reading_point *p = seen.point + i;
            const tfn_probe_info info = tfn_probe_of(p->id);
            const reading_point *q = reading_find(full, info.point, true, info.layer, info.kind);
            CHECK(q && info.decoder && p->rows == READING_B * chunks[step] && p->cols == q->cols);
            for (ptrdiff_t r = 0; q && r < p->rows; r++) {
                const ptrdiff_t row = r / chunks[step] * READING_T + at + r % chunks[step];
                CHECK_BITS(p->x + r*p->cols, q->x + row*p->cols,
                           (size_t)p->cols * sizeof *p->x);
            }
        }
    }
    free(mem);
    free(scratch);
}

/* Weights that have moved, on batches with padding and without. */
static void reading_watch_model(const tfn_model_desc *d)
{
    static reading_list trained, evaluated, logits, inferred;
    static reading_batch b;
    tfn_model_desc frozen = *d;
    tfn_model m, other;
    reading_fill(&b, d, true);
    if (!reading_open(&m, d)) return;
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    CHECK(tfn_model_watch(&m, reading_see, &evaluated) == TFN_OK);
    evaluated.count = evaluated.others = evaluated.backward = 0;
    CHECK(tfn_model_eval(&m, &b.batch, NULL) == TFN_OK);
    CHECK(evaluated.count > 0 && !evaluated.others && !evaluated.backward);
    logits.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &logits) == TFN_OK);
    CHECK(tfn_model_logits(&m, &b.batch) != NULL);
    reading_same(&logits, &evaluated, "logits");

    frozen.inference = true;
    frozen.parameters = m.params;
    if (reading_open(&other, &frozen)) {
        inferred.count = 0;
        CHECK(tfn_model_watch(&other, reading_see, &inferred) == TFN_OK);
        CHECK(tfn_model_logits(&other, &b.batch) != NULL);
        reading_same(&inferred, &evaluated, "inference");
        reading_fill(&b, d, false);
        inferred.count = 0;
        CHECK(tfn_model_logits(&other, &b.batch) != NULL);
        if (d->arch != TFN_ARCH_ENCODER && !reading_is_whole(&other))
            reading_decode(&other, &b, &inferred);
        tfn_model_free(&other);
        reading_fill(&b, d, true);
    }
    trained.count = trained.backward = 0;
    CHECK(tfn_model_watch(&m, reading_see, &trained) == TFN_OK);
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    CHECK(trained.backward > 0);
    if (!reading_of_batches(&m)) reading_same(&trained, &evaluated, "training");
    tfn_model_free(&m);
}

TEST(reading_watched)
{
    for (int recipe = 0; tfn_recipe_at(recipe); recipe++) {
        const int rounds = check_tier() < 2 ? 1 : 3;
        for (int round = 0; round < rounds; round++) {
            const tfn_model_desc d = reading_desc(recipe, round);
            reading_watch_model(&d);
        }
    }
}

/* A profile that the user asks for is watched, its last forward; one within a step is not. */
TEST(reading_profile)
{
    static reading_list seen, step;
    static reading_batch b;
    tfn_model_desc d = reading_desc(0, 0);
    tfn_model m;
    d.recipe = "admin";
    d.arch = TFN_ARCH_DECODER;
    reading_fill(&b, &d, true);
    if (!reading_open(&m, &d)) return;
    seen.count = seen.backward = 0;
    CHECK(tfn_model_watch(&m, reading_see, &seen) == TFN_OK);
    CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
    CHECK(seen.count == READING_LAYERS * 2 * 5 + 2 && !seen.backward);
    step.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &step) == TFN_OK);
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    reading_same(&step, &seen, "profile");
    tfn_model_free(&m);
    if (!reading_open(&m, &d)) return;
    seen.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &seen) == TFN_OK);
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    reading_same(&seen, &step, "a step that profiles");
    tfn_model_free(&m);
}

int main(void)
{
    RUN(reading_watched);
    RUN(reading_profile);
    return DONE();
}
