/* Chunks of a step, timed by one thread and dealt out to many. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "simulate.h"
#include "../common/library.h"
#include "../common/threads.h"
#include "contest.h"
#include "option.h"
#include "train.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIMULATE_NAMES = 100, SIMULATE_SHOWN = 8 };

/* The bandwidth limits arrays of at least this size; smaller ones stay in a cache. */
static const double large_bytes = 8388608;

typedef struct timed_round {
    library_round round;
    size_t first;                       /* of its chunks */
} timed_round;

/* The rounds and chunks of a step. Further steps have the same ones, and the smaller times are
 * kept. */
typedef struct simulation {
    timed_round *rounds;
    double *seconds;                    /* of each chunk */
    size_t count, most, chunks, most_chunks, regions;
    bool   again;
    double clock_cost, rest;            /* of a step, outside its chunks */
    double sum;                         /* of this step's chunks */
} simulation;

static double monotonic(void)
{
#if defined CLOCK_MONOTONIC && !defined _WIN32
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

/* -- the watch --------------------------------------------------------------------------------- */

static void see_region(void *user) { ((simulation *)user)->regions++; }

static void see_round(void *user, const library_round *round)
{
    simulation *s = (simulation *)user;
    if (s->count == s->most) {
        s->most = 2 * s->most + 64;
        s->rounds = (timed_round *)need(realloc(s->rounds, s->most * sizeof *s->rounds));
    }
    s->rounds[s->count].round = *round;
    s->rounds[s->count++].first = s->chunks;
}

static void see_chunk(void *user, double seconds)
{
    simulation *s = (simulation *)user;
    seconds -= s->clock_cost;
    if (seconds < 0) seconds = 0;
    s->sum += seconds;
    if (s->chunks == s->most_chunks) {
        s->most_chunks = 2 * s->most_chunks + 256;
        s->seconds = (double *)need(realloc(s->seconds, s->most_chunks * sizeof *s->seconds));
    }
    if (!s->again || seconds < s->seconds[s->chunks]) s->seconds[s->chunks] = seconds;
    s->chunks++;
}

/* Seconds between two readings of the clock, which every chunk contains. */
static double cost_of_clock(void)
{
    double least = 1;
    for (int i = 0; i < 1000; i++) {
        const double start = now();
        const double cost = now() - start;
        if (cost < least) least = cost;
    }
    return least;
}

/* Times a step under the watch. The rest is the time outside the chunks, without the readings of
 * the clock. */
static void watch_step(simulation *s, train_job *j)
{
    library_watch watch = { now, see_region, see_round, see_chunk, NULL };
    tfn_report report;
    double start, rest;
    size_t before = s->chunks;
    watch.user = s;
    s->count = s->chunks = s->regions = 0;
    s->sum = 0;
    library_watch_teams(&watch);
    start = now();
    tfn_model_step(&j->m, &j->batch, &report);
    rest = now() - start;
    library_watch_teams(NULL);
    if (s->again && s->chunks != before) fail("simulate", "two steps have different chunks");
    rest -= s->sum + 2 * (double)s->chunks * s->clock_cost;
    if (rest < 0) rest = 0;
    if (!s->again || rest < s->rest) s->rest = rest;
    s->again = true;
}

/* -- the cost of a barrier --------------------------------------------------------------------- */

enum { TURNS = 200 };
typedef struct ball { volatile long turn; double least; } ball;

/* Two threads pass a number back and forth. As at a barrier, each waits until it sees what the
 * other wrote; this takes half of a turn. */
static void play(void *p, int index)
{
    ball *b = (ball *)p;
    for (int game = 0; game < 50; game++) {
        const double start = monotonic();
        double each;
        for (int i = 0; i < TURNS; i++) {
            const long mine = 2L * (game * TURNS + i) + index;
            long spins = 0;
            while (__atomic_load_n(&b->turn, __ATOMIC_ACQUIRE) != mine)
                if (++spins > 1000) tfn_thread_yield();
            __atomic_store_n(&b->turn, mine + 1, __ATOMIC_RELEASE);
        }
        each = (monotonic() - start) / TURNS / 2;
        if (index == 0 && each < b->least) b->least = each;
    }
}
static void nothing(void *p, int index) { (void)p, (void)index; }

static double cost_of_barrier(void)
{
    ball b = { 0, 1 };
    tfn_threads_run(2, play, &b);
    return b.least;
}
static double cost_of_region(void)
{
    double least = 1;
    for (int i = 0; i < 100; i++) {
        const double start = monotonic();
        TFNORM_PARALLEL_FOR(2, nothing, NULL);
        if (monotonic() - start < least) least = monotonic() - start;
    }
    return least;
}

/* -- dealing ----------------------------------------------------------------------------------- */

/* Costs and limits of the machine. */
typedef struct machine { double barrier, region, bandwidth; int threads; } machine;

/* Returns the doublings from 1 to n: the steps of a barrier that joins n threads in pairs. */
static double doublings(int n)
{
    int k = 0;
    while (1 << k < n) k++;
    return k;
}

static double chunks_of(const simulation *s, const timed_round *r)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < r->round.chunks; i++) sum += s->seconds[r->first + (size_t)i];
    return sum;
}

