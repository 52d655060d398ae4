#ifndef TFN__UPDATE_H
#define TFN__UPDATE_H
#include "../ground/ground.h"
#include "../tape/record.h"
#include "../tape/run.h"

/* An optimizer's pass over all parameters, the rate and decay of each parameter, and where its
 * moments are. The step around it, with clipping and averages, is in step. Builds on resolve,
 * builder and run. */

SHARED int64_t tfn__larger_of(int64_t a, int64_t b);
SHARED void tfn__copy_floats(float *to, const float *from, int64_t floats);
SHARED bool tfn__decays(const tfn_model_desc *d, const tfn__weight *w);
SHARED float tfn__rate_of(const tfn_model_desc *d, const tfn__weight *w);
SHARED int64_t tfn__moment_of(const tfn_model_desc *d, const tfn__weight *w, int which);
SHARED int64_t tfn__moment_bytes(const tfn_model_desc *d, int64_t count);
SHARED int64_t tfn__moment_at(const tfn_model *m, int32_t i, int which);
SHARED int64_t tfn__moments_floats(const tfn_model *m);
SHARED int64_t tfn__update_scratch(const tfn_model *m);
SHARED float tfn__gradient_squares(tfn_model *m);
SHARED void tfn__update_all(tfn_model *m, float lr, float grad_scale);
SHARED int64_t tfn__own_scratch(const tfn_model *m);
SHARED int32_t tfn__updaters(const tfn_model *m);

/* Shares a job over all trained parameters among the threads, each with its scratch. */
static TFN__INLINE void tfn__share_model(tfn_model *m, tfn__share_fn *f, void *job)
{
    tfn__share(tfn__updaters(m), m->run.work, tfn__padded(tfn__own_scratch(m)), f, job);
}
#endif /* TFN__UPDATE_H */
