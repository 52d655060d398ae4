/* The formulas, the pairs, then the command.
 *
 * Formulas. Let y(p, i) be a seed's loss with placement p and initialization i, where m is the
 * method's and b the baseline's. All four runs of a seed see the same data.
 *     gain        = y(m, m) - y(b, b)                             what a paper's table compares
 *     placement   = (y(m, m) + y(m, b) - y(b, m) - y(b, b)) / 2   mean over initializations
 *     init        = (y(m, m) + y(b, m) - y(m, b) - y(b, b)) / 2   mean over placements
 *     interaction = y(m, m) - y(m, b) - y(b, m) + y(b, b)
 * so that gain = placement + init. An effect below 0 lowers the loss. BLEU has the same formulas,
 * where an effect above 0 is better.
 *
 * The rule of the words. Intervals hold means over seeds with 99 % confidence. With the margin of
 * the rows that compare losses, 0.01 nats (BLEU: 0.5), an effect is `better` if its interval lies
 * wholly beyond the margin on the better side, `worse` if on the other side, `none` if within,
 * `undecided` otherwise. Placement and initialization `add up` if the interaction's interval lies
 * within the margin, `interact` if wholly beyond it on either side. Then the gain is due to
 *     the placement        gain and placement better, init none or worse
 *     the initialization   gain and init better, placement none or worse
 *     both                 all three better
 * and otherwise: no gain (none or worse), or undecided. Where both interact, the effect of the
 * placement with each initialization says more than their mean; it is printed, too. A table needs
 * seven of eight runs to settle, by the rule of rows (SETTLED_PREMISE). DeepNorm's and Admin's
 * initializations are part of their methods; here they are crossed like the others. */
#include "factors.h"
#include "claims.h"
#include "judge.h"
#include "lab.h"
#include "lab_work.h"
#include "measure.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* -- the formulas ------------------------------------------------------------------------------ */

/* A sum of the four cells with these weights, for each seed. */
static lab_sample weighted(const factor_cells *x, double mm, double mb, double bm, double bb)
{
    lab_sample a = x->of[0][0];
    for (int i = 0; i < 4; i++)
        if (x->of[i / 2][i % 2].n < a.n) a.n = x->of[i / 2][i % 2].n;
    for (int32_t k = 0; k < a.n; k++)
        a.v[k] = mm * x->of[0][0].v[k] + mb * x->of[0][1].v[k] + bm * x->of[1][0].v[k]
               + bb * x->of[1][1].v[k];
    lab_sum_up(&a);
    return a;
}

factor_effects factors_of(const factor_cells *x)
{
    factor_effects e;
    e.gain = weighted(x, 1, 0, 0, -1);
    e.placement = weighted(x, 0.5, 0.5, -0.5, -0.5);
    e.init = weighted(x, 0.5, -0.5, 0.5, -0.5);
    e.interaction = weighted(x, 1, -1, -1, 1);
    e.simple[0] = weighted(x, 1, 0, -1, 0);
    e.simple[1] = weighted(x, 0, 1, 0, -1);
    return e;
}

const char *factors_word(int gain, int placement, int init)
{
    const bool no_placement = placement == TIE || placement == OPPOSITE;
    const bool no_init = init == TIE || init == OPPOSITE;
    if (gain == TIE || gain == OPPOSITE) return "no gain";
    if (gain != SHOWN) return "undecided";
    if (placement == SHOWN && init == SHOWN) return "both";
    if (placement == SHOWN && no_init) return "the placement";
    if (init == SHOWN && no_placement) return "the initialization";
    return "undecided";
}

/* -- the pairs --------------------------------------------------------------------------------- */

typedef struct factor_pair { const char *method, *baseline; } factor_pair;
static const factor_pair pairs[] = {
    { "b2t", "pre" }, { "b2t", "post" }, { "admin", "post" }, { "admin", "pre" },
    { "dlcl", "pre" }, { "deepnorm", "post" }
};
enum { FACTOR_PAIRS = sizeof pairs / sizeof *pairs, FACTOR_DEPTHS = 2 };
static const int32_t factor_layers[FACTOR_DEPTHS] = { 6, 12 };
static const criterion less_loss = { .what = "loss", LESS(0.01) };
static const criterion more_bleu = { .what = "BLEU", MORE(0.5) };

typedef struct factor_wishes {
    bool    markdown, plan;
    int32_t layers;                     /* 0: both depths */
    bool    wanted[FACTOR_PAIRS];
    int     count;
} factor_wishes;

