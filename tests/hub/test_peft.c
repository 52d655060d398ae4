/* LoRA in the files of PEFT. The adapters of golden/peft, on the models of golden/hub, give the
 * logits that golden/make_peft.py computes with W + s B A. They have the same bits after they are
 * written and read again. Maps with A of their own are written as one module of a higher rank.
 * Errors name the fault, and no change of a byte does harm. */
#include "../lib.h"
#include "../check.h"
#include "../header.h"

enum { PEFT_ROOM = 1 << 16, PEFT_LOGITS = 4096, PEFT_SENTENCES = 2 };
static const char *const peft_names[][2] = {
    { "gpt2", "gpt2" }, { "llama", "llama" }, { "llama-layer", "llama" },
    { "gpt_neox", "gpt_neox" }, { "gptj", "gptj" }, { "phi3", "phi3" }, { "bert", "bert" },
    { "t5", "t5" }
};
enum { PEFT_NAMES = sizeof peft_names / sizeof *peft_names };

static const char *peft_path(const char *folder, const char *name, const char *file)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/../%s/%s%s%s", header_hub(), folder, name, file ? "/" : "",
             file ? file : "");
    return path;
}

static size_t peft_bytes(const char *path, char *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    const size_t bytes = f ? fread(to, 1, room - 1, f) : 0;
    if (f) fclose(f);
    to[bytes] = 0;
    return bytes;
}

static int peft_numbers(const char *path, double *to, int room)
{
    static char text[PEFT_ROOM];
    char *s = text, *end;
    int n = 0;
    peft_bytes(path, text, sizeof text);
    while (n < room) {
        const double v = strtod(s, &end);
        if (end == s) break;
        to[n++] = v;
        s = end;
    }
    return n;
}

/* -- a model with an adapter ------------------------------------------------------------------- */

typedef struct peft_case {
    tfn_import base, x;
    int32_t    tokens[64], source[64];
    tfn_batch  batch;
} peft_case;

/* The sentences of a base: see import_load in test_import.c. */
static void peft_batch(peft_case *c, const char *base)
{
    double ids[64];
    const int all = peft_numbers(peft_path("hub", base, "ids.txt"), ids, 64);
    const int both = all / PEFT_SENTENCES;
    const int own = strcmp(base, "t5") ? both : 11;
    for (int b = 0; b < PEFT_SENTENCES; b++)
        for (int i = 0; i < both; i++) {
            const int32_t id = (int32_t)ids[b * both + i];
            if (i < both - own) c->source[b * (both - own) + i] = id;
            else c->tokens[b * own + i - (both - own)] = id;
        }
    memset(&c->batch, 0, sizeof c->batch);
    c->batch.tokens = c->tokens;
    c->batch.batch = PEFT_SENTENCES;
    c->batch.time = own;
    if (own < both) c->batch.source = c->source;
    c->batch.source_time = both - own;
}

/* Make a model of the base with groups for the adapter, and load both. x: the adapter's, with its
 * folder or its texts. */
static tfn_status peft_make(tfn_model *m, peft_case *c, const char *base, bool inference)
{
    static char folder[300];
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    memset(&c->base, 0, sizeof c->base);
    snprintf(folder, sizeof folder, "%s", peft_path("hub", base, NULL));
    c->base.folder = folder;
    d.inference = inference;
    d.batch = PEFT_SENTENCES;
    d.threads = 1;
    peft_batch(c, base);
    if (tfn_import_peek(&c->base, &d) != TFN_OK) return c->base.error.status;
    c->x.family = c->base.family;
    if (tfn_peft_peek(&c->x, &d) != TFN_OK) return c->x.error.status;
    if (tfn_model_new(m, &d, NULL) != TFN_OK) return m->error.status;
    if (tfn_import_weights(&c->base, m) != TFN_OK) return c->base.error.status;
    return tfn_peft_read(&c->x, m);
}

static double peft_off(const float *found, const double *wanted, int n)
{
    double off = 0, most = 0;
    for (int i = 0; i < n; i++) {
        if (fabs(wanted[i]) > most) most = fabs(wanted[i]);
        off = check_worse(off, fabs((double)found[i] - wanted[i]));
    }
    return off / most;
}

