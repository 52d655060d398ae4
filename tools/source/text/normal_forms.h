#ifndef TFN__NORMAL_FORMS_H
#define TFN__NORMAL_FORMS_H
#include "../ground/ground.h"
#include "json.h"

SHARED bool tfn__same(const uint8_t *a, const uint8_t *b, size_t n);
SHARED bool tfn__is_nfc(const uint8_t *s, size_t n);
SHARED bool tfn__in_pairs(const int32_t (*pairs)[2], size_t count, int32_t c);

/* Normal forms of Unicode: NFD 0, NFC 1, NFKD 2, NFKC 3. */
enum { TFN__FORM_COMPOSED = 1, TFN__FORM_COMPATIBLE = 2 };
SHARED size_t tfn__put_normal_form(uint8_t *to, size_t room, bool *same, const uint8_t *s, size_t n,
                            int32_t form);

/* Devlin et al. 2018, tokenization.py: control characters are dropped and white space becomes
 * spaces (clean), Chinese characters get spaces around them, accents are removed, and letters
 * become lower case. tools/unicode.py generates the tables: the traits of characters, and the
 * number to add to a capital (a difference from the list, 1 for even characters, or 1 for odd
 * ones). */
enum { TFN__PLAIN, TFN__PUNCTUATION, TFN__ACCENT, TFN__CONTROL };
SHARED int tfn__trait(int32_t c);
SHARED void tfn__put_small(tfn__text *t, int32_t c, int32_t steps);
SHARED size_t tfn__put_bert(uint8_t *to, size_t room, const uint8_t *s, size_t n, int32_t steps);
extern SHARED const uint8_t tfn__mark[3];
SHARED void tfn__set_byte(uint32_t *set, uint8_t byte);
SHARED bool tfn__has_byte(const uint32_t *set, uint8_t byte);
SHARED uint32_t tfn__map_unit(const uint8_t *map, size_t i);
SHARED size_t tfn__map_match(const uint8_t *map, size_t units, const uint8_t *s, size_t n,
                             size_t *value, size_t *read);
SHARED bool tfn__map_begins(const uint8_t *map, size_t units, uint8_t byte);

/* Writes a text with its spaces changed. Spaces are held back until the next character is known.
 *
 * With U+2581 shown as "_", " a b " becomes "___a___b_" in Llama 2 (MARKS, PREFIX), "__a___b_" in
 * Mistral's Metaspace (also NEEDED), and "_a_b" in T5 (also LEFT, RIGHT, COLLAPSE). */
typedef struct tfn__spacer {
    tfn__text to;
    int32_t steps;
    size_t  spaces;                             /* held back */
    size_t  ink;                                /* bytes up to the last non-space character */
    bool    begun;                              /* something was written */
} tfn__spacer;
SHARED void tfn__put_all_spaced(tfn__spacer *p, const uint8_t *s, size_t n);
SHARED size_t tfn__end_spaced(tfn__spacer *p);
#endif /* TFN__NORMAL_FORMS_H */
