#include "tokenize.h"
#include "../ground/ground.h"
#include "json.h"
#include "unicode.h"
#include "normal_forms.h"
#include "pieces.h"
#include "vocabulary.h"
#include "merging.h"
#include "published.h"
#include "tokenizer_json.h"
#include "regex.h"
#include "steps.h"

/* Turns text into ids and back: bytes, characters, words, and byte-pair encoding over bytes and
 * GPT-2's words (Radford et al. 2019). Builds on vocabulary, merging and the readers of published
 * tokenizers. In order:
 *
 *   size and init          the block that holds the tables, and filling them
 *   encoding, decoding     with these tables
 *   saving                 as a blob, vocab.json or merges.txt
 *
 * BPE encodes a word by the learned merges, in the order in which they were learned. Words that
 * merge to one token are marked ENTIRE, so most words need one look-up. The result is the same as
 * from the plain algorithm. */

/* -- size and init --------------------------------------------------------------------------- */
/* Read the whole source: count, or store if k is given. A trainer has priority over a blob, a blob
 * over files. The buffer is for merges of files. */
static void tfn__source_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer,
                             const tfn_tokenizer_source *s)
{
    const bool lines = !s->json && s->kind == TFN_TOKENIZER_WORDPIECE;      /* vocab.txt */
    const bool texts = s->json || (s->vocab && !s->model && !lines);
    const bool files = texts && !s->trainer && !s->blob;    /* merges in a separate pass */
    TFNORM_MEMSET(v, 0, sizeof *v);
    if (k) k->start[0] = 0;
    if (s->trainer) tfn__trained_pass(e, v, k, s->trainer);
    else if (s->blob) tfn__blob_pass(e, v, k, s->blob, s->blob_size);
    else if (s->json) tfn__json_source(e, v, s);
    else if (s->model) tfn__model_pass(e, v, k, s);
    else if (s->vocab && lines) tfn__lines_pass(e, v, k, s);
    else if (s->vocab) tfn__vocab_source(e, v, s);
    else tfn__fail(e, TFN_BAD_OPTION, "tokenizer", "the source is empty", 0, 0);
    if (files && e->status == TFN_OK) tfn__vocab_pass(e, v, k);
    if (files && e->status == TFN_OK) tfn__frame_pass(e, v, k);
    if (s->blob && v->stepped && e->status == TFN_OK) {
        tfn__compile_rules(e, v, NULL);
        tfn__check_rules(e, v);
    }

    /* Files name the parts of a merge by their bytes, so the table of strings must exist first. */
    if (k && e->status == TFN_OK) tfn__index_tokens(k);
    if (k && e->status == TFN_OK) tfn__find_unknown(k, v);
    if (!files || e->status != TFN_OK) return;
    if (v->kind == TFN_TOKENIZER_WORDPIECE || v->scored) return;
    if (v->marked) tfn__merge_list_pass(e, v, k, buffer);
    else tfn__merges_pass(e, v, k, buffer, s);
}

/* Check that a source is not too large: counts must fit an int32_t with room to double them. */
static bool tfn__source_fits(tfn_error *e, tfn__vocab *v, size_t *rule_bytes)
{
    const size_t most = INT32_MAX / 4;
    bool fits = v->count <= most && v->merges <= most && v->bytes <= most && v->map_bytes <= most;
    if (v->single || !v->normalizer) v->shadows = 0;
    fits = fits && v->spare <= most - v->count && v->begins + v->ends <= most;
    fits = fits && v->shadows <= most / TFN__SHADOW_BYTES;
    *rule_bytes = 0;
    if (v->stepped) *rule_bytes = tfn__rules_text(v, NULL, 0);
    if (fits) v->bytes += v->shadows * TFN__SHADOW_BYTES;
    fits = fits && v->bytes <= most && *rule_bytes <= most && v->code_words <= (int32_t)most;
    if (!fits)
        tfn__fail(e, TFN_TOO_LARGE, "tokenizer", "over %d bytes or tokens", (int64_t)most, 0);
    if (v->count == v->hidden)
        tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "the vocabulary is empty", 0, 0);
    return e->status == TFN_OK;
}

/* Take the options of a source, everything except its tables. */
static void tfn__take_options(tfn_tokenizer *k, const tfn__vocab *v)
{
    k->kind = v->kind;
    k->split = v->split;
    k->marked = v->marked;
    k->prefix_space = v->prefix_space;
    k->whole = v->whole;
    k->normalizer = v->normalizer;
    k->decoder = v->decoder;
    k->most_chars = v->most_chars;
    k->fallback = v->fallback;
    k->fuse = v->fuse;
    k->scored = v->scored;
    k->single = v->single;
    k->apart = v->apart;
    k->unknown_byte = -1;
    k->map_bytes = (int32_t)v->map_bytes;
    k->code_words = v->code_words;
    TFNORM_MEMCPY(k->inside, v->inside, sizeof k->inside);
    TFNORM_MEMCPY(k->suffix, v->suffix, sizeof k->suffix);
    k->vocab = (int32_t)(v->count - v->hidden);
    k->tokens = (int32_t)v->count;
    k->merges = (int32_t)v->merges;
    k->begins = (int32_t)v->begins;
    k->ends = (int32_t)v->ends;
}

/* Place the block. Returns its bytes, or 0 after an error; with mem the pointers are set. *buffer
 * holds merges of files while they are read and is as long as the longest token. */
