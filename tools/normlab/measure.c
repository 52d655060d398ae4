/* Verdicts, figures, the options, then the commands. */
#include "measure.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "../common/threads.h"
#include "compare.h"
#include "lab_data.h"
#include "lab_work.h"
#include "rows.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* -- a claim: paper, verdict, figure ----------------------------------------------------------- */

static int number_of(const claim *c)
{
    int i = 0;
    while (claim_at(i) != c) i++;
    return i;
}

bool is_called(const claim *c, const char *id)
{
    const size_t n = strlen(id);
    if (strncmp(c->id, id, n)) return false;
    return !c->id[n] || (c->id[n] >= 'a' && c->id[n] <= 'z' && !c->id[n + 1]);
}

const claim *find_claim(const char *id)
{
    for (int i = 0; claim_at(i); i++)
        if (is_called(claim_at(i), id)) return claim_at(i);
    return NULL;
}

const char *paper_of(const claim *c)
{
    if (c->id[0] == 'X') return "Xiong et al. 2020, ";
    if (c->id[0] == 'A') return "Liu et al. 2020, ";
    if (c->id[0] == 'B') return "Takase et al. 2022, ";
    return "";                              /* later papers: the row's item names the paper */
}

/* Asks the claim for its measurements only to find its depth and width. lab_layers and lab_width
 * then scale the whole claim by these. */
static void find_size(const claim *c, lab *l, outcome *o)
{
    l->deepest = 0;
    l->widest = 0;
    l->asking = true;
    c->measure(l, o);
    l->asking = false;
    memset(o, 0, sizeof *o);
}

/* Reports deviations from the claim: depth, width, a recipe in place of another. */
static void say_changes(const lab *l, outcome *o)
{
    say(o, "[Not the default");
    if (l->depth) say(o, "; the deepest has %d layers", (int)lab_layers(l, l->deepest));
    if (l->width) say(o, "; the widest has %d channels", (int)lab_width(l, l->widest));
    if (l->recipe) say(o, "; %s is %s", l->instead, l->recipe);
    say(o, ": the criterion was not made for it.] ");
}

/* Renames lines of the figure whose recipe was replaced. */
static void rename_lines(const lab *l, outcome *o)
{
    const char *was = paper_name(l->instead);
    const size_t n = strlen(was);
    for (int i = 0; i < o->fig.lines; i++) {
        char *name = o->fig.line[i].name;
        char rest[sizeof o->fig.line[i].name];
        if (strncmp(name, was, n) || (name[n] && name[n] != ',')) continue;
        strcpy(rest, name + n);
        snprintf(name, sizeof rest, "%s%s", paper_name(l->recipe), rest);
    }
}

/* The verdict by the row's criteria, each with its sample; for a check, its result. */
static verdict judge_claim(const claim *c, outcome *o)
{
    const int n = criteria_of(c);
    if (c->kind == CHECK_ROW && o->held) return HOLDS;
    if (c->kind == CHECK_ROW) return FAILS;
    if (o->found != n) return BROKEN;
    for (int i = 0; i < n; i++)
        o->finding[i] = judge_values(&c->criteria[i], o->sample[i].v, o->sample[i].n);
    return judge_row(c->criteria, o->finding, n);
}

/* The initialization of a row's sides: the requested one, unless the row compares methods as a
 * whole. */
static const char *init_for(const lab *l, const claim *c)
{
    const char *own = init_of(c);
    if (own && l->every_init) return l->every_init;
    return own;
}

static bool lacks_data(const claim *c)
{
    return (c->own_text && !lab_corpus.bytes) || (c->own_pairs && !lab_pairs.vocab);
}

