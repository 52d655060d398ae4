/* The step in parts: tfn_model_step equals gradients plus an update, to the bit, for every recipe.
 * Shards have their own dropout and are independent. Users may change gradients and sums between
 * the parts. Skipped updates leave everything unchanged. */
#include <math.h>
#include "../lib.h"
#include "../check.h"
#include "../batch.h"
#include "../updates.h"
#ifdef TEST_LINKED
#include "../../tools/source/tape/tape.h"
#endif

enum { STEP_B = 2, STEP_T = 5, STEP_V = 11, STEP_MICRO = 3, STEP_UPDATES = 3 };

/* -- models and batches ---------------------------------------------------------------------- */

static tfn_model_desc step_desc(const char *recipe)
{
    tfn_model_desc d = { 0 };
    d.recipe = recipe;
    d.vocab = STEP_V;
    d.context = STEP_T;
    d.width = strcmp(recipe, "prmsnorm") ? 12 : 64;
    d.heads = 2;
    d.ffn = 16;
    d.batch = STEP_B;
    d.threads = 1;
    d.dropout = 0.125f;
    d.clip = 0.5f;
    d.decay = 0.01f;
    d.schedule.lr = 3e-3f;
    d.schedule.warmup = 2;
    return d;
}

/* Batch i: sentences of different lengths, with some ignored targets. */
static const tfn_batch *step_fill(batch_room *b, const tfn_model_desc *d, int i)
{
    batch_fill(b, d, (uint64_t)i);
    for (int k = i % 4; k < STEP_B * STEP_T; k += 4) b->targets[k] = -1;
    b->lengths[0] = STEP_T;
    b->lengths[1] = 1 + i % STEP_T;
    b->batch.lengths = b->lengths;
    return &b->batch;
}

static void step_same_report(const tfn_report *a, const tfn_report *b)
{
    CHECK(a->loss == b->loss && a->nll == b->nll && a->tokens == b->tokens);
    CHECK(a->step == b->step && a->lr == b->lr && a->grad_norm == b->grad_norm);
    CHECK(a->loss_scale == b->loss_scale && a->updated == b->updated && a->skipped == b->skipped);
    CHECK(a->culprit == b->culprit);
}

/* -- the sum of the parts -------------------------------------------------------------------- */

/* One model by steps, one by parts with separate sums or with the model's: the same reports and the
 * same bits, including moments. */
static void step_compare(tfn_model_desc d, bool own_sums)
{
    tfn_model whole;
    tfn_model parts;
    batch_room b;
    tfn_report report;
    tfn_report other;
    tfn_sums sums = { 0, 0, 0 };
    d.micro_batches = STEP_MICRO;
    if (!batch_open(&whole, &d) || !batch_open(&parts, &d)) return;
    for (int i = 0; i < STEP_MICRO * STEP_UPDATES; i++) {
        const tfn_batch *batch = step_fill(&b, &d, i);
        const int shard = i % STEP_MICRO;
        CHECK(tfn_model_step(&whole, batch, &report) == TFN_OK);
        CHECK(tfn_model_gradient(&parts, batch, shard, shard > 0, &sums) == TFN_OK);
        if (shard < STEP_MICRO - 1) continue;
        CHECK(tfn_model_update(&parts, own_sums ? &sums : NULL, tfn_model_rate(&parts), &other)
              == TFN_OK);
        CHECK(sums.targets == other.tokens);
        step_same_report(&report, &other);
    }
    CHECK(tfn_model_hash(&whole) == tfn_model_hash(&parts));
    CHECK_BITS(whole.moments, parts.moments, whole.memory.moments);
    tfn_model_free(&whole);
    tfn_model_free(&parts);
}

/* All recipes, on the three architectures in turn. */
TEST(step_recipes)
{
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        tfn_model_desc d = step_desc(tfn_recipe_at(i)->name);
        d.arch = (tfn_arch)(i % 3);
        CASE("%s, arch %d", d.recipe, (int)d.arch);
        step_compare(d, i % 2 == 0);
    }
}

TEST(step_options)
{
    static const struct { const char *what; tfn_model_desc d; } cases[] = {
        { "half precision", { .half = true, .loss_scale = 8 } },
        { "recomputed", { .recompute = true } },
        { "SGD", { .optimizer = TFN_OPTIMIZER_SGD } },
        { "smoothed", { .smoothing = 0.1f } },
        { "frozen", { .schedule = { .frozen = true } } }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfn_model_desc d = step_desc("post");
        CASE("%s", cases[i].what);
        d.half = cases[i].d.half;
        d.loss_scale = cases[i].d.loss_scale;
        d.recompute = cases[i].d.recompute;
        d.optimizer = cases[i].d.optimizer;
        d.smoothing = cases[i].d.smoothing;
        d.schedule.frozen = cases[i].d.schedule.frozen;
        step_compare(d, true);
        step_compare(d, false);
    }
}

