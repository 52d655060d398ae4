/* Embeddings, positions and rotations against naive references in double. Bits are equal for every
 * instruction set and for any split of the columns. The tables of sinusoids and rotations are
 * compared with libm, and their bits checked. test_embed_double.c compiles this file in double. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef TFN__DOUBLE
#define EMBED_CLOSE 1e-14
#else
#define EMBED_CLOSE 2e-6
#endif
#include "../lib.h"
#include "../check.h"

#define EMBED_EACH_ISA(k)                                                                      \
    for (int isa_ = 1; isa_ < TFN_ISA_COUNT; isa_++)                                           \
        for (const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa_); k; k = NULL)

enum { EMBED_MOST = 60000, EMBED_GUARD = 16 };

/* Two inputs, the outputs of one set and of the previous one, the reference. */
static float embed_x[EMBED_MOST], embed_z[EMBED_MOST], embed_y[EMBED_MOST], embed_last[EMBED_MOST];
static double embed_wanted[EMBED_MOST];

static void embed_draw(float *x, ptrdiff_t n, uint64_t seed)
{
    for (ptrdiff_t i = 0; i < n; i++) x[i] = tfn_random_normal(tfn_key_make(seed), (uint64_t)i);
}

/* The values of an output before the call. */
static float embed_old(ptrdiff_t i) { return (float)((int)(i % 29) - 14) / 16; }
static void embed_reset(void)
{
    for (ptrdiff_t i = 0; i < EMBED_MOST; i++) embed_y[i] = embed_old(i);
}

/* n values equal the reference, later ones are unchanged, and the previous set gave the same
 * bits. */
static void embed_check(const char *what, const tfn_kernels *k, ptrdiff_t n, const char **first)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(fabs((double)embed_y[i] - embed_wanted[i])
              <= EMBED_CLOSE * (1 + fabs(embed_wanted[i])))) {
            FAIL("%s, %s: %d is %.9g, not %.9g", what, k->name, (int)i, (double)embed_y[i],
                 embed_wanted[i]);
            break;
        }
    for (ptrdiff_t i = n; i < n + EMBED_GUARD; i++) CHECK(embed_y[i] == embed_old(i));
    if (!k->fma) return;
    if (*first && memcmp(embed_y, embed_last, (size_t)n * sizeof *embed_y))
        FAIL("%s: %s and %s differ", what, *first, k->name);
    memcpy(embed_last, embed_y, (size_t)n * sizeof *embed_y);
    *first = k->name;
}

static const int32_t embed_cols[] = { 1, 3, 8, 16, 17, 33, 64, 100 };
#define EMBED_EACH_COLS(cols)                                                                  \
    for (int c_ = 0; c_ < (int)(sizeof embed_cols / sizeof *embed_cols); c_++)                 \
        for (ptrdiff_t cols = embed_cols[c_], once_ = 1; once_; once_ = 0)

/* -- embedding ------------------------------------------------------------------------------ */

enum { EMBED_ROWS = 37, EMBED_VOCAB = 11 };

static void embed_tokens(int32_t *tokens)     /* some repeated, some out of range */
{
    for (int r = 0; r < EMBED_ROWS; r++) tokens[r] = (r * r + 3) % EMBED_VOCAB;
    tokens[5] = -1;
    tokens[6] = EMBED_VOCAB;
    tokens[7] = INT32_MAX;
    tokens[8] = INT32_MIN;
    tokens[9] = EMBED_VOCAB - 1;
    tokens[10] = 0;
}

TEST(embed_forward_test)
{
    int32_t tokens[EMBED_ROWS];
    embed_tokens(tokens);
    EMBED_EACH_COLS(cols) {
        const char *first = NULL;
        embed_draw(embed_x, EMBED_VOCAB * cols, 1);
        for (ptrdiff_t i = 0; i < EMBED_ROWS * cols; i++) {
            int32_t token = tokens[i / cols];
            embed_wanted[i] = token >= 0 && token < EMBED_VOCAB
                            ? 1.75 * (double)embed_x[token * cols + i % cols] : 0;
        }
        EMBED_EACH_ISA(k) {
            embed_reset();
            k->embed_forward(embed_y, embed_x, tokens, EMBED_ROWS, cols, EMBED_VOCAB, (float)1.75);
            embed_check("forward", k, EMBED_ROWS * cols, &first);
        }
    }
}

