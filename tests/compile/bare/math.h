/* The part of <math.h> that the header uses, for builds without a C library: WebAssembly, and
 * processors for which only a compiler is installed. */
#ifndef BARE_MATH_H
#define BARE_MATH_H
#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN      __builtin_nanf("")
static inline float sqrtf(float x) { return __builtin_sqrtf(x); }
double ldexp(double x, int power);
#endif
