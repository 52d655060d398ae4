#include "products.h"
#include "blocks.h"
#include "instances.h"
#include "integer_sets.h"

#if TFN__PACKS
/* -- choice ----------------------------------------------------------------------------------- */

/* All instances have the same bits, so the choice only affects speed. A tape chooses once, when it
 * is planned (tfn_tape.quant), to match its float kernels. */

#ifdef TFN__BUILD_AVX2
/* Two features for which gcc 12 and clang 14 have no __builtin_cpu_supports. F16C converts halves:
 * CPUID 1, ECX bit 29 (all known processors with AVX2 have it). AVX-VNNI is VNNI on 256 bits in
 * VEX encoding: CPUID 7.1, EAX bit 4. */
#include <cpuid.h>
static bool tfn__has_f16c(void)
{
    unsigned a;
    unsigned b;
    unsigned c = 0;
    unsigned d;
    if (!__builtin_cpu_supports("avx2")) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    return c >> 29 & 1;
}
#ifdef TFN__QVNNI
static bool tfn__has_avx_vnni(void)
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

/* Returns the kernels of one instruction set, or NULL if this build or this processor lacks it. See
 * tfn__kernels_of. */
static const tfn_quant_kernels *tfn__quant_of(tfn_quant_isa isa)
{
#ifdef TFN__BUILD_SSE2
    if (isa == TFN_QUANT_SSE2) return &tfn__quant_kernels_sse2;
#endif
#ifdef TFN__BUILD_FMA128
    if (isa == TFN_QUANT_SSSE3 && __builtin_cpu_supports("ssse3"))
        return &tfn__quant_kernels_ssse3;
#endif
#ifdef TFN__BUILD_AVX2
    if (isa == TFN_QUANT_AVX2 && tfn__has_f16c()) return &tfn__quant_kernels_avx2;
#endif
#if defined TFN__BUILD_AVX2 && defined TFN__QVNNI
    if (isa == TFN_QUANT_AVX_VNNI && tfn__has_avx_vnni()) return &tfn__quant_kernels_avx_vnni;
#endif
#ifdef TFN__QVNNI
    if (isa == TFN_QUANT_AVX512_VNNI && __builtin_cpu_supports("avx512vnni"))
        return &tfn__quant_kernels_avx512_vnni;
#endif
#ifdef TFN__NEON
    if (isa == TFN_QUANT_NEON) return &tfn__quant_kernels_neon;
#endif
#ifdef TFN__WASM
    if (isa == TFN_QUANT_WASM) return &tfn__quant_kernels_wasm;
#endif
#ifdef TFN__BUILD_PLAIN
    if (isa == TFN_QUANT_PLAIN) return &tfn__quant_kernels_plain;
#endif
    (void)isa;
    return NULL;
}

/* Returns the widest available set that is not wider than `most`, in the order of the enumeration.
 * There the sets of x86 come before those for other processors; no build has both. */
static const tfn_quant_kernels *tfn__quant_up_to(tfn_quant_isa most)
{
    for (int isa = (int)most; isa > TFN_QUANT_BEST; isa--) {
        const tfn_quant_kernels *k = tfn__quant_of((tfn_quant_isa)isa);
        if (k) return k;
    }
    return NULL;
}

TFNORM_API const tfn_quant_kernels *tfn_quant_kernels_for(tfn_quant_isa isa)
{
    if (isa == TFN_QUANT_BEST) return tfn__quant_up_to((tfn_quant_isa)(TFN_QUANT_COUNT - 1));
    return tfn__quant_of(isa);
}

/* Returns the kernels that match a table of float kernels. They are not wider than it, so that a
 * model that is limited to an instruction set uses no wider one. */
SHARED const tfn_quant_kernels *tfn__quant_beside(const tfn_kernels *k)
{
    switch (k->isa) {
    case TFN_ISA_PLAIN: return tfn__quant_of(TFN_QUANT_PLAIN);
    case TFN_ISA_SSE2: return tfn__quant_of(TFN_QUANT_SSE2);
    case TFN_ISA_FMA128: return tfn__quant_of(TFN_QUANT_SSSE3);
    case TFN_ISA_AVX2: return tfn__quant_up_to(TFN_QUANT_AVX_VNNI);
    case TFN_ISA_AVX512: return tfn__quant_up_to(TFN_QUANT_AVX512_VNNI);
    case TFN_ISA_NEON: return tfn__quant_of(TFN_QUANT_NEON);
    default: return tfn__quant_of(TFN_QUANT_WASM);
    }
}

/* -- products of any type --------------------------------------------------------------------- */

