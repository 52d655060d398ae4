/* LoRA in the files of PEFT. The adapters of golden/peft, on the models of golden/hub, give the
 * logits that golden/make_peft.py computes with W + s B A, and the same bits after they are written
 * and read again. Maps that share a module, each with its own A, become one LoRA of a higher rank.
 * Errors name the fault, and a file with a changed byte does no harm. */
#include "../folders.h"

enum { PEFT_ROOM = 1 << 16, PEFT_LOGITS = 4096 };
static const char *const peft_names[][2] = {
    { "gpt2", "gpt2" }, { "llama", "llama" }, { "llama-layer", "llama" },
    { "gpt_neox", "gpt_neox" }, { "gptj", "gptj" }, { "phi3", "phi3" }, { "bert", "bert" },
    { "t5", "t5" }
};
enum { PEFT_NAMES = sizeof peft_names / sizeof *peft_names };

/* -- a model with an adapter ------------------------------------------------------------------- */

typedef struct peft_case {
    tfn_import   x;                     /* of the adapter */
    folders_case text;
} peft_case;

/* Makes a model of the base with groups for the adapter, and loads both. */
static bool peft_make(tfn_model *m, peft_case *c, const char *base, bool inference)
{
    tfn_import of = folders_import(NULL, 0, NULL);
    tfn_model_desc d = folders_desc(inference);
    of.folder = folders_path("hub", base, NULL);
    if (!folders_sentences(&c->text, base) || !CHECK_OK(tfn_import_peek(&of, &d), &of.error))
        return false;
    c->x.family = of.family;
    return CHECK_OK(tfn_peft_peek(&c->x, &d), &c->x.error)
        && CHECK_OK(tfn_model_new(m, &d, NULL), &m->error)
        && CHECK_OK(tfn_import_weights(&of, m), &of.error)
        && CHECK_OK(tfn_peft_read(&c->x, m), &c->x.error);
}

static bool peft_load(tfn_model *m, peft_case *c, const char *name, const char *base,
                      bool inference)
{
    c->x = folders_import(NULL, 0, NULL);
    c->x.folder = folders_path("peft", name, NULL);
    return peft_make(m, c, base, inference);
}

/* The files that a test writes. */
static unsigned char peft_file[PEFT_ROOM];
static char peft_text[PEFT_ROOM];
static tfn_file peft_tensors;

/* Writes the adapter of a model to memory, and makes x read it from there. */
static void peft_keep(const tfn_model *m, const tfn_family *family, tfn_import *x)
{
    tfn_export out;
    tfn_file config = folders_to(peft_text, sizeof peft_text - 1);
    memset(&out, 0, sizeof out);
    peft_tensors = folders_to(peft_file, sizeof peft_file);
    out.family = family;
    out.weights = &peft_tensors;
    out.config = &config;
    CHECK_OK(tfn_peft_write(&out, m), &out.error);
    peft_text[config.used] = 0;
    peft_tensors = folders_from(peft_file, (size_t)peft_tensors.used);
    CHECK_OK(tfn_file_open(&peft_tensors), &peft_tensors.error);
    *x = folders_import(peft_text, (size_t)config.used, &peft_tensors);
}

/* Copies logits, because a model's are valid only until its next call. Returns how many. */
static int peft_floats(tfn_model *m, const tfn_batch *batch, float *to)
{
    const int n = batch->batch * batch->time * m->desc.vocab;
    const float *found = tfn_model_logits(m, batch);
    CHECK(found != NULL && n <= PEFT_LOGITS);
    if (!found || n > PEFT_LOGITS) return 0;
    memcpy(to, found, (size_t)n * sizeof *found);
    return n;
}

/* The adapter is written and read again: the same logits, to the bit. */
static void peft_again(const tfn_model *m, const char *base, const float *logits, int n)
{
    static peft_case c;
    static float found[PEFT_LOGITS];
    tfn_model again;
    peft_keep(m, tfn_family_find(base), &c.x);
    if (!peft_make(&again, &c, base, true)) return;
    CHECK_INT(peft_floats(&again, &c.text.batch, found), n);
    CHECK_BITS(found, logits, (size_t)n * sizeof *found);
    tfn_model_free(&again);
    tfn_file_close(&peft_tensors);
}

/* Merging adds s B A to the matrices. */
static void peft_merges(const tfn_model *m, const tfn_batch *batch, const double *wanted, int n)
{
    tfn_model merged;
    tfn_model_desc d = m->desc;
    memset(d.groups, 0, sizeof d.groups);
    CHECK(tfn_model_new(&merged, &d, NULL) == TFN_OK);
    CHECK(tfn_model_fold(&merged, m) == TFN_OK);
    CHECK_NEAR(tfn_model_logits(&merged, batch), wanted, n, 2e-5);
    tfn_model_free(&merged);
}

static void peft_golden(const char *name, const char *base)
{
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    static float logits[PEFT_LOGITS];
    tfn_model m;
    int n;
    CASE("%s", name);
    if (!peft_load(&m, &c, name, base, true)) return;
    n = peft_floats(&m, &c.text.batch, logits);
    CHECK_INT(folders_numbers(folders_path("peft", name, "logits.txt"), wanted, PEFT_LOGITS), n);
    CHECK_NEAR(logits, wanted, n, 2e-5);
    peft_merges(&m, &c.text.batch, wanted, n);
    peft_again(&m, base, logits, n);
    tfn_model_free(&m);
}

TEST(peft_logits)
{
    for (int i = 0; i < PEFT_NAMES; i++) peft_golden(peft_names[i][0], peft_names[i][1]);
}

/* -- several maps in one module ---------------------------------------------------------------- */

static void peft_says(const char *part)
{
    if (!strstr(peft_text, part)) FAIL("no %s in %s", part, peft_text);
}

/* Reads a tensor of the adapter that was written. Returns its rows. */
static int32_t peft_tensor(const char *module, char which, float *to)
{
    char name[128];
    tfn_tensor t;
    snprintf(name, sizeof name, "base_model.model.transformer.%s.lora_%c.weight", module, which);
    if (!tfn_file_find(&peft_tensors, name, &t)) {
        FAIL("no tensor %s", name);
        return 0;
    }
    CHECK_OK(tfn_file_read(&peft_tensors, &t, to, 0, t.count), &peft_tensors.error);
    return (int32_t)t.shape[0];
}

/* Adds s B A of a module to the model's matrix with outputs from `first` on, by the formula. */
static void peft_apply(tfn_model *m, const char *matrix, const char *module, int32_t first, float s)
{
    static float a[1024], b[1024];
    const int32_t rank = peft_tensor(module, 'A', a);
    tfn_param_info p;
    peft_tensor(module, 'B', b);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (strcmp(p.name, matrix)) continue;
        for (int32_t r = 0; r < p.rows; r++)
            for (int32_t c = 0; c < p.cols; c++)
                for (int32_t k = 0; k < rank; k++)
                    p.data[r * p.cols + c] += s * a[k * p.rows + r] * b[(first + c) * rank + k];
    }
}