/* A run of a placement with the initialization that another recipe brings. A recipe's own is not
 * named, so that its records are those of the rows. */
static lab_spec cell_spec(const char *recipe, const char *from, int32_t layers)
{
    lab_spec s = settled(recipe, layers);
    const char *init = tfn_recipe_find(from)->init;
    if (strcmp(init, tfn_recipe_find(recipe)->init)) s.init = init;
    return s;
}

static factor_cells cells_of(lab *l, const factor_pair *p, int32_t layers, const char *list)
{
    const char *const name[2] = { p->method, p->baseline };
    factor_cells x;
    for (int i = 0; i < 4; i++)
        x.of[i / 2][i % 2] = lab_over(l, cell_spec(name[i / 2], name[i % 2], layers), list, 0);
    return x;
}

/* Asks a pair for its measurements. False: some are missing. */
static bool ask_pair(lab *l, const factor_pair *p, int32_t layers)
{
    l->missing = 0;
    l->init = NULL;
    l->user = CLAIMS_MOST - 1;          /* no claim */
    cells_of(l, p, layers, "nll");
    return !l->missing;
}

static bool is_wanted(const factor_wishes *w, int pair, int depth)
{
    if (w->count && !w->wanted[pair]) return false;
    return !w->layers || w->layers == factor_layers[depth];
}

static void ask_pairs(lab *l, void *rows)
{
    const factor_wishes *w = (const factor_wishes *)rows;
    for (int d = 0; d < FACTOR_DEPTHS; d++)
        for (int i = 0; i < FACTOR_PAIRS; i++)
            if (is_wanted(w, i, d)) ask_pair(l, &pairs[i], factor_layers[d]);
}

/* -- output ------------------------------------------------------------------------------------ */

typedef struct findings { finding gain, placement, init, interaction, simple[2]; } findings;
static findings judged(const criterion *c, const factor_effects *e)
{
    findings f;
    f.gain = judge_values(c, e->gain.v, e->gain.n);
    f.placement = judge_values(c, e->placement.v, e->placement.n);
    f.init = judge_values(c, e->init.v, e->init.n);
    f.interaction = judge_values(c, e->interaction.v, e->interaction.n);
    for (int i = 0; i < 2; i++) f.simple[i] = judge_values(c, e->simple[i].v, e->simple[i].n);
    return f;
}

static const char *effect_word(verdict v)
{
    if (v == SHOWN) return "better";
    if (v == OPPOSITE) return "worse";
    if (v == TIE) return "none";
    return "undecided";
}
static const char *interaction_word(verdict v)
{
    if (v == SHOWN || v == OPPOSITE) return "interact";
    if (v == TIE) return "add up";
    return "undecided";
}

static void print_effect(const char *name, const finding *f, const char *word, bool markdown)
{
    if (markdown) printf(" %.4g [%.4g, %.4g], %s |", f->i.mean, f->i.low, f->i.high, word);
    else printf("    %-34s %8.4g [%.4g, %.4g], %s\n", name, f->i.mean, f->i.low, f->i.high, word);
}

/* The share of the runs of all four cells that settled. */
static double settled_share(lab *l, const factor_pair *p, int32_t layers)
{
    const factor_cells x = cells_of(l, p, layers, "settled");
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += x.of[i / 2][i % 2].mean / 4;
    return sum;
}

static const char *due_to(const findings *f, double share)
{
    if (!(share >= 0.875)) return "not testable here: too few runs settled";
    return factors_word((int)f->gain.verdict, (int)f->placement.verdict, (int)f->init.verdict);
}

