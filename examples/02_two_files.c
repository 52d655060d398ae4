/* cc -O2 examples/02_two_files.c examples/tfnorm.c -o two_files -lm && ./two_files
 * A program of two files: tfnorm.c has the implementation, and this file only includes the
 * header. If you keep tfnorm.o (cc -O2 -c examples/tfnorm.c), a change of this file compiles at
 * once. The training loop measures the loss of held-out data, keeps the best weights, and stops
 * early.
 * Prints:
 *     step  20: loss 1.887, held out 1.915
 *     step  40: loss 1.723, held out 1.816
 *     step  60: loss 1.303, held out 1.480
 *     step  80: loss 0.716, held out 0.937
 *     step 100: loss 0.489, held out 0.857
 *     step 120: loss 0.382, held out 0.939
 *     step 140: loss 0.322, held out 1.021
 *     step 160: loss 0.285, held out 1.124
 *     kept: held out 0.857 */
#include "../tfnorm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 7, T = 16, TRAIN = 256, HELD = 64, PATIENCE = 3 };

/* Each symbol is the sum of the two before it, modulo 7; one in eight is wrong. */
static void fill(int32_t *tokens, int32_t *targets, int sentences, uint64_t seed)
{
    for (int i = 0; i < sentences * T; i++) {
        const int t = i % T;
        const uint64_t r = tfn_random_bits(tfn_key_make(seed), (uint64_t)i);
        const int32_t sum = t > 1 ? (tokens[i - 1] + tokens[i - 2]) % VOCAB : 0;
        tokens[i] = t > 1 && r % 8 ? sum : (int32_t)(r / 8 % VOCAB);
        targets[i] = -1;                            /* the last has none */
        if (t > 0) targets[i - 1] = tokens[i];
    }
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    static int32_t tokens[TRAIN * T], targets[TRAIN * T], held[HELD * T], held_targets[HELD * T];
    const tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = TRAIN, .time = T };
    const tfn_batch test = { .tokens = held, .targets = held_targets, .batch = HELD, .time = T };
    const tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = TRAIN, .width = 32,
                                  .schedule = { .lr = 3e-3f } };
    tfn_model model;
    tfn_param_info all;
    tfn_report train, loss;
    float best = 1e9f;
    int worse = 0;
    if (!tfn_version_agrees())                      /* the two files saw the same header */
        return printf("tfnorm.h %s, but tfnorm.o %s\n", TFNORM_VERSION, tfn_version()), 1;
    fill(tokens, targets, TRAIN, 1);
    fill(held, held_targets, HELD, 2);
    if (tfn_model_new(&model, &desc, NULL) != TFN_OK) return failed(&model.error);

    /* All parameters are one vector, which begins with the first tensor. */
    const size_t bytes = model.memory.parameters;
    float *kept = malloc(bytes);
    if (!kept || !tfn_model_param(&model, 0, &all)) return 1;
    for (int step = 1; worse < PATIENCE; step++) {
        if (tfn_model_step(&model, &batch, &train) != TFN_OK) return failed(&model.error);
        if (step % 20) continue;
        if (tfn_model_eval(&model, &test, &loss) != TFN_OK) return failed(&model.error);
        printf("step %3d: loss %.3f, held out %.3f\n", step, train.loss, loss.loss);
        worse++;
        if (!(loss.loss < best)) continue;              /* also if NaN, the loss without targets */
        best = loss.loss;
        worse = 0;
        memcpy(kept, all.data, bytes);
    }
    memcpy(all.data, kept, bytes);
    tfn_model_eval(&model, &test, &loss);
    printf("kept: held out %.3f\n", loss.loss);
    free(kept);
    tfn_model_free(&model);
    return 0;
}
