#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "pieces.h"

/* Trains a tokenizer: counts the pieces of texts, then chooses words or learns merges. Byte-pair
 * encoding (Sennrich et al. 2016) repeatedly merges the most frequent pair of neighbours in the
 * words into a new token. With "low" 5 times and "lower" twice the pairs are lo 7, ow 7, we 2, er
 * 2: "lo" becomes a token, then "low" (7), then "er" (2), then "lower". So frequent words become
 * one token, and every text can be encoded. Builds on pieces.
 *
 * The time of a merge is proportional to the changes, not to the text: the trainer keeps the
 * occurrences of each pair in a list and the pairs in a heap. The result is the same as from the
 * plain algorithm.
 *
 * The memory is laid out once, from the options: room for a number of different pieces and of their
 * bytes. A text with more of them is an error that names the option to raise. Nothing is dropped
 * silently, because a vocabulary must not depend on the order of the texts. */

/* -- training: options and memory ------------------------------------------------------------ */

/* Most words and bytes of words: offsets into their text are int32_t. */
enum { TFN__WORD_ROOM = 1 << 30 };

/* All options that are numbers. */
#define TFN__TOKENIZER(field, least, most) \
    TFN__RANGE_OF(tfn_tokenizer_desc, field, TFN__WHOLE, least, most)
static const tfn__limit tfn__tokenizer_limits[] = {
    TFN__TOKENIZER(kind, 0, TFN_TOKENIZER_WORDS), TFN__TOKENIZER(vocab, 0, TFN__ANY),
    TFN__TOKENIZER(min_count, 1, TFN__COUNT), TFN__TOKENIZER(words, 1, TFN__WORD_ROOM),
    TFN__TOKENIZER(word_bytes, 1, TFN__WORD_ROOM)
};

/* Fill in the defaults of a kind. Bytes need no training, and so no room for words. */
static void tfn__trainer_defaults(tfn_tokenizer_desc *d, int32_t first)
{
    int32_t vocab = INT32_MAX;
    int64_t min_count = 1;
    int32_t words = 1 << 18;
    int32_t bytes_each = 12;
    if (d->kind == TFN_TOKENIZER_BPE) {
        vocab = 8192;
        min_count = 2;
    } else if (d->kind == TFN_TOKENIZER_BYTES) {
        vocab = first + 256;
        words = 1;
    } else if (d->kind == TFN_TOKENIZER_CHARACTERS) {
        words = 1 << 14;
        bytes_each = 4;
    }
    if (!d->vocab) d->vocab = vocab;
    if (!d->min_count) d->min_count = min_count;
    if (!d->words) d->words = words;
    if (!d->word_bytes) {
        d->word_bytes = TFN__WORD_ROOM;
        if (d->words > 0 && d->words < TFN__WORD_ROOM / bytes_each)
            d->word_bytes = d->words * bytes_each;
    }
}

/* Ids: the specials, then from `first` on the 256 bytes and merges, or the words or characters. */
static bool tfn__trainer_resolve(tfn_trainer *t, const tfn_tokenizer_desc *desc)
{
    tfn_tokenizer_desc *d = &t->desc;
    int32_t least;
    TFNORM_MEMSET(t, 0, sizeof *t);
    if (!tfn__given(&t->error, "tokenizer", "desc", desc)) return false;
    *d = *desc;
    t->first = !d->no_pad + !d->no_bos + !d->no_eos + !d->no_unk + d->mask;
    tfn__trainer_defaults(d, t->first);
    tfn__check_ranges(&t->error, "tokenizer", d, tfn__tokenizer_limits,
                      sizeof tfn__tokenizer_limits / sizeof *tfn__tokenizer_limits);
    least = t->first;
    if (d->kind == TFN_TOKENIZER_BPE || d->kind == TFN_TOKENIZER_BYTES) least += 256;
    tfn__in_range(&t->error, "tokenizer", "vocab", d->vocab, least, INT32_MAX);
    return t->error.status == TFN_OK;
}

/* Room for pairs. Far fewer pairs exist at one time than the words have bytes. */
static size_t tfn__pair_room(const tfn_tokenizer_desc *d)
{
    return (size_t)d->word_bytes / 4 + 1024;
}

