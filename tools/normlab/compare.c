/* Runs in lock step, their curves, and the options. */
#include "compare.h"
#include "../common/output.h"
#include "../common/svg.h"
#include "claims.h"
#include "lab_look.h"
#include "lab_pairs.h"
#include "rows.h"
#include "sides.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* -- training ---------------------------------------------------------------------------------- */

static bool compare_model(comparison *x, compared *c)
{
    const tfn_model_desc d = lab_desc(&c->spec, c->probes);
    c->ok = tfn_model_new(&c->model, &d, NULL) == TFN_OK;
    if (!c->ok) {
        char text[160];
        tfn_error_text(&c->model.error, text, sizeof text);
        fprintf(stderr, "normlab: %s: %s\n", c->spec.recipe, text);
        return false;
    }
    lab_fill(&x->data, &c->spec, LAB_TEST, c->spec.seed, UINT64_MAX - 1);
    tfn_model_profile(&c->model, &x->data.batch);
    return true;
}

bool compare_start(comparison *x)
{
    for (int i = 0; i < COMPARE_LAYERS; i++) x->layers[i] = i + 1;
    lab_prepare();
    if (x->run[0].spec.task == LAB_SPEECH && !lab_speak()) {
        fprintf(stderr, "normlab: out of memory\n");
        return false;
    }
    for (int k = 0; k < x->count; k++)
        if (!compare_model(x, &x->run[k])) return false;
    lab_fill(&x->test, &x->run[0].spec, LAB_TEST, 1u << 20, UINT64_MAX);
    return true;
}

/* |dL/dW_2| of each layer of the decoder for the mean loss; the model's gradient is of the sum. */
static void compare_gradients(compared *c, int64_t tokens)
{
    enum { FFN_OUT = 5 };                       /* W_2, of lab_matrix */
    tfn_param_info p;
    int decoder;
    for (int32_t i = 0; tfn_model_param(&c->model, i, &p); i++) {
        double sum = 0;
        if (lab_matrix(&p, &decoder) != FFN_OUT || !decoder) continue;
        if (p.layer >= COMPARE_LAYERS) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++) sum += (double)p.grad[j] * (double)p.grad[j];
        c->gradient[p.layer] = sqrt(sum) / (double)tokens;
    }
}

/* One update of every recipe, on the same batch; returns its scored tokens. */
static int64_t compare_step(comparison *x, int64_t step)
{
    tfn_report report;
    int64_t tokens = 1;
    for (int k = 0; k < x->count; k++) {
        compared *c = &x->run[k];
        if (!c->ok) continue;
        lab_fill(&x->data, &c->spec, c->spec.batch, c->spec.seed, (uint64_t)step);
        c->ok = tfn_model_step(&c->model, &x->data.batch, &report) == TFN_OK;
        if (c->ok) tokens = report.tokens;
    }
    return tokens;
}

/* -- pictures ---------------------------------------------------------------------------------- */

typedef struct compare_pictures {
    svg_plot  loss, gradient;
    svg_curve losses[COMPARED], gradients[COMPARED];
} compare_pictures;

/* Plots of the losses so far and of the gradients of the last update. They point into x. */
static void compare_plots(const comparison *x, compare_pictures *p)
{
    memset(p, 0, sizeof *p);
    for (int k = 0; k < x->count; k++) {
        const compared *c = &x->run[k];
        p->losses[k].name = c->spec.recipe;
        p->losses[k].x = x->updates;
        p->losses[k].y = c->loss;
        p->losses[k].count = x->points;
        p->gradients[k].name = c->spec.recipe;
        p->gradients[k].x = x->layers;
        p->gradients[k].y = c->gradient;
        p->gradients[k].count = lab_depth(&c->spec, true);
    }
    p->loss.title = "Loss";
    p->loss.x_label = "updates";
    p->loss.y_label = "validation loss [nats per token]";
    p->loss.curves = p->losses;
    p->loss.count = x->count;
    p->gradient.title = "Gradients";
    p->gradient.x_label = "decoder layer";
    p->gradient.y_label = "gradient norm of W2";
    p->gradient.log_y = true;
    p->gradient.curves = p->gradients;
    p->gradient.count = x->count;
}

/* Prints both plots as text; `again`: replaces the previous ones. The terminal's width is asked for
 * each time because a window may be resized. */
static void compare_draw(const comparison *x, bool again)
{
    compare_pictures p;
    compare_plots(x, &p);
    if (again) p.loss.columns = p.gradient.columns = output_columns(stdout);
    if (again) fputs("\033[H\033[J", stdout);
    plot_curves(stdout, &p.loss);
    plot_bars(stdout, &p.gradient);
    fflush(stdout);
}

typedef void svg_draw_fn(FILE *f, const svg_plot *plot);
static bool compare_picture(const svg_plot *plot, svg_draw_fn *picture, const char *prefix,
                            const char *end)
{
    char name[OUTPUT_PATH];
    output_file o;
    snprintf(name, sizeof name, "%s%s", prefix, end);
    FILE *f = output_open(&o, name);
    if (f) picture(f, plot);
    return output_close(&o);
}

