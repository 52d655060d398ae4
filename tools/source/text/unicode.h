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
SHARED int32_t tfn__next_run(const char **s);
SHARED int32_t tfn__run_at(const char *runs, const int32_t (*starts)[2], int32_t count,
                           int bits, int32_t c);
#endif /* TFN__UNICODE_H */
