#include "published.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "unicode.h"
#include "normal_forms.h"
#include "pieces.h"
#include "merging.h"

/* Reads tokenizers as they are published with models: vocab.json with merges.txt, vocab.txt,
 * models of SentencePiece, and tokenizer.json, which can express all of the others. Builds on json
 * and merging. */

/* -- from vocab.json and merges.txt ---------------------------------------------------------- */

/* vocab.json is one object, { "low": 17, "\u0120low": 18, ... }, each token written as the
 * characters that show its bytes; merges.txt has a line "lo w" for each merge, best first. */

/* Store the bytes of a token after its opening quote: as UTF-8, or the bytes its characters
 * show. */
static void tfn__store_token(tfn__reader r, uint8_t *to, bool utf8)
{
    size_t n = 0;
    for (;;) {
        const int32_t c = tfn__json_char(&r);
        if (c < 0) return;
        if (utf8) n += tfn__put_utf8(to + n, c);
        else to[n++] = (uint8_t)tfn__byte_shown(c);
    }
}

/* Read a token after its opening quote and return its bytes. Each character shows a byte, as in
 * GPT-2. A token with a character that shows none is raw: a special, in UTF-8. Because only the end
 * of the string decides, both lengths are counted. plain: no token shows bytes. */
static size_t tfn__json_token(tfn__reader *r, bool plain, bool *raw)
{
    uint8_t spare[4];
    size_t shown = 0;
    size_t bytes = 0;
    *raw = false;
    for (;;) {
        const int32_t c = tfn__json_char(r);
        if (c < 0) break;
        if (!plain && tfn__byte_shown(c) < 0) *raw = true;
        shown++;
        bytes += tfn__put_utf8(spare, c);
    }
    if (*raw || plain) return bytes;
    return shown;
}

/* vocab.json has its ids in any order, so it is read three times: to count the entries; to note
 * lengths in start[id + 1], which give the positions; and to store the bytes there. */
enum { TFN__COUNT_TOKENS, TFN__MEASURE_TOKENS, TFN__STORE_TOKENS, TFN__MARK_TOKENS };

/* True if an id comes for the first time. */
static bool tfn__id_fits(const tfn_tokenizer *k, int32_t id, int step)
{
    if (step == TFN__COUNT_TOKENS) return true;
    if (id < 0 || id >= k->vocab) return false;
    return step == TFN__STORE_TOKENS || !k->flags[id];
}

/* A vocabulary may skip ids. A hole becomes a token without bytes, which no text encodes to. The
 * limit prevents a small file from requesting memory for millions of tokens. */
enum { TFN__MOST_HOLES = 65536, TFN__HOLES_PER_TOKEN = 16 };
static void tfn__check_holes(tfn_error *e, tfn__vocab *v)
{
    const size_t most = tfn__sum(TFN__MOST_HOLES, tfn__mul(v->entries, TFN__HOLES_PER_TOKEN));
    if (v->count > most)
        tfn__fail(e, TFN_TOO_LARGE, "tokenizer",
                  "a token has the id %d, which is above the limit for so few tokens, %d",
                  (int64_t)v->count - 1, (int64_t)most);
}

/* Read a score as the library does: all digits as a whole number, rounded to a double, then divided
 * by a power of ten. The last bit matters: sums of scores decide between ways to cut a text that
 * are equal but for the order of their tokens. Long exponents are read as usual. */
static double tfn__json_score(tfn__reader *r)
{
    const tfn__reader begin = *r;
    const double usual = tfn__json_number(r);
    uint64_t m = 0;
    int64_t power = 0;
    bool point = false;
    double ten = 1;
    double v;
    tfn__reader at = begin;
    const bool minus = tfn__accept(&at, '-');
    for (; at.at < r->at; at.at++) {
        const int32_t c = tfn__peek(&at);
        if (c == 'e' || c == 'E') break;
        if (c == '.') point = true;
        else if (m <= (UINT64_MAX - 9) / 10) {
            m = 10*m + (uint64_t)(c - '0');
            power -= point;
        } else if (!point) return usual;
    }
    power += tfn__json_exponent(&at);
    if (r->wanted || power < -22 || power > 22) return usual;
    for (int64_t i = 0; i < power; i++) ten *= 10;
    for (int64_t i = power; i < 0; i++) ten *= 10;
    v = (double)m;
    if (power > 0) v *= ten;
    else v /= ten;
    if (minus) return -v;
    return v;
}

