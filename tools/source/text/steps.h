#ifndef TFN__STEPS_H
#define TFN__STEPS_H
#include "../ground/ground.h"
#include "json.h"
#include "regex.h"
#include "vocabulary.h"

/* A normalizer and a pre-tokenizer of tokenizer.json as a program. It begins with the number of
 * normalizing steps, the number of cutting steps, and whether bytes are shown as characters from
 * the start. Each step has its kind, its length in words and its arguments. */
enum {
    TFN__STEP_FORM = 1,     /* a normal form of Unicode: 1 composed + 2 compatibility */
    TFN__STEP_BERT,         /* BERT's steps, flags TFN_NORMALIZER_ */
    TFN__STEP_LOWER,        /* lower case */
    TFN__STEP_BARE,         /* without accents (StripAccents) */
    TFN__STEP_CLEAN,        /* control characters by SentencePiece's rules (Nmt) */
    TFN__STEP_STRIP,        /* strip white space: 1 left + 2 right */
    TFN__STEP_REPLACE,      /* the words of a pattern, the pattern, a text */
    TFN__STEP_PREPEND,      /* put a text in front */
    TFN__STEP_MAP,          /* apply the table of replacements */
    TFN__STEP_WORDS,        /* cut by known rules, tfn_split */
    TFN__STEP_CUT,          /* cut at a pattern: a behavior + 8 inverted; the pattern */
    TFN__STEP_BYTES,        /* show bytes: 1 a space in front + 2 cut by GPT-2's rules */
    TFN__STEP_MARKS         /* spaces become marks: 1 always a mark in front + 2 at the start of the
                             * text + 4 cut; the mark */
};
enum { TFN__CUT_REMOVED, TFN__CUT_ISOLATED, TFN__CUT_CONTIGUOUS, TFN__CUT_WITH_PREVIOUS,
       TFN__CUT_WITH_NEXT, TFN__CUT_INVERTED = 8 };
enum { TFN__CODE_HEAD = 3, TFN__STEP_HEAD = 2, TFN__MOST_STEPS = 24 };

SHARED size_t tfn__step_text(const int32_t *step, const uint8_t **s);
SHARED size_t tfn__step_apply(const tfn_tokenizer *k, const int32_t *step, uint8_t *to,
                              size_t room, const uint8_t *s, size_t n);
SHARED size_t tfn__steps_growth(const tfn_tokenizer *k, int32_t from, size_t n);
SHARED bool tfn__index_added(tfn_tokenizer *k);
SHARED int32_t tfn__added_id(const tfn_tokenizer *k, int32_t found);

/* Cuts a text at a pattern. Segments are matches and the texts between them. A piece is one segment
 * or several joined. */
typedef struct tfn__cutter {
    const int32_t *pattern;
    int32_t behavior;
    bool    inverted, shown;
    const uint8_t *s;
    size_t  n;
    size_t  at, from;                   /* positions of the next segment and the next search */
    size_t  begin, end;                 /* the next match */
    bool    found, over;
    size_t  last;                       /* the end of the last match, or SIZE_MAX */
    size_t  held[2];                    /* a piece that may become longer */
    bool    holds, held_match;
} tfn__cutter;
SHARED tfn__cutter tfn__cutter_of(const int32_t *step, const uint8_t *s, size_t n, bool shown);
SHARED bool tfn__cut_next(tfn__cutter *x, size_t *begin, size_t *end);
#endif /* TFN__STEPS_H */
