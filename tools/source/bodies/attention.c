/* Attention. The forward computes, for each strip of queries (tfn__strip),
 *     s = q k^T,  m = max(scale s),  e = exp(scale s - m),  l = sum(e),  y = (e v)/l.
 * It saves m and l. It does not use an online softmax, because rescaling would break the chains.
 * The backward computes
 *     p = e/l,  dp = dy v^T,  ds = p (dp - sum(dy y)) scale,
 *     dq = ds k,  dk = ds^T q,  dv = p^T dy.
 * With a cap (Gemma 2) cap tanh(scale s/cap), called u, replaces scale s, and ds gets the factor
 * 1 - (u/cap)^2.
 * A bias, which depends on head and distance, is added after that. The gradient of the bias is
 * ds/scale.
 * With a window of W keys a strip begins near the first key that its first query sees, so that time
 * and memory traffic are proportional to W. A later query of the strip sees fewer of these keys.
 * The hidden ones get the weight exp(-inf) = 0. They add +0 to sums, and 0*v to chains that start
 * at +0, which changes no bit.
 *
 * Otherwise loop bounds skip masked keys. They are never multiplied by zero: scores right of the
 * diagonal may be computed, but are not used. Dropout applies to e in e v, to p in p^T dy, and to
 * dp. */

/* Copies rows of x, ld floats apart, to y (rows, D), which is contiguous. */
static void TFN__N(tfn__gather)(float *y, const float *x, ptrdiff_t ld, ptrdiff_t rows,
                                ptrdiff_t size)
{
    for (ptrdiff_t r = 0; r < rows; r++) TFN__N(tfn__copy)(y + r*size, x + r*ld, size);
}

/* Packs k (keys, D), or v, once for all strips of a head. */
static void TFN__N(tfn__pack_keys)(const tfn__strip *a, float *kt, const float *k, ptrdiff_t ld)
{
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.b = k + tfn__k_at(a, ld);
    t.b_row = 1;
    t.b_col = ld;
    t.n = a->all;
    t.k = a->size;
    TFN__N(tfn__pack_b)(&t, kt);
}

/* s (rows, keys) = q (rows, D) k^T, some rows at a time. It computes as many keys as the last of
 * these rows sees, and a few more to fill the last vector. */
static void TFN__N(tfn__scores)(const tfn__strip *a, float *s, const float *q, const float *kt)
{
    const ptrdiff_t most = a->p->causal ? 2*TFN__STEP : a->rows;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.b = kt;
    t.b_row = 2*TFN__W;
    t.b_col = 2*TFN__W * a->size;
    t.a_row = a->size;
    t.a_col = 1;
    t.c_ld = a->ld;
    t.k = a->size;
    for (ptrdiff_t i = 0; i < a->rows; i += t.m) {
        t.m = tfn__min(a->rows - i, most);
        t.n = tfn__scores_of(a, i + t.m - 1);
        t.n = (t.n + TFN__W - 1) / TFN__W * TFN__W;
        t.c = s + i*a->ld;
        t.a = q + i*a->size;
        TFN__N(tfn__matmul_block)(&t, false, NULL);
    }
}

/* Caps n scores, s = cap*tanh(scale s/cap) (Gemma 2, Riviere et al. 2024), if there is a cap.
 * Returns the scale that the scores still need: 1, or `scale` if there is no cap. */
static TFN__APART float TFN__N(tfn__cap_scores)(float *s, ptrdiff_t n, float scale, float cap)
{
    if (!TFN__ALL || !(cap > 0)) return scale;
    TFN__N(tfn__combine)(s, s, NULL, n, scale, 0, false);
    TFN__N(tfn__divide_row)(s, n, cap);
    TFN__N(tfn__tanh)(s, s, n);
    TFN__N(tfn__combine)(s, s, NULL, n, cap, 0, false);
    return 1;
}

/* Scales n scores of a row and adds their bias. Returns the scale that the scores still need, which
 * is 1. */
static TFN__APART float TFN__N(tfn__bias_scores)(float *s, const float *bias, ptrdiff_t n,
                                                 float scale)
{
    TFN__N(tfn__combine)(s, s, bias, n, scale, 1, false);
    return 1;
}

/* Prepares the capped scores of row r for the softmax: adds the bias, and sets the scores of keys
 * that the window hides to -inf, so that exp gives 0. Returns the scale that the scores still
 * need. */
