/* Checkpoints of the hub: tiny models of each family, which golden/make_hub.py writes and computes
 * from the families' formulas. Logits are within 2e-5 of the largest, gradients equal autograd's,
 * decoding has the same bits, and errors name the fault of a folder. */
#include "../folders.h"
#include "../digest.h"
#if defined __has_feature
#if __has_feature(memory_sanitizer) || __has_feature(address_sanitizer) \
    || __has_feature(thread_sanitizer)
#define IMPORT_OTHER_HEAP
#endif
#elif defined __SANITIZE_ADDRESS__
#define IMPORT_OTHER_HEAP
#endif
/* The bytes of the C library's heap that are in use. */
#if defined __GLIBC__ && __GLIBC__ == 2 && __GLIBC_MINOR__ >= 33 && !defined IMPORT_OTHER_HEAP
#include <malloc.h>
#define IMPORT_IN_USE() (mallinfo2().uordblks + mallinfo2().hblkhd)
#endif

enum { IMPORT_LOGITS = 4096, IMPORT_TEXT = 1 << 16 };

/* make_hub.py writes these when it is called without names. */
static const char *const import_names[] = {
    "gpt2", "gpt2-f16", "gpt2-short-names", "llama", "llama-bf16", "llama-f16", "llama-linear",
    "llama-sharded", "llama-bin", "llama-bin-sharded", "llama-tied", "llama3", "mistral", "olmo2", "qwen2", "qwen3", "gpt2-scaled",
    "mistral-window", "qwen2-window", "qwen2-types", "gemma3_text", "gemma3_text-new",
    "gemma", "gemma2", "gemma2-bf16", "gpt_neox", "gpt_neox-serial", "gpt_neox-new-f16", "phi", "phi-qk",
    "opt", "opt-350m-form", "bert", "bert-old-names", "bert-classes",
    "distilbert", "distilbert-classes", "bloom", "marian", "marian-separate", "t5", "t5-v1.1",
    "t5-unscaled", "roberta", "roberta-classes", "roberta-tokens", "roberta-questions", "xlm-roberta-f16",
    "camembert-bf16", "mpnet", "mpnet-f16", "modernbert", "modernbert-bf16", "electra-small-generator",
    "electra-small-generator-f16", "electra-generator-f16", "electra-classes-bf16", "bart", "bart-body", "mbart-f16", "m2m_100-bf16",
    "mt5-bf16",
    "phi3", "phi3-window", "stablelm", "stablelm-parallel", "gptj",
    "gemma3", "gemma3-newer", "olmo", "olmo-plain", "granite", "smollm3", "smollm3-interval",
    "gpt_neo", "gpt_neo-types", "phi3-bf16", "gptj-f16", "gpt_neo-bf16", "granite-f16",
    "gemma3-newer-bf16", "smollm3-f16"
};
enum { IMPORT_NAMES = sizeof import_names / sizeof *import_names };

static const char *import_path(const char *name) { return folders_path("hub", name, NULL); }

/* Reads the sentences and the logits of a folder. */
typedef struct import_case {
    folders_case text;
    double       logits[IMPORT_LOGITS];
    int          n;
} import_case;
static bool import_load(import_case *c, const char *name)
{
    const char *path = folders_path("hub", name, "logits.txt");
    c->n = folders_numbers(path, c->logits, IMPORT_LOGITS);
    return folders_sentences(&c->text, name);
}

/* -- values ------------------------------------------------------------------------------------ */

/* The decoder, token by token, gives the same logits as the model, to the bit. */
static void import_decodes(tfn_model *m, const tfn_batch *batch, const float *logits)
{
    static unsigned char scratch[1 << 20];
    const int32_t vocab = m->desc.vocab;
    const size_t size = tfn_decoder_size(m, batch->batch, 1, scratch, sizeof scratch);
    void *mem = malloc(size ? size : 1);
    tfn_decoder d;
    CHECK_OK(tfn_decoder_init(&d, m, batch->batch, 1, mem, size), &d.error);
    CHECK_OK(tfn_decoder_start(&d, batch->source ? batch : NULL), &d.error);
    for (int32_t t = 0; t < batch->time; t++) {
        int32_t tokens[FOLDERS_SENTENCES];
        const float *next;
        for (int b = 0; b < FOLDERS_SENTENCES; b++) tokens[b] = batch->tokens[b * batch->time + t];
        next = tfn_decoder_next(&d, tokens, 1, NULL);
        for (int b = 0; next && b < FOLDERS_SENTENCES; b++)
            CHECK_BITS(next + b * vocab, logits + (b * batch->time + t) * vocab,
                       (size_t)vocab * sizeof *next);
        if (!next) FAIL("no logits at %d", (int)t);
    }
    free(mem);
}

/* The same logits after folding, within rounding, and after a checkpoint, to the bit. */
static void import_travels(tfn_model *m, const import_case *c, const float *logits)
{
    static unsigned char bytes[1 << 20];
    tfn_model again;
    tfn_model_desc d = m->desc;
    tfn_file f = folders_to(bytes, sizeof bytes);
    const float *found;
    CHECK_OK(tfn_model_save(&f, m, NULL), &f.error);
    f = folders_from(bytes, (size_t)f.used);
    CHECK(tfn_model_new(&again, &d, NULL) == TFN_OK);
    CHECK_OK(tfn_model_load(&again, &f), &f.error);
    found = tfn_model_logits(&again, &c->text.batch);
    CHECK(found != NULL);
    if (found) CHECK_BITS(found, logits, (size_t)c->n * sizeof *found);
    tfn_model_free(&again);

    d.folded = true;
    CHECK(tfn_model_new(&again, &d, NULL) == TFN_OK);
    CHECK_OK(tfn_model_fold(&again, m), &again.error);
    found = tfn_model_logits(&again, &c->text.batch);
    CHECK_NEAR(found, c->logits, c->n, 2e-5);
    tfn_model_free(&again);
}

static void import_logits(const char *name)
{
    static import_case c;
    static float logits[IMPORT_LOGITS];
    tfn_model m;
    const float *found;
    int n;
    CASE("%s", name);
    if (!import_load(&c, name) || !folders_model(&m, import_path(name), true)) return;
    n = c.text.count * m.desc.vocab;
    if (m.desc.head == TFN_HEAD_SEQUENCE) n = FOLDERS_SENTENCES * m.desc.classes;
    if (m.desc.head == TFN_HEAD_POSITIONS) n = c.text.count * m.desc.classes;
    CHECK_INT(c.n, n);
    found = tfn_model_logits(&m, &c.text.batch);
    CHECK_NEAR(found, c.logits, c.n, 2e-5);
    if (!found || c.n != n) return;
    memcpy(logits, found, (size_t)n * sizeof *found);
    if (m.desc.arch != TFN_ARCH_ENCODER) import_decodes(&m, &c.text.batch, logits);
    import_travels(&m, &c, logits);
    tfn_model_free(&m);
}

TEST(import_families)
{
    const char *own = getenv("IMPORT_NAMES");
    char names[1000], *name;
    if (!own)
        for (int i = 0; i < IMPORT_NAMES; i++) import_logits(import_names[i]);
    snprintf(names, sizeof names, "%s", own ? own : "");
    for (name = strtok(names, " "); name; name = strtok(NULL, " ")) import_logits(name);
}

/* A model without a head: hidden vectors of each position; BERT's pooled vector, which no head
 * reads here; and the sentence's, the mean scaled to length 1. */
TEST(import_sentences)
{
    static import_case c;
    static float vectors[64];
    tfn_model m;
    const float *hidden;
    int32_t width, time;
    CASE("minilm");
    if (!import_load(&c, "minilm") || !folders_model(&m, import_path("minilm"), true)) return;
    width = m.desc.width;
    time = c.text.batch.time;
    CHECK_INT(c.n, FOLDERS_SENTENCES * (time + 2) * width);
    hidden = tfn_model_hidden(&m, &c.text.batch, TFN_STACK_LAST, TFN_LAYERS_ALL);
    CHECK(hidden != NULL);
    for (int b = 0; hidden && b < FOLDERS_SENTENCES; b++)
        CHECK_NEAR(hidden + b * time * width, c.logits + b * (time + 2) * width, time * width,
                   2e-5);
    CHECK_OK(tfn_model_pool(&m, &c.text.batch, TFN_STACK_LAST, TFN_LAYERS_ALL, TFN_POOL_MEAN, true,
                            vectors), &m.error);
    for (int b = 0; b < FOLDERS_SENTENCES; b++)
        CHECK_NEAR(vectors + b * width, c.logits + (b * (time + 2) + time + 1) * width, width,
                   1e-5);
    tfn_model_free(&m);
}

/* Models without a head: ELECTRA's discriminator, whose own head is skipped; MPNet, although its
 * config.json names a class with a head; ModernBERT. */
TEST(import_bodies)
{
    static const char *const names[] = { "electra", "electra-small", "electra-small-bf16",
                                         "mpnet-body-bf16", "modernbert-body-f16" };
    static import_case c;
    for (int i = 0; i < 5; i++) {
        tfn_model m;
        const float *hidden;
        CASE("%s", names[i]);
        if (!import_load(&c, names[i]) || !folders_model(&m, import_path(names[i]), true)) continue;
        CHECK(!m.desc.head_transform && !m.desc.output_bias && m.desc.segments == (i < 3 ? 2 : 0));
        CHECK_INT(c.n, c.text.count * m.desc.width);
        hidden = tfn_model_hidden(&m, &c.text.batch, TFN_STACK_LAST, TFN_LAYERS_ALL);
        CHECK_NEAR(hidden, c.logits, c.n, 2e-5);
        tfn_model_free(&m);
    }
}

/* A blank model is all 0, or keeps the contents of the caller's memory, and is loaded like any
 * other. */
TEST(import_blank)
{
    static float weights[8192];
    tfn_model m, own;
    tfn_model_desc d;
    tfn_param_info p;
    if (!folders_model(&m, import_path("gpt2"), true)) return;
    CHECK(!m.desc.blank);
    d = m.desc;
    d.blank = true;
    CHECK(tfn_model_new(&own, &d, NULL) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&own, i, &p); i++)
        for (int32_t k = 0; k < p.rows * p.cols; k++) CHECK(!(p.data[k] > 0 || p.data[k] < 0));
    tfn_model_free(&own);
    CHECK(m.param_floats <= 8192);
    memcpy(weights, m.params, (size_t)m.param_floats * sizeof *weights);
    d.parameters = weights;
    for (int training = 0; training < 2; training++) {
        d.inference = !training;
        CHECK(tfn_model_new(&own, &d, NULL) == TFN_OK);
        CHECK(tfn_model_hash(&own) == tfn_model_hash(&m));
        tfn_model_free(&own);
    }
    tfn_model_free(&m);
}

/* -- weights of fewer bits --------------------------------------------------------------------- */

static const tfn_weights import_types[] = { TFN_WEIGHTS_Q8, TFN_WEIGHTS_Q4, TFN_WEIGHTS_BF16,
                                            TFN_WEIGHTS_F16 };
enum { IMPORT_TYPES = sizeof import_types / sizeof *import_types };

/* Two models of one kind must have the same weights, to the bit. */
static void import_same(const tfn_model *found, const tfn_model *wanted)
{
    tfn_param_info p, q;
    int32_t i, packed = 0;
    for (i = 0; tfn_model_param(wanted, i, &q) && tfn_model_param(found, i, &p); i++) {
        const size_t bytes = q.packed ? q.bytes : (size_t)q.rows * (size_t)q.cols * sizeof(float);
        CASE("%s of %s", q.name, tfn_choice_name("weights", (int32_t)wanted->desc.weights));
        packed += q.packed != NULL;
        CHECK(p.weights == q.weights && (!q.packed || p.bytes == q.bytes));
        CHECK_BITS(q.packed ? p.packed : p.data, q.packed ? q.packed : q.data, bytes);
    }
    CHECK(packed > 4 && found->step == wanted->step);
    CHECK(tfn_model_hash(found) == tfn_model_hash(wanted));
}

/* Quantizes a model of floats. */
static void import_quantize(tfn_model *to, const tfn_model *from, tfn_weights type)
{
    tfn_model_desc d = from->desc;
    d.weights = type;
    CHECK(tfn_model_new(to, &d, NULL) == TFN_OK);
    CHECK(tfn_model_quantize(to, from) == TFN_OK);
}

/* Imports a folder into packed weights: they equal its model in floats, quantized. */
static void import_packs(const char *name)
{
    tfn_model floats, wanted, found;
    tfn_model_desc d = folders_desc(true);
    CASE("%s", name);
    if (!folders_model(&floats, import_path(name), true)) return;
    for (int i = 0; i < IMPORT_TYPES; i++) {
        d.weights = import_types[i];
        import_quantize(&wanted, &floats, d.weights);
        if (CHECK_OK(tfn_import_new(&found, import_path(name), &d), &found.error))
            import_same(&found, &wanted);
        tfn_model_free(&found);
        tfn_model_free(&wanted);
    }
    tfn_model_free(&floats);
}

TEST(import_packed)
{
    for (int i = 0; i < IMPORT_NAMES; i++) import_packs(import_names[i]);
    import_packs("minilm");
    import_packs("electra");
}

/* A file in memory, read by callbacks, of which one fails, or none (-1). */
typedef struct import_disk {
    const unsigned char *bytes;
    int calls, fails;
} import_disk;

