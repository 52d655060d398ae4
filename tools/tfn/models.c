/* Corpora first, then the options of a model, then the files of models. */
#include "models.h"
#include "../common/output.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...)
{
    char whole[1024];
    va_list args;
    va_start(args, format);
    snprintf(whole, sizeof whole, "tfn: %s\n", format);
    output_vsay(stderr, whole, args);
    va_end(args);
    exit(1);
}

void must(bool good, const char *error) { if (!good) die("%s", error); }
void must_be_ok(const tfn_error *e)
{
    char text[DATA_ERROR];
    if (e->status != TFN_OK) die("%s", tfn_error_text(e, text, sizeof text));
}

/* The kind of a file that is no model, from its first bytes; NULL: unknown. */
static const char *kind_of_file(const char *path)
{
    static const struct { const char *begin, *kind; } kinds[] = {
        { "PK\3\4", "a zip archive, as PyTorch's are" }, { "\x1f\x8b", "compressed by gzip" },
        { "\x80\2", "a pickle of Python" }, { "\x80\3", "a pickle of Python" },
        { "\x80\4", "a pickle of Python" }, { "\x80\5", "a pickle of Python" },
        { "GGUF", "a model of llama.cpp" }, { "\x93NUMPY", "an array of NumPy" },
        { "\x7f" "ELF", "a program" }
    };
    static char bytes[4096];
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    const size_t n = fread(bytes, 1, sizeof bytes - 1, f);
    const bool folder = ferror(f) != 0;
    fclose(f);
    if (folder) return "a folder";
    if (!n) return "empty";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i].begin);
        if (n >= length && !memcmp(bytes, kinds[i].begin, length)) return kinds[i].kind;
    }
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] < ' ' && !strchr("\t\n\r\f", bytes[i])) return NULL;
    if (memchr(bytes, 0, n)) return NULL;
    return "a text";
}

void must_be_file(const tfn_error *e, const char *path)
{
    const char *kind = NULL;
    if (e->status != TFN_OK) kind = kind_of_file(path);
    if (kind) die("%s is %s, expected a model that tfn train saved", path, kind);
    must_be_ok(e);
}

void must_be_model(const tfn_model *m, const tfn_model_desc *d)
{
    if (m->error.status == TFN_NO_MEMORY || m->error.status == TFN_TOO_LARGE)
        die("no memory for a model of %d layers, width %d, hidden width %d, vocabulary %d, context "
            "%d, batches of %d rows", (int)d->layers, (int)d->width,
            (int)(d->ffn ? d->ffn : 4 * d->width), (int)d->vocab, (int)d->context, (int)d->batch);
    must_be_ok(&m->error);
}

void *reserve(size_t count, size_t size)
{
    char error[DATA_ERROR] = "";
    void *p = data_alloc(error, (int64_t)count, size);
    must(p != NULL, error);
    return p;
}

/* -- data -------------------------------------------------------------------------------------- */

const char *const kind_names = "text|pairs|joined|labels|masked";

enum { SPOKEN = 2000 };         /* items of speech to train on, unless --items says how many */

const task *task_of(const settings *s)
{
    const char *name = text_of(s, O_TASK);
    const char *best = NULL;
    if (!name) return NULL;
    if (!strcmp(name, "grammar")) return task_find("translate");        /* its former name */
    if (task_find(name)) return task_find(name);
    for (int i = 0; task_at(i); i++) option_nearer(&best, name, task_at(i)->name);
    fprintf(stderr, "tfn: no task is called \"%s\"; the nearest is \"%s\"\n", name, best);
    exit(2);
}

bool is_speech(const settings *s)
{
    return task_of(s) && task_of(s)->kind == TASK_SPEECH;
}

static tfn_tokenizer_kind tokenizer_kind(const settings *s)
{
    static const tfn_tokenizer_kind kinds[] = { TFN_TOKENIZER_BPE, TFN_TOKENIZER_BYTES,
                                                TFN_TOKENIZER_CHARACTERS, TFN_TOKENIZER_WORDS };
    const int choice = choice_of(s, O_TOKENIZER);
    if (choice) return kinds[choice - 1];
    if (task_of(s)) return task_of(s)->tokens;
    return TFN_TOKENIZER_BPE;
}

