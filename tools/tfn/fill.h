/* tfn fill prints the likeliest tokens for each mask of a sentence. tfn classify of one sentence,
 * --text or --ids, prints the probability of each class. */
#ifndef FILL_H
#define FILL_H

#include "../common/cli.h"
#include "models.h"
#include "options.h"

/* -- masks ------------------------------------------------------------------------------------- */

int fill(settings *s, cli *c);

/* -- classes ----------------------------------------------------------------------------------- */

/* Prints a line for each class, likeliest first: its probability, and its name or number. */
int classify_sentence(bundle *b, const settings *s, cli *c);
#endif
