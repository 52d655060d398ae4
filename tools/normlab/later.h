/* Rows of later papers (N): what tests look at, and measurements that other rows share. */
#ifndef LATER_H
#define LATER_H

#include "claims.h"
#include "lab.h"
#include <stdbool.h>

/* -- growth of activations (Kim 2025, Sun 2025) ------------------------------------------------ */

void n2(lab *l, outcome *o);

/* -- the curse of depth (Sun 2025) ------------------------------------------------------------- */

void n4b(lab *l, outcome *o);

/* -- what a warm-up is for (Kosson 2024, Kalra 2024) ------------------------------------------- */

void n6a(lab *l, outcome *o);
void n6b(lab *l, outcome *o);
void n7a(lab *l, outcome *o);

/* -- a rate for all widths (Yang 2022) --------------------------------------------------------- */

/* Without muP, too, embeddings are not multiplied by sqrt(d): at the base both are the same. */
lab_spec at_width(int width, int rate, bool mup);
/* The place of the least of n values on a line of equal steps, by the parabola through it and its
 * neighbours; at an end the end. */
double least_place(const double *y, int n);
void n8a(lab *l, outcome *o);
void n8b(lab *l, outcome *o);
#endif