static float TFN__N(tfn__finish_scores)(const tfn__strip *a, float *s, ptrdiff_t r, float scale)
{
    const tfn_attention_args *p = a->p;
    const ptrdiff_t n = tfn__scores_of(a, r);
    if (!TFN__ALL) return scale;
    if (p->bias.at)
        scale = TFN__N(tfn__bias_scores)(s, p->bias.at + tfn__bias_at(a, r), n, scale);
    for (ptrdiff_t j = tfn__first_key_of(p, a->b, a->row + r) - a->low; j-- > 0;)
        s[j] = -(float)INFINITY;
    return scale;
}

/* Scales n scores and returns the largest. It pads the last block of 16 with -inf, whose exp is 0,
 * so that the following sum needs only whole blocks. */
static float TFN__N(tfn__scale_max)(float *s, ptrdiff_t n, float scale)
{
    const TFN__V f = TFN__SET(scale);
    const TFN__V none = TFN__SET(-(float)INFINITY);
    TFN__V max[TFN__LANES];
    for (int l = 0; l < TFN__LANES; l++) max[l] = none;
    for (ptrdiff_t i = 0; i < n; i += 16)
        for (int l = 0; l < TFN__LANES; l++) {
            TFN__V v = TFN__MUL(TFN__LOAD(s + i + l*TFN__W), f);
            if (n - i < 16)
                v = TFN__LESS(TFN__LOAD(tfn__lane + l*TFN__W), TFN__SET((float)(n - i)), v, none);
            TFN__STORE(s + i + l*TFN__W, v);
            max[l] = TFN__MAX(v, max[l]);
        }
    return TFN__N(tfn__largest)(max);
}

/* s = exp(s - max). Returns the sum, to which the padding adds +0. For a row without keys it
 * returns 1, so that y = 0/1. */
static float TFN__N(tfn__exp_sum)(float *s, ptrdiff_t n, float max)
{
    if (n <= 0) return 1;
    return TFN__N(tfn__row_exp_sum)(s, s, (n + 15) / 16 * 16, max);
}

/* Applies dropout to the n weights of row r, if there is any. */
static void TFN__N(tfn__drop_row)(const tfn__strip *a, float *x, ptrdiff_t r, ptrdiff_t n)
{
    const uint64_t head = (uint64_t)(a->b * a->p->heads + a->h);
    const uint64_t first = ((head << 20) + (uint64_t)(a->row + r)) << 20;
    if (TFN__DROPS && a->p->dropout > 0)
        TFN__N(tfn__dropout)(x, x, n, a->p->dropout, a->p->key, first + (uint64_t)a->low, false);
}

/* x += a b: step p of the chains of rows first ... end - 1. */
static TFN__INLINE void TFN__N(tfn__wedge_step)(const tfn_matmul_args *t, TFN__V *x,
                                                const float *const *a, ptrdiff_t p, ptrdiff_t j,
                                                ptrdiff_t lanes, ptrdiff_t first, ptrdiff_t end)
{
    const TFN__V u = TFN__GET(t->b + p * t->b_row + j, lanes);
    TFN__UNROLL
    for (int i = 0; i < TFN__STEP; i++)
        if (i >= first && i < end) x[i] = TFN__FMA(TFN__SET(a[i][p * t->a_col]), u, x[i]);
}

/* Computes lanes of c (m, n), m <= TFN__STEP, from column j on, where the causal diagonal cuts the
 * chains. Row i has the steps p <= cut + i. Transposed, it has the steps p >= i, and cut is 0. So
 * all rows have the first `cut` steps. Each of the next TFN__STEP steps has one row less, or
 * transposed one row more. Transposed, all rows have the steps after that. Missing rows repeat the
 * last one. */
static TFN__INLINE void TFN__N(tfn__wedge)(const tfn_matmul_args *t, ptrdiff_t cut,
                                           const bool transposed, ptrdiff_t j, ptrdiff_t lanes)
{
    const ptrdiff_t all = tfn__min(cut, t->k);
    const float *a[TFN__STEP];
    ptrdiff_t p = 0;
    TFN__V x[TFN__STEP];
    TFN__UNROLL
    for (int i = 0; i < TFN__STEP; i++) {
        const ptrdiff_t r = tfn__min(i, t->m - 1);
        a[i] = t->a + r * t->a_row;
        x[i] = TFN__SET(0);
        if (t->start) x[i] = TFN__GET(t->start + r * t->start_ld + j, lanes);
    }
    for (; p < all; p++) TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, 0, TFN__STEP);
    /* Along the diagonal. wedge_step compares each row with the bounds, which branch prediction
     * handles well. The alternative would be a copy of the code for each step. */
    for (; p < tfn__min(all + TFN__STEP, t->k); p++) {
        if (transposed) TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, 0, p - all + 1);
        else TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, p - all, TFN__STEP);
    }
    if (transposed)
        for (; p < t->k; p++) TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, 0, TFN__STEP);
    TFN__UNROLL
    for (int i = 0; i < TFN__STEP; i++)
        if (i < t->m) TFN__PUT(t->c + i * t->c_ld + j, x[i], lanes);
}

