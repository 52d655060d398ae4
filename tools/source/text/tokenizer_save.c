#include "tokenizer_save.h"
#include "../ground/ground.h"
#include "json.h"
#include "unicode.h"
#include "normal_forms.h"
#include "pieces.h"
#include "vocabulary.h"
#include "merging.h"
#include "tokenizer_json.h"
#include "tokenize.h"

/* Saves tokenizers: as our own blob and as tokenizer.json. Builds on tokenize. */

/* -- saving ---------------------------------------------------------------------------------- */

/* Put a number for tfn__read_number: the highest bit of a byte means that more follow. */
static void tfn__put_number(tfn__text *t, size_t n)
{
    for (; n > 127; n >>= 7) tfn__put_byte(t, n | 128);
    tfn__put_byte(t, n);
}

TFN__RARE

/* Put the rules of tokenizer.json and the marks of tokens, for tfn__blob_marks. In most
 * vocabularies few tokens have marks, so only those are written, each with its id. */
static void tfn__put_marks(tfn__text *t, const tfn_tokenizer *k, int form)
{
    const bool fuse = k->fuse && form > 1;              /* for bytes only in the last form */
    size_t marks = 0;
    int32_t most = TFN__MARKS;
    if (form == 3) most |= TFN__SINGLE_WORD;
    tfn__put_number(t, (size_t)k->split);
    tfn__put_number(t, (size_t)(k->prefix_space * TFN__PREFIX_SPACE
                                + k->whole * TFN__WHOLE_PIECES
                                + (k->normalizer == TFN_NORMALIZER_NFC) * TFN__NORMALIZED
                                + k->fallback * TFN__FALLBACK + fuse * TFN__FUSE
                                + k->scored * TFN__SCORED + k->single * TFN__SINGLE
                                + k->apart * TFN__SET_APART));
    tfn__put_number(t, (size_t)k->begins);
    tfn__put_number(t, (size_t)k->ends);
    if (k->apart) tfn__put_number(t, (size_t)(k->tokens - k->vocab));
    for (int32_t i = 0; i < k->begins + k->ends; i++) tfn__put_number(t, (size_t)k->frame[i]);
    for (int32_t id = 0; id < k->vocab; id++) marks += (k->flags[id] & most) != 0;
    tfn__put_number(t, marks);
    for (int32_t id = 0; id < k->vocab; id++) {
        if (!(k->flags[id] & most)) continue;
        tfn__put_number(t, (size_t)id);
        tfn__put_number(t, (size_t)(k->flags[id] & most));
    }
}

/* Put the steps, for tfn__blob_steps. */
static void tfn__put_steps(tfn__text *t, const tfn_tokenizer *k)
{
    int32_t unknown = k->special[TFN_SPECIAL_UNK];
    tfn__put_number(t, (size_t)k->normalizer);
    tfn__put_number(t, (size_t)k->decoder);
    tfn__put_number(t, (size_t)k->most_chars);
    if (k->kind == TFN_TOKENIZER_BPE) unknown = k->unknown_byte;
    tfn__put_number(t, (size_t)(unknown + 1));
    tfn__put_bytes(t, k->inside, tfn__length(k->inside) + 1);
}

/* Put the scores, for tfn__blob_scores. */
static void tfn__put_scores(tfn__text *t, const tfn_tokenizer *k)
{
    if (k->scored) for (int32_t id = 0; id < k->tokens; id++) {
        uint64_t bits;
        TFNORM_MEMCPY(&bits, &k->score[id], sizeof bits);
        for (int i = 0; i < 8; i++) tfn__put_byte(t, (size_t)(bits >> 8*i & 255));
    }
    tfn__put_number(t, (size_t)k->map_bytes);
    tfn__put_bytes(t, k->map, (size_t)k->map_bytes);
}
TFN__RARE_END

/* True if a byte is a token of its own, neither unknown nor dropped. */
static bool tfn__has_byte_token(const tfn_tokenizer *k, int byte)
{
    const int32_t id = k->byte_id[byte];
    return id >= 0 && id != k->unknown_byte;
}

/* True if only the last form of a blob can express a tokenizer. */
static bool tfn__needs_last_form(const tfn_tokenizer *k)
{
    if (k->rules || *k->suffix || k->decoder >= TFN_DECODER_SPACES) return true;
    for (int32_t id = 0; id < k->vocab; id++)
        if (!tfn__token_bytes(k, id) || k->flags[id] & TFN__SINGLE_WORD) return true;
    if (k->kind == TFN_TOKENIZER_WORDPIECE) return k->whole;
    if (k->kind == TFN_TOKENIZER_BPE) for (int i = 0; i < 256; i++)
        if (!tfn__has_byte_token(k, i)) return true;
    return false;
}

/* The oldest form of a blob that can express a tokenizer. */
static int tfn__blob_form(const tfn_tokenizer *k)
{
    if (!k->marked) return 0;
    if (tfn__needs_last_form(k)) return 3;
    return 1 + (k->kind != TFN_TOKENIZER_BPE);
}

