/* The laboratory's own arithmetic: when a loss has settled, statistics over seeds, and the form of
 * every row of claims. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../../tfnorm.h"
#include "../../tools/normlab/claims.h"
#include "../../tools/normlab/factors.h"
#include "../../tools/normlab/lab.h"
#include "../../tools/normlab/lab_data.h"
#include "../../tools/normlab/lab_run.h"
#include "../../tools/normlab/lab_score.h"
#include "../../tools/normlab/lab_spec.h"
#include "../../tools/normlab/lab_trace.h"
#include "../../tools/normlab/lanczos.h"
#include "../../tools/normlab/later.h"
#include "../../tools/normlab/measure.h"
#include "../../tools/normlab/second.h"
#include "../../tools/normlab/sides.h"
#include "../../tools/normlab/tongues.h"
#include "../check.h"

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

/* A small run until it settles: its lists report its end, and the same spec gives the same bits. */
static lab_record lab_small(int64_t most)
{
    lab_record r;
    memset(&r, 0, sizeof r);
    r.spec = until_settled(LAB_REVERSE, "pre", 1);
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
    CHECK(lab_first(&a, "settled") == 0);       /* it keeps learning */
    CHECK(updates == 80);                       /* 64 at a constant rate, plus a quarter */
    CHECK(lab_first(&a, "nll") == lab_first(&b, "nll"));
    lab_drop(&a);
    lab_drop(&b);
}

/* A run that has not settled goes on: its loss at the same checks is the same while the rate is
 * constant, and three times the updates may pass. */
TEST(lab_longer_runs)
{
    lab_record a = lab_small(80);
    lab_record b;
    memset(&b, 0, sizeof b);
    b.spec = lab_longer(a.spec);
    CHECK(b.spec.stop == 240 && b.spec.every == 2 && lab_every(&a.spec) == 2);
    CHECK(lab_run(&b));
    const lab_list *first = lab_list_of(&a, "curve");
    const lab_list *second = lab_list_of(&b, "curve");
    CHECK(first && second && second->n > first->n);
    for (int32_t i = 0; i <= 32; i++) CHECK(first->v[i] == second->v[i]);
    CHECK(first->v[33] != second->v[33]);       /* the rate of the first falls from update 64 on */
    CHECK(lab_first(&b, "updates") > 80 && lab_first(&b, "updates") <= 240);
    lab_drop(&a);
    lab_drop(&b);
}

static lab_record *lab_made_record(lab *l, lab_spec s, double settled, double loss)
{
    char key[LAB_KEY];
    lab_key_text(key, &s);
    lab_record *r = lab_add(l, key);
    *lab_put(r, 1, "settled") = settled;
    *lab_put(r, 1, "nll") = loss;
    *lab_put(r, 1, "curve") = loss;
    r->done = true;
    return r;
}

/* The final record is the run's own if it settled or its loss is not finite. Otherwise it is that
 * of a longer run, whether that settles or not. */
TEST(lab_final_records)
{
    lab l;
    memset(&l, 0, sizeof l);
    l.seeds = 4;
    lab_spec s = settled("pre", 6);
    for (int k = 0; k < 4; k++) {
        s = lab_seeded(&l, settled("pre", 6), k);
        lab_made_record(&l, s, k == 0, k == 3 ? (double)NAN : k);
    }
    CHECK(lab_final(&l, lab_seeded(&l, settled("pre", 6), 0)) == l.records[0]);
    CHECK(lab_final(&l, lab_seeded(&l, settled("pre", 6), 3)) == l.records[3] && !l.missing);
    CHECK(!lab_final(&l, lab_seeded(&l, settled("pre", 6), 1)) && l.missing == 1);
    CHECK(l.count == 5 && strstr(l.records[4]->key, "steps=24000") != NULL);
    CHECK(strstr(l.records[4]->key, " settle every=200 ") != NULL);
    s = lab_seeded(&l, settled("pre", 6), 2);
    const lab_record *r = lab_made_record(&l, lab_longer(s), 0, 0.5);
    CHECK(lab_final(&l, s) == r && lab_over(&l, settled("pre", 6), "nll", 0).v[2] == 0.5);
    lab_free(&l);
}

