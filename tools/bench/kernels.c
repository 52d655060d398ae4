/* Our kernels next to PyTorch's. */
#include "kernels.h"
#include "contest.h"
#include "peer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct arrays {
    const tfn_kernels *k;
    float *x, *y, *dx, *dy, *gain, *bias, *dgain, *dbias;
    float *mean, *rstd;                 /* adjacent: a kernel may use both as one array */
    float *alpha, *dalpha, *running, *next;
    ptrdiff_t rows, cols;
} arrays;

static tfn_norm_args norm_of(const arrays *a, tfn_norm_kind kind)
{
    tfn_norm_args n;
    memset(&n, 0, sizeof n);
    n.kind = kind;
    n.y = a->y;
    n.mean = a->mean;
    n.rstd = a->rstd;
    n.x = a->x;
    n.gain = a->gain;
    if (kind == TFN_NORM_LAYER) n.bias = a->bias;
    n.dx = a->dx;
    n.dgain = a->dgain;
    n.dbias = a->dbias;
    n.dy = a->dy;
    n.rows = a->rows;
    n.cols = a->cols;
    n.eps = 1e-5f;
    return n;
}
static void layernorm_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_norm_args n = norm_of(a, TFN_NORM_LAYER);
    a->k->norm_forward(&n);
}
static void layernorm_backward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_norm_args n = norm_of(a, TFN_NORM_LAYER);
    a->k->norm_backward(&n);
    a->k->norm_params_backward(&n, 0, n.cols);
}
static void rmsnorm_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_norm_args n = norm_of(a, TFN_NORM_RMS);
    a->k->norm_forward(&n);
}
static tfn_point_args dyt_of(const arrays *a)
{
    tfn_point_args n;
    memset(&n, 0, sizeof n);
    n.squash = TFN_SQUASH_TANH;
    n.y = a->y;
    n.x = a->x;
    n.alpha = a->alpha;
    n.gain = a->gain;
    n.bias = a->bias;
    n.dx = a->dx;
    n.dalpha = a->dalpha;
    n.dgain = a->dgain;
    n.dbias = a->dbias;
    n.dy = a->dy;
    n.rows = a->rows;
    n.cols = a->cols;
    return n;
}
static void dyt_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_point_args n = dyt_of(a);
    tfn_point_forward(a->k, &n);
}
static void dyt_backward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_point_args n = dyt_of(a);
    tfn_point_backward(a->k, &n);
    tfn_point_params_backward(a->k, &n);
}
static tfn_seed_args seednorm_of(const arrays *a)
{
    tfn_seed_args n;
    memset(&n, 0, sizeof n);
    n.y = a->y;
    n.stats = a->mean;
    n.x = a->x;
    n.gain = a->gain;
    n.alpha = a->alpha;
    n.direction = a->bias;
    n.dx = a->dx;
    n.dgain = a->dgain;
    n.dalpha = a->dalpha;
    n.ddirection = a->dbias;
    n.dy = a->dy;
    n.rows = a->rows;
    n.cols = a->cols;
    n.eps = 1e-5f;
    return n;
}
static void seednorm_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_seed_args n = seednorm_of(a);
    tfn_seed_forward(a->k, &n);
}
static void seednorm_backward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_seed_args n = seednorm_of(a);
    tfn_seed_backward(&n);
    tfn_seed_params_backward(&n);
}
/* BatchNorm over one sentence */
static tfn_columns_args batchnorm_of(const arrays *a)
{
    tfn_columns_args n;
    memset(&n, 0, sizeof n);
    n.kind = TFN_NORM_BATCH;
    n.y = a->y;
    n.next = a->next;
    n.stats = a->mean;
    n.x = a->x;
    n.gain = a->gain;
    n.bias = a->bias;
    n.running = a->running;
    n.dx = a->dx;
    n.dgain = a->dgain;
    n.dbias = a->dbias;
    n.dy = a->dy;
    n.batch = 1;
    n.time = a->rows;
    n.cols = a->cols;
    n.eps = 1e-5f;
    n.training = true;
    return n;
}
static void batchnorm_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_columns_args n = batchnorm_of(a);
    tfn_columns_forward(&n, 0, n.cols);
}
static void batchnorm_backward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_columns_args n = batchnorm_of(a);
    tfn_columns_backward(&n, 0, n.cols);
}
static void softmax_forward(void *p)
{
    arrays *a = (arrays *)p;
    a->k->softmax_forward(a->y, a->x, a->rows, a->cols);
}
static void gelu_forward(void *p)
{
    arrays *a = (arrays *)p;
    a->k->activation_forward(a->y, a->x, a->rows * a->cols, TFN_ACTIVATION_GELU_TANH);
}
static void gelu_backward(void *p)
{
    arrays *a = (arrays *)p;
    a->k->activation_backward(a->dx, a->dy, a->x, a->rows * a->cols, TFN_ACTIVATION_GELU_TANH,
                              false);
}
static void dropout(void *p)
{
    arrays *a = (arrays *)p;
    a->k->dropout(a->y, a->x, a->rows * a->cols, 0.1f, tfn_key_make(1), 0, false);
}
static void adamw(void *p)
{
    arrays *a = (arrays *)p;
    tfn_update_args u;
    memset(&u, 0, sizeof u);
    u.optimizer = TFN_OPTIMIZER_ADAMW;
    u.lr = u.step_size = 1e-4f;
    u.beta1 = 0.9f;
    u.beta2 = 0.98f;
    u.eps = 1e-8f;
    u.decay = 0.01f;
    u.grad_scale = u.root = 1;
    a->k->update(a->x, a->dy, a->y, a->dx, a->rows * a->cols, &u);
}

