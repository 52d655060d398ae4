/* Every measurable claim of Xiong 2020 (X), Liu 2020 (A) and Takase 2022 (B), a row each: what the
 * paper says, what is measured here, when it counts as shown. The criteria were written before the
 * results; a claim is measured on the configuration it names and no other. */
#ifndef CLAIMS_H
#define CLAIMS_H
#include "lab.h"

/* BROKEN: it asks for numbers that cannot be there. */
typedef enum verdict { NOT_SHOWN, SHOWN, OPPOSITE, NOT_TESTABLE, BROKEN } verdict;
static const char *const verdicts[] = { "not shown", "shown", "opposite", "not testable here",
                                        "broken" };

/* What a picture shows: lines over x, or a matrix of n x n. */
enum { FIGURE_POINTS = 3 * LAB_DEEPEST, FIGURE_LINES = 9, FIGURE_MATRIX = 40 };
typedef struct figure_line {
    char   name[32];
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

typedef struct outcome {
    verdict verdict;
    char    numbers[1600];
    figure  fig;
} outcome;

typedef struct claim {
    const char *id, *item, *title, *expected;
    const char *paper;                               /* its own numbers, "": it gives none */
    const char *criterion, *setting;
    void      (*measure)(lab *l, outcome *o);        /* NULL: not testable here */
    const char *reason;                              /* why not */
} claim;

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
static lab_sample ratio_of(lab_sample a, const lab_sample *b)
{
    for (int32_t i = 0; i < a.n; i++) a.v[i] /= b->v[i];
    lab_sum_up(&a);
    return a;
}
/* What a fit or the like is with each seed alone; it may draw, which is not seen. */
typedef double statistic(lab *l, outcome *o, const char *recipe, int32_t detail);
static double deviation_of(lab *l, int seeds, statistic *f, const char *recipe, int32_t detail)
{
    outcome *unseen = (outcome *)calloc(1, sizeof *unseen);
    lab_sample a;
    a.n = unseen ? seeds : 0;
    for (int32_t i = 0; i < a.n; i++) {
        l->only = (uint64_t)(i + 1);
        unseen->fig.lines = 0;
        a.v[i] = f(l, unseen, recipe, detail);
    }
    l->only = 0;
    free(unseen);
    lab_sum_up(&a);
    return a.sd;
}
static void judge(outcome *o, bool shown, bool opposite)
{
    o->verdict = NOT_SHOWN;
    if (opposite) o->verdict = OPPOSITE;
    if (shown) o->verdict = SHOWN;
}
/* Four of five seeds. */
static bool most(int count, int n) { return n > 0 && 5*count >= 4*n; }
static int count_above(const lab_sample *a, const lab_sample *b, double factor)
{
    int count = 0;
    const int32_t pairs = (int32_t)fmin(a->n, b->n);
    for (int32_t i = 0; i < pairs; i++) count += a->v[i] > factor * b->v[i];
    return count;
}
static int count_over(const lab_sample *a, double limit)
{
    int count = 0;
    for (int32_t i = 0; i < a->n; i++) count += a->v[i] > limit;
    return count;
}
static int count_under(const lab_sample *a, double limit)
{
    int count = 0;
    for (int32_t i = 0; i < a->n; i++) count += !(a->v[i] >= limit);      /* NaN is a failure */
    return count;
}
static figure_line *line_of(outcome *o, const char *x, const char *y, const char *name)
{
    figure_line *line = &o->fig.line[o->fig.lines];
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
/* Deep ones: 12 + 12 layers, 400 steps, the rate that lab notes call for. */
static lab_spec deep(const char *recipe) { return training(recipe, 12, 2e-3, 100, 400); }
/* 6 + 6 layers at a rate at which all placements train, or deep ones; looked at in the end. */
static lab_spec trained(const char *recipe, int32_t layers)
{
    lab_spec s = training(recipe, layers, layers > 6 ? 2e-3 : 3e-3, layers > 6 ? 100 : 200,
                          layers > 6 ? 400 : 600);
    s.look = true;
    return s;
}
static const double FAILS = 20, LEARNS = 90;         /* BLEU */

/* Labels of axes. */
#define LAST_W2      "gradient norm of the last W2 [nats per token]"
#define ANY_W2       "gradient norm of W2 [nats per token]"
#define OUT_GRADIENT "gradient norm of its output [nats]"

static void draw_loss(lab *l, outcome *o, lab_spec s, const char *name)
{
    figure_line *line = line_of(o, "updates", "validation loss [nats per token]", name);
    for (int32_t i = 0; i <= LAB_POINTS; i++) {
        lab_sample a = lab_over(l, s, "curve", i);
        point(line, (double)(s.stop * i / LAB_POINTS), a.mean, a.sd);
    }
}
/* The mean over seeds of all numbers of a list. */
static int32_t means(lab *l, const lab_spec *s, const char *name, int32_t n, double *mean,
                     double *sd)
{
    for (int32_t i = 0; i < n; i++) {
        lab_sample a = lab_over(l, *s, name, i);
        mean[i] = a.mean;
        if (sd) sd[i] = a.sd;
    }
    return n;
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

/* -- Xiong 2020: sampling -------------------------------------------------------------------- */

static void x1(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre" };
    bool shown = true;
    for (int k = 0; k < 2; k++) {
        lab_spec s = theory(recipes[k], 12);
        int inside = 0;
        int all = 0;
        double mean = 0;
        for (int32_t i = 0; i < 8 * 16; i++) mean += lab_over(l, s, "energies", i).mean / (8*16);
        for (int32_t i = 0; i < 8 * 16; i++) {
            lab_sample a = lab_over(l, s, "energies", i);
            for (int32_t j = 0; j < a.n; j++) {
                inside += a.v[j] <= 1.1 * mean;
                all++;
            }
        }
        say(o, "%s: %.3f of %d tokens at most 10 %% above the mean. ", recipes[k],
            (double)inside / all, all);
        shown = shown && inside >= 0.875 * all;
    }
    judge(o, shown, false);
}

static void x2(lab *l, outcome *o)
{
    const int32_t d = 64;
    const int32_t n = 20000;
    const double sigma = 1.5;
    tfn_key key = tfn_key_make(2);
    double sum = 0, ratio;
    (void)l;
    for (int32_t i = 0; i < n * d; i++) {
        double x = sigma * (double)tfn_random_normal(key, (uint64_t)i);
        if (x > 0) sum += x*x;
    }
    ratio = sum / n / (sigma*sigma * d/2);
    say(o, "E|ReLU(X)|^2 / (sigma^2 d/2) = %.4f, %d samples, d %d. ", ratio, n, d);
    judge(o, fabs(ratio - 1) < 0.01, false);
}

/* Of every layer; returns how many. */
static int energies(lab *l, outcome *o, const char *recipe, const char *list, int32_t odd,
                    double mean[LAB_DEEPEST])
{
    lab_spec s = theory(recipe, 12);
    const int n = lab_layers(l, 12);
    figure_line *line = line_of(o, "layer", "mean of |x|^2 / d", recipe);
    for (int32_t i = 0; i < n; i++) {
        lab_sample a = lab_over(l, s, list, 2*i + odd);
        mean[i] = a.mean;
        point(line, i + 1, a.mean, a.sd);
    }
    return n;
}
static void x3(lab *l, outcome *o)
{
    double e[LAB_DEEPEST], sum = 0, low = 1e9, high = 0;
    const int n = energies(l, o, "post", "enc_sum_energy", 1, e);
    for (int i = 0; i < n; i++) {
        sum += e[i] / n;
        low = fmin(low, e[i]);
        high = fmax(high, e[i]);
    }
    say(o, "mean %.3f, layers from %.3f to %.3f (theory 1.5). ", sum, low, high);
    judge(o, fabs(sum - 1.5) < 0.1 && low > 1.3 && high < 1.7, false);
}
static void x4(lab *l, outcome *o)
{
    double e[LAB_DEEPEST], low = 1e9, high = 0;
    const int n = energies(l, o, "post", "enc_sum_energy", 0, e);
    for (int i = 0; i < n; i++) {
        low = fmin(low, e[i]);
        high = fmax(high, e[i]);
    }
    say(o, "layers from %.3f to %.3f (theory [1, 2]). ", low, high);
    judge(o, low >= 1 && high <= 2.02, false);
}
static void x5(lab *l, outcome *o)
{
    double e[LAB_DEEPEST] = { 0 }, x[LAB_DEEPEST] = { 0 };
    bool inside = true;
    lab_fit f;
    const int n = energies(l, o, "pre", "enc_output_energy", 1, e);
    for (int i = 0; i < n; i++) {
        x[i] = i + 1;
        inside = inside && e[i] >= 1 + x[i]/2 && e[i] <= 1 + 3*x[i]/2;
    }
    f = lab_line_through(n, x, e);
    say(o, "slope %.3f a layer (theory 0.5 to 1.5), R^2 %.4f, layer %d: %.2f. ", f.b, f.r2, n,
        e[n - 1]);
    judge(o, inside && f.r2 > 0.95, false);
}

/* The largest singular value of LayerNorm's Jacobian at x, by power iteration with the header's
 * backward; the Jacobian without gain is symmetric. */
static double jacobian(const float *x, int32_t d)
{
    float y[256], v[256], u[256], mean, rate;
    tfn_norm_args p;
    double size = 0;
    memset(&p, 0, sizeof p);
    p.kind = TFN_NORM_LAYER;
    p.x = x;
    p.y = y;
    p.mean = &mean;
    p.rstd = &rate;
    p.rows = 1;
    p.cols = d;
    p.eps = 1e-12f;
    p.dy = v;
    p.dx = u;
    tfn_kernels_for(TFN_ISA_BEST)->norm_forward(&p);
    for (int32_t i = 0; i < d; i++) v[i] = (float)tfn_random_normal(tfn_key_make(6), (uint64_t)i);
    for (int k = 0; k < 200; k++) {
        size = 0;
        tfn_kernels_for(TFN_ISA_BEST)->norm_backward(&p);
        for (int32_t i = 0; i < d; i++) size += (double)u[i] * (double)u[i];
        size = sqrt(size);
        for (int32_t i = 0; i < d; i++) v[i] = (float)((double)u[i] / size);
    }
    return size;
}
static void x6(lab *l, outcome *o)
{
    static const int32_t widths[] = { 16, 64, 256 };
    double low = 1e9;
    double high = 0;
    figure_line *line = line_of(o, "width d", "|J|_2 |x| / sqrt(d)", "LayerNorm");
    (void)l;
    for (int k = 0; k < 3; k++) {
        lab_sample sample;
        for (sample.n = 0; sample.n < 20; sample.n++) {
            const int i = sample.n;
            float x[256];
            double sum = 0, value;
            tfn_key key = tfn_key_fold(tfn_key_make(66), (uint64_t)(100*k + i));
            for (int32_t c = 0; c < widths[k]; c++) {
                x[c] = (float)(1 + i) * (float)tfn_random_normal(key, (uint64_t)c);
                sum += (double)x[c] * (double)x[c];
            }
            value = jacobian(x, widths[k]) * sqrt(sum / widths[k]);
            low = fmin(low, value);
            high = fmax(high, value);
            sample.v[i] = value;
        }
        lab_sum_up(&sample);
        point(line, widths[k], sample.mean, sample.sd);
    }
    say(o, "|J|_2 |x|/sqrt(d) from %.3f to %.3f over 60 normal vectors of scales 1 to 20. ", low,
        high);
    judge(o, low > 0.8 && high < 1.5, false);
}
static void x7(lab *l, outcome *o)
{
    enum { D = 24 };
    double a[D], size = 0, wrong = 0, trace = 0;
    (void)l;
    for (int i = 0; i < D; i++) a[i] = (double)tfn_random_normal(tfn_key_make(7), (uint64_t)i);
    for (int i = 0; i < D; i++) size += a[i] * a[i];
    for (int i = 0; i < D; i++) a[i] /= sqrt(size);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {       /* P^2 = P: eigenvalues 0, 1; the trace counts the 1s */
            double square = 0;
            for (int k = 0; k < D; k++) square += ((i == k) - a[i]*a[k]) * ((k == j) - a[k]*a[j]);
            wrong = fmax(wrong, fabs(square - ((i == j) - a[i]*a[j])));
            trace += i == j ? 1 - a[i]*a[i] : 0;
        }
    say(o, "P = I - aa^T, d %d: |P^2 - P| <= %.1e, trace %.12f. ", D, wrong, trace);
    judge(o, wrong < 1e-12 && fabs(trace - (D - 1)) < 1e-10, false);
}

/* -- Xiong 2020: gradients at the start ------------------------------------------------------ */

static const int32_t depths[] = { 2, 4, 6, 8, 12, 14, 18 };
enum { DEPTHS = 7 };
static double depth_power(lab *l, outcome *o, const char *recipe, int32_t first)
{
    double x[DEPTHS], y[DEPTHS];
    figure_line *line = line_of(o, "layers of each stack", LAST_W2, recipe);
    o->fig.log_x = o->fig.log_y = true;
    for (int i = 0; i < DEPTHS; i++) {
        lab_sample a = lab_over(l, wide(at_start(recipe, depths[i])), "dec_w2_gradient", -1);
        x[i] = lab_layers(l, depths[i]);
        y[i] = a.mean;
        point(line, x[i], y[i], a.sd);
    }
    return lab_power(DEPTHS - first, x + first, y + first);
}
static void x8(lab *l, outcome *o)
{
    double post = depth_power(l, o, "post", 0);
    double pre = depth_power(l, o, "pre", 0);
    say(o, "gradient of the last W2 ~ L^b, L = 2..18: Post-LN b = %.2f+-%.2f (theory 0), Pre-LN b "
        "= %.2f+-%.2f (theory -0.5). ", post,
        deviation_of(l, l->init_seeds, depth_power, "post", 0), pre,
        deviation_of(l, l->init_seeds, depth_power, "pre", 0));
    judge(o, fabs(post) <= 0.2 && pre <= -0.3 && pre >= -0.7, pre > post);
}
static void x9(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre" };
    const double limit = 2 * log(100.0 * 128);
    bool shown = true;
    for (int k = 0; k < 2; k++) {
        int inside = 0;
        int all = 0;
        for (int32_t i = 0; i < 8 * 16; i++) {
            lab_sample a = lab_over(l, theory(recipes[k], 12), "hidden_max", i);
            for (int32_t j = 0; j < a.n; j++) {
                inside += a.v[j] <= limit;
                all++;
            }
        }
        say(o, "%s: %.4f of %d tokens within the bound. ", recipes[k], (double)inside / all, all);
        shown = shown && inside >= 0.99 * all;
    }
    judge(o, shown, false);
}
static void x10(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre" };
    const int n = lab_layers(l, 12);
    const double bound = pow(1.5, (n - 1) / 2.0);
    double ratio[2], sd[2];
    for (int k = 0; k < 2; k++) {
        lab_spec s = theory(recipes[k], 12);
        lab_sample last = lab_over(l, s, "enc_w2_gradient", -1);
        lab_sample first = lab_over(l, s, "enc_w2_gradient", 0);
        draw_list(l, o, s, "enc_w2_gradient", n, "layer", ANY_W2, recipes[k]);
        ratio[k] = last.mean / first.mean;
        sd[k] = ratio_of(last, &first).sd;
    }
    say(o, "W2, last over first layer of %d: Post-LN %.2f+-%.2f (the bound allows up to %.1f), "
        "Pre-LN %.2f+-%.2f (theory 1). ", n, ratio[0], sd[0], bound, ratio[1], sd[1]);
    judge(o, ratio[0] > 1.5 && ratio[0] < 1.1 * bound && ratio[1] > 0.5 && ratio[1] < 2, false);
}
static double jacobian_power(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    double x[LAB_DEEPEST] = { 0 }, y[LAB_DEEPEST] = { 0 };
    const int n = lab_layers(l, layers);
    figure_line *line = line_of(o, "layer", "Jacobian of the norm, 1/deviation", recipe);
    for (int i = 0; i < n; i++) {
        lab_sample a = lab_over(l, theory(recipe, layers), "enc_jacobian", 2*i);
        x[i] = i + 1;
        y[i] = a.mean;
        point(line, x[i], y[i], a.sd);
    }
    return lab_power(n - 1, x + 1, y + 1);
}
static void x11(lab *l, outcome *o)
{
    double b = jacobian_power(l, o, "pre", 12);
    say(o, "|J| ~ j^b, layers 2 to %d: b = %.2f+-%.2f (theory -0.5). ", (int)lab_layers(l, 12), b,
        deviation_of(l, l->init_seeds, jacobian_power, "pre", 12));
    judge(o, b < -0.35 && b > -0.65, b > 0);
}
static void x14(lab *l, outcome *o)
{
    double first[2], last[2], later[2], sd[2];
    static const char *const recipes[] = { "post", "pre" };
    const int n = lab_layers(l, 6);
    for (int k = 0; k < 2; k++) {
        lab_spec s = at_start(recipes[k], 6);
        lab_spec t = training(recipes[k], 6, 4e-3, 200, 600);
        t.stop = 200;
        t.look = true;
        first[k] = lab_over(l, s, "dec_w2_gradient", 0).mean;
        last[k] = lab_over(l, s, "dec_w2_gradient", -1).mean;
        later[k] = lab_over(l, t, "dec_w2_gradient", -1).mean;
        lab_sample a = lab_over(l, s, "dec_w2_gradient", -1);
        lab_sample b = lab_over(l, s, "dec_w2_gradient", 0);
        sd[k] = ratio_of(a, &b).sd;
        draw_list(l, o, s, "dec_w2_gradient", n, "decoder layer", ANY_W2,
                  k ? "pre, start" : "post, start");
        draw_list(l, o, t, "dec_w2_gradient", n, "decoder layer", ANY_W2,
                  k ? "pre, after warm-up" : "post, after warm-up");
    }
    say(o, "W2 of the decoder, last over first layer: Post-LN %.2f+-%.2f, Pre-LN %.2f+-%.2f; the "
        "last layer after warm-up over at the start: Post-LN %.2f, Pre-LN %.2f. ",
        last[0] / first[0], sd[0], last[1] / first[1], sd[1], later[0] / last[0],
        later[1] / last[1]);
    judge(o, last[0] / first[0] > 2 && last[1] / first[1] < 2 && last[1] / first[1] > 0.5
          && later[0] / last[0] < 0.5, last[0] < first[0]);
}
static void x15(lab *l, outcome *o)
{
    double post = depth_power(l, o, "post", 2);
    double pre = depth_power(l, o, "pre", 2);
    say(o, "gradient of the last W2 ~ L^b, L = 6..18: Post-LN b = %.2f+-%.2f, Pre-LN b = "
        "%.2f+-%.2f. ", post, deviation_of(l, l->init_seeds, depth_power, "post", 2), pre,
        deviation_of(l, l->init_seeds, depth_power, "pre", 2));
    judge(o, fabs(post) <= 0.2 && pre <= -0.3, pre > post);
}
static double width_power(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    double x[4], y[4];
    figure_line *line = line_of(o, "width d", LAST_W2, recipe);
    o->fig.log_x = o->fig.log_y = true;
    for (int i = 0; i < 4; i++) {
        lab_spec s = theory(recipe, layers);
        s.width = s.ffn = 16 << i;
        lab_sample a = lab_over(l, s, "enc_w2_gradient", -1);
        x[i] = lab_width(l, 16 << i);
        y[i] = a.mean;
        point(line, x[i], y[i], a.sd);
    }
    return lab_power(4, x, y);
}
static void x22(lab *l, outcome *o)
{
    double post = width_power(l, o, "post", 6);
    double pre = width_power(l, o, "pre", 6);
    say(o, "gradient of the last W2 ~ d^b, d = 16..128: Post-LN b = %.2f+-%.2f, Pre-LN b = "
        "%.2f+-%.2f (the bound is d sqrt(ln d), about 1.1). ", post,
        deviation_of(l, l->init_seeds, width_power, "post", 6), pre,
        deviation_of(l, l->init_seeds, width_power, "pre", 6));
    judge(o, post <= 1.2 && pre <= 1.2, post > 1.4 || pre > 1.4);
}
static void x23(lab *l, outcome *o)
{
    enum { D = 64, N = 20000 };
    const double bound_of_y = 3;
    const double eps = 0.5;
    int below = 0;
    int above = 0;
    double mean = 0;
    double tail = exp(-D * eps*eps / 8);
    (void)l;
    for (int i = 0; i < N; i++) {
        double z = 0, y;
        tfn_key key = tfn_key_fold(tfn_key_make(23), (uint64_t)i);
        for (int c = 0; c < D; c++) {
            double v = (double)tfn_random_normal(key, (uint64_t)c);
            z += v*v / D;
        }
        y = fmin(z, bound_of_y);
        mean += y / N;
        below += y <= 0.75;
        above += z >= 1 + eps;
    }
    say(o, "Pr[Y <= 0.75] = %.4f <= %.4f; Pr[chi^2/d >= 1.5] = %.5f <= %.4f, d %d. ",
        (double)below / N, (bound_of_y - mean) / (bound_of_y - 0.75), (double)above / N, tail, D);
    judge(o, (double)below / N <= (bound_of_y - mean) / (bound_of_y - 0.75)
          && (double)above / N <= tail, true);
}

/* -- Xiong 2020: training -------------------------------------------------------------------- */

static lab_spec by_sgd(lab_spec s)
{
    s.optimizer = TFN_OPTIMIZER_SGD;
    s.beta1 = 0.9;
    s.lr = 0.2;
    return s;
}
/* The inverse square root, as the papers have it, "no warm-up" in both senses: fairseq's, where it
 * falls from update 1 on, and one that falls from where the warm-up would have ended. */
static void x12_anchors(lab *l, outcome *o)
{
    lab_spec s = training("post", 4, 8e-3, 200, 500);
    s.schedule = TFN_SCHEDULE_INVERSE_SQRT;
    s.anchor = 200;
    say_sample(o, "Inverse square root with Adam: BLEU with warm-up ", 1,
               lab_over(l, s, "bleu", 0));
    s.warmup = 1;
    say_sample(o, ", without, falling after 200 ", 1, lab_over(l, s, "bleu", 0));
    s.anchor = 1;
    say_sample(o, ", falling after 1 ", 1, lab_over(l, s, "bleu", 0));
    say(o, ". ");
}
static void x12(lab *l, outcome *o)
{
    bool shown = true;
    bool opposite = false;
    for (int k = 0; k < 2; k++) {
        lab_spec without = training("post", 4, 8e-3, 1, 500);
        lab_spec with = training("post", 4, 8e-3, 200, 500);
        if (k) {
            without = by_sgd(without);
            with = by_sgd(with);
        }
        lab_sample a = lab_over(l, without, "bleu", 0);
        lab_sample b = lab_over(l, with, "bleu", 0);
        say(o, "%s: BLEU without warm-up %.1f+-%.1f, with %.1f+-%.1f, %d seeds. ",
            k ? "SGD" : "Adam", a.mean, a.sd, b.mean, b.sd, a.n);
        draw_loss(l, o, without, k ? "SGD, no warm-up" : "Adam, no warm-up");
        draw_loss(l, o, with, k ? "SGD, warm-up" : "Adam, warm-up");
        shown = shown && most(count_under(&a, FAILS), a.n) && most(count_over(&b, LEARNS), b.n);
        opposite = opposite || most(count_above(&a, &b, 1), a.n);
    }
    x12_anchors(l, o);
    judge(o, shown, opposite);
}
static void x13(lab *l, outcome *o)
{
    static const int64_t warmups[] = { 1, 50, 200 };
    static const double rates[] = { 2e-3, 4e-3 };
    bool shown = true;
    for (int k = 0; k < 2; k++) {
        double nll[3], sd[3];
        for (int i = 0; i < 3; i++) {
            char name[32];
            lab_spec s = training("post", 6, rates[k], warmups[i], 600);
            snprintf(name, sizeof name, "lr %g, warm-up %d", rates[k], (int)warmups[i]);
            draw_loss(l, o, s, name);
            nll[i] = lab_over(l, s, "nll", 0).mean;
            sd[i] = lab_over(l, s, "nll", 0).sd;
        }
        say(o, "lr %g: loss %.2f+-%.2f, %.2f+-%.2f, %.2f+-%.2f with 1, 50, 200 steps. ", rates[k],
            nll[0], sd[0], nll[1], sd[1], nll[2], sd[2]);
        shown = shown && nll[0] > nll[1] && nll[1] > nll[2] && nll[0] > nll[2] + 0.2;
    }
    judge(o, shown, false);
}
static void x17(lab *l, outcome *o)
{
    static const double rates[] = { 6e-3, 8e-3 };
    bool shown = true;
    bool opposite = false;
    for (int k = 0; k < 2; k++) {
        lab_spec post = training("post", 4, rates[k], 1, 500);
        lab_spec pre = post;
        lab_spec warm;
        post.task = pre.task = LAB_GRAMMAR;
        warm = post;
        warm.warmup = 200;
        pre.recipe = "pre";
        lab_sample a = lab_over(l, post, "bleu", 0);
        lab_sample b = lab_over(l, warm, "bleu", 0);
        lab_sample c = lab_over(l, pre, "bleu", 0);
        draw_loss(l, o, post, k ? "8e-3, post, no warm-up" : "6e-3, post, no warm-up");
        draw_loss(l, o, warm, k ? "8e-3, post, warm-up" : "6e-3, post, warm-up");
        draw_loss(l, o, pre, k ? "8e-3, pre, no warm-up" : "6e-3, pre, no warm-up");
        say(o, "lr %g: BLEU of Post-LN without warm-up %.1f+-%.1f, with %.1f+-%.1f, of Pre-LN "
            "without %.1f+-%.1f. ", rates[k], a.mean, a.sd, b.mean, b.sd, c.mean, c.sd);
        shown = shown && most(count_above(&b, &a, 1.5), a.n) && most(count_above(&c, &a, 1.5), a.n);
        opposite = opposite || most(count_above(&a, &c, 1), a.n);
    }
    judge(o, shown, opposite);
}
/* Updates until the loss is below a limit, or NaN. */
static double reaches(lab *l, lab_spec s, double limit)
{
    for (int32_t i = 0; i <= LAB_POINTS; i++)
        if (lab_over(l, s, "curve", i).mean < limit) return (double)(s.stop * i / LAB_POINTS);
    return (double)NAN;
}
static void x16(lab *l, outcome *o)
{
    lab_spec pre = training("pre", 4, 8e-3, 1, 500);
    lab_spec post = training("post", 4, 8e-3, 200, 500);
    lab_spec adam = training("post", 6, 4e-3, 1, 600);
    lab_spec radam = adam;
    lab_spec shorter;
    radam.optimizer = TFN_OPTIMIZER_RADAM;
    shorter = radam;                    /* at beta2 0.98 its own warm-up is 100 updates, not 400 */
    adam.beta2 = radam.beta2 = 0.995;
    lab_sample a = lab_over(l, pre, "bleu", 0);
    lab_sample b = lab_over(l, post, "bleu", 0);
    lab_sample c = lab_over(l, adam, "bleu", 0);
    lab_sample d = lab_over(l, radam, "bleu", 0);
    double fast = reaches(l, pre, 0.2);
    double slow = reaches(l, post, 0.2);
    draw_loss(l, o, pre, "pre, no warm-up");
    draw_loss(l, o, post, "post, warm-up");
    draw_loss(l, o, adam, "post, Adam, no warm-up");
    draw_loss(l, o, radam, "post, RAdam, no warm-up");
    say(o, "BLEU of Pre-LN without warm-up %.1f+-%.1f, of Post-LN with %.1f+-%.1f; loss 0.2 after "
        "%.0f and %.0f updates; Post-LN without warm-up: Adam %.1f+-%.1f, RAdam %.1f+-%.1f (beta2 "
        ".995)", a.mean, a.sd, b.mean, b.sd, fast, slow, c.mean, c.sd, d.mean, d.sd);
    say_sample(o, ", ", 1, lab_over(l, shorter, "bleu", 0));
    say(o, " (.98). ");
    judge(o, a.mean > b.mean - 2 && fast < slow && most(count_above(&d, &c, 2), d.n), slow < fast);
}
static void x20(lab *l, outcome *o)
{
    lab_spec small = training("post", 6, 5e-4, 1, 600);
    lab_spec large = training("post", 6, 4e-3, 1, 600);
    lab_spec best = training("post", 6, 4e-3, 200, 600);
    small.schedule = TFN_SCHEDULE_CONSTANT;
    lab_sample a = lab_over(l, small, "nll", 0);
    lab_sample b = lab_over(l, large, "nll", 0);
    lab_sample c = lab_over(l, best, "nll", 0);
    draw_loss(l, o, small, "5e-4, constant");
    draw_loss(l, o, large, "4e-3, no warm-up");
    draw_loss(l, o, best, "4e-3, warm-up");
    say_sample(o, "loss: constant 5e-4 ", 2, a);
    say_sample(o, ", 4e-3 without warm-up ", 2, b);
    say_sample(o, ", with ", 2, c);
    say(o, ". ");
    judge(o, most(count_above(&b, &a, 1.2), a.n) && most(count_above(&a, &c, 1.2), a.n),
          a.mean > b.mean);
}

/* Masked pre-training of 12 layers, two facts at a time. */
static lab_spec masked(const char *recipe, double lr, int64_t warmup)
{
    lab_spec s = training(recipe, 12, lr, warmup, 600);
    s.task = LAB_MASKED;
    s.smoothing = 0;
    s.score = false;
    s.tune = 200;
    return s;
}
/* The first point of a loss curve that is not above `loss`; all of them: none, or no curve: 0. */
static int first_below(const lab_list *curve, double loss)
{
    int at = 0;
    if (!curve) return 0;
    for (; at < LAB_POINTS; at++)
        if (curve->v[at] <= loss) break;
    return at;
}
static void x18(lab *l, outcome *o)
{
    lab_spec post = masked("post", 1e-3, 100);
    lab_spec pre = masked("pre", 3e-3, 1);
    lab_spec high = masked("post", 3e-3, 100);
    high.tune = 0;
    lab_sample a = lab_over(l, post, "nll", 0);
    lab_sample b = lab_over(l, pre, "nll", 0);
    lab_sample c = lab_over(l, high, "nll", 0);
    int sooner = 0;
    double mean = 0;
    draw_loss(l, o, post, "post, 1e-3, warm-up");
    draw_loss(l, o, pre, "pre, 3e-3, no warm-up");
    draw_loss(l, o, high, "post, 3e-3, warm-up");
    for (int32_t i = 0; i < a.n; i++) {         /* when it has what Post-LN ends with */
        pre.seed = (uint64_t)(i + 1);
        const int at = first_below(lab_list_of(lab_get(l, &pre), "curve"), a.v[i]);
        sooner += at * 7 <= LAB_POINTS * 5 && b.v[i] <= a.v[i];
        mean += (double)(600 * at / LAB_POINTS) / a.n;
    }
    say(o, "loss of hidden words: Post-LN %.3f+-%.3f after 600 updates (1e-3, warm-up; at 3e-3 "
        "%.3f+-%.3f), Pre-LN without warm-up at 3e-3 %.3f+-%.3f, at Post-LN's after %.0f. ",
        a.mean, a.sd, c.mean, c.sd, b.mean, b.sd, mean);
    judge(o, most(sooner, a.n), most(count_above(&b, &a, 1), a.n));
}
static void x19(lab *l, outcome *o)
{
    lab_spec specs[2] = { masked("post", 1e-3, 100), masked("pre", 3e-3, 1) };
    lab_sample mean[2];
    for (int k = 0; k < 2; k++) {
        figure_line *line = line_of(o, "updates of pre-training", "accuracy of the classifier",
                                    k ? "pre" : "post");
        mean[k].n = 0;
        for (int32_t i = 0; i < 4; i++) {
            lab_sample a = lab_over(l, specs[k], "tuned", i);
            if (!i) mean[k] = a;
            else for (int32_t j = 0; j < a.n; j++) mean[k].v[j] += a.v[j];
            point(line, 150 * (i + 1), a.mean, a.sd);
            say_sample(o, i ? ", " : k ? "; Pre-LN " : "accuracy after 150, 300, 450, 600 updates "
                       "of pre-training: Post-LN ", 3, a);
        }
    }
    say(o, ". ");
    judge(o, most(count_above(&mean[1], &mean[0], 1), mean[0].n),
          most(count_above(&mean[0], &mean[1], 1), mean[0].n));
}

/* -- Liu 2020 -------------------------------------------------------------------------------- */

static void draw_bleu(lab *l, outcome *o, const char *const *recipes, int n, bool curves)
{
    for (int k = 0; k < n; k++) {
        lab_sample a = lab_over(l, deep(recipes[k]), "bleu", 0);
        say(o, "%s %.1f+-%.1f; ", recipes[k], a.mean, a.sd);
        if (curves) draw_loss(l, o, deep(recipes[k]), recipes[k]);
    }
}
static void a1(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    lab_sample post = lab_over(l, deep("post"), "bleu", 0), six, pre_six;
    lab_sample pre = lab_over(l, deep("pre"), "nll", 0);
    lab_sample admin = lab_over(l, deep("admin"), "nll", 0);
    six = lab_over(l, trained("post", 6), "nll", 0);
    pre_six = lab_over(l, trained("pre", 6), "nll", 0);
    say(o, "BLEU of 12 + 12 layers: ");
    draw_bleu(l, o, recipes, 3, true);
    say_sample(o, "loss of Admin ", 3, admin);
    say_sample(o, ", Pre-LN ", 3, pre);
    say_sample(o, "; 6 + 6 layers: Post-LN ", 3, six);
    say_sample(o, ", Pre-LN ", 3, pre_six);
    say(o, ". ");
    judge(o, most(count_under(&post, FAILS), post.n) && admin.mean <= pre.mean
          && six.mean < pre_six.mean, post.mean > LEARNS);
}
static void a2(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre" };
    const int n = 2 * lab_layers(l, 18);
    const int shrink = 3;
    bool shown = true;
    for (int k = 0; k < 2; k++) {
        double g[2 * LAB_DEEPEST];
        int kept = 0;
        means(l, (lab_spec[]){ at_start(recipes[k], 18) }, "enc_output_gradient", n, g, NULL);
        draw_list(l, o, at_start(recipes[k], 18), "enc_output_gradient", n, "encoder sub-layer",
                  OUT_GRADIENT, recipes[k]);
        for (int i = 0; i + 1 < n; i++) kept += g[i] >= 0.98 * g[i + 1];
        say(o, "%s: %d of %d steps towards the bottom do not shrink (by over 2 %%), bottom over "
            "top %.2f. ", recipes[k], kept, n - 1, g[0] / g[n - 1]);
        shown = shown && kept >= n - 1 - shrink && g[0] >= g[n - 1];
    }
    judge(o, shown, false);
}
static double least_relative(lab *l, outcome *o, const char *recipe, const char *list, int32_t n,
                             const char *name)
{
    double g[3 * LAB_DEEPEST], low = 1e9, high = 0;
    means(l, (lab_spec[]){ at_start(recipe, 18) }, list, n, g, NULL);
    for (int i = 0; i < n; i++) {
        low = fmin(low, g[i]);
        high = fmax(high, g[i]);
    }
    figure_line *line = line_of(o, "sub-layer", "relative gradient norm", name);
    o->fig.log_y = true;
    for (int i = 0; i < n; i++) point(line, i + 1, g[i] / high, 0);
    return low / high;
}
static void a3(lab *l, outcome *o)
{
    double encoder, post, pre, admin;
    const int n = lab_layers(l, 18);
    post = least_relative(l, o, "post", "dec_output_gradient", 3*n, "post, decoder");
    pre = least_relative(l, o, "pre", "dec_output_gradient", 3*n, "pre, decoder");
    admin = least_relative(l, o, "admin", "dec_output_gradient", 3*n, "admin, decoder");
    encoder = least_relative(l, o, "post", "enc_output_gradient", 2*n, "post, encoder");
    say(o, "least over largest gradient of a decoder sub-layer's output, %d layers: Post-LN %.4f, "
        "Pre-LN %.2f, Admin %.2f; Post-LN's encoder %.2f. ", n, post, pre, admin, encoder);
    judge(o, post < 0.1 && pre > 0.1 && admin > 0.1 && encoder > 0.1, post > pre);
}
/* Geometric mean over layers of the gradient's growth from a sub-layer's output to its input. */
static double through(const double *g, int32_t kind, int32_t layers)
{
    double sum = 0;
    int count = 0;
    for (int32_t i = 0; i < layers; i++) {
        int32_t at = 3*i + kind;
        if (at == 0) continue;
        sum += log(g[at - 1] / g[at]);
        count++;
    }
    return exp(sum / count);
}
static void a4(lab *l, outcome *o)
{
    double g[3 * LAB_DEEPEST], factor[3];
    const int n = lab_layers(l, 18);
    means(l, (lab_spec[]){ at_start("post", 18) }, "dec_output_gradient", 3*n, g, NULL);
    draw_list(l, o, at_start("post", 18), "dec_output_gradient", 3*n, "decoder sub-layer",
              OUT_GRADIENT, "post");
    o->fig.log_y = true;
    for (int k = 0; k < 3; k++) factor[k] = through(g, k, n);
    say(o, "gradient at a sub-layer's input over its output: self-attention %.2f, cross-attention "
        "%.2f, feed-forward %.2f. ", factor[0], factor[1], factor[2]);
    judge(o, factor[1] < 0.9 && factor[0] > 0.95 && factor[2] > 0.95, factor[1] > 1);
}
static void a5(lab *l, outcome *o)
{
    lab_spec hybrid = deep("post");
    lab_spec start = at_start("post", 12);
    lab_sample a = lab_over(l, deep("post"), "bleu", 0);
    lab_sample c = lab_over(l, deep("pre"), "bleu", 0);
    lab_sample b;
    hybrid.decoder = start.decoder = "pre";
    b = lab_over(l, hybrid, "bleu", 0);
    double low = lab_over(l, at_start("post", 12), "dec_output_gradient", 0).mean
               / lab_over(l, at_start("post", 12), "dec_output_gradient", -1).mean;
    double mixed = lab_over(l, start, "dec_output_gradient", 0).mean
                 / lab_over(l, start, "dec_output_gradient", -1).mean;
    draw_loss(l, o, deep("post"), "post, post");
    draw_loss(l, o, hybrid, "post, pre");
    draw_loss(l, o, deep("pre"), "pre, pre");
    say_sample(o, "encoder, decoder: BLEU post, post ", 1, a);
    say_sample(o, "; post, pre ", 1, b);
    say_sample(o, "; pre, pre ", 1, c);
    say(o, "; gradient at the decoder's bottom over its top: post, post %.3f; post, pre %.2f. ",
        low, mixed);
    judge(o, most(count_under(&a, FAILS), a.n) && most(count_under(&b, FAILS), b.n)
          && most(count_over(&c, LEARNS), c.n) && low < 0.1 && mixed > 0.5, b.mean > c.mean);
}
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
/* |F - F*|^2 over sub-layers; fits against N and ln N. F is what the stack gives; the released code
 * of Liu 2020 takes Pre-LN's before its final norm. */
static void shifts(lab *l, outcome *o, const char *recipe, bool step, lab_fit *linear,
                   lab_fit *logarithmic, double *last, double *sd)
{
    double n[SHIFT_DEPTHS], log_n[SHIFT_DEPTHS], y[SHIFT_DEPTHS];
    figure_line *line = line_of(o, "sub-layers N", "|F - F*|^2 a token", recipe);
    for (int i = 0; i < SHIFT_DEPTHS; i++) {
        lab_sample a = lab_over(l, moved(recipe, shift_depths[i], step), "shift", 0);
        n[i] = 2 * lab_layers(l, shift_depths[i]);
        log_n[i] = log(n[i]);
        y[i] = a.mean;
        point(line, n[i], a.mean, a.sd);
        *sd = a.sd;
    }
    *linear = lab_line_through(SHIFT_DEPTHS, n, y);
    *logarithmic = lab_line_through(SHIFT_DEPTHS, log_n, y);
    *last = y[SHIFT_DEPTHS - 1];
}
static void a6(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    lab_fit linear[3], logarithmic[3];
    double last[3], sd;
    for (int k = 0; k < 3; k++) {
        shifts(l, o, recipes[k], false, &linear[k], &logarithmic[k], &last[k], &sd);
        say(o, "%s: R^2 in N %.3f, in ln N %.3f, at N = %d %.3g+-%.2g. ", recipes[k], linear[k].r2,
            logarithmic[k].r2, (int)(2 * lab_layers(l, 24)), last[k], sd);
    }
    lab_spec s = moved("pre", 24, false);
    say(o, "Before the final norm Pre-LN's is %.3g. ", lab_over(l, s, "shift_inner", 0).mean);
    judge(o, linear[0].r2 > 0.95 && linear[0].r2 > logarithmic[0].r2
          && logarithmic[1].r2 > linear[1].r2 && logarithmic[2].r2 > linear[2].r2,
              last[0] < last[1]);
}
static void a7(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    lab_fit linear[3], logarithmic[3];
    double last[3], sd;
    o->fig.log_y = true;
    for (int k = 0; k < 3; k++) {
        shifts(l, o, recipes[k], true, &linear[k], &logarithmic[k], &last[k], &sd);
        say(o, "%s: at N = %d %.3g+-%.2g, R^2 in N %.3f, in ln N %.3f. ", recipes[k],
            (int)(2 * lab_layers(l, 24)), last[k], sd, linear[k].r2, logarithmic[k].r2);
    }
    judge(o, last[0] > 10 * last[1] && last[0] > 10 * last[2], last[0] < last[1]);
}
/* beta_ii^2 of an encoder at the start, sub-layers 1 to n. */
static void diagonal(lab *l, outcome *o, lab_spec s, const char *name, double *square, int32_t n)
{
    figure_line *line = line_of(o, "sub-layer i", "beta_ii squared", name);
    for (int32_t i = 0; i < n; i++) {
        lab_sample a = lab_over(l, s, "enc_beta", i * (n + 1) + i + 1);
        for (int32_t k = 0; k < a.n; k++) a.v[k] *= a.v[k];
        lab_sum_up(&a);
        square[i] = a.mean;
        point(line, i + 1, a.mean, a.sd);
    }
}
static double diagonal_power(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    double x[2 * LAB_DEEPEST], y[2 * LAB_DEEPEST];
    lab_spec s = wide(at_start(recipe, layers));
    o->fig.log_x = o->fig.log_y = true;
    layers = lab_layers(l, layers);
    for (int32_t i = 0; i < 2*layers; i++) x[i] = i + 1;
    diagonal(l, o, s, recipe, y, 2*layers);
    return lab_power(2*layers - 2, x + 2, y + 2);
}
static void a8(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    double x[3 * SHIFT_DEPTHS], y[3 * SHIFT_DEPTHS];
    int n = 0;
    for (int k = 0; k < 3; k++) {
        figure_line *line = line_of(o, "sum of beta_ii squared", "|F - F*|^2 a token", recipes[k]);
        for (int i = 0; i < SHIFT_DEPTHS; i++, n++) {
            lab_spec s = moved(recipes[k], shift_depths[i], false);
            const int32_t subs = 2 * lab_layers(l, shift_depths[i]);
            x[n] = 0;
            for (int32_t j = 0; j < subs; j++) {
                double beta = lab_over(l, s, "enc_beta", j * (subs + 1) + j + 1).mean;
                x[n] += beta * beta;
            }
            y[n] = lab_over(l, s, "shift", 0).mean;
            point(line, x[n], y[n], 0);
        }
    }
    lab_fit f = lab_line_through(n, x, y);
    say(o, "|F - F*|^2 against the sum of beta_ii^2 over 3 placements and 8 depths: R^2 %.3f. ",
        f.r2);
    judge(o, f.r2 > 0.9 && f.b > 0, f.b < 0);
}
static void a9(lab *l, outcome *o)
{
    double post = diagonal_power(l, o, "post", 18);
    double pre = diagonal_power(l, o, "pre", 18);
    say(o, "beta_ii^2 ~ i^b, sub-layers from 3 on: Post-LN b = %.2f+-%.2f (theory 0), Pre-LN b = "
        "%.2f+-%.2f (theory -1). ", post,
        deviation_of(l, l->init_seeds, diagonal_power, "post", 18), pre,
        deviation_of(l, l->init_seeds, diagonal_power, "pre", 18));
    judge(o, fabs(post) < 0.2 && pre < -0.8 && pre > -1.2, pre > post);
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
    judge(o, wrong < 0.1 && sums < 0.02, false);
}
static void draw_beta(lab *l, outcome *o, lab_spec s, int32_t n, const char *name)
{
    if (n >= FIGURE_MATRIX) return;
    o->fig.x = "part j, 1: the embedding";
    o->fig.y = "sub-layer i";
    o->fig.matrix = n + 1;
    for (int32_t i = 0; i < n * (n + 1); i++)
        o->fig.cells[i] = lab_over(l, s, "enc_beta", i).mean;
    snprintf(o->fig.line[0].name, sizeof o->fig.line[0].name, "beta_ij, %s", name);
}
static lab_spec untrained(const char *recipe, int32_t layers)
{
    lab_spec s = at_start(recipe, layers);
    s.batch = 32;
    return s;
}
static double mean_diagonal(lab *l, const lab_spec *s, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) {
        double beta = lab_over(l, *s, "enc_beta", i*(n + 1) + i + 1).mean;
        sum += beta * beta;
    }
    return sum / n;
}
/* A statistic; layers < 0: of a trained model. */
static double diagonal_of(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    const int32_t n = abs(layers);
    lab_spec s = untrained(recipe, n);
    if (layers < 0) s = trained(recipe, n);
    (void)o;
    return mean_diagonal(l, &s, 2 * lab_layers(l, n));
}
/* The mean beta_ii^2 of two placements, at the start and trained; number `shown` is drawn. */
static void trained_betas(lab *l, outcome *o, const char *const recipes[2], int32_t layers,
                          int shown, double v[4])
{
    const int32_t n = 2 * lab_layers(l, layers);
    double sd[4];
    for (int k = 0; k < 4; k++) {
        const char *recipe = recipes[k / 2];
        const int32_t which = k % 2 ? -layers : layers;
        v[k] = diagonal_of(l, o, recipe, which);
        sd[k] = deviation_of(l, k % 2 ? l->seeds : l->init_seeds, diagonal_of, recipe, which);
        if (k == shown)
            draw_beta(l, o, k % 2 ? trained(recipe, layers) : untrained(recipe, layers), n, recipe);
    }
    say(o, "mean beta_ii^2 of %d encoder sub-layers, start and trained: %s %.3f+-%.3f, %.3f+-%.3f; "
        "%s %.3f+-%.3f, %.3f+-%.3f. ", (int)n, recipes[0], v[0], sd[0], v[1], sd[1], recipes[1],
        v[2], sd[2], v[3], sd[3]);
}
static void a11(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre" };
    double v[4];
    trained_betas(l, o, recipes, 6, 3, v);
    judge(o, v[3] > v[2] && v[0] > v[2] && v[1] > v[3], v[1] < v[3]);
}
static void a12(lab *l, outcome *o)
{
    static const char *const recipes[] = { "admin", "pre" };
    double v[4];
    trained_betas(l, o, recipes, 12, 1, v);
    judge(o, fabs(v[0] / v[2] - 1) < 0.2 && v[1] > v[3], v[1] < v[3]);
}
static void a13(lab *l, outcome *o)
{
    double b = diagonal_power(l, o, "admin", 18);
    say(o, "Admin's beta_ii^2 ~ i^b, sub-layers from 3 on: b = %.2f+-%.2f (theory -1). ", b,
        deviation_of(l, l->init_seeds, diagonal_power, "admin", 18));
    judge(o, b < -0.8 && b > -1.2, b > 0);
}
/* Figures 5 and 11: each matrix of self-attention of each layer, encoder and decoder, its mean over
 * seeds; the changes are those of the last twentieth of the updates. */
static void a14(lab *l, outcome *o)
{
    static const char *const names[] = { "q", "k", "v", "o" }, *const what[] = { "gradient",
                                                                                 "update" };
    lab_spec s = trained("pre", 6);
    const int32_t n = lab_layers(l, 6);
    double low[2] = { 1e9, 1e9 }, high[2] = { 0, 0 }, sum[4] = { 0 };
    s.score = false;
    s.stop = 300;
    o->fig.log_y = true;
    for (int w = 0; w < 2; w++)
        for (int side = 0; side < 2; side++) {
            figure_line *line = line_of(o, "W_Q of layers 1 to N, then W_K, W_V, W_O",
                                        "norm [gradient: nats per token]",
                                        w ? side ? "change, decoder" : "change, encoder"
                                        : side ? "gradient, decoder" : "gradient, encoder");
            for (int k = 0; k < 4; k++)
                for (int32_t i = 0; i < n; i++) {
                    char list[32];
                    snprintf(list, sizeof list, "%s_%s_%s", side ? "dec" : "enc", names[k],
                             what[w]);
                    lab_sample a = lab_over(l, s, list, i);
                    point(line, k*n + i + 1, a.mean, a.sd);
                    low[w] = fmin(low[w], a.mean);
                    high[w] = fmax(high[w], a.mean);
                    if (!w) sum[k] += a.mean;
                }
        }
    say(o, "largest over smallest of %d matrices: gradients %.1f, changes %.1f; (W_Q + W_K)/(W_V + "
        "W_O) of gradients %.2f. ", (int)(8*n), high[0] / low[0], high[1] / low[1],
        (sum[0] + sum[1]) / (sum[2] + sum[3]));
    judge(o, high[0] / low[0] > 2 * high[1] / low[1] && sum[0] + sum[1] < sum[2] + sum[3],
          high[0] / low[0] < high[1] / low[1]);
}
static void a15(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    double low = 1e9;
    double high = 0;
    for (int k = 0; k < 3; k++) {
        lab_spec s = training(recipes[k], 4, 4e-3, 100, 500);
        lab_sample a = lab_over(l, s, "nll", 0);
        draw_loss(l, o, s, recipes[k]);
        say(o, "%s %.3f+-%.3f; ", recipes[k], a.mean, a.sd);
        low = fmin(low, a.mean);
        high = fmax(high, a.mean);
    }
    judge(o, high - low < 0.05, false);
}
/* Post-LN, Pre-LN and a remedy with 6 and with 12 layers; --full: with 60 + 12, too. */
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
typedef struct two_depths { lab_sample six[3], twelve[3]; } two_depths;
static two_depths compare_depths(lab *l, outcome *o, const char *remedy)
{
    const char *const recipes[] = { "post", "pre", remedy };
    two_depths t;
    for (int k = 0; k < 3; k++) {
        lab_sample loss = lab_over(l, trained(recipes[k], 6), "nll", 0);
        t.six[k] = lab_over(l, trained(recipes[k], 6), "bleu", 0);
        t.twelve[k] = lab_over(l, deep(recipes[k]), "bleu", 0);
        say(o, "%s: BLEU of 6 layers %.1f+-%.1f (loss %.3f+-%.3f), of 12 %.1f+-%.1f", recipes[k],
            t.six[k].mean, t.six[k].sd, loss.mean, loss.sd, t.twelve[k].mean, t.twelve[k].sd);
        if (l->full)
            say_sample(o, ", of 60 + 12, width 16, ", 1,
                       lab_over(l, giant(recipes[k], 60, 12), "bleu", 0));
        say(o, ". ");
        draw_loss(l, o, deep(recipes[k]), recipes[k]);
    }
    return t;
}
static void a16(lab *l, outcome *o)
{
    two_depths t = compare_depths(l, o, "admin");
    judge(o, t.six[0].mean > t.six[1].mean && most(count_under(&t.twelve[0], FAILS), t.twelve[0].n)
          && t.twelve[2].mean > t.twelve[1].mean, t.twelve[0].mean > t.twelve[1].mean);
}
static void a17(lab *l, outcome *o)
{
    static const int64_t warmups[] = { 50, 100, 200, 300 };
    bool shown = true;
    for (int i = 0; i < 4; i++) {
        char name[32];
        lab_spec s = training("post", 12, 2e-3, warmups[i], 400);
        lab_sample a = lab_over(l, s, "bleu", 0);
        snprintf(name, sizeof name, "warm-up %d", (int)warmups[i]);
        draw_loss(l, o, s, name);
        say(o, "warm-up %d: BLEU %.1f+-%.1f; ", (int)warmups[i], a.mean, a.sd);
        shown = shown && most(count_under(&a, FAILS), a.n);
    }
    judge(o, shown, false);
}
static void a18(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "admin" };
    static const double rates[] = { 2e-3, 4e-3, 6e-3, 8e-3, 1.2e-2 }, betas[] = { .999, .995, .99 };
    int failed[3] = { 0, 0, 0 };
    for (int k = 0; k < 3; k++) {
        figure_line *line = line_of(o, "peak learning rate",
                                    "final loss, mean over beta2 [nats per token]",
                                    recipes[k]);
        for (int i = 0; i < 5; i++) {
            double sum = 0;
            for (int j = 0; j < 3; j++) {
                lab_spec s = training(recipes[k], 4, rates[i], 1, 350);
                s.beta2 = betas[j];
                lab_sample a = lab_over(l, s, "bleu", 0);
                failed[k] += count_under(&a, FAILS) * 2 > a.n;
                sum += lab_over(l, s, "nll", 0).mean / 3;
            }
            point(line, rates[i], sum, 0);
        }
    }
    say(o, "without warm-up %d, %d and %d of 15 cells fail: Post-LN, Pre-LN, Admin (paper: 7, 0, "
        "0). ",
        failed[0], failed[1], failed[2]);
    judge(o, failed[0] >= 4 && failed[1] == 0 && failed[2] < failed[0], failed[1] > failed[0]);
}
static void a19(lab *l, outcome *o)
{
    static const char *const recipes[] = { "rezero", "fixup", "looklinear" };
    bool shown = true;
    bool none = true;
    for (int k = 0; k < 3; k++) {
        lab_spec s = training(recipes[k], 18, 2e-3, 100, 400);
        s.half = true;
        s.dropout = 0.1;
        lab_sample a = lab_over(l, s, "bleu", 0);
        draw_loss(l, o, s, recipes[k]);
        say(o, "%s: BLEU %.1f+-%.1f; ", recipes[k], a.mean, a.sd);
        shown = shown && most(count_under(&a, FAILS), a.n);
        none = none && most(count_over(&a, LEARNS), a.n);
    }
    judge(o, shown, none);
}
static void a20(lab *l, outcome *o)
{
    lab_spec rezero = training("rezero", 6, 2e-3, 100, 400);
    lab_spec both = rezero;
    both.recipe = "rezero-post";
    lab_sample a = lab_over(l, rezero, "nll", 0);
    lab_sample b = lab_over(l, both, "nll", 0);
    draw_loss(l, o, rezero, "rezero");
    draw_loss(l, o, both, "rezero-post");
    say(o, "loss: ReZero %.3f+-%.3f, with Post-LN %.3f+-%.3f. ", a.mean, a.sd, b.mean, b.sd);
    judge(o, most(count_above(&a, &b, 1), a.n), most(count_above(&b, &a, 1), a.n));
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
    judge(o, worst < 1e-4, worst > 1e-2);
}
static void a25(lab *l, outcome *o)
{
    static const char *const names[] = { "512 pairs, without", "512 pairs, with",
                                         "endless, without", "endless, with" };
    lab_sample loss[2][2];                      /* a small corpus, an endless one; without, with */
    for (int k = 0; k < 4; k++) {
        lab_spec s = training("post", 4, 4e-3, 200, 1000);
        s.task = LAB_GRAMMAR;
        s.dropout = 0.1;
        s.corpus = k < 2 ? 512 : 0;
        s.inner = k % 2 ? 0.1 : 0;
        loss[k / 2][k % 2] = lab_over(l, s, "nll", 0);
        draw_loss(l, o, s, names[k]);
    }
    say_sample(o, "test loss without and with dropout 0.1 of attention and activations: 512 pairs ",
               3, loss[0][0]);
    say_sample(o, ", ", 3, loss[0][1]);
    say_sample(o, "; endless pairs ", 3, loss[1][0]);
    say_sample(o, ", ", 3, loss[1][1]);
    say(o, ". ");
    judge(o, most(count_above(&loss[0][0], &loss[0][1], 1.1), loss[0][0].n),
          most(count_above(&loss[0][1], &loss[0][0], 1), loss[0][0].n));
}
static void a23(lab *l, outcome *o)
{
    lab_spec learned = deep("admin");
    lab_spec direct = deep("admin-direct");
    lab_sample a = lab_over(l, learned, "nll", 0);
    lab_sample b = lab_over(l, direct, "nll", 0);
    draw_loss(l, o, learned, "omega");
    draw_loss(l, o, direct, "rescaled weights");
    say(o, "loss: omega %.3f+-%.3f, rescaled weights %.3f+-%.3f. ", a.mean, a.sd, b.mean, b.sd);
    judge(o, fabs(a.mean - b.mean) < 0.05, false);
}
static void a24(lab *l, outcome *o)
{
    static const int64_t stops[] = { 0, 150, 300, 500 };
    double v[4], sd[4];
    figure_line *line = line_of(o, "updates", "|F - F*|^2 a token", "post");
    for (int i = 0; i < 4; i++) {
        lab_spec s = training("post", 4, 8e-3, 200, 500);
        s.score = false;
        s.noise = 1e-4;
        s.stop = stops[i];
        lab_sample a = lab_over(l, s, "shift", 0);
        v[i] = a.mean;
        sd[i] = a.sd;
        point(line, (double)stops[i], a.mean, a.sd);
    }
    say(o, "Post-LN with warm-up, weights moved by 1e-4: %.3g+-%.2g at the start, %.3g+-%.2g, "
        "%.3g+-%.2g, %.3g+-%.2g after 150, 300, 500 updates. ", v[0], sd[0], v[1], sd[1], v[2],
        sd[2], v[3], sd[3]);
    judge(o, v[3] < v[0] && v[2] < v[0], v[3] > v[0]);
}
static void a26(lab *l, outcome *o)
{
    static const char *const recipes[] = { "admin", "admin-direct", "rezero", "t-fixup" };
    double loss[4];
    for (int k = 0; k < 4; k++) {
        lab_spec half = deep(recipes[k]);
        half.half = true;
        lab_sample a = lab_over(l, deep(recipes[k]), "nll", 0);
        lab_sample b = lab_over(l, half, "nll", 0);
        loss[k] = b.mean - a.mean;
        draw_loss(l, o, half, recipes[k]);
        for (int32_t i = 0; i < a.n; i++) a.v[i] = b.v[i] - a.v[i];
        lab_sum_up(&a);
        say(o, "%s: loss in half minus in float %+.3f+-%.3f; ", recipes[k], loss[k], a.sd);
    }
    judge(o, loss[1] > loss[0] + 0.02 && loss[2] > loss[0] + 0.02 && loss[3] > loss[0] + 0.02,
          loss[1] < loss[0] - 0.02 && loss[2] < loss[0] - 0.02 && loss[3] < loss[0] - 0.02);
}

/* -- Takase 2022 ----------------------------------------------------------------------------- */

static void b1(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    lab_sample a = lab_over(l, deep("post"), "bleu", 0);
    lab_sample b = lab_over(l, deep("pre"), "bleu", 0);
    lab_sample c = lab_over(l, deep("b2t"), "bleu", 0);
    say(o, "BLEU of 12 + 12 layers: ");
    draw_bleu(l, o, recipes, 3, true);
    judge(o, most(count_under(&a, FAILS), a.n) && most(count_over(&b, LEARNS), b.n)
          && most(count_over(&c, LEARNS), c.n), a.mean > b.mean);
}
/* F(x) = W_2 tanh(W_1 x), y = N(x) without gain; of a vector of 12. */
enum { B2_D = 12 };
typedef double b2_matrix[B2_D][B2_D];
static void b2_norm(double *y, const double *x, b2_matrix j)
{
    double mean = 0;
    double square = 0;
    for (int i = 0; i < B2_D; i++) mean += x[i] / B2_D;
    for (int i = 0; i < B2_D; i++) square += (x[i] - mean) * (x[i] - mean) / B2_D;
    for (int i = 0; i < B2_D; i++) y[i] = (x[i] - mean) / sqrt(square);
    for (int i = 0; i < B2_D; i++)
        for (int k = 0; k < B2_D; k++)
            j[i][k] = ((i == k) - 1.0/B2_D - y[i] * y[k] / B2_D) / sqrt(square);
}
static void b2_branch(double *y, const double *x, const b2_matrix w[2], b2_matrix j)
{
    double h[B2_D];
    for (int i = 0; i < B2_D; i++) {
        h[i] = 0;
        for (int k = 0; k < B2_D; k++) h[i] += w[0][i][k] * x[k];
        h[i] = tanh(h[i]);
    }
    for (int i = 0; i < B2_D; i++) {
        y[i] = 0;
        for (int k = 0; k < B2_D; k++) {
            y[i] += w[1][i][k] * h[k];
            j[i][k] = 0;
        }
        for (int m = 0; m < B2_D; m++)
            for (int k = 0; k < B2_D; k++)
                j[i][k] += w[1][i][m] * (1 - h[m]*h[m]) * w[0][m][k];
    }
}
/* y of a sub-layer, and its Jacobian as the paper's products: equation 3, or 4. */
static void b2_sublayer(double *y, const double *x, const b2_matrix w[2], bool post, b2_matrix j)
{
    double u[B2_D], f[B2_D];
    b2_matrix norm, branch;
    if (!post) b2_norm(u, x, norm);
    b2_branch(f, post ? x : u, w, branch);
    for (int i = 0; i < B2_D; i++) u[i] = x[i] + f[i];
    if (post) b2_norm(y, u, norm);
    else memcpy(y, u, sizeof u);
    for (int i = 0; i < B2_D; i++)
        for (int k = 0; k < B2_D; k++) {
            j[i][k] = i == k && !post;
            for (int m = 0; m < B2_D; m++)
                j[i][k] += post ? norm[i][m] * ((m == k) + branch[m][k])
                         : branch[i][m] * norm[m][k];
        }
}
static void b2(lab *l, outcome *o)
{
    double wrong[2] = { 0, 0 };
    (void)l;
    for (int sample = 0; sample < 20; sample++)
        for (int post = 0; post < 2; post++) {
            tfn_key key = tfn_key_fold(tfn_key_make(2), (uint64_t)sample);
            b2_matrix w[2], j, ignored;
            double x[B2_D], high[B2_D], low[B2_D];
            const double step = 1e-5;
            uint64_t at = 0;
            for (int m = 0; m < 2*B2_D*B2_D; m++)
                w[m / (B2_D*B2_D)][m / B2_D % B2_D][m % B2_D] =
                    (double)tfn_random_normal(key, at++) / sqrt(B2_D);
            for (int i = 0; i < B2_D; i++) x[i] = (double)tfn_random_normal(key, at++);
            b2_sublayer(high, x, (const b2_matrix *)w, post, j);
            for (int k = 0; k < B2_D; k++) {            /* central differences */
                const double kept = x[k];
                x[k] = kept + step;
                b2_sublayer(high, x, (const b2_matrix *)w, post, ignored);
                x[k] = kept - step;
                b2_sublayer(low, x, (const b2_matrix *)w, post, ignored);
                x[k] = kept;
                for (int i = 0; i < B2_D; i++)
                    wrong[post] = fmax(wrong[post], fabs((high[i] - low[i]) / (2*step) - j[i][k]));
            }
        }
    say(o, "largest difference of an entry: Post-LN %.1e, Pre-LN %.1e, 20 sub-layers of %d "
        "channels. ", wrong[1], wrong[0], B2_D);
    judge(o, wrong[0] < 1e-7 && wrong[1] < 1e-7, false);
}
static void b3(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    double v[3];
    const int n = lab_layers(l, 18);
    for (int k = 0; k < 3; k++) {
        double g[3 * LAB_DEEPEST];
        means(l, (lab_spec[]){ at_start(recipes[k], 18) }, "dec_output_gradient", 3*n, g, NULL);
        v[k] = g[2] / g[3*n - 1];
        figure_line *line = line_of(o, "decoder layer", OUT_GRADIENT, recipes[k]);
        o->fig.log_y = true;
        for (int i = 0; i < n; i++) point(line, i + 1, g[3*i + 2], 0);
    }
    say(o, "gradient at the output of the first over the last of %d decoder layers: Post-LN %.4f, "
        "Pre-LN %.2f, B2T %.3f. ", n, v[0], v[1], v[2]);
    judge(o, v[0] < 0.05 && v[1] > 1 && v[2] > 5 * v[0], v[0] > v[2]);
}
static void b4(lab *l, outcome *o)
{
    const int32_t n = lab_layers(l, 18), layers[] = { 1, lab_layers(l, 9), n };
    double sum[3 * LAB_DEEPEST], out[3 * LAB_DEEPEST];
    bool shown = true;
    o->fig.log_y = true;
    means(l, (lab_spec[]){ at_start("post", 18) }, "dec_sum_gradient", 3*n, sum, NULL);
    means(l, (lab_spec[]){ at_start("post", 18) }, "dec_output_gradient", 3*n, out, NULL);
    for (int k = 0; k < 3; k++) {
        int32_t at = 3 * (layers[k] - 1);
        double g[5] = { sum[at], out[at], sum[at + 1], out[at + 1], sum[at + 2] };
        char name[32];
        snprintf(name, sizeof name, "layer %d", (int)layers[k]);
        figure_line *line = line_of(o, "point (1) to (5)", "gradient norm [nats]", name);
        for (int i = 0; i < 5; i++) point(line, i + 1, g[i], 0);
        say(o, "layer %d, (1) to (5): %.3g %.3g %.3g %.3g %.3g; ", (int)layers[k], g[0], g[1], g[2],
            g[3], g[4]);
        shown = shown && g[2] < 0.9 * g[3] && g[0] < 0.9 * g[1] && g[1] > 0.95 * g[2];
    }
    judge(o, shown, false);
}
/* A statistic: of the outputs of trained decoder layers with the last one's, the mean. */
static double cosine_of(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    const int32_t n = lab_layers(l, layers);
    figure_line *line = line_of(o, "decoder layer", "cosine to the last layer", recipe);
    double mean = 0;
    for (int32_t i = 0; i < n; i++) {
        lab_sample a = lab_over(l, trained(recipe, layers), "dec_cosine", n*i + n - 1);
        point(line, i + 1, a.mean, a.sd);
        if (i < n - 1) mean += a.mean / (n - 1);
    }
    return mean;
}
static void b5(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    double v[3], sd[3];
    for (int k = 0; k < 3; k++) {
        v[k] = cosine_of(l, o, recipes[k], 6);
        sd[k] = deviation_of(l, l->seeds, cosine_of, recipes[k], 6);
    }
    say(o, "mean cosine of the layers below to layer %d, trained: Post-LN %.2f+-%.2f, Pre-LN "
        "%.2f+-%.2f, B2T %.2f+-%.2f. ", (int)lab_layers(l, 6), v[0], sd[0], v[1], sd[1], v[2],
        sd[2]);
    judge(o, v[1] > v[0] + 0.05 && v[2] < v[1] && v[2] - v[0] < v[1] - v[2], v[1] < v[0]);
}
static void b6(lab *l, outcome *o)
{
    two_depths t = compare_depths(l, o, "b2t");
    judge(o, t.six[0].mean > t.six[1].mean && t.six[2].mean > t.six[1].mean
          && most(count_under(&t.twelve[0], FAILS), t.twelve[0].n)
          && t.twelve[2].mean > t.twelve[1].mean, t.twelve[0].mean > t.twelve[1].mean);
}
static void b7(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    static const int32_t sweep[] = { 2, 4, 8, 12, 18 };
    double v[3][5];
    const int n = l->full ? 5 : 4;
    for (int k = 0; k < 3; k++) {
        figure_line *line = line_of(o, "layers of each stack",
                                    "loss after 400 updates [nats per token]",
            recipes[k]);
        for (int i = 0; i < n; i++) {
            lab_sample a = lab_over(l, training(recipes[k], sweep[i], 2e-3, 100, 400), "nll", 0);
            v[k][i] = a.mean;
            point(line, lab_layers(l, sweep[i]), a.mean, a.sd);
            if (!i) say(o, "%s, loss by layers: ", recipes[k]);
            say(o, "%s%d: %.3f+-%.3f", i ? ", " : "", (int)lab_layers(l, sweep[i]), a.mean, a.sd);
        }
        if (l->full)
            say_sample(o, ", 50 of width 16: ", 3,
                       lab_over(l, giant(recipes[k], 50, 50), "nll", 0));
        say(o, "; ");
    }
    bool below = true;
    for (int i = 0; i < n; i++) below = below && v[2][i] < v[1][i];
    judge(o, below && v[0][0] < 0.5 && v[0][n - 1] > 1, v[0][n - 1] < v[1][n - 1]);
}
static void b8(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    lab_sample two[2][3];
    for (int k = 0; k < 3; k++) {
        lab_spec s = training(recipes[k], 6, 3e-3, 200, 600);
        s.task = LAB_HEADLINE;
        two[0][k] = lab_over(l, s, "rouge", 2);
        s = deep(recipes[k]);
        s.task = LAB_HEADLINE;
        two[1][k] = lab_over(l, s, "rouge", 2);
        draw_loss(l, o, s, recipes[k]);
        say(o, "%s: ROUGE-L of 6 layers %.1f+-%.1f, of 12 %.1f+-%.1f. ", recipes[k],
            two[0][k].mean, two[0][k].sd, two[1][k].mean, two[1][k].sd);
    }
    judge(o, two[0][0].mean > two[0][1].mean && two[0][2].mean > two[0][1].mean
          && two[1][2].mean > two[1][1].mean && most(count_above(&two[1][1], &two[1][0], 1.5),
                                                     two[1][0].n),
          two[1][0].mean > two[1][1].mean);
}
static void b9(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    lab_sample nll[3];
    double unigram = 0;
    bool fails;
    for (int k = 0; k < 3; k++) {
        lab_spec s = training(recipes[k], 18, 2e-3, 100, 400);
        s.task = LAB_TEXT;
        s.score = false;
        nll[k] = lab_over(l, s, "nll", 0);
        unigram = lab_over(l, s, "unigram", 0).mean;
        draw_loss(l, o, s, recipes[k]);
        say(o, "%s: perplexity %.2f (loss %.3f+-%.3f); ", recipes[k], exp(nll[k].mean),
            nll[k].mean, nll[k].sd);
    }
    say(o, "guessing %.2f. ", exp(unigram));
    fails = most(count_under(&nll[1], 0.8 * unigram), nll[1].n)
            && most(count_under(&nll[2], 0.8 * unigram), nll[2].n)
            && most(nll[0].n - count_under(&nll[0], 0.9 * unigram), nll[0].n);
    judge(o, fails && nll[2].mean < nll[1].mean, nll[0].mean < nll[1].mean);
}
static void b10(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "pre", "b2t" };
    lab_sample wer[2][3];
    for (int k = 0; k < 3; k++) {
        lab_spec six = training(recipes[k], 6, 3e-3, 200, 600);
        lab_spec s = deep(recipes[k]);
        six.task = s.task = LAB_SPEECH;
        s.decoder_layers = 6;
        wer[0][k] = lab_over(l, six, "wer", 0);
        wer[1][k] = lab_over(l, s, "wer", 0);
        draw_loss(l, o, s, recipes[k]);
        say(o, "%s: WER of 6 + 6 layers %.1f+-%.1f %%, of 12 + 6 %.1f+-%.1f %%. ", recipes[k],
            wer[0][k].mean, wer[0][k].sd, wer[1][k].mean, wer[1][k].sd);
    }
    judge(o, wer[0][0].mean < wer[0][1].mean && wer[0][2].mean < wer[0][1].mean
          && most(count_over(&wer[1][0], 50), wer[1][0].n) && wer[1][2].mean < wer[1][1].mean,
          wer[1][0].mean < wer[1][1].mean);
}
static void b12(lab *l, outcome *o)
{
    static const char *const recipes[] = { "dlcl", "t-fixup", "deepnorm", "admin", "b2t" };
    double rouge[5];
    bool best = true;
    bool worst = true;
    for (int k = 0; k < 5; k++) {
        lab_spec s = deep(recipes[k]);
        s.task = LAB_HEADLINE;
        lab_sample a = lab_over(l, s, "rouge", 2);
        rouge[k] = a.mean;
        draw_loss(l, o, s, recipes[k]);
        say(o, "%s %.1f+-%.1f; ", recipes[k], a.mean, a.sd);
    }
    for (int k = 0; k < 4; k++) {
        best = best && rouge[4] > rouge[k];
        worst = worst && rouge[4] < rouge[k];
    }
    judge(o, best, worst);
}
static void b11(lab *l, outcome *o)
{
    static const char *const recipes[] = { "dlcl", "t-fixup", "deepnorm", "admin", "b2t" };
    double nll[5];
    bool trains = true;
    bool best = true;
    say(o, "BLEU of 12 + 12 layers: ");
    draw_bleu(l, o, recipes, 5, true);
    say(o, "loss: ");
    for (int k = 0; k < 5; k++) {
        lab_sample a = lab_over(l, deep(recipes[k]), "bleu", 0);
        lab_sample loss = lab_over(l, deep(recipes[k]), "nll", 0);
        nll[k] = loss.mean;
        say(o, "%s %.4f+-%.4f; ", recipes[k], loss.mean, loss.sd);
        trains = trains && most(count_over(&a, LEARNS), a.n);
    }
    for (int k = 0; k < 4; k++) best = best && nll[4] < nll[k];
    judge(o, trains && best, nll[4] > nll[0] && nll[4] > nll[1] && nll[4] > nll[2] &&
        nll[4] > nll[3]);
}
static void b13(lab *l, outcome *o)
{
    lab_spec bare = deep("b2t-no-norm");
    lab_spec normed = deep("b2t");
    lab_sample a = lab_over(l, bare, "bleu", 0);
    lab_sample b = lab_over(l, normed, "bleu", 0);
    draw_loss(l, o, bare, "without norms");
    draw_loss(l, o, normed, "b2t");
    say_sample(o, "BLEU of 12 + 12 layers: without norms ", 1, a);
    say_sample(o, ", with ", 1, b);
    say(o, ". ");
    judge(o, most(count_over(&a, LEARNS), a.n) && b.mean > a.mean, b.mean < a.mean - 1);
}
static void b14(lab *l, outcome *o)
{
    const tfn_topology *t = tfn_topology_find("b2t-no-norm");
    figure_line *line = line_of(o, "layers N", "alpha", "b2t-no-norm");
    double largest = 0;
    int32_t at = 0;
    (void)l;
    for (int32_t n = 1; n <= 60; n++) {
        tfn_place p;
        memset(&p, 0, sizeof p);
        p.kind = TFN_SUBLAYER_FFN;
        p.layer = 1;
        p.depth = p.encoder_depth = p.decoder_depth = n;
        p.width = 512;
        double alpha = (double)tfn_topology_join(t, &p).extra.value;
        point(line, n, alpha, 0);
        if (alpha > largest) {
            largest = alpha;
            at = n;
        }
    }
    say(o, "the library's row: alpha is largest, %.3f, at N = %d. ", largest, (int)at);
    judge(o, at == 9 && fabs(largest - 0.719) < 1e-3, false);
}
static void b15(lab *l, outcome *o)
{
    lab_spec skip = training("b2t-skip-last", 6, 2e-3, 100, 400);
    lab_spec plain = skip;
    plain.recipe = "b2t";
    lab_sample a = lab_over(l, skip, "nll", 0);
    lab_sample b = lab_over(l, plain, "nll", 0);
    draw_loss(l, o, skip, "b2t-skip-last");
    draw_loss(l, o, plain, "b2t");
    say(o, "loss of 6 + 6 layers: skipping the last norm %.3f+-%.3f, B2T %.3f+-%.3f. ", a.mean,
        a.sd,
        b.mean, b.sd);
    judge(o, most(count_above(&a, &b, 1), a.n), most(count_above(&b, &a, 1), a.n));
}
/* Nodes of the training tape, parameters and floats of working memory of a recipe's model. */
static bool cost_of(lab *l, const char *recipe, int32_t layers, int32_t *nodes, int64_t *params,
                    int64_t *work)
{
    lab_spec s = lab_wanted(l, at_start(recipe, layers));
    tfn_model_desc d = lab_desc(&s, false);
    tfn_model m;
    bool ok = tfn_model_new(&m, &d, NULL) == TFN_OK;
    *nodes = m.train.count;
    *params = m.param_floats;
    *work = m.train.work;
    tfn_model_free(&m);
    return ok;
}
static void costs(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "b2t", "admin", "dlcl", "t-fixup", "deepnorm" };
    int32_t nodes[6][3];
    int64_t params, work, none = 0;
    for (int k = 0; k < 6; k++) {
        figure_line *line = line_of(o, "layers of each stack", "operations on the tape",
            recipes[k]);
        for (int i = 0; i < 3; i++) {
            if (!cost_of(l, recipes[k], 6 << i, &nodes[k][i], &params, &work)) return;
            point(line, lab_layers(l, 6 << i), nodes[k][i], 0);
        }
        if (!k) none = params;
        say(o, "%s: %+d operations, %+d parameters at %d layers; ", recipes[k],
            (int)(nodes[k][2] - nodes[0][2]), (int)(params - none), (int)lab_layers(l, 24));
    }
    /* b2t: one addition a layer; dlcl: more than twice as many for twice the layers */
    int32_t extra[2] = { nodes[3][1] - nodes[0][1], nodes[3][2] - nodes[0][2] };
    judge(o, nodes[1][2] - nodes[0][2] == 2 * lab_layers(l, 24) && extra[1] > 2 * extra[0], false);
}
static void b19(lab *l, outcome *o)
{
    lab_spec plain = training("b2t", 18, 2e-3, 100, 400);
    lab_spec scaled = plain;
    scaled.init = "b2t";
    lab_sample a = lab_over(l, plain, "nll", 0);
    lab_sample b = lab_over(l, scaled, "nll", 0);
    draw_loss(l, o, plain, "b2t");
    draw_loss(l, o, scaled, "b2t, weights / sqrt(L)");
    say(o, "loss of 18 + 18 layers: B2T %.3f+-%.3f, with weights scaled by the depth %.3f+-%.3f. ",
        a.mean, a.sd, b.mean, b.sd);
    judge(o, most(count_above(&a, &b, 1), a.n), most(count_above(&b, &a, 1), a.n));
}

