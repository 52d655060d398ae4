/* normlab smoke: every recipe learns to write a string backwards. */
#ifndef SMOKE_H
#define SMOKE_H
#include "rows.h"

/* Encoder-decoder, 6 + 6 layers, width 32. What lab.md's deep runs have in common goes for all:
 * ReLU, sinusoids, one table of embeddings times sqrt(C), Adam(0.9, 0.98) to 2e-3 within 100 steps,
 * then linearly to 0; label smoothing 0.1; 32 fresh strings a step. No recipe has settings of
 * its own but nGPT, whose model has other parts. The encoder reads 8 of 16 letters and END, the
 * decoder BEGIN and the letters backwards; it learns to write those and END, the test counts the
 * letters alone. */
enum { SMOKE_LETTERS = 16, SMOKE_BEGIN = SMOKE_LETTERS, SMOKE_END, SMOKE_VOCAB };
enum { SMOKE_LENGTH = 8, SMOKE_TIME, SMOKE_BATCH = 32, SMOKE_TEST = 128 };
#define SMOKE_MARGIN 0.05           /* nats below the unigram loss that count as learning */

/* Recipes that do not get below the unigram loss here, and why; each reason was measured. */
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
    double first, last;             /* losses of the test strings */
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

/* Strings number `which` of a seed; end: what END is worth as a target, -1 for nothing. */
static void smoke_fill(smoke_data *data, int32_t strings, uint64_t seed, uint64_t which,
                       int32_t end)
{
    tfn_key key = tfn_key_fold(tfn_key_make(seed), which);
    tfn_batch *b = &data->batch;
    memset(b, 0, sizeof *b);
    for (int32_t i = 0; i < strings * SMOKE_TIME; i++) {
        int32_t t = i % SMOKE_TIME;
        int32_t letter = (int32_t)(tfn_random_bits(key, (uint64_t)i) % SMOKE_LETTERS);
        data->source[i] = t < SMOKE_LENGTH ? letter : SMOKE_END;
        if (t < SMOKE_LENGTH) data->targets[i - 2*t + SMOKE_LENGTH - 1] = letter;
        else data->targets[i] = end;
    }
    for (int32_t i = 0; i < strings * SMOKE_TIME; i++)
        data->tokens[i] = i % SMOKE_TIME ? data->targets[i - 1] : SMOKE_BEGIN;
    b->tokens = data->tokens, b->targets = data->targets, b->source = data->source;
    b->batch = strings;
    b->time = b->source_time = SMOKE_TIME;
}

static tfn_model_desc smoke_desc(const smoke_run *run, const tfn_recipe *recipe)
{
    uint32_t flags = tfn_topology_find(recipe->topology)->flags;
    bool unit = (flags & TFN_TOPOLOGY_UNIT_WEIGHTS) != 0;    /* nGPT is a model of its own */
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.vocab = SMOKE_VOCAB;
    d.context = SMOKE_TIME;
    d.layers = 6;
    d.width = 32, d.heads = 4, d.ffn = 128;
    d.activation = unit ? TFN_ACTIVATION_SWIGLU : TFN_ACTIVATION_RELU;
    d.position = unit ? TFN_POSITION_ROTARY : TFN_POSITION_SINUSOIDAL;
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

/* Every jobs-th recipe, from number `job` on. The test strings are the same for all seeds. */
static void smoke_worker(void *context, int job)
{
    const smoke_run *run = (const smoke_run *)context;
    smoke_data *data = (smoke_data *)malloc(2 * sizeof *data);
    for (int i = job; data && i < run->count; i += run->jobs) {
        smoke_result *r = run->results + i;
        tfn_model_desc d = smoke_desc(run, r->recipe);
        tfn_model m;
        smoke_fill(data + 1, SMOKE_TEST, 0, UINT64_MAX, -1);
        if (tfn_model_new(&m, &d, NULL) != TFN_OK || !smoke_train(&m, run, r, data, data + 1))
            tfn_error_text(&m.error, r->error, sizeof r->error);
        tfn_model_free(&m);
        fprintf(stderr, "%s %.4f\n", r->recipe->name, r->last);
    }
    if (!data)
        for (int i = job; i < run->count; i += run->jobs)
            strcpy(run->results[i].error, "out of memory");
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
    const char *known = known_untrainable(r->recipe->name) ? " (known)" : "";
    if (r->error[0]) printf("%-20s %s\n", r->recipe->name, r->error);
    else printf("%-20s %11.4f %11.4f %9.4f  %s%s\n", r->recipe->name, r->first, r->last,
                log((double)SMOKE_LETTERS), is_below(r) ? "below" : "not below", known);
}

/* A table, and why those known not to learn do not. Surprises: errors, and recipes that should. */
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
        surprises += r->error[0] || (!is_below(r) && !known_untrainable(r->recipe->name));
    }
    for (int i = 0; i < run->count; i++) {
        const char *name = run->results[i].recipe->name, *reason = known_untrainable(name);
        if (!reason) continue;
        printf("\n%s: ", name);
        print_wrapped(reason, 2);
    }
    if (surprises) printf("\n%d recipes should have learned and have not\n", surprises);
    return surprises ? 1 : 0;
}

static int smoke_command(cli *c)
{
    smoke_run run = { NULL, 0, 1, 300, 1 };
    long jobs = 1;
    smoke_result *r = run.results = (smoke_result *)calloc(ROWS_MAX, sizeof *run.results);
    if (!r) return fprintf(stderr, "normlab: out of memory\n"), 1;
    while (cli_next(c)) {
        if (cli_number(c, "--steps", 1, 1000000, &run.steps)) continue;
        if (cli_number(c, "--seed", 0, 1L << 30, &run.seed)) continue;
        if (cli_number(c, "--jobs", 1, TFN_THREADS_MAX, &jobs)) continue;
        if (run.count == ROWS_MAX) cli_fail(c, "more than %d recipes", ROWS_MAX);
        r[run.count].recipe = tfn_recipe_find(c->argv[c->at]);
        if (!r[run.count++].recipe) unknown(c, c->argv[c->at], RECIPE);
    }
    if (!run.count)
        while (run.count < ROWS_MAX && tfn_recipe_at(run.count)) {
            r[run.count].recipe = tfn_recipe_at(run.count);
            run.count++;
        }
    run.jobs = (int)jobs;
    jobs = smoke(&run);
    free(run.results);
    return (int)jobs;
}
#endif