/* The hash at the end covers only the bytes that were stored; a truncated blob is not used. */
TFNORM_API size_t tfn_tokenizer_write(const tfn_tokenizer *k, void *blob, size_t capacity)
{
    tfn__text t = tfn__text_in(blob, capacity);
    uint32_t sum = 0;
    int form;
    if (!tfn__usable(k)) return 0;
    form = tfn__blob_form(k);
    tfn__put_bytes(&t, tfn__magic[form], sizeof *tfn__magic);
    tfn__put_number(&t, (size_t)k->kind);
    tfn__put_number(&t, (size_t)k->tokens);
    tfn__put_number(&t, (size_t)k->merges);
    for (int32_t id = 0; id < k->tokens; id++) {
        const size_t n = tfn__token_bytes(k, id);
        tfn__put_number(&t, 2*n + (k->flags[id] & TFN__RAW));
        tfn__put_bytes(&t, k->text + k->start[id], n);
    }
    for (int32_t i = 0; i < 3 * k->merges; i++) tfn__put_number(&t, (size_t)k->merge[i]);
    if (k->marked) tfn__put_marks(&t, k, form);
    if (form >= 2) tfn__put_steps(&t, k);
    if (form >= 2) tfn__put_scores(&t, k);
    if (form == 3) {
        tfn__put_bytes(&t, k->suffix, tfn__length(k->suffix) + 1);
        tfn__put_number(&t, (size_t)k->rule_bytes);
        tfn__put_bytes(&t, k->rules, (size_t)k->rule_bytes);
    }
    if (t.used <= t.size) sum = tfn__hash((const uint8_t *)t.buf, t.used);
    for (int i = 0; i < TFN__SUM_BYTES; i++) tfn__put_byte(&t, sum >> 8*i);
    return t.used;
}

/* Put a token in JSON: as the characters that show its bytes; a raw token unchanged. */
static void tfn__put_token(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const bool plain = k->flags[id] & TFN__RAW || k->kind > TFN_TOKENIZER_WORDS;
    for (size_t at = 0; at < n;) {
        int32_t c = tfn__shown(s[at]);
        size_t bytes = 1;
        if (plain) bytes = tfn__utf8(s + at, n - at, &c);
        tfn__put_json(t, c);
        at += bytes;
    }
}

TFNORM_API size_t tfn_tokenizer_vocab_text(const tfn_tokenizer *k, char *text, size_t capacity)
{
    tfn__text t = tfn__text_in(text, capacity);
    const char *between = "\"";
    if (!tfn__usable(k)) return 0;
    tfn__put(&t, "{");
    for (int32_t id = 0; id < k->vocab; id++) {
        if (!tfn__token_bytes(k, id)) continue;
        tfn__put(&t, between);
        tfn__put_token(&t, k, id);
        tfn__put_int(&t, "\": ", id, NULL);
        between = ", \"";
    }
    tfn__put(&t, "}");
    return t.used;
}

/* Put a token as in merges.txt: each byte as the character that shows it. */
static void tfn__put_shown(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    for (int32_t at = k->start[id]; at < k->start[id + 1]; at++)
        tfn__put_code(t, tfn__shown(k->text[at]));
}

TFNORM_API size_t tfn_tokenizer_merges_text(const tfn_tokenizer *k, char *text, size_t capacity)
{
    tfn__text t = tfn__text_in(text, capacity);
    if (!tfn__usable(k)) return 0;
    tfn__put(&t, "#version: 0.2\n");
    for (int32_t i = 0; i < k->merges; i++) {
        tfn__put_shown(&t, k, k->merge[3*i]);
        tfn__put(&t, " ");
        tfn__put_shown(&t, k, k->merge[3*i + 1]);
        tfn__put(&t, "\n");
    }
    return t.used;
}

#if TFN__IMPORTS
TFN__RARE
/* -- saving: tokenizer.json ------------------------------------------------------------------ */

/* The functions below write the members that tfn__json_source reads. */

/* Returns how many tokens the vocabulary lists. Added tokens at the end of the ids, which no piece
 * is encoded as, come after the vocabulary, because its strings show bytes and theirs do not. In
 * tokenizers of characters the unknown token is always listed. */
static int32_t tfn__listed(const tfn_tokenizer *k)
{
    const int added = TFN__RAW | TFN__ADDED;
    int32_t least = 0;
    int32_t count = k->vocab;
    if (k->kind >= TFN_TOKENIZER_CHARACTER_BPE) least = k->special[TFN_SPECIAL_UNK] + 1;
    while (count > least) {
        if ((k->flags[count - 1] & added) != added) break;
        count--;
    }
    return count;
}

/* Put a token's text inside a string. Invalid UTF-8 of a token that is not added becomes U+FFFD. */
SHARED void tfn__put_content(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    for (size_t at = 0; at < n;) {
        int32_t c;
        at += tfn__utf8(s + at, n - at, &c);
        if (c < 0) c = 0xfffd;
        tfn__put_json(t, c);
    }
}

/* Put a member: its name, which includes the colon, and true or false. */
static void tfn__put_truth(tfn__text *t, const char *name, bool truth)
{
    const char *value = "false";
    if (truth) value = "true";
    tfn__put_texts(t, name, value, NULL);
}

