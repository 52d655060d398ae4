/* Training on a microcontroller: one recipe, AdamW, sentences one by one. The test `size` measures
 * its code. */
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"

static unsigned char memory[200000];

int main(void)
{
    tfn_model_desc desc = { 0 };
    tfn_batch batch = { 0 };
    tfn_model m;
    int32_t tokens[33];
    desc.vocab = 256;
    desc.context = 32;
    desc.width = 32;
    desc.micro_batches = 4;
    desc.recompute = true;
    if (tfn_model_init(&m, &desc, memory, sizeof memory)) return 1;
    for (int i = 0; i < 33; i++) tokens[i] = i * i % 256;
    batch.tokens = tokens;
    batch.targets = tokens + 1;
    batch.batch = 1;
    batch.time = 32;
    for (int i = 0; i < 100; i++)
        if (tfn_model_step(&m, &batch, NULL)) return 1;
    return 0;
}