/* What a test writes. */
static unsigned char peft_file[PEFT_ROOM];
static char peft_text[PEFT_ROOM];
static tfn_file peft_tensors;

/* Write the adapter of a model to memory, and make x read it from there. */
static void peft_keep(const tfn_model *m, const tfn_family *family, tfn_import *x)
{
    tfn_export out;
    tfn_file config;
    char text[300];
    memset(&out, 0, sizeof out);
    memset(&config, 0, sizeof config);
    memset(&peft_tensors, 0, sizeof peft_tensors);
    memset(x, 0, sizeof *x);
    out.family = family;
    out.weights = &peft_tensors;
    out.config = &config;
    peft_tensors.to = peft_file;
    peft_tensors.to_size = sizeof peft_file;
    config.to = peft_text;
    config.to_size = sizeof peft_text - 1;
    if (tfn_peft_write(&out, m) != TFN_OK)
        FAIL("%s", tfn_error_text(&out.error, text, sizeof text));
    peft_text[config.used] = 0;
    x->config = peft_text;
    x->config_size = (size_t)config.used;
    peft_tensors.from = peft_file;
    peft_tensors.from_size = (size_t)peft_tensors.used;
    CHECK(tfn_file_open(&peft_tensors) == TFN_OK);
    x->files = &peft_tensors;
    x->count = 1;
}

/* The adapter is written and read again: the same logits, to the bit. */
static void peft_again(const tfn_model *m, const char *base, const float *logits, size_t n)
{
    static peft_case c;
    const float *found;
    tfn_model again;
    char text[300];
    memset(&c, 0, sizeof c);
    peft_keep(m, tfn_family_find(base), &c.x);
    if (peft_make(&again, &c, base, true) != TFN_OK) {
        FAIL("%s in %s", tfn_error_text(&c.x.error, text, sizeof text), peft_text);
        return;
    }
    found = tfn_model_logits(&again, &c.batch);
    CHECK(found != NULL);
    if (found) CHECK_BITS(found, logits, n * sizeof *found);
    tfn_model_free(&again);
    tfn_file_close(&peft_tensors);
}

/* Merging adds s B A to the matrices. */
static void peft_merges(const tfn_model *m, const tfn_batch *batch, const double *wanted, int n)
{
    tfn_model merged;
    tfn_model_desc d = m->desc;
    const float *found;
    memset(d.groups, 0, sizeof d.groups);
    CHECK(tfn_model_new(&merged, &d, NULL) == TFN_OK);
    CHECK(tfn_model_fold(&merged, m) == TFN_OK);
    found = tfn_model_logits(&merged, batch);
    CHECK(found != NULL && peft_off(found, wanted, n) <= 2e-5);
    tfn_model_free(&merged);
}

static void peft_golden(const char *name, const char *base)
{
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    static float logits[PEFT_LOGITS];
    char folder[300], text[300];
    const float *found;
    tfn_model m;
    int n;
    CASE("%s", name);
    memset(&c, 0, sizeof c);
    snprintf(folder, sizeof folder, "%s", peft_path("peft", name, NULL));
    c.x.folder = folder;
    if (peft_make(&m, &c, base, true) != TFN_OK) {
        FAIL("%s", tfn_error_text(&c.x.error, text, sizeof text));
        return;
    }
    n = PEFT_SENTENCES * c.batch.time * m.desc.vocab;
    CHECK_INT(peft_numbers(peft_path("peft", name, "logits.txt"), wanted, PEFT_LOGITS), n);
    found = tfn_model_logits(&m, &c.batch);
    CHECK(found != NULL);
    if (!found) return;
    memcpy(logits, found, (size_t)n * sizeof *found);
    if (!(peft_off(logits, wanted, n) <= 2e-5))
        FAIL("logits are off by %.1e of the largest", peft_off(logits, wanted, n));
    peft_merges(&m, &c.batch, wanted, n);
    peft_again(&m, base, logits, (size_t)n);
    tfn_model_free(&m);
}

