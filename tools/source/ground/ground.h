#ifndef TFN__COMPILER_H
#define TFN__COMPILER_H
#include "../parts.h"
#include "builds.h"

/* The ground that every part is built on: the standard headers, attributes of functions, the
 * instruction sets that this compiler can build, and a few helpers that need no libc. */

#ifndef TFNORM_FILE
#define TFNORM_FILE "tfnorm.h"
#endif
#ifdef TFNORM_DEBUG
#define TFN__CHECKED          /* tapes check their memory; some tests define it for all kernels */
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
#if TFN__ALLOCATES
#include <stdlib.h>
#define TFN__MALLOC(size) malloc(size)
#define TFN__RELEASE(mem) free(mem)
#else
#define TFN__MALLOC(size) ((void)(size), (void *)NULL)
#define TFN__RELEASE(mem) ((void)(mem))
#endif
#include <math.h>
#if TFN__PATHS
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
#define TFN__HIDDEN           /* the system has these functions, but -std=c99 hides them */
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
 *   TFN__SMALL .. TFN__SMALL_END   enclose code that is not hot. clang optimizes it for size, which
 *                   compiles faster. For gcc there are `optimize` pragmas instead.
 *   TFN__RARE .. TFN__RARE_END     enclose code that runs when a model is made, saved or loaded,
 *                   but never in a step or for a token. It is not optimized, which saves a tenth of
 *                   the compile time. Never use it inside TFN__SMALL, which takes precedence in
 *                   clang. Helpers that such code shares with a step must be TFN__INLINE, because
 *                   gcc at -O1 inlines no others.
 *   TFN__INLINE     always inlined, except when optimizing for size
 *   TFN__APART      never inlined, and never cloned for constant arguments
 *   TFN__NOINLINE   never inlined, but gcc may (and should) clone it for constant arguments
 *   TFN__FOLD       always inlined, so that a constant result removes branches from small builds
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
#define TFN__INLINE inline __attribute__((__always_inline__))
#endif
#define TFN__FOLD inline __attribute__((__always_inline__))
#ifdef __clang__
#define TFN__APART  __attribute__((__noinline__))
#else
#define TFN__APART  __attribute__((__noinline__, __noclone__))
#endif
#define TFN__NOINLINE __attribute__((__noinline__))
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

/* The instruction sets that this compiler can build. gcc for Windows misaligns AVX spills (GCC bug
 * 54412), so it builds only the 128-bit sets. TFN__DOUBLE is the double-precision build of the
 * tests. */
#if !defined TFNORM_NO_SIMD && !defined TFNORM_DEBUG && !defined TFN__DOUBLE
#if (defined __x86_64__ || defined _M_X64) && (defined __GNUC__ || defined __clang__)
#define TFN__X86
#if !defined __MINGW32__ || defined __clang__
#define TFN__X86_WIDE
#if (defined __clang__ && __clang_major__ >= 12) || (!defined __clang__ && __GNUC__ >= 11)
#define TFN__QVNNI            /* the compiler knows VNNI, of 512 bits and of 256 */
#endif
#endif
#elif defined __aarch64__
#define TFN__NEON
#elif defined __ARM_FEATURE_SIMD32      /* two 16-bit products: Cortex-M4, M7, M33 with DSP */
#define TFN__SMLAD
#elif defined __wasm_simd128__
#define TFN__WASM
#endif
#endif

/* The instances of the kernels to build. TFNORM_ALL_ISA, which tests and tools define, builds all
 * of them. Otherwise builds for x86 omit those that a usual program never chooses:
 *
 *   plain C          slower than SSE2, which every x86-64 has, and with the same bits
 *   FMA128           only processors with FMA3 and without AVX2 need it (AMD, 2012 to 2014), and
 *                    gcc for Windows. A build with -mfma and without -mavx2 keeps it
 *   narrower sets    if the compiler may use wider instructions everywhere (-march=native), because
 *                    the program does not run where a narrower set would be chosen
 *
 * An integer set is built with the float set of its width: SSSE3 with FMA128, the two VNNI sets
 * with the wide ones. If the parts are compiled as objects, each object has one set, which the
 * Makefile names (TFN__ONE_SET). */
