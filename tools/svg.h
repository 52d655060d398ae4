/* Pictures of the tools, as SVG without a dependency or as text of 80 columns.
 *
 *     svg_curve curves[2] = { { "post", x, y, low, high, n }, { "pre", x, z, NULL, NULL, n } };
 *     svg_plot plot = { "Loss", "step", "nats", NULL, curves, 2 };
 *     svg_curves(f, &plot);           // lines, bands, fitted lines; svg_bars: a group per point
 *     plot_curves(stdout, &plot);     // the same as text; plot_bars
 *     svg_heat(f, &heat);             // a matrix
 *
 * Series are told apart thrice: by the colours of Okabe and Ito, which the colour-blind can
 * distinguish, by dashes or hatches, and by markers, so that black-and-white print is legible.
 * Heat maps grow lighter all the way (cividis). The pictures follow the reader's choice of light or
 * dark. All write to a FILE, whose errors the caller looks at. */
#ifndef SVG_H
#define SVG_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct svg_curve {
    const char   *name;             /* for the legend; NULL: none */
    const double *x, *y;            /* NaN and infinity leave a gap; bars do not look at x */
    const double *low, *high;       /* of a band or whiskers; NULL: none */
    int           count;
    bool          fit;              /* a straight line too, its slope in the legend */
    bool          points;           /* markers only */
} svg_curve;

typedef struct svg_plot {
    const char *title, *x_label, *y_label;
    const char *const *labels;      /* of bars' groups; NULL: 1, 2 ... */
    const svg_curve *curves;
    int    count;                   /* eight at most look different */
    bool   log_x, log_y;            /* values <= 0 are gaps */
    double x_min, x_max, y_min, y_max;      /* min = max: those of the data */
} svg_plot;

typedef struct svg_heat_map {
    const char *title, *x_label, *y_label;
    const char *const *row_labels, *const *col_labels;      /* NULL: 1, 2 ... */
    const double *values;           /* (rows, cols), row 0 on top; NaN and infinity: a cross */
    int    rows, cols;
    double min, max;                /* min = max: those of the data */
} svg_heat_map;

/* -- text and style -------------------------------------------------------------------------- */

/* Bytes of the character of UTF-8 that begins there, 1 to 4; 0: none does that XML allows. */
static inline int svg_character(const unsigned char *s)
{
    int bytes = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >> 4 == 14 ? 3
              : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    long v = s[0] & (bytes > 1 ? 0x7f >> bytes : 0x7f);
    for (int i = 1; i < bytes; i++) {
        if (s[i] >> 6 != 2) return 0;
        v = v << 6 | (s[i] & 0x3f);
    }
    if (bytes == 3 && (v < 0x800 || (v >= 0xd800 && v < 0xe000) || v >= 0xfffe)) return 0;
    if (bytes == 4 && (v < 0x10000 || v > 0x10ffff)) return 0;
    return bytes;
}
/* Any bytes as text of XML and HTML: what is no character there becomes a space. */
static inline void svg_text(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        int bytes = svg_character(s);
        if (*s == '<') fputs("&lt;", f);
        else if (*s == '>') fputs("&gt;", f);
        else if (*s == '&') fputs("&amp;", f);
        else if (*s == '"') fputs("&quot;", f);
        else if (*s < ' ' || !bytes) fputc(' ', f);
        else fwrite(s, 1, (size_t)bytes, f);
        s += bytes ? bytes : 1;
    }
}