data_kind kind_of(const settings *s)
{
    enum { AUTO, DECODER, ENCODER, ENCODER_DECODER };   /* in the order of --arch */
    const task *t = task_of(s);
    const int arch = choice_of(s, O_ARCH);
    bool labels = given(s, O_LABELS) || (t && t->kind == TASK_LABEL);
    bool pairs = given(s, O_PAIRS) || (t && t->kind == TASK_PAIR) || is_speech(s);
    if (labels && arch != AUTO && arch != ENCODER) die("labels need --arch encoder");
    if (is_speech(s) && arch != AUTO && arch != ENCODER_DECODER) die("sound needs --arch encdec");
    if (pairs && arch == ENCODER) die("pairs need --arch encdec or decoder");
    if (!labels && !pairs && arch == ENCODER_DECODER)
        die("--arch encdec needs --pairs, or a task of pairs");
    if (labels) return DATA_LABELS;
    if (pairs) return arch == DECODER ? DATA_JOINED : DATA_PAIRS;
    return arch == ENCODER ? DATA_MASKED : DATA_TEXT;
}

static const char *path_of(const settings *s)
{
    if (given(s, O_PAIRS)) return text_of(s, O_PAIRS);
    if (given(s, O_LABELS)) return text_of(s, O_LABELS);
    return text_of(s, O_TEXT);
}

/* Ends the program if data is no text, and names the kind: compressed, wide characters, a zero
 * byte. */
static void refuse_binary(const corpus *c)
{
    static const struct { const char *begin, *kind; size_t size; } kinds[] = {
        { "\x1f\x8b", "compressed by gzip: zcat FILE | tfn train - reads it", 2 },
        { "\x28\xb5\x2f\xfd", "compressed by zstd: zstdcat FILE | tfn train - reads it", 4 },
        { "\xfd" "7zXZ", "compressed by xz: xzcat FILE | tfn train - reads it", 5 },
        { "BZh9", "compressed by bzip2: bzcat FILE | tfn train - reads it", 4 },
        { "PK\3\4", "a zip archive", 4 }, { "%PDF-", "a PDF", 5 },
        { "\xff\xfe", "UTF-16: iconv -f UTF-16 -t UTF-8 makes it UTF-8", 2 },
        { "\xfe\xff", "UTF-16: iconv -f UTF-16 -t UTF-8 makes it UTF-8", 2 }
    };
    const data_file *x = &c->file;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (x->size < kinds[i].size || memcmp(x->bytes, kinds[i].begin, kinds[i].size)) continue;
        die("%s is no text but %s", x->name, kinds[i].kind);
    }
    const char *zero = (const char *)memchr(x->bytes, 0, x->size);
    if (zero && c->kind == DATA_TEXT)
        die("%s is no text but binary data: byte %lld is zero; --tokenizer bytes takes any bytes",
            x->name, (long long)(zero - x->bytes));
}

/* Ends the program because lines lack the fields of pairs or labels, or because they are binary. */
static void refuse_lines(const corpus *c)
{
    const data_file *x = &c->file;
    const char *zero = (const char *)memchr(x->bytes, 0, x->size);
    if (zero)
        die("%s is no text but binary data: byte %lld is zero", x->name,
            (long long)(zero - x->bytes));
    die("%s", c->lines.error);
}

static void corpus_read(corpus *c, const char *path, bool bytes, data_classes *classes)
{
    must(data_read(&c->file, path), c->file.error);
    if (!bytes) refuse_binary(c);
    c->text.text[0] = c->text.text[1] = c->file.bytes;
    c->text.bytes[0] = c->file.size;
    if (c->kind == DATA_TEXT) {
        c->get = data_get_text;
        c->user = &c->text;
        c->count = 1;
        return;
    }
    if (!data_lines_init(&c->lines, &c->file, c->kind, classes)) refuse_lines(c);
    c->get = data_get_line;
    c->user = &c->lines;
    c->count = c->lines.count;
}

