/* normlab placements: which placement trains in which setting, as text and as one picture. */
#ifndef PLACEMENTS_H
#define PLACEMENTS_H

#include "../common/cli.h"

int placements_command(cli *c);
#endif