/* -- the table ------------------------------------------------------------------------------- */

#define AT_START  "string reversal, d 32, 2 heads, d_ff 64, batch 16, no training"
#define AT_START_WIDE "string reversal, d 64, 4 heads, d_ff 128, batch 16, no training"
#define MASKED    "two facts by words, 15 % hidden, an encoder of 12 layers, d 32, batch 32, " \
    "Adam, linear decay, 600 updates"
#define SHALLOW6  "string reversal, 6 + 6 layers, d 32, batch 32, Adam 3e-3, warm-up 200, 600 " \
    "updates"
#define THEORY    "the theorems' setting: one stack of 12, d 128, d_ff 128, one head, W_Q = W_K = 0"
#define SHALLOW   "string reversal, 4 + 4 layers, d 32, batch 32, Adam 8e-3, linear decay, 500 " \
    "updates"
#define SIX       "string reversal, 6 + 6 layers, d 32, batch 32, linear decay, 600 updates"
#define DEEP      "string reversal, 12 + 12 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 400 " \
    "updates"
#define MIDDLE    "string reversal, 6 + 6 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 400 " \
    "updates"
#define GRAMMAR   "toy German to toy English, 4 + 4 layers, d 32, batch 32, Adam"
#define MOVED     "one encoder of 1 to 24 layers, d 64, 4 heads, 8 x 12 random tokens"
#define ENCODER64 "the encoder of 18 + 18 layers, d 64, 4 heads, before training"
#define BY_HAND   "computed"

