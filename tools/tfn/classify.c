/* Classes, then accuracy where a file has labels. */
#include "classify.h"
#include "../../tfnorm.h"
#include "../common/data.h"
#include "../common/output.h"
#include "fill.h"
#include "heads.h"
#include "models.h"
#include "prompt.h"
#include "trainer.h"
#include "use.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct inputs { data_item *item; int64_t count; } inputs;
static bool get_input(data_item *item, void *user, int64_t i)
{
    *item = ((const inputs *)user)->item[i];
    return true;
}

static void put_classes(const bundle *b, const float *logits, int64_t number, int32_t best)
{
    const int32_t n = b->classes.count;
    int32_t lines = best ? best : 1;
    double p[DATA_CLASSES];
    double sum = 0;
    double most = (double)logits[0];
    if (lines > n) lines = n;
    for (int32_t i = 1; i < n; i++) most = fmax(most, (double)logits[i]);
    for (int32_t i = 0; i < n; i++) {
        p[i] = exp((double)logits[i] - most);
        sum += p[i];
    }
    for (int32_t k = 0; k < lines; k++) {
        int32_t top = 0;
        for (int32_t i = 1; i < n; i++)
            if (p[i] > p[top]) top = i;
        if (best) printf("%lld\t%.4f\t", (long long)number, log(p[top] / sum));
        printf("%s\n", b->classes.name[top]);
        p[top] = 0;
    }
}

/* Trains the experiment with another seed. Returns the accuracy on its test split or on a file. */
static double accuracy_of(const settings *experiment, const settings *s, int64_t seed)
{
    static trainer t;
    settings e = *experiment;
    char text[32], steps[32], rows[32];
    tfn_accuracy right = { 0 };
    corpus x;
    memset(&t, 0, sizeof t);
    snprintf(text, sizeof text, "%lld", (long long)seed);
    snprintf(steps, sizeof steps, "%lld", (long long)whole_of(&e, O_STEPS));
    e.text[O_SEED] = text;
    e.text[O_STEPS] = steps;
    e.text[O_THREADS] = text_of(s, O_THREADS);
    e.text[O_DATA] = NULL;
    e.text[O_QUIET] = "yes";
    t.s = &e;
    t.b.kind = DATA_LABELS;
    prepare(&t, false);
    while (t.position < t.steps) {
        tfn_report r;
        step(&t, &r);
    }
    corpus_open(&x, &e, DATA_LABELS, TASK_TEST, second_file(s), &t.b.classes);
    snprintf(rows, sizeof rows, "%d", (int)t.b.model.desc.batch);       /* as the model holds */
    e.text[O_BATCH] = rows;
    corpus_cut(&x, &e, &t.b.tokenizer.tokenizer, true);
    for (int64_t k = 0; k < x.batches.count; k++) {
        const tfn_batch *batch = data_batch(&x.batches, k);
        const float *logits = tfn_model_logits(&t.b.model, batch);
        must_be_ok(&t.b.model.error);
        tfn_accuracy_add_logits(&right, logits, batch->targets, batch->batch, 1,
                                t.b.classes.count);
    }
    corpus_free(&x);
    corpus_free(&t.data);
    corpus_free(&t.valid);
    bundle_free(&t.b);
    return (double)right.right / (double)right.tokens;
}

/* Prints the mean accuracy over seeds, from the model's own on, with an interval by Student's t. */
static int classify_seeds(const bundle *b, const settings *s)
{
    static const double t95[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
                                  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
                                  2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052,
                                  2.048, 2.045, 2.042 };        /* 1 to 30 degrees of freedom */
    int64_t n = whole_of(s, O_SEEDS);
    int64_t first = whole_of(&b->from, O_SEED);
    double mean = 0;
    double squares = 0;
    double half;
    for (int64_t i = 0; i < n; i++) {
        double a = accuracy_of(&b->from, s, first + i);
        double off = a - mean;
        printf("seed %lld  accuracy %.4f\n", (long long)(first + i), a);
        if (!output_flush()) exit(output_code());
        mean += off / (double)(i + 1);
        squares += off * (a - mean);
    }
    const double quantile = n > 31 ? 1.96 : t95[n - 2];
    half = quantile * sqrt(squares / (double)(n - 1) / (double)n);
    printf("mean %.4f, 95 %% interval %.4f to %.4f\n", mean, mean - half, mean + half);
    return 0;
}

