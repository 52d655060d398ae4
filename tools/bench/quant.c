/* Weights of 8 and 4 bits: the peers, the bytes, decoding, LoRA. */
#include "quant.h"
#include "../../tfnorm.h"
#include "contest.h"
#include "decode.h"
#include "decoders.h"
#include "option.h"
#include "peer.h"
#include "train.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files for the others: ggml's in floats, "q8_0" and "q4_0"; llama2.c's model and words. */
enum { FILE_F32, FILE_Q8, FILE_Q4, FILE_RUNQ, FILE_WORDS, QUANT_FILES };
typedef struct quant_job {
    decode_job d;                       /* must be first: the job of a decoder is cast to this */
    tfn_weights type;
    char files[QUANT_FILES][128];       /* "": no such file */
} quant_job;

/* PyTorch is a process with pipes; the others are started for each answer. For ggml and llama2.c
 * the mean is over twice as many tokens from the first on, so that as much of the cache is read. */
static double their_quant(void *p, peer *rival)
{
    const quant_job *j = (const quant_job *)p;
    const int tokens = 2 * j->d.context + j->d.tokens;
    const char *file = j->files[FILE_F32];
    if (rival->to) return their_tokens(p, rival);
    if (tokens > DECODERS_CONTEXT / 2) return -1;               /* would take too long */
    if (!strcmp(rival->name, "runq")) {
        if (j->type != TFN_WEIGHTS_Q8 || j->d.prefill) return -1;
        return decoders_runq_token(option.runq, j->files[FILE_RUNQ], j->files[FILE_WORDS], tokens);
    }
    if (j->type == TFN_WEIGHTS_Q8) file = j->files[FILE_Q8];
    if (j->type == TFN_WEIGHTS_Q4) file = j->files[FILE_Q4];
    if (j->d.prefill) return decoders_ggml_prefill(option.ggml, file, j->d.prefill);
    return decoders_ggml_token(option.ggml, file, tokens);
}

static void quant_says(const char *what, const char *why)
{
    if (option.json) return;
    printf("skipped: %s: %s\n", what, why);
}

/* Makes the files for ggml, quantized by its own program. */
static bool quant_ggml_files(quant_job *j, const decoders_model *m)
{
    char (*f)[128] = j->files;
    if (!peer_file(f[FILE_F32], sizeof *f) || !peer_file(f[FILE_Q8], sizeof *f)) return false;
    if (!peer_file(f[FILE_Q4], sizeof *f) || !decoders_write_ggml(f[FILE_F32], m)) return false;
    if (!decoders_quantize(option.ggml, f[FILE_F32], f[FILE_Q8], "q8_0")) return false;
    return decoders_quantize(option.ggml, f[FILE_F32], f[FILE_Q4], "q4_0");
}
static bool quant_runq_files(quant_job *j, const decoders_model *m)
{
    char (*f)[128] = j->files;
    if (!peer_file(f[FILE_RUNQ], sizeof *f) || !peer_file(f[FILE_WORDS], sizeof *f)) return false;
    return decoders_write_runq(f[FILE_RUNQ], m) && decoders_write_words(f[FILE_WORDS], m);
}

static int quant_peer(peer *p, const char *name)
{
    memset(p, 0, sizeof *p);
    strcpy(p->name, name);
    return 1;
}

/* Finds the peers that are installed. */
static int quant_peers(peer *p, quant_job *j)
{
    const shape *s = &j->d.s;
    const decoders_model m = { s->layers, s->width, s->heads, s->ffn, s->vocab };
    int count = torch_peers(p);
    if (!option.peers || option.threads > 1) return count;
    if (!count) quant_says("PyTorch", "does not start");
    if (!option.ggml) quant_says("ggml", "no --ggml DIR with gpt-2-alloc and gpt-2-quantize");
    else if (!quant_ggml_files(j, &m)) quant_says("ggml", "no model for it, or it does not start");
    else count += quant_peer(&p[count], "ggml");
    if (!option.runq) quant_says("llama2.c", "no --runq FILE");
    else if (!quant_runq_files(j, &m)) quant_says("llama2.c", "no model for it");
    else count += quant_peer(&p[count], "runq");
    return count;
}

/* Bytes of weights that a token reads: all except the table of positions. */
static double quant_bytes(const tfn_model *m)
{
    double bytes = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (strstr(p.name, "position")) continue;
        if (p.weights) bytes += (double)p.bytes;
        else bytes += (double)p.rows * p.cols * (double)sizeof(float);
    }
    return bytes;
}