static bool import_get(void *user, uint64_t at, void *to, size_t bytes)
{
    import_disk *disk = (import_disk *)user;
    if (disk->calls++ == disk->fails) return false;
    memcpy(to, disk->bytes + at, bytes);
    return true;
}

/* The content of a model's folder. */
typedef struct import_wide {
    char          config[IMPORT_TEXT];
    size_t        config_size, size;
    unsigned char *bytes;
} import_wide;

static bool import_write(import_wide *w, const char *name, const tfn_model *m)
{
    tfn_export x;
    tfn_file config = folders_to(w->config, sizeof w->config), weights;
    w->size = 4 * (size_t)m->param_floats + 65536;
    w->bytes = (unsigned char *)malloc(w->size);
    weights = folders_to(w->bytes, w->size);
    memset(&x, 0, sizeof x);
    x.config = &config;
    x.weights = &weights;
    x.family = tfn_family_find(name);
    CHECK_OK(tfn_export_write(&x, m), &x.error);
    w->config_size = (size_t)config.used;
    w->size = (size_t)weights.used;
    return x.error.status == TFN_OK;
}

/* Imports the model again with callbacks that fail at call `fails`; returns the error. */
static tfn_error import_again(const import_wide *w, tfn_model *m, int fails)
{
    import_disk disk = { w->bytes, 0, -1 };
    tfn_io io = { import_get, NULL, &disk, 0 };
    tfn_file f = folders_from(NULL, 0);
    tfn_import x = folders_import(w->config, w->config_size, &f);
    io.size = w->size;
    f.io = &io;
    CHECK_OK(tfn_file_open(&f), &f.error);
    disk.calls = 0;
    disk.fails = fails;
    tfn_import_weights(&x, m);
    tfn_file_close(&f);
    return x.error;
}

/* Sides that are longer than a tile, and not multiples of blocks and panels. */
static void import_packs_wide(const char *name, int32_t width, int32_t rotary)
{
    static import_wide w;
    tfn_model floats, wanted, found;
    tfn_model_desc d = folders_desc(true);
    tfn_param_info p;
    const size_t size = folders_config(name, w.config, sizeof w.config);
    tfn_import x = folders_import(w.config, size, NULL);
    CASE("%s", name);
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    d.vocab = 77;
    d.context = 8;
    d.layers = 1;
    d.width = width;
    d.heads = 2;
    d.kv_heads = 0;
    d.head_size = 0;
    d.rotary_size = rotary;
    d.ffn = 2100;
    CHECK(tfn_model_new(&floats, &d, NULL) == TFN_OK);
    if (!import_write(&w, name, &floats)) return;
    for (int i = 0; i < IMPORT_TYPES; i++) {
        import_quantize(&wanted, &floats, import_types[i]);
        CHECK(tfn_model_new(&found, &wanted.desc, NULL) == TFN_OK);
        for (int32_t k = 0; tfn_model_param(&found, k, &p); k++)        /* overwrites old weights */
            if (p.packed) memset(p.packed, 0x5a, p.bytes);
        x.error = import_again(&w, &found, -1);
        if (CHECK_OK(x.error.status, &x.error)) import_same(&found, &wanted);
        tfn_model_free(&found);
        tfn_model_free(&wanted);
    }
    free(w.bytes);
    tfn_model_free(&floats);
}

TEST(import_packed_wide)
{
    import_packs_wide("gpt2", 144, 0);          /* (in, out); queries, keys and values in one */
    import_packs_wide("gpt2", 40, 0);
    import_packs_wide("llama", 144, 0);         /* (out, in) */
    import_packs_wide("gpt_neox", 136, 12);     /* head by head; channels in another order */
    import_packs_wide("phi", 40, 12);
    import_packs_wide("bert", 72, 0);
}

/* Whichever call of the callback fails, the model is unchanged or has the error of half a load. */
TEST(import_packed_fails)
{
    static import_wide w;
    tfn_model floats, m;
    tfn_model_desc d;
    tfn_error e;
    int whole = 0, half = 0, fails = 0;
    if (!folders_model(&floats, import_path("gpt2"), true) || !import_write(&w, "gpt2", &floats))
        return;
    d = floats.desc;
    for (int i = 0; i <= IMPORT_TYPES; i++) {
        d.weights = i ? import_types[i - 1] : TFN_WEIGHTS_FLOAT;
        for (fails = 0; ; fails++) {
            uint64_t hash;
            CASE("call %d", fails);
            CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
            hash = tfn_model_hash(&m);
            e = import_again(&w, &m, fails);
            if (e.status == TFN_OK) break;
            CHECK_SAYS(&e, "cannot be read");
            if (m.error.status == TFN_OK) {
                CHECK(tfn_model_hash(&m) == hash);
                whole++;
            } else {
                CHECK_INT(m.error.status, TFN_NOT_READY);
                CHECK_SAYS(&m.error, "half loaded");
                half++;
            }
            tfn_model_free(&m);
            if (fails > 9999) break;
        }
        CHECK(fails > 30 && fails < 9999);
        tfn_model_free(&m);
    }
    CHECK(half > 100);
    CHECK_INT(whole, 0);                        /* errors in a file are found before reading it */
    free(w.bytes);
    tfn_model_free(&floats);
}

/* -- gradients --------------------------------------------------------------------------------- */

/* The next token of a sentence is the target, or class b of sentence b. */
static void import_targets(folders_case *c, const tfn_model *m, int32_t *targets)
{
    const int32_t time = c->batch.time;
    for (int i = 0; i < c->count; i++)
        targets[i] = i % time == time - 1 ? -1 : c->tokens[i + 1];
    for (int b = 0; b < FOLDERS_SENTENCES && m->desc.head == TFN_HEAD_SEQUENCE; b++) targets[b] = b;
    c->batch.targets = targets;
}

/* A file with gradients is read like weights, into a second model. */
static void import_gradient(const char *name)
{
    static folders_case c;
    static char config[IMPORT_TEXT];
    static int32_t targets[FOLDERS_TOKENS];
    tfn_model m, wanted;
    tfn_file f = folders_from(NULL, 0);
    tfn_import x = folders_import(config, folders_config(name, config, sizeof config), &f);
    tfn_sums sums;
    tfn_param_info p, q;
    CASE("%s", name);
    if (!folders_sentences(&c, name) || !folders_model(&m, import_path(name), false)) return;
    import_targets(&c, &m, targets);
    CHECK_OK(tfn_model_gradient(&m, &c.batch, 0, false, &sums), &m.error);
    f.path = folders_path("hub", name, "gradients.safetensors");
    if (!CHECK_OK(tfn_file_open(&f), &f.error) || !folders_load(&wanted, &x, true)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p) && tfn_model_param(&wanted, i, &q); i++) {
        double off = 0, most = 0;
        for (int64_t k = 0; k < (int64_t)p.rows * p.cols; k++) {
            const double by = (double)p.grad[k] / (double)sums.targets - (double)q.data[k];
            off = check_worse(off, fabs(by));
            if (fabs((double)q.data[k]) > most) most = fabs((double)q.data[k]);
        }
        if (!(off <= 2e-5 * most + 1e-6)) FAIL("gradient of %s is off by %.1e", p.name, off / most);
    }
    tfn_model_free(&wanted);
    tfn_model_free(&m);
}

TEST(import_gradients)
{
    import_gradient("gpt2");
    import_gradient("llama");
    import_gradient("qwen2");
    import_gradient("gemma3_text");
    import_gradient("phi3");
    import_gradient("olmo");
    import_gradient("granite");
    import_gradient("gpt_neo");
    import_gradient("bloom");
    import_gradient("bert");
    import_gradient("bert-classes");
    import_gradient("distilbert");
    import_gradient("distilbert-classes");
    import_gradient("marian");
    import_gradient("t5");
}

/* -- the output of an encoder-decoder ---------------------------------------------------------- */

/* greedy.txt: sources, padded here to the longest, and the output for each. */
enum { GREEDY = 4, GREEDY_SOURCE = 16, GREEDY_TOKENS = 12 };
typedef struct import_greedy {
    int32_t source[GREEDY * GREEDY_SOURCE], lengths[GREEDY];
    int32_t wanted[GREEDY][GREEDY_TOKENS], counts[GREEDY];
    int32_t start, end, pad;
} import_greedy;

/* Reads at most `room` numbers up to the end of the line; *s becomes the next line. */
static int32_t import_line(char **s, int32_t *to, int room)
{
    char *end = strchr(*s, '\n');
    int32_t n = 0;
    while (end && *s < end && n < room) to[n++] = (int32_t)strtol(*s, s, 10);
    CHECK(end && *s == end);
    if (end) *s = end + 1;
    return n;
}

/* An id in config.json. */
static int32_t import_id(const char *name, const char *key)
{
    tfn_import x = folders_import(NULL, 0, NULL);
    char text[8];
    x.folder = import_path(name);
    CHECK(tfn_import_text(&x, key, text, sizeof text) > 0 && x.error.status == TFN_OK);
    return (int32_t)atoi(text);
}

static void import_greedy_read(import_greedy *g, const char *name)
{
    static char text[IMPORT_TEXT];
    char *s = text;
    memset(g, 0, sizeof *g);
    folders_read(folders_path("hub", name, "greedy.txt"), text, sizeof text);
    for (int i = 0; i < GREEDY; i++) {
        g->lengths[i] = import_line(&s, g->source + i * GREEDY_SOURCE, GREEDY_SOURCE);
        g->counts[i] = import_line(&s, g->wanted[i], GREEDY_TOKENS);
    }
    g->start = import_id(name, "decoder_start_token_id");
    g->end = import_id(name, "eos_token_id");
    g->pad = import_id(name, "pad_token_id");
}

/* Runs the generator from this start, on all sources at once. Returns how many texts equal the
 * file's. */
static int import_writes(tfn_model *m, const import_greedy *g, int32_t start, int32_t beam)
{
    static unsigned char scratch[1 << 20];
    int32_t starts[GREEDY] = { start, start, start, start };
    tfn_generate_desc d;
    tfn_generator w;
    tfn_batch b;
    size_t size;
    void *mem;
    int same = 0;
    memset(&d, 0, sizeof d);
    memset(&b, 0, sizeof b);
    d.sentences = b.batch = GREEDY;
    d.max_tokens = GREEDY_TOKENS;
    d.beam = beam;
    d.end = g->end;
    d.forbidden = &g->pad;
    d.forbidden_count = 1;
    b.source = g->source;
    b.source_lengths = g->lengths;
    b.source_time = GREEDY_SOURCE;
    b.tokens = starts;
    b.time = 1;
    size = tfn_generator_size(m, &d, scratch, sizeof scratch);
    mem = malloc(size ? size : 1);
    CHECK_OK(tfn_generator_init(&w, m, &d, mem, size), &w.error);
    CHECK_OK(tfn_generator_run(&w, &b, NULL), &w.error);
    for (int i = 0; i < GREEDY; i++) {
        const int32_t *found = w.tokens + (ptrdiff_t)i * w.width * w.most;
        const int32_t n = w.lengths[i * w.width];
        if (beam) CHECK(n > 1 && found[n - 1] == g->end && found[0] != g->pad);
        same += n == g->counts[i] && !memcmp(found, g->wanted[i], (size_t)n * sizeof *found);
    }
    free(mem);
    return same;
}

/* Greedy texts equal PyTorch's from the start that config.json names, and from no other. */
TEST(import_translates)
{
    static const char *const names[] = { "marian", "t5", "t5-v1.1" };
    static import_greedy g;
    for (int i = 0; i < 3; i++) {
        tfn_model m;
        tfn_model_desc d = folders_desc(true);
        CASE("%s", names[i]);
        import_greedy_read(&g, names[i]);
        d.batch = GREEDY;
        if (!CHECK_OK(tfn_import_new(&m, import_path(names[i]), &d), &m.error)) continue;
        CHECK_INT(import_writes(&m, &g, g.start, 0), GREEDY);
        CHECK_INT(import_writes(&m, &g, g.end, 0), 0);
        CHECK_INT(import_writes(&m, &g, 2, 0), 0);
        import_writes(&m, &g, g.start, 3);
        tfn_model_free(&m);
    }
}

/* -- errors ------------------------------------------------------------------------------------ */

/* Reads a folder's config.json with one text replaced. Returns its length, or 0. */
static size_t import_replaced(const char *name, const char *from, const char *to, char *changed,
                              size_t room)
{
    static char config[IMPORT_TEXT];
    const char *at;
    CASE("%s: %s", name, to);
    folders_config(name, config, sizeof config);
    at = strstr(config, from);
    if (!at) {
        FAIL("no %s in the file", from);
        return 0;
    }
    return (size_t)snprintf(changed, room, "%.*s%s%s", (int)(at - config), config, to,
                            at + strlen(from));
}

/* A folder's config with one text replaced is refused with these words. */
static void import_refuses(const char *name, const char *from, const char *to, const char *wanted)
{
    static char changed[2 * IMPORT_TEXT];
    tfn_model_desc d;
    tfn_import x = folders_import(changed, import_replaced(name, from, to, changed, sizeof changed),
                                  NULL);
    memset(&d, 0, sizeof d);
    CHECK(tfn_import_peek(&x, &d) != TFN_OK);
    CHECK(d.vocab == 0);
    CHECK_SAYS(&x.error, wanted);
}