TEST(peft_logits)
{
    for (int i = 0; i < PEFT_NAMES; i++) peft_golden(peft_names[i][0], peft_names[i][1]);
}

/* -- maps with A of their own ------------------------------------------------------------------ */

static bool peft_says(const char *part)
{
    if (!strstr(peft_text, part)) FAIL("no %s in %s", part, peft_text);
    return strstr(peft_text, part) != NULL;
}

/* Read a tensor of the adapter that was written. Returns its rows. */
static int32_t peft_tensor(const char *module, char which, float *to)
{
    char name[128];
    tfn_tensor t;
    snprintf(name, sizeof name, "base_model.model.transformer.%s.lora_%c.weight", module, which);
    if (!tfn_file_find(&peft_tensors, name, &t)) {
        FAIL("no tensor %s", name);
        return 0;
    }
    CHECK(tfn_file_read(&peft_tensors, &t, to, 0, t.count) == TFN_OK);
    return (int32_t)t.shape[0];
}

/* Add s B A of a module to the model's matrix with outputs from `first` on, by the formula. */
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

/* The base with what was written, by the formula. */
static void peft_by_hand(const peft_case *c, const float *logits, int n)
{
    static double wanted[PEFT_LOGITS];
    tfn_model_desc d;
    tfn_model m;
    const float *found;
    memset(&d, 0, sizeof d);
    d.inference = true;
    d.batch = PEFT_SENTENCES;
    d.threads = 1;
    CHECK(tfn_import_new(&m, peft_path("hub", "gpt2", NULL), &d) == TFN_OK);
    peft_apply(&m, "decoder.0.self.q.weight", "h.0.attn.c_attn", 0, 2);
    peft_apply(&m, "decoder.0.self.k.weight", "h.0.attn.c_attn", 12, 2);
    peft_apply(&m, "decoder.0.self.v.weight", "h.0.attn.c_attn", 24, 2);
    peft_apply(&m, "decoder.1.self.q.weight", "h.1.attn.c_attn", 0, 2);
    peft_apply(&m, "decoder.1.self.k.weight", "h.1.attn.c_attn", 12, 2);
    peft_apply(&m, "decoder.1.self.v.weight", "h.1.attn.c_attn", 24, 2);
    peft_apply(&m, "decoder.0.ffn.w1.weight", "h.0.mlp.c_fc", 0, 2.5f);
    for (int i = 0; i < n; i++) wanted[i] = (double)logits[i];
    found = tfn_model_logits(&m, &c->batch);
    CHECK(found != NULL && peft_off(found, wanted, n) <= 2e-5);
    tfn_model_free(&m);
}

/* A model of GPT-2 with LoRA of several ranks, whose values are not 0. */
static bool peft_several(tfn_model *m)
{
    tfn_model_desc d;
    tfn_param_info p;
    memset(&d, 0, sizeof d);
    d.batch = PEFT_SENTENCES;
    d.threads = 1;
    CHECK(tfn_group_add(&d, "decoder.*.self.q.weight rank=3 alpha=6", NULL));
    CHECK(tfn_group_add(&d, "decoder.*.self.v.weight rank=2 alpha=4", NULL));
    CHECK(tfn_group_add(&d, "decoder.0.ffn.w1.weight rank=2 alpha=5", NULL));
    CHECK(tfn_import_new(m, peft_path("hub", "gpt2", NULL), &d) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t k = 0; strstr(p.name, "lora") && k < p.rows * p.cols; k++)
            p.data[k] = (float)((i * 31 + k * 17) % 23 - 11) / 40;
    return m->error.status == TFN_OK;
}

