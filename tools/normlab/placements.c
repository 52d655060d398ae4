/* normlab placements: which placement trains when? Trains all recipes at 12 + 12 layers and a dozen
 * of them at 4 + 4 and 24 + 24, each at three rates without and with a warm-up. Shows which runs
 * have learned to write strings backwards after 400 updates, which are slow and which fail, as text
 * and as one picture. Runs are records like any other, so an interrupted table can be resumed. */
#include "placements.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "../common/svg.h"
#include "claims.h"
#include "lab.h"
#include "lab_spec.h"
#include "lab_work.h"
#include "measure.h"
#include "rows.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PLACED_RATES = 3, PLACED_COLUMNS = 2 * PLACED_RATES, PLACED_ROWS = 256 };
static const double placed_rates[PLACED_RATES] = { 5e-4, 2e-3, 8e-3 };
static const char *const placed_dozen[] = {
    "post", "pre", "admin", "b2t", "deepnorm", "t-fixup", "rezero", "peri", "sub-ln", "resi-dual",
    "lns", "mix-ln"
};

/* LEARNED: BLEU of at least 90. FAILED: below 20, or it diverged. NO_RUN: the model is illegal. */
typedef enum placed { LEARNED, SLOW, FAILED, NO_RUN, NOT_YET, PLACED } placed;
static const struct { char symbol; const char *word, *color, *ink; } placed_words[PLACED] = {
    { '+', "has learned (BLEU 90 and more)", "#009e73", "#fff" },
    { '.', "learns slowly", "#e69f00", "#000" },
    { '-', "fails (BLEU below 20)", "#d55e00", "#fff" },
    { 'x', "cannot be made", "#888888", "#fff" }, { '?', "not measured yet", "none", "#888" }
};

typedef struct placed_row {
    const char *recipe;
    int32_t     layers;
    placed      cell[PLACED_COLUMNS];
    double      bleu[PLACED_COLUMNS];
} placed_row;
typedef struct placed_table {
    int         count;
    placed_row  row[PLACED_ROWS];
    const char *init;           /* for all recipes whose own is a general one; NULL: their own */
} placed_table;

/* Column c: the rates without warm-up, then those with one of 100. */
static lab_spec placed_spec(const placed_row *r, int c)
{
    lab_spec s = training(r->recipe, r->layers, placed_rates[c % PLACED_RATES], 1, 400);
    if (c >= PLACED_RATES) s.warmup = 100;
    s.seed = 1;
    return s;
}

static placed placed_as(const lab_record *r, double *bleu)
{
    const lab_list *score = lab_list_of(r, "bleu");
    *bleu = 0;
    if (!r) return NOT_YET;
    if (!lab_list_of(r, "nll")) return NO_RUN;
    if (score) *bleu = score->v[0];
    if (!(*bleu >= FAILS_BELOW)) return FAILED;
    if (*bleu >= LEARNS_ABOVE) return LEARNED;
    return SLOW;
}

static void placed_ask(lab *l, placed_table *t)
{
    l->init = t->init;
    for (int i = 0; i < t->count; i++)
        for (int c = 0; c < PLACED_COLUMNS; c++) {
            placed_row *r = &t->row[i];
            const lab_spec s = placed_spec(r, c);
            r->cell[c] = placed_as(lab_get(l, &s), &r->bleu[c]);
        }
}

static void placed_add(placed_table *t, const char *recipe, int32_t layers)
{
    if (t->count == PLACED_ROWS) return;
    t->row[t->count].recipe = recipe;
    t->row[t->count++].layers = layers;
}

/* The table: the dozen at 4 layers, all at 12, the dozen at 24. */
static void placed_all(placed_table *t)
{
    const int dozen = sizeof placed_dozen / sizeof *placed_dozen;
    for (int i = 0; i < dozen; i++) placed_add(t, placed_dozen[i], 4);
    for (int32_t i = 0; tfn_recipe_at(i); i++) placed_add(t, tfn_recipe_at(i)->name, 12);
    for (int i = 0; i < dozen; i++) placed_add(t, placed_dozen[i], 24);
}

/* -- output ------------------------------------------------------------------------------------ */

static void placed_text(FILE *f, const placed_table *t)
{
    fprintf(f, "BLEU after 400 updates; %c %s, %c %s, %c %s\n", placed_words[LEARNED].symbol,
            placed_words[LEARNED].word, placed_words[SLOW].symbol, placed_words[SLOW].word,
            placed_words[FAILED].symbol, placed_words[FAILED].word);
    if (t->init)
        fprintf(f, "initialization: %s, except where another one is part of the method\n", t->init);
    fprintf(f, "%-20s layers  no warm-up:%14s  warm-up 100:\n", "", "");
    fprintf(f, "%-20s        ", "");
    for (int c = 0; c < PLACED_COLUMNS; c++) fprintf(f, "%8g", placed_rates[c % PLACED_RATES]);
    fprintf(f, "\n");
    for (int i = 0; i < t->count; i++) {
        const placed_row *r = &t->row[i];
        fprintf(f, "%-20.20s %6d ", r->recipe, (int)r->layers);
        for (int c = 0; c < PLACED_COLUMNS; c++) {
            if (r->cell[c] >= NO_RUN) fprintf(f, "%8c", placed_words[r->cell[c]].symbol);
            else fprintf(f, " %5.0f %c", r->bleu[c], placed_words[r->cell[c]].symbol);
        }
        fprintf(f, "\n");
    }
}

