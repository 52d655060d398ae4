/* All kernels of all instruction sets on buffers of exactly the size that they need, at the edge of
 * an inaccessible page: shapes 0 to 200, pointers at any float address, and denormals, infinities,
 * NaN and the largest floats among the inputs. No kernel may read or write outside. The pages also
 * catch masked loads, which sanitizers do not see. Sets with an FMA agree to the bit for any input,
 * and so do those without; only the bits of a NaN may differ. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE         /* MAP_ANONYMOUS, before any header */
#endif
#include "../lib.h"
#include "../check.h"
#include <signal.h>
#if defined __unix__ || defined __APPLE__
#include <sys/mman.h>
#include <unistd.h>
#ifdef MAP_ANONYMOUS
#define GUARD_PAGES
#endif
#endif

enum { GUARD_SLOTS = 24, GUARD_BYTES = 1 << 20, GUARD_EDGE = 256, GUARD_MOST = 200 };
enum { GUARD_NORMAL, GUARD_SPECIAL, GUARD_TINY, GUARD_KINDS };

/* A buffer: its bytes, and the edge on the side without a guard page. */
typedef struct guard_slot { unsigned char *begin, *end, *data, *edge; size_t size; } guard_slot;

static struct {
    const tfn_kernels *k;
    guard_slot slots[GUARD_SLOTS];
    int     used, kind;
    bool    at_end;               /* the buffer ends at the guard page; false: begins after one */
    uint64_t draws;
    char    where[100];
} guard;

static uint64_t guard_draw(void) { return tfn_random_bits(tfn_key_make(19), guard.draws++); }
static int  guard_below(int n)   { return (int)(guard_draw() % (uint64_t)n); }
static bool guard_coin(void)     { return guard_draw() & 1; }

/* Allocates the buffers once; without guard pages where pages cannot be protected. */
static bool guard_open(void)
{
#ifdef GUARD_PAGES
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), each = GUARD_BYTES + 2*page;
    unsigned char *all = (unsigned char *)mmap(NULL, GUARD_SLOTS * each, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == (unsigned char *)MAP_FAILED) return false;
#else
    const size_t page = 64, each = GUARD_BYTES + 2*page;
    unsigned char *all = (unsigned char *)malloc(GUARD_SLOTS * each);
    if (!all) return false;
#endif
    for (int i = 0; i < GUARD_SLOTS; i++, all += each) {
        guard.slots[i].begin = all + page;
        guard.slots[i].end = all + page + GUARD_BYTES;
#ifdef GUARD_PAGES
        if (mprotect(all, page, PROT_NONE) || mprotect(guard.slots[i].end, page, PROT_NONE))
            return false;
#endif
    }
    return true;
}

/* Reports where a page was accessed. */
static void guard_touched(int signal_number)
{
    (void)signal_number;
    printf("FAILED guard: %s: touched a page outside\n", guard.where);
    fflush(stdout);
    _Exit(1);
}

static void *guard_take(ptrdiff_t n, size_t each)
{
    guard_slot *s = &guard.slots[guard.used++];
    s->size = (size_t)(n > 0 ? n : 0) * each;
    if (guard.used > GUARD_SLOTS || s->size > GUARD_BYTES - GUARD_EDGE) {
        printf("guard: %s wants too much\n", guard.where);
        exit(2);
    }
    s->data = guard.at_end ? s->end - s->size : s->begin;
    s->edge = guard.at_end ? s->data - GUARD_EDGE : s->data + s->size;
    memset(s->edge, 0xa5, GUARD_EDGE);
    return s->data;
}

static float guard_value(void)
{
    const float special[] = {
        0, -0.0f, 1e-39f, -1e-39f, 1.4e-45f, 1.17549435e-38f, 1e-30f, -1e-20f, 88.8f, -88.8f, 1e20f,
        -1e20f, 3.4028234e38f, -3.4028234e38f, INFINITY, -INFINITY, NAN
    };
    const int count = (int)(sizeof special / sizeof *special);
    if (guard.kind == GUARD_TINY) return special[guard_below(6)];
    if (guard.kind == GUARD_SPECIAL && guard_below(8) == 0) return special[guard_below(count)];
    return 4 * tfn_random_normal(tfn_key_make(20), guard.draws++);
}

