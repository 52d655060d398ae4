/* The page, from its head to its last table, then the Markdown. */
#include "report.h"
#include "../common/svg.h"
#include "claims.h"
#include "formula.h"
#include "judge.h"
#include "lab.h"
#include "measure.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void draw_heat(FILE *f, const figure *g)
{
    svg_heat_map heat;
    memset(&heat, 0, sizeof heat);
    heat.title = g->line[0].name;
    heat.x_label = g->x;
    heat.y_label = g->y;
    heat.values = g->cells;
    heat.rows = g->matrix - 1;
    heat.cols = g->matrix;
    svg_heat(f, &heat);
}

static void draw(FILE *f, const claim *c, const outcome *o)
{
    if (o->fig.lines) svg_curves(f, plot_of(c, o));
    if (o->fig.matrix) draw_heat(f, &o->fig);
}

/* -- HTML -------------------------------------------------------------------------------------- */

/* Writes an entry of a definition list, or nothing. */
static void html_row(FILE *f, const char *name, const char *text)
{
    if (!text || !text[0]) return;
    fprintf(f, "<dt>%s</dt><dd>", name);
    formula_html(f, text);
    fprintf(f, "</dd>\n");
}

static void html_begin(FILE *f, const lab *l)
{
    fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
            "<meta name=\"viewport\" content=\"width=device-width\"/>"
            "<title>normlab: where does the norm go?</title>\n<style>"
            ":root{color-scheme:light dark}"
            "body{font:16px/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;padding:0 1em}"
            "figure{margin:1em 0}svg{max-width:100%%;height:auto}sub,sup{line-height:0}"
            "dl{display:grid;grid-template-columns:9em 1fr;gap:.25em 1em}dt{font-weight:600}"
            "dd{margin:0}th:nth-child(2),td:nth-child(2){white-space:nowrap}"
            "code{font-size:.95em}table{border-collapse:collapse}"
            "td,th{padding:.15em .7em .15em 0;text-align:left;vertical-align:top}"
            "section{border-top:1px solid #8888;margin-top:2em}h2{overflow-wrap:anywhere}"
            "@media(max-width:40em){dl{grid-template-columns:1fr}dd{margin-bottom:.5em}"
            "body{overflow-wrap:anywhere}}"
            ".v{font-weight:700}"
            "@media print{:root{color-scheme:light}body{margin:0;max-width:none}"
            "section,figure,li,tr{break-inside:avoid}h2{break-after:avoid}a{color:inherit}}"
            "</style></head><body><main>\n"
            "<h1>Where does the norm go?</h1>\n<p>Claims of Xiong et al. 2020 (X), Liu et al. 2020 "
            "(A), Takase et al. 2022 (B) and of what came since (N), measured by one program: %d "
            "seeds of training runs, %d of models as they start. Criteria were committed before "
            "results; a verdict is one of intervals that hold a mean with 99 %% confidence. Lines "
            "are means over seeds, bands one standard deviation; a run that has settled stays at "
            "its last loss while others go on. [a, b] is the interval of a mean; (n seeds): as "
            "many would decide. What a claim says of large models may not show at this scale, and "
            "the verdict says so.</p>\n", l->seeds, l->init_seeds);
}

static void html_figure(FILE *f, const claim *c, const outcome *o)
{
    fprintf(f, "<figure role=\"img\" aria-label=\"%s: ", c->id);
    svg_text(f, found_text(c, o));
    fprintf(f, "\">\n");
    draw(f, c, o);
    fprintf(f, "<figcaption>%s. ", c->id);
    formula_html(f, picture_of(c));
    fprintf(f, ": ");
    formula_html(f, o->fig.y);
    fprintf(f, " over ");
    formula_html(f, o->fig.x);
    fprintf(f, ".</figcaption></figure>\n");
}

/* Writes the options that repeat the measurement of a row. */
static void html_options(FILE *f, const claim *c, const lab *l)
{
    if (l->full) fprintf(f, " --full");
    if (l->seeds != lab_training_seeds(l)) fprintf(f, " --seeds %d", l->seeds);
    if (l->init_seeds != lab_start_seeds(l)) fprintf(f, " --start-seeds %d", l->init_seeds);
    if (l->first) fprintf(f, " --first-seed %ld", l->first + 1);
    if (l->depth) fprintf(f, " --depth %d", (int)l->depth);
    if (l->width) fprintf(f, " --width %d", (int)l->width);
    if (l->recipe) fprintf(f, " --topology %s=%s", l->instead, l->recipe);
    if (c->own_text) fprintf(f, " --text FILE");
    if (c->own_pairs) fprintf(f, " --pairs FOLDER");
}

