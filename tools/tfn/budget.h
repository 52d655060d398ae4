/* What `tfn train TEXT --minutes M` chooses for the options that are not given: size, context,
 * batch, rates, optimizer, pieces, dropout and decay. It offers the choice before the text is
 * read, the plan after that, and the clock by which training is timed. */
#ifndef BUDGET_H
#define BUDGET_H

#include "models.h"
#include "options.h"
#include <stdio.h>

/* Positions that were trained, padding included: the clock of tests, see clocks_now. */
extern double positions_trained;

/* Seconds of the wall clock, from any origin. */
double seconds(void);

/* Seconds of processor time that this thread, at[0], and all threads, at[1], have used, and of the
 * wall clock, at[CLOCK_WALL]. Other programs slow processor time little and the wall clock much.
 * Tests, which must depend on neither, define TFN_TEST_CLOCK: then 100,000 positions take one
 * second of the processor and three on the wall. */
enum { CLOCK_WALL = 2, CLOCKS };
void clocks_now(double at[CLOCKS]);

void budget_choose(settings *s, option_id id, const char *text);

/* The options of a run of so many minutes; what is given stays, and so does what goes with it: a
 * recipe has norms and activations of its own, another optimizer another rate. Other data than one
 * text has the defaults. */
void budget_plan(settings *s, const corpus *data);

/* The options that were chosen, as they repeat the run. */
void budget_say(FILE *f, const settings *s);
#endif