/* An array of n floats, for input or output; a kernel may have to add to any number. */
static float *guard_floats(ptrdiff_t n)
{
    float *x = (float *)guard_take(n, sizeof *x);
    for (ptrdiff_t i = 0; i < n; i++) x[i] = guard_value();
    return x;
}
static float *guard_maybe(ptrdiff_t n) { return guard_coin() ? guard_floats(n) : NULL; }

/* Numbers from `least` to below `end`, and some out of range. */
static int32_t *guard_ints(ptrdiff_t n, int least, int end)
{
    static const int32_t other[] = { -1, INT32_MIN, INT32_MAX };
    int32_t *x = (int32_t *)guard_take(n, sizeof *x);
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = least < end ? least + guard_below(end - least) : -1;
        if (guard_below(8) == 0) x[i] = other[guard_below(3)];
    }
    return x;
}

/* Scratch of exact size; its content after the call is not compared. */
static float *guard_scratch(ptrdiff_t n)
{
    float *x = (float *)guard_take(n, sizeof *x);
    guard.slots[guard.used - 1].size = 0;
    memset(x, 0xff, (size_t)(n > 0 ? n : 0) * sizeof *x);
    return x;
}

/* -- one case for each group of kernels, n from 0 to 200 --------------------------------------- */

/* One of m, n and k is n, the others are below 40; factors are plain or transposed. */
static void guard_matmul(int n)
{
    const int turn = guard_below(3), layout = guard_below(4), start = guard_below(4);
    tfn_matmul_args p;
    float *c;
    memset(&p, 0, sizeof p);
    p.m = turn == 0 ? n : guard_below(40);
    p.n = turn == 1 ? n : guard_below(40);
    p.k = turn == 2 ? n : guard_below(40);
    p.a_row = layout & 1 ? 1 : p.k + guard_below(2);
    p.a_col = layout & 1 ? p.m : 1;
    p.b_row = layout & 2 ? 1 : p.n + guard_below(2);
    p.b_col = layout & 2 ? p.k : 1;
    p.c_ld = p.n + guard_below(3);
    p.a = guard_floats(p.m > 0 && p.k > 0 ? (p.m - 1)*p.a_row + (p.k - 1)*p.a_col + 1 : 0);
    p.b = guard_floats(p.k > 0 && p.n > 0 ? (p.k - 1)*p.b_row + (p.n - 1)*p.b_col + 1 : 0);
    p.c = c = guard_floats(p.m > 0 && p.n > 0 ? (p.m - 1)*p.c_ld + p.n : 0);
    if (start == 1) p.start = c, p.start_ld = p.c_ld;
    if (start == 2) p.start = guard_floats(p.n);
    if (start == 3) p.start = guard_floats(p.m * p.n), p.start_ld = p.n;
    guard.k->matmul(&p, guard_scratch(guard.k->matmul_work(p.m, p.n, p.k)));
}

static void guard_norms(int n)
{
    const int rows = guard_below(10);
    tfn_norm_args p;
    memset(&p, 0, sizeof p);
    p.kind = (tfn_norm_kind)guard_below(TFN_NORM_ABSMAX + 1);
    p.groups = n % 3 == 0 && guard_coin() ? 3 : guard_below(2);
    p.rows = rows;
    p.cols = n;
    if (guard_coin()) p.part = guard_below(n + 1);
    p.eps = 1e-5f, p.slope = 0.1f, p.factor = 1;
    p.offset = guard_coin(), p.detach_mean = guard_coin(), p.detach_std = guard_coin();
    p.add = guard_coin(), p.add_params = guard_coin();
    p.x = guard_floats(rows * n), p.dy = guard_floats(rows * n);
    p.y = guard_floats(rows * n), p.dx = guard_floats(rows * n);
    p.gain = guard_maybe(n), p.bias = guard_maybe(n);
    p.mean = guard_floats(rows * (p.groups > 0 ? p.groups : 1));
    p.rstd = guard_floats(rows * (p.groups > 0 ? p.groups : 1));
    p.dgain = guard_maybe(n), p.dbias = guard_maybe(n);
    guard.k->norm_forward(&p);
    guard.k->norm_backward(&p);
    guard.k->norm_params_backward(&p, 0, n / 2);
    guard.k->norm_params_backward(&p, n / 2, n - n / 2);
}

static void guard_softmax(int n)
{
    const int rows = guard_below(11);
    float *x = guard_floats(rows * n), *dy = guard_floats(rows * n);
    float *y = guard_coin() ? x : guard_floats(rows * n);
    guard.k->softmax_forward(y, x, rows, n);
    guard.k->softmax_backward(guard_floats(rows * n), dy, y, rows, n, guard_coin());
    guard.k->softmax_backward(dy, dy, y, rows, n, false);
}

