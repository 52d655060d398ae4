/* make -C tools && taskset -c 0 tools/bin/bench train
 *
 * Speed and memory on this machine, next to what else is installed here.
 *     bench peak        fused multiply-adds and bytes a second: the processor's limits
 *     bench gemm        matrix products; per cent of the FMA limit; OpenBLAS, oneDNN
 *     bench train       a training step: forward, backward, AdamW; PyTorch
 *     bench decode      a token, batch 1; per cent of the memory limit; prefill; PyTorch
 *     bench quant       the same with weights of 8, 4 and 16 bits, per cent of the limit of their
 *                       bytes; LoRA; PyTorch's dynamic int8; tools/decoders.h: --ggml DIR, with
 *                       ggml's examples gpt-2-alloc, gpt-2-quantize; --runq FILE, of llama2.c
 *     bench kernels     norms, softmax, activations, optimizer; PyTorch
 *     bench attention   forward and backward, causal
 *     bench threads     two threads, alone and with a busy neighbour; are the bits the same?
 *     bench memory      bytes of a training step
 *     bench growth      tokens a second against width, depth, length, batch
 *     bench data        BPE, batching, beam search; PyTorch, and are the sentences the same?
 *     bench learn FILE  loss of held-out text after --minutes of training, three seeds (else after
 *                       what PyTorch takes for nanoGPT's model for a CPU); tools/learn.h says more
 *     bench denormals   denormal numbers in 250 updates of every recipe at a high rate; their time
 *                       with and without the processor's flushing, nine pairs in turn: the ratio is
 *                       the median. --counts: no times; tools/denormals.h says what is counted
 * train, decode, quant and memory take models by name (tiny small medium gpt2 encdec) or by value:
 *     bench train L=4,d=96,h=3,ff=384,T=40,B=12,V=300
 * data takes one so, too, and a FILE of text instead of a generated one.
 * Limits, ours and the peers are measured in turn, --rounds times (7): times are medians, a ratio
 * (peer / ours) is the lower quartile of the rounds' ratios. It is the thread's processor time: pin
 * it to a core (taskset -c 0). PyTorch is run by tools/peers/torch_peer.py, as installed and tuned
 * (OPENBLAS_CORETYPE, ATEN_CPU_CAPABILITY); TFN_PYTHON names another Python than /usr/bin/python3.
 * --isa NAME, --threads N, --only WORD picks rows, --no-peers, --quick, --json: an object a row. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "threads.h"
#include "cli.h"
#include "peer.h"
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include "data.h"
#include "decoders.h"
#include "denormals.h"
#include "learn.h"
#include <time.h>
#if defined __unix__ || defined __APPLE__
#include <sys/wait.h>
#endif

static const char usage[] =
    "bench peak | gemm | train | decode | kernels | attention | threads | memory | growth [MODEL]\n"
    "bench quant [--ggml DIR] [--runq FILE] [MODEL]\n"
    "bench data [FILE] [MODEL]\n"
    "bench learn FILE [--minutes M]\n"
    "bench denormals [--counts] [MODEL]\n"
    "      [--isa NAME] [--threads N] [--only WORD] [--rounds N] [--no-peers] [--quick] [--json]\n"
    "MODEL: tiny small medium gpt2 encdec, or by value: L=4,d=96,h=3,ff=384,T=40,B=12,V=300\n"
    "Pin it to a core, taskset -c 0 bench train, except for threads.\n";

enum { ROUNDS = 31 };
static struct {
    tfn_isa isa;
    int threads, rounds;
    bool json, quick, peers, counts;
    const char *only;
    const char *ggml, *runq;             /* programs of others, for bench quant */
    double minutes;                      /* of bench learn; 0: not given */
    char script[300];                    /* of PyTorch, beside this program's folder */
    char tfn[300];                       /* the program beside this one */
} option;

/* -- time ---------------------------------------------------------------------------------- */

