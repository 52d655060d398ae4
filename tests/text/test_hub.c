/* tokenizer.json: ids against golden ones, special tokens in texts, refused files, saving, hostile
 * files. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE                 /* MAP_ANONYMOUS, with -std=c99 too */
#endif
#include "../lib.h"
#include "../check.h"
#include "../digest.h"
#include "../golden/golden_hub.h"
#if defined __unix__ || defined __APPLE__
#include <sys/mman.h>
#include <unistd.h>
#endif

enum { HUB_GPT2, HUB_OPT, HUB_LLAMA3, HUB_QWEN2, HUB_BLOOM, HUB_BYTE_LEVEL,
       HUB_BERT = HUB_BYTE_LEVEL, HUB_BERT_CASED, HUB_LLAMA, HUB_GEMMA, HUB_MISTRAL, HUB_T5,
       HUB_XLMR, HUB_FILES };
static const char *const *const hub_lines[] = { golden_hub_gpt2, golden_hub_opt, golden_hub_llama3,
                                                golden_hub_qwen2, golden_hub_bloom,
                                                golden_hub_bert, golden_hub_bert_cased,
                                                golden_hub_llama, golden_hub_gemma,
                                                golden_hub_mistral, golden_hub_t5,
                                                golden_hub_xlmr };
static const char *const hub_names[] = { "gpt2", "opt", "llama3", "qwen2", "bloom", "bert",
                                         "bert_cased", "llama", "gemma", "mistral", "t5", "xlmr" };

#include "../golden/golden_tokenizers.h"

/* -- helpers --------------------------------------------------------------------------------- */

typedef struct hub_box { tfn_tokenizer k; tfn_status status; char *mem; size_t size; } hub_box;

/* A block of exactly the reported size, at an odd address, so that ASan checks its end. It is full
 * of large numbers, which a tokenizer must not read before it writes there. */
static int hub_fill = 0x7f;
static hub_box hub_make(const tfn_tokenizer_source *s)
{
    hub_box b;
    b.size = tfn_tokenizer_size(s);
    b.mem = (char *)malloc(b.size + 1);
    memset(b.mem, hub_fill, b.size + 1);
    b.status = tfn_tokenizer_init(&b.k, s, b.mem + 1, b.size);
    CHECK(b.size || b.status != TFN_OK);
    return b;
}

static tfn_tokenizer_source hub_json(const char *text, size_t bytes)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    s.json = text;
    s.json_size = bytes;
    return s;
}

static char *hub_text(int file)
{
    size_t bytes = 0;
    char *text;
    for (const char *const *line = hub_lines[file]; *line; line++) bytes += strlen(*line);
    text = (char *)malloc(bytes + 1);
    text[0] = 0;
    bytes = 0;
    for (const char *const *line = hub_lines[file]; *line; line++) {
        strcpy(text + bytes, *line);
        bytes += strlen(*line);
    }
    return text;
}

static hub_box hub_file(int file)
{
    char *text = hub_text(file);
    const tfn_tokenizer_source s = hub_json(text, strlen(text));
    hub_box b = hub_make(&s);
    char message[200];
    CASE("%s", hub_names[file]);
    if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
    free(text);
    return b;
}

static char *hub_written(const tfn_tokenizer *k, size_t *size)
{
    char *text;
    *size = tfn_tokenizer_json_text(k, NULL, 0);
    text = (char *)malloc(*size + 1);
    CHECK_INT(tfn_tokenizer_json_text(k, text, *size), *size);
    text[*size] = 0;
    return text;
}

static unsigned char *hub_blob(const tfn_tokenizer *k, size_t *size)
{
    unsigned char *blob;
    *size = tfn_tokenizer_write(k, NULL, 0);
    blob = (unsigned char *)malloc(*size);
    CHECK_INT(tfn_tokenizer_write(k, blob, *size), *size);
    return blob;
}

static tfn_tokenizer_source hub_of_blob(const unsigned char *blob, size_t size)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    s.blob = blob;
    s.blob_size = size;
    return s;
}

/* -- golden ids ------------------------------------------------------------------------------ */

typedef ptrdiff_t hub_encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                             const char *text, size_t bytes);

static void hub_ids(const tfn_tokenizer *k, hub_encode *encode, const golden_hub_row *row,
                    const short *wanted, int count)
{
    static int32_t ids[2000];
    const ptrdiff_t n = encode(k, ids, 2000, row->text, (size_t)row->bytes);
    const bool may_count_more = k->kind >= TFN_TOKENIZER_CHARACTER_BPE && row->bytes > 128;
    bool same = n == count;
    for (ptrdiff_t i = 0; same && i < n; i++) same = ids[i] == wanted[i];
    if (!same) {
        FAIL("'%s' has %d ids, not %d", row->text, (int)n, count);
        for (ptrdiff_t i = 0; i < n; i++) printf(" %d", ids[i]);
        printf(" instead of");
        for (int i = 0; i < count; i++) printf(" %d", wanted[i]);
        printf("\n");
    }
    CHECK(encode(k, NULL, 0, row->text, (size_t)row->bytes) >= count);
    if (may_count_more) return;
    CHECK_INT(encode(k, NULL, 0, row->text, (size_t)row->bytes), count);
    for (int less = 0; less < count; less++) {
        memset(ids, -1, sizeof ids);
        CHECK_INT(encode(k, ids, less, row->text, (size_t)row->bytes), count);
        for (int i = 0; i < count; i++) CHECK_INT(ids[i], i < less ? wanted[i] : -1);
    }
}

static void hub_rows(const tfn_tokenizer *k, int file)
{
    for (size_t i = 0; i < sizeof golden_hub_rows / sizeof *golden_hub_rows; i++) {
        const golden_hub_row *row = &golden_hub_rows[i];
        const short *marked = row->ids;
        static int32_t ids[2000];
        char back[400];
        if (row->file != file) continue;
        if (row->plains) marked += row->plains;
        hub_ids(k, tfn_tokenizer_encode, row, row->ids, row->plains);
        hub_ids(k, tfn_tokenizer_encode_specials, row, marked, row->markeds);
        tfn_tokenizer_encode(k, ids, 2000, row->text, (size_t)row->bytes);
        if (row->decoded) {
            const size_t n = tfn_tokenizer_decode(k, back, sizeof back - 1, ids, row->plains);
            back[n] = 0;
            if (strcmp(back, row->decoded)) FAIL("decoded '%s', not '%s'", back, row->decoded);
        }
        if (row->decoded || k->prefix_space || k->normalizer) continue; /* these change the text */
        CHECK(row->plains <= row->bytes);
        CHECK_INT(tfn_tokenizer_decode(k, back, sizeof back, ids, row->plains), row->bytes);
        CHECK(!memcmp(back, row->text, (size_t)row->bytes));
    }
}

TEST(hub_golden)
{
    for (int file = 0; file < HUB_FILES; file++) {
        hub_box b = hub_file(file);
        if (b.status == TFN_OK) hub_rows(&b.k, file);
        free(b.mem);
    }
}

/* The content of a file besides the ids of texts. */
TEST(hub_fields)
{
    hub_box b = hub_file(HUB_LLAMA3);
    char text[40];
    int32_t ids[8];
    CHECK(b.k.kind == TFN_TOKENIZER_BPE && b.k.split == TFN_SPLIT_LLAMA3 && b.k.whole);
    CHECK_INT(b.k.begins, 1);
    CHECK_INT(b.k.ends, 0);
    ids[0] = tfn_tokenizer_find(&b.k, "<|begin_of_text|>", 17);
    CHECK(ids[0] == b.k.frame[0] && ids[0] == b.k.special[TFN_SPECIAL_BOS]);
    ids[1] = tfn_tokenizer_find(&b.k, "a", 1);
    CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, ids, 2), 1);
    CHECK(text[0] == 'a');
    free(b.mem);

    b = hub_file(HUB_OPT);
    CHECK(b.k.split == TFN_SPLIT_GPT2 && b.k.prefix_space && !b.k.whole);
    CHECK(b.k.begins == 1 && b.k.frame[0] == 2 && b.k.special[TFN_SPECIAL_BOS] == 2);
    CHECK(b.k.special[TFN_SPECIAL_PAD] == 1 && b.k.special[TFN_SPECIAL_EOS] == 2);
    ids[0] = tfn_tokenizer_find(&b.k, "[R]", 3);
    CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, ids, 1), 3);    /* not special */
    free(b.mem);

    b = hub_file(HUB_QWEN2);
    CHECK(b.k.split == TFN_SPLIT_QWEN2 && !b.k.begins && !b.k.ends);
    CHECK_INT(b.k.special[TFN_SPECIAL_EOS], tfn_tokenizer_find(&b.k, "<|endoftext|>", 13));
    CHECK_INT(b.k.special[TFN_SPECIAL_BOS], -1);
    free(b.mem);

    b = hub_file(HUB_BERT);
    CHECK(b.k.kind == TFN_TOKENIZER_WORDPIECE && b.k.split == TFN_SPLIT_BERT);
    CHECK(b.k.begins == 1 && b.k.frame[0] == 2 && b.k.ends == 1 && b.k.frame[1] == 3);
    CHECK(b.k.special[TFN_SPECIAL_UNK] == 1 && b.k.special[TFN_SPECIAL_MASK] == 4);
    free(b.mem);
}

/* vocab.txt gives the same as a tokenizer.json with BERT's rules; lines may end as on Windows. */
TEST(hub_lines_of_bert)
{
    for (int cased = 0; cased < 2; cased++) {
        hub_box a = hub_file(HUB_BERT);
        hub_box b;
        char text[4000];
        size_t n = 0;
        int32_t id;
        tfn_tokenizer_source s;
        for (id = 0; id < a.k.vocab; id++) {
            size_t bytes;
            const char *token = tfn_tokenizer_token(&a.k, id, &bytes);
            memcpy(text + n, token, bytes);
            n += bytes;
            if (cased) text[n++] = '\r';
            text[n++] = '\n';
        }
        memset(&s, 0, sizeof s);
        s.kind = TFN_TOKENIZER_WORDPIECE;
        s.vocab = text;
        s.vocab_size = n - 1;
        s.cased = cased;
        b = hub_make(&s);
        CHECK(b.status == TFN_OK && b.k.vocab == a.k.vocab);
        CHECK(b.k.begins == 1 && b.k.frame[0] == 2 && b.k.ends == 1 && b.k.frame[1] == 3);
        if (!cased) {
            hub_box c;
            size_t size;
            char *json = hub_written(&b.k, &size);
            const tfn_tokenizer_source again = hub_json(json, size);
            hub_rows(&b.k, HUB_BERT);
            c = hub_make(&again);                   /* and so does its written form */
            if (c.status == TFN_OK) hub_rows(&c.k, HUB_BERT);
            else FAIL("status %d", (int)c.status);
            free(json), free(c.mem);
        } else CHECK(tfn_tokenizer_encode(&b.k, &id, 1, "THE", 3) == 1 && id == 1);
        free(a.mem);
        free(b.mem);
        text[n / 2] = '\xff';
        b = hub_make(&s);
        CHECK_INT(b.status, TFN_BAD_FORMAT);
        free(b.mem);
    }
}

/* Invalid UTF-8 counts as marks; a word may be longer than any buffer. */
TEST(hub_long_and_broken)
{
    static char text[5000], back[5000];
    static int32_t ids[100000], fewer[100000];
    static const char *const pieces[] = { "a", "\xff", " ", "\n", "7", "\xc3", "'S", "\xe6\x97",
                                          "!", "  ", "\xe3\x80\x80" };
    for (int file = 0; file < HUB_FILES; file++) {
        hub_box b = hub_file(file);
        const bool exact = file < HUB_BYTE_LEVEL;
        for (uint64_t i = 0; i < 300; i++) {
            const tfn_key key = tfn_key_fold(tfn_key_make(21), i);
            const size_t kinds = 1 + tfn_random_bits(key, 0) % 11;
            const size_t most = i % 10 ? 60 : 4000;
            size_t n = 0;
            ptrdiff_t count;
            for (uint64_t j = 1; n < most; j++) {
                const char *piece = pieces[tfn_random_bits(key, j) % kinds];
                strcpy(text + n, piece);
                n += strlen(piece);
            }
            count = tfn_tokenizer_encode(&b.k, ids, 100000, text, n);
            if (file >= HUB_LLAMA) {            /* the returned count is enough for the next call */
                const ptrdiff_t half = count / 2;
                const ptrdiff_t more = tfn_tokenizer_encode(&b.k, fewer, half, text, n);
                CHECK(count <= (ptrdiff_t)(3*n + 3) && more >= count && more < 100000);
                CHECK(tfn_tokenizer_encode(&b.k, fewer, more, text, n) == count);
                CHECK_BITS(ids, fewer, (size_t)count * sizeof *ids);
                continue;
            }
            CHECK(count >= exact && count <= (ptrdiff_t)n + b.k.prefix_space);
            CHECK(tfn_tokenizer_encode(&b.k, fewer, 5000, text, n) == count);
            CHECK_BITS(ids, fewer, (size_t)count * sizeof *ids);    /* merged in a different way */
            if (!exact) continue;
            n = b.k.prefix_space && text[0] != ' ' ? n + 1 : n;
            CHECK_INT(tfn_tokenizer_decode(&b.k, back, sizeof back, ids, count), n);
            CHECK(!strncmp(back + (n > strlen(text)), text, strlen(text)));
        }
        free(b.mem);
    }
}

/* Special tokens of other sources are known by their names. */
TEST(hub_specials_by_name)
{
    const char *const vocab = "{\"a\":0,\"<s>\":1,\"</s>\":2,\"s\":3,\"<\":4,\">\":5,"
                              "\"<|endoftext|>\":6}";
    tfn_tokenizer_source s;
    hub_box b;
    int32_t ids[20];
    memset(&s, 0, sizeof s);
    s.vocab = vocab;
    s.vocab_size = strlen(vocab);
    s.merges = "";
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 20, "a<s>a<<|endoftext|>", 5), 5);
    CHECK(ids[1] == 4 && ids[2] == 3 && ids[3] == 5);
    CHECK_INT(tfn_tokenizer_encode_specials(&b.k, ids, 20, "a<s>a<<|endoftext|>", 19), 5);
    CHECK(ids[0] == 0 && ids[1] == 1 && ids[2] == 0 && ids[3] == 4 && ids[4] == 6);
    free(b.mem);
}

/* -- SentencePiece's own files ----------------------------------------------------------------- */

static unsigned char hub_model[1 << 16];

static void hub_number(size_t *n, unsigned long long x)
{
    for (; x > 127; x >>= 7) hub_model[(*n)++] = (unsigned char)(x | 128);
    hub_model[(*n)++] = (unsigned char)x;
}
static void hub_field(size_t *n, int field, int type, unsigned long long x)
{
    hub_number(n, (unsigned long long)(8*field + type));
    hub_number(n, x);
}

/* A model with the tokens of k: a message with them, the training and the normalizer. The last
 * token may be a user's, another may be unused, and the space in front may be off. */
static bool hub_user, hub_no_prefix;
static const char *hub_user_text;               /* NULL: unchanged */
static int32_t hub_unused;
static size_t hub_write_model(const tfn_tokenizer *k, int kind, bool fallback, bool spaces)
{
    size_t n = 0;
    size_t at;
    for (int32_t id = 0; id < k->vocab; id++) {
        size_t bytes;
        const char *s = tfn_tokenizer_token(k, id, &bytes);
        const float score = k->scored ? (float)k->score[id] : (float)-id;
        size_t head = 1 + 1 + (bytes > 127);
        if (hub_user_text && id == k->vocab - 1) {
            s = hub_user_text;
            bytes = strlen(s);
            head = 2;
        }
        hub_field(&n, 1, 2, head + bytes + 5 + 2);
        hub_field(&n, 1, 2, bytes);
        memcpy(hub_model + n, s, bytes);
        n += bytes;
        hub_model[n++] = 2*8 + 5;
        memcpy(hub_model + n, &score, 4);
        n += 4;
        if (hub_user && id == k->vocab - 1) hub_field(&n, 3, 0, 4);
        else if (hub_unused && id == hub_unused) hub_field(&n, 3, 0, 5);
        else hub_field(&n, 3, 0, id == 0 ? 2 : id < 3 ? 3 : bytes == 6 && s[0] == '<' ? 6 : 1);
    }
    at = n + 2;
    hub_field(&n, 2, 2, 7);
    hub_field(&n, 3, 0, (unsigned long long)kind);
    hub_field(&n, 35, 0, fallback);
    hub_field(&n, 40, 0, 0);
    hub_model[at - 1] = (unsigned char)(n - at);
    if (k->map_bytes) {
        hub_field(&n, 3, 2, (unsigned long long)k->map_bytes + 4 + 3 + (k->map_bytes > 16383));
        hub_field(&n, 2, 2, (unsigned long long)k->map_bytes);
        memcpy(hub_model + n, k->map, (size_t)k->map_bytes);
        n += (size_t)k->map_bytes;
    } else hub_field(&n, 3, 2, 4);
    hub_field(&n, 3, 0, !hub_no_prefix);
    hub_field(&n, 4, 0, spaces);
    return n;
}

static tfn_tokenizer_source hub_of_model(size_t size)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    s.model = hub_model;
    s.model_size = size;
    s.begin = true;
    return s;
}

/* The same tokens give the same ids as tokenizer.json, except where that prefers other forms. */
TEST(hub_models)
{
    for (int file = HUB_LLAMA; file <= HUB_T5; file += HUB_T5 - HUB_LLAMA) {
        const bool t5 = file == HUB_T5;
        hub_box a = hub_file(file);
        const size_t size = hub_write_model(&a.k, t5 ? 1 : 2, !t5, t5);
        const tfn_tokenizer_source s = hub_of_model(size);
        hub_box b = hub_make(&s);
        char message[200];
        int32_t x[2000], y[2000];
        if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
        CHECK(b.k.begins == 1 && b.k.frame[0] == 1 && b.k.special[TFN_SPECIAL_UNK] == 0);
        for (size_t i = 0; i < sizeof golden_hub_rows / sizeof *golden_hub_rows; i++) {
            const golden_hub_row *row = &golden_hub_rows[i];
            const size_t n = (size_t)row->bytes;
            const ptrdiff_t count = tfn_tokenizer_encode(&a.k, x, 2000, row->text, n);
            if (row->file != file || (t5 && (row->text[0] == ' ' || strchr(row->text, '\n')
                                             || strstr(row->text, "\xe2\x96\x81")))) continue;
            if (t5 && row->text[0] == '\xe3') continue;      /* a space in front */
            CASE("%s: '%s'", hub_names[file], row->text);
            CHECK_INT(tfn_tokenizer_encode(&b.k, y, 2000, row->text, n), count);
            CHECK_BITS(x, y, (size_t)count * sizeof *x);
        }
        /* spaces at both ends are removed, one stays inside; unknown text is one id */
        CASE("%s, spaces", hub_names[file]);
        if (t5) {
            const ptrdiff_t count = tfn_tokenizer_encode(&b.k, x, 2000, "the a", 5);
            CHECK_INT(tfn_tokenizer_encode(&b.k, y, 2000, "  the \t  a\n ", 12), count);
            CHECK_BITS(x, y, (size_t)count * sizeof *x);
            CHECK_INT(tfn_tokenizer_encode(&b.k, y, 2000, " \n ", 3), 0);
            CHECK_INT(tfn_tokenizer_decode(&b.k, message, sizeof message, x, count), 5);
        }
        CHECK(tfn_tokenizer_encode(&b.k, x, 2000, "\xff", 1)
              == tfn_tokenizer_encode(&b.k, y, 2000, "\xef\xbf\xbd", 3));
        free(a.mem);
        free(b.mem);
    }
}

/* Damages a model of SentencePiece: a byte of its first piece, or a byte after the pieces. */
TEST(hub_models_refused)
{
    static const struct { int kind, at, value; const char *says; } rows[] = {
        { 3, 0, 10, "model type 3 is not supported" }, { 1, 15, 7, "a type from 1 to 6" },
        { 2, 15, 5, "a type in use" }, { 1, 4, 255, "a text in UTF-8" },
        { 1, 3, 0, "piece 0" }, { 1, 13, 0x7f, "a score" }, { 1, 13, 0xff, "a score" },
        { 1, -2, 5*8, "without escape_whitespaces" }, { 2, -2, 5*8, "without escape_whitespaces" },
        { 2, -8, 1, "with treat_whitespace_as_suffix" },        /* field 24 instead of 40, and 1 */
    };
    hub_box a = hub_file(HUB_GEMMA);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t size = hub_write_model(&a.k, rows[i].kind, false, false);
        const tfn_tokenizer_source s = hub_of_model(size);
        char message[300];
        hub_box b;
        CASE("row %d", (int)i);
        hub_model[(rows[i].at < 0 ? (int)size : 0) + rows[i].at] = (unsigned char)rows[i].value;
        if (rows[i].at == -8) hub_model[size - 7] = 1;
        b = hub_make(&s);
        tfn_error_text(&b.k.error, message, sizeof message);
        if (b.status == TFN_OK || !strstr(message, rows[i].says)) FAIL("says '%s'", message);
        free(b.mem);
    }
    free(a.mem);
}

/* An unused piece is found in no text, but decodes; BPE has none. */
TEST(hub_unused_piece)
{
    hub_box a = hub_file(HUB_T5), b;
    const int32_t the = tfn_tokenizer_find(&a.k, "\xe2\x96\x81the", 6);
    char text[300];
    int32_t ids[9];
    tfn_tokenizer_source s;
    hub_unused = the;
    s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    b = hub_make(&s);
    CHECK(b.status == TFN_OK && the > 2);
    CHECK(tfn_tokenizer_encode(&a.k, ids, 9, "the", 3) == 1 && ids[0] == the);
    CHECK(tfn_tokenizer_encode(&b.k, ids, 9, "the", 3) > 1 && ids[0] != the);
    CHECK(tfn_tokenizer_decode(&b.k, text, 9, &the, 1) == 3 && !memcmp(text, "the", 3));
    CHECK(b.k.least >= a.k.least && tfn_tokenizer_json_text(&b.k, NULL, 0) == 0);
    free(b.mem);
    s = hub_of_model(hub_write_model(&a.k, 2, false, true));
    b = hub_make(&s);
    if (!strstr(tfn_error_text(&b.k.error, text, sizeof text), "a type in use is expected"))
        FAIL("says '%s'", text);
    hub_unused = 0;
    free(a.mem), free(b.mem);
}

/* Three ASCII bytes that are replaced together. */
TEST(hub_replaced)
{
    hub_box a = hub_file(HUB_T5), b;
    const tfn_tokenizer_source s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    int32_t x[30], y[30];
    ptrdiff_t count;
    b = hub_make(&s);
    CHECK(b.status == TFN_OK);
    count = tfn_tokenizer_encode(&b.k, x, 30, "= a the~ bthe", 13);
    CHECK_INT(tfn_tokenizer_encode(&b.k, y, 30, "= a ~==~ b~==", 13), count);
    CHECK_BITS(x, y, (size_t)count * sizeof *x);
    free(a.mem), free(b.mem);
}

/* A user's token stays unchanged in a text, although its second letter would be replaced. */
TEST(hub_kept)
{
    static const char text[] = "the ae\xcc\x81 e\xcc\x81";
    hub_box a = hub_file(HUB_T5), b;
    tfn_tokenizer_source s;
    int32_t ids[30];
    ptrdiff_t count;
    int32_t kept = 0;
    hub_user = true;
    hub_user_text = "ae\xcc\x81";
    s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    hub_user = false;
    hub_user_text = NULL;
    b = hub_make(&s);
    CHECK(b.status == TFN_OK);
    count = tfn_tokenizer_encode(&b.k, ids, 30, text, sizeof text - 1);
    for (ptrdiff_t i = 0; i < count; i++) kept += ids[i] == b.k.vocab - 1;
    CHECK_INT(kept, 1);
    free(a.mem), free(b.mem);
}

/* -- Marian: source.spm and vocab.json --------------------------------------------------------- */

static char hub_vocab[1 << 15];

static void hub_entry(const char *s, size_t bytes, int32_t id)
{
    char *at = hub_vocab + strlen(hub_vocab);
    at += sprintf(at, id ? ", \"" : "{\"");
    for (size_t i = 0; i < bytes; i++) {
        if (s[i] == '"' || s[i] == '\\') *at++ = '\\';
        if ((unsigned char)s[i] < 32) at += sprintf(at, "\\u%04x", s[i]);
        else *at++ = s[i];
    }
    sprintf(at, "\": %d", (int)id);
}

/* Writes the tokens of a model except one, in reverse, between tokens of another language. ids:
 * their new ids, 1 for <unk>. Returns the number of tokens. */
static int32_t hub_write_vocab(const tfn_tokenizer *k, int32_t lacking, int32_t *ids)
{
    int32_t count = 0;
    hub_vocab[0] = 0;
    hub_entry("</s>", 4, count++);
    hub_entry("<unk>", 5, count++);
    hub_entry("\xe2\x98\x83\xe2\x98\x83", 6, count++);       /* two snowmen */
    for (int32_t id = k->vocab; id-- > 0;) {
        size_t bytes;
        const char *s = tfn_tokenizer_token(k, id, &bytes);
        ids[id] = 1;
        if (id > 2 && id != lacking) ids[id] = count;
        if (id > 2 && id != lacking) hub_entry(s, bytes, count++);
    }
    hub_entry("\xe2\x96\x81no\xc3\xabl", 8, count++);
    hub_entry(">>fra<<", 7, count++);
    hub_entry("<pad>", 5, count++);
    strcat(hub_vocab, "}");
    return count;
}

