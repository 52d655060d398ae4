#include "regex.h"
#include "../ground/basics.h"
#include "unicode.h"

/* Regular expressions in Oniguruma's syntax, which tokenizer.json uses to split texts. Builds on
 * unicode.
 *
 * Offers a compiler, which turns an expression into a program of instructions and character sets,
 * and a search, which follows all ways through the program in parallel (Thompson 1968, Pike). Its
 * time is the length of the text times the length of the program. It neither backtracks nor
 * recurses nor allocates, so a hostile expression cannot stall it.
 *
 * Supports characters, ".", sets with categories (\p{L}, \s, \w, \d) and nested sets, groups,
 * alternatives, all quantifiers, case-insensitive parts, ^ $ \A \z \b \B, and lookaround of one
 * character. Possessive quantifiers may follow one character or set. Everything else is refused by
 * name: references, atomic groups, longer lookaround, intersections of sets. */

/* An instruction has two words. The first is its operation, with a flag from bit 8 on. The second
 * is a character, an offset into the sets, or a distance to another instruction. */
enum {
    TFN__REGEX_MATCH,       /* the end */
    TFN__REGEX_CHAR,        /* this character */
    TFN__REGEX_SET,         /* one of a set */
    TFN__REGEX_SPLIT,       /* try the next instruction, then another; flag: the other first */
    TFN__REGEX_JUMP,        /* go to another */
    TFN__REGEX_LOOK,        /* lookaround; flags: 1 negative, 2 behind */
    TFN__REGEX_EDGE         /* a TFN__EDGE_ condition on the position */
};
enum { TFN__EDGE_TEXT_BEGIN, TFN__EDGE_TEXT_END, TFN__EDGE_LINE_BEGIN, TFN__EDGE_LINE_END,
       TFN__EDGE_LAST_LINE, TFN__EDGE_WORD, TFN__EDGE_NO_WORD };
enum { TFN__LOOK_NOT = 1, TFN__LOOK_BEHIND = 2, TFN__NO_CHAR = -2 };

TFN__RARE

/* -- compiling ------------------------------------------------------------------------------- */

/* A set while it is read. A finished set has a bit for each ASCII character, so that these need no
 * category. */
enum { TFN__SET_RANGES = 64 };
typedef struct tfn__regex_set {
    uint32_t categories;
    int32_t  ranges, range[2*TFN__SET_RANGES];      /* first and last */
    bool     negative;
} tfn__regex_set;

/* Words of a finished set: four of bits, the categories, 2*ranges + negative, the ranges. */
enum { TFN__SET_HEAD = 6 };

typedef struct tfn__regex_maker {
    tfn__reader r;                      /* a JSON string, after its opening quote */
    int32_t next;                       /* the character to read; -1: the end */
    int32_t *code, count;               /* instructions */
    int32_t *sets, words;
    int32_t depth, budget;
    bool    fold, lines;                /* flags i and m */
    const char *wanted;                 /* the expected item; NULL: no error */
} tfn__regex_maker;
enum { TFN__REGEX_DEPTH = 12, TFN__REGEX_BUDGET = 4096 };

/* Record the first error and stop reading. */
static void tfn__regex_refuse(tfn__regex_maker *m, const char *what)
{
    if (!m->wanted) m->wanted = what;
    m->next = -1;
}

static int32_t tfn__regex_step(tfn__regex_maker *m)
{
    const int32_t c = m->next;
    if (c >= 0) m->next = tfn__json_char(&m->r);
    return c;
}
static bool tfn__regex_accept(tfn__regex_maker *m, int32_t c)
{
    if (m->next != c) return false;
    tfn__regex_step(m);
    return true;
}

/* The character after the next one. */
static int32_t tfn__regex_second(const tfn__regex_maker *m)
{
    tfn__reader r = m->r;
    if (m->next < 0) return -1;
    return tfn__json_char(&r);
}

static void tfn__regex_emit(tfn__regex_maker *m, int32_t op, int32_t value)
{
    if (m->count == TFN__REGEX_INSTRUCTIONS) {
        tfn__regex_refuse(m, "a shorter expression");
        return;
    }
    m->code[2*m->count] = op;
    m->code[2*m->count + 1] = value;
    m->count++;
}

/* Insert an instruction at `at`. Distances are relative, so code that moves as a whole stays right.
 */
static void tfn__regex_insert(tfn__regex_maker *m, int32_t at, int32_t op, int32_t value)
{
    tfn__regex_emit(m, op, value);
    if (m->wanted) return;
    for (int32_t i = 2*m->count - 1; i >= 2*at + 2; i--) m->code[i] = m->code[i - 2];
    m->code[2*at] = op;
    m->code[2*at + 1] = value;
}