static size_t tfn__tokenizer_lay(tfn_tokenizer *k, const tfn_tokenizer_source *s, uint8_t **buffer,
                                 void *mem, size_t size)
{
    tfn__arena a = tfn__arena_in(mem, size);
    tfn_error *e = &k->error;
    tfn__vocab v;
    size_t rule_bytes;
    TFNORM_MEMSET(k, 0, sizeof *k);
    if (!tfn__given(e, "tokenizer", "source", s)) return 0;
    tfn__source_pass(e, &v, NULL, NULL, s);
    if (!tfn__source_fits(e, &v, &rule_bytes)) return 0;
    tfn__take_options(k, &v);
    k->rule_bytes = (int32_t)rule_bytes;
    v.count += v.spare;
    if (!v.marked) v.added = TFN__SPECIAL_NAMES;
    k->start = tfn__take_ids(&a, v.count + v.shadows + 1, e);
    k->merge = tfn__take_ids(&a, 3 * v.merges, e);
    k->byte_id = tfn__take_ids(&a, 256, e);
    k->slots = tfn__take_slots(&a, v.count, e);
    k->merge_slots = tfn__take_slots(&a, v.merges, e);
    k->flags = tfn__take(&a, v.count + v.shadows, 1, e);
    k->text = tfn__take(&a, v.bytes, 1, e);
    k->frame = tfn__take_ids(&a, v.begins + v.ends, e);
    k->added_ids = tfn__take_ids(&a, v.added, e);
    if (v.kind == TFN_TOKENIZER_WORDPIECE || v.scored) k->order = tfn__take_ids(&a, v.count, e);
    if (v.scored) k->rank = tfn__take_ids(&a, v.count, e);
    if (v.scored) k->score = (double *)(void *)tfn__take(&a, v.count, sizeof *k->score, e);
    if (v.map_bytes) k->map = tfn__take(&a, v.map_bytes, 1, e);
    if (v.apart) k->others = tfn__take_slots(&a, v.count, e);
    if (v.shadows) k->shadow = tfn__take_ids(&a, v.shadows, e);
    if (v.stepped) k->rules = (char *)tfn__take(&a, rule_bytes, 1, e);
    if (v.stepped) k->code = tfn__take_ids(&a, (size_t)v.code_words, e);
    *buffer = tfn__take(&a, v.longest, 1, e);
    if (e->status != TFN_OK) return 0;
    if (mem) TFNORM_MEMSET(k->flags, 0, v.count + v.shadows);
    if (mem && v.scored) TFNORM_MEMSET(k->score, 0, v.count * sizeof *k->score);
    return a.peak + (TFN__ALIGN - 1);
}

TFNORM_API size_t tfn_tokenizer_size(const tfn_tokenizer_source *source)
{
    tfn_tokenizer k;
    uint8_t *buffer;
    return tfn__tokenizer_lay(&k, source, &buffer, NULL, SIZE_MAX);
}

TFNORM_API tfn_status tfn_tokenizer_init(tfn_tokenizer *k, const tfn_tokenizer_source *source,
                                         void *mem, size_t size)
{
    tfn__vocab v;
    uint8_t *buffer;
    if (!k) return TFN_NULL;
    if (!mem) size = 0;
    if (!tfn__tokenizer_lay(k, source, &buffer, mem, size)) return k->error.status;
    tfn__source_pass(&k->error, &v, k, buffer, source);
    if (k->error.status == TFN_OK) tfn__store_map(k, &v);
    if (k->error.status == TFN_OK && v.stepped) {
        tfn__rules_text(&v, k->rules, (size_t)k->rule_bytes);
        tfn__compile_rules(&k->error, &v, k->code);
    }
    if (k->error.status == TFN_OK) tfn__index_characters(k);
    if (k->error.status == TFN_OK) tfn__index_merges(k);
    if (k->error.status == TFN_OK) tfn__index_order(k);
    if (k->error.status == TFN_OK) tfn__index_unigrams(k);
    if (k->error.status == TFN_OK) tfn__index_added(k);
    return k->error.status;
}

/* Put one byte: the lowest 8 bits. */
SHARED void tfn__put_byte(tfn__text *t, size_t byte)
{
    const uint8_t s = (uint8_t)byte;
    tfn__put_bytes(t, &s, 1);
}

/* -- encoding and decoding ------------------------------------------------------------------- */

/* Merge one word, with a space in front if `space`. A word starts as one symbol per byte. Symbols
 * of a short word are on the stack, symbols of a long word in the room for the ids; a long word
 * without room counts as its bytes. work: how much of the room may be overwritten. */
static ptrdiff_t tfn__encode_word(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                  ptrdiff_t work, const uint8_t *s, size_t n, bool space)
{
    int32_t symbol[TFN__SHORT_WORD];
    ptrdiff_t count;
    if (n + space > TFN__SHORT_WORD) {
        if ((size_t)room < n + space) return (ptrdiff_t)(n + space);
        count = tfn__symbols(k, ids, s, n, space, true);
        return tfn__merge_long(k, ids, count, work);
    }
    count = tfn__symbols(k, symbol, s, n, space, true);
    count = tfn__merge_all(k, symbol, count);
    room = tfn__min(room, count);
    for (ptrdiff_t i = 0; i < room; i++) ids[i] = symbol[i];
    return count;
}

/* The longest token at the start of the n bytes at s, or if `inside` the longest that continues a
 * word; -1: none. *bytes: its length. */
static int32_t tfn__longest_token(const tfn_tokenizer *k, const uint8_t *s, size_t n, bool inside,
                                  size_t *bytes)
{
    tfn__search x = tfn__search_in(k->order, 0, k->sorted, 0);
    int32_t found = -1;
    if (inside) x = tfn__search_in(k->order, k->inner[0], k->inner[1], tfn__length(k->inside));
    for (size_t at = 0; at < n; at++) {
        int32_t id;
        if (!tfn__search_on(k, &x, s[at], &id)) break;
        if (id < 0) continue;
        found = id;
        *bytes = at + 1;
    }
    return found;
}

