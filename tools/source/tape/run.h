#ifndef TFN__RUN_H
#define TFN__RUN_H
#include "../ground/ground.h"
#include "tape.h"

/* Runs a planned tape: the forward and the backward, on one thread or several. Builds on plan. */

SHARED void tfn__make_call(tfn__call *c, const tfn_tape *t, const tfn_run *r, int32_t entry,
                           float *work);
SHARED void tfn__run_entries(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last);
#endif /* TFN__RUN_H */
