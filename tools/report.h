/* What normlab found, as a page of HTML that needs nothing else, or as a table of Markdown. */
#ifndef REPORT_H
#define REPORT_H
#include "claims.h"
#include "svg.h"

static const char *paper_of(const claim *c)
{
    return c->id[0] == 'X' ? "Xiong et al. 2020" : c->id[0] == 'A' ? "Liu et al. 2020"
                                                                     : "Takase et al. 2022";
}

/* The verdict and picture of a claim, from what is at hand; false: something is not measured. */
static bool decide(const claim *c, lab *l, outcome *o)
{
    const int seeds = l->seeds;
    int wrong;
    memset(o, 0, sizeof *o);
    l->seeds = seeds_of(c, seeds);
    if (c->measure && (l->depth || l->width)) {       /* how deep and wide is it on its own? */
        l->deepest = l->widest = 0;
        l->asking = true;
        c->measure(l, o);
        l->asking = false;
    }
    memset(o, 0, sizeof *o);
    if (c->measure && (l->depth || l->width || l->instead)) {
        say(o, "[Not the default");
        if (l->depth) say(o, "; the deepest has %d layers", (int)lab_layers(l, l->deepest));
        if (l->width) say(o, "; the widest has %d channels", (int)lab_width(l, l->widest));
        if (l->instead) say(o, "; %s is %s", l->instead, l->recipe);
        say(o, ": the criterion was not made for it.] ");
    }
    l->missing = 0;
    wrong = l->wrong;
    if (c->measure) c->measure(l, o);
    else {
        o->verdict = NOT_TESTABLE;
        say(o, "%s", c->reason);
    }
    if (l->wrong > wrong) o->verdict = BROKEN;
    l->seeds = seeds;
    return !l->missing;
}

/* The figure's lines as curves; they point into o. */
static svg_plot plot_of(const claim *c, const outcome *o, svg_curve curves[FIGURE_LINES])
{
    static double low[FIGURE_LINES][FIGURE_POINTS], high[FIGURE_LINES][FIGURE_POINTS];
    const figure *g = &o->fig;
    svg_plot plot;
    memset(curves, 0, FIGURE_LINES * sizeof *curves);
    memset(&plot, 0, sizeof plot);
    for (int k = 0; k < g->lines; k++) {
        const figure_line *line = &g->line[k];
        bool spread = false;
        for (int i = 0; i < line->n; i++) {
            low[k][i] = line->y[i] - line->spread[i], high[k][i] = line->y[i] + line->spread[i];
            spread = spread || line->spread[i] > 0;
        }
        curves[k].name = line->name;
        curves[k].x = line->x, curves[k].y = line->y;
        curves[k].count = line->n;
        if (spread) curves[k].low = low[k], curves[k].high = high[k];
    }
    plot.title = c->id;
    plot.x_label = g->x, plot.y_label = g->y;
    plot.log_x = g->log_x, plot.log_y = g->log_y;
    plot.curves = curves, plot.count = g->lines;
    return plot;
}
static void draw(FILE *f, const claim *c, const outcome *o)
{
    const figure *g = &o->fig;
    svg_curve curves[FIGURE_LINES];
    svg_plot plot = plot_of(c, o, curves);
    if (g->lines) svg_curves(f, &plot);
    if (g->matrix) {
        svg_heat_map heat;
        memset(&heat, 0, sizeof heat);
        heat.title = g->line[0].name;
        heat.x_label = g->x, heat.y_label = g->y;
        heat.values = g->cells;
        heat.rows = g->matrix - 1, heat.cols = g->matrix;
        svg_heat(f, &heat);
    }
}
/* The same for a terminal. */
static void draw_text(FILE *f, const claim *c, const outcome *o)
{
    svg_curve curves[FIGURE_LINES];
    svg_plot plot = plot_of(c, o, curves);
    if (!c->id[0]) plot.title = NULL;
    if (plot.count) plot_curves(f, &plot);
}

static void html_row(FILE *f, const char *name, const char *text)
{
    if (!text || !text[0]) return;
    fprintf(f, "<dt>%s</dt><dd>", name);
    svg_text(f, text);
    fprintf(f, "</dd>\n");
}
static void html_begin(FILE *f, const lab *l)
{
    fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
            "<meta name=\"viewport\" content=\"width=device-width\"/>"
            "<title>normlab: where does the norm go?</title>\n<style>"
            ":root{color-scheme:light dark}"
            "body{font:16px/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;padding:0 1em}"
            "figure{margin:1em 0}svg{max-width:100%%;height:auto}"
            "dl{display:grid;grid-template-columns:9em 1fr;gap:.25em 1em}dt{font-weight:600}"
            "dd{margin:0}th:nth-child(2),td:nth-child(2){white-space:nowrap}"
            "code{font-size:.95em}table{border-collapse:collapse}"
            "td,th{padding:.15em .7em .15em 0;text-align:left;vertical-align:top}"
            "section{border-top:1px solid #8888;margin-top:2em}"
            ".v{font-weight:700}@media print{section{break-inside:avoid}}</style></head><body>\n"
            "<h1>Where does the norm go?</h1>\n<p>Every measurable claim of Xiong et al. 2020 (X), "
            "Liu et al. 2020 (A) and Takase et al. 2022 (B), measured by one program on one "
            "machine: %d seeds of training runs, %d of models as they start. The criteria were "
            "written before the results; lines are means over seeds, bands one standard deviation. "
            "What a claim says of large models may not show at this scale, and the verdict says "
            "so.</p>\n", l->seeds, l->init_seeds);
}

