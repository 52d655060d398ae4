#ifndef TFN__OP_VALUES_H
#define TFN__OP_VALUES_H
#include "../ground/ground.h"
#include "tape.h"

/* Operations on single values: activations, sums, scales, dropout, and their backwards. Builds on
 * tape and the kernels. */

SHARED void tfn__softmax_op(const tfn__call *c);
SHARED void tfn__activate_forward(const tfn__call *c);
SHARED void tfn__gated_op(const tfn__call *c);
SHARED void tfn__add_forward(const tfn__call *c);
SHARED void tfn__multiply(const tfn__call *c, float *out, const float *in, float a, bool add);
SHARED void tfn__multiple_forward(const tfn__call *c);
SHARED void tfn__scale_forward(const tfn__call *c);
SHARED void tfn__exp_capped_forward(const tfn__call *c);
SHARED void tfn__sigma_forward(const tfn__call *c);
SHARED void tfn__rescale_forward(const tfn__call *c);
SHARED void tfn__ramp_forward(const tfn__call *c);
SHARED void tfn__shift_forward(const tfn__call *c);
SHARED void tfn__mix_forward(const tfn__call *c);
SHARED void tfn__gate_forward(const tfn__call *c);
SHARED void tfn__magnitude_forward(const tfn__call *c);
SHARED void tfn__clamp_forward(const tfn__call *c);
SHARED void tfn__store_or_add_one(float *d, float value, bool add);
SHARED void tfn__dropout_forward(const tfn__call *c);
SHARED void tfn__dropout_backward(const tfn__call *c);
SHARED void tfn__softmax_backward_op(const tfn__call *c);
SHARED void tfn__activate_backward(const tfn__call *c);
SHARED void tfn__gated_backward_op(const tfn__call *c);
SHARED void tfn__pass_on(const tfn__call *c, int input, float a);
SHARED void tfn__add_backward(const tfn__call *c);
SHARED void tfn__multiple_backward(const tfn__call *c);
SHARED void tfn__start_sum(float *d, ptrdiff_t n, bool add);
SHARED void tfn__scale_backward(const tfn__call *c);
SHARED ptrdiff_t tfn__rows_and_by(const tfn__call *c);
SHARED void tfn__exp_capped_backward(const tfn__call *c);
SHARED ptrdiff_t tfn__by_weight_rows(const tfn__call *c);
SHARED void tfn__sigma_backward(const tfn__call *c);
SHARED void tfn__rescale_backward(const tfn__call *c);
SHARED void tfn__ramp_backward(const tfn__call *c);
SHARED void tfn__shift_backward(const tfn__call *c);
SHARED void tfn__mix_backward(const tfn__call *c);
SHARED void tfn__gate_backward(const tfn__call *c);
SHARED void tfn__magnitude_backward(const tfn__call *c);
SHARED void tfn__clamp_backward(const tfn__call *c);
#endif /* TFN__OP_VALUES_H */
