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
    int context, tokens, prefill;       /* prefill > 0: tokens at once; 0: one after the other */
    reading memory;                     /* as many bytes as the weights, to measure bandwidth */
    const char *ask;                    /* suffix of the question to PyTorch: "", or "_int8" */
} decode_job;

double read_limit(void *p);
double our_tokens(void *p);
double their_tokens(void *p, peer *rival);

/* A decoder of m that takes up to `capacity` tokens at once; returns its block. */
void *decode_start(decode_job *j, const tfn_model *m, int capacity);

void bench_decode(const shape *list, int n);
#endif