enum { PLACED_LEFT = 250, PLACED_TOP = 96, PLACED_CELL = 64, PLACED_LINE = 18 };

static void placed_cell(FILE *f, const placed_row *r, int c, double y)
{
    const double x = PLACED_LEFT + PLACED_CELL * c + 8 * (c >= PLACED_RATES);
    const placed as = r->cell[c];
    char text[32];
    fprintf(f, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y,
            PLACED_CELL - 2, PLACED_LINE - 2, placed_words[as].color);
    snprintf(text, sizeof text, "%c", placed_words[as].symbol);
    if (as < NO_RUN) snprintf(text, sizeof text, "%.0f", r->bleu[c]);
    fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n",
            x + PLACED_CELL / 2.0, y + 12.5, placed_words[as].ink, text);
}

static void placed_head(FILE *f, const char *init)
{
    char text[96];
    fprintf(f, "<g font-size=\"16\" font-weight=\"bold\">\n");
    svg_word(f, 20, 26, "start", "Which placement trains when?");
    fprintf(f, "</g>\n");
    svg_word(f, 20, 46, "start", "BLEU of string reversal after 400 updates");
    if (init) snprintf(text, sizeof text, "initialization: %s", init);
    if (init) svg_word(f, 20, 64, "start", text);
    svg_word(f, PLACED_LEFT + 1.5 * PLACED_CELL, PLACED_TOP - 26, "middle", "no warm-up");
    svg_word(f, PLACED_LEFT + 4.5 * PLACED_CELL + 8, PLACED_TOP - 26, "middle", "warm-up 100");
    svg_word(f, PLACED_LEFT - 56, PLACED_TOP - 8, "end", "recipe");
    svg_word(f, PLACED_LEFT - 10, PLACED_TOP - 8, "end", "layers");
    for (int c = 0; c < PLACED_COLUMNS; c++) {
        snprintf(text, sizeof text, "%g", placed_rates[c % PLACED_RATES]);
        svg_word(f, PLACED_LEFT + PLACED_CELL * (c + 0.5) + 8 * (c >= PLACED_RATES), PLACED_TOP - 8,
                 "middle", text);
    }
}

static void placed_picture(FILE *f, const placed_table *t)
{
    const int height = PLACED_TOP + PLACED_LINE * (t->count + PLACED) + 30;
    char text[32];
    svg_begin(f, SVG_WIDTH, height, "Which placement trains when?");
    placed_head(f, t->init);
    for (int i = 0; i < t->count; i++) {
        const double y = PLACED_TOP + PLACED_LINE * i;
        svg_word(f, PLACED_LEFT - 56, y + 12.5, "end", paper_name(t->row[i].recipe));
        snprintf(text, sizeof text, "%d", (int)t->row[i].layers);
        svg_word(f, PLACED_LEFT - 10, y + 12.5, "end", text);
        for (int c = 0; c < PLACED_COLUMNS; c++) placed_cell(f, &t->row[i], c, y);
    }
    for (int k = 0; k < PLACED; k++) {
        const double y = PLACED_TOP + PLACED_LINE * (t->count + k) + 16;
        fprintf(f, "<rect x=\"%d\" y=\"%.0f\" width=\"16\" height=\"14\" fill=\"%s\"/>\n",
                PLACED_LEFT, y, placed_words[k].color);
        svg_word(f, PLACED_LEFT + 26, y + 12, "start", placed_words[k].word);
    }
    svg_end(f);
}

static bool placed_write(const char *path, const placed_table *t)
{
    output_file o;
    FILE *f = output_open(&o, path);
    if (f) placed_picture(f, t);
    return output_close(&o);
}

/* -- the command ------------------------------------------------------------------------------- */

int placements_command(cli *c)
{
    static placed_table t;
    const char *svg = NULL;
    long layers = 12;
    lab_options options;
    lab l;
    lab_clear(&l, &options);
    while (cli_next(c)) {
        if (cli_text(c, "--svg", &svg) || cli_number(c, "--layers", 1, LAB_DEEPEST, &layers))
            continue;
        if (cli_text(c, "--init", &t.init)) {
            if (!is_a(INIT, t.init)) unknown(c, t.init, INIT);
            continue;
        }
        if (lab_option(c, &l, &options)) continue;
        if (!tfn_recipe_find(c->argv[c->at])) unknown(c, c->argv[c->at], RECIPE);
        placed_add(&t, c->argv[c->at], 0);
    }
    if (options.seeds || options.starts || options.first || options.depth || options.width)
        cli_fail(c, "placements have one seed and their own sizes: --layers N of recipes");
    if (options.minutes) cli_fail(c, "placements are measured wholly, or go on from --file");
    for (int i = 0; i < t.count; i++) t.row[i].layers = (int32_t)layers;
    if (!t.count) placed_all(&t);
    lab_begin(&l, &options);
    for (int i = 0; i < t.count; i++) t.row[i].recipe = lab_recipe(&l, t.row[i].recipe);
    lab_read(&l);
    placed_ask(&l, &t);
    bool ok = lab_work(&l);
    placed_ask(&l, &t);
    placed_text(stdout, &t);
    if (svg) ok = placed_write(svg, &t) && ok;
    ok = ok && !l.lost;
    lab_free(&l);
    return ok ? 0 : 1;
}
