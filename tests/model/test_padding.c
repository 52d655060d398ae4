/* Padding changes nothing, to the last bit. Every recipe trains on the same sentences with the
 * shortest possible `time`, and with a longer one and garbage after the sentences. Widths are not
 * multiples of 16, so that a lane sum that includes padded rows cannot be right by chance. */
#include <math.h>
#include <stdint.h>
#include "../lib.h"
#include "../check.h"

enum { PADDING_B = 4, PADDING_T = 26, PADDING_TS = 9, PADDING_MORE = 64, PADDING_V = 23,
       PADDING_BANDS = 5, PADDING_STEPS = 3,
       PADDING_MOST_T = PADDING_T + PADDING_MORE, PADDING_MOST_TS = PADDING_TS + PADDING_MORE,
       PADDING_TOKENS = PADDING_B * PADDING_MOST_T,
       PADDING_FRAMES = PADDING_B * (4 * PADDING_MOST_T + 3) * PADDING_BANDS };

/* Lengths; the longest is the shortest possible `time`. An empty sentence is only padding; the head
 * of classes, which reads a sentence's first row, cannot have one. If all are full, the shorter of
 * the two batches has no padding at all. */
static const int32_t padding_some_empty[PADDING_B] = { 7, PADDING_T, 0, 17 };
static const int32_t padding_none_empty[PADDING_B] = { 7, PADDING_T, 1, 17 };
static const int32_t padding_all_full[PADDING_B] = { PADDING_T, PADDING_T, PADDING_T, PADDING_T };
static const int32_t padding_source_ragged[PADDING_B] = { PADDING_TS, 2, 5, 0 };
static const int32_t padding_source_full[PADDING_B] = { PADDING_TS, PADDING_TS, PADDING_TS,
                                                        PADDING_TS };
static bool padding_full;

/* True if there is a row of logits, and a target, for each sentence. */
static bool padding_by_sentences(const tfn_model_desc *d)
{
    return d->head == TFN_HEAD_SEQUENCE || d->head == TFN_HEAD_NUMBERS;
}

static const int32_t *padding_lengths(const tfn_model_desc *d)
{
    if (padding_full) return padding_all_full;
    return padding_by_sentences(d) ? padding_none_empty : padding_some_empty;
}
static const int32_t *padding_source_lengths(void)
{
    return padding_full ? padding_source_full : padding_source_ragged;
}

/* -- models -------------------------------------------------------------------------------- */

static int padding_recipes(void)
{
    int n = 0;
    while (tfn_recipe_at(n)) n++;
    return n;
}

/* Options for the cases, in turn, besides recipe, stack and width. Options that a stack or a recipe
 * lacks are left out. */
static const tfn_model_desc padding_turns[] = {
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_GELU, .cutoffs = { 9 },
      .head = TFN_HEAD_SEQUENCE, .classes = PADDING_V, .micro_batches = 1 },
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_SWIGLU, .untied = true,
      .dropout = 0.125f, .micro_batches = 2, .norm_warmup = 2 },
    { .position = TFN_POSITION_SINUSOIDAL, .activation = TFN_ACTIVATION_GELU, .smoothing = 0.1f,
      .dropout = 0.125f, .bands = PADDING_BANDS, .micro_batches = 1, .norm_warmup = 2 },
    { .position = TFN_POSITION_ROTARY, .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 1,
      .head_size = 6, .rotary_size = 4, .recompute = true, .micro_batches = 2,
      .no_bias = true, .attention_bias = TFN_ATTENTION_BIAS_QKV },
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_GELU, .threads = 2,
      .dropout = 0.125f, .bands = PADDING_BANDS, .frame_map = TFN_FRAME_MAP_LINEAR,
      .micro_batches = 1, .norm_warmup = 2 },
    { .position = TFN_POSITION_LEARNED, .activation = TFN_ACTIVATION_SWIGLU, .untied = true,
      .half = true, .dropout = 0.125f, .micro_batches = 2, .norm_warmup = 2 },
    { .position = TFN_POSITION_SINUSOIDAL, .activation = TFN_ACTIVATION_GELU, .smoothing = 0.1f,
      .bands = PADDING_BANDS, .micro_batches = 1, .output_bias = true, .head_transform = true,
      .embedding_size = 13 },
    { .position = TFN_POSITION_ROTARY, .activation = TFN_ACTIVATION_SWIGLU, .kv_heads = 1,
      .dropout = 0.125f, .micro_batches = 2, .norm_warmup = 2, .window = 3 },
    { .position = TFN_POSITION_RELATIVE, .activation = TFN_ACTIVATION_GELU, .relative_buckets = 8,
      .relative_distance = 20, .dropout = 0.125f, .micro_batches = 2, .norm_warmup = 2 },
    { .position = TFN_POSITION_ALIBI, .activation = TFN_ACTIVATION_GELU, .threads = 2,
      .micro_batches = 1, .norm_warmup = 2, .window = 4 }
};
enum { PADDING_TURNS = sizeof padding_turns / sizeof *padding_turns };