/* Returns the bytes of the block; 0 after an error. */
static size_t tfn__trainer_lay(tfn_trainer *t, void *mem, size_t size)
{
    const tfn_tokenizer_desc *d = &t->desc;
    const size_t words = (size_t)d->words;
    const size_t bytes = (size_t)d->word_bytes;
    const size_t pairs = tfn__pair_room(d);
    tfn__arena a = tfn__arena_in(mem, size);
    tfn_error *e = &t->error;
    t->text = tfn__take(&a, bytes, 1, e);
    t->start = tfn__take_ids(&a, words + 1, e);
    t->count = (int64_t *)(void *)tfn__take(&a, words, sizeof *t->count, e);
    t->slots = tfn__take_slots(&a, words, e);
    if (d->kind >= TFN_TOKENIZER_CHARACTERS) t->order = tfn__take_ids(&a, words, e);
    if (d->kind == TFN_TOKENIZER_BPE) {                 /* per byte, per pair, per id */
        t->symbol = tfn__take_ids(&a, bytes, e);
        t->word = tfn__take_ids(&a, bytes, e);
        t->next = tfn__take_ids(&a, bytes, e);
        t->prev = tfn__take_ids(&a, bytes, e);
        t->pair = (tfn__pair *)(void *)tfn__take(&a, pairs, sizeof *t->pair, e);
        t->heap = tfn__take_ids(&a, pairs, e);
        t->pair_slots = tfn__take_slots(&a, pairs, e);
        t->left = tfn__take_ids(&a, (size_t)d->vocab, e);
        t->right = tfn__take_ids(&a, (size_t)d->vocab, e);
        t->length = tfn__take_ids(&a, (size_t)d->vocab, e);
    }
    if (e->status != TFN_OK) return 0;
    return a.peak + (TFN__ALIGN - 1);
}

TFNORM_API size_t tfn_trainer_size(const tfn_tokenizer_desc *desc)
{
    tfn_trainer t;
    if (!tfn__trainer_resolve(&t, desc)) return 0;
    return tfn__trainer_lay(&t, NULL, SIZE_MAX);
}

TFNORM_API tfn_status tfn_trainer_init(tfn_trainer *t, const tfn_tokenizer_desc *desc, void *mem,
                                       size_t size)
{
    if (!t) return TFN_NULL;
    if (!mem) size = 0;
    if (tfn__trainer_resolve(t, desc) && tfn__trainer_lay(t, mem, size)) t->start[0] = 0;
    return t->error.status;
}

/* -- training: counting pieces --------------------------------------------------------------- */

/* A text is needed only once. The trainer keeps its different pieces, which are called words here
 * even if they are characters, and their counts. Merges never cross the end of a piece, so they
 * need nothing else. */

/* Count a piece; append a new one to the words' text. */
static void tfn__count_word(tfn_trainer *t, const uint8_t *s, size_t n)
{
    int32_t *slot = tfn__string_slot(t->slots, t->text, t->start, s, n);
    if (*slot) {
        t->count[*slot - 1]++;
        return;
    }
    if (t->words == t->desc.words || n > (size_t)(t->desc.word_bytes - t->word_bytes)) {
        tfn__fail(&t->error, TFN_NO_MEMORY, "tokenizer",
                  "%d different words of %d bytes fill the room: raise words or word_bytes",
                  t->words, t->word_bytes);
        return;
    }
    TFNORM_MEMCPY(t->text + t->word_bytes, s, n);
    t->word_bytes += (int32_t)n;
    t->count[t->words] = 1;
    t->words++;
    t->start[t->words] = t->word_bytes;
    *slot = t->words;
}

/* Bytes are not counted: their vocabulary does not depend on the text. */
TFNORM_API tfn_status tfn_trainer_add(tfn_trainer *t, const char *text, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t at = 0;
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tokenizer", t->start);
    if (bytes) tfn__given(&t->error, "tokenizer", "text", text);
    if (t->ran) tfn__fail(&t->error, TFN_NOT_READY, "tokenizer", "text after the run", 0, 0);
    if (t->desc.kind == TFN_TOKENIZER_BYTES) return t->error.status;
    while (at < bytes) {
        size_t n;
        if (t->error.status != TFN_OK) break;
        n = tfn__piece_of(t->desc.kind, TFN_SPLIT_GPT2, s + at, bytes - at);
        tfn__count_word(t, s + at, n);
        at += n;
    }
    return t->error.status;
}

/* -- training: words and characters ---------------------------------------------------------- */

