/* Training in separate processes, with denormals kept or flushed to zero. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "slowness.h"
#include "../../tfnorm.h"
#include "contest.h"
#include "denormals.h"
#include "option.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#if defined __unix__ || defined __APPLE__
#include <sys/wait.h>
#include <unistd.h>
#endif
#if defined __x86_64__
#include <immintrin.h>
#endif

static int denormals_updates(void)
{
    if (option.quick) return 60;
    return 250;
}

/* Makes the processor replace denormal operands and results by 0, unlike the library's
 * arithmetic. */
static bool flush_denormals(void)
{
#if defined __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return true;
#elif defined __aarch64__ && defined __GNUC__
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | UINT64_C(1) << 24));
    return true;
#else
    return false;
#endif
}

/* Seconds of the updates; negative: the model is illegal. */
static double training_seconds(const tfn_model_desc *d)
{
    tfn_model m;
    tfn_report report;
    double start;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) return -1;
    denormals_step(&m, 0, &report);
    start = now();
    for (int s = 1; s < denormals_updates(); s++) denormals_step(&m, s, &report);
    start = now() - start;
    tfn_model_free(&m);
    return start;
}

/* The same in a separate process. */
static double process_seconds(const tfn_model_desc *d, bool flush)
{
    double seconds = -1;
#if defined __unix__ || defined __APPLE__
    int answer[2];
    pid_t child;
    fflush(stdout);
    if (pipe(answer)) return -1;
    child = fork();
    if (child == 0) {
        if (!flush || flush_denormals()) seconds = training_seconds(d);
        _exit(write(answer[1], &seconds, sizeof seconds) != (ssize_t)sizeof seconds);
    }
    close(answer[1]);
    if (child < 0 || read(answer[0], &seconds, sizeof seconds) != (ssize_t)sizeof seconds)
        seconds = -1;
    close(answer[0]);
    if (child > 0) waitpid(child, NULL, 0);
#else
    (void)d, (void)flush;
#endif
    return seconds;
}

/* Medians of both times and of their ratios; false: not possible here. */
static bool time_denormals(const tfn_model_desc *d, double *kept, double *flushed, double *ratio)
{
    double with[ROUNDS], without[ROUNDS], ratios[ROUNDS];
    for (int r = 0; r < option.rounds; r++) {
        with[r] = process_seconds(d, false);
        without[r] = process_seconds(d, true);
        ratios[r] = with[r] / without[r];
        if (with[r] <= 0 || without[r] <= 0) return false;
    }
    *kept = median(with, option.rounds);
    *flushed = median(without, option.rounds);
    *ratio = median(ratios, option.rounds);
    return true;
}

static void print_denormals(const char *name, const denormals_counts *c, double kept,
                            double flushed, double ratio)
{
    const double each = 1e3 / denormals_updates();
    if (!option.json) {
        printf("%-20s %9lld %7.1f %7lld %9lld %10lld %6lld %7lld %10lld", name,
               (long long)c->operands, 1e6 * (double)c->operands / (double)c->read,
               (long long)c->values, (long long)c->gradients, (long long)c->parameters,
               (long long)c->sums, (long long)c->moments, (long long)c->underflows);
        if (ratio > 0) printf(" %8.3f %8.3f %6.2f", kept * each, flushed * each, ratio);
        printf("%s%s\n", c->where ? "  first: " : "", c->where ? c->where : "");
    } else {
        printf("{\"bench\":\"denormals\",\"name\":\"%s\",\"operands\":%lld,\"of\":%lld,"
               "\"values\":%lld,\"gradients\":%lld,\"parameters\":%lld,\"sums\":%lld,"
               "\"moments\":%lld,\"underflows\":%lld,\"calls\":%lld", name,
               (long long)c->operands, (long long)c->read, (long long)c->values,
               (long long)c->gradients, (long long)c->parameters, (long long)c->sums,
               (long long)c->moments, (long long)c->underflows, (long long)c->calls);
        if (ratio > 0)
            printf(",\"ms\":%.6g,\"flushed_ms\":%.6g,\"ratio\":%.3f", kept * each,
                   flushed * each, ratio);
        printf("}\n");
    }
    fflush(stdout);
}

void bench_denormals(const shape *s)
{
    int64_t operands = 0;
    double worst = 0;
    int recipes = 0;
    if (!option.json)
        printf("%-20s %9s %7s %7s %9s %10s %6s %7s %10s %8s %8s %6s\n", "recipe", "operands", "ppm",
               "values", "gradients", "parameters", "sums", "moments", "underflows", "ms kept",
               "flushed", "ratio");
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const char *name = tfn_recipe_at(i)->name;
        tfn_model_desc d = denormals_desc(name);
        double kept = 0;
        double flushed = 0;
        double ratio = 0;
        if (!wanted(name)) continue;
        d.isa = option.isa;
        if (s) {
            d.layers = s->layers;
            d.width = s->width;
            d.heads = s->heads;
            d.ffn = s->ffn;
        }
        if (!denormals_train(&d, denormals_updates(), 25)) continue;
        if (!option.counts) time_denormals(&d, &kept, &flushed, &ratio);
        print_denormals(name, &denormals.counts, kept, flushed, ratio);
        operands += denormals.counts.operands;
        if (ratio > worst) worst = ratio;
        recipes++;
    }
    if (!option.json)
        printf("%d recipes, %lld denormal operands, worst ratio %.2f\n", recipes,
               (long long)operands, worst);
}
