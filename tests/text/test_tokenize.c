/* Tokenizers: GPT-2's rules, training against a slow reference, round trips, saving and loading,
 * hostile input. */
#include "../lib.h"
#include "../check.h"
#include "../digest.h"

/* -- helpers --------------------------------------------------------------------------------- */

typedef struct tokenize_box { tfn_tokenizer k; void *mem; size_t size; } tokenize_box;

static tfn_tokenizer_desc tokenize_desc(tfn_tokenizer_kind kind, int32_t vocab)
{
    tfn_tokenizer_desc d;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    d.vocab = vocab;
    d.words = 20000;
    return d;
}

/* A block of exactly the reported size, at an odd address, so that ASan checks its end. It is full
 * of large numbers, which a tokenizer must not read before it writes there. */
static void *tokenize_block(size_t size)
{
    char *p = (char *)malloc(size + 1);
    memset(p, 0x7f, size + 1);
    return p + 1;
}
static void tokenize_free(void *p) { if (p) free((char *)p - 1); }

static tokenize_box tokenize_make(const tfn_tokenizer_source *s)
{
    tokenize_box b;
    b.size = tfn_tokenizer_size(s);
    b.mem = tokenize_block(b.size);
    if (tfn_tokenizer_init(&b.k, s, b.mem, b.size) != TFN_OK) {
        char text[200];
        FAIL("%s", tfn_error_text(&b.k.error, text, sizeof text));
    }
    return b;
}

static tokenize_box tokenize_trained(const tfn_tokenizer_desc *d, const char *text, size_t bytes)
{
    size_t size = tfn_trainer_size(d);
    void *mem = tokenize_block(size);
    tfn_trainer t;
    tfn_tokenizer_source s;
    tokenize_box b;
    memset(&s, 0, sizeof s);
    CHECK(size > 0);
    CHECK_INT(tfn_trainer_init(&t, d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, bytes), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    s.trainer = &t;
    b = tokenize_make(&s);
    CHECK_INT(b.k.vocab, t.vocab);
    tokenize_free(mem);
    return b;
}

static bool tokenize_equal(const tfn_tokenizer *a, const tfn_tokenizer *b)
{
    if (a->kind != b->kind || a->vocab != b->vocab || a->merges != b->merges) return false;
    if (memcmp(a->special, b->special, sizeof a->special)) return false;
    if (memcmp(a->start, b->start, ((size_t)a->vocab + 1) * sizeof *a->start)) return false;
    if (memcmp(a->flags, b->flags, (size_t)a->vocab)) return false;
    if (a->merges && memcmp(a->merge, b->merge, 3 * (size_t)a->merges * sizeof *a->merge))
        return false;
    return !memcmp(a->text, b->text, (size_t)a->start[a->vocab]);
}

/* Encodes with exactly the room needed and with one less, decodes, compares. */
static void tokenize_round_trip(const tfn_tokenizer *k, const char *text, size_t bytes)
{
    ptrdiff_t n = tfn_tokenizer_encode(k, NULL, 0, text, bytes), m, room = (ptrdiff_t)bytes;
    int32_t *ids = (int32_t *)malloc((bytes + 1) * sizeof *ids);
    int32_t *few = (int32_t *)malloc((bytes + 1) * sizeof *few);
    char *back = (char *)malloc(bytes + 1);
    CHECK(n <= room);
    m = tfn_tokenizer_encode(k, ids, room, text, bytes);
    CHECK(m <= n);
    CHECK_INT(tfn_tokenizer_decode(k, NULL, 0, ids, m), bytes);
    back[bytes] = 77;
    CHECK_INT(tfn_tokenizer_decode(k, back, bytes, ids, m), bytes);
    CHECK(!memcmp(back, text, bytes) && back[bytes] == 77);
    for (ptrdiff_t cap = m; cap > m - 3 && cap >= 0; cap--) {
        for (ptrdiff_t i = 0; i < room; i++) few[i] = -9;
        CHECK(tfn_tokenizer_encode(k, few, cap, text, bytes) >= m);
        for (ptrdiff_t i = cap; i < room; i++) if (few[i] != -9) { FAIL("written beyond"); break; }
        if (n == m) CHECK_BITS(few, ids, (size_t)cap * sizeof *ids);
    }
    if (bytes > 2) {
        memset(back, 77, bytes);
        CHECK_INT(tfn_tokenizer_decode(k, back, bytes - 2, ids, m), bytes);
        CHECK(!memcmp(back, text, bytes - 2) && back[bytes - 2] == 77 && back[bytes - 1] == 77);
    }
    free(ids), free(few), free(back);
}

/* Text number i of a stream: bytes, broken UTF-8, ASCII words, or runs. */
static size_t tokenize_text(char *out, size_t room, uint64_t i)
{
    tfn_key key = tfn_key_fold(tfn_key_make(5), i);
    size_t n = 0, wanted = (size_t)(tfn_random_bits(key, 0) % room);
    static const char *const bits[] = { "'s", "'ll", " ", "  ", "\n", "the", "The", "42",
                                        "\xc3\xa9",
        "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "\xc2\xa0", "\xe3\x80\x80", "!", "'", "\xed\xa0\x80",
        "\xc0\x80", "\xf4\x90\x80\x80", "\xff", "\xe6\x97", "ab", "ba", "\xd9\xa1", "\xc2\xbd" };
    for (uint64_t j = 1; n + 4 < wanted; j++) {
        uint64_t r = tfn_random_bits(key, j);
        if (i % 4 == 0) out[n++] = (char)(r & 255);
        else if (i % 4 == 1) out[n++] = (char)("aab"[r % 3]);
        else {
            const char *s = bits[r % (sizeof bits / sizeof *bits)];
            while (*s) out[n++] = *s++;
        }
    }
    return n;
}

static const char tokenize_corpus[] =
    "It was the best of times, it was the worst of times; it wasn't the age of reason's rule.\n"
    "We'll see the 42 best ages of the age: they've 1859 times timed it.\n\n  The aaaa aaaaa aaa's "
    "banana bananas banbanana!!! !!? they they they'll the the there then them hm hmm hmmm hmmmm\n";

/* -- pieces ---------------------------------------------------------------------------------- */

/* The different pieces of a text: the tokens of a vocabulary of words trained on it. */
static void tokenize_pieces(const char *text, const char *const *wanted)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_WORDS, 0);
    tokenize_box b = tokenize_trained(&d, text, strlen(text));
    int32_t ids[100];
    ptrdiff_t n = tfn_tokenizer_encode(&b.k, ids, 100, text, strlen(text)), i;
    for (i = 0; i < n && wanted[i]; i++) {
        size_t bytes;
        const char *s = tfn_tokenizer_token(&b.k, ids[i], &bytes);
        if (bytes != strlen(wanted[i]) || memcmp(s, wanted[i], bytes))
            FAIL("'%s': piece %d is '%.*s', not '%s'", text, (int)i, (int)bytes, s, wanted[i]);
    }
    if (i < n || wanted[i]) FAIL("'%s' has %d pieces", text, (int)n);
    tokenize_free(b.mem);
}

