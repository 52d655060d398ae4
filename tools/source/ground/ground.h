#ifndef TFN__COMPILER_H
#define TFN__COMPILER_H
#include "../parts.h"

#ifndef TFNORM_FILE
#define TFNORM_FILE "tfnorm.h"
#endif
#ifdef TFNORM_DEBUG
#define TFN__CHECKED          /* tapes look at their memory; some tests do so with all kernels */
#endif
#if defined TFNORM_DEBUG && !defined TFNORM_ASSERT
#include <assert.h>
#define TFNORM_ASSERT(x) assert(x)
#endif
#ifndef TFNORM_ASSERT
#define TFNORM_ASSERT(x) ((void)0)
#endif
#if !defined TFNORM_MEMSET || !defined TFNORM_MEMCPY
#include <string.h>
#endif
#ifndef TFNORM_MEMSET
#define TFNORM_MEMSET memset
#endif
#ifndef TFNORM_MEMCPY
#define TFNORM_MEMCPY memcpy
#endif
#ifndef TFNORM_NO_MALLOC
#include <stdlib.h>
#endif
#include <math.h>
#if !defined TFNORM_NO_STDIO && !defined TFNORM_NO_FILES && !defined TFNORM_ONLY_KERNELS
#define TFN__STDIO
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined _WIN32
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <sys/types.h>
#elif (defined __unix__ || defined __APPLE__) && (!defined __STRICT_ANSI__ \
    || !defined __cplusplus || (defined _POSIX_C_SOURCE && _POSIX_C_SOURCE >= 200809L))
#define TFN__POSIX
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#if defined __STRICT_ANSI__ && !defined __cplusplus \
    && !(defined _POSIX_C_SOURCE && _POSIX_C_SOURCE >= 200809L)
#define TFN__HIDDEN           /* -std=c99 hides these declarations, but the system has them */
FILE *fdopen(int, const char *);
int fileno(FILE *);
int fsync(int);
int fchmod(int, mode_t);
int fchown(int, uid_t, gid_t);
ssize_t readlink(const char *, char *, size_t);
#endif
#endif
#endif

/* Attributes of functions, by compiler:
 *   TFN__SMALL .. TFN__SMALL_END   around code that is not hot: clang optimizes it for size, which
 *                   takes less time. gcc has `optimize` pragmas in its place.
 *   TFN__RARE .. TFN__RARE_END     around code that runs when a model is made, saved or loaded, and
 *                   not in a step or a token: not optimized, which saves a tenth of the time that
 *                   the header takes. Not within TFN__SMALL, which clang puts first. Helpers that
 *                   a step shares with it are TFN__INLINE: gcc at -O1 inlines no others.
 *   TFN__INLINE     inlined always, but where size was asked for
 *   TFN__APART      never inlined, nor copied for arguments that are constant
 *   TFN__NOINLINE   never inlined; gcc may copy it for constant arguments, and should
 *   TFN__RESTRICT   C99's restrict, also in C++ */
#if defined __clang__ && !defined TFNORM_DEBUG
#define TFN__SMALL \
    _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define TFN__SMALL_END _Pragma("clang attribute pop")
