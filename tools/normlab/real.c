/* Rows of real translations: messages of programs, English to another language, from the catalogs
 * that tools/catalogs.py reads. Whole packages are held out, so that no message of the test was
 * trained on. The criteria were committed before any result.
 *
 * All placements start from Xavier's initialization, except DeepNorm, whose own is part of it. Each
 * has its own rate, chosen by `normlab rates`: 6 + 6 layers learn English to French with seed 101,
 * for 1,000 updates, at 5e-4, 1e-3 and 2e-3; the rate with the least loss of the validation set
 * counts, for 12 + 12 layers, too. */
#include "real.h"
#include "claims.h"
#include "lab.h"
#include "lab_work.h"
#include "measure.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* -- settings ---------------------------------------------------------------------------------- */

/* 1e-3 until `normlab rates` has run; change a rate here before any result of these rows. */
typedef struct real_rate { const char *recipe; double rate; } real_rate;
static const real_rate real_rates[] = {
    { "post", 1e-3 }, { "pre", 1e-3 }, { "b2t", 1e-3 }, { "admin", 1e-3 }, { "deepnorm", 1e-3 }
};
enum { REAL_RECIPES = sizeof real_rates / sizeof *real_rates };

static lab_spec real(const char *recipe, int32_t layers)
{
    lab_spec s = until_settled(LAB_PAIRS, recipe, layers);
    s.width = 128;
    s.heads = 4;
    s.ffn = 256;
    s.dropout = 0.1;
    s.score = true;
    s.steps = s.stop = 4000;
    for (int i = 0; i < REAL_RECIPES; i++)
        if (!strcmp(real_rates[i].recipe, recipe)) s.lr = real_rates[i].rate;
    return s;
}
static lab_spec at_once(lab_spec s)
{
    s.warmup = 1;
    return s;
}

/* -- measures ---------------------------------------------------------------------------------- */

/* Two runs until they settle: the differences of loss and BLEU, and both in words. */
static void real_pair(lab *l, outcome *o, lab_spec a, lab_spec b)
{
    const lab_spec both[2] = { a, b };
    lab_sample ended[2];
    for (int k = 0; k < 2; k++) {
        draw_loss(l, o, both[k], both[k].recipe);
        ended[k] = lab_over(l, both[k], "settled", 0);
        say_settled(l, o, both[k]);
        say_named(o, "BLEU", 1, bleu_of(l, both[k]));
    }
    finds(o, mean_of(ended, 2));
}
static void real_loss(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    real_pair(l, o, real(recipe, layers), real("pre", layers));
    finds(o, minus(loss_of(l, real(recipe, layers)), loss_of(l, real("pre", layers))));
}
static void real_bleu(lab *l, outcome *o, const char *recipe, int32_t layers)
{
    real_pair(l, o, real(recipe, layers), real("pre", layers));
    finds(o, minus(bleu_of(l, real(recipe, layers)), bleu_of(l, real("pre", layers))));
}
static void r1a(lab *l, outcome *o) { real_loss(l, o, "post", 6); }
static void r1b(lab *l, outcome *o) { real_bleu(l, o, "post", 6); }
static void r1c(lab *l, outcome *o)
{
    const lab_spec post = real("post", 12);
    const lab_spec pre = real("pre", 12);
    draw_loss(l, o, post, "post");
    draw_loss(l, o, pre, "pre");
    finds(o, minus(loss_of(l, pre), lab_over(l, pre, "unigram", 0)));
    finds(o, minus(loss_of(l, post), loss_of(l, pre)));
    say_settled(l, o, post);
    say_settled(l, o, pre);
}
static void r2a(lab *l, outcome *o) { real_bleu(l, o, "b2t", 6); }
static void r2b(lab *l, outcome *o) { real_bleu(l, o, "b2t", 12); }
static void r3a(lab *l, outcome *o) { real_bleu(l, o, "admin", 6); }
static void r3b(lab *l, outcome *o) { real_bleu(l, o, "admin", 12); }
static void r4a(lab *l, outcome *o) { real_bleu(l, o, "deepnorm", 6); }
static void r4b(lab *l, outcome *o) { real_bleu(l, o, "deepnorm", 12); }

/* How much BLEU a placement loses without a warm-up. */
static void real_warmup(lab *l, outcome *o, const char *recipe)
{
    const lab_spec with = real(recipe, 6);
    const lab_spec without = at_once(with);
    draw_loss(l, o, with, "warm-up");
    draw_loss(l, o, without, "no warm-up");
    say_sample(o, "BLEU with a warm-up ", 1, bleu_of(l, with));
    say_sample(o, ", without ", 1, bleu_of(l, without));
    say(o, ". ");
    finds(o, minus(bleu_of(l, with), bleu_of(l, without)));
}
static void r5a(lab *l, outcome *o) { real_warmup(l, o, "post"); }
static void r5b(lab *l, outcome *o) { real_warmup(l, o, "pre"); }
static void r5c(lab *l, outcome *o) { real_warmup(l, o, "b2t"); }
static void r5d(lab *l, outcome *o) { real_warmup(l, o, "admin"); }
static void r5e(lab *l, outcome *o) { real_warmup(l, o, "deepnorm"); }

