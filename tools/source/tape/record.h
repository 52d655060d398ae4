#ifndef TFN__RECORD_H
#define TFN__RECORD_H
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../kernels/packing.h"

/* Records nodes on a tape: leaves, checks of shapes, errors, and tapes that only count. The
 * functions that record operations and the model's builder use it. Builds on tape. */

extern SHARED const tfn_var tfn__none;
enum { TFN__MOST_NODES = 1000000 };     /* a timeline's entry is 8 times the node, in 32 bits */
SHARED bool tfn__has_room(tfn_tape *t, const char *op, size_t bytes);
SHARED tfn_var tfn__keep_tape_error(tfn_tape *t, tfn_status status, const char *op,
                                    const char *text, int64_t found, int64_t wanted);
#define tfn__tape_error(t, status, op, text, found, wanted)                                        \
    tfn__keep_tape_error(t, status, op, TFN__SAID(text), found, wanted)
/* The most frequent error: a size that does not fit. */
#define tfn__bad_shape(t, op, text, found, wanted)                                                 \
    tfn__tape_error(t, TFN_BAD_SHAPE, op, text, found, wanted)
SHARED bool tfn__recording(tfn_tape *t);
SHARED void tfn__tape_count(tfn_tape *t, tfn_node *node, bool training);
SHARED tfn_node *tfn__node_at(const tfn_tape *t, int32_t id);
SHARED tfn_var tfn__next_layer(const tfn_tape *t, tfn_var after);
SHARED bool tfn__known(const tfn_tape *t, tfn_var x);
extern SHARED const char tfn__plain_only[];
extern SHARED const char tfn__no_dropout[];
SHARED bool tfn__outside(const tfn_node *n);
SHARED tfn_node *tfn__record(tfn_tape *t, int op, int rows, int32_t count, int32_t cols,
                             tfn_var a, tfn_var b, tfn_var c);
SHARED tfn_var tfn__var_of(const tfn_tape *t, const tfn_node *n);
SHARED tfn_var tfn__var_with(const tfn_tape *t, tfn_node *n, int32_t arg, float number);
SHARED const tfn_node *tfn__need(tfn_tape *t, const char *op, tfn_var x);
SHARED bool tfn__check_param(tfn_tape *t, const char *op, tfn_var x, int32_t rows, int32_t cols);
SHARED bool tfn__check_optional(tfn_tape *t, const char *op, tfn_var x, int32_t rows, int32_t cols);
SHARED bool tfn__same_shape(tfn_tape *t, const char *op, const tfn_node *a, const tfn_node *b);
SHARED bool tfn__has_time(tfn_tape *t, const char *op, const tfn_node *x);
SHARED bool tfn__slot_ok(tfn_tape *t, const char *op, int32_t slot);
SHARED TFN__NOINLINE int64_t tfn__padded(int64_t floats);
SHARED tfn_var tfn__param_at(tfn_tape *t, const tfn__packed *p, int64_t at, int64_t grad,
                             bool shared);
SHARED tfn_var tfn__table(tfn_tape *t, int32_t rows, int32_t cols);
SHARED tfn_var tfn__buffer_at(tfn_tape *t, int32_t rows, int32_t cols, int64_t at);
SHARED tfn_var tfn__frames(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols);
#endif /* TFN__RECORD_H */