static void print_list(lab *l, const factor_pair *p, int32_t layers, bool bleu, bool markdown)
{
    const factor_cells x = cells_of(l, p, layers, bleu ? "bleu" : "nll");
    const factor_effects e = factors_of(&x);
    const findings f = judged(bleu ? &more_bleu : &less_loss, &e);
    const char *const name[2] = { p->method, p->baseline };
    const double share = settled_share(l, p, layers);
    char text[80];
    if (markdown) {
        printf("| %d + %d | %s, %s | %s | %s |", (int)layers, (int)layers, paper_name(p->method),
               paper_name(p->baseline), bleu ? "BLEU" : "loss", due_to(&f, share));
    } else {
        printf("  %s: the gain is due to: %s\n", bleu ? "BLEU" : "loss", due_to(&f, share));
        for (int i = 0; i < 4; i++) {
            snprintf(text, sizeof text, "%s from %s", paper_name(name[i / 2]),
                     tfn_recipe_find(name[i % 2])->init);
            printf("    %-34s %8.4g +- %.3g\n", text, x.of[i / 2][i % 2].mean,
                   x.of[i / 2][i % 2].sd);
        }
    }
    print_effect("gain", &f.gain, effect_word(f.gain.verdict), markdown);
    print_effect("placement", &f.placement, effect_word(f.placement.verdict), markdown);
    print_effect("initialization", &f.init, effect_word(f.init.verdict), markdown);
    print_effect("interaction", &f.interaction, interaction_word(f.interaction.verdict), markdown);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "placement, from %s", tfn_recipe_find(name[i])->init);
        print_effect(text, &f.simple[i], effect_word(f.simple[i].verdict), markdown);
    }
    if (markdown) printf(" %.2f |\n", share);
    else if (!bleu) printf("    %-34s %8.2f\n", "share of runs that settled", share);
}

static void print_pair(lab *l, const factor_pair *p, int32_t layers, bool markdown)
{
    const bool measured = ask_pair(l, p, layers);
    if (!markdown)
        printf("%s against %s, %d + %d layers%s\n", paper_name(p->method), paper_name(p->baseline),
               (int)layers, (int)layers, measured ? "" : ": not measured yet");
    for (int bleu = 0; bleu < 2; bleu++)
        if (measured) print_list(l, p, layers, bleu, markdown);
}

/* Predicted core hours of the missing records. */
static void print_cost(const lab *l)
{
    double cost = 0;
    int runs = 0;
    for (int32_t i = 0; i < l->count; i++) {
        if (l->records[i]->done) continue;
        cost += lab_cost(&l->records[i]->spec);
        runs++;
    }
    fprintf(stderr, "normlab: %d runs to do, at most %.1f core hours on Zen 4\n", runs,
            cost * LAB_SECONDS / 3600);
}

/* -- the command ------------------------------------------------------------------------------- */

/* A pair, as METHOD/BASELINE. */
static void pair_named(cli *c, factor_wishes *w)
{
    char name[64];
    for (int i = 0; i < FACTOR_PAIRS; i++) {
        snprintf(name, sizeof name, "%s/%s", pairs[i].method, pairs[i].baseline);
        if (strcmp(name, c->argv[c->at])) continue;
        w->wanted[i] = true;
        w->count++;
        return;
    }
    cli_fail(c, "factors compares b2t/pre, b2t/post, admin/post, admin/pre, dlcl/pre and "
             "deepnorm/post, not \"%s\"", c->argv[c->at]);
}

static void factor_arguments(cli *c, lab *l, factor_wishes *w)
{
    lab_options options;
    long layers = 0;
    lab_clear(l, &options);
    l->full = true;
    while (cli_next(c)) {
        if (cli_number(c, "--layers", 6, 12, &layers)) continue;
        if (lab_option(c, l, &options)) continue;
        if (cli_is(c, "--markdown")) w->markdown = true;
        else if (cli_is(c, "--foretell")) w->plan = true;
        else pair_named(c, w);
    }
    if (layers && layers != 6 && layers != 12) cli_fail(c, "--layers needs 6 or 12");
    if (options.minutes || options.depth || options.width || l->recipe)
        cli_fail(c, "factors has its own runs: not with --minutes, --depth, --width, --topology");
    w->layers = (int32_t)layers;
    lab_begin(l, &options);
}

int factors_command(cli *c)
{
    factor_wishes w;
    bool ok = true;
    lab l;
    memset(&w, 0, sizeof w);
    factor_arguments(c, &l, &w);
    lab_read(&l);
    ask_pairs(&l, &w);
    if (!w.markdown) print_cost(&l);
    if (!w.markdown && !w.plan) ok = lab_work_on(&l, ask_pairs, &w) && !l.lost;
    if (w.markdown)
        printf("| layers | compared | of | the gain is due to | gain | placement | initialization "
               "| interaction | placement, method's init | placement, baseline's init | settled |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int d = 0; d < FACTOR_DEPTHS; d++)
        for (int i = 0; i < FACTOR_PAIRS; i++)
            if (is_wanted(&w, i, d) && !w.plan)
                print_pair(&l, &pairs[i], factor_layers[d], w.markdown);
    ok = claims_right(&l) && ok;
    lab_free(&l);
    return ok ? 0 : 1;
}
