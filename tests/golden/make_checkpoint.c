/* cc make_checkpoint.c -o make_checkpoint -lm && ./make_checkpoint > golden_checkpoint.h
 * A checkpoint of format 1, which every later version must read, with the hash of its weights and
 * the hash after one more step. Made once: make another only for a new format, under another
 * name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"

int main(void)
{
    static unsigned char bytes[20000];
    static const int32_t tokens[] = { 0, 1, 2, 1 }, targets[] = { 1, 2, 1, 0 };
    tfn_model_desc d = { 0 };
    tfn_checkpoint with = { NULL, "golden", false };
    tfn_batch b = { 0 };
    tfn_report r;
    tfn_model m;
    tfn_file f = { 0 };
    d.vocab = 3;
    d.context = 4;
    d.width = 4;
    d.layers = d.heads = 1;
    d.ffn = 4;
    d.recipe = "admin";
    d.dropout = 0.1f;
    d.micro_batches = 2;
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
    if (tfn_model_save(&f, &m, &with) != TFN_OK) return 1;
    printf("/* Made by golden/make_checkpoint.c. */\n"
           "#define GOLDEN_CHECKPOINT_HASH UINT64_C(0x%016llx)\n", (unsigned long long)tfn_model_hash(&m));
    if (tfn_model_step(&m, &b, &r) != TFN_OK) return 1;
    printf("#define GOLDEN_CHECKPOINT_NEXT UINT64_C(0x%016llx)\n"
           "static const unsigned char golden_checkpoint[] = {", (unsigned long long)tfn_model_hash(&m));
    for (uint64_t i = 0; i < f.used; i++) printf("%s%d,", i % 24 ? "" : "\n    ", bytes[i]);
    printf("\n};\n");
    return 0;
}