static void hub_marian_ids(const tfn_tokenizer *k, const char *text, int32_t a, int32_t b)
{
    int32_t ids[100];
    const ptrdiff_t n = tfn_tokenizer_encode(k, ids, 100, text, strlen(text));
    CASE("'%s'", text);
    CHECK(n >= 2 && ids[n - 2] == a && ids[n - 1] == b);
}

/* The ids are the model's, mapped to others. Two snowmen together are a word that only the other
 * language has. */
static void hub_marian(const tfn_tokenizer *plain, const tfn_tokenizer *k, const int32_t *map,
                       int32_t lacking)
{
    static int32_t x[20000], y[20000];
    const int32_t last = k->vocab - 1;
    const int32_t a = tfn_tokenizer_find(k, "a", 1);
    char text[40];
    size_t bytes;
    const char *lacks = tfn_tokenizer_token(plain, lacking, &bytes);
    ptrdiff_t n;
    CHECK(k->apart && k->tokens == k->vocab + 1 && k->ends == 1 && k->frame[0] == 0);
    CHECK(k->special[TFN_SPECIAL_EOS] == 0 && k->special[TFN_SPECIAL_UNK] == 1);
    CHECK(k->special[TFN_SPECIAL_PAD] == last && !tfn_tokenizer_token(k, last + 1, NULL));
    CHECK_INT(tfn_tokenizer_find(k, lacks, bytes), -1);
    CHECK_INT(tfn_tokenizer_json_text(k, NULL, 0), 0);
    for (size_t i = 0; i < sizeof golden_hub_rows / sizeof *golden_hub_rows; i++) {
        const golden_hub_row *row = &golden_hub_rows[i];
        n = tfn_tokenizer_encode(plain, x, 20000, row->text, (size_t)row->bytes);
        CASE("'%s'", row->text);
        CHECK_INT(tfn_tokenizer_encode(k, y, 20000, row->text, (size_t)row->bytes), n);
        for (ptrdiff_t j = 0; j < n; j++) CHECK_INT(y[j], map[x[j]]);
    }
    hub_marian_ids(k, "aa\xe2\x98\x83\xe2\x98\x83", a, 2);
    hub_marian_ids(k, "aa\xe2\x98\x83", a, 1);
    hub_marian_ids(k, "aa\xe2\x98\x83\xe2\x98\x83\xe2\x98\x83", a, 1);
    hub_marian_ids(k, "\xe2\x98\x83\xe2\x98\x83" "a", 2, a);
    n = tfn_tokenizer_encode_specials(k, x, 9, ">>fra<<</s>", 11);
    CHECK(n == 2 && x[0] == last - 1 && x[1] == 0);
    x[0] = last - 2, x[1] = 2, x[2] = last;
    n = (ptrdiff_t)tfn_tokenizer_decode(k, text, sizeof text, x, 3);
    CHECK(n == 11 && !memcmp(text, "no\xc3\xabl\xe2\x98\x83\xe2\x98\x83", 11));
}

TEST(hub_marian_models)
{
    for (int kind = 1; kind < 3; kind++) {
        hub_box a = hub_file(kind == 1 ? HUB_T5 : HUB_GEMMA), b, c, d;
        const int32_t lacking = tfn_tokenizer_find(&a.k, "\xe2\x96\x81the", 6);
        int32_t map[2000];
        size_t size;
        unsigned char *blob;
        tfn_tokenizer_source s = hub_of_model(hub_write_model(&a.k, kind, false, kind == 1));
        s.begin = false;
        s.end = true;
        CHECK(lacking > 2 && a.k.vocab < 2000);
        b = hub_make(&s);
        hub_write_vocab(&b.k, lacking, map);
        s.vocab = hub_vocab;
        s.vocab_size = strlen(hub_vocab);
        c = hub_make(&s);
        if (c.status != TFN_OK) FAIL("kind %d: status %d", kind, (int)c.status);
        else {
            hub_marian(&b.k, &c.k, map, lacking);
            blob = hub_blob(&c.k, &size);
            s = hub_of_blob(blob, size);
            d = hub_make(&s);
            CHECK(d.status == TFN_OK && d.size < c.size);
            hub_marian(&b.k, &d.k, map, lacking);
            free(blob), free(d.mem);
        }
        free(a.mem), free(b.mem), free(c.mem);
    }
}

/* Errors in vocab.json, or in options next to it. */
TEST(hub_marian_refused)
{
    static const struct { const char *from, *to, *says; } rows[] = {
        { "\"<unk>\"", "\"<unc>\"", "vocab.json has no <unk>" },
        { "\"</s>\"", "\"</t>\"", "vocab.json has no </s>" },
        { "\"<pad>\"", "\"<unk>\"", "of vocab.json is the same as token 1" },
        { "{\"", "[\"", "{ is expected" }, { "}", "},", "its end is expected" },
        { "\"<unk>\": 1", "\"<unk>\": 0", "an id that comes once" },
        { "\"<pad>\": ", "\"<pad>\": 99999", "which is above the limit" },
    };
    static char copy[sizeof hub_vocab];
    hub_box a = hub_file(HUB_T5), b;
    int32_t map[2000];
    char message[300];
    tfn_tokenizer_source s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    s.begin = false;
    s.end = true;
    hub_write_vocab(&a.k, 5, map);
    strcpy(copy, hub_vocab);
    s.vocab = hub_vocab;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *at = strstr(copy, rows[i].from);
        sprintf(hub_vocab, "%.*s%s%s", (int)(at - copy), copy, rows[i].to,
                at + strlen(rows[i].from));
        s.vocab_size = strlen(hub_vocab);
        b = hub_make(&s);
        tfn_error_text(&b.k.error, message, sizeof message);
        CASE("%s", rows[i].says);
        if (b.status == TFN_OK || !strstr(message, rows[i].says)) FAIL("says '%s'", message);
        free(b.mem);
    }
    strcpy(hub_vocab, copy);
    s.vocab_size = strlen(copy);
    s.begin = true;
    b = hub_make(&s);
    tfn_error_text(&b.k.error, message, sizeof message);
    CHECK(strstr(message, "vocab.json has no <s>") != NULL);
    free(b.mem);
    s.begin = false;
    s.model_size = hub_write_model(&a.k, 1, true, true);
    b = hub_make(&s);
    tfn_error_text(&b.k.error, message, sizeof message);
    CHECK(strstr(message, "byte_fallback beside vocab.json is not supported") != NULL);
    free(b.mem);
    hub_user = true;
    s.model_size = hub_write_model(&a.k, 1, false, true);
    hub_user = false;
    b = hub_make(&s);
    tfn_error_text(&b.k.error, message, sizeof message);
    CHECK(strstr(message, "a type other than a user's is expected") != NULL);
    free(b.mem), free(a.mem);
}

/* -- refused files --------------------------------------------------------------------------- */

typedef struct hub_change { int file; const char *from, *to, *says; } hub_change;
static const hub_change hub_changes[] = {
    { HUB_GPT2, "\"type\": \"BPE\"", "\"type\": \"WordLevel\"",
      "model WordLevel is not supported with these parts" },
    { HUB_GPT2, "\"type\": \"BPE\"", "\"type\": \"Words\"",
      "the model is Words; BPE, Unigram, WordPiece or WordLevel is expected" },
    { HUB_GPT2, "\"normalizer\": null", "\"normalizer\": {\"type\": \"Lower\"}",
      "normalizer Lower with these values" },
    { HUB_GPT2, "\"dropout\": null", "\"dropout\": 0.1", "dropout 0.1" },
    { HUB_GPT2, "\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": \"##\"",
      "continuing_subword_prefix ##" },
    { HUB_GPT2, "\"end_of_word_suffix\": \"\"", "\"end_of_word_suffix\": \"</words>\"",
      "end_of_word_suffix </words>" },
    { HUB_GPT2, "\"pre_tokenizer\": {", "\"pre_tokenizer\": {\"type\": \"Metaspace\"}, \"x\": {",
      "is not supported for this model" },
    { HUB_GPT2, "\"pre_tokenizer\": {", "\"pre_tokenizer\": null, \"x\": {", "for this model" },
    { HUB_LLAMA, "\"content\":\" \"", "\"content\":\"_\"", "decoder Replace with these values" },
    { HUB_LLAMA, "\"start\":1", "\"start\":2", "decoder Strip with these values" },
    { HUB_LLAMA, "\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"@\"", "@" },
    { HUB_T5, "\"unk_id\":0", "\"unk_id\":100000", "unk_id 100000 is none of" },
    { HUB_T5, "\"unk_id\":0", "\"unk_id\":-1", "unk_id -1" },
    { HUB_T5, "precompiled_charsmap\":\"", "precompiled_charsmap\":\"%", "is not base64" },
    { HUB_T5, "precompiled_charsmap\":\"", "precompiled_charsmap\":\"AAAA", "is invalid" },
    { HUB_T5, "\"precompiled_charsmap\"", "\"x\"", "normalizer Precompiled with these values" },
    { HUB_T5, "[\"<s>\",0]", "[\"<s>\",\"0\"]", "a number is expected" },
    { HUB_T5, "[\"<s>\",0]", "[\"<s>\",1e300]", "a score is expected" },
    { HUB_T5, "[\"<s>\",0]", "[\"<s>\",-1e300]", "a score is expected" },
    { HUB_T5, "charsmap\":\"", "charsmap\":\"AAAAAAAAAAA=\",\"x\":\"", "is invalid" },
    { HUB_T5, "charsmap\":\"", "charsmap\":\"CAAAAAAAAAA=\",\"x\":\"", "is invalid" },
    { HUB_GPT2, "\"decoder\": {", "\"decoder\": {\"type\": \"WordPiece\"}, \"x\": {",
      "is not supported for this model" },
    { HUB_BERT, "\"pre_tokenizer\":{", "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"x\":{",
      "is only supported with BertPreTokenizer" },
    { HUB_BERT, "\"decoder\":{", "\"decoder\":{\"type\":\"ByteLevel\"},\"x\":{",
      "is not supported for this model" },
    { HUB_BERT, "\"prefix\":\"##\"", "\"prefix\":\"@@\"", "prefix ##" },
    { HUB_BERT, "\"prefix\":\"##\"", "\"prefix\":\"########\"", "with the prefix ########" },
    { HUB_BERT, "_word\":100", "_word\":-1", "max_input_chars_per_word -1" },
    { HUB_BERT, "\"vocab\":{", "\"vocab\":{\"\":0,", "an id that comes once" },
    { HUB_GPT2, "\"post_processor\": {",
      "\"post_processor\": {\"type\": \"BertProcessing\"}, \"x\": {",
      "BertProcessing" },
    { HUB_BERT, "{\"type\":\"TemplateProcessing\"",
      "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",3]",
      "the id of that token" },
    { HUB_BERT, "{\"type\":\"TemplateProcessing\"",
      "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",30000]",
      "the id of that token" },
    { HUB_BERT, "{\"type\":\"TemplateProcessing\"",
      "{\"type\":\"BertProcessing\",\"sep\":[3],\"cls\":[\"[CLS]\",2]", "a string is expected" },
    { HUB_GPT2, "\"merges\": [", "\"x\": [", "the merges are wrong at byte 0" },
    { HUB_GPT2, "\"vocab\": {", "\"x\": {", "the vocabulary is wrong at byte 0" },
    { HUB_GPT2, "\"merges\": [", "\"merges\": [\"a \", ", "merge 0 is not" },
    { HUB_GPT2, "\"merges\": [", "\"merges\": [\"ab\", ", "merge 0 is not" },
    { HUB_GPT2, "\"merges\": [", "\"merges\": [[\"a\", \"b\", \"c\"], ", "] is expected" },
    { HUB_GPT2, "\"merges\": [", "\"merges\": [5, ", "a merge is expected" },
    { HUB_GPT2, "\"id\": 406,", "\"id\": 407,", "an id that comes once" },
    { HUB_GPT2, "\"id\": 406,", "\"id\": 0,", "the token that the vocabulary has" },
    { HUB_GPT2, "\"id\": 406,", "\"id\": 100000000,", "the id 100000000, which is above the limit" },
    { HUB_OPT, "\"id\":1,", "\"id\":3,", "the token that the vocabulary has" },
    { HUB_GPT2, "\"id\": 406,", "\"x\": 406,", "an id and a content" },
    { HUB_GPT2, "\"content\": \"<|endoftext|>\"", "\"content\": \"  \"", "is the same as token" },
    { HUB_LLAMA3, "(?i:'s|'t", "(?>'s|'t", "no atomic group is expected in (?>'s|'t" },
    { HUB_LLAMA3, "(?!\\\\S)", "(?!\\\\S\\\\S)", "a look at one character is expected in" },
    { HUB_LLAMA3, "(?i:'s|'t", "(?i:\\\\1|'t", "an escape that is known is expected in" },
    { HUB_LLAMA3, "(?i:'s|'t", "(?i:\\\\p{Thai}|'t", "a category of Unicode, or Han is expected" },
    { HUB_LLAMA3, "(?i:'s|'t", "((?i:'s|'t", "the end of a group is expected in" },
    { HUB_LLAMA3, "(?i:'s|'t", "(?i:'s{999}|'t", "fewer repetitions is expected in" },
    { HUB_LLAMA3, "(?i:'s|'t", "(?i:((('s{9}){9}){9}){9}|'t", "a shorter expression is expected" },
    { HUB_LLAMA3, "(?i:'s|'t", "(?i:((((()*)*)*)*)*|((((((((((((s))))))))))))|'t",
      "fewer groups inside groups is expected" },
    { HUB_GPT2, "\"version\"", "version", "tokenizer.json is wrong at byte" },
    { HUB_OPT, "\"ids\":[2]", "\"ids\":[4000]", "an id is expected" },
    { HUB_OPT, "\"ids\":[2]", "\"x\":[2]", "[ is expected" },
    { HUB_OPT, "\"id\":\"</s>\",\"type_id\"", "\"id\":\"<X>\",\"type_id\"", "a name with its ids" },
    { HUB_OPT, "\"id\":\"A\"", "\"id\":\"B\"", "one text, A" },
    { HUB_OPT, ",{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]", "]", "a text, A is expected" },
    { HUB_OPT, ",{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]",
      ",{\"Sequence\":{\"id\":\"A\"}},{\"Sequence\":{\"id\":\"A\"}}]", "one text, A" },
};
/* Changes without effect. */
static const hub_change hub_same[] = {
    { HUB_GPT2, "\"type\": \"BPE\",", "", NULL },
    { HUB_GPT2, "\"padding\": null", "\"padding\": {\"strategy\": [1e3, {\"x\": \"\\u0020\"}]}",
      NULL },
    { HUB_GPT2, "\"normalizer\": null",
      "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": []}",
      NULL },
    { HUB_GPT2, "\"dropout\": null", "\"dropout\": 0.0", NULL },
    { HUB_GPT2, "\"use_regex\": true", "\"trim_offsets\": true", NULL },
    { HUB_LLAMA3, "\"Isolated\",\"invert\":false", "\"Removed\",\"invert\":true", NULL },
    { HUB_BERT, "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,"
      "\"lowercase\":true", "\"strip_accents\":true", NULL },
    { HUB_BERT, "\"cleanup\":true", "\"cleanup\":null", NULL },
    { HUB_T5, "[\"<s>\",0]", "[\"<s>\",2e3]", NULL },
    { HUB_T5, "[\"<s>\",0]", "[\"<s>\",123456789012345678901234]", NULL },
    { HUB_BERT, "{\"type\":\"TemplateProcessing\"",
      "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2],"
      "\"trim_offsets\":true", NULL },
    { HUB_MISTRAL, "\"split\":false}", "\"split\":false,\"add_prefix_space\":false}", NULL },
    { HUB_LLAMA3,
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}"
      "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|",
      "'(?i:[sdmt]|ll|ve|re)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?+\\\\p{L}+|\\\\p{N}{1,3}"
      "| ?[^\\\\s\\\\p{L}\\\\p{N}]++[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]|", NULL },
};

static char *hub_changed(const hub_change *c)
{
    char *text = hub_text(c->file);
    char *at = strstr(text, c->from);
    char *out = (char *)malloc(strlen(text) + strlen(c->to) + 1);
    CASE("%s: %s to %s", hub_names[c->file], c->from, c->to);
    if (!at) FAIL("it is not in the file");
    else sprintf(out, "%.*s%s%s", (int)(at - text), text, c->to, at + strlen(c->from));
    free(text);
    return out;
}

/* A file with up to three changes. */
static char *hub_changed_more(const golden_tokenizer_row *row)
{
    char *text = hub_text(row->file);
    CASE("%s: %s", hub_names[row->file], row->change[0][1]);
    for (int i = 0; i < 3; i++) {
        const char *from = row->change[i][0];
        char *at;
        char *out;
        if (!from) break;
        at = strstr(text, from);
        if (!at) FAIL("%s is not in the file", from);
        if (!at) break;
        out = (char *)malloc(strlen(text) + strlen(row->change[i][1]) + 1);
        sprintf(out, "%.*s%s%s", (int)(at - text), text, row->change[i][1], at + strlen(from));
        free(text);
        text = out;
    }
    return text;
}

/* Checks the ids of all texts with one tokenizer; returns the position after them. */
static const short *hub_golden_ids(const tfn_tokenizer *k, const short *wanted)
{
    enum { TEXTS = sizeof golden_tokenizer_texts / sizeof *golden_tokenizer_texts };
    for (int i = 0; i < TEXTS; i++) {
        const char *text = golden_tokenizer_texts[i];
        int32_t ids[500];
        const ptrdiff_t n = tfn_tokenizer_encode_specials(k, ids, 500, text, strlen(text));
        CHECK_INT(n, *wanted);
        for (ptrdiff_t j = 0; j < n && j < *wanted; j++)
            if (ids[j] != wanted[1 + j]) {
                FAIL("text %d: id %d is %d, not %d", i, (int)j, (int)ids[j], wanted[1 + j]);
                break;
            }
        wanted += 1 + *wanted;
    }
    return wanted;
}

/* Parts in any order give the library's ids: from the file, from a blob, and after writing
 * tokenizer.json again. One byte less of memory is an error. */
TEST(hub_any_parts)
{
    const short *wanted = golden_tokenizer_ids;
    for (size_t i = 0; i < sizeof golden_tokenizer_rows / sizeof *golden_tokenizer_rows; i++) {
        char *text = hub_changed_more(&golden_tokenizer_rows[i]);
        const tfn_tokenizer_source s = hub_json(text, strlen(text));
        hub_box b = hub_make(&s);
        hub_box again;
        tfn_tokenizer_source saved;
        unsigned char *blob;
        char *json;
        size_t size;
        char message[300];
        if (b.status != TFN_OK)
            FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
        CHECK(tfn_tokenizer_init(&again.k, &s, b.mem + 1, b.size - 1) != TFN_OK);
        free(b.mem);
        b = hub_make(&s);
        blob = hub_blob(&b.k, &size);
        saved = hub_of_blob(blob, size);
        again = hub_make(&saved);
        CHECK_INT(again.status, TFN_OK);
        hub_golden_ids(&again.k, wanted);
        free(again.mem);
        json = hub_written(&b.k, &size);
        if (size) {
            saved = hub_json(json, size);
            again = hub_make(&saved);
            CHECK_INT(again.status, TFN_OK);
            hub_golden_ids(&again.k, wanted);
            free(again.mem);
        }
        wanted = hub_golden_ids(&b.k, wanted);
        free(b.mem);
        free(blob);
        free(json);
        free(text);
    }
    CHECK(wanted == golden_tokenizer_ids + sizeof golden_tokenizer_ids / sizeof *wanted);
}

TEST(hub_refused)
{
    for (size_t i = 0; i < sizeof hub_changes / sizeof *hub_changes; i++) {
        char *text = hub_changed(&hub_changes[i]);
        const tfn_tokenizer_source s = hub_json(text, strlen(text));
        hub_box b = hub_make(&s);
        char message[300];
        if (b.status == TFN_OK) FAIL("accepted");
        tfn_error_text(&b.k.error, message, sizeof message);
        if (!strstr(message, hub_changes[i].says)) FAIL("says %s", message);
        CHECK_INT(tfn_tokenizer_encode(&b.k, NULL, 0, "a", 1), 0);
        free(b.mem);
        free(text);
    }
    for (size_t i = 0; i < sizeof hub_same / sizeof *hub_same; i++) {
        char *text = hub_changed(&hub_same[i]);
        const tfn_tokenizer_source s = hub_json(text, strlen(text));
        hub_box b = hub_make(&s);
        char message[300];
        if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
        else hub_rows(&b.k, hub_same[i].file);
        if (hub_same[i].file == HUB_BERT)           /* [CLS] before, [SEP] after */
            CHECK(b.k.begins == 1 && b.k.frame[0] == 2 && b.k.ends == 1 && b.k.frame[1] == 3);
        free(b.mem);
        free(text);
    }
}

/* -- small tokenizers ------------------------------------------------------------------------ */

/* BPE of a, b, c, <x> and spaces with the merges a a, a b, aa b; `parts`: more members of the file.
 * The ids of a text, as letters: A is aa, B is ab, C is aab. */
static const char *hub_small(const char *parts, const char *text)
{
    static const char letters[] = "abc_xABC";
    static char out[64];
    char json[1200], message[200];
    int32_t ids[60];
    hub_box b;
    tfn_tokenizer_source s;
    ptrdiff_t n = 0;
    snprintf(json, sizeof json, "{%s,\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
             "\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"\\u0120\":3,\"<x>\":4,\"aa\":5,\"ab\":6,\"aab\":7},"
             "\"merges\":[\"a a\",\"a b\",\"aa b\"]}}", parts);
    CASE("%s: %s", parts, text);
    s = hub_json(json, strlen(json));
    b = hub_make(&s);
    if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
    else n = tfn_tokenizer_encode_specials(&b.k, ids, 60, text, strlen(text));
    for (ptrdiff_t i = 0; i < n; i++) out[i] = letters[ids[i]];
    out[n] = 0;
    free(b.mem);
    return out;
}

/* Byte-level tokens without a decoder become bytes, whether the parts are flags or compiled, also
 * from a blob. */
TEST(hub_no_decoder)
{
    static const char *const parts[] = {
        "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false}",
        "'normalizer':null,'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Split',"
        "'pattern':{'Regex':'[ab]+'},'behavior':'Isolated','invert':false},{'type':'ByteLevel',"
        "'add_prefix_space':false,'use_regex':false}]}"
    };
    static const char text[] = "aab ab c";
    for (int i = 0; i < 4; i++) {
        char json[900], blob[4096], found[40] = "";
        int32_t ids[40];
        tfn_tokenizer_source s, of;
        hub_box b, again;
        snprintf(json, sizeof json, "{%s,%s'model':{'type':'BPE','vocab':{'a':0,'b':1,'c':2,'\\u0120'"
                 ":3,'aa':4,'ab':5},'merges':['a a','a b']}}", parts[i % 2],
                 i < 2 ? "" : "'decoder':null,");
        for (char *q = json; *q; q++) if (*q == '\'') *q = '"';
        CASE("%s", json);
        s = hub_json(json, strlen(json));
        b = hub_make(&s);
        CHECK(b.status == TFN_OK);
        if (b.status != TFN_OK) continue;
        memset(&of, 0, sizeof of);
        of.blob = blob;
        of.blob_size = tfn_tokenizer_write(&b.k, blob, sizeof blob);
        again = hub_make(&of);
        CHECK(again.status == TFN_OK);
        for (int k = 0; k < 2; k++) {
            const tfn_tokenizer *t = k ? &again.k : &b.k;
            const ptrdiff_t n = tfn_tokenizer_encode(t, ids, 40, text, sizeof text - 1);
            CHECK_INT(tfn_tokenizer_decode(t, found, sizeof found, ids, n), sizeof text - 1);
            CHECK(!memcmp(found, text, sizeof text - 1));
        }
        free(again.mem);
        free(b.mem);
    }
}

/* A possessive quantifier gives nothing back: where it would have to, the next alternative, any
 * character, cuts the text into characters. */
TEST(hub_possessive)
{
    static const struct { const char *pattern, *text, *pieces; } rows[] = {
        { "a+ab|.", "aab", "C" },  { "a++ab|.", "aab", "aab" },  { "a++b|.", "aab", "C" },
        { "a*ab|.", "aab", "C" },  { "a*+ab|.", "aab", "aab" },  { "a*+b|.", "aab", "C" },
        { "a*+b|.", "bb", "bb" },  { "a?ab|.", "ab", "B" },      { "a?+ab|.", "ab", "ab" },
        { "a?+ab|.", "aab", "C" }, { "a?+b|.", "b", "b" },       { "a?+b|.", "ab", "B" },
        { "[ac]++ab|.", "aab", "aab" }, { "[ac]++b|.", "aab", "C" }, { "a?+a?+ab|.", "aaab", "AB" },
        { "a?+a?+ab|.", "aab", "aab" },
        { "a?+b|.", "cb", "cb" },  { "c?+a?+b|.", "cab", "cB" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char parts[400];
        const char *found;
        snprintf(parts, sizeof parts, "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
                 "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"},\"behavior\":\"Isolated\","
                 "\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                 "\"use_regex\":false}]}", rows[i].pattern);
        found = hub_small(parts, rows[i].text);
        if (strcmp(found, rows[i].pieces)) FAIL("%s, not %s", found, rows[i].pieces);
    }
}