/* -- shards ---------------------------------------------------------------------------------- */

/* The gradient of each shard by itself, in the order first, first + 1 ... modulo SHARDS, to `to`
 * (SHARDS, floats). */
enum { STEP_SHARDS = 3 };
static void step_take_shards(tfn_model *m, float *to, tfn_sums *sums, int first)
{
    batch_room b;
    int64_t floats;
    const float *g = tfn_model_gradients(m, &floats);
    for (int i = 0; i < STEP_SHARDS; i++) {
        const int shard = (first + i) % STEP_SHARDS;
        const tfn_batch *batch = step_fill(&b, &m->desc, shard);
        CHECK(tfn_model_gradient(m, batch, shard, false, sums + shard) == TFN_OK);
        memcpy(to + shard*floats, g, (size_t)floats * sizeof *g);
    }
}

/* A shard's result depends only on its number, not on what was computed before it. Another number
 * gives another dropout; without dropout the number has no effect. */
TEST(step_shards)
{
    tfn_model_desc d = step_desc("pre");
    tfn_model m;
    int64_t floats;
    tfn_sums sums[2][STEP_SHARDS];
    float *g[2];
    for (int dropped = 0; dropped < 2; dropped++) {
        batch_room b;
        tfn_sums moved;
        d.dropout = dropped ? 0.25f : 0;
        CASE("dropout %g", (double)d.dropout);
        if (!batch_open(&m, &d)) return;
        tfn_model_gradients(&m, &floats);
        for (int i = 0; i < 2; i++) {
            g[i] = (float *)malloc((size_t)(STEP_SHARDS * floats) * sizeof **g);
            step_take_shards(&m, g[i], sums[i], i);
        }
        CHECK_BITS(g[0], g[1], (size_t)(STEP_SHARDS * floats) * sizeof **g);
        CHECK_BITS(sums[0], sums[1], sizeof sums[0]);
        tfn_model_gradient(&m, step_fill(&b, &d, 0), 1, false, &moved);
        CHECK((moved.loss != sums[0][0].loss) == dropped);
        free(g[0]);
        free(g[1]);
        tfn_model_free(&m);
    }
}

/* -- a user's changes between the parts ------------------------------------------------------ */

/* Gradients from elsewhere, without a gradient of this model, give the update of the model that
 * they came from. The rate is the argument's. */
TEST(step_elsewhere)
{
    const tfn_model_desc d = step_desc("pre");
    tfn_model from;
    tfn_model to;
    tfn_sums sums;
    batch_room b;
    int64_t floats;
    if (!batch_open(&from, &d) || !batch_open(&to, &d)) return;
    for (int i = 0; i < STEP_UPDATES; i++) {
        const float rate = (float)0.01 / (float)(i + 1);
        tfn_report report;
        tfn_model_gradient(&from, step_fill(&b, &d, i), 0, false, &sums);
        memcpy(tfn_model_gradients(&to, &floats), tfn_model_gradients(&from, NULL),
               from.memory.gradients);
        CHECK((size_t)floats * sizeof(float) == from.memory.gradients);
        CHECK(tfn_model_update(&from, &sums, rate, NULL) == TFN_OK);
        CHECK(tfn_model_update(&to, &sums, rate, &report) == TFN_OK);
        CHECK(report.updated && report.lr == rate && report.step == i + 1);
    }
    CHECK(tfn_model_hash(&from) == tfn_model_hash(&to));
    tfn_model_free(&from);
    tfn_model_free(&to);
}

/* An update by hand, with the public constants and the table's kernel, equals the model's. */
TEST(step_by_hand)
{
    tfn_model_desc d = step_desc("pre");
    tfn_model m;
    tfn_model hand;
    batch_room b;
    float *moments;
    int64_t floats;
    d.clip = 0;
    d.decay = 0;
    if (!batch_open(&m, &d) || !batch_open(&hand, &d)) return;
    tfn_model_gradients(&m, &floats);
    moments = (float *)calloc((size_t)(2 * floats), sizeof *moments);
    for (int i = 0; i < STEP_UPDATES; i++) {
        tfn_update_args u = { 0 };
        tfn_sums sums;
        float *g = tfn_model_gradients(&hand, NULL);
        const tfn_batch *batch = step_fill(&b, &d, i);
        u.optimizer = m.desc.optimizer;
        u.lr = tfn_model_rate(&m);
        u.beta1 = m.desc.beta1;
        u.beta2 = m.desc.beta2;
        u.eps = m.desc.eps;
        CHECK(tfn_model_step(&m, batch, NULL) == TFN_OK);
        hand.step = i;                                  /* for the key of dropout */
        tfn_model_gradient(&hand, batch, 0, false, &sums);
        u.grad_scale = (float)(1.0 / (double)sums.targets);
        tfn_update_at(&u, i + 1);
        hand.kernels->update(hand.params, g, moments, moments + floats, (ptrdiff_t)floats, &u);
    }
    CHECK(tfn_model_hash(&m) == tfn_model_hash(&hand));
    free(moments);
    tfn_model_free(&m);
    tfn_model_free(&hand);
}