TEST(import_texts)
{
    static const char config[] =
        "{\"a\": \"x\\u00e9\\n\", \"b\": [[30], [1,2]], \"c\": null, \"id2label\": {\"0\": \"no\","
        " \"10\": {}, \"1\": \"yes\"}, \"d\": \"\", \"n\": -1.5 , \"null\": \"null\"}";
    static const struct { const char *key, *text; } cases[] = {
        { "a", "x\xc3\xa9\n" }, { "b", "[[30], [1,2]]" }, { "c", "" }, { "id2label.0", "no" },
        { "id2label.1", "yes" }, { "id2label.10", "{}" }, { "id2label.2", "" }, { "d", "" },
        { "n", "-1.5" }, { "null", "null" }, { "id2label.0.x", "" }, { "", "" }, { "b.0", "" }
    };
    tfn_import x = folders_import(config, sizeof config - 1, NULL);
    char text[32], wide[240];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CASE("%s", cases[i].key);
        CHECK_INT(tfn_import_text(&x, cases[i].key, text, sizeof text), strlen(cases[i].text));
        CHECK(!strcmp(text, cases[i].text) && x.error.status == TFN_OK);
        CHECK_INT(tfn_import_text(&x, cases[i].key, NULL, 0), strlen(cases[i].text));
    }
    CHECK_INT(tfn_import_text(&x, "b", text, 4), 13);
    CHECK(!strcmp(text, "[[3"));
    snprintf(wide, sizeof wide, "{\"%0200d\": 1, \"a\": 2}", 7);
    x.config = wide;
    x.config_size = strlen(wide);
    CHECK_INT(tfn_import_text(&x, "a", text, sizeof text), 1);      /* after a long key */
    CHECK(!strcmp(text, "2"));
    x.config = config;
    for (x.config_size = 0; x.config_size < sizeof config - 1; x.config_size++) {
        CHECK_INT(tfn_import_text(&x, "null", text, sizeof text), 0);      /* cut short */
        CHECK_INT(x.error.status, TFN_BAD_FORMAT);
    }
    x.config = NULL;
    CHECK_INT(tfn_import_text(&x, "a", text, sizeof text), 0);
    CHECK_INT(x.error.status, TFN_NULL);
    x.folder = "no-such-folder";
    CHECK_INT(tfn_import_text(&x, "a", text, sizeof text), 0);
    CHECK_INT(x.error.status, TFN_BAD_FILE);
}

/* There are as many classes as names, in a model with a head of classes; else none. */
static int32_t import_classes(const char *class, const char *labels)
{
    static char config[1024];
    tfn_model_desc d;
    tfn_import x;
    memset(&d, 0, sizeof d);
    snprintf(config, sizeof config, "{\"model_type\": \"bert\", \"architectures\": [\"%s\"],"
             " \"vocab_size\": 9, \"max_position_embeddings\": 7, \"hidden_size\": 16, \"x\": 1,"
             " \"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"intermediate_size\": 8, %s}",
             class, labels);
    x = folders_import(config, strlen(config), NULL);
    x.lenient = true;
    if (tfn_import_peek(&x, &d) != TFN_OK) return -1;
    return d.classes;
}

TEST(import_labels)
{
    static const char head[] = "BertForSequenceClassification";
    static const char three[] = "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": {\"c\": [1, 2]}}";
    CHECK_INT(import_classes(head, three), 3);
    CHECK_INT(import_classes(head, "\"y\": 1"), 2);
    CHECK_INT(import_classes(head, "\"id2label\": null"), 2);
    CHECK_INT(import_classes(head, "\"num_labels\": 5"), 5);
    CHECK_INT(import_classes(head, "\"id2label\": {}"), 0);         /* no model has 0 classes */
    CHECK_INT(import_classes("BertForMaskedLM", three), 0);
    import_refuses("bert", "\"use_cache\": true", "\"id2label\": [\"a\"]",
                   "id2label is [\"a\"]; an object is expected");
}

TEST(import_keys_refused)
{
    import_refuses("llama", "\"model_type\": \"llama\"", "\"model_type\": \"lama\"",
                   "no family is called lama");
    import_refuses("llama", "\"model_type\"", "\"kind\"", "config.json has no model_type");
    import_refuses("llama", "\"use_cache\"", "\"use_magic\"",
                   "nothing is known of the key use_magic");
    import_refuses("llama", "\"hidden_size\"", "\"name_or_path\"", "config.json has no hidden_size");
    import_refuses("llama", "\"hidden_size\": 12", "\"hidden_size\": 12.5", "width is 12.5; a whole");
    import_refuses("llama", "\"hidden_size\": 12", "\"hidden_size\": -12", "width is -12; it must be");
    import_refuses("llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0",
                   "num_hidden_layers is 0; a positive number is expected");
    import_refuses("gemma3_text", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 0",
                   "num_hidden_layers is 0; a positive number is expected");    /* has a default */
    import_refuses("llama", "\"hidden_size\": 12", "\"hidden_size\": \"default\"",
                   "hidden_size is default; a value is expected");
    import_refuses("llama", "\"silu\"", "\"mish\"", "hidden_act is mish; a gate");
    import_refuses("llama", "\"rope_scaling\": null",
                   "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 2}",
                   "rotary_scaling is yarn");
    import_refuses("llama", "\"attention_bias\": false", "\"attention_bias\": 3",
                   "attention_bias is 3; false is expected");
    import_refuses("qwen2", "\"use_sliding_window\": false", "\"use_sliding_window\": 3",
                   "use_sliding_window is 3; false is expected");
    import_refuses("qwen2-types", "\"full_attention\"", "\"chunked_attention\"",
                   "layer_types is chunked_attention; sliding_attention or full_att");
    import_refuses("qwen2-types", "\"full_attention\"", "\"full_attention\", \"full_attention\"",
                   "layer_types has 3 layers, there are 2");
    import_refuses("gemma3_text-new", "\"sliding_attention\",",
                   "\"sliding_attention\", \"full_attention\",",
                   "layer_types has 4 layers, there are 3");
    import_refuses("gemma3_text-new",
                   "\"full_attention\",\n    \"sliding_attention\",\n    \"sliding_attention\"",
                   "\"sliding_attention\",\n    \"full_attention\",\n    \"full_attention\"",
                   "layer_types is mixed");
    import_refuses("gpt2", "\"scale_attn_weights\": true", "\"scale_attn_weights\": false",
                   "scale_attn_weights is false; true is expected");
    import_refuses("bloom", "post_layernorm\": false", "post_layernorm\": true",
                   "post_layernorm is true; false is expected");
    import_refuses("marian", "\"decoder_ffn_dim\": 40", "\"decoder_ffn_dim\": 48",
                   "decoder_ffn_dim is 48; 40 is expected");
    import_refuses("bert", "\"absolute\"", "\"relative_key\"", "absolute is expected");
    import_refuses("roberta", "\"pad_token_id\": 1", "\"pad_token_id\": 0", "pad_token_id is 0; 1 is");
    import_refuses("bart", "\"normalize_before\": false", "\"normalize_before\": true",
                   "normalize_before is true; false is");
    import_refuses("mbart-f16", "\"normalize_before\": true", "\"normalize_before\": false",
                   "normalize_before is false; true is");
    import_refuses("m2m_100-bf16", "\"pad_token_id\": 1", "\"pad_token_id\": 0", "1 is expected");
    import_refuses("electra", "\"gelu\"", "\"relu\"", "hidden_act is relu; gelu is");
    import_refuses("mpnet", "num_buckets\": 32", "num_buckets\": 16", "num_buckets is 16; 32 is");
    import_refuses("modernbert", "ForMaskedLM", "ForTokenClassification",
                   "architectures is *ForTokenClassification; a class without classes is expected");
    import_refuses("modernbert", "\"mlp_bias\": false", "\"mlp_bias\": true", "mlp_bias is true");
    import_refuses("modernbert", "decoder_bias\": true", "decoder_bias\": false",
                   "decoder_bias is false; true is expected");
    import_refuses("modernbert", "classifier_activation\": \"gelu", "classifier_activation\": \"silu",
                   "classifier_activation is silu; gelu is");
    import_refuses("modernbert-body-f16", "\"full_attention\",\n    \"sliding_attention\",\n",
                   "\"full_attention\",\n", "layer_types has 3 layers, there are 4");
    import_refuses("roberta", "\"gelu\"", "\"gelu_new\"", "hidden_act is gelu_new; gelu is");
    import_refuses("roberta", "embeddings\": 18", "embeddings\": 2", "is 2; a larger number is");
    import_refuses("roberta", "\"max_position_embeddings\"", "\"_max\"",
                   "has no max_position_embeddings");
    import_refuses("phi3", "\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"longrope\","
                   " \"long_factor\": [1.0], \"short_factor\": [1.0]}", "rotary_scaling is longrope");
    import_refuses("stablelm", "\"qk_layernorm\": false", "\"qk_layernorm\": true",
                   "qk_layernorm is true; false is expected");
    import_refuses("gpt_neo-types", "\"num_layers\": 6", "\"num_layers\": 5",
                   "attention_types has 6 layers, there are 5");
    import_refuses("gpt_neo-types", "\"local\"\n", "\"near\"\n",
                   "attention_types is near; local or global is expected");
    import_refuses("gpt_neo", "\"attention_layers\"", "\"attention_layers\": 3, \"_\"",
                   "attention_layers has 0 layers, there are 3");
    import_refuses("smollm3", "\"vocab_size\": 31\n}", "\"vocab_size\": 31\n} x",
                   "its end is expected");
    import_refuses("smollm3", "\"no_rope_layers\": [", "\"no_rope_layers\": [1, ",
                   "no_rope_layers has 4 layers, there are 3");
    import_refuses("smollm3", "\"use_sliding_window\": false", "\"use_sliding_window\": true",
                   "use_sliding_window is true; false is expected");
    import_refuses("gemma3", "\"text_config\"", "\"_text_config\"", "config.json has no text_config");
    import_refuses("gemma3", "\"vision_config\"", "\"audio_config\"", "the key audio_config");
    import_refuses("gemma3", "\"head_dim\"", "\"heads_dim\"", "the key heads_dim");
    import_refuses("gemma3", "\"text_config\"", "\"text_config\": 3, \"_\"",
                   "text_config is 3; an object is expected");
    import_refuses("gpt_neox", "\"num_attention_heads\": 4", "\"num_attention_heads\": 0",
                   "num_attention_heads is 0; a positive number is expected");
    import_refuses("gpt2", "{", "[", "{ is expected at byte");
    import_refuses("gpt2", "\"n_embd\"", "\"n_embd", "is expected at byte");
}

/* A lenient import skips unknown keys; null counts as a missing key. */
TEST(import_keys_left_aside)
{
    static const char config[] =
        "{\"model_type\": \"llama\", \"vocab_size\": 9, \"max_position_embeddings\": 7,"
        " \"hidden_size\": 16, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"x\": [{}],"
        " \"intermediate_size\": 8, \"head_dim\": null, \"num_key_value_heads\": null}";
    tfn_model_desc d;
    tfn_import x = folders_import(config, sizeof config - 1, NULL);
    memset(&d, 0, sizeof d);
    CHECK_INT(tfn_import_peek(&x, &d), TFN_UNSUPPORTED);
    x.lenient = true;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_OK);
    CHECK(d.vocab == 9 && d.context == 7 && d.width == 16 && d.head_size == 0 && d.untied);
    d.context = 5;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_OK);
    CHECK_INT(d.context, 5);
    d.context = 8;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_BAD_OPTION);
    CHECK_INT(d.context, 8);
}

/* Adds keys to a folder's file; returns the result of peek. */
static tfn_status import_with(const char *name, const char *keys, bool lenient, tfn_import *x)
{
    static char config[IMPORT_TEXT], changed[2 * IMPORT_TEXT];
    tfn_model_desc d;
    CASE("%s: %s", name, keys);
    folders_config(name, config, sizeof config);
    snprintf(changed, sizeof changed, "{%s, %s", keys, config + 1);
    *x = folders_import(changed, strlen(changed), NULL);
    x->lenient = lenient;
    memset(&d, 0, sizeof d);
    return tfn_import_peek(x, &d);
}

static void import_accepts(const char *name, const char *keys)
{
    tfn_import x;
    CHECK_OK(import_with(name, keys, false, &x), &x.error);
    CHECK(!x.aside[0]);
}

/* Refused even by a lenient import; `wanted` is in the message. */
static void import_insists(const char *name, const char *keys, const char *wanted)
{
    tfn_import x;
    for (int lenient = 0; lenient < 2; lenient++) {
        CHECK(import_with(name, keys, lenient > 0, &x) != TFN_OK);
        CHECK_SAYS(&x.error, wanted);
    }
}

