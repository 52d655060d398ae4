/* Training loops, and the order of the measurements of a spec. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "lab_run.h"
#include "lab_look.h"
#include "lab_score.h"
#include "lab_trace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* -- without a layer -------------------------------------------------------------------------- */

/* True for the last matrix of a branch of this layer, or its bias. With 0 in both the branch is 0;
 * if only the branch is normed, the layer then returns its input. */
static bool lab_ends_branch(const tfn_param_info *p, bool decoder, int32_t layer)
{
    if (p->layer != layer || !strncmp(p->name, "dec", 3) != decoder) return false;
    return strstr(p->name, ".o.") || strstr(p->name, ".w2.");
}

/* enc_without, dec_without: the test's loss without each of the layers. */
static bool lab_without(lab_record *r, tfn_model *m, const lab_data *test)
{
    const size_t n = (size_t)m->param_floats;
    float *kept = lab_floats(n);
    tfn_param_info first, p;
    tfn_model_param(m, 0, &first);
    if (kept) memcpy(kept, first.data, n * sizeof *kept);
    for (int side = 0; side < 2; side++) {
        const int32_t layers = lab_depth(&r->spec, side);
        double *loss = NULL;
        if (kept && layers) loss = lab_put(r, layers, "%s_without", side ? "dec" : "enc");
        for (int32_t layer = 0; layer < layers; layer++) {
            if (!loss) break;
            for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
                if (lab_ends_branch(&p, side, layer))
                    memset(p.data, 0, (size_t)(p.rows * p.cols) * sizeof *p.data);
            loss[layer] = lab_nll(m, test);
            memcpy(first.data, kept, n * sizeof *kept);
        }
    }
    free(kept);
    return kept != NULL;
}

/* -- a training run --------------------------------------------------------------------------- */

/* Lists: curve, the test's loss at 21 points; nll, the last of these; updates, those of the last
 * twentieth; tuned, after each quarter. data: three, the second is the test. trace: NULL, or the
 * observer of updates. */
static tfn_status lab_train(lab_record *r, tfn_model *m, lab_data *data, lab_trace *trace)
{
    const lab_data *test = data + 1;
    const lab_spec *s = &r->spec;
    const size_t n = (size_t)m->param_floats;
    double *curve = lab_put(r, LAB_POINTS + 1, "curve");
    double *nll = lab_put(r, 1, "nll");
    double *unigram = lab_put(r, 1, "unigram");
    double *tuned = s->tune ? lab_put(r, 4, "tuned") : NULL;
    double *skipped = lab_put(r, 1, "skipped");
    double *moved = (double *)calloc(n, sizeof *moved);
    tfn_param_info p;
    tfn_report report;
    int64_t point = 0;
    int64_t skips = 0;
    tfn_model_param(m, 0, &p);
    if (!curve || !nll || !unigram || !skipped || !moved) {
        free(moved);
        return TFN_NO_MEMORY;
    }
    curve[0] = lab_nll(m, test);
    *unigram = lab_unigram(test);
    for (int64_t step = 0; step < s->stop; step++) {
        if (m->error.status != TFN_OK) break;
        if (step == s->stop - s->stop / LAB_POINTS)
            for (size_t i = 0; i < n; i++) moved[i] = (double)p.data[i];
        lab_fill(data, s, s->batch, s->seed, (uint64_t)step);
        lab_trace_before(trace, m, step + 1);
        if (tfn_model_step(m, &data->batch, &report) != TFN_OK) break;
        lab_trace_after(trace, m, step + 1, (double)report.tokens);
        skips += report.skipped;
        if ((step + 1) * LAB_POINTS / s->stop > point) {
            point = (step + 1) * LAB_POINTS / s->stop;
            curve[point] = lab_nll(m, test);
        }
        if (tuned && (step + 1) % (s->stop / 4) == 0)
            tuned[(step + 1) / (s->stop / 4) - 1] = lab_tuned(s, m, data, data + 2);
    }
    *nll = curve[LAB_POINTS];
    *skipped = (double)skips;
    for (size_t i = 0; i < n; i++) moved[i] = (double)p.data[i] - moved[i];
    if (s->look) lab_norms(r, m, moved, "update");
    free(moved);
    return TFN_OK;                    /* a diverged run is a result */
}
bool lab_has_settled(const double *loss, int32_t n)
{
    double before = HUGE_VAL;
    double last = HUGE_VAL;
    if (n <= LAB_PATIENCE + 1) return false;
    for (int32_t i = 0; i < n - LAB_PATIENCE; i++) before = fmin(before, loss[i]);
    for (int32_t i = n - LAB_PATIENCE; i < n; i++) last = fmin(last, loss[i]);
    return !(last < 0.99 * before);
}

void lab_check_course(lab_course *c, const lab_spec *s, tfn_model *m, const lab_data *test)
{
    c->loss[c->checks++] = lab_nll(m, test);
    c->broken = !(c->loss[c->checks - 1] < HUGE_VAL);
    if (c->begin) return;
    c->settled = lab_has_settled(c->loss, c->checks);
    if (!c->settled && c->step < s->stop * 4 / 5) return;
    c->begin = c->step;
    c->end = c->step + c->step / 4;
}

