/* The largest eigenvalues of a matrix that is given only by its products with vectors. */
#ifndef LANCZOS_H
#define LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

/* y = A x, both of n numbers; false: it failed. */
typedef bool lanczos_product(void *user, double *y, const double *x);

double lanczos_dot(const double *x, const double *y, size_t n);

/* The largest eigenvalue for n rows, from the vector `start`, after `steps` products; NaN: no
 * memory, or a product failed. */
double lanczos_top(lanczos_product *times, void *user, const double *start, size_t n, int steps);
#endif
