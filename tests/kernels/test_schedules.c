/* Learning rates: golden values of make_schedules.py, and properties of every schedule. */
#include "../lib.h"
#include "../check.h"
#include "../golden/golden_schedules.h"

enum { SCHEDULES_WIDTH = 48, SCHEDULES_KINDS = TFN_SCHEDULE_POLYNOMIAL + 1 };

static const double schedules_pi = 3.14159265358979323846;

static tfn_schedule schedules_make(int kind, int64_t warmup, int64_t steps)
{
    tfn_schedule s;
    memset(&s, 0, sizeof s);
    s.kind = (tfn_schedule_kind)kind;
    s.lr = 3.0f / 1024;
    s.warmup = warmup;
    s.steps = steps;
    return s;
}

static double schedules_rate(const tfn_schedule *s, int64_t update)
{
    return (double)tfn_schedule_at(s, update, SCHEDULES_WIDTH);
}

TEST(schedules_golden)
{
    const int count = (int)(sizeof golden_schedules / sizeof *golden_schedules);
    for (int i = 0; i < count; i++) {
        const golden_schedule *g = &golden_schedules[i];
        tfn_schedule s = schedules_make((int)g->kind, g->warmup, g->steps);
        s.lr_init = (float)g->lr_init;
        s.lr_min = (float)g->lr_min;
        s.power = (float)g->power;
        s.anchor = g->anchor;
        s.step_at = g->step_at;
        s.step_factor = (float)g->step_factor;
        s.decay_steps = g->decay_steps;
        s.fairseq = g->fairseq != 0;
        for (int t = 1; t <= (int)(sizeof g->rate / sizeof *g->rate); t++) {
            double found = schedules_rate(&s, t), wanted = g->rate[t - 1];
            if (!(fabs(found - wanted) <= 1e-7 * wanted))
                FAIL("row %d, kind %d: update %d has the rate %.9g, not %.9g", i, (int)g->kind, t,
                     found, wanted);
        }
    }
}

/* -- every kind, with and without warm-up, in short and long runs ------------------------------ */

/* The manual's closed form at update t. */
static double schedules_closed(const tfn_schedule *s, double t)
{
    const double lr = (double)s->lr, least = (double)s->lr_min, W = (double)s->warmup;
    const double S = (double)s->steps, D = s->decay_steps ? (double)s->decay_steps : floor(S / 10);
    const double left = (S - t + 1) / (S - W + 1);
    if (s->kind == TFN_SCHEDULE_NOAM)
        return lr / sqrt(SCHEDULES_WIDTH) * fmin(1 / sqrt(t), t * pow(fmax(W, 1), -1.5));
    if (t <= W) return (double)s->lr_init + t * (lr - (double)s->lr_init) / W;
    switch (s->kind) {
    case TFN_SCHEDULE_INVERSE_SQRT: return lr * sqrt(fmax(W, 1) / t);
    case TFN_SCHEDULE_LINEAR:       return least + (lr - least) * left;
    case TFN_SCHEDULE_POLYNOMIAL:   return least + (lr - least) * pow(left, (double)s->power);
    case TFN_SCHEDULE_COSINE:       return least + (lr - least) * (1 - cos(schedules_pi * left))
        / 2;
    case TFN_SCHEDULE_WARMUP_STABLE_DECAY:
        return t <= S - D ? lr : least + (lr - least) * (S - t + 1) / (D + 1);
    case TFN_SCHEDULE_T_FIXUP:      return lr * sqrt(4000 / (4000 + t - W));
    case TFN_SCHEDULE_STEP:         return t <= (double)s->step_at ? lr : lr * (double)0.1f;
    default:               return lr;
    }
}

static void schedules_check(const tfn_schedule *s)
{
    for (int64_t t = 1; t <= s->steps; t++) {
        double rate = schedules_rate(s, t), wanted = schedules_closed(s, (double)t);
        if (!(rate > 0))
            FAIL("kind %d, warm-up %d of %d: update %d has the rate %g", (int)s->kind,
                 (int)s->warmup, (int)s->steps, (int)t, rate);
        if (!(fabs(rate - wanted) <= 2e-7 * wanted))
            FAIL("kind %d, warm-up %d of %d: update %d has the rate %.9g, not %.9g", (int)s->kind,
                 (int)s->warmup, (int)s->steps, (int)t, rate, wanted);
    }
    if (s->warmup > 0 && s->kind != TFN_SCHEDULE_NOAM)
        CHECK(tfn_schedule_at(s, s->warmup, SCHEDULES_WIDTH) == s->lr);
}

