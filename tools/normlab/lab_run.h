/* One measurement: lab_run trains a model by a spec and fills the record. */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stdint.h>

/* The loss of a run with `settle` has settled when the lowest of the last five checks is less than
 * 1 % below the lowest before them. Until then the rate is constant after its warm-up. Then it
 * falls to 0 within a quarter of the updates so far, as in a warmup-stable-decay schedule. */
enum { LAB_PATIENCE = 5 };
bool lab_has_settled(const double *loss, int32_t n);

/* The state of a run with `settle`; `begin`: the update from which the rate falls. */
typedef struct lab_course {
    double  loss[LAB_LONGER * LAB_CHECKS + 2];
    int32_t checks;
    int64_t step, begin, end, skips;
    bool    settled, broken;
} lab_course;

void lab_check_course(lab_course *c, const lab_spec *s, tfn_model *m, const lab_data *test);

/* Does the measurement of r->spec. */
bool lab_run(lab_record *r);
#endif