/* -- the rows ---------------------------------------------------------------------------------- */

#define REAL(layers) "messages of programs, given by --pairs, 4000 subwords, at most 31 a side, " \
    layers " layers, d 128, d_ff 256, batch 32, dropout 0.1, Adam, each at its rate " \
    "(1e-3), warm-up 400, until it settles, at most 4000 updates" GOES_ON
#define ABOVE_PRE(name) { SETTLED_PREMISE, { .what = "BLEU of packages held out, " name \
                                             " less Pre-LN", MORE(0.5) } }
#define NEEDED { { .what = "BLEU with a warm-up less that without", MORE(1) } }
#define NOT_NEEDED { { .what = "BLEU with a warm-up less that without", BELOW_NOT(1, 1) } }

const claim real_claims[] = {
    { .id = "R1a", .item = "Liu 2020, figures 1, 9, on real pairs", .own_pairs = true,
      .title = "real translations, 6 + 6 layers: Post-LN ends below Pre-LN",
      .picture = "Real translations: Post-LN and Pre-LN, 6 + 6 layers", .expected = "below",
      .criteria = { SETTLED_PREMISE, { .what = "loss, Post-LN less Pre-LN", LESS(0.01) } },
      .setting = REAL("6 + 6"), .measure = r1a, .before = "not measured" },
    { .id = "R1b", .item = "Liu 2020, table 2, on real pairs", .own_pairs = true,
      .title = "real translations, 6 + 6 layers: Post-LN's BLEU is above Pre-LN's",
      .picture = "Real translations: Post-LN and Pre-LN, 6 + 6 layers", .expected = "above",
      .paper = "Post-LN, Pre-LN: IWSLT 35.64, 35.50; En-De 27.80, 27.27",
      .criteria = ABOVE_PRE("Post-LN"), .setting = REAL("6 + 6"), .measure = r1b,
      .before = "not measured" },
    { .id = "R1c", .item = "Liu 2020, table 2, on real pairs", .own_pairs = true,
      .title = "real translations, 12 + 12 layers: Post-LN fails where Pre-LN learns",
      .picture = "Real translations: Post-LN and Pre-LN, 12 + 12 layers", .expected = "it fails",
      .paper = "En-De, 12 layers: Post-LN fails; Takase 2022: it trains at 12, not at 18",
      .criteria = { { .what = "Pre-LN's loss less that of guessing", BELOW(-1), .premise = true },
                    { .what = "loss, Post-LN less Pre-LN", ABOVE_NOT(0.5, 0) } },
      .setting = REAL("12 + 12"), .measure = r1c, .before = "not measured" },
    { .id = "R2a", .item = "Takase 2022, table 1, on real pairs", .own_pairs = true,
      .title = "real translations, 6 + 6 layers: B2T's BLEU is above Pre-LN's",
      .picture = "Real translations: B2T and Pre-LN, 6 + 6 layers", .expected = "above",
      .paper = "Pre-LN, B2T: 26.10, 26.53",
      .criteria = ABOVE_PRE("B2T"), .setting = REAL("6 + 6"), .measure = r2a,
      .before = "not measured" },
    { .id = "R2b", .item = "Takase 2022, table 1, on real pairs", .own_pairs = true,
      .title = "real translations, 12 + 12 layers: B2T's BLEU is above Pre-LN's",
      .picture = "Real translations: B2T and Pre-LN, 12 + 12 layers", .expected = "above",
      .paper = "18 layers 26.57, 27.30",
      .criteria = ABOVE_PRE("B2T"), .setting = REAL("12 + 12"), .measure = r2b,
      .before = "not measured" },
    { .id = "R3a", .item = "Liu 2020, table 2, on real pairs", .own_pairs = true,
      .title = "real translations, 6 + 6 layers: Admin's BLEU is above Pre-LN's",
      .picture = "Real translations: Admin and Pre-LN, 6 + 6 layers", .expected = "above",
      .paper = "Pre-LN, Admin: En-De 27.27, 27.90",
      .criteria = ABOVE_PRE("Admin"), .setting = REAL("6 + 6"), .measure = r3a,
      .before = "not measured" },
    { .id = "R3b", .item = "Liu 2020, table 2, on real pairs", .own_pairs = true,
      .title = "real translations, 12 + 12 layers: Admin's BLEU is above Pre-LN's",
      .picture = "Real translations: Admin and Pre-LN, 12 + 12 layers", .expected = "above",
      .paper = "Pre-LN, Admin: En-De 28.26, 28.58",
      .criteria = ABOVE_PRE("Admin"), .setting = REAL("12 + 12"), .measure = r3b,
      .before = "not measured" },
    { .id = "R4a", .item = "Takase 2022, table 5, on real pairs", .own_pairs = true,
      .title = "real translations, 6 + 6 layers: DeepNorm's BLEU is above Pre-LN's",
      .picture = "Real translations: DeepNorm and Pre-LN, 6 + 6 layers", .expected = "above",
      .paper = "Pre-LN 26.10, DeepNet 26.38",
      .criteria = ABOVE_PRE("DeepNorm"), .setting = REAL("6 + 6"), .measure = r4a,
      .before = "not measured" },
    { .id = "R4b", .item = "Takase 2022, table 5, on real pairs", .own_pairs = true,
      .title = "real translations, 12 + 12 layers: DeepNorm's BLEU is above Pre-LN's",
      .picture = "Real translations: DeepNorm and Pre-LN, 12 + 12 layers", .expected = "above",
      .paper = "18 layers: Pre-LN 26.57, DeepNet 27.13",
      .criteria = ABOVE_PRE("DeepNorm"), .setting = REAL("12 + 12"), .measure = r4b,
      .before = "not measured" },
    { .id = "R5a", .item = "Xiong 2020, figure 2, on real pairs", .own_pairs = true,
      .title = "real translations: Post-LN needs a warm-up",
      .picture = "Real translations: Post-LN with and without warm-up", .expected = "it does",
      .criteria = NEEDED, .setting = REAL("6 + 6"), .measure = r5a, .before = "not measured" },
    { .id = "R5b", .item = "Xiong 2020, figure 4, on real pairs", .own_pairs = true,
      .title = "real translations: Pre-LN needs no warm-up",
      .picture = "Real translations: Pre-LN with and without warm-up", .expected = "none",
      .criteria = NOT_NEEDED, .setting = REAL("6 + 6"), .measure = r5b,
      .before = "not measured" },
    { .id = "R5c", .item = "Takase 2022, on real pairs", .own_pairs = true,
      .title = "real translations: B2T needs a warm-up, as Post-LN does",
      .picture = "Real translations: B2T with and without warm-up",
      .expected = "nothing: the paper always warms up",
      .criteria = NEEDED, .setting = REAL("6 + 6"), .measure = r5c, .before = "not measured" },
    { .id = "R5d", .item = "Liu 2020, section 5.2, on real pairs", .own_pairs = true,
      .title = "real translations: Admin needs no warm-up",
      .picture = "Real translations: Admin with and without warm-up", .expected = "none",
      .criteria = NOT_NEEDED, .setting = REAL("6 + 6"), .measure = r5d,
      .before = "not measured" },
    { .id = "R5e", .item = "Wang 2022, on real pairs", .own_pairs = true,
      .title = "real translations: DeepNorm needs no warm-up",
      .picture = "Real translations: DeepNorm with and without warm-up",
      .expected = "nothing: its updates are bounded at the start",
      .criteria = NOT_NEEDED, .setting = REAL("6 + 6"), .measure = r5e,
      .before = "not measured" },
    { .id = NULL }
};