/* True if a word has more than `most` characters. */
static bool tfn__has_more(const uint8_t *s, size_t n, int32_t most)
{
    int32_t chars = 0;
    int32_t c;
    if (n <= (size_t)most) return false;
    for (size_t at = 0; at < n; chars++) at += tfn__utf8(s + at, n - at, &c);
    return chars > most;
}

/* WordPiece (Schuster and Nakajima 2012) takes the longest token that begins a word, then the
 * longest that continues it, and so on. If that fails anywhere, or if the word is too long, the
 * whole word is unknown. "unaffable" may become una ##ffa ##ble. */
static ptrdiff_t tfn__encode_wordpiece(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                       const uint8_t *s, size_t n)
{
    const int32_t unknown = k->special[TFN_SPECIAL_UNK];
    ptrdiff_t count = 0;
    size_t at = 0;
    bool known = !tfn__has_more(s, n, k->most_chars);
    while (at < n) {
        size_t bytes = 0;
        const int32_t id = tfn__longest_token(k, s + at, n - at, at > 0, &bytes);
        if (count < room) ids[count] = id;
        known = known && id >= 0;
        if (!known) break;
        at += bytes;
        count++;
    }
    if (known) return count;
    if (unknown < 0) return 0;
    if (room) ids[0] = unknown;
    return 1;
}

/* Encode one piece. Returns the number of ids and stores those that fit. For bytes, characters and
 * words a piece is a token or unknown; for BPE this holds if the piece is an ENTIRE token. */
static ptrdiff_t tfn__encode_piece(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                   ptrdiff_t work, const uint8_t *s, size_t n)
{
    int32_t id = tfn__token_id(k, s, n);
    if (k->kind == TFN_TOKENIZER_BPE && (id < 0 || !(k->flags[id] & TFN__ENTIRE)))
        return tfn__encode_word(k, ids, room, work, s, n, false);
    if (k->kind == TFN_TOKENIZER_WORDPIECE && !k->whole) {
        int32_t c;
        tfn__utf8(s, n, &c);
        if (k->split == TFN_SPLIT_BERT && tfn__class(c) == TFN__WHITE) return 0;    /* not a word */
        if (id < 0 || n > (size_t)k->most_chars) return tfn__encode_wordpiece(k, ids, room, s, n);
    }
    if (id < 0) id = k->special[TFN_SPECIAL_UNK];
    if (id < 0) return 0;
    if (room) ids[0] = id;
    return 1;
}

/* True if init made the tokenizer without an error. Encoding and decoding report no errors: an
 * unusable tokenizer gives an empty result. */
SHARED bool tfn__usable(const tfn_tokenizer *k)
{
    return k && k->error.status == TFN_OK && k->start;
}

/* The state of encoding. Ids without room are counted, too, so a first call without room returns
 * the size that is needed. */
typedef struct tfn__encoder {
    const tfn_tokenizer *k;
    int32_t  *ids;
    ptrdiff_t capacity, count;
    ptrdiff_t work;             /* up to here the room may hold temporary data */
    const uint8_t *text;        /* the whole text */
    double    sum;              /* Unigram: sum of the scores so far */
    bool      specials;         /* the text may contain special tokens */
    const uint8_t *origin;      /* the part being normalized, if it is the start of the text */
    bool      waiting;          /* something unknown has no id yet */
    bool      unknown;          /* the last id is unknown text */
    const uint8_t *run;         /* the bytes of that unknown text */
    size_t    run_bytes;        /* their number */
} tfn__encoder;

/* The place for the next ids, and the room there; NULL without room. Ids beyond the room are
 * counted but not stored. */
static int32_t *tfn__next_ids(const tfn__encoder *o, ptrdiff_t *room)
{
    *room = tfn__max(o->capacity - o->count, 0);
    if (!*room) return NULL;
    return o->ids + o->count;
}

/* -- characters: BPE and Unigram -- */

static void tfn__emit(tfn__encoder *o, int32_t id)
{
    if (id >= o->k->vocab) id = o->k->special[TFN_SPECIAL_UNK];
    if (o->count < o->capacity) o->ids[o->count] = id;
    o->count++;
    o->unknown = false;
}

/* Emit n bytes of unknown text: a new id, or for several in a row the same id (fuse). Marian may
 * have a token for the whole run, unless it is very long. The run is looked up before the id is
 * stored, because the text may be in the memory for the ids. */
static void tfn__emit_unknown(tfn__encoder *o, const uint8_t *s, size_t n)
{
    const tfn_tokenizer *k = o->k;
    int32_t id = k->special[TFN_SPECIAL_UNK];
    const bool goes_on = o->unknown && k->fuse;
    if (!goes_on) o->run = s;
    if (!goes_on) o->run_bytes = 0;
    o->run_bytes += n;
    if (k->apart && o->run_bytes <= TFN__SHORT_PIECE) {
        const int32_t *slot = tfn__string_slot(k->others, k->text, k->start, o->run, o->run_bytes);
        if (*slot) id = *slot - 1;
    }
    if (goes_on) o->count--;
    tfn__emit(o, id);
    o->unknown = true;
}

/* True if all bytes of unknown text are tokens. */
static bool tfn__falls_back(const tfn_tokenizer *k, const uint8_t *s, int32_t n)
{
    if (!k->fallback) return false;
    for (int32_t i = 0; i < n; i++)
        if (k->byte_id[s[i]] < 0) return false;
    return true;
}

/* True if unknown text gets its id late. This follows the library's BPE: unknown text waits while
 * other characters fall back to bytes, and several waiting ones may share an id. */
