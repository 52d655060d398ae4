/* A generated text, BPE, batches, and the command. */
#include "text.h"
#include "../../tfnorm.h"
#include "../common/data.h"
#include "beam.h"
#include "contest.h"
#include "option.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Puts a random word; frequent words are short. 92 % of the words are from 10,000 with frequency
 * 1/rank (Zipf), the rest from a tail of rank^-1.67, so that 100 MB have about 350,000 different
 * words, like real text. */
static char *put_word(char *to, double u)
{
    double rank = exp(u / 0.92 * log(1e4)) - 1;
    long left = 1000000000;
    if (u >= 0.92) rank = 1e4 * pow((1 - u) / 0.08, -1.5);
    if (rank < 1e9) left = (long)rank;
    do {
        *to++ = "tnsrhldcmpfgwybvkjqz"[left % 20];
        *to++ = "eaoiu"[left / 20 % 5];
    } while ((left /= 100) > 0);
    return to;
}
/* Lines of 4 to 30 words. */
static data_file generated_text(size_t size)
{
    data_file x;
    char *to, *end;
    int left = 0;
    memset(&x, 0, sizeof x);
    x.name = "generated text";
    x.size = size;
    to = x.bytes = (char *)need(malloc(size + 32));
    end = to + size;
    for (uint64_t i = 0; to < end; i++) {
        uint64_t bits = tfn_random_bits(tfn_key_make(7), i);
        if (!left) left = 4 + (int)(bits % 27);
        to = put_word(to, (double)(bits >> 11) * (1.0 / 9007199254740992.0));
        *to++ = --left ? ' ' : '\n';
    }
    end[-1] = '\n';
    *end = 0;
    return x;
}

typedef struct bpe_job {
    const data_file *text;
    tfn_tokenizer_desc desc;
    tfn_trainer trainer;
    tfn_tokenizer k;
    void *mem, *own;
    size_t size;
    int32_t *ids;
} bpe_job;
static double our_merges(void *p)
{
    bpe_job *j = (bpe_job *)p;
    double start = now();
    tfn_trainer_init(&j->trainer, &j->desc, j->mem, j->size);
    tfn_trainer_add(&j->trainer, j->text->bytes, j->text->size);
    tfn_trainer_run(&j->trainer);
    must_be_ok(j->text->name, &j->trainer.error);
    return now() - start;
}
static double our_ids(void *p)
{
    bpe_job *j = (bpe_job *)p;
    double start = now();
    tfn_tokenizer_encode(&j->k, j->ids, (ptrdiff_t)j->text->size, j->text->bytes, j->text->size);
    return now() - start;
}
static void bench_bpe(bpe_job *j, const data_file *text)
{
    contest c = { "data", "BPE training, 8192 pieces", "", our_merges, NULL, NULL, j,
                  (double)text->size, MBYTES, { 0 } };
    tfn_tokenizer_source source;
    memset(j, 0, sizeof *j);
    j->text = text;
    if (text->size > 26000000) {                /* the default room is enough up to here */
        j->desc.words = INT32_MAX / 100;
        if (text->size < INT32_MAX) j->desc.words = (int32_t)(text->size / 100);
    }
    j->size = tfn_trainer_size(&j->desc);
    j->mem = need(malloc(j->size));
    c.more.text = "minutes for 100 MB";
    c.more.key = "minutes_of_100_mb";
    c.more.times = true;
    c.more.amount = 1e8 / (double)text->size / 60;
    if (wanted(c.name)) compete(&c, NULL, 0);
    else our_merges(j);
    memset(&source, 0, sizeof source);
    source.trainer = &j->trainer;
    j->own = need(malloc(tfn_tokenizer_size(&source) + 1));
    tfn_tokenizer_init(&j->k, &source, j->own, tfn_tokenizer_size(&source));
    must_be_ok(text->name, &j->k.error);
    j->ids = (int32_t *)need(malloc(text->size * sizeof *j->ids));
    c.name = "BPE encoding";
    c.ours = our_ids;
    c.more.text = NULL;
    if (wanted(c.name)) compete(&c, NULL, 0);
    free(j->mem);
    free(j->ids);
}

/* Two consecutive lines are a pair. */
typedef struct line_pairs { const char **at; int64_t count; } line_pairs;
static bool get_pair(data_item *item, void *user, int64_t i)
{
    const char **at = ((const line_pairs *)user)->at + 2*i;
    for (int k = 0; k < 2; k++) {
        item->text[k] = at[k];
        item->bytes[k] = (size_t)(at[k + 1] - at[k] - 1);
    }
    return true;
}
static line_pairs pairs_of(const data_file *text)
{
    line_pairs x = { NULL, 0 };
    int64_t lines = 0;
    for (size_t i = 0; i < text->size; i++) lines += text->bytes[i] == '\n';
    x.at = (const char **)need(malloc(((size_t)lines + 1) * sizeof *x.at));
    x.at[lines = 0] = text->bytes;
    for (size_t i = 0; i < text->size; i++)
        if (text->bytes[i] == '\n') x.at[++lines] = text->bytes + i + 1;
    x.count = lines / 2;
    return x;
}

typedef struct batching_job { data_batches batches; int64_t position; } batching_job;
static double our_batches(void *p)
{
    batching_job *j = (batching_job *)p;
    double start = now();
    for (int64_t i = 0; i < j->batches.count; i++) data_batch(&j->batches, j->position++);
    return (now() - start);
}
/* Each run is an epoch in a new random order. */
static void bench_batches(const bpe_job *bpe)
{
    contest c = { "data", "batches of 4096 tokens", "", our_batches, NULL, NULL, NULL, 0,
                  SENTENCES, { 0 } };
    line_pairs lines;
    data_set_options o;
    data_batch_options b;
    data_set set;
    batching_job job;
    if (!wanted(c.name)) return;
    lines = pairs_of(bpe->text);
    memset(&o, 0, sizeof o);
    memset(&b, 0, sizeof b);
    memset(&job, 0, sizeof job);
    o.kind = DATA_PAIRS;
    o.tokenizer = &bpe->k;
    o.most = 256;
    b.tokens = 4096;
    if (!data_set_init(&set, &o, get_pair, &lines, lines.count)) fail(bpe->text->name, set.error);
    if (!data_batches_init(&job.batches, &set, &b)) fail(bpe->text->name, job.batches.error);
    c.job = &job;
    c.amount = (double)set.count;
    c.more.text = "batches/s";
    c.more.key = "batches";
    c.more.amount = (double)job.batches.count;
    compete(&c, NULL, 0);
    data_batches_free(&job.batches);
    data_set_free(&set);
    free((void *)lines.at);
}

void bench_data(const char *path, const shape *s)
{
    data_file text;
    bpe_job bpe;
    if (path && !data_read(&text, path)) fail("text", text.error);
    if (path && !text.size) fail(path, "empty");
    size_t generated = 10000000;
    if (option.quick) generated = 500000;
    if (!path) text = generated_text(generated);
    bench_bpe(&bpe, &text);
    bench_batches(&bpe);
    bench_beam(s);
    free(bpe.own);
    data_file_free(&text);
}
