/* Pictures: styles and axes first, then curves, bars, heat maps, and plots as text. */
#include "svg.h"
#include <math.h>
#include <string.h>

/* -- text and style -------------------------------------------------------------------------- */

/* Bytes of a UTF-8 character, from its first byte; 0: not a first byte. */
static int svg_announced(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first < 0xe0) return 2;
    if (first >= 0xe0 && first < 0xf0) return 3;
    if (first >= 0xf0 && first < 0xf5) return 4;
    return 0;
}

int svg_character(const unsigned char *s)
{
    const int bytes = svg_announced(s[0]);
    long v = s[0];
    if (bytes > 1) v &= 0x7f >> bytes;
    for (int i = 1; i < bytes; i++) {
        if (s[i] >> 6 != 2) return 0;
        v = v << 6 | (s[i] & 0x3f);
    }
    if (bytes == 3 && (v < 0x800 || (v >= 0xd800 && v < 0xe000) || v >= 0xfffe)) return 0;
    if (bytes == 4 && (v < 0x10000 || v > 0x10ffff)) return 0;
    return bytes;
}

size_t svg_put(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    const size_t bytes = (size_t)svg_character(s);
    if (*s == '<') fputs("&lt;", f);
    else if (*s == '>') fputs("&gt;", f);
    else if (*s == '&') fputs("&amp;", f);
    else if (*s == '"') fputs("&quot;", f);
    else if (*s < ' ' || !bytes) fputc(' ', f);
    else fwrite(s, 1, bytes, f);
    if (!bytes) return 1;
    return bytes;
}
void svg_text(FILE *f, const char *text)
{
    while (*text) text += svg_put(f, text);
}
static const struct {
    const char *light, *dark, *dash, *marker, *hatch;
    char symbol;                    /* in plots as text */
} svg_styles[SVG_STYLES] = {
    { "#0072b2", "#3d9bd9", "none", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "", 'o' },
    { "#d55e00", "#f07f3c", "8 3", "M-3.5 -3.5h7v7h-7z", "M0 8L8 0", '#' },
    { "#009e73", "#2bc49a", "2 2.5", "M0 -4.5L4.5 3.5H-4.5z", "M0 0L8 8", '^' },
    { "#cc79a7", "#e29ac4", "8 3 2 3", "M0 -5L5 0L0 5L-5 0z", "M0 4H8", '*' },
    { "#e69f00", "#f2b63c", "14 4", "M0 4.5L4.5 -3.5H-4.5z", "M4 0V8", 'v' },
    { "#56b4e9", "#8accf2", "5 2 2 2 2 2", "M-4 -4L4 4M-4 4L4 -4", "M0 8L8 0M0 0L8 8", 'x' },
    { "#000000", "#ffffff", "4 4", "M-5 0H5M0 -5V5", "M0 4H8M4 0V8", '+' },
    { "#8c8200", "#f0e442", "1 4", "M-4 -4V4H4", "M0 2H8M0 6H8", '%' }
};

/* The classes: vb has the color of the background, vt of text, va of axes, vg of the grid, vh of
 * hatches; l0 .. l7 are lines, m0 .. m7 markers and f0 .. f7 areas of the series. */
static void svg_series_style(FILE *f, int i, const char *color)
{
    const char *inside = color;
    if (i >= 5) inside = "none";            /* the last three markers are only strokes */
    fprintf(f, ".l%d{stroke:%s}.m%d{stroke:%s;fill:%s}.f%d{fill:%s}\n", i, color, i, color, inside,
            i, color);
}

static void svg_style(FILE *f)
{
    fprintf(f, "<style>\n.vb{fill:#fff}.vt{fill:#1a1a1a}.va{stroke:#444;fill:none}"
            ".vg{stroke:#e2e2e2}\n.vh{stroke:#fff}\n");
    for (int i = 0; i < SVG_STYLES; i++) svg_series_style(f, i, svg_styles[i].light);
    fprintf(f, "@media (prefers-color-scheme: dark) {\n.vb{fill:#14161a}.vt{fill:#e6e6e6}"
            ".va{stroke:#aaa;fill:none}.vg{stroke:#33373d}\n.vh{stroke:#14161a}\n");
    for (int i = 0; i < SVG_STYLES; i++) svg_series_style(f, i, svg_styles[i].dark);
    fprintf(f, "}\n</style>\n");
}

void svg_begin(FILE *f, int width, int height, const char *title)
{
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n<title>", width, height,
            width, height);
    if (title) svg_text(f, title);
    fprintf(f, "</title>\n");
    svg_style(f);
    fprintf(f, "<rect class=\"vb\" width=\"100%%\" height=\"100%%\"/>\n");
}

