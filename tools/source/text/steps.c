#include "steps.h"
#include "../ground/basics.h"
#include "unicode.h"
#include "normal_forms.h"
#include "pieces.h"

/* Normalizers and pre-tokenizers of tokenizer.json in any order. Builds on regex and vocabulary.
 *
 * Most published files use a few combinations, which tokenizer_json.c expresses by flags and
 * vocabulary.c and pieces.c handle fast. All others become a program in the tokenizer's memory,
 * made by compiling.c. This part offers one normalizing step of such a program, the split of a text
 * at a pattern, and the search texts of added tokens that a normalizer changes. tokenize.c runs the
 * steps. */

/* -- normalizing ----------------------------------------------------------------------------- */

/* Find the text stored at a position of a program. Returns its bytes. */
SHARED size_t tfn__step_text(const int32_t *step, const uint8_t **s)
{
    *s = (const uint8_t *)(const void *)(step + 1);
    return (size_t)step[0];
}

/* Find the first match of a pattern that starts at or after `from`. */
static bool tfn__find_pattern(const int32_t *pattern, const uint8_t *s, size_t n, bool shown,
                              size_t from, size_t *begin, size_t *end)
{
    const uint8_t *text;
    size_t bytes;
    if (pattern[0]) return tfn__regex_find(pattern + 1, s, n, shown, from, begin, end);
    bytes = tfn__step_text(pattern + 1, &text);
    if (!bytes) return false;
    for (; from + bytes <= n; from++) {
        if (s[from] != text[0] || !tfn__same(s + from, text, bytes)) continue;
        *begin = from;
        *end = from + bytes;
        return true;
    }
    return false;
}

/* Find the next match and move past it. An empty match right after another one is skipped. */
static bool tfn__next_match(const int32_t *pattern, const uint8_t *s, size_t n, bool shown,
                            size_t *from, size_t *last, size_t *begin, size_t *end)
{
    for (;;) {
        int32_t c;
        if (!tfn__find_pattern(pattern, s, n, shown, *from, begin, end)) return false;
        if (*begin != *end || *end != *last) {
            *from = *last = *end;
            return true;
        }
        if (*from == n) return false;
        *from += tfn__char_of(s + *from, n - *from, shown, &c);
    }
}

/* Put a text with each match of the step's pattern replaced by the step's text. */
static void tfn__put_replaced(tfn__text *t, const int32_t *step, const uint8_t *s, size_t n)
{
    const int32_t *pattern = step + TFN__STEP_HEAD + 1;
    const uint8_t *text;
    const size_t bytes = tfn__step_text(pattern + step[TFN__STEP_HEAD], &text);
    size_t at = 0;
    size_t from = 0;
    size_t last = SIZE_MAX;
    size_t begin;
    size_t end;
    while (tfn__next_match(pattern, s, n, false, &from, &last, &begin, &end)) {
        tfn__put_bytes(t, s + at, begin - at);
        tfn__put_bytes(t, text, bytes);
        at = end;
    }
    tfn__put_bytes(t, s + at, n - at);
}

/* Put a text without the white space at its start (ends & 1) and at its end (ends & 2). */
static void tfn__put_stripped(tfn__text *t, int32_t ends, const uint8_t *s, size_t n)
{
    size_t begin = 0;
    size_t last = 0;
    size_t end = 0;
    if (ends & 1) begin = tfn__run_of(s, n, 0, TFN__WHITE, &last);
    for (size_t at = begin; at < n;) {
        int32_t c;
        at += tfn__utf8(s + at, n - at, &c);
        if (tfn__class(c) != TFN__WHITE) end = at;
    }
    if (!(ends & 2)) end = n;
    if (end > begin) tfn__put_bytes(t, s + begin, end - begin);
}

/* SentencePiece's rules for control characters: drop most, turn some into spaces. */
static void tfn__put_nmt(tfn__text *t, int32_t c)
{
    static const int32_t spaces[][2] = { { 9, 10 }, { 12, 13 }, { 0x1680, 0x1680 },
        { 0x200b, 0x200f }, { 0x2028, 0x2029 }, { 0x2581, 0x2581 }, { 0xfeff, 0xfeff },
        { 0xfffd, 0xfffd } };
    if ((c >= 1 && c <= 8) || c == 11 || (c >= 14 && c <= 31) || c == 0x7f || c == 0x8f
        || c == 0x9f) return;
    if (tfn__in_pairs(spaces, sizeof spaces / sizeof *spaces, c)) c = ' ';
    tfn__put_code(t, c);
}

/* Apply a step character by character. Invalid bytes stay. */
static void tfn__put_each(tfn__text *t, int32_t kind, const uint8_t *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (c < 0) tfn__put_bytes(t, s + at, 1);
        else if (kind == TFN__STEP_LOWER) tfn__put_small(t, c, TFN_NORMALIZER_LOWERCASE);
        else if (kind == TFN__STEP_CLEAN) tfn__put_nmt(t, c);
        else if (c < 0x300 || !tfn__is_of(c, TFN__MARKS_ALL)) tfn__put_bytes(t, s + at, bytes);
        at += bytes;
    }
}