/* PyTorch's clip_grad_norm_: the gradient times clip/(norm + 1e-6) if that is below 1. The norms
 * here are so small that the constant is at least a quarter of the sum. */
TEST(step_clipping_constant)
{
    static const double norms[] = { 3e-6, 5e-7, 1e-8 };
    tfn_model_desc d = step_desc("pre");
    tfn_model m;
    d.optimizer = TFN_OPTIMIZER_SGD;
    d.decay = 0;
    d.clip = (float)2e-7;
    if (!batch_open(&m, &d)) return;
    m.desc.beta1 = 0;
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        const int at = 3;
        const double factor = 2e-7 / (norms[i] + 1e-6);
        const double step = (factor < 1 ? factor : 1) * norms[i] * 1e6;
        const tfn_sums sums = { 1, 1, 4 };
        int64_t floats;
        float *g = tfn_model_gradients(&m, &floats);
        tfn_report report;
        double before;
        memset(g, 0, (size_t)floats * sizeof *g);
        g[at] = (float)(4 * norms[i]);                      /* 4 targets */
        m.params[at] = 0;
        before = (double)m.params[at];
        CHECK(tfn_model_update(&m, &sums, (float)1e6, &report) == TFN_OK && report.updated);
        CHECK_CLOSE((double)report.grad_norm * 1e6, norms[i] * 1e6, 1e-6);
        CASE("norm %g", norms[i]);
        CHECK_CLOSE((before - (double)m.params[at]) / step, 1, 1e-5);
    }
    tfn_model_free(&m);
}

/* The run holds no array of the caller. */
static void step_released(const tfn_model *m)
{
    for (int i = 0; i < TFN_SLOTS; i++) CHECK(!m->run.ints[i] && !m->run.inputs[i]);
}

/* No call keeps a pointer to its arguments. */
TEST(step_keeps_nothing)
{
    const tfn_model_desc d = step_desc("pre");
    tfn_model m;
    batch_room b;
    tfn_report report;
    tfn_sums sums;
    const tfn_batch *batch = step_fill(&b, &d, 1);
    if (!batch_open(&m, &d)) return;
    for (int call = 0; call < 5; call++) {
        CASE("call %d", call);
        if (call == 0) CHECK(tfn_model_logits(&m, batch) != NULL);
        if (call == 1) CHECK(tfn_model_eval(&m, batch, &report) == TFN_OK);
        if (call == 2) CHECK(tfn_model_step(&m, batch, &report) == TFN_OK);
        if (call == 3) CHECK(tfn_model_gradient(&m, batch, 0, false, &sums) == TFN_OK);
        if (call == 4) CHECK(tfn_model_profile(&m, batch) == TFN_OK || m.error.status != TFN_OK);
        step_released(&m);
    }
    tfn_model_free(&m);
}

/* The same for frames and numbers. */
TEST(step_keeps_no_frames)
{
    tfn_model_desc d = step_desc("pre");
    tfn_model m;
    batch_room b;
    tfn_report report;
    d.arch = TFN_ARCH_ENCODER;
    d.bands = 3;
    d.frame_map = TFN_FRAME_MAP_LINEAR;
    d.head = TFN_HEAD_NUMBERS;
    d.numbers = 2;
    if (!batch_open(&m, &d)) return;
    batch_fill(&b, &m.desc, 1);
    for (int call = 0; call < 3; call++) {
        CASE("call %d", call);
        if (call == 0) CHECK(tfn_model_logits(&m, &b.batch) != NULL);
        if (call == 1) CHECK(tfn_model_eval(&m, &b.batch, &report) == TFN_OK);
        if (call == 2) CHECK(tfn_model_step(&m, &b.batch, &report) == TFN_OK);
        step_released(&m);
    }
    tfn_model_free(&m);
}

