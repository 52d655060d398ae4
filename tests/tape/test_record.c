/* Tapes of a few nodes. Errors of private functions that record; runs that lack a region, an input
 * or targets; edge cases of values and gradients: an input without a gradient, the tails of
 * exponentials, packed rows, infinite keys, half precision, no columns. */
#include "../lib.h"
#include "../check.h"
#ifdef TEST_LINKED
#include "../../tools/source/tape/record.h"
#include "../../tools/source/tape/record_ops.h"
#include "../../tools/source/tape/tape.h"
#endif

enum { RECORD_B = 2, RECORD_T = 4, RECORD_ROWS = RECORD_B * RECORD_T, RECORD_C = 4,
       RECORD_FLOATS = 4096 };

/* The tape of the case, and a run with room for it. */
static struct {
    tfn_tape t;
    tfn_run r;
    double block[RECORD_FLOATS];
    float params[RECORD_FLOATS], grads[RECORD_FLOATS], work[RECORD_FLOATS], state[RECORD_FLOATS];
    float tables[64], buffers[64], inputs[3][RECORD_ROWS * RECORD_C];
    int32_t order[RECORD_ROWS], targets[RECORD_ROWS];
    tfn_custom_op custom;
    int probed[2];
} record;

static const tfn_var record_none = { 0 };

static void record_nothing(const tfn_custom_args *a) { (void)a; }

static void record_begin(bool training)
{
    memset(&record, 0, sizeof record);
    tfn_tape_init(&record.t, record.block, sizeof record.block, RECORD_B, RECORD_T, RECORD_T,
                  training);
    record.custom.name = "nothing";
    record.custom.forward = record_nothing;
    record.t.custom = &record.custom;
    record.t.customs = 1;
    for (int i = 0; i < RECORD_FLOATS; i++) {
        record.params[i] = (float)(i % 7 - 3) / 4;
        record.grads[i] = 9;
    }
    for (int i = 0; i < RECORD_ROWS; i++) record.order[i] = i;
    for (int i = 0; i < 3 * RECORD_ROWS * RECORD_C; i++)
        record.inputs[i / (RECORD_ROWS * RECORD_C)][i % (RECORD_ROWS * RECORD_C)]
            = (float)(i % 5 - 2) / 2;
    record.r.batch = RECORD_B;
    record.r.source = record.r.target = RECORD_T;
    record.r.params = record.params;
    record.r.grads = record.grads;
    record.r.work = record.work;
    record.r.state = record.state;
    record.r.tables = record.tables;
    record.r.buffers = record.buffers;
    record.r.ints[7] = record.order;
    record.r.ints[TFN_INT_TARGETS] = record.targets;
    for (int i = 0; i < 3; i++) record.r.inputs[i] = record.inputs[i];
}
/* A value with a gradient: the rows of a parameter in order. */
static tfn_var record_x(int32_t cols)
{
    return tfn_embedding(&record.t, tfn_param(&record.t, RECORD_ROWS, cols), 7, TFN_ROWS_TARGET,
                         1);
}
static tfn_var record_input(int32_t slot)
{
    return tfn_input(&record.t, slot, TFN_ROWS_TARGET, RECORD_C);
}
static tfn_var record_var(int32_t id) { tfn_var v; v.id = id; return v; }

static void record_run(void)
{
    tfn_tape *t = &record.t;
    CHECK_INT(tfn_tape_plan(t, tfn_kernels_for(TFN_ISA_BEST), 1), TFN_OK);
    CHECK(t->work <= RECORD_FLOATS && t->params <= RECORD_FLOATS && t->state <= RECORD_FLOATS);
    if (check_errors) return;
    CHECK_INT(tfn_tape_forward(t, &record.r), TFN_OK);
    if (t->training) CHECK_INT(tfn_tape_backward(t, &record.r), TFN_OK);
}
static const float *record_value(tfn_var x)
{
    const float *y = tfn_value(&record.t, &record.r, x);
    if (y) return y;
    FAIL("value %d has no place", (int)x.id);
    return record.params;
}
static const float *record_grad(tfn_var x)
{
    const float *y = tfn_gradient(&record.t, &record.r, x);
    if (y) return y;
    FAIL("value %d has no gradient", (int)x.id);
    return record.params;
}

/* -- refusals ------------------------------------------------------------------------------ */

typedef void record_maker(tfn_tape *t, tfn_var x, tfn_var w);  /* x (B*T, 4), w (4, 4) */
#define RECORD_MAKER(name, call)                                                               \
    static void record_##name(tfn_tape *t, tfn_var x, tfn_var w) { (void)x; (void)w; (void)(call); }