/* Apply one step. Returns the bytes of the result and stores those that fit. */
SHARED size_t tfn__step_apply(const tfn_tokenizer *k, const int32_t *step, uint8_t *to,
                              size_t room, const uint8_t *s, size_t n)
{
    const int32_t value = step[TFN__STEP_HEAD];
    tfn__text t = tfn__text_in(to, room);
    const uint8_t *text;
    size_t bytes;
    bool same;
    switch (step[0]) {
    case TFN__STEP_FORM: return tfn__put_normal_form(to, room, &same, s, n, value);
    case TFN__STEP_BERT: return tfn__put_bert(to, room, s, n, value);
    case TFN__STEP_MAP:  return tfn__map_text(k, to, room, s, n);
    case TFN__STEP_STRIP:
        tfn__put_stripped(&t, value, s, n);
        break;
    case TFN__STEP_REPLACE:
        tfn__put_replaced(&t, step, s, n);
        break;
    case TFN__STEP_PREPEND:
        bytes = tfn__step_text(step + TFN__STEP_HEAD, &text);
        if (n) tfn__put_bytes(&t, text, bytes);
        tfn__put_bytes(&t, s, n);
        break;
    default: tfn__put_each(&t, step[0], s, n);
    }
    return t.used;
}

/* Returns the most bytes that a text of n bytes may have after the steps from `from` on. */
SHARED size_t tfn__steps_growth(const tfn_tokenizer *k, int32_t from, size_t n)
{
    const int32_t *step = k->code + TFN__CODE_HEAD;
    size_t most = n;
    for (int32_t i = 0; i < k->code[0]; i++, step += step[1]) {
        const uint8_t *text;
        size_t bytes = 12;                      /* U+FDFA, of three bytes, becomes 33 */
        if (i < from) continue;
        if (step[0] == TFN__STEP_MAP) bytes = tfn__longest_replacement(k);
        if (step[0] == TFN__STEP_REPLACE)
            bytes = 1 + tfn__step_text(step + TFN__STEP_HEAD + 1 + step[TFN__STEP_HEAD], &text);
        if (step[0] == TFN__STEP_BERT || step[0] == TFN__STEP_LOWER) bytes = 3;
        if (step[0] == TFN__STEP_BARE || step[0] == TFN__STEP_STRIP) continue;
        if (step[0] == TFN__STEP_PREPEND)
            most = tfn__sum(most, tfn__step_text(step + TFN__STEP_HEAD, &text));
        else most = tfn__mul(most + 1, bytes);
    }
    return most;
}

/* -- added tokens in a normalized text -------------------------------------------------------- */

/* Normalize an added token by all steps. Returns its bytes, or SIZE_MAX if it gets too long. */
static size_t tfn__step_through(const tfn_tokenizer *k, uint8_t *to, const uint8_t *s, size_t n)
{
    const int32_t *step = k->code + TFN__CODE_HEAD;
    uint8_t before[TFN__SHADOW_BYTES];
    if (n > TFN__SHADOW_BYTES) return SIZE_MAX;
    TFNORM_MEMCPY(to, s, n);
    for (int32_t i = 0; i < k->code[0]; i++, step += step[1]) {
        TFNORM_MEMCPY(before, to, n);
        n = tfn__step_apply(k, step, to, TFN__SHADOW_BYTES, before, n);
        if (n > TFN__SHADOW_BYTES) return SIZE_MAX;
    }
    return n;
}

/* The library "tokenizers" searches a normalized text for the normalized form of an added token,
 * which may have a space in front, for example. If that differs from the token, store it after all
 * tokens as its shadow. Returns the token or shadow to search for, or -1 if the form is empty. */
static int32_t tfn__shadow_of(tfn_tokenizer *k, int32_t id)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const int32_t shadow = k->tokens + k->shadows;
    uint8_t *to = k->text + k->start[shadow];
    size_t bytes = 0;
    bool same = true;
    if (!k->normalizer || k->single) return id;         /* SentencePiece keeps them */
    if (k->normalizer & TFN_NORMALIZER_STEPS) bytes = tfn__step_through(k, to, s, n);
    else bytes = tfn__normalize(k, to, TFN__SHADOW_BYTES, &same, s, n, true);
    if (bytes > TFN__SHADOW_BYTES) {
        tfn__fail(&k->error, TFN_TOO_LARGE, "tokenizer",
                  "added token %d has more than %d bytes when it is normalized", id,
                  TFN__SHADOW_BYTES);
        return -1;
    }
    if (bytes == n && tfn__same(to, s, n)) return id;
    if (!bytes) return -1;
    k->shadow[k->shadows++] = id;
    k->start[shadow + 1] = k->start[shadow] + (int32_t)bytes;
    k->flags[shadow] = TFN__LATE;
    return shadow;
}