bool decide(const claim *c, lab *l, outcome *o)
{
    const bool resized = l->depth || l->width;
    memset(o, 0, sizeof *o);
    l->missing = 0;
    l->spent = 0;
    l->user = number_of(c);
    l->init = init_for(l, c);
    memset(&l->asked_for, 0, sizeof l->asked_for);
    if (c->kind == NO_ROW) {
        o->verdict = NOT_TESTABLE;
        say(o, "%s", c->reason);
        return true;
    }
    if (lacks_data(c)) {
        o->verdict = NOT_TESTABLE;
        if (c->own_text) say(o, "It learns a text that is given: --text FILE.");
        else say(o, "It translates pairs that are given: --pairs FOLDER, see tools/catalogs.py.");
        return true;
    }
    if (resized) find_size(c, l, o);
    if (resized || l->recipe) say_changes(l, o);
    const int wrong = l->wrong;
    l->missing = 0;             /* asking for the size also counted */
    c->measure(l, o);
    if (l->recipe) rename_lines(l, o);
    if (!l->missing) o->verdict = judge_claim(c, o);
    if (l->wrong > wrong) o->verdict = BROKEN;
    return !l->missing;
}

/* The sides that a row compares, found by asking it; none for a row without a comparison. */
static sides sides_of(const lab *l, const claim *c)
{
    static outcome o;
    lab asked = *l;
    memset(&asked.asked_for, 0, sizeof asked.asked_for);
    if (c->kind != MEASUREMENT || lacks_data(c)) return asked.asked_for;
    if (asked.seeds < 1) asked.seeds = 1;
    if (asked.init_seeds < 1) asked.init_seeds = 1;
    asked.init = init_for(l, c);
    find_size(c, &asked, &o);
    return asked.asked_for;
}

const char *differ_text(const lab *l, const claim *c)
{
    const sides x = sides_of(l, c);
    return sides_differ(&x);
}

const char *setting_text(const lab *l, const claim *c)
{
    static char text[1024];
    const sides x = sides_of(l, c);
    const char *whole = "";
    if (!c->setting || !x.inits[0]) return c->setting;
    if (strchr(x.inits, ',')) whole = "each method as a whole, ";
    snprintf(text, sizeof text, "%s; %sinitialization: %s", c->setting, whole, x.inits);
    return text;
}

const char *found_text(const claim *c, const outcome *o)
{
    static char text[4096];
    text[0] = 0;
    if (c->kind == MEASUREMENT && o->found && o->found == criteria_of(c))
        for (int i = 0; i < o->found; i++) {
            const size_t n = strlen(text);
            if (i) snprintf(text + n, sizeof text - n, "; ");
            finding_text(text + strlen(text), sizeof text - strlen(text), &c->criteria[i],
                         &o->finding[i]);
        }
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%s%s", n ? ". " : "", o->numbers);
    n = strlen(text);
    while (n && strchr("; ", text[n - 1])) text[--n] = 0;       /* a separator at the end */
    return text;
}

const char *criteria_word(const claim *c)
{
    if (c->kind == CHECK_ROW) return "checked";
    return "shown if";
}

const char *criteria_text(const claim *c)
{
    static char text[2048];
    text[0] = 0;
    if (c->kind == CHECK_ROW) return c->check;
    for (int i = 0; i < criteria_of(c); i++) {
        size_t n = strlen(text);
        if (i) snprintf(text + n, sizeof text - n, "; and ");
        n = strlen(text);
        criterion_text(text + n, sizeof text - n, &c->criteria[i]);
    }
    return text;
}

/* -- rows that share measurements -------------------------------------------------------------- */

static bool asked_by(const lab_record *r, int number)
{
    return (r->users[number / 64] >> number % 64) & 1;
}

/* The share of a row's records that another row also asked for; call after both are decided. */
static double shared_with(const lab *l, int row, int other)
{
    int mine = 0;
    int both = 0;
    for (int32_t i = 0; i < l->count; i++) {
        if (!asked_by(l->records[i], row)) continue;
        mine++;
        both += asked_by(l->records[i], other);
    }
    if (!mine) return 0;
    return (double)both / mine;
}

const char *sharing_text(const lab *l, const claim *c)
{
    static char text[1024];
    const int row = number_of(c);
    text[0] = 0;
    for (int i = 0; claim_at(i); i++) {
        const size_t n = strlen(text);
        if (i == row || shared_with(l, row, i) < 0.5) continue;
        snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", claim_at(i)->id);
    }
    return text;
}