/* Case i: recipe i mod their number, on a stack and with a width that change from round to
 * round. */
static tfn_model_desc padding_desc(int i)
{
    static const int32_t widths[] = { 20, 36, 48 };
    const int recipes = padding_recipes();
    const int round = i / recipes;
    const int recipe = i % recipes;
    tfn_model_desc d = padding_turns[i % PADDING_TURNS];
    tfn_model_desc resolved;
    d.recipe = tfn_recipe_at(recipe)->name;
    d.arch = (tfn_arch)((recipe + round) % 3);
    d.width = widths[(recipe / 3 + round / 3 + round) % 3];
    d.vocab = PADDING_V;
    d.context = PADDING_MOST_T;
    d.source_context = d.arch == TFN_ARCH_ENCODER_DECODER ? PADDING_MOST_TS : 0;
    d.batch = PADDING_B;
    d.layers = d.decoder_layers = 2;
    d.heads = 2;
    d.ffn = 28;
    /* has no norm, so it would diverge */
    if (!strcmp(d.recipe, "hanin-rolnick")) d.activation = TFN_ACTIVATION_GELU;
    d.attention_dropout = d.dropout;
    d.activation_dropout = d.dropout;
    if (d.arch == TFN_ARCH_DECODER) d.bands = 0;
    if (!d.bands) d.frame_map = TFN_FRAME_MAP_CONVOLUTIONS;
    if (d.arch == TFN_ARCH_ENCODER) {
        d.segments = d.bands ? 0 : 3;
    } else {
        d.head = TFN_HEAD_TOKENS;
        d.classes = 0;
    }
    if (d.arch == TFN_ARCH_ENCODER && d.bands) {
        d.head = (tfn_head)(TFN_HEAD_SEQUENCE + i / PADDING_TURNS % 3);
        d.classes = d.numbers = PADDING_V;
        d.number_loss = (tfn_number_loss_kind)(i % 2);
        if (d.head == TFN_HEAD_NUMBERS) d.smoothing = 0;
        d.output_bias = d.head_transform = false;
        d.embedding_size = 0;
    }
    if (!strcmp(d.recipe, "ngpt")) d.embedding_size = 0;
    if (d.arch != TFN_ARCH_DECODER) d.cutoffs[0] = 0;
    if (!tfn_model_resolve(&resolved, &d, NULL)) d.cutoffs[0] = 0;
    if (!tfn_model_resolve(&resolved, &d, NULL)) d.kv_heads = 0;    /* nGPT's scales are shared */
    d.clip = (float)0.7;
    CASE("padding %d: %s, arch %d, width %d", i, d.recipe, (int)d.arch, (int)d.width);
    d.schedule.lr = (float)1e-3;
    d.decay = (float)0.01;
    d.seed = (uint64_t)i;
    return d;
}

/* -- batches ------------------------------------------------------------------------------- */

typedef struct padding_case {
    tfn_model m;
    tfn_batch batch;
    int32_t tokens[PADDING_TOKENS], targets[PADDING_TOKENS], segments[PADDING_TOKENS];
    int32_t source[PADDING_B * PADDING_MOST_TS], frame_lengths[PADDING_B];
    float   frames[PADDING_FRAMES], numbers[PADDING_B * PADDING_V];
} padding_case;

/* A number below n for place (b, t) in array `which`; garbage > 0: for places not to be read. */
static int32_t padding_draw(int which, uint64_t seed, int32_t b, int32_t t, int garbage, int32_t n)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(seed), (uint64_t)(10 * garbage + which));
    return (int32_t)(tfn_random_bits(key, (uint64_t)(b * 4096 + t)) % (uint64_t)n);
}

