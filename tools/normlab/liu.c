/* Rows of Liu 2020, "Understanding the Difficulty of Training Transformers" (Admin). */
#include "liu.h"
#include "xiong.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* -- depth ------------------------------------------------------------------------------------- */

static void a1a(lab *l, outcome *o) { found_failing(l, o, deeper("post")); }
static void a1b(lab *l, outcome *o)
{
    compare_settled(l, o, settled("admin", 12), settled("pre", 12));
}
static void a1c(lab *l, outcome *o)
{
    compare_settled(l, o, settled("post", 6), settled("pre", 6));
}
static void a1d(lab *l, outcome *o)
{
    const lab_spec post = settled("post", 6);
    const lab_spec pre = settled("pre", 6);
    finds(o, minus(curve_at(l, &pre, LAB_CHECKS / 8), curve_at(l, &post, LAB_CHECKS / 8)));
    draw_loss(l, o, post, "post");
    draw_loss(l, o, pre, "pre");
}
/* The loss of each seed at the better of two rates, and whether that run settled. */
static lab_sample at_better_rate(lab *l, lab_spec s, lab_spec faster, lab_sample *ended)
{
    lab_sample a = loss_of(l, s);
    const lab_sample b = loss_of(l, faster);
    const lab_sample ended_faster = lab_over(l, faster, "settled", 0);
    *ended = lab_over(l, s, "settled", 0);
    for (int32_t i = 0; i < a.n; i++) {
        if (b.v[i] < a.v[i]) {
            a.v[i] = b.v[i];
            ended->v[i] = ended_faster.v[i];
        }
    }
    lab_sum_up(&a);
    lab_sum_up(ended);
    return a;
}
static void a1e(lab *l, outcome *o)
{
    static const char *const RECIPES[2] = { "post", "pre" };
    lab_sample best[2], ended[2];
    say(o, "At 2e-3 ");
    for (int32_t i = 0; i < 2; i++) {
        lab_spec faster = settled(RECIPES[i], 6);
        faster.lr *= 2;
        best[i] = at_better_rate(l, settled(RECIPES[i], 6), faster, &ended[i]);
        draw_loss(l, o, faster, RECIPES[i]);
        say_settled(l, o, faster);
    }
    finds(o, mean_of(ended, 2));
    finds(o, minus(best[0], best[1]));
}

/* Early, as A1d: "the same convergence speed", so that Admin may also be ahead. */
static void a1f(lab *l, outcome *o)
{
    const lab_spec admin = settled("admin", 6);
    const lab_spec pre = settled("pre", 6);
    finds(o, minus(curve_at(l, &admin, LAB_CHECKS / 8), curve_at(l, &pre, LAB_CHECKS / 8)));
    draw_loss(l, o, admin, "admin");
    draw_loss(l, o, pre, "pre");
}

/* -- gradients that vanish --------------------------------------------------------------------- */

/* The growth of the gradient's logarithm per sub-layer on the way down. */
static void growth_downwards(lab *l, outcome *o, const char *recipe)
{
    static lab_sample rows[2 * LAB_DEEPEST];
    const int32_t n = 2 * lab_layers(l, 18);
    double x[2 * LAB_DEEPEST], y[2 * LAB_DEEPEST];
    samples_of(l, at_start(recipe, 18), "enc_output_gradient", n, rows);
    lab_sample slope = rows[0];
    for (int32_t s = 0; s < slope.n; s++) {
        for (int32_t i = 0; i < n; i++) {
            x[i] = n - i;
            y[i] = log(rows[i].v[s]);
        }
        slope.v[s] = lab_line_through(n, x, y).b;
    }
    lab_sum_up(&slope);
    for (int32_t i = 0; i < n; i++) x[i] = i + 1;
    points(line_of(o, "encoder sub-layer", OUT_GRADIENT, recipe), x, rows, n);
    finds(o, slope);
}
static void a2a(lab *l, outcome *o) { growth_downwards(l, o, "post"); }
static void a2b(lab *l, outcome *o) { growth_downwards(l, o, "pre"); }

/* The least gradient of a sub-layer's output over the largest, by means over seeds. */
static double least_of_largest(int32_t n, const double *x, const double *means)
{
    double low = means[0];
    double high = means[0];
    (void)x;
    for (int32_t i = 1; i < n; i++) {
        low = fmin(low, means[i]);
        high = fmax(high, means[i]);
    }
    return log(low / high);
}
static lab_sample vanishing(lab *l, outcome *o, const char *recipe, bool decoder)
{
    static lab_sample rows[3 * LAB_DEEPEST];
    const int32_t n = lab_layers(l, 18) * (decoder ? 3 : 2);
    char name[40];
    samples_of(l, at_start(recipe, 18), decoder ? "dec_output_gradient" : "enc_output_gradient", n,
               rows);
    const lab_sample a = jackknifed(rows, n, NULL, least_of_largest);
    snprintf(name, sizeof name, "%s, %s", paper_name(recipe), decoder ? "decoder" : "encoder");
    figure_line *line = line_of(o, "sub-layer", "gradient norm, of the largest", name);
    const double high = extreme(rows, n, true).mean;
    for (int32_t i = 0; i < n; i++) point(line, i + 1, rows[i].mean / high, 0);
    o->fig.log_y = true;
    return a;
}
static void a3a(lab *l, outcome *o)
{
    finds(o, vanishing(l, o, "post", true));
    vanishing(l, o, "post", false);
}
static void a3b(lab *l, outcome *o)
{
    finds(o, vanishing(l, o, "post", false));
    finds(o, vanishing(l, o, "pre", true));
    finds(o, vanishing(l, o, "pre", false));
}

/* The growth of the gradient from a sub-layer's output to its input. A mean over layers, without
 * the first if it has no sub-layer of another kind below. */
static lab_sample through(const lab_sample *rows, int32_t kind, int32_t layers)
{
    lab_sample a = rows[0];
    for (int32_t s = 0; s < a.n; s++) {
        double sum = 0;
        int count = 0;
        for (int32_t i = 0; i < layers; i++) {
            const int32_t at = 3*i + kind;
            if (at == 0) continue;
            sum += log(rows[at - 1].v[s] / rows[at].v[s]);
            count++;
        }
        a.v[s] = sum / count;
    }
    lab_sum_up(&a);
    return a;
}
void a4(lab *l, outcome *o)
{
    static lab_sample rows[3 * LAB_DEEPEST];
    const int32_t n = lab_layers(l, 18);
    samples_of(l, at_start("post", 18), "dec_output_gradient", 3*n, rows);
    draw_list(l, o, at_start("post", 18), "dec_output_gradient", 3*n, "decoder sub-layer",
              OUT_GRADIENT, "post");
    o->fig.log_y = true;
    finds(o, through(rows, 1, n));
    finds(o, through(rows, 0, n));
    finds(o, through(rows, 2, n));
}

lab_sample bottom_over_top(lab *l, lab_spec s)
{
    return log_ratio(lab_over(l, s, "dec_output_gradient", 0),
                     lab_over(l, s, "dec_output_gradient", -1));
}
/* The encoder of Post-LN with the decoder of Pre-LN. */
static lab_spec mixed(lab_spec s)
{
    s.decoder = "pre";
    return s;
}
static void a5a(lab *l, outcome *o)
{
    finds(o, bottom_over_top(l, at_start("post", 12)));
    finds(o, bottom_over_top(l, mixed(at_start("post", 12))));
}
static void a5b(lab *l, outcome *o)
{
    found_failing(l, o, mixed(deep("post")));
    draw_loss(l, o, deep("pre"), "Pre-LN, Pre-LN");
    finds(o, bleu_of(l, deep("pre")));
}

/* -- how far the output moves ------------------------------------------------------------------ */