static void tfn__put_added(tfn__text *t, const tfn_tokenizer *k)
{
    static const struct { char name[20]; int flag; } marks[] = {
        { "\",\"lstrip\":", TFN__STRIP_LEFT }, { ",\"rstrip\":", TFN__STRIP_RIGHT },
        { ",\"normalized\":", TFN__LATE }, { ",\"special\":", TFN__SPECIAL }
    };
    const char *between = "";
    for (int32_t id = 0; id < k->vocab; id++) {
        if (!(k->flags[id] & TFN__ADDED)) continue;
        tfn__put(t, between);
        tfn__put_int(t, "{\"id\":", id, NULL);
        tfn__put_truth(t, ",\"single_word\":", (k->flags[id] & TFN__SINGLE_WORD) != 0);
        tfn__put(t, ",\"content\":\"");
        tfn__put_content(t, k, id);
        for (int i = 0; i < 4; i++)
            tfn__put_truth(t, marks[i].name, (k->flags[id] & marks[i].flag) != 0);
        tfn__put(t, "}");
        between = ",";
    }
}

/* Put one part of a Sequence, after a comma unless it is the first. */
static void tfn__put_part(tfn__text *t, bool *more, const char *part)
{
    if (*more) tfn__put(t, ",");
    tfn__put(t, part);
    *more = true;
}

/* Put base64 for tfn__base64: four characters of six bits for three bytes, with "=" for bytes that
 * the last group lacks. */
static void tfn__put_base64(tfn__text *t, const uint8_t *s, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)s[i] << 16;
        if (i + 1 < n) bits |= (uint32_t)s[i + 1] << 8;
        if (i + 2 < n) bits |= s[i + 2];
        for (size_t j = 0; j < 4; j++) {
            if (i + j > n) tfn__put(t, "=");
            else tfn__put_code(t, tfn__base64_digits[bits >> (18 - 6*j) & 63]);
        }
    }
}

/* True if Metaspace makes marks of spaces, not a normalizer. Only Metaspace adds a mark in front
 * just where there is none, and cuts. */
static bool tfn__has_metaspace(const tfn_tokenizer *k)
{
    return k->normalizer & TFN_NORMALIZER_NEEDED || k->split == TFN_SPLIT_MARKS;
}

/* Put the normalizing steps of characters in their order. The steps of WORDS become
 * WhitespaceSplit and Metaspace. For T5's spiece.model, with marks shown as "_":
 *
 *     Replace     U+FFFD by U+FFFD     for invalid UTF-8
 *     Precompiled                      the table of replacements
 *     Replace     " +" at the start, "[ _]+" at the end, by nothing
 *     Replace     " {2,}" by " "       one space for several
 *     Prepend     "_"
 *     Replace     " " by "_"
 */
static void tfn__put_piece_steps(tfn__text *t, const tfn_tokenizer *k)
{
    const int32_t steps = k->normalizer;
    const bool words = (steps & TFN_NORMALIZER_WORDS) != 0;
    const bool ends = steps & (TFN_NORMALIZER_LEFT | TFN_NORMALIZER_RIGHT) && !words;
    bool more = false;
    tfn__put(t, "{\"type\":\"Sequence\",\"normalizers\":[");
    if (steps & TFN_NORMALIZER_UTF8)
        tfn__put_part(t, &more, "{\"type\":\"Replace\",\"pattern\":{\"String\":\""
                      TFN__REPLACED_BROKEN "\"},\"content\":\"" TFN__REPLACED_BROKEN "\"}");
    if (steps & TFN_NORMALIZER_CHARSMAP) {
        tfn__put_part(t, &more, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
        tfn__put_base64(t, k->map, (size_t)k->map_bytes);
        tfn__put(t, "\"}");
    }
    if (ends && steps & TFN_NORMALIZER_UTF8)
        tfn__put_part(t, &more, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\""
                      TFN__REPLACED_ENDS "\"},\"content\":\"\"}");
    else if (ends) {
        tfn__put_part(t, &more, "{\"type\":\"Strip\"");
        tfn__put_truth(t, ",\"strip_left\":", (steps & TFN_NORMALIZER_LEFT) != 0);
        tfn__put_truth(t, ",\"strip_right\":", (steps & TFN_NORMALIZER_RIGHT) != 0);
        tfn__put(t, "}");
    }
    if (steps & TFN_NORMALIZER_COLLAPSE && !words)
        tfn__put_part(t, &more, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},"
                      "\"content\":\" \"}");
    if (steps & TFN_NORMALIZER_PREFIX && !(steps & TFN_NORMALIZER_NEEDED))
        tfn__put_part(t, &more, "{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"}");
    if (steps & TFN_NORMALIZER_MARKS && !tfn__has_metaspace(k))
        tfn__put_part(t, &more, "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
                      "\"content\":\"\xe2\x96\x81\"}");
    tfn__put(t, "]}");
}

