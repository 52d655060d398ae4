#include "tokenizer_json.h"
#include "../ground/basics.h"
#include "json.h"
#include "unicode.h"
#include "normal_forms.h"
#include "merging.h"
#include "published.h"

/* Reads tokenizer.json, the format of the Rust library `tokenizers`. Builds on published and
 * compiling. */

/* -- from tokenizer.json --------------------------------------------------------------------- */

/* The file of the library "tokenizers" (Hugging Face) is one object. The members are the stages
 * of encoding, here those of GPT-2:
 *
 *     "added_tokens"     [{ "id": 50256, "content": "<|endoftext|>", "special": true, ... }]
 *                        cut the text first
 *     "normalizer"       null: replaces no characters
 *     "pre_tokenizer"    { "type": "ByteLevel", "add_prefix_space": false, "use_regex": true }
 *                        cuts the rest into pieces, and shows their bytes as characters
 *     "model"            { "type": "BPE", "vocab": { "!": 0, ... }, "merges": ["\u0120 t", ...] }
 *     "post_processor"   { "type": "ByteLevel" }, or the special tokens around the ids
 *
 * Supported are these parts of byte-level BPE, of WordPiece:
 *
 *     "normalizer"       { "type": "BertNormalizer", "lowercase": true, ... }
 *     "pre_tokenizer"    { "type": "BertPreTokenizer" }
 *     "model"            { "type": "WordPiece", "vocab": { "[PAD]": 0, ... } }
 *     "decoder"          { "type": "WordPiece", "prefix": "##" }
 *
 * and of SentencePiece's models, such as Llama 2's and T5's, whose tokens contain U+2581, a low
 * line, for a space:
 *
 *     "normalizer"       { "type": "Replace", "pattern": { "String": " " }, "content": U+2581 },
 *                        Prepend, Precompiled (their table, in base64), Strip, in a Sequence
 *     "pre_tokenizer"    { "type": "Metaspace", "replacement": U+2581, "prepend_scheme": "first" }
 *     "model"            { "type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ...] }, or BPE
 *                        whose merges are of characters, with "byte_fallback" or without
 *     "decoder"          Metaspace, or Replace, ByteFallback, Fuse and Strip in a Sequence
 *
 * Any other value of a member that matters is refused. A first pass finds the members; then the
 * vocabulary is read like vocab.json. */
TFN__RARE

/* The bytes of one character of a merge: the byte that it shows, or plain UTF-8. 0: not a byte. */
static size_t tfn__merge_bytes(uint8_t to[4], int32_t c, bool plain)
{
    if (plain) return tfn__put_utf8(to, c);
    c = tfn__byte_shown(c);
    if (c < 0) return 0;
    to[0] = (uint8_t)c;
    return 1;
}

/* Read a merge, "A B" or since 2024 ["A", "B"], into `to`. No token has a space, so the first form
 * has exactly one. */
static bool tfn__json_merge(tfn__reader *r, tfn_tokenizer *k, size_t i, uint8_t *to, size_t room,
                            bool plain)
{
    const bool pair = tfn__json_mark(r, '[');
    bool second = false;
    bool known = true;
    size_t used = 0;
    size_t left = 0;
    tfn__json_want(r, '"', "a merge");
    for (;;) {
        uint8_t code[4];
        size_t bytes;
        const int32_t c = tfn__json_char(r);
        if (c < 0 && (!pair || second)) break;
        if (!second && (c < 0 || (c == ' ' && !pair))) {
            second = true;
            left = used;
            if (pair) tfn__json_want(r, ',', ",");
            if (pair) tfn__json_want(r, '"', "a merge");
            continue;
        }
        bytes = tfn__merge_bytes(code, c, plain);
        if (!bytes || bytes > room - used) known = false;
        else if (k) {
            TFNORM_MEMCPY(to + used, code, bytes);
            used += bytes;
        }
    }
    if (pair) tfn__json_want(r, ']', "]");
    if (!k) return true;
    return known && tfn__find_merge(k, i, to, left, used);
}

/* Read all merges, the best first. Without k they are only counted. */
SHARED void tfn__merge_list_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer)
{
    tfn__reader r = v->merge_list;
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']')) {
        if (!tfn__json_merge(&r, k, v->merges, buffer, v->longest, v->plain))
            tfn__fail_merge(e, v->merges);
        v->merges++;
    }
    tfn__check_reader(e, &r, "the merges are wrong at byte %d: %s is expected");
}

/* Reads one part of a member. A member is a single part or a Sequence, whose list is the second of
 * the names after "type". */
typedef void tfn__part_fn(tfn_error *e, tfn__vocab *v, tfn__reader part);