#ifdef TFN__ONE_SET
#ifndef TFN__X86_WIDE
#undef TFN__BUILD_AVX2
#undef TFN__BUILD_AVX512
#endif
#ifndef TFN__X86
#undef TFN__BUILD_SSE2
#undef TFN__BUILD_FMA128
#endif
#elif defined TFN__X86_WIDE && !defined TFNORM_ALL_ISA && !defined TFN__REFERENCE
#if defined __FMA__ && !defined __AVX2__
#define TFN__BUILD_FMA128
#endif
#if !(defined __AVX2__ && defined __FMA__ && defined __F16C__)
#define TFN__BUILD_SSE2
#endif
#if !(defined __AVX512F__ && defined __AVX512VNNI__ && defined TFN__QVNNI)
#define TFN__BUILD_AVX2
#endif
#define TFN__BUILD_AVX512
#else
#define TFN__BUILD_PLAIN
#ifdef TFN__X86
#define TFN__BUILD_SSE2
#define TFN__BUILD_FMA128
#endif
#ifdef TFN__X86_WIDE
#define TFN__BUILD_AVX2
#define TFN__BUILD_AVX512
#endif
#endif

/* Threads: the caller's hook if there is one, else OpenMP if it is switched on, else none. */
#if defined __GNUC__ || defined __clang__
#if defined TFNORM_PARALLEL_FOR || defined _OPENMP
#define TFN__THREADS
#endif
#if defined TFN__THREADS && !defined TFNORM_PARALLEL_FOR
#include <omp.h>
#endif
#ifndef TFNORM_PARALLEL_COUNT
#define TFNORM_PARALLEL_COUNT(threads) (threads)
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

/* Contraction of a*b + c to one instruction is off, because it would round once where the header's
 * definition of a result rounds twice. gcc lacks C99's pragma for this. The strings here and below
 * are written out, because gcc silently ignores a macro inside them. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#if defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ == 1     /* s390x under -std=c99 */
#pragma GCC optimize("excess-precision=fast")                   /* not in double */
#endif
/* Thumb-1 at -Os: gcc 12 frees a function's locals by popping them into r1 to r3, yet tells the
 * callers that the function preserves these registers. On a Cortex-M0 a call then destroyed values
 * that the caller kept in them. */
#if defined __thumb__ && !defined __thumb2__
#pragma GCC optimize("no-ipa-ra")
#endif
#elif defined _MSC_VER
#pragma fp_contract(off)
#endif

/* In a build that omits parts some helpers are unused. */
#if (defined __GNUC__ || defined __clang__) && TFN__OMITS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#ifdef TFN__DOUBLE            /* gradient tests; they also define float before the api */
#define float double
#define TFN__SQRT sqrt
#elif defined TFNORM_SQRTF
#define TFN__SQRT TFNORM_SQRTF
#else
#define TFN__SQRT sqrtf
#endif

/* True if an option (`value`) is the enumerator `which`. It is a constant if the set `kept` lacks
 * `which`, or has nothing else; resolving has refused any value outside the set. So a small build
 * drops the code of all enumerators that it does not keep. Read options only through functions that
 * call this one. */
static TFN__FOLD bool tfn__is_kept(uint32_t kept, int value, int which)
{
    if (kept == TFN_SET(which)) return true;
    return (kept & TFN_SET(which)) != 0 && value == which;
}

static TFN__INLINE ptrdiff_t tfn__min(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static TFN__INLINE ptrdiff_t tfn__max(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* Returns n as a float; below 2^48 it is rounded once. It uses 32-bit conversions, because on a
 * board a 64-bit one is a library function that brings a whole soft-float library with it. */
static float tfn__float_of(int64_t n)
{
    const float unit = 16777216;                /* 2^24 */
    const float high = (float)(int32_t)(n >> 48) * unit + (float)(int32_t)(n >> 24 & 0xffffff);
    return high * unit + (float)(int32_t)(n & 0xffffff);
}

/* strcmp and strlen, because a build with its own TFNORM_MEMSET and TFNORM_MEMCPY does not include
 * <string.h>. */
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