/* Records are found by their keys, however many there are. */
TEST(lab_many_records)
{
    lab l;
    char key[40];
    memset(&l, 0, sizeof l);
    CHECK(!lab_find(&l, "key 7"));
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        CHECK(lab_add(&l, key) == l.records[i]);
    }
    for (int i = 0; i < 5000; i += 7) {
        snprintf(key, sizeof key, "key %d", i);
        CHECK(lab_find(&l, key) == l.records[i]);
    }
    CHECK(!lab_find(&l, "key 5000"));
    lab_free(&l);
}

/* Products with a matrix whose eigenvalues are 9, 2, 1, 0 and -20 in a reflected basis:
 * A = D - 2 v(Dv)' - 2 (Dv)v' + 4 (v'Dv) vv'. */
enum { LAB_SQUARE = 5 };
static bool lab_times(void *user, double *y, const double *x)
{
    static const double d[LAB_SQUARE] = { 9, 2, 1, 0, -20 };
    const double side = 1 / sqrt(LAB_SQUARE);
    double turned[LAB_SQUARE], along = 0, back = 0;
    int *products = (int *)user;
    ++*products;
    for (int i = 0; i < LAB_SQUARE; i++) along += 2 * side * x[i];
    for (int i = 0; i < LAB_SQUARE; i++) turned[i] = d[i] * (x[i] - along * side);
    for (int i = 0; i < LAB_SQUARE; i++) back += 2 * side * turned[i];
    for (int i = 0; i < LAB_SQUARE; i++) y[i] = turned[i] - back * side;
    return true;
}

TEST(lab_largest_eigenvalue)
{
    const double start[LAB_SQUARE] = { 1, 0.5, -0.3, 0.8, 0.1 };
    const double none[LAB_SQUARE] = { 0, 0, 0, 0, 0 };
    int products = 0;
    CHECK(fabs(lanczos_top(lab_times, &products, start, LAB_SQUARE, LAB_SQUARE) - 9) < 1e-9);
    CHECK(products == LAB_SQUARE);
    CHECK(lanczos_top(lab_times, &products, start, LAB_SQUARE, 2) < 9);     /* from below */
    const double side = 1 / sqrt(LAB_SQUARE);
    double vector[LAB_SQUARE];                  /* an eigenvector for 2: one product is enough */
    for (int i = 0; i < LAB_SQUARE; i++) vector[i] = (i == 1) - 2 * side * side;
    products = 0;
    CHECK(fabs(lanczos_top(lab_times, &products, vector, LAB_SQUARE, 4) - 2) < 1e-9);
    CHECK(products == 1);
    const double x = lanczos_top(lab_times, &products, none, LAB_SQUARE, 4);
    CHECK(x != x);
}

/* With P = 1, a product with the Hessian is a second difference of the loss. */
TEST(lab_curvature)
{
    lab_record r = lab_small(4);
    lab_data *test = (lab_data *)calloc(1, sizeof *test);
    lab_trace t;
    tfn_model m;
    double loss[3];
    tfn_param_info p;
    r.spec.settle = false;
    r.spec.seed = 5;
    const tfn_model_desc d = lab_desc(&r.spec, false);
    lab_fill(test, &r.spec, LAB_TEST, 1, UINT64_MAX);
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK && lab_trace_start(&t, &r, &m, test));
    double *x = (double *)calloc(2 * t.n, sizeof *x);
    double xHx = 0;
    tfn_model_param(&m, 0, &p);
    memcpy(t.weights, p.data, t.n * sizeof *t.weights);
    CHECK(lab_slope(&t, t.scale));              /* there is curvature along the gradient */
    for (size_t i = 0; i < t.n; i++) x[i] = t.scale[i];
    for (size_t i = 0; i < t.n; i++) t.scale[i] = 1;
    CHECK(lab_hessian(&t, x + t.n, x));
    for (size_t i = 0; i < t.n; i++) xHx += x[i] * x[t.n + i];
    test->batch.batch = LAB_SHARP_ROWS;
    const double size = 0.05 / sqrt(lanczos_dot(x, x, t.n));
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < t.n; i++)
            p.data[i] = (float)((double)t.weights[i] + (k - 1) * size * x[i]);
        loss[k] = lab_nll(&m, test);
    }
    const double bend = (loss[0] - 2*loss[1] + loss[2]) / (size * size);
    CHECK(fabs(bend - xHx) < 0.1 * fabs(xHx));
    free(x);
    free(test);
    lab_trace_end(&t);
    tfn_model_free(&m);
    lab_drop(&r);
}

