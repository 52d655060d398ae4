#include "merging.h"
#include "../ground/basics.h"
#include "json.h"
#include "normal_forms.h"
#include "pieces.h"

/* Turns the text of one piece into tokens: BPE by merges, Unigram by scores, characters. Also
 * reads blobs and finished trainers. Builds on vocabulary. */

/* -- merging --------------------------------------------------------------------------------- */

/* Store merge i, which gives token id. */
SHARED void tfn__set_merge(tfn_tokenizer *k, size_t i, int32_t left, int32_t right, int32_t id)
{
    k->merge[3*i] = left;
    k->merge[3*i + 1] = right;
    k->merge[3*i + 2] = id;
}

/* The slot of a merge, or the empty slot where it belongs. */
static int32_t *tfn__merge_slot(const tfn_tokenizer *k, int32_t left, int32_t right)
{
    const uint32_t mask = (uint32_t)k->merge_slots[0];
    uint32_t h = tfn__hash_pair(left, right) & mask;
    for (;; h = (h + 1) & mask) {
        const int32_t i = k->merge_slots[1 + h] - 1;
        if (i < 0) break;
        if (k->merge[3*i] == left && k->merge[3*i + 1] == right) break;
    }
    return k->merge_slots + 1 + h;
}

/* True if tokens left and right together are token id, which a merge of a file must satisfy. */
static bool tfn__makes(const tfn_tokenizer *k, int32_t left, int32_t right, int32_t id)
{
    size_t a;
    size_t b;
    if (left < 0 || right < 0 || id < 0) return false;
    if (left >= k->vocab || right >= k->vocab || id >= k->vocab) return false;
    if ((k->flags[left] | k->flags[right] | k->flags[id]) & TFN__RAW) return false;
    a = tfn__token_bytes(k, left);
    b = tfn__token_bytes(k, right);
    return tfn__token_bytes(k, id) == a + b
           && tfn__same(k->text + k->start[id], k->text + k->start[left], a)
           && tfn__same(k->text + k->start[id] + a, k->text + k->start[right], b);
}

/* The rank of a pair: the number of its merge. The lowest rank is merged first. */
static int32_t tfn__rank(const tfn_tokenizer *k, int32_t left, int32_t right)
{
    const int32_t i = *tfn__merge_slot(k, left, right);
    if (!i) return TFN__NO_RANK;
    return i - 1;
}

/* Merge n symbols in place, like GPT-2's encoder. Each pass merges all occurrences of the pair with
 * the lowest rank from left to right, and finds the lowest rank of the result. Returns the number
 * of symbols left. Each pass merges at least one pair, so there are at most n - 1 passes: simple,
 * and fast for short words, which most words are. */
SHARED ptrdiff_t tfn__merge_all(const tfn_tokenizer *k, int32_t *symbol, ptrdiff_t n)
{
    int32_t rank = TFN__NO_RANK;
    for (ptrdiff_t i = 1; i < n; i++)
        rank = (int32_t)tfn__min(rank, tfn__rank(k, symbol[i - 1], symbol[i]));
    while (rank != TFN__NO_RANK) {
        const int32_t *m = k->merge + 3 * rank;
        ptrdiff_t out = 0;
        rank = TFN__NO_RANK;
        for (ptrdiff_t i = 0; i < n; i++) {
            int32_t id = symbol[i];
            if (id == m[0] && i + 1 < n && symbol[i + 1] == m[1]) {
                id = m[2];
                i++;
            }
            symbol[out++] = id;
            if (out > 1) rank = (int32_t)tfn__min(rank, tfn__rank(k, symbol[out - 2], id));
        }
        n = out;
    }
    return n;
}

/* -- symbols --------------------------------------------------------------------------------- */

/* The token of a symbol at the end of a word, if the vocabulary has a suffix: "w</w>"; -1: none. */
static int32_t tfn__last_symbol(const tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    uint8_t symbol[4 + sizeof k->suffix];
    const size_t more = tfn__length(k->suffix);
    TFNORM_MEMCPY(symbol, s, n);
    TFNORM_MEMCPY(symbol + n, k->suffix, more);
    return tfn__token_id(k, symbol, n + more);
}

/* Byte-level BPE: the token of bytes that are no tokens; -1: they are dropped. */
static int32_t tfn__unknown_symbol(const tfn_tokenizer *k)
{
    if (!k->marked) return k->special[TFN_SPECIAL_UNK];
    return k->unknown_byte;
}

/* The token of the byte at s; -1: none. last: it is the end of a word. */
static int32_t tfn__symbol(const tfn_tokenizer *k, const uint8_t *s, bool last)
{
    int32_t id = k->byte_id[*s];
    if (last && *k->suffix) id = tfn__last_symbol(k, s, 1);
    if (id < 0) id = tfn__unknown_symbol(k);
    return id;
}

/* Write bytes as symbols, after a space if `space`; last: they end a word. Bytes that the
 * vocabulary lacks become unknown tokens (several in a row may become one) or are dropped. */
SHARED ptrdiff_t tfn__symbols(const tfn_tokenizer *k, int32_t *symbol, const uint8_t *s, size_t n,
                              bool space, bool last)
{
    static const uint8_t blank = ' ';
    ptrdiff_t count = 0;
    if (space) {
        const int32_t id = tfn__symbol(k, &blank, n == 0);
        if (id >= 0) symbol[count++] = id;
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t id = tfn__symbol(k, s + i, last && i + 1 == n);
        const bool again = k->fuse && count && id == k->unknown_byte && symbol[count - 1] == id;
        if (id >= 0 && !again) symbol[count++] = id;
    }
    return count;
}

