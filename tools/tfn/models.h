/* Models of tfn: what they are trained on, the options they are made of, and the files they are in.
 * A checkpoint carries its tokenizer and, as its extra text, the experiment: every option, the kind
 * of data, the classes, how many batches were seen. That is all that a resumed run needs. */
#ifndef MODELS_H
#define MODELS_H

#include "../../tfnorm.h"
#include "../common/data.h"
#include "options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What cannot go on: one line on stderr and code 1. */
void die(const char *format, ...);

void must(bool good, const char *error);
void must_be_ok(const tfn_error *e);

/* As must_be_ok, of a file that should be one of safetensors. */
void must_be_file(const tfn_error *e, const char *path);

/* As must_be_ok, of a new model: too large a one is told by its sizes. */
void must_be_model(const tfn_model *m, const tfn_model_desc *d);

void *reserve(size_t count, size_t size);

/* -- data -------------------------------------------------------------------------------------- */

extern const char *const kind_names;
typedef struct corpus {
    data_kind    kind;
    data_file    file;
    data_lines   lines;
    data_task    task;
    data_item    text;
    data_get    *get;           /* items 0 .. count-1 of `user` */
    void        *user;
    int64_t      count;
    bool         space;
    data_set     set;
    data_batches batches;
} corpus;

const task *task_of(const settings *s);

bool is_speech(const settings *s);

/* What the data is for the wanted architecture. */
data_kind kind_of(const settings *s);

/* The items of a split, or of all of `path`. A text has its last tenth for validation and test,
 * lines are told apart by their hash; with --valid all of the file is for training. */
void corpus_open(corpus *c, const settings *s, data_kind kind, task_split split,
                 const char *path, data_classes *classes);

/* Whether a model's texts are cut as those who published it did: no space is put in front. */
bool keeps_texts(const settings *s);

/* As tokens, in batches of the experiment's size. */
void corpus_cut(corpus *c, const settings *s, const tfn_tokenizer *k, bool in_order);

void corpus_free(corpus *c);

/* The loss of a token of the first batches, at most so many, in nats. */
double loss_of_batches(tfn_model *m, corpus *c, int64_t most);

void train_tokenizer(data_tokenizer *k, const settings *s, const corpus *c);

/* -- options of a model ------------------------------------------------------------------------ */

/* Those that make it: what a file's weights are for. */
extern const char *const shape_names[];

/* Whether an option is among those that --set has. */
bool sets_field(const settings *s, const char *name);

/* The architecture that learns such data. */
tfn_arch arch_of(data_kind kind);

void describe(tfn_model_desc *d, const settings *s, const corpus *c,
              const tfn_tokenizer *k, int32_t classes);

/* -- files ------------------------------------------------------------------------------------- */

typedef struct bundle {         /* a checkpoint and what goes along */
    const char    *path;
    tfn_model_desc desc;
    tfn_model      model;
    data_tokenizer tokenizer;
    data_classes   classes;
    data_kind      kind;
    settings       from;        /* the experiment */
    const char    *adapter;     /* NULL, or the file of a LoRA that was saved alone */
    char          *extra;
} bundle;

/* The id that an import keeps of config.json, which hub_keep_ids stores; -1: none. */
int32_t kept_id(const bundle *b, option_id i);

/* The id that ends a text: what config.json said, else the tokenizer's; -1: none. */
int32_t end_of(const bundle *b);

/* The id that the decoder behind an encoder starts with: of a model trained here the end. */
int32_t start_of(const bundle *b);

tfn_file file_at(const char *path);

/* Whether an experiment says what it was trained on: an import does not. */
bool keeps_data(const settings *s);

bool exists(const char *path);

/* Says before the work, not behind it, that a file cannot be written. whole: it is a model, which
 * takes the place of a file; else - is the standard output. */
void must_write(const char *path, bool whole);

/* All but the weights, of any checkpoint: it may have no tokenizer, and be no model of tfn's. */
void bundle_look(bundle *b, const char *path);

/* The same of a model that tfn trained or imported, with its tokenizer. */
void bundle_open(bundle *b, const char *path);

/* The model that LoRA is merged into: of a tied output it goes into a matrix of its own. */
void untie_lora(tfn_model_desc *d, const tfn_model *m);

/* Numbers of a model, however few bits they are stored in. */
int64_t param_count(const tfn_model *m);

/* The model, to be used for so many rows. */
void bundle_load(bundle *b, int32_t batch, int32_t threads);

void bundle_save(const bundle *b, const settings *s, const char *path, bool weights);

void bundle_free(bundle *b);
#endif