enum { SVG_STYLES = 8 };
static const struct {
    const char *light, *dark, *dash, *marker, *hatch;
    char symbol;                    /* in text */
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

/* The beginning of every picture: size, title, style, background. Classes: vb what has the colour
 * of the background, vt text, va axes, vg the grid, vh hatches; l0 .. l7 lines, m0 .. m7 markers
 * and f0 .. f7 areas of the series. svg_end is its end. */
static inline void svg_begin(FILE *f, int width, int height, const char *title)
{
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n<title>", width, height,
            width, height);
    svg_text(f, title ? title : "");
    fprintf(f, "</title>\n<style>\n");
    for (int dark = 0; dark < 2; dark++) {
        if (dark) fprintf(f, "@media (prefers-color-scheme: dark) {\n");
        fprintf(f, ".vb{fill:%s}.vt{fill:%s}.va{stroke:%s;fill:none}.vg{stroke:%s}\n",
                dark ? "#14161a" : "#fff", dark ? "#e6e6e6" : "#1a1a1a", dark ? "#aaa" : "#444",
                dark ? "#33373d" : "#e2e2e2");
        fprintf(f, ".vh{stroke:%s}\n", dark ? "#14161a" : "#fff");
        for (int i = 0; i < SVG_STYLES; i++) {
            const char *colour = dark ? svg_styles[i].dark : svg_styles[i].light;
            fprintf(f, ".l%d{stroke:%s}.m%d{stroke:%s;fill:%s}.f%d{fill:%s}\n", i, colour, i,
                    colour, i < 5 ? colour : "none", i, colour);
        }
        if (dark) fprintf(f, "}\n");
    }
    fprintf(f, "</style>\n<rect class=\"vb\" width=\"100%%\" height=\"100%%\"/>\n");
}
static inline void svg_end(FILE *f) { fprintf(f, "</svg>\n"); }