/* Nor does a call that reads hidden states or attention. */
TEST(step_readings_keep_nothing)
{
    enum { ROOM = 4 * STEP_B * STEP_T * 16 };
    static float to[ROOM];
    const tfn_model_desc d = step_desc("pre");
    tfn_model m;
    batch_room b;
    const tfn_batch *batch = step_fill(&b, &d, 1);
    if (!batch_open(&m, &d)) return;
    for (int call = 0; call < 6; call++) {
        const int32_t layers = call == 1 ? m.desc.layers + 1 : 1;       /* an error */
        const tfn_status wanted = call == 1 || call == 4 ? TFN_BAD_BATCH : TFN_OK;
        CASE("call %d", call);
        if (call < 2) tfn_model_hidden(&m, batch, TFN_STACK_LAST, layers);
        if (call == 2) tfn_model_pool(&m, batch, TFN_STACK_LAST, 1, TFN_POOL_MEAN, false, to);
        if (call == 3 || call == 4)
            tfn_model_attention(&m, batch, TFN_STACK_LAST, call == 4 ? m.desc.layers : 0,
                                TFN_SUBLAYER_SELF_ATTENTION, -1, to);
        if (call == 5) tfn_model_lens(&m, batch, 1);
        CHECK_INT(m.error.status, wanted);
        step_released(&m);
    }
    tfn_model_free(&m);
}

/* A caller may fill the vector of gradients without a call for a gradient. If the update is then
 * skipped, nothing has changed, including the statistics of BatchNorm. */
TEST(step_filled_and_skipped)
{
    tfn_model_desc d = step_desc("post");
    tfn_model m;
    batch_room b;
    int64_t floats;
    float *g;
    d.norm = "batchnorm";
    if (!batch_open(&m, &d)) return;
    for (int call = 0; call < 3; call++) {
        tfn_sums sums = { (double)NAN, 1, 4 };
        tfn_report report;
        uint64_t hash;
        CHECK(tfn_model_step(&m, step_fill(&b, &d, call), NULL) == TFN_OK);
        hash = tfn_model_hash(&m);
        g = tfn_model_gradients(&m, &floats);
        for (int64_t i = 0; i < floats; i++) g[i] = (float)NAN;
        tfn_model_update(&m, &sums, (float)0.1, &report);
        CHECK(!report.updated && report.skipped);
        CHECK(tfn_model_hash(&m) == hash);
    }
    tfn_model_free(&m);
}

/* The mean is right for any number of targets, also beyond 2^48. */
TEST(step_many_targets)
{
    static const int64_t targets[] = { 3, (1 << 24) + 1, INT64_C(1) << 40, INT64_C(3) << 50,
                                       INT64_C(1) << 62 };
    tfn_model_desc d = step_desc("pre");
    tfn_model m;
    int64_t floats;
    float *g;
    if (!batch_open(&m, &d)) return;
    g = tfn_model_gradients(&m, &floats);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        tfn_sums sums = { 1, 1, 0 };
        tfn_report report;
        sums.targets = targets[i];
        memset(g, 0, (size_t)floats * sizeof *g);
        g[3] = (float)targets[i] / 2;
        CASE("%g targets", (double)targets[i]);
        CHECK(tfn_model_update(&m, &sums, 0, &report) == TFN_OK);
        CHECK_CLOSE((double)report.grad_norm, 0.5, 1e-6);
    }
    tfn_model_free(&m);
}

/* The key of the dropout is made of seed, update and shard, so that a later version of the library
 * draws the same masks. */
TEST(step_keys)
{
    tfn_model_desc d = step_desc("pre");
    tfn_model m;
    batch_room b;
    d.seed = 7;
    if (!batch_open(&m, &d)) return;
    for (int i = 0; i < 3; i++) {
        const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_fold(tfn_key_make(7), 2), (uint64_t)i), 0);
        CHECK(tfn_model_step(&m, step_fill(&b, &d, i), NULL) == TFN_OK);
        CHECK_BITS(&m.run.key, &key, sizeof key);
    }
    tfn_model_free(&m);
}

/* With one layer, a token changes the logits of as many positions as the window has. */
TEST(step_windows)
{
    for (int32_t window = 1; window <= 3; window++) {
        enum { N = STEP_T * STEP_V };
        tfn_model_desc d = step_desc("pre");
        float before[N];
        tfn_model m;
        batch_room b;
        const float *z;
        CASE("window %d", (int)window);
        d.layers = 1;
        d.batch = 1;
        d.window = window;
        if (!batch_open(&m, &d)) return;
        batch_fill(&b, &d, 1);
        z = tfn_model_logits(&m, &b.batch);
        CHECK(z != NULL);
        if (z) memcpy(before, z, sizeof before);
        b.tokens[0] = (b.tokens[0] + 1) % STEP_V;
        z = tfn_model_logits(&m, &b.batch);
        for (int t = 0; z && t < STEP_T; t++) {
            const bool same = !memcmp(z + t*STEP_V, before + t*STEP_V, STEP_V * sizeof *z);
            CHECK_INT(same, t >= window);
        }
        tfn_model_free(&m);
    }
}

