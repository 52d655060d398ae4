/* Rows of Takase 2022, "On Layer Normalizations and Residual Connections in Transformers" (B2T). */
#include "takase.h"
#include "../../tfnorm.h"
#include "lab_data.h"
#include "liu.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *const post_pre_b2t[] = { "post", "pre", "b2t" };

/* -- gradients at the start -------------------------------------------------------------------- */

/* F(x) = W_2 tanh(W_1 x), y = N(x) without gain; for a vector of 12. */
enum { B2_D = 12 };
typedef double b2_matrix[B2_D][B2_D];
static void b2_norm(double *y, const double *x, b2_matrix j)
{
    double mean = 0;
    double square = 0;
    for (int i = 0; i < B2_D; i++) mean += x[i] / B2_D;
    for (int i = 0; i < B2_D; i++) square += (x[i] - mean) * (x[i] - mean) / B2_D;
    for (int i = 0; i < B2_D; i++) y[i] = (x[i] - mean) / sqrt(square);
    for (int i = 0; i < B2_D; i++)
        for (int k = 0; k < B2_D; k++)
            j[i][k] = ((i == k) - 1.0/B2_D - y[i] * y[k] / B2_D) / sqrt(square);
}
static void b2_branch(double *y, const double *x, const b2_matrix w[2], b2_matrix j)
{
    double h[B2_D];
    for (int i = 0; i < B2_D; i++) {
        h[i] = 0;
        for (int k = 0; k < B2_D; k++) h[i] += w[0][i][k] * x[k];
        h[i] = tanh(h[i]);
    }
    for (int i = 0; i < B2_D; i++) {
        y[i] = 0;
        for (int k = 0; k < B2_D; k++) {
            y[i] += w[1][i][k] * h[k];
            j[i][k] = 0;
        }
        for (int m = 0; m < B2_D; m++)
            for (int k = 0; k < B2_D; k++)
                j[i][k] += w[1][i][m] * (1 - h[m]*h[m]) * w[0][m][k];
    }
}
/* y of a sub-layer, and its Jacobian as the paper's products: equation 3, or 4. */
static void b2_sublayer(double *y, const double *x, const b2_matrix w[2], bool post, b2_matrix j)
{
    double u[B2_D], f[B2_D];
    b2_matrix norm, branch;
    if (!post) b2_norm(u, x, norm);
    b2_branch(f, post ? x : u, w, branch);
    for (int i = 0; i < B2_D; i++) u[i] = x[i] + f[i];
    if (post) b2_norm(y, u, norm);
    else memcpy(y, u, sizeof u);
    for (int i = 0; i < B2_D; i++)
        for (int k = 0; k < B2_D; k++) {
            j[i][k] = i == k && !post;
            for (int m = 0; m < B2_D; m++)
                j[i][k] += post ? norm[i][m] * ((m == k) + branch[m][k])
                         : branch[i][m] * norm[m][k];
        }
}
static void b2(lab *l, outcome *o)
{
    double wrong[2] = { 0, 0 };
    (void)l;
    for (int sample = 0; sample < 20; sample++)
        for (int post = 0; post < 2; post++) {
            tfn_key key = tfn_key_fold(tfn_key_make(2), (uint64_t)sample);
            b2_matrix w[2], j, ignored;
            double x[B2_D], high[B2_D], low[B2_D];
            const double step = 1e-5;
            uint64_t at = 0;
            for (int m = 0; m < 2*B2_D*B2_D; m++)
                w[m / (B2_D*B2_D)][m / B2_D % B2_D][m % B2_D] =
                    (double)tfn_random_normal(key, at++) / sqrt(B2_D);
            for (int i = 0; i < B2_D; i++) x[i] = (double)tfn_random_normal(key, at++);
            b2_sublayer(high, x, (const b2_matrix *)w, post, j);
            for (int k = 0; k < B2_D; k++) {            /* central differences */
                const double kept = x[k];
                x[k] = kept + step;
                b2_sublayer(high, x, (const b2_matrix *)w, post, ignored);
                x[k] = kept - step;
                b2_sublayer(low, x, (const b2_matrix *)w, post, ignored);
                x[k] = kept;
                for (int i = 0; i < B2_D; i++)
                    wrong[post] = fmax(wrong[post], fabs((high[i] - low[i]) / (2*step) - j[i][k]));
            }
        }
    say(o, "largest difference of an entry: Post-LN %.1e, Pre-LN %.1e, 20 sub-layers of %d "
        "channels. ", wrong[1], wrong[0], B2_D);
    holds(o, wrong[0] < 1e-7 && wrong[1] < 1e-7);
}