/* The base plus the written adapter, by the formula. */
static void peft_by_hand(const tfn_batch *batch, const double *wanted, int n)
{
    tfn_model m;
    if (!folders_model(&m, folders_path("hub", "gpt2", NULL), true)) return;
    peft_apply(&m, "decoder.0.self.q.weight", "h.0.attn.c_attn", 0, 2);
    peft_apply(&m, "decoder.0.self.k.weight", "h.0.attn.c_attn", 12, 2);
    peft_apply(&m, "decoder.0.self.v.weight", "h.0.attn.c_attn", 24, 2);
    peft_apply(&m, "decoder.1.self.q.weight", "h.1.attn.c_attn", 0, 2);
    peft_apply(&m, "decoder.1.self.k.weight", "h.1.attn.c_attn", 12, 2);
    peft_apply(&m, "decoder.1.self.v.weight", "h.1.attn.c_attn", 24, 2);
    peft_apply(&m, "decoder.0.ffn.w1.weight", "h.0.mlp.c_fc", 0, 2.5f);
    CHECK_NEAR(tfn_model_logits(&m, batch), wanted, n, 2e-5);
    tfn_model_free(&m);
}

/* A model of GPT-2 with LoRA of these groups, whose values are not 0. */
static bool peft_grouped(tfn_model *m, const char *const *groups, int count)
{
    tfn_model_desc d = folders_desc(false);
    tfn_param_info p;
    for (int i = 0; i < count; i++) CHECK(tfn_group_add(&d, groups[i], NULL));
    if (!CHECK_OK(tfn_import_new(m, folders_path("hub", "gpt2", NULL), &d), &m->error))
        return false;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t k = 0; strstr(p.name, "lora") && k < p.rows * p.cols; k++)
            p.data[k] = (float)((i * 31 + k * 17) % 23 - 11) / 40;
    return true;
}

/* A model of GPT-2 with LoRA of several ranks. */
static bool peft_several(tfn_model *m)
{
    static const char *const groups[] = { "decoder.*.self.q.weight rank=3 alpha=6",
        "decoder.*.self.v.weight rank=2 alpha=4", "decoder.0.ffn.w1.weight rank=2 alpha=5" };
    return peft_grouped(m, groups, 3);
}

/* The model's logits as doubles. Returns how many. */
static int peft_doubles(tfn_model *m, const tfn_batch *batch, double *to)
{
    static float logits[PEFT_LOGITS];
    const int n = peft_floats(m, batch, logits);
    for (int i = 0; i < n; i++) to[i] = (double)logits[i];
    return n;
}

/* The adapter of the case, read on top of GPT-2, gives these logits. */
static void peft_reads(peft_case *c, const double *wanted, int n)
{
    tfn_model m;
    if (!peft_make(&m, c, "gpt2", false)) return;
    CHECK_NEAR(tfn_model_logits(&m, &c->text.batch), wanted, n, 1e-6);
    tfn_model_free(&m);
}

TEST(peft_stacks)
{
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    tfn_model m;
    int n;
    if (!peft_several(&m) || !folders_sentences(&c.text, "gpt2")) return;
    n = peft_doubles(&m, &c.text.batch, wanted);
    peft_keep(&m, NULL, &c.x);
    peft_says("\"r\": 5,");
    peft_says("\"lora_alpha\": 10,");
    peft_says("\"rank_pattern\": {\"h.0.mlp.c_fc\": 2}");
    peft_says("\"alpha_pattern\": {\"h.0.mlp.c_fc\": 5}");
    peft_says("\"target_modules\": [\"attn.c_attn\", \"h.0.mlp.c_fc\"]");
    peft_says("\"fan_in_fan_out\": true");
    peft_by_hand(&c.text.batch, wanted, n);
    peft_reads(&c, wanted, n);
    tfn_model_free(&m);
    tfn_file_close(&peft_tensors);
}

/* The module's alpha is that of its first map; a map of another factor has it in its B. */
TEST(peft_factors)
{
    static const char *const groups[] = { "decoder.*.self.q.weight rank=3 alpha=6",
                                          "decoder.*.self.v.weight rank=2 alpha=2" };
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    tfn_model m;
    int n;
    if (!peft_grouped(&m, groups, 2) || !folders_sentences(&c.text, "gpt2")) return;
    n = peft_doubles(&m, &c.text.batch, wanted);
    peft_keep(&m, NULL, &c.x);
    peft_says("\"r\": 5,");
    peft_says("\"lora_alpha\": 10,");
    peft_reads(&c, wanted, n);
    tfn_model_free(&m);
    tfn_file_close(&peft_tensors);
}

/* Maps of one module whose LoRA differs in rank, factor or values of A are stacked. */
TEST(peft_unlike)
{
    static const struct { const char *groups[2], *says; } rows[] = {
        { { "decoder.*.self.q.weight rank=3 alpha=6", "decoder.*.self.[kv].weight rank=2 alpha=4" },
          "\"r\": 7," },
        { { "decoder.*.self.q.weight rank=2 alpha=4", "decoder.*.self.[kv].weight rank=2 alpha=2" },
          "\"r\": 6," },
        { { "decoder.*.self.q.weight rank=2 alpha=4", "decoder.*.self.[kv].weight rank=2 alpha=8" },
          "\"r\": 6," },
        { { "decoder.*.self.[qkv].weight rank=2 alpha=4", NULL }, "\"r\": 6," }
    };
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    if (!folders_sentences(&c.text, "gpt2")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model m;
        int n;
        CASE("%s", rows[i].groups[0]);
        if (!peft_grouped(&m, rows[i].groups, 1 + (rows[i].groups[1] != NULL))) return;
        n = peft_doubles(&m, &c.text.batch, wanted);
        peft_keep(&m, NULL, &c.x);
        peft_says(rows[i].says);
        peft_reads(&c, wanted, n);
        tfn_model_free(&m);
        tfn_file_close(&peft_tensors);
    }
}

/* Layers with different ranks do not share a name. */
TEST(peft_ranks)
{
    static const char *const groups[] = { "decoder.0.self.q.weight rank=2", "decoder.1.self.q.weight rank=3" };
    peft_case c;
    tfn_model m;
    if (!peft_grouped(&m, groups, 2)) return;
    peft_keep(&m, NULL, &c.x);
    peft_says("\"rank_pattern\": {\"h.1.attn.c_attn\": 3}");
    peft_says("\"target_modules\": [\"h.0.attn.c_attn\", \"h.1.attn.c_attn\"]");
    tfn_model_free(&m);
    tfn_file_close(&peft_tensors);
}

