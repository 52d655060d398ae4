/* tfn chat: reads a user's turns, one a line, and prints a decoder's answers. */
#ifndef CHAT_H
#define CHAT_H

#include "../common/cli.h"
#include "options.h"

int chat_run(settings *s, cli *c);

/* The value of --template for the template of a published model; NULL: unknown. */
const char *chat_template_of(const char *text);

/* A template in Jinja for a value of --template; NULL: no such value. */
const char *chat_jinja(const char *name);
#endif
