#ifndef TFN__OP_NORMS_H
#define TFN__OP_NORMS_H
#include "../ground/ground.h"
#include "tape.h"

/* Operations of norms (rows, single values, columns over a batch) and of convolution. Builds on
 * tape and the kernels of norms. */

/* The kind of a norm (below 256) shares its slot with the flags of its row that the operation
 * reads (TFN_FLAG_OFFSET, DETACH_MEAN and DETACH_STD), times 256. */
enum { TFN__NORM_KINDS = 256 };

SHARED void tfn__norm_forward(const tfn__call *c);
SHARED ptrdiff_t tfn__norm_chunks(const tfn__call *c);
SHARED void tfn__norm_backward(const tfn__call *c);
SHARED ptrdiff_t tfn__norm_backward_chunks(const tfn__call *c);
SHARED void tfn__conv_forward(const tfn__call *c);
SHARED void tfn__conv_backward(const tfn__call *c);
SHARED ptrdiff_t tfn__conv_backward_chunks(const tfn__call *c);
SHARED void tfn__point_forward(const tfn__call *c);
SHARED void tfn__seed_forward(const tfn__call *c);
SHARED void tfn__columns_forward(const tfn__call *c);
SHARED ptrdiff_t tfn__rows_and_one(const tfn__call *c);
SHARED void tfn__point_backward(const tfn__call *c);
SHARED void tfn__seed_backward(const tfn__call *c);
SHARED void tfn__columns_backward(const tfn__call *c);
#endif /* TFN__OP_NORMS_H */