/* Seconds of a round: the next chunk goes to the thread that is free first. */
static double deal(const simulation *s, const timed_round *r, const machine *m)
{
    double free_at[TFN_THREADS_MAX] = { 0 };
    double end = 0;
    if (!r->round.shared) return chunks_of(s, r);
    for (ptrdiff_t i = 0; i < r->round.chunks; i++) {
        int next = 0;
        for (int t = 1; t < m->threads; t++)
            if (free_at[t] < free_at[next]) next = t;
        free_at[next] += s->seconds[r->first + (size_t)i];
        if (free_at[next] > end) end = free_at[next];
    }
    if (r->round.bytes >= large_bytes && end < r->round.bytes / m->bandwidth
        && chunks_of(s, r) > r->round.bytes / m->bandwidth) end = r->round.bytes / m->bandwidth;
    return end + m->barrier * doublings(m->threads);
}

/* The sums of all rounds with the same name. */
typedef struct losses {
    char   name[60];
    int    rounds;
    double chunks, alone, dealt, lost;
} losses;

static losses *losses_of(losses *table, int *count, const library_round *r)
{
    char name[60];
    snprintf(name, sizeof name, "%s%s%s %dx%d", r->name, *r->kind ? " " : "", r->kind,
             (int)r->rows, (int)r->cols);
    for (int i = 0; i < *count; i++)
        if (!strcmp(table[i].name, name)) return table + i;
    if (*count == SIMULATE_NAMES) {                     /* the last one takes all others */
        snprintf(table[*count - 1].name, sizeof name, "others");
        return table + *count - 1;
    }
    ++*count;
    memset(table + *count - 1, 0, sizeof *table);
    memcpy(table[*count - 1].name, name, sizeof name);
    return table + *count - 1;
}

static int by_loss(const void *a, const void *b)
{
    const double x = ((const losses *)a)->lost;
    const double y = ((const losses *)b)->lost;
    return (x < y) - (x > y);
}

/* Results of the simulation, in seconds. */
typedef struct found { double one, chunks, rest, dealt, starts, step; size_t barriers; } found;