/* Strides with room for other heads; sentences of any length, even out of range. */
static void guard_attention(int n)
{
    enum { B = 2, G = 2 };
    const int group = 1 + guard_below(2), d = 1 + guard_below(20);
    tfn_attention_args p;
    float *work;
    memset(&p, 0, sizeof p);
    p.causal = guard_coin();
    p.batch = B, p.heads = group * G, p.kv_heads = G, p.head_size = d;
    p.tk = n;
    p.tq = p.causal ? n : guard_below(80);
    p.q_ld = p.heads * d + guard_below(2), p.y_ld = p.heads * d + guard_below(2);
    p.k_ld = G*d + guard_below(2), p.v_ld = G*d + guard_below(2);
    p.scale = 0.3f;
    p.cap = guard_coin() ? 0 : 5;
    p.dropout = guard_coin() ? 0 : 0.2f;
    p.key = tfn_key_make(3);
    if (guard_coin()) p.lengths = guard_ints(B, 0, n + 2);
    p.q = guard_floats(B * p.tq * p.q_ld), p.k = guard_floats(B * n * p.k_ld);
    p.v = guard_floats(B * n * p.v_ld), p.y = guard_floats(B * p.tq * p.y_ld);
    p.stats = guard_floats(B * p.tq * p.heads * 2);
    p.dy = guard_floats(B * p.tq * p.y_ld);
    if (guard_below(4)) p.dq = guard_floats(B * p.tq * p.q_ld);
    if (guard_below(4)) p.dk = guard_floats(B * n * p.k_ld);
    if (guard_below(4)) p.dv = guard_floats(B * n * p.v_ld);
    p.add_dq = guard_coin(), p.add_dk = guard_coin(), p.add_dv = guard_coin();
    work = guard_scratch(guard.k->attention_work(p.tq, p.tk, d));
    guard.k->attention_forward(&p, 0, 1, work);
    guard.k->attention_forward(&p, 1, B*G, work);
    guard.k->attention_backward(&p, 0, 1, work);
    guard.k->attention_backward(&p, 1, B*G, work);
}

static void guard_cached(int n)
{
    enum { B = 3, G = 2 };
    const int d = 1 + guard_below(20), queries = 1 + guard_below(20);
    tfn_attention_cached_args p;
    int32_t *beam;
    memset(&p, 0, sizeof p);
    p.batch = B, p.heads = 2*G, p.kv_heads = G, p.head_size = d;
    p.capacity = n, p.count = guard_below(n + 1);
    p.queries = queries;
    p.causal = guard_coin();
    p.q_row = p.heads * d, p.y_row = p.heads * d + 1;
    p.q_ld = queries * p.q_row, p.y_ld = queries * p.y_row;
    p.scale = 0.3f;
    p.cap = guard_coin() ? 0 : 5;
    p.q = guard_floats(B * p.q_ld), p.y = guard_floats(B * p.y_ld);
    p.k_cache = guard_floats(B*G*d * n), p.v_cache = guard_floats(B*G*d * n);
    if (guard_coin()) p.lengths = guard_ints(B, 0, n + 1);
    beam = (int32_t *)guard_take(B, sizeof *beam);
    for (int b = 0; b < B; b++) beam[b] = guard_below(B);
    if (guard_coin()) p.beam = beam;
    guard.k->attention_cached(&p, 0, B*G, guard_scratch(guard.k->attention_work(-queries, n, d)));
}

static void guard_activations(int n)
{
    static const tfn_activation_kind kinds[] = {
        TFN_ACTIVATION_RELU, TFN_ACTIVATION_GELU, TFN_ACTIVATION_GELU_TANH, TFN_ACTIVATION_SILU,
            TFN_ACTIVATION_TANH, TFN_ACTIVATION_IDENTITY
    };
    const tfn_activation_kind kind = kinds[guard_below(6)];
    float *x = guard_floats(n), *dy = guard_floats(n), *up = guard_floats(n);
    float *dgate = guard_maybe(n), *dup = guard_maybe(n);
    guard.k->activation_forward(guard_floats(n), x, n, kind);
    guard.k->gated_forward(guard_floats(n), x, up, n, kind);
    guard.k->gated_backward(dgate, dup, dy, x, up, n, kind, guard_coin(), guard_coin());
    guard.k->activation_backward(guard_floats(n), dy, x, n, kind, guard_coin());
    guard.k->activation_backward(dy, dy, x, n, kind, false);
    guard.k->activation_forward(x, x, n, kind);
}