/* Frozen weights stay as they are, even if schedule-free updates move between two points and a rule
 * keeps the length of all weights. */
TEST(step_frozen_points)
{
    tfn_model_desc d = step_desc("ngpt");
    tfn_param_info p;
    tfn_model m;
    batch_room b;
    float *before;
    d.optimizer = TFN_OPTIMIZER_SCHEDULE_FREE;
    CHECK(tfn_group_add(&d, "*.w?.weight frozen", NULL));
    if (!batch_open(&m, &d)) return;
    before = (float *)malloc((size_t)m.param_floats * sizeof *before);
    memcpy(before, m.params, (size_t)m.param_floats * sizeof *before);
    for (int i = 0; i < 4; i++)
        CHECK(tfn_model_step(&m, step_fill(&b, &d, i), NULL) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        const size_t bytes = (size_t)p.rows * (size_t)p.cols * sizeof(float);
        CASE("%s", p.name);
        if (p.frozen) CHECK_BITS(p.data, before + (p.data - m.params), bytes);
        else CHECK(memcmp(p.data, before + (p.data - m.params), bytes) != 0);
    }
    free(before);
    tfn_model_free(&m);
}

/* An activation is fused with its linear map unless another operation is between them. */
TEST(step_fused_activations)
{
    static const struct { const char *recipe; bool apart; } rows[] = {
        { "pre", false }, { "post", false }, { "ngpt", true }, { "fixup", true }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model_desc d = step_desc(rows[i].recipe);
        tfn_model m;
        int32_t count = 0;
        CASE("%s", rows[i].recipe);
        d.activation = TFN_ACTIVATION_RELU;
        if (!batch_open(&m, &d)) return;
        for (int32_t k = 0; k < m.train.count; k++)
            if (m.train.nodes[k].op == TFN__OP_ACTIVATE) count++;
        CHECK_INT(count > 0, rows[i].apart);
        tfn_model_free(&m);
    }
}

/* -- the gradient of relative positions ------------------------------------------------------- */

/* The loss, summed over targets, of a model without dropout. */
static double step_sum(tfn_model *m, const tfn_batch *batch)
{
    tfn_report report;
    CHECK(tfn_model_eval(m, batch, &report) == TFN_OK);
    return (double)report.loss * (double)report.tokens;
}

/* Heads that share keys have their own numbers for each distance, whose gradient is the slope of
 * the loss. */
TEST(step_grouped_bias)
{
    static const int32_t kv_heads[] = { 1, 2, 4 };
    for (int i = 0; i < 3; i++) {
        tfn_model_desc d = step_desc("pre");
        tfn_model m;
        batch_room room;
        tfn_param_info p;
        tfn_sums sums;
        double most = 0;
        CASE("%d heads of keys", (int)kv_heads[i]);
        d.position = TFN_POSITION_RELATIVE;
        d.heads = 4;
        d.kv_heads = kv_heads[i];
        d.dropout = 0;
        if (!batch_open(&m, &d)) return;
        step_fill(&room, &d, 1);
        CHECK(tfn_model_gradient(&m, &room.batch, 0, false, &sums) == TFN_OK);
        for (int32_t k = 0; tfn_model_param(&m, k, &p); k++)
            for (int32_t at = 0; strstr(p.name, "relative") && at < p.rows * p.cols; at++) {
                const float before = p.data[at];
                double slope;
                p.data[at] = before + 0.0625f;
                slope = step_sum(&m, &room.batch);
                p.data[at] = before - 0.0625f;
                slope = 8 * (slope - step_sum(&m, &room.batch));
                p.data[at] = before;
                if (fabs(slope) > most) most = fabs(slope);
                if (!(fabs(slope - (double)p.grad[at]) < 2e-3))
                    FAIL("%s[%d]: %g, not %g", p.name, (int)at, (double)p.grad[at], slope);
            }
        CHECK(most > 1e-3);
        tfn_model_free(&m);
    }
}

/* -- a user's loss --------------------------------------------------------------------------- */

/* Added after the logits: the cross-entropy itself, or twice that by a custom operation, which also
 * reads padding and ignored targets. */
typedef struct step_loss { bool doubled; int calls; } step_loss;

static void step_double_forward(const tfn_custom_args *a)
{
    for (ptrdiff_t i = 0; i < a->rows; i++) a->y[i] = 2 * a->x[0][i];
}
static void step_double_backward(const tfn_custom_args *a)
{
    for (ptrdiff_t i = 0; i < a->rows; i++) {
        if (!a->add[0]) a->dx[0][i] = 0;
        a->dx[0][i] += 2 * a->dy[i];
    }
}
static const tfn_custom_op step_doubled = {
    "double", step_double_forward, step_double_backward, NULL
};

