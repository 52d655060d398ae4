/* Models as folders of the hub. An imported model is exported with the same tensors, types and
 * bits, and imported again with the same logits. Other models are exported as a family that fits;
 * if none fits, the error names the option. Failing disks: test_files.c. */
#if !defined _POSIX_C_SOURCE && !defined _WIN32
#define _POSIX_C_SOURCE 200809L         /* mkdir, even with -std=c99 */
#endif
#include "../folders.h"
#ifdef __unix__
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { EXPORT_BYTES = 1 << 18, EXPORT_TEXT = 1 << 14, EXPORT_TIME = 10 };

/* Folders in golden/hub. found: the first family that fits. same: model.safetensors equals the
 * source byte for byte. other: the number of tensors in the source that are copies, or no weights
 * of the model. */
static const struct export_folder {
    const char *name, *family, *found;
    bool same;
    int  other;
} export_folders[] = {
    { "gpt2", "gpt2", "gpt2", true, 0 },
    { "gpt2-f16", "gpt2", "gpt2", true, 0 },
    { "gpt2-scaled", "gpt2", "gpt2", true, 0 },
    { "gpt2-short-names", "gpt2", "gpt2", false, 3 },
    { "llama", "llama", "llama", true, 0 },
    { "llama-bf16", "llama", "llama", true, 0 },
    { "llama-f16", "llama", "llama", true, 0 },
    { "llama-linear", "llama", "llama", true, 0 },
    { "llama-sharded", "llama", "llama", false, 0 },
    { "llama-tied", "llama", "llama", true, 0 },
    { "llama3", "llama", "llama", true, 0 },
    { "mistral", "mistral", "llama", true, 0 },
    { "mistral-window", "mistral", "mistral", true, 0 },
    { "olmo2", "olmo2", "olmo2", true, 0 },
    { "qwen2", "qwen2", "qwen2", true, 0 },
    { "qwen2-types", "qwen2", "qwen2", true, 0 },
    { "qwen2-window", "qwen2", "qwen2", true, 0 },
    { "qwen3", "qwen3", "qwen3", true, 0 },
    { "gemma", "gemma", "gemma", true, 0 },
    { "gemma2", "gemma2", "gemma2", true, 0 },
    { "gemma2-bf16", "gemma2", "gemma2", true, 0 },
    { "gemma3_text", "gemma3_text", "gemma3_text", true, 0 },
    { "gemma3_text-new", "gemma3_text", "gemma3_text", true, 0 },
    { "gpt_neox", "gpt_neox", "gpt_neox", false, 3 },
    { "gpt_neox-serial", "gpt_neox", "gpt_neox", false, 3 },
    { "gpt_neox-new-f16", "gpt_neox", "gpt_neox", false, 3 },
    { "phi", "phi", "phi", true, 0 },
    { "phi-qk", "phi", "phi", true, 0 },
    { "olmo", "olmo", "olmo", true, 0 },
    { "olmo-plain", "olmo", "olmo", true, 0 },
    { "granite", "granite", "granite", true, 0 },
    { "smollm3", "smollm3", "smollm3", true, 0 },
    { "smollm3-interval", "smollm3", "smollm3", true, 0 },
    { "gpt_neo", "gpt_neo", "gpt_neo", false, 2 },
    { "gpt_neo-types", "gpt_neo", "gpt_neo", false, 2 },
    { "phi3", "phi3", "llama", true, 0 },
    { "phi3-window", "phi3", "phi3", true, 0 },
    { "stablelm", "stablelm", "stablelm", true, 0 },
    { "stablelm-parallel", "stablelm", "stablelm", true, 0 },
    { "gptj", "gptj", "gptj", false, 2 },
    { "phi3-bf16", "phi3", "llama", true, 0 },
    { "gptj-f16", "gptj", "gptj", false, 2 },
    { "gpt_neo-bf16", "gpt_neo", "gpt_neo", false, 2 },
    { "granite-f16", "granite", "granite", true, 0 },
    { "smollm3-f16", "smollm3", "smollm3", true, 0 },
    { "opt", "opt", "gpt2", false, 0 },
    { "opt-350m-form", "opt", "opt", false, 0 },
    { "bert", "bert", "bert", true, 0 },
    { "bert-old-names", "bert", "bert", false, 6 },
    { "bert-classes", "bert", "bert", true, 0 },              /* with its pooler */
    { "distilbert-classes", "distilbert", "distilbert", true, 0 },
    { "minilm", "bert", "bert", false, 2 },
    { "distilbert", "distilbert", "distilbert", true, 0 },
    { "bloom", "bloom", "bloom", false, 0 },
    { "marian", "marian", "marian", false, 2 },
    { "marian-separate", "marian", "marian", false, 2 },
    { "t5", "t5", "t5", false, 3 },
    { "t5-v1.1", "t5", "t5", true, 0 },
    { "t5-unscaled", "t5", "t5", false, 3 },
    { "roberta", "roberta", "bert", false, 0 },
    { "roberta-classes", "roberta", "bert", false, 0 },
    { "roberta-tokens", "roberta", "bert", false, 0 },
    { "xlm-roberta-f16", "xlm-roberta", "bert", false, 5 },
    { "camembert-bf16", "camembert", "bert", false, 0 },
    { "mpnet", "mpnet", "mpnet", false, 0 },
    { "mpnet-f16", "mpnet", "mpnet", false, 0 },
    { "mpnet-body-bf16", "mpnet", "mpnet", false, 3 },
    { "modernbert", "modernbert", "modernbert", true, 0 },
    { "modernbert-bf16", "modernbert", "modernbert", true, 0 },
    { "modernbert-body-f16", "modernbert", "modernbert", true, 0 },
    { "electra", "electra", "bert", false, 4 },
    { "electra-small", "electra", "electra", false, 4 },
    { "electra-small-bf16", "electra", "electra", false, 4 },
    { "electra-small-generator", "electra", "electra", false, 1 },
    { "electra-small-generator-f16", "electra", "electra", false, 1 },
    { "electra-generator-f16", "electra", "bert", false, 1 },
    { "electra-classes-bf16", "electra", "electra", true, 0 },
    { "bart", "bart", "bart", false, 3 },
    { "bart-body", "bart", "bart", false, 0 },
    { "mbart-f16", "mbart", "mbart", false, 3 },
    { "m2m_100-bf16", "m2m_100", "m2m_100", false, 5 },
    { "mt5-bf16", "mt5", "t5", true, 0 }
};
enum { EXPORT_FOLDERS = sizeof export_folders / sizeof *export_folders };

/* -- exporting --------------------------------------------------------------------------------- */

/* A model's folder in memory. */
typedef struct export_box {
    tfn_export x;
    tfn_file   config, weights;
    char       text[EXPORT_TEXT];
    unsigned char bytes[EXPORT_BYTES];
} export_box;

/* An export to memory, or of only one of the two files. */
static void export_begin(export_box *b, const tfn_family *family)
{
    memset(b, 0, sizeof *b);
    b->config = folders_to(b->text, sizeof b->text - 1);
    b->weights = folders_to(b->bytes, sizeof b->bytes);
    b->x.config = &b->config;
    b->x.weights = &b->weights;
    b->x.family = family;
}

