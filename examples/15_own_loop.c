/* cc -O2 examples/15_own_loop.c -o own_loop -lm && ./own_loop
 * A training loop of your own, made of the parts of a step. Two tasks share one model: copy a row
 * of digits, or reverse it. If their gradients conflict (have a negative dot product), each is
 * projected onto the plane normal to the other (Yu et al. 2020, algorithm 1). The loss is custom,
 * too: cross-entropy plus 1e-4 (log Z)^2 (z-loss: Chowdhery et al. 2022, section 5).
 * Prints:
 *     update   1  copy 3.042  reverse 3.248
 *     ...
 *     update 160  copy 0.009  reverse 0.013
 *     30 of 160 updates had gradients against each other */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 16, N = 6, T = 2*N, VOCAB = 12, COPY = 10, REVERSE = 11, TASKS = 2, UPDATES = 160 };

static float log_sum_exp(const float *x)
{
    float most = x[0], sum = 0;
    for (int i = 1; i < VOCAB; i++) most = fmaxf(most, x[i]);
    for (int i = 0; i < VOCAB; i++) sum += expf(x[i] - most);
    return most + logf(sum);
}

static void z_forward(const tfn_custom_args *a)            /* y = (log Z)^2, Z = sum exp x */
{
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const float z = log_sum_exp(a->x[0] + r*VOCAB);
        a->y[r] = z * z;
    }
}

static void z_backward(const tfn_custom_args *a)           /* dy/dx = 2 log Z softmax(x) */
{
    for (ptrdiff_t i = 0; i < a->rows * VOCAB; i++) {
        const float z = log_sum_exp(a->x[0] + i / VOCAB * VOCAB);
        const float dx = a->dy[i / VOCAB] * 2 * z * expf(a->x[0][i] - z);
        a->dx[0][i] = a->add[0] ? a->dx[0][i] + dx : dx;
    }
}

static tfn_var own_loss(void *user, tfn_tape *t, tfn_var logits)
{
    static const tfn_custom_op z = { "z-loss", z_forward, z_backward, NULL };
    tfn_var nll = tfn_cross_entropy(t, logits, TFN_INT_TARGETS, 0, 0);
    (void)user;
    t->custom = &z;
    t->customs = 1;
    return tfn_add(t, nll, tfn_custom(t, 0, &logits, 1, TFN_ROWS_TARGET, 0, 1), 1, 1e-4f);
}

/* The tasks: N - 1 digits, the task's sign, then the digits copied or reversed. */
static tfn_batch fill(int32_t *tokens, int32_t *targets, tfn_key key, int task)
{
    for (uint64_t b = 0; b < B; b++, tokens += T, targets += T) {
        int32_t row[T + 1] = { 0 };
        for (uint64_t i = 0; i < N - 1; i++)
            row[i] = (int32_t)(tfn_random_bits(key, b*T + i) % 10);
        row[N - 1] = task ? REVERSE : COPY;
        for (int i = 0; i < N - 1; i++) row[N + i] = task ? row[N - 2 - i] : row[i];
        for (int i = 0; i < T; i++) {
            tokens[i] = row[i];
            targets[i] = i >= N - 1 && i < T - 2 ? row[i + 1] : -1;
        }
    }
    return (tfn_batch){ .tokens = tokens - B*T, .targets = targets - B*T, .batch = B, .time = T };
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* Store in g the sum of both gradients; if ab < 0, of a - (ab/bb) b and b - (ab/aa) a. */
static bool surgery(float *g, const float *a, const float *b, int64_t n)
{
    const double ab = dot(a, b, n);
    const double of_a = ab < 0 ? 1 - ab/dot(a, a, n) : 1, of_b = ab < 0 ? 1 - ab/dot(b, b, n) : 1;
    for (int64_t i = 0; i < n; i++) g[i] = (float)(of_a*a[i] + of_b*b[i]);
    return ab < 0;
}

int main(void)
{
    static int32_t tokens[B*T], targets[B*T];
    tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = B, .loss = own_loss };
    tfn_model model;
    if (tfn_model_new(&model, &desc, NULL) != TFN_OK) return 1;
    int64_t n, conflicts = 0;
    float *g = tfn_model_gradients(&model, &n);
    float *each = malloc(TASKS * (size_t)n * sizeof *g);

    for (int step = 0; step < UPDATES; step++) {
        tfn_sums sums[TASKS];
        for (int k = 0; k < TASKS; k++) {                  /* a gradient for each task */
            tfn_batch batch = fill(tokens, targets, tfn_key_make((uint64_t)(step*TASKS + k)), k);
            if (tfn_model_gradient(&model, &batch, k, false, &sums[k]) != TFN_OK) return 1;
            memcpy(each + k*n, g, (size_t)n * sizeof *g);
        }
        conflicts += surgery(g, each, each + n, n);
        tfn_sums both = { sums[0].loss + sums[1].loss, sums[0].nll + sums[1].nll,
                          sums[0].targets + sums[1].targets };
        float rate = 3e-3f * fminf(1, (step + 1) / 40.0f);      /* your own schedule */
        if (tfn_model_update(&model, &both, rate, NULL) != TFN_OK) return 1;
        if (step % 20 == 0 || step == UPDATES - 1)
            printf("update %3d  copy %.3f  reverse %.3f\n", step + 1,
                   sums[0].loss / (double)sums[0].targets, sums[1].loss / (double)sums[1].targets);
    }
    printf("%d of %d updates had gradients against each other\n", (int)conflicts, UPDATES);
}
