/* normlab lesson 1 .. 8: guided runs of two to five minutes, reading included. A step introduces,
 * measures, draws, and asks a question. LESSONS.md has the answers. */
#include "lessons.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include "claims.h"
#include "judge.h"
#include "lab.h"
#include "lab_samples.h"
#include "lab_spec.h"
#include "lab_work.h"
#include "later.h"
#include "liu.h"
#include "measure.h"
#include "rows.h"
#include "takase.h"
#include "xiong.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* -- measurements without a claim -------------------------------------------------------------- */

/* Three runs of 4 + 4 layers: with warm-up, without, and Pre-LN without. */
static void lesson_break(lab *l, outcome *o)
{
    const lab_spec with = training("post", 4, 8e-3, 200, 500);
    lab_spec without = with;
    without.warmup = 1;
    lab_spec pre = without;
    pre.recipe = "pre";
    draw_loss(l, o, with, "Post-LN, warm-up");
    draw_loss(l, o, without, "Post-LN, none");
    draw_loss(l, o, pre, "Pre-LN, none");
    say(o, "BLEU: Post-LN with warm-up %.1f, without %.1f; Pre-LN without %.1f.",
        lab_over(l, with, "bleu", 0).mean, lab_over(l, without, "bleu", 0).mean,
        lab_over(l, pre, "bleu", 0).mean);
}

/* Adds a sample to the text; for logarithms, the values themselves. */
static void say_lesson(outcome *o, const char *before, lab_sample a)
{
    say(o, "%s%.2f", before, exp(a.mean));
}

/* Draws a run and adds its BLEU to the text. */
static void lesson_run(lab *l, outcome *o, lab_spec s, const char *name)
{
    draw_loss(l, o, s, name);
    say(o, "%s %.1f", name, lab_over(l, s, "bleu", 0).mean);
}

/* 6 + 6 layers at 4e-3 without warm-up, and four remedies. */
static void lesson_repair(lab *l, outcome *o)
{
    const lab_spec post = training("post", 6, 4e-3, 1, 600);
    lab_spec warmed = post;
    warmed.warmup = 200;
    lab_spec rectified = post;
    rectified.optimizer = TFN_OPTIMIZER_RADAM;
    rectified.beta2 = 0.995;
    say(o, "BLEU: ");
    lesson_run(l, o, post, "Post-LN");
    say(o, ", ");
    lesson_run(l, o, warmed, "with warm-up");
    say(o, ", ");
    lesson_run(l, o, rectified, "with RAdam");
    say(o, ", ");
    lesson_run(l, o, training("pre", 6, 4e-3, 1, 600), "Pre-LN");
    say(o, ", ");
    lesson_run(l, o, training("admin", 6, 4e-3, 1, 600), "Admin");
    say(o, ".");
}

/* Gradients of W2 by layer before training and after a warm-up. */
static void lesson_gradients(lab *l, outcome *o)
{
    draw_w2(l, o, at_start("post", 6), "Post-LN");
    draw_w2(l, o, at_start("pre", 6), "Pre-LN");
    draw_w2(l, o, after_200("post", 200), "Post-LN after a warm-up");
    say_lesson(o, "The last layer's over the first one's: Post-LN ",
               last_over_first(l, at_start("post", 6), "dec_w2_gradient"));
    say_lesson(o, ", Pre-LN ", last_over_first(l, at_start("pre", 6), "dec_w2_gradient"));
    say(o, ".");
}

/* The weight of a branch against its number. */
static void lesson_shares(lab *l, outcome *o)
{
    a9a(l, o);
    a9b(l, o);
    say(o, "Exponents of i: Post-LN %.2f, Pre-LN %.2f.", o->sample[0].mean, o->sample[1].mean);
}

/* The loss after 400 updates at 2, 4, 8 and 12 layers. */
static void lesson_depths(lab *l, outcome *o)
{
    static const int32_t layers[] = { 2, 4, 8, 12 };
    static const double x[] = { 2, 4, 8, 12 };
    lab_sample loss[4];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4; i++)
            loss[i] = loss_of(l, training(post_pre_b2t[k], layers[i], 2e-3, 100, 400));
        points(line_of(o, "layers of each stack", "loss after 400 updates [nats per token]",
                       post_pre_b2t[k]), x, loss, 4);
        say(o, "%s %.2f at 2 layers, %.2f at 12. ", paper_name(post_pre_b2t[k]), loss[0].mean,
            loss[3].mean);
    }
}

/* -- the lessons ------------------------------------------------------------------------------- */

