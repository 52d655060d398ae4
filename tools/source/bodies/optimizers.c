#ifndef TFNORM_NO_TRAINING

/* -- the optimizers' pass over parameters p and moments m, v, once through memory --------------
 * Moments below 2^-100 become 0: those of a row that is no longer used would end as denormals. So a
 * gradient below 2^-100 counts as 0, the square of one below 2^-50 too, and Adam does not move what
 * has no second moment. (Weights that only decay take ages: at a rate of 1e-3 and a decay of 0.1
 * 800,000 updates to the first denormal.) */

/* SGD's step of k weights from i on: lr m, m = b1 m + g; Nesterov's lr (g + b1 m); without m lr g.
 * PyTorch's form. */
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

/* v = b2 v + (1-b2) g^2, and the step over root * sqrt v + eps, unless RAdam does not trust v. */
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

/* Adam's (Kingma & Ba 2015, algorithm 1): m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, step
 * step_size * m / (root * sqrt v + eps), where the corrections of the bias are in step_size and
 * root; RAdam's, while v is not to be trusted, step_size * m. */
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

/* Schedule-free AdamW (Defazio et al. 2024, algorithm 1): z -= step_size (g/(sqrt v + eps) + decay
 * y), where g is the gradient at y and step_size has v's correction. */
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

/* Lion's (Chen et al. 2023, algorithm 2): lr sign(b1 m + (1-b1) g), then m = b2 m + (1-b2) g: every
 * weight moves by the rate, but for the sign of 0, which is 0. */
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

/* The gradient of k weights from i on as an optimizer wants it: of the mean loss, clipped by value.
 */
static TFN__INLINE TFN__V TFN__N(tfn__scaled_gradient)(const float *g, ptrdiff_t i, ptrdiff_t k,
                                                       const tfn_update_args *u)
{
    const TFN__V limit = TFN__SET(u->clip_value);
    TFN__V d = TFN__N(tfn__vcut)(TFN__GET(g + i, k), TFN__LEAST);
    d = TFN__MUL(d, TFN__SET(u->grad_scale));
    if (u->clip_value > 0) d = TFN__MAX(TFN__MIN(d, limit), TFN__SUB(TFN__SET(0), limit));
    return d;
}

/* p -= step, with the gradient times grad_scale, then clipped by value; decay is coupled
 * (g += decay * p) or not (p -= lr * decay * p). An update that is skipped changes the moments
 * alone. */
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

/* -- Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon) ----------------------
 * A matrix moves by the orthogonal one nearest to its averaged gradient, U V^T of U S V^T: every
 * direction counts alike, however small its gradient is. Five steps of a Newton-Schulz iteration
 * with a quintic polynomial make all singular values about 1, from products alone:
 *     A = X X^T;  B = b A + c A A;  X = a X + B X,  (a, b, c) = (3.4445, -4.7750, 2.0315)
 * after X = G/(|G| + 1e-7). Of a matrix with more rows than columns A is X^T X and X B stands for B
 * X, so that A is the small one.
 * Products of numbers that are next to nothing would be denormals. So X has no element below 2^-30,
 * which is far below the error of a float's product, and A and B none below 2^-60. */

/* What is below `least` becomes 0, in x (n). Products leave such numbers where terms cancel. */
static void TFN__N(tfn__cut_all)(float *x, ptrdiff_t n, float least)
{
    TFN__EACH(i, k, n) TFN__PUT(x + i, TFN__N(tfn__vcut)(TFN__GET(x + i, k), least), k);
}

/* m = b m + (1-b) g, and Nesterov's x = b m + (1-b) g, divided by its length: the singular values
 * are then at most 1, from where the iteration converges. The length of all zeros is 1e-7, and they
 * stay zeros. Squares of what is below 2^-50 would be denormals, as in Adam's second moment. */
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
        const TFN__V unit = TFN__DIV(TFN__GET(x + i, k), TFN__SET(length));
        TFN__PUT(x + i, TFN__N(tfn__vcut)(unit, TFN__TAIL_ROOT), k);
    }
}

/* A (n, n) = X X^T, or X^T X: the transpose is the same memory with its strides exchanged. A is
 * symmetric to the last bit, as both orders of a product of two numbers are the same. */
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
    TFN__N(tfn__matmul)(&p, s->work);
    TFN__N(tfn__cut_all)(s->a, s->n * s->n, TFN__TAIL);
}

/* c (rows, cols) = start + a (rows, k) b (k, cols), all row by row in memory; start may be c. */
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
    TFN__N(tfn__matmul)(&p, s->work);
}

/* One step of the iteration: X becomes a X + B X, or a X + X B. B begins as A A and is made in its
 * place; the new X begins as a X, from which each element's chain goes on. So five products and
 * sums need four arrays. */
static void TFN__N(tfn__newton_schulz)(tfn__muon *s)
{
    const float a = (float)3.4445;
    const float b = (float)-4.7750;
    const float c = (float)2.0315;
    const ptrdiff_t size = s->rows * s->cols;
    const ptrdiff_t n = s->n;
    float *x = s->x;
    float *next = s->next;
    TFN__N(tfn__muon_square)(s);
    TFN__N(tfn__muon_product)(s, s->b, NULL, s->a, s->a, n, n, n);
    TFN__N(tfn__combine)(s->b, s->a, s->b, n * n, b, c, false);
    TFN__N(tfn__cut_all)(s->b, n * n, TFN__TAIL);
    TFN__N(tfn__combine)(next, x, NULL, size, a, 0, false);
    if (s->rows > s->cols)
        TFN__N(tfn__muon_product)(s, next, next, x, s->b, s->rows, s->cols, n);
    else
        TFN__N(tfn__muon_product)(s, next, next, s->b, x, s->rows, s->cols, n);
    TFN__N(tfn__cut_all)(next, size, TFN__TAIL_ROOT);
    s->x = next;
    s->next = x;
}

