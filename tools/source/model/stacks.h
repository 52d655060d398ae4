#ifndef TFN__STACKS_H
#define TFN__STACKS_H
#include "../ground/ground.h"
#include "builder.h"

/* Records a whole model on a tape from the sub-layers of joins: embeddings, layers, the end of each
 * stack, logits and the loss. Decoders use the parts to record a tape for each stack. */

enum { TFN__FRAMES, TFN__NUMBERS };     /* slots of float inputs */

SHARED tfn_var tfn__build_stack(tfn__builder *b, int stack);
SHARED void tfn__build_table(tfn__builder *b);
SHARED tfn_var tfn__build_logits(tfn__builder *b, tfn_var x);
SHARED tfn_var tfn__build_model(tfn__builder *b, tfn_var *logits);

/* The functions below ask what the builder asks, and count in the place of recording: each says
 * whose part it counts. They may count too much, as a weight for each of those who share it, or
 * where a folded model leaves something out, and never too little: who adds a part to the builder
 * adds it here, too. Random rows hold them to that, see tests/rows.h. */
typedef struct tfn__tally {
    const tfn_model_desc *d;
    bool    training;
    int64_t weights;          /* each is at most one node of a tape, without a place */
    int64_t others;           /* other nodes without a place: tables, inputs, caches, probes */
    int64_t operations;       /* nodes with a value */
} tfn__tally;
SHARED tfn__tally tfn__tally_model(const tfn_model_desc *d, bool training);
#endif /* TFN__STACKS_H */