void corpus_open(corpus *c, const settings *s, data_kind kind, task_split split,
                 const char *path, data_classes *classes)
{
    const task *t = task_of(s);
    const bool bytes = kind == DATA_TEXT && given(s, O_TOKENIZER)
                    && tokenizer_kind(s) == TFN_TOKENIZER_BYTES;
    memset(c, 0, sizeof *c);
    c->kind = kind;
    if (!path && split != TASK_TRAIN) path = text_of(s, O_VALID);
    if (path && is_speech(s)) die("%s is text, the task is sound", path);
    c->space = (kind != DATA_TEXT || (t && !path))
            && (tokenizer_kind(s) == TFN_TOKENIZER_WORDS || tokenizer_kind(s) == TFN_TOKENIZER_BPE);
    if (path) corpus_read(c, path, bytes, classes);
    else if (t) {
        c->task.task = t;
        c->task.split = split;
        c->task.options.seed = (uint64_t)whole_of(s, O_SEED);
        c->task.options.min = (int)whole_of(s, O_MIN);
        c->task.options.max = (int)whole_of(s, O_MAX);
        c->get = data_get_task;
        c->user = &c->task;
        c->count = whole_of(s, split == TASK_TRAIN ? O_ITEMS : O_HELD);
        if (t->kind == TASK_SPEECH && split == TASK_TRAIN && !given(s, O_ITEMS)) c->count = SPOKEN;
        for (int i = 0; i < TASK_CLASSES; i++)
            if (classes && t->classes[i])
                data_class(classes, t->classes[i], strlen(t->classes[i]));
    } else {
        size_t cut;
        corpus_read(c, path_of(s), bytes, classes);
        if (!c->file.size) die("%s is empty", c->file.name);
        cut = data_cut(c->file.bytes, c->file.size);
        if (given(s, O_VALID)) return;
        if (kind != DATA_TEXT) {
            data_keep(&c->lines, split);
            c->count = c->lines.count;
        } else if (split == TASK_TRAIN) c->text.bytes[0] = cut;
        else {
            c->text.text[0] += cut;
            c->text.bytes[0] -= cut;
        }
        if (!c->count || (kind == DATA_TEXT && !c->text.bytes[0]))
            die("%s: too few lines to hold some out; give --valid", c->file.name);
    }
}

static void corpus_fail(const corpus *c, const char *error)
{
    if (c->file.name) die("%s: %s", c->file.name, error);
    die("%s", error);
}

bool keeps_texts(const settings *s)
{
    if (given(s, O_PLAYGROUND)) return false;
    return given(s, O_FAMILY) || given(s, O_START_TOKEN);
}

void corpus_cut(corpus *c, const settings *s, const tfn_tokenizer *k, bool in_order)
{
    data_set_options o = { 0 };
    data_batch_options b = { 0 };
    o.kind = c->kind;
    o.tokenizer = k;
    o.most = (int32_t)whole_of(s, O_CONTEXT);
    o.space = c->space && !keeps_texts(s);
    o.starts = given(s, O_START_TOKEN);
    o.start = (int32_t)whole_of(s, O_START_TOKEN);
    o.speech = is_speech(s) && c->get == data_get_task;
    b.batch = (int32_t)whole_of(s, O_BATCH);
    b.tokens = (int32_t)whole_of(s, O_BATCH_TOKENS);
    b.seed = (uint64_t)whole_of(s, O_SEED);
    b.in_order = in_order;
    if (!data_set_init(&c->set, &o, c->get, c->user, c->count)) corpus_fail(c, c->set.error);
    if (!data_batches_init(&c->batches, &c->set, &b)) corpus_fail(c, c->batches.error);
}

void corpus_free(corpus *c)
{
    data_batches_free(&c->batches);
    data_set_free(&c->set);
    data_lines_free(&c->lines);
    data_file_free(&c->file);
}

double loss_of_batches(tfn_model *m, corpus *c, int64_t most)
{
    double nll = 0;
    int64_t tokens = 0;
    if (most > c->batches.count) most = c->batches.count;
    for (int64_t k = 0; k < most; k++) {
        tfn_report r;
        tfn_model_eval(m, data_batch(&c->batches, k), &r);
        must_be_ok(&m->error);
        if (r.tokens) nll += r.nll * (double)r.tokens;
        tokens += r.tokens;
    }
    return nll / (double)tokens;
}