/* Floats of the scratch, see tfn__muon: the packing buffers of the larger of the two kinds of
 * product, twice the smaller square, twice the matrix. */
static ptrdiff_t TFN__N(tfn__muon_work)(ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t n = tfn__min(rows, cols);
    const ptrdiff_t k = tfn__max(rows, cols);
    const ptrdiff_t square = TFN__N(tfn__matmul_work)(n, n, k);
    const ptrdiff_t product = TFN__N(tfn__matmul_work)(rows, cols, n);
    return 2 * rows * cols + 2 * n * n + tfn__max(square, product);
}

/* p -= rate (s O + decay p): a matrix maps its rows, the inputs, to its columns, the outputs, and s
 * = sqrt(max(1, outputs/inputs)) lets the outputs move alike, whatever their number is. */
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
    for (int i = 0; i < TFN__MUON_STEPS; i++) TFN__N(tfn__newton_schulz)(&s);
    TFN__EACH(i, k, size) {
        TFN__V y = TFN__GET(p + i, k);
        if (u->decay > 0) y = TFN__SUB(y, TFN__MUL(shrink, y));
        TFN__PUT(p + i, TFN__SUB(y, TFN__MUL(by, TFN__GET(s.x + i, k))), k);
    }
}

/* -- Adafactor (Shazeer & Stern 2018, algorithms 4 and 5) -------------------------------------
 * The second moment of a matrix is kept as its sums over rows and columns, r and c, of which
 * V = r c / sum(r) is the best estimate of rank 1:
 *     r = b r + (1-b) sum_c(g^2 + e),  c = b c + (1-b) sum_r(g^2 + e),  e = 1e-30
 *     u = g/sqrt(V),  p -= lr u/max(1, RMS(u)),  b = 1 - t^-0.8 (section 7.2)
 * so that few weights of a matrix with a stale moment do not move far (section 6). A tensor that is
 * no matrix has c alone, V = c. There is no first moment unless beta1 > 0: then the step is
 * averaged, as in the authors' code. Roots are taken before they are multiplied: of numbers near e,
 * products would be denormals. */

/* The sums of the squares: of rows in 16 lanes, of columns as chains over the rows, which are in
 * order. r is NULL where there are none of rows. Here e counts once for each term, so that no sum
 * is ever 0 and nothing is divided by it. */
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

/* The root of r / sum(r), for each row: what the estimate V has of its row. */
static void TFN__N(tfn__factor_roots)(float *roots, const float *r, ptrdiff_t rows)
{
    const float total = TFN__SQRT(TFN__N(tfn__row_sum)(r, rows));
    for (ptrdiff_t i = 0; i < rows; i++) roots[i] = TFN__SQRT(r[i]) / total;
}

/* u = g/sqrt(V) of k weights from i on, of a row with the root of r / sum(r). It is not stored:
 * computing it twice costs less memory, which is why one takes this optimizer. */
static TFN__INLINE TFN__V TFN__N(tfn__factored_unit)(const float *g, const float *c, float root,
                                                     ptrdiff_t i, ptrdiff_t k,
                                                     const tfn_update_args *u)
{
    const TFN__V d = TFN__N(tfn__scaled_gradient)(g, i, k, u);
    const TFN__V v = TFN__MUL(TFN__SET(root), TFN__ROOT(TFN__GET(c + i, k)));
    return TFN__N(tfn__vcut)(TFN__DIV(d, v), TFN__LEAST_ROOT);
}

/* sum(u^2) of a row. */
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

/* p -= shrink p + m, m = b1 m + (1-b1) by u, of a row; m NULL: p -= shrink p + by u. */
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

/* The rate of a tensor: the schedule's, or relative to its RMS (section 8). */
static float TFN__N(tfn__relative_rate)(const float *p, ptrdiff_t n, const tfn_update_args *u)
{
    const float least = (float)1e-3;
    float rms;
    if (!u->relative) return u->lr;
    rms = TFN__SQRT(TFN__N(tfn__dot)(p, p, n) / (float)n);
    if (rms < least) return u->lr * least;
    return u->lr * rms;
}

/* Three passes over a tensor: the sums of g^2; the length of u, by which it is clipped as a whole;
 * the step. work (2, rows): the root of each row's r / sum(r), and its sum(u^2). */
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

/* One tensor of an optimizer that must see each alone; to Adafactor what is no matrix is one row,
 * and Muon leaves it to AdamW. */
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
/* Floats of its work; u says the optimizer and whether the tensor is a matrix. */
static ptrdiff_t TFN__N(tfn__update_work)(ptrdiff_t rows, ptrdiff_t cols, const tfn_update_args *u)
{
    if (!u->matrix) rows = 1;
    if (tfn__is_optimizer(u, TFN_OPTIMIZER_ADAFACTOR)) return 2 * rows;
    if (u->matrix && tfn__is_optimizer(u, TFN_OPTIMIZER_MUON))
        return TFN__N(tfn__muon_work)(rows, cols);
    return 0;
}
#endif
