/* GGUF: the models of golden/gguf have the bits of the folders from which golden/make_gguf.py made
 * them, also when they are written and read again; tokenizers give llama.cpp's ids, blocks have the
 * values of a second decoder and the bytes of llama.cpp's quantizer, and errors say what is wrong
 * with a file or cannot be written. */
#include "../lib.h"
#include "../check.h"
#include "../header.h"

enum { GGUF_TIME = 9, GGUF_ROOM = 1 << 17 };
static const char *const gguf_names[] = { "llama", "llama-tied", "qwen2", "qwen3", "olmo2", "gemma",
                                          "gemma2", "gemma3_text", "gpt2", "llama3", "granite",
                                          "olmo", "phi3", "phi", "stablelm", "gpt_neox", "bloom" };
enum { GGUF_NAMES = sizeof gguf_names / sizeof *gguf_names };
static unsigned char gguf_bytes[GGUF_ROOM], gguf_other[GGUF_ROOM];

static const char *gguf_path(const char *name, const char *end)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/../gguf/%s%s", header_hub(), name, end);
    return path;
}

static size_t gguf_read(const char *path, unsigned char *to)
{
    FILE *f = fopen(path, "rb");
    const size_t bytes = f ? fread(to, 1, GGUF_ROOM, f) : 0;
    if (f) fclose(f);
    return bytes;
}

/* Import the folder of the hub with the config.json of the test. */
static tfn_status gguf_hub(tfn_model *m, const char *name, tfn_error *e)
{
    char path[300];
    static char config[4096];
    tfn_model_desc d;
    tfn_import x;
    tfn_file f;
    tfn_status status;
    memset(&x, 0, sizeof x);
    memset(&d, 0, sizeof d);
    memset(&f, 0, sizeof f);
    snprintf(path, sizeof path, "%s/%s/model.safetensors", header_hub(), name);
    f.path = path;
    x.config_size = gguf_read(gguf_path(name, ".json"), (unsigned char *)config);
    x.config = config;
    x.files = &f;
    x.count = 1;
    d.inference = true;
    d.threads = 1;
    status = tfn_file_open(&f);
    if (status == TFN_OK) status = tfn_import_peek(&x, &d);
    d.blank = true;
    if (status == TFN_OK) status = tfn_model_new(m, &d, NULL);
    if (status == TFN_OK) status = tfn_import_weights(&x, m);
    tfn_file_close(&f);
    *e = x.error;
    return status;
}

/* A small model that llama.cpp can have. */
static tfn_model_desc gguf_small(int32_t vocab)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = vocab;
    d.width = d.context = 8;
    d.layers = d.heads = 1;
    d.recipe = "pre-rms";
    d.no_bias = true;
    d.position = TFN_POSITION_ROTARY;
    d.activation = TFN_ACTIVATION_SWIGLU;
    return d;
}

/* Write the model and read it again: the logits must have the same bits. */
static void gguf_again(const tfn_model *m, const tfn_batch *batch, const float *want)
{
    static float kept[4096];
    const size_t bytes = sizeof *want * GGUF_TIME * (size_t)m->desc.vocab;
    char text[400];
    tfn_model again;
    tfn_export x;
    const float *got;
    memset(&x, 0, sizeof x);
    x.folder = "build/again.gguf";
    memcpy(kept, want, bytes);
    if (tfn_export_gguf(&x, m) != TFN_OK)
        printf("%s\n", tfn_error_text(&x.error, text, sizeof text));
    CHECK_INT(x.error.status, TFN_OK);
    CHECK_INT(tfn_import_new(&again, x.folder, NULL), TFN_OK);
    if (check_errors) return;
    got = tfn_model_logits(&again, batch);
    CHECK(got != NULL);
    if (got) CHECK_BITS(got, kept, bytes);
    tfn_model_free(&again);
    remove(x.folder);
}