TEST(tokenize_rules)
{
    static const char *const cases[][12] = {        /* the text, then its pieces */
        { "Hello  world", "Hello", " ", " world" },
        { "a\n\nb", "a", "\n", "\n", "b" },
        { "x  ", "x", "  " },
        { "it''s", "it", "''", "s" },
        { "we'LL", "we", "'", "LL" },
        { "x=1+22", "x", "=", "1", "+", "22" },
        { "3rd", "3", "rd" },
        { "a\xc2\xa0" "b", "a", "\xc2\xa0", "b" },
        { "\ttab", "\t", "tab" },
        { "we'll we've I'd I'm don't you're it's", "we", "'ll", " we", "'ve", " I", "'d", " I",
          "'m",
          " don", "'t", " you" },
        { "x 's", "x", " '", "s" },
        { " ", " " },
        { "\n a", "\n", " a" },
        { "a \n", "a", " \n" },
        { "a  \xe3\x80\x80" "b", "a", "  ", "\xe3\x80\x80", "b" },
        { "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac!", "\xc3\xa9t\xc3\xa9",
          " \xe6\x97\xa5\xe6\x9c\xac", "!" },
        { "x\xc2\xbd\xd9\xa1y", "x", "\xc2\xbd\xd9\xa1", "y" },    /* No and Nd are numbers */
        { "a\xcc\x81" "b", "a", "\xcc\x81", "b" },                           /* Mn is neither */
        { "a\x1c\x1d", "a", "\x1c\x1d" },                                    /* not white space */
        { "a\x80\xff!b \xc0\x80", "a", "\x80\xff!", "b", " \xc0\x80" },      /* not UTF-8 */
        { "\xf0\x9f\x98\x80\xf0\xa0\x80\x80", "\xf0\x9f\x98\x80", "\xf0\xa0\x80\x80" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == 9) continue;                       /* longer than a row */
        tokenize_pieces(cases[i][0], cases[i] + 1);
    }
    {
        static const char *const long_one[] = { "we", "'ll", " we", "'ve", " I", "'d", " I", "'m",
            " don", "'t", " you", "'re", " it", "'s", NULL };
        tokenize_pieces(cases[9][0], long_one);
    }
}

/* -- training: the slow way ------------------------------------------------------------------ */

enum { TOKENIZE_MOST = 700, TOKENIZE_SYMBOLS = 3000 };
static int32_t tokenize_symbol[TOKENIZE_SYMBOLS], tokenize_merged[TOKENIZE_MOST][2];
static bool tokenize_begins[TOKENIZE_SYMBOLS];      /* a word begins here */
static int32_t tokenize_counts[TOKENIZE_MOST][TOKENIZE_MOST];

static int tokenize_class(int c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return 1;
    if (c >= '0' && c <= '9') return 2;
    return c == ' ' || (c >= 9 && c <= 13) ? 3 : 0;
}

/* Splits ASCII text into words by a second implementation of the rules in formats.md. */
static void tokenize_split(const char *s, int n)
{
    static const char *const tails[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };
    int at = 0;
    memset(tokenize_begins, 0, sizeof tokenize_begins);
    while (at < n) {
        int end = at, kind;
        tokenize_begins[at] = true;
        for (int i = 0; i < 7; i++)
            if (n - at >= (int)strlen(tails[i]) && !memcmp(s + at, tails[i], strlen(tails[i])))
                end = at + (int)strlen(tails[i]);
        if (end == at) {
            int from = s[at] == ' ' && at + 1 < n && tokenize_class(s[at + 1]) != 3 ? at + 1 : at;
            kind = tokenize_class(s[from]);
            for (end = from; end < n && tokenize_class(s[end]) == kind; end++) {}
            if (kind == 3 && end < n && end - at > 1) end--;
        }
        at = end;
    }
}

static int tokenize_merge(int n, int32_t left, int32_t right, int32_t id)
{
    int out = 0;
    for (int i = 0; i < n; i++, out++) {
        bool both = i + 1 < n && !tokenize_begins[i + 1] && tokenize_symbol[i] == left
                    && tokenize_symbol[i + 1] == right;
        tokenize_begins[out] = tokenize_begins[i];
        tokenize_symbol[out] = both ? id : tokenize_symbol[i];
        i += both;
    }
    return out;
}

