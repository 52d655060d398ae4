
/* The updates of all optimizers, of one instruction set: elementwise ones, and those that treat
 * each tensor separately (Muon, Adafactor). Section optim computes their constants. */

/* -- the optimizers: one pass over parameters p and moments m, v -------------------------------
 * Moments below 2^-100 become 0, because the moments of an unused row would decay to denormals. For
 * the same reason a gradient below 2^-100 counts as 0, and so does the square of one below 2^-50.
 * Adam does not move a weight without a second moment. (Weights that only decay need no such rule:
 * at a rate of 1e-3 and a decay of 0.1 it takes 800,000 updates to reach a denormal.) */

/* Returns SGD's step for k weights from i on, in PyTorch's form: lr m with m = b1 m + g; for
 * Nesterov lr (g + b1 m); if m is NULL, lr g. */
static TFN__INLINE TFN__V TFN__N(tfn__sgd_step)(float *m, TFN__V g, ptrdiff_t i, ptrdiff_t k,
                                                const tfn_update_args *u)
{
    const TFN__V b1 = TFN__SET(u->beta1);
    TFN__V mean;
    if (!m) return TFN__MUL(TFN__SET(u->lr), g);
    mean = TFN__N(tfn__vcut)(TFN__FMA(b1, TFN__GET(m + i, k), g), TFN__LEAST);
    TFN__PUT(m + i, mean, k);
    if (u->nesterov) mean = TFN__FMA(b1, mean, g);
    return TFN__MUL(TFN__SET(u->lr), mean);
}

/* v = b2 v + (1-b2) g^2. Returns step/(root * sqrt v + eps), or the step itself while RAdam does
 * not yet trust v. */
static TFN__INLINE TFN__V TFN__N(tfn__adapted)(TFN__V step, float *v, TFN__V g, ptrdiff_t i,
                                               ptrdiff_t k, const tfn_update_args *u)
{
    const TFN__V b2 = TFN__SET(u->beta2);
    const TFN__V rest = TFN__SUB(TFN__SET(1), b2);
    TFN__V square;
    g = TFN__N(tfn__vcut)(g, TFN__LEAST_ROOT);
    square = TFN__FMA(b2, TFN__GET(v + i, k), TFN__MUL(TFN__MUL(rest, g), g));
    square = TFN__N(tfn__vcut)(square, TFN__LEAST);
    TFN__PUT(v + i, square, k);
    if (!u->adaptive) return step;
    step = TFN__DIV(step, TFN__FMA(TFN__ROOT(square), TFN__SET(u->root), TFN__SET(u->eps)));
    return TFN__LESS(square, TFN__SET(TFN__LEAST), TFN__SET(0), step);
}

/* Returns Adam's step (Kingma & Ba 2015, algorithm 1), step_size * m / (root * sqrt v + eps), with
 * m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2. step_size and root include the bias corrections
 * (tfn_update_at). While RAdam does not trust v, its step is step_size * m. */
static TFN__INLINE TFN__V TFN__N(tfn__adam_step)(float *m, float *v, TFN__V g, ptrdiff_t i,
                                                 ptrdiff_t k, const tfn_update_args *u)
{
    const TFN__V b1 = TFN__SET(u->beta1);
    const TFN__V rest = TFN__MUL(TFN__SUB(TFN__SET(1), b1), g);
    TFN__V mean = TFN__FMA(b1, TFN__GET(m + i, k), rest);
    mean = TFN__N(tfn__vcut)(mean, TFN__LEAST);
    TFN__PUT(m + i, mean, k);
    return TFN__N(tfn__adapted)(TFN__MUL(TFN__SET(u->step_size), mean), v, g, i, k, u);
}

/* Schedule-free AdamW (Defazio et al. 2024, algorithm 1): z -= step_size (g/(sqrt v + eps)
 * + decay y). g is the gradient at y, and step_size includes the bias correction of v. */
static TFN__INLINE void TFN__N(tfn__free_step)(float *z, float *v, TFN__V y, TFN__V g, ptrdiff_t i,
                                               ptrdiff_t k, const tfn_update_args *u)
{
    const TFN__V shrink = TFN__SET(u->step_size * u->decay);
    const TFN__V by = TFN__MUL(TFN__SET(u->step_size), g);
    const TFN__V step = TFN__N(tfn__adapted)(by, v, g, i, k, u);
    TFN__V next = TFN__SUB(TFN__GET(z + i, k), step);
    if (u->decay > 0) next = TFN__SUB(next, TFN__MUL(shrink, y));
    TFN__PUT(z + i, next, k);
}

