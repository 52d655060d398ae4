#include "compiling.h"
#include "../ground/basics.h"
#include "regex.h"
#include "unicode.h"
#include "published.h"

/* Compiles normalizers and pre-tokenizers of tokenizer.json into programs of steps (steps.h), by
 * one function that counts words first and stores them in a second call. Also holds the readers of
 * parts that tokenizer_json.c shares: BertNormalizer and the known expressions. Builds on steps,
 * regex and json. */
TFN__RARE

/* -- reading parts of tokenizer.json --------------------------------------------------------- */

/* True if a member is true; if it is missing or null, the given default. */
SHARED bool tfn__json_true(tfn__reader value, bool missing)
{
    const int32_t c = tfn__peek(&value);
    if (c < 0 || c == 'n') return missing;
    return c == 't';
}

/* The flags of a BertNormalizer. Without strip_accents, lowercase decides about accents. */
SHARED int32_t tfn__bert_steps(tfn__reader r)
{
    tfn__reader value[4];
    int32_t steps = 0;
    bool lower;
    tfn__json_members(&r, value,
                      "clean_text\"handle_chinese_chars\"strip_accents\"lowercase\"");
    lower = tfn__json_true(value[3], true);
    if (tfn__json_true(value[0], true)) steps += TFN_NORMALIZER_CLEAN;
    if (tfn__json_true(value[1], true)) steps += TFN_NORMALIZER_CHINESE;
    if (tfn__json_true(value[2], lower)) steps += TFN_NORMALIZER_ACCENTS;
    if (lower) steps += TFN_NORMALIZER_LOWERCASE;
    return steps;
}

/* The expressions that a Split may have, as their authors write them. tfn__word_of,
 * tfn__word_llama3 and tfn__word_bloom implement them. */
SHARED const tfn__regex tfn__regexes[TFN__REGEXES] = {
    { TFN_SPLIT_GPT2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                      "|\\s+(?!\\S)|\\s+" },
    { TFN_SPLIT_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                      "|\\s+(?!\\S)|\\s+" },
    { TFN_SPLIT_LLAMA3, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                        "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" },
    { TFN_SPLIT_LLAMA3, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}"
                        "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+" },
    { TFN_SPLIT_QWEN2, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                       "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" },
    { TFN_SPLIT_BLOOM, " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81"
                       "\xe0\xa5\xa4\xdb\x94\xd8\x8c])]+" }
};

/* True if a JSON string is one of them; *split: its rules. */
SHARED bool tfn__known_regex(tfn__reader regex, tfn_split *split)
{
    char found[192];                            /* longer than any known expression */
    tfn__json_string(&regex, found, sizeof found);
    for (size_t i = 0; i < TFN__REGEXES; i++) {
        if (!tfn__equal(found, tfn__regexes[i].regex)) continue;
        *split = tfn__regexes[i].split;
        return true;
    }
    return false;
}

/* -- compiling ------------------------------------------------------------------------------- */

static void tfn__put_word(tfn__steps *x, int32_t word)
{
    if (x->to) x->to[x->used] = word;
    x->used++;
}
static void tfn__put_words(tfn__steps *x, const int32_t *words, int32_t count)
{
    for (int32_t i = 0; i < count; i++) tfn__put_word(x, words[i]);
}

/* Put a text: its bytes, then the text, four bytes a word. */
static void tfn__put_text_words(tfn__steps *x, tfn__reader string)
{
    const int32_t head = x->used++;
    uint8_t byte[4] = { 0, 0, 0, 0 };
    int32_t bytes = 0;
    int32_t word;
    if (tfn__accept(&string, '"')) for (;;) {
        uint8_t code[4];
        size_t n;
        const int32_t c = tfn__json_char(&string);
        if (c < 0) break;
        n = tfn__put_utf8(code, c);
        for (size_t i = 0; i < n; i++) {
            byte[bytes++ & 3] = code[i];
            if (bytes & 3) continue;
            TFNORM_MEMCPY(&word, byte, sizeof word);
            tfn__put_word(x, word);
        }
    }
    TFNORM_MEMCPY(&word, byte, sizeof word);
    if (bytes & 3) tfn__put_word(x, word);
    if (x->to) x->to[head] = bytes;
}

/* Start a step. Returns its position for tfn__end_step, which stores its length. */
static int32_t tfn__begin_step(tfn__steps *x, int32_t kind)
{
    if (++x->count > TFN__MOST_STEPS)
        tfn__fail(x->e, TFN_TOO_LARGE, "tokenizer",
                  "more than %d steps of a normalizer or pre_tokenizer", TFN__MOST_STEPS, 0);
    tfn__put_word(x, kind);
    x->used++;
    return x->used - TFN__STEP_HEAD;
}
static void tfn__end_step(tfn__steps *x, int32_t begin)
{
    if (x->to) x->to[begin + 1] = x->used - begin;
}
static void tfn__put_step(tfn__steps *x, int32_t kind, int32_t value)
{
    const int32_t begin = tfn__begin_step(x, kind);
    tfn__put_word(x, value);
    tfn__end_step(x, begin);
}