/* Added to old values, as a whole or by ranges of columns from the last to the first. */
TEST(embed_backward_test)
{
    int32_t tokens[EMBED_ROWS];
    embed_tokens(tokens);
    EMBED_EACH_COLS(cols) {
        const char *first = NULL;
        embed_draw(embed_x, EMBED_ROWS * cols, 2);
        for (ptrdiff_t i = 0; i < EMBED_VOCAB * cols; i++) {
            embed_wanted[i] = (double)embed_old(i);
            for (int r = 0; r < EMBED_ROWS; r++)
                if (tokens[r] == i / cols)
                    embed_wanted[i] += (double)(float)0.3 * (double)embed_x[r*cols + i % cols];
        }
        EMBED_EACH_ISA(k) {
            embed_reset();
            k->embed_backward(embed_y, embed_x, tokens, EMBED_ROWS, cols, cols, EMBED_VOCAB,
                              (float)0.3);
            embed_check("backward", k, EMBED_VOCAB * cols, &first);
            embed_reset();
            for (ptrdiff_t c = (cols - 1) / 5 * 5; c >= 0; c -= 5)
                k->embed_backward(embed_y + c, embed_x + c, tokens, EMBED_ROWS,
                                  cols - c < 5 ? cols - c : 5, cols, EMBED_VOCAB, (float)0.3);
            embed_check("backward by columns", k, EMBED_VOCAB * cols, &first);
        }
    }
}

/* -- positions ------------------------------------------------------------------------------ */

enum { EMBED_BATCH = 4, EMBED_TIME = 9, EMBED_START = 2 };

TEST(embed_position_forward)
{
    EMBED_EACH_COLS(cols) {
        const ptrdiff_t n = EMBED_BATCH * EMBED_TIME * cols;
        const char *first = NULL;
        embed_draw(embed_x, n, 3);
        embed_draw(embed_z, (EMBED_TIME + EMBED_START) * cols, 4);
        for (ptrdiff_t i = 0; i < n; i++)
            embed_wanted[i] = (double)embed_x[i]
                + (double)embed_z[(i / cols % EMBED_TIME + EMBED_START) * cols + i % cols];
        EMBED_EACH_ISA(k) {
            embed_reset();
            k->position_forward(embed_y, embed_x, embed_z, EMBED_BATCH, EMBED_TIME, cols,
                                EMBED_START);
            embed_check("positions", k, n, &first);
            embed_reset();
            memcpy(embed_y, embed_x, (size_t)n * sizeof *embed_y);
            k->position_forward(embed_y, embed_y, embed_z, EMBED_BATCH, EMBED_TIME, cols,
                                EMBED_START);
            embed_check("positions in place", k, n, &first);
        }
    }
}

TEST(embed_position_backward)
{
    for (int add = 0; add < 2; add++) EMBED_EACH_COLS(cols) {
        const ptrdiff_t n = (EMBED_TIME + EMBED_START) * cols;
        const char *first = NULL;
        embed_draw(embed_x, EMBED_BATCH * EMBED_TIME * cols, 5);
        for (ptrdiff_t i = 0; i < n; i++) {
            const ptrdiff_t t = i / cols - EMBED_START;
            embed_wanted[i] = add || t < 0 ? (double)embed_old(i) : 0;
            for (ptrdiff_t b = 0; b < EMBED_BATCH && t >= 0; b++)
                embed_wanted[i] += (double)embed_x[(b*EMBED_TIME + t) * cols + i % cols];
        }
        EMBED_EACH_ISA(k) {
            embed_reset();
            k->position_backward(embed_y, embed_x, EMBED_BATCH, EMBED_TIME, cols, cols, EMBED_START,
                                 add != 0);
            embed_check("backward of positions", k, n, &first);
            embed_reset();
            for (ptrdiff_t c = (cols - 1) / 7 * 7; c >= 0; c -= 7)
                k->position_backward(embed_y + c, embed_x + c, EMBED_BATCH, EMBED_TIME,
                                     cols - c < 7 ? cols - c : 7, cols, EMBED_START, add != 0);
            embed_check("backward of positions by columns", k, n, &first);
        }
    }
}

