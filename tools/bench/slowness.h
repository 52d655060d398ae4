/* bench denormals: what denormal numbers cost, counted or timed. */
#ifndef SLOWNESS_H
#define SLOWNESS_H

#include "shapes.h"

/* Every recipe, in the model of denormals.h or, given one, in its layers and widths. */
void bench_denormals(const shape *s);
#endif
