/* Rows of Liu 2020 (A) that the rows of other papers share: measurements and criteria. */
#ifndef LIU_H
#define LIU_H

#include "claims.h"
#include "lab.h"
#include "lab_samples.h"
#include "lab_spec.h"

/* -- gradients that vanish --------------------------------------------------------------------- */

void a4(lab *l, outcome *o);

/* The gradient at the decoder's bottom over its top. */
lab_sample bottom_over_top(lab *l, lab_spec s);

/* -- how far the output moves ------------------------------------------------------------------ */

void a6a(lab *l, outcome *o);

/* -- the weight of a branch -------------------------------------------------------------------- */

void a9a(lab *l, outcome *o);
void a9b(lab *l, outcome *o);

/* -- training ---------------------------------------------------------------------------------- */

/* BLEU of two recipes that settled: the first minus the second. */
void settled_bleu(lab *l, outcome *o, lab_spec a, lab_spec b);

/* -- the rows ---------------------------------------------------------------------------------- */

#define FAILING(name) { .what = "BLEU of " name, BELOW(FAILS_BELOW) }
#define CONTROLLED(name) { \
    .what = "BLEU of " name ", three times the updates, a third of the rate", BELOW(FAILS_BELOW) }
#endif
