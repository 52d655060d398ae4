/* Items on a grid, and two printers of them. */
#include "drawing.h"
#include "../common/svg.h"
#include <string.h>

static const char *const fills[] = {
    NULL, NULL, "#ffffff", "#e8e8e8", "#fff2b3", "#a8d1ff", "#a8e6b8", "#ffb3a8", "#e0c2ff",
    "#ffd199"
};

item *new_item(drawing *d, look how, int x, int y, const char *text)
{
    if (d->count < ITEMS_MAX) d->count++;
    item *i = &d->items[d->count - 1];
    memset(i, 0, sizeof *i);
    i->look = how;
    i->x = i->x2 = x;
    i->y = i->y2 = y;
    snprintf(i->text, sizeof i->text, "%.79s", text);       /* WIDE - 1 */
    if (y >= d->high) d->high = y + 1;
    return i;
}

void line(drawing *d, int x, int y, int x2, int y2)
{
    item *i = new_item(d, LOOK_LINE, x, y, "");
    i->x2 = x2;
    i->y2 = y2;
    if (y2 >= d->high) d->high = y2 + 1;
}

void word(drawing *d, int x, int y, const char *text)
{
    new_item(d, LOOK_WORD, x, y, text)->left = true;
}

/* -- as text ----------------------------------------------------------------------------------- */

typedef struct text_grid { char row[HIGH][WIDE + 1]; } text_grid;

static void put(text_grid *g, int x, int y, char c)
{
    if (x >= 0 && x < WIDE && y >= 0 && y < HIGH) g->row[y][x] = c;
}

/* Draws a line. A horizontal one ends in corners; a vertical one does not overwrite a corner. */
static void draw_line(text_grid *g, const item *i)
{
    if (i->y == i->y2) {
        for (int x = i->x; x <= i->x2; x++) put(g, x, i->y, '-');
        put(g, i->x, i->y, '+');
        put(g, i->x2, i->y, '+');
    }
    if (i->x != i->x2) return;
    for (int y = i->y; y <= i->y2; y++)
        if (y < HIGH && g->row[y][i->x] != '+') put(g, i->x, y, '|');
}

static void draw_box(text_grid *g, const item *i)
{
    const char *form = "[ %s ]";
    char text[WIDE + 4];
    if (i->look == LOOK_WORD) form = "%s";
    if (i->look == LOOK_SUM) form = "(%s)";
    const int n = snprintf(text, sizeof text, form, i->text);
    const int x = i->left ? i->x : i->x - n / 2;
    for (int k = 0; k < n; k++) put(g, x + k, i->y, text[k]);
}

void print_text(const drawing *d)
{
    static text_grid g;
    memset(&g, ' ', sizeof g);
    for (int k = 0; k < d->count; k++)
        if (d->items[k].look == LOOK_LINE) draw_line(&g, &d->items[k]);
    for (int k = 0; k < d->count; k++)
        if (d->items[k].look != LOOK_LINE) draw_box(&g, &d->items[k]);
    for (int y = 0; y < d->high; y++) {
        int n = WIDE;
        if (y == HIGH) break;
        for (; n > 0; n--)
            if (g.row[y][n - 1] != ' ') break;
        printf("%.*s\n", n, g.row[y]);
    }
}

/* -- as SVG ------------------------------------------------------------------------------------ */

enum { CELL = 9, ROW = 26, BOX = 20 };      /* pixels: a cell's width and height, a box's height */

/* A word. A centered one covers the page's color, because a line may be under it. */
static void svg_item_word(FILE *f, const item *i, double x, double y)
{
    const int n = (int)strlen(i->text);
    if (i->left) {
        svg_word(f, x - CELL / 2.0, y + 5, "start", i->text);
        return;
    }
    fprintf(f, "<rect class=\"vb\" x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\"/>\n",
            x - n * CELL / 2.0, y - ROW / 2.0, n * CELL, ROW);
    svg_word(f, x, y + 5, "middle", i->text);
}

/* A box or the circle of a sum; its text is dark on light in any color scheme. */
static void svg_item_box(FILE *f, const item *i, double x, double y)
{
    const int n = (int)strlen(i->text);
    if (i->left) x -= CELL / 2.0;
    if (i->look == LOOK_SUM)
        fprintf(f, "<circle cx=\"%g\" cy=\"%g\" r=\"9\" fill=\"#fff\" stroke=\"#555\"/>\n", x, y);
    else
        fprintf(f, "<rect x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" "
                "stroke=\"#555\"/>\n", x - (n + 2) * CELL / 2.0, y - BOX / 2.0, (n + 2) * CELL, BOX,
                fills[i->look]);
    fprintf(f, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">", x, y + 5);
    svg_text(f, i->text);
    fprintf(f, "</text>\n");
}

static void svg_item(FILE *f, const item *i)
{
    const double x = (i->x + 0.5) * CELL;
    const double y = (i->y + 0.5) * ROW;
    if (i->look == LOOK_LINE) svg_rule(f, "va", x, y, (i->x2 + 0.5) * CELL, (i->y2 + 0.5) * ROW);
    else if (i->look == LOOK_WORD) svg_item_word(f, i, x, y);
    else svg_item_box(f, i, x, y);
}

void print_svg(FILE *f, const drawing *d, int wide, const char *title)
{
    svg_begin(f, wide * CELL, (d->high + 1) * ROW, title);
    fprintf(f, "<g font-family=\"monospace\" font-size=\"14\">\n");
    for (int k = 0; k < d->count; k++)
        if (d->items[k].look == LOOK_LINE) svg_item(f, &d->items[k]);
    for (int k = 0; k < d->count; k++)
        if (d->items[k].look != LOOK_LINE) svg_item(f, &d->items[k]);
    fprintf(f, "</g>\n");
    svg_end(f);
}