const char *picture_of(const claim *c)
{
    if (c->picture) return c->picture;
    return c->title;
}

/* A claim's curves with their bands: mean - spread to mean + spread. */
typedef struct claim_plot {
    svg_plot  plot;
    svg_curve curve[FIGURE_LINES];
    double    low[FIGURE_LINES][FIGURE_POINTS], high[FIGURE_LINES][FIGURE_POINTS];
} claim_plot;

static void plot_line(claim_plot *p, int k, const figure_line *line)
{
    svg_curve *curve = &p->curve[k];
    bool spread = false;
    for (int i = 0; i < line->n; i++) {
        p->low[k][i] = line->y[i] - line->spread[i];
        p->high[k][i] = line->y[i] + line->spread[i];
        spread = spread || line->spread[i] > 0;
    }
    memset(curve, 0, sizeof *curve);
    curve->name = line->name;
    curve->x = line->x;
    curve->y = line->y;
    curve->count = line->n;
    if (!spread) return;
    curve->low = p->low[k];
    curve->high = p->high[k];
}

const svg_plot *plot_of(const claim *c, const outcome *o)
{
    static claim_plot p;
    const figure *g = &o->fig;
    for (int k = 0; k < g->lines; k++) plot_line(&p, k, &g->line[k]);
    memset(&p.plot, 0, sizeof p.plot);
    if (c->id[0]) p.plot.title = picture_of(c);
    p.plot.x_label = g->x;
    p.plot.y_label = g->y;
    p.plot.log_x = g->log_x;
    p.plot.log_y = g->log_y;
    p.plot.curves = p.curve;
    p.plot.count = g->lines;
    return &p.plot;
}

void draw_text(FILE *f, const claim *c, const outcome *o)
{
    const svg_plot *plot = plot_of(c, o);
    if (plot->count) plot_curves(f, plot);
}

/* -- fitting into a time ----------------------------------------------------------------------- */

/* Marks every missing record as left, until a row takes it. */
static void leave_undone(lab *l)
{
    for (int32_t i = 0; i < l->count; i++) l->records[i]->left = !l->records[i]->done;
}

/* Predicted seconds of a row's missing records, without those that another row will measure. */
static double missing_seconds(const lab *l, int row)
{
    double cost = 0;
    for (int32_t i = 0; i < l->count; i++)
        if (l->records[i]->left && asked_by(l->records[i], row))
            cost += lab_cost(&l->records[i]->spec);
    return cost * LAB_SECONDS;
}

/* Takes rows one by one, always the one that adds least time, as long as they fit; the records of
 * the others are left. Times are predictions, so that the choice is the same on every machine.
 * Returns the number of rows left out. */
static int fit_into(lab *l, const lab_claims *wanted, double seconds)
{
    bool taken[CLAIMS_MOST] = { false };
    leave_undone(l);
    for (int rows = 0; rows < wanted->count; rows++) {
        int best = -1;
        double least = 0;
        for (int i = 0; i < wanted->count; i++) {
            const double cost = missing_seconds(l, number_of(wanted->list[i]));
            if (taken[i] || (best >= 0 && cost >= least)) continue;
            best = i;
            least = cost;
        }
        seconds -= least;
        if (seconds < 0) return wanted->count - rows;
        taken[best] = true;
        for (int32_t i = 0; i < l->count; i++)
            if (asked_by(l->records[i], number_of(wanted->list[best]))) l->records[i]->left = false;
    }
    return 0;
}

static bool work(lab *l)
{
    if (lab_work(l)) return true;
    fprintf(stderr, "normlab: out of memory\n");
    return false;
}

bool lab_work_on(lab *l, lab_ask *ask, void *rows)
{
    const long parts = l->parts;
    bool ok = work(l);
    if (!ok || !ask) return ok;
    leave_undone(l);
    ask(l, rows);
    l->parts = 0;                       /* what goes on here began here */
    ok = work(l);
    l->parts = parts;
    return ok;
}

