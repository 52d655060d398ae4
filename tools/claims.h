/* The claims of papers on norms, a row each: what the paper says, what is measured here, and by
 * which criteria it is judged (judge.h). A row states one thing. Its criteria were committed before
 * its results and are data: what judges is what is printed. Rows that hold by construction, such as
 * identities, one-sided bounds and tests of the library, are checks and stand outside the tally.
 *
 * xiong.h, liu.h, takase.h have the rows of Xiong 2020 (X), Liu 2020 (A), Takase 2022 (B); later.h
 * those of what the field learned since (N). Here is what they share: samples over seeds, figures,
 * settings. */
#ifndef CLAIMS_H
#define CLAIMS_H
#include "judge.h"
#include "lab.h"

/* What a picture shows: lines over x, or a matrix of n x n. */
enum { FIGURE_POINTS = 3 * LAB_DEEPEST, FIGURE_LINES = 9, FIGURE_MATRIX = 40 };
typedef struct figure_line {
    char   name[40];
    int    n;
    double x[FIGURE_POINTS], y[FIGURE_POINTS], spread[FIGURE_POINTS];
} figure_line;
typedef struct figure {
    const char *x, *y;              /* labels of the axes, with units */
    bool        log_x, log_y;
    int         lines, matrix;      /* matrix: columns, with a row less; of line 0's name */
    figure_line line[FIGURE_LINES];
    double      cells[FIGURE_MATRIX * (FIGURE_MATRIX + 1)];
} figure;

enum { CLAIM_CRITERIA = 8 };
typedef struct outcome {
    verdict    verdict;
    int        found;                           /* samples, one for each criterion of the row */
    lab_sample sample[CLAIM_CRITERIA];
    finding    finding[CLAIM_CRITERIA];
    bool       held;                            /* of a check */
    char       numbers[1600];                   /* what else was found */
    figure     fig;
} outcome;

typedef enum claim_kind { MEASUREMENT, CHECK_ROW, NO_ROW } claim_kind;
typedef struct claim {
    const char *id, *item, *title;
    claim_kind  kind;
    const char *expected;
    const char *paper;                          /* its own numbers; NULL: it gives none */
    const char *picture;                        /* the figure's title; NULL: the row's */
    criterion   criteria[CLAIM_CRITERIA];       /* of a measurement, up to one without `what` */
    const char *check;                          /* what a check looks at, in words */
    const char *setting;
    void      (*measure)(lab *l, outcome *o);   /* NULL of NO_ROW: not testable here */
    const char *reason;                         /* why not */
    bool        wants_text;                     /* of one's own: --text */
    const char *before;                         /* what the first edition had; NULL: the same */
} claim;

static int criteria_of(const claim *c)
{
    int n = 0;
    while (n < CLAIM_CRITERIA) {
        if (!c->criteria[n].what) break;
        n++;
    }
    return n;
}

static void say(outcome *o, const char *format, ...)
{
    va_list args;
    size_t at = strlen(o->numbers);
    va_start(args, format);
    vsnprintf(o->numbers + at, sizeof o->numbers - at, format, args);
    va_end(args);
}
/* Mean and deviation over seeds. */
static void say_sample(outcome *o, const char *before, int digits, lab_sample a)
{
    say(o, "%s%.*f+-%.*f", before, digits, a.mean, digits, a.sd);
}

/* The same of what has a name, one of several. */
static void say_named(outcome *o, const char *name, int digits, lab_sample a)
{
    say(o, "%s ", name);
    say_sample(o, "", digits, a);
    say(o, "; ");
}

/* The values of the row's next criterion. */
static void finds(outcome *o, lab_sample a)
{
    if (o->found < CLAIM_CRITERIA) o->sample[o->found] = a;
    o->found++;
}
static void holds(outcome *o, bool held) { o->held = held; }

/* -- samples --------------------------------------------------------------------------------- */

