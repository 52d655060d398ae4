/* cc -O2 examples/13_attention.c -o attention -lm && ./attention
 * Draws attention. A decoder learns to write six letters backwards. Then the weights of each
 * head are drawn, with a row for each letter that is written and a column for each position that
 * it may read.
 * Prints:
 *     ...
 *     layer 0
 *          hcaged|degac     hcaged|degac
 *       d       @        d     ...=
 *       e      @         e   . . - .
 *       g     @          g   -:   :
 *       a    @           a    - :    .
 *       c   @            c     .  -   .
 *       h  %             h    : .     .:
 *     ... */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>

/* A row is the letters, BAR, and the letters backwards; the last one is written but never read. */
enum { LETTERS = 6, TIME = 2 * LETTERS, ALPHABET = 8, BAR = ALPHABET, VOCAB = ALPHABET + 1,
       BATCH = 32, STEPS = 300, LAYERS = 2, HEADS = 2 };

static int32_t tokens[BATCH * TIME], targets[BATCH * TIME];

static void draw(tfn_key key)
{
    for (int b = 0; b < BATCH; b++) {
        int32_t *x = tokens + b * TIME;
        int32_t *y = targets + b * TIME;
        for (int i = 0; i < LETTERS; i++) {
            x[i] = (int32_t)(tfn_random_bits(key, (uint64_t)(b * LETTERS + i)) % ALPHABET);
            y[i] = -1;                                      /* no targets before BAR */
        }
        x[LETTERS] = BAR;
        y[LETTERS] = x[LETTERS - 1];
        for (int i = 1; i < LETTERS; i++) {
            x[LETTERS + i] = y[LETTERS + i - 1];
            y[LETTERS + i] = x[LETTERS - 1 - i];
        }
    }
}

static char letter(int32_t token) { return token == BAR ? '|' : (char)('a' + token); }

/* Print weights from 0 to 1 as ten shades. */
static void print_row(const float *weights, int32_t written)
{
    static const char shades[] = " .:-=+*#%@";
    printf("  %c  ", letter(written));
    for (int j = 0; j < TIME; j++) putchar(shades[(int)(weights[j] * 9.99f)]);
}

/* Print the heads of a layer side by side; rows are the positions from BAR on. */
static void print_layer(const float *weights, int layer)
{
    printf("\nlayer %d\n", layer);
    for (int h = 0; h < HEADS; h++) {
        printf("     ");
        for (int j = 0; j < TIME; j++) putchar(letter(tokens[j]));
    }
    printf("\n");
    for (int i = LETTERS; i < TIME; i++) {
        for (int h = 0; h < HEADS; h++) print_row(weights + (h * TIME + i) * TIME, targets[i]);
        printf("\n");
    }
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    tfn_model_desc desc = { .vocab = VOCAB, .context = TIME, .batch = BATCH, .width = 32,
        .layers = LAYERS, .heads = HEADS, .clip = 1, .seed = 3,
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 5e-3f, .warmup = 40, .steps = STEPS } };
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = TIME };
    static float weights[HEADS * TIME * TIME];
    tfn_report report = { 0 };
    tfn_model m;
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return failed(&m.error);
    for (uint64_t step = 1; step <= STEPS; step++) {
        draw(tfn_key_fold(tfn_key_make(1), step));
        if (tfn_model_step(&m, &batch, &report) != TFN_OK) return failed(&m.error);
        if (step % 100 == 0) printf("step %d: loss %.4f\n", (int)step, report.loss);
    }
    draw(tfn_key_make(3));                                  /* new letters */
    batch.batch = 1;
    for (int layer = 0; layer < LAYERS; layer++) {
        if (tfn_model_attention(&m, &batch, TFN_STACK_LAST, layer, TFN_SUBLAYER_SELF_ATTENTION, -1,
                                weights) != TFN_OK) return 1;
        print_layer(weights, layer);
    }
    tfn_model_free(&m);
    return report.loss > 0.1;
}
