/* tfn generate and tfn translate. */
#ifndef GENERATE_H
#define GENERATE_H

#include "../common/cli.h"
#include "options.h"

/* A batch of lines at a time; what is typed, line by line. */
int generate(settings *s, cli *c);
#endif
