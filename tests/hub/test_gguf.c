/* GGUF. The models of golden/gguf have the bits of the folders from which golden/make_gguf.py made
 * them, also after they are written and read again. Tokenizers give llama.cpp's ids. Blocks have
 * the values of a second decoder, and the bytes of llama.cpp's quantizer. Errors name the fault of
 * a file, or the part of a model that cannot be written. */
#include "../folders.h"

enum { GGUF_TIME = 9, GGUF_ROOM = 1 << 17, GGUF_LOGITS = 4096 };
static const char *const gguf_names[] = { "llama", "llama-tied", "qwen2", "qwen3", "olmo2", "gemma",
                                          "gemma2", "gemma3_text", "gpt2", "llama3", "granite",
                                          "olmo", "phi3", "phi", "stablelm", "gpt_neox", "bloom" };
enum { GGUF_NAMES = sizeof gguf_names / sizeof *gguf_names };
static unsigned char gguf_bytes[GGUF_ROOM], gguf_other[GGUF_ROOM];

static const char *gguf_path(const char *name, const char *end)
{
    char file[80];
    snprintf(file, sizeof file, "%s%s", name, end);
    return folders_path("gguf", file, NULL);
}

/* Reads a file of golden/gguf into gguf_bytes. */
static tfn_file gguf_golden(const char *name)
{
    return folders_from(gguf_bytes, folders_read(gguf_path(name, ".gguf"), gguf_bytes, GGUF_ROOM));
}

/* -- models ---------------------------------------------------------------------------------- */

/* Imports a GGUF file. */
static bool gguf_model(tfn_model *m, const char *path)
{
    return CHECK_OK(tfn_import_new(m, path, NULL), &m->error);
}

/* Imports the folder of the hub with the config.json of the test. */
static bool gguf_hub(tfn_model *m, const char *name)
{
    static char config[4096];
    const size_t size = folders_read(gguf_path(name, ".json"), config, sizeof config);
    tfn_file f = folders_from(NULL, 0);
    tfn_import x = folders_import(config, size, &f);
    f.path = folders_path("hub", name, "model.safetensors");
    return CHECK_OK(tfn_file_open(&f), &f.error) && folders_load(m, &x, true);
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

/* Copies the logits of nine tokens. Returns their bytes. */
static size_t gguf_logits(tfn_model *m, float *to)
{
    const size_t bytes = sizeof *to * GGUF_TIME * (size_t)m->desc.vocab;
    int32_t ids[GGUF_TIME];
    tfn_batch batch;
    const float *found;
    for (int k = 0; k < GGUF_TIME; k++) ids[k] = (7*k + 3) % m->desc.vocab;
    memset(&batch, 0, sizeof batch);
    batch.tokens = ids;
    batch.batch = 1;
    batch.time = GGUF_TIME;
    found = tfn_model_logits(m, &batch);
    CHECK(found != NULL && bytes <= GGUF_LOGITS * sizeof *to);
    if (!found || bytes > GGUF_LOGITS * sizeof *to) return 0;
    memcpy(to, found, bytes);
    return bytes;
}

/* A model gives these logits, to the bit. */
static void gguf_same(tfn_model *m, const float *want, size_t bytes)
{
    static float got[GGUF_LOGITS];
    CHECK_INT(gguf_logits(m, got), bytes);
    CHECK_BITS(got, want, bytes);
}

/* Writes the model and reads it again: the logits must have the same bits. */
static void gguf_again(const tfn_model *m, const float *want, size_t bytes)
{
    tfn_model again;
    tfn_export x;
    memset(&x, 0, sizeof x);
    x.folder = "build/again.gguf";
    if (!CHECK_OK(tfn_export_gguf(&x, m), &x.error) || !gguf_model(&again, x.folder)) return;
    gguf_same(&again, want, bytes);
    tfn_model_free(&again);
    remove(x.folder);
}

/* A model gives the same logits after it was written and read again. */
static void gguf_kept(tfn_model *m)
{
    static float want[GGUF_LOGITS];
    const size_t bytes = gguf_logits(m, want);
    gguf_again(m, want, bytes);
    tfn_model_free(m);
}

/* Llama 3's scaling is found from the divisors of rates, even if the divisor of the slowest rate is
 * less than the factor. */
TEST(gguf_scaling_found)
{
    static const struct { float base, factor; int32_t context; } rows[] = {
        { 10, 8, 64 }, { 10, 4, 64 }, { 10, 32, 64 }, { 10000, 8, 64 }, { 10000, 3, 512 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model_desc d = gguf_small(40);
        tfn_model m;
        CASE("base %g, factor %g, context %d", (double)rows[i].base, (double)rows[i].factor,
             (int)rows[i].context);
        d.context = 16;
        d.rotary_scaling = TFN_ROTARY_SCALING_LLAMA3;
        d.rotary_base = rows[i].base;
        d.rotary_factor = rows[i].factor;
        d.rotary_context = rows[i].context;
        if (CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error)) gguf_kept(&m);
    }
}

TEST(gguf_models)
{
    static float want[GGUF_LOGITS];
    for (int i = 0; i < GGUF_NAMES; i++) {
        tfn_model hub, gguf;
        size_t bytes;
        CASE("%s", gguf_names[i]);
        if (!gguf_hub(&hub, gguf_names[i])) return;
        if (!gguf_model(&gguf, gguf_path(gguf_names[i], ".gguf"))) return;
        bytes = gguf_logits(&hub, want);
        gguf_same(&gguf, want, bytes);
        gguf_again(&gguf, want, bytes);
        gguf_again(&hub, want, bytes);
        tfn_model_free(&hub);
        tfn_model_free(&gguf);
    }
}

/* Forms without a file: a folder's model is written and read again. */
TEST(gguf_forms)
{
    static const char *const folders[] = { "stablelm-parallel", "gpt_neox-serial" };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        tfn_model m;
        CASE("%s", folders[i]);
        if (folders_model(&m, folders_path("hub", folders[i], NULL), true)) gguf_kept(&m);
    }
}

/* SmolLM 3: every fourth layer does not rotate, and no key says so. */
TEST(gguf_smollm3)
{
    tfn_model_desc d = gguf_small(31);
    tfn_model m;
    d.context = 16;
    d.layers = 5;
    d.rotary_period = 4;
    if (CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error)) gguf_kept(&m);
}

/* A model from GGUF is written as a folder: Gemma's gains lose their 1. */
TEST(gguf_folders)
{
    for (int i = 0; i < GGUF_NAMES; i++) {
        static char config[8192], tensors[GGUF_ROOM];
        static float want[GGUF_LOGITS];
        tfn_model gguf, again;
        tfn_export x;
        tfn_import in;
        tfn_file weights = folders_to(tensors, sizeof tensors);
        tfn_file text = folders_to(config, sizeof config);
        CASE("%s", gguf_names[i]);
        if (!gguf_model(&gguf, gguf_path(gguf_names[i], ".gguf"))) return;
        memset(&x, 0, sizeof x);
        x.weights = &weights;
        x.config = &text;
        if (!CHECK_OK(tfn_export_write(&x, &gguf), &x.error)) return;
        weights = folders_from(tensors, (size_t)weights.used);
        in = folders_import(config, (size_t)text.used, &weights);
        if (!CHECK_OK(tfn_file_open(&weights), &weights.error)) return;
        if (!folders_load(&again, &in, true)) return;
        gguf_same(&again, want, gguf_logits(&gguf, want));
        tfn_model_free(&again);
        tfn_model_free(&gguf);
    }
}

/* A program asks for ids of tokens by the hub's names. */
TEST(gguf_texts)
{
    char text[16];
    tfn_import x = folders_import(NULL, 0, NULL);
    x.folder = gguf_path("llama", ".gguf");
    CHECK_INT(tfn_import_text(&x, "eos_token_id", text, sizeof text), 1);
    CHECK(!strcmp(text, "2"));
    CHECK_INT(tfn_import_text(&x, "bos_token_id", text, sizeof text), 0);
    x.folder = gguf_path("tokens-bpe", ".gguf");
    CHECK_INT(tfn_import_text(&x, "chat_template", text, sizeof text), 11);
    CHECK(!strcmp(text, "{{ \"\xc3\xa4\" }}\n"));
}