/* -- rotations ------------------------------------------------------------------------------ */

/* y = R x, or R^T x, or either plus the old y. */
static void embed_rotate_reference(ptrdiff_t heads, ptrdiff_t size, bool inverse, bool add)
{
    const ptrdiff_t half = size / 2;
    for (ptrdiff_t i = 0; i < EMBED_BATCH * EMBED_TIME * heads * size; i++) {
        const ptrdiff_t j = i % size % half, t = i / (heads * size) % EMBED_TIME + EMBED_START;
        const float *x = embed_x + i / size * size;
        const double c = (double)embed_z[t*size + j];
        const double s = (inverse ? -1 : 1) * (double)embed_z[t*size + half + j];
        embed_wanted[i] = i % size < half ? (double)x[j] * c - (double)x[j + half] * s
                                          : (double)x[j + half] * c + (double)x[j] * s;
        if (add) embed_wanted[i] += (double)embed_old(i);
    }
}

TEST(embed_rotary)
{
    static const int32_t sizes[] = { 2, 6, 16, 32, 34, 64, 100 };
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int mode = 0; mode < 4; mode++) {
            const ptrdiff_t heads = 3, size = sizes[i], n = EMBED_BATCH * EMBED_TIME * heads * size;
            const bool inverse = mode % 2 != 0, add = mode / 2 != 0;
            const char *first = NULL;
            embed_draw(embed_x, n, 6);
            lib_rotary_table(embed_z, EMBED_TIME + EMBED_START, size, 100);
            embed_rotate_reference(heads, size, inverse, add);
            EMBED_EACH_ISA(k) {
                embed_reset();
                k->rotary(embed_y, embed_x, embed_z, EMBED_BATCH, EMBED_TIME, heads, size,
                          EMBED_START, inverse, add);
                embed_check("rotary", k, n, &first);
                if (add) continue;
                embed_reset();
                memcpy(embed_y, embed_x, (size_t)n * sizeof *embed_y);
                k->rotary(embed_y, embed_y, embed_z, EMBED_BATCH, EMBED_TIME, heads, size,
                          EMBED_START, inverse, false);
                embed_check("rotary in place", k, n, &first);
            }
        }
}

/* The product of q rotated at i and k rotated at j depends only on i - j (Su 2021, eq. 16). */
TEST(embed_rotary_is_relative)
{
    enum { SIZE = 32, TIME = 200 };
    static float table[TIME * SIZE];
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    double first = 0;
    embed_draw(embed_x, 2 * SIZE, 8);
    lib_rotary_table(table, TIME, SIZE, 10000);
    for (int i = 0; i + 7 < TIME; i++) {
        double dot = 0;
        k->rotary(embed_y, embed_x, table, 1, 1, 1, SIZE, i, false, false);
        k->rotary(embed_y + SIZE, embed_x + SIZE, table, 1, 1, 1, SIZE, i + 7, false, false);
        for (int c = 0; c < SIZE; c++) dot += (double)embed_y[c] * (double)embed_y[SIZE + c];
        if (i == 0) first = dot;
        CHECK_CLOSE(dot, first, 1e-5);
    }
}

/* -- tables --------------------------------------------------------------------------------- */

static uint64_t embed_hash(const float *x, ptrdiff_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], sizeof u);
        h = (h ^ u) * UINT64_C(0x100000001b3);
    }
    return h;
}

static void embed_same_hash(const char *name, const float *x, ptrdiff_t n, uint64_t wanted)
{
    uint64_t h = embed_hash(x, n);
    if (sizeof(float) == 4 && h != wanted)
        FAIL("%s: the hash is 0x%08lx%08lx", name, (unsigned long)(h >> 32),
             (unsigned long)(h & 0xffffffff));
}