/* ln of the gradient at the output of the first decoder layer over that of the last. */
static lab_sample first_over_last(lab *l, const char *recipe)
{
    const int32_t n = lab_layers(l, 18);
    return log_ratio(lab_over(l, at_start(recipe, 18), "dec_output_gradient", 2),
                     lab_over(l, at_start(recipe, 18), "dec_output_gradient", 3*n - 1));
}
/* Draws the gradients of the layers' outputs, from a list with `each` numbers for a layer. */
static void draw_layers(lab *l, outcome *o, const char *axis, const char *list, int32_t each)
{
    const int32_t n = lab_layers(l, 18);
    o->fig.log_y = true;
    for (int k = 0; k < 3; k++) {
        figure_line *line = line_of(o, axis, OUT_GRADIENT, post_pre_b2t[k]);
        for (int32_t i = 0; i < n; i++) {
            const int32_t last = each * (i + 1) - 1;
            point(line, i + 1, lab_over(l, at_start(post_pre_b2t[k], 18), list, last).mean, 0);
        }
    }
}
static void draw_gradients(lab *l, outcome *o)
{
    draw_layers(l, o, "decoder layer", "dec_output_gradient", 3);
}
void b3a(lab *l, outcome *o)
{
    finds(o, first_over_last(l, "post"));
    draw_gradients(l, o);
}
static void b3b(lab *l, outcome *o)
{
    finds(o, first_over_last(l, "pre"));
    draw_gradients(l, o);
}
static void b3c(lab *l, outcome *o)
{
    finds(o, minus(first_over_last(l, "b2t"), first_over_last(l, "post")));
    draw_gradients(l, o);
}
/* The same of the encoder, which has two sub-layers a layer. */
static void encoder_gradients(lab *l, outcome *o, const char *recipe)
{
    const int32_t n = lab_layers(l, 18);
    draw_layers(l, o, "encoder layer", "enc_output_gradient", 2);
    finds(o, log_ratio(lab_over(l, at_start(recipe, 18), "enc_output_gradient", 1),
                       lab_over(l, at_start(recipe, 18), "enc_output_gradient", 2*n - 1)));
}
static void b3d(lab *l, outcome *o) { encoder_gradients(l, o, "post"); }
static void b3e(lab *l, outcome *o) { encoder_gradients(l, o, "pre"); }
/* Points (1) to (5) of a decoder layer of Post-LN, from 1: after and before its norms. */
static void five_points(lab *l, int32_t layer, lab_sample *rows)
{
    const int32_t at = 3 * (layer - 1);
    for (int i = 0; i < 5; i++)
        rows[i] = lab_over(l, at_start("post", 18),
                           i % 2 ? "dec_output_gradient" : "dec_sum_gradient", at + i / 2);
}
void b4(lab *l, outcome *o)
{
    static const double x[] = { 1, 2, 3, 4, 5 };
    const int32_t n = lab_layers(l, 18), layers[] = { 1, lab_layers(l, 9), n };
    lab_sample rows[5], rise[3];
    o->fig.log_y = true;
    for (int k = 0; k < 3; k++) {
        char name[32];
        five_points(l, layers[k], rows);
        snprintf(name, sizeof name, "layer %d", (int)layers[k]);
        points(line_of(o, "point (1) to (5)", "gradient norm [nats]", name), x, rows, 5);
        finds(o, log_ratio(rows[2], rows[3]));
        finds(o, log_ratio(rows[0], rows[1]));
        rise[k] = log_ratio(rows[1], rows[2]);
    }
    finds(o, mean_of(rise, 3));
}

/* -- the effect of layers ---------------------------------------------------------------------- */

/* The mean cosine between outputs of trained decoder layers and the last one's. */
static lab_sample cosine_of(lab *l, outcome *o, const char *recipe)
{
    static lab_sample rows[LAB_DEEPEST];
    double x[LAB_DEEPEST];
    const int32_t n = lab_layers(l, 6);
    for (int32_t i = 0; i < n; i++) {
        rows[i] = lab_over(l, trained(recipe, 6), "dec_cosine", n*i + n - 1);
        x[i] = i + 1;
    }
    points(line_of(o, "decoder layer", "cosine to the last layer", recipe), x, rows, n);
    return mean_of(rows, n - 1);
}
void b5a(lab *l, outcome *o)
{
    const lab_sample post = cosine_of(l, o, "post");
    finds(o, minus(cosine_of(l, o, "pre"), post));
    cosine_of(l, o, "b2t");
}
static void b5b(lab *l, outcome *o)
{
    const lab_sample post = cosine_of(l, o, "post");
    const lab_sample pre = cosine_of(l, o, "pre");
    const lab_sample b2t = cosine_of(l, o, "b2t");
    finds(o, minus(minus(b2t, post), minus(pre, b2t)));
}

/* -- training ---------------------------------------------------------------------------------- */