/* Layers of one rank but other alphas do not share a name. */
TEST(peft_alphas)
{
    static const char *const alphas[][2] = { { "4", "6" }, { "6", "4" } };
    for (int i = 0; i < 2; i++) {
        char text[2][60], says[80];
        const char *groups[2];
        peft_case c;
        tfn_model m;
        for (int k = 0; k < 2; k++) {
            snprintf(text[k], sizeof text[k], "decoder.%d.self.q.weight rank=2 alpha=%s", k,
                     alphas[i][k]);
            groups[k] = text[k];
        }
        if (!peft_grouped(&m, groups, 2)) return;
        peft_keep(&m, NULL, &c.x);
        snprintf(says, sizeof says, "\"lora_alpha\": %s,", alphas[i][0]);
        peft_says(says);
        snprintf(says, sizeof says, "\"alpha_pattern\": {\"h.1.attn.c_attn\": %s}", alphas[i][1]);
        peft_says(says);
        peft_says("\"target_modules\": [\"h.0.attn.c_attn\", \"h.1.attn.c_attn\"]");
        tfn_model_free(&m);
        tfn_file_close(&peft_tensors);
    }
}

/* The files in a folder have the bytes of those in memory. */
TEST(peft_folder)
{
    static const char *const paths[] = { "build/adapter_model.safetensors",
                                         "build/adapter_config.json" };
    static unsigned char found[PEFT_ROOM];
    peft_case c;
    tfn_export x;
    tfn_model m;
    if (!peft_several(&m)) return;
    peft_keep(&m, NULL, &c.x);
    memset(&x, 0, sizeof x);
    x.folder = "build";
    if (CHECK_OK(tfn_peft_write(&x, &m), &x.error))
        for (int i = 0; i < 2; i++) {
            const void *wanted = i ? (const void *)peft_text : peft_file;
            const size_t bytes = i ? strlen(peft_text) : (size_t)peft_tensors.used;
            FILE *f = fopen(paths[i], "rb");
            CHECK(f != NULL);
            if (!f) continue;
            CHECK_INT(fread(found, 1, sizeof found, f), bytes);
            CHECK_BITS(found, wanted, bytes);
            fclose(f);
            remove(paths[i]);
        }
    tfn_model_free(&m);
    tfn_file_close(&peft_tensors);
}

/* BF16 does not hold all values: an error, or rounded values if the caller wants them. */
TEST(peft_rounded)
{
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    tfn_export x;
    tfn_model m, again;
    int n;
    if (!peft_several(&m) || !folders_sentences(&c.text, "gpt2")) return;
    n = peft_doubles(&m, &c.text.batch, wanted);
    peft_keep(&m, NULL, &c.x);
    tfn_file_close(&peft_tensors);
    memset(&x, 0, sizeof x);
    peft_tensors = folders_to(peft_file, sizeof peft_file);
    x.weights = &peft_tensors;
    x.dtype = TFN_DTYPE_BF16;
    CHECK_INT(tfn_peft_write(&x, &m), TFN_UNSUPPORTED);
    CHECK_SAYS(&x.error, "values that the dtype does not hold");
    CHECK(x.error.found > 0);
    x.round = true;
    CHECK_OK(tfn_peft_write(&x, &m), &x.error);
    peft_tensors = folders_from(peft_file, (size_t)peft_tensors.used);
    CHECK_OK(tfn_file_open(&peft_tensors), &peft_tensors.error);
    if (peft_make(&again, &c, "gpt2", false)) {
        CHECK_NEAR(tfn_model_logits(&again, &c.text.batch), wanted, n, 0.02);
        tfn_model_free(&again);
    }
    tfn_model_free(&m);
    tfn_file_close(&peft_tensors);
}

/* An adapter in F32, with a name for its base, of a model with frozen matrices. In float16, a value
 * beyond the range is an error, even with rounding. */
TEST(peft_written)
{
    static const char *const groups[] = { "decoder.*.self.q.weight rank=2", "decoder.*.ffn.* frozen" };
    tfn_export x;
    tfn_model m;
    tfn_file config;
    if (!peft_grouped(&m, groups, 2)) return;
    memset(&x, 0, sizeof x);
    peft_tensors = folders_to(peft_file, sizeof peft_file);
    config = folders_to(peft_text, sizeof peft_text - 1);
    x.weights = &peft_tensors;
    x.config = &config;
    x.dtype = TFN_DTYPE_F32;
    x.name = "a \"base\"";
    CHECK_OK(tfn_peft_write(&x, &m), &x.error);
    CHECK_INT(x.tensors, 4);
    peft_text[config.used] = 0;
    peft_says("\"base_model_name_or_path\": \"a \\\"base\\\"\",");
    x.dtype = TFN_DTYPE_F16;
    x.round = true;
    for (int32_t i = 0; i < m.weight_count; i++) {
        tfn_param_info p;
        tfn_model_param(&m, i, &p);
        if (strstr(p.name, "lora_a")) p.data[0] = 1e10f;
    }
    CHECK_INT(tfn_peft_write(&x, &m), TFN_UNSUPPORTED);
    CHECK_SAYS(&x.error, "values that the dtype does not hold");
    tfn_model_free(&m);
}

/* The names of a model without a head lack the family's prefix. */
TEST(peft_bare)
{
    static peft_case c;
    static const char name[] = "base_model.model.encoder.layer.0.attention.self.query.lora_A.weight";
    tfn_import of = folders_import(NULL, 0, NULL);
    tfn_model_desc d = folders_desc(true);
    tfn_model m, again;
    tfn_tensor t;
    of.folder = folders_path("hub", "minilm", NULL);
    CHECK_OK(tfn_import_peek(&of, &d), &of.error);
    CHECK(tfn_group_add(&d, "*.self.q.weight rank=2", NULL));
    CHECK_OK(tfn_model_new(&m, &d, NULL), &m.error);
    CHECK_OK(tfn_import_weights(&of, &m), &of.error);
    peft_keep(&m, of.family, &c.x);
    CHECK(tfn_file_find(&peft_tensors, name, &t) && t.shape[0] == 2);
    CHECK_OK(tfn_model_new(&again, &d, NULL), &again.error);
    CHECK_OK(tfn_import_weights(&of, &again), &of.error);
    c.x.family = of.family;
    CHECK_OK(tfn_peft_read(&c.x, &again), &c.x.error);
    CHECK(tfn_model_hash(&again) == tfn_model_hash(&m));
    tfn_model_free(&m);
    tfn_model_free(&again);
    tfn_file_close(&peft_tensors);
}

