/* Rows of Xiong 2020, "On Layer Normalization in the Transformer Architecture". */
#include "xiong.h"
#include "../../tfnorm.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* -- sampling and sizes ------------------------------------------------------------------------ */

static const char *const post_and_pre[] = { "post", "pre" };

/* The share of a seed's tokens whose `list` is at most `limit` times their mean, or if not relative
 * at most `limit`. */
static lab_sample share_below(lab *l, lab_spec s, const char *list, double limit, bool relative)
{
    enum { TOKENS = 8 * 16 };
    static lab_sample rows[TOKENS];
    samples_of(l, s, list, TOKENS, rows);
    const lab_sample mean = mean_of(rows, TOKENS);
    lab_sample a = mean;
    for (int32_t k = 0; k < a.n; k++) {
        int inside = 0;
        const double most = relative ? limit * mean.v[k] : limit;
        for (int32_t i = 0; i < TOKENS; i++) inside += rows[i].v[k] <= most;
        a.v[k] = (double)inside / TOKENS;
    }
    lab_sum_up(&a);
    return a;
}
static void x1(lab *l, outcome *o)
{
    for (int k = 0; k < 2; k++) {
        lab_spec s = theory(post_and_pre[k], 12);
        s.width = s.ffn = 512;
        s.few = true;
        finds(o, share_below(l, s, "energies", 1.1, true));
    }
}
static void x2(lab *l, outcome *o)
{
    const int32_t d = 64;
    const int32_t n = 20000;
    const double sigma = 1.5;
    tfn_key key = tfn_key_make(2);
    double sum = 0, ratio;
    (void)l;
    for (int32_t i = 0; i < n * d; i++) {
        double x = sigma * (double)tfn_random_normal(key, (uint64_t)i);
        if (x > 0) sum += x*x;
    }
    ratio = sum / n / (sigma*sigma * d/2);
    say(o, "E|ReLU(X)|^2 / (sigma^2 d/2) = %.4f, %d samples, d %d. ", ratio, n, d);
    holds(o, fabs(ratio - 1) < 0.01);
}

/* Draws the sizes of every layer; returns how many. */
static int32_t energies(lab *l, outcome *o, const char *recipe, const char *list, int32_t odd,
                        lab_sample *rows)
{
    const int32_t n = lab_layers(l, 12);
    figure_line *line = line_of(o, "layer", "mean of |x|^2 / d", recipe);
    for (int32_t i = 0; i < n; i++) {
        rows[i] = lab_over(l, theory(recipe, 12), list, 2*i + odd);
        point(line, i + 1, rows[i].mean, rows[i].sd);
    }
    return n;
}
static void x3(lab *l, outcome *o)
{
    static lab_sample rows[LAB_DEEPEST];
    const int32_t n = energies(l, o, "post", "enc_sum_energy", 1, rows);
    finds(o, mean_of(rows, n));
    finds(o, extreme(rows, n, false));
    finds(o, extreme(rows, n, true));
}
/* The expectation is in [1, 2], so only an interval outside would contradict the paper. */
static void x4(lab *l, outcome *o)
{
    static lab_sample rows[LAB_DEEPEST];
    const int32_t n = energies(l, o, "post", "enc_sum_energy", 0, rows);
    const lab_sample low = extreme(rows, n, false);
    const lab_sample high = extreme(rows, n, true);
    say(o, "layers from %.3f to %.3f (theory [1, 2]). ", low.mean, high.mean);
    holds(o, interval_of(low.v, low.n).high >= 1 && interval_of(high.v, high.n).low <= 2);
}
void x5(lab *l, outcome *o)
{
    static lab_sample rows[LAB_DEEPEST];
    double x[LAB_DEEPEST];
    for (int32_t i = 0; i < LAB_DEEPEST; i++) x[i] = i + 1;
    const int32_t n = energies(l, o, "pre", "enc_output_energy", 1, rows);
    finds(o, jackknifed(rows, n, x, linear_slope));
    finds(o, jackknifed(rows, n, x, linear_share));
}

/* The largest singular value of LayerNorm's Jacobian at x, by power iteration with the header's
 * backward; the Jacobian without gain is symmetric. */
static double jacobian(const float *x, int32_t d)
{
    float y[256], v[256], u[256], mean, rate;
    tfn_norm_args p;
    double size = 0;
    memset(&p, 0, sizeof p);
    p.kind = TFN_NORM_LAYER;
    p.x = x;
    p.y = y;
    p.mean = &mean;
    p.rstd = &rate;
    p.rows = 1;
    p.cols = d;
    p.eps = 1e-12f;
    p.dy = v;
    p.dx = u;
    tfn_kernels_for(TFN_ISA_BEST)->norm_forward(&p);
    for (int32_t i = 0; i < d; i++) v[i] = (float)tfn_random_normal(tfn_key_make(6), (uint64_t)i);
    for (int k = 0; k < 200; k++) {
        size = 0;
        tfn_kernels_for(TFN_ISA_BEST)->norm_backward(&p);
        for (int32_t i = 0; i < d; i++) size += (double)u[i] * (double)u[i];
        size = sqrt(size);
        for (int32_t i = 0; i < d; i++) v[i] = (float)((double)u[i] / size);
    }
    return size;
}
static void x6(lab *l, outcome *o)
{
    static const int32_t widths[] = { 16, 64, 256 };
    double low = 1e9;
    double high = 0;
    figure_line *line = line_of(o, "width d", "|J|_2 |x| / sqrt(d)", "LayerNorm");
    (void)l;
    for (int k = 0; k < 3; k++) {
        lab_sample sample;
        for (sample.n = 0; sample.n < 20; sample.n++) {
            const int i = sample.n;
            float x[256];
            double sum = 0, value;
            tfn_key key = tfn_key_fold(tfn_key_make(66), (uint64_t)(100*k + i));
            for (int32_t c = 0; c < widths[k]; c++) {
                x[c] = (float)(1 + i) * (float)tfn_random_normal(key, (uint64_t)c);
                sum += (double)x[c] * (double)x[c];
            }
            value = jacobian(x, widths[k]) * sqrt(sum / widths[k]);
            low = fmin(low, value);
            high = fmax(high, value);
            sample.v[i] = value;
        }
        lab_sum_up(&sample);
        point(line, widths[k], sample.mean, sample.sd);
    }
    say(o, "|J|_2 |x|/sqrt(d) from %.3f to %.3f over 60 normal vectors of scales 1 to 20. ", low,
        high);
    holds(o, low > 0.8 && high < 1.5);
}
static void x7(lab *l, outcome *o)
{
    enum { D = 24 };
    double a[D], size = 0, wrong = 0, trace = 0;
    (void)l;
    for (int i = 0; i < D; i++) a[i] = (double)tfn_random_normal(tfn_key_make(7), (uint64_t)i);
    for (int i = 0; i < D; i++) size += a[i] * a[i];
    for (int i = 0; i < D; i++) a[i] /= sqrt(size);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {       /* P^2 = P: eigenvalues 0, 1; the trace counts the 1s */
            double square = 0;
            for (int k = 0; k < D; k++) square += ((i == k) - a[i]*a[k]) * ((k == j) - a[k]*a[j]);
            wrong = fmax(wrong, fabs(square - ((i == j) - a[i]*a[j])));
            trace += i == j ? 1 - a[i]*a[i] : 0;
        }
    say(o, "P = I - aa^T, d %d: |P^2 - P| <= %.1e, trace %.12f. ", D, wrong, trace);
    holds(o, wrong < 1e-12 && fabs(trace - (D - 1)) < 1e-10);
}
static void x9(lab *l, outcome *o)
{
    for (int k = 0; k < 2; k++)
        finds(o, share_below(l, theory(post_and_pre[k], 12), "hidden_max", 2 * log(100.0 * 128),
                             false));
}

