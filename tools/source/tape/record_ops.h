#ifndef TFN__RECORD_OPS_H
#define TFN__RECORD_OPS_H
#include "../ground/ground.h"

/* The functions that record one operation each: they check shapes and options, and append a node.
 * Most are public; those declared here are only for the builder. Builds on record and the table of
 * operations. */

SHARED tfn_activation_kind tfn__gate_of(tfn_activation_kind act);
SHARED tfn_var tfn__multiple(tfn_tape *t, tfn_var x, float a);
SHARED tfn_norm_args tfn__plain_norm(tfn_norm_kind kind, float eps);
SHARED tfn_var tfn__batch_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var running,
                               tfn_norm_kind kind, int32_t warmup, float eps);
SHARED tfn_var tfn__exp_capped_of(tfn_tape *t, tfn_var x);
SHARED tfn_var tfn__relative_of(tfn_tape *t, tfn_var numbers, int32_t span, int32_t distance,
                                bool both);
SHARED tfn_var tfn__magnitude(tfn_tape *t, tfn_var x);
SHARED tfn_var tfn__clamp(tfn_tape *t, tfn_var x, float limit);
SHARED tfn_var tfn__reparameterized(tfn_tape *t, tfn_var w, tfn_var gamma, tfn_var u, tfn_var v);
SHARED tfn_var tfn__ramp(tfn_tape *t, tfn_var x, tfn_var updates, float steps);
SHARED tfn_var tfn__last(tfn_tape *t, tfn_var x);
SHARED tfn_var tfn__cache_rows(tfn_tape *t, tfn_var k, tfn_var v, int32_t cols, int32_t kv_heads,
                               int32_t capacity);
SHARED tfn_var tfn__cache_encoded(tfn_tape *t, tfn_var k, tfn_var v, int32_t cols,
                                  int32_t kv_heads, int32_t capacity);
SHARED tfn_var tfn__cache_memory(tfn_tape *t, int32_t cols, int32_t kv_heads, int32_t capacity);
SHARED tfn_var tfn__attend_cached(tfn_tape *t, tfn_var q, tfn_var cache, int32_t heads,
                                  int32_t lengths);
#endif /* TFN__RECORD_OPS_H */