/* Refuse an expression: show its start and the form that is supported instead. */
static void tfn__refuse_regex(tfn_error *e, tfn__reader regex, const char *wanted)
{
    char said[sizeof e->name];
    tfn__text t = tfn__text_in(said, sizeof said);
    tfn__put(&t, wanted);
    tfn__put(&t, " is expected in ");
    if (tfn__accept(&regex, '"')) for (int i = 0; i < 60; i++) {
        const int32_t c = tfn__json_char(&regex);
        if (c < 0) break;
        tfn__put_code(&t, c);
    }
    tfn__end(&t);
    tfn__fail_name(e, TFN_UNSUPPORTED, "tokenizer", "a regular expression is not supported: %s",
                   said);
}

/* Put a pattern: 0 and a text, or 1 and a program. */
static void tfn__put_regex(tfn__steps *x, tfn__reader regex)
{
    int32_t code[TFN__REGEX_WORDS];
    const char *wanted = NULL;
    const int32_t words = tfn__regex_compile(code, regex, &wanted);
    tfn__put_word(x, 1);
    tfn__put_words(x, code, words);
    if (!words) tfn__refuse_regex(x->e, regex, wanted);
}
static void tfn__put_pattern(tfn__steps *x, tfn__reader pattern)
{
    tfn__reader value[2];
    tfn__json_members(&pattern, value, "String\"Regex\"");
    if (value[1].s) tfn__put_regex(x, value[1]);
    else {
        if (!value[0].s || x->shown) tfn__refuse(x->e, "pattern %s is not supported here", pattern);
        tfn__put_word(x, 0);
        tfn__put_text_words(x, value[0]);
    }
}

typedef void tfn__step_fn(tfn__steps *x, tfn__reader part);

/* True if a value is a Sequence. `names` are those of its type and of its list; *parts becomes the
 * list. */
SHARED bool tfn__json_sequence(tfn__reader r, const char *names, tfn__reader *parts)
{
    tfn__reader value[2];
    tfn__json_members(&r, value, names);
    *parts = value[1];
    return tfn__json_says(value[0], "Sequence\"");
}

/* Apply `step` to a part, or to each part of a Sequence, which may contain another Sequence. */
static void tfn__each_step(tfn__steps *x, tfn__reader r, const char *names, tfn__step_fn *step,
                           int depth)
{
    tfn__reader parts;
    if (tfn__json_empty(r)) return;
    if (!tfn__json_sequence(r, names, &parts)) {
        step(x, r);
        return;
    }
    if (depth == 0) tfn__refuse(x->e, "a Sequence this deep in others is not supported", r);
    if (x->e->status != TFN_OK) return;
    for (bool more = tfn__json_open(&parts, '[', ']'); more;
         more = tfn__json_more(&parts, ']')) {
        tfn__each_step(x, parts, names, step, depth - 1);
        tfn__json_skip(&parts, TFN__JSON_DEPTH);
    }
}

/* -- normalizers -- */