/* A model with random weights of a type. */
static void quant_model(tfn_model *m, tfn_model_desc d, tfn_weights type)
{
    tfn_model floats;
    tfn_model_desc plain = d;
    memset(plain.groups, 0, sizeof plain.groups);
    if (!type) {
        make_model(m, &d, "floats");
        return;
    }
    plain.inference = true;
    make_model(&floats, &plain, "floats");
    d.weights = type;
    make_model(m, &d, "quant");
    tfn_model_quantize(m, &floats);
    must_be_ok("quant", &m->error);
    tfn_model_free(&floats);
}

/* Measures a token with a cache of 64 and of 512, and prefill; with --quick only the first. The
 * other programs have no 16-bit weights. */
static void quant_decoding(quant_job *j, peer *peers, int count)
{
    static const struct { int cache, prefill; } rows[] = { { 64, 0 }, { 512, 0 }, { 0, 256 } };
    tfn_model_desc d = desc_of(&j->d.s, true, option.threads);
    int limit = 528;
    tfn_model m;
    void *mem;
    double bytes;
    if (option.quick) limit = 64;
    d.context = limit + 16;
    j->d.ask = "_int8";
    if (!j->type) j->d.ask = "";
    if (j->type > TFN_WEIGHTS_Q4) count = 0;
    quant_model(&m, d, j->type);
    mem = decode_start(&j->d, &m, limit);
    bytes = quant_bytes(&m);
    for (int r = 0; r < 3; r++) {
        contest c = { "quant", NULL, m.kernels->name, our_tokens, their_quant, read_limit, j, bytes,
                      GBYTES, { "tokens/s", "tokens", 1, false } };
        char name[100];
        if (rows[r].cache + rows[r].prefill > limit) continue;
        j->d.tokens = 32;
        if (option.quick) j->d.tokens = 4;
        j->d.prefill = rows[r].prefill;
        j->d.context = rows[r].cache - j->d.tokens / 2;
        snprintf(name, sizeof name, "%s, cache %d, %.1f MB", tfn_choice_name("weights", j->type),
                 rows[r].cache, bytes / 1e6);
        if (rows[r].prefill) {
            snprintf(name, sizeof name, "%s, prefill %d", tfn_choice_name("weights", j->type),
                     rows[r].prefill);
            c.more.amount = rows[r].prefill;
            c.limit = NULL;
        }
        c.name = name;
        if (wanted(name)) compete(&c, peers, count);
    }
    free(mem);
    tfn_model_free(&m);
}

/* LoRA on every linear map. PyTorch's weights are floats: it trains no others. */
enum { QUANT_RANK = 8 };
static double their_lora(void *p, peer *rival)
{
    const train_job *j = (const train_job *)p;
    const shape *s = &j->s;
    char line[200];
    if (!rival->to) return -1;
    snprintf(line, sizeof line, "lora %d %d %d %d %d %d %d %d %d", s->layers, s->width, s->heads,
             s->ffn, s->time, s->batch, s->vocab, QUANT_RANK, j->steps);
    return peer_ask(rival, line);
}
static void quant_training(const shape *s, tfn_weights type, peer *peers, int count)
{
    tfn_model_desc d = desc_of(s, false, option.threads);
    train_job j;
    contest c = { "quant", NULL, "", our_steps, their_lora, NULL, &j, 0, GFLOPS,
                  { "tokens/s", "tokens", 0, false } };
    char name[100];
    snprintf(name, sizeof name, "%s, LoRA %d, %dx%d tokens", tfn_choice_name("weights", type),
             QUANT_RANK, s->batch, s->time);
    if (!wanted(name)) return;
    strcpy(d.groups[0].pattern, "*.weight");
    d.groups[0].rank = QUANT_RANK;
    memset(&j, 0, sizeof j);
    quant_model(&j.m, d, type);
    train_data(&j, s);
    c.name = name;
    c.isa = j.k->name;
    c.amount = step_operations(s) * 2 / 3;      /* no gradient of W */
    c.more.amount = s->batch * s->time;
    compete(&c, peers, count);
    train_end(&j);
}

void bench_quant(const shape *list, int n)
{
    static const tfn_weights types[] = { TFN_WEIGHTS_FLOAT, TFN_WEIGHTS_Q8, TFN_WEIGHTS_Q4,
                                         TFN_WEIGHTS_BF16, TFN_WEIGHTS_F16 };
    const size_t block = (size_t)1 << (option.quick ? 22 : 28);     /* larger than caches */
    static quant_job j;
    peer peers[PEERS];
    int count;
    for (int i = 0; i < n; i++) {
        j.d.s = list[i];
        count = quant_peers(peers, &j);
        j.d.memory = reading_of(block);
        for (int t = 0; t < 5; t++) {
            j.type = types[t];
            quant_decoding(&j, peers, count);
        }
        for (int t = 0; t < 3; t++) quant_training(&list[i], types[t], peers, count);
        for (int f = 0; f < QUANT_FILES; f++) if (j.files[f][0]) remove(j.files[f]);
        free(j.d.memory.x);
    }
}
