#include "pieces.h"
#include "../ground/ground.h"
#include "json.h"
#include "unicode.h"
#include "normal_forms.h"

/* The rules by which tokenizers split a text into pieces, and the hash tables that find a piece.
 * Offers both to trainer, vocabulary and the readers of published tokenizers. Builds on unicode
 * and normal_forms. */

/* -- pieces ---------------------------------------------------------------------------------- */

/* GPT-2 cuts a text by this expression, tried from left to right at each place:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * The alternative before the last one leaves the last white space character to the following word,
 * unless the text ends: "a  b" is "a", " ", " b". No merge crosses the end of a piece. */

/* Bytes of the contraction at s, or 0. */
static size_t tfn__contraction(const uint8_t *s, size_t n)
{
    if (n < 2 || s[0] != '\'') return 0;
    if (s[1] == 's' || s[1] == 't' || s[1] == 'm' || s[1] == 'd') return 2;
    if (n < 3) return 0;
    if (s[1] == 'r' && s[2] == 'e') return 3;
    if (s[1] == 'v' && s[2] == 'e') return 3;
    if (s[1] == 'l' && s[2] == 'l') return 3;
    return 0;
}

/* The end of a run of characters of one class from `at` on. *last: where its last character begins;
 * unchanged if the run is empty. */
SHARED size_t tfn__run_of(const uint8_t *s, size_t n, size_t at, int wanted, size_t *last)
{
    while (at < n) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (tfn__class(c) != wanted) break;
        *last = at;
        at += bytes;
    }
    return at;
}

/* Bytes of the first word of n >= 1 bytes, by GPT-2's rules. */
static size_t tfn__word_of(const uint8_t *s, size_t n)
{
    size_t at = tfn__contraction(s, n);
    size_t last = 0;
    int32_t c;
    int kind;
    if (at) return at;
    if (s[0] == ' ' && n > 1) at = 1;           /* " ?", if no white space follows */
    tfn__utf8(s + at, n - at, &c);
    kind = tfn__class(c);
    if (kind != TFN__WHITE) return tfn__run_of(s, n, at, kind, &last);

    at = tfn__run_of(s, n, 0, kind, &last);
    if (at < n && last) return last;            /* \s+(?!\S) of at least two characters */
    return at;
}

/* The same for a text after a space: how many of the n >= 1 bytes at s belong to the piece that
 * begins with that space. 0: none, because white space follows that belongs to another piece. */
SHARED size_t tfn__word_behind_space(const uint8_t *s, size_t n)
{
    size_t last = 0;
    size_t at;
    int32_t c;
    int kind;
    tfn__utf8(s, n, &c);
    kind = tfn__class(c);
    at = tfn__run_of(s, n, 0, kind, &last);
    if (kind == TFN__WHITE && at < n) return last;
    return at;
}

/* Llama 3 (2024), as GPT-4 before it, cuts a text by this expression; Qwen 2 (2024) by the same
 * with \p{N} in place of \p{N}{1,3}:
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *         | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * So a word may follow any one character, not only a space. Marks keep the line ends after them,
 * and white space ends with its last line end, if it has one:
 *
 *     "I'LL (now) pay $12345.\n\n  "
 *     "I", "'LL", " (", "now", ")", " pay", " $", "123", "45", ".\n\n", "  "
 *
 * A long number is cut from its left end, so the value of its parts depends on its length. */

/* Bytes of the contraction at s in lower or upper case, or 0. Ignoring case, U+017F, the long s, is
 * also an s. */
static size_t tfn__contraction_any_case(const uint8_t *s, size_t n)
{
    uint8_t lower[3] = { 0, 0, 0 };
    if (s[0] != '\'') return 0;
    n = (size_t)tfn__min((ptrdiff_t)n, 3);
    for (size_t i = 0; i < n; i++) {
        lower[i] = s[i];
        if (s[i] >= 'A' && s[i] <= 'Z') lower[i] |= 32;
    }
    if (lower[1] == 0xc5 && lower[2] == 0xbf) return 3;
    return tfn__contraction(lower, n);
}

/* The end of up to `most` numbers from `at` on. */
static size_t tfn__numbers(const uint8_t *s, size_t n, size_t at, int most)
{
    for (; at < n && most > 0; most--) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (tfn__class(c) != TFN__NUMBER) break;
        at += bytes;
    }
    return at;
}

