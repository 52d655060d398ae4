/* The section `reference` of the header: each computation once, in plain loops. Include it after
 * tfnorm.h, where float may be double. */
#ifndef REFERENCE_H
#define REFERENCE_H

typedef struct lib_reference {
    void (*layernorm_forward)(float *y, float *mean, float *rstd, const float *x,
                              const float *gain, const float *bias, ptrdiff_t rows,
                              ptrdiff_t cols, float eps);
    void (*layernorm_backward)(float *dx, float *dgain, float *dbias, const float *dy,
                               const float *x, const float *gain, const float *mean,
                               const float *rstd, ptrdiff_t rows, ptrdiff_t cols);
    void (*rmsnorm_forward)(float *y, float *rstd, const float *x, const float *gain,
                            ptrdiff_t rows, ptrdiff_t cols, float eps);
    void (*rmsnorm_backward)(float *dx, float *dgain, const float *dy, const float *x,
                             const float *gain, const float *rstd, ptrdiff_t rows, ptrdiff_t cols);
    void (*softmax_forward)(float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols);
    void (*softmax_backward)(float *dx, const float *dy, const float *y, ptrdiff_t rows,
                             ptrdiff_t cols);
    void (*linear_forward)(float *y, const float *x, const float *w, const float *bias,
                           ptrdiff_t rows, ptrdiff_t ins, ptrdiff_t outs);
    void (*linear_backward)(float *dx, float *dw, float *dbias, const float *dy, const float *x,
                            const float *w, ptrdiff_t rows, ptrdiff_t ins, ptrdiff_t outs);
    void (*attention_forward)(float *y, float *stats, const float *q, const float *k,
                              const float *v, ptrdiff_t batch, ptrdiff_t time, ptrdiff_t heads,
                              ptrdiff_t size, float scale, bool causal);
    void (*attention_backward)(float *dq, float *dk, float *dv, const float *dy, const float *y,
                               const float *stats, const float *q, const float *k, const float *v,
                               ptrdiff_t batch, ptrdiff_t time, ptrdiff_t heads, ptrdiff_t size,
                               float scale, bool causal);
    void (*cross_entropy_forward)(float *loss, float *stats, const float *x,
                                  const int32_t *targets, ptrdiff_t rows, ptrdiff_t cols);
    void (*cross_entropy_backward)(float *dx, const float *dloss, const float *stats,
                                   const float *x, const int32_t *targets, ptrdiff_t rows,
                                   ptrdiff_t cols);
    void (*adamw)(float *p, const float *g, float *m, float *v, ptrdiff_t n, float lr, float b1,
                  float b2, float eps, float decay, int64_t t);
} lib_reference;

#endif
