/* The test of a model: loss, greedy answers, a tuned classifier, the folded model. */
#include "lab_score.h"
#include "tongues.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAB_ANSWER = LAB_TIME * 64 };        /* bytes of an answer */

/* Writes ids as words, for exact matches and BLEU of greedy answers. */
static void lab_text(char *text, const int32_t *ids, int32_t n)
{
    int at = 0;
    text[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] == LAB_END) return;
        if (i) text[at++] = ' ';
        at += snprintf(text + at, 15, "w%d", (int)ids[i]);
    }
}

/* The percentage of answers with less than half of their words in the target language. */
static double lab_off_target(const tfn_generator *g, const lab_data *test)
{
    const int32_t time = test->batch.source_time;
    double off = 0;
    for (int32_t i = 0; i < test->batch.batch; i++) {
        const int32_t *found = g->tokens + i * g->width * g->most;
        const int wanted = test->source[i * time] - LAB_FIRST;
        int32_t right = 0;
        int32_t n = 0;
        for (; n < g->lengths[i * g->width]; n++) {
            if (found[n] == LAB_END) break;
            right += found[n] >= LAB_WORD_IDS && tongue_of(found[n] - LAB_WORD_IDS) == wanted;
        }
        off += 2 * right < n || !n;
    }
    return 100 * off / test->batch.batch;
}

/* Counts over the greedy answers to one batch or more. */
typedef struct lab_scores {
    tfn_bleu  bleu;
    tfn_rouge rouge;
    tfn_edits edits;
    int32_t   right, all;
    double    off;                      /* of toy languages, see lab_off_target */
} lab_scores;

/* The text of ids: words of a made-up alphabet, or the subwords of given pairs. */
static void lab_score_text(lab_task task, char *text, size_t room, const int32_t *ids, int32_t n)
{
    if (task == LAB_PAIRS) lab_pairs.text(text, room, ids, n);
    else lab_text(text, ids, n);
}

/* Counts the answers to the first `rows` sentences of a batch. */
static bool lab_count_answers(const lab_record *r, const tfn_generator *g, const lab_data *test,
                              int32_t rows, lab_scores *x)
{
    char found[LAB_ANSWER], wanted[LAB_ANSWER], work[1 << 15];
    const char *reference = wanted;
    const lab_task task = r->spec.task;
    bool ok = true;
    for (int32_t i = 0; i < rows; i++) {
        if (!ok) break;
        lab_score_text(task, found, sizeof found, g->tokens + i * g->width * g->most,
                       g->lengths[i * g->width]);
        lab_score_text(task, wanted, sizeof wanted, test->targets + i * test->batch.time,
                       test->batch.lengths[i]);
        x->right += !strcmp(found, wanted);
        ok = tfn_bleu_add(&x->bleu, found, &reference, 1, work, sizeof work) == TFN_OK
             && tfn_rouge_add(&x->rouge, found, wanted, work, sizeof work) == TFN_OK
             && tfn_edits_add_words(&x->edits, found, wanted, work, sizeof work) == TFN_OK;
    }
    x->all += rows;
    return ok;
}

/* Answers a batch and counts the first `rows` answers. */
static bool lab_score_batch(const lab_record *r, tfn_model *m, const lab_data *test, int32_t rows,
                            lab_scores *x)
{
    const int32_t forbidden[] = { LAB_PAD, LAB_BEGIN };
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    tfn_generate_desc d;
    tfn_generator g;
    tfn_batch batch = test->batch;
    int32_t begins[LAB_TEST];
    memset(&d, 0, sizeof d);
    d.sentences = batch.batch;
    d.max_tokens = lab_answer(r->spec.task);
    d.end = LAB_END;
    d.forbidden = forbidden;
    d.forbidden_count = 2;
    for (int32_t i = 0; i < LAB_TEST; i++) begins[i] = LAB_BEGIN;
    batch.tokens = begins;
    batch.lengths = NULL;
    batch.targets = NULL;
    batch.time = 1;
    void *scratch = malloc(scratch_size);
    size_t size = scratch ? tfn_generator_size(m, &d, scratch, scratch_size) : 0;
    void *mem = size ? malloc(size) : NULL;
    bool ok = mem && tfn_generator_init(&g, m, &d, mem, size) == TFN_OK
              && tfn_generator_run(&g, &batch, NULL) == TFN_OK;
    if (ok) ok = lab_count_answers(r, &g, test, rows, x);
    if (ok && r->spec.task == LAB_TONGUES) x->off = lab_off_target(&g, test);
    free(mem);
    free(scratch);
    return ok;
}

