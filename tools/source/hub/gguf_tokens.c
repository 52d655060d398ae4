#include "gguf_tokens.h"
#include "../ground/basics.h"
#include "../text/json.h"
#include "../text/tokenize.h"
#include "../text/tokenizer_save.h"
#include "../files/files.h"
#include "../files/fields.h"
#include "../files/safetensors.h"
#include "gguf.h"

TFN__RARE

/* -- GGUF: how a text is split --------------------------------------------------------------- */

#define TFN__GGUF_SPLIT(regex)                                                                     \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex                              \
    "\"},\"behavior\":\"Isolated\",\"invert\":false},"
#define TFN__GGUF_STEPS(steps)                                                                     \
    "{\"type\":\"Sequence\",\"pretokenizers\":[" steps                                \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}"
#define TFN__GGUF_REGEX(regex) TFN__GGUF_STEPS(TFN__GGUF_SPLIT(regex))
#define TFN__GGUF_UPPER "[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define TFN__GGUF_LOWER "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define TFN__GGUF_WORDS(end)                                                                       \
    "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?" TFN__GGUF_UPPER "*" TFN__GGUF_LOWER "+" end                   \
    "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?" TFN__GGUF_UPPER "+" TFN__GGUF_LOWER "*" end
#define TFN__GGUF_REST                                                                             \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define TFN__GGUF_SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

static const tfn__gguf_split tfn__gguf_splits[] = {
    { "gpt-2 phi-2 mpt olmo jais trillion gigachat a.x-4.0 mellum modern-bert exaone4 "
      "granite-docling", NULL, TFN_SPLIT_GPT2, false, false, false },
    { "llama-bpe llama3 llama-v3 falcon3 pixtral lfm2", NULL, TFN_SPLIT_LLAMA3, true, true, false },
    { "dbrx smaug-bpe chatglm-bpe glm4", NULL, TFN_SPLIT_LLAMA3, false, false, false },
    { "qwen2 deepseek-r1-qwen megrez kormo", NULL, TFN_SPLIT_QWEN2, false, false, true },
    { "stablelm2", NULL, TFN_SPLIT_QWEN2, false, false, false },
    { "bloom gpt3-finnish poro-chat", NULL, TFN_SPLIT_BLOOM, false, false, false },
    { "smollm starcoder refact command-r codeshell exaone minerva-7b",
      "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},"
      "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}]}",
      TFN_SPLIT_STEPS, false, false, false },
    { "gpt-4o llama4", TFN__GGUF_REGEX(TFN__GGUF_WORDS(TFN__GGUF_SHORT) "|\\\\p{N}{1,3}"
                                       TFN__GGUF_REST), TFN_SPLIT_STEPS, false, false, false },
    { "deepseek-coder",
      TFN__GGUF_STEPS(TFN__GGUF_SPLIT("[\\r\\n]") TFN__GGUF_SPLIT("\\\\s?\\\\p{L}+")
                      TFN__GGUF_SPLIT("\\\\s?\\\\p{P}+")
                      TFN__GGUF_SPLIT("[\\u0800-\\u9fa5\\uac00-\\ud7ff]+")
                      TFN__GGUF_SPLIT("\\\\p{N}")), TFN_SPLIT_STEPS, false, false, false },
    { "tekken", TFN__GGUF_REGEX(TFN__GGUF_WORDS("") "|\\\\p{N}" TFN__GGUF_REST), TFN_SPLIT_STEPS,
      true, true, false }
};

SHARED const tfn__gguf_split *tfn__gguf_split_at(int32_t i)
{
    if (i >= (int32_t)(sizeof tfn__gguf_splits / sizeof *tfn__gguf_splits)) return NULL;
    return tfn__gguf_splits + i;
}

/* True if the list, whose words are separated by spaces, has this word. */
static bool tfn__gguf_lists(const char *list, const char *word)
{
    const size_t n = tfn__length(word);
    while (*list) {
        size_t same = 0;
        while (same < n && list[same] == word[same]) same++;
        if (same == n && (!list[n] || list[n] == ' ')) return n > 0;
        while (*list && *list != ' ') list++;
        while (*list == ' ') list++;
    }
    return false;
}

/* -- GGUF: the keys of a tokenizer ------------------------------------------------------------- */