static void tfn__normalizer_step(tfn__steps *x, tfn__reader part)
{
    static const char forms[4][8] = { "NFD\"", "NFC\"", "NFKD\"", "NFKC\"" };
    const tfn__reader whole = part;
    tfn__reader value[7];
    int32_t begin;
    int32_t ends = 0;
    if (x->shown)
        tfn__refuse(x->e, "normalizer %s after ByteLevel is not supported", part);
    tfn__json_members(&part, value, "type\"pattern\"content\"strip_left\"strip_right\"prepend\""
                      "precompiled_charsmap\"");
    for (int32_t i = 0; i < 4; i++)
        if (tfn__json_says(value[0], forms[i])) {
            tfn__put_step(x, TFN__STEP_FORM, i);
            return;
        }
    if (tfn__json_says(value[0], "BertNormalizer\""))
        tfn__put_step(x, TFN__STEP_BERT, tfn__bert_steps(whole));
    else if (tfn__json_says(value[0], "Lowercase\"")) tfn__put_step(x, TFN__STEP_LOWER, 0);
    else if (tfn__json_says(value[0], "StripAccents\"")) tfn__put_step(x, TFN__STEP_BARE, 0);
    else if (tfn__json_says(value[0], "Nmt\"")) tfn__put_step(x, TFN__STEP_CLEAN, 0);
    else if (tfn__json_says(value[0], "Strip\"")) {
        ends += tfn__json_true(value[3], false);
        ends += 2*tfn__json_true(value[4], false);
        tfn__put_step(x, TFN__STEP_STRIP, ends);
    } else if (tfn__json_says(value[0], "Prepend\"")) {
        begin = tfn__begin_step(x, TFN__STEP_PREPEND);
        tfn__put_text_words(x, value[5]);
        tfn__end_step(x, begin);
    } else if (tfn__json_says(value[0], "Replace\"")) {
        begin = tfn__begin_step(x, TFN__STEP_REPLACE);
        x->used++;
        tfn__put_pattern(x, value[1]);
        if (x->to) x->to[begin + TFN__STEP_HEAD] = x->used - begin - TFN__STEP_HEAD - 1;
        tfn__put_text_words(x, value[2]);
        tfn__end_step(x, begin);
    } else if (tfn__json_says(value[0], "ByteLevel\"")) x->shown = true;
    else if (tfn__json_says(value[0], "Precompiled\"") && value[6].s && !x->charsmap.s) {
        x->charsmap = value[6];
        if (!tfn__json_empty(value[6])) tfn__put_step(x, TFN__STEP_MAP, 0);
    } else tfn__refuse(x->e, "normalizer %s with these values is not supported", value[0]);
}

/* -- pre-tokenizers -- */

/* A pattern of the library, as a JSON string without its first quote. */
static tfn__reader tfn__own_pattern(const char *pattern)
{
    return tfn__read_from(pattern, tfn__length(pattern));
}

static void tfn__put_cut(tfn__steps *x, int32_t behavior, const char *pattern)
{
    const int32_t begin = tfn__begin_step(x, TFN__STEP_CUT);
    tfn__put_word(x, behavior);
    tfn__put_regex(x, tfn__own_pattern(pattern));
    tfn__end_step(x, begin);
}

static int32_t tfn__behavior_of(tfn__steps *x, tfn__reader value, int32_t missing)
{
    static const char names[5][20] = { "Removed\"", "Isolated\"", "Contiguous\"",
                                       "MergedWithPrevious\"", "MergedWithNext\"" };
    if (!value.s) return missing;
    for (int32_t i = 0; i < 5; i++)
        if (tfn__json_says(value, names[i])) return i;
    tfn__refuse(x->e, "behavior %s is not supported", value);
    return missing;
}

/* True if a Split has a known expression, which pieces.c handles faster. */
static bool tfn__is_known_split(const tfn__steps *x, tfn__reader pattern, int32_t behavior,
                                tfn_split *split)
{
    tfn__reader regex;
    tfn__json_members(&pattern, &regex, "Regex\"");
    if (!regex.s || x->shown) return false;
    if (behavior != TFN__CUT_ISOLATED && behavior != TFN__CUT_REMOVED + TFN__CUT_INVERTED)
        return false;
    return tfn__known_regex(regex, split)
           && (*split != TFN_SPLIT_BLOOM || behavior == TFN__CUT_ISOLATED);
}

static void tfn__split_step(tfn__steps *x, const tfn__reader *value)
{
    int32_t behavior = tfn__behavior_of(x, value[2], TFN__CUT_REMOVED);
    tfn_split split;
    int32_t begin;
    if (tfn__json_true(value[3], false)) behavior += TFN__CUT_INVERTED;
    if (tfn__is_known_split(x, value[1], behavior, &split)) {
        tfn__put_step(x, TFN__STEP_WORDS, (int32_t)split);
        return;
    }
    begin = tfn__begin_step(x, TFN__STEP_CUT);
    tfn__put_word(x, behavior);
    tfn__put_pattern(x, value[1]);
    tfn__end_step(x, begin);
}

static void tfn__metaspace_step(tfn__steps *x, tfn__reader part)
{
    tfn__reader value[5];
    int32_t flags = 1;
    int32_t begin;
    tfn__json_members(&part, value,
                      "replacement\"prepend_scheme\"add_prefix_space\"split\"str_rep\"");
    if (tfn__json_says(value[1], "first\"")) flags = 2;
    else if (tfn__json_says(value[1], "never\"")
             || (!value[1].s && !tfn__json_true(value[2], true))) flags = 0;
    if (tfn__json_true(value[3], true)) flags += 4;
    begin = tfn__begin_step(x, TFN__STEP_MARKS);
    tfn__put_word(x, flags);
    tfn__put_text_words(x, value[0]);
    tfn__end_step(x, begin);
}