#else
#define TFN__SMALL
#define TFN__SMALL_END
#endif
#if !defined __OPTIMIZE__ || defined __OPTIMIZE_SIZE__ || defined TFNORM_DEBUG
#define TFN__RARE
#define TFN__RARE_END
#elif defined __clang__
#define TFN__RARE     _Pragma("clang optimize off")
#define TFN__RARE_END _Pragma("clang optimize on")
#elif defined __GNUC__
#define TFN__RARE \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"O0\", \"fp-contract=off\")")
#define TFN__RARE_END _Pragma("GCC pop_options")
#else
#define TFN__RARE
#define TFN__RARE_END
#endif
#if defined __GNUC__ || defined __clang__
#if defined __OPTIMIZE_SIZE__ || defined TFNORM_DEBUG
#define TFN__INLINE inline
#else
#define TFN__INLINE inline __attribute__((always_inline))
#endif
#define TFN__FOLD inline __attribute__((always_inline))     /* in small builds it is a constant */
#ifdef __clang__
#define TFN__APART  __attribute__((noinline))
#else
#define TFN__APART  __attribute__((noinline, noclone))
#endif
#define TFN__NOINLINE __attribute__((noinline))
#define TFN__RESTRICT __restrict
#elif defined _MSC_VER
#define TFN__INLINE __forceinline
#define TFN__FOLD __forceinline
#define TFN__APART  __declspec(noinline)
#define TFN__NOINLINE
#define TFN__RESTRICT __restrict
#else
#define TFN__INLINE inline
#define TFN__FOLD inline
#define TFN__APART
#define TFN__NOINLINE
#define TFN__RESTRICT
#endif

/* Which instruction sets this compiler can build. gcc for Windows misaligns AVX spills (GCC bug
 * 54412), so there only the 128-bit sets are built. TFN__DOUBLE is the tests' double build. */
#if !defined TFNORM_NO_SIMD && !defined TFNORM_DEBUG && !defined TFN__DOUBLE
#if (defined __x86_64__ || defined _M_X64) && (defined __GNUC__ || defined __clang__)
#define TFN__X86
#if !defined __MINGW32__ || defined __clang__
#define TFN__X86_WIDE
#endif
#elif defined __aarch64__
#define TFN__NEON
#elif defined __ARM_FEATURE_SIMD32      /* two products of 16 bits: Cortex-M4, M7, M33 with DSP */
#define TFN__SMLAD
#elif defined __wasm_simd128__
#define TFN__WASM
#endif
#endif

/* Threads: the caller's hook, else OpenMP where the compiler has it on, else none. */
#if defined __GNUC__ || defined __clang__
#if defined TFNORM_PARALLEL_FOR || defined _OPENMP
#define TFN__THREADS
#endif
#if defined TFN__THREADS && !defined TFNORM_PARALLEL_FOR
#include <omp.h>
#endif
#if defined _WIN32
#include <windows.h>
#define TFN__YIELD() Sleep(0)
#elif defined __unix__ || defined __APPLE__
#include <sched.h>
#define TFN__YIELD() sched_yield()
#else
#define TFN__YIELD() ((void)0)
#endif
#endif

/* TFN__TRAINS, TFN__PACKS and TFN__ALL are constants for conditions, so that a compiler drops
 * what hangs on them: training, weights of fewer bits, and what a decoder asks for by
 * TFNORM_ALL_NORMS, namely norms other than LayerNorm and RMSNorm and topologies other than Pre-
 * LN and Post-LN. */
#ifdef TFNORM_NO_TRAINING
#define TFN__TRAINS false
#else
#define TFN__TRAINS true
#endif
#if !defined TFNORM_NO_QUANT && !defined TFN__DOUBLE
#define TFN__QUANT
#define TFN__PACKS true
#else
#define TFN__PACKS false
#endif
#if !(defined TFNORM_NO_TRAINING || defined TFNORM_PLAIN) || defined TFNORM_ALL_NORMS
#define TFN__EXTRA_NORMS
#define TFN__ALL true
#define TFN__FULL(name) name
#define TFN__ROW_TEXTS(formula, paper) formula, paper
#else
#define TFN__ALL false
#define TFN__FULL(name) ""
#define TFN__ROW_TEXTS(formula, paper) NULL, NULL
#endif
/* What a linker cannot drop by itself: rows of tables, the strings that they point to, and branches
 * that depend on an option. The macros of config become constants here, one for each question.
 *
 * What such a constant drops is asked for in up to three ways: by an option, which
 * tfn_model_resolve refuses; on a tape, where tfn__record refuses a row without a forward, and an
 * operation's own function an argument whose kernel is gone; and straight from the table of
 * kernels, where it is NULL. The errors name the macro: who has set it a year ago must not have to
 * look for what is missing. tests/compile/small.c tries each of them, in a build with the macro and
 * in one without.
 */
