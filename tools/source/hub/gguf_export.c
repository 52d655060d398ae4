#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../ground/tables.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../text/json.h"
#include "../text/unicode.h"
#include "../text/vocabulary.h"
#include "../text/merging.h"
#include "../text/compiling.h"
#include "../text/tokenize.h"
#include "../text/tokenizer_save.h"
#include "../files/files.h"
#include "../files/ggml.h"
#include "gguf.h"
#include "gguf_tokens.h"
#include "config_json.h"
#include "export.h"
#include "keys.h"

TFN__RARE
/* Writes models as files of llama.cpp. Builds on export, with the rows of gguf in place of the
 * hub's: the config.json that these rows give becomes the metadata. In order:
 *
 *   metadata         counted, then written
 *   the tokenizer    as llama.cpp names its parts
 *   tensors          names, dimensions and types
 *   the file         all of these, then the values, tensor by tensor */

/* -- GGUF: writing in order ------------------------------------------------------------------ */

typedef struct tfn__gguf_out {
    tfn_file   *f;                      /* NULL: keys and bytes are only counted */
    const char *arch;
    uint64_t    keys, bytes;
    size_t      used;
    uint8_t     room[512];
} tfn__gguf_out;

static void tfn__out_flush(tfn__gguf_out *o)
{
    if (o->used) tfn__file_put(o->f, o->room, o->used);
    o->used = 0;
}

static void tfn__out_bytes(tfn__gguf_out *o, const void *from, size_t n)
{
    const uint8_t *s = (const uint8_t *)from;
    o->bytes += n;
    if (o->f) for (size_t i = 0; i < n; i++) {
        o->room[o->used++] = s[i];
        if (o->used == sizeof o->room) tfn__out_flush(o);
    }
}

static void tfn__out_number(tfn__gguf_out *o, uint64_t v, size_t bytes)
{
    uint8_t s[8];
    for (size_t i = 0; i < bytes; i++) s[i] = (uint8_t)(v >> 8*i & 255);
    tfn__out_bytes(o, s, bytes);
}

static void tfn__out_text(tfn__gguf_out *o, const char *s)
{
    const size_t n = tfn__length(s);
    tfn__out_number(o, n, 8);
    tfn__out_bytes(o, s, n);
}

/* Begin a pair: its key and the type of its value. */
static void tfn__out_key(tfn__gguf_out *o, const char *key, uint64_t type)
{
    tfn__out_text(o, key);
    tfn__out_number(o, type, 4);
    o->keys++;
}

static void tfn__out_string(tfn__gguf_out *o, const char *key, const char *value)
{
    if (!value) return;
    tfn__out_key(o, key, TFN__GGUF_STRING);
    tfn__out_text(o, value);
}

static void tfn__out_count(tfn__gguf_out *o, const char *key, int64_t value)
{
    tfn__out_key(o, key, TFN__GGUF_U32);
    tfn__out_number(o, (uint64_t)value, 4);
}

static void tfn__out_truth(tfn__gguf_out *o, const char *key, bool value)
{
    tfn__out_key(o, key, TFN__GGUF_BOOL);
    tfn__out_number(o, value, 1);
}

static void tfn__out_list(tfn__gguf_out *o, const char *key, uint64_t type, int64_t count)
{
    tfn__out_key(o, key, TFN__GGUF_ARRAY);
    tfn__out_number(o, type, 4);
    tfn__out_number(o, (uint64_t)count, 8);
}

static void tfn__out_float(tfn__gguf_out *o, double v)
{
    tfn__out_number(o, tfn__ieee_bits(v, 8, 23), 4);
}

/* Fill up to a multiple of the alignment. */
enum { TFN__GGUF_ALIGNMENT = 32 };
static void tfn__out_fill(tfn__gguf_out *o)
{
    while (o->bytes % TFN__GGUF_ALIGNMENT) tfn__out_number(o, 0, 1);
}

/* -- GGUF: settings -------------------------------------------------------------------------- */

/* Write a value of config.json under ARCHITECTURE.KEY, with dots for slashes: a text, a boolean or
 * a number, because the rows of gguf have nothing else. A number with a point or an exponent is a
 * float, as llama.cpp expects it. */