static void tfn__each_part(tfn_error *e, tfn__vocab *v, tfn__reader r, const char *names,
                           tfn__part_fn *part)
{
    tfn__reader parts;
    if (tfn__json_empty(r)) return;
    if (!tfn__json_sequence(r, names, &parts)) {
        part(e, v, r);
        return;
    }
    for (bool more = tfn__json_open(&parts, '[', ']'); more;
         more = tfn__json_more(&parts, ']')) {
        part(e, v, parts);
        tfn__json_skip(&parts, TFN__JSON_DEPTH);
    }
}

/* True if a value is exactly U+2581. */
static bool tfn__is_mark(tfn__reader value)
{
    return tfn__json_says(value, "\xe2\x96\x81\"");
}

/* Notes that flags cannot express a part; then all parts are compiled to steps, and no caller sees
 * this error. */
static void tfn__needs_steps(tfn_error *e)
{
    tfn__fail(e, TFN_UNSUPPORTED, "tokenizer", "steps are needed", 0, 0);
}

/* Replace: a space by a mark, several spaces by one, or one of the rules above. 0: anything
 * else. */
static int32_t tfn__replace_steps(tfn__reader pattern, tfn__reader content, bool broken)
{
    tfn__reader value[2];
    tfn__json_members(&pattern, value, "String\"Regex\"");
    if (tfn__json_says(value[0], " \"") && tfn__is_mark(content)) return TFN_NORMALIZER_MARKS;
    if (tfn__json_says(value[0], TFN__REPLACED_BROKEN "\"")
        && tfn__json_says(content, TFN__REPLACED_BROKEN "\"")) return TFN_NORMALIZER_UTF8;
    if (broken && tfn__json_says(value[1], TFN__REPLACED_ENDS "\"")
        && tfn__json_says(content, "\"")) return TFN_NORMALIZER_LEFT + TFN_NORMALIZER_RIGHT;
    if (!tfn__json_says(value[1], " {2,}\"")) return 0;
    if (!tfn__is_mark(content) && !tfn__json_says(content, " \"")) return 0;
    return TFN_NORMALIZER_COLLAPSE;
}

/* SentencePiece's steps. The table of replacements is base64, which is decoded later. */
static int32_t tfn__piece_steps(tfn__vocab *v, tfn__reader r)
{
    tfn__reader value[7];
    int32_t steps = 0;
    tfn__json_members(&r, value, "type\"prepend\"pattern\"content\"strip_left\"strip_right\""
                      "precompiled_charsmap\"");
    if (tfn__json_says(value[0], "Prepend\"") && tfn__is_mark(value[1]))
        return TFN_NORMALIZER_PREFIX;
    if (tfn__json_says(value[0], "Replace\""))
        return tfn__replace_steps(value[2], value[3], (v->normalizer & TFN_NORMALIZER_UTF8) != 0);
    if (tfn__json_says(value[0], "Strip\"")) {
        if (tfn__json_true(value[4], false)) steps += TFN_NORMALIZER_LEFT;
        if (tfn__json_true(value[5], false)) steps += TFN_NORMALIZER_RIGHT;
    }
    if (tfn__json_says(value[0], "Precompiled\"") && value[6].s && !v->charsmap.s) {
        v->charsmap = value[6];
        steps = TFN_NORMALIZER_CHARSMAP;
    }
    return steps;
}

/* Read a part of the normalizer. Flags have a fixed order of parts. Any part that changes
 * characters differently needs steps, or ids would silently differ. */
static void tfn__normalizer_part(tfn_error *e, tfn__vocab *v, tfn__reader r)
{
    const tfn__reader part = r;
    tfn__reader type;
    int32_t steps;
    tfn__json_members(&r, &type, "type\"");
    if (tfn__json_says(type, "NFC\"")) steps = TFN_NORMALIZER_NFC;
    else if (tfn__json_says(type, "BertNormalizer\"")) steps = tfn__bert_steps(part);
    else {
        steps = tfn__piece_steps(v, part);
        if (!steps) tfn__needs_steps(e);
    }
    if (steps && steps <= v->normalizer) tfn__needs_steps(e);
    v->normalizer += steps;
}

/* All known expressions except BLOOM's match every character, so the pieces are the matches: either
 * the matches are kept (Isolated), or everything else is removed (Removed, invert). */
static void tfn__split_part(tfn_error *e, tfn__vocab *v, const tfn__reader *pattern,
                            const tfn__reader *behavior, const tfn__reader *invert)
{
    const bool removed = tfn__json_says(*behavior, "Removed\"") && tfn__peek(invert) == 't';
    const bool isolated = tfn__json_says(*behavior, "Isolated\"");
    bool fits = isolated || removed;
    tfn_split split = TFN_SPLIT_GPT2;
    tfn__reader r = *pattern;
    tfn__reader regex;
    tfn__json_members(&r, &regex, "Regex\"");
    if (!tfn__known_regex(regex, &split)) fits = false;
    if (split == TFN_SPLIT_BLOOM) fits = fits && isolated;
    if (v->cut || !fits) tfn__needs_steps(e);
    v->cut = true;
    v->split = split;
}

