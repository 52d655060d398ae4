#include "math.h"

/* Scalar functions in double that use only + - * /, so that their bits do not depend on the
 * machine. Measured relative errors: exp 2e-16, log 5e-16, sin and cos 3e-16 for |x| up to 1e6,
 * pow 4e-14 if the result fits a float. Rounded to float, all are within 0.5001 ULP. */

/* Returns a normal deviate, sqrt(-2 ln u) cos(2 pi v) (Box & Muller 1958). u and v are the two
 * halves of one draw. u is never 0. */
TFNORM_API float tfn_random_normal(tfn_key key, uint64_t index)
{
    uint64_t bits = tfn_random_bits(key, index);
    double radius = ((double)(bits >> 32) + 0.5) / 4294967296.0;        /* in (0, 1) */
    double angle = (double)(bits & 0xffffffff) * TFN__TURN;
    return TFN__SQRT((float)(-2 * tfn__log(radius))) * (float)tfn__cos(angle);
}
