/* Rows of later papers (N): QK-norm, growth of activations, nGPT, DyT, the curse of depth, the
 * purpose of a warm-up, sharpness, muP, zero-shot translation, and a sentence of Liu 2020 that the
 * first edition overlooked. */
#include "later.h"
#include "liu.h"
#include "xiong.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* -- rates that are too high (Wortsman 2023) --------------------------------------------------- */

static lab_spec at_rate(const char *recipe, double lr) { return training(recipe, 4, lr, 50, 400); }
static void n1(lab *l, outcome *o)
{
    draw_loss(l, o, at_rate("pre", 0.1), "pre");
    draw_loss(l, o, at_rate("qk-head", 0.1), "qk-head");
    finds(o, bleu_of(l, at_rate("pre", 0.1)));
    finds(o, bleu_of(l, longer(at_rate("pre", 0.1))));
    finds(o, bleu_of(l, at_rate("qk-head", 0.1)));
    say_sample(o, "At 0.03: BLEU ", 1, bleu_of(l, at_rate("pre", 0.03)));
    say_sample(o, ", with QK-norm ", 1, bleu_of(l, at_rate("qk-head", 0.03)));
    say(o, ". ");
}

/* -- growth of activations (Kim 2025, Sun 2025) ------------------------------------------------ */

/* The slope of the stream's mean square over 12 layers, in the theorems' setting. */
static lab_sample stream_slope(lab *l, outcome *o, const char *recipe)
{
    static lab_sample rows[LAB_DEEPEST];
    double x[LAB_DEEPEST];
    const int32_t n = lab_layers(l, 12);
    for (int32_t i = 0; i < n; i++) {
        rows[i] = lab_over(l, theory(recipe, 12), "enc_output_energy", 2*i + 1);
        x[i] = i + 1;
    }
    points(line_of(o, "layer", "mean of |x|^2 / d", recipe), x, rows, n);
    return jackknifed(rows, n, x, linear_slope);
}
void n2(lab *l, outcome *o)
{
    const lab_sample pre = stream_slope(l, o, "pre");
    const lab_sample peri = stream_slope(l, o, "peri");
    finds(o, minus(stream_slope(l, o, "lns"), pre));
    finds(o, peri);
    say_sample(o, "Pre-LN's slope ", 2, pre);
    say(o, ". ");
}

/* -- models on the sphere, and without statistics ---------------------------------------------- */

static void n3(lab *l, outcome *o)
{
    const lab_spec ngpt = training("ngpt", 4, 8e-3, 1, 500);
    draw_loss(l, o, ngpt, "ngpt");
    draw_loss(l, o, by_adam(1), "post");
    finds(o, bleu_of(l, ngpt));
    finds(o, minus(bleu_of(l, ngpt), bleu_of(l, by_adam(1))));
}
static void n5(lab *l, outcome *o)
{
    compare_settled(l, o, settled("dyt", 6), settled("pre", 6));
}
static void n5b(lab *l, outcome *o)
{
    lab_spec steep = settled("dyt", 6);
    steep.alpha = 1;
    compare_settled(l, o, steep, settled("pre", 6));
}

/* -- until they settle: real text, pre-training ------------------------------------------------ */

static lab_spec on_text(const char *recipe)
{
    return until_settled(LAB_FILE, recipe, 6);
}
static void n11(lab *l, outcome *o) { compare_settled(l, o, on_text("post"), on_text("pre")); }
static lab_spec settled_masked(const char *recipe)
{
    return until_settled(LAB_MASKED, recipe, 4);
}
static void n12(lab *l, outcome *o)
{
    compare_settled(l, o, settled_masked("post"), settled_masked("pre"));
}

/* -- Admin vanishes and trains (Liu 2020, section 4.3) ----------------------------------------- */

