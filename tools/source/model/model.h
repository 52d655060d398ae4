#ifndef TFN__MODEL_H
#define TFN__MODEL_H
#include "../ground/ground.h"
#include "../ground/basics.h"

/* Lays out a model in one block of memory: tapes, table of weights, parameters, gradients,
 * moments, workspace. Sizes, initializes, allocates and frees models. Decoders use its recording
 * of tapes. Builds on stacks, plan and update. */

SHARED bool tfn__trains(const tfn_model_desc *d);
SHARED void tfn__tape_begin(tfn_tape *t, const tfn__arena *a, int32_t batch, int32_t source,
                            int32_t target, bool training);
SHARED tfn_status tfn__tape_end(tfn_tape *t, tfn__arena *a, const tfn_kernels *k,
                                const tfn_model_desc *d);
SHARED bool tfn__averages(const tfn_model_desc *d);
SHARED bool tfn__needs_profile(const tfn_model *m);
SHARED bool tfn__copy_in_moments(const tfn_model *m);
SHARED void tfn__clear(float *p, int64_t floats);
#endif /* TFN__MODEL_H */