void train_tokenizer(data_tokenizer *k, const settings *s, const corpus *c)
{
    tfn_tokenizer_desc d = { 0 };
    d.kind = tokenizer_kind(s);
    d.vocab = (int32_t)whole_of(s, O_VOCAB);
    if (d.kind == TFN_TOKENIZER_BYTES || (!given(s, O_VOCAB) && d.kind == TFN_TOKENIZER_CHARACTERS))
        d.vocab = 0;
    d.mask = c->kind == DATA_MASKED;
    int texts = DATA_FIRST;
    if (c->kind != DATA_TEXT) texts |= DATA_SECOND;
    must(data_tokenizer_init(k, &d, c->get, c->user, c->count, texts, c->space), k->error);
}

/* -- options of a model ------------------------------------------------------------------------ */

const char *const shape_names[] = {
    "recipe", "norm", "decoder_norm", "topology", "decoder_topology", "vocab",
    "context", "arch", "source_context", "width", "layers", "decoder_layers", "heads",
    "kv_heads", "head_size", "embedding_size", "map_last", "ffn", "segments", "classes", "bands",
    "frame_map", "numbers",
    "cutoffs[0]", "cutoffs[1]", "head", "activation", "position", "rotary_base", "rotary_size",
    "rotary_scaling",
    "rotary_factor", "rotary_low", "rotary_high", "rotary_context", "untied",
    "separate_source", "scale_embedding", "no_bias", "attention_bias", "output_bias",
    "head_transform", "pooler",
    "mup_base_width", "qk_norm", "score_scale", "scale_by_layer",
    "embedding_factor", "branch_factor", "logit_divisor", "qkv_clip", "rotary_period", "window",
    "window_from", "window_period", "window_shift", "window_base", "relative_buckets",
    "relative_distance", "scale_output", "attention_cap", "logit_cap",
    "norm_eps", "norm_factor", "folded", "weights", NULL
};

bool sets_field(const settings *s, const char *name)
{
    const char *list = text_of(s, O_SET);
    const size_t n = strlen(name);
    while (list) {
        if (!strncmp(list, name, n) && list[n] == '=') return true;
        list = strchr(list, ',');
        if (list) list++;
    }
    return false;
}

/* Sets the model option of this name to the value of --ID, if it is given. An invalid value ends
 * the program and suggests the nearest name. */
static void describe_option(tfn_model_desc *d, const char *name, const settings *s,
                            option_id id)
{
    tfn_error error;
    char text[300];
    if (!text_of(s, id) || tfn_desc_set(d, name, text_of(s, id), &error) == TFN_OK) return;
    fprintf(stderr, "tfn: %s\n", tfn_error_text(&error, text, sizeof text));
    exit(2);
}

tfn_arch arch_of(data_kind kind)
{
    if (kind == DATA_PAIRS) return TFN_ARCH_ENCODER_DECODER;
    if (kind == DATA_LABELS || kind == DATA_MASKED) return TFN_ARCH_ENCODER;
    return TFN_ARCH_DECODER;
}

static void describe_shape(tfn_model_desc *d, const settings *s, const corpus *c)
{
    d->arch = arch_of(c->kind);
    d->context = (int32_t)whole_of(s, O_CONTEXT);
    d->layers = (int32_t)whole_of(s, O_LAYERS);
    d->width = (int32_t)whole_of(s, O_WIDTH);
    d->heads = (int32_t)whole_of(s, O_HEADS);
    d->ffn = (int32_t)whole_of(s, O_FFN);
    describe_option(d, "position", s, O_POSITION);
    d->batch = c->batches.most_rows;
    d->batch_tokens = (int32_t)whole_of(s, O_BATCH_TOKENS);
    if (d->arch == TFN_ARCH_ENCODER && !sets_field(s, "segments")) d->segments = 2;
    if (given(s, O_CUTOFFS)) {
        const char *text = text_of(s, O_CUTOFFS);
        int used = 0;
        sscanf(text, "%d%n,%d%n", &d->cutoffs[0], &used, &d->cutoffs[1], &used);
        if (!used || text[used]) die("--cutoffs %s is no number, nor two with a comma", text);
    }
    if (c->set.options.speech) {
        d->bands = TASK_BANDS;
        d->source_context = TASK_FRAMES / 4;
    }
    describe_option(d, "topology", s, O_TOPOLOGY);
    describe_option(d, "recipe", s, O_RECIPE);
    describe_option(d, "norm", s, O_NORM);
    describe_option(d, "init", s, O_INIT);
}