typedef struct kernel_job { arrays a; job_fn *run; const char *asked; int calls; } kernel_job;
static double our_kernel(void *p)
{
    kernel_job *j = (kernel_job *)p;
    return time_job(j->run, &j->a, &j->calls);
}
static double their_kernel(void *p, peer *rival)
{
    kernel_job *j = (kernel_job *)p;
    char line[120];
    if (!j->asked) return -1;
    snprintf(line, sizeof line, "kernel %s %ld %ld %d", j->asked, (long)j->a.rows, (long)j->a.cols,
             j->calls / 4 + 1);
    return peer_ask(rival, line);
}

/* Cuts a block of 4*rows*cols + 12*WIDEST floats into arrays. */
enum { WIDEST = 1024 };
static arrays arrays_in(float *all, const tfn_kernels *k, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t n = rows * cols;
    float *small = all + 4*n;
    arrays a = { k, all, all + n, all + 2*n, all + 3*n, small, small + WIDEST, small + 2*WIDEST,
                 small + 3*WIDEST, small + 4*WIDEST, small + 5*WIDEST, small + 6*WIDEST,
                 small + 7*WIDEST, small + 8*WIDEST, small + 10*WIDEST, rows, cols };
    for (ptrdiff_t i = 0; i < n; i++) a.dx[i] += 1;     /* second moments are positive */
    return a;
}

/* Fills what the backward reads. */
static void run_forwards(arrays *a, job_fn *run)
{
    if (run == seednorm_backward) seednorm_forward(a);
    else if (run == batchnorm_backward) batchnorm_forward(a);
    else layernorm_forward(a);
}

void bench_kernels(const tfn_kernels *k)
{
    static const struct { const char *name, *asked; job_fn *run; int bytes; } jobs[] = {
        { "layernorm forward", "layernorm_forward", layernorm_forward, 8 },
        { "layernorm backward", "layernorm_backward", layernorm_backward, 12 },
        { "rmsnorm forward", NULL, rmsnorm_forward, 8 },
        { "dyt forward", NULL, dyt_forward, 8 }, { "dyt backward", NULL, dyt_backward, 12 },
        { "seednorm forward", NULL, seednorm_forward, 8 },
        { "seednorm backward", NULL, seednorm_backward, 12 },
        { "batchnorm forward", NULL, batchnorm_forward, 8 },
        { "batchnorm backward", NULL, batchnorm_backward, 12 },
        { "softmax forward", "softmax_forward", softmax_forward, 8 },
        { "gelu tanh forward", "gelu_tanh_forward", gelu_forward, 8 },
        { "gelu tanh backward", "gelu_tanh_backward", gelu_backward, 12 },
        { "dropout", NULL, dropout, 8 }, { "adamw", "adamw", adamw, 28 }
    };
    static const int sizes[][2] = { { 64, 64 }, { 1024, 768 } };
    peer peers[PEERS];
    const int count = torch_peers(peers);
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
        for (int s = 0; s < 2; s++) {
            const ptrdiff_t rows = sizes[s][0];
            const ptrdiff_t cols = sizes[s][1];
            const ptrdiff_t n = rows * cols;
            float *all = random_floats(4*n + 12*WIDEST, 5);
            kernel_job job = { arrays_in(all, k, rows, cols), jobs[j].run, jobs[j].asked, 0 };
            contest c = { "kernels", NULL, k->name, our_kernel, their_kernel, NULL, &job,
                          (double)n * jobs[j].bytes, GBYTES, { 0 } };
            char name[64];
            snprintf(name, sizeof name, "%s %ldx%ld", jobs[j].name, (long)rows, (long)cols);
            run_forwards(&job.a, jobs[j].run);
            c.name = name;
            if (wanted(name)) compete(&c, peers, count);
            free_floats(all);
        }
}