/* Bytes after the end of a text change nothing, even if it ends inside a character or a token. */
TEST(hub_text_ends)
{
    static const char text[] = "na\xc3\xafve \xe2\x82\xac\xe4\xbd\xa0\xf0\x9f\x98\x80 I'll <s></s>12 e\xcc\x81";
    for (int file = 0; file < HUB_FILES; file++) {
        hub_box b = hub_file(file);
        for (size_t n = 0; n < sizeof text && b.status == TFN_OK; n++) {
            int32_t ids[2][8 * sizeof text];
            char alone[sizeof text + 8] = "";
            ptrdiff_t count[2];
            memcpy(alone, text, n);
            for (int i = 0; i < 2; i++)
                count[i] = tfn_tokenizer_encode(&b.k, ids[i], 8 * sizeof text, i ? alone : text, n);
            CASE("%s, %d bytes", hub_names[file], (int)n);
            CHECK_INT(count[0], count[1]);
            if (count[0] > 0) CHECK_BITS(ids[0], ids[1], (size_t)count[0] * sizeof **ids);
        }
        free(b.mem);
    }
}

/* An added token with single_word is found only between characters that are not letters. */
TEST(hub_single_word)
{
    static const char *const rows[][3] = {  /* text, ids where single_word is false, and true */
        { "<x>", "x", "x" }, { "a<x>", "ax", "a" }, { "<x>a", "xa", "a" }, { "a<x>b", "axb", "ab" },
        { " <x> ", "_x_", "_x_" }, { "a <x>b", "a_xb", "a_b" }, { "a<x> b", "ax_b", "a_b" },
        { "<x><x>", "xx", "xx" }, { "(<x>)", "x", "x" }, { "a <x> b", "a_x_b", "a_x_b" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int single = 0; single < 2; single++) {
            char parts[400];
            const char *found;
            snprintf(parts, sizeof parts, "\"added_tokens\":[{\"id\":4,\"content\":\"<x>\",\"special\":true,"
                     "\"single_word\":%s}],\"pre_tokenizer\":{\"type\":\"ByteLevel\","
                     "\"add_prefix_space\":false,\"use_regex\":true}", single ? "true" : "false");
            found = hub_small(parts, rows[i][0]);
            if (strcmp(found, rows[i][1 + single])) FAIL("%s, not %s", found, rows[i][1 + single]);
        }
}

/* A word of any length has the tokens of merging all of it at once, in little room too, where it is
 * merged in blocks. With merges that double a, a run of n has the binary digits of n, from the left:
 * where a block ends within a run, its tokens change. The longest token is shorter than a block in
 * one vocabulary, and longer in the other. */
TEST(hub_long_word)
{
    enum { MOST = 1300 };
    static const int longest[] = { 64, 512, 512 };
    static const int others[] = { 0, 1, 17, 31, 32, 33, 200, 255, 256, 257 };
    for (int which = 0; which < 3; which++) {
        const char *suffix = which < 2 ? "" : "</w>";       /* then each word ends with one more c */
        char json[6000], as[513], text[MOST];
        int32_t ids[8 * MOST];
        hub_box b;
        tfn_tokenizer_source s;
        int n = 0;
        int id = 2;
        memset(as, 'a', 512);
        n += sprintf(json, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                     "\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
                     "\"end_of_word_suffix\":\"%s\",\"vocab\":{\"c\":0,\"a\":1", suffix);
        if (*suffix) n += sprintf(json + n, ",\"c%s\":20", suffix);
        for (int k = 2; k <= longest[which]; k *= 2) n += sprintf(json + n, ",\"%.*s\":%d", k, as, id++);
        n += sprintf(json + n, "},\"merges\":[");
        for (int k = 1; k < longest[which]; k *= 2)
            n += sprintf(json + n, "%s\"%.*s %.*s\"", k > 1 ? "," : "", k, as, k, as);
        n += sprintf(json + n, "]}}");
        s = hub_json(json, (size_t)n);
        b = hub_make(&s);
        CHECK_INT(b.status, TFN_OK);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            for (int run = 0; run < 1000; run += run < 40 ? 13 : 61) {
                int32_t wanted[MOST];
                int count = others[i];
                const int bytes = others[i] + run + (*suffix != 0);
                memset(text, 'c', (size_t)bytes);
                memset(text + others[i], 'a', (size_t)run);
                memset(wanted, 0, sizeof wanted);
                for (int k = longest[which], left = run; k > 0; left %= k, k /= 2)
                    for (int j = 0; j < left / k; j++) {
                        wanted[count] = 1;
                        for (int p = k; p > 1; p /= 2) wanted[count]++;
                        count++;
                    }
                if (*suffix) wanted[count++] = 20;
                CASE("%d c, %d a, tokens to %d%s", others[i], run, longest[which], suffix);
                CHECK_INT(tfn_tokenizer_encode(&b.k, ids, bytes, text, (size_t)bytes), count);
                CHECK(!memcmp(ids, wanted, (size_t)count * sizeof *ids));
                CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 8 * MOST, text, (size_t)bytes), count);
                CHECK(!memcmp(ids, wanted, (size_t)count * sizeof *ids));
            }
        free(b.mem);
    }
}

/* The z after a block changes the tokens in front of the last one, of 31 letters: with it x y and the
 * letters become one token, and without it they are two. suffix: z is the last symbol of a word. */
static void hub_block_end_with(const char *suffix)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZefghi";
    char json[6000], text[400];
    int32_t ids[400];
    hub_box b;
    tfn_tokenizer_source s;
    int n = 0;
    int id = 4;
    n += sprintf(json, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                 "\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
                 "\"end_of_word_suffix\":\"%s\",\"vocab\":{\"c\":0,\"x\":1,\"y\":2,\"z%s\":3", suffix, suffix);
    for (int k = 0; k < 31; k++) n += sprintf(json + n, ",\"%c\":%d", letters[k], id++);
    for (int k = 2; k <= 31; k++) n += sprintf(json + n, ",\"%.*s\":%d", k, letters, id++);
    n += sprintf(json + n, ",\"xy\":%d,\"%sz%s\":%d,\"xy%sz%s\":%d},\"merges\":[", id, letters,
                 suffix, id + 1, letters, suffix, id + 2);
    for (int k = 1; k < 31; k++)
        n += sprintf(json + n, "\"%.*s %c\",", k, letters, letters[k]);
    n += sprintf(json + n, "\"x y\",\"%s z%s\",\"xy %sz%s\"]}}", letters, suffix, letters, suffix);
    s = hub_json(json, (size_t)n);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    for (int before = 180; before < 262; before++)
        for (int z = suffix[0] != 0; z < 2; z++) {
            const int bytes = before + sprintf(text + before, "xy%s%s", letters, z ? "z" : "");
            memset(text, 'c', (size_t)before);
            CASE("%d c, z%s: %d", before, suffix, z);
            CHECK_INT(tfn_tokenizer_encode(&b.k, ids, bytes, text, (size_t)bytes), before + 2 - z);
            CHECK_INT(ids[before], z ? id + 2 : id);
            CHECK_INT(ids[before - 1], 0);
        }
    free(b.mem);
}

TEST(hub_block_end)
{
    hub_block_end_with("");
    hub_block_end_with("</w>");
}

/* A token that the suffix makes at once, and that merges of its bytes would make late: z</w>. Early, it
 * takes y from x y, which are one token without it. */
TEST(hub_block_end_late)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZefghi";
    static const char *const literal[] = { "z", "<", "/", "w", ">", "z<", "z</", "z</w" };
    char json[6000], text[400];
    int32_t ids[400];
    hub_box b;
    tfn_tokenizer_source s;
    int n = 0;
    int id = 4;
    n += sprintf(json, "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
                 "\"pattern\":{\"Regex\":\".+\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":"
                 "\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},\"decoder\":{\"type\":"
                 "\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"vocab\":{\"c\":0,"
                 "\"x\":1,\"y\":2,\"z</w>\":3");
    for (int k = 0; k < 31; k++) n += sprintf(json + n, ",\"%c\":%d", letters[k], id++);
    for (int k = 2; k <= 31; k++) n += sprintf(json + n, ",\"%.*s\":%d", k, letters, id++);
    for (int k = 0; k < 8; k++) n += sprintf(json + n, ",\"%s\":%d", literal[k], id++);
    n += sprintf(json + n, ",\"xy\":%d,\"%sz</w>\":%d,\"y%sz</w>\":%d},\"merges\":[", id, letters, id + 1,
                 letters, id + 2);
    for (int k = 1; k < 31; k++) n += sprintf(json + n, "\"%.*s %c\",", k, letters, letters[k]);
    n += sprintf(json + n, "\"%s z</w>\",\"y %sz</w>\",\"x y\",\"z <\",\"z< /\",\"z</ w\",\"z</w >\"]}}",
                 letters, letters);
    s = hub_json(json, (size_t)n);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    for (int before = 200; before < 262; before++) {
        const int bytes = before + sprintf(text + before, "xy%sz", letters);
        memset(text, 'c', (size_t)before);
        CASE("%d c", before);
        CHECK_INT(tfn_tokenizer_encode(&b.k, ids, bytes, text, (size_t)bytes), before + 2);
        CHECK(ids[before - 1] == 0 && ids[before] == 1 && ids[before + 1] == id + 2);
    }
    free(b.mem);
}

/* Merges in the order of their ranks, the plain way. Returns how many symbols are left. */
enum { HUB_MERGES = 60, HUB_TOKENS = HUB_MERGES + 4 };
static int hub_merged(int32_t *symbol, int n, int (*rank)[HUB_TOKENS])
{
    for (;;) {
        int best = HUB_MERGES;
        int out = 0;
        for (int i = 1; i < n; i++)
            if (rank[symbol[i - 1]][symbol[i]] < best) best = rank[symbol[i - 1]][symbol[i]];
        if (best == HUB_MERGES) return n;
        for (int i = 0; i < n; i++) {
            const bool merge = i + 1 < n && rank[symbol[i]][symbol[i + 1]] == best;
            symbol[out++] = merge ? 4 + best : symbol[i];
            i += merge;
        }
        n = out;
    }
}

/* With a suffix, too, a long word has the tokens of merging all of it, at every length. */
TEST(hub_long_suffix)
{
    enum { MOST = 1200 };
    static char json[20000], token[HUB_TOKENS][40];
    static int32_t ids[MOST], wanted[MOST];
    static int rank[HUB_TOKENS][HUB_TOKENS];
    static const char *const first[] = { "a", "b", "a</w>", "b</w>" };
    char text[MOST];
    hub_box b;
    tfn_tokenizer_source s;
    const tfn_key key = tfn_key_make(8);
    uint64_t draw = 0;
    int tokens = 0;
    int merges = 0;
    char pair[HUB_MERGES][90];
    int n = sprintf(json, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                    "\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
                    "\"end_of_word_suffix\":\"</w>\",\"vocab\":{");
    for (; tokens < 4; tokens++) strcpy(token[tokens], first[tokens]);
    for (int i = 0; i < HUB_TOKENS; i++)
        for (int j = 0; j < HUB_TOKENS; j++) rank[i][j] = HUB_MERGES;
    while (merges < HUB_MERGES) {                       /* only the second of two tokens ends a word */
        const int a = (int)(tfn_random_bits(key, draw++) % (uint64_t)tokens);
        const int c = (int)(tfn_random_bits(key, draw++) % (uint64_t)tokens);
        const char *left = token[a];
        const char *right = token[c];
        bool known = false;
        char both[80];
        snprintf(both, sizeof both, "%s%s", left, right);
        for (int i = 0; i < tokens; i++) known |= !strcmp(token[i], both);
        if (known || strchr(left, '<') || strlen(both) > 30) continue;
        snprintf(pair[merges], sizeof *pair, "\"%s %s\"", left, right);
        rank[a][c] = merges++;
        strcpy(token[tokens++], both);
    }
    for (int i = 0; i < tokens; i++) n += sprintf(json + n, "%s\"%s\":%d", i ? "," : "", token[i], i);
    n += sprintf(json + n, "},\"merges\":[");
    for (int i = 0; i < merges; i++) n += sprintf(json + n, "%s%s", i ? "," : "", pair[i]);
    n += sprintf(json + n, "]}}");
    s = hub_json(json, (size_t)n);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    for (int i = 0; i < MOST; i++) text[i] = "ab"[tfn_random_bits(key, 1000000 + (uint64_t)i) % 2];
    for (int bytes = 200; bytes < MOST; bytes += bytes < 600 ? 1 : 29) {
        int count;
        for (int i = 0; i < bytes; i++) wanted[i] = text[i] == 'b';
        wanted[bytes - 1] += 2;
        count = hub_merged(wanted, bytes, rank);
        CASE("%d bytes", bytes);
        CHECK_INT(tfn_tokenizer_encode(&b.k, ids, bytes, text, (size_t)bytes), count);
        CHECK(!memcmp(ids, wanted, (size_t)count * sizeof *ids));
    }
    free(b.mem);
}

static uint32_t hub_digest = DIGEST_BEGIN;

/* Tests of broken files end with this. With TEST_EVERY they break other places. */
static void hub_digest_is(uint32_t wanted)
{
    if (!getenv("TEST_EVERY")) CHECK_DIGEST(hub_digest, wanted);
}

static void hub_digest_ids(const tfn_tokenizer *k, const char *text, size_t n, bool specials)
{
    int32_t ids[64];
    char back[200];
    const ptrdiff_t count = specials ? tfn_tokenizer_encode_specials(k, ids, 64, text, n)
                                     : tfn_tokenizer_encode(k, ids, 64, text, n);
    digest_int(&hub_digest, count);
    for (ptrdiff_t i = 0; i < count && i < 64; i++) digest_int(&hub_digest, ids[i]);
    if (count > 64) return;
    n = tfn_tokenizer_decode(k, back, sizeof back, ids, count);
    digest_text(&hub_digest, back, n < sizeof back ? n : 0);
}

/* -- normalizers, pre-tokenizers and expressions, by hand -------------------------------------- */

/* Append a text as a string of JSON. */
static void hub_put_string(char *to, const char *text, size_t bytes)
{
    to += strlen(to);
    *to++ = '"';
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') *to++ = '\\';
        if (c < ' ') to += sprintf(to, "\\u%04x", c);
        else *to++ = (char)c;
    }
    strcpy(to, "\"");
}

/* Write " for '. */
static void hub_quote(char *json)
{
    for (; *json; json++) if (*json == '\'') *json = '"';
}

/* A tokenizer whose tokens are words: [UNK] and the pieces of `pieces`, between bars. */
static char hub_words_text[40000];
static hub_box hub_words(const char *normalizer, const char *cutter, const char *pieces)
{
    tfn_tokenizer_source s;
    int id = 1;
    sprintf(hub_words_text, "{'normalizer':%s,'pre_tokenizer':%s,'model':{'type':'WordLevel',"
            "'unk_token':'[UNK]','vocab':{'[UNK]':0", normalizer, cutter);
    hub_quote(hub_words_text);
    for (const char *from = pieces; *from; id++) {
        const size_t n = strcspn(from, "|");
        char before[100];
        memset(before, 0, sizeof before);
        hub_put_string(before, from, n);
        strcat(before, ":");
        if (strstr(hub_words_text, before)) id--;
        else sprintf(hub_words_text + strlen(hub_words_text), ",%s%d", before, id);
        from += n + (from[n] == '|');
    }
    strcat(hub_words_text, "}}}");
    s = hub_json(hub_words_text, strlen(hub_words_text));
    return hub_make(&s);
}

/* Checks the pieces of a text; without a text, the error. */
static void hub_cut(const char *normalizer, const char *cutter, const char *text,
                    const char *pieces)
{
    hub_box b = hub_words(normalizer, cutter, text ? pieces : "a");
    int32_t ids[100];
    char got[400];
    ptrdiff_t n = 0;
    got[0] = 0;
    if (!text) {
        char message[300];
        tfn_error_text(&b.k.error, message, sizeof message);
        if (b.status == TFN_OK || !strstr(message, pieces))
            FAIL("says %s, not %s", message, pieces);
    } else if (b.status != TFN_OK)
        FAIL("%s", tfn_error_text(&b.k.error, got, sizeof got));
    else {
        n = tfn_tokenizer_encode(&b.k, ids, 100, text, strlen(text));
        for (ptrdiff_t i = 0; i < n && i < 100; i++) {
            size_t bytes;
            const char *piece = tfn_tokenizer_token(&b.k, ids[i], &bytes);
            sprintf(got + strlen(got), "%s%.*s", i ? "|" : "", (int)bytes, piece);
        }
        if (strcmp(got, pieces)) FAIL("'%s' is cut into '%s', not '%s'", text, got, pieces);
    }
    free(b.mem);
}

/* Expressions, a text, and its pieces: the matches and what lies between; or no text, and what
 * would have to be in the expression. */
#define HUB_TIMES "{384}{384}{384}"
#define HUB_EMPTY "(){384}(){384}(){384}"
static const char *const hub_expressions[][3] = {
    { "\\x61|\\x{62}", "xaby", "x|a|b|y" }, { "\\u0061", "xay", "x|a|y" },
    { "\\xg", NULL, "digits of a character" }, { "\\x{110000}", NULL, "digits of a character" },
    { "\\x{61", NULL, "digits of a character" }, { "\\x{}", NULL, "digits of a character" },
    { "\\pL", "1a2", "1|a|2" }, { "\\p{^L}", "a12", "a|1|2" }, { "\\P{^L}", "1a2", "1|a|2" },
    { "\\p{L", NULL, "the end of a property's name" }, { "\\p{\xc3\xa9}", NULL, "property's name" },
    { "\\p{ABCDEFGHIJKLMNOP}", NULL, "the end of a property's name" },
    { "\\p", NULL, "a category of Unicode, or Han" }, { "\\p{^Han}", NULL, "a category" },
    { "\\p{Lul}", NULL, "a category" }, { "\\p{LX}", NULL, "a category" },
    { "\\p{Han}+", "a\xe6\x97\xa5\xe6\x9c\xac" "b", "a|\xe6\x97\xa5\xe6\x9c\xac|b" },
    { "\\p{Cc}", "a\tb\x01", "a|\t|b|\x01" },
    { "\\p{So}", "a\xc2\xa9\xe2\x93\x90", "a|\xc2\xa9|\xe2\x93\x90" },
    { "[b-a]", NULL, "the end of a range" },
    { "(?i)[a-c]k", "xBKc\xe2\x84\xaay", "x|BK|c\xe2\x84\xaa|y" },
    { "(?i)S5", "xs5\xc5\xbf" "5y", "x|s5|\xc5\xbf" "5|y" }, { "(?i)[Y-\\[]", "az[]", "a|z|[|]" },
    { "(?i)[z-{]", "aZ{}", "a|Z|{|}" }, { "(?i)[\\p{Lu}]", NULL, "no category of one case" },
    { "(?i)[a\\p{Lu}]", NULL, "no category of one case" },
    { "(?i)[\\p{L}]", "1a2", "1|a|2" }, { "(?i)[\xc3\xa9]", NULL, "only ASCII" },
    { "(?i)[\xc2\x80]", NULL, "only ASCII" }, { "(?i)[a-\xc2\x80]", NULL, "only ASCII" },
    { "(?i)[a-\x7f]", "xA\x7f" "5", "x|A|\x7f|5" },
    { "(?i)\xc3\xa9", NULL, "only ASCII" }, { "(?i)a(?-i)b", "ABAb", "AB|Ab" },
    { "(?i)a(?-i:b)c", "xABCAbC", "xABC|AbC" }, { "(?m)a.", "xa\n", "x|a\n" },
    { "a.", "a\nab", "a\n|ab" }, { "(?x)a", NULL, "a group that is known" },
    { "(?", NULL, "a group that is known" }, { "(?<n>a)b", "xab", "x|ab" },
    { "(?<n", NULL, "the end of a group" }, { "(*a)", NULL, "no verb" },
    { "xa{0}y", "xyaxay", "xy|axay" }, { "a{,2}b", "aaab", "a|aab" }, { "a{2}", "aaa", "aa|a" },
    { "a{2,}", "baaa", "b|aaa" }, { "a{1,2}?", "aa", "a|a" }, { "a{2,1}", NULL, "bounds in order" },
    { "a{}", "ba{}", "b|a{}" }, { "a{x}", "ba{x}", "b|a{x}" }, { "a{,}", "ba{,}", "b|a{,}" },
    { "a{,,}", "ba{,,}", "b|a{,,}" }, { "a{1", "ba{1", "b|a{1" },
    { "(ab)++", NULL, "a possessive quantifier" }, { "^++", NULL, "a possessive quantifier" },
    { "a++b", "xaab", "x|aab" }, { "[ab]*+b", "1ab", "1ab" }, { "xa?+a", "xaxaa", "xa|xaa" },
    { "*a", NULL, "something to repeat" }, { "+a", NULL, "something to repeat" },
    { "?a", NULL, "something to repeat" }, { "\\Aa", "aba", "a|ba" }, { "a\\z", "aba", "ab|a" },
    { "a\\Z", "aba\n", "ab|a|\n" }, { "a\\Z", "aba", "ab|a" }, { "a$", "a\nba", "a|\nb|a" },
    { "^a", "a\nba", "a|\nba" }, { "^a", "b\na", "b\n|a" }, { "\\ba", "aaa a", "a|aa |a" },
    { "\\Ba", "aaa a", "a|a|a| a" }, { "(?<=a)b", "abbb", "a|b|bb" },
    { "(?<!a)b", "abbb", "ab|b|b" }, { "a(?=b)", "aaab", "aa|a|b" }, { "a(?!b)", "aaab", "a|a|ab" },
    { "(?=a|b)", NULL, "a look at one character" }, { "(?=)", NULL, "a look at one character" },
    { "(?=^)", NULL, "a look at one character" }, { "(?=[a)", NULL, "the end of a set" },
    { "(?<a", NULL, "the end of a group" }, { "(?=b)", "abab", "a|ba|b" },
    { "a)b", NULL, "no bracket that closes nothing" }, { "[[:alpha:]]", NULL, "no [:name:]" },
    { "[a&&b]", NULL, "no intersection of sets" }, { "[a&b]", "x&y", "x|&|y" },
    { "[a", NULL, "the end of a set" }, { "[]a]", "x]a", "x|]|a" },
    { "[a-\\d]", NULL, "the end of a range" }, { "[a-[b]]", NULL, "the end of a range" },
    { "[a-", NULL, "the end of a range" }, { "[a-\\x63]", "xbd", "x|b|d" },
    { "[a-]", "x-a", "x|-|a" }, { "[[[[[[[[[[[[[a]]]]]]]]]]]]]", NULL, "fewer sets inside sets" },
    { "[1[^a]]", NULL, "no negative set inside a set" }, { "[1[^\\d]]", "213x", "2|1|3|x" },
    { "[1[2-3]]+", "01234", "0|123|4" }, { "\\\xc2\xb2", NULL, "an escape that is known" },
    { "\\q", NULL, "an escape that is known" }, { "\\", NULL, "an escape that is known" },
    { "\\\xc3\xa9", "x\xc3\xa9y", "x|\xc3\xa9|y" }, { "\\w+", "ab 1", "ab| |1" },
    { "\\W", "a b", "a| |b" }, { "\\D+", "12ab3", "12|ab|3" }, { "\\S+", "a b", "a| |b" },
    { "x*", "axb", "a|x|b" }, { "(?i)[5a]", "A56", "A|5|6" }, { "\\n\\t", "a\n\tb", "a|\n\t|b" },
    { "a$", "aba", "ab|a" }, { "\\p{L}1|\\p{L}", "\xc3\xa9" "2", "\xc3\xa9|2" },
    { "(?<=\xc3\xa9)b", "b\xc3\xa9" "bb", "b\xc3\xa9|b|b" },
    { "(?<!a)b", "\xc3\xa9\xa9" "b", "[UNK]|b" }, { "(?<!a)b", "\xa9\xa9\xa9\xa9" "b", "[UNK]|b" },
    { "a|bc|", "abcd", "a|bc|d" }, { HUB_EMPTY HUB_EMPTY HUB_EMPTY HUB_EMPTY, NULL, "a shorter expression" },
    { "()" HUB_TIMES HUB_TIMES HUB_TIMES "{384}{384}", NULL, "a shorter expression" },
};

static void hub_expression(const char *regex, const char *text, const char *pieces)
{
    static char cutter[12000];
    sprintf(cutter, "{'type':'Split','behavior':'Isolated','pattern':{'Regex':");
    hub_put_string(cutter, regex, strlen(regex));
    strcat(cutter, "}}");
    CASE("%.40s", regex);
    hub_cut("null", cutter, text, pieces);
}

