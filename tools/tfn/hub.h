/* tfn export --hf DIR: a model as a folder of the hub. What tfn import found, family and type, is
 * kept with the model, and is what goes out; --family and --dtype say otherwise. Kept are also the
 * special tokens of an encoder-decoder and the names of classes. */
#ifndef HUB_H
#define HUB_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include "../common/data.h"
#include "models.h"
#include "options.h"

/* FOLDER/NAME, for the caller to free. */
char *hub_path(const char *folder, const char *name);

/* The names of all families, for messages. */
const char *hub_families(void);

/* The family of that name, NULL for no name; an unknown name ends the program. */
const tfn_family *hub_family(const char *name);

/* What tfn import keeps of it. */
const char *hub_dtype_name(tfn_dtype dtype);

/* -- what tfn import keeps of config.json ------------------------------------------------------ */

/* With the model: where nothing else is said its decoder starts with the padding, as the published
 * ones of both families do. */
void hub_keep_ids(bundle *b, tfn_import *x, const data_file *generation);

/* The names that id2label has; numbers, if it is not there or one of them is no name. */
void hub_keep_classes(bundle *b, tfn_import *x);

/* -- tfn export --hf --------------------------------------------------------------------------- */

int hub_export(settings *s, cli *c);
#endif