/* -- merging long pieces --------------------------------------------------------------------- */

/* The rank of the pair whose left symbol begins at i, and the token that it becomes. If tokens have
 * scores, any two that make a token can be merged, and the rank is the rank of that token. */
static int32_t tfn__merger_rank(const tfn__merger *m, int32_t i, int32_t *id)
{
    const tfn_tokenizer *k = m->k;
    const int32_t j = i + m->length[i];
    int32_t merge;
    if (j >= m->n) return TFN__NO_RANK;
    if (k->scored) {
        *id = tfn__token_id(k, m->s + i, (size_t)(m->length[i] + m->length[j]));
        if (*id < 0) return TFN__NO_RANK;
        return k->rank[*id];
    }
    if (m->id[i] < 0 || m->id[j] < 0) return TFN__NO_RANK;
    merge = *tfn__merge_slot(k, m->id[i], m->id[j]) - 1;
    if (merge < 0) return TFN__NO_RANK;
    *id = k->merge[3*merge + 2];
    return merge;
}

static void tfn__merger_node(int32_t *tree, int32_t at)
{
    tree[at] = (int32_t)tfn__min(tree[2*at], tree[2*at + 1]);
}

/* Put a rank into its leaf and update the nodes above it. */
static void tfn__merger_set(tfn__merger *m, int32_t i, int32_t rank)
{
    int32_t at = m->leaves + i;
    m->tree[at] = rank;
    for (at /= 2; at > 0; at /= 2) tfn__merger_node(m->tree, at);
}

/* Store a symbol of `bytes` bytes that begins at i. */
static void tfn__merger_symbol(tfn__merger *m, int32_t i, int32_t bytes, int32_t id)
{
    m->length[i + bytes - 1] = 1 - bytes;
    m->length[i] = bytes;
    m->id[i] = id;
}

/* Place the arrays and the tree in TFN__WORK*n numbers. */
static void tfn__merger_lay(tfn__merger *m, const tfn_tokenizer *k, int32_t *work, const uint8_t *s,
                            int32_t n)
{
    m->k = k;
    m->s = s;
    m->n = n;
    m->leaves = 1;
    while (m->leaves < n) m->leaves *= 2;
    m->id = work;
    m->length = work + n;
    m->tree = work + 2*n;
}

/* Compute the ranks of all pairs once the symbols are known. */
static void tfn__merger_ranks(tfn__merger *m)
{
    for (int32_t i = 0; i < m->leaves; i++) m->tree[m->leaves + i] = TFN__NO_RANK;
    for (int32_t i = 0; i < m->n; i += m->length[i]) {
        int32_t id;
        m->tree[m->leaves + i] = tfn__merger_rank(m, i, &id);
    }
    for (int32_t at = m->leaves - 1; at > 0; at--) tfn__merger_node(m->tree, at);
}

/* Start with the characters of a piece of n bytes. work: TFN__WORK*n numbers. */
SHARED void tfn__merger_begin(tfn__merger *m, const tfn_tokenizer *k, int32_t *work,
                              const uint8_t *s, int32_t n)
{
    tfn__merger_lay(m, k, work, s, n);
    for (int32_t i = 0; i < n; i += m->length[i]) {
        int32_t c;
        const size_t length = tfn__utf8(s + i, (size_t)(n - i), &c);
        int32_t id = tfn__token_id(k, s + i, length);
        if (*k->suffix && i + (int32_t)length == n) id = tfn__last_symbol(k, s + i, length);
        tfn__merger_symbol(m, i, (int32_t)length, id);
    }
    tfn__merger_ranks(m);
}

/* Merge until nothing can be merged: always the pair with the lowest rank, the first one if several
 * are equal. Each merge makes one symbol of two and changes three leaves. The right symbol's leaf
 * ends; the left symbol and the symbol in front of it each get a new right neighbour. */
SHARED void tfn__merger_run(tfn__merger *m)
{
    while (m->tree[1] != TFN__NO_RANK) {
        const int32_t rank = m->tree[1];
        int32_t at = 1;
        int32_t id = -1;
        int32_t i;
        int32_t j;
        while (at < m->leaves) {
            at *= 2;
            if (m->tree[at] != rank) at++;
        }
        i = at - m->leaves;
        j = i + m->length[i];
        tfn__merger_rank(m, i, &id);
        tfn__merger_symbol(m, i, m->length[i] + m->length[j], id);
        tfn__merger_set(m, j, TFN__NO_RANK);
        tfn__merger_set(m, i, tfn__merger_rank(m, i, &id));
        if (i == 0) continue;
        j = i - 1;
        if (m->length[j] <= 0) j += m->length[j];
        tfn__merger_set(m, j, tfn__merger_rank(m, j, &id));
    }
}

/* Merge n symbols, stored at the beginning of TFN__WORK*n numbers. Returns how many are left. */
static int32_t tfn__merge_symbols(const tfn_tokenizer *k, int32_t *work, int32_t n)
{
    tfn__merger m;
    int32_t count = 0;
    tfn__merger_lay(&m, k, work, NULL, n);
    for (int32_t i = 0; i < n; i++) m.length[i] = 1;
    tfn__merger_ranks(&m);
    tfn__merger_run(&m);
    for (int32_t i = 0; i < n; i += m.length[i]) work[count++] = m.id[i];
    return count;
}

/* -- merging long words of bytes ------------------------------------------------------------- */

/* A long word is merged block by block in a fixed amount of memory. A list of tokens is the result
 * of merging if and only if each two neighbours are what these two merge to, because the first
 * merge across a token's end would also happen if only those two tokens existed. So the last few
 * finished tokens are split into symbols again and merged together with the next symbols. The
 * result is final if its first token and the last token in front of it do not merge differently.
 * Otherwise more tokens are split.
 *
 * BLOCK: symbols merged at once; BACK: how many of these are old ones, at first. */