/* Does one update. The rate falls from the end of the constant phase to 0 after the last update. */
static bool lab_course_step(lab_course *c, tfn_model *m, const lab_data *data)
{
    tfn_report report;
    double rate = (double)tfn_model_rate(m);
    if (c->begin)
        rate *= (double)(c->end - c->step) / (double)(c->end - c->begin);
    if (tfn_model_gradient(m, &data->batch, 0, false, NULL) != TFN_OK) return false;
    if (tfn_model_update(m, NULL, (float)rate, &report) != TFN_OK) return false;
    c->skips += report.skipped;
    c->step++;
    return true;
}

/* Lists: curve, the loss at the start and at each check; nll, the last of these; updates; settled,
 * 1, or 0 if the most updates came first. */
static bool lab_course_lists(lab_record *r, const lab_course *c, const lab_data *test)
{
    double *curve = lab_put(r, c->checks, "curve");
    double *nll = lab_put(r, 1, "nll");
    double *unigram = lab_put(r, 1, "unigram");
    double *skipped = lab_put(r, 1, "skipped");
    double *updates = lab_put(r, 1, "updates");
    double *settled = lab_put(r, 1, "settled");
    if (!curve || !nll || !unigram || !skipped || !updates || !settled) return false;
    memcpy(curve, c->loss, (size_t)c->checks * sizeof *curve);
    *nll = c->loss[c->checks - 1];
    *unigram = lab_unigram(test);
    *skipped = (double)c->skips;
    *updates = (double)c->step;
    *settled = c->settled;
    return true;
}

static tfn_status lab_go_on(lab_record *r, tfn_model *m, lab_data *data)
{
    const lab_spec *s = &r->spec;
    const int64_t every = lab_every(s);
    lab_course c;
    memset(&c, 0, sizeof c);
    c.end = s->stop;
    lab_check_course(&c, s, m, data + 1);
    while (c.step < c.end) {
        lab_fill(data, s, s->batch, s->seed, (uint64_t)c.step);
        if (!lab_course_step(&c, m, data)) break;
        if (c.step % every && c.step < c.end) continue;
        lab_check_course(&c, s, m, data + 1);
        if (c.broken) break;
    }
    if (!lab_course_lists(r, &c, data + 1)) return TFN_NO_MEMORY;
    return TFN_OK;
}

/* Trains, and observes updates if the spec asks for it. */
static tfn_status lab_train_traced(lab_record *r, tfn_model *m, lab_data *data)
{
    lab_trace trace;
    tfn_status status = TFN_NO_MEMORY;
    if (!r->spec.trace) return lab_train(r, m, data, NULL);
    if (lab_trace_start(&trace, r, m, data + 1)) status = lab_train(r, m, data, &trace);
    lab_trace_end(&trace);
    return status;
}

/* Scores greedy answers to the test, and to one of pairs of languages that training lacks. */
static void lab_score_all(lab_record *r, tfn_model *m, lab_data *data)
{
    if (r->spec.task == LAB_PAIRS) {
        lab_score_held_out(r, m, data + 2);
        return;
    }
    lab_score(r, m, data + 1, "");
    if (r->spec.task != LAB_TONGUES) return;
    lab_fill(data + 2, &r->spec, LAB_TEST, 1u << 20, LAB_UNSEEN);
    lab_score(r, m, data + 2, "unseen_");
}

/* CPU time of this thread, or of the program if the thread's is not known. */
static double lab_seconds(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec t;
    if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
    return (double)clock() / CLOCKS_PER_SEC;
}

bool lab_run(lab_record *r)
{
    const lab_spec *s = &r->spec;
    const bool shifts = s->noise > 0 || s->step > 0;
    lab_data *data = (lab_data *)malloc(3 * sizeof *data);
    tfn_model_desc d = lab_desc(s, s->look || shifts);
    tfn_model m;
    const double start = lab_seconds();
    bool ok = data && tfn_model_new(&m, &d, NULL) == TFN_OK;
    if (ok && s->theory) lab_theory(&m, s);
    if (ok && s->alpha > 0) lab_alpha(&m, s->alpha);
    if (ok) {
        lab_fill(data, s, d.batch, s->seed, UINT64_MAX - 1);
        ok = tfn_model_profile(&m, &data->batch) == TFN_OK;
        lab_fill(data + 1, s, d.batch, 1u << 20, UINT64_MAX);      /* the test, of no run's seed */
    }
    if (ok && s->settle) ok = lab_go_on(r, &m, data) == TFN_OK;
    else if (ok && s->stop) ok = lab_train_traced(r, &m, data) == TFN_OK;
    if (ok && s->score && isfinite(lab_nll(&m, data + 1))) lab_score_all(r, &m, data);
    if (ok && s->without) ok = lab_without(r, &m, data + 1);
    if (ok && s->fold) ok = lab_fold(r, &m, data + 1);
    if (ok && s->look) ok = lab_measure(r, &m, data);
    if (ok && shifts) ok = lab_shift(r, &m, data);
    if (!ok && data) {
        char text[160];
        fprintf(stderr, "normlab: %s: %s\n", r->key, tfn_error_text(&m.error, text, sizeof text));
    }
    if (data) tfn_model_free(&m);
    free(data);
    r->seconds = lab_seconds() - start;
    return ok;
}
