/* bench threads, memory and growth: what more threads give, what a model takes, how cost grows. */
#ifndef GROWTH_H
#define GROWTH_H

#include "shapes.h"

/* -- threads ---------------------------------------------------------------------------------- */

/* Two threads against one, wall clock, in turn; so do not pin it. */
void bench_threads(const shape *list, int n);

/* -- memory ----------------------------------------------------------------------------------- */

void bench_memory(const shape *list, int n);

/* -- growth ----------------------------------------------------------------------------------- */

/* Tokens a second as one size grows, and the time of an operation against the first row's: 1 where
 * the cost is that of the operations alone. */
void bench_growth(void);
#endif