/* -- tokenizers ------------------------------------------------------------------------------ */

/* Makes the tokenizer of an open file. False: it has none. */
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

/* Makes the tokenizer of a file, and closes the file. */
static bool gguf_take(tfn_file *f, tfn_tokenizer *k, void **mem)
{
    const bool good = CHECK_OK(tfn_gguf_open(f), &f->error) && gguf_tokenizer(f, k, mem);
    CHECK(good);
    tfn_file_close(f);
    return good && CHECK_OK(k->error.status, &k->error);
}

/* Both tokenizers give a text the same ids. */
static void gguf_same_ids(const tfn_tokenizer *a, const tfn_tokenizer *b, const char *text,
                          ptrdiff_t least)
{
    int32_t ids[2][80];
    const ptrdiff_t count = tfn_tokenizer_encode_specials(a, ids[0], 80, text, strlen(text));
    CHECK(count >= least && count <= 80);
    CHECK_INT(tfn_tokenizer_encode_specials(b, ids[1], 80, text, strlen(text)), count);
    CHECK_BITS(ids[1], ids[0], (size_t)count * sizeof **ids);
    CHECK_INT(b->begins, a->begins);
    CHECK_INT(b->ends, a->ends);
}

/* The ids of llama.cpp. first: the token in front of a text; -1: none. real/gguf.mjs reads these
 * rows. */
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
        tfn_file f = folders_from(NULL, 0);
        CASE("%s: %s", rows[i].file, rows[i].text);
        f.path = gguf_path(rows[i].file, ".gguf");
        if (!gguf_take(&f, &k, &mem)) return;
        CHECK_INT(k.begins ? k.frame[0] : -1, rows[i].first);
        CHECK_INT(tfn_tokenizer_encode(&k, ids, 40, rows[i].text, strlen(rows[i].text)), count);
        for (int32_t n = 0; n < count; n++) CHECK_INT(ids[n], rows[i].ids[n]);
        free(mem);
    }
}

/* Replaces every occurrence of n bytes in gguf_bytes. */
static void gguf_replace(size_t size, const char *from, const char *to, size_t n)
{
    for (size_t i = 0; i + n <= size; i++)
        if (!memcmp(gguf_bytes + i, from, n)) memcpy(gguf_bytes + i, to, n);
}

/* An added token is a text, even if its characters also stand for bytes, as U+00F5 does here. */
TEST(gguf_tokens_added)
{
    static const char text[] = "the\xc3\xb5\xc3\xb5\xc3\xb5\xc3\xb5";
    int32_t ids[8];
    void *mem = NULL;
    tfn_tokenizer k;
    tfn_file f = gguf_golden("tokens-bpe");
    gguf_replace(f.from_size, "<tool>", text + 3, 6);
    if (!gguf_take(&f, &k, &mem)) return;
    CHECK_INT(tfn_tokenizer_encode(&k, ids, 8, text, sizeof text - 1), 4);
    CHECK_INT(ids[1], 269);
    free(mem);
}

/* A tokenizer that is written with a model and read again gives the same ids. */
TEST(gguf_tokens_again)
{
    static const char *const files[] = { "tokens-bpe", "tokens-digits", "tokens-llama",
                                         "tokens-gemma" };
    static const char text[] = "the thing in 1234  \xc3\xa4 <|end|> <tool>\n";
    for (int i = 0; i < 4; i++) {
        void *mem[2] = { NULL, NULL };
        tfn_tokenizer k[2];
        tfn_model_desc d;
        tfn_model m;
        tfn_export x;
        tfn_file f = folders_from(NULL, 0);
        CASE("%s", files[i]);
        f.path = gguf_path(files[i], ".gguf");
        if (!gguf_take(&f, &k[0], &mem[0])) return;
        d = gguf_small(k[0].vocab + 2);
        if (!CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error)) return;
        memset(&x, 0, sizeof x);
        f = folders_to(gguf_other, sizeof gguf_other);
        x.weights = &f;
        x.tokenizer = &k[0];
        x.name = "again";
        x.chat_template = "{{ \"\xc3\xa4\" }}";
        CHECK_OK(tfn_export_gguf(&x, &m), &x.error);
        CHECK(!memcmp(gguf_other + 24 + 8 + 20 + 4, "\5\0\0\0\0\0\0\0llama", 13));
        CHECK(!memcmp(gguf_other + 24 + 8 + 20 + 4 + 8 + 5 + 8, "general.name", 12));
        f = folders_from(gguf_other, (size_t)f.used);
        if (!gguf_take(&f, &k[1], &mem[1])) return;
        x.name = "my-phi3";             /* llama.cpp would look for Phi-3's tokens */
        f = folders_to(gguf_other, sizeof gguf_other);
        CHECK_OK(tfn_export_gguf(&x, &m), &x.error);
        CHECK(!memcmp(gguf_other + 24 + 8 + 20 + 4 + 8 + 5 + 8, "general.alignment", 17));
        gguf_same_ids(&k[0], &k[1], text, 13);
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
    if (!gguf_model(&m, gguf_path("floats", ".gguf"))) return;
    for (int i = 0; i < 2; i++) {
        tfn_export x;
        tfn_file f = gguf_golden(types[i].name), own = folders_to(gguf_other, sizeof gguf_other);
        tfn_tensor t, u;
        CASE("%s", types[i].name);
        memset(&x, 0, sizeof x);
        x.weights = &own;
        x.dtype = types[i].dtype;
        CHECK_OK(tfn_export_gguf(&x, &m), &x.error);
        CHECK_INT(x.tensors, 11);
        CHECK_INT(x.kept, types[i].kept);
        own = folders_from(gguf_other, (size_t)own.used);
        CHECK_OK(tfn_gguf_open(&own), &own.error);
        CHECK_OK(tfn_gguf_open(&f), &f.error);
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
    tfn_file f = gguf_golden("blocks");
    if (!CHECK_OK(tfn_gguf_open(&f), &f.error)) return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char name[32];
        tfn_tensor t, u;
        CASE("%s", types[i]);
        snprintf(name, sizeof name, "%s.values", types[i]);
        CHECK(tfn_file_find(&f, types[i], &t) && tfn_file_find(&f, name, &u));
        if (check_errors) return;
        CHECK_INT(t.count, u.count);
        CHECK_OK(tfn_file_read(&f, &t, got, 0, t.count), &f.error);
        CHECK_OK(tfn_file_read(&f, &u, want, 0, u.count), &f.error);
        for (int64_t k = 0; k < t.count; k++) CHECK(got[k] >= want[k] && got[k] <= want[k]);
        CHECK_OK(tfn_file_read(&f, &t, some, 31, 3), &f.error);          /* across blocks of 32 */
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
    tfn_file f = folders_from(bytes, size);
    void *mem = NULL;
    if (tfn_gguf_open(&f) != TFN_OK) {
        CHECK(f.error.text != NULL);
        return;
    }
    for (int32_t i = 0; tfn_file_tensor(&f, i, &t); i++) {
        CHECK(t.at <= size && t.bytes <= size - t.at);
        if (t.count > 0) CHECK_OK(tfn_file_read(&f, &t, value, t.count - 1, 1), &f.error);
        f.error.status = TFN_OK;
    }
    gguf_tokenizer(&f, &k, &mem);
    free(mem);
    tfn_file_close(&f);
}
static void gguf_hostile_file(const char *name, size_t head)
{
    const size_t size = gguf_golden(name).from_size;
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
    tfn_file f = gguf_golden("llama");
    memcpy(gguf_bytes + at, bytes, n);
    CASE("%s", says);
    CHECK_INT(tfn_gguf_open(&f), status);
    CHECK_SAYS(&f.error, says);
    tfn_file_close(&f);
}
static void gguf_no_tokenizer(const char *word, const char *other, const char *says)
{
    tfn_tokenizer_source source;
    tfn_file f = gguf_golden("llama");
    gguf_replace(f.from_size, word, other, strlen(word));
    CASE("%s", says);
    CHECK_OK(tfn_gguf_open(&f), &f.error);
    CHECK_INT(tfn_gguf_tokenizer(&f, &source, NULL, 0), 0);
    CHECK_INT(f.error.status, TFN_UNSUPPORTED);
    CHECK_SAYS(&f.error, says);
    tfn_file_close(&f);
}

static size_t gguf_size;
/* Writes the first gguf_size of gguf_bytes to a file. */
static void gguf_keep(const char *path)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(gguf_bytes, 1, gguf_size, f) == gguf_size);
    if (f) fclose(f);
}
/* The import of the file in gguf_bytes, by a path, is refused. */
static void gguf_unknown(const char *says)
{
    tfn_model m;
    gguf_keep("build/wrong.gguf");
    CHECK_INT(tfn_import_new(&m, "build/wrong.gguf", NULL), TFN_UNSUPPORTED);
    CHECK_SAYS(&m.error, says);
    remove("build/wrong.gguf");
}

