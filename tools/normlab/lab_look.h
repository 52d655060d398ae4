/* Observes a training step: values and gradients at every sub-layer, norms of weights and of their
 * gradients, and how far the output moves when the weights do. */
#ifndef LAB_LOOK_H
#define LAB_LOOK_H

#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stddef.h>

/* -- looking at a training step -------------------------------------------------------------- */

float *lab_floats(size_t n);

/* -- weights and their gradients ------------------------------------------------------------- */

/* Class and stack of a weight matrix, or -1. */
int lab_matrix(const tfn_param_info *p, int *side);

/* Norms of the matrices in `flat`, which is laid out like the parameters: dec_w2_gradient ... */
void lab_norms(lab_record *r, const tfn_model *m, const double *flat, const char *what);
bool lab_measure(lab_record *r, tfn_model *m, lab_data *data);

bool lab_shift(lab_record *r, tfn_model *m, lab_data *data);
#endif