/* Seed by seed; as many as both have. */
static lab_sample minus(lab_sample a, lab_sample b)
{
    if (b.n < a.n) a.n = b.n;
    for (int32_t i = 0; i < a.n; i++) a.v[i] -= b.v[i];
    lab_sum_up(&a);
    return a;
}
static lab_sample log_ratio(lab_sample a, lab_sample b)
{
    if (b.n < a.n) a.n = b.n;
    for (int32_t i = 0; i < a.n; i++) a.v[i] = log(a.v[i] / b.v[i]);
    lab_sum_up(&a);
    return a;
}
/* The exponents of y ~ x^b, each seed's own; rows[i] are the y at x[i]. */
static lab_sample exponents(const lab_sample *rows, int32_t n, const double *x)
{
    double y[2 * LAB_DEEPEST];
    lab_sample a = rows[0];
    for (int32_t s = 0; s < a.n; s++) {
        for (int32_t i = 0; i < n; i++) y[i] = rows[i].v[s];
        a.v[s] = lab_power(n, x, y);
    }
    lab_sum_up(&a);
    return a;
}
/* A statistic of means over seeds: its jackknife values. */
typedef double law(int32_t n, const double *x, const double *means);
static lab_sample jackknifed(const lab_sample *rows, int32_t n, const double *x, law *f)
{
    double means[4 * LAB_DEEPEST], without[LAB_SEEDS], all;
    lab_sample a = rows[0];
    for (int32_t i = 0; i < n; i++) means[i] = rows[i].mean;
    all = f(n, x, means);
    for (int32_t s = 0; s < a.n; s++) {
        for (int32_t i = 0; i < n; i++)
            means[i] = (rows[i].mean * a.n - rows[i].v[s]) / (a.n - 1);
        without[s] = f(n, x, means);
    }
    if (a.n > 1) jackknife(a.v, all, without, a.n);
    else a.v[0] = all;
    lab_sum_up(&a);
    return a;
}
/* By how much more of the variance a line in x explains than one in ln x. */
static double linear_rather_than_log(int32_t n, const double *x, const double *means)
{
    double log_x[4 * LAB_DEEPEST];
    for (int32_t i = 0; i < n; i++) log_x[i] = log(x[i]);
    return lab_line_through(n, x, means).r2 - lab_line_through(n, log_x, means).r2;
}
static double linear_share(int32_t n, const double *x, const double *means)
{
    return lab_line_through(n, x, means).r2;
}
static double linear_slope(int32_t n, const double *x, const double *means)
{
    return lab_line_through(n, x, means).b;
}
static lab_sample mean_of(const lab_sample *rows, int32_t n)
{
    lab_sample a = rows[0];
    for (int32_t s = 0; s < a.n; s++) {
        a.v[s] = 0;
        for (int32_t i = 0; i < n; i++) a.v[s] += rows[i].v[s] / n;
    }
    lab_sum_up(&a);
    return a;
}
/* The row whose mean is the least, or the largest. */
static lab_sample extreme(const lab_sample *rows, int32_t n, bool largest)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++) {
        const bool larger = rows[i].mean > rows[best].mean;
        if (larger == largest) best = i;
    }
    return rows[best];
}

/* -- figures --------------------------------------------------------------------------------- */

/* A recipe as the papers call it, for legends. */
static const char *paper_name(const char *recipe)
{
    static const char *const names[][2] = {
        { "post", "Post-LN" }, { "pre", "Pre-LN" }, { "admin", "Admin" }, { "b2t", "B2T" },
        { "deepnorm", "DeepNorm" }, { "t-fixup", "T-Fixup" }, { "dlcl", "DLCL" },
        { "rezero", "ReZero" }, { "rezero-post", "ReZero + Post-LN" }, { "fixup", "Fixup" },
        { "looklinear", "LookLinear" }, { "admin-direct", "Admin, rescaled weights" },
        { "b2t-skip-last", "B2T past the last norm" }, { "b2t-no-norm", "B2T without norms" },
        { "peri", "Peri-LN" }, { "lns", "LayerNorm Scaling" }, { "mix-ln", "Mix-LN" },
        { "qk-head", "Pre-LN with QK-norm" }, { "ngpt", "nGPT" }, { "dyt", "DyT" }
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], recipe)) return names[i][1];
    return recipe;
}
/* The line of this name, without points: a figure has no two of them. */
static figure_line *line_of(outcome *o, const char *x, const char *y, const char *name)
{
    figure_line *line = o->fig.line;
    name = paper_name(name);
    for (int i = 0; i < o->fig.lines; i++, line++) {
        if (strncmp(line->name, name, sizeof line->name - 1)) continue;
        line->n = 0;
        return line;
    }
    if (o->fig.lines == FIGURE_LINES) return line - 1;
    o->fig.x = x;
    o->fig.y = y;
    o->fig.lines++;
    line->n = 0;
    snprintf(line->name, sizeof line->name, "%s", name);
    return line;
}
static void point(figure_line *line, double x, double y, double spread)
{
    if (line->n == FIGURE_POINTS) return;
    line->x[line->n] = x;
    line->y[line->n] = y;
    line->spread[line->n++] = spread;
}
static void points(figure_line *line, const double *x, const lab_sample *rows, int32_t n)
{
    for (int32_t i = 0; i < n; i++) point(line, x[i], rows[i].mean, rows[i].sd);
}

