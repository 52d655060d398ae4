/* tfn export: a model and its tokenizer as a C header, and the memory that it needs on a board. */
#ifndef EXPORT_H
#define EXPORT_H

#include "../common/cli.h"
#include "options.h"

int export(settings *s, cli *c);
#endif