static void b1(lab *l, outcome *o)
{
    found_failing(l, o, deeper("post"));
    for (int k = 1; k < 3; k++) {
        draw_loss(l, o, deeper(post_pre_b2t[k]), post_pre_b2t[k]);
        finds(o, bleu_of(l, deeper(post_pre_b2t[k])));
    }
}
static void b6a(lab *l, outcome *o) { settled_bleu(l, o, settled("b2t", 6), settled("pre", 6)); }
static void b6b(lab *l, outcome *o) { settled_bleu(l, o, settled("b2t", 12), settled("pre", 12)); }
static void deep_bleu(lab *l, outcome *o, int32_t longer)
{
    lab_sample bleu[3];
    for (int k = 0; k < 3; k++) {
        lab_spec s = giant(post_pre_b2t[k], 60, 12);
        s.warmup *= longer;
        s.steps *= longer;
        s.stop *= longer;
        bleu[k] = bleu_of(l, s);
        draw_loss(l, o, s, s.recipe);
        say_sample(o, k ? ", " : "BLEU ", 1, bleu[k]);
    }
    say(o, ". ");
    finds(o, minus(bleu[2], bleu[1]));
}
static void b6c(lab *l, outcome *o) { deep_bleu(l, o, 1); }
static void b6d(lab *l, outcome *o) { deep_bleu(l, o, 3); }
/* A slow run, which shows the depth at which Post-LN stops training. */
static lab_spec slow(const char *recipe, int32_t layers)
{
    return training(recipe, layers, 5e-4, 800, 4800);
}
static void b7a(lab *l, outcome *o)
{
    draw_loss(l, o, slow("post", 12), "12 + 12 layers");
    draw_loss(l, o, slow("post", 18), "18 + 18 layers");
    finds(o, loss_of(l, slow("post", 12)));
    finds(o, loss_of(l, slow("post", 18)));
}
static void b7b(lab *l, outcome *o)
{
    compare_settled(l, o, settled("b2t", 12), settled("pre", 12));
}
static void b7c(lab *l, outcome *o)
{
    static const int32_t sweep[] = { 2, 4, 8, 12, 18 };
    lab_sample loss[3][5];
    double x[5];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 5; i++) {
            loss[k][i] = loss_of(l, training(post_pre_b2t[k], sweep[i], 2e-3, 100, 400));
            x[i] = lab_layers(l, sweep[i]);
        }
        points(line_of(o, "layers of each stack", "loss after 400 updates [nats per token]",
                       post_pre_b2t[k]), x, loss[k], 5);
    }
    for (int i = 0; i < 5; i++) finds(o, minus(loss[2][i], loss[1][i]));
}
/* Deep and narrow, until the loss settles. */
static lab_spec settled_giant(const char *recipe, int32_t layers)
{
    lab_spec s = settled(recipe, layers);
    s.width = 16;
    s.heads = 1;
    s.ffn = 32;
    return s;
}
static void b7d(lab *l, outcome *o)
{
    compare_settled(l, o, settled_giant("b2t", 36), settled_giant("pre", 36));
}
static void b7e(lab *l, outcome *o)
{
    compare_settled(l, o, settled_giant("b2t", 50), settled_giant("pre", 50));
}
/* ln of the last loss of a run over the least of its curve. */
static lab_sample rise_of(lab *l, outcome *o, const char *recipe)
{
    lab_spec s = settled_giant(recipe, 36);
    s.settle = s.score = false;
    s.steps = s.stop = 4000;
    lab_sample a = loss_of(l, s);
    draw_loss(l, o, s, recipe);
    for (int32_t k = 0; k < a.n; k++) {
        const lab_list *curve = lab_list_of(lab_final(l, lab_seeded(l, s, k)), "curve");
        double least = a.v[k];
        const int32_t n = curve ? curve->n : 0;
        for (int32_t i = 0; i < n; i++) least = fmin(least, curve->v[i]);
        a.v[k] = log(a.v[k] / least);
    }
    lab_sum_up(&a);
    return a;
}
static void b7f(lab *l, outcome *o)
{
    finds(o, rise_of(l, o, "b2t"));
    finds(o, rise_of(l, o, "pre"));
}
/* Headlines: ROUGE-L with six or twelve layers. */
static lab_spec headlines(const char *recipe, int32_t layers)
{
    lab_spec s = training(recipe, 6, 3e-3, 200, 600);
    if (layers > 6) s = deep(recipe);
    s.task = LAB_HEADLINE;
    return s;
}
static lab_sample rouge_of(lab *l, outcome *o, lab_spec s)
{
    return scored(l, o, s, s.recipe, lab_over(l, s, "rouge", 2));
}
static void b8a(lab *l, outcome *o)
{
    const lab_sample post = rouge_of(l, o, headlines("post", 6));
    const lab_sample pre = rouge_of(l, o, headlines("pre", 6));
    const lab_sample b2t = rouge_of(l, o, headlines("b2t", 6));
    finds(o, minus(post, pre));
    finds(o, minus(b2t, pre));
}
static void b8b(lab *l, outcome *o)
{
    const lab_sample pre = rouge_of(l, o, headlines("pre", 12));
    finds(o, minus(rouge_of(l, o, headlines("b2t", 12)), pre));
}
static void b8c(lab *l, outcome *o)
{
    const lab_spec slower = control(headlines("post", 12));
    finds(o, rouge_of(l, o, headlines("post", 12)));
    finds(o, scored(l, o, slower, "a third of the rate", lab_over(l, slower, "rouge", 2)));
}
static void b8d(lab *l, outcome *o)
{
    const lab_sample post = rouge_of(l, o, longer(headlines("post", 6)));
    finds(o, minus(post, rouge_of(l, o, longer(headlines("pre", 6)))));
}
static lab_spec letters(const char *recipe)
{
    lab_spec s = deeper(recipe);
    s.task = LAB_TEXT;
    s.score = false;
    return s;
}
static lab_spec settled_letters(const char *recipe)
{
    lab_spec s = until_settled(LAB_TEXT, recipe, 18);
    s.steps = s.stop = 4000;
    return s;
}
static void b9a(lab *l, outcome *o)
{
    for (int k = 0; k < 3; k++) draw_loss(l, o, letters(post_pre_b2t[k]), post_pre_b2t[k]);
    const lab_spec slower = control(letters("post"));
    finds(o, log_ratio(loss_of(l, letters("post")), lab_over(l, letters("post"), "unigram", 0)));
    finds(o, log_ratio(loss_of(l, slower), lab_over(l, slower, "unigram", 0)));
    finds(o, log_ratio(loss_of(l, letters("pre")), lab_over(l, letters("pre"), "unigram", 0)));
    finds(o, log_ratio(loss_of(l, letters("b2t")), lab_over(l, letters("b2t"), "unigram", 0)));
}
static void b9b(lab *l, outcome *o)
{
    compare_settled(l, o, settled_letters("b2t"), settled_letters("pre"));
}
/* Speech, with three times the updates of the first edition. */
static lab_spec spoken(const char *recipe, int32_t layers)
{
    lab_spec s = training(recipe, 6, 3e-3, 200, 1800);
    if (layers > 6) s = training(recipe, 12, 2e-3, 100, 1200);
    s.decoder_layers = 6;
    s.task = LAB_SPEECH;
    return s;
}
static lab_sample wer_of(lab *l, outcome *o, lab_spec s)
{
    return scored(l, o, s, s.recipe, lab_over(l, s, "wer", 0));
}
static void b10a(lab *l, outcome *o)
{
    const lab_sample post = wer_of(l, o, spoken("post", 6));
    const lab_sample pre = wer_of(l, o, spoken("pre", 6));
    const lab_sample b2t = wer_of(l, o, spoken("b2t", 6));
    finds(o, minus(post, pre));
    finds(o, minus(b2t, pre));
}
static void b10b(lab *l, outcome *o)
{
    const lab_sample pre = wer_of(l, o, spoken("pre", 12));
    finds(o, minus(wer_of(l, o, spoken("b2t", 12)), pre));
}
static void b10c(lab *l, outcome *o)
{
    lab_spec slower = spoken("post", 12);
    slower.lr /= 3;
    slower.warmup *= 3;
    finds(o, wer_of(l, o, spoken("post", 12)));
    finds(o, scored(l, o, slower, "a third of the rate", lab_over(l, slower, "wer", 0)));
}