static tfn_status export_out(export_box *b, const tfn_model *m, const char *family,
                             tfn_dtype dtype)
{
    export_begin(b, tfn_family_find(family));
    b->x.dtype = dtype;
    return tfn_export_write(&b->x, m);
}

/* Exports only config.json, or only the weights, as a family of the caller. */
static tfn_status export_half(export_box *b, const tfn_model *m, const tfn_family *family,
                              bool weights)
{
    export_begin(b, family);
    if (weights) b->x.config = NULL;
    else b->x.weights = NULL;
    return tfn_export_write(&b->x, m);
}

/* Exports; this must succeed. */
static bool export_goes(export_box *b, const tfn_model *m, const char *family, tfn_dtype dtype)
{
    return CHECK_OK(export_out(b, m, family, dtype), &b->x.error);
}

/* The export is refused, with this error. */
static void export_fails(const tfn_model *m, const char *family, tfn_status status,
                         const char *wanted)
{
    static export_box b;
    CHECK_INT(export_out(&b, m, family, TFN_DTYPE_DEFAULT), status);
    CHECK_SAYS(&b.x.error, wanted);
    CHECK(b.config.used == 0 && b.weights.used == 0);
}

/* Imports the exported model. */
static bool export_back(export_box *b, tfn_model *m)
{
    tfn_file f = folders_from(b->bytes, (size_t)b->weights.used);
    tfn_import x = folders_import(b->text, (size_t)b->config.used, &f);
    if (CHECK_OK(tfn_file_open(&f), &f.error) && folders_load(m, &x, true)) return true;
    FAIL("%s", b->text);
    return false;
}

/* -- the same model ---------------------------------------------------------------------------- */

/* Two sentences of the model's words. */
static void export_batch(tfn_batch *batch, int32_t *tokens, const tfn_model *m)
{
    const tfn_key key = tfn_key_make(3);
    memset(batch, 0, sizeof *batch);
    batch->batch = 2;
    batch->time = m->desc.context < EXPORT_TIME ? m->desc.context : EXPORT_TIME;
    batch->tokens = tokens;
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) {
        batch->source = tokens;
        batch->source_time = batch->time;
    }
    for (uint64_t i = 0; i < 2 * EXPORT_TIME; i++)
        tokens[i] = (int32_t)(tfn_random_bits(key, i) % (uint64_t)m->desc.vocab);
}

/* Compares the logits of both models for the same tokens, to the bit. */
static void export_says(tfn_model *a, tfn_model *b)
{
    static float kept[1 << 14];
    int32_t tokens[2 * EXPORT_TIME];
    const bool one = a->desc.head == TFN_HEAD_SEQUENCE;
    const bool classes = a->desc.head == TFN_HEAD_POSITIONS;
    tfn_batch batch;
    const float *logits;
    size_t count;
    export_batch(&batch, tokens, a);
    count = (size_t)(2 * batch.time * (classes ? a->desc.classes : a->desc.vocab));
    if (one) count = (size_t)(2 * a->desc.classes);
    CHECK(count <= sizeof kept / sizeof *kept);
    logits = tfn_model_logits(a, &batch);
    CHECK(logits != NULL);
    if (!logits) return;
    memcpy(kept, logits, count * sizeof *kept);
    logits = tfn_model_logits(b, &batch);
    CHECK(logits != NULL);
    if (logits) CHECK_BITS(kept, logits, count * sizeof *kept);
}

/* Compares every parameter, to the bit. */
static void export_params(const tfn_model *a, const tfn_model *b)
{
    tfn_param_info p, q;
    int32_t i = 0;
    for (; tfn_model_param(a, i, &p); i++) {
        if (!tfn_model_param(b, i, &q) || strcmp(p.name, q.name) || p.rows != q.rows
            || p.cols != q.cols) {
            FAIL("parameter %d is %s, not %s", (int)i, q.name, p.name);
            return;
        }
        if (memcmp(p.data, q.data, (size_t)p.rows * (size_t)p.cols * sizeof *p.data))
            FAIL("%s is another", p.name);
    }
    CHECK(!tfn_model_param(b, i, &q));
}

/* -- the same tensors -------------------------------------------------------------------------- */

/* Finds a tensor in a source, where it may lack the prefix, or have one, or a name of 2018. */
static bool export_find(tfn_file *f, const tfn_family *family, const char *name, tfn_tensor *t)
{
    static const char *const lasts[][2] = { { ".weight", ".gamma" }, { ".bias", ".beta" } };
    const char *begin = family->prefix ? family->prefix : "";
    const size_t prefix = strlen(begin);
    char other[160], longer[160];
    snprintf(longer, sizeof longer, "%s%s", begin, name);
    if (tfn_file_find(f, longer, t)) return true;
    for (int bare = 0; bare < 2; bare++) {
        const char *at = name;
        if (bare && !strncmp(name, begin, prefix)) at += prefix;
        if (tfn_file_find(f, at, t)) return true;
        for (int i = 0; i < 2; i++) {
            const size_t n = strlen(at) - strlen(lasts[i][0]);
            snprintf(other, sizeof other, "%.*s%s", (int)n, at, lasts[i][1]);
            if (!strcmp(at + n, lasts[i][0]) && tfn_file_find(f, other, t)) return true;
        }
    }
    return false;
}

/* The number of rows at the start of a table of positions that no text reads. */
static size_t export_unread(const tfn_family *family, const char *name)
{
    for (; family; family = family->like)
        for (const tfn_tensor_rule *r = family->tensors; r && r->theirs; r++)
            if (strstr(name, r->theirs)) return (size_t)r->first;
    return 0;
}

/* The exported bytes of a tensor equal the source's, except in rows that no text reads. */
static void export_same_tensor(const export_box *b, const tfn_tensor *t, const unsigned char *from,
                               const tfn_tensor *s)
{
    const size_t skipped = export_unread(b->x.family, t->name)
                         * (size_t)(t->bytes / (uint64_t)t->shape[0]);
    CASE("%s %s", check_case, t->name);
    CHECK(s->dtype == t->dtype && s->rank == t->rank && s->bytes == t->bytes);
    CHECK(!memcmp(s->shape, t->shape, (size_t)t->rank * sizeof *t->shape));
    if (s->bytes == t->bytes)
        CHECK_BITS(from + s->at + skipped, b->bytes + t->at + skipped,
                   (size_t)t->bytes - skipped);
}

/* All exported tensors are in the source's files, which have `other` more. */
static void export_same_file(const export_box *b, const struct export_folder *folder)
{
    static const char *const parts[] = { "model.safetensors", "model-00001-of-00002.safetensors",
                                         "model-00002-of-00002.safetensors" };
    static unsigned char source[3][EXPORT_BYTES];
    tfn_file f = folders_from(b->bytes, (size_t)b->weights.used), from[3];
    tfn_tensor t, s;
    int found = 0, all = 0;
    char name[300];
    snprintf(name, sizeof name, "%s", check_case);
    CHECK_OK(tfn_file_open(&f), &f.error);
    for (int i = 0; i < 3; i++) {
        const char *path = folders_path("hub", folder->name, parts[i]);
        from[i] = folders_from(source[i], folders_read(path, source[i], EXPORT_BYTES));
        if (!from[i].from_size) continue;
        CHECK_OK(tfn_file_open(&from[i]), &from[i].error);
        for (int k = 0; tfn_file_tensor(&from[i], k, &s); k++) all++;
    }
    if (folder->same) {
        CHECK_INT(from[0].from_size, f.from_size);
        CHECK_BITS(source[0], b->bytes, f.from_size);
    }
    for (int k = 0; tfn_file_tensor(&f, k, &t); k++) {
        int i = 0;
        CASE("%s", name);
        while (i < 3 && !(from[i].from_size && export_find(&from[i], b->x.family, t.name, &s))) i++;
        if (i == 3) FAIL("%s is not in the source", t.name);
        else export_same_tensor(b, &t, source[i], &s);
        found++;
    }
    CASE("%s", name);
    CHECK_INT(found, b->x.tensors);
    CHECK_INT(all - found, folder->other);
    for (int i = 0; i < 3; i++) tfn_file_close(&from[i]);
    tfn_file_close(&f);
}

