/* The native twin of the test "own" of engine.js: prints the hash of the same run. */
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    enum { ROWS = 4, TIME = 12, VOCAB = 29 };
    static int32_t tokens[ROWS * TIME], targets[ROWS * TIME];
    tfn_model_desc desc = { 0 };
    tfn_batch batch = { 0 };
    tfn_report report;
    tfn_model model;
    desc.vocab = VOCAB;
    desc.context = TIME;
    desc.batch = ROWS;
    desc.recipe = "deepnorm";
    desc.schedule.lr = 0.003f;
    desc.dropout = 0.1f;
    if (argc > 1) desc.isa = tfn_isa_find(argv[1]);
    batch.tokens = tokens;
    batch.targets = targets;
    batch.batch = ROWS;
    batch.time = TIME;
    if (tfn_model_new(&model, &desc, NULL) != TFN_OK) return 1;
    for (int step = 0; step < 30; step++) {
        for (int i = 0; i < ROWS * TIME; i++) {
            tokens[i] = (i * i + step) % VOCAB;
            targets[i] = (7 * i + step) % VOCAB;
        }
        if (tfn_model_step(&model, &batch, &report) != TFN_OK) return 1;
    }
    printf("%016llx\n", (unsigned long long)tfn_model_hash(&model));
    return 0;
}
