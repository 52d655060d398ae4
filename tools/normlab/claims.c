/* Common parts of the rows of all papers, and the list of the rows. */
#include "claims.h"
#include "../../tfnorm.h"
#include "lab_run.h"
#include "lab_score.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int criteria_of(const claim *c)
{
    int n = 0;
    while (n < CLAIM_CRITERIA) {
        if (!c->criteria[n].what) break;
        n++;
    }
    return n;
}

const char *init_of(const claim *c)
{
    if (c->kind != MEASUREMENT) return NULL;
    if (c->init) return c->init[0] ? c->init : NULL;
    if (c->id[0] == 'X') return "xavier";       /* Xiong 2020 */
    if (c->id[0] == 'A') return "fused";        /* Transformer-Clinic, the code of Liu 2020 */
    if (c->id[0] == 'B') return "fairseq";      /* Takase 2022 */
    if (c->id[0] == 'R') return XAVIER;
    return NULL;
}

void say(outcome *o, const char *format, ...)
{
    va_list args;
    size_t at = strlen(o->numbers);
    va_start(args, format);
    vsnprintf(o->numbers + at, sizeof o->numbers - at, format, args);
    va_end(args);
}
void say_sample(outcome *o, const char *before, int digits, lab_sample a)
{
    say(o, "%s%.*f+-%.*f", before, digits, a.mean, digits, a.sd);
}

void say_named(outcome *o, const char *name, int digits, lab_sample a)
{
    say(o, "%s ", name);
    say_sample(o, "", digits, a);
    say(o, "; ");
}

void finds(outcome *o, lab_sample a)
{
    if (o->found < CLAIM_CRITERIA) o->sample[o->found] = a;
    o->found++;
}
void holds(outcome *o, bool held) { o->held = held; }

/* -- samples --------------------------------------------------------------------------------- */

lab_sample minus(lab_sample a, lab_sample b)
{
    if (b.n < a.n) a.n = b.n;
    for (int32_t i = 0; i < a.n; i++) a.v[i] -= b.v[i];
    lab_sum_up(&a);
    return a;
}
lab_sample log_ratio(lab_sample a, lab_sample b)
{
    if (b.n < a.n) a.n = b.n;
    for (int32_t i = 0; i < a.n; i++) a.v[i] = log(a.v[i] / b.v[i]);
    lab_sum_up(&a);
    return a;
}
lab_sample exponents(const lab_sample *rows, int32_t n, const double *x)
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
lab_sample jackknifed(const lab_sample *rows, int32_t n, const double *x, law *f)
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
double linear_rather_than_log(int32_t n, const double *x, const double *means)
{
    double log_x[4 * LAB_DEEPEST];
    for (int32_t i = 0; i < n; i++) log_x[i] = log(x[i]);
    return lab_line_through(n, x, means).r2 - lab_line_through(n, log_x, means).r2;
}
double linear_share(int32_t n, const double *x, const double *means)
{
    return lab_line_through(n, x, means).r2;
}
double linear_slope(int32_t n, const double *x, const double *means)
{
    return lab_line_through(n, x, means).b;
}
lab_sample mean_of(const lab_sample *rows, int32_t n)
{
    lab_sample a = rows[0];
    for (int32_t s = 0; s < a.n; s++) {
        a.v[s] = 0;
        for (int32_t i = 0; i < n; i++) a.v[s] += rows[i].v[s] / n;
    }
    lab_sum_up(&a);
    return a;
}
lab_sample extreme(const lab_sample *rows, int32_t n, bool largest)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++) {
        const bool larger = rows[i].mean > rows[best].mean;
        if (larger == largest) best = i;
    }
    return rows[best];
}

/* -- figures --------------------------------------------------------------------------------- */

const char *paper_name(const char *recipe)
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
figure_line *line_of(outcome *o, const char *x, const char *y, const char *name)
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
void point(figure_line *line, double x, double y, double spread)
{
    if (line->n == FIGURE_POINTS) return;
    line->x[line->n] = x;
    line->y[line->n] = y;
    line->spread[line->n++] = spread;
}
void points(figure_line *line, const double *x, const lab_sample *rows, int32_t n)
{
    for (int32_t i = 0; i < n; i++) point(line, x[i], rows[i].mean, rows[i].sd);
}

/* -- settings -------------------------------------------------------------------------------- */

