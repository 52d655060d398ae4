/* Tokenisers: GPT-2's rules, training against a slow reference, round trips, saving and loading,
 * hostile input. */
#include "lib.h"
#include "check.h"

/* -- helpers --------------------------------------------------------------------------------- */

typedef struct tokenise_box { tfn_tokeniser k; void *mem; size_t size; } tokenise_box;

static tfn_tokeniser_desc tokenise_desc(tfn_tokeniser_kind kind, int32_t vocab)
{
    tfn_tokeniser_desc d;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    d.vocab = vocab;
    d.words = 20000;
    return d;
}

/* A block of exactly the bytes that are named, at an odd address, so that ASan sees its end. */
static void *tokenise_block(size_t size) { return (char *)malloc(size + 1) + 1; }
static void tokenise_free(void *p) { if (p) free((char *)p - 1); }

static tokenise_box tokenise_make(const tfn_tokeniser_source *s)
{
    tokenise_box b;
    b.size = tfn_tokeniser_size(s);
    b.mem = tokenise_block(b.size);
    if (tfn_tokeniser_init(&b.k, s, b.mem, b.size) != TFN_OK) {
        char text[200];
        FAIL("%s", tfn_error_text(&b.k.error, text, sizeof text));
    }
    return b;
}

static tokenise_box tokenise_trained(const tfn_tokeniser_desc *d, const char *text, size_t bytes)
{
    size_t size = tfn_trainer_size(d);
    void *mem = tokenise_block(size);
    tfn_trainer t;
    tfn_tokeniser_source s;
    tokenise_box b;
    memset(&s, 0, sizeof s);
    CHECK(size > 0);
    CHECK_INT(tfn_trainer_init(&t, d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, bytes), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    s.trainer = &t;
    b = tokenise_make(&s);
    CHECK_INT(b.k.vocab, t.vocab);
    tokenise_free(mem);
    return b;
}

static bool tokenise_equal(const tfn_tokeniser *a, const tfn_tokeniser *b)
{
    if (a->kind != b->kind || a->vocab != b->vocab || a->merges != b->merges) return false;
    if (memcmp(a->special, b->special, sizeof a->special)) return false;
    if (memcmp(a->start, b->start, ((size_t)a->vocab + 1) * sizeof *a->start)) return false;
    if (memcmp(a->flags, b->flags, (size_t)a->vocab)) return false;
    if (a->merges && memcmp(a->merge, b->merge, 3 * (size_t)a->merges * sizeof *a->merge)) return false;
    return !memcmp(a->text, b->text, (size_t)a->start[a->vocab]);
}

/* Encode with exactly the room needed and with one less, decode, compare. */
static void tokenise_round_trip(const tfn_tokeniser *k, const char *text, size_t bytes)
{
    ptrdiff_t n = tfn_tokeniser_encode(k, NULL, 0, text, bytes), m, room = (ptrdiff_t)bytes;
    int32_t *ids = (int32_t *)malloc((bytes + 1) * sizeof *ids);
    int32_t *few = (int32_t *)malloc((bytes + 1) * sizeof *few);
    char *back = (char *)malloc(bytes + 1);
    CHECK(n <= room);
    m = tfn_tokeniser_encode(k, ids, room, text, bytes);
    CHECK(m <= n);
    CHECK_INT(tfn_tokeniser_decode(k, NULL, 0, ids, m), bytes);
    back[bytes] = 77;
    CHECK_INT(tfn_tokeniser_decode(k, back, bytes, ids, m), bytes);
    CHECK(!memcmp(back, text, bytes) && back[bytes] == 77);
    for (ptrdiff_t cap = m; cap > m - 3 && cap >= 0; cap--) {
        for (ptrdiff_t i = 0; i < room; i++) few[i] = -9;
        CHECK(tfn_tokeniser_encode(k, few, cap, text, bytes) >= m);
        for (ptrdiff_t i = cap; i < room; i++) if (few[i] != -9) { FAIL("written beyond"); break; }
        if (n == m) CHECK_BITS(few, ids, (size_t)cap * sizeof *ids);
    }
    if (bytes > 2) {
        memset(back, 77, bytes);
        CHECK_INT(tfn_tokeniser_decode(k, back, bytes - 2, ids, m), bytes);
        CHECK(!memcmp(back, text, bytes - 2) && back[bytes - 2] == 77 && back[bytes - 1] == 77);
    }
    free(ids), free(few), free(back);
}

/* Text number i of a stream: bytes, broken UTF-8, ASCII words, or runs. */
static size_t tokenise_text(char *out, size_t room, uint64_t i)
{
    tfn_key key = tfn_key_fold(tfn_key_make(5), i);
    size_t n = 0, wanted = (size_t)(tfn_random_bits(key, 0) % room);
    static const char *const bits[] = { "'s", "'ll", " ", "  ", "\n", "the", "The", "42", "\xc3\xa9",
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

static const char tokenise_corpus[] =
    "It was the best of times, it was the worst of times; it wasn't the age of reason's rule.\n"
    "We'll see the 42 best ages of the age: they've 1859 times timed it.\n\n  The aaaa aaaaa aaa's "
    "banana bananas banbanana!!! !!? they they they'll the the there then them hm hmm hmmm hmmmm\n";

/* -- pieces ---------------------------------------------------------------------------------- */

/* The pieces of a text, each once: the tokens of a vocabulary of words trained on it. */
static void tokenise_pieces(const char *text, const char *const *wanted)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_WORDS, 0);
    tokenise_box b = tokenise_trained(&d, text, strlen(text));
    int32_t ids[100];
    ptrdiff_t n = tfn_tokeniser_encode(&b.k, ids, 100, text, strlen(text)), i;
    for (i = 0; i < n && wanted[i]; i++) {
        size_t bytes;
        const char *s = tfn_tokeniser_token(&b.k, ids[i], &bytes);
        if (bytes != strlen(wanted[i]) || memcmp(s, wanted[i], bytes))
            FAIL("'%s': piece %d is '%.*s', not '%s'", text, (int)i, (int)bytes, s, wanted[i]);
    }
    if (i < n || wanted[i]) FAIL("'%s' has %d pieces", text, (int)n);
    tokenise_free(b.mem);
}

TEST(tokenise_rules)
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
        { "we'll we've I'd I'm don't you're it's", "we", "'ll", " we", "'ve", " I", "'d", " I", "'m",
          " don", "'t", " you" },
        { "x 's", "x", " '", "s" },
        { " ", " " },
        { "\n a", "\n", " a" },
        { "a \n", "a", " \n" },
        { "a  \xe3\x80\x80" "b", "a", "  ", "\xe3\x80\x80", "b" },
        { "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac!", "\xc3\xa9t\xc3\xa9", " \xe6\x97\xa5\xe6\x9c\xac", "!" },
        { "x\xc2\xbd\xd9\xa1y", "x", "\xc2\xbd\xd9\xa1", "y" },              /* No and Nd are numbers */
        { "a\xcc\x81" "b", "a", "\xcc\x81", "b" },                           /* Mn is neither */
        { "a\x1c\x1d", "a", "\x1c\x1d" },                                    /* not white space */
        { "a\x80\xff!b \xc0\x80", "a", "\x80\xff!", "b", " \xc0\x80" },      /* not UTF-8 */
        { "\xf0\x9f\x98\x80\xf0\xa0\x80\x80", "\xf0\x9f\x98\x80", "\xf0\xa0\x80\x80" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == 9) continue;                       /* longer than a row */
        tokenise_pieces(cases[i][0], cases[i] + 1);
    }
    {
        static const char *const long_one[] = { "we", "'ll", " we", "'ve", " I", "'d", " I", "'m",
            " don", "'t", " you", "'re", " it", "'s", NULL };
        tokenise_pieces(cases[9][0], long_one);
    }
}