/* Does all merges until no pair occurs twice; returns the number of ids. */
static int32_t tokenize_reference(const char *text, int n, int32_t first, int32_t vocab, int *left)
{
    int32_t id = first + 256;
    tokenize_split(text, n);
    for (int i = 0; i < n; i++) tokenize_symbol[i] = first + (uint8_t)text[i];
    for (; id < vocab; id++) {
        int32_t best = 1, l = 0, r = 0;
        memset(tokenize_counts, 0, sizeof tokenize_counts);
        for (int i = 0; i + 1 < n; i++)
            if (!tokenize_begins[i + 1])
                tokenize_counts[tokenize_symbol[i]][tokenize_symbol[i + 1]]++;
        for (int32_t a = 0; a < id; a++)
            for (int32_t b = 0; b < id; b++)
                if (tokenize_counts[a][b] > best) best = tokenize_counts[l = a][r = b];
        if (best < 2) break;
        tokenize_merged[id][0] = l;
        tokenize_merged[id][1] = r;
        n = tokenize_merge(n, l, r, id);
    }
    *left = n;
    return id;
}

static void tokenize_against(const char *text, int n, int32_t vocab)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, vocab);
    tokenize_box b = tokenize_trained(&d, text, (size_t)n);
    int left;
    int32_t ids[TOKENIZE_SYMBOLS], count = tokenize_reference(text, n, 4, vocab, &left);
    CHECK_INT(b.k.vocab, count);
    for (int32_t id = 260; id < count && id < b.k.vocab; id++) {
        const int32_t *m = b.k.merge + 3 * (id - 260);
        if (m[0] != tokenize_merged[id][0] || m[1] != tokenize_merged[id][1] || m[2] != id) {
            FAIL("merge %d is %d %d, not %d %d", id, m[0], m[1], tokenize_merged[id][0],
                 tokenize_merged[id][1]);
            break;
        }
    }
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, TOKENIZE_SYMBOLS, text, (size_t)n), left);
    CHECK_BITS(ids, tokenize_symbol, (size_t)left * sizeof *ids);
    tokenize_round_trip(&b.k, text, (size_t)n);
    tokenize_free(b.mem);
}

TEST(tokenize_training)
{
    char text[TOKENIZE_SYMBOLS];
    tokenize_against(tokenize_corpus, (int)strlen(tokenize_corpus), 600);
    tokenize_against(tokenize_corpus, (int)strlen(tokenize_corpus), 300);
    for (uint64_t i = 0; i < 40; i++) {              /* small alphabets: many ties and runs */
        tfn_key key = tfn_key_fold(tfn_key_make(9), i);
        int n = 100 + (int)(tfn_random_bits(key, 0) % (TOKENIZE_SYMBOLS - 100));
        for (int j = 0; j < n; j++)
            text[j] = "aab ab'sl1\n"[tfn_random_bits(key, 1 + (uint64_t)j) % (2 + i % 10)];
        tokenize_against(text, n, 400);
    }
}

/* Encodes new texts, and words longer than the stack's buffer, in the slow way. */
TEST(tokenize_encoding)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 600);
    tokenize_box b = tokenize_trained(&d, tokenize_corpus, strlen(tokenize_corpus));
    char text[TOKENIZE_SYMBOLS];
    int32_t ids[TOKENIZE_SYMBOLS];
    for (uint64_t i = 0; i < 60; i++) {
        tfn_key key = tfn_key_fold(tfn_key_make(10), i);
        int n = (int)(tfn_random_bits(key, 0) % TOKENIZE_SYMBOLS), m = n;
        for (int j = 0; j < n; j++) {
            uint64_t r = tfn_random_bits(key, 1 + (uint64_t)j);
            text[j] = i % 3 ? "thesaonm it' w"[r % (i % 2 ? 7 : 14)] : i % 2 ? 'a'
                : (char)(32 + r % 90);
        }
        tokenize_split(text, n);
        for (int j = 0; j < n; j++) tokenize_symbol[j] = 4 + (uint8_t)text[j];
        for (int32_t id = 260; id < b.k.vocab; id++)
            m = tokenize_merge(m, b.k.merge[3 * (id - 260)], b.k.merge[3 * (id - 260) + 1], id);
        CHECK_INT(tfn_tokenizer_encode(&b.k, ids, n, text, (size_t)n), m);
        CHECK_BITS(ids, tokenize_symbol, (size_t)m * sizeof *ids);
    }
    tokenize_free(b.mem);
}

/* -- round trips ----------------------------------------------------------------------------- */

TEST(tokenize_round_trips)
{
    static char text[2000];
    for (int kind = TFN_TOKENIZER_BPE; kind <= TFN_TOKENIZER_WORDS; kind++) {
        tfn_tokenizer_desc d = tokenize_desc((tfn_tokenizer_kind)kind,
                                             kind == TFN_TOKENIZER_BPE ? 400 : 0);
        tokenize_box b = tokenize_trained(&d, tokenize_corpus, strlen(tokenize_corpus));
        tokenize_round_trip(&b.k, "", 0);
        tokenize_round_trip(&b.k, tokenize_corpus, strlen(tokenize_corpus));
        for (uint64_t i = 0; i < 200; i++) {
            size_t n = tokenize_text(text, sizeof text, i);
            if (kind == TFN_TOKENIZER_BPE || kind == TFN_TOKENIZER_BYTES) tokenize_round_trip(&b.k,
                text, n);
            else {                                   /* known once trained on the text itself */
                tokenize_box own;
                d.words = 2000;
                own = tokenize_trained(&d, text, n);
                tokenize_round_trip(&own.k, text, n);
                tokenize_free(own.mem);
                CHECK(tfn_tokenizer_encode(&b.k, NULL, 0, text, n) <= (ptrdiff_t)n);
            }
        }
        tokenize_free(b.mem);
    }
}

