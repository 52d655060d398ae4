/* Boxes, lines and words on a grid of cells, printed as text or as SVG. */
#ifndef DRAWING_H
#define DRAWING_H

#include <stdbool.h>
#include <stdio.h>

enum { WIDE = 80, HIGH = 400, ITEMS_MAX = 1200 };       /* cells of the grid; items of a drawing */

typedef enum look {                 /* the kind of a box: its colors in SVG */
    LOOK_WORD, LOOK_LINE, LOOK_SUM, LOOK_PLAIN, LOOK_SCALE,
    LOOK_IN, LOOK_BRANCH, LOOK_AFTER, LOOK_INNER, LOOK_FINAL
} look;

/* Words and boxes: centered on x, or from x on if `left`. Lines: from (x, y) to (x2, y2). */
typedef struct item { look look; int x, y, x2, y2; bool left; char text[WIDE]; } item;

typedef struct drawing {
    int  count, high, rail;         /* rail: the last row that the layer's input reaches */
    item items[ITEMS_MAX];
} drawing;

/* A new item. When the drawing is full, it overwrites the last one. */
item *new_item(drawing *d, look how, int x, int y, const char *text);

/* A line from left to right, or downwards. */
void line(drawing *d, int x, int y, int x2, int y2);

void word(drawing *d, int x, int y, const char *text);

/* -- as text ----------------------------------------------------------------------------------- */

/* Prints lines first, because boxes cover them. */
void print_text(const drawing *d);

/* -- as SVG ------------------------------------------------------------------------------------ */

/* Prints the first `wide` columns of the drawing. */
void print_svg(FILE *f, const drawing *d, int wide, const char *title);
#endif