static void tfn__out_setting(tfn__gguf_out *o, const char *name, tfn__reader value)
{
    char key[128];
    char word[64];
    tfn__text t = tfn__text_in(key, sizeof key);
    tfn__reader r = value;
    int32_t first;
    bool real = false;
    tfn__json_space(&value);
    first = tfn__peek(&value);
    tfn__put_texts(&t, o->arch, ".", name);
    for (char *c = tfn__end(&t); *c; c++)
        if (*c == '/') *c = '.';
    tfn__json_skip(&r, TFN__JSON_DEPTH);
    for (size_t i = value.at; i < r.at; i++)
        if (value.s[i] == '.' || value.s[i] == 'e') real = true;
    if (first == '"') {
        tfn__json_string(&value, word, sizeof word);
        tfn__out_string(o, key, word);
    } else if (first == 't' || first == 'f') {
        tfn__out_truth(o, key, first == 't');
    } else if (real) {
        tfn__out_key(o, key, TFN__GGUF_F32);
        tfn__out_float(o, tfn__json_number(&value));
    } else {
        tfn__out_count(o, key, tfn__json_count(&value, INT32_MAX));
    }
}

/* True if tensors express the key. llama.cpp would apply the factor of Llama 3's scaling to all
 * rates. */
static bool tfn__in_tensors(const char *name, const tfn_model_desc *d)
{
    if (tfn__gguf_is_present(name)) return true;
    return d->rotary_scaling == TFN_ROTARY_SCALING_LLAMA3
           && (tfn__equal(name, "rope/scaling/type") || tfn__equal(name, "rope/scaling/factor"));
}

/* Write the options of the model: all keys of config.json that the family's rows know, except those
 * that tensors express. */
static void tfn__out_settings(tfn__gguf_out *o, const tfn_export *x, const tfn_model_desc *d)
{
    char text[TFN__CONFIG_ROOM];
    char name[64];
    tfn__reader r = tfn__read_from(text, tfn__put_config(x, x->family, d, text, sizeof text));
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__json_string(&r, name, sizeof name);
        tfn__json_want(&r, ':', ":");
        if (tfn__rule_of_key(x->family, name) && !tfn__in_tensors(name, d))
            tfn__out_setting(o, name, r);
        tfn__json_skip(&r, TFN__JSON_DEPTH);
    }
}

/* Returns general.file_type, the number of the type that most values have. */
static int32_t tfn__gguf_file_type(tfn_dtype dtype)
{
    switch (dtype) {
    case TFN_DTYPE_F16: return 1;
    case TFN_DTYPE_Q4_0: return 2;
    case TFN_DTYPE_Q8_0: return 7;
    case TFN_DTYPE_BF16: return 32;
    default: return 0;
    }
}

/* -- GGUF: the tokenizer --------------------------------------------------------------------- */

#if TFN__TOKENIZERS
enum { TFN__GGUF_TOKEN_ROOM = 2048,             /* bytes of a token as GGUF shows it */
       TFN__GGUF_CODE_ROOM = 2048 };            /* words of a program of steps */

/* True if the program of a tokenizer is the one that these steps give. */
static bool tfn__gguf_same_steps(const tfn_tokenizer *k, const char *steps)
{
    int32_t code[TFN__GGUF_CODE_ROOM];
    tfn__steps x;
    tfn_error e;
    const tfn__reader none = tfn__read_from(NULL, 0);
    const tfn__reader r = tfn__read_from(steps, tfn__length(steps));
    tfn__no_error(&e);
    if (tfn__steps_compile(&e, &x, NULL, none, r) != k->code_words
        || k->code_words > TFN__GGUF_CODE_ROOM)
        return false;
    tfn__steps_compile(&e, &x, code, none, r);
    for (int32_t i = 0; i < k->code_words; i++)
        if (code[i] != k->code[i]) return false;
    return e.status == TFN_OK;
}

/* Returns llama.cpp's rules that split and normalize like this tokenizer of bytes, or NULL. */
static const tfn__gguf_split *tfn__gguf_split_of(const tfn_tokenizer *k)
{
    const bool composed = k->normalizer == TFN_NORMALIZER_NFC;
    const tfn__gguf_split *s;
    if (k->prefix_space || (k->normalizer && !composed)) return NULL;
    for (int32_t i = 0; (s = tfn__gguf_split_at(i)) != NULL; i++) {
        if (s->split != (int32_t)k->split || s->whole != k->whole || s->composed != composed)
            continue;
        if (!s->steps || tfn__gguf_same_steps(k, s->steps)) return s;
    }
    return NULL;
}