void svg_end(FILE *f) { fprintf(f, "</svg>\n"); }

void svg_word(FILE *f, double x, double y, const char *anchor, const char *text)
{
    if (!text) return;
    fprintf(f, "<text class=\"vt\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    while (*text) {
        const bool square = !strncmp(text, "^2", 2) && !strspn(text + 2, ".0123456789");
        if (square) fputs("&#178;", f);
        text += square ? 2 : svg_put(f, text);
    }
    fprintf(f, "</text>\n");
}
void svg_rule(FILE *f, const char *style, double x, double y, double x2, double y2)
{
    fprintf(f, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", style, x, y, x2, y2);
}

/* -- axes ------------------------------------------------------------------------------------ */

static bool svg_fits(const svg_axis *a, double v)
{
    return v > -HUGE_VAL && v < HUGE_VAL && (!a->log || v > 0);
}

double svg_place(const svg_axis *a, double v)
{
    double part = (v - a->min) / (a->max - a->min);
    if (a->log) part = log(v / a->min) / log(a->max / a->min);
    return a->from + (a->to - a->from) * part;
}

double svg_125(int i)
{
    static const double one[] = { 1, 2, 5 };
    int decade = i / 3;
    if (i < 0) decade = -((2 - i) / 3);
    return one[i - 3*decade] * pow(10, decade);
}

int svg_below(double v)
{
    int i = 3 * (int)floor(log10(v)) - 3;
    while (svg_125(i + 1) <= v * (1 + 1e-9)) i++;
    return i;
}

static void svg_tick(svg_axis *a, double v)
{
    if (a->ticks < SVG_TICKS) a->tick[a->ticks++] = v;
}

/* Ticks at 1, 2, 5 times powers of ten. If these are too many, only at some powers of ten. */
static void svg_scale_log(svg_axis *a, double low, double high, int wanted)
{
    int first = svg_below(low);
    int last = svg_below(high);
    int every = 1;
    if (svg_125(last) < high * (1 - 1e-9)) last++;
    a->min = svg_125(first);
    a->max = svg_125(last);
    if (last - first > wanted) {
        every = 3 * ((last - first) / 3 / wanted + 1);
        while (first % 3) first++;
    }
    for (int i = first; i <= last; i += every) svg_tick(a, svg_125(i));
}

/* Ticks at the multiples of 1, 2 or 5 times a power of ten. */
static void svg_scale_linear(svg_axis *a, double low, double high, int wanted)
{
    const double step = svg_125(svg_below((high - low) / wanted) + 1);
    const double begin = floor(low / step + 1e-9);
    const double end = ceil(high / step - 1e-9);
    for (double i = begin; i <= end + 0.5; i++) {
        if (a->ticks == SVG_TICKS) break;
        svg_tick(a, fabs(i) < 0.5 ? 0 : i * step);          /* no -0 */
    }
    a->min = begin * step;
    a->max = end * step;
}

void svg_scale(svg_axis *a, double low, double high, bool exact, int wanted)
{
    a->ticks = 0;
    if (!(low <= high)) {
        low = a->log ? 1 : 0;
        high = a->log ? 10 : 1;
    }
    if (low >= high && a->log) {
        low /= 2;
        high *= 2;
    }
    if (low >= high) {
        low -= fabs(low) / 2 + 0.5 * (low == 0);
        high += fabs(high) / 2 + (high == 0);
    }
    if (a->log) svg_scale_log(a, low, high, wanted);
    else svg_scale_linear(a, low, high, wanted);
    if (exact) {
        a->min = low;
        a->max = high;
    }
}

/* -- the range of the data ------------------------------------------------------------------- */

typedef struct svg_limits { double low, high; } svg_limits;

static void svg_widen(svg_limits *r, const svg_axis *a, double v)
{
    if (!svg_fits(a, v)) return;
    if (v < r->low) r->low = v;
    if (v > r->high) r->high = v;
}

static svg_limits svg_range_x(const svg_axis *a, const svg_plot *p)
{
    svg_limits r = { HUGE_VAL, -HUGE_VAL };
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < p->curves[k].count; i++) svg_widen(&r, a, p->curves[k].x[i]);
    return r;
}

/* The range of the values and the bands around them. */
static svg_limits svg_range_y(const svg_axis *a, const svg_plot *p)
{
    svg_limits r = { HUGE_VAL, -HUGE_VAL };
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        for (int i = 0; i < c->count; i++) {
            svg_widen(&r, a, c->y[i]);
            if (c->low) svg_widen(&r, a, c->low[i]);
            if (c->high) svg_widen(&r, a, c->high[i]);
        }
    }
    return r;
}