static double now(void)
{
#if defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
    struct timespec t;
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    if (option.threads > 1) clock = CLOCK_MONOTONIC;    /* one thread's time is not that of all */
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

/* Seconds a call: of so many that the clock's grain is nothing; *calls 0: find out how many. */
typedef void job_fn(void *context);
static double time_job(job_fn *job, void *context, int *calls)
{
    const bool known = *calls > 0;
    double least = 0.01;
    double start, once;
    if (option.quick) least = 0.002;
    if (!known) *calls = 1;
    for (int n = *calls; ; n *= 2) {
        start = now();
        for (int i = 0; i < n; i++) job(context);
        once = now() - start;
        if (!known && once < least && n < 1 << 24) continue;
        *calls = n;
        return once / n;
    }
}

/* -- the limit: independent chains of fused multiply-adds in registers. None begins at 2, which
 * v/2 + 1 leaves as it is: a compiler would see that. -- */

#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK(name, attribute, vector, set, fma, get, lanes)                                     \
    attribute static double name(long rounds)                                                   \
    {                                                                                           \
        vector m = set(0.5f);                                                                   \
        vector a = set(1.0f);                                                                   \
        volatile float keep;                                                                    \
        double start = now();                                                                   \
        PEAK_TWELVE(vector, set)                                                                \
        for (long i = 0; i < rounds; i++) { PEAK_STEP(fma) }                                    \
        keep = get(v0) + get(v1) + get(v2) + get(v3) + get(v4) + get(v5) + get(v6) + get(v7)    \
             + get(v8) + get(v9) + get(v10) + get(v11);                                         \
        (void)keep;                                                                             \
        return 2.0 * 12 * lanes * (double)rounds / (now() - start);                             \
    }
#define PEAK_TWELVE(vector, set)                                                                \
    vector v0 = set(3), v1 = set(4), v2 = set(5), v3 = set(6), v4 = set(7), v5 = set(8),        \
           v6 = set(9), v7 = set(10), v8 = set(11), v9 = set(12), v10 = set(13), v11 = set(14);
#define PEAK_FMA(fma, v) v = fma(v, m, a);
#define PEAK_STEP(fma)                                                                          \
    PEAK_FMA(fma, v0) PEAK_FMA(fma, v1) PEAK_FMA(fma, v2) PEAK_FMA(fma, v3)                     \
    PEAK_FMA(fma, v4) PEAK_FMA(fma, v5) PEAK_FMA(fma, v6) PEAK_FMA(fma, v7)                     \
    PEAK_FMA(fma, v8) PEAK_FMA(fma, v9) PEAK_FMA(fma, v10) PEAK_FMA(fma, v11)

#if defined __x86_64__ && (defined __GNUC__ || defined __clang__)
#include <immintrin.h>
#define TARGET(t) __attribute__((target(t), noinline))
#define MULTIPLY_ADD(v, m, a) _mm_add_ps(_mm_mul_ps(v, m), a)
PEAK(peak_sse2, TARGET("sse2"), __m128, _mm_set1_ps, MULTIPLY_ADD, _mm_cvtss_f32, 4)
PEAK(peak_fma128, TARGET("avx,fma"), __m128, _mm_set1_ps, _mm_fmadd_ps, _mm_cvtss_f32, 4)
#ifndef __MINGW32__
PEAK(peak_avx2, TARGET("avx2,fma"), __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32, 8)
PEAK(peak_avx512, TARGET("avx512f"), __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32,
     16)
#endif
#elif defined __aarch64__
#include <arm_neon.h>
#define NEON_FMA(v, m, a) vfmaq_f32(a, v, m)
#define NEON_GET(v) vgetq_lane_f32(v, 0)
PEAK(peak_neon, __attribute__((noinline)), float32x4_t, vdupq_n_f32, NEON_FMA, NEON_GET, 4)
#endif
#define SCALAR_SET(x) (x)
#define SCALAR_FMA(v, m, a) ((v) * (m) + (a))
PEAK(peak_plain, , float, SCALAR_SET, SCALAR_FMA, SCALAR_SET, 1)

/* Operations a second; a burst of about 20 ms. */
static double peak(tfn_isa isa)
{
    double (*run)(long) = peak_plain, v[3];
    long rounds = 1 << 12;
#if defined __x86_64__ && (defined __GNUC__ || defined __clang__)
    if (isa == TFN_ISA_SSE2) run = peak_sse2;
    if (isa == TFN_ISA_FMA128) run = peak_fma128;
#ifndef __MINGW32__
    if (isa == TFN_ISA_AVX2) run = peak_avx2;
    if (isa == TFN_ISA_AVX512) run = peak_avx512;
#endif
#elif defined __aarch64__
    if (isa == TFN_ISA_NEON) run = peak_neon;
#endif
    for (int s = 0; s < 3;) {
        double start = now();
        double speed = run(rounds);
        if (now() - start < 0.005) rounds *= 2;
        else v[s++] = speed;
    }
    return median(v, 3);
}

/* -- rows: ours, the limit and the peers in turn ---------------------------------------------- */

/* What is counted a second, and its key in JSON. */
static const struct { const char *name, *key; double scale; } units[] = {
    { "GFLOP/s", "gflops", 1e-9 }, { "GB/s", "gbytes", 1e-9 }, { "MB/s", "mbytes", 1e-6 },
    { "sentences/s", "sentences", 1 }
};
enum { GFLOPS, GBYTES, MBYTES, SENTENCES };

typedef struct contest {
    const char *bench, *name, *isa;
    double (*ours)(void *job);                    /* seconds */
    double (*theirs)(void *job, peer *p);         /* NULL: nobody's; < 0: no answer */
    double (*limit)(void *job);                   /* amounts a second that are possible, or NULL */
    void   *job;
    double  amount;                               /* of operations, bytes, sentences */
    int     unit;
    struct {                                      /* one more number, if it has a text */
        const char *text, *key;
        double amount;                            /* a second, or times the seconds */
        bool   times;
    } more;
} contest;

/* What a contest found: medians, and for every peer the lower quartile of theirs / ours. */
typedef struct outcome { double seconds, part, theirs[PEERS], ratio[PEERS]; } outcome;

static bool wanted(const char *name) { return !option.only || strstr(name, option.only); }

/* A line for people: time, rate, share of the limit, then each peer's time over ours. */
static void print_line(const contest *c, const outcome *o, const peer *peers, int count,
                       double rate, double more)
{
    printf("%-7s %-30s %11.2f us %8.4g %s", c->isa, c->name, o->seconds * 1e6, rate,
           units[c->unit].name);
    if (c->more.text) printf("   %.4g %s", more, c->more.text);
    if (o->part > 0) printf(" %5.1f %%", 100 * o->part);
    for (int i = 0; i < count; i++)
        if (o->theirs[i] > 0) printf("   %s %.2fx", peers[i].name, o->ratio[i]);
    printf("\n");
}

/* A line of JSON for programs; p NULL: no peer answered. */
static void print_json(const contest *c, const outcome *o, const peer *p, int i, double rate,
                       double more)
{
    printf("{\"bench\":\"%s\",\"name\":\"%s\",\"isa\":\"%s\",\"threads\":%d,\"rounds\":%d,"
           "\"ms\":%.6g", c->bench, c->name, c->isa, option.threads, option.rounds,
           o->seconds * 1e3);
    printf(",\"%s\":%.6g", units[c->unit].key, rate);
    if (c->more.text) printf(",\"%s\":%.6g", c->more.key, more);
    if (o->part > 0) printf(",\"percent\":%.1f", 100 * o->part);
    if (p)
        printf(",\"peer\":\"%s\",\"peer_ms\":%.6g,\"ratio\":%.3f", p->name, o->theirs[i] * 1e3,
               o->ratio[i]);
    else printf(",\"peer\":null,\"ratio\":null");
    printf("}\n");
}

/* One line, or one of JSON for each peer. */
static void print_outcome(const contest *c, const outcome *o, const peer *peers, int count)
{
    const double rate = c->amount / o->seconds * units[c->unit].scale;
    double more = c->more.amount / o->seconds;
    if (c->more.times) more = c->more.amount * o->seconds;
    if (!option.json) print_line(c, o, peers, count, rate, more);
    else if (!count) print_json(c, o, NULL, 0, rate, more);
    else for (int i = 0; i < count; i++) {
        const peer *answered = NULL;
        if (o->theirs[i] > 0) answered = peers + i;
        print_json(c, o, answered, i, rate, more);
    }
    if (!output_flush()) exit(1);
}

static outcome compete(const contest *c, peer *peers, int count)
{
    double ours[ROUNDS], part[ROUNDS], theirs[PEERS][ROUNDS], ratio[PEERS][ROUNDS];
    outcome o;
    if (!c->theirs) count = 0;
    memset(&o, 0, sizeof o);
    c->ours(c->job);
    for (int p = 0; p < count; p++) c->theirs(c->job, &peers[p]);
    for (int r = 0; r < option.rounds; r++) {
        double limit = 0;
        if (c->limit) limit = c->limit(c->job);
        ours[r] = c->ours(c->job);
        part[r] = 0;
        if (limit > 0) part[r] = c->amount / ours[r] / limit;
        for (int p = 0; p < count; p++) {
            theirs[p][r] = c->theirs(c->job, &peers[p]);
            ratio[p][r] = theirs[p][r] / ours[r];
        }
    }
    o.seconds = median(ours, option.rounds);
    o.part = median(part, option.rounds);
    for (int p = 0; p < count; p++) {
        o.theirs[p] = median(theirs[p], option.rounds);
        median(ratio[p], option.rounds);
        o.ratio[p] = ratio[p][option.rounds / 4];
    }
    print_outcome(c, &o, peers, count);
    return o;
}

static void fail(const char *what, const char *error)
{
    fprintf(stderr, "bench: %s: %s\n", what, error);
    exit(1);
}
static void must_be_ok(const char *what, const tfn_error *e)
{
    char text[200];
    if (e->status != TFN_OK) fail(what, tfn_error_text(e, text, sizeof text));
}
static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return p;
}
/* On a cache line, as a model's arrays are, and PyTorch's; what malloc gave stands before them. */
static float *random_floats(ptrdiff_t n, uint64_t seed)
{
    char *all = (char *)need(malloc((size_t)n * sizeof(float) + sizeof all + 64));
    float *p = (float *)(all + 64 - ((uintptr_t)all + sizeof all) % 64 + sizeof all);
    memcpy((char *)p - sizeof all, &all, sizeof all);
    for (ptrdiff_t i = 0; i < n; i++)
        p[i] = tfn_random_uniform(tfn_key_make(seed), (uint64_t)i) - 0.5f;
    return p;
}
static void free_floats(float *p)
{
    void *all;
    memcpy(&all, (char *)p - sizeof all, sizeof all);
    free(all);
}

/* Reading n bytes, all 1: the C library looks for a 2, with vectors and in several chains. */
typedef struct reading { unsigned char *x; size_t n; int calls; } reading;
static void run_reading(void *job)
{
    const reading *r = (const reading *)job;
    const void *volatile found = memchr(r->x, 2, r->n);
    (void)found;
}
static double our_reading(void *job)
{
    return time_job(run_reading, job, &((reading *)job)->calls);
}
static reading reading_of(size_t n)
{
    reading r = { (unsigned char *)need(malloc(n)), n, 0 };
    memset(r.x, 1, n);
    return r;
}
static double our_multiply_adds(void *job) { return 1e9 / peak(*(const tfn_isa *)job); }

static void bench_peak(const tfn_kernels *k)
{
    static const struct { const char *name; size_t bytes; } levels[] = {
        { "read 16 KiB", 16 << 10 }, { "read 512 KiB", 512 << 10 }, { "read 8 MiB", 8 << 20 },
        { "read 512 MiB", (size_t)512 << 20 }
    };
    tfn_isa isa = k->isa;
    contest c = { "peak", "10^9 operations", k->name, our_multiply_adds, NULL, NULL, &isa, 1e9,
                  GFLOPS, { 0 } };
    compete(&c, NULL, 0);
    if (k != tfn_kernels_for(TFN_ISA_BEST)) return;
    for (int i = 0; i < 4; i++) {
        reading r;
        if (!wanted(levels[i].name)) continue;
        r = reading_of(levels[i].bytes);
        c.name = levels[i].name;
        c.ours = our_reading;
        c.job = &r;
        c.amount = (double)levels[i].bytes;
        c.unit = GBYTES;
        compete(&c, NULL, 0);
        free(r.x);
    }
}

/* -- gemm: y = x W (NN), dx = dy W^T (NT), dW = x^T dy (TN) --------------------------------- */

typedef struct product {
    const tfn_kernels *k;
    tfn_matmul_args p;
    bool ta, tb;
    float *work;
    int calls;
    const peer *rival;
} product;

static double fma_limit(void *job) { return peak((*(const tfn_kernels **)job)->isa); }
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

/* Classes of shapes, and the geometric means of their per cent: ours, then the peers'. */
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

static void bench_gemm(const tfn_kernels *k)
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
    int first = 2;                              /* of the weights; with --quick one small shape */
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
/* PyTorch as installed, and tuned for the instruction set in use; on one thread, as ours. */
static int torch_peers(peer *p)
{
    const bool avx512 = tfn_kernels_for(option.isa)->isa == TFN_ISA_AVX512;
    if (!option.peers || option.threads > 1) return 0;
    return peers_torch(p, option.script, avx512);
}

/* -- kernels -------------------------------------------------------------------------------- */