/* Returns Lion's step (Chen et al. 2023, algorithm 2), lr sign(b1 m + (1-b1) g), and then updates
 * m = b2 m + (1-b2) g. Every weight moves by lr, except that sign(0) is 0. */
static TFN__INLINE TFN__V TFN__N(tfn__lion_step)(float *m, TFN__V g, ptrdiff_t i, ptrdiff_t k,
                                                 const tfn_update_args *u)
{
    const TFN__V zero = TFN__SET(0);
    const TFN__V one = TFN__SET(1);
    const TFN__V b1 = TFN__SET(u->beta1);
    const TFN__V b2 = TFN__SET(u->beta2);
    const TFN__V mean = TFN__GET(m + i, k);
    const TFN__V by = TFN__FMA(b1, mean, TFN__MUL(TFN__SUB(one, b1), g));
    const TFN__V next = TFN__FMA(b2, mean, TFN__MUL(TFN__SUB(one, b2), g));
    const TFN__V down = TFN__LESS(by, zero, TFN__SET(-u->lr), zero);
    TFN__PUT(m + i, TFN__N(tfn__vcut)(next, TFN__LEAST), k);
    return TFN__LESS(zero, by, TFN__SET(u->lr), down);
}

/* Returns the gradient of k weights from i on, scaled by grad_scale and then clipped by value. */
static TFN__INLINE TFN__V TFN__N(tfn__scaled_gradient)(const float *g, ptrdiff_t i, ptrdiff_t k,
                                                       const tfn_update_args *u)
{
    const TFN__V limit = TFN__SET(u->clip_value);
    TFN__V d = TFN__N(tfn__vcut)(TFN__GET(g + i, k), TFN__LEAST);
    d = TFN__MUL(d, TFN__SET(u->grad_scale));
    if (u->clip_value > 0) d = TFN__MAX(TFN__MIN(d, limit), TFN__SUB(TFN__SET(0), limit));
    return d;
}

/* p -= step for n weights. The decay is either coupled (g += decay * p) or decoupled
 * (p -= lr * decay * p). If u->skip is set, only the moments change. */
static void TFN__N(tfn__update)(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                                const tfn_update_args *u)
{
    const TFN__V decay = TFN__SET(u->decay);
    const TFN__V shrink = TFN__SET(u->lr * u->decay);
    const bool coupled = tfn__decay_is_coupled(u) && u->decay > 0;
    const bool decoupled = !tfn__decay_is_coupled(u) && u->decay > 0;
    const bool sgd = tfn__is_optimizer(u, TFN_OPTIMIZER_SGD);
    const bool lion = tfn__is_optimizer(u, TFN_OPTIMIZER_LION);
    const bool schedule_free = tfn__is_optimizer(u, TFN_OPTIMIZER_SCHEDULE_FREE);
    TFN__EACH(i, k, n) {
        TFN__V x = TFN__GET(p + i, k);
        TFN__V d = TFN__N(tfn__scaled_gradient)(g, i, k, u);
        if (schedule_free) {
            TFN__N(tfn__free_step)(m, v, x, d, i, k, u);
            continue;
        }
        if (coupled) d = TFN__FMA(decay, x, d);
        if (sgd) d = TFN__N(tfn__sgd_step)(m, d, i, k, u);
        else if (lion) d = TFN__N(tfn__lion_step)(m, d, i, k, u);
        else d = TFN__N(tfn__adam_step)(m, v, d, i, k, u);
        if (u->skip) continue;
        if (decoupled) x = TFN__SUB(x, TFN__MUL(shrink, x));
        TFN__PUT(p + i, TFN__SUB(x, d), k);
    }
}

/* -- optimizers of whole tensors --------------------------------------------------------------
 * Compiled with -O1, or by clang for size, to save compile time: Muon spends its time in products,
 * which are in section dense. */
#if defined TFN__TUNED && TFN__W > 1
#pragma GCC push_options
#pragma GCC optimize("O1", "fp-contract=off")
#endif
TFN__SMALL

/* -- Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon) ----------------------
 * The update of a matrix is the orthogonal matrix nearest to its averaged gradient: U V^T if the
 * gradient is U S V^T. So all directions count alike, however small their gradients are. Five steps
 * of a Newton-Schulz iteration with a quintic polynomial bring all singular values near 1, using
 * only products: from X = G/(|G| + 1e-7),
 *     A = X X^T;  B = b A + c A A;  X = a X + B X,  (a, b, c) = (3.4445, -4.7750, 2.0315)
 * If X has more rows than columns, A = X^T X and X = a X + X B, so that A is the smaller square.
 * To avoid denormal products, elements of X below 2^-30 become 0, which is far below the rounding
 * error of a product, and elements of A and B below 2^-60. */