static void tfn__set_range(tfn__regex_maker *m, tfn__regex_set *set, int32_t first, int32_t last)
{
    if (set->ranges == TFN__SET_RANGES) {
        tfn__regex_refuse(m, "a smaller set");
        return;
    }
    set->range[2*set->ranges] = first;
    set->range[2*set->ranges + 1] = last;
    set->ranges++;
}

static bool tfn__in_ranges(const int32_t *range, int32_t ranges, int32_t c)
{
    for (int32_t i = 0; i < ranges; i++)
        if (c >= range[2*i] && c <= range[2*i + 1]) return true;
    return false;
}

/* Add the other case of an ASCII letter, and the long s for s or the Kelvin sign for k. */
static void tfn__set_letter(tfn__regex_maker *m, tfn__regex_set *set, int32_t c)
{
    const int32_t small = c | 32;
    if (c >= 128) tfn__regex_refuse(m, "only ASCII where case does not count");
    if (small < 'a' || small > 'z') return;
    tfn__set_range(m, set, c ^ 32, c ^ 32);
    if (small == 's') tfn__set_range(m, set, 0x17f, 0x17f);
    if (small == 'k') tfn__set_range(m, set, 0x212a, 0x212a);
}

/* If case does not count, add the other case of all ASCII letters in a set. */
static void tfn__fold_set(tfn__regex_maker *m, tfn__regex_set *set)
{
    const int32_t ranges = set->ranges;
    const uint32_t cased = TFN__BIT(TFN__LU) | TFN__BIT(TFN__LL) | TFN__BIT(TFN__LT);
    if (!m->fold) return;
    if (set->categories & cased && (set->categories & cased) != cased)
        tfn__regex_refuse(m, "no category of one case where case does not count");
    for (int32_t i = 0; i < ranges; i++) {
        const int32_t first = set->range[2*i];
        const int32_t last = set->range[2*i + 1];
        for (int32_t c = first; c <= last; c++) {
            if (m->wanted) return;
            tfn__set_letter(m, set, c);
        }
    }
}

/* Finish a set. Returns its offset. */
static int32_t tfn__regex_set_end(tfn__regex_maker *m, const tfn__regex_set *set)
{
    int32_t *to = m->sets + m->words;
    const int32_t words = TFN__SET_HEAD + 2*set->ranges;
    if (m->words + words > TFN__REGEX_SET_WORDS) {
        tfn__regex_refuse(m, "fewer sets");
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        uint32_t bits = 0;
        for (int32_t j = 0; j < 32; j++) {
            const int32_t c = 32*i + j;
            const bool in = tfn__is_of(c, set->categories)
                            || tfn__in_ranges(set->range, set->ranges, c);
            if (in != set->negative) bits |= TFN__BIT(j);
        }
        TFNORM_MEMCPY(to + i, &bits, sizeof bits);
    }
    TFNORM_MEMCPY(to + 4, &set->categories, sizeof set->categories);
    to[5] = 2*set->ranges + set->negative;
    for (int32_t i = 0; i < 2*set->ranges; i++) to[TFN__SET_HEAD + i] = set->range[i];
    m->words += words;
    return m->words - words;
}

static void tfn__emit_set(tfn__regex_maker *m, const tfn__regex_set *set)
{
    const int32_t place = tfn__regex_set_end(m, set);
    tfn__regex_emit(m, TFN__REGEX_SET, place);
}

/* -- names of sets -- */

typedef struct tfn__category_name { char name[16]; uint32_t categories; } tfn__category_name;

/* Scripts that are not made of categories. */
static const int32_t tfn__han[][2] = {
    { 0x2e80, 0x2e99 }, { 0x2e9b, 0x2ef3 }, { 0x2f00, 0x2fd5 }, { 0x3005, 0x3005 },
    { 0x3007, 0x3007 }, { 0x3021, 0x3029 }, { 0x3038, 0x303b }, { 0x3400, 0x4dbf },
    { 0x4e00, 0x9fff }, { 0xf900, 0xfa6d }, { 0xfa70, 0xfad9 }, { 0x16fe2, 0x16fe3 },
    { 0x16ff0, 0x16ff1 }, { 0x20000, 0x2a6df }, { 0x2a700, 0x2b738 }, { 0x2b740, 0x2b81d },
    { 0x2b820, 0x2cea1 }, { 0x2ceb0, 0x2ebe0 }, { 0x2f800, 0x2fa1d }, { 0x30000, 0x3134a }
};