/* True for byte-level BPE, and for a tokenizer of bytes, which is the same without merges. */
static bool tfn__gguf_has_bytes(const tfn_tokenizer *k)
{
    return k->kind == TFN_TOKENIZER_BPE || k->kind == TFN_TOKENIZER_BYTES;
}

/* Rank each token by the first merge that makes it; -1 if none does. llama.cpp merges by the score
 * of the result. Returns true if that gives the same tokens: the merges that make a token follow
 * each other, and any two tokens that together spell a token are a merge. */
static bool tfn__gguf_ranks(const tfn_tokenizer *k, int32_t *ranks)
{
    int32_t halves[2];
    int64_t count = 0;
    for (int32_t id = 0; id < k->vocab; id++) ranks[id] = -1;
    for (int32_t i = 0; i < k->merges; i++) {
        const int32_t id = k->merge[3*i + 2];
        if (ranks[id] >= 0 && k->merge[3*i - 1] != id) return false;
        if (ranks[id] < 0) ranks[id] = i;
    }
    for (int32_t id = 0; id < k->vocab; id++) {
        size_t at = tfn__next_halves(k, id, 0, halves);
        for (; at; at = tfn__next_halves(k, id, at, halves)) count++;
    }
    return count == k->merges;
}

/* Returns why llama.cpp cannot run this tokenizer, or NULL if it can. */
static const char *tfn__gguf_refusal(const tfn_tokenizer *k, int32_t *ranks)
{
    const int32_t steps = TFN_NORMALIZER_UTF8 | TFN_NORMALIZER_MARKS | TFN_NORMALIZER_PREFIX
                          | TFN_NORMALIZER_NEEDED | TFN_NORMALIZER_FIRST;
    if (!tfn__usable(k)) return "the tokenizer is not usable";
    if (k->begins > 1 || k->ends > 1)
        return "llama.cpp puts at most one token before a text and one after it";
    if (tfn__gguf_has_bytes(k)) {
        if (!tfn__gguf_split_of(k)) return "llama.cpp has no rules that split a text as the "
                                           "tokenizer does";
        return NULL;
    }
    if (k->kind != TFN_TOKENIZER_CHARACTER_BPE)
        return "llama.cpp runs models with BPE of bytes or of characters; train the tokenizer bpe "
               "or bytes";
    if (!k->fallback) return "llama.cpp needs tokens of bytes for unknown characters";
    if (k->normalizer & ~steps || !(k->normalizer & TFN_NORMALIZER_MARKS) || k->whole || k->apart)
        return "llama.cpp cannot normalize or split a text as the tokenizer does";
    if (!k->scored && !tfn__gguf_ranks(k, ranks))
        return "llama.cpp merges by scores of tokens, which cannot express these merges";
    return NULL;
}

static bool tfn__gguf_is_byte(const tfn_tokenizer *k, int32_t id)
{
    const int32_t byte = tfn__byte_token(k->text + k->start[id], tfn__token_bytes(k, id));
    return byte >= 0 && k->byte_id[byte] == id;
}

/* The type of a token. Ids beyond the tokenizer's, and holes, are unused. */
static int32_t tfn__gguf_token_type(const tfn_tokenizer *k, int32_t id)
{
    const bool bytes = tfn__gguf_has_bytes(k);
    if (id >= k->vocab || !tfn__token_bytes(k, id)) return TFN__GGUF_UNUSED;
    if (!bytes && id == k->special[TFN_SPECIAL_UNK]) return TFN__GGUF_UNKNOWN;
    if (k->flags[id] & TFN__SPECIAL) return TFN__GGUF_CONTROL;
    if (k->flags[id] & TFN__ADDED) return TFN__GGUF_USER;
    if (bytes) return TFN__GGUF_NORMAL;
    if (tfn__gguf_is_byte(k, id)) return TFN__GGUF_BYTE;
    if (k->flags[id] & TFN__RAW) return TFN__GGUF_UNUSED;
    return TFN__GGUF_NORMAL;
}