/* Divisors of rates that no scaling of Llama 3 gives. */
static void gguf_wrong_rates(int which, float value)
{
    tfn_tensor t;
    tfn_file f = gguf_golden("llama3");
    CASE("rate %d by %g", which, (double)value);
    CHECK_OK(tfn_gguf_open(&f), &f.error);
    CHECK(tfn_file_find(&f, "rope_freqs.weight", &t));
    if (check_errors) return;
    memcpy(gguf_bytes + t.at + 4*which, &value, sizeof value);
    gguf_size = f.from_size;
    tfn_file_close(&f);
    gguf_unknown("rope_freqs.weight");
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

/* Returns the place in gguf_bytes that is `more` bytes after this text. */
static unsigned char *gguf_after(const char *text, size_t more)
{
    const size_t n = strlen(text);
    for (size_t at = 0; at + n + more < gguf_size; at++)
        if (!memcmp(gguf_bytes + at, text, n)) return gguf_bytes + at + n + more;
    FAIL("no %s", text);
    return gguf_bytes;
}
static void gguf_set(const char *text, size_t more, unsigned value)
{
    unsigned char *to = gguf_after(text, more);
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> 8*i);
}

/* A file is refused if its heads have no rates or too many, or if it has no heads. */
TEST(gguf_rates_of_other_heads)
{
    static const struct { unsigned heads, size, rates; const char *says; } rows[] = {
        { 4, 1, 0, "rope_freqs.weight does not divide" },
        { 4, 8194, 4097, "rope_freqs.weight does not divide" },
        { 0, 8, 4, "head_count is 0; a positive number is expected" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_import x = folders_import(NULL, 0, NULL);
        tfn_model_desc d = folders_desc(true);
        CASE("row %d", (int)i);
        gguf_size = gguf_golden("llama3").from_size;
        memset(gguf_bytes + gguf_size, 0, 32768);
        gguf_size += 32768;
        gguf_set("llama.attention.head_count", 4, rows[i].heads);
        gguf_set("llama.attention.key_length", 4, rows[i].size);
        gguf_set("llama.attention.value_length", 4, rows[i].size);
        gguf_set("rope_freqs.weight", 4, rows[i].rates);
        gguf_keep("build/rates.gguf");
        x.folder = "build/rates.gguf";
        CHECK_INT(tfn_import_peek(&x, &d), TFN_UNSUPPORTED);
        CHECK_SAYS(&x.error, rows[i].says);
        remove("build/rates.gguf");
    }
}

/* Divisors of 1 mean no scaling. There must be one for each rate. */
TEST(gguf_rates_without_scaling)
{
    static const char name[] = "rope_freqs.weight";
    const float one = 1;
    tfn_import x = folders_import(NULL, 0, NULL);
    tfn_model_desc d = folders_desc(true);
    tfn_tensor t;
    tfn_file f = gguf_golden("llama3");
    CHECK_OK(tfn_gguf_open(&f), &f.error);
    CHECK(tfn_file_find(&f, name, &t) && t.count > 1);
    if (check_errors) return;
    for (int64_t i = 0; i < t.count; i++)
        memcpy(gguf_bytes + t.at + 4 * (uint64_t)i, &one, sizeof one);
    gguf_size = f.from_size;
    tfn_file_close(&f);
    gguf_keep("build/rates.gguf");
    x.folder = "build/rates.gguf";
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    CHECK_INT(d.rotary_scaling, TFN_ROTARY_SCALING_NONE);
    remove("build/rates.gguf");
    gguf_set(name, 4, (unsigned)t.count - 1);       /* after the number of dimensions */
    gguf_unknown(name);
}

TEST(gguf_errors)
{
    gguf_wrong(0, "GGML", 4, TFN_BAD_FORMAT, "does not begin with GGUF");
    gguf_wrong(4, "\1", 1, TFN_UNSUPPORTED, "its version is 1; 2 and 3 are read");
    CHECK_INT(tfn_gguf_open(NULL), TFN_NULL);

    /* an unknown pre-tokenizer, and an unknown kind of tokenizer */
    gguf_no_tokenizer("gpt-2", "gpt-3", "pre-tokenizer \"gpt-3\" is not read");
    gguf_no_tokenizer("gpt2", "gpt3", "model is \"gpt3\"; gpt2 and llama are read");

    /* an unknown architecture */
    gguf_size = gguf_golden("llama").from_size;
    gguf_replace(gguf_size, "llama", "laama", 5);
    gguf_unknown("laama");
}

/* -- files by hand --------------------------------------------------------------------------- */

enum { GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING,
       GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64, GGUF_TYPES };

/* Build a file in gguf_bytes. */
static void gguf_put(const void *s, size_t n)
{
    memcpy(gguf_bytes + gguf_size, s, n);
    gguf_size += n;
}
static void gguf_put_number(uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++, x >>= 8) gguf_bytes[gguf_size++] = (unsigned char)x;
}
static void gguf_put_text(const char *s)
{
    gguf_put_number(strlen(s), 8);
    gguf_put(s, strlen(s));
}
static void gguf_put_key(const char *key, int type)
{
    gguf_put_text(key);
    gguf_put_number((uint64_t)type, 4);
}
static void gguf_begin(const char *arch, uint64_t tensors, uint64_t keys)
{
    gguf_size = 0;
    gguf_put("GGUF\3\0\0\0", 8);
    gguf_put_number(tensors, 8);
    gguf_put_number(keys + 1, 8);
    gguf_put_key("general.architecture", GGUF_STRING);
    gguf_put_text(arch);
}
static tfn_file gguf_file(void) { return folders_from(gguf_bytes, gguf_size); }
static void gguf_says(const char *says)
{
    tfn_file f = gguf_file();
    CASE("%s, %d bytes", says, (int)gguf_size);
    CHECK(tfn_gguf_open(&f) != TFN_OK && !f.header);
    CHECK_SAYS(&f.error, says);
}