static void describe_group(tfn_model_desc *d, option_id option, const char *group)
{
    char text[300];
    tfn_error e;
    if (!tfn_group_add(d, group, &e))
        die("--%s: %s", option_rows[option].name, tfn_error_text(&e, text, sizeof text));
}

/* Adds a group for an entry of --freeze or --group. */
static void describe_set(tfn_model_desc *d, option_id option, const char *entry)
{
    const char *more = option == O_FREEZE ? " frozen" : "";
    char group[160];
    snprintf(group, sizeof group, "%s%s", entry, more);
    describe_group(d, option, group);
}

/* Adds a group for an entry of --lora: NAMES:RANK or NAMES:RANK:ALPHA. */
static void describe_lora(tfn_model_desc *d, option_id option, const char *entry)
{
    char pattern[64], rank[16] = "", alpha[24] = "", group[160];
    const int found = sscanf(entry, "%63[^:]:%15[^:]:%23[^:]", pattern, rank, alpha);
    if (found < 2) die("--lora needs NAMES:N or NAMES:N:ALPHA, not \"%s\"", entry);
    snprintf(group, sizeof group, "%s rank=%s", pattern, rank);
    if (found > 2) snprintf(group, sizeof group, "%s rank=%s alpha=%s", pattern, rank, alpha);
    describe_group(d, option, group);
}

/* Calls `each` for each entry of a list with commas. */
static void describe_list(tfn_model_desc *d, const settings *s, option_id option,
                          void (*each)(tfn_model_desc *d, option_id option,
                                           const char *entry))
{
    const char *list = text_of(s, option);
    if (!list) return;
    while (*list) {
        const size_t n = strcspn(list, ",");
        char entry[128];
        if (n >= sizeof entry)
            die("--%s: an entry of over %d bytes", option_rows[option].name, (int)sizeof entry - 1);
        snprintf(entry, sizeof entry, "%.*s", (int)n, list);
        each(d, option, entry);
        list += n + (list[n] == ',');
    }
}

/* The name in an entry NAME=VALUE of --set. */
static void field_name(char name[64], const char *entry)
{
    snprintf(name, 64, "%.*s", (int)strcspn(entry, "="), entry);
}

/* Sets the option of an entry NAME=VALUE of --set, with tfn_desc_set. */
static void describe_field(tfn_model_desc *d, option_id option, const char *entry)
{
    const char *equals = strchr(entry, '=');
    char name[64], text[300];
    tfn_error e;
    if (!equals) die("--%s needs NAME=VALUE, not \"%s\"", option_rows[option].name, entry);
    field_name(name, entry);
    if (tfn_desc_set(d, name, equals + 1, &e) != TFN_OK)
        die("--%s %s: %s", option_rows[option].name, entry, tfn_error_text(&e, text, sizeof text));
}

/* Ends the program if another option of tfn overrides an entry of --set. */
static void check_field(tfn_model_desc *d, option_id option, const char *entry)
{
    char name[64], was[128], is[128];
    tfn_model_desc set;
    memset(&set, 0, sizeof set);
    describe_field(&set, option, entry);
    field_name(name, entry);
    tfn_desc_get(&set, name, was, sizeof was);
    tfn_desc_get(d, name, is, sizeof is);
    if (strcmp(was, is))
        die("--%s %s: %s is %s by an option of tfn's own or by the data", option_rows[option].name,
            entry, name, is);
}