/* The categories of a property, or 0 if the name is unknown. */
static uint32_t tfn__category_named(const char *name)
{
    static const char names[] = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";
    static const tfn__category_name more[] = {
        { "L", TFN__LETTERS }, { "M", TFN__MARKS_ALL }, { "N", TFN__NUMBERS },
        { "P", TFN__PUNCTUATIONS }, { "S", TFN__SYMBOLS }, { "Z", TFN__SEPARATORS },
        { "C", TFN__OTHERS }, { "Letter", TFN__LETTERS }, { "Mark", TFN__MARKS_ALL },
        { "Number", TFN__NUMBERS }, { "Punctuation", TFN__PUNCTUATIONS },
        { "Symbol", TFN__SYMBOLS }, { "Separator", TFN__SEPARATORS },
        { "Space", TFN__SPACES }, { "White_Space", TFN__SPACES }, { "Word", TFN__WORDS },
        { "Digit", TFN__BIT(TFN__ND) }
    };
    uint32_t found = 0;
    for (int32_t i = 0; i < 30; i++)
        if (name[0] == names[2*i] && name[1] == names[2*i + 1] && !name[2]) found = TFN__BIT(i);
    if (found == TFN__BIT(TFN__CC)) found |= TFN__BIT(TFN__CC_WHITE);
    if (found == TFN__BIT(TFN__SO)) found |= TFN__BIT(TFN__SO_ALPHABETIC);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (tfn__equal(name, more[i].name)) found = more[i].categories;
    return found;
}

/* Read a property after its p: \p{Name}, \P{Name}, \p{^Name}, \pL. */
static void tfn__set_property(tfn__regex_maker *m, tfn__regex_set *set, bool not_in)
{
    char name[16] = { 0 };
    const bool brace = tfn__regex_accept(m, '{');
    uint32_t categories;
    if (brace && tfn__regex_accept(m, '^')) not_in = !not_in;
    for (int i = 0; i < 15; i++) {
        if (m->next < 0 || m->next == '}' || m->next > 127) break;
        name[i] = (char)tfn__regex_step(m);
        if (!brace) break;
    }
    if (brace && !tfn__regex_accept(m, '}')) tfn__regex_refuse(m, "the end of a property's name");
    categories = tfn__category_named(name);
    if (tfn__equal(name, "Han") && !not_in) {
        for (size_t i = 0; i < sizeof tfn__han / sizeof *tfn__han; i++)
            tfn__set_range(m, set, tfn__han[i][0], tfn__han[i][1]);
    } else if (!categories) tfn__regex_refuse(m, "a category of Unicode, or Han");
    if (not_in) categories = ~categories;
    set->categories |= categories;
}

/* A code point in hexadecimal digits: \x0A, \x{1F600}, \u00E9. */
static int32_t tfn__regex_hex(tfn__regex_maker *m, int32_t most)
{
    const bool brace = most == 2 && tfn__regex_accept(m, '{');
    int32_t c = 0;
    int32_t digits = 0;
    if (brace) most = 6;
    for (; digits < most; digits++) {
        const int32_t letter = m->next | 32;
        int32_t digit = m->next - '0';
        if (letter >= 'a' && letter <= 'f') digit = letter - 'a' + 10;
        else if (digit < 0 || digit > 9) break;
        c = 16*c + digit;
        tfn__regex_step(m);
    }
    if (!digits || c > 0x10ffff || (brace && !tfn__regex_accept(m, '}')))
        tfn__regex_refuse(m, "digits of a character");
    return c;
}

/* Read an escape after its backslash. Adds a set to *set and returns -1, or returns a character. */
static int32_t tfn__regex_escape(tfn__regex_maker *m, tfn__regex_set *set)
{
    static const char from[] = "nrtfvae";
    static const char to[] = "\n\r\t\f\v\a\x1b";
    const int32_t c = tfn__regex_step(m);
    uint32_t categories = 0;
    if (c == 'p' || c == 'P') {
        tfn__set_property(m, set, c == 'P');
        return -1;
    }
    if (c == 's' || c == 'S') categories = TFN__SPACES;
    if (c == 'w' || c == 'W') categories = TFN__WORDS;
    if (c == 'd' || c == 'D') categories = TFN__BIT(TFN__ND);
    if (c == 'S' || c == 'W' || c == 'D') categories = ~categories;
    set->categories |= categories;
    if (categories) return -1;
    if (c == 'x') return tfn__regex_hex(m, 2);
    if (c == 'u') return tfn__regex_hex(m, 4);
    for (int i = 0; from[i]; i++)
        if (c == from[i]) return to[i];
    if (c < 0 || (c < 128 && tfn__class(c) == TFN__LETTER) || tfn__class(c) == TFN__NUMBER)
        tfn__regex_refuse(m, "an escape that is known");
    return c;
}

