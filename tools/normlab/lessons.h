/* normlab lesson 1 to 8: guided runs of two to five minutes, reading included. */
#ifndef LESSONS_H
#define LESSONS_H

#include "../common/cli.h"

int lesson_command(cli *c);
#endif
