/* The test of a model: loss, greedy answers, a tuned classifier, the folded model. */
#include "lab_score.h"
#include "tongues.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

bool lab_score(lab_record *r, tfn_model *m, const lab_data *test, const char *of)
{
    const int32_t forbidden[] = { LAB_PAD, LAB_BEGIN };
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    tfn_generate_desc d;
    tfn_generator g;
    tfn_bleu bleu;
    tfn_rouge rouge;
    tfn_edits edits;
    tfn_batch batch = test->batch;
    int32_t begins[LAB_TEST], right = 0;
    char found[LAB_TIME * 16], wanted[LAB_TIME * 16], work[1 << 15];
    const char *reference = wanted;
    memset(&d, 0, sizeof d);
    memset(&bleu, 0, sizeof bleu);
    memset(&rouge, 0, sizeof rouge);
    memset(&edits, 0, sizeof edits);
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
    for (int32_t i = 0; i < batch.batch; i++) {
        if (!ok) break;
        lab_text(found, g.tokens + i * g.width * g.most, g.lengths[i * g.width]);
        lab_text(wanted, test->targets + i * test->batch.time, test->batch.lengths[i]);
        right += !strcmp(found, wanted);
        ok = tfn_bleu_add(&bleu, found, &reference, 1, work, sizeof work) == TFN_OK
             && tfn_rouge_add(&rouge, found, wanted, work, sizeof work) == TFN_OK
             && tfn_edits_add_words(&edits, found, wanted, work, sizeof work) == TFN_OK;
    }
    double *accuracy = lab_put(r, 1, "%saccuracy", of);
    double *score = lab_put(r, 1, "%sbleu", of);
    double *f1 = lab_put(r, 3, "%srouge", of);
    double *wer = lab_put(r, 1, "%swer", of);
    double *off = NULL;
    if (r->spec.task == LAB_TONGUES) off = lab_put(r, 1, "%soff", of);
    if (ok && off) *off = lab_off_target(&g, test);
    if (ok && accuracy && score && f1 && wer) {
        *wer = 100 * tfn_edits_score(&edits);
        for (int32_t i = 0; i < 3; i++) f1[i] = 100 * tfn_rouge_score(&rouge, i);
        *accuracy = (double)right / batch.batch;
        *score = tfn_bleu_score(&bleu, TFN_SMOOTH_EXP, false);
    }
    free(mem);
    free(scratch);
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