/* Three classes of keys: without effect, understood, and all others. */
TEST(import_key_classes)
{
    static const char *const idle[] = {
        "\"_num_labels\": 3", "\"_anything\": {\"a\": [1]}", "\"output_past\": true",
        "\"finetuning_task\": \"sst-2\"", "\"temperature\": 0.7", "\"tokenizer_class\": \"X\"",
        "\"pruned_heads\": {}", "\"tie_encoder_decoder\": false", "\"chunk_size_feed_forward\": 0",
        "\"transformers.js_config\": {\"dtype\": \"q4\"}", "\"quantization_config\": null",
        "\"sliding_windows\": null", "\"logit_scale\": 1.0", "\"layer_types\": null",
        "\"sentence_transformers\": {\"version\": 2}", "\"is_encoder_decoder\": false"
    };
    static const char *const refused[] = {
        "\"pruned_heads\": {\"0\": [1]}", "\"is_encoder_decoder\": true", "\"add_cross_attention\": true",
        "\"logit_scale\": 0.0625", "\"expert_count\": 4",
        "\"layer_types\": [\"full_attention\", \"sliding_attention\"]"
    };
    tfn_import x;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        import_accepts("llama", idle[i]);
        import_accepts("gpt2", idle[i]);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CHECK_INT(import_with("llama", refused[i], false, &x), TFN_UNSUPPORTED);
    import_accepts("llama", "\"is_llama_config\": true, \"rope_interleaved\": false");
    import_accepts("llama", "\"layer_types\": [\"full_attention\", \"full_attention\"]");
    import_accepts("bert", "\"directionality\": \"bidi\", \"pooler_type\": \"first\"");
    import_accepts("marian", "\"extra_pos_embeddings\": 2");
    import_accepts("gpt_neox", "\"partial_rotary_factor\": 0.7");
    import_insists("gpt_neox", "\"partial_rotary_factor\": 0.5", "rotary_pct is 0.7");
    CHECK(import_with("gpt2", "\"is_llama_config\": true", false, &x) != TFN_OK);
    import_insists("llama", "\"rope_interleaved\": true", "rope_interleaved");
    import_insists("llama", "\"quantization_config\": {\"bits\": 4}", "key quantization_config");
    import_insists("llama", "\"residual_multiplier\": 0.22", "key residual_multiplier");
    import_insists("llama", "\"residual_multiplier\": \"1x\"", "key residual_multiplier");
    import_insists("llama", "\"final_logit_softcapping\": 30.0", "final_logit_softcapping");
    import_insists("gpt2", "\"scale_attn_weights\": [true]", "scale_attn_weights is [true]");
    import_insists("gpt_neo", "\"attention_types\": [1, [[\"global\", \"local\"]]]",
                   "attention_types has 0 layers");
    import_insists("gpt_neo", "\"attention_types\": [[[\"global\", \"local\"], 4096]]",
                   "attention_types has 4098 layers");
    import_insists("llama", "\"emb_scale\": 12", "emb_scale, which may change");
    import_insists("llama", "\"a_scale\": 1, \"b_scale\": 2", "keys a_scale, b_scale, which may");
    import_insists("roberta", "\"max_position_embeddings\": \"many\"", "context is many; a whole");
    import_insists("roberta", "\"max_position_embeddings\": 1e300", "context is 1e300; a whole");
    import_insists("gpt_neox", "\"partial_rotary_factor\": \"x\"", "is x; a larger number");
    import_insists("gpt_neox", "\"partial_rotary_factor\": 1e300", "is 1e300; a smaller number");
    import_insists("gpt_neo", "\"attention_types\": [[[\"global\"]]]",
                   "attention_types has 0 layers, there are");
    import_accepts("smollm3", "\"no_rope_layers\": [0, 0, 0]");
    import_accepts("qwen2", "\"layer_types\": [\"full_attention\", \"full_attention\"]");
}

/* The class that wrote a file may be a text instead of a list of one. */
TEST(import_class_as_text)
{
    static char config[IMPORT_TEXT];
    tfn_import x;
    tfn_model_desc d;
    char *at;
    folders_config("bert-classes", config, sizeof config);
    at = strstr(config, "\"architectures\"");
    for (; at && *at != ']'; at++)
        if (*at == '[') *at = ' ';
    if (at) *at = ' ';
    x = folders_import(config, strlen(config), NULL);
    memset(&d, 0, sizeof d);
    CHECK(at && tfn_import_peek(&x, &d) == TFN_OK && d.head == TFN_HEAD_SEQUENCE);
}

/* Changes letters and digits of the families' files, one at a time. The digest holds the result and
 * the numbers of the message. */
TEST(import_any_config)
{
    static const char *const names[] = {
        "gpt2", "llama3", "llama-linear", "mistral-window", "qwen2-types", "olmo2", "gemma3_text-new",
        "gemma2", "gpt_neox", "phi", "opt", "bert-classes", "distilbert", "bloom", "marian", "t5-v1.1",
        "roberta-questions"
    };
    static char config[IMPORT_TEXT];
    static const char zeros[8];
    lib_limit l;
    size_t at;
    uint32_t digest = DIGEST_BEGIN;
    for (int name = 0; name < (int)(sizeof names / sizeof *names); name++) {
        const size_t bytes = folders_config(names[name], config, sizeof config);
        for (size_t i = (size_t)name % 4; i < bytes; i += 4) {
            const char kept = config[i];
            tfn_model_desc d;
            tfn_import x;
            if (kept >= '0' && kept <= '9') config[i] = (char)('0' + (kept - '0' + 1) % 10);
            else if (kept >= 'a' && kept <= 'z') config[i] = (char)('a' + (kept - 'a' + 1) % 26);
            else continue;
            x = folders_import(config, bytes, NULL);
            x.lenient = i % 2;
            memset(&d, 0, sizeof d);
            tfn_import_peek(&x, &d);
            digest_error(&digest, &x.error);
            digest_text(&digest, x.aside, strlen(x.aside));
            for (int k = 0; lib_limit_at(LIB_MODEL, k, &l); k++) {
                const char *option = (const char *)&d + l.at;
                if (!memcmp(option, zeros, l.size)) continue;       /* so options can be added */
                digest_text(&digest, l.name, strlen(l.name));
                digest_option(&digest, option, l.size);
            }
            for (int k = 0; lib_truth_at(k, &at); k++)
                if (((const bool *)&d)[at]) digest_int(&digest, k);
            if (d.recipe) digest_text(&digest, d.recipe, strlen(d.recipe));
            if (d.norm) digest_text(&digest, d.norm, strlen(d.norm));
            config[i] = kept;
        }
    }
    if (sizeof(size_t) > 4) CHECK_DIGEST(digest, 0x7fad7fd6u);  /* else some sizes are too large */
}

/* All unknown keys are in one message; a lenient import lists them. */
TEST(import_key_list)
{
    tfn_import x;
    char text[300];
    CHECK_INT(import_with("llama", "\"magic\": 1, \"use_y\": [2], \"z\": {}, \"w\": null", false, &x),
              TFN_UNSUPPORTED);
    CHECK_SAYS(&x.error, "nothing is known of the keys magic, use_y, z; lenient");
    CHECK(!strcmp(x.aside, "magic, use_y, z"));
    CHECK_OK(import_with("llama", "\"magic\": 1, \"use_y\": [2]", true, &x), &x.error);
    CHECK(!strcmp(x.aside, "magic, use_y"));
    CHECK_INT(import_with("llama", "\"magic\": 1, \"a_scale\": 2", true, &x), TFN_UNSUPPORTED);
    CHECK_SAYS(&x.error, "the key a_scale,");
    CHECK(!strcmp(x.aside, "magic, a_scale"));
    for (int i = 2; i < 40; i++) {                  /* more than fit into the error or the list */
        char keys[2048];
        size_t n = 0;
        for (int k = 0; k < i; k++)
            n += (size_t)snprintf(keys + n, sizeof keys - n, "%s\"key_number_%d\": 1",
                                  k ? ", " : "", k);
        CHECK_INT(import_with("llama", keys, false, &x), TFN_UNSUPPORTED);
        tfn_error_text(&x.error, text, sizeof text);
        CHECK(strstr(text, "key_number_1") && strlen(x.aside) < sizeof x.aside);
        if (i < 9) CHECK(strstr(text, strrchr(x.aside, ' ')) != NULL);
    }
}

/* The same rules hold inside the objects of rotary scaling. */
TEST(import_scaling_objects)
{
    static const char none[] = "\"rope_scaling\": null";
    import_refuses("llama", none, "\"rope_scaling\": {\"factor\": 2}", "a rope_type beside it");
    import_refuses("llama", none, "\"rope_scaling\": {\"factor\": 2, \"type\": null}",
                   "a rope_type beside it");
    import_refuses("llama", none, "\"rope_parameters\": {\"factor\": 2, \"rope_theta\": 1e4}",
                   "a rope_type beside it");
    import_refuses("llama", none, "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"mscale\": 1}",
                   "the key rope_scaling.mscale, which may change");
    import_refuses("llama", none, "\"rope_scaling\": 2", "rope_scaling is 2; an object is expected");
    import_refuses("gemma3_text-new", "\"rope_type\": \"linear\"",
                   "\"rope_type\": \"linear\", \"beta\": 1", "rope_parameters.full_attention.beta");
    import_insists("llama", "\"rope_parameters\": {\"rope_type\": \"default\", \"x\": 1}",
                   "rope_parameters.x");
    import_accepts("llama", "\"rope_parameters\": {\"rope_type\": \"default\", \"factor\": null,"
                   " \"mscale\": null, \"partial_rotary_factor\": 1}");
}

/* Biases only in the feed-forward; the library's own words are not legal in a file. */
TEST(import_words)
{
    static char changed[IMPORT_TEXT];
    const size_t bytes = import_replaced("llama", "\"mlp_bias\": false", "\"mlp_bias\": true",
                                         changed, sizeof changed);
    tfn_import x = folders_import(changed, bytes, NULL);
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    CHECK(!d.no_bias && d.attention_bias == TFN_ATTENTION_BIAS_OFF);
    import_refuses("llama", "\"silu\"", "\"relu\"", "hidden_act is relu; a gate");
    import_refuses("llama", "\"silu\"", "\"swiglu\"", "hidden_act is swiglu");
    import_refuses("bert", "\"gelu\"", "\"gelu-tanh\"", "hidden_act is gelu-tanh");
    import_refuses("bert", "\"gelu\"", "\"gated-gelu\"", "hidden_act is gated-gelu");
    import_refuses("gpt2", "\"gelu_new\"", "\"geglu\"", "activation_function is geglu");
}

/* The sizes of a model as texts, in the order of configs.txt. */
static void import_sizes(const tfn_model_desc *d, char *to, size_t room)
{
    const int32_t size = d->head_size ? d->head_size : d->width / d->heads;
    snprintf(to, room, "%d %d %d %d %d %d %d", (int)d->vocab, (int)d->width, (int)d->layers, (int)d->heads,
             (int)d->kv_heads, (int)size, (int)d->ffn);
}

/* Published configurations give a model of their sizes, or are refused for the reason in the list. */
TEST(import_published)
{
    static char all[1 << 17];
    int count = 0, refused = 0;
    char *line = all;
    folders_read(folders_path("configs.txt", NULL, NULL), all, sizeof all);
    for (char *end = strchr(line, '\n'); end; line = end + 1, end = strchr(line, '\n')) {
        tfn_import x;
        tfn_model_desc d = folders_desc(true);
        tfn_error error;
        char sizes[100];
        char *wanted = strchr(line, '\t'), *config = wanted ? strchr(wanted + 1, '\t') : NULL;
        if (!config) {
            FAIL("line %d", count + 1);
            return;
        }
        *end = *wanted++ = *config++ = 0;
        CASE("%s", line);
        memset(&error, 0, sizeof error);
        x = folders_import(config, strlen(config), NULL);
        count++;
        if (tfn_import_peek(&x, &d) == TFN_OK && tfn_model_resolve(&d, &d, &error)) {
            import_sizes(&d, sizes, sizeof sizes);
            if (strcmp(sizes, wanted)) FAIL("sizes are %s, not %s", sizes, wanted);
            continue;
        }
        if (x.error.status == TFN_OK) x.error = error;
        refused++;
        CHECK_SAYS(&x.error, wanted);
    }
    CHECK(count >= 60 && refused > 9 && refused < count / 4);
}

/* Fine-tuning with LoRA starts in one step: the base from the files, A random, B 0. */
TEST(import_with_lora)
{
    static folders_case c;
    static int32_t targets[FOLDERS_TOKENS];
    tfn_model m, base;
    tfn_model_desc d = folders_desc(false);
    tfn_param_info p, q;
    tfn_report report;
    int maps = 0, same = 0;
    if (!folders_sentences(&c, "gpt2") || !folders_model(&base, import_path("gpt2"), true)) return;
    CHECK(tfn_group_add(&d, "decoder.*.self.q.weight rank=2", NULL));
    if (!CHECK_OK(tfn_import_new(&m, import_path("gpt2"), &d), &m.error)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        double most = 0;
        const bool a = strstr(p.name, ".lora_a") != NULL;
        for (int64_t k = 0; k < (int64_t)p.rows * p.cols; k++)
            if (fabs((double)p.data[k]) > most) most = fabs((double)p.data[k]);
        if (a) CHECK(most > 0);
        maps += a;
        if (strstr(p.name, ".lora_b")) CHECK(!(most > 0));
        for (int32_t n = 0; !strstr(p.name, "lora") && tfn_model_param(&base, n, &q); n++) {
            if (strcmp(q.name, p.name)) continue;
            CHECK_BITS(p.data, q.data, (size_t)(p.rows * p.cols) * sizeof *p.data);
            same++;
        }
    }
    CHECK_INT(maps, 2);
    CHECK_INT(same, base.weight_count);
    import_targets(&c, &m, targets);
    CHECK_OK(tfn_model_step(&m, &c.batch, &report), &m.error);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        if (strstr(p.name, ".lora_b")) CHECK(p.data[0] > 0 || p.data[0] < 0);
    tfn_model_free(&m);
    tfn_model_free(&base);
}

