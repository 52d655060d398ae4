#ifndef TFN__STACKS_H
#define TFN__STACKS_H
#include "../ground/ground.h"
#include "builder.h"

/* Records a whole model on a tape from the sub-layers of joins: embeddings, layers, the end of
 * each stack, logits and the loss. Decoders use the same functions to record a tape for each stack.
 * Builds on joins. */

enum { TFN__FRAMES, TFN__NUMBERS };     /* slots of float inputs */

SHARED tfn_var tfn__build_stack(tfn__builder *b, int stack);
SHARED void tfn__build_table(tfn__builder *b);
SHARED tfn_var tfn__build_logits(tfn__builder *b, tfn_var x);
SHARED tfn_var tfn__build_model(tfn__builder *b, tfn_var *logits);

#endif /* TFN__STACKS_H */