/* Metaspace: replace spaces by marks, add one in front if there is none, and split before each.
 * After WhitespaceSplit each word gets its own. */
static void tfn__metaspace_part(tfn_error *e, tfn__vocab *v, tfn__reader r)
{
    tfn__reader value[4];
    int32_t steps = TFN_NORMALIZER_MARKS + TFN_NORMALIZER_PREFIX + TFN_NORMALIZER_NEEDED;
    tfn__json_members(&r, value, "replacement\"prepend_scheme\"add_prefix_space\"split\"");
    if (!tfn__is_mark(value[0])) tfn__needs_steps(e);
    if (tfn__json_says(value[1], "first\"")) steps += TFN_NORMALIZER_FIRST;
    else if (tfn__json_says(value[1], "never\"")
             || (!value[1].s && !tfn__json_true(value[2], true))) steps = TFN_NORMALIZER_MARKS;
    if (v->normalizer & steps || v->cut
        || (v->normalizer & TFN_NORMALIZER_WORDS
            && (!(steps & TFN_NORMALIZER_PREFIX) || steps & TFN_NORMALIZER_FIRST)))
        tfn__needs_steps(e);
    v->normalizer |= steps;
    v->cut = true;
    v->split = TFN_SPLIT_NONE;
    if (tfn__json_true(value[3], true)) v->split = TFN_SPLIT_MARKS;
    else if (v->normalizer & TFN_NORMALIZER_WORDS) tfn__needs_steps(e);
}

/* Gemma splits at spaces after the normalizer has replaced them all. */
static bool tfn__splits_nothing(const tfn__vocab *v, tfn__reader pattern)
{
    tfn__reader string;
    tfn__json_members(&pattern, &string, "String\"");
    return v->normalizer & TFN_NORMALIZER_MARKS && tfn__json_says(string, " \"");
}

/* ByteLevel shows bytes as characters; this library works on the bytes instead. ByteLevel also cuts
 * by GPT-2's expression, unless a Split came before. */
static void tfn__pre_tokenizer_part(tfn_error *e, tfn__vocab *v, tfn__reader r)
{
    const tfn__reader part = r;
    tfn__reader value[6];
    tfn__json_members(&r, value,
                      "type\"use_regex\"add_prefix_space\"pattern\"behavior\"invert\"");
    if (tfn__json_says(value[0], "Metaspace\"")) tfn__metaspace_part(e, v, part);
    else if (tfn__json_says(value[0], "WhitespaceSplit\"") && !v->cut)
        v->normalizer |= TFN_NORMALIZER_WORDS + TFN_NORMALIZER_LEFT + TFN_NORMALIZER_RIGHT
                         + TFN_NORMALIZER_COLLAPSE;
    else if (tfn__json_says(value[0], "Split\"") && tfn__splits_nothing(v, value[3])) return;
    else if (v->shown) tfn__needs_steps(e);
    else if (tfn__json_says(value[0], "BertPreTokenizer\"")) {
        if (v->cut) tfn__needs_steps(e);
        v->cut = true;
        v->split = TFN_SPLIT_BERT;
    } else if (tfn__json_says(value[0], "Split\""))
        tfn__split_part(e, v, &value[3], &value[4], &value[5]);
    else if (tfn__json_says(value[0], "ByteLevel\"")) {
        const bool regex = tfn__peek(&value[1]) != 'f';
        v->shown = true;
        v->prefix_space = tfn__peek(&value[2]) == 't';
        if (regex == v->cut || (v->prefix_space && v->cut)) tfn__needs_steps(e);
    } else tfn__needs_steps(e);
}

/* The ids around a text: a template, or the two tokens of BERT or RoBERTa, which tfn__frame_pass
 * reads. ByteLevel here only changes offsets, which are not computed. */
static void tfn__post_processor_part(tfn_error *e, tfn__vocab *v, tfn__reader r)
{
    const bool none = !v->single_text.s && !v->first.s;
    tfn__reader value[5];
    tfn__json_members(&r, value, "type\"single\"special_tokens\"cls\"sep\"");
    if (tfn__json_says(value[0], "ByteLevel\"")) return;
    if (none && value[3].s && value[4].s && (tfn__json_says(value[0], "BertProcessing\"")
                                             || tfn__json_says(value[0], "RobertaProcessing\""))) {
        v->first = value[3];
        v->last = value[4];
        return;
    }
    if (!none || !tfn__json_says(value[0], "TemplateProcessing\"")) {
        tfn__refuse(e, "post_processor %s is not supported, only one TemplateProcessing, or "
                    "BertProcessing or RobertaProcessing with cls and sep", value[0]);
        return;
    }
    v->single_text = value[1];
    v->template_ids = value[2];
}