TEST(hub_regular_expressions)
{
    static char much[10000];
    for (size_t i = 0; i < sizeof hub_expressions / sizeof *hub_expressions; i++)
        hub_expression(hub_expressions[i][0], hub_expressions[i][1], hub_expressions[i][2]);
    /* limits: of ranges, of sets, of instructions, of work */
    strcpy(much, "[");
    for (int i = 0; i < 65; i++) strcat(much, "a");
    hub_expression(strcat(much, "]"), NULL, "a smaller set");
    for (int i = *much = 0; i < 97; i++) strcat(much, "[a]");
    hub_expression(much, NULL, "fewer sets");
    for (int i = *much = 0; i < 384; i++) strcat(much, "a");
    hub_expression(much, NULL, "a shorter expression");
    hub_expression(strcat(much, "*"), NULL, "a shorter expression");
    much[383] = 0;
    hub_expression(much, "x", "x");
    for (int i = *much = 0; i < 4097; i++) strcat(much, "()");
    hub_expression(much, NULL, "a shorter expression");
    /* a match that begins late, after a long attempt in vain */
    for (int i = *much = 0; i < 80; i++) strcat(much, "a");
    hub_expression("a+c", much, "[UNK]");
    hub_expression("a+c|b", strcat(much, "xb"), "[UNK]|b");
    CASE("no string");
    hub_cut("null", "{'type':'Split','pattern':{'Regex':5}}", NULL, "a string is expected");
}

/* Random expressions: the digest holds the pieces of three texts, or the numbers in the error. */
TEST(hub_any_expressions)
{
    static const char *const atoms[] = { "a", "b", "[ab]", "[^a]", "\\d", "\\s", "\\S", "(a|b)", "(?:ab|a)",
        ".", "\\w", "\\p{L}", "[a-c1]", "(?i:B)", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "^", "$", "\\b", "\\B",
        " ", "1", "(a*|b)", "(b?a)", "(?:a|)", "\\P{L}", "[^\\s1]", "|", "(", ")", "[", "\\z" };
    static const char *const after[] = { "", "", "", "*", "+", "?", "*?", "+?", "??", "++", "*+", "?+", "{2}",
        "{1,2}", "{2,}", "{0,1}?", "{,2}", "|", "|" };
    static const char *const behaviors[] = { "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
                                             "Contiguous" };
    static const char *const texts[] = { "aab1 ba", "b Aa\n1", "abaabb" };
    static char cutter[600], pieces[2000];
    const tfn_key key = tfn_key_make(38);
    size_t read = 0;
    hub_digest = DIGEST_BEGIN;
    for (int t = 0; t < 3; t++)
        for (size_t from = 0; texts[t][from]; from++)
            for (size_t n = 1; from + n <= strlen(texts[t]); n++)
                sprintf(pieces + strlen(pieces), "%.*s|", (int)n, texts[t] + from);
    for (uint64_t i = 0; i < 1500; i++) {
        const int count = 1 + (int)(i % 5);
        char regex[200] = "";
        hub_box b;
        for (int k = 0; k < count; k++) {
            const uint64_t bits = tfn_random_bits(key, 8*i + (uint64_t)k);
            strcat(regex, atoms[bits % (sizeof atoms / sizeof *atoms)]);
            strcat(regex, after[(bits >> 32) % (sizeof after / sizeof *after)]);
        }
        sprintf(cutter, "{'type':'Split','behavior':'%s','invert':%s,'pattern':{'Regex':",
                behaviors[i / 5 % 5], i % 7 ? "false" : "true");
        hub_put_string(cutter, regex, strlen(regex));
        strcat(cutter, "}}");
        b = hub_words("null", cutter, pieces);
        digest_error(&hub_digest, &b.k.error);
        read += b.status == TFN_OK;
        for (int t = 0; b.status == TFN_OK && t < 3; t++)
            hub_digest_ids(&b.k, texts[t], strlen(texts[t]), false);
        free(b.mem);
    }
    CHECK(read > 700 && read < 1450);
    hub_digest_is(0x983119ddu);
}

/* Parts, with ' for ", a text and its pieces; or no text, and the error in the parts. */
TEST(hub_parts_by_hand)
{
#define HUB_BOTH(kind, parts) "{'type':'Sequence','" kind "':[" parts "]}"
#define HUB_STRIP "{'type':'Strip','strip_left':true}"
#define HUB_PREPEND "{'type':'Prepend','prepend':'_'}"
#define HUB_WHITE "{'type':'WhitespaceSplit'}"
#define HUB_PUNCTUATED "{'type':'BertPreTokenizer'}"
#define HUB_META "{'type':'Metaspace','replacement':'\xe2\x96\x81'"
    static const char *const rows[][4] = {
        { "{'type':'Nmt'}", HUB_WHITE,
          "a\x01\x08\x0b\x0e\x1f\x7f\xc2\x8f\xc2\x9f" "b\tc\xe2\x80\x8b" "d\xc2\xa0", "ab|c|d" },
        { HUB_STRIP, "null", " a ", "a " },
        { "{'type':'Strip','strip_right':true}", "null", " a ", " a" },
        { "{'type':'Strip','strip_right':true}", "null", "  ", "" },
        { HUB_BOTH("normalizers", HUB_STRIP "," HUB_PREPEND), "null", "  ", "" },
        { HUB_BOTH("normalizers", HUB_STRIP "," HUB_PREPEND), "null", " a", "_a" },
        { "{'type':'Replace','pattern':{'Regex':'x*'},'content':'-'}", "null", "axb", "-a-b-" },
        { "{'type':'Replace','pattern':{'String':''},'content':'-'}", "null", "ab", "ab" },
        { "{'type':'Replace','pattern':{'String':'ab'},'content':'-'}", "null", "aabab", "a--" },
        { "{'type':'NFKD'}", "null", "\xce\x85", "\x20\xcc\x88\xcc\x81" },
        { "{'type':'NFKD'}", "null", "\xe1\xba\x9b", "\x73\xcc\x87" },
        { "{'type':'NFKD'}", "null", "\xcf\x93", "\xce\xa5\xcc\x81" },
        { "{'type':'NFKD'}", "null", "\xe1\xbf\x81", "\x20\xcc\x88\xcd\x82" },
        { "{'type':'NFKC'}", "null", "\xce\x85", "\x20\xcc\x88\xcc\x81" },
        { "{'type':'NFKC'}", "null", "\xe1\xba\x9b", "\xe1\xb9\xa1" },
        { "{'type':'NFKC'}", "null", "\xcf\x93", "\xce\x8e" },
        { "{'type':'NFKC'}", "null", "\xe1\xbf\x81", "\x20\xcc\x88\xcd\x82" },
        { "{'type':'NFC'}", "null", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8",
          "\xea\xb0\x81" },
        { "{'type':'NFC'}", "null", "\xea\xb0\x80\xe1\x86\xa8",
          "\xea\xb0\x81" },
        { "{'type':'NFC'}", "null", "\xea\xb0\x81\xe1\x86\xa8",
          "\xea\xb0\x81\xe1\x86\xa8" },
        { "{'type':'NFC'}", "null", "\xcc\x81\xcc\xa3", "\xcc\xa3\xcc\x81" },
        { "{'type':'NFD'}", "null", "\xcc\x81\xcc\xa3" "a", "\xcc\xa3\xcc\x81" "a" },
        { "{'type':'NFD'}", "null", "\xea\xb0\x81",
          "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8" },
        { "{'type':'NFC'}", "null", "\xe1\x84\x92\xe1\x85\xb6",
          "\xe1\x84\x92\xe1\x85\xb6" },
        { "{'type':'NFC'}", "null", "\xea\xb0\x80\xe1\x86\xa7",
          "\xea\xb0\x80\xe1\x86\xa7" },
        { "{'type':'NFC'}", "null", "\xea\xb0\x80\xe1\x87\x83",
          "\xea\xb0\x80\xe1\x87\x83" },
        { "{'type':'NFC'}", "null", "\xe1\x84\x93\xe1\x85\xa1",
          "\xe1\x84\x93\xe1\x85\xa1" },
        { "{'type':'Lowercase'}", HUB_WHITE, "A \xff \xc3\x89", "a|[UNK]|\xc3\xa9" },
        { "{'type':'StripAccents'}", HUB_WHITE, "e\xcc\x81x \xff \xc3\xa9", "ex|[UNK]|\xc3\xa9" },
        { "{'type':'BertNormalizer','clean_text':false,'handle_chinese_chars':false,"
          "'lowercase':true}", "null", "A\t\xe6\x97\xa5", "a\t\xe6\x97\xa5" },
        { "{'type':'BertNormalizer','lowercase':false}", HUB_WHITE, "A\tb\xe6\x97\xa5" "c",
          "A|b|\xe6\x97\xa5|c" },
        { "{'type':'Precompiled','precompiled_charsmap':null}", HUB_WHITE, "A b", "A|b" },
        /* U+0341 becomes #. A grapheme of seven bytes is replaced character by character. */
        { "{'type':'Precompiled','precompiled_charsmap':'EAAAAAAwAwDNCAIAgQUAAAAAAAAjAA=='}", "null",
          "x\xcc\x80\xcd\x81\xcc\x80", "x\xcc\x80#\xcc\x80" },
        { "{'type':'Precompiled'}", HUB_WHITE, NULL, "normalizer Precompiled with these values" },
        { HUB_BOTH("normalizers", "{'type':'ByteLevel'},{'type':'Lowercase'}"), "null", NULL,
          "after ByteLevel is not supported" },
        { "null", HUB_BOTH("pretokenizers", HUB_BOTH("pretokenizers", HUB_BOTH("pretokenizers",
          HUB_BOTH("pretokenizers", HUB_BOTH("pretokenizers", HUB_WHITE))))), NULL, "this deep" },
        { "null", HUB_BOTH("pretokenizers", HUB_BOTH("pretokenizers", HUB_WHITE)), "a b", "a|b" },
        { "null", "{'type':'Punctuation'}", "a.,b", "a|.|,|b" },
        { "null", "{'type':'Punctuation','behavior':'Contiguous'}", "a.,b", "a|.,|b" },
        { "null", "{'type':'Punctuation','behavior':'MergedWithNext'}", "a.b.", "a|.b|." },
        { "null", "{'type':'Punctuation','behavior':'X'}", NULL, "behavior X is not supported" },
        { "null", "{'type':'Digits'}", "a12b", "a|12|b" },
        { "null", "{'type':'Digits','individual_digits':true}", "a12b", "a|1|2|b" },
        { "null", "{'type':'CharDelimiterSplit','delimiter':'-'}", "a-b--c", "a|b|c" },
        { "null", "{'type':'Whitespace'}", "ab, c", "ab|,|c" },
        { "null", "{'type':'BertPreTokenizer'}", "ab, c", "ab|,|c" },
        { "null", "{'type':'Split','behavior':'Isolated','pattern':5}", NULL, "pattern  is not" },
        { "null", "{'type':'Split','pattern':{'String':'b'}}", "abc", "a|c" },
        { "null", "{'type':'Split','invert':true,'pattern':{'String':'b'}}", "abc", "b" },
        { "null", "{'type':'Split','behavior':'MergedWithPrevious','pattern':{'String':'b'}}",
          "abcb", "ab|cb" },
        { "null", HUB_META "}", "a b", "\xe2\x96\x81" "a|\xe2\x96\x81" "b" },
        { "null", HUB_META "}", "\xe2\x96\x81" "a b", "\xe2\x96\x81" "a|\xe2\x96\x81" "b" },
        { "null", HUB_META "}", " a", "\xe2\x96\x81" "a" },
        { "null", HUB_META ",'prepend_scheme':'never'}", "a b", "a|\xe2\x96\x81" "b" },
        { "null", HUB_META ",'add_prefix_space':false}", "a b\xe6", "a|[UNK]" },
        { "null", HUB_META ",'split':false}", "a b", "\xe2\x96\x81" "a\xe2\x96\x81" "b" },
        { "null", HUB_BOTH("pretokenizers", HUB_WHITE "," HUB_META ",'prepend_scheme':'first'}"),
          "a b", "\xe2\x96\x81" "a|b" },
        { "null", HUB_BOTH("pretokenizers", HUB_WHITE "," HUB_META "}"), "a b",
          "\xe2\x96\x81" "a|\xe2\x96\x81" "b" },
        { "null", HUB_BOTH("pretokenizers", HUB_WHITE "," HUB_META ",'split':false}"), "a b",
          "\xe2\x96\x81" "a|\xe2\x96\x81" "b" },
        { "null", HUB_BOTH("pretokenizers", HUB_PUNCTUATED "," HUB_META "}"), "a, b",
          "\xe2\x96\x81" "a|\xe2\x96\x81,|\xe2\x96\x81" "b" },
        { "null", HUB_BOTH("pretokenizers", HUB_PUNCTUATED "," HUB_PUNCTUATED), "a, b", "a|,|b" },
        { "null", HUB_BOTH("pretokenizers", HUB_PUNCTUATED "," HUB_WHITE), "a, b", "a|,|b" },
        { "null", HUB_BOTH("pretokenizers", HUB_META "}," HUB_PUNCTUATED), "a, b",
          "\xe2\x96\x81" "a|,|\xe2\x96\x81" "b" },
        { "{'type':'Replace','pattern':{'String':' '},'content':'\xe2\x96\x81'}", HUB_META "}",
          "a b", "\xe2\x96\x81" "a|\xe2\x96\x81" "b" },
        { "{'type':'Replace','pattern':{'Regex':' {2,}'},'content':'-'}", "null", "a  b", "a-b" },
        { "{'type':'Replace','pattern':{'Regex':' {2,}'},'content':'-'}", HUB_META "}", "a  b",
          "\xe2\x96\x81" "a-b" },
        { "null", "{'type':'Metaspace','replacement':''}", "a b", "ab" },
        { "null", HUB_BOTH("pretokenizers", "{'type':'ByteLevel'},{'type':'ByteLevel'}"), NULL,
          "pre_tokenizer ByteLevel after another" },
        { "null", HUB_BOTH("pretokenizers", "{'type':'ByteLevel','add_prefix_space':true},"
          "{'type':'Digits'}"), NULL, "pre_tokenizer Digits after add_prefix_space" },
        { "null", HUB_BOTH("pretokenizers", "{'type':'ByteLevel'}," HUB_META "}"), NULL,
          "pre_tokenizer Metaspace is not supported here" },
        { "null", HUB_BOTH("pretokenizers", "{'type':'ByteLevel'},"
          "{'type':'CharDelimiterSplit','delimiter':'-'}"), NULL, "CharDelimiterSplit is not" },
        { "null", HUB_BOTH("pretokenizers", "{'type':'ByteLevel'},"
          "{'type':'Split','pattern':{'String':'a'}}"), NULL, "pattern  is not" },
        { "{'type':'Strip','strip_right':true}", "null", "a\xff ", "[UNK]" },
    };
    char many[1000];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %d: %.60s", (int)i, rows[i][rows[i][1][0] == '{']);
        hub_cut(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
    }
    strcpy(many, "{'type':'Sequence','normalizers':[{'type':'NFC'}");
    for (int i = 0; i < 24; i++) strcat(many, ",{'type':'NFC'}");
    CASE("25 steps");
    hub_cut(strcat(many, "]}"), "null", NULL, "more than 24 steps");
}

/* -- saving ---------------------------------------------------------------------------------- */

TEST(hub_saved)
{
    for (int file = 0; file < HUB_FILES; file++) {
        hub_box a = hub_file(file);
        size_t size;
        size_t more;
        unsigned char *blob = hub_blob(&a.k, &size);
        const tfn_tokenizer_source s = hub_of_blob(blob, size);
        hub_box b = hub_make(&s);
        unsigned char *again = hub_blob(&b.k, &more);
        CHECK(b.status == TFN_OK && size == more && b.size <= a.size);
        CHECK_BITS(blob, again, size);
        CHECK(!memcmp(a.k.special, b.k.special, sizeof a.k.special));
        CHECK(!memcmp(a.k.flags, b.k.flags, (size_t)a.k.vocab));
        CHECK(a.k.begins == b.k.begins && a.k.ends == b.k.ends);
        CHECK(!a.k.begins || a.k.frame[0] == b.k.frame[0]);
        hub_rows(&b.k, file);
        CHECK_INT(tfn_tokenizer_init(&b.k, &s, b.mem + 1, b.size - 1), TFN_NO_MEMORY);
        free(a.mem), free(b.mem), free(blob), free(again);
    }
}

/* -- writing tokenizer.json ------------------------------------------------------------------ */

/* Both give the same ids for texts and the same texts for ids, also with broken UTF-8 and marks. */
static void hub_alike(const tfn_tokenizer *a, const tfn_tokenizer *b)
{
    static const char *const pieces[] = { "a", "the", " ", "  ", "\n", "\xe2\x96\x81", "\xff", "e",
        "\xc3\xa9", "e\xcc\x81", "t", "h", "\xef\xac\x81", "\xe2\x80\x8b", "\xe3\x80\x80", "<s>",
        "<0x41>", "\xef\xbf\xbd", "\xe6\x97\xa5", "\xe6\x97", "o", "\xc2\x85", "king", "1", "</s>",
        "in", "\xc2\xbd", "s", "r", "<unk>", "and", "ing", "ou", " with", "l", "d", "w", "n" };
    static int32_t x[20000], y[20000];
    char text[5000], back[5000];
    for (uint64_t i = 0; i < 400; i++) {
        const tfn_key key = tfn_key_fold(tfn_key_make(22), i);
        const size_t most = i % 20 ? tfn_random_bits(key, 0) % 40 : 400;
        const size_t kinds = 3 + tfn_random_bits(key, 1) % (sizeof pieces / sizeof *pieces - 2);
        hub_encode *encode = i % 3 ? tfn_tokenizer_encode : tfn_tokenizer_encode_specials;
        size_t n = 0;
        ptrdiff_t count;
        for (uint64_t j = 2; n < most; j++) {
            const char *piece = pieces[tfn_random_bits(key, j) % kinds];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        count = encode(a, x, 20000, text, n);
        if (encode(b, y, 20000, text, n) != count || memcmp(x, y, (size_t)count * sizeof *x))
            FAIL("'%.*s' is encoded in another way", (int)n, text);
        count = (ptrdiff_t)(tfn_random_bits(key, 2) % 9);
        for (ptrdiff_t j = 0; j < count; j++)
            x[j] = (int32_t)(tfn_random_bits(key, 100 + (uint64_t)j) % (uint64_t)a->vocab);
        n = tfn_tokenizer_decode(a, text, sizeof text, x, count);
        CHECK_INT(tfn_tokenizer_decode(b, back, sizeof back, x, count), n);
        CHECK(!memcmp(text, back, n));
    }
}

/* The written file gives a tokenizer that behaves alike and writes the same text. */
static void hub_again(const tfn_tokenizer *k)
{
    size_t size, more;
    char *text = hub_written(k, &size), *again;
    const tfn_tokenizer_source s = hub_json(text, size);
    hub_box b = hub_make(&s);
    char message[300];
    if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
    else {
        hub_alike(k, &b.k);
        again = hub_written(&b.k, &more);
        CHECK(more == size && !memcmp(text, again, size));
        free(again);
    }
    free(text), free(b.mem);
}

/* Written, read and written again, the text is the same, and its tokenizer has the golden ids. */
TEST(hub_json_text)
{
    for (int file = 0; file < HUB_FILES; file++) {
        hub_box a = hub_file(file), b;
        size_t size, more;
        char *text, *again;
        tfn_tokenizer_source s;
        char message[300];
        CASE("%s written", hub_names[file]);
        text = hub_written(&a.k, &size);
        s = hub_json(text, size);
        b = hub_make(&s);
        if (b.status != TFN_OK) {
            FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
            continue;
        }
        hub_rows(&b.k, file);
        hub_alike(&a.k, &b.k);
        again = hub_written(&b.k, &more);
        CHECK_INT(more, size);
        CHECK_BITS(text, again, size);
        CHECK(!memcmp(a.k.special, b.k.special, sizeof a.k.special));
        CHECK(!memcmp(a.k.flags, b.k.flags, (size_t)a.k.vocab));
        CHECK(a.k.begins == b.k.begins && a.k.ends == b.k.ends);
        for (int32_t i = 0; i < a.k.begins + a.k.ends; i++) CHECK(a.k.frame[i] == b.k.frame[i]);
        free(a.mem), free(b.mem), free(text), free(again);
    }
}

/* Models of SentencePiece, if tokenizer.json can express them. */
TEST(hub_json_text_models)
{
    static const struct { const char *name; int file, kind; bool fallback, spaces, no_prefix, user;
                          int change; bool said; } rows[] = {
        { "BPE", HUB_LLAMA, 2, true, false, false, false, 0, true },
        { "without extra spaces", HUB_LLAMA, 2, true, true, false, false, 0, true },
        { "extra spaces alone", HUB_LLAMA, 2, true, true, true, false, 0, true },
        { "bytes that are no fallback", HUB_LLAMA, 2, false, false, false, false, 0, false },
        { "no prefix", HUB_GEMMA, 2, false, false, true, false, 0, true },
        { "a user's", HUB_GEMMA, 2, false, false, true, true, 0, true },
        { "a user's and a prefix", HUB_GEMMA, 2, false, false, false, true, 0, false },
        { "equal scores", HUB_GEMMA, 2, false, false, false, false, 'e', false },
        { "a character that is no token", HUB_GEMMA, 2, false, false, false, false, 'c', false },
        { "two marks", HUB_GEMMA, 2, false, true, false, false, '_', false },
        { "Unigram", HUB_T5, 1, false, true, false, false, 0, true },
        { "Unigram with its spaces", HUB_T5, 1, false, false, false, false, 0, true },
        { "a control token below all", HUB_T5, 1, false, true, false, false, 'l', true },
        { "a user's in Unigram", HUB_T5, 1, false, true, false, true, 0, false },
        { "Unigram with bytes", HUB_XLMR, 1, true, true, false, false, 0, false },
        { "a table of replacements", HUB_T5, 2, false, true, false, false, 0, true },
        { "that and a user's", HUB_T5, 2, false, true, true, true, 0, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hub_box a = hub_file(rows[i].file), b;
        double score[1000];
        tfn_tokenizer_source s;
        CASE("%s", rows[i].name);
        CHECK(a.k.vocab < 1000);
        for (int32_t id = 0; id < a.k.vocab; id++) {        /* scores whose sums are exact */
            if (rows[i].kind == 2) score[id] = -id;
            else if (id % 4 == 1) score[id] = id % 3 / 4.0;     /* 0, 0.25, 0.5 */
            else score[id] = floor(a.k.score[id] * 64) / 64;
        }
        a.k.score = score;
        a.k.scored = true;
        for (int32_t id = 3; id < a.k.vocab; id++) {        /* none begins with two marks */
            uint8_t *token = a.k.text + a.k.start[id];
            const size_t n = (size_t)(a.k.start[id + 1] - a.k.start[id]);
            if (rows[i].change != '_' && n >= 6 && !memcmp(token, "\xe2\x96\x81\xe2\x96\x81", 6))
                memset(token + 3, 'e', n - 3);
        }
        if (rows[i].change == 'l') a.k.score[1] = -1000;
        if (rows[i].change == 'e') a.k.score[5] = a.k.score[6];
        if (rows[i].change == 'c') a.k.text[a.k.start[tfn_tokenizer_find(&a.k, "h", 1)]] = '%';
        hub_user = rows[i].user;
        hub_no_prefix = rows[i].no_prefix;
        s = hub_of_model(hub_write_model(&a.k, rows[i].kind, rows[i].fallback, rows[i].spaces));
        b = hub_make(&s);
        CHECK(b.status == TFN_OK);
        CHECK(rows[i].said == (tfn_tokenizer_json_text(&b.k, NULL, 0) > 0));
        if (rows[i].said) hub_again(&b.k);
        free(a.mem), free(b.mem);
    }
    hub_user = hub_no_prefix = false;
}

/* An added token that is also in the vocabulary, where its space is shown, is written as plain text
 * in added_tokens. */
TEST(hub_json_text_added)
{
    static const hub_change change = { HUB_GPT2, "\"added_tokens\": [", "\"added_tokens\": [{\"id\": "
        "220, \"content\": \" \", \"special\": false, \"lstrip\": true},", NULL };
    char *text = hub_changed(&change), *json;
    tfn_tokenizer_source s = hub_json(text, strlen(text));
    hub_box a = hub_make(&s), b;
    int32_t ids[2][40];
    size_t size;
    CHECK_INT(a.status, TFN_OK);
    json = hub_written(&a.k, &size);
    s = hub_json(json, size);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(tfn_tokenizer_encode(&a.k, ids[0], 40, "one  two", 8),
              tfn_tokenizer_encode(&b.k, ids[1], 40, "one  two", 8));
    CHECK(!memcmp(ids[0], ids[1], 3 * sizeof **ids));
    CHECK(!memcmp(a.k.flags, b.k.flags, (size_t)a.k.vocab) && a.k.flags[220] > 0);
    free(a.mem), free(b.mem), free(text), free(json);
}

/* A tokenizer that was trained here, with its special tokens; other kinds have no such file. */
TEST(hub_json_text_trained)
{
    static const char text[] = "the thin thing, the \"thick\" \\ one: 42 caf\xc3\xa9 <s> it's\n";
    for (int kind = TFN_TOKENIZER_BPE; kind <= TFN_TOKENIZER_WORDS; kind++) {
        tfn_tokenizer_desc d;
        tfn_tokenizer_source s;
        tfn_trainer t;
        hub_box a, b;
        size_t size;
        void *room;
        int32_t ids[2][200];
        memset(&d, 0, sizeof d);
        memset(&s, 0, sizeof s);
        d.kind = (tfn_tokenizer_kind)kind;
        d.vocab = 270;
        d.words = 64;
        d.mask = kind % 2 == 0;
        size = tfn_trainer_size(&d);
        room = malloc(size);
        tfn_trainer_init(&t, &d, room, size);
        tfn_trainer_add(&t, text, sizeof text - 1);
        CHECK_INT(tfn_trainer_run(&t), TFN_OK);
        s.trainer = &t;
        a = hub_make(&s);
        CASE("kind %d", kind);
        if (kind != TFN_TOKENIZER_BPE) {
            CHECK_INT(tfn_tokenizer_json_text(&a.k, NULL, 0), 0);
        } else {
            char *json = hub_written(&a.k, &size);
            s = hub_json(json, size);
            b = hub_make(&s);
            CHECK_INT(b.status, TFN_OK);
            CHECK(!memcmp(a.k.special, b.k.special, sizeof a.k.special));
            for (int specials = 0; specials < 2; specials++) {
                hub_encode *encode = specials ? tfn_tokenizer_encode_specials
                                              : tfn_tokenizer_encode;
                const ptrdiff_t n = encode(&a.k, ids[0], 200, text, sizeof text - 1);
                CHECK(n > 10 && n < 200);
                CHECK_INT(encode(&b.k, ids[1], 200, text, sizeof text - 1), n);
                CHECK(!memcmp(ids[0], ids[1], (size_t)n * sizeof **ids));
            }
            free(json), free(b.mem);
        }
        free(a.mem), free(room);
    }
}

/* Encode a text, special tokens too, with room and with as much as a call without room asks for. */
static ptrdiff_t hub_encoded(const tfn_tokenizer *k, const char *text, int32_t *ids, ptrdiff_t room)
{
    ptrdiff_t n = tfn_tokenizer_encode_specials(k, ids, room, text, strlen(text));
    const ptrdiff_t need = tfn_tokenizer_encode_specials(k, NULL, 0, text, strlen(text));
    int32_t *again = (int32_t *)malloc((size_t)(need + 1) * sizeof *again);
    CHECK(n <= room && need >= n);
    if (n > room) n = 0;
    CHECK_INT(tfn_tokenizer_encode_specials(k, again, need, text, strlen(text)), n);
    CHECK_BITS(again, ids, (size_t)n * sizeof *ids);
    for (ptrdiff_t less = need / 2; less > 0; less /= 2)        /* too little asks for enough */
        CHECK(tfn_tokenizer_encode_specials(k, again, less, text, strlen(text)) >= n);
    free(again);
    return n;
}

/* Checks the ids of a text, as "id id ...". */
static void hub_is(const tfn_tokenizer *k, const char *text, const char *wanted)
{
    static int32_t ids[20000];
    char got[4000];
    const ptrdiff_t n = hub_encoded(k, text, ids, 20000);
    got[0] = 0;
    for (ptrdiff_t i = 0; i < n && i < 500; i++) sprintf(got + strlen(got), "%s%d", i ? " " : "", (int)ids[i]);
    if (strcmp(got, wanted)) FAIL("'%s' is %s, not %s", text, got, wanted);
}

static hub_box hub_quoted(const char *json)
{
    static char text[4000];
    tfn_tokenizer_source s;
    strcpy(text, json);
    hub_quote(text);
    s = hub_json(text, strlen(text));
    return hub_make(&s);
}

/* Parts that look like those of models of bytes or pieces, but do something else. */
TEST(hub_parts_alike)
{
    static const char bytes[] = "{'type':'ByteLevel','add_prefix_space':false}";
    static const char *const after[][2] = {
        { "{'type':'ByteLevel'}", "pre_tokenizer ByteLevel after another is not supported" },
        { "{'type':'ByteLevel','use_regex':false}", "pre_tokenizer ByteLevel after another" },
        { "{'type':'Metaspace'}", "pre_tokenizer Metaspace is not supported here" }
    };
    static const struct { const char *content, *text; } replaced[] = {
        { "-", "a-b" }, { "b", "abb" }, { "--", "a--b" }
    };
    char json[1000];
    char text[300];
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        hub_box b;
        CASE("ByteLevel, %s", after[i][0]);
        sprintf(json, "{'pre_tokenizer':{'type':'Sequence','pretokenizers':[%s,%s]},'decoder':{'type':'ByteLevel'},'model':{'type':'BPE',"
                "'vocab':{'a':0},'merges':[]}}", bytes, after[i][0]);
        b = hub_quoted(json);
        tfn_error_text(&b.k.error, text, sizeof text);
        if (b.status == TFN_OK || !strstr(text, after[i][1])) FAIL("says %s", text);
        free(b.mem);
    }
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        int32_t ids[20];
        ptrdiff_t n;
        hub_box b;
        CASE("spaces become '%s'", replaced[i].content);
        sprintf(json, "{'normalizer':{'type':'Replace','pattern':{'Regex':' {2,}'},'content':'%s'},"
                "'pre_tokenizer':" HUB_META ",'prepend_scheme':'never'},'decoder':" HUB_META
                ",'prepend_scheme':'never'},'model':{'type':'Unigram',"
                "'unk_id':0,'vocab':[['<u>',0],['\xe2\x96\x81',-1],['a',-2],['b',-3],['-',-4]]}}",
                replaced[i].content);
        b = hub_quoted(json);
        CHECK_INT(b.status, TFN_OK);
        n = tfn_tokenizer_encode(&b.k, ids, 20, "a   b", 5);
        text[0] = 0;
        for (ptrdiff_t t = 0; t < n && t < 20; t++) {
            size_t size;
            const char *piece = tfn_tokenizer_token(&b.k, ids[t], &size);
            sprintf(text + strlen(text), "%.*s", (int)size, piece);
        }
        if (strcmp(text, replaced[i].text)) FAIL("'%s', not '%s'", text, replaced[i].text);
        free(b.mem);
    }
}