/* Observing changes no number of the run; observations exist at updates 1, 2, 4, 8, 16. */
TEST(lab_traces)
{
    lab_record a, b;
    memset(&a, 0, sizeof a);
    a.spec = training("post", 1, 4e-3, 1, 20);
    a.spec.width = 16;
    a.spec.ffn = 32;
    a.spec.batch = 4;
    a.spec.score = false;
    a.spec.seed = 3;
    b = a;
    b.spec.trace = b.spec.without = true;
    CHECK(lab_run(&a) && lab_run(&b));
    CHECK(lab_first(&a, "nll") == lab_first(&b, "nll"));
    static const char *const lists[] = { "turn", "change", "sharpness" };
    for (int k = 0; k < 3; k++) {
        const lab_list *list = lab_list_of(&b, lists[k]);
        CASE("%s", lists[k]);
        CHECK(list && list->n == 5 && !lab_list_of(&a, lists[k]));
        for (int i = 0; i < 5; i++)
            if (list) CHECK(list->v[i] > 0 && list->v[i] < 1e6);
    }
    /* Adam's first update moves each weight by the rate: about 1 degree for weights of 0.25 */
    CHECK(lab_first(&b, "turn") > 0.3 && lab_first(&b, "turn") < 3);
    CHECK(lab_first(&b, "enc_without") != lab_first(&b, "nll"));
    CHECK(lab_first(&b, "dec_without") > lab_first(&b, "nll"));
    lab_drop(&a);
    lab_drop(&b);
    const float east[2] = { 2, 0 }, north[2] = { 0, 3 }, back[2] = { -1, 1e-3f };
    CHECK(fabs(lab_angle(east, north, 2) - 90) < 1e-9 && fabs(lab_angle(east, east, 2)) < 1e-9);
    CHECK(fabs(lab_angle(east, back, 2) - 179.9427) < 1e-3);
}

/* Toy languages: training and test share no meaning; a word belongs to one language; pairs. */
TEST(lab_tongues_apart)
{
    int seen[TONGUES][TONGUES] = { { 0 } }, hidden[TONGUES][TONGUES] = { { 0 } };
    int32_t tests = 0, words[TONGUE_LONGEST], pivot[TONGUE_LONGEST];
    for (int32_t i = 0; i < TONGUE_MEANINGS; i++) {
        tests += tongue_is_test(i);
        const tongue_meaning m = tongue_draw((uint64_t)i, tongue_is_test(i));
        const int32_t n = tongue_say(words, &m, 1 + i % 4);
        CHECK(n >= 3 && n == tongue_say(pivot, &m, 0));
        for (int32_t k = 0; k < n; k++) CHECK(tongue_of(words[k]) == 1 + i % 4);
        for (int32_t k = 0; k < n; k++) {           /* the same words in another order */
            int found = 0;
            for (int32_t j = 0; j < n; j++) found += words[j] % TONGUE_WORDS == pivot[k];
            CHECK(found > 0);
        }
    }
    CHECK(tests > TONGUE_MEANINGS / 9 && tests < TONGUE_MEANINGS / 7);
    for (uint64_t i = 0; i < 240; i++) {
        int pair[2];
        tongue_pair(i, false, pair);
        seen[pair[0]][pair[1]]++;
        tongue_pair(i, true, pair);
        hidden[pair[0]][pair[1]]++;
    }
    for (int i = 0; i < TONGUES; i++)
        for (int k = 0; k < TONGUES; k++) {
            CHECK((seen[i][k] == 30) == (i != k && (!i || !k)));
            CHECK((hidden[i][k] == 20) == (i != k && i && k));
        }
}