/* -- training: the slow way ------------------------------------------------------------------ */

enum { TOKENISE_MOST = 700, TOKENISE_SYMBOLS = 3000 };
static int32_t tokenise_symbol[TOKENISE_SYMBOLS], tokenise_merged[TOKENISE_MOST][2];
static bool tokenise_begins[TOKENISE_SYMBOLS];      /* a word begins here */
static int32_t tokenise_counts[TOKENISE_MOST][TOKENISE_MOST];

static int tokenise_class(int c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return 1;
    if (c >= '0' && c <= '9') return 2;
    return c == ' ' || (c >= 9 && c <= 13) ? 3 : 0;
}

/* Words of ASCII text: the rules once more, written from the list of formats.md. */
static void tokenise_split(const char *s, int n)
{
    static const char *const tails[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };
    int at = 0;
    memset(tokenise_begins, 0, sizeof tokenise_begins);
    while (at < n) {
        int end = at, kind;
        tokenise_begins[at] = true;
        for (int i = 0; i < 7; i++)
            if (n - at >= (int)strlen(tails[i]) && !memcmp(s + at, tails[i], strlen(tails[i])))
                end = at + (int)strlen(tails[i]);
        if (end == at) {
            int from = s[at] == ' ' && at + 1 < n && tokenise_class(s[at + 1]) != 3 ? at + 1 : at;
            kind = tokenise_class(s[from]);
            for (end = from; end < n && tokenise_class(s[end]) == kind; end++) {}
            if (kind == 3 && end < n && end - at > 1) end--;
        }
        at = end;
    }
}