/* Tokens that say that a word ends, as CLIP's. */
TEST(hub_ends_of_words)
{
    hub_box b = hub_quoted("{'normalizer':{'type':'Lowercase'},'pre_tokenizer':"
        "{'type':'WhitespaceSplit'},'decoder':{'type':'BPEDecoder','suffix':'</w>'},'model':{"
        "'type':'BPE','unk_token':'<unk>','end_of_word_suffix':'</w>','fuse_unk':true,'vocab':{"
        "'<unk>':0,'a':1,'b':2,'a</w>':3,'b</w>':4,'ab</w>':5,'ba':6,'baab</w>':7},"
        "'merges':['a b</w>','b a','ba ab</w>']}}");
    static const int32_t ids[] = { 5, 7, 1, 4 };
    char text[200];
    char wanted[800] = "1";
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "AB b", "5 4");
    hub_is(&b.k, "bab baab", "2 5 7");
    hub_is(&b.k, "azzb zz z", "1 0 4 0 0");
    for (int i = 0; i < 150; i++) strcat(wanted, " 1");
    memset(text, 'a', 152);
    text[152] = 0;
    hub_is(&b.k, text, strcat(wanted, " 3"));               /* too long to be merged in one go */
    text[tfn_tokenizer_decode(&b.k, text, sizeof text, ids, 4)] = 0;
    CHECK(!strcmp(text, "ab baab ab"));
    hub_again(&b.k);
    free(b.mem);
    b = hub_quoted("{'normalizer':{'type':'Lowercase'},'pre_tokenizer':{'type':'Sequence',"
        "'pretokenizers':[{'type':'Split','pattern':{'Regex':'[a-z]+'},'behavior':'Removed',"
        "'invert':true},{'type':'ByteLevel','add_prefix_space':false,'use_regex':false}]},'decoder':"
        "{'type':'ByteLevel'},'model':{'type':'BPE','unk_token':'<u>','end_of_word_suffix':'</w>',"
        "'vocab':{'<u>':0,'a':1,'b':2,'a</w>':3,'b</w>':4,'ab</w>':5},'merges':['a b</w>']}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "AB b, abab a", "5 4 1 2 5 3");
    hub_is(&b.k, "ac cb", "1 0 0 4");
    for (int n = 250; n < 262; n++) {                       /* of bytes: merged in blocks of 256 */
        char word[300];
        memset(word, 'a', (size_t)n);
        strcpy(word + n, "b");
        strcpy(wanted, "1");
        for (int i = 2; i < n; i++) strcat(wanted, " 1");
        hub_is(&b.k, word, strcat(wanted, " 5"));
    }
    hub_again(&b.k);
    free(b.mem);
    b = hub_quoted("{'pre_tokenizer':{'type':'WhitespaceSplit'},'decoder':{'type':'BPEDecoder',"
        "'suffix':'-'},'model':{'type':'BPE','end_of_word_suffix':'</w>','vocab':{},'merges':[]}}");
    CHECK_INT(b.status, TFN_UNSUPPORTED);
    free(b.mem);
}

/* Added tokens: of single words, with white space around, normalized. */
TEST(hub_added_tokens)
{
    hub_box b = hub_quoted("{'added_tokens':[{'id':1,'content':'ab','single_word':true},"
        "{'id':2,'content':'<m>','lstrip':true,'rstrip':true}],'pre_tokenizer':"
        "{'type':'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'[UNK]',"
        "'vocab':{'[UNK]':0,'x':3}}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "ab xab abx ab", "1 0 0 1");
    hub_is(&b.k, "ab,ab", "1 0 1");
    hub_is(&b.k, "x\xe3\x80\x80 <m> x", "3 2 3");
    hub_is(&b.k, "x\xa9\xa9<m>", "0 2");
    hub_is(&b.k, "\xe3\x80\x80<m>", "2");
    free(b.mem);
    b = hub_quoted("{'added_tokens':[{'id':1,'content':'A','normalized':true},{'id':2,'content':"
        "'a','normalized':true},{'id':3,'content':' ','normalized':true}],'normalizer':{"
        "'type':'Sequence','normalizers':[{'type':'Lowercase'},{'type':'Strip','strip_left':true,"
        "'strip_right':true}]},'pre_tokenizer':{'type':'WhitespaceSplit'},'model':{"
        "'type':'WordLevel','unk_token':'[UNK]','vocab':{'[UNK]':0,'x':4}}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "xax A", "4 1 4 1");               /* the first of two that are the same */
    free(b.mem);
    b = hub_quoted("{'added_tokens':[{'id':1,'content':'AB','normalized':true},{'id':2,'content':"
        "'Ab','normalized':true}],'normalizer':{'type':'Lowercase'},'pre_tokenizer':"
        "{'type':'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'[UNK]',"
        "'vocab':{'[UNK]':0,'x':3}}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "x aB x Ab", "3 1 3 1");           /* neither of the two is in lower case */
    free(b.mem);
    b = hub_quoted("{'added_tokens':[{'id':1,'content':'<m>','lstrip':true}],'pre_tokenizer':"
        "{'type':'BertPreTokenizer'},'decoder':{'type':'WordPiece','prefix':'##','cleanup':false},"
        "'model':{'type':'WordPiece','unk_token':'[UNK]','continuing_subword_prefix':'##',"
        "'max_input_chars_per_word':9,'vocab':{'[UNK]':0,'x':2,'.':3}}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "x \xff<m>.", "2 0 1 3");          /* an invalid byte is no space */
    {
        static const int32_t ids[] = { 2, 3 };
        char text[9];
        CHECK_INT(tfn_tokenizer_decode(&b.k, text, sizeof text, ids, 2), 3);
        CHECK(!memcmp(text, "x .", 3));             /* not tidied */
    }
    free(b.mem);
    for (int i = 0; i < 2; i++) {
        char json[800];
        char message[300];
        sprintf(json, "{'added_tokens':[{'id':1,'content':'aa%0*d','normalized':true}],'normalizer':"
            "{'type':'Replace','pattern':{'String':'a'},'content':'%0100d'},'pre_tokenizer':"
            "{'type':'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'[UNK]','vocab':"
            "{'[UNK]':0}}}", i ? 129 : 2, 7, 7);
        b = hub_quoted(json);
        tfn_error_text(&b.k.error, message, sizeof message);
        CHECK(strstr(message, "added token 1 has more than 128 bytes when it is normalized"));
        free(b.mem);
    }
}

/* Decoders turn the marks of three tokens into a text, or are refused (NULL) with an error. */
TEST(hub_decoders)
{
#define HUB_TO_SPACES "{'type':'Replace','pattern':{'String':'\xe2\x96\x81'},'content':' '}"
#define HUB_STRIPPED(start, stop) HUB_BOTH("decoders", HUB_TO_SPACES \
    ",{'type':'Strip','content':' ','start':" start ",'stop':" stop "}")
    static const char *const rows[][3] = {
        { HUB_META "}", "aa a", NULL }, { HUB_META ",'prepend_scheme':'first'}", "aa a", NULL },
        { HUB_META ",'prepend_scheme':'never'}", " aa a", NULL },
        { HUB_META ",'add_prefix_space':false}", " aa a", NULL },
        { HUB_META ",'add_prefix_space':true}", "aa a", NULL },
        { HUB_TO_SPACES, " aa a", NULL }, { HUB_STRIPPED("1", "0"), "aa a", NULL },
        { HUB_STRIPPED("2147483647", "0"), "aa a", NULL },
        { HUB_STRIPPED("2", "0"), NULL, "decoder Strip" }, { HUB_STRIPPED("1", "1"), NULL, "decoder Strip" },
        { "{'type':'Replace','pattern':{'String':'x'},'content':' '}", NULL, "decoder Replace" },
        { "{'type':'Replace','pattern':{'Regex':'\xe2\x96\x81'},'content':' '}", NULL, "decoder Replace" },
        { "{'type':'Replace','pattern':{'String':'\xe2\x96\x81'},'content':'_'}", NULL, "decoder Replace" },
        { "{'type':'Strip','content':'_','start':1,'stop':0}", NULL, "decoder Strip" },
        { "{'type':'CTC'}", NULL, "decoder CTC" },
    };
    static const int32_t ids[] = { 3, 2, 3 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[1500];
        char text[300];
        hub_box b;
        sprintf(json, "{'pre_tokenizer':" HUB_META "},'decoder':%s,'model':{'type':'Unigram','unk_id':0,"
                "'vocab':[['<u>',0],['\xe2\x96\x81',-1],['a',-2],['\xe2\x96\x81" "a',-3]]}}", rows[i][0]);
        CASE("row %d", (int)i);
        b = hub_quoted(json);
        if (rows[i][1]) {
            CHECK_INT(b.status, TFN_OK);
            text[tfn_tokenizer_decode(&b.k, text, sizeof text - 1, ids, 3)] = 0;
            if (strcmp(text, rows[i][1])) FAIL("'%s', not '%s'", text, rows[i][1]);
            hub_again(&b.k);
        } else {
            tfn_error_text(&b.k.error, text, sizeof text);
            if (b.status == TFN_OK || !strstr(text, rows[i][2])) FAIL("says '%s'", text);
        }
        free(b.mem);
    }
}

/* Sets a field to a value that only a blob can have. tokenizer.json cannot express the
 * tokenizer. */
static void hub_not_published(tfn_tokenizer k, int change)
{
    switch (change) {
    case 0: k.split = TFN_SPLIT_GPT2; break;
    case 1: k.normalizer |= TFN_NORMALIZER_WORDS | TFN_NORMALIZER_LEFT | TFN_NORMALIZER_RIGHT
                            | TFN_NORMALIZER_COLLAPSE | TFN_NORMALIZER_PREFIX | TFN_NORMALIZER_NEEDED
                            | TFN_NORMALIZER_MARKS | TFN_NORMALIZER_FIRST;
            k.split = TFN_SPLIT_MARKS; break;
    case 2: k.normalizer |= TFN_NORMALIZER_UTF8 | TFN_NORMALIZER_LEFT;
            k.normalizer &= ~TFN_NORMALIZER_RIGHT; break;
    case 3: k.normalizer &= ~(TFN_NORMALIZER_MARKS | TFN_NORMALIZER_PREFIX | TFN_NORMALIZER_NEEDED
                              | TFN_NORMALIZER_FIRST);
            k.split = TFN_SPLIT_MARKS; break;
    case 4: k.apart = true; break;
    case 5: k.fuse = false; break;
    case 6: k.whole = true; break;
    case 7: k.fallback = true; break;
    case 8: k.least = 1; break;
    }
    CASE("change %d", change);
    CHECK_INT(tfn_tokenizer_json_text(&k, NULL, 0), 0);
}

/* Tokenizers that tokenizer.json cannot express, or that this library would read back
 * differently. */
TEST(hub_json_text_none)
{
    static const char *const none[] = {
        "{'model':{'type':'BPE','vocab':{'a':0,'b':2},'merges':[]},"
        "'added_tokens':[{'id':1,'content':'x y','special':false}]}",
        "{'pre_tokenizer':" HUB_META "},'decoder':" HUB_META "},'model':{'type':'Unigram','unk_id':0,"
        "'vocab':[['<u>',0],['a',-1e20]]}}",
    };
    static const char *const suffixes[] = { "\\u0001", "\\\"", "\\\\" };
    tfn_tokenizer_source s;
    hub_box b;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CASE("row %d", (int)i);
        b = hub_quoted(none[i]);
        CHECK_INT(b.status, TFN_OK);
        CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
        free(b.mem);
    }
    for (int i = 0; i < 3; i++) {
        char json[600];
        CASE("suffix %s", suffixes[i]);
        snprintf(json, sizeof json, "{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"decoder\":{\"type\":"
                 "\"BPEDecoder\",\"suffix\":\"%s\"},\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"%s\","
                 "\"vocab\":{\"a\":0,\"a%s\":1},\"merges\":[]}}", suffixes[i], suffixes[i], suffixes[i]);
        s = hub_json(json, strlen(json));
        b = hub_make(&s);
        CHECK_INT(b.status, TFN_OK);
        CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
        free(b.mem);
    }
    CASE("a vocabulary of text without all bytes");
    memset(&s, 0, sizeof s);
    s.kind = TFN_TOKENIZER_BPE;
    s.vocab = "{\"a\": 0, \"b\": 1, \"ab\": 2}";
    s.vocab_size = strlen(s.vocab);
    s.merges = "a b\n";
    s.merges_size = strlen(s.merges);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    free(b.mem);
    b = hub_file(HUB_T5);
    CHECK(tfn_tokenizer_json_text(&b.k, NULL, 0) > 0);
    for (int i = 0; i < 7; i++) hub_not_published(b.k, i);
    b.k.single = true;
    CHECK(tfn_tokenizer_json_text(&b.k, NULL, 0) > 0);
    hub_not_published(b.k, 7);
    hub_not_published(b.k, 8);
    free(b.mem);
    b = hub_file(HUB_QWEN2);                            /* of bytes */
    b.k.normalizer = TFN_NORMALIZER_COLLAPSE;
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    b.k.normalizer = TFN_NORMALIZER_NFC;
    CHECK(tfn_tokenizer_json_text(&b.k, NULL, 0) > 0);
    b.k.prefix_space = true;
    b.k.split = TFN_SPLIT_GPT2;
    b.k.whole = true;
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    b.k.whole = b.k.prefix_space = false;
    strcpy(b.k.suffix, "x");
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    free(b.mem);
}

/* Added tokens of byte-level BPE among the ids of the vocabulary: the model lists them, and their
 * characters show bytes there. None may read as other bytes, or as a token that exists. */
#define HUB_32 "abcdefghijklmnopqrstuvwxyzabcdef"
#define HUB_128 HUB_32 HUB_32 HUB_32 HUB_32
#define HUB_512 HUB_128 HUB_128 HUB_128 HUB_128
TEST(hub_json_text_bytes)
{
    static const struct { const char *name, *vocab, *added; bool said; } rows[] = {
        { "of ASCII", "'a':0,'b':3", "{'id':1,'content':'cd'}", true },
        { "with a space", "'a':0,'b':3", "{'id':1,'content':'c d'}", true },
        { "that is no bytes", "'a':0,'b':3", "{'id':1,'content':'\xe6\x97\xa5'}", true },
        { "that shows bytes", "'a':0,'b':3", "{'id':1,'content':'\xc3\xa9'}", false },
        { "special, shows bytes", "'a':0,'b':3", "{'id':1,'content':'\xc3\xa9','special':true}",
          false },
        { "a whole word", "'a':0,'b':3", "{'id':1,'content':'c','single_word':true}", false },
        { "a special word", "'a':0,'b':3",
          "{'id':1,'content':'c','single_word':true,'special':true}", true },
        { "after all others", "'a':0,'b':1", "{'id':2,'content':'\xc3\xa9'}", true },
        { "a word after all others", "'a':0,'b':1", "{'id':2,'content':'c','single_word':true}",
          true },
        { "shown like a byte", "'a':0,'\xc3\xa9':1", "{'id':2,'content':'\xc3\xa9'}", false },
        { "with a token's text", "'a':0,'ab':1", "{'id':2,'content':'ab'}", false },
        { "special, with a token's text", "'a':0,'ab':1",
          "{'id':2,'content':'ab','special':true}", false },
        { "of 512 bytes", "'a':0,'b':1", "{'id':2,'content':'" HUB_512 "'}", true },
        { "too long to look up", "'a':0,'b':1", "{'id':2,'content':'" HUB_512 "c'}", false },
        { "that long, no bytes", "'a':0,'b':1", "{'id':2,'content':'" HUB_512 "c '}", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[2000];
        hub_box b;
        CASE("%s", rows[i].name);
        snprintf(json, sizeof json, "{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},"
                 "'decoder':{'type':'ByteLevel'},'model':{'type':'BPE','vocab':{%s},'merges':[]},"
                 "'added_tokens':[%s]}", rows[i].vocab, rows[i].added);
        b = hub_quoted(json);
        CHECK_INT(b.status, TFN_OK);
        if (rows[i].said) hub_again(&b.k);
        else CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
        free(b.mem);
    }
}

/* More marks in a row than are put in order at once. */
TEST(hub_many_marks)
{
    char json[4000], marked[1000], text[1000];
    hub_box b;
    strcpy(marked, "\xc3\xa1");
    strcpy(text, "a\xcc\x81");
    for (int i = 0; i < 300; i++) strcat(marked, "\xcc\x81"), strcat(text, "\xcc\x81");
    sprintf(json, "{'normalizer':{'type':'NFC'},'model':{'type':'WordLevel','unk_token':'[U]',"
            "'vocab':{'[U]':0,'%s':1}}}", marked);
    b = hub_quoted(json);
    hub_is(&b.k, text, "1");
    free(b.mem);
}

/* A tokenizer by steps has the ids of the one by flags where a step changes nothing; longer texts
 * than the stack has room for are changed in the room for the ids. */
static void hub_steps_at(int where)
{
    static const hub_change changes[] = {
        { HUB_T5, "{\"type\":\"Strip\"", "{\"type\":\"Lowercase\"},{\"type\":\"Strip\"", NULL },
        { HUB_T5, "{\"type\":\"Precompiled\"", "{\"type\":\"Lowercase\"},{\"type\":\"Precompiled\"", NULL }
    };
    char *json = hub_changed(&changes[where]);
    const tfn_tokenizer_source s = hub_json(json, strlen(json));
    hub_box a = hub_file(HUB_T5);
    hub_box b = hub_make(&s);
    static const char *const texts[] = { "the king ", "it  is\ta ", "the\xef\xac\x81nger " };
    CHECK(b.status == TFN_OK && b.k.split == TFN_SPLIT_STEPS);
    for (int i = 0; i < 3; i++)
        for (int times = 1; times < 200; times *= 5) {
            static int32_t ids[2][20000];
            char text[4000];
            ptrdiff_t n;
            text[0] = 0;
            for (int j = 0; j < times; j++) strcat(text, texts[i]);
            n = hub_encoded(&a.k, text, ids[0], 20000);
            CHECK_INT(hub_encoded(&b.k, text, ids[1], 20000), n);
            CHECK_BITS(ids[0], ids[1], (size_t)n * sizeof **ids);
        }
    hub_again(&b.k);
    free(json), free(a.mem), free(b.mem);
}
TEST(hub_steps_as_flags)
{
    for (int where = 0; where < 2; where++) hub_steps_at(where);
}

/* ByteLevel as a normalizer: expressions see the characters that show bytes. */
TEST(hub_bytes_shown)
{
    hub_box b = hub_quoted("{'normalizer':{'type':'ByteLevel'},'pre_tokenizer':{'type':'Split',"
        "'behavior':'MergedWithNext','pattern':{'Regex':'\xc4\xa0'}},'decoder':{"
        "'type':'ByteLevel'},'model':{'type':'BPE','vocab':{'a':0,'\xc4\xa0':1,'aa':2,'\xc4\xa0" "a':3,'a\xc4\xa0':4,"
        "'\xc3\x83':5,'\xc2\xa9':6},'merges':['a \xc4\xa0','a a','\xc4\xa0 a']}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "a aa\xc3\xa9", "0 1 2 5 6");      /* "a " would be the first merge, but is cut */
    hub_again(&b.k);
    free(b.mem);
}

/* -- hostile files --------------------------------------------------------------------------- */

/* Every written tokenizer can be read, and gives the same ids. */
static void hub_said(const tfn_tokenizer *k)
{
    static const char text[] = "unthe \xe6\x97\xa5 E\xcc\x81 THE\xff \xe2\x96\x81 aaab  1";
    int32_t ids[2][400];
    size_t size;
    char *json = hub_written(k, &size);
    const tfn_tokenizer_source s = hub_json(json, size);
    hub_box b = hub_make(&s);
    const ptrdiff_t n = tfn_tokenizer_encode(k, ids[0], 400, text, sizeof text - 1);
    char message[300];
    if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids[1], 400, text, sizeof text - 1), n);
    CHECK(!memcmp(ids[0], ids[1], (size_t)n * sizeof **ids));
    free(json), free(b.mem);
}

/* The former contents of its memory do not change a tokenizer. */
static void hub_in_other_memory(const tfn_tokenizer *k, const tfn_tokenizer_source *s)
{
    hub_fill = 0;
    hub_box b = hub_make(s);
    hub_fill = 0x7f;
    size_t size, again;
    unsigned char *blob = hub_blob(k, &size);
    unsigned char *other = hub_blob(&b.k, &again);
    CHECK(size == again && !memcmp(blob, other, size));
    free(blob), free(other), free(b.mem);
}

static bool hub_accepted(const tfn_tokenizer_source *s)
{
    hub_box b = hub_make(s);
    char text[400];
    const bool accepted = b.status == TFN_OK;
    static int turn;
    digest_error(&hub_digest, &b.k.error);
    if (accepted) {
        hub_digest_ids(&b.k, "the <s> tim's' 42 \n \xff", 20, false);
        hub_digest_ids(&b.k, "unthe \xe6\x97\xa5 E\xcc\x81 THE", 17, false);
        hub_digest_ids(&b.k, "[R]  <mask><|eot_id|> ", 21, true);
        for (int i = 0; i < TFN_SPECIAL_COUNT; i++) digest_int(&hub_digest, b.k.special[i]);
        digest_int(&hub_digest, b.k.begins + 256*b.k.ends);
        digest_int(&hub_digest, (int64_t)tfn_tokenizer_vocab_text(&b.k, text, sizeof text));
        tfn_tokenizer_write(&b.k, text, sizeof text);
        const bool json = tfn_tokenizer_json_text(&b.k, text, sizeof text) > 0;
        const bool chosen = turn++ % 4 == 0;
        if (chosen) hub_in_other_memory(&b.k, s);
        if (chosen && json) hub_said(&b.k);
    } else CHECK(b.k.error.status == b.status && *tfn_error_text(&b.k.error, text, sizeof text));
    free(b.mem);
    return accepted;
}

/* Files that are cut, or have a byte changed, each in a block of exactly its size. TEST_EVERY: at
 * every place, as in readers.sh. */
TEST(hub_bad_files)
{
    const size_t step = getenv("TEST_EVERY") ? 1 : 37;
    size_t accepted = 0;
    hub_digest = DIGEST_BEGIN;
    for (int file = 0; file < HUB_FILES; file++) {
        char *text = hub_text(file);
        const size_t size = strlen(text);
        const size_t jump = file < HUB_LLAMA ? step : 16*step;   /* these are long */
        for (size_t n = 0; n < size; n += jump) {
            char *copy = (char *)malloc(n ? n : 1);
            tfn_tokenizer_source s;
            memcpy(copy, text, n);
            s = hub_json(copy, n);
            if (hub_accepted(&s)) FAIL("cut at %d", (int)n);
            free(copy);
            copy = (char *)malloc(size);
            memcpy(copy, text, size);
            copy[n] = (char)(copy[n] ^ (n % 3 ? 1 : 64));
            s = hub_json(copy, size);
            accepted += hub_accepted(&s);
            free(copy);
        }
        free(text);
    }
    CHECK(accepted > 0);
    hub_digest_is(0x7690424du);
}

/* Models that are cut, or have a byte changed. */
TEST(hub_bad_models)
{
    hub_box a = hub_file(HUB_T5);
    const size_t size = hub_write_model(&a.k, 1, false, true);
    const size_t step = getenv("TEST_EVERY") ? 1 : 7;
    size_t accepted = 0;
    hub_digest = DIGEST_BEGIN;
    for (size_t n = 0; n < size; n += n < 3000 ? step : 40*step)
        for (int change = 0; change < 3; change++) {
            static const unsigned char changes[] = { 1, 128, 255 };
            unsigned char *copy = (unsigned char *)malloc(size);
            tfn_tokenizer_source s = hub_of_model(size);
            memcpy(copy, hub_model, size);
            copy[n] ^= changes[change];
            s.model = copy;
            accepted += hub_accepted(&s);
            s.model_size = n;
            hub_accepted(&s);
            free(copy);
        }
    CHECK(accepted > 0);
    free(a.mem);
    hub_digest_is(0x87370505u);
}

/* A vocab.json that is cut or has a byte changed, with a model. */
TEST(hub_bad_marian)
{
    hub_box a = hub_file(HUB_T5);
    const size_t step = getenv("TEST_EVERY") ? 1 : 13;
    int32_t map[2000];
    size_t accepted = 0;
    tfn_tokenizer_source s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    hub_digest = DIGEST_BEGIN;
    s.begin = false;
    s.end = true;
    const size_t whole = s.model_size;
    hub_write_vocab(&a.k, 5, map);
    for (size_t n = 0; n < strlen(hub_vocab); n += step) {
        const size_t size = strlen(hub_vocab);
        char *copy = (char *)malloc(size);
        memcpy(copy, hub_vocab, size);
        copy[n] ^= 1;
        s.vocab = copy;
        s.vocab_size = size;
        accepted += hub_accepted(&s);
        s.vocab_size = n;
        if (hub_accepted(&s)) FAIL("cut at %d", (int)n);
        s.model_size = n;
        hub_accepted(&s);
        s.model_size = whole;
        free(copy);
    }
    CHECK(accepted > 0);
    free(a.mem);
    hub_digest_is(0x2f408399u);
}

static void hub_bad_blob(int file)
{
    hub_box b = hub_file(file);
    size_t size;
    size_t accepted = 0;
    unsigned char *blob = hub_blob(&b.k, &size);
    for (size_t n = size - (size < 60 ? size : 60); n < size; n++)
        for (int change = 1; change < 256; change += getenv("TEST_EVERY") ? 1 : 9) {
            unsigned char *copy = (unsigned char *)malloc(size);
            uint64_t h = UINT64_C(0xcbf29ce484222325);
            const tfn_tokenizer_source s = hub_of_blob(copy, size);
            memcpy(copy, blob, size);
            copy[n] = (unsigned char)(copy[n] ^ change);
            if (hub_accepted(&s)) FAIL("byte %d changed", (int)n);
            for (size_t i = 0; i + 4 < size; i++) h = (h ^ copy[i]) * UINT64_C(0x100000001b3);
            h ^= h >> 32;
            for (size_t i = 0; i < 4; i++) copy[size - 4 + i] = (unsigned char)(h >> 8*i);
            accepted += hub_accepted(&s);
            free(copy);
        }
    CHECK(accepted > 0);
    free(blob);
    free(b.mem);
}

/* Returns a block that ends at a page without access; NULL if there is no such memory here. */
static unsigned char *hub_before_page(size_t bytes)
{
#ifdef MAP_ANONYMOUS
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + page - 1) / page * page;
    char *all = (char *)mmap(NULL, room + page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == (char *)MAP_FAILED || mprotect(all + room, page, PROT_NONE)) return NULL;
    return (unsigned char *)all + room - bytes;
#else
    (void)bytes;
    return NULL;
#endif
}

/* A text ends where the caller says, whatever would follow: nothing after its end is read, and a
 * character that is cut is bytes. */
TEST(hub_ends_of_texts)
{
    static const char *const normalizers[] = { "null", "{'type':'NFC'}", "{'type':'NFD'}",
        "{'type':'NFKC'}", "{'type':'NFKD'}", "{'type':'Lowercase'}", "{'type':'StripAccents'}",
        "{'type':'BertNormalizer','lowercase':true}", "{'type':'Strip','strip_right':true}" };
    static const char text[] = "Ae\xcc\x81 \xea\xb0\x80\xe1\x86\xa8 \xf0\x9f\x98\x80\xcc\x81";
    enum { BYTES = sizeof text - 1 };
    for (size_t i = 0; i < sizeof normalizers / sizeof *normalizers; i++) {
        char json[600];
        hub_box b;
        sprintf(json, "{'normalizer':%s,'pre_tokenizer':{'type':'ByteLevel'},'model':{'type':'BPE',"
                "'vocab':{'A':0,'a':1,'\xc3\x8c':2,'\xc3\x8d':3},'merges':[]}}", normalizers[i]);
        b = hub_quoted(json);
        CASE("%s", normalizers[i]);
        CHECK_INT(b.status, TFN_OK);
        for (size_t n = 0; n <= BYTES && b.status == TFN_OK; n++) {
            int32_t ids[100], other[100];
            unsigned char *edge = hub_before_page(n + (n == 0));
            ptrdiff_t count;
            if (!edge) {
                free(b.mem);
                SKIP("no pages that can be guarded");
            }
            memcpy(edge, text, n);
            count = tfn_tokenizer_encode(&b.k, ids, 100, (const char *)edge, n);
            CHECK_INT(tfn_tokenizer_encode(&b.k, other, 100, text, n), count);
            if (count > 0 && count <= 100) CHECK_BITS(ids, other, (size_t)count * sizeof *ids);
        }
        free(b.mem);
    }
}

/* A blob that is cut, with a right sum, is refused, and nothing after its end is read. */
TEST(hub_cut_blobs)
{
    hub_box b = hub_file(HUB_T5);
    size_t size;
    unsigned char *blob = hub_blob(&b.k, &size);
    unsigned char *place = hub_before_page(size);
    for (size_t n = 12; place && n < size; n += 101) {
        unsigned char *copy = place + size - n;
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        const tfn_tokenizer_source s = hub_of_blob(copy, n);
        memcpy(copy, blob, n);
        for (size_t i = 0; i + 4 < n; i++) h = (h ^ copy[i]) * UINT64_C(0x100000001b3);
        h ^= h >> 32;
        for (size_t i = 0; i < 4; i++) copy[n - 4 + i] = (unsigned char)(h >> 8*i);
        if (hub_accepted(&s)) FAIL("cut at %d", (int)n);
    }
    free(blob);
    free(b.mem);
    if (!place) SKIP("no memory that ends before such a page");
}

/* Small files, with ' for ": every kind of model, and the members that each has. */
static const char *const hub_small_files[] = {
    "{\r\n\t'added_tokens':[{'id':7,'content':'<m>','special':true,'lstrip':true},{'id':6,'content':"
    "'ba','single_word':true}],'normalizer':{'type':'Lowercase'},'pre_tokenizer':{'type':"
    "'WhitespaceSplit'},'post_processor':{'type':'BertProcessing','sep':['<m>',7],'cls':['a',1]},"
    "'decoder':{'type':'BPEDecoder','suffix':'</w>'},'model':{'type':'BPE','dropout':-0.0,"
    "'unk_token':'<u>','end_of_word_suffix':'</w>','fuse_unk':true,'vocab':{'<u>':0,'a':1,'b':2,"
    "'a</w>':3,'b</w>':4,'ab</w>':5},'merges':['a b</w>']}}",
    "{'added_tokens':[{'id':0,'content':'<s>','special':true,'normalized':false}],'normalizer':null,"
    "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'ByteLevel','add_prefix_space':true,"
    "'use_regex':true}]},'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{"
    "'id':'<s>'}},{'Sequence':{'id':'A'}}],'special_tokens':{'<s>':{'ids':[0]}}},'decoder':{'type':"
    "'ByteLevel'},'model':{'vocab':{'<s>':0,'a':1,'\\u0120':2,'\\u0120a':3,'\\ud83d\\ude00':5},"
    "'merges':[['\\u0120','a']]}}",
    "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Prepend','prepend':'\xe2\x96\x81'},"
    "{'type':'Replace','pattern':{'String':' '},'content':'\xe2\x96\x81'}]},'decoder':{'type':"
    "'Sequence','decoders':[{'type':'Replace','pattern':{'String':'\xe2\x96\x81'},'content':' '},"
    "{'type':'ByteFallback'},{'type':'Fuse'},{'type':'Strip','content':' ','start':1,'stop':0}]},"
    "'model':{'type':'BPE','unk_token':'<u>','byte_fallback':true,'fuse_unk':true,'vocab':{'<u>':0,"
    "'<0x61>':1,'b':2,'\xe2\x96\x81':3,'\xe2\x96\x81" "b':4},'merges':['\xe2\x96\x81 b']}}",
    "{'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':'always'},"
    "'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81','add_prefix_space':true},'model':{"
    "'type':'Unigram','unk_id':0,'vocab':[['<u>',0],['\xe2\x96\x81',-1.5E0],['a',-2],"
    "['\xe2\x96\x81" "a',-3e-1]]}}",
    "{'normalizer':{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':true,"
    "'strip_accents':null,'lowercase':true},'pre_tokenizer':{'type':'BertPreTokenizer'},'decoder':{"
    "'type':'WordPiece','prefix':'##','cleanup':true},'model':{'type':'WordPiece','unk_token':'[U]',"
    "'continuing_subword_prefix':'##','max_input_chars_per_word':100,'vocab':{'[U]':0,'a':1,'##b':2,"
    "'b':3}}}",
    "{'pre_tokenizer':{'type':'Split','pattern':{'Regex':'a+|\\\\s'},'behavior':'Isolated'},'model':{"
    "'type':'WordLevel','unk_token':'[U]','vocab':{'[U]':0,'aa':1,'b':2}}}",
};
enum { HUB_SMALL_FILES = sizeof hub_small_files / sizeof *hub_small_files };

/* Two ways to cut a text into the same pieces, in another order, have sums that differ in the last
 * bit. The wanted ids are those of the tokenizers library, which rounds the digits of a score
 * twice. */
TEST(hub_equal_ways)
{
    hub_box b = hub_quoted("{'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81',"
        "'prepend_scheme':'always'},'decoder':null,'model':{'type':'Unigram','unk_id':0,'vocab':["
        "['<unk>',0],['\xe2\x96\x81',-2.012292861938477],['-',-5.129043102264404],"
        "['\xe2\x96\x81--',-9.931743621826172],['---',-12.130167007446287]]}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "----", "1 2 4");
    hub_is(&b.k, "-------", "1 4 4 2");
    hub_is(&b.k, "----------------", "1 4 4 2 4 4 4");
    hub_again(&b.k);
    free(b.mem);
}

/* Blobs with a right sum and a byte that is another. */
static void hub_put_sum(unsigned char *copy, size_t size)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i + 4 < size; i++) h = (h ^ copy[i]) * UINT64_C(0x100000001b3);
    h ^= h >> 32;
    for (size_t i = 0; i < 4; i++) copy[size - 4 + i] = (unsigned char)(h >> 8*i);
}
static size_t hub_other_sum(unsigned char *copy, size_t size)
{
    const tfn_tokenizer_source s = hub_of_blob(copy, size);
    hub_put_sum(copy, size);
    return hub_accepted(&s);
}