TEST(tokenize_unknown)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_CHARACTERS, 0);
    tokenize_box b;
    int32_t ids[8], more[4] = { -1, 99, 1, 0 };
    char text[32];
    size_t bytes;
    b = tokenize_trained(&d, "abcab\xc3\xa9", 7);
    CHECK_INT(b.k.vocab, 8);                         /* 4 specials, then a b c e-acute by count */
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 8, "bxa\xc3\xa9", 5), 4);
    CHECK(ids[0] == 5 && ids[1] == b.k.special[TFN_SPECIAL_UNK] && ids[2] == 4 && ids[3] == 7);
    CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, ids, 4), 9);
    CHECK(!memcmp(text, "b<unk>a\xc3\xa9", 9));
    CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, more, 4), 10);
    CHECK(!memcmp(text, "<unk><unk>", 10));          /* two out of range, <s>, <pad> */
    CHECK_INT(tfn_tokenizer_find(&b.k, "</s>", 4), b.k.special[TFN_SPECIAL_EOS]);
    CHECK_INT(tfn_tokenizer_find(&b.k, "\xc3\xa9", 2), 7);
    CHECK_INT(tfn_tokenizer_find(&b.k, "x", 1), -1);
    CHECK(!tfn_tokenizer_token(&b.k, 8, &bytes) && !tfn_tokenizer_token(&b.k, -1, &bytes));
    CHECK_INT(b.k.special[TFN_SPECIAL_MASK], -1);
    tokenize_free(b.mem);

    d.no_pad = d.no_bos = d.no_eos = d.no_unk = d.mask = true;
    d.vocab = 3;
    b = tokenize_trained(&d, "abcab", 5);            /* <mask> a b */
    CHECK_INT(b.k.special[TFN_SPECIAL_MASK], 0);
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 8, "acb", 3), 2);
    CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, more, 2), 0);
    tokenize_free(b.mem);

    d = tokenize_desc(TFN_TOKENIZER_WORDS, 0);
    d.min_count = 2;
    b = tokenize_trained(&d, "a b a c a b", 11);     /* " a" and " b" come twice */
    CHECK_INT(b.k.vocab, 6);
    CHECK_INT(tfn_tokenizer_find(&b.k, " a", 2), 4);
    tokenize_free(b.mem);
}

/* A word of more than 256 bytes is merged in blocks, whose last tokens are split into symbols again.
 * "<unk>" for a byte without a token is one symbol there, not five. */
TEST(tokenize_long_unknown)
{
    enum { WORDS = 200, ROOM = 3 * WORDS, MARGIN = 2048 };
    char text[ROOM];
    int32_t room[ROOM + 2*MARGIN];
    int32_t *ids = room + MARGIN;
    tfn_tokenizer_source s;
    tokenize_box b;
    memset(&s, 0, sizeof s);
    s.vocab = "{\"<unk>\":0,\"a\":1,\"aa\":2}";
    s.vocab_size = strlen(s.vocab);
    s.merges = "a a";
    s.merges_size = 3;
    b = tokenize_make(&s);
    for (int i = 0; i < WORDS; i++) memcpy(text + 3*i, "xaa", 3);
    for (int n = 240; n <= ROOM; n += 3) {              /* n symbols in a room of n ids */
        for (int i = 0; i < ROOM + 2*MARGIN; i++) room[i] = -9;
        CASE("%d bytes", n);
        CHECK_INT(tfn_tokenizer_encode(&b.k, ids, n, text, (size_t)n), 2*n/3);
        for (int i = 0; i < 2*n/3; i++) if (ids[i] != i % 2 * 2) { FAIL("id %d", i); break; }
        for (int i = 0; i < MARGIN; i++)
            if (room[i] != -9 || ids[n + i] != -9) { FAIL("beside the ids, %d", i); break; }
    }
    tokenize_free(b.mem);
}

TEST(tokenize_specials_are_not_text)
{
    const char *text = "<s></s><pad><mask> [CLS] <unk><|endoftext|> <s></s><s></s><s></s>";
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 500);
    tokenize_box b;
    int32_t ids[100];
    ptrdiff_t n;
    d.mask = true;
    b = tokenize_trained(&d, text, strlen(text));
    n = tfn_tokenizer_encode(&b.k, ids, 100, text, strlen(text));
    for (ptrdiff_t i = 0; i < n; i++) CHECK(ids[i] >= 5);
    tokenize_round_trip(&b.k, text, strlen(text));
    tokenize_free(b.mem);
}

/* -- memory and options ---------------------------------------------------------------------- */

