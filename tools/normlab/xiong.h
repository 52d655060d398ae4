/* Rows of Xiong 2020 (X) that the rows of other papers share: measurements and settings. */
#ifndef XIONG_H
#define XIONG_H

#include "claims.h"
#include "lab.h"
#include "lab_samples.h"
#include "lab_spec.h"
#include <stdint.h>

/* -- sampling and sizes ------------------------------------------------------------------------ */

void x5(lab *l, outcome *o);

/* -- gradients at the start -------------------------------------------------------------------- */

/* The last layer's gradient over the first one's, as a logarithm. */
lab_sample last_over_first(lab *l, lab_spec s, const char *list);

/* 200 updates of a run of 600, with or without a warm-up. */
lab_spec after_200(const char *recipe, int64_t warmup);
void draw_w2(lab *l, outcome *o, lab_spec s, const char *name);

/* -- training ---------------------------------------------------------------------------------- */

/* Post-LN of 4 + 4 layers. */
lab_spec by_adam(int64_t warmup);

/* The same by SGD; without momentum, as in the paper, it gets three times the updates. */
lab_spec by_sgd(int64_t warmup, double momentum);
void x20a(lab *l, outcome *o);
#endif