/* Copy a short string that the tokenizer keeps; refuse a longer one. */
static void tfn__short_string(tfn_error *e, tfn__reader value, char *to, size_t size,
                              const char *text)
{
    tfn__reader r = value;
    TFNORM_MEMSET(to, 0, size);
    if (tfn__json_empty(r)) return;
    tfn__json_string(&r, to, size);
    if (r.wanted) tfn__refuse(e, text, value);
}

/* Marks become spaces: Metaspace or Replace. Strip removes the first space; with the largest count,
 * all spaces at the start of the text. 0: anything else. */
static int32_t tfn__mark_decoder(const tfn__reader *value)
{
    tfn__reader pattern = value[3];
    tfn__reader start = value[5];
    tfn__reader stop = value[6];
    tfn__reader string;
    if (tfn__json_says(value[0], "Metaspace\"")) {
        const bool first = !tfn__json_says(value[7], "never\"")
                           && (value[7].s || tfn__json_true(value[8], true));
        if (first) return TFN_DECODER_MARKS + TFN_DECODER_STRIP_TOKEN;
        return TFN_DECODER_MARKS;
    }
    if (tfn__json_says(value[0], "Strip\"") && tfn__json_says(value[4], " \"")
        && tfn__json_count(&stop, 0) == 0) {
        const int64_t count = tfn__json_count(&start, INT32_MAX);
        if (count == 1) return TFN_DECODER_STRIP;
        if (count == INT32_MAX) return TFN_DECODER_STRIP + TFN_DECODER_STRIP_ALL;
    }
    if (!tfn__json_says(value[0], "Replace\"") || !tfn__json_says(value[4], " \"")) return 0;
    tfn__json_members(&pattern, &string, "String\"");
    if (!tfn__is_mark(string)) return 0;
    return TFN_DECODER_MARKS;
}

/* Read a part of the decoder. It turns characters back into the bytes that they show; or joins
 * parts of words, which begin with the model's prefix; or turns marks into spaces and tokens of
 * bytes into bytes, which Fuse joins. */
static void tfn__decoder_part(tfn_error *e, tfn__vocab *v, tfn__reader r)
{
    tfn__reader value[10];
    tfn__json_members(&r, value, "type\"prefix\"cleanup\"pattern\"content\"start\"stop\""
                      "prepend_scheme\"add_prefix_space\"suffix\"");
    if (tfn__json_says(value[0], "ByteLevel\"")) v->decodes = TFN__DECODES_BYTES;
    else if (tfn__json_says(value[0], "WordPiece\"")) {
        v->decodes = TFN__DECODES_WORDS;
        v->decoder = TFN_DECODER_JOIN;
        if (tfn__json_true(value[2], true)) v->decoder += TFN_DECODER_TIDY;
        tfn__short_string(e, value[1], v->inside, sizeof v->inside,
                          "a decoder with the prefix %s is not supported");
    } else if (tfn__json_says(value[0], "BPEDecoder\"") && v->stepped) {
        v->decodes = TFN__DECODES_SUFFIX;
        v->decoder |= TFN_DECODER_SUFFIX;
        v->said_suffix = value[9];
    } else if (!tfn__json_says(value[0], "ByteFallback\"")
               && !tfn__json_says(value[0], "Fuse\"")) {
        const int32_t steps = tfn__mark_decoder(value);
        if (!steps) tfn__refuse(e, "decoder %s with these values is not supported", value[0]);
        v->decoder |= steps;
        v->decodes = TFN__DECODES_MARKS;
    }
}

/* Names of the members of a model, and their numbers. */
#define TFN__MODEL_MEMBERS \
    "vocab\"merges\"ignore_merges\"type\"byte_fallback\"dropout\"continuing_subword_prefix\"" \
    "end_of_word_suffix\"unk_token\"max_input_chars_per_word\"fuse_unk\"unk_id\""
enum { TFN__MODEL_VOCAB, TFN__MODEL_MERGES, TFN__MODEL_WHOLE, TFN__MODEL_TYPE,
       TFN__MODEL_FALLBACK, TFN__MODEL_DROPOUT, TFN__MODEL_PREFIX, TFN__MODEL_SUFFIX,
       TFN__MODEL_UNKNOWN, TFN__MODEL_MOST, TFN__MODEL_FUSE, TFN__MODEL_UNKNOWN_ID,
       TFN__MODEL_COUNT };

/* BPE of bytes, or without ByteLevel of characters. A prefix or suffix for parts of words and
 * random merging are refused. Unknown tokens only matter for characters. */