/* The range that the plot asks for (min < max), or that of the data. */
static void svg_axis_between(svg_axis *a, svg_limits r, double min, double max, int wanted)
{
    if (min < max) svg_scale(a, min, max, true, wanted);
    else svg_scale(a, r.low, r.high, false, wanted);
}

static void svg_axis_x(svg_axis *a, const svg_plot *p, int wanted)
{
    a->log = p->log_x;
    svg_axis_between(a, svg_range_x(a, p), p->x_min, p->x_max, wanted);
}

/* The y axis; bars begin at 0. */
static void svg_axis_y(svg_axis *a, const svg_plot *p, bool bars, int wanted)
{
    a->log = p->log_y;
    svg_limits r = svg_range_y(a, p);
    if (bars && !a->log && r.low > 0) r.low = 0;
    if (bars && !a->log && r.high < 0) r.high = 0;
    svg_axis_between(a, r, p->y_min, p->y_max, wanted);
}

/* The position of v on an axis before scaling, and the inverse. */
static double svg_along(bool is_log, double v)
{
    if (is_log) return log(v);
    return v;
}
static double svg_back(bool is_log, double w)
{
    if (is_log) return exp(w);
    return w;
}

bool svg_fit(const svg_curve *c, bool log_x, bool log_y, double *slope, double *b)
{
    double n = 0;
    double sx = 0;
    double sy = 0;
    double sxx = 0;
    double sxy = 0;
    svg_axis ax, ay;
    ax.log = log_x;
    ay.log = log_y;
    for (int i = 0; i < c->count; i++) {
        if (!svg_fits(&ax, c->x[i]) || !svg_fits(&ay, c->y[i])) continue;
        const double x = svg_along(log_x, c->x[i]);
        const double y = svg_along(log_y, c->y[i]);
        n++;
        sx += x;
        sy += y;
        sxx += x*x;
        sxy += x*y;
    }
    if (n < 2 || !(n*sxx - sx*sx > 0)) return false;
    *slope = (n*sxy - sx*sy) / (n*sxx - sx*sx);
    *b = (sy - *slope * sx) / n;
    return true;
}

/* -- the frame of a plot --------------------------------------------------------------------- */

enum { SVG_LEGEND = 180, SVG_ENTRY = 20, SVG_DOTS = 12 };

/* The right end of the plot. After it comes a legend as wide as its longest name. */
static double svg_right(const svg_plot *p)
{
    double width = 24;
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        if (c->name || c->fit) width = fmax(width, SVG_LEGEND);
        if (c->name) width = fmax(width, 66 + 7.2 * (double)strlen(c->name));
    }
    return SVG_WIDTH - fmin(width, 2 * SVG_LEGEND);
}

static void svg_number(char *text, double v) { snprintf(text, 32, "%.6g", v); }

static void svg_titles(FILE *f, const char *title, const char *x_label, const char *y_label,
                       double right)
{
    double middle = (SVG_LEFT + right) / 2;
    if (title) {
        fprintf(f, "<g font-size=\"16\" font-weight=\"bold\">\n");
        svg_word(f, middle, 26, "middle", title);
        fprintf(f, "</g>\n");
    }
    svg_word(f, middle, SVG_BOTTOM + 42, "middle", x_label);
    if (!y_label) return;
    fprintf(f, "<g transform=\"translate(18 %d) rotate(-90)\">\n", (SVG_TOP + SVG_BOTTOM) / 2);
    svg_word(f, 0, 0, "middle", y_label);
    fprintf(f, "</g>\n");
}

/* Draws grid lines and numbers; across: the end of the lines of a y axis. */
static void svg_draw_axis(FILE *f, const svg_axis *a, bool y, double across)
{
    for (int i = 0; i < a->ticks; i++) {
        const double at = svg_place(a, a->tick[i]);
        char text[32];
        if (a->tick[i] < a->min || a->tick[i] > a->max) continue;
        svg_number(text, a->tick[i]);
        if (y) {
            svg_rule(f, "vg", SVG_LEFT, at, across, at);
            svg_word(f, SVG_LEFT - 8, at + 4.5, "end", text);
        } else {
            svg_rule(f, "vg", at, SVG_TOP, at, SVG_BOTTOM);
            svg_word(f, at, SVG_BOTTOM + 19, "middle", text);
        }
    }
}

