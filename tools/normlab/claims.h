/* Claims of papers about norms, a row each: the paper's statement, the measurement here, and the
 * criteria of its verdict (judge.h). A row states one thing. The criteria were committed before the
 * results and are data, so the printed criteria are those that judge. Rows that hold by
 * construction, such as identities, one-sided bounds and tests of the library, are checks; the
 * tally leaves them out.
 *
 * xiong.c, liu.c and takase.c have the rows of Xiong 2020 (X), Liu 2020 (A) and Takase 2022 (B);
 * later.c has those of later papers (N), real.c those of real translations (R). This header
 * declares their common parts: samples over seeds, figures, settings. */
#ifndef CLAIMS_H
#define CLAIMS_H

#include "judge.h"
#include "lab.h"
#include "lab_samples.h"
#include <stdbool.h>
#include <stdint.h>

/* The content of a picture: lines over x, or an n x n matrix. */
enum { FIGURE_POINTS = 3 * LAB_DEEPEST, FIGURE_LINES = 9, FIGURE_MATRIX = 40 };
typedef struct figure_line {
    char   name[40];
    int    n;
    double x[FIGURE_POINTS], y[FIGURE_POINTS], spread[FIGURE_POINTS];
} figure_line;
typedef struct figure {
    const char *x, *y;              /* labels of the axes, with units */
    bool        log_x, log_y;
    int         lines, matrix;      /* matrix: columns, one more than rows; named as line 0 */
    figure_line line[FIGURE_LINES];
    double      cells[FIGURE_MATRIX * (FIGURE_MATRIX + 1)];
} figure;

enum { CLAIM_CRITERIA = 8 };
typedef struct outcome {
    verdict    verdict;
    int        found;                           /* samples so far, one for each criterion */
    lab_sample sample[CLAIM_CRITERIA];
    finding    finding[CLAIM_CRITERIA];
    bool       held;                            /* result of a check */
    char       numbers[1600];                   /* other results, as text */
    figure     fig;
} outcome;

typedef enum claim_kind { MEASUREMENT, CHECK_ROW, NO_ROW } claim_kind;
typedef struct claim {
    const char *id, *item, *title;
    claim_kind  kind;
    const char *expected;
    const char *paper;                          /* the paper's numbers; NULL: it gives none */
    const char *picture;                        /* title of the figure; NULL: the row's title */
    criterion   criteria[CLAIM_CRITERIA];       /* of a measurement; ends with one without `what` */
    const char *check;                          /* the subject of a check, in words */
    const char *setting;
    const char *init;                           /* see init_of */
    void      (*measure)(lab *l, outcome *o);   /* NULL for NO_ROW: not testable here */
    const char *reason;                         /* why it is not testable */
    bool        own_text;                       /* needs your own text: --text */
    bool        own_pairs;                      /* needs your own pairs: --pairs */
    const char *before;                         /* verdict of earlier editions; NULL: the same */
} claim;

int criteria_of(const claim *c);

/* The initialization for all sides that a row compares; NULL: each method's own, so that methods
 * are compared as a whole. Placements are compared with one, which is that of the paper's code
 * unless the row names another. */
#define XAVIER "xavier"         /* trained runs of Post-LN and Pre-LN use it by default */
#define WHOLE  ""
const char *init_of(const claim *c);

void say(outcome *o, const char *format, ...);
/* Adds mean and deviation over seeds to the text. */
void say_sample(outcome *o, const char *before, int digits, lab_sample a);

/* The same for one of several items, with its name. */
void say_named(outcome *o, const char *name, int digits, lab_sample a);

/* Records the values of the row's next criterion. */
void finds(outcome *o, lab_sample a);
void holds(outcome *o, bool held);

/* -- samples --------------------------------------------------------------------------------- */

/* Difference seed by seed, for the seeds that both have. */
lab_sample minus(lab_sample a, lab_sample b);
lab_sample log_ratio(lab_sample a, lab_sample b);
/* Exponents of y ~ x^b, one for each seed; rows[i] are the y at x[i]. */
lab_sample exponents(const lab_sample *rows, int32_t n, const double *x);
/* A statistic of the means over seeds; returns its jackknife values. */
typedef double law(int32_t n, const double *x, const double *means);
lab_sample jackknifed(const lab_sample *rows, int32_t n, const double *x, law *f);
/* How much more of the variance a line in x explains than a line in ln x. */
double linear_rather_than_log(int32_t n, const double *x, const double *means);
double linear_share(int32_t n, const double *x, const double *means);
double linear_slope(int32_t n, const double *x, const double *means);
lab_sample mean_of(const lab_sample *rows, int32_t n);
/* The row with the smallest mean, or the largest. */
lab_sample extreme(const lab_sample *rows, int32_t n, bool largest);

/* -- figures --------------------------------------------------------------------------------- */

/* The paper's name of a recipe, for legends. */
const char *paper_name(const char *recipe);
/* The line of this name, without points. No two lines of a figure have the same name. */
figure_line *line_of(outcome *o, const char *x, const char *y, const char *name);
void point(figure_line *line, double x, double y, double spread);
void points(figure_line *line, const double *x, const lab_sample *rows, int32_t n);

/* -- settings -------------------------------------------------------------------------------- */