static void tfn__bpe_model(tfn_error *e, tfn__vocab *v, const tfn__reader *value)
{
    static const char text[][48] = { "dropout %s is not supported",
                                     "continuing_subword_prefix %s is not supported" };
    for (int i = 0; i < 2; i++)
        if (!tfn__json_empty(value[TFN__MODEL_DROPOUT + i]))
            tfn__refuse(e, text[i], value[TFN__MODEL_DROPOUT + i]);
    if (!tfn__json_empty(value[TFN__MODEL_SUFFIX]))
        tfn__short_string(e, value[TFN__MODEL_SUFFIX], v->suffix, sizeof v->suffix,
                          "end_of_word_suffix %s is not supported");
    if (*v->suffix && !v->stepped) tfn__needs_steps(e);
    v->kind = TFN_TOKENIZER_BPE;
    if (!v->shown) {
        v->kind = TFN_TOKENIZER_CHARACTER_BPE;
        v->plain = true;
        v->fallback = tfn__json_true(value[TFN__MODEL_FALLBACK], false);
        if (!v->cut) v->split = TFN_SPLIT_NONE;
    }
    v->fuse = tfn__json_true(value[TFN__MODEL_FUSE], false);
    v->merge_list = value[TFN__MODEL_MERGES];
    v->whole = tfn__json_true(value[TFN__MODEL_WHOLE], false);
    if (v->whole && v->prefix_space)
        tfn__refuse(e, "add_prefix_space with ignore_merges %s is not supported",
                    value[TFN__MODEL_WHOLE]);
}

/* WordPiece. The decoder must have the same prefix as the model; the default is "##". */
static void tfn__wordpiece_model(tfn_error *e, tfn__vocab *v, const tfn__reader *value)
{
    char decoded[sizeof v->inside];
    tfn__reader most = value[TFN__MODEL_MOST];
    TFNORM_MEMCPY(decoded, v->inside, sizeof decoded);
    v->kind = TFN_TOKENIZER_WORDPIECE;
    v->plain = true;
    v->most_chars = 100;
    if (most.s) v->most_chars = (int32_t)tfn__json_count(&most, INT32_MAX);
    if (most.wanted)
        tfn__refuse(e, "max_input_chars_per_word %s is not supported", value[TFN__MODEL_MOST]);
    tfn__short_string(e, value[TFN__MODEL_PREFIX], v->inside, sizeof v->inside,
                      "continuing_subword_prefix %s is not supported");
    if (v->decodes == TFN__DECODES_WORDS && !tfn__equal(v->inside, decoded))
        tfn__refuse(e, "continuing_subword_prefix %s is not the decoder's",
                    value[TFN__MODEL_PREFIX]);
    if ((v->split != TFN_SPLIT_BERT && !v->stepped) || v->shown)
        tfn__refuse(e, "model %s is only supported with BertPreTokenizer",
                    value[TFN__MODEL_TYPE]);
}

/* WordLevel: a word is a token or unknown. The decoder may have a prefix that no token has. */
static void tfn__word_level_model(tfn_error *e, tfn__vocab *v, const tfn__reader *value)
{
    v->kind = TFN_TOKENIZER_WORDPIECE;
    v->plain = v->whole = true;
    if (v->shown || !v->stepped)
        tfn__refuse(e, "model %s is not supported with these parts", value[TFN__MODEL_TYPE]);
}

/* Files of 2020 do not name their model; the library tries one after the other. A list of tokens
 * means Unigram, merges mean BPE, and a limit for words or a prefix means WordPiece. */
static tfn_tokenizer_kind tfn__untyped_model(const tfn__reader *value, bool *words)
{
    tfn__reader vocab = value[TFN__MODEL_VOCAB];
    *words = false;
    if (tfn__json_mark(&vocab, '[')) return TFN_TOKENIZER_UNIGRAM;
    if (value[TFN__MODEL_MERGES].s) return TFN_TOKENIZER_BPE;
    if (value[TFN__MODEL_MOST].s || !tfn__json_empty(value[TFN__MODEL_PREFIX]))
        return TFN_TOKENIZER_WORDPIECE;
    *words = value[TFN__MODEL_UNKNOWN].s != NULL;
    return TFN_TOKENIZER_BPE;
}

/* Unigram: unknown text has an id, and several unknown characters share one. */
static void tfn__unigram_model(tfn_error *e, tfn__vocab *v, const tfn__reader *value)
{
    tfn__reader id = value[TFN__MODEL_UNKNOWN_ID];
    v->kind = TFN_TOKENIZER_UNIGRAM;
    v->plain = v->scored = v->fuse = true;
    v->fallback = tfn__json_true(value[TFN__MODEL_FALLBACK], false);
    if (!v->cut) v->split = TFN_SPLIT_NONE;
    if (!id.s || tfn__peek(&id) == 'n') return;
    v->unknown_id = (int32_t)tfn__json_count(&id, INT32_MAX - 1) + 1;
    if (id.wanted) tfn__refuse(e, "unk_id %s is not supported", value[TFN__MODEL_UNKNOWN_ID]);
}