enum { TFN__MERGE_BLOCK = 256, TFN__MERGE_BACK = 32 };

/* Split a token into symbols that do not end a word. Returns their number and stores those that
 * fit. The unknown token is one symbol, whatever its name is. */
static int32_t tfn__apart(const tfn_tokenizer *k, int32_t *symbol, int32_t room, int32_t id)
{
    const int32_t n = (int32_t)tfn__token_bytes(k, id);
    if (n == 1 || id == tfn__unknown_symbol(k)) {
        if (room > 0) *symbol = id;
        return 1;
    }
    if (n <= room) tfn__symbols(k, symbol, k->text + k->start[id], (size_t)n, false, false);
    return n;
}

/* True if merging the symbols of two tokens gives these two tokens again. */
static bool tfn__are_two(const tfn_tokenizer *k, int32_t left, int32_t right)
{
    int32_t work[TFN__WORK * TFN__MERGE_BLOCK];
    int32_t n = tfn__apart(k, work, TFN__MERGE_BLOCK, left);    /* one block, so it fits */
    n += tfn__apart(k, work + n, TFN__MERGE_BLOCK - n, right);
    if (n > TFN__MERGE_BLOCK) return false;
    return tfn__merge_symbols(k, work, n) == 2 && work[0] == left;      /* the rest is `right` */
}

/* Take as many tokens from the end of `done` as have up to `most` symbols, and store the symbols in
 * order. Returns the number of symbols; *tokens: the number of tokens. */
static int32_t tfn__take_back(const tfn_tokenizer *k, int32_t *symbol, int32_t most,
                              const int32_t *ids, ptrdiff_t done, int32_t *tokens)
{
    int32_t count = 0;
    int32_t at = 0;
    for (*tokens = 0; *tokens < done; ++*tokens) {
        const int32_t n = tfn__apart(k, NULL, 0, ids[done - 1 - *tokens]);
        if (count + n > most) break;
        count += n;
    }
    for (int32_t i = *tokens; i > 0; i--)
        at += tfn__apart(k, symbol + at, most - at, ids[done - i]);
    return count;
}

/* Merge one block after `done` tokens; *used: how many of the n symbols at `next` it took. Returns
 * the number of tokens, or -1 if a change would reach too far back, or if the first token of the
 * block is the last one of the word and has a suffix, which tfn__are_two cannot split. */
static ptrdiff_t tfn__merge_block(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t done,
                                  const int32_t *next, ptrdiff_t n, ptrdiff_t *used)
{
    for (int32_t most = TFN__MERGE_BACK; most <= TFN__MERGE_BLOCK / 2; most *= 2) {
        int32_t work[TFN__WORK * TFN__MERGE_BLOCK];
        int32_t tokens;
        int32_t count = tfn__take_back(k, work, most, ids, done, &tokens);
        *used = tfn__min(n, TFN__MERGE_BLOCK - count);
        for (ptrdiff_t i = 0; i < *used; i++) work[count++] = next[i];
        count = tfn__merge_symbols(k, work, count);
        if (tokens < done && *k->suffix && count == 1 && *used == n) continue;
        if (tokens < done && !tfn__are_two(k, ids[done - 1 - tokens], work[0])) continue;
        done -= tokens;
        for (int32_t i = 0; i < count; i++) ids[done++] = work[i];
        return done;
    }
    return -1;
}

/* True if a merge gives the unknown token, or merges it. An unknown token of one byte is one symbol
 * in every token. */
static bool tfn__merges_unknown(const tfn_tokenizer *k)
{
    const int32_t id = tfn__unknown_symbol(k);
    if (id < 0 || tfn__token_bytes(k, id) == 1) return false;
    for (int32_t i = 0; i < 3 * k->merges; i++)
        if (k->merge[i] == id) return true;
    return false;
}

/* Merge n symbols in place; room: how many numbers may be used. This takes about as many steps as
 * merges. There are two exceptions: a vocabulary in which a symbol can change tokens that begin
 * more than 100 symbols before it, and one in which the unknown token is part of merges, so that
 * the number of symbols in a token is not known. Then it takes up to n times as many, unless there
 * is room to merge everything at once. */
SHARED ptrdiff_t tfn__merge_long(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t n, ptrdiff_t room)
{
    const bool in_blocks = !tfn__merges_unknown(k);
    ptrdiff_t done = 0;
    ptrdiff_t at = 0;
    ptrdiff_t used;
    while (in_blocks && at < n) {
        const ptrdiff_t more = tfn__merge_block(k, ids, done, ids + at, n - at, &used);
        if (more < 0) break;
        done = more;
        at += used;
    }
    if (at == n) return done;
    for (used = at; done > 0; done--) {                 /* back to symbols, from the last on */
        const int32_t id = ids[done - 1];
        const int32_t count = tfn__apart(k, NULL, 0, id);
        used -= count;
        tfn__apart(k, ids + used, count, id);
    }
    if (room / TFN__WORK >= n && n < INT32_MAX / TFN__WORK)
        return tfn__merge_symbols(k, ids, (int32_t)n);
    return tfn__merge_all(k, ids, n);
}

/* -- the best sum of scores ------------------------------------------------------------------ */

static double tfn__lattice_sum(const tfn__lattice *x, int32_t at)
{
    double sum;
    TFNORM_MEMCPY(&sum, x->sum + 2*at, sizeof sum);
    return sum;
}

