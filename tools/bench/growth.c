/* A busy neighbor, the bytes of a model, and sizes that grow. */
#include "growth.h"
#include "../../tfnorm.h"
#include "../common/threads.h"
#include "contest.h"
#include "option.h"
#include "train.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* -- threads ---------------------------------------------------------------------------------- */

static volatile bool neighbour_stops;
static void neighbour(void *p, int index)
{
    (void)p, (void)index;
    while (!neighbour_stops) continue;
}

void bench_threads(const shape *list, int n)
{
    int threads = 2;
    if (option.threads > 1) threads = option.threads;
    option.threads = threads;                       /* now() is the wall clock */
    for (int i = 0; i < n; i++) {
        train_job one, more;
        if (!wanted(list[i].name)) continue;
        train_start(&one, &list[i], 1);
        train_start(&more, &list[i], threads);
        for (int busy = 0; busy < 2; busy++) {
            double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
            bool same;
            tfn_thread_job spin;
            memset(&spin, 0, sizeof spin);
            spin.run = neighbour;
            neighbour_stops = false;
            if (busy) spin.started = tfn_thread_start(&spin);
            our_steps(&one);
            our_steps(&more);
            for (int r = 0; r < option.rounds; r++) {
                a[r] = our_steps(&one);
                b[r] = our_steps(&more);
                ratio[r] = a[r] / b[r];
            }
            neighbour_stops = true;
            if (spin.started) tfn_thread_join(&spin);
            same = tfn_model_hash(&one.m) == tfn_model_hash(&more.m);
            median(ratio, option.rounds);
            if (option.json)
                printf("{\"bench\":\"threads\",\"name\":\"%s\",\"threads\":%d,\"busy\":%s,"
                       "\"ms\":%.6g,\"one_ms\":%.6g,\"ratio\":%.3f,\"same_bits\":%s}\n",
                       list[i].name, threads, busy ? "true" : "false",
                       1e3 * median(b, option.rounds), 1e3 * median(a, option.rounds),
                       ratio[option.rounds / 4], same ? "true" : "false");
            else
                printf("%-7s %-14s %-22s one %9.2f ms   %d threads %9.2f ms  %.2fx  %s\n",
                       one.k->name, list[i].name, busy ? "with a busy neighbour" : "alone",
                       1e3 * median(a, option.rounds), threads, 1e3 * median(b, option.rounds),
                       ratio[option.rounds / 4], same ? "same bits" : "BITS DIFFER");
            fflush(stdout);
        }
        train_end(&one);
        train_end(&more);
    }
}

/* -- memory ----------------------------------------------------------------------------------- */

void bench_memory(const shape *list, int n)
{
    for (int i = 0; i < n; i++)
        for (int again = 0; again < 2; again++) {
            tfn_model_desc d = desc_of(&list[i], false, option.threads);
            tfn_model m;
            const tfn_memory *u = &m.memory;
            if (!wanted(list[i].name)) continue;
            d.recompute = again != 0;
            make_model(&m, &d, list[i].name);
            printf(option.json
                   ? "{\"bench\":\"memory\",\"name\":\"%s%s\",\"total\":%zu,\"parameters\":%zu,"
                     "\"gradients\":%zu,\"moments\":%zu,\"workspace\":%zu,\"other\":%zu}\n"
                   : "%s%s: %zu bytes; parameters %zu, gradients %zu, moments %zu, working set %zu,"
                     " other %zu\n",
                   list[i].name, again ? ", recomputed" : "", u->total, u->parameters,
                   u->gradients, u->moments, u->workspace,
                   u->total - u->parameters - u->gradients - u->moments - u->workspace);
            tfn_model_free(&m);
        }
}

/* -- growth ----------------------------------------------------------------------------------- */

void bench_growth(void)
{
    static const shape base = { "", 4, 128, 4, 512, 64, 8, 256 };
    static const struct { const char *name; int n, values[10]; } tables[] = {
        { "width", 10, { 32, 48, 64, 96, 100, 128, 192, 256, 384, 512 } },
        { "depth", 5, { 1, 2, 4, 8, 16 } },
        { "length", 8, { 8, 16, 32, 63, 64, 128, 256, 512 } },
        { "batch", 8, { 1, 2, 3, 4, 8, 16, 32, 64 } }
    };
    for (int t = 0; t < 4; t++) {
        double first = 0;
        if (!wanted(tables[t].name)) continue;
        if (!option.json)
            printf("%-7s %12s %14s %10s\n", tables[t].name, "tokens/s", "MFLOP a token",
                   "time/FLOP");
        for (int i = 0; i < tables[t].n; i++) {
            const int v = tables[t].values[i];
            shape s = base;
            train_job j;
            double time[ROUNDS], tokens, operations;
            if (t == 0) {
                s.width = v;
                s.ffn = 4*v;
            }
            if (t == 1) s.layers = v;
            if (t == 2) s.time = v;
            if (t == 3) s.batch = v;
            train_start(&j, &s, option.threads);
            our_steps(&j);
            for (int r = 0; r < option.rounds; r++) time[r] = our_steps(&j);
            tokens = s.batch * s.time / median(time, option.rounds);
            operations = step_operations(&s) / s.batch / s.time;
            if (i == 0) first = tokens * operations;
            printf(option.json ? "{\"bench\":\"growth\",\"name\":\"%s=%d\","
                                 "\"tokens_per_second\":%.6g,\"flop_per_token\":%.6g,"
                                 "\"time_per_flop\":%.3f}\n"
                               : "%s%7d %12.0f %14.3f %10.2f\n",
                   option.json ? tables[t].name : "", v, tokens,
                   option.json ? operations : operations * 1e-6, first / (tokens * operations));
            fflush(stdout);
            train_end(&j);
        }
    }
}
