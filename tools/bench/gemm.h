/* bench gemm: matrix products of many shapes, and a table of their speeds by class. */
#ifndef GEMM_H
#define GEMM_H

#include "../../tfnorm.h"

double fma_limit(void *job);

void bench_gemm(const tfn_kernels *k);
#endif
