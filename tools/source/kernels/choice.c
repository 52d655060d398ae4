#include "choice.h"
#include "instances.h"
#include "../ground/ground.h"

/* Chooses the table of kernels for this processor, and checks whether its bits are canonical
 * (tfn_bits). Builds on instances. */

/* Returns the table of one instruction set, or NULL if this build or this processor lacks it.
 *
 * SSE2 is part of x86-64, NEON of AArch64, and an engine without SIMD does not load a WebAssembly
 * module that uses it, so these need no test. FMA3, AVX2 and AVX-512 do. The compiler's function
 * also tests whether the system saves the wide registers. */
static const tfn_kernels *tfn__kernels_of(tfn_isa isa)
{
#ifdef TFN__BUILD_SSE2
    if (isa == TFN_ISA_SSE2) return &tfn__kernels_sse2;
#endif
#ifdef TFN__BUILD_FMA128
    if (isa == TFN_ISA_FMA128 && __builtin_cpu_supports("fma")) return &tfn__kernels_fma128;
#endif
#ifdef TFN__BUILD_AVX2
    if (isa == TFN_ISA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &tfn__kernels_avx2;
#endif
#ifdef TFN__BUILD_AVX512
    if (isa == TFN_ISA_AVX512 && __builtin_cpu_supports("avx512f")) return &tfn__kernels_avx512;
#endif
#ifdef TFN__NEON
    if (isa == TFN_ISA_NEON) return &tfn__kernels_neon;
#endif
#ifdef TFN__WASM
    if (isa == TFN_ISA_WASM) return &tfn__kernels_wasm;
#endif
#ifdef TFN__BUILD_PLAIN
    if (isa == TFN_ISA_PLAIN) return &tfn__kernels_plain;
#endif
    (void)isa;
    return NULL;
}

/* The best set is the widest that has a fused multiply-add. SSE2 comes last on x86, because its
 * bits are not the canonical ones. A program should call this once and keep the table. */
TFNORM_API const tfn_kernels *tfn_kernels_for(tfn_isa isa)
{
    static const tfn_isa best[] = { TFN_ISA_AVX512, TFN_ISA_AVX2, TFN_ISA_FMA128, TFN_ISA_NEON,
                                    TFN_ISA_SSE2, TFN_ISA_WASM };
    if (isa != TFN_ISA_BEST) return tfn__kernels_of(isa);
    for (size_t i = 0; i < sizeof best / sizeof *best; i++)
        if (tfn__kernels_of(best[i])) return tfn__kernels_of(best[i]);
    return tfn__kernels_of(TFN_ISA_PLAIN);
}

/* The names of the tables (tfn_kernels.name), in the order of tfn_isa. */
SHARED const char tfn__isa_names[TFN_ISA_COUNT][8] = {
    "best", "plain", "sse2", "fma128", "avx2", "avx512", "neon", "wasm"
};
TFNORM_API tfn_isa tfn_isa_find(const char *name)
{
    if (!name) return TFN_ISA_BEST;
    for (int isa = 0; isa < TFN_ISA_COUNT; isa++)
        if (tfn__equal(name, tfn__isa_names[isa])) return (tfn_isa)isa;
    return TFN_ISA_BEST;
}

/* Returns a*b + c as a product of 1x1 matrices computes it. */
static float tfn__try_fma(const tfn_kernels *kernels, float a, float b, float c)
{
    float y = 0;
    float work[80];
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = &y;
    p.start = &c;
    p.a = &a;
    p.b = &b;
    p.m = p.n = p.k = 1;
    p.c_ld = p.start_ld = 1;
    p.a_row = p.a_col = 1;
    p.b_row = p.b_col = 1;
    kernels->matmul(&p, work);
    return y;
}

/* Returns a*b + d*c as an elementwise kernel computes it, which must round each product and then
 * the sum. */
static float tfn__try_sum(const tfn_kernels *kernels, float a, float b, float d, float c)
{
    float y = 0;
    kernels->combine(&y, &b, &c, 1, a, d, false);
    return y;
}

/* True if sums are not rounded to nearest. e = 2^-24 is half the distance from 1 to the next float.
 * 1 + 3/2 e is nearest to that float, but becomes 1 if the mode is downward or toward 0. 1 + e/2 is
 * nearest to 1, but becomes the next float if the mode is upward. Kernels and scalar code may use
 * different units of the processor, each with its own mode, so both are tried. */
static bool tfn__rounds_elsewhere(const tfn_kernels *kernels, float one, float e)
{
    volatile float much = one + 3 * (e / 2);
    volatile float little = one + e / 2;
    if (!(much > one) || little != one) return true;
    if (tfn__try_sum(kernels, 1, one, 3, e / 2) != one + 2*e) return true;
    return tfn__try_sum(kernels, 1, one, 1, e / 2) != one;
}

/* Tries everything that compiler flags or processor modes can break. The numbers are volatile, so
 * that the compiler cannot compute the answers. e = 2^-24 is half the distance from 1 to the next
 * float. */
TFNORM_API const char *tfn_bits(tfn_isa isa)
{
    const tfn_kernels *k = tfn_kernels_for(isa);
    volatile float half = (float)0.5;
    volatile float e = (float)(1.0 / 16777216);
    volatile float h = (float)(1.0 / 4096);
    volatile float tiny = (float)1.17549435e-38;         /* the smallest normal number */
    volatile float big = (float)1e8;                     /* floats around it are 8 apart */
    volatile float sum = big + 1;
    volatile float root = 1 + h;                 /* root^2 = square + e. Both are volatile, */
    volatile float square = 1 + 2*h;             /* or a compiler that contracts would share */
    volatile float one = 1;                      /* products between the tests */
    const float next = 1 + 2*e;

    if (!k) return "differ: the instruction set is not available";
    if (sizeof next != 4) return "differ: double";
    if (tfn__rounds_elsewhere(k, one, e)) return "differ: the rounding mode is not to nearest";

    /* root^2 - square is e if the product is exact, 0 if it is rounded first */
    if (k->fma && tfn__try_fma(k, root, root, -square) != e)
        return "differ: the FMA rounds its product";
    /* a sum just below the midpoint of two floats: rounded to double first, it is the midpoint */
    if (k->fma && tfn__try_fma(k, next, e * (2 - next), next) != next)
        return "differ: the FMA rounds twice";

    /* outside matrix products nothing may be fused, so two equal products must cancel to 0 */
    if (tfn__try_sum(k, root, root, root, -root) != 0 || root * root - square != 0)
        return "differ: products are contracted";
    /* an x87 unit keeps e of the product until it is stored */
    if (tfn__try_sum(k, root, root, 1, -square) != 0) return "differ: sums are wider than a float";
    /* half the smallest normal number is denormal, and two such halves must add up to it again */
    if (tfn__try_sum(k, half, tiny, half, tiny) != tiny || tfn__try_sum(k, half, tiny, 0, 0) == 0)
        return "differ: denormals are flushed";
    /* 1e8 + 1 rounds to 1e8, so subtracting 1e8 gives 0; a reassociated sum gives 1 */
    if (sum - big != 0 || (big + half) - big != 0) return "differ: sums are reassociated";
    if (!k->fma) return "differ: no FMA";
    return "canonical";
}
