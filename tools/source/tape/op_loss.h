#ifndef TFN__OP_LOSS_H
#define TFN__OP_LOSS_H
#include "../ground/ground.h"
#include "tape.h"

/* Operations of the losses, of probes, and those that a program adds with tfn_custom. Builds on
 * tape and the kernels. */

/* Floats that a loss saves per row: the maximum and the sum of each row's softmax (rows, 2), then
 * the losses without smoothing (rows). */
enum { TFN__LOSS_SAVED = 3 };

SHARED ptrdiff_t tfn__loss_chunks(const tfn__call *c);
SHARED void tfn__loss_forward(const tfn__call *c);
SHARED void tfn__loss_backward(const tfn__call *c);
SHARED void tfn__targets_forward(const tfn__call *c);
SHARED void tfn__targets_backward(const tfn__call *c);
SHARED bool tfn__is_target(float t);
SHARED void tfn__numbers_forward(const tfn__call *c);
SHARED void tfn__numbers_backward(const tfn__call *c);
SHARED int32_t tfn__largest(const float *x, int32_t n);
SHARED double tfn__log_sum(const tfn_kernels *k, float *scratch, const float *x, ptrdiff_t n);
SHARED void tfn__words_op(const tfn__call *c);
SHARED void tfn__probe_forward(const tfn__call *c);

/* Returns the user's operation that a node runs. */
static TFN__INLINE const tfn_custom_op *tfn__custom_of(const tfn_tape *t, const tfn_node *n)
{
    return t->custom + n->arg[TFN__CUSTOM_INDEX];
}
SHARED void tfn__custom_forward(const tfn__call *c);
SHARED void tfn__probe_backward(const tfn__call *c);
SHARED void tfn__custom_backward(const tfn__call *c);
#endif /* TFN__OP_LOSS_H */