typedef struct arrays {
    const tfn_kernels *k;
    float *x, *y, *dx, *dy, *gain, *bias, *dgain, *dbias, *mean, *rstd;
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

static void bench_kernels(const tfn_kernels *k)
{
    static const struct { const char *name, *asked; job_fn *run; int bytes; } jobs[] = {
        { "layernorm forward", "layernorm_forward", layernorm_forward, 8 },
        { "layernorm backward", "layernorm_backward", layernorm_backward, 12 },
        { "rmsnorm forward", NULL, rmsnorm_forward, 8 },
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
            float *all = random_floats(4*n + 6*1024, 5);
            kernel_job job = { { k, all, all + n, all + 2*n, all + 3*n, all + 4*n, all + 4*n + 1024,
                                 all + 4*n + 2048, all + 4*n + 3072, all + 4*n + 4096,
                                 all + 4*n + 5120, rows, cols }, jobs[j].run, jobs[j].asked, 0 };
            contest c = { "kernels", NULL, k->name, our_kernel, their_kernel, NULL, &job,
                          (double)n * jobs[j].bytes, GBYTES, { 0 } };
            char name[64];
            snprintf(name, sizeof name, "%s %ldx%ld", jobs[j].name, (long)rows, (long)cols);
            for (ptrdiff_t i = 0; i < n; i++) job.a.dx[i] += 1;  /* a second moment is positive */
            layernorm_forward(&job.a);
            c.name = name;
            if (wanted(name)) compete(&c, peers, count);
            free_floats(all);
        }
}

/* -- attention ------------------------------------------------------------------------------ */

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

/* Operations of what a causal mask leaves; the backward has 2.5 times the forward's. */
static void bench_attention(const tfn_kernels *k)
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

/* -- whole models ----------------------------------------------------------------------------- */

/* GPT blocks: Pre-LN, GELU (tanh), learned positions, biases, tied head, AdamW; encdec has ReLU and
 * as many sentences of as many tokens on both sides. */
typedef struct shape { char name[64]; int layers, width, heads, ffn, time, batch, vocab; } shape;
static const shape shapes[] = {
    { "tiny",    2,  64,  4,  256,  32, 16,    64 }, { "small", 6, 128, 4,  512, 64, 16, 256 },
    { "medium",  6, 384,  6, 1536, 128,  8,   256 }, { "gpt2", 12, 768, 12, 3072, 64, 4, 50257 },
    { "encdec",  6, 512,  4, 1024,  16, 64,  8192 }
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static bool is_pair(const shape *s) { return !strcmp(s->name, "encdec"); }

/* "tiny" or "L=4,d=96,h=3,ff=384,T=40,B=12,V=300"; what is left out is tiny's. */
static bool parse_shape(shape *s, const char *text)
{
    for (int i = 0; i < SHAPES; i++)
        if (!strcmp(text, shapes[i].name)) {
            *s = shapes[i];
            return true;
        }
    *s = shapes[0];
    snprintf(s->name, sizeof s->name, "%s", text);
    while (*text) {
        static const char *const keys[] = { "L", "d", "h", "ff", "T", "B", "V" };
        int *const values[] = { &s->layers, &s->width, &s->heads, &s->ffn, &s->time, &s->batch,
                                &s->vocab };
        char key[8], end = 0;
        int i = 0;
        int length = 0;
        int value;
        if (sscanf(text, "%7[^=]=%d%n", key, &value, &length) != 2 || value < 1) return false;
        for (; i < 7; i++)
            if (!strcmp(keys[i], key)) break;
        if (i == 7) return false;
        *values[i] = value;
        text += length;
        end = *text;
        if (end && end != ',') return false;
        if (end) text++;
    }
    return true;
}

static tfn_model_desc desc_of(const shape *s, bool inference, int threads)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    if (is_pair(s)) {
        d.arch = TFN_ARCH_ENCODER_DECODER;
        d.activation = TFN_ACTIVATION_RELU;
    }
    d.layers = s->layers;
    d.width = s->width;
    d.heads = s->heads;
    d.ffn = s->ffn;
    d.context = s->time;
    d.batch = s->batch;
    if (inference) d.batch = 1;
    d.vocab = s->vocab;
    d.isa = option.isa;
    d.threads = threads;
    d.inference = inference;
    d.schedule.lr = 1e-4f;
    d.decay = 0.1f;
    return d;
}
static void make_model(tfn_model *m, const tfn_model_desc *d, const char *name)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return;
    fprintf(stderr, "bench: %s: %s\n", name, tfn_error_text(&m->error, text, sizeof text));
    exit(1);
}

/* Of the matrix products of a step, attention without a mask counted whole. */
static double step_operations(const shape *s)
{
    const double n = (double)s->batch * s->time;
    const double d = s->width;
    const double linear = 2*n * (4*d*d + 2*d*s->ffn);
    const double attention = 4*n * s->time * d;
    double layer = linear + attention;
    if (is_pair(s)) layer = 2*linear + 2*n * 4*d*d + 3*attention;       /* of both stacks */
    return 3 * (s->layers * layer + 2*n * d * s->vocab);
}

typedef struct train_job {
    const tfn_kernels *k;
    shape s;
    tfn_model m;
    tfn_batch batch;
    int steps;
} train_job;

/* What a model that was made trains on. */
static void train_data(train_job *j, const shape *s)
{
    const int rows = s->batch * s->time;
    int32_t *tokens = (int32_t *)need(malloc((size_t)rows * 2 * sizeof *tokens));
    j->k = j->m.kernels;
    j->s = *s;
    j->steps = 1;
    if (step_operations(s) < 1e10) j->steps = 2;
    if (step_operations(s) < 1e8) j->steps = 20;
    for (int32_t i = 0; i < 2*rows; i++)
        tokens[i] = (int32_t)(tfn_random_bits(tfn_key_make(1), (uint64_t)i) % (uint64_t)s->vocab);
    j->batch.tokens = tokens;
    j->batch.targets = tokens + rows;
    j->batch.batch = s->batch;
    j->batch.time = s->time;
    if (is_pair(s)) {
        j->batch.source = tokens;
        j->batch.source_time = s->time;
    }
}
static void train_start(train_job *j, const shape *s, int threads)
{
    const tfn_model_desc d = desc_of(s, false, threads);
    memset(j, 0, sizeof *j);
    make_model(&j->m, &d, s->name);
    train_data(j, s);
}

static void train_end(train_job *j)
{
    free((void *)j->batch.tokens);
    tfn_model_free(&j->m);
}

static double our_steps(void *p)
{
    train_job *j = (train_job *)p;
    tfn_report report;
    double start = now();
    for (int i = 0; i < j->steps; i++) tfn_model_step(&j->m, &j->batch, &report);
    return (now() - start) / j->steps;
}
static double their_steps(void *p, peer *rival)
{
    const train_job *j = (const train_job *)p;
    const shape *s = &j->s;
    const char *kind = "gpt";
    char line[200];
    if (is_pair(s)) kind = "encdec";
    snprintf(line, sizeof line, "train %s %d %d %d %d %d %d %d %d", kind, s->layers,
             s->width, s->heads, s->ffn, s->time, s->batch, s->vocab, j->steps);
    return peer_ask(rival, line);
}

static void bench_train(const shape *list, int n)
{
    peer peers[PEERS];
    const int count = torch_peers(peers);
    for (int i = 0; i < n; i++) {
        train_job j;
        contest c = { "train", list[i].name, "", our_steps, their_steps, fma_limit, &j,
                      step_operations(&list[i]), GFLOPS, { 0 } };
        if (!wanted(list[i].name)) continue;
        train_start(&j, &list[i], option.threads);
        c.isa = j.k->name;
        compete(&c, peers, count);
        train_end(&j);
    }
}

/* -- decoding --------------------------------------------------------------------------------- */

typedef struct decode_job {
    const tfn_kernels *k;
    shape s;
    tfn_decoder d;
    int context, tokens, prefill;       /* prefill > 0: so many tokens at once, else one by one */
    reading memory;                     /* as much as the weights: to measure its bandwidth */
    const char *ask;                    /* of PyTorch: "", or "_int8" */
} decode_job;

