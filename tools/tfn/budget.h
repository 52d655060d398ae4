/* Chooses the options of `tfn train TEXT --minutes M` that are not given: size, context, batch,
 * rates, optimizer, pieces, dropout and decay. Also has the clocks that training is timed by. */
#ifndef BUDGET_H
#define BUDGET_H

#include "models.h"
#include "options.h"
#include <stdio.h>

/* Positions trained so far, padding included: the clock of tests, see clocks_now. */
extern double positions_trained;

/* Seconds of the wall clock, from any origin. */
double seconds(void);

/* Stores seconds of processor time used by this thread, at[0], and by all threads, at[1], and
 * seconds of the wall clock, at[CLOCK_WALL]. Other programs slow processor time little and the wall
 * clock much. Tests must depend on neither and define TFN_TEST_CLOCK: then 100,000 positions take
 * one second of the processor and three on the wall. */
enum { CLOCK_WALL = 2, CLOCKS };
void clocks_now(double at[CLOCKS]);

void budget_choose(settings *s, option_id id, const char *text);

/* Chooses the options for --minutes. Given options stay, and so do options that belong to them: a
 * recipe has its own norms and activation, another optimizer has another rate. Data other than one
 * text keeps the defaults. */
void budget_plan(settings *s, const corpus *data);

/* Prints the chosen options in a form that repeats the run. */
void budget_say(FILE *f, const settings *s);
#endif