/* -- gradients at the start -------------------------------------------------------------------- */

static const int32_t depths[] = { 2, 4, 6, 8, 12, 14, 18 };
enum { DEPTHS = 7 };

/* The last W2's gradient ~ L^b: b for each seed, from depth number `first` on. */
static lab_sample depth_power(lab *l, outcome *o, const char *recipe, int32_t first)
{
    static lab_sample rows[DEPTHS];
    double x[DEPTHS];
    o->fig.log_x = o->fig.log_y = true;
    for (int i = 0; i < DEPTHS; i++) {
        rows[i] = lab_over(l, wide(at_start(recipe, depths[i])), "dec_w2_gradient", -1);
        x[i] = lab_layers(l, depths[i]);
    }
    points(line_of(o, "layers of each stack", LAST_W2, recipe), x, rows, DEPTHS);
    return exponents(rows + first, DEPTHS - first, x + first);
}
static void x8a(lab *l, outcome *o)
{
    finds(o, depth_power(l, o, "post", 0));
    depth_power(l, o, "pre", 0);
}
static void x8b(lab *l, outcome *o)
{
    finds(o, depth_power(l, o, "pre", 0));
    depth_power(l, o, "post", 0);
}
static void x15a(lab *l, outcome *o)
{
    finds(o, depth_power(l, o, "post", 2));
    depth_power(l, o, "pre", 2);
}
static void x15b(lab *l, outcome *o)
{
    finds(o, depth_power(l, o, "pre", 2));
    depth_power(l, o, "post", 2);
}

lab_sample last_over_first(lab *l, lab_spec s, const char *list)
{
    return log_ratio(lab_over(l, s, list, -1), lab_over(l, s, list, 0));
}
static void x10(lab *l, outcome *o, const char *recipe)
{
    const int n = lab_layers(l, 12);
    finds(o, last_over_first(l, theory(recipe, 12), "enc_w2_gradient"));
    for (int k = 0; k < 2; k++)
        draw_list(l, o, theory(post_and_pre[k], 12), "enc_w2_gradient", n, "layer", ANY_W2,
                  post_and_pre[k]);
    say(o, "The bound allows Post-LN a factor of %.1f. ", pow(1.5, (n - 1) / 2.0));
}
static void x10a(lab *l, outcome *o) { x10(l, o, "post"); }
static void x10b(lab *l, outcome *o) { x10(l, o, "pre"); }
static lab_spec by_itself(void)
{
    lab_spec s = theory("pre", 12);
    s.itself = true;
    return s;
}
static void x10c(lab *l, outcome *o)
{
    finds(o, last_over_first(l, by_itself(), "enc_w2_gradient"));
    draw_list(l, o, theory("pre", 12), "enc_w2_gradient", lab_layers(l, 12), "layer", ANY_W2,
              "attention to all alike");
    draw_list(l, o, by_itself(), "enc_w2_gradient", lab_layers(l, 12), "layer", ANY_W2,
              "attention to itself");
}
/* The logarithm of a ratio between last and first layer: the gradient of W2 times the size of the
 * stream that it writes to. */
static lab_sample by_size(lab *l, outcome *o, lab_spec s, const char *name)
{
    static lab_sample rows[LAB_DEEPEST];
    double x[LAB_DEEPEST];
    const int32_t n = lab_layers(l, 12);
    for (int32_t i = 0; i < n; i++) {
        const lab_sample energy = lab_over(l, s, "enc_output_energy", 2*i + 1);
        rows[i] = lab_over(l, s, "enc_w2_gradient", i);
        for (int32_t k = 0; k < rows[i].n; k++) rows[i].v[k] *= sqrt(energy.v[k]);
        lab_sum_up(&rows[i]);
        x[i] = i + 1;
    }
    points(line_of(o, "layer", "gradient of W2 times the stream's size", name), x, rows, n);
    return log_ratio(rows[n - 1], rows[0]);
}
static void x10d(lab *l, outcome *o)
{
    finds(o, by_size(l, o, theory("pre", 12), "attention to all alike"));
    finds(o, by_size(l, o, by_itself(), "attention to itself"));
}
static void x11(lab *l, outcome *o)
{
    static lab_sample rows[LAB_DEEPEST];
    double x[LAB_DEEPEST];
    const int32_t n = lab_layers(l, 12);
    for (int32_t i = 0; i < n; i++) {
        rows[i] = lab_over(l, theory("pre", 12), "enc_jacobian", 2*i);
        x[i] = i + 1;
    }
    points(line_of(o, "layer", "Jacobian of the norm, 1/deviation", "pre"), x, rows, n);
    finds(o, exponents(rows + 1, n - 1, x + 1));
}