/* Read one entry, "token": id, or for Unigram, whose ids are in order, ["token", score]. */
static void tfn__vocab_entry(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k, int step)
{
    const bool list = v->kind == TFN_TOKENIZER_UNIGRAM && !v->apart;
    tfn__reader token;
    double score = 0;
    size_t n;
    int32_t id = (int32_t)v->count;
    bool raw;
    if (list) tfn__json_want(r, '[', "[");
    tfn__json_want(r, '"', "a string");
    token = *r;
    n = tfn__json_token(r, v->plain, &raw);
    if (list) {
        tfn__json_want(r, ',', ",");
        score = tfn__json_score(r);
        if (!(score > -1e30 && score < TFN__USER_SCORE)) tfn__want(r, "a score");
        tfn__json_want(r, ']', "]");
    } else {
        tfn__json_want(r, ':', ":");
        id = (int32_t)tfn__json_count(r, INT32_MAX);
    }
    if (!n && !v->marked) tfn__want(r, "a token that is not empty");
    if (!tfn__id_fits(k, id, step)) tfn__want(r, "an id that comes once");
    if (r->wanted) return;

    v->entries++;
    if ((size_t)id >= v->count) v->count = (size_t)id + 1;
    v->bytes += n;
    if (n > v->longest) v->longest = n;
    if (step == TFN__MEASURE_TOKENS) {
        k->flags[id] = TFN__SEEN;
        if (raw || !n) k->flags[id] |= TFN__RAW;                /* empty: a hole */
        k->start[id + 1] = (int32_t)n;
        if (k->score) k->score[id] = score;
    }
    if (step == TFN__STORE_TOKENS) tfn__store_token(token, k->text + k->start[id], raw || v->plain);
}

TFN__RARE

/* Refuse a value of tokenizer.json and show it: the content of a string, or the characters up to
 * the next delimiter. */
SHARED void tfn__refuse(tfn_error *e, const char *text, tfn__reader value)
{
    char found[sizeof e->name];
    tfn__text t = tfn__text_in(found, sizeof found);
    const bool string = tfn__accept(&value, '"');
    if (!value.s) tfn__put(&t, "missing");
    while (value.at < value.size) {
        int32_t c = tfn__peek(&value);
        if (string) c = tfn__json_char(&value);
        else value.at++;
        if (c < 0 || (!string && (c <= ' ' || c == ',' || c == '}' || c == ']'))) break;
        tfn__put_code(&t, c);
    }
    tfn__end(&t);
    tfn__fail_name(e, TFN_UNSUPPORTED, "tokenizer", text, found);
}

/* True if token id equals a JSON string. An added token that is also in the vocabulary must be the
 * same in both. */
SHARED bool tfn__is_token(const tfn_tokenizer *k, int32_t id, tfn__reader r)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    size_t at = 0;
    tfn__accept(&r, '"');
    for (;;) {
        uint8_t code[4];
        size_t bytes;
        const int32_t c = tfn__json_char(&r);
        if (c < 0) return at == n;
        bytes = tfn__put_utf8(code, c);
        if (bytes > n - at || !tfn__same(s + at, code, bytes)) return false;
        at += bytes;
    }
}