static tfn_var record_buffer(int32_t cols) { return tfn__buffer_at(&record.t, 1, cols, 0); }
static tfn_var record_packed(int32_t rows, int32_t cols)
{
    tfn__packed p;
    memset(&p, 0, sizeof p);
    p.type = TFN_WEIGHTS_Q8;
    p.table = true;
    p.rows = rows;
    p.cols = cols;
    return tfn__param_at(&record.t, &p, record.t.params, -1, false);
}
RECORD_MAKER(below, tfn__record(t, TFN__OP_SOFTMAX, TFN_ROWS_TARGET, 1, 4, x, record_var(-1),
                                record_none))
RECORD_MAKER(beyond, tfn__record(t, TFN__OP_SOFTMAX, TFN_ROWS_TARGET, 1, 4, x, record_none,
                                 record_var(40)))
RECORD_MAKER(sigma_gamma, tfn__reparameterized(t, w, w, record_buffer(4), record_buffer(4)))
RECORD_MAKER(sigma_u, tfn__reparameterized(t, w, tfn_param(t, 1, 1), record_buffer(3),
                                           record_buffer(4)))
RECORD_MAKER(sigma_v, tfn__reparameterized(t, w, tfn_param(t, 1, 1), record_buffer(4),
                                           record_buffer(5)))
RECORD_MAKER(direction, tfn_linear(t, x, record_packed(4, 32), record_none,
                                   TFN_ACTIVATION_IDENTITY))
RECORD_MAKER(batch_rows, tfn__batch_norm(t, w, record_none, record_none, record_none,
                                         TFN_NORM_BATCH, 0, 1))

