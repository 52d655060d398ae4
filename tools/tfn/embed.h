/* tfn embed: a vector of each line, as .tsv or .npy. */
#ifndef EMBED_H
#define EMBED_H

#include "../common/cli.h"
#include "options.h"

int embed(settings *s, cli *c);
#endif