lab_spec after_200(const char *recipe, int64_t warmup)
{
    lab_spec s = training(recipe, 6, 4e-3, warmup, 600);
    s.stop = 200;
    s.look = true;
    return s;
}
void draw_w2(lab *l, outcome *o, lab_spec s, const char *name)
{
    draw_list(l, o, s, "dec_w2_gradient", lab_layers(l, 6), "decoder layer", ANY_W2, name);
}
static void x14a(lab *l, outcome *o)
{
    finds(o, last_over_first(l, at_start("post", 6), "dec_w2_gradient"));
    draw_w2(l, o, at_start("post", 6), "post");
    draw_w2(l, o, at_start("pre", 6), "pre");
}
static void x14b(lab *l, outcome *o)
{
    finds(o, last_over_first(l, at_start("pre", 6), "dec_w2_gradient"));
    draw_w2(l, o, at_start("post", 6), "post");
    draw_w2(l, o, at_start("pre", 6), "pre");
}
static void x14c(lab *l, outcome *o)
{
    const lab_sample start = lab_over(l, at_start("post", 6), "dec_w2_gradient", -1);
    const lab_sample with = lab_over(l, after_200("post", 200), "dec_w2_gradient", -1);
    const lab_sample without = lab_over(l, after_200("post", 1), "dec_w2_gradient", -1);
    finds(o, log_ratio(with, start));
    finds(o, log_ratio(with, without));
    draw_w2(l, o, at_start("post", 6), "at the start");
    draw_w2(l, o, after_200("post", 200), "after a warm-up of 200");
    draw_w2(l, o, after_200("post", 1), "after 200 updates without");
}
/* How much the run without a warm-up has learned by then; and the gradients while it learns. */
static void x14d(lab *l, outcome *o)
{
    const lab_spec without = after_200("post", 1);
    const lab_spec slow_with = control(after_200("post", 200));
    const lab_spec slow_without = control(without);
    finds(o, log_ratio(loss_of(l, without), lab_over(l, without, "unigram", 0)));
    finds(o, log_ratio(lab_over(l, slow_with, "dec_w2_gradient", -1),
                       lab_over(l, slow_without, "dec_w2_gradient", -1)));
    draw_w2(l, o, slow_with, "a third of the rate, after a warm-up of 600");
    draw_w2(l, o, slow_without, "a third of the rate, after 600 without");
    say_sample(o, "Loss with a warm-up ", 2, loss_of(l, after_200("post", 200)));
    say_sample(o, ", without ", 2, loss_of(l, without));
    say_sample(o, "; at a third of the rate ", 2, loss_of(l, slow_with));
    say_sample(o, ", ", 2, loss_of(l, slow_without));
    say(o, ". ");
}
static double width_power(lab *l, outcome *o, const char *recipe)
{
    static lab_sample rows[4];
    double x[4];
    o->fig.log_x = o->fig.log_y = true;
    for (int i = 0; i < 4; i++) {
        lab_spec s = theory(recipe, 6);
        s.width = s.ffn = 16 << i;
        rows[i] = lab_over(l, s, "enc_w2_gradient", -1);
        x[i] = lab_width(l, 16 << i);
    }
    points(line_of(o, "width d", LAST_W2, recipe), x, rows, 4);
    return exponents(rows, 4, x).mean;
}
static void x22(lab *l, outcome *o)
{
    const double post = width_power(l, o, "post");
    const double pre = width_power(l, o, "pre");
    say(o, "gradient of the last W2 ~ d^b, d = 16..128: Post-LN b = %.2f, Pre-LN b = %.2f (the "
        "bound is d sqrt(ln d), about 1.1). ", post, pre);
    holds(o, post <= 1.2 && pre <= 1.2);
}
static void x23(lab *l, outcome *o)
{
    enum { D = 64, N = 20000 };
    const double bound_of_y = 3;
    const double eps = 0.5;
    int below = 0;
    int above = 0;
    double mean = 0;
    double tail = exp(-D * eps*eps / 8);
    (void)l;
    for (int i = 0; i < N; i++) {
        double z = 0, y;
        tfn_key key = tfn_key_fold(tfn_key_make(23), (uint64_t)i);
        for (int c = 0; c < D; c++) {
            double v = (double)tfn_random_normal(key, (uint64_t)c);
            z += v*v / D;
        }
        y = fmin(z, bound_of_y);
        mean += y / N;
        below += y <= 0.75;
        above += z >= 1 + eps;
    }
    say(o, "Pr[Y <= 0.75] = %.4f <= %.4f; Pr[chi^2/d >= 1.5] = %.5f <= %.4f, d %d. ",
        (double)below / N, (bound_of_y - mean) / (bound_of_y - 0.75), (double)above / N, tail, D);
    holds(o, (double)below / N <= (bound_of_y - mean) / (bound_of_y - 0.75)
          && (double)above / N <= tail);
}

/* -- training ---------------------------------------------------------------------------------- */

lab_spec by_adam(int64_t warmup) { return training("post", 4, 8e-3, warmup, 500); }
lab_spec by_sgd(int64_t warmup, double momentum)
{
    lab_spec s = training("post", 4, 1, warmup, 1500);
    s.optimizer = TFN_OPTIMIZER_SGD;
    s.beta1 = momentum;
    if (momentum > 0) {
        s.lr = 0.2;
        s.steps = s.stop = 500;
    }
    return s;
}
static void needs_warmup(lab *l, outcome *o, lab_spec without, lab_spec with)
{
    draw_loss(l, o, without, "no warm-up");
    draw_loss(l, o, longer(without), "no warm-up, three times the updates");
    draw_loss(l, o, with, "warm-up");
    finds(o, bleu_of(l, without));
    finds(o, bleu_of(l, longer(without)));
    finds(o, bleu_of(l, with));
    say_sample(o, "With a third of the rate and three times the updates, without warm-up: BLEU ", 1,
               bleu_of(l, control(without)));
    say(o, ". ");
}
static void x12a(lab *l, outcome *o) { needs_warmup(l, o, by_adam(1), by_adam(200)); }
static void x12b(lab *l, outcome *o) { needs_warmup(l, o, by_sgd(1, 0), by_sgd(200, 0)); }
static void x12c(lab *l, outcome *o) { needs_warmup(l, o, by_sgd(1, 0.9), by_sgd(200, 0.9)); }