TEST(gguf_models)
{
    char text[400];
    for (int i = 0; i < GGUF_NAMES; i++) {
        tfn_model hub, gguf;
        tfn_batch batch;
        tfn_error e;
        const float *want, *got;
        int32_t ids[GGUF_TIME];
        CASE("%s", gguf_names[i]);
        if (gguf_hub(&hub, gguf_names[i], &e) != TFN_OK)
            printf("%s\n", tfn_error_text(&e, text, sizeof text));
        CHECK_INT(e.status, TFN_OK);
        if (check_errors) return;
        if (tfn_import_new(&gguf, gguf_path(gguf_names[i], ".gguf"), NULL) != TFN_OK)
            printf("%s\n", tfn_error_text(&gguf.error, text, sizeof text));
        CHECK_INT(gguf.error.status, TFN_OK);
        if (check_errors) return;
        memset(&batch, 0, sizeof batch);
        for (int k = 0; k < GGUF_TIME; k++) ids[k] = (7*k + 3) % hub.desc.vocab;
        batch.tokens = ids;
        batch.batch = 1;
        batch.time = GGUF_TIME;
        want = tfn_model_logits(&hub, &batch);
        got = tfn_model_logits(&gguf, &batch);
        CHECK(want && got);
        if (!(want && got)) return;
        CHECK_BITS(got, want, sizeof *got * GGUF_TIME * (size_t)hub.desc.vocab);
        gguf_again(&gguf, &batch, want);
        gguf_again(&hub, &batch, want);
        tfn_model_free(&hub);
        tfn_model_free(&gguf);
    }
}

/* Forms without a file: a folder's model is written and read again. */
TEST(gguf_forms)
{
    static const char *const folders[] = { "stablelm-parallel", "gpt_neox-serial" };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        static const int32_t ids[GGUF_TIME] = { 3, 10, 17, 24, 0, 7, 14, 21, 28 };
        char path[300];
        tfn_model m;
        tfn_model_desc d;
        tfn_batch batch;
        const float *want;
        CASE("%s", folders[i]);
        snprintf(path, sizeof path, "%s/%s", header_hub(), folders[i]);
        memset(&d, 0, sizeof d);
        d.inference = true;
        d.threads = 1;
        CHECK_INT(tfn_import_new(&m, path, &d), TFN_OK);
        if (check_errors) return;
        memset(&batch, 0, sizeof batch);
        batch.tokens = ids;
        batch.batch = 1;
        batch.time = GGUF_TIME;
        want = tfn_model_logits(&m, &batch);
        CHECK(want != NULL);
        if (want) gguf_again(&m, &batch, want);
        tfn_model_free(&m);
    }
}

/* SmolLM 3 has layers that do not rotate, every fourth one, and no key that says so. */
TEST(gguf_smollm3)
{
    static const int32_t ids[GGUF_TIME] = { 3, 10, 17, 24, 0, 7, 14, 21, 28 };
    tfn_model_desc d = gguf_small(31);
    tfn_batch batch;
    tfn_model m;
    const float *want;
    d.context = 16;
    d.layers = 5;
    d.rotary_period = 4;
    CHECK_INT(tfn_model_new(&m, &d, NULL), TFN_OK);
    if (check_errors) return;
    memset(&batch, 0, sizeof batch);
    batch.tokens = ids;
    batch.batch = 1;
    batch.time = GGUF_TIME;
    want = tfn_model_logits(&m, &batch);
    CHECK(want != NULL);
    if (want) gguf_again(&m, &batch, want);
    tfn_model_free(&m);
}