TEST(lab_tongues_scored)
{
    lab_record r;
    memset(&r, 0, sizeof r);
    r.spec = training("pre", 1, 4e-3, 1, 20);
    r.spec.task = LAB_TONGUES;
    r.spec.width = 16;
    r.spec.seed = 3;
    CHECK(lab_run(&r));
    CHECK(lab_first(&r, "bleu") >= 0 && lab_first(&r, "unseen_bleu") >= 0);
    CHECK(lab_first(&r, "off") > 20 && lab_first(&r, "unseen_off") > 20);       /* it guesses */
    CHECK(lab_first(&r, "off") <= 100 && lab_first(&r, "nll") < 5);
    lab_drop(&r);
}

TEST(lab_best_rates)
{
    const double bowl[6] = { 9.61, 4.41, 1.21, 0.01, 0.81, 3.61 };      /* (i - 3.1)^2 */
    const double falling[3] = { 3, 2, 1 };
    CHECK(fabs(least_place(bowl, 6) - 3.1) < 1e-12);
    CHECK(least_place(falling, 3) == 2);
    const lab_spec base = at_width(0, 1, true);
    const lab_spec wide = at_width(3, 1, true);
    tfn_error e;
    tfn_model_desc d;
    const tfn_model_desc asked = lab_desc(&wide, false);
    CHECK(base.base == 0 && wide.base == 16 && wide.width == 128 && wide.heads == 8);
    memset(&e, 0, sizeof e);
    CHECK(tfn_model_resolve(&d, &asked, &e) && d.mup_base_width == 16);
}

/* The rate rises in the warm-up, is constant, then falls linearly to 0. */
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
    /* for a statistic that is linear in the means, the jackknife returns each seed's own */
    const lab_sample slope = jackknifed(rows, 3, x, linear_slope);
    for (int k = 0; k < 3; k++) {
        const double y[3] = { rows[0].v[k], rows[1].v[k], rows[2].v[k] };
        CHECK(fabs(slope.v[k] - lab_line_through(3, x, y).b) < 1e-12);
    }
    const double line[4] = { 1, 2, 3, 4 }, four[4] = { 1, 2, 3, 4 };
    CHECK(linear_rather_than_log(4, four, line) > 0.01);
}

/* Placement and initialization: gain is their sum; without an interaction both are exact. */
TEST(lab_factors)
{
    factor_cells x;
    const double of_placement[2] = { -0.3, 0 };
    const double of_init[2] = { 0.1, 0 };
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < 2; i++) {
            const double y = 1 + of_placement[p] + of_init[i];
            x.of[p][i] = lab_made(y, y + 1, y + 5);         /* seeds differ, effects do not */
        }
    factor_effects e = factors_of(&x);
    for (int k = 0; k < 3; k++) {
        CHECK(fabs(e.placement.v[k] + 0.3) < 1e-12 && fabs(e.init.v[k] - 0.1) < 1e-12);
        CHECK(fabs(e.gain.v[k] + 0.2) < 1e-12 && fabs(e.interaction.v[k]) < 1e-12);
        CHECK(fabs(e.simple[0].v[k] + 0.3) < 1e-12 && fabs(e.simple[1].v[k] + 0.3) < 1e-12);
    }
    x.of[0][0].v[1] -= 1;                                   /* both together give more */
    e = factors_of(&x);
    CHECK(fabs(e.interaction.v[1] + 1) < 1e-12 && fabs(e.simple[0].v[1] + 1.3) < 1e-12);
    CHECK(fabs(e.gain.v[1] - e.placement.v[1] - e.init.v[1]) < 1e-12);
    CHECK(fabs(e.placement.v[1] + 0.8) < 1e-12 && fabs(e.init.v[1] + 0.4) < 1e-12);
}