static double read_limit(void *p)
{
    decode_job *j = (decode_job *)p;
    return (double)j->memory.n / our_reading(&j->memory);
}
static double our_tokens(void *p)
{
    decode_job *j = (decode_job *)p;
    int first = j->context;
    int32_t tokens[1024] = { 1 }, token = 1;
    if (j->prefill) first = j->prefill;
    double start = now();
    tfn_decoder_start(&j->d, NULL);
    tfn_decoder_next(&j->d, tokens, first, NULL);
    if (j->prefill) return now() - start;
    start = now();
    for (int i = 0; i < j->tokens; i++) tfn_decoder_next(&j->d, &token, 1, NULL);
    return (now() - start) / j->tokens;
}
static double their_tokens(void *p, peer *rival)
{
    const decode_job *j = (const decode_job *)p;
    const shape *s = &j->s;
    char line[200];
    int at = snprintf(line, sizeof line, "%s%s %d %d %d %d %d", j->prefill ? "prefill" : "decode",
                      j->ask, s->layers, s->width, s->heads, s->ffn, s->vocab);
    if (j->prefill) snprintf(line + at, sizeof line - (size_t)at, " %d", j->prefill);
    else snprintf(line + at, sizeof line - (size_t)at, " %d %d", j->context, j->tokens);
    return peer_ask(rival, line);
}

/* A decoder of m that takes up to so many tokens at once; returns its block. */
static void *decode_start(decode_job *j, const tfn_model *m, int capacity)
{
    const size_t scratch = tfn_model_scratch(&m->desc);
    void *mem = need(malloc(scratch));
    const size_t size = tfn_decoder_size(m, 1, capacity, mem, scratch);
    free(mem);
    mem = need(malloc(size));
    tfn_decoder_init(&j->d, m, 1, capacity, mem, size);
    must_be_ok(j->s.name, &j->d.error);
    j->k = m->kernels;
    return mem;
}

static void bench_decode(const shape *list, int n)
{
    peer peers[PEERS];
    const int count = torch_peers(peers);
    for (int i = 0; i < n; i++) {
        static const int prefills[] = { 0, 64, 256, 1024 };
        const bool large = list[i].width >= 768;
        const double d = list[i].width;
        const double weights = list[i].layers * (4*d*d + 2*d*list[i].ffn) + d * list[i].vocab;
        decode_job j;
        tfn_model m;
        tfn_model_desc desc;
        void *mem;
        int capacity;                   /* of the cache that is filled at once */
        int fills;
        if (!wanted(list[i].name) || is_pair(&list[i])) continue;
        memset(&j, 0, sizeof j);
        j.s = list[i];
        j.ask = "";
        if (large) j.s.time = 1100;
        j.context = j.tokens = list[i].time / 2;
        capacity = j.context;
        fills = 1;
        if (large) {
            j.context = 128;
            j.tokens = 8;
            capacity = 1024;
            fills = 4;
        }
        desc = desc_of(&j.s, true, option.threads);
        make_model(&m, &desc, j.s.name);
        mem = decode_start(&j, &m, capacity);
        j.memory = reading_of(4 * (size_t)weights);
        for (int f = 0; f < fills; f++) {
            contest c = { "decode", NULL, j.k->name, our_tokens, their_tokens, read_limit, &j,
                          4 * weights, GBYTES, { 0 } };
            char name[100];
            snprintf(name, sizeof name, f ? "%.60s, prefill of %d" : "%.60s, a token", list[i].name,
                     prefills[f]);
            j.prefill = prefills[f];
            c.name = name;
            if (f) {
                c.amount = 2.0 * prefills[f] * (weights - d * list[i].vocab) + 2 * d * list[i].vocab
                         + 4.0 * prefills[f] * prefills[f] * d * list[i].layers;
                c.limit = fma_limit;
                c.unit = GFLOPS;
            }
            compete(&c, peers, count);
        }
        free(mem);
        free(j.memory.x);
        tfn_model_free(&m);
    }
}

/* -- weights of fewer bits ------------------------------------------------------------------- */

/* Files of the others: of ggml in floats, "q8_0" and "q4_0"; of llama2.c, and its words. */
enum { FILE_F32, FILE_Q8, FILE_Q4, FILE_RUNQ, FILE_WORDS, QUANT_FILES };
typedef struct quant_job {
    decode_job d;                       /* first: what measures a decoder takes this for one */
    tfn_weights type;
    char files[QUANT_FILES][128];       /* empty: there is none */
} quant_job;

/* PyTorch is a process with pipes; the others are started for each answer. Of ggml and llama2.c the
 * mean over twice as many tokens from the first on, so that as much of the cache is read. */
static double their_quant(void *p, peer *rival)
{
    const quant_job *j = (const quant_job *)p;
    const int tokens = 2 * j->d.context + j->d.tokens;
    const char *file = j->files[FILE_F32];
    if (rival->to) return their_tokens(p, rival);
    if (tokens > DECODERS_CONTEXT / 2) return -1;               /* would take too long */
    if (!strcmp(rival->name, "runq")) {
        if (j->type != TFN_WEIGHTS_Q8 || j->d.prefill) return -1;
        return decoders_runq_token(option.runq, j->files[FILE_RUNQ], j->files[FILE_WORDS], tokens);
    }
    if (j->type == TFN_WEIGHTS_Q8) file = j->files[FILE_Q8];
    if (j->type == TFN_WEIGHTS_Q4) file = j->files[FILE_Q4];
    if (j->d.prefill) return decoders_ggml_prefill(option.ggml, file, j->d.prefill);
    return decoders_ggml_token(option.ggml, file, tokens);
}

static void quant_says(const char *what, const char *why)
{
    if (option.json) return;
    printf("skipped: %s: %s\n", what, why);
}

/* Files for ggml: quantized by its own program. */
static bool quant_ggml_files(quant_job *j, const decoders_model *m)
{
    char (*f)[128] = j->files;
    if (!peer_file(f[FILE_F32], sizeof *f) || !peer_file(f[FILE_Q8], sizeof *f)) return false;
    if (!peer_file(f[FILE_Q4], sizeof *f) || !decoders_write_ggml(f[FILE_F32], m)) return false;
    if (!decoders_quantize(option.ggml, f[FILE_F32], f[FILE_Q8], "q8_0")) return false;
    return decoders_quantize(option.ggml, f[FILE_F32], f[FILE_Q4], "q4_0");
}
static bool quant_runq_files(quant_job *j, const decoders_model *m)
{
    char (*f)[128] = j->files;
    if (!peer_file(f[FILE_RUNQ], sizeof *f) || !peer_file(f[FILE_WORDS], sizeof *f)) return false;
    return decoders_write_runq(f[FILE_RUNQ], m) && decoders_write_words(f[FILE_WORDS], m);
}

static int quant_peer(peer *p, const char *name)
{
    memset(p, 0, sizeof *p);
    strcpy(p->name, name);
    return 1;
}

/* Who is there. */
static int quant_peers(peer *p, quant_job *j)
{
    const shape *s = &j->d.s;
    const decoders_model m = { s->layers, s->width, s->heads, s->ffn, s->vocab };
    int count = torch_peers(p);
    if (!option.peers || option.threads > 1) return count;
    if (!count) quant_says("PyTorch", "does not start");
    if (!option.ggml) quant_says("ggml", "no --ggml DIR with gpt-2-alloc and gpt-2-quantize");
    else if (!quant_ggml_files(j, &m)) quant_says("ggml", "no model for it, or it does not start");
    else count += quant_peer(&p[count], "ggml");
    if (!option.runq) quant_says("llama2.c", "no --runq FILE");
    else if (!quant_runq_files(j, &m)) quant_says("llama2.c", "no model for it");
    else count += quant_peer(&p[count], "runq");
    return count;
}

/* Bytes of weights that a token reads: all but the table of positions. */
static double quant_bytes(const tfn_model *m)
{
    double bytes = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (strstr(p.name, "position")) continue;
        if (p.weights) bytes += (double)p.bytes;
        else bytes += (double)p.rows * p.cols * (double)sizeof(float);
    }
    return bytes;
}

/* A model of that type with random weights. */
static void quant_model(tfn_model *m, tfn_model_desc d, tfn_weights type)
{
    tfn_model floats;
    tfn_model_desc plain = d;
    memset(plain.groups, 0, sizeof plain.groups);
    if (!type) {
        make_model(m, &d, "floats");
        return;
    }
    plain.inference = true;
    make_model(&floats, &plain, "floats");
    d.weights = type;
    make_model(m, &d, "quant");
    tfn_model_quantize(m, &floats);
    must_be_ok("quant", &m->error);
    tfn_model_free(&floats);
}

/* A token with a cache of 64 and of 512, and prefill; quick: the first of them. The others have no
 * numbers of 16 bits. */
