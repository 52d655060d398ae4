/* Work that is large enough for threads to share must have the bits of one thread. Updates with
 * every optimizer, form of moments and rule for weights: weights, moments, averages and the norm of
 * the gradient. Steps and an evaluation by two to seven threads, which cut products into blocks. For
 * test_step.c, and for the thread sanitizer. */
#ifndef UPDATES_H
#define UPDATES_H
#include "batch.h"
#include <string.h>

typedef struct updates_row {
    const char *name, *recipe;
    tfn_optimizer optimizer;
    tfn_moment_type moments;
    float ema, clip_value;
} updates_row;

static const updates_row updates_rows[] = {
    { "AdamW",         "pre",         TFN_OPTIMIZER_ADAMW,         TFN_MOMENT_TYPE_FLOAT, 0, 0 },
    { "averages",      "pre",         TFN_OPTIMIZER_ADAMW,         TFN_MOMENT_TYPE_FLOAT, 0.9f, 0 },
    { "clipped SGD",   "pre",         TFN_OPTIMIZER_SGD,           TFN_MOMENT_TYPE_FLOAT, 0, 0.1f },
    { "Lion",          "pre",         TFN_OPTIMIZER_LION,          TFN_MOMENT_TYPE_FLOAT, 0, 0 },
    { "Muon",          "pre",         TFN_OPTIMIZER_MUON,          TFN_MOMENT_TYPE_FLOAT, 0, 0 },
    { "Adafactor",     "pre",         TFN_OPTIMIZER_ADAFACTOR,     TFN_MOMENT_TYPE_FLOAT, 0, 0 },
    { "schedule-free", "pre",         TFN_OPTIMIZER_SCHEDULE_FREE, TFN_MOMENT_TYPE_FLOAT, 0, 0 },
    { "moments BF16",  "pre",         TFN_OPTIMIZER_ADAMW,         TFN_MOMENT_TYPE_BF16,  0, 0 },
    { "moments FP8",   "pre",         TFN_OPTIMIZER_ADAMW,         TFN_MOMENT_TYPE_FP8,   0, 0 },
    { "unit vectors",  "ngpt",        TFN_OPTIMIZER_ADAMW,         TFN_MOMENT_TYPE_FLOAT, 0.9f, 0 },
    { "units, free",   "ngpt",        TFN_OPTIMIZER_SCHEDULE_FREE, TFN_MOMENT_TYPE_FLOAT, 0, 0 },
    { "sigma",         "sigma-reparam", TFN_OPTIMIZER_ADAMW,       TFN_MOMENT_TYPE_FLOAT, 0, 0 }
};
enum { UPDATES = 2 };

static inline tfn_model_desc updates_desc(const updates_row *row, int32_t threads)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.recipe = row->recipe;
    d.vocab = 1100;
    d.batch = 1;
    d.context = 6;
    d.width = 96;
    d.heads = 2;
    d.ffn = 384;
    d.layers = 1;
    d.clip = 0.5f;
    d.decay = 0.01f;
    d.schedule.lr = 1e-2f;
    d.optimizer = row->optimizer;
    d.moment_type = row->moments;
    d.ema = row->ema;
    d.clip_value = row->clip_value;
    d.threads = threads;
    return d;
}

static inline void updates_compare_row(const updates_row *row)
{
    const tfn_model_desc one = updates_desc(row, 1);
    const tfn_model_desc three = updates_desc(row, HOOK_THREADS(3));
    tfn_model a;
    tfn_model b;
    batch_room room;
    tfn_report alone;
    tfn_report shared;
    CASE("%s", row->name);
    if (!batch_open(&a, &one) || !batch_open(&b, &three)) return;
    CHECK(a.param_floats > 3 * 65536);                  /* else a third thread has no part */
    for (int i = 0; i < UPDATES; i++) {
        batch_fill(&room, &one, (uint64_t)i);
        CHECK_INT(tfn_model_step(&a, &room.batch, &alone), TFN_OK);
        CHECK_INT(tfn_model_step(&b, &room.batch, &shared), TFN_OK);
        CHECK(alone.updated && shared.updated && alone.grad_norm > 0);
        CHECK(alone.grad_norm == shared.grad_norm);
    }
    CHECK(tfn_model_hash(&a) == tfn_model_hash(&b));
    CHECK(a.memory.moments == b.memory.moments);
    if (a.moments) CHECK(!memcmp(a.moments, b.moments, a.memory.moments));
    if (a.averages) CHECK(!memcmp(a.averages, b.averages, a.memory.averages));
    tfn_model_free(&a);
    tfn_model_free(&b);
}

static inline void updates_compare(void)
{
    for (size_t i = 0; i < sizeof updates_rows / sizeof *updates_rows; i++)
        updates_compare_row(updates_rows + i);
}

/* -- products in blocks ------------------------------------------------------------------------ */

enum { BLOCKS_BATCH = 3, BLOCKS_TIME = 40, BLOCKS_TOKENS = BLOCKS_BATCH * BLOCKS_TIME };

static inline uint64_t blocks_hash(const char *recipe, int32_t threads, double *loss)
{
    static int32_t tokens[2 * BLOCKS_TOKENS];
    static const int32_t lengths[BLOCKS_BATCH] = { BLOCKS_TIME, 17, 1 };
    tfn_model_desc d = updates_desc(updates_rows, threads);
    tfn_batch batch;
    tfn_report report;
    tfn_model m;
    uint64_t hash;
    d.recipe = recipe;
    d.vocab = 333;
    d.batch = BLOCKS_BATCH;
    d.context = BLOCKS_TIME;
    d.schedule.lr = 1e-3f;
    if (!batch_open(&m, &d)) return 0;
    for (int i = 0; i < 2 * BLOCKS_TOKENS; i++)
        tokens[i] = (int32_t)(tfn_random_bits(tfn_key_make(5), (uint64_t)i) % (uint64_t)d.vocab);
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.targets = tokens + BLOCKS_TOKENS;
    batch.lengths = lengths;
    batch.batch = BLOCKS_BATCH;
    batch.time = BLOCKS_TIME;
    for (int i = 0; i < UPDATES; i++) CHECK_INT(tfn_model_step(&m, &batch, &report), TFN_OK);
    CHECK_INT(tfn_model_eval(&m, &batch, &report), TFN_OK);
    *loss = report.loss;
    hash = tfn_model_hash(&m);
    tfn_model_free(&m);
    return hash;
}

static inline void blocks_compare(void)
{
    static const char *const recipes[] = { "pre", "olmo2" };
    for (int i = 0; i < 2; i++) {
        double one = 0;
        double more = 0;
        const uint64_t hash = blocks_hash(recipes[i], 1, &one);
        for (int32_t threads = 2; threads <= 7; threads += 1 + i * 4) {
            CASE("%s, %d threads", recipes[i], (int)threads);
            CHECK(blocks_hash(recipes[i], HOOK_THREADS(threads), &more) == hash);
            CHECK(more == one);
        }
    }
}
#endif