/* No rate is 0 or negative, the last update has an effect, the warm-up ends at lr, and the closed
 * form holds at every update. */
TEST(schedules_class)
{
    static const int64_t steps[] = { 1, 2, 3, 10, 41, 1000, 30000 };
    for (int kind = TFN_SCHEDULE_DEFAULT; kind < SCHEDULES_KINDS; kind++)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            for (int part = 0; part < 4; part++) {
                tfn_schedule s = schedules_make(kind, steps[i] * part / 4, steps[i]);
                s.power = 1.5f;
                if (kind == TFN_SCHEDULE_STEP) s.step_at = (s.warmup + steps[i]) / 2 + 1;
                if (kind == TFN_SCHEDULE_WARMUP_STABLE_DECAY && steps[i] < 10) s.decay_steps = 1;
                schedules_check(&s);
                s.lr_init = 1e-7f;
                s.lr_min = 1e-5f;
                schedules_check(&s);
            }
}

/* fairseq's counting: update t + 1 has the rate lr(t); the last update still has an effect. */
TEST(schedules_fairseq)
{
    for (int kind = TFN_SCHEDULE_DEFAULT; kind < SCHEDULES_KINDS; kind++) {
        tfn_schedule s = schedules_make(kind, 10, 100), late;
        s.lr_init = 1e-7f;
        s.fairseq = true;
        for (int64_t t = 1; t <= 100; t++)
            if (!(schedules_rate(&s, t) > 0) && kind != TFN_SCHEDULE_NOAM)
                FAIL("kind %d: update %d has the rate 0", kind, (int)t);
        late = s;
        late.fairseq = false;
        for (int64_t t = 1; t <= 11; t++)
            CHECK(schedules_rate(&s, t) == schedules_rate(&late, t - 1));
        CHECK(schedules_rate(&s, 12) <= schedules_rate(&s, 11));
    }
}

/* A final rate stays after the end; a power of 0 is 1; very long runs lose no precision. */
TEST(schedules_edges)
{
    tfn_schedule s = schedules_make(TFN_SCHEDULE_LINEAR, 10, 100);
    tfn_schedule p = schedules_make(TFN_SCHEDULE_POLYNOMIAL, 10, 100);
    for (int64_t t = 1; t <= 120; t++) CHECK(schedules_rate(&s, t) == schedules_rate(&p, t));
    CHECK(schedules_rate(&s, 101) == 0);
    s.lr_min = 1e-5f;
    CHECK(schedules_rate(&s, 101) == (double)1e-5f);
    CHECK(schedules_rate(&s, INT64_MAX) == (double)1e-5f);
    s = schedules_make(TFN_SCHEDULE_COSINE, 0, 1000000000);
    CHECK(schedules_rate(&s, 1000000000) > 0);
    for (int kind = 0; kind <= TFN_SCHEDULE_WARMUP_STABLE_DECAY; kind++) {
        s = schedules_make((tfn_schedule_kind)kind, 10, 100);
        s.frozen = true;
        for (int64_t t = 1; t < 120; t += 7) CHECK(schedules_rate(&s, t) == 0);
    }
    s = schedules_make(TFN_SCHEDULE_STEP, 0, 0);
    s.step_at = 8000;
    CHECK(schedules_rate(&s, 8000) == (double)s.lr && schedules_rate(&s, 8001) < (double)s.lr);
    s = schedules_make(TFN_SCHEDULE_INVERSE_SQRT, 7, 0);
    CHECK(schedules_rate(&s, 7) == (double)s.lr);
    s = schedules_make(TFN_SCHEDULE_WARMUP_STABLE_DECAY, 90, 100);  /* decay limited to the rest */
    s.decay_steps = 50;
    CHECK(schedules_rate(&s, 90) == (double)s.lr && schedules_rate(&s, 91) < (double)s.lr);
}

int main(void)
{
    RUN(schedules_golden);
    RUN(schedules_class);
    RUN(schedules_fairseq);
    RUN(schedules_edges);
    return DONE();
}