/* Writes the measurement of a row, its criteria, its results, and how to repeat it. */
static void html_measured(FILE *f, const claim *c, const lab *l, const char *text)
{
    html_row(f, "setting", setting_text(l, c));
    html_row(f, "sides differ in", differ_text(l, c));
    html_row(f, criteria_word(c), criteria_text(c));
    html_row(f, "found", text);
    html_row(f, "earlier verdicts", c->before);
    html_row(f, "shares runs with", sharing_text(l, c));
    fprintf(f, "<dt>again</dt><dd><code>normlab run %s", c->id);
    html_options(f, c, l);
    fprintf(f, "</code>");
    if (text) fprintf(f, ", %.0f s of CPU time", l->spent);
    fprintf(f, "</dd>");
}

static void html_claim(FILE *f, const claim *c, lab *l, outcome *o)
{
    const bool measured = decide(c, l, o);
    fprintf(f, "<section id=\"%s\"><h2>%s. ", c->id, c->id);
    formula_html(f, c->title);
    fprintf(f, "</h2>\n<p class=\"v\">%s</p>\n<dl>", verdict_text(measured, o));
    fprintf(f, "<dt>where</dt><dd>%s%s</dd>\n", paper_of(c), c->item);
    html_row(f, "the paper says", c->expected);
    html_row(f, "its numbers", c->paper);
    if (c->kind == NO_ROW) html_row(f, "why not", o->numbers);
    else if (measured) html_measured(f, c, l, found_text(c, o));
    else html_measured(f, c, l, NULL);
    fprintf(f, "</dl>\n");
    if (measured && (o->fig.lines || o->fig.matrix)) html_figure(f, c, o);
    fprintf(f, "</section>\n");
}

/* -- the tally --------------------------------------------------------------------------------- */

/* The number of rows with each verdict. Checks hold by construction and have their own verdicts, so
 * that they are never counted as measurements. */
typedef struct tally { int count[VERDICTS], waiting, unchecked; } tally;

/* Decides all rows. Afterwards each record knows which rows asked for it. */
static tally tally_of(lab *l, const lab_claims *wanted, outcome *o)
{
    tally t;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < wanted->count; i++) {
        if (decide(wanted->list[i], l, o)) t.count[o->verdict]++;
        else if (wanted->list[i]->kind == CHECK_ROW) t.unchecked++;
        else t.waiting++;
    }
    return t;
}

/* "Measurements: 70. 40 shown, 5 partly ... Not measured yet: 3. Checks ...". A row that is not
 * measured yet is not counted, because it may turn out as not testable here. */
static void write_tally(FILE *f, const tally *t)
{
    static const verdict said[] = { SHOWN, PARTLY, TIE, UNDECIDED, TOO_CLOSE, NOT_SHOWN, OPPOSITE,
                                    BROKEN };
    int all = 0;
    const char *comma = ". ";
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) all += t->count[said[i]];
    fprintf(f, "Measurements: %d", all);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (!t->count[said[i]]) continue;
        fprintf(f, "%s%d %s", comma, t->count[said[i]], verdicts[said[i]]);
        comma = ", ";
    }
    if (t->waiting) fprintf(f, ". Not measured yet: %d", t->waiting);
    fprintf(f, ". Checks, which hold by construction: %d hold, %d do not", t->count[HOLDS],
            t->count[FAILS]);
    if (t->unchecked) fprintf(f, ", %d not measured yet", t->unchecked);
    fprintf(f, ". Not testable here: %d.", t->count[NOT_TESTABLE]);
}

/* The story of the papers in eight pictures. */
static const struct { const char *id, *text; } story[] = {
    { "X14a", "Before the first update: in Post-LN, which norms behind each sum, the upper layers "
      "get by far the largest gradients; in Pre-LN, which norms inside the branch, all get alike "
      "ones." },
    { "X12a", "So Post-LN does not bear a large rate at the start. With a warm-up it learns; "
      "without one it does not, however long it goes on." },
    { "X8a", "The deeper Pre-LN is, the smaller is the gradient of its last layer. Post-LN's is "
      "the same at any depth." },
    { "X5", "The reason: Pre-LN only adds. Its stream grows with every layer, and the norm in "
      "front of a branch divides by its size." },
    { "A9b", "What a branch weighs against the stream it joins: the i-th of Pre-LN the less the "
      "higher it is, that of Post-LN always about the same." },
    { "A6a", "Move all weights a little: the output of Post-LN moves with the number of "
      "sub-layers, that of Pre-LN far less. An update moves all weights." },
    { "B3a", "Down the decoder of a deep Post-LN the gradient vanishes. One more addition a layer, "
      "B2T, keeps a part of it." },
    { "B1", "18 + 18 layers: Post-LN does not learn, Pre-LN and B2T do." }
};

/* Writes the text for a screen reader: the title and the results. */
static void html_story_picture(FILE *f, int number, const claim *c, const outcome *o)
{
    fprintf(f, "<figure role=\"img\" aria-label=\"Picture %d, ", number);
    svg_text(f, picture_of(c));
    fprintf(f, ": ");
    svg_text(f, found_text(c, o));
    fprintf(f, "\">\n");
    draw(f, c, o);
    fprintf(f, "</figure>\n");
}