TEST(record_refusals)
{
    static const struct { const char *name; record_maker *make; const char *words; } rows[] = {
        { "below", record_below, "softmax: an input is value -1, the tape has 4" },
        { "beyond", record_beyond, "softmax: an input is value 40, the tape has 4" },
        { "sigma_gamma", record_sigma_gamma, "sigma: a parameter has 4 columns, 1 are expected" },
        { "sigma_u", record_sigma_u, "sigma: a parameter has 3 columns, 4 are expected" },
        { "sigma_v", record_sigma_v, "sigma: a parameter has 5 columns, 4 are expected" },
        { "direction", record_direction, "linear: weights of fewer bits: packed for the other" },
        { "batch_rows", record_batch_rows, "batch norm: rows of kind 0 are not positions" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        tfn_var w, x;
        record_begin(true);
        w = tfn_param(&record.t, 4, 4);
        x = tfn_embedding(&record.t, w, 0, TFN_ROWS_TARGET, 1);
        tfn_softmax(&record.t, x);
        CASE("%s", rows[i].name);
        CHECK_INT(record.t.count, 4);
        rows[i].make(&record.t, x, w);
        CHECK_INT(record.t.error.status, TFN_BAD_SHAPE);
        tfn_error_text(&record.t.error, text, sizeof text);
        if (!strstr(text, rows[i].words)) FAIL("\"%s\" lacks \"%s\"", text, rows[i].words);
    }
}

/* Each enumeration ends where its count is. Gated functions of two values are no activations. */
TEST(record_kinds)
{
    static const char *const words[] = {
        "linear: activation %d is not elementwise", "activation: activation %d is not elementwise",
        "gated unit: activation %d is not elementwise", "number loss: kind %d, there are %d"
    };
    static const int counts[] = { TFN_ACTIVATION_COUNT, TFN_ACTIVATION_COUNT, TFN_ACTIVATION_COUNT,
                                  TFN_NUMBER_LOSS_COUNT };
    for (int op = 0; op < 4; op++)
        for (int kind = -1; kind < counts[op] + 2; kind++) {
            const tfn_activation_kind act = (tfn_activation_kind)kind;
            const bool gated = op < 3 && (act == TFN_ACTIVATION_GEGLU
                || act == TFN_ACTIVATION_GEGLU_TANH || act == TFN_ACTIVATION_SWIGLU);
            const bool good = kind >= 0 && kind < counts[op] && !gated;
            char text[200], wanted[200];
            tfn_var x, y, w;
            record_begin(true);
            x = record_input(0);
            y = record_input(1);
            w = tfn_param(&record.t, RECORD_C, RECORD_C);
            CASE("operation %d, kind %d", op, kind);
            if (op == 0) x = tfn_linear(&record.t, x, w, record_none, act);
            else if (op == 1) x = tfn_activation(&record.t, x, act);
            else if (op == 2) x = tfn_glu(&record.t, x, y, act);
            else x = tfn_number_loss(&record.t, x, 2, (tfn_number_loss_kind)kind, 1);
            CHECK_INT(record.t.error.status, good ? TFN_OK : TFN_BAD_OPTION);
            CHECK(!x.id == !good);
            snprintf(wanted, sizeof wanted, words[op], kind, counts[op]);
            tfn_error_text(&record.t.error, text, sizeof text);
            if (!good && !strstr(text, wanted)) FAIL("\"%s\" lacks \"%s\"", text, wanted);
        }
}

/* Only linear maps and embeddings read weights of fewer bits. The first error stays, with its node. */
TEST(record_first_error)
{
    tfn_var x;
    char text[200];
    record_begin(false);
    x = tfn_softmax(&record.t, record_packed(4, 32));
    CHECK(!x.id && record.t.count == 2);
    CHECK_INT(record.t.error.status, TFN_BAD_OPTION);
    CHECK_INT(record.t.error.node, 2);
    tfn_error_text(&record.t.error, text, sizeof text);
    CHECK(strstr(text, "softmax: only linear maps and embeddings read weights of fewer bits"));
    record.t.count = 1;
    tfn__keep_tape_error(&record.t, TFN_BAD_SHAPE, "scale", "another", 0, 0);
    CHECK_INT(record.t.error.status, TFN_BAD_OPTION);
    CHECK_INT(record.t.error.node, 2);
}

/* A leaf on a full tape adds no node and reports that there is no memory. */
TEST(record_full)
{
    for (int which = 0; which < 2; which++) {
        const tfn__packed p = { TFN_WEIGHTS_FLOAT, false, 4, 4 };
        tfn_tape before;
        tfn_var x;
        int64_t grad;
        record_begin(true);
        do {
            before = record.t;
            x = tfn_param(&record.t, 4, 4);
        } while (x.id);
        record.t = before;
        grad = record.t.nodes[0].grad;
        x = which ? record_buffer(4) : tfn__param_at(&record.t, &p, record.t.params, -1, false);
        CASE("%d", which);
        CHECK(!x.id && record.t.count == before.count && record.t.count > 1);
        CHECK_INT(record.t.error.status, TFN_NO_MEMORY);
        CHECK(record.t.nodes[0].grad == grad);
    }
}

/* tfn__next_layer returns 0 after the last output of a layer. */
TEST(record_next_layer)
{
    tfn_var x, y;
    record_begin(false);
    x = record_x(RECORD_C);
    y = tfn_softmax(&record.t, x);
    tfn__node_at(&record.t, y.id)->flags |= TFN__LAYER;
    CHECK_INT(tfn__next_layer(&record.t, x).id, y.id);
    CHECK_INT(tfn__next_layer(&record.t, y).id, 0);
}

/* A planned tape refuses further nodes, and training an operation without a backward. A tape has at
 * most a million nodes, and memory for at least one. */
TEST(record_late)
{
    tfn_var q, cache;
    char text[200];
    void *nodes;
    CHECK(tfn_tape_bytes(0) == tfn_tape_bytes(1) && tfn_tape_bytes(-1) == tfn_tape_bytes(1));
    CHECK(tfn_tape_bytes(2) > tfn_tape_bytes(1));
    for (int i = 0; i < 2; i++) {
        record_begin(true);
        q = record_x(1);
        record_run();
        if (i) q = tfn_mask_targets(&record.t, q, TFN_INT_TARGETS);
        else q = tfn_number_loss(&record.t, q, 2, TFN_NUMBER_LOSS_SQUARED, 0);
        CHECK(!q.id);
        CHECK_INT(record.t.error.status, TFN_NOT_READY);
        CHECK_INT(tfn_tape_forward(&record.t, &record.r), TFN_NOT_READY);
    }

    record_begin(true);
    q = record_x(RECORD_C);
    cache = tfn__cache_rows(&record.t, record_input(0), record_input(1), RECORD_C, 1, RECORD_T);
    tfn__attend_cached(&record.t, q, cache, 1, -1);
    CHECK_INT(tfn_tape_plan(&record.t, tfn_kernels_for(TFN_ISA_BEST), 1), TFN_NO_GRADIENT);
    tfn_error_text(&record.t.error, text, sizeof text);
    CHECK(strstr(text, "cached attention: "));

    nodes = calloc(TFN__MOST_NODES + 2, sizeof(tfn_node));
    if (!nodes) SKIP("no memory for a million nodes");
    record_begin(false);
    record.t.nodes = (tfn_node *)nodes;
    record.t.count = TFN__MOST_NODES + 2;
    CHECK_INT(tfn_tape_plan(&record.t, tfn_kernels_for(TFN_ISA_BEST), 1), TFN_TOO_LARGE);
    free(nodes);
}

/* The default activation is the same node as GELU with tanh. */
TEST(record_default_activation)
{
    tfn_var a, b;
    record_begin(false);
    a = tfn_activation(&record.t, record_input(0), TFN_ACTIVATION_DEFAULT);
    b = tfn_activation(&record.t, record_input(0), TFN_ACTIVATION_GELU_TANH);
    CHECK(!memcmp(record.t.nodes[a.id].arg, record.t.nodes[b.id].arg,
                  sizeof record.t.nodes[b.id].arg));
    CHECK_INT(record.t.nodes[b.id].arg[0], TFN_ACTIVATION_GELU_TANH);
}

/* -- runs that cannot start ---------------------------------------------------------------- */

/* A tape that uses every region, one input, targets and numbers. */
static tfn_var record_all_regions(void)
{
    tfn_tape *t = &record.t;
    tfn_var x = record_x(RECORD_C), y = record_input(1), z;
    z = tfn_position(t, y, tfn__table(t, RECORD_T, RECORD_C));
    tfn__cache_rows(t, y, z, RECORD_C, 1, RECORD_T);
    x = tfn__ramp(t, tfn_add(t, x, z, 1, 1), record_buffer(1), 4);
    y = tfn_number_loss(t, x, 2, TFN_NUMBER_LOSS_SQUARED, 0);
    tfn_add(t, y, tfn_cross_entropy(t, x, TFN_INT_TARGETS, 0, 0), 1, 1);
    return x;
}

typedef struct record_unbound {
    const char *name;
    size_t      at;                     /* a pointer of the run that is NULL */
    tfn_status  forward;
} record_unbound;
#define RECORD_UNBOUND(at, forward) { #at, offsetof(tfn_run, at), forward },
static const record_unbound record_unbounds[] = {
    RECORD_UNBOUND(params, TFN_NOT_READY) RECORD_UNBOUND(tables, TFN_NOT_READY)
    RECORD_UNBOUND(buffers, TFN_NOT_READY) RECORD_UNBOUND(state, TFN_NOT_READY)
    RECORD_UNBOUND(work, TFN_NOT_READY) RECORD_UNBOUND(inputs[1], TFN_NOT_READY)
    RECORD_UNBOUND(inputs[2], TFN_OK) RECORD_UNBOUND(ints[TFN_INT_TARGETS], TFN_OK)
    RECORD_UNBOUND(grads, TFN_OK)
};

TEST(record_unbound_runs)
{
    const tfn_var unknown = record_var(100), negative = record_var(-1);
    tfn_var x;
    record_begin(true);
    x = record_all_regions();
    tfn_keep(&record.t, x);
    CHECK(!tfn_gradient(&record.t, &record.r, x));      /* not planned */
    CHECK_INT(tfn_tape_backward(&record.t, &record.r), TFN_NOT_READY);
    record_run();
    if (check_errors) return;
    CHECK(tfn_value(&record.t, &record.r, x) && tfn_gradient(&record.t, &record.r, x));
    CHECK(!tfn_gradient(&record.t, &record.r, unknown));
    CHECK(!tfn_gradient(&record.t, &record.r, negative));
    CHECK(!tfn_value(&record.t, &record.r, negative));
    for (size_t i = 0; i < sizeof record_unbounds / sizeof *record_unbounds; i++) {
        const record_unbound *row = record_unbounds + i;
        const bool region = !strchr(row->name, '[');
        tfn_run r = record.r;
        CASE("%s", row->name);
        memset((char *)&r + row->at, 0, sizeof(void *));
        CHECK_INT(tfn_tape_forward(&record.t, &r), row->forward);
        CHECK_INT(tfn_tape_backward(&record.t, &r), TFN_NOT_READY);
        CHECK(!tfn_gradient(&record.t, &r, x) == region);
        CHECK(!tfn_value(&record.t, &r, x) == (region && row->at != offsetof(tfn_run, grads)));
    }
}

/* Sizes beyond the capacities or below 0, and more rows than tape.tokens. */
TEST(record_sizes)
{
    static const struct { const char *name; int32_t batch, source, target, tokens; bool fits; }
    rows[] = {
        { "all", 2, 4, 4, 0, true }, { "batch below 0", -1, 4, 4, 0, false },
        { "batch", 3, 4, 4, 0, false }, { "source below 0", 2, -1, 4, 0, false },
        { "source", 2, 5, 4, 0, false }, { "target below 0", 2, 4, -1, 0, false },
        { "target", 2, 4, 5, 0, false }, { "as many tokens", 2, 4, 4, 8, true },
        { "tokens of targets", 2, 1, 4, 7, false }, { "tokens of sources", 2, 4, 1, 7, false },
    };
    record_begin(false);
    tfn_softmax(&record.t, record_x(RECORD_C));
    record_run();
    CHECK_INT(tfn_tape_backward(&record.t, &record.r), TFN_NOT_READY);  /* it does not train */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_run r = record.r;
        CASE("%s", rows[i].name);
        r.batch = rows[i].batch;
        r.source = rows[i].source;
        r.target = rows[i].target;
        record.t.tokens = rows[i].tokens;
        CHECK_INT(tfn_tape_forward(&record.t, &r), rows[i].fits ? TFN_OK : TFN_BAD_BATCH);
    }
}