/* A model from GGUF is written as a folder: Gemma's gains lose their 1. */
TEST(gguf_folders)
{
    for (int i = 0; i < GGUF_NAMES; i++) {
        static char config[8192], tensors[GGUF_ROOM];
        static float kept[4096];
        char text[400];
        int32_t ids[GGUF_TIME];
        tfn_model gguf, again;
        tfn_batch batch;
        tfn_export x;
        tfn_import in;
        tfn_file files[2];
        tfn_model_desc d;
        const float *got;
        size_t bytes;
        CASE("%s", gguf_names[i]);
        CHECK_INT(tfn_import_new(&gguf, gguf_path(gguf_names[i], ".gguf"), NULL), TFN_OK);
        if (check_errors) return;
        memset(&x, 0, sizeof x);
        memset(files, 0, sizeof files);
        files[0].to = tensors;
        files[0].to_size = sizeof tensors;
        files[1].to = config;
        files[1].to_size = sizeof config;
        x.weights = files;
        x.config = files + 1;
        if (tfn_export_write(&x, &gguf) != TFN_OK)
            printf("%s\n", tfn_error_text(&x.error, text, sizeof text));
        CHECK_INT(x.error.status, TFN_OK);
        if (check_errors) return;
        memset(&batch, 0, sizeof batch);
        for (int k = 0; k < GGUF_TIME; k++) ids[k] = (7*k + 3) % gguf.desc.vocab;
        batch.tokens = ids;
        batch.batch = 1;
        batch.time = GGUF_TIME;
        got = tfn_model_logits(&gguf, &batch);
        bytes = sizeof *got * GGUF_TIME * (size_t)gguf.desc.vocab;
        CHECK(got && bytes <= sizeof kept);
        if (!got || bytes > sizeof kept) return;
        memcpy(kept, got, bytes);
        memset(&in, 0, sizeof in);
        memset(&d, 0, sizeof d);
        in.config = config;
        in.config_size = (size_t)files[1].used;
        files[0].from = tensors;
        files[0].from_size = (size_t)files[0].used;
        in.files = files;
        in.count = 1;
        d.inference = true;
        d.threads = 1;
        CHECK_INT(tfn_file_open(files), TFN_OK);
        CHECK_INT(tfn_import_peek(&in, &d), TFN_OK);
        CHECK_INT(tfn_model_new(&again, &d, NULL), TFN_OK);
        CHECK_INT(tfn_import_weights(&in, &again), TFN_OK);
        if (check_errors) return;
        got = tfn_model_logits(&again, &batch);
        CHECK(got != NULL);
        if (got) CHECK_BITS(got, kept, bytes);
        tfn_file_close(files);
        tfn_model_free(&again);
        tfn_model_free(&gguf);
    }
}

/* Ids of tokens, which a program asks for, have the hub's names. */
TEST(gguf_texts)
{
    char text[16], path[300];
    tfn_import x;
    memset(&x, 0, sizeof x);
    snprintf(path, sizeof path, "%s", gguf_path("llama", ".gguf"));
    x.folder = path;
    CHECK_INT(tfn_import_text(&x, "eos_token_id", text, sizeof text), 1);
    CHECK(!strcmp(text, "2"));
    CHECK_INT(tfn_import_text(&x, "bos_token_id", text, sizeof text), 0);
    snprintf(path, sizeof path, "%s", gguf_path("tokens-bpe", ".gguf"));
    CHECK_INT(tfn_import_text(&x, "chat_template", text, sizeof text), 11);
    CHECK(!strcmp(text, "{{ \"\xc3\xa4\" }}\n"));
}

/* -- tokenizers ------------------------------------------------------------------------------ */

/* Make the tokenizer of an open file. False: it has none. */
static bool gguf_tokenizer(tfn_file *f, tfn_tokenizer *k, void **mem)
{
    tfn_tokenizer_source source;
    const size_t bytes = tfn_gguf_tokenizer(f, &source, NULL, 0);
    char *text = (char *)malloc(bytes ? bytes : 1);
    size_t size;
    CHECK(!source.json && !source.model);
    CHECK_INT(tfn_gguf_tokenizer(f, &source, text, bytes), bytes);
    size = tfn_tokenizer_size(&source);
    *mem = malloc(size ? size : 1);
    if (bytes) tfn_tokenizer_init(k, &source, *mem, size);
    free(text);
    return bytes > 0;
}