/* -- settings -------------------------------------------------------------------------------- */

static lab_spec setting(lab_task kind, const char *recipe, int32_t layers)
{
    lab_spec s;
    memset(&s, 0, sizeof s);
    s.task = kind;
    s.recipe = recipe;
    s.layers = layers;
    s.width = 32;
    s.heads = 2;
    s.ffn = 64;
    s.batch = 32;
    s.beta1 = 0.9;
    s.beta2 = 0.98;
    s.optimizer = TFN_OPTIMIZER_ADAM;
    s.schedule = TFN_SCHEDULE_LINEAR;
    return s;
}
static lab_spec at_start(const char *recipe, int32_t layers)
{
    lab_spec s = setting(LAB_REVERSE, recipe, layers);
    s.look = true;
    s.batch = 16;
    return s;
}
static lab_spec wide(lab_spec s)
{
    s.width = 64;
    s.heads = 4;
    s.ffn = 128;
    return s;
}
/* Xiong 2020, 3.3: one head of d channels, all matrices d x d. */
static lab_spec theory(const char *recipe, int32_t layers)
{
    lab_spec s = setting(LAB_DISTINCT, recipe, layers);
    s.width = s.ffn = 128;
    s.heads = 1;
    s.batch = 8;
    s.init = "xavier";
    s.look = s.theory = true;
    return s;
}
static lab_spec training(const char *recipe, int32_t layers, double lr, int64_t warmup,
                         int64_t steps)
{
    lab_spec s = setting(LAB_REVERSE, recipe, layers);
    s.smoothing = 0.1;
    s.lr = lr;
    s.warmup = warmup;
    s.steps = s.stop = steps;
    s.score = true;
    return s;
}
/* 12 + 12 layers, 400 updates: what is fast by then. */
static lab_spec deep(const char *recipe) { return training(recipe, 12, 2e-3, 100, 400); }
/* 18 + 18 layers, at which Takase 2022 finds that Post-LN fails. */
static lab_spec deeper(const char *recipe) { return training(recipe, 18, 2e-3, 100, 400); }
/* 6 + 6 layers at a rate at which all placements train, or deep ones; looked at in the end. */
static lab_spec trained(const char *recipe, int32_t layers)
{
    lab_spec s = training(recipe, layers, 3e-3, 200, 600);
    if (layers > 6) s = deep(recipe);
    s.layers = layers;
    s.look = true;
    return s;
}
/* The control for "fails": three times the updates and the warm-up, a third of the rate. */
static lab_spec control(lab_spec s)
{
    s.lr /= 3;
    s.warmup *= 3;
    s.steps *= 3;
    s.stop *= 3;
    return s;
}
/* Of one that fails at its rate: three times the updates alone. */
static lab_spec longer(lab_spec s)
{
    s.steps *= 3;
    s.stop *= 3;
    return s;
}
/* Until the loss settles, without label smoothing, whose floor tasks reach. */
static lab_spec until_settled(lab_task kind, const char *recipe, int32_t layers)
{
    lab_spec s = setting(kind, recipe, layers);
    s.schedule = TFN_SCHEDULE_CONSTANT;
    s.lr = 2e-3;
    s.warmup = 400;
    s.steps = s.stop = 8000;
    s.settle = true;
    return s;
}
/* Toy German to toy English, two clauses, from 400 sentences that come again: from endless ones 6 +
 * 6 layers learn everything, and their losses of 1e-4 still fall. */
static lab_spec settled(const char *recipe, int32_t layers)
{
    lab_spec s = until_settled(LAB_TRANSLATE, recipe, layers);
    s.lr = 1e-3;
    s.corpus = 400;
    s.dropout = 0.1;
    s.score = true;
    return s;
}
/* Very deep and narrow. */
static lab_spec giant(const char *recipe, int32_t layers, int32_t decoder_layers)
{
    lab_spec s = deep(recipe);
    s.layers = layers;
    s.decoder_layers = decoder_layers;
    s.width = 16;
    s.heads = 1;
    s.ffn = 32;
    return s;
}
#define FAILS_BELOW 20          /* BLEU */
#define LEARNS_ABOVE 90