static tfn__regex_set tfn__empty_set(void)
{
    tfn__regex_set set;
    set.categories = 0;
    set.ranges = 0;
    set.negative = false;
    return set;
}

/* Add a set to another. A negative set must consist of categories only. */
static void tfn__add_set(tfn__regex_maker *m, tfn__regex_set *to, const tfn__regex_set *set)
{
    if (set->negative && set->ranges) tfn__regex_refuse(m, "no negative set inside a set");
    if (set->negative) to->categories |= ~set->categories;
    else to->categories |= set->categories;
    for (int32_t i = 0; i < set->ranges; i++)
        tfn__set_range(m, to, set->range[2*i], set->range[2*i + 1]);
}

/* Read a set after its opening bracket. */
static void tfn__regex_class(tfn__regex_maker *m, tfn__regex_set *set, int depth)
{
    bool first = true;
    *set = tfn__empty_set();
    set->negative = tfn__regex_accept(m, '^');
    if (depth == 0) tfn__regex_refuse(m, "fewer sets inside sets");
    for (;; first = false) {
        int32_t from;
        int32_t to;
        if (m->next == ']' && !first) break;
        if (m->next < 0) {
            tfn__regex_refuse(m, "the end of a set");
            return;
        }
        if (m->next == '&' && tfn__regex_second(m) == '&')
            tfn__regex_refuse(m, "no intersection of sets");
        if (m->next == '[') {
            tfn__regex_set inner;
            tfn__regex_step(m);
            if (m->next == ':') tfn__regex_refuse(m, "no [:name:]");
            tfn__regex_class(m, &inner, depth - 1);
            tfn__add_set(m, set, &inner);
            continue;
        }
        from = tfn__regex_step(m);
        if (from == '\\') from = tfn__regex_escape(m, set);
        if (from < 0) continue;
        to = from;
        if (m->next == '-' && tfn__regex_second(m) != ']') {
            tfn__regex_step(m);
            to = tfn__regex_step(m);
            if (to == '[') to = -1;                             /* a set */
            else if (to == '\\') to = tfn__regex_escape(m, set);
            if (to < from) tfn__regex_refuse(m, "the end of a range");
        }
        if (!m->wanted) tfn__set_range(m, set, from, to);
    }
    tfn__regex_step(m);
    tfn__fold_set(m, set);
}

/* -- parts of an expression -- */

static void tfn__regex_alternatives(tfn__regex_maker *m);

static void tfn__regex_literal(tfn__regex_maker *m, int32_t c)
{
    tfn__regex_set set = tfn__empty_set();
    if (!m->fold || (c < 128 && tfn__class(c) != TFN__LETTER)) {
        tfn__regex_emit(m, TFN__REGEX_CHAR, c);
        return;
    }
    tfn__set_range(m, &set, c, c);
    tfn__set_letter(m, &set, c);
    tfn__emit_set(m, &set);
}

/* The set of an instruction that reads one character, or -1. */
static int32_t tfn__one_set(tfn__regex_maker *m, int32_t at)
{
    tfn__regex_set set = tfn__empty_set();
    if (m->code[2*at] == TFN__REGEX_SET) return m->code[2*at + 1];
    if (m->code[2*at] != TFN__REGEX_CHAR) return -1;
    tfn__set_range(m, &set, m->code[2*at + 1], m->code[2*at + 1]);
    return tfn__regex_set_end(m, &set);
}

/* Read a lookaround group; its content must read one character. */
static void tfn__regex_look(tfn__regex_maker *m, int32_t flags)
{
    const int32_t at = m->count;
    int32_t set = -1;
    tfn__regex_alternatives(m);
    if (m->wanted) return;
    if (m->count == at + 1) set = tfn__one_set(m, at);
    if (set < 0) tfn__regex_refuse(m, "a look at one character");
    m->count = at;
    tfn__regex_emit(m, TFN__REGEX_LOOK | flags << 8, set);
}

/* Read flags after "(?": i, m, and - before flags to clear. True if a colon follows, so that the
 * flags apply to this group only. */
static bool tfn__regex_flags(tfn__regex_maker *m)
{
    bool on = true;
    for (;;) {
        const int32_t c = tfn__regex_step(m);
        if (c == ':') return true;
        if (c == ')') return false;
        if (c == '-') on = false;
        else if (c == 'i') m->fold = on;
        else if (c == 'm') m->lines = on;
        else {
            tfn__regex_refuse(m, "a group that is known");
            return false;
        }
    }
}

