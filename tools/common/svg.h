/* Pictures of the tools, as SVG without a dependency or as text of up to 80 columns.
 *
 *     svg_curve curves[2] = { { "post", x, y, low, high, n }, { "pre", x, z, NULL, NULL, n } };
 *     svg_plot plot = { "Loss", "step", "nats", NULL, curves, 2 };
 *     svg_curves(f, &plot);           // lines, bands, fitted lines; svg_bars: a group per point
 *     plot_curves(stdout, &plot);     // the same as text; plot_bars
 *     svg_heat(f, &heat);             // a matrix
 *
 * Series differ in three ways: by the colors of Okabe and Ito, which the color-blind can
 * distinguish, by dashes or hatches, and by markers, so that black-and-white prints are legible.
 * Heat maps grow steadily lighter (cividis). The pictures follow the reader's choice of light or
 * dark. All write to a FILE; the caller checks it for errors. */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include <stdio.h>

typedef struct svg_curve {
    const char   *name;             /* for the legend; NULL: none */
    const double *x, *y;            /* NaN and infinity leave a gap; bars ignore x */
    const double *low, *high;       /* ends of a band or of whiskers; NULL: none */
    int           count;
    bool          fit;              /* also a straight line, with its slope in the legend */
    bool          points;           /* markers only */
} svg_curve;

typedef struct svg_plot {
    const char *title, *x_label, *y_label;
    const char *const *labels;      /* labels of groups of bars; NULL: 1, 2 ... */
    const svg_curve *curves;
    int    count;                   /* only eight look different */
    bool   log_x, log_y;            /* values <= 0 are gaps */
    double x_min, x_max, y_min, y_max;      /* min = max: from the data */
    int    columns;                 /* of a plot as text, 32 to 80; 0: 80 */
} svg_plot;

typedef struct svg_heat_map {
    const char *title, *x_label, *y_label;
    const char *const *row_labels, *const *col_labels;      /* NULL: 1, 2 ... */
    const double *values;           /* (rows, cols), row 0 on top; NaN and infinity: a cross */
    int    rows, cols;
    double min, max;                /* min = max: from the data */
} svg_heat_map;

/* -- text and style -------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at s, 1 to 4; 0: none that XML allows. Excludes incomplete and
 * overlong sequences, surrogates, U+FFFE, and numbers above U+10FFFF. */
int svg_character(const unsigned char *s);

/* Writes the character at `text` for XML and HTML; an invalid one becomes a space. Returns its
 * bytes. */
size_t svg_put(FILE *f, const char *text);
void svg_text(FILE *f, const char *text);

enum { SVG_STYLES = 8 };

/* Writes the beginning of a picture: size, title, style, background. svg_end ends it. */
void svg_begin(FILE *f, int width, int height, const char *title);

void svg_end(FILE *f);

/* anchor: start, middle, end; ^2 is a raised 2 */
void svg_word(FILE *f, double x, double y, const char *anchor, const char *text);
void svg_rule(FILE *f, const char *style, double x, double y, double x2, double y2);

/* -- axes ------------------------------------------------------------------------------------ */

enum { SVG_TICKS = 40 };
typedef struct svg_axis {
    double min, max, from, to;      /* min is drawn at `from`, max at `to` */
    bool   log;
    int    ticks;
    double tick[SVG_TICKS];
} svg_axis;

/* The place of v between `from` and `to`, as v or log v lies between min and max. */
double svg_place(const svg_axis *a, double v);

/* Number i of the sequence of 1, 2 and 5 times powers of ten; number 0 is 1. */
double svg_125(int i);

/* The index of the last of these that is not above v. */
int svg_below(double v);

/* Chooses about `wanted` ticks, and ends of the axis at round numbers around low and high; exact:
 * at low and high themselves. Without data (low > high) a default axis; a single value gets some
 * space around it. */
void svg_scale(svg_axis *a, double low, double high, bool exact, int wanted);

/* -- the range of the data ------------------------------------------------------------------- */

/* Fits y = exp(b) x^slope, b + slope*x and so on, by least squares on the axes' scales. */
bool svg_fit(const svg_curve *c, bool log_x, bool log_y, double *slope, double *b);

/* -- the frame of a plot --------------------------------------------------------------------- */

enum { SVG_WIDTH = 720, SVG_HEIGHT = 420, SVG_LEFT = 74, SVG_TOP = 44, SVG_BOTTOM = 362 };

/* -- curves ---------------------------------------------------------------------------------- */

void svg_curves(FILE *f, const svg_plot *p);

/* -- bars ------------------------------------------------------------------------------------ */

/* Draws a group for each point, with a bar for each curve. */
void svg_bars(FILE *f, const svg_plot *p);

/* -- heat maps ------------------------------------------------------------------------------- */

void svg_heat(FILE *f, const svg_heat_map *h);

/* -- text plots ------------------------------------------------------------------------------ */

void plot_curves(FILE *f, const svg_plot *p);

/* Draws bars as lines, one group below the other. */
void plot_bars(FILE *f, const svg_plot *p);
#endif