/* y (rows, D) = w (rows, keys) x (keys, D), or += if `add`. First come the keys that all rows see,
 * then those along the diagonal, some rows at a time. */
static void TFN__N(tfn__over_keys)(const tfn__strip *a, float *y, ptrdiff_t y_ld, const float *w,
                                   bool add)
{
    const ptrdiff_t diagonal = a->keys - a->before;
    tfn_matmul_args t;

    /* keys that all rows see */
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.c = y;
    if (add) t.start = y;
    t.a = w;
    t.b = a->x;
    t.m = a->rows;
    t.n = a->size;
    t.k = a->before;
    t.c_ld = y_ld;
    t.start_ld = y_ld;
    t.a_row = a->ld;
    t.a_col = 1;
    t.b_row = a->size;
    t.b_col = 1;
    if (t.k > 0 || diagonal <= 0) TFN__N(tfn__matmul)(&t, a->work);
    if (diagonal <= 0) return;

    /* the keys along the diagonal, TFN__STEP rows at a time; the chains continue from y */
    t.b += a->before * a->size;
    t.k = diagonal;
    for (ptrdiff_t i = 0; i < a->rows; i += TFN__STEP) {
        t.c = y + i*y_ld;
        if (a->before || add) t.start = t.c;
        t.a = w + i*a->ld + a->before;
        t.m = tfn__min(TFN__STEP, a->rows - i);
        TFN__EACH(j, lanes, t.n) TFN__N(tfn__wedge)(&t, i, false, j, lanes);
    }
}

/* The forward of one strip. It computes the maxima of all rows before the sums of all rows, so that
 * no row waits for its own maximum. */
static void TFN__N(tfn__strip_forward)(const tfn__strip *a)
{
    const tfn_attention_args *p = a->p;
    float *y = p->y + tfn__q_at(a, p->y_ld);
    float stats[TFN__STRIP][2];                    /* m and l of each row */

    /* s = q k^T, and m */
    TFN__N(tfn__gather)(a->q, p->q + tfn__q_at(a, p->q_ld), p->q_ld, a->rows, a->size);
    TFN__N(tfn__scores)(a, a->s, a->q, a->kt);
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__scores_of(a, r);
        float *s = a->s + r*a->ld;
        const float scale = TFN__N(tfn__cap_scores)(s, n, p->scale, p->cap);
        stats[r][0] = TFN__N(tfn__scale_max)(s, n, TFN__N(tfn__finish_scores)(a, s, r, scale));
    }

    /* e = exp(s - m), and l over all weights; then dropout */
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__scores_of(a, r);
        stats[r][1] = TFN__N(tfn__exp_sum)(a->s + r*a->ld, n, stats[r][0]);
        TFN__N(tfn__drop_row)(a, a->s + r*a->ld, r, n);
        if (p->stats) TFNORM_MEMCPY(p->stats + tfn__stats_at(a, r), stats[r], sizeof stats[r]);
    }

    /* y = (e v)/l */
    TFN__N(tfn__over_keys)(a, y, p->y_ld, a->s, false);
    for (ptrdiff_t r = 0; r < a->rows; r++)
        TFN__N(tfn__divide_row)(y + r*p->y_ld, a->size, stats[r][1]);
}

/* Begins pair u, a sentence and one of its key/value heads: divides `work` (attention_work must
 * count the same), and packs the keys. Builds without training have no arrays for gradients. */
