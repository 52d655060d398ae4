/* Joins as formulas, then the page of each kind of name. */
#include "show.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "block.h"
#include "claims.h"
#include "drawing.h"
#include "features.h"
#include "list.h"
#include "measure.h"
#include "papers.h"
#include "rows.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* -- joins as formulas, place by place --------------------------------------------------------- */

static bool skips_norm(const tfn_join *j) { return j->skip_from == TFN_SOURCE_NORMED; }

/* A factor in front of `what`, or only `what` without a scale. */
static void scaled(char *text, size_t size, const char *scale, const char *what)
{
    if (scale[0]) snprintf(text, size, "%s %s", scale, what);
    else snprintf(text, size, "%s", what);
}

/* out * N(F(in * N(x))): the input of F, F, and the operations after it. */
static void branch_formula(char *text, const tfn_join *j, const tfn_place *p)
{
    const char *in = scale_name(&j->in, p);
    const char *out = scale_name(&j->out, p);
    const char *source = "x";
    char read[WIDE / 2], inner[WIDE], f[WIDE + 8];
    if (j->source == TFN_SOURCE_LAYER) source = "x_0";
    if (j->source == TFN_SOURCE_FIRST || skips_norm(j)) source = "n";
    if (j->norm_in && !skips_norm(j)) snprintf(read, sizeof read, "N(%s)", source);
    else snprintf(read, sizeof read, "%s", source);
    scaled(inner, sizeof inner, in, read);
    if (j->shifts) strcat(inner, " - s");
    if (j->norm_branch) snprintf(f, sizeof f, "N(F(%s))", inner);
    else snprintf(f, sizeof f, "F(%s)", inner);
    scaled(text, TEXT, out, f);
}

/* The operations between the matrices of F. */
static void inside_formula(char *text, const tfn_join *j, const tfn_place *p)
{
    const tfn_qk_norm qk = qk_of(j, p);
    const bool is_ffn = p->kind >= TFN_SUBLAYER_FFN;
    char parts[TEXT] = "";
    if (qk == TFN_QK_NORM_QKV_HEAD) add_text(parts, "norms of q, k, v");
    else if (qk > TFN_QK_NORM_NONE) add_text(parts, "norms of q, k");
    if (j->head_scale == TFN_HEAD_SCALE_BEFORE) add_text(parts, "scales of heads");
    if (j->norm_inner && is_ffn) add_text(parts, "N before W_2");
    if (j->norm_inner && !is_ffn) add_text(parts, "N before W_O");
    if (j->head_scale == TFN_HEAD_SCALE_AFTER) add_text(parts, "scales behind W_O");
    if (j->scales && is_ffn) add_text(parts, "scales behind W_1");
    if (j->shifts && is_ffn) add_text(parts, "shifts");
    if (!parts[0] || strlen(text) + strlen(parts) + 12 > TEXT) return;
    strcat(text, "; in F: ");
    strcat(text, parts);
}

/* The source of the skip. */
static const char *skip_source(const tfn_join *j)
{
    if (j->gate && j->norm_sum) return "(x - SiLU(q) sg(x))";
    if (j->skip_from == TFN_SOURCE_LAYER) return "x_0";
    return skips_norm(j) ? "n" : "x";
}

/* " + a x_0", or nothing. */
static void extra_formula(char *text, size_t size, const tfn_join *j, const tfn_place *p)
{
    const char *extra = scale_name(&j->extra, p);
    char term[WIDE / 2];
    text[0] = 0;
    if (j->extra.kind == TFN_SCALE_NONE) return;
    if (!strcmp(extra, "1")) extra = "";
    scaled(term, sizeof term, extra, "x_0");
    snprintf(text, size, " + %s", term);
}

/* x = N(skip x + branch + extra x_0), without the parts that the join lacks. */
static void join_formula(char *text, const tfn_join *j, const tfn_place *p)
{
    char branch[TEXT], skip[WIDE], extra[WIDE], sum[2 * TEXT], x[3 * TEXT];
    branch_formula(branch, j, p);
    scaled(skip, sizeof skip, scale_name(&j->skip, p), skip_source(j));
    extra_formula(extra, sizeof extra, j, p);
    snprintf(sum, sizeof sum, "%s + %s", skip, branch);
    if (!j->extra_last) strcat(sum, extra);

    text[0] = 0;
    if (skips_norm(j) && j->norm_in) add_text(text, "n = N(x)");
    snprintf(x, sizeof x, j->norm_sum ? "x = N(%s)" : "x = %s", sum);
    if (j->extra_last) strcat(x, extra);
    add_text(text, x);
    if (j->gate && !j->norm_sum) add_text(text, "x = x - SiLU(q) sg(x)");
    inside_formula(text, j, p);
}