void describe(tfn_model_desc *d, const settings *s, const corpus *c,
              const tfn_tokenizer *k, int32_t classes)
{
    tfn_schedule *h = &d->schedule;
    memset(d, 0, sizeof *d);
    describe_list(d, s, O_SET, describe_field);
    describe_shape(d, s, c);
    if (d->vocab < k->vocab) d->vocab = k->vocab;      /* some have more ids than their tokenizer */
    d->classes = classes;
    d->head = c->kind == DATA_LABELS ? TFN_HEAD_SEQUENCE : TFN_HEAD_TOKENS;
    describe_option(d, "schedule.kind", s, O_SCHEDULE);
    describe_option(d, "optimizer", s, O_OPTIMIZER);
    if (d->optimizer == TFN_OPTIMIZER_SCHEDULE_FREE && !given(s, O_SCHEDULE))
        h->kind = TFN_SCHEDULE_CONSTANT;
    h->lr = (float)real_of(s, O_LR);
    if (d->optimizer == TFN_OPTIMIZER_LION && !given(s, O_LR)) h->lr /= 10;
    h->frozen = h->lr == 0;                     /* else 0 is the default rate */
    h->warmup = whole_of(s, O_WARMUP);
    if (!given(s, O_WARMUP)) {
        h->warmup = whole_of(s, O_STEPS) / 10;
        if (h->warmup > 200) h->warmup = 200;
    }
    if (h->kind == TFN_SCHEDULE_COSINE || h->kind == TFN_SCHEDULE_LINEAR
        || h->kind == TFN_SCHEDULE_WARMUP_STABLE_DECAY
        || h->kind == TFN_SCHEDULE_POLYNOMIAL)
        h->steps = whole_of(s, O_STEPS);
    if (h->kind == TFN_SCHEDULE_STEP) h->step_at = (whole_of(s, O_STEPS) + 1) / 2;
    if (h->kind == TFN_SCHEDULE_POLYNOMIAL) h->power = (float)real_of(s, O_POWER);
    d->beta1 = (float)real_of(s, O_BETA1);
    if (d->optimizer == TFN_OPTIMIZER_ADAFACTOR && !given(s, O_BETA1)) d->beta1 = 0;
    d->beta2 = (float)real_of(s, O_BETA2);
    d->decay = (float)real_of(s, O_DECAY);
    d->decay_all = choice_of(s, O_DECAY_OF) == 1;
    describe_list(d, s, O_FREEZE, describe_set);
    describe_list(d, s, O_GROUP, describe_set);
    describe_list(d, s, O_LORA, describe_lora);
    d->clip = (float)real_of(s, O_CLIP);
    d->mup_base_width = (int32_t)whole_of(s, O_MUP);
    d->ema = (float)real_of(s, O_EMA);
    d->clip_value = (float)real_of(s, O_CLIP_VALUE);
    d->dropout = (float)real_of(s, O_DROPOUT);
    d->smoothing = (float)real_of(s, O_SMOOTHING);
    d->seed = (uint64_t)whole_of(s, O_SEED);
    d->threads = (int32_t)whole_of(s, O_THREADS);
    describe_list(d, s, O_SET, check_field);
}

/* -- files ------------------------------------------------------------------------------------- */

int32_t kept_id(const bundle *b, option_id i)
{
    const int64_t id = whole_of(&b->from, i);
    if (!given(&b->from, i)) return -1;
    if (id < 0 || id >= b->desc.vocab)
        die("%s: %s is %s, the vocabulary has %d", b->path, option_rows[i].name,
            text_of(&b->from, i), (int)b->desc.vocab);
    return (int32_t)id;
}

int32_t end_of(const bundle *b)
{
    if (given(&b->from, O_END_TOKEN)) return kept_id(b, O_END_TOKEN);
    if (!b->tokenizer.mem) return -1;
    return b->tokenizer.tokenizer.special[TFN_SPECIAL_EOS];
}

int32_t start_of(const bundle *b)
{
    if (given(&b->from, O_START_TOKEN)) return kept_id(b, O_START_TOKEN);
    if (given(&b->from, O_FAMILY) || end_of(b) < 0)
        die("%s does not say with which token its decoder starts: its config.json had no "
            "decoder_start_token_id", b->path);
    return end_of(b);
}

tfn_file file_at(const char *path)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.path = path;
    return f;
}

bool keeps_data(const settings *s)
{
    return given(s, O_TEXT) || given(s, O_TASK) || given(s, O_PAIRS) || given(s, O_LABELS);
}

