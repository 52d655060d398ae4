/* The laboratory's own arithmetic: when a loss has settled, statistics over seeds, and that every
 * row of claims is in order. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "lib.h"
#include "../tools/threads.h"
#include "../tools/claims.h"
#include "check.h"

TEST(lab_settling)
{
    double loss[12] = { 3, 2.5, 2, 1.5, 1.2, 1, 0.99, 0.995, 0.992, 0.991, 0.9905, 0.999 };
    CHECK(!lab_has_settled(loss, 10));      /* the last five begin with 1, the best before is 1.2 */
    CHECK(lab_has_settled(loss, 11));       /* 0.99 to 0.9905 against 1: not below 0.99 */
    loss[10] = 0.9899;
    CHECK(!lab_has_settled(loss, 11));      /* 0.9899 is more than 1 % below 1 */
    const double flat[6] = { 2, 2, 2, 2, 2, 2 };
    CHECK(!lab_has_settled(flat, 6));
    const double longer[7] = { 2, 2, 2, 2, 2, 2, 2 };
    CHECK(lab_has_settled(longer, 7));
}

/* A small run that goes on: its lists say where it ended, and the same spec the same bits. */
static lab_record lab_small(int64_t most)
{
    lab_record r;
    memset(&r, 0, sizeof r);
    r.spec = settled("pre", 1);
    r.spec.task = LAB_REVERSE;
    r.spec.width = 16;
    r.spec.ffn = 32;
    r.spec.batch = 4;
    r.spec.warmup = 4;
    r.spec.lr = 1e-3;
    r.spec.steps = r.spec.stop = most;
    r.spec.seed = 3;
    CHECK(lab_run(&r));
    return r;
}

static double lab_first(const lab_record *r, const char *name)
{
    const lab_list *list = lab_list_of(r, name);
    if (!list) return NAN;
    return list->v[0];
}

static void lab_drop(lab_record *r)
{
    for (int32_t i = 0; i < r->count; i++) free(r->lists[i].v);
}

TEST(lab_courses)
{
    lab_prepare();
    lab_record a = lab_small(80);
    lab_record b = lab_small(80);
    const double updates = lab_first(&a, "updates");
    const lab_list *curve = lab_list_of(&a, "curve");
    CHECK(updates > 0 && updates <= 80);
    CHECK(curve && curve->n >= 2 && curve->v[curve->n - 1] == lab_first(&a, "nll"));
    CHECK(curve && curve->v[0] > curve->v[curve->n - 1]);
    CHECK(lab_first(&a, "settled") == 0);       /* it learns all the time */
    CHECK(updates == 80);                       /* 64 at a constant rate, a quarter of them more */
    CHECK(lab_first(&a, "nll") == lab_first(&b, "nll"));
    lab_drop(&a);
    lab_drop(&b);
}

/* The rate is that of the warm-up, constant, then a line to 0. */
TEST(lab_rates)
{
    lab_course c;
    lab_spec s = settled("pre", 1);
    memset(&c, 0, sizeof c);
    s.stop = 100;
    c.step = 80;
    c.loss[0] = 3;
    lab_data *test = (lab_data *)calloc(1, sizeof *test);
    tfn_model m;
    s.task = LAB_REVERSE;
    const tfn_model_desc d = lab_desc(&s, false);
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    lab_fill(test, &s, LAB_TEST, 1, UINT64_MAX);
    c.checks = 1;
    lab_check_course(&c, &s, &m, test);
    CHECK(c.begin == 80 && c.end == 100 && !c.settled);
    tfn_model_free(&m);
    free(test);
}

static lab_sample lab_made(double first, double second, double third)
{
    lab_sample a = { 3, { first, second, third }, 0, 0 };
    lab_sum_up(&a);
    return a;
}

TEST(lab_statistics)
{
    const lab_sample rows[3] = { lab_made(1, 2, 4), lab_made(2, 8, 8), lab_made(4, 32, 16) };
    const double x[3] = { 1, 2, 4 };
    const lab_sample b = exponents(rows, 3, x);         /* y = x, x^2 times 2, x times 4 */
    CHECK(fabs(b.v[0] - 1) < 1e-12 && fabs(b.v[1] - 2) < 1e-12 && fabs(b.v[2] - 1) < 1e-12);
    const lab_sample d = minus(rows[1], rows[0]);
    CHECK(d.v[0] == 1 && d.v[1] == 6 && d.v[2] == 4);
    const lab_sample r = log_ratio(rows[1], rows[0]);
    CHECK(fabs(r.v[1] - log(4)) < 1e-15);
    CHECK(extreme(rows, 3, true).v[1] == 32 && extreme(rows, 3, false).v[1] == 2);
    CHECK(mean_of(rows, 3).v[1] == 14);
    /* of a statistic that is linear in the means the jackknife gives back each seed's own */
    const lab_sample slope = jackknifed(rows, 3, x, linear_slope);
    for (int k = 0; k < 3; k++) {
        const double y[3] = { rows[0].v[k], rows[1].v[k], rows[2].v[k] };
        CHECK(fabs(slope.v[k] - lab_line_through(3, x, y).b) < 1e-12);
    }
    const double line[4] = { 1, 2, 3, 4 }, four[4] = { 1, 2, 3, 4 };
    CHECK(linear_rather_than_log(4, four, line) > 0.01);
}

TEST(lab_crossings)
{
    double v[5] = { 3, 2, 1, 0.5, 0.1 };
    lab_list curve = { "curve", 5, v };
    CHECK(first_below(&curve, 1.5, 400) == 150);
    CHECK(first_below(&curve, 4, 400) == 0);
    CHECK(first_below(&curve, 0.05, 400) == 400);
}

/* Of every row: an id of its own, words for what it needs, criteria that can be met. */
TEST(lab_rows_in_order)
{
    for (int i = 0; i < CLAIMS; i++) {
        const claim *c = claim_at(i);
        CASE("%s", c->id);
        for (int k = 0; k < i; k++) CHECK(strcmp(c->id, claim_at(k)->id) != 0);
        CHECK(c->title && c->item && c->expected);
        if (c->kind == NO_ROW) CHECK(!c->measure && c->reason);
        else CHECK(c->measure && c->setting);
        if (c->kind == MEASUREMENT) CHECK(criteria_of(c) > 0 && !c->check);
        if (c->kind == CHECK_ROW) CHECK(criteria_of(c) == 0 && c->check);
        for (int k = 0; k < criteria_of(c); k++) {
            const criterion *p = &c->criteria[k];
            CHECK(p->low < p->high);
            if (has_other(p)) CHECK(p->other >= p->high || p->most <= p->low);
            if (p->ties) CHECK(p->other > p->high || p->most < p->low);
        }
    }
    CHECK(claim_at(CLAIMS) == NULL && claim_at(CLAIMS - 1) != NULL);
    CHECK(CLAIMS <= 64 * LAB_USERS);
}

int main(void)
{
    RUN(lab_settling);
    RUN(lab_statistics);
    RUN(lab_crossings);
    RUN(lab_courses);
    RUN(lab_rates);
    RUN(lab_rows_in_order);
    return DONE();
}
