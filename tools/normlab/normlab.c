/* make -C tools && tools/bin/normlab list
 *
 * The laboratory of norms: lists them, draws them, tests whether they train.
 *     normlab list [topologies | norms | inits | recipes] [--markdown]
 *                                  tables: formula, paper, features and requirements
 *     normlab show NAME [--layers N] [--layer L] [--width C] [--svg FILE] [--block FILE]
 *                                  the block as text or picture, its joins at every place,
 *                                  differences between paper and code, the reference as BibTeX
 *     normlab claims               the papers' claims that can be measured
 *     normlab run ID [ID ...] | all [--quick | --full] [--seeds N] [--depth N] [--width C]
 *         [--topology NAME] [--jobs N] [--file F]
 *                                  measures claims: do they show at this scale, and at others?
 *     normlab robust [ID ...]      the headline claims under three initializations
 *     normlab second [ID ...]      undecided claims again, with fresh seeds
 *     normlab factors [PAIR ...]   how much of a gain is placement, how much initialization?
 *     normlab rates --pairs FOLDER the rates of the claims of real translations
 *     normlab rates --pairs FOLDER the rates of the claims of real translations
 *     normlab merge FILE ...       joins measurements of several machines (--part 2/3) in one file
 *     normlab placements [RECIPE ...]
 *                                  which placement trains when: depths, rates, warm-up
 *     normlab report [--markdown]  the results as a page of HTML, or as a table
 *     normlab compare RECIPE ...   trains recipes side by side and draws the result
 *     normlab lesson N             a guided run, see LESSONS.md
 *     normlab smoke [NAME ...] [--steps N] [--seed N] [--jobs N]
 *                                  trains recipes on string reversal: do they learn?
 * Each command is a file of its own here: list.c, show.c, measure.c (claims, run, all, merge),
 * robust.c, second.c, factors.c, placements.c, report.c, compare.c, lessons.c, smoke.c. Exit codes:
 * 0: success; 1: something failed, or a recipe did not learn although it should; 2: wrong
 * arguments. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../common/cli.h"
#include "../common/output.h"
#include "compare.h"
#include "factors.h"
#include "lessons.h"
#include "list.h"
#include "measure.h"
#include "placements.h"
#include "real.h"
#include "real.h"
#include "report.h"
#include "robust.h"
#include "second.h"
#include "show.h"
#include "smoke.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "normlab list [topologies | norms | inits | recipes] [--markdown]\n"
    "    tables of everything: formula, paper, what it has and what it needs\n"
    "normlab show NAME [--layers N] [--layer L] [--width C] [--svg FILE] [--block FILE]\n"
    "    the block of a topology or recipe, the steps of a norm, the gains of an init; what\n"
    "    differs by place; where paper and code differ; the reference as BibTeX. A stack has N\n"
    "    layers (6), the drawn one is L (a middle one), the width is C (512); --svg writes the\n"
    "    picture to FILE instead (-: to the standard output), --block that of the block alone,\n"
    "    in a model of one stack\n"
    "normlab claims\n"
    "    every claim of Xiong 2020 (X), Liu 2020 (A), Takase 2022 (B), since (N), and on real\n"
    "    translations (R) that is measured here, a row each\n"
    "normlab show ID\n"
    "    a claim: what the paper says, what is measured, when it counts as shown\n"
    "normlab run ID [ID ...] | normlab all  [--quick | --full] [--seeds N] [--start-seeds N]\n"
    "        [--first-seed N] [--jobs N] [--file F] [--depth N] [--width C]\n"
    "        [--topology [OLD=]NAME] [--text FILE] [--pairs FOLDER] [--draw]\n"
    "    measures claims (X8 is X8a and X8b); a line each: shown, partly, tie, undecided, not\n"
    "    shown, opposite or not testable here, and the numbers: means over seeds with the\n"
    "    interval that holds them with 99 % confidence, and where it does not decide, how many\n"
    "    seeds would. --draw: the figure, too. --quick (default): 3 seeds of training, 16 of\n"
    "    starts; --full: 8 and 40; they begin with --first-seed (1). --jobs: so many threads, a\n"
    "    measurement each; no number depends on it. Measurements are kept in F (normlab.jsonl),\n"
    "    with which an interrupted run goes on; - keeps none. --minutes N: the rows whose\n"
    "    foretold cost fits into them, the cheap first (all --quick: ten minutes of a slow core).\n"
    "    --part 2/3: the second of three machines; merge makes one file of theirs. --depth and\n"
    "    --width are those of a claim's deepest stack and widest model, the others in proportion;\n"
    "    --topology puts a recipe in the place of OLD (post): a claim's criterion was not made\n"
    "    for these. --text FILE: what rows on real text learn; --pairs FOLDER: what rows of real\n"
    "    translations do (tools/catalogs.py makes it). --isa NAME: the instruction set\n"
    "normlab robust [ID ...] [--markdown] [the same options]\n"
    "    the headline claims, or those named, each with three initializations for all sides\n"
    "    (xavier, fused, fairseq): robust, depends on the init, or undecided. --markdown: a\n"
    "    table of what is in F\n"
    "normlab second [ID ...] [--foretell | --markdown] [the same options]\n"
    "    the second stage: rows that --full leaves undecided, once more with as many fresh seeds\n"
    "    as their own numbers ask for, at most a core hour each; judged by these only\n"
    "normlab factors [METHOD/BASELINE ...] [--layers 6 | 12] [--foretell | --markdown]\n"
    "        [the same options]\n"
    "    how much of a gain is placement, how much initialization: each placement with each\n"
    "    initialization (b2t/pre, b2t/post, admin/post, admin/pre, dlcl/pre, deepnorm/post),\n"
    "    until the loss settles. --foretell: only what it costs\n"
    "normlab rates --pairs FOLDER [the same options]\n"
    "    at which of three rates each placement learns pairs of another language best: the rates\n"
    "    of the claims of real translations (R)\n"
    "normlab merge FILE ... [--file F]\n"
    "    adds to F what it lacks; a measurement that two files have must be the same in both\n"
    "normlab placements [RECIPE ...] [--layers N] [--init NAME] [--svg FILE] [--jobs N]\n"
    "        [--file F]\n"
    "    which placement trains when: all recipes at 12 + 12 layers, a dozen at 4 + 4 and\n"
    "    24 + 24, or those named at --layers (12), at three rates, without and with a warm-up:\n"
    "    BLEU after 400 updates of string reversal, and what has learned, is slow or fails;\n"
    "    --init: one initialization for all, unless another is part of the method\n"
    "normlab report [ID ...] [--markdown] [the same options]\n"
    "    what is in F as one page of HTML with pictures, or as a table of Markdown\n"
    "normlab compare RECIPE ... [--layers N] [--width C] [--heads N] [--norm NAME] [--init NAME]\n"
    "        [--lr X] [--warmup N] [--steps N] [--schedule NAME] [--smoothing X] [--isa NAME]\n"
    "        [--optimizer adafactor | adam | adamw | lion | muon | radam |\n"
    "        schedule-free | sgd]\n"
    "        [--beta2 X] [--dropout X] [--mup C]\n"
    "        [--corpus N] [--task reverse | grammar | translate | headline | speech | tongues |\n"
    "        pairs | text | markov | file] [--text FILE] [--pairs FOLDER] [--seed N]\n"
    "        [--svg PREFIX] [--hash N]\n"
    "    trains up to 8 recipes in lock step and draws their losses and their gradients by\n"
    "    layer; PREFIX-loss.svg and PREFIX-gradients.svg are pictures of them. Tasks: strings\n"
    "    backwards, toy German to English, headlines, spoken digits, a pivot and four toy\n"
    "    languages; toy English by letters and words of known entropy, or the bytes of FILE, as\n"
    "    language models. A corpus of N sentences comes again, else all are new. --norm and\n"
    "    --init stand in the place of the recipes' own, so that all have the same; compare says\n"
    "    what they differ in. --mup: rates and scales as of width C\n"
    "    (muP, which multiplies no embedding by sqrt(d)). --hash: in place of curves the weights\n"
    "    after N updates as a hash, the one that the page of tools/web shows. Defaults: 6 layers,\n"
    "    width 32, 2 heads, Adam at 2e-3, beta2 0.98, no warm-up, 400 steps, linearly to 0,\n"
    "    smoothing 0.1, string reversal, seed 1\n"
    "normlab lesson N [--file F]\n"
    "    a guided run in the terminal: 1 break Post-LN, 2 repair it, 3 where the gradient\n"
    "    vanishes, 4 why upper layers idle, 5 where each breaks, 6 why a warm-up helps, 7 the\n"
    "    curse of depth, 8 carry a rate to another width; tools/LESSONS.md\n"
    "normlab smoke [NAME ...] [--steps N] [--seed N] [--jobs N]\n"
    "    trains all recipes, or those named, to write a string backwards (300 steps, seed 1,\n"
    "    1 job) and says which get below the loss of guessing\n"
    "normlab --help\n"
    "Exit codes: 0; 1: something failed, or a recipe that should learn did not; 2: arguments.\n";

static int help_command(cli *c)
{
    (void)c;
    fputs(usage, stdout);
    return 0;
}

static int run_named(cli *c) { return run_command(c, false); }
static int run_all(cli *c) { return run_command(c, true); }

static const struct { const char *name; int (*run)(cli *c); } commands[] = {
    { "list", list_command },       { "show", show_command },   { "claims", claims_command },
    { "run", run_named },           { "all", run_all },         { "report", report_command },
    { "merge", merge_command },     { "robust", robust_command },
    { "second", second_command },   { "factors", factors_command },
    { "rates", rates_command },
    { "rates", rates_command },
    { "placements", placements_command },
    { "compare", compare_command }, { "lesson", lesson_command }, { "smoke", smoke_command },
    { "--help", help_command },     { "-h", help_command }
};

static int run_tool(int argc, char **argv)
{
    cli c = { "normlab", NULL, 0, 1, NULL };
    c.argv = argv;
    c.argc = argc;
    if (argc < 2) {
        fputs(usage, stderr);
        return 2;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name)) return commands[i].run(&c);
    cli_fail(&c, "there is no command \"%s\"", argv[1]);
    return 2;
}

int main(int argc, char **argv)
{
    output_begin("normlab");
    return output_end(run_tool(argc, argv));
}