/* Order of the vocabulary: by count, then by bytes. */
static bool tfn__word_before(const void *x, int32_t i, int32_t j)
{
    const tfn_trainer *t = (const tfn_trainer *)x;
    const uint8_t *a = t->text + t->start[i];
    const uint8_t *b = t->text + t->start[j];
    const int32_t na = t->start[i + 1] - t->start[i];
    const int32_t nb = t->start[j + 1] - t->start[j];
    if (t->count[i] != t->count[j]) return t->count[i] > t->count[j];
    for (int32_t k = 0; k < na; k++) {
        if (k == nb) return false;
        if (a[k] != b[k]) return a[k] < b[k];
    }
    return na < nb;
}

/* Choose the words: the most frequent ones that fit into the vocabulary and reach the least count.
 * After sorting, they come first. */
static void tfn__choose_words(tfn_trainer *t)
{
    const int32_t most = (int32_t)tfn__min(t->words, t->desc.vocab - t->first);
    int32_t n = 0;
    tfn__order(t->order, t->words, tfn__word_before, t);
    for (; n < most; n++)
        if (t->count[t->order[n]] < t->desc.min_count) break;
    t->vocab = t->first + n;
}

/* -- training: pairs ------------------------------------------------------------------------- */

/* The words' text is cut into tokens. symbol[i] is the id of the token that begins at byte i. The
 * last byte of a longer token holds ~i, which leads back to its first byte. So both neighbours of a
 * token are found at once, and a merge writes two numbers; bytes in between keep old values.
 * "lower" at bytes 10 to 14, when it is lo w er:
 *
 *     byte      10    11    12    13    14
 *     text       l     o     w     e     r
 *     symbol    lo   ~10     w    er   ~13
 *
 * An occurrence of a pair is the byte where it begins. All occurrences of a pair form a list
 * through next and prev; the pair's count is the sum of the counts of their words. The heap holds
 * the pairs that exist, best first, and pair[p].at is the position of p in it. A pair without
 * occurrences is dropped, and its entry joins the list of free entries, which runs through `head`
 * from t->spare on. */

/* Order of merging: the more frequent pair first, then the one with the smaller ids. */
static bool tfn__pair_before(const tfn_trainer *t, int32_t p, int32_t q)
{
    const tfn__pair *a = t->pair + p;
    const tfn__pair *b = t->pair + q;
    if (a->count != b->count) return a->count > b->count;
    if (a->left != b->left) return a->left < b->left;
    return a->right < b->right;
}

/* Place a pair in the heap. Every move goes through here, so that a pair knows its position. */
static void tfn__heap_place(tfn_trainer *t, int32_t p, int32_t at)
{
    t->heap[at] = p;
    t->pair[p].at = at;
}

/* Place pair p, whose count may have changed, in the hole at `at`, or further up or down. Pairs on
 * its way move into the hole. */
static void tfn__heap_move(tfn_trainer *t, int32_t p, int32_t at)
{
    while (at > 0) {
        const int32_t parent = (at - 1) / 2;
        if (!tfn__pair_before(t, p, t->heap[parent])) break;
        tfn__heap_place(t, t->heap[parent], at);
        at = parent;
    }
    while (at < t->heap_size / 2) {
        int32_t child = 2*at + 1;
        if (child + 1 < t->heap_size
            && tfn__pair_before(t, t->heap[child + 1], t->heap[child])) child++;
        if (!tfn__pair_before(t, t->heap[child], p)) break;
        tfn__heap_place(t, t->heap[child], at);
        at = child;
    }
    tfn__heap_place(t, p, at);
}

/* The slot of a pair, or the empty slot where it belongs. */
static uint32_t tfn__pair_slot(const tfn_trainer *t, int32_t left, int32_t right)
{
    const uint32_t mask = (uint32_t)t->pair_slots[0];
    uint32_t h = tfn__hash_pair(left, right) & mask;
    for (;; h = (h + 1) & mask) {
        const int32_t p = t->pair_slots[1 + h] - 1;
        if (p < 0) break;
        if (t->pair[p].left == left && t->pair[p].right == right) break;
    }
    return h;
}

/* Empty a slot. A later pair that was displaced by this slot's pair would no longer be found, so it
 * moves into the hole and leaves a new hole (Knuth, volume 3, algorithm 6.4 R). */