/* An id that no vocabulary has. */
static int32_t padding_garbage_id(int32_t draw)
{
    return draw % 5 == 0 ? INT32_MIN : draw % 5 == 1 ? INT32_MAX : draw - 2;
}

static float padding_garbage_frame(int32_t draw)
{
    switch (draw % 6) {
    case 0: return (float)NAN;
    case 1: return (float)INFINITY;
    case 2: return -(float)INFINITY;
    case 3: return (float)3e38;
    case 4: return (float)1e-40;
    default: return -1;
    }
}

/* The number of frames that give `positions` positions; for none, too few for one. */
static int32_t padding_frames(const tfn_model_desc *d, int32_t positions)
{
    if (d->frame_map == TFN_FRAME_MAP_LINEAR) return positions;
    return positions ? 4*positions + 3 : 2;
}

/* Frames of a source, or of an encoder by itself. */
static void padding_fill_frames(padding_case *c, uint64_t seed, const int32_t *lengths,
                                int32_t positions, int garbage)
{
    const tfn_model_desc *d = &c->m.desc;
    const int32_t time = padding_frames(d, positions);
    for (int32_t b = 0; b < PADDING_B; b++) {
        const int32_t n = padding_frames(d, lengths[b]);
        c->frame_lengths[b] = n;
        for (int32_t i = 0; i < time * PADDING_BANDS; i++) {
            const bool pad = !lengths[b] || i / PADDING_BANDS >= n;
            const int32_t draw = padding_draw(4, seed, b, i, pad ? garbage : 0, 2000);
            c->frames[b*time*PADDING_BANDS + i] = pad && garbage > 1 ? padding_garbage_frame(draw)
                                                : (float)draw / 1000 - 1;
        }
    }
    c->batch.frames = c->frames;
    if (d->arch == TFN_ARCH_ENCODER) {
        c->batch.tokens = NULL;
        c->batch.lengths = c->batch.lengths ? c->frame_lengths : NULL;
        c->batch.time = time;
    } else {
        c->batch.source_lengths = c->frame_lengths;
        c->batch.source_time = time;
    }
}

/* The sentences of `seed`, `more` positions longer than necessary. Garbage in the padding: 1 tokens
 * without targets; 2 also targets, and frames that are NaN; 3 illegal ids. */
static void padding_fill(padding_case *c, uint64_t seed, int32_t more, int garbage)
{
    const tfn_model_desc *d = &c->m.desc;
    const int32_t time = PADDING_T + more, positions = PADDING_TS + more;
    const int32_t *lengths = padding_lengths(d);
    memset(&c->batch, 0, sizeof c->batch);
    for (int32_t b = 0; b < PADDING_B; b++) {
        for (int32_t t = 0; t < time; t++) {
            const bool pad = t >= lengths[b], wild = pad && garbage > 2;
            const int g = pad ? garbage : 0;
            int32_t *token = c->tokens + b*time + t, *target = c->targets + b*time + t;
            int32_t *segment = c->segments + b*time + t;
            *token = padding_draw(0, seed, b, t, g, PADDING_V);
            *segment = padding_draw(1, seed, b, t, g, 3);
            *target = padding_draw(2, seed, b, t, g, PADDING_V + 3) - 3;
            if (pad && garbage < 2) *target = -1;
            if (!wild) continue;
            *token = padding_garbage_id(*token);
            *segment = padding_garbage_id(*segment);
            *target = padding_garbage_id(*target);
        }
        for (int32_t t = 0; t < positions; t++) {
            const bool pad = t >= padding_source_lengths()[b];
            int32_t *token = c->source + b*positions + t;
            *token = padding_draw(3, seed, b, t, pad ? garbage : 0, PADDING_V);
            if (pad && garbage > 2) *token = padding_garbage_id(*token);
        }
    }
    if (d->head == TFN_HEAD_SEQUENCE)
        for (int32_t b = 0; b < PADDING_B; b++)
            c->targets[b] = padding_draw(2, seed, b, 0, 0, PADDING_V);
    for (int32_t i = 0; i < PADDING_B * PADDING_V; i++)
        c->numbers[i] = i % 7 ? (float)padding_draw(5, seed, 0, i, 0, 2000) / 1000 : (float)NAN;
    c->batch.numbers = c->numbers;
    c->batch.tokens = c->tokens;
    c->batch.targets = c->targets;
    c->batch.lengths = padding_full && !more ? NULL : lengths;
    c->batch.segments = d->segments ? c->segments : NULL;
    c->batch.batch = PADDING_B;
    c->batch.time = time;
    if (d->bands && d->arch == TFN_ARCH_ENCODER)
        padding_fill_frames(c, seed, lengths, time, garbage);
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    c->batch.source = c->source;
    c->batch.source_lengths = padding_source_lengths();
    c->batch.source_time = positions;
    if (d->bands) padding_fill_frames(c, seed, padding_source_lengths(), positions, garbage);
    if (padding_full && !more) c->batch.source_lengths = NULL;
}

