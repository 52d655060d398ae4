/* bench train: training steps of whole models. */
#ifndef TRAIN_H
#define TRAIN_H

#include "../../tfnorm.h"
#include "shapes.h"

typedef struct train_job {
    const tfn_kernels *k;
    shape s;
    tfn_model m;
    tfn_batch batch;
    int steps;
} train_job;

/* Makes the batches for a model. */
void train_data(train_job *j, const shape *s);
void train_start(train_job *j, const shape *s, int threads);

void train_end(train_job *j);

double our_steps(void *p);

void bench_train(const shape *list, int n);
#endif