static void quant_decoding(quant_job *j, peer *peers, int count)
{
    static const struct { int cache, prefill; } rows[] = { { 64, 0 }, { 512, 0 }, { 0, 256 } };
    tfn_model_desc d = desc_of(&j->d.s, true, option.threads);
    int limit = 528;
    tfn_model m;
    void *mem;
    double bytes;
    if (option.quick) limit = 64;
    d.context = limit + 16;
    j->d.ask = "_int8";
    if (!j->type) j->d.ask = "";
    if (j->type > TFN_WEIGHTS_Q4) count = 0;
    quant_model(&m, d, j->type);
    mem = decode_start(&j->d, &m, limit);
    bytes = quant_bytes(&m);
    for (int r = 0; r < 3; r++) {
        contest c = { "quant", NULL, m.kernels->name, our_tokens, their_quant, read_limit, j, bytes,
                      GBYTES, { "tokens/s", "tokens", 1, false } };
        char name[100];
        if (rows[r].cache + rows[r].prefill > limit) continue;
        j->d.tokens = 32;
        if (option.quick) j->d.tokens = 4;
        j->d.prefill = rows[r].prefill;
        j->d.context = rows[r].cache - j->d.tokens / 2;
        snprintf(name, sizeof name, "%s, cache %d, %.1f MB", tfn_choice_name("weights", j->type),
                 rows[r].cache, bytes / 1e6);
        if (rows[r].prefill) {
            snprintf(name, sizeof name, "%s, prefill %d", tfn_choice_name("weights", j->type),
                     rows[r].prefill);
            c.more.amount = rows[r].prefill;
            c.limit = NULL;
        }
        c.name = name;
        if (wanted(name)) compete(&c, peers, count);
    }
    free(mem);
    tfn_model_free(&m);
}

/* LoRA of every linear map; PyTorch's weights are floats, it trains no others. */
enum { QUANT_RANK = 8 };
static double their_lora(void *p, peer *rival)
{
    const train_job *j = (const train_job *)p;
    const shape *s = &j->s;
    char line[200];
    if (!rival->to) return -1;
    snprintf(line, sizeof line, "lora %d %d %d %d %d %d %d %d %d", s->layers, s->width, s->heads,
             s->ffn, s->time, s->batch, s->vocab, QUANT_RANK, j->steps);
    return peer_ask(rival, line);
}
static void quant_training(const shape *s, tfn_weights type, peer *peers, int count)
{
    tfn_model_desc d = desc_of(s, false, option.threads);
    train_job j;
    contest c = { "quant", NULL, "", our_steps, their_lora, NULL, &j, 0, GFLOPS,
                  { "tokens/s", "tokens", 0, false } };
    char name[100];
    snprintf(name, sizeof name, "%s, LoRA %d, %dx%d tokens", tfn_choice_name("weights", type),
             QUANT_RANK, s->batch, s->time);
    if (!wanted(name)) return;
    strcpy(d.groups[0].pattern, "*.weight");
    d.groups[0].rank = QUANT_RANK;
    memset(&j, 0, sizeof j);
    quant_model(&j.m, d, type);
    train_data(&j, s);
    c.name = name;
    c.isa = j.k->name;
    c.amount = step_operations(s) * 2 / 3;      /* no gradient of W */
    c.more.amount = s->batch * s->time;
    compete(&c, peers, count);
    train_end(&j);
}

static void bench_quant(const shape *list, int n)
{
    static const tfn_weights types[] = { TFN_WEIGHTS_FLOAT, TFN_WEIGHTS_Q8, TFN_WEIGHTS_Q4,
                                         TFN_WEIGHTS_BF16, TFN_WEIGHTS_F16 };
    const size_t block = (size_t)1 << (option.quick ? 22 : 28);     /* more than caches have */
    static quant_job j;
    peer peers[PEERS];
    int count;
    for (int i = 0; i < n; i++) {
        j.d.s = list[i];
        count = quant_peers(peers, &j);
        j.d.memory = reading_of(block);
        for (int t = 0; t < 5; t++) {
            j.type = types[t];
            quant_decoding(&j, peers, count);
        }
        for (int t = 0; t < 3; t++) quant_training(&list[i], types[t], peers, count);
        for (int f = 0; f < QUANT_FILES; f++) if (j.files[f][0]) remove(j.files[f]);
        free(j.d.memory.x);
    }
}

/* -- threads ---------------------------------------------------------------------------------- */

static volatile bool neighbour_stops;
static void neighbour(void *p, int index)
{
    (void)p, (void)index;
    while (!neighbour_stops) continue;
}

/* Two threads against one, wall clock, in turn; so do not pin it. */
static void bench_threads(const shape *list, int n)
{
    int threads = 2;
    if (option.threads > 1) threads = option.threads;
    option.threads = threads;                       /* now() is the wall clock */
    for (int i = 0; i < n; i++) {
        train_job one, more;
        if (!wanted(list[i].name)) continue;
        train_start(&one, &list[i], 1);
        train_start(&more, &list[i], threads);
        for (int busy = 0; busy < 2; busy++) {
            double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
            bool same;
            tfn_thread_job spin;
            memset(&spin, 0, sizeof spin);
            spin.run = neighbour;
            neighbour_stops = false;
            if (busy) spin.started = tfn_thread_start(&spin);
            our_steps(&one);
            our_steps(&more);
            for (int r = 0; r < option.rounds; r++) {
                a[r] = our_steps(&one);
                b[r] = our_steps(&more);
                ratio[r] = a[r] / b[r];
            }
            neighbour_stops = true;
            if (spin.started) tfn_thread_join(&spin);
            same = tfn_model_hash(&one.m) == tfn_model_hash(&more.m);
            median(ratio, option.rounds);
            if (option.json)
                printf("{\"bench\":\"threads\",\"name\":\"%s\",\"threads\":%d,\"busy\":%s,"
                       "\"ms\":%.6g,\"one_ms\":%.6g,\"ratio\":%.3f,\"same_bits\":%s}\n",
                       list[i].name, threads, busy ? "true" : "false",
                       1e3 * median(b, option.rounds), 1e3 * median(a, option.rounds),
                       ratio[option.rounds / 4], same ? "true" : "false");
            else
                printf("%-7s %-14s %-22s one %9.2f ms   %d threads %9.2f ms  %.2fx  %s\n",
                       one.k->name, list[i].name, busy ? "with a busy neighbour" : "alone",
                       1e3 * median(a, option.rounds), threads, 1e3 * median(b, option.rounds),
                       ratio[option.rounds / 4], same ? "same bits" : "BITS DIFFER");
            fflush(stdout);
        }
        train_end(&one);
        train_end(&more);
    }
}

/* -- memory ----------------------------------------------------------------------------------- */

static void bench_memory(const shape *list, int n)
{
    for (int i = 0; i < n; i++)
        for (int again = 0; again < 2; again++) {
            tfn_model_desc d = desc_of(&list[i], false, option.threads);
            tfn_model m;
            const tfn_memory *u = &m.memory;
            if (!wanted(list[i].name)) continue;
            d.recompute = again != 0;
            make_model(&m, &d, list[i].name);
            printf(option.json
                   ? "{\"bench\":\"memory\",\"name\":\"%s%s\",\"total\":%zu,\"parameters\":%zu,"
                     "\"gradients\":%zu,\"moments\":%zu,\"workspace\":%zu,\"other\":%zu}\n"
                   : "%s%s: %zu bytes; parameters %zu, gradients %zu, moments %zu, working set %zu,"
                     " other %zu\n",
                   list[i].name, again ? ", recomputed" : "", u->total, u->parameters,
                   u->gradients, u->moments, u->workspace,
                   u->total - u->parameters - u->gradients - u->moments - u->workspace);
            tfn_model_free(&m);
        }
}

/* -- growth ----------------------------------------------------------------------------------- */

/* Tokens a second as one size grows, and the time of an operation against the first row's: 1 where
 * the cost is that of the operations alone. */
static void bench_growth(void)
{
    static const shape base = { "", 4, 128, 4, 512, 64, 8, 256 };
    static const struct { const char *name; int n, values[10]; } tables[] = {
        { "width", 10, { 32, 48, 64, 96, 100, 128, 192, 256, 384, 512 } },
        { "depth", 5, { 1, 2, 4, 8, 16 } },
        { "length", 8, { 8, 16, 32, 63, 64, 128, 256, 512 } },
        { "batch", 8, { 1, 2, 3, 4, 8, 16, 32, 64 } }
    };
    for (int t = 0; t < 4; t++) {
        double first = 0;
        if (!wanted(tables[t].name)) continue;
        if (!option.json)
            printf("%-7s %12s %14s %10s\n", tables[t].name, "tokens/s", "MFLOP a token",
                   "time/FLOP");
        for (int i = 0; i < tables[t].n; i++) {
            const int v = tables[t].values[i];
            shape s = base;
            train_job j;
            double time[ROUNDS], tokens, operations;
            if (t == 0) {
                s.width = v;
                s.ffn = 4*v;
            }
            if (t == 1) s.layers = v;
            if (t == 2) s.time = v;
            if (t == 3) s.batch = v;
            train_start(&j, &s, option.threads);
            our_steps(&j);
            for (int r = 0; r < option.rounds; r++) time[r] = our_steps(&j);
            tokens = s.batch * s.time / median(time, option.rounds);
            operations = step_operations(&s) / s.batch / s.time;
            if (i == 0) first = tokens * operations;
            printf(option.json ? "{\"bench\":\"growth\",\"name\":\"%s=%d\","
                                 "\"tokens_per_second\":%.6g,\"flop_per_token\":%.6g,"
                                 "\"time_per_flop\":%.3f}\n"
                               : "%s%7d %12.0f %14.3f %10.2f\n",
                   option.json ? tables[t].name : "", v, tokens,
                   option.json ? operations : operations * 1e-6, first / (tokens * operations));
            fflush(stdout);
            train_end(&j);
        }
    }
}