/* Each type of value as the text that a rule of an import reads. */
TEST(gguf_values)
{
    static const struct { int type, bytes; uint64_t value; const char *text; } rows[] = {
        { GGUF_U8, 1, 200, "200" }, { GGUF_I8, 1, 0xff, "-1" }, { GGUF_I8, 1, 5, "5" },
        { GGUF_U16, 2, 65535, "65535" }, { GGUF_I16, 2, 0x8000, "-1" },
        { GGUF_I32, 4, 0x7fffffff, "2147483647" }, { GGUF_F32, 4, 0x3f000000, "0.5" },
        { GGUF_BOOL, 1, 1, "true" }, { GGUF_BOOL, 1, 0, "false" },
        { GGUF_U64, 8, UINT64_MAX, "-1" }, { GGUF_U64, 8, 7, "7" },
        { GGUF_I64, 8, (uint64_t)1 << 63, "-1" },
        { GGUF_F64, 8, (uint64_t)0x3fd << 52, "0.25" }
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    static char long_text[601], text[700];
    tfn_import x = folders_import(NULL, 0, NULL);
    memset(long_text, 'x', sizeof long_text - 1);
    gguf_begin("llama", 0, ROWS + 3);
    for (int i = 0; i < ROWS; i++) {
        char key[20];
        snprintf(key, sizeof key, "llama.k.%d", i);
        gguf_put_key(key, rows[i].type);
        gguf_put_number(rows[i].value, rows[i].bytes);
    }
    gguf_put_key("llama.numbers", GGUF_ARRAY);
    gguf_put_number(GGUF_U16, 4), gguf_put_number(2, 8), gguf_put_number(0x30002, 4);
    gguf_put_key("llama.texts", GGUF_ARRAY);
    gguf_put_number(GGUF_STRING, 4), gguf_put_number(2, 8), gguf_put_text("a"), gguf_put_text("");
    gguf_put_key("tokenizer.chat_template", GGUF_STRING);
    gguf_put_text(long_text);
    gguf_keep("build/values.gguf");
    x.folder = "build/values.gguf";
    for (int i = 0; i < ROWS; i++) {
        char key[20];
        snprintf(key, sizeof key, "k/%d", i);
        CHECK(tfn_import_text(&x, key, text, sizeof text) == strlen(rows[i].text));
        if (strcmp(text, rows[i].text)) FAIL("%s is %s, not %s", key, text, rows[i].text);
    }
    tfn_import_text(&x, "numbers", text, sizeof text);
    CHECK(!strcmp(text, "[]"));
    tfn_import_text(&x, "texts", text, sizeof text);
    CHECK(!strcmp(text, "[]"));
    CHECK_INT(tfn_import_text(&x, "chat_template", text, sizeof text), sizeof long_text - 1);
    CHECK(!strcmp(text, long_text));
    remove("build/values.gguf");
    CHECK(tfn_import_text(&x, "numbers", text, sizeof text) == 0 && x.error.status == TFN_BAD_FILE);
}

/* A key that is too long for any known one is skipped: it is not taken for the key before it. */
TEST(gguf_long_keys)
{
    static char key[601];
    memset(key, 'k', sizeof key - 1);
    gguf_begin("unheard-of", 0, 1);
    gguf_put_key(key, GGUF_STRING);
    gguf_put_text("nothing");
    gguf_unknown("unheard-of");
}

/* Gemma 2 and 3 of 27 B, which have other scales, are refused by their number of layers. */
TEST(gguf_scales)
{
    static const struct { const char *arch; int layers; bool good; } rows[] = {
        { "gemma2", 46, false }, { "gemma3", 62, false }, { "gemma2", 26, true },
        { "gemma3", 0, true }, { "llama", 46, true }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char key[40], text[400];
        tfn_import x = folders_import(NULL, 0, NULL);
        CASE("%s, %d layers", rows[i].arch, rows[i].layers);
        gguf_begin(rows[i].arch, 0, rows[i].layers > 0);
        snprintf(key, sizeof key, "%s.block_count", rows[i].arch);
        gguf_put_key(key, GGUF_U32);
        gguf_put_number((uint64_t)rows[i].layers, 4);
        gguf_keep("build/scale.gguf");
        x.folder = "build/scale.gguf";
        tfn_import_text(&x, "block_count", text, sizeof text);
        CHECK((x.error.status == TFN_OK) == rows[i].good);
        if (!rows[i].good) CHECK_SAYS(&x.error, "27 B");
    }
    remove("build/scale.gguf");
}

static void gguf_put_tensor(const char *name, uint64_t rank, const uint64_t *side, uint64_t type, uint64_t at)
{
    gguf_put_text(name);
    gguf_put_number(rank, 4);
    for (uint64_t k = 0; k < rank; k++) gguf_put_number(side[k & 1], 8);
    gguf_put_number(type, 4);
    gguf_put_number(at, 8);
}

/* A file must not scale the rates of positions twice, by keys and by the divisors in
 * rope_freqs.weight. */
TEST(gguf_two_scalings)
{
    static const struct { const char *key; unsigned value; } keys[] = {
        { "context_length", 64 }, { "embedding_length", 16 }, { "block_count", 1 },
        { "attention.head_count", 2 }, { "feed_forward_length", 32 }
    };
    static const uint64_t embedding[] = { 16, 10 }, rates[] = { 4 };
    enum { KEYS = sizeof keys / sizeof *keys };
    for (int linear = 0; linear < 2; linear++) {
        tfn_import x = folders_import(NULL, 0, NULL);
        tfn_model_desc d = folders_desc(true);
        CASE("linear %d", linear);
        gguf_begin("llama", 2, KEYS + 1 + 2 * (uint64_t)linear);
        for (int i = 0; i < KEYS; i++) {
            char key[60];
            snprintf(key, sizeof key, "llama.%s", keys[i].key);
            gguf_put_key(key, GGUF_U32);
            gguf_put_number(keys[i].value, 4);
        }
        gguf_put_key("llama.attention.layer_norm_rms_epsilon", GGUF_F32);
        gguf_put_number(0x3727c5ac, 4);                         /* 1e-5 */
        if (linear) {
            gguf_put_key("llama.rope.scaling.type", GGUF_STRING);
            gguf_put_text("linear");
            gguf_put_key("llama.rope.scaling.factor", GGUF_F32);
            gguf_put_number(0x40000000, 4);                     /* 2 */
        }
        gguf_put_tensor("token_embd.weight", 2, embedding, 0, 0);
        gguf_put_tensor("rope_freqs.weight", 1, rates, 0, 640);
        while (gguf_size % 32) gguf_put_number(0, 1);
        for (int i = 0; i < 164; i++) gguf_put_number(0x3f800000, 4);   /* 1 */
        gguf_keep("build/scalings.gguf");
        x.folder = "build/scalings.gguf";
        tfn_import_peek(&x, &d);
        if (linear) CHECK_SAYS(&x.error, "rope_freqs.weight does not divide");
        else CHECK_OK(x.error.status, &x.error);
        remove("build/scalings.gguf");
    }
}

/* Keys and tensors that are invalid, each with its message. */
TEST(gguf_wrong_by_hand)
{
    static const char bad[] = "it is no valid GGUF at byte";
    static const struct {
        const char *name;
        uint64_t rank, side[2], type, at;
        const char *says;
    } t[] = {
        { "t", 0, { 1, 1 }, 0, 0, bad }, { "t", 5, { 1, 1 }, 0, 0, bad },
        { "", 1, { 1, 1 }, 0, 0, bad },
        { "t", 1, { (uint64_t)1 << 40, 1 }, 0, 0, bad },
        { "a b", 1, { 1, 1 }, 0, 0, bad }, { "a\"b", 1, { 1, 1 }, 0, 0, bad },
        { "a\\b", 1, { 1, 1 }, 0, 0, bad }, { "a\x7f", 1, { 1, 1 }, 0, 0, bad },
        { "t", 1, { 1, 1 }, 99, 0, "t has the type 99 of ggml, which is not read" },
        { "t", 1, { 20, 1 }, 8, 0, "t has rows that do not fill blocks" },
        { "t", 2, { (uint64_t)1 << 39, (uint64_t)1 << 39 }, 0, 0,
          "t has rows that do not fill blocks" },
        { "t", 1, { 3, 1 }, 0, 0, "t ends after the end of the file" },
        { "t", 1, { 1, 1 }, 0, 128, "t ends after the end of the file" }
    };
    static const char *const keys[] = { "x", "llama.x" };
    tfn_file f;
    for (int i = 0; i < 2; i++) {
        gguf_begin("llama", 0, 1);
        gguf_put_key(keys[i], GGUF_TYPES);
        gguf_put_number(0, 8);
        gguf_says(bad);
        gguf_begin("llama", 0, 1);
        gguf_put_key(keys[i], GGUF_ARRAY);
        gguf_put_number(GGUF_ARRAY, 4), gguf_put_number(1, 8);
        gguf_says(bad);
        gguf_begin("llama", 0, 1);
        gguf_put_key(keys[i], GGUF_ARRAY);
        gguf_put_number(GGUF_U8, 4), gguf_put_number((uint64_t)1 << 40, 8);
        gguf_says(bad);
    }
    gguf_begin("llama", 0, 1);
    gguf_put_key("general.alignment", GGUF_U32);
    gguf_put_number(0, 4);
    gguf_says(bad);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        gguf_begin("llama", 1, 0);
        gguf_put_tensor(t[i].name, t[i].rank, t[i].side, t[i].type, t[i].at);
        while (gguf_size % 32) gguf_put_number(0, 1);
        gguf_put_number(0, 8);
        gguf_says(t[i].says);
    }
    gguf_begin("llama", 0, 2);                      /* values of other types are ignored */
    gguf_put_key("general.alignment", GGUF_STRING);
    gguf_put_text("0");
    gguf_put_key("general.architecture", GGUF_U8);
    gguf_put_number(0, 1);
    f = gguf_file();
    CHECK_OK(tfn_gguf_open(&f), &f.error);
    tfn_file_close(&f);
    f = folders_from(NULL, 0);
    f.path = "build/none.gguf";
    CHECK_INT(tfn_gguf_open(&f), TFN_BAD_FILE);
}

