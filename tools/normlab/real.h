/* normlab rates: chooses the learning rates of the rows of real translations (R), on another
 * language pair and with a seed that no row is judged with. */
#ifndef REAL_H
#define REAL_H

#include "../common/cli.h"

int rates_command(cli *c);
#endif