static tfn_var step_own_loss(void *user, tfn_tape *t, tfn_var logits)
{
    step_loss *l = (step_loss *)user;
    const tfn_var x = tfn_cross_entropy(t, logits, TFN_INT_TARGETS, 0, 0);
    l->calls++;
    if (!l->doubled) return x;
    t->custom = &step_doubled;
    t->customs = 1;
    return tfn_custom(t, 0, &x, 1, TFN_ROWS_TARGET, 0, 1);
}

/* Cross-entropy as a user's loss has the bits of the built-in one. Twice that gives twice the loss
 * and, to the bit, twice the gradient, in training and in evaluation. */
TEST(step_losses)
{
    static const struct { const char *recipe; bool half, doubled; int32_t threads; } cases[] = {
        { "pre", false, false, 1 }, { "post", true, false, 1 }, { "admin", false, false, 1 },
        { "pre", false, true, 1 }, { "batchnorm", false, true, 1 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfn_model_desc d = step_desc(cases[i].recipe);
        step_loss loss = { cases[i].doubled, 0 };
        const float factor = cases[i].doubled ? 2 : 1;
        tfn_model built_in;
        tfn_model own;
        batch_room b;
        int64_t floats;
        CASE("%s, half %d, doubled %d", cases[i].recipe, cases[i].half, cases[i].doubled);
        d.half = cases[i].half;
        if (!batch_open(&built_in, &d)) return;
        d.loss = step_own_loss;
        d.loss_user = &loss;
        if (!batch_open(&own, &d)) return;
        CHECK(loss.calls > 0);
        for (int k = 0; k < STEP_UPDATES; k++) {
            const tfn_batch *batch = step_fill(&b, &d, k);
            tfn_report eval[2];
            tfn_sums sums[2];
            float *g[2];
            tfn_model_gradient(&built_in, batch, 0, false, sums);
            tfn_model_gradient(&own, batch, 0, false, sums + 1);
            g[0] = tfn_model_gradients(&built_in, &floats);
            g[1] = tfn_model_gradients(&own, &floats);
            CHECK(sums[1].loss == (double)factor * sums[0].loss);
            CHECK(sums[1].targets == sums[0].targets);
            for (int64_t j = 0; j < floats; j++) g[0][j] *= factor;
            CHECK_BITS(g[0], g[1], (size_t)floats * sizeof **g);
            CHECK(tfn_model_update(&built_in, NULL, 0.01f, NULL) == TFN_OK);
            CHECK(tfn_model_update(&own, NULL, 0.01f, NULL) == TFN_OK);
            CHECK(tfn_model_eval(&built_in, batch, eval) == TFN_OK);
            CHECK(tfn_model_eval(&own, batch, eval + 1) == TFN_OK);
            CHECK(eval[1].loss == (double)factor * eval[0].loss);
            CHECK(tfn_model_logits(&own, batch) != NULL);
        }
        CHECK(tfn_model_hash(&built_in) == tfn_model_hash(&own));
        tfn_model_free(&built_in);
        tfn_model_free(&own);
    }
}

static tfn_var step_bad_loss(void *user, tfn_tape *t, tfn_var logits)
{
    const tfn_var none = { 0 };
    const char *what = (const char *)user;
    if (!strcmp(what, "columns")) return logits;
    if (!strcmp(what, "rows")) return tfn_first_rows(t, tfn_cross_entropy(t, logits, 1, 0, 0));
    if (!strcmp(what, "parameters")) tfn_param(t, 1, 1);
    if (!strcmp(what, "parameters")) return tfn_cross_entropy(t, logits, TFN_INT_TARGETS, 0, 0);
    return none;
}

/* An invalid loss is refused when the model is made, and the message says why. */
TEST(step_bad_losses)
{
    static const struct { const char *what, *text; } cases[] = {
        { "columns", "columns" }, { "rows", "rows" }, { "parameters", "parameters" },
        { "nothing", "loss" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfn_model_desc d = step_desc("pre");
        char what[20], text[200];
        tfn_model m;
        CASE("%s", cases[i].what);
        strcpy(what, cases[i].what);
        d.loss = step_bad_loss;
        d.loss_user = what;
        CHECK(tfn_model_new(&m, &d, NULL) != TFN_OK);
        tfn_error_text(&m.error, text, sizeof text);
        if (!strstr(text, cases[i].text)) FAIL("%s", text);
        tfn_model_free(&m);
    }
}

/* -- skipped updates ------------------------------------------------------------------------- */

/* Sums without a target, a loss that is not finite, or a gradient that the user spoilt: the model
 * with its running statistics is as before the first gradient, and continues. */
TEST(step_dropped)
{
    static const char *const names[] = {
        "pre", "batchnorm", "powernorm", "admin", "sigma-reparam"
    };
    static const struct {
        const char *what;
        double      loss;
        int64_t     targets;
        float       number;             /* written into the gradient; 0: nothing */
    } cases[] = {
        { "no target", 1, 0, 0 },
        { "a loss that is NaN", NAN, 5, 0 },
        { "an infinite loss", INFINITY, 5, 0 },
        { "a NaN in the gradient", 1, 5, (float)NAN }
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const tfn_model_desc d = step_desc(names[i]);
            const tfn_sums sums = { cases[k].loss, cases[k].loss, cases[k].targets };
            tfn_model m;
            batch_room b;
            tfn_report report;
            uint64_t before;
            CASE("%s, %s", names[i], cases[k].what);
            if (!batch_open(&m, &d)) return;
            CHECK(tfn_model_step(&m, step_fill(&b, &d, 0), NULL) == TFN_OK);
            before = tfn_model_hash(&m);
            tfn_model_gradient(&m, step_fill(&b, &d, 1), 0, false, NULL);
            if (!(cases[k].number == 0)) tfn_model_gradients(&m, NULL)[0] = cases[k].number;
            CHECK(tfn_model_update(&m, &sums, (float)0.1, &report) == TFN_OK);
            CHECK(report.skipped && !report.updated && report.step == 1);
            CHECK(tfn_model_hash(&m) == before);
            CHECK(m.micro == 0 && m.sums.targets == 0);
            CHECK(tfn_model_step(&m, step_fill(&b, &d, 2), &report) == TFN_OK && report.updated);
            tfn_model_free(&m);
        }
}

/* A new model that needs a profile has none before its first gradient. */
TEST(step_profiles)
{
    const tfn_model_desc d = step_desc("admin");
    const tfn_sums sums = { 1, 1, 5 };
    tfn_model m;
    batch_room b;
    tfn_report report;
    if (!batch_open(&m, &d)) return;
    CHECK(tfn_model_update(&m, &sums, (float)0.1, &report) == TFN_OK && report.skipped);
    CHECK(tfn_model_gradient(&m, step_fill(&b, &d, 0), 0, false, NULL) == TFN_OK);
    CHECK(tfn_model_update(&m, NULL, (float)0.1, &report) == TFN_OK && report.updated);
    tfn_model_free(&m);
}

/* A bad argument is an error of that call only. */
TEST(step_refused)
{
    static const float rates[] = { -1, (float)NAN, (float)INFINITY };
    const tfn_model_desc d = step_desc("pre");
    const tfn_sums none = { 1, 1, -1 };
    tfn_model_desc inference = d;
    tfn_model m;
    batch_room b;
    char text[200];
    uint64_t before;
    if (!batch_open(&m, &d)) return;
    tfn_model_gradient(&m, step_fill(&b, &d, 0), 0, false, NULL);
    before = tfn_model_hash(&m);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        CHECK(tfn_model_update(&m, NULL, rates[i], NULL) == TFN_BAD_BATCH);
        CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "rate") != NULL);
    }
    CHECK(tfn_model_update(&m, &none, 1, NULL) == TFN_BAD_BATCH);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "-1 targets") != NULL);
    CHECK(tfn_model_hash(&m) == before);
    CHECK(tfn_model_update(&m, NULL, (float)0.1, NULL) == TFN_OK && m.step == 1);
    tfn_model_free(&m);

    inference.inference = true;
    if (!batch_open(&m, &inference)) return;
    CHECK(tfn_model_gradients(&m, NULL) == NULL);
    CHECK(tfn_model_update(&m, &none, 1, NULL) == TFN_NOT_READY);
    tfn_model_free(&m);
    if (!batch_open(&m, &inference)) return;
    CHECK(tfn_model_gradient(&m, step_fill(&b, &d, 0), 0, false, NULL) == TFN_NOT_READY);
    tfn_model_free(&m);
}