/* White space at the start of a text: up to its last line end; without one, as in GPT-2. */
static size_t tfn__lines_of(const uint8_t *s, size_t n)
{
    size_t last = 0;
    const size_t end = tfn__run_of(s, n, 0, TFN__WHITE, &last);
    for (size_t i = end; i > 0; i--)
        if (s[i - 1] == '\n' || s[i - 1] == '\r') return i;
    if (end < n && last) return last;
    return end;
}

/* Bytes of the first word of n >= 1 bytes by Llama 3's rules. Numbers have up to `most` digits. */
static size_t tfn__word_llama3(const uint8_t *s, size_t n, int most)
{
    size_t at = tfn__contraction_any_case(s, n);
    size_t last = 0;
    size_t first;
    size_t end;
    int32_t c;
    int kind;
    if (at) return at;
    first = tfn__utf8(s, n, &c);                /* the end of the first character */
    kind = tfn__class(c);
    if (kind == TFN__LETTER) return tfn__run_of(s, n, first, kind, &last);
    if (kind == TFN__NUMBER) return tfn__numbers(s, n, first, most - 1);
    if (c != '\r' && c != '\n') {
        end = tfn__run_of(s, n, first, TFN__LETTER, &last);
        if (end > first) return end;            /* [^\r\n\p{L}\p{N}]?\p{L}+ */
    }
    if (c == ' ') at = first;
    end = tfn__run_of(s, n, at, TFN__OTHER, &last);
    if (end == at) return tfn__lines_of(s, n);
    for (; end < n; end++)                      /*  ?[^\s\p{L}\p{N}]+[\r\n]* */
        if (s[end] != '\n' && s[end] != '\r') break;
    return end;
}

/* BLOOM (2022) cuts a text by a short expression, and text between two matches is a piece of its
 * own:
 *
 *      ?[^(\s|[.,!?...])]+      the dots stand for the other marks below
 *
 *     "It's 12.5 (or so),  now"
 *     "It's", " 12", ".", "5", " (", "or", " so", "), ", " now"
 *
 * It does not distinguish letters from digits. */
static bool tfn__ends_bloom(int32_t c)
{
    static const int32_t marks[] = {
        '(', ')', '|', '.', ',', '!', '?', 0x2026,
        0x3002, 0xff0c, 0x3001,                     /* full stop and commas of Chinese */
        0x0964, 0x06d4, 0x060c                      /* danda; full stop and comma of Arabic */
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (c == marks[i]) return true;
    return tfn__class(c) == TFN__WHITE;
}

/* Bytes of the match at the start of the n bytes at s, or 0. */
static size_t tfn__match_bloom(const uint8_t *s, size_t n)
{
    const size_t first = s[0] == ' ';
    size_t at = first;
    while (at < n) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (tfn__ends_bloom(c)) break;
        at += bytes;
    }
    if (at == first) return 0;
    return at;
}

/* Bytes of the first match in n >= 1 bytes, or of the text in front of it. */
static size_t tfn__word_bloom(const uint8_t *s, size_t n)
{
    size_t at = tfn__match_bloom(s, n);
    int32_t c;
    if (at) return at;
    while (at < n) {
        at += tfn__utf8(s + at, n - at, &c);
        if (at < n && tfn__match_bloom(s + at, n - at)) break;
    }
    return at;
}

/* BERT: white space, one punctuation mark, or text between these. */
static size_t tfn__word_bert(const uint8_t *s, size_t n)
{
    size_t last = 0;
    int32_t c;
    size_t at = tfn__utf8(s, n, &c);
    if (tfn__class(c) == TFN__WHITE) return tfn__run_of(s, n, 0, TFN__WHITE, &last);
    if (tfn__trait(c) == TFN__PUNCTUATION) return at;
    while (at < n) {
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (tfn__class(c) == TFN__WHITE || tfn__trait(c) == TFN__PUNCTUATION) break;
        at += bytes;
    }
    return at;
}