/* Puts the scores into lists; `of`: before their names. */
static void lab_put_scores(lab_record *r, const lab_scores *x, bool ok, const char *of)
{
    double *accuracy = lab_put(r, 1, "%saccuracy", of);
    double *score = lab_put(r, 1, "%sbleu", of);
    double *f1 = lab_put(r, 3, "%srouge", of);
    double *wer = lab_put(r, 1, "%swer", of);
    double *off = NULL;
    if (r->spec.task == LAB_TONGUES) off = lab_put(r, 1, "%soff", of);
    if (ok && off) *off = x->off;
    if (!ok || !accuracy || !score || !f1 || !wer) return;
    *wer = 100 * tfn_edits_score(&x->edits);
    for (int32_t i = 0; i < 3; i++) f1[i] = 100 * tfn_rouge_score(&x->rouge, i);
    *accuracy = (double)x->right / x->all;
    *score = tfn_bleu_score(&x->bleu, TFN_SMOOTH_EXP, false);
}

bool lab_score(lab_record *r, tfn_model *m, const lab_data *test, const char *of)
{
    lab_scores x;
    memset(&x, 0, sizeof x);
    const bool ok = lab_score_batch(r, m, test, test->batch.batch, &x);
    lab_put_scores(r, &x, ok, of);
    return ok;
}

bool lab_score_held_out(lab_record *r, tfn_model *m, lab_data *data)
{
    lab_scores x;
    bool ok = true;
    memset(&x, 0, sizeof x);
    for (int k = 0; k < LAB_HELD_BATCHES; k++) {
        int32_t rows = lab_pairs.count[LAB_HELD_OUT] - k * LAB_TEST;
        if (rows > LAB_TEST) rows = LAB_TEST;
        if (!ok || rows < 1) break;
        lab_fill(data, &r->spec, LAB_TEST, 1u << 20, LAB_HELD - (uint64_t)k);
        ok = lab_score_batch(r, m, data, rows, &x);
    }
    lab_put_scores(r, &x, ok, "");
    return ok;
}

double lab_nll(tfn_model *m, const lab_data *test)
{
    tfn_report report;
    if (tfn_model_eval(m, &test->batch, &report) != TFN_OK) return (double)NAN;
    return report.nll;
}

/* Copies tensors that have the same name and shape in two models. */
static void lab_take_weights(tfn_model *c, const tfn_model *m)
{
    tfn_param_info to, from;
    for (int32_t i = 0; tfn_model_param(c, i, &to); i++)
        for (int32_t k = 0; tfn_model_param(m, k, &from); k++) {
            if (strcmp(to.name, from.name)) continue;
            if (to.rows != from.rows || to.cols != from.cols) continue;
            memcpy(to.data, from.data, (size_t)to.rows * (size_t)to.cols * sizeof *to.data);
        }
}

/* The share of LAB_TEST rows whose largest logit is the target's. */
static double lab_right(const float *logits, int32_t classes, const int32_t *targets)
{
    double right = 0;
    if (!logits) return 0;
    for (int32_t i = 0; i < LAB_TEST; i++, logits += classes) {
        int32_t best = 0;
        for (int32_t k = 1; k < classes; k++)
            if (logits[k] > logits[best]) best = k;
        right += best == targets[i];
    }
    return right / LAB_TEST;
}

double lab_tuned(const lab_spec *s, const tfn_model *m, lab_data *data, lab_data *test)
{
    lab_spec t = *s;
    tfn_model c;
    t.task = LAB_LABEL;
    t.lr = 1e-3;
    t.warmup = s->tune / 10;
    t.steps = t.stop = s->tune;
    t.smoothing = 0;
    tfn_model_desc d = lab_desc(&t, false);
    bool ok = tfn_model_new(&c, &d, NULL) == TFN_OK;
    if (ok) lab_take_weights(&c, m);
    for (int64_t step = 0; step < s->tune; step++) {
        tfn_report report;
        if (!ok) break;
        lab_fill(data, &t, t.batch, t.seed, (uint64_t)step);
        ok = tfn_model_step(&c, &data->batch, &report) == TFN_OK;
    }
    lab_fill(test, &t, LAB_TEST, 1u << 20, UINT64_MAX);
    double right = (double)NAN;
    if (ok) right = lab_right(tfn_model_logits(&c, &test->batch), d.classes, test->targets);
    tfn_model_free(&c);
    return right;
}

bool lab_fold(lab_record *r, tfn_model *m, const lab_data *test)
{
    tfn_model_desc d = lab_desc(&r->spec, false);
    double *fold = lab_put(r, 1, "fold");
    double most = 0;
    double wrong = 0;
    const tfn_batch *b = &test->batch;
    tfn_model to;
    d.inference = d.folded = true;
    bool ok = tfn_model_new(&to, &d, NULL) == TFN_OK && tfn_model_fold(&to, m) == TFN_OK && fold;
    const float *x = NULL;
    const float *y = NULL;
    int32_t logits = 0;
    if (ok) {
        x = tfn_model_logits(m, b);
        y = tfn_model_logits(&to, b);
    }
    if (x && y) logits = b->batch * b->time * d.vocab;
    for (int32_t i = 0; i < logits; i++) {
        if (test->targets[i / d.vocab] < 0) continue;
        most = fmax(most, fabs((double)x[i]));
        wrong = fmax(wrong, fabs((double)x[i] - (double)y[i]));
    }
    if (ok) *fold = wrong / most;
    tfn_model_free(&to);
    return ok;
}
