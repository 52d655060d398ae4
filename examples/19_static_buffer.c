/* cc -O2 examples/19_static_buffer.c -o static_buffer -lm && ./static_buffer
 * A model in a static buffer: no malloc, an exact size, and an error with one byte less. It keeps
 * checkpoints in pages of flash, here an array. A power cut interrupts the second save; training
 * resumes from the first, with the same bits. At the end the weights become a file in memory.
 * Prints the bytes that it needs, the error, then:
 *     ...
 *     step 50: loss 0.027
 *     step 100: loss 0.004
 *     save: no error
 *     step 150: loss 0.002
 *     save: flash: page 139 cannot be written
 *     step 150: loss 0.002
 *     step 200: loss 0.001
 *     weights 30976 bytes, gradients 30976, moments 61952, workspace 256256
 *     a file of 33768 bytes, written with 616, read with 5059 */
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>                       /* for this program's own printf */
#include <string.h>

enum { VOCAB = 4, T = 12, BATCH = 8, PAGE = 1024, PAGES = 96 };
static unsigned char memory[448 * 1024]; /* weights, gradients, moments, workspace: everything */
static unsigned char flash[2 * PAGES][PAGE], file[40 * 1024];
static double work[1024];                /* for one page, and for calls on files */
static int writes;                       /* until the power fails */

static bool read_page(void *user, int32_t page, void *to)
{
    (void)user;
    memcpy(to, flash[page], PAGE);
    return true;
}
static bool write_page(void *user, int32_t page, const void *from)
{
    (void)user;
    if (writes-- <= 0) return false;
    memcpy(flash[page], from, PAGE);
    return true;
}

/* Learns to say which symbol came two places before. */
static void train(tfn_model *model, int last)
{
    static int32_t tokens[BATCH * T], targets[BATCH * T];
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = T };
    tfn_key key = tfn_key_make(1);
    tfn_report report;
    for (int step = (int)model->step + 1; step <= last; step++) {
        for (int i = 0; i < BATCH * T; i++) {
            tokens[i] = (int32_t)(tfn_random_bits(key, (uint64_t)(step * BATCH * T + i)) % VOCAB);
            targets[i] = i % T < 2 ? -1 : tokens[i - 2];
        }
        tfn_model_step(model, &batch, &report);
        if (step % 50 == 0) printf("step %d: loss %.3f\n", step, report.loss);
    }
}

int main(void)
{
    tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = BATCH, .width = 24, .layers = 1,
                            .schedule = { .lr = 5e-3f } };
    tfn_flash chip = { .page = PAGE, .work = work, .read = read_page, .write = write_page };
    tfn_checkpoint weights = { .weights_only = true };
    tfn_model model;
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
    chip.pages = tfn_flash_pages(&model, PAGE);         /* of each of two slots */
    if (chip.pages > PAGES) return 1;
    for (int step = 100; step <= 150; step += 50) {
        train(&model, step);
        writes = step == 100 ? chip.pages : chip.pages / 2;     /* the second save fails */
        tfn_flash_save(&chip, &model);
        printf("save: %s\n", tfn_error_text(&chip.error, text, sizeof text));
    }
    tfn_model_init(&model, &desc, memory, size);        /* power is back */
    if (tfn_flash_load(&model, &chip) != TFN_OK) return 1;
    train(&model, 200);
    printf("weights %lu bytes, gradients %lu, moments %lu, workspace %lu\n",
           (unsigned long)model.memory.parameters, (unsigned long)model.memory.gradients,
           (unsigned long)model.memory.moments, (unsigned long)model.memory.workspace);

    /* The weights as a safetensors file. Calls on files need a block, whose size is known. */
    tfn_file out = { .to = file, .to_size = sizeof file, .work = work };
    out.work_size = tfn_model_save_work(&model, &weights);
    if (out.work_size > sizeof work || tfn_model_save(&out, &model, &weights) != TFN_OK) return 1;
    tfn_file in = { .from = file, .from_size = (size_t)out.used, .work = work };
    in.work_size = tfn_file_work(&in);
    if (in.work_size > sizeof work || tfn_model_load_weights(&model, &in, 1) != TFN_OK) return 1;
    printf("a file of %lu bytes, written with %lu, read with %lu\n", (unsigned long)out.used,
           (unsigned long)out.work_size, (unsigned long)in.work_size);
    return 0;
}
