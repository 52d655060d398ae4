/* What a topology has beyond Pre-LN and Post-LN, and what it needs. Found by asking the topology
 * for its join at every place. */
#ifndef FEATURES_H
#define FEATURES_H

#include "../../tfnorm.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct shape { int32_t layers, width; } shape;      /* of the stacks that are looked at */

/* The stacks of an encoder-decoder, and those of a model with one stack. */
enum { ENCODER, DECODER, LONE_ENCODER, LONE_DECODER, STACKS };
extern const char *const stack_names[];

/* Layer `layer` of a stack, from 1, and in it the sub-layer of that kind. */
tfn_place place_at(shape s, int stack, tfn_sublayer kind, int32_t layer);

const char *stack_name(const tfn_place *p);

/* Macaron layers begin with a feed-forward; cross-attention wants an encoder. */
bool has_sublayer(const tfn_topology *t, const tfn_place *p);

/* -- what a join has -------------------------------------------------------------------------- */

tfn_qk_norm qk_of(const tfn_join *j, const tfn_place *p);

/* -- every place, and what is found there ----------------------------------------------------- */

typedef void visit_fn(void *user, const tfn_place *place, const tfn_join *join);

/* All stacks, their sub-layers, the layers of each. */
void each_place(const tfn_topology *t, shape s, visit_fn *visit, void *user);

/* What a layer has beyond plain Pre- or Post-LN. */
void extra_text(char *text, const tfn_topology *t);

/* -- what it needs, what it learns ------------------------------------------------------------ */

/* What topology, norm and init want beyond a forward and a backward; each may be NULL. */
void needs_text(char *text, const tfn_topology *t, const tfn_norm_rule *n, const tfn_init_rule *w);

/* What a norm keeps for each channel or head: parameters, and running statistics. */
void norm_parameters(char *text, const tfn_norm_rule *n);
#endif