static bool compare_svg(const comparison *x, const char *prefix)
{
    compare_pictures p;
    compare_plots(x, &p);
    const bool losses = compare_picture(&p.loss, svg_curves, prefix, "-loss.svg");
    return compare_picture(&p.gradient, svg_bars, prefix, "-gradients.svg") && losses;
}

/* Prints all differences between the recipes, whose names alone do not show them. */
static void compare_differ(const comparison *x)
{
    char text[3 * SIDES_TEXT + 16];
    sides all;
    memset(&all, 0, sizeof all);
    for (int k = 0; k < x->count; k++) sides_add(&all, &x->run[k].spec);
    snprintf(text, sizeof text, "differ in: %s", sides_differ(&all));
    if (sides_differ(&all)[0]) print_wrapped(text, 0);
}

/* Trains all recipes together, a twentieth of the updates at a time. */
static void compare_train(comparison *x, bool terminal)
{
    const int64_t steps = x->run[0].spec.steps;
    int64_t step = 0;
    int64_t tokens = 1;
    for (int point = 0; point <= LAB_POINTS; point++) {
        for (; step < steps * point / LAB_POINTS; step++) tokens = compare_step(x, step);
        for (int k = 0; k < x->count; k++) {
            compared *c = &x->run[k];
            c->loss[point] = c->ok ? lab_nll(&c->model, &x->test) : (double)NAN;
            if (step) compare_gradients(c, tokens);
        }
        x->updates[point] = (double)step;
        x->points = point + 1;
        if (terminal && point < LAB_POINTS) compare_draw(x, true);
    }
    compare_draw(x, terminal);
    printf("\n");
    compare_differ(x);
    char final[96];
    snprintf(final, sizeof final, "Final loss, nats per token (guessing by frequency: %.4f)",
             lab_unigram(&x->test));
    print_wrapped(final, 0);
    for (int k = 0; k < x->count; k++)
        printf("  %-20s %.4f\n", x->run[k].spec.recipe, x->run[k].loss[LAB_POINTS]);
}

/* A 64-bit hash of the weights of every recipe after some updates. */
static bool compare_hash(comparison *x, int64_t updates)
{
    bool ok = true;
    for (int64_t step = 0; step < updates; step++) compare_step(x, step);
    for (int k = 0; k < x->count; k++) {
        const compared *c = &x->run[k];
        ok = ok && c->ok;
        printf("%-20s %016llx\n", c->spec.recipe, (unsigned long long)tfn_model_hash(&c->model));
    }
    printf("after %lld updates, bits %s\n", (long long)updates, tfn_bits(x->run[0].spec.isa));
    return ok;
}

/* -- the command ------------------------------------------------------------------------------- */

static bool compare_optimizer(cli *c, lab_spec *s)
{
    const char *name;
    if (!cli_text(c, "--optimizer", &name)) return false;
    const tfn_choice *optimizer = tfn_choice_find("optimizer", name);
    if (!optimizer) cli_fail(c, "no optimizer is called \"%s\"", name);
    s->optimizer = (tfn_optimizer)optimizer->value;
    return true;
}

/* Reads a task: one of pairs or of texts, which a model with a decoder can learn. */
static bool compare_task(cli *c, lab_spec *s)
{
    const char *name;
    if (!cli_text(c, "--task", &name)) return false;
    for (int i = 0; i < LAB_MASKED; i++) {
        if (strcmp(lab_tasks[i].name, name)) continue;
        s->task = (lab_task)i;
        return true;
    }
    cli_fail(c, "--task needs reverse, grammar, translate, headline, speech, tongues, pairs, text, "
             "markov or file, not \"%s\"", name);
    return false;
}

/* Reads the name of a norm or an init that replaces the recipe's. */
static bool compare_row(cli *c, const char *option, int kind, const char **name)
{
    if (!cli_text(c, option, name)) return false;
    if (!is_a(kind, *name)) unknown(c, *name, kind);
    return true;
}

static bool compare_schedule(cli *c, lab_spec *s)
{
    const char *name;
    if (!cli_text(c, "--schedule", &name)) return false;
    const tfn_choice *schedule = tfn_choice_find("schedule.kind", name);
    if (!schedule) cli_fail(c, "no schedule is called \"%s\"", name);
    s->schedule = (tfn_schedule_kind)schedule->value;
    if (s->schedule == TFN_SCHEDULE_STEP)
        cli_fail(c, "the schedule step falls at an update that no option here sets");
    return true;
}

tfn_isa isa_named(const cli *c, const char *name)
{
    const tfn_isa isa = tfn_isa_find(name);
    if (isa == TFN_ISA_BEST && strcmp(name, "best"))
        cli_fail(c, "no instruction set is called \"%s\"", name);
    if (!tfn_kernels_for(isa)) cli_fail(c, "this machine lacks \"%s\"", name);
    return isa;
}

static bool compare_isa(cli *c, lab_spec *s)
{
    const char *name;
    if (!cli_text(c, "--isa", &name)) return false;
    s->isa = isa_named(c, name);
    return true;
}