/* -- tokenizers by hand ----------------------------------------------------------------------- */

/* Metadata of a tokenizer of the tokens "a", "b ", and two ids that frame a text. */
typedef struct gguf_words {
    const char *model, *pre;
    int tokens, types, scores;          /* lengths of the lists; below 0: not there */
    int each;                           /* the type of the tokens */
    int begins, ends;                   /* below 0: not said */
} gguf_words;

static void gguf_put_words(const gguf_words *w)
{
    static const char *const tokens[] = { "<u>", "a", "b b", "<s>", "</s>", "c" };
    static const int types[] = { 2, 1, 4, 3, 3, 5 };
    const int lists = (w->types >= 0) + (w->scores >= 0) + (w->begins >= 0) + (w->ends >= 0);
    gguf_begin("llama", 0, (uint64_t)(6 + lists));
    gguf_put_key("tokenizer.ggml.model", GGUF_STRING), gguf_put_text(w->model);
    gguf_put_key("tokenizer.ggml.pre", GGUF_STRING), gguf_put_text(w->pre);
    gguf_put_key("tokenizer.ggml.tokens", GGUF_ARRAY);
    gguf_put_number((uint64_t)w->each, 4), gguf_put_number((uint64_t)w->tokens, 8);
    for (int i = 0; i < w->tokens; i++) gguf_put_text(tokens[i % 6]);
    if (w->types >= 0) {
        gguf_put_key("tokenizer.ggml.token_type", GGUF_ARRAY);
        gguf_put_number(GGUF_I32, 4), gguf_put_number((uint64_t)w->types, 8);
        for (int i = 0; i < w->types; i++) gguf_put_number((uint64_t)types[i % 6], 4);
    }
    if (w->scores >= 0) {
        gguf_put_key("tokenizer.ggml.scores", GGUF_ARRAY);
        gguf_put_number(GGUF_F32, 4), gguf_put_number((uint64_t)w->scores, 8);
        for (int i = 0; i < w->scores; i++) gguf_put_number(0xbf800000, 4);
    }
    gguf_put_key("tokenizer.ggml.bos_token_id", GGUF_U32), gguf_put_number(3, 4);
    gguf_put_key("tokenizer.ggml.eos_token_id", GGUF_U32), gguf_put_number(4, 4);
    gguf_put_key("tokenizer.ggml.unknown_token_id", GGUF_U32), gguf_put_number(UINT32_MAX, 4);
    if (w->begins >= 0)
        gguf_put_key("tokenizer.ggml.add_bos_token", GGUF_BOOL),
            gguf_put_number((uint64_t)w->begins, 1);
    if (w->ends >= 0)
        gguf_put_key("tokenizer.ggml.add_eos_token", GGUF_BOOL),
            gguf_put_number((uint64_t)w->ends, 1);
}

static tfn_error gguf_write(const tfn_tokenizer *k, const int32_t *specials);

/* The metadata decide whether a text has tokens in front and after. Lists of other lengths are
 * errors. */
TEST(gguf_tokens_by_hand)
{
    static const struct { gguf_words w; int begins, ends; const char *says; } rows[] = {
        { { "gpt2", "gpt-2", 6, 6, -1, GGUF_STRING, 1, 1 }, 1, 1, NULL },
        { { "gpt2", "gpt-2", 6, 6, -1, GGUF_STRING, 0, 1 }, 0, 1, NULL },
        { { "gpt2", "stablelm2", 6, -1, -1, GGUF_STRING, -1, -1 }, 0, 0, NULL },
        { { "gpt2", "llama-bpe", 6, 6, -1, GGUF_STRING, -1, -1 }, 1, 0, NULL },
        { { "gpt2", "qwen2", 6, 6, 6, GGUF_STRING, 0, 0 }, 0, 0, NULL },
        { { "llama", "default", 6, 6, -1, GGUF_STRING, -1, 1 }, 1, 1, NULL },
        { { "llama", "default", 6, 6, 6, GGUF_STRING, 0, -1 }, 0, 0, NULL },
        { { "gpt2", "qwen", 6, 6, 6, GGUF_STRING, 0, 0 }, 0, 0,
          "pre-tokenizer \"qwen\" is not read" },
        { { "gpt2", "", 6, 6, 6, GGUF_STRING, 0, 0 }, 0, 0, "pre-tokenizer \"\" is not read" },
        { { "llama", "default", 6, 5, 6, GGUF_STRING, 0, 0 }, 0, 0, "a type and a score for each" },
        { { "llama", "default", 6, 6, 7, GGUF_STRING, 0, 0 }, 0, 0, "a type and a score for each" },
        { { "llama", "default", 0, 0, 0, GGUF_STRING, 0, 0 }, 0, 0, "" },
        { { "llama", "default", 0, 0, 0, GGUF_U8, 0, 0 }, 0, 0, "it is no valid GGUF" }
    };
    char text[400];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_tokenizer_source source;
        tfn_tokenizer k;
        void *mem = NULL;
        tfn_file f;
        CASE("row %d: %s %s", (int)i, rows[i].w.model, rows[i].w.pre);
        gguf_put_words(&rows[i].w);
        f = gguf_file();
        if (!CHECK_OK(tfn_gguf_open(&f), &f.error)) return;
        if (rows[i].says) {
            CHECK_INT(tfn_gguf_tokenizer(&f, &source, text, sizeof text), 0);
            CHECK((f.error.status == TFN_OK) == !rows[i].says[0]);
            CHECK_SAYS(&f.error, rows[i].says);
        } else {
            CHECK(gguf_tokenizer(&f, &k, &mem));
            CHECK_OK(k.error.status, &k.error);
            CHECK_INT(k.begins, rows[i].begins);
            CHECK_INT(k.ends, rows[i].ends);
            if (k.begins) CHECK_INT(k.frame[0], 3);
            if (k.ends) CHECK_INT(k.frame[k.begins], 4);
            CHECK(tfn_gguf_tokenizer(&f, &source, text, 1) > 1 && !source.json && !source.model);
        }
        tfn_file_close(&f);
        CHECK_INT(tfn_gguf_tokenizer(&f, &source, text, sizeof text), 0);       /* it is closed */
        if (!rows[i].says && !strcmp(rows[i].w.model, "gpt2"))
            CHECK_INT(gguf_write(&k, NULL).status, TFN_OK);
        free(mem);
    }
}