static int tokenise_merge(int n, int32_t left, int32_t right, int32_t id)
{
    int out = 0;
    for (int i = 0; i < n; i++, out++) {
        bool both = i + 1 < n && !tokenise_begins[i + 1] && tokenise_symbol[i] == left
                    && tokenise_symbol[i + 1] == right;
        tokenise_begins[out] = tokenise_begins[i];
        tokenise_symbol[out] = both ? id : tokenise_symbol[i];
        i += both;
    }
    return out;
}

/* All merges until no pair comes twice; returns how many ids there are. */
static int32_t tokenise_reference(const char *text, int n, int32_t first, int32_t vocab, int *left)
{
    int32_t id = first + 256;
    tokenise_split(text, n);
    for (int i = 0; i < n; i++) tokenise_symbol[i] = first + (uint8_t)text[i];
    for (; id < vocab; id++) {
        int32_t best = 1, l = 0, r = 0;
        memset(tokenise_counts, 0, sizeof tokenise_counts);
        for (int i = 0; i + 1 < n; i++)
            if (!tokenise_begins[i + 1]) tokenise_counts[tokenise_symbol[i]][tokenise_symbol[i + 1]]++;
        for (int32_t a = 0; a < id; a++)
            for (int32_t b = 0; b < id; b++)
                if (tokenise_counts[a][b] > best) best = tokenise_counts[l = a][r = b];
        if (best < 2) break;
        tokenise_merged[id][0] = l;
        tokenise_merged[id][1] = r;
        n = tokenise_merge(n, l, r, id);
    }
    *left = n;
    return id;
}

static void tokenise_against(const char *text, int n, int32_t vocab)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, vocab);
    tokenise_box b = tokenise_trained(&d, text, (size_t)n);
    int left;
    int32_t ids[TOKENISE_SYMBOLS], count = tokenise_reference(text, n, 4, vocab, &left);
    CHECK_INT(b.k.vocab, count);
    for (int32_t id = 260; id < count && id < b.k.vocab; id++) {
        const int32_t *m = b.k.merge + 3 * (id - 260);
        if (m[0] != tokenise_merged[id][0] || m[1] != tokenise_merged[id][1] || m[2] != id) {
            FAIL("merge %d is %d %d, not %d %d", id, m[0], m[1], tokenise_merged[id][0],
                 tokenise_merged[id][1]);
            break;
        }
    }
    CHECK_INT(tfn_tokeniser_encode(&b.k, ids, TOKENISE_SYMBOLS, text, (size_t)n), left);
    CHECK_BITS(ids, tokenise_symbol, (size_t)left * sizeof *ids);
    tokenise_round_trip(&b.k, text, (size_t)n);
    tokenise_free(b.mem);
}

TEST(tokenise_training)
{
    char text[TOKENISE_SYMBOLS];
    tokenise_against(tokenise_corpus, (int)strlen(tokenise_corpus), 600);
    tokenise_against(tokenise_corpus, (int)strlen(tokenise_corpus), 300);
    for (uint64_t i = 0; i < 40; i++) {              /* small alphabets: many ties and runs */
        tfn_key key = tfn_key_fold(tfn_key_make(9), i);
        int n = 100 + (int)(tfn_random_bits(key, 0) % (TOKENISE_SYMBOLS - 100));
        for (int j = 0; j < n; j++)
            text[j] = "aab ab'sl1\n"[tfn_random_bits(key, 1 + (uint64_t)j) % (2 + i % 10)];
        tokenise_against(text, n, 400);
    }
}