/* Put a token as GGUF shows it: bytes as characters, or plain. A user's token has spaces instead of
 * marks, because llama.cpp searches for it before it replaces spaces by marks. */
static void tfn__gguf_spell(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    const int32_t type = tfn__gguf_token_type(k, id);
    const bool plain = !tfn__gguf_has_bytes(k) || k->flags[id] & TFN__RAW;
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    for (size_t i = 0; i < n; i++) {
        const bool mark = n - i > 2 && s[i] == 0xe2 && s[i + 1] == 0x96 && s[i + 2] == 0x81;
        if (!plain) tfn__put_code(t, tfn__shown(s[i]));
        else if (mark && type == TFN__GGUF_USER) {
            tfn__put(t, " ");
            i += 2;
        } else tfn__put_bytes(t, s + i, 1);
    }
}

/* Write tokens as one string, separated by spaces. */
static void tfn__out_tokens(tfn__gguf_out *o, const tfn_tokenizer *k, const int32_t *ids,
                            int count)
{
    char room[TFN__GGUF_TOKEN_ROOM];
    tfn__text t = tfn__text_in(room, sizeof room);
    for (int i = 0; i < count; i++) {
        if (i) tfn__put(&t, " ");
        if (ids[i] < k->vocab) tfn__gguf_spell(&t, k, ids[i]);
    }
    if (!t.used) tfn__put_int(&t, "[PAD", ids[0], "]");
    if (t.used >= sizeof room && o->f)
        tfn__file_fail(o->f, TFN_TOO_LARGE, "a token has %d bytes, the limit is %d", NULL,
                       (int64_t)t.used, sizeof room);
    tfn__out_text(o, tfn__end(&t));
}

/* Write the lists that have an element for each token. */
static void tfn__out_vocab(tfn__gguf_out *o, const tfn_tokenizer *k, int32_t vocab,
                           const int32_t *ranks)
{
    tfn__out_list(o, "tokenizer.ggml.tokens", TFN__GGUF_STRING, vocab);
    for (int32_t id = 0; id < vocab; id++) tfn__out_tokens(o, k, &id, 1);
    tfn__out_list(o, "tokenizer.ggml.token_type", TFN__GGUF_I32, vocab);
    for (int32_t id = 0; id < vocab; id++)
        tfn__out_number(o, (uint64_t)tfn__gguf_token_type(k, id), 4);
    if (tfn__gguf_has_bytes(k)) return;
    tfn__out_list(o, "tokenizer.ggml.scores", TFN__GGUF_F32, vocab);
    for (int32_t id = 0; id < vocab; id++) {
        double score = 0;
        const bool normal = tfn__gguf_token_type(k, id) == TFN__GGUF_NORMAL;
        if (normal && k->scored) score = k->score[id];
        else if (normal && ranks[id] >= 0) score = -(double)ranks[id];
        tfn__out_float(o, score);
    }
}

/* Write the ids of special tokens. If there is no end, write the padding or the begin as its id,
 * because no text contains them; else llama.cpp would assume an id. */
static void tfn__out_specials(tfn__gguf_out *o, const tfn_export *x, const tfn_tokenizer *k)
{
    const int32_t begin = k->begins ? k->frame[0] : tfn__special_id(x, TFN__ID_BEGIN);
    int32_t end = tfn__special_id(x, TFN__ID_END);
    if (k->ends) end = k->frame[k->begins];
    if (end < 0) end = tfn__special_id(x, TFN__ID_PAD);
    if (end < 0) end = begin;
    if (begin >= 0) tfn__out_count(o, "tokenizer.ggml.bos_token_id", begin);
    if (end >= 0) tfn__out_count(o, "tokenizer.ggml.eos_token_id", end);
    if (k->special[TFN_SPECIAL_UNK] >= 0)
        tfn__out_count(o, "tokenizer.ggml.unknown_token_id", k->special[TFN_SPECIAL_UNK]);
    if (tfn__special_id(x, TFN__ID_PAD) >= 0)
        tfn__out_count(o, "tokenizer.ggml.padding_token_id", tfn__special_id(x, TFN__ID_PAD));
    tfn__out_truth(o, "tokenizer.ggml.add_bos_token", k->begins > 0);
    tfn__out_truth(o, "tokenizer.ggml.add_eos_token", k->ends > 0);
}

