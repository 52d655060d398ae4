/* Elementwise functions, and scales of columns. Activations: ReLU and its square (So et al.
 * 2021, Primer), GELU = x Phi(x) (Hendrycks & Gimpel 2016) and its tanh form, SiLU =
 * x/(1 + exp(-x)), tanh. Gated units (Shazeer 2020): y = f(gate) * up, GEGLU with GELU, SwiGLU with
 * SiLU. The forward saves nothing; the backward computes everything from x again. */

/* Phi(x) = (1 + erf(x/sqrt 2))/2, the normal distribution function. */
static TFN__INLINE TFN__V TFN__N(tfn__vphi)(TFN__V x)
{
    const TFN__V half = TFN__SET((float)0.5);
    const TFN__V root = TFN__SET((float)0.70710678118654752);          /* sqrt(1/2) */
    return TFN__FMA(half, TFN__N(tfn__verf)(TFN__MUL(x, root)), half);
}

/* max(x, 0), or exactly 0 if its square is below TFN__TAIL. Without this limit, squares would be
 * denormal from x = 1e-19 on down, and so would products of the derivative and a small dy. */
static TFN__INLINE TFN__V TFN__N(tfn__vrelu_root)(TFN__V x)
{
    return TFN__LESS(x, TFN__SET(TFN__TAIL_ROOT), TFN__SET(0), x);
}

/* f(x) for each kind. Callers pass a constant kind, so only one branch remains. The tanh form of
 * GELU, x/2 (1 + tanh u) with u = sqrt(2/pi) (x + 0.044715 x^3), is computed as a logistic
 * function: (1 + tanh u)/2 = 1/(1 + exp(-2u)), with 2u = x (c + b x^2). */
static TFN__INLINE TFN__V TFN__N(tfn__vactivation)(TFN__V x, const tfn_activation_kind kind)
{
    const TFN__V c = TFN__SET((float)1.5957691216057307);          /* 2 sqrt(2/pi) */
    const TFN__V b = TFN__SET((float)(1.5957691216057307 * 0.044715));
    switch (kind) {
    case TFN_ACTIVATION_RELU: return TFN__MAX(TFN__SET(0), x);
    case TFN_ACTIVATION_RELU2:
        x = TFN__N(tfn__vrelu_root)(x);
        return TFN__MUL(x, x);
    case TFN_ACTIVATION_TANH: return TFN__N(tfn__vtanh)(x);
    case TFN_ACTIVATION_SILU: return TFN__N(tfn__vlogistic)(x, x);
    case TFN_ACTIVATION_GELU: return TFN__MUL(x, TFN__N(tfn__vphi)(x));
    case TFN_ACTIVATION_GELU_TANH:
        return TFN__N(tfn__vlogistic)(x, TFN__MUL(x, TFN__FMA(b, TFN__MUL(x, x), c)));
    default: return x;
    }
}

/* The derivative of x s, with s = 1/(1 + e) and e = exp(-u): s + x s (1 - s) u' = s (1 + v (1 - s))
 * with v = x u'. 1 - s is computed as e s, to avoid cancellation. Callers limit |x| so that v is
 * finite; beyond the limit the derivative is 0 or 1. */
static TFN__INLINE TFN__V TFN__N(tfn__logistic_derivative)(TFN__V u, TFN__V v)
{
    const TFN__V one = TFN__SET(1);
    const TFN__V e = TFN__N(tfn__vexp_near)(TFN__SUB(TFN__SET(0), u));
    const TFN__V s = TFN__DIV(one, TFN__ADD(one, e));
    return TFN__N(tfn__vlogistic_tail)(TFN__MUL(s, TFN__FMA(v, TFN__MUL(e, s), one)), e);
}

/* f'(x). ReLU: 1 above 0. ReLU squared: 2 max(x, 0). tanh: 1 - tanh^2. GELU: Phi + x phi, with
 * phi = exp(-x^2/2)/sqrt(2 pi). SiLU is x s (see above) with u = x. The tanh form of GELU is x s
 * with u = x (c + b x^2), so x u' = x (c + 3 b x^2). Beyond the limits of x, the derivatives of
 * these two are 0 or 1. */