static bool tfn__waits(const tfn_tokenizer *k)
{
    return k->fallback && k->kind == TFN_TOKENIZER_CHARACTER_BPE && !k->scored;
}
static void tfn__emit_waiting(tfn__encoder *o)
{
    if (o->waiting) tfn__emit(o, o->k->special[TFN_SPECIAL_UNK]);
    o->waiting = false;
}

/* Emit a token, or for an unknown symbol its bytes or "<unk>", which may cover several symbols. */
static void tfn__emit_symbol(tfn__encoder *o, int32_t id, const uint8_t *s, int32_t n)
{
    const int32_t unknown = o->k->special[TFN_SPECIAL_UNK];
    if (id >= 0) {
        tfn__emit_waiting(o);
        tfn__emit(o, id);
    } else if (tfn__falls_back(o->k, s, n))
        for (int32_t i = 0; i < n; i++) tfn__emit(o, o->k->byte_id[s[i]]);
    else if (unknown >= 0 && tfn__waits(o->k)) {
        if (!o->k->fuse) tfn__emit_waiting(o);
        o->waiting = true;
    } else if (unknown >= 0) tfn__emit_unknown(o, s, (size_t)n);
}

/* Working memory for a piece of n bytes: the stack, or the room after the ids. Without room returns
 * NULL, and counts enough ids that the returned total is sufficient. */
static int32_t *tfn__room_to_work(tfn__encoder *o, int32_t *few, size_t n)
{
    const ptrdiff_t most = TFN__WORK * (ptrdiff_t)n;
    if (n <= TFN__SHORT_PIECE) return few;
    if (n < INT32_MAX / TFN__WORK && o->work - o->count >= most) return o->ids + o->count;
    o->count += most + (o->capacity - o->work);
    return NULL;
}

/* Encode a piece that is not a token: merge it, or cut it in the best way.
 *
 * Ids overwrite the working memory, but only parts that were read: up to byte i there are at most i
 * ids, and the data about later bytes is stored after them. */
static void tfn__encode_merged(tfn__encoder *o, int32_t *work, const uint8_t *s, size_t n)
{
    tfn__merger m;
    int32_t i = 0;
    tfn__merger_begin(&m, o->k, work, s, (int32_t)n);
    tfn__merger_run(&m);
    while (i < m.n) {
        const int32_t length = m.length[i];
        tfn__emit_symbol(o, m.id[i], s + i, length);
        i += length;
    }
}
static void tfn__encode_best(tfn__encoder *o, int32_t *work, const uint8_t *s, size_t n)
{
    tfn__lattice x;
    int32_t from = 0;
    int32_t end;
    o->sum = tfn__lattice_run(&x, o->k, work, s, (int32_t)n, o->sum, -1);
    end = tfn__lattice_turn(&x, (int32_t)n);
    while (end > 0) {
        const int32_t next = x.begin[end];
        tfn__emit_symbol(o, x.id[end], s + from, end - from);
        from = end;
        end = next;
    }
}

/* Encode a piece, usually a word; at once if it certainly becomes one token. */
static void tfn__encode_characters(tfn__encoder *o, const uint8_t *s, size_t n, bool whole)
{
    int32_t few[TFN__WORK * TFN__SHORT_PIECE];
    const tfn_tokenizer *k = o->k;
    const int32_t id = tfn__token_id(k, s, n);
    int32_t *work;
    if (id >= 0 && (whole || k->flags[id] & TFN__ENTIRE)) {
        tfn__emit_waiting(o);
        tfn__emit(o, id);
        if (k->scored) o->sum += k->score[id];
        if (k->single) o->sum = (double)(float)o->sum;
        return;
    }
    work = tfn__room_to_work(o, few, n);
    if (!work) return;
    if (k->kind == TFN_TOKENIZER_UNIGRAM) tfn__encode_best(o, work, s, n);
    else tfn__encode_merged(o, work, s, n);
}

/* Bytes of the first piece of n >= 1: up to the next mark. Even without such a rule, a text is cut
 * at a mark if no token has the mark after the byte before it. */
static size_t tfn__marked_piece(const tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    if (*k->suffix) return n;
    for (size_t at = 1; at + 3 <= n; at++) {
        if (s[at] != tfn__mark[0] || !tfn__same(s + at, tfn__mark, 3)) continue;
        if (k->split == TFN_SPLIT_MARKS) return at;
        if (!tfn__has_byte(k->joined, s[at - 1])) return at;
    }
    return n;
}

/* Encode a text piece by piece. Pieces from a rule are independent; others continue the state. */
static void tfn__encode_marked(tfn__encoder *o, const uint8_t *s, size_t n)
{
    const tfn_tokenizer *k = o->k;
    const bool cut = k->split == TFN_SPLIT_MARKS;
    o->unknown = false;
    o->sum = 0;
    if (k->whole && !cut && tfn__token_id(k, s, n) >= 0) {
        tfn__encode_characters(o, s, n, true);
        return;
    }
    for (size_t at = 0; at < n;) {
        const size_t bytes = tfn__marked_piece(k, s + at, n - at);
        if (cut) {
            tfn__emit_waiting(o);
            o->unknown = false;
            o->sum = 0;
        }
        tfn__encode_characters(o, s + at, bytes, k->whole && cut);
        at += bytes;
    }
    tfn__emit_waiting(o);
}

/* Pieces are independent of each other for the kinds that know words or bytes:
 *
 *     BPE, bytes, characters, words     a piece is a token, unknown, or merged
 *     WordPiece                         white space gives no id; other pieces are words
 *
 * Cut a text of n >= 1 bytes and encode its pieces one by one. No state passes from piece to piece,
 * so a text may be encoded in parts that end where a piece ends. */
