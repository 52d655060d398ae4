/* What `tfn train TEXT --minutes M` chooses for the options that are not given: size, context,
 * batch, rates, optimizer, pieces, dropout and decay. It offers the choice before the text is
 * read, the plan after that, and the clock by which training is timed. */
#ifndef BUDGET_H
#define BUDGET_H

#include "models.h"
#include "options.h"
#include <stdio.h>

/* Positions that were trained, padding included: the clock of tests, see processor_now. */
extern double positions_trained;

/* Seconds of the processor that this thread, at[0], and all threads, at[1], have taken. Another
 * program's load changes them little, but does: tests, which must not depend on it, define
 * TFN_TEST_CLOCK, by which 100,000 positions take a second. */
void processor_now(double at[2]);

void budget_choose(settings *s, option_id id, const char *text);

/* The options of a run of so many minutes; what is given stays, and so does what goes with it: a
 * recipe has norms and activations of its own, another optimizer another rate. Other data than one
 * text has the defaults. */
void budget_plan(settings *s, const corpus *data);

/* The options that were chosen, as they repeat the run. */
void budget_say(FILE *f, const settings *s);
#endif
