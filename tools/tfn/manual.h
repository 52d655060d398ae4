/* The commands as a manual page and completions of shells, from the tables that the help reads. */
#ifndef MANUAL_H
#define MANUAL_H

#include "../common/cli.h"
#include "options.h"

typedef struct command {
    const char *name, *arguments, *help;
    int         bit;
    int       (*run)(settings *s, cli *c);
} command;

/* Prints what `form` names: "--man", "--bash" or "--zsh". Returns 2 if it names none of them. */
int manual_print(const char *form, const command *commands, int count);
#endif
