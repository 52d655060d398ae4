/* tfn classify: prints the class of each line, or pair of texts, of a file. */
#ifndef CLASSIFY_H
#define CLASSIFY_H

#include "../common/cli.h"
#include "options.h"

/* Prints the class of each line. */
int classify(settings *s, cli *c);
#endif