/* -- imported models --------------------------------------------------------------------------- */

static bool export_import(tfn_model *m, const char *name, tfn_dtype *dtype)
{
    tfn_import x = folders_import(NULL, 0, NULL);
    x.folder = folders_path("hub", name, NULL);
    if (!folders_load(m, &x, true)) return false;
    *dtype = x.dtype;
    return true;
}

/* The exported model, imported again, has the same weights and outputs. */
static void export_round(export_box *b, tfn_model *m)
{
    tfn_model again;
    if (!export_back(b, &again)) return;
    export_params(m, &again);
    export_says(m, &again);
    tfn_model_free(&again);
}

/* Exports as its own family, and as the first that fits: tensors, options, weights and logits. */
static void export_returns(const struct export_folder *folder)
{
    static export_box b;
    tfn_model m;
    tfn_dtype dtype;
    CASE("%s", folder->name);
    if (!export_import(&m, folder->name, &dtype)) return;
    if (export_goes(&b, &m, folder->family, dtype)) {
        export_same_file(&b, folder);
        CHECK(!strstr(b.text, "rope_parameters"));      /* other keys have the same content */
        if (strstr(folder->family, "roberta")) CHECK(strstr(b.text, "\"pad_token_id\": 1,") != NULL);
        CASE("%s", folder->name);
        export_round(&b, &m);
    }
    CASE("%s as any", folder->name);
    if (export_goes(&b, &m, NULL, dtype)) {
        if (strcmp(b.x.family->name, folder->found)) FAIL("it is %s", b.x.family->name);
        export_round(&b, &m);
    }
    tfn_model_free(&m);
}

TEST(export_families)
{
    const char *own = getenv("EXPORT_NAMES");
    for (int i = 0; i < EXPORT_FOLDERS; i++)
        if (!own || strstr(own, export_folders[i].name)) export_returns(&export_folders[i]);
}

/* -- models of our own ------------------------------------------------------------------------- */

static void export_option(tfn_model_desc *d, const char *name, const char *value)
{
    tfn_error e;
    CHECK_OK(tfn_desc_set(d, name, value, &e), &e);
}

/* A model with options "NAME=VALUE NAME=VALUE ...", whose norms and biases affect the result. */
static bool export_model(tfn_model *m, const char *options)
{
    tfn_model_desc d;
    tfn_param_info p;
    char text[400], *at, *value;
    memset(&d, 0, sizeof d);
    d.vocab = 19;
    d.context = EXPORT_TIME;
    d.batch = 2;
    d.width = 16;
    d.heads = 4;
    d.threads = 1;
    snprintf(text, sizeof text, "%s", options);
    for (at = strtok(text, " "); at; at = strtok(NULL, " ")) {
        value = strchr(at, '=');
        *value++ = 0;
        export_option(&d, at, value);
    }
    if (!CHECK_OK(tfn_model_new(m, &d, NULL), &m->error)) return false;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t k = 0; k < p.rows * p.cols; k++)
            p.data[k] += tfn_random_uniform(tfn_key_make((uint64_t)i), (uint64_t)k) / 4;
    return true;
}

/* Models of recipes that fit a family, and the keys that are written. */
static const struct { const char *options, *family, *says; } export_own[] = {
    { "recipe=gpt2", "gpt2", "\"gelu_new\"" },
    { "recipe=gpt2 activation=relu untied=true scale_by_layer=true", "gpt2", "\"relu\"" },
    { "recipe=pre", "gpt2", "\"n_inner\": 64" },
    { "recipe=pre rotary_base=500 rotary_size=2 rotary_period=2 rotary_factor=3 rotary_low=2"
      " rotary_high=9 rotary_context=5", "gpt2", "\"n_inner\": 64" },
    { "recipe=pre norm_eps=0.25", "gpt2", "\"layer_norm_epsilon\": 0.25" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu", "llama",
      "\"tie_word_embeddings\": true" },
    { "recipe=pre-rms position=rotary activation=geglu-tanh kv_heads=2", "llama",
      "\"mlp_bias\": true" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu rotary_scaling=llama3",
      "llama", "\"rope_type\": \"llama3\"" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu attention_bias=qkv", "qwen2",
      "\"Qwen2ForCausalLM\"" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu qk_norm=head", "qwen3",
      "\"head_dim\": 4" },
    { "recipe=olmo2 position=rotary no_bias=true activation=swiglu untied=true", "olmo2",
      "\"tie_word_embeddings\": false" },
    { "recipe=pre norm=rmsnorm-offset position=rotary no_bias=true activation=geglu-tanh"
      " scale_embedding=true", "gemma", "\"hidden_activation\": \"gelu_pytorch_tanh\"" },
    { "recipe=gemma norm=rmsnorm-offset position=rotary no_bias=true activation=geglu-tanh"
      " scale_embedding=true attention_cap=7 score_scale=0.1 head_size=6", "gemma2",
      "\"final_logit_softcapping\": null" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu window=4 window_from=1",
      "mistral", "[\"full_attention\", \"sliding_attention\"]" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu window=40", "llama",
      "\"LlamaForCausalLM\"" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu window=4 window_base=50",
      "mistral", NULL },
    { "recipe=parallel position=rotary rotary_size=2 untied=true", "gpt_neox",
      "\"rotary_pct\": 0.5" },
    { "recipe=pre position=rotary", "gpt_neox", "\"use_parallel_residual\": false" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu window=4 window_period=2"
      " window_shift=1 layers=5", "mistral",
      "[\"full_attention\", \"sliding_attention\", \"full_attention\"" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu branch_factor=0.5", "granite",
      "\"residual_multiplier\": 0.5" },
    { "recipe=pre-rms position=rotary no_bias=true activation=swiglu rotary_period=9", "llama",
      "\"LlamaForCausalLM\"" },
    { "recipe=gpt2 score_scale=1 attention_bias=output", "gpt_neo", "[[[\"global\", \"global\"], 1]]" },
    { "recipe=pre norm=layernorm-simple position=rotary no_bias=true activation=swiglu qkv_clip=2",
      "olmo", "\"clip_qkv\": 2.0" },
    { "recipe=parallel-shared position=rotary output_bias=true untied=true", "phi",
      "\"partial_rotary_factor\": 1.0" },
    { "recipe=parallel-shared position=rotary output_bias=true attention_bias=off", "gptj",
      "\"rotary_dim\": 4" },
    { "recipe=bert arch=encoder segments=2 head_transform=true output_bias=true", "bert",
      "\"BertForMaskedLM\"" },
    { "recipe=post arch=encoder segments=3 head=sequence classes=5 position=learned", "bert",
      NULL },
    { "recipe=bert arch=encoder segments=3 head=sequence classes=5", "bert",
      "\"BertForSequenceClassification\"" },
    { "recipe=bert arch=encoder segments=2", "bert", "\"BertModel\"" },
    { "recipe=bert arch=encoder head_transform=true output_bias=true norm_eps=1e-12", "distilbert",
      "\"DistilBertForMaskedLM\"" },
    { "recipe=bert arch=encoder head=sequence classes=3 pooler=relu norm_eps=1e-12", "distilbert",
      "\"DistilBertForSequenceClassification\"" },
    { "recipe=bert arch=encoder segments=2 head=sequence classes=3 pooler=relu", "bert", NULL }
};
enum { EXPORT_OWN = sizeof export_own / sizeof *export_own };

