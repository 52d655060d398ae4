/* First what tfn import keeps, then the folder that tfn export writes. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "hub.h"
#include "../common/library.h"
#include "chat.h"
#include "prompt.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <direct.h>
#define rmdir _rmdir
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

/* Makes a folder. Returns false if there is one. An error shows when a file is written into it. */
static bool hub_make_folder(const char *path)
{
#ifdef _WIN32
    return _mkdir(path) == 0;
#else
    return mkdir(path, 0777) == 0;
#endif
}

/* Ends the program after a failed export. A folder that was made for it goes, if it is empty. */
static void hub_must_export(const tfn_export *x, bool made)
{
    if (x->error.status != TFN_OK && made) rmdir(x->folder);
    must_be_ok(&x->error);
}

char *hub_path(const char *folder, const char *name)
{
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = (char *)reserve(room, 1);
    snprintf(path, room, "%s/%s", folder, name);
    return path;
}

/* Refuses to overwrite DIR/NAME without --force. */
static void hub_refuse_existing(const settings *s, const char *folder, const char *name)
{
    char *path = hub_path(folder, name);
    if (exists(path) && !given(s, O_FORCE)) die("%s exists; --force overwrites it", path);
    free(path);
}

/* Refuses a tokenizer that is already in the folder if the model writes none: readers would combine
 * the two. */
static void hub_refuse_tokenizer(const char *folder)
{
    static const char *const names[] = { "tokenizer.json", "vocab.json", "vocab.txt",
                                         "tokenizer.model", "spiece.model" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = hub_path(folder, names[i]);
        if (exists(path))
            die("%s belongs to another model, and this one writes no tokenizer: remove it", path);
        free(path);
    }
}

/* An option of the command line, else of the model; NULL: neither has it. */
static const char *hub_text(const settings *s, const bundle *b, option_id i)
{
    if (given(s, i)) return s->text[i];
    return b->from.text[i];
}

static tfn_dtype hub_dtype(const char *name)
{
    if (name && !strcmp(name, "f16")) return TFN_DTYPE_F16;
    if (name && !strcmp(name, "bf16")) return TFN_DTYPE_BF16;
    return TFN_DTYPE_F32;
}

const char *hub_dtype_name(tfn_dtype dtype)
{
    if (dtype == TFN_DTYPE_F16) return "f16";
    if (dtype == TFN_DTYPE_BF16) return "bf16";
    return NULL;
}

const char *hub_families(void)
{
    static char names[512];
    names[0] = 0;
    for (int32_t i = 0; tfn_family_at(i); i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", tfn_family_at(i)->name);
    }
    return names;
}

const tfn_family *hub_family(const char *name)
{
    const char *best = NULL;
    if (!name || tfn_family_find(name)) return tfn_family_find(name);
    for (int32_t i = 0; tfn_family_at(i); i++) option_nearer(&best, name, tfn_family_at(i)->name);
    die("no family is called %s; the nearest is %s, of %s", name, best, hub_families());
    return NULL;
}

/* The family of --family, by default the imported one. NULL: none, or an architecture of GGUF that
 * has another name in the hub. */
static const tfn_family *hub_family_for(const settings *s, const bundle *b)
{
    if (given(s, O_FAMILY)) return hub_family(text_of(s, O_FAMILY));
    if (!given(&b->from, O_FAMILY)) return NULL;
    return tfn_family_find(text_of(&b->from, O_FAMILY));
}

/* -- what tfn import keeps of config.json ------------------------------------------------------ */

/* The special ids of an encoder-decoder: start, end, padding. A decoder has only ends. */
static const struct { option_id id; const char *key; } hub_ids[] = {
    { O_START_TOKEN, "decoder_start_token_id" }, { O_END_TOKEN, "eos_token_id" },
    { O_PAD_TOKEN, "pad_token_id" }
};
enum { HUB_IDS = sizeof hub_ids / sizeof *hub_ids };