bool exists(const char *path)
{
    /* opening a pipe could wait, or cut off its writer */
    if (output_is_device(path)) return true;
    FILE *f = fopen(path, "rb");
    return f && !fclose(f);
}

void must_write(const char *path, bool whole)
{
    char to[OUTPUT_PATH], part[OUTPUT_PART];
    bool folder;
    FILE *f;
    if (!*path) die("the name of a file to write is empty");
    if (!strcmp(path, "-") && !whole) return;
    if (!strcmp(path, "-")) die("this cannot go to the standard output, expected a file");
    if (whole && output_is_device(path)) die("%s is a device, expected a file", path);
    if (output_is_device(path)) return;
    f = fopen(path, "rb");
    folder = f && getc(f) == EOF && ferror(f);
    if (f) fclose(f);
    if (folder) die("%s is a folder", path);
    if (strlen(path) >= OUTPUT_PATH - 4) die("%s: the name is too long", path);
    if (!output_target(to, path)) die("%s leads nowhere", path);
    f = output_create(to, part);
    if (!f || fclose(f)) die("%s cannot be written: %s", path, strerror(errno));
    remove(part);
}

/* Reads the experiment of a model saved by the page of tools/web from its settings,
 * "recipe=post&task=text". Its data is normlab's, with <pad>, <s> and </s> as ids 0, 1 and 2. */
static void playground_experiment(settings *s, const tfn_model_desc *d)
{
    static char context[12];
    static const struct { const char *name, *kind, *task, *most, *tokenizer; } rows[] = {
        { "task=reverse", "pairs", "reverse", "0", "chars" },
        { "task=grammar", "pairs", "translate", "1", "words" },
        { "task=headline", "pairs", "headline", "1", "words" },
        { "task=markov", "text", "markov", "0", "words" },
        { "task=text", "text", NULL, "0", "chars" }, { "task=file", "text", NULL, "0", "bytes" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!strstr(text_of(s, O_PLAYGROUND), rows[i].name)) continue;
        s->text[O_KIND] = rows[i].kind;
        s->text[O_TASK] = rows[i].task;
        s->text[O_MAX] = rows[i].most;
        s->text[O_TOKENIZER] = rows[i].tokenizer;
        snprintf(context, sizeof context, "%d", (int)d->context);
        s->text[O_CONTEXT] = context;
        if (strcmp(rows[i].kind, "pairs")) return;
        s->text[O_PAD_TOKEN] = "0";
        s->text[O_START_TOKEN] = "1";
        s->text[O_BAD_TOKENS] = "0 1";
        return;
    }
}

static void bundle_experiment(bundle *b)
{
    tfn_file f = file_at(b->path);
    size_t bytes;
    tfn_file_open(&f);
    bytes = tfn_file_text(&f, "extra", NULL, 0);
    b->extra = (char *)reserve(bytes + 1, 1);
    tfn_file_text(&f, "extra", b->extra, bytes + 1);
    tfn_file_close(&f);
    must_be_ok(&f.error);
    options_take(&b->from, b->extra);
    if (given(&b->from, O_PLAYGROUND)) playground_experiment(&b->from, &b->desc);
    if (!given(&b->from, O_KIND)) return;
    b->kind = (data_kind)option_name(kind_names, text_of(&b->from, O_KIND));
    const char *names = text_of(&b->from, O_CLASSES);
    if (!names) names = "";
    while (*names) {
        if (*names == '\t') names++;
        data_class(&b->classes, names, strcspn(names, "\t"));
        names += strcspn(names, "\t");
    }
    b->classes.fixed = true;
}

void bundle_look(bundle *b, const char *path)
{
    tfn_file f = file_at(path);
    tfn_tokenizer_source source = { 0 };
    void *blob;
    memset(b, 0, sizeof *b);
    b->path = path;
    tfn_model_peek(&f, &b->desc, NULL);
    must_be_file(&f.error, path);
    bundle_experiment(b);
    source.blob_size = tfn_checkpoint_tokenizer(&f, NULL, 0);
    source.blob = blob = reserve(source.blob_size, 1);
    tfn_checkpoint_tokenizer(&f, blob, source.blob_size);
    must_be_ok(&f.error);
    if (source.blob_size) {
        b->tokenizer.mem = reserve(tfn_tokenizer_size(&source), 1);
        tfn_tokenizer_init(&b->tokenizer.tokenizer, &source, b->tokenizer.mem,
                           tfn_tokenizer_size(&source));
        must_be_ok(&b->tokenizer.tokenizer.error);
    }
    free(blob);
}

