/* The heads of encoders: whether a model has one, and tfn classify for heads that tell classes of
 * positions, which are token classification (names, parts of speech) and question answering. */
#ifndef HEADS_H
#define HEADS_H

#include "../common/cli.h"
#include "models.h"
#include "options.h"
#include <stdbool.h>
#include <stdint.h>

/* True if an import has only the body of an encoder, whose logits would mean nothing. */
bool is_headless(const bundle *b);

/* Ends the program if it is. */
void must_have_head(const bundle *b);

/* One row of an encoder: tokens and segments of "A", or of "A tab B", whose second part has segment
 * 1. */
typedef struct encoder_row {
    int32_t *tokens, *segments;         /* segments: NULL if the model has none */
    int32_t  count;
    int32_t  second;                    /* where the second part of a pair begins; 0: no pair */
} encoder_row;

/* The row of a text, as long as the context at most. number: of its line, from 0, for messages. */
void encoder_row_text(encoder_row *x, const bundle *b, const char *text, size_t bytes,
                      int64_t number);

/* The row of --text or --ids, with --segments. */
void encoder_row_given(encoder_row *x, const bundle *b, const settings *s, cli *c);

void encoder_row_free(encoder_row *x);

/* The segments that --segments gives for `count` tokens. The caller frees them. NULL: not given. */
int32_t *segments_given(const bundle *b, const settings *s, int32_t count);

/* tfn classify with a head of positions: of --text or --ids, or of each line of a file. */
int classify_positions(bundle *b, const settings *s, cli *c, const char *path);
#endif