static void html_claim(FILE *f, const claim *c, const lab *l, const outcome *o, bool measured)
{
    fprintf(f, "<section id=\"%s\"><h2>%s: ", c->id, c->id);
    svg_text(f, c->title);
    fprintf(f, "</h2>\n<p class=\"v\">%s</p>\n<dl>", measured ? verdicts[o->verdict]
                                                              : "not measured yet");
    fprintf(f, "<dt>where</dt><dd>%s, %s</dd>\n", paper_of(c), c->item);
    html_row(f, "the paper says", c->expected);
    html_row(f, "its numbers", c->paper);
    html_row(f, "setting", c->measure ? c->setting : NULL);
    html_row(f, "shown if", c->measure ? c->criterion : NULL);
    html_row(f, c->measure ? "found" : "why not", measured ? o->numbers : NULL);
    if (c->measure)
        fprintf(f, "<dt>again</dt><dd><code>normlab run %s%s</code>, %.0f s of CPU time</dd>",
                c->id, l->full ? " --full" : "", l->spent);
    fprintf(f, "</dl>\n");
    if (measured && (o->fig.lines || o->fig.matrix)) {
        fprintf(f, "<figure role=\"img\" aria-label=\"%s: ", c->id);
        svg_text(f, o->numbers);
        fprintf(f, "\">\n");
        draw(f, c, o);
        fprintf(f, "<figcaption>%s. ", c->id);
        svg_text(f, c->title);
        fprintf(f, ": ");
        svg_text(f, o->fig.y);
        fprintf(f, " over ");
        svg_text(f, o->fig.x);
        fprintf(f, ".</figcaption></figure>\n");
    }
    fprintf(f, "</section>\n");
}

static void html_report(FILE *f, lab *l, const claim *const *wanted, int count, outcome *o)
{
    enum { UNMEASURED = BROKEN + 1 };
    int tally[UNMEASURED + 1] = { 0 };
    html_begin(f, l);
    for (int i = 0; i < count; i++) tally[decide(wanted[i], l, o) ? (int)o->verdict : UNMEASURED]++;
    fprintf(f, "<p>");
    for (int k = 0; k <= UNMEASURED; k++)
        if (tally[k])
            fprintf(f, "<b>%d</b> %s. ", tally[k],
                    k < UNMEASURED ? verdicts[k] : "not measured yet");
    fprintf(f, "</p>\n<table><tr><th>claim</th><th>verdict</th><th>what</th></tr>\n");
    for (int i = 0; i < count; i++) {
        bool measured = decide(wanted[i], l, o);
        fprintf(f, "<tr><td><a href=\"#%s\">%s</a></td><td>%s</td><td>", wanted[i]->id,
                wanted[i]->id, measured ? verdicts[o->verdict] : "not measured yet");
        svg_text(f, wanted[i]->title);
        fprintf(f, "</td></tr>\n");
    }
    fprintf(f, "</table>\n");
    for (int i = 0; i < count; i++) {
        bool measured = (l->spent = 0, decide(wanted[i], l, o));
        html_claim(f, wanted[i], l, o, measured);
    }
    fprintf(f, "</body></html>\n");
}

/* A cell: no bar, no line's end. */
static void markdown_cell(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '|') fputs("\\|", f);
        else if (*text == '<') fputs("&lt;", f);
        else fputc(*text == '\n' ? ' ' : *text, f);
    fputs(" | ", f);
}
static void markdown_report(FILE *f, lab *l, const claim *const *wanted, int count, outcome *o)
{
    int measured;
    double seconds;
    fprintf(f, "| claim | where | what | verdict | found | the paper's numbers | setting | CPU "
            "time |\n|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < count; i++) {
        const claim *c = wanted[i];
        bool known = (l->spent = 0, decide(c, l, o));
        fprintf(f, "| %s | ", c->id);
        markdown_cell(f, c->item);
        markdown_cell(f, c->title);
        markdown_cell(f, known ? verdicts[o->verdict] : "not measured yet");
        markdown_cell(f, known ? o->numbers : "");
        markdown_cell(f, c->paper);
        markdown_cell(f, c->measure ? c->setting : "");
        fprintf(f, "%.0f s |\n", l->spent);
    }
    lab_total(l, &measured, &seconds);
    fprintf(f, "\n%d measurements, which claims share, %.0f s of CPU time in all.\n", measured,
            seconds);
}
#endif