/* Returns the id of an added token, or of the token that a shadow belongs to. */
SHARED int32_t tfn__added_id(const tfn_tokenizer *k, int32_t found)
{
    if (found >= k->tokens) return k->shadow[found - k->tokens];
    return found;
}

/* Orders added tokens by their bytes, and equal ones by their ids. */
static bool tfn__added_before(const void *x, int32_t i, int32_t j)
{
    const tfn_tokenizer *k = (const tfn_tokenizer *)x;
    if (tfn__token_before(k, i, j)) return true;
    if (tfn__token_before(k, j, i)) return false;
    return tfn__added_id(k, i) < tfn__added_id(k, j);
}

/* Sort the added tokens and collect their first bytes, so that most bytes of a text need one test.
 * If two are the same in a normalized text, the first one wins, as in the library. */
SHARED bool tfn__index_added(tfn_tokenizer *k)
{
    int32_t stay = 0;
    for (int32_t id = 0; id < k->vocab; id++) {
        const int late = (k->flags[id] & TFN__LATE) != 0;
        int32_t found = id;
        if (!(k->flags[id] & TFN__ADDED)) continue;
        if (late) found = tfn__shadow_of(k, id);
        if (found < 0) continue;
        k->added_ids[k->added++] = found;
        tfn__set_byte(k->heads[late], k->text[k->start[found]]);
        if (!(k->flags[id] & TFN__SPECIAL)) k->cuts[late] = true;
    }
    tfn__sort(k->added_ids, k->added, tfn__added_before, k);
    for (int32_t i = 0; i < k->added; i++) {
        const int32_t id = k->added_ids[i];
        if (i && !tfn__token_before(k, k->added_ids[stay - 1], id)) {
            if (id < k->tokens && k->added_ids[stay - 1] < k->tokens)
                tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                          "added token %d is the same as token %d", k->added_ids[stay - 1], id);
            continue;
        }
        k->added_ids[stay++] = id;
    }
    k->added = stay;
    return k->error.status == TFN_OK;
}

/* -- cutting --------------------------------------------------------------------------------- */

SHARED tfn__cutter tfn__cutter_of(const int32_t *step, const uint8_t *s, size_t n, bool shown)
{
    tfn__cutter x;
    TFNORM_MEMSET(&x, 0, sizeof x);
    x.behavior = step[TFN__STEP_HEAD] & ~TFN__CUT_INVERTED;
    x.inverted = (step[TFN__STEP_HEAD] & TFN__CUT_INVERTED) != 0;
    x.pattern = step + TFN__STEP_HEAD + 1;
    x.s = s;
    x.n = n;
    x.shown = shown;
    x.last = SIZE_MAX;
    return x;
}

/* Find the next segment: a match, which may be empty, or the text before one. False at the end. */
static bool tfn__next_segment(tfn__cutter *x, size_t *begin, size_t *end, bool *match)
{
    *begin = x->at;
    *match = !x->inverted;
    if (!x->found && !x->over) {
        x->found = tfn__next_match(x->pattern, x->s, x->n, x->shown, &x->from, &x->last,
                                   &x->begin, &x->end);
        x->over = !x->found;
    }
    if (x->found && x->begin == x->at) {
        x->found = false;
        *end = x->at = x->end;
        return true;
    }
    *match = x->inverted;
    *end = x->n;
    if (x->found) *end = x->begin;
    x->at = *end;
    return *end > *begin;
}

/* True if a segment continues the held piece. */
static bool tfn__joins(const tfn__cutter *x, bool match)
{
    if (x->behavior == TFN__CUT_CONTIGUOUS) return match == x->held_match;
    if (x->behavior == TFN__CUT_WITH_PREVIOUS) return match && !x->held_match;
    return x->behavior == TFN__CUT_WITH_NEXT && !match && x->held_match;
}

/* Find the next piece that is not empty; false at the end. x->held is the piece so far. It is
 * returned when the next segment does not continue it. x->held_match: its last segment matched. */
SHARED bool tfn__cut_next(tfn__cutter *x, size_t *begin, size_t *end)
{
    for (;;) {
        size_t from;
        size_t to;
        bool match;
        const bool more = tfn__next_segment(x, &from, &to, &match);
        if (more && match && x->behavior == TFN__CUT_REMOVED) continue;
        if (more && x->holds && tfn__joins(x, match)) {
            x->held[1] = to;
            x->held_match = match;
            continue;
        }
        *begin = x->held[0];
        *end = x->held[1];
        x->held[0] = from;
        x->held[1] = to;
        x->held_match = match;
        if (x->holds && *end > *begin) {
            x->holds = more;
            return true;
        }
        if (!more) return false;
        x->holds = true;
    }
}