/* A file that fails at any read, and one of another format. */
typedef struct gguf_disk { int calls, fails; } gguf_disk;
static bool gguf_get(void *user, uint64_t at, void *to, size_t bytes)
{
    gguf_disk *disk = (gguf_disk *)user;
    if (disk->calls++ == disk->fails) return false;
    memset(to, 0, bytes);                           /* a file may go on after the bytes in memory */
    if (at < GGUF_ROOM)
        memcpy(to, gguf_bytes + at, bytes < GGUF_ROOM - at ? bytes : GGUF_ROOM - at);
    return true;
}
TEST(gguf_reads_fail)
{
    static const char *const names[] = { "tokens-bpe", "tokens-llama" };
    static char text[GGUF_ROOM];
    gguf_disk disk = { 0, 0 };
    tfn_io io = { gguf_get, NULL, &disk, 0 };
    tfn_tokenizer_source source;
    tfn_file f;
    memset(text, 'x', 9999);                        /* longer than one read */
    text[9999] = 0;
    gguf_begin("llama", 0, 1);
    gguf_put_key("tokenizer.chat_template", GGUF_STRING);
    gguf_put_text(text);
    io.size = gguf_size;
    for (disk.fails = 0; disk.fails < 100; disk.fails++) {
        f = folders_from(NULL, 0);
        f.io = &io;
        disk.calls = 0;
        if (tfn_gguf_open(&f) == TFN_OK) break;
        CHECK_INT(f.error.status, TFN_BAD_FILE);
    }
    CHECK(disk.fails > 4 && f.error.status == TFN_OK);
    tfn_file_close(&f);
    f = gguf_file();
    f.work = text;
    f.work_size = 99;
    CHECK_INT(tfn_gguf_open(&f), TFN_NO_MEMORY);
    for (int i = 0; i < 2; i++) {
        io.size = gguf_golden(names[i]).from_size;
        for (disk.fails = 0; disk.fails < 1000; disk.fails++) {
            CASE("%s, read %d", names[i], disk.fails);
            f = folders_from(NULL, 0);
            f.io = &io;
            disk.calls = 0;
            if (tfn_gguf_open(&f) == TFN_OK && tfn_gguf_tokenizer(&f, &source, text, sizeof text))
                break;
            CHECK_INT(f.error.status, TFN_BAD_FILE);
            tfn_file_close(&f);
        }
        CHECK(disk.fails > 4 && f.error.status == TFN_OK);
        CHECK_INT(tfn_gguf_tokenizer(&f, NULL, text, sizeof text), 0);
        CHECK_INT(f.error.status, TFN_NULL);
        tfn_file_close(&f);
    }
    gguf_begin("llama", 0, 1);                      /* a list longer than any of ids */
    gguf_put_key("tokenizer.ggml.token_type", GGUF_ARRAY);
    gguf_put_number(GGUF_I32, 4), gguf_put_number(((uint64_t)1 << 31) + 5, 8);
    f = folders_from(NULL, 0);
    f.io = &io;
    io.size = (uint64_t)1 << 35;
    disk.fails = -1;
    CHECK_OK(tfn_gguf_open(&f), &f.error);
    CHECK_INT(tfn_gguf_tokenizer(&f, &source, text, sizeof text), 0);
    CHECK_INT(f.error.status, TFN_BAD_FORMAT);
    tfn_file_close(&f);
    f = folders_from("\2\0\0\0\0\0\0\0{}", 10);     /* safetensors, shorter than a head of GGUF */
    CHECK_OK(tfn_file_open(&f), &f.error);
    CHECK_INT(tfn_gguf_tokenizer(&f, &source, text, sizeof text), 0);
    CHECK_INT(f.error.status, TFN_BAD_FORMAT);
    tfn_file_close(&f);
}

/* -- tokenizers that are written -------------------------------------------------------------- */

static void *gguf_from_json(tfn_tokenizer *k, const char *quoted)
{
    static char json[4096];
    tfn_tokenizer_source s;
    void *mem;
    CASE("%.200s", quoted);
    strcpy(json, quoted);
    for (char *c = json; *c; c++) if (*c == '\'') *c = '"';
    memset(&s, 0, sizeof s);
    s.json = json;
    s.json_size = strlen(json);
    mem = malloc(tfn_tokenizer_size(&s) + 1);
    tfn_tokenizer_init(k, &s, mem, tfn_tokenizer_size(&s));
    CHECK_OK(k->error.status, &k->error);
    return mem;
}

/* Writes a small model with this tokenizer to gguf_bytes; tight: without work for the tokenizer. */
static bool gguf_tight;
static const char *gguf_name;                   /* of the model, or NULL */
static tfn_error gguf_write(const tfn_tokenizer *k, const int32_t *specials)
{
    tfn_model_desc d = gguf_small(k->vocab + 1);
    tfn_model m;
    tfn_export x;
    tfn_file f = folders_to(gguf_bytes, sizeof gguf_bytes);
    CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error);
    memset(&x, 0, sizeof x);
    if (gguf_tight) {
        f.work = gguf_other;
        f.work_size = tfn_export_work(&m);
    }
    x.weights = &f;
    x.tokenizer = k;
    x.name = gguf_name;
    x.specials = specials;
    tfn_export_gguf(&x, &m);
    gguf_size = (size_t)f.used;
    tfn_model_free(&m);
    return x.error;
}

#define GGUF_LEVEL "'decoder':{'type':'ByteLevel'},"
#define GGUF_BYTES "{" GGUF_LEVEL "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false," \
    "'use_regex':true},"
#define GGUF_MODEL "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2,'<s>':3,'</s>':5}," \
    "'merges':['a b']}}"
#define GGUF_FRAME(begins, ends) \
    "'post_processor':{'type':'TemplateProcessing','single':[" begins "{'Sequence':{'id':'A'}}" \
        ends \
    "],'special_tokens':{'b':{'ids':[3]},'bb':{'ids':[3,3]},'e':{'ids':[5]}}},"
#define GGUF_ID(name) "{'SpecialToken':{'id':'" name "'}}"
#define GGUF_ADDED "'added_tokens':[{'id':3,'content':'<s>','special':true},{'id':5,'content':" \
    "'</s>','special':true}],"
#define GGUF_MARK "\xe2\x96\x81"
#define GGUF_PIECES \
    "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Prepend','prepend':'" GGUF_MARK \
        "'},{'type':" \
    "'Replace','pattern':{'String':' '},'content':'" GGUF_MARK "'}]},"
#define GGUF_DECODER \
    "'decoder':{'type':'Sequence','decoders':[{'type':'Replace','pattern':{'String':'" GGUF_MARK \
        "'},'content'" \
    ":' '},{'type':'ByteFallback'},{'type':'Fuse'},{'type':'Strip','content':' '," \
    "'start':1,'stop':0}]},"
#define GGUF_BPE(more, vocab, merges) \
    "'model':{'type':'BPE','unk_token':'<u>','fuse_unk':true," more \
        "'vocab':{'<u>':0,'<0x61>':1,'<0x7A>':2,'" \
    GGUF_MARK "':3,'a':4,'b':5,'c':6" vocab "},'merges':[" merges "]}}"
#define GGUF_FALLBACK "'byte_fallback':true,"
#define GGUF_ABC ",'ab':7,'bc':8,'abc':9"

TEST(gguf_tokens_kept)
{
    static const char *const rows[] = {
        GGUF_BYTES GGUF_ADDED GGUF_FRAME(GGUF_ID("b") ",", "," GGUF_ID("e")) GGUF_MODEL,
        GGUF_BYTES GGUF_ADDED GGUF_FRAME("", "," GGUF_ID("e")) GGUF_MODEL,
        GGUF_BYTES GGUF_MODEL,
        GGUF_PIECES GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, "", ""),
        GGUF_PIECES "'added_tokens':[{'id':10,'content':'x" GGUF_MARK "y'},{'id':11,'content':"
            "'x\xe3\x81\x81y'}]," GGUF_DECODER
            GGUF_BPE(GGUF_FALLBACK, GGUF_ABC, "'a b','b c','a bc','ab c'"),
        GGUF_PIECES GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, GGUF_ABC ",'" GGUF_MARK
            "ab':12,'\xe2\x82\xac':11,'\xe2\x96\x82':13",
                                          "'a b','b c','ab c','a bc','" GGUF_MARK " ab'")
    };
    static const char text[] = "ab abc  za c abcz <s>c a";
    static const int32_t specials[] = { 1, -1, -1, -1 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_tokenizer k[2];
        void *mem[2] = { NULL, NULL };
        tfn_error e;
        tfn_file f;
        mem[0] = gguf_from_json(&k[0], rows[i]);
        e = gguf_write(&k[0], i % 2 ? specials : NULL);
        CHECK_OK(e.status, &e);
        f = gguf_file();
        if (!gguf_take(&f, &k[1], &mem[1])) return;
        gguf_same_ids(&k[0], &k[1], text, 5);
        for (int32_t id = 0; id < k[0].vocab; id++) {
            size_t bytes[2];
            const char *a = tfn_tokenizer_token(&k[0], id, &bytes[0]);
            const char *b = tfn_tokenizer_token(&k[1], id, &bytes[1]);
            if (bytes[0]) CHECK(bytes[0] == bytes[1] && !memcmp(a, b, bytes[0]));
        }
        free(mem[0]);
        free(mem[1]);
    }
}