static const int32_t shift_depths[] = { 1, 2, 4, 6, 9, 12, 18, 24 };
enum { SHIFT_DEPTHS = 8 };
static lab_spec moved(const char *recipe, int32_t layers, bool step)
{
    lab_spec s = wide(setting(LAB_RANDOM, recipe, layers));
    s.batch = 8;
    if (step) s.step = 1e-6;
    else s.noise = 1e-4;
    return s;
}
/* The same with each layer moved separately, which costs as many passes as there are layers. */
static lab_spec moved_each(const char *recipe, int32_t layers)
{
    lab_spec s = moved(recipe, layers, true);
    s.each = s.few = true;
    return s;
}
/* Shifts at all depths; x: their sub-layers. Draws and reports them once, even if a row asks
 * often. */
static void shifts(lab *l, outcome *o, const char *recipe, bool step, const char *list,
                   double *x, lab_sample *rows)
{
    char name[40];
    const bool inner = !strcmp(list, "shift_inner");
    const int drawn = o->fig.lines;
    for (int i = 0; i < SHIFT_DEPTHS; i++) {
        rows[i] = lab_over(l, moved(recipe, shift_depths[i], step), list, 0);
        x[i] = 2 * lab_layers(l, shift_depths[i]);
    }
    snprintf(name, sizeof name, "%s%s", paper_name(recipe), inner ? " before its last norm" : "");
    points(line_of(o, "sub-layers N", "|F - F*|^2 a token", name), x, rows, SHIFT_DEPTHS);
    if (o->fig.lines == drawn) return;
    say(o, "Exponent of N of ");
    say_named(o, name, 2, exponents(rows, SHIFT_DEPTHS, x));
}
static void shift_law(lab *l, outcome *o, const char *recipe, bool step, const char *list)
{
    static lab_sample rows[SHIFT_DEPTHS];
    double x[SHIFT_DEPTHS];
    shifts(l, o, recipe, step, list, x, rows);
    finds(o, jackknifed(rows, SHIFT_DEPTHS, x, linear_rather_than_log));
}
/* The law of one recipe, with the line of another next to it, because the picture compares them. */
static void shift_beside(lab *l, outcome *o, const char *recipe, const char *beside)
{
    static lab_sample rows[SHIFT_DEPTHS];
    double x[SHIFT_DEPTHS];
    shift_law(l, o, recipe, false, "shift");
    shifts(l, o, beside, false, "shift", x, rows);
}
void a6a(lab *l, outcome *o) { shift_beside(l, o, "post", "pre"); }
static void a6b(lab *l, outcome *o) { shift_beside(l, o, "pre", "post"); }
static void a6c(lab *l, outcome *o) { shift_law(l, o, "pre", false, "shift_inner"); }
static void a6d(lab *l, outcome *o) { shift_law(l, o, "admin", false, "shift"); }

/* The ratio of Post-LN's shift in a step to another recipe's, at the deepest model. */
static void step_ratio(lab *l, outcome *o, const char *recipe, const char *list)
{
    static lab_sample rows[SHIFT_DEPTHS];
    double x[SHIFT_DEPTHS];
    o->fig.log_y = true;
    shifts(l, o, "post", true, list, x, rows);
    const lab_sample post = rows[SHIFT_DEPTHS - 1];
    shifts(l, o, recipe, true, list, x, rows);
    finds(o, log_ratio(post, rows[SHIFT_DEPTHS - 1]));
}
static void a7a(lab *l, outcome *o)
{
    step_ratio(l, o, "pre", "shift");
    step_ratio(l, o, "admin", "shift");
}
static void a7b(lab *l, outcome *o) { step_ratio(l, o, "pre", "shift_inner"); }
static void a7c(lab *l, outcome *o) { shift_law(l, o, "post", true, "shift"); }
static void a7d(lab *l, outcome *o)
{
    shift_law(l, o, "pre", true, "shift");
    shift_law(l, o, "pre", true, "shift_inner");
    shift_law(l, o, "admin", true, "shift");
}
/* Explains a law that differs from theorem 2's. Layers that step together do not move the output
 * like independent changes, whose squares add up. Gives the exponent of N for all layers together
 * minus that for separate layers. */
static void coherent(lab *l, outcome *o, const char *recipe)
{
    static lab_sample all[SHIFT_DEPTHS], alone[SHIFT_DEPTHS];
    double x[SHIFT_DEPTHS];
    for (int i = 0; i < SHIFT_DEPTHS; i++) {
        const lab_spec s = moved_each(recipe, shift_depths[i]);
        all[i] = lab_over(l, s, "shift", 0);
        alone[i] = lab_over(l, s, "each", 0);
        x[i] = 2 * lab_layers(l, shift_depths[i]);
    }
    char name[40];
    o->fig.log_x = o->fig.log_y = true;
    points(line_of(o, "sub-layers N", "|F - F*|^2 a token", recipe), x, all, SHIFT_DEPTHS);
    snprintf(name, sizeof name, "%s, layer by layer", paper_name(recipe));
    points(line_of(o, "sub-layers N", "|F - F*|^2 a token", name), x, alone, SHIFT_DEPTHS);
    finds(o, minus(exponents(all, SHIFT_DEPTHS, x), exponents(alone, SHIFT_DEPTHS, x)));
    say(o, "Exponent of N of %s ", paper_name(recipe));
    say_sample(o, "", 2, exponents(all, SHIFT_DEPTHS, x));
    say_sample(o, " together, alone ", 2, exponents(alone, SHIFT_DEPTHS, x));
    say(o, "; ");
}
static void a7e(lab *l, outcome *o)
{
    coherent(l, o, "post");
    coherent(l, o, "pre");
}
/* R^2 of the second half of the means against the first. */
static double share_of_pairs(int32_t n, const double *x, const double *means)
{
    (void)x;
    return lab_line_through(n / 2, means, means + n / 2).r2;
}
static lab_sample beta_squares(lab *l, lab_spec s, int32_t subs)
{
    lab_sample sum = lab_over(l, s, "enc_beta", 1);
    for (int32_t k = 0; k < sum.n; k++) sum.v[k] *= sum.v[k];
    for (int32_t i = 1; i < subs; i++) {
        const lab_sample a = lab_over(l, s, "enc_beta", i * (subs + 1) + i + 1);
        for (int32_t k = 0; k < sum.n; k++) sum.v[k] += a.v[k] * a.v[k];
    }
    lab_sum_up(&sum);
    return sum;
}
static void a8(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    enum { PAIRS = 3 * SHIFT_DEPTHS };
    static lab_sample rows[2 * PAIRS];
    for (int n = 0; n < PAIRS; n++) {
        const char *recipe = recipes[n / SHIFT_DEPTHS];
        const int32_t depth = shift_depths[n % SHIFT_DEPTHS];
        const lab_spec s = moved(recipe, depth, false);
        rows[n] = beta_squares(l, s, 2 * lab_layers(l, depth));
        rows[PAIRS + n] = lab_over(l, s, "shift", 0);
        if (n % SHIFT_DEPTHS == 0)
            line_of(o, "sum of beta_ii squared", "|F - F*|^2 a token", recipe);
        point(&o->fig.line[o->fig.lines - 1], rows[n].mean, rows[PAIRS + n].mean, 0);
    }
    finds(o, jackknifed(rows, 2 * PAIRS, NULL, share_of_pairs));
}

/* -- the weight of a branch -------------------------------------------------------------------- */