static void tfn__encode_pieces(tfn__encoder *o, const uint8_t *s, size_t n)
{
    const tfn_tokenizer *k = o->k;
    const tfn_tokenizer_kind kind = k->kind;
    const tfn_split split = k->split;
    ptrdiff_t room;
    int32_t *to = tfn__next_ids(o, &room);
    const ptrdiff_t work = o->work - o->count;
    ptrdiff_t count = 0;
    size_t at = 0;
    if (k->prefix_space && s[0] != ' ') {
        at = tfn__word_behind_space(s, n);
        count = tfn__encode_word(k, to, room, work, s, at, true);
    }
    while (at < n) {
        const size_t bytes = tfn__piece_of(kind, split, s + at, n - at);
        int32_t *next = NULL;
        ptrdiff_t left = 0;
        if (count < room) {
            left = room - count;
            next = to + count;
        }
        count += tfn__encode_piece(k, next, left, work - count, s + at, bytes);
        at += bytes;
    }
    o->count += count;
}

/* -- by the steps of a program -- */

/* Memory for `bytes` bytes: the stack, or the end of the room, which shrinks so that the ids of
 * this text fit before it. Without room returns NULL, and counts enough ids that the returned total
 * is sufficient for a text that may grow to `most` bytes. */
static uint8_t *tfn__tail(tfn__encoder *o, uint8_t *few, size_t bytes, size_t most)
{
    const ptrdiff_t taken = (ptrdiff_t)(bytes / sizeof *o->ids + 1);
    size_t times = 5;
    if (bytes <= TFN__SHORT_TEXT) return few;
    if (o->work - o->count >= taken + 2*(ptrdiff_t)bytes) {
        o->work -= taken;
        return (uint8_t *)(o->ids + o->work);
    }
    if (o->k->kind >= TFN_TOKENIZER_CHARACTER_BPE) times += 4*TFN__WORK;
    most = tfn__mul(most, times) & PTRDIFF_MAX;
    o->count += (ptrdiff_t)tfn__min((ptrdiff_t)most, PTRDIFF_MAX / 4) + (o->capacity - o->work);
    return NULL;
}

/* Encode a piece behind an additional space. Where pieces are looked up before they are merged
 * (ignore_merges), so is this one with its space; no token of such a model is longer than `few`. */
static ptrdiff_t tfn__encode_spaced(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                    ptrdiff_t work, const uint8_t *s, size_t n)
{
    uint8_t few[TFN__SHORT_TEXT] = " ";
    int32_t id = -1;
    if (k->whole && n < sizeof few) {
        TFNORM_MEMCPY(few + 1, s, n);
        id = tfn__token_id(k, few, n + 1);
    }
    if (id < 0) return tfn__encode_word(k, ids, room, work, s, n, true);
    if (room) ids[0] = id;
    return 1;
}

/* A piece that is being cut. */
typedef struct tfn__span {
    const uint8_t *s;
    size_t n;
    bool   space;                               /* an additional space in front of it */
    bool   shown;                               /* its bytes are shown as characters */
} tfn__span;

static void tfn__encode_part(tfn__encoder *o, tfn__span p)
{
    const tfn_tokenizer *k = o->k;
    const ptrdiff_t work = o->work - o->count;
    ptrdiff_t room;
    int32_t *ids = tfn__next_ids(o, &room);
    if (k->kind >= TFN_TOKENIZER_CHARACTER_BPE) tfn__encode_marked(o, p.s, p.n);
    else if (p.space) o->count += tfn__encode_spaced(k, ids, room, work, p.s, p.n);
    else o->count += tfn__encode_piece(k, ids, room, work, p.s, p.n);
}

static void tfn__cut_part(tfn__encoder *o, const int32_t *step, int32_t left, tfn__span p);

/* Cut into words by known rules. Such a step never follows one that shows bytes. The first word may
 * start with a space. */
static void tfn__cut_words(tfn__encoder *o, const int32_t *step, int32_t left, tfn__span p,
                           tfn_split split)
{
    while (p.n) {
        tfn__span word = p;
        if (p.space) word.n = tfn__word_behind_space(p.s, p.n);
        else word.n = tfn__piece_of(TFN_TOKENIZER_BPE, split, p.s, p.n);
        word.shown = *step == TFN__STEP_BYTES;
        tfn__cut_part(o, step + step[1], left - 1, word);
        p.s += word.n;
        p.n -= word.n;
        p.space = false;
    }
}

static void tfn__cut_pattern(tfn__encoder *o, const int32_t *step, int32_t left, tfn__span p)
{
    tfn__cutter x = tfn__cutter_of(step, p.s, p.n, p.shown);
    tfn__span piece = p;
    size_t begin;
    size_t end;
    while (tfn__cut_next(&x, &begin, &end)) {
        piece.s = p.s + begin;
        piece.n = end - begin;
        tfn__cut_part(o, step + step[1], left - 1, piece);
    }
}

/* Replace the spaces of a piece by marks, and put a mark in front if the step asks for one. */
static size_t tfn__put_metaspaced(const tfn__encoder *o, const int32_t *step, uint8_t *to,
                                  size_t room, tfn__span p)
{
    const int32_t flags = step[TFN__STEP_HEAD];
    const uint8_t *mark;
    const size_t bytes = tfn__step_text(step + TFN__STEP_HEAD + 1, &mark);
    tfn__text t = tfn__text_in(to, room);
    const bool there = p.n >= bytes && tfn__same(p.s, mark, bytes);
    if ((flags & 1 || (flags & 2 && p.s == o->origin)) && !there && *p.s != ' ')
        tfn__put_bytes(&t, mark, bytes);
    for (size_t at = 0; at < p.n; at++) {
        if (p.s[at] == ' ') tfn__put_bytes(&t, mark, bytes);
        else tfn__put_byte(&t, p.s[at]);
    }
    return t.used;
}