static void gguf_unwritten(const tfn_tokenizer *k, tfn_status status, const char *says)
{
    const tfn_error e = gguf_write(k, NULL);
    CHECK_INT(e.status, status);
    CHECK_SAYS(&e, says);
}

/* Tokenizers that do something with a text that llama.cpp cannot do, and a token that is too
 * long. */
TEST(gguf_tokens_refused)
{
    static const char split[] = "no rules that split a text";
    static const char scores[] = "merges by scores of tokens";
    static const char cannot[] = "cannot normalize or split a text";
    static const char most[] = "at most one token before";
    static const char *const rows[][2] = {
        { GGUF_BYTES GGUF_ADDED GGUF_FRAME(GGUF_ID("bb") ",", "") GGUF_MODEL, most },
        { GGUF_BYTES GGUF_ADDED GGUF_FRAME("", "," GGUF_ID("bb")) GGUF_MODEL, most },
        { "{" GGUF_LEVEL "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':true,'use_regex':"
          "true},"
          GGUF_MODEL, split },
        { GGUF_BYTES "'normalizer':{'type':'Lowercase'}," GGUF_MODEL, split },
        { GGUF_BYTES "'normalizer':{'type':'NFC'}," GGUF_MODEL, split },
        { GGUF_BYTES "'model':{'type':'BPE','ignore_merges':true,'vocab':{'a':0},'merges':[]}}",
          split },
        { "{" GGUF_LEVEL "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Split',"
          "'pattern':{'Regex':'x+'},'behavior':'Isolated','invert':false},{'type':'ByteLevel',"
          "'add_prefix_space':false,"
          "'use_regex':false}]}," GGUF_MODEL, split },
        { "{" GGUF_LEVEL "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Digits',"
          "'individual_digits':false},{'type':'ByteLevel','add_prefix_space':false,'use_regex':"
          "true}]}," GGUF_MODEL, split },
        { GGUF_PIECES GGUF_DECODER GGUF_BPE("", "", ""), "needs tokens of bytes" },
        { "{" GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, "", ""), cannot },
        { GGUF_PIECES GGUF_DECODER GGUF_BPE(GGUF_FALLBACK "'ignore_merges':true,", "", ""),
          cannot },
        { "{'normalizer':{'type':'Lowercase'}," GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, "", ""),
          cannot },
        { GGUF_PIECES GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, GGUF_ABC, "'a b','b c','ab c'"),
          scores },
        { GGUF_PIECES GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, GGUF_ABC, "'a b','ab c','b c','a bc'"),
          scores }
    };
    static char json[4096];
    tfn_tokenizer k;
    void *mem;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mem = gguf_from_json(&k, rows[i][0]);
        gguf_unwritten(&k, TFN_UNSUPPORTED, rows[i][1]);
        free(mem);
    }
    strcpy(json, GGUF_BYTES "'model':{'type':'BPE','merges':[],'vocab':{'a':0,'");
    memset(json + strlen(json), 'b', 2100);
    strcat(json, "':1}}}");
    mem = gguf_from_json(&k, json);
    gguf_unwritten(&k, TFN_TOO_LARGE, "a token has 2100 bytes");
    free(mem);
    mem = gguf_from_json(&k, GGUF_PIECES GGUF_DECODER GGUF_BPE(GGUF_FALLBACK, "", ""));
    k.apart = true;                                         /* Marian's two vocabularies */
    gguf_unwritten(&k, TFN_UNSUPPORTED, cannot);
    free(mem);
    memset(&k, 0, sizeof k);
    gguf_unwritten(&k, TFN_UNSUPPORTED, "not usable");
}

/* A name that makes llama.cpp take the model for Phi-3 is left out, unless the tokenizer has the
 * tokens that it then looks for. */
TEST(gguf_name_of_another)
{
    static const char *const models[] = {
        GGUF_BYTES GGUF_MODEL,
        GGUF_BYTES "'model':{'type':'BPE','vocab':{'<unk>':0,'<|endoftext|>':1,'<s>':3,'</s>':5},"
                   "'merges':[]}}"
    };
    static const char *const names[] = { "mine", "my Phi-3", "PHI3", "phi3", "aPHI-3b" };
    static const char key[] = "general.name";
    for (int i = 0; i < 10; i++) {
        tfn_tokenizer k;
        void *mem = gguf_from_json(&k, models[i % 2]);
        bool found = false;
        CASE("%s, tokenizer %d", names[i / 2], i % 2);
        gguf_name = names[i / 2];
        CHECK_INT(gguf_write(&k, NULL).status, TFN_OK);
        gguf_name = NULL;
        for (size_t n = 0; n + sizeof key < gguf_size; n++)
            found = found || !memcmp(gguf_bytes + n, key, sizeof key - 1);
        CHECK_INT(found, i < 2 || i % 2);
        free(mem);
    }
}

/* A tokenizer of bytes is one of byte-level BPE without merges. */
TEST(gguf_bytes_kept)
{
    static const char text[] = "a \xff\n bytes";
    tfn_tokenizer_source s;
    tfn_tokenizer_desc d;
    tfn_trainer trainer;
    tfn_tokenizer k, again;
    void *block = NULL;
    void *mem, *room;
    tfn_file f;
    memset(&s, 0, sizeof s);
    memset(&d, 0, sizeof d);
    d.kind = TFN_TOKENIZER_BYTES;
    room = malloc(tfn_trainer_size(&d));
    CHECK_OK(tfn_trainer_init(&trainer, &d, room, tfn_trainer_size(&d)), &trainer.error);
    CHECK_OK(tfn_trainer_run(&trainer), &trainer.error);
    s.trainer = &trainer;
    mem = malloc(tfn_tokenizer_size(&s) + 1);
    CHECK_OK(tfn_tokenizer_init(&k, &s, mem, tfn_tokenizer_size(&s)), &k.error);
    gguf_tight = true;
    CHECK_INT(gguf_write(&k, NULL).status, TFN_NO_MEMORY);
    gguf_tight = false;
    CHECK_INT(gguf_write(&k, NULL).status, TFN_OK);
    f = gguf_file();
    if (gguf_take(&f, &again, &block)) gguf_same_ids(&k, &again, text, 10);
    free(block), free(mem), free(room);
}

/* -- writing ---------------------------------------------------------------------------------- */

/* The type of a key's value in gguf_other, or -1. */
static int gguf_type_of(const char *key, size_t size)
{
    const size_t n = strlen(key);
    for (size_t i = 0; i + n + 4 < size; i++)
        if (!memcmp(gguf_other + i, key, n)) return gguf_other[i + n];
    return -1;
}