/* anchor: start, middle, end */
static inline void svg_word(FILE *f, double x, double y, const char *anchor, const char *text)
{
    if (!text) return;
    fprintf(f, "<text class=\"vt\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    svg_text(f, text);
    fprintf(f, "</text>\n");
}
static inline void svg_rule(FILE *f, const char *style, double x, double y, double x2, double y2)
{
    fprintf(f, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", style, x, y, x2, y2);
}

/* -- axes ------------------------------------------------------------------------------------ */

enum { SVG_TICKS = 40 };
typedef struct svg_axis {
    double min, max, from, to;      /* min is drawn at `from`, max at `to` */
    bool   log;
    int    ticks;
    double tick[SVG_TICKS];
} svg_axis;

static inline bool svg_fits(const svg_axis *a, double v)
{
    return v > -HUGE_VAL && v < HUGE_VAL && (!a->log || v > 0);
}
static inline double svg_place(const svg_axis *a, double v)
{
    double part = a->log ? log(v / a->min) / log(a->max / a->min)
                : (v - a->min) / (a->max - a->min);
    return a->from + (a->to - a->from) * part;
}

/* 1, 2 or 5 times a power of ten: number i of them all, 0 for 1; decades too many are left out. */
static inline double svg_125(int i)
{
    static const double one[] = { 1, 2, 5 };
    int decade = i >= 0 ? i / 3 : -((2 - i) / 3);
    return one[i - 3*decade] * pow(10, decade);
}
static inline int svg_below(double v)           /* the number of the last that is not above v */
{
    int i = 3 * (int)floor(log10(v)) - 3;
    while (svg_125(i + 1) <= v * (1 + 1e-9)) i++;
    return i;
}

/* Ticks at 1, 2, 5 times powers of ten, about `wanted` of them, and ends at such numbers around low
 * and high; exact: ends at low and high themselves. */
static inline void svg_scale(svg_axis *a, double low, double high, bool exact, int wanted)
{
    int first, last, every = 1;
    a->ticks = 0;
    if (!(low <= high)) low = a->log ? 1 : 0, high = a->log ? 10 : 1;           /* no data */
    if (low >= high && a->log) low /= 2, high *= 2;
    if (low >= high) low -= fabs(low) / 2 + 0.5 * (low == 0), high += fabs(high) / 2 + (high == 0);
    if (a->log) {
        first = svg_below(low), last = svg_below(high);
        if (svg_125(last) < high * (1 - 1e-9)) last++;
        a->min = svg_125(first), a->max = svg_125(last);
        if (last - first > wanted) {                    /* powers of ten alone */
            every = 3 * ((last - first) / 3 / wanted + 1);
            while (first % 3) first++;
        }
        for (int i = first; i <= last && a->ticks < SVG_TICKS; i += every)
            a->tick[a->ticks++] = svg_125(i);
    } else {
        double step = svg_125(svg_below((high - low) / wanted) + 1);
        double begin = floor(low / step + 1e-9), end = ceil(high / step - 1e-9);
        for (double i = begin; i <= end + 0.5 && a->ticks < SVG_TICKS; i++)
            a->tick[a->ticks++] = fabs(i) < 0.5 ? 0 : i * step;
        a->min = begin * step, a->max = end * step;
    }
    if (exact) a->min = low, a->max = high;
}

/* The range of what is drawn along y (else x) over all curves. */
static inline void svg_range(svg_axis *a, const svg_plot *p, bool y, double *low, double *high)
{
    *low = HUGE_VAL, *high = -HUGE_VAL;
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < p->curves[k].count; i++) {
            const svg_curve *c = &p->curves[k];
            double v[3];
            v[0] = y ? c->y[i] : c->x[i];
            v[1] = y && c->low ? c->low[i] : v[0], v[2] = y && c->high ? c->high[i] : v[0];
            for (int j = 0; j < 3; j++) {
                if (svg_fits(a, v[j]) && v[j] < *low) *low = v[j];
                if (svg_fits(a, v[j]) && v[j] > *high) *high = v[j];
            }
        }
}
static inline void svg_axis_of(svg_axis *a, const svg_plot *p, bool y, bool bars, int wanted)
{
    double low, high, min = y ? p->y_min : p->x_min, max = y ? p->y_max : p->x_max;
    a->log = y ? p->log_y : p->log_x;
    svg_range(a, p, y, &low, &high);
    if (bars && !a->log && low > 0) low = 0;
    if (bars && !a->log && high < 0) high = 0;
    if (min < max) low = min, high = max;
    svg_scale(a, low, high, min < max, wanted);
}

/* y = exp(b) x^slope, b + slope*x and so on, by least squares on the axes' scales. */
static inline bool svg_fit(const svg_curve *c, bool log_x, bool log_y, double *slope, double *b)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    svg_axis ax, ay;
    ax.log = log_x, ay.log = log_y;
    for (int i = 0; i < c->count; i++) {
        double x, y;
        if (!svg_fits(&ax, c->x[i]) || !svg_fits(&ay, c->y[i])) continue;
        x = log_x ? log(c->x[i]) : c->x[i], y = log_y ? log(c->y[i]) : c->y[i];
        n++, sx += x, sy += y, sxx += x*x, sxy += x*y;
    }
    if (n < 2 || !(n*sxx - sx*sx > 0)) return false;
    *slope = (n*sxy - sx*sy) / (n*sxx - sx*sx);
    *b = (sy - *slope * sx) / n;
    return true;
}

/* -- the frame of a plot --------------------------------------------------------------------- */

enum { SVG_WIDTH = 720, SVG_HEIGHT = 420, SVG_LEFT = 74, SVG_TOP = 44, SVG_BOTTOM = 362 };
enum { SVG_LEGEND = 180, SVG_ENTRY = 20, SVG_DOTS = 12 };

/* Where the plot ends: a legend stands behind it, as wide as its longest name. */
static inline double svg_right(const svg_plot *p)
{
    double width = 24;
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        const double name = c->name ? 66 + 7.2 * (double)strlen(c->name) : 0;
        if (c->name || c->fit) width = fmax(width, fmax(SVG_LEGEND, name));
    }
    return SVG_WIDTH - fmin(width, 2 * SVG_LEGEND);
}

static inline void svg_number(char *text, double v) { snprintf(text, 32, "%.6g", v); }