/* A blob whose decoder or suffix differs from its rules is refused. */
TEST(hub_blob_decoder)
{
    hub_box b = hub_quoted(hub_small_files[0]);
    size_t size;
    size_t at = 0;
    int differs = 0;
    unsigned char *blob = hub_blob(&b.k, &size);
    while (at + 5 < size && memcmp(blob + at, "</w>", 5)) at++;         /* the suffix, with its zero */
    CHECK(at > 12 && at + 5 < size);
    for (size_t n = at - 12; n < at + 4; n++)
        for (int bit = 0; bit < 8; bit++) {
            char message[300];
            tfn_tokenizer_source s;
            hub_box c;
            blob[n] ^= (unsigned char)(1 << bit);
            hub_put_sum(blob, size);
            s = hub_of_blob(blob, size);
            c = hub_make(&s);
            tfn_error_text(&c.k.error, message, sizeof message);
            if (strstr(message, "the decoder differs from the rules")) differs++;
            else if (n >= at) CHECK(c.status != TFN_OK);
            else if (c.status == TFN_OK) CHECK(c.k.decoder == b.k.decoder);
            free(c.mem);
            blob[n] ^= (unsigned char)(1 << bit);
        }
    CHECK(differs > 20);
    free(blob), free(b.mem);
}

/* A blob whose rules tokenizer.json could not have for its model is refused. */
TEST(hub_blob_rules)
{
    enum { KEPT = -1 };
    static const char bytes[] = "{'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Digits'},"
        "{'type':'ByteLevel','add_prefix_space':false}]},'decoder':{'type':'ByteLevel'},'model':{"
        "'type':'BPE','vocab':{'a':0,'b':1},'merges':[]}}";
    static const char characters[] = "{'pre_tokenizer':{'type':'Digits'},'decoder':{'type':'Fuse'},"
        "'model':{'type':'BPE','vocab':{'a':0,'b':1},'merges':[]}}";
    static const char words[] = "{'pre_tokenizer':{'type':'Digits'},'decoder':{'type':'WordPiece',"
        "'prefix':'##'},'model':{'type':'WordPiece','unk_token':'a','continuing_subword_prefix':'##',"
        "'vocab':{'a':0,'b':1}}}";
    static const struct { const char *name, *json, *from, *to; int kind, decoder; bool fits; }
    rows[] = {
        { "as written", bytes, "", "", KEPT, KEPT, true },
        { "as written", characters, "", "", KEPT, KEPT, true },
        { "as written", words, "", "", KEPT, KEPT, true },
        { "another split", bytes, "Digits", "Digit5", KEPT, KEPT, false },
        { "no decoder", bytes, "{\"type\":\"ByteLevel\"}}", "                null}", KEPT, KEPT, true },
        { "bytes not shown", bytes, "pretokenizers", "pretokenizer-", KEPT, KEPT, false },
        { "bytes as characters", bytes, "", "", TFN_TOKENIZER_CHARACTER_BPE, KEPT, false },
        { "bytes as words", bytes, "", "", TFN_TOKENIZER_WORDPIECE, KEPT, false },
        { "characters as bytes", characters, "", "", TFN_TOKENIZER_BPE, KEPT, false },
        { "characters decoded as bytes", characters, "\"decoder\":{\"type\":\"Fuse\"}",
          "\"decoder\":{\"type\":\"Byte\"}", KEPT, 0, false },
        { "another prefix", words, "##", "#-", KEPT, KEPT, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hub_box b = hub_quoted(rows[i].json), c;
        const size_t n = strlen(rows[i].from);
        tfn_tokenizer_source s;
        unsigned char *blob;
        size_t size;
        int32_t at = 0;
        CASE("row %d, %s", (int)i, rows[i].name);
        if (b.status != TFN_OK || !b.k.rules) { FAIL("no rules"); continue; }
        while (at + (int32_t)n < b.k.rule_bytes && memcmp(b.k.rules + at, rows[i].from, n)) at++;
        CHECK(at + (int32_t)n <= b.k.rule_bytes && strlen(rows[i].to) == n);
        memcpy(b.k.rules + at, rows[i].to, n);
        if (rows[i].kind != KEPT) b.k.kind = (tfn_tokenizer_kind)rows[i].kind;
        if (rows[i].decoder != KEPT) b.k.decoder = rows[i].decoder;
        blob = hub_blob(&b.k, &size);
        s = hub_of_blob(blob, size);
        c = hub_make(&s);
        CHECK_INT(c.status == TFN_OK, rows[i].fits);
        if (c.status == TFN_OK) hub_again(&c.k);
        free(blob), free(b.mem), free(c.mem);
    }
}

/* A blob of Unigram needs scores. */
TEST(hub_blob_scores)
{
    hub_box b = hub_quoted("{'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81'},'model':{"
                           "'type':'BPE','unk_token':'<u>','vocab':{'<u>':0,'a':1},'merges':[]}}");
    size_t size;
    unsigned char *blob = hub_blob(&b.k, &size);
    const tfn_tokenizer_source s = hub_of_blob(blob, size);
    char message[300];
    hub_box c;
    CHECK(b.status == TFN_OK && blob[8] == TFN_TOKENIZER_CHARACTER_BPE);
    blob[8] = TFN_TOKENIZER_UNIGRAM;
    hub_put_sum(blob, size);
    c = hub_make(&s);
    if (!strstr(tfn_error_text(&c.k.error, message, sizeof message), "scores is expected"))
        FAIL("says %s", message);
    free(blob), free(b.mem), free(c.mem);
}

/* Every byte of the small files, and of their blobs, is another: read or refused. */
TEST(hub_small_bad_files)
{
    static const unsigned char others[] = { '"', '\\', '{', '}', '[', ']', '0', '-', 'e', ' ', ',',
                                            1, 0xff, '9', 'u', 't' };
    static const unsigned char bits[] = { 1, 2, 4, 8, 16, 32, 64, 128, 255 };
    const size_t step = getenv("TEST_EVERY") ? 1 : 8;
    hub_digest = DIGEST_BEGIN;
    for (int i = 0; i < HUB_SMALL_FILES; i++) {
        hub_box b = hub_quoted(hub_small_files[i]);
        size_t size;
        size_t accepted = 0;
        char text[4000];
        unsigned char *blob;
        CASE("small file %d", i);
        if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, text, sizeof text));
        strcpy(text, hub_small_files[i]);
        hub_quote(text);
        for (size_t n = 0; n < strlen(hub_small_files[i]); n++)
            for (size_t j = n % step; j < sizeof others; j += step) {
                char *copy = (char *)malloc(strlen(text));
                const tfn_tokenizer_source s = hub_json(copy, strlen(text));
                memcpy(copy, text, strlen(text));
                copy[n] = (char)others[j];
                accepted += hub_accepted(&s);
                free(copy);
            }
        CHECK(accepted > 0);
        blob = hub_blob(&b.k, &size);
        accepted = 0;
        for (size_t n = 0; n + 4 < size; n++)
            for (size_t j = n % 3; j < sizeof bits; j += step / 4 + 1) {
                unsigned char *copy = (unsigned char *)malloc(size);
                memcpy(copy, blob, size);
                copy[n] ^= bits[j];
                accepted += hub_other_sum(copy, size);
                free(copy);
            }
        CHECK(accepted > 0);
        for (int more = 7; more < 9; more++) {      /* the last that an int32_t has, and one more */
            unsigned char copy[] = "tfntok1\n\0\xff\xff\xff\xff\7\0\0\0\0";
            copy[13] = (unsigned char)more;
            CHECK(!hub_other_sum(copy, sizeof copy - 1));
        }
        free(blob), free(b.mem);
    }
    hub_digest_is(0x4aff638cu);
}

TEST(hub_bad_blobs)
{
    hub_digest = DIGEST_BEGIN;
    hub_bad_blob(HUB_OPT);
    hub_bad_blob(HUB_BERT);
    hub_bad_blob(HUB_GEMMA);
    hub_bad_blob(HUB_XLMR);
    hub_digest_is(0xf1e7243bu);
}

/* Hangul: a leading consonant and a vowel compose, then a trailing consonant. Old letters, and
 * letters after a complete syllable, do not. */
TEST(hub_hangul)
{
    static const struct { const char *from, *to; } rows[] = {
        { "\xe1\x84\x80\xe1\x85\xa1", "\xea\xb0\x80" },      /* U+1100 U+1161: U+AC00 */
        { "\xe1\x84\x92\xe1\x85\xb5", "\xed\x9e\x88" },      /* the last of each: U+D788 */
        { "\xea\xb0\x80\xe1\x87\x82", "\xea\xb0\x9b" },      /* U+AC00 U+11C2: U+AC1B */
        { "\xe1\x84\x93\xe1\x85\xa1", NULL },                 /* U+1113, an old consonant */
        { "\xe1\x84\x80\xe1\x85\xb6", NULL },                 /* U+1176, an old vowel */
        { "\xe1\x84\x80\xcc\x81", NULL }, { "\xe1\x84\x80\xe1\x85\xa0", NULL },
        { "\xea\xb0\x80\xe1\x86\xa7", NULL },                 /* U+11A7, no consonant */
        { "\xea\xb0\x80\xe1\x87\x83", NULL },                 /* U+11C3, an old consonant */
        { "\xea\xb0\x81\xe1\x86\xa8", NULL },                 /* it has a trailing one */
        { "\xed\x9e\xb0\xe1\x86\xa8", NULL },                 /* U+D7B0, an old vowel */
        { "\xea\xb0\x80\xcc\x81", NULL },
        { "\xe1\x84\x80\xe2\x83\x90", NULL }, { "\xea\xb0\x80\xe2\x83\x90", NULL },  /* U+20D0 */
        { "\xef\xab\x8f", "\xf0\xa2\xa1\x8a" },              /* U+FACF: its form has four bytes */
    };
    hub_box b = hub_file(HUB_QWEN2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *wanted = rows[i].to ? rows[i].to : rows[i].from;
        char text[40];
        int32_t ids[40];
        const ptrdiff_t n = tfn_tokenizer_encode(&b.k, ids, 40, rows[i].from, strlen(rows[i].from));
        const size_t bytes = tfn_tokenizer_decode(&b.k, text, sizeof text, ids, n);
        CASE("row %d", (int)i);
        CHECK_INT(bytes, strlen(wanted));
        if (bytes == strlen(wanted)) CHECK(!memcmp(text, wanted, bytes));
    }
    free(b.mem);
}

/* SentencePiece's table replaces whole clusters of characters: CR LF, joined characters, combining
 * marks. Both texts of a row have the same ids; consecutive unknown characters are one id. */
