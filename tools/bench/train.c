/* Our steps and PyTorch's. */
#include "train.h"
#include "contest.h"
#include "gemm.h"
#include "option.h"
#include "peer.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void train_data(train_job *j, const shape *s)
{
    const int rows = s->batch * s->time;
    int32_t *tokens = (int32_t *)need(malloc((size_t)rows * 2 * sizeof *tokens));
    j->k = j->m.kernels;
    j->s = *s;
    j->steps = 1;
    if (step_operations(s) < 1e10) j->steps = 2;
    if (step_operations(s) < 1e8) j->steps = 20;
    for (int32_t i = 0; i < 2*rows; i++)
        tokens[i] = (int32_t)(tfn_random_bits(tfn_key_make(1), (uint64_t)i) % (uint64_t)s->vocab);
    j->batch.tokens = tokens;
    j->batch.targets = tokens + rows;
    j->batch.batch = s->batch;
    j->batch.time = s->time;
    if (is_pair(s)) {
        j->batch.source = tokens;
        j->batch.source_time = s->time;
    }
}
void train_start(train_job *j, const shape *s, int threads)
{
    const tfn_model_desc d = desc_of(s, false, threads);
    memset(j, 0, sizeof *j);
    make_model(&j->m, &d, s->name);
    train_data(j, s);
}

void train_end(train_job *j)
{
    free((void *)j->batch.tokens);
    tfn_model_free(&j->m);
}

double our_steps(void *p)
{
    train_job *j = (train_job *)p;
    tfn_report report;
    double start = now();
    for (int i = 0; i < j->steps; i++) tfn_model_step(&j->m, &j->batch, &report);
    return (now() - start) / j->steps;
}
static double their_steps(void *p, peer *rival)
{
    const train_job *j = (const train_job *)p;
    const shape *s = &j->s;
    const char *kind = "gpt";
    char line[200];
    if (is_pair(s)) kind = "encdec";
    snprintf(line, sizeof line, "train %s %d %d %d %d %d %d %d %d", kind, s->layers,
             s->width, s->heads, s->ffn, s->time, s->batch, s->vocab, j->steps);
    return peer_ask(rival, line);
}

void bench_train(const shape *list, int n)
{
    peer peers[PEERS];
    const int count = torch_peers(peers);
    for (int i = 0; i < n; i++) {
        train_job j;
        contest c = { "train", list[i].name, "", our_steps, their_steps, fma_limit, &j,
                      step_operations(&list[i]), GFLOPS, { 0 } };
        if (!wanted(list[i].name)) continue;
        train_start(&j, &list[i], option.threads);
        c.isa = j.k->name;
        compete(&c, peers, count);
        train_end(&j);
    }
}