/* Measure or store an added token. One that the vocabulary lacks is raw. */
static void tfn__keep_added(tfn__reader *r, tfn_tokenizer *k, int32_t id, tfn__reader string,
                            size_t n, uint8_t flags, int step)
{
    tfn__reader content = string;
    tfn__accept(&content, '"');
    if (step == TFN__MARK_TOKENS) {
        k->flags[id] |= flags & TFN__SINGLE_WORD;
        return;
    }
    if (step == TFN__STORE_TOKENS) {
        if (!(k->flags[id] & TFN__SEEN))
            tfn__store_token(content, k->text + k->start[id], true);
        else if (!tfn__is_token(k, id, string)) tfn__want(r, "the token that the vocabulary has");
        return;
    }
    if (id >= k->vocab || k->flags[id] & TFN__ADDED) {
        tfn__want(r, "an id that comes once");
        return;
    }
    k->flags[id] |= flags & (uint8_t)~TFN__SINGLE_WORD;
    if (k->flags[id] & TFN__SEEN) return;
    k->flags[id] |= TFN__RAW;
    k->start[id + 1] = (int32_t)n;
}

/* Read one of added_tokens: { "id": 50256, "content": "<|endoftext|>", "special": true, ... }. The
 * vocabulary has the same string at this id, or a hole, or ends before it. */
static void tfn__added_entry(tfn_error *e, tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k,
                             int step)
{
    static const uint8_t mark[] = { TFN__SPECIAL | TFN__RAW, TFN__STRIP_LEFT, TFN__STRIP_RIGHT,
                                    TFN__LATE, TFN__SINGLE_WORD };
    tfn__reader value[7];
    tfn__reader content;
    uint8_t flags = TFN__ADDED;
    size_t n;
    int32_t id;
    tfn__json_members(r, value,
                      "special\"lstrip\"rstrip\"normalized\"single_word\"id\"content\"");
    for (int i = 0; i < 5; i++)
        if (tfn__peek(&value[i]) == 't') flags |= mark[i];
    id = (int32_t)tfn__json_count(&value[5], INT32_MAX - 1);
    content = value[6];
    n = tfn__json_string(&content, NULL, 0);
    if (id < 0 || !value[6].s) tfn__want(r, "an id and a content");
    if (r->wanted || e->status != TFN_OK || !n) return;

    v->added++;
    if (flags & TFN__LATE) v->shadows++;
    if (flags & TFN__SINGLE_WORD) v->single_words = true;
    if ((size_t)id >= v->listed || v->listed > v->entries) v->bytes += n;
    if ((size_t)id >= v->count) v->count = (size_t)id + 1;
    if (step != TFN__COUNT_TOKENS) tfn__keep_added(r, k, id, value[6], n, flags, step);
}

/* Read all added tokens, after the vocabulary. */
static void tfn__read_added(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, int step)
{
    tfn__reader r = v->added_list;
    v->listed = v->count;
    if (tfn__json_empty(r)) return;
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']'))
        tfn__added_entry(e, &r, v, k, step);
    tfn__check_reader(e, &r, "added_tokens are wrong at byte %d: %s is expected");
}
TFN__RARE_END

/* Read all entries once, including added tokens. */
static void tfn__read_vocab(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, int step)
{
    static const char text[] = "the vocabulary is wrong at byte %d: %s is expected";
    const bool list = v->kind == TFN_TOKENIZER_UNIGRAM && !v->apart;
    const char open = "{["[list];
    const char close = "}]"[list];
    tfn__reader r = v->tokens;
    v->count = v->bytes = v->added = v->entries = v->shadows = 0;
    for (bool more = tfn__json_open(&r, open, close); more; more = tfn__json_more(&r, close))
        tfn__vocab_entry(&r, v, k, step);
    if (!v->marked || v->apart) tfn__end_vocab(e, &r, text);
    else {
        tfn__check_reader(e, &r, text);
        tfn__read_added(e, v, k, step);
    }
    tfn__check_holes(e, v);
}