/* The kind of a lookaround group, read after "(?", or -1. */
static int32_t tfn__regex_look_flags(tfn__regex_maker *m)
{
    int32_t flags = 0;
    const int32_t second = tfn__regex_second(m);
    if (m->next == '<' && (second == '=' || second == '!')) {
        flags = TFN__LOOK_BEHIND;
        tfn__regex_step(m);
    } else if (m->next != '=' && m->next != '!') return -1;
    if (tfn__regex_step(m) == '!') flags |= TFN__LOOK_NOT;
    return flags;
}

/* Read a group after its bracket and restore the flags after it, except for a group of flags only
 * such as "(?i)". */
static void tfn__regex_group(tfn__regex_maker *m)
{
    const bool fold = m->fold;
    const bool lines = m->lines;
    int32_t look = -1;
    if (m->next == '*') tfn__regex_refuse(m, "no verb");
    if (tfn__regex_accept(m, '?')) {
        look = tfn__regex_look_flags(m);
        if (look >= 0) tfn__regex_look(m, look);
        else if (tfn__regex_accept(m, '<')) {                       /* a name */
            while (m->next >= 0) if (tfn__regex_step(m) == '>') break;
        } else if (m->next == '>') tfn__regex_refuse(m, "no atomic group");
        else if (!tfn__regex_flags(m)) return;
    }
    if (look < 0) tfn__regex_alternatives(m);
    if (!tfn__regex_accept(m, ')')) tfn__regex_refuse(m, "the end of a group");
    m->fold = fold;
    m->lines = lines;
}

/* The condition of \A, \b and the like, or -1. */
static int32_t tfn__regex_edge(int32_t c)
{
    static const char names[] = "AzZbB";
    static const int edges[] = { TFN__EDGE_TEXT_BEGIN, TFN__EDGE_TEXT_END, TFN__EDGE_LAST_LINE,
                                 TFN__EDGE_WORD, TFN__EDGE_NO_WORD };
    for (int i = 0; names[i]; i++)
        if (c == names[i]) return edges[i];
    return -1;
}

/* Read one atom, which a quantifier may follow. */
static void tfn__regex_atom(tfn__regex_maker *m)
{
    tfn__regex_set set = tfn__empty_set();
    int32_t c = tfn__regex_step(m);
    if (c == '(') {
        if (--m->depth < 0) tfn__regex_refuse(m, "fewer groups inside groups");
        tfn__regex_group(m);
        m->depth++;
    } else if (c == '[') {
        tfn__regex_class(m, &set, TFN__REGEX_DEPTH);
        tfn__emit_set(m, &set);
    } else if (c == '.') {
        if (!m->lines) tfn__set_range(m, &set, '\n', '\n');
        set.negative = true;
        tfn__emit_set(m, &set);
    } else if (c == '^') tfn__regex_emit(m, TFN__REGEX_EDGE, TFN__EDGE_LINE_BEGIN);
    else if (c == '$') tfn__regex_emit(m, TFN__REGEX_EDGE, TFN__EDGE_LINE_END);
    else if (c == '\\' && tfn__regex_edge(m->next) >= 0)
        tfn__regex_emit(m, TFN__REGEX_EDGE, tfn__regex_edge(tfn__regex_step(m)));
    else if (c == '\\') {
        c = tfn__regex_escape(m, &set);
        if (c >= 0) tfn__regex_literal(m, c);
        else tfn__emit_set(m, &set);
    } else if (c == '*' || c == '+' || c == '?') tfn__regex_refuse(m, "something to repeat");
    else tfn__regex_literal(m, c);
}

/* -- quantifiers, sequences, alternatives -- */

/* Repeat the code from `at` on min to max times (-1: without limit). "X*" becomes SPLIT (past the
 * jump), X, JUMP (back). "X+" becomes X, SPLIT (back). "X{0,2}" becomes SPLIT (end), X, SPLIT
 * (end), X. */
static void tfn__regex_repeat(tfn__regex_maker *m, int32_t at, int32_t min, int32_t max, bool lazy)
{
    const int32_t skip = TFN__REGEX_SPLIT | lazy << 8;
    const int32_t back = TFN__REGEX_SPLIT | !lazy << 8;
    const int32_t length = m->count - at;
    int32_t done = 1;
    if (max == 0) {
        m->count = at;
        return;
    }
    if (min == 0 && max < 0) {
        tfn__regex_insert(m, at, skip, length + 2);
        tfn__regex_emit(m, TFN__REGEX_JUMP, -length - 1);
        return;
    }
    if (min == 0) tfn__regex_insert(m, at++, skip, max * (length + 1));
    while (max < 0 ? done < min : done < max) {
        if (m->wanted) return;
        if (done >= min) tfn__regex_emit(m, skip, (max - done) * (length + 1));
        for (int32_t i = 0; i < length; i++)
            tfn__regex_emit(m, m->code[2*(at + i)], m->code[2*(at + i) + 1]);
        m->budget -= 1 + length;
        if (m->budget < 0) tfn__regex_refuse(m, "a shorter expression");
        done++;
    }
    if (max < 0) tfn__regex_emit(m, back, -length);
}

