/* normlab claims, run, all, merge: measures claims and prints what was found. Also offers what
 * report and lesson share with them: the verdict of a claim from the records at hand, its figure,
 * the options. */
#ifndef MEASURE_H
#define MEASURE_H

#include "../common/cli.h"
#include "../common/svg.h"
#include "claims.h"
#include <stdbool.h>
#include <stdio.h>

/* -- a claim: paper, verdict, figure ----------------------------------------------------------- */

/* The row of this id, or the first of those that are its parts: X8 is X8a and X8b. */
bool is_called(const claim *c, const char *id);

const claim *find_claim(const char *id);

/* What stands before the item of a row. */
const char *paper_of(const claim *c);

/* The verdict and figure of a claim, from what is at hand, and in l->spent the CPU time that this
 * took; false: something is not measured. */
bool decide(const claim *c, lab *l, outcome *o);

/* A row's setting with the initialization of its sides, and what differs between these. */
const char *setting_text(const lab *l, const claim *c);
const char *differ_text(const lab *l, const claim *c);

/* What was found, a part for each criterion, then what else was. */
const char *found_text(const claim *c, const outcome *o);

const char *criteria_word(const claim *c);

/* What a row is judged by. */
const char *criteria_text(const claim *c);

/* -- rows that share measurements -------------------------------------------------------------- */

/* The ids of rows that at least half of a row's records belong to, too. */
const char *sharing_text(const lab *l, const claim *c);

/* The title of a row's figure. */
const char *picture_of(const claim *c);

/* The figure's lines as curves, which point into o and into the static memory here. */
const svg_plot *plot_of(const claim *c, const outcome *o);

void draw_text(FILE *f, const claim *c, const outcome *o);

/* Claims named so far, or all of them. */
typedef struct lab_claims { const claim *list[CLAIMS_MOST]; int count; } lab_claims;

/* -- options that run, all and report share ---------------------------------------------------- */

/* What is measured, and where it is kept; 0: not given. */
typedef struct lab_options {
    long seeds, starts, first, jobs, depth, width, minutes;
    char instead[64];
} lab_options;

bool lab_option(cli *c, lab *l, lab_options *o);

/* A laboratory with nothing set but the file of its measurements. */
void lab_clear(lab *l, lab_options *o);

/* Seeds where none are asked for. */
int lab_training_seeds(const lab *l);
int lab_start_seeds(const lab *l);

void lab_begin(lab *l, const lab_options *o);

void claim_named(cli *c, lab_claims *wanted);

void all_claims(lab_claims *wanted);

/* Whether what claims asked for was there; says what was not. */
bool claims_right(const lab *l);

/* -- the commands ------------------------------------------------------------------------------ */

int claims_command(cli *c);

/* Decided: the verdict; otherwise that it waits for `normlab run`. */
const char *verdict_text(bool measured, const outcome *o);

/* normlab run: the claims that are named; normlab all: every one. */
int run_command(cli *c, bool all);

/* -- normlab merge ----------------------------------------------------------------------------- */

/* normlab merge FILE ...: what machines measured with --part becomes one file. */
int merge_command(cli *c);
#endif