/* Keys of the metadata after "tokenizer.ggml.". */
enum { TFN__META_MODEL, TFN__META_PRE, TFN__META_TOKENS, TFN__META_TYPES, TFN__META_SCORES,
       TFN__META_MERGES, TFN__META_BEGIN, TFN__META_END, TFN__META_UNKNOWN, TFN__META_BEGINS,
       TFN__META_ENDS, TFN__META_SPACE, TFN__META_KEYS };
static const struct { char name[20]; uint8_t type, each; } tfn__meta_keys[TFN__META_KEYS] = {
    { "model", TFN__GGUF_STRING, 0 },            { "pre", TFN__GGUF_STRING, 0 },
    { "tokens", TFN__GGUF_ARRAY, TFN__GGUF_STRING },
    { "token_type", TFN__GGUF_ARRAY, TFN__GGUF_I32 },
    { "scores", TFN__GGUF_ARRAY, TFN__GGUF_F32 }, { "merges", TFN__GGUF_ARRAY, TFN__GGUF_STRING },
    { "bos_token_id", TFN__GGUF_U32, 0 },        { "eos_token_id", TFN__GGUF_U32, 0 },
    { "unknown_token_id", TFN__GGUF_U32, 0 },    { "add_bos_token", TFN__GGUF_BOOL, 0 },
    { "add_eos_token", TFN__GGUF_BOOL, 0 },      { "add_space_prefix", TFN__GGUF_BOOL, 0 }
};

/* A value is the number of a list's elements, or a number itself; -1: the key is missing. `at` is
 * where a list's elements begin. */
typedef struct tfn__meta {
    tfn__gguf tokens, types, scores;    /* read the lists next to each other */
    int64_t  value[TFN__META_KEYS];
    uint64_t at[TFN__META_KEYS];
    char     model[16], pre[32];
    const tfn__gguf_split *split;
} tfn__meta;

/* Read the value of a key, or step over it. */
static void tfn__meta_value(tfn__meta *x, int key, uint64_t type)
{
    tfn__gguf *g = &x->tokens;
    const uint64_t begin = g->at;
    if (type != tfn__meta_keys[key].type) {
        tfn__gguf_bad(g);
    } else if (type == TFN__GGUF_ARRAY) {
        const uint64_t each = tfn__gguf_number(g, 4);
        const uint64_t count = tfn__gguf_number(g, 8);
        if (each != tfn__meta_keys[key].each || count > INT32_MAX) tfn__gguf_bad(g);
        x->value[key] = (int64_t)(count & INT32_MAX);
        x->at[key] = g->at;
        g->at = begin;
        tfn__gguf_skip(g, type);
    } else if (key == TFN__META_MODEL) {
        tfn__gguf_string(g, x->model, sizeof x->model);
    } else if (key == TFN__META_PRE) {
        tfn__gguf_string(g, x->pre, sizeof x->pre);
    } else if (type == TFN__GGUF_BOOL) {
        x->value[key] = tfn__gguf_number(g, 1) != 0;
    } else {
        x->value[key] = (int64_t)tfn__gguf_number(g, 4);
        if (x->value[key] > INT32_MAX) x->value[key] = -1;
    }
}

/* The number of a key; -1: it is no key of a tokenizer that counts here. */
static int tfn__meta_key(const char *key)
{
    if (!tfn__begins(&key, "tokenizer.ggml.")) return -1;
    for (int i = 0; i < TFN__META_KEYS; i++)
        if (tfn__equal(key, tfn__meta_keys[i].name)) return i;
    return -1;
}

/* Find the rules of the split. Files without a name for them have others, which only llama.cpp
 * uses. */
static void tfn__meta_split(tfn__meta *x, tfn_file *f)
{
    const tfn__gguf_split *s;
    for (int32_t i = 0; (s = tfn__gguf_split_at(i)) != NULL; i++)
        if (tfn__gguf_lists(s->names, x->pre)) x->split = s;
    if (!x->split)
        tfn__file_fail(f, TFN_UNSUPPORTED, "the tokenizer's pre-tokenizer \"%s\" is not read",
                       x->pre, 0, 0);
}

