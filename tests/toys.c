/* Trains the additions that walkthrough.sh makes in a copy of the header: the recipe "keel", the
 * optimizer "lion", and a tape with the operation tfn_relu3. In double, it compares gradients with
 * differences. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef TFN__DOUBLE
#define float double
#endif
#define TFNORM_IMPLEMENTATION
#include "tfnorm.h"

enum { V = 7, T = 6, B = 2, ROWS = 8, INPUTS = 3, HIDDEN = 8, STEPS = 40 };

static int failed;
static void fail(const char *what, double found, double wanted)
{
    printf("%s: %.9g, wanted %.9g\n", what, found, wanted);
    failed = 1;
}

#ifdef TFN__DOUBLE
/* The derivative of a loss by p[i], by central differences: an error of about 1e-10. */
typedef double loss_fn(void *user);
static void compare(const char *what, loss_fn *loss, void *user, double *p, const double *gradient,
                    int64_t count)
{
    const double h = 1e-5;
    for (int64_t i = 0; i < count; i += 1 + count / 50) {
        const double before = p[i];
        double difference;
        p[i] = before + h;
        difference = loss(user);
        p[i] = before - h;
        difference -= loss(user);
        p[i] = before;
        difference /= 2 * h;
        if (!(fabs(gradient[i] - difference) <= 1e-6 * (1 + fabs(difference))))
            fail(what, gradient[i], difference);
    }
}
#endif

/* -- a model: the recipe's topology and norm; the optimizer
 * ------------------------------------- */

static const int32_t tokens[B * T] = { 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1 };
static const int32_t targets[B * T] = { 2, 3, 4, 5, 6, 0, 5, 4, 3, 2, 1, 0 };

static tfn_batch make_batch(void)
{
    tfn_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.targets = targets;
    batch.batch = B;
    batch.time = T;
    return batch;
}

static tfn_model_desc make_desc(void)
{
    const tfn_choice *signum = tfn_choice_find("optimizer", "signum");
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = V;
    d.context = T;
    d.batch = B;
    d.width = 8;
    d.heads = 2;
    d.recipe = "keel";
    if (signum) d.optimizer = (tfn_optimizer)signum->value;
    else fail("the row of signum", 0, 1);
    d.schedule.lr = (float)0.01;
    return d;
}

/* All weights move by the rate, because Signum uses only the sign of a gradient. */
static void check_first_update(const tfn_model *m, const float *before, int64_t count)
{
    int64_t moved = 0;
    for (int64_t i = 0; i < count; i++) {
        const double by = fabs((double)(m->params[i] - before[i]));
        if (fabs(by - 0.01) < 1e-6) moved++;
    }
    if (moved < count * 9 / 10)
        fail("weights that moved by the rate", (double)moved, (double)count);
}

static void train_model(void)
{
    const tfn_model_desc d = make_desc();
    const tfn_batch batch = make_batch();
    tfn_model m;
    tfn_report r;
    double first = 0;
    char text[200];
    float *before;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
        printf("%s\n", tfn_error_text(&m.error, text, sizeof text));
        failed = 1;
        return;
    }
    before = (float *)malloc((size_t)m.param_floats * sizeof *before);
    memcpy(before, m.params, (size_t)m.param_floats * sizeof *before);
    for (int step = 0; step < STEPS; step++) {
        if (tfn_model_step(&m, &batch, &r) != TFN_OK || r.skipped) fail("step", step, STEPS);
        if (step == 0) first = r.loss;
        if (step == 0) check_first_update(&m, before, m.param_floats);
    }
    printf("keel by signum: loss %.4f, then %.4f\n", first, r.loss);
    if (!(r.loss < 0.8 * first)) fail("the loss of the model", r.loss, 0.8 * first);
    free(before);
    tfn_model_free(&m);
}

#ifdef TFN__DOUBLE
static double model_loss(void *user)
{
    const tfn_batch batch = make_batch();
    tfn_report r;
    if (tfn_model_eval((tfn_model *)user, &batch, &r) != TFN_OK) return (double)NAN;
    return r.loss * (double)r.tokens;
}

