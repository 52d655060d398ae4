#ifndef TFN__LOSSES_H
#define TFN__LOSSES_H
#include "../ground/ground.h"

/* Helpers for the kernels of cross-entropy and of the optimizers (sections loss and optimizers).
 * Section `reference` has cross-entropy without label smoothing and AdamW in plain loops. Builds
 * on ground. */

/* Label smoothing e over n classes gives `each` to every class, and `rest` more to the true one:
 * loss = rest * nll + each * sum_v(-log p_v). Kind 0: each = e/n (Szegedy 2016; PyTorch; fairseq at
 * the time of the papers). Kind 1: each = e/(n-1), so that the true class keeps exactly 1-e (later
 * fairseq). */
static inline void tfn__smooth(double e, int32_t kind, ptrdiff_t n, double *each, double *rest)
{
    if (n < 2) {                        /* the true class is the only one and gets everything */
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

/* True if u is this optimizer. All optimizers share one loop over the weights. If a build keeps
 * only one optimizer, this is a constant, and the loop contains only that one's step. */
static TFN__FOLD bool tfn__is_optimizer(const tfn_update_args *u, tfn_optimizer which)
{
    return tfn__is_kept(TFNORM_OPTIMIZERS, (int)u->optimizer, (int)which);
}

/* True if the decay is added to the gradient, like an L2 penalty. Otherwise it is decoupled: it
 * shrinks the weights directly (Loshchilov & Hutter 2019). */
static inline bool tfn__decay_is_coupled(const tfn_update_args *u)
{
    const bool torch_radam = u->optimizer == TFN_OPTIMIZER_RADAM && u->radam == TFN_RADAM_PYTORCH;
    return u->optimizer == TFN_OPTIMIZER_SGD || u->optimizer == TFN_OPTIMIZER_ADAM || torch_radam;
}

/* The state of Muon's iteration. All arrays are in the scratch: x and next (rows, cols); a and b
 * (n, n), where n is the smaller of rows and cols; and the scratch of the products. */
enum { TFN__MUON_STEPS = 5 };
typedef struct tfn__muon {
    float    *x, *next, *a, *b, *work;
    ptrdiff_t rows, cols, n;
} tfn__muon;

/* Packed moments: how many FP8 numbers share an exponent, and how many numbers are unpacked at a
 * time. */
enum { TFN__MOMENT_BLOCK = 32, TFN__MOMENT_PIECE = 256 };
#endif /* TFN__LOSSES_H */