/* A and B of a model have their initial values. Returns how many maps have LoRA. */
static int import_first_values(const tfn_model *m)
{
    tfn_model fresh;
    tfn_model_desc d = m->desc;
    tfn_param_info p, q;
    int maps = 0;
    d.blank = false;
    CHECK(tfn_model_new(&fresh, &d, NULL) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(m, i, &p) && tfn_model_param(&fresh, i, &q); i++) {
        CHECK(!strcmp(p.name, q.name));
        if (!strstr(p.name, ".lora_")) continue;
        CHECK_BITS(p.data, q.data, (size_t)p.rows * (size_t)p.cols * sizeof *p.data);
        if (!strstr(p.name, ".lora_a")) continue;
        maps++;
        CHECK(p.data[0] > 0 || p.data[0] < 0);
    }
    tfn_model_free(&fresh);
    return maps;
}

typedef struct import_tuned {
    const char *kind, *name, *group;
    tfn_weights weights;
} import_tuned;

static void import_tunes(const import_tuned *row)
{
    static folders_case c;
    static float logits[IMPORT_LOGITS];
    const char *path = folders_path(row->kind, row->name, NULL);
    tfn_model base, m;
    tfn_model_desc d = folders_desc(true);
    const float *found;
    size_t bytes;
    CASE("%s, %s", path, row->group);
    d.weights = row->weights;
    if (!folders_sentences(&c, strcmp(row->kind, "gguf") ? row->name : "llama")) return;
    if (!CHECK_OK(tfn_import_new(&base, path, &d), &base.error)) return;
    found = tfn_model_logits(&base, &c.batch);
    CHECK(found != NULL);
    if (!found) return;
    bytes = (size_t)c.count * (size_t)base.desc.vocab * sizeof *found;
    memcpy(logits, found, bytes);
    tfn_model_free(&base);
    d.inference = false;
    CHECK(tfn_group_add(&d, row->group, NULL));
    if (!CHECK_OK(tfn_import_new(&m, path, &d), &m.error)) return;
    CHECK(import_first_values(&m) > 0);
    found = tfn_model_logits(&m, &c.batch);
    CHECK(found != NULL);
    if (found) CHECK_BITS(found, logits, bytes);
    tfn_model_free(&m);
}

/* With every source of weights, LoRA leaves the logits of the import without it, to the bit, and A
 * has the initial values of a new model. Sources: maps of one tensor or side by side, a tied output,
 * parts, pickles, GGUF, and weights of fewer bits. */
TEST(import_lora_sources)
{
    static const import_tuned rows[] = {
        { "hub", "gpt2", "decoder.*.self.[qkv].weight rank=3 alpha=6", TFN_WEIGHTS_FLOAT },
        { "hub", "gpt2", "output.weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "llama-tied", "output.weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "llama", "output.weight rank=1", TFN_WEIGHTS_FLOAT },
        { "hub", "llama-bin", "*.w?.weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "llama-bin-sharded", "*.[qv].weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "gpt_neox", "*.[qkvo].weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "phi3", "*.weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "bert", "*.[qv].weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "t5", "*.cross.?.weight rank=2", TFN_WEIGHTS_FLOAT },
        { "gguf", "llama.gguf", "*.[qv].weight rank=2", TFN_WEIGHTS_FLOAT },
        { "hub", "gpt2", "*.[qv].weight rank=2", TFN_WEIGHTS_Q8 },
        { "hub", "gpt2", "output.weight rank=2", TFN_WEIGHTS_Q4 },
        { "hub", "llama", "*.[ow]*.weight rank=2", TFN_WEIGHTS_BF16 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) import_tunes(rows + i);
}

/* Layers with a window: in Mistral all; in Qwen 2, if use_sliding_window is true, those from
 * max_window_layers on. layer_types names each layer, in an order that the options can express. */
TEST(import_windows)
{
    static const struct { const char *name, *key, *value; int32_t window, from, period; } cases[] = {
        { "mistral", "\"sliding_window\": null", "\"sliding_window\": 5", 5, 0, 0 },
        { "mistral", "\"sliding_window\": null", "\"use_cache\": true", 4096, 0, 0 },
        { "mistral", "\"use_cache\": true", "\"use_cache\": false", 0, 0, 0 },
        { "qwen2", "\"use_sliding_window\": false", "\"use_sliding_window\": true", 5, 1, 0 },
        { "qwen2", "\"use_sliding_window\": false", "\"use_cache\": true", 0, 1, 0 },
        { "qwen2", "\"use_sliding_window\": false", "\"use_sliding_window\": null", 0, 1, 0 },
        { "qwen2-types", "\"sliding_attention\"", "\"full_attention\"", 0, 0, 0 },
        { "qwen2-types", "\"full_attention\"", "\"sliding_attention\"", 5, 0, 0 },
        { "qwen2-types", "\"full_attention\"", "\"full_attention\"", 5, 0, 2 },
        { "gemma2", "\"use_cache\": true", "\"use_cache\": false", 5, 0, 2 },
        { "gemma3_text", "\"sliding_window_pattern\": 2", "\"use_cache\": true", 5, 0, 6 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char changed[4096];
        const size_t bytes = import_replaced(cases[i].name, cases[i].key, cases[i].value, changed,
                                             sizeof changed);
        tfn_import x = folders_import(changed, bytes, NULL);
        tfn_model_desc d;
        memset(&d, 0, sizeof d);
        CHECK_OK(tfn_import_peek(&x, &d), &x.error);
        CHECK_INT(d.window, cases[i].window);
        CHECK_INT(d.window_from, cases[i].from);
        CHECK_INT(d.window_period, cases[i].period);
    }
}

/* A missing folder, or tensors that do not fit: the model is unchanged. */
static void import_weights_refused(const tfn_model_desc *d, const char *name, const char *wanted)
{
    tfn_model m;
    tfn_import x = folders_import(NULL, 0, NULL);
    uint64_t hash;
    CASE("%s", wanted);
    x.folder = import_path(name);
    CHECK_OK(tfn_model_new(&m, d, NULL), &m.error);
    hash = tfn_model_hash(&m);
    CHECK(tfn_import_weights(&x, &m) != TFN_OK);
    CHECK(tfn_model_hash(&m) == hash && m.error.status == TFN_OK);
    CHECK_SAYS(&x.error, wanted);
    tfn_model_free(&m);
}

/* A tensor of another rank, and one of a dtype whose values are not read. */
static void import_named_refused(const char *family, const char *name, const char *dtype,
                                 const char *shape, int bytes, const char *wanted)
{
    static unsigned char file[1 << 16];
    static char config[IMPORT_TEXT];
    tfn_model_desc d;
    tfn_file f;
    tfn_import x = folders_import(config, folders_config(family, config, sizeof config), &f);
    tfn_model m;
    char header[200];
    size_t size;
    CASE("%s", wanted);
    memset(&d, 0, sizeof d);
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    size = (size_t)(d.vocab * d.width * bytes);
    snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"%s\",\"shape\":[%s%d,%d],"
             "\"data_offsets\":[0,%d]}}", name, dtype, shape, (int)d.vocab, (int)d.width, (int)size);
    f = folders_from(file, folders_tensors(file, header, size));
    CHECK_OK(tfn_file_open(&f), &f.error);
    CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error);
    CHECK(tfn_import_weights(&x, &m) != TFN_OK);
    CHECK_SAYS(&x.error, wanted);
    tfn_file_close(&f);
    tfn_model_free(&m);
}

static void import_tensor_refused(const char *dtype, const char *shape, int bytes,
                                  const char *wanted)
{
    import_named_refused("llama", "model.embed_tokens.weight", dtype, shape, bytes, wanted);
}
/* Names that are almost those of a layer are other tensors, for which a model has no place. */
static void import_strange_names(void)
{
    static const char *const names[] = {
        "model.layers.4097.input_layernorm.weight", "model.layers./.input_layernorm.weight",
        "model.layers.:.input_layernorm.weight", "model.layers.0:.input_layernorm.weight",
        "model.layers.0/.input_layernorm.weight", "model.layers..input_layernorm.weight",
        "model.layers.0.input_layernorm.gain"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "a tensor %s, for which the model has no place", names[i]);
        import_named_refused("llama", names[i], "F32", "", 4, wanted);
    }
    import_named_refused("gpt2", "h.0.ln_1.gain", "F32", "", 4, "a tensor h.0.ln_1.gain, for which");
}

/* A folder's path with and without a last slash, an empty one, one that is too long, and a
 * config.json beyond the limit. */
static void import_paths(void)
{
    char folder[300], distant[2000];
    tfn_model_desc d = folders_desc(true);
    tfn_import x = folders_import(NULL, 0, NULL);
    tfn_model m;
    FILE *f;
    CASE("paths");
    snprintf(folder, sizeof folder, "%s/", import_path("llama"));
    CHECK_INT(tfn_import_new(&m, folder, NULL), TFN_OK);
    tfn_model_free(&m);
    CHECK_INT(tfn_import_new(&m, "", NULL), TFN_BAD_FILE);
    snprintf(distant, sizeof distant, "%01999d", 0);
    x.folder = distant;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_BAD_FILE);
    CHECK_SAYS(&x.error, "the folder's path has 1999 bytes, the limit is 768");
    f = fopen("build/config.json", "wb");
    CHECK(f && !fseek(f, 100000000, SEEK_SET) && fwrite("}", 1, 1, f) == 1);
    if (f) fclose(f);
    CHECK_INT(tfn_import_new(&m, "build", NULL), TFN_TOO_LARGE);
    CHECK(m.error.found == 100000001 && m.error.wanted == 100000000);
    remove("build/config.json");
}

/* A model with an error takes no weights, except after a bad batch. `blank` stays as the caller set
 * it. */
static void import_into(const tfn_model_desc *d, tfn_import *x)
{
    static const tfn_status before[] = { TFN_OK, TFN_BAD_BATCH, TFN_NOT_READY };
    tfn_model m;
    tfn_model_desc with = *d;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        CASE("error %d before", (int)before[i]);
        CHECK_INT(tfn_model_new(&m, d, NULL), TFN_OK);
        m.error.status = before[i];
        CHECK_INT(tfn_import_weights(x, &m), before[i] == TFN_NOT_READY ? TFN_NOT_READY : TFN_OK);
        tfn_model_free(&m);
    }
    for (int blank = 0; blank < 2; blank++) {
        CASE("blank %d", blank);
        with.blank = blank > 0;
        CHECK_INT(tfn_import_new(&m, x->folder, &with), TFN_OK);
        CHECK(m.desc.blank == (blank > 0));
        tfn_model_free(&m);
    }
}

/* Writes a file into the folder build. */
static void import_put_file(const char *name, const void *bytes, size_t size)
{
    char path[100];
    snprintf(path, sizeof path, "build/%s", name);
    folders_write(path, bytes, size);
}
/* Writes the config.json of `name` and perhaps one more file into the folder build. */
static void import_build(const char *name, const char *file, const void *bytes, size_t size)
{
    static char config[IMPORT_TEXT];
    import_put_file("config.json", config, folders_config(name, config, sizeof config));
    if (file) import_put_file(file, bytes, size);
}
static void import_unbuild(const char *file)
{
    char path[100];
    snprintf(path, sizeof path, "build/%s", file ? file : "");
    remove("build/config.json");
    if (file) remove(path);
}

/* Checks that importing the config.json of `name` with this file fails, with `wanted` in the
 * message. */
static void import_build_refused(const char *name, const char *file, const void *bytes, size_t size,
                                 const char *wanted)
{
    static const char folder[] = "build";
    tfn_model_desc d;
    tfn_model m;
    tfn_import x = folders_import(NULL, 0, NULL);
    CASE("%s", wanted);
    import_build(name, file, bytes, size);
    memset(&d, 0, sizeof d);
    x.folder = folder;
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK(tfn_import_weights(&x, &m) != TFN_OK);
    CHECK_SAYS(&x.error, wanted);
    tfn_model_free(&m);
    import_unbuild(file);
}

/* A folder's weights are missing or no safetensors file, or its index names a missing part or a
 * tensor with too long a name. */
static void import_broken_weights(void)
{
    static const char list[] = "model.safetensors.index.json";
    static const char part[] = "{\"weight_map\": {\"model.embed_tokens.weight\": \"x.safetensors\"}}";
    char wide[400];
    tfn_model m;
    import_build_refused("llama", NULL, NULL, 0, "model.safetensors: cannot be opened");
    import_build("llama", NULL, NULL, 0);
    CHECK_INT(tfn_import_new(&m, "build", NULL), TFN_BAD_FILE);
    CHECK_SAYS(&m.error, "build: cannot be opened");
    CHECK(!m.weights);                          /* no half-loaded model */
    import_unbuild(NULL);
    import_build_refused("llama", "model.safetensors", "\2\0\0\0\0\0\0\0[]", 10, "{ is expected");
    import_build_refused("llama", list, part, sizeof part - 1, "x.safetensors: cannot be opened");
    snprintf(wide, sizeof wide, "{\"weight_map\": {\"%0300d\": \"x.safetensors\"}}", 7);
    import_build_refused("llama", list, wide, strlen(wide), "for which the model has no place");
}