/* -- two runs, one with more padding than the other ---------------------------------------- */

static const char *padding_text(const tfn_model_desc *d, int32_t more)
{
    static const char *const arches[] = { "decoder", "encoder", "encoder-decoder" };
    static char text[160];
    snprintf(text, sizeof text, "%s %s width %d%s%s, %d more", arches[d->arch], d->recipe,
             (int)d->width, d->bands ? " of frames" : "", d->cutoffs[0] ? " in clusters" : "",
             (int)more);
    return text;
}

static bool padding_same(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/* True if half precision has overflowed: the update will be skipped, and its gradients are not a
 * result. Where they are infinite, those of padding, infinity times 0, are NaN. */
static bool padding_overflowed(const padding_case *c)
{
    for (int64_t i = 0; c->m.desc.half && i < c->m.param_floats; i++)
        if (!isfinite(c->m.run.grads[i])) return true;
    return false;
}

static void padding_compare_models(const padding_case *a, const padding_case *b, const char *text,
                                   const char *when)
{
    const size_t floats = (size_t)a->m.param_floats * sizeof(float);
    const size_t buffers = (size_t)a->m.buffer_floats * sizeof(float);
    if (!padding_same(a->m.params, b->m.params, floats)) FAIL("%s: parameters %s", text, when);
    if (!padding_same(a->m.run.buffers, b->m.run.buffers, buffers))
        FAIL("%s: statistics %s", text, when);
    if (!padding_same(a->m.run.grads, b->m.run.grads, floats)
        && !(padding_overflowed(a) && padding_overflowed(b)))
        FAIL("%s: gradients %s", text, when);
    if (!padding_same(a->m.moments, b->m.moments, a->m.memory.moments))
        FAIL("%s: moments %s", text, when);
}

/* The number of rows of logits in a sentence. */
static int32_t padding_rows(const padding_case *c)
{
    const tfn_model_desc *d = &c->m.desc;
    if (padding_by_sentences(d)) return 1;
    if (!d->bands || d->arch != TFN_ARCH_ENCODER) return c->batch.time;
    return d->frame_map == TFN_FRAME_MAP_LINEAR ? c->batch.time : (c->batch.time - 3) / 4;
}

static void padding_compare_logits(padding_case *a, padding_case *b, const char *text)
{
    const bool sequence = padding_by_sentences(&a->m.desc);
    const size_t row = PADDING_V * sizeof(float);
    const int32_t first_time = padding_rows(a), time = padding_rows(b);
    const float *found;
    float *first = (float *)malloc(row * PADDING_TOKENS);
    found = tfn_model_logits(&a->m, &a->batch);
    if (!first || !found) exit(2);
    memcpy(first, found, row * (size_t)(PADDING_B * first_time));
    found = tfn_model_logits(&b->m, &b->batch);
    for (int32_t s = 0; s < PADDING_B; s++)
        if (!padding_same(first + s * first_time * PADDING_V, found + s * time * PADDING_V,
                          row * (size_t)(sequence ? 1 : padding_lengths(&a->m.desc)[s])))
            FAIL("%s: logits", text);
    free(first);
}

static void padding_compare_eval(padding_case *a, padding_case *b, const char *text)
{
    tfn_report one, two;
    CHECK(tfn_model_eval(&a->m, &a->batch, &one) == TFN_OK);
    CHECK(tfn_model_eval(&b->m, &b->batch, &two) == TFN_OK);
    if (!padding_same(&one, &two, sizeof one)) FAIL("%s: eval", text);
}

/* Trains both from the start; the profile comes before, or in the first step. */
static void padding_check(const tfn_model_desc *d, int32_t more, bool profile)
{
    static padding_case a, b;
    const char *text = padding_text(d, more);
    const int garbage = more % 2 ? 2 : 3, before = check_errors;
    char reason[200];
    if (tfn_model_new(&a.m, d, NULL) != TFN_OK || tfn_model_new(&b.m, d, NULL) != TFN_OK) {
        FAIL("%s: %s", text, tfn_error_text(&a.m.error, reason, sizeof reason));
        return;
    }
    padding_fill(&a, 1, 0, 1);
    padding_fill(&b, 1, more, garbage);
    if (profile) {
        CHECK(tfn_model_profile(&a.m, &a.batch) == TFN_OK);
        CHECK(tfn_model_profile(&b.m, &b.batch) == TFN_OK);
        padding_compare_models(&a, &b, text, "after the profile");
    }
    for (int i = 0; i < PADDING_STEPS * d->micro_batches; i++) {
        tfn_report one, two;
        padding_fill(&a, (uint64_t)i + 2, 0, 1);
        padding_fill(&b, (uint64_t)i + 2, more, garbage);
        CHECK(tfn_model_step(&a.m, &a.batch, &one) == TFN_OK);
        CHECK(tfn_model_step(&b.m, &b.batch, &two) == TFN_OK);
        if (d->half && one.skipped && two.skipped) one.grad_norm = two.grad_norm;    /* inf or NaN */
        if (!padding_same(&one, &two, sizeof one)) FAIL("%s: report of step %d", text, i);
        if (one.skipped && !d->half) FAIL("%s: step %d is skipped", text, i);
        padding_compare_models(&a, &b, text, "after a step");
        if (check_errors > before) break;
    }
    padding_compare_eval(&a, &b, text);
    padding_compare_logits(&a, &b, text);
    tfn_model_free(&a.m);
    tfn_model_free(&b.m);
}

/* All recipes: by default on one stack with one width, in the full tier on each with each.
 * Sentences of different lengths, with the same padding or more; and full ones, with and without
 * padding. */
TEST(padding_changes_nothing)
{
    static const int32_t more[] = { 0, 1, 7, PADDING_MORE };
    const int cases = padding_recipes() * (check_tier() >= 2 ? 9 : 1);
    for (int i = 0; i < cases; i++) {
        const tfn_model_desc d = padding_desc(i);
        for (int j = 0; j < 4; j++) {
            if (!check_tier() && j != i / 3 % 3) continue;
            padding_full = j > 0 && (i / 2 + j) % 2 == 0;
            padding_check(&d, more[j], (i + j) % 2 == 0);
        }
    }
    printf("  %d models, with 0, 1, 7 and %d positions more\n", cases, PADDING_MORE);
    if (!check_tier()) printf("  left out: three of four lengths of padding, the longest always\n");
    if (check_tier() < 2) printf("  left out: eight of nine stacks and widths of each recipe\n");
}

/* -- values in the padding ------------------------------------------------------------------- */

/* Values in the padding that grow from layer to layer, or are normalized with the statistics of
 * other rows, must not overflow and spoil a sum. Sentences of one or two tokens, in a batch of two
 * positions and in one of six with garbage after the sentences. */
enum { PADDING_LEAST = 2, PADDING_WIDE = 6 };
static void padding_fill_short(padding_case *c, int32_t time, int step, int garbage)
{
    static const int32_t lengths[2] = { 1, 2 };
    const tfn_model_desc *d = &c->m.desc;
    memset(&c->batch, 0, sizeof c->batch);
    if (d->batch == 1) time -= 1;
    for (int32_t b = 0; b < d->batch; b++)
        for (int32_t t = 0; t < time; t++) {
            const bool pad = t >= lengths[b];
            const int32_t draw = padding_draw(0, (uint64_t)step, b, t, pad ? garbage : 0, PADDING_V);
            c->tokens[b*time + t] = pad && garbage > 2 ? padding_garbage_id(draw) : draw;
            c->source[b*time + t] = c->tokens[b*time + t];
            c->targets[b*time + t] = pad ? padding_garbage_id(draw) : (draw + 1) % PADDING_V;
        }
    c->batch.tokens = c->tokens;
    c->batch.targets = c->targets;
    c->batch.lengths = lengths;
    c->batch.batch = d->batch;
    c->batch.time = time;
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    c->batch.source = c->source;
    c->batch.source_lengths = lengths;
    c->batch.source_time = time;
}

/* Compares the rows of two arrays of logits that are not padding. */
static void padding_compare_short(padding_case *a, padding_case *b, const char *text)
{
    static float first[2 * PADDING_LEAST * PADDING_V];
    const tfn_batch *x = &a->batch;
    const float *found = tfn_model_logits(&a->m, x);
    CHECK(found != NULL);
    if (!found) return;
    memcpy(first, found, (size_t)(x->batch * x->time * PADDING_V) * sizeof *found);
    found = tfn_model_logits(&b->m, &b->batch);
    for (int32_t s = 0; s < x->batch; s++)
        for (int32_t i = 0; i < (s + 1) * PADDING_V; i++) {
            const float one = first[s * x->time * PADDING_V + i];
            const float two = found[s * b->batch.time * PADDING_V + i];
            const bool neither = one != one && two != two;
            if (padding_same(&one, &two, sizeof one) || neither) continue;
            FAIL("%s: logit %d of sentence %d is %g, not %g", text, (int)i, (int)s, (double)two,
                 (double)one);
            return;
        }
}

/* Trains both for some steps; true: some update was made. */
static bool padding_grow(const tfn_model_desc *d, const char *text)
{
    static padding_case a, b;
    const int before = check_errors;
    bool updated = false;
    if (tfn_model_new(&a.m, d, NULL) != TFN_OK) return false;
    if (tfn_model_new(&b.m, d, NULL) != TFN_OK) exit(2);
    for (int i = 0; i < 2 && check_errors == before; i++) {
        tfn_report one, two;
        padding_fill_short(&a, PADDING_LEAST, i, 1);
        padding_fill_short(&b, PADDING_WIDE, i, 3);
        CHECK(tfn_model_step(&a.m, &a.batch, &one) == tfn_model_step(&b.m, &b.batch, &two));
        CHECK_INT(two.skipped, one.skipped);
        updated = updated || !one.skipped;
        if (one.skipped) continue;
        if (!padding_same(&one, &two, sizeof one))
            FAIL("%s: grad_norm is %g, not %g", text, (double)two.grad_norm, (double)one.grad_norm);
        padding_compare_models(&a, &b, text, "after a step");
    }
    padding_compare_short(&a, &b, text);
    tfn_model_free(&a.m);
    tfn_model_free(&b.m);
    return updated;
}

static tfn_model_desc padding_short_desc(int recipe, const char *norm, int arch, int layers)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.recipe = tfn_recipe_at(recipe)->name;
    d.norm = d.decoder_norm = norm;
    d.arch = (tfn_arch)arch;
    d.vocab = PADDING_V;
    d.context = PADDING_WIDE;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = PADDING_WIDE;
    d.batch = 1 + recipe % 2;
    d.width = 16;
    d.heads = 2;
    d.ffn = 28;
    d.layers = layers;
    d.decoder_layers = layers;
    d.schedule.lr = (float)1e-3;
    d.threads = HOOK_THREADS(1 + recipe % 3 % 2);
#ifdef TFN__CHECKED
    d.threads = 1;
#endif
    return d;
}