static void n9(lab *l, outcome *o)
{
    finds(o, bottom_over_top(l, at_start("admin", 18)));
    finds(o, bleu_of(l, deeper("admin")));
    draw_list(l, o, at_start("admin", 18), "dec_output_gradient", 3 * lab_layers(l, 18),
              "decoder sub-layer", OUT_GRADIENT, "admin");
    o->fig.log_y = true;
}

/* -- the curse of depth (Sun 2025) ------------------------------------------------------------- */

enum { CURSED = 12 };
static lab_spec cursed(const char *recipe, int32_t layers, int64_t updates)
{
    lab_spec s = training(recipe, layers, 2e-3, 100, updates);
    s.task = LAB_TEXT;
    s.score = false;
    s.smoothing = 0;
    s.without = true;
    return s;
}
/* The share of the upper layers in the loss that leaving out single layers adds. The first layer,
 * which all others need, and a middle one do not count. */
static lab_sample upper_share(lab *l, outcome *o, lab_spec s)
{
    static lab_sample harm[LAB_DEEPEST];
    const int32_t n = lab_layers(l, s.layers);
    const int32_t upper = n > 2 ? (n - 1) / 2 : 1;
    lab_sample a = loss_of(l, s);
    figure_line *line = line_of(o, "layer left out", "what the loss rises by [nats per letter]",
                                s.recipe);
    for (int32_t i = 0; i < n; i++) {
        harm[i] = minus(lab_over(l, s, "dec_without", i), loss_of(l, s));
        point(line, i + 1, harm[i].mean, harm[i].sd);
    }
    for (int32_t k = 0; k < a.n; k++) {
        double high = 0;
        double low = 0;
        for (int32_t i = 0; i < upper; i++) {
            low += harm[1 + i].v[k];
            high += harm[n - 1 - i].v[k];
        }
        a.v[k] = high / (high + low);
    }
    lab_sum_up(&a);
    return a;
}
static void n4a(lab *l, outcome *o)
{
    finds(o, upper_share(l, o, cursed("pre", CURSED, 600)));
    say_sample(o, "loss ", 3, loss_of(l, cursed("pre", CURSED, 600)));
    say(o, ". ");
}
static void scaled_curse(lab *l, outcome *o, int32_t layers, int64_t updates)
{
    const lab_sample pre = upper_share(l, o, cursed("pre", layers, updates));
    const lab_sample lns = upper_share(l, o, cursed("lns", layers, updates));
    finds(o, minus(lns, pre));
    say_sample(o, "shares: Pre-LN ", 3, pre);
    say_sample(o, ", LayerNorm Scaling ", 3, lns);
    say_sample(o, "; loss ", 3, loss_of(l, cursed("pre", layers, updates)));
    say_sample(o, ", ", 3, loss_of(l, cursed("lns", layers, updates)));
    say(o, ". ");
}
void n4b(lab *l, outcome *o) { scaled_curse(l, o, CURSED, 600); }
static void n4d(lab *l, outcome *o) { scaled_curse(l, o, CURSED, 2400); }
static void n4e(lab *l, outcome *o) { scaled_curse(l, o, 2 * CURSED, 1200); }
static lab_spec settled_curse(const char *recipe)
{
    return until_settled(LAB_TEXT, recipe, CURSED);
}
static void n4c(lab *l, outcome *o)
{
    compare_settled(l, o, settled_curse("lns"), settled_curse("pre"));
}

/* -- the purpose of a warm-up (Kosson 2024, Kalra 2024) ---------------------------------------- */

