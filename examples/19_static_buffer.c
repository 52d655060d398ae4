/* cc -O2 examples/19_static_buffer.c -o static_buffer -lm && ./static_buffer
 * A model in a static buffer: no malloc, an exact size, and an error with one byte less.
 * Prints the bytes that it needs, the error, then:
 *     ...
 *     step 50: loss 0.027
 *     ...
 *     step 200: loss 0.001
 *     weights 30976 bytes, gradients 30976, moments 61952, workspace 256256 */
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>                       /* for this program's own printf */

enum { VOCAB = 4, T = 12, BATCH = 8 };
static unsigned char memory[448 * 1024]; /* weights, gradients, moments, workspace: everything */

int main(void)
{
    tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = BATCH, .width = 24, .layers = 1,
                            .schedule = { .lr = 5e-3f } };
    int32_t tokens[BATCH * T], targets[BATCH * T];
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = T };
    tfn_key key = tfn_key_make(1);
    tfn_model model;
    tfn_report report;
    char text[160];

    /* The size is exact. To find it, the planner borrows the buffer as scratch. */
    size_t size = tfn_model_size(&desc, memory, sizeof memory);
    printf("wanted: %lu bytes, there are %lu\n", (unsigned long)size, (unsigned long)sizeof memory);
    if (!size || size > sizeof memory) return 1;

    /* One byte less is an error, with a message, and nothing else happens. */
    tfn_model_init(&model, &desc, memory, size - 1);
    printf("with %lu: %s\n", (unsigned long)size - 1,
           tfn_error_text(&model.error, text, sizeof text));

    if (tfn_model_init(&model, &desc, memory, size) != TFN_OK) return 1;
    /* Learn to say which symbol came two places before. */
    for (int step = 1; step <= 200; step++) {
        for (int i = 0; i < BATCH * T; i++) {
            tokens[i] = (int32_t)(tfn_random_bits(key, (uint64_t)(step * BATCH * T + i)) % VOCAB);
            targets[i] = i % T < 2 ? -1 : tokens[i - 2];
        }
        tfn_model_step(&model, &batch, &report);
        if (step % 50 == 0) printf("step %d: loss %.3f\n", step, report.loss);
    }
    printf("weights %lu bytes, gradients %lu, moments %lu, workspace %lu\n",
           (unsigned long)model.memory.parameters, (unsigned long)model.memory.gradients,
           (unsigned long)model.memory.moments, (unsigned long)model.memory.workspace);
    return 0;
}