/* The value of a key in generation_config.json, which programs in Python read first, else in
 * config.json. The text is never freed. NULL: neither has it. */
static const char *hub_value(tfn_import *x, const data_file *generation, const char *key)
{
    tfn_import first;
    size_t bytes = 0;
    char *text;
    memset(&first, 0, sizeof first);
    first.config = generation->bytes;
    first.config_size = generation->size;
    if (first.config) bytes = tfn_import_text(&first, key, NULL, 0);
    if (first.error.status != TFN_OK)
        die("%s/generation_config.json is no object of JSON", x->folder);
    if (!bytes) bytes = tfn_import_text(x, key, NULL, 0);
    must_be_ok(&x->error);
    if (!bytes) return NULL;
    text = (char *)reserve(bytes + 1, 1);
    if (!first.config || !tfn_import_text(&first, key, text, bytes + 1))
        tfn_import_text(x, key, text, bytes + 1);
    return text;
}

/* Reads the id at *at and moves past it. A value that is no id of the vocabulary ends the
 * program. */
static int32_t hub_id(const bundle *b, const char *key, const char *value, const char **at)
{
    char *end;
    const long id = strtol(*at, &end, 10);
    if (end == *at || !strchr(",] \t\r\n", *end) || id < 0 || id >= b->desc.vocab)
        die("config.json: %s is %.80s, expected ids from 0 to %d", key, value,
            (int)b->desc.vocab - 1);
    *at = end;
    return (int32_t)id;
}

/* Keeps an id, or the first one of a list. */
static void hub_keep_id(bundle *b, option_id i, const char *key, const char *value)
{
    static char texts[HUB_IDS][16];
    const char *at = value;
    if (!value) return;
    at += strspn(at, "[ \t\r\n");
    snprintf(texts[i - O_START_TOKEN], sizeof *texts, "%d", (int)hub_id(b, key, value, &at));
    b->from.text[i] = texts[i - O_START_TOKEN];
    if (strchr(at, ','))
        fprintf(stderr, "tfn: %s is %.80s: the first one counts\n", key, value);
}

/* Keeps the ids that end a text of a decoder: one or a list. Other formats can name only the first.
 * Without the key, the tokenizer's end is kept. Ids outside the vocabulary are left out. */
static void hub_keep_ends(bundle *b, const char *value)
{
    static char first[16];
    const int32_t own = end_of(b);
    char number[16];
    char *more, *to;
    if (!value) snprintf(number, sizeof number, "%d", (int)own);
    if (!value) value = number;
    more = to = (char *)reserve(strlen(value) * 2 + 16, 1);
    for (const char *at = value + strspn(value, "[, \t\r\n"); *at && *at != ']';) {
        char *end;
        const long id = strtol(at, &end, 10);
        if (end == at) die("config.json: eos_token_id is %.80s, expected one id or a list", value);
        at = end + strspn(end, ", \t\r\n");
        if (id < 0 || id >= b->desc.vocab) continue;
        if (first[0]) to += snprintf(to, 16, " %d", (int)id);
        else snprintf(first, sizeof first, "%d", (int)id);
    }
    if (first[0]) b->from.text[O_END_TOKEN] = first;
    if (more[0]) b->from.text[O_MORE_ENDS] = more + 1;
}

/* Keeps bad_words_ids, a list of lists, as "58100 7". Lists of several ids are left out, because
 * the generator forbids only single ids. */
static void hub_keep_bad(bundle *b, const char *value)
{
    const char *at = value;
    char *kept, *to;
    int32_t left = 0;
    if (!value) return;
    kept = to = (char *)reserve(strlen(value) + 16, 1);
    for (at += strspn(at, "[], \t\r\n"); *at; at += strspn(at, "[], \t\r\n")) {
        const int32_t id = hub_id(b, "bad_words_ids", value, &at);
        const bool alone = *(at += strspn(at, " \t\r\n")) == ']';
        if (alone) to += snprintf(to, 16, " %d", (int)id);
        while (*at != ']') {
            at += strspn(at, ", \t\r\n");
            hub_id(b, "bad_words_ids", value, &at);
            at += strspn(at, " \t\r\n");
        }
        left += !alone;
    }
    if (kept[0]) b->from.text[O_BAD_TOKENS] = kept + 1;
    if (left)
        fprintf(stderr, "tfn: bad_words_ids has %d words of several tokens, which are not "
                "forbidden\n", (int)left);
}

