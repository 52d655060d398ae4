/* Matrix products, column and flat sums: the same bits on all instruction sets. */
#include "../lib.h"
#include "../check.h"
#include "../exact_fma.h"

#define EACH_ISA(k)                                                                            \
    for (int isa_ = 1; isa_ < TFN_ISA_COUNT; isa_++)                                           \
        for (const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa_); k; k = NULL)

static uint64_t drawn;

static float draw(void)
{
    return tfn_random_uniform(tfn_key_make(7), drawn++) * 2 - 1;
}

static float *floats(ptrdiff_t n)
{
    float *x = (float *)malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    if (!x) exit(2);
    return x;
}

static float *random_floats(ptrdiff_t n)
{
    float *x = floats(n);
    for (ptrdiff_t i = 0; i < n; i++) x[i] = draw();
    return x;
}

/* -- matrix product ------------------------------------------------------------------------- */

enum { ZERO, BIAS, MATRIX, ADD, STARTS };
#define GUARD 12345.5f

/* A matrix (rows, cols) in either order, ld floats apart, with NaN in the gaps. */
typedef struct matrix { float *x; ptrdiff_t row, col; } matrix;

static matrix place(const float *from, ptrdiff_t rows, ptrdiff_t cols, bool standing, ptrdiff_t gap)
{
    ptrdiff_t outer = standing ? cols : rows, inner = standing ? rows : cols, ld = inner + gap;
    matrix m = { NULL, 0, 0 };
    /* the block ends with the last element, for the address sanitizer */
    ptrdiff_t size = outer > 0 && inner > 0 ? (outer - 1) * ld + inner : 0;
    m.x = floats(size);
    m.row = standing ? 1 : ld;
    m.col = standing ? ld : 1;
    for (ptrdiff_t i = 0; i < size; i++) m.x[i] = (float)NAN;
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++) m.x[i * m.row + j * m.col] = from[i*cols + j];
    return m;
}

/* The definition, in place: c (m, n) holds the start. */
static void chain(bool fma, float *c, const float *a, const float *b, ptrdiff_t m, ptrdiff_t n,
                  ptrdiff_t k)
{
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t p = 0; p < k; p++)
            for (ptrdiff_t j = 0; j < n; j++)
                {
                const float x = a[i*k + p], y = b[p*n + j], old = c[i*n + j];
                c[i*n + j] = fma ? exact_fma(x, y, old) : exact_product(x, y) + old;
            }
}

