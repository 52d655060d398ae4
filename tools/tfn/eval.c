/* The loss, then the texts. */
#include "eval.h"
#include "../common/json.h"
#include "heads.h"
#include "prompt.h"
#include "speaker.h"
#include "use.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of the targets' text. An end counts as the newline that it replaces. */
static int64_t target_bytes(const bundle *b, const tfn_batch *x)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < (int64_t)x->batch * x->time; i++) {
        size_t n = 0;
        if (x->targets[i] < 0) continue;
        if (data_is_special(&b->tokenizer.tokenizer, x->targets[i])) bytes++;
        else {
            tfn_tokenizer_token(&b->tokenizer.tokenizer, x->targets[i], &n);
            bytes += (int64_t)n;
        }
    }
    return bytes;
}

/* Prints a number of the result: a line for people, "loss  1.2345", or a member of an object. json:
 * NULL for people. */
static void put_real(json_line *json, const char *name, const char *key, double value)
{
    if (json) json_real(json, key, value);
    else printf("%-11s %.4f\n", name, value);
}

static void put_whole(json_line *json, const char *name, int64_t value)
{
    if (json) json_whole(json, name, value);
    else printf("%-11s %lld\n", name, (long long)value);
}

static void eval_loss(bundle *b, corpus *x, json_line *json)
{
    const bool labels = b->kind == DATA_LABELS;         /* a class for a row, not a token */
    const int32_t cols = labels ? b->classes.count : b->desc.vocab;
    int64_t tokens = 0;
    int64_t bytes = 0;
    double nll = 0;
    tfn_accuracy right = { 0 };
    for (int64_t k = 0; k < x->batches.count; k++) {
        const tfn_batch *batch = data_batch(&x->batches, k);
        const float *logits;
        tfn_report r;
        tfn_model_eval(&b->model, batch, &r);
        logits = tfn_model_logits(&b->model, batch);
        must_be_ok(&b->model.error);
        if (r.tokens) nll += r.nll * (double)r.tokens;
        tokens += r.tokens;
        const int32_t time = labels ? 1 : batch->time;
        tfn_accuracy_add_logits(&right, logits, batch->targets, batch->batch, time, cols);
        if (b->kind < DATA_LABELS) bytes += target_bytes(b, batch);
    }
    put_whole(json, "items", x->set.count);
    put_whole(json, "targets", tokens);
    put_real(json, "loss", "loss", nll / (double)tokens);
    put_real(json, "perplexity", "perplexity", tfn_perplexity(nll, tokens));
    if (bytes) put_real(json, "bits/byte", "bits_per_byte", tfn_bits_per_byte(nll, bytes));
    put_real(json, "accuracy", "accuracy", (double)right.right / (double)right.tokens);
}

void put_rouge(const tfn_rouge *r)
{
    printf("ROUGE       %.4f %.4f %.4f (1, 2, L)\n", tfn_rouge_score(r, 0), tfn_rouge_score(r, 1),
           tfn_rouge_score(r, 2));
}

static void put_scores(json_line *json, const tfn_bleu *bleu, const tfn_rouge *rouge)
{
    char text[200];
    if (!json) {
        printf("BLEU        %.2f  %s\n", tfn_bleu_score(bleu, TFN_SMOOTH_EXP, false),
               tfn_bleu_text(bleu, TFN_SMOOTH_EXP, false, text, sizeof text));
        put_rouge(rouge);
        return;
    }
    json_real(json, "bleu", tfn_bleu_score(bleu, TFN_SMOOTH_EXP, false));
    json_real(json, "rouge1", tfn_rouge_score(rouge, 0));
    json_real(json, "rouge2", tfn_rouge_score(rouge, 1));
    json_real(json, "rougeL", tfn_rouge_score(rouge, 2));
}

static bool same_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a_bytes == b_bytes && !memcmp(a, b, a_bytes);
}