/* Consider a way to `end` whose last token begins at `begin`; keep it if it is the first or better.
 *
 * No way reaches a byte inside a character, because tokens end where characters end. SentencePiece
 * keeps sums as floats, and compares them as floats only if the last token is unknown. We do the
 * same, so that the same one of several nearly equal ways wins. */
static void tfn__lattice_try(tfn__lattice *x, int32_t begin, int32_t end, int32_t id, double score)
{
    double sum = tfn__lattice_sum(x, begin) + score;
    if (x->k->single && id < 0) sum = (double)(float)sum;
    if (x->begin[end] >= 0 && !(sum > tfn__lattice_sum(x, end))) return;
    if (x->k->single) sum = (double)(float)sum;
    x->begin[end] = begin;
    x->id[end] = id;
    TFNORM_MEMCPY(x->sum + 2*end, &sum, sizeof sum);
}

/* Try all tokens that begin at a byte, except one. True if the character at the byte is a token. */
static bool tfn__lattice_step(tfn__lattice *x, const uint8_t *s, int32_t at, int32_t n,
                              int32_t bytes, int32_t except)
{
    const tfn_tokenizer *k = x->k;
    tfn__search search = tfn__search_in(k->order, 0, k->sorted, 0);
    bool known = false;
    for (int32_t end = at + 1; end <= n; end++) {
        int32_t id;
        if (!tfn__search_on(k, &search, s[end - 1], &id)) break;
        if (id < 0) continue;
        if (id != except) tfn__lattice_try(x, at, end, id, k->score[id]);
        known |= end == at + bytes;
    }
    return known;
}

/* Find the best way through a piece, starting from a sum. Returns the new sum. work: 4n + 4
 * numbers. */
SHARED double tfn__lattice_run(tfn__lattice *x, const tfn_tokenizer *k, int32_t *work,
                               const uint8_t *s, int32_t n, double from, int32_t except)
{
    double unknown = k->least - 10;
    if (k->single) unknown = (double)(float)unknown;
    x->k = k;
    x->id = work;
    x->begin = work + (n + 1);
    x->sum = work + 2*(n + 1);
    for (int32_t i = 0; i <= n; i++) x->begin[i] = -1;
    TFNORM_MEMCPY(x->sum, &from, sizeof from);
    for (int32_t at = 0; at < n;) {
        int32_t c;
        const int32_t bytes = (int32_t)tfn__utf8(s + at, (size_t)(n - at), &c);
        if (!tfn__lattice_step(x, s, at, n, bytes, except))
            tfn__lattice_try(x, at, at + bytes, -1, unknown);
        at += bytes;
    }
    return tfn__lattice_sum(x, n);
}

/* Reverse the best way. It is known from its end: each byte knows where the token before it begins,
 * but ids are needed from the front. Afterwards begin[i] is the end of the token that begins at
 * byte i. Returns the end of the first token. */
SHARED int32_t tfn__lattice_turn(tfn__lattice *x, int32_t n)
{
    int32_t after = -1;
    while (n > 0) {
        const int32_t before = x->begin[n];
        x->begin[n] = after;
        after = n;
        n = before;
    }
    return after;
}

/* -- tokens of characters -------------------------------------------------------------------- */

static const char tfn__hex[] = "0123456789ABCDEF";

/* The byte of a token such as "<0x0A>"; -1: another token. */
SHARED int32_t tfn__byte_token(const uint8_t *s, size_t n)
{
    int32_t byte = 0;
    if (n != 6 || s[0] != '<' || s[1] != '0' || s[2] != 'x' || s[5] != '>') return -1;
    for (int i = 3; i < 5; i++) {
        int32_t digit = 0;
        for (; digit < 16; digit++)
            if (tfn__hex[digit] == (char)s[i]) break;
        byte = byte*16 + digit;
        if (digit == 16) return -1;
    }
    return byte;
}

/* Find the tokens of bytes, which replace unknown characters. So no text is lost: U+65E5, of three
 * bytes, becomes "<0xE6>", "<0x97>" and "<0xA5>". Some vocabularies lack a few bytes: a character
 * that contains one of these is unknown. */
static void tfn__index_fallback(tfn_tokenizer *k)
{
    for (int i = 0; i < 256; i++) k->byte_id[i] = -1;
    if (!k->fallback) return;
    for (int32_t id = k->vocab; id-- > 0;) {
        const int32_t byte = tfn__byte_token(k->text + k->start[id], tfn__token_bytes(k, id));
        if (byte >= 0) k->byte_id[byte] = id;
    }
}

static bool tfn__score_before(const void *x, int32_t i, int32_t j)
{
    const tfn_tokenizer *k = (const tfn_tokenizer *)x;
    if (k->score[i] > k->score[j]) return true;
    return !(k->score[i] < k->score[j]) && i < j;
}

/* Rank tokens by their scores, the best first. Equal scores get equal ranks, so that the first of
 * two such pairs in the text is merged. */
static void tfn__index_ranks(tfn_tokenizer *k)
{
    tfn__order(k->order, k->tokens, tfn__score_before, k);
    for (int32_t i = 0; i < k->tokens; i++) {
        const int32_t id = k->order[i];
        int32_t before = id;
        if (i) before = k->order[i - 1];
        k->rank[id] = i;
        if (i && !(k->score[id] < k->score[before])) k->rank[id] = k->rank[before];
    }
}

/* Marian: index tokens that only decode. To SentencePiece, a run of unknown characters is still a
 * piece, and vocab.json may have that piece as a word of the other language. With
 * "<snowman><snowman>" in the other language, one snowman is "<unk>", two are that word, and three
 * are "<unk>". */