/* The tokens of vocab.json, or of tokenizer.json. */
SHARED void tfn__vocab_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k)
{
    if (!k) {
        tfn__read_vocab(e, v, NULL, TFN__COUNT_TOKENS);
        return;
    }
    TFNORM_MEMSET(k->start, 0, ((size_t)k->vocab + 1) * sizeof *k->start);
    tfn__read_vocab(e, v, k, TFN__MEASURE_TOKENS);
    if (e->status != TFN_OK) return;
    for (int32_t id = 0; id < k->vocab; id++) {
        if (!k->flags[id]) k->flags[id] = TFN__RAW;         /* a hole */
        k->start[id + 1] += k->start[id];
    }
    tfn__read_vocab(e, v, k, TFN__STORE_TOKENS);
    for (int32_t id = 0; id < k->vocab; id++) k->flags[id] &= (uint8_t)~TFN__SEEN;
    if (v->single_words && e->status == TFN_OK) tfn__read_added(e, v, k, TFN__MARK_TOKENS);
}

/* Return the next line without its end, "\n" or "\r\n", and move r past it. */
static tfn__reader tfn__next_line(tfn__reader *r)
{
    const uint8_t *s = r->s + r->at;
    const size_t left = r->size - r->at;
    size_t n = 0;
    while (n < left) {
        if (s[n] == '\n') break;
        n++;
    }
    r->at += n;
    if (n < left) r->at++;
    if (n && s[n - 1] == '\r') n--;
    return tfn__read_from(s, n);
}

/* Read BERT's vocab.txt, which has a token a line. BERT's rules supply the rest: special tokens
 * have known names, [CLS] begins a text, [SEP] ends it, and "##" marks the continuation of a
 * word. */
SHARED void tfn__lines_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k,
                            const tfn_tokenizer_source *s)
{
    tfn__reader r = tfn__read_from(s->vocab, s->vocab_size);
    v->kind = TFN_TOKENIZER_WORDPIECE;
    v->split = TFN_SPLIT_BERT;
    v->marked = true;
    v->normalizer = TFN_NORMALIZER_CLEAN + TFN_NORMALIZER_CHINESE;
    if (!s->cased) v->normalizer += TFN_NORMALIZER_ACCENTS + TFN_NORMALIZER_LOWERCASE;
    v->decoder = TFN_DECODER_JOIN + TFN_DECODER_TIDY;
    v->most_chars = 100;
    v->inside[0] = v->inside[1] = '#';
    v->begin = v->end = -1;
    while (r.at < r.size) {
        const tfn__reader line = tfn__next_line(&r);
        const int row = tfn__special_row(line.s, line.size);
        uint8_t flags = 0;
        if (row >= 0) {
            flags = TFN__RAW | TFN__SPECIAL | TFN__ADDED;
            v->added++;
            if (tfn__specials[row].which == TFN_SPECIAL_BOS) v->begin = (int32_t)v->count;
            if (tfn__specials[row].which == TFN_SPECIAL_EOS) v->end = (int32_t)v->count;
        }
        if (!tfn__is_utf8(line.s, line.size))
            tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "token %d is not UTF-8",
                      (int64_t)v->count, 0);
        tfn__add_token(v, k, line.s, line.size, flags);
    }
    if (v->begin >= 0) tfn__frame_id(v, k, v->begin, false);
    if (v->end >= 0) tfn__frame_id(v, k, v->end, true);
}

/* Without merges the file does not say which kind of tokens it has, so the source must. */
SHARED void tfn__vocab_source(tfn_error *e, tfn__vocab *v, const tfn_tokenizer_source *s)
{
    v->tokens = tfn__read_from(s->vocab, s->vocab_size);
    v->kind = s->kind;
    if (s->merges) v->kind = TFN_TOKENIZER_BPE;
    else if (s->kind == TFN_TOKENIZER_BPE || (unsigned)s->kind > TFN_TOKENIZER_WORDS)
        tfn__fail(e, TFN_BAD_OPTION, "tokenizer", "a vocabulary without merges needs a kind", 0, 0);
}

/* Store merge i of A and B, where A has `left` bytes. False if the vocabulary lacks one of them or
 * the two together. */