TEST(hub_clusters)
{
    static const char *const rows[][2] = {
        { "the\r\nthe", "the the" }, { "the\rthe", "the the" }, { "the\r", "the" },
        { "the\xe2\x80\x8dthe", "the\xe2\x98\x83the" }, { "e\xcc\x81", "\xc3\xa9" },
        { "the\xe2\x80\x8d\xff", "the\xe2\x80\x8d" },
        { "the\xe2\x80\x8d\x01", "the\xe2\x80\x8d" },
        { "e\xd8\x80the", "e\xd8\x80the" }, { "the\xd8\x80\x01the", "the\xd8\x80the" },
        { "the\xd8\x80\xff", "the\xd8\x80" }, { "\xd8\x80\xcc\x81the", "\xd8\x80" "\xd8\x80the" },
        { "e\xff", "e\xef\xbf\xbd" }, { "\xe2\x80\x8c\xcc\x81the", "\xe2\x80\x8d\xcc\x81the" },
        { "e\xe1\x80\xb8", "e\xe1\x80\xb9" }
    };
    hub_box b = hub_file(HUB_T5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t x[40], y[40];
        const ptrdiff_t n = tfn_tokenizer_encode(&b.k, x, 40, rows[i][0], strlen(rows[i][0]));
        CASE("row %d", (int)i);
        CHECK_INT(tfn_tokenizer_encode(&b.k, y, 40, rows[i][1], strlen(rows[i][1])), n);
        CHECK_BITS(x, y, (size_t)n * sizeof *x);
    }
    free(b.mem);
}

/* A trainer has priority over a blob, and a blob over files, which then are not read. */
TEST(hub_source_order)
{
    static unsigned char room[1 << 16];
    hub_box b = hub_quoted(hub_small_files[1]), c;
    tfn_tokenizer_desc d;
    tfn_tokenizer_source s;
    tfn_trainer t;
    size_t size;
    unsigned char *blob = hub_blob(&b.k, &size);
    CHECK_INT(b.status, TFN_OK);
    s = hub_of_blob(blob, size);
    s.json = "{";
    s.json_size = 1;
    c = hub_make(&s);
    CHECK(c.status == TFN_OK && c.k.vocab == b.k.vocab);
    free(c.mem);
    memset(&d, 0, sizeof d);
    d.kind = TFN_TOKENIZER_WORDS;
    d.words = 32;
    tfn_trainer_init(&t, &d, room, sizeof room);
    tfn_trainer_add(&t, "a b c", 5);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    s.trainer = &t;
    for (int i = 0; i < 2; i++) {
        c = hub_make(&s);
        CHECK(c.status == TFN_OK && c.k.kind == TFN_TOKENIZER_WORDS);
        CHECK(c.k.vocab != b.k.vocab);
        free(c.mem);
        s.blob = NULL;
        s.blob_size = 0;
    }
    free(blob), free(b.mem);
}

/* A model of SentencePiece with </s> after a text; Marian's without it, and with a token that only
 * begins like a language. */
TEST(hub_model_ends)
{
    hub_box a = hub_file(HUB_T5), b;
    int32_t map[2000];
    char *at;
    tfn_tokenizer_source s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    s.begin = false;
    s.end = true;
    b = hub_make(&s);
    CHECK(b.status == TFN_OK && b.k.begins == 0 && b.k.ends == 1 && b.k.frame[0] == 2);
    free(b.mem);
    hub_write_vocab(&a.k, 5, map);
    at = strstr(hub_vocab, ">>fra<<");
    if (at) memcpy(at, ">>fra>>", 7);
    s.vocab = hub_vocab;
    s.vocab_size = strlen(hub_vocab);
    s.end = false;
    b = hub_make(&s);
    CHECK(at && b.status == TFN_OK && b.k.begins == 0 && b.k.ends == 0);
    CHECK(tfn_tokenizer_encode_specials(&b.k, map, 9, ">>fra>>", 7) > 1);
    free(b.mem), free(a.mem);
}

/* An error in a small file, in one place after another. */
TEST(hub_small_refused)
{
    static const struct { const char *json, *says; } rows[] = {
        { "{'added_tokens':[{'id':1,'content':'b'}],'model':{'type':'WordLevel','unk_token':'a',"
          "'vocab':{'a':-1}}}", "the vocabulary is wrong at byte" },
        { "{'added_tokens':[{'id':0,'content':'b','single_word':true}],'pre_tokenizer':{'type':"
          "'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'a','vocab':{'a':0}}}",
          "the token that the vocabulary has is expected" },
        { "{'x':[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}", "less depth is expected" },
        { "{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':{'x':"
          "1}}}}}}}}}}}}}}}}}}", "less depth is expected" },
        { "{'x':'\\ud83d\\uffff'}", "a pair of surrogates is expected" },
        { "{'x':'\\ud83d\\u0041'}", "a pair of surrogates is expected" },
        { "{'x':'\\ude00'}", "a pair of surrogates is expected" },
        { "{'pre_tokenizer':{'type':'WhitespaceSplit'},'decoder':{'type':'BPEDecoder','suffix':'x'},"
          "'model':{'type':'BPE','end_of_word_suffix':'a\\u0000b','vocab':{'a':0},'merges':[]}}",
          "end_of_word_suffix" },
        { "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Precompiled',"
          "'precompiled_charsmap':''},{'type':'Precompiled','precompiled_charsmap':''}]},"
          "'pre_tokenizer':{'type':'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'a',"
          "'vocab':{'a':0}}}", "normalizer Precompiled with these values" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hub_box b = hub_quoted(rows[i].json);
        char message[300];
        tfn_error_text(&b.k.error, message, sizeof message);
        CASE("row %d", (int)i);
        if (b.status == TFN_OK || !strstr(message, rows[i].says)) FAIL("says '%s'", message);
        free(b.mem);
    }
}

/* Id 0 is an ordinary one: of a byte, a word, a merged token, a part of a word, an unknown one, and a
 * piece that is a token together with the space in front of the text. */
TEST(hub_id_0)
{
#define HUB_MARKED "{'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81'}," \
                   "'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81'},'model':"
#define HUB_SPLIT "{'pre_tokenizer':{'type':'WhitespaceSplit'},'model':"
#define HUB_SPACED "{'decoder':{'type':'ByteLevel'},'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':"
#define HUB_BYTES "{'decoder':{'type':'Sequence','decoders':[{'type':'Replace','pattern':{'String':'\xe2\x96\x81'}," \
                  "'content':' '},{'type':'ByteFallback'},{'type':'Fuse'}]},'model':{'type':'BPE','unk_token':'<u>'," \
                  "'byte_fallback':true,'fuse_unk':true,"
    static const struct { const char *json, *text, *ids; } rows[] = {
        { HUB_BYTES "'vocab':{'<0xC3>':0,'<0xA9>':1,'<u>':2,'a':3},'merges':[]}}", "a\xc3\xa9", "3 0 1" },
        { HUB_BYTES "'vocab':{'<0xA9>':0,'<0xC3>':1,'<u>':2,'a':3},'merges':[]}}", "\xc3\xa9" "a", "1 0 3" },
        { HUB_BYTES "'vocab':{'<0xA9>':0,'<0xC3>':1,'<u>':2},'merges':[]}}", "\xc3\xa8", "2" },
        { HUB_SPLIT "{'type':'WordLevel','unk_token':'u','vocab':{'a':0,'u':1}}}", "a b a", "0 1 0" },
        { HUB_SPLIT "{'type':'WordLevel','unk_token':'u','vocab':{'u':0,'a':1}}}", "a b a", "1 0 1" },
        { HUB_SPLIT "{'type':'BPE','unk_token':'u','vocab':{'ab':0,'a':1,'b':2,'u':3},'merges':['a b']}}",
          "ab ba", "0 2 1" },
        { HUB_SPLIT "{'type':'BPE','unk_token':'u','vocab':{'u':0,'a':1,'b':2},'merges':[]}}", "axb", "1 0 2" },
        { HUB_SPLIT "{'type':'WordPiece','unk_token':'u','continuing_subword_prefix':'##',"
          "'max_input_chars_per_word':9,'vocab':{'a':0,'##b':1,'u':2}}}", "ab a ba", "0 1 0 2" },
        { HUB_SPLIT "{'type':'WordPiece','unk_token':'u','continuing_subword_prefix':'##',"
          "'max_input_chars_per_word':9,'vocab':{'##b':0,'a':1,'u':2}}}", "ab a ba", "1 0 1 2" },
        { HUB_SPACED "true},'model':{'type':'BPE','ignore_merges':true,'vocab':{'\\u0120aa':0,'a':1,'\\u0120':2,"
          "'\\u0120a':3,'aa':4},'merges':[]}}", "aa a aa", "0 3 0" },
        { HUB_SPACED "false},'model':{'type':'BPE','ignore_merges':true,'vocab':{'\\u0120aa':0,'a':1,'\\u0120':2,"
          "'\\u0120a':3,'aa':4},'merges':[]}}", "aa a aa", "4 3 0" },
        { HUB_SPACED "false},'model':{'type':'BPE','end_of_word_suffix':'</w>','vocab':{'a':0,'a</w>':1,"
          "'\\u0120':2},'merges':[]}}", "a aa", "1 2 0 1" },
        { HUB_SPACED "true},'model':{'type':'BPE','ignore_merges':false,'vocab':{'\\u0120aa':0,'a':1,'\\u0120':2,"
          "'\\u0120a':3,'aa':4},'merges':[]}}", "aa a", "2 1 1 2 1" },
        { HUB_MARKED "{'type':'Unigram','unk_id':1,'vocab':[['a',-1],['u',0],['\xe2\x96\x81',-1]]}}", "aba",
          "2 0 1 0" },
        { HUB_MARKED "{'type':'Unigram','unk_id':2,'vocab':[['\xe2\x96\x81',-1],['a',-1],['u',0]]}}", "aba",
          "0 1 2 1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hub_box b = hub_quoted(rows[i].json);
        char message[300];
        CASE("row %d", (int)i);
        if (b.status == TFN_OK) hub_is(&b.k, rows[i].text, rows[i].ids);
        else FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
        if (b.status == TFN_OK) hub_again(&b.k);
        free(b.mem);
    }
#undef HUB_MARKED
#undef HUB_SPLIT
#undef HUB_SPACED
#undef HUB_BYTES
}

/* A piece of 128 bytes is merged on the stack. A longer one needs working memory after the ids. */
TEST(hub_short_pieces)
{
    hub_box b = hub_quoted("{'pre_tokenizer':{'type':'WhitespaceSplit'},'model':{'type':'BPE',"
                           "'unk_token':'u','vocab':{'aa':0,'a':1,'u':2},'merges':['a a']}}");
    char text[130];
    int32_t ids[65];
    memset(text, 'a', 130);
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 64, text, 128), 64);
    CHECK(tfn_tokenizer_encode(&b.k, ids, 65, text, 130) > 65);
    free(b.mem);
}

/* With ignore_merges and without a pre_tokenizer, a whole text that is a token gives this token. */
TEST(hub_whole_text)
{
    hub_box b = hub_quoted("{'normalizer':{'type':'Prepend','prepend':'\xe2\x96\x81'},'decoder':{"
        "'type':'Sequence','decoders':[{'type':'Replace','pattern':{'String':'\xe2\x96\x81'},"
        "'content':' '},{'type':'ByteFallback'},{'type':'Fuse'},{'type':'Strip','content':' ','start':1,"
        "'stop':0}]},'model':{'type':'BPE','ignore_merges':true,'unk_token':'<u>','fuse_unk':true,"
        "'byte_fallback':true,'vocab':{'<u>':0,'a':1,'b':2,'\xe2\x96\x81':3,"
        "'\xe2\x96\x81" "ab':4},'merges':[]}}");
    char message[300];
    if (b.status != TFN_OK) FAIL("%s", tfn_error_text(&b.k.error, message, sizeof message));
    hub_is(&b.k, "ab", "4");
    hub_is(&b.k, "aba", "3 1 2 1");
    free(b.mem);
}

/* A piece that is longer than any token and begins with an added space, and a long word that ends with
 * an unknown letter. */
TEST(hub_long_pieces)
{
    enum { LETTERS = 1000 };
    static const char *const json[] = {
        "{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':true},'decoder':{'type':'ByteLevel'},"
        "'model':{'type':'BPE','ignore_merges':true,'vocab':{'\\u0120a':0,'a':1,'\\u0120':2},'merges':[]}}",
        "{'pre_tokenizer':{'type':'WhitespaceSplit'},'model':{'type':'BPE','unk_token':'u',"
        "'vocab':{'aa':0,'a':1,'c':2,'u':3},'merges':['a a']}}"
    };
    static char text[LETTERS + 2];
    static int32_t ids[8 * LETTERS];
    memset(text, 'a', LETTERS);
    for (int which = 0; which < 2; which++) {
        const int32_t first = which ? 0 : 2, others = which ? 0 : 1;
        const ptrdiff_t count = which ? LETTERS / 2 + 1 : LETTERS + 1;
        hub_box b = hub_quoted(json[which]);
        CASE("%s", which ? "an unknown letter" : "a space");
        CHECK_INT(b.status, TFN_OK);
        text[LETTERS] = which ? 'x' : 0;
        CHECK_INT(hub_encoded(&b.k, text, ids, 8 * LETTERS), count);
        CHECK_INT(ids[0], first);
        for (ptrdiff_t i = 1; i < count - which; i++)
            if (ids[i] != others) FAIL("token %d is %d", (int)i, (int)ids[i]);
        if (which) CHECK_INT(ids[count - 1], 3);
        free(b.mem);
    }
}

/* Characters next to the surrogates, and scores near 0: one underflows, the others are exact. */
TEST(hub_small_values)
{
    hub_box b = hub_quoted("{'added_tokens':[{'id':9,'content':''}],'normalizer':{'type':'Nmt'},'pre_tokenizer':{'type':"
        "'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'u','vocab':{'u':0,'\\uffff':1,"
        "'\\ud7ff':2,'\\ue000':3,'a\\u0000b':4}}}");
    int32_t id = -1;
    char json[600];
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(b.k.vocab, 5);                    /* the added token is empty */
    hub_is(&b.k, "\xef\xbf\xbf \xed\x9f\xbf \xee\x80\x80 a", "1 2 3 0");
    CHECK(tfn_tokenizer_encode(&b.k, &id, 1, "a\0b", 3) == 1 && id == 4);
    free(b.mem);
    b = hub_quoted("{'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':"
        "'never'},'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':'never'},"
        "'model':{'type':'Unigram','unk_id':0,'vocab':[['<u>',0],['a',-1e-123456789],['b',-2],"
        "['c',-1.7e-24],['d',-4.7e-25]]}}");
    CHECK_INT(b.status, TFN_OK);
    CHECK(b.status != TFN_OK || !(b.k.score[1] < 0));
    CHECK(b.status != TFN_OK || (b.k.score[3] - -1.7e-24 == 0 && b.k.score[4] - -4.7e-25 == 0));
    hub_is(&b.k, "abe", "1 2 0");
    free(b.mem);
    sprintf(json, "{'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':"
            "'never'},'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':"
            "'never'},'model':{'type':'Unigram','unk_id':0,'vocab':[['<u>',0],['%0130d',-3]]}}", 0);
    b = hub_quoted(json);                       /* a token of 130 zeros, longer than a short piece */
    CHECK_INT(b.status, TFN_OK);
    sprintf(json, "%0130d", 0);
    hub_is(&b.k, json, "1");
    hub_is(&b.k, json + 1, "0");
    free(b.mem);
}

/* Bytes that are no tokens become one unknown token, or one each; a token whose own bytes are
 * unknown is never found. A long word is merged in blocks: the name of the unknown token is not split
 * into symbols again. */
TEST(hub_unknown_bytes)
{
    for (int fuse = 0; fuse < 2; fuse++) {
        char json[600], text[1002], wanted[4000] = "1";
        hub_box b;
        sprintf(json, "{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},'decoder':{'type':"
                "'ByteLevel'},'model':{'type':'BPE','unk_token':'<u>','fuse_unk':%s,'vocab':{'<u>':0,"
                "'a':1,'b':2,'yz':3,'u':4,'ab':5},'merges':['a b']}}", fuse ? "true" : "false");
        b = hub_quoted(json);
        CASE("fuse_unk %d", fuse);
        CHECK_INT(b.status, TFN_OK);
        hub_is(&b.k, "axxa", fuse ? "1 0 1" : "1 0 0 1");
        hub_is(&b.k, "yz", fuse ? "0" : "0 0");
        memset(text, 'a', 400);
        text[400] = 0;
        for (int i = 0; i < 399; i += 3) memcpy(text + i, "xab", 3);
        *wanted = 0;
        for (int i = 0; i < 399; i += 3) strcat(wanted, "0 5 ");
        hub_is(&b.k, text, strcat(wanted, "1"));
        hub_again(&b.k);
        free(b.mem);
    }
    for (int merged = 0; merged < 2; merged++) {        /* a merge gives the unknown token */
        char json[600], text[502], wanted[4000] = "";
        hub_box b;
        sprintf(json, "{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'use_regex':false},"
                "'decoder':{'type':'ByteLevel'},'model':{'type':'BPE','unk_token':'<u>',"
                "'vocab':{'<u>':0,'<':1,'u':2,'>':3,'a':4,'<u':5},'merges':['< u'%s]}}",
                merged ? ",'<u >'" : "");
        b = hub_quoted(json);
        CASE("merged %d", merged);
        CHECK_INT(b.status, TFN_OK);
        for (int i = 0; i < 500; i += 5) memcpy(text + i, "xa<u>", 5);
        text[500] = 0;
        for (int i = 0; i < 100; i++) strcat(wanted, merged ? "0 4 0 " : "0 4 5 3 ");
        wanted[strlen(wanted) - 1] = 0;
        hub_is(&b.k, text, wanted);
        free(b.mem);
    }
    for (int side = 0; side < 2; side++) {              /* the unknown token is part of a merge */
        char json[600], text[402], wanted[4000] = "";
        hub_box b;
        sprintf(json, "{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'use_regex':false},"
                "'decoder':{'type':'ByteLevel'},'model':{'type':'BPE','unk_token':'<u>',"
                "'vocab':{'<u>':0,'a':1,'%s':2},'merges':['%s']}}", side ? "a<u>" : "<u>a",
                side ? "a <u>" : "<u> a");
        b = hub_quoted(json);
        CASE("part %d", side);
        CHECK_INT(b.status, TFN_OK);
        for (int i = 0; i < 400; i += 2) memcpy(text + i, side ? "ax" : "xa", 2);
        text[400] = 0;
        for (int i = 0; i < 200; i++) strcat(wanted, "2 ");
        wanted[strlen(wanted) - 1] = 0;
        hub_is(&b.k, text, wanted);
        free(b.mem);
    }
}

/* A character after the last one with a compatibility form, and one whose form has a form itself.
 * BERT's normalizer drops invalid bytes even without clean_text. */
TEST(hub_ends_of_tables)
{
    static const char whole[] = "{'type':'WhitespaceSplit'}";
    hub_cut("{'type':'NFKC'}", whole, "\xf0\xa0\x80\x80", "\xf0\xa0\x80\x80");
    hub_cut("{'type':'NFKC'}", whole, "a\xe2\x80\x80" "b", "a|b");       /* U+2000 is a space */
    hub_cut("{'type':'BertNormalizer','clean_text':false,'handle_chinese_chars':true,"
            "'strip_accents':null,'lowercase':true}", whole, "A\xff" "b c", "ab|c");
}

/* Parts in an order that flags cannot express are compiled to steps. */
TEST(hub_parts_to_steps)
{
    static const char bloom[] = " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81\xe0\xa5\xa4\xdb\x94\xd8\x8c])]+";
    char cutter[300];
    hub_box b;
    for (int i = 0; i < 3; i++) {           /* of BLOOM's expression the rest is another piece, or removed */
        static const char *const behavior[] = { "Isolated", "Removed", "MergedWithNext" };
        static const char *const pieces[] = { "a|.| b|!", "a| b", "a.| b!" };
        sprintf(cutter, "{'type':'Split','behavior':'%s','invert':%s,'pattern':{'Regex':", behavior[i],
                i == 1 ? "true" : "false");
        hub_put_string(cutter, bloom, strlen(bloom));
        strcat(cutter, "}}");
        CASE("%s", behavior[i]);
        hub_cut("null", cutter, "a. b!", pieces[i]);
    }
    hub_cut("{'type':'Replace','pattern':{'String':'\xef\xbf\xbd'},'content':'x'}", "{'type':'WhitespaceSplit'}",
            "a\xef\xbf\xbd b", "ax|b");
    hub_cut("{'type':'Replace','pattern':{'String':'a'},'content':''}", "{'type':'WhitespaceSplit'}", "aa", "");
    hub_cut("{'type':'Sequence','normalizers':[{'type':'Replace','pattern':{'String':'\xef\xbf\xbd'},'content':"
            "'\xef\xbf\xbd'},{'type':'Replace','pattern':{'Regex':'(?<![\\\\s\\\\S]) +|[ \xe2\x96\x81]+(?![\\\\s\\\\S])'},"
            "'content':'x'}]}", "{'type':'WhitespaceSplit'}", "  a ", "xax");
    hub_cut("{'type':'Replace','pattern':{'String':' '},'content':'\xe2\x96\x81'}",
            "{'type':'Split','pattern':{'String':'x'},'behavior':'Removed'}", "a bxc", "a\xe2\x96\x81" "b|c");
    CHECK(!strcmp(hub_small("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
                            "{\"Regex\":\"b\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                            "\"use_regex\":false}]}", "aba"), "_a_b_a"));
    CHECK(!strcmp(hub_small("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
                            "\"add_prefix_space\":false,\"use_regex\":false},{\"type\":\"BertPreTokenizer\"}]}",
                            "ab ab"), "B_B"));
    CASE("a space in a token of a merge");
    b = hub_quoted("{'model':{'type':'BPE','vocab':{'a':0,' ':1,'b':2,'a ':3,'a b':4},"
                   "'merges':[['a',' '],['a ','b']]}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "a ba", "4 0");
    free(b.mem);
    CASE("a word that is a token, although no merge gives it");
    b = hub_quoted("{'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':"
                   "'never','split':true},'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81',"
                   "'prepend_scheme':'never'},'model':{'type':'BPE','ignore_merges':true,'vocab':"
                   "{'a':0,'b':1,'\xe2\x96\x81':2,'ab':3,'\xe2\x96\x81" "aba':4},'merges':['a b']}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "ab aba aab", "3 4 2 0 3");
    free(b.mem);
    CASE("a long token of characters");
    {
        static char json[6000], text[700];
        char as[513];
        int n = sprintf(json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0");
        tfn_tokenizer_source s;
        memset(as, 'a', sizeof as);
        memset(text, 'a', 600);
        for (int k = 2, id = 1; k <= 512; k *= 2, id++)
            n += sprintf(json + n, ",\"%.*s\":%d", k, as, id);
        n += sprintf(json + n, "},\"merges\":[");
        for (int k = 1; k < 512; k *= 2)
            n += sprintf(json + n, "%s\"%.*s %.*s\"", k > 1 ? "," : "", k, as, k, as);
        n += sprintf(json + n, "]}}");
        s = hub_json(json, (size_t)n);
        b = hub_make(&s);
        CHECK_INT(b.status, TFN_OK);
        hub_is(&b.k, text, "9 6 4 3");
        text[512] = 0;
        hub_is(&b.k, text, "9");
        free(b.mem);
    }
    CASE("no type: a prefix alone means WordPiece");
    b = hub_quoted("{'pre_tokenizer':{'type':'BertPreTokenizer'},'decoder':{'type':'WordPiece','prefix':"
                   "'##','cleanup':true},'model':{'unk_token':'[UNK]','continuing_subword_prefix':'##',"
                   "'vocab':{'[UNK]':0,'a':1,'##b':2}}}");
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(b.k.kind, TFN_TOKENIZER_WORDPIECE);
    hub_is(&b.k, "ab ba", "1 2 0");
    free(b.mem);
}

/* Makes a tokenizer with a table of replacements, in which "a" leads to a unit with this value: the
 * offset of the replacement. The only replacement, at offset 0, is `to`. */
static hub_box hub_table(const char *digits, unsigned leaf, unsigned value, const char *to)
{
    static char json[3000], text[2000];
    unsigned char map[500] = { 0 };
    const size_t bytes = 4 + 4*98 + strlen(to) + 1;
    size_t n = 0;
    const unsigned units[][2] = { { 0, 98*4 }, { 1 + 'a', 'a' | 0x100 | leaf << 10 }, { 1 + 96, value } };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) map[4*units[i][0] + (unsigned)k] = (unsigned char)(units[i][1] >> 8*k);
    strcpy((char *)map + 4 + 4*98, to);
    for (size_t i = 0; i < bytes; i += 3) {
        const unsigned x = (unsigned)map[i] << 16 | (unsigned)map[i + 1] << 8 | map[i + 2];
        for (int k = 18; k >= 0; k -= 6) text[n++] = digits[x >> k & 63];
    }
    text[n] = 0;
    snprintf(json, sizeof json, "{'normalizer':{'type':'Precompiled','precompiled_charsmap':'%s'},'pre_tokenizer':"
             "{'type':'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':'never'},'decoder':{'type':"
             "'Metaspace','replacement':'\xe2\x96\x81','prepend_scheme':'never'},'model':{'type':'Unigram',"
             "'unk_id':0,'vocab':[['<u>',0],['a',-2],['b',-3],['\xe2\x96\x81',-1]]}}", text);
    return hub_quoted(json);
}

TEST(hub_tables)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const struct { unsigned leaf, value; const char *ids; } rows[] = {
        { 1, 0, "2 3 2" },                          /* "a" becomes "b" */
        { 1, 0x7fffff, "1 3 2" },                   /* its text is beyond the table */
        { 5000, 0, "1 3 2" }                        /* its unit is beyond the table */
    };
    char other[65], message[300];
    hub_box b;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        b = hub_table(digits, rows[i].leaf, rows[i].value, "b");
        CASE("row %d", (int)i);
        CHECK_INT(b.status, TFN_OK);
        hub_is(&b.k, "a b", rows[i].ids);
        free(b.mem);
    }
    b = hub_quoted("{'normalizer':{'type':'Precompiled','precompiled_charsmap':'A\xc5\x81" "AA'},'pre_tokenizer':"
                   HUB_META "},'decoder':" HUB_META "},'model':{'type':'Unigram','unk_id':0,'vocab':[['<u>',0]]}}");
    tfn_error_text(&b.k.error, message, sizeof message);    /* U+0141: its last byte is that of A */
    if (b.status == TFN_OK || !strstr(message, "is not base64")) FAIL("says '%s'", message);
    free(b.mem);
    strcpy(other, digits);
    CHECK(strlen(other) == 64);
}