TEST(export_trained)
{
    static export_box b;
    for (int i = 0; i < EXPORT_OWN; i++) {
        tfn_model m;
        CASE("%s", export_own[i].options);
        if (!export_model(&m, export_own[i].options)) continue;
        if (!export_own[i].says) {
            CHECK_INT(export_out(&b, &m, NULL, TFN_DTYPE_DEFAULT), TFN_UNSUPPORTED);
        } else if (export_goes(&b, &m, NULL, TFN_DTYPE_DEFAULT)) {
            if (strcmp(b.x.family->name, export_own[i].family)) FAIL("it is %s", b.x.family->name);
            if (!strstr(b.text, export_own[i].says))
                FAIL("it lacks %s\n%s", export_own[i].says, b.text);
            export_round(&b, &m);
        }
        tfn_model_free(&m);
    }
}

/* If the context is shorter than in the files, so is the export's, and that of a source. */
static void export_shorter(const char *name, const char *says)
{
    static export_box b;
    tfn_model_desc d = folders_desc(true);
    tfn_model m, again;
    CASE("%s", name);
    d.context = 7;
    if (!CHECK_OK(tfn_import_new(&m, folders_path("hub", name, NULL), &d), &m.error)) return;
    CHECK_INT(m.desc.source_context, 7);
    if (export_goes(&b, &m, name, TFN_DTYPE_DEFAULT) && export_back(&b, &again)) {
        CHECK(strstr(b.text, says) != NULL);
        CHECK_INT(again.desc.context, 7);
        export_says(&m, &again);
        tfn_model_free(&again);
    }
    tfn_model_free(&m);
}

TEST(export_context)
{
    export_shorter("opt", "\"max_position_embeddings\": 7");
    export_shorter("t5", "\"n_positions\": 7");
    export_shorter("marian", "\"max_position_embeddings\": 7");
}

/* config.json of an encoder-decoder has these special ids; if NULL, the tokenizer's. */
static void export_ids(const tfn_model *m, const int32_t *specials, const tfn_tokenizer *k,
                       const char *says)
{
    static export_box b;
    export_begin(&b, NULL);
    b.x.weights = NULL;
    b.x.specials = specials;
    b.x.tokenizer = k;
    CHECK_OK(tfn_export_write(&b.x, m), &b.x.error);
    if (!strstr(b.text, says)) FAIL("it lacks %s\n%s", says, b.text);
}

TEST(export_specials)
{
    static const int32_t ids[] = { 30, -1, 2, 29 };
    static char room[1 << 20], block[1 << 16];
    tfn_tokenizer_desc d;
    tfn_tokenizer_source s;
    tfn_trainer t;
    tfn_tokenizer k;
    tfn_model m;
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    d.kind = TFN_TOKENIZER_BYTES;
    CHECK(tfn_trainer_init(&t, &d, room, sizeof room) == TFN_OK && tfn_trainer_run(&t) == TFN_OK);
    s.trainer = &t;
    CHECK(tfn_tokenizer_init(&k, &s, block, sizeof block) == TFN_OK);
    if (!export_model(&m, "recipe=post arch=encoder-decoder position=sinusoidal output_bias=true"
                          " activation=gelu")) return;
    export_ids(&m, ids, &k, "\"pad_token_id\": 30,\n  \"bos_token_id\": null,\n"
                            "  \"eos_token_id\": 2,\n  \"decoder_start_token_id\": 29,\n");
    export_ids(&m, NULL, &k, "\"pad_token_id\": 0,\n  \"bos_token_id\": 1,\n"
                             "  \"eos_token_id\": 2,\n  \"decoder_start_token_id\": 2,\n");
    export_ids(&m, NULL, NULL, "\"eos_token_id\": null,\n  \"decoder_start_token_id\": null,\n");
    tfn_model_free(&m);
}

/* -- dtypes ------------------------------------------------------------------------------------ */

/* Exports a model whose weight has this value in a dtype. Returns the value that is read again. */
static float export_value(float v, tfn_dtype dtype, bool round, tfn_status *status)
{
    static export_box b;
    tfn_model m, again;
    tfn_param_info p;
    float found = 0;
    if (!export_model(&m, "recipe=gpt2 layers=1")) return 0;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        for (int32_t k = 0; k < p.rows * p.cols; k++) p.data[k] = (float)(k % 5) / 4;
    tfn_model_param(&m, 0, &p);
    p.data[3] = v;
    export_begin(&b, NULL);
    b.x.dtype = dtype;
    b.x.round = round;
    *status = tfn_export_write(&b.x, &m);
    if (*status == TFN_OK) {
        CHECK_INT(b.x.kept, 0);
        if (export_back(&b, &again)) {
            tfn_model_param(&again, 0, &p);
            found = p.data[3];
            tfn_model_free(&again);
        }
    }
    tfn_model_free(&m);
    return found;
}

/* Names of classes with characters that JSON must escape; one that is not UTF-8 is refused. */
TEST(export_labels)
{
    static const char *const names[] = { "bad", "say \"no\"\n", "\xc3\xa9" };
    static const char *const wrong[] = { "bad", "\xff", "good" };
    static export_box b;
    char text[20];
    tfn_import again;
    tfn_model m;
    if (!export_model(&m, "recipe=bert arch=encoder segments=2 head=sequence classes=3")) return;
    export_begin(&b, NULL);
    b.x.weights = NULL;
    b.x.labels = names;
    CHECK_OK(tfn_export_write(&b.x, &m), &b.x.error);
    CHECK(strstr(b.text, "\"label2id\": {\"bad\": 0, \"say \\\"no\\\"\\u000a\": 1, \"\xc3\xa9\": 2},")
          != NULL);
    again = folders_import(b.text, strlen(b.text), NULL);
    CHECK_INT(tfn_import_text(&again, "id2label.1", text, sizeof text), 9);
    CHECK(!memcmp(text, names[1], 9));
    CHECK_INT(tfn_import_text(&again, "id2label.2", text, sizeof text), 2);
    b.x.labels = wrong;
    CHECK_INT(tfn_export_write(&b.x, &m), TFN_BAD_OPTION);
    tfn_model_free(&m);
}