TEST(peft_stacks)
{
    static peft_case c;
    static double wanted[PEFT_LOGITS];
    static float logits[PEFT_LOGITS];
    tfn_model m, again;
    const float *found;
    int n;
    if (!peft_several(&m)) return;
    peft_batch(&c, "gpt2");
    n = PEFT_SENTENCES * c.batch.time * m.desc.vocab;
    found = tfn_model_logits(&m, &c.batch);
    CHECK(found != NULL);
    if (!found) return;
    memcpy(logits, found, (size_t)n * sizeof *found);
    for (int i = 0; i < n; i++) wanted[i] = (double)logits[i];
    peft_keep(&m, NULL, &c.x);
    peft_says("\"r\": 5,");
    peft_says("\"lora_alpha\": 10,");
    peft_says("\"rank_pattern\": {\"h.0.mlp.c_fc\": 2}");
    peft_says("\"alpha_pattern\": {\"h.0.mlp.c_fc\": 5}");
    peft_says("\"target_modules\": [\"attn.c_attn\", \"h.0.mlp.c_fc\"]");
    peft_says("\"fan_in_fan_out\": true");
    peft_by_hand(&c, logits, n);
    CHECK(peft_make(&again, &c, "gpt2", false) == TFN_OK);
    found = tfn_model_logits(&again, &c.batch);
    CHECK(found != NULL && peft_off(found, wanted, n) <= 1e-6);
    tfn_model_free(&again);
    tfn_model_free(&m);
    tfn_file_close(&peft_tensors);
}

/* LoRA of a tied output, and of a model that was read from an adapter and trained further. Zeros
 * stay zeros. */
