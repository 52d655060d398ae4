/* The library makes no denormals: every recipe and every activation trains at too high a rate,
 * while tools/bench/denormals.c counts them in the operands of products, in the workspace, in
 * parameters, gradients and moments, and asks the processor whether a number underflowed in a
 * kernel. These are counts, not times, so they are the same on every machine. */
#include "../lib.h"
#include "../check.h"
#include "../../tools/bench/denormals.c"

static int denormals_steps(void) { return check_tier() > 1 ? 120 : 60; }

static void denormals_none(const tfn_model_desc *d, const char *what)
{
    const denormals_counts *c = &denormals.counts;
    if (!denormals_train(d, denormals_steps(), 30)) {
        FAIL("%s, %s: no model", d->recipe, what);
        return;
    }
    if (c->operands || c->values || c->gradients || c->parameters || c->sums || c->moments)
        FAIL("%s, %s: %ld of %ld operands, %ld values, %ld gradients, %ld parameters, %ld sums, "
             "%ld moments; first at %s", d->recipe, what, (long)c->operands, (long)c->read,
             (long)c->values, (long)c->gradients, (long)c->parameters, (long)c->sums,
             (long)c->moments, c->where);
    if (c->underflows)
        FAIL("%s, %s: in %ld of %ld calls of kernels a number underflowed", d->recipe, what,
             (long)c->underflows, (long)c->calls);
    CHECK(c->read > 1000000 && c->steps == denormals_steps() && !c->skipped);
}

/* The counters work: a denormal weight, and its consequences, are counted. */
TEST(denormals_counted)
{
    const float few[] = { 0, -0.0f, 1e-39f, -1e-45f, 1.17549435e-38f, 1, INFINITY, NAN };
    const tfn_kernels *k = tfn_kernels_for(TFN_ISA_BEST);
    float y[8];
    tfn_matmul_args p;
    CHECK_INT(denormals_in(few, 8), 2);
    memset(&p, 0, sizeof p);
    memset(&denormals, 0, sizeof denormals);
    denormals.real = k;
    p.c = y, p.a = few + 2, p.b = few;
    p.m = p.k = 1;
    p.n = 6;
    p.a_row = p.a_col = p.b_col = 1;
    p.c_ld = p.b_row = 8;
    denormals_matmul(&p, NULL);
    CHECK_INT(denormals.counts.operands, 3);
    CHECK_INT(denormals.counts.read, 7);
    CHECK(denormals.counts.where != NULL);
#ifdef FE_UNDERFLOW
    CHECK_INT(denormals.counts.underflows, 1);
#endif
}

/* olmo2 and output-norm had the most; the others follow in order. */
TEST(denormals_recipes)
{
    static const int steps[] = { 25, 25, 5, 1 };
    const int every = steps[check_tier()];
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const char *name = tfn_recipe_at(i)->name;
        tfn_model_desc d = denormals_desc(name);
        if (i % every == 0 || !strcmp(name, "olmo2") || !strcmp(name, "output-norm"))
            denormals_none(&d, "as it is");
    }
    if (every > 1) printf("left out: of the recipes all but two and every %dth (tier night)\n", every);
}

/* In olmo2 each activation except ReLU would make some if decaying values were not cut. */
TEST(denormals_activations)
{
    for (int kind = TFN_ACTIVATION_RELU; kind < TFN_ACTIVATION_COUNT; kind++) {
        char name[32];
        tfn_model_desc d = denormals_desc("olmo2");
        d.activation = (tfn_activation_kind)kind;
        snprintf(name, sizeof name, "activation %d", kind);
        denormals_none(&d, name);
    }
}

TEST(denormals_options)
{
    for (int which = 0; which < 11; which++) {
        static const char *const names[] = {
            "encoder-decoder", "smoothing and dropout", "caps", "rotary, few heads of keys", "SGD",
            "RAdam", "clusters of words", "Lion", "Muon",
            "Adafactor", "schedule-free AdamW"
        };
        tfn_model_desc d = denormals_desc(which % 2 ? "output-norm" : "olmo2");
        if (which == 0) d.arch = TFN_ARCH_ENCODER_DECODER;
        if (which == 1) d.smoothing = d.dropout = d.attention_dropout = 0.1f;
        if (which == 2) d.attention_cap = 50, d.logit_cap = 30;
        if (which == 3) d.position = TFN_POSITION_ROTARY, d.kv_heads = 1;
        if (which == 4) d.optimizer = TFN_OPTIMIZER_SGD, d.beta1 = 0.9f, d.schedule.lr = 0.1f;
        if (which == 5) d.optimizer = TFN_OPTIMIZER_RADAM;
        if (which == 6) d.cutoffs[0] = 8, d.cutoffs[1] = 20;
        if (which == 7) d.optimizer = TFN_OPTIMIZER_LION;
        if (which == 8) d.optimizer = TFN_OPTIMIZER_MUON;
        if (which == 9) d.optimizer = TFN_OPTIMIZER_ADAFACTOR;
        if (which == 10) d.optimizer = TFN_OPTIMIZER_SCHEDULE_FREE;
        denormals_none(&d, names[which]);
    }
}

int main(void)
{
    RUN(denormals_counted);
    RUN(denormals_recipes);
    RUN(denormals_activations);
    RUN(denormals_options);
    return DONE();
}
