/* cc -O2 -pthread examples/09_classify.c tools/common/[a-z]*.c -o classify -lm && ./classify
 * Classifies sentences, with pre-training and fine-tuning. First an encoder learns to guess
 * masked words in many sentences without labels, as BERT does. A classifier starts from its
 * weights and learns from few labels: is the missing verb of "the dogs that see a cat _ old."
 * singular or plural? Another classifier learns from the same labels, but from scratch. Sentences,
 * tokens and batches come from tools/common/data.h.
 * Prints:
 *     ...
 *     300 labels, from scratch
 *     ...
 *       accuracy 87.4 %
 *     300 labels, pre-trained
 *     ...
 *       accuracy 94.8 % */
#include "../tfnorm.h"
#include "../tools/common/data.h"
#include <stdio.h>
#include <string.h>

enum { T = 48, BATCH = 32, PLAIN = 8000, LABELLED = 300, TESTS = 500, STEPS = 900, FINE = 200 };

typedef struct part { data_task task; data_set set; data_batches batches; } part;

static data_tokenizer words;

static void cut(part *p, data_kind kind, task_split split, int64_t count)
{
    data_set_options o = { .kind = kind, .tokenizer = &words.tokenizer, .most = T, .space = true };
    data_batch_options b = { .batch = BATCH, .in_order = split != TASK_TRAIN };
    p->task.task = task_find("agreement"), p->task.split = split;
    if (!words.mem) {
        tfn_tokenizer_desc d = { .kind = TFN_TOKENIZER_WORDS, .mask = true };
        data_tokenizer_init(&words, &d, data_get_task, &p->task, count, DATA_FIRST, true);
    }
    data_set_init(&p->set, &o, data_get_task, &p->task, count);
    data_batches_init(&p->batches, &p->set, &b);
}

static tfn_model_desc shape(tfn_head head, int64_t steps)
{
    return (tfn_model_desc) { .arch = TFN_ARCH_ENCODER, .vocab = words.tokenizer.vocab,
                              .context = T,
        .batch = BATCH, .segments = 2, .head = head, .classes = head ? 2 : 0, .clip = 1,
        .schedule = { .kind = TFN_SCHEDULE_LINEAR, .lr = 2e-3f, .warmup = steps / 10,
                      .steps = steps } };
}

/* Copy all tensors of the same name and shape: the encoder, but not its head. */
static void take_weights(tfn_model *to, const tfn_model *from)
{
    tfn_param_info a, b;
    int taken = 0;
    for (int32_t i = 0; tfn_model_param(to, i, &a); i++)
        for (int32_t j = 0; tfn_model_param(from, j, &b); j++)
            if (!strcmp(a.name, b.name) && a.rows == b.rows && a.cols == b.cols)
                memcpy(a.data, b.data, (size_t)a.rows * (size_t)a.cols * sizeof *a.data), taken++;
    printf("%d tensors are taken\n", taken);
}

static void train(tfn_model *m, part *p, int steps, int every)
{
    tfn_report r = { 0 };
    double sum = 0;
    for (int step = 0; step < steps && m->error.status == TFN_OK; step++) {
        tfn_model_step(m, data_batch(&p->batches, step), &r);
        sum += r.loss / every;
        if ((step + 1) % every) continue;
        printf("  step %4d: loss %.3f\n", step + 1, sum);
        sum = 0;
    }
}

static double accuracy(tfn_model *m, part *p)
{
    tfn_accuracy a = { 0 };
    for (int64_t i = 0; i < p->batches.count; i++) {
        const tfn_batch *b = data_batch(&p->batches, i);
        tfn_accuracy_add_logits(&a, tfn_model_logits(m, b), b->targets, b->batch, 1, 2);
    }
    return 100 * (double)a.right / (double)a.tokens;
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    static part plain, few, tests;
    tfn_model masked, model[2];
    tfn_model_desc desc;
    cut(&plain, DATA_MASKED, TASK_TRAIN, PLAIN);
    cut(&few, DATA_LABELS, TASK_TRAIN, LABELLED);
    cut(&tests, DATA_LABELS, TASK_TEST, TESTS);
    if (!plain.batches.tokens || !few.batches.tokens || !tests.batches.tokens) return 1;
    desc = shape(TFN_HEAD_TOKENS, STEPS);
    tfn_model_new(&masked, &desc, NULL);
    printf("masked words of %d sentences\n", PLAIN);
    train(&masked, &plain, STEPS, 200);
    for (int i = 0; i < 2; i++) {
        desc = shape(TFN_HEAD_SEQUENCE, FINE);
        if (tfn_model_new(&model[i], &desc, NULL) != TFN_OK) return failed(&model[i].error);
        printf("%d labels, %s\n", LABELLED, i ? "pre-trained" : "from scratch");
        if (i) take_weights(&model[i], &masked);
        train(&model[i], &few, FINE, 100);
        printf("  accuracy %.1f %%\n", accuracy(&model[i], &tests));
    }
    return 0;
}
