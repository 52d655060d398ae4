/* bench optim: steps with other optimizers relative to AdamW, and drawing a model's initial
 * weights. */
#ifndef OPTIM_H
#define OPTIM_H

#include "shapes.h"

void bench_optim(const shape *list, int n);
#endif