/* Write the pre-tokenizer of characters: null or Metaspace. */
static void tfn__put_metaspace(tfn__text *t, const tfn_tokenizer *k)
{
    static const char first[] = "first";    /* as a plain literal it would share the name of an
                                             * operation: a linker would keep all literals here */
    const bool words = (k->normalizer & TFN_NORMALIZER_WORDS) != 0;
    const char *scheme = "never";
    if (!tfn__has_metaspace(k)) {
        tfn__put(t, "null");
        return;
    }
    if (k->normalizer & TFN_NORMALIZER_NEEDED) scheme = "always";
    if (k->normalizer & TFN_NORMALIZER_FIRST)  scheme = first;
    if (words)
        tfn__put(t, "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},");
    tfn__put_texts(t, "{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\","
                      "\"prepend_scheme\":\"", scheme, "\"");
    tfn__put_truth(t, ",\"split\":", k->split == TFN_SPLIT_MARKS);
    tfn__put(t, "}");
    if (words) tfn__put(t, "]}");
}

/* Put the decoder of characters: marks become spaces, bytes become characters, all are joined, and
 * the space that a normalizer added is removed. */
static void tfn__put_piece_decoder(tfn__text *t, const tfn_tokenizer *k)
{
    if (k->decoder & TFN_DECODER_STRIP_TOKEN)
        tfn__put(t, "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Metaspace\","
                    "\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"always\"}");
    else
        tfn__put(t, "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":"
                    "{\"String\":\"\xe2\x96\x81\"},\"content\":\" \"}");
    if (k->fallback) tfn__put(t, ",{\"type\":\"ByteFallback\"}");
    tfn__put(t, ",{\"type\":\"Fuse\"}");
    if (k->decoder & TFN_DECODER_STRIP) {
        int32_t most = 1;
        if (k->decoder & TFN_DECODER_STRIP_ALL) most = INT32_MAX;
        tfn__put_int(t, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":", most,
                     ",\"stop\":0}");
    }
    tfn__put(t, "]}");
}

/* Write the normalizer as one part. */
static void tfn__put_normalizer(tfn__text *t, const tfn_tokenizer *k)
{
    static const struct { char name[28]; int flag; } steps[] = {
        { ",\"clean_text\":", TFN_NORMALIZER_CLEAN },
        { ",\"handle_chinese_chars\":", TFN_NORMALIZER_CHINESE },
        { ",\"strip_accents\":", TFN_NORMALIZER_ACCENTS },
        { ",\"lowercase\":", TFN_NORMALIZER_LOWERCASE }
    };
    if (k->normalizer == TFN_NORMALIZER_NFC || !k->normalizer) {
        if (k->normalizer) tfn__put(t, "{\"type\":\"NFC\"}");
        else               tfn__put(t, "null");
        return;
    }
    if (k->kind >= TFN_TOKENIZER_CHARACTER_BPE) {
        tfn__put_piece_steps(t, k);
        return;
    }
    tfn__put(t, "{\"type\":\"BertNormalizer\"");
    for (int i = 0; i < 4; i++)
        tfn__put_truth(t, steps[i].name, (k->normalizer & steps[i].flag) != 0);
    tfn__put(t, "}");
}

/* Put a pre-tokenizer of bytes. GPT-2's rules are part of ByteLevel; others are an expression
 * before it. */
SHARED void tfn__put_split(tfn__text *t, tfn_split split, bool prefix_space)
{
    const bool own = split == TFN_SPLIT_GPT2;
    const char *regex = "";
    for (size_t i = TFN__REGEXES; i-- > 0;)
        if (tfn__regexes[i].split == split) regex = tfn__regexes[i].regex;
    if (!own) {
        tfn__put(t, "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
                    "{\"Regex\":\"");
        for (; *regex; regex++) {
            if (*regex == '\\') tfn__put(t, "\\");
            tfn__put_bytes(t, regex, 1);
        }
        tfn__put(t, "\"},\"behavior\":\"Isolated\",\"invert\":false},");
    }
    tfn__put(t, "{\"type\":\"ByteLevel\",\"trim_offsets\":true");
    tfn__put_truth(t, ",\"add_prefix_space\":", prefix_space);
    tfn__put_truth(t, ",\"use_regex\":", own);
    tfn__put(t, "}");
    if (!own) tfn__put(t, "]}");
}

/* Put the pre-tokenizer. */
static void tfn__put_pre_tokenizer(tfn__text *t, const tfn_tokenizer *k)
{
    if (k->kind >= TFN_TOKENIZER_CHARACTER_BPE) tfn__put_metaspace(t, k);
    else if (k->split == TFN_SPLIT_BERT) tfn__put(t, "{\"type\":\"BertPreTokenizer\"}");
    else tfn__put_split(t, k->split, k->prefix_space);
}

/* Put {"SpecialToken":{"id":"<s>","type_id":0}} for each token that begins or ends a text, with a
 * comma between it and the text. */
static void tfn__put_frame(tfn__text *t, const tfn_tokenizer *k, bool ends, int type)
{
    const int32_t first = k->begins * ends;
    const int32_t last = k->begins + k->ends * ends;
    for (int32_t i = first; i < last; i++) {
        if (ends) tfn__put(t, ",");
        tfn__put(t, "{\"SpecialToken\":{\"id\":\"");
        tfn__put_content(t, k, k->frame[i]);
        tfn__put_int(t, "\",\"type_id\":", type, "}}");
        if (!ends) tfn__put(t, ",");
    }
}

/* Put a template for one text, A, or two, A and B, each in its frame. The second text has a start
 * only if the first has no end: [CLS] A [SEP] B [SEP], but <s> A <s> B. */
