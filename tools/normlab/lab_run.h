/* One measurement: lab_run trains what a spec says and fills the record. */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stdint.h>

/* The rule by which a loss has settled, of a run with `settle`: the least of the last five checks
 * is less than 1 % below the least before them. There are forty checks in the most updates it may
 * have. Up to there the rate is constant behind its warm-up; then it falls to 0 in a quarter of the
 * updates so far, as in a schedule of warm-up, stable phase and decay. */
enum { LAB_CHECKS = 40, LAB_PATIENCE = 5 };
bool lab_has_settled(const double *loss, int32_t n);

/* What a run with `settle` has come to; `begin`: the updates after which the rate falls. */
typedef struct lab_course {
    double  loss[LAB_CHECKS + 2];
    int32_t checks;
    int64_t step, begin, end, skips;
    bool    settled, broken;
} lab_course;

void lab_check_course(lab_course *c, const lab_spec *s, tfn_model *m, const lab_data *test);

/* Measure what r->spec says. */
bool lab_run(lab_record *r);
#endif