static void guard_embed(int n)
{
    enum { V = 7 };
    const int rows = guard_below(12), ld = n + guard_below(3);
    const int32_t *tokens = guard_ints(rows, 0, V);
    float *dy = guard_floats(rows > 0 ? (rows - 1)*ld + n : 0);
    guard.k->embed_forward(guard_floats(rows * n), guard_floats(V * n), tokens, rows, n, V, 0.5f);
    guard.k->embed_backward(guard_floats((V - 1)*ld + n), dy, tokens, rows, n, ld, V, 0.5f);
}

static void guard_position(int n)
{
    const int batch = guard_below(4), time = guard_below(5), ld = n + guard_below(3);
    const int start = guard_below(4), rows = batch * time;
    float *table = guard_floats((start + time) * n);
    float *dtable = guard_floats((start + time) * ld), *dy = guard_floats(rows * ld);
    guard.k->position_forward(guard_floats(rows * n), guard_floats(rows * n), table, batch, time, n,
                              start);
    guard.k->position_backward(dtable, dy, batch, time, n, ld, start, guard_coin());
}

static void guard_rotary(int n)
{
    const int batch = guard_below(3), time = guard_below(4), heads = 1 + guard_below(3);
    const int start = guard_below(3), size = n / 2 * 2, count = batch * time * heads * size;
    float *x = guard_floats(count), *table = guard_floats((start + time) * size);
    const bool inverse = guard_coin();
    guard.k->rotary(guard_floats(count), x, table, batch, time, heads, size, start, inverse,
                    guard_coin());
    guard.k->rotary(x, x, table, batch, time, heads, size, start, inverse, false);
}

static void guard_elementwise(int n)
{
    const int rows = guard_below(9), ld = n + guard_below(3), count = rows * n;
    const float a = guard_value(), b = guard_value();
    float *x = guard_floats(count), *y = guard_floats(count), *sums = guard_floats(3);
    float *v = guard_floats(n), *dv = guard_floats(n), *wide = guard_floats(rows * ld);
    float *z = guard_maybe(count);
    guard.k->dropout(y, x, count, guard_coin() ? 0.3f : 1, tfn_key_make(5), guard_draw() >> 20,
                     guard_coin());
    guard.k->combine(y, x, z, count, a, b, guard_coin());
    guard.k->scale_columns(y, x, v, rows, n, guard_coin());
    guard.k->scale_columns_backward(dv, wide, wide, rows, n, ld, guard_coin());
    guard.k->column_sum(v, wide, rows, n, ld, guard_coin());
    sums[0] = guard.k->dot(x, y, count);
    sums[1] = guard.k->dot(x, NULL, count);
    sums[2] = guard.k->absmax(x, count);
    guard.k->round_to_half(z ? z : y, count);
}

static void guard_loss(int n)
{
    const int rows = guard_below(8);
    const int32_t *targets = guard_ints(rows, 0, n);
    const float smoothing = guard_coin() ? 0 : 0.1f;
    float *x = guard_floats(rows * n), *stats = guard_floats(2 * rows), *nll = guard_maybe(rows);
    const float *dloss = guard_maybe(rows);
    guard.k->cross_entropy_forward(guard_floats(rows), nll, stats, x, targets, rows, n, smoothing,
                                   guard_below(2));
    guard.k->cross_entropy_backward(guard_floats(rows * n), dloss, stats, x, targets, rows, n,
                                    smoothing, guard_below(2), guard_coin());
    guard.k->cross_entropy_backward(x, dloss, stats, x, targets, rows, n, smoothing, 0, false);
}