/* Sets numbers of x (n) below `least` to 0. Products yield such numbers if their terms cancel. */
static void TFN__N(tfn__cut_all)(float *x, ptrdiff_t n, float least)
{
    TFN__EACH(i, k, n) TFN__PUT(x + i, TFN__N(tfn__vcut)(TFN__GET(x + i, k), least), k);
}

/* m = b m + (1-b) g, then Nesterov's x = b m + (1-b) g, divided by its length. Then the singular
 * values are at most 1, and the iteration converges. The length gets 1e-7 more, so that zeros stay
 * zeros. Numbers below 2^-50 become 0 because their squares would be denormal, as in Adam's second
 * moment. */
static void TFN__N(tfn__muon_direction)(float *x, const float *g, float *m, ptrdiff_t n,
                                        const tfn_update_args *u)
{
    const TFN__V b = TFN__SET(u->momentum);
    const TFN__V rest = TFN__SUB(TFN__SET(1), b);
    float length;
    TFN__EACH(i, k, n) {
        const TFN__V d = TFN__MUL(rest, TFN__N(tfn__scaled_gradient)(g, i, k, u));
        const TFN__V next = TFN__FMA(b, TFN__GET(m + i, k), d);
        const TFN__V mean = TFN__N(tfn__vcut)(next, TFN__LEAST);
        TFN__PUT(m + i, mean, k);
        TFN__PUT(x + i, TFN__N(tfn__vcut)(TFN__FMA(b, mean, d), TFN__LEAST_ROOT), k);
    }
    length = TFN__SQRT(TFN__N(tfn__dot)(x, x, n)) + (float)1e-7;
    TFN__EACH(i, k, n) {
        TFN__PUT(x + i, TFN__DIV(TFN__GET(x + i, k), TFN__SET(length)), k);
    }
}

/* Copies the upper triangle of c (n, n) to the lower one, W columns at a time. */
static void TFN__N(tfn__mirror)(float *c, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j += TFN__W) {
        const ptrdiff_t end = tfn__min(j + TFN__W, n);
        ptrdiff_t done = end;
#ifdef TFN__ZIPLO
        if (end < n)
            done += TFN__N(tfn__pack_transposed)(c + end*n + j, n, c + j*n + end, n, TFN__W,
                                                 n - end);
#endif
        for (ptrdiff_t row = j + 1; row < n; row++) {
            if (row >= end && row < done) continue;
            for (ptrdiff_t col = j; col < tfn__min(end, row); col++)
                c[row*n + col] = c[col*n + row];
        }
    }
}

/* c (n, n) = a b, for a result that is symmetric to the last bit: only half of it is computed. It
 * is symmetric because elements (i, j) and (j, i) add the same products in the same order, and a
 * product does not depend on the order of its factors. */
static void TFN__N(tfn__symmetric_product)(const tfn_matmul_args *p, float *work)
{
    TFN__N(tfn__matmul_blocks)(p, work, p->c);
    TFN__N(tfn__mirror)(p->c, p->n);
}

/* A (n, n) = X X^T, or X^T X. The transpose is the same memory with the strides exchanged. */
static void TFN__N(tfn__muon_square)(const tfn__muon *s)
{
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = s->a;
    p.a = s->x;
    p.b = s->x;
    p.m = s->n;
    p.n = s->n;
    p.c_ld = s->n;
    if (s->rows > s->cols) {
        p.k = s->rows;
        p.a_row = 1;
        p.a_col = s->cols;
    } else {
        p.k = s->cols;
        p.a_row = s->cols;
        p.a_col = 1;
    }
    p.b_row = p.a_col;
    p.b_col = p.a_row;
    TFN__N(tfn__symmetric_product)(&p, s->work);
    TFN__N(tfn__cut_all)(s->a, s->n * s->n, TFN__TAIL);
}

/* c (rows, cols) = start + a (rows, k) b (k, cols), all row-major. start may be c. If b is a, it
 * must be symmetric: then its square is, too, and half of it is computed. */