/* The ids of llama.cpp, after as many at the beginning of a text as the first number says. */
TEST(gguf_tokens)
{
    static const struct { const char *file, *text; int32_t first, count, ids[20]; } rows[] = {
        { "llama", "aab aaa b", -1, 5, { 27, 2, 27, 1, 2 } },
        { "tokens-bpe", "the thing in 1234 \xc3\xa4", 267, 10,
          { 257, 32, 256, 265, 262, 32, 264, 52, 32, 266 } },
        { "tokens-bpe", "the<tool>  x", 267, 5, { 257, 269, 32, 32, 120 } },
        { "tokens-digits", "the thing in 1234 \xc3\xa4", -1, 12,
          { 257, 32, 256, 265, 262, 32, 49, 50, 51, 52, 32, 266 } },
        { "tokens-llama", "the thing in 1234 \xc3\xa4", 1, 11,
          { 264, 261, 263, 265, 266, 52, 53, 54, 55, 266, 274 } },
        { "tokens-llama", " the  in", 1, 4, { 266, 264, 266, 265 } },
        { "tokens-gemma", "a  a <unused> Z", 1, 14,
          { 273, 275, 273, 266, 63, 120, 271, 120, 118, 269, 103, 65, 266, 93 } }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t ids[40];
        const int32_t count = rows[i].count;
        void *mem = NULL;
        tfn_tokenizer k;
        tfn_file f;
        CASE("%s: %s", rows[i].file, rows[i].text);
        memset(&f, 0, sizeof f);
        f.path = gguf_path(rows[i].file, ".gguf");
        CHECK_INT(tfn_gguf_open(&f), TFN_OK);
        CHECK(gguf_tokenizer(&f, &k, &mem));
        if (check_errors) return;
        CHECK_INT(k.error.status, TFN_OK);
        CHECK_INT(k.begins ? k.frame[0] : -1, rows[i].first);
        CHECK_INT(tfn_tokenizer_encode(&k, ids, 40, rows[i].text, strlen(rows[i].text)), count);
        for (int32_t n = 0; n < count; n++) CHECK_INT(ids[n], rows[i].ids[n]);
        tfn_file_close(&f);
        free(mem);
    }
}

/* An added token is a text, even if its characters also show bytes: here three times U+00F5. */
TEST(gguf_tokens_added)
{
    static const char text[] = "the\xc3\xb5\xc3\xb5\xc3\xb5\xc3\xb5";
    const size_t size = gguf_read(gguf_path("tokens-bpe", ".gguf"), gguf_bytes);
    int32_t ids[8];
    void *mem = NULL;
    tfn_tokenizer k;
    tfn_file f;
    for (size_t i = 0; i + 6 <= size; i++)
        if (!memcmp(gguf_bytes + i, "<tool>", 6)) memcpy(gguf_bytes + i, text + 3, 6);
    memset(&f, 0, sizeof f);
    f.from = gguf_bytes;
    f.from_size = size;
    CHECK_INT(tfn_gguf_open(&f), TFN_OK);
    CHECK(gguf_tokenizer(&f, &k, &mem));
    CHECK_INT(k.error.status, TFN_OK);
    if (check_errors) return;
    CHECK_INT(tfn_tokenizer_encode(&k, ids, 8, text, sizeof text - 1), 4);
    CHECK_INT(ids[1], 269);
    tfn_file_close(&f);
    free(mem);
}

