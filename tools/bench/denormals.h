/* Denormal numbers in the training of a model: a table of kernels that counts them around each call
 * of the real ones. One model at a time, on one thread.
 *
 *     tfn_model_desc desc = denormals_desc("olmo2");
 *     denormals_train(&desc, 250, 10);    // the counts are in `denormals`
 *
 * Why they are counted, not timed: each costs some 150 cycles on Intel's processors and next to
 * nothing on AMD's. */
#ifndef DENORMALS_H
#define DENORMALS_H

#include "../../tfnorm.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct denormals_counts {
    /* What products read: both factors of every matrix product, and of attention all of its
     * scratch, which holds q, k, v, dy, weights, their gradients, and what was packed of them. */
    int64_t operands, read;             /* denormal ones, and all */
    int64_t values, gradients;          /* most at once in the workspace: forward, backward */
    int64_t parameters, sums, moments;  /* most at once; sums: the parameters' gradients */
    int64_t underflows, calls;          /* kernels in which a number became denormal, and all */
    const char *where;                  /* the kernel at which the first was found, or NULL */
    int     steps, skipped;
    double  loss;                       /* of the last step */
} denormals_counts;

struct denormals_state {
    const tfn_kernels *real;
    tfn_kernels table;
    const float *work;                  /* the model's workspace */
    int64_t floats;
    bool scan, backward;                /* scan: look at the whole workspace behind each kernel */
    denormals_counts counts;
};
extern struct denormals_state denormals;

/* -- a small model of a recipe on a generated task, at a rate ten times too high --------------- */

tfn_model_desc denormals_desc(const char *recipe);

tfn_status denormals_step(tfn_model *m, int step, tfn_report *report);

/* Count over so many steps; every `every`th scans the workspace. False: there is no such model. */
bool denormals_train(const tfn_model_desc *d, int steps, int every);
#endif