static void TFN__N(tfn__muon_product)(const tfn__muon *s, float *c, const float *start,
                                      const float *a, const float *b, ptrdiff_t rows,
                                      ptrdiff_t cols, ptrdiff_t k)
{
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = c;
    p.start = start;
    p.a = a;
    p.b = b;
    p.m = rows;
    p.n = cols;
    p.k = k;
    p.c_ld = cols;
    p.start_ld = cols;
    p.a_row = k;
    p.a_col = 1;
    p.b_row = cols;
    p.b_col = 1;
    if (a == b) TFN__N(tfn__symmetric_product)(&p, s->work);
    else TFN__N(tfn__matmul)(&p, s->work);
}

/* Cuts X, and sets `next` to a X. */
static void TFN__N(tfn__muon_start)(const tfn__muon *s)
{
    const TFN__V a = TFN__SET((float)3.4445);
    TFN__EACH(i, k, s->rows * s->cols) {
        const TFN__V x = TFN__N(tfn__vcut)(TFN__GET(s->x + i, k), TFN__TAIL_ROOT);
        TFN__PUT(s->x + i, x, k);
        TFN__PUT(s->next + i, TFN__MUL(a, x), k);
    }
}

/* One step of the iteration: X = a X + B X, or a X + X B. B is computed in the place of A A. The
 * chains of the new X start from a X, which `next` holds. So all products and sums need only four
 * arrays. */
static void TFN__N(tfn__newton_schulz)(tfn__muon *s)
{
    const float b = (float)-4.7750;
    const float c = (float)2.0315;
    const ptrdiff_t n = s->n;
    float *x = s->x;
    float *next = s->next;
    TFN__N(tfn__muon_square)(s);
    TFN__N(tfn__muon_product)(s, s->b, NULL, s->a, s->a, n, n, n);
    TFN__EACH(i, k, n * n) {
        const TFN__V first = TFN__MUL(TFN__SET(b), TFN__GET(s->a + i, k));
        const TFN__V second = TFN__MUL(TFN__SET(c), TFN__GET(s->b + i, k));
        TFN__PUT(s->b + i, TFN__N(tfn__vcut)(TFN__ADD(first, second), TFN__TAIL), k);
    }
    if (s->rows > s->cols)
        TFN__N(tfn__muon_product)(s, next, next, x, s->b, s->rows, s->cols, n);
    else
        TFN__N(tfn__muon_product)(s, next, next, s->b, x, s->rows, s->cols, n);
    s->x = next;
    s->next = x;
    TFN__N(tfn__muon_start)(s);
}

/* Returns the floats of scratch (see tfn__muon): packing buffers for the larger of the two kinds of
 * product, two squares (n, n), and two matrices. */
static ptrdiff_t TFN__N(tfn__muon_work)(ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t n = tfn__min(rows, cols);
    const ptrdiff_t k = tfn__max(rows, cols);
    const ptrdiff_t square = TFN__N(tfn__matmul_work)(n, n, k);
    const ptrdiff_t product = TFN__N(tfn__matmul_work)(rows, cols, n);
    return 2 * rows * cols + 2 * n * n + tfn__max(square, product);
}

/* p -= rate (s O + decay p), where O is the orthogonal matrix. Rows are inputs, columns outputs.
 * The factor s = sqrt(max(1, outputs/inputs)) makes outputs move alike in matrices of any shape. */
static void TFN__N(tfn__muon_update)(float *p, const float *g, float *m, ptrdiff_t rows,
                                     ptrdiff_t cols, const tfn_update_args *u, float *work)
{
    const float rate = u->lr * u->matrix_rate;
    const TFN__V shrink = TFN__SET(rate * u->decay);
    const ptrdiff_t size = rows * cols;
    tfn__muon s;
    TFN__V by = TFN__SET(rate);
    if (cols > rows) by = TFN__SET(rate * TFN__SQRT((float)cols / (float)rows));
    s.rows = rows;
    s.cols = cols;
    s.n = tfn__min(rows, cols);
    s.a = work + TFN__N(tfn__muon_work)(rows, cols) - 2 * (s.n * s.n + size);
    s.b = s.a + s.n * s.n;
    s.x = s.b + s.n * s.n;
    s.next = s.x + size;
    s.work = work;
    TFN__N(tfn__muon_direction)(s.x, g, m, size, u);
    TFN__N(tfn__muon_start)(&s);
    for (int i = 0; i < TFN__MUON_STEPS; i++) TFN__N(tfn__newton_schulz)(&s);
    TFN__EACH(i, k, size) {
        TFN__V y = TFN__GET(p + i, k);
        if (u->decay > 0) y = TFN__SUB(y, TFN__MUL(shrink, y));
        TFN__PUT(p + i, TFN__SUB(y, TFN__MUL(by, TFN__GET(s.x + i, k))), k);
    }
}

