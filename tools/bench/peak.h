/* bench peak: the limits of the machine: multiply-adds a second of every instruction set, and bytes
 * read a second at every level of memory. Other benches print their results as a share of these. */
#ifndef PEAK_H
#define PEAK_H

#include "../../tfnorm.h"
#include <stddef.h>

/* Operations a second; a burst of about 20 ms. */
double peak(tfn_isa isa);

/* Reads n bytes, all 1: the C library searches for a 2, with vectors and several chains. */
typedef struct reading { unsigned char *x; size_t n; int calls; } reading;
double our_reading(void *job);
reading reading_of(size_t n);

void bench_peak(const tfn_kernels *k);
#endif
