/* Our tokens and PyTorch's. */
#include "decode.h"
#include "contest.h"
#include "gemm.h"
#include "option.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double read_limit(void *p)
{
    decode_job *j = (decode_job *)p;
    return (double)j->memory.n / our_reading(&j->memory);
}
double our_tokens(void *p)
{
    decode_job *j = (decode_job *)p;
    int first = j->context;
    int32_t tokens[1024] = { 1 }, token = 1;
    if (j->prefill) first = j->prefill;
    double start = now();
    tfn_decoder_start(&j->d, NULL);
    tfn_decoder_next(&j->d, tokens, first, NULL);
    if (j->prefill) return now() - start;
    start = now();
    for (int i = 0; i < j->tokens; i++) tfn_decoder_next(&j->d, &token, 1, NULL);
    return (now() - start) / j->tokens;
}
double their_tokens(void *p, peer *rival)
{
    const decode_job *j = (const decode_job *)p;
    const shape *s = &j->s;
    char line[200];
    int at = snprintf(line, sizeof line, "%s%s %d %d %d %d %d", j->prefill ? "prefill" : "decode",
                      j->ask, s->layers, s->width, s->heads, s->ffn, s->vocab);
    if (j->prefill) snprintf(line + at, sizeof line - (size_t)at, " %d", j->prefill);
    else snprintf(line + at, sizeof line - (size_t)at, " %d %d", j->context, j->tokens);
    return peer_ask(rival, line);
}

void *decode_start(decode_job *j, const tfn_model *m, int capacity)
{
    const size_t scratch = tfn_model_scratch(&m->desc);
    void *mem = need(malloc(scratch));
    const size_t size = tfn_decoder_size(m, 1, capacity, mem, scratch);
    free(mem);
    mem = need(malloc(size));
    tfn_decoder_init(&j->d, m, 1, capacity, mem, size);
    must_be_ok(j->s.name, &j->d.error);
    j->k = m->kernels;
    return mem;
}

void bench_decode(const shape *list, int n)
{
    peer peers[PEERS];
    const int count = torch_peers(peers);
    for (int i = 0; i < n; i++) {
        static const int prefills[] = { 0, 64, 256, 1024 };
        const bool large = list[i].width >= 768;
        const double d = list[i].width;
        const double weights = list[i].layers * (4*d*d + 2*d*list[i].ffn) + d * list[i].vocab;
        decode_job j;
        tfn_model m;
        tfn_model_desc desc;
        void *mem;
        int capacity;                   /* of the cache that prefill fills */
        int fills;
        if (!wanted(list[i].name) || is_pair(&list[i])) continue;
        memset(&j, 0, sizeof j);
        j.s = list[i];
        j.ask = "";
        if (large) j.s.time = 1100;
        j.context = j.tokens = list[i].time / 2;
        capacity = j.context;
        fills = 1;
        if (large) {
            j.context = 128;
            j.tokens = 8;
            capacity = 1024;
            fills = 4;
        }
        desc = desc_of(&j.s, true, option.threads);
        make_model(&m, &desc, j.s.name);
        mem = decode_start(&j, &m, capacity);
        j.memory = reading_of(4 * (size_t)weights);
        for (int f = 0; f < fills; f++) {
            contest c = { "decode", NULL, j.k->name, our_tokens, their_tokens, read_limit, &j,
                          4 * weights, GBYTES, { 0 } };
            char name[100];
            snprintf(name, sizeof name, f ? "%.60s, prefill of %d" : "%.60s, a token", list[i].name,
                     prefills[f]);
            j.prefill = prefills[f];
            c.name = name;
            if (f) {
                c.amount = 2.0 * prefills[f] * (weights - d * list[i].vocab) + 2 * d * list[i].vocab
                         + 4.0 * prefills[f] * prefills[f] * d * list[i].layers;
                c.limit = fma_limit;
                c.unit = GFLOPS;
            }
            compete(&c, peers, count);
        }
        free(mem);
        free(j.memory.x);
        tfn_model_free(&m);
    }
}
