/* tfn inspect: the tensors of a file, a line each; what a model does with a sentence is in
 * inspect.h. */
#ifndef TENSORS_H
#define TENSORS_H

#include "../common/cli.h"
#include "options.h"

int inspect(settings *s, cli *c);
#endif
