/* tfn chat: reads a user's turns, one a line, and prints a decoder's answers. */
#ifndef CHAT_H
#define CHAT_H

#include "../common/cli.h"
#include "options.h"

int chat_run(settings *s, cli *c);
#endif
