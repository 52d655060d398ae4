/* How normlab judges. Values over seeds give an interval that holds their mean with 99 % confidence
 * (Student's t); a criterion, which is data, says where it has to lie; a verdict follows from the
 * two. A criterion is printed from the same numbers that judge.
 *
 *     static const criterion less = { .what = "loss of B minus loss of A", LESS(0.01) };
 *     finding f = judge_values(&less, differences, 8);      // f.verdict: SHOWN, TIE, UNDECIDED ...
 *
 * A comparison has a margin m. Less is shown if the interval lies wholly below -m, opposite wholly
 * above m, a tie wholly within; if it crosses a margin the seeds do not decide. Comparisons are of
 * differences within a seed: two runs of one seed see the same data, so that the test is paired. */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* -- intervals --------------------------------------------------------------------------------- */

typedef struct interval { double mean, sd, low, high; int n; } interval;

/* Of the mean, from n values of a distribution that is roughly normal. One value has no end. */
interval interval_of(const double *v, int n);

/* The jackknife (Tukey 1958): a statistic of all n values and those of all but one become n values
 * whose mean is the statistic without its first bias and whose interval is its own. */
void jackknife(double *values, double all, const double *without, int n);

/* -- criteria ---------------------------------------------------------------------------------- */

/* BROKEN: a row asks for numbers that cannot be there. HOLDS, FAILS: of checks. */
typedef enum verdict {
    NOT_SHOWN, SHOWN, PARTLY, TIE, UNDECIDED, OPPOSITE, NOT_TESTABLE, BROKEN, HOLDS, FAILS, VERDICTS
} verdict;
extern const char *const verdicts[VERDICTS];

typedef struct criterion {
    const char *what;           /* the quantity, with its unit */
    double low, high;           /* shown: the interval lies within */
    double other, most;         /* opposite: within these; both 0: nothing is */
    bool   ties;                /* what lies between the two is a tie, else it is not shown */
    bool   log;                 /* values are logarithms, of ratios as a rule; printed without */
    bool   premise;             /* not shown: the row says nothing here */
    bool   share;               /* no interval is printed beyond 0 and 1 */
} criterion;

/* Of a difference, or the logarithm of a ratio, with the margin m. */
#define LESS(m) .low = -ENDLESS_HERE, .high = -(m), .other = (m), .most = ENDLESS_HERE, .ties = true
#define MORE(m) .low = (m), .high = ENDLESS_HERE, .other = -ENDLESS_HERE, .most = -(m), .ties = true
#define ALIKE(m) .low = -(m), .high = (m)
/* Of a number. BELOW_NOT(a, b): opposite above b. */
#define BETWEEN(a, b) .low = (a), .high = (b)
#define BELOW(a) .low = -ENDLESS_HERE, .high = (a)
#define ABOVE(a) .low = (a), .high = ENDLESS_HERE
#define BELOW_NOT(a, b) BELOW(a), .other = (b), .most = ENDLESS_HERE
#define ABOVE_NOT(a, b) ABOVE(a), .other = -ENDLESS_HERE, .most = (b)
#define ENDLESS_HERE 1e300                  /* ENDLESS, where C wants a constant */

typedef struct finding {
    interval i;
    verdict  verdict;
    int      seeds;             /* undecided: so many would decide, if the mean stays; else 0 */
} finding;

bool has_other(const criterion *c);

finding judge_values(const criterion *c, const double *v, int n);

/* The verdict of a row with several criteria. One that is not shown for a premise says nothing; all
 * of the rest shown: shown; some, and the others surely not: partly; all of one kind: that kind. */
verdict judge_row(const criterion *c, const finding *f, int n);

/* -- in words ---------------------------------------------------------------------------------- */

/* A number of a criterion as it is printed: of a logarithm, what it is of. */
double judge_shown(const criterion *c, double x);

/* "loss of B minus that of A: below -0.01; opposite: above 0.01; between them a tie" */
void criterion_text(char *text, size_t room, const criterion *c);

/* "loss of B minus that of A: -0.03 [-0.05, -0.01], shown" */
void finding_text(char *text, size_t room, const criterion *c, const finding *f);
#endif
