#include "json.h"
#include "../ground/ground.h"

/* UTF-8 (RFC 3629) and JSON (RFC 8259), for the tokenizers and the files. In order: characters, a
 * reader of bytes, then marks, strings, numbers and whole values of JSON. Builds on basics.
 *
 * The reader is a cursor over a text in memory. It allocates nothing and builds no tree: the caller
 * walks the document and reads the value that should come next into its own variable. The first
 * error sets `wanted`, a part of the message ("x is expected"). From then on the reader sees only
 * the end of the text, so that callers need one check after they have read everything. Files are
 * hostile: every byte is read through tfn__peek, which knows where the text ends. */

/* -- UTF-8 ----------------------------------------------------------------------------------- */

enum { TFN__MAX_CODE_POINT = 0x10ffff, TFN__SURROGATE = 0xd800, TFN__LOW_SURROGATE = 0xdc00,
       TFN__AFTER_SURROGATES = 0xe000 };

/* Bytes of a character, from its first byte: 0xxxxxxx 1, 110xxxxx 2, 1110xxxx 3, 11110xxx 4; 0 for
 * a byte that cannot be the first. */
static size_t tfn__utf8_bytes(uint8_t first)
{
    if (first < 0x80)     return 1;
    if (first >> 5 == 6)  return 2;
    if (first >> 4 == 14) return 3;
    if (first >> 3 == 30) return 4;
    return 0;
}

/* Read the first character of the n >= 1 bytes at s: returns its bytes and stores its code point. A
 * byte that begins no character counts as one by itself, with code point -1. Overlong forms, halves
 * of surrogate pairs and values above U+10FFFF are not characters. */
SHARED size_t tfn__utf8(const uint8_t *s, size_t n, int32_t *c)
{
    static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };      /* by bytes */
    const size_t bytes = tfn__utf8_bytes(s[0]);
    int32_t v = s[0];
    *c = -1;
    if (bytes == 0 || bytes > n) return 1;

    if (bytes > 1) v &= 0x7f >> bytes;
    for (size_t i = 1; i < bytes; i++) {            /* 10xxxxxx: six bits each */
        if (s[i] >> 6 != 2) return 1;
        v = v << 6 | (s[i] & 0x3f);
    }
    if (v < least[bytes] || v > TFN__MAX_CODE_POINT) return 1;
    if (v >= TFN__SURROGATE && v < TFN__AFTER_SURROGATES) return 1;
    *c = v;
    return bytes;
}

SHARED bool tfn__is_utf8(const uint8_t *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        int32_t c;
        at += tfn__utf8(s + at, n - at, &c);
        if (c < 0) return false;
    }
    return true;
}

/* Write a code point into at most 4 bytes. Returns their number. */
SHARED size_t tfn__put_utf8(uint8_t *s, int32_t c)
{
    static const uint8_t mark[] = { 0, 0, 0xc0, 0xe0, 0xf0 };           /* by bytes */
    size_t bytes = 1;
    if (c >= 0x80)    bytes = 2;
    if (c >= 0x800)   bytes = 3;
    if (c >= 0x10000) bytes = 4;
    for (size_t i = bytes; --i > 0; c >>= 6) s[i] = (uint8_t)(0x80 | (c & 0x3f));
    s[0] = (uint8_t)(mark[bytes] | c);
    return bytes;
}

SHARED void tfn__put_code(tfn__text *t, int32_t c)
{
    uint8_t s[4];
    tfn__put_bytes(t, s, tfn__put_utf8(s, c));
}

/* -- the reader ------------------------------------------------------------------------------ */

SHARED tfn__reader tfn__read_from(const void *s, size_t size)
{
    tfn__reader r;
    TFNORM_MEMSET(&r, 0, sizeof r);
    r.s = (const uint8_t *)s;
    if (s) r.size = size;
    return r;
}

/* Record the expected item, unless there was an error before. Always returns -1, so that a function
 * that returns -1 for an error can end with it. */
SHARED int32_t tfn__want(tfn__reader *r, const char *what)
{
    if (!r->wanted) r->wanted = what;
    return -1;
}

/* The next byte; -1 at the end and after an error. */
SHARED int32_t tfn__peek(const tfn__reader *r)
{
    if (r->wanted || r->at >= r->size) return -1;
    return r->s[r->at];
}

