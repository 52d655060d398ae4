/* Products with 16-bit weights. They have the bits of the same products with floats, and read half
 * as many bytes. Few rows of c: weights become floats in registers, so that decoding is bound by
 * reading them once. More rows: they become floats as they are packed, and the rest is the product
 * of floats. A set without TFN__F16 does not have these functions; section products then converts
 * tiles.
 *
 * In all of them t or p holds the sizes and the other operands, and w the weights instead of b:
 * w (k, n) with rows b_row apart, or a table of words w (n, k) with rows b_col apart and b_row 0.
 * Callers of the inline functions pass a constant type, which makes one copy for each type. */
#if TFN__PACKS && defined TFN__F16
#define TFN__FEW_HALVES 4    /* with up to this many rows of c a w (k, n) is not packed: 6 rows are
                              * as fast either way with AVX2 and AVX-512, 8 rows slower by a third
                              * with AVX-512 */

/* Returns W weights as floats. */
static TFN__INLINE TFN__V TFN__N(tfn__halves)(const uint16_t *h, tfn_weights type)
{
    if (type == TFN_WEIGHTS_BF16) return TFN__BF16(h);
    return TFN__F16(h);
}

/* Converts n weights that are not a whole vector. */
static TFN__NOINLINE void TFN__N(tfn__halves_rest)(float *y, const uint16_t *h, ptrdiff_t n,
                                                   tfn_weights type)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        if (type == TFN_WEIGHTS_BF16) y[i] = tfn__from_bf16(h[i]);
        else y[i] = tfn__from_f16(h[i]);
    }
}

/* -- few rows, w (k, n) ------------------------------------------------------------------------ */

/* S steps of one row, c (1, n) = start + a (1, S) w (S, n), like tfn__stream. n is a multiple of
 * 2 W. */
static TFN__INLINE void TFN__N(tfn__halves_steps)(const tfn_matmul_args *t, const uint16_t *w,
                                                  tfn_weights type, const int S)
{
    const ptrdiff_t ld = t->b_row;
    TFN__V a[8];
    TFN__UNROLL
    for (int p = 0; p < S; p++) a[p] = TFN__SET(t->a[p]);
    for (ptrdiff_t j = 0; j < t->n; j += 2*TFN__W) {
        const uint16_t *from = w + j;
        TFN__V x = TFN__SET(0);
        TFN__V y = TFN__SET(0);
        if (t->start) {
            x = TFN__LOAD(t->start + j);
            y = TFN__LOAD(t->start + j + TFN__W);
        }
        TFN__UNROLL
        for (int p = 0; p < S; p++, from += ld) {
            TFN__FETCH_FAR(from + 16 * ld);
            x = TFN__FMA(a[p], TFN__N(tfn__halves)(from, type), x);
            y = TFN__FMA(a[p], TFN__N(tfn__halves)(from + TFN__W, type), y);
        }
        TFN__STORE(t->c + j, x);
        TFN__STORE(t->c + j + TFN__W, y);
    }
}

/* Does all steps: eight at a time, and the rest one by one. The rows of c share eight rows of w
 * while these are in a cache. */
static TFN__INLINE void TFN__N(tfn__halves_rows)(const tfn_matmul_args *p, const uint16_t *w,
                                                 tfn_weights type)
{
    tfn_matmul_args t = *p;
    for (ptrdiff_t q = 0; q < p->k; q += t.k) {
        t.k = 1;
        if (p->k - q >= 8) t.k = 8;
        for (ptrdiff_t i = 0; i < p->m; i++) {
            tfn__place_c(&t, p, i, 0, q);
            t.a = p->a + i * p->a_row + q;
            if (t.k == 8) TFN__N(tfn__halves_steps)(&t, w + q * p->b_row, type, 8);
            else TFN__N(tfn__halves_steps)(&t, w + q * p->b_row, type, 1);
        }
    }
}

/* -- few rows, w (n, k): a table of words ------------------------------------------------------ */

/* Converts 8 steps to floats. Each lane of v[i] holds steps 2i and 2i + 1 in its two halves. */
static TFN__INLINE void TFN__N(tfn__halves_split)(TFN__V *step, const TFN__V *v, tfn_weights type)
{
    TFN__UNROLL
    for (int i = 0; i < 4; i++) {
        if (type == TFN_WEIGHTS_BF16) {
            step[2*i] = TFN__BF16_LOW(v[i]);
            step[2*i + 1] = TFN__AND(v[i], TFN__SETBITS(0xffff0000u));
        } else {
            step[2*i] = TFN__F16_LOW(v[i]);
            step[2*i + 1] = TFN__F16_HIGH(v[i]);
        }
    }
}

