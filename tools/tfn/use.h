/* Shared by the commands that use a model: the model and the input on the command line, and the
 * output file. */
#ifndef USE_H
#define USE_H

#include "../common/cli.h"
#include "models.h"
#include "options.h"
#include <stdbool.h>

void refuse_existing(const settings *s, const char *path);

/* Opens the model of a command. Returns the path of its input. */
const char *open_use(bundle *b, const settings *s, cli *c);

/* The second file on the command line, after the model, or NULL. */
const char *second_file(const settings *s);

/* Ends the program if the model does not write text for text. */
void must_write_text(const bundle *b);

const char *out_of(const settings *s, cli *c, bool whole);
#endif