TEST(tokenize_memory)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 300);
    tfn_trainer t;
    tfn_tokenizer k;
    tfn_tokenizer_source s;
    size_t size, own;
    char *mem, *block;
    memset(&s, 0, sizeof s);
    d.words = 200;
    size = tfn_trainer_size(&d);
    mem = (char *)malloc(size);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size - 1), TFN_NO_MEMORY);
    CHECK_INT(tfn_trainer_add(&t, "abc", 3), TFN_NO_MEMORY);
    CHECK_INT(tfn_trainer_run(&t), TFN_NO_MEMORY);
    CHECK_INT(tfn_trainer_init(&t, &d, NULL, 0), TFN_NO_MEMORY);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    s.trainer = &t;
    CHECK_INT(tfn_tokenizer_size(&s), 0);            /* the trainer did not run yet */
    CHECK_INT(tfn_tokenizer_init(&k, &s, mem, size), TFN_NOT_READY);
    CHECK_INT(tfn_trainer_add(&t, tokenize_corpus, strlen(tokenize_corpus)), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "x", 1), TFN_NOT_READY);
    own = tfn_tokenizer_size(&s);
    block = (char *)malloc(own);
    for (size_t less = 1; less < own; less = 2*less + 1)
        CHECK_INT(tfn_tokenizer_init(&k, &s, block, own - less), TFN_NO_MEMORY);
    CHECK_INT(tfn_tokenizer_encode(&k, NULL, 0, "a", 1), 0);
    CHECK_INT(tfn_tokenizer_init(&k, &s, block, own), TFN_OK);
    free(block);

    d.words = 3;                                     /* no room for a fourth word */
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "a b c a b c", 5), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "a b d", 5), TFN_NO_MEMORY);
    d.words = 200;
    d.word_bytes = 5;
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "abcde abcdef", 5), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "f", 1), TFN_NO_MEMORY);
    d = tokenize_desc(TFN_TOKENIZER_BPE, 259);    /* 4 specials and 256 bytes do not fit */
    CHECK_INT(tfn_trainer_size(&d), 0);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_BAD_OPTION);
    d = tokenize_desc((tfn_tokenizer_kind)9, 0);
    CHECK_INT(tfn_trainer_size(&d), 0);
    d = tokenize_desc(TFN_TOKENIZER_BPE, 2147483647);
    d.words = d.word_bytes = 1 << 30;
    CHECK(tfn_trainer_size(&d) > 2147483647 || sizeof(size_t) < 8);
    for (int kind = 0; kind < 3; kind++) {          /* room for 12 bytes a word, 4 a character */
        static const tfn_tokenizer_kind kinds[] = { TFN_TOKENIZER_BPE, TFN_TOKENIZER_WORDS,
                                                    TFN_TOKENIZER_CHARACTERS };
        d = tokenize_desc(kinds[kind], 300);
        d.words = 1000;
        own = tfn_trainer_size(&d);
        d.word_bytes = kind < 2 ? 12000 : 4000;
        CASE("kind %d", (int)kinds[kind]);
        CHECK_INT(own, tfn_trainer_size(&d));
    }
    memset(&s, 0, sizeof s);
    CHECK_INT(tfn_tokenizer_init(&k, &s, mem, size), TFN_BAD_OPTION);
    free(mem);
}

/* A pair table that is too small stops training with an error: never a crash. */
TEST(tokenize_many_pairs)
{
    enum { N = 40000 };
    static char text[N];
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 5000);
    size_t size;
    void *mem;
    tfn_trainer t;
    d.words = N;
    d.word_bytes = N;
    size = tfn_trainer_size(&d);
    mem = tokenize_block(size);
    for (size_t i = 0; i < N; i++) text[i] = (char)tfn_random_bits(tfn_key_make(3), i);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, N), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_NO_MEMORY);
    tokenize_free(mem);
    d.word_bytes = 3 * N;
    size = tfn_trainer_size(&d);
    mem = tokenize_block(size);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, N), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    tokenize_free(mem);
}

/* Merges make more pairs than the text had. */
TEST(tokenize_more_pairs)
{
    enum { N = 4000 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
    static char text[N];
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 3000);
    for (size_t i = 0; i < N; i++) text[i] = letters[tfn_random_bits(tfn_key_make(4), i) % 40];
    for (int32_t room = N; room <= 4 * N; room += 3 * N) {
        tfn_trainer t;
        size_t size;
        void *mem;
        d.words = N;
        d.word_bytes = room;
        size = tfn_trainer_size(&d);
        mem = tokenize_block(size);
        CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
        CHECK_INT(tfn_trainer_add(&t, text, N), TFN_OK);
        CHECK_INT(tfn_trainer_run(&t), room == N ? TFN_NO_MEMORY : TFN_OK);
        tokenize_free(mem);
    }
}

/* The room for the bytes of words has a limit, no matter how many words the caller asks for. */
TEST(tokenize_most_words)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 300);
    tfn_trainer t;
    int32_t bytes[2];
    for (int i = 0; i < 2; i++) {
        d.words = (1 << 30) >> i;
        CHECK_INT(tfn_trainer_init(&t, &d, NULL, 0), TFN_NO_MEMORY);
        bytes[i] = t.desc.word_bytes;
    }
    CHECK(bytes[0] > 1 << 20 && bytes[0] == bytes[1]);
}

/* The same texts in another order and in other calls give the same vocabulary. */
TEST(tokenize_determinism)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 500);
    size_t size = tfn_trainer_size(&d);
    void *mem = tokenize_block(size);
    for (int kind = TFN_TOKENIZER_BPE; kind <= TFN_TOKENIZER_WORDS; kind++) {
        tokenize_box b[2];
        d.kind = (tfn_tokenizer_kind)kind;
        for (int i = 0; i < 2; i++) {
            const char *line[8];
            int lines = 0;
            tfn_trainer t;
            tfn_tokenizer_source s;
            memset(&s, 0, sizeof s);
            CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
            for (const char *p = tokenize_corpus; *p; p = strchr(p, '\n') + 1) line[lines++] = p;
            for (int j = 0; j < lines; j++) {
                const char *p = line[i ? lines - 1 - j : j];
                tfn_trainer_add(&t, p, (size_t)(strchr(p, '\n') + 1 - p));
            }
            CHECK_INT(tfn_trainer_run(&t), TFN_OK);
            s.trainer = &t;
            b[i] = tokenize_make(&s);
        }
        CHECK(tokenize_equal(&b[0].k, &b[1].k));
        tokenize_free(b[0].mem);
        tokenize_free(b[1].mem);
    }
    tokenize_free(mem);
}

