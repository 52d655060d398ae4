#include "vocabulary.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "unicode.h"
#include "normal_forms.h"
#include "pieces.h"

/* The tables of a tokenizer, and functions that fill and search them: added tokens, sorted tokens,
 * replacements. The parts after this one read trainers, blobs and files, and encode texts. Builds
 * on pieces, unicode and normal_forms. */

/* -- making a tokenizer ---------------------------------------------------------------------- */

/* A tokenizer is a few tables in one block:
 *
 *   text, start          the bytes of all tokens one after the other: token id is text[start[id]]
 *                        to text[start[id + 1] - 1]
 *   slots                a hash table of the tokens that text can be encoded as
 *   flags                of each token, see vocabulary.h
 *   byte_id              the token of each byte, -1: none
 *   merge, merge_slots   left, right and the token they give, best first; a hash table of the pairs
 *   added_ids            the tokens at which a text is cut before anything else, sorted
 *   frame                the ids before and after a text
 *
 * One function, the pass of a source, goes through the source twice: without a tokenizer it counts,
 * so that the block can be laid out; with one it stores. So no rule about a source exists twice. */

/* Fail if there was an error where r read. */
SHARED void tfn__check_reader(tfn_error *e, const tfn__reader *r, const char *text)
{
    if (!r->wanted || e->status != TFN_OK) return;
    tfn__fail_name(e, TFN_BAD_FORMAT, "tokenizer", text, r->wanted);
    e->found = (int64_t)r->at;
}

/* Fail unless the source was read to its end without an error. */
SHARED void tfn__end_vocab(tfn_error *e, tfn__reader *r, const char *text)
{
    if (r->at < r->size) tfn__want(r, "its end");
    tfn__check_reader(e, r, text);
}

/* The length of token id in bytes. */
SHARED size_t tfn__token_bytes(const tfn_tokenizer *k, int32_t id)
{
    return (size_t)(k->start[id + 1] - k->start[id]);
}

/* The id of a token that text can be encoded as, or -1. */
SHARED int32_t tfn__token_id(const tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    return *tfn__string_slot(k->slots, k->text, k->start, s, n) - 1;
}

/* Mark special tokens by their names, such as <s> and [CLS]. If several have one name, a text may
 * be cut at the first in the vocabulary. */
static void tfn__mark_names(tfn_tokenizer *k)
{
    bool seen[TFN__SPECIAL_NAMES] = { false };
    for (int32_t id = 0; id < k->vocab; id++) {
        const int row = tfn__special_row(k->text + k->start[id], tfn__token_bytes(k, id));
        if (row < 0) continue;
        k->flags[id] |= TFN__RAW | TFN__SPECIAL;
        if (!seen[row]) k->flags[id] |= TFN__ADDED;
        seen[row] = true;
    }
}

/* If several specials have one purpose, the first in the vocabulary becomes
 * tfn_tokenizer.special. */
static void tfn__find_specials(tfn_tokenizer *k)
{
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++) k->special[i] = -1;
    for (int32_t id = k->vocab; id-- > 0;) {
        const int row = tfn__special_row(k->text + k->start[id], tfn__token_bytes(k, id));
        if (row >= 0 && k->flags[id] & TFN__SPECIAL) k->special[tfn__specials[row].which] = id;
    }
    if (k->begins == 1) k->special[TFN_SPECIAL_BOS] = k->frame[0];
    if (k->ends == 1) k->special[TFN_SPECIAL_EOS] = k->frame[k->begins];
}

/* Fill the table of strings and the ids of bytes, after all tokens are stored. Raw tokens are in no
 * table, so text that reads like one is encoded as other tokens. */
SHARED bool tfn__index_tokens(tfn_tokenizer *k)
{
    if (!k->marked) tfn__mark_names(k);
    tfn__find_specials(k);
    for (int32_t id = 0; id < k->tokens; id++) {
        const uint8_t *s = k->text + k->start[id];
        const size_t n = tfn__token_bytes(k, id);
        int32_t *slot;
        if (k->flags[id] & TFN__RAW) continue;
        slot = tfn__string_slot(k->slots, k->text, k->start, s, n);
        if (*slot || !n)
            tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                      "token %d is empty, or the same as token %d", id, *slot - 1);
        *slot = id + 1;
    }
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        k->byte_id[i] = tfn__token_id(k, &byte, 1);
    }
    return k->error.status == TFN_OK;
}