/* Types of tensors and of settings; families by name; memory of the exact size; invalid calls. */
TEST(gguf_export_calls)
{
    static const struct { tfn_dtype dtype, found; int kept; } rows[] = {
        { TFN_DTYPE_F16, TFN_DTYPE_F16, 0 }, { TFN_DTYPE_BF16, TFN_DTYPE_BF16, 0 },
        { TFN_DTYPE_DEFAULT, TFN_DTYPE_F32, 0 }, { TFN_DTYPE_Q8_0, TFN_DTYPE_F32, 7 }
    };
    static char work[1 << 16];
    static const tfn_family other = { "other", NULL, NULL, NULL, NULL };
    tfn_model_desc d = gguf_small(40);
    const size_t none = tfn_export_gguf_work(NULL, NULL);
    size_t bytes;
    tfn_model m;
    tfn_export x;
    tfn_tensor t;
    tfn_file f;
    CHECK_INT(none, 0);
    CHECK_INT(tfn_export_gguf(NULL, NULL), TFN_NULL);
    memset(&x, 0, sizeof x);
    CHECK_INT(tfn_export_gguf(&x, NULL), TFN_NULL);
    CHECK_INT(tfn_model_new(&m, &d, NULL), TFN_OK);
    CHECK_INT(tfn_export_gguf(&x, &m), TFN_NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int family = 0; family < 3; family++) {
            tfn_family llama = other;
            CASE("row %d, family %d", (int)i, family);
            llama.name = "llama";
            memset(&x, 0, sizeof x);
            f = folders_to(gguf_other, sizeof gguf_other);
            x.weights = &f;
            x.dtype = rows[i].dtype;
            x.round = true;
            x.name = "mine";
            if (family) x.family = family == 1 ? &llama : &other;
            CHECK_OK(tfn_export_gguf(&x, &m), &x.error);
            CHECK(!strcmp(x.family->name, "llama"));
            CHECK_INT(x.kept, rows[i].kept);
            CHECK_INT(gguf_type_of("llama.rope.freq_base", (size_t)f.used), GGUF_F32);
            CHECK_INT(gguf_type_of("llama.attention.layer_norm_rms_epsilon", (size_t)f.used),
                      GGUF_F32);
            CHECK_INT(gguf_type_of("llama.block_count", (size_t)f.used), GGUF_U32);
            f = folders_from(gguf_other, (size_t)f.used);
            CHECK_OK(tfn_gguf_open(&f), &f.error);
            CHECK(tfn_file_find(&f, "blk.0.ffn_up.weight", &t) && t.dtype == rows[i].found);
            CHECK(tfn_file_find(&f, "blk.0.ffn_norm.weight", &t) && t.dtype == TFN_DTYPE_F32);
            tfn_file_close(&f);
        }
    CASE("memory");
    memset(&x, 0, sizeof x);
    bytes = tfn_export_gguf_work(&x, &m);
    for (int less = 0; less < 2; less++) {
        f = folders_from(NULL, 0);
        f.work = work;
        f.work_size = bytes - (size_t)less;
        x.weights = &f;
        CHECK_INT(tfn_export_gguf(&x, &m), less ? TFN_NO_MEMORY : TFN_OK);
    }
    x.folder = "build/no such folder/x.gguf";
    CHECK_INT(tfn_export_gguf(&x, &m), TFN_BAD_FILE);
    CHECK_INT(tfn_export_gguf_work(NULL, &m), tfn_export_work(&m));
    CASE("an error of the model");
    memset(&x, 0, sizeof x);
    x.weights = &f;
    m.error.status = TFN_NO_MEMORY;
    CHECK_INT(tfn_export_gguf(&x, &m), TFN_NOT_READY);
    tfn_model_free(&m);
}

/* Models that an architecture of llama.cpp lacks, although its keys can express them. */
TEST(gguf_lacks)
{
    static const char biases[] = "llama.cpp has other biases in";
    static const struct { const char *family, *set, *says; } rows[] = {
        { "qwen2", "attention_bias=qkv", NULL }, { "qwen2", "attention_bias=off", biases },
        { "qwen2", "attention_bias=qkv no_bias=false", biases }, { "qwen3", "qk_norm=head", NULL },
        { "qwen3", "qk_norm=head attention_bias=qkv", biases },
        { "qwen3", "qk_norm=head no_bias=false", biases },
        { "qwen2", "attention_bias=qkv head_size=4",
          "llama.cpp needs heads in qwen2 that are together as wide as the model" },
        { "phi3", "untied=true", NULL },
        { "phi3", "untied=true window=4", "llama.cpp ignores the window of phi3" },
        { "llama", "rotary_scaling=llama3 rotary_factor=8 rotary_context=64", NULL },
        { "qwen3", "qk_norm=head rotary_scaling=llama3 rotary_factor=8 rotary_context=64",
          "llama.cpp has no scaling of Llama 3 in qwen3" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_family family = { NULL, NULL, NULL, NULL, NULL };
        tfn_model_desc d = gguf_small(40);
        tfn_model m;
        tfn_export x;
        tfn_file f = folders_from(NULL, 0);
        CASE("%s, %s", rows[i].family, rows[i].set);
        for (const char *s = rows[i].set; *s; s += strcspn(s, " "), s += *s == ' ') {
            char name[40], value[40];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(s, "="), s);
            snprintf(value, sizeof value, "%.*s", (int)strcspn(strchr(s, '=') + 1, " "),
                     strchr(s, '=') + 1);
            CHECK_INT(tfn_desc_set(&d, name, value, NULL), TFN_OK);
        }
        if (!CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error)) return;
        memset(&x, 0, sizeof x);
        family.name = rows[i].family;
        x.weights = &f;
        x.family = &family;
        tfn_export_gguf(&x, &m);
        if (rows[i].says) CHECK_SAYS(&x.error, rows[i].says);
        else CHECK_OK(x.error.status, &x.error);
        tfn_model_free(&m);
    }
}

/* A scale beyond the range of a half is refused; the error has the tensor and the number of
 * blocks. */
TEST(gguf_scale_beyond)
{
    tfn_model_desc d = gguf_small(40);
    tfn_param_info p;
    tfn_model m;
    tfn_export x;
    tfn_file f = folders_from(NULL, 0);
    d.width = d.ffn = 32;
    if (!CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        if (strstr(p.name, "ffn.w1.weight")) p.data[0] = (float)1e30;
    memset(&x, 0, sizeof x);
    x.weights = &f;
    x.dtype = TFN_DTYPE_Q8_0;
    CHECK_INT(tfn_export_gguf(&x, &m), TFN_UNSUPPORTED);
    CHECK_SAYS(&x.error, "has 1 blocks whose scale is beyond");
    tfn_model_free(&m);
}

/* -- models that llama.cpp does not have ------------------------------------------------------ */

/* A model of these options is not written; the error names the reason. */
static void gguf_refused(const char *set, tfn_dtype dtype, const tfn_tokenizer *k,
                         const char *says)
{
    char option[64];
    tfn_model_desc d = gguf_small(40);
    tfn_model m;
    tfn_export x;
    snprintf(option, sizeof option, "%.*s", (int)strcspn(set, "="), set);
    if (set[0]) CHECK_INT(tfn_desc_set(&d, option, strchr(set, '=') + 1, NULL), TFN_OK);
    if (!CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error)) return;
    memset(&x, 0, sizeof x);
    x.folder = "build/refused.gguf";
    x.dtype = dtype;
    x.tokenizer = k;
    CASE("%s", says);
    CHECK(tfn_export_gguf(&x, &m) != TFN_OK);
    CHECK_SAYS(&x.error, says);
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
    CHECK_OK(tfn_tokenizer_init(&k, &source, mem, tfn_tokenizer_size(&source)), &k.error);
    gguf_refused("", TFN_DTYPE_F32, &k, "train the tokenizer bpe or bytes");
    gguf_refused("vocab=1", TFN_DTYPE_F32, &k, "the tokenizer has 2 tokens, the model 1");
    free(mem);
}

int main(void)
{
    RUN(gguf_scaling_found);
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
    RUN(gguf_rates_without_scaling);
    RUN(gguf_rates_of_other_heads);
    RUN(gguf_errors);
    RUN(gguf_values);
    RUN(gguf_long_keys);
    RUN(gguf_scales);
    RUN(gguf_two_scalings);
    RUN(gguf_wrong_by_hand);
    RUN(gguf_tokens_by_hand);
    RUN(gguf_reads_fail);
    RUN(gguf_tokens_kept);
    RUN(gguf_tokens_refused);
    RUN(gguf_bytes_kept);
    RUN(gguf_name_of_another);
    RUN(gguf_export_calls);
    RUN(gguf_lacks);
    RUN(gguf_scale_beyond);
    return DONE();
}