/* -- values and gradients ------------------------------------------------------------------ */

/* The last position of each sentence: only its rows have a gradient. */
TEST(record_last_row)
{
    tfn_var x, y;
    record_begin(true);
    x = record_x(RECORD_C);
    tfn_keep(&record.t, x);
    y = tfn__last(&record.t, x);
    tfn_keep(&record.t, y);
    record_run();
    if (check_errors) return;
    for (int i = 0; i < RECORD_ROWS * RECORD_C; i++) {
        const int t = i / RECORD_C % RECORD_T, b = i / RECORD_C / RECORD_T;
        CHECK(record_grad(x)[i] == (t == RECORD_T - 1));
        if (t == RECORD_T - 1)
            CHECK(record_value(y)[b * RECORD_C + i % RECORD_C] == record_value(x)[i]);
    }
}

/* If a masked loss's input has another reader, the backward adds to that reader's gradient. */
TEST(record_masked_twice)
{
    tfn_var x;
    record_begin(true);
    record.targets[1] = record.targets[6] = -1;
    x = record_x(1);
    tfn_keep(&record.t, x);
    tfn_add(&record.t, tfn_mask_targets(&record.t, x, TFN_INT_TARGETS), x, 1, 2);
    record_run();
    for (int i = 0; i < RECORD_ROWS; i++)
        CHECK(record_grad(x)[i] == (i == 1 || i == 6 ? 2 : 3));
}

