#define TFNORM_FILE "../bodies/integer.c"
#include "integer_sets.h"
#include "intrinsics.h"
#include "blocks.h"
#include "packing.h"

#ifdef TFN__QUANT

/* -- helpers that the products of all instruction sets share ----------------------------------- */

/* Returns the panel that contains the first output of the product. */
SHARED tfn__quant_panel tfn__quant_panel_of(const tfn_quant_args *p)
{
    const uint8_t *w = (const uint8_t *)p->w;
    const ptrdiff_t panel = p->first / TFN__QPANEL;
    tfn__quant_panel at;
    at.blocks = tfn__quant_blocks(p->k);
    at.bytes = tfn__quant_block_bytes(p->type);
    at.four = p->type == TFN_WEIGHTS_Q4;
    at.q = w + panel * at.blocks * at.bytes;
    at.scales = (const uint16_t *)(const void *)(w + tfn__quant_scales(p->type, p->k, p->outputs));
    at.scales += panel * at.blocks * TFN__QPANEL;
    return at;
}

/* For a panel that is not whole, a tile is computed in y, a copy: begin copies the start values of
 * its chains into y, end copies the results into c. The panel's padding outputs are computed, too,
 * but must not be stored, because c has no room for them. */
SHARED void tfn__quant_begin(float *y, const tfn_quant_args *p, ptrdiff_t i, ptrdiff_t rows,
                             ptrdiff_t j, ptrdiff_t count)
{
    TFNORM_MEMSET(y, 0, (size_t)(rows * TFN__QPANEL) * sizeof *y);
    if (!p->start) return;
    for (ptrdiff_t t = 0; t < rows; t++)
        TFNORM_MEMCPY(y + t * TFN__QPANEL, p->start + (i + t) * p->start_ld + j,
                      (size_t)count * sizeof *y);
}
SHARED void tfn__quant_end(const tfn_quant_args *p, const float *y, ptrdiff_t i, ptrdiff_t rows,
                           ptrdiff_t j, ptrdiff_t count)
{
    for (ptrdiff_t t = 0; t < rows; t++)
        TFNORM_MEMCPY(p->c + (i + t) * p->c_ld + j, y + t * TFN__QPANEL,
                      (size_t)count * sizeof *y);
}
#endif
#if defined TFN__QUANT && defined TFN__X86_WIDE
/* Two features for which gcc 12 and clang 14 have no __builtin_cpu_supports. F16C converts halves:
 * CPUID 1, ECX bit 29 (all known processors with AVX2 have it). AVX-VNNI is VNNI on 256 bits in
 * VEX encoding: CPUID 7.1, EAX bit 4. */
#include <cpuid.h>
SHARED bool tfn__has_f16c(void)
{
    unsigned a;
    unsigned b;
    unsigned c = 0;
    unsigned d;
    if (!__builtin_cpu_supports("avx2")) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    return c >> 29 & 1;
}
#if (defined __clang__ && __clang_major__ >= 12) || (!defined __clang__ && __GNUC__ >= 11)
SHARED bool tfn__has_avx_vnni(void)
{
    unsigned a = 0;
    unsigned b;
    unsigned c;
    unsigned d;
    if (!tfn__has_f16c()) return false;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return false;
    return a >> 4 & 1;
}
#endif
#endif

/* -- the integer kernels: one body, read once per instruction set ------------------------------ */
#ifdef TFN__QUANT
/* One instance per instruction set: the header includes itself and skips everything except the
 * body. With gcc all instances use the parts of -O3 that vectorize the loops over a block's inputs;
 * the other loops are written with vectors. There are two sets with VNNI, 256 bits in AVX encoding
 * and 512 bits, because a processor may have either without the other. */
#undef TFN__IMPLEMENTING
#define TFN__QUANT_BODY
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__ && !defined TFNORM_DEBUG
#pragma GCC push_options
#pragma GCC optimize("O2", "peel-loops", "split-loops", "unswitch-loops", "tree-vectorize")
#pragma GCC optimize("vect-cost-model=dynamic", "fp-contract=off")
#define TFN__QTUNED
#endif
#ifdef TFN__BUILD_PLAIN
#include TFNORM_FILE
#endif
#ifdef TFN__X86
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
#ifdef TFN__X86_WIDE
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
#ifdef TFN__QVNNI
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
#ifdef TFN__QVNNI
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
#ifdef TFN__NEON
#define TFN__QUSE_NEON
#include TFNORM_FILE
#undef TFN__QUSE_NEON
#endif
#ifdef TFN__WASM
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
#undef TFN__UNROLL
#undef TFN__FETCH_FAR
#endif