/* Values that a dtype can hold are kept. Others are refused or rounded to nearest, ties to even. */
TEST(export_dtypes)
{
    static const struct { tfn_dtype dtype; float v, nearest; } cases[] = {
        { TFN_DTYPE_F16, 1.0f, 1.0f }, { TFN_DTYPE_F16, -0.0f, -0.0f },
        { TFN_DTYPE_F16, 65504.0f, 65504.0f }, { TFN_DTYPE_F16, 65519.0f, 65504.0f },
        { TFN_DTYPE_F16, 65520.0f, 0.0f }, { TFN_DTYPE_F16, 0x1p-24f, 0x1p-24f },
        { TFN_DTYPE_F16, 0x1p-25f, 0.0f }, { TFN_DTYPE_F16, 0x1.8p-24f, 0x1p-23f },
        { TFN_DTYPE_F16, 0x1.002p0f, 0x1p0f }, { TFN_DTYPE_F16, 0x1.006p0f, 0x1.008p0f },
        { TFN_DTYPE_F16, 0x1.002002p0f, 0x1.004p0f }, { TFN_DTYPE_F16, 0x1.ffep-15f, 0x1p-14f },
        { TFN_DTYPE_F16, 0x1p-60f, 0.0f }, { TFN_DTYPE_BF16, 0x1.02p100f, 0x1.02p100f },
        { TFN_DTYPE_BF16, 0x1.01p0f, 0x1p0f }, { TFN_DTYPE_BF16, 0x1.03p0f, 0x1.04p0f },
        { TFN_DTYPE_BF16, 0x1p-133f, 0x1p-133f }, { TFN_DTYPE_BF16, 0x1.8p-133f, 0x1p-132f },
        { TFN_DTYPE_BF16, 0x1.fffffep127f, 0.0f }, { TFN_DTYPE_F32, 0x1.000002p0f, 0x1.000002p0f },
        { TFN_DTYPE_F32, 0x1p-149f, 0x1p-149f }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float v = cases[i].v, nearest = cases[i].nearest;
        const bool beyond = fabsf(v) > 65504.0f && nearest == 0;
        tfn_status status;
        float found = export_value(v, cases[i].dtype, true, &status);
        CASE("%a", (double)v);
        CHECK_INT(status, beyond ? TFN_UNSUPPORTED : TFN_OK);
        if (!beyond) CHECK_BITS(&found, &nearest, sizeof found);
        found = export_value(v, cases[i].dtype, false, &status);
        CHECK_INT(status, v == nearest ? TFN_OK : TFN_UNSUPPORTED);
        if (status == TFN_OK) CHECK_BITS(&found, &v, sizeof found);
    }
}

/* Norms and biases that the dtype cannot hold stay F32; matrices are named and counted. */
TEST(export_dtype_kept)
{
    static export_box b;
    tfn_model m, again;
    tfn_param_info p;
    tfn_dtype dtype;
    if (!export_import(&m, "llama-bf16", &dtype)) return;
    CHECK_INT(dtype, TFN_DTYPE_BF16);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        if (!strcmp(p.name, "decoder.1.self.norm_in.weight")) p.data[1] = 0.1f;
        if (strcmp(p.name, "decoder.1.ffn.w2.weight")) continue;
        p.data[0] = p.data[7] = 0.1f;
        CHECK_INT(export_out(&b, &m, NULL, TFN_DTYPE_BF16), TFN_UNSUPPORTED);
        CHECK_SAYS(&b.x.error, "decoder.1.ffn.w2.weight has 2 values that the dtype does not hold");
        p.data[0] = 1e6f;
        CHECK_INT(export_out(&b, &m, NULL, TFN_DTYPE_F16), TFN_UNSUPPORTED);
        CHECK_SAYS(&b.x.error, "decoder.1.ffn.w2.weight has 1 values beyond the dtype's range");
        p.data[0] = p.data[7] = 0.5f;
    }
    CHECK(export_goes(&b, &m, NULL, TFN_DTYPE_BF16));
    CHECK_INT(b.x.kept, 5);
    if (export_back(&b, &again)) {
        export_params(&m, &again);
        tfn_model_free(&again);
    }
    CHECK_INT(export_out(&b, &m, NULL, TFN_DTYPE_I8), TFN_BAD_OPTION);
    tfn_model_free(&m);
}

/* Infinity and NaN survive the export to float16. */
TEST(export_not_finite)
{
    static export_box b;
    tfn_model m, again;
    tfn_param_info p;
    if (!export_model(&m, "recipe=gpt2")) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        if (!strcmp(p.name, "decoder.0.self.q.weight")) break;
    p.data[0] = (float)HUGE_VAL;
    p.data[1] = (float)HUGE_VAL - (float)HUGE_VAL;
    export_begin(&b, NULL);
    b.x.dtype = TFN_DTYPE_F16;
    b.x.round = true;
    CHECK_OK(tfn_export_write(&b.x, &m), &b.x.error);
    if (export_back(&b, &again)) {
        for (int32_t i = 0; tfn_model_param(&again, i, &p); i++)
            if (!strcmp(p.name, "decoder.0.self.q.weight")) break;
        CHECK(p.data[0] > 3e38f && p.data[1] != p.data[1]);
        tfn_model_free(&again);
    }
    tfn_model_free(&m);
}

/* -- errors ------------------------------------------------------------------------------------ */

static void export_refuses(const char *options, const char *family, const char *wanted)
{
    tfn_model m;
    CASE("%s", options);
    if (!export_model(&m, options)) return;
    export_fails(&m, family, TFN_UNSUPPORTED, wanted);
    tfn_model_free(&m);
}

TEST(export_refused)
{
    export_refuses("recipe=deepnorm arch=encoder segments=2", NULL,
                   "the nearest, bert has topology post-embed-norm, the model deepnorm");
    export_refuses("recipe=gpt2 position=sinusoidal", NULL,
                   "the nearest, gpt2 has position learned, the model sinusoidal");
    export_refuses("recipe=gpt2 logit_cap=5", "gpt2", "gpt2 has logit_cap 0, the model 5");
    export_refuses("recipe=gpt2 kv_heads=2", "gpt2", "gpt2 has kv_heads 4, the model 2");
    export_refuses("recipe=gpt2 head_size=6", "gpt2", "gpt2 has head_size 0, the model 6");
    export_refuses("recipe=gpt2 no_bias=true", "gpt2", "gpt2 has");
    export_refuses("recipe=gpt2 cutoffs[0]=7", NULL, "gpt2 has cutoffs[0] 0, the model 7");
    export_refuses("recipe=pre-rms position=rotary no_bias=true", "llama", "has activation");
    export_refuses("recipe=bert arch=encoder", "bert", "bert has segments 2, the model 0");
    export_refuses("recipe=bert arch=encoder segments=2 output_bias=true", "bert",
                   "bert has output_bias false, the model true");
    export_refuses("recipe=pre arch=encoder-decoder", NULL, "has arch");
    export_refuses("recipe=gpt2 mup_base_width=8", NULL, "has mup_base_width 0, the model 8");
}

/* Errors: the work buffer is too small, a file cannot be opened, no family takes the model's sizes.
 * Labels of a model without classes are ignored. */