static void record_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                         bool backward)
{
    (void)user;
    CHECK(data && rows == RECORD_ROWS && cols == RECORD_C);
    record.probed[backward] += id;
}
/* Probes of values with and without a gradient, in runs with and without a callback. */
TEST(record_probed)
{
    tfn_var x, y;
    record_begin(true);
    x = record_x(RECORD_C);
    y = record_input(0);
    tfn_probe(&record.t, x, 1);
    tfn_probe(&record.t, y, 10);
    tfn_add(&record.t, x, y, 1, 1);
    record_run();
    CHECK(record.probed[0] == 0 && record.probed[1] == 0);
    record.r.probe = record_probe;
    CHECK_INT(tfn_tape_forward(&record.t, &record.r), TFN_OK);
    CHECK_INT(record.probed[0], 11);
    CHECK_INT(tfn_tape_backward(&record.t, &record.r), TFN_OK);
    CHECK_INT(record.probed[1], 1);
}

/* A learned table of angles has no gradient, even if the rotated value has one. */
TEST(record_learned_angles)
{
    tfn_var x, table;
    record_begin(true);
    x = record_x(RECORD_C);
    tfn_keep(&record.t, x);
    table = tfn_param(&record.t, RECORD_T, RECORD_C);
    tfn_rotary(&record.t, x, table, RECORD_C);
    record_run();
    CHECK(!tfn_gradient(&record.t, &record.r, table) && record_grad(x)[0] != 0);
    for (int i = 0; i < RECORD_T * RECORD_C; i++)
        CHECK(record.grads[record.t.nodes[table.id].grad + i] == 0);
}

