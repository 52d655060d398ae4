#ifndef TFN__OP_LINEAR_H
#define TFN__OP_LINEAR_H
#include "../ground/ground.h"
#include "../kernels/packing.h"
#include "tape.h"

/* Operations of linear maps, y = act(x W + b), and helpers that tell which rows of a padded batch
 * count. The functions that record these operations are in section record_ops. Builds on tape and
 * the kernels of products. */

SHARED tfn__packed tfn__packed_node(const tfn_node *n);
SHARED tfn__packed tfn__packed_input(const tfn__call *c, int j);
SHARED void tfn__linear_forward(const tfn__call *c);
SHARED ptrdiff_t tfn__linear_chunks(const tfn__call *c);
SHARED void tfn__linear_prepare(const tfn__call *c);
SHARED void tfn__linear_backward(const tfn__call *c);
#ifdef TFN__TEAMS
SHARED ptrdiff_t tfn__linear_input_chunks(const tfn__call *c);
#endif
SHARED ptrdiff_t tfn__linear_backward_chunks(const tfn__call *c);
SHARED ptrdiff_t tfn__time_of(const tfn__call *c);
SHARED const int32_t *tfn__lengths_of(const tfn__call *c);
SHARED int64_t tfn__rows_of_positions(int rows, int64_t positions, int64_t sentences);
SHARED bool tfn__on_target(int rows);
SHARED const int32_t *tfn__padding_of(const tfn_run *r, tfn_rows rows);
SHARED ptrdiff_t tfn__counted_rows(const tfn_run *r, tfn_rows rows, ptrdiff_t b);
SHARED tfn__range tfn__sentence_rows(const tfn__call *c, ptrdiff_t b);
SHARED ptrdiff_t tfn__sentences_of(const tfn__call *c);
SHARED ptrdiff_t tfn__by_sentence(const tfn__call *c);
SHARED void tfn__frames_op(const tfn__call *c);
#endif /* TFN__OP_LINEAR_H */