void hub_keep_ids(bundle *b, tfn_import *x, const data_file *generation)
{
    const char *forced;
    if (b->desc.arch == TFN_ARCH_DECODER)
        hub_keep_ends(b, hub_value(x, generation, "eos_token_id"));
    if (b->desc.arch != TFN_ARCH_ENCODER_DECODER) return;
    for (int i = 0; i < HUB_IDS; i++)
        hub_keep_id(b, hub_ids[i].id, hub_ids[i].key, hub_value(x, generation, hub_ids[i].key));
    if (!given(&b->from, O_START_TOKEN)) b->from.text[O_START_TOKEN] = b->from.text[O_PAD_TOKEN];
    hub_keep_bad(b, hub_value(x, generation, "bad_words_ids"));
    forced = hub_value(x, generation, "forced_bos_token_id");
    if (forced)
        fprintf(stderr, "tfn: forced_bos_token_id is %.80s, which is left aside\n", forced);
}

/* True if a class name is valid: one line, and different from the other names. */
static bool hub_is_name(const data_classes *x, const char *name, size_t bytes)
{
    if (!bytes || bytes >= DATA_NAME || strlen(name) != bytes) return false;
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 127) return false;
    for (int32_t i = 0; i < x->count; i++)
        if (!strcmp(x->name[i], name)) return false;
    return true;
}

/* True if the model answers questions: its two classes are the start and the end of an answer. */
static bool hub_answers(tfn_import *x)
{
    char names[256];
    tfn_import_text(x, "architectures", names, sizeof names);
    must_be_ok(&x->error);
    return strstr(names, "ForQuestionAnswering") != NULL;
}

void hub_keep_classes(bundle *b, tfn_import *x)
{
    static char names[DATA_CLASSES * DATA_NAME];
    data_classes *classes = &b->classes;
    const int32_t count = b->desc.classes;
    const bool named = tfn_import_text(x, "id2label", NULL, 0) > 0;
    char key[32], name[DATA_NAME];
    if (count < 1 || count > DATA_CLASSES) return;
    if (b->desc.head == TFN_HEAD_POSITIONS && hub_answers(x)) {
        b->from.text[O_CLASSES] = "start\tend";
        return;
    }
    if (b->desc.head == TFN_HEAD_SEQUENCE) b->from.text[O_KIND] = "labels";
    else if (b->desc.head != TFN_HEAD_POSITIONS) return;
    for (int32_t i = 0; named && i < count; i++) {
        snprintf(key, sizeof key, "id2label.%d", (int)i);
        const size_t bytes = tfn_import_text(x, key, name, sizeof name);
        must_be_ok(&x->error);
        if (!hub_is_name(classes, name, bytes)) {
            fprintf(stderr, "tfn: config.json: the %d names of id2label are not all different "
                    "texts of 1 to %d bytes: classes have numbers\n", (int)count, DATA_NAME - 1);
            break;
        }
        data_class(classes, name, bytes);
    }
    const bool all = classes->count == count;
    if (!all) memset(classes, 0, sizeof *classes);
    for (int32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%d", (int)i);
        if (!all) data_class(classes, name, strlen(name));
        if (i) strcat(names, "\t");
        strcat(names, classes->name[i]);
    }
    b->from.text[O_CLASSES] = names;
}

/* -- tfn export --hf --------------------------------------------------------------------------- */