static void tfn__index_others(tfn_tokenizer *k)
{
    if (!k->apart) return;
    for (int32_t id = 0; id < k->vocab; id++) {
        const uint8_t *s = k->text + k->start[id];
        if (!(k->flags[id] & TFN__RAW) || k->flags[id] & TFN__SPECIAL) continue;
        *tfn__string_slot(k->others, k->text, k->start, s, tfn__token_bytes(k, id)) = id + 1;
    }
}

/* Prepare BPE of characters and Unigram. A text can be cut in front of a U+2581 if no token has the
 * same byte before that mark, because then no token crosses the cut. */
SHARED void tfn__index_characters(tfn_tokenizer *k)
{
    if (k->kind < TFN_TOKENIZER_CHARACTER_BPE) return;
    for (int32_t id = 0; id < k->tokens; id++) {
        const uint8_t *s = k->text + k->start[id];
        const size_t n = tfn__token_bytes(k, id);
        if (k->flags[id] & TFN__RAW) continue;
        for (size_t at = 1; at + 3 <= n; at++)
            if (tfn__same(s + at, tfn__mark, 3))
                tfn__set_byte(k->joined, s[at - 1]);
    }
    tfn__index_fallback(k);
    if (k->kind == TFN_TOKENIZER_CHARACTER_BPE && k->scored) tfn__index_ranks(k);
    tfn__index_others(k);
}
static void tfn__score_users(tfn_tokenizer *k)
{
    for (int32_t id = 0; id < k->tokens; id++) {
        double score = (double)tfn__token_bytes(k, id);
        if (k->score[id] < TFN__USER_SCORE) continue;
        k->score[id] = (double)((float)score * (float)k->best) - 0.1;
    }
}

/* Find the range of the scores, and the tokens that always win for a piece of the same text: they
 * beat any other way by more than the error of a float sum. */
SHARED void tfn__index_unigrams(tfn_tokenizer *k)
{
    int32_t work[TFN__WORK * TFN__SHORT_PIECE];
    bool any = false;
    if (k->kind != TFN_TOKENIZER_UNIGRAM) return;
    for (int32_t id = 0; id < k->tokens; id++) {
        if (k->single && (k->flags[id] & TFN__RAW || k->score[id] >= TFN__USER_SCORE)) continue;
        if (!any || k->score[id] < k->least) k->least = k->score[id];
        if (!any || k->score[id] > k->best) k->best = k->score[id];
        any = true;
    }
    tfn__score_users(k);
    for (int32_t id = 0; id < k->tokens; id++) {
        const size_t n = tfn__token_bytes(k, id);
        tfn__lattice x;
        double other;
        if (k->flags[id] & TFN__RAW || n > TFN__SHORT_PIECE) continue;
        other = tfn__lattice_run(&x, k, work, k->text + k->start[id], (int32_t)n, 0, id);
        if (x.begin[n] < 0 || k->score[id] > other + 0.25) k->flags[id] |= TFN__ENTIRE;
    }
}

/* Find the tokens that their own bytes merge to. Some do not, because an earlier merge may take a
 * byte to the other side. Long tokens are not tried; encoding merges them each time. */
static void tfn__mark_entire(tfn_tokenizer *k)
{
    int32_t symbol[TFN__SHORT_WORD];
    for (int32_t id = 0; id < k->vocab; id++) {
        const size_t n = tfn__token_bytes(k, id);
        ptrdiff_t count;
        if (k->flags[id] & TFN__RAW) continue;
        if (*k->suffix) continue;                           /* the word itself has no suffix */
        if (k->whole) k->flags[id] |= TFN__ENTIRE;          /* a piece is a token without merging */
        if (n > TFN__SHORT_WORD) continue;
        count = tfn__symbols(k, symbol, k->text + k->start[id], n, false, true);
        if (tfn__merge_all(k, symbol, count) == 1 && symbol[0] == id) k->flags[id] |= TFN__ENTIRE;
    }
}

/* The same for characters. A token too long for the memory here is merged each time it occurs. */
static void tfn__mark_entire_characters(tfn_tokenizer *k)
{
    int32_t work[TFN__WORK * TFN__SHORT_PIECE];
    for (int32_t id = 0; id < k->tokens; id++) {
        const size_t n = tfn__token_bytes(k, id);
        tfn__merger m;
        if (k->flags[id] & TFN__RAW || n > TFN__SHORT_PIECE || *k->suffix) continue;
        tfn__merger_begin(&m, k, work, k->text + k->start[id], (int32_t)n);
        tfn__merger_run(&m);
        if (m.length[0] == (int32_t)n) k->flags[id] |= TFN__ENTIRE;     /* no other has its text */
    }
}

/* Check the merges and fill their table, after all are stored. */
SHARED bool tfn__index_merges(tfn_tokenizer *k)
{
    for (int32_t i = 0; i < k->merges; i++) {
        const int32_t *m = k->merge + 3 * i;
        int32_t *slot = tfn__merge_slot(k, m[0], m[1]);
        if (*slot || !tfn__makes(k, m[0], m[1], m[2])) {
            tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                      "merge %d comes twice or does not give a token", i, 0);
            return false;
        }
        *slot = i + 1;
    }
    if (k->kind == TFN_TOKENIZER_BPE) tfn__mark_entire(k);
    if (k->kind == TFN_TOKENIZER_CHARACTER_BPE) tfn__mark_entire_characters(k);
    return true;
}

/* -- from a trainer -------------------------------------------------------------------------- */