TEST(peft_trains)
{
    static peft_case c;
    static int32_t targets[64];
    char folder[300];
    tfn_report report;
    tfn_model m;
    tfn_param_info p;
    int zeros = 0;
    memset(&c, 0, sizeof c);
    snprintf(folder, sizeof folder, "%s", peft_path("peft", "llama-layer", NULL));
    c.x.folder = folder;
    CHECK(peft_make(&m, &c, "llama", false) == TFN_OK);
    for (int i = 0; i < PEFT_SENTENCES * c.batch.time; i++) targets[i] = c.tokens[i];
    c.batch.targets = targets;
    for (int step = 0; step < 3; step++)
        CHECK(tfn_model_step(&m, &c.batch, &report) == TFN_OK && report.updated);
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

/* Replace a text of the same or another length; false: there is none. */
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

/* An adapter of GPT-2 or Llama in memory, and a model with LoRA for it. */
typedef struct peft_memory {
    char       config[4096], tensors[PEFT_ROOM];
    size_t     config_bytes, tensor_bytes;
    tfn_import x;
    tfn_file   f;
} peft_memory;

static void peft_load(peft_memory *p, const char *name)
{
    memset(p, 0, sizeof *p);
    p->config_bytes = peft_bytes(peft_path("peft", name, "adapter_config.json"), p->config,
                                 sizeof p->config / 2);
    p->tensor_bytes = peft_bytes(peft_path("peft", name, "adapter_model.safetensors"), p->tensors,
                                 sizeof p->tensors);
    CHECK(p->config_bytes > 500 && p->tensor_bytes > 500);
}

/* Read the adapter, first its groups and then its values, into a model that may have other LoRA.
 * The files are in blocks of exactly their sizes. */
static tfn_status peft_take(peft_memory *p, const char *family, tfn_model *m)
{
    tfn_model_desc d = m->desc;
    char *config = (char *)malloc(p->config_bytes + !p->config_bytes);
    char *tensors = (char *)malloc(p->tensor_bytes + !p->tensor_bytes);
    memset(&p->x, 0, sizeof p->x);
    memset(&p->f, 0, sizeof p->f);
    memset(d.groups, 0, sizeof d.groups);
    memcpy(config, p->config, p->config_bytes);
    memcpy(tensors, p->tensors, p->tensor_bytes);
    p->f.from = tensors;
    p->f.from_size = p->tensor_bytes;
    p->x.family = tfn_family_find(family);
    p->x.config = config;
    p->x.config_size = p->config_bytes;
    p->x.files = &p->f;
    p->x.count = 1;
    if (tfn_file_open(&p->f) != TFN_OK) p->x.error = p->f.error;
    else if (tfn_peft_peek(&p->x, &d) == TFN_OK) tfn_peft_read(&p->x, m);
    tfn_file_close(&p->f);
    free(config);
    free(tensors);
    return p->x.error.status;
}

static void peft_target(tfn_model *m, const char *name, const char *base)
{
    static peft_case c;
    char folder[300];
    memset(&c, 0, sizeof c);
    snprintf(folder, sizeof folder, "%s", peft_path("peft", name, NULL));
    c.x.folder = folder;
    CHECK(peft_make(m, &c, base, true) == TFN_OK);
}

typedef struct peft_fault {
    const char *from, *to, *wanted;
} peft_fault;

static void peft_refuses(const char *name, const char *base, const peft_fault *rows, size_t count)
{
    static peft_memory p;
    tfn_model m;
    uint64_t hash;
    char text[300];
    peft_target(&m, name, base);
    hash = tfn_model_hash(&m);
    for (size_t i = 0; i < count; i++) {
        const peft_fault *row = rows + i;
        peft_load(&p, name);
        CASE("%s, %s", name, row->to);
        if (!peft_replace(p.config, &p.config_bytes, row->from, row->to)
            && !peft_replace(p.tensors, &p.tensor_bytes, row->from, row->to))
            FAIL("no %s", row->from);
        if (peft_take(&p, base, &m) == TFN_OK) FAIL("is accepted");
        tfn_error_text(&p.x.error, text, sizeof text);
        if (!strstr(text, row->wanted)) FAIL("\"%s\" lacks \"%s\"", text, row->wanted);
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
        { "\"lora_alpha\": 6", "\"lora_alpha\": 0", "lora_alpha is 0; a number above 0" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\".*c_proj\": 2}", "names, not expressions" },
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
        { ".h.0.attn.c_attn.lora_A", ".h.9.attn.c_attn.lora_A", "for which the model has no LoRA" }
    };
    static const peft_fault layer[] = {
        { "\"layers_to_transform\": [\n    1\n  ]", "\"layers_to_transform\": null",
          "no lora_A.weight of model.layers.0.self_attn.k_proj, which target_modules names" },
        { "layers.1.self_attn.o_proj.lora_B", "layers.0.self_attn.o_proj.lora_B", "has lora_A.weight, but no" }
    };
    peft_refuses("gpt2", "gpt2", gpt2, sizeof gpt2 / sizeof *gpt2);
    peft_refuses("llama-layer", "llama", layer, sizeof layer / sizeof *layer);
}

/* What cannot be written: a model without LoRA, and one with other weights that train. */
TEST(peft_write_errors)
{
    static const char *const groups[] = { "decoder.* frozen", "decoder.final_norm.* rate=0.5" };
    static const char *const wanted[] = { "the model has no LoRA", "decoder.final_norm.weight trains" };
    for (int i = 0; i < 2; i++) {
        tfn_model_desc d;
        tfn_model m;
        tfn_export x;
        char text[300];
        memset(&d, 0, sizeof d);
        memset(&x, 0, sizeof x);
        d.threads = 1;
        CHECK(tfn_group_add(&d, groups[i], NULL));
        CHECK(!i || tfn_group_add(&d, "decoder.*.self.q.weight rank=2", NULL));
        CHECK(tfn_import_new(&m, peft_path("hub", "gpt2", NULL), &d) == TFN_OK);
        x.folder = "build";
        CHECK(tfn_peft_write(&x, &m) == TFN_UNSUPPORTED);
        tfn_error_text(&x.error, text, sizeof text);
        if (!strstr(text, wanted[i])) FAIL("\"%s\" lacks \"%s\"", text, wanted[i]);
        tfn_model_free(&m);
    }
}

/* Every prefix of both files, and every byte changed: an error or an adapter, and no harm. */
TEST(peft_bytes_changed)
{
    static const char others[] = { 0, '"', '{', ']', '9', (char)0xff };
    const size_t step = getenv("TEST_EVERY") ? 1 : 11;
    static peft_memory p;
    tfn_model m;
    int taken = 0, refused = 0;
    peft_target(&m, "gpt2", "gpt2");
    peft_load(&p, "gpt2");
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
    RUN(peft_trains);
    RUN(peft_errors);
    RUN(peft_write_errors);
    RUN(peft_bytes_changed);
    return DONE();
}
