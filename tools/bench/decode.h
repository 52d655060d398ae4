/* bench decode: tokens a second, one after the other. */
#ifndef DECODE_H
#define DECODE_H

#include "../../tfnorm.h"
#include "peak.h"
#include "peer.h"
#include "shapes.h"

typedef struct decode_job {
    const tfn_kernels *k;
    shape s;
    tfn_decoder d;
    int context, tokens, prefill;       /* prefill > 0: so many tokens at once, else one by one */
    reading memory;                     /* as much as the weights: to measure its bandwidth */
    const char *ask;                    /* of PyTorch: "", or "_int8" */
} decode_job;

double read_limit(void *p);
double our_tokens(void *p);
double their_tokens(void *p, peer *rival);

/* A decoder of m that takes up to so many tokens at once; returns its block. */
void *decode_start(decode_job *j, const tfn_model *m, int capacity);

void bench_decode(const shape *list, int n);
#endif
