/* cc -O2 examples/16_own_op.c -o own_op -lm && ./own_op
 * Adds an operation to a tape: the squared ReLU (So et al. 2021), y = max(x, 0)^2 with dy/dx =
 * 2 max(x, 0). (The library has it, too: TFN_ACTIVATION_RELU2.) A network of two layers learns
 * which of two spirals a point belongs to. First the program compares the backward with a
 * difference quotient; do this for every derivative that you write.
 * Prints:
 *     dw1[3] 13.05, by differences 13.05
 *     step    0: loss 9.9481
 *     step  500: loss 0.0273
 *     step 1000: loss 0.0115
 *     step 1500: loss 0.0069
 *     step 2000: loss 0.0048 */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void relu2_forward(const tfn_custom_args *a)
{
    for (ptrdiff_t i = 0; i < a->rows * a->cols; i++) {
        float x = a->x[0][i] > 0 ? a->x[0][i] : 0;
        a->y[i] = x * x;
    }
}

static void relu2_backward(const tfn_custom_args *a)
{
    for (ptrdiff_t i = 0; i < a->rows * a->cols; i++) {
        float x = a->x[0][i] > 0 ? a->x[0][i] : 0, dx = 2 * x * a->dy[i];
        a->dx[0][i] = a->add[0] ? a->dx[0][i] + dx : dx;      /* add to dx, or store */
    }
}

enum { POINTS = 200, HIDDEN = 32 };

/* Compares an element of the gradient of the summed loss with a difference quotient. */
static void check(const tfn_tape *t, const tfn_run *run, tfn_var loss, tfn_var weight)
{
    float *w = tfn_value(t, run, weight) + 3, kept = *w, sum[2];
    for (int i = 0; i < 2; i++) {
        *w = kept + (i ? -1 : 1) / 64.0f;
        tfn_tape_forward(t, run);
        sum[i] = t->kernels->dot(tfn_value(t, run, loss), NULL, POINTS);
    }
    *w = kept;
    tfn_tape_forward(t, run);
    tfn_tape_backward(t, run);
    printf("dw1[3] %.2f, by differences %.2f\n", tfn_gradient(t, run, weight)[3],
           (sum[0] - sum[1]) * 32);
}

int main(void)
{
    static const tfn_custom_op ops[] = { { "relu2", relu2_forward, relu2_backward, NULL } };
    static float points[POINTS][2];
    static int32_t classes[POINTS];
    tfn_key key = tfn_key_make(3);
    for (int i = 0; i < POINTS; i++) {
        float r = 0.1f + (float)(i / 2) / 100, angle = 4 * r + 3.14159f * (float)(i % 2);
        points[i][0] = r * cosf(angle);
        points[i][1] = r * sinf(angle);
        classes[i] = i % 2;
    }

    /* Record: nothing is computed yet. The last value is the loss, one per row. */
    tfn_tape tape;
    void *nodes = malloc(tfn_tape_bytes(32));
    tfn_tape_init(&tape, nodes, tfn_tape_bytes(32), POINTS, 0, 0, true);
    tape.custom = ops;
    tape.customs = 1;
    tfn_var x = tfn_input(&tape, 0, TFN_ROWS_BATCH, 2);
    tfn_var w1 = tfn_param(&tape, 2, HIDDEN), b1 = tfn_param(&tape, 1, HIDDEN);
    tfn_var w2 = tfn_param(&tape, HIDDEN, 2), b2 = tfn_param(&tape, 1, 2);
    tfn_var h = tfn_linear(&tape, x, w1, b1, TFN_ACTIVATION_IDENTITY);
    tfn_var u = tfn_custom(&tape, 0, &h, 1, TFN_ROWS_BATCH, 0, HIDDEN);
    tfn_var logits = tfn_linear(&tape, u, w2, b2, TFN_ACTIVATION_IDENTITY);
    tfn_var loss = tfn_cross_entropy(&tape, logits, TFN_INT_TARGETS, 0, 0);
    tfn_keep(&tape, loss);

    /* Plan: place every buffer, and count the floats that a run needs. */
    if (tfn_tape_plan(&tape, tfn_kernels_for(TFN_ISA_BEST), 1) != TFN_OK) {
        char text[160];
        printf("%s\n", tfn_error_text(&tape.error, text, sizeof text));
        return 1;
    }
    size_t n = (size_t)tape.params;
    float *memory = (float *)calloc(2*n + (size_t)tape.work, sizeof *memory);
    tfn_run run = { .batch = POINTS, .params = memory, .grads = memory + n,
                    .work = memory + 2*n, .inputs = { points[0] } };
    run.ints[TFN_INT_TARGETS] = classes;
    for (size_t i = 0; i < n; i++) run.params[i] = tfn_random_normal(key, i);

    check(&tape, &run, loss, w1);
    /* Run: gradient descent on the mean loss. */
    for (int step = 0; step <= 2000; step++) {
        tfn_tape_forward(&tape, &run);
        float mean = tape.kernels->dot(tfn_value(&tape, &run, loss), NULL, POINTS) / POINTS;
        if (step % 500 == 0) printf("step %4d: loss %.4f\n", step, mean);
        tfn_tape_backward(&tape, &run);
        for (size_t i = 0; i < n; i++) run.params[i] -= 0.1f / POINTS * run.grads[i];
    }
    free(memory);
    free(nodes);
    return 0;
}