bool claim_asked(const claim *c, const lab_record *r) { return asked_by(r, number_of(c)); }

double claim_seconds(const claim *c, lab *l)
{
    static outcome o;
    const int row = number_of(c);
    double cost = 0;
    for (int32_t i = 0; i < l->count; i++)
        l->records[i]->users[row / 64] &= ~(UINT64_C(1) << row % 64);
    decide(c, l, &o);
    for (int32_t i = 0; i < l->count; i++)
        if (asked_by(l->records[i], row)) cost += lab_cost(&l->records[i]->spec);
    return cost * LAB_SECONDS;
}

/* -- options that run, all and report share ---------------------------------------------------- */

/* --topology NAME replaces post, --topology OLD=NAME replaces OLD. */
static bool lab_topology(cli *c, lab *l)
{
    const char *text;
    if (!cli_text(c, "--topology", &text)) return false;
    const char *equals = strchr(text, '=');
    if (equals) {
        snprintf(l->instead, sizeof l->instead, "%.*s", (int)(equals - text), text);
        l->recipe = equals + 1;
    } else {
        strcpy(l->instead, "post");
        l->recipe = text;
    }
    if (!tfn_recipe_find(l->instead)) unknown(c, l->instead, RECIPE);
    if (!tfn_recipe_find(l->recipe)) unknown(c, l->recipe, RECIPE);
    return true;
}

static bool lab_isa(cli *c, lab *l)
{
    const char *name;
    if (!cli_text(c, "--isa", &name)) return false;
    l->isa = isa_named(c, name);
    return true;
}

/* --part 2/3: the second of three machines. */
static bool lab_part(cli *c, lab *l)
{
    const char *text;
    char end;
    if (!cli_text(c, "--part", &text)) return false;
    const int got = sscanf(text, "%ld/%ld%c", &l->part, &l->parts, &end);
    if (got != 2 || l->part < 1 || l->part > l->parts || l->parts > 1000)
        cli_fail(c, "--part needs something like 2/3, not \"%s\"", text);
    return true;
}

bool lab_option(cli *c, lab *l, lab_options *o)
{
    if (cli_number(c, "--seeds", 1, LAB_SEEDS, &o->seeds)) return true;
    if (cli_number(c, "--start-seeds", 1, LAB_SEEDS, &o->starts)) return true;
    if (cli_number(c, "--first-seed", 1, 1000000, &o->first)) return true;
    if (cli_number(c, "--jobs", 1, TFN_THREADS_MAX, &o->jobs)) return true;
    if (cli_number(c, "--depth", 1, LAB_DEEPEST, &o->depth)) return true;
    if (cli_number(c, "--width", 8, 1024, &o->width)) return true;
    if (lab_topology(c, l) || lab_isa(c, l) || compare_text(c) || compare_pairs(c)) return true;
    if (cli_text(c, "--file", &l->file) || lab_part(c, l)) return true;
    if (cli_number(c, "--minutes", 1, 1000000, &o->minutes)) return true;
    if (!cli_is(c, "--quick") && !cli_is(c, "--full")) return false;
    l->full = cli_is(c, "--full");
    return true;
}

void lab_clear(lab *l, lab_options *o)
{
    memset(l, 0, sizeof *l);
    memset(o, 0, sizeof *o);
    l->file = "normlab.jsonl";
}

int lab_training_seeds(const lab *l)
{
    if (l->full) return 8;
    return 3;
}
int lab_start_seeds(const lab *l)
{
    if (l->full) return 40;
    return 16;
}

void lab_begin(lab *l, const lab_options *o)
{
    l->seeds = lab_training_seeds(l);
    l->init_seeds = lab_start_seeds(l);
    l->jobs = 1;
    if (o->seeds) l->seeds = (int)o->seeds;
    if (o->starts) l->init_seeds = (int)o->starts;
    if (o->first) l->first = o->first - 1;
    if (o->jobs) l->jobs = (int)o->jobs;
    l->depth = (int32_t)o->depth;
    l->width = (int32_t)o->width & ~7;              /* a multiple of 8: heads have 8 channels */
    if (!strcmp(l->file, "-")) l->file = NULL;
    lab_prepare();
}