/* Random texts and options: the digest holds trained tokenizers and their ids of other texts. */
TEST(tokenize_any)
{
    const tfn_key key = tfn_key_make(77);
    uint32_t digest = DIGEST_BEGIN;
    for (uint64_t i = 0; i < 400; i++) {
        const uint64_t bits = tfn_random_bits(key, i);
        char text[900], other[120];
        unsigned char blob[12000];
        int32_t ids[120];
        const size_t bytes = tokenize_text(text, sizeof text, i);
        const size_t others = tokenize_text(other, sizeof other, 1000 + i);
        ptrdiff_t n;
        tfn_tokenizer_desc d = tokenize_desc((tfn_tokenizer_kind)(bits % 4), 0);
        tokenize_box b;
        d.vocab = bits >> 8 & 1 ? 264 + (int32_t)(bits >> 10 & 63) : 0;
        d.min_count = (int64_t)(bits >> 20 & 3);
        d.no_pad = bits >> 24 & 1;
        d.no_bos = bits >> 25 & 1;
        d.no_eos = bits >> 26 & 1;
        d.mask = bits >> 27 & 1;
        if (d.kind > TFN_TOKENIZER_BYTES && bits >> 8 & 1) d.vocab = 8 + (int32_t)(bits >> 10 & 15);
        b = tokenize_trained(&d, text, bytes);
        n = (ptrdiff_t)tfn_tokenizer_write(&b.k, blob, sizeof blob);
        if (n <= (ptrdiff_t)sizeof blob) digest_text(&digest, (const char *)blob, (size_t)n);
        n = tfn_tokenizer_encode(&b.k, ids, 120, other, others);
        digest_int(&digest, n);
        for (ptrdiff_t k = 0; k < n && k < 120; k++) digest_int(&digest, ids[k]);
        tokenize_free(b.mem);
    }
    CHECK_DIGEST(digest, 0x5e9c3e92u);
}

/* -- saving and loading ---------------------------------------------------------------------- */

static char *tokenize_saved(const tfn_tokenizer *k, int form, size_t *size)
{
    size_t (*const vocab)(const tfn_tokenizer *, char *, size_t) =
        form == 1 ? tfn_tokenizer_vocab_text : tfn_tokenizer_merges_text;
    char *out;
    *size = form ? vocab(k, NULL, 0) : tfn_tokenizer_write(k, NULL, 0);
    out = (char *)malloc(*size + 1);
    out[*size - 1] = 7;
    CHECK_INT(form ? vocab(k, out, *size - 1) : tfn_tokenizer_write(k, out, *size - 1), *size);
    CHECK_INT(out[*size - 1], 7);
    CHECK_INT(form ? vocab(k, out, *size) : tfn_tokenizer_write(k, out, *size), *size);
    return out;
}

TEST(tokenize_save_load)
{
    for (int kind = TFN_TOKENIZER_BPE; kind <= TFN_TOKENIZER_WORDS; kind++) {
        tfn_tokenizer_desc d = tokenize_desc((tfn_tokenizer_kind)kind,
                                             kind == TFN_TOKENIZER_BPE ? 400 : 0);
        tokenize_box b = tokenize_trained(&d, tokenize_corpus, strlen(tokenize_corpus)), again;
        tfn_tokenizer_source s;
        char *blob, *vocab, *merges;
        memset(&s, 0, sizeof s);
        s.blob = blob = tokenize_saved(&b.k, 0, &s.blob_size);
        again = tokenize_make(&s);
        CHECK(tokenize_equal(&b.k, &again.k));
        tokenize_free(again.mem);
        memset(&s, 0, sizeof s);
        s.vocab = vocab = tokenize_saved(&b.k, 1, &s.vocab_size);
        s.merges = merges = tokenize_saved(&b.k, 2, &s.merges_size);
        if (kind != TFN_TOKENIZER_BPE) s.merges = NULL;
        s.kind = (tfn_tokenizer_kind)kind;
        again = tokenize_make(&s);
        CHECK(tokenize_equal(&b.k, &again.k));
        tokenize_free(again.mem);
        tokenize_free(b.mem);
        free(blob), free(vocab), free(merges);
    }
}

/* GPT-2's form: escapes, ids in any order, a special at the end. */
TEST(tokenize_gpt2_files)
{
    const char *vocab =
        " {\"H\": 3, \"e\":1,\"l\" :2,\"o\":0,\"\\u0120\": 4,\n\"w\":5, \"r\":6,\"d\":7,"
        "\"ll\":8,\"He\":9,\"Hell\":10,\"Hello\":11,\"\xc4\xa0w\":12,\"or\":13,\"\\u0120wor\":14,"
        "\"\\\"\":15,\"\\\\\":16,\"<|endoftext|>\":18,\"\\ud83d\\ude00\":17} ";
    const char *merges =
        "#version: 0.2\r\nl l\nH e\nHe ll\nHell o\n\n\xc4\xa0 w\no r\n\xc4\xa0w or\n";
    static const int32_t wanted[] = { 11, 14, 2, 7, 12, 1, 2, 15, 16 };
    tfn_tokenizer_source s;
    tokenize_box b;
    int32_t ids[32];
    char text[64];
    memset(&s, 0, sizeof s);
    s.vocab = vocab;
    s.vocab_size = strlen(vocab);
    s.merges = merges;
    s.merges_size = strlen(merges);
    b = tokenize_make(&s);
    CHECK_INT(b.k.vocab, 19);
    CHECK_INT(b.k.merges, 7);
    CHECK_INT(b.k.special[TFN_SPECIAL_EOS], 18);
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 32, "Hello world wel\"\\?", 18), 9);
    CHECK_BITS(ids, wanted, sizeof wanted);
    ids[9] = 18, ids[10] = 17;
    CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, ids, 11), 21);
    CHECK(!memcmp(text, "Hello world wel\"\\\xf0\x9f\x98\x80", 21));
    tokenize_free(b.mem);
}