/* Encoding what was not trained on, and words longer than the stack's buffer, the slow way. */
TEST(tokenise_encoding)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 600);
    tokenise_box b = tokenise_trained(&d, tokenise_corpus, strlen(tokenise_corpus));
    char text[TOKENISE_SYMBOLS];
    int32_t ids[TOKENISE_SYMBOLS];
    for (uint64_t i = 0; i < 60; i++) {
        tfn_key key = tfn_key_fold(tfn_key_make(10), i);
        int n = (int)(tfn_random_bits(key, 0) % TOKENISE_SYMBOLS), m = n;
        for (int j = 0; j < n; j++) {
            uint64_t r = tfn_random_bits(key, 1 + (uint64_t)j);
            text[j] = i % 3 ? "thesaonm it' w"[r % (i % 2 ? 7 : 14)] : i % 2 ? 'a' : (char)(32 + r % 90);
        }
        tokenise_split(text, n);
        for (int j = 0; j < n; j++) tokenise_symbol[j] = 4 + (uint8_t)text[j];
        for (int32_t id = 260; id < b.k.vocab; id++)
            m = tokenise_merge(m, b.k.merge[3 * (id - 260)], b.k.merge[3 * (id - 260) + 1], id);
        CHECK_INT(tfn_tokeniser_encode(&b.k, ids, n, text, (size_t)n), m);
        CHECK_BITS(ids, tokenise_symbol, (size_t)m * sizeof *ids);
    }
    tokenise_free(b.mem);
}

/* -- round trips ----------------------------------------------------------------------------- */

TEST(tokenise_round_trips)
{
    static char text[2000];
    for (int kind = TFN_BPE; kind <= TFN_WORDS; kind++) {
        tfn_tokeniser_desc d = tokenise_desc((tfn_tokeniser_kind)kind, kind == TFN_BPE ? 400 : 0);
        tokenise_box b = tokenise_trained(&d, tokenise_corpus, strlen(tokenise_corpus));
        tokenise_round_trip(&b.k, "", 0);
        tokenise_round_trip(&b.k, tokenise_corpus, strlen(tokenise_corpus));
        for (uint64_t i = 0; i < 200; i++) {
            size_t n = tokenise_text(text, sizeof text, i);
            if (kind == TFN_BPE || kind == TFN_BYTES) tokenise_round_trip(&b.k, text, n);
            else {                                   /* known once trained on the text itself */
                tokenise_box own;
                d.words = 2000;
                own = tokenise_trained(&d, text, n);
                tokenise_round_trip(&own.k, text, n);
                tokenise_free(own.mem);
                CHECK(tfn_tokeniser_encode(&b.k, NULL, 0, text, n) <= (ptrdiff_t)n);
            }
        }
        tokenise_free(b.mem);
    }
}

TEST(tokenise_unknown)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_CHARACTERS, 0);
    tokenise_box b;
    int32_t ids[8], more[4] = { -1, 99, 1, 0 };
    char text[32];
    size_t bytes;
    b = tokenise_trained(&d, "abcab\xc3\xa9", 7);
    CHECK_INT(b.k.vocab, 8);                         /* 4 specials, then a b c e-acute by count */
    CHECK_INT(tfn_tokeniser_encode(&b.k, ids, 8, "bxa\xc3\xa9", 5), 4);
    CHECK(ids[0] == 5 && ids[1] == b.k.special[TFN_UNK] && ids[2] == 4 && ids[3] == 7);
    CHECK_INT(tfn_tokeniser_decode(&b.k, text, sizeof text, ids, 4), 9);
    CHECK(!memcmp(text, "b<unk>a\xc3\xa9", 9));
    CHECK_INT(tfn_tokeniser_decode(&b.k, text, sizeof text, more, 4), 10);
    CHECK(!memcmp(text, "<unk><unk>", 10));          /* two out of range, <s>, <pad> */
    CHECK_INT(tfn_tokeniser_find(&b.k, "</s>", 4), b.k.special[TFN_EOS]);
    CHECK_INT(tfn_tokeniser_find(&b.k, "\xc3\xa9", 2), 7);
    CHECK_INT(tfn_tokeniser_find(&b.k, "x", 1), -1);
    CHECK(!tfn_tokeniser_token(&b.k, 8, &bytes) && !tfn_tokeniser_token(&b.k, -1, &bytes));
    CHECK_INT(b.k.special[TFN_MASK], -1);
    tokenise_free(b.mem);

    d.no_pad = d.no_bos = d.no_eos = d.no_unk = d.mask = true;
    d.vocab = 3;
    b = tokenise_trained(&d, "abcab", 5);            /* <mask> a b */
    CHECK_INT(b.k.special[TFN_MASK], 0);
    CHECK_INT(tfn_tokeniser_encode(&b.k, ids, 8, "acb", 3), 2);
    CHECK_INT(tfn_tokeniser_decode(&b.k, text, sizeof text, more, 2), 0);
    tokenise_free(b.mem);

    d = tokenise_desc(TFN_WORDS, 0);
    d.min_count = 2;
    b = tokenise_trained(&d, "a b a c a b", 11);     /* " a" and " b" come twice */
    CHECK_INT(b.k.vocab, 6);
    CHECK_INT(tfn_tokeniser_find(&b.k, " a", 2), 4);
    tokenise_free(b.mem);
}

