/* tfn inspect: prints the tensors of a file, a line each. For a sentence see inspect.h. */
#ifndef TENSORS_H
#define TENSORS_H

#include "../common/cli.h"
#include "options.h"

int inspect(settings *s, cli *c);
#endif
