/* Effects of single updates: sharpness of the loss, angle between gradients, and change of the
 * weights at updates 1, 2, 4, 8 and so on. */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Measures updates 1, 2, 4, 8 ... of a run with `trace`:
 *     turn        the angle by which an update turns a weight matrix, in degrees, a mean over these
 *     change      how far it moves the test's logits, relative to their size (Kosson 2024)
 *     sharpness   the largest eigenvalue of P^-1/2 H P^-1/2, where H is the Hessian of the test's
 *                 loss and P Adam's divisor (Cohen 2022; Kalra 2024, section 3) */
enum { LAB_SHARP_ROWS = 64, LAB_SHARP_STEPS = 16 };
typedef struct lab_trace {
    tfn_model       copy;               /* gradients of this copy do not disturb training */
    const lab_data *test;
    double  beta1, beta2;
    double *turn, *change, *sharpness;
    double *second, *scale, *slope;     /* Adam's v; P^-1/2; a gradient */
    float  *weights, *logits;           /* from before the update */
    size_t  n, logit_count;
} lab_trace;

int32_t lab_trace_points(int64_t updates);

bool lab_trace_start(lab_trace *t, lab_record *r, const tfn_model *m, const lab_data *test);

void lab_trace_end(lab_trace *t);

/* The mean gradient of the test's first sentences, at `weights` of the copy. */
bool lab_slope(lab_trace *t, double *slope);

/* y = P^-1/2 H P^-1/2 x, with H from a difference of gradients around the weights. */
bool lab_hessian(void *user, double *y, const double *x);

/* The angle between two vectors in degrees. Uses the difference of their directions, so that small
 * angles are exact. */
double lab_angle(const float *a, const float *b, int32_t n);

/* Before update number `step`, from 1. */
void lab_trace_before(lab_trace *t, tfn_model *m, int64_t step);

void lab_trace_after(lab_trace *t, tfn_model *m, int64_t step, double tokens);
#endif