SHARED bool tfn__find_merge(tfn_tokenizer *k, size_t i, const uint8_t *s, size_t left, size_t n)
{
    const int32_t a = tfn__token_id(k, s, left);
    const int32_t b = tfn__token_id(k, s + left, n - left);
    const int32_t both = tfn__token_id(k, s, n);
    tfn__set_merge(k, i, a, b, both);
    return a >= 0 && b >= 0 && both >= 0;
}
SHARED void tfn__fail_merge(tfn_error *e, size_t i)
{
    tfn__fail(e, TFN_BAD_FORMAT, "tokenizer",
              "merge %d is not two tokens of the vocabulary that make a third", (int64_t)i, 0);
}

/* Find the ids of "A", "B" and "AB". The bytes are joined in `to`, which has room for the longest
 * token. */
static bool tfn__read_merge(tfn_tokenizer *k, size_t i, tfn__reader line, uint8_t *to, size_t room)
{
    size_t used = 0;
    size_t left = 0;                            /* bytes of A, once the space was found */
    while (line.at < line.size) {
        int32_t c;
        if (!left && used && tfn__accept(&line, ' ')) left = used;
        if (line.at == line.size) return false;
        line.at += tfn__utf8(line.s + line.at, line.size - line.at, &c);
        c = tfn__byte_shown(c);
        if (c < 0 || used == room) return false;
        to[used++] = (uint8_t)c;
    }
    return tfn__find_merge(k, i, to, left, used);
}

/* Read lines "A B", the best merge first, after an optional line that begins with #version. Without
 * k they are only counted. */
SHARED void tfn__merges_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer,
                             const tfn_tokenizer_source *s)
{
    static const uint8_t version[] = { '#', 'v', 'e', 'r', 's', 'i', 'o', 'n' };
    tfn__reader r = tfn__read_from(s->merges, s->merges_size);
    while (r.at < r.size) {
        const bool first = r.at == 0;
        const tfn__reader line = tfn__next_line(&r);
        if (!line.size) continue;
        if (first && line.size >= sizeof version && tfn__same(line.s, version, sizeof version))
            continue;
        if (k && !tfn__read_merge(k, v->merges, line, buffer, v->longest))
            tfn__fail_merge(e, v->merges);
        v->merges++;
    }
}

/* -- from SentencePiece's models ------------------------------------------------------------- */

/* tokenizer.model and spiece.model are Protocol Buffers messages. A message has fields in any
 * order, each with a number key, field*8 + type, and a value by its type: 0 a number with 7 bits a
 * byte, lowest first; 1 eight bytes; 5 four bytes; 2 a number of bytes and these bytes. The message
 * is a ModelProto:
 *
 *     1  the pieces, one after the other: 1 text, 2 score (a float), 3 type
 *     2  training: 3 model, 24 marks after words, 35 byte_fallback, 40-43 the ids of <unk>, <s>,
 *        </s>, <pad>
 *     3  normalizer: 2 table, 3 a space in front, 4 no extra spaces, 5 marks for spaces
 */
enum { TFN__PIECE_NORMAL = 1, TFN__PIECE_UNKNOWN, TFN__PIECE_CONTROL, TFN__PIECE_USER,
       TFN__PIECE_UNUSED, TFN__PIECE_BYTE };
typedef struct tfn__message {
    uint32_t number;
    uint64_t value;                             /* for types 0 and 5 */
    tfn__reader bytes;                          /* for type 2 */
} tfn__message;

static uint64_t tfn__model_number(tfn__reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        const int32_t c = tfn__peek(r);
        if (!tfn__accept(r, c)) break;
        if (shift < 64) v |= (uint64_t)(c & 127) << shift;
        if (c < 128) return v;
    }
    tfn__want(r, "a number");
    return 0;
}

/* Read the next field of a message. Returns false at its end or after an error, where callers stop.
 *
 * Unknown fields are skipped like the others, because later versions add some. Each length is
 * compared with the rest of the message. So a false length is an error, and no field reaches past
 * the end of its message. */