/* llama.cpp takes a model with one of these names for Phi-3, and does not load it if the tokenizer
 * lacks a token of Phi-3. Returns false for such a file. */
static bool tfn__gguf_name_loads(const tfn_export *x)
{
    static const char *const names[] = { "*hi3*", "*hi-3*", "*HI3*", "*HI-3*" };
    static const char *const tokens[] = { "</s>", "<s>", "<unk>", "<|endoftext|>" };
    bool meant = false;
    bool has = true;
    if (!x->name || !x->tokenizer) return true;
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *token = (const uint8_t *)tokens[i];
        meant = meant || tfn__name_matches(names[i], x->name);
        has = has && tfn__token_id(x->tokenizer, token, tfn__length(tokens[i])) >= 0;
    }
    return has || !meant;
}

static void tfn__out_tokenizer(tfn__gguf_out *o, const tfn_export *x, int32_t vocab,
                               const int32_t *ranks)
{
    const tfn_tokenizer *k = x->tokenizer;
    char pre[32];
    tfn__text t = tfn__text_in(pre, sizeof pre);
    if (!k) {
        tfn__out_string(o, "tokenizer.ggml.model", "no_vocab");
        return;
    }
    if (tfn__gguf_has_bytes(k)) {
        const char *names = tfn__gguf_split_of(k)->names;
        for (; *names; names++) {
            if (*names == ' ') break;
            tfn__put_bytes(&t, names, 1);
        }
        tfn__out_string(o, "tokenizer.ggml.model", "gpt2");
        tfn__out_string(o, "tokenizer.ggml.pre", tfn__end(&t));
        tfn__out_vocab(o, k, vocab, ranks);
        tfn__out_list(o, "tokenizer.ggml.merges", TFN__GGUF_STRING, k->merges);
        for (int32_t i = 0; i < k->merges; i++) tfn__out_tokens(o, k, k->merge + 3*i, 2);
    } else {
        tfn__out_string(o, "tokenizer.ggml.model", "llama");
        tfn__out_string(o, "tokenizer.ggml.pre", "default");
        tfn__out_vocab(o, k, vocab, ranks);
        tfn__out_truth(o, "tokenizer.ggml.add_space_prefix",
                       (k->normalizer & TFN_NORMALIZER_PREFIX) != 0);
    }
    tfn__out_specials(o, x, k);
    tfn__out_string(o, "tokenizer.chat_template", x->chat_template);
}
#else
static bool tfn__gguf_name_loads(const tfn_export *x)
{
    (void)x;
    return true;
}

static void tfn__out_tokenizer(tfn__gguf_out *o, const tfn_export *x, int32_t vocab,
                               const int32_t *ranks)
{
    (void)x;
    (void)vocab;
    (void)ranks;
    tfn__out_string(o, "tokenizer.ggml.model", "no_vocab");
}
#endif

/* -- GGUF: the file -------------------------------------------------------------------------- */

static void tfn__out_metadata(tfn__gguf_out *o, const tfn_export *x, const tfn_model_desc *d,
                              const int32_t *ranks)
{
    tfn__out_string(o, "general.architecture", o->arch);
    if (tfn__gguf_name_loads(x)) tfn__out_string(o, "general.name", x->name);
    tfn__out_count(o, "general.alignment", TFN__GGUF_ALIGNMENT);
    tfn__out_count(o, "general.file_type", tfn__gguf_file_type(x->dtype));
    if (tfn__block_of(x->dtype)) tfn__out_count(o, "general.quantization_version", 2);
    tfn__out_settings(o, x, d);
    tfn__out_tokenizer(o, x, d->vocab, ranks);
}

/* The dtype of a tensor. Vectors and tables of positions stay F32, as llama.cpp expects; so do
 * matrices whose rows do not fill blocks. With Q4_0, logits come from Q8_0: 4 bits there cost far
 * more than in other matrices. */