static tfn__strip TFN__N(tfn__begin_pair)(const tfn_attention_args *p, ptrdiff_t u, float *work)
{
    const ptrdiff_t rows = tfn__min(p->tq, TFN__STRIP);
    const ptrdiff_t size = p->head_size;
    const ptrdiff_t floats = tfn__head_floats(p->tk, size);
    tfn__strip a;
    TFNORM_MEMSET(&a, 0, sizeof a);
    a.p = p;
    a.b = u / p->kv_heads;
    a.g = u % p->kv_heads;
    a.size = size;
    if (p->tq > 0) a.all = tfn__seen(p, a.b, p->tq - 1);
    a.ld = tfn__score_ld(p->tk);
    a.s = work;
    a.q = a.s + rows*a.ld;
    a.kt = a.q + rows*size;
    a.x = a.kt + floats;
    a.work = a.x + floats;
    if (TFN__TRAINS) {
        a.ds = a.work;
        a.dy = a.ds + rows*a.ld;
        a.vt = a.dy + rows*size;
        a.dk = a.vt + floats;
        a.dv = a.dk + floats;
        a.work = a.dv + floats;
    }
    TFN__N(tfn__pack_keys)(&a, a.kt, p->k, p->k_ld);
    return a;
}

/* Returns the floats of `work`: s and q, kt and x; ds and dy, vt, dk and dv; and the scratch of the
 * products. */
/* Returns the scratch for cached attention of `queries` queries of a sentence. */
static ptrdiff_t TFN__N(tfn__cached_work)(ptrdiff_t queries, ptrdiff_t tk, ptrdiff_t head_size)
{
    const ptrdiff_t rows = tfn__cached_rows(queries);
    const ptrdiff_t floats = rows * tfn__score_ld(tk);
    if (rows == 1) return floats;
    return floats + tfn__max(TFN__N(tfn__matmul_work)(rows, head_size, tk),
                             TFN__N(tfn__matmul_work)(rows, tk, head_size));
}
static ptrdiff_t TFN__N(tfn__attention_work)(ptrdiff_t tq, ptrdiff_t tk, ptrdiff_t head_size)
{
    const ptrdiff_t rows = tfn__min(tq, TFN__STRIP);
    const ptrdiff_t strip = rows * (tfn__score_ld(tk) + head_size);
    const ptrdiff_t head = tfn__head_floats(tk, head_size);
    ptrdiff_t floats = strip + 2*head;
    if (TFN__TRAINS) floats += strip + 3*head;
    if (tq <= 0) return TFN__N(tfn__cached_work)(-tq, tk, head_size);
    return floats + tfn__max(TFN__N(tfn__matmul_work)(rows, head_size, tk),
                             TFN__N(tfn__matmul_work)(tk, head_size, rows));
}

/* Runs a strip whose first keys are hidden by a window. The strip begins with the block of packed
 * keys that contains the first key of the first row's window. Blocks are multiples of 32 keys, so
 * every key has the same lane in a row's sums as without a window. */
static void TFN__N(tfn__narrow_strip)(tfn__strip a, void (*strip)(const tfn__strip *a))
{
    const ptrdiff_t first = tfn__first_key_of(a.p, a.b, a.row);
    const ptrdiff_t floats = first / 32*32 * a.size;
    a.low = first / 32*32;
    a.before -= a.low;
    a.keys -= a.low;
    a.kt += floats;
    a.x += floats;
    if (TFN__TRAINS) {
        a.vt += floats;
        a.dk += floats;
        a.dv += floats;
    }
    strip(&a);
}

/* Runs all strips of the query heads that share a pair's key/value head, in order. All of them add
 * to dk and dv, so these chains run over heads and queries in increasing order. */
static void TFN__N(tfn__each_strip)(tfn__strip a, void (*strip)(const tfn__strip *a))
{
    const tfn_attention_args *p = a.p;
    const ptrdiff_t group = p->heads / p->kv_heads;
    const ptrdiff_t queries = tfn__queries(p, a.b);
    for (a.h = a.g * group; a.h < (a.g + 1) * group; a.h++)
        for (a.row = 0; a.row < queries; a.row += a.rows) {
            a.rows = tfn__min(TFN__STRIP, queries - a.row);
            a.keys = tfn__seen(p, a.b, a.row + a.rows - 1);
            a.before = tfn__seen_by_all(p, a.row, a.keys);
            if (TFN__ALL && p->window > 0) TFN__N(tfn__narrow_strip)(a, strip);
            else strip(&a);
        }
}

/* The forward of pairs first ... last - 1, which use `work` one after the other. */
static void TFN__N(tfn__attention_forward)(const tfn_attention_args *p, ptrdiff_t first,
                                           ptrdiff_t last, float *work)
{
    for (ptrdiff_t u = first; u < last; u++) {
        const tfn__strip a = TFN__N(tfn__begin_pair)(p, u, work);
        TFN__N(tfn__gather)(a.x, p->v + tfn__k_at(&a, p->v_ld), p->v_ld, a.all, a.size);
        TFN__N(tfn__each_strip)(a, TFN__N(tfn__strip_forward));
    }
}