static void tfn__free_slot(tfn_trainer *t, uint32_t hole)
{
    const uint32_t mask = (uint32_t)t->pair_slots[0];
    int32_t *slots = t->pair_slots + 1;
    for (uint32_t h = (hole + 1) & mask; slots[h]; h = (h + 1) & mask) {
        const tfn__pair *p = t->pair + slots[h] - 1;
        const uint32_t home = tfn__hash_pair(p->left, p->right) & mask;
        if (((h - home) & mask) < ((h - hole) & mask)) continue;    /* home is after the hole */
        slots[hole] = slots[h];
        hole = h;
    }
    slots[hole] = 0;
}

/* A new entry for a pair, with count 0 and so last in the heap; -1: no room. */
static int32_t tfn__new_pair(tfn_trainer *t, int32_t left, int32_t right)
{
    int32_t p = t->spare;
    if (p >= 0) t->spare = t->pair[p].head;
    else if (t->pairs < t->pair_room) p = t->pairs++;
    else {
        tfn__fail(&t->error, TFN_NO_MEMORY, "tokenizer", "over %d pairs: raise word_bytes",
                  t->pair_room, 0);
        return -1;
    }
    t->pair[p].left = left;
    t->pair[p].right = right;
    t->pair[p].count = 0;
    t->pair[p].head = -1;
    tfn__heap_place(t, p, t->heap_size++);
    return p;
}

/* Remove a pair from the heap, the table and the entries. The heap's last pair takes its place. */
static void tfn__drop_pair(tfn_trainer *t, int32_t p, uint32_t slot)
{
    const int32_t at = t->pair[p].at;
    const int32_t last = t->heap[--t->heap_size];
    tfn__free_slot(t, slot);
    if (last != p) tfn__heap_move(t, last, at);
    t->pair[p].head = t->spare;
    t->spare = p;
}

/* The token after or before the one at byte i of the same word; -1: none. */
static int32_t tfn__symbol_after(const tfn_trainer *t, int32_t i)
{
    const int32_t j = i + t->length[t->symbol[i]];
    if (j >= t->start[t->word[i] + 1]) return -1;
    return j;
}
static int32_t tfn__symbol_before(const tfn_trainer *t, int32_t i)
{
    if (i == t->start[t->word[i]]) return -1;
    if (t->symbol[i - 1] < 0) return ~t->symbol[i - 1];
    return i - 1;                               /* a token of one byte */
}

/* Add the occurrence at byte i to the list of its pair, which may be new. */
static void tfn__link(tfn_trainer *t, int32_t i)
{
    const int32_t left = t->symbol[i];
    const int32_t right = t->symbol[tfn__symbol_after(t, i)];
    const uint32_t slot = tfn__pair_slot(t, left, right);
    int32_t p = t->pair_slots[1 + slot] - 1;
    if (p < 0) {
        p = tfn__new_pair(t, left, right);
        if (p < 0) return;
        t->pair_slots[1 + slot] = p + 1;
    }
    t->prev[i] = -1;
    t->next[i] = t->pair[p].head;
    if (t->next[i] >= 0) t->prev[t->next[i]] = i;
    t->pair[p].head = i;
    t->pair[p].count += t->count[t->word[i]];
    tfn__heap_move(t, p, t->pair[p].at);
}

/* Remove the occurrence at byte i, and the pair with it if it was the last one. */
static void tfn__unlink(tfn_trainer *t, int32_t i)
{
    const uint32_t slot = tfn__pair_slot(t, t->symbol[i], t->symbol[tfn__symbol_after(t, i)]);
    const int32_t p = t->pair_slots[1 + slot] - 1;
    if (t->next[i] >= 0) t->prev[t->next[i]] = t->prev[i];
    if (t->prev[i] >= 0) t->next[t->prev[i]] = t->next[i];
    else t->pair[p].head = t->next[i];
    t->pair[p].count -= t->count[t->word[i]];
    if (t->pair[p].head < 0) tfn__drop_pair(t, p, slot);
    else tfn__heap_move(t, p, t->pair[p].at);
}

/* Merge the token at i with the next one. In x A B y the pairs xA, AB and By disappear, and x(AB)
 * and (AB)y appear. All are unlinked before a symbol changes, because a pair is found by its
 * symbols. */