/* A tokenizer that is written with a model and read again gives the same ids. */
TEST(gguf_tokens_again)
{
    static const char *const files[] = { "tokens-bpe", "tokens-digits", "tokens-llama",
                                         "tokens-gemma" };
    static const char text[] = "the thing in 1234  \xc3\xa4 <|end|> <tool>\n";
    for (int i = 0; i < 4; i++) {
        int32_t ids[2][80];
        ptrdiff_t count;
        void *mem[2] = { NULL, NULL };
        tfn_tokenizer k[2];
        tfn_model_desc d;
        tfn_model m;
        tfn_export x;
        tfn_file f;
        CASE("%s", files[i]);
        memset(&f, 0, sizeof f);
        f.path = gguf_path(files[i], ".gguf");
        CHECK_INT(tfn_gguf_open(&f), TFN_OK);
        CHECK(gguf_tokenizer(&f, &k[0], &mem[0]));
        tfn_file_close(&f);
        d = gguf_small(k[0].vocab + 2);
        CHECK_INT(tfn_model_new(&m, &d, NULL), TFN_OK);
        if (check_errors) return;
        memset(&x, 0, sizeof x);
        memset(&f, 0, sizeof f);
        f.to = gguf_other;
        f.to_size = sizeof gguf_other;
        x.weights = &f;
        x.tokenizer = &k[0];
        x.name = "again";
        x.chat_template = "{{ \"\xc3\xa4\" }}";
        CHECK_INT(tfn_export_gguf(&x, &m), TFN_OK);
        CHECK(!memcmp(gguf_other + 24 + 8 + 20 + 4, "\5\0\0\0\0\0\0\0llama", 13));
        CHECK(!memcmp(gguf_other + 24 + 8 + 20 + 4 + 8 + 5 + 8, "general.name", 12));
        memcpy(gguf_bytes, gguf_other, (size_t)f.used);
        f.from = gguf_bytes;
        f.from_size = (size_t)f.used;
        CHECK_INT(tfn_gguf_open(&f), TFN_OK);
        CHECK(gguf_tokenizer(&f, &k[1], &mem[1]));
        tfn_file_close(&f);
        x.name = "my-phi3";             /* llama.cpp would look for Phi-3's tokens */
        CHECK_INT(tfn_export_gguf(&x, &m), TFN_OK);
        CHECK(!memcmp(gguf_other + 24 + 8 + 20 + 4 + 8 + 5 + 8, "general.alignment", 17));
        if (check_errors) return;
        for (int n = 0; n < 2; n++)
            count = tfn_tokenizer_encode_specials(&k[n], ids[n], 80, text, sizeof text - 1);
        CHECK(count > 12 && count <= 80);
        CHECK_BITS(ids[1], ids[0], (size_t)count * sizeof **ids);
        CHECK_INT(k[1].begins, k[0].begins);
        CHECK_INT(k[1].scored, k[0].scored);
        if (k[0].scored) for (int32_t id = 0; id < k[0].vocab; id++)
            if (k[0].score[id] < -1) CHECK_BITS(&k[1].score[id], &k[0].score[id], sizeof(double));
        for (int s = 0; s < TFN_SPECIAL_COUNT; s++) CHECK_INT(k[1].special[s], k[0].special[s]);
        tfn_model_free(&m);
        free(mem[0]);
        free(mem[1]);
    }
}

/* -- blocks ---------------------------------------------------------------------------------- */

/* The blocks that llama.cpp made of the same floats. The matrix that gives logits is never Q4_0. */
TEST(gguf_quantized)
{
    static const struct { const char *name; tfn_dtype dtype; int kept; } types[] = {
        { "q8_0", TFN_DTYPE_Q8_0, 0 }, { "q4_0", TFN_DTYPE_Q4_0, 1 }
    };
    tfn_model m;
    CHECK_INT(tfn_import_new(&m, gguf_path("floats", ".gguf"), NULL), TFN_OK);
    if (check_errors) return;
    for (int i = 0; i < 2; i++) {
        tfn_export x;
        tfn_file f, own;
        tfn_tensor t, u;
        CASE("%s", types[i].name);
        memset(&x, 0, sizeof x);
        memset(&own, 0, sizeof own);
        memset(&f, 0, sizeof f);
        own.to = gguf_other;
        own.to_size = sizeof gguf_other;
        x.weights = &own;
        x.dtype = types[i].dtype;
        CHECK_INT(tfn_export_gguf(&x, &m), TFN_OK);
        CHECK_INT(x.tensors, 11);
        CHECK_INT(x.kept, types[i].kept);
        own.from = gguf_other;
        own.from_size = (size_t)own.used;
        f.from_size = gguf_read(gguf_path(types[i].name, ".gguf"), gguf_bytes);
        f.from = gguf_bytes;
        CHECK_INT(tfn_gguf_open(&own), TFN_OK);
        CHECK_INT(tfn_gguf_open(&f), TFN_OK);
        for (int32_t n = 0; tfn_file_tensor(&f, n, &t); n++) {
            CHECK(tfn_file_find(&own, t.name, &u));
            if (check_errors) return;
            if (t.dtype != u.dtype && !strcmp(t.name, "token_embd.weight")) continue;
            CHECK_INT(u.dtype, t.dtype);
            CHECK_INT(u.bytes, t.bytes);
            if (check_errors) return;
            CHECK_BITS(gguf_other + u.at, gguf_bytes + t.at, (size_t)t.bytes);
        }
        tfn_file_close(&own);
        tfn_file_close(&f);
    }
    tfn_model_free(&m);
}