static void svg_marker(FILE *f, int k, double x, double y)
{
    fprintf(f, "<path class=\"m%d\" stroke-width=\"1.5\" transform=\"translate(%.1f %.1f)\" "
            "d=\"%s\"/>\n", k % SVG_STYLES, x, y, svg_styles[k % SVG_STYLES].marker);
}

/* Draws a box in the series' color and hatch, for bars and their legend. */
static void svg_box(FILE *f, int k, double x, double y, double width, double height)
{
    for (int hatch = 0; hatch < 2; hatch++) {
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ", x, y, width,
                height);
        if (hatch) fprintf(f, "fill=\"url(#hatch%d)\"/>\n", k % SVG_STYLES);
        else fprintf(f, "class=\"f%d\"/>\n", k % SVG_STYLES);
    }
}

/* Draws the sample of a series: a piece of its bar, or of its line with a marker. */
static void svg_sample(FILE *f, const svg_curve *c, int k, bool bars, double x, double y)
{
    const int style = k % SVG_STYLES;
    if (bars) {
        svg_box(f, k, x, y - 6, 32, 12);
        return;
    }
    if (!c->points)
        fprintf(f, "<path class=\"l%d\" stroke-width=\"2\" stroke-dasharray=\"%s\" "
                "d=\"M%.1f %.1fh32\"/>\n", style, svg_styles[style].dash, x, y);
    svg_marker(f, k, x + 16, y);
}

static void svg_legend(FILE *f, const svg_plot *p, double x, bool bars)
{
    double y = SVG_TOP + 10;
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        double slope, b;
        char text[64];
        if (!c->name && !c->fit) continue;
        svg_sample(f, c, k, bars, x, y);
        svg_word(f, x + 40, y + 4.5, "start", c->name);
        if (c->name) y += SVG_ENTRY;
        if (bars || !c->fit || !svg_fit(c, p->log_x, p->log_y, &slope, &b)) continue;
        snprintf(text, sizeof text, "slope %.3g", slope);
        svg_word(f, x + 40, y + 2, "start", text);
        y += SVG_ENTRY;
    }
}

/* -- curves ---------------------------------------------------------------------------------- */

static bool svg_point(const svg_axis *x, const svg_axis *y, const svg_curve *c, int i)
{
    return svg_fits(x, c->x[i]) && svg_fits(y, c->y[i]);
}

/* True if point i has a band, too. */
static bool svg_banded(const svg_axis *x, const svg_axis *y, const svg_curve *c, int i)
{
    return svg_point(x, y, c, i) && svg_fits(y, c->low[i]) && svg_fits(y, c->high[i]);
}

/* Draws points from .. to-1 of a band: along its upper edge, then back along the lower. */
static void svg_stretch(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                        int k, int from, int to)
{
    if (to - from < 2) return;
    fprintf(f, "<path class=\"f%d\" fill-opacity=\"0.2\" d=\"", k % SVG_STYLES);
    for (int n = from; n < to; n++)
        fprintf(f, "%c%.1f %.1f", n > from ? 'L' : 'M', svg_place(x, c->x[n]),
                svg_place(y, c->high[n]));
    for (int n = to - 1; n >= from; n--)
        fprintf(f, "L%.1f %.1f", svg_place(x, c->x[n]), svg_place(y, c->low[n]));
    fprintf(f, "z\"/>\n");
}

/* Draws a closed path for each stretch without a gap. */
static void svg_band(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                     int k)
{
    int from = 0;
    if (!c->low || !c->high) return;
    for (int i = 0; i < c->count; i++) {
        if (svg_banded(x, y, c, i)) continue;
        svg_stretch(f, x, y, c, k, from, i);
        from = i + 1;
    }
    svg_stretch(f, x, y, c, k, from, c->count);
}

/* Draws a path with a gap at every missing point. */
static void svg_path(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                     int k)
{
    const int style = k % SVG_STYLES;
    bool pen = false;
    bool any = false;
    for (int i = 0; i < c->count; i++) any = any || svg_point(x, y, c, i);
    if (!any) return;
    fprintf(f, "<path class=\"l%d\" fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" "
            "stroke-dasharray=\"%s\" d=\"", style, svg_styles[style].dash);
    for (int i = 0; i < c->count; i++) {
        const bool good = svg_point(x, y, c, i);
        if (good)
            fprintf(f, "%c%.1f %.1f", pen ? 'L' : 'M', svg_place(x, c->x[i]),
                    svg_place(y, c->y[i]));
        pen = good;
    }
    fprintf(f, "\"/>\n");
}

/* Draws the path and about SVG_DOTS markers, which begin at a different point on each curve so that
 * they do not hide each other. A curve of points has a marker for each. */
