#define TFNORM_FILE "../bodies/integer.c"
#include "integer_sets.h"
#include "intrinsics.h"
#include "blocks.h"
#include "packing.h"

/* -- the integer kernels: one body, read once per instruction set ------------------------------ */
#if TFN__PACKS
/* One instance per instruction set: the header includes itself (TFNORM_FILE), and TFN__QUANT_BODY
 * makes it skip everything except the body. TFN__QUSE_... selects the set; without it the instance
 * is plain C. The TFN__BUILD_... conditions name float sets, because an integer set is built with
 * the float set of its width (see ground). NEON and WASM are built with plain C, because they need
 * no options of the compiler. There are two sets with VNNI, 256 bits in AVX encoding and 512 bits,
 * because a processor may have either without the other.
 * gcc gets the parts of -O3 that vectorize the loops over a block's inputs. The body's other loops
 * are written with vector types. */
#undef TFN__IMPLEMENTING
#define TFN__QUANT_BODY
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__ && !defined TFNORM_DEBUG
#pragma GCC push_options
#pragma GCC optimize("O2", "peel-loops", "split-loops", "unswitch-loops", "tree-vectorize")
#pragma GCC optimize("vect-cost-model=dynamic", "fp-contract=off")
#define TFN__QTUNED                /* pop these options at the end */
#endif
#ifdef TFN__BUILD_PLAIN
#include TFNORM_FILE
#endif
#ifdef TFN__BUILD_SSE2
#define TFN__QUSE_SSE2
#include TFNORM_FILE
#undef TFN__QUSE_SSE2
#endif
#ifdef TFN__BUILD_FMA128
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("ssse3"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("ssse3")
#endif
#define TFN__QUSE_SSSE3
#include TFNORM_FILE
#undef TFN__QUSE_SSSE3
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#ifdef TFN__BUILD_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif
#define TFN__QUSE_AVX2
#include TFNORM_FILE
#undef TFN__QUSE_AVX2
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#if defined TFN__BUILD_AVX2 && defined TFN__QVNNI
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,f16c,avxvnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c,avxvnni")
#endif
#define TFN__QUSE_AVX_VNNI
#include TFNORM_FILE
#undef TFN__QUSE_AVX_VNNI
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#if defined TFN__BUILD_AVX512 && defined TFN__QVNNI
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vnni,avx2"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vnni,avx2")
#endif
#define TFN__QUSE_AVX512
#include TFNORM_FILE
#undef TFN__QUSE_AVX512
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#if defined TFN__NEON && defined TFN__BUILD_PLAIN
#define TFN__QUSE_NEON
#include TFNORM_FILE
#undef TFN__QUSE_NEON
#endif
#if defined TFN__WASM && defined TFN__BUILD_PLAIN
#define TFN__QUSE_WASM
#include TFNORM_FILE
#undef TFN__QUSE_WASM
#endif
#ifdef TFN__QTUNED
#pragma GCC pop_options
#undef TFN__QTUNED
#endif
#undef TFN__QUANT_BODY
#define TFN__IMPLEMENTING
/* macros of blocks.h that no later part needs */
#undef TFN__UNROLL
#undef TFN__FETCH_FAR
#endif
