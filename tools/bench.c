/* make -C tools && tools/bin/bench gemm
 *
 * Speed of the kernels and of whole training steps on this machine.
 *     bench peak       fused multiply-adds a second, the processor's limit
 *     bench gemm       matrix products, in per cent of that limit, measured next to each of them
 *     bench kernels    norms, softmax, activations, optimiser
 *     bench train      milliseconds a step for the models of the README
 *     bench decode     microseconds a token, one sentence
 * --isa NAME picks an instruction set (default: all of the machine for peak and gemm, else the
 * best), --threads N, --only WORD picks rows, --json writes a line of JSON per row.
 * Times are medians, of the thread's own processor time where there is one thread. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "threads.h"
#include "cli.h"
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <time.h>

static const char usage[] = "bench peak | gemm | kernels | train | decode\n"
                            "      [--isa NAME] [--threads N] [--only WORD] [--json]\n";

static struct { tfn_isa isa; int threads; bool json; const char *only; } option;

/* -- time ---------------------------------------------------------------------------------- */

static double now(void)
{
#if defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
    struct timespec t;
    clock_gettime(option.threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

typedef void job_fn(void *context);

/* Seconds a call: the median of seven samples, each long enough for the clock. */
static double time_job(job_fn *job, void *context)
{
    double v[7], once;
    int calls = 1;
    for (;; calls *= 2) {
        double start = now();
        for (int i = 0; i < calls; i++) job(context);
        once = now() - start;
        if (once > 0.01 || calls > 1 << 24) break;
    }
    for (int s = 0; s < 7; s++) {
        double start = now();
        for (int i = 0; i < calls; i++) job(context);
        v[s] = (now() - start) / calls;
    }
    return median(v, 7);
}

/* -- the limit: independent chains of fused multiply-adds in registers ---------------------- */

#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK(name, attribute, vector, set, fma, get, lanes)                                     \
    attribute static double name(long rounds)                                                   \
    {                                                                                           \
        vector m = set(0.5f), a = set(1.0f);                                                    \
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
    vector v0 = set(1), v1 = set(2), v2 = set(3), v3 = set(4), v4 = set(5), v5 = set(6),        \
           v6 = set(7), v7 = set(8), v8 = set(9), v9 = set(10), v10 = set(11), v11 = set(12);
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
        double start = now(), speed = run(rounds);
        if (now() - start < 0.005) rounds *= 2;
        else v[s++] = speed;
    }
    return median(v, 3);
}

/* -- rows ----------------------------------------------------------------------------------- */

static bool wanted(const char *name) { return !option.only || strstr(name, option.only); }

/* One result: a name, the time of a call, and a rate with its unit. */
static void row(const char *bench, const char *name, const char *isa, double seconds, double rate,
                const char *unit, double percent)
{
    if (option.json) {
        printf("{\"bench\":\"%s\",\"name\":\"%s\",\"isa\":\"%s\",\"threads\":%d,\"us\":%.3f,"
               "\"rate\":%.6g,\"unit\":\"%s\"", bench, name, isa, option.threads, seconds * 1e6,
               rate, unit);
        if (percent >= 0) printf(",\"percent\":%.1f", percent);
        printf("}\n");
    } else {
        printf("%-7s %-30s ", isa, name);
        if (seconds > 0) printf("%12.2f us ", seconds * 1e6);
        printf("%11.5g %s", rate, unit);
        if (percent >= 0) printf(" %5.1f %%", percent);
        printf("\n");
    }
    fflush(stdout);
}

static float *random_floats(ptrdiff_t n, uint64_t seed)
{
    float *p = (float *)malloc((size_t)n * sizeof *p + 64);
    if (!p) fprintf(stderr, "out of memory\n"), exit(1);
    for (ptrdiff_t i = 0; i < n; i++)
        p[i] = tfn_random_uniform(tfn_key_make(seed), (uint64_t)i) - 0.5f;
    return p;
}

/* -- gemm: y = x W (NN), dx = dy W^T (NT), dW = x^T dy (TN) --------------------------------- */

typedef struct product { const tfn_kernels *k; tfn_matmul p; float *work; } product;
static void run_product(void *context)
{
    product *j = (product *)context;
    j->k->matmul(&j->p, j->work);
}

static void bench_product(const tfn_kernels *k, const char *layout, ptrdiff_t m, ptrdiff_t n,
                            ptrdiff_t depth)
{
    float *a = random_floats(m * depth, 1), *b = random_floats(depth * n, 2);
    float *c = random_floats(m * n, 3);
    float *work = random_floats(k->matmul_work(m, n, depth) + 1, 4);
    tfn_matmul p = { c, NULL, a, b, m, n, depth, n, 0, depth, 1, n, 1 };
    product job;
    double limit, seconds, operations = 2.0 * (double)m * (double)n * (double)depth;
    char name[64];
    if (layout[0] == 'T') p.a_row = 1, p.a_col = m;
    if (layout[1] == 'T') p.b_row = 1, p.b_col = depth;
    job.k = k;
    job.p = p;
    job.work = work;
    limit = peak(k->isa);
    seconds = time_job(run_product, &job);
    limit = (limit + peak(k->isa)) / 2;             /* before and after: the clock drifts */
    sprintf(name, "%s %ldx%ldx%ld", layout, (long)m, (long)n, (long)depth);
    row("gemm", name, k->name, seconds, operations / seconds * 1e-9, "GFLOP/s",
        100 * operations / seconds / limit);
    free(a), free(b), free(c), free(work);
}

static void bench_gemm(const tfn_kernels *k)
{
    static const int shapes[][3] = {                /* M, N, K */
        { 32, 32, 32 }, { 64, 64, 64 }, { 128, 128, 128 }, { 256, 256, 256 }, { 512, 512, 512 },
        { 768, 768, 768 }, { 1024, 1024, 1024 }, { 1, 768, 768 }, { 8, 384, 384 },
        { 64, 1536, 384 }, { 1024, 384, 1536 }
    };
    static const char *const layouts[] = { "NN", "NT", "TN" };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int j = 0; j < 3; j++) {
            char name[64];
            sprintf(name, "%s %dx%dx%d", layouts[j], shapes[i][0], shapes[i][1], shapes[i][2]);
            if (wanted(name))
                bench_product(k, layouts[j], shapes[i][0], shapes[i][1], shapes[i][2]);
        }
}

