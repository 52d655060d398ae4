#ifndef TFN__LOSSES_H
#define TFN__LOSSES_H
#include "../ground/ground.h"

/* Cross-entropy, and the step of an optimizer: `reference` has both in plain loops, without label
 * smoothing and for AdamW alone. */

/* Label smoothing e over n classes spreads `each` on every class and leaves `rest` to the true one:
 * loss = rest * nll + each * sum_v(-log p_v). Kind 0: each = e/V (Szegedy 2016; PyTorch, the
 * papers' fairseq); kind 1: each = e/(V-1), the true class keeps exactly 1-e (later fairseq). */
static inline void tfn__smooth(double e, int32_t kind, ptrdiff_t n, double *each, double *rest)
{
    if (n < 2) {                        /* the true class is the only one, and has all */
        *each = 0;
        *rest = 1;
    } else if (kind) {
        *each = e / (double)(n - 1);
        *rest = 1 - e - *each;
    } else {
        *each = e / (double)n;
        *rest = 1 - e;
    }
}

/* The optimizers share one loop over the weights, in which each has its step. Where a build keeps
 * one of them, its step is the loop's only one, and the others' code is not there. */
static TFN__FOLD bool tfn__is_optimizer(const tfn_update_args *u, tfn_optimizer which)
{
    return tfn__is_kept(TFNORM_OPTIMIZERS, (int)u->optimizer, (int)which);
}

#ifndef TFNORM_NO_TRAINING
/* Is the decay added to the gradient, as an L2 penalty is? Else the weights shrink beside the step
 * (Loshchilov & Hutter 2019). */
static inline bool tfn__decay_is_coupled(const tfn_update_args *u)
{
    const bool torch_radam = u->optimizer == TFN_OPTIMIZER_RADAM && u->radam == TFN_RADAM_PYTORCH;
    return u->optimizer == TFN_OPTIMIZER_SGD || u->optimizer == TFN_OPTIMIZER_ADAM || torch_radam;
}

/* Muon's iteration and its arrays, in the scratch: X and the next one, (rows, cols), A and B, (n,
 * n) with n the smaller of both, and what products want. */
enum { TFN__MUON_STEPS = 5 };
typedef struct tfn__muon {
    float    *x, *next, *a, *b, *work;
    ptrdiff_t rows, cols, n;
} tfn__muon;
#endif
#endif /* TFN__LOSSES_H */
