/* The largest eigenvalues of a matrix that is only known by its products with vectors. */
#ifndef LANCZOS_H
#define LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

/* y = A x, both of n numbers; false: it could not be had. */
typedef bool lanczos_product(void *user, double *y, const double *x);

double lanczos_dot(const double *x, const double *y, size_t n);

/* Of n rows, from the vector `start`, after so many products; NaN: no memory, or no product. */
double lanczos_top(lanczos_product *times, void *user, const double *start, size_t n, int steps);
#endif
