/* tfn import: a checkpoint of the hub becomes a model of tfn. */
#ifndef IMPORT_H
#define IMPORT_H

#include "../common/cli.h"
#include "options.h"

int import(settings *s, cli *c);
#endif
