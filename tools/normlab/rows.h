/* The named rows of tfnorm.h, topologies, norms, inits and recipes: a name's kind, names that are
 * close to a misspelled one, and the text that the commands of normlab print about rows. */
#ifndef ROWS_H
#define ROWS_H

#include "../common/cli.h"
#include <stdbool.h>

enum { TOPOLOGY, NORM, INIT, RECIPE, KINDS };
enum { ROWS_MAX = 256, TEXT = 200 };        /* rows of a kind; bytes of a text about one */
extern const char *const plurals[];

bool is_a(int kind, const char *name);

/* An unknown name ends the program: what was looked for, which names are close. The name was to be
 * one of the kind `only`, or of any if that is KINDS. */
void unknown(const cli *c, const char *name, int only);

/* Adds to a text of TEXT bytes, behind a semicolon; what does not fit is left out. */
void add_text(char *text, const char *more);

/* Text in lines of at most 78 columns, each after `indent`; the first follows what stands there. */
void print_wrapped(const char *text, int indent);
#endif
