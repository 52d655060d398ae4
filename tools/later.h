/* Rows of what the field learned since (N): QK-norm, growth of activations, nGPT, DyT, and a
 * sentence of Liu 2020 that the first edition overlooked. */
#ifndef LATER_H
#define LATER_H

/* -- rates that are too high (Wortsman 2023) --------------------------------------------------- */

static lab_spec at_rate(const char *recipe, double lr) { return training(recipe, 4, lr, 50, 400); }
static void n1(lab *l, outcome *o)
{
    draw_loss(l, o, at_rate("pre", 0.1), "pre");
    draw_loss(l, o, at_rate("qk-head", 0.1), "qk-head");
    finds(o, bleu_of(l, at_rate("pre", 0.1)));
    finds(o, bleu_of(l, longer(at_rate("pre", 0.1))));
    finds(o, bleu_of(l, at_rate("qk-head", 0.1)));
    say_sample(o, "At 0.03: BLEU ", 1, bleu_of(l, at_rate("pre", 0.03)));
    say_sample(o, ", with QK-norm ", 1, bleu_of(l, at_rate("qk-head", 0.03)));
    say(o, ". ");
}

/* -- growth of activations (Kim 2025, Sun 2025) ------------------------------------------------ */

/* Slope of the stream's mean square over 12 layers in the theorems' setting. */
static lab_sample stream_slope(lab *l, outcome *o, const char *recipe)
{
    static lab_sample rows[LAB_DEEPEST];
    double x[LAB_DEEPEST];
    const int32_t n = lab_layers(l, 12);
    for (int32_t i = 0; i < n; i++) {
        rows[i] = lab_over(l, theory(recipe, 12), "enc_output_energy", 2*i + 1);
        x[i] = i + 1;
    }
    points(line_of(o, "layer", "mean of |x|^2 / d", recipe), x, rows, n);
    return jackknifed(rows, n, x, linear_slope);
}
static void n2(lab *l, outcome *o)
{
    const lab_sample pre = stream_slope(l, o, "pre");
    const lab_sample peri = stream_slope(l, o, "peri");
    finds(o, minus(stream_slope(l, o, "lns"), pre));
    finds(o, peri);
    say_sample(o, "Pre-LN's slope ", 2, pre);
    say(o, ". ");
}

/* -- models on the sphere, and without statistics ---------------------------------------------- */

static void n3(lab *l, outcome *o)
{
    const lab_spec ngpt = training("ngpt", 4, 8e-3, 1, 500);
    draw_loss(l, o, ngpt, "ngpt");
    draw_loss(l, o, by_adam(1), "post");
    finds(o, bleu_of(l, ngpt));
    finds(o, minus(bleu_of(l, ngpt), bleu_of(l, by_adam(1))));
}
static void n5(lab *l, outcome *o)
{
    compare_settled(l, o, settled("dyt", 6), settled("pre", 6));
}

/* -- until they settle: real text, pre-training ------------------------------------------------ */

static lab_spec on_text(const char *recipe)
{
    lab_spec s = settled(recipe, 6);
    s.task = LAB_FILE;
    s.score = false;
    return s;
}
static void n11(lab *l, outcome *o) { compare_settled(l, o, on_text("post"), on_text("pre")); }
static lab_spec settled_masked(const char *recipe)
{
    lab_spec s = settled(recipe, 4);
    s.task = LAB_MASKED;
    s.score = false;
    return s;
}
static void n12(lab *l, outcome *o)
{
    compare_settled(l, o, settled_masked("post"), settled_masked("pre"));
}

/* -- Admin vanishes and trains (Liu 2020, section 4.3) ----------------------------------------- */

static void n9(lab *l, outcome *o)
{
    finds(o, bottom_over_top(l, at_start("admin", 18)));
    finds(o, bleu_of(l, deeper("admin")));
    draw_list(l, o, at_start("admin", 18), "dec_output_gradient", 3 * lab_layers(l, 18),
              "decoder sub-layer", OUT_GRADIENT, "admin");
    o->fig.log_y = true;
}