lab_spec setting(lab_task kind, const char *recipe, int32_t layers)
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
lab_spec at_start(const char *recipe, int32_t layers)
{
    lab_spec s = setting(LAB_REVERSE, recipe, layers);
    s.look = true;
    s.batch = 16;
    return s;
}
lab_spec wide(lab_spec s)
{
    s.width = 64;
    s.heads = 4;
    s.ffn = 128;
    return s;
}
lab_spec theory(const char *recipe, int32_t layers)
{
    lab_spec s = setting(LAB_DISTINCT, recipe, layers);
    s.width = s.ffn = 128;
    s.heads = 1;
    s.batch = 8;
    s.init = "xavier";
    s.look = s.theory = true;
    return s;
}
lab_spec training(const char *recipe, int32_t layers, double lr, int64_t warmup, int64_t steps)
{
    lab_spec s = setting(LAB_REVERSE, recipe, layers);
    s.smoothing = 0.1;
    s.lr = lr;
    s.warmup = warmup;
    s.steps = s.stop = steps;
    s.score = true;
    return s;
}
lab_spec deep(const char *recipe) { return training(recipe, 12, 2e-3, 100, 400); }
lab_spec deeper(const char *recipe) { return training(recipe, 18, 2e-3, 100, 400); }
lab_spec trained(const char *recipe, int32_t layers)
{
    lab_spec s = training(recipe, layers, 3e-3, 200, 600);
    if (layers > 6) s = deep(recipe);
    s.layers = layers;
    s.look = true;
    return s;
}
lab_spec control(lab_spec s)
{
    s.lr /= 3;
    s.warmup *= 3;
    s.steps *= 3;
    s.stop *= 3;
    return s;
}
lab_spec longer(lab_spec s)
{
    s.steps *= 3;
    s.stop *= 3;
    return s;
}
lab_spec until_settled(lab_task kind, const char *recipe, int32_t layers)
{
    lab_spec s = setting(kind, recipe, layers);
    s.schedule = TFN_SCHEDULE_CONSTANT;
    s.lr = 2e-3;
    s.warmup = 400;
    s.steps = s.stop = 8000;
    s.settle = true;
    return s;
}
lab_spec settled(const char *recipe, int32_t layers)
{
    lab_spec s = until_settled(LAB_TRANSLATE, recipe, layers);
    s.lr = 1e-3;
    s.corpus = 400;
    s.dropout = 0.1;
    s.score = true;
    return s;
}
lab_spec giant(const char *recipe, int32_t layers, int32_t decoder_layers)
{
    lab_spec s = deep(recipe);
    s.layers = layers;
    s.decoder_layers = decoder_layers;
    s.width = 16;
    s.heads = 1;
    s.ffn = 32;
    return s;
}

lab_sample loss_of(lab *l, lab_spec s) { return lab_over(l, s, "nll", 0); }
lab_sample bleu_of(lab *l, lab_spec s) { return lab_over(l, s, "bleu", 0); }

lab_sample curve_at(lab *l, const lab_spec *s, int32_t i)
{
    lab_sample a;
    bool any = false;
    a.n = 0;
    for (int32_t k = 0; k < lab_seeds(l, s); k++) {
        const lab_list *curve = lab_list_of(lab_final(l, lab_seeded(l, *s, k)), "curve");
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
void draw_loss(lab *l, outcome *o, lab_spec s, const char *name)
{
    figure_line *line = line_of(o, "updates", "validation loss [nats per token]", name);
    const int32_t n = s.settle ? LAB_CHECKS : LAB_POINTS;
    const int32_t most = s.settle ? LAB_LONGER * LAB_CHECKS : n;
    for (int32_t i = 0; i <= most; i++) {
        const lab_sample a = curve_at(l, &s, i);
        if (a.n) point(line, (double)(s.stop * i / n), a.mean, a.sd);
    }
}
void draw_list(lab *l, outcome *o, lab_spec s, const char *list, int32_t n, const char *x,
               const char *y, const char *name)
{
    figure_line *line = line_of(o, x, y, name);
    for (int32_t i = 0; i < n; i++) {
        lab_sample a = lab_over(l, s, list, i);
        point(line, i + 1, a.mean, a.sd);
    }
}
lab_sample scored(lab *l, outcome *o, lab_spec s, const char *name, lab_sample score)
{
    draw_loss(l, o, s, name);
    say_named(o, paper_name(name), 1, score);
    return score;
}
void samples_of(lab *l, lab_spec s, const char *list, int32_t n, lab_sample *rows)
{
    for (int32_t i = 0; i < n; i++) rows[i] = lab_over(l, s, list, i);
}
double first_below(const lab_list *curve, double limit, double updates)
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
lab_sample reaches(lab *l, lab_spec s, lab_sample limits)
{
    lab_sample a;
    a.n = lab_seeds(l, &s);
    for (int32_t i = 0; i < a.n; i++) {
        const lab_list *curve = lab_list_of(lab_final(l, lab_seeded(l, s, i)), "curve");
        a.v[i] = first_below(curve, limits.v[i], (double)s.stop);
    }
    lab_sum_up(&a);
    return a;
}
lab_sample constant(lab *l, lab_spec s, double x)
{
    lab_sample a;
    a.n = lab_seeds(l, &s);
    for (int32_t i = 0; i < a.n; i++) a.v[i] = x;
    lab_sum_up(&a);
    return a;
}

void say_settled(lab *l, outcome *o, lab_spec s)
{
    say(o, "%s: ", paper_name(s.recipe));
    say_sample(o, "loss ", 4, loss_of(l, s));
    say_sample(o, " after ", 0, lab_over(l, s, "updates", 0));
    say(o, " updates; ");
}

void compare_settled(lab *l, outcome *o, lab_spec a, lab_spec b)
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

void found_failing(lab *l, outcome *o, lab_spec s)
{
    draw_loss(l, o, s, s.recipe);
    draw_loss(l, o, control(s), "the same, a third of the rate");
    finds(o, bleu_of(l, s));
    finds(o, bleu_of(l, control(s)));
}

/* -- all of them ------------------------------------------------------------------------------ */

const claim *claim_at(int i)
{
    static const claim *const papers[] = { xiong_claims, liu_claims, takase_claims, later_claims,
                                           real_claims };
    for (size_t p = 0; p < sizeof papers / sizeof *papers; p++)
        for (const claim *c = papers[p]; c->id; c++)
            if (i-- == 0) return c;
    return NULL;
}
int claims_count(void)
{
    int n = 0;
    while (claim_at(n)) n++;
    return n;
}