/* Threads share everything that is proportional to the parameters. */
TEST(step_updates_of_threads) { updates_compare(); }

/* Cutting products into blocks, ranges of rows and columns, and sentences changes no bit. */
TEST(step_blocks_of_threads) { blocks_compare(); }

/* A model of two layers that can take 16 sentences of 32 positions. */
static tfn_model_desc step_pays_desc(int32_t width)
{
    tfn_model_desc d = { 0 };
    d.vocab = 64;
    d.layers = 2;
    d.width = width;
    d.ffn = 4 * width;
    d.heads = 2;
    d.batch = 16;
    d.context = 32;
    return d;
}
/* Returns 1 if threads share a run of `batch` sentences of `source` and `time` positions, 0 if not,
 * -1 in a build without threads, and -2 if the model cannot be made. */
static int step_pays_for(const tfn_model_desc *d, int32_t batch, int32_t source, int32_t time)
{
    tfn_model m;
    int pays;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) return -2;
    m.run.batch = batch;
    m.run.source = source;
    m.run.target = time;
    pays = lib_team_pays(&m.train, &m.run);
    tfn_model_free(&m);
    return pays;
}
static int step_pays(int32_t width, int32_t batch, int32_t time)
{
    const tfn_model_desc d = step_pays_desc(width);
    return step_pays_for(&d, batch, time, time);
}
/* Small models and small batches run on one thread, because handing values over would take longer
 * than computing them. The same model has a team for a large batch. */