static inline void svg_titles(FILE *f, const char *title, const char *x_label, const char *y_label,
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

static inline void svg_draw_axis(FILE *f, const svg_axis *a, bool y, double across)
{
    for (int i = 0; i < a->ticks; i++) {
        double at = svg_place(a, a->tick[i]);
        char text[32];
        if (a->tick[i] < a->min || a->tick[i] > a->max) continue;
        svg_number(text, a->tick[i]);
        if (y) svg_rule(f, "vg", SVG_LEFT, at, across, at);
        else svg_rule(f, "vg", at, SVG_TOP, at, SVG_BOTTOM);
        if (y) svg_word(f, SVG_LEFT - 8, at + 4.5, "end", text);
        else svg_word(f, at, SVG_BOTTOM + 19, "middle", text);
    }
}

static inline void svg_marker(FILE *f, int k, double x, double y)
{
    fprintf(f, "<path class=\"m%d\" stroke-width=\"1.5\" transform=\"translate(%.1f %.1f)\" "
            "d=\"%s\"/>\n", k % SVG_STYLES, x, y, svg_styles[k % SVG_STYLES].marker);
}

/* A box in the series' colour and hatch, of bars and their legend. */
static inline void svg_box(FILE *f, int k, double x, double y, double width, double height)
{
    for (int hatch = 0; hatch < 2; hatch++) {
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ", x, y, width,
                height);
        if (hatch) fprintf(f, "fill=\"url(#hatch%d)\"/>\n", k % SVG_STYLES);
        else fprintf(f, "class=\"f%d\"/>\n", k % SVG_STYLES);
    }
}

static inline void svg_legend(FILE *f, const svg_plot *p, double x, bool bars)
{
    double y = SVG_TOP + 10, slope, b;
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        int style = k % SVG_STYLES;
        char text[64];
        if (!c->name && !c->fit) continue;
        if (bars) svg_box(f, k, x, y - 6, 32, 12);
        else {
            if (!c->points)
                fprintf(f, "<path class=\"l%d\" stroke-width=\"2\" stroke-dasharray=\"%s\" "
                        "d=\"M%.1f %.1fh32\"/>\n", style, svg_styles[style].dash, x, y);
            svg_marker(f, k, x + 16, y);
        }
        svg_word(f, x + 40, y + 4.5, "start", c->name);
        y += c->name ? SVG_ENTRY : 0;
        if (bars || !c->fit || !svg_fit(c, p->log_x, p->log_y, &slope, &b)) continue;
        snprintf(text, sizeof text, "slope %.3g", slope);
        svg_word(f, x + 40, y + 2, "start", text);
        y += SVG_ENTRY;
    }
}

/* -- curves ---------------------------------------------------------------------------------- */

static inline bool svg_point(const svg_axis *x, const svg_axis *y, const svg_curve *c, int i)
{
    return svg_fits(x, c->x[i]) && svg_fits(y, c->y[i]);
}

static inline void svg_band(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                            int k)
{
    if (!c->low || !c->high) return;
    for (int i = 0, j; i < c->count; i = j + 1) {       /* a closed path per stretch without gap */
        for (j = i; j < c->count && svg_point(x, y, c, j) && svg_fits(y, c->low[j])
             && svg_fits(y, c->high[j]); j++) {}
        if (j - i < 2) continue;
        fprintf(f, "<path class=\"f%d\" fill-opacity=\"0.2\" d=\"", k % SVG_STYLES);
        for (int n = i; n < j; n++)
            fprintf(f, "%c%.1f %.1f", n > i ? 'L' : 'M', svg_place(x, c->x[n]),
                    svg_place(y, c->high[n]));
        for (int n = j - 1; n >= i; n--)
            fprintf(f, "L%.1f %.1f", svg_place(x, c->x[n]), svg_place(y, c->low[n]));
        fprintf(f, "z\"/>\n");
    }
}

