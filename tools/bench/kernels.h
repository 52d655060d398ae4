/* bench kernels: norms, softmax, activations, dropout and AdamW. */
#ifndef KERNELS_H
#define KERNELS_H

#include "../../tfnorm.h"

void bench_kernels(const tfn_kernels *k);
#endif
