/* Scores of a trained model: its loss on the test, scores of greedy answers, a classifier tuned on
 * top of it, and whether the folded model gives the same. */
#ifndef LAB_SCORE_H
#define LAB_SCORE_H

#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdbool.h>

enum { LAB_POINTS = 20 };           /* points of a loss curve after the one at step 0 */

/* Adds the lists accuracy, bleu ...; for another test than the run's own, `of` is put in front. */
bool lab_score(lab_record *r, tfn_model *m, const lab_data *test, const char *of);

/* The same for given pairs that are held out, at most 1,024; the task "pairs". */
bool lab_score_held_out(lab_record *r, tfn_model *m, lab_data *data);

/* The loss of the test, plain; NaN when it is not finite. */
double lab_nll(tfn_model *m, const lab_data *test);

/* Trains a classifier that starts with the weights of a model where both have the same. Returns its
 * share of correct answers in the test. The head is new, and the rate is 1e-3 after a tenth of
 * warm-up. */
double lab_tuned(const lab_spec *s, const tfn_model *m, lab_data *data, lab_data *test);

/* The largest difference of the folded model's logits, relative to the largest logit. */
bool lab_fold(lab_record *r, tfn_model *m, const lab_data *test);
#endif
