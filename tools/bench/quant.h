/* bench quant: decoding and training with weights of fewer bits. */
#ifndef QUANT_H
#define QUANT_H

#include "shapes.h"

void bench_quant(const shape *list, int n);
#endif