/* The first of two micro-batches leaves its gradient and moves no weight. */
static void differentiate_model(void)
{
    tfn_model_desc d = make_desc();
    const tfn_batch batch = make_batch();
    tfn_model m;
    d.micro_batches = 2;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK || tfn_model_step(&m, &batch, NULL) != TFN_OK)
        fail("a micro-batch", 0, 1);
    else
        compare("keel", model_loss, &m, m.params, m.run.grads, m.param_floats);
    tfn_model_free(&m);
}
#endif

/* -- a tape with the operation ----------------------------------------------------------------- */

typedef struct network { tfn_tape tape; tfn_run run; tfn_var loss; float *memory; } network;

static double network_loss(void *user)
{
    const network *n = (const network *)user;
    double sum = 0;
    tfn_tape_forward(&n->tape, &n->run);
    for (int i = 0; i < ROWS; i++) sum += (double)tfn_value(&n->tape, &n->run, n->loss)[i];
    return sum;
}

static void network_make(network *n, void *nodes, const float *inputs, const int32_t *classes)
{
    tfn_tape *t = &n->tape;
    tfn_var w, x, h;
    memset(n, 0, sizeof *n);
    tfn_tape_init(t, nodes, tfn_tape_bytes(16), ROWS, 0, 0, true);
    x = tfn_input(t, 0, TFN_ROWS_BATCH, INPUTS);
    w = tfn_param(t, INPUTS, HIDDEN);
    h = tfn_linear(t, x, w, (tfn_var){ 0 }, TFN_ACTIVATION_IDENTITY);
    h = tfn_relu3(t, h);
    w = tfn_param(t, HIDDEN, 2);
    h = tfn_linear(t, h, w, (tfn_var){ 0 }, TFN_ACTIVATION_IDENTITY);
    n->loss = tfn_cross_entropy(t, h, TFN_INT_TARGETS, 0, 0);
    tfn_keep(t, n->loss);
    if (tfn_tape_plan(t, tfn_kernels_for(TFN_ISA_BEST), 1) != TFN_OK) fail("plan", 0, 1);
    n->memory = (float *)calloc((size_t)(2*t->params + t->work), sizeof *n->memory);
    n->run.batch = ROWS;
    n->run.params = n->memory;
    n->run.grads = n->memory + t->params;
    n->run.work = n->memory + 2*t->params;
    n->run.inputs[0] = inputs;
    n->run.ints[TFN_INT_TARGETS] = classes;
    for (int64_t i = 0; i < t->params; i++)
        n->run.params[i] = (float)0.5 * tfn_random_normal(tfn_key_make(1), (uint64_t)i);
}

static void train_network(void)
{
    static float inputs[ROWS * INPUTS];
    static int32_t classes[ROWS];
    network n;
    double first, last;
    void *nodes = malloc(tfn_tape_bytes(16));
    for (int i = 0; i < ROWS * INPUTS; i++)
        inputs[i] = tfn_random_normal(tfn_key_make(2), (uint64_t)i);
    for (int i = 0; i < ROWS; i++) classes[i] = i % 2;
    network_make(&n, nodes, inputs, classes);
    first = network_loss(&n);
    tfn_tape_backward(&n.tape, &n.run);
#ifdef TFN__DOUBLE
    compare("relu3", network_loss, &n, n.run.params, n.run.grads, n.tape.params);
#endif
    for (int step = 0; step < STEPS; step++) {
        network_loss(&n);
        tfn_tape_backward(&n.tape, &n.run);
        for (int64_t i = 0; i < n.tape.params; i++) n.run.params[i] -= (float)0.02 * n.run.grads[i];
    }
    last = network_loss(&n);
    printf("relu3: loss %.4f, then %.4f\n", first, last);
    if (!(last < 0.8 * first)) fail("the loss of the network", last, 0.8 * first);
    free(n.memory);
    free(nodes);
}

int main(void)
{
    train_model();
    train_network();
#ifdef TFN__DOUBLE
    differentiate_model();
#endif
    return failed;
}
