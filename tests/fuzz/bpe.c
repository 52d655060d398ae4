/* Fuzz: trains tokenizers on short texts and encodes with them. Compares with a plain byte-pair
 * encoder that counts all pairs anew for every merge (Sennrich et al. 2016, algorithm 1). */
#include "input.h"
#include "../lib.h"

enum { MOST_TEXT = 512, MOST_WORDS = 300, MOST_IDS = 600 };

/* -- texts ----------------------------------------------------------------------------------- */

static unsigned char text[MOST_TEXT];
static int text_size;

static void make_text(bool ascii)
{
    static const char *const pieces[] = {
        "a", "b", "ab", "aa", "the", "he", "e", "t", " ", " a", "\n", "  ", "'s", "'t", "'re",
            "'ve", "'ll", "'", "12", "3", ".", "!?"
    };
    static const char *const more[] = { "\xc3\xa9", "\xe4\xb8\x80", "\xff", "\xf0\x9f\x98\x80",
                                        "\xc2\xa0", "\xd9\xa3", "\xed\xa0\x80", "\x00" };
    const int kinds = 1 + fuzz_below((int)(sizeof pieces / sizeof *pieces));
    int left = fuzz_one_in(8) ? fuzz_below(160) : fuzz_below(24);
    for (text_size = 0; left > 0; left--) {
        const char *piece = pieces[fuzz_below(kinds)];
        if (!ascii && fuzz_one_in(4)) piece = INPUT_ONE_OF(more);
        memcpy(text + text_size, piece, strlen(piece));
        text_size += (int)strlen(piece);
        if (text_size > MOST_TEXT - 8) break;
    }
}

/* -- the plain encoder ----------------------------------------------------------------------- */

typedef struct word { unsigned char s[MOST_TEXT]; int bytes, count, symbols,
                      symbol[MOST_TEXT]; } word;
static word words[MOST_WORDS];
static int word_count, ids, merged[MOST_IDS][2], id_bytes[MOST_IDS];
static int pair_count[MOST_IDS][MOST_IDS];
static unsigned char id_text[MOST_IDS][MOST_TEXT];

static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(int c)  { return c >= '0' && c <= '9'; }
static bool is_space(int c)  { return c == ' ' || (c >= 9 && c <= 13); }
static int class_of(int c)
{
    if (is_letter(c)) return 1;
    if (is_digit(c)) return 2;
    return is_space(c) ? 3 : 0;
}

/* GPT-2's pattern on ASCII: 's|'t|'re|'ve|'m|'ll|'d| ?letters| ?digits| ?others|\s+(?!\S)|\s+ */
static int piece_at(const unsigned char *s, int n)
{
    static const char *const endings[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };
    int at, kind;
    for (int i = 0; i < 7; i++) {
        const int length = (int)strlen(endings[i]);
        if (n >= length && !memcmp(s, endings[i], (size_t)length)) return length;
    }
    at = s[0] == ' ' && n > 1 && !is_space(s[1]);
    kind = class_of(s[at]);
    if (kind != 3) {
        while (at < n && class_of(s[at]) == kind) at++;
        return at;
    }
    while (at < n && is_space(s[at])) at++;
    return at < n && at > 1 ? at - 1 : at;
}

static void count_word(const unsigned char *s, int n, int first)
{
    word *w = words;
    for (; w < words + word_count; w++)
        if (w->bytes == n && !memcmp(w->s, s, (size_t)n)) {
            w->count++;
            return;
        }
    if (word_count == MOST_WORDS) return;
    word_count++;
    memcpy(w->s, s, (size_t)n);
    w->bytes = w->symbols = n;
    w->count = 1;
    for (int i = 0; i < n; i++) w->symbol[i] = first + s[i];
}

/* Replaces each pair left, right by `id`, from left to right. */
static void merge_word(word *w, int left, int right, int id)
{
    int out = 0;
    for (int i = 0; i < w->symbols; i++) {
        const bool both = w->symbol[i] == left && i + 1 < w->symbols && w->symbol[i + 1] == right;
        w->symbol[out++] = both ? id : w->symbol[i];
        i += both;
    }
    w->symbols = out;
}

