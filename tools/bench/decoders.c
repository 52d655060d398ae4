/* Files for gpt-2-alloc and runq, and the output of these programs. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "decoders.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void decoders_int(FILE *f, int64_t value)
{
    const int32_t v = (int32_t)value;
    fwrite(&v, sizeof v, 1, f);
}

/* n bytes of floats of about +-0.05, or of 8-bit integers. The values of the last token are 0,
 * because ggml stops at that token: a logit of 0 is never among the largest. */
static void decoders_noise(FILE *f, int64_t n, bool integers)
{
    static float floats[DECODERS_NOISE];
    static int8_t bytes[DECODERS_NOISE * sizeof(float)];
    uint32_t u = 1;
    for (int i = 0; i < DECODERS_NOISE; i++) {
        u = u * 1664525 + 1013904223;           /* Numerical Recipes' generator */
        floats[i] = ((float)(u >> 8) / 16777216 - 0.5f) * 0.1f;
        for (int k = 0; k < 4; k++) bytes[4*i + k] = (int8_t)((int)(u >> 8*k & 255) % 127 - 63);
    }
    for (int64_t left = n; left > 0; left -= (int64_t)sizeof bytes) {
        size_t some = sizeof bytes;
        if (left < (int64_t)some) some = (size_t)left;
        if (integers) fwrite(bytes, 1, some, f);
        else fwrite(floats, 1, some, f);
    }
}
static void decoders_zeros(FILE *f, int64_t n)
{
    for (int64_t i = 0; i < n; i++) fputc(0, f);
}

/* Closes the file; false: not everything was written. */
static bool decoders_close(FILE *f)
{
    const bool bad = ferror(f) != 0;
    return !fclose(f) && !bad;
}

/* -- ggml ------------------------------------------------------------------------------------- */

/* A tensor (rows, cols), with cols first in its header; rows 0: one dimension. */
static void decoders_tensor(FILE *f, const char *name, int rows, int cols)
{
    int64_t bytes = 4 * (int64_t)cols;
    if (rows) bytes *= rows;
    decoders_int(f, 1 + (rows > 0));
    decoders_int(f, (int64_t)strlen(name));
    decoders_int(f, 0);                         /* float32 */
    decoders_int(f, cols);
    if (rows) decoders_int(f, rows);
    fputs(name, f);
    if (!strcmp(name, "model/wte")) {
        decoders_noise(f, bytes - 4 * (int64_t)cols, false);
        decoders_zeros(f, 4 * (int64_t)cols);
    } else decoders_noise(f, bytes, false);
}

static void decoders_layer(FILE *f, const decoders_model *m, int layer)
{
    static const char *const parts[] = {
        "ln_1/g", "ln_1/b", "ln_2/g", "ln_2/b", "attn/c_attn/w", "attn/c_attn/b", "attn/c_proj/w",
        "attn/c_proj/b", "mlp/c_fc/w", "mlp/c_fc/b", "mlp/c_proj/w", "mlp/c_proj/b"
    };
    const int d = m->width;
    const int rows[] = { 0, 0, 0, 0, 3*d, 0, d, 0, m->ffn, 0, d, 0 };
    const int cols[] = { d, d, d, d, d, 3*d, d, d, d, m->ffn, m->ffn, d };
    for (int i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof name, "model/h%d/%s", layer, parts[i]);
        decoders_tensor(f, name, rows[i], cols[i]);
    }
}

bool decoders_write_ggml(const char *path, const decoders_model *m)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    decoders_int(f, 0x67676d6c);
    decoders_int(f, m->vocab);
    decoders_int(f, DECODERS_CONTEXT);
    decoders_int(f, m->width);
    decoders_int(f, m->heads);
    decoders_int(f, m->layers);
    decoders_int(f, 0);                         /* all floats */
    decoders_int(f, m->vocab);
    for (int i = 0; i < m->vocab; i++) {
        char word[16] = " a";
        if (i != 1) snprintf(word, sizeof word, "<%d>", i);
        decoders_int(f, (int64_t)strlen(word));
        fputs(word, f);
    }
    decoders_tensor(f, "model/ln_f/g", 0, m->width);
    decoders_tensor(f, "model/ln_f/b", 0, m->width);
    decoders_tensor(f, "model/wte", m->vocab, m->width);
    decoders_tensor(f, "model/wpe", DECODERS_CONTEXT, m->width);
    for (int i = 0; i < m->layers; i++) decoders_layer(f, m, i);
    return decoders_close(f);
}

/* -- llama2.c --------------------------------------------------------------------------------- */

/* After n 8-bit numbers, a scale for each 64 of them. */
static void decoders_scales(FILE *f, int64_t n)
{
    const float scale = 1e-3f;
    for (int64_t k = 0; k < n / 64; k++) fwrite(&scale, sizeof scale, 1, f);
}