/* A model that was read from an adapter trains further. The adapter has only layer 1: LoRA of layer
 * 0 is 0 and stays 0. */
TEST(peft_trains)
{
    static peft_case c;
    tfn_report report;
    tfn_model m;
    tfn_param_info p;
    uint64_t hash;
    int zeros = 0;
    if (!peft_load(&m, &c, "llama-layer", "llama", false)) return;
    hash = tfn_model_hash(&m);
    c.text.batch.targets = c.text.tokens;
    for (int step = 0; step < 3; step++)
        CHECK(tfn_model_step(&m, &c.text.batch, &report) == TFN_OK && report.updated);
    CHECK(tfn_model_hash(&m) != hash);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        const bool first = strstr(p.name, "decoder.0.") != NULL;
        if (!strstr(p.name, ".lora_")) continue;
        zeros += first;
        for (int32_t k = 0; k < p.rows * p.cols; k++)
            if (first) CHECK(!(p.data[k] > 0 || p.data[k] < 0));
    }
    CHECK_INT(zeros, 4);
    tfn_model_free(&m);
}

/* -- errors ------------------------------------------------------------------------------------ */

/* Replaces a text by one of any length; false: it does not occur. */
static bool peft_replace(char *text, size_t *bytes, const char *from, const char *to)
{
    const size_t n = strlen(from), more = strlen(to);
    for (size_t i = 0; i + n <= *bytes; i++) {
        if (memcmp(text + i, from, n)) continue;
        memmove(text + i + more, text + i + n, *bytes - i - n + 1);
        memcpy(text + i, to, more);
        *bytes += more - n;
        return true;
    }
    return false;
}

/* An adapter in memory. */
typedef struct peft_memory {
    char       config[4096], tensors[PEFT_ROOM];
    size_t     config_bytes, tensor_bytes;
    bool       lenient;
    tfn_import x;
    tfn_file   f;
} peft_memory;

static void peft_files(peft_memory *p, const char *name)
{
    memset(p, 0, sizeof *p);
    p->config_bytes = folders_read(folders_path("peft", name, "adapter_config.json"), p->config,
                                   sizeof p->config / 2);
    p->tensor_bytes = folders_read(folders_path("peft", name, "adapter_model.safetensors"),
                                   p->tensors, sizeof p->tensors);
    CHECK(p->config_bytes > 500 && p->tensor_bytes > 500);
}

/* Reads the groups of the adapter, then its values, into a model that may have other LoRA. The
 * files are in blocks of exactly their sizes. */
static tfn_status peft_take(peft_memory *p, const char *family, tfn_model *m)
{
    tfn_model_desc d = m->desc;
    char *config = (char *)malloc(p->config_bytes + !p->config_bytes);
    char *tensors = (char *)malloc(p->tensor_bytes + !p->tensor_bytes);
    memset(d.groups, 0, sizeof d.groups);
    memcpy(config, p->config, p->config_bytes);
    memcpy(tensors, p->tensors, p->tensor_bytes);
    p->f = folders_from(tensors, p->tensor_bytes);
    p->x = folders_import(config, p->config_bytes, &p->f);
    p->x.family = tfn_family_find(family);
    p->x.lenient = p->lenient;
    if (tfn_file_open(&p->f) != TFN_OK) p->x.error = p->f.error;
    else if (tfn_peft_peek(&p->x, &d) == TFN_OK) tfn_peft_read(&p->x, m);
    tfn_file_close(&p->f);
    free(config);
    free(tensors);
    return p->x.error.status;
}

typedef struct peft_fault {
    const char *from, *to, *wanted;
} peft_fault;
#define PEFT_TENS "0123456789_123456789_123456789_123456789_123456789_"
#define PEFT_LONG PEFT_TENS PEFT_TENS PEFT_TENS PEFT_TENS
#define PEFT_LAST "\"use_rslora\": false"       /* the last key; a repeated key overrides the first */

static void peft_refuses(const char *name, const char *base, const peft_fault *rows, size_t count)
{
    static peft_memory p;
    static peft_case c;
    tfn_model m;
    uint64_t hash;
    if (!peft_load(&m, &c, name, base, true)) return;
    hash = tfn_model_hash(&m);
    for (size_t i = 0; i < count; i++) {
        const peft_fault *row = rows + i;
        peft_files(&p, name);
        CASE("%s, %s", name, row->to);
        if (!peft_replace(p.config, &p.config_bytes, row->from, row->to)
            && !peft_replace(p.tensors, &p.tensor_bytes, row->from, row->to))
            FAIL("no %s", row->from);
        if (peft_take(&p, base, &m) == TFN_OK) FAIL("is accepted");
        CHECK_SAYS(&p.x.error, row->wanted);
        CHECK(tfn_model_hash(&m) == hash && m.error.status == TFN_OK);
    }
    tfn_model_free(&m);
}