/* A token is appended part by part, then closed. Without k its bytes are only counted. */
static void tfn__append(tfn__vocab *v, tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    if (k) TFNORM_MEMCPY(k->text + v->bytes, s, n);
    v->bytes += n;
}
static void tfn__close(tfn__vocab *v, tfn_tokenizer *k, uint8_t flags)
{
    if (k) k->flags[v->count] = flags;
    v->count++;
    if (k) k->start[v->count] = (int32_t)v->bytes;
}
SHARED void tfn__add_token(tfn__vocab *v, tfn_tokenizer *k, const uint8_t *s, size_t n,
                           uint8_t flags)
{
    tfn__append(v, k, s, n);
    tfn__close(v, k, flags);
}

/* Ids increase in the order in which tokens are added: specials, then words, or bytes and
 * merges. */

/* Add the words or characters in the order that training chose. */
static void tfn__trained_words(tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    for (int32_t i = 0; i < t->vocab - t->first; i++) {
        const int32_t word = t->order[i];
        const size_t n = (size_t)(t->start[word + 1] - t->start[word]);
        tfn__add_token(v, k, t->text + t->start[word], n, 0);
    }
}

/* Append the bytes of token id, which was stored before. */
static void tfn__append_token(tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t, int32_t id)
{
    const uint8_t *s = NULL;
    if (k) s = k->text + k->start[id];
    tfn__append(v, k, s, (size_t)t->length[id]);
}

/* Add the 256 bytes, then a token for each merge; a tokenizer of bytes has no merges. */
static void tfn__trained_merges(tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        tfn__add_token(v, k, &byte, 1, 0);
    }
    for (int32_t id = t->first + 256; id < t->vocab; id++) {
        tfn__append_token(v, k, t, t->left[id]);
        tfn__append_token(v, k, t, t->right[id]);
        tfn__close(v, k, 0);
        if (k) tfn__set_merge(k, v->merges, t->left[id], t->right[id], id);
        v->merges++;
    }
}

SHARED void tfn__trained_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    const tfn_tokenizer_desc *d = &t->desc;         /* order of tfn_special: */
    const bool wanted[TFN_SPECIAL_COUNT] = { !d->no_pad, !d->no_bos, !d->no_eos, !d->no_unk,
                                             d->mask };
    if (!TFN__TRAINS) {
        tfn__fail(e, TFN_UNSUPPORTED, "tokenizer", "left out by TFNORM_NO_TRAINING", 0, 0);
        return;
    }
    if (!t->ran) {
        tfn__fail(e, TFN_NOT_READY, "tokenizer", "the trainer did not run", 0, 0);
        return;
    }
    v->kind = d->kind;
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++) {
        const char *name = tfn__specials[i].name;
        if (wanted[i]) tfn__add_token(v, k, (const uint8_t *)name, tfn__length(name), 0);
    }
    if (t->order) tfn__trained_words(v, k, t);
    else          tfn__trained_merges(v, k, t);
}

/* -- from a blob ----------------------------------------------------------------------------- */

/* A blob, as tfn_tokenizer_write writes it and checkpoints keep it:
 *
 *     "tfntok1\n", or "tfntok2\n" if a file marked the tokens, or "tfntok3\n" for other kinds than
 *                 byte-level BPE, or "tfntok4\n" for tokenizers that the others cannot express
 *     kind, number of tokens, number of merges
 *     per token   bytes*2 + raw, then its bytes
 *     per merge   left, right, and the token that they give
 *     tfntok2, 3  split, prefix_space + 2 whole + 4 NFC + 8 fallback + 16 fuse + 32 scored
 *                 + 64 single + 128 apart; the number of ids that begin a text, and that end it; if
 *                 apart, how many of the last tokens have no id; the ids around a text; the number
 *                 of tokens with marks, and for each its id and marks
 *     tfntok3, 4  steps of the normalizer, of the decoder, most_chars, 1 + the unknown token's id,
 *                 `inside` with a zero; if scored, 8 bytes per token, the bits of a double; the
 *                 size of the table of replacements, and the table
 *     tfntok4     `suffix` with a zero, the size of the rules of tokenizer.json, and the rules
 *     4 bytes     tfn__hash of everything before, lowest byte first
 *
 * Numbers have 7 bits a byte, lowest first; the highest bit means that more follow: 300 is AC
 * 02. */
SHARED const uint8_t tfn__magic[TFN__FORMS][8] = { { 't', 'f', 'n', 't', 'o', 'k', '1', '\n' },
                                          { 't', 'f', 'n', 't', 'o', 'k', '2', '\n' },
                                          { 't', 'f', 'n', 't', 'o', 'k', '3', '\n' },
                                          { 't', 'f', 'n', 't', 'o', 'k', '4', '\n' } };

/* Read a number up to INT32_MAX: four bytes of 7 bits, and 3 bits of a fifth. 0 after an error. */
static int32_t tfn__read_number(tfn__reader *r)
{
    uint32_t v = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        const int32_t c = tfn__peek(r);
        if (c < 0 || (shift == 28 && c > 7)) break;
        r->at++;
        v |= (uint32_t)(c & 127) << shift;
        if (c < 128) return (int32_t)v;
    }
    tfn__want(r, "a number");
    return 0;
}

/* Check the magic, and the hash after the bytes that r reads. */
static void tfn__check_blob(tfn__reader *r, tfn__vocab *v)
{
    const uint32_t sum = tfn__hash(r->s, r->size);
    const size_t magic = sizeof *tfn__magic;
    if (r->size >= magic) v->form = (int)tfn__min(tfn__max(r->s[6] - '1', 0), TFN__FORMS - 1);
    if (r->size < magic || !tfn__same(r->s, tfn__magic[v->form], magic)) {
        tfn__want(r, "a tokenizer's blob");
        return;
    }
    r->at = magic;
    for (size_t i = 0; i < TFN__SUM_BYTES; i++)
        if (r->s[r->size + i] != (uint8_t)(sum >> 8*i)) tfn__want(r, "another sum at its end");
}