void bundle_open(bundle *b, const char *path)
{
    bundle_look(b, path);
    if (!given(&b->from, O_KIND)) die("%s was not written by tfn", path);
    if (!b->tokenizer.mem) die("%s has no tokenizer", path);
}

void untie_lora(tfn_model_desc *d, const tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (!strcmp(p.name, "output.lora_a")) d->untied = true;
}

int64_t param_count(const tfn_model *m)
{
    tfn_param_info p;
    int64_t count = 0;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) count += (int64_t)p.rows * p.cols;
    return count;
}

bool is_peft(const char *path)
{
    static const char name[] = "/adapter_config.json";
    bool there;
    char *whole;
    if (!path) return false;
    whole = (char *)reserve(strlen(path) + sizeof name, 1);
    strcat(strcpy(whole, path), name);
    there = exists(whole);
    free(whole);
    return there;
}

/* Starts reading an adapter of PEFT, whose tensors have the names of the model's family. */
static void bundle_peft(const bundle *b, tfn_import *x)
{
    memset(x, 0, sizeof *x);
    x->folder = b->adapter;
    x->family = tfn_family_find(text_of(&b->from, O_FAMILY));
    if (!x->family)
        die("%s keeps no family of the hub, which names the tensors of %s: expected a model that "
            "tfn import wrote", b->path, b->adapter);
}

/* Takes the groups of an adapter into the options, so that the model has tensors for it. */
static void bundle_adapt(bundle *b)
{
    tfn_file f = file_at(b->adapter);
    tfn_import x;
    tfn_model_desc d;
    char text[8];
    if (!b->adapter) return;
    if (is_peft(b->adapter)) {
        bundle_peft(b, &x);
        memset(b->desc.groups, 0, sizeof b->desc.groups);
        tfn_peft_peek(&x, &b->desc);
        must_be_ok(&x.error);
        return;
    }
    tfn_model_peek(&f, &d, NULL);
    must_be_file(&f.error, b->adapter);
    tfn_file_open(&f);
    if (!tfn_file_text(&f, "tfn_adapter", text, sizeof text))
        die("%s is no adapter: expected what tfn train --lora --adapter wrote", b->adapter);
    tfn_file_close(&f);
    memcpy(b->desc.groups, d.groups, sizeof d.groups);
}

void bundle_load(bundle *b, int32_t batch, int32_t threads)
{
    tfn_file f = file_at(b->path);
    tfn_file adapter = file_at(b->adapter);
    tfn_import x;
    bundle_adapt(b);
    b->desc.batch = batch;
    b->desc.threads = threads;
    b->desc.inference = true;
    b->desc.blank = true;
    tfn_model_new(&b->model, &b->desc, NULL);
    must_be_model(&b->model, &b->desc);
    tfn_model_load_weights(&b->model, &f, 1);
    must_be_ok(&f.error);
    if (is_peft(b->adapter)) {
        bundle_peft(b, &x);
        tfn_peft_read(&x, &b->model);
        must_be_ok(&x.error);
    } else if (b->adapter) {
        tfn_model_load_weights(&b->model, &adapter, 1);
        must_be_ok(&adapter.error);
    }
}

void bundle_save(const bundle *b, const settings *s, const char *path, bool weights)
{
    tfn_checkpoint with = { 0 };
    tfn_file f = file_at(path);
    size_t bytes = options_write(NULL, 0, s);
    char *extra = (char *)reserve(bytes + 1, 1);
    options_write(extra, bytes + 1, s);
    if (b->tokenizer.mem) with.tokenizer = &b->tokenizer.tokenizer;
    with.extra = extra;
    with.weights_only = weights;
    tfn_model_save(&f, &b->model, &with);
    must_be_ok(&f.error);
    free(extra);
}

void bundle_free(bundle *b)
{
    tfn_model_free(&b->model);
    data_tokenizer_free(&b->tokenizer);
    free(b->extra);
}