/* -- data: text to ids, to batches, and sentences back ----------------------------------------- */

/* Words by rank, frequent ones short. Of 92 % the frequency falls as 1/rank (Zipf), over 10,000; of
 * the rest as rank^-1.67, so that 100 MB have some 350,000 different ones, as text has. */
static char *put_word(char *to, double u)
{
    double rank = exp(u / 0.92 * log(1e4)) - 1;
    long left = 1000000000;
    if (u >= 0.92) rank = 1e4 * pow((1 - u) / 0.08, -1.5);
    if (rank < 1e9) left = (long)rank;
    do {
        *to++ = "tnsrhldcmpfgwybvkjqz"[left % 20];
        *to++ = "eaoiu"[left / 20 % 5];
    } while ((left /= 100) > 0);
    return to;
}
/* Lines of 4 to 30 words. */
static data_file generated_text(size_t size)
{
    data_file x;
    char *to, *end;
    int left = 0;
    memset(&x, 0, sizeof x);
    x.name = "generated text";
    x.size = size;
    to = x.bytes = (char *)need(malloc(size + 32));
    end = to + size;
    for (uint64_t i = 0; to < end; i++) {
        uint64_t bits = tfn_random_bits(tfn_key_make(7), i);
        if (!left) left = 4 + (int)(bits % 27);
        to = put_word(to, (double)(bits >> 11) * (1.0 / 9007199254740992.0));
        *to++ = --left ? ' ' : '\n';
    }
    end[-1] = '\n';
    *end = 0;
    return x;
}

typedef struct bpe_job {
    const data_file *text;
    tfn_tokenizer_desc desc;
    tfn_trainer trainer;
    tfn_tokenizer k;
    void *mem, *own;
    size_t size;
    int32_t *ids;
} bpe_job;
static double our_merges(void *p)
{
    bpe_job *j = (bpe_job *)p;
    double start = now();
    tfn_trainer_init(&j->trainer, &j->desc, j->mem, j->size);
    tfn_trainer_add(&j->trainer, j->text->bytes, j->text->size);
    tfn_trainer_run(&j->trainer);
    must_be_ok(j->text->name, &j->trainer.error);
    return now() - start;
}
static double our_ids(void *p)
{
    bpe_job *j = (bpe_job *)p;
    double start = now();
    tfn_tokenizer_encode(&j->k, j->ids, (ptrdiff_t)j->text->size, j->text->bytes, j->text->size);
    return now() - start;
}
static void bench_bpe(bpe_job *j, const data_file *text)
{
    contest c = { "data", "BPE training, 8192 pieces", "", our_merges, NULL, NULL, j,
                  (double)text->size, MBYTES, { 0 } };
    tfn_tokenizer_source source;
    memset(j, 0, sizeof *j);
    j->text = text;
    if (text->size > 26000000) {                /* the default has room for so much */
        j->desc.words = INT32_MAX / 100;
        if (text->size < INT32_MAX) j->desc.words = (int32_t)(text->size / 100);
    }
    j->size = tfn_trainer_size(&j->desc);
    j->mem = need(malloc(j->size));
    c.more.text = "minutes for 100 MB";
    c.more.key = "minutes_of_100_mb";
    c.more.times = true;
    c.more.amount = 1e8 / (double)text->size / 60;
    if (wanted(c.name)) compete(&c, NULL, 0);
    else our_merges(j);
    memset(&source, 0, sizeof source);
    source.trainer = &j->trainer;
    j->own = need(malloc(tfn_tokenizer_size(&source) + 1));
    tfn_tokenizer_init(&j->k, &source, j->own, tfn_tokenizer_size(&source));
    must_be_ok(text->name, &j->k.error);
    j->ids = (int32_t *)need(malloc(text->size * sizeof *j->ids));
    c.name = "BPE encoding";
    c.ours = our_ids;
    c.more.text = NULL;
    if (wanted(c.name)) compete(&c, NULL, 0);
    free(j->mem);
    free(j->ids);
}

/* Each two lines are a pair. */
typedef struct line_pairs { const char **at; int64_t count; } line_pairs;
static bool get_pair(data_item *item, void *user, int64_t i)
{
    const char **at = ((const line_pairs *)user)->at + 2*i;
    for (int k = 0; k < 2; k++) {
        item->text[k] = at[k];
        item->bytes[k] = (size_t)(at[k + 1] - at[k] - 1);
    }
    return true;
}
static line_pairs pairs_of(const data_file *text)
{
    line_pairs x = { NULL, 0 };
    int64_t lines = 0;
    for (size_t i = 0; i < text->size; i++) lines += text->bytes[i] == '\n';
    x.at = (const char **)need(malloc(((size_t)lines + 1) * sizeof *x.at));
    x.at[lines = 0] = text->bytes;
    for (size_t i = 0; i < text->size; i++)
        if (text->bytes[i] == '\n') x.at[++lines] = text->bytes + i + 1;
    x.count = lines / 2;
    return x;
}

typedef struct batching_job { data_batches batches; int64_t position; } batching_job;
static double our_batches(void *p)
{
    batching_job *j = (batching_job *)p;
    double start = now();
    for (int64_t i = 0; i < j->batches.count; i++) data_batch(&j->batches, j->position++);
    return (now() - start);
}
/* An epoch each time, which is shuffled anew. */
static void bench_batches(const bpe_job *bpe)
{
    contest c = { "data", "batches of 4096 tokens", "", our_batches, NULL, NULL, NULL, 0,
                  SENTENCES, { 0 } };
    line_pairs lines;
    data_set_options o;
    data_batch_options b;
    data_set set;
    batching_job job;
    if (!wanted(c.name)) return;
    lines = pairs_of(bpe->text);
    memset(&o, 0, sizeof o);
    memset(&b, 0, sizeof b);
    memset(&job, 0, sizeof job);
    o.kind = DATA_PAIRS;
    o.tokenizer = &bpe->k;
    o.most = 256;
    b.tokens = 4096;
    if (!data_set_init(&set, &o, get_pair, &lines, lines.count)) fail(bpe->text->name, set.error);
    if (!data_batches_init(&job.batches, &set, &b)) fail(bpe->text->name, job.batches.error);
    c.job = &job;
    c.amount = (double)set.count;
    c.more.text = "batches/s";
    c.more.key = "batches";
    c.more.amount = (double)job.batches.count;
    compete(&c, NULL, 0);
    data_batches_free(&job.batches);
    data_set_free(&set);
    free((void *)lines.at);
}

/* -- beam search ------------------------------------------------------------------------------ */

/* 9 to 24 source tokens a sentence, at most twice as many and one come out. */
enum { BEAM = 5, BEAM_SOURCE = 24, BEAM_END = 2 };
typedef struct beam_job {
    tfn_model m;
    tfn_generator g;
    tfn_batch batch;
    void *mem;
    int32_t *source, *lengths;
    char path[128];                     /* of the weights and the source, for the peers */
} beam_job;

static double our_beams(void *p)
{
    beam_job *j = (beam_job *)p;
    double start = now();
    tfn_generator_run(&j->g, &j->batch, NULL);
    must_be_ok("beam search", &j->g.error);
    return now() - start;
}
static double their_beams(void *p, peer *rival)
{
    const beam_job *j = (const beam_job *)p;
    char line[200];
    snprintf(line, sizeof line, "beam %s %d %d %d", j->path, (int)j->m.desc.heads, BEAM, BEAM_END);
    return peer_ask(rival, line);
}

/* Random weights, whose logits differ as a trained model's do, and change with the position; an end
 * comes now and then before it is forced. */
