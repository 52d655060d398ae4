/* bench denormals: the cost of denormal numbers, counted or timed. */
#ifndef SLOWNESS_H
#define SLOWNESS_H

#include "shapes.h"

/* Every recipe, in the model of denormals.h, or with the layers and widths of a given shape. */
void bench_denormals(const shape *s);
#endif