/* The memory that a file asks for is limited by its size and by its largest id. */
static tfn_status tokenize_try(const tfn_tokenizer_source *s)
{
    size_t size = tfn_tokenizer_size(s);
    void *mem = tokenize_block(size);
    tfn_tokenizer k;
    tfn_status st = tfn_tokenizer_init(&k, s, mem, size);
    const size_t tokens = st == TFN_OK ? (size_t)k.vocab : 0;
    CHECK(size <= 40 * (s->blob_size + s->vocab_size + s->merges_size) + 64 * tokens + 2048);
    int32_t ids[64];
    char text[300];
    if (st == TFN_OK) {
        tfn_tokenizer_encode(&k, ids, 64, "the times' 42\n\xff", 15);
        ids[0] = 3;
        tfn_tokenizer_decode(&k, text, sizeof text, ids, 1);
    } else CHECK(k.error.status == st && *tfn_error_text(&k.error, text, sizeof text));
    tokenize_free(mem);
    return st;
}

TEST(tokenize_bad_text)
{
    static const char *const bad[] = { "", "{", "{}", "[]", "null", "{\"a\":0", "{\"a\":0,}",
        "{\"a\":0}x", "{\"a\":0,\"b\":0}", "{\"a\":0,\"a\":1}", "{\"a\":-1}",
        "{\"a\":0.0}", "{\"a\":00}", "{\"a\":1e0}", "{\"a\":2147483648}",
            "{\"a\":99999999999999999999}",
        "{\"\":0}", "{\"a\n\":0}", "{\"\\u12\":0}", "{\"\\ud800\":0}", "{\"\\udc00x\":0}",
        "{\"\\ud800\\u0041\":0}", "{\"\\x\":0}", "{\"\xff\":0}", "{\"\xed\xa0\x80\":0}", "{a:0}",
        "{\"a\" 0}", "{\"a\":}", "{\"a\":\"0\"}", "{,\"a\":0}", "{\"a\":0 \"b\":1}", "{\"a\\" };
    static const char *const bad_merges[] = { "a", "a ", " a", "a b", "a  a", "a a a", "a a\na a",
        "a \xff", "aa a", "x a", "a \xe2\x82\xac", "#version\n#version" };
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    s.kind = TFN_TOKENIZER_WORDS;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.vocab = bad[i];
        s.vocab_size = strlen(bad[i]);
        if (tokenize_try(&s) != TFN_BAD_FORMAT) FAIL("accepted: %s", bad[i]);
    }
    s.vocab = "{\"a\":0,\"aa\":1,\"b\":2}";
    s.vocab_size = strlen(s.vocab);
    CHECK_INT(tokenize_try(&s), TFN_OK);
    s.kind = TFN_TOKENIZER_BPE;
    CHECK_INT(tokenize_try(&s), TFN_BAD_OPTION);
    for (size_t i = 0; i < sizeof bad_merges / sizeof *bad_merges; i++) {
        s.merges = bad_merges[i];
        s.merges_size = strlen(s.merges);
        if (tokenize_try(&s) != TFN_BAD_FORMAT) FAIL("accepted: %s", bad_merges[i]);
    }
}

static uint32_t tokenize_sum(const char *s, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

static void tokenize_sign(char *blob, size_t size)          /* gives it a correct hash */
{
    const uint32_t sum = tokenize_sum(blob, size - 4);
    for (size_t i = 0; i < 4; i++) blob[size - 4 + i] = (char)(sum >> 8*i);
}

/* Every truncation is an error, and so is every changed byte; with a corrected hash it must not
 * crash. readers.sh tries all changes. */
TEST(tokenize_bad_blob)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 300);
    tokenize_box b = tokenize_trained(&d, tokenize_corpus, strlen(tokenize_corpus));
    tfn_tokenizer_source s;
    size_t size, accepted = 0;
    char *blob = tokenize_saved(&b.k, 0, &size), *copy;
    memset(&s, 0, sizeof s);
    for (size_t n = 0; n < size; n++) {
        s.blob = copy = (char *)malloc(n ? n : 1);
        memcpy(copy, blob, n);
        s.blob_size = n;
        if (tokenize_try(&s) != TFN_BAD_FORMAT) FAIL("cut at %d", (int)n);
        if (n > 12) {                                /* cut, but with a corrected hash */
            tokenize_sign(copy, n);
            if (tokenize_try(&s) != TFN_BAD_FORMAT) FAIL("cut at %d, summed", (int)n);
        }
        free(copy);
    }
    copy = (char *)malloc(size);
    s.blob = copy;
    s.blob_size = size;
    for (size_t n = 0; n < size; n++) {
        for (int change = 1; change < 256; change += getenv("TEST_EVERY") ? 1 : 127) {
            memcpy(copy, blob, size);
            copy[n] = (char)(copy[n] ^ change);
            if (tokenize_try(&s) != TFN_BAD_FORMAT) FAIL("byte %d changed", (int)n);
            tokenize_sign(copy, size);
            accepted += tokenize_try(&s) == TFN_OK;
        }
    }
    CHECK(accepted > 0);
    free(copy), free(blob);
    tokenize_free(b.mem);
}