/* Prints a formula and the layers first .. last of a stack that have it. */
static void print_place(const tfn_place *p, int32_t first, int32_t last, const char *text)
{
    char layers[32];
    if (first == last) snprintf(layers, sizeof layers, "%d", (int)first);
    else snprintf(layers, sizeof layers, "%d-%d", (int)first, (int)last);
    printf("  %-9s%-16s%-6s", stack_name(p), sublayer_name(p->kind), layers);
    print_wrapped(text, 33);
}

typedef struct places { char text[TEXT]; tfn_place p; int32_t first; } places;

/* Equal formulas of neighbouring layers become one line. */
static void visit_formula(void *user, const tfn_place *p, const tfn_join *join)
{
    places *run = (places *)user;
    char text[TEXT];
    join_formula(text, join, p);
    if (run->first && (p->layer == 1 || strcmp(text, run->text))) {
        print_place(&run->p, run->first, run->p.layer, run->text);
        run->first = 0;
    }
    if (!run->first) run->first = p->layer;
    strcpy(run->text, text);
    run->p = *p;
}

static void print_places(const tfn_topology *t, shape s)
{
    places run;
    memset(&run, 0, sizeof run);
    printf("\nThe join of every place (%d + %d layers, one stack of %d, width %d):\n",
           (int)s.layers, (int)s.layers, (int)s.layers, (int)s.width);
    each_place(t, s, visit_formula, &run);
    if (run.first) print_place(&run.p, run.first, run.p.layer, run.text);
}

/* -- show -------------------------------------------------------------------------------------- */

static void print_field(const char *name, const char *text)
{
    if (!text || !text[0]) return;
    printf("%-12s", name);
    print_wrapped(text, 12);
}

/* The rows with a name; a recipe brings its parts. */
typedef struct shown {
    const char          *name;
    const tfn_topology  *topology;
    const tfn_norm_rule *norm;
    const tfn_init_rule *init;
    const tfn_recipe    *recipe;
    bool                 is_norm;           /* the name is a norm's, not only the recipe's */
} shown;

static shown find_shown(const cli *c, const char *name)
{
    shown x;
    memset(&x, 0, sizeof x);
    x.name = name;
    x.recipe = tfn_recipe_find(name);
    x.topology = tfn_topology_find(name);
    x.norm = tfn_norm_find(name);
    x.init = tfn_init_find(name);
    x.is_norm = x.norm != NULL;
    if (!x.recipe && !x.topology && !x.norm && !x.init) unknown(c, name, KINDS);
    if (x.recipe) {
        x.topology = tfn_topology_find(x.recipe->topology);
        x.norm = tfn_norm_find(x.recipe->norm);
        x.init = tfn_init_find(x.recipe->init);
    }
    return x;
}

static void print_row(const char *kind, const char *name, const char *formula, const char *paper,
                      int32_t year)
{
    char text[TEXT];
    print_field(kind, name);
    print_field("", formula);
    if (paper) print_field("", paper_text(text, paper, year));
}

static const char *final_norm(const tfn_topology *t)
{
    if (t->flags & TFN_TOPOLOGY_FINAL_NORM) return "yes";
    if (t->flags & TFN_TOPOLOGY_SIDE_STREAM) return "of the second stream";
    return "no";
}

static void print_facts(const shown *x)
{
    char text[TEXT];
    if (x->recipe) print_field("recipe", x->name);
    if (x->topology) {
        print_row("topology", x->topology->name, x->topology->formula, x->topology->paper,
                  x->topology->year);
        extra_text(text, x->topology);
        print_field("beyond", text);
        print_field("final norm", final_norm(x->topology));
    }
    if (x->norm) {
        print_row("norm", x->norm->name, x->norm->formula, x->norm->paper, x->norm->year);
        norm_parameters(text, x->norm);
        print_field("learns", text);
    }
    if (x->init) print_row("init", x->init->name, x->init->formula, x->init->paper, x->init->year);
    needs_text(text, x->topology, x->norm, x->init);
    if (strcmp(text, "-")) print_field("needs", text);
}

/* The formula of a name in one line. */
static const char *formula_of(const shown *x)
{
    if (x->topology) return x->topology->formula;
    if (x->norm) return x->norm->formula;
    return x->init->formula;
}

/* titled: with the name and the formula, for a separate picture */
static void draw_shown(drawing *d, const shown *x, shape s, int32_t layer, bool titled)
{
    char text[WIDE];
    int y = 0;
    if (titled) {
        word(d, 1, 0, x->name);
        word(d, 1, 1, formula_of(x));
        y = 3;
    }
    if (x->topology) {
        block b;
        b.t = x->topology;
        b.norm = x->recipe ? x->norm->name : "";
        b.s = s;
        b.stack = DECODER;
        b.layer = layer;
        y = draw_block(d, &b, y) + 1;
    }
    if (x->is_norm) {
        snprintf(text, sizeof text, "The norm %s:", x->norm->name);
        word(d, 1, y++, text);
        y = draw_norm(d, x->norm, y) + 1;
    }
    if (x->init) {
        snprintf(text, sizeof text, "The weights, by %s:", x->init->name);
        word(d, 1, y++, text);
        draw_init(d, x->init, s, y);
    }
}