/* Read the model, except the vocabulary and merges, which are read later. */
static void tfn__model_part(tfn_error *e, tfn__vocab *v, tfn__reader r)
{
    tfn__reader value[TFN__MODEL_COUNT];
    const tfn__reader *type = &value[TFN__MODEL_TYPE];
    tfn_tokenizer_kind kind = TFN_TOKENIZER_BPE;
    bool words = false;
    tfn__json_members(&r, value, TFN__MODEL_MEMBERS);
    v->tokens = value[TFN__MODEL_VOCAB];
    v->unknown = value[TFN__MODEL_UNKNOWN];
    if (tfn__json_says(*type, "WordPiece\"")) kind = TFN_TOKENIZER_WORDPIECE;
    else if (tfn__json_says(*type, "Unigram\"")) kind = TFN_TOKENIZER_UNIGRAM;
    else if (tfn__json_says(*type, "WordLevel\"")) words = true;
    else if (!type->s) kind = tfn__untyped_model(value, &words);
    else if (!tfn__json_says(*type, "BPE\"")) {
        tfn__refuse(e, "the model is %s; BPE, Unigram, WordPiece or WordLevel is expected", *type);
        return;
    }
    if (words) tfn__word_level_model(e, v, value);
    else if (kind == TFN_TOKENIZER_WORDPIECE) tfn__wordpiece_model(e, v, value);
    else if (kind == TFN_TOKENIZER_UNIGRAM) tfn__unigram_model(e, v, value);
    else tfn__bpe_model(e, v, value);
}

/* Base64 (RFC 4648): each character has six bits, the highest first, so four characters are three
 * bytes. "=" fills the end. */
SHARED const char tfn__base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Decode base64; into NULL only count. SIZE_MAX: a character is not base64. */
static size_t tfn__base64(uint8_t *to, tfn__reader r)
{
    uint32_t bits = 0;
    int count = 0;
    size_t n = 0;
    tfn__json_want(&r, '"', "a string");
    for (;;) {
        const int32_t c = tfn__json_char(&r);
        uint32_t digit = 0;
        if (c < 0 || c == '=') break;
        for (; digit < 64; digit++)
            if (tfn__base64_digits[digit] == (char)c) break;
        if (digit == 64 || c > 127) return SIZE_MAX;
        bits = (bits << 6 | digit) & 0xffff;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        if (to) to[n] = (uint8_t)(bits >> count);
        n++;
    }
    return n;
}

/* True if these steps fit BPE of characters or Unigram. A mark in front requires marks for the
 * other spaces, and WhitespaceSplit requires a split where the white space was. */
SHARED bool tfn__are_piece_steps(int32_t steps, tfn_split split)
{
    const bool marks = (steps & TFN_NORMALIZER_MARKS) != 0;
    if (steps % TFN_NORMALIZER_UTF8 != 0) return false;
    if (steps & TFN_NORMALIZER_PREFIX && !marks) return false;
    return !(steps & TFN_NORMALIZER_WORDS) || (marks && split == TFN_SPLIT_MARKS);
}

/* True if a JSON string is this ASCII text. */
static bool tfn__json_says_text(tfn__reader value, const char *text)
{
    char said[16];
    tfn__json_string(&value, said, sizeof said);
    return !value.wanted && tfn__equal(said, text);
}

/* True if the decoder fits the model. Compiled parts may have another decoder. Without one, bytes
 * that were shown as characters are decoded to bytes, as in every other file with such tokens. */
static bool tfn__decoder_fits(const tfn__vocab *v)
{
    int decodes = TFN__DECODES_BYTES;
    if (v->kind == TFN_TOKENIZER_WORDPIECE) decodes = TFN__DECODES_WORDS;
    if (v->kind >= TFN_TOKENIZER_CHARACTER_BPE) decodes = TFN__DECODES_MARKS;
    if (v->decodes == decodes) return true;
    if (v->shown) return v->decodes == TFN__DECODES_NOTHING;
    if (!v->stepped) return false;
    if (v->decodes == TFN__DECODES_SUFFIX) return tfn__json_says_text(v->said_suffix, v->suffix);
    return v->decodes != TFN__DECODES_BYTES;
}

/* Check that the parts fit the model. */
static void tfn__check_parts(tfn_error *e, tfn__vocab *v, const tfn__reader *value)
{
    const bool characters = v->kind >= TFN_TOKENIZER_CHARACTER_BPE;
    const bool bytes = v->kind == TFN_TOKENIZER_BPE;
    bool fits = v->normalizer == TFN_NORMALIZER_NFC || !v->normalizer;
    if (v->kind == TFN_TOKENIZER_WORDPIECE) fits = v->normalizer < TFN_NORMALIZER_NFC;
    if (characters) fits = tfn__are_piece_steps(v->normalizer, v->split);
    if (!tfn__decoder_fits(v))
        tfn__refuse(e, "decoder %s is not supported for this model", value[4]);
    if (v->stepped && !v->shown && v->decodes == TFN__DECODES_NOTHING)
        v->decoder = TFN_DECODER_SPACES;
    if (!fits && !v->stepped) tfn__needs_steps(e);
    if (bytes != v->shown || (!v->stepped && ((bytes && v->split > TFN_SPLIT_BLOOM)
                                              || (characters && v->split < TFN_SPLIT_MARKS))))
        tfn__refuse(e, "pre_tokenizer %s is not supported for this model", value[2]);
    if (!v->charsmap.s) return;
    v->map_bytes = tfn__base64(NULL, v->charsmap);
    if (v->map_bytes > v->charsmap.size)
        tfn__refuse(e, "precompiled_charsmap %s is not base64", v->charsmap);
}