void claim_named(cli *c, lab_claims *wanted)
{
    const char *id = c->argv[c->at];
    const int before = wanted->count;
    for (int i = 0; claim_at(i); i++) {
        if (!is_called(claim_at(i), id) || wanted->count == CLAIMS_MOST) continue;
        wanted->list[wanted->count++] = claim_at(i);
    }
    if (wanted->count == before)
        cli_fail(c, "there is no claim \"%s\"; normlab claims lists them", id);
}

void lab_arguments(cli *c, lab *l, lab_claims *wanted, bool *markdown)
{
    lab_options options;
    lab_clear(l, &options);
    wanted->count = 0;
    *markdown = false;
    while (cli_next(c)) {
        if (lab_option(c, l, &options)) continue;
        if (cli_is(c, "--markdown")) *markdown = true;
        else claim_named(c, wanted);
    }
    lab_begin(l, &options);
}

void all_claims(lab_claims *wanted)
{
    wanted->count = claims_count();
    for (int i = 0; i < wanted->count; i++) wanted->list[i] = claim_at(i);
}

bool claims_right(const lab *l)
{
    if (!l->wrong) return true;
    fprintf(stderr, "normlab: %d numbers that claims ask for are not there: %s\n", l->wrong,
            l->wrong_text);
    return false;
}

/* -- the commands ------------------------------------------------------------------------------ */

int claims_command(cli *c)
{
    if (cli_next(c)) cli_fail(c, "claims takes no argument, not \"%s\"", c->argv[c->at]);
    for (int i = 0; claim_at(i); i++) {
        const claim *row = claim_at(i);
        printf("%-5s %-22s %s", row->id, row->item, row->title);
        if (row->kind == NO_ROW) printf(" (not testable here)");
        if (row->kind == CHECK_ROW) printf(" (a check)");
        printf("\n");
    }
    return 0;
}

const char *verdict_text(bool measured, const outcome *o)
{
    if (!measured) return "not measured yet";
    return verdicts[o->verdict];
}

typedef struct decided_rows { const lab_claims *wanted; outcome *o; } decided_rows;
static void decide_all(lab *l, void *rows)
{
    const decided_rows *r = (const decided_rows *)rows;
    for (int i = 0; i < r->wanted->count; i++) decide(r->wanted->list[i], l, r->o);
}

/* Asks all claims for their measurements, does these or the part that fits into `seconds` (0: all),
 * then prints a line for each claim. */
static bool measure_claims(lab *l, const lab_claims *wanted, bool drawn, double seconds,
                           outcome *o)
{
    decided_rows rows = { wanted, o };
    lab_ask *again = NULL;
    int left = 0;
    lab_read(l);
    decide_all(l, &rows);
    if (seconds > 0) left = fit_into(l, wanted, seconds);
    else again = decide_all;
    if (left) fprintf(stderr, "normlab: rows left out, which do not fit into %.0f s: %d; "
                      "normlab run ROW measures one\n", seconds, left);
    if (!lab_work_on(l, again, &rows)) return false;
    decide_all(l, &rows);
    leave_undone(l);
    for (int i = 0; i < wanted->count; i++) {
        const claim *c = wanted->list[i];
        const bool measured = decide(c, l, o);
        printf("%-5s %-17s ", c->id, verdict_text(measured, o));
        if (measured) printf("%s\n", found_text(c, o));
        else printf("about %.0f s of CPU time on Zen 4\n", missing_seconds(l, number_of(c)));
        if (measured && drawn) draw_text(stdout, c, o);
        if (!output_flush()) break;
    }
    return !l->lost && claims_right(l);
}

/* all --quick: ten minutes on a core that is 1.8 times as slow as Zen 4, whose seconds are used for
 * predictions. */