/* Possessive X?+, X*+ and X++ never give back what they matched. For one character or set this
 * equals a negative lookahead after a greedy quantifier. */
static void tfn__regex_possess(tfn__regex_maker *m, int32_t at, int32_t min, int32_t max)
{
    const int32_t look = TFN__REGEX_LOOK | TFN__LOOK_NOT << 8;
    int32_t set = -1;
    if (m->count == at + 1) set = tfn__one_set(m, at);
    if (set < 0) {
        tfn__regex_refuse(m, "a possessive quantifier after one character or set");
        return;
    }
    if (max == 1) {
        tfn__regex_insert(m, at, TFN__REGEX_SPLIT, 3);
        tfn__regex_emit(m, TFN__REGEX_JUMP, 2);
    } else tfn__regex_repeat(m, at, min, max, false);
    tfn__regex_emit(m, look, set);
}

/* Read {m}, {m,} or {m,n}. False, with nothing read, if the brace is a plain character. */
static bool tfn__regex_interval(tfn__regex_maker *m, int32_t *min, int32_t *max)
{
    const tfn__regex_maker before = *m;
    int64_t bound[2] = { 0, -1 };
    int32_t digits[2] = { 0, 0 };
    int i = 0;
    tfn__regex_step(m);
    for (;;) {
        const int32_t c = tfn__regex_step(m);
        if (c == '}') break;
        if (c == ',' && i == 0) i = 1;
        else if (c >= '0' && c <= '9') {
            if (!digits[i]++) bound[i] = 0;
            bound[i] = bound[i]*10 + (c - '0');
            if (bound[i] > TFN__REGEX_INSTRUCTIONS) tfn__regex_refuse(m, "fewer repetitions");
        } else {
            if (!m->wanted) *m = before;
            return false;
        }
    }
    if (!digits[0] && !digits[1]) {
        *m = before;
        return false;
    }
    if (i == 0) bound[1] = bound[0];
    *min = (int32_t)bound[0];
    *max = (int32_t)bound[1];
    if (*max >= 0 && *max < *min) tfn__regex_refuse(m, "bounds in order");
    return true;
}

/* Read the quantifiers after an atom that starts at `at`. */
static void tfn__regex_quantifiers(tfn__regex_maker *m, int32_t at)
{
    for (;;) {
        const int32_t c = m->next;
        int32_t min = c == '+';
        int32_t max = -1;
        if (m->wanted) return;
        if (c == '{') {
            if (!tfn__regex_interval(m, &min, &max)) return;
            tfn__regex_repeat(m, at, min, max, tfn__regex_accept(m, '?'));
            continue;
        }
        if (c != '*' && c != '+' && c != '?') return;
        if (c == '?') max = 1;
        tfn__regex_step(m);
        if (tfn__regex_accept(m, '+')) tfn__regex_possess(m, at, min, max);
        else tfn__regex_repeat(m, at, min, max, tfn__regex_accept(m, '?'));
    }
}

static void tfn__regex_sequence(tfn__regex_maker *m)
{
    while (m->next >= 0 && m->next != '|' && m->next != ')') {
        const int32_t at = m->count;
        if (--m->budget < 0) tfn__regex_refuse(m, "a shorter expression");
        tfn__regex_atom(m);
        tfn__regex_quantifiers(m, at);
    }
}

/* Read alternatives. "A|B|C" becomes SPLIT (to B), A, JUMP (end), SPLIT (to C), B, JUMP (end), C.
 * Until the end is known, each jump holds the index of the previous one. */
static void tfn__regex_alternatives(tfn__regex_maker *m)
{
    int32_t jump = -1;
    for (;;) {
        const int32_t at = m->count;
        tfn__regex_sequence(m);
        if (!tfn__regex_accept(m, '|')) break;
        tfn__regex_insert(m, at, TFN__REGEX_SPLIT, m->count - at + 2);
        tfn__regex_emit(m, TFN__REGEX_JUMP, jump);
        jump = m->count - 1;
    }
    if (m->wanted) return;
    while (jump >= 0) {
        const int32_t before = m->code[2*jump + 1];
        m->code[2*jump + 1] = m->count - jump;
        jump = before;
    }
}

/* Compile a JSON string into code, which has room for TFN__REGEX_WORDS. Returns the words used, or
 * 0 with *wanted set to the form that is supported instead. */