/* Every recipe with every norm on every stack: twelve layers in single precision, three in half
 * precision. */
TEST(padding_does_not_grow)
{
    static const int parts[] = { 37, 37, 4, 1 };
    const int recipes = padding_recipes(), part = parts[check_tier()];
    int models = 0, updated = 0, i = 0;
    for (int recipe = 0; recipe < recipes; recipe++)
        for (int n = 0; tfn_norm_at(n); n++)
            for (int arch = 0; arch < 3; arch++) {
                const char *norm = tfn_norm_at(n)->name, *name = tfn_recipe_at(recipe)->name;
                const bool deep = !strcmp(norm, "batchnorm") || i % 5 == 0;
                const bool always = !strcmp(norm, "batchnorm")
                                    && (!strcmp(name, "post") || !strcmp(name, "b2t"));
                tfn_model_desc d = padding_short_desc(recipe, norm, arch, deep ? 12 : 3);
                if (i++ % part && !always) continue;
                d.half = !deep;
                if (d.half) d.threads = 1;
                CASE("%s, %s, stack %d, %d layers", name, norm, arch, (int)d.layers);
                if (always) d.batch = 1;
                updated += padding_grow(&d, "short sentences");
                models++;
            }
    printf("  %d models, %d of them made an update\n", models, updated);
    CHECK(updated > models / 2);
    if (part > 1) LEFT_OUT("%d of %d pairs of recipe and norm", i - models, i);
}

int main(void)
{
    RUN(padding_changes_nothing);
    RUN(padding_does_not_grow);
    return DONE();
}
