/* cc -O2 examples/25_signal.c -o signal -lm && ./signal
 * Estimates frequency and amplitude of a noisy wave, with an encoder recorded on a tape. Two
 * convolutions turn 35 samples into 8 positions. The output reads a learned weighted mean of the
 * layers (Peters et al. 2018, equation 1). Probes print sizes and root mean squares.
 * Prints:
 *     convolution 1  544 x 24  value 0.5911
 *     convolution 2  256 x 24  value 0.3128
 *     output          32 x 2   value 0.5193
 *     output          32 x 2   gradient 1.3748
 *     convolution 2  256 x 24  gradient 0.2653
 *     convolution 1  544 x 24  gradient 0.0921
 *     update   0: loss 0.4725
 *     update 200: loss 0.0131
 *     update 400: loss 0.0076
 *     update 600: loss 0.0040
 *     found -0.88 -0.05, expected -0.75 -0.07
 *     found 1.02 0.33, expected 1.00 0.40
 *     found 0.84 -0.79, expected 1.00 -0.76
 *     shares of the layers 0.09 0.14 0.77 */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <math.h>
#include <stdio.h>

enum { T = 8, SAMPLES = 4*T + 3, BATCH = 32, C = 24, HEADS = 2, LAYERS = 2, OUT = 2, STEPS = 600,
       PARAMS = 1 << 14, WORK = 1 << 18 };
static float params[PARAMS], grads[PARAMS], moments[2][PARAMS], work[WORK];
static float samples[BATCH * SAMPLES], expected[BATCH * OUT];
static unsigned char nodes[1 << 16];
static tfn_tape tape, *const t = &tape;
static const tfn_var none;

/* Parabolas that resemble a sine: periods of 256/24 to 256/8 samples, amplitudes of 1/2 to 3/2. */
static void make_waves(tfn_key key)
{
    for (int i = 0; i < BATCH * SAMPLES; i++) {
        const int b = i / SAMPLES, bits = (int)(tfn_random_bits(key, (uint64_t)b) >> 40);
        const int step = 8 + bits % 17, size = 128 + (bits >> 8) % 256;
        const int at = (bits >> 16) + i % SAMPLES * step, half = at % 128 * (128 - at % 128);
        samples[i] = (float)(at & 128 ? -half : half) * (float)size / (1 << 20)
                     + 0.1f * tfn_random_normal(key, (uint64_t)(BATCH + i));
        expected[OUT*b] = (float)(step - 16) / 8;
        expected[OUT*b + 1] = (float)size / 128 - 2;
    }
}

static tfn_var matrix(int in, int out)          /* the next in the vector of parameters */
{
    for (int64_t i = t->params; i < t->params + in * out; i++)
        params[i] = tfn_random_normal(tfn_key_make(1), (uint64_t)i) / sqrtf((float)in);
    return tfn_param(t, in, out);
}
static tfn_var map(tfn_var x, int in, int out)  /* x W */
{
    return tfn_linear(t, x, matrix(in, out), none, TFN_ACTIVATION_IDENTITY);
}

static tfn_var attend(tfn_var x)                /* N(x + F(x)) */
{
    const tfn_var q = map(x, C, C), k = map(x, C, C), v = map(x, C, C);
    const tfn_var f = tfn_attention(t, q, k, v, HEADS, HEADS, false, -1, 0);
    return tfn_rmsnorm(t, tfn_add(t, x, map(f, C, C), 1, 1), none, 1e-5f);
}

static tfn_var record(tfn_var *shares, tfn_var *out)                    /* returns the loss */
{
    tfn_var x = tfn_input(t, 0, TFN_ROWS_TARGET_FRAMES, 1), mean = none;
    for (int i = 0; i < 2; i++) {
        x = tfn_convolution(t, x, matrix(i ? 3*C : 3, C), none);
        x = tfn_activation(t, x, TFN_ACTIVATION_RELU);
        tfn_probe(t, x, i);
    }
    x = tfn_position(t, x, matrix(T, C));
    *shares = tfn_softmax(t, matrix(1, LAYERS + 1));
    for (int l = 0; l <= LAYERS; l++) {
        if (l) x = attend(x);
        mean = tfn_mix(t, mean, x, *shares, l);                         /* + share l of x */
    }
    *out = map(tfn_first_rows(t, mean), C, OUT);
    tfn_probe(t, *out, 2);
    tfn_keep(t, *shares);
    tfn_keep(t, *out);
    return tfn_number_loss(t, *out, 1, TFN_NUMBER_LOSS_SQUARED, 0);
}

/* A tfn_probe_fn: shows values in the forward, and gradients in the backward. */
static void show(void *names, int32_t id, const float *x, ptrdiff_t rows, ptrdiff_t cols, bool back)
{
    const double mean = (double)t->kernels->dot(x, x, rows * cols) / (double)(rows * cols);
    printf("%-14s %3d x %-2d  %s %.4f\n", ((const char **)names)[id], (int)rows, (int)cols,
           back ? "gradient" : "value", sqrt(mean));
}

int main(void)
{
    static const char *names[] = { "convolution 1", "convolution 2", "output" };
    tfn_update_args u = { .optimizer = TFN_OPTIMIZER_ADAMW, .lr = 3e-3f, .beta1 = 0.9f,
                          .beta2 = 0.98f, .eps = 1e-8f, .grad_scale = 1.0f / (BATCH * OUT) };
    tfn_run run = { .batch = BATCH, .target = T, .params = params, .grads = grads, .work = work,
                    .inputs = { samples, expected }, .probe = show, .probe_user = names };
    tfn_var out, shares;
    tfn_tape_init(t, nodes, sizeof nodes, BATCH, 0, T, true);
    const tfn_var loss = record(&shares, &out);
    if (tfn_tape_plan(t, tfn_kernels_for(TFN_ISA_BEST), 1) != TFN_OK)
        return puts(tfn_status_text(t->error.status)), 1;
    if (t->params > PARAMS || t->work > WORK) return 1;
    for (int step = 0; step <= STEPS; step++) {
        make_waves(tfn_key_make((uint64_t)step));
        tfn_tape_forward(t, &run);
        const float sum = t->kernels->dot(tfn_value(t, &run, loss), NULL, BATCH);
        tfn_tape_backward(t, &run);
        run.probe = NULL;
        tfn_update_at(&u, step + 1);
        t->kernels->update(params, grads, moments[0], moments[1], t->params, &u);
        if (step % 200 == 0) printf("update %3d: loss %.4f\n", step, (double)(sum * u.grad_scale));
    }
    const float *y = tfn_value(t, &run, out), *w = tfn_value(t, &run, shares);
    for (int i = 0; i < 3*OUT; i += OUT)
        printf("found %.2f %.2f, expected %.2f %.2f\n", (double)y[i], (double)y[i + 1],
               (double)expected[i], (double)expected[i + 1]);
    printf("shares of the layers %.2f %.2f %.2f\n", (double)w[0], (double)w[1], (double)w[2]);
}