/* A vocabulary that skips ids: those have no text, and saved and read again it is the same. A
 * blob marks an id without bytes as raw. */
TEST(tokenize_skipped_ids)
{
    static const char vocab[] = "{\"a\":0,\"b\":3,\"ab\":6,\"<unk>\":4}";
    for (int kind = TFN_TOKENIZER_BPE; kind <= TFN_TOKENIZER_WORDS; kind++) {
        tfn_tokenizer_source s, blob, texts;
        tokenize_box b, again;
        char *saved[3];
        int32_t id = 1;
        CASE("kind %d", kind);
        memset(&s, 0, sizeof s);
        s.kind = (tfn_tokenizer_kind)kind;
        s.vocab = vocab;
        s.vocab_size = strlen(vocab);
        s.merges = kind == TFN_TOKENIZER_BPE ? "a b" : NULL;
        s.merges_size = 3;
        b = tokenize_make(&s);
        CHECK_INT(b.k.vocab, 7);
        CHECK(!tfn_tokenizer_token(&b.k, id, NULL));
        CHECK_INT(tfn_tokenizer_decode(&b.k, NULL, 0, &id, 1), 0);

        memset(&blob, 0, sizeof blob);
        blob.blob = saved[0] = tokenize_saved(&b.k, 0, &blob.blob_size);
        again = tokenize_make(&blob);
        CHECK(tokenize_equal(&b.k, &again.k));
        tokenize_free(again.mem);
        CHECK_INT(saved[0][13], 1);                         /* id 1: raw and 0 bytes */
        saved[0][13] = 0;
        tokenize_sign(saved[0], blob.blob_size);
        CHECK_INT(tokenize_try(&blob), TFN_BAD_FORMAT);
        texts = s;
        texts.vocab = saved[1] = tokenize_saved(&b.k, 1, &texts.vocab_size);
        saved[2] = NULL;
        if (s.merges) texts.merges = saved[2] = tokenize_saved(&b.k, 2, &texts.merges_size);
        again = tokenize_make(&texts);
        CHECK(tokenize_equal(&b.k, &again.k));
        tokenize_free(again.mem);
        tokenize_free(b.mem);
        for (int i = 0; i < 3; i++) free(saved[i]);
    }
}

/* Truncations and changes of the two texts: an error, or a tokenizer that works. */
TEST(tokenize_bad_files)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_BPE, 280);
    tokenize_box b = tokenize_trained(&d, tokenize_corpus, strlen(tokenize_corpus));
    tfn_tokenizer_source s;
    char *form[2];
    size_t size[2], accepted = 0;
    memset(&s, 0, sizeof s);
    form[0] = tokenize_saved(&b.k, 1, &size[0]);
    form[1] = tokenize_saved(&b.k, 2, &size[1]);
    for (int which = 0; which < 2; which++)
        for (size_t n = 0; n < size[which]; n++) {
            char *copy = (char *)malloc(n ? n : 1);
            tfn_status st;
            memcpy(copy, form[which], n);
            s.vocab = which ? form[0] : copy;
            s.vocab_size = which ? size[0] : n;
            s.merges = which ? copy : form[1];
            s.merges_size = which ? n : size[1];
            st = tokenize_try(&s);
            CHECK(which || st == TFN_BAD_FORMAT);
            free(copy);
            copy = (char *)malloc(size[which]);
            memcpy(copy, form[which], size[which]);
            *(which ? &s.merges : &s.vocab) = copy;
            *(which ? &s.merges_size : &s.vocab_size) = size[which];
            for (int change = 1; change < 256; change += getenv("TEST_EVERY") ? 1 : 97) {
                copy[n] = (char)(form[which][n] ^ change);
                accepted += tokenize_try(&s) == TFN_OK;
            }
            free(copy);
        }
    CHECK(accepted > 0);
    free(form[0]), free(form[1]);
    tokenize_free(b.mem);
}

/* A second run changes nothing. A number of words below 0 is refused. BPE without a merge cannot be
 * written as tokenizer.json. */
TEST(tokenize_trainer_limits)
{
    tfn_tokenizer_desc d = tokenize_desc(TFN_TOKENIZER_WORDS, 0);
    const size_t size = tfn_trainer_size(&d);
    void *mem = tokenize_block(size);
    tfn_trainer t;
    tokenize_box b;
    int32_t vocab;
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "a b a", 5), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    vocab = t.vocab;
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    CHECK(t.vocab == vocab && vocab > 0);
    tokenize_free(mem);
    d.words = -1;
    CHECK_INT(tfn_trainer_size(&d), 0);
    d = tokenize_desc(TFN_TOKENIZER_BPE, 260);
    b = tokenize_trained(&d, "abab abab", 9);
    CHECK(b.k.merges == 0 && b.k.vocab == 260);
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    tokenize_free(b.mem);
}

int main(void)
{
    RUN(tokenize_rules);
    RUN(tokenize_training);
    RUN(tokenize_encoding);
    RUN(tokenize_round_trips);
    RUN(tokenize_unknown);
    RUN(tokenize_long_unknown);
    RUN(tokenize_specials_are_not_text);
    RUN(tokenize_memory);
    RUN(tokenize_many_pairs);
    RUN(tokenize_more_pairs);
    RUN(tokenize_most_words);
    RUN(tokenize_determinism);
    RUN(tokenize_any);
    RUN(tokenize_save_load);
    RUN(tokenize_gpt2_files);
    RUN(tokenize_bad_text);
    RUN(tokenize_bad_blob);
    RUN(tokenize_skipped_ids);
    RUN(tokenize_bad_files);
    RUN(tokenize_trainer_limits);
    return DONE();
}
