/* Rows of later papers (N): functions for tests, and measurements that other rows share. */
#ifndef LATER_H
#define LATER_H

#include "claims.h"
#include "lab.h"
#include <stdbool.h>

/* -- growth of activations (Kim 2025, Sun 2025) ------------------------------------------------ */

void n2(lab *l, outcome *o);

/* -- the curse of depth (Sun 2025) ------------------------------------------------------------- */

void n4b(lab *l, outcome *o);

/* -- the purpose of a warm-up (Kosson 2024, Kalra 2024) ---------------------------------------- */

void n6a(lab *l, outcome *o);
void n6b(lab *l, outcome *o);
void n7a(lab *l, outcome *o);

/* -- one rate for all widths (Yang 2022) ------------------------------------------------------- */

/* Even without muP, embeddings are not multiplied by sqrt(d), so that both agree at the base. */
lab_spec at_width(int width, int rate, bool mup);
/* The position of the minimum of n values at equal distances, by the parabola through the least and
 * its neighbours; at an end, that end. */
double least_place(const double *y, int n);
void n8a(lab *l, outcome *o);
void n8b(lab *l, outcome *o);
#endif
