/* Matrix products of one instruction set: tiles, packing, and the choice of a way by shape. Section
 * blocks says how products are blocked. Also flat sums and linear combinations. */

/* The tile: MR rows of two vectors. It stays in registers, together with two vectors of b and one
 * number of a, so 2*MR + 3 must not exceed the number of registers: 32 (AVX-512: MR 14, NEON: 12)
 * or 16 (AVX and SSE: 6). There is a function for each height from 1 to MR, in which all loops over
 * rows unroll: TFN__ROWS(X) is X(1) X(2) ... X(MR). */
#if TFN__W == 16
#define TFN__MR 14
#define TFN__ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined TFN__USE_NEON
#define TFN__MR 12
#define TFN__ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#elif TFN__W > 1
#define TFN__MR 6
#define TFN__ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#else
#define TFN__MR 4
#define TFN__ROWS(X) X(1) X(2) X(3) X(4)
#endif

/* Computes c (R, W), or c (R, 2 W) if wide. b must have unit column stride. The elements of a are
 * broadcast one by one, so a may have any strides; one pointer per four rows saves address
 * registers. R and `wide` are constants in each function below, so the loops over rows unroll, and
 * the arrays x and y, the left and right half of the tile, become registers. */
static TFN__INLINE void TFN__N(tfn__tile)(const tfn_matmul_args *t, const int R, const bool wide)
{
    const ptrdiff_t k = t->k;
    const ptrdiff_t row = t->a_row;
    const ptrdiff_t col = t->a_col;
    const ptrdiff_t b_row = t->b_row;
    const ptrdiff_t second = wide ? TFN__W : 0;
    const float *a[4] = { t->a, t->a + 4*row, t->a + 8*row, t->a + 12*row };
    const float *b = t->b;
    const float *ahead = b;
    TFN__V x[TFN__MR];
    TFN__V y[TFN__MR];

    /* If b is not packed and the chains are long, prefetch rows of b 12 steps ahead. */
    if (k > 16 && b_row > 2*TFN__W) ahead += 12*b_row;

    TFN__UNROLL
    for (int i = 0; i < R; i++) {
        x[i] = TFN__SET(0);
        y[i] = TFN__SET(0);
        if (t->start) {
            x[i] = TFN__LOAD(t->start + i * t->start_ld);
            y[i] = TFN__LOAD(t->start + i * t->start_ld + second);
        }
    }
    for (ptrdiff_t p = 0; p < k; p++, b += b_row, ahead += b_row) {
        const TFN__V u = TFN__LOAD(b);
        const TFN__V v = TFN__LOAD(b + second);
        TFN__FETCH(ahead);
        TFN__FETCH(ahead + second);
        TFN__UNROLL
        for (int i = 0; i < R; i++) {
            const TFN__V s = TFN__SET(a[i / 4][i % 4 * row]);
            x[i] = TFN__FMA(s, u, x[i]);
            if (wide) y[i] = TFN__FMA(s, v, y[i]);
        }
        TFN__UNROLL
        for (int i = 0; i < R; i += 4) a[i / 4] += col;
    }
    TFN__UNROLL
    for (int i = 0; i < R; i++) {
        TFN__STORE(t->c + i * t->c_ld, x[i]);
        if (wide) TFN__STORE(t->c + i * t->c_ld + TFN__W, y[i]);
    }
}

