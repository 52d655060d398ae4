/* Input of models: the ids of a text, of --text and of --ids; and how ids are displayed. */
#ifndef PROMPT_H
#define PROMPT_H

#include "../../tfnorm.h"
#include "models.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

int32_t threads_of(const settings *s);

/* True if the model is a decoder that learned a task's lines as one stream, each after the end of
 * the previous one. */
bool reads_lines(const bundle *b);
/* True if a space is put in front of a text, as in training. */
bool spaces_texts(const bundle *b);

/* All ids of a text, after `before` free places for the caller. Normalizing may produce more ids
 * than bytes, and then a second pass has room for them. trusted: special tokens in the text count
 * as such. The caller frees the result. */
int32_t *ids_of(const tfn_tokenizer *k, int32_t before, const char *text,
                size_t bytes, bool trusted, int64_t *count);

/* The ids of a text in the form of the training data: with a space in front where words begin with
 * one, after the ids that texts begin with. An empty text gives the ids of a newline. The caller
 * frees the result. */
int32_t *encode_as(const bundle *b, const char *text, size_t bytes, bool trusted, int64_t *count);
int32_t *encode_text(const bundle *b, const char *text, size_t bytes, int64_t *count);

/* Cuts a row at `most` ids and says so on stderr. */
int64_t cut_ids(int64_t count, int64_t most, int64_t number);

/* The row of ids for a text in the form that the model was trained on, with the ids that rows begin
 * and end with: from the tokenizer's template or, for a model trained here, its special tokens. A
 * decoder's prompt has no end. Cuts the row at `room` and says so. Returns its length. */
int32_t prompt_row(const bundle *b, const char *text, size_t bytes, bool trusted,
                   int32_t room, int64_t number, int32_t *row);

/* Whole numbers between white space: the value of `option`. The caller frees them. */
int32_t *prompt_numbers(const char *option, const char *text, int32_t *count);

/* The ids of --text or --ids, at most `room`. A model without a tokenizer needs --ids. The caller
 * frees them. */
int32_t *prompt_ids(const bundle *b, const settings *s, cli *c, bool trusted,
                    int32_t room, int32_t *count);

/* -- lines ------------------------------------------------------------------------------------- */

/* Reads lines that end in LF or CR LF, of a file or of "-". */
typedef struct line_file {
    FILE       *f;
    const char *name;
    char       *line;           /* ends with a zero */
    size_t      bytes, room;
    int64_t     number;         /* of the line, from 1 */
} line_file;

void lines_open(line_file *x, const char *path);

/* Reads the next line without its end. False: there is none. */
bool next_line(line_file *x);

void lines_close(line_file *x);

/* -- how tokens are shown ---------------------------------------------------------------------- */

/* A token's bytes as one line of UTF-8: a space as a middle dot, a newline and a tab as arrows, and
 * bytes that are no character as \xHH. Without a tokenizer it is the id. */
const char *token_shown(const bundle *b, int32_t id, char *to, size_t room);

/* The name of a class if the model has names, else its number. */
const char *class_shown(const bundle *b, int32_t id, char *to, size_t room);

/* -- what is likeliest ------------------------------------------------------------------------- */

/* The `count` largest of n logits and their probabilities over all n; ids of -1 after the last one.
 * Equal logits keep their order. */
void likeliest(const float *z, int32_t n, int32_t *id, double *p, int32_t count);
#endif
