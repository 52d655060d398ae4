#ifndef TFN__STEP_H
#define TFN__STEP_H
#include "../ground/ground.h"

/* Batches and the training step: checks and binds a batch, runs forward and backward, scales the
 * loss, clips, updates, and undoes an update that is not finite. Offers the checks and the binding
 * to decoder, reading and profile. Builds on model, update and run. */

SHARED void tfn__check_ids(tfn_error *e, const char *text, const int32_t *ids, int32_t batch,
                           int32_t time, const int32_t *lengths, int32_t most, bool ignored);
SHARED void tfn__check_time(tfn_error *e, const char *text, int32_t time, int32_t most,
                            const int32_t *lengths, int32_t batch);
SHARED int32_t tfn__positions(const tfn_model_desc *d, int32_t time);
SHARED void tfn__check_source(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x);
SHARED void tfn__bind(tfn_run *r, const tfn_model_desc *d, const tfn_batch *x, int32_t *lengths);
SHARED void tfn__unbind(tfn_run *r);
SHARED void tfn__part_words(tfn_run *r, const tfn_model_desc *d, int32_t *to, const int32_t *ids,
                            int64_t n, bool targets);
SHARED void tfn__refresh_copy(const tfn_model *m, float *copy);
SHARED void tfn__refresh(tfn_model *m);
SHARED tfn_status tfn__ready(tfn_model *m, const tfn_batch *x, bool targets);
SHARED void tfn__without_targets(tfn_run *r);
SHARED tfn_status tfn__cannot_train(tfn_model *m);
SHARED void tfn__begin_update(tfn_model *m);
SHARED float *tfn__params_before(const tfn_model *m);
SHARED tfn_sums tfn__sums_of(const tfn_model *m, const tfn_tape *t, tfn_var loss);
SHARED void tfn__add_sums(tfn_sums *to, const tfn_sums *s);
SHARED bool tfn__finite(double x);
SHARED void tfn__report(tfn_report *r, const tfn_sums *sums, int64_t step);
SHARED void tfn__keep_statistics(tfn_model *m);
SHARED bool tfn__all_finite(const float *p, int64_t floats);
SHARED void tfn__close_profile(tfn_model *m);
SHARED void tfn__undo_update(tfn_model *m);
SHARED tfn_status tfn__finish_update(tfn_model *m, const tfn_sums *sums, float rate,
                                     tfn_report *report);
SHARED tfn_key tfn__step_key(const tfn_model *m, int32_t shard);
#endif /* TFN__STEP_H */