static void html_story(FILE *f, lab *l, outcome *o)
{
    fprintf(f, "<h2>The story in eight pictures</h2>\n<ol class=\"story\">\n");
    for (size_t i = 0; i < sizeof story / sizeof *story; i++) {
        const claim *c = find_claim(story[i].id);
        const bool measured = decide(c, l, o);
        fprintf(f, "<li><p>");
        svg_text(f, story[i].text);
        fprintf(f, " <a href=\"#%s\">%s</a>: %s.</p>\n", c->id, c->id,
                verdict_text(measured, o));
        if (measured && o->fig.lines) html_story_picture(f, (int)i + 1, c, o);
        fprintf(f, "</li>\n");
    }
    fprintf(f, "</ol>\n");
}

/* Writes the measured rows, or the others, as a table of contents. */
static void html_contents(FILE *f, lab *l, const lab_claims *wanted, bool measured, outcome *o)
{
    fprintf(f, "<table><tr><th scope=\"col\">row</th><th scope=\"col\">verdict</th>"
            "<th scope=\"col\">what</th></tr>\n");
    for (int i = 0; i < wanted->count; i++) {
        const claim *c = wanted->list[i];
        if (decide(c, l, o) != measured) continue;
        fprintf(f, "<tr><td><a href=\"#%s\">%s</a></td><td>%s</td><td>", c->id, c->id,
                verdict_text(measured, o));
        formula_html(f, c->title);
        fprintf(f, "</td></tr>\n");
    }
    fprintf(f, "</table>\n");
}

/* Writes the tally, a table of contents, a section for each measured row; the others folded. */
static void html_report(FILE *f, lab *l, const lab_claims *wanted, outcome *o)
{
    const tally t = tally_of(l, wanted, o);
    html_begin(f, l);
    fprintf(f, "<p>");
    write_tally(f, &t);
    fprintf(f, "</p>\n");
    if (wanted->count == claims_count()) html_story(f, l, o);
    fprintf(f, "<h2>What was measured</h2>\n");
    html_contents(f, l, wanted, true, o);
    for (int i = 0; i < wanted->count; i++)
        if (decide(wanted->list[i], l, o)) html_claim(f, wanted->list[i], l, o);
    if (t.waiting) fprintf(f, "<details><summary>not measured yet: %d</summary>\n", t.waiting);
    if (t.waiting) html_contents(f, l, wanted, false, o);
    for (int i = 0; i < wanted->count; i++)
        if (!decide(wanted->list[i], l, o)) html_claim(f, wanted->list[i], l, o);
    if (t.waiting) fprintf(f, "</details>\n");
    fprintf(f, "</main></body></html>\n");
}

/* -- Markdown ---------------------------------------------------------------------------------- */

void markdown_cell(FILE *f, const char *text)
{
    if (!text) text = "";
    for (; *text; text++) {
        if (*text == '|') fputs("\\|", f);
        else if (*text == '<') fputs("&lt;", f);
        else if (*text == '\n') fputc(' ', f);
        else fputc(*text, f);
    }
    fputs(" | ", f);
}

static void markdown_claim(FILE *f, const claim *c, lab *l, outcome *o)
{
    const bool measured = decide(c, l, o);
    const char *text = NULL;
    if (measured) text = found_text(c, o);
    fprintf(f, "| %s | ", c->id);
    markdown_cell(f, c->item);
    markdown_cell(f, c->title);
    markdown_cell(f, verdict_text(measured, o));
    markdown_cell(f, text);
    if (c->kind == NO_ROW) markdown_cell(f, NULL);
    else markdown_cell(f, criteria_text(c));
    markdown_cell(f, c->paper);
    markdown_cell(f, setting_text(l, c));
    markdown_cell(f, sharing_text(l, c));
    markdown_cell(f, c->before);
    fprintf(f, "%.0f s |\n", l->spent);
}

static void markdown_report(FILE *f, lab *l, const lab_claims *wanted, outcome *o)
{
    int measured;
    double seconds;
    const tally t = tally_of(l, wanted, o);
    write_tally(f, &t);
    fprintf(f, "\n\n| row | where | what | verdict | found | shown if | the paper's numbers | "
            "setting | measured with | earlier editions | CPU time |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < wanted->count; i++) markdown_claim(f, wanted->list[i], l, o);
    lab_total(l, &measured, &seconds);
    fprintf(f, "\n%d measurements, which rows share, %.0f s of CPU time in all.\n", measured,
            seconds);
}

int report_command(cli *c)
{
    static outcome o;
    bool markdown;
    lab_claims wanted;
    lab l;
    lab_arguments(c, &l, &wanted, &markdown);
    if (!wanted.count) all_claims(&wanted);
    lab_read(&l);
    if (!l.count)
        fprintf(stderr, "normlab: no measurement in \"%s\": normlab all\n", l.file ? l.file : "-");
    if (markdown) markdown_report(stdout, &l, &wanted, &o);
    else html_report(stdout, &l, &wanted, &o);
    lab_free(&l);
    return claims_right(&l) ? 0 : 1;
}
