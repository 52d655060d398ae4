#include "optim.h"
#include "../ground/math.h"
#include "losses.h"
#include "packing.h"

static inline double tfn__sqrt(double x) { return tfn__pow(x, 0.5); }      /* within 1e-15 */

#if !defined TFNORM_NO_TRAINING && !defined TFNORM_ONLY_KERNELS
/* What the optimizers' rows begin with: see their list. */
enum {
    TFN__MOMENT_NONE, TFN__MOMENT_ASKED, TFN__MOMENT_EACH, TFN__MOMENT_REST, TFN__MOMENT_SUMS
};

/* The rule of an optimizer. Row 0, of a default that was not resolved, keeps nothing. */
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

/* Floats that a moment, 0 or 1, keeps of a tensor; `matrix`: the row counts it as one. */
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
#endif

#ifndef TFNORM_NO_TRAINING
/* RAdam (Liu et al. 2020, algorithm 2): rho_t, at most rho_end = 2/(1-b2) - 1, tells how many
 * gradients the second moment has seen. Where it is large enough, the step is r_t times Adam's;
 * below, the variant decides (tfn_radam has their thresholds). power is b2^t. Returns r_t, or 0
 * below. */
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

/* Adafactor's beta2 of update t: 1 - t^-0.8 (Shazeer & Stern 2018, section 7.2), or if one is
 * given, what it and Adam's correction of the bias come to, b (1 - b^(t-1))/(1 - b^t) (section
 * 7.1). */
static float tfn__adafactor_beta2(double b, double t)
{
    if (b > 0) return (float)(b * (1 - tfn__pow(b, t - 1)) / (1 - tfn__pow(b, t)));
    return (float)(1 - tfn__pow(t, -0.8));
}

/* What all parameters have in common at update t >= 1: fill step_size, root, adaptive and skip.
 * Adam's step is lr m^/(sqrt(v^) + eps), m^ = m/(1 - b1^t), v^ = v/(1 - b2^t). eps_inside
 * (PyTorch's Adam) has eps there, else (fairseq, PyTorch's RAdam) it stands beside sqrt(v):
 *
 *   inside   step_size = lr/(1 - b1^t)                step_size m/(sqrt(v)/sqrt(1 - b2^t) + eps)
 * outside  step_size = lr sqrt(1 - b2^t)/(1 - b1^t)             step_size m/(sqrt(v) + eps)
 *
 * RAdam multiplies step_size by r_t; where there is none, the step is lr m^ alone. Schedule-free
 * AdamW has no m and no b1 here. */
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

#if defined TFN__QUANT && !defined TFNORM_NO_TRAINING && !defined TFNORM_ONLY_KERNELS
/* -- moments of fewer bits: tfn_moment_type ---------------------------------------------------- */

static uint8_t *tfn__moment_exponents(const tfn__moment *m)
{
    const ptrdiff_t blocks = (m->count + TFN__MOMENT_BLOCK - 1) / TFN__MOMENT_BLOCK;
    return (uint8_t *)m->data + blocks * TFN__MOMENT_BLOCK;
}

/* Bits of the fraction of a code. */
static int tfn__moment_fraction(const tfn__moment *m) { return 3 + m->which; }

/* The number of a code in a block with this exponent, 0 where it would be a denormal. */
static float tfn__from_fp8(uint32_t code, uint32_t exponent, int fraction)
{
    const uint32_t e = code >> fraction & 15;
    const uint32_t f = code & ((1u << fraction) - 1);
    if (exponent == 255) return (float)NAN;
    if (exponent < 32) return 0;
    if (e) return tfn__from_bits((exponent + e - 14) << 23 | f << (23 - fraction));
    return (float)(int32_t)f * tfn__from_bits((exponent - 13 - (uint32_t)fraction) << 23);
}

/* The code of x >= 0: bits of the fraction that have no place are added to as many random ones, and
 * carry into the rest as often as their value says. */
static uint32_t tfn__to_fp8(float x, uint32_t exponent, int fraction, uint32_t random)
{
    const uint32_t u = tfn__to_bits(x);
    const uint32_t drop = 23 - (uint32_t)fraction;
    const int32_t e = (int32_t)(u >> 23) - (int32_t)exponent + 14;
    uint32_t bits = (u & 0x7fffffu) | 1u << 23;
    if (e < -22) bits = 0;
    else if (e < 1) bits >>= 1 - e;
    else bits += (uint32_t)(e - 1) << 23;
    return (bits + (random & ((1u << drop) - 1))) >> drop;
}

/* BF16: what is neither infinite nor a NaN is rounded as above. */
static uint16_t tfn__to_bf16_at_random(float x, uint32_t random)
{
    const uint32_t u = tfn__to_bits(x);
    if ((u & 0x7f800000u) == 0x7f800000u) return tfn__to_bf16(x);
    return (uint16_t)((u + (random & 0xffff)) >> 16);
}

