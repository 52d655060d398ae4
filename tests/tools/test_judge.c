/* Verdicts of normlab: intervals against scipy (golden/make_judge.py), criteria on made-up values,
 * rows with several criteria, and the printed text. */
#include "../check.h"
#include "../../tools/normlab/judge.c"
#include "../golden/golden_judge.h"

#define JUDGE_MANY(rows) ((int)(sizeof(rows) / sizeof *(rows)))

static void judge_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-11 * fmax(1, fabs(wanted))))
        FAIL("%.15g, not %.15g", found, wanted);
}

TEST(judge_student)
{
    for (int k = 0; k < JUDGE_MANY(golden_student); k++) {
        CASE("n %d, p %g", golden_student[k].n, golden_student[k].within);
        judge_near(student_quantile(golden_student[k].within, golden_student[k].n),
                   golden_student[k].t);
    }
    judge_near(student_within(0, 5), 0);
}

TEST(judge_intervals)
{
    for (int k = 0; k < JUDGE_MANY(golden_intervals); k++) {
        const interval i = interval_of(golden_intervals[k].v, golden_intervals[k].n);
        CASE("%d values", golden_intervals[k].n);
        judge_near(i.mean, golden_intervals[k].mean);
        judge_near(i.sd, golden_intervals[k].sd);
        judge_near(i.low, golden_intervals[k].low);
        judge_near(i.high, golden_intervals[k].high);
    }
    const double one[2] = { 3, NAN };
    CHECK(interval_of(one, 1).low == -ENDLESS && interval_of(one, 1).high == ENDLESS);
    CHECK(interval_of(one, 2).low == -ENDLESS);          /* NaN decides nothing */
}

TEST(judge_jackknife)
{
    double sum[2] = { 0, 0 }, without[6], values[6];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 2; k++) sum[k] += golden_jackknife.v[k][i];
    for (int i = 0; i < 6; i++)
        without[i] = (sum[1] - golden_jackknife.v[1][i]) / (sum[0] - golden_jackknife.v[0][i]);
    jackknife(values, sum[1] / sum[0], without, 6);
    const interval found = interval_of(values, 6);
    judge_near(found.mean, golden_jackknife.mean);
    judge_near(found.low, golden_jackknife.low);
    judge_near(found.high, golden_jackknife.high);
}

TEST(judge_seeds)
{
    for (int k = 0; k < JUDGE_MANY(golden_seeds); k++) {
        CASE("deviation %g, distance %g", golden_seeds[k].sd, golden_seeds[k].distance);
        CHECK_INT(seeds_for(golden_seeds[k].sd, golden_seeds[k].distance), golden_seeds[k].n);
    }
}

/* A row that 999 seeds would not decide is too close; after fewer than eight seeds it is only
 * undecided. */
TEST(judge_too_close)
{
    const criterion two[2] = { { .what = "", LESS(1) }, { .what = "", BELOW(0) } };
    double at[8], below[8];
    finding f[2];
    for (int i = 0; i < 8; i++) {
        at[i] = -1 + 0.1 * (i % 2 ? 1 : -1);            /* the mean is at the margin */
        below[i] = -9 + i;
    }
    f[0] = judge_values(&two[0], at, 8);
    f[1] = judge_values(&two[1], below, 8);
    CHECK_INT(f[0].verdict, UNDECIDED);
    CHECK_INT(f[0].seeds, JUDGE_SEEDS + 1);
    CHECK_INT(f[1].verdict, SHOWN);
    CHECK_INT(judge_row(two, f, 1), TOO_CLOSE);
    CHECK_INT(judge_row(two, f, 2), TOO_CLOSE);
    CHECK_INT(judge_row(two + 1, f + 1, 1), SHOWN);
    f[0] = judge_values(&two[0], at, 4);
    CHECK_INT(judge_row(two, f, 1), UNDECIDED);
    at[0] = -1.3;                                       /* a few seeds more would do */
    f[0] = judge_values(&two[0], at, 8);
    CHECK(f[0].seeds > 8 && f[0].seeds <= JUDGE_SEEDS);
    CHECK_INT(judge_row(two, f, 1), UNDECIDED);
}