static inline void svg_line(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                            int k)
{
    bool pen = false;
    int style = k % SVG_STYLES, every = (c->count + SVG_DOTS - 1) / SVG_DOTS, any = 0;
    if (!c->points) {
        for (int i = 0; i < c->count; i++) any += svg_point(x, y, c, i);
        if (any) fprintf(f, "<path class=\"l%d\" fill=\"none\" stroke-width=\"2\" "
                         "stroke-linejoin=\"round\" stroke-dasharray=\"%s\" d=\"", style,
                         svg_styles[style].dash);
        for (int i = 0; i < c->count; i++) {
            bool good = svg_point(x, y, c, i);
            if (good) fprintf(f, "%c%.1f %.1f", pen ? 'L' : 'M', svg_place(x, c->x[i]),
                              svg_place(y, c->y[i]));
            pen = good;
        }
        if (any) fprintf(f, "\"/>\n");
    }
    for (int i = c->points || every < 2 ? 0 : k * every / 3 % every; i < c->count;
         i += c->points || every < 2 ? 1 : every)
        if (svg_point(x, y, c, i)) svg_marker(f, k, svg_place(x, c->x[i]), svg_place(y, c->y[i]));
}

static inline void svg_fitted(FILE *f, const svg_axis *x, const svg_axis *y, const svg_curve *c,
                              int k)
{
    double slope, b, at[4];
    if (!c->fit || !svg_fit(c, x->log, y->log, &slope, &b)) return;
    for (int end = 0; end < 2; end++) {
        double v = end ? x->max : x->min, w = b + slope * (x->log ? log(v) : v);
        at[2*end] = svg_place(x, v);
        at[2*end + 1] = svg_place(y, y->log ? exp(w) : w);
    }
    fprintf(f, "<path class=\"l%d\" stroke-opacity=\"0.7\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
            k % SVG_STYLES, at[0], at[1], at[2], at[3]);
}

