/* normlab compare: recipes trained in lock step on one task, their loss curves and gradients
 * by layer as text while they run, as SVG at the end. */
#ifndef COMPARE_H
#define COMPARE_H
#include "lab.h"
#include "svg.h"
#ifdef _WIN32
#include <io.h>
#define compare_is_terminal() _isatty(_fileno(stdout))
#else
#include <unistd.h>
#define compare_is_terminal() isatty(STDOUT_FILENO)
#endif

enum { COMPARED = 8, COMPARE_LAYERS = 64 };
typedef struct compared {
    lab_spec  spec;
    tfn_model model;
    bool      ok;
    double    loss[LAB_POINTS + 1], gradient[COMPARE_LAYERS];     /* of W_2, decoder */
} compared;
typedef struct comparison {
    compared  run[COMPARED];
    int       count, points;
    double    updates[LAB_POINTS + 1], layers[COMPARE_LAYERS];
    lab_data  data, test;
} comparison;

static void compare_gradients(compared *c, int64_t tokens)
{
    tfn_param_info p;
    int side;
    for (int32_t i = 0; tfn_model_param(&c->model, i, &p); i++) {
        double sum = 0;
        if (lab_matrix(&p, &side) != 5 || !side || p.layer >= COMPARE_LAYERS) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++) sum += (double)p.grad[j] * (double)p.grad[j];
        c->gradient[p.layer] = sqrt(sum) / (double)tokens;     /* it is of the summed loss */
    }
}

/* The curves so far and the gradients of the last update: two plots of the same runs. */
static void compare_plots(const comparison *x, svg_curve *losses, svg_curve *gradients,
                          svg_plot plots[2])
{
    memset(plots, 0, 2 * sizeof *plots);
    for (int k = 0; k < x->count; k++) {
        const compared *c = &x->run[k];
        memset(&losses[k], 0, sizeof *losses), memset(&gradients[k], 0, sizeof *gradients);
        losses[k].name = gradients[k].name = c->spec.recipe;
        losses[k].x = x->updates, losses[k].y = c->loss, losses[k].count = x->points;
        gradients[k].x = x->layers, gradients[k].y = c->gradient;
        gradients[k].count = lab_depth(&c->spec, true);
    }
    plots[0].title = "Loss";
    plots[0].x_label = "updates", plots[0].y_label = "validation loss [nats per token]";
    plots[1].title = "Gradients";
    plots[1].x_label = "decoder layer", plots[1].y_label = "gradient norm of W2";
    plots[0].curves = losses, plots[1].curves = gradients;
    plots[0].count = plots[1].count = x->count;
    plots[1].log_y = true;
}
static void compare_draw(const comparison *x, bool again)
{
    svg_curve losses[COMPARED], gradients[COMPARED];
    svg_plot plots[2];
    compare_plots(x, losses, gradients, plots);
    if (again) fputs("\033[H\033[J", stdout);
    plot_curves(stdout, &plots[0]);
    plot_bars(stdout, &plots[1]);
    fflush(stdout);
}
static bool compare_svg(const comparison *x, const char *path)
{
    svg_curve losses[COMPARED], gradients[COMPARED];
    svg_plot plots[2];
    bool ok = true;
    compare_plots(x, losses, gradients, plots);
    for (int i = 0; i < 2; i++) {
        char name[OUTPUT_PATH];
        output_file o;
        FILE *f;
        snprintf(name, sizeof name, "%s%s.svg", path, i ? "-gradients" : "-loss");
        f = output_open(&o, name);
        if (f && i) svg_bars(f, &plots[i]);
        else if (f) svg_curves(f, &plots[i]);
        ok = output_close(&o) && ok;
    }
    return ok;
}

static bool compare_start(comparison *x)
{
    for (int i = 0; i < COMPARE_LAYERS; i++) x->layers[i] = i + 1;
    lab_prepare();
    if (x->run[0].spec.task == LAB_SPEECH && !lab_speak())
        return fprintf(stderr, "normlab: out of memory\n"), false;
    for (int k = 0; k < x->count; k++) {
        compared *c = &x->run[k];
        tfn_model_desc d = lab_desc(&c->spec, false);
        char text[160];
        c->ok = tfn_model_new(&c->model, &d, NULL) == TFN_OK;
        if (!c->ok) {
            tfn_error_text(&c->model.error, text, sizeof text);
            return fprintf(stderr, "normlab: %s: %s\n", c->spec.recipe, text), false;
        }
        lab_fill(&x->data, &c->spec, LAB_TEST, c->spec.seed, UINT64_MAX - 1);
        tfn_model_profile(&c->model, &x->data.batch);
    }
    lab_fill(&x->test, &x->run[0].spec, LAB_TEST, 1u << 20, UINT64_MAX);
    return true;
}

/* All runs together, a twentieth of the updates at a time. */
static void compare_train(comparison *x, bool terminal)
{
    const int64_t steps = x->run[0].spec.steps;
    int64_t step = 0, tokens = 1;
    for (int point = 0; point <= LAB_POINTS; point++) {
        for (; step < steps * point / LAB_POINTS; step++)
            for (int k = 0; k < x->count; k++) {
                compared *c = &x->run[k];
                tfn_report report;
                lab_fill(&x->data, &c->spec, c->spec.batch, c->spec.seed, (uint64_t)step);
                if (c->ok && tfn_model_step(&c->model, &x->data.batch, &report) != TFN_OK)
                    c->ok = false;
                tokens = report.tokens;
            }
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
    printf("\nFinal loss, nats per token (guessing by frequency: %.4f)\n", lab_unigram(&x->test));
    for (int k = 0; k < x->count; k++)
        printf("  %-20s %.4f\n", x->run[k].spec.recipe, x->run[k].loss[LAB_POINTS]);
}
#endif