static bool tfn__model_field(tfn__reader *r, tfn__message *f)
{
    uint64_t key;
    uint64_t bytes = 0;
    if (r->at >= r->size) return false;
    key = tfn__model_number(r);
    f->number = (uint32_t)(key >> 3);
    f->bytes = tfn__read_from(NULL, 0);
    f->value = 0;
    if (key % 8 == 0) f->value = tfn__model_number(r);
    else if (key % 8 == 1) bytes = 8;
    else if (key % 8 == 5) bytes = 4;
    else if (key % 8 == 2) bytes = tfn__model_number(r);
    else tfn__want(r, "a field");
    if (bytes > r->size - r->at) tfn__want(r, "a length within the message");
    if (r->wanted) return false;
    f->bytes = tfn__read_from(r->s + r->at, (size_t)bytes);
    if (key % 8 == 5) f->value = tfn__map_unit(r->s + r->at, 0);
    r->at += (size_t)bytes;
    return true;
}

/* The flags of a piece by its type. BPE cuts a user's piece out of a text; for Unigram it is a
 * token like any other, with a high score. Pieces of bytes, special ones and unused ones are never
 * found in a text: bytes replace unknown characters, special ones come from trusted text, and
 * unused ones only decode. With BPE no piece may be unused, because it would be merged and split
 * again. */
static uint8_t tfn__piece_flags(const tfn__vocab *v, uint64_t type)
{
    if (type == TFN__PIECE_UNKNOWN || type == TFN__PIECE_CONTROL)
        return TFN__RAW | TFN__SPECIAL | TFN__ADDED;
    if (type == TFN__PIECE_BYTE || type == TFN__PIECE_UNUSED) return TFN__RAW;
    if (type == TFN__PIECE_USER && v->kind == TFN_TOKENIZER_CHARACTER_BPE)
        return TFN__RAW | TFN__ADDED | TFN__LATE;
    if (type == TFN__PIECE_USER) return TFN__ADDED | TFN__LATE;
    return 0;
}

/* Marian's tokenizers (Junczys-Dowmunt et al. 2018) have a model for each language, source.spm and
 * target.spm, and one vocab.json for both. source.spm cuts a text into pieces, and vocab.json has
 * their ids: { "</s>": 0, "<unk>": 1, ..., "<pad>": 58100 }. The other tokens of vocab.json
 * are pieces of target.spm. They are not found in a text but must decode, so target.spm itself is
 * not needed. A piece without an id becomes a token after those with one, and is encoded as
 * "<unk>".
 *
 * While pieces are read, all tokens of vocab.json are in the table of strings. Special tokens are
 * recognized by their names, and target languages by the form ">>fra<<". */
static void tfn__apart_tokens(tfn_tokenizer *k)
{
    for (int32_t id = 0; id < k->vocab; id++) {
        const uint8_t *s = k->text + k->start[id];
        const size_t n = tfn__token_bytes(k, id);
        int32_t *slot = tfn__string_slot(k->slots, k->text, k->start, s, n);
        const bool language = n > 4 && tfn__same(s, (const uint8_t *)">>", 2)
                              && tfn__same(s + n - 2, (const uint8_t *)"<<", 2);
        if (*slot)
            tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                      "token %d of vocab.json is the same as token %d", id, *slot - 1);
        *slot = id + 1;
        k->flags[id] = TFN__RAW;
        if (language || tfn__special_row(s, n) >= 0) k->flags[id] |= TFN__SPECIAL | TFN__ADDED;
    }
}

/* Add one piece of source.spm: text can then be encoded as its id, unless its name makes it
 * special. Without k, reserve room as if it had no id. SEEN: the token was a piece before. */
static void tfn__apart_piece(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, tfn__reader text,
                             uint8_t flags, double score)
{
    int32_t id;
    if (!k) {
        v->spare++;
        v->bytes += text.size;
        return;
    }
    id = tfn__token_id(k, text.s, text.size);
    if (id < 0 && flags & TFN__RAW) return;             /* "<s>", which no text contains */
    if (id < 0) {
        id = (int32_t)v->count;
        tfn__add_token(v, k, text.s, text.size, flags);
    } else if (k->flags[id] & TFN__SEEN) {
        tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "the piece of token %d comes twice", id, 0);
    } else if (!(k->flags[id] & TFN__SPECIAL)) k->flags[id] = flags | TFN__SEEN;
    k->score[id] = score;
}

