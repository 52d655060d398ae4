/* tfn train: checks the arguments and starts the training. */
#ifndef TRAIN_H
#define TRAIN_H

#include "../common/cli.h"
#include "options.h"

int train(settings *s, cli *c);
#endif