/* A premise that counts runs: seven of eight are enough, six are not, whatever the interval. */
TEST(judge_counted)
{
    const criterion settled = { .what = "share", ABOVE(0.875), .premise = true, .counted = true };
    double v[8] = { 1, 1, 1, 1, 1, 1, 1, 0 };
    char text[80];
    finding f = judge_values(&settled, v, 8);
    CHECK_INT(f.verdict, SHOWN);
    finding_text(text, sizeof text, &settled, &f);
    CHECK(!strcmp(text, "share: 0.875, shown"));
    v[6] = 0;
    f = judge_values(&settled, v, 8);
    CHECK_INT(f.verdict, NOT_SHOWN);
    CHECK_INT(judge_row(&settled, &f, 1), NOT_TESTABLE);
}

/* Three values at distance d around a mean have the interval mean +- 5.73 d: t(2) is 9.925. */
static verdict judge_three(criterion c, double mean, double d)
{
    const double v[3] = { mean - d, mean, mean + d };
    return judge_values(&c, v, 3).verdict;
}

TEST(judge_comparisons)
{
    const criterion less = { .what = "", LESS(1) };
    const criterion more = { .what = "", MORE(1) };
    static const struct { double mean, d; verdict less, more; } rows[] = {
        { -3, 0.34, SHOWN, OPPOSITE }, { -3, 0.36, UNDECIDED, UNDECIDED },
        { 3, 0.34, OPPOSITE, SHOWN },  { 3, 0.36, UNDECIDED, UNDECIDED },
        { 0, 0.17, TIE, TIE },         { 0, 0.18, UNDECIDED, UNDECIDED },
        { 0.5, 0.08, TIE, TIE },       { 0.5, 0.09, UNDECIDED, UNDECIDED },
        { 0, 1, UNDECIDED, UNDECIDED } };
    for (int k = 0; k < JUDGE_MANY(rows); k++) {
        CASE("%g +- %g", rows[k].mean, 5.73 * rows[k].d);
        CHECK_INT(judge_three(less, rows[k].mean, rows[k].d), rows[k].less);
        CHECK_INT(judge_three(more, rows[k].mean, rows[k].d), rows[k].more);
    }
}

TEST(judge_numbers)
{
    const criterion inside = { .what = "", BETWEEN(-0.7, -0.3) };
    const criterion below = { .what = "", BELOW(20) };
    const criterion falls = { .what = "", BELOW_NOT(-1, 0) };
    const criterion rises = { .what = "", ABOVE_NOT(1, 0) };
    CHECK_INT(judge_three(inside, -0.5, 0.03), SHOWN);
    CHECK_INT(judge_three(inside, -0.5, 0.04), UNDECIDED);
    CHECK_INT(judge_three(inside, -0.1, 0.03), NOT_SHOWN);
    CHECK_INT(judge_three(inside, -0.31, 0.01), UNDECIDED);
    CHECK_INT(judge_three(below, 5, 1), SHOWN);
    CHECK_INT(judge_three(below, 60, 1), NOT_SHOWN);
    CHECK_INT(judge_three(below, 60, 10), UNDECIDED);
    CHECK_INT(judge_three(falls, -2, 0.1), SHOWN);
    CHECK_INT(judge_three(falls, -0.5, 0.05), NOT_SHOWN);
    CHECK_INT(judge_three(falls, 1, 0.1), OPPOSITE);
    CHECK_INT(judge_three(falls, 0.1, 0.1), NOT_SHOWN);  /* certainly not shown; opposite is open */
    CHECK_INT(judge_three(rises, -1, 0.1), OPPOSITE);
    CHECK_INT(judge_three((criterion){ .what = "", ALIKE(1) }, 0, 0.1), SHOWN);
    CHECK_INT(judge_three((criterion){ .what = "", ALIKE(1) }, 3, 0.1), NOT_SHOWN);
    const double one[1] = { 5 };
    CHECK_INT(judge_values(&below, one, 1).verdict, UNDECIDED);  /* one seed decides nothing */
}