TEST(tokenise_specials_are_not_text)
{
    const char *text = "<s></s><pad><mask> [CLS] <unk><|endoftext|> <s></s><s></s><s></s>";
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 500);
    tokenise_box b;
    int32_t ids[100];
    ptrdiff_t n;
    d.mask = true;
    b = tokenise_trained(&d, text, strlen(text));
    n = tfn_tokeniser_encode(&b.k, ids, 100, text, strlen(text));
    for (ptrdiff_t i = 0; i < n; i++) CHECK(ids[i] >= 5);
    tokenise_round_trip(&b.k, text, strlen(text));
    tokenise_free(b.mem);
}

/* -- memory and options ---------------------------------------------------------------------- */

TEST(tokenise_memory)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 300);
    tfn_trainer t;
    tfn_tokeniser k;
    tfn_tokeniser_source s;
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
    CHECK_INT(tfn_tokeniser_size(&s), 0);            /* it did not run yet */
    CHECK_INT(tfn_tokeniser_init(&k, &s, mem, size), TFN_NOT_READY);
    CHECK_INT(tfn_trainer_add(&t, tokenise_corpus, strlen(tokenise_corpus)), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "x", 1), TFN_NOT_READY);
    own = tfn_tokeniser_size(&s);
    block = (char *)malloc(own);
    for (size_t less = 1; less < own; less = 2*less + 1)
        CHECK_INT(tfn_tokeniser_init(&k, &s, block, own - less), TFN_NO_MEMORY);
    CHECK_INT(tfn_tokeniser_encode(&k, NULL, 0, "a", 1), 0);
    CHECK_INT(tfn_tokeniser_init(&k, &s, block, own), TFN_OK);
    free(block);

    d.words = 3;                                     /* a fourth word has no room */
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "a b c a b c", 5), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "a b d", 5), TFN_NO_MEMORY);
    d.words = 200;
    d.word_bytes = 5;
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "abcde abcdef", 5), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, "f", 1), TFN_NO_MEMORY);
    d = tokenise_desc(TFN_BPE, 259);                 /* 4 specials and 256 bytes do not fit */
    CHECK_INT(tfn_trainer_size(&d), 0);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_BAD_OPTION);
    d = tokenise_desc((tfn_tokeniser_kind)9, 0);
    CHECK_INT(tfn_trainer_size(&d), 0);
    d = tokenise_desc(TFN_BPE, 2147483647);
    d.words = d.word_bytes = 1 << 30;
    CHECK(tfn_trainer_size(&d) > 2147483647 || sizeof(size_t) < 8);
    memset(&s, 0, sizeof s);
    CHECK_INT(tfn_tokeniser_init(&k, &s, mem, size), TFN_BAD_OPTION);
    free(mem);
}

/* A pair table that is too small stops training with an error: never a crash. */
TEST(tokenise_many_pairs)
{
    enum { N = 40000 };
    static char text[N];
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 5000);
    size_t size;
    void *mem;
    tfn_trainer t;
    d.words = N;
    d.word_bytes = N;
    size = tfn_trainer_size(&d);
    mem = tokenise_block(size);
    for (size_t i = 0; i < N; i++) text[i] = (char)tfn_random_bits(tfn_key_make(3), i);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, N), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_NO_MEMORY);
    tokenise_free(mem);
    d.word_bytes = 3 * N;
    size = tfn_trainer_size(&d);
    mem = tokenise_block(size);
    CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, N), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    tokenise_free(mem);
}