/* The id of a special token in vocab.json. Without k any id, because then ids are only counted. */
static int32_t tfn__apart_id(tfn_error *e, const tfn_tokenizer *k, const char *name)
{
    int32_t id = 0;
    if (k) id = tfn__token_id(k, (const uint8_t *)name, tfn__length(name));
    if (id < 0) tfn__fail_name(e, TFN_BAD_FORMAT, "tokenizer", "vocab.json has no %s", name);
    return id;
}

/* After all pieces: set the ids around a text and the id of unknown text. */
static void tfn__apart_end(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k,
                           const tfn_tokenizer_source *s)
{
    v->unknown_id = tfn__apart_id(e, k, "<unk>") + 1;
    if (s->begin) tfn__frame_id(v, k, tfn__apart_id(e, k, "<s>"), false);
    if (s->end) tfn__frame_id(v, k, tfn__apart_id(e, k, "</s>"), true);
    v->added = v->count;                                /* an upper limit */
    if (!k) return;
    k->tokens = (int32_t)v->count;
    for (int32_t id = 0; id < k->tokens; id++) k->flags[id] &= (uint8_t)~TFN__SEEN;
    TFNORM_MEMSET(k->slots + 1, 0, ((size_t)k->slots[0] + 1) * sizeof *k->slots);
}

/* Read one piece. A user's piece gets its score after all others; until then a marker value. */
static void tfn__model_piece(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, tfn__reader r)
{
    tfn__message f;
    tfn__reader text = tfn__read_from(NULL, 0);
    uint64_t type = TFN__PIECE_NORMAL;
    uint8_t flags;
    float score = 0;
    while (tfn__model_field(&r, &f)) {
        const uint32_t bits = (uint32_t)f.value;
        if (f.number == 1) text = f.bytes;
        if (f.number == 2) TFNORM_MEMCPY(&score, &bits, sizeof bits);
        if (f.number == 3) type = f.value;
    }
    if (!text.size || !tfn__is_utf8(text.s, text.size)) tfn__want(&r, "a text in UTF-8");
    if (!(score > -1e20f && score < 1e20f)) tfn__want(&r, "a score");   /* times bytes for users */
    if (type == TFN__PIECE_UNUSED && v->kind != TFN_TOKENIZER_UNIGRAM)
        tfn__want(&r, "a type in use");
    if (type > TFN__PIECE_BYTE) tfn__want(&r, "a type from 1 to 6");
    if (type == TFN__PIECE_USER && v->apart) tfn__want(&r, "a type other than a user's");
    if (r.wanted)
        tfn__fail_name(e, TFN_BAD_FORMAT, "tokenizer", "piece %d: %s is expected", r.wanted);
    if (r.wanted) e->found = (int64_t)v->count;
    if (r.wanted) return;
    flags = tfn__piece_flags(v, type);
    if (flags & TFN__ADDED) v->added++;
    if (type == TFN__PIECE_UNKNOWN) v->unknown_id = (int32_t)v->count + 1;
    if (v->apart) {
        tfn__apart_piece(e, v, k, text, flags, (double)score);
        return;
    }
    if (k) k->score[v->count] = (double)score;
    if (k && type == TFN__PIECE_USER) k->score[v->count] = TFN__USER_SCORE;
    tfn__add_token(v, k, text.s, text.size, flags);
}

/* A number field of a message; `missing` without the field. */
static uint64_t tfn__model_value(tfn__reader r, uint32_t number, uint64_t missing)
{
    tfn__message f;
    while (tfn__model_field(&r, &f))
        if (f.number == number) missing = f.value;
    return missing;
}

