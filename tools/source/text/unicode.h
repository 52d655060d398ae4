#ifndef TFN__UNICODE_H
#define TFN__UNICODE_H
#include "../ground/ground.h"
#include "../ground/basics.h"

enum { TFN__OTHER, TFN__LETTER, TFN__NUMBER, TFN__WHITE };

/* Unicode's categories, in the order of the tables. Control characters that are white space, and
 * symbols that are alphabetic, have rows of their own. Masks hold a bit for each category. */
enum { TFN__CN, TFN__LU, TFN__LL, TFN__LT, TFN__LM, TFN__LO, TFN__MN, TFN__MC, TFN__ME, TFN__ND,
       TFN__NL, TFN__NO, TFN__PC, TFN__PD, TFN__PS, TFN__PE, TFN__PI, TFN__PF, TFN__PO, TFN__SM,
       TFN__SC, TFN__SK, TFN__SO, TFN__ZS, TFN__ZL, TFN__ZP, TFN__CC, TFN__CF, TFN__CS, TFN__CO,
       TFN__CC_WHITE, TFN__SO_ALPHABETIC };
#define TFN__BIT(i)       ((uint32_t)1 << (i))
#define TFN__LETTERS      ((uint32_t)0x3e)
#define TFN__MARKS_ALL    ((uint32_t)0x1c0)
#define TFN__NUMBERS      ((uint32_t)0xe00)
#define TFN__PUNCTUATIONS ((uint32_t)0x7f000)
#define TFN__SYMBOLS      ((uint32_t)0x80780000)
#define TFN__SPACES       ((uint32_t)0x43800000)
#define TFN__SEPARATORS   ((uint32_t)0x3800000)
#define TFN__OTHERS       ((uint32_t)0x7c000001)        /* C*, with unassigned ones */
#define TFN__CONTROLS     ((uint32_t)0x6c000000)        /* Cc, Cf, Co, which BERT drops */
#define TFN__WORDS        (TFN__LETTERS | TFN__MARKS_ALL | TFN__BIT(TFN__ND) | TFN__BIT(TFN__NL) \
                           | TFN__BIT(TFN__PC) | TFN__BIT(TFN__SO_ALPHABETIC))      /* \w */
SHARED int tfn__category(int32_t c);
SHARED bool tfn__is_of(int32_t c, uint32_t categories);

SHARED int tfn__class_beyond_ascii(int32_t c);

/* The class of a code point. */
static TFN__INLINE int tfn__class(int32_t c)
{
    if (c < 0) return TFN__OTHER;               /* a byte that is not UTF-8 */
    if (c < 128) {                              /* nearly all text */
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
#endif /* TFN__UNICODE_H */