static void svg_line(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                     int k)
{
    int every = (c->count + SVG_DOTS - 1) / SVG_DOTS;
    if (!c->points) svg_path(f, x, y, c, k);
    if (c->points || every < 1) every = 1;
    for (int i = k * every / 3 % every; i < c->count; i += every)
        if (svg_point(x, y, c, i)) svg_marker(f, k, svg_place(x, c->x[i]), svg_place(y, c->y[i]));
}

/* The fitted line at v. */
static double svg_fitted_at(const svg_axis *x, const svg_axis *y, double slope, double b,
                            double v)
{
    return svg_back(y->log, b + slope * svg_along(x->log, v));
}

static void svg_fitted(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                       int k)
{
    double slope, b;
    if (!c->fit || !svg_fit(c, x->log, y->log, &slope, &b)) return;
    fprintf(f, "<path class=\"l%d\" stroke-opacity=\"0.7\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
            k % SVG_STYLES, svg_place(x, x->min),
            svg_place(y, svg_fitted_at(x, y, slope, b, x->min)), svg_place(x, x->max),
            svg_place(y, svg_fitted_at(x, y, slope, b, x->max)));
}

void svg_curves(FILE *f, const svg_plot *p)
{
    const double right = svg_right(p);
    svg_axis x, y;
    svg_axis_x(&x, p, 7);
    svg_axis_y(&y, p, false, 6);
    x.from = SVG_LEFT;
    x.to = right;
    y.from = SVG_BOTTOM;
    y.to = SVG_TOP;
    svg_begin(f, SVG_WIDTH, SVG_HEIGHT, p->title);
    svg_titles(f, p->title, p->x_label, p->y_label, right);
    svg_draw_axis(f, &x, false, right);
    svg_draw_axis(f, &y, true, right);
    fprintf(f, "<path class=\"va\" d=\"M%d %dV%dH%.1f\"/>\n", SVG_LEFT, SVG_TOP, SVG_BOTTOM, right);
    /* an inner picture clips the curves; markers may touch its edge */
    fprintf(f, "<svg x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" viewBox=\"%d %d %.1f %d\">\n",
            SVG_LEFT - 6, SVG_TOP - 6, right - SVG_LEFT + 12, SVG_BOTTOM - SVG_TOP + 12,
            SVG_LEFT - 6, SVG_TOP - 6, right - SVG_LEFT + 12, SVG_BOTTOM - SVG_TOP + 12);
    for (int k = 0; k < p->count; k++) svg_band(f, &x, &y, &p->curves[k], k);
    for (int k = 0; k < p->count; k++) svg_fitted(f, &x, &y, &p->curves[k], k);
    for (int k = 0; k < p->count; k++) svg_line(f, &x, &y, &p->curves[k], k);
    fprintf(f, "</svg>\n");
    svg_legend(f, p, right + 14, false);
    svg_end(f);
}

/* -- bars ------------------------------------------------------------------------------------ */

static int svg_groups(const svg_plot *p)
{
    int most = 0;
    for (int k = 0; k < p->count; k++)
        if (p->curves[k].count > most) most = p->curves[k].count;
    return most;
}

/* The label of group i; if it has none, its number, written to `text`. */
static const char *svg_group(const char *const *labels, int i, char *text)
{
    snprintf(text, 32, "%d", i + 1);
    return labels ? labels[i] : text;
}

/* The base of bars: 0, or the end of the axis that is nearer to it. */
static double svg_zero(const svg_axis *y)
{
    if (y->log || y->min > 0) return svg_place(y, y->min);
    return svg_place(y, fmin(y->max, 0));
}

static void svg_bar(FILE *f, const svg_axis *y, const svg_curve *c, int k, int i, double x,
                    double width)
{
    const double zero = svg_zero(y);
    if (i >= c->count || !svg_fits(y, c->y[i])) return;
    const double top = svg_place(y, c->y[i]);
    svg_box(f, k, x, fmin(top, zero), width, fabs(top - zero));
    if (!c->low || !c->high || !svg_fits(y, c->low[i]) || !svg_fits(y, c->high[i])) return;
    svg_rule(f, "va", x + width / 2, svg_place(y, c->low[i]), x + width / 2,
             svg_place(y, c->high[i]));
}

static void svg_hatches(FILE *f)
{
    fprintf(f, "<defs>\n");
    for (int k = 0; k < SVG_STYLES; k++)
        fprintf(f, "<pattern id=\"hatch%d\" width=\"8\" height=\"8\" "
                "patternUnits=\"userSpaceOnUse\">"
                "<path class=\"vh\" stroke-width=\"1.6\" d=\"M0 0%s\"/></pattern>\n", k,
                svg_styles[k].hatch);
    fprintf(f, "</defs>\n");
}