SHARED int32_t tfn__regex_compile(int32_t *code, tfn__reader pattern, const char **wanted)
{
    int32_t sets[TFN__REGEX_SET_WORDS];
    tfn__regex_maker m;
    TFNORM_MEMSET(&m, 0, sizeof m);
    m.r = pattern;
    m.code = code + 2;
    m.sets = sets;
    m.depth = TFN__REGEX_DEPTH;
    m.budget = TFN__REGEX_BUDGET;
    if (!tfn__accept(&m.r, '"')) tfn__regex_refuse(&m, "a string");
    else m.next = tfn__json_char(&m.r);
    tfn__regex_alternatives(&m);
    if (m.next >= 0) tfn__regex_refuse(&m, "no bracket that closes nothing");
    tfn__regex_emit(&m, TFN__REGEX_MATCH, 0);
    *wanted = m.wanted;
    if (m.wanted) return 0;
    code[0] = m.count;
    code[1] = m.words;
    TFNORM_MEMCPY(code + 2 + 2*m.count, sets, (size_t)m.words * sizeof *sets);
    return 2 + 2*m.count + m.words;
}

TFN__RARE_END

/* -- searching ------------------------------------------------------------------------------- */

/* Read the first character of a text and return its bytes. If bytes are shown as characters, it is
 * the character that shows the first byte. */
SHARED size_t tfn__char_of(const uint8_t *s, size_t n, bool shown, int32_t *c)
{
    if (!shown) return tfn__utf8(s, n, c);
    *c = tfn__shown(s[0]);
    return 1;
}

/* The character that ends at `at`. */
SHARED int32_t tfn__char_before(const uint8_t *s, size_t at, bool shown)
{
    size_t begin = at;
    int32_t c;
    if (!at) return TFN__NO_CHAR;
    begin--;
    if (!shown) for (int i = 0; i < 3; i++) {
        if (!begin || s[begin] >> 6 != 2) break;
        begin--;
    }
    if (begin + tfn__char_of(s + begin, at - begin, shown, &c) != at)
        tfn__char_of(s + at - 1, 1, shown, &c);
    return c;
}

/* Ways through a program in order of preference: the next instruction of each. */
typedef struct tfn__ways {
    int32_t count;
    uint16_t at[TFN__REGEX_INSTRUCTIONS];
    size_t begin[TFN__REGEX_INSTRUCTIONS];      /* where the match began */
} tfn__ways;

typedef struct tfn__regex_run {
    const int32_t *program, *sets;
    int32_t before, next;               /* the characters around the position, or NO_CHAR */
    int32_t category;                   /* of next; -1: not looked up yet */
    size_t  place, n;
    bool    last_line;                  /* only a line end follows */
    tfn__ways now, later;               /* ways at this position and after the next character */
    uint32_t seen[TFN__REGEX_INSTRUCTIONS], round;      /* equal: the instruction is in now */
} tfn__regex_run;

static bool tfn__regex_has(const int32_t *set, int32_t c, int32_t *category)
{
    uint32_t mask;
    bool in;
    if (c >= 0 && c < 128) {
        TFNORM_MEMCPY(&mask, set + (c >> 5), sizeof mask);
        return mask >> (c & 31) & 1;
    }
    TFNORM_MEMCPY(&mask, set + 4, sizeof mask);
    if (*category < 0) *category = tfn__category(c);
    in = (mask >> *category & 1) || tfn__in_ranges(set + TFN__SET_HEAD, set[5] >> 1, c);
    return in != (set[5] & 1);
}

SHARED bool tfn__is_word(int32_t c)
{
    return c >= 0 && tfn__is_of(c, TFN__WORDS);
}

/* Whether a condition on the place holds. */
static bool tfn__holds(tfn__regex_run *x, int32_t op, int32_t value)
{
    const int32_t flags = op >> 8;
    int32_t c = x->next;
    int32_t category = -1;
    if ((op & 255) == TFN__REGEX_LOOK) {
        if (flags & TFN__LOOK_BEHIND) c = x->before;
        return (c != TFN__NO_CHAR && tfn__regex_has(x->sets + value, c, &category))
               != (flags & TFN__LOOK_NOT);
    }
    switch (value) {
    case TFN__EDGE_TEXT_BEGIN: return x->before == TFN__NO_CHAR;
    case TFN__EDGE_TEXT_END:   return x->next == TFN__NO_CHAR;
    case TFN__EDGE_LINE_BEGIN: return x->before == TFN__NO_CHAR || x->before == '\n';
    case TFN__EDGE_LINE_END:   return x->next == TFN__NO_CHAR || x->next == '\n';
    case TFN__EDGE_LAST_LINE:  return x->next == TFN__NO_CHAR || x->last_line;
    case TFN__EDGE_WORD:       return tfn__is_word(x->before) != tfn__is_word(x->next);
    default:                   return tfn__is_word(x->before) == tfn__is_word(x->next);
    }
}