static void tfn__cut_marks(tfn__encoder *o, const int32_t *step, int32_t left, tfn__span p)
{
    const ptrdiff_t work = o->work;
    const uint8_t *mark;
    const size_t length = tfn__step_text(step + TFN__STEP_HEAD + 1, &mark);
    uint8_t few[TFN__SHORT_TEXT];
    const size_t n = tfn__put_metaspaced(o, step, NULL, 0, p);
    uint8_t *to = tfn__tail(o, few, n, n);
    size_t at = 0;
    if (!to) return;
    tfn__put_metaspaced(o, step, to, n, p);
    p.s = to;
    for (size_t end = 1; end <= n; end++) {             /* each mark begins a new piece */
        if (end < n) {
            if (!(step[TFN__STEP_HEAD] & 4) || !length || n - end < length) continue;
            if (to[end] != mark[0] || !tfn__same(to + end, mark, length)) continue;
        }
        p.s = to + at;
        p.n = end - at;
        tfn__cut_part(o, step + step[1], left - 1, p);
        at = end;
    }
    o->work = work;
}

/* Run a piece through the remaining steps, `left` of them, and encode the result. */
static void tfn__cut_part(tfn__encoder *o, const int32_t *step, int32_t left, tfn__span p)
{
    int32_t value;
    if (!p.n) return;
    if (!left) {
        tfn__encode_part(o, p);
        return;
    }
    value = step[TFN__STEP_HEAD];
    switch (step[0]) {
    case TFN__STEP_WORDS:
        tfn__cut_words(o, step, left, p, (tfn_split)value);
        return;
    case TFN__STEP_MARKS:
        tfn__cut_marks(o, step, left, p);
        return;
    case TFN__STEP_BYTES:
        p.space = value & 1 && *p.s != ' ';
        if (value & 2) {
            tfn__cut_words(o, step, left, p, TFN_SPLIT_GPT2);
            return;
        }
        p.shown = true;
        tfn__cut_part(o, step + step[1], left - 1, p);
        return;
    default:
        tfn__cut_pattern(o, step, left, p);
    }
}

/* Normalize a text step by step, on the stack or at the end of the room. A result is written below
 * its source and then moved up to the end. */
static const uint8_t *tfn__normalize_steps(tfn__encoder *o, uint8_t few[2][TFN__SHORT_TEXT],
                                           const uint8_t *s, size_t *bytes)
{
    const tfn_tokenizer *k = o->k;
    const ptrdiff_t top = o->work;
    const int32_t *step = k->code + TFN__CODE_HEAD;
    for (int32_t i = 0; i < k->code[0]; i++, step += step[1]) {
        const size_t n = tfn__step_apply(k, step, NULL, 0, s, *bytes);
        const ptrdiff_t taken = (ptrdiff_t)(n / sizeof *o->ids + 1);
        const size_t most = tfn__steps_growth(k, i + 1, n);
        uint8_t *to = tfn__tail(o, few[i & 1], n, most);
        if (!to) return NULL;
        tfn__step_apply(k, step, to, n, s, *bytes);
        if (to != few[i & 1] && o->work + taken < top) {
            uint8_t *end = (uint8_t *)(o->ids + top);
            for (size_t at = n; at-- > 0;) *--end = to[at];
            to = end;
        }
        o->work = top;
        if (to != few[i & 1]) o->work -= taken;
        s = to;
        *bytes = n;
    }
    return s;
}

/* The beginning of the white space in front of `at`, but not before `from`. */
static size_t tfn__space_before(const uint8_t *s, size_t from, size_t at)
{
    while (at > from) {
        size_t begin = at - 1;
        size_t bytes;
        int32_t c;
        while (begin > from) {
            if (s[begin] >> 6 != 2) break;
            begin--;
        }
        bytes = tfn__utf8(s + begin, at - begin, &c);
        if (begin + bytes != at || tfn__class(c) != TFN__WHITE) break;
        at = begin;
    }
    return at;
}

/* Find the first added token at or after `at`, late or not. Returns its id and *begin, or -1. Does
 * not search if the tokenizer has no such tokens, or only special ones that the text must not
 * contain. */
static int32_t tfn__next_added(const tfn__encoder *o, const uint8_t *s, size_t n, size_t at,
                               int late, size_t *begin)
{
    const uint32_t *heads = o->k->heads[late];
    if (!o->specials && !o->k->cuts[late]) return -1;
    for (; at < n; at++) {
        int32_t id;
        if (!tfn__has_byte(heads, s[at])) continue;
        id = tfn__added_at(o->k, s + at, n - at, late);
        if (id < 0) continue;
        *begin = at;
        return id;
    }
    return -1;
}

/* The order in which a text is cut and changed. */
enum { TFN__EARLY_TOKENS, TFN__NORMALIZING, TFN__LATE_TOKENS, TFN__PIECES };

/* Encode a text after normalizing it. A short result is on the stack, a longer one at the end of
 * the room for the ids. Each of its bytes gives at most one id of four bytes. So if the room is
 * large enough for all ids, they never reach bytes that are still to be read. With less room ids
 * are only counted. */