static void print_text_page(const shown *x, const drawing *d, shape s)
{
    print_facts(x);
    if (x->topology)
        printf("\nA decoder layer of an encoder-decoder; m: memory, x_0: the layer's input:\n");
    printf("\n");
    print_text(d);
    if (x->topology) print_places(x->topology, s);
    print_notes(x->name);
}

static int write_svg(const char *path, const drawing *d, int wide, const char *name)
{
    output_file o;
    FILE *f = output_open(&o, path);
    if (f) print_svg(f, d, wide, name);
    if (!output_close(&o)) return 1;
    return 0;
}

/* The last column of an item; a box has brackets and spaces around its text. */
static int item_end(const item *i)
{
    const int n = (int)strlen(i->text);
    if (i->left) return i->x + n;
    return i->x2 + (n + 5) / 2;
}

/* Narrower columns for short words: RAIL at 2, TRUNK at 13, BRANCH at 31. */
static int narrow_column(int x)
{
    if (x < (RAIL + TRUNK) / 2) return x - 1;
    if (x < (TRUNK + BRANCH) / 2) return x - 9;
    if (x < (BRANCH + SIDE) / 2) return x - 21;
    return x - 33;
}

/* Writes only the block of a topology, in a model with one stack, as a picture for a third of a
 * page's width. Norms are shown by their place only. */
static int write_block(const char *path, const shown *x, shape s, int32_t layer, drawing *d)
{
    block b;
    int wide = 0;
    b.t = x->topology;
    b.norm = "";
    b.s = s;
    b.stack = LONE_DECODER;
    b.layer = layer;
    draw_block(d, &b, 0);
    for (int k = 0; k < d->count; k++) {
        item *i = &d->items[k];
        i->x = narrow_column(i->x);
        i->x2 = narrow_column(i->x2);
        if (item_end(i) >= wide) wide = item_end(i) + 1;
    }
    return write_svg(path, d, wide, x->name);
}

static void show_row(const claim *c)
{
    lab l;
    lab_options options;
    lab_clear(&l, &options);
    printf("%s: %s%s\n\n", c->id, paper_of(c), c->item);
    print_field("claim", c->title);
    print_field("paper", c->expected);
    print_field("", c->paper);
    if (c->kind == NO_ROW) {
        print_field("not here", c->reason);
        return;
    }
    print_field("setting", setting_text(&l, c));
    print_field("differ in", differ_text(&l, c));
    print_field(criteria_word(c), criteria_text(c));
    print_field("before", c->before);
}

/* Shows all rows with an id: X8 shows X8a and X8b. */
static void show_claim(const char *id)
{
    bool any = false;
    for (int i = 0; claim_at(i); i++) {
        if (!is_called(claim_at(i), id)) continue;
        if (any) printf("\n");
        show_row(claim_at(i));
        any = true;
    }
}

/* The options of show. */
typedef struct show_options {
    const char *name, *svg, *block;
    long        layers, layer, width;       /* layer 0: a middle one */
} show_options;

static show_options show_arguments(cli *c)
{
    show_options o = { NULL, NULL, NULL, 6, 0, 512 };
    while (cli_next(c)) {
        if (cli_number(c, "--layers", 1, 1000, &o.layers)) continue;
        if (cli_number(c, "--layer", 1, 1000, &o.layer)) continue;
        if (cli_number(c, "--width", 1, 1 << 20, &o.width)) continue;
        if (cli_text(c, "--svg", &o.svg) || cli_text(c, "--block", &o.block)) continue;
        if (o.name || c->argv[c->at][0] == '-')
            cli_fail(c, "show does not know \"%s\"", c->argv[c->at]);
        o.name = c->argv[c->at];
    }
    if (!o.name) cli_fail(c, "show needs a name");
    if (o.layer > o.layers) cli_fail(c, "there is no layer %ld of %ld", o.layer, o.layers);
    if (!o.layer) o.layer = o.layers / 2 + 1;
    if (o.layer > o.layers) o.layer = o.layers;
    return o;
}

int show_command(cli *c)
{
    static drawing d;
    const show_options o = show_arguments(c);
    if (o.svg && o.block) cli_fail(c, "one of --svg and --block");
    if (find_claim(o.name)) {
        if (o.svg || o.block) cli_fail(c, "%s is a claim: run %s --draw draws it", o.name, o.name);
        show_claim(o.name);
        return 0;
    }
    const shown x = find_shown(c, o.name);
    shape s;
    s.layers = (int32_t)o.layers;
    s.width = (int32_t)o.width;
    if (o.block) {
        if (!x.topology) cli_fail(c, "%s has no block", o.name);
        return write_block(o.block, &x, s, (int32_t)o.layer, &d);
    }
    draw_shown(&d, &x, s, (int32_t)o.layer, o.svg != NULL);
    if (o.svg) return write_svg(o.svg, &d, WIDE, x.name);
    print_text_page(&x, &d, s);
    return 0;
}
