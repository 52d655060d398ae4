/* Time and medians, then the rows of results. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "contest.h"
#include "../common/output.h"
#include "option.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* -- time ---------------------------------------------------------------------------------- */

double now(void)
{
#if defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
    struct timespec t;
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    if (option.threads > 1) clock = CLOCK_MONOTONIC;    /* a thread's own time misses the others */
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}
double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}
double time_job(job_fn *job, void *context, int *calls)
{
    const bool known = *calls > 0;
    double least = 0.01;
    double start, once;
    if (option.quick) least = 0.002;
    if (!known) *calls = 1;
    for (int n = *calls; ; n *= 2) {
        start = now();
        for (int i = 0; i < n; i++) job(context);
        once = now() - start;
        if (!known && once < least && n < 1 << 24) continue;
        *calls = n;
        return once / n;
    }
}

/* -- rows: ours, the limit and the peers alternately ------------------------------------------ */

/* The units of a rate, and their keys in JSON. */
static const struct { const char *name, *key; double scale; } units[] = {
    { "GFLOP/s", "gflops", 1e-9 }, { "GB/s", "gbytes", 1e-9 }, { "MB/s", "mbytes", 1e-6 },
    { "sentences/s", "sentences", 1 }
};

bool wanted(const char *name) { return !option.only || strstr(name, option.only); }

/* Prints a line for people: time, rate, share of the limit, then each peer's time over ours. */
static void print_line(const contest *c, const outcome *o, const peer *peers, int count,
                       double rate, double more)
{
    printf("%-7s %-30s %11.2f us %8.4g %s", c->isa, c->name, o->seconds * 1e6, rate,
           units[c->unit].name);
    if (c->more.text) printf("   %.4g %s", more, c->more.text);
    if (o->part > 0) printf(" %5.1f %%", 100 * o->part);
    for (int i = 0; i < count; i++)
        if (o->theirs[i] > 0) printf("   %s %.2fx", peers[i].name, o->ratio[i]);
    printf("\n");
}

/* Prints a line of JSON for programs; p NULL: no peer answered. */
static void print_json(const contest *c, const outcome *o, const peer *p, int i, double rate,
                       double more)
{
    printf("{\"bench\":\"%s\",\"name\":\"%s\",\"isa\":\"%s\",\"threads\":%d,\"rounds\":%d,"
           "\"ms\":%.6g", c->bench, c->name, c->isa, option.threads, option.rounds,
           o->seconds * 1e3);
    printf(",\"%s\":%.6g", units[c->unit].key, rate);
    if (c->more.text) printf(",\"%s\":%.6g", c->more.key, more);
    if (o->part > 0) printf(",\"percent\":%.1f", 100 * o->part);
    if (p)
        printf(",\"peer\":\"%s\",\"peer_ms\":%.6g,\"ratio\":%.3f", p->name, o->theirs[i] * 1e3,
               o->ratio[i]);
    else printf(",\"peer\":null,\"ratio\":null");
    printf("}\n");
}

/* Prints one line, or in JSON one for each peer. */
static void print_outcome(const contest *c, const outcome *o, const peer *peers, int count)
{
    const double rate = c->amount / o->seconds * units[c->unit].scale;
    double more = c->more.amount / o->seconds;
    if (c->more.times) more = c->more.amount * o->seconds;
    if (!option.json) print_line(c, o, peers, count, rate, more);
    else if (!count) print_json(c, o, NULL, 0, rate, more);
    else for (int i = 0; i < count; i++) {
        const peer *answered = NULL;
        if (o->theirs[i] > 0) answered = peers + i;
        print_json(c, o, answered, i, rate, more);
    }
    if (!output_flush()) exit(output_code());
}

outcome compete(const contest *c, peer *peers, int count)
{
    double ours[ROUNDS], part[ROUNDS], theirs[PEERS][ROUNDS], ratio[PEERS][ROUNDS];
    outcome o;
    if (!c->theirs) count = 0;
    memset(&o, 0, sizeof o);
    c->ours(c->job);
    for (int p = 0; p < count; p++) c->theirs(c->job, &peers[p]);
    for (int r = 0; r < option.rounds; r++) {
        double limit = 0;
        if (c->limit) limit = c->limit(c->job);
        ours[r] = c->ours(c->job);
        part[r] = 0;
        if (limit > 0) part[r] = c->amount / ours[r] / limit;
        for (int p = 0; p < count; p++) {
            theirs[p][r] = c->theirs(c->job, &peers[p]);
            ratio[p][r] = theirs[p][r] / ours[r];
        }
    }
    o.seconds = median(ours, option.rounds);
    o.part = median(part, option.rounds);
    for (int p = 0; p < count; p++) {
        o.theirs[p] = median(theirs[p], option.rounds);
        median(ratio[p], option.rounds);
        o.ratio[p] = ratio[p][option.rounds / 4];
    }
    print_outcome(c, &o, peers, count);
    return o;
}

void fail(const char *what, const char *error)
{
    fprintf(stderr, "bench: %s: %s\n", what, error);
    exit(1);
}
void must_be_ok(const char *what, const tfn_error *e)
{
    char text[200];
    if (e->status != TFN_OK) fail(what, tfn_error_text(e, text, sizeof text));
}
void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return p;
}
float *random_floats(ptrdiff_t n, uint64_t seed)
{
    char *all = (char *)need(malloc((size_t)n * sizeof(float) + sizeof all + 64));
    float *p = (float *)(all + 64 - ((uintptr_t)all + sizeof all) % 64 + sizeof all);
    memcpy((char *)p - sizeof all, &all, sizeof all);
    for (ptrdiff_t i = 0; i < n; i++)
        p[i] = tfn_random_uniform(tfn_key_make(seed), (uint64_t)i) - 0.5f;
    return p;
}
void free_floats(float *p)
{
    void *all;
    memcpy(&all, (char *)p - sizeof all, sizeof all);
    free(all);
}

int torch_peers(peer *p)
{
    const bool avx512 = tfn_kernels_for(option.isa)->isa == TFN_ISA_AVX512;
    int count;
    if (!option.peers || option.threads > 1) return 0;
    count = peers_torch(p, option.script, avx512);
    if (option.program) count += peer_program(&p[count], option.program);
    return count;
}