#if defined TFNORM_NO_TRAINING || defined TFNORM_PLAIN
#define TFN__SHORT_ERRORS               /* error messages without suggestions and numbers */
#endif
#if defined TFNORM_ONLY_DECODERS || defined TFNORM_PLAIN
#define TFN__USER_KERNELS false    /* kernels that only users call, never a tape or a model */
#else
#define TFN__USER_KERNELS true
#endif
#ifdef TFNORM_NO_SCALES
#define TFN__SCALES false
#else
#define TFN__SCALES true
#endif
#ifdef TFNORM_ONLY_DECODERS
#define TFN__SENTENCES false              /* tapes of whole sentences */
#else
#define TFN__SENTENCES true
#endif
#ifdef TFNORM_NO_DECODERS
#define TFN__DECODES false                /* caches */
#else
#define TFN__DECODES true
#endif
#if defined TFNORM_NO_TRAINING || defined TFNORM_NO_DROPOUT
#define TFN__DROPS false
#else
#define TFN__DROPS true
#endif
#ifdef TFNORM_NO_GROUPS
#define TFN__GROUPS false                 /* of parameters: desc.groups */
#else
#define TFN__GROUPS true
#endif

/* Sets of what is kept, all unless the user says otherwise. TFN__KEEPS is a constant, too; it drops
 * a row's function where TFN__KEPT stands for it. */
#ifndef TFNORM_ARCHS
#define TFNORM_ARCHS UINT32_MAX
#endif
#ifndef TFNORM_NORMS
#define TFNORM_NORMS UINT32_MAX
#endif
#ifndef TFNORM_POSITIONS
#define TFNORM_POSITIONS UINT32_MAX
#endif
#ifndef TFNORM_ACTIVATIONS
#define TFNORM_ACTIVATIONS UINT32_MAX
#endif
#ifndef TFNORM_OPTIMIZERS
#define TFNORM_OPTIMIZERS UINT32_MAX
#endif
#ifndef TFNORM_SCHEDULES
#define TFNORM_SCHEDULES UINT32_MAX
#endif
/* Conditions of more than one enumerator: gates, which are built otherwise than activations; what
 * reads a table that is computed when the model is made, in double; optimizers that see one tensor
 * at a time, of which all others need neither the kernels nor their scratch. */
#define TFN__KEEPS(set, x) (((TFNORM_##set) >> (x) & 1u) != 0)
#define TFN__KEPT(condition, function) ((condition) ? function : NULL)
#ifdef TFNORM_ONLY_KERNELS      /* where no model has positions */
#define TFN__ROTATES true
#else
#define TFN__ROTATES TFN__KEEPS(POSITIONS, TFN_POSITION_ROTARY)
#endif
#define TFN__GATES (TFN__KEEPS(ACTIVATIONS, TFN_ACTIVATION_GEGLU)                                  \
                    || TFN__KEEPS(ACTIVATIONS, TFN_ACTIVATION_GEGLU_TANH)                          \
                    || TFN__KEEPS(ACTIVATIONS, TFN_ACTIVATION_SWIGLU))
/* The functions of one value, as a set: what is kept, and what the gates that are kept need. */
#define TFN__OF_GATE(gate, which) (TFN__KEEPS(ACTIVATIONS, gate) ? TFN_SET(which) : 0)
#define TFN__FUNCTIONS ((TFNORM_ACTIVATIONS)                                                       \
                        | TFN__OF_GATE(TFN_ACTIVATION_GEGLU, TFN_ACTIVATION_GELU)                  \
                        | TFN__OF_GATE(TFN_ACTIVATION_GEGLU_TANH, TFN_ACTIVATION_GELU_TANH)        \
                        | TFN__OF_GATE(TFN_ACTIVATION_SWIGLU, TFN_ACTIVATION_SILU))