/* The inverse square root. "No warm-up" has two meanings: in fairseq's, the rate falls from update
 * 1 on; in the other, it falls from the update at which the warm-up would have ended. */
static void x12d(lab *l, outcome *o)
{
    lab_spec s = by_adam(200);
    s.schedule = TFN_SCHEDULE_INVERSE_SQRT;
    s.anchor = 200;
    const lab_sample with = bleu_of(l, s);
    draw_loss(l, o, s, "warm-up");
    s.warmup = 1;
    const lab_sample late = bleu_of(l, s);
    draw_loss(l, o, s, "no warm-up, falling after 200");
    s.anchor = 1;
    const lab_sample early = bleu_of(l, s);
    draw_loss(l, o, s, "no warm-up, falling after 1");
    finds(o, late);
    finds(o, early);
    finds(o, with);
}
static void warmup_lengths(lab *l, outcome *o, double lr)
{
    static const int64_t warmups[] = { 1, 50, 200 };
    lab_sample loss[3];
    for (int i = 0; i < 3; i++) {
        const lab_spec s = training("post", 6, lr, warmups[i], 600);
        char name[32];
        snprintf(name, sizeof name, "warm-up %d", (int)warmups[i]);
        draw_loss(l, o, s, name);
        loss[i] = loss_of(l, s);
    }
    finds(o, minus(loss[0], loss[1]));
    finds(o, minus(loss[1], loss[2]));
}
static void x13a(lab *l, outcome *o) { warmup_lengths(l, o, 2e-3); }
static void x13b(lab *l, outcome *o) { warmup_lengths(l, o, 4e-3); }

static lab_spec pre_shallow(void) { return training("pre", 4, 8e-3, 1, 500); }
static lab_spec without_warmup(lab_spec s)
{
    s.warmup = 1;
    return s;
}
static void x16a(lab *l, outcome *o)
{
    const lab_spec pre = without_warmup(settled("pre", 4));
    const lab_spec post = settled("post", 4);
    const lab_sample ended[2] = { lab_over(l, pre, "settled", 0), lab_over(l, post, "settled", 0) };
    finds(o, mean_of(ended, 2));
    finds(o, minus(bleu_of(l, pre), bleu_of(l, post)));
    draw_loss(l, o, pre, "Pre-LN, no warm-up");
    draw_loss(l, o, post, "Post-LN, warm-up");
}
static void x16b(lab *l, outcome *o)
{
    const lab_sample pre = reaches(l, pre_shallow(), constant(l, pre_shallow(), 0.2));
    const lab_sample post = reaches(l, by_adam(200), constant(l, by_adam(200), 0.2));
    finds(o, log_ratio(pre, post));
    finds(o, minus(minus(post, pre), constant(l, pre_shallow(), 200)));
    draw_loss(l, o, pre_shallow(), "Pre-LN, no warm-up");
    draw_loss(l, o, by_adam(200), "Post-LN, warm-up");
}
static lab_spec rectified(const char *recipe, bool radam, double beta2)
{
    lab_spec s = training(recipe, 6, 4e-3, 1, 600);
    if (radam) s.optimizer = TFN_OPTIMIZER_RADAM;
    s.beta2 = beta2;
    return s;
}
static void radam(lab *l, outcome *o, const char *recipe, double beta2)
{
    draw_loss(l, o, rectified(recipe, false, beta2), "Adam");
    draw_loss(l, o, rectified(recipe, true, beta2), "RAdam");
}
static void x16c(lab *l, outcome *o)
{
    finds(o, minus(bleu_of(l, rectified("post", true, 0.995)),
                   bleu_of(l, rectified("post", false, 0.995))));
    radam(l, o, "post", 0.995);
    say_sample(o, "BLEU of RAdam at beta2 .995 ", 1, bleu_of(l, rectified("post", true, 0.995)));
    say_sample(o, ", at .98 ", 1, bleu_of(l, rectified("post", true, 0.98)));
    say(o, ". ");
}
static void x16d(lab *l, outcome *o)
{
    lab_spec adam = without_warmup(settled("pre", 6));
    adam.beta2 = 0.995;
    lab_spec other = adam;
    other.optimizer = TFN_OPTIMIZER_RADAM;
    const lab_sample ended[2] = { lab_over(l, adam, "settled", 0),
                                  lab_over(l, other, "settled", 0) };
    finds(o, mean_of(ended, 2));
    finds(o, minus(loss_of(l, other), loss_of(l, adam)));
    draw_loss(l, o, adam, "Adam");
    draw_loss(l, o, other, "RAdam");
}
static void grammar_at(lab *l, outcome *o, double lr)
{
    lab_spec s[3] = { training("post", 4, lr, 1, 500), training("post", 4, lr, 200, 500),
                      training("pre", 4, lr, 1, 500) };
    static const char *const names[] = { "Post-LN, no warm-up", "Post-LN, warm-up",
                                         "Pre-LN, no warm-up" };
    lab_sample bleu[3];
    for (int k = 0; k < 3; k++) {
        s[k].task = LAB_GRAMMAR;
        bleu[k] = scored(l, o, s[k], names[k], bleu_of(l, s[k]));
    }
    finds(o, minus(bleu[1], bleu[0]));
    finds(o, minus(bleu[2], bleu[0]));
}
static void x17a(lab *l, outcome *o) { grammar_at(l, o, 6e-3); }
static void x17b(lab *l, outcome *o) { grammar_at(l, o, 8e-3); }
static void grammar_speed(lab *l, outcome *o, double lr)
{
    lab_spec pre = training("pre", 4, lr, 1, 500);
    lab_spec post = training("post", 4, lr, 200, 500);
    pre.task = post.task = LAB_GRAMMAR;
    const lab_sample slow = reaches(l, post, constant(l, post, 0.5));
    finds(o, slow);
    finds(o, log_ratio(reaches(l, pre, constant(l, pre, 0.5)), slow));
    draw_loss(l, o, pre, "Pre-LN, no warm-up");
    draw_loss(l, o, post, "Post-LN, warm-up");
}
static void x17c(lab *l, outcome *o) { grammar_speed(l, o, 6e-3); }
static void x17d(lab *l, outcome *o) { grammar_speed(l, o, 8e-3); }
static lab_spec constant_rate(void)
{
    lab_spec s = training("post", 6, 5e-4, 1, 600);
    s.schedule = TFN_SCHEDULE_CONSTANT;
    return s;
}
static void draw_rates(lab *l, outcome *o)
{
    draw_loss(l, o, constant_rate(), "5e-4, constant");
    draw_loss(l, o, training("post", 6, 4e-3, 1, 600), "4e-3, no warm-up");
    draw_loss(l, o, training("post", 6, 4e-3, 200, 600), "4e-3, warm-up");
}
void x20a(lab *l, outcome *o)
{
    finds(o, minus(loss_of(l, constant_rate()), loss_of(l, training("post", 6, 4e-3, 1, 600))));
    draw_rates(l, o);
}
static void x20b(lab *l, outcome *o)
{
    finds(o, minus(loss_of(l, constant_rate()), loss_of(l, training("post", 6, 4e-3, 200, 600))));
    draw_rates(l, o);
}