/* Prefetches the next W words, where w points to these words at step p. It fetches a quarter of
 * them for every 8 steps, so that each cache line of 32 steps is fetched once. */
static TFN__INLINE void TFN__N(tfn__halves_fetch)(const uint16_t *const *w, ptrdiff_t ld,
                                                  ptrdiff_t p)
{
    for (int l = 0; l < TFN__W / 4; l++)
        TFN__FETCH_FAR(w[p % 32 / 8 * (TFN__W / 4) + l] + TFN__W * ld + p / 32 * 32);
}

/* Computes W columns of up to R rows of c, like tfn__transposed_rows. A lane that is transposed
 * holds two neighbours of a word, so eight steps cost the shuffles of four steps of floats. */
static TFN__INLINE void TFN__N(tfn__halves_words)(const tfn_matmul_args *t,
                                                  const uint16_t *const *w, tfn_weights type,
                                                  const int R)
{
    TFN__V x[TFN__ONCE];
    TFN__V v[4];
    TFN__V q[4];
    TFN__V step[8];
    uint16_t rest[TFN__W];
    float last[TFN__W];
    const float *a[TFN__ONCE];
    ptrdiff_t p = 0;
    TFN__N(tfn__start_rows)(x, a, t, R);
    for (; p + 8 <= t->k; p += 8) {
        TFN__UNROLL
        for (int s = 0; s < 4; s++) q[s] = TFN__QLOAD(w + s, p);
        TFN__N(tfn__halves_fetch)(w, t->b_col, p);
        TFN__N(tfn__transpose4)(v, q);
        if (type == TFN_WEIGHTS_BF16) TFN__N(tfn__halves_split)(step, v, TFN_WEIGHTS_BF16);
        else TFN__N(tfn__halves_split)(step, v, TFN_WEIGHTS_F16);
        TFN__UNROLL
        for (int i = 0; i < 8; i++) {
            TFN__UNROLL
            for (int r = 0; r < R; r++)
                x[r] = TFN__FMA(TFN__SET(a[r][p + i]), step[i], x[r]);
        }
    }
    for (; p < t->k; p++) {
        for (int l = 0; l < TFN__W; l++) rest[l] = w[l][p];
        TFN__N(tfn__halves_rest)(last, rest, TFN__W, type);
        TFN__UNROLL
        for (int r = 0; r < R; r++) x[r] = TFN__FMA(TFN__SET(a[r][p]), TFN__LOAD(last), x[r]);
    }
    TFN__N(tfn__store_rows)(t, x, R);
}

/* Computes all columns, ONCE rows of c at a time. */
static TFN__INLINE void TFN__N(tfn__halves_table)(const tfn_matmul_args *p, const uint16_t *w,
                                                  tfn_weights type)
{
    tfn_matmul_args t = *p;
    for (ptrdiff_t j = 0; j < p->n; j += TFN__W) {
        const uint16_t *word[TFN__W];
        for (int l = 0; l < TFN__W; l++) word[l] = w + tfn__min(j + l, p->n - 1) * p->b_col;
        for (ptrdiff_t i = 0; i < p->m; i += TFN__ONCE) {
            TFN__N(tfn__place_rows)(&t, p, i, j);
            if (t.m == 1) TFN__N(tfn__halves_words)(&t, word, type, 1);
            else TFN__N(tfn__halves_words)(&t, word, type, TFN__ONCE);
        }
    }
}

/* -- more rows --------------------------------------------------------------------------------- */

/* Packs columns of w (k, n) as floats, in panels of 2 W, like tfn__pack_panels. */
static TFN__INLINE void TFN__N(tfn__halves_pack_cols)(float *d, const uint16_t *w,
                                                      const tfn_matmul_args *t, tfn_weights type)
{
    for (ptrdiff_t q = 0; q < t->k; q += 16)
        for (ptrdiff_t j = 0; j < t->n; j += 2*TFN__W)
            for (ptrdiff_t p = q; p < tfn__min(q + 16, t->k); p++) {
                const uint16_t *from = w + p * t->b_row + j;
                float *to = d + j * t->k + p * 2*TFN__W;
                TFN__FETCH_FAR(from + 16 * t->b_row);
                TFN__STORE(to, TFN__N(tfn__halves)(from, type));
                TFN__STORE(to + TFN__W, TFN__N(tfn__halves)(from + TFN__W, type));
            }
}

/* The same from w (n, k), with 32 steps of a panel at a time: they become floats, which tfn__pack
 * transposes. */
