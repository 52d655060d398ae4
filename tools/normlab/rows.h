/* The named rows of tfnorm.h: topologies, norms, inits and recipes. Offers the kind of a name,
 * names similar to a misspelled one, and text helpers for printing rows. */
#ifndef ROWS_H
#define ROWS_H

#include "../common/cli.h"
#include <stdbool.h>

enum { TOPOLOGY, NORM, INIT, RECIPE, KINDS };
enum { ROWS_MAX = 256, TEXT = 200 };        /* rows of a kind; bytes of a text about one */
extern const char *const plurals[];

bool is_a(int kind, const char *name);

/* Ends the program because of an unknown name, and suggests similar names. The name should be of
 * the kind `only`, or of any kind if that is KINDS. */
void unknown(const cli *c, const char *name, int only);

/* Appends to a text of TEXT bytes, after a semicolon; leaves out what does not fit. */
void add_text(char *text, const char *more);

/* Prints text in lines of at most 78 columns, each after `indent`; the first continues the current
 * line. */
void print_wrapped(const char *text, int indent);
#endif
