#ifndef TFN__INITIAL_H
#define TFN__INITIAL_H
#include "../ground/ground.h"

/* First values of the weights, and rules that keep weights in place afterwards: nGPT's vectors of
 * length 1 and sigmaReparam's singular vectors. Also tells where the numbers of a weight are.
 * Builds on builder
 * and run. */

SHARED float *tfn__weight_data(const tfn_model *m, const tfn__weight *w);
SHARED bool tfn__is_table(int part);
SHARED bool tfn__is_hidden(const tfn__weight *w);
SHARED void tfn__unit_vector(float *v, ptrdiff_t n, ptrdiff_t step);
SHARED float tfn__spread(const tfn_init_rule *rule, tfn_distribution base, int32_t in, int32_t out);
SHARED void tfn__init_weight(const tfn_model *m, int32_t index, float *p);
SHARED bool tfn__unit_rule(const tfn_model *m);
SHARED void tfn__unit_weights(tfn_model *m, bool frozen, bool averages);
SHARED void tfn__start_sigma(tfn_model *m);
SHARED void tfn__follow_sigma(tfn_model *m);
#endif /* TFN__INITIAL_H */
