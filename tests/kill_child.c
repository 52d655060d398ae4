/* kill_child PATH STEPS: trains for STEPS steps, saves after each, and continues from PATH if it
 * exists. Prints the hash of the weights at the end. If it is killed at any time and started again,
 * the hash is the same: tests/kill.sh. */
#if !defined _POSIX_C_SOURCE && !defined _WIN32
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"

static int fail(const char *what, const tfn_error *e)
{
    char text[300];
    printf("%s: %s\n", what, tfn_error_text(e, text, sizeof text));
    return 1;
}

int main(int argc, char **argv)
{
    int32_t tokens[64], targets[64];
    char extra[32] = "0";
    long steps = argc > 2 ? atol(argv[2]) : 0, batch;
    tfn_checkpoint with = { NULL, extra, false };
    tfn_model_desc d;
    tfn_model m;
    tfn_batch b;
    tfn_report r;
    tfn_file f;
    FILE *there = argc > 1 ? fopen(argv[1], "rb") : NULL;
    memset(&d, 0, sizeof d);
    memset(&b, 0, sizeof b);
    memset(&f, 0, sizeof f);
    f.path = argc > 1 ? argv[1] : "kill.safetensors";
    d.vocab = 31;
    d.context = 16;
    d.batch = 4;
    d.width = 32;
    d.recipe = "admin";
    d.dropout = (float)0.1;
    d.micro_batches = 2;
    d.seed = 3;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) return fail("new", &m.error);
    if (there) {
        fclose(there);
        if (tfn_model_load(&m, &f) != TFN_OK || tfn_file_open(&f) != TFN_OK
            || !tfn_file_text(&f, "extra", extra, sizeof extra)) return fail("load", &f.error);
        tfn_file_close(&f);
    }
    b.tokens = tokens;
    b.targets = targets;
    b.batch = 4;
    b.time = 16;
    for (batch = atol(extra); batch < steps; batch++) {
        for (long i = 0; i < 64; i++) {
            tokens[i] = (int32_t)((i * 7 + batch * 5 + i / 4) % 31);
            targets[i] = (tokens[i] * 3 + 1) % 31;
        }
        if (tfn_model_step(&m, &b, &r) != TFN_OK) return fail("step", &m.error);
        sprintf(extra, "%ld", batch + 1);
        if (tfn_model_save(&f, &m, &with) != TFN_OK) return fail("save", &f.error);
    }
    printf("%016llx\n", (unsigned long long)tfn_model_hash(&m));
    tfn_model_free(&m);
    return 0;
}
