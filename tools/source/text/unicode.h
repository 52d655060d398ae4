#ifndef TFN__UNICODE_H
#define TFN__UNICODE_H
#include "../ground/ground.h"
#include "../ground/basics.h"

#if !defined TFNORM_NO_TOKENIZERS

enum { TFN__OTHER, TFN__LETTER, TFN__NUMBER, TFN__WHITE };


SHARED int tfn__class_beyond_ascii(int32_t c);

/* The class of a code point. */
static TFN__INLINE int tfn__class(int32_t c)
{
    if (c < 0) return TFN__OTHER;               /* a byte that is not UTF-8 */
    if (c < 128) {                              /* most text */
        if ((c | 32) >= 'a' && (c | 32) <= 'z') return TFN__LETTER;
        if (c == ' ' || (c >= '\t' && c <= '\r')) return TFN__WHITE;
        if (c >= '0' && c <= '9') return TFN__NUMBER;
        return TFN__OTHER;
    }
    return tfn__class_beyond_ascii(c);
}
SHARED int32_t tfn__shown(int32_t byte);
SHARED int32_t tfn__byte_shown(int32_t c);
SHARED bool tfn__same(const uint8_t *a, const uint8_t *b, size_t n);
SHARED bool tfn__is_nfc(const uint8_t *s, size_t n);
SHARED size_t tfn__put_nfc(uint8_t *to, size_t room, bool *same, const uint8_t *s, size_t n);

/* Devlin et al. 2018, tokenization.py: characters that control are dropped and white space becomes
 * spaces (clean), spaces are put around each character of Chinese, accents are taken off, and
 * letters become small. The tables are made by tools/unicode.py: the traits of characters, and what
 * is added to a capital (a difference of the list, 1 to even characters, or 1 to odd ones). */
enum { TFN__PLAIN, TFN__PUNCTUATION, TFN__ACCENT, TFN__CONTROL };
SHARED int tfn__trait(int32_t c);
SHARED size_t tfn__put_bert(uint8_t *to, size_t room, const uint8_t *s, size_t n, int32_t steps);
extern SHARED const uint8_t tfn__mark[3];
SHARED void tfn__set_byte(uint32_t *set, uint8_t byte);
SHARED bool tfn__has_byte(const uint32_t *set, uint8_t byte);
SHARED uint32_t tfn__map_unit(const uint8_t *map, size_t i);
SHARED size_t tfn__map_match(const uint8_t *map, size_t units, const uint8_t *s, size_t n,
                             size_t *value, size_t *read);
SHARED bool tfn__map_begins(const uint8_t *map, size_t units, uint8_t byte);

/* A text that is written with its spaces in order: held back until what follows is known.
 *
 * With U+2581 shown as "_", of "  a   b " Llama 2 makes "___a___b_" (MARKS, PREFIX), Mistral's
 * Metaspace "__a___b_" (NEEDED, too), and T5 "_a_b" (LEFT, RIGHT, COLLAPSE, too). */
typedef struct tfn__spacer {
    tfn__text to;
    int32_t steps;
    size_t  spaces;                             /* held back */
    size_t  ink;                                /* bytes up to the last that is no white space */
    bool    begun;                              /* something was written */
} tfn__spacer;
SHARED void tfn__put_all_spaced(tfn__spacer *p, const uint8_t *s, size_t n);
SHARED size_t tfn__end_spaced(tfn__spacer *p);
#endif
#endif /* TFN__UNICODE_H */