/* y = numbers at ... at + n - 1; at is a multiple of TFN__MOMENT_BLOCK. */
SHARED void tfn__moment_read(float *y, const tfn__moment *m, ptrdiff_t at, ptrdiff_t n)
{
    const int fraction = tfn__moment_fraction(m);
    const uint16_t *half = (const uint16_t *)m->data + at;
    const uint8_t *codes = (const uint8_t *)m->data + at;
    if (m->type == TFN_MOMENT_TYPE_BF16) {
        for (ptrdiff_t i = 0; i < n; i++) y[i] = tfn__from_bf16(half[i]);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint32_t exponent = tfn__moment_exponents(m)[(at + i) / TFN__MOMENT_BLOCK];
        const float x = tfn__from_fp8(codes[i], exponent, fraction);
        if (m->which) y[i] = x * x;
        else if (codes[i] & 0x80) y[i] = -x;
        else y[i] = x;
    }
}

/* A block of n numbers x, and its exponent; draws are counted from `first` on. What the second
 * moment keeps is the root. */
static void tfn__moment_block(uint8_t *codes, uint8_t *exponent, float *x, ptrdiff_t n, int which,
                              tfn_key key, uint64_t first)
{
    uint32_t most = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t u;
        if (which) x[i] = TFN__SQRT(x[i]);
        u = tfn__to_bits(x[i]) & 0x7fffffffu;
        if (u > most) most = u;
    }
    *exponent = (uint8_t)(most >> 23);
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint64_t random = tfn_random_bits(key, first + (uint64_t)i) >> 32 * which;
        const uint32_t u = tfn__to_bits(x[i]);
        const float size = tfn__from_bits(u & 0x7fffffffu);
        uint32_t code = 0;
        if (size > 0) code = tfn__to_fp8(size, *exponent, 3 + which, (uint32_t)random);
        if (which && size > 0 && !code) code = 1;
        if (!which) code |= u >> 24 & 0x80;
        codes[i] = (uint8_t)code;
    }
}

/* Numbers at ... at + n - 1 from x, which is used up. Place i of the tensor draws number first + i
 * of the key, the lower half for the first moment, the upper one for the second. */
SHARED void tfn__moment_write(float *x, const tfn__moment *m, ptrdiff_t at, ptrdiff_t n,
                              tfn_key key, uint64_t first)
{
    uint16_t *half = (uint16_t *)m->data + at;
    first += (uint64_t)at;
    if (m->type == TFN_MOMENT_TYPE_BF16) {
        for (ptrdiff_t i = 0; i < n; i++) {
            const uint64_t random = tfn_random_bits(key, first + (uint64_t)i) >> 32 * m->which;
            half[i] = tfn__to_bf16_at_random(x[i], (uint32_t)random);
        }
        return;
    }
    for (ptrdiff_t i = 0; i < n; i += TFN__MOMENT_BLOCK)
        tfn__moment_block((uint8_t *)m->data + at + i,
                          tfn__moment_exponents(m) + (at + i) / TFN__MOMENT_BLOCK, x + i,
                          tfn__min(n - i, TFN__MOMENT_BLOCK), m->which, key,
                          first + (uint64_t)i);
}
#endif

#ifndef TFNORM_ONLY_KERNELS
/* -- schedules: the rate of an update; formulas stand at the rows, tfn_schedule_kind --------- */

/* r, the share of a decay that is left: 1 at update `from`, then down in equal steps to 0 behind
 * the last update, so that this one still moves; in fairseq's counting to 0 at the last. Without an
 * end it stays 1. */
static double tfn__rate_left(const tfn_schedule *s, double t, double from)
{
    double end = (double)s->steps;
    if (!s->fairseq) end += 1;
    if (s->steps <= 0 || t <= from) return 1;
    if (t >= end) return 0;
    return (end - t) / (end - from);
}

/* The last update of stable-decay at the peak, S - D: D = decay_steps, by default a tenth of all,
 * and from 1 to what the warm-up leaves. */
static double tfn__stable_until(const tfn_schedule *s)
{
    const int64_t most = s->steps - s->warmup;
    int64_t decay = s->decay_steps;
    if (decay <= 0) decay = s->steps / 10;
    if (decay < 1) decay = 1;
    if (decay > most) decay = most;
    return (double)(s->steps - decay);
}

/* c d^-1/2 min(t^-1/2, t W^-3/2), Vaswani 2017, eq. 3; lr is the factor c, d the width. In
 * fairseq's counting t begins with 0, whose rate is 0. */
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

/* A of the inverse square root: the end of the warm-up, where both formulas give lr. */
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

/* The rate behind the warm-up. Those that end fall from lr to lr_min, which comes behind the last
 * update. */
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
    case TFN_SCHEDULE_COSINE:    /* (1 - cos a)/2 is sin(a/2)^2, which keeps its digits */
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_COSINE)) return lr;
        root = tfn__sin(3.14159265358979323846 / 2 * left);
        return least + (lr - least) * root * root;
    case TFN_SCHEDULE_WARMUP_STABLE_DECAY:
        if (!TFN__KEEPS(SCHEDULES, TFN_SCHEDULE_WARMUP_STABLE_DECAY)) return lr;
        return least + (lr - least) * tfn__rate_left(s, t, tfn__stable_until(s));
    default:
        return lr;               /* constant; step, which step_at lowers */
    }
}

/* Noam has one formula; all others a linear warm-up, from lr_init at 0 to lr at its last update,
 * and then their own. step_at applies to any of them. */
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
#endif /* TFNORM_ONLY_KERNELS */
