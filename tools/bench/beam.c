/* The same search by both, and a comparison of the sentences. */
#include "beam.h"
#include "../../tfnorm.h"
#include "contest.h"
#include "option.h"
#include "peer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sentence has n = 9 to 24 source tokens and an output of at most 2 n + 1. */
enum { BEAM = 5, BEAM_SOURCE = 24, BEAM_END = 2 };
typedef struct beam_job {
    tfn_model m;
    tfn_generator g;
    tfn_batch batch;
    void *mem;
    int32_t *source, *lengths;
    char path[128];                     /* file with the weights and the source, for the peers */
} beam_job;

static double our_beams(void *p)
{
    beam_job *j = (beam_job *)p;
    double start = now();
    tfn_generator_run(&j->g, &j->batch, NULL);
    must_be_ok("beam search", &j->g.error);
    return now() - start;
}
static double their_beams(void *p, peer *rival)
{
    const beam_job *j = (const beam_job *)p;
    char line[200];
    snprintf(line, sizeof line, "beam %s %d %d %d", j->path, (int)j->m.desc.heads, BEAM, BEAM_END);
    return peer_ask(rival, line);
}

/* Random weights whose logits differ as much as a trained model's and depend on the position.
 * Sometimes an end comes before it is forced. */
static void beam_weights(tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const bool output = !strcmp(p.name, "output.weight");
        if (!output && strcmp(p.name, "decoder.position.weight")) continue;
        for (int32_t k = 0; k < p.rows * p.cols; k++) {
            if (!output) p.data[k] *= 8.0f;
            else if (k % p.cols == BEAM_END) p.data[k] *= 36.0f;
            else p.data[k] *= 12.0f;
        }
    }
}
static void beam_start(beam_job *j, const shape *s)
{
    tfn_model_desc d = desc_of(s, true, option.threads);
    tfn_generate_desc g;
    size_t scratch, size;
    memset(j, 0, sizeof *j);
    memset(&g, 0, sizeof g);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.activation = TFN_ACTIVATION_RELU;
    d.untied = true;
    d.batch = s->batch;
    d.context = 2*BEAM_SOURCE + 2;
    d.source_context = BEAM_SOURCE;
    make_model(&j->m, &d, s->name);
    beam_weights(&j->m);
    g.sentences = s->batch;
    g.beam = BEAM;
    g.max_ratio = 2;
    g.max_tokens = 1;
    g.end = BEAM_END;
    scratch = tfn_model_scratch(&j->m.desc);
    j->mem = need(malloc(scratch));
    size = tfn_generator_size(&j->m, &g, j->mem, scratch);
    free(j->mem);
    j->mem = need(malloc(size + 1));
    tfn_generator_init(&j->g, &j->m, &g, j->mem, size);
    must_be_ok(s->name, &j->g.error);
    j->source = (int32_t *)need(calloc((size_t)s->batch * BEAM_SOURCE, sizeof *j->source));
    j->lengths = (int32_t *)need(malloc((size_t)s->batch * sizeof *j->lengths));
    for (int32_t r = 0; r < s->batch; r++) {
        j->lengths[r] = BEAM_SOURCE - r % 16;
        for (int32_t i = 0; i < j->lengths[r]; i++)
            j->source[r * BEAM_SOURCE + i] = (int32_t)(tfn_random_bits(tfn_key_make(8),
                (uint64_t)(r * BEAM_SOURCE + i)) % (uint64_t)s->vocab);
    }
    j->batch.batch = s->batch;
    j->batch.source_time = BEAM_SOURCE;
    j->batch.source = j->source;
    j->batch.source_lengths = j->lengths;
}
static void beam_end(beam_job *j)
{
    if (j->path[0]) remove(j->path);
    free(j->mem);
    free(j->source);
    free(j->lengths);
    tfn_model_free(&j->m);
}

/* Writes all weights and the source as safetensors. */
static void beam_write(beam_job *j)
{
    tfn_param_info p;
    tfn_tensor *t, *last;
    tfn_file f;
    int32_t count = 0;
    while (tfn_model_param(&j->m, count, &p)) count++;
    t = (tfn_tensor *)need(calloc((size_t)count + 2, sizeof *t));
    last = t + count;
    for (int32_t i = 0; tfn_model_param(&j->m, i, &p); i++) {
        memcpy(t[i].name, p.name, sizeof p.name);
        t[i].rank = 2;
        t[i].shape[0] = p.rows;
        t[i].shape[1] = p.cols;
        t[i].data = p.data;
    }
    for (int k = 0; k < 2; k++) {
        strcpy(last[k].name, k ? "lengths" : "source");
        last[k].dtype = TFN_DTYPE_I32;
        last[k].rank = 2 - k;
        last[k].shape[0] = j->batch.batch;
        last[k].shape[1 - k] = k ? j->batch.batch : BEAM_SOURCE;
        last[k].data = k ? j->lengths : j->source;
    }
    memset(&f, 0, sizeof f);
    f.path = j->path;
    if (tfn_file_write(&f, t, count + 2) != TFN_OK) must_be_ok(j->path, &f.error);
    free(t);
}

/* Counts the rival's sentences that equal ours, token by token. An answer is "length
 * token token ...". */
static int beam_equal(const beam_job *j, peer *rival)
{
    static char line[1 << 18];
    char *at = line;
    int equal = 0;
    if (!peer_tell(rival, "sentences", line, sizeof line)) return 0;
    for (int32_t s = 0; s < j->g.sentences; s++) {
        const int32_t *ours = j->g.tokens + (ptrdiff_t)s * j->g.width * j->g.most;
        const int32_t length = j->g.lengths[(ptrdiff_t)s * j->g.width];
        const long theirs = strtol(at, &at, 10);
        bool same = theirs == length;
        for (long i = 0; i < theirs; i++) {
            const long token = strtol(at, &at, 10);
            same = same && token == ours[i];
        }
        equal += same;
    }
    return equal;
}

const shape beams[] = {
    { "", 6, 256, 4, 1024, 1, 16, 8192 }, { "", 2, 64, 2, 256, 1, 4, 512 }
};
void bench_beam(const shape *s)
{
    peer peers[PEERS];
    beam_job j;
    contest c = { "data", NULL, "", our_beams, their_beams, NULL, &j, s->batch, SENTENCES, { 0 } };
    char name[64];
    int count;
    snprintf(name, sizeof name, "beam %d, %d+%d layers, width %d", BEAM, s->layers, s->layers,
             s->width);
    if (!wanted(name)) return;
    beam_start(&j, s);
    count = torch_peers(peers);
    if (count && peer_file(j.path, sizeof j.path)) beam_write(&j);
    else count = 0;
    our_beams(&j);
    for (int32_t r = 0; r < j.g.sentences; r++)
        c.more.amount += j.g.lengths[(ptrdiff_t)r * j.g.width];
    c.name = name;
    c.isa = j.m.kernels->name;
    c.more.text = "tokens/s";
    c.more.key = "tokens";
    compete(&c, peers, count);
    for (int p = 0; p < count; p++) {
        const int equal = beam_equal(&j, &peers[p]);
        printf(option.json ? "{\"bench\":\"data\",\"name\":\"%s\",\"peer\":\"%s\",\"equal\":%d,"
                             "\"of\":%d}\n"
                           : "        %s: %s finds the same sentences in %d of %d cases\n", name,
               peers[p].name, equal, (int)j.g.sentences);
    }
    beam_end(&j);
}
