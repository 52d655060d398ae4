#include "tokenize.h"
#include "../ground/ground.h"
#include "json.h"
#include "unicode.h"
#include "pieces.h"
#include "vocabulary.h"
#include "merging.h"
#include "published.h"
#include "tokenizer_json.h"

#if !defined TFNORM_NO_TOKENIZERS
/* Text to numbers and back: bytes, characters, words, and byte-pair encoding over bytes and GPT-2's
 * words (Radford et al. 2019). In order:
 *
 *   size and init          the block that holds the tables, and filling them
 *   encoding, decoding     with these tables
 *   saving                 as a blob, vocab.json or merges.txt
 *
 * BPE encodes a word by the merges that were learned, in the same order. The encoder knows which
 * words come out as one token when they are merged ("entire"), so that most words cost one look-up;
 * what it gives is what the plain algorithm gives. */

/* -- size and init --------------------------------------------------------------------------- */

/* The whole source: counted, or with k stored. A trainer comes before a blob, a blob before files;
 * the buffer is for the merges of files. */
static void tfn__source_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer,
                             const tfn_tokenizer_source *s)
{
    const bool lines = !s->json && s->kind == TFN_TOKENIZER_WORDPIECE;      /* vocab.txt */
    const bool texts = s->json || (s->vocab && !s->model && !lines);
    const bool files = texts && !s->trainer && !s->blob;    /* else merges come with the tokens */
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

    /* Files name the tokens of merges by their bytes, so these come when they can be found. */
    if (k && e->status == TFN_OK) tfn__index_tokens(k);
    if (k && e->status == TFN_OK) tfn__find_unknown(k, v);
    if (!files || e->status != TFN_OK) return;
    if (v->kind == TFN_TOKENIZER_WORDPIECE || v->scored) return;
    if (v->marked) tfn__merge_list_pass(e, v, k, buffer);
    else tfn__merges_pass(e, v, k, buffer, s);
}

/* Bytes of the block, and (mem) where everything stands; 0: an error. *buffer, for merges of files,
 * is in the block like the rest, as long as the longest token. */
static size_t tfn__tokenizer_lay(tfn_tokenizer *k, const tfn_tokenizer_source *s, uint8_t **buffer,
                                 void *mem, size_t size)
{
    const size_t most = INT32_MAX / 4;      /* a count fits an int32_t with room to double it */
    tfn__arena a = tfn__arena_in(mem, size);
    tfn_error *e = &k->error;
    tfn__vocab v;
    TFNORM_MEMSET(k, 0, sizeof *k);
    if (!tfn__given(e, "tokenizer", "source", s)) return 0;
    tfn__source_pass(e, &v, NULL, NULL, s);
    if (v.count > most || v.spare > most - v.count || v.merges > most || v.bytes > most
        || v.begins + v.ends > most
        || v.map_bytes > most)
        tfn__fail(e, TFN_TOO_LARGE, "tokenizer", NULL, 0, 0);
    if (v.count == v.hidden)
        tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "the vocabulary is empty", 0, 0);
    if (e->status != TFN_OK) return 0;

    k->kind = v.kind;
    k->split = v.split;
    k->marked = v.marked;
    k->prefix_space = v.prefix_space;
    k->whole = v.whole;
    k->normalizer = v.normalizer;
    k->decoder = v.decoder;
    k->most_chars = v.most_chars;
    k->fallback = v.fallback;
    k->fuse = v.fuse;
    k->scored = v.scored;
    k->single = v.single;
    k->apart = v.apart;
    k->map_bytes = (int32_t)v.map_bytes;
    TFNORM_MEMCPY(k->inside, v.inside, sizeof k->inside);
    k->vocab = (int32_t)(v.count - v.hidden);
    k->tokens = (int32_t)v.count;
    v.count += v.spare;
    k->merges = (int32_t)v.merges;
    k->begins = (int32_t)v.begins;
    k->ends = (int32_t)v.ends;
    if (!v.marked) v.added = TFN__SPECIAL_NAMES;
    k->start = tfn__take_ids(&a, v.count + 1, e);
    k->merge = tfn__take_ids(&a, 3 * v.merges, e);
    k->byte_id = tfn__take_ids(&a, 256, e);
    k->slots = tfn__take_slots(&a, v.count, e);
    k->merge_slots = tfn__take_slots(&a, v.merges, e);
    k->flags = tfn__take(&a, v.count, 1, e);
    k->text = tfn__take(&a, v.bytes, 1, e);
    k->frame = tfn__take_ids(&a, v.begins + v.ends, e);
    k->added_ids = tfn__take_ids(&a, v.added, e);
    if (v.kind == TFN_TOKENIZER_WORDPIECE || v.scored) k->order = tfn__take_ids(&a, v.count, e);
    if (v.scored) k->rank = tfn__take_ids(&a, v.count, e);
    if (v.scored) k->score = (double *)(void *)tfn__take(&a, v.count, sizeof *k->score, e);
    if (v.map_bytes) k->map = tfn__take(&a, v.map_bytes, 1, e);
    if (v.apart) k->others = tfn__take_slots(&a, v.count, e);
    *buffer = tfn__take(&a, v.longest, 1, e);
    if (e->status != TFN_OK) return 0;
    if (mem) TFNORM_MEMSET(k->flags, 0, v.count);
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
    if (k->error.status == TFN_OK) tfn__index_characters(k);
    if (k->error.status == TFN_OK) tfn__index_merges(k);
    if (k->error.status == TFN_OK) tfn__index_order(k);
    if (k->error.status == TFN_OK) tfn__index_unigrams(k);
    if (k->error.status == TFN_OK) tfn__index_added(k);
    return k->error.status;
}