static lab_spec traced(const char *recipe, int64_t warmup)
{
    lab_spec s = training(recipe, 4, 8e-3, warmup, 500);
    s.score = false;
    s.trace = true;
    return s;
}
enum { TRACED = 9, TRACED_LATE = 7 };       /* updates 1 to 256; index of update 128 */
static void draw_trace(lab *l, outcome *o, lab_spec s, const char *list, const char *y,
                       const char *name)
{
    figure_line *line = line_of(o, "update", y, name);
    o->fig.log_x = o->fig.log_y = true;
    for (int32_t i = 0; i < TRACED; i++) {
        const lab_sample a = lab_over(l, s, list, i);
        point(line, (double)(1 << i), a.mean, a.sd);
    }
}
static void draw_traces(lab *l, outcome *o, const char *list, const char *y)
{
    draw_trace(l, o, traced("post", 1), list, y, "Post-LN, no warm-up");
    draw_trace(l, o, traced("post", 200), list, y, "Post-LN, warm-up");
    draw_trace(l, o, traced("pre", 1), list, y, "Pre-LN, no warm-up");
}
static lab_sample first_over_late(lab *l, lab_spec s, const char *list)
{
    return log_ratio(lab_over(l, s, list, 0), lab_over(l, s, list, TRACED_LATE));
}
void n6a(lab *l, outcome *o)
{
    draw_traces(l, o, "turn", "angle of an update [degrees]");
    finds(o, first_over_late(l, traced("post", 1), "turn"));
    finds(o, first_over_late(l, traced("pre", 1), "turn"));
}
void n6b(lab *l, outcome *o)
{
    draw_traces(l, o, "change", "how far an update moves the logits, over their size");
    finds(o, first_over_late(l, traced("post", 1), "change"));
    finds(o, first_over_late(l, traced("pre", 1), "change"));
}
void n7a(lab *l, outcome *o)
{
    lab_sample late = first_over_late(l, traced("post", 200), "sharpness");
    draw_traces(l, o, "sharpness", "largest eigenvalue, preconditioned");
    for (int32_t i = 0; i < late.n; i++) late.v[i] = -late.v[i];
    lab_sum_up(&late);
    finds(o, late);
    say(o, "Adam's limit at the rate of 8e-3 is 38/rate = 4750. ");
}
static void n7b(lab *l, outcome *o)
{
    draw_traces(l, o, "sharpness", "largest eigenvalue, preconditioned");
    finds(o, log_ratio(lab_over(l, traced("post", 1), "sharpness", 0),
                       lab_over(l, traced("pre", 1), "sharpness", 0)));
}

/* -- one rate for all widths (Yang 2022) ------------------------------------------------------- */