/* The same texts in another order and in other calls give the same vocabulary. */
TEST(tokenise_determinism)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 500);
    size_t size = tfn_trainer_size(&d);
    void *mem = tokenise_block(size);
    for (int kind = TFN_BPE; kind <= TFN_WORDS; kind++) {
        tokenise_box b[2];
        d.kind = (tfn_tokeniser_kind)kind;
        for (int i = 0; i < 2; i++) {
            const char *line[8];
            int lines = 0;
            tfn_trainer t;
            tfn_tokeniser_source s;
            memset(&s, 0, sizeof s);
            CHECK_INT(tfn_trainer_init(&t, &d, mem, size), TFN_OK);
            for (const char *p = tokenise_corpus; *p; p = strchr(p, '\n') + 1) line[lines++] = p;
            for (int j = 0; j < lines; j++) {
                const char *p = line[i ? lines - 1 - j : j];
                tfn_trainer_add(&t, p, (size_t)(strchr(p, '\n') + 1 - p));
            }
            CHECK_INT(tfn_trainer_run(&t), TFN_OK);
            s.trainer = &t;
            b[i] = tokenise_make(&s);
        }
        CHECK(tokenise_equal(&b[0].k, &b[1].k));
        tokenise_free(b[0].mem);
        tokenise_free(b[1].mem);
    }
    tokenise_free(mem);
}

/* -- saving and loading ---------------------------------------------------------------------- */

static char *tokenise_saved(const tfn_tokeniser *k, int form, size_t *size)
{
    size_t (*const vocab)(const tfn_tokeniser *, char *, size_t) =
        form == 1 ? tfn_tokeniser_vocab_text : tfn_tokeniser_merges_text;
    char *out;
    *size = form ? vocab(k, NULL, 0) : tfn_tokeniser_write(k, NULL, 0);
    out = (char *)malloc(*size + 1);
    out[*size - 1] = 7;
    CHECK_INT(form ? vocab(k, out, *size - 1) : tfn_tokeniser_write(k, out, *size - 1), *size);
    CHECK_INT(out[*size - 1], 7);
    CHECK_INT(form ? vocab(k, out, *size) : tfn_tokeniser_write(k, out, *size), *size);
    return out;
}

TEST(tokenise_save_load)
{
    for (int kind = TFN_BPE; kind <= TFN_WORDS; kind++) {
        tfn_tokeniser_desc d = tokenise_desc((tfn_tokeniser_kind)kind, kind == TFN_BPE ? 400 : 0);
        tokenise_box b = tokenise_trained(&d, tokenise_corpus, strlen(tokenise_corpus)), again;
        tfn_tokeniser_source s;
        char *blob, *vocab, *merges;
        memset(&s, 0, sizeof s);
        s.blob = blob = tokenise_saved(&b.k, 0, &s.blob_size);
        again = tokenise_make(&s);
        CHECK(tokenise_equal(&b.k, &again.k));
        tokenise_free(again.mem);
        memset(&s, 0, sizeof s);
        s.vocab = vocab = tokenise_saved(&b.k, 1, &s.vocab_size);
        s.merges = merges = tokenise_saved(&b.k, 2, &s.merges_size);
        if (kind != TFN_BPE) s.merges = NULL;
        s.kind = (tfn_tokeniser_kind)kind;
        again = tokenise_make(&s);
        CHECK(tokenise_equal(&b.k, &again.k));
        tokenise_free(again.mem);
        tokenise_free(b.mem);
        free(blob), free(vocab), free(merges);
    }
}

