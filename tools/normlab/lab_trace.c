/* Observations before and after an update; lanczos.h computes the sharpness. */
#include "lab_trace.h"
#include "../common/library.h"
#include "lab_look.h"
#include "lanczos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int32_t lab_trace_points(int64_t updates)
{
    int32_t n = 0;
    while (updates >> n) n++;
    return n;
}

bool lab_trace_start(lab_trace *t, lab_record *r, const tfn_model *m, const lab_data *test)
{
    const int32_t points = lab_trace_points(r->spec.stop);
    const tfn_model_desc d = lab_desc(&r->spec, false);
    memset(t, 0, sizeof *t);
    t->test = test;
    t->beta1 = r->spec.beta1;
    t->beta2 = r->spec.beta2;
    t->n = (size_t)m->param_floats;
    t->logit_count = (size_t)(test->batch.batch * test->batch.time * d.vocab);
    t->turn = lab_put(r, points, "turn");
    t->change = lab_put(r, points, "change");
    t->sharpness = lab_put(r, points, "sharpness");
    t->second = (double *)calloc(3 * t->n, sizeof *t->second);
    t->weights = lab_floats(t->n);
    t->logits = lab_floats(t->logit_count);
    if (!t->second) return false;
    t->scale = t->second + t->n;
    t->slope = t->scale + t->n;
    if (!t->turn || !t->change || !t->sharpness || !t->weights || !t->logits) return false;
    return tfn_model_new(&t->copy, &d, NULL) == TFN_OK;
}

void lab_trace_end(lab_trace *t)
{
    tfn_model_free(&t->copy);
    free(t->second);
    free(t->weights);
    free(t->logits);
}

bool lab_slope(lab_trace *t, double *slope)
{
    tfn_batch some = t->test->batch;
    tfn_sums sums;
    tfn_param_info p;
    some.batch = LAB_SHARP_ROWS;
    if (tfn_model_gradient(&t->copy, &some, 0, false, &sums) != TFN_OK) return false;
    tfn_model_param(&t->copy, 0, &p);
    for (size_t i = 0; i < t->n; i++) slope[i] = (double)p.grad[i] / (double)sums.targets;
    return isfinite(sums.loss);
}

bool lab_hessian(void *user, double *y, const double *x)
{
    lab_trace *t = (lab_trace *)user;
    tfn_param_info p;
    double length = 0;
    tfn_model_param(&t->copy, 0, &p);
    for (size_t i = 0; i < t->n; i++) length += t->scale[i] * x[i] * t->scale[i] * x[i];
    const double size = 0.02 / sqrt(length);
    for (int way = -1; way < 2; way += 2) {
        for (size_t i = 0; i < t->n; i++)
            p.data[i] = (float)((double)t->weights[i] + way * size * t->scale[i] * x[i]);
        if (!lab_slope(t, way < 0 ? t->slope : y)) return false;
    }
    for (size_t i = 0; i < t->n; i++)
        y[i] = t->scale[i] * (y[i] - t->slope[i]) / (2 * size);
    return true;
}

/* The sharpness after `step` updates. Weights that never had a gradient have no curvature
 * either. */
static double lab_sharpness(lab_trace *t, const tfn_model *m, int64_t step)
{
    const double first = 1 - library_pow(t->beta1, (double)step);
    const double second = 1 - library_pow(t->beta2, (double)step);
    tfn_param_info p;
    double *start = (double *)calloc(t->n, sizeof *start);
    if (!start) return (double)NAN;
    tfn_model_param(m, 0, &p);
    memcpy(t->weights, p.data, t->n * sizeof *t->weights);
    for (size_t i = 0; i < t->n; i++) {
        start[i] = (double)tfn_random_normal(tfn_key_make(1), i);
        t->scale[i] = 0;
        if (t->second[i] > 0)
            t->scale[i] = 1 / sqrt(first * (sqrt(t->second[i] / second) + 1e-8));
    }
    const double top = lanczos_top(lab_hessian, t, start, t->n, LAB_SHARP_STEPS);
    free(start);
    return top;
}

double lab_angle(const float *a, const float *b, int32_t n)
{
    double aa = 0;
    double bb = 0;
    double apart = 0;
    for (int32_t i = 0; i < n; i++) aa += (double)a[i] * (double)a[i];
    for (int32_t i = 0; i < n; i++) bb += (double)b[i] * (double)b[i];
    for (int32_t i = 0; i < n; i++) {
        const double d = (double)a[i] / sqrt(aa) - (double)b[i] / sqrt(bb);
        apart += d*d;
    }
    const double sine = sqrt(apart) / 2;                /* sine of half the angle */
    return 2 * atan(sine / sqrt(1 - sine*sine)) * 57.29577951308232;
}

static double lab_turn(const lab_trace *t, const tfn_model *m)
{
    tfn_param_info p, first;
    double sum = 0;
    int32_t count = 0;
    int side;
    tfn_model_param(m, 0, &first);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (lab_matrix(&p, &side) < 0) continue;
        sum += lab_angle(t->weights + (p.data - first.data), p.data, p.rows * p.cols);
        count++;
    }
    return sum / count;
}

/* The distance of the test's logits from the last ones, relative to their size. Keeps them. */
static double lab_change(lab_trace *t, tfn_model *m)
{
    const float *logits = tfn_model_logits(m, &t->test->batch);
    const size_t vocab = (size_t)m->desc.vocab;
    double moved = 0;
    double size = 0;
    if (!logits) return (double)NAN;
    for (size_t i = 0; i < t->logit_count; i++) {
        const double d = (double)logits[i] - (double)t->logits[i];
        if (t->test->targets[i / vocab] < 0) continue;
        moved += d*d;
        size += (double)t->logits[i] * (double)t->logits[i];
    }
    memcpy(t->logits, logits, t->logit_count * sizeof *logits);
    return sqrt(moved / size);
}

static bool lab_is_traced(int64_t step) { return (step & (step - 1)) == 0; }

void lab_trace_before(lab_trace *t, tfn_model *m, int64_t step)
{
    tfn_param_info p;
    if (!t || !lab_is_traced(step)) return;
    tfn_model_param(m, 0, &p);
    memcpy(t->weights, p.data, t->n * sizeof *t->weights);
    lab_change(t, m);
}

void lab_trace_after(lab_trace *t, tfn_model *m, int64_t step, double tokens)
{
    tfn_param_info p;
    if (!t) return;
    tfn_model_param(m, 0, &p);
    for (size_t i = 0; i < t->n; i++) {
        const double g = (double)p.grad[i] / tokens;
        t->second[i] += (1 - t->beta2) * (g*g - t->second[i]);
    }
    if (!lab_is_traced(step)) return;
    const int32_t point = lab_trace_points(step) - 1;
    t->turn[point] = lab_turn(t, m);
    t->change[point] = lab_change(t, m);
    t->sharpness[point] = lab_sharpness(t, m, step);
}