TEST(gguf_blocks)
{
    static const char *const types[] = { "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K",
                                         "Q6_K" };
    static float got[1024], want[1024], some[3];
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.from_size = gguf_read(gguf_path("blocks", ".gguf"), gguf_bytes);
    f.from = gguf_bytes;
    CHECK_INT(tfn_gguf_open(&f), TFN_OK);
    if (check_errors) return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char name[32];
        tfn_tensor t, u;
        CASE("%s", types[i]);
        snprintf(name, sizeof name, "%s.values", types[i]);
        CHECK(tfn_file_find(&f, types[i], &t) && tfn_file_find(&f, name, &u));
        if (!(tfn_file_find(&f, types[i], &t) && tfn_file_find(&f, name, &u))) return;
        CHECK_INT(t.count, u.count);
        CHECK_INT(tfn_file_read(&f, &t, got, 0, t.count), TFN_OK);
        CHECK_INT(tfn_file_read(&f, &u, want, 0, u.count), TFN_OK);
        for (int64_t k = 0; k < t.count; k++) CHECK(got[k] >= want[k] && got[k] <= want[k]);
        CHECK_INT(tfn_file_read(&f, &t, some, 31, 3), TFN_OK);           /* across blocks of 32 */
        for (int k = 0; k < 3; k++) CHECK(some[k] >= want[31 + k] && some[k] <= want[31 + k]);
    }
    tfn_file_close(&f);
}

/* A file cut short or with a changed byte gives an error, or has only tensors that it contains. */
static void gguf_try(const unsigned char *bytes, size_t size)
{
    static float value[256];
    tfn_tokenizer k;
    tfn_tensor t;
    tfn_file f;
    void *mem = NULL;
    memset(&f, 0, sizeof f);
    f.from = bytes;
    f.from_size = size;
    if (tfn_gguf_open(&f) != TFN_OK) {
        CHECK(f.error.text != NULL);
        return;
    }
    for (int32_t i = 0; tfn_file_tensor(&f, i, &t); i++) {
        CHECK(t.at <= size && t.bytes <= size - t.at);
        if (t.count > 0) CHECK_INT(tfn_file_read(&f, &t, value, t.count - 1, 1), TFN_OK);
        f.error.status = TFN_OK;
    }
    gguf_tokenizer(&f, &k, &mem);
    free(mem);
    tfn_file_close(&f);
}
static void gguf_hostile_file(const char *name, size_t head)
{
    const size_t size = gguf_read(gguf_path(name, ".gguf"), gguf_bytes);
    CHECK(size > head);
    if (!(size > head)) return;
    for (size_t n = 0; n < size; n += n < head ? 1 : 997) {
        CASE("the first %d bytes", (int)n);
        memcpy(gguf_other, gguf_bytes, n);
        gguf_try(gguf_other, n);
    }
    for (size_t at = 0; at < head; at++) {
        static const unsigned char flips[] = { 1, 0x80, 0xff };
        for (size_t k = 0; k < sizeof flips; k++) {
            CASE("byte %d changed by %d", (int)at, flips[k]);
            gguf_bytes[at] ^= flips[k];
            gguf_try(gguf_bytes, size);
            gguf_bytes[at] ^= flips[k];
        }
    }
}
TEST(gguf_hostile)
{
    gguf_hostile_file("llama", 2400);
    gguf_hostile_file("tokens-gemma", 420);
}