/* Compile normalizer and pre-tokenizer to a program. First its words are counted; they are stored
 * once the tokenizer has its memory. */
SHARED void tfn__compile_rules(tfn_error *e, tfn__vocab *v, int32_t *to)
{
    tfn__steps x;
    v->code_words = tfn__steps_compile(e, &x, to, v->rules[0], v->rules[1]);
    v->stepped = v->cut = true;
    v->shown = x.shown;
    v->split = TFN_SPLIT_STEPS;
    v->normalizer = 0;
    if (x.normalizes) v->normalizer = TFN_NORMALIZER_STEPS;
    v->charsmap = x.charsmap;
}

/* Check that the rules of a blob fit its model, and that its decoder is the one that they name. */
SHARED void tfn__check_rules(tfn_error *e, const tfn__vocab *v)
{
    const bool bytes = v->kind == TFN_TOKENIZER_BPE;
    tfn__vocab said = *v;
    bool same;
    said.decoder = 0;
    said.decodes = TFN__DECODES_NOTHING;
    tfn__each_part(e, &said, v->rules[2], "type\"decoders\"", tfn__decoder_part);
    if (!v->shown && said.decodes == TFN__DECODES_NOTHING) said.decoder = TFN_DECODER_SPACES;
    same = said.decoder == v->decoder && tfn__equal(said.inside, v->inside);
    if (bytes != v->shown)
        tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "the rules do not fit the model", 0, 0);
    if (!same || !tfn__decoder_fits(&said))
        tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "the decoder differs from the rules", 0, 0);
}

/* Read all members except tokens and merges, as flags or as steps. */
static void tfn__read_parts(tfn_error *e, tfn__vocab *v, const tfn__reader *value, bool steps)
{
    for (int i = 0; i < 2; i++) v->rules[i] = value[1 + i];
    v->rules[2] = value[4];
    if (steps) tfn__compile_rules(e, v, NULL);
    else {
        tfn__each_part(e, v, value[1], "type\"normalizers\"", tfn__normalizer_part);
        tfn__each_part(e, v, value[2], "type\"pretokenizers\"", tfn__pre_tokenizer_part);
    }
    tfn__each_part(e, v, value[3], "type\"processors\"", tfn__post_processor_part);
    tfn__each_part(e, v, value[4], "type\"decoders\"", tfn__decoder_part);
    tfn__model_part(e, v, value[5]);
    tfn__check_parts(e, v, value);
}

/* Read all members except tokens and merges, which are kept as readers and read like vocab.json and
 * merges.txt. Unknown members change nothing here (version, truncation, padding) and are skipped.
 */
SHARED void tfn__json_source(tfn_error *e, tfn__vocab *v, const tfn_tokenizer_source *s)
{
    tfn__reader r = tfn__read_from(s->json, s->json_size);
    tfn__reader value[6];
    tfn__vocab before;
    tfn__json_members(&r, value, "added_tokens\"normalizer\"pre_tokenizer\"post_processor\""
                      "decoder\"model\"");
    tfn__end_vocab(e, &r, "tokenizer.json is wrong at byte %d: %s is expected");
    if (e->status != TFN_OK) return;
    v->marked = true;
    v->added_list = value[0];
    before = *v;
    tfn__read_parts(e, v, value, false);
    if (e->status != TFN_UNSUPPORTED) return;
    *v = before;                                /* steps may express more than flags */
    tfn__no_error(e);
    tfn__read_parts(e, v, value, true);
}

/* Store the table of replacements, from base64 or unchanged. */
SHARED void tfn__store_map(tfn_tokenizer *k, const tfn__vocab *v)
{
    if (!k->map) return;
    if (v->map) TFNORM_MEMCPY(k->map, v->map, v->map_bytes);
    else tfn__base64(k->map, v->charsmap);
    if (!tfn__is_map(k->map, v->map_bytes)) {
        tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                  "the table of replacements, %d bytes, is invalid", (int64_t)v->map_bytes, 0);
        return;
    }
    k->map_units = (int32_t)(tfn__map_unit(k->map, 0) / 4);
    for (int byte = 0; byte < 0x80; byte++)
        if (tfn__map_begins(k->map + 4, (size_t)k->map_units, (uint8_t)byte))
            tfn__set_byte(k->mapped, (uint8_t)byte);
}