/* Q8 and Q4 use the integer kernels. BF16 and F16 use the float kernels. AVX2, AVX-512 and NEON
 * have products for them: section halves. Elsewhere one tile at a time is converted to floats, in
 * the caller's work, and multiplied while it is in a cache. With few rows such a product is bound
 * by memory, and reads half as many bytes as floats; with many rows it is bound by the float
 * kernels.
 *
 * Time for the maps of GPT-2 (124M) on one core of a Sapphire Rapids, compared with floats:
 *
 *                         one row         its logits       256 rows
 *                       BF16    F16      BF16    F16      BF16    F16
 *        AVX-512        0.60   0.60     0.58   0.63     0.94   0.95
 *        AVX2           0.56   0.55     0.75   0.84     0.98   0.98 */

/* Returns the bytes of a packed parameter. */
SHARED size_t tfn__packed_bytes(const tfn__packed *p)
{
    if (p->table) return tfn_quant_bytes(p->type, p->cols, p->rows);
    return tfn_quant_bytes(p->type, p->rows, p->cols);
}

/* Packs a parameter from floats (rows, cols). 16-bit types keep the order of rows and columns. */
SHARED void tfn__pack_param(void *w, const tfn__packed *p, const float *from)
{
    if (p->table && tfn__quant_block_bytes(p->type))
        tfn_quant_pack(w, p->type, from, p->cols, p->rows, 1, p->cols);
    else
        tfn_quant_pack(w, p->type, from, p->rows, p->cols, p->cols, 1);
}

/* y (cols) = scale times row v of a packed table. */
SHARED void tfn__packed_row(float *y, const void *w, const tfn__packed *p, ptrdiff_t v, float scale,
                            const tfn_quant_kernels *kernels)
{
    const ptrdiff_t bytes = tfn__quant_block_bytes(p->type);
    const ptrdiff_t blocks = tfn__quant_blocks(p->cols);
    const uint8_t *q = (const uint8_t *)w;
    const ptrdiff_t lane = v % TFN__QPANEL;
    const ptrdiff_t first = v / TFN__QPANEL * blocks;
    const uint16_t *scales;
    scales = (const uint16_t *)(const void *)(q + tfn__quant_scales(p->type, p->cols, p->rows));
    if (!bytes) kernels->halves(y, (const uint16_t *)w + v * p->cols, p->cols, p->type);
    else for (ptrdiff_t b = 0; b < blocks; b++)
        tfn__quant_unpack_lane(y + b * TFN__QBLOCK, q + (first + b) * bytes,
                               scales[(first + b) * TFN__QPANEL + lane], p->type, lane,
                               tfn__min(p->cols - b * TFN__QBLOCK, TFN__QBLOCK), 1);
    for (ptrdiff_t i = 0; i < p->cols; i++) y[i] *= scale;
}

/* Returns the floats that hold n bytes, rounded up to whole cache lines. */
static ptrdiff_t tfn__quant_floats(ptrdiff_t bytes) { return (bytes + 63) / 64 * 16; }

/* The scratch for quantized rows of inputs: returns its floats, and divides it into q, scales and
 * sums. Rows are quantized QROWS at a time, so that the scratch does not grow with their number. */
static ptrdiff_t tfn__quant_rows_work(ptrdiff_t m, ptrdiff_t k)
{
    const ptrdiff_t blocks = tfn__min(m, TFN__QROWS) * tfn__quant_blocks(k);
    return tfn__quant_floats(blocks * TFN__QBLOCK) + 2 * tfn__quant_floats(blocks * 4);
}
static tfn_quant_rows tfn__quant_rows_in(float *work, ptrdiff_t m, ptrdiff_t k)
{
    const ptrdiff_t blocks = tfn__min(m, TFN__QROWS) * tfn__quant_blocks(k);
    tfn_quant_rows r;
    r.q = (int8_t *)(void *)work;
    r.scale = work + tfn__quant_floats(blocks * TFN__QBLOCK);
    r.sum = (int32_t *)(void *)(r.scale + tfn__quant_floats(blocks * 4));
    return r;
}

TFNORM_API ptrdiff_t tfn_quant_work(const tfn_kernels *f, tfn_weights type, ptrdiff_t m,
                                    ptrdiff_t n, ptrdiff_t k)
{
    if (!f || tfn_quant_bytes(type, k, n) == 0) return 0;
    if (tfn__quant_block_bytes(type)) return tfn__quant_rows_work(m, k);
    if (m <= TFN__VECTOR_ROWS)              /* only tables may be packed, tile by tile */
        return tfn__min(n * k, TFN__QTILE) + f->matmul_work(m, tfn__min(n, TFN__QPANEL), k);
    return tfn__min(n * k, TFN__QTILE) + f->matmul_work(m, n, k);
}

