#ifndef TFN__JOINS_H
#define TFN__JOINS_H
#include "../ground/ground.h"
#include "builder.h"

/* Records one sub-layer as its topology's row says: norms, branch, and the join with the stream.
 * Stacks also uses its linear maps and norms, and a decoder its projections and caches. Builds on
 * the builder and the tape's recording functions. */

SHARED tfn_var tfn__read_matrix(tfn__builder *b, tfn__spot at, tfn_var w, int part, int32_t in,
                                int32_t out);
SHARED tfn_var tfn__add_lora(tfn__builder *b, tfn__spot at, tfn_var y, tfn_var x, int part,
                             int32_t in, int32_t out);
SHARED tfn_var tfn__apply_linear(tfn__builder *b, tfn__spot at, tfn_var x, int part, int32_t in,
                                 int32_t out, tfn_activation_kind act);
SHARED float tfn__eps_of(const tfn_model_desc *d, const tfn_norm_rule *norm);
SHARED tfn_var tfn__apply_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part);
SHARED tfn_var tfn__unit_rows(tfn__builder *b, tfn_var x, int32_t cols);

/* The values that pass through the layers of a stack. Each sub-layer reads and replaces them. */
typedef struct tfn__flow {
    tfn_var x;                           /* the residual stream */
    tfn_var x0;                          /* the input of this layer */
    tfn_var first;                       /* the u of this layer's first sub-layer */
    tfn_var side;                        /* ResiDual's second stream, or none */
} tfn__flow;
SHARED void tfn__apply_sublayer(tfn__builder *b, tfn__spot at, tfn__flow *flow);
SHARED tfn_var tfn__memory_cache(tfn__builder *b, tfn_var k, tfn_var v);
SHARED tfn_var tfn__project(tfn__builder *b, tfn__spot at, tfn_var u, bool query, bool rotate);
SHARED tfn_var tfn__project_values(tfn__builder *b, tfn__spot at, tfn_var u);
SHARED tfn_var tfn__memory_of(tfn__builder *b, tfn__spot at);
#endif /* TFN__JOINS_H */
