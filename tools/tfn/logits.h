/* tfn logits, tokens and bits: the numbers of a model for comparisons with other programs. */
#ifndef LOGITS_H
#define LOGITS_H

#include "../common/cli.h"
#include "options.h"

/* A line for each position, its logits with nine digits: for comparisons with other programs. */
int logits(settings *s, cli *c);

/* The ids of each line, with those that a text of the model begins and ends with. */
int tokens(settings *s, cli *c);

/* -- bits, inspect ----------------------------------------------------------------------------- */

int bits(settings *s, cli *c);
#endif