/* -- normlab rates ----------------------------------------------------------------------------- */

static const double tried_rates[] = { 5e-4, 1e-3, 2e-3 };
enum { TRIED_RATES = sizeof tried_rates / sizeof *tried_rates, RATES_SEED = 101 };

/* A short run of constant rate, without scores. */
static lab_spec tried(int recipe, int rate)
{
    lab_spec s = real(real_rates[recipe].recipe, 6);
    s.settle = s.score = false;
    s.steps = s.stop = 1000;
    s.lr = tried_rates[rate];
    s.seed = RATES_SEED;
    return s;
}

static void ask_rates(lab *l)
{
    l->user = CLAIMS_MOST - 1;
    l->init = XAVIER;
    for (int i = 0; i < REAL_RECIPES; i++)
        for (int k = 0; k < TRIED_RATES; k++) {
            const lab_spec s = tried(i, k);
            lab_get(l, &s);
        }
}

/* Prints the losses of a recipe and its best rate, which is never one that went to infinity. */
static void print_rates(lab *l, int recipe)
{
    int best = -1;
    double least = 0;
    printf("%-10s", real_rates[recipe].recipe);
    for (int k = 0; k < TRIED_RATES; k++) {
        const lab_spec s = tried(recipe, k);
        const lab_list *nll = lab_list_of(lab_get(l, &s), "nll");
        if (!nll || !(nll->v[0] < 1e300)) {
            printf("      -     ");
            continue;
        }
        printf("  %g: %.4f", tried_rates[k], nll->v[0]);
        if (best >= 0 && nll->v[0] >= least) continue;
        best = k;
        least = nll->v[0];
    }
    if (best >= 0) printf("  best: %g", tried_rates[best]);
    printf("\n");
}

int rates_command(cli *c)
{
    lab l;
    lab_options options;
    lab_clear(&l, &options);
    while (cli_next(c))
        if (!lab_option(c, &l, &options))
            cli_fail(c, "rates does not know \"%s\"", c->argv[c->at]);
    if (!lab_pairs.vocab) cli_fail(c, "rates needs --pairs FOLDER, of another language pair");
    lab_begin(&l, &options);
    lab_read(&l);
    ask_rates(&l);
    const bool ok = lab_work_on(&l, NULL, NULL) && !l.lost;
    for (int i = 0; i < REAL_RECIPES; i++) print_rates(&l, i);
    lab_free(&l);
    return ok ? 0 : 1;
}