TEST(export_rooms)
{
    static const char *const labels[] = { "yes", "no" };
    static export_box b;
    char room[8];
    tfn_model m;
    if (!export_model(&m, "recipe=gpt2")) return;
    export_begin(&b, NULL);
    b.weights.work = room;
    b.weights.work_size = sizeof room;
    CHECK_INT(tfn_export_write(&b.x, &m), TFN_NO_MEMORY);
    CHECK(b.weights.used == 0);
    export_begin(&b, NULL);
    b.x.weights = NULL;
    b.config = folders_to(NULL, 0);
    b.config.path = "build/no such folder/config.json";
    CHECK_INT(tfn_export_write(&b.x, &m), TFN_BAD_FILE);
    export_begin(&b, NULL);
    b.x.labels = labels;
    CHECK_OK(tfn_export_write(&b.x, &m), &b.x.error);
    CHECK(!strstr(b.text, "id2label"));
    m.desc.vocab = -3;
    CHECK_INT(export_half(&b, &m, NULL, false), TFN_BAD_OPTION);
    CHECK(b.config.used == 0);
    tfn_model_free(&m);
}

/* LoRA that is not merged, packed weights, and a folded model, whose gains are in its weights, are
 * refused. So are a model with an error, except after a bad batch, and one that was not made. */
TEST(export_refused_weights)
{
    static export_box b;
    tfn_model m, to;
    tfn_model_desc d;
    if (!export_model(&m, "recipe=gpt2")) return;
    m.error.status = TFN_TOO_LARGE;
    export_fails(&m, NULL, TFN_NOT_READY, "has an error");
    m.error.status = TFN_BAD_BATCH;
    CHECK(export_goes(&b, &m, NULL, TFN_DTYPE_DEFAULT));
    m.error.status = TFN_OK;
    d = m.desc;
    d.inference = d.folded = true;
    CHECK(tfn_model_new(&to, &d, NULL) == TFN_OK && tfn_model_fold(&to, &m) == TFN_OK);
    export_fails(&to, NULL, TFN_UNSUPPORTED, "is folded");
    tfn_model_free(&to);
    d = m.desc;
    CHECK(tfn_group_add(&d, "decoder.*.w1.weight rank=2", NULL));
    CHECK(tfn_model_new(&to, &d, NULL) == TFN_OK);
    export_fails(&to, NULL, TFN_UNSUPPORTED, "has LoRA");
    tfn_model_free(&to);
    d = m.desc;
    d.inference = true;
    d.weights = TFN_WEIGHTS_Q8;
    CHECK(tfn_model_new(&to, &d, NULL) == TFN_OK);
    export_fails(&to, NULL, TFN_UNSUPPORTED, "gpt2 has weights float32, the model q8");
    tfn_model_free(&to);
    memset(&to, 0, sizeof to);
    CHECK_INT(export_out(&b, &to, NULL, TFN_DTYPE_DEFAULT), TFN_NOT_READY);
    memset(&b.x, 0, sizeof b.x);
    CHECK_INT(tfn_export_write(&b.x, &m), TFN_NULL);
    CHECK(tfn_export_work(NULL) == 0 && tfn_export_work(&to) == 0 && tfn_export_work(&m) > 0);
    tfn_model_free(&m);
}

#ifdef __unix__
/* -- folders ----------------------------------------------------------------------------------- */

TEST(export_folder)
{
    const char *folder = "build/export-hub";
    static char path[2000];
    tfn_model m, again;
    tfn_export x;
    uint64_t hash;
    if (mkdir(folder, 0777) && access(folder, W_OK)) SKIP("no folder build");
    if (!export_model(&m, "recipe=gpt2 inference=true")) return;
    hash = tfn_model_hash(&m);
    memset(&x, 0, sizeof x);
    x.folder = "build/export-none";
    CHECK_INT(tfn_export_write(&x, &m), TFN_BAD_FILE);
    CHECK_SAYS(&x.error, "build/export-none/model.safetensors: cannot be opened: No such file");
    for (size_t n = sizeof path - 1; n > 990; n -= 7) {
        memset(path, 'x', n);
        path[n] = 0;
        x.folder = path;
        CHECK_INT(tfn_export_write(&x, &m), TFN_BAD_FILE);
    }
    x.folder = folder;
    for (int i = 0; i < 2; i++) {                   /* the second time over existing files */
        CHECK_OK(tfn_export_write(&x, &m), &x.error);
        if (!CHECK_OK(tfn_import_new(&again, folder, NULL), &again.error)) return;
        CHECK(tfn_model_hash(&again) == hash);
        tfn_model_free(&again);
    }
    CHECK(access("build/export-hub/tokenizer.json", F_OK) != 0);
    tfn_model_free(&m);
}

/* If a folder has the name of a file to write, the export fails and removes what it has written. */
TEST(export_blocked)
{
    static const char *const names[] = { "tokenizer.json", "tokenizer_config.json", "config.json" };
    static const char weights[] = "build/export-blocked/model.safetensors";
    tfn_export x;
    tfn_tokenizer_source s;
    tfn_tokenizer k;
    tfn_model m;
    void *mem;
    size_t size;
    if (mkdir("build/export-blocked", 0777) && access("build/export-blocked", W_OK))
        SKIP("no folder build");
    if (!export_model(&m, "recipe=gpt2 inference=true")) return;
    memset(&s, 0, sizeof s);
    s.json = "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}}";
    s.json_size = strlen(s.json);
    size = tfn_tokenizer_size(&s);
    mem = malloc(size + !size);
    CHECK_OK(tfn_tokenizer_init(&k, &s, mem, size), &k.error);
    for (int i = 0; i < 3; i++) {
        char path[100];
        CASE("%s", names[i]);
        snprintf(path, sizeof path, "build/export-blocked/%s", names[i]);
        memset(&x, 0, sizeof x);
        x.folder = "build/export-blocked";
        x.tokenizer = &k;
        CHECK_INT(mkdir(path, 0777), 0);
        CHECK(tfn_export_write(&x, &m) != TFN_OK);
        CHECK_SAYS(&x.error, path);
        CHECK(access(weights, F_OK) != 0);
        CHECK(i == 0 || access("build/export-blocked/tokenizer.json", F_OK) != 0);
        CHECK_INT(rmdir(path), 0);
    }
    CASE("a tokenizer of the user");                /* an export that fails must not remove it */
    folders_write("build/export-blocked/tokenizer.json", "{}", 2);
    memset(&x, 0, sizeof x);
    x.folder = "build/export-blocked";
    CHECK_INT(mkdir("build/export-blocked/config.json", 0777), 0);
    CHECK(tfn_export_write(&x, &m) != TFN_OK);
    CHECK(access(weights, F_OK) != 0);
    CHECK_INT(remove("build/export-blocked/tokenizer.json"), 0);
    CHECK_INT(rmdir("build/export-blocked/config.json"), 0);
    CHECK_INT(rmdir("build/export-blocked"), 0);
    free(mem);
    tfn_model_free(&m);
}

/* A tokenizer is written in two files next to the model, or not at all if tokenizer.json cannot
 * express it. */