TEST(step_teams_that_pay)
{
    tfn_model_desc d = step_pays_desc(256);
    if (step_pays(64, 16, 32) == -1) return;        /* a build without threads */
    CHECK_INT(step_pays(8, 16, 32), 0);
    CHECK_INT(step_pays(48, 16, 32), 0);
    CHECK_INT(step_pays(64, 16, 32), 1);
    CHECK_INT(step_pays(64, 1, 32), 0);
    CHECK_INT(step_pays(64, 16, 1), 0);
    CHECK_INT(step_pays(64, 0, 0), 0);
    CHECK_INT(step_pays(256, 16, 32), 1);
    CHECK_INT(step_pays(256, 1, 4), 0);
    CHECK_INT(step_pays(512, 1, 24), 1);            /* more weights than the caches hold */
    CHECK_INT(step_pays(512, 1, 12), 0);

    d.inference = true;                             /* nothing updates the weights */
    CHECK_INT(step_pays_for(&d, 1, 4, 4), 1);

    d = step_pays_desc(64);                         /* one position attends to a long source */
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.source_context = 512;
    CHECK_INT(step_pays_for(&d, 1, 512, 1), 1);
    CHECK_INT(step_pays_for(&d, 1, 256, 1), 0);

    d = step_pays_desc(64);                         /* convolutions of frames cost more than a linear map */
    d.arch = TFN_ARCH_ENCODER;
    d.head = TFN_HEAD_NUMBERS;
    d.numbers = 1;
    d.layers = 1;
    d.bands = 400;
    d.context = 256;
    CHECK_INT(step_pays_for(&d, 1, 200, 200), 1);
    d.frame_map = TFN_FRAME_MAP_LINEAR;
    CHECK_INT(step_pays_for(&d, 1, 200, 200), 0);
}

/* Runs that threads share alternate with runs of one thread. The bits are those of a model with one
 * thread. */
TEST(step_some_teams)
{
    static const int32_t sentences[] = { 16, 1, 1, 16, 1, 16 };
    uint64_t hash[2] = { 0, 0 };
    if (step_pays(64, 16, 32) == -1) return;        /* a build without threads */
    lib_always_teams = 0;
    for (int which = 0; which < 2; which++) {
        tfn_model_desc d = step_pays_desc(64);
        int32_t ids[16 * 32];
        tfn_batch b = { 0 };
        tfn_model m;
        d.threads = HOOK_THREADS(which ? 3 : 1);
        CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
        for (int i = 0; i < 16 * 32; i++) ids[i] = i * 7 % 64;
        b.tokens = b.targets = ids;
        b.time = 32;
        for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
            b.batch = sentences[i];
            CHECK(tfn_model_step(&m, &b, NULL) == TFN_OK);
            CHECK_INT(lib_team_pays(&m.train, &m.run), sentences[i] > 1);
        }
        hash[which] = tfn_model_hash(&m);
        tfn_model_free(&m);
    }
    lib_always_teams = 1;
    CHECK(hash[0] == hash[1]);
}

int main(void)
{
    RUN(step_recipes);
    RUN(step_options);
    RUN(step_shards);
    RUN(step_elsewhere);
    RUN(step_by_hand);
    RUN(step_clipping_constant);
    RUN(step_keeps_nothing);
    RUN(step_keeps_no_frames);
    RUN(step_readings_keep_nothing);
    RUN(step_filled_and_skipped);
    RUN(step_many_targets);
    RUN(step_keys);
    RUN(step_windows);
    RUN(step_frozen_points);
    RUN(step_fused_activations);
    RUN(step_grouped_bias);
    RUN(step_losses);
    RUN(step_bad_losses);
    RUN(step_dropped);
    RUN(step_profiles);
    RUN(step_refused);
    RUN(step_updates_of_threads);
    RUN(step_blocks_of_threads);
    RUN(step_teams_that_pay);
    RUN(step_some_teams);
    return DONE();
}
