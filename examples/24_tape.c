/* cc -O2 examples/24_tape.c -o tape -lm && ./tape
 * Records a small Transformer on a tape, operation by operation, with each of seven residual
 * blocks. The model learns to repeat the letter from six positions before.
 * Prints the loss after 50, 100 and 150 updates:
 *     x + F(LayerNorm(x))       1.7591  0.0272  0.0080
 *     x + F(RMSNorm(x))         1.8227  0.0542  0.0091
 *     x + F(RMSNorm of heads)   1.8162  0.0348  0.0078
 *     x + F(tanh(x/2))          2.0875  1.7335  1.2227
 *     x + F(SeeDNorm(x))        1.7584  0.0331  0.0018
 *     x + s F(x + b)            1.8800  1.3245  0.1091
 *     gate(x + F(RMSNorm(x)))   1.4930  0.0225  0.0069 */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BACK = 6, T = 16, BATCH = 16, ROWS = BATCH * T, LETTERS = 10, C = 32, HEADS = 4, FFN = 64,
       LAYERS = 4, STEPS = 150, PARAMS = 1 << 16, WORK = 1 << 20 };
static float params[PARAMS], grads[PARAMS], moments[2][PARAMS], work[WORK];
static unsigned char nodes[1 << 18];
static tfn_tape tape, *const t = &tape;
static const tfn_var none;

static enum { LAYERNORM, RMSNORM, HEADNORM, DYT, SEEDNORM, FIXUP, GPAS, BLOCKS } block;
static const char *const formulas[BLOCKS] = {
    "x + F(LayerNorm(x))", "x + F(RMSNorm(x))", "x + F(RMSNorm of heads)", "x + F(tanh(x/2))",
    "x + F(SeeDNorm(x))", "x + s F(x + b)", "gate(x + F(RMSNorm(x)))"
};

/* Appends a parameter to the vector of parameters, with normal initial values around `mean`. */
static tfn_var param(int rows, int cols, float mean, float deviation)
{
    for (int64_t i = t->params; i < t->params + rows * cols; i++)
        params[i] = mean + deviation * tfn_random_normal(tfn_key_make(1), (uint64_t)i);
    return tfn_param(t, rows, cols);
}
static tfn_var vector(int cols, float first) { return param(1, cols, first, 0); }
static tfn_var map(tfn_var x, int in, int out, float gain)              /* x W */
{
    const tfn_var w = param(in, out, 0, gain * sqrtf(2.0f / (float)(in + out)));
    return tfn_linear(t, x, w, none, TFN_ACTIVATION_IDENTITY);
}

static tfn_var norm(tfn_var x)
{
    const tfn_norm_args rms = { .kind = TFN_NORM_RMS, .eps = 1e-5f };
    if (block == FIXUP) return tfn_shift(t, x, vector(1, 0), 1);
    if (block == HEADNORM) return tfn_norm(t, x, vector(C/HEADS, 1), none, C/HEADS, &rms);
    const tfn_var gain = vector(C, 1);
    if (block == RMSNORM || block == GPAS) return tfn_rmsnorm(t, x, gain, 1e-5f);
    const tfn_var other = vector(C, block == SEEDNORM);    /* SeeDNorm's alpha, or a bias */
    if (block == LAYERNORM) return tfn_layernorm(t, x, gain, other, 1e-5f);
    if (block == SEEDNORM) return tfn_seednorm(t, x, gain, other, vector(C, 0), 1e-5f);
    return tfn_squash(t, x, gain, other, vector(1, 0.5f), none, TFN_SQUASH_TANH);
}

/* Applies the last linear map of F, and joins F to x. Fixup starts these maps at 0. */
static tfn_var join(tfn_var x, tfn_var f, int in)
{
    f = tfn_dropout(t, map(f, in, C, block != FIXUP), 0.02f);
    if (block == FIXUP) f = tfn_scale(t, f, vector(1, 1));
    x = tfn_add(t, x, f, 1, 1);
    return block == GPAS ? tfn_gate(t, x, vector(1, 0)) : x;
}

static tfn_var record(void)
{
    const tfn_var table = param(LETTERS, C, 0, 0.2f);
    tfn_var x = tfn_embedding(t, table, TFN_INT_TOKENS, TFN_ROWS_TARGET, 1), u, q, k;
    x = tfn_position(t, x, param(T, C, 0, 0.2f));
    for (int l = 0; l < LAYERS; l++) {
        tfn_recompute(t, l + 1);                /* the backward computes this layer again */
        u = norm(x), q = map(u, C, C, 1), k = map(u, C, C, 1);
        x = join(x, tfn_attention(t, q, k, map(u, C, C, 1), HEADS, HEADS, true, -1, 0), C);
        u = norm(x), q = map(u, C, FFN, 1);
        x = join(x, tfn_glu(t, q, map(u, C, FFN, 1), TFN_ACTIVATION_SILU), FFN);
    }
    tfn_recompute(t, 0);
    x = tfn_linear_transposed(t, norm(x), table, none);                 /* logits, tied */
    return tfn_cross_entropy(t, x, TFN_INT_TARGETS, 0, 0);
}

int main(void)
{
    static int32_t tokens[ROWS], targets[ROWS];
    for (block = LAYERNORM; block < BLOCKS; block++) {
        tfn_update_args u = { .optimizer = TFN_OPTIMIZER_ADAMW, .lr = 3e-3f, .beta1 = 0.9f,
                       .beta2 = 0.98f, .eps = 1e-8f, .grad_scale = 1.0f / (BATCH * (T - BACK)) };
        tfn_run run = { .batch = BATCH, .target = T, .params = params, .grads = grads,
                        .work = work, .ints = { tokens, targets } };
        tfn_tape_init(t, nodes, sizeof nodes, BATCH, 0, T, true);
        const tfn_var loss = record();
        if (tfn_tape_plan(t, tfn_kernels_for(TFN_ISA_BEST), 1) != TFN_OK)
            return puts(tfn_status_text(t->error.status)), 1;
        if (t->params > PARAMS || t->work > WORK) return 1;
        memset(moments, 0, sizeof moments);
        printf("%-24s", formulas[block]);
        for (int step = 1; step <= STEPS; step++) {
            run.key = tfn_key_make((uint64_t)step);             /* of dropout, and of the letters */
            for (int i = 0; i < ROWS; i++) {
                tokens[i] = (int32_t)(tfn_random_bits(run.key, (uint64_t)i) % LETTERS);
                targets[i] = i % T < BACK ? -1 : tokens[i - BACK];
            }
            tfn_tape_forward(t, &run);
            const float sum = t->kernels->dot(tfn_value(t, &run, loss), NULL, ROWS);
            if (step % 50 == 0) printf("  %.4f", (double)(u.grad_scale * sum));
            tfn_tape_backward(t, &run);
            tfn_update_at(&u, step);
            t->kernels->update(params, grads, moments[0], moments[1], t->params, &u);
        }
        printf("\n");
    }
}
