/* The features of a topology beyond Pre-LN and Post-LN, and its requirements. Both are found by
 * asking the topology for its join at every place. */
#ifndef FEATURES_H
#define FEATURES_H

#include "../../tfnorm.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct shape { int32_t layers, width; } shape;      /* of the stacks to examine */

/* The stacks of an encoder-decoder, and those of a model with one stack. */
enum { ENCODER, DECODER, LONE_ENCODER, LONE_DECODER, STACKS };
extern const char *const stack_names[];

/* The place of the sub-layer of a kind in layer `layer`, from 1, of a stack. */
tfn_place place_at(shape s, int stack, tfn_sublayer kind, int32_t layer);

const char *stack_name(const tfn_place *p);

/* Macaron layers begin with a feed-forward; cross-attention needs an encoder. */
bool has_sublayer(const tfn_topology *t, const tfn_place *p);

/* -- features of a join ----------------------------------------------------------------------- */

tfn_qk_norm qk_of(const tfn_join *j, const tfn_place *p);

/* -- visiting every place --------------------------------------------------------------------- */

typedef void visit_fn(void *user, const tfn_place *place, const tfn_join *join);

/* Visits all stacks, their layers, and the sub-layers of each. */
void each_place(const tfn_topology *t, shape s, visit_fn *visit, void *user);

/* Features of a layer beyond plain Pre-LN or Post-LN. */
void extra_text(char *text, const tfn_topology *t);

/* -- requirements and parameters -------------------------------------------------------------- */

/* Lists what topology, norm and init need besides a forward and a backward; each may be NULL. */
void needs_text(char *text, const tfn_topology *t, const tfn_norm_rule *n, const tfn_init_rule *w);

/* The parameters and running statistics of a norm for each channel or head. */
void norm_parameters(char *text, const tfn_norm_rule *n);
#endif
