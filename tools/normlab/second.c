/* The rule, the plan, then the command.
 *
 * The rule. Stage one is the thorough run: eight seeds for training, forty for starts, from seed 1
 * on. A row that it leaves undecided says for each open criterion how many seeds n would decide it
 * at the mean and deviation found. If n is more than 999 for one of them, the row is too close to
 * decide and is not measured again. Otherwise all its samples grow by the same factor, so that
 * every open criterion gets its n, and the cost is predicted (lab_cost, on Zen 4). If that is more
 * than one core hour, the row stays undecided. If not, the samples are twice as large, because at n
 * a mean of fresh seeds decides only as often as not; or as large as one core hour pays for, if
 * that is less. The seeds begin at 2001, which no setting was chosen with. The row is judged by
 * these only, by the same criteria and at the same confidence of 99 %. There is no third stage: a
 * row that is still undecided stays so. */
#include "second.h"
#include "judge.h"
#include "lab.h"
#include "measure.h"
#include "report.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SECOND_SEEDS = 2000, SECOND_TWICE = 2 };         /* the seed before the first fresh one */
static const double SECOND_MOST = 3600;                 /* seconds of one core */

/* -- the rule ---------------------------------------------------------------------------------- */

double second_growth(const claim *c, const outcome *o)
{
    double most = 1;
    for (int k = 0; k < criteria_of(c); k++) {
        const finding *f = &o->finding[k];
        if (f->verdict != UNDECIDED || f->i.n < 1) continue;
        if (f->seeds > JUDGE_SEEDS) return 0;
        most = fmax(most, (double)f->seeds / f->i.n);
    }
    return most;
}

double second_affordable(double growth, double seconds)
{
    if (seconds > SECOND_MOST) return 0;
    if (seconds * SECOND_TWICE > SECOND_MOST) return growth * SECOND_MOST / seconds;
    return growth * SECOND_TWICE;
}

/* -- the plan of a row ------------------------------------------------------------------------- */

typedef struct second_plan {
    const claim *claim;
    second_fate  fate;
    bool         trains, begins;        /* has runs of training; has models as they start */
    int          seeds, starts;         /* sizes of their fresh samples */
    double       seconds;               /* predicted */
    char         first[1200];           /* the numbers of stage one */
} second_plan;
typedef struct second_rows {
    int         count;
    second_plan row[CLAIMS_MOST];
    outcome     o;
} second_rows;

/* The laboratory with the fresh seeds of a row; put_back undoes it. */
typedef struct second_stage { int seeds, starts; long first; } second_stage;
static second_stage take_fresh(lab *l, int seeds, int starts)
{
    const second_stage was = { l->seeds, l->init_seeds, l->first };
    l->seeds = seeds;
    l->init_seeds = starts;
    l->first = SECOND_SEEDS;
    return was;
}
static void put_back(lab *l, second_stage was)
{
    l->seeds = was.seeds;
    l->init_seeds = was.starts;
    l->first = was.first;
}

/* Finds which kinds of records a row has asked for. */
static void find_kinds(second_plan *p, const lab *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        if (!claim_asked(p->claim, l->records[i])) continue;
        if (l->records[i]->spec.stop) p->trains = true;
        else p->begins = true;
    }
}

/* Sizes and cost of samples that are `growth` times as large as those of stage one, which cost
 * `seconds`. False: they are larger than a sample can be. */
static bool grow(second_plan *p, const lab *l, double growth, double seconds)
{
    p->seeds = (int)ceil(l->seeds * growth - 1e-9);
    p->starts = (int)ceil(l->init_seeds * growth - 1e-9);
    if (!p->trains) p->seeds = 1;
    if (!p->begins) p->starts = 1;
    p->seconds = seconds * growth;
    return p->seeds <= LAB_SEEDS && p->starts <= LAB_SEEDS;
}

static void plan_row(second_plan *p, const claim *c, lab *l, outcome *o)
{
    memset(p, 0, sizeof *p);
    p->claim = c;
    p->fate = FATE_DECIDED;
    if (!decide(c, l, o)) p->fate = FATE_UNMEASURED;
    else if (o->verdict == TOO_CLOSE) p->fate = FATE_TOO_CLOSE;
    if (p->fate == FATE_UNMEASURED) return;
    snprintf(p->first, sizeof p->first, "%s", found_text(c, o));
    if (o->verdict != UNDECIDED) return;
    const double least = second_growth(c, o);
    const double seconds = claim_seconds(c, l);
    find_kinds(p, l);
    p->fate = FATE_TOO_CLOSE;
    if (least <= 0 || !grow(p, l, least, seconds)) return;
    const double growth = second_affordable(least, p->seconds);
    p->fate = FATE_TOO_COSTLY;
    if (growth <= 0) return;
    p->fate = FATE_AGAIN;
    if (!grow(p, l, growth, seconds)) grow(p, l, least, seconds);
}

/* The verdict of the fresh seeds. */
static bool decide_fresh(const second_plan *p, lab *l, outcome *o)
{
    const second_stage was = take_fresh(l, p->seeds, p->starts);
    const bool measured = decide(p->claim, l, o);
    put_back(l, was);
    return measured;
}

static void ask_fresh(lab *l, void *rows)
{
    second_rows *x = (second_rows *)rows;
    for (int i = 0; i < x->count; i++)
        if (x->row[i].fate == FATE_AGAIN) decide_fresh(&x->row[i], l, &x->o);
}