static bool compare_size(cli *c, lab_spec *s)
{
    long n;
    if (cli_number(c, "--layers", 1, COMPARE_LAYERS, &n)) {
        s->layers = (int32_t)n;
        return true;
    }
    if (cli_number(c, "--heads", 1, 64, &n)) {
        s->heads = (int32_t)n;
        return true;
    }
    if (cli_number(c, "--mup", 0, 1024, &n)) {
        s->base = (int32_t)n;
        s->plain = n > 0;
        return true;
    }
    if (!cli_number(c, "--width", 8, 1024, &n)) return false;
    if (n % 8) cli_fail(c, "--width needs a multiple of 8, not %ld", n);
    s->width = (int32_t)n;
    s->ffn = 2 * s->width;
    return true;
}

static bool compare_count(cli *c, lab_spec *s)
{
    long n;
    if (cli_number(c, "--warmup", 0, 1L << 30, &n)) s->warmup = n;
    else if (cli_number(c, "--steps", 1, 1L << 30, &n)) s->steps = s->stop = n;
    else if (cli_number(c, "--seed", 0, 1L << 30, &n)) s->seed = (uint64_t)n;
    else if (cli_number(c, "--corpus", 0, 1L << 30, &n)) s->corpus = (int32_t)n;
    else return false;
    return true;
}

bool compare_text(cli *c)
{
#ifdef COMPARE_NO_FILES
    (void)c;
    return false;
#else
    const char *path;
    if (!cli_text(c, "--text", &path)) return false;
    if (lab_corpus.bytes) cli_fail(c, "one --text, not \"%s\" too", path);
    const char *wrong = lab_take_text(path);
    if (wrong) cli_fail(c, "no text in \"%s\": %s", path, wrong);
    return true;
#endif
}

bool compare_pairs(cli *c)
{
#ifdef COMPARE_NO_FILES
    (void)c;
    return false;
#else
    const char *folder;
    if (!cli_text(c, "--pairs", &folder)) return false;
    if (lab_pairs.vocab) cli_fail(c, "one --pairs, not \"%s\" too", folder);
    const char *wrong = lab_take_pairs(folder);
    if (wrong) cli_fail(c, "no pairs in \"%s\": %s", folder, wrong);
    return true;
#endif
}

/* Reads an option of a run. The web page sends such arguments, too. */
static bool compare_option(cli *c, lab_spec *s)
{
    if (compare_size(c, s) || compare_count(c, s) || compare_isa(c, s)) return true;
    if (cli_real(c, "--lr", 0, 1e3, &s->lr)) return true;
    if (cli_real(c, "--dropout", 0, 0.9, &s->dropout)) return true;
    if (cli_real(c, "--smoothing", 0, 0.9, &s->smoothing)) return true;
    if (cli_real(c, "--beta2", 0, 1, &s->beta2)) return true;
    if (compare_row(c, "--norm", NORM, &s->norm) || compare_row(c, "--init", INIT, &s->init))
        return true;
    return compare_optimizer(c, s) || compare_schedule(c, s) || compare_task(c, s);
}

void compare_arguments(cli *c, comparison *x, compare_wishes *w)
{
    lab_spec s = training("", 6, 2e-3, 0, 400);
    const char *names[COMPARED];
    s.seed = 1;
    while (cli_next(c)) {
        if (compare_option(c, &s) || cli_text(c, "--svg", &w->svg)) continue;
        if (cli_number(c, "--hash", 0, 1L << 30, &w->hash)) continue;
        if (compare_text(c) || compare_pairs(c)) continue;
        if (x->count == COMPARED) cli_fail(c, "compare takes at most %d recipes", COMPARED);
        if (!tfn_recipe_find(c->argv[c->at])) unknown(c, c->argv[c->at], RECIPE);
        names[x->count++] = c->argv[c->at];
    }
    if (!x->count) cli_fail(c, "compare needs recipes; normlab list recipes lists them");
    if (s.task == LAB_FILE && !lab_corpus.bytes) cli_fail(c, "--task file needs --text FILE");
    if (s.task != LAB_FILE && lab_corpus.bytes) cli_fail(c, "--text needs --task file");
    if (s.task == LAB_PAIRS && !lab_pairs.vocab) cli_fail(c, "--task pairs needs --pairs FOLDER");
    if (s.task != LAB_PAIRS && lab_pairs.vocab) cli_fail(c, "--pairs needs --task pairs");
    if (w->svg && w->hash >= 0) cli_fail(c, "--hash draws nothing: not with --svg");
    for (int k = 0; k < x->count; k++) {
        x->run[k].spec = s;
        x->run[k].spec.recipe = names[k];
    }
}

int compare_command(cli *c)
{
    static comparison x;
    compare_wishes w = { NULL, -1 };
    compare_arguments(c, &x, &w);
    bool ok = compare_start(&x);
    if (ok && w.hash >= 0) ok = compare_hash(&x, w.hash);
    else if (ok) compare_train(&x, output_is_terminal(stdout));
    if (ok && w.svg) ok = compare_svg(&x, w.svg);
    for (int k = 0; k < x.count; k++) tfn_model_free(&x.run[k].model);
    return ok ? 0 : 1;
}