TEST(embed_sinusoids)
{
    static const int32_t widths[] = { 2, 4, 7, 64, 50 };
    for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i++)
        for (int fairseq = 0; fairseq < 2; fairseq++) {
            const int cols = widths[i], half = cols / 2, time = 900;
            lib_sinusoid_table(embed_y, time, cols, fairseq != 0);
            for (int t = 0; t < time; t++)
                for (int c = 0; c < cols; c++) {
                    const int k = c % half, position = fairseq ? t + 2 : t;
                    const double rate = !fairseq ? -2.0*k / cols : half > 1 ? -k / (half - 1.0) : 0;
                    const double angle = position * pow(10000, rate);
                    const double wanted = c == 2*half ? 0 : c < half ? sin(angle) : cos(angle);
                    CHECK(fabs((double)embed_y[t*cols + c] - wanted) <= 6e-8);
                }
        }
    lib_sinusoid_table(embed_y, 800, 64, false);         /* width 64: exact places */
    CHECK(embed_y[0] == 0 && embed_y[32] == 1);
    CHECK_CLOSE(embed_y[64], 0.8414709848078965, 1e-7);   /* sin(1) */
    CHECK_CLOSE(embed_y[64 + 33], cos(0.7498942093324559), 1e-7);
    embed_same_hash("sinusoids", embed_y, 800 * 64, UINT64_C(0x383e98fba65394f0));
    lib_sinusoid_table(embed_y, 800, 64, true);
    CHECK_CLOSE(embed_y[0], 0.9092974268256817, 1e-7);    /* sin(2) */
    embed_same_hash("sinusoids, fairseq", embed_y, 800 * 64, UINT64_C(0x14610b086bdfda2b));
}

TEST(embed_rotary_tables)
{
    static const float thetas[] = { 10000, 500000 };
    for (int i = 0; i < 2; i++)
        for (int size = 2; size <= 64; size += 14) {
            const int half = size / 2, time = 900;
            lib_rotary_table(embed_y, time, size, thetas[i]);
            for (int t = 0; t < time; t++)
                for (int j = 0; j < half; j++) {
                    const double angle = t * pow((double)thetas[i], -2.0*j / size);
                    CHECK(fabs((double)embed_y[t*size + j] - cos(angle)) <= 6e-8);
                    CHECK(fabs((double)embed_y[t*size + half + j] - sin(angle)) <= 6e-8);
                }
        }
    lib_rotary_table(embed_y, 800, 64, 10000);
    embed_same_hash("rotations", embed_y, 800 * 64, UINT64_C(0xfc8f2ecd06b0b51c));
}

/* A token outside the table gives zeros and no gradient, even next to the table's end. */
TEST(embed_rows_outside)
{
    enum { V = 3, C = 5, N = 6 };
    static const int32_t tokens[N] = { -1, V, V - 1, INT32_MIN, INT32_MAX, V + 1 };
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        float table[(V + 2) * C], y[N * C], d[(V + 2) * C];
        if (!k) continue;
        CASE("%s", k->name);
        for (int i = 0; i < (V + 2) * C; i++) table[i] = 1 + (float)i, d[i] = 0;
        for (int i = 0; i < N * C; i++) y[i] = 7;
        k->embed_forward(y, table, tokens, N, C, V, 1);
        k->embed_backward(d, table, tokens, N, C, C, V, 1);
        for (int r = 0; r < N; r++)
            for (int c = 0; c < C; c++)
                CHECK(y[r*C + c] == (r == 2 ? table[(V - 1)*C + c] : 0));
        for (int i = 0; i < (V + 2) * C; i++)
            CHECK(d[i] == (i / C == V - 1 ? table[2*C + i % C] : 0));
    }
}

int main(void)
{
    RUN(embed_rows_outside);
    RUN(embed_forward_test);
    RUN(embed_backward_test);
    RUN(embed_position_forward);
    RUN(embed_position_backward);
    RUN(embed_rotary);
    RUN(embed_rotary_is_relative);
    RUN(embed_sinusoids);
    RUN(embed_rotary_tables);
    return DONE();
}
