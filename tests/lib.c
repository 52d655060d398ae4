/* The implementation that the tests link, and what they use of its private functions (lib.h). */
#include "hook.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef TFN__DOUBLE
#define float double
#endif
#ifdef TEST_EXACT
#define TFNORM_EXACT
#endif
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#ifdef TEST_LIBRARY
#define TEST_LINKED
#include "lib.h"
#endif

void lib_sinusoid_table(float *table, ptrdiff_t time, ptrdiff_t cols, bool fairseq)
{
    tfn__sinusoid_table(table, time, cols, fairseq);
}
void lib_rotary_table(float *table, ptrdiff_t time, ptrdiff_t head_size, float theta)
{
    tfn__rotary_table(table, time, head_size, theta);
}
float  lib_fma(float a, float b, float c)           { return tfn__fma(a, b, c); }
double lib_exp(double x)                            { return tfn__exp(x); }
double lib_log(double x)                            { return tfn__log(x); }
double lib_sin(double x)                            { return tfn__sin(x); }
double lib_cos(double x)                            { return tfn__cos(x); }
double lib_pow(double x, double y)                  { return tfn__pow(x, y); }

#ifndef TFNORM_NO_TRAINING
void lib_update_at(tfn_update *u, int64_t t)        { tfn__update_at(u, t); }
#endif
#ifndef TFN__DOUBLE
void lib_round_to_half(float *p, ptrdiff_t n)       { tfn__halve(p, n); }
#endif

bool lib_bind(tfn_model *m, const tfn_batch *batch)
{
    const int64_t step = m->run.step;
    const bool ready = tfn__ready(m, batch, true) == TFN_OK;
    m->run.step = step;
    return ready;
}

const char *lib_word_13a(const char *text, int32_t i, int32_t *length, void *work, size_t size)
{
    const char *none = "";
    tfn_status status;
    const tfn__words *w = tfn__split_all(text, &none, 1, tfn__split_13a, work, size, &status);
    if (!w || i >= w->count) return NULL;
    *length = w->at[i + 1] - w->at[i];
    return w->text + w->at[i];
}