/* -- encoding and decoding ------------------------------------------------------------------- */

/* Merge one word in a room that is large enough for doing it fast. */
static ptrdiff_t tfn__encode_long_word(const tfn_tokenizer *k, int32_t *ids, const uint8_t *s,
                                       size_t n, bool space)
{
    tfn__merger m;
    ptrdiff_t count = 0;
    tfn__merger_begin(&m, k, ids, s, (int32_t)n + space, space);
    tfn__merger_run(&m);
    for (int32_t i = 0; i < m.n; i += m.length[i]) {
        int32_t id = m.id[i];
        if (id < 0) id = k->special[TFN_SPECIAL_UNK];
        if (id >= 0) ids[count++] = id;
    }
    return count;
}

/* Merge one word, with a space in front if wanted. Symbols are at first as many as bytes, more than
 * the ids that come out: work is done on the stack, or for a long word in the room for the ids; a
 * long one that has too little room counts as its bytes. */
static ptrdiff_t tfn__encode_word(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                  const uint8_t *s, size_t n, bool space)
{
    static const uint8_t blank = ' ';
    int32_t symbol[TFN__SHORT_WORD];
    int32_t *work = symbol;
    ptrdiff_t count;
    if (n + space > TFN__SHORT_WORD) {
        if ((size_t)room < n + space) return (ptrdiff_t)(n + space);
        if ((size_t)room / TFN__WORK >= n + space && n < INT32_MAX / TFN__WORK)
            return tfn__encode_long_word(k, ids, s, n, space);
        work = ids;
    }
    count = tfn__symbols(k, work, &blank, space);
    count += tfn__symbols(k, work + count, s, n);
    count = tfn__merge_all(k, work, count);
    if (work == ids) return count;
    room = tfn__min(room, count);
    for (ptrdiff_t i = 0; i < room; i++) ids[i] = symbol[i];
    return count;
}

/* The longest token that the n bytes at s begin with, or that goes on with a word there; -1: none.
 * *bytes: how many of these it has. */
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

/* Whether a word has more than so many characters. */
static bool tfn__has_more(const uint8_t *s, size_t n, int32_t most)
{
    int32_t chars = 0;
    int32_t c;
    if (n <= (size_t)most) return false;
    for (size_t at = 0; at < n; chars++) at += tfn__utf8(s + at, n - at, &c);
    return chars > most;
}

/* WordPiece (Schuster and Nakajima 2012): the longest token that a word begins with, then the
 * longest that goes on with it, and so on. A word is unknown as a whole if that fails anywhere, or
 * if it is too long. "unaffable" is una ##ffa ##ble, or as the vocabulary has it. */
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

/* The ids of one piece: how many, of which those are stored that there is room for. Of bytes,
 * characters and words a piece is a token or unknown; so is a piece of BPE that is entire. */
static ptrdiff_t tfn__encode_piece(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                   const uint8_t *s, size_t n)
{
    int32_t id = tfn__token_id(k, s, n);
    if (k->kind == TFN_TOKENIZER_BPE && (id < 0 || !(k->flags[id] & TFN__ENTIRE)))
        return tfn__encode_word(k, ids, room, s, n, false);
    if (k->kind == TFN_TOKENIZER_WORDPIECE) {
        int32_t c;
        tfn__utf8(s, n, &c);
        if (tfn__class(c) == TFN__WHITE) return 0;          /* no word */
        if (id < 0 || n > (size_t)k->most_chars) return tfn__encode_wordpiece(k, ids, room, s, n);
    }
    if (id < 0) id = k->special[TFN_SPECIAL_UNK];
    if (id < 0) return 0;
    if (room) ids[0] = id;
    return 1;
}

/* A tokenizer that init made, without an error. Encoding and decoding have no error of their own:
 * without one that is usable there is nothing. */
SHARED bool tfn__usable(const tfn_tokenizer *k)
{
    return k && k->error.status == TFN_OK && k->start;
}