#define TFN__TILE(r)                                                                           \
    static TFN__APART void TFN__N(tfn__tile##r)(const tfn_matmul_args *t)                      \
    {                                                                                          \
        if (t->n > TFN__W) TFN__N(tfn__tile)(t, r, true);                                      \
        else TFN__N(tfn__tile)(t, r, false);                                                   \
    }
TFN__ROWS(TFN__TILE)
#undef TFN__TILE

/* Computes a tile of t->m rows. */
#define TFN__TILE(r) case r: TFN__N(tfn__tile##r)(t); break;
static void TFN__N(tfn__tile_rows)(const tfn_matmul_args *t)
{
    switch (t->m) { TFN__ROWS(TFN__TILE) default: break; }
}
#undef TFN__TILE
#undef TFN__ROWS

static TFN__INLINE void TFN__N(tfn__copy)(float *d, const float *s, ptrdiff_t n)
{
    TFN__EACH(i, lanes, n) TFN__PUT(d + i, TFN__GET(s + i, lanes), lanes);
}

/* The same at the right edge of c, where the last vector is not full. It works on a copy of the
 * tile. The columns beyond the edge are computed from the padding of b's panel, and dropped. */
static void TFN__N(tfn__tile_edge)(const tfn_matmul_args *t)
{
    float edge[TFN__MR * 2*TFN__W] = { 0 };
    tfn_matmul_args s = *t;
    s.c = edge;
    s.c_ld = s.start_ld = 2*TFN__W;
    s.start = edge;
    if (t->start)
        for (ptrdiff_t i = 0; i < t->m; i++)
            TFN__N(tfn__copy)(edge + i * s.c_ld, t->start + i * t->start_ld, t->n);
    TFN__N(tfn__tile_rows)(&s);
    for (ptrdiff_t i = 0; i < t->m; i++)
        TFN__N(tfn__copy)(t->c + i * t->c_ld, edge + i * s.c_ld, t->n);
}

#ifdef TFN__ZIPLO
/* Transposes four columns of W rows into four vectors. q[r] = QLOAD(row + r, p) holds four columns
 * of rows r, r + 4, r + 8 ..., and v[i] becomes column p + i of all W rows. In each group of four
 * lanes, with rows r0 .. r3:
 *
 *     q[0] = r0 at p, p+1, p+2, p+3        v[0] = r0 r1 r2 r3 at p
 *     q[1] = r1 ...                        v[1] = r0 r1 r2 r3 at p+1 ... */
static TFN__INLINE void TFN__N(tfn__transpose4)(TFN__V *v, const TFN__V *q)
{
    const TFN__V even_low = TFN__ZIPLO(q[0], q[2]);           /* r0 r2 r0 r2 at p, p+1 */
    const TFN__V even_high = TFN__ZIPHI(q[0], q[2]);          /* the same at p+2, p+3 */
    const TFN__V odd_low = TFN__ZIPLO(q[1], q[3]);
    const TFN__V odd_high = TFN__ZIPHI(q[1], q[3]);
    v[0] = TFN__ZIPLO(even_low, odd_low);
    v[1] = TFN__ZIPHI(even_low, odd_low);
    v[2] = TFN__ZIPLO(even_high, odd_high);
    v[3] = TFN__ZIPHI(even_high, odd_high);
}

/* Fills row[] with pointers to W rows, `lane` floats apart, from row j on. Pointers beyond the last
 * row, count - 1, repeat it. */
static TFN__INLINE void TFN__N(tfn__row_pointers)(const float **row, const float *s,
                                                  ptrdiff_t lane, ptrdiff_t j, ptrdiff_t count)
{
    for (int i = 0; i < TFN__W; i++) row[i] = s + tfn__min(j + i, count - 1) * lane;
}

/* tfn__pack for sources that are contiguous in k, four steps at a time. Returns the steps of k
 * done; the caller does the rest. Vectors that have no source lane are not written. The last vector
 * of a row may overrun into the next row of d, so rows are filled from right to left, and the
 * overrun is overwritten later. Each source is read for 64 steps before the next one, because
 * sources 4 KiB apart share a few cache sets and would evict each other. Meanwhile the next 64
 * steps are prefetched: for each source one cache line of 16 floats per 16 steps. */
static TFN__NOINLINE ptrdiff_t TFN__N(tfn__pack_transposed)(float *d, ptrdiff_t width,
                                                            const float *s, ptrdiff_t lane,
                                                            ptrdiff_t count, ptrdiff_t k)
{
    const ptrdiff_t done = k / 4 * 4;
    for (ptrdiff_t q = 0; q < done; q += 64) {
        const ptrdiff_t end = tfn__min(q + 64, done);
        for (ptrdiff_t j = (count - 1) / TFN__W * TFN__W; j >= 0; j -= TFN__W) {
            const float *row[TFN__W];
            TFN__N(tfn__row_pointers)(row, s, lane, j, count);
            for (ptrdiff_t p = q; p < end; p += 4) {
                TFN__V v[4];
                TFN__V f[4];
                for (int i = 0; i < 4; i++) f[i] = TFN__QLOAD(row + i, p);
                TFN__N(tfn__transpose4)(v, f);
                for (int i = 0; i < 4; i++) TFN__STORE(d + (p + i) * width + j, v[i]);
                for (int i = 0; i < TFN__W / 4; i++)
                    TFN__FETCH(row[p % 16 / 4 * (TFN__W / 4) + i] + p / 16 * 16 + 64);
            }
        }
    }
    return done;
}

#define TFN__FEW 8           /* with up to this many rows of c a transposed b is not packed */
/* How many of these rows share one transposition. 16 registers hold no more than four; with 32,
 * eight take a quarter less time. */
#if TFN__W == 16
#define TFN__ONCE 8
#else
#define TFN__ONCE 4
#endif

/* For up to R rows and W columns of c: starts the chains x, and points a to the rows of a. Rows
 * from t->m on repeat the last one, and are not stored. */
static TFN__INLINE void TFN__N(tfn__start_rows)(TFN__V *x, const float **a,
                                                const tfn_matmul_args *t, const int R)
{
    TFN__UNROLL
    for (int r = 0; r < R; r++) {
        a[r] = t->a + tfn__min(r, t->m - 1) * t->a_row;
        x[r] = TFN__SET(0);
        if (t->start && r < t->m) x[r] = TFN__GET(t->start + r * t->start_ld, t->n);
    }
}
static TFN__INLINE void TFN__N(tfn__store_rows)(const tfn_matmul_args *t, const TFN__V *x,
                                                const int R)
{
    TFN__UNROLL
    for (int r = 0; r < R; r++)
        if (r < t->m) TFN__PUT(t->c + r * t->c_ld, x[r], t->n);
}

/* Computes W columns of up to R rows of c, from W rows of a transposed b: b[l] points to the k
 * numbers of column l. Transposes STEPS of these in registers and uses them for all rows. Every 16
 * steps prefetch one cache line of each of the next W rows of b. With AVX-512, gcc 12 spills
 * registers at 16 steps, and 4 are a tenth faster. */
#if TFN__W == 16 && !defined __clang__
#define TFN__STEPS 4
#else
#define TFN__STEPS TFN__W
#endif
static TFN__INLINE void TFN__N(tfn__transposed_rows)(const tfn_matmul_args *t,
                                                     const float *const *b, const int R)
{
    TFN__V x[TFN__ONCE];
    TFN__V v[4];
    TFN__V q[TFN__STEPS / 4][4];
    float last[TFN__W];
    const float *a[TFN__ONCE];
    ptrdiff_t p = 0;
    TFN__N(tfn__start_rows)(x, a, t, R);
    for (; p + TFN__STEPS <= t->k; p += TFN__STEPS) {
        TFN__UNROLL
        for (int s = 0; s < 4; s++) {
            TFN__UNROLL
            for (int i = 0; i < TFN__STEPS / 4; i++) q[i][s] = TFN__QLOAD(b + s, p + 4*i);
        }
        for (int l = 0; l < TFN__W * TFN__STEPS / 16; l++)
            TFN__FETCH_FAR(b[p % 16 * TFN__W / 16 + l] + TFN__W * t->b_col + p / 16 * 16);
        TFN__UNROLL
        for (int i = 0; i < TFN__STEPS; i++) {
            if (i % 4 == 0) TFN__N(tfn__transpose4)(v, q[i / 4]);
            TFN__UNROLL
            for (int r = 0; r < R; r++)
                x[r] = TFN__FMA(TFN__SET(a[r][(p + i) * t->a_col]), v[i % 4], x[r]);
        }
    }
    for (; p < t->k; p++) {
        for (int l = 0; l < TFN__W; l++) last[l] = b[l][p];
        TFN__UNROLL
        for (int r = 0; r < R; r++)
            x[r] = TFN__FMA(TFN__SET(a[r][p * t->a_col]), TFN__LOAD(last), x[r]);
    }
    TFN__N(tfn__store_rows)(t, x, R);
}
#undef TFN__STEPS

/* Sets t to rows of p from i on and columns from j on, at most ONCE by W. */
static TFN__INLINE void TFN__N(tfn__place_rows)(tfn_matmul_args *t, const tfn_matmul_args *p,
                                                ptrdiff_t i, ptrdiff_t j)
{
    t->m = tfn__min(p->m - i, TFN__ONCE);
    t->n = tfn__min(p->n - j, TFN__W);
    t->a = p->a + i * p->a_row;
    t->c = p->c + i * p->c_ld + j;
    t->start = tfn__at(p->start, i * p->start_ld + j);
}

/* A product with few rows of c and a transposed b, as in an output head tied to the embedding that
 * decodes one token at a time. Packing b would take longer than the product. */
static void TFN__N(tfn__matmul_transposed)(const tfn_matmul_args *p)
{
    tfn_matmul_args t = *p;
    for (ptrdiff_t j = 0; j < p->n; j += TFN__W) {
        const float *b[TFN__W];
        TFN__N(tfn__row_pointers)(b, p->b, p->b_col, j, p->n);
        for (ptrdiff_t i = 0; i < p->m; i += TFN__ONCE) {
            TFN__N(tfn__place_rows)(&t, p, i, j);
            if (t.m == 1) TFN__N(tfn__transposed_rows)(&t, b, 1);
#if TFN__ONCE > 4
            else if (t.m <= 4) TFN__N(tfn__transposed_rows)(&t, b, 4);
#endif
            else TFN__N(tfn__transposed_rows)(&t, b, TFN__ONCE);
        }
    }
}
#endif

/* tfn__pack for contiguous lanes. It stores whole vectors, which may overrun into the next row of
 * d, except the very last one. Rows are prefetched 16 steps ahead. */
static TFN__INLINE void TFN__N(tfn__pack_rows)(float *d, ptrdiff_t width, const float *s,
                                               ptrdiff_t step, ptrdiff_t count, ptrdiff_t k)
{
    for (ptrdiff_t p = 0; p < k; p++)
        for (ptrdiff_t j = 0; j < width; j += TFN__W) {
            const ptrdiff_t lanes = tfn__max(tfn__min(count - j, TFN__W), 0);
            const TFN__V v = TFN__GET(s + p*step + j, lanes);
            if ((k - p) * width - j >= TFN__W) TFN__STORE(d + p*width + j, v);
            else TFN__STOREN(d + p*width + j, v, width - j);
            TFN__FETCH_FAR(s + (p + 16) * step + j);
        }
}

/* Packs a panel, d (k, width): d[p*width + j] = s[p*step + j*lane]. Lanes from `count` on get
 * arbitrary numbers. If `lane` is not 1 it may write up to one vector beyond d. */
static TFN__NOINLINE void TFN__N(tfn__pack)(float *d, ptrdiff_t width, const float *s,
                                            ptrdiff_t lane, ptrdiff_t step, ptrdiff_t count,
                                            ptrdiff_t k)
{
    ptrdiff_t p = 0;
    if (lane == 1) {
        TFN__N(tfn__pack_rows)(d, width, s, step, count, k);
        return;
    }
#ifdef TFN__ZIPLO
    if (step == 1) p = TFN__N(tfn__pack_transposed)(d, width, s, lane, count, k);
#endif
    for (; p < k; p++)
        for (ptrdiff_t j = 0; j < width; j++)
            d[p*width + j] = s[p*step + tfn__min(j, count - 1) * lane];
}

/* One row of c, c (1, n) = start + a (1, k) b (k, n). Computes V vectors from column j on. */
static TFN__INLINE void TFN__N(tfn__row_part)(const tfn_matmul_args *t, ptrdiff_t j,
                                              ptrdiff_t lanes, const int V)
{
    const float *a = t->a;
    const float *b = t->b + j;
    TFN__V x[8];
    TFN__UNROLL
    for (int v = 0; v < V; v++) {
        x[v] = TFN__SET(0);
        if (t->start) x[v] = TFN__GET(t->start + j + v * TFN__W, lanes);
    }
    for (ptrdiff_t p = 0; p < t->k; p++, a += t->a_col, b += t->b_row) {
        const TFN__V s = TFN__SET(*a);
        TFN__UNROLL
        for (int v = 0; v < V; v++) x[v] = TFN__FMA(s, TFN__GET(b + v * TFN__W, lanes), x[v]);
    }
    TFN__UNROLL
    for (int v = 0; v < V; v++) TFN__PUT(t->c + j + v * TFN__W, x[v], lanes);
}

/* The whole row. Eight vectors at a time are enough independent chains to hide the FMA latency. */
static void TFN__N(tfn__row)(const tfn_matmul_args *t)
{
    ptrdiff_t j = 0;
    for (; j + 8*TFN__W <= t->n; j += 8*TFN__W) TFN__N(tfn__row_part)(t, j, TFN__W, 8);
    for (; j + 4*TFN__W <= t->n; j += 4*TFN__W) TFN__N(tfn__row_part)(t, j, TFN__W, 4);
    for (; j < t->n; j += TFN__W) TFN__N(tfn__row_part)(t, j, tfn__min(t->n - j, TFN__W), 1);
}

/* Eight steps of one row, c (1, n) = start + a (1, 8) b (8, n). It reads eight rows of b in
 * parallel, which the hardware prefetchers can follow, and prefetches the rows 16 further on. */
static void TFN__N(tfn__stream)(const tfn_matmul_args *t)
{
    const float *b[2] = { t->b, t->b + 4 * t->b_row };
    TFN__V a[8];
    for (int p = 0; p < 8; p++) a[p] = TFN__SET(t->a[p * t->a_col]);
    TFN__EACH(j, lanes, t->n) {
        TFN__V x = TFN__SET(0);
        if (t->start) x = TFN__GET(t->start + j, lanes);
        TFN__UNROLL
        for (int p = 0; p < 8; p++) {
            const float *from = b[p / 4] + p % 4 * t->b_row + j;
            TFN__FETCH_FAR(from + 16 * t->b_row);
            x = TFN__FMA(a[p], TFN__GET(from, lanes), x);
        }
        TFN__PUT(t->c + j, x, lanes);
    }
}

/* The most floats of b, 512 KiB, that may still be in a cache. */
#define TFN__CACHED 131072

/* A product with few rows of c, or with long rows and a single step: it is bound by reading b once.
 * If b may be in a cache, it is read down its columns while c stays in registers. A larger b is
 * read in eight streams, which made decoding from memory 12 to 30 % faster. */
static void TFN__N(tfn__matmul_rows)(const tfn_matmul_args *p)
{
    const bool cached = p->n * p->k <= TFN__CACHED;
    tfn_matmul_args t = *p;
    ptrdiff_t q = 0;
    do {
        t.k = p->k - q;
        if (!cached) t.k = tfn__min(t.k, 8);
        t.b = p->b + q * p->b_row;
        for (ptrdiff_t i = 0; i < p->m; i++) {
            tfn__place_c(&t, p, i, 0, q);
            t.a = p->a + i * p->a_row + q * p->a_col;
            if (cached || t.k < 8) TFN__N(tfn__row)(&t);
            else TFN__N(tfn__stream)(&t);
        }
        q += t.k;
    } while (q < p->k);
}
#undef TFN__CACHED

/* Prefetches the tile of c that is computed after tile t of s at (i, j), two cache lines per row.
 * It is the tile to the right, or the first one of the next rows. */
static TFN__INLINE void TFN__N(tfn__fetch_next)(const tfn_matmul_args *s, const tfn_matmul_args *t,
                                                ptrdiff_t i, ptrdiff_t j)
{
    const float *next = t->c + t->n;
    if (j + t->n >= s->n) next = s->c + tfn__min(i + t->m, s->m - 1) * s->c_ld;
    for (ptrdiff_t r = 0; r < t->m; r++) {
        TFN__FETCH(next + r * s->c_ld);
        TFN__FETCH(next + r * s->c_ld + 16);
    }
}

/* Returns the first column to compute in the rows of s from i on: 0 unless c is symmetric. Then
 * `corner` points to element (0, 0), and the result is the start of the panel that the diagonal
 * crosses in row i, or s->n if it passes s. */
static TFN__INLINE ptrdiff_t TFN__N(tfn__first_panel)(const tfn_matmul_args *s, ptrdiff_t i,
                                                      const float *corner)
{
    ptrdiff_t at;
    if (!corner) return 0;
    at = s->c - corner;
    at = at / s->c_ld + i - at % s->c_ld;            /* the column of the diagonal, in s */
    if (at >= s->n) return s->n;
    return tfn__max(at, 0) / (2*TFN__W) * (2*TFN__W);
}

/* Computes all tiles of s, whose columns of b stay in L2. Packed rows of a are in panels of a
 * tile's height. The columns of b are in panels of a tile's width, b_col floats apart. If c is
 * symmetric (see tfn__matmul_blocks), skips the tiles below its diagonal. */
static void TFN__N(tfn__matmul_tiles)(const tfn_matmul_args *s, bool packed, const float *corner)
{
    tfn_matmul_args t = *s;
    for (ptrdiff_t i = 0; i < s->m; i += t.m) {
        t.m = tfn__part(s->m - i, TFN__MR);
        t.a = s->a + i * s->a_row;
        if (packed) {
            t.a = s->a + i * s->k;
            t.a_row = 1;
            t.a_col = t.m;
        }
        const ptrdiff_t first = TFN__N(tfn__first_panel)(s, i, corner);
        t.b = s->b + first / (2*TFN__W) * s->b_col;
        for (ptrdiff_t j = first; j < s->n; j += 2*TFN__W, t.b += s->b_col) {
            t.n = tfn__min(s->n - j, 2*TFN__W);
            t.c = s->c + i * s->c_ld + j;
            t.start = tfn__at(s->start, i * s->start_ld + j);
            TFN__N(tfn__fetch_next)(s, &t, i, j);
            if (t.n % TFN__W) TFN__N(tfn__tile_edge)(&t);
            else TFN__N(tfn__tile_rows)(&t);
        }
    }
}

/* Computes a block of c in groups of panels. A group has about PASS steps in total. */
static void TFN__N(tfn__matmul_block)(const tfn_matmul_args *p, bool packed, const float *corner)
{
    const ptrdiff_t panels = tfn__max(TFN__PASS / tfn__max(p->k, 1), 1);
    tfn_matmul_args s = *p;
    for (ptrdiff_t j = 0; j < p->n; j += s.n) {
        s.n = tfn__min(p->n - j, panels * 2*TFN__W);
        s.b = p->b + j / (2*TFN__W) * p->b_col;
        s.c = p->c + j;
        s.start = tfn__at(p->start, j);
        TFN__N(tfn__matmul_tiles)(&s, packed, corner);
    }
}

/* Packs rows of a into panels of even height, or columns of b into panels. If these are contiguous
 * in memory, every panel gets 16 steps in turn, so that memory is read in long pieces. */
static void TFN__N(tfn__pack_panels)(float *work, const float *s, ptrdiff_t lane, ptrdiff_t step,
                                     ptrdiff_t count, ptrdiff_t k, const bool of_a)
{
    ptrdiff_t steps = tfn__max(k, 1);
    if (lane == 1) steps = 16;
    for (ptrdiff_t q = 0; q < k; q += steps)
        for (ptrdiff_t j = 0, width; j < count; j += width) {
            width = 2*TFN__W;
            if (of_a) width = tfn__part(count - j, TFN__MR);
            TFN__N(tfn__pack)(work + j*k + q*width, width, s + j*lane + q*step, lane, step,
                              tfn__min(count - j, width), tfn__min(k - q, steps));
        }
}

/* Packs a block of b into work, and makes s use it. */
static void TFN__N(tfn__pack_b)(tfn_matmul_args *s, float *work)
{
    TFN__N(tfn__pack_panels)(work, s->b, s->b_col, s->b_row, s->n, s->k, false);
    s->b = work;
    s->b_row = 2*TFN__W;
    s->b_col = 2*TFN__W * s->k;
}

/* Returns the columns in a block of b. If b is packed, its panels fill the buffer, or a quarter of
 * it if all rows of a are one block, so that b's block is read only once. If b is not packed, all
 * whole panels are one block, and the remaining columns are another. */
static ptrdiff_t TFN__N(tfn__block_cols)(const tfn_matmul_args *s, ptrdiff_t n, bool pack_b)
{
    const ptrdiff_t whole = n / (2*TFN__W) * (2*TFN__W);
    ptrdiff_t floats = TFN__KC * TFN__NC;
    if (!pack_b && whole > 0) return whole;
    if (s->m <= TFN__MC) floats /= 4;
    return tfn__min(n, floats / tfn__max(s->k, 1) / (2*TFN__W) * (2*TFN__W));
}

/* The crossovers between the ways to compute a product, tuned for x86 with AVX2 and AVX-512. They
 * change no bit. After a change here, measure it with `bench gemm`. Each is exclusive: a product
 * must exceed it. */
#define TFN__OUTER_COLS     256        /* if k is 1: columns of c to compute row by row */
#define TFN__PACK_A_APART   96         /* columns of c to pack a, if its steps are not contiguous */
#define TFN__PACK_A_COLS    128        /* columns of c to pack a, if its steps are contiguous ... */
#define TFN__PACK_A_STEPS   128        /* ... and steps */
#define TFN__OFTEN          20         /* tiles that reread a panel of b for it to count as often */
#define TFN__OFTEN_CROWDED  2          /* the same if rows of b share few cache sets */
#define TFN__PACK_B_OFTEN   24576      /* floats of b (96 KiB) to pack it, if it is reread often */
#define TFN__PACK_B_ONCE    4194304    /* floats of b (16 MiB) to pack it otherwise */

/* True if packing a pays: many columns must reread its panels. */
static bool TFN__N(tfn__packs_a)(const tfn_matmul_args *p)
{
    if (p->a_col != 1) return p->n > TFN__PACK_A_APART;
    return p->n > TFN__PACK_A_COLS && p->k > TFN__PACK_A_STEPS;
}

/* True if packing b pays: many tiles must reread each panel. Fewer suffice if the rows of b are a
 * multiple of 2 KiB apart, so that they share few cache sets, and a tile is so narrow that it uses
 * only one cache line of a row. A transposed b must always be packed, because tiles load vectors
 * along its rows. */
static bool TFN__N(tfn__packs_b)(const tfn_matmul_args *p)
{
    const bool crowded = 2*TFN__W <= 16 && p->b_row % 512 == 0;
    ptrdiff_t often = TFN__OFTEN;
    if (p->b_col != 1) return true;
    if (crowded) often = TFN__OFTEN_CROWDED;
    if (p->m > often * TFN__MR) return p->n * p->k > TFN__PACK_B_OFTEN;
    return p->n * p->k > TFN__PACK_B_ONCE;
}

/* Multiplies all rows of a by one block of b, s, which begins at column j and step q. It does MC
 * rows at a time. The buffer for panels of a holds MC rows; if a has more, they are packed again
 * for every block of b. */
static void TFN__N(tfn__matmul_rows_of)(const tfn_matmul_args *p, const tfn_matmul_args *s,
                                        ptrdiff_t j, ptrdiff_t q, float *packed_a,
                                        const float *corner)
{
    tfn_matmul_args t = *s;
    for (ptrdiff_t i = 0; i < p->m; i += t.m) {
        t.m = tfn__part(p->m - i, TFN__MC);
        t.a = p->a + i * p->a_row + q * p->a_col;
        tfn__place_c(&t, p, i, j, q);
        if (packed_a) {
            if (j == 0 || p->m > TFN__MC)
                TFN__N(tfn__pack_panels)(packed_a, t.a, t.a_row, t.a_col, t.m, t.k, true);
            t.a = packed_a;
        }
        TFN__N(tfn__matmul_block)(&t, packed_a != NULL, corner);
    }
}

/* The general product: blocks of KC steps, each cut into blocks of columns of b. If k is 0, c
 * becomes start. A caller that knows that c is symmetric passes p->c as `corner`, so that tiles
 * below the diagonal are skipped. Others pass NULL. */
static void TFN__N(tfn__matmul_blocks)(const tfn_matmul_args *p, float *work, const float *corner)
{
    const bool pack_b = TFN__N(tfn__packs_b)(p);
    float *packed_a = NULL;
    tfn_matmul_args s = *p;
    ptrdiff_t q = 0;
    if (TFN__N(tfn__packs_a)(p)) packed_a = work + tfn__matmul_b(p->n, p->k);
    do {
        s.k = tfn__part(p->k - q, TFN__KC);
        for (ptrdiff_t j = 0; j < p->n; j += s.n) {
            s.n = TFN__N(tfn__block_cols)(&s, p->n - j, pack_b);
            s.b = p->b + j * p->b_col + q * p->b_row;
            s.b_row = p->b_row;
            s.b_col = p->b_col;
            if (pack_b || s.n < 2*TFN__W) TFN__N(tfn__pack_b)(&s, work);
            else s.b_col = 2*TFN__W;
            TFN__N(tfn__matmul_rows_of)(p, &s, j, q, packed_a, corner);
        }
        q += s.k;
    } while (q < p->k);
}

/* Chooses a way to compute the product by its shape. All give the same bits. */
static void TFN__N(tfn__matmul)(const tfn_matmul_args *p, float *work)
{
    const bool one_step = p->k == 1 && p->n > TFN__OUTER_COLS;
    if (p->m <= 0 || p->n <= 0) return;
    if (p->b_col == 1 && (p->m <= TFN__VECTOR_ROWS || one_step)) {
        TFN__N(tfn__matmul_rows)(p);
        return;
    }
#ifdef TFN__ZIPLO
    if (p->b_row == 1 && p->m <= TFN__FEW) {
        TFN__N(tfn__matmul_transposed)(p);
        return;
    }
#endif
    TFN__N(tfn__matmul_blocks)(p, work, NULL);
}
#undef TFN__OUTER_COLS
#undef TFN__PACK_A_APART
#undef TFN__PACK_A_COLS
#undef TFN__PACK_A_STEPS
#undef TFN__OFTEN
#undef TFN__OFTEN_CROWDED
#undef TFN__PACK_B_OFTEN
#undef TFN__PACK_B_ONCE

/* Returns the floats of scratch that a product may need, with any strides. All instruction sets
 * return the same. */
static ptrdiff_t TFN__N(tfn__matmul_work)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    return tfn__matmul_b(n, k) + tfn__matmul_a(m, k);
}

