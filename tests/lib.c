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
#define TFN__REFERENCE
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include "reference.h"
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
    tfn_model_desc d = { 0 };
    d.rotary_base = theta;
    tfn__rotary_table(table, time, head_size, &d);
}
float  lib_fma(float a, float b, float c)           { return tfn__fma(a, b, c); }
double lib_exp(double x)                            { return tfn__exp(x); }
double lib_log(double x)                            { return tfn__log(x); }
double lib_sin(double x)                            { return tfn__sin(x); }
double lib_cos(double x)                            { return tfn__cos(x); }
double lib_pow(double x, double y)                  { return tfn__pow(x, y); }

const lib_reference *lib_reference_kernels(void)
{
    static const lib_reference reference = {
        tfn__ref_layernorm_forward, tfn__ref_layernorm_backward,
        tfn__ref_rmsnorm_forward, tfn__ref_rmsnorm_backward,
        tfn__ref_softmax_forward, tfn__ref_softmax_backward,
        tfn__ref_linear_forward, tfn__ref_linear_backward,
        tfn__ref_attention_forward, tfn__ref_attention_backward,
        tfn__ref_cross_entropy_forward, tfn__ref_cross_entropy_backward,
        tfn__ref_adamw
    };
    return &reference;
}

#ifndef TFN__DOUBLE
#endif

bool lib_bind(tfn_model *m, const tfn_batch *batch)
{
    const int64_t step = m->run.step;
    const bool ready = tfn__ready(m, batch, true) == TFN_OK;
    m->run.step = step;
    return ready;
}

bool lib_attention(tfn_model *m, const tfn_batch *batch, int32_t nth, tfn_attention_args *p)
{
    const int32_t node = tfn__nth_node(&m->infer, TFN__OP_ATTEND, nth);
    tfn__call c;
    int32_t e = 0;
    if (!node || tfn__ready(m, batch, false) != TFN_OK) return false;
    tfn__run_to(&m->infer, &m->run, &e, node);
    tfn__make_call(&c, &m->infer, &m->run, node * TFN__ENTRY_KINDS, m->run.work);
    *p = tfn__attention_of(&c);
    tfn__unbind(&m->run);
    return true;
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

#ifndef TFNORM_NO_TRAINING
bool lib_limit_at(lib_table table, int i, lib_limit *limit)
{
    static const struct { const tfn__limit *rows; size_t count; } tables[LIB_TABLES] = {
        { tfn__limits, sizeof tfn__limits / sizeof *tfn__limits },
        { tfn__generate_limits, sizeof tfn__generate_limits / sizeof *tfn__generate_limits },
        { tfn__tokenizer_limits, sizeof tfn__tokenizer_limits / sizeof *tfn__tokenizer_limits }
    };
    const tfn__limit *row = tables[table].rows + i;
    if ((size_t)i >= tables[table].count) return false;
    limit->name = row->name;
    limit->at = row->at;
    limit->size = row->size;
    limit->real = row->kind != TFN__WHOLE;
    limit->below = row->kind == TFN__RATE;
    limit->or_zero = row->kind == TFN__REAL_OR_0;
    limit->least = row->least;
    limit->most = row->most;
    return true;
}
const char *lib_field_at(int i)
{
    for (int f = 0; f < TFN__FIELDS; f++)
        if (tfn__fields[f].same != TFN__NOT_SAVED && i-- == 0)
            return tfn__fields[f].name + strlen("tfn.");
    return NULL;
}
bool lib_truth_at(int i, size_t *at)
{
    for (int f = 0; f < TFN__FIELDS; f++) {
        *at = tfn__fields[f].at;
        if (tfn__fields[f].same == TFN__NOT_SAVED) continue;
        if (tfn__fields[f].type == TFN__FIELD_BOOL && i-- == 0) return true;
    }
    return false;
}
#endif