static void gguf_wrong(size_t at, const char *bytes, size_t n, tfn_status status, const char *says)
{
    char text[400];
    tfn_file f;
    const size_t size = gguf_read(gguf_path("llama", ".gguf"), gguf_bytes);
    memcpy(gguf_bytes + at, bytes, n);
    memset(&f, 0, sizeof f);
    f.from = gguf_bytes;
    f.from_size = size;
    CASE("%s", says);
    CHECK_INT(tfn_gguf_open(&f), status);
    CHECK(strstr(tfn_error_text(&f.error, text, sizeof text), says) != NULL);
    tfn_file_close(&f);
}
static void gguf_no_tokenizer(const char *word, const char *other, const char *says)
{
    char text[400];
    tfn_tokenizer_source source;
    tfn_file f;
    const size_t size = gguf_read(gguf_path("llama", ".gguf"), gguf_bytes);
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= size; i++)
        if (!memcmp(gguf_bytes + i, word, n)) memcpy(gguf_bytes + i, other, n);
    memset(&f, 0, sizeof f);
    f.from = gguf_bytes;
    f.from_size = size;
    CASE("%s", says);
    CHECK_INT(tfn_gguf_open(&f), TFN_OK);
    CHECK_INT(tfn_gguf_tokenizer(&f, &source, NULL, 0), 0);
    CHECK_INT(f.error.status, TFN_UNSUPPORTED);
    CHECK(strstr(tfn_error_text(&f.error, text, sizeof text), says) != NULL);
    tfn_file_close(&f);
}
/* Divisors of rates that no scaling of Llama 3 gives, in a file that is imported by its path. */
static void gguf_wrong_rates(int which, float value)
{
    char text[400];
    tfn_tensor t;
    tfn_model m;
    tfn_file f;
    FILE *out;
    memset(&f, 0, sizeof f);
    f.from_size = gguf_read(gguf_path("llama3", ".gguf"), gguf_bytes);
    f.from = gguf_bytes;
    CASE("rate %d by %g", which, (double)value);
    CHECK_INT(tfn_gguf_open(&f), TFN_OK);
    CHECK(tfn_file_find(&f, "rope_freqs.weight", &t));
    if (check_errors) return;
    memcpy(gguf_bytes + t.at + 4*which, &value, sizeof value);
    out = fopen("build/rates.gguf", "wb");
    CHECK(out != NULL);
    if (!out) return;
    fwrite(gguf_bytes, 1, f.from_size, out);
    fclose(out);
    tfn_file_close(&f);
    CHECK_INT(tfn_import_new(&m, "build/rates.gguf", NULL), TFN_UNSUPPORTED);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "rope_freqs.weight") != NULL);
    remove("build/rates.gguf");
}
TEST(gguf_rates)
{
    const float zero = 0;
    gguf_wrong_rates(0, 2);
    gguf_wrong_rates(1, 1.5f);
    gguf_wrong_rates(3, 0);
    gguf_wrong_rates(3, -8);
    gguf_wrong_rates(3, zero / zero);
    gguf_wrong_rates(2, 1e30f);
}