/* Where ids go, and how many there are. Those that there is no room for are counted alike, so a
 * first call with no room says how much is needed. */
typedef struct tfn__encoder {
    const tfn_tokenizer *k;
    int32_t  *ids;
    ptrdiff_t capacity, count;
    ptrdiff_t work;             /* up to here the room may be used for working */
    const uint8_t *text;        /* all of it */
    double    sum;              /* Unigram: of the scores so far */
    bool      specials;         /* they may stand in the text */
    bool      unknown;          /* the last id is that of something unknown: */
    const uint8_t *run;         /* of these bytes, */
    size_t    run_bytes;        /* so many of them */
} tfn__encoder;

/* Where the next ids go, and for how many there is room; without any NULL. What is counted beyond
 * the room is not stored. */
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

/* Something unknown of n bytes: a new id, or of several in a row the same. Marian's may have one
 * for all of these together, unless they are very long. It is looked up before it is stored: the
 * text may stand where the ids go. */
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

/* A token, or what is none: its bytes, or "<unk>", of several perhaps one. */
static void tfn__emit_symbol(tfn__encoder *o, int32_t id, const uint8_t *s, int32_t n)
{
    const int32_t unknown = o->k->special[TFN_SPECIAL_UNK];
    if (id >= 0) tfn__emit(o, id);
    else if (o->k->fallback) for (int32_t i = 0; i < n; i++) tfn__emit(o, o->k->byte_id[s[i]]);
    else if (unknown >= 0) tfn__emit_unknown(o, s, (size_t)n);
}

/* Where a piece of n bytes is worked on: on the stack, or behind the ids so far. NULL: there is no
 * room; then so much is counted that with what was counted there is. */
static int32_t *tfn__room_to_work(tfn__encoder *o, int32_t *few, size_t n)
{
    const ptrdiff_t most = TFN__WORK * (ptrdiff_t)n;
    if (n <= TFN__SHORT_PIECE) return few;
    if (n < INT32_MAX / TFN__WORK && o->work - o->count >= most) return o->ids + o->count;
    o->count += most + (o->capacity - o->work);
    return NULL;
}

/* A piece that is no token by itself: merged, or cut in the best way.
 *
 * Ids are stored where the work was done, but never before what was there is read: up to byte i
 * there are at most i of them, and all that is known of what is behind it stands further on. */
static void tfn__encode_merged(tfn__encoder *o, int32_t *work, const uint8_t *s, size_t n)
{
    tfn__merger m;
    int32_t i = 0;
    tfn__merger_begin(&m, o->k, work, s, (int32_t)n, false);
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

/* A piece, most often a word: as a whole if it surely comes out so. */
static void tfn__encode_characters(tfn__encoder *o, const uint8_t *s, size_t n, bool whole)
{
    int32_t few[TFN__WORK * TFN__SHORT_PIECE];
    const tfn_tokenizer *k = o->k;
    const int32_t id = tfn__token_id(k, s, n);
    int32_t *work;
    if (id >= 0 && (whole || k->flags[id] & TFN__ENTIRE)) {
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

/* Bytes of the first piece of n >= 1: up to a mark behind its first character. Without a rule that
 * cuts there it is cut all the same where no token has the mark behind that byte. */
static size_t tfn__marked_piece(const tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    for (size_t at = 1; at + 3 <= n; at++) {
        if (s[at] != tfn__mark[0] || !tfn__same(s + at, tfn__mark, 3)) continue;
        if (k->split == TFN_SPLIT_MARKS) return at;
        if (!tfn__has_byte(k->joined, s[at - 1])) return at;
    }
    return n;
}

/* Pieces that rules cut are encoded each for itself; others go on with what is in front. */
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
            o->unknown = false;
            o->sum = 0;
        }
        tfn__encode_characters(o, s + at, bytes, k->whole && cut);
        at += bytes;
    }
}

/* Of the kinds that know words or bytes pieces are independent of each other:
 *
 *     BPE, bytes, characters, words     a piece is a token, unknown, or merged
 *     WordPiece                         white space is nothing; other pieces are words
 *
 * Cut a text of n >= 1 bytes and encode its pieces one by one. No state goes from piece to piece:
 * texts may be encoded in parts that end where a piece ends. */
static void tfn__encode_pieces(tfn__encoder *o, const uint8_t *s, size_t n)
{
    const tfn_tokenizer *k = o->k;
    const tfn_tokenizer_kind kind = k->kind;
    const tfn_split split = k->split;
    ptrdiff_t room;
    int32_t *to = tfn__next_ids(o, &room);
    ptrdiff_t count = 0;
    size_t at = 0;
    if (k->prefix_space && s[0] != ' ') {
        at = tfn__word_behind_space(s, n);
        count = tfn__encode_word(k, to, room, s, at, true);
    }
    while (at < n) {
        const size_t bytes = tfn__piece_of(kind, split, s + at, n - at);
        int32_t *next = NULL;
        ptrdiff_t left = 0;
        if (count < room) {
            left = room - count;
            next = to + count;
        }
        count += tfn__encode_piece(k, next, left, s + at, bytes);
        at += bytes;
    }
    o->count += count;
}

