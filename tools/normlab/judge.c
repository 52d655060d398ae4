/* Student's t, intervals, criteria and verdicts. */
#include "judge.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- Student's t ----------------------------------------------------------------------------- */

/* Pr(|T| <= t) for n degrees of freedom: Abramowitz & Stegun 26.7.3 (odd n) and 26.7.4 (even n). */
static double student_within(double t, int n)
{
    const double angle = atan(t / sqrt(n));
    const double square = cos(angle) * cos(angle);
    double term = 1;
    double sum = 0;
    if (n % 2) term = cos(angle);
    for (int k = n % 2 + 2; k <= n; k += 2) {
        sum += term;
        term *= square * (k - 1) / k;
    }
    if (n % 2 == 0) return sin(angle) * sum;
    return 2 / 3.14159265358979323846 * (angle + sin(angle) * sum);
}

/* The t with Pr(|T| <= t) = p, by bisection. */
static double student_quantile(double p, int n)
{
    double low = 0;
    double high = 1;
    while (student_within(high, n) < p) high *= 2;
    for (int k = 0; k < 60; k++) {
        const double middle = (low + high) / 2;
        if (student_within(middle, n) < p) low = middle;
        else high = middle;
    }
    return high;
}

/* -- intervals --------------------------------------------------------------------------------- */

static const double CONFIDENCE = 0.99, ENDLESS = 1e300;

interval interval_of(const double *v, int n)
{
    interval i = { 0, 0, -ENDLESS, ENDLESS, n };
    double squares = 0;
    for (int k = 0; k < n; k++) i.mean += v[k] / n;
    for (int k = 0; k < n; k++) squares += (v[k] - i.mean) * (v[k] - i.mean);
    if (n < 2 || !(i.mean - i.mean >= 0)) return i;
    i.sd = sqrt(squares / (n - 1));
    const double half = student_quantile(CONFIDENCE, n - 1) * i.sd / sqrt(n);
    i.low = i.mean - half;
    i.high = i.mean + half;
    return i;
}

void jackknife(double *values, double all, const double *without, int n)
{
    for (int k = 0; k < n; k++) values[k] = n * all - (n - 1) * without[k];
}

/* How many values with this deviation make half an interval shorter than `distance`; JUDGE_SEEDS +
 * 1 means too many. */
static int seeds_for(double sd, double distance)
{
    for (int n = 2; n <= JUDGE_SEEDS; n++)
        if (student_quantile(CONFIDENCE, n - 1) * sd / sqrt(n) < distance) return n;
    return JUDGE_SEEDS + 1;
}

/* -- criteria ---------------------------------------------------------------------------------- */

const char *const verdicts[VERDICTS] = {
    "not shown", "shown", "partly", "tie", "undecided", "too close to decide", "opposite",
    "not testable here", "broken", "holds", "does not hold"
};

static bool lies_within(const interval *i, double low, double high)
{
    return i->low >= low && i->high <= high;
}

bool has_other(const criterion *c) { return c->other < c->most; }

/* True if an interval lies between shown and the opposite: within the margin of a comparison. */
static bool lies_between(const criterion *c, const interval *i)
{
    if (!c->ties) return false;
    if (c->high < c->other) return lies_within(i, c->high, c->other);
    return lies_within(i, c->most, c->low);
}

/* The distance from the mean to the nearest limit of shown, or of a tie. */
static double nearest_margin(const criterion *c, double mean)
{
    double distance = fmin(fabs(mean - c->low), fabs(mean - c->high));
    if (c->ties) distance = fmin(distance, fmin(fabs(mean - c->other), fabs(mean - c->most)));
    return distance;
}

static verdict verdict_of(const criterion *c, const interval *i)
{
    if (lies_within(i, c->low, c->high)) return SHOWN;
    if (has_other(c) && lies_within(i, c->other, c->most)) return OPPOSITE;
    if (lies_between(c, i)) return TIE;
    if (!c->ties && (i->high < c->low || i->low > c->high)) return NOT_SHOWN;
    return UNDECIDED;
}

