/* tfn chat: turns of a user, a line each, and the answers of a decoder. */
#ifndef CHAT_H
#define CHAT_H

#include "../common/cli.h"
#include "options.h"

int chat_run(settings *s, cli *c);
#endif