void svg_bars(FILE *f, const svg_plot *p)
{
    const double right = svg_right(p);
    const int groups = svg_groups(p);
    const int every = groups / 25 + 1;                  /* labels that do not overlap */
    const double step = (right - SVG_LEFT) / fmax(groups, 1);
    const double width = step * 0.8 / fmax(p->count, 1);
    svg_axis y;
    svg_axis_y(&y, p, true, 6);
    y.from = SVG_BOTTOM;
    y.to = SVG_TOP;
    svg_begin(f, SVG_WIDTH, SVG_HEIGHT, p->title);
    svg_hatches(f);
    svg_titles(f, p->title, p->x_label, p->y_label, right);
    svg_draw_axis(f, &y, true, right);
    for (int i = 0; i < groups; i++) {
        const double x = SVG_LEFT + step * i;
        char text[32];
        for (int k = 0; k < p->count; k++)
            svg_bar(f, &y, &p->curves[k], k, i, x + step * 0.1 + width * k, width);
        if (i % every == 0)
            svg_word(f, x + step / 2, SVG_BOTTOM + 19, "middle", svg_group(p->labels, i, text));
    }
    fprintf(f, "<path class=\"va\" d=\"M%d %dV%dH%.1f\"/>\n", SVG_LEFT, SVG_TOP, SVG_BOTTOM, right);
    svg_legend(f, p, right + 14, true);
    svg_end(f);
}

/* -- heat maps ------------------------------------------------------------------------------- */

/* cividis (Nunez 2018) at five points; t from 0 to 1 */
static void svg_color(char *text, double t)
{
    static const int at[5][3] = { { 0, 32, 77 }, { 65, 77, 107 }, { 124, 123, 120 },
                                  { 188, 175, 111 }, { 255, 234, 70 } };
    unsigned c[3];
    t = fmin(fmax(t, 0), 1);
    const int i = t < 1 ? (int)(4 * t) : 3;
    for (int k = 0; k < 3; k++)
        c[k] = (unsigned)(int)(at[i][k] + (at[i + 1][k] - at[i][k]) * (4*t - i) + 0.5);
    snprintf(text, 32, "#%02x%02x%02x", c[0], c[1], c[2]);
}

/* Draws a value in the color of t, and as a number if there is room; NaN and infinity as a
 * cross. */
static void svg_cell(FILE *f, double v, double t, double x, double y, double width,
                     double height)
{
    char color[32], text[32];
    if (!(fabs(v) < HUGE_VAL)) {
        fprintf(f, "<path class=\"va\" d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/>\n", x, y,
                width, height, -height, -width, height);
        return;
    }
    svg_color(color, t);
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y,
            width + 0.4, height + 0.4, color);         /* no gaps between them */
    if (width < 38 || height < 16) return;
    const char *ink = t > 0.5 ? "#000" : "#fff";
    snprintf(text, sizeof text, "%.3g", v);
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n",
            x + width / 2, y + height / 2 + 4.5, ink, text);
}

/* The axis of the colors: the range that the map asks for (min < max), or that of its values. */
static svg_axis svg_heat_axis(const svg_heat_map *h)
{
    svg_limits r = { HUGE_VAL, -HUGE_VAL };
    svg_axis key;
    key.log = false;
    for (int i = 0; i < h->rows * h->cols; i++) svg_widen(&r, &key, h->values[i]);
    if (h->min < h->max) {
        r.low = h->min;
        r.high = h->max;
    }
    svg_scale(&key, r.low, r.high, r.low < r.high, 5);
    key.from = SVG_BOTTOM;
    key.to = SVG_TOP;
    return key;
}

/* Draws the scale of the colors, to the right of the map. */
static void svg_heat_key(FILE *f, const svg_axis *key, double right)
{
    enum { CELLS = 64 };
    const double step = (SVG_BOTTOM - SVG_TOP) / (double)CELLS;
    char text[32];
    for (int i = CELLS - 1; i >= 0; i--)                    /* from the top down */
        svg_cell(f, 0, (i + 0.5) / CELLS, right + 24, SVG_BOTTOM - step * (i + 1), 18, step);
    for (int i = 0; i < key->ticks; i++) {
        if (key->tick[i] < key->min || key->tick[i] > key->max) continue;
        svg_number(text, key->tick[i]);
        svg_word(f, right + 48, svg_place(key, key->tick[i]) + 4.5, "start", text);
    }
}

