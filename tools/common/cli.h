/* Command lines of the tools: a walk over the arguments. A wrong argument is reported on stderr,
 * together with what was expected, and ends the program with code 2. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

typedef struct cli {
    const char *program;        /* the name in messages */
    char      **argv;
    int         argc, at;       /* at: index of the current argument */
    const char *command;        /* messages name its --help; NULL: the program's */
} cli;

void cli_fail(const cli *c, const char *format, ...);

/* The next argument, or NULL at the end. */
const char *cli_next(cli *c);
bool cli_is(const cli *c, const char *name);

/* If the current argument is `name`, takes the argument after it as the value. */
bool cli_text(cli *c, const char *name, const char **value);
bool cli_number(cli *c, const char *name, long least, long most, long *value);
bool cli_real(cli *c, const char *name, double least, double most, double *value);

/* Letters to insert, delete, replace, or swap with the next one, from a to b (Damerau 1964). */
int cli_distance(const char *a, const char *b);
#endif