/* Set the kind and the steps of the normalizer. */
static void tfn__model_rules(tfn_error *e, tfn__vocab *v, tfn__reader trained, tfn__reader rules)
{
    const uint64_t model = tfn__model_value(trained, 3, 1);
    tfn__message f;
    v->kind = TFN_TOKENIZER_UNIGRAM;
    if (model == 2) v->kind = TFN_TOKENIZER_CHARACTER_BPE;
    v->split = TFN_SPLIT_NONE;
    v->marked = v->scored = v->single = v->fuse = v->numbered = true;
    v->fallback = tfn__model_value(trained, 35, 0) != 0;
    v->unknown_id = (int32_t)(tfn__model_value(trained, 40, 0) + 1);
    v->normalizer = TFN_NORMALIZER_UTF8 + TFN_NORMALIZER_MARKS;
    v->decoder = TFN_DECODER_MARKS;
    if (tfn__model_value(rules, 3, 1)) {
        v->normalizer += TFN_NORMALIZER_PREFIX;
        v->decoder += TFN_DECODER_STRIP;
    }
    if (tfn__model_value(rules, 4, 1)) {
        v->normalizer += TFN_NORMALIZER_LEFT + TFN_NORMALIZER_RIGHT + TFN_NORMALIZER_COLLAPSE;
        v->decoder |= TFN_DECODER_STRIP + TFN_DECODER_STRIP_ALL;
    }
    if (model != 1 && model != 2)
        tfn__fail(e, TFN_UNSUPPORTED, "tokenizer",
                  "model type %d is not supported, only Unigram (1) and BPE (2)",
                  (int64_t)model, 0);
    if (!tfn__model_value(rules, 5, 1) || tfn__model_value(trained, 24, 0))
        tfn__fail(e, TFN_UNSUPPORTED, "tokenizer",
                  "a model without escape_whitespaces or with treat_whitespace_as_suffix", 0, 0);
    while (tfn__model_field(&rules, &f)) {
        if (f.number != 2 || !f.bytes.size) continue;
        v->map = f.bytes.s;
        v->map_bytes = f.bytes.size;
    }
    if (v->map_bytes) v->normalizer += TFN_NORMALIZER_CHARSMAP;
}

/* Read the whole file. The fields that determine the kind of the pieces come after the pieces, so
 * they are read first. With the pieces known, the ids of <s> and </s> around a text can be checked;
 * Marian's are in vocab.json. */
SHARED void tfn__model_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k,
                            const tfn_tokenizer_source *s)
{
    const tfn__reader all = tfn__read_from(s->model, s->model_size);
    tfn__reader r = all;
    tfn__reader trained = tfn__read_from(NULL, 0);
    tfn__reader rules = tfn__read_from(NULL, 0);
    tfn__message f;
    int32_t id;
    while (tfn__model_field(&r, &f)) {
        if (f.number == 2) trained = f.bytes;
        if (f.number == 3) rules = f.bytes;
    }
    tfn__check_reader(e, &r, "the model is wrong at byte %d: %s is expected");
    tfn__model_rules(e, v, trained, rules);
    if (s->vocab) {
        v->apart = v->plain = true;
        v->tokens = tfn__read_from(s->vocab, s->vocab_size);
        if (v->fallback)
            tfn__fail(e, TFN_UNSUPPORTED, "tokenizer",
                      "a model with byte_fallback beside vocab.json is not supported", 0, 0);
        if (e->status == TFN_OK) tfn__vocab_pass(e, v, k);
        if (k && e->status == TFN_OK) tfn__apart_tokens(k);
    }
    r = all;
    while (tfn__model_field(&r, &f)) {
        if (e->status != TFN_OK) break;
        if (f.number == 1) tfn__model_piece(e, v, k, f.bytes);
    }
    if (v->apart) {
        if (e->status == TFN_OK) tfn__apart_end(e, v, k, s);
        return;
    }
    id = (int32_t)tfn__model_value(trained, 41, 1);
    if (s->begin && id >= 0 && (size_t)id < v->count) tfn__frame_id(v, k, id, false);
    id = (int32_t)tfn__model_value(trained, 42, 2);
    if (s->end && id >= 0 && (size_t)id < v->count) tfn__frame_id(v, k, id, true);
}
