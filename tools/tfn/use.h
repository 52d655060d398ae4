/* What the commands that use a model share: the model and the input of the command line, and the
 * file that they write. */
#ifndef USE_H
#define USE_H

#include "../common/cli.h"
#include "models.h"
#include "options.h"
#include <stdbool.h>

void refuse_existing(const settings *s, const char *path);

/* The model and the input of a command that uses one. */
const char *open_use(bundle *b, const settings *s, cli *c);

/* The second file of a command whose first is a model, or NULL. */
const char *second_file(const settings *s);

/* A model that writes of what it reads. */
void must_write_text(const bundle *b);

const char *out_of(const settings *s, cli *c, bool whole);
#endif