/* Leaves out what rows of an incomplete stage one asked for, so that only fresh seeds are
 * measured. */
static void leave_plans(lab *l, second_rows *x)
{
    for (int32_t i = 0; i < l->count; i++) l->records[i]->left = true;
    ask_fresh(l, x);
    for (int32_t i = 0; i < l->count; i++) {
        lab_record *r = l->records[i];
        for (int k = 0; k < x->count; k++)
            if (x->row[k].fate == FATE_AGAIN && claim_asked(x->row[k].claim, r)) r->left = false;
    }
}

/* -- output ------------------------------------------------------------------------------------ */

static const char *seeds_text(const second_plan *p)
{
    static char text[80];
    text[0] = 0;
    if (p->trains) snprintf(text, sizeof text, "%d seeds of training", p->seeds);
    if (p->trains && p->begins) strcat(text, " and ");
    const size_t n = strlen(text);
    if (p->begins) snprintf(text + n, sizeof text - n, "%d seeds of starts", p->starts);
    return text;
}

static const char *fate_text(const second_plan *p)
{
    static char text[120];
    switch (p->fate) {
    case FATE_UNMEASURED: return "stage one is not measured yet";
    case FATE_DECIDED:    return "decided by stage one";
    case FATE_TOO_CLOSE:  return "too close to decide: over 999 seeds";
    case FATE_TOO_COSTLY:
        snprintf(text, sizeof text, "undecided: %s cost more than an hour, %.1f h", seeds_text(p),
                 p->seconds / 3600);
        return text;
    case FATE_AGAIN: break;
    }
    snprintf(text, sizeof text, "%s, about %.0f s", seeds_text(p), p->seconds);
    return text;
}

static void print_plan(const second_plan *p, lab *l, outcome *o, bool only_plan)
{
    const bool again = p->fate == FATE_AGAIN;
    const bool measured = again && !only_plan && decide_fresh(p, l, o);
    if (p->fate == FATE_DECIDED) return;
    printf("%-5s ", p->claim->id);
    if (again && !only_plan) printf("%-20s ", verdict_text(measured, o));
    printf("%s\n", fate_text(p));
    if (p->first[0]) printf("      stage one: %s\n", p->first);
    if (measured) printf("      stage two: %s\n", found_text(p->claim, o));
}

static void print_markdown(const second_plan *p, lab *l, outcome *o)
{
    const bool again = p->fate == FATE_AGAIN;
    const bool measured = again && decide_fresh(p, l, o);
    if (p->fate == FATE_DECIDED) return;
    printf("| %s | ", p->claim->id);
    markdown_cell(stdout, p->claim->title);
    markdown_cell(stdout, p->first);
    markdown_cell(stdout, fate_text(p));
    markdown_cell(stdout, again ? verdict_text(measured, o) : NULL);
    markdown_cell(stdout, measured ? found_text(p->claim, o) : NULL);
    printf("\n");
}

/* How many core hours all rows need that are measured again. */
static void print_cost(const second_rows *x)
{
    double seconds = 0;
    int rows = 0;
    for (int i = 0; i < x->count; i++) {
        if (x->row[i].fate != FATE_AGAIN) continue;
        seconds += x->row[i].seconds;
        rows++;
    }
    fprintf(stderr, "normlab: %d rows are measured again, at most %.1f core hours on Zen 4\n", rows,
            seconds / 3600);
}

/* -- the command ------------------------------------------------------------------------------- */

typedef struct second_wishes { bool markdown, plan; } second_wishes;
static void second_arguments(cli *c, lab *l, lab_claims *wanted, second_wishes *w)
{
    lab_options options;
    lab_clear(l, &options);
    l->full = true;
    while (cli_next(c)) {
        if (lab_option(c, l, &options)) continue;
        if (cli_is(c, "--markdown")) w->markdown = true;
        else if (cli_is(c, "--foretell")) w->plan = true;
        else claim_named(c, wanted);
    }
    if (options.minutes) cli_fail(c, "second has its own limit: not with --minutes");
    if (!l->full) cli_fail(c, "second goes on after --full, not after --quick");
    lab_begin(l, &options);
    if (!wanted->count) all_claims(wanted);
}

static void plan_rows(second_rows *x, lab *l, const lab_claims *wanted)
{
    for (int i = 0; i < wanted->count; i++)
        if (wanted->list[i]->kind == MEASUREMENT)
            plan_row(&x->row[x->count++], wanted->list[i], l, &x->o);
}

int second_command(cli *c)
{
    static second_rows x;
    static lab_claims wanted;
    second_wishes w = { false, false };
    bool ok = true;
    lab l;
    second_arguments(c, &l, &wanted, &w);
    lab_read(&l);
    plan_rows(&x, &l, &wanted);
    leave_plans(&l, &x);
    print_cost(&x);
    if (!w.markdown && !w.plan) ok = lab_work_on(&l, ask_fresh, &x) && !l.lost;
    if (w.markdown)
        printf("| row | what | stage one | the rule | stage two | found with fresh seeds |\n"
               "|---|---|---|---|---|---|\n");
    for (int i = 0; i < x.count; i++) {
        if (w.markdown) print_markdown(&x.row[i], &l, &x.o);
        else print_plan(&x.row[i], &l, &x.o, w.plan);
    }
    ok = claims_right(&l) && ok;
    lab_free(&l);
    return ok ? 0 : 1;
}