static void tfn__byte_level_step(tfn__steps *x, const tfn__reader *value)
{
    int32_t flags = tfn__json_true(value[5], false);
    if (tfn__json_true(value[4], true)) flags += 2;
    if (x->shown) {                             /* showing bytes twice would give other text */
        tfn__refuse(x->e, "pre_tokenizer %s after another is not supported", value[0]);
        return;
    }
    x->shown = true;
    x->prefix = flags & 1;
    tfn__put_step(x, TFN__STEP_BYTES, flags);
}

static void tfn__pre_tokenizer_step(tfn__steps *x, tfn__reader part)
{
    static const char punctuation[] = "\"[\\\\p{P}!-/:-@\\\\[-`{-~]\"";
    const tfn__reader whole = part;
    tfn__reader value[8];
    tfn__json_members(&part, value, "type\"pattern\"behavior\"invert\"use_regex\""
                      "add_prefix_space\"individual_digits\"delimiter\"");
    if (x->prefix)
        tfn__refuse(x->e, "pre_tokenizer %s after add_prefix_space is not supported", value[0]);
    if (tfn__json_says(value[0], "Split\"")) tfn__split_step(x, value);
    else if (tfn__json_says(value[0], "ByteLevel\"")) tfn__byte_level_step(x, value);
    else if (tfn__json_says(value[0], "Metaspace\"") && !x->shown) tfn__metaspace_step(x, whole);
    else if (tfn__json_says(value[0], "Digits\"")) {
        const int32_t behavior = TFN__CUT_CONTIGUOUS - tfn__json_true(value[6], false);
        tfn__put_cut(x, behavior, "\"\\\\p{N}\"");
    } else if (tfn__json_says(value[0], "Punctuation\""))
        tfn__put_cut(x, tfn__behavior_of(x, value[2], TFN__CUT_ISOLATED), punctuation);
    else if (tfn__json_says(value[0], "Whitespace\""))
        tfn__put_cut(x, TFN__CUT_REMOVED + TFN__CUT_INVERTED,
                     "\"[\\\\w\\\\x{200C}\\\\x{200D}]+|[^\\\\w\\\\x{200C}\\\\x{200D}\\\\s]+\"");
    else if (tfn__json_says(value[0], "WhitespaceSplit\""))
        tfn__put_cut(x, TFN__CUT_REMOVED, "\"\\\\s\"");
    else if (tfn__json_says(value[0], "BertPreTokenizer\"")) {
        tfn__put_cut(x, TFN__CUT_REMOVED, "\"\\\\s\"");
        tfn__put_cut(x, TFN__CUT_ISOLATED, punctuation);
    } else if (tfn__json_says(value[0], "CharDelimiterSplit\"") && !x->shown) {
        const int32_t begin = tfn__begin_step(x, TFN__STEP_CUT);
        tfn__put_word(x, TFN__CUT_REMOVED);
        tfn__put_word(x, 0);
        tfn__put_text_words(x, value[7]);
        tfn__end_step(x, begin);
    } else tfn__refuse(x->e, "pre_tokenizer %s is not supported here", value[0]);
}

/* Compile both into `to` (NULL: only count). Returns the number of words. */
SHARED int32_t tfn__steps_compile(tfn_error *e, tfn__steps *x, int32_t *to, tfn__reader normalizer,
                                  tfn__reader cutter)
{
    TFNORM_MEMSET(x, 0, sizeof *x);
    x->e = e;
    x->to = to;
    for (int i = 0; i < TFN__CODE_HEAD; i++) tfn__put_word(x, 0);
    tfn__each_step(x, normalizer, "type\"normalizers\"", tfn__normalizer_step, 4);
    x->normalizes = x->count > 0;
    if (to) to[0] = x->count;
    if (to) to[2] = x->shown;
    x->count = 0;
    tfn__each_step(x, cutter, "type\"pretokenizers\"", tfn__pre_tokenizer_step, 4);
    if (to) to[1] = x->count;
    return x->used;
}

/* The JSON text of the compiled members, which a blob keeps and tokenizer.json repeats. */
SHARED size_t tfn__rules_text(const tfn__vocab *v, char *text, size_t room)
{
    static const char *const names[3] = { "{\"normalizer\":", ",\"pre_tokenizer\":",
                                          ",\"decoder\":" };
    tfn__text t = tfn__text_in(text, room);
    for (int i = 0; i < 3; i++) {
        tfn__reader r = v->rules[i];
        tfn__put(&t, names[i]);
        if (!r.s) tfn__put(&t, "null");
        else {
            tfn__json_skip(&r, TFN__JSON_DEPTH);
            tfn__put_bytes(&t, r.s + v->rules[i].at, r.at - v->rules[i].at);
        }
    }
    tfn__put(&t, "}");
    return t.used;
}
TFN__RARE_END