static tfn_dtype tfn__gguf_dtype_for(const tfn_export *x, const tfn__fusion *o,
                                     const tfn_model_desc *d, const tfn_tensor *t, tfn_error *e)
{
    const tfn__block *b = tfn__block_of(x->dtype);
    const bool output = tfn__equal(t->name, "output.weight")
                        || (!d->untied && tfn__equal(t->name, "token_embd.weight"));
    tfn__packing p;
    if (t->rank < 2 || tfn__equal(t->name, "position_embd.weight")) return TFN_DTYPE_F32;
    if (!b) return tfn__dtype_for(x, o, d, 0, e);
    if (t->shape[1] % b->values) return TFN_DTYPE_F32;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.dtype = output ? TFN_DTYPE_Q8_0 : x->dtype;
    tfn__pack_tensor(&p, o, d);
    if (!p.lost) return p.dtype;
    tfn__fail_name(e, TFN_UNSUPPORTED, "export", "%s has %d blocks whose scale is beyond a half's",
                   o->part->info.name);
    e->found = p.lost;
    return p.dtype;
}

/* Choose the dtypes of all tensors. */
static void tfn__gguf_choose(tfn_export *x, const tfn__source *s, tfn__exporting *g,
                             const tfn_model_desc *d, tfn_error *e)
{
    for (int32_t i = 0; i < s->count; i++) {
        tfn__fusion o;
        tfn_tensor t;
        if (e->status != TFN_OK) return;
        g->dtypes[i] = 0;
        if (!tfn__fuse(x, g->m, i, &o, e)) continue;
        TFNORM_MEMSET(&t, 0, sizeof t);
        g->dtypes[i] = TFN_DTYPE_F32;
        tfn__hub_tensor(s, i, &t);
        g->dtypes[i] = (uint8_t)tfn__gguf_dtype_for(x, &o, d, &t, e);
        x->tensors++;
        x->kept += t.rank > 1 && x->dtype && x->dtype != (tfn_dtype)g->dtypes[i];
    }
}

/* Returns the number of rotary rates that Llama 3's scaling divides; 0 for any other scaling. */
static int32_t tfn__gguf_rates(const tfn_model_desc *d)
{
    if (d->rotary_scaling != TFN_ROTARY_SCALING_LLAMA3) return 0;
    return tfn__value_or(d->rotary_size, tfn__head_size(d)) / 2;
}

/* Write the divisor of each rate. */
static void tfn__out_rates(tfn__gguf_out *o, const tfn_model_desc *d)
{
    const int32_t size = tfn__head_size(d);
    const int32_t rates = tfn__gguf_rates(d);
    tfn_model_desc plain = *d;
    plain.rotary_scaling = TFN_ROTARY_SCALING_NONE;
    for (int32_t j = 0; j < rates; j++)
        tfn__out_float(o, tfn__rotary_rate(&plain, j, size) / tfn__rotary_rate(d, j, size));
    tfn__out_fill(o);
    tfn__out_flush(o);
}

/* Write the entries of all tensors, the divisors of rates first. */
static void tfn__out_entries(tfn__gguf_out *o, const tfn__source *s, const tfn_model_desc *d)
{
    const uint64_t rates = (uint64_t)tfn__gguf_rates(d);
    uint64_t at = 0;
    if (rates) {
        tfn__out_text(o, "rope_freqs.weight");
        tfn__out_number(o, 1, 4);
        tfn__out_number(o, rates, 8);
        tfn__out_number(o, tfn__gguf_type(TFN_DTYPE_F32), 4);
        tfn__out_number(o, at, 8);
        at += (4 * rates + TFN__GGUF_ALIGNMENT - 1) / TFN__GGUF_ALIGNMENT * TFN__GGUF_ALIGNMENT;
    }
    for (int32_t i = 0; i < s->count; i++) {
        tfn_tensor t;
        TFNORM_MEMSET(&t, 0, sizeof t);
        s->tensor(s, i, &t);
        if (!t.name[0]) continue;
        tfn__out_text(o, t.name);
        tfn__out_number(o, (uint64_t)t.rank, 4);
        for (int32_t k = t.rank; k-- > 0;) tfn__out_number(o, (uint64_t)t.shape[k], 8);
        tfn__out_number(o, tfn__gguf_type(t.dtype), 4);
        tfn__out_number(o, at, 8);
        at += ((uint64_t)tfn__gguf_size(&t) + TFN__GGUF_ALIGNMENT - 1)
              / TFN__GGUF_ALIGNMENT * TFN__GGUF_ALIGNMENT;
    }
}