static inline void svg_curves(FILE *f, const svg_plot *p)
{
    double right = svg_right(p);
    svg_axis x, y;
    svg_axis_of(&x, p, false, false, 7);
    svg_axis_of(&y, p, true, false, 6);
    x.from = SVG_LEFT, x.to = right, y.from = SVG_BOTTOM, y.to = SVG_TOP;
    svg_begin(f, SVG_WIDTH, SVG_HEIGHT, p->title);
    svg_titles(f, p->title, p->x_label, p->y_label, right);
    svg_draw_axis(f, &x, false, right);
    svg_draw_axis(f, &y, true, right);
    fprintf(f, "<path class=\"va\" d=\"M%d %dV%dH%.1f\"/>\n", SVG_LEFT, SVG_TOP, SVG_BOTTOM, right);
    /* an inner picture, which cuts off what leaves it; markers may stand on its edge */
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

static inline int svg_groups(const svg_plot *p)
{
    int most = 0;
    for (int k = 0; k < p->count; k++)
        if (p->curves[k].count > most) most = p->curves[k].count;
    return most;
}
static inline const char *svg_group(const char *const *labels, int i, char *text)
{
    snprintf(text, 32, "%d", i + 1);
    return labels ? labels[i] : text;
}

static inline void svg_bar(FILE *f, const svg_axis *y, const svg_curve *c, int k, int i, double x,
                           double width)
{
    double zero = svg_place(y, y->log || y->min > 0 ? y->min : y->max < 0 ? y->max : 0), top;
    if (i >= c->count || !svg_fits(y, c->y[i])) return;
    top = svg_place(y, c->y[i]);
    svg_box(f, k, x, top < zero ? top : zero, width, fabs(top - zero));
    if (c->low && c->high && svg_fits(y, c->low[i]) && svg_fits(y, c->high[i]))
        svg_rule(f, "va", x + width / 2, svg_place(y, c->low[i]), x + width / 2,
                 svg_place(y, c->high[i]));
}

static inline void svg_bars(FILE *f, const svg_plot *p)
{
    double right = svg_right(p);
    int groups = svg_groups(p), every = groups / 25 + 1;
    double step = (right - SVG_LEFT) / (groups ? groups : 1);
    double width = step * 0.8 / (p->count ? p->count : 1);
    svg_axis y;
    svg_axis_of(&y, p, true, true, 6);
    y.from = SVG_BOTTOM, y.to = SVG_TOP;
    svg_begin(f, SVG_WIDTH, SVG_HEIGHT, p->title);
    fprintf(f, "<defs>\n");
    for (int k = 0; k < SVG_STYLES; k++)
        fprintf(f, "<pattern id=\"hatch%d\" width=\"8\" height=\"8\" "
                "patternUnits=\"userSpaceOnUse\">"
                "<path class=\"vh\" stroke-width=\"1.6\" d=\"M0 0%s\"/></pattern>\n", k,
                svg_styles[k].hatch);
    fprintf(f, "</defs>\n");
    svg_titles(f, p->title, p->x_label, p->y_label, right);
    svg_draw_axis(f, &y, true, right);
    for (int i = 0; i < groups; i++) {
        double x = SVG_LEFT + step * i;
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
static inline void svg_colour(char *text, double t)
{
    static const int at[5][3] = { { 0, 32, 77 }, { 65, 77, 107 }, { 124, 123, 120 },
                                  { 188, 175, 111 }, { 255, 234, 70 } };
    int i = t < 0 ? 0 : t >= 1 ? 3 : (int)(4 * t);
    double part = t < 0 ? 0 : t > 1 ? 1 : 4*t - i;
    int c[3];
    for (int k = 0; k < 3; k++) c[k] = (int)(at[i][k] + (at[i + 1][k] - at[i][k]) * part + 0.5);
    snprintf(text, 32, "#%02x%02x%02x", (unsigned)c[0], (unsigned)c[1], (unsigned)c[2]);
}

static inline void svg_cell(FILE *f, double v, double t, double x, double y, double width,
                            double height)
{
    char colour[32], text[32];
    if (!(fabs(v) < HUGE_VAL)) {
        fprintf(f, "<path class=\"va\" d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/>\n", x, y,
                width, height, -height, -width, height);
        return;
    }
    svg_colour(colour, t);
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y,
            width + 0.4, height + 0.4, colour);         /* no gaps between them */
    if (width < 38 || height < 16) return;
    snprintf(text, sizeof text, "%.3g", v);
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n",
            x + width / 2, y + height / 2 + 4.5, t > 0.5 ? "#000" : "#fff", text);
}

static inline void svg_heat(FILE *f, const svg_heat_map *h)
{
    double right = SVG_WIDTH - 110, low = HUGE_VAL, high = -HUGE_VAL, width, height;
    int every_row = h->rows / 20 + 1, every_col = h->cols / 20 + 1;
    svg_axis key;
    char text[32];
    for (int i = 0; i < h->rows * h->cols; i++) {
        if (!(fabs(h->values[i]) < HUGE_VAL)) continue;
        if (h->values[i] < low) low = h->values[i];
        if (h->values[i] > high) high = h->values[i];
    }
    if (h->min < h->max) low = h->min, high = h->max;
    key.log = false;
    svg_scale(&key, low, high, low < high, 5);
    key.from = SVG_BOTTOM, key.to = SVG_TOP;
    width = (right - SVG_LEFT) / (h->cols > 0 ? h->cols : 1);
    height = (double)(SVG_BOTTOM - SVG_TOP) / (h->rows > 0 ? h->rows : 1);
    svg_begin(f, SVG_WIDTH, SVG_HEIGHT, h->title);
    svg_titles(f, h->title, h->x_label, h->y_label, right);
    for (int i = 0; i < h->rows * h->cols; i++) {
        double v = h->values[i];
        svg_cell(f, v, (v - key.min) / (key.max - key.min), SVG_LEFT + width * (i % h->cols),
                 SVG_TOP + height * (i / h->cols), width, height);      /* whole rows down */
    }
    for (int i = 0; i < h->rows; i += every_row)
        svg_word(f, SVG_LEFT - 8, SVG_TOP + height * (i + 0.5) + 4.5, "end",
                 svg_group(h->row_labels, i, text));
    for (int i = 0; i < h->cols; i += every_col)
        svg_word(f, SVG_LEFT + width * (i + 0.5), SVG_BOTTOM + 19, "middle",
                 svg_group(h->col_labels, i, text));
    for (int i = 63; i >= 0; i--) {                         /* the key, from its top down */
        double step = (SVG_BOTTOM - SVG_TOP) / 64.0;
        svg_cell(f, 0, (i + 0.5) / 64, right + 24, SVG_BOTTOM - step * (i + 1), 18, step);
    }
    for (int i = 0; i < key.ticks; i++) {
        if (key.tick[i] < key.min || key.tick[i] > key.max) continue;
        svg_number(text, key.tick[i]);
        svg_word(f, right + 48, svg_place(&key, key.tick[i]) + 4.5, "start", text);
    }
    svg_end(f);
}

/* -- text plots ------------------------------------------------------------------------------ */

enum { PLOT_COLUMNS = 80, PLOT_LEFT = 10, PLOT_ROWS = 18 };

static inline void plot_put(char (*grid)[PLOT_COLUMNS + 1], const svg_axis *x, const svg_axis *y,
                            double at, double v, char symbol)
{
    int column = (int)floor(svg_place(x, at) + 0.5), row = (int)floor(svg_place(y, v) + 0.5);
    if (column >= PLOT_LEFT && column < PLOT_COLUMNS && row >= 0 && row < PLOT_ROWS)
        grid[row][column] = symbol;
}

/* Points, and what lies between two of them at each column. */
static inline void plot_curve(char (*grid)[PLOT_COLUMNS + 1], const svg_axis *x, const svg_axis *y,
                              const svg_curve *c, char symbol)
{
    for (int i = 0; i < c->count; i++) {
        if (!svg_point(x, y, c, i)) continue;
        plot_put(grid, x, y, c->x[i], c->y[i], symbol);
        if (c->points || i + 1 == c->count || !svg_point(x, y, c, i + 1)) continue;
        for (int k = 1; k < PLOT_COLUMNS; k++) {
            double t = (double)k / PLOT_COLUMNS;
            double at = x->log ? c->x[i] * pow(c->x[i + 1] / c->x[i], t)
                      : c->x[i] + (c->x[i + 1] - c->x[i]) * t;
            double v = y->log ? c->y[i] * pow(c->y[i + 1] / c->y[i], t)
                     : c->y[i] + (c->y[i + 1] - c->y[i]) * t;
            plot_put(grid, x, y, at, v, symbol);
        }
    }
}

static inline void plot_legend(FILE *f, const svg_plot *p)
{
    for (int k = 0; k < p->count; k++) {
        const svg_curve *c = &p->curves[k];
        double slope, b;
        if (!c->name) continue;
        fprintf(f, "%*c %.60s", PLOT_LEFT + 1, svg_styles[k % SVG_STYLES].symbol, c->name);
        if (c->fit && svg_fit(c, p->log_x, p->log_y, &slope, &b)) fprintf(f, " (%.3g)", slope);
        fprintf(f, "\n");
    }
}

static inline void plot_curves(FILE *f, const svg_plot *p)
{
    char grid[PLOT_ROWS][PLOT_COLUMNS + 1], under[PLOT_COLUMNS + 32], text[32];
    svg_axis x, y;
    svg_axis_of(&x, p, false, false, 6);
    svg_axis_of(&y, p, true, false, 5);
    x.from = PLOT_LEFT, x.to = PLOT_COLUMNS - 1, y.from = PLOT_ROWS - 1, y.to = 0;
    memset(grid, ' ', sizeof grid);
    memset(under, ' ', sizeof under);
    for (int k = 0; k < p->count; k++)
        plot_curve(grid, &x, &y, &p->curves[k], svg_styles[k % SVG_STYLES].symbol);
    for (int i = 0; i < y.ticks; i++) {
        int row = (int)floor(svg_place(&y, y.tick[i]) + 0.5);
        if (row < 0 || row >= PLOT_ROWS) continue;
        svg_number(text, y.tick[i]);
        memcpy(grid[row] + PLOT_LEFT - 2 - strlen(text) % 9, text, strlen(text) % 9);
        grid[row][PLOT_LEFT - 1] = '+';
    }
    for (int i = 0; i < x.ticks; i++) {
        int at = (int)floor(svg_place(&x, x.tick[i]) + 0.5), n;
        svg_number(text, x.tick[i]);
        n = (int)strlen(text);
        if (at < PLOT_LEFT || at >= PLOT_COLUMNS) continue;
        if (at + n > PLOT_COLUMNS) at = PLOT_COLUMNS - n;
        memcpy(under + at, text, (size_t)n);
    }
    if (p->title) fprintf(f, "%*s%.70s\n", PLOT_LEFT, "", p->title);
    if (p->y_label) fprintf(f, "%*s%.70s\n", PLOT_LEFT, "", p->y_label);
    for (int row = 0; row < PLOT_ROWS; row++) {
        int n = PLOT_COLUMNS;
        if (grid[row][PLOT_LEFT - 1] == ' ') grid[row][PLOT_LEFT - 1] = '|';
        while (grid[row][n - 1] == ' ') n--;
        fprintf(f, "%.*s\n", n, grid[row]);
    }
    fprintf(f, "%*s+", PLOT_LEFT - 1, "");
    for (int i = PLOT_LEFT; i < PLOT_COLUMNS; i++) fputc('-', f);
    fprintf(f, "\n%.*s\n", PLOT_COLUMNS, under);
    if (p->x_label) fprintf(f, "%*s%.70s\n", PLOT_LEFT, "", p->x_label);
    plot_legend(f, p);
}

/* A line a bar, groups one under the other; negative values are drawn with '-'. */
static inline void plot_bars(FILE *f, const svg_plot *p)
{
    int groups = svg_groups(p), wide = 1;
    double most = 0;
    char text[32];
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < p->curves[k].count; i++)
            if (fabs(p->curves[k].y[i]) < HUGE_VAL && fabs(p->curves[k].y[i]) > most)
                most = fabs(p->curves[k].y[i]);
    for (int i = 0; i < groups; i++) {
        int n = (int)strlen(svg_group(p->labels, i, text));
        if (n > wide) wide = n < 24 ? n : 24;
    }
    if (p->title) fprintf(f, "%.79s\n", p->title);
    for (int i = 0; i < groups; i++)
        for (int k = 0; k < p->count; k++) {
            const svg_curve *c = &p->curves[k];
            double v = i < c->count ? c->y[i] : HUGE_VAL;
            int n = fabs(v) < HUGE_VAL && most > 0
                  ? (int)(fabs(v) / most * (PLOT_COLUMNS - wide - 16) + 0.5) : 0;
            char symbol = v < 0 ? '-' : p->count > 1 ? svg_styles[k % SVG_STYLES].symbol : '#';
            if (i >= c->count) continue;
            fprintf(f, "%*.*s |", wide, wide, k ? "" : svg_group(p->labels, i, text));
            for (int j = 0; j < n; j++) fputc(symbol, f);
            fprintf(f, " %.4g\n", v);
        }
    if (p->count > 1) plot_legend(f, p);
}
#endif