TEST(peft_errors)
{
    static const peft_fault gpt2[] = {
        { "\"LORA\"", "\"IA3\"", "peft_type is IA3; LORA is expected" },
        { "\"peft_type\"", "\"kind\"", "peft_type is missing; LORA is expected" },
        { "\"use_dora\": false", "\"use_dora\": true", "use_dora is true; a key that is known" },
        { "\"lora_bias\": false", "\"lora_bias\": true", "lora_bias is true" },
        { "\"bias\": \"none\"", "\"bias\": \"all\"", "bias is all; none is expected" },
        { "\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]",
          "modules_to_save is [\"lm_head\"]" },
        { "\"layer_replication\": null", "\"layer_replication\": [[0, 1]]", "layer_replication is" },
        { "\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa_niter_4\"",
          "init_lora_weights is pissa_niter_4; true, gaussian, eva or orthogonal" },
        { "\"r\": 3", "\"r\": 4", "lora_A.weight has 3 rows, 4 are expected" },
        { "\"r\": 3", "\"r\": 2.5", "r is 2.5; a whole number above 0 is expected" },
        { "\"r\": 3", "\"r\": \"3\"", "r is 3; a whole number" },
        { "\"r\": 3", "\"r\": 1e300", "r is 1e300; a whole number" },
        { "\"lora_alpha\": 6", "\"lora_alpha\": 0", "lora_alpha is 0; a number above 0" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\".*c_proj\": 2}", "names, not expressions" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"^\": 2}", "names, not expressions" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"c~attn\": 2}", "names, not expressions" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"a" PEFT_LONG "\": 2}", "names, not expre" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"c_proj\": 2}", "has 3 rows, 2 are expected" },
        { "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"c_attn\": -1}", "alpha_pattern is -1" },
        { "\"alpha_pattern\": {}", "\"alpha_pattern\": [1]", "alpha_pattern is [1]; an object" },
        { "\"layers_to_transform\": null", "\"layers_to_transform\": \"all\"",
          "layers_to_transform is all; a list of layers" },
        { "\"use_rslora\": false", "\"use_rslora\": \"yes\"", "use_rslora is yes; true or false" },
        { "\"use_rslora\": false", "\"use_rslora\": false,", "adapter_config.json: " },
        { ".h.0.attn.c_attn.lora_A", ".h.0.attn.c_attn.lora_C", "a tensor base_model.model.transforme"
          "r.h.0.attn.c_attn.lora_C.weight; names that end in lora_A.weight" },
        { ".h.0.attn.c_attn.lora_A", ".h.0.attn.c_bttn.lora_A", "for which the family has no linear" },
        { ".h.0.attn.c_attn.lora_A", ".h.9.attn.c_attn.lora_A", "for which the model has no LoRA" },
        { "\"base_model.model.transformer.h.0.attn.c_attn.lora_A.weight\"",
          "\"base_model.model.lora_A.weight\"                            ",
          "a tensor base_model.model.lora_A.weight; names that" },
        { "[3,12]", "[ 36 ]", "lora_A.weight has rank 1, not 2" }
    };
    static const peft_fault layer[] = {
        { "\"layers_to_transform\": [\n    1\n  ]", "\"layers_to_transform\": null",
          "no lora_A.weight of model.layers.0.self_attn.k_proj, which target_modules names" },
        { "\"layers_to_transform\": [\n    1\n  ],", "", "no lora_A.weight of model.layers.0" },
        { "\"layers_to_transform\": [\n    1\n  ]", "\"layers_to_transform\": 0",
          "no lora_A.weight of model.layers.0" },
        { "\"layers_to_transform\": [\n    1\n  ]", "\"layers_to_transform\": [1, 0]",
          "no lora_A.weight of model.layers.0" },
        { PEFT_LAST, PEFT_LAST ", \"layers_to_transform\": null, \"target_modules\":"
          " [\"model.layers.0.self_attn.o_proj\"]", "no lora_A.weight of model.layers.0.self_attn.o_proj" },
        { "layers.1.self_attn.o_proj.lora_B", "layers.0.self_attn.o_proj.lora_B", "has lora_A.weight, but no" }
    };
    peft_refuses("gpt2", "gpt2", gpt2, sizeof gpt2 / sizeof *gpt2);
    peft_refuses("llama-layer", "llama", layer, sizeof layer / sizeof *layer);
}

/* Changes of the configuration that leave the weights the same, to the bit. Modules that
 * target_modules may or may not mean are not required. */
TEST(peft_harmless)
{
    static const struct { const char *name, *base, *from, *to; } rows[] = {
        { "gpt2", "gpt2", PEFT_LAST, PEFT_LAST ", \"use_magic\": true" },
        { "gpt2", "gpt2", "\"bias\": \"none\",", "" },
        { "gpt2", "gpt2", "\"init_lora_weights\": true", "\"init_lora_weights\": \"eva\"" },
        { "gpt2", "gpt2", "\"rank_pattern\": {}", "\"rank_pattern\": null" },
        { "gpt2", "gpt2", "\"rank_pattern\": {}", "\"rank_pattern\": {\"C_ATTN\": 2}" },
        { "gpt2", "gpt2", "\"rank_pattern\": {}", "\"rank_pattern\": {\"" PEFT_TENS "\": 2}" },
        { "llama-layer", "llama", "\"layers_to_transform\": [\n    1\n  ]", "\"layers_to_transform\": 1" },
        { "llama-layer", "llama", PEFT_LAST,
          PEFT_LAST ", \"layers_to_transform\": null, \"target_modules\": \"all-linear\"" },
        { "llama-layer", "llama", PEFT_LAST,
          PEFT_LAST ", \"layers_to_transform\": null, \"exclude_modules\": [\"x\"]" },
        { "llama-layer", "llama", PEFT_LAST,
          PEFT_LAST ", \"layers_to_transform\": null, \"layers_pattern\": \"h\"" },
        { "llama-layer", "llama", PEFT_LAST,
          PEFT_LAST ", \"layers_to_transform\": null, \"target_modules\": [\"proj\", \"" PEFT_TENS "\"]" },
        { "llama-layer", "llama", PEFT_LAST, PEFT_LAST
          ", \"layers_to_transform\": null, \"target_modules\": [\"k_proj\", \"" PEFT_LONG "\"]" },
        { "llama-layer", "llama", "\"target_modules\": [\n    \"k_proj\",\n    \"o_proj\"\n  ]",
          "\"layers_to_transform\": null" }
    };
    static peft_memory p;
    static peft_case c;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model m;
        uint64_t hash;
        if (!peft_load(&m, &c, rows[i].name, rows[i].base, true)) return;
        hash = tfn_model_hash(&m);
        peft_files(&p, rows[i].name);
        p.lenient = true;
        CASE("%s, %s", rows[i].name, rows[i].to);
        CHECK(peft_replace(p.config, &p.config_bytes, rows[i].from, rows[i].to));
        CHECK_OK(peft_take(&p, rows[i].base, &m), &p.x.error);
        CHECK(tfn_model_hash(&m) == hash);
        tfn_model_free(&m);
    }
}

/* Half of alpha halves B and leaves A. */
TEST(peft_half_alpha)
{
    static peft_memory p;
    static peft_case c;
    tfn_model whole, half;
    tfn_param_info a, b;
    int arrays = 0;
    if (!peft_load(&whole, &c, "gpt2", "gpt2", true)) return;
    if (!peft_load(&half, &c, "gpt2", "gpt2", true)) return;
    peft_files(&p, "gpt2");
    CHECK(peft_replace(p.config, &p.config_bytes, "\"lora_alpha\": 6", "\"lora_alpha\": 3"));
    CHECK_OK(peft_take(&p, "gpt2", &half), &p.x.error);
    for (int32_t i = 0; tfn_model_param(&whole, i, &a) && tfn_model_param(&half, i, &b); i++) {
        const double factor = strstr(a.name, ".lora_b") ? 2 : 1;
        arrays += factor > 1;
        for (int64_t k = 0; k < (int64_t)a.rows * a.cols; k++)
            CHECK_CLOSE(factor * (double)b.data[k], (double)a.data[k], 0);
    }
    CHECK(arrays > 0);
    tfn_model_free(&whole);
    tfn_model_free(&half);
}

/* -- adapters by hand -------------------------------------------------------------------------- */

/* An adapter of GPT-2 with A and B of rank 1 for one module, each in its own file. */
#define PEFT_HAND "{\"peft_type\": \"LORA\", \"r\": 1, \"lora_alpha\": 1}"
typedef struct peft_hand {
    unsigned char bytes[2][1024];
    tfn_file      files[2];
    tfn_import    x;
} peft_hand;