void svg_heat(FILE *f, const svg_heat_map *h)
{
    const double right = SVG_WIDTH - 110;
    const int every_row = h->rows / 20 + 1;                 /* labels that do not overlap */
    const int every_col = h->cols / 20 + 1;
    const svg_axis key = svg_heat_axis(h);
    const double width = (right - SVG_LEFT) / fmax(h->cols, 1);
    const double height = (double)(SVG_BOTTOM - SVG_TOP) / fmax(h->rows, 1);
    char text[32];
    svg_begin(f, SVG_WIDTH, SVG_HEIGHT, h->title);
    svg_titles(f, h->title, h->x_label, h->y_label, right);
    for (int i = 0; i < h->rows * h->cols; i++) {
        const double v = h->values[i];
        const double t = (v - key.min) / (key.max - key.min);
        const int row = i / h->cols;
        svg_cell(f, v, t, SVG_LEFT + width * (i % h->cols), SVG_TOP + height * row, width, height);
    }
    for (int i = 0; i < h->rows; i += every_row)
        svg_word(f, SVG_LEFT - 8, SVG_TOP + height * (i + 0.5) + 4.5, "end",
                 svg_group(h->row_labels, i, text));
    for (int i = 0; i < h->cols; i += every_col)
        svg_word(f, SVG_LEFT + width * (i + 0.5), SVG_BOTTOM + 19, "middle",
                 svg_group(h->col_labels, i, text));
    svg_heat_key(f, &key, right);
    svg_end(f);
}

/* -- text plots ------------------------------------------------------------------------------ */

enum { PLOT_COLUMNS = 80, PLOT_LEAST = 32, PLOT_LEFT = 10, PLOT_ROWS = 18 };

typedef struct plot_grid { char row[PLOT_ROWS][PLOT_COLUMNS + 1]; } plot_grid;

/* Columns of a plot: a narrow terminal's, or 80. */
static int plot_columns(const svg_plot *p)
{
    if (p->columns <= 0 || p->columns > PLOT_COLUMNS) return PLOT_COLUMNS;
    return p->columns < PLOT_LEAST ? PLOT_LEAST : p->columns;
}

static int plot_round(double v) { return (int)floor(v + 0.5); }

static void plot_put(plot_grid *g, const svg_axis *x, const svg_axis *y, double at, double v,
                     char symbol)
{
    const int column = plot_round(svg_place(x, at));
    const int row = plot_round(svg_place(y, v));
    if (column < PLOT_LEFT || column >= PLOT_COLUMNS) return;
    if (row >= 0 && row < PLOT_ROWS) g->row[row][column] = symbol;
}

/* The value at the part t of the way from a to b, in a straight line on the axis. */
static double plot_between(const svg_axis *axis, double a, double b, double t)
{
    if (axis->log) return a * pow(b / a, t);
    return a + (b - a) * t;
}

/* Draws points, and at each column the line between two of them. */
static void plot_curve(plot_grid *g, const svg_axis *x, const svg_axis *y,
                       const svg_curve *c, char symbol)
{
    for (int i = 0; i < c->count; i++) {
        if (!svg_point(x, y, c, i)) continue;
        plot_put(g, x, y, c->x[i], c->y[i], symbol);
        if (c->points || i + 1 == c->count || !svg_point(x, y, c, i + 1)) continue;
        for (int k = 1; k < PLOT_COLUMNS; k++) {
            const double t = (double)k / PLOT_COLUMNS;
            plot_put(g, x, y, plot_between(x, c->x[i], c->x[i + 1], t),
                     plot_between(y, c->y[i], c->y[i + 1], t), symbol);
        }
    }
}

static void plot_legend(FILE *f, const svg_plot *p)
{
    const int room = plot_columns(p) - PLOT_LEFT - 2;
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        double slope, b;
        if (!c->name) continue;
        fprintf(f, "%*c %.*s", PLOT_LEFT + 1, svg_styles[k % SVG_STYLES].symbol,
                room < 60 ? room : 60, c->name);
        if (c->fit && svg_fit(c, p->log_x, p->log_y, &slope, &b)) fprintf(f, " (%.3g)", slope);
        fprintf(f, "\n");
    }
}

/* Draws the numbers to the left of the grid, each with at most eight characters. */
static void plot_y_ticks(plot_grid *g, const svg_axis *y)
{
    char text[32];
    for (int i = 0; i < y->ticks; i++) {
        const int row = plot_round(svg_place(y, y->tick[i]));
        if (row < 0 || row >= PLOT_ROWS) continue;
        svg_number(text, y->tick[i]);
        const size_t n = strlen(text) % 9;
        memcpy(g->row[row] + PLOT_LEFT - 2 - n, text, n);
        g->row[row][PLOT_LEFT - 1] = '+';
    }
}