/* A kept value of a recomputed segment is not computed again. */
TEST(record_kept_again)
{
    tfn_var x, y, gone, z;
    record_begin(true);
    x = record_x(RECORD_C);
    tfn_recompute(&record.t, 1);
    y = tfn_softmax(&record.t, x);
    gone = tfn_softmax(&record.t, y);
    z = tfn_softmax(&record.t, gone);
    tfn_recompute(&record.t, 0);
    tfn_keep(&record.t, y);
    tfn_softmax(&record.t, z);
    record_run();
    CHECK(!(record.t.nodes[y.id].flags & TFN__AGAIN) && record.t.nodes[gone.id].flags & TFN__AGAIN);
    for (int i = 0; i < RECORD_ROWS; i++) {
        const float *row = record_value(y) + i * RECORD_C;
        CHECK_CLOSE((double)(row[0] + row[1] + row[2] + row[3]), 1, 1e-6);
    }
}

/* The gradients of parameters are the same whether the normalized input has a gradient or not. */
static tfn_var record_seed(tfn_var x, tfn_var *params)
{
    for (int i = 0; i < 3; i++) params[i] = tfn_param(&record.t, 1, RECORD_C);
    return tfn_seednorm(&record.t, x, params[0], params[1], params[2], 1);
}
static tfn_var record_mixed(tfn_var x, tfn_var *params)
{
    for (int i = 0; i < 3; i++) params[i] = tfn_param(&record.t, 2, 2);
    x = tfn_mix(&record.t, tfn_mix(&record.t, record_none, x, params[0], 1), x, params[1], 0);
    return tfn_mix(&record.t, x, x, params[2], 0);
}
TEST(record_frozen_input)
{
    static tfn_var (*const makers[2])(tfn_var, tfn_var *) = { record_seed, record_mixed };
    for (int m = 0; m < 2; m++) {
        float grads[2][3][RECORD_C];
        for (int frozen = 0; frozen < 2; frozen++) {
            tfn_var params[3], x;
            record_begin(true);
            CASE("maker %d, frozen %d", m, frozen);
            x = record_x(RECORD_C);
            memcpy(record.inputs[0], record.params, sizeof record.inputs[0]);
            if (frozen) x = record_input(0);
            makers[m](x, params);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < RECORD_C; j++)
                    record.params[record.t.nodes[params[i].id].value[0] + j] = (float)(i + j) / 8;
            record_run();
            if (check_errors) return;
            for (int i = 0; i < 3; i++)
                memcpy(grads[frozen][i], record_grad(params[i]), sizeof grads[0][0]);
            CHECK(!frozen == (tfn_gradient(&record.t, &record.r, x) != NULL));
            CHECK(grads[frozen][0][0] != 0 || grads[frozen][0][1] != 0);
        }
        CHECK_BITS(grads[0], grads[1], sizeof grads[0]);
    }
}

/* Far below 0 the capped exponential and the gate's SiLU are exactly 0, with gradient 0. */
TEST(record_tails)
{
    tfn_var x, q, y;
    record_begin(true);
    x = record_x(RECORD_C);
    for (int i = 0; i < RECORD_ROWS * RECORD_C; i++) record.params[i] = i % 2 ? (float)-50 : 50;
    y = tfn__exp_capped_of(&record.t, x);
    tfn_keep(&record.t, y);
    tfn_softmax(&record.t, y);
    record_run();
    for (int i = 0; i < RECORD_ROWS * RECORD_C; i++)
        CHECK_CLOSE((double)record_value(y)[i], i % 2 ? 0.0 : 100.0, 1e-6);
    CHECK(record_value(y)[1] == 0);

    for (int far = 0; far < 2; far++) {
        bool same;
        record_begin(true);
        x = record_x(RECORD_C);
        q = tfn_param(&record.t, 1, 1);
        record.params[record.t.nodes[q.id].value[0]] = far ? (float)-60 : -4;
        y = tfn_gate(&record.t, x, q);
        tfn_keep(&record.t, y);
        record_run();
        CASE("far %d", far);
        same = !memcmp(record_value(y), record.params, RECORD_ROWS * RECORD_C * sizeof(float));
        CHECK(same == (far > 0));
        CHECK((record_grad(q)[0] == 0) == far);
    }
}