/* Writes a safetensors file with one tensor to `to`. Returns its size. */
static size_t import_one_tensor(unsigned char *to, const char *name)
{
    char header[200];
    snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],"
             "\"data_offsets\":[0,4]}}", name);
    return folders_tensors(to, header, 4);
}

/* BERT's head is dropped only if the weights can be read and have none of its tensors. */
TEST(import_lost_head)
{
    static const char list[] = "model.safetensors.index.json";
    static const char part[] = "{\"weight_map\": {\"cls.predictions.transform.dense.weight\": \"x\"}}";
    static const struct { const char *tensor, *file; bool head; } rows[] = {
        { "embeddings.word_embeddings.weight", "model.safetensors", false },
        { "cls.predictions.bias", "model.safetensors", true },
        { "cls.predictions.transform.dense.weight", "model.safetensors", true },
        { NULL, list, true },                       /* its part is missing */
        { NULL, NULL, true }                        /* no weights */
    };
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_import x = folders_import(NULL, 0, NULL);
        tfn_model_desc d;
        CASE("row %d", (int)i);
        memset(&d, 0, sizeof d);
        if (rows[i].tensor)
            import_build("bert", rows[i].file, bytes, import_one_tensor(bytes, rows[i].tensor));
        else import_build("bert", rows[i].file, part, sizeof part - 1);
        x.folder = "build";
        CHECK_OK(tfn_import_peek(&x, &d), &x.error);
        CHECK(d.head_transform == rows[i].head && d.output_bias == rows[i].head);
        import_unbuild(rows[i].file);
    }
}

/* A file's table of positions may have more rows than the model, but not fewer. Both must have the
 * same columns. */
TEST(import_positions)
{
    static unsigned char file[1 << 15];
    static char config[IMPORT_TEXT];
    static float logits[IMPORT_LOGITS];
    static folders_case c;
    const size_t bytes = folders_read(folders_path("hub", "gpt2", "model.safetensors"), file,
                                      sizeof file);
    static const char shape[] = "\"shape\":[16,12]", turned[] = "\"shape\":[12,16]";
    tfn_model m;
    tfn_model_desc d = folders_desc(true);
    tfn_file f = folders_from(file, bytes);
    tfn_import x = folders_import(config, folders_config("gpt2", config, sizeof config), &f);
    const float *found;
    size_t at = 0;
    int32_t vocab, time;
    if (!folders_sentences(&c, "gpt2") || !folders_model(&m, import_path("gpt2"), true)) return;
    found = tfn_model_logits(&m, &c.batch);
    vocab = m.desc.vocab;
    time = c.batch.time;
    memcpy(logits, found, (size_t)(c.count * vocab) * sizeof *found);
    tfn_model_free(&m);
    d.context = c.batch.time = 5;
    d.batch = c.batch.batch = 1;
    CHECK(time > 5);
    CHECK_OK(tfn_import_new(&m, import_path("gpt2"), &d), &m.error);
    CHECK_INT(m.desc.context, 5);
    found = tfn_model_logits(&m, &c.batch);
    if (found) CHECK_BITS(found, logits, (size_t)(5 * vocab) * sizeof *found);
    tfn_model_free(&m);
    for (int columns = 0; columns < 2; columns++) {
        CASE("columns %d", columns);
        d = folders_desc(true);
        f = folders_from(file, bytes);
        CHECK_OK(tfn_import_peek(&x, &d), &x.error);
        CHECK(d.context == 16 && d.width == 12);
        d.context = columns ? 12 : 17;
        CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error);
        while (columns && at < bytes && memcmp(file + at, shape, sizeof shape - 1)) at++;
        if (columns) memcpy(file + at, turned, sizeof turned - 1);
        CHECK_OK(tfn_file_open(&f), &f.error);
        CHECK_INT(tfn_import_weights(&x, &m), TFN_BAD_SHAPE);
        CHECK_SAYS(&x.error, columns ? "wpe.weight has a side of 16, 12 is expected"
                                     : "wpe.weight has a side of 16, 17 is expected");
        tfn_file_close(&f);
        tfn_model_free(&m);
    }
}

/* The caller's files lack a tensor, or were never opened. */
static void import_files_wrong(void)
{
    static char config[IMPORT_TEXT];
    tfn_model m;
    tfn_model_desc d = folders_desc(true);
    tfn_file f = folders_from(NULL, 0);
    tfn_import x = folders_import(config, folders_config("llama", config, sizeof config), &f);
    CASE("files");
    import_named_refused("llama", "model.embed_tokens.weight", "F32", "", 4,
                         "the files have no tensor layers.0.");
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error);
    CHECK_INT(tfn_import_weights(&x, &m), TFN_NOT_READY);
    CHECK_SAYS(&x.error, "the file is not open");
    tfn_model_free(&m);
}

/* Import into a blank model in the caller's memory leaves the arrays of LoRA as the caller set
 * them. */
TEST(import_lora_in_place)
{
    static float weights[8192];
    tfn_model m;
    tfn_model_desc d = folders_desc(true);
    tfn_import x = folders_import(NULL, 0, NULL);
    tfn_param_info p;
    int arrays = 0;
    x.folder = import_path("gpt2");
    CHECK(tfn_group_add(&d, "decoder.*.self.q.weight rank=2", NULL));
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) weights[i] = 0.5f;
    d.blank = true;
    d.parameters = weights;
    CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error);
    CHECK(m.param_floats <= 8192);
    CHECK_OK(tfn_import_weights(&x, &m), &x.error);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        const bool lora = strstr(p.name, ".lora_") != NULL;
        bool kept = true;
        for (int64_t k = 0; k < (int64_t)p.rows * p.cols; k++)
            kept = kept && !(p.data[k] < 0.5f || p.data[k] > 0.5f);
        arrays += lora;
        CHECK(kept == lora);
    }
    CHECK_INT(arrays, 4);
    tfn_model_free(&m);
}

TEST(import_weights_wrong)
{
    tfn_model_desc d, of;
    tfn_import x = folders_import(NULL, 0, NULL);
    tfn_model m;
    memset(&d, 0, sizeof d);
    x.folder = import_path("llama");
    CHECK_OK(tfn_import_peek(&x, &d), &x.error);
    of = d;
    import_tensor_refused("F32", "1,", 4, "model.embed_tokens.weight has rank 3, not 2");
    import_tensor_refused("F8_E4M3", "", 1, "model.embed_tokens.weight has a dtype that is not read");
    import_strange_names();
    import_paths();
    x.folder = import_path("llama");
    import_into(&d, &x);
    import_broken_weights();
    import_files_wrong();
    import_weights_refused(&of, "no-such-folder", "cannot be opened");
    import_weights_refused(&of, "pickles/empty", "pytorch_model.bin: it has no tensors");
    import_weights_refused(&of, "pickles/nested", "pytorch_model.bin: it has no tensors");
    of.ffn++;
    import_weights_refused(&of, "llama", "mlp.gate_proj.weight has a side of 16, 17 is expected");
    of = d;
    of.layers++;
    import_weights_refused(&of, "llama", "no tensor layers.2.input_layernorm.weight");
    of = d;
    of.layers--;
    import_weights_refused(&of, "llama", "a tensor model.layers.1");
    import_weights_refused(&of, "llama-sharded", "a tensor model.layers.1");
    x.folder = import_path("gpt2");
    x.family = NULL;
    memset(&of, 0, sizeof of);
    CHECK_OK(tfn_import_peek(&x, &of), &x.error);
    of.layers++;
    import_weights_refused(&of, "gpt2", "no tensor h.2.ln_1.weight");
    x.folder = import_path("t5");
    x.family = NULL;
    memset(&of, 0, sizeof of);
    CHECK_OK(tfn_import_peek(&x, &of), &x.error);
    of.layers++;
    import_weights_refused(&of, "t5", "no tensor encoder.block.2.layer.0.layer_norm.weight");
    x.folder = import_path("llama");
    x.family = NULL;
    of = d;
    of.attention_bias = TFN_ATTENTION_BIAS_QKV;
    import_weights_refused(&of, "llama", "no tensor layers.0.self_attn.q_proj.bias");
    of = d;
    of.recipe = "pre";
    of.norm = NULL;
    import_weights_refused(&of, "llama", "the family has no tensor for decoder.0.self.norm_in.bias");
    of = d;
    of.inference = true;
    of.weights = TFN_WEIGHTS_Q8;
    of.layers++;
    import_weights_refused(&of, "llama", "no tensor layers.2.input_layernorm.weight");
    of.layers--;
    of.ffn++;
    import_weights_refused(&of, "llama", "mlp.gate_proj.weight has a side of 16, 17 is expected");
    d.weights = TFN_WEIGHTS_Q8;
    CHECK_INT(tfn_import_new(&m, import_path("llama"), &d), TFN_BAD_OPTION);
    CHECK_INT(tfn_import_new(&m, "no-such-folder", NULL), TFN_BAD_FILE);
    CHECK_INT(tfn_import_new(&m, NULL, NULL), TFN_NULL);
    CHECK_INT(tfn_import_new(NULL, import_path("llama"), NULL), TFN_NULL);
}

/* -- files of torch.save ----------------------------------------------------------------------- */

static unsigned char import_bin[IMPORT_TEXT];

static size_t import_open_bin(tfn_file *f, const char *name)
{
    const size_t bytes = folders_read(folders_path("hub", "pickles", name), import_bin,
                                      sizeof import_bin);
    *f = folders_from(import_bin, bytes);
    tfn_pickle_open(f);
    return bytes;
}

/* Storages that tensors share, offsets, each dtype. The list has only tensors, and only those in
 * row-major order. */
TEST(import_pickles)
{
    static const struct { const char *name; int32_t rank; int64_t count; float first, last; }
    cases[] = {
        { "bfloat16", 1, 3, 1, 3 }, { "float16", 1, 3, 1, 3 }, { "float64", 1, 3, 1, 3 },
        { "int16", 1, 3, 1, 3 }, { "int32", 1, 3, 1, 3 }, { "int64", 1, 3, 1, 3 },
        { "int8", 1, 3, 1, 3 }, { "none", 2, 0, 0, 0 }, { "number", 0, 1, 2.5f, 2.5f },
        { "part", 1, 6, 6, 11 }, { "row", 2, 6, 12, 17 }, { "uint8", 1, 3, 1, 255 },
        { "whole", 2, 24, 0, 23 }
    };
    enum { COUNT = sizeof cases / sizeof *cases };
    tfn_file f;
    tfn_tensor t;
    float v[24];
    import_open_bin(&f, "kinds.bin");
    CHECK_INT(f.error.status, TFN_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        CASE("%s", cases[i].name);
        CHECK(tfn_file_tensor(&f, i, &t) && !strcmp(t.name, cases[i].name));
        CHECK(t.rank == cases[i].rank && t.count == cases[i].count);
        if (!t.count) continue;
        CHECK(tfn_file_read(&f, &t, v, 0, t.count) == TFN_OK);
        CHECK_CLOSE(v[0], cases[i].first, 0);
        CHECK_CLOSE(v[t.count - 1], cases[i].last, 0);
    }
    CHECK(!tfn_file_tensor(&f, COUNT, &t));
    CHECK(tfn_file_text(&f, "turned", NULL, 0) > 0 && tfn_file_text(&f, "columns", NULL, 0) > 0);
    CHECK(tfn_file_text(&f, "whole", NULL, 0) == 0 && f.error.status == TFN_OK);
    tfn_file_close(&f);
}

/* With any byte changed or missing, the file is read or refused, and tensors are inside it. */
TEST(import_pickles_broken)
{
    static const char call[] = "posix\nsystem_of_a_test_\n";
    tfn_file f;
    tfn_tensor t;
    float v[256];
    const size_t bytes = import_open_bin(&f, "kinds.bin");
    size_t at = 0, refused = 0;
    uint32_t digest = DIGEST_BEGIN;
    tfn_file_close(&f);
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char kept = import_bin[i];
        import_bin[i] = (unsigned char)(kept ^ (1u << i % 8));
        f = folders_from(import_bin, bytes);
        if (tfn_pickle_open(&f) != TFN_OK) refused++;
        for (int32_t k = 0; f.header && tfn_file_tensor(&f, k, &t); k++) {
            digest_text(&digest, t.name, strlen(t.name));
            digest_int(&digest, t.rank + 64*t.count);
            if (t.count > 0 && t.count <= 256 && tfn_file_read(&f, &t, v, 0, t.count) == TFN_OK)
                digest_floats(&digest, v, (size_t)t.count);
        }
        digest_error(&digest, &f.error);
        tfn_file_close(&f);
        import_bin[i] = kept;
    }
    CHECK(refused > 300);
    CHECK_DIGEST(digest, 0xd4869b17u);
    for (size_t n = 0; n < bytes; n++) {
        f = folders_from(import_bin, n);
        CHECK(tfn_pickle_open(&f) != TFN_OK);
        tfn_file_close(&f);
    }
    while (at < bytes && memcmp(import_bin + at, "collections\nOrderedDict\n", 24)) at++;
    CHECK(at < bytes);
    memcpy(import_bin + at, call, sizeof call - 1);
    f = folders_from(import_bin, bytes);
    CHECK_INT(tfn_pickle_open(&f), TFN_UNSUPPORTED);
    CHECK_SAYS(&f.error, "calls posix.system");
    tfn_file_close(&f);
    import_open_bin(&f, "old.bin");
    CHECK_INT(f.error.status, TFN_UNSUPPORTED);
    CHECK_SAYS(&f.error, "before 1.6");
    CHECK(tfn_pickle_open(NULL) == TFN_NULL);
    import_put_file("broken.bin", "PK", 2);
    memset(&f, 0, sizeof f);
    f.path = "build/broken.bin";
    CHECK(tfn_pickle_open(&f) != TFN_OK);
    CHECK(!f.stream);                                   /* the file was closed */
    tfn_file_close(&f);
    remove(f.path);
}

