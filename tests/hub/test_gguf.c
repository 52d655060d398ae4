/* GGUF: the models of golden/gguf have the bits of the folders from which golden/make_gguf.py made
 * them, blocks have the values of a second decoder, and errors say what is wrong with a file. */
#include "../lib.h"
#include "../check.h"
#include "../header.h"

enum { GGUF_TIME = 9, GGUF_ROOM = 1 << 17 };
static const char *const gguf_names[] = { "llama", "llama-tied", "qwen2", "qwen3", "olmo2", "gemma",
                                          "gemma2", "gemma3_text", "gpt2" };
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
        tfn_model_free(&hub);
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
    tfn_tensor t;
    tfn_file f;
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
    tfn_file_close(&f);
}
TEST(gguf_hostile)
{
    const size_t size = gguf_read(gguf_path("llama", ".gguf"), gguf_bytes);
    const size_t head = 2400;
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
TEST(gguf_errors)
{
    tfn_model m;
    char text[400];
    FILE *f;
    size_t size;
    gguf_wrong(0, "GGML", 4, TFN_BAD_FORMAT, "does not begin with GGUF");
    gguf_wrong(4, "\1", 1, TFN_UNSUPPORTED, "its version is 1; 2 and 3 are read");
    CHECK_INT(tfn_gguf_open(NULL), TFN_NULL);

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

int main(void)
{
    RUN(gguf_models);
    RUN(gguf_texts);
    RUN(gguf_blocks);
    RUN(gguf_hostile);
    RUN(gguf_errors);
    return DONE();
}