/* -- kernels -------------------------------------------------------------------------------- */

typedef struct arrays {
    const tfn_kernels *k;
    float *x, *y, *dx, *dy, *gain, *bias, *dgain, *dbias, *mean, *rstd;
    ptrdiff_t rows, cols;
} arrays;

static tfn_norm norm_of(const arrays *a, tfn_norm_kind kind)
{
    tfn_norm n;
    memset(&n, 0, sizeof n);
    n.kind = kind;
    n.y = a->y, n.mean = a->mean, n.rstd = a->rstd;
    n.x = a->x, n.gain = a->gain;
    if (kind == TFN_NORM_LAYER) n.bias = a->bias;
    n.dx = a->dx, n.dgain = a->dgain, n.dbias = a->dbias, n.dy = a->dy;
    n.rows = a->rows, n.cols = a->cols;
    n.eps = 1e-5f;
    return n;
}
static void layernorm_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_norm n = norm_of(a, TFN_NORM_LAYER);
    a->k->norm_forward(&n);
}
static void layernorm_backward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_norm n = norm_of(a, TFN_NORM_LAYER);
    a->k->norm_backward(&n);
    a->k->norm_params_backward(&n, 0, n.cols);
}
static void rmsnorm_forward(void *p)
{
    arrays *a = (arrays *)p;
    tfn_norm n = norm_of(a, TFN_NORM_RMS);
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
    a->k->activation_forward(a->y, a->x, a->rows * a->cols, TFN_GELU_TANH);
}
static void gelu_backward(void *p)
{
    arrays *a = (arrays *)p;
    a->k->activation_backward(a->dx, a->dy, a->x, a->rows * a->cols, TFN_GELU_TANH, false);
}
static void dropout(void *p)
{
    arrays *a = (arrays *)p;
    a->k->dropout(a->y, a->x, a->rows * a->cols, 0.1f, tfn_key_make(1), 0, false);
}
static void adamw(void *p)
{
    arrays *a = (arrays *)p;
    tfn_update u;
    memset(&u, 0, sizeof u);
    u.optimizer = TFN_ADAMW;
    u.lr = u.step_size = 1e-4f;
    u.beta1 = 0.9f;
    u.beta2 = 0.98f;
    u.eps = 1e-8f;
    u.decay = 0.01f;
    u.grad_scale = u.root = 1;
    a->k->update(a->x, a->dy, a->y, a->dx, a->rows * a->cols, &u);
}