static const double QUICK_SECONDS = 330;

int run_command(cli *c, bool all)
{
    static outcome o;
    lab_options options;
    lab_claims wanted;
    bool drawn = false;
    lab l;
    lab_clear(&l, &options);
    wanted.count = 0;
    while (cli_next(c)) {
        if (lab_option(c, &l, &options)) continue;
        if (cli_is(c, "--draw")) drawn = true;
        else if (all) cli_fail(c, "all does not know \"%s\"", c->argv[c->at]);
        else claim_named(c, &wanted);
    }
    if (all) all_claims(&wanted);
    if (!wanted.count) cli_fail(c, "run needs the ids of claims; normlab claims lists them");
    lab_begin(&l, &options);
    double seconds = 60.0 * (double)options.minutes * l.jobs;
    if (all && !options.minutes && !l.full) seconds = QUICK_SECONDS;
    const bool ok = measure_claims(&l, &wanted, drawn, seconds, &o);
    lab_free(&l);
    return ok ? 0 : 1;
}

/* -- normlab merge ----------------------------------------------------------------------------- */

/* Equal numbers; a file has null for all that are not finite. */
static bool same_number(double x, double y)
{
    if (!isfinite(x)) return !isfinite(y);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* True if all lists have the same numbers. */
static bool same_numbers(const lab_record *a, const lab_record *b)
{
    if (a->count != b->count) return false;
    for (int32_t i = 0; i < a->count; i++) {
        const lab_list *x = &a->lists[i];
        const lab_list *y = lab_list_of(b, x->name);
        if (!y || y->n != x->n) return false;
        for (int32_t k = 0; k < x->n; k++)
            if (!same_number(x->v[k], y->v[k])) return false;
    }
    return true;
}

/* Appends the missing records of another file to l's. A measurement in both must be the same. One
 * that differs is named, and l's stays. */
static bool merge_file(lab *l, const char *path, int *added)
{
    lab other;
    bool same = true;
    memset(&other, 0, sizeof other);
    other.file = path;
    lab_read(&other);
    if (!other.count) fprintf(stderr, "normlab: no measurement in \"%s\"\n", path);
    for (int32_t i = 0; i < other.count; i++) {
        lab_record *r = other.records[i];
        const lab_record *mine = lab_find(l, r->key);
        if (mine && !same_numbers(mine, r)) {
            fprintf(stderr, "normlab: \"%s\" has other numbers of %s\n", path, r->key);
            same = false;
        }
        if (mine) continue;
        char *line = lab_line(r);
        lab_keep(l, line);
        free(line);
        lab_record *copy = lab_add(l, r->key);
        if (copy) {                             /* it owns the lists now */
            *copy = *r;
            r->count = 0;
        }
        ++*added;
    }
    const bool any = other.count > 0;
    lab_free(&other);
    return same && any;
}

int merge_command(cli *c)
{
    const char *files[64];
    int count = 0;
    int added = 0;
    bool ok = true;
    lab l;
    lab_options options;
    lab_clear(&l, &options);
    while (cli_next(c)) {
        if (cli_text(c, "--file", &l.file)) continue;
        if (c->argv[c->at][0] == '-') cli_fail(c, "merge does not know \"%s\"", c->argv[c->at]);
        if (count == 64) cli_fail(c, "merge takes 64 files, not \"%s\"", c->argv[c->at]);
        files[count++] = c->argv[c->at];
    }
    if (!count) cli_fail(c, "merge needs files of measurements");
    if (!strcmp(l.file, "-")) cli_fail(c, "merge needs --file FILE, not the standard output");
    lab_read(&l);
    l.out = lab_append(l.file);
    if (!l.out) {
        output_lost(l.file);
        return 1;
    }
    for (int i = 0; i < count; i++) ok = merge_file(&l, files[i], &added) && ok;
    if (l.out) fclose(l.out);
    printf("%d measurements added to %s\n", added, l.file);
    ok = ok && !l.lost;
    lab_free(&l);
    return ok ? 0 : 1;
}