/* Generates every item's target and compares: how many are equal, BLEU, ROUGE. */
static void eval_texts(bundle *b, corpus *x, const settings *s, json_line *json)
{
    enum { LONG = 1 << 16 };
    tfn_bleu bleu = { 0 };
    tfn_rouge rouge = { { 0 }, 0 };
    speaker v;
    int64_t equal = 0;
    int64_t done = 0;
    size_t size = tfn_metric_work(2 * LONG, 2);
    void *work = reserve(size, 1);
    char *wanted = (char *)reserve(LONG, 1);
    speaker_open(&v, b, s);
    for (int64_t i = 0; i < x->count; i += v.used) {
        data_item item;
        v.used = 0;
        while (v.used < v.rows) {
            if (i + v.used == x->count) break;
            x->get(&item, x->user, i + v.used);
            speaker_add(&v, item.text[0], item.bytes[0], i + v.used);
        }
        speaker_run(&v);
        for (int32_t r = 0; r < v.used; r++, done++) {
            size_t bytes;
            const char *found = speaker_text(&v, r, 0, &bytes);
            const char *reference = wanted;
            x->get(&item, x->user, i + r);
            snprintf(wanted, LONG, "%.*s", (int)item.bytes[1], item.text[1]);
            equal += same_text(found, bytes, item.text[1], item.bytes[1]);
            tfn_bleu_add(&bleu, found, &reference, 1, work, size);
            tfn_rouge_add(&rouge, found, reference, work, size);
        }
    }
    put_real(json, "equal", "equal", (double)equal / (double)done);
    put_scores(json, &bleu, &rouge);
    speaker_free(&v);
    free(work);
    free(wanted);
}

/* Transcribes every item and compares the words. */
static void eval_speech(bundle *b, corpus *x, const settings *s, json_line *json)
{
    enum { LONG = 1024 };
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    char wanted[LONG];
    size_t size = tfn_metric_work(2 * LONG, 2);
    void *work = reserve(size, 1);
    tfn_edits words = { 0 };
    int64_t equal = 0;
    speaker v;
    speaker_open(&v, b, s);
    for (int64_t n = 0; n < x->batches.count; n++) {
        tfn_batch batch = *data_batch(&x->batches, n);
        batch.tokens = NULL;
        tfn_generator_run(&v.g, &batch, NULL);
        must_be_ok(&v.g.error);
        for (int32_t r = 0; r < batch.batch; r++) {
            const int64_t *at = x->set.at + 2 * (int64_t)x->batches.items[r] + 1;
            size_t said;
            const char *found = speaker_text(&v, r, 0, &said);
            size_t bytes = tfn_tokenizer_decode(k, wanted, LONG - 1, x->set.ids + at[0],
                                                (ptrdiff_t)(at[1] - at[0]));
            if (bytes >= LONG) bytes = LONG - 1;
            wanted[bytes] = 0;
            const bool space = wanted[0] == ' ';
            equal += same_text(found, said, wanted + space, bytes - space);
            tfn_edits_add_words(&words, found, wanted, work, size);
        }
    }
    put_real(json, "equal", "equal", (double)equal / (double)x->set.count);
    put_real(json, "WER", "wer", tfn_edits_score(&words));
    speaker_free(&v);
    free(work);
}

/* Sets batches of as many tokens as in training, or as the longest row has. */
static void eval_batch_tokens(bundle *b)
{
    static char tokens[32];
    int64_t n = whole_of(&b->from, O_BATCH_TOKENS);
    if (n && n < b->desc.context) n = b->desc.context;
    snprintf(tokens, sizeof tokens, "%lld", (long long)n);
    b->from.text[O_BATCH_TOKENS] = tokens;
    b->desc.batch_tokens = (int32_t)n;
}

void open_corpus(bundle *b, corpus *x, const settings *s, const char *path)
{
    if (!path && !keeps_data(&b->from)) die("%s keeps no data: expected a file", b->path);
    corpus_open(x, &b->from, b->kind, TASK_TEST, path, &b->classes);
    if (given(s, O_BATCH)) b->from.text[O_BATCH] = text_of(s, O_BATCH);
    eval_batch_tokens(b);
    corpus_cut(x, &b->from, &b->tokenizer.tokenizer, true);
}

int eval(settings *s, cli *c)
{
    static bundle b;
    corpus x;
    int32_t rows;
    json_line line;
    json_line *json = NULL;
    open_use(&b, s, c);
    must_have_head(&b);
    if (b.desc.head == TFN_HEAD_POSITIONS)
        die("%s predicts classes of tokens, which tfn eval cannot measure: try tfn classify",
            b.path);
    open_corpus(&b, &x, s, second_file(s));
    rows = x.batches.most_rows;
    if (rows < 32) rows = 32;
    bundle_load(&b, rows, threads_of(s));
    if (x.set.dropped)
        fprintf(stderr, "tfn: %lld items over %d tokens are left out\n", (long long)x.set.dropped,
                (int)x.set.options.most);
    line = json_begin(stdout);
    if (given(s, O_JSON)) json = &line;
    eval_loss(&b, &x, json);
    if (b.desc.bands) eval_speech(&b, &x, s, json);
    else if (b.kind == DATA_PAIRS || b.kind == DATA_JOINED) eval_texts(&b, &x, s, json);
    if (json) json_end(json);
    corpus_free(&x);
    bundle_free(&b);
    return 0;
}
