/* normlab claims, run, all, merge: measures claims and prints the results. Also offers the parts
 * that report and lesson share with them: the verdict of a claim from existing records, its figure,
 * the options. */
#ifndef MEASURE_H
#define MEASURE_H

#include "../common/cli.h"
#include "../common/svg.h"
#include "claims.h"
#include <stdbool.h>
#include <stdio.h>

/* -- a claim: paper, verdict, figure ----------------------------------------------------------- */

/* True for the row with this id and for its parts: X8 matches X8a and X8b. */
bool is_called(const claim *c, const char *id);

const claim *find_claim(const char *id);

/* The paper's name, printed before the item of a row. */
const char *paper_of(const claim *c);

/* The verdict and figure of a claim from existing records, and in l->spent the CPU time they took.
 * False: some measurement is missing. */
bool decide(const claim *c, lab *l, outcome *o);

/* Predicted seconds of the records that a row asks for, measured or not; and whether it has asked
 * for a record. */
double claim_seconds(const claim *c, lab *l);
bool claim_asked(const claim *c, const lab_record *r);

/* A row's setting with the initialization of its sides, and the differences between these. */
const char *setting_text(const lab *l, const claim *c);
const char *differ_text(const lab *l, const claim *c);

/* The results in words, one for each criterion, then other numbers. */
const char *found_text(const claim *c, const outcome *o);

const char *criteria_word(const claim *c);

/* The criteria of a row in words. */
const char *criteria_text(const claim *c);

/* -- rows that share measurements -------------------------------------------------------------- */

/* The ids of rows that also use at least half of a row's records. */
const char *sharing_text(const lab *l, const claim *c);

/* The title of a row's figure. */
const char *picture_of(const claim *c);

/* The figure's lines as curves, which point into o and into static memory here. */
const svg_plot *plot_of(const claim *c, const outcome *o);

void draw_text(FILE *f, const claim *c, const outcome *o);

/* The claims named so far, or all of them. */
typedef struct lab_claims { const claim *list[CLAIMS_MOST]; int count; } lab_claims;

/* -- options that run, all and report share ---------------------------------------------------- */

/* Says what to measure and where to keep it; 0: not given. */
typedef struct lab_options { long seeds, starts, first, jobs, depth, width, minutes; } lab_options;

bool lab_option(cli *c, lab *l, lab_options *o);

/* An empty laboratory, except for the file of its measurements. */
void lab_clear(lab *l, lab_options *o);

/* The default number of seeds. */
int lab_training_seeds(const lab *l);
int lab_start_seeds(const lab *l);

void lab_begin(lab *l, const lab_options *o);

/* Reads the ids of claims (none: wanted is empty), --markdown and the options, and begins. */
void lab_arguments(cli *c, lab *l, lab_claims *wanted, bool *markdown);

void claim_named(cli *c, lab_claims *wanted);

void all_claims(lab_claims *wanted);

/* Measures what was asked for and is not left out. With `ask`, asks again and measures what that
 * adds: runs that had not settled go on (lab_final). False: out of memory, which is printed. */
typedef void lab_ask(lab *l, void *rows);
bool lab_work_on(lab *l, lab_ask *ask, void *rows);

/* True if all numbers that claims asked for existed; prints the others. */
bool claims_right(const lab *l);

/* -- the commands ------------------------------------------------------------------------------ */

int claims_command(cli *c);

/* The verdict; without one, the text that it waits for `normlab run`. */
const char *verdict_text(bool measured, const outcome *o);

/* normlab run: the named claims; normlab all: every claim. */
int run_command(cli *c, bool all);

/* -- normlab merge ----------------------------------------------------------------------------- */

/* normlab merge FILE ...: joins the measurements of several machines (--part) in one file. */
int merge_command(cli *c);
#endif
