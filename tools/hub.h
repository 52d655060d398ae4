/* tfn export --hf DIR: a model as a folder of the hub. What tfn import found, family and type, is
 * kept with the model, and is what goes out; --family and --dtype say otherwise. */
#ifndef HUB_H
#define HUB_H

#include "models.h"
#ifdef _WIN32
#include <direct.h>
#endif

/* The folder is there already, or what is written into it will say why it is not. */
static void hub_make_folder(const char *path)
{
#ifdef _WIN32
    _mkdir(path);
#else
    mkdir(path, 0777);
#endif
}

/* DIR/config.json is there: another model's, unless --force. */
static void hub_refuse_existing(const settings *s, const char *folder)
{
    const size_t room = strlen(folder) + sizeof "/config.json";
    char *path = (char *)reserve(room, 1);
    snprintf(path, room, "%s/config.json", folder);
    if (exists(path) && !given(s, O_FORCE)) die("%s exists; --force overwrites it", path);
    free(path);
}

/* An option of the command line, else of the model; NULL: neither. */
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

/* What tfn import keeps of it. */
static const char *hub_dtype_name(tfn_dtype dtype)
{
    if (dtype == TFN_DTYPE_F16) return "f16";
    if (dtype == TFN_DTYPE_BF16) return "bf16";
    return NULL;
}

static const tfn_family *hub_family(const char *name)
{
    const char *best = NULL;
    if (!name || tfn_family_find(name)) return tfn_family_find(name);
    for (int32_t i = 0; tfn_family_at(i); i++) option_nearer(&best, name, tfn_family_at(i)->name);
    die("no family is called %s; the nearest is %s", name, best);
    return NULL;
}

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

/* The model, or what it is when LoRA is in the matrices that it adds to: then `plain` is made. */
static const tfn_model *hub_merged(tfn_model *plain, const tfn_model *m)
{
    tfn_model_desc d = m->desc;
    bool lora = false;
    for (int i = 0; i < TFN_MOST_GROUPS; i++) lora = lora || d.groups[i].rank > 0;
    if (!lora) return m;
    memset(d.groups, 0, sizeof d.groups);
    d.blank = true;
    tfn_model_new(plain, &d, NULL);
    must_be_ok(&plain->error);
    tfn_model_fold(plain, m);
    must_be_ok(&plain->error);
    return plain;
}

static int hub_export(settings *s, cli *c)
{
    static bundle b;
    static tfn_export x;
    tfn_model plain = { 0 };
    const char *folder = text_of(s, O_HF);
    if (s->files != 1) cli_fail(c, "wanted one model");
    if (given(s, O_OUT)) cli_fail(c, "--out is for C, --hf for a folder of the hub");
    bundle_look(&b, s->file[0]);
    x.family = hub_family(hub_text(s, &b, O_FAMILY));
    hub_refuse_existing(s, folder);
    bundle_load(&b, 1, 1);
    x.folder = folder;
    x.dtype = hub_dtype(hub_text(s, &b, O_DTYPE));
    x.round = given(s, O_ROUND);
    if (tfn_tokenizer_json_text(&b.tokenizer.tokenizer, NULL, 0) > 0)
        x.tokenizer = &b.tokenizer.tokenizer;
    hub_make_folder(folder);
    tfn_export_write(&x, hub_merged(&plain, &b.model));
    must_be_ok(&x.error);
    hub_report(&x, &b, hub_text(s, &b, O_DTYPE));
    tfn_model_free(&plain);
    bundle_free(&b);
    return 0;
}
#endif
