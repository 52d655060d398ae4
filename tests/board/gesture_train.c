/* The part of gesture.c for a laptop: trains on many people, as the example does, quantizes, and
 * writes both models as C. */
#include "gesture.h"
#include "words.h"

int main(void)
{
    tfn_model_desc desc = gesture_desc();
    tfn_model many;
    tfn_model small;
    desc.batch = BATCH;
    if (tfn_model_new(&many, &desc, NULL) != TFN_OK) return 1;
    for (int step = 1; step <= STEPS; step++) {
        record_batch(NULL);
        if (tfn_model_step(&many, &batch, NULL) != TFN_OK) return 2;
    }
    desc.inference = true;
    desc.weights = TFN_WEIGHTS_Q8;
    if (tfn_model_new(&small, &desc, NULL) != TFN_OK) return 3;
    if (tfn_model_quantize(&small, &many) != TFN_OK) return 4;
    write_words("float32", &many);
    write_words("q8", &small);
    return 0;
}
