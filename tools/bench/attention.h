/* bench attention: forward and backward at several lengths. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "../../tfnorm.h"

/* Counts only operations that a causal mask leaves; the backward has 2.5 times the forward's. */
void bench_attention(const tfn_kernels *k);
#endif