/* beta_ii^2 of an encoder, sub-layers 1 to n, for each seed. */
static void diagonal(lab *l, lab_spec s, lab_sample *square, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        square[i] = lab_over(l, s, "enc_beta", i * (n + 1) + i + 1);
        for (int32_t k = 0; k < square[i].n; k++) square[i].v[k] *= square[i].v[k];
        lab_sum_up(&square[i]);
    }
}
/* The same for 18 layers at the start, and draws it. Returns how many; x: their numbers. */
static int32_t diagonal_18(lab *l, outcome *o, const char *recipe, double *x, lab_sample *square)
{
    const int32_t n = 2 * lab_layers(l, 18);
    diagonal(l, wide(at_start(recipe, 18)), square, n);
    for (int32_t i = 0; i < n; i++) x[i] = i + 1;
    o->fig.log_x = o->fig.log_y = true;
    points(line_of(o, "sub-layer i", "beta_ii squared", recipe), x, square, n);
    return n;
}
static void diagonal_power(lab *l, outcome *o, const char *recipe)
{
    static lab_sample square[2 * LAB_DEEPEST];
    double x[2 * LAB_DEEPEST];
    const int32_t n = diagonal_18(l, o, recipe, x, square);
    finds(o, exponents(square + 2, n - 2, x + 2));
}
/* The power of one recipe, with the line of another next to it. */
static void diagonal_beside(lab *l, outcome *o, const char *recipe, const char *beside)
{
    static lab_sample square[2 * LAB_DEEPEST];
    double x[2 * LAB_DEEPEST];
    diagonal_power(l, o, recipe);
    diagonal_18(l, o, beside, x, square);
}
void a9a(lab *l, outcome *o) { diagonal_beside(l, o, "post", "pre"); }
void a9b(lab *l, outcome *o) { diagonal_beside(l, o, "pre", "post"); }
static void a13a(lab *l, outcome *o) { diagonal_power(l, o, "admin"); }
static void a13b(lab *l, outcome *o)
{
    static lab_sample square[2 * LAB_DEEPEST];
    double x[2 * LAB_DEEPEST];
    const int32_t n = diagonal_18(l, o, "admin", x, square);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < square[i].n; k++) square[i].v[k] = 1 / square[i].v[k];
        lab_sum_up(&square[i]);
    }
    finds(o, jackknifed(square, n, x, linear_slope));
    finds(o, jackknifed(square, n, x, linear_share));
}
static void a10(lab *l, outcome *o)
{
    const int32_t n = 2 * lab_layers(l, 6);
    lab_spec s = wide(at_start("post", 6));
    double wrong = 0;
    double sums = 0;
    for (int32_t i = 0; i < n; i++) {
        double sum = 0;
        for (int32_t j = 0; j <= n; j++) {
            double beta = lab_over(l, s, "enc_beta", i*(n + 1) + j).mean;
            sum += beta * beta;
        }
        sums = fmax(sums, fabs(sum - 1));
    }
    for (int32_t i = 2; i < n; i++)            /* beta_ik / beta_jk over k, j = i - 1 */
        for (int32_t k = 0; k + 2 < i; k++) {
            double a = lab_over(l, s, "enc_beta", i*(n + 1) + k).mean;
            double b = lab_over(l, s, "enc_beta", (i - 1)*(n + 1) + k).mean;
            double c = lab_over(l, s, "enc_beta", i*(n + 1) + k + 1).mean;
            double d = lab_over(l, s, "enc_beta", (i - 1)*(n + 1) + k + 1).mean;
            wrong = fmax(wrong, fabs(a*d / (b*c) - 1));
        }
    say(o, "Post-LN, %d sub-layers: the ratios differ by at most %.1f %%, sums of squares from 1 "
        "by %.1g. ", (int)n, 100 * wrong, sums);
    holds(o, wrong < 0.1 && sums < 0.02);
}
static void draw_beta(lab *l, outcome *o, lab_spec s, int32_t n, const char *name)
{
    if (n >= FIGURE_MATRIX) return;
    o->fig.x = "part j, 1: the embedding";
    o->fig.y = "sub-layer i";
    o->fig.matrix = n + 1;
    for (int32_t i = 0; i < n * (n + 1); i++)
        o->fig.cells[i] = lab_over(l, s, "enc_beta", i).mean;
    snprintf(o->fig.line[0].name, sizeof o->fig.line[0].name, "beta_ij of %s", paper_name(name));
}
static lab_spec untrained(const char *recipe, int32_t layers)
{
    lab_spec s = at_start(recipe, layers);
    s.batch = 32;
    return s;
}
static lab_sample mean_diagonal(lab *l, lab_spec s)
{
    static lab_sample square[2 * LAB_DEEPEST];
    const int32_t n = 2 * lab_layers(l, s.layers);
    diagonal(l, s, square, n);
    return mean_of(square, n);
}
static void a11a(lab *l, outcome *o)
{
    finds(o, log_ratio(mean_diagonal(l, trained("pre", 6)), mean_diagonal(l, untrained("pre", 6))));
    draw_beta(l, o, trained("pre", 6), 2 * lab_layers(l, 6), "pre");
}
static void a11b(lab *l, outcome *o)
{
    finds(o, log_ratio(mean_diagonal(l, untrained("post", 6)),
                       mean_diagonal(l, untrained("pre", 6))));
    finds(o, log_ratio(mean_diagonal(l, trained("post", 6)), mean_diagonal(l, trained("pre", 6))));
    draw_beta(l, o, trained("post", 6), 2 * lab_layers(l, 6), "post");
}
static void a12a(lab *l, outcome *o)
{
    finds(o, log_ratio(mean_diagonal(l, untrained("admin", 12)),
                       mean_diagonal(l, untrained("pre", 12))));
    draw_beta(l, o, untrained("admin", 12), 2 * lab_layers(l, 12), "admin");
}
static void a12b(lab *l, outcome *o)
{
    finds(o, log_ratio(mean_diagonal(l, trained("admin", 12)),
                       mean_diagonal(l, trained("pre", 12))));
    draw_beta(l, o, trained("admin", 12), 2 * lab_layers(l, 12), "admin");
}
static lab_spec trained_longer(const char *recipe)
{
    lab_spec s = trained(recipe, 12);
    s.steps *= 4;
    s.stop *= 4;
    return s;
}
static void a12c(lab *l, outcome *o)
{
    finds(o, log_ratio(mean_diagonal(l, trained_longer("admin")),
                       mean_diagonal(l, trained_longer("pre"))));
    draw_beta(l, o, trained_longer("admin"), 2 * lab_layers(l, 12), "admin");
    draw_beta(l, o, trained("admin", 12), 2 * lab_layers(l, 12), "after 400 updates");
    say_sample(o, "Loss of Admin ", 4, loss_of(l, trained_longer("admin")));
    say_sample(o, ", Pre-LN ", 4, loss_of(l, trained_longer("pre")));
    say(o, ". ");
}

/* -- gradients and updates of matrices --------------------------------------------------------- */

/* Figures 5 and 11: every matrix of self-attention of every layer in both stacks. First 48
 * gradients, then 48 changes in the last twentieth of the updates. */
enum { UNBALANCED = 2 * 2 * 4 * LAB_DEEPEST };
static int32_t matrices_of(lab *l, outcome *o, lab_sample *rows)
{
    static const char *const names[] = { "q", "k", "v", "o" };
    static const char *const what[] = { "gradient", "update" };
    static const char *const lines[] = { "gradient, encoder", "gradient, decoder",
                                         "change, encoder", "change, decoder" };
    lab_spec s = trained("pre", 6);
    const int32_t n = lab_layers(l, 6);
    int32_t count = 0;
    s.score = false;
    s.stop = 300;
    o->fig.log_y = true;
    for (int k = 0; k < 4; k++) {
        figure_line *line = line_of(o, "W_Q of layers 1 to N, then W_K, W_V, W_O",
                                    "norm [gradient: nats per token]", lines[k]);
        for (int32_t i = 0; i < 4*n; i++) {
            char list[32];
            snprintf(list, sizeof list, "%s_%s_%s", k % 2 ? "dec" : "enc", names[i / n],
                     what[k / 2]);
            rows[count] = lab_over(l, s, list, i % n);
            point(line, i + 1, rows[count].mean, rows[count].sd);
            count++;
        }
    }
    return count;
}
/* The spread of the first half divided by the spread of the second. */
static double spread_ratio(int32_t n, const double *x, const double *means)
{
    return least_of_largest(n / 2, x, means + n / 2) - least_of_largest(n / 2, x, means);
}
static void a14a(lab *l, outcome *o)
{
    static lab_sample rows[UNBALANCED];
    const int32_t n = matrices_of(l, o, rows);
    finds(o, jackknifed(rows, n, NULL, spread_ratio));
}
static void a14b(lab *l, outcome *o)
{
    static lab_sample rows[UNBALANCED];
    const int32_t layers = matrices_of(l, o, rows) / 16;
    lab_sample first = mean_of(rows, 2 * layers);       /* W_Q and W_K of the encoder */
    lab_sample second = mean_of(rows + 2 * layers, 2 * layers);
    const lab_sample more = mean_of(rows + 4 * layers, 2 * layers);
    const lab_sample rest = mean_of(rows + 6 * layers, 2 * layers);
    for (int32_t k = 0; k < first.n; k++) {
        first.v[k] += more.v[k];
        second.v[k] += rest.v[k];
    }
    finds(o, log_ratio(first, second));
}

