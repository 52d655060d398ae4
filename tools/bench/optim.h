/* bench optim: steps of other optimizers, next to one of AdamW, and first values of a model. */
#ifndef OPTIM_H
#define OPTIM_H

#include "shapes.h"

void bench_optim(const shape *list, int n);
#endif
