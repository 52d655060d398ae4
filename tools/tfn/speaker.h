/* Generates text for rows of prompts at a time: adds prompts, runs the generator, moves the context
 * on for texts that are longer than it, and prints the results. */
#ifndef SPEAKER_H
#define SPEAKER_H

#include "../../tfnorm.h"
#include "models.h"
#include "options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- generate, translate ----------------------------------------------------------------------- */

/* Generates a batch at a time. */
typedef struct speaker {
    bundle       *b;
    const settings *s;
    tfn_generator g;
    void         *mem;
    int32_t       rows, room, used;     /* room: tokens of a row */
    int32_t      *ids, *tokens, *lengths;
    int32_t      *starts;               /* the first id of a decoder after an encoder */
    int64_t      *number;               /* of the input line */
    char        **prompt;               /* texts to continue, or NULL */
    size_t       *prompt_bytes;
    char         *text;                 /* the last decoded text */
    size_t        text_room;
    int32_t     **past;                 /* for texts that slide: the prompt and the new ids */
    int32_t      *prompt_ids, *written;
    int64_t       stopped[TFN_STOP_COUNT];      /* number of texts, by reason */
} speaker;

void speaker_open(speaker *x, bundle *b, const settings *s);

void speaker_free(speaker *x);

/* Adds a row of these ids. */
void speaker_add_ids(speaker *x, const int32_t *ids, int32_t count);

/* Adds a row with the ids of a text. */
void speaker_add(speaker *x, const char *text, size_t bytes, int64_t number);

void speaker_run(speaker *x);

/* The text of hypothesis k of row r. */
const char *speaker_text(speaker *x, int32_t r, int32_t k, size_t *bytes);

/* -- texts longer than the context */

/* Counts why row r stopped, and with --counts prints it. number: of its text, from 0. slides: the
 * text may be longer than the context. */
void speaker_count(speaker *x, int32_t r, int64_t number, bool slides);

void speaker_print(speaker *x);

/* Says how many texts stopped because no room was left and, on a terminal, at --max-tokens. */
void say_stops(const speaker *x);
#endif
