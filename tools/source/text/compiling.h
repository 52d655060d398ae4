#ifndef TFN__COMPILING_H
#define TFN__COMPILING_H
#include "../ground/ground.h"
#include "json.h"
#include "steps.h"
#include "vocabulary.h"

enum { TFN__REGEXES = 6 };
typedef struct tfn__regex { tfn_split split; char regex[144]; } tfn__regex;
extern SHARED const tfn__regex tfn__regexes[TFN__REGEXES];
SHARED bool tfn__known_regex(tfn__reader regex, tfn_split *split);
SHARED bool tfn__json_true(tfn__reader value, bool missing);
SHARED bool tfn__json_sequence(tfn__reader r, const char *names, tfn__reader *parts);
SHARED int32_t tfn__bert_steps(tfn__reader r);

/* A program that is being compiled. */
typedef struct tfn__steps {
    tfn_error *e;
    int32_t *to, used;                  /* to: NULL, words are only counted */
    int32_t  count;                     /* steps of this part */
    bool     normalizes;                /* there are normalizing steps */
    bool     shown, prefix;             /* bytes are shown as characters; after a space */
    tfn__reader charsmap;
} tfn__steps;
SHARED int32_t tfn__steps_compile(tfn_error *e, tfn__steps *x, int32_t *to, tfn__reader normalizer,
                                  tfn__reader cutter);
SHARED size_t tfn__rules_text(const tfn__vocab *v, char *text, size_t room);
#endif /* TFN__COMPILING_H */