/* Figure 5's explanation of why SGD fails. X12b has Post-LN's runs. */
static void a14c(lab *l, outcome *o)
{
    lab_spec pre = by_sgd(200, 0);
    pre.recipe = "pre";
    draw_loss(l, o, by_sgd(200, 0), "Post-LN, SGD");
    draw_loss(l, o, pre, "Pre-LN, SGD");
    draw_loss(l, o, by_adam(200), "Post-LN, Adam");
    finds(o, bleu_of(l, by_adam(200)));
    finds(o, bleu_of(l, by_sgd(200, 0)));
    finds(o, bleu_of(l, pre));
}

/* -- training ---------------------------------------------------------------------------------- */

static void a15(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    lab_sample ended[3];
    for (int k = 0; k < 3; k++) {
        const lab_spec s = settled(recipes[k], 4);
        ended[k] = lab_over(l, s, "settled", 0);
        draw_loss(l, o, s, recipes[k]);
        say_settled(l, o, s);
    }
    finds(o, mean_of(ended, 3));
    finds(o, minus(loss_of(l, settled("post", 4)), loss_of(l, settled("pre", 4))));
    finds(o, minus(loss_of(l, settled("admin", 4)), loss_of(l, settled("pre", 4))));
}
void settled_bleu(lab *l, outcome *o, lab_spec a, lab_spec b)
{
    lab_sample rows[2] = { lab_over(l, a, "settled", 0), lab_over(l, b, "settled", 0) };
    draw_loss(l, o, a, a.recipe);
    draw_loss(l, o, b, b.recipe);
    finds(o, mean_of(rows, 2));
    finds(o, minus(bleu_of(l, a), bleu_of(l, b)));
}
static void a16a(lab *l, outcome *o) { settled_bleu(l, o, settled("post", 6), settled("pre", 6)); }
static void a16b(lab *l, outcome *o)
{
    settled_bleu(l, o, settled("admin", 12), settled("pre", 12));
}
static void a16c(lab *l, outcome *o) { settled_bleu(l, o, settled("admin", 6), settled("pre", 6)); }
static void a16d(lab *l, outcome *o)
{
    settled_bleu(l, o, settled("admin", 6), settled("post", 6));
}
static void a16e(lab *l, outcome *o)
{
    settled_bleu(l, o, settled("admin", 18), settled("pre", 18));
}
static void a16f(lab *l, outcome *o)
{
    const lab_spec admin = longer(giant("admin", 60, 12));
    const lab_spec pre = longer(giant("pre", 60, 12));
    draw_loss(l, o, admin, "admin");
    draw_loss(l, o, pre, "pre");
    finds(o, minus(bleu_of(l, admin), bleu_of(l, pre)));
}
static void a17(lab *l, outcome *o)
{
    static const int64_t warmups[] = { 50, 100, 200, 300 };
    lab_spec s = deeper("post");
    for (int i = 0; i < 4; i++) {
        char name[32];
        s.warmup = warmups[i];
        snprintf(name, sizeof name, "warm-up %d", (int)warmups[i]);
        draw_loss(l, o, s, name);
        finds(o, bleu_of(l, s));
    }
    draw_loss(l, o, control(s), "a third of the rate");
    finds(o, bleu_of(l, control(s)));
}
/* Figure 10: rates times beta2, without warm-up. */
static const double rates[] = { 2e-3, 4e-3, 6e-3, 8e-3, 1.2e-2 }, betas[] = { .999, .995, .99 };
enum { CELLS = 15 };

/* How many of the 15 cells of rates and beta2 fail, for each seed. */
static lab_sample failing_cells(lab *l, outcome *o, const char *recipe)
{
    lab_sample failed;
    figure_line *line = line_of(o, "peak learning rate",
                                "final loss, mean over beta2 [nats per token]", recipe);
    memset(&failed, 0, sizeof failed);
    for (int i = 0; i < 5; i++) {
        lab_sample loss[3];
        for (int j = 0; j < 3; j++) {
            lab_spec s = training(recipe, 4, rates[i], 1, 350);
            s.beta2 = betas[j];
            const lab_sample bleu = bleu_of(l, s);
            failed.n = bleu.n;
            for (int32_t k = 0; k < bleu.n; k++) failed.v[k] += !(bleu.v[k] >= FAILS_BELOW);
            loss[j] = loss_of(l, s);
        }
        point(line, rates[i], mean_of(loss, 3).mean, 0);
    }
    lab_sum_up(&failed);
    return failed;
}
static void draw_others(lab *l, outcome *o, const char *a, const char *b)
{
    failing_cells(l, o, a);
    failing_cells(l, o, b);
}
static void a18a(lab *l, outcome *o)
{
    finds(o, failing_cells(l, o, "post"));
    draw_others(l, o, "pre", "admin");
}
static void a18b(lab *l, outcome *o)
{
    finds(o, failing_cells(l, o, "pre"));
    draw_others(l, o, "post", "admin");
}
static void a18c(lab *l, outcome *o)
{
    finds(o, failing_cells(l, o, "admin"));
    draw_others(l, o, "post", "pre");
}
/* The same grid on 400 sentences, where BLEU has room: a cell for each rate and beta2. */
static void grid_bleu(lab *l, outcome *o, const char *recipe, lab_sample *cells)
{
    figure_line *line = line_of(o, "peak learning rate", "BLEU, mean over beta2", recipe);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 3; j++) {
            lab_spec s = training(recipe, 4, rates[i], 1, 2000);
            s.task = LAB_TRANSLATE;
            s.corpus = 400;
            s.dropout = 0.1;
            s.smoothing = 0;
            s.beta2 = betas[j];
            cells[3*i + j] = bleu_of(l, s);
        }
        point(line, rates[i], mean_of(cells + 3*i, 3).mean, 0);
    }
}
/* Compares two grids in the cells where both learn: the mean difference, the share of these cells
 * in which the first is ahead, and how many they are. A seed without one has 0, 1/2 and 0. */
