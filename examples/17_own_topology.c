/* cc -O2 examples/17_own_topology.c -o own_topology -lm && ./own_topology
 * A topology of your own is a row of data. This one is KEEL (2026): a norm before F and one
 * after the sum, with a skip that is scaled by the number of sub-layers, 2 N for N layers.
 * Prints:
 *     loss of 8 layers after 100, 200 ... steps, no warm-up
 *     post    2.3367  2.2980  2.3048  2.3114   x = N(x + F(x))
 *     pre     0.0032  0.0011  0.0004  0.0002   x = x + F(N(x)); final norm
 *     keel    2.2859  2.2321  0.0026  0.0008   x = N(2 N x + F(N(x))) */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>

#define KEEL { .norm_in = true, .norm_sum = true, .skip = { TFN_SCALE_CONSTANT, 2, .n = 1 } }
static const tfn_topology keel = {
    .name = "keel", .formula = "x = N(2 N x + F(N(x)))", .paper = "KEEL", .year = 2026,
    .attention = KEEL, .ffn = KEEL
};

enum { N = 6, T = 2*N, BATCH = 16, LETTERS = 10, END = LETTERS, SHOWN = 4 };
static int32_t tokens[BATCH * T], targets[BATCH * T];

/* Read N letters, then write them in reverse. */
static void make_batch(int step)
{
    tfn_key key = tfn_key_fold(tfn_key_make(1), (uint64_t)step);
    for (int i = 0; i < BATCH * T; i++) {
        int t = i % T, back = i - 2 * (t - N) - 1;
        tokens[i] = t < N ? (int32_t)(tfn_random_bits(key, (uint64_t)i) % LETTERS)
                  : t == N ? END : tokens[back + 1];
        targets[i] = t < N ? -1 : tokens[back];
    }
}

static void train(const tfn_topology *row)
{
    tfn_model_desc desc = { .vocab = LETTERS + 1, .context = T, .batch = BATCH, .layers = 8,
                            .topology = row, .schedule = { .lr = 3e-3f } };
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = T };
    tfn_model model;
    tfn_report report;
    char text[160];
    if (tfn_model_new(&model, &desc, NULL) != TFN_OK)
        printf("%s\n", tfn_error_text(&model.error, text, sizeof text));
    printf("%-6s", row->name);
    for (int step = 1; step <= 100 * SHOWN && model.error.status == TFN_OK; step++) {
        make_batch(step);
        tfn_model_step(&model, &batch, &report);
        if (step % 100 == 0) printf("  %6.4f", report.loss);
    }
    printf("   %s\n", row->formula);
    tfn_model_free(&model);
}

int main(void)
{
    printf("loss of 8 layers after 100, 200 ... steps, no warm-up\n");
    train(tfn_topology_find("post"));
    train(tfn_topology_find("pre"));
    train(&keel);
    return 0;
}