static TFN__INLINE TFN__V TFN__N(tfn__vderivative)(TFN__V x, const tfn_activation_kind kind)
{
    const TFN__V one = TFN__SET(1);
    const TFN__V zero = TFN__SET(0);
    const TFN__V c = TFN__SET((float)1.5957691216057307);          /* 2 sqrt(2/pi) */
    const TFN__V b = TFN__SET((float)(1.5957691216057307 * 0.044715));
    const TFN__V b3 = TFN__SET((float)(1.5957691216057307 * 0.044715 * 3));
    TFN__V u;
    switch (kind) {
    case TFN_ACTIVATION_RELU: return TFN__LESS(zero, x, one, zero);
    case TFN_ACTIVATION_RELU2:
        x = TFN__N(tfn__vrelu_root)(x);
        return TFN__ADD(x, x);
    case TFN_ACTIVATION_TANH:
        u = TFN__N(tfn__vtanh)(x);
        return TFN__SUB(one, TFN__MUL(u, u));
    case TFN_ACTIVATION_SILU:
        x = TFN__N(tfn__vlimit)(x, (float)-88, (float)88);
        return TFN__N(tfn__logistic_derivative)(x, x);
    case TFN_ACTIVATION_GELU:
        u = TFN__N(tfn__vexp_tail)(TFN__MUL(TFN__MUL(TFN__SET((float)-0.5), x), x));
        u = TFN__MUL(TFN__SET((float)0.39894228040143268), u);
        return TFN__FMA(x, u, TFN__N(tfn__vphi)(x));
    case TFN_ACTIVATION_GELU_TANH:
        x = TFN__N(tfn__vlimit)(x, (float)-10, (float)10);
        u = TFN__MUL(x, x);
        return TFN__N(tfn__logistic_derivative)(TFN__MUL(x, TFN__FMA(b, u, c)),
                                                TFN__MUL(x, TFN__FMA(b3, u, c)));
    default: return one;
    }
}

/* Chooses the kind once, outside the loop. The macro `call` expands to one loop per kind, in which
 * the kind is constant. TFN_ACTIVATION_DEFAULT goes to GELU_TANH. A kind that this build omits has
 * no loop, so nothing is written. */