static void guard_update(int n)
{
    static const tfn_optimizer kinds[] = { TFN_OPTIMIZER_SGD, TFN_OPTIMIZER_ADAM,
                                           TFN_OPTIMIZER_ADAMW, TFN_OPTIMIZER_RADAM,
                                           TFN_OPTIMIZER_LION };
    float *p = guard_floats(n), *g = guard_floats(n), *m, *v;
    const int rows = 1 + guard_below(9), cols = 1 + guard_below(n + 1);
    float *work;
    tfn_update_args u;
    memset(&u, 0, sizeof u);
    u.optimizer = kinds[guard_below(5)];
    u.clip_value = guard_coin() ? 0 : 0.5f;
    u.lr = 0.01f;
    u.beta1 = 0.9f, u.beta2 = 0.99f, u.eps = 1e-8f;
    u.decay = guard_coin() ? 0 : 0.1f;
    u.grad_scale = 0.1f;
    u.nesterov = guard_coin();
    m = u.optimizer == TFN_OPTIMIZER_SGD ? guard_maybe(n) : guard_floats(n);
    v = u.optimizer == TFN_OPTIMIZER_SGD || u.optimizer == TFN_OPTIMIZER_LION ? NULL
        : guard_floats(n);
    tfn_update_at(&u, 1 + guard_below(20));
    guard.k->update(p, g, m, v, n, &u);

    p = guard_floats(rows * cols);
    g = guard_floats(rows * cols);
    m = guard_floats(rows * cols);
    u.matrix = guard_coin();
    u.optimizer = TFN_OPTIMIZER_MUON;
    u.matrix_rate = 2, u.momentum = 0.9f;
    v = u.matrix ? NULL : guard_floats(rows * cols);
    work = guard_scratch(guard.k->update_work(rows, cols, &u));
    guard.k->update_tensor(p, g, m, v, rows, cols, &u, work);
    u.optimizer = TFN_OPTIMIZER_ADAFACTOR;
    u.relative = guard_coin();
    tfn_update_at(&u, 1 + guard_below(20));
    v = guard_floats(u.matrix ? rows + cols : rows * cols);
    for (int i = 0; i < (u.matrix ? rows + cols : rows * cols); i++) v[i] = v[i] * v[i];
    work = guard_scratch(guard.k->update_work(rows, cols, &u));
    guard.k->update_tensor(p, g, guard_coin() ? m : NULL, v, rows, cols, &u, work);
}

/* Packed moments start at 0. Gradients are not NaN, because a NaN's sign may depend on the
 * machine. */
static void guard_packed(int n)
{
    const ptrdiff_t blocks = (n + 31) / 32;
    float *p = guard_floats(n), *g = guard_floats(n);
    tfn_packed_moments m;
    tfn_update_args u;
    for (int i = 0; i < n; i++)
        if (isnan(g[i])) g[i] = 1;
    memset(&m, 0, sizeof m);
    memset(&u, 0, sizeof u);
    m.type = guard_coin() ? TFN_MOMENT_TYPE_BF16 : TFN_MOMENT_TYPE_FP8;
    u.optimizer = guard_coin() ? TFN_OPTIMIZER_ADAM : TFN_OPTIMIZER_LION;
    u.lr = 0.01f;
    u.beta1 = 0.9f, u.beta2 = 0.99f, u.eps = 1e-8f;
    u.grad_scale = 0.1f;
    tfn_update_at(&u, 1);
    for (int k = 0; k < (u.optimizer == TFN_OPTIMIZER_ADAM ? 2 : 1); k++) {
        const ptrdiff_t bytes = m.type == TFN_MOMENT_TYPE_BF16 ? 2*n : 32*blocks;
        m.data[k] = guard_take(bytes, 1);
        m.exponents[k] = (uint8_t *)guard_take(blocks, 1);
        memset(m.data[k], 0, (size_t)bytes);
        memset(m.exponents[k], 0, (size_t)blocks);
    }
    guard.k->update_packed(p, g, &m, n, &u, guard_scratch(512));
}

static void guard_functions(int n)
{
    const float *x = guard_floats(n);
    guard.k->exp(guard_floats(n), x, n);
    guard.k->tanh(guard_floats(n), x, n);
    guard.k->erf(guard_floats(n), x, n);
    guard.k->random_values(guard_floats(n), n, tfn_key_make(3), 5, 2, guard_coin());
}