/* dv (keys, D) += w^T (keys, rows) dy (rows, D). First come the keys that all rows see, then those
 * along the diagonal, some keys at a time: their triangle, and the rows after it. The chains run
 * over rows in increasing order, from strip to strip. */
static void TFN__N(tfn__over_rows)(const tfn__strip *a, float *dv, const float *w, const float *dy)
{
    const ptrdiff_t diagonal = a->keys - a->before;
    const ptrdiff_t size = a->size;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.c = dv;
    t.start = dv;
    t.a = w;
    t.b = dy;
    t.m = a->before;
    t.n = size;
    t.k = a->rows;
    t.c_ld = size;
    t.start_ld = size;
    t.a_row = 1;
    t.a_col = a->ld;
    t.b_row = size;
    t.b_col = 1;
    TFN__N(tfn__matmul)(&t, a->work);

    /* rows j, j + 1 ... of the strip see key before + j */
    for (ptrdiff_t j = 0; j < diagonal; j += TFN__STEP) {
        t.c = dv + (a->before + j)*size;
        t.start = t.c;
        t.a = w + j*a->ld + a->before + j;
        t.b = dy + j*size;
        t.m = tfn__min(TFN__STEP, diagonal - j);
        t.k = a->rows - j;
        TFN__EACH(l, lanes, size) TFN__N(tfn__wedge)(&t, 0, true, l, lanes);
    }
}

/* For n capped scores u = cap tanh(scale s/cap): dp = (dp - dot) (1 - (u/cap)^2). The second factor
 * is the derivative of cap tanh(z/cap). */
static void TFN__N(tfn__cap_gradient)(float *dp, const float *u, ptrdiff_t n, float cap, float dot)
{
    const TFN__V c = TFN__SET(cap);
    const TFN__V t = TFN__SET(dot);
    const TFN__V one = TFN__SET(1);
    TFN__EACH(j, k, n) {
        const TFN__V v = TFN__DIV(TFN__GET(u + j, k), c);
        const TFN__V d = TFN__SUB(TFN__GET(dp + j, k), t);
        TFN__PUT(dp + j, TFN__MUL(d, TFN__SUB(one, TFN__MUL(v, v))), k);
    }
}

/* Row r: s becomes p = e/l, and ds, which holds dp, becomes p (dp - dot) scale. With a cap,
 * tfn__cap_gradient first subtracts dot and applies the factor of the cap. */
static void TFN__N(tfn__score_gradient)(const tfn__strip *a, float *s, float *ds, ptrdiff_t r,
                                        const float *stats, float dot)
{
    const tfn_attention_args *how = a->p;
    const ptrdiff_t n = tfn__scores_of(a, r);
    const TFN__V m = TFN__SET(stats[0]);
    const TFN__V l = TFN__SET(stats[1]);
    const TFN__V f = TFN__SET(how->scale);
    TFN__V t = TFN__SET(dot);
    TFN__V u;
    float scale = TFN__N(tfn__cap_scores)(s, n, how->scale, how->cap);
    if (how->cap > 0) {
        TFN__N(tfn__cap_gradient)(ds, s, n, how->cap, dot);
        t = TFN__SET(0);
    }
    scale = TFN__N(tfn__finish_scores)(a, s, r, scale);
    u = TFN__SET(scale);
    for (ptrdiff_t j = 0; j < n; j += TFN__W) {
        const TFN__V e = TFN__N(tfn__vexp_tail)(TFN__SUB(TFN__MUL(TFN__LOAD(s + j), u), m));
        const TFN__V p = TFN__DIV(e, l);
        const TFN__V dp = TFN__LOAD(ds + j);
        TFN__STORE(s + j, p);
        TFN__STORE(ds + j, TFN__MUL(TFN__MUL(p, TFN__SUB(dp, t)), f));
    }
    if (how->dbias)                     /* the bias was added to scores that were already scaled */
        TFN__N(tfn__combine)(how->dbias + tfn__bias_at(a, r), ds, NULL, n, 1 / how->scale, 0, true);
}

/* The backward of one strip. It recomputes the scores, because saving them would take T numbers per
 * query, and computes dp = dy v^T in the same way. Then come ds and p, row by row, and then the
 * products. */