/* Step over the next byte if it is c. */
SHARED bool tfn__accept(tfn__reader *r, int32_t c)
{
    const bool here = c >= 0 && tfn__peek(r) == c;
    r->at += here;
    return here;
}

/* The value of the next byte as a decimal digit; -1: not a digit. */
static int32_t tfn__peek_digit(const tfn__reader *r)
{
    const int32_t c = tfn__peek(r);
    if (c < '0' || c > '9') return -1;
    return c - '0';
}

/* -- marks ----------------------------------------------------------------------------------- */

SHARED void tfn__json_space(tfn__reader *r)
{
    for (;;) {
        const int32_t c = tfn__peek(r);
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
        r->at++;
    }
}

/* Step over one of {}[],:" and the space around it. After a quote, space belongs to the string. */
SHARED bool tfn__json_mark(tfn__reader *r, char mark)
{
    bool here;
    tfn__json_space(r);
    here = tfn__accept(r, mark);
    if (here && mark != '"') tfn__json_space(r);
    return here;
}
SHARED void tfn__json_want(tfn__reader *r, char mark, const char *what)
{
    if (!tfn__json_mark(r, mark)) tfn__want(r, what);
}

/* Loop over the members of an object, or with '[' and ']' over the elements of an array:
 *
 *     for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}'))
 *
 * The body reads one member. Both calls return false after an error, so the loop ends there,
 * too. */
SHARED bool tfn__json_open(tfn__reader *r, char open, char close)
{
    if (open == '{') tfn__json_want(r, open, "{");
    else             tfn__json_want(r, open, "[");
    return !tfn__json_mark(r, close) && !r->wanted;
}
SHARED bool tfn__json_more(tfn__reader *r, char close)
{
    if (tfn__json_mark(r, ',')) return true;
    if (close == '}') tfn__json_want(r, close, ", or }");
    else              tfn__json_want(r, close, ", or ]");
    return false;
}

/* -- strings --------------------------------------------------------------------------------- */

/* Read the four hexadecimal digits of \u: a UTF-16 unit, or -1. */
static int32_t tfn__json_unit(tfn__reader *r)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int32_t digit = tfn__peek_digit(r);
        const int32_t letter = tfn__peek(r) | 32;           /* in lower case; -1 stays -1 */
        if (letter >= 'a' && letter <= 'f') digit = letter - 'a' + 10;
        if (digit < 0) return tfn__want(r, "four digits of \\u");
        v = v << 4 | digit;
    }
    return v;
}

/* Read the character after a backslash. One above U+FFFF is a pair of surrogates with ten bits
 * each: \ud83d\ude00 is U+1F600. */
static int32_t tfn__json_escape(tfn__reader *r)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[]   = "\"\\/\b\f\n\r\t";
    int32_t high;
    int32_t low = 0;
    for (int i = 0; from[i]; i++)
        if (tfn__accept(r, from[i])) return to[i];
    if (!tfn__accept(r, 'u')) return tfn__want(r, "an escape");

    high = tfn__json_unit(r);
    if (high < TFN__SURROGATE || high >= TFN__AFTER_SURROGATES) return high;
    if (high < TFN__LOW_SURROGATE && tfn__accept(r, '\\') && tfn__accept(r, 'u'))
        low = tfn__json_unit(r);
    if (low < TFN__LOW_SURROGATE || low >= TFN__AFTER_SURROGATES)
        return tfn__want(r, "a pair of surrogates");
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

/* The next character of a string whose opening quote was read; -1 at its end or after an error. */
SHARED int32_t tfn__json_char(tfn__reader *r)
{
    int32_t c = tfn__peek(r);
    if (tfn__accept(r, '"')) return -1;
    if (tfn__accept(r, '\\')) return tfn__json_escape(r);
    if (c < 32) return tfn__want(r, "the end of a string");     /* control characters: \u */
    r->at += tfn__utf8(r->s + r->at, r->size - r->at, &c);
    if (c < 0) return tfn__want(r, "UTF-8");
    return c;
}

/* True for a byte that is a character of a string by itself: ASCII from 32 on, except quotes and
 * backslashes. */
static bool tfn__is_plain(uint8_t c)
{
    return c >= 32 && c < 128 && c != '"' && c != '\\';
}

/* Read a string of at most size - 1 bytes and add a final zero. With `to` NULL, skip a string of
 * any length. Returns its bytes. */