static void tfn__encode_text(tfn__encoder *o, const uint8_t *s, size_t n, int step);
static void tfn__encode_normalized(tfn__encoder *o, const uint8_t *s, size_t n)
{
    uint8_t few[TFN__SHORT_TEXT];
    const tfn_tokenizer *k = o->k;
    const bool first = s == o->text;
    const bool characters = k->kind >= TFN_TOKENIZER_CHARACTER_BPE;
    const ptrdiff_t work = o->work;
    ptrdiff_t room;
    int32_t *ids = tfn__next_ids(o, &room);
    bool same = k->normalizer == TFN_NORMALIZER_NFC && tfn__is_nfc(s, n);
    size_t bytes = n;
    if (!same) bytes = tfn__normalize(k, NULL, 0, &same, s, n, first);
    if (!same) {
        const ptrdiff_t most = (ptrdiff_t)bytes * (1 + k->prefix_space);
        uint8_t *to = few;
        if (bytes > TFN__SHORT_TEXT) {
            if (room < most) {
                o->count += most;
                if (characters) o->count += TFN__WORK * most;
                return;
            }
            to = (uint8_t *)(ids + room) - bytes;
            o->work = o->capacity - (ptrdiff_t)(bytes / sizeof *ids + 1);
        }
        bytes = tfn__normalize(k, to, bytes, &same, s, n, first);
        s = to;
    }
    tfn__encode_text(o, s, bytes, TFN__LATE_TOKENS);
    o->work = work;
}

/* The same for a program of steps. */
static void tfn__encode_by_steps(tfn__encoder *o, const uint8_t *s, size_t n)
{
    uint8_t few[2][TFN__SHORT_TEXT];
    const ptrdiff_t work = o->work;
    const bool first = s == o->text;
    s = tfn__normalize_steps(o, few, s, &n);
    if (!s) return;
    o->origin = NULL;
    if (first) o->origin = s;
    tfn__encode_text(o, s, n, TFN__LATE_TOKENS);
    o->work = work;
}

/* Split a text by the steps after the normalizing ones. */
static void tfn__encode_cut(tfn__encoder *o, const uint8_t *s, size_t n)
{
    const int32_t *step = o->k->code + TFN__CODE_HEAD;
    tfn__span p;
    for (int32_t i = 0; i < o->k->code[0]; i++) step += step[1];
    p.s = s;
    p.n = n;
    p.space = false;
    p.shown = o->k->code[2] != 0;
    tfn__cut_part(o, step, o->k->code[1], p);
}

/* The last step: cut the text between added tokens into pieces and encode these. */
static void tfn__encode_between(tfn__encoder *o, const uint8_t *s, size_t n)
{
    if (o->k->split == TFN_SPLIT_STEPS) tfn__encode_cut(o, s, n);
    else if (o->k->kind >= TFN_TOKENIZER_CHARACTER_BPE) tfn__encode_marked(o, s, n);
    else tfn__encode_pieces(o, s, n);
}

/* True if no word character is next to an added token. */
static bool tfn__is_single(const uint8_t *s, size_t n, size_t begin, size_t end)
{
    int32_t c = -1;
    if (tfn__is_word(tfn__char_before(s, begin, false))) return false;
    if (end < n) tfn__utf8(s + end, n - end, &c);
    return !tfn__is_word(c);
}

/* Cut a text at added tokens and encode them. The text between them goes through the next steps. */
static void tfn__encode_text(tfn__encoder *o, const uint8_t *s, size_t n, int step)
{
    const tfn_tokenizer *k = o->k;
    size_t from = 0;                            /* everything before is encoded */
    size_t at = 0;
    size_t begin = 0;
    size_t last;
    if (!n) return;
    if (step == TFN__NORMALIZING && k->normalizer) {
        if (k->normalizer & TFN_NORMALIZER_STEPS) tfn__encode_by_steps(o, s, n);
        else tfn__encode_normalized(o, s, n);
        return;
    }
    if (step == TFN__NORMALIZING) {
        step = TFN__LATE_TOKENS;
        o->origin = NULL;
        if (s == o->text) o->origin = s;
    }
    if (step == TFN__LATE_TOKENS && k->single && k->kind == TFN_TOKENIZER_UNIGRAM)
        step = TFN__PIECES;                     /* added tokens are ordinary pieces here */
    if (step == TFN__PIECES) {
        tfn__encode_between(o, s, n);
        return;
    }
    for (;;) {
        const int32_t found = tfn__next_added(o, s, n, at, step == TFN__LATE_TOKENS, &begin);
        const int32_t id = tfn__added_id(k, found);
        ptrdiff_t room;
        int32_t *to;
        if (found < 0) break;
        at = begin + tfn__token_bytes(k, found);
        if (k->flags[id] & TFN__SPECIAL && !o->specials) continue;
        if (k->flags[id] & TFN__SINGLE_WORD && !tfn__is_single(s, n, begin, at)) continue;
        if (k->flags[id] & TFN__STRIP_LEFT) begin = tfn__space_before(s, from, begin);
        if (begin > from) tfn__encode_text(o, s + from, begin - from, step + 1);
        from = at;
        if (k->flags[id] & TFN__STRIP_RIGHT) from = tfn__run_of(s, n, at, TFN__WHITE, &last);
        to = tfn__next_ids(o, &room);
        if (room) *to = id;
        o->count++;
    }
    if (from < n) tfn__encode_text(o, s + from, n - from, step + 1);
}

/* Encode with or without special tokens in the text. No state is kept between calls and nothing is
 * allocated: the stack and the room for the ids are the working memory. */
static ptrdiff_t tfn__encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                             const char *text, size_t bytes, bool specials)
{
    tfn__encoder o;
    if (!tfn__usable(k) || !text) return 0;
    o.k = k;
    o.ids = ids;
    o.capacity = capacity;
    o.count = 0;
    o.specials = specials;
    if (!ids) o.capacity = 0;
    o.work = tfn__max(o.capacity, 0);
    o.capacity = o.work;
    o.text = (const uint8_t *)text;
    o.origin = NULL;
    o.waiting = false;
    o.sum = 0;
    o.unknown = false;
    o.run = NULL;
    o.run_bytes = 0;
    tfn__encode_text(&o, (const uint8_t *)text, bytes, TFN__EARLY_TOKENS);
    return o.count;
}