enum { MUP_WIDTHS = 4, MUP_RATES = 6, MUP_BASE = 16 };
static const double mup_widths[MUP_WIDTHS] = { 16, 32, 64, 128 };
static const double mup_rates[MUP_RATES] = { 4e-3, 8e-3, 16e-3, 32e-3, 64e-3, 128e-3 };
lab_spec at_width(int width, int rate, bool mup)
{
    lab_spec s = training("pre", 2, mup_rates[rate], 20, 200);
    s.task = LAB_TEXT;
    s.width = (int32_t)mup_widths[width];
    s.heads = s.width / MUP_BASE;
    s.ffn = 2 * s.width;
    s.batch = 16;
    s.smoothing = 0;
    s.score = false;
    s.plain = true;
    if (mup && s.width != MUP_BASE) s.base = MUP_BASE;
    return s;
}
double least_place(const double *y, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (y[i] < y[best]) best = i;
    if (best == 0 || best == n - 1) return best;
    const double bend = y[best - 1] - 2*y[best] + y[best + 1];
    if (!(bend > 0)) return best;
    return best + (y[best - 1] - y[best + 1]) / (2 * bend);
}
/* The best rate at this width, for each seed; rows[r] are the losses at rate r. */
static lab_sample best_rate(const lab_sample *rows)
{
    lab_sample a = rows[0];
    for (int32_t k = 0; k < a.n; k++) {
        double y[MUP_RATES];
        for (int r = 0; r < MUP_RATES; r++) y[r] = rows[r].v[k];
        a.v[k] = mup_rates[0] * exp(log(2) * least_place(y, MUP_RATES));
    }
    lab_sum_up(&a);
    return a;
}
/* The exponent with which the best rate depends on the width. */
static lab_sample rate_exponent(lab *l, outcome *o, bool mup)
{
    static lab_sample rows[MUP_RATES];
    lab_sample best[MUP_WIDTHS];
    for (int w = 0; w < MUP_WIDTHS; w++) {
        char name[40];
        for (int r = 0; r < MUP_RATES; r++) rows[r] = loss_of(l, at_width(w, r, mup));
        snprintf(name, sizeof name, "width %.0f%s", mup_widths[w], mup ? ", muP" : "");
        points(line_of(o, "learning rate", "loss after 200 updates [nats per letter]", name),
               mup_rates, rows, MUP_RATES);
        best[w] = best_rate(rows);
        say(o, "%s%.0f: %.2g", w ? ", " : mup ? "Best rates, muP: " : "Best rates: ",
            mup_widths[w], best[w].mean);
    }
    say(o, ". ");
    o->fig.log_x = true;
    return exponents(best, MUP_WIDTHS, mup_widths);
}
void n8a(lab *l, outcome *o) { finds(o, rate_exponent(l, o, false)); }
void n8b(lab *l, outcome *o) { finds(o, rate_exponent(l, o, true)); }
/* How much worse the widest model is at the best rate of the base, as a mean over seeds. */
static lab_sample carried(lab *l, bool mup)
{
    lab_sample rows[MUP_RATES];
    double means[MUP_RATES];
    int best = 0;
    for (int r = 0; r < MUP_RATES; r++) {
        means[r] = loss_of(l, at_width(0, r, mup)).mean;
        if (means[r] < means[best]) best = r;
    }
    for (int r = 0; r < MUP_RATES; r++) rows[r] = loss_of(l, at_width(MUP_WIDTHS - 1, r, mup));
    return minus(rows[best], extreme(rows, MUP_RATES, false));
}
static void n8c(lab *l, outcome *o)
{
    const lab_sample usual = carried(l, false);
    const lab_sample mup = carried(l, true);
    finds(o, mup);
    finds(o, minus(usual, mup));
    say_sample(o, "Lost without muP ", 3, usual);
    say(o, ". ");
    for (int w = 0; w < MUP_WIDTHS; w += MUP_WIDTHS - 1)
        for (int way = w == 0; way < 2; way++) {
            char name[40];
            lab_sample rows[MUP_RATES];
            for (int r = 0; r < MUP_RATES; r++) rows[r] = loss_of(l, at_width(w, r, way));
            snprintf(name, sizeof name, "width %.0f%s", mup_widths[w], w && way ? ", muP" : "");
            points(line_of(o, "learning rate", "loss after 200 updates [nats per letter]", name),
                   mup_rates, rows, MUP_RATES);
        }
    o->fig.log_x = true;
}

/* -- zero-shot translation (Mao 2023) ---------------------------------------------------------- */

static lab_spec tongues(const char *recipe)
{
    lab_spec s = until_settled(LAB_TONGUES, recipe, 4);
    s.score = true;
    s.steps = s.stop = 4000;
    return s;
}
static void unseen(lab *l, outcome *o, const char *list)
{
    lab_sample rows[4];
    rows[0] = lab_over(l, tongues("post"), "settled", 0);
    rows[1] = lab_over(l, tongues("pre"), "settled", 0);
    rows[2] = bleu_of(l, tongues("post"));
    rows[3] = bleu_of(l, tongues("pre"));
    draw_loss(l, o, tongues("post"), "post");
    draw_loss(l, o, tongues("pre"), "pre");
    finds(o, mean_of(rows, 2));
    finds(o, mean_of(rows + 2, 2));
    rows[0] = lab_over(l, tongues("post"), list, 0);
    rows[1] = lab_over(l, tongues("pre"), list, 0);
    finds(o, minus(rows[0], rows[1]));
    say_sample(o, "Pairs that training had: BLEU ", 1, rows[2]);
    say_sample(o, ", ", 1, rows[3]);
    say_sample(o, "; those it had not: ", 1, rows[0]);
    say_sample(o, ", ", 1, rows[1]);
    say(o, " (Post-LN, Pre-LN). ");
}
static void n10a(lab *l, outcome *o) { unseen(l, o, "unseen_bleu"); }
static void n10b(lab *l, outcome *o) { unseen(l, o, "unseen_off"); }