static const char *const remedies[] = { "dlcl", "t-fixup", "deepnorm", "admin" };
static void best_of_remedies(lab *l, outcome *o, int32_t layers)
{
    lab_sample rows[5];
    const lab_spec b2t = settled("b2t", layers);
    draw_loss(l, o, b2t, "b2t");
    rows[4] = lab_over(l, b2t, "settled", 0);
    for (int k = 0; k < 4; k++) rows[k] = lab_over(l, settled(remedies[k], layers), "settled", 0);
    finds(o, mean_of(rows, 5));
    for (int k = 0; k < 4; k++) {
        draw_loss(l, o, settled(remedies[k], layers), remedies[k]);
        finds(o, minus(loss_of(l, b2t), loss_of(l, settled(remedies[k], layers))));
    }
}
static void b11(lab *l, outcome *o) { best_of_remedies(l, o, 12); }
static void b11b(lab *l, outcome *o) { best_of_remedies(l, o, 6); }
static void b12(lab *l, outcome *o)
{
    const lab_sample b2t = rouge_of(l, o, headlines("b2t", 12));
    for (int k = 0; k < 4; k++)
        finds(o, minus(b2t, rouge_of(l, o, headlines(remedies[k], 12))));
}
static void b13(lab *l, outcome *o)
{
    lab_spec bare = deep("b2t");
    bare.at_512 = true;
    draw_loss(l, o, bare, "without norms in layers");
    draw_loss(l, o, deep("b2t"), "B2T");
    draw_loss(l, o, deep("b2t-no-norm"), "as written, at width 32");
    finds(o, bleu_of(l, bare));
    finds(o, minus(loss_of(l, bare), loss_of(l, deep("b2t"))));
    say_sample(o, "With beta of width 32 and no norm at all: BLEU ", 1,
               bleu_of(l, deep("b2t-no-norm")));
    say(o, ". ");
}
static lab_spec without_norms(lab_spec s)
{
    s.at_512 = true;
    return s;
}
static void b13b(lab *l, outcome *o)
{
    lab_sample ended[2];
    const lab_spec b2t = settled("b2t", 6);
    const lab_spec bare = without_norms(b2t);
    ended[0] = lab_over(l, bare, "settled", 0);
    ended[1] = lab_over(l, b2t, "settled", 0);
    draw_loss(l, o, bare, "without norms in layers");
    draw_loss(l, o, b2t, "B2T");
    finds(o, mean_of(ended, 2));
    finds(o, minus(bleu_of(l, bare), bleu_of(l, b2t)));
}
static void b13c(lab *l, outcome *o)
{
    lab_sample ended[2];
    lab_spec b2t = settled("b2t", 6);
    b2t.task = LAB_HEADLINE;
    const lab_spec bare = without_norms(b2t);
    ended[0] = lab_over(l, bare, "settled", 0);
    ended[1] = lab_over(l, b2t, "settled", 0);
    draw_loss(l, o, bare, "without norms in layers");
    draw_loss(l, o, b2t, "B2T");
    finds(o, mean_of(ended, 2));
    finds(o, lab_over(l, b2t, "rouge", 2));
    finds(o, minus(lab_over(l, bare, "rouge", 2), lab_over(l, b2t, "rouge", 2)));
}
static void b14(lab *l, outcome *o)
{
    const tfn_topology *t = tfn_topology_find("b2t-no-norm");
    figure_line *line = line_of(o, "layers N", "alpha", "b2t-no-norm");
    double largest = 0;
    int32_t at = 0;
    (void)l;
    for (int32_t n = 1; n <= 60; n++) {
        tfn_place p;
        memset(&p, 0, sizeof p);
        p.kind = TFN_SUBLAYER_FFN;
        p.layer = 1;
        p.depth = p.encoder_depth = p.decoder_depth = n;
        p.width = 512;
        double alpha = (double)tfn_topology_join(t, &p).extra.value;
        point(line, n, alpha, 0);
        if (alpha > largest) {
            largest = alpha;
            at = n;
        }
    }
    say(o, "the library's row: alpha is largest, %.3f, at N = %d. ", largest, (int)at);
    holds(o, at == 9 && fabs(largest - 0.719) < 1e-3);
}
static void b15(lab *l, outcome *o)
{
    compare_settled(l, o, settled("b2t-skip-last", 6), settled("b2t", 6));
}
/* Nodes of the training tape, parameters, and floats of working memory of a recipe's model. */
static bool cost_of(lab *l, const char *recipe, int32_t layers, int32_t *nodes, int64_t *params,
                    int64_t *work)
{
    lab_spec s = lab_wanted(l, at_start(recipe, layers));
    tfn_model_desc d = lab_desc(&s, false);
    tfn_model m;
    bool ok = tfn_model_new(&m, &d, NULL) == TFN_OK;
    *nodes = m.train.count;
    *params = m.param_floats;
    *work = m.train.work;
    tfn_model_free(&m);
    return ok;
}
static void costs(lab *l, outcome *o)
{
    static const char *const recipes[] = { "post", "b2t", "admin", "dlcl", "t-fixup", "deepnorm" };
    int32_t nodes[6][3];
    int64_t params, work, none = 0;
    for (int k = 0; k < 6; k++) {
        figure_line *line = line_of(o, "layers of each stack", "operations on the tape",
            recipes[k]);
        for (int i = 0; i < 3; i++) {
            if (!cost_of(l, recipes[k], 6 << i, &nodes[k][i], &params, &work)) return;
            point(line, lab_layers(l, 6 << i), nodes[k][i], 0);
        }
        if (!k) none = params;
        say(o, "%s: %+d operations, %+d parameters at %d layers; ", recipes[k],
            (int)(nodes[k][2] - nodes[0][2]), (int)(params - none), (int)lab_layers(l, 24));
    }
    /* b2t: one addition a layer; dlcl: more than twice as many for twice the layers */
    int32_t extra[2] = { nodes[3][1] - nodes[0][1], nodes[3][2] - nodes[0][2] };
    holds(o, nodes[1][2] - nodes[0][2] == 2 * lab_layers(l, 24) && extra[1] > 2 * extra[0]);
}
static void b19(lab *l, outcome *o)
{
    const lab_spec plain = giant("b2t", 50, 50);
    lab_spec scaled = plain;
    scaled.init = "b2t";
    draw_loss(l, o, plain, "B2T");
    draw_loss(l, o, scaled, "B2T, weights / sqrt(L)");
    finds(o, minus(loss_of(l, scaled), loss_of(l, plain)));
    say_sample(o, "losses ", 3, loss_of(l, scaled));
    say_sample(o, ", ", 3, loss_of(l, plain));
    say(o, ". ");
}

