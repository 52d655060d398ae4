/* bench threads, memory and growth: the speed of more threads, the memory of a model, and how its
 * cost grows. */
#ifndef GROWTH_H
#define GROWTH_H

#include "shapes.h"

/* -- threads ---------------------------------------------------------------------------------- */

/* Two threads against one, alternately, by the wall clock; so do not pin it. */
void bench_threads(const shape *list, int n);

/* -- memory ----------------------------------------------------------------------------------- */

void bench_memory(const shape *list, int n);

/* -- growth ----------------------------------------------------------------------------------- */

/* Tokens a second as one size grows, and the time per operation relative to the first row's: 1 if
 * the cost is proportional to the operations. */
void bench_growth(void);
#endif
