/* normlab show: everything about a name, or about a claim. */
#ifndef SHOW_H
#define SHOW_H

#include "../common/cli.h"

int show_command(cli *c);
#endif
