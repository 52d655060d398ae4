#define TFNORM_FILE "../bodies/bodies.h"
#include "instances.h"
#include "../ground/basics.h"
#include "../ground/math.h"
#include "columns.h"
#include "strips.h"
#include "losses.h"
#include "intrinsics.h"
#include "blocks.h"

/* One instance of the kernels per instruction set. Contraction is off in all of them. How gcc
 * optimizes each:
 *
 *   AVX-512, AVX2, NEON, WebAssembly, and plain C on other processors than x86
 *                -O2 with those parts of -O3 that pay, because gcc 12 at -O2 does not vectorize
 *                these bodies. All of -O3 would take a second longer to compile.
 *   SSE2, FMA128 -O1 if there are wider sets, because few processors then run them, else -O2 as
 *                above. -Og would not keep a tile's arrays in registers. FMA128 must never use
 *                wider registers: see TFN__X86_WIDE.
 *   plain C on x86 -Og, because SSE2 is always there: only the tests run plain C, as the reference.
 *
 * clang optimizes SSE2, FMA128 and this plain C for size. The bits do not depend on any of this. */
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__ && !defined TFNORM_DEBUG
#define TFN__TUNED            /* the pragmas below apply */
#endif
#define TFN__BODY
/* Plain C on x86: the reference with which the tests compare the other sets. */
#if defined TFN__X86 && defined TFN__BUILD_PLAIN
#ifdef TFN__TUNED
#pragma GCC push_options
#pragma GCC optimize("Og", "fp-contract=off")
#endif
TFN__SMALL
#define TFN__USE_PLAIN
#include TFNORM_FILE
#undef TFN__USE_PLAIN
TFN__SMALL_END
#ifdef TFN__TUNED
#pragma GCC pop_options
#endif
#endif

#ifdef TFN__TUNED
#pragma GCC push_options
#ifdef TFN__X86_WIDE
#pragma GCC optimize("O1", "fp-contract=off")
#else
#pragma GCC optimize("O2", "peel-loops", "split-loops", "vect-cost-model=dynamic")
#pragma GCC optimize("fp-contract=off")
#endif
#endif
/* SSE2: every x86-64 has it. Processors without FMA3 use it. */
#ifdef TFN__BUILD_SSE2
TFN__SMALL
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("sse2"))), apply_to = function)
#endif
#define TFN__USE_SSE2
#include TFNORM_FILE
#undef TFN__USE_SSE2
#ifdef __clang__
#pragma clang attribute pop
#endif
TFN__SMALL_END
#endif
/* FMA3 in 128 bits: AMD's Piledriver and Steamroller (2012 to 2014) have no AVX2, and gcc for
 * Windows cannot build the wide sets. */
#ifdef TFN__BUILD_FMA128
TFN__SMALL
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx,fma"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC target("avx,fma,prefer-vector-width=128")
#endif
#define TFN__USE_FMA128
#include TFNORM_FILE
#undef TFN__USE_FMA128
#ifdef __clang__
#pragma clang attribute pop
#elif defined __GNUC__
#pragma GCC pop_options
#endif
TFN__SMALL_END
#endif
#ifdef TFN__TUNED
#pragma GCC pop_options
#endif

#ifdef TFN__TUNED
#pragma GCC push_options
#pragma GCC optimize("O2", "peel-loops", "split-loops", "unswitch-loops")
#pragma GCC optimize("vect-cost-model=dynamic", "fp-contract=off")
#endif
/* Not x86: plain C may be the only set, so it is optimized like a vector set. */
#if !defined TFN__X86 && defined TFN__BUILD_PLAIN
#define TFN__USE_PLAIN
#include TFNORM_FILE
#undef TFN__USE_PLAIN
#endif

/* The wide sets of x86. They need a compiler that handles them correctly (TFN__X86_WIDE). */
#ifdef TFN__BUILD_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define TFN__USE_AVX2
#include TFNORM_FILE
#undef TFN__USE_AVX2
#ifdef __clang__
#pragma clang attribute pop
#elif defined __GNUC__
#pragma GCC pop_options
#endif
#endif
#ifdef TFN__BUILD_AVX512
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif
#define TFN__USE_AVX512
#include TFNORM_FILE
#undef TFN__USE_AVX512
#ifdef __clang__
#pragma clang attribute pop
#elif defined __GNUC__
#pragma GCC pop_options
#endif
#endif

/* NEON and WebAssembly are always built together with plain C, also as objects (TFN__ONE_SET). */
#if defined TFN__NEON && defined TFN__BUILD_PLAIN
#define TFN__USE_NEON
#include TFNORM_FILE
#undef TFN__USE_NEON
#endif
#if defined TFN__WASM && defined TFN__BUILD_PLAIN
#define TFN__USE_WASM
#include TFNORM_FILE
#undef TFN__USE_WASM
#endif
#undef TFN__BODY

#ifdef TFN__TUNED
#pragma GCC pop_options
#endif
#undef TFN__TUNED
#undef TFN__KC
#undef TFN__MC
#undef TFN__NC
#undef TFN__NR
#undef TFN__PASS
#undef TFN__APART
#undef TFN__FETCH