#define TFN__CASE(which, call)                                                                 \
    case TFN_ACTIVATION_##which:                                                               \
        if (TFN__FUNCTIONS & TFN_SET(TFN_ACTIVATION_##which)) { call(TFN_ACTIVATION_##which); } \
        break;
#define TFN__KINDS(kind, call)                                                                 \
    switch (kind) {                                                                            \
    TFN__CASE(RELU, call)                                                                      \
    TFN__CASE(RELU2, call)                                                                     \
    TFN__CASE(GELU, call)                                                                      \
    TFN__CASE(SILU, call)                                                                      \
    TFN__CASE(TANH, call)                                                                      \
    TFN__CASE(IDENTITY, call)                                                                  \
    default:                                                                                   \
    TFN__CASE(GELU_TANH, call)                                                                 \
    }

/* y = f(x) for n values in whole vectors. */
static void TFN__N(tfn__activate)(float *y, const float *x, ptrdiff_t n,
                                  tfn_activation_kind kind)
{
#define TFN__CALL(which)                                                                       \
    for (; n > 0; n -= TFN__W, x += TFN__W, y += TFN__W)                                       \
        TFN__STORE(y, TFN__N(tfn__vactivation)(TFN__LOAD(x), which))
    TFN__KINDS(kind, TFN__CALL)
#undef TFN__CALL
}

/* y = f(x) for any n. */
static void TFN__N(tfn__activation_forward)(float *y, const float *x, ptrdiff_t n,
                                            tfn_activation_kind kind)
{
    TFN__WITH_REST(TFN__N(tfn__activate), y, x, n, kind);
}

/* y = a * b elementwise, or y += a * b if `add`. */
static TFN__APART void TFN__N(tfn__multiply)(float *y, const float *a, const float *b, ptrdiff_t n,
                                             bool add)
{
    TFN__EACH(i, k, n) {
        const TFN__V v = TFN__MUL(TFN__GET(a + i, k), TFN__GET(b + i, k));
        TFN__N(tfn__store_or_add)(y + i, v, k, add);
    }
}

/* Values per block, so that the array of a block, such as f(gate), stays in L1. */
#define TFN__GATED_BLOCK 256
/* y = f(gate) * up, in blocks. */
static void TFN__N(tfn__gated_forward)(float *y, const float *gate, const float *up, ptrdiff_t n,
                                       tfn_activation_kind kind)
{
    float t[TFN__GATED_BLOCK];
    for (ptrdiff_t i = 0; i < n; i += TFN__GATED_BLOCK) {
        const ptrdiff_t count = tfn__min(n - i, TFN__GATED_BLOCK);
        TFN__N(tfn__activation_forward)(t, gate + i, count, kind);
        TFN__N(tfn__multiply)(y + i, t, up + i, count, false);
    }
}

/* d = f'(x) for n values in whole vectors. */
static void TFN__N(tfn__derivative)(float *d, const float *x, ptrdiff_t n,
                                    tfn_activation_kind kind)
{
#define TFN__CALL(which)                                                                       \
    for (; n > 0; n -= TFN__W, x += TFN__W, d += TFN__W)                                       \
        TFN__STORE(d, TFN__N(tfn__vderivative)(TFN__LOAD(x), which))
    TFN__KINDS(kind, TFN__CALL)
#undef TFN__CALL
}

/* dx = f'(x) * dy, or dx += f'(x) * dy if `add`, in blocks. */
static void TFN__N(tfn__activation_backward)(float *dx, const float *dy, const float *x,
                                             ptrdiff_t n, tfn_activation_kind kind, bool add)
{
    float d[TFN__GATED_BLOCK];
    for (ptrdiff_t i = 0; i < n; i += TFN__GATED_BLOCK) {
        const ptrdiff_t count = tfn__min(n - i, TFN__GATED_BLOCK);
        TFN__WITH_REST(TFN__N(tfn__derivative), d, x + i, count, kind);
        TFN__N(tfn__multiply)(dx + i, d, dy + i, count, add);
    }
}

/* dup = dy * f(gate), dgate = dy * up * f'(gate). A gradient that is not needed is NULL. */
static void TFN__N(tfn__gated_backward)(float *dgate, float *dup, const float *dy,
                                        const float *gate, const float *up, ptrdiff_t n,
                                        tfn_activation_kind kind, bool add_gate, bool add_up)
{
    float f[TFN__GATED_BLOCK];                           /* f(gate) */
    float d[TFN__GATED_BLOCK];                           /* dy * up */
    for (ptrdiff_t i = 0; i < n; i += TFN__GATED_BLOCK) {
        const ptrdiff_t count = tfn__min(n - i, TFN__GATED_BLOCK);
        if (dup) {
            TFN__N(tfn__activation_forward)(f, gate + i, count, kind);
            TFN__N(tfn__multiply)(dup + i, dy + i, f, count, add_up);
        }
        if (!dgate) continue;
        TFN__N(tfn__multiply)(d, dy + i, up + i, count, false);
        TFN__N(tfn__activation_backward)(dgate + i, d, gate + i, count, kind, add_gate);
    }
}
#undef TFN__CASE
#undef TFN__KINDS
#undef TFN__GATED_BLOCK
#undef TFN__WITH_REST

/* y = x * v with one factor per column, or y += x * v if `add`. */
static void TFN__N(tfn__scale_columns)(float *y, const float *x, const float *v, ptrdiff_t rows,
                                       ptrdiff_t cols, bool add)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols)
        TFN__EACH(c, k, cols) {
            const TFN__V u = TFN__MUL(TFN__GET(x + c, k), TFN__GET(v + c, k));
            TFN__N(tfn__store_or_add)(y + c, u, k, add);
        }
}

/* dv = the sum over the rows of dy * x, added to dv if `add`. Each column is one chain. Rows are ld
 * apart. */
static void TFN__N(tfn__scale_columns_backward)(float *dv, const float *dy, const float *x,
                                                ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld,
                                                bool add)
{
    TFN__EACH(c, k, cols) {
        TFN__V sum = TFN__SET(0);
        if (add) sum = TFN__GET(dv + c, k);
        for (ptrdiff_t r = 0; r < rows; r++)
            sum = TFN__FMA(TFN__GET(dy + r*ld + c, k), TFN__GET(x + r*ld + c, k), sum);
        TFN__PUT(dv + c, sum, k);
    }
}