static void hub_report(const tfn_export *x, const bundle *b, const char *dtype)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    printf("family      %s\ntensors     %d", x->family->name, (int)x->tensors);
    if (x->kept) printf(", of which %d of norms and biases stay f32, as %s does not hold them",
                        (int)x->kept, dtype);
    printf("\n");
    if (!b->tokenizer.mem) printf("tokens      none: the model has no tokenizer\n");
    else if (x->tokenizer) printf("tokens      %d\n", (int)k->vocab);
    else printf("tokens      none: tokenizer.json is written of byte-level BPE, WordPiece, BPE of "
                "characters and Unigram, and cannot say all that this tokenizer does\n");
}

/* Returns the model, or, if it has LoRA, a new model in `plain` with LoRA merged into the
 * matrices. */
static const tfn_model *hub_merged(tfn_model *plain, const tfn_model *m)
{
    tfn_model_desc d = m->desc;
    if (!library_has_lora(&d)) return m;
    memset(d.groups, 0, sizeof d.groups);
    untie_lora(&d, m);
    d.blank = true;
    tfn_model_new(plain, &d, NULL);
    must_be_ok(&plain->error);
    tfn_model_fold(plain, m);
    must_be_ok(&plain->error);
    return plain;
}

/* In the order of tfn_export. */
static void hub_specials(const bundle *b, int32_t *ids)
{
    ids[0] = kept_id(b, O_PAD_TOKEN);
    ids[1] = ids[3] = -1;
    if (b->tokenizer.mem) ids[1] = b->tokenizer.tokenizer.special[TFN_SPECIAL_BOS];
    if (b->tokenizer.mem && ids[0] < 0) ids[0] = b->tokenizer.tokenizer.special[TFN_SPECIAL_PAD];
    ids[2] = end_of(b);
    if (given(&b->from, O_START_TOKEN)) ids[3] = start_of(b);
}

int hub_export(settings *s, cli *c)
{
    static bundle b;
    static tfn_export x;
    tfn_model plain = { 0 };
    int32_t specials[4];
    const char *labels[DATA_CLASSES];
    const char *folder = text_of(s, O_HF);
    bool made;
    if (s->files != 1) cli_fail(c, "expected one model");
    if (given(s, O_OUT)) cli_fail(c, "--out is for C, --hf for a folder of the hub");
    if (given(s, O_PREFIX)) cli_fail(c, "--prefix is for C, --hf for a folder of the hub");
    bundle_look(&b, s->file[0]);
    x.family = hub_family_for(s, &b);
    hub_refuse_existing(s, folder, "config.json");
    b.adapter = text_of(s, O_ADAPTER);
    bundle_load(&b, 1, 1);
    x.folder = folder;
    x.dtype = hub_dtype(hub_text(s, &b, O_DTYPE));
    x.round = given(s, O_ROUND);
    b.tokenizer.tokenizer.prefix_space |= spaces_texts(&b);
    if (tfn_tokenizer_json_text(&b.tokenizer.tokenizer, NULL, 0) > 0)
        x.tokenizer = &b.tokenizer.tokenizer;
    if (!x.tokenizer) hub_refuse_tokenizer(folder);
    if (given(&b.from, O_START_TOKEN) || given(&b.from, O_END_TOKEN)) {
        hub_specials(&b, specials);
        x.specials = specials;
    }
    if (b.kind == DATA_LABELS || b.desc.head == TFN_HEAD_POSITIONS) {
        for (int32_t i = 0; i < b.classes.count; i++) labels[i] = b.classes.name[i];
        if (b.classes.count == b.desc.classes) x.labels = labels;
    }
    made = hub_make_folder(folder);
    tfn_export_write(&x, hub_merged(&plain, &b.model));
    hub_must_export(&x, made);
    hub_report(&x, &b, hub_text(s, &b, O_DTYPE));
    tfn_model_free(&plain);
    bundle_free(&b);
    return 0;
}

/* -- tfn export --peft ------------------------------------------------------------------------- */