/* dbias (cols) = the sum of the rows of dy, or += if `add`. It is a product of a row of ones and
 * dy, because fma(1, x, sum) rounds like x + sum. */
static void TFN__N(tfn__column_sum)(float *dbias, const float *dy, ptrdiff_t rows, ptrdiff_t cols,
                                    ptrdiff_t ld, bool add)
{
    const float one = 1;
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = dbias;
    if (add) p.start = dbias;
    p.a = &one;                              /* strides are 0, so every element of a is 1 */
    p.b = dy;
    p.m = 1;
    p.n = cols;
    p.k = rows;
    p.b_row = ld;
    p.b_col = 1;
    TFN__N(tfn__matmul_rows)(&p);
}

/* Adds sixteen terms from i on, or `left` if fewer remain, to their lanes. */
static TFN__INLINE void TFN__N(tfn__dot_lanes)(TFN__V *acc, const float *x, const float *y,
                                               ptrdiff_t i, ptrdiff_t left)
{
    for (int l = 0; l < TFN__LANES; l++, i += TFN__W, left -= TFN__W) {
        const ptrdiff_t lanes = tfn__min(tfn__max(left, 0), TFN__W);
        TFN__V v = TFN__GET(x + i, lanes);
        if (y) v = TFN__MUL(v, TFN__GET(y + i, lanes));
        acc[l] = TFN__ADD(acc[l], v);
    }
}