static void bench_kernels(const tfn_kernels *k)
{
    static const struct { const char *name; job_fn *job; } jobs[] = {
        { "layernorm forward", layernorm_forward }, { "layernorm backward", layernorm_backward },
        { "rmsnorm forward", rmsnorm_forward }, { "softmax forward", softmax_forward },
        { "gelu tanh forward", gelu_forward }, { "gelu tanh backward", gelu_backward },
        { "dropout", dropout }, { "adamw", adamw }
    };
    static const int sizes[][2] = { { 64, 64 }, { 1024, 768 } };
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
        for (int s = 0; s < 2; s++) {
            arrays a;
            ptrdiff_t n = (ptrdiff_t)sizes[s][0] * sizes[s][1];
            float *all = random_floats(4*n + 4*1024 + 2*1024, 5);
            double seconds;
            char name[64];
            sprintf(name, "%s %dx%d", jobs[j].name, sizes[s][0], sizes[s][1]);
            if (!wanted(name)) { free(all); continue; }
            a.k = k;
            a.rows = sizes[s][0];
            a.cols = sizes[s][1];
            a.x = all, a.y = all + n, a.dx = all + 2*n, a.dy = all + 3*n;
            a.gain = all + 4*n, a.bias = a.gain + 1024, a.dgain = a.bias + 1024;
            a.dbias = a.dgain + 1024, a.mean = a.dbias + 1024, a.rstd = a.mean + 1024;
            for (ptrdiff_t i = 0; i < n; i++) a.dx[i] += 1;      /* a second moment is positive */
            layernorm_forward(&a);
            seconds = time_job(jobs[j].job, &a);
            row("kernels", name, k->name, seconds, (double)n / seconds * 1e-9, "G elements/s", -1);
            free(all);
        }
}

/* -- whole models ----------------------------------------------------------------------------- */

/* GPT blocks: Pre-LN, GELU (tanh), learned positions, biases, tied head, AdamW. */
static const struct { const char *name; int32_t layers, width, heads, ffn, time, batch, vocab; }
models[] = {
    { "tiny",   2,  64, 4,  256,  32, 16,    64 },
    { "small",  6, 128, 4,  512,  64, 16,   256 },
    { "medium", 6, 384, 6, 1536, 128,  8,   256 }
};

static bool make_model(tfn_model *m, size_t i, bool inference)
{
    tfn_model_desc d;
    char text[200];
    memset(&d, 0, sizeof d);
    d.layers = models[i].layers;
    d.width = models[i].width;
    d.heads = models[i].heads;
    d.ffn = models[i].ffn;
    d.context = models[i].time;
    d.batch = models[i].batch;
    d.vocab = models[i].vocab;
    d.isa = option.isa;
    d.threads = option.threads;
    d.inference = inference;
    d.schedule.lr = 1e-4f;
    if (tfn_model_new(m, &d, NULL) == TFN_OK) return true;
    fprintf(stderr, "%s: %s\n", models[i].name, tfn_error_text(&m->error, text, sizeof text));
    return false;
}

