/* normlab robust: the headline rows again, each under three initializations for all sides. A row's
 * own verdict is about the paper's claim; this one says whether the initialization decides it. */
#ifndef ROBUST_H
#define ROBUST_H

#include "../common/cli.h"

int robust_command(cli *c);
#endif