/* The first token whose bytes equal a JSON string, or -1. */
static int32_t tfn__token_named(const tfn_tokenizer *k, tfn__reader name)
{
    for (int32_t id = 0; id < k->vocab; id++)
        if (tfn__is_token(k, id, name)) return id;
    return -1;
}

/* Byte-level BPE: a byte that is no token, such as one that UTF-8 never uses, becomes the model's
 * unknown token, or is dropped if there is none. */
static void tfn__find_unknown_byte(tfn_tokenizer *k, const tfn__vocab *v)
{
    int32_t id = v->unknown_id - 1;
    if (v->unknown.s && !tfn__json_empty(v->unknown)) id = tfn__token_named(k, v->unknown);
    k->unknown_byte = id;
    for (int i = 0; i < 256; i++)
        if (k->byte_id[i] < 0) k->byte_id[i] = id;
}

/* Find the unknown token as tokenizer.json or a blob gives it. The names of special tokens might
 * give another one, or none. */
SHARED void tfn__find_unknown(tfn_tokenizer *k, const tfn__vocab *v)
{
    const tfn__reader name = v->unknown;
    int32_t *found = &k->special[TFN_SPECIAL_UNK];
    if (k->kind == TFN_TOKENIZER_BPE && k->marked) tfn__find_unknown_byte(k, v);
    if (k->kind <= TFN_TOKENIZER_WORDS) return;
    if (v->form || v->numbered || k->kind == TFN_TOKENIZER_UNIGRAM) *found = v->unknown_id - 1;
    if (*found >= k->vocab)
        tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer", "unk_id %d is none of %d tokens", *found,
                  k->vocab);
    if (!name.s || k->kind == TFN_TOKENIZER_UNIGRAM) return;
    *found = -1;
    if (!tfn__json_empty(name)) *found = tfn__token_named(k, name);
}

/* The ids of a name of the template, from its special_tokens: { "<s>": { "ids": [1] } }. */
static void tfn__template_ids(tfn__reader *item, tfn__vocab *v, tfn_tokenizer *k,
                              tfn__reader name, bool end)
{
    tfn__reader r = v->template_ids;
    bool found = false;
    tfn__json_want(&name, '"', "a name");
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__reader key = r;
        tfn__reader ids;
        key.at++;                               /* past the quote */
        tfn__json_string(&r, NULL, 0);
        tfn__json_want(&r, ':', ":");
        tfn__json_members(&r, &ids, "ids\"");
        if (name.wanted || r.wanted || tfn__json_compare(name, key) != 0) continue;
        for (bool next = tfn__json_open(&ids, '[', ']'); next; next = tfn__json_more(&ids, ']')) {
            const int32_t id = (int32_t)tfn__json_count(&ids, INT32_MAX);
            if (k && id >= k->vocab) tfn__want(&ids, "an id");
            if (!ids.wanted) tfn__frame_id(v, k, id, end);
        }
        if (ids.wanted) tfn__want(item, ids.wanted);
        found = true;
    }
    if (!found) tfn__want(item, "a name with its ids");
}

/* ["[CLS]", 101]: a name and its id, which must be that token's. */
static void tfn__named_id(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, tfn__reader r, bool end)
{
    tfn__reader name;
    int32_t id;
    tfn__json_want(&r, '[', "[");
    name = r;
    tfn__json_string(&r, NULL, 0);
    tfn__json_want(&r, ',', ",");
    id = (int32_t)tfn__json_count(&r, INT32_MAX);
    if (k && (id >= k->vocab || !tfn__is_token(k, id, name)))
        tfn__want(&r, "the id of that token");
    if (!r.wanted) tfn__frame_id(v, k, id, end);
    tfn__check_reader(e, &r,
                      "cls or sep of the post_processor is wrong at byte %d: %s is expected");
}

/* A template for one text: [{ "SpecialToken": { "id": "<s>" } }, { "Sequence": { "id": "A" } }]. */
SHARED void tfn__frame_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k)
{
    tfn__reader r = v->single_text;
    bool text = false;
    if (v->first.s) {
        tfn__named_id(e, v, k, v->first, false);
        tfn__named_id(e, v, k, v->last, true);
    }
    if (!v->single_text.s) return;
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']')) {
        tfn__reader value[2];
        tfn__reader id;
        tfn__json_members(&r, value, "Sequence\"SpecialToken\"");
        tfn__json_members(&value[!value[0].s], &id, "id\"");
        if (!value[0].s) tfn__template_ids(&r, v, k, id, text);
        else if (text || !tfn__json_says(id, "A\"")) tfn__want(&r, "one text, A");
        else text = true;
    }
    if (!text) tfn__want(&r, "a text, A");
    tfn__check_reader(e, &r, "the template is wrong at byte %d: %s is expected");
}
TFN__RARE_END
