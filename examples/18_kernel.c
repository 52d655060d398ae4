/* cc -O2 examples/18_kernel.c -o kernel -lm && ./kernel
 * Calls kernels without a model. LayerNorm runs forward and backward on plain arrays, with each
 * instruction set of this machine; all sets with a fused multiply-add agree to the last bit. Then x
 * is multiplied by a packed matrix; here all sets agree, because they multiply integers.
 * Prints a line for each instruction set, then these lines, and a line for each type of weights:
 *     ...
 *     dx[7] 1.56348, by differences 1.56349
 *     y[0] -23.55341
 *     ... */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 33, COLS = 100, N = ROWS * COLS };
static float x[N], y[N], dx[N], dy[N], gain[COLS], bias[COLS], dgain[COLS], dbias[COLS];
static float mean[ROWS], rstd[ROWS];

/* A kernel with many arguments takes them in a struct; members that are 0 or NULL are not used. */
static tfn_norm_args layernorm_call(void)
{
    tfn_norm_args p = { 0 };
    p.kind = TFN_NORM_LAYER;
    p.y = y, p.mean = mean, p.rstd = rstd;
    p.x = x, p.gain = gain, p.bias = bias;
    p.dx = dx, p.dgain = dgain, p.dbias = dbias, p.dy = dy;
    p.rows = ROWS, p.cols = COLS;
    p.eps = 1e-5f;
    return p;
}

static void layernorm(const tfn_kernels *k)
{
    tfn_norm_args p = layernorm_call();
    k->norm_forward(&p);
    k->norm_backward(&p);
    k->norm_params_backward(&p, 0, COLS);      /* all columns; threads would share them */
}

/* sum(dy * y), the loss whose gradient is dy */
static double loss(const tfn_kernels *k)
{
    double sum = 0;
    tfn_norm_args p = layernorm_call();
    k->norm_forward(&p);
    for (int i = 0; i < N; i++) sum += (double)dy[i] * (double)y[i];
    return sum;
}

/* y = x W with W (COLS, COLS) in 8 or 4 bits. work holds the quantized rows of x. */
static void packed_product(const tfn_kernels *k, tfn_weights type, const float *w)
{
    const size_t bytes = tfn_quant_bytes(type, COLS, COLS);
    void *packed = malloc(bytes);
    float *work = malloc((size_t)tfn_quant_work(k, type, ROWS, COLS, COLS) * sizeof *work);
    tfn_quant_args p = { .c = y, .a = x, .w = packed, .type = type, .m = ROWS, .n = COLS,
                         .k = COLS, .c_ld = COLS, .a_ld = COLS, .outputs = COLS };
    tfn_quant_pack(packed, type, w, COLS, COLS, COLS, 1);
    printf("%s, %d bytes:", tfn_choice_name("weights", (int32_t)type), (int)bytes);
    for (int isa = TFN_QUANT_PLAIN; isa < TFN_QUANT_COUNT; isa++) {
        const tfn_quant_kernels *i = tfn_quant_kernels_for((tfn_quant_isa)isa);
        if (!i) continue;
        tfn_quant_product(k, i, &p, work);
        printf(" %s %.9g", i->name, y[0]);
    }
    printf("\n");
    free(work);
    free(packed);
}

int main(void)
{
    const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
    tfn_key key = tfn_key_make(1);
    for (int i = 0; i < N; i++) {
        x[i] = 3 + tfn_random_normal(key, (uint64_t)i);
        dy[i] = tfn_random_normal(key, (uint64_t)(N + i));
    }
    for (int i = 0; i < COLS; i++) gain[i] = 1, bias[i] = 0;

    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k) continue;                       /* this machine or compiler lacks it */
        layernorm(k);
        printf("%-8s mean %.6f; dx[0] %.9g; sum of y*y %.9g; bits %s\n", k->name, mean[0], dx[0],
               k->dot(y, y, N), tfn_bits(k->isa));
    }

    /* the gradient against a difference quotient */
    float kept = x[7], step = 1.0f / 64;
    x[7] = kept + step;
    double up = loss(best);
    x[7] = kept - step;
    double down = loss(best);
    x[7] = kept;
    layernorm(best);
    printf("dx[7] %.5f, by differences %.5f\n", dx[7], (up - down) / (2 * (double)step));

    static float w[COLS * COLS];
    double exact = 0;
    for (int i = 0; i < COLS * COLS; i++) w[i] = tfn_random_normal(key, (uint64_t)(2*N + i));
    for (int i = 0; i < COLS; i++) exact += (double)x[i] * (double)w[i * COLS];
    printf("y[0] %.5f\n", exact);
    packed_product(best, TFN_WEIGHTS_Q8, w);
    packed_product(best, TFN_WEIGHTS_Q4, w);
    return 0;
}
