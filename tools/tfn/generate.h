/* tfn generate and tfn translate. */
#ifndef GENERATE_H
#define GENERATE_H

#include "../common/cli.h"
#include "options.h"

/* Reads and answers lines in batches, and typed lines one by one. */
int generate(settings *s, cli *c);
int translate(settings *s, cli *c);
#endif