static void tfn__put_template(tfn__text *t, const tfn_tokenizer *k, const char *texts)
{
    for (int type = 0; texts[type]; type++) {
        if (type) tfn__put(t, ",");
        if (!type || !k->ends) tfn__put_frame(t, k, false, type);
        tfn__put(t, "{\"Sequence\":{\"id\":\"");
        tfn__put_bytes(t, texts + type, 1);
        tfn__put_int(t, "\",\"type_id\":", type, "}}");
        tfn__put_frame(t, k, true, type);
    }
}

/* Write the template around the ids and its tokens, each once. */
static void tfn__put_post_processor(tfn__text *t, const tfn_tokenizer *k)
{
    const char *between = "";
    tfn__put(t, "{\"type\":\"TemplateProcessing\",\"single\":[");
    tfn__put_template(t, k, "A");
    tfn__put(t, "],\"pair\":[");
    tfn__put_template(t, k, "AB");
    tfn__put(t, "],\"special_tokens\":{");
    for (int32_t i = 0; i < k->begins + k->ends; i++) {
        int32_t first = 0;
        while (k->frame[first] != k->frame[i]) first++;
        if (first < i) continue;
        for (int j = 0; j < 3; j++) {
            static const char *const before[] = { "\"", "\":{\"id\":\"", "\",\"tokens\":[\"" };
            if (j == 0) tfn__put(t, between);
            tfn__put(t, before[j]);
            tfn__put_content(t, k, k->frame[i]);
        }
        tfn__put_int(t, "\"],\"ids\":[", k->frame[i], "]}");
        between = ",";
    }
    tfn__put(t, "}}");
}

/* Put m / 10^power, power > 0. */
static void tfn__put_fraction(tfn__text *t, uint64_t m, int power)
{
    uint64_t ten = 1;
    for (int i = 0; i < power; i++) ten *= 10;
    tfn__put_int(t, NULL, (int64_t)(m / ten), ".");
    while (ten > 1) {
        m %= ten;
        ten /= 10;
        tfn__put_int(t, NULL, (int64_t)(m / ten), NULL);
    }
}

/* Put a score below 1e15, with the fewest digits that tfn__json_score reads as the same double. If
 * no such decimal is found, put all digits of the binary fraction. */
static void tfn__put_score(tfn__text *t, double x)
{
    double ten = 1;
    int64_t whole;
    if (x < 0) tfn__put(t, "-");
    if (x < 0) x = -x;
    for (int power = 1; power <= 18; power++) {
        ten *= 10;
        if (x * ten >= 1e18) break;
        for (int i = -16; i <= 16; i++) {
            const double tried = (double)(int64_t)(x*ten + 0.5) + i;
            if (tried < 0 || tried / ten < x || tried / ten > x) continue;
            tfn__put_fraction(t, (uint64_t)tried, power);
            return;
        }
    }
    whole = (int64_t)x;
    x -= (double)whole;
    tfn__put_int(t, NULL, whole, ".");
    for (int i = 0; i < 64; i++) {
        const int64_t digit = (int64_t)(10*x);
        tfn__put_int(t, NULL, digit, NULL);
        x = 10*x - (double)digit;
        if (!(x > 0)) break;
    }
}

/* Unigram: put ["a", -3.5] for each token. SentencePiece's lowest score of all would become the
 * score of unknown text in the library, so tokens that are in no text get at least the lowest score
 * of the others. */
static void tfn__put_scored(tfn__text *t, const tfn_tokenizer *k, int32_t listed)
{
    for (int32_t id = 0; id < listed; id++) {
        double score = k->score[id];
        if (k->single && k->flags[id] & TFN__RAW && score < k->least) score = k->least;
        if (id) tfn__put(t, ",");
        tfn__put(t, "[\"");
        tfn__put_token(t, k, id);
        tfn__put(t, "\",");
        tfn__put_score(t, score);
        tfn__put(t, "]");
    }
}

/* Other kinds: put "a": 17 for each token. */
static void tfn__put_listed(tfn__text *t, const tfn_tokenizer *k, int32_t listed)
{
    const char *between = "\"";
    for (int32_t id = 0; id < listed; id++) {
        if (!tfn__token_bytes(k, id)) continue;             /* a hole */
        tfn__put(t, between);
        tfn__put_token(t, k, id);
        tfn__put_int(t, "\":", id, NULL);
        between = ",\"";
    }
}

/* If scores decide the merges: returns the next position after byte `at` that cuts a token into two
 * tokens, and sets these as halves; or returns 0. */
SHARED size_t tfn__next_halves(const tfn_tokenizer *k, int32_t id, size_t at, int32_t *halves)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    int32_t c;
    if (k->flags[id] & TFN__RAW) return 0;
    for (at += tfn__utf8(s + at, n - at, &c); at < n; at += tfn__utf8(s + at, n - at, &c)) {
        halves[0] = tfn__token_id(k, s, at);
        halves[1] = tfn__token_id(k, s + at, n - at);
        if (halves[0] >= 0 && halves[1] >= 0) return at;
    }
    return 0;
}