/* Cuts a line "A" or "A tab B". An empty part is read as a space. */
static void cut_input(data_item *item, const char *line, const char *end)
{
    const char *tab = (const char *)memchr(line, '\t', (size_t)(end - line));
    const char *first_end = end;
    memset(item, 0, sizeof *item);
    if (tab) {
        first_end = tab;
        item->text[1] = tab + 1;
        item->bytes[1] = (size_t)(end - tab - 1);
    }
    item->text[0] = line;
    item->bytes[0] = (size_t)(first_end - line);
    if (first_end > line) return;
    item->text[0] = " ";
    item->bytes[0] = 1;
}

int classify(settings *s, cli *c)
{
    static bundle b;
    data_file input;
    inputs lines = { NULL, 0 };
    corpus x;
    const char *path, *line, *next, *end;
    if (given(s, O_SAID) || given(s, O_IDS)) {
        if (s->files != 1) cli_fail(c, "expected MODEL and a file, or MODEL and --text or --ids");
        if (given(s, O_SEEDS)) cli_fail(c, "--seeds needs a file, not --text or --ids");
        bundle_look(&b, s->file[0]);
        b.adapter = text_of(s, O_ADAPTER);
        if (b.desc.head == TFN_HEAD_POSITIONS) return classify_positions(&b, s, c, NULL);
        if (b.desc.head != TFN_HEAD_SEQUENCE)
            die("%s has no head of classes: expected a model trained on labels", b.path);
        return classify_sentence(&b, s, c);
    }
    if (given(s, O_SEGMENTS)) cli_fail(c, "--segments needs --text or --ids");
    path = open_use(&b, s, c);
    if (b.desc.head == TFN_HEAD_POSITIONS) return classify_positions(&b, s, c, path);
    if (b.kind != DATA_LABELS) die("%s was not trained on labels", b.path);
    if (given(s, O_SEEDS) && !keeps_data(&b.from)) die("%s keeps no data to train with", b.path);
    if (given(s, O_SEEDS)) return classify_seeds(&b, s);
    must(data_read(&input, path), input.error);
    lines.item = (data_item *)reserve(input.size + 1, sizeof *lines.item);
    end = input.bytes + input.size;
    for (line = input.bytes; line < end; line = next) {
        const char *stop = (const char *)memchr(line, '\n', (size_t)(end - line));
        next = end;
        if (stop) next = stop + 1;
        else stop = end;
        if (stop > line && stop[-1] == '\r') stop--;
        cut_input(&lines.item[lines.count++], line, stop);
    }
    if (!lines.count) return 0;
    memset(&x, 0, sizeof x);
    x.kind = b.kind;
    x.get = get_input;
    x.user = &lines;
    x.count = lines.count;
    x.space = b.tokenizer.tokenizer.kind == TFN_TOKENIZER_WORDS
        || b.tokenizer.tokenizer.kind == TFN_TOKENIZER_BPE;
    b.from.text[O_BATCH] = text_of(s, O_BATCH);
    b.from.text[O_BATCH_TOKENS] = "0";                  /* else they are ordered by length */
    corpus_cut(&x, &b.from, &b.tokenizer.tokenizer, true);
    bundle_load(&b, x.batches.most_rows, threads_of(s));
    for (int64_t k = 0; k < x.batches.count; k++) {
        const tfn_batch *batch = data_batch(&x.batches, k);
        const float *logits = tfn_model_logits(&b.model, batch);
        if (!logits) must_be_ok(&b.model.error);
        for (int32_t r = 0; r < batch->batch; r++)
            put_classes(&b, logits + r * b.classes.count, x.batches.items[r] + 1,
                        (int32_t)whole_of(s, O_N_BEST));
    }
    corpus_free(&x);
    free(lines.item);
    data_file_free(&input);
    bundle_free(&b);
    return 0;
}