/* Q8 and Q4: quantizes up to QROWS rows at a time, then multiplies them by all panels. */
static void tfn__quant_integers(const tfn_quant_kernels *i, const tfn_quant_args *p, float *work)
{
    const tfn_quant_rows r = tfn__quant_rows_in(work, p->m, p->k);
    for (ptrdiff_t row = 0; row < p->m; row += TFN__QROWS) {
        tfn_quant_args t = *p;
        t.m = tfn__min(p->m - row, TFN__QROWS);
        t.c += row * p->c_ld;
        if (t.start) t.start += row * p->start_ld;
        i->rows(&r, p->a + row * p->a_ld, t.m, p->k, p->a_ld);
        i->product(&t, &r);
    }
}

/* Converts a tile of w to floats, inputs q ... q + t->k - 1 of the product's outputs j ...
 * j + t->n - 1, and makes it the right factor of t. */
static void tfn__quant_tile_of(tfn_matmul_args *t, const tfn_quant_kernels *i,
                               const tfn_quant_args *p, ptrdiff_t q, ptrdiff_t j, float *tile)
{
    const uint16_t *w = (const uint16_t *)p->w;
    t->b = tile;
    if (p->table) {
        t->b_row = 1;
        t->b_col = t->k;
        for (ptrdiff_t r = 0; r < t->n; r++)
            i->halves(tile + r * t->k, w + (p->first + j + r) * p->k + q, t->k, p->type);
        return;
    }
    t->b_row = t->n;
    t->b_col = 1;
    for (ptrdiff_t r = 0; r < t->k; r++)
        i->halves(tile + r * t->n, w + (q + r) * p->outputs + p->first + j, t->n, p->type);
}

/* Returns the inputs of a tile, which has TFN__QTILE floats. With few rows a tile is long in the
 * order of the weights in memory, because a product is then bound by reading them: a third faster
 * than with square tiles. */
static ptrdiff_t tfn__quant_tile_steps(const tfn_quant_args *p)
{
    if (p->table && p->m <= TFN__QFEW) return TFN__QTILE / TFN__QPANEL;
    if (!p->table && p->m <= TFN__VECTOR_ROWS) return 8;
    return TFN__QTILE_K;
}

/* BF16 and F16: computes outputs from j on, tile by tile. The chains over inputs continue from tile
 * to tile. */
static void tfn__quant_floating(const tfn_kernels *f, const tfn_quant_kernels *i,
                                const tfn_quant_args *p, ptrdiff_t j, float *work)
{
    const ptrdiff_t steps = tfn__quant_tile_steps(p);
    const ptrdiff_t outputs = TFN__QTILE / steps;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.m = p->m;
    t.a_row = p->a_ld;
    t.a_col = 1;
    t.c_ld = p->c_ld;
    for (; j < p->n; j += outputs) {
        t.n = tfn__min(p->n - j, outputs);
        t.c = p->c + j;
        t.start = tfn__at(p->start, j);
        t.start_ld = p->start_ld;
        for (ptrdiff_t q = 0; q < p->k; q += steps) {
            t.k = tfn__min(p->k - q, steps);
            t.a = p->a + q;
            tfn__quant_tile_of(&t, i, p, q, j, work);
            f->matmul(&t, work + t.k * t.n);
            t.start = t.c;
            t.start_ld = t.c_ld;
        }
    }
}

/* BF16 and F16: computes the first outputs in the kernels of section halves, and returns how many.
 * All known processors with AVX2 have F16C; i tells whether this one has it. */
static ptrdiff_t tfn__quant_widened(const tfn_kernels *f, const tfn_quant_kernels *i,
                                    const tfn_quant_args *p, float *work)
{
    switch (f->isa) {
#ifdef TFN__BUILD_AVX2
    case TFN_ISA_AVX2:
        if (i->isa < TFN_QUANT_AVX2) return 0;
        return tfn__matmul_halves_avx2(p, work);
#endif
#ifdef TFN__BUILD_AVX512
    case TFN_ISA_AVX512: return tfn__matmul_halves_avx512(p, work);
#endif
#ifdef TFN__NEON
    case TFN_ISA_NEON: return tfn__matmul_halves_neon(p, work);
#endif
    default: break;
    }
    (void)i;
    (void)p;
    (void)work;
    return 0;
}

TFNORM_API void tfn_quant_product(const tfn_kernels *f, const tfn_quant_kernels *i,
                                  const tfn_quant_args *p, float *work)
{
    if (!f || !i || !p || !work) return;
    if (tfn__quant_block_bytes(p->type)) tfn__quant_integers(i, p, work);
    else tfn__quant_floating(f, i, p, tfn__quant_widened(f, i, p, work), work);
}
#endif
