#ifndef TFN__REGEX_H
#define TFN__REGEX_H
#include "../ground/ground.h"
#include "json.h"

/* Limits of a compiled expression. Its words are: the number of instructions, the number of words
 * of sets, the instructions (two words each), the sets. */
enum { TFN__REGEX_INSTRUCTIONS = 384, TFN__REGEX_SET_WORDS = 768,
       TFN__REGEX_WORDS = 2 + 2*TFN__REGEX_INSTRUCTIONS + TFN__REGEX_SET_WORDS };

SHARED int32_t tfn__regex_compile(int32_t *code, tfn__reader pattern, const char **wanted);
SHARED bool tfn__regex_find(const int32_t *code, const uint8_t *s, size_t n, bool shown,
                            size_t from, size_t *begin, size_t *end);
SHARED int32_t tfn__char_before(const uint8_t *s, size_t at, bool shown);
SHARED bool tfn__is_word(int32_t c);
SHARED size_t tfn__char_of(const uint8_t *s, size_t n, bool shown, int32_t *c);
#endif /* TFN__REGEX_H */
