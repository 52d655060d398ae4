/* Access to functions that parts share. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/ground/math.h"
#include "../../tools/source/ground/tables.h"
#include "../../tools/source/model/options.h"
#include "../../tools/source/model/step.h"
#include "../../tools/source/files/fields.h"
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

bool lib_bind(tfn_model *m, const tfn_batch *batch)
{
    const int64_t step = m->run.step;
    const bool ready = tfn__ready(m, batch, true) == TFN_OK;
    m->run.step = step;
    return ready;
}

#ifndef TFNORM_NO_TRAINING
const tfn__limit *lib_options_limits(size_t *count);
const tfn__limit *lib_generate_limits(size_t *count);
const tfn__limit *lib_trainer_limits(size_t *count);

bool lib_limit_at(lib_table table, int i, lib_limit *limit)
{
    size_t count;
    const tfn__limit *row = lib_trainer_limits(&count);
    if (table == LIB_MODEL) row = lib_options_limits(&count);
    if (table == LIB_GENERATOR) row = lib_generate_limits(&count);
    if ((size_t)i >= count) return false;
    row += i;
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
