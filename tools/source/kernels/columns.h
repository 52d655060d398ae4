#ifndef TFN__COLUMNS_H
#define TFN__COLUMNS_H
#include "../ground/ground.h"

/* Norms that are computed once for all instruction sets, and helpers that the norms of rows in
 * section norms share: their forms, and rows whose squares overflow. Builds on math and blocks. */

/* How the gain enters y = gain * n: as it is, as 1 + gain (Gemma), or as AdaNorm's C (1 - k n). */
enum { TFN__GAIN_AS_IS, TFN__GAIN_OFFSET, TFN__GAIN_ADA };
/* The term a of dx = rstd * (g - a - n*b): 0, mean(g), or CRMSNorm's b*sum(n). */
enum { TFN__SHIFT_NONE, TFN__SHIFT_MEAN, TFN__SHIFT_SUM };

/* True if the numbers of a row are so large or small that its float sums cannot be trusted: squares
 * or the mean have overflowed, or squares are so small that they have lost bits (rstd is 2^50 or
 * more). mean - mean is NaN, and no comparison true, if the mean is infinite or NaN. */
static inline bool tfn__is_far(float mean, float rstd)
{
    const float most = (float)1125899906842624.0;
    return !(rstd > 0 && rstd < most && mean - mean >= 0);
}

SHARED float tfn__far_rstd(const tfn_norm_args *p, const float *x, ptrdiff_t n, float *mean);
SHARED float tfn__far_spread(const tfn_norm_args *p, const float *x, ptrdiff_t n);
SHARED ptrdiff_t tfn__norm_groups(const tfn_norm_args *p);
SHARED ptrdiff_t tfn__norm_count(const tfn_norm_args *p, ptrdiff_t n);

/* One group of one row in the backward. */
typedef struct tfn__norm_group {
    const float *x;
    const float *dy;
    const float *gain;                   /* or NULL */
    float       *dx;
    ptrdiff_t    n;                      /* features */
    ptrdiff_t    count;                  /* the first `count` of them enter mean and rstd */
    float        mean;
    float        rstd;
} tfn__norm_group;

SHARED int tfn__gain_form(const tfn_norm_args *p);
SHARED int tfn__shift_form(const tfn_norm_args *p);
SHARED void tfn__norm_rest(const tfn_norm_args *p, const tfn__norm_group *row);
SHARED void tfn__start_chains(float *dx, ptrdiff_t n, bool add);

/* Returns element c of a bias or of means, or 0 if the array is NULL. It is inline because kernels
 * call it for each row: a call out of vector code costs some processors hundreds of cycles. */
static TFN__INLINE float tfn__bias_or_0(const float *bias, ptrdiff_t c)
{
    if (!bias) return 0;
    return bias[c];
}
#endif /* TFN__COLUMNS_H */
