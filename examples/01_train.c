/* cc -O2 examples/01_train.c -o train -lm && ./train
 * The first program of the README: a decoder learns to write a word of 8 letters backwards.
 * Prints:
 *     step   0: loss 3.7786
 *     ...
 *     desserts */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>

enum { N = 8, T = 2*N, BATCH = 32, VOCAB = 27, END = 26 };  /* 8 letters, END, the same backwards */
static int32_t tokens[BATCH * T], targets[BATCH * T];
static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = BATCH, .recipe = "pre" };
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = T };
    tfn_model model;
    tfn_report report;
    if (tfn_model_new(&model, &desc, NULL) != TFN_OK) return failed(&model.error);
    for (int step = 0; step <= 400; step++) {
        for (int i = 0; i < BATCH * T; i++) {
            int t = i % T, mirror = i - 2*t + T - 1;
            uint64_t r = tfn_random_bits(tfn_key_make(1), (uint64_t)(step * BATCH * T + i));
            tokens[i] = t < N ? (int32_t)(r % 26) : t == N ? END : tokens[mirror + 1];
            targets[i] = t < N ? -1 : tokens[mirror];         /* -1: not scored */
        }
        if (tfn_model_step(&model, &batch, &report) != TFN_OK) return failed(&model.error);
        if (step % 100 == 0) printf("step %3d: loss %.4f\n", step, report.loss);
    }
    for (int i = 0; i <= N; i++) tokens[i] = i < N ? "stressed"[i] - 'a' : END;
    for (batch.batch = 1, batch.time = N + 1; batch.time <= T; batch.time++) {
        const float *logits = tfn_model_logits(&model, &batch) + (batch.time - 1) * VOCAB;
        int best = 0;
        for (int v = 1; v < VOCAB; v++) if (logits[v] > logits[best]) best = v;
        if (batch.time < T) tokens[batch.time] = best;
        putchar('a' + best);
    }
    putchar('\n');
    tfn_model_free(&model);
    return 0;
}