/* In import_zip: an archive with a/data.pkl and a/data/0, which has 8 floats or `wide` bytes. zip64:
 * sizes and places are in zip64's field, after a field of another kind. */
static unsigned char import_zip[90000];
static size_t import_zipped;
static void import_put(const void *s, size_t bytes)
{
    memcpy(import_zip + import_zipped, s, bytes);
    import_zipped += bytes;
}
static void import_put_number(uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++, x >>= 8) import_zip[import_zipped++] = (unsigned char)x;
}

/* Makes the archive; returns where the entry of data.pkl is in the directory. */
static char import_inside[400] = "a";
static size_t import_archive(const char *ops, size_t bytes, size_t wide, bool zip64)
{
    char names[2][420];
    const size_t sizes[] = { bytes, wide ? wide : 32 };
    size_t at[2], begin, end;
    snprintf(names[0], sizeof names[0], "%s/data.pkl", import_inside);
    snprintf(names[1], sizeof names[1], "%s/data/0", import_inside);
    import_zipped = 0;
    for (int i = 0; i < 2; i++) {
        at[i] = import_zipped;
        import_put("PK\3\4", 4);
        for (int j = 0; j < 22; j++) import_zip[import_zipped++] = 0;
        import_put_number(strlen(names[i]), 4);
        import_put(names[i], strlen(names[i]));
        if (!i) import_put(ops, bytes);
        else for (size_t j = 0; j < sizes[1]; j += 4) import_put_number(0x3f800000, 4);
    }
    begin = import_zipped;
    for (int i = 0; i < 2; i++) {
        import_put("PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
        import_put_number(zip64 ? UINT32_MAX : sizes[i], 4);
        import_put_number(zip64 ? UINT32_MAX : sizes[i], 4);
        import_put_number(strlen(names[i]), 2);
        import_put_number(zip64 ? 34 : 0, 2);
        import_put_number(0, 10);
        import_put_number(zip64 ? UINT32_MAX : at[i], 4);
        import_put(names[i], strlen(names[i]));
        if (!zip64) continue;
        import_put("\2\0\2\0xy\1\0\x18\0", 10);
        import_put_number(sizes[i], 8);
        import_put_number(sizes[i], 8);
        import_put_number(at[i], 8);
    }
    end = import_zipped;
    if (zip64) {
        import_put("PK\6\6", 4);
        for (int j = 0; j < 36; j++) import_zip[import_zipped++] = 0;
        import_put_number(end - begin, 8);
        import_put_number(begin, 8);
        import_put("PK\6\7\0\0\0\0", 8);
        import_put_number(end, 8);
        import_put_number(1, 4);
    }
    import_put("PK\5\6\0\0\0\0\0\0\0\0", 12);
    import_put_number(zip64 ? UINT32_MAX : end - begin, 4);
    import_put_number(zip64 ? UINT32_MAX : begin, 4);
    import_put_number(0, 2);
    return begin;
}

/* Checks the number of tensors of an archive, or the message if it is not read. */
static void import_opens(int tensors, const char *says)
{
    tfn_file f = folders_from(import_zip, import_zipped);
    tfn_tensor t;
    float v[8];
    tfn_pickle_open(&f);
    if (says) {
        CHECK(f.error.status != TFN_OK && !f.header);
        CHECK_SAYS(&f.error, says);
    } else CHECK_OK(f.error.status, &f.error);
    for (int i = 0; !says && f.header && i < tensors; i++) {
        CHECK(tfn_file_tensor(&f, i, &t) && t.count == 6);
        CHECK(tfn_file_read(&f, &t, v, 0, 6) == TFN_OK && v[0] == 1 && v[5] == 1);
    }
    if (!says) CHECK(!tfn_file_tensor(&f, tensors, &t));
    tfn_file_close(&f);
}

#define IMPORT_KEY "X\1\0\0\0a"
#define IMPORT_STORE(type, key) \
    "(X\7\0\0\0storage" type key "X\3\0\0\0cpuK\10tQ"
#define IMPORT_FLOATS IMPORT_STORE("ctorch\nFloatStorage\n", "X\1\0\0\0" "0")
#define IMPORT_OF(store, offset, shape, strides) \
    "ctorch._utils\n_rebuild_tensor_v2\n(" store offset shape strides "\x89}tR"
#define IMPORT_TENSOR IMPORT_OF(IMPORT_FLOATS, "K\0", "K\2K\3\x86", "K\3K\1\x86")
#define IMPORT_WIDE "\x8a\6\0\0\0\0\0\x40"
#define IMPORT_OPS(ops) ops, sizeof ops - 1

/* Pickles by hand: each operation that tensors need, and each error. */
TEST(import_pickle_operations)
{
    static const char none[] = "is not a pickle of tensors";
    static const struct { const char *ops; size_t bytes; int tensors; const char *says; } rows[] = {
        { IMPORT_OPS("\x80\2}" IMPORT_KEY IMPORT_TENSOR "s."), 1, NULL },
        { IMPORT_OPS("ccollections\nOrderedDict\n)R(" IMPORT_KEY "ctorch._utils\n_rebuild_parameter\n("
          IMPORT_TENSOR "\x89}tRu."), 1, NULL },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "\x8a\1\1", "\x8a\1\2J\3\0\0\0\x86",
          "M\3\0\x8a\10\1\0\0\0\0\0\0\0\x86") "s."), 1, NULL },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "\x8a\0", "K\6\x85", "K\1\x85") "s."), 1, NULL },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "K\2K\3\x86", "K\1\x85") "s."), 0, NULL },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "K\1K\6\x86", "K\0K\1\x86") "s."), 1, NULL },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "K\2K\3\x86", "K\1K\2\x86") "s."), 0, NULL },
        { IMPORT_OPS("]K\1a](K\1K\2e00U\1a0T\1\0\0\0a0G\0\0\0\0\0\0\0\0" "0ctorch\nSize\n(K\1tR0N0}."), 0, NULL },
        { IMPORT_OPS("}" IMPORT_KEY "}(" IMPORT_KEY IMPORT_TENSOR "us."), 0, NULL },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_KEY "s(K\1" IMPORT_TENSOR "u."), 0, NULL },
        { IMPORT_OPS("}q\0r\1\0\0\0" "0j\1\0\0\0h\0" "0."), 0, NULL },
        { IMPORT_OPS("\x80\4}."), 0, none }, { IMPORT_OPS("}"), 0, none }, { IMPORT_OPS("K\1."), 0, none },
        { IMPORT_OPS("}K\1."), 0, none }, { IMPORT_OPS("}R."), 0, none }, { IMPORT_OPS("t."), 0, none },
        { IMPORT_OPS("K\1t."), 0, none }, { IMPORT_OPS("\x85."), 0, none }, { IMPORT_OPS("q\0."), 0, none },
        { IMPORT_OPS("h\0."), 0, none }, { IMPORT_OPS("}]h\0a0."), 0, none }, { IMPORT_OPS("}j\xff\0\0\0."), 0, none },
        { IMPORT_OPS("s."), 0, none }, { IMPORT_OPS("}(K\1u."), 0, none }, { IMPORT_OPS("K\1(u."), 0, none },
        { IMPORT_OPS("}K\1K\1u."), 0, none }, { IMPORT_OPS("}e."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "", "", "") "s."), 0, none },
        { IMPORT_OPS("}(" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\3", "K\6\x85", "K\1\x85")
          "X\1\0\0\0b" IMPORT_TENSOR "u."), 0, "extends past its storage" },
        { IMPORT_OPS("(u."), 0, none }, { IMPORT_OPS("a."), 0, none }, { IMPORT_OPS("(e."), 0, none },
        { IMPORT_OPS("0."), 0, none }, { IMPORT_OPS("\x8a\x09ttttttttt."), 0, none },
        { IMPORT_OPS("\x8a\2a"), 0, none }, { IMPORT_OPS("X\xff\0\0\0ab."), 0, none },
        { IMPORT_OPS("X\1\0"), 0, none }, { IMPORT_OPS("K"), 0, none }, { IMPORT_OPS("J\1"), 0, none },
        { IMPORT_OPS("ctorch\nFloat"), 0, none }, { IMPORT_OPS("\x95."), 0, "has the operation 149" },
        { IMPORT_OPS("cposix\n\x01x\x7f\n."), 0, "calls posix.?x?" }, { IMPORT_OPS("K\1)R."), 0, none },
        { IMPORT_OPS("ctorch\nSize\nK\1R."), 0, none }, { IMPORT_OPS("K\1Q."), 0, none },
        { IMPORT_OPS(IMPORT_KEY "\x85Q."), 0, none }, { IMPORT_OPS("(K\1K\1K\1K\1K\1tQ."), 0, none },
        { IMPORT_OPS("(" IMPORT_KEY "K\1K\1K\1K\1tQ."), 0, none },
        { IMPORT_OPS("(X\7\0\0\0stora?eK\1K\1K\1K\1tQ."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF("K\1", "K\0", "K\6\x85", "K\1\x85") "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_STORE("K\1", IMPORT_KEY), "K\0", "K\6\x85", "K\1\x85")
          "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_STORE("ctorch\nFloatStorage\n", "K\1"), "K\0",
          "K\6\x85", "K\1\x85") "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_STORE("ctorch\nFloatStorage\n", IMPORT_KEY), "K\0",
          "K\6\x85", "K\1\x85") "s."), 0, "lacks a/data/a" },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\3", "K\6\x85", "K\1\x85") "s."), 0,
          "extends past its storage" },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\11", "K\6\x85", "K\1\x85") "s."), 0,
          "extends past its storage" },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "J\xff\xff\xff\xff", "K\6\x85", "K\1\x85") "s."),
          0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, IMPORT_KEY, "K\6\x85", "K\1\x85") "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "K\6", "K\1\x85") "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "K\6\x85", "K\1") "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", IMPORT_KEY "\x85", "K\1\x85") "s."), 0,
          none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "J\xff\xff\xff\xff\x85", "K\1\x85") "s."),
          0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", "\x8a\7\0\0\0\0\0\0\1\x85", "K\1\x85")
          "s."), 0, none },
        { IMPORT_OPS("}" IMPORT_KEY IMPORT_OF(IMPORT_FLOATS, "K\0", IMPORT_WIDE "q\0h\0h\0\x87",
          "K\1K\1K\1\x87") "s."), 0, none },
        { IMPORT_OPS("}X\1\0\0\0\xff" IMPORT_TENSOR "s."), 0, none },
    };
    static const char head[] = "}" IMPORT_KEY "ctorch._utils\n_rebuild_tensor_v2\n(";
    static const char storage[] = "(X\7\0\0\0storagectorch\nFloatStorage\n";
    static const char tail[] = "X\3\0\0\0cpuK\10tQK\0K\6\x85K\1\x85\x89}tRs.";
    static const char tensor[] = IMPORT_TENSOR "s.";
    static char deep[8000];
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %d", (int)i);
        import_archive(rows[i].ops, rows[i].bytes, 0, false);
        import_opens(rows[i].tensors, rows[i].says);
    }
    for (int bytes = 1024; bytes < 1026; bytes++) {
        CASE("a name of %d bytes: too long for the list, or for a pickle", bytes);
        n = (size_t)sprintf(deep, "}X%c%c%c%c%0*d", bytes & 255, bytes >> 8, 0, 0, bytes, 7);
        memcpy(deep + n, tensor, sizeof tensor);
        import_archive(deep, n + sizeof tensor - 1, 0, false);
        import_opens(0, bytes > 1024 ? none : NULL);
    }
    CASE("a key longer than any name of the archive");
    memcpy(deep, head, n = sizeof head - 1);
    memcpy(deep + n, storage, sizeof storage);
    n += sizeof storage - 1;
    n += (size_t)sprintf(deep + n, "X%c%c%c%c%0600d", 600 & 255, 600 >> 8, 0, 0, 7);
    memcpy(deep + n, tail, sizeof tail);
    import_archive(deep, n + sizeof tail - 1, 0, false);
    import_opens(0, "the archive lacks");
    CASE("65 sides");
    memcpy(deep, head, n = sizeof head - 1);
    memcpy(deep + n, IMPORT_FLOATS "K\1(", sizeof IMPORT_FLOATS "K\1(");
    n += sizeof IMPORT_FLOATS "K\1(" - 1;
    for (int i = 0; i < 65; i++, n += 2) memcpy(deep + n, "K\1", 2);
    memcpy(deep + n, "tK\1\x85\x89}tRs.", 10);
    import_archive(deep, n + 10, 0, false);
    import_opens(0, none);
}