/* Raw tokens, and tokens of other kinds than byte-level BPE, must be UTF-8, because they are
 * written into vocab.json unchanged. A raw token without bytes is an id that the vocabulary skips:
 * vocab.json may skip some (tfntok1), and so may the tokenizers of tfntok4. */
static void tfn__blob_token(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k)
{
    const size_t head = (size_t)tfn__read_number(r);
    const size_t n = head / 2;
    const bool skips = v->form == 0 || v->form == 3;
    uint8_t flags = 0;
    if (head & 1) flags = TFN__RAW;
    if ((!n && !(skips && flags)) || n > r->size - r->at) tfn__want(r, "a token");
    else if ((flags || v->kind > TFN_TOKENIZER_WORDS) && !tfn__is_utf8(r->s + r->at, n))
        tfn__want(r, "a token");
    if (r->wanted) return;
    tfn__add_token(v, k, r->s + r->at, n, flags);
    r->at += n;
}

/* The numbers of a merge may be arbitrary: tfn__makes checks them later. */
static void tfn__blob_merge(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k)
{
    const int32_t left = tfn__read_number(r);
    const int32_t right = tfn__read_number(r);
    const int32_t id = tfn__read_number(r);
    if (k) tfn__set_merge(k, v->merges, left, right, id);
    v->merges++;
}

/* Store the next id of the frame: first the ids that begin a text, then those that end it. */
SHARED void tfn__frame_id(tfn__vocab *v, tfn_tokenizer *k, int32_t id, bool end)
{
    if (k) k->frame[v->begins + v->ends] = id;
    if (end) v->ends++;
    else     v->begins++;
}

TFN__RARE

/* Read the marks of tokens. Marks of a token that is not added have no effect. */
static void tfn__blob_marks(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k)
{
    const int32_t split = tfn__read_number(r);
    const int32_t options = tfn__read_number(r);
    const int32_t begins = tfn__read_number(r);
    const int32_t ends = tfn__read_number(r);
    int32_t marks;
    int32_t most = TFN__MARKS;
    size_t ids;
    if (v->form == 3) most |= TFN__SINGLE_WORD;
    if (split > TFN_SPLIT_STEPS || (split == TFN_SPLIT_STEPS && v->form < 3)
        || options > 2*TFN__SET_APART - 1) tfn__want(r, "another version of tfnorm.h");
    if (v->form < 2 && (split > TFN_SPLIT_BLOOM || options > 2*TFN__NORMALIZED - 1))
        tfn__want(r, "another version of tfnorm.h");
    v->fallback = (options & TFN__FALLBACK) != 0;
    v->fuse = (options & TFN__FUSE) != 0;
    v->scored = (options & TFN__SCORED) != 0;
    v->single = (options & TFN__SINGLE) != 0;
    v->apart = (options & TFN__SET_APART) != 0;
    if (v->apart) v->hidden = (size_t)tfn__read_number(r);
    if (v->hidden > v->count || (v->apart && v->kind < TFN_TOKENIZER_CHARACTER_BPE))
        tfn__want(r, "fewer tokens without ids");
    if (r->wanted) return;
    ids = v->count - v->hidden;
    v->split = (tfn_split)split;
    v->prefix_space = (options & TFN__PREFIX_SPACE) != 0;
    v->whole = (options & TFN__WHOLE_PIECES) != 0;
    if (options & TFN__NORMALIZED) v->normalizer = TFN_NORMALIZER_NFC;
    for (int64_t i = 0; i < begins + (int64_t)ends; i++) {
        const int32_t id = tfn__read_number(r);
        if ((size_t)id >= ids) tfn__want(r, "an id");
        if (r->wanted) return;
        tfn__frame_id(v, k, id, i >= begins);
    }
    marks = tfn__read_number(r);
    for (int32_t i = 0; i < marks; i++) {
        const int32_t id = tfn__read_number(r);
        const int32_t flags = tfn__read_number(r);
        if ((size_t)id >= ids || flags & ~most) tfn__want(r, "a token and its marks");
        if (r->wanted) return;
        if (k && k->flags[id] & TFN__MARKS) tfn__want(r, "each token once");
        if (k) k->flags[id] |= (uint8_t)flags;
        v->added++;
        if (flags & TFN__LATE) v->shadows++;
    }
}

/* Check a table of replacements: the size of its trie, and a zero at its end. */
SHARED bool tfn__is_map(const uint8_t *map, size_t bytes)
{
    size_t trie;
    if (bytes < 8 || map[bytes - 1]) return false;
    trie = tfn__map_unit(map, 0);
    return trie % 4 == 0 && trie >= 4 && trie < bytes - 4;
}

/* Read scores, as the bits of doubles, and the table of replacements. */
static void tfn__blob_scores(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k)
{
    if (v->scored && v->count > (r->size - r->at) / 8) tfn__want(r, "scores");
    if (r->wanted) return;
    if (v->scored) for (size_t id = 0; id < v->count; id++, r->at += 8) {
        const uint64_t low = tfn__map_unit(r->s + r->at, 0);
        const uint64_t bits = (uint64_t)tfn__map_unit(r->s + r->at, 1) << 32 | low;
        double x;
        TFNORM_MEMCPY(&x, &bits, sizeof x);
        if (!(x > -1e30 && x < 1e30)) tfn__want(r, "scores");
        if (v->kind == TFN_TOKENIZER_UNIGRAM && x >= TFN__USER_SCORE) tfn__want(r, "scores");
        if (k) k->score[id] = x;
    }
    v->map_bytes = (size_t)tfn__read_number(r);
    if (r->wanted || !v->map_bytes) return;
    if (v->map_bytes > r->size - r->at || !tfn__is_map(r->s + r->at, v->map_bytes)) {
        tfn__want(r, "a table of replacements");
        return;
    }
    v->map = r->s + r->at;
    r->at += v->map_bytes;
}

