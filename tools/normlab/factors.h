/* normlab factors: how much of a method's gain is its placement, and how much its initialization?
 * Two by two: each placement with each initialization, trained until the loss settles. The formulas
 * and the rule of the words are in factors.c; both were committed before any result. */
#ifndef FACTORS_H
#define FACTORS_H

#include "../common/cli.h"
#include "lab_samples.h"

/* The cells: first the placement, then the initialization; 0: the method's, 1: the baseline's. */
typedef struct factor_cells { lab_sample of[2][2]; } factor_cells;

/* The effects for each seed; gain = placement + init. */
typedef struct factor_effects {
    lab_sample gain, placement, init, interaction;
    lab_sample simple[2];               /* of the placement, with each initialization */
} factor_effects;

factor_effects factors_of(const factor_cells *x);

/* What the gain is due to, by the verdicts about gain, placement and init. */
const char *factors_word(int gain, int placement, int init);

int factors_command(cli *c);
#endif