#define NO_GUESS { NULL, NULL, NULL }
enum { LESSONS = 8, LESSON_STEPS = 3, LESSON_GUESSES = 3 };
typedef struct lesson_step {
    const char *before;
    void      (*measure)(lab *l, outcome *o);
    const char *after;                            /* the question */
    const char *guess[LESSON_GUESSES];            /* possible outcomes; NULL: no guess */
} lesson_step;
static const struct { const char *title; lesson_step steps[LESSON_STEPS]; } lessons[LESSONS] = {
    { "Break Post-LN by taking its warm-up away", {
      { "A Transformer of 4 + 4 layers learns to write strings backwards in 500 updates of Adam. "
        "The learning rate rises to 0.008 within 200 updates (warm-up), or starts there.",
        lesson_break,
        "Which of the three runs does not learn? Is it the rate, or the placement of the norm?",
        { "Post-LN without warm-up fails, the others learn", "both without warm-up fail",
          "all three learn, those without warm-up later" } },
      { "Before the first update: how large is the gradient of W2, layer by layer? And after a "
        "warm-up?", lesson_gradients,
        "Which layer gets the largest step at the start in Post-LN, and what does that do to the "
        "layers that read from it? What has the warm-up changed?",
        NO_GUESS } } },
    { "Repair it four ways", {
      { "6 + 6 layers, a rate of 0.004, no warm-up: Post-LN, and four repairs, one at a time: a "
        "warm-up; RAdam, which begins with small steps on its own; the norm inside the branch; "
        "Admin, whose skips are scaled so that no branch weighs much at first.", lesson_repair,
        "What do the four repairs have in common? Which of them cost something at inference?",
        { "all four learn", "the warm-up and Pre-LN learn, the others do not",
          "only the warm-up learns" } },
      { "A fifth repair, the simplest idea: a small constant rate.", x20a,
        "It does not diverge. Why is it still not a repair?",
        NO_GUESS } } },
    { "Where the gradient vanishes in an 18-layer decoder", {
      { "18 + 18 layers before training: the gradient's norm at the output of every decoder layer.",
        b3a, "By what factor does it shrink per layer in Post-LN? What does one more addition "
        "(B2T) change?",
        { "in Post-LN it shrinks by half from top to bottom", "by a hundred times",
          "it does not shrink, it grows" } },
      { "Three kinds of sub-layers: what does each do to the gradient that passes through it?", a4,
        "Which of the three makes the gradient smaller, and why do the other two not? What do you "
        "expect in an encoder of 18 layers (normlab run A3 --draw)?",
        NO_GUESS },
      { "Inside one layer: (5) before the last norm, (4) and (3) after and before the norm of the "
        "cross-attention, (2) and (1) those of the self-attention.", b4,
        "Between which points does the norm of the gradient fall? What is between them?",
        NO_GUESS } } },
    { "Why Pre-LN's upper layers idle", {
      { "Pre-LN adds to its stream and never normalizes it: the size of the stream, layer by "
        "layer.", x5,
        "If each branch adds about the same amount, what share of the stream comes from the "
        "twelfth?",
        { "it stays about 1", "it grows by about 1 a layer", "it doubles with each layer" } },
      { "The share of branch i in the output of its sub-layer, squared, in Post-LN and Pre-LN.",
        lesson_shares,
        "Read the slope: how does the share fall in Pre-LN? Why not in Post-LN?",
        NO_GUESS },
      { "After training: how similar is the output of each layer to that of the last layer?", b5a,
        "Which model would lose the least without its upper layers? Where is B2T between the "
        "other two?",
        NO_GUESS } } },
    { "Find the depth where each breaks", {
      { "2 to 12 layers in each stack, the same rate (0.002), warm-up 100, 400 updates: the loss "
        "at the end.", lesson_depths,
        "At which depth does Post-LN break? Does it break, or is it slow: what would you "
        "run to find out (normlab compare post --layers 8 --steps 1200 --warmup 400)?",
        { "from some depth on Post-LN only guesses, the others learn",
          "all three get worse with depth in the same way", "deeper is better for all three" } },
      { "The reason Liu 2020 gives: move all weights by 0.0001 and see how far the output moves.",
        a6a,
        "Which law do you see, N or ln N? What happens to it with N when every update moves all "
        "weights?",
        NO_GUESS } } },
    { "Why a warm-up helps", {
      { "4 + 4 layers at a rate of 0.008. Adam divides every gradient by its own usual size. By "
        "what angle do updates 1, 2, 4, 8 ... turn the weight matrices?", n6a,
        "Without warm-up the rate is the same at update 1 and soon after. Why does update 1 turn "
        "the weights so much more?",
        { "all updates turn them by the same angle", "the first one turns them by far the most",
          "the first one turns them the least" } },
      { "How far does one update move the logits, compared with their size?", n6b,
        "Where does the warm-up keep them? What can a layer learn if the layers below it move so "
        "far?",
        NO_GUESS },
      { "How strongly does the loss curve? The largest eigenvalue of the Hessian after Adam's "
        "division. Above 38/rate, here 4750, Adam's steps grow instead of settling.", n7a,
        "Which model is above the limit, and until when? What does a small rate give the model "
        "time for?",
        NO_GUESS } } },
    { "The curse of depth", {
      { "12 layers before training: how does the stream grow in Pre-LN, in Peri-LN, which has "
        "norms before and after each branch, and in LayerNorm Scaling, which divides the norm of "
        "layer l by sqrt(l)?", n2,
        "Each branch reads only the stream's direction. What share of its stream does the twelfth "
        "layer add in each of the three?",
        { "all three grow equally", "LayerNorm Scaling grows far less than the other two",
          "Pre-LN grows the least" } },
      { "A trained language model of 12 layers. Now one layer after the other is left out: by how "
        "much does the loss rise?", n4b,
        "Which layers are missed least in Pre-LN, and which in LayerNorm Scaling? Does the model "
        "whose upper layers count more end with the lower loss?",
        NO_GUESS } } },
    { "Carry a learning rate from a small model to a wide one", {
      { "A Pre-LN language model of 2 layers at widths 16, 32, 64 and 128, each at six rates: the "
        "loss after 200 updates.", n8a,
        "Where is the lowest point of each curve, and how does it move with the width?",
        { "the best rate is the same at all widths", "wide models need a smaller rate",
          "wide models need a larger rate" } },
      { "The same in muP: matrices of the layers get the rate divided by width/16, logits are "
        "divided by it, embeddings keep the whole rate.", n8b,
        "Does the rate that was best at width 16 also work at width 128 now? How much cheaper is a "
        "search at width 16 than at width 128?",
        NO_GUESS } } }
};

