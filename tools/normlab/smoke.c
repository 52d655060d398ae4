/* The settings, the recipes that cannot learn here and why, the runs. */
#include "smoke.h"
#include "../../tfnorm.h"
#include "../common/threads.h"
#include "rows.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Encoder-decoder, 6 + 6 layers, width 32. All recipes share the settings of the deep runs: ReLU,
 * sinusoids, one table of embeddings times sqrt(C), Adam(0.9, 0.98) to 2e-3 within 100 steps, then
 * linearly to 0, label smoothing 0.1, 32 new strings a step. Only nGPT differs, because its model
 * has other parts. The encoder reads 8 of 16 letters and END, the decoder BEGIN and the letters
 * backwards. It learns to write these letters and END; the test counts only the letters. */
enum { SMOKE_LETTERS = 16, SMOKE_BEGIN = SMOKE_LETTERS, SMOKE_END, SMOKE_VOCAB };
enum { SMOKE_LENGTH = 8, SMOKE_TIME, SMOKE_BATCH = 32, SMOKE_TEST = 128 };
#define SMOKE_MARGIN 0.05           /* a loss this much below the unigram loss counts as learned */

/* Recipes that stay above the unigram loss here, and the reasons; each reason was measured. */
#define SMALL_EMBEDDING "its embeddings have deviation 0.02, as in language models with learned "  \
    "or rotary positions, and drown in this task's sinusoids of variance 1/2: with learned "       \
    "positions of the same deviation it learns"
static const struct { const char *name, *reason; } untrainable[] = {
    { "hanin-rolnick", "He's gain belongs before a ReLU; W_V W_O has none and multiplies the "
      "variance by up to 4, and nothing norms the stream. The paper's theorem is about fully "
      "connected ReLU networks. With Xavier's weights it learns" },
    { "prmsnorm", "1/16 of 32 channels is two, too few for a mean of squares; the paper has 32 of "
      "512. At width 128 it learns like RMSNorm" },
    { "sandwich", SMALL_EMBEDDING }, { "output-norm", SMALL_EMBEDDING },
    { "olmo2", SMALL_EMBEDDING },
    { "centernorm", "it does not bound the stream, which grows with every sub-layer; LipsFormer "
      "has it with branches over L and a spectral init. With T-Fixup's weights it learns" }
};

typedef struct smoke_result {
    const tfn_recipe *recipe;
    double first, last;             /* losses on the test strings */
    char   error[160];
} smoke_result;

typedef struct smoke_run {
    smoke_result *results;
    int           count, jobs;
    long          steps, seed;
} smoke_run;

typedef struct smoke_data {
    int32_t   source[SMOKE_TEST * SMOKE_TIME], tokens[SMOKE_TEST * SMOKE_TIME];
    int32_t   targets[SMOKE_TEST * SMOKE_TIME];
    tfn_batch batch;
} smoke_data;

/* Strings number `which` of a seed; end: the target for END, -1 for none. Letter t of a string is
 * the target t places before its last letter; END is the last of both. */
static void smoke_fill(smoke_data *data, int32_t strings, uint64_t seed, uint64_t which,
                       int32_t end)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(seed), which);
    tfn_batch *b = &data->batch;
    for (int32_t i = 0; i < strings * SMOKE_TIME; i++) {
        const int32_t t = i % SMOKE_TIME;
        const int32_t letter = (int32_t)(tfn_random_bits(key, (uint64_t)i) % SMOKE_LETTERS);
        if (t == SMOKE_LENGTH) {
            data->source[i] = SMOKE_END;
            data->targets[i] = end;
        } else {
            data->source[i] = letter;
            data->targets[i - t + SMOKE_LENGTH - 1 - t] = letter;
        }
    }
    for (int32_t i = 0; i < strings * SMOKE_TIME; i++) {
        data->tokens[i] = SMOKE_BEGIN;
        if (i % SMOKE_TIME) data->tokens[i] = data->targets[i - 1];
    }
    memset(b, 0, sizeof *b);
    b->tokens = data->tokens;
    b->targets = data->targets;
    b->source = data->source;
    b->batch = strings;
    b->time = SMOKE_TIME;
    b->source_time = SMOKE_TIME;
}

/* The model of a recipe; nGPT's has other parts. */
static tfn_model_desc smoke_desc(const smoke_run *run, const tfn_recipe *recipe)
{
    uint32_t flags = tfn_topology_find(recipe->topology)->flags;
    bool unit = (flags & TFN_TOPOLOGY_UNIT_WEIGHTS) != 0;    /* nGPT */
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.activation = TFN_ACTIVATION_RELU;
    d.position = TFN_POSITION_SINUSOIDAL;
    if (unit) {
        d.activation = TFN_ACTIVATION_SWIGLU;
        d.position = TFN_POSITION_ROTARY;
    }
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.vocab = SMOKE_VOCAB;
    d.context = SMOKE_TIME;
    d.layers = 6;
    d.width = 32;
    d.heads = 4;
    d.ffn = 128;
    d.untied = unit;
    d.scale_embedding = !unit && !(flags & TFN_TOPOLOGY_EMBEDDING_SCALE);
    d.recipe = recipe->name;
    d.smoothing = 0.1f;
    d.optimizer = TFN_OPTIMIZER_ADAM;
    d.schedule.kind = TFN_SCHEDULE_LINEAR;
    d.schedule.lr = 2e-3f;
    d.schedule.warmup = 100;
    d.schedule.steps = run->steps;
    d.batch = SMOKE_TEST;
    d.threads = 1;
    d.seed = (uint64_t)run->seed;
    return d;
}

