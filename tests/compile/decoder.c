/* A decoder on a microcontroller: weights in flash, no allocation, no stdio. The test `size`
 * measures its code. */
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"

static unsigned char memory[24000], cache[16000], scratch[4000];
static float weights[60000];      /* in flash on a real board; not counted as code here */

int main(void)
{
    tfn_model_desc desc = { 0 };
    tfn_model m;
    tfn_decoder d;
    int32_t token = 0;
    desc.vocab = 256;
    desc.context = 32;
    desc.inference = true;
#ifdef TFNORM_ONLY_DECODERS
    desc.only_decoders = true;
#endif
    desc.parameters = weights;
    if (tfn_model_init(&m, &desc, memory, sizeof memory)) return 1;
    if (!tfn_decoder_size(&m, 1, 1, scratch, sizeof scratch)) return 1;
    if (tfn_decoder_init(&d, &m, 1, 1, cache, sizeof cache)) return 1;
    for (int i = 0; i < 32; i++) {
        const float *logits = tfn_decoder_next(&d, &token, 1, NULL);
        if (!logits) return 1;
        for (int32_t v = token = 0; v < desc.vocab; v++)
            if (logits[v] > logits[token]) token = v;
    }
    return 0;
}