SHARED size_t tfn__json_string(tfn__reader *r, char *to, size_t size)
{
    tfn__text t = tfn__text_in(to, size);
    bool zero = false;              /* a \u0000 would end the text too early */
    tfn__json_want(r, '"', "a string");
    while (!r->wanted) {
        const size_t begin = r->at;
        int32_t c;
        while (r->at < r->size && tfn__is_plain(r->s[r->at])) r->at++;
        tfn__put_bytes(&t, r->s + begin, r->at - begin);
        c = tfn__json_char(r);
        if (c < 0) break;
        if (c == 0) zero = true;
        tfn__put_code(&t, c);
    }
    tfn__end(&t);
    if (to && (zero || t.used >= size)) tfn__want(r, "a shorter string without zeros");
    return t.used;
}

/* Compare two strings by code points: < 0, 0 or > 0. Both were read before, so they are valid and
 * end with a quote; the readers are copies at the first character. Files name thousands of tensors
 * with long common beginnings, so equal plain bytes are skipped first. */
SHARED int32_t tfn__json_compare(tfn__reader a, tfn__reader b)
{
    int32_t x;
    int32_t y;
    while (a.s[a.at] == b.s[b.at]) {
        if (!tfn__is_plain(a.s[a.at])) break;
        a.at++;
        b.at++;
    }
    do {
        x = tfn__json_char(&a);
        y = tfn__json_char(&b);
        if (x < 0) break;
    } while (x == y);
    return x - y;
}

/* Read a key of an object and its colon. Returns its number among the names, from 0; -1: none of
 * them. `names` is one text with a quote after each name: "dtype\"shape\"". If a name is repeated,
 * the last one counts. */
SHARED int tfn__json_key(tfn__reader *r, const char *names)
{
    tfn__reader key = *r;
    tfn__reader name = tfn__read_from(names, tfn__length(names));
    int found = -1;
    tfn__json_string(r, NULL, 0);
    tfn__json_want(r, ':', ":");
    if (r->wanted) return -1;
    key.at++;                                   /* after the quote */
    for (int i = 0; name.at < name.size; i++) {
        if (tfn__json_compare(key, name) == 0) found = i;
        while (name.s[name.at] != '"') name.at++;
        name.at++;
    }
    return found;
}

/* Put a character of a JSON string, with its escape. */
SHARED void tfn__put_json(tfn__text *t, int32_t c)
{
    if (c < 16) tfn__put(t, "\\u000");
    else if (c < 32) tfn__put(t, "\\u001");
    else if (c == '"' || c == '\\') tfn__put(t, "\\");
    if (c < 32) c = "0123456789abcdef"[c & 15];
    tfn__put_code(t, c);
}

/* -- numbers --------------------------------------------------------------------------------- */

/* Read only digits, up to a maximum, without a leading zero. */
static uint64_t tfn__json_digits(tfn__reader *r, uint64_t most)
{
    const size_t begin = r->at;
    const bool zero = tfn__peek(r) == '0';
    uint64_t v = 0;
    for (;; r->at++) {
        const int32_t digit = tfn__peek_digit(r);
        if (digit < 0) break;
        if (v > most / 10 || 10*v > most - (uint64_t)digit) tfn__want(r, "a smaller number");
        else v = 10*v + (uint64_t)digit;
    }
    if (r->at == begin || (zero && r->at > begin + 1)) tfn__want(r, "a whole number");
    return v;
}

/* Read a count; -1: an error. */
SHARED int64_t tfn__json_count(tfn__reader *r, int64_t most)
{
    const int64_t v = (int64_t)tfn__json_digits(r, (uint64_t)most);
    if (r->wanted) return -1;
    return v;
}

/* Read a whole number from -most - 1 to most. */
SHARED int64_t tfn__json_whole(tfn__reader *r, int64_t most)
{
    const bool minus = tfn__accept(r, '-');
    const uint64_t v = tfn__json_digits(r, (uint64_t)most + minus);
    if (minus) return (int64_t)(0 - v);         /* unsigned: -INT64_MIN does not overflow */
    return (int64_t)v;
}

/* Read digits that continue v; returns their number. After the first 17 or 18, digits are below the
 * precision of a double: they are counted in *left_out instead of being multiplied in. So v stays
 * below 1e18, as tfn__decimal requires. */
static int64_t tfn__json_mantissa(tfn__reader *r, double *v, int64_t *left_out)
{
    int64_t count = 0;
    for (;; r->at++) {
        const int32_t digit = tfn__peek_digit(r);
        if (digit < 0) return count;
        if (*v < 1e17) *v = 10 * *v + digit;
        else *left_out += 1;
        count++;
    }
}