#define TFN__POSITION_TABLES (TFN__KEEPS(POSITIONS, TFN_POSITION_ROTARY)                           \
                              || TFN__KEEPS(POSITIONS, TFN_POSITION_ALIBI)                         \
                              || TFN__KEEPS(POSITIONS, TFN_POSITION_SINUSOIDAL)                    \
                              || TFN__KEEPS(POSITIONS, TFN_POSITION_SINUSOIDAL_FAIRSEQ))
#define TFN__BY_TENSOR (TFN__KEEPS(OPTIMIZERS, TFN_OPTIMIZER_MUON)                                 \
                        || TFN__KEEPS(OPTIMIZERS, TFN_OPTIMIZER_ADAFACTOR))

/* A compiler that contracts a*b + c to one instruction rounds once where the header's definition
 * of its results rounds twice, so contraction is off. gcc has no pragma of the standard for it. The
 * strings are written out here and below: gcc ignores a macro inside them, silently. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#if defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ == 1     /* s390x under -std=c99 */
#pragma GCC optimize("excess-precision=fast")                   /* not in double */
#endif
/* Thumb-1 at -Os: gcc 12 pops a function's locals into r1 to r3 to free them, and tells its callers
 * that it leaves these registers alone. So a Cortex-M0 lost what it held in them over a call. */
#if defined __thumb__ && !defined __thumb2__
#pragma GCC optimize("no-ipa-ra")
#endif
#elif defined _MSC_VER
#pragma fp_contract(off)
#endif

/* Parts left out by macro leave helpers that nobody calls. */
#if (defined __GNUC__ || defined __clang__) \
    && (defined TFNORM_NO_TRAINING || defined TFNORM_PLAIN || defined TFNORM_ONLY_KERNELS \
        || defined TFNORM_NO_TOKENIZERS || defined TFNORM_NO_METRICS || defined TFNORM_NO_FILES \
        || defined TFNORM_NO_IMPORT || defined TFNORM_NO_QUANT || defined TFNORM_NO_STDIO \
        || defined TFNORM_NO_MALLOC || defined TFNORM_NO_PICKLE)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#ifdef TFN__DOUBLE            /* gradient tests, which define float before the api as well */
#define float double
#define TFN__SQRT sqrt
#elif defined TFNORM_SQRTF
#define TFN__SQRT TFNORM_SQRTF
#else
#define TFN__SQRT sqrtf
#endif

/* Options that are enumerations are asked through functions that call this one, in whose place a
 * small build has a constant, so that the compiler drops what only other values want: the same way
 * in which TFN__ALL leaves out the norms and topologies beyond the usual ones.
 * The value is this one of those that are kept. No question is left if it is the only one: a value
 * outside the set was refused. */
static TFN__FOLD bool tfn__is_kept(uint32_t kept, int value, int which)
{
    if (kept == TFN_SET(which)) return true;
    return (kept & TFN_SET(which)) != 0 && value == which;
}

static TFN__INLINE ptrdiff_t tfn__min(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static TFN__INLINE ptrdiff_t tfn__max(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* A number, below 2^48 rounded once, by conversions of 32 bits: those of 64 are a library's on
 * boards, and bring its arithmetic with them. */
static float tfn__float_of(int64_t n)
{
    const float unit = 16777216;                /* 2^24 */
    const float high = (float)(int32_t)(n >> 48) * unit + (float)(int32_t)(n >> 24 & 0xffffff);
    return high * unit + (float)(int32_t)(n & 0xffffff);
}

/* strcmp, strlen: a build with its own TFNORM_MEMSET and TFNORM_MEMCPY has no <string.h>. */
static int tfn__compare(const char *a, const char *b)
{
    while (*a == *b) {
        if (*a == 0) return 0;
        a++;
        b++;
    }
    return (int)(uint8_t)*a - (int)(uint8_t)*b;
}
static bool tfn__equal(const char *a, const char *b) { return tfn__compare(a, b) == 0; }

static size_t tfn__length(const char *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}
#endif /* TFN__COMPILER_H */