/* -- tokens in order ------------------------------------------------------------------------- */

/* Order of tokens: by their bytes, a shorter one first. */
SHARED bool tfn__token_before(const void *x, int32_t i, int32_t j)
{
    const tfn_tokenizer *k = (const tfn_tokenizer *)x;
    const uint8_t *a = k->text + k->start[i];
    const uint8_t *b = k->text + k->start[j];
    const size_t na = tfn__token_bytes(k, i);
    const size_t nb = tfn__token_bytes(k, j);
    for (size_t at = 0; at < na; at++) {
        if (at == nb) return false;
        if (a[at] != b[at]) return a[at] < b[at];
    }
    return na < nb;
}

SHARED tfn__search tfn__search_in(const int32_t *ids, int32_t low, int32_t high, size_t at)
{
    tfn__search x;
    x.ids = ids;
    x.low = low;
    x.high = high;
    x.at = at;
    return x;
}

/* The first of the ids from low to high - 1 whose next byte is not below `byte`. */
static int32_t tfn__search_from(const tfn_tokenizer *k, const tfn__search *x, int32_t byte)
{
    const uint8_t *text = k->text + x->at;
    int32_t low = x->low;
    int32_t high = x->high;
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (text[k->start[x->ids[middle]]] < byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Continue a search by a byte; false: no token continues. *id: the token that ends there, -1: none.
 * The first byte of a search through all of k->order uses a table. */
SHARED bool tfn__search_on(const tfn_tokenizer *k, tfn__search *x, uint8_t byte, int32_t *id)
{
    *id = -1;
    if (x->at == 0 && x->ids == k->order) {
        x->low = k->first[byte];
        x->high = k->first[byte + 1];
    } else {
        x->low = tfn__search_from(k, x, byte);
        x->high = tfn__search_from(k, x, byte + 1);
    }
    if (x->low == x->high) return false;
    x->at++;
    if (tfn__token_bytes(k, x->ids[x->low]) == x->at) *id = x->ids[x->low++];
    return true;
}

/* WordPiece and Unigram: sort the tokens of words, and find those that continue a word. A token
 * that consists only of the prefix is not one of them. */
SHARED void tfn__index_order(tfn_tokenizer *k)
{
    tfn__search all, inside;
    int32_t id;
    if (!k->order || k->kind == TFN_TOKENIZER_CHARACTER_BPE) return;     /* ordered by score */
    for (id = 0; id < k->tokens; id++)
        if (!(k->flags[id] & TFN__RAW)) k->order[k->sorted++] = id;
    tfn__sort(k->order, k->sorted, tfn__token_before, k);
    all = tfn__search_in(k->order, 0, k->sorted, 0);
    for (int32_t byte = 0; byte <= 256; byte++) k->first[byte] = tfn__search_from(k, &all, byte);
    inside = all;
    for (const char *c = k->inside; *c; c++)
        if (!tfn__search_on(k, &inside, (uint8_t)*c, &id)) break;
    k->inner[0] = inside.low;
    k->inner[1] = inside.high;
}

/* -- added tokens ---------------------------------------------------------------------------- */

/* A text is cut at added tokens before it is cut into pieces. The earliest token wins, and of those
 * at the same place the longest. Like the library "tokenizers" this takes two rounds, so that the
 * same one of two overlapping tokens wins. The first round looks for tokens in the original text;
 * the second, between those, for tokens in the normalized text ("late"), even if nothing is
 * normalized. A special token that must not be in a text still hides others that overlap it. */

/* The longest added token, late or not, at the start of the n bytes at s; -1: none. */
SHARED int32_t tfn__added_at(const tfn_tokenizer *k, const uint8_t *s, size_t n, int late)
{
    tfn__search x = tfn__search_in(k->added_ids, 0, k->added, 0);
    int32_t found = -1;
    int32_t id;
    while (x.at < n && tfn__search_on(k, &x, s[x.at], &id))
        if (id >= 0 && late == ((k->flags[id] & TFN__LATE) != 0)) found = id;
    return found;
}

/* True if a model of SentencePiece has tokens of its users, which stay unchanged in a text. */
SHARED bool tfn__keeps_some(const tfn_tokenizer *k)
{
    return k->single && k->cuts[1];
}

/* The number of ASCII bytes at the start of s that nothing replaces or keeps. One that is followed
 * by a non-ASCII character does not count, because an accent may change it. */
static size_t tfn__plain_bytes(const tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    const bool keeps = tfn__keeps_some(k);
    for (size_t at = 0; at < n; at++) {
        if (s[at] >= 0x80) return at - (at > 0);
        if (tfn__has_byte(k->mapped, s[at])) return at;
        if (keeps && tfn__has_byte(k->heads[1], s[at])) return at;
    }
    return n;
}

/* True if a character belongs to the one in front of it, like marks and joiners. */
static bool tfn__extends(int32_t c)
{
    static const int32_t more[][2] = { { 0xe33, 0xe33 }, { 0xeb3, 0xeb3 }, { 0x200c, 0x200d },
        { 0xff9e, 0xff9f }, { 0x1f3fb, 0x1f3ff } };
    static const int32_t fewer[][2] = { { 0x102b, 0x102c }, { 0x1038, 0x1038 },
        { 0x1062, 0x1064 }, { 0x1067, 0x106d }, { 0x1083, 0x1083 }, { 0x1087, 0x108c },
        { 0x108f, 0x108f }, { 0x109a, 0x109c }, { 0x1a61, 0x1a61 }, { 0x1a63, 0x1a64 },
        { 0xaa7b, 0xaa7b }, { 0xaa7d, 0xaa7d } };
    if (c < 0x300) return false;
    if (tfn__in_pairs(more, sizeof more / sizeof *more, c)) return true;
    return tfn__is_of(c, TFN__MARKS_ALL) && !tfn__in_pairs(fewer, sizeof fewer / sizeof *fewer, c);
}

/* True if a character joins no other. */
static bool tfn__is_apart(int32_t c)
{
    const uint32_t controls = TFN__BIT(TFN__CC) | TFN__BIT(TFN__CC_WHITE) | TFN__BIT(TFN__CF)
                              | TFN__BIT(TFN__ZL) | TFN__BIT(TFN__ZP);
    if (c >= 32 && c < 127) return false;
    return c != 0x200c && c != 0x200d && tfn__is_of(c, controls);
}

/* Bytes of the first grapheme of n >= 1 bytes (Unicode Standard Annex 29), as far as a table of
 * replacements needs it: syllables of Hangul and flags in parts are longer than any replaced
 * text. */
static size_t tfn__grapheme(const uint8_t *s, size_t n)
{
    static const int32_t before[][2] = { { 0x600, 0x605 }, { 0x6dd, 0x6dd }, { 0x70f, 0x70f },
        { 0x890, 0x891 }, { 0x8e2, 0x8e2 }, { 0xd4e, 0xd4e } };         /* join the next one */
    int32_t c;
    size_t at = tfn__utf8(s, n, &c);
    if (c == '\r' && n > 1 && s[1] == '\n') return 2;
    while (at < n && c >= 0) {
        const bool joins = tfn__in_pairs(before, sizeof before / sizeof *before, c);
        const bool apart = !joins && tfn__is_apart(c);
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (apart || c < 0 || (joins && tfn__is_apart(c)) || (!joins && !tfn__extends(c))) break;
        at += bytes;
    }
    return at;
}

/* Find a replacement like the library "tokenizers": the shortest beginning of a short grapheme that
 * has one, for the whole grapheme; otherwise for a single character. Returns the bytes, 0: none. */
static size_t tfn__match_grapheme(const tfn_tokenizer *k, const uint8_t *s, size_t n, size_t *end,
                                  size_t *value)
{
    int32_t c;
    size_t read;
    size_t bytes = 0;
    if (!*end) bytes = tfn__grapheme(s, n);
    if (bytes && bytes < 6)
        for (size_t i = 1; i <= bytes; i++)
            if (tfn__map_match(k->map + 4, (size_t)k->map_units, s, i, value, &read) == i)
                return bytes;
    if (!*end) *end = bytes;                            /* then its characters one by one */
    bytes = tfn__utf8(s, n, &c);
    if (bytes < *end) *end -= bytes;
    else *end = 0;
    for (size_t i = 1; i <= bytes; i++)
        if (tfn__map_match(k->map + 4, (size_t)k->map_units, s, i, value, &read) == i) return bytes;
    return 0;
}

/* Apply the table of replacements and put spaces in order. A replacement is not replaced again. */
static size_t tfn__put_mapped(const tfn_tokenizer *k, tfn__spacer *p, const uint8_t *s, size_t n)
{
    const size_t trie = 4 + 4*(size_t)k->map_units;
    const bool library = !(p->steps & TFN_NORMALIZER_UTF8);
    size_t end = 0;                             /* bytes left of a grapheme */
    for (size_t at = 0; at < n;) {
        int32_t id = -1;
        int32_t c;
        size_t value = 0;
        size_t read = 0;
        size_t bytes = tfn__plain_bytes(k, s + at, n - at);
        tfn__put_all_spaced(p, s + at, bytes);
        at += bytes;
        if (at == n) break;
        bytes = 0;
        if (tfn__keeps_some(k)) id = tfn__added_at(k, s + at, n - at, 1);
        if (id < 0 && k->map && library)
            bytes = tfn__match_grapheme(k, s + at, n - at, &end, &value);
        else if (id < 0 && k->map)
            bytes = tfn__map_match(k->map + 4, (size_t)k->map_units, s + at, n - at, &value, &read);
        if (bytes && value < (size_t)k->map_bytes - trie) {
            const char *text = (const char *)k->map + trie + value;
            tfn__put_all_spaced(p, (const uint8_t *)text, tfn__length(text));
        } else {
            bytes = tfn__utf8(s + at, n - at, &c);
            if (id >= 0) bytes = tfn__token_bytes(k, id);
            tfn__put_all_spaced(p, s + at, bytes);
        }
        at += bytes;
    }
    return tfn__end_spaced(p);
}

/* Apply only the table of replacements. */
SHARED size_t tfn__map_text(const tfn_tokenizer *k, uint8_t *to, size_t room, const uint8_t *s,
                            size_t n)
{
    tfn__spacer p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.to = tfn__text_in(to, room);
    return tfn__put_mapped(k, &p, s, n);
}

/* Bytes of the longest replacement in the table. */
SHARED size_t tfn__longest_replacement(const tfn_tokenizer *k)
{
    size_t most = 1;
    size_t bytes = 0;
    for (int32_t at = 4 + 4*k->map_units; at < k->map_bytes; at++) {
        bytes++;
        if (!k->map[at]) bytes = 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Normalize the n bytes at s. Returns the bytes and stores those that fit; without room the number
 * may be slightly too large. *same: nothing changed. first: no added token is in front. */
SHARED size_t tfn__normalize(const tfn_tokenizer *k, uint8_t *to, size_t room, bool *same,
                             const uint8_t *s, size_t n, bool first)
{
    tfn__spacer p;
    if (k->normalizer == TFN_NORMALIZER_NFC) {
        return tfn__put_normal_form(to, room, same, s, n, TFN__FORM_COMPOSED);
    }
    *same = false;
    if (k->normalizer < TFN_NORMALIZER_NFC)
        return tfn__put_bert(to, room, s, n, k->normalizer);
    p.to = tfn__text_in(to, room);
    p.steps = k->normalizer;
    p.spaces = p.ink = 0;
    p.begun = false;
    if (p.steps & TFN_NORMALIZER_FIRST && !first) p.steps &= ~TFN_NORMALIZER_PREFIX;
    if (k->map || tfn__keeps_some(k)) return tfn__put_mapped(k, &p, s, n);
    tfn__put_all_spaced(&p, s, n);
    return tfn__end_spaced(&p);
}