/* Measures the losses on the test strings before the first update and after the last. */
static bool smoke_train(tfn_model *m, const smoke_run *run, smoke_result *r, smoke_data *data,
                        const smoke_data *test)
{
    uint64_t seed = (uint64_t)run->seed;
    tfn_report report;
    smoke_fill(data, SMOKE_BATCH, seed, 0, SMOKE_END);
    if (tfn_model_profile(m, &data->batch) != TFN_OK) return false;
    if (tfn_model_eval(m, &test->batch, &report) != TFN_OK) return false;
    r->first = report.nll;
    for (long step = 0; step < run->steps; step++) {
        smoke_fill(data, SMOKE_BATCH, seed, (uint64_t)step, SMOKE_END);
        if (tfn_model_step(m, &data->batch, &report) != TFN_OK) return false;
    }
    if (tfn_model_eval(m, &test->batch, &report) != TFN_OK) return false;
    r->last = report.nll;
    return true;
}

static void smoke_recipe(const smoke_run *run, smoke_result *r, smoke_data *data, smoke_data *test)
{
    const tfn_model_desc d = smoke_desc(run, r->recipe);
    tfn_model m;
    smoke_fill(test, SMOKE_TEST, 0, UINT64_MAX, -1);
    bool ok = tfn_model_new(&m, &d, NULL) == TFN_OK;
    if (ok) ok = smoke_train(&m, run, r, data, test);
    if (!ok) tfn_error_text(&m.error, r->error, sizeof r->error);
    tfn_model_free(&m);
    fprintf(stderr, "%s %.4f\n", r->recipe->name, r->last);
}

/* Trains every jobs-th recipe from number `job` on. The test strings are the same for all seeds. */
static void smoke_worker(void *context, int job)
{
    const smoke_run *run = (const smoke_run *)context;
    smoke_data *data = (smoke_data *)malloc(2 * sizeof *data);
    for (int i = job; i < run->count; i += run->jobs) {
        smoke_result *r = run->results + i;
        if (data) smoke_recipe(run, r, data, data + 1);
        else strcpy(r->error, "out of memory");
    }
    free(data);
}

static const char *known_untrainable(const char *name)
{
    for (size_t i = 0; i < sizeof untrainable / sizeof *untrainable; i++)
        if (!strcmp(untrainable[i].name, name)) return untrainable[i].reason;
    return NULL;
}

static bool is_below(const smoke_result *r)
{
    return r->last < log((double)SMOKE_LETTERS) - SMOKE_MARGIN;     /* false for NaN */
}

static void smoke_row(const smoke_result *r)
{
    if (r->error[0]) {
        printf("%-20s %s\n", r->recipe->name, r->error);
        return;
    }
    printf("%-20s %11.4f %11.4f %9.4f  ", r->recipe->name, r->first, r->last,
           log((double)SMOKE_LETTERS));
    printf(is_below(r) ? "below" : "not below");
    if (known_untrainable(r->recipe->name)) printf(" (known)");
    printf("\n");
}

/* True for an error, or for a recipe that should have learned but did not. */
static bool is_surprise(const smoke_result *r)
{
    if (r->error[0]) return true;
    return !is_below(r) && !known_untrainable(r->recipe->name);
}

/* Prints a table, and the reasons of recipes known not to learn. */
static int smoke(smoke_run *run)
{
    int surprises = 0;
    tfn_threads_run(run->jobs, smoke_worker, run);
    printf("String reversal, 6 + 6 layers, width 32, %ld steps, seed %ld.\n"
           "Losses a letter of 128 test strings, at the start and after the steps, and of\n"
           "guessing; below means by %g at least.\n\n%-20s %11s %11s %9s\n", run->steps, run->seed,
           SMOKE_MARGIN, "recipe", "start", "end", "unigram");
    for (int i = 0; i < run->count; i++) {
        const smoke_result *r = run->results + i;
        smoke_row(r);
        surprises += is_surprise(r);
    }
    for (int i = 0; i < run->count; i++) {
        const char *name = run->results[i].recipe->name;
        const char *reason = known_untrainable(name);
        if (!reason) continue;
        printf("\n%s: ", name);
        print_wrapped(reason, 2);
    }
    if (surprises) printf("\n%d recipes should have learned and have not\n", surprises);
    return surprises ? 1 : 0;
}

static void add_recipe(smoke_run *run, const tfn_recipe *recipe)
{
    run->results[run->count].recipe = recipe;
    run->count++;
}

int smoke_command(cli *c)
{
    static smoke_result results[ROWS_MAX];
    smoke_run run = { results, 0, 1, 300, 1 };
    long jobs = 1;
    while (cli_next(c)) {
        if (cli_number(c, "--steps", 1, 1000000, &run.steps)) continue;
        if (cli_number(c, "--seed", 0, 1L << 30, &run.seed)) continue;
        if (cli_number(c, "--jobs", 1, TFN_THREADS_MAX, &jobs)) continue;
        if (run.count == ROWS_MAX) cli_fail(c, "more than %d recipes", ROWS_MAX);
        const tfn_recipe *recipe = tfn_recipe_find(c->argv[c->at]);
        if (!recipe) unknown(c, c->argv[c->at], RECIPE);
        add_recipe(&run, recipe);
    }
    if (!run.count)
        for (int32_t i = 0; tfn_recipe_at(i); i++)
            if (i < ROWS_MAX) add_recipe(&run, tfn_recipe_at(i));
    run.jobs = (int)jobs;
    return smoke(&run);
}
