/* tfn export --hf DIR writes a model as a folder of the hub. Family and type are those that tfn
 * import found and kept with the model, unless --family and --dtype say otherwise. The special
 * tokens of an encoder-decoder and the names of classes are kept, too. tfn export MODEL FILE.gguf
 * writes one file of llama.cpp. */
#ifndef HUB_H
#define HUB_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include "../common/data.h"
#include "models.h"
#include "options.h"

/* FOLDER/NAME. The caller frees it. */
char *hub_path(const char *folder, const char *name);

/* The names of all families, for messages. */
const char *hub_families(void);

/* The family of that name, NULL for no name; an unknown name ends the program. */
const tfn_family *hub_family(const char *name);

/* The name that tfn import keeps; NULL for F32. */
const char *hub_dtype_name(tfn_dtype dtype);

/* -- what tfn import keeps of config.json ------------------------------------------------------ */

/* Stores the special ids with the model. Without decoder_start_token_id the decoder starts with the
 * padding, as in the published models of both families. */
void hub_keep_ids(bundle *b, tfn_import *x, const data_file *generation);

/* Stores the class names of id2label, or numbers if names are missing or invalid. */
void hub_keep_classes(bundle *b, tfn_import *x);

/* -- tfn export --hf --------------------------------------------------------------------------- */

int hub_export(settings *s, cli *c);

/* -- tfn export --peft ------------------------------------------------------------------------- */

int hub_export_peft(settings *s, cli *c);

/* -- tfn export MODEL FILE.gguf ---------------------------------------------------------------- */

/* True for the name of a file of llama.cpp. */
bool hub_is_gguf(const char *path);

int hub_export_gguf(settings *s, cli *c);
#endif
