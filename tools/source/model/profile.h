#ifndef TFN__PROFILE_H
#define TFN__PROFILE_H
#include "../ground/ground.h"

SHARED tfn_status tfn__watch(tfn_run *r, tfn_error *e, const tfn_model_desc *d,
                             tfn_probe_fn *probe, void *user);
#endif /* TFN__PROFILE_H */