TEST(export_tokenizer)
{
    static const char text[] = "the king, the king and the thing";
    static const char *const paths[] = { "build/export-hub/tokenizer.json",
                                         "build/export-hub/tokenizer_config.json" };
    static unsigned char json[1 << 16];
    tfn_model m;
    tfn_export x;
    char wanted[60];
    if (mkdir("build/export-hub", 0777) && access("build/export-hub", W_OK)) SKIP("no folder build");
    if (!export_model(&m, "recipe=gpt2 inference=true")) return;
    memset(&x, 0, sizeof x);
    x.folder = "build/export-hub";
    for (int words = 0; words < 2; words++) {
        tfn_tokenizer_desc d;
        tfn_tokenizer_source s;
        tfn_trainer t;
        tfn_tokenizer k, again;
        void *room, *mem, *other;
        size_t size;
        memset(&d, 0, sizeof d);
        memset(&s, 0, sizeof s);
        d.kind = words ? TFN_TOKENIZER_WORDS : TFN_TOKENIZER_BPE;
        d.vocab = 270;
        d.words = 32;
        size = tfn_trainer_size(&d);
        room = malloc(size);
        tfn_trainer_init(&t, &d, room, size);
        tfn_trainer_add(&t, text, sizeof text - 1);
        CHECK_INT(tfn_trainer_run(&t), TFN_OK);
        s.trainer = &t;
        size = tfn_tokenizer_size(&s);
        mem = malloc(size);
        CHECK_INT(tfn_tokenizer_init(&k, &s, mem, size), TFN_OK);
        for (int i = 0; i < 2; i++) remove(paths[i]);
        k.special[TFN_SPECIAL_PAD] = 0;                     /* the first token pads */
        x.tokenizer = &k;
        CHECK_INT(tfn_export_write(&x, &m), TFN_OK);
        CHECK((access(paths[0], F_OK) == 0) == !words && (access(paths[1], F_OK) == 0) == !words);
        if (!words) {
            int32_t ids[2][64];
            ptrdiff_t n;
            memset(&s, 0, sizeof s);
            s.json = (const char *)json;
            s.json_size = folders_read(paths[0], json, sizeof json);
            size = tfn_tokenizer_size(&s);
            other = malloc(size);
            CHECK_INT(tfn_tokenizer_init(&again, &s, other, size), TFN_OK);
            n = tfn_tokenizer_encode(&k, ids[0], 64, text, sizeof text - 1);
            CHECK_INT(tfn_tokenizer_encode(&again, ids[1], 64, text, sizeof text - 1), n);
            CHECK_BITS(ids[0], ids[1], (size_t)n * sizeof **ids);
            free(other);
            folders_read(paths[1], json, sizeof json);
            snprintf(wanted, sizeof wanted, "\"model_max_length\": %d,", (int)m.desc.context);
            CHECK(strstr((char *)json, wanted) && strstr((char *)json, "\"eos_token\": \"</s>\""));
            CHECK(!strstr((char *)json, "mask_token") && strstr((char *)json, "\"pad_token\": \""));
        }
        free(mem), free(room);
    }
    tfn_model_free(&m);
}
#endif

/* -- a user's family --------------------------------------------------------------------------- */

/* The text model of a larger one is written as a family of its own. */
TEST(export_inside)
{
    static export_box b;
    tfn_model m;
    tfn_dtype dtype;
    if (!export_import(&m, "gemma3", &dtype)) return;
    if (export_goes(&b, &m, "gemma3", dtype)) {
        CHECK(!strcmp(b.x.family->name, "gemma3_text"));
        CHECK(strstr(b.text, "\"model_type\": \"gemma3_text\"") != NULL);
        export_round(&b, &m);
    }
    tfn_model_free(&m);
}

/* Options whose value in config.json is computed: reading it gives the option, to the last bit. */
TEST(export_computed)
{
    static const float scales[] = { 0.25f, 0.3f, 0.0005f, 0.001f, 0.7f };
    static export_box b;
    tfn_dtype dtype;
    tfn_model m;
    if (!export_import(&m, "gemma2", &dtype)) return;
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        tfn_model_desc d;
        tfn_import x;
        CASE("scale %g", (double)scales[i]);
        m.desc.score_scale = scales[i];
        CHECK_OK(export_half(&b, &m, tfn_family_find("gemma2"), false), &b.x.error);
        memset(&d, 0, sizeof d);
        x = folders_import(b.text, (size_t)b.config.used, NULL);
        CHECK_OK(tfn_import_peek(&x, &d), &x.error);
        CHECK(d.score_scale == scales[i]);
    }
    tfn_model_free(&m);
    if (!export_import(&m, "gpt_neox", &dtype)) return;
    m.desc.width = 12 * m.desc.heads;
    for (int32_t size = 2; size < 12; size += 2) {      /* 10 of 12 is 0.8333333, a little less */
        char share[40];
        CASE("rotary_size %d", (int)size);
        m.desc.rotary_size = size;
        CHECK_OK(export_half(&b, &m, tfn_family_find("gpt_neox"), false), &b.x.error);
        snprintf(share, sizeof share, "\"rotary_pct\": 0.%s", size == 10 ? "875" : "");
        CHECK(strstr(b.text, share) != NULL);
    }
    tfn_model_free(&m);
}

/* A family like Llama with these keys, too. */
static tfn_family export_llama(const tfn_key_rule *keys)
{
    tfn_family own;
    memset(&own, 0, sizeof own);
    own.name = "own";
    own.prefix = "model.";
    own.like = tfn_family_find("llama");
    own.keys = keys;
    return own;
}

/* Tensors that a family of the caller describes, but no writer can fill: parts without a rule, too
 * many parts, a part of another shape, and no rule at all. */
TEST(export_own_tensors)
{
    static const tfn_tensor_rule lone[] = { { "q_and.#.*", "decoder.#.self.q.*", 0, 0, 2, 0 },
                                            { NULL, NULL, 0, 0, 0, 0 } };
    static const tfn_tensor_rule many[] = { { "q_and.#.*", "decoder.#.self.q.*", 0, 0, 5, 0 },
                                            { NULL, NULL, 0, 0, 0, 0 } };
    static const tfn_tensor_rule shape[] = { { "q_and.#.*", "decoder.#.self.q.*", 0, 0, 2, 0 },
                                             { "q_and.#.*", "decoder.#.ffn.w1.*", 0, 1, 2, 0 },
                                             { NULL, NULL, 0, 0, 0, 0 } };
    static const tfn_tensor_rule inputs[] = { { "q_and.#.*", "decoder.#.self.q.*", 0, 0, 2, 0 },
                                              { "q_and.#.*", "decoder.#.ffn.w2.*", 0, 1, 2, 0 },
                                              { NULL, NULL, 0, 0, 0, 0 } };
    static const tfn_tensor_rule absent[] = { { "q_and.#.*", "decoder.#.self.q.*", 0, 0, 2, 0 },
                                              { "q_and.#.*", "decoder.#.self.z.*", 0, 1, 2, 0 },
                                              { NULL, NULL, 0, 0, 0, 0 } };
    static const struct { const char *name; const tfn_tensor_rule *rules; const char *words; }
    rows[] = {
        { "lone", lone, "decoder.0.self.q.weight has no parameter of the same shape next to it" },
        { "many", many, "the family has no tensor for decoder.0.self.q.weight" },
        { "shape", shape, "decoder.0.self.q.weight has no parameter of the same shape next to it" },
        { "inputs", inputs, "decoder.0.self.q.weight has no parameter of the same shape next to it" },
        { "absent", absent, "decoder.0.self.q.weight has no parameter of the same shape next to" },
    };
    static export_box b;
    tfn_family own = export_llama(NULL);
    tfn_model m;
    if (!export_model(&m, "recipe=pre-rms position=rotary no_bias=true activation=swiglu")) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("%s", rows[i].name);
        own.tensors = rows[i].rules;
        CHECK_INT(export_half(&b, &m, &own, true), TFN_UNSUPPORTED);
        CHECK_SAYS(&b.x.error, rows[i].words);
        CHECK(b.weights.used == 0);
    }
    own.tensors = NULL;
    CHECK_OK(export_half(&b, &m, &own, true), &b.x.error);
    CHECK(b.weights.used > 1000 && b.config.used == 0);
    own = *tfn_family_find("llama");                /* its keys, but only one of its tensors */
    own.tensors = lone;
    CHECK_INT(export_half(&b, &m, &own, true), TFN_UNSUPPORTED);
    CHECK_SAYS(&b.x.error, "the family has no tensor for embedding");
    tfn_model_free(&m);
}