/* Labels of axes. */
#define LAST_W2      "gradient norm of the last W2 [nats per token]"
#define ANY_W2       "gradient norm of W2 [nats per token]"
#define OUT_GRADIENT "gradient norm of its output [nats]"

static lab_sample loss_of(lab *l, lab_spec s) { return lab_over(l, s, "nll", 0); }
static lab_sample bleu_of(lab *l, lab_spec s) { return lab_over(l, s, "bleu", 0); }

/* Point i of the loss curves. A run that has settled stays at its last loss while others go on:
 * else their mean would jump where one ends. */
static lab_sample curve_at(lab *l, const lab_spec *s, int32_t i)
{
    lab_sample a;
    bool any = false;
    a.n = 0;
    for (int32_t k = 0; k < lab_seeds(l, s); k++) {
        const lab_spec seeded = lab_seeded(l, *s, k);
        const lab_list *curve = lab_list_of(lab_get(l, &seeded), "curve");
        if (!curve) continue;
        const bool ended = i >= curve->n;
        const int32_t at = ended ? curve->n - 1 : i;
        if (ended && !s->settle) continue;
        if (curve->v[at] == curve->v[at]) a.v[a.n++] = curve->v[at];
        any = any || !ended;
    }
    if (!any) a.n = 0;
    lab_sum_up(&a);
    return a;
}
static void draw_loss(lab *l, outcome *o, lab_spec s, const char *name)
{
    figure_line *line = line_of(o, "updates", "validation loss [nats per token]", name);
    const int32_t n = s.settle ? LAB_CHECKS : LAB_POINTS;
    for (int32_t i = 0; i <= n; i++) {
        const lab_sample a = curve_at(l, &s, i);
        if (a.n) point(line, (double)(s.stop * i / n), a.mean, a.sd);
    }
}
static void draw_list(lab *l, outcome *o, lab_spec s, const char *list, int32_t n, const char *x,
                      const char *y, const char *name)
{
    figure_line *line = line_of(o, x, y, name);
    for (int32_t i = 0; i < n; i++) {
        lab_sample a = lab_over(l, s, list, i);
        point(line, i + 1, a.mean, a.sd);
    }
}
/* Its loss drawn, its score said. */
static lab_sample scored(lab *l, outcome *o, lab_spec s, const char *name, lab_sample score)
{
    draw_loss(l, o, s, name);
    say_named(o, paper_name(name), 1, score);
    return score;
}
/* Numbers 0 to n - 1 of a list, a sample each. */
static void samples_of(lab *l, lab_spec s, const char *list, int32_t n, lab_sample *rows)
{
    for (int32_t i = 0; i < n; i++) rows[i] = lab_over(l, s, list, i);
}
/* Updates until the loss is below a limit, between two points of the curve on a line; the last, if
 * it never is. */
static double first_below(const lab_list *curve, double limit, double updates)
{
    if (!curve) return (double)NAN;
    const double step = updates / (curve->n - 1);
    if (curve->v[0] < limit) return 0;
    for (int32_t i = 1; i < curve->n; i++) {
        const double a = curve->v[i - 1];
        const double b = curve->v[i];
        if (b < limit) return step * (i - 1 + (a - limit) / (a - b));
    }
    return updates;
}
static lab_sample reaches(lab *l, lab_spec s, lab_sample limits)
{
    lab_sample a;
    a.n = lab_seeds(l, &s);
    for (int32_t i = 0; i < a.n; i++) {
        const lab_spec seeded = lab_seeded(l, s, i);
        const lab_list *curve = lab_list_of(lab_get(l, &seeded), "curve");
        a.v[i] = first_below(curve, limits.v[i], (double)s.stop);
    }
    lab_sum_up(&a);
    return a;
}
static lab_sample constant(lab *l, lab_spec s, double x)
{
    lab_sample a;
    a.n = lab_seeds(l, &s);
    for (int32_t i = 0; i < a.n; i++) a.v[i] = x;
    lab_sum_up(&a);
    return a;
}