TEST(judge_needed)
{
    const criterion less = { .what = "", LESS(1) };
    const double v[3] = { -2, -3, -4 };
    CHECK_INT(judge_values(&less, v, 3).seeds, seeds_for(1, 2));
    const double decided[3] = { -20, -21, -20 };
    CHECK_INT(judge_values(&less, decided, 3).seeds, 0);
    const double at[3] = { -0.9, -1, -1.1 };            /* mean at the margin: never decided */
    CHECK_INT(judge_values(&less, at, 3).seeds, JUDGE_SEEDS + 1);
}

static verdict judge_of(const char *premises, const char *found)
{
    criterion c[4];
    finding f[4];
    const int n = (int)strlen(found);
    memset(c, 0, sizeof c);
    memset(f, 0, sizeof f);
    for (int k = 0; k < n; k++) {
        c[k].premise = premises[k] == 'p';
        for (int v = 0; v < 7; v++)
            if ("nSptu.o"[v] == found[k]) f[k].verdict = (verdict)v;
    }
    return judge_row(c, f, n);
}

TEST(judge_rows)
{
    static const struct { const char *premises, *found; verdict wanted; } rows[] = {
        { "---", "SSS", SHOWN },     { "---", "SSn", PARTLY },    { "---", "SSo", PARTLY },
        { "---", "SSt", PARTLY },    { "---", "SSu", UNDECIDED }, { "---", "Snu", PARTLY },
        { "---", "unn", UNDECIDED }, { "---", "ttt", TIE },       { "---", "tto", NOT_SHOWN },
        { "---", "ooo", OPPOSITE },  { "---", "nno", NOT_SHOWN }, { "p--", "SSS", SHOWN },
        { "p--", "nSS", NOT_TESTABLE }, { "p--", "uSS", UNDECIDED }, { "p--", "Soo", OPPOSITE },
        { "-p-", "SnS", NOT_TESTABLE }, { "-", "S", SHOWN },      { "-", "o", OPPOSITE } };
    for (int k = 0; k < JUDGE_MANY(rows); k++) {
        CASE("%s of %s", rows[k].found, rows[k].premises);
        CHECK_INT(judge_of(rows[k].premises, rows[k].found), rows[k].wanted);
    }
}

TEST(judge_words)
{
    const criterion less = { .what = "loss, B minus A", LESS(0.01) };
    const criterion twice = { .what = "ratio", MORE(0.69314718056), .log = true, .premise = true };
    char text[200];
    criterion_text(text, sizeof text, &less);
    CHECK(!strcmp(text, "loss, B minus A: below -0.01; opposite: above 0.01; between them a tie"));
    criterion_text(text, sizeof text, &twice);
    CHECK(!strcmp(text, "only if ratio: above 2; opposite: below 0.5; between them a tie"));
    const double v[3] = { -2, -3, -4 };
    finding f = judge_values(&less, v, 3);
    finding_text(text, sizeof text, &less, &f);
    CHECK(!strcmp(text, "loss, B minus A: -3 [-8.73, 2.73], undecided (4 seeds)"));
    f = judge_values(&less, v, 1);
    finding_text(text, sizeof text, &less, &f);
    CHECK(!strcmp(text, "loss, B minus A: -2, undecided"));
    const criterion all = { .what = "share", ABOVE(0.99), .share = true };
    const double runs[3] = { 1, 0, 1 };
    f = judge_values(&all, runs, 3);
    finding_text(text, sizeof text, &all, &f);
    CHECK(!strncmp(text, "share: 0.6667 [0, 1], undecided", 31));
}

int main(void)
{
    RUN(judge_student);
    RUN(judge_intervals);
    RUN(judge_jackknife);
    RUN(judge_seeds);
    RUN(judge_comparisons);
    RUN(judge_numbers);
    RUN(judge_needed);
    RUN(judge_rows);
    RUN(judge_too_close);
    RUN(judge_counted);
    RUN(judge_words);
    return DONE();
}
