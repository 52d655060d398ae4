/* What a model of tfn reads: ids of a text, of --text and of --ids, and how ids are shown. */
#ifndef PROMPT_H
#define PROMPT_H

#include "../../tfnorm.h"
#include "models.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

int32_t threads_of(const settings *s);

/* Lines of a task that a decoder learned as a stream: each stands behind the end of another. */
bool reads_lines(const bundle *b);
/* Whether a space is put in front of a text, as it was in training. */
bool spaces_texts(const bundle *b);

/* All ids of a text behind `before` places that the caller fills. A normalizer may make more of a
 * text than it has bytes: then there is room the second time. trusted: what reads like a special
 * token is one. */
int32_t *ids_of(const tfn_tokenizer *k, int32_t before, const char *text,
                size_t bytes, bool trusted, int64_t *count);

/* The ids of a text, as those that the model was trained on: behind a space where words begin with
 * one, and behind those that its texts begin with. Of no text they are those of a newline. */
int32_t *encode_as(const bundle *b, const char *text, size_t bytes, bool trusted, int64_t *count);
int32_t *encode_text(const bundle *b, const char *text, size_t bytes, int64_t *count);

/* What is too long is cut, and said to be. */
int64_t cut_ids(int64_t count, int64_t most, int64_t number);

/* The row that the model has seen of such a text, with the ids that rows begin and end with: those
 * of the tokenizer's template or, of a model trained here, its special tokens. What a decoder
 * continues has no end. What is longer than `room` is cut, and said to be. Returns its length. */
int32_t prompt_row(const bundle *b, const char *text, size_t bytes, bool trusted,
                   int32_t room, int64_t number, int32_t *row);

/* Whole numbers with white space between them, the value of `option`, for the caller to free. */
int32_t *prompt_numbers(const char *option, const char *text, int32_t *count);

/* The ids of --text or --ids, at most `room` of them. A model without tokenizer takes ids alone. */
int32_t *prompt_ids(const bundle *b, const settings *s, cli *c, bool trusted,
                    int32_t room, int32_t *count);

/* -- lines ------------------------------------------------------------------------------------- */

/* Lines that end in LF or CR LF, one after the other: of a file, or "-". */
typedef struct line_file {
    FILE       *f;
    const char *name;
    char       *line;           /* a zero ends it */
    size_t      bytes, room;
    int64_t     number;         /* lines read */
} line_file;

void lines_open(line_file *x, const char *path);

/* The next line without its end; false: there is none. */
bool next_line(line_file *x);

void lines_close(line_file *x);

/* -- how tokens are shown ---------------------------------------------------------------------- */

/* A token's bytes as one line of UTF-8: spaces as middle dots, a newline and a tab as arrows, what
 * is no character as \xHH. Without a tokenizer it is the id. */
const char *token_shown(const bundle *b, int32_t id, char *to, size_t room);

/* A class by its name, if the model keeps one; else by its number. */
const char *class_shown(const bundle *b, int32_t id, char *to, size_t room);

/* -- what is likeliest ------------------------------------------------------------------------- */

/* The `count` likeliest of n logits and their probabilities, which are over all n; -1 where there
 * are no more. Of equal ones the first stands first. */
void likeliest(const float *z, int32_t n, int32_t *id, double *p, int32_t count);
#endif