typedef struct grid_pair { lab_sample difference, ahead, cells; } grid_pair;
static grid_pair compare_grids(const lab_sample *a, const lab_sample *b)
{
    grid_pair p;
    p.difference = p.ahead = p.cells = a[0];
    for (int32_t k = 0; k < a[0].n; k++) {
        double sum = 0;
        int count = 0;
        int ahead = 0;
        for (int i = 0; i < CELLS; i++) {
            if (!(a[i].v[k] >= FAILS_BELOW) || !(b[i].v[k] >= FAILS_BELOW)) continue;
            sum += a[i].v[k] - b[i].v[k];
            ahead += a[i].v[k] > b[i].v[k];
            count++;
        }
        p.difference.v[k] = count ? sum / count : 0;
        p.ahead.v[k] = count ? (double)ahead / count : 0.5;
        p.cells.v[k] = count;
    }
    lab_sum_up(&p.difference);
    lab_sum_up(&p.ahead);
    lab_sum_up(&p.cells);
    return p;
}
static void a18d(lab *l, outcome *o)
{
    static lab_sample post[CELLS], pre[CELLS];
    grid_bleu(l, o, "post", post);
    grid_bleu(l, o, "pre", pre);
    const grid_pair p = compare_grids(post, pre);
    finds(o, p.cells);
    finds(o, p.ahead);
    say_sample(o, "Mean difference ", 1, p.difference);
    say(o, " BLEU. ");
}
static void a18e(lab *l, outcome *o)
{
    static lab_sample admin[CELLS], pre[CELLS];
    grid_bleu(l, o, "admin", admin);
    grid_bleu(l, o, "pre", pre);
    const grid_pair p = compare_grids(admin, pre);
    finds(o, p.cells);
    finds(o, p.difference);
}
static void a19(lab *l, outcome *o)
{
    static const char *const recipes[] = { "rezero", "fixup", "looklinear" };
    lab_spec s;
    for (int k = 0; k < 3; k++) {
        s = deeper(recipes[k]);
        s.half = true;
        s.dropout = 0.1;
        draw_loss(l, o, s, recipes[k]);
        finds(o, bleu_of(l, s));
    }
    draw_loss(l, o, control(s), "LookLinear, a third of the rate");
    finds(o, bleu_of(l, control(s)));
}
static void a20(lab *l, outcome *o)
{
    compare_settled(l, o, settled("rezero-post", 6), settled("rezero", 6));
}
static void a22(lab *l, outcome *o)
{
    static const int32_t layers[] = { 2, 6, 12 };
    double worst = 0;
    figure_line *line = line_of(o, "layers of each stack", "difference of logits, in the largest",
                                "admin, folded");
    for (int i = 0; i < 3; i++) {
        lab_spec s = training("admin", layers[i], 2e-3, 100, 400);
        s.stop = 100;
        s.score = false;
        s.fold = true;
        lab_sample a = lab_over(l, s, "fold", 0);
        point(line, lab_layers(l, layers[i]), a.mean, a.sd);
        for (int32_t k = 0; k < a.n; k++) worst = fmax(worst, a.v[k]);
        if (isnan(a.mean)) worst = (double)NAN;
    }
    say(o, "logits after 100 updates, 2 to 12 layers: the folded model's differ by at most %.1e of "
        "the largest. ", worst);
    holds(o, worst < 1e-4);
}
static void a23(lab *l, outcome *o)
{
    compare_settled(l, o, settled("admin-direct", 12), settled("admin", 12));
}
static void a24(lab *l, outcome *o)
{
    static const int64_t stops[] = { 0, 150, 300, 500 };
    static const double x[] = { 0, 150, 300, 500 };
    lab_sample rows[4];
    for (int i = 0; i < 4; i++) {
        lab_spec s = training("post", 4, 8e-3, 200, 500);
        s.score = false;
        s.noise = 1e-4;
        s.stop = stops[i];
        rows[i] = lab_over(l, s, "shift", 0);
    }
    o->fig.log_y = true;
    points(line_of(o, "updates", "|F - F*|^2 a token", "post"), x, rows, 4);
    finds(o, log_ratio(rows[2], rows[0]));
    finds(o, log_ratio(rows[3], rows[0]));
}
static lab_spec dropped(double inner)
{
    lab_spec s = training("post", 4, 4e-3, 200, 1000);
    s.task = LAB_GRAMMAR;
    s.dropout = 0.1;
    s.corpus = 64;
    s.inner = inner;
    return s;
}
static void a25(lab *l, outcome *o)
{
    draw_loss(l, o, dropped(0), "without");
    draw_loss(l, o, dropped(0.2), "dropout 0.2");
    draw_loss(l, o, dropped(0.3), "dropout 0.3");
    finds(o, minus(loss_of(l, dropped(0.2)), loss_of(l, dropped(0))));
    finds(o, minus(loss_of(l, dropped(0.3)), loss_of(l, dropped(0))));
}
/* The cost of half precision: the difference of the losses. */
static lab_sample half_cost(lab *l, outcome *o, const char *recipe)
{
    lab_spec half = deep(recipe);
    half.half = true;
    draw_loss(l, o, half, recipe);
    return minus(loss_of(l, half), loss_of(l, deep(recipe)));
}
static void a26(lab *l, outcome *o)
{
    const lab_sample admin = half_cost(l, o, "admin");
    say_sample(o, "Half precision costs Admin ", 3, admin);
    say(o, ". ");
    finds(o, minus(half_cost(l, o, "admin-direct"), admin));
    finds(o, minus(half_cost(l, o, "rezero"), admin));
    finds(o, minus(half_cost(l, o, "t-fixup"), admin));
}

/* -- the rows ---------------------------------------------------------------------------------- */

#define VANISHES_NOT(name) { .what = name ", least over largest", .log = true, ABOVE(-2.302585) }
#define LAW "R^2 of a line in N less that in ln N"
#define GRID "toy German to toy English, two clauses, 400 sentences that come again, 4 + 4 " \
    "layers, d 32, dropout 0.1, Adam at 2e-3 to 1.2e-2, beta2 .999 to .99, no warm-up, 2000 updates"
#define HALF(name) { .what = "cost of half precision [nats], " name " less Admin", MORE(0.02) }