/* Write the values of all tensors. The gains of Gemma's norms get their 1. */
static void tfn__out_values(tfn__gguf_out *o, const tfn__source *s, const tfn_model_desc *d)
{
    const tfn__exporting *g = (const tfn__exporting *)s->user;
    for (int32_t i = 0; i < s->count; i++) {
        tfn__fusion fusion;
        tfn__packing p;
        tfn_tensor t;
        TFNORM_MEMSET(&t, 0, sizeof t);
        s->tensor(s, i, &t);
        if (!tfn__fine(o->f)) return;
        if (!t.name[0]) continue;
        tfn__fuse(g->x, g->m, i, &fusion, &o->f->error);
        TFNORM_MEMSET(&p, 0, sizeof p);
        p.f = o->f;
        p.dtype = t.dtype;
        p.plus = tfn__plus_for(g, &fusion);
        tfn__pack_tensor(&p, &fusion, d);
        tfn__flush_values(&p);
        o->bytes += (uint64_t)tfn__gguf_size(&t);
        tfn__out_fill(o);
        tfn__out_flush(o);
    }
}

static void tfn__write_gguf(tfn_export *x, const tfn_model *m, const tfn_model_desc *d, tfn_file *f)
{
    tfn__exporting g = { x, m, NULL, false, tfn__plus_of(m, d) };
    tfn__source s = { &g, m->weight_count, tfn__hub_tensor, NULL, NULL };
    tfn__gguf_out o;
    tfn__arena a;
    int32_t *ranks = NULL;
    const char *refusal = NULL;
    if (!tfn__begin(f, true)) return;
    a = tfn__work_of(f, tfn_export_gguf_work(x, m));
    if (tfn__fine(f)) g.dtypes = tfn__take(&a, (size_t)m->weight_count, 1, &f->error);
#if TFN__TOKENIZERS
    if (tfn__fine(f) && x->tokenizer) {
        ranks = tfn__take_ids(&a, (size_t)x->tokenizer->vocab, &f->error);
        if (ranks) refusal = tfn__gguf_refusal(x->tokenizer, ranks);
    }
#endif
    if (refusal) tfn__fail(&f->error, TFN_UNSUPPORTED, "export", refusal, 0, 0);
    if (tfn__fine(f)) tfn__gguf_choose(x, &s, &g, d, &f->error);
    x->tensors += tfn__gguf_rates(d) > 0;
    TFNORM_MEMSET(&o, 0, sizeof o);
    o.arch = x->family->name;
    if (tfn__fine(f)) tfn__out_metadata(&o, x, d, ranks);
    if (tfn__fine(f)) {
        const uint64_t keys = o.keys;
        TFNORM_MEMSET(&o, 0, sizeof o);
        o.arch = x->family->name;
        o.f = f;
        tfn__out_bytes(&o, "GGUF", 4);
        tfn__out_number(&o, 3, 4);
        tfn__out_number(&o, (uint64_t)x->tensors, 8);
        tfn__out_number(&o, keys, 8);
        tfn__out_metadata(&o, x, d, ranks);
        tfn__out_entries(&o, &s, d);
        tfn__out_fill(&o);
        tfn__out_flush(&o);
        tfn__out_rates(&o, d);
        tfn__out_values(&o, &s, d);
    }
    tfn__finish_writing(f);
}

/* True if the list, whose words are separated by spaces, names the family. */
static bool tfn__gguf_named(const tfn_export *x, const char *list)
{
    char name[32];
    while (tfn__next_word(&list, name, sizeof name))
        if (tfn__equal(x->family->name, name)) return true;
    return false;
}

/* Refuse biases that llama.cpp's architecture has no tensors for, or lacks. Rows with all biases
 * fit no other model. */
static void tfn__gguf_check_biases(tfn_export *x, const tfn_model_desc *d)
{
    const bool qkv = d->no_bias && d->attention_bias == TFN_ATTENTION_BIAS_QKV;
    const bool none = d->no_bias && d->attention_bias == TFN_ATTENTION_BIAS_NONE;
    if (tfn__gguf_named(x, "llama granite gpt2 gptneox phi2 bloom")) return;
    if (qkv && tfn__gguf_named(x, "qwen2 stablelm")) return;
    if (none && !tfn__gguf_named(x, "qwen2")) return;
    tfn__fail_name(&x->error, TFN_UNSUPPORTED, "export", "llama.cpp has other biases in %s; the "
                   "architecture llama may have these", x->family->name);
}