/* Read a text with a final zero, of at most size - 1 bytes. */
static void tfn__blob_text(tfn__reader *r, char *to, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const int32_t c = tfn__peek(r);
        if (!tfn__accept(r, c)) break;
        to[i] = (char)c;
        if (!c) break;
    }
    if (to[size - 1]) tfn__want(r, "a shorter mark of words");
}

/* Read the rules of tokenizer.json, and the members that only such tokenizers need. */
static void tfn__blob_rules(tfn__reader *r, tfn__vocab *v)
{
    tfn__reader rules;
    size_t bytes;
    tfn__blob_text(r, v->suffix, sizeof v->suffix);
    bytes = (size_t)tfn__read_number(r);
    if (bytes > r->size - r->at) tfn__want(r, "rules");
    if (r->wanted || !bytes) return;
    rules = tfn__read_from(r->s + r->at, bytes);
    tfn__json_members(&rules, v->rules, "normalizer\"pre_tokenizer\"decoder\"");
    if (rules.wanted || rules.at < rules.size) tfn__want(r, "rules in JSON");
    v->stepped = true;
    r->at += bytes;
}

/* Read the steps, and the prefix with which WordPiece continues a word. */
static void tfn__blob_steps(tfn__reader *r, tfn__vocab *v)
{
    const int32_t last_step = 2*TFN_NORMALIZER_MARKS - 1;
    const int32_t last_decoder = 2*TFN_DECODER_SUFFIX - 1;
    const bool words = v->kind == TFN_TOKENIZER_WORDPIECE;

    v->normalizer = tfn__read_number(r);
    v->decoder = tfn__read_number(r);
    v->most_chars = tfn__read_number(r);
    v->unknown_id = tfn__read_number(r);
    if ((size_t)v->unknown_id > v->count - v->hidden) tfn__want(r, "an id");
    if (v->hidden && !v->unknown_id) tfn__want(r, "an id of what is unknown");
    tfn__blob_text(r, v->inside, sizeof v->inside);
    if (v->decoder > last_decoder || (v->form < 3 && v->decoder >= TFN_DECODER_SPACES))
        tfn__want(r, "another version of tfnorm.h");
    if (v->normalizer > last_step && (v->form < 3 || v->normalizer != TFN_NORMALIZER_STEPS))
        tfn__want(r, "another version of tfnorm.h");
    if (v->kind == TFN_TOKENIZER_UNIGRAM && !v->scored) tfn__want(r, "scores");
    if ((words || v->kind == TFN_TOKENIZER_BPE) && v->scored) tfn__want(r, "no scores");
    if (v->split == TFN_SPLIT_STEPS) return;
    if (v->kind == TFN_TOKENIZER_BPE && v->split > TFN_SPLIT_BLOOM) tfn__want(r, "a split");
    if (v->kind == TFN_TOKENIZER_BPE && v->normalizer & ~TFN_NORMALIZER_NFC)
        tfn__want(r, "another normalizer");
    if (words && v->split >= TFN_SPLIT_MARKS) tfn__want(r, "a split");
    if (v->kind >= TFN_TOKENIZER_CHARACTER_BPE && v->split < TFN_SPLIT_MARKS)
        tfn__want(r, "a split");
}
TFN__RARE_END

/* Read a blob. Even with a correct hash its content may be arbitrary: each number is checked before
 * it is used, and a count only limits how far is read. tfn__index_merges checks the merges. */
SHARED void tfn__blob_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const void *blob,
                           size_t size)
{
    tfn__reader r = tfn__read_from(blob, size);
    size_t count;
    size_t merges;
    if (size < sizeof *tfn__magic + TFN__SUM_BYTES) r.size = 0;
    else r.size -= TFN__SUM_BYTES;
    tfn__check_blob(&r, v);
    v->marked = v->form > 0;
    v->kind = (tfn_tokenizer_kind)tfn__read_number(&r);
    count = (size_t)tfn__read_number(&r);
    merges = (size_t)tfn__read_number(&r);
    if ((unsigned)v->kind > TFN_TOKENIZER_UNIGRAM
        || (merges && v->kind != TFN_TOKENIZER_BPE && v->kind != TFN_TOKENIZER_CHARACTER_BPE)
        || (v->form == 1 && v->kind != TFN_TOKENIZER_BPE)
        || (v->form == 2 && v->kind <= TFN_TOKENIZER_WORDS)
        || (v->form == 3 && v->kind != TFN_TOKENIZER_BPE && v->kind <= TFN_TOKENIZER_WORDS)
        || (v->form == 0 && v->kind > TFN_TOKENIZER_WORDS))
        tfn__want(&r, "a kind");
    while (v->count < count) {
        tfn__blob_token(&r, v, k);
        if (r.wanted) break;
    }
    while (v->merges < merges) {
        if (r.wanted) break;
        tfn__blob_merge(&r, v, k);
    }
    if (v->marked) tfn__blob_marks(&r, v, k);
    if (v->form >= 2) tfn__blob_steps(&r, v);
    if (v->form >= 2) tfn__blob_scores(&r, v, k);
    if (v->form == 3) tfn__blob_rules(&r, v);
    if (!r.wanted && v->stepped != (v->split == TFN_SPLIT_STEPS)) tfn__want(&r, "rules");
    tfn__end_vocab(e, &r, "the blob is wrong at byte %d: %s is expected");
}