/* A small pickle that reuses a long name is refused: its header would have over 100 MB. */
TEST(import_pickle_repeats)
{
    static const char head[] = "q\0" IMPORT_TENSOR "q\1" "00(";
    static char ops[80000];
    size_t n = (size_t)sprintf(ops, "}X%c%c%c%c%01024d", 0, 4, 0, 0, 7);
    memset(ops + 6, 1, 1024);                               /* six bytes each in JSON */
    memcpy(ops + n, head, sizeof head - 1);
    n += sizeof head - 1;
    for (int i = 0; i < 16500; i++, n += 4) memcpy(ops + n, "h\0h\1", 4);
    memcpy(ops + n, "u.", 2);
    import_archive(ops, n + 2, 0, false);
    import_opens(0, "data.pkl has too many tensors");
}

/* The message names a tensor that is stored column by column. */
TEST(import_columns)
{
    static const char ops[] = "}(X\x19\0\0\0model.embed_tokens.weight"
        IMPORT_OF(IMPORT_FLOATS, "K\0", "K\2K\3\x86", "K\1K\2\x86")
        "X\x11\0\0\0model.norm.weight" IMPORT_TENSOR "u.";
    import_archive(ops, sizeof ops - 1, 0, false);
    import_build_refused("llama", "pytorch_model.bin", import_zip, import_zipped,
                         "the values of model.embed_tokens.weight do not follow each other");
}

/* Each read that fails is an error, and so is too little room. */
TEST(import_archives_fail)
{
    static const char ops[] = "}" IMPORT_KEY IMPORT_TENSOR "s.";
    static char room[4000];
    int fails = 0, small = 0;
    import_archive(ops, sizeof ops - 1, 0, true);
    for (bool opened = false; !opened && fails < 20; fails += !opened) {
        tfn_file f;
        import_disk disk = { import_zip, 0, fails };
        tfn_io io = { import_get, NULL, &disk, import_zipped };
        f = folders_from(NULL, 0);
        f.io = &io;
        opened = tfn_pickle_open(&f) == TFN_OK;
        if (!opened) CHECK_INT(f.error.status, TFN_BAD_FILE);
        tfn_file_close(&f);
    }
    CHECK(fails > 5 && fails < 20);
    for (bool opened = false; !opened && small < (int)sizeof room; small += 8) {
        tfn_file f = folders_from(import_zip, import_zipped);
        f.work = room;
        f.work_size = (size_t)small;
        opened = tfn_pickle_open(&f) == TFN_OK;
        if (!opened && small) CHECK_INT(f.error.status, TFN_NO_MEMORY);
        tfn_file_close(&f);
    }
    CHECK(small > 100 && small < 4000);
    {
        tfn_file f = folders_from(NULL, 0);
        f.path = "no such file.bin";
        CHECK_INT(tfn_pickle_open(&f), TFN_BAD_FILE);
    }
}

/* Errors in the archive itself: in the directory's entry of data.pkl. */
TEST(import_archives)
{
    static const char ops[] = "}" IMPORT_KEY IMPORT_TENSOR "s.";
    static const struct { bool zip64; int at, value; const char *says; } rows[] = {
        { false, 10, 8, "or has it compressed" }, { false, 8, 1, "or has it compressed" },
        { false, 20, 7, "or has it compressed" }, { false, 43, 255, "or has it compressed" },
        { false, 42, 4, "or has it compressed" }, { false, 28, 255, "it is not a zip archive" },
        { false, 0, 0, "it is not a zip archive" }, { false, 46, 'b', "lacks b/data/0" },
        { false, 24, 5, "or has it compressed" }, { false, 30, 255, "it is not a zip archive" },
        { false, 50, 'x', "lacks data.pkl" }, { false, 47, '_', "lacks data.pkl" },
        { true, 56, 3, NULL }, { true, 60, 9, NULL }, { true, 62, 3, "or has it compressed" },
        { true, 64, 23, "or has it compressed" }, { true, 73, 1, "or has it compressed" },
        { true, 58, 31, "or has it compressed" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t at = import_archive(ops, sizeof ops - 1, 0, rows[i].zip64);
        CASE("row %d", (int)i);
        import_zip[at + (size_t)rows[i].at] = (unsigned char)rows[i].value;
        import_opens(1, rows[i].says);
    }
    CASE("the directory");
    for (int at = 10; at > 2; at -= 4) {                    /* its size, and where it begins */
        import_archive(ops, sizeof ops - 1, 0, false);
        import_zip[import_zipped - (size_t)at + 3] = 1;
        import_opens(0, "it is not a zip archive");
        import_zip[import_zipped - (size_t)at + 3] = 9;
        import_opens(0, "it is not a zip archive");
    }
    CASE("one byte of it is missing, and all");
    import_archive(ops, sizeof ops - 1, 0, false);
    import_zip[import_zipped - 10]--;
    import_opens(0, "it is not a zip archive");
    memmove(import_zip, import_zip + import_zipped - 22, 22);
    memset(import_zip + 12, 0, 8);
    import_zipped = 22;
    import_opens(0, "lacks data.pkl");
    CASE("data.pkl ends after the file");
    {
        const size_t at = import_archive(ops, sizeof ops - 1, 0, false);
        import_zip[at + 22] = import_zip[at + 26] = 1;
        import_opens(0, "or has it compressed");
        CASE("a name shorter than data.pkl's");
        import_archive(ops, sizeof ops - 1, 0, false);
        import_zip[at + 28] = 3;                            /* the other 7 bytes: an extra field */
        import_zip[at + 30] = 7;
        import_opens(0, "lacks data.pkl");
    }
    CASE("a folder with a long name");
    memset(import_inside, 'f', 300);
    import_archive(ops, sizeof ops - 1, 0, false);
    import_opens(0, "lacks data.pkl");
    memset(import_inside + 1, 0, 299);
    import_inside[0] = 'a';
    CASE("the name in the local header ends after the file");
    import_archive(ops, sizeof ops - 1, 0, false);
    import_zip[27] = 255;
    import_opens(0, "or has it compressed");
    CASE("zip64");
    import_archive(ops, sizeof ops - 1, 0, true);
    import_opens(1, NULL);
    import_zip[import_zipped - 22 - 20 - 56] = 0;           /* not its record */
    import_opens(0, "it is not a zip archive");
    import_zip[import_zipped - 22 - 8] = 1;                 /* its record is after the end */
    import_opens(0, "");
    CASE("larger than what is searched for the end");
    import_archive(ops, sizeof ops - 1, 70000, false);
    import_opens(1, NULL);
    import_zip[0] = 0;
    import_opens(0, "or has it compressed");
    import_zip[import_zipped - 22] = 0;
    import_opens(0, "it is not a zip archive");
    import_zipped = 20;
    import_opens(0, "it is not a file of torch.save");
    import_archive(ops, sizeof ops - 1, 0, false);
    import_zip[0] = 0x80;
    import_opens(0, "before 1.6");
}

/* Opens and closes a file or a model, or fails to: case `which` of 28. */
static void import_once(int which)
{
    static const char ops[] = "}" IMPORT_KEY IMPORT_TENSOR "s.";
    static const char *const folders[] = { "llama", "llama-bin", "llama-sharded", "no such folder" };
    tfn_file f = folders_from(NULL, 0);
    tfn_model_desc d = folders_desc(false);
    tfn_model m;
    import_disk disk = { import_zip, 0, which };
    tfn_io io = { import_get, NULL, &disk, 0 };
    if (which < 20) {                   /* an archive whose read number `which` fails */
        import_archive(ops, sizeof ops - 1, 0, true);
        io.size = import_zipped;
        f.io = &io;
        tfn_pickle_open(&f);
        tfn_file_close(&f);
    } else if (which < 24) {
        if (tfn_import_new(&m, import_path(folders[which - 20]), &d) == TFN_OK) tfn_model_free(&m);
    } else if (which < 26) {            /* a model that is refused, and one that is not */
        memset(&d, 0, sizeof d);
        d.vocab = which == 24 ? 5 : -5;
        d.context = 4;
        if (tfn_model_new(&m, &d, NULL) == TFN_OK) tfn_model_free(&m);
    } else {
        f.path = which == 26 ? folders_path("hub", "llama", "model.safetensors") : "no such file";
        tfn_file_open(&f);
        tfn_file_close(&f);
    }
}
/* The library returns all memory when it closes something, and after each error. */
TEST(import_returns_memory)
{
#ifndef IMPORT_IN_USE
    (void)import_once;
    SKIP("no mallinfo2, or a sanitizer's heap");
#else
    for (int which = 0; which < 28; which++) {
        size_t before;
        import_once(which);
        before = IMPORT_IN_USE();
        for (int i = 0; i < 3; i++) import_once(which);
        if (IMPORT_IN_USE() != before)
            FAIL("case %d: %ld bytes more", which, (long)(IMPORT_IN_USE() - before));
    }
#endif
}

/* -- a user's family --------------------------------------------------------------------------- */

TEST(import_own_family)
{
    static const tfn_key_rule keys[] = {
        { NULL, "norm_eps", "1e-5", TFN_KEY_IS }, { NULL, NULL, NULL, TFN_KEY_IS }
    };
    static const tfn_key_rule defaults[] = {
        { "stages", "layers", "3", TFN_KEY_ENTRIES }, { NULL, "head_transform", "true", TFN_KEY_IS },
        { NULL, NULL, NULL, TFN_KEY_IS }
    };
    static const tfn_key_rule share[] = {
        { "hidden_act", "rotary_size", "", TFN_KEY_SAME }, { NULL, NULL, NULL, TFN_KEY_IS }
    };
    static const tfn_key_rule without[] = {
        { NULL, "width", NULL, TFN_KEY_IS }, { NULL, "layers", "", TFN_KEY_IS },
        { NULL, NULL, NULL, TFN_KEY_IS }
    };
    static const tfn_key_rule names[][2] = {        /* a key without a pattern matches no value */
        { { "hidden_act=silu", "attention_cap", "30", TFN_KEY_NAMES }, { NULL, NULL, NULL, TFN_KEY_IS } },
        { { "hidden_act\0silu", "attention_cap", "30", TFN_KEY_NAMES }, { NULL, NULL, NULL, TFN_KEY_IS } },
        { { "hidden_act=", "attention_cap", "30", TFN_KEY_NAMES }, { NULL, NULL, NULL, TFN_KEY_IS } }
    };
    tfn_family own;
    tfn_import x = folders_import(NULL, 0, NULL);
    tfn_model_desc d;
    memset(&own, 0, sizeof own);
    memset(&d, 0, sizeof d);
    own.name = "own";
    own.prefix = "model.";
    own.like = tfn_family_find("llama");
    own.keys = keys;
    x.folder = import_path("llama");
    x.family = &own;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_OK);
    CHECK_CLOSE((double)d.norm_eps, 1e-5, 1e-12);
    for (int form = TFN_KEY_IS; form <= TFN_KEY_WANT; form++) {    /* unknown option, bad window */
        tfn_key_rule wrong[] = { { "vocab_size", "vocabulary", "1", TFN_KEY_IS },
                                 { NULL, NULL, NULL, TFN_KEY_IS } };
        wrong[0].form = (tfn_key_form)form;
        own.keys = wrong;
        CASE("form %d", form);
        memset(&d, 0, sizeof d);
        if (tfn_import_peek(&x, &d) == TFN_OK) CHECK(form == TFN_KEY_NAMES || form == TFN_KEY_LAYERS);
        else CHECK(d.vocab == 0);
    }
    own.keys = defaults;
    memset(&d, 0, sizeof d);
    CHECK_INT(tfn_import_peek(&x, &d), TFN_OK);
    CHECK(d.layers == 3 && !d.head_transform && !d.output_bias);    /* llama's files lack a head */
    for (int i = 0; i < 3; i++) {
        CASE("pattern %d", i);
        own.keys = names[i];
        memset(&d, 0, sizeof d);
        CHECK_INT(tfn_import_peek(&x, &d), TFN_OK);
        CHECK_CLOSE((double)d.attention_cap, i ? 0 : 30, 0);
    }
    own.keys = share;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_UNSUPPORTED);
    CHECK_SAYS(&x.error, "hidden_act is silu; a larger number");
    own.keys = without;
    CHECK_INT(tfn_import_peek(&x, &d), TFN_OK);
    CHECK(tfn_family_find("own") == NULL && tfn_family_at(-1) == NULL);
    for (int32_t i = 0; tfn_family_at(i); i++)
        CHECK(tfn_family_find(tfn_family_at(i)->name) == tfn_family_at(i));
}

int main(void)
{
    RUN(import_families);
    RUN(import_sentences);
    RUN(import_bodies);
    RUN(import_blank);
    RUN(import_packed);
    RUN(import_packed_wide);
    RUN(import_packed_fails);
    RUN(import_gradients);
    RUN(import_translates);
    RUN(import_texts);
    RUN(import_labels);
    RUN(import_keys_refused);
    RUN(import_keys_left_aside);
    RUN(import_key_classes);
    RUN(import_class_as_text);
    RUN(import_any_config);
    RUN(import_key_list);
    RUN(import_scaling_objects);
    RUN(import_words);
    RUN(import_published);
    RUN(import_with_lora);
    RUN(import_lora_sources);
    RUN(import_windows);
    RUN(import_weights_wrong);
    RUN(import_lost_head);
    RUN(import_positions);
    RUN(import_lora_in_place);
    RUN(import_pickles);
    RUN(import_pickles_broken);
    RUN(import_pickle_operations);
    RUN(import_pickle_repeats);
    RUN(import_columns);
    RUN(import_archives_fail);
    RUN(import_archives);
    RUN(import_returns_memory);
    RUN(import_own_family);
    return DONE();
}