static void beam_weights(tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const bool output = !strcmp(p.name, "output.weight");
        if (!output && strcmp(p.name, "decoder.position.weight")) continue;
        for (int32_t k = 0; k < p.rows * p.cols; k++) {
            if (!output) p.data[k] *= 8.0f;
            else if (k % p.cols == BEAM_END) p.data[k] *= 36.0f;
            else p.data[k] *= 12.0f;
        }
    }
}
static void beam_start(beam_job *j, const shape *s)
{
    tfn_model_desc d = desc_of(s, true, option.threads);
    tfn_generate_desc g;
    size_t scratch, size;
    memset(j, 0, sizeof *j);
    memset(&g, 0, sizeof g);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.activation = TFN_ACTIVATION_RELU;
    d.untied = true;
    d.batch = s->batch;
    d.context = 2*BEAM_SOURCE + 2;
    d.source_context = BEAM_SOURCE;
    make_model(&j->m, &d, s->name);
    beam_weights(&j->m);
    g.sentences = s->batch;
    g.beam = BEAM;
    g.max_ratio = 2;
    g.max_tokens = 1;
    g.end = BEAM_END;
    scratch = tfn_model_scratch(&j->m.desc);
    j->mem = need(malloc(scratch));
    size = tfn_generator_size(&j->m, &g, j->mem, scratch);
    free(j->mem);
    j->mem = need(malloc(size + 1));
    tfn_generator_init(&j->g, &j->m, &g, j->mem, size);
    must_be_ok(s->name, &j->g.error);
    j->source = (int32_t *)need(calloc((size_t)s->batch * BEAM_SOURCE, sizeof *j->source));
    j->lengths = (int32_t *)need(malloc((size_t)s->batch * sizeof *j->lengths));
    for (int32_t r = 0; r < s->batch; r++) {
        j->lengths[r] = BEAM_SOURCE - r % 16;
        for (int32_t i = 0; i < j->lengths[r]; i++)
            j->source[r * BEAM_SOURCE + i] = (int32_t)(tfn_random_bits(tfn_key_make(8),
                (uint64_t)(r * BEAM_SOURCE + i)) % (uint64_t)s->vocab);
    }
    j->batch.batch = s->batch;
    j->batch.source_time = BEAM_SOURCE;
    j->batch.source = j->source;
    j->batch.source_lengths = j->lengths;
}
static void beam_end(beam_job *j)
{
    if (j->path[0]) remove(j->path);
    free(j->mem);
    free(j->source);
    free(j->lengths);
    tfn_model_free(&j->m);
}

/* All weights and the source, as safetensors. */
static void beam_write(beam_job *j)
{
    tfn_param_info p;
    tfn_tensor *t, *last;
    tfn_file f;
    int32_t count = 0;
    while (tfn_model_param(&j->m, count, &p)) count++;
    t = (tfn_tensor *)need(calloc((size_t)count + 2, sizeof *t));
    last = t + count;
    for (int32_t i = 0; tfn_model_param(&j->m, i, &p); i++) {
        memcpy(t[i].name, p.name, sizeof p.name);
        t[i].rank = 2;
        t[i].shape[0] = p.rows;
        t[i].shape[1] = p.cols;
        t[i].data = p.data;
    }
    for (int k = 0; k < 2; k++) {
        strcpy(last[k].name, k ? "lengths" : "source");
        last[k].dtype = TFN_DTYPE_I32;
        last[k].rank = 2 - k;
        last[k].shape[0] = j->batch.batch;
        last[k].shape[1 - k] = k ? j->batch.batch : BEAM_SOURCE;
        last[k].data = k ? j->lengths : j->source;
    }
    memset(&f, 0, sizeof f);
    f.path = j->path;
    if (tfn_file_write(&f, t, count + 2) != TFN_OK) must_be_ok(j->path, &f.error);
    free(t);
}

/* How many of its sentences are ours, token by token; they come as "length token token ...". */
static int beam_equal(const beam_job *j, peer *rival)
{
    static char line[1 << 18];
    char *at = line;
    int equal = 0;
    if (!peer_tell(rival, "sentences", line, sizeof line)) return 0;
    for (int32_t s = 0; s < j->g.sentences; s++) {
        const int32_t *ours = j->g.tokens + (ptrdiff_t)s * j->g.width * j->g.most;
        const int32_t length = j->g.lengths[(ptrdiff_t)s * j->g.width];
        const long theirs = strtol(at, &at, 10);
        bool same = theirs == length;
        for (long i = 0; i < theirs; i++) {
            const long token = strtol(at, &at, 10);
            same = same && token == ours[i];
        }
        equal += same;
    }
    return equal;
}

static const shape beams[] = {
    { "", 6, 256, 4, 1024, 1, 16, 8192 }, { "", 2, 64, 2, 256, 1, 4, 512 }
};
static void bench_beam(const shape *s)
{
    peer peers[PEERS];
    beam_job j;
    contest c = { "data", NULL, "", our_beams, their_beams, NULL, &j, s->batch, SENTENCES, { 0 } };
    char name[64];
    int count;
    snprintf(name, sizeof name, "beam %d, %d+%d layers, width %d", BEAM, s->layers, s->layers,
             s->width);
    if (!wanted(name)) return;
    beam_start(&j, s);
    count = torch_peers(peers);
    if (count && peer_file(j.path, sizeof j.path)) beam_write(&j);
    else count = 0;
    our_beams(&j);
    for (int32_t r = 0; r < j.g.sentences; r++)
        c.more.amount += j.g.lengths[(ptrdiff_t)r * j.g.width];
    c.name = name;
    c.isa = j.m.kernels->name;
    c.more.text = "tokens/s";
    c.more.key = "tokens";
    compete(&c, peers, count);
    for (int p = 0; p < count; p++) {
        const int equal = beam_equal(&j, &peers[p]);
        printf(option.json ? "{\"bench\":\"data\",\"name\":\"%s\",\"peer\":\"%s\",\"equal\":%d,"
                             "\"of\":%d}\n"
                           : "        %s: %s finds the same sentences in %d of %d cases\n", name,
               peers[p].name, equal, (int)j.g.sentences);
    }
    beam_end(&j);
}

/* `path` NULL: a generated text. */
static void bench_data(const char *path, const shape *s)
{
    data_file text;
    bpe_job bpe;
    if (path && !data_read(&text, path)) fail("text", text.error);
    if (path && !text.size) fail(path, "empty");
    size_t generated = 10000000;
    if (option.quick) generated = 500000;
    if (!path) text = generated_text(generated);
    bench_bpe(&bpe, &text);
    bench_batches(&bpe);
    bench_beam(s);
    free(bpe.own);
    data_file_free(&text);
}

/* -- learn ----------------------------------------------------------------------------------- */

static void bench_learn(const char *path)
{
#if defined __unix__ || defined __APPLE__
    peer peers[PEERS];
    const int count = torch_peers(peers);
    const int seeds = option.quick ? 1 : 3;
    double minutes = option.minutes;
    learn_files files;
    data_file text;
    if (!path) fail("learn", "wants a file of text");
    if (!data_read(&text, path)) fail("text", text.error);
    if (!learn_split(&files, &text)) {
        learn_remove(&files);
        fail("learn", "its files cannot be written");
    }
    if (count) {                                /* the last one is tuned for this processor */
        const double seconds = learn_peer(&peers[count - 1], &files, option.json);
        if (minutes <= 0) minutes = seconds / 60;
    }
    if (minutes <= 0) minutes = 3.3;
    for (int seed = 1; seed <= seeds; seed++)
        if (!learn_ours(option.tfn, &files, minutes, seed, option.json)) {
            learn_remove(&files);
            fail(option.tfn, "did not train");
        }
    learn_remove(&files);
    data_file_free(&text);
#else
    (void)path;
    fail("learn", "wants a system with processes");
#endif
}

/* -- denormals ------------------------------------------------------------------------------- */

static int denormals_updates(void)
{
    if (option.quick) return 60;
    return 250;
}

/* What is denormal becomes 0, as operand and as result: not the library's arithmetic. */
static bool flush_denormals(void)
{
#if defined __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return true;
#elif defined __aarch64__ && defined __GNUC__
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | UINT64_C(1) << 24));
    return true;
#else
    return false;
#endif
}

/* Seconds of the updates; negative: there is no such model. */
static double training_seconds(const tfn_model_desc *d)
{
    tfn_model m;
    tfn_report report;
    double start;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) return -1;
    denormals_step(&m, 0, &report);
    start = now();
    for (int s = 1; s < denormals_updates(); s++) denormals_step(&m, s, &report);
    start = now() - start;
    tfn_model_free(&m);
    return start;
}

/* The same in a process of its own. */
static double process_seconds(const tfn_model_desc *d, bool flush)
{
    double seconds = -1;
#if defined __unix__ || defined __APPLE__
    int answer[2];
    pid_t child;
    fflush(stdout);
    if (pipe(answer)) return -1;
    child = fork();
    if (child == 0) {
        if (!flush || flush_denormals()) seconds = training_seconds(d);
        _exit(write(answer[1], &seconds, sizeof seconds) != (ssize_t)sizeof seconds);
    }
    close(answer[1]);
    if (child < 0 || read(answer[0], &seconds, sizeof seconds) != (ssize_t)sizeof seconds)
        seconds = -1;
    close(answer[0]);
    if (child > 0) waitpid(child, NULL, 0);
#else
    (void)d, (void)flush;
#endif
    return seconds;
}