/* Bytes of the first piece of n >= 1 bytes. */
SHARED size_t tfn__piece_of(tfn_tokenizer_kind kind, tfn_split split, const uint8_t *s, size_t n)
{
    int32_t c;
    if (kind == TFN_TOKENIZER_BYTES) return 1;
    if (kind == TFN_TOKENIZER_CHARACTERS) return tfn__utf8(s, n, &c);
    if (split == TFN_SPLIT_LLAMA3) return tfn__word_llama3(s, n, 3);
    if (split == TFN_SPLIT_QWEN2) return tfn__word_llama3(s, n, 1);
    if (split == TFN_SPLIT_BLOOM) return tfn__word_bloom(s, n);
    if (split == TFN_SPLIT_BERT) return tfn__word_bert(s, n);
    return tfn__word_of(s, n);
}

/* -- hash tables ----------------------------------------------------------------------------- */

/* Hash tables with open addressing and linear probing. The number of slots is a power of two, at
 * least twice the entries. A slot holds the index of its string or pair + 1, or 0. The mask, slots
 * - 1, is in front: slot h is slots[1 + h]. A table has its final size from the start. */

/* Slots for n entries. */
static size_t tfn__slots(size_t n)
{
    size_t slots = 2;
    while (slots / 2 < n) {
        if (slots > SIZE_MAX / 4) break;        /* too large: the arena will refuse it */
        slots *= 2;
    }
    return slots;
}

/* FNV-1a (Fowler, Noll and Vo), 64 bits folded to 32. */
SHARED uint32_t tfn__hash(const uint8_t *s, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

/* splitmix64 over both ids, so that neighbouring ids do not get neighbouring slots. */
SHARED uint32_t tfn__hash_pair(int32_t left, int32_t right)
{
    return (uint32_t)tfn__mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right);
}

/* The slot with the index i of a string, which is text[start[i]] to text[start[i + 1] - 1], or the
 * empty slot where it belongs. */
SHARED int32_t *tfn__string_slot(int32_t *slots, const uint8_t *text, const int32_t *start,
                                 const uint8_t *s, size_t n)
{
    const uint32_t mask = (uint32_t)slots[0];
    uint32_t h = tfn__hash(s, n) & mask;
    for (;; h = (h + 1) & mask) {
        const int32_t i = slots[1 + h] - 1;
        if (i < 0) break;
        if ((size_t)(start[i + 1] - start[i]) == n && tfn__same(text + start[i], s, n)) break;
    }
    return slots + 1 + h;
}

/* An empty table for n entries. */
SHARED int32_t *tfn__take_slots(tfn__arena *a, size_t n, tfn_error *e)
{
    const size_t slots = tfn__slots(n);
    int32_t *s = tfn__take_ids(a, slots + 1, e);
    if (!s || !a->base) return NULL;
    TFNORM_MEMSET(s, 0, (slots + 1) * sizeof *s);
    s[0] = (int32_t)(slots - 1);
    return s;
}

/* -- special tokens -------------------------------------------------------------------------- */

/* Names that mark a special token in any vocabulary. The first row of each kind, in the order of
 * tfn_special, is the name that a trainer gives; then come BERT's and GPT-2's. */
SHARED const tfn__special_name tfn__specials[TFN__SPECIAL_NAMES] = {
    { "<pad>", TFN_SPECIAL_PAD },
    { "<s>", TFN_SPECIAL_BOS },
    { "</s>", TFN_SPECIAL_EOS },
    { "<unk>", TFN_SPECIAL_UNK },
    { "<mask>", TFN_SPECIAL_MASK },
    { "[PAD]", TFN_SPECIAL_PAD },
    { "[CLS]", TFN_SPECIAL_BOS },
    { "[SEP]", TFN_SPECIAL_EOS },
    { "[UNK]", TFN_SPECIAL_UNK },
    { "[MASK]", TFN_SPECIAL_MASK },
    { "<|endoftext|>", TFN_SPECIAL_EOS },
};

/* The row of a name, or -1. There are few rows, and each token of a vocabulary needs one search. */
SHARED int tfn__special_row(const uint8_t *s, size_t n)
{
    for (size_t i = 0; i < TFN__SPECIAL_NAMES; i++) {
        const char *name = tfn__specials[i].name;
        if (tfn__length(name) == n && tfn__same(s, (const uint8_t *)name, n)) return (int)i;
    }
    return -1;
}