const claim liu_claims[] = {
    { .id = "A1a", .item = "figure 1", .title = "deep Post-LN diverges",
      .picture = "18 + 18 layers of Post-LN", .expected = "fails",
      .paper = "18 layers diverge, 12 in part",
      .criteria = { FAILING("Post-LN"), CONTROLLED("Post-LN") },
      .setting = DEEPER, .measure = a1a, .init = XAVIER,
      .before = "part of A1, 12 + 12 layers after 400 updates, without a control: not shown" },
    { .id = "A1b", .item = "figure 1", .title = "Admin ends below Pre-LN, 12 + 12 layers",
      .picture = "Admin and Pre-LN until they settle", .expected = "at or below",
      .criteria = { SETTLED_PREMISE,
                    { .what = "loss of Admin less that of Pre-LN", LESS(0.01) } },
      .setting = SETTLED, .measure = a1b,
      .before = "part of A1, after 400 updates, which is speed: not shown" },
    { .id = "A1c", .item = "figures 1, 9", .title = "Post-LN ends below Pre-LN, 6 + 6 layers",
      .picture = "Post-LN and Pre-LN until they settle", .expected = "Pre-LN ends above",
      .criteria = { SETTLED_PREMISE,
                    { .what = "loss of Post-LN less that of Pre-LN", LESS(0.01) } },
      .setting = SETTLED, .measure = a1c, .init = XAVIER,
      .before = "part of A1, at the floor of label smoothing: not shown" },
    { .id = "A1d", .item = "figure 1", .title = "Pre-LN is faster at first, 6 + 6 layers",
      .picture = "Post-LN and Pre-LN until they settle", .expected = "faster early",
      .criteria = { { .what = "loss after 1000 updates, Pre-LN less Post-LN", LESS(0.05) } },
      .setting = SETTLED, .measure = a1d, .init = XAVIER, .before = "not measured" },
    { .id = "A1e", .item = "A1c's explanation: 1e-3 is not Post-LN's best rate",
      .title = "each seed at the better of two rates, Post-LN ends below Pre-LN, 6 + 6 layers",
      .picture = "Post-LN and Pre-LN at twice the rate until they settle",
      .expected = "Pre-LN ends above",
      .criteria = { SETTLED_PREMISE,
                    { .what = "loss of Post-LN less that of Pre-LN", LESS(0.01) } },
      .setting = SETTLED "; the same at 2e-3", .measure = a1e,
      .init = XAVIER, .before = "not measured" },
    { .id = "A1f", .item = "figures 1, 9; section 5.1",
      .title = "Admin is as fast as Pre-LN at first, 6 + 6 layers",
      .picture = "Admin and Pre-LN until they settle", .expected = "the same speed early",
      .criteria = { { .what = "loss after 1000 updates, Admin less Pre-LN",
                      BELOW_NOT(0.05, 0.05) } },
      .setting = SETTLED, .measure = a1f, .before = "not measured" },
    { .id = "A2a", .item = "theorem 1", .title = "gradients do not vanish in a Post-LN encoder",
      .picture = "Gradients through an encoder", .expected = "not smaller towards the bottom",
      .criteria = { { .what = "growth of ln of the gradient, a sub-layer downwards",
                      ABOVE_NOT(0, 0) } },
      .setting = AT_START ", 18 + 18 layers", .measure = a2a,
      .before = "one row with A2b, by 35 pairs of neighbours, of which 4 shrank: not shown" },
    { .id = "A2b", .item = "theorem 1", .title = "gradients do not vanish in a Pre-LN encoder",
      .picture = "Gradients through an encoder", .expected = "not smaller towards the bottom",
      .criteria = { { .what = "growth of ln of the gradient, a sub-layer downwards",
                      ABOVE_NOT(0, 0) } },
      .setting = AT_START ", 18 + 18 layers", .measure = a2b,
      .before = "one row with A2a: not shown" },
    { .id = "A3a", .item = "figure 3", .title = "a Post-LN decoder's gradients vanish",
      .picture = "Where gradients vanish", .expected = "tenfold or more in 18 layers",
      .criteria = { { .what = "decoder of Post-LN, least over largest", .log = true,
                      BELOW(-2.302585) } },
      .setting = AT_START ", 18 + 18 layers", .measure = a3a, .before = "one row with A3b: shown" },
    { .id = "A3b", .item = "figure 3", .title = "no other gradients do",
      .picture = "Where gradients do not vanish", .expected = "only there",
      .criteria = { VANISHES_NOT("encoder of Post-LN"), VANISHES_NOT("decoder of Pre-LN"),
                    VANISHES_NOT("encoder of Pre-LN") },
      .setting = AT_START ", 18 + 18 layers", .measure = a3b,
      .before = "one row with A3a, and with Admin, of which the paper says otherwise (N9): shown" },
    { .id = "A4", .item = "appendix A.3", .title = "it is the cross-attention that shrinks them",
      .picture = "What each sub-layer does to the gradient", .expected = "a factor below 1",
      .criteria = { { .what = "factor through cross-attention", .log = true, BELOW(-0.105361) },
                    { .what = "through self-attention", .log = true, ABOVE(-0.051293) },
                    { .what = "through the feed-forward", .log = true, ABOVE(-0.051293) } },
      .setting = AT_START ", 18 + 18 layers", .measure = a4, .before = "by means: shown" },
    { .id = "A5a", .item = "table 1",
      .title = "a Pre-LN decoder cures Post-LN's vanishing gradient",
      .expected = "post/post vanishes, post/pre does not",
      .criteria = { { .what = "decoder's bottom over top, post/post", .log = true,
                      BELOW(-2.302585) },
                    { .what = "post/pre", .log = true, ABOVE(-0.693147) } },
      .setting = AT_START ", 12 + 12 layers", .measure = a5a, .before = "one row with A5b: shown" },
    { .id = "A5b", .item = "table 1", .title = "and yet post/pre fails, where pre/pre trains",
      .picture = "A Post-LN encoder with a Pre-LN decoder", .expected = "diverges, converges",
      .criteria = { FAILING("post/pre"), CONTROLLED("post/pre"),
                    { .what = "BLEU of pre/pre", ABOVE(LEARNS_ABOVE) } },
      .setting = DEEP "; control: 1200 updates, warm-up 300, 6.7e-4", .measure = a5b,
      .init = XAVIER,
      .before = "without a control, which an audit found at BLEU 53: shown" },
    { .id = "A6a", .item = "figure 4, left",
      .title = "Post-LN's output moves as N when weights move",
      .picture = "How far the output moves", .expected = "O(N)", .paper = "R^2 = 0.99",
      .criteria = { { .what = LAW, MORE(0.02) } },
      .setting = MOVED, .measure = a6a, .before = "one row with A6b and d, by means: shown" },
    { .id = "A6b", .item = "figure 4, left", .title = "Pre-LN's output moves as ln N",
      .picture = "How far the output moves", .expected = "O(ln N)", .paper = "R^2 = 0.99",
      .criteria = { { .what = LAW, LESS(0.02) } },
      .setting = MOVED ", behind the final norm", .measure = a6b,
      .before = "one row with A6a and d: shown" },
    { .id = "A6c", .item = "figure 4, left; the released code",
      .title = "Pre-LN's stream moves as ln N before its final norm",
      .picture = "How far the output moves", .expected = "O(ln N)", .paper = "R^2 = 0.99",
      .criteria = { { .what = LAW, LESS(0.02) } },
      .setting = MOVED ", before the final norm, as the paper's code", .measure = a6c,
      .before = "a remark in A6" },
    { .id = "A6d", .item = "figure 4, left", .title = "Admin's output moves as ln N",
      .picture = "How far the output moves", .expected = "O(ln N)", .paper = "R^2 = 0.99",
      .criteria = { { .what = LAW, LESS(0.02) } },
      .setting = MOVED, .measure = a6d, .before = "one row with A6a and b: shown" },
    { .id = "A7a", .item = "figure 4, right",
      .title = "an optimizer's step moves Post-LN far more than Pre-LN and Admin",
      .picture = "How far a step moves the output", .expected = "several magnitudes",
      .criteria = { { .what = "Post-LN over Pre-LN, N = 48", .log = true,
                      ABOVE_NOT(2.302585, 0) },
                    { .what = "Post-LN over Admin, N = 48", .log = true,
                      ABOVE_NOT(2.302585, 0) } },
      .setting = MOVED, .measure = a7a, .before = "by means: shown" },
    { .id = "A7b", .item = "figure 4, right; the released code",
      .title = "and more than Pre-LN before its final norm",
      .picture = "How far a step moves the output", .expected = "several magnitudes",
      .criteria = { { .what = "Post-LN over Pre-LN, N = 48", .log = true,
                      ABOVE_NOT(2.302585, 0) } },
      .setting = MOVED ", before the final norm", .measure = a7b, .before = "not measured" },
    { .id = "A7c", .item = "figure 4, right", .title = "a step's shift of Post-LN is a line in N",
      .picture = "How far a step moves the output", .expected = "O(N)", .paper = "R^2 = 0.75",
      .criteria = { { .what = LAW, MORE(0.02) } },
      .setting = MOVED, .measure = a7c, .before = "not judged" },
    { .id = "A7d", .item = "figure 4, right",
      .title = "a step's shift of Pre-LN and Admin is a line in ln N",
      .picture = "How far a step moves the output", .expected = "O(ln N)", .paper = "R^2 = 0.75",
      .criteria = { { .what = "Pre-LN, " LAW, LESS(0.02) },
                    { .what = "before its final norm, " LAW, LESS(0.02) },
                    { .what = "Admin, " LAW, LESS(0.02) } },
      .setting = MOVED, .measure = a7d, .before = "not judged" },
    { .id = "A7e", .item = "theorem 2",
      .title = "layers that step together move the output by a higher power of N than one by one",
      .picture = "Steps together and layer by layer",
      .expected = "theorem 2 takes them as independent",
      .criteria = { { .what = "Post-LN, exponent of N together less alone", MORE(0.3) },
                    { .what = "Pre-LN, exponent of N together less alone", MORE(0.3) } },
      .setting = MOVED ", a quarter of the seeds", .measure = a7e,
      .before = "measured by a program that was no command" },
    { .id = "A8", .item = "theorem 2",
      .title = "the shift is proportional to the sum of beta_ii^2",
      .picture = "What the shift is proportional to", .expected = "proportional",
      .criteria = { { .what = "R^2 over three placements and eight depths", ABOVE(0.9) } },
      .setting = MOVED, .measure = a8, .before = "by means: shown" },
    { .id = "A9a", .item = "corollary 2", .title = "beta_ii^2 is constant in Post-LN",
      .picture = "What a branch weighs", .expected = "i^0",
      .criteria = { { .what = "exponent of i, sub-layers from 3 on", BETWEEN(-0.2, 0.2) } },
      .setting = ENCODER64, .measure = a9a, .before = "one row with A9b, by means: shown" },
    { .id = "A9b", .item = "corollary 1", .title = "beta_ii^2 is 1/i in Pre-LN",
      .picture = "What a branch weighs", .expected = "i^-1",
      .criteria = { { .what = "exponent of i, sub-layers from 3 on", BETWEEN(-1.2, -0.8) } },
      .setting = ENCODER64, .measure = a9b, .before = "one row with A9a, by means: shown" },
    { .id = "A10", .item = "proof of theorem 2", .kind = CHECK_ROW,
      .title = "rows of beta are proportional; sums of squares are 1", .expected = "exact",
      .check = "within 10 % and 2 %", .setting = "the encoder of 6 + 6 layers, d 64",
      .measure = a10, .before = "counted as a measurement" },
    { .id = "A11a", .item = "figure 7",
      .title = "Pre-LN's dependency on its branches grows in training",
      .picture = "What trained branches weigh", .expected = "grows",
      .criteria = { { .what = "mean beta_ii^2, trained over at the start", .log = true,
                      MORE(0.048790) } },
      .setting = SIX ", 3e-3, warm-up 200", .measure = a11a, .init = XAVIER,
      .before = "one row with A11b, by means: shown" },
    { .id = "A11b", .item = "figure 7", .title = "Post-LN depends on its branches more than Pre-LN",
      .picture = "What trained branches weigh", .expected = "larger before and after",
      .criteria = { { .what = "mean beta_ii^2 at the start, Post-LN over Pre-LN", .log = true,
                      MORE(0.048790) },
                    { .what = "trained, Post-LN over Pre-LN", .log = true, MORE(0.048790) } },
      .setting = SIX ", 3e-3, warm-up 200", .measure = a11b, .init = XAVIER,
      .before = "one row with A11a, by means: shown" },
    { .id = "A12a", .item = "figure 8", .title = "Admin begins like Pre-LN",
      .picture = "What Admin's branches weigh at first", .expected = "alike",
      .criteria = { { .what = "mean beta_ii^2, Admin over Pre-LN", .log = true,
                      ALIKE(0.182322) } },
      .setting = DEEP, .measure = a12a, .before = "one row with A12b: opposite" },
    { .id = "A12b", .item = "figure 8",
      .title = "trained, Admin depends on its branches more than Pre-LN",
      .picture = "What Admin's branches weigh when trained", .expected = "more",
      .criteria = { { .what = "mean beta_ii^2, Admin over Pre-LN", .log = true,
                      MORE(0.048790) } },
      .setting = DEEP, .measure = a12b, .before = "one row with A12a, by means: opposite" },
    { .id = "A12c", .item = "A12b's explanation: 400 updates are too few",
      .title = "after 1,600 updates Admin depends on its branches more than Pre-LN",
      .picture = "What Admin's branches weigh when trained longer", .expected = "more",
      .criteria = { { .what = "mean beta_ii^2, Admin over Pre-LN", .log = true,
                      MORE(0.048790) } },
      .setting = "string reversal, 12 + 12 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 1600 "
      "updates", .measure = a12c, .before = "a guess" },
    { .id = "A13a", .item = "section 4.3", .title = "Admin's beta_ii^2 is about 1/i",
      .picture = "What Admin's branches weigh", .expected = "i^-1",
      .criteria = { { .what = "exponent of i, sub-layers from 3 on", BETWEEN(-1.2, -0.8) } },
      .setting = ENCODER64, .measure = a13a, .before = "by means: not shown" },
    { .id = "A13b", .item = "section 4.3, with the embedding",
      .title = "Admin's 1/beta_ii^2 grows by 1 a sub-layer",
      .picture = "What Admin's branches weigh", .expected = "i + Var x_0 / Var f",
      .criteria = { { .what = "slope of 1/beta_ii^2, a sub-layer", BETWEEN(0.8, 1.2) },
                    { .what = "R^2 of the line", ABOVE(0.95) } },
      .setting = ENCODER64, .measure = a13b, .before = "a remark" },
    { .id = "A14a", .item = "figures 5, 11",
      .title = "gradients of matrices differ more than their changes",
      .picture = "Gradients and changes of the attention's matrices", .expected = "as said",
      .criteria = { { .what = "largest over smallest, gradients over changes", .log = true,
                      MORE(0.693147) } },
      .setting = "Pre-LN, " SIX ", 3e-3, warm-up 200, at update 300", .measure = a14a,
      .init = XAVIER,
      .before = "one row with A14b, by means: shown" },
    { .id = "A14b", .item = "figures 5, 11",
      .title = "gradients of W_Q and W_K are smaller than those of W_V and W_O",
      .picture = "Gradients and changes of the attention's matrices", .expected = "as said",
      .criteria = { { .what = "gradients, W_Q + W_K over W_V + W_O", .log = true,
                      LESS(0.095310) } },
      .setting = "Pre-LN, " SIX ", 3e-3, warm-up 200, at update 300", .measure = a14b,
      .init = XAVIER,
      .before = "one row with A14a, by means: shown" },
    { .id = "A14c", .item = "section 3.3",
      .title = "plain SGD fails to train Transformers that Adam trains",
      .picture = "SGD and Adam", .expected = "SGD fails, as it cannot balance gradients",
      .criteria = { { .what = "BLEU of Post-LN with Adam", ABOVE(LEARNS_ABOVE), .premise = true },
                    { .what = "BLEU of Post-LN with plain SGD",
                      BELOW_NOT(FAILS_BELOW, LEARNS_ABOVE) },
                    { .what = "BLEU of Pre-LN with plain SGD",
                      BELOW_NOT(FAILS_BELOW, LEARNS_ABOVE) } },
      .setting = "string reversal, 4 + 4 layers, warm-up 200; SGD without momentum, rate 1, 1500 "
      "updates; Adam, 8e-3, 500 updates", .measure = a14c, .init = XAVIER,
      .before = "not a row; X12b, with Post-LN's runs, speaks against it" },
    { .id = "A15", .item = "figure 9", .title = "on a small task all three end alike",
      .picture = "A small task", .expected = "similar",
      .criteria = { SETTLED_PREMISE, { .what = "loss, Post-LN less Pre-LN", ALIKE(0.05) },
                    { .what = "loss, Admin less Pre-LN", ALIKE(0.05) } },
      .setting = SETTLED ", 4 + 4 layers", .measure = a15,
      .before = "at the floor of label smoothing, string reversal: shown" },
    { .id = "A16a", .item = "table 2", .title = "6 layers: Post-LN's BLEU is above Pre-LN's",
      .picture = "Post-LN and Pre-LN until they settle", .expected = "above",
      .paper = "Post-LN, Pre-LN, Admin: IWSLT 35.64+-.23, 35.50+-.04, 35.67+-.15; En-De 27.80, "
      "27.27, 27.90; En-Fr 41.29, 40.74, 41.47",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, Post-LN less Pre-LN", MORE(0.5) } },
      .setting = SETTLED, .measure = a16a, .init = XAVIER,
      .before = "part of A16, at BLEU 100 of string reversal: not shown" },
    { .id = "A16b", .item = "table 2", .title = "12 layers: Admin's BLEU is above Pre-LN's",
      .picture = "Admin and Pre-LN until they settle", .expected = "above",
      .paper = "Pre-LN, Admin: En-De 12 layers 28.26, 28.58, 18 28.38, 29.03; En-Fr 60 + 12 43.10, "
      "43.80",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, Admin less Pre-LN", MORE(0.5) } },
      .setting = SETTLED, .measure = a16b, .before = "part of A16, after 400 updates: not shown" },
    { .id = "A16c", .item = "table 2", .title = "6 layers: Admin's BLEU is above Pre-LN's",
      .picture = "Admin and Pre-LN until they settle", .expected = "above",
      .paper = "Pre-LN, Admin: IWSLT 35.50, 35.67; En-De 27.27, 27.90; En-Fr 40.74, 41.47",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, Admin less Pre-LN", MORE(0.5) } },
      .setting = SETTLED ", 6 + 6 layers", .measure = a16c, .before = "not measured" },
    { .id = "A16d", .item = "table 2", .title = "6 layers: Admin's BLEU is above Post-LN's",
      .picture = "Admin and Post-LN until they settle", .expected = "above",
      .paper = "Post-LN, Admin: IWSLT 35.64, 35.67; En-De 27.80, 27.90; En-Fr 41.29, 41.47",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, Admin less Post-LN", MORE(0.5) } },
      .setting = SETTLED ", 6 + 6 layers", .measure = a16d, .before = "not measured" },
    { .id = "A16e", .item = "table 2", .title = "18 layers: Admin's BLEU is above Pre-LN's",
      .picture = "Admin and Pre-LN until they settle, 18 + 18 layers", .expected = "above",
      .paper = "Pre-LN, Admin: En-De 28.38, 29.03",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, Admin less Pre-LN", MORE(0.5) } },
      .setting = SETTLED ", 18 + 18 layers", .measure = a16e, .before = "not measured" },
    { .id = "A16f", .item = "table 2", .picture = "60 + 12 layers of width 16",
      .title = "60 + 12 layers: Admin is ahead of Pre-LN after 1,200 updates", .expected = "above",
      .paper = "Pre-LN, Admin: En-Fr 43.10, 43.80",
      .criteria = { { .what = "BLEU, Admin less Pre-LN", MORE(2) } },
      .setting = "string reversal, 60 + 12 layers, d 16, 2e-3, warm-up 100, 1200 updates",
      .measure = a16f, .before = "not measured" },
    { .id = "A17", .item = "section 5.2", .title = "a longer warm-up does not cure deep Post-LN",
      .picture = "Longer warm-ups of 18 + 18 layers", .expected = "all fail",
      .paper = "18 layers, 8k, 16k, 24k, 32k updates: all fail",
      .criteria = { FAILING("a warm-up of 50"), FAILING("100"), FAILING("200"), FAILING("300"),
                    CONTROLLED("900") },
      .setting = DEEPER, .measure = a17,
      .init = XAVIER, .before = "12 layers, without a control: shown" },
    { .id = "A18a", .item = "figure 10",
      .title = "without warm-up Post-LN fails in many cells of rate x beta2",
      .picture = "Rates without warm-up", .expected = "7 of 15", .paper = "7",
      .criteria = { { .what = "cells of 15 that fail", ABOVE(4) } },
      .setting = "string reversal, 4 + 4 layers, 350 updates, no warm-up", .measure = a18a,
      .init = WHOLE,
      .before = "one row with A18b and c: shown" },
    { .id = "A18b", .item = "figure 10", .title = "without warm-up Pre-LN fails in none of them",
      .picture = "Rates without warm-up", .expected = "0 of 15", .paper = "0",
      .criteria = { { .what = "cells of 15 that fail", BELOW(0.5) } },
      .setting = "string reversal, 4 + 4 layers, 350 updates, no warm-up", .measure = a18b,
      .init = WHOLE,
      .before = "one row with A18a and c: shown" },
    { .id = "A18c", .item = "figure 10", .title = "without warm-up Admin fails in none of them",
      .picture = "Rates without warm-up", .expected = "0 of 15", .paper = "0",
      .criteria = { { .what = "cells of 15 that fail", BELOW(0.5) } },
      .setting = "string reversal, 4 + 4 layers, 350 updates, no warm-up", .measure = a18c,
      .init = WHOLE,
      .before = "counted as shown if Admin failed in fewer than Post-LN; it failed in 3" },
    { .id = "A18d", .item = "figure 10",
      .title = "without warm-up, where Post-LN learns it is above Pre-LN",
      .picture = "Rates without warm-up, 400 sentences", .expected = "in 7 of 8 cells",
      .paper = "Post-LN is above in 7 of the 8 cells where it converges",
      .criteria = { { .what = "cells of 15 where both learn", ABOVE(2), .premise = true },
                    { .what = "share of these in which Post-LN's BLEU is higher",
                      ABOVE_NOT(0.5, 0.5), .share = true } },
      .setting = GRID, .measure = a18d, .before = "not measured: string reversal has no room" },
    { .id = "A18e", .item = "figure 10", .title = "without warm-up Admin is above Pre-LN",
      .picture = "Rates without warm-up, 400 sentences", .expected = "above",
      .criteria = { { .what = "cells of 15 where both learn", ABOVE(2), .premise = true },
                    { .what = "mean BLEU over these, Admin less Pre-LN", MORE(0.5) } },
      .setting = GRID, .measure = a18e, .before = "not measured: string reversal has no room" },
    { .id = "A19", .item = "section 5.3", .title = "deep ReZero, Fixup and LookLinear diverge",
      .picture = "Three inits at 18 + 18 layers", .expected = "all diverge",
      .paper = "18 layers: all three diverge",
      .criteria = { FAILING("ReZero"), FAILING("Fixup"), FAILING("LookLinear"),
                    CONTROLLED("LookLinear") },
      .setting = DEEPER ", simulated half precision, dropout 0.1", .measure = a19, .init = WHOLE,
      .before = "without a control: not shown" },
    { .id = "A20", .item = "table 3", .title = "ReZero is better with Post-LN than alone",
      .picture = "ReZero until it settles", .expected = "as said",
      .paper = "IWSLT: 33.67+-.14 alone, 34.67+-.08 with Post-LN",
      .criteria = { SETTLED_PREMISE,
                    { .what = "loss with Post-LN less that alone", LESS(0.01) } },
      .setting = SETTLED ", 6 + 6 layers", .measure = a20,
      .before = "after 400 updates of string reversal: shown" },
    { .id = "A21", .item = "table 4", .title = "60 + 12 layers with Admin: 43.80 BLEU on En-Fr",
      .kind = NO_ROW, .expected = "a number", .paper = "262 million parameters, 43.80 BLEU",
      .reason = "a comparison of published systems" },
    { .id = "A22", .item = "appendix C", .title = "the folded model is Admin", .kind = CHECK_ROW,
      .expected = "the same outputs",
      .check = "logits differ by at most 1e-4 of the largest, float precision, 2 to 12 layers",
      .setting = "string reversal, 2 to 12 layers of each stack, 100 of 400 updates at 2e-3",
      .measure = a22, .before = "counted as a measurement" },
    { .id = "A23", .item = "appendix C", .title = "rescaled weights train as well as omega",
      .picture = "Two forms of Admin", .expected = "the same quality",
      .criteria = { SETTLED_PREMISE,
                    { .what = "loss of rescaled weights less that of omega", ALIKE(0.02) } },
      .setting = SETTLED ", 12 + 12 layers", .measure = a23,
      .before = "after 400 updates, at the floor: shown" },
    { .id = "A24", .item = "section 5.2",
      .title = "moved weights shift the output less as training goes on",
      .picture = "How far the output moves while training", .expected = "less",
      .criteria = { { .what = "shift after 300 updates over that at the start", .log = true,
                      LESS(0.095310) },
                    { .what = "after 500 updates", .log = true, LESS(0.095310) } },
      .setting = SHALLOW, .measure = a24, .init = XAVIER, .before = "by means: shown" },
    { .id = "A25", .item = "section 5.1",
      .title = "dropout of attention and activations helps on a small corpus",
      .picture = "Dropout and a small corpus", .expected = "large",
      .criteria = { { .what = "loss with dropout 0.2 less that without", LESS(0.05) },
                    { .what = "with 0.3", LESS(0.05) } },
      .setting = GRAMMAR " 4e-3, warm-up 200, 1000 updates, 64 pairs, residual dropout 0.1",
      .measure = a25, .init = XAVIER, .before = "512 pairs, which are not few: opposite" },
    { .id = "A26", .item = "appendices C, E",
      .title = "in half precision rescaled weights and models without norms are less stable",
      .picture = "Simulated half precision", .expected = "less stable",
      .criteria = { HALF("rescaled weights"), HALF("ReZero"), HALF("T-Fixup") },
      .setting = DEEP ", simulated half precision", .measure = a26, .init = WHOLE,
      .before = "by means: not shown" },
    { .id = NULL }
};