/* -- the command ------------------------------------------------------------------------------- */

/* A paragraph in lines of at most 78 columns, and an empty line. */
static void lesson_text(const char *text)
{
    print_wrapped(text, 0);
    printf("\n");
}

/* For a step that is a row of the claims: the means for its criteria. */
static void lesson_found(const lesson_step *s, outcome *o)
{
    for (int i = 0; claim_at(i); i++) {
        const claim *c = claim_at(i);
        if (c->measure != s->measure) continue;
        for (int k = 0; k < criteria_of(c); k++)
            say(o, "%s: %.3g. ", c->criteria[k].what,
                judge_shown(&c->criteria[k], o->sample[k].mean));
        return;
    }
}

/* Measures and draws a step. */
static bool lesson_measure(lab *l, const lesson_step *s, outcome *o)
{
    static const claim drawn = { .id = "", .title = "" };
    memset(o, 0, sizeof *o);
    s->measure(l, o);               /* notes what it needs */
    if (!lab_work(l)) return false;
    memset(o, 0, sizeof *o);
    s->measure(l, o);
    lesson_found(s, o);
    draw_text(stdout, &drawn, o);
    return true;
}

/* The student chooses one of the possible outcomes. NULL: not asked, or none chosen. */
static const char *lesson_guess(const lesson_step *s)
{
    int chosen = 0;
    if (!s->guess[0] || !output_is_terminal(stdout)) return NULL;
    printf("What do you expect?\n");
    for (int i = 0; i < LESSON_GUESSES; i++) printf("  %d  %s\n", i + 1, s->guess[i]);
    while (chosen < 1 || chosen > LESSON_GUESSES) {
        printf("[1 to %d] ", LESSON_GUESSES);
        fflush(stdout);
        const int c = getchar();
        if (c == EOF) return NULL;
        if (c >= '1' && c <= '0' + LESSON_GUESSES) chosen = c - '0';
        for (int rest = c; rest != '\n'; rest = getchar())
            if (rest == EOF) break;
    }
    printf("\n");
    return s->guess[chosen - 1];
}

static void wait_for_enter(void)
{
    printf("[Enter]");
    for (int c = getchar(); c != '\n'; c = getchar())
        if (c == EOF) break;
}

static bool lesson(lab *l, int number, outcome *o)
{
    printf("Lesson %d: %s\n\n", number, lessons[number - 1].title);
    for (int i = 0; i < LESSON_STEPS; i++) {
        const lesson_step *s = &lessons[number - 1].steps[i];
        if (!s->measure) break;
        lesson_text(s->before);
        fflush(stdout);
        const char *guess = lesson_guess(s);
        if (!lesson_measure(l, s, o)) return false;
        printf("\n");
        if (guess) printf("You expected: %s. Does the picture say so?\n", guess);
        lesson_text(o->numbers);
        printf("? ");
        lesson_text(s->after);
        if (output_is_terminal(stdout)) wait_for_enter();
    }
    return true;
}

int lesson_command(cli *c)
{
    static outcome o;
    long number = 0;
    lab_options options;
    lab l;
    lab_clear(&l, &options);
    while (cli_next(c)) {
        if (cli_text(c, "--file", &l.file)) continue;
        if (!number && strlen(c->argv[c->at]) == 1) number = c->argv[c->at][0] - '0';
        else number = -1;
    }
    if (number < 1 || number > LESSONS) cli_fail(c, "lesson needs a number from 1 to %d", LESSONS);
    options.seeds = 1;
    options.starts = 2;
    l.init = "xavier";                          /* lessons compare placements only */
    lab_begin(&l, &options);
    lab_read(&l);
    const bool ok = lesson(&l, (int)number, &o) && !l.lost;
    lab_free(&l);
    return ok ? 0 : 1;
}