static void TFN__N(tfn__strip_backward)(const tfn__strip *a)
{
    const tfn_attention_args *p = a->p;
    const ptrdiff_t at = tfn__q_at(a, p->q_ld);
    const float *y = p->y + tfn__q_at(a, p->y_ld);
    TFN__N(tfn__gather)(a->q, p->q + at, p->q_ld, a->rows, a->size);
    TFN__N(tfn__gather)(a->dy, p->dy + tfn__q_at(a, p->y_ld), p->y_ld, a->rows, a->size);
    TFN__N(tfn__scores)(a, a->s, a->q, a->kt);
    TFN__N(tfn__scores)(a, a->ds, a->dy, a->vt);
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__scores_of(a, r);
        const float dot = TFN__N(tfn__row_dot)(a->dy + r*a->size, y + r*p->y_ld, a->size);
        float *s = a->s + r*a->ld;
        float *ds = a->ds + r*a->ld;
        TFN__N(tfn__drop_row)(a, ds, r, n);
        TFN__N(tfn__score_gradient)(a, s, ds, r, p->stats + tfn__stats_at(a, r), dot);
        TFN__N(tfn__drop_row)(a, s, r, n);
    }

    /* dq = ds k, dk += ds^T q, dv += p^T dy */
    if (p->dq) TFN__N(tfn__over_keys)(a, p->dq + at, p->q_ld, a->ds, p->add_dq);
    if (p->dk) TFN__N(tfn__over_rows)(a, a->dk, a->ds, a->q);
    if (p->dv) TFN__N(tfn__over_rows)(a, a->dv, a->s, a->dy);
}

/* Starts the chains of a head's keys, for dk or dv: at 0, or at the present gradient if `add`. */
static void TFN__N(tfn__begin_chains)(const tfn__strip *a, float *sum, const float *dk,
                                      ptrdiff_t ld, bool add)
{
    if (!dk) return;
    if (add) TFN__N(tfn__gather)(sum, dk + tfn__k_at(a, ld), ld, a->all, a->size);
    else TFNORM_MEMSET(sum, 0, (size_t)(a->all * a->size) * sizeof(float));
}

/* Copies the finished chains into dk or dv. Keys that no query sees have the gradient 0. */
static void TFN__N(tfn__end_chains)(const tfn__strip *a, float *dk, const float *sum, ptrdiff_t ld,
                                    bool add)
{
    if (!dk) return;
    dk += tfn__k_at(a, ld);
    for (ptrdiff_t j = 0; j < a->all; j++) TFN__N(tfn__copy)(dk + j*ld, sum + j*a->size, a->size);
    if (add) return;
    for (ptrdiff_t j = a->all; j < a->p->tk; j++)
        TFNORM_MEMSET(dk + j*ld, 0, (size_t)a->size * sizeof(float));
}

/* The backward of pairs first ... last - 1. All strips of a pair add to its dk and dv, which are
 * gathered into contiguous arrays before, and copied back afterwards. */
static void TFN__N(tfn__attention_backward)(const tfn_attention_args *p, ptrdiff_t first,
                                            ptrdiff_t last, float *work)
{
    for (ptrdiff_t u = first; u < last; u++) {
        const tfn__strip a = TFN__N(tfn__begin_pair)(p, u, work);
        TFN__N(tfn__pack_keys)(&a, a.vt, p->v, p->v_ld);
        TFN__N(tfn__gather)(a.x, p->k + tfn__k_at(&a, p->k_ld), p->k_ld, a.all, a.size);
        TFN__N(tfn__begin_chains)(&a, a.dk, p->dk, p->k_ld, p->add_dk);
        TFN__N(tfn__begin_chains)(&a, a.dv, p->dv, p->v_ld, p->add_dv);
        TFN__N(tfn__each_strip)(a, TFN__N(tfn__strip_backward));
        TFN__N(tfn__end_chains)(&a, p->dk, a.dk, p->k_ld, p->add_dk);
        TFN__N(tfn__end_chains)(&a, p->dv, a.dv, p->v_ld, p->add_dv);
    }
}

/* Returns how many of the keys j ... n - 1 are contiguous in the cache from key j on: all, or in a
 * ring those up to its end. */
static ptrdiff_t TFN__N(tfn__keys_beside)(const tfn_attention_cached_args *p, ptrdiff_t j,
                                          ptrdiff_t n)
{
    if (!TFN__ALL || p->window <= 0) return n - j;
    return tfn__min(n - j, p->capacity - j % p->capacity);
}

