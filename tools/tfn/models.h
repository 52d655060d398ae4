/* Models of tfn: their training data, the options that make them, and their files. A checkpoint
 * contains its tokenizer and, as its extra text, the experiment: every option, the kind of data,
 * the classes, and the number of batches seen. A resumed run needs nothing else. */
#ifndef MODELS_H
#define MODELS_H

#include "../../tfnorm.h"
#include "../common/data.h"
#include "options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints one line on stderr and ends the program with code 1. */
void die(const char *format, ...);

void must(bool good, const char *error);
void must_be_ok(const tfn_error *e);

/* Like must_be_ok, for a file that should be in the format of safetensors. */
void must_be_file(const tfn_error *e, const char *path);

/* Like must_be_ok, for a new model. If it is too large, the message has its sizes. */
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

/* The kind of data for the architecture that is asked for. */
data_kind kind_of(const settings *s);

/* Opens the items of a split, or all items of `path`. A text has its last tenth for validation and
 * test, and lines are assigned by their hash. With --valid all of the file is for training. */
void corpus_open(corpus *c, const settings *s, data_kind kind, task_split split,
                 const char *path, data_classes *classes);

/* True if texts are tokenized as by the model's publishers: without a space in front. */
bool keeps_texts(const settings *s);

/* Makes tokens of the items, in batches of the experiment's size. */
void corpus_cut(corpus *c, const settings *s, const tfn_tokenizer *k, bool in_order);

void corpus_free(corpus *c);

/* The mean loss of a token in nats, over the first batches, at most `most`. */
double loss_of_batches(tfn_model *m, corpus *c, int64_t most);

void train_tokenizer(data_tokenizer *k, const settings *s, const corpus *c);

/* -- options of a model ------------------------------------------------------------------------ */

/* The options that define the model. Weights are valid only for the same values. */
extern const char *const shape_names[];

/* True if --set has this option. */
bool sets_field(const settings *s, const char *name);

/* The architecture for this kind of data. */
tfn_arch arch_of(data_kind kind);

void describe(tfn_model_desc *d, const settings *s, const corpus *c,
              const tfn_tokenizer *k, int32_t classes);

/* -- files ------------------------------------------------------------------------------------- */

typedef struct bundle {         /* a checkpoint with its tokenizer and experiment */
    const char    *path;
    tfn_model_desc desc;
    tfn_model      model;
    data_tokenizer tokenizer;
    data_classes   classes;
    data_kind      kind;
    settings       from;        /* the experiment */
    const char    *adapter;     /* NULL, or LoRA that was saved apart: a file, or PEFT's folder */
    char          *extra;
} bundle;

/* An id of config.json that hub_keep_ids stored; -1: none. */
int32_t kept_id(const bundle *b, option_id i);

/* The id that ends a text: from config.json, else the tokenizer's; -1: none. */
int32_t end_of(const bundle *b);

/* The first id of the decoder after an encoder. For a model trained here it is the end. */
int32_t start_of(const bundle *b);

tfn_file file_at(const char *path);

/* True if the experiment names its training data. An import has none. */
bool keeps_data(const settings *s);

bool exists(const char *path);

/* Ends the program early if a file cannot be written. whole: a model, which replaces a file; else
 * "-" is the standard output. */
void must_write(const char *path, bool whole);

/* Reads everything except the weights, of any checkpoint. It may lack a tokenizer and need not be a
 * model of tfn. */
void bundle_look(bundle *b, const char *path);

/* The same for a model that tfn trained or imported. It must have a tokenizer. */
void bundle_open(bundle *b, const char *path);

/* Prepares a model for merging LoRA: a LoRA of the tied output needs an output matrix. */
void untie_lora(tfn_model_desc *d, const tfn_model *m);

/* The number of values in a model's parameters, at any number of bits. */
int64_t param_count(const tfn_model *m);

/* True if the path is a folder with an adapter of PEFT. */
bool is_peft(const char *path);

/* Loads the model for batches of this many rows. */
void bundle_load(bundle *b, int32_t batch, int32_t threads);

void bundle_save(const bundle *b, const settings *s, const char *path, bool weights);

void bundle_free(bundle *b);
#endif
