#ifndef TFN__PROFILE_H
#define TFN__PROFILE_H
#include "../ground/ground.h"

/* The public calls of training (gradient, update, step, swap_ema, rate), initialization that
 * depends on data (Admin, LSUV), watching of probes, parameters by name, and their hash. Builds on
 * step and fold. */

SHARED tfn_status tfn__watch(tfn_run *r, tfn_error *e, const tfn_model_desc *d,
                             tfn_probe_fn *probe, void *user);
#endif /* TFN__PROFILE_H */
