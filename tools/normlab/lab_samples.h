/* Samples: a number of a record over seeds, with mean and deviation, and lines through points. */
#ifndef LAB_SAMPLES_H
#define LAB_SAMPLES_H

#include "lab.h"
#include "lab_spec.h"
#include <stdint.h>

enum { LAB_SEEDS = 1000 };
typedef struct lab_sample { int32_t n; double v[LAB_SEEDS], mean, sd; } lab_sample;

void lab_sum_up(lab_sample *a);

/* The spec for value i of a sample. */
lab_spec lab_seeded(const lab *l, lab_spec s, int32_t i);

int32_t lab_seeds(const lab *l, const lab_spec *s);

/* The record of a run; NULL: it is missing, which is noted. A run with `settle` that has not
 * settled goes on: its record is the one of lab_longer. If that has not settled either, its last
 * numbers count, at which the rate has fallen to 0. */
const lab_record *lab_final(lab *l, lab_spec s);

/* Number `index` of a list over seeds 1, 2 ...; NaN if it is not measured. */
lab_sample lab_over(lab *l, lab_spec s, const char *name, int32_t index);

/* Least squares y = a + b x; r2: the share of the variance it explains. */
typedef struct lab_fit { double a, b, r2; } lab_fit;
lab_fit lab_line_through(int32_t n, const double *x, const double *y);

/* The exponent of y ~ x^b. */
double lab_power(int32_t n, const double *x, const double *y);
#endif