/* Returns the sum of x[i]*y[i] over a whole tensor, or of x[i] if y is NULL. Up to 4,096 terms are
 * summed in 16 lanes. Longer sums are cut into blocks of 4,096 (or 4,096^2) terms, whose sums are
 * summed in the same way. So no chain of additions is longer than 256, which keeps rounding errors
 * small. */
static float TFN__N(tfn__dot)(const float *x, const float *y, ptrdiff_t n)
{
    const ptrdiff_t block = 4096;
    TFN__V acc[TFN__LANES];
    float lane[16] = { 0 };
    ptrdiff_t span = block;
    ptrdiff_t i = 0;
    if (n > block) {
        while (span <= (n - 1) / block) span *= block;         /* span * block could overflow */
        for (; i < n; i += span)
            lane[i / span % 16] += TFN__N(tfn__dot)(x + i, tfn__at(y, i), tfn__min(n - i, span));
    }
    for (int l = 0; l < TFN__LANES; l++) acc[l] = TFN__LOAD(lane + l*TFN__W);
    for (; i + 16 <= n; i += 16) TFN__N(tfn__dot_lanes)(acc, x, y, i, 16);
    if (i < n) TFN__N(tfn__dot_lanes)(acc, x, y, i, n - i);
    return TFN__N(tfn__tree)(acc);
}

/* y = a*x + b*z, or y += a*x + b*z if `add`. If z is NULL, b*z is left out. */
static void TFN__N(tfn__combine)(float *y, const float *x, const float *z, ptrdiff_t n, float a,
                                 float b, bool add)
{
    const TFN__V va = TFN__SET(a);
    const TFN__V vb = TFN__SET(b);
    TFN__EACH(i, lanes, n) {
        TFN__V v = TFN__MUL(va, TFN__GET(x + i, lanes));
        if (z) v = TFN__ADD(v, TFN__MUL(vb, TFN__GET(z + i, lanes)));
        if (add) v = TFN__ADD(TFN__GET(y + i, lanes), v);
        TFN__PUT(y + i, v, lanes);
    }
}