/* The most frequent pair; of equal ones, the one with the smallest ids. Returns its count. */
static int best_pair(int *left, int *right)
{
    int best = 0;
    for (int i = 0; i < word_count; i++)
        for (int k = 1; k < words[i].symbols; k++)
            pair_count[words[i].symbol[k - 1]][words[i].symbol[k]] += words[i].count;
    for (int i = 0; i < word_count; i++)
        for (int k = 1; k < words[i].symbols; k++) {
            const int a = words[i].symbol[k - 1], b = words[i].symbol[k], n = pair_count[a][b];
            if (n < best || (n == best && (a > *left || (a == *left && b >= *right)))) continue;
            best = n;
            *left = a;
            *right = b;
        }
    for (int i = 0; i < word_count; i++)
        for (int k = 1; k < words[i].symbols; k++)
            pair_count[words[i].symbol[k - 1]][words[i].symbol[k]] = 0;
    return best;
}

static void train_plainly(int first, int vocab, int64_t min_count)
{
    for (int i = 0; i < 256; i++) {
        id_bytes[first + i] = 1;
        id_text[first + i][0] = (unsigned char)i;
    }
    for (ids = first + 256; ids < vocab; ids++) {
        int left = 0, right = 0;
        if (best_pair(&left, &right) < min_count) break;
        if (!word_count) break;
        merged[ids][0] = left;
        merged[ids][1] = right;
        id_bytes[ids] = id_bytes[left] + id_bytes[right];
        memcpy(id_text[ids], id_text[left], (size_t)id_bytes[left]);
        memcpy(id_text[ids] + id_bytes[left], id_text[right], (size_t)id_bytes[right]);
        for (int i = 0; i < word_count; i++) merge_word(words + i, left, right, ids);
    }
}

static int encode_plainly(int32_t *to, int first)
{
    static word w;
    int count = 0;
    for (int at = 0, n; at < text_size; at += n) {
        n = piece_at(text + at, text_size - at);
        w.symbols = n;
        for (int i = 0; i < n; i++) w.symbol[i] = first + text[at + i];
        for (int id = first + 256; id < ids; id++) merge_word(&w, merged[id][0], merged[id][1], id);
        for (int i = 0; i < w.symbols; i++) to[count++] = w.symbol[i];
    }
    return count;
}

/* -- the cases ------------------------------------------------------------------------------- */

static input_room trainer_room, tokenizer_room, text_room;

static void check_encoding(const tfn_tokenizer *k, int first, bool plain)
{
    static int32_t found[MOST_TEXT], wanted[MOST_TEXT];
    static char back[4 * MOST_TEXT];
    const char *s = (const char *)input_place(text_room, text, (size_t)text_size);
    const ptrdiff_t n = tfn_tokenizer_encode(k, found, MOST_TEXT, s, (size_t)text_size);
    size_t bytes;
    fuzz_executions++;
    fuzz_accepted++;
    FUZZ_CHECK(n >= 0 && n <= text_size);
    if (plain) {
        const int m = encode_plainly(wanted, first);
        if (m != n || memcmp(found, wanted, 4 * (size_t)n))
            FUZZ_FAIL("%d ids, not %d or not the same", (int)n, m);
    }
    bytes = tfn_tokenizer_decode(k, back, sizeof back, found, n);
    if (k->kind == TFN_TOKENIZER_BPE || k->kind == TFN_TOKENIZER_BYTES)
        FUZZ_CHECK(bytes == (size_t)text_size && !memcmp(back, text, bytes));
}

static void check_merges(const tfn_tokenizer *k, int first)
{
    if (k->vocab != ids) {
        FUZZ_FAIL("%d ids, not %d", (int)k->vocab, ids);
        return;
    }
    for (int id = first; id < ids; id++) {
        size_t n;
        const char *s = tfn_tokenizer_token(k, id, &n);
        if (n != (size_t)id_bytes[id] || memcmp(s, id_text[id], n)) FUZZ_FAIL("token %d is another",
            id);
    }
}

/* Words and characters are ordered by decreasing count, then by bytes, and all are frequent
 * enough. */
static void check_order(const tfn_tokenizer *k, int first, const tfn_tokenizer_desc *d)
{
    int last = 1 << 30;
    if (d->kind != TFN_TOKENIZER_WORDS) return;
    for (int id = first; id < k->vocab; id++) {
        size_t n;
        const char *s = tfn_tokenizer_token(k, id, &n);
        int count = -1;
        for (int i = 0; i < word_count; i++)
            if (words[i].bytes == (int)n && !memcmp(words[i].s, s, n)) count = words[i].count;
        if (count < d->min_count || count > last) FUZZ_FAIL("word %d stands %d times", id, count);
        last = count;
    }
}