/* Unusual tokens: extreme scores, empty tokens, two special tokens with one name (the first is
 * found), and added tokens with the name of a byte. */
TEST(hub_odd_tokens)
{
    tfn_tokenizer_source s;
    int32_t ids[9];
    char text[100];
    size_t size;
    unsigned char *blob;
    hub_box c, b = hub_quoted("{'pre_tokenizer':" HUB_META "},'decoder':" HUB_META "},'model':{'type':'Unigram',"
        "'unk_id':0,'unk_token':'a','vocab':[['<u>',0],['a',-2],['b',-1]]}}");
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(b.k.special[TFN_SPECIAL_UNK], 0);     /* by unk_id alone */
    hub_is(&b.k, "b", "0 2");
    free(b.mem);
    CASE("a score beyond what digits are written for");
    b = hub_quoted("{'pre_tokenizer':" HUB_META "},'decoder':" HUB_META "},'model':{'type':'Unigram',"
                   "'unk_id':0,'vocab':[['<u>',0],['a',-2],['',-9e29],['b',-1]]}}");
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    free(b.mem);
    CASE("a score that is no quotient of a whole number and a power of ten");
    b = hub_quoted("{'pre_tokenizer':" HUB_META "},'decoder':" HUB_META "},'model':{'type':'Unigram',"
                   "'unk_id':0,'vocab':[['<u>',0],['a',-2],['b',-1]]}}");
    CHECK_INT(b.status, TFN_OK);
    b.k.score[1] = -3.8525934427437654;
    {
        char *json = hub_written(&b.k, &size);
        s = hub_json(json, size);
        c = hub_make(&s);
        CHECK(c.status == TFN_OK && c.k.score[1] == b.k.score[1]);
        free(json), free(c.mem);
    }
    free(b.mem);
    CASE("an empty line");
    memset(&s, 0, sizeof s);
    s.kind = TFN_TOKENIZER_WORDPIECE;
    s.vocab = "[UNK]\n\na\n";
    s.vocab_size = strlen(s.vocab);
    b = hub_make(&s);
    tfn_error_text(&b.k.error, text, sizeof text);
    CHECK(b.status == TFN_BAD_FORMAT && strstr(text, "token 1 is empty"));
    free(b.mem);
    CASE("two of one name");
    memset(&s, 0, sizeof s);
    s.kind = TFN_TOKENIZER_BPE;
    s.vocab = "{\"<s>\": 0, \"<s>\": 1, \"a\": 2}";
    s.vocab_size = strlen(s.vocab);
    s.merges = "";
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    CHECK_INT(tfn_tokenizer_encode_specials(&b.k, ids, 9, "a<s>", 4), 2);
    CHECK(ids[0] == 2 && ids[1] == 0);
    free(b.mem);
    CASE("fuse without a meaning");
    b = hub_file(HUB_GPT2);
    blob = hub_blob(&b.k, &size);
    b.k.fuse = true;
    {
        size_t other;
        unsigned char *again = hub_blob(&b.k, &other);
        CHECK_INT(other, size);
        CHECK_BITS(blob, again, size);
        free(again);
    }
    free(blob);
    b.k.fuse = false;
    b.k.decoder |= TFN_DECODER_SPACES;
    blob = hub_blob(&b.k, &size);
    CHECK_INT(blob[6], '4');                        /* the last form */
    free(blob);
    b.k.decoder &= ~TFN_DECODER_SPACES;
    strcpy(b.k.suffix, "x");
    blob = hub_blob(&b.k, &size);
    CHECK_INT(blob[6], '4');
    free(blob);
    b.k.suffix[0] = 0;
    CHECK(tfn_tokenizer_json_text(&b.k, NULL, 0) > 0);
    {
        const int32_t end = tfn_tokenizer_find(&b.k, "<|endoftext|>", 13);
        CHECK(end >= 0);
        b.k.text[b.k.start[end]] = 0xff;            /* an added token that is not UTF-8 */
        CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    }
    free(b.mem);
    b = hub_file(HUB_T5);
    CHECK(tfn_tokenizer_json_text(&b.k, NULL, 0) > 0);
    b.k.flags[tfn_tokenizer_find(&b.k, "a", 1)] |= 1;   /* no text is encoded as it, but it is in the table */
    CHECK_INT(tfn_tokenizer_json_text(&b.k, NULL, 0), 0);
    free(b.mem);
    CASE("unknown bytes in a blob");
    b = hub_quoted("{'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},'decoder':{'type':'ByteLevel'},"
                   "'model':{'type':'BPE','unk_token':'<u>','vocab':{'<u>':0,'a':1},'merges':[]}}");
    CHECK_INT(b.status, TFN_OK);
    blob = hub_blob(&b.k, &size);
    s = hub_of_blob(blob, size);
    c = hub_make(&s);
    CHECK_INT(c.status, TFN_OK);
    hub_is(&c.k, "axa", "1 0 1");
    free(blob), free(c.mem), free(b.mem);
    CASE("all tokens are added");
    b = hub_quoted("{'added_tokens':[{'id':0,'content':'<m>','special':true}],'pre_tokenizer':{'type':'ByteLevel',"
                   "'add_prefix_space':false},'decoder':{'type':'ByteLevel'},'model':{'type':'BPE','vocab':{},"
                   "'merges':[]}}");
    CHECK_INT(b.status, TFN_OK);
    if (b.status == TFN_OK) {
        char *json = hub_written(&b.k, &size);
        CHECK(size > 0 && strstr(json, "\"vocab\":{}"));
        free(json);
    }
    free(b.mem);
    CASE("spaces in order, but no marks");
    b = hub_quoted("{'normalizer':{'type':'Replace','pattern':{'Regex':' {2,}'},'content':' '},'decoder':" HUB_META
                   "},'model':{'type':'Unigram','unk_id':0,'vocab':[['<u>',0],['a',-2],[' ',-3]]}}");
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "a   a", "1 2 1");
    hub_again(&b.k);
    free(b.mem);
    CASE("a byte's name in small letters");
    b = hub_quoted("{'pre_tokenizer':" HUB_META "},'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
                   "'pattern':{'String':'\xe2\x96\x81'},'content':' '},{'type':'ByteFallback'},{'type':'Fuse'}]},"
                   "'model':{'type':'BPE','unk_token':'<u>','byte_fallback':true,'fuse_unk':true,'vocab':{'<u>':0,"
                   "'<0x4A>':1,'<0x4a>':2},'merges':[]}}");
    CHECK_INT(b.status, TFN_OK);
    ids[0] = 1;
    ids[1] = 2;
    text[tfn_tokenizer_decode(&b.k, text, sizeof text - 1, ids, 2)] = 0;
    CHECK(!strcmp(text, "J<0x4a>"));
    b.k.byte_id['J'] = 0;               /* another token is this byte, which only a blob can have */
    text[tfn_tokenizer_decode(&b.k, text, sizeof text - 1, ids, 2)] = 0;
    CHECK(!strcmp(text, "<0x4A><0x4a>"));
    free(b.mem);
}

/* An added token that is also in the vocabulary takes no additional room. */
TEST(hub_added_room)
{
    size_t size[2];
    for (int id = 0; id < 2; id++) {
        char json[2000];
        hub_box b;
        sprintf(json, "{'added_tokens':[{'id':%d,'content':'%0*d'}],'pre_tokenizer':{'type':"
                "'WhitespaceSplit'},'model':{'type':'WordLevel','unk_token':'0','vocab':{'0':0,"
                "'%0500d':1}}}", id, id ? 500 : 1, 0, 0);
        b = hub_quoted(json);
        CHECK_INT(b.status, TFN_OK);
        CHECK_INT(b.k.vocab, 2);
        size[id] = b.size;
        free(b.mem);
    }
    CHECK_INT(size[1], size[0]);
}

/* Without a buffer, the count has room for all ids of the text in NFC. */
TEST(hub_counts)
{
    static char text[3001];
    static int32_t ids[20000];
    hub_box b = hub_file(HUB_QWEN2);
    ptrdiff_t most, n;
    for (int i = 0; i < 3000; i += 3) memcpy(text + i, "e\xcc\x81", 3);
    most = tfn_tokenizer_encode(&b.k, NULL, 0, text, 3000);
    n = tfn_tokenizer_encode(&b.k, ids, 20000, text, 3000);
    CHECK(n > 0 && most >= n && most <= 20000);
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, most, text, 3000), n);
    free(b.mem);
}

/* Post-processors with parts that are not supported or wrong. */
TEST(hub_processors_refused)
{
#define HUB_SINGLE "{'type':'TemplateProcessing','single':[{'Sequence':{'id':'A','type_id':0}}],'special_tokens':{}}"
#define HUB_BERT_ENDS(ends) "{'type':'BertProcessing'" ends "}"
#define HUB_ENDS HUB_BERT_ENDS(",'sep':['a',0],'cls':['a',0]")
    static const struct { const char *processor, *says; } rows[] = {
        { "{'type':'Sequence','processors':[" HUB_SINGLE "," HUB_SINGLE "]}", "post_processor TemplateProcessing" },
        { "{'type':'Sequence','processors':[" HUB_ENDS "," HUB_ENDS "]}", "post_processor BertProcessing" },
        { "{'type':'Sequence','processors':[" HUB_ENDS "," HUB_SINGLE "]}", "post_processor TemplateProcessing" },
        { HUB_BERT_ENDS(",'sep':['a',0]"), "post_processor BertProcessing" },
        { HUB_BERT_ENDS(",'cls':['a',0]"), "post_processor BertProcessing" },
        { HUB_BERT_ENDS(",'sep':['b',0],'cls':['b',0]"), "cls or sep of the post_processor is wrong" },
        { "{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'a','type_id':0}}],"
          "'special_tokens':{'a':5}}", "is expected" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[1200], message[300];
        hub_box b;
        sprintf(json, "{'post_processor':%s,'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},"
                "'decoder':{'type':'ByteLevel'},'model':{'type':'BPE','vocab':{'a':0},'merges':[]}}",
                rows[i].processor);
        b = hub_quoted(json);
        tfn_error_text(&b.k.error, message, sizeof message);
        CASE("row %d", (int)i);
        if (b.status == TFN_OK || !strstr(message, rows[i].says)) FAIL("says '%s'", message);
        free(b.mem);
    }
}

/* vocab.txt without [CLS] and [SEP] puts nothing around a text; vocab.json needs a kind. */
TEST(hub_plain_vocabularies)
{
    static const char words[] = "[UNK]\nthe\n##s\n";
    static const char json[] = "{\"a\":0}";
    tfn_tokenizer_source s;
    hub_box b;
    memset(&s, 0, sizeof s);
    s.kind = TFN_TOKENIZER_WORDPIECE;
    s.vocab = words;
    s.vocab_size = sizeof words - 1;
    b = hub_make(&s);
    CHECK(b.status == TFN_OK && b.k.begins == 0 && b.k.ends == 0);
    hub_is(&b.k, "The thes a", "1 1 2 0");
    free(b.mem);
    s.vocab = json;
    s.vocab_size = sizeof json - 1;
    for (int i = 0; i < 2; i++) {
        char message[300];
        s.kind = i ? (tfn_tokenizer_kind)99 : TFN_TOKENIZER_BPE;
        b = hub_make(&s);
        CHECK_INT(b.status, TFN_BAD_OPTION);
        tfn_error_text(&b.k.error, message, sizeof message);
        CHECK(strstr(message, "a vocabulary without merges needs a kind") != NULL);
        free(b.mem);
    }
}

/* Each line of merges.txt must have two tokens that together are a third one. */
TEST(hub_merges_refused)
{
    static const char json[] = "{\"a\":0,\"b\":1,\"ab\":2}";
    static const char *const rows[] = { "a b\n", "a \n", "a c\n", "ab\n", " b\n", "b a\n", "a bb\n" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_tokenizer_source s;
        char message[300];
        hub_box b;
        memset(&s, 0, sizeof s);
        s.vocab = json;
        s.vocab_size = sizeof json - 1;
        s.merges = rows[i];
        s.merges_size = strlen(rows[i]);
        b = hub_make(&s);
        tfn_error_text(&b.k.error, message, sizeof message);
        CASE("row %d", (int)i);
        if (!i) CHECK_INT(b.status, TFN_OK);
        else if (b.status != TFN_BAD_FORMAT || !strstr(message, "merge 0 is not two tokens"))
            FAIL("says '%s'", message);
        free(b.mem);
    }
}

/* Models of SentencePiece whose training or rules are replaced by what follows: without <s>, with an
 * id that is none, with an empty table of replacements. */
TEST(hub_model_frames)
{
    hub_box a = hub_file(HUB_T5), b;
    for (int i = 0; i < 4; i++) {
        size_t n = hub_write_model(&a.k, 1, false, true);
        const size_t at = n + 2;
        tfn_tokenizer_source s;
        const unsigned long long ids[] = { 1, (unsigned long long)-1, 99999, (unsigned long long)a.k.vocab };
        hub_field(&n, 2, 2, 1);
        hub_field(&n, 3, 0, 1);
        hub_field(&n, 41, 0, ids[i]);
        hub_field(&n, 42, 0, ids[i]);
        hub_model[at - 1] = (unsigned char)(n - at);
        hub_field(&n, 3, 2, 2);
        hub_field(&n, 2, 2, 0);
        s = hub_of_model(n);
        s.end = true;
        b = hub_make(&s);
        CASE("id %d", (int)ids[i]);
        CHECK(b.status == TFN_OK && b.k.begins == !i && b.k.ends == !i);
        CHECK(b.k.map_bytes == 0 && a.k.map_bytes > 0);
        free(b.mem);
    }
    free(a.mem);
}

/* Marian: a piece that comes twice is refused, and a run of unknown text that no token is so long as
 * becomes <unk>. */
TEST(hub_marian_pieces)
{
    hub_box a = hub_file(HUB_T5), b;
    int32_t map[2000];
    int32_t ids[4000];
    char message[300];
    char text[301];
    tfn_tokenizer_source s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    s.begin = false;
    s.end = true;
    hub_write_vocab(&a.k, 5, map);
    s.vocab = hub_vocab;
    s.vocab_size = strlen(hub_vocab);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    for (int i = 0; i < 300; i += 3) memcpy(text + i, "\xe2\x98\x83", 3);
    CHECK(tfn_tokenizer_encode(&b.k, ids, 4000, text, 6) == 2 && ids[1] == 2);
    CHECK(tfn_tokenizer_encode(&b.k, ids, 4000, text, 300) == 2 && ids[1] == 1);
    free(b.mem);
    hub_user_text = "a";
    s.model_size = hub_write_model(&a.k, 1, false, true);
    hub_user_text = NULL;
    b = hub_make(&s);
    tfn_error_text(&b.k.error, message, sizeof message);
    if (b.status != TFN_BAD_FORMAT || !strstr(message, "comes twice")) FAIL("says '%s'", message);
    free(b.mem), free(a.mem);
}

/* Marian looks up unknown text in vocab.json: it may be a word of the other language, but not a special
 * token. */
TEST(hub_marian_unknown)
{
    hub_box a = hub_quoted("{'decoder':{'type':'Metaspace','replacement':'\xe2\x96\x81'},"
                           "'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81'},"
                           "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0],['<s>',0],"
                           "['</s>',0],['\xe2\x96\x81',-1],['a',-2]]}}"), b;
    int32_t map[5], ids[9];
    tfn_tokenizer_source s;
    CHECK_INT(a.status, TFN_OK);
    s = hub_of_model(hub_write_model(&a.k, 1, false, true));
    hub_write_vocab(&a.k, -1, map);
    s.begin = false;
    s.vocab = hub_vocab;
    s.vocab_size = strlen(hub_vocab);
    b = hub_make(&s);
    CHECK_INT(b.status, TFN_OK);
    hub_is(&b.k, "a\xe2\x98\x83\xe2\x98\x83", "4 3 2");
    CHECK_INT(tfn_tokenizer_encode(&b.k, ids, 9, "</s>", 4), 2);
    CHECK(ids[0] == 4 && ids[1] == 1);
    free(a.mem), free(b.mem);
}

/* Blobs by hand, with one wrong number each; the first of each form is right. A token "a", then by
 * form: marks (split, options, ids before and after, marks), steps (normalizer, decoder, characters,
 * unknown, prefix), the table of replacements, rules (suffix, bytes, text). */
TEST(hub_blob_rows)
{
#define HUB_TOKEN "\2a"
#define HUB_STEPS "\6\0\0\0\0" "\0\0\0\0\0"
    static const struct { int form; const char *body; size_t bytes; const char *says; } rows[] = {
#define HUB_ROW(form, body, says) { form, body, sizeof body - 1, says }
        HUB_ROW(1, "\3\1\0" HUB_TOKEN, NULL),
        HUB_ROW(1, "\4\1\0" HUB_TOKEN, "a kind"),
        HUB_ROW(1, "\3\1\0" "\0", "a token is expected"),
        HUB_ROW(2, "\0\1\0" HUB_TOKEN "\0\0\0\0\0", NULL),
        HUB_ROW(2, "\3\1\0" HUB_TOKEN "\0\0\0\0\0", "a kind"),
        HUB_ROW(2, "\0\1\0" HUB_TOKEN "\7\0\0\0\0", "another version of tfnorm.h"),
        HUB_ROW(2, "\0\1\0" HUB_TOKEN "\0\0\xff\xff\xff\x3f\0\1", "an id is expected"),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN HUB_STEPS "\0", NULL),
        HUB_ROW(3, "\3\1\0" HUB_TOKEN HUB_STEPS "\0", "a kind"),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN "\6\x80\2\0\0\0" "\0\0\0\0\0" "\0", "another version"),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN "\6\x80\1\0\0\2\0" "\0\0\0\0\0" "\0", "tokens without ids"),
        HUB_ROW(3, "\4\1\0" HUB_TOKEN "\4\x80\1\0\0\0\0" "\0\0\0\0\0" "\0", "tokens without ids"),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN HUB_STEPS "\x0c\4\0\0\0\0\0\0\0\0\0\0\0", NULL),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN HUB_STEPS "\x0c\7\0\0\0\0\0\0\0\0\0\0\0", "a table"),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN HUB_STEPS "\x0c\0\0\0\0\0\0\0\0\0\0\0\0", "a table"),
        HUB_ROW(3, "\5\1\0" HUB_TOKEN HUB_STEPS "\x0c\x0c\0\0\0\0\0\0\0\0\0\0\0", "a table"),
        HUB_ROW(4, "\0\1\0" HUB_TOKEN "\0\0\0\0\0" "\0\0\0\0\0" "\0" "\0\0", NULL),
        HUB_ROW(4, "\2\1\0" HUB_TOKEN "\0\0\0\0\0" "\0\0\0\0\0" "\0" "\0\0", "a kind"),
        HUB_ROW(4, "\0\1\0" HUB_TOKEN HUB_STEPS "\0" "\0\0", "a split"),
        HUB_ROW(4, "\0\1\0" HUB_TOKEN "\7\0\0\0\0" "\0\0\0\0\0" "\0" "\0\0", "rules"),
        HUB_ROW(4, "\4\1\0" HUB_TOKEN "\7\0\0\0\0" "\x80\x80\2\0\0\0\0" "\0" "\0\3{}x",
                "rules in JSON"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char blob[200] = "tfntok0\n";
        const size_t size = 8 + rows[i].bytes + 4;
        const tfn_tokenizer_source s = hub_of_blob(blob, size);
        hub_box b;
        char message[300];
        blob[6] = (unsigned char)('0' + rows[i].form);
        memcpy(blob + 8, rows[i].body, rows[i].bytes);
        hub_put_sum(blob, size);
        b = hub_make(&s);
        tfn_error_text(&b.k.error, message, sizeof message);
        CASE("row %d", (int)i);
        if (rows[i].says) {
            if (b.status == TFN_OK || !strstr(message, rows[i].says)) FAIL("says '%s'", message);
        } else if (b.status != TFN_OK) FAIL("says '%s'", message);
        else CHECK_INT(tfn_tokenizer_find(&b.k, "a", 1), 0);
        free(b.mem);
    }
}

/* Pieces at line ends and of letters that begin like a long s, by expressions that are known. */
TEST(hub_known_expressions)
{
    static const char llama3[] = "{'type':'Split','behavior':'Isolated','pattern':{'Regex':'"
        "(?i:\\u0027s|\\u0027t|\\u0027re|\\u0027ve|\\u0027m|\\u0027ll|\\u0027d)"
        "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+"
        "[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+'}}";
    hub_cut("null", llama3, "a \r b \n\n c", "a| \r| b| \n\n| c");
    hub_cut("null", llama3, "a'\xc5\xbf" "b'\xc5\x80" "b", "a|'\xc5\xbf|b|'\xc5\x80" "b");
    hub_cut("{'type':'Nmt'}", "{'type':'WhitespaceSplit'}",
            "a\1\b\v\016\037\177\xc2\x8f\xc2\x9f" "b\tc\fd", "ab|c|d");
    hub_cut("{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'Lowercase'},{'type':"
            "'BertNormalizer','lowercase':true,'clean_text':true,'handle_chinese_chars':true}]}",
            "{'type':'WhitespaceSplit'}", "Ab\1 C\xc3\x89", "ab|ce");
}

int main(void)
{
    RUN(hub_golden);
    RUN(hub_hangul);
    RUN(hub_clusters);
    RUN(hub_source_order);
    RUN(hub_model_ends);
    RUN(hub_small_refused);
    RUN(hub_id_0);
    RUN(hub_short_pieces);
    RUN(hub_whole_text);
    RUN(hub_long_pieces);
    RUN(hub_small_values);
    RUN(hub_unknown_bytes);
    RUN(hub_ends_of_tables);
    RUN(hub_parts_to_steps);
    RUN(hub_processors_refused);
    RUN(hub_tables);
    RUN(hub_odd_tokens);
    RUN(hub_added_room);
    RUN(hub_counts);
    RUN(hub_plain_vocabularies);
    RUN(hub_merges_refused);
    RUN(hub_model_frames);
    RUN(hub_marian_pieces);
    RUN(hub_marian_unknown);
    RUN(hub_blob_rows);
    RUN(hub_known_expressions);
    RUN(hub_fields);
    RUN(hub_long_and_broken);
    RUN(hub_lines_of_bert);
    RUN(hub_specials_by_name);
    RUN(hub_models);
    RUN(hub_models_refused);
    RUN(hub_bad_models);
    RUN(hub_unused_piece);
    RUN(hub_replaced);
    RUN(hub_kept);
    RUN(hub_marian_models);
    RUN(hub_marian_refused);
    RUN(hub_bad_marian);
    RUN(hub_any_parts);
    RUN(hub_refused);
    RUN(hub_no_decoder);
    RUN(hub_possessive);
    RUN(hub_text_ends);
    RUN(hub_single_word);
    RUN(hub_long_word);
    RUN(hub_block_end);
    RUN(hub_block_end_late);
    RUN(hub_long_suffix);
    RUN(hub_regular_expressions);
    RUN(hub_any_expressions);
    RUN(hub_parts_by_hand);
    RUN(hub_saved);
    RUN(hub_json_text);
    RUN(hub_json_text_models);
    RUN(hub_json_text_added);
    RUN(hub_json_text_trained);
    RUN(hub_parts_alike);
    RUN(hub_ends_of_words);
    RUN(hub_added_tokens);
    RUN(hub_steps_as_flags);
    RUN(hub_bytes_shown);
    RUN(hub_json_text_none);
    RUN(hub_json_text_bytes);
    RUN(hub_many_marks);
    RUN(hub_decoders);
    RUN(hub_bad_files);
    RUN(hub_bad_blobs);
    RUN(hub_blob_decoder);
    RUN(hub_blob_rules);
    RUN(hub_equal_ways);
    RUN(hub_blob_scores);
    RUN(hub_small_bad_files);
    RUN(hub_ends_of_texts);
    RUN(hub_cut_blobs);
    return DONE();
}