TEST(gguf_errors)
{
    tfn_model m;
    char text[400];
    FILE *f;
    size_t size;
    gguf_wrong(0, "GGML", 4, TFN_BAD_FORMAT, "does not begin with GGUF");
    gguf_wrong(4, "\1", 1, TFN_UNSUPPORTED, "its version is 1; 2 and 3 are read");
    CHECK_INT(tfn_gguf_open(NULL), TFN_NULL);

    /* rules of a split that are not known, and another kind of tokenizer */
    gguf_no_tokenizer("gpt-2", "gpt-3", "pre-tokenizer \"gpt-3\" is not read");
    gguf_no_tokenizer("gpt2", "gpt3", "model is \"gpt3\"; gpt2 and llama are read");

    /* an architecture that nothing is known of, by the path of an import */
    size = gguf_read(gguf_path("llama", ".gguf"), gguf_bytes);
    for (size_t i = 0; i + 5 <= size; i++)
        if (!memcmp(gguf_bytes + i, "llama", 5)) gguf_bytes[i + 1] = 'a';
    f = fopen("build/wrong.gguf", "wb");
    CHECK(f != NULL);
    if (!(f != NULL)) return;
    fwrite(gguf_bytes, 1, size, f);
    fclose(f);
    CHECK_INT(tfn_import_new(&m, "build/wrong.gguf", NULL), TFN_UNSUPPORTED);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "laama") != NULL);
    remove("build/wrong.gguf");
}

/* -- what llama.cpp cannot do ---------------------------------------------------------------- */

/* Refuse to write a model of these options, by a message that names the reason. */
static void gguf_refused(const char *set, tfn_dtype dtype, const tfn_tokenizer *k,
                         const char *says)
{
    char text[400], option[64];
    tfn_model_desc d;
    tfn_model m;
    tfn_export x;
    d = gguf_small(40);
    snprintf(option, sizeof option, "%.*s", (int)strcspn(set, "="), set);
    if (set[0]) CHECK_INT(tfn_desc_set(&d, option, strchr(set, '=') + 1, NULL), TFN_OK);
    CHECK_INT(tfn_model_new(&m, &d, NULL), TFN_OK);
    if (check_errors) return;
    memset(&x, 0, sizeof x);
    x.folder = "build/refused.gguf";
    x.dtype = dtype;
    x.tokenizer = k;
    CASE("%s", says);
    CHECK(tfn_export_gguf(&x, &m) != TFN_OK);
    CHECK(strstr(tfn_error_text(&x.error, text, sizeof text), says) != NULL);
    CHECK(!fopen(x.folder, "rb"));
    tfn_model_free(&m);
}
TEST(gguf_refusals)
{
    static const char words[] = "{\"a\": 0, \"b\": 1}";
    tfn_tokenizer_source source;
    tfn_tokenizer k;
    void *mem;
    gguf_refused("", TFN_DTYPE_I8, NULL, "F32, F16, BF16, Q8_0 or Q4_0 is expected");
    gguf_refused("norm=layernorm", TFN_DTYPE_F32, NULL,
                 "llama.cpp has no such model; the nearest, llama has norm rmsnorm, the model");
    gguf_refused("position=alibi", TFN_DTYPE_F32, NULL, "has position rotary, the model alibi");
    memset(&source, 0, sizeof source);
    source.kind = TFN_TOKENIZER_WORDS;
    source.vocab = words;
    source.vocab_size = sizeof words - 1;
    mem = malloc(tfn_tokenizer_size(&source));
    tfn_tokenizer_init(&k, &source, mem, tfn_tokenizer_size(&source));
    CHECK_INT(k.error.status, TFN_OK);
    gguf_refused("", TFN_DTYPE_F32, &k, "train the tokenizer bpe or bytes");
    gguf_refused("vocab=1", TFN_DTYPE_F32, &k, "the tokenizer has 2 tokens, the model 1");
    free(mem);
}

int main(void)
{
    RUN(gguf_models);
    RUN(gguf_forms);
    RUN(gguf_smollm3);
    RUN(gguf_folders);
    RUN(gguf_texts);
    RUN(gguf_tokens);
    RUN(gguf_tokens_added);
    RUN(gguf_tokens_again);
    RUN(gguf_blocks);
    RUN(gguf_quantized);
    RUN(gguf_refusals);
    RUN(gguf_hostile);
    RUN(gguf_rates);
    RUN(gguf_errors);
    return DONE();
}