/* -- the rows ---------------------------------------------------------------------------------- */

#define NARROW "toy German to toy English, two clauses, 400 sentences that come again, d 16, " \
    "batch 32, dropout 0.1, Adam 1e-3, warm-up 400, until it settles, at most 8000 updates" GOES_ON
#define DROP(point, layer) { .what = point ", layer " layer, .log = true, BELOW(-0.105361) }
#define B2T_LESS(layers) { .what = layers " layers, loss of B2T less that of Pre-LN", LESS(0.005) }
#define B2T_BEST(name) { .what = "loss of B2T less that of " name, LESS(0.01) }
#define B2T_ROUGE(name) { .what = "ROUGE-L of B2T less that of " name, MORE(0.5) }

const claim takase_claims[] = {
    { .id = "B1", .item = "figure 1", .title = "deep Post-LN stalls, Pre-LN and B2T train",
      .picture = "18 + 18 layers", .expected = "as said",
      .criteria = { FAILING("Post-LN"), CONTROLLED("Post-LN"),
                    { .what = "BLEU of Pre-LN", ABOVE(LEARNS_ABOVE) },
                    { .what = "BLEU of B2T", ABOVE(LEARNS_ABOVE) } },
      .setting = DEEPER, .measure = b1, .before = "12 + 12 layers, without a control: shown" },
    { .id = "B2", .item = "equations 3, 4", .kind = CHECK_ROW,
      .title = "the Jacobian of a sub-layer is the product of its parts'", .expected = "exact",
      .check = "central differences agree with the products to 1e-7",
      .setting = "sub-layers of 12 channels in double precision, F = W_2 tanh(W_1 x)",
      .measure = b2, .before = "counted as a measurement" },
    { .id = "B3a", .item = "figure 3", .title = "Post-LN's gradient vanishes down the decoder",
      .picture = "Gradients through 18 decoder layers", .expected = "exponential decay",
      .criteria = { { .what = "first over last layer", .log = true, BELOW(-2.995732) } },
      .setting = AT_START ", 18 + 18 layers", .measure = b3a,
      .before = "one row with B3b and c, by means: shown" },
    { .id = "B3b", .item = "figure 3", .title = "Pre-LN's gradient is largest at the bottom",
      .picture = "Gradients through 18 decoder layers", .expected = "largest there",
      .criteria = { { .what = "first over last layer", .log = true, MORE(0.095310) } },
      .setting = AT_START ", 18 + 18 layers", .measure = b3b,
      .before = "one row with B3a and c: shown" },
    { .id = "B3c", .item = "figure 3", .title = "B2T mitigates the vanishing",
      .picture = "Gradients through 18 decoder layers", .expected = "in between",
      .criteria = { { .what = "first over last layer, B2T over Post-LN", .log = true,
                      ABOVE_NOT(1.609438, 0) } },
      .setting = AT_START ", 18 + 18 layers", .measure = b3c,
      .before = "one row with B3a and b: shown" },
    { .id = "B3d", .item = "figure 3 a",
      .title = "Post-LN's gradient does not vanish down the encoder",
      .picture = "Gradients through 18 encoder layers", .expected = "only the decoder's vanishes",
      .criteria = { { .what = "first over last layer", .log = true,
                      ABOVE_NOT(-0.693147, -2.995732) } },
      .setting = AT_START ", 18 + 18 layers", .measure = b3d, .before = "not measured" },
    { .id = "B3e", .item = "figure 3 a",
      .title = "Pre-LN's gradient is largest at the bottom of the encoder, too",
      .picture = "Gradients through 18 encoder layers", .expected = "largest there",
      .criteria = { { .what = "first over last layer", .log = true, MORE(0.095310) } },
      .setting = AT_START ", 18 + 18 layers", .measure = b3e, .before = "not measured" },
    { .id = "B4", .item = "figures 4, 7", .title = "the drop is at the norms",
      .picture = "Gradients inside a layer of Post-LN", .expected = "(4) to (3) and (2) to (1)",
      .criteria = { DROP("(3)/(4)", "1"), DROP("(1)/(2)", "1"), DROP("(3)/(4)", "9"),
                    DROP("(1)/(2)", "9"), DROP("(3)/(4)", "18"), DROP("(1)/(2)", "18"),
                    { .what = "(2)/(3), a mean", .log = true, ABOVE(-0.051293) } },
      .setting = AT_START ", 18 + 18 layers", .measure = b4, .before = "by means: shown" },
    { .id = "B5a", .item = "figure 5", .title = "Pre-LN's shallow layers resemble its last",
      .picture = "How alike layers are to the last", .expected = "more than Post-LN's",
      .criteria = { { .what = "mean cosine, Pre-LN less Post-LN", MORE(0.05) } },
      .setting = SIX ", 3e-3, warm-up 200", .measure = b5a,
      .before = "one row with B5b, by means: shown" },
    { .id = "B5b", .item = "figure 5", .title = "in that, B2T is like Post-LN",
      .picture = "How alike layers are to the last", .expected = "nearer to Post-LN",
      .criteria = { { .what = "mean cosine, B2T's distance to Post-LN less that to Pre-LN",
                      LESS(0.02) } },
      .setting = SIX ", 3e-3, warm-up 200", .measure = b5b,
      .before = "one row with B5a, by means: shown" },
    { .id = "B6a", .item = "table 1", .title = "6 layers: B2T's BLEU is above Pre-LN's",
      .picture = "B2T and Pre-LN until they settle", .expected = "above",
      .paper = "SacreBLEU, Post-LN, Pre-LN, B2T: 26.59, 26.10, 26.53",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, B2T less Pre-LN", MORE(0.5) } },
      .setting = SETTLED, .measure = b6a,
      .before = "part of B6, at BLEU 100 of string reversal: not shown" },
    { .id = "B6b", .item = "table 1", .title = "12 layers: B2T's BLEU is above Pre-LN's",
      .picture = "B2T and Pre-LN until they settle", .expected = "above",
      .paper = "18 layers 26.57, 27.30",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU, B2T less Pre-LN", MORE(0.5) } },
      .setting = SETTLED, .measure = b6b, .before = "part of B6, after 400 updates: not shown" },
    { .id = "B6c", .item = "table 1", .picture = "60 + 12 layers of width 16",
      .title = "60 + 12 layers: B2T is ahead of Pre-LN after 400 updates", .expected = "above",
      .paper = "Post-LN fails, 26.42, 27.33",
      .criteria = { { .what = "BLEU, B2T less Pre-LN", MORE(2) } },
      .setting = "string reversal, 60 + 12 layers, d 16, 2e-3, warm-up 100, 400 updates",
      .measure = b6c, .before = "a remark: 9 against 22" },
    { .id = "B6d", .item = "B6c's explanation: 400 updates are too few",
      .picture = "60 + 12 layers of width 16, longer",
      .title = "60 + 12 layers: B2T is ahead of Pre-LN after 1,200 updates", .expected = "above",
      .paper = "Post-LN fails, 26.42, 27.33",
      .criteria = { { .what = "BLEU, B2T less Pre-LN", MORE(2) } },
      .setting = "string reversal, 60 + 12 layers, d 16, 2e-3, warm-up 300, 1200 updates",
      .measure = b6d, .before = "not measured" },
    { .id = "B7a", .item = "figure 8", .title = "Post-LN trains at 12 + 12 layers, not at 18 + 18",
      .picture = "Post-LN of 12 and of 18 layers, slowly",
      .expected = "as said", .paper = "trains at 12 + 12, diverges from 18 + 18 layers on",
      .criteria = { { .what = "loss of 12 + 12 layers", BELOW(0.5) },
                    { .what = "loss of 18 + 18 layers", ABOVE(1) } },
      .setting = "string reversal, 5e-4, warm-up 800, 4800 updates; found with seed 101",
      .measure = b7a,
      .init = XAVIER, .before = "part of B7: Post-LN failed from 8 + 8 layers on: not shown" },
    { .id = "B7b", .item = "figures 6, 8", .title = "B2T ends below Pre-LN, 12 + 12 layers",
      .picture = "B2T and Pre-LN until they settle", .expected = "below",
      .criteria = { SETTLED_PREMISE, { .what = "loss of B2T less that of Pre-LN", LESS(0.01) } },
      .setting = SETTLED, .measure = b7b, .before = "part of B7, after 400 updates: not shown" },
    { .id = "B7c", .item = "figure 8", .picture = "The loss after 400 updates against depth",
      .title = "B2T is ahead of Pre-LN after 400 updates at every depth", .expected = "below",
      .criteria = { B2T_LESS("2"), B2T_LESS("4"), B2T_LESS("8"), B2T_LESS("12"), B2T_LESS("18") },
      .setting = "string reversal, 2 to 18 layers, 2e-3, warm-up 100, 400 updates: speed",
      .measure = b7c, .before = "part of B7, by means: not shown" },
    { .id = "B7d", .item = "figure 8", .title = "B2T ends below Pre-LN, 36 + 36 layers",
      .picture = "B2T and Pre-LN until they settle, 36 + 36 layers", .expected = "below",
      .criteria = { SETTLED_PREMISE, { .what = "loss of B2T less that of Pre-LN", LESS(0.01) } },
      .setting = NARROW ", 36 + 36 layers", .measure = b7d, .before = "not measured" },
    { .id = "B7e", .item = "figure 8", .title = "B2T ends below Pre-LN, 50 + 50 layers",
      .picture = "B2T and Pre-LN until they settle, 50 + 50 layers", .expected = "below",
      .criteria = { SETTLED_PREMISE, { .what = "loss of B2T less that of Pre-LN", LESS(0.01) } },
      .setting = NARROW ", 50 + 50 layers", .measure = b7e, .before = "not measured" },
    { .id = "B7f", .item = "figure 9", .picture = "36 + 36 layers on 400 sentences",
      .title = "36 + 36 layers: the validation loss rises again as training goes on",
      .expected = "it rises from the middle on, as they overfit",
      .criteria = { { .what = "B2T's last loss over its least", .log = true, ABOVE(0.019803) },
                    { .what = "Pre-LN's", .log = true, ABOVE(0.019803) } },
      .setting = "toy German to toy English, two clauses, 400 sentences that come again, 36 + 36 "
      "layers, d 16, dropout 0.1, Adam 1e-3, warm-up 400, constant rate, 4000 updates",
      .measure = b7f, .before = "not measured" },
    { .id = "B8a", .item = "table 2", .picture = "Headlines, 6 + 6 layers",
      .title = "headlines, 6 layers: Post-LN and B2T are above Pre-LN after 600 updates",
      .expected = "above", .paper = "ROUGE-L, Post-LN, Pre-LN, B2T: 35.79, 35.39, 35.72",
      .criteria = { { .what = "ROUGE-L, Post-LN less Pre-LN", MORE(0.5) },
                    { .what = "ROUGE-L, B2T less Pre-LN", MORE(0.5) } },
      .setting = HEADLINES "6 + 6 layers, 3e-3, warm-up 200, 600 updates", .measure = b8a,
      .before = "part of B8, by means: not shown" },
    { .id = "B8b", .item = "table 2", .picture = "Headlines, 12 + 12 layers",
      .title = "headlines, 12 layers: B2T is above Pre-LN after 400 updates",
      .expected = "above", .paper = "18 layers: 35.99, 36.66",
      .criteria = { { .what = "ROUGE-L, B2T less Pre-LN", MORE(0.5) } },
      .setting = HEADLINES "12 + 12 layers, 2e-3, warm-up 100, 400 updates", .measure = b8b,
      .before = "part of B8, by means: not shown" },
    { .id = "B8c", .item = "table 2", .title = "headlines, 12 layers: Post-LN fails",
      .picture = "Headlines, 12 + 12 layers of Post-LN", .expected = "18 layers fail",
      .criteria = { { .what = "ROUGE-L", BELOW(40) },
                    { .what = "ROUGE-L, three times the updates, a third of the rate",
                      BELOW(40) } },
      .setting = HEADLINES "12 + 12 layers, 2e-3, warm-up 100, 400 updates", .measure = b8c,
      .init = XAVIER,
      .before = "part of B8, without a control: not shown" },
    { .id = "B8d", .item = "B8a's explanation: 600 updates are too few",
      .title = "headlines, 6 layers: Post-LN is above Pre-LN after 1,800 updates",
      .picture = "Headlines, 6 + 6 layers, longer", .expected = "above",
      .paper = "ROUGE-L, Post-LN, Pre-LN: 35.79, 35.39",
      .criteria = { { .what = "ROUGE-L, Post-LN less Pre-LN", MORE(0.5) } },
      .setting = HEADLINES "6 + 6 layers, 3e-3, warm-up 200, 1800 updates", .measure = b8d,
      .init = XAVIER,
      .before = "not measured" },
    { .id = "B9a", .item = "table 3", .picture = "A language model of 18 layers",
      .title = "a deep language model: Post-LN fails, Pre-LN and B2T train",
      .expected = "16 layers fail",
      .criteria = { { .what = "Post-LN's loss over that of guessing", .log = true,
                      ABOVE(-0.105361) },
                    { .what = "the same, three times the updates, a third of the rate",
                      .log = true, ABOVE(-0.105361) },
                    { .what = "Pre-LN's", .log = true, BELOW(-0.223144) },
                    { .what = "B2T's", .log = true, BELOW(-0.223144) } },
      .setting = "letters of generated sentences, 18 layers, 32 letters, 2e-3, warm-up 100, 400 "
      "updates", .measure = b9a, .before = "one row with B9b, without a control: not shown" },
    { .id = "B9b", .item = "table 3", .title = "a deep language model: B2T ends below Pre-LN",
      .picture = "A language model of 18 layers until it settles", .expected = "below",
      .paper = "perplexity valid/test, Pre-LN, B2T: 6 layers 20.98/21.93, 20.50/21.47; 16 "
      "18.53/19.24, 18.38/19.20",
      .criteria = { SETTLED_PREMISE, { .what = "loss of B2T less that of Pre-LN", LESS(0.01) } },
      .setting = "letters of generated sentences, 18 layers, 32 letters, 2e-3, warm-up 400, until "
      "it settles, at most 4000 updates" GOES_ON, .measure = b9b,
      .before = "part of B9, after 400 updates: not shown" },
    { .id = "B10a", .item = "table 4", .picture = "Spoken digits, 6 + 6 layers",
      .title = "speech, 6 layers: Post-LN and B2T err less than Pre-LN", .expected = "less",
      .paper = "WER dev-clean dev-other test-clean test-other, Post-LN, Pre-LN, B2T: 3.78 8.76 "
      "4.19 8.74, 3.89 9.69 4.22 9.65, 3.69 8.97 3.86 8.94",
      .criteria = { { .what = "WER, Post-LN less Pre-LN [%]", LESS(1) },
                    { .what = "WER, B2T less Pre-LN [%]", LESS(1) } },
      .setting = SPEECH "3e-3, warm-up 200, 1800 updates", .measure = b10a,
      .before = "part of B10, after 600 updates: not shown" },
    { .id = "B10b", .item = "table 4", .picture = "Spoken digits, 12 + 6 layers",
      .title = "speech, 12 + 6 layers: B2T errs less than Pre-LN", .expected = "about as or below",
      .paper = "3.21 7.91 3.49 8.22, 3.26 7.74 3.48 7.68",
      .criteria = { { .what = "WER, B2T less Pre-LN [%]", LESS(1) } },
      .setting = SPEECH "2e-3, warm-up 100, 1200 updates", .measure = b10b,
      .before = "part of B10, after 400 updates: not shown" },
    { .id = "B10c", .item = "table 4", .title = "speech, 12 + 6 layers: Post-LN fails",
      .picture = "Spoken digits, 12 + 6 layers of Post-LN", .expected = "fails",
      .criteria = { { .what = "WER [%]", ABOVE(50) },
                    { .what = "WER at a third of the rate [%]", ABOVE(50) } },
      .setting = SPEECH "2e-3, warm-up 100, 1200 updates", .measure = b10c, .init = XAVIER,
      .before = "part of B10, after 400 updates, without a control: not shown" },
    { .id = "B11", .item = "table 5", .title = "of the remedies for deep stacks B2T is best",
      .picture = "Remedies until they settle", .expected = "B2T best",
      .paper = "BLEU, DLCL, T-Fixup, DeepNet, Admin, B2T: 18 layers 26.90, 26.94, 27.13, 26.86, "
      "27.30",
      .criteria = { SETTLED_PREMISE, B2T_BEST("DLCL"), B2T_BEST("T-Fixup"), B2T_BEST("DeepNorm"),
                    B2T_BEST("Admin") },
      .setting = SETTLED ", 12 + 12 layers", .measure = b11,
      .before = "the highest of five means at the floor, a tie by any interval: opposite" },
    { .id = "B11b", .item = "table 5", .title = "and of the remedies at 6 + 6 layers",
      .picture = "Remedies until they settle, 6 + 6 layers", .expected = "B2T best",
      .paper = "BLEU, DLCL, T-Fixup, DeepNet, Admin, B2T: 6 layers 26.52, 26.43, 26.38, 26.49, "
      "26.53",
      .criteria = { SETTLED_PREMISE, B2T_BEST("DLCL"), B2T_BEST("T-Fixup"), B2T_BEST("DeepNorm"),
                    B2T_BEST("Admin") },
      .setting = SETTLED ", 6 + 6 layers", .measure = b11b, .before = "not measured" },
    { .id = "B12", .item = "table 6", .picture = "Remedies on headlines",
      .title = "the same for headlines, after 400 updates", .expected = "B2T best",
      .criteria = { B2T_ROUGE("DLCL"), B2T_ROUGE("T-Fixup"), B2T_ROUGE("DeepNorm"),
                    B2T_ROUGE("Admin") },
      .setting = HEADLINES "12 + 12 layers, 2e-3, warm-up 100, 400 updates", .measure = b12,
      .before = "the highest mean: not shown" },
    { .id = "B13", .item = "tables 9, 10", .picture = "B2T without norms in its layers",
      .title = "B2T without norms in its layers is nearly as good", .expected = "a little worse",
      .paper = "6 layers 26.48 without, 26.53 with; 18 layers 27.10, 27.30",
      .criteria = { { .what = "BLEU without", ABOVE(LEARNS_ABOVE) },
                    { .what = "loss without less that with", ALIKE(0.02) } },
      .setting = DEEP "; the final norms stay, beta is that of width 512", .measure = b13,
      .before = "no norm at all, beta of width 32: not shown" },
    { .id = "B13b", .item = "table 9", .picture = "B2T without norms in its layers, 6 + 6",
      .title = "6 layers: B2T without norms in its layers is nearly as good",
      .expected = "comparable", .paper = "BLEU 26.48 without, 26.53 with",
      .criteria = { SETTLED_PREMISE, { .what = "BLEU without less that with", ALIKE(2) } },
      .setting = SETTLED ", 6 + 6 layers; the final norms stay, beta is that of width 512",
      .measure = b13b, .before = "not measured" },
    { .id = "B13c", .item = "table 10", .picture = "B2T without norms on headlines, 6 + 6",
      .title = "the same for headlines", .expected = "comparable",
      .criteria = { SETTLED_PREMISE,
                    { .what = "ROUGE-L of B2T, below its ceiling", BELOW(99), .premise = true },
                    { .what = "ROUGE-L without less that with", ALIKE(2) } },
      .setting = HEADLINES "400 that come again, 6 + 6 layers, otherwise as B13b",
      .measure = b13c, .before = "not measured" },
    { .id = "B14", .item = "equations 7, 8", .kind = CHECK_ROW,
      .title = "alpha rises to N = 9, then falls", .expected = "as said",
      .paper = "alpha 0.719 at N = 9", .check = "the row's largest is there, within 1e-3",
      .setting = BY_HAND, .measure = b14, .before = "counted as a measurement" },
    { .id = "B15", .item = "footnote 1", .title = "skipping the last norm too is worse",
      .picture = "B2T past the last norm", .expected = "much worse",
      .criteria = { SETTLED_PREMISE,
                    { .what = "loss past the last norm less that of B2T", MORE(0.01) } },
      .setting = SETTLED ", 6 + 6 layers", .measure = b15,
      .before = "after 400 updates of string reversal: shown" },
    { .id = "B16", .item = "section 7", .kind = CHECK_ROW,
      .title = "B2T costs no extra computation, unlike DLCL and Admin",
      .expected = "one addition a layer",
      .check = "one operation more a layer than Post-LN; DLCL's extra operations grow faster than "
      "the depth", .setting = "6 + 6 to 24 + 24 layers, counted on the tape", .measure = costs,
      .before = "counted as a measurement" },
    { .id = "B17", .item = "table 7", .title = "hyper-parameters", .kind = NO_ROW,
      .expected = "", .reason = "settings, not a result" },
    { .id = "B18", .item = "table 8", .title = "the cost of each method", .kind = CHECK_ROW,
      .expected = "B2T one addition a layer; DLCL O(L^2) sums", .check = "as B16",
      .setting = "6 + 6 to 24 + 24 layers, counted on the tape", .measure = costs,
      .before = "counted as a measurement" },
    { .id = "B19", .item = "appendix F", .picture = "B2T of 50 + 50 layers",
      .title = "depth-scaled weights help B2T when extremely deep, in 400 updates",
      .expected = "suggested, not shown",
      .criteria = { { .what = "loss with scaled weights less that without", LESS(0.05) } },
      .setting = "string reversal, 50 + 50 layers, d 16, 2e-3, warm-up 100, 400 updates: speed",
      .measure = b19,
      .init = WHOLE, .before = "18 + 18 layers, where B2T needs no help: opposite" },
    { .id = NULL }
};
