/* Reference arithmetic for the tests of kernels. fmaf would not do: MinGW's rounds twice. */
#ifndef EXACT_FMA_H
#define EXACT_FMA_H
#include <stdint.h>
#include <string.h>

/* Returns a*b rounded to float. The volatile keeps compilers from fusing it with a later sum. */
static inline float exact_product(float a, float b)
{
    volatile float p = a * b;
    return p;
}

/* Returns a*b + c, rounded once: the sum in double is rounded to odd, so that the second rounding is
 * right (Boldo & Melquiond 2008). */
static inline float exact_fma(float a, float b, float c)
{
    double p = (double)a * (double)b, s = p + (double)c, t = s - p;
    double error = (p - (s - t)) + ((double)c - t);
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    if (error < 0 || error > 0) {
        if (!(bits & 1)) bits += (error > 0) == (s > 0) ? 1 : UINT64_MAX;
        memcpy(&s, &bits, sizeof s);
    }
    return (float)s;
}

#endif