int hub_export_peft(settings *s, cli *c)
{
    static bundle b;
    static tfn_export x;
    const char *folder = text_of(s, O_PEFT);
    bool made;
    if (s->files != 1) cli_fail(c, "expected one model");
    if (given(s, O_OUT) || given(s, O_PREFIX)) cli_fail(c, "--out and --prefix are for C");
    bundle_look(&b, s->file[0]);
    x.family = hub_family_for(s, &b);
    hub_refuse_existing(s, folder, "adapter_config.json");
    b.adapter = text_of(s, O_ADAPTER);
    bundle_load(&b, 1, 1);
    x.folder = folder;
    x.dtype = hub_dtype(s->text[O_DTYPE]);
    x.round = given(s, O_ROUND);
    made = hub_make_folder(folder);
    tfn_peft_write(&x, &b.model);
    hub_must_export(&x, made);
    printf("family      %s\ntensors     %d\n", x.family->name, (int)x.tensors);
    bundle_free(&b);
    return 0;
}

/* -- tfn export MODEL FILE.gguf ---------------------------------------------------------------- */

bool hub_is_gguf(const char *path)
{
    const char *end = strrchr(path, '.');
    return end && !strcmp(end, ".gguf");
}

/* The dtype of --type, by default the one that the model was imported with. */
static tfn_dtype hub_gguf_dtype(const settings *s, const bundle *b)
{
    const char *name = given(s, O_TYPE) ? s->text[O_TYPE] : b->from.text[O_DTYPE];
    if (name && !strcmp(name, "q8_0")) return TFN_DTYPE_Q8_0;
    if (name && !strcmp(name, "q4_0")) return TFN_DTYPE_Q4_0;
    return hub_dtype(name);
}

/* The name of the file without folder and end, for general.name. */
static const char *hub_gguf_name(const char *path)
{
    static char name[256];
    const char *slash = strrchr(path, '/');
    if (slash) path = slash + 1;
    snprintf(name, sizeof name, "%.*s", (int)(strrchr(path, '.') - path), path);
    return name;
}

/* The path of the file, from --out or after the model. */
static const char *hub_gguf_path(const settings *s, cli *c)
{
    const char *path = s->file[1];
    if (s->files == 1) path = text_of(s, O_OUT);
    if (s->files < 1 || (s->files == 2 && given(s, O_OUT)) || !hub_is_gguf(path))
        cli_fail(c, "expected one model, or a model and FILE.gguf");
    if (given(s, O_DTYPE)) cli_fail(c, "--dtype is for --hf; a .gguf file has --type");
    if (given(s, O_PREFIX)) cli_fail(c, "--prefix is for C");
    must_write(path, true);
    refuse_existing(s, path);
    return path;
}

int hub_export_gguf(settings *s, cli *c)
{
    static bundle b;
    static tfn_export x;
    tfn_model plain = { 0 };
    const char *path = hub_gguf_path(s, c);
    bundle_look(&b, s->file[0]);
    x.family = hub_family_for(s, &b);
    b.adapter = text_of(s, O_ADAPTER);
    bundle_load(&b, 1, 1);
    x.folder = path;
    x.name = hub_gguf_name(path);
    x.dtype = hub_gguf_dtype(s, &b);
    x.round = given(s, O_TYPE);
    if (b.tokenizer.mem) {
        b.tokenizer.tokenizer.prefix_space |= spaces_texts(&b);
        x.tokenizer = &b.tokenizer.tokenizer;
    }
    if (given(&b.from, O_TEMPLATE)) x.chat_template = chat_jinja(text_of(&b.from, O_TEMPLATE));
    tfn_export_gguf(&x, hub_merged(&plain, &b.model));
    must_be_ok(&x.error);
    printf("architecture %s\ntensors      %d\n", x.family->name, (int)x.tensors);
    if (x.kept) printf("matrices     %d of another type than --type\n", (int)x.kept);
    if (x.tokenizer) printf("tokens       %d\n", (int)x.tokenizer->vocab);
    else printf("tokens       none: the model has no tokenizer\n");
    tfn_model_free(&plain);
    bundle_free(&b);
    return 0;
}