/* Where the white space in front of `at` begins, not before `from`. */
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

/* The first added token at or behind `at`, late or not: its id, and *begin; -1: none. A text of a
 * tokenizer without such ones is not searched, nor for specials that may not stand in it. */
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

/* A text is cut and changed in this order. */
enum { TFN__EARLY_TOKENS, TFN__NORMALIZING, TFN__LATE_TOKENS, TFN__PIECES };

/* A short text that changes is normalized on the stack, a longer one into the end of the room for
 * the ids, and encoded from there. Each of its bytes gives one id at most, which is four bytes:
 * where there is room for all of these, ids never reach bytes that are still to be read. With less
 * room they only count. */
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

/* Cut a text at added tokens, encode them and what is between, which takes the next steps. */
static void tfn__encode_text(tfn__encoder *o, const uint8_t *s, size_t n, int step)
{
    const tfn_tokenizer *k = o->k;
    size_t from = 0;                            /* up to here all is encoded */
    size_t at = 0;
    size_t begin = 0;
    size_t last;
    if (!n) return;
    if (step == TFN__NORMALIZING && k->normalizer) {
        tfn__encode_normalized(o, s, n);
        return;
    }
    if (step == TFN__NORMALIZING) step = TFN__LATE_TOKENS;
    if (step == TFN__LATE_TOKENS && k->single && k->kind == TFN_TOKENIZER_UNIGRAM)
        step = TFN__PIECES;                     /* these are among others there */
    if (step == TFN__PIECES && k->kind >= TFN_TOKENIZER_CHARACTER_BPE) {
        tfn__encode_marked(o, s, n);
        return;
    }
    if (step == TFN__PIECES) {
        tfn__encode_pieces(o, s, n);
        return;
    }
    for (;;) {
        const int32_t id = tfn__next_added(o, s, n, at, step == TFN__LATE_TOKENS, &begin);
        ptrdiff_t room;
        int32_t *to;
        if (id < 0) break;
        at = begin + tfn__token_bytes(k, id);
        if (k->flags[id] & TFN__SPECIAL && !o->specials) continue;
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

/* Both calls: texts whose specials are text, and those that may have some. Nothing is kept from one
 * call to the next, and nothing is allocated: what is worked on stands on the stack, or where ids
 * will be. */
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

/* One byte: the lowest 8 bits. */
SHARED void tfn__put_byte(tfn__text *t, size_t byte)
{
    const uint8_t s = (uint8_t)byte;
    tfn__put_bytes(t, &s, 1);
}

/* Specials but "<unk>" give no text: it stands for something that was there. */
static bool tfn__silent(const tfn_tokenizer *k, int32_t id)
{
    return k->flags[id] & TFN__SPECIAL && id != k->special[TFN_SPECIAL_UNK];
}

/* Whether a token stands behind the one before without a space, in a text that is tidy. */
static bool tfn__attaches(const uint8_t *s, size_t n)
{
    static const char beginnings[][4] = { ".", ",", "?", "!", "n't", "'m", "'s", "'ve", "'re" };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const size_t bytes = tfn__length(beginnings[i]);
        if (bytes <= n && tfn__same(s, (const uint8_t *)beginnings[i], bytes)) return true;
    }
    return false;
}

/* A token behind others: one that goes on with a word without its mark, others behind a space. */
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

/* A token with marks for its spaces, or one of a byte. A mark at the begin may be no space: it is
 * the one more that the normalizer put in front of the text. Bytes are put as they are, so that a
 * text that was cut within a character may end, or begin, with a part of one. */
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

/* Bytes and nothing between them, where spaces are part of the tokens. */
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
        if (k->decoder & TFN_DECODER_JOIN && !first) tfn__put_joined(&t, k, id);
        else if (k->decoder & TFN_DECODER_MARKS) tfn__put_marked(&t, k, id, first);
        else tfn__put_bytes(&t, k->text + k->start[id], tfn__token_bytes(k, id));
        first = false;
    }
    return t.used;
}

TFNORM_API const char *tfn_tokenizer_token(const tfn_tokenizer *k, int32_t id, size_t *bytes)
{
    if (bytes) *bytes = 0;
    if (!tfn__usable(k) || id < 0 || id >= k->vocab) return NULL;
    if (bytes) *bytes = tfn__token_bytes(k, id);
    return (const char *)k->text + k->start[id];
}

/* Raw tokens are in no table: those are searched from the first on. */
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
#endif