/* Put a merge: "a b", or ["a", "b"] if some token contains a space. */
static void tfn__put_merge(tfn__text *t, const tfn_tokenizer *k, const int32_t *halves, bool pair,
                           bool first)
{
    static const char open[2][4] = { "\"", "[\"" };
    static const char middle[2][4] = { " ", "\",\"" };
    static const char close[2][4] = { "\"", "\"]" };
    if (!first) tfn__put(t, ",");
    tfn__put(t, open[pair]);
    tfn__put_token(t, k, halves[0]);
    tfn__put(t, middle[pair]);
    tfn__put_token(t, k, halves[1]);
    tfn__put(t, close[pair]);
}

/* Write the merges, or the merges that scores imply, starting with the best score. */
static void tfn__put_merges(tfn__text *t, const tfn_tokenizer *k)
{
    bool pair = false;
    bool first = true;
    int32_t halves[2];
    for (int32_t id = 0; id < k->vocab; id++) {
        if (k->kind == TFN_TOKENIZER_BPE || k->flags[id] & TFN__RAW) continue;
        for (int32_t at = k->start[id]; at < k->start[id + 1]; at++)
            if (k->text[at] == ' ') pair = true;
    }
    tfn__put(t, ",\"merges\":[");
    if (!k->scored) for (int32_t i = 0; i < k->merges; i++) {
        tfn__put_merge(t, k, k->merge + 3*i, pair, first);
        first = false;
    }
    if (k->scored) for (int32_t i = 0; i < k->vocab; i++) {
        const int32_t id = k->order[i];
        size_t at = tfn__next_halves(k, id, 0, halves);
        for (; at; at = tfn__next_halves(k, id, at, halves)) {
            tfn__put_merge(t, k, halves, pair, first);
            first = false;
        }
    }
    tfn__put(t, "]");
}

/* Write "unk_token"; null if there is none, as in byte-level BPE. */
static void tfn__put_unknown_token(tfn__text *t, const tfn_tokenizer *k)
{
    int32_t id = k->special[TFN_SPECIAL_UNK];
    if (k->kind == TFN_TOKENIZER_BPE) id = k->unknown_byte;
    if (id < 0 && k->kind != TFN_TOKENIZER_WORDPIECE) {
        tfn__put(t, ",\"unk_token\":null");
        return;
    }
    tfn__put(t, ",\"unk_token\":\"");
    if (id >= 0) tfn__put_content(t, k, id);
    tfn__put(t, "\"");
}

/* Put the part of a model before its tokens. */
static void tfn__put_model_head(tfn__text *t, const tfn_tokenizer *k)
{
    const bool bytes = k->kind == TFN_TOKENIZER_BPE;
    if (k->kind == TFN_TOKENIZER_UNIGRAM) {
        const int32_t unknown = k->special[TFN_SPECIAL_UNK];
        if (unknown >= 0) tfn__put_int(t, "{\"type\":\"Unigram\",\"unk_id\":", unknown, NULL);
        else              tfn__put(t, "{\"type\":\"Unigram\",\"unk_id\":null");
        tfn__put_truth(t, ",\"byte_fallback\":", k->fallback);
    } else if (k->kind == TFN_TOKENIZER_WORDPIECE && k->whole) {
        tfn__put(t, "{\"type\":\"WordLevel\"");
        tfn__put_unknown_token(t, k);
    } else if (k->kind == TFN_TOKENIZER_WORDPIECE) {
        tfn__put_texts(t, "{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"", k->inside,
                       "\"");
        tfn__put_unknown_token(t, k);
        tfn__put_int(t, ",\"max_input_chars_per_word\":", k->most_chars, NULL);
    } else {
        tfn__put(t, "{\"type\":\"BPE\",\"dropout\":null");
        tfn__put_unknown_token(t, k);
        tfn__put(t, ",\"continuing_subword_prefix\":");
        if (*k->suffix)  tfn__put_texts(t, "null,\"end_of_word_suffix\":\"", k->suffix, "\"");
        else if (bytes)  tfn__put(t, "\"\",\"end_of_word_suffix\":\"\"");
        else             tfn__put(t, "null,\"end_of_word_suffix\":null");
        tfn__put_truth(t, ",\"fuse_unk\":", k->fuse);
        tfn__put_truth(t, ",\"byte_fallback\":", !bytes && k->fallback);
        tfn__put_truth(t, ",\"ignore_merges\":", k->whole);
    }
}

/* Put the model: its head, tokens, and merges. */
static void tfn__put_model(tfn__text *t, const tfn_tokenizer *k)
{
    const int32_t listed = tfn__listed(k);
    const bool merged = k->kind == TFN_TOKENIZER_BPE || k->kind == TFN_TOKENIZER_CHARACTER_BPE;
    tfn__put_model_head(t, k);
    if (k->kind == TFN_TOKENIZER_UNIGRAM) {
        tfn__put(t, ",\"vocab\":[");
        tfn__put_scored(t, k, listed);
        tfn__put(t, "]");
    } else {
        tfn__put(t, ",\"vocab\":{");
        tfn__put_listed(t, k, listed);
        tfn__put(t, "}");
    }
    if (merged) tfn__put_merges(t, k);
    tfn__put(t, "}");
}

/* -- which tokenizers tokenizer.json can express -- */

