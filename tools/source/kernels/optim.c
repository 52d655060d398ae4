#include "optim.h"
#include "../ground/math.h"
#include "losses.h"

static inline double tfn__sqrt(double x) { return tfn__pow(x, 0.5); }      /* within 1e-15 */

/* The first columns of TFN__OPTIMIZER_LIST: what each moment holds. */
enum {
    TFN__MOMENT_NONE, TFN__MOMENT_ASKED, TFN__MOMENT_EACH, TFN__MOMENT_REST, TFN__MOMENT_SUMS
};

/* Returns the rule of an optimizer. Row 0, an unresolved default, keeps nothing. */
SHARED tfn__state_rule tfn__state_rule_of(tfn_optimizer kind)
{
#define TFN__STATE_RULE(first, second, matrices, value, name, formula, paper) \
    { { TFN__MOMENT_##first, TFN__MOMENT_##second }, TFN__MATRICES_##matrices },
    static const tfn__state_rule rules[] = {
        { { TFN__MOMENT_NONE, TFN__MOMENT_NONE }, TFN__MATRICES_FLAT },
        TFN__OPTIMIZER_LIST(TFN__STATE_RULE)
    };
#undef TFN__STATE_RULE
    return rules[kind];
}

/* Returns the floats that moment `which` (0 or 1) keeps for a tensor. `matrix` tells whether the
 * optimizer treats the tensor as a matrix. */
SHARED int64_t tfn__moment_floats(const tfn__state_rule *rule, int which, int64_t rows,
                                  int64_t cols, bool matrix, float beta1)
{
    switch (rule->moments[which]) {
    case TFN__MOMENT_ASKED:
        if (!(beta1 > 0)) return 0;
        break;
    case TFN__MOMENT_EACH:
        break;
    case TFN__MOMENT_REST:
        if (matrix) return 0;
        break;
    case TFN__MOMENT_SUMS:
        if (matrix) return rows + cols;
        break;
    default:
        return 0;
    }
    return rows * cols;
}

/* Returns RAdam's factor r_t, or 0 if the second moment has seen too few gradients (Liu et al.
 * 2020, algorithm 2). rho_t measures how many it has seen; it grows to rho_end = 2/(1-b2) - 1. The
 * step is r_t times Adam's if rho_t exceeds a threshold, which depends on the variant (tfn_radam).
 * power is b2^t. */
static double tfn__rectify(double b2, double power, double t, tfn_radam kind)
{
    const double rho_end = 2 / (1 - b2) - 1;
    const double rho = rho_end - 2 * t * power / (1 - power);
    bool known = rho >= 5;
    if (kind == TFN_RADAM_DEFAULT) known = rho > 4;
    if (kind == TFN_RADAM_PYTORCH) known = rho > 5;
    if (!known) return 0;
    return tfn__sqrt(((rho - 4) * (rho - 2) * rho_end) / ((rho_end - 4) * (rho_end - 2) * rho));
}

/* Returns Adafactor's beta2 for update t: 1 - t^-0.8 (Shazeer & Stern 2018, section 7.2), or if a
 * constant b is given, b with Adam's bias correction, b (1 - b^(t-1))/(1 - b^t) (section 7.1). */
static float tfn__adafactor_beta2(double b, double t)
{
    if (b > 0) return (float)(b * (1 - tfn__pow(b, t - 1)) / (1 - tfn__pow(b, t)));
    return (float)(1 - tfn__pow(t, -0.8));
}

/* Fills step_size, root, adaptive and skip of update t >= 1, which are the same for all parameters.
 * Adam's step is lr m^/(sqrt(v^) + eps), m^ = m/(1 - b1^t), v^ = v/(1 - b2^t). With eps_inside
 * (PyTorch's Adam) eps is added to sqrt(v^), otherwise (fairseq, PyTorch's RAdam) to sqrt(v):
 *
 *   inside   step_size = lr/(1 - b1^t)                step_size m/(sqrt(v)/sqrt(1 - b2^t) + eps)
 * outside  step_size = lr sqrt(1 - b2^t)/(1 - b1^t)             step_size m/(sqrt(v) + eps)
 *
 * RAdam multiplies step_size by r_t; if there is no r_t, the step is lr m^. Schedule-free AdamW has
 * no m, and its step_size has no correction for b1. */
#if TFN__TRAINS
TFNORM_API void tfn_update_at(tfn_update_args *u, int64_t t)
{
    if (!u) return;
    const bool torch_radam = u->optimizer == TFN_OPTIMIZER_RADAM && u->radam == TFN_RADAM_PYTORCH;
    const bool inside = u->eps_inside && !torch_radam;
    const double power = tfn__pow((double)u->beta2, (double)t);
    const double root = tfn__sqrt(1 - power);
    double size = (double)u->lr / (1 - tfn__pow((double)u->beta1, (double)t));
    if (tfn__is_optimizer(u, TFN_OPTIMIZER_SCHEDULE_FREE)) size = (double)u->lr;
    u->skip = false;
    u->adaptive = !tfn__is_optimizer(u, TFN_OPTIMIZER_SGD);
    if (tfn__is_optimizer(u, TFN_OPTIMIZER_RADAM)) {
        const double rectified = tfn__rectify((double)u->beta2, power, (double)t, u->radam);
        u->adaptive = rectified > 0;
        u->skip = !u->adaptive && u->radam == TFN_RADAM_AUTHORS;
        if (u->adaptive) size *= rectified;
        if (!u->adaptive && u->radam == TFN_RADAM_DECAY) size = 0;
    }
    u->root = 1;
    if (u->adaptive && inside) u->root = (float)(1 / root);
    if (u->adaptive && !inside) size *= root;
    u->step_size = (float)size;
    if (TFN__KEEPS(OPTIMIZERS, TFN_OPTIMIZER_ADAFACTOR))
        u->beta2_now = tfn__adafactor_beta2((double)u->beta2, (double)t);
}
#endif

#if TFN__MODELS
/* -- schedules: the rate of an update; for the formulas see tfn_schedule_kind ---------------- */

/* Returns r, the part of a linear decay that is left. It is 1 up to update `from` and then falls in
 * equal steps. It reaches 0 one update after the last, so that the last update still moves; with
 * s->fairseq it reaches 0 at the last. Without an end (steps is 0) it stays 1. */
static double tfn__rate_left(const tfn_schedule *s, double t, double from)
{
    double end = (double)s->steps;
    if (!s->fairseq) end += 1;
    if (s->steps <= 0 || t <= from) return 1;
    if (t >= end) return 0;
    return (end - t) / (end - from);
}

/* Returns the last update of warmup-stable-decay with the full rate, S - D. D = decay_steps, or by
 * default a tenth of all steps, limited to 1 .. steps after the warm-up. */
static double tfn__stable_until(const tfn_schedule *s)
{
    const int64_t most = s->steps - s->warmup;
    int64_t decay = s->decay_steps;
    if (decay <= 0) decay = s->steps / 10;
    if (decay < 1) decay = 1;
    if (decay > most) decay = most;
    return (double)(s->steps - decay);
}

/* Returns c d^-1/2 min(t^-1/2, t W^-3/2) (Vaswani 2017, eq. 3). lr is the factor c, d the width. If
 * t counts from 0, as in fairseq, the first rate is 0. */
static double tfn__noam(const tfn_schedule *s, double t, double width)
{
    double warm = 1;
    double lowest;
    double fall = 0;
    if (s->warmup > 1) warm = (double)s->warmup;
    if (width < 1) width = 1;
    lowest = t * tfn__pow(warm, -1.5);
    if (t > 0) fall = tfn__pow(t, -0.5);
    if (!(lowest < fall)) lowest = fall;
    return (double)s->lr * tfn__pow(width, -0.5) * lowest;
}

/* Returns the anchor A of the inverse square root schedule: by default the end of the warm-up,
 * where both formulas give lr. */
static double tfn__inverse_sqrt_anchor(const tfn_schedule *s)
{
    if (s->anchor > 0) return (double)s->anchor;
    if (s->warmup > 0) return (double)s->warmup;
    return 1;
}

static double tfn__t_fixup_anchor(const tfn_schedule *s)
{
    if (s->anchor > 0) return (double)s->anchor;
    return 4000;              /* Huang et al. 2020 */
}

/* Returns the rate after the warm-up. Schedules with an end fall from lr to lr_min, and reach it
 * one update after the last. */
static double tfn__decayed(const tfn_schedule *s, double t)
{
    const double lr = (double)s->lr;
    const double least = (double)s->lr_min;
    const double left = tfn__rate_left(s, t, (double)s->warmup);
    double anchor;
    double power = 1;
    double root;
    switch (s->kind) {
    case TFN_SCHEDULE_INVERSE_SQRT:
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_INVERSE_SQRT)) return lr;
        anchor = tfn__inverse_sqrt_anchor(s);
        if (t <= anchor) return lr;
        return lr * tfn__sqrt(anchor / t);
    case TFN_SCHEDULE_T_FIXUP:
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_T_FIXUP)) return lr;
        anchor = tfn__t_fixup_anchor(s);
        return lr * tfn__sqrt(anchor / (anchor + t - (double)s->warmup));
    case TFN_SCHEDULE_LINEAR:
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_LINEAR)) return lr;
        return least + (lr - least) * left;
    case TFN_SCHEDULE_POLYNOMIAL:
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_POLYNOMIAL)) return lr;
        if (left <= 0) return least;
        if (s->power > 0) power = (double)s->power;
        return least + (lr - least) * tfn__pow(left, power);
    case TFN_SCHEDULE_COSINE:    /* (1 - cos a)/2 as sin(a/2)^2, which does not cancel */
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_COSINE)) return lr;
        root = tfn__sin(3.14159265358979323846 / 2 * left);
        return least + (lr - least) * root * root;
    case TFN_SCHEDULE_WARMUP_STABLE_DECAY:
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_WARMUP_STABLE_DECAY)) return lr;
        return least + (lr - least) * tfn__rate_left(s, t, tfn__stable_until(s));
    default:
        return lr;               /* constant; or step, which step_at lowers */
    }
}

/* Noam has a single formula. All other schedules begin with a linear warm-up, from lr_init at 0 to
 * lr at the last update of the warm-up. step_at applies to every schedule. */
TFNORM_API float tfn_schedule_at(const tfn_schedule *s, int64_t t, int32_t width)
{
    double lr;
    if (!s) return (float)NAN;
    if (s->frozen) return 0;
    const double warm = (double)s->warmup;
    const double first = (double)s->lr_init;
    double counted = (double)t;
    if (s->fairseq) counted = (double)(t - 1);

    if (tfn__is_kept(TFNORM_SCHEDULES, (int)s->kind, TFN_SCHEDULE_NOAM))
        lr = tfn__noam(s, counted, (double)width);
    else if (s->warmup > 0 && counted <= warm)
        lr = first + counted * ((double)s->lr - first) / warm;
    else
        lr = tfn__decayed(s, counted);

    if (s->step_at > 0 && t > s->step_at) {
        double factor = 0.1;
        if (s->step_factor > 0) factor = (double)s->step_factor;
        lr *= factor;
    }
    return (float)lr;
}
#endif