/* True if a list is missing or has as many elements as there are tokens. */
static bool tfn__meta_fits(const tfn__meta *x, int key)
{
    return x->value[key] < 0 || x->value[key] == x->value[TFN__META_TOKENS];
}

/* Read all keys. False: there is no tokenizer, or an error. */
static bool tfn__meta_read(tfn__meta *x, tfn_file *f)
{
    char key[64];
    uint64_t keys;
    TFNORM_MEMSET(x, 0, sizeof *x);
    x->tokens.f = f;
    for (int i = 0; i < TFN__META_KEYS; i++) x->value[i] = -1;
    x->tokens.at = 16;                          /* after magic, version and number of tensors */
    keys = tfn__gguf_number(&x->tokens, 8);
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t type;
        int found;
        if (!tfn__fine(f)) return false;
        tfn__gguf_string(&x->tokens, key, sizeof key);
        type = tfn__gguf_number(&x->tokens, 4);
        found = tfn__meta_key(key);
        if (found < 0) tfn__gguf_skip(&x->tokens, type);
        else tfn__meta_value(x, found, type);
    }
    if (!tfn__fine(f) || x->value[TFN__META_TOKENS] < 1) return false;
    if (!tfn__meta_fits(x, TFN__META_TYPES) || !tfn__meta_fits(x, TFN__META_SCORES))
        tfn__bad(f, "the tokenizer has not a type and a score for each token", NULL, 0, 0);
    if (tfn__equal(x->model, "gpt2")) tfn__meta_split(x, f);
    else if (!tfn__equal(x->model, "llama"))
        tfn__file_fail(f, TFN_UNSUPPORTED, "the tokenizer's model is \"%s\"; gpt2 and llama are "
                       "read", x->model, 0, 0);
    return tfn__fine(f);
}

/* Go back to the first token. */
static void tfn__meta_rewind(tfn__meta *x)
{
    x->types.f = x->scores.f = x->tokens.f;
    x->tokens.at = x->at[TFN__META_TOKENS];
    x->types.at = x->at[TFN__META_TYPES];
    x->scores.at = x->at[TFN__META_SCORES];
}

/* The type of the next token. */
static uint64_t tfn__meta_type(tfn__meta *x)
{
    if (x->value[TFN__META_TYPES] < 0) return TFN__GGUF_NORMAL;
    return tfn__gguf_number(&x->types, 4);
}

/* -- GGUF: byte-level BPE as tokenizer.json -------------------------------------------------- */