/* Masked pre-training with 4 layers, where Post-LN learns, too; two facts at a time. */
static lab_spec masked(const char *recipe, double lr, int64_t warmup)
{
    lab_spec s = training(recipe, 4, lr, warmup, 1500);
    s.task = LAB_MASKED;
    s.smoothing = 0;
    s.score = false;
    s.tune = 200;
    return s;
}
static void x18(lab *l, outcome *o)
{
    const lab_spec post = masked("post", 1e-3, 200);
    const lab_spec pre = masked("pre", 3e-3, 1);
    const lab_sample end = loss_of(l, post);
    lab_sample share = reaches(l, pre, end);
    draw_loss(l, o, post, "Post-LN, 1e-3, warm-up");
    draw_loss(l, o, pre, "Pre-LN, 3e-3, no warm-up");
    for (int32_t i = 0; i < share.n; i++) share.v[i] /= (double)pre.stop;
    lab_sum_up(&share);
    finds(o, minus(end, lab_over(l, post, "unigram", 0)));
    finds(o, share);
    say_sample(o, "loss of hidden words: Post-LN ", 3, end);
    say_sample(o, ", Pre-LN ", 3, loss_of(l, pre));
    say(o, ". ");
}
static void x18b(lab *l, outcome *o)
{
    const lab_spec post = masked("post", 3e-3, 200);
    const lab_spec pre = masked("pre", 3e-3, 1);
    draw_loss(l, o, post, "Post-LN, warm-up");
    draw_loss(l, o, pre, "Pre-LN, no warm-up");
    finds(o, minus(loss_of(l, pre), lab_over(l, pre, "unigram", 0)));
    finds(o, minus(loss_of(l, post), lab_over(l, post, "unigram", 0)));
}
static void x19(lab *l, outcome *o)
{
    const lab_spec specs[2] = { masked("post", 1e-3, 200), masked("pre", 3e-3, 1) };
    lab_sample mean[2];
    for (int k = 0; k < 2; k++) {
        lab_sample rows[4];
        static const double updates[] = { 375, 750, 1125, 1500 };
        samples_of(l, specs[k], "tuned", 4, rows);
        points(line_of(o, "updates of pre-training", "accuracy of the classifier",
                       specs[k].recipe), updates, rows, 4);
        mean[k] = mean_of(rows, 4);
        say_sample(o, k ? ", Pre-LN " : "mean accuracy: Post-LN ", 3, mean[k]);
    }
    say(o, ". ");
    finds(o, minus(mean[1], mean[0]));
}

/* -- the rows ---------------------------------------------------------------------------------- */

#define GRADIENT_POWER "exponent b of the last W2's gradient, L^b"
#define WITHOUT "BLEU without warm-up"
#define WITHOUT_LONG "BLEU without, three times the updates"
#define WITH "BLEU with warm-up"
#define NEEDS_WARMUP { { .what = WITHOUT, BELOW(FAILS_BELOW) }, \
    { .what = WITHOUT_LONG, BELOW(FAILS_BELOW) }, { .what = WITH, ABOVE(LEARNS_ABOVE) } }