/* GPT-2's form: escapes, ids in any order, a special at the end. */
TEST(tokenise_gpt2_files)
{
    const char *vocab = " {\"H\": 3, \"e\":1,\"l\" :2,\"o\":0,\"\\u0120\": 4,\n\"w\":5, \"r\":6,\"d\":7,"
        "\"ll\":8,\"He\":9,\"Hell\":10,\"Hello\":11,\"\xc4\xa0w\":12,\"or\":13,\"\\u0120wor\":14,"
        "\"\\\"\":15,\"\\\\\":16,\"<|endoftext|>\":18,\"\\ud83d\\ude00\":17} ";
    const char *merges = "#version: 0.2\r\nl l\nH e\nHe ll\nHell o\n\n\xc4\xa0 w\no r\n\xc4\xa0w or\n";
    static const int32_t wanted[] = { 11, 14, 2, 7, 12, 1, 2, 15, 16 };
    tfn_tokeniser_source s;
    tokenise_box b;
    int32_t ids[32];
    char text[64];
    memset(&s, 0, sizeof s);
    s.vocab = vocab;
    s.vocab_size = strlen(vocab);
    s.merges = merges;
    s.merges_size = strlen(merges);
    b = tokenise_make(&s);
    CHECK_INT(b.k.vocab, 19);
    CHECK_INT(b.k.merges, 7);
    CHECK_INT(b.k.special[TFN_EOS], 18);
    CHECK_INT(tfn_tokeniser_encode(&b.k, ids, 32, "Hello world wel\"\\?", 18), 9);
    CHECK_BITS(ids, wanted, sizeof wanted);
    ids[9] = 18, ids[10] = 17;
    CHECK_INT(tfn_tokeniser_decode(&b.k, text, sizeof text, ids, 11), 21);
    CHECK(!memcmp(text, "Hello world wel\"\\\xf0\x9f\x98\x80", 21));
    tokenise_free(b.mem);
}

static tfn_status tokenise_try(const tfn_tokeniser_source *s)
{
    size_t size = tfn_tokeniser_size(s);
    void *mem = tokenise_block(size);
    tfn_tokeniser k;
    CHECK(size <= 40 * (s->blob_size + s->vocab_size + s->merges_size) + 2048);
    tfn_status st = tfn_tokeniser_init(&k, s, mem, size);
    int32_t ids[64];
    char text[300];
    if (st == TFN_OK) {
        tfn_tokeniser_encode(&k, ids, 64, "the times' 42\n\xff", 15);
        ids[0] = 3;
        tfn_tokeniser_decode(&k, text, sizeof text, ids, 1);
    } else CHECK(k.error.status == st && *tfn_error_text(&k.error, text, sizeof text));
    tokenise_free(mem);
    return st;
}

TEST(tokenise_bad_text)
{
    static const char *const bad[] = { "", "{", "{}", "[]", "null", "{\"a\":0", "{\"a\":0,}",
        "{\"a\":0}x", "{\"a\":1}", "{\"a\":0,\"b\":0}", "{\"a\":0,\"a\":1}", "{\"a\":-1}",
        "{\"a\":0.0}", "{\"a\":00}", "{\"a\":1e0}", "{\"a\":2147483648}", "{\"a\":99999999999999999999}",
        "{\"\":0}", "{\"a\n\":0}", "{\"\\u12\":0}", "{\"\\ud800\":0}", "{\"\\udc00x\":0}",
        "{\"\\ud800\\u0041\":0}", "{\"\\x\":0}", "{\"\xff\":0}", "{\"\xed\xa0\x80\":0}", "{a:0}",
        "{\"a\" 0}", "{\"a\":}", "{\"a\":\"0\"}", "{,\"a\":0}", "{\"a\":0 \"b\":1}", "{\"a\\" };
    static const char *const bad_merges[] = { "a", "a ", " a", "a b", "a  a", "a a a", "a a\na a",
        "a \xff", "aa a", "x a", "a \xe2\x82\xac", "#version\n#version" };
    tfn_tokeniser_source s;
    memset(&s, 0, sizeof s);
    s.kind = TFN_WORDS;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.vocab = bad[i];
        s.vocab_size = strlen(bad[i]);
        if (tokenise_try(&s) != TFN_BAD_FORMAT) FAIL("accepted: %s", bad[i]);
    }
    s.vocab = "{\"a\":0,\"aa\":1,\"b\":2}";
    s.vocab_size = strlen(s.vocab);
    CHECK_INT(tokenise_try(&s), TFN_OK);
    s.kind = TFN_BPE;
    CHECK_INT(tokenise_try(&s), TFN_BAD_OPTION);
    for (size_t i = 0; i < sizeof bad_merges / sizeof *bad_merges; i++) {
        s.merges = bad_merges[i];
        s.merges_size = strlen(s.merges);
        if (tokenise_try(&s) != TFN_BAD_FORMAT) FAIL("accepted: %s", bad_merges[i]);
    }
}