/* Add an instruction to the current ways: itself if it reads a character, else the instructions
 * that it leads to, preferred ones first. Each instruction is added once, by the best way to it. */
static void tfn__add_way(tfn__regex_run *x, int32_t at, size_t begin)
{
    uint16_t waiting[TFN__REGEX_INSTRUCTIONS];
    int32_t count = 1;
    waiting[0] = (uint16_t)at;
    while (count > 0) {
        int32_t op;
        int32_t value;
        at = waiting[--count];
        if (x->seen[at] == x->round) continue;
        x->seen[at] = x->round;
        op = x->program[2*at];
        value = x->program[2*at + 1];
        switch (op & 255) {
        case TFN__REGEX_JUMP:
            waiting[count++] = (uint16_t)(at + value);
            break;
        case TFN__REGEX_SPLIT:
            waiting[count + (op >> 8)] = (uint16_t)(at + value);
            waiting[count + !(op >> 8)] = (uint16_t)(at + 1);
            count += 2;
            break;
        case TFN__REGEX_LOOK:
        case TFN__REGEX_EDGE:
            if (tfn__holds(x, op, value)) waiting[count++] = (uint16_t)(at + 1);
            break;
        default:
            x->now.at[x->now.count] = (uint16_t)at;
            x->now.begin[x->now.count++] = begin;
        }
    }
}

/* Advance all ways by one character. True if a way ended here; then only better ways continue. */
static bool tfn__step_ways(tfn__regex_run *x, size_t *begin)
{
    x->category = -1;
    x->later.count = 0;
    for (int32_t i = 0; i < x->now.count; i++) {
        const int32_t at = x->now.at[i];
        const int32_t op = x->program[2*at];
        const int32_t value = x->program[2*at + 1];
        bool fits = x->next != TFN__NO_CHAR;
        if (op == TFN__REGEX_MATCH) {
            *begin = x->now.begin[i];
            return true;
        }
        if (op == TFN__REGEX_CHAR) fits = x->next == value;
        else if (fits) fits = tfn__regex_has(x->sets + value, x->next, &x->category);
        if (!fits) continue;
        x->later.at[x->later.count] = (uint16_t)(at + 1);
        x->later.begin[x->later.count++] = x->now.begin[i];
    }
    return false;
}

/* Find the first match that starts at `from`, or with `wide` at or after it. *reach: how far the
 * search read. */
static bool tfn__regex_try(tfn__regex_run *x, const uint8_t *s, bool shown, size_t from, bool wide,
                           size_t *begin, size_t *end, size_t *reach)
{
    bool found = false;
    x->before = tfn__char_before(s, from, shown);
    x->later.count = 0;
    for (x->place = from;;) {
        size_t bytes = 0;
        x->next = TFN__NO_CHAR;
        if (x->place < x->n) bytes = tfn__char_of(s + x->place, x->n - x->place, shown, &x->next);
        x->last_line = x->next == '\n' && x->place + 1 == x->n;
        x->round++;
        x->now.count = 0;
        for (int32_t i = 0; i < x->later.count; i++)
            tfn__add_way(x, x->later.at[i], x->later.begin[i]);
        if (!found && (wide || x->place == from)) tfn__add_way(x, 0, x->place);
        if (tfn__step_ways(x, begin)) {
            found = true;
            *end = x->place;
        }
        *reach = x->place;
        if (!bytes || (!x->later.count && (found || !wide))) return found;
        x->before = x->next;
        x->place += bytes;
    }
}

/* Find the first match in the n bytes at s that starts at or after `from`; among matches at one
 * start the preferred one wins. Most expressions match at each position, so positions are tried one
 * by one. After a long attempt in vain, one wide search covers the rest of the text. */
SHARED bool tfn__regex_find(const int32_t *code, const uint8_t *s, size_t n, bool shown,
                            size_t from, size_t *begin, size_t *end)
{
    const size_t in_vain = 64;
    tfn__regex_run x;
    bool wide = false;
    x.program = code + 2;
    x.sets = code + 2 + 2*code[0];
    x.n = n;
    x.round = 0;
    TFNORM_MEMSET(x.seen, 0, (size_t)code[0] * sizeof *x.seen);
    for (;;) {
        size_t reach;
        int32_t c;
        if (tfn__regex_try(&x, s, shown, from, wide, begin, end, &reach)) return true;
        if (wide || from >= n) return false;
        wide = reach - from > in_vain;
        from += tfn__char_of(s + from, n - from, shown, &c);
    }
}