#if TFN__PACKS
/* Converts rows of a 16-bit cache, `ld` apart, to contiguous floats. The block stays in L1, and the
 * float kernels multiply it, so that no kernel needs a second form. Long contexts are bound by
 * reading the cache, and this reads half as many bytes. */
static void TFN__N(tfn__widen)(float *y, const uint16_t *h, ptrdiff_t rows, ptrdiff_t cols,
                               ptrdiff_t ld, tfn_cache_type type)
{
    for (ptrdiff_t r = 0; r < rows; r++, h += ld, y += cols) {
        if (type == TFN_CACHE_TYPE_BF16)
            for (ptrdiff_t i = 0; i < cols; i++) y[i] = tfn__from_bf16(h[i]);
        else
            for (ptrdiff_t i = 0; i < cols; i++) y[i] = tfn__from_f16(h[i]);
    }
}

/* Converts the keys at index `at` of the cache, or the values if `values`, and makes them the right
 * factor of the product t. It reduces t to at most TFN__CACHE_BLOCK keys; chains over keys continue
 * in the next block. */
static void TFN__N(tfn__widen_block)(tfn_matmul_args *t, const tfn_attention_cached_args *p,
                                     ptrdiff_t at, bool values, float *wide)
{
    const ptrdiff_t size = p->head_size;
    t->b = wide;
    if (values) {
        t->k = tfn__min(t->k, TFN__CACHE_BLOCK);
        TFN__N(tfn__widen)(wide, p->v_half + at, t->k, size, size, p->type);
    } else {
        t->n = tfn__min(t->n, TFN__CACHE_BLOCK);
        t->b_row = t->n;
        TFN__N(tfn__widen)(wide, p->k_half + at, size, t->n, p->capacity, p->type);
    }
}
#endif

#if TFN__PACKS
#define TFN__WIDEN(at, values)                                                                     \
    if (p->type) TFN__N(tfn__widen_block)(&t, p, at, values, a->wide)
#else
#define TFN__WIDEN(at, values)
#endif

/* Begins a strip: up to TFN__CACHED_ROWS queries of one sentence and head from query `row` on, or
 * one query with a window, because windows begin at different keys. */
static tfn__cached_strip TFN__N(tfn__begin_cached)(const tfn_attention_cached_args *p, ptrdiff_t b,
                                                   ptrdiff_t h, ptrdiff_t row, float *work)
{
    const ptrdiff_t most = tfn__cached_rows(tfn__cached_queries(p));
    tfn__cached_strip a;
    ptrdiff_t from = b;                            /* the cache's row for this sentence */
    if (p->beam) from = p->beam[b];
    a.p = p;
    a.b = b;
    a.h = h;
    a.row = row;
    a.rows = tfn__min(most, tfn__cached_queries(p) - row);
    if (TFN__ALL && p->window > 0) a.rows = 1;
    a.seen = tfn__keys_cached(p, b, row);
    a.keys = tfn__keys_cached(p, b, row + a.rows - 1);
    a.first = tfn__first_key(p->window, a.seen);
    a.low = a.first / 16*16;
    a.cache = (from*p->kv_heads + h / (p->heads / p->kv_heads)) * p->head_size * p->capacity;
    a.ld = tfn__score_ld(p->capacity);
    a.s = work;
    a.work = work + a.rows * a.ld;
    if (TFN__PACKS) a.wide = work + TFN__N(tfn__attention_work)(-most, p->capacity, p->head_size);
    return a;
}

/* s = q k^T; the lanes are keys. */
static void TFN__N(tfn__cached_scores)(const tfn__cached_strip *a)
{
    const tfn_attention_cached_args *p = a->p;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.a = p->q + a->b*p->q_ld + a->row*p->q_row + a->h*p->head_size;
    t.a_row = p->q_row;
    t.a_col = 1;
    t.m = a->rows;
    t.k = p->head_size;
    t.b_row = p->capacity;
    t.b_col = 1;
    t.c_ld = a->ld;
    for (ptrdiff_t j = a->first; j < a->keys; j += t.n) {
        ptrdiff_t at = a->cache + j;
        if (TFN__ALL) at = a->cache + j % p->capacity;
        t.n = TFN__N(tfn__keys_beside)(p, j, a->keys);
        t.c = a->s + (j - a->low);
        t.b = p->k_cache + at;
        TFN__WIDEN(at, false);
        TFN__N(tfn__matmul)(&t, a->work);
    }
}