static const claim claims[] = {
    { "X1", "definition 1", "the norm of the output is concentrated",
      "a share of at least 0.875 is within 10 % above the mean", "(0.1, 0.125)-bounded",
      "both placements reach 0.875 over all tokens and seeds", THEORY, x1, NULL },
    { "X2", "lemma 1", "E|ReLU(X)|^2 = sigma^2 d/2", "sigma^2 d/2", "", "within 1 %", BY_HAND, x2,
      NULL },
    { "X3", "lemma 2", "Post-LN: the sum before the second norm has size 3/2 d",
      "3/2 in all layers", "", "mean within 0.1 of 1.5, every layer in [1.3, 1.7]", THEORY, x3,
      NULL },
    { "X4", "lemma 2", "Post-LN: the sum behind the attention has size 1 + |mean of x|^2/d",
      "between 1 and 2", "", "every layer between 1 and 2 (1 % over is tolerated)", THEORY, x4,
      NULL },
    { "X5", "lemma 2", "Pre-LN: the stream grows by 1/2 to 3/2 d a layer", "[1 + l/2, 1 + 3l/2]",
      "", "every layer inside, R^2 of the line above 0.95", THEORY, x5, NULL },
    { "X6", "lemma 3", "LayerNorm's Jacobian is O(sqrt(d)/|x|)", "1 for x of mean 0", "",
      "|J| |x|/sqrt(d) in [0.8, 1.5] for all", "60 normal vectors, d 16, 64, 256", x6, NULL },
    { "X7", "lemma 4", "I - aa^T has the eigenvalues 0, 1, ..., 1", "exact", "",
      "a projection of trace d - 1 to 1e-10", BY_HAND, x7, NULL },
    { "X8", "theorem 1", "the last layer's gradient does not depend on depth in Post-LN, falls "
      "as 1/sqrt(L) in Pre-LN", "L^0 and L^-0.5", "",
      "|b| <= 0.2 for Post-LN, -0.7 <= b <= -0.3 for Pre-LN", AT_START_WIDE, x8, NULL },
    { "X9", "proof of theorem 1", "no hidden unit is larger than sqrt(2 ln(100 d))",
      "with a probability of 0.99", "", "99 % of tokens in the last layer, both placements",
      THEORY, x9, NULL },
    { "X10", "appendix F", "gradients by layer: growing upwards in Post-LN, flat in Pre-LN",
      "up to (3/2)^(1/2) a layer; 1", "",
      "Post-LN last/first between 1.5 and 1.1 times the bound, Pre-LN in [0.5, 2]", THEORY, x10,
      NULL },
    { "X11", "appendix F", "the Jacobian of Pre-LN's norm falls as 1/sqrt(j)", "j^-0.5", "",
      "-0.65 < b < -0.35", THEORY, x11, NULL },
    { "X12", "figure 2", "Post-LN fails without warm-up, with Adam and with SGD",
      "fails without, trains with",
      "IWSLT: Adam 8.45 BLEU without, about 34 with; SGD about 0 in 15 epochs",
      "BLEU below 20 without and above 90 with, in 4 of 5 seeds, both optimizers", SHALLOW, x12,
      NULL },
    { "X13", "figure 2", "the length of the warm-up matters", "some, but fewer updates are worse",
      "IWSLT: 500 updates instead of 4,000: 31.16 BLEU at 5e-4, 2.77 at 1e-3",
      "mean loss falls from 1 over 50 to 200 updates of warm-up, by 0.2 at least, at 2e-3 and "
      "4e-3", SIX, x13, NULL },
    { "X14", "figure 3 a, b", "gradients by layer before and after warm-up",
      "Post-LN grows with the layer, small after warm-up; Pre-LN flat", "only a figure: 10 seeds",
      "Post-LN last/first > 2, Pre-LN in [0.5, 2]; after warm-up Post-LN's last is halved at "
      "least", AT_START "; warm-up 200 to 4e-3", x14, NULL },
    { "X15", "figure 3 c, d", "the last layer's gradient for 6 to 14 layers",
      "Post-LN constant, Pre-LN falling", "about 1.6 from 6 + 6 to 14 + 14 layers in Post-LN",
      "|b| <= 0.2 for Post-LN, b <= -0.3 for Pre-LN", AT_START_WIDE, x15, NULL },
    { "X16", "figure 4", "Pre-LN needs no warm-up and is faster; RAdam helps Post-LN without",
      "as said", "IWSLT: about 34 BLEU and loss 4 both; epoch 9 of Pre-LN is as good as epoch "
      "15 of Post-LN",
      "BLEU within 2, loss 0.2 earlier, RAdam doubles Adam's BLEU in 4 of 5 seeds",
      SHALLOW "; RAdam: " SIX ", 4e-3, beta2 .995", x16, NULL },
    { "X17", "figure 4 c, d", "WMT: Post-LN needs the warm-up that Pre-LN does without",
      "the same order at 7e-4 and 1.5e-3", "",
      "BLEU 1.5 times Post-LN's without warm-up for both others, in 4 of 5 seeds, at both rates",
      GRAMMAR ", 6e-3 and 8e-3, 500 updates", x17, NULL },
    { "X18", "figure 5 a", "masked pre-training: Pre-LN reaches the loss of Post-LN 40 % sooner",
      "40 % sooner", "loss 1.69 after 500k against 700k updates; Post-LN diverges at 3e-4",
      "Pre-LN without warm-up at 3e-3 has the final loss of Post-LN (1e-3, warm-up 100) after "
      "5/7 of the updates at most, in 4 of 5 seeds", MASKED, x18, NULL },
    { "X19", "figure 5 b, c", "fine-tuned, Pre-LN is better sooner (there: MRPC, RTE)",
      "higher accuracy by checkpoint", "",
      "the mean accuracy of four checkpoints is higher in 4 of 5 seeds",
      MASKED "; after each quarter a classifier of 3 classes, 200 updates, Adam 1e-3", x19, NULL },
    { "X20", "figure 6", "Post-LN with a small constant rate: better than a large one without "
      "warm-up, worse than with", "in between", "loss about 4.3 after 27 epochs",
      "loss at least 1.2 times apart both ways, in 4 of 5 seeds", SIX, x20, NULL },
    { "X21", "footnote 1", "Pre-LN, tuned, on IWSLT", "a number", "35.5 BLEU", "", "", NULL,
      "one number of one corpus" },
    { "X22", "theorem 1", "the last layer's gradient and the width", "at most d sqrt(ln d)", "",
      "exponent at most 1.2, both placements", THEORY ", 6 layers, d 16 to 128", x22, NULL },
    { "X23", "lemma 5, proposition 1", "bounds of probabilities", "the bounds hold", "",
      "both hold on 20,000 samples", "chi-squared variables, d 64", x23, NULL },

    { "A1", "figures 1, 9", "deep Post-LN diverges; Admin ends at or below Pre-LN; with 6 "
      "layers Pre-LN ends above Post-LN", "as said", "18 layers of Post-LN diverge, 12 in part",
      "Post-LN's BLEU below 20 in 4 of 5 seeds; mean loss of Admin <= Pre-LN; of Post-LN < "
      "Pre-LN at 6", SHALLOW6 "; " DEEP, a1, NULL },
    { "A2", "theorem 1", "gradients do not vanish in a Post-LN encoder nor in Pre-LN",
      "not decreasing towards the bottom", "",
      "at most 3 of 35 steps shrink by over 2 %, bottom >= top, both",
      AT_START ", 18 + 18 layers", a2, NULL },
    { "A3", "figure 3", "only the Post-LN decoder's gradients vanish", "only there",
      "tenfold or more in 18 layers",
      "least/largest below 0.1 there, above 0.1 in Pre-LN, Admin and the Post-LN encoder",
      AT_START ", 18 + 18 layers", a3, NULL },
    { "A4", "appendix A.3", "it is the cross-attention that shrinks them", "a factor below 1", "",
      "below 0.9 there, above 0.95 through self-attention and feed-forward",
      AT_START ", 18 + 18 layers", a4, NULL },
    { "A5", "table 1", "curing the vanishing gradient is not enough",
      "post/post fails, post/pre fails, pre/pre trains", "",
      "BLEU below 20, below 20, above 90 in 4 of 5 seeds; gradient ratio below 0.1, above 0.5",
      DEEP, a5, NULL },
    { "A6", "figure 4, left", "randomly moved weights shift the output by O(N) in Post-LN, O(ln "
      "N) in Pre-LN and Admin", "O(N), O(ln N)", "R^2 = 0.99 each",
      "R^2 in N above 0.95 and above that in ln N for Post-LN; the reverse order for the others",
      MOVED, a6, NULL },
    { "A7", "figure 4, right", "so does an optimizer's step, far more in Post-LN",
      "several magnitudes", "R^2 = 0.75", "ten times Pre-LN's and Admin's at N = 48", MOVED, a7,
      NULL },
    { "A8", "theorem 2", "the shift is proportional to the sum of beta_ii^2", "proportional", "",
      "R^2 above 0.9 over three placements and eight depths", MOVED, a8, NULL },
    { "A9", "corollaries 1, 2", "beta_ii^2 is 1/i in Pre-LN, constant in Post-LN", "i^-1, i^0",
      "", "-1.2 < b < -0.8; |b| < 0.2", ENCODER64, a9, NULL },
    { "A10", "proof of theorem 2", "rows of beta are proportional; sums of squares are 1",
      "exact", "", "within 10 % and 2 %", "the encoder of 6 + 6 layers, d 64", a10, NULL },
    { "A11", "figure 7", "Pre-LN's dependency on its branches grows in training, Post-LN's is "
      "larger", "as said", "",
      "mean diagonal: trained > start in Pre-LN, Post-LN above Pre-LN before and after",
      SIX ", 3e-3, warm-up 200", a11, NULL },
    { "A12", "figure 8", "Admin begins like Pre-LN and depends more on its branches when trained",
      "as said", "", "mean diagonal within 20 % at the start, above Pre-LN's after", DEEP, a12,
      NULL },
    { "A13", "section 4.3", "Admin's beta_ii^2 is about 1/i", "i^-1", "", "-1.2 < b < -0.8",
      ENCODER64, a13, NULL },
    { "A14", "figures 5, 11", "gradients of W_Q and W_K are small, changes of all matrices alike",
      "as said", "",
      "spread of gradients at least twice that of changes, W_Q + W_K below W_V + W_O",
      "Pre-LN, " SIX ", 3e-3, warm-up 200, at update 300", a14, NULL },
    { "A15", "figure 9", "on a small task all three end alike", "similar", "",
      "mean losses within 0.05", "string reversal, 4 + 4 layers, 4e-3, warm-up 100, 500 updates",
      a15, NULL },
    { "A16", "table 2", "6 layers: Post-LN above Pre-LN; deep: Post-LN fails, Admin above Pre-LN",
      "as said", "Post-LN, Pre-LN, Admin: IWSLT 35.64+-.23, 35.50+-.04, 35.67+-.15; En-De 6 "
      "layers 27.80, 27.27, 27.90, 12 failed, 28.26, 28.58, 18 failed, 28.38, 29.03; En-Fr 6 "
      "layers 41.29, 40.74, 41.47, 60 + 12 failed, 43.10, 43.80", "the order of mean BLEU",
      SHALLOW6 "; " DEEP, a16, NULL },
    { "A17", "section 5.2", "longer warm-up does not cure deep Post-LN", "all fail",
      "18 layers, 8k, 16k, 24k, 32k updates: all fail",
      "BLEU below 20 in 4 of 5 seeds for 50, 100, 200, 300", DEEP, a17, NULL },
    { "A18", "figure 10", "without warm-up Post-LN fails in many cells of lr x beta2, Pre-LN "
      "and Admin do not", "7, 0, 0 of 15",
      "BLEU, rates 1e-4 to 5e-4, beta2 .999 .995 .99: Post-LN 34.64 34.65 34.41 / 35.65 35.58 "
      "35.51 / 35.87 0 0 / 33.56 0 0 / 0 0 0; Pre-LN 33.98 33.81 33.76 / 34.74 34.91 34.87 / "
      "35.09 35.15 35.19 / 35.06 35.28 35.31 / 35.51 35.45 35.55; Admin 34.58 34.53 34.60 / "
      "35.26 35.03 35.25 / 35.38 35.62 35.57 / 35.74 35.89 35.69 / 35.61 35.83 35.84",
      "Post-LN 4 at least, Pre-LN none, Admin fewer than Post-LN",
      "string reversal, 4 + 4 layers, 350 updates, no warm-up", a18, NULL },
    { "A19", "section 5.3", "deep ReZero, Fixup and LookLinear diverge", "all diverge",
      "18 layers: all three diverge", "BLEU below 20 in 4 of 5 seeds, all three",
      "string reversal, 18 + 18 layers, 2e-3, warm-up 100, 400 updates, simulated half "
      "precision, dropout 0.1", a19, NULL },
    { "A20", "table 3", "ReZero is better with Post-LN than alone", "as said",
      "IWSLT: 33.67+-.14 alone, 34.67+-.08 with Post-LN", "lower loss in 4 of 5 seeds", MIDDLE,
      a20, NULL },
    { "A21", "table 4", "60 + 12 layers with Admin: 43.80 BLEU on En-Fr", "a number",
      "262 million parameters, 43.80 BLEU", "", "", NULL, "a comparison of published systems" },
    { "A22", "appendix C", "the folded model is Admin", "the same outputs", "",
      "logits differ by at most 1e-4 of the largest, float precision, 2 to 12 layers",
      "string reversal, 2 to 12 layers of each stack, 100 of 400 updates at 2e-3", a22, NULL },
    { "A23", "appendix C", "rescaled weights train as well as omega", "the same quality", "",
      "mean losses within 0.05", DEEP, a23, NULL },
    { "A24", "section 5.2", "moved weights shift the output less as training goes on", "less", "",
      "below the start's after 300 and 500 updates", SHALLOW, a24, NULL },
    { "A25", "section 5.1", "dropout of attention and activations matters on a small corpus",
      "large", "",
      "the loss of the test is at least 1.1 times higher without it in 4 of 5 seeds, 512 pairs",
      GRAMMAR " 4e-3, warm-up 200, 1000 updates, residual dropout 0.1", a25, NULL },
    { "A26", "appendices C, E",
      "in half precision rescaled weights and models without norms are less stable",
      "less stable", "", "half costs each 0.02 nats more than Admin with omega",
      DEEP ", simulated half precision", a26, NULL },

    { "B1", "figure 1", "deep Post-LN stalls, Pre-LN and B2T train", "as said", "",
      "BLEU below 20, above 90, above 90 in 4 of 5 seeds", DEEP, b1, NULL },
    { "B2", "equations 3, 4", "the Jacobian of a sub-layer is the product of its parts'", "exact",
      "", "central differences agree with the products to 1e-7",
      "sub-layers of 12 channels in double precision, F = W_2 tanh(W_1 x)", b2, NULL },
    { "B3", "figure 3", "gradients by layer: Post-LN's decoder vanishes, Pre-LN is largest at "
      "the bottom, B2T in between", "exponential decay", "",
      "first/last below 0.05, above 1, above five times Post-LN's", AT_START ", 18 + 18 layers",
      b3, NULL },
    { "B4", "figures 4, 7", "the drop is at the norms", "(4) to (3) and (2) to (1)", "",
      "both below 0.9, (3) to (2) above 0.95, in layers 1, 9, 18", AT_START ", 18 + 18 layers",
      b4, NULL },
    { "B5", "figure 5", "shallow layers of Pre-LN resemble its last, B2T is like Post-LN",
      "as said", "", "Pre-LN's mean cosine 0.05 above Post-LN's, B2T nearer to Post-LN",
      SIX ", 3e-3, warm-up 200", b5, NULL },
    { "B6", "table 1", "6 layers: Post-LN and B2T above Pre-LN; deep: Post-LN fails, B2T above "
      "Pre-LN", "as said", "SacreBLEU, Post-LN, Pre-LN, B2T: 6 layers 26.59, 26.10, 26.53; 18 "
      "fail, 26.57, 27.30; 60 + 12 fail, 26.42, 27.33", "the order of mean BLEU",
      SHALLOW6 "; " DEEP, b6, NULL },
    { "B7", "figures 6, 8, 9", "B2T is below Pre-LN at every depth, Post-LN fails when deep",
      "as said", "Post-LN trains at 12 + 12 and diverges from 18 + 18 layers on",
      "mean losses below everywhere; Post-LN below 0.5 at 2 layers, above 1 at the deepest",
      "string reversal, 2 to 12 (full: 18) layers, 2e-3, warm-up 100, 400 updates", b7, NULL },
    { "B8", "table 2", "headlines: 6 layers: Post-LN and B2T above Pre-LN; deep: Post-LN fails, "
      "B2T above Pre-LN", "as said",
      "ROUGE-1/2/L, Post-LN, Pre-LN, B2T: 6 layers 38.57/19.37/35.79, 38.27/19.29/35.39, "
      "38.43/19.37/35.72; 18 fail, 38.97/19.94/35.99, 39.61/20.28/36.66",
      "the order of mean ROUGE-L, Pre-LN 1.5 times deep Post-LN in 4 of 5 seeds",
      "headlines of two generated sentences, 6 + 6 layers: 3e-3, warm-up 200, 600 updates; 12 + "
      "12: 2e-3, warm-up 100, 400 updates", b8, NULL },
    { "B9", "table 3", "a deep language model: Post-LN fails, B2T below Pre-LN", "as said",
      "perplexity valid/test, Post-LN, Pre-LN, B2T: 6 layers 20.24/21.22, 20.98/21.93, "
      "20.50/21.47; 16 fail, 18.53/19.24, 18.38/19.20",
      "Post-LN's loss over 0.9 of guessing's, the others' below 0.8 in 4 of 5 seeds; mean loss "
      "of B2T < Pre-LN",
      "letters of generated sentences, 18 layers, 32 letters, 2e-3, warm-up 100, 400 updates", b9,
      NULL },
    { "B10", "table 4", "speech: 6 layers: Post-LN and B2T err less than Pre-LN; deep: Post-LN "
      "fails, B2T errs less",
      "6 layers: Post-LN and B2T below Pre-LN; deep: Post-LN fails, B2T about as Pre-LN or below",
      "WER dev-clean dev-other test-clean test-other, Post-LN, Pre-LN, B2T: 6 + 6 layers 3.78 "
      "8.76 4.19 8.74, 3.89 9.69 4.22 9.65, 3.69 8.97 3.86 8.94; 12 + 6 fail, 3.21 7.91 3.49 "
      "8.22, 3.26 7.74 3.48 7.68",
      "mean WER at 6 + 6: Post-LN and B2T below Pre-LN; at 12 + 6: Post-LN above 50 % in 4 of 5 "
      "seeds, B2T below Pre-LN",
      "2 to 5 spoken digits as 25 codes of 64 a second, 512 training sentences; 6 + 6 layers: "
      "3e-3, warm-up 200, 600 updates; 12 + 6: 2e-3, warm-up 100, 400 updates", b10, NULL },
    { "B11", "table 5", "of the remedies for deep stacks B2T is best", "B2T best",
      "BLEU, DLCL, T-Fixup, DeepNet, Admin, B2T: 6 layers 26.52, 26.43, 26.38, 26.49, 26.53; 18 "
      "26.90, 26.94, 27.13, 26.86, 27.30",
      "all train (BLEU above 90 in 4 of 5 seeds), B2T has the lowest mean loss", DEEP, b11, NULL },
    { "B12", "table 6", "the same for headlines", "B2T best",
      "table 6 is missing in the text at hand", "B2T has the highest mean ROUGE-L",
      "headlines of two generated sentences, 12 + 12 layers, 2e-3, warm-up 100, 400 updates", b12,
      NULL },
    { "B13", "tables 9, 10", "B2T without norms is nearly as good", "a little worse",
      "6 layers 26.48 without, 26.53 with; 18 layers 27.10, 27.30",
      "BLEU above 90 in 4 of 5 seeds, below B2T's", DEEP, b13, NULL },
    { "B14", "equations 7, 8", "alpha rises to N = 9, then falls", "as said",
      "alpha 0.719 at N = 9", "the row's largest is there, within 1e-3", BY_HAND, b14, NULL },
    { "B15", "footnote 1", "skipping the last norm too is worse", "much worse", "",
      "higher loss in 4 of 5 seeds", MIDDLE, b15, NULL },
    { "B16", "section 7", "B2T costs no extra computation, unlike DLCL and Admin",
      "one addition a layer", "",
      "one operation more a layer than Post-LN; DLCL's extra operations grow faster than the "
      "depth", "6 + 6 to 24 + 24 layers, counted on the tape", costs, NULL },
    { "B17", "table 7", "hyper-parameters", "", "", "", "", NULL, "settings, not a result" },
    { "B18", "table 8", "the cost of each method", "B2T one addition a layer; DLCL O(L^2) sums",
      "", "as B16", "6 + 6 to 24 + 24 layers, counted on the tape", costs, NULL },
    { "B19", "appendix F", "depth-scaled weights help B2T when extremely deep",
      "suggested, not shown", "", "lower loss in 4 of 5 seeds",
      "string reversal, 18 + 18 layers, 2e-3, warm-up 100, 400 updates", b19, NULL }
};
enum { CLAIMS = sizeof claims / sizeof *claims };

/* These would be over 30 s each of the ten minutes of --quick: of fewer than five seeds of training
 * they have half. X13, whose seeds differ most, and what others share keep theirs. */
static const char *const costly[] = { "X17", "X18", "X19", "A17", "A18", "A19", "A25", "A26", "B8",
                                      "B9", "B10", "B12", "B19" };
static int seeds_of(const claim *c, int seeds)
{
    for (size_t i = 0; i < sizeof costly / sizeof *costly; i++)
        if (!strcmp(costly[i], c->id) && seeds < 5) return (seeds + 1) / 2;
    return seeds;
}
#endif