/* "added_tokens": control tokens are special, and those of a user are not. */
static void tfn__meta_added(tfn__meta *x, tfn__text *t)
{
    const char *between = "";
    tfn__meta_rewind(x);
    for (int64_t id = 0; id < x->value[TFN__META_TOKENS]; id++) {
        const uint64_t type = tfn__meta_type(x);
        if (!tfn__fine(x->tokens.f)) return;
        if (type != TFN__GGUF_CONTROL && type != TFN__GGUF_USER) {
            tfn__gguf_string(&x->tokens, NULL, 0);
            continue;
        }
        tfn__put(t, between);
        tfn__put_int(t, "{\"id\":", id, ",\"single_word\":false,\"content\":");
        tfn__gguf_put(&x->tokens, t, TFN__GGUF_QUOTED);
        tfn__put(t, ",\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":");
        if (type == TFN__GGUF_CONTROL) tfn__put(t, "true}");
        else                           tfn__put(t, "false}");
        between = ",";
    }
}

/* "vocab": all tokens except unused and added ones. An added token is a plain text, which as an
 * entry of the vocabulary would mean bytes: DeepSeek Coder adds U+00F5, which there is byte F5. */
static void tfn__meta_vocab(tfn__meta *x, tfn__text *t)
{
    const char *between = "";
    tfn__meta_rewind(x);
    for (int64_t id = 0; id < x->value[TFN__META_TOKENS]; id++) {
        const uint64_t type = tfn__meta_type(x);
        if (!tfn__fine(x->tokens.f)) return;
        if (type == TFN__GGUF_UNUSED || type == TFN__GGUF_USER || type == TFN__GGUF_CONTROL) {
            tfn__gguf_string(&x->tokens, NULL, 0);
            continue;
        }
        tfn__put(t, between);
        tfn__gguf_put(&x->tokens, t, TFN__GGUF_QUOTED);
        tfn__put_int(t, ":", id, NULL);
        between = ",";
    }
}

static void tfn__meta_merges(tfn__meta *x, tfn__text *t)
{
    x->tokens.at = x->at[TFN__META_MERGES];
    for (int64_t i = 0; i < x->value[TFN__META_MERGES]; i++) {
        if (!tfn__fine(x->tokens.f)) return;
        if (i) tfn__put(t, ",");
        tfn__gguf_put(&x->tokens, t, TFN__GGUF_QUOTED);
    }
}

/* True if texts have this token in front or at the end. */
static bool tfn__meta_frames(const tfn__meta *x, int key, int id, bool usual)
{
    if (x->value[id] < 0 || x->value[id] >= x->value[TFN__META_TOKENS]) return false;
    return x->value[key] > 0 || (x->value[key] < 0 && usual);
}

/* A template around the text A. Names in a template are free, so b and e are enough. */
static void tfn__meta_template(const tfn__meta *x, tfn__text *t)
{
    const bool begins = tfn__meta_frames(x, TFN__META_BEGINS, TFN__META_BEGIN, x->split->begins);
    const bool ends = tfn__meta_frames(x, TFN__META_ENDS, TFN__META_END, false);
    if (!begins && !ends) {
        tfn__put(t, "null");
        return;
    }
    tfn__put(t, "{\"type\":\"TemplateProcessing\",\"single\":[");
    if (begins) tfn__put(t, "{\"SpecialToken\":{\"id\":\"b\",\"type_id\":0}},");
    tfn__put(t, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}");
    if (ends) tfn__put(t, ",{\"SpecialToken\":{\"id\":\"e\",\"type_id\":0}}");
    tfn__put(t, "],\"special_tokens\":{");
    if (begins) tfn__put_int(t, "\"b\":{\"ids\":[", x->value[TFN__META_BEGIN], "]}");
    if (begins && ends) tfn__put(t, ",");
    if (ends) tfn__put_int(t, "\"e\":{\"ids\":[", x->value[TFN__META_END], "]}");
    tfn__put(t, "}}");
}

static void tfn__meta_json(tfn__meta *x, tfn__text *t)
{
    tfn__put(t, "{\"added_tokens\":[");
    tfn__meta_added(x, t);
    tfn__put(t, "],\"normalizer\":");
    if (x->split->composed) tfn__put(t, "{\"type\":\"NFC\"}");
    else                    tfn__put(t, "null");
    tfn__put(t, ",\"pre_tokenizer\":");
    if (x->split->steps) tfn__put(t, x->split->steps);
    else tfn__put_split(t, (tfn_split)x->split->split, false);
    tfn__put(t, ",\"post_processor\":");
    tfn__meta_template(x, t);
    tfn__put(t, ",\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
                "\"ignore_merges\":");
    if (x->split->whole) tfn__put(t, "true");
    else                 tfn__put(t, "false");
    tfn__put(t, ",\"vocab\":{");
    tfn__meta_vocab(x, t);
    tfn__put(t, "},\"merges\":[");
    tfn__meta_merges(x, t);
    tfn__put(t, "]}}");
}

/* -- GGUF: SentencePiece's model ------------------------------------------------------------- */

/* Put a number of a message: seven bits a byte, the highest bit means that more follow. */
static void tfn__put_varint(tfn__text *t, uint64_t n)
{
    for (; n > 127; n >>= 7) tfn__put_byte(t, (size_t)(n & 127) | 128);
    tfn__put_byte(t, (size_t)n);
}

/* Put a field that is a number: its key, then the number. */
static void tfn__put_field(tfn__text *t, uint64_t field, uint64_t value)
{
    tfn__put_varint(t, field << 3);
    tfn__put_varint(t, value);
}

/* Put one piece: field 1 of the model with the text, the score and the type. An unused piece
 * becomes a control piece, because BPE would merge it. */
static void tfn__meta_piece(tfn__meta *x, tfn__text *t, uint64_t type, uint64_t score)
{
    const uint64_t begin = x->tokens.at;
    const tfn__gguf_form form = type == TFN__GGUF_USER ? TFN__GGUF_MARKED : TFN__GGUF_PLAIN;
    tfn__text text = tfn__text_in(NULL, 0);
    tfn__text all = tfn__text_in(NULL, 0);
    if (type == TFN__GGUF_UNUSED) type = TFN__GGUF_CONTROL;
    tfn__gguf_put(&x->tokens, &text, form);
    x->tokens.at = begin;
    if (!tfn__fine(x->tokens.f)) return;
    tfn__put_varint(&all, text.used);
    tfn__put_varint(&all, type);
    tfn__put_varint(t, 1 << 3 | 2);
    tfn__put_varint(t, all.used + text.used + 7);
    tfn__put_varint(t, 1 << 3 | 2);
    tfn__put_varint(t, text.used);
    tfn__gguf_put(&x->tokens, t, form);
    tfn__put_varint(t, 2 << 3 | 5);
    for (int i = 0; i < 4; i++) tfn__put_byte(t, (size_t)(score >> 8*i & 255));
    tfn__put_field(t, 3, type);
}

/* Put a message in a field: its bytes come from another text. */
static void tfn__put_nested(tfn__text *t, uint64_t field, tfn__text *message)
{
    tfn__put_varint(t, field << 3 | 2);
    tfn__put_varint(t, message->used);
    tfn__put_bytes(t, message->buf, message->used);
}

/* Put all pieces, then what SentencePiece's trainer and normalizer would say: BPE, whether pieces
 * of bytes replace unknown characters, the ids of special pieces, and the space in front. */
static void tfn__meta_model(tfn__meta *x, tfn__text *t)
{
    char room[64];
    tfn__text said = tfn__text_in(room, sizeof room);
    bool bytes = false;
    tfn__meta_rewind(x);
    for (int64_t id = 0; id < x->value[TFN__META_TOKENS]; id++) {
        const uint64_t type = tfn__meta_type(x);
        uint64_t score = 0;
        if (x->value[TFN__META_SCORES] >= 0) score = tfn__gguf_number(&x->scores, 4);
        if (!tfn__fine(x->tokens.f)) return;
        tfn__meta_piece(x, t, type, score);
        if (type == TFN__GGUF_BYTE) bytes = true;
    }
    tfn__put_field(&said, 3, 2);
    tfn__put_field(&said, 35, bytes);
    tfn__put_field(&said, 40, (uint64_t)tfn__max((ptrdiff_t)x->value[TFN__META_UNKNOWN], 0));
    tfn__put_field(&said, 41, (uint64_t)x->value[TFN__META_BEGIN]);
    tfn__put_field(&said, 42, (uint64_t)x->value[TFN__META_END]);
    tfn__put_nested(t, 2, &said);
    said = tfn__text_in(room, sizeof room);
    tfn__put_field(&said, 3, x->value[TFN__META_SPACE] != 0);
    tfn__put_field(&said, 4, 0);
    tfn__put_nested(t, 3, &said);
}

TFNORM_API size_t tfn_gguf_tokenizer(tfn_file *f, tfn_tokenizer_source *source, void *text,
                                     size_t size)
{
    tfn__meta x;
    tfn__text t = tfn__text_in(text, size);
    if (source) TFNORM_MEMSET(source, 0, sizeof *source);
    if (!TFN__GGUF && f)
        tfn__file_fail(f, TFN_UNSUPPORTED, "GGUF is left out by TFNORM_NO_GGUF", NULL, 0, 0);
    if (!TFN__GGUF || !tfn__file_open(f)) return 0;
    if (!tfn__file_given(f, "source", source)) return 0;
    if (!tfn__meta_read(&x, f)) return 0;
    if (x.split) tfn__meta_json(&x, &t);
    else tfn__meta_model(&x, &t);
    if (!tfn__fine(f)) return 0;
    if (!text || t.used > size) return t.used;
    if (x.split) {
        source->json = (const char *)text;
        source->json_size = t.used;
        return t.used;
    }
    source->model = text;
    source->model_size = t.used;
    source->begin = tfn__meta_frames(&x, TFN__META_BEGINS, TFN__META_BEGIN, true);
    source->end = tfn__meta_frames(&x, TFN__META_ENDS, TFN__META_END, false);
    return t.used;
}
TFN__RARE_END
