/* git show 938b083:tfnorm.h > tfnorm.h && cc make_checkpoint_0_1.c -o make_checkpoint_0_1 -lm &&
 *     ./make_checkpoint_0_1 > golden_checkpoint_0_1.h && rm tfnorm.h
 * A checkpoint of version 0.1, format 1, in which no enumeration of its options is 0 and all are
 * numbers. Every later version must read it. Made once, with the header of that version. */
#include <stdio.h>
#include <string.h>
#define TFNORM_IMPLEMENTATION
#include "tfnorm.h"

int main(void)
{
    static unsigned char bytes[20000];
    static const int32_t tokens[] = { 0, 1, 2, 1 }, targets[] = { 2 };
    tfn_model_desc d;
    tfn_batch b;
    tfn_report r;
    tfn_model m;
    tfn_file f;
    memset(&d, 0, sizeof d);
    memset(&b, 0, sizeof b);
    memset(&f, 0, sizeof f);
    d.vocab = 3;
    d.context = 4;
    d.width = 4;
    d.layers = 1;
    d.heads = 2;
    d.ffn = 4;
    d.arch = TFN_ENCODER;
    d.head = TFN_HEAD_SEQUENCE;
    d.classes = 3;
    d.activation = TFN_SILU;
    d.position = TFN_SINUSOIDAL_FAIRSEQ;
    d.qk_norm = TFN_QK_HEAD;
    d.smoothing = 0.1f;
    d.smoothing_kind = TFN_SMOOTHING_FAIRSEQ;
    d.optimizer = TFN_RADAM;
    d.radam = TFN_RADAM_DECAY;
    d.schedule.kind = TFN_WARMUP_STABLE_DECAY;
    d.schedule.steps = 100;
    d.recipe = "post";
    d.seed = 7;
    b.tokens = tokens;
    b.targets = targets;
    b.batch = 1;
    b.time = 4;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) return 1;
    for (int i = 0; i < 3; i++)
        if (tfn_model_step(&m, &b, &r) != TFN_OK) return 1;
    f.to = bytes;
    f.to_size = sizeof bytes;
    if (tfn_model_save(&f, &m, NULL) != TFN_OK) return 1;
    printf("/* Made by golden/make_checkpoint_0_1.c. */\n"
           "#define GOLDEN_CHECKPOINT_0_1_HASH UINT64_C(0x%016llx)\n"
           "static const unsigned char golden_checkpoint_0_1[] = {",
           (unsigned long long)tfn_model_hash(&m));
    for (uint64_t i = 0; i < f.used; i++) printf("%s%d,", i % 24 ? "" : "\n    ", bytes[i]);
    printf("\n};\n");
    return 0;
}
