/* tfn logits, tokens and bits: the numbers of a model for comparisons with other programs. */
#ifndef LOGITS_H
#define LOGITS_H

#include "../common/cli.h"
#include "options.h"

/* Prints the logits of each position on a line, with nine digits, for comparisons with other
 * programs. */
int logits(settings *s, cli *c);

/* Prints the ids of each line, with those that texts of the model begin and end with. */
int tokens(settings *s, cli *c);

/* -- bits, inspect ----------------------------------------------------------------------------- */

int bits(settings *s, cli *c);
#endif