/* Rows of packed words: a token outside the table reads zeros, no tokens read row 0. */
TEST(record_packed_words)
{
    enum { COLS = 32 };
    static const int32_t tokens[RECORD_ROWS] = { 0, 1, -1, 3, 4, 2, 0, INT32_MAX };
    tfn_var y;
    record_begin(false);
    y = tfn_embedding(&record.t, record_packed(4, COLS), 0, TFN_ROWS_TARGET, 1);
    memset(record.params, 0x3c, sizeof record.params);
    for (int bound = 0; bound < 2; bound++) {
        if (bound) record.r.ints[0] = tokens;
        CASE("bound %d", bound);
        if (!bound) record_run();
        else CHECK_INT(tfn_tape_forward(&record.t, &record.r), TFN_OK);
        for (int i = 0; i < RECORD_ROWS * COLS; i++) {
            const bool outside = bound && (tokens[i / COLS] < 0 || tokens[i / COLS] >= 4);
            CHECK((record_value(y)[i] == 0) == outside);
        }
    }
}

/* A 16-bit cache keeps infinity and NaN, and saturates finite numbers beyond its range. */
TEST(record_infinite_keys)
{
    const uint16_t *halves;
    int infinite = 0, most = 0, least = 0, nan = 0;
    tfn_var cache;
    record_begin(false);
    record.t.cache_type = TFN_CACHE_TYPE_F16;
    cache = tfn__cache_rows(&record.t, record_input(0), record_input(1), RECORD_C, 1, RECORD_T);
    tfn__attend_cached(&record.t, record_input(2), cache, 1, -1);
    record.inputs[0][1] = (float)INFINITY;
    record.inputs[0][2] = (float)1e6;
    record.inputs[1][3] = (float)-1e6;
    record.inputs[1][5] = (float)NAN;
    record_run();
    halves = (const uint16_t *)(const void *)record.state;
    for (int i = 0; i < 2 * record.t.state; i++) {
        infinite += halves[i] == 0x7c00;
        most += halves[i] == 0x7bff;
        least += halves[i] == 0xfbff;
        nan += (halves[i] & 0x7fff) > 0x7c00;
    }
    CHECK(infinite == 1 && most == 1 && least == 1 && nan == 1);
}

/* A norm on a tape has all options of its kernel. */
TEST(record_norm_options)
{
    static const tfn_norm_args rows[] = {
        { .kind = TFN_NORM_LAYER, .eps = 0.5f }, { .kind = TFN_NORM_LAYER, .eps = 0.5f, .groups = 2 },
        { .kind = TFN_NORM_LAYER, .eps = 2, .offset = true }, { .kind = TFN_NORM_RMS, .eps = 0.25f },
        { .kind = TFN_NORM_RMS, .eps = 0.25f, .part = 3 }, { .kind = TFN_NORM_RMS_OUTSIDE, .eps = 0.5f },
        { .kind = TFN_NORM_RMS, .eps = 0.25f, .groups = 2, .part = 1, .offset = true },
        { .kind = TFN_NORM_L2, .eps = 2 }, { .kind = TFN_NORM_CRMS, .eps = 0.5f },
        { .kind = TFN_NORM_CENTER },
        { .kind = TFN_NORM_ADA, .eps = 0.5f, .slope = 0.25f, .factor = 1 },
        { .kind = TFN_NORM_ADA, .eps = 0.125f, .slope = 0.75f, .factor = 2 }
    };
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float y[RECORD_ROWS * RECORD_C];
        tfn_norm_args a = rows[i];
        tfn_var x, gain;
        CASE("row %d", (int)i);
        record_begin(false);
        x = record_input(0);
        gain = a.kind == TFN_NORM_ADA ? record_none : tfn_param(&record.t, 1, RECORD_C);
        x = tfn_norm(&record.t, x, gain, record_none, RECORD_C, rows + i);
        record_run();
        a.rows = RECORD_ROWS;
        a.cols = RECORD_C;
        a.x = record.inputs[0];
        if (gain.id) a.gain = record.params;
        a.y = y;
        k->norm_forward(&a);
        CHECK_BITS(record_value(x), y, sizeof y);
    }
}

/* Half precision rounds the gradient before a linear map's activation. With one row, the bias has
 * this gradient, and dW is x times it. */
TEST(record_half)
{
    enum { COLS = 64 };
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    tfn_var x, w, b;
    float rounded, twice;
    int moved = 0;
    record_begin(true);
    record.r.batch = record.r.target = 1;
    record.t.half = true;
    x = tfn_input(&record.t, 0, TFN_ROWS_TARGET, 1);
    record.inputs[0][0] = 3;
    w = tfn_param(&record.t, 1, COLS);
    b = tfn_param(&record.t, 1, COLS);
    tfn_linear(&record.t, x, w, b, TFN_ACTIVATION_SILU);
    for (int i = 0; i < COLS; i++) record.params[i] = (float)i / 100;
    record_run();
    for (int i = 0; i < COLS; i++) {
        rounded = record_grad(b)[i];
        twice = 3 * rounded;
        k->round_to_half(&twice, 1);
        CHECK(record_grad(w)[i] == twice);
        moved += twice < 3 * rounded || twice > 3 * rounded;
    }
    CHECK(moved > COLS / 4);
}