finding judge_values(const criterion *c, const double *v, int n)
{
    finding f = { { 0, 0, 0, 0, 0 }, UNDECIDED, 0 };
    f.i = interval_of(v, n);
    if (c->counted) f.i.low = f.i.high = f.i.mean;
    f.verdict = verdict_of(c, &f.i);
    if (f.verdict == UNDECIDED && n > 1) f.seeds = seeds_for(f.i.sd, nearest_margin(c, f.i.mean));
    return f;
}

/* The verdict of a row without one: whether more seeds would help. */
static verdict open_verdict(const finding *f, int n)
{
    for (int k = 0; k < n; k++)
        if (f[k].seeds > JUDGE_SEEDS && f[k].i.n >= JUDGE_LEAST) return TOO_CLOSE;
    return UNDECIDED;
}

verdict judge_row(const criterion *c, const finding *f, int n)
{
    int count[VERDICTS] = { 0 };
    int parts = 0;
    for (int k = 0; k < n; k++) {
        if (c[k].premise && f[k].verdict == SHOWN) continue;
        if (c[k].premise && f[k].verdict == UNDECIDED) return open_verdict(f, n);
        if (c[k].premise) return NOT_TESTABLE;
        count[f[k].verdict]++;
        parts++;
    }
    if (count[SHOWN] == parts) return SHOWN;
    if (count[SHOWN] + count[UNDECIDED] == parts) return open_verdict(f, n);
    if (count[SHOWN]) return PARTLY;
    if (count[UNDECIDED]) return open_verdict(f, n);
    if (count[OPPOSITE] == parts) return OPPOSITE;
    if (count[TIE] == parts) return TIE;
    return NOT_SHOWN;
}

/* -- in words ---------------------------------------------------------------------------------- */

double judge_shown(const criterion *c, double x)
{
    if (!c->log) return x;
    if (x <= -ENDLESS) return 0;
    if (x >= ENDLESS) return ENDLESS;
    return exp(x);
}

static void judge_range(char *text, size_t room, const criterion *c, double low, double high)
{
    const double a = judge_shown(c, low);
    const double b = judge_shown(c, high);
    if (low <= -ENDLESS) snprintf(text, room, "below %.4g", b);
    else if (high >= ENDLESS) snprintf(text, room, "above %.4g", a);
    else snprintf(text, room, "between %.4g and %.4g", a, b);
}

void criterion_text(char *text, size_t room, const criterion *c)
{
    char range[80];
    judge_range(range, sizeof range, c, c->low, c->high);
    snprintf(text, room, "%s%s: %s", c->premise ? "only if " : "", c->what, range);
    if (!has_other(c)) return;
    judge_range(range, sizeof range, c, c->other, c->most);
    const size_t n = strlen(text);
    snprintf(text + n, room - n, "; opposite: %s", range);
    if (c->ties) snprintf(text + strlen(text), room - strlen(text), "; between them a tie");
}

void finding_text(char *text, size_t room, const criterion *c, const finding *f)
{
    double low = judge_shown(c, f->i.low);
    double high = judge_shown(c, f->i.high);
    if (c->share) low = fmax(low, 0);
    if (c->share) high = fmin(high, 1);
    snprintf(text, room, "%s: %.4g", c->what, judge_shown(c, f->i.mean));
    size_t n = strlen(text);
    if (f->i.n > 1 && !c->counted) snprintf(text + n, room - n, " [%.4g, %.4g]", low, high);
    n = strlen(text);
    snprintf(text + n, room - n, ", %s", verdicts[f->verdict]);
    n = strlen(text);
    if (f->seeds > JUDGE_SEEDS) snprintf(text + n, room - n, " (over %d seeds)", JUDGE_SEEDS);
    else if (f->seeds) snprintf(text + n, room - n, " (%d seeds)", f->seeds);
}