TFNORM_API ptrdiff_t tfn_tokenizer_encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                                          const char *text, size_t bytes)
{
    return tfn__encode(k, ids, capacity, text, bytes, false);
}

TFNORM_API ptrdiff_t tfn_tokenizer_encode_specials(const tfn_tokenizer *k, int32_t *ids,
                                                   ptrdiff_t capacity, const char *text,
                                                   size_t bytes)
{
    return tfn__encode(k, ids, capacity, text, bytes, true);
}

/* True for special tokens, which give no text. "<unk>" does, to show that something was lost. */
static bool tfn__silent(const tfn_tokenizer *k, int32_t id)
{
    return k->flags[id] & TFN__SPECIAL && id != k->special[TFN_SPECIAL_UNK];
}

/* True if tidy text has no space before this token. */
static bool tfn__attaches(const uint8_t *s, size_t n)
{
    static const char beginnings[][4] = { ".", ",", "?", "!", "n't", "'m", "'s", "'ve", "'re" };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const size_t bytes = tfn__length(beginnings[i]);
        if (bytes <= n && tfn__same(s, (const uint8_t *)beginnings[i], bytes)) return true;
    }
    return false;
}

/* Put a token after others: without its prefix if it continues a word, else after a space. */
static void tfn__put_joined(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const size_t mark = tfn__length(k->inside);
    if (mark && n >= mark && tfn__same(s, (const uint8_t *)k->inside, mark)) {
        tfn__put_bytes(t, s + mark, n - mark);
        return;
    }
    if (!(k->decoder & TFN_DECODER_TIDY) || !tfn__attaches(s, n)) tfn__put(t, " ");
    tfn__put_bytes(t, s, n);
}

/* Put a token with marks for spaces, or the token of a byte. A mark at the start of the text may
 * not be a space but the one that the normalizer added. Bytes are put unchanged, so a text that was
 * cut inside a character may begin or end with part of one. */
static void tfn__put_marked(tfn__text *t, const tfn_tokenizer *k, int32_t id, bool first)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const int32_t byte = tfn__byte_token(s, n);
    bool strip = first && k->decoder & TFN_DECODER_STRIP;
    size_t at = 0;
    if (k->fallback && byte >= 0 && k->byte_id[byte] == id) {
        tfn__put_byte(t, (size_t)byte);
        return;
    }
    if (k->decoder & TFN_DECODER_STRIP_ALL && !t->used) strip = true;
    if (strip && n >= 3 && tfn__same(s, tfn__mark, 3)) at = 3;
    while (at < n) {
        if (n - at >= 3 && tfn__same(s + at, tfn__mark, 3)) {
            if (!first || !(k->decoder & TFN_DECODER_STRIP_TOKEN)) tfn__put(t, " ");
            at += 3;
        } else tfn__put_byte(t, s[at++]);
    }
}

/* Put a token that may end a word: its suffix becomes a space, except for the very last token. */
static void tfn__put_ending(tfn__text *t, const tfn_tokenizer *k, int32_t id, bool last)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const size_t suffix = tfn__length(k->suffix);
    for (size_t at = 0; at < n;) {
        if (n - at >= suffix && tfn__same(s + at, (const uint8_t *)k->suffix, suffix)) {
            if (!last) tfn__put(t, " ");
            at += suffix;
        } else tfn__put_byte(t, s[at++]);
    }
}

/* Decode. Tokens that contain their spaces are simply concatenated. */
TFNORM_API size_t tfn_tokenizer_decode(const tfn_tokenizer *k, char *text, size_t capacity,
                                       const int32_t *ids, ptrdiff_t count)
{
    tfn__text t = tfn__text_in(text, capacity);
    bool first = true;
    if (!tfn__usable(k) || !ids) return 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        int32_t id = ids[i];
        if (id < 0 || id >= k->vocab) id = k->special[TFN_SPECIAL_UNK];
        if (id < 0 || tfn__silent(k, id)) continue;
        if (k->decoder & TFN_DECODER_SPACES && !first) tfn__put(&t, " ");
        if (k->decoder & TFN_DECODER_SUFFIX) tfn__put_ending(&t, k, id, i + 1 == count);
        else if (k->decoder & TFN_DECODER_JOIN && !first) tfn__put_joined(&t, k, id);
        else if (k->decoder & TFN_DECODER_MARKS) tfn__put_marked(&t, k, id, first);
        else tfn__put_bytes(&t, k->text + k->start[id], tfn__token_bytes(k, id));
        first = false;
    }
    return t.used;
}

TFNORM_API const char *tfn_tokenizer_token(const tfn_tokenizer *k, int32_t id, size_t *bytes)
{
    if (bytes) *bytes = 0;
    if (!tfn__usable(k) || id < 0 || id >= k->vocab || !tfn__token_bytes(k, id)) return NULL;
    if (bytes) *bytes = tfn__token_bytes(k, id);
    return (const char *)k->text + k->start[id];
}

/* Raw tokens are in no table, so they are compared one by one. */
TFNORM_API int32_t tfn_tokenizer_find(const tfn_tokenizer *k, const char *token, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)token;
    int32_t id;
    if (!tfn__usable(k) || !token) return -1;
    id = tfn__token_id(k, s, bytes);
    if (id >= k->vocab) return -1;
    if (id >= 0) return id;
    for (id = 0; id < k->vocab; id++) {
        if (!(k->flags[id] & TFN__RAW) || tfn__token_bytes(k, id) != bytes) continue;
        if (tfn__same(k->text + k->start[id], s, bytes)) return id;
    }
    return -1;
}