static void peft_one(tfn_file *f, unsigned char *to, const char *header, size_t values)
{
    tfn_file_close(f);                  /* from the previous case */
    *f = folders_from(to, folders_tensors(to, header, values));
    CHECK_OK(tfn_file_open(f), &f->error);
}

static void peft_by_module(peft_hand *h, const char *dtype, int bytes)
{
    static const char module[] = "transformer.h.0.attn.c_attn";
    char header[300];
    snprintf(header, sizeof header, "{\"%s.lora_A.weight\":{\"dtype\":\"%s\",\"shape\":[1,12],"
             "\"data_offsets\":[0,%d]}}", module, dtype, 12 * bytes);
    peft_one(h->files, h->bytes[0], header, (size_t)(12 * bytes));
    snprintf(header, sizeof header, "{\"%s.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[36,1],"
             "\"data_offsets\":[0,144]}}", module);
    peft_one(h->files + 1, h->bytes[1], header, 144);
    h->x = folders_import(PEFT_HAND, sizeof PEFT_HAND - 1, h->files);
    h->x.count = 2;
    h->x.family = tfn_family_find("gpt2");
}

/* Makes GPT-2 with the LoRA of this group. */
static bool peft_base(tfn_model *m, const char *group)
{
    return peft_grouped(m, &group, 1);
}

/* Checks that tfn_peft_read without a peek before it fails with this message and leaves the model
 * as it is. */
static void peft_read_refused(peft_hand *h, const char *group, const char *wanted)
{
    tfn_model m;
    uint64_t hash;
    CASE("%s", wanted);
    if (!peft_base(&m, group)) return;
    hash = tfn_model_hash(&m);
    CHECK(tfn_peft_read(&h->x, &m) != TFN_OK);
    CHECK_SAYS(&h->x.error, wanted);
    CHECK(tfn_model_hash(&m) == hash && m.error.status == TFN_OK);
    tfn_model_free(&m);
}

TEST(peft_reads_wrong)
{
    static const char all[] = "decoder.*.self.[qkv].weight rank=1";
    static const char other[] = "{\"h.lora_C.weight\":{\"dtype\":\"F32\",\"shape\":[1],"
                                "\"data_offsets\":[0,4]}}";
    static const char two[] = "{\"peft_type\": \"LORA\", \"r\": 2}";
    static const tfn_tensor_rule tensors[] = {
        { "h.#.attn.c_attn.*", "decoder.#.self.q.*", 0, 0, 3, 0 }, { NULL, NULL, 0, 0, 0, 0 }
    };
    static peft_hand h;
    tfn_family own;
    peft_by_module(&h, "F32", 4);
    h.x.config = two;
    h.x.config_size = sizeof two - 1;
    peft_read_refused(&h, all, "lora_A.weight has 1 rows, 2 are expected");
    h.x.config = "{\"peft_type\": \"X\"}";
    h.x.config_size = strlen(h.x.config);
    peft_read_refused(&h, all, "peft_type is X; LORA is expected");
    peft_by_module(&h, "F8_E4M3", 1);
    peft_read_refused(&h, all, "lora_A.weight has a dtype that is not read");
    peft_by_module(&h, "F32", 4);
    memset(&own, 0, sizeof own);                /* a family that knows only queries */
    own.name = "own";
    own.prefix = "transformer.";
    own.tensors = tensors;
    h.x.family = &own;
    peft_read_refused(&h, "decoder.*.self.[qo].weight rank=1",
                      "the family has no tensor for decoder.0.self.o.lora_a");
    h.x.family = NULL;
    peft_read_refused(&h, all, "family is NULL");
    peft_by_module(&h, "F32", 4);
    h.x.config = NULL;
    peft_read_refused(&h, all, "folder or config is NULL");
    peft_by_module(&h, "F32", 4);
    peft_one(h.files, h.bytes[0], other, 4);
    peft_read_refused(&h, all, "names that end in lora_A.weight");
}

/* An adapter with a higher rank than the model's LoRA is refused. */
TEST(peft_rank_too_low)
{
    static peft_memory p;
    static peft_hand h;
    tfn_file f;
    peft_files(&p, "gpt2");
    f = folders_from(p.tensors, p.tensor_bytes);
    CHECK_OK(tfn_file_open(&f), &f.error);
    h.x = folders_import(p.config, p.config_bytes, &f);
    h.x.family = tfn_family_find("gpt2");
    peft_read_refused(&h, "decoder.* rank=1", "has rank 3, the model's LoRA has 1");
    CHECK(h.x.error.found == 3 && h.x.error.wanted == 1);
    tfn_file_close(&f);
}

/* A model with an error is refused, except after a bad batch. */
TEST(peft_after_errors)
{
    static const tfn_status before[] = { TFN_OK, TFN_BAD_BATCH, TFN_NOT_READY };
    static peft_hand h;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        tfn_model m;
        CASE("error %d before", (int)before[i]);
        if (!peft_base(&m, "decoder.*.self.[qkv].weight rank=1")) return;
        peft_by_module(&h, "F32", 4);
        m.error.status = before[i];
        CHECK_INT(tfn_peft_read(&h.x, &m), before[i] == TFN_NOT_READY ? TFN_NOT_READY : TFN_OK);
        tfn_model_free(&m);
    }
}

/* A source whose reads fail when `left` is used up. */
typedef struct peft_disk {
    const unsigned char *bytes;
    int left;
} peft_disk;
static bool peft_get(void *user, uint64_t at, void *to, size_t bytes)
{
    peft_disk *disk = (peft_disk *)user;
    if (disk->left-- <= 0) return false;
    memcpy(to, disk->bytes + at, bytes);
    return true;
}

/* If the values of A or of B cannot be read, the model keeps the error that it is half loaded. */
TEST(peft_half_read)
{
    static peft_hand h;
    for (int which = 0; which < 2; which++) {
        tfn_model m;
        tfn_file *f = h.files + which;
        peft_disk disk = { h.bytes[which], 9 };
        tfn_io io = { peft_get, NULL, NULL, 0 };
        CASE("file %d", which);
        if (!peft_base(&m, "decoder.*.self.[qkv].weight rank=1")) return;
        peft_by_module(&h, "F32", 4);
        io.user = &disk;
        io.size = f->from_size;
        tfn_file_close(f);
        *f = folders_from(NULL, 0);
        f->io = &io;
        CHECK_OK(tfn_file_open(f), &f->error);
        disk.left = 0;
        CHECK_INT(tfn_peft_read(&h.x, &m), TFN_BAD_FILE);
        CHECK_SAYS(&h.x.error, "cannot be read");
        CHECK_INT(m.error.status, TFN_NOT_READY);
        CHECK_SAYS(&m.error, "half loaded");
        tfn_model_free(&m);
        tfn_file_close(f);
    }
}