/* -- Adafactor (Shazeer & Stern 2018, algorithms 4 and 5) -------------------------------------
 * The second moment of a matrix is kept as two vectors, its sums r over each row and c over each
 * column. V = r c / sum(r) is the best estimate of rank 1:
 *     r = b r + (1-b) sum_c(g^2 + e),  c = b c + (1-b) sum_r(g^2 + e),  e = 1e-30
 *     u = g/sqrt(V),  p -= lr u/max(1, RMS(u)),  b = 1 - t^-0.8 (section 7.2)
 * Dividing by RMS(u) limits the step if the moment is out of date (section 6). A tensor that is not
 * a matrix has only c, and V = c. There is a first moment only if beta1 > 0; it averages the step,
 * as in the authors' code. Roots are taken before multiplying, because products of numbers near e
 * would be denormal. */

/* Updates r and c with the squares of g. Sums over a row use 16 lanes. Sums over a column are
 * chains over the rows in order. r is NULL for a tensor that is not a matrix. Each term includes e,
 * so that no sum is 0, and no division is by 0. */
static void TFN__N(tfn__factor_sums)(float *r, float *c, const float *g, ptrdiff_t rows,
                                     ptrdiff_t cols, const tfn_update_args *u)
{
    const float e = (float)1e-30;
    const float rest = 1 - u->beta2_now;
    TFN__N(tfn__combine)(c, c, NULL, cols, u->beta2_now, 0, false);
    for (ptrdiff_t row = 0; row < rows; row++, g += cols) {
        TFN__V acc[TFN__LANES];
        TFN__N(tfn__zero_lanes)(acc);
        TFN__EACH16(l, i, k, cols, {
            const TFN__V d = TFN__N(tfn__scaled_gradient)(g, i, k, u);
            const TFN__V kept = TFN__N(tfn__vcut)(d, TFN__LEAST_ROOT);
            const TFN__V square = TFN__MUL(kept, kept);
            const TFN__V more = TFN__ADD(square, TFN__SET(e));
            acc[l] = TFN__ADD(acc[l], square);
            TFN__PUT(c + i, TFN__FMA(TFN__SET(rest), more, TFN__GET(c + i, k)), k);
        });
        if (!r) continue;
        r[row] = u->beta2_now * r[row] + rest * (TFN__N(tfn__tree)(acc) + (float)cols * e);
    }
}

/* Computes sqrt(r / sum(r)) for each row, the factor that the row contributes to sqrt(V). */
static void TFN__N(tfn__factor_roots)(float *roots, const float *r, ptrdiff_t rows)
{
    const float total = TFN__SQRT(TFN__N(tfn__row_sum)(r, rows));
    for (ptrdiff_t i = 0; i < rows; i++) roots[i] = TFN__SQRT(r[i]) / total;
}

/* Returns u = g/sqrt(V) for k weights from i on, of a row with root = sqrt(r / sum(r)). It is not
 * stored but computed twice, because the purpose of this optimizer is to save memory. */
static TFN__INLINE TFN__V TFN__N(tfn__factored_unit)(const float *g, const float *c, float root,
                                                     ptrdiff_t i, ptrdiff_t k,
                                                     const tfn_update_args *u)
{
    const TFN__V d = TFN__N(tfn__scaled_gradient)(g, i, k, u);
    const TFN__V v = TFN__MUL(TFN__SET(root), TFN__ROOT(TFN__GET(c + i, k)));
    return TFN__N(tfn__vcut)(TFN__DIV(d, v), TFN__LEAST_ROOT);
}

/* Returns sum(u^2) over a row. */
static float TFN__N(tfn__factored_square)(const float *g, const float *c, float root,
                                          ptrdiff_t cols, const tfn_update_args *u)
{
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, cols, {
        const TFN__V unit = TFN__N(tfn__factored_unit)(g, c, root, i, k, u);
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(TFN__MUL(unit, unit), k));
    });
    return TFN__N(tfn__tree)(acc);
}