/* -- the rows ---------------------------------------------------------------------------------- */

static const claim later_claims[] = {
    { .id = "N1", .item = "Wortsman 2023",
      .title = "QK-norm lets a model train at a rate at which it fails without",
      .picture = "A rate of 0.1", .expected = "fails without, trains with",
      .criteria = { FAILING("Pre-LN"), { .what = "three times the updates", BELOW(FAILS_BELOW) },
                    { .what = "BLEU with QK-norm", ABOVE(LEARNS_ABOVE) } },
      .setting = "string reversal, 4 + 4 layers, 0.1, warm-up 50, 400 updates", .measure = n1 },
    { .id = "N2", .item = "Kim 2025; Sun 2025", .picture = "How the stream grows",
      .title = "the stream of LayerNorm Scaling hardly grows, that of Peri-LN does as Pre-LN's",
      .expected = "below linear; linear",
      .criteria = { { .what = "slope of |x|^2/d, LayerNorm Scaling less Pre-LN", LESS(0.5) },
                    { .what = "slope of Peri-LN", ABOVE(0.5) } },
      .setting = THEORY, .measure = n2 },
    { .id = "N3", .item = "Loshchilov 2024", .picture = "nGPT without warm-up",
      .title = "nGPT needs no warm-up, at a rate at which Post-LN does",
      .expected = "no warm-up",
      .criteria = { { .what = "BLEU of nGPT", ABOVE(LEARNS_ABOVE) },
                    { .what = "less that of Post-LN", MORE(20) } },
      .setting = SHALLOW ", no warm-up", .measure = n3 },
    { .id = "N5", .item = "Zhu 2025", .title = "DyT ends like LayerNorm, 6 + 6 layers",
      .picture = "DyT and LayerNorm until they settle", .expected = "alike",
      .criteria = { SETTLED_PREMISE, { .what = "loss of DyT less that of LayerNorm",
                                       ALIKE(0.02) } },
      .setting = SETTLED, .measure = n5 },
    { .id = "N9", .item = "Liu 2020, section 4.3",
      .title = "Admin suffers from vanishing gradients, and yet it trains",
      .picture = "Gradients of Admin before training", .expected = "both",
      .criteria = { { .what = "decoder's bottom over top", .log = true, BELOW_NOT(-0.223144, 0) },
                    { .what = "BLEU of 18 + 18 layers", ABOVE(LEARNS_ABOVE) } },
      .setting = AT_START ", 18 + 18 layers; " DEEPER, .measure = n9,
      .before = "A3 counted Admin among those that do not vanish" },
    { .id = "N11", .item = "Takase 2022, table 3, on a text of one's own",
      .title = "a language model of 6 layers: Post-LN ends below Pre-LN", .wants_text = true,
      .picture = "A text of one's own until it settles", .expected = "below: 20.24 and 20.98",
      .criteria = { SETTLED_PREMISE, { .what = "loss of Post-LN less that of Pre-LN",
                                       LESS(0.01) } },
      .setting = "windows of 32 bytes of a text that is given (--text), the last tenth is the "
      "test; 6 layers, d 32, batch 32, Adam 2e-3, warm-up 400, until it settles, at most 8000 "
      "updates", .measure = n11 },
    { .id = "N12", .item = "Xiong 2020, figure 5 a, until it settles",
      .title = "masked pre-training of 4 layers ends alike with Post-LN and Pre-LN",
      .picture = "Masked pre-training until it settles", .expected = "the same loss, 1.69",
      .criteria = { SETTLED_PREMISE, { .what = "loss of Post-LN less that of Pre-LN",
                                       ALIKE(0.02) } },
      .setting = "two facts by words, 15 % hidden, an encoder of 4 layers, d 32, batch 32, Adam "
      "2e-3, warm-up 400, until it settles, at most 8000 updates", .measure = n12 }
};
#endif