static TFN__INLINE void TFN__N(tfn__halves_pack_words)(float *d, const uint16_t *w,
                                                       const tfn_matmul_args *t, tfn_weights type)
{
    float wide[2*TFN__W * 32];
    for (ptrdiff_t j = 0; j < t->n; j += 2*TFN__W)
        for (ptrdiff_t q = 0; q < t->k; q += 32) {
            const ptrdiff_t words = tfn__min(t->n - j, 2*TFN__W);
            const ptrdiff_t steps = tfn__min(t->k - q, 32);
            for (ptrdiff_t l = 0; l < words; l++) {
                const uint16_t *from = w + (j + l) * t->b_col + q;
                ptrdiff_t p = 0;
                for (; p + TFN__W <= steps; p += TFN__W)
                    TFN__STORE(wide + l*32 + p, TFN__N(tfn__halves)(from + p, type));
                if (p < steps)
                    TFN__N(tfn__halves_rest)(wide + l*32 + p, from + p, steps - p, type);
            }
            TFN__N(tfn__pack)(d + j * t->k + q * 2*TFN__W, 2*TFN__W, wide, 32, 1, words, steps);
        }
}

/* Packs a block of w, of either form, into work. */
static void TFN__N(tfn__halves_pack)(float *work, const uint16_t *w, const tfn_matmul_args *t,
                                     tfn_weights type)
{
    const bool words = t->b_row == 0;
    if (type == TFN_WEIGHTS_BF16 && words)
        TFN__N(tfn__halves_pack_words)(work, w, t, TFN_WEIGHTS_BF16);
    else if (words) TFN__N(tfn__halves_pack_words)(work, w, t, TFN_WEIGHTS_F16);
    else if (type == TFN_WEIGHTS_BF16)
        TFN__N(tfn__halves_pack_cols)(work, w, t, TFN_WEIGHTS_BF16);
    else TFN__N(tfn__halves_pack_cols)(work, w, t, TFN_WEIGHTS_F16);
}

/* The general product, like tfn__matmul_blocks. w is always packed. */
static void TFN__N(tfn__halves_blocks)(const tfn_matmul_args *p, const uint16_t *w,
                                       tfn_weights type, float *work)
{
    float *packed_a = NULL;
    if (TFN__N(tfn__packs_a)(p)) packed_a = work + tfn__matmul_b(p->n, p->k);
    for (ptrdiff_t q = 0, k; q < p->k; q += k) {
        tfn_matmul_args s = *p;
        k = s.k = tfn__part(p->k - q, TFN__KC);
        for (ptrdiff_t j = 0; j < p->n; j += s.n) {
            s.n = TFN__N(tfn__block_cols)(&s, p->n - j, true);
            s.b_row = p->b_row;
            s.b_col = p->b_col;
            TFN__N(tfn__halves_pack)(work, w + q * tfn__max(p->b_row, 1) + j * p->b_col, &s, type);
            s.b = work;
            s.b_row = 2*TFN__W;
            s.b_col = 2*TFN__W * k;
            TFN__N(tfn__matmul_rows_of)(p, &s, j, q, packed_a, NULL);
        }
    }
}

/* -- choice ------------------------------------------------------------------------------------ */

static void TFN__N(tfn__halves_ways)(const tfn_matmul_args *p, const uint16_t *w,
                                     tfn_weights type, float *work)
{
    const bool words = p->b_row == 0;
    const bool bf16 = type == TFN_WEIGHTS_BF16;
    if (p->m > TFN__FEW || (!words && p->m > TFN__FEW_HALVES))
        TFN__N(tfn__halves_blocks)(p, w, type, work);
    else if (words) TFN__N(tfn__halves_table)(p, w, type);
    else if (bf16) TFN__N(tfn__halves_rows)(p, w, TFN_WEIGHTS_BF16);
    else TFN__N(tfn__halves_rows)(p, w, TFN_WEIGHTS_F16);
}

/* Computes the first outputs of a product with 16-bit weights and returns how many: all of a table,
 * otherwise whole panels of 2 W. */
SHARED ptrdiff_t TFN__N(tfn__matmul_halves)(const tfn_quant_args *h, float *work)
{
    const uint16_t *w = (const uint16_t *)h->w;
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = h->c;
    p.start = h->start;
    p.a = h->a;
    p.m = h->m;
    p.n = h->n;
    p.k = h->k;
    p.c_ld = h->c_ld;
    p.start_ld = h->start_ld;
    p.a_row = h->a_ld;
    p.a_col = 1;
    p.b_col = h->k;
    if (!h->table) {
        p.n = h->n / (2*TFN__W) * (2*TFN__W);
        p.b_row = h->outputs;
        p.b_col = 1;
    }
    w += h->first * p.b_col;
    TFN__N(tfn__halves_ways)(&p, w, h->type, work);
    return p.n;
}
#undef TFN__FEW_HALVES
#endif
#undef TFN__MR
#undef TFN__FEW
#undef TFN__ONCE
