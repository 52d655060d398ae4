/* The largest eigenvalue of a symmetric matrix that is given by its products with vectors (Lanczos
 * 1950). In the orthonormalized basis q_1, A q_1, A q_2 ... the matrix is tridiagonal, and the
 * largest eigenvalue of its first few rows approaches the matrix's largest from below. Every vector
 * is made orthogonal to all before it; without this, rounding would repeat eigenvalues. */
#include "lanczos.h"
#include <math.h>
#include <stdlib.h>

enum { LANCZOS_STEPS = 32 };                /* most products */

double lanczos_dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* The number of eigenvalues of the tridiagonal matrix below x (Sturm): the number of negative
 * pivots in its elimination. */
static int lanczos_below(const double *diagonal, const double *beside, int n, double x)
{
    double pivot = diagonal[0] - x;
    int below = pivot < 0;
    for (int i = 1; i < n; i++) {
        if (fabs(pivot) < 1e-300) pivot = 1e-300;
        pivot = diagonal[i] - x - beside[i - 1] * beside[i - 1] / pivot;
        below += pivot < 0;
    }
    return below;
}

/* Finds the largest eigenvalue by bisection between Gershgorin bounds. */
static double lanczos_largest(const double *diagonal, const double *beside, int n)
{
    double low = diagonal[0];
    double high = diagonal[0];
    for (int i = 0; i < n; i++) {
        double radius = 0;
        if (i > 0) radius += fabs(beside[i - 1]);
        if (i + 1 < n) radius += fabs(beside[i]);
        low = fmin(low, diagonal[i] - radius);
        high = fmax(high, diagonal[i] + radius);
    }
    for (int k = 0; k < 100; k++) {
        const double middle = (low + high) / 2;
        if (lanczos_below(diagonal, beside, n, middle) < n) low = middle;
        else high = middle;
    }
    return high;
}

/* Removes from y its components along q_0 ... q_last, twice, which is enough (Parlett 1980). */
static void lanczos_part(double *y, const double *q, int last, size_t n)
{
    for (int twice = 0; twice < 2; twice++)
        for (int k = 0; k <= last; k++) {
            const double *old = q + (size_t)k * n;
            const double along = lanczos_dot(old, y, n);
            for (size_t i = 0; i < n; i++) y[i] -= along * old[i];
        }
}

double lanczos_top(lanczos_product *times, void *user, const double *start, size_t n, int steps)
{
    double diagonal[LANCZOS_STEPS], beside[LANCZOS_STEPS];
    double length = sqrt(lanczos_dot(start, start, n));
    double *q = (double *)malloc(((size_t)steps + 1) * n * sizeof *q);
    int done = 0;
    if (!q || !(length > 0)) steps = 0;
    for (size_t i = 0; i < n; i++)
        if (steps) q[i] = start[i] / length;
    while (done < steps) {
        double *now = q + (size_t)done * n;
        double *next = now + n;
        if (!times(user, next, now)) break;
        diagonal[done] = lanczos_dot(now, next, n);
        lanczos_part(next, q, done, n);
        length = sqrt(lanczos_dot(next, next, n));
        beside[done++] = length;
        if (!(length > 1e-12 * fabs(diagonal[0]))) break;   /* the basis spans the start */
        for (size_t i = 0; i < n; i++) next[i] /= length;
    }
    double top = (double)NAN;
    if (done) top = lanczos_largest(diagonal, beside, done);
    free(q);
    return top;
}