/* Refuse options that the rows can express and llama.cpp cannot run. */
static void tfn__gguf_check_form(tfn_export *x, const tfn_model_desc *d)
{
    const bool wide = tfn__all_heads(d) != d->width;
    const char *text = NULL;
    if (wide && tfn__gguf_named(x, "gpt2 qwen2 olmo olmo2 phi2 phi3 stablelm gptneox bloom"))
        text = "llama.cpp needs heads in %s that are together as wide as the model";
    else if (d->window && tfn__gguf_named(x, "phi3"))
        text = "llama.cpp ignores the window of %s";
    else if (tfn__gguf_rates(d) && !tfn__gguf_named(x, "llama granite"))
        text = "llama.cpp has no scaling of Llama 3 in %s";
    if (text) tfn__fail_name(&x->error, TFN_UNSUPPORTED, "export", text, x->family->name);
}

/* Replace the caller's family by the row of gguf with the same name, or NULL. */
static void tfn__gguf_take_family(tfn_export *x)
{
    const tfn_family *given = x->family;
    if (!given) return;
    x->family = NULL;
    for (int32_t i = 0; tfn__gguf_family_at(i); i++)
        if (tfn__equal(given->name, tfn__gguf_family_at(i)->name))
            x->family = tfn__gguf_family_at(i);
}

static void tfn__gguf_check(tfn_export *x, const tfn_model *m)
{
    const tfn_dtype t = x->dtype;
    tfn__check_export(x, m);
    if (t && t != TFN_DTYPE_F32 && t != TFN_DTYPE_F16 && t != TFN_DTYPE_BF16
        && t != TFN_DTYPE_Q8_0 && t != TFN_DTYPE_Q4_0)
        tfn__fail(&x->error, TFN_BAD_OPTION, "export", "dtype is %d; F32, F16, BF16, Q8_0 or Q4_0 "
                  "is expected", (int64_t)t, 0);
#if TFN__TOKENIZERS
    else if (x->tokenizer && x->tokenizer->vocab > m->desc.vocab)
        tfn__fail(&x->error, TFN_BAD_SHAPE, "export", "the tokenizer has %d tokens, the model %d",
                  x->tokenizer->vocab, m->desc.vocab);
#endif
}

TFNORM_API tfn_status tfn_export_gguf(tfn_export *x, const tfn_model *m)
{
    tfn_model_desc d;
    tfn_file own;
    tfn_file *f;
    if (!x) return TFN_NULL;
    tfn__no_error(&x->error);
    if (!TFN__GGUF)
        return tfn__fail(&x->error, TFN_UNSUPPORTED, "export",
                         "GGUF is left out by TFNORM_NO_GGUF", 0, 0);
    x->tensors = x->kept = 0;
    if (!tfn__given(&x->error, "export", "model", m)) return x->error.status;
    if (!x->folder && !tfn__given(&x->error, "export", "folder", x->weights))
        return x->error.status;
    tfn__gguf_check(x, m);
    if (x->error.status != TFN_OK) return x->error.status;
    d = m->desc;
    tfn__spell_out(&d);
    tfn__change_norm(&d, "rmsnorm-offset", "rmsnorm");
    tfn__gguf_take_family(x);
    tfn__find_export(x, &d, tfn__gguf_family_at, "llama.cpp has no such model; the nearest, %s");
    if (x->error.status == TFN_OK) tfn__gguf_check_biases(x, &d);
    if (x->error.status == TFN_OK) tfn__gguf_check_form(x, &d);
    if (x->error.status != TFN_OK) return x->error.status;
    TFNORM_MEMSET(&own, 0, sizeof own);
    own.path = x->folder;
    f = x->folder ? &own : x->weights;
    tfn__write_gguf(x, m, &d, f);
    x->error = f->error;
    return x->error.status;
}

TFNORM_API size_t tfn_export_gguf_work(const tfn_export *x, const tfn_model *m)
{
    size_t bytes = tfn_export_work(m);
#if TFN__TOKENIZERS
    if (TFN__GGUF && bytes && x && x->tokenizer)
        bytes = tfn__sum(bytes, tfn__mul((size_t)x->tokenizer->vocab + TFN__ALIGN, 4));
#endif
    (void)x;
    return bytes;
}
TFN__RARE_END