static void print_found(const char *name, const simulation *s, const machine *m, const found *f,
                        const losses *table, int count)
{
    if (option.json) {
        printf("{\"bench\":\"simulate\",\"name\":\"%s\",\"threads\":%d,\"barrier_ns\":%.6g,"
               "\"region_us\":%.6g,\"gbytes\":%.6g,\"one_ms\":%.6g,\"chunks_ms\":%.6g,"
               "\"rest_ms\":%.6g,\"dealt_ms\":%.6g,\"starts_ms\":%.6g,\"ms\":%.6g,\"rounds\":%zu,"
               "\"barriers\":%zu,\"chunks\":%zu,\"teams\":%zu,\"ratio\":%.3f}\n", name, m->threads,
               1e9 * m->barrier, 1e6 * m->region, 1e-9 * m->bandwidth, 1e3 * f->one,
               1e3 * f->chunks, 1e3 * f->rest, 1e3 * f->dealt, 1e3 * f->starts, 1e3 * f->step,
               s->count, f->barriers, s->chunks, s->regions, f->one / f->step);
        return;
    }
    printf("%s: %d threads; a barrier %.0f ns, a team %.1f us, %.0f GB/s for arrays of 8 MiB\n",
           name, m->threads, 1e9 * m->barrier * doublings(m->threads), 1e6 * m->region,
           1e-9 * m->bandwidth);
    if (!s->regions) {
        printf("  runs on one thread, because its parts are too small to share\n");
        return;
    }
    printf("  one thread %.3f ms, simulated %.3f ms: %.2fx\n", 1e3 * f->one, 1e3 * f->step,
           f->one / f->step);
    printf("  %zu chunks of %zu rounds, %zu barriers: %.3f ms, dealt out %.3f ms; %zu teams start"
           " in %.3f ms; serial %.3f ms, %.1f %%\n", s->chunks, s->count, f->barriers,
           1e3 * f->chunks, 1e3 * f->dealt, s->regions, 1e3 * f->starts, 1e3 * f->rest,
           100 * f->rest / f->step);
    printf("  %-44s %6s %8s %10s %10s %10s\n", "loses most", "rounds", "chunks", "ms alone",
           "ms dealt", "ms lost");
    if (count > SIMULATE_SHOWN) count = SIMULATE_SHOWN;
    for (int i = 0; i < count; i++)
        printf("  %-44s %6d %8.0f %10.3f %10.3f %10.3f\n", table[i].name, table[i].rounds,
               table[i].chunks, 1e3 * table[i].alone, 1e3 * table[i].dealt, 1e3 * table[i].lost);
}

static void simulate_shape(const shape *s, machine *m)
{
    static losses table[SIMULATE_NAMES];
    simulation all;
    train_job one, more;
    found f = { 1e9, 0, 0, 0, 0, 0, 0 };
    int count = 0;
    memset(&all, 0, sizeof all);
    train_start(&one, s, 1);
    train_start(&more, s, m->threads);
    all.clock_cost = cost_of_clock();
    our_steps(&one);
    for (int r = 0; r < option.rounds; r++) {
        const double step = our_steps(&one);
        if (step < f.one) f.one = step;
        watch_step(&all, &more);
    }
    for (size_t i = 0; i < all.count; i++) {
        const timed_round *r = all.rounds + i;
        losses *l = losses_of(table, &count, &r->round);
        const double alone = chunks_of(&all, r);
        const double dealt = deal(&all, r, m);
        l->rounds++;
        l->chunks += (double)r->round.chunks;
        l->alone += alone;
        l->dealt += dealt;
        l->lost += dealt - alone / m->threads;
        f.chunks += alone;
        f.dealt += dealt;
        f.barriers += r->round.shared;
    }
    qsort(table, (size_t)count, sizeof *table, by_loss);
    f.rest = all.rest;
    f.starts = m->region * (double)all.regions;
    f.step = f.dealt + f.rest + f.starts;
    print_found(s->name, &all, m, &f, table, count);
    fflush(stdout);
    free(all.rounds);
    free(all.seconds);
    train_end(&one);
    train_end(&more);
}

void bench_simulate(const shape *list, int n)
{
    machine m = { 0, 0, 0, 0 };
    m.threads = option.simulate;
    m.barrier = option.barrier * 1e-9;
    if (!(option.barrier > 0)) m.barrier = cost_of_barrier();
    m.region = cost_of_region();
    m.bandwidth = option.bandwidth * 1e9;
    for (int i = 0; i < n; i++)
        if (wanted(list[i].name)) simulate_shape(list + i, &m);
}