const claim xiong_claims[] = {
    { .id = "X1", .item = "definition 1", .title = "the norm of the output is concentrated",
      .expected = "a share of at least 0.875 is within 10 % above the mean",
      .paper = "(0.1, 0.125)-bounded",
      .criteria = { { .what = "Post-LN, share of tokens at most 10 % above their mean",
                      ABOVE(0.875) },
                    { .what = "Pre-LN, the same", ABOVE(0.875) } },
      .setting = "the theorems' setting at the paper's width: one stack of 12, d 512, "
      "a quarter of the seeds",
      .measure = x1, .before = "at width 128, where a normal vector is not so concentrated: not "
      "shown" },
    { .id = "X2", .item = "lemma 1", .title = "E|ReLU(X)|^2 = sigma^2 d/2", .kind = CHECK_ROW,
      .expected = "sigma^2 d/2", .check = "within 1 %", .setting = BY_HAND, .measure = x2,
      .before = "counted as a measurement" },
    { .id = "X3", .item = "lemma 2",
      .title = "Post-LN: the sum before the second norm has size 3/2 d",
      .picture = "Post-LN keeps its size", .expected = "3/2 in all layers",
      .criteria = { { .what = "mean of |x|^2/d over layers", BETWEEN(1.4, 1.6) },
                    { .what = "the least layer", BETWEEN(1.3, 1.7) },
                    { .what = "the largest layer", BETWEEN(1.3, 1.7) } },
      .setting = THEORY, .measure = x3 },
    { .id = "X4", .item = "lemma 2", .kind = CHECK_ROW,
      .title = "Post-LN: the sum behind the attention has size 1 + |mean of x|^2/d",
      .picture = "Behind the attention", .expected = "between 1 and 2",
      .check = "no layer's interval outside 1 to 2, which a mean of vectors of length 1 cannot "
      "leave", .setting = THEORY, .measure = x4,
      .before = "counted as a measurement" },
    { .id = "X5", .item = "lemma 2", .title = "Pre-LN: the stream grows by 1/2 to 3/2 d a layer",
      .picture = "Pre-LN's stream grows with every layer", .expected = "[1 + l/2, 1 + 3l/2]",
      .criteria = { { .what = "slope of |x|^2/d, a layer", BETWEEN(0.5, 1.5) },
                    { .what = "R^2 of the line", ABOVE(0.95) } },
      .setting = THEORY, .measure = x5 },
    { .id = "X6", .item = "lemma 3", .kind = CHECK_ROW,
      .title = "LayerNorm's Jacobian is O(sqrt(d)/|x|)", .expected = "1 for x of mean 0",
      .check = "|J| |x|/sqrt(d) in [0.8, 1.5] for all",
      .setting = "60 normal vectors, d 16, 64, 256", .measure = x6,
      .before = "counted as a measurement" },
    { .id = "X7", .item = "lemma 4", .kind = CHECK_ROW,
      .title = "I - aa^T has the eigenvalues 0, 1, ..., 1", .expected = "exact",
      .check = "a projection of trace d - 1 to 1e-10", .setting = BY_HAND, .measure = x7,
      .before = "counted as a measurement" },
    { .id = "X8a", .item = "theorem 1",
      .title = "Post-LN: the last layer's gradient does not depend on depth",
      .picture = "The last layer's gradient against depth", .expected = "L^0",
      .criteria = { { .what = GRADIENT_POWER ", L = 2 to 18", BETWEEN(-0.2, 0.2) } },
      .setting = AT_START_WIDE, .measure = x8a,
      .before = "one row with X8b, judged by the exponent of means: shown" },
    { .id = "X8b", .item = "theorem 1",
      .title = "Pre-LN: the last layer's gradient falls as 1/sqrt(L)",
      .picture = "The last layer's gradient against depth", .expected = "L^-0.5",
      .criteria = { { .what = GRADIENT_POWER ", L = 2 to 18", BETWEEN(-0.7, -0.3) } },
      .setting = AT_START_WIDE, .measure = x8b, .before = "one row with X8a: shown" },
    { .id = "X9", .item = "proof of theorem 1",
      .title = "no hidden unit is larger than sqrt(2 ln(100 d))",
      .expected = "with a probability of 0.99",
      .criteria = { { .what = "Post-LN, share of the last layer's tokens within the bound",
                      ABOVE(0.99) },
                    { .what = "Pre-LN, the same", ABOVE(0.99) } },
      .setting = THEORY, .measure = x9,
      .before = "counted as a measurement: shown; then as a check, which one model of the seeds "
      "from 1001 on breaks" },
    { .id = "X10a", .item = "appendix F", .title = "Post-LN: gradients grow with the layer",
      .picture = "Gradients by layer in the theorems' setting", .expected = "at most (3/2)^(1/2) a "
      "layer",
      .criteria = { { .what = "W2, last over first layer", .log = true, MORE(0.405465) } },
      .setting = THEORY, .measure = x10a,
      .before = "one row with X10b, judged by the ratio of means: not shown" },
    { .id = "X10b", .item = "appendix F", .title = "Pre-LN: gradients are alike in all layers",
      .picture = "Gradients by layer in the theorems' setting", .expected = "1",
      .criteria = { { .what = "W2, last over first layer", .log = true, ALIKE(0.693147) } },
      .setting = THEORY, .measure = x10b, .before = "one row with X10a: not shown" },
    { .id = "X10c", .item = "X10b's explanation: uniform attention makes tokens alike",
      .title = "Pre-LN: gradients are alike in all layers if each token attends to itself",
      .picture = "Pre-LN's gradients by layer, two attentions", .expected = "flat",
      .criteria = { { .what = "W2, last over first layer", .log = true, ALIKE(0.693147) } },
      .setting = THEORY "; W_Q = W_K = 1, so that a token attends to itself", .measure = x10c,
      .before = "a guess" },
    { .id = "X10d", .item = "X10b's explanation: the stream grows",
      .title = "Pre-LN: a layer's gradient times the size of the stream is alike in all layers",
      .picture = "Pre-LN's gradients times the stream's size", .expected = "flat",
      .criteria = { { .what = "W2 times |x|, last over first layer", .log = true,
                      ALIKE(0.693147) },
                    { .what = "the same if each token attends to itself", .log = true,
                      ALIKE(0.693147) } },
      .setting = THEORY "; and W_Q = W_K = 1", .measure = x10d, .before = "not measured" },
    { .id = "X11", .item = "appendix F",
      .title = "the Jacobian of Pre-LN's norm falls as 1/sqrt(j)",
      .picture = "What Pre-LN's norm lets through", .expected = "j^-0.5",
      .criteria = { { .what = "exponent of the Jacobian, j^b, layers from 2 on",
                      BETWEEN(-0.65, -0.35) } },
      .setting = THEORY, .measure = x11, .before = "judged by the exponent of means: shown" },
    { .id = "X12a", .item = "figure 2", .title = "Post-LN needs a warm-up with Adam",
      .picture = "Post-LN without and with warm-up, Adam", .expected = "fails without, trains with",
      .paper = "IWSLT: 8.45 BLEU without, about 34 with", .criteria = NEEDS_WARMUP,
      .setting = SHALLOW, .measure = x12a,
      .before = "one row with SGD, by four of five seeds, no longer run: shown" },
    { .id = "X12b", .item = "figure 2", .title = "Post-LN needs a warm-up with SGD",
      .picture = "Post-LN without and with warm-up, SGD", .expected = "fails without, trains with",
      .paper = "IWSLT: about 0 in 15 epochs without", .criteria = NEEDS_WARMUP,
      .setting = "string reversal, 4 + 4 layers, plain SGD, rate 1, warm-up 200, 1500 updates",
      .measure = x12b, .before = "with momentum, which the paper does not have: shown" },
    { .id = "X12c", .item = "figure 2, with momentum 0.9",
      .title = "Post-LN needs a warm-up with SGD and momentum",
      .picture = "Post-LN without and with warm-up, SGD with momentum",
      .expected = "the paper has no momentum", .criteria = NEEDS_WARMUP,
      .setting = "string reversal, 4 + 4 layers, SGD, momentum 0.9, rate 0.2, warm-up 200, 500 "
      "updates", .measure = x12c, .before = "in X12 as the paper's SGD: shown" },
    { .id = "X12d", .item = "figure 2, inverse square root",
      .title = "Post-LN needs a warm-up when the rate falls as an inverse square root, too",
      .picture = "No warm-up has two senses", .expected = "fails without, trains with",
      .criteria = { { .what = "BLEU without, the rate falls after 200", BELOW(FAILS_BELOW) },
                    { .what = "BLEU without, the rate falls after 1", BELOW(FAILS_BELOW) },
                    { .what = WITH, ABOVE(LEARNS_ABOVE) } },
      .setting = SHALLOW, .measure = x12d, .before = "a remark in X12" },
    { .id = "X13a", .item = "figure 2", .title = "a longer warm-up is better, at 2e-3",
      .picture = "How long must a warm-up be?", .expected = "fewer updates are worse",
      .paper = "IWSLT: 500 updates instead of 4,000: 31.16 BLEU at 5e-4, 2.77 at 1e-3",
      .criteria = { { .what = "loss with a warm-up of 1 less that with 50", MORE(0.05) },
                    { .what = "loss with a warm-up of 50 less that with 200", MORE(0.05) } },
      .setting = SIX ", 2e-3", .measure = x13a, .before = "one row with X13b, by means: shown" },
    { .id = "X13b", .item = "figure 2", .title = "a longer warm-up is better, at 4e-3",
      .picture = "How long must a warm-up be?", .expected = "fewer updates are worse",
      .criteria = { { .what = "loss with a warm-up of 1 less that with 50", MORE(0.05) },
                    { .what = "loss with a warm-up of 50 less that with 200", MORE(0.05) } },
      .setting = SIX ", 4e-3", .measure = x13b, .before = "one row with X13a: shown" },
    { .id = "X14a", .item = "figure 3 a", .title = "Post-LN: gradients grow with the layer",
      .picture = "Gradients by layer before training",
      .expected = "growing", .paper = "only a figure: 10 seeds",
      .criteria = { { .what = "W2 of the decoder, last over first layer", .log = true,
                      MORE(0.693147) } },
      .setting = AT_START, .measure = x14a, .before = "one row with X14b and c: shown" },
    { .id = "X14b", .item = "figure 3 b", .title = "Pre-LN: gradients are alike in all layers",
      .picture = "Gradients by layer before training", .expected = "flat",
      .criteria = { { .what = "W2 of the decoder, last over first layer", .log = true,
                      ALIKE(0.693147) } },
      .setting = AT_START, .measure = x14b, .before = "one row with X14a and c: shown" },
    { .id = "X14c", .item = "figure 3 a", .title = "a warm-up makes Post-LN's gradients small",
      .picture = "Post-LN's gradients after a warm-up", .expected = "very small after it",
      .criteria = { { .what = "the last W2, after a warm-up over at the start", .log = true,
                      LESS(0.693147) },
                    { .what = "the last W2 after 200 updates, with over without a warm-up",
                      .log = true, LESS(0.223144) } },
      .setting = AT_START "; 200 updates at 4e-3, with and without warm-up", .measure = x14c,
      .before = "in X14, without a control: shown" },
    { .id = "X14d", .item = "X14c's explanation: without a warm-up nothing is learned",
      .title = "a run without a warm-up has small gradients because it stands at guessing",
      .picture = "Post-LN's gradients where both runs learn",
      .expected = "at guessing; where both learn, smaller with a warm-up",
      .criteria = { { .what = "loss without a warm-up over that of guessing", .log = true,
                      ABOVE(-0.105361) },
                    { .what = "the last W2 after 600 updates at a third of the rate, with over "
                      "without a warm-up", .log = true, LESS(0.223144) } },
      .setting = SIX ", 4e-3, 200 of them; control: 600 of 1800 at a third of the rate",
      .measure = x14d, .before = "not measured" },
    { .id = "X15a", .item = "figure 3 c", .picture = "The last layer's gradient against depth",
      .title = "Post-LN: the last layer's gradient is alike from 6 to 18 layers",
      .expected = "constant", .paper = "about 1.6 from 6 + 6 to 14 + 14 layers",
      .criteria = { { .what = GRADIENT_POWER ", L = 6 to 18", BETWEEN(-0.2, 0.2) } },
      .setting = AT_START_WIDE, .measure = x15a, .before = "one row with X15b, by means: shown" },
    { .id = "X15b", .item = "figure 3 d", .picture = "The last layer's gradient against depth",
      .title = "Pre-LN: the last layer's gradient falls from 6 to 18 layers",
      .expected = "falling",
      .criteria = { { .what = GRADIENT_POWER ", L = 6 to 18", BELOW_NOT(-0.2, 0) } },
      .setting = AT_START_WIDE, .measure = x15b,
      .before = "one row with X15a, b at most -0.3, by means: shown" },
    { .id = "X16a", .item = "figure 4 a", .title = "Pre-LN without warm-up ends as well as Post-LN "
      "with it", .picture = "Pre-LN needs no warm-up", .expected = "about alike",
      .paper = "IWSLT: about 34 BLEU and loss 4 both",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU of Pre-LN without less that of Post-LN with",
                                       ABOVE_NOT(-2, -2) } },
      .setting = SETTLED ", 4 + 4 layers; without warm-up the rate is 1e-3 from update 1 on",
      .measure = x16a,
      .before = "at BLEU 100 of string reversal, which is a ceiling: shown" },
    { .id = "X16b", .item = "figure 4 a",
      .title = "Pre-LN without warm-up is faster than Post-LN, by more than the warm-up",
      .picture = "Pre-LN needs no warm-up", .expected = "9 epochs for 15",
      .paper = "epoch 9 of Pre-LN is as good as epoch 15 of Post-LN",
      .criteria = { { .what = "updates to a loss of 0.2, Pre-LN over Post-LN", .log = true,
                      LESS(0.223144) },
                    { .what = "the lead less the warm-up [updates]", MORE(10) } },
      .setting = SHALLOW, .measure = x16b,
      .before = "in X16, any lead, which was shorter than the warm-up: shown" },
    { .id = "X16c", .item = "figure 4 b", .title = "RAdam helps Post-LN without warm-up",
      .picture = "RAdam in the place of a warm-up", .expected = "helps",
      .criteria = { { .what = "BLEU of RAdam less that of Adam", MORE(20) } },
      .setting = SIX ", 4e-3, beta2 .995", .measure = x16c,
      .before = "in X16, twice Adam's BLEU in four of five seeds: shown" },
    { .id = "X16d", .item = "figure 4 b", .title = "RAdam makes no difference to Pre-LN",
      .picture = "RAdam and Pre-LN", .expected = "about none",
      .criteria = { SETTLED_PREMISE, { .what = "loss of RAdam less that of Adam", ALIKE(0.02) } },
      .setting = SETTLED ", 6 + 6 layers, beta2 .995, no warm-up", .measure = x16d,
      .before = "at the floor of label smoothing, string reversal: shown" },
    { .id = "X17a", .item = "figure 4 c",
      .title = "Post-LN needs the warm-up that Pre-LN does without, on a grammar at 6e-3",
      .picture = "The same on a grammar", .expected = "as at 1.5e-3 on WMT",
      .criteria = { { .what = "BLEU of Post-LN, with less without warm-up", MORE(10) },
                    { .what = "BLEU without, Pre-LN less Post-LN", MORE(10) } },
      .setting = GRAMMAR ", 6e-3, 500 updates", .measure = x17a,
      .before = "one row with X17b, BLEU 1.5 times as high in four of five seeds: shown" },
    { .id = "X17b", .item = "figure 4 d",
      .title = "Post-LN needs the warm-up that Pre-LN does without, on a grammar at 8e-3",
      .picture = "The same on a grammar", .expected = "as at 7e-4 on WMT",
      .criteria = { { .what = "BLEU of Post-LN, with less without warm-up", MORE(10) },
                    { .what = "BLEU without, Pre-LN less Post-LN", MORE(10) } },
      .setting = GRAMMAR ", 8e-3, 500 updates", .measure = x17b,
      .before = "one row with X17a: shown" },
    { .id = "X17c", .item = "figure 4 c", .picture = "The same on a grammar",
      .title = "Pre-LN without warm-up is faster than Post-LN, on a grammar at 6e-3",
      .expected = "faster: 9 epochs for 15",
      .criteria = { { .what = "updates of Post-LN to a loss of 0.5", BELOW(490), .premise = true },
                    { .what = "updates to a loss of 0.5, Pre-LN over Post-LN", .log = true,
                      LESS(0.223144) } },
      .setting = GRAMMAR ", 6e-3, 500 updates, Post-LN with a warm-up of 200", .measure = x17c,
      .before = "not measured" },
    { .id = "X17d", .item = "figure 4 d", .picture = "The same on a grammar",
      .title = "Pre-LN without warm-up is faster than Post-LN, on a grammar at 8e-3",
      .expected = "faster: 9 epochs for 15",
      .criteria = { { .what = "updates of Post-LN to a loss of 0.5", BELOW(490), .premise = true },
                    { .what = "updates to a loss of 0.5, Pre-LN over Post-LN", .log = true,
                      LESS(0.223144) } },
      .setting = GRAMMAR ", 8e-3, 500 updates, Post-LN with a warm-up of 200", .measure = x17d,
      .before = "not measured" },
    { .id = "X18", .item = "figure 5 a",
      .title = "masked pre-training: Pre-LN reaches the loss of Post-LN sooner",
      .picture = "Masked pre-training", .expected = "40 % sooner",
      .paper = "loss 1.69 after 500k against 700k updates; Post-LN diverges at 3e-4",
      .criteria = { { .what = "Post-LN's loss less that of guessing", BELOW(-0.3),
                      .premise = true },
                    { .what = "share of the updates after which Pre-LN has Post-LN's last loss",
                      BELOW_NOT(0.714, 1) } },
      .setting = MASKED, .measure = x18,
      .before = "12 layers, with which Post-LN did not learn: shown" },
    { .id = "X18b", .item = "section 4.1", .picture = "Masked pre-training at Pre-LN's rate",
      .title = "masked pre-training: Post-LN does not learn at the rate of Pre-LN",
      .expected = "it diverges", .paper = "Post-LN diverges at 3e-4, Pre-LN trains at it",
      .criteria = { { .what = "Pre-LN's loss less that of guessing", BELOW(-0.3), .premise = true },
                    { .what = "Post-LN's loss less that of guessing", ABOVE_NOT(-0.1, -0.3) } },
      .setting = MASKED "; 3e-3, Post-LN with a warm-up of 200", .measure = x18b,
      .before = "not measured" },
    { .id = "X19", .item = "figure 5 b, c", .title = "fine-tuned, Pre-LN is better sooner",
      .picture = "A classifier on what was learned", .expected = "higher accuracy by checkpoint",
      .criteria = { { .what = "mean accuracy of four checkpoints, Pre-LN less Post-LN",
                      MORE(0.02) } },
      .setting = MASKED "; after each quarter a classifier of 3 classes, 200 updates, Adam 1e-3",
      .measure = x19, .before = "12 layers, with which Post-LN did not learn: shown" },
    { .id = "X20a", .item = "figure 6", .picture = "A small constant rate",
      .title = "Post-LN without warm-up: a small constant rate is better than a large one",
      .expected = "better", .paper = "loss about 4.3 after 27 epochs",
      .criteria = { { .what = "loss at 5e-4 less that at 4e-3 without warm-up", LESS(0.1) } },
      .setting = SIX, .measure = x20a, .before = "one row with X20b: shown" },
    { .id = "X20b", .item = "figure 6", .picture = "A small constant rate",
      .title = "Post-LN: a small constant rate is worse than a large one with warm-up",
      .expected = "worse",
      .criteria = { { .what = "loss at 5e-4 less that at 4e-3 with warm-up", MORE(0.1) } },
      .setting = SIX, .measure = x20b, .before = "one row with X20a: shown" },
    { .id = "X21", .item = "footnote 1", .title = "Pre-LN, tuned, on IWSLT", .kind = NO_ROW,
      .expected = "a number", .paper = "35.5 BLEU", .reason = "one number of one corpus" },
    { .id = "X22", .item = "theorem 1", .title = "the last layer's gradient and the width",
      .kind = CHECK_ROW, .expected = "at most d sqrt(ln d)",
      .check = "exponent at most 1.2, both placements: a bound of one side",
      .setting = THEORY ", 6 layers, d 16 to 128", .measure = x22,
      .before = "counted as a measurement" },
    { .id = "X23", .item = "lemma 5, proposition 1", .title = "bounds of probabilities",
      .kind = CHECK_ROW, .expected = "the bounds hold", .check = "both hold on 20,000 samples",
      .setting = "chi-squared variables, d 64", .measure = x23,
      .before = "counted as a measurement" },
    { .id = NULL }
};
