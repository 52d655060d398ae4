/* Every recipe as a decoder, an encoder and an encoder-decoder, trained and evaluated with three
 * threads and with one: the bits must be the same. Updates that threads share must have the same bits, too.
 * sanitizers.sh builds it with the thread sanitizer, once with OpenMP and once with the hook.
 * THREADS_RACE builds a race on purpose instead, to show that the sanitizer works. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../lib.h"
#include "../check.h"
#include "../updates.h"
#include <time.h>

enum { TIME = 9, BATCH = 3, VOCAB = 23 };
static int made;

#ifdef THREADS_RACE
static int shared;
/* The caller waits for a worker, which otherwise may come too late to run its part. The relaxed
 * count orders nothing, so the sanitizer still sees a race. */
static void race(void *begun, int i)
{
    const time_t begin = time(NULL);
    if (i > 0) __atomic_fetch_add((int *)begun, 1, __ATOMIC_RELAXED);
    while (i == 0 && !__atomic_load_n((int *)begun, __ATOMIC_RELAXED))
        if (time(NULL) > begin + 10) break;
    for (int k = 0; k < 10000; k++) shared += i;
}
TEST(threads_race)
{
    int begun = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 3; i++) race(&begun, i);
#else
    TFNORM_PARALLEL_FOR(3, race, &begun);
#endif
    CHECK(begun > 0);
}
#else

static tfn_model_desc desc_of(const char *recipe, tfn_arch arch, int32_t threads)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = arch;
    d.recipe = recipe;
    d.vocab = VOCAB;
    d.context = TIME;
    d.batch = BATCH;
    d.width = 20;
    d.heads = 2;
    d.ffn = 24;
    d.layers = 2;
    d.dropout = d.attention_dropout = 0.1f;
    d.clip = 1;
    d.seed = 3;
    d.threads = threads;
    return d;
}

/* Two updates and an evaluation; 0: the recipe does not fit this architecture. */
static uint64_t run(const tfn_model_desc *d)
{
    int32_t tokens[BATCH * TIME], targets[BATCH * TIME], lengths[BATCH] = { TIME, 5, 1 };
    tfn_model m;
    tfn_batch b;
    tfn_report r;
    uint64_t hash;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) return 0;
    for (int i = 0; i < BATCH * TIME; i++) {
        tokens[i] = i % TIME < lengths[i / TIME] ? (5*i + 2) % VOCAB : 0;
        targets[i] = i % TIME < lengths[i / TIME] ? (3*i + 1) % VOCAB : -1;
    }
    memset(&b, 0, sizeof b);
    b.tokens = tokens;
    b.targets = targets;
    b.lengths = lengths;
    b.batch = BATCH;
    b.time = TIME;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) {
        b.source = tokens;
        b.source_lengths = lengths;
        b.source_time = TIME;
    }
    for (int i = 0; i < 2; i++) CHECK_INT(tfn_model_step(&m, &b, &r), TFN_OK);
    CHECK_INT(tfn_model_eval(&m, &b, &r), TFN_OK);
    hash = tfn_model_hash(&m);
    tfn_model_free(&m);
    made++;
    return hash;
}

TEST(threads_recipes)
{
    const tfn_recipe *recipe;
    for (int i = 0; (recipe = tfn_recipe_at(i)) != NULL; i++)
        for (int arch = 0; arch < 3; arch++) {
            tfn_model_desc d = desc_of(recipe->name, (tfn_arch)arch, 3);
            const uint64_t hash = run(&d);
            if (!hash) continue;
            d.threads = 1;
            if (run(&d) != hash) FAIL("%s, architecture %d: other bits with three threads",
                                      recipe->name, arch);
        }
    printf("  %d models\n", made);
    CHECK(made > 300);
}

TEST(threads_updates) { updates_compare(); }

TEST(threads_blocks) { blocks_compare(); }

#ifndef _OPENMP
/* The workers of threads.h: a region runs each index exactly once, even if several threads run
 * regions at the same time, if workers sleep between regions, or if there are more parts than
 * workers. */
enum { REGIONS = 300, PARTS = 5, CALLERS = 3 };
static void count_call(void *calls, int index) { __atomic_fetch_add((int *)calls + index, 1, 0); }
static void have_regions(void *wrong, int caller)
{
    for (int i = 0; i < REGIONS; i++) {
        int calls[PARTS] = { 0 };
        const int parts = 2 + (i + caller) % (PARTS - 1);
        const struct timespec pause = { 0, 1000000 };
        TFNORM_PARALLEL_FOR(parts, count_call, calls);
        for (int k = 0; k < PARTS; k++)
            if (calls[k] != (k < parts)) __atomic_fetch_add((int *)wrong, 1, 0);
        if (i % 50 == 0) nanosleep(&pause, NULL);
    }
}
TEST(threads_workers)
{
    int calls[TFN_THREADS_MAX + 9] = { 0 };
    int wrong = 0;
    have_regions(&wrong, 0);
    tfn_threads_run(CALLERS, have_regions, &wrong);
    CHECK_INT(wrong, 0);
    TFNORM_PARALLEL_FOR(TFN_THREADS_MAX + 9, count_call, calls);
    for (int k = 0; k < TFN_THREADS_MAX + 9; k++) CHECK_INT(calls[k], 1);
}
/* After a region with a preempted worker the workers rest, twice as long each time up to a limit. */
TEST(threads_rest)
{
    tfn_workers *all = tfn_workers_all();
    all->rest = all->rested = 0;
    CHECK_INT(tfn_workers_ready(3), 3);
    tfn_workers_note(all, 1);
    CHECK_INT(all->rest, TFN_REST_LEAST);
    CHECK(all->rested != 0);
    tfn_workers_note(all, 1);
    CHECK_INT(all->rest, 2 * TFN_REST_LEAST);
    all->rested = tfn_clock_ms(3600000000000) | 1;
    CHECK_INT(tfn_workers_ready(3), 1);
    all->rested = tfn_clock_ms(-2000000) | 1;
    CHECK_INT(tfn_workers_ready(3), 3);
    for (int i = 0; i < 20; i++) tfn_workers_note(all, 1);
    CHECK_INT(all->rest, TFN_REST_MOST);
    tfn_workers_note(all, 0);
    CHECK_INT(tfn_workers_ready(3), 3);
    CHECK(all->rest < TFN_REST_MOST);
    all->rest = all->rested = 0;
}
/* Workers that were stopped start again with the next region. */
TEST(threads_stopped)
{
    int calls[PARTS] = { 0 };
    for (int i = 0; i < 20; i++) {
        TFNORM_PARALLEL_FOR(PARTS, count_call, calls);
        tfn_workers_stop();
        for (int k = 1; k < TFN_THREADS_MAX; k++) CHECK_INT(tfn_workers_all()->worker[k].lives, 0);
    }
    tfn_workers_stop();
    for (int k = 0; k < PARTS; k++) CHECK_INT(calls[k], 20);
}
#endif
#endif

int main(void)
{
#ifdef THREADS_RACE
    RUN(threads_race);
#else
    RUN(threads_recipes);
    RUN(threads_updates);
    RUN(threads_blocks);
#ifndef _OPENMP
    RUN(threads_workers);
    RUN(threads_rest);
    RUN(threads_stopped);
#endif
#endif
    return DONE();
}