/* A folder has no tensors, bad tensors, or a bad configuration. */
TEST(peft_folders_wrong)
{
    static const struct { const char *config, *file, *bytes, *wanted; } rows[] = {
        { PEFT_HAND, NULL, NULL, "adapter_model.safetensors: cannot be opened" },
        { PEFT_HAND, "build/adapter_model.bin", "PK\3\4 and twenty bytes more", "not a zip archive" },
        { "{}", NULL, NULL, "peft_type is missing" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_import x = folders_import(NULL, 0, NULL);
        tfn_model_desc d = folders_desc(true);
        folders_write("build/adapter_config.json", rows[i].config, strlen(rows[i].config));
        if (rows[i].file) folders_write(rows[i].file, rows[i].bytes, strlen(rows[i].bytes));
        x.folder = "build";
        x.family = tfn_family_find("gpt2");
        CHECK(tfn_peft_peek(&x, &d) != TFN_OK);
        CHECK_SAYS(&x.error, rows[i].wanted);
        remove("build/adapter_config.json");
        if (rows[i].file) remove(rows[i].file);
    }
}

/* The groups that a peek makes for a user's families: names without sub-layers, many maps of one
 * sub-layer, too many groups, too long a name. An adapter without tensors is an error. */
TEST(peft_groups)
{
    static const struct { const char *ours; int count; const char *first, *wanted; } rows[] = {
        { "q.*", 1, "q.weight", NULL }, { "row1.*", 1, "row1.weight", NULL },
        { "decoder.#.self.%c.*", 7, "decoder.*.self.[abcdefg].weight", NULL },
        { "decoder.#.%c%c.*", 11, NULL, "there is no group left for decoder.*.kk.weight" },
        { "decoder.#.a_sub_layer_with_more_than_forty_letters.*", 1, NULL, "there is no group left for" }
    };
    static peft_hand h;
    tfn_model_desc d;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char ours[11][60];
        tfn_tensor_rule tensors[12];
        tfn_family own;
        CASE("%s", rows[i].ours);
        memset(&own, 0, sizeof own);
        memset(tensors, 0, sizeof tensors);
        for (int k = 0; k < rows[i].count; k++) {
            snprintf(ours[k], sizeof ours[k], rows[i].ours, 'a' + k, 'a' + k);
            tensors[k].theirs = "h.#.attn.c_attn.*";
            tensors[k].ours = ours[k];
        }
        own.name = "own";
        own.prefix = "transformer.";
        own.tensors = tensors;
        peft_by_module(&h, "F32", 4);
        h.x.family = &own;
        d = folders_desc(true);
        if (rows[i].first) CHECK_OK(tfn_peft_peek(&h.x, &d), &h.x.error);
        else CHECK(tfn_peft_peek(&h.x, &d) == TFN_TOO_LARGE);
        if (rows[i].first) CHECK(!strcmp(d.groups[0].pattern, rows[i].first));
        else CHECK_SAYS(&h.x.error, rows[i].wanted);
    }
    peft_by_module(&h, "F32", 4);
    for (int k = 0; k < 2; k++) peft_one(h.files + k, h.bytes[k], "{}", 0);
    CHECK_INT(tfn_peft_peek(&h.x, &d), TFN_NOT_FOUND);
    CHECK_SAYS(&h.x.error, "the adapter has no tensors");
}

/* Rules of no weight, and those that do not hold for the model, have no map. */
TEST(peft_other_rules)
{
    static const tfn_tensor_rule tensors[] = {
        { "h.#.attn.c_attn.*", NULL, 0, 0, 0, 0 },
        { "h.#.attn.c_attn.*", "encoder.#.self.k.*", TFN_FORM_APART, 0, 0, 0 },
        { "h.#.attn.c_attn.*", "decoder.#.self.q.*", 0, 0, 0, 0 }, { NULL, NULL, 0, 0, 0, 0 }
    };
    static peft_hand h;
    tfn_model_desc d = folders_desc(true);
    tfn_family own;
    memset(&own, 0, sizeof own);
    own.name = "own";
    own.prefix = "transformer.";
    own.tensors = tensors;
    peft_by_module(&h, "F32", 4);
    h.x.family = &own;
    CHECK_OK(tfn_peft_peek(&h.x, &d), &h.x.error);
    CHECK(!strcmp(d.groups[0].pattern, "decoder.*.self.q.weight"));
}

/* A model without LoRA, and one with other weights that train, cannot be written. */
TEST(peft_write_errors)
{
    static const char *const groups[] = { "decoder.* frozen", "decoder.final_norm.* rate=0.5" };
    static const char *const wanted[] = { "the model has no LoRA", "decoder.final_norm.weight trains" };
    for (int i = 0; i < 2; i++) {
        tfn_model_desc d = folders_desc(false);
        tfn_model m;
        tfn_export x;
        memset(&x, 0, sizeof x);
        CHECK(tfn_group_add(&d, groups[i], NULL));
        CHECK(!i || tfn_group_add(&d, "decoder.*.self.q.weight rank=2", NULL));
        if (!CHECK_OK(tfn_import_new(&m, folders_path("hub", "gpt2", NULL), &d), &m.error)) return;
        x.folder = "build";
        CHECK_INT(tfn_peft_write(&x, &m), TFN_UNSUPPORTED);
        CHECK_SAYS(&x.error, wanted[i]);
        tfn_model_free(&m);
    }
}

/* Refused: a model with an error, a family that does not fit, files and folders that cannot be
 * opened. */
TEST(peft_write_refused)
{
    static char path[2000];
    static const char none[] = "build/no such folder/x";
    tfn_model m;
    tfn_export x;
    if (!peft_several(&m)) return;
    for (int i = 0; i < 5; i++) {
        tfn_file config = folders_to(peft_text, sizeof peft_text);
        tfn_status wanted = TFN_BAD_FILE;
        CASE("row %d", i);
        memset(&x, 0, sizeof x);
        peft_tensors = folders_to(peft_file, sizeof peft_file);
        x.weights = &peft_tensors;
        x.config = &config;
        if (i == 0) m.error.status = TFN_TOO_LARGE, wanted = TFN_NOT_READY;
        if (i == 1) x.family = tfn_family_find("llama"), wanted = TFN_BAD_OPTION;
        if (i == 2) peft_tensors = folders_to(NULL, 0), peft_tensors.path = none;
        if (i == 3) config = folders_to(NULL, 0), config.path = none;
        if (i == 4) memset(path, 'x', sizeof path - 1), x.folder = path;
        CHECK_INT(tfn_peft_write(&x, &m), wanted);
        CHECK(config.used == 0);
        m.error.status = TFN_OK;
    }
    tfn_model_free(&m);
}