static void bench_train(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        int32_t rows = models[i].batch * models[i].time;
        int32_t *tokens = (int32_t *)malloc((size_t)rows * 2 * sizeof *tokens);
        tfn_model m;
        tfn_report report;
        tfn_batch batch;
        double v[9];
        if (!wanted(models[i].name) || !tokens || !make_model(&m, i, false)) {
            free(tokens);
            continue;
        }
        memset(&batch, 0, sizeof batch);
        batch.tokens = tokens;
        batch.targets = tokens + rows;
        batch.batch = models[i].batch;
        batch.time = models[i].time;
        for (int32_t j = 0; j < 2*rows; j++)
            tokens[j] = (int32_t)(tfn_random_bits(tfn_key_make(1), (uint64_t)j)
                                  % (uint64_t)models[i].vocab);
        for (int s = -2; s < 9; s++) {                       /* two to warm up */
            double start = now();
            int steps = i == 0 ? 20 : 1;
            for (int j = 0; j < steps; j++) tfn_model_step(&m, &batch, &report);
            if (s >= 0) v[s] = (now() - start) / steps;
        }
        row("train", models[i].name, m.kernels->name, median(v, 9), rows / median(v, 9),
            "tokens/s", -1);
        tfn_model_free(&m);
        free(tokens);
    }
}

static void bench_decode(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        tfn_model m;
        tfn_decoder d;
        double v[9];
        size_t scratch, size;
        void *mem;
        if (!wanted(models[i].name) || !make_model(&m, i, true)) continue;
        scratch = tfn_model_scratch(&m.desc);
        mem = malloc(scratch);
        size = mem ? tfn_decoder_size(&m, 1, 1, mem, scratch) : 0;
        free(mem);
        mem = malloc(size);
        if (mem && tfn_decoder_init(&d, &m, 1, 1, mem, size) == TFN_OK) {
            int32_t token = 1;
            for (int s = 0; s < 9; s++) {
                double start = now();
                int runs = i == 0 ? 20 : 2;
                for (int r = 0; r < runs; r++) {
                    tfn_decoder_start(&d, NULL);
                    for (int t = 0; t < m.desc.context; t++) tfn_decoder_next(&d, &token, 1, NULL);
                }
                v[s] = (now() - start) / runs / m.desc.context;
            }
            row("decode", models[i].name, m.kernels->name, median(v, 9), 1 / median(v, 9),
                "tokens/s", -1);
        }
        free(mem);
        tfn_model_free(&m);
    }
}

static void each_isa(const char *bench)
{
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k || (option.isa != TFN_ISA_BEST && (int)option.isa != isa)) continue;
        if (!strcmp(bench, "gemm")) bench_gemm(k);
        else row("peak", "peak", k->name, 0, peak(k->isa) * 1e-9, "GFLOP/s", -1);
    }
}

int main(int argc, char **argv)
{
    cli c = { "bench", NULL, 0, 1 };
    const char *bench = argc > 1 ? argv[1] : "", *isa = NULL;
    long threads = 1;
    c.argv = argv, c.argc = argc;
    while (argc > 1 && cli_next(&c)) {
        if (cli_is(&c, "--json")) option.json = true;
        else if (!cli_text(&c, "--isa", &isa) && !cli_text(&c, "--only", &option.only)
                 && !cli_number(&c, "--threads", 1, TFN_THREADS_MAX, &threads)) bench = "";
    }
    option.isa = tfn_isa_find(isa);
    option.threads = (int)threads;
    if (!tfn_kernels_for(option.isa)) return fprintf(stderr, "this machine lacks it\n"), 1;
    if (!strcmp(bench, "peak") || !strcmp(bench, "gemm")) each_isa(bench);
    else if (!strcmp(bench, "kernels")) bench_kernels(tfn_kernels_for(option.isa));
    else if (!strcmp(bench, "train")) bench_train();
    else if (!strcmp(bench, "decode")) bench_decode();
    else if (!strcmp(bench, "--help")) fputs(usage, stdout);
    else return fputs(usage, stderr), 2;
    return 0;
}
