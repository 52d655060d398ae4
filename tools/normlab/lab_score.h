/* How good a trained model is: its loss on the test, the scores of greedy answers, a classifier
 * tuned on top of it, and whether the folded model gives the same. */
#ifndef LAB_SCORE_H
#define LAB_SCORE_H

#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdbool.h>

enum { LAB_POINTS = 20 };           /* of a loss curve, behind the one at step 0 */

/* Lists accuracy, bleu ..., behind `of` of another test than the run's own. */
bool lab_score(lab_record *r, tfn_model *m, const lab_data *test, const char *of);

/* The loss of the test, plain; NaN when it is not finite. */
double lab_nll(tfn_model *m, const lab_data *test);

/* A classifier with the weights of a model where it has the same, trained: what share of the test
 * it gets right. Its head is drawn anew, its rate 1e-3, the first tenth warm-up. */
double lab_tuned(const lab_spec *s, const tfn_model *m, lab_data *data, lab_data *test);

/* The largest difference of the folded model's logits, in the largest logit. */
bool lab_fold(lab_record *r, tfn_model *m, const lab_data *test);
#endif