/* Makes a user's family that is like GPT-2, with this tensor for queries, and perhaps a second
 * one. */
static tfn_family peft_own(tfn_tensor_rule *tensors, const char *first, int32_t parts,
                           const char *second, int32_t others)
{
    tfn_family own;
    memset(&own, 0, sizeof own);
    memset(tensors, 0, 3 * sizeof *tensors);
    own.name = "own";
    own.like = tfn_family_find("gpt2");
    own.tensors = tensors;
    tensors[0].theirs = first;
    tensors[0].ours = "decoder.#.self.q.*";
    tensors[0].parts = parts;
    if (!second) return own;
    tensors[1].theirs = second;
    tensors[1].ours = others < 0 ? "decoder.#.ffn.w1.*" : "decoder.#.self.o.*";
    tensors[1].part = others < 0;
    tensors[1].parts = others < 0 ? parts : others;
    return own;
}

TEST(peft_own_tensors)
{
    static const char refused[] = "the family has no tensor for decoder.0.self.q.lora_a";
    static const struct { const char *first; int32_t parts; const char *second; int32_t others;
                          const char *says; }
    rows[] = {
        { "h.#.one.*", 5, NULL, 0, NULL },              /* too many parts */
        { "h.#.one.*", 2, NULL, 0, NULL },              /* a part without a rule */
        { "h.#.one.*", 2, "h.#.one.*", -1, NULL },      /* a part of another sub-layer */
        { "h.#.one.c.*", 0, "x.#.one.c.*", 5, "\"target_modules\": [\"one.c\"]" },
        { "h.#.*", 0, NULL, 0, "\"target_modules\": [\"h.0\", \"h.1\"]" }
    };
    static const char *const group = "decoder.*.self.q.weight rank=2";
    tfn_model m;
    if (!peft_grouped(&m, &group, 1)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_tensor_rule tensors[3];
        const tfn_family own = peft_own(tensors, rows[i].first, rows[i].parts, rows[i].second,
                                        rows[i].others);
        tfn_file config = folders_to(peft_text, sizeof peft_text - 1);
        tfn_export x;
        CASE("row %d", (int)i);
        memset(&x, 0, sizeof x);
        peft_tensors = folders_to(peft_file, sizeof peft_file);
        x.family = &own;
        x.weights = &peft_tensors;
        x.config = &config;
        if (rows[i].says) CHECK_OK(tfn_peft_write(&x, &m), &x.error);
        else CHECK_INT(tfn_peft_write(&x, &m), TFN_UNSUPPORTED);
        peft_text[config.used] = 0;
        if (rows[i].says) peft_says(rows[i].says);
        else CHECK_SAYS(&x.error, refused);
    }
    tfn_model_free(&m);
}

/* A family that knows only q, k and v writes an adapter of these, and refuses one of o. */
TEST(peft_own_attention)
{
    static const tfn_tensor_rule tensors[] = {
        { "h.#.attn.c_attn.*", "decoder.#.self.q.*", 0, 0, 3, 0 },
        { "h.#.attn.c_attn.*", "decoder.#.self.k.*", 0, 1, 3, 0 },
        { "h.#.attn.c_attn.*", "decoder.#.self.v.*", 0, 2, 3, 0 }, { NULL, NULL, 0, 0, 0, 0 }
    };
    static const char *const groups[] = { "decoder.*.self.q.weight rank=2", "decoder.*.self.o.weight rank=2" };
    for (int i = 0; i < 2; i++) {
        tfn_family own = *tfn_family_find("gpt2");
        tfn_file config = folders_to(peft_text, sizeof peft_text - 1);
        tfn_export x;
        tfn_model m;
        CASE("%s", groups[i]);
        if (!peft_grouped(&m, groups + i, 1)) return;
        own.tensors = tensors;
        own.like = NULL;
        memset(&x, 0, sizeof x);
        x.family = &own;
        x.config = &config;
        CHECK_INT(tfn_peft_write(&x, &m), i ? TFN_UNSUPPORTED : TFN_OK);
        peft_text[config.used] = 0;
        if (i) CHECK_SAYS(&x.error, "the family has no tensor for decoder.0.self.o.lora_a");
        else peft_says("\"target_modules\": [\"attn.c_attn\"]");
        tfn_model_free(&m);
    }
}

/* With any byte changed, or only its first bytes, a file is read or refused, without harm. */
TEST(peft_bytes_changed)
{
    static const char others[] = { 0, '"', '{', ']', '9', (char)0xff };
    const size_t step = getenv("TEST_EVERY") ? 1 : 11;
    static peft_memory p;
    static peft_case c;
    tfn_model m;
    int taken = 0, refused = 0;
    if (!peft_load(&m, &c, "gpt2", "gpt2", true)) return;
    peft_files(&p, "gpt2");
    for (size_t i = 0; i < p.config_bytes + 900; i += step) {
        const bool config = i < p.config_bytes;
        const size_t at = config ? i : i - p.config_bytes;
        char *byte = (config ? p.config : p.tensors) + at;
        size_t *bytes = config ? &p.config_bytes : &p.tensor_bytes;
        const size_t all = *bytes;
        const char was = *byte;
        for (size_t k = 0; k < sizeof others; k++) {
            *byte = others[k];
            if (peft_take(&p, "gpt2", &m) == TFN_OK) taken++;
            else refused++;
        }
        *byte = was;
        *bytes = at;
        if (peft_take(&p, "gpt2", &m) == TFN_OK && was != '\n')
            FAIL("%d bytes are accepted", (int)at);
        *bytes = all;
    }
    CHECK(taken > 20 && refused > 200);
    tfn_model_free(&m);
}

int main(void)
{
    RUN(peft_logits);
    RUN(peft_stacks);
    RUN(peft_factors);
    RUN(peft_unlike);
    RUN(peft_ranks);
    RUN(peft_alphas);
    RUN(peft_folder);
    RUN(peft_rounded);
    RUN(peft_written);
    RUN(peft_bare);
    RUN(peft_trains);
    RUN(peft_errors);
    RUN(peft_harmless);
    RUN(peft_half_alpha);
    RUN(peft_reads_wrong);
    RUN(peft_rank_too_low);
    RUN(peft_after_errors);
    RUN(peft_half_read);
    RUN(peft_folders_wrong);
    RUN(peft_groups);
    RUN(peft_other_rules);
    RUN(peft_write_errors);
    RUN(peft_write_refused);
    RUN(peft_own_tensors);
    RUN(peft_own_attention);
    RUN(peft_bytes_changed);
    return DONE();
}