lab_spec setting(lab_task kind, const char *recipe, int32_t layers);
lab_spec at_start(const char *recipe, int32_t layers);
lab_spec wide(lab_spec s);
/* Xiong 2020, 3.3: one head of d channels, all matrices d x d. */
lab_spec theory(const char *recipe, int32_t layers);
lab_spec training(const char *recipe, int32_t layers, double lr, int64_t warmup, int64_t steps);
/* 12 + 12 layers, 400 updates: for effects that appear by then. */
lab_spec deep(const char *recipe);
/* 18 + 18 layers, where Takase 2022 finds that Post-LN fails. */
lab_spec deeper(const char *recipe);
/* 6 + 6 layers (or more) at a rate at which all placements train; examined at the end. */
lab_spec trained(const char *recipe, int32_t layers);
/* The control for "fails": three times the updates and the warm-up, a third of the rate. */
lab_spec control(lab_spec s);
/* For a run that fails at its rate: only three times the updates. */
lab_spec longer(lab_spec s);
/* Until the loss settles. Without label smoothing, because tasks reach its lowest loss. */
lab_spec until_settled(lab_task kind, const char *recipe, int32_t layers);
/* Toy German to toy English, two clauses, from 400 repeated sentences. From endless ones 6 + 6
 * layers learn everything, and their losses of 1e-4 keep falling. */
lab_spec settled(const char *recipe, int32_t layers);
/* Very deep and narrow. */
lab_spec giant(const char *recipe, int32_t layers, int32_t decoder_layers);
#define FAILS_BELOW 20          /* BLEU */
#define LEARNS_ABOVE 90

/* Labels of axes. */
#define LAST_W2      "gradient norm of the last W2 [nats per token]"
#define ANY_W2       "gradient norm of W2 [nats per token]"
#define OUT_GRADIENT "gradient norm of its output [nats]"

lab_sample loss_of(lab *l, lab_spec s);
lab_sample bleu_of(lab *l, lab_spec s);

/* Point i of the loss curves. A run that has settled keeps its last loss while others go on;
 * otherwise their mean would jump where a run ends. */
lab_sample curve_at(lab *l, const lab_spec *s, int32_t i);
void draw_loss(lab *l, outcome *o, lab_spec s, const char *name);
void draw_list(lab *l, outcome *o, lab_spec s, const char *list, int32_t n, const char *x,
               const char *y, const char *name);
/* Draws the loss of a run and adds its score to the text. */
lab_sample scored(lab *l, outcome *o, lab_spec s, const char *name, lab_sample score);
/* Numbers 0 to n - 1 of a list, with a sample for each. */
void samples_of(lab *l, lab_spec s, const char *list, int32_t n, lab_sample *rows);
/* Updates until the loss falls below a limit, interpolated between two points of the curve;
 * `updates` if it never does. */
double first_below(const lab_list *curve, double limit, double updates);
lab_sample reaches(lab *l, lab_spec s, lab_sample limits);
lab_sample constant(lab *l, lab_spec s, double x);

/* "Admin: loss 0.5991+-0.0525 after 2906+-186 updates; " */
void say_settled(lab *l, outcome *o, lab_spec s);

/* Compares two recipes that trained until they settled: loss of the first minus the second. The
 * premise comes first: seven of eight runs settled, by count. A run that has not settled goes on to
 * three times the most updates (lab_final); one that has not settled even then counts with its last
 * loss. This rule was committed before any run went on. The first editions let no run go on and
 * needed all to settle, by an interval, so that one run of sixteen left a row undecided. */
void compare_settled(lab *l, outcome *o, lab_spec a, lab_spec b);
#define SETTLED_PREMISE { .what = "the share of runs that settled", ABOVE(0.875), \
                          .premise = true, .share = true, .counted = true }

/* BLEU of a run that should fail, and of its control. */
void found_failing(lab *l, outcome *o, lab_spec s);

/* -- settings in words ----------------------------------------------------------------------- */

#define AT_START  "string reversal, d 32, 2 heads, d_ff 64, batch 16, no training"
#define AT_START_WIDE "string reversal, d 64, 4 heads, d_ff 128, batch 16, no training"
#define MASKED    "two facts by words, 15 % hidden, an encoder of 4 layers, d 32, batch 32, " \
    "Adam, linear decay, 1500 updates"
#define THEORY    "the theorems' setting: one stack of 12, d 128, d_ff 128, one head, W_Q = W_K = 0"
#define SHALLOW   "string reversal, 4 + 4 layers, d 32, batch 32, Adam 8e-3, linear decay, 500 " \
    "updates"
#define SIX       "string reversal, 6 + 6 layers, d 32, batch 32, linear decay, 600 updates"
#define DEEP      "string reversal, 12 + 12 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 400 " \
    "updates"
#define DEEPER    "string reversal, 18 + 18 layers, d 32, batch 32, Adam 2e-3, warm-up 100, 400 " \
    "updates; control: 1200 updates, warm-up 300, 6.7e-4"
#define GOES_ON   ", or three times as many if it has not by then"
#define SETTLED   "toy German to toy English, two clauses, 400 sentences that come again, d 32, " \
    "batch 32, dropout 0.1, Adam 1e-3, warm-up 400, until it settles, at most 8000 updates" GOES_ON
#define GRAMMAR   "toy German to toy English, 4 + 4 layers, d 32, batch 32, Adam"
#define HEADLINES "headlines of two generated sentences, "
#define SPEECH    "2 to 5 spoken digits as 25 codes of 64 a second, 512 training sentences, "
#define MOVED     "one encoder of 1 to 24 layers, d 64, 4 heads, 8 x 12 random tokens"
#define ENCODER64 "the encoder of 18 + 18 layers, d 64, 4 heads, before training"
#define BY_HAND   "computed"

/* -- all of them ------------------------------------------------------------------------------ */

/* The rows of a paper; the last one has no id. */
extern const claim xiong_claims[], liu_claims[], takase_claims[], later_claims[], real_claims[];
enum { CLAIMS_MOST = 64 * LAB_USERS };      /* each record has a bit for every claim that uses it */

/* Row i; NULL: past the end. */
const claim *claim_at(int i);
int claims_count(void);
#endif