/* True if merges can express the scores of SentencePiece's BPE. It merges any two neighbours that
 * make a token, even characters that are not tokens, and of equal scores the first in the text. */
static bool tfn__are_merges(const tfn_tokenizer *k)
{
    int32_t last = -1;
    for (int32_t i = 0; i < k->vocab; i++) {
        const int32_t id = k->order[i];
        const uint8_t *s = k->text + k->start[id];
        const size_t n = tfn__token_bytes(k, id);
        int32_t halves[2];
        size_t bytes = 0;
        if (k->flags[id] & TFN__RAW) continue;
        for (size_t at = 0; at < n; at += bytes) {
            int32_t c;
            bytes = tfn__utf8(s + at, n - at, &c);
            if (tfn__token_id(k, s + at, bytes) >= 0) continue;
            if (tfn__added_at(k, s + at, bytes, 1) < 0) return false;
        }
        if (!tfn__next_halves(k, id, 0, halves)) continue;
        if (last >= 0 && k->rank[id] == k->rank[last]) return false;
        last = id;
    }
    return last >= 0;
}

/* Byte-level BPE: true if the text of a raw token does not read as bytes that are a token. The
 * vocabulary shows bytes as characters, so it can list a raw token only if another character occurs
 * in it, or if it is the same as the bytes that it shows. Texts longer than `few` are refused. */
static bool tfn__is_raw_published(const tfn_tokenizer *k, int32_t id, int32_t listed)
{
    uint8_t few[TFN__SHORT_TEXT];
    const int32_t flags = k->flags[id];
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    size_t bytes = 0;
    for (size_t at = 0; at < n;) {
        int32_t c;
        int32_t byte;
        at += tfn__utf8(s + at, n - at, &c);
        byte = tfn__byte_shown(c);
        if (byte < 0) return true;
        if (bytes == sizeof few) return false;
        few[bytes++] = (uint8_t)byte;
    }
    if (!(flags & TFN__ADDED) || tfn__token_id(k, few, bytes) >= 0) return false;
    if (id >= listed) return true;
    return bytes == n && (flags & TFN__SPECIAL || !(flags & TFN__SINGLE_WORD));
}

/* True if a token means the same to the library: its text identifies it, and the same rules find it
 * in a text or not. `listed` is tfn__listed. */
static bool tfn__is_piece_published(const tfn_tokenizer *k, int32_t id, int32_t listed)
{
    const int32_t flags = k->flags[id];
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const int32_t byte = tfn__byte_token(s, n);
    const bool bpe = k->kind == TFN_TOKENIZER_CHARACTER_BPE;
    if (n >= 6 && k->decoder & TFN_DECODER_STRIP_ALL && tfn__same(s, tfn__mark, 3)
        && tfn__same(s + 3, tfn__mark, 3)) return false;    /* loses 1 mark here, 2 there */
    if (!(flags & TFN__RAW)) return true;
    if (tfn__token_id(k, s, n) >= 0) return false;
    if (!(flags & TFN__ADDED))
        return bpe && byte >= 0 && k->byte_id[byte] == id;
    if (flags & TFN__SPECIAL || id >= listed) return true;
    if (!bpe) return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] == ' ') return false;
    return true;
}

/* True if tokenizer.json can express a BPE of characters or Unigram. Checks the steps of the
 * normalizer, the table, the steps of the decoder, and features of SentencePiece that the library
 * lacks. A tokenizer read from tokenizer.json always passes; one from a blob may have any
 * values. */
static bool tfn__are_pieces_published(const tfn_tokenizer *k)
{
    const int32_t steps = k->normalizer;
    const int32_t own = TFN_NORMALIZER_UTF8 | TFN_NORMALIZER_MARKS;
    const int32_t words = TFN_NORMALIZER_WORDS | TFN_NORMALIZER_LEFT | TFN_NORMALIZER_RIGHT
                          | TFN_NORMALIZER_COLLAPSE | TFN_NORMALIZER_NEEDED;
    const int32_t before[][2] = {               /* the first requires the second */
        { TFN_NORMALIZER_WORDS, words }, { TFN_NORMALIZER_FIRST, TFN_NORMALIZER_NEEDED },
        { TFN_NORMALIZER_NEEDED, TFN_NORMALIZER_PREFIX }
    };
    const bool bpe = k->kind == TFN_TOKENIZER_CHARACTER_BPE;
    if (k->rules) return true;
    if (!tfn__are_piece_steps(steps, k->split) || k->split < TFN_SPLIT_MARKS) return false;
    for (int i = 0; i < 3; i++)
        if (steps & before[i][0] && (steps & before[i][1]) != before[i][1]) return false;
    if (steps & TFN_NORMALIZER_WORDS
        && steps & (TFN_NORMALIZER_FIRST | TFN_NORMALIZER_UTF8)) return false;
    if (steps & TFN_NORMALIZER_UTF8
        && !(steps & TFN_NORMALIZER_LEFT) != !(steps & TFN_NORMALIZER_RIGHT)) return false;
    if (tfn__has_metaspace(k) && !(steps & TFN_NORMALIZER_MARKS)) return false;
    if (!(steps & TFN_NORMALIZER_CHARSMAP) != !k->map) return false;
    if (!(k->decoder & TFN_DECODER_MARKS) || k->decoder & TFN_DECODER_JOIN) return false;
    if (k->decoder & TFN_DECODER_STRIP_ALL && !(k->decoder & TFN_DECODER_STRIP)) return false;
    if (k->apart || k->prefix_space || (!bpe && (!k->fuse || k->whole))) return false;
    if (tfn__keeps_some(k) && (!bpe || steps & ~own)) return false;
    if (!bpe && k->single && (k->fallback || k->least > 0)) return false;
    if (bpe && k->scored && !tfn__are_merges(k)) return false;
    return true;
}