static void run_product(const tfn_kernels *kernels, const matrix *a, const matrix *b,
                        const float *start, int mode, const float *want, ptrdiff_t m, ptrdiff_t n,
                        ptrdiff_t k)
{
    const ptrdiff_t ld = n + 3, size = m * ld, room = kernels->matmul_work(m, n, k);
    float *c = floats(size), *work = floats(room + 1);
    tfn_matmul_args p = { NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    bool same = true;
    for (ptrdiff_t i = 0; i < size; i++) c[i] = GUARD;
    if (mode == ADD)
        for (ptrdiff_t i = 0; i < m; i++)
            for (ptrdiff_t j = 0; j < n; j++) c[i*ld + j] = start[i*n + j];
    work[room] = GUARD;
    p.c = c;
    p.start = mode == ZERO ? NULL : mode == ADD ? c : start;
    p.a = a->x, p.a_row = a->row, p.a_col = a->col;
    p.b = b->x, p.b_row = b->row, p.b_col = b->col;
    p.m = m, p.n = n, p.k = k, p.c_ld = ld;
    p.start_ld = mode == BIAS ? 0 : mode == ADD ? ld : n;
    kernels->matmul(&p, work);
    for (ptrdiff_t i = 0; i < m && same; i++) {
        same = !memcmp(c + i*ld, want + i*n, (size_t)n * sizeof *c);
        for (ptrdiff_t j = n; j < ld; j++) same &= c[i*ld + j] == GUARD;
    }
    if (!same || work[room] != GUARD)
        FAIL("%s: m %d n %d k %d, start %d, a %d/%d, b %d/%d", kernels->name, (int)m, (int)n,
             (int)k, mode, (int)a->row, (int)a->col, (int)b->row, (int)b->col);
    free(work);
    free(c);
}

/* One size: layouts NN, NT, TN, TT and a b strided in both ways; every start, or only one. */
static void check_product(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int only)
{
    float *a = random_floats(m * k), *b = random_floats(k * n), *start = random_floats(m * n + n);
    float *want[2];
    want[0] = floats(m * n);
    want[1] = floats(m * n);
    for (int mode = 0; mode < STARTS; mode++) {
        if (only >= 0 && mode != only) continue;
        for (int fma = 0; fma < 2; fma++) {
            for (ptrdiff_t i = 0; i < m * n; i++)
                want[fma][i] = mode == ZERO ? 0 : mode == BIAS ? start[i % n] : start[i];
            chain(fma, want[fma], a, b, m, n, k);
        }
        for (int layout = 0; layout < 4; layout++) {
            matrix pa = place(a, m, k, layout & 2, layout & 1 ? 5 : 0);
            matrix pb = place(b, k, n, layout & 1, layout & 2 ? 9 : 0);
            EACH_ISA(kernels)
                run_product(kernels, &pa, &pb, start, mode, want[kernels->fma], m, n, k);
            free(pa.x);
            free(pb.x);
        }
    }
    free(want[0]);
    free(want[1]);
    free(start);
    free(b);
    free(a);
}

TEST(small_products)
{
    static const ptrdiff_t ns[] = { 0, 1, 2, 3, 5, 8, 11, 16, 17, 31, 32, 33, 49 };
    static const ptrdiff_t ks[] = { 0, 1, 2, 4, 7, 9, 19 };
    for (ptrdiff_t m = 0; m < 32; m++)
        for (size_t n = 0; n < sizeof ns / sizeof *ns; n++)
            for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
                check_product(m, ns[n], ks[k], (int)((size_t)m + n + k) % STARTS);
}

TEST(all_starts)
{
    check_product(3, 35, 21, -1);
    check_product(29, 130, 6, -1);
    check_product(15, 17, 390, -1);
}

/* Chains over two and three blocks of k: TFN__KC is 384. */
TEST(long_chains)
{
    static const ptrdiff_t ns[] = { 1, 17, 33, 67, 131 }, ks[] = { 383, 384, 385, 769, 1163 };
    for (ptrdiff_t m = 0; m < 32; m++)
        for (ptrdiff_t k = 0; k < 5; k++)
            for (ptrdiff_t n = 0; n < 2; n++)
                check_product(m, ns[(m + k + 2*n) % 5], ks[k], (int)(m + n + k) % STARTS);
}

/* Larger than the blocks of rows (336) and of columns (256), packed and not. */
TEST(large_products)
{
    check_product(339, 149, 401, ADD);
    check_product(701, 33, 18, BIAS);
    check_product(30, 1030, 27, ZERO);
    check_product(5, 601, 387, BIAS);
    check_product(117, 601, 387, MATRIX);
    check_product(2, 4131, 3, ADD);
    check_product(31, 12301, 1, MATRIX);
    check_product(17, 512, 60, ADD);          /* rows of b 2 KiB apart */
    check_product(43, 113, 401, ADD);         /* a packed in place, 16 steps at a time */
    check_product(2, 517, 259, BIAS);         /* b over 512 KiB, read in streams */
}

TEST(any_strides)     /* neither row nor column is contiguous; every start column of b */
{
    const ptrdiff_t m = 31, n = 37, k = 45;
    float *a = random_floats(m * k), *b = random_floats(k * n), *want = floats(m * n);
    matrix sa = { floats(m * k * 6), 3 * k, 2 }, sb = { floats(k * n * 6), 2, 3 * k };
    for (ptrdiff_t i = 0; i < m * k; i++) sa.x[i / k * sa.row + i % k * sa.col] = a[i];
    for (ptrdiff_t i = 0; i < k * n; i++) sb.x[i / n * sb.row + i % n * sb.col] = b[i];
    EACH_ISA(kernels) {
        for (ptrdiff_t i = 0; i < m * n; i++) want[i] = 0;
        chain(kernels->fma, want, a, b, m, n, k);
        run_product(kernels, &sa, &sb, NULL, ZERO, want, m, n, k);
    }
    free(sa.x);
    free(sb.x);
    free(want);
    free(b);
    free(a);
}

TEST(work_is_monotone_and_common)
{
    static const ptrdiff_t sizes[] = { 0, 1, 2, 13, 31, 32, 33, 64, 335, 337, 384, 385, 50257 };
    const int count = (int)(sizeof sizes / sizeof *sizes);
    const tfn_kernels *plain = tfn_kernels_for(TFN_ISA_PLAIN);
    for (int i = 0; i < count * count * count; i++) {
        const ptrdiff_t m = sizes[i / count / count], n = sizes[i / count % count];
        const ptrdiff_t k = sizes[i % count], room = plain->matmul_work(m, n, k);
        EACH_ISA(kernels) CHECK(kernels->matmul_work(m, n, k) == room);
        CHECK(room <= plain->matmul_work(m + 1, n, k));
        CHECK(room <= plain->matmul_work(m, n + 1, k));
        CHECK(room <= plain->matmul_work(m, n, k + 1));
    }
    CHECK(plain->matmul_work(50257, 50257, 50257) < 530000);
}

/* -- sums and elementwise ------------------------------------------------------------------- */

TEST(column_sums)
{
    for (ptrdiff_t cols = 0; cols < 300; cols += cols < 36 ? 1 : 37)
        for (ptrdiff_t rows = 0; rows < 9; rows += 1 + rows / 3) {
            const ptrdiff_t ld = cols + 2;
            float *dy = random_floats(rows * ld), *old = random_floats(cols), *x = floats(cols + 1);
            for (int add = 0; add < 2; add++)
                EACH_ISA(kernels) {
                    memcpy(x, old, (size_t)cols * sizeof *x);
                    x[cols] = GUARD;
                    kernels->column_sum(x, dy, rows, cols, ld, add);
                    for (ptrdiff_t j = 0; j < cols; j++) {
                        float want = add ? old[j] : 0;
                        for (ptrdiff_t i = 0; i < rows; i++) want += dy[i*ld + j];
                        CHECK_BITS(&x[j], &want, sizeof want);
                    }
                    CHECK(x[cols] == GUARD);
                }
            free(x);
            free(old);
            free(dy);
        }
}

/* The rule as documented: 16 lanes by index mod 16, and a tree. */
static float block_sum(const float *x, ptrdiff_t n)
{
    float lane[16] = { 0 };
    for (ptrdiff_t i = 0; i < n; i++) lane[i % 16] += x[i];
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

static float flat_sum(float *x, ptrdiff_t n)      /* overwrites x */
{
    do {
        ptrdiff_t blocks = 0;
        for (ptrdiff_t i = 0; i < n || !i; i += 4096, blocks++)
            x[blocks] = block_sum(x + i, n - i < 4096 ? n - i : 4096);
        n = blocks;
    } while (n > 1);
    return x[0];
}

static void check_dot(ptrdiff_t n, const float *x, const float *y)
{
    float *t = floats(n), want;
    for (ptrdiff_t i = 0; i < n; i++) t[i] = y ? exact_product(x[i], y[i]) : x[i];
    want = flat_sum(t, n);
    EACH_ISA(kernels) {
        float sum = kernels->dot(x, y, n);
        if (memcmp(&sum, &want, sizeof sum))
            FAIL("%s: n %d: %.9g, not %.9g", kernels->name, (int)n, (double)sum, (double)want);
    }
    free(t);
}

TEST(flat_sums)
{
    static const ptrdiff_t sizes[] = { 4095, 4096, 4097, 8200, 65535, 65552, 70001 };
    float *x = random_floats(70001), *y = random_floats(70001);
    for (ptrdiff_t n = 0; n < 70; n++) {
        check_dot(n, x, y);
        check_dot(n, x + n, NULL);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_dot(sizes[i], x, y);
        check_dot(sizes[i], x, NULL);
    }
    free(y);
    free(x);
}

TEST(flat_sum_of_three_levels)     /* more than 4096 blocks */
{
    const ptrdiff_t n = (ptrdiff_t)4096 * 4096 + 4096 + 21;
    float *x = floats(n);
    for (ptrdiff_t i = 0; i < n; i++) x[i] = (float)(i * 7 % 1013) / 1013;
    check_dot(n, x, NULL);
    free(x);
}

TEST(combines)
{
    const float a = 0.3f, b = -1.7f;
    for (ptrdiff_t n = 0; n < 150; n += n < 36 ? 1 : 19)
        for (int mode = 0; mode < 4; mode++) {
            const bool add = mode & 1;
            float *x = random_floats(n), *z = random_floats(n), *old = random_floats(n);
            float *y = floats(n + 1);
            EACH_ISA(kernels) {
                memcpy(y, old, (size_t)n * sizeof *y);
                y[n] = GUARD;
                kernels->combine(y, x, mode & 2 ? z : NULL, n, a, b, add);
                for (ptrdiff_t i = 0; i < n; i++) {
                    float want = exact_product(a, x[i]);
                    if (mode & 2) want += exact_product(b, z[i]);
                    if (add) want = old[i] + want;
                    CHECK_BITS(&y[i], &want, sizeof want);
                }
                CHECK(y[n] == GUARD);
            }
            free(y);
            free(old);
            free(z);
            free(x);
        }
}

/* -- choice --------------------------------------------------------------------------------- */

TEST(choice_of_kernels)
{
    const tfn_kernels *best = tfn_kernels_for(TFN_ISA_BEST);
    CHECK(best && tfn_kernels_for(TFN_ISA_PLAIN));
    CHECK(!tfn_kernels_for(TFN_ISA_COUNT));
    CHECK_INT(tfn_isa_find(NULL), TFN_ISA_BEST);
    CHECK_INT(tfn_isa_find("avx"), TFN_ISA_BEST);
    CHECK_INT(tfn_isa_find("avx2x"), TFN_ISA_BEST);
    EACH_ISA(kernels) {
        CHECK_INT(kernels->isa, isa_);
        CHECK_INT(tfn_isa_find(kernels->name), isa_);
        printf("  %s: %s%s\n", kernels->name, tfn_bits(kernels->isa),
               kernels == best ? ", best" : "");
        CHECK(!strcmp(tfn_bits(kernels->isa), kernels->fma ? "canonical" : "differ: no FMA"));
        CHECK(best->fma || !kernels->fma);
    }
}

int main(void)
{
    RUN(choice_of_kernels);
    RUN(small_products);
    RUN(all_starts);
    RUN(long_chains);
    RUN(large_products);
    RUN(any_strides);
    RUN(work_is_monotone_and_common);
    RUN(column_sums);
    RUN(flat_sums);
    RUN(flat_sum_of_three_levels);
    RUN(combines);
    return DONE();
}