/* Turns n scores in s, the row of the strip's query r, into e = exp(score - max). Returns the sum
 * of e. */
static float TFN__N(tfn__cached_weights)(const tfn__cached_strip *a, ptrdiff_t r, float *s,
                                         ptrdiff_t n)
{
    const tfn_attention_cached_args *p = a->p;
    float scale;
    for (ptrdiff_t j = a->low; j < a->first; j++) s[j - a->low] = 0;
    scale = TFN__N(tfn__cap_scores)(s, n, p->scale, p->cap);
    if (TFN__ALL && p->bias.at)
        scale = TFN__N(tfn__bias_scores)(s, tfn__bias_of_row(p, a->b, a->h, a->row + r) + a->low, n,
                                         scale);
    for (ptrdiff_t j = a->low; j < a->first; j++) s[j - a->low] = -(float)INFINITY;
    return TFN__N(tfn__exp_sum)(s, n, TFN__N(tfn__scale_max)(s, n, scale));
}

/* y += e v of the strip's queries from r on, for keys j ... end - 1. */
static void TFN__N(tfn__cached_values)(const tfn__cached_strip *a, ptrdiff_t r, ptrdiff_t j,
                                       ptrdiff_t end, float *y)
{
    const tfn_attention_cached_args *p = a->p;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.c = y + r*p->y_row;
    t.start = t.c;
    t.c_ld = p->y_row;
    t.start_ld = p->y_row;
    t.m = a->rows - r;
    t.n = p->head_size;
    t.a_row = a->ld;
    t.a_col = 1;
    t.b_row = p->head_size;
    t.b_col = 1;
    for (; j < end; j += t.k) {
        ptrdiff_t at = a->cache + j*p->head_size;
        if (TFN__ALL) at = a->cache + j % p->capacity * p->head_size;
        t.k = TFN__N(tfn__keys_beside)(p, j, end);
        t.a = a->s + r*a->ld + (j - a->low);
        t.b = p->v_cache + at;
        TFN__WIDEN(at, true);
        TFN__N(tfn__matmul)(&t, a->work);
    }
}
#undef TFN__WIDEN

/* Each query gets the row that attention_forward would give, to the bit. Products of one query need
 * no scratch. The scores of a query begin with key `low`, the last multiple of 16 not after the
 * first key in the window. Thus each key has the same lane in the sum of exp as without a cache.
 * Example: a ring with 5 places, a window of 4, and a query that sees 8 keys:
 *
 *     place    0   1   2   3   4
 *     key      5   6   7   3   4        first = 4: key 4, then 5 to 7; low = 0
 */
static void TFN__N(tfn__cached_strip_of)(const tfn__cached_strip *a)
{
    const tfn_attention_cached_args *p = a->p;
    const ptrdiff_t size = p->head_size;
    float *y = p->y + a->b*p->y_ld + a->row*p->y_row + a->h*size;
    float sum[TFN__CACHED_ROWS];
    TFN__N(tfn__cached_scores)(a);
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__min(a->seen + r, a->keys);
        sum[r] = TFN__N(tfn__cached_weights)(a, r, a->s + r*a->ld, n - a->low);
        TFNORM_MEMSET(y + r*p->y_row, 0, (size_t)size * sizeof *y);
    }
    /* all queries see the keys below `seen`, and each sees one key more than the one before it */
    TFN__N(tfn__cached_values)(a, 0, a->first, a->seen, y);
    for (ptrdiff_t j = a->seen; j < a->keys; j++)
        TFN__N(tfn__cached_values)(a, j - a->seen + 1, j, j + 1, y);
    for (ptrdiff_t r = 0; r < a->rows; r++)
        TFN__N(tfn__divide_row)(y + r*p->y_row, size, sum[r]);
}

static void TFN__N(tfn__attention_cached)(const tfn_attention_cached_args *p, ptrdiff_t first,
                                          ptrdiff_t last, float *work)
{
    const ptrdiff_t group = p->heads / p->kv_heads;
    for (ptrdiff_t u = first * group; u < last * group; u++) {
        ptrdiff_t row = 0;
        while (row < tfn__cached_queries(p)) {
            const tfn__cached_strip a =
                TFN__N(tfn__begin_cached)(p, u / p->heads, u % p->heads, row, work);
            TFN__N(tfn__cached_strip_of)(&a);
            row += a.rows;
        }
    }
}