/* True if all tokens satisfy the reader: one that gives no text must be an added token that no
 * piece is encoded as. */
static bool tfn__are_tokens_published(const tfn_tokenizer *k)
{
    const int32_t special = TFN__SPECIAL | TFN__ADDED | TFN__RAW;
    const int32_t listed = tfn__listed(k);
    const bool scores = k->kind == TFN_TOKENIZER_UNIGRAM;
    for (int32_t id = 0; id < k->vocab; id++) {
        const size_t n = tfn__token_bytes(k, id);
        if (scores && !(k->score[id] * k->score[id] < 1e30)) return false;
        if (k->flags[id] & TFN__SPECIAL && (k->flags[id] & special) != special) return false;
        if (k->flags[id] & TFN__ADDED && !tfn__is_utf8(k->text + k->start[id], n)) return false;
        if (n && k->kind > TFN_TOKENIZER_WORDS
            && !tfn__is_piece_published(k, id, listed)) return false;
        if (n && k->kind == TFN_TOKENIZER_BPE && k->flags[id] & TFN__RAW
            && !tfn__is_raw_published(k, id, listed)) return false;
    }
    return true;
}

/* True if everything can be expressed. WordPiece's decoder must join, and its prefix must be a
 * plain string. */
static bool tfn__is_published(const tfn_tokenizer *k)
{
    const bool words = k && k->kind == TFN_TOKENIZER_WORDPIECE;
    if (!tfn__usable(k) || !tfn__are_tokens_published(k)) return false;
    for (const char *s = k->inside; *s; s++)
        if (*s < ' ' || *s == '"' || *s == '\\') return false;
    for (const char *s = k->suffix; *s; s++)
        if (*s < ' ' || *s == '"' || *s == '\\') return false;
    if (k->kind >= TFN_TOKENIZER_CHARACTER_BPE) return tfn__are_pieces_published(k);
    if (k->rules) return true;
    if (words)
        return k->split == TFN_SPLIT_BERT && !k->prefix_space && !k->whole
               && (k->decoder & TFN_DECODER_JOIN) && k->normalizer < TFN_NORMALIZER_NFC;
    if (k->kind != TFN_TOKENIZER_BPE || *k->suffix) return false;
    if (!k->marked && !k->merges) return false;
    if (k->prefix_space && (k->split != TFN_SPLIT_GPT2 || k->whole)) return false;
    if (!k->marked) for (int i = 0; i < 256; i++)
        if (k->byte_id[i] < 0) return false;
    return !k->normalizer || k->normalizer == TFN_NORMALIZER_NFC;
}

/* Put the members that are steps; if the file's own text was kept, put that. */
static void tfn__put_parts(tfn__text *t, const tfn_tokenizer *k)
{
    static const char byte_level[] = "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                                     "\"trim_offsets\":true,\"use_regex\":true}";
    if (k->rules) {                                     /* without their brackets */
        tfn__put(t, ",");
        tfn__put_bytes(t, k->rules + 1, (size_t)k->rule_bytes - 2);
    } else {
        tfn__put(t, ",\"normalizer\":");
        tfn__put_normalizer(t, k);
        tfn__put(t, ",\"pre_tokenizer\":");
        tfn__put_pre_tokenizer(t, k);
    }
    tfn__put(t, ",\"post_processor\":");
    if (k->begins + k->ends)                tfn__put_post_processor(t, k);
    else if (k->kind == TFN_TOKENIZER_BPE)  tfn__put(t, byte_level);
    else                                    tfn__put(t, "null");
    if (k->rules) return;
    tfn__put(t, ",\"decoder\":");
    if (k->kind == TFN_TOKENIZER_BPE) tfn__put(t, byte_level);
    else if (k->kind >= TFN_TOKENIZER_CHARACTER_BPE) tfn__put_piece_decoder(t, k);
    else {
        tfn__put_texts(t, "{\"type\":\"WordPiece\",\"prefix\":\"", k->inside, "\"");
        tfn__put_truth(t, ",\"cleanup\":", (k->decoder & TFN_DECODER_TIDY) != 0);
        tfn__put(t, "}");
    }
}

TFNORM_API size_t tfn_tokenizer_json_text(const tfn_tokenizer *k, char *text, size_t capacity)
{
    tfn__text t = tfn__text_in(text, capacity);
    if (!tfn__is_published(k)) return 0;
    tfn__put(&t, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    tfn__put_added(&t, k);
    tfn__put(&t, "]");
    tfn__put_parts(&t, k);
    tfn__put(&t, ",\"model\":");
    tfn__put_model(&t, k);
    tfn__put(&t, "}\n");
    return t.used;
}
TFN__RARE_END
#endif