/* The norms that use a table: of single values, SeeDNorm, of columns. */
static void guard_points(int n)
{
    const int rows = guard_below(8);
    tfn_point_args p;
    memset(&p, 0, sizeof p);
    p.squash = (tfn_squash_kind)guard_below(TFN_SQUASH_SOFTSIGN + 1);
    p.rows = rows, p.cols = n;
    p.x = guard_floats(rows * n), p.dy = guard_floats(rows * n);
    p.y = guard_floats(rows * n), p.dx = guard_floats(rows * n);
    p.alpha = guard_maybe(1), p.shift = guard_maybe(1);
    p.gain = guard_maybe(n), p.bias = guard_maybe(n);
    p.dgain = guard_maybe(n), p.dbias = guard_maybe(n);
    p.dalpha = guard_maybe(1), p.dshift = guard_maybe(1);
    p.add = guard_coin(), p.add_alpha = guard_coin(), p.add_shift = guard_coin();
    p.add_gain = guard_coin(), p.add_bias = guard_coin();
    tfn_point_forward(guard.k, &p);
    tfn_point_backward(guard.k, &p);
    tfn_point_params_backward(guard.k, &p);
}

static void guard_seeds(int n)
{
    const int rows = guard_below(8);
    tfn_seed_args p;
    memset(&p, 0, sizeof p);
    p.rows = rows, p.cols = n, p.eps = 1e-5f;
    p.x = guard_floats(rows * n), p.dy = guard_floats(rows * n);
    p.y = guard_floats(rows * n), p.dx = guard_floats(rows * n), p.stats = guard_floats(2 * rows);
    p.gain = guard_floats(n), p.alpha = guard_floats(n), p.direction = guard_floats(n);
    p.dgain = guard_maybe(n), p.dalpha = guard_maybe(n), p.ddirection = guard_maybe(n);
    p.add = guard_coin(), p.add_gain = guard_coin();
    tfn_seed_forward(guard.k, &p);
    tfn_seed_backward(&p);
    tfn_seed_params_backward(&p);
}

static void guard_columns(int n)
{
    const int batch = guard_below(4), time = guard_below(5), rows = batch * time;
    tfn_columns_args p;
    memset(&p, 0, sizeof p);
    p.kind = guard_coin() ? TFN_NORM_BATCH : TFN_NORM_POWER;
    p.batch = batch, p.time = time, p.cols = n;
    p.step = 1 + guard_below(5), p.warmup = 3;
    p.eps = 1e-5f;
    p.training = guard_coin();
    p.x = guard_floats(rows * n), p.dy = guard_floats(rows * n);
    p.y = guard_floats(rows * n), p.dx = guard_floats(rows * n);
    p.gain = guard_maybe(n), p.bias = guard_maybe(n);
    p.dgain = guard_maybe(n), p.dbias = guard_maybe(n);
    p.running = guard_floats(2 * n), p.next = guard_floats(2 * n), p.stats = guard_floats(2 * n);
    if (guard_coin()) p.lengths = guard_ints(batch, 0, time + 2);
    tfn_columns_forward(&p, 0, n / 2);
    tfn_columns_forward(&p, n / 2, n - n / 2);
    tfn_columns_backward(&p, 0, n / 2);
    tfn_columns_backward(&p, n / 2, n - n / 2);
}

/* -- the table of cases and of the kernels of each --------------------------------------------- */

#define GUARD_OF(name) offsetof(tfn_kernels, name)
enum { GUARD_KERNELS = 8 };        /* most kernels of a case */

typedef struct guard_case {
    const char *name;
    void (*run)(int n);
    size_t kernels[GUARD_KERNELS];    /* their places in the table; 0: no more */
} guard_case;
static const guard_case guard_cases[] = {
    { "matmul", guard_matmul, { GUARD_OF(matmul), GUARD_OF(matmul_work) } },
    { "norms", guard_norms, { GUARD_OF(norm_forward), GUARD_OF(norm_backward),
                              GUARD_OF(norm_params_backward) } },
    { "softmax", guard_softmax, { GUARD_OF(softmax_forward), GUARD_OF(softmax_backward) } },
    { "attention", guard_attention, { GUARD_OF(attention_forward), GUARD_OF(attention_backward),
                                      GUARD_OF(attention_work) } },
    { "cached attention", guard_cached, { GUARD_OF(attention_cached) } },
    { "activations", guard_activations, { GUARD_OF(activation_forward),
                                          GUARD_OF(activation_backward), GUARD_OF(gated_forward),
                                          GUARD_OF(gated_backward) } },
    { "embeddings", guard_embed, { GUARD_OF(embed_forward), GUARD_OF(embed_backward) } },
    { "positions", guard_position, { GUARD_OF(position_forward), GUARD_OF(position_backward) } },
    { "rotary", guard_rotary, { GUARD_OF(rotary) } },
    { "elementwise", guard_elementwise, { GUARD_OF(dropout), GUARD_OF(combine),
                                          GUARD_OF(scale_columns),
                                          GUARD_OF(scale_columns_backward), GUARD_OF(column_sum),
                                          GUARD_OF(dot), GUARD_OF(absmax),
                                          GUARD_OF(round_to_half) } },
    { "loss", guard_loss, { GUARD_OF(cross_entropy_forward), GUARD_OF(cross_entropy_backward) } },
    { "update", guard_update, { GUARD_OF(update), GUARD_OF(update_tensor),
                                GUARD_OF(update_work) } },
    { "functions", guard_functions, { GUARD_OF(exp), GUARD_OF(tanh), GUARD_OF(erf),
                                      GUARD_OF(random_values) } },
    { "packed moments", guard_packed, { GUARD_OF(update_packed) } },
    { "points", guard_points, { 0 } },
    { "SeeDNorm", guard_seeds, { 0 } },
    { "columns", guard_columns, { 0 } }
};
enum { GUARD_CASES = sizeof guard_cases / sizeof *guard_cases };