static void tfn__merge_at(tfn_trainer *t, int32_t i, int32_t id)
{
    const int32_t before = tfn__symbol_before(t, i);
    const int32_t after = tfn__symbol_after(t, i);
    const int32_t end = after + t->length[t->symbol[after]];
    const bool more = tfn__symbol_after(t, after) >= 0;
    if (before >= 0) tfn__unlink(t, before);
    tfn__unlink(t, i);
    if (more) tfn__unlink(t, after);
    t->symbol[i] = id;
    t->symbol[end - 1] = ~i;
    if (before >= 0) tfn__link(t, before);
    if (more) tfn__link(t, i);
}

/* True if the pair is at i; i may be -1, which tfn__symbol_after returns for the last token. */
static bool tfn__pair_at(const tfn_trainer *t, int32_t i, int32_t left, int32_t right)
{
    int32_t after;
    if (i < 0 || t->symbol[i] != left) return false;
    after = tfn__symbol_after(t, i);
    return after >= 0 && t->symbol[after] == right;
}

/* The first of a row of equal tokens that ends at i. */
static int32_t tfn__run_begin(const tfn_trainer *t, int32_t i)
{
    for (;;) {
        const int32_t before = tfn__symbol_before(t, i);
        if (before < 0 || t->symbol[before] != t->symbol[i]) return i;
        i = before;
    }
}

/* Merge all occurrences of a pair, until its list is empty. The order does not matter, except for
 * equal tokens in a row: in aaa the occurrences of a + a overlap, and the plain algorithm, which
 * reads from left to right, merges the first two. So go back to the beginning of the row, then
 * merge along it. */
static void tfn__merge_pair(tfn_trainer *t, int32_t left, int32_t right, int32_t id)
{
    for (;;) {
        const int32_t p = t->pair_slots[1 + tfn__pair_slot(t, left, right)] - 1;
        int32_t i;
        if (p < 0) return;
        i = t->pair[p].head;
        if (left == right) i = tfn__run_begin(t, i);
        while (tfn__pair_at(t, i, left, right)) {
            tfn__merge_at(t, i, id);
            if (t->error.status != TFN_OK) return;
            i = tfn__symbol_after(t, i);
        }
    }
}

/* Start with every byte as a token, and link all pairs of neighbours. */
static void tfn__begin_pairs(tfn_trainer *t)
{
    t->pair_room = (int32_t)tfn__pair_room(&t->desc);
    t->spare = -1;
    for (int32_t i = 0; i < t->first + 256; i++) t->length[i] = 1;
    for (int32_t w = 0; w < t->words; w++)
        for (int32_t i = t->start[w]; i < t->start[w + 1]; i++) {
            t->symbol[i] = t->first + t->text[i];
            t->word[i] = w;
        }
    for (int32_t w = 0; w < t->words; w++)
        for (int32_t i = t->start[w]; i + 1 < t->start[w + 1]; i++) {
            if (t->error.status != TFN_OK) return;
            tfn__link(t, i);
        }
}

/* Algorithm 1 of Sennrich et al. 2016: merge the most frequent pair until the vocabulary is full or
 * no pair is frequent enough. Merging an occurrence changes at most five pairs, and each change
 * takes the logarithm of the number of pairs in the heap. */
static void tfn__learn_merges(tfn_trainer *t)
{
    tfn__begin_pairs(t);
    while (t->vocab < t->desc.vocab) {
        const int32_t id = t->vocab;
        tfn__pair best;
        if (t->error.status != TFN_OK || t->heap_size == 0) return;
        best = t->pair[t->heap[0]];
        if (best.count < t->desc.min_count) return;
        t->left[id] = best.left;
        t->right[id] = best.right;
        t->length[id] = t->length[best.left] + t->length[best.right];
        t->vocab++;
        tfn__merge_pair(t, best.left, best.right, id);
    }
}

/* Ids from `first` on are the bytes, unless words or characters are chosen. */
TFNORM_API tfn_status tfn_trainer_run(tfn_trainer *t)
{
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tokenizer", t->start);
    if (t->ran || t->error.status != TFN_OK) return t->error.status;
    t->vocab = t->first + 256;
    if (t->desc.kind == TFN_TOKENIZER_BPE) tfn__learn_merges(t);
    else if (t->desc.kind != TFN_TOKENIZER_BYTES) tfn__choose_words(t);
    t->ran = t->error.status == TFN_OK;
    return t->error.status;
}
