/* Our attention next to PyTorch's. */
#include "attention.h"
#include "contest.h"
#include "gemm.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct attention_job {
    const tfn_kernels *k;
    tfn_attention_args p;
    float *work;
    int calls;
    bool backward;
} attention_job;
static void run_attention(void *job)
{
    attention_job *j = (attention_job *)job;
    const ptrdiff_t heads = j->p.batch * j->p.kv_heads;
    if (j->backward) j->k->attention_backward(&j->p, 0, heads, j->work);
    else j->k->attention_forward(&j->p, 0, heads, j->work);
}
static double our_attention(void *job)
{
    return time_job(run_attention, job, &((attention_job *)job)->calls);
}

void bench_attention(const tfn_kernels *k)
{
    static const int shapes[][4] = {              /* batch, tokens, heads, head size */
        { 16, 32, 4, 16 }, { 16, 64, 4, 32 }, { 8, 128, 6, 64 }, { 4, 256, 12, 64 },
        { 1, 1024, 12, 64 }, { 1, 1024, 16, 128 }
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int back = 0; back < 2; back++) {
            const int t = shapes[i][1];
            const int h = shapes[i][2];
            const int d = shapes[i][3];
            const ptrdiff_t n = (ptrdiff_t)shapes[i][0] * t * h * d;
            float *all = random_floats(8*n + 2*(ptrdiff_t)shapes[i][0]*h*t, 6);
            attention_job job;
            contest c = { "attention", NULL, k->name, our_attention, NULL, fma_limit, &job, 0,
                          GFLOPS, { 0 } };
            char name[64];
            memset(&job, 0, sizeof job);
            job.k = k;
            job.backward = back != 0;
            job.p.y = all;
            job.p.q = all + n;
            job.p.k = all + 2*n;
            job.p.v = all + 3*n;
            job.p.dq = all + 4*n;
            job.p.dk = all + 5*n;
            job.p.dv = all + 6*n;
            job.p.dy = all + 7*n;
            job.p.stats = all + 8*n;
            job.p.batch = shapes[i][0];
            job.p.tq = job.p.tk = t;
            job.p.heads = job.p.kv_heads = h;
            job.p.head_size = d;
            job.p.q_ld = job.p.k_ld = job.p.v_ld = job.p.y_ld = (ptrdiff_t)h * d;
            job.p.scale = 1 / sqrtf((float)d);
            job.p.causal = true;
            job.work = random_floats(k->attention_work(t, t, d) + 16, 7);
            snprintf(name, sizeof name, "%s B=%d T=%d h=%d D=%d", back ? "backward" : "forward",
                     shapes[i][0], t, h, d);
            c.name = name;
            c.amount = 2.0 * (double)n * (t + 1);       /* two products forward, five backward */
            if (back) c.amount = 5.0 * (double)n * (t + 1);
            run_attention(&job);
            if (back) {
                job.backward = false;
                run_attention(&job);
                job.backward = true;
            }
            if (wanted(name)) compete(&c, NULL, 0);
            free_floats(all);
            free_floats(job.work);
        }
}
