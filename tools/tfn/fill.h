/* tfn fill: the likeliest tokens for each mask of a sentence; and tfn classify of a sentence, given
 * as --text or --ids: the probability of each class. */
#ifndef FILL_H
#define FILL_H

#include "../common/cli.h"
#include "models.h"
#include "options.h"

/* -- masks ------------------------------------------------------------------------------------- */

int fill(settings *s, cli *c);

/* -- classes ----------------------------------------------------------------------------------- */

/* A line for each class, the likeliest first: its probability and its name, or its number. */
int classify_sentence(bundle *b, const settings *s, cli *c);
#endif
