/* normlab smoke: every recipe learns to write a string backwards. */
#ifndef SMOKE_H
#define SMOKE_H

#include "../common/cli.h"

int smoke_command(cli *c);
#endif