/* For a row: m = b1 m + (1-b1) by u, p -= shrink p + m. If m is NULL: p -= shrink p + by u. */
static void TFN__N(tfn__factored_row)(float *p, float *m, const float *g, const float *c,
                                      float root, float by, float shrink, ptrdiff_t cols,
                                      const tfn_update_args *u)
{
    const TFN__V b1 = TFN__SET(u->beta1);
    const TFN__V rest = TFN__SUB(TFN__SET(1), b1);
    TFN__EACH(i, k, cols) {
        TFN__V x = TFN__GET(p + i, k);
        TFN__V step = TFN__N(tfn__factored_unit)(g, c, root, i, k, u);
        step = TFN__MUL(TFN__SET(by), step);
        if (m) {
            step = TFN__FMA(b1, TFN__GET(m + i, k), TFN__MUL(rest, step));
            step = TFN__N(tfn__vcut)(step, TFN__LEAST);
            TFN__PUT(m + i, step, k);
        }
        if (shrink > 0) x = TFN__SUB(x, TFN__MUL(TFN__SET(shrink), x));
        TFN__PUT(p + i, TFN__SUB(x, step), k);
    }
}

/* Returns the rate of a tensor: the schedule's, or if u->relative, that times the RMS of p, or
 * times 1e-3 if the RMS is smaller (section 8). */
static float TFN__N(tfn__relative_rate)(const float *p, ptrdiff_t n, const tfn_update_args *u)
{
    const float least = (float)1e-3;
    float rms;
    if (!u->relative) return u->lr;
    rms = TFN__SQRT(TFN__N(tfn__dot)(p, p, n) / (float)n);
    if (rms < least) return u->lr * least;
    return u->lr * rms;
}

/* Three passes over a tensor: first the sums of g^2, then RMS(u), which limits the step, then the
 * step. work (2, rows) holds sqrt(r / sum(r)) and sum(u^2) of each row. */
static void TFN__N(tfn__adafactor_update)(float *p, const float *g, float *m, float *v,
                                          ptrdiff_t rows, ptrdiff_t cols,
                                          const tfn_update_args *u, float *work)
{
    const float lr = TFN__N(tfn__relative_rate)(p, rows * cols, u);
    float *c = v;
    float *roots = work;
    float *squares = work + rows;
    float by = lr;
    float rms;
    if (u->matrix) {
        c = v + rows;
        TFN__N(tfn__factor_sums)(v, c, g, rows, cols, u);
        TFN__N(tfn__factor_roots)(roots, v, rows);
    } else {
        TFN__N(tfn__factor_sums)(NULL, c, g, rows, cols, u);
        roots[0] = 1;
    }
    for (ptrdiff_t i = 0; i < rows; i++)
        squares[i] = TFN__N(tfn__factored_square)(g + i*cols, c, roots[i], cols, u);
    rms = TFN__SQRT(TFN__N(tfn__row_sum)(squares, rows) / (float)(rows * cols));
    if (rms > 1) by = lr / rms;
    for (ptrdiff_t i = 0; i < rows; i++) {
        TFN__N(tfn__factored_row)(p + i*cols, m, g + i*cols, c, roots[i], by, lr * u->decay, cols,
                                  u);
        if (m) m += cols;
    }
}

/* Updates one tensor, for optimizers that treat each tensor separately. For Adafactor a tensor that
 * is not a matrix counts as one row. Muon updates it as AdamW does. */
static void TFN__N(tfn__update_tensor)(float *p, const float *g, float *m, float *v, ptrdiff_t rows,
                                       ptrdiff_t cols, const tfn_update_args *u, float *work)
{
    if (!u->matrix) {
        cols *= rows;
        rows = 1;
    }
    if (tfn__is_optimizer(u, TFN_OPTIMIZER_ADAFACTOR))
        TFN__N(tfn__adafactor_update)(p, g, m, v, rows, cols, u, work);
    else if (u->matrix && tfn__is_optimizer(u, TFN_OPTIMIZER_MUON))
        TFN__N(tfn__muon_update)(p, g, m, rows, cols, u, work);
    else
        TFN__N(tfn__update)(p, g, m, v, rows * cols, u);
}
/* Returns the floats of scratch for tfn__update_tensor. u tells the optimizer, and whether the
 * tensor is a matrix. */
static ptrdiff_t TFN__N(tfn__update_work)(ptrdiff_t rows, ptrdiff_t cols, const tfn_update_args *u)
{
    if (!u->matrix) rows = 1;
    if (tfn__is_optimizer(u, TFN_OPTIMIZER_ADAFACTOR)) return 2 * rows;
    if (u->matrix && tfn__is_optimizer(u, TFN_OPTIMIZER_MUON))
        return TFN__N(tfn__muon_work)(rows, cols);
    return 0;
}

TFN__SMALL_END
#if defined TFN__TUNED && TFN__W > 1
#pragma GCC pop_options
#endif