/* "Admin: loss 0.5991+-0.0525 after 2906+-186 updates; " */
static void say_settled(lab *l, outcome *o, lab_spec s)
{
    say(o, "%s: ", paper_name(s.recipe));
    say_sample(o, "loss ", 4, loss_of(l, s));
    say_sample(o, " after ", 0, lab_over(l, s, "updates", 0));
    say(o, " updates; ");
}

/* Losses of two recipes that went on until they settled: the first's less the second's. The premise
 * comes first, the share of runs that did. */
static void compare_settled(lab *l, outcome *o, lab_spec a, lab_spec b)
{
    lab_sample rows[2];
    rows[0] = lab_over(l, a, "settled", 0);
    rows[1] = lab_over(l, b, "settled", 0);
    draw_loss(l, o, a, a.recipe);
    draw_loss(l, o, b, b.recipe);
    finds(o, mean_of(rows, 2));
    finds(o, minus(loss_of(l, a), loss_of(l, b)));
    say_settled(l, o, a);
    say_settled(l, o, b);
}
#define SETTLED_PREMISE { .what = "the share of runs that settled", ABOVE(0.99), .premise = true, \
                          .share = true }

/* BLEU of a run that is said to fail, and that of its control. */
static void found_failing(lab *l, outcome *o, lab_spec s)
{
    draw_loss(l, o, s, s.recipe);
    draw_loss(l, o, control(s), "the same, a third of the rate");
    finds(o, bleu_of(l, s));
    finds(o, bleu_of(l, control(s)));
}

/* -- the settings in words ------------------------------------------------------------------- */

#define AT_START  "string reversal, d 32, 2 heads, d_ff 64, batch 16, no training"
#define AT_START_WIDE "string reversal, d 64, 4 heads, d_ff 128, batch 16, no training"
#define MASKED    "two facts by words, 15 % hidden, an encoder of 4 layers, d 32, batch 32, " \
    "Adam, linear decay, 1500 updates"
#define THEORY    "the theorems' setting: one stack of 12, d 128, d_ff 128, one head, W_Q = W_K = 0"
#define SHALLOW   "string reversal, 4 + 4 layers, d 32, batch 32, Adam 8e-3, linear decay, 500 " \
    "updates"
#define SIX       "string reversal, 6 + 6 layers, d 32, batch 32, linear decay, 600 updates"
#define DEEP      "string reversal, 12 + 12 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 400 " \
    "updates"
#define DEEPER    "string reversal, 18 + 18 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 400 " \
    "updates; control: 1200 updates, warm-up 300, 6.7e-4"
#define SETTLED   "toy German to toy English, two clauses, 400 sentences that come again, d 32, " \
    "batch 32, dropout 0.1, Adam 1e-3, warm-up 400, until it settles, at most 8000 updates"
#define GRAMMAR   "toy German to toy English, 4 + 4 layers, d 32, batch 32, Adam"
#define HEADLINES "headlines of two generated sentences, "
#define SPEECH    "2 to 5 spoken digits as 25 codes of 64 a second, 512 training sentences, "
#define MOVED     "one encoder of 1 to 24 layers, d 64, 4 heads, 8 x 12 random tokens"
#define ENCODER64 "the encoder of 18 + 18 layers, d 64, 4 heads, before training"
#define BY_HAND   "computed"

#include "xiong.h"
#include "liu.h"
#include "takase.h"
#include "later.h"

/* -- all of them ------------------------------------------------------------------------------ */

enum {
    CLAIMS_X = sizeof xiong_claims / sizeof *xiong_claims,
    CLAIMS_A = sizeof liu_claims / sizeof *liu_claims,
    CLAIMS_B = sizeof takase_claims / sizeof *takase_claims,
    CLAIMS_N = sizeof later_claims / sizeof *later_claims,
    CLAIMS = CLAIMS_X + CLAIMS_A + CLAIMS_B + CLAIMS_N
};

/* Row i; NULL: past the end. */
static const claim *claim_at(int i)
{
    if (i < CLAIMS_X) return &xiong_claims[i];
    i -= CLAIMS_X;
    if (i < CLAIMS_A) return &liu_claims[i];
    i -= CLAIMS_A;
    if (i < CLAIMS_B) return &takase_claims[i];
    i -= CLAIMS_B;
    if (i < CLAIMS_N) return &later_claims[i];
    return NULL;
}
#endif