/* Keys in several objects, options that do not exist, and a config.json beyond the limit. */
TEST(export_own_keys)
{
    static char name[9000];
    static const tfn_key_rule keys[] = {
        { "attention.kind", "qk_norm", "", TFN_KEY_IS }, { "different.cap", "attention_cap", "",
                                                           TFN_KEY_IS_OR_OFF },
        { "longer_one.cap", "logit_cap", "", TFN_KEY_IS_OR_OFF }, { NULL, NULL, NULL, TFN_KEY_IS }
    };
    tfn_key_rule huge[] = { { NULL, "norm_eps", "1e-5", TFN_KEY_IS },
                            { NULL, NULL, NULL, TFN_KEY_IS } };
    static export_box b;
    tfn_family own = export_llama(keys);
    tfn_model m;
    if (!export_model(&m, "recipe=pre-rms position=rotary no_bias=true activation=swiglu"
                          " qk_norm=none attention_cap=3 logit_cap=5")) return;
    CHECK_OK(export_half(&b, &m, &own, false), &b.x.error);
    if (!strstr(b.text, "\"attention\": {\n    \"kind\": \"none\"\n  },\n  \"different\": {\n"
                        "    \"cap\": 3.0\n  },\n  \"longer_one\": {\n    \"cap\": 5.0\n  }"))
        FAIL("%s", b.text);
    memset(name, 'k', sizeof name - 1);
    huge[0].key = name;
    own.keys = huge;
    CHECK_INT(export_half(&b, &m, &own, false), TFN_TOO_LARGE);
    CHECK_SAYS(&b.x.error, "the limit is 8192");
    CHECK(b.config.used == 0);
    tfn_model_free(&m);
}

/* A required key, rules that set no option, and class names of a caller's family. `architectures`
 * without '=' names no class, and a rule with an unknown option matches no model. */
TEST(export_own_classes)
{
    static const tfn_key_rule keys[] = {
        { "hidden_act", "activation", NULL, TFN_KEY_GATED }, { "a_width", "width", "16", TFN_KEY_WANT },
        { "eos_token_id", NULL, "", TFN_KEY_IS }, { NULL, "classes", "2", TFN_KEY_NAMES },
        { "architectures", "head", "sequence", TFN_KEY_NAMES },
        { "architectures=Net", NULL, NULL, TFN_KEY_NAMES },
        { "architectures=*ForNothing", "vocabulary", "1", TFN_KEY_NAMES },
        { "architectures=*ForWords", "head", "tokens", TFN_KEY_NAMES },
        { NULL, NULL, NULL, TFN_KEY_IS }
    };
    static export_box b;
    const tfn_family own = export_llama(keys);
    tfn_import x;
    tfn_model_desc d;
    tfn_model m;
    char *at;
    if (!export_model(&m, "recipe=pre-rms position=rotary no_bias=true activation=swiglu")) return;
    CHECK_OK(export_half(&b, &m, &own, false), &b.x.error);
    if (!strstr(b.text, "\"architectures\": [\n    \"NetForWords\"\n  ]")
        || !strstr(b.text, "\"hidden_act\": \"silu\"") || strstr(b.text, "a_width")
        || !strstr(b.text, "\"eos_token_id\": null"))
        FAIL("%s", b.text);
    at = strstr(b.text, "\"hidden_act\"");
    if (at) memcpy(at, "\"hidden_xyz\"", 12);
    x = folders_import(b.text, (size_t)b.config.used, NULL);
    x.family = &own;
    x.lenient = true;
    memset(&d, 0, sizeof d);
    CHECK_INT(tfn_import_peek(&x, &d), TFN_NOT_FOUND);
    CHECK_SAYS(&x.error, "config.json has no hidden_act");
    tfn_model_free(&m);
}

TEST(export_own_family)
{
    static const tfn_key_rule keys[] = {
        { "eps", "norm_eps", "1e-5", TFN_KEY_IS }, { "attention.kind", "qk_norm", "", TFN_KEY_IS },
        { "attention.cap", "attention_cap", "", TFN_KEY_IS_OR_OFF }, { NULL, NULL, NULL, TFN_KEY_IS }
    };
    static export_box b;
    const tfn_family own = export_llama(keys);
    tfn_model m;
    if (!export_model(&m, "recipe=pre-rms position=rotary no_bias=true activation=swiglu norm_eps=0.5"
                          " qk_norm=none attention_cap=3")) return;
    CHECK_INT(export_out(&b, &m, "llama", TFN_DTYPE_DEFAULT), TFN_UNSUPPORTED);
    CHECK_OK(export_half(&b, &m, &own, false), &b.x.error);
    if (!strstr(b.text, "\"eps\": 0.5") || !strstr(b.text, "\"attention\": {\n    \"kind\": \"none\",\n"
                                                         "    \"cap\": 3.0\n  }"))
        FAIL("%s", b.text);
    tfn_model_free(&m);
}

/* A family that is like one with fused tensors writes these, too. */
TEST(export_own_fused)
{
    static export_box b;
    tfn_family own;
    tfn_model m, again;
    tfn_dtype dtype;
    memset(&own, 0, sizeof own);
    own.name = "gpt2";                          /* so that the import knows it */
    own.prefix = "transformer.";
    own.like = tfn_family_find("gpt2");
    if (!export_import(&m, "gpt2", &dtype)) return;
    export_begin(&b, &own);
    CHECK_OK(tfn_export_write(&b.x, &m), &b.x.error);
    if (export_back(&b, &again)) {
        export_params(&m, &again);
        tfn_model_free(&again);
    }
    tfn_model_free(&m);
}

int main(void)
{
    RUN(export_families);
    RUN(export_trained);
    RUN(export_context);
    RUN(export_specials);
    RUN(export_labels);
    RUN(export_dtypes);
    RUN(export_dtype_kept);
    RUN(export_not_finite);
    RUN(export_refused);
    RUN(export_rooms);
    RUN(export_refused_weights);
#ifdef __unix__
    RUN(export_folder);
    RUN(export_blocked);
    RUN(export_tokenizer);
#endif
    RUN(export_inside);
    RUN(export_computed);
    RUN(export_own_tensors);
    RUN(export_own_keys);
    RUN(export_own_classes);
    RUN(export_own_family);
    RUN(export_own_fused);
    return DONE();
}