TEST(lab_factors_in_words)
{
    static const struct { verdict gain, placement, init; const char *word; } rows[] = {
        { SHOWN, SHOWN, TIE, "the placement" },       { SHOWN, SHOWN, OPPOSITE, "the placement" },
        { SHOWN, TIE, SHOWN, "the initialization" },  { SHOWN, SHOWN, SHOWN, "both" },
        { SHOWN, SHOWN, UNDECIDED, "undecided" },     { SHOWN, UNDECIDED, UNDECIDED, "undecided" },
        { TIE, SHOWN, OPPOSITE, "no gain" },          { OPPOSITE, TIE, OPPOSITE, "no gain" },
        { UNDECIDED, SHOWN, SHOWN, "undecided" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("%d", (int)i);
        CHECK(!strcmp(factors_word((int)rows[i].gain, (int)rows[i].placement, (int)rows[i].init),
                      rows[i].word));
    }
}

/* The second stage has twice the seeds that the most demanding open criterion needs, or as many as
 * an hour allows. */
TEST(lab_second_stage)
{
    static outcome o;
    const claim *c = find_claim("B1");
    memset(&o, 0, sizeof o);
    for (int k = 0; k < criteria_of(c); k++) {
        o.finding[k].verdict = SHOWN;
        o.finding[k].i.n = 8;
    }
    CHECK(second_growth(c, &o) == 1);
    o.finding[1].verdict = o.finding[3].verdict = UNDECIDED;
    o.finding[1].seeds = 12;
    o.finding[3].seeds = 20;
    CHECK(second_growth(c, &o) == 2.5);
    o.finding[1].seeds = JUDGE_SEEDS + 1;
    CHECK(second_growth(c, &o) == 0);
    CHECK(second_affordable(2.5, 100) == 5);
    CHECK(fabs(second_affordable(2.5, 3000) - 3) < 1e-12);
    CHECK(second_affordable(2.5, 3601) == 0);
}

TEST(lab_crossings)
{
    double v[5] = { 3, 2, 1, 0.5, 0.1 };
    lab_list curve = { "curve", 5, v };
    CHECK(first_below(&curve, 1.5, 400) == 150);
    CHECK(first_below(&curve, 4, 400) == 0);
    CHECK(first_below(&curve, 0.05, 400) == 400);
}

/* Every row has its own id, texts for all that it needs, and criteria that can be met. */
TEST(lab_rows_in_order)
{
    for (int i = 0; claim_at(i); i++) {
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
    CHECK(claim_at(claims_count()) == NULL && claim_at(claims_count() - 1) != NULL);
    CHECK(claims_count() <= CLAIMS_MOST);
}

/* True if "a, b" has an init that belongs to no method and is not `one`. */
static bool lab_has_another(const char *inits, const char *one)
{
    char list[SIDES_TEXT];
    snprintf(list, sizeof list, "%s", inits);
    for (char *name = strtok(list, ", "); name; name = strtok(NULL, ", ")) {
        const bool general = !strcmp(name, "xavier") || !strcmp(name, "xavier-uniform")
                          || !strcmp(name, "fused") || !strcmp(name, "fairseq");
        if (general && strcmp(name, one)) return true;
    }
    return false;
}

/* Rows of the three papers compare placements with one initialization, or state that they compare
 * methods as a whole. */
TEST(lab_one_initialization)
{
    static outcome o;
    for (int i = 0; claim_at(i); i++) {
        const claim *c = claim_at(i);
        lab l;
        memset(&l, 0, sizeof l);
        memset(&o, 0, sizeof o);
        CASE("%s", c->id);
        l.seeds = l.init_seeds = 1;
        l.init = init_of(c);
        if (c->kind != MEASUREMENT) continue;
        l.asking = true;
        c->measure(&l, &o);
        CHECK_INT(o.found, criteria_of(c));
        CHECK(l.asked_for.inits[0] || !l.init);
        if (l.init) CHECK(!lab_has_another(l.asked_for.inits, l.init));
        else if (strchr(c->id, 'X') || strchr(c->id, 'A') || strchr(c->id, 'B'))
            CHECK(c->init && !c->init[0]);
    }
}

/* The keys of a row's records: "init=" appears only for recipes with another init of their own. */
static void lab_check_keys(const char *id, const char *own, const char *other, const char *init)
{
    static outcome o;
    const claim *c = find_claim(id);
    lab l;
    int with = 0;
    int without = 0;
    memset(&l, 0, sizeof l);
    CASE("%s", id);
    l.seeds = l.init_seeds = 1;
    CHECK(!decide(c, &l, &o));
    for (int32_t i = 0; i < l.count; i++) {
        const char *key = l.records[i]->key;
        const bool named = strstr(key, " init=") != NULL;
        if (own && strstr(key, own)) CHECK(!named);
        if (other && strstr(key, other)) CHECK(strstr(key, init) != NULL);
        with += named;
        without += !named;
    }
    CHECK((with > 0) == (other != NULL) && (without > 0) == (own != NULL));
    lab_free(&l);
}

TEST(lab_keys_of_one_initialization)
{
    lab_check_keys("X14a", " p", NULL, NULL);           /* post and pre: unchanged */
    lab_check_keys("A1c", " p", NULL, NULL);
    lab_check_keys("A12a", " admin ", " pre ", " init=fused ");
    lab_check_keys("A20", " rezero-post ", " rezero ", " init=fused ");
    lab_check_keys("B3c", " b2t ", " p", " init=fairseq ");
    lab_check_keys("B11", " b2t ", " admin ", " init=fairseq ");
    lab_check_keys("B11", " t-fixup ", " dlcl ", " init=fairseq ");
    lab_check_keys("B11", " deepnorm ", " dlcl ", " init=fairseq ");
    lab_check_keys("A18c", " admin ", NULL, NULL);      /* methods as a whole */
}

TEST(lab_sides)
{
    sides x;
    lab_spec s = at_start("post", 2);
    memset(&x, 0, sizeof x);
    sides_add(&x, &s);
    CHECK(!strcmp(sides_differ(&x), ""));
    s.recipe = "pre";
    sides_add(&x, &s);
    CHECK(!strcmp(sides_differ(&x), "placement"));
    s.recipe = "b2t";
    sides_add(&x, &s);
    sides_add(&x, &s);
    CHECK(!strcmp(sides_differ(&x), "placement; initialization: xavier, fairseq"));
    s.norm = "rmsnorm";
    sides_add(&x, &s);
    CHECK(!strcmp(sides_differ(&x),
                  "placement; norm: layernorm, rmsnorm; initialization: xavier, fairseq"));
    s.recipe = "t-fixup";                               /* keeps its own */
    CHECK(!side_init_wanted(&s, "fused") && !strcmp(side_init(&s), "t-fixup"));
    s.recipe = "b2t";
    CHECK(!side_init_wanted(&s, "fairseq") && !side_init_wanted(&s, NULL));
    CHECK(!strcmp(side_init_wanted(&s, "xavier"), "xavier"));
    s.init = "b2t";                                     /* a row that names one keeps it */
    CHECK(!strcmp(side_init_wanted(&s, "xavier"), "b2t"));
}

int main(void)
{
    RUN(lab_settling);
    RUN(lab_statistics);
    RUN(lab_factors);
    RUN(lab_factors_in_words);
    RUN(lab_second_stage);
    RUN(lab_crossings);
    RUN(lab_courses);
    RUN(lab_longer_runs);
    RUN(lab_final_records);
    RUN(lab_many_records);
    RUN(lab_largest_eigenvalue);
    RUN(lab_curvature);
    RUN(lab_traces);
    RUN(lab_tongues_apart);
    RUN(lab_tongues_scored);
    RUN(lab_best_rates);
    RUN(lab_rates);
    RUN(lab_rows_in_order);
    RUN(lab_one_initialization);
    RUN(lab_keys_of_one_initialization);
    RUN(lab_sides);
    return DONE();
}