/* `count` matrices of n numbers. */
static void decoders_integers(FILE *f, int64_t n, int count)
{
    for (int i = 0; i < count; i++) {
        decoders_noise(f, n, true);
        decoders_scales(f, n);
    }
}

bool decoders_write_runq(const char *path, const decoders_model *m)
{
    const int64_t d = m->width;
    const int64_t hidden = m->ffn * 2 / 3 / 64 * 64;
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    decoders_int(f, 0x616b3432);
    decoders_int(f, 2);
    decoders_int(f, d);
    decoders_int(f, hidden);
    decoders_int(f, m->layers);
    decoders_int(f, m->heads);
    decoders_int(f, m->heads);
    decoders_int(f, m->vocab);
    decoders_int(f, DECODERS_CONTEXT);
    fputc(1, f);                                /* the output is the embedding's matrix */
    decoders_int(f, 64);                        /* numbers of a scale */
    decoders_zeros(f, 256 - 41);
    decoders_noise(f, 4 * d * (2*m->layers + 1), false);
    decoders_noise(f, d, true);
    decoders_zeros(f, d);                       /* token 1, which ends a text */
    decoders_noise(f, d * (m->vocab - 2), true);
    decoders_scales(f, d * m->vocab);
    decoders_integers(f, d * d, 4 * m->layers);
    decoders_integers(f, d * hidden, 3 * m->layers);
    return decoders_close(f);
}
bool decoders_write_words(const char *path, const decoders_model *m)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    decoders_int(f, 8);                         /* bytes of the longest word */
    for (int i = 0; i < m->vocab; i++) {
        const float score = 0;
        char word[16];
        snprintf(word, sizeof word, "<%d>", i);
        fwrite(&score, sizeof score, 1, f);
        decoders_int(f, (int64_t)strlen(word));
        fputs(word, f);
    }
    return decoders_close(f);
}

/* -- their times ------------------------------------------------------------------------------ */

#if defined __unix__ || defined __APPLE__
#include <sys/resource.h>
#include <time.h>
static double decoders_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Processor time of the child processes that have ended. */
static double decoders_spent(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
         + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The number after `before` in the output of a command; negative: none. *share: the part of its
 * time during which it had the processor. */
static double decoders_number(const char *command, const char *before, double *share)
{
    static char line[1 << 16];
    double number = -1;
    double wall = decoders_clock();
    const double spent = decoders_spent();
    FILE *from;
    fflush(stdout);
    from = popen(command, "r");
    if (!from) return -1;
    while (fgets(line, sizeof line, from)) {
        const char *at = strstr(line, before);
        if (at) number = atof(at + strlen(before));
    }
    pclose(from);
    wall = decoders_clock() - wall;
    *share = (decoders_spent() - spent) / wall;
    return number;
}
#else
static double decoders_number(const char *command, const char *before, double *share)
{
    (void)command, (void)before, (void)share;
    return -1;
}
#endif

bool decoders_quantize(const char *folder, const char *from, const char *to, const char *type)
{
    char command[900];
    double share;
    snprintf(command, sizeof command, "'%s/gpt-2-quantize' '%s' '%s' %s 2>&1", folder, from, to,
             type);
    return decoders_number(command, "quantize time =", &share) >= 0;
}

double decoders_ggml_token(const char *folder, const char *model, int tokens)
{
    char command[900];
    double ms, share;
    snprintf(command, sizeof command,
             "'%s/gpt-2-alloc' -m '%s' -s 1 -t 1 -p ' a' -n %d 2>&1", folder, model, tokens);
    ms = decoders_number(command, "predict time =", &share);
    if (ms < 0) return -1;
    return ms / 1e3 / tokens * share;
}
double decoders_ggml_prefill(const char *folder, const char *model, int tokens)
{
    static char command[900 + 2 * DECODERS_CONTEXT];
    double ms, share;
    int at = snprintf(command, 900, "'%s/gpt-2-alloc' -m '%s' -s 1 -t 1 -b %d -n 0 -p '", folder,
                      model, tokens);
    for (int i = 0; i <= tokens; i++) at += snprintf(command + at, 3, " a");
    snprintf(command + at, 8, "' 2>&1");
    ms = decoders_number(command, "predict time =", &share);
    if (ms < 0) return -1;
    return ms / 1e3 * share;
}
double decoders_runq_token(const char *program, const char *model, const char *words, int tokens)
{
    char command[900];
    double rate, share;
    snprintf(command, sizeof command, "'%s' '%s' -z '%s' -t 0 -n %d 2>&1", program, model, words,
             tokens + 1);
    rate = decoders_number(command, "achieved tok/s:", &share);
    if (rate <= 0) return -1;
    return share / rate;
}