/* Medians of both, and of their ratios; false: not here. */
static bool time_denormals(const tfn_model_desc *d, double *kept, double *flushed, double *ratio)
{
    double with[ROUNDS], without[ROUNDS], ratios[ROUNDS];
    for (int r = 0; r < option.rounds; r++) {
        with[r] = process_seconds(d, false);
        without[r] = process_seconds(d, true);
        ratios[r] = with[r] / without[r];
        if (with[r] <= 0 || without[r] <= 0) return false;
    }
    *kept = median(with, option.rounds);
    *flushed = median(without, option.rounds);
    *ratio = median(ratios, option.rounds);
    return true;
}

static void print_denormals(const char *name, const denormals_counts *c, double kept,
                            double flushed, double ratio)
{
    const double each = 1e3 / denormals_updates();
    if (!option.json) {
        printf("%-20s %9lld %7.1f %7lld %9lld %10lld %6lld %7lld %10lld", name,
               (long long)c->operands, 1e6 * (double)c->operands / (double)c->read,
               (long long)c->values, (long long)c->gradients, (long long)c->parameters,
               (long long)c->sums, (long long)c->moments, (long long)c->underflows);
        if (ratio > 0) printf(" %8.3f %8.3f %6.2f", kept * each, flushed * each, ratio);
        printf("%s%s\n", c->where ? "  first: " : "", c->where ? c->where : "");
    } else {
        printf("{\"bench\":\"denormals\",\"name\":\"%s\",\"operands\":%lld,\"of\":%lld,"
               "\"values\":%lld,\"gradients\":%lld,\"parameters\":%lld,\"sums\":%lld,"
               "\"moments\":%lld,\"underflows\":%lld,\"calls\":%lld", name,
               (long long)c->operands, (long long)c->read, (long long)c->values,
               (long long)c->gradients, (long long)c->parameters, (long long)c->sums,
               (long long)c->moments, (long long)c->underflows, (long long)c->calls);
        if (ratio > 0)
            printf(",\"ms\":%.6g,\"flushed_ms\":%.6g,\"ratio\":%.3f", kept * each,
                   flushed * each, ratio);
        printf("}\n");
    }
    fflush(stdout);
}

/* Every recipe, in the model of denormals.h or, given one, in its layers and widths. */
static void bench_denormals(const shape *s)
{
    int64_t operands = 0;
    double worst = 0;
    int recipes = 0;
    if (!option.json)
        printf("%-20s %9s %7s %7s %9s %10s %6s %7s %10s %8s %8s %6s\n", "recipe", "operands", "ppm",
               "values", "gradients", "parameters", "sums", "moments", "underflows", "ms kept",
               "flushed", "ratio");
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const char *name = tfn_recipe_at(i)->name;
        tfn_model_desc d = denormals_desc(name);
        double kept = 0;
        double flushed = 0;
        double ratio = 0;
        if (!wanted(name)) continue;
        d.isa = option.isa;
        if (s) {
            d.layers = s->layers;
            d.width = s->width;
            d.heads = s->heads;
            d.ffn = s->ffn;
        }
        if (!denormals_train(&d, denormals_updates(), 25)) continue;
        if (!option.counts) time_denormals(&d, &kept, &flushed, &ratio);
        print_denormals(name, &denormals.counts, kept, flushed, ratio);
        operands += denormals.counts.operands;
        if (ratio > worst) worst = ratio;
        recipes++;
    }
    if (!option.json)
        printf("%d recipes, %lld denormal operands, worst ratio %.2f\n", recipes,
               (long long)operands, worst);
}

static void each_isa(void (*bench)(const tfn_kernels *))
{
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (k && (option.isa == TFN_ISA_BEST || (int)option.isa == isa)) bench(k);
    }
}

/* tools/peers/torch_peer.py, from where this program lies: tools/bin/bench. */
static void find_script(const char *program)
{
    const char *slash = strrchr(program, '/');
    int folder = 0;
    if (slash) folder = (int)(slash - program + 1);
    snprintf(option.script, sizeof option.script, "%.*s../peers/torch_peer.py", folder, program);
    snprintf(option.tfn, sizeof option.tfn, "%.*stfn", folder, program);
}

/* What is measured: the bench's name, the models and the text for it. */
typedef struct bench_arguments {
    const char *name, *file;
    shape       list[16];
    int         count;
    bool        given;              /* models were: else those of the table */
} bench_arguments;

static bool takes_file(const bench_arguments *a)
{
    return !strcmp(a->name, "data") || !strcmp(a->name, "learn");
}

static void read_arguments(bench_arguments *a, cli *c)
{
    const char *isa = NULL;
    long threads = 1;
    long rounds = 7;
    if (!strcmp(a->name, "denormals")) rounds = 9;
    option.peers = true;
    while (cli_next(c)) {
        const char *text = c->argv[c->at];
        if (cli_text(c, "--isa", &isa) || cli_text(c, "--only", &option.only)) continue;
        if (cli_text(c, "--ggml", &option.ggml) || cli_text(c, "--runq", &option.runq)) continue;
        if (cli_number(c, "--threads", 1, TFN_THREADS_MAX, &threads)) continue;
        if (cli_number(c, "--rounds", 1, ROUNDS, &rounds)) continue;
        if (cli_real(c, "--minutes", 0.001, 1e5, &option.minutes)) continue;
        if (cli_is(c, "--json")) option.json = true;
        else if (cli_is(c, "--no-peers")) option.peers = false;
        else if (cli_is(c, "--counts")) option.counts = true;
        else if (cli_is(c, "--quick")) {
            option.quick = true;
            rounds = 3;
        } else if (a->count < 16 && parse_shape(&a->list[a->count], text)) a->count++;
        else if (takes_file(a) && !a->file && text[0] != '-') a->file = text;
        else cli_fail(c, "\"%s\" is no option and no model", text);
    }
    a->given = a->count > 0;
    option.isa = tfn_isa_find(isa);
    option.threads = (int)threads;
    option.rounds = (int)rounds;
}

/* The models of the table, of quant GPT-2; quick: the small ones. */
static void add_shapes(bench_arguments *a)
{
    const bool quant = !strcmp(a->name, "quant");
    if (quant && !option.quick) parse_shape(&a->list[a->count++], "gpt2");
    if (quant && option.quick) parse_shape(&a->list[a->count++], "tiny");
    if (quant) return;
    for (int i = 0; i < SHAPES; i++)
        if (!option.quick || shapes[i].width < 384) a->list[a->count++] = shapes[i];
}

static int run_named(const bench_arguments *a)
{
    const char *name = a->name;
    const tfn_kernels *k = tfn_kernels_for(option.isa);
    if (!strcmp(name, "peak")) each_isa(bench_peak);
    else if (!strcmp(name, "gemm")) bench_gemm(k);
    else if (!strcmp(name, "kernels")) bench_kernels(k);
    else if (!strcmp(name, "attention")) bench_attention(k);
    else if (!strcmp(name, "train")) bench_train(a->list, a->count);
    else if (!strcmp(name, "decode")) bench_decode(a->list, a->count);
    else if (!strcmp(name, "quant")) bench_quant(a->list, a->count);
    else if (!strcmp(name, "threads")) bench_threads(a->list, a->count);
    else if (!strcmp(name, "memory")) bench_memory(a->list, a->count);
    else if (!strcmp(name, "growth")) bench_growth();
    else if (!strcmp(name, "data")) bench_data(a->file, a->given ? a->list : beams + option.quick);
    else if (!strcmp(name, "learn")) bench_learn(a->file);
    else if (!strcmp(name, "denormals")) bench_denormals(a->given ? a->list : NULL);
    else if (!strcmp(name, "--help")) fputs(usage, stdout);
    else {
        fputs(usage, stderr);
        return 2;
    }
    return 0;
}

static int run_bench(int argc, char **argv)
{
    static bench_arguments a;
    cli c = { "bench", NULL, 0, 1 };
    c.argv = argv;
    c.argc = argc;
    a.name = argc > 1 ? argv[1] : "";
    read_arguments(&a, &c);
    if (!a.given) add_shapes(&a);
    find_script(argv[0]);
    if (!tfn_kernels_for(option.isa)) {
        fprintf(stderr, "bench: this machine lacks it\n");
        return 1;
    }
    return run_named(&a);
}

int main(int argc, char **argv)
{
    output_begin("bench");
    return output_end(run_bench(argc, argv));
}