/* Read the exponent after a number; 0 if there is none. From 1000 on the value is 0 or infinity
 * anyway, so larger exponents are cut there. */
SHARED int64_t tfn__json_exponent(tfn__reader *r)
{
    int64_t exponent = 0;
    bool down;
    if (!tfn__accept(r, 'e') && !tfn__accept(r, 'E')) return 0;
    down = tfn__accept(r, '-');
    if (!down) tfn__accept(r, '+');
    if (tfn__peek_digit(r) < 0) tfn__want(r, "an exponent");
    for (;; r->at++) {
        const int32_t digit = tfn__peek_digit(r);
        if (digit < 0) break;
        if (exponent < 1000) exponent = 10*exponent + digit;
    }
    if (down) return -exponent;
    return exponent;
}

/* Read a number, -12.5e3. Exact if the power of ten is, else to a few ulp of a double. The digits
 * are read as one whole number without the point. It is multiplied by a power of ten: minus the
 * digits after the point, plus the digits left out, plus the exponent. */
SHARED double tfn__json_number(tfn__reader *r)
{
    const bool minus = tfn__accept(r, '-');
    const bool zero = tfn__peek(r) == '0';
    int64_t power = 0;
    double v = 0;
    const int64_t whole = tfn__json_mantissa(r, &v, &power);
    const bool point = whole > 0 && tfn__accept(r, '.');
    int64_t part = 0;
    if (point) part = tfn__json_mantissa(r, &v, &power);
    if (whole == 0 || (zero && whole > 1) || (point && part == 0)) tfn__want(r, "a number");
    power -= part;
    power += tfn__json_exponent(r);
    v = tfn__decimal(v, power);
    if (minus) return -v;
    return v;
}

/* -- skipping values ------------------------------------------------------------------------- */

static void tfn__json_word(tfn__reader *r, const char *word)
{
    for (const char *s = word; *s; s++)
        if (!tfn__accept(r, *s)) tfn__want(r, word);
}

/* Read any value and ignore it. depth: the most objects and arrays inside each other, so that a
 * file of brackets cannot exhaust the stack. */
SHARED void tfn__json_skip(tfn__reader *r, int depth)
{
    const int32_t c = tfn__peek(r);
    if ((c == '{' || c == '[') && depth == 0) tfn__want(r, "less depth");
    if (c == '{') {
        for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
            tfn__json_string(r, NULL, 0);
            tfn__json_want(r, ':', ":");
            tfn__json_skip(r, depth - 1);
        }
    } else if (c == '[') {
        for (bool more = tfn__json_open(r, '[', ']'); more; more = tfn__json_more(r, ']'))
            tfn__json_skip(r, depth - 1);
    } else if (c == '"') tfn__json_string(r, NULL, 0);
    else if (c == 't') tfn__json_word(r, "true");
    else if (c == 'f') tfn__json_word(r, "false");
    else if (c == 'n') tfn__json_word(r, "null");
    else tfn__json_number(r);
}

/* Read an object. value[i] becomes a reader at the value of the member with name i, which is valid
 * JSON; for a missing member, a reader of nothing. */
SHARED void tfn__json_members(tfn__reader *r, tfn__reader *value, const char *names)
{
    int count = 0;
    for (const char *s = names; *s; s++)
        if (*s == '"') value[count++] = tfn__read_from(NULL, 0);
    for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
        const int i = tfn__json_key(r, names);
        if (i >= 0) value[i] = *r;
        tfn__json_skip(r, TFN__JSON_DEPTH);
    }
}

/* True if a value that was read is this string, which ends with a quote like the names above. */
SHARED bool tfn__json_says(tfn__reader value, const char *string)
{
    const tfn__reader wanted = tfn__read_from(string, tfn__length(string));
    return tfn__accept(&value, '"') && tfn__json_compare(value, wanted) == 0;
}

/* True if a value that was read is null, false, 0 or "", or is missing. */
SHARED bool tfn__json_empty(tfn__reader value)
{
    const int32_t c = tfn__peek(&value);
    if (c == '"') return tfn__json_says(value, "\"");
    if (c == '-' || (c >= '0' && c <= '9')) return !(tfn__json_number(&value) != 0);
    return c < 0 || c == 'n' || c == 'f';
}
