/* tfn average and tfn fold: models made of the weights of others. */
#ifndef AVERAGE_H
#define AVERAGE_H

#include "../common/cli.h"
#include "options.h"

int average(settings *s, cli *c);

int fold(settings *s, cli *c);
#endif