/* Draws the line below the grid. A number that would extend past its end moves to the left. */
static void plot_x_ticks(char *under, const svg_axis *x, int columns)
{
    char text[32];
    memset(under, ' ', PLOT_COLUMNS);
    for (int i = 0; i < x->ticks; i++) {
        int at = plot_round(svg_place(x, x->tick[i]));
        svg_number(text, x->tick[i]);
        const int n = (int)strlen(text);
        if (at < PLOT_LEFT || at >= columns) continue;
        if (at + n > columns) at = columns - n;
        memcpy(under + at, text, (size_t)n);
    }
}

static void plot_rows_of(FILE *f, plot_grid *g, int columns)
{
    for (int row = 0; row < PLOT_ROWS; row++) {
        char *line = g->row[row];
        int n = columns;
        if (line[PLOT_LEFT - 1] == ' ') line[PLOT_LEFT - 1] = '|';
        while (line[n - 1] == ' ') n--;
        fprintf(f, "%.*s\n", n, line);
    }
    fprintf(f, "%*s+", PLOT_LEFT - 1, "");
    for (int i = PLOT_LEFT; i < columns; i++) fputc('-', f);
}

/* A line of text above or below the grid. */
static void plot_words(FILE *f, const char *words, int columns)
{
    if (words) fprintf(f, "%*s%.*s\n", PLOT_LEFT, "", columns - PLOT_LEFT, words);
}

void plot_curves(FILE *f, const svg_plot *p)
{
    plot_grid g;
    char under[PLOT_COLUMNS];
    svg_axis x, y;
    const int columns = plot_columns(p);
    svg_axis_x(&x, p, columns < 60 ? 3 : 6);
    svg_axis_y(&y, p, false, 5);
    x.from = PLOT_LEFT;
    x.to = columns - 1;
    y.from = PLOT_ROWS - 1;
    y.to = 0;
    memset(&g, ' ', sizeof g);
    for (int k = 0; k < p->count; k++)
        plot_curve(&g, &x, &y, &p->curves[k], svg_styles[k % SVG_STYLES].symbol);
    plot_y_ticks(&g, &y);
    plot_x_ticks(under, &x, columns);
    plot_words(f, p->title, columns);
    plot_words(f, p->y_label, columns);
    plot_rows_of(f, &g, columns);
    fprintf(f, "\n%.*s\n", columns, under);
    plot_words(f, p->x_label, columns);
    plot_legend(f, p);
}

/* The largest absolute value of all bars. */
static double plot_most(const svg_plot *p)
{
    double most = 0;
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < p->curves[k].count; i++) {
            const double v = fabs(p->curves[k].y[i]);
            if (v < HUGE_VAL && v > most) most = v;
        }
    return most;
}

/* The width of the longest label in columns, at most 24. */
static int plot_label_width(const svg_plot *p)
{
    int wide = 1;
    char text[32];
    for (int i = 0; i < svg_groups(p); i++) {
        const int n = (int)strlen(svg_group(p->labels, i, text));
        if (n > wide) wide = n;
    }
    return wide < 24 ? wide : 24;
}

/* Draws a bar; the largest value has `most` columns, and a negative one is drawn with '-'. */
static void plot_bar(FILE *f, double v, double largest, int most, char symbol)
{
    int n = 0;
    if (fabs(v) < HUGE_VAL && largest > 0) n = (int)(fabs(v) / largest * most + 0.5);
    if (v < 0) symbol = '-';
    for (int j = 0; j < n; j++) fputc(symbol, f);
    fprintf(f, " %.4g\n", v);
}

void plot_bars(FILE *f, const svg_plot *p)
{
    const int groups = svg_groups(p);
    const int wide = plot_label_width(p);
    const double most = plot_most(p);
    if (p->title) fprintf(f, "%.*s\n", plot_columns(p) - 1, p->title);
    for (int i = 0; i < groups; i++)
        for (int k = 0; k < p->count; k++) {
            const svg_curve *c = &p->curves[k];
            const char symbol = p->count > 1 ? svg_styles[k % SVG_STYLES].symbol : '#';
            char text[32] = "";
            const char *label = "";
            if (i >= c->count) continue;
            if (k == 0) label = svg_group(p->labels, i, text);
            fprintf(f, "%*.*s |", wide, wide, label);
            plot_bar(f, c->y[i], most, plot_columns(p) - wide - 16, symbol);
        }
    if (p->count > 1) plot_legend(f, p);
}