/* -- the rows ---------------------------------------------------------------------------------- */

#define CURSE(layers, updates) "letters of generated sentences, " layers " layers, d 32, batch " \
    "32, Adam 2e-3, warm-up 100, " updates " updates; then both branches of one layer give 0"
#define SCALED_SHARE { { .what = "the upper ones' share, LayerNorm Scaling less Pre-LN", \
                         MORE(0.05) } }
#define TRACING SHALLOW "; after updates 1, 2, 4 ... 256. Sharpness: Lanczos, 16 products with " \
    "the Hessian of 64 sentences of the test"
#define WIDTHS_SETTING "letters of generated sentences; Pre-LN of 2 layers, widths 16 to 128 " \
    "with heads of 16, batch 16, Adam, rates 4e-3 to 128e-3, warm-up 20, 200 updates"
#define TONGUES_SETTING "a pivot and four toy languages of 24 words and an order each; training " \
    "translates to and from the pivot, the test between the four; 4 + 4 layers, d 32, batch 32, " \
    "Adam 2e-3, warm-up 400, until it settles, at most 4000 updates" GOES_ON
#define TONGUES_PREMISE { .what = "BLEU of the pairs of training, a mean of both", ABOVE(90), \
                          .premise = true }
const claim later_claims[] = {
    { .id = "N1", .item = "Wortsman 2023",
      .title = "QK-norm lets a model train at a rate at which it fails without",
      .picture = "A rate of 0.1", .expected = "fails without, trains with",
      .criteria = { FAILING("Pre-LN"), { .what = "three times the updates", BELOW(FAILS_BELOW) },
                    { .what = "BLEU with QK-norm", ABOVE(LEARNS_ABOVE) } },
      .setting = "string reversal, 4 + 4 layers, 0.1, warm-up 50, 400 updates", .measure = n1 },
    { .id = "N2", .item = "Kim 2025; Sun 2025", .picture = "How the stream grows",
      .title = "the stream of LayerNorm Scaling hardly grows, that of Peri-LN does as Pre-LN's",
      .expected = "below linear; linear",
      .criteria = { { .what = "slope of |x|^2/d, LayerNorm Scaling less Pre-LN", LESS(0.5) },
                    { .what = "slope of Peri-LN", ABOVE(0.5) } },
      .setting = THEORY, .measure = n2 },
    { .id = "N3", .item = "Loshchilov 2024", .picture = "nGPT without warm-up",
      .title = "nGPT needs no warm-up, at a rate at which Post-LN does",
      .expected = "no warm-up",
      .criteria = { { .what = "BLEU of nGPT", ABOVE(LEARNS_ABOVE) },
                    { .what = "less that of Post-LN", MORE(20) } },
      .setting = SHALLOW ", no warm-up", .measure = n3 },
    { .id = "N4a", .item = "Sun 2025, figure 2", .picture = "The loss without a layer",
      .title = "of a deep Pre-LN the upper layers can be left out with less harm than the lower",
      .expected = "deep layers of Pre-LN models can be pruned at little loss",
      .criteria = { { .what = "share of the harm of leaving out 2 to 6 or 8 to 12 that is the "
                      "upper ones'", BELOW_NOT(0.333333, 0.5) } },
      .setting = CURSE("12", "600"), .measure = n4a },
    { .id = "N4b", .item = "Sun 2025, figure 2", .picture = "The loss without a layer",
      .title = "with LayerNorm Scaling upper layers count for more than with Pre-LN",
      .expected = "more", .criteria = SCALED_SHARE, .setting = CURSE("12", "600"), .measure = n4b },
    { .id = "N4c", .item = "Sun 2025, table 1", .picture = "LayerNorm Scaling until it settles",
      .title = "LayerNorm Scaling ends below Pre-LN, 12 layers",
      .expected = "below", .criteria = { SETTLED_PREMISE, {
                    .what = "loss of LayerNorm Scaling less that of Pre-LN", LESS(0.01) } },
      .setting = "letters of generated sentences, 12 layers, d 32, batch 32, Adam 2e-3, warm-up "
      "400, until it settles, at most 8000 updates" GOES_ON, .measure = n4c },
    { .id = "N4d", .item = "N4b's explanation: 600 updates are too few",
      .picture = "The loss without a layer, later",
      .title = "with LayerNorm Scaling upper layers count for more after four times the updates",
      .expected = "more", .criteria = SCALED_SHARE, .setting = CURSE("12", "2400"),
      .measure = n4d },
    { .id = "N4e", .item = "N4b's explanation: 12 layers are few",
      .picture = "The loss without a layer of 24",
      .title = "with LayerNorm Scaling upper layers of 24 count for more than with Pre-LN",
      .expected = "more", .criteria = SCALED_SHARE, .setting = CURSE("24", "1200"),
      .measure = n4e },
    { .id = "N5", .item = "Zhu 2025", .title = "DyT ends like LayerNorm, 6 + 6 layers",
      .picture = "DyT and LayerNorm until they settle", .expected = "alike",
      .criteria = { SETTLED_PREMISE, { .what = "loss of DyT less that of LayerNorm",
                                       ALIKE(0.02) } },
      .setting = SETTLED, .measure = n5 },
    { .id = "N5b", .item = "N5's explanation: alpha_0 = 1/2 is for wider models (Zhu 2025, 7.2)",
      .title = "DyT whose alpha begins at 1 ends like LayerNorm, 6 + 6 layers",
      .picture = "DyT with a steeper start until it settles", .expected = "alike",
      .criteria = { SETTLED_PREMISE, { .what = "loss of DyT less that of LayerNorm",
                                       ALIKE(0.02) } },
      .setting = SETTLED ", alpha_0 = 1", .measure = n5b },
    { .id = "N6a", .item = "Kosson 2024", .picture = "By how much an update turns the weights",
      .title = "without warm-up the first update turns weights by more than later ones",
      .expected = "large angular updates at first",
      .criteria = { { .what = "angle of update 1 over 128, Post-LN", .log = true, MORE(0.693147) },
                    { .what = "the same of Pre-LN", .log = true, MORE(0.693147) } },
      .setting = TRACING, .measure = n6a },
    { .id = "N6b", .item = "Kosson 2024", .picture = "How far an update moves the logits",
      .title = "without warm-up the first update moves the logits by more than later ones",
      .expected = "large changes of representations at first",
      .criteria = { { .what = "update 1 over 128, Post-LN", .log = true, MORE(0.693147) },
                    { .what = "the same of Pre-LN", .log = true, MORE(0.693147) } },
      .setting = TRACING, .measure = n6b },
    { .id = "N7a", .item = "Kalra 2024", .picture = "Sharpness in the first updates",
      .title = "during a warm-up the preconditioned sharpness of Post-LN falls",
      .expected = "training moves to where a larger rate is borne",
      .criteria = { { .what = "largest eigenvalue after update 128 over that after 1", .log = true,
                      LESS(0.693147) } },
      .setting = TRACING, .measure = n7a },
    { .id = "N7b", .item = "Gilmer 2021; Kalra 2024", .picture = "Sharpness in the first updates",
      .title = "Post-LN, which needs a warm-up, begins sharper than Pre-LN",
      .expected = "instability begins where curvature is high",
      .criteria = { { .what = "largest eigenvalue after update 1, Post-LN over Pre-LN",
                      .log = true, MORE(0.693147) } },
      .setting = TRACING, .measure = n7b },
    { .id = "N8a", .item = "Yang 2022, figure 1", .picture = "The best rate by width, usual",
      .title = "in the usual parameterization the best rate falls with the width",
      .expected = "falls", .criteria = { { .what = "exponent of the best rate in the width",
                                           BELOW_NOT(-0.25, 0.25) } },
      .setting = WIDTHS_SETTING, .measure = n8a },
    { .id = "N8b", .item = "Yang 2022, figure 1", .picture = "The best rate by width, muP",
      .title = "in muP the best rate is the same at all widths",
      .expected = "the same", .criteria = { { .what = "exponent of the best rate in the width",
                                              BETWEEN(-0.25, 0.25) } },
      .setting = WIDTHS_SETTING, .measure = n8b },
    { .id = "N8c", .item = "Yang 2022, figure 1", .picture = "A rate carried to another width",
      .title = "a rate found at width 16 serves at width 128 in muP, not in the usual form",
      .expected = "it serves",
      .criteria = { { .what = "loss at the rate best at 16 less the least, muP", ALIKE(0.03) },
                    { .what = "the same, usual less muP", MORE(0.03) } },
      .setting = WIDTHS_SETTING, .measure = n8c },
    { .id = "N9", .item = "Liu 2020, section 4.3",
      .title = "Admin suffers from vanishing gradients, and yet it trains",
      .picture = "Gradients of Admin before training", .expected = "both",
      .criteria = { { .what = "decoder's bottom over top", .log = true, BELOW_NOT(-0.223144, 0) },
                    { .what = "BLEU of 18 + 18 layers", ABOVE(LEARNS_ABOVE) } },
      .setting = AT_START ", 18 + 18 layers; " DEEPER, .measure = n9,
      .before = "A3 counted Admin among those that do not vanish" },
    { .id = "N10a", .item = "Mao 2023", .picture = "Toy languages until they settle",
      .title = "between tongues that training never paired shallow Post-LN is above Pre-LN",
      .expected = "better, by up to 12.3 BLEU", .criteria = { SETTLED_PREMISE, TONGUES_PREMISE,
                    { .what = "BLEU of unseen pairs, Post-LN less Pre-LN", MORE(2) } },
      .setting = TONGUES_SETTING, .measure = n10a },
    { .id = "N10b", .item = "Mao 2023", .picture = "Toy languages until they settle",
      .title = "and fewer of its answers are in the wrong tongue",
      .expected = "fewer", .criteria = { SETTLED_PREMISE, TONGUES_PREMISE,
                    { .what = "answers of unseen pairs in the wrong tongue [%], Post-LN less "
                      "Pre-LN", LESS(2) } },
      .setting = TONGUES_SETTING, .measure = n10b },
    { .id = "N11", .item = "Takase 2022, table 3, on a text of one's own",
      .title = "a language model of 6 layers: Post-LN ends below Pre-LN", .own_text = true,
      .picture = "A text of one's own until it settles", .expected = "below: 20.24 and 20.98",
      .criteria = { SETTLED_PREMISE, { .what = "loss of Post-LN less that of Pre-LN",
                                       LESS(0.01) } },
      .setting = "windows of 32 bytes of a text that is given (--text), the last tenth is the "
      "test; 6 layers, d 32, batch 32, Adam 2e-3, warm-up 400, until it settles, at most 8000 "
      "updates" GOES_ON, .measure = n11 },
    { .id = "N12", .item = "Xiong 2020, figure 5 a, until it settles",
      .title = "masked pre-training of 4 layers ends alike with Post-LN and Pre-LN",
      .picture = "Masked pre-training until it settles", .expected = "the same loss, 1.69",
      .criteria = { SETTLED_PREMISE, { .what = "loss of Post-LN less that of Pre-LN",
                                       ALIKE(0.02) } },
      .setting = "two facts by words, 15 % hidden, an encoder of 4 layers, d 32, batch 32, Adam "
      "2e-3, warm-up 400, until it settles, at most 8000 updates" GOES_ON, .measure = n12 },
    { .id = NULL }
};