static tfn_tokenizer_desc make_desc(void)
{
    static const tfn_tokenizer_kind kinds[] = { TFN_TOKENIZER_BPE, TFN_TOKENIZER_BPE,
                                                TFN_TOKENIZER_BPE, TFN_TOKENIZER_BPE,
                                                    TFN_TOKENIZER_WORDS, TFN_TOKENIZER_CHARACTERS,
                                                        TFN_TOKENIZER_BYTES };
    tfn_tokenizer_desc d;
    memset(&d, 0, sizeof d);
    d.kind = INPUT_ONE_OF(kinds);
    d.no_pad = fuzz_one_in(2);
    d.no_bos = fuzz_one_in(2);
    d.no_eos = fuzz_one_in(2);
    d.no_unk = fuzz_one_in(2);
    d.mask = fuzz_one_in(4);
    d.words = fuzz_one_in(8) ? 1 + fuzz_below(8) : 250;
    d.word_bytes = fuzz_one_in(8) ? 1 + fuzz_below(64) : 1200;
    d.min_count = fuzz_below(3);
    d.vocab = d.kind == TFN_TOKENIZER_BPE
        || d.kind == TFN_TOKENIZER_BYTES ? 261 + fuzz_below(fuzz_one_in(4) ? 80 : 12)
            : fuzz_below(20) + 5;
    if (fuzz_one_in(64)) d.vocab = fuzz_below(300) - 20;
    if (fuzz_one_in(128)) d.words = -fuzz_below(3);
    if (fuzz_one_in(128)) d.min_count = -1;
    if (fuzz_one_in(256)) d.kind = (tfn_tokenizer_kind)fuzz_below(9);
    return d;
}

static tfn_status train(tfn_trainer *t, const tfn_tokenizer_desc *d, int texts, bool ascii)
{
    const size_t size = tfn_trainer_size(d);
    word_count = 0;
    if (size > trainer_room.size) return TFN_TOO_LARGE;
    if (size && fuzz_one_in(64)) {      /* one byte too small */
        FUZZ_CHECK(tfn_trainer_init(t, d, input_last(trainer_room, size - 1),
                                    size - 1) == TFN_NO_MEMORY);
        return TFN_NO_MEMORY;
    }
    if (tfn_trainer_init(t, d, input_last(trainer_room, size), size) != TFN_OK)
        return t->error.status;
    FUZZ_CHECK(size > 0);
    for (int i = 0; i < texts; i++) {
        make_text(ascii);
        tfn_trainer_add(t, (const char *)input_place(text_room, text, (size_t)text_size),
                        (size_t)text_size);
        for (int at = 0, n; ascii && at < text_size; at += n) {
            n = piece_at(text + at, text_size - at);
            count_word(text + at, n, t->first);
        }
    }
    return tfn_trainer_run(t);
}

static void fuzz_case(void)
{
    const tfn_tokenizer_desc d = make_desc();
    const bool ascii = !fuzz_one_in(4), plain = ascii && d.kind == TFN_TOKENIZER_BPE;
    tfn_tokenizer_source s;
    tfn_tokenizer k;
    tfn_trainer t;
    size_t size;
    if (!text_room.end) {
        trainer_room = input_room_new(1 << 20);
        tokenizer_room = input_room_new(1 << 20);
        text_room = input_room_new(MOST_TEXT);
    }
    fuzz_executions++;
    if (train(&t, &d, 1 + fuzz_below(2), ascii) != TFN_OK) return;
    fuzz_accepted++;
    memset(&s, 0, sizeof s);
    s.trainer = &t;
    size = tfn_tokenizer_size(&s);
    if (!size) {                        /* no word is frequent enough, and there are no specials */
        FUZZ_CHECK(d.kind == TFN_TOKENIZER_WORDS || d.kind == TFN_TOKENIZER_CHARACTERS);
        return;
    }
    FUZZ_CHECK(tfn_tokenizer_init(&k, &s, input_last(tokenizer_room, size), size) == TFN_OK);
    if (plain) {
        train_plainly(t.first, t.desc.vocab, t.desc.min_count);
        check_merges(&k, t.first);
    }
    if (ascii) check_order(&k, t.first, &t.desc);
    for (int i = 0; i < 4; i++) {
        make_text(ascii);
        check_encoding(&k, t.first, plain);
    }
}

int main(int argc, char **argv) { return fuzz_main("bpe", argc, argv); }