/* FNV-1a over all arrays after the case, where all NaN are equal. The edges must be unchanged. */
static uint64_t guard_hash(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < guard.used; i++) {
        const guard_slot *s = &guard.slots[i];
        for (size_t j = 0; j < s->size; j += 4) {
            uint32_t u = 0;
            memcpy(&u, s->data + j, s->size - j < sizeof u ? s->size - j : sizeof u);
            if ((u & 0x7fffffffu) > 0x7f800000u) u = 0x7fc00000u;
            hash = (hash ^ u) * UINT64_C(1099511628211);
        }
        for (int j = 0; j < GUARD_EDGE; j++)
            if (s->edge[j] != 0xa5) {
                FAIL("%s: wrote outside array %d", guard.where, i);
                break;
            }
    }
    return hash;
}

/* Case c at size n, with its own seed: on every set, at both ends of the buffers. */
static void guard_all_sets(const guard_case *c, int n)
{
    uint64_t wanted[2] = { 0, 0 };          /* for sets without and with FMA */
    bool known[2] = { false, false };
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++)
        for (int end = 0; end < 2; end++) {
            uint64_t hash;
            guard.k = tfn_kernels_for((tfn_isa)isa);
            if (!guard.k) continue;
            snprintf(guard.where, sizeof guard.where, "%s %s, n %d, kind %d, %s", c->name,
                     guard.k->name, n, guard.kind, end ? "end" : "begin");
            guard.at_end = end;
            guard.draws = (uint64_t)n << 32 | (uint64_t)guard.kind << 30;
            guard.used = 0;
            c->run(n);
            hash = guard_hash();
            if (known[guard.k->fma] && hash != wanted[guard.k->fma])
                FAIL("%s: other bits", guard.where);
            known[guard.k->fma] = true;
            wanted[guard.k->fma] = hash;
        }
}

static const guard_case *guard_current;

TEST(guard_sizes)
{
    static const int steps[] = { 31, 7, 1, 1 };
    const int step = steps[check_tier()];
    for (int n = 0; n <= GUARD_MOST; n++)
        for (guard.kind = 0; guard.kind < GUARD_KINDS; guard.kind++)
            if (n <= 20 || (n + guard.kind) % step == 0) guard_all_sets(guard_current, n);
}

TEST(guard_covers)              /* every kernel of the table */
{
    for (size_t at = GUARD_OF(matmul); at < sizeof(tfn_kernels); at += sizeof(void (*)(void))) {
        bool found = false;
        for (int c = 0; c < GUARD_CASES; c++)
            for (int i = 0; i < GUARD_KERNELS; i++) found |= guard_cases[c].kernels[i] == at;
        if (!found) FAIL("no case runs the kernel at byte %d of the table", (int)at);
    }
}

int main(void)
{
    RUN(guard_covers);
    if (!guard_open()) {
        printf("FAILED guard: no memory\n");
        check_failed++;
        return DONE();
    }
    signal(SIGSEGV, guard_touched);
    for (int c = 0; c < GUARD_CASES; c++) {
        char name[64];
        guard_current = &guard_cases[c];
        snprintf(name, sizeof name, "guard %s", guard_current->name);
        check_run(name, guard_sizes);
    }
    signal(SIGSEGV, SIG_DFL);
    if (check_tier() < 2) printf("left out: most of the sizes above 20 (tier full)\n");
    return DONE();
}
