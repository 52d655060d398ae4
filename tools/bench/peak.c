/* Independent chains in registers, and reading by the C library. */
#include "peak.h"
#include "contest.h"
#include <stdlib.h>
#include <string.h>

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

double peak(tfn_isa isa)
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
static void run_reading(void *job)
{
    const reading *r = (const reading *)job;
    const void *volatile found = memchr(r->x, 2, r->n);
    (void)found;
}
double our_reading(void *job)
{
    return time_job(run_reading, job, &((reading *)job)->calls);
}
reading reading_of(size_t n)
{
    reading r = { (unsigned char *)need(malloc(n)), n, 0 };
    memset(r.x, 1, n);
    return r;
}
static double our_multiply_adds(void *job) { return 1e9 / peak(*(const tfn_isa *)job); }

void bench_peak(const tfn_kernels *k)
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