static uint32_t tokenise_sum(const char *s, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

/* Every truncation is an error, every changed byte too; with a right sum it must not crash. Readers.sh
 * tries all changes. */
TEST(tokenise_bad_blob)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 300);
    tokenise_box b = tokenise_trained(&d, tokenise_corpus, strlen(tokenise_corpus));
    tfn_tokeniser_source s;
    size_t size, accepted = 0;
    char *blob = tokenise_saved(&b.k, 0, &size), *copy;
    memset(&s, 0, sizeof s);
    for (size_t n = 0; n < size; n++) {
        s.blob = copy = (char *)malloc(n ? n : 1);
        memcpy(copy, blob, n);
        s.blob_size = n;
        if (tokenise_try(&s) != TFN_BAD_FORMAT) FAIL("cut at %d", (int)n);
        if (n > 12) {                                /* cut, but with a right sum */
            uint32_t sum = tokenise_sum(copy, n - 4);
            for (int i = 0; i < 4; i++) copy[n - 4 + (size_t)i] = (char)(sum >> 8*i);
            if (tokenise_try(&s) != TFN_BAD_FORMAT) FAIL("cut at %d, summed", (int)n);
        }
        free(copy);
    }
    copy = (char *)malloc(size);
    s.blob = copy;
    s.blob_size = size;
    for (size_t n = 0; n < size; n++) {
        for (int change = 1; change < 256; change += getenv("TEST_EVERY") ? 1 : 127) {
            uint32_t sum;
            memcpy(copy, blob, size);
            copy[n] = (char)(copy[n] ^ change);
            if (tokenise_try(&s) != TFN_BAD_FORMAT) FAIL("byte %d changed", (int)n);
            sum = tokenise_sum(copy, size - 4);
            for (size_t i = 0; i < 4; i++) copy[size - 4 + i] = (char)(sum >> 8*i);
            accepted += tokenise_try(&s) == TFN_OK;
        }
    }
    CHECK(accepted > 0);
    free(copy), free(blob);
    tokenise_free(b.mem);
}

/* Truncations and changes of the two texts: an error or a tokeniser that works. */
TEST(tokenise_bad_files)
{
    tfn_tokeniser_desc d = tokenise_desc(TFN_BPE, 280);
    tokenise_box b = tokenise_trained(&d, tokenise_corpus, strlen(tokenise_corpus));
    tfn_tokeniser_source s;
    char *form[2];
    size_t size[2], accepted = 0;
    memset(&s, 0, sizeof s);
    form[0] = tokenise_saved(&b.k, 1, &size[0]);
    form[1] = tokenise_saved(&b.k, 2, &size[1]);
    for (int which = 0; which < 2; which++)
        for (size_t n = 0; n < size[which]; n++) {
            char *copy = (char *)malloc(n ? n : 1);
            tfn_status st;
            memcpy(copy, form[which], n);
            s.vocab = which ? form[0] : copy;
            s.vocab_size = which ? size[0] : n;
            s.merges = which ? copy : form[1];
            s.merges_size = which ? n : size[1];
            st = tokenise_try(&s);
            CHECK(which || st == TFN_BAD_FORMAT);
            free(copy);
            copy = (char *)malloc(size[which]);
            memcpy(copy, form[which], size[which]);
            *(which ? &s.merges : &s.vocab) = copy;
            *(which ? &s.merges_size : &s.vocab_size) = size[which];
            for (int change = 1; change < 256; change += getenv("TEST_EVERY") ? 1 : 97) {
                copy[n] = (char)(form[which][n] ^ change);
                accepted += tokenise_try(&s) == TFN_OK;
            }
            free(copy);
        }
    CHECK(accepted > 0);
    free(form[0]), free(form[1]);
    tokenise_free(b.mem);
}

int main(void)
{
    RUN(tokenise_rules);
    RUN(tokenise_training);
    RUN(tokenise_encoding);
    RUN(tokenise_round_trips);
    RUN(tokenise_unknown);
    RUN(tokenise_specials_are_not_text);
    RUN(tokenise_memory);
    RUN(tokenise_many_pairs);
    RUN(tokenise_determinism);
    RUN(tokenise_save_load);
    RUN(tokenise_gpt2_files);
    RUN(tokenise_bad_text);
    RUN(tokenise_bad_blob);
    RUN(tokenise_bad_files);
    return DONE();
}