/* Half precision does not round a loss. */
TEST(record_half_loss)
{
    const float x = (float)1.2345678;
    float rounded = x * x;
    tfn_var y;
    record_begin(false);
    record.t.half = true;
    record.inputs[0][0] = x;
    memset(record.inputs[2], 0, sizeof record.inputs[2]);
    y = tfn_input(&record.t, 0, TFN_ROWS_TARGET, 1);
    y = tfn_number_loss(&record.t, y, 2, TFN_NUMBER_LOSS_SQUARED, 0);
    record_run();
    CHECK_CLOSE((double)record_value(y)[0], (double)x * (double)x, 1e-6);
    tfn_kernels_for(TFN_ISA_BEST)->round_to_half(&rounded, 1);
    CHECK(fabs((double)(rounded - record_value(y)[0])) > 1e-5);
}

/* A value without columns has no place, and a user's operation may have no inputs. */
/* Dropout of a row for a whole sentence uses the random numbers of position 0. */
TEST(record_dropout_of_sentences)
{
    float wanted[RECORD_B * RECORD_C];
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    const tfn_node *node;
    tfn_var y;
    record_begin(true);
    y = tfn_dropout(&record.t, tfn_input(&record.t, 0, TFN_ROWS_BATCH, RECORD_C), (float)0.5);
    tfn_keep(&record.t, y);
    record.r.key = tfn_key_make(3);
    node = &record.t.nodes[y.id];
    CHECK_INT(tfn_tape_plan(&record.t, k, 1), TFN_OK);
    CHECK_INT(tfn_tape_forward(&record.t, &record.r), TFN_OK);
    for (int b = 0; b < RECORD_B; b++)
        k->dropout(wanted + b * RECORD_C, record.inputs[0] + b * RECORD_C, RECORD_C,
                   node->number[0], tfn_key_fold(record.r.key, node->site), (uint64_t)b << 40,
                   false);
    CHECK_BITS(record_value(y), wanted, sizeof wanted);
}

/* The work of a tape that does not train has room for products of the forward, but not of
 * gradients. */
TEST(record_work_of_inference)
{
    enum { ROWS = 32, WIDE = 40, ALIGN = 32 };
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    tfn_tape *t = &record.t;
    record_begin(false);
    tfn_tape_init(t, record.block, sizeof record.block, ROWS, 0, 1, false);
    tfn_linear(t, tfn_input(t, 0, TFN_ROWS_TARGET, RECORD_C), tfn_param(t, RECORD_C, WIDE),
               record_none, TFN_ACTIVATION_IDENTITY);
    CHECK_INT(tfn_tape_plan(t, k, 1), TFN_OK);
    CHECK(t->work <= ROWS * WIDE + k->matmul_work(ROWS, WIDE, RECORD_C) + ALIGN);
}

TEST(record_no_columns)
{
    tfn_var x, empty, alone;
    record_begin(false);
    x = record_input(0);
    empty = tfn_custom(&record.t, 0, &x, 1, TFN_ROWS_TARGET, 0, 0);
    alone = tfn_custom(&record.t, 0, NULL, 0, TFN_ROWS_TARGET, 0, 0);
    tfn_softmax(&record.t, x);
    record_run();
    CHECK(empty.id && !tfn_value(&record.t, &record.r, empty));
    CHECK(alone.id && !tfn_value(&record.t, &record.r, alone));
}

int main(void)
{
    RUN(record_refusals);
    RUN(record_kinds);
    RUN(record_first_error);
    RUN(record_full);
    RUN(record_next_layer);
    RUN(record_late);
    RUN(record_default_activation);
    RUN(record_unbound_runs);
    RUN(record_sizes);
    RUN(record_last_row);
    RUN(record_masked_twice);
    RUN(record_probed);
    RUN(record_learned_angles);
    RUN(record_kept_again);
    RUN(record_frozen_input);
    RUN(record_tails);
    RUN(record_packed_words);
    RUN(record_infinite_keys);
    RUN(record_norm_options);
    RUN(record_half);
    RUN(record_half_loss);
    RUN(record_dropout_of_sentences);
    RUN(record_work_of_inference);
    RUN(record_no_columns);
    return DONE();
}
