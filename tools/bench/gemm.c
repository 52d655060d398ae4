/* Products in training's three orders, and the table of classes. */
#include "gemm.h"
#include "contest.h"
#include "option.h"
#include "peak.h"
#include "peer.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct product {
    const tfn_kernels *k;
    tfn_matmul_args p;
    bool ta, tb;
    float *work;
    int calls;
    const peer *rival;
} product;

double fma_limit(void *job) { return peak((*(const tfn_kernels **)job)->isa); }
static void run_product(void *job)
{
    product *j = (product *)job;
    if (j->rival) peer_gemm(j->rival, j->ta, j->tb, (int)j->p.m, (int)j->p.n, (int)j->p.k, j->p.a,
                            j->p.b, j->p.c);
    else j->k->matmul(&j->p, j->work);
}
static double our_product(void *job)
{
    ((product *)job)->rival = NULL;
    return time_job(run_product, job, &((product *)job)->calls);
}
static double their_product(void *job, peer *p)
{
    ((product *)job)->rival = p;
    return time_job(run_product, job, &((product *)job)->calls);
}

/* x (M, K) times W (K, N) and the two products of its backward. */
static outcome bench_product(const tfn_kernels *k, int layout, ptrdiff_t M, ptrdiff_t K,
                             ptrdiff_t N, peer *peers, int count)
{
    static const char *const names[] = { "NN", "NT", "TN" };
    const ptrdiff_t rows[] = { M, M, K };       /* y = x W, dx = dy W^T, dW = x^T dy */
    const ptrdiff_t cols[] = { N, K, N };
    const ptrdiff_t depths[] = { K, N, M };
    const ptrdiff_t m = rows[layout];
    const ptrdiff_t n = cols[layout];
    const ptrdiff_t depth = depths[layout];
    float *a = random_floats(m * depth, 1);
    float *b = random_floats(depth * n, 2);
    float *c = random_floats(m * n, 3);
    float *work = random_floats(k->matmul_work(m, n, depth) + 1, 4);
    tfn_matmul_args p = { c, NULL, a, b, m, n, depth, n, 0, depth, 1, n, 1 };
    product job;
    contest x = { "gemm", NULL, k->name, our_product, their_product, fma_limit, NULL, 0,
                  GFLOPS, { 0 } };
    char name[64];
    outcome o;
    memset(&job, 0, sizeof job);
    job.ta = layout == 2;
    job.tb = layout == 1;
    if (job.ta) {
        p.a_row = 1;
        p.a_col = m;
    }
    if (job.tb) {
        p.b_row = 1;
        p.b_col = depth;
    }
    job.k = k;
    job.p = p;
    job.work = work;
    snprintf(name, sizeof name, "%s %ldx%ldx%ld", names[layout], (long)m, (long)n, (long)depth);
    x.name = name;
    x.job = &job;
    x.amount = 2.0 * (double)m * (double)n * (double)depth;
    o = compete(&x, peers, count);
    free_floats(a);
    free_floats(b);
    free_floats(c);
    free_floats(work);
    return o;
}

/* Classes of shapes, and the geometric means of their percentages: ours, then the peers'. */
enum { CLASSES = 12 };
static const char *const classes[CLASSES] = {
    "squares 32-128", "squares 192-512", "squares 768-2048", "M=1, W < 1 MiB", "M=1, larger",
    "M=8, W < 1 MiB", "M=8, larger", "M=64, W < 1 MiB", "M=64, larger", "M=256-1024, W < 1 MiB",
    "M=256-1024, larger", "head 768x50257"
};
static int class_of(int M, int K, int N)
{
    const int large = (double)K * N * 4 >= 1 << 20;
    if (M == K && K == N) return (M > 128) + (M > 512);
    if (N == 50257) return 11;
    if (M == 1) return 3 + large;
    if (M == 8) return 5 + large;
    if (M == 64) return 7 + large;
    return 9 + large;
}
typedef struct tally { int n; double log[1 + PEERS]; } tally;

static void gemm_shape(const tfn_kernels *k, tally t[CLASSES][3], int M, int K, int N, peer *peers,
                       int count)
{
    char name[64];
    snprintf(name, sizeof name, "%dx%dx%d", M, K, N);
    if (!wanted(name)) return;
    for (int layout = 0; layout < 3; layout++) {
        outcome o = bench_product(k, layout, M, K, N, peers, count);
        tally *s = &t[class_of(M, K, N)][layout];
        s->n++;
        s->log[0] += log(o.part);
        for (int p = 0; p < count; p++) s->log[1 + p] += log(o.part * o.seconds / o.theirs[p]);
    }
}

void bench_gemm(const tfn_kernels *k)
{
    static const int squares[] = { 32, 64, 128, 256, 512, 1024, 96, 192, 384, 768, 2048 };
    static const int weights[][2] = {
        { 384, 384 }, { 384, 1536 }, { 64, 64 }, { 64, 256 }, { 128, 512 }, { 256, 1024 },
        { 512, 512 }, { 512, 2048 }, { 768, 768 }, { 768, 3072 }, { 768, 50257 }
    };
    static const int tokens[] = { 1, 8, 64, 256, 1024 };
    tally t[CLASSES][3];
    peer peers[PEERS];
    int count = 0;
    int shapes = 11;
    int first = 2;                              /* shapes of weights; with --quick a small one */
    int last = 11;
    if (option.quick) {
        shapes = 6;
        first = 1;
        last = 2;
    }
    if (option.peers && k == tfn_kernels_for(option.isa))
        count = peers_blas(peers, k->isa == TFN_ISA_AVX512);
    memset(t, 0, sizeof t);
    for (int i = 0; i < shapes; i++)
        gemm_shape(k, t, squares[i], squares[i], squares[i], peers, count);
    for (int w = first; w < last; w++)
        for (int m = 0; m < 5; m++)
            if (weights[w][1] < 50000 || tokens[m] == 64 || tokens[m] == 256)
                gemm_shape(k, t, tokens[m], weights[w][0], weights[w][1], peers, count);
    if (option.json) return;
    printf("\n%s, per cent of the FMA limit, geometric means NN / NT / TN: ours", k->name);
    for (int p = 0; p < count; p++) printf(", %s", peers[p].name);
    for (int c = 0; c < CLASSES; c++) {
        if (!t[c][0].n) continue;
        printf("\n%-22s", classes[c]);
        for (int p = 0; p <= count; p++) {
            if (p) printf("   ");
            for (int l = 0; l < 3; l++) {
                if (l) printf(" /");
                printf("%5.1f", 100 * exp(t[c][l].log[p] / t[c][l].n));
            }
        }
    }
    printf("\n");
}
