/* The verdicts of normlab. Values over seeds give an interval that contains their mean with 99 %
 * confidence (Student's t). A criterion, which is data, says where the interval must lie. The
 * verdict follows from both, and a criterion is printed from the same numbers.
 *
 *     static const criterion less = { .what = "loss of B minus loss of A", LESS(0.01) };
 *     finding f = judge_values(&less, differences, 8);      // f.verdict: SHOWN, TIE, UNDECIDED ...
 *
 * A comparison has a margin m. Less is shown if the interval lies wholly below -m, the opposite if
 * wholly above m, a tie if wholly within. If it crosses a margin, the seeds do not decide.
 * Comparisons use differences within a seed: two runs of one seed see the same data, so the test is
 * paired. */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* -- intervals --------------------------------------------------------------------------------- */

typedef struct interval { double mean, sd, low, high; int n; } interval;

/* The interval of the mean, from n roughly normal values. From one value it is unbounded. */
interval interval_of(const double *v, int n);

/* The jackknife (Tukey 1958) makes n values from a statistic of all n values and the statistics
 * without one value each. Their mean is the statistic without its first-order bias, and their
 * interval is the statistic's. */
void jackknife(double *values, double all, const double *without, int n);

/* -- criteria ---------------------------------------------------------------------------------- */

/* TOO_CLOSE: undecided, and 999 seeds would not decide it with this margin. BROKEN: a row asks for
 * numbers that cannot exist. HOLDS, FAILS: for checks. */
typedef enum verdict {
    NOT_SHOWN, SHOWN, PARTLY, TIE, UNDECIDED, TOO_CLOSE, OPPOSITE, NOT_TESTABLE, BROKEN, HOLDS,
    FAILS, VERDICTS
} verdict;
extern const char *const verdicts[VERDICTS];

typedef struct criterion {
    const char *what;           /* the quantity, with its unit */
    double low, high;           /* shown: the interval lies within these */
    double other, most;         /* opposite: the interval lies within these; both 0: never */
    bool   ties;                /* an interval between the two is a tie; false: not shown */
    bool   log;                 /* values are logarithms, usually of ratios; printed without */
    bool   premise;             /* unless it is shown, the row has no verdict here */
    bool   share;               /* the printed interval is cut at 0 and 1 */
    bool   counted;             /* the mean decides, without its interval: it counts runs */
} criterion;

/* For a difference, or the logarithm of a ratio, with the margin m. */
#define LESS(m) .low = -ENDLESS_HERE, .high = -(m), .other = (m), .most = ENDLESS_HERE, .ties = true
#define MORE(m) .low = (m), .high = ENDLESS_HERE, .other = -ENDLESS_HERE, .most = -(m), .ties = true
#define ALIKE(m) .low = -(m), .high = (m)
/* For a single number. BELOW_NOT(a, b): opposite above b. */
#define BETWEEN(a, b) .low = (a), .high = (b)
#define BELOW(a) .low = -ENDLESS_HERE, .high = (a)
#define ABOVE(a) .low = (a), .high = ENDLESS_HERE
#define BELOW_NOT(a, b) BELOW(a), .other = (b), .most = ENDLESS_HERE
#define ABOVE_NOT(a, b) ABOVE(a), .other = -ENDLESS_HERE, .most = (b)
#define ENDLESS_HERE 1e300                  /* ENDLESS, where C requires a constant */

/* The largest number of seeds that is reported, and the fewest from which more than that is
 * predicted. */
enum { JUDGE_SEEDS = 999, JUDGE_LEAST = 8 };

typedef struct finding {
    interval i;
    verdict  verdict;
    int      seeds;             /* undecided: seeds that would decide at this mean, JUDGE_SEEDS + 1
                                 * if more; else 0 */
} finding;

bool has_other(const criterion *c);

finding judge_values(const criterion *c, const double *v, int n);

/* The verdict of a row with several criteria. If a premise is not shown, there is none. If all
 * others are shown: shown. If some are shown and all others certainly not: partly. If all have one
 * verdict: that one. A row that is undecided because of a criterion that 999 seeds would not decide
 * is too close. */
verdict judge_row(const criterion *c, const finding *f, int n);

/* -- in words ---------------------------------------------------------------------------------- */

/* A number of a criterion in print form; for a logarithm, the value itself. */
double judge_shown(const criterion *c, double x);

/* "loss of B minus loss of A: below -0.01; opposite: above 0.01; between them a tie" */
void criterion_text(char *text, size_t room, const criterion *c);

/* "loss of B minus loss of A: -0.03 [-0.05, -0.01], shown" */
void finding_text(char *text, size_t room, const criterion *c, const finding *f);
#endif
