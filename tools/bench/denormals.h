/* Denormal numbers in the training of a model. A table of kernels counts them around each call of
 * the real kernels. Only one model at a time, on one thread.
 *
 *     tfn_model_desc desc = denormals_desc("olmo2");
 *     denormals_train(&desc, 250, 10);    // the counts are in `denormals`
 *
 * They are counted, not timed, because each costs about 150 cycles on Intel's processors and almost
 * none on AMD's. */
#ifndef DENORMALS_H
#define DENORMALS_H

#include "../../tfnorm.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct denormals_counts {
    /* The operands of products: both factors of every matrix product, and the whole scratch of
     * attention, which holds q, k, v, dy, weights, their gradients, and packed copies. */
    int64_t operands, read;             /* denormal operands; all operands */
    int64_t values, gradients;          /* most at a time in the workspace: forward, backward */
    int64_t parameters, sums, moments;  /* most at a time; sums: the parameters' gradients */
    int64_t underflows, calls;          /* kernels with an underflow; all kernels */
    const char *where;                  /* the kernel with the first one, or NULL */
    int     steps, skipped;
    double  loss;                       /* loss of the last step */
} denormals_counts;

struct denormals_state {
    const tfn_kernels *real;
    tfn_kernels table;
    const float *work;                  /* the model's workspace */
    int64_t floats;
    bool scan, backward;                /* scan: check the whole workspace after each kernel */
    denormals_counts counts;
};
extern struct denormals_state denormals;

/* -- a small model of a recipe on a generated task, at a rate ten times too high --------------- */

tfn_model_desc denormals_desc(const char *recipe);

tfn_status denormals_step(tfn_model *m, int step, tfn_report *report);

/* Counts over `steps` steps; every `every`th scans the workspace. False: the model is illegal. */
bool denormals_train(const tfn_model_desc *d, int steps, int every);
#endif
