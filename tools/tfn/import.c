/* Tokenizers, then options, then the command. */
#include "import.h"
#include "../../tfnorm.h"
#include "../common/data.h"
#include "chat.h"
#include "hub.h"
#include "models.h"
#include "quantize.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads FOLDER/NAME. False: there is none. */
static bool import_read(data_file *f, const char *folder, const char *name)
{
    char *path = hub_path(folder, name);
    const bool there = exists(path);
    if (there) must(data_read(f, path), f->error);
    free(path);
    return there;
}

/* True if do_lower_case of tokenizer_config.json is false. Searches the text; white space may
 * surround the colon. */
static bool import_is_cased(const char *folder)
{
    static const char key[] = "\"do_lower_case\"";
    data_file config = { 0 };
    bool cased = false;
    if (!import_read(&config, folder, "tokenizer_config.json")) return false;
    for (size_t at = 0; at + sizeof key < config.size; at++) {
        if (memcmp(config.bytes + at, key, sizeof key - 1)) continue;
        for (at += sizeof key - 1; at < config.size; at++)
            if (!strchr(" \t\r\n:", config.bytes[at])) break;
        cased = at < config.size && config.bytes[at] == 'f';
        break;
    }
    data_file_free(&config);
    return cased;
}

/* -- tokenizers -------------------------------------------------------------------------------- */

/* The files of one tokenizer, and their names for messages. */
typedef struct import_source {
    tfn_tokenizer_source source;
    data_file            file[2];
    char                 name[64];
} import_source;

/* Reads FOLDER/NAME as a file of a tokenizer. False: there is none, or it cannot be read and stderr
 * says so. */
static bool import_take(import_source *x, int i, const char *folder, const char *name)
{
    char *path = hub_path(folder, name);
    const bool there = exists(path);
    const bool good = there && data_read(&x->file[i], path);
    if (there && !good) fprintf(stderr, "tfn: %s\n", x->file[i].error);
    if (i) strcat(x->name, " and ");
    strcat(x->name, name);
    free(path);
    return good;
}

static bool import_json(import_source *x, const char *folder, tfn_arch arch)
{
    (void)arch;
    if (!import_take(x, 0, folder, "tokenizer.json")) return false;
    x->source.json = x->file[0].bytes;
    x->source.json_size = x->file[0].size;
    return true;
}

/* Reads Marian's source.spm, and vocab.json with the ids of the pieces of source.spm and
 * target.spm. A target with its own vocabulary needs a second tokenizer, which a model here cannot
 * have. */
static bool import_marian(import_source *x, const char *folder, tfn_arch arch)
{
    char *target = hub_path(folder, "target_vocab.json");
    const bool apart = exists(target);
    (void)arch;
    free(target);
    if (apart || !import_take(x, 0, folder, "source.spm")) return false;
    if (!import_take(x, 1, folder, "vocab.json")) return false;
    x->source.model = x->file[0].bytes;
    x->source.model_size = x->file[0].size;
    x->source.vocab = x->file[1].bytes;
    x->source.vocab_size = x->file[1].size;
    x->source.end = true;
    return true;
}

static bool import_bpe(import_source *x, const char *folder, tfn_arch arch)
{
    (void)arch;
    if (!import_take(x, 0, folder, "vocab.json")) return false;
    if (!import_take(x, 1, folder, "merges.txt")) return false;
    x->source.vocab = x->file[0].bytes;
    x->source.vocab_size = x->file[0].size;
    x->source.merges = x->file[1].bytes;
    x->source.merges_size = x->file[1].size;
    return true;
}

static bool import_pieces(import_source *x, const char *folder, tfn_arch arch, const char *name)
{
    if (!import_take(x, 0, folder, name)) return false;
    x->source.begin = arch == TFN_ARCH_DECODER;         /* Llama's begin; others end */
    x->source.end = !x->source.begin;
    x->source.model = x->file[0].bytes;
    x->source.model_size = x->file[0].size;
    return true;
}

static bool import_model(import_source *x, const char *folder, tfn_arch arch)
{
    return import_pieces(x, folder, arch, "tokenizer.model");
}

static bool import_spiece(import_source *x, const char *folder, tfn_arch arch)
{
    return import_pieces(x, folder, arch, "spiece.model");
}

static bool import_lines(import_source *x, const char *folder, tfn_arch arch)
{
    (void)arch;
    if (!import_take(x, 0, folder, "vocab.txt")) return false;
    x->source.kind = TFN_TOKENIZER_WORDPIECE;
    x->source.vocab = x->file[0].bytes;
    x->source.vocab_size = x->file[0].size;
    x->source.cased = import_is_cased(folder);
    return true;
}

/* Reads the tokenizer in the metadata of a .gguf file. False if there is none, or if it cannot be
 * read; then stderr says why. */
static bool import_metadata(import_source *x, const char *path)
{
    tfn_file f = file_at(path);
    char text[DATA_ERROR];
    size_t bytes;
    strcpy(x->name, "its metadata");
    if (tfn_gguf_open(&f) != TFN_OK) return false;      /* it was opened before */
    bytes = tfn_gguf_tokenizer(&f, &x->source, NULL, 0);
    x->file[0].bytes = (char *)reserve(bytes ? bytes : 1, 1);
    tfn_gguf_tokenizer(&f, &x->source, x->file[0].bytes, bytes);
    if (f.error.status != TFN_OK) {
        snprintf(x->file[0].error, sizeof x->file[0].error, "%s", "not read");
        fprintf(stderr, "tfn: %s\n", tfn_error_text(&f.error, text, sizeof text));
    }
    tfn_file_close(&f);
    return bytes > 0;
}

/* Makes the tokenizer. False: its files are invalid or have more tokens than the model, and stderr
 * says which. */
static bool import_make(bundle *b, const import_source *x, const char *folder)
{
    tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const size_t size = tfn_tokenizer_size(&x->source);
    char text[DATA_ERROR];
    b->tokenizer.mem = reserve(size ? size : 1, 1);
    tfn_tokenizer_init(k, &x->source, b->tokenizer.mem, size);
    if (k->error.status == TFN_OK && k->vocab <= b->desc.vocab) return true;
    if (k->error.status != TFN_OK)
        fprintf(stderr, "tfn: %s/%s: not usable: %s\n", folder, x->name,
                tfn_error_text(&k->error, text, sizeof text));
    else
        fprintf(stderr, "tfn: %s/%s: not usable: the tokenizer has %d tokens, the model %d\n",
                folder, x->name, (int)k->vocab, (int)b->desc.vocab);
    free(b->tokenizer.mem);
    memset(&b->tokenizer, 0, sizeof b->tokenizer);
    return false;
}

/* Makes the first valid tokenizer, from the file's metadata or the folder, and names invalid ones.
 * Without one, the model takes only ids. gguf: the path of a .gguf file, or NULL. */
static void import_tokenizer(bundle *b, const char *folder, const char *gguf)
{
    static bool (*const ways[])(import_source *, const char *, tfn_arch) = {
        import_json, import_marian, import_bpe, import_model, import_spiece, import_lines
    };
    bool failed = false;
    enum { WAYS = sizeof ways / sizeof *ways };
    for (int i = gguf ? -1 : 0; i < WAYS; i++) {
        import_source x;
        memset(&x, 0, sizeof x);
        const bool there = i < 0 ? import_metadata(&x, gguf) : ways[i](&x, folder, b->desc.arch);
        const bool good = there && import_make(b, &x, i < 0 ? gguf : folder);
        if (x.file[0].error[0] || x.file[1].error[0] || (there && !good)) failed = true;
        data_file_free(&x.file[0]);
        data_file_free(&x.file[1]);
        if (!good) continue;
        if (failed)
            fprintf(stderr, "tfn: taking %s instead; tfn tokens MODEL shows whether its ids are "
                    "the ones you expect\n", x.name);
        return;
    }
    if (failed)
        fprintf(stderr, "tfn: importing the weights without a tokenizer: the model takes --ids. To "
                "add one, put a valid file (tokenizer.json, vocab.json with merges.txt, "
                "tokenizer.model, spiece.model or vocab.txt) into %s and import again\n", folder);
}

/* -- options ----------------------------------------------------------------------------------- */

/* The folder in which to look for a tokenizer: the folder itself, or the one of the .gguf file. */
static const char *import_folder(const char *path)
{
    static char folder[1024];
    const char *slash = strrchr(path, '/');
    if (!hub_is_gguf(path)) return path;
    if (!slash) return ".";
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return folder;
}

/* Ends the program if config.json does not name a family that is known here. */
static void import_want_family(tfn_import *x)
{
    char name[64];
    const size_t bytes = tfn_import_text(x, "model_type", name, sizeof name);
    if (x->error.status != TFN_OK || (bytes && tfn_family_find(name))) return;
    if (!bytes)
        die("%s/config.json has no model_type: give --family NAME, one of %s", x->folder,
            hub_families());
    die("%s/config.json: no family is called %s; if it is like a known one, give --family NAME, "
        "one of %s", x->folder, name, hub_families());
}

/* Finds the family and options. Prints the keys that --lenient leaves aside. */
static void import_peek(tfn_import *x, bundle *b, const settings *s)
{
    x->folder = s->file[0];
    x->lenient = given(s, O_LENIENT);
    if (given(s, O_FAMILY)) x->family = hub_family(text_of(s, O_FAMILY));
    else if (!hub_is_gguf(x->folder)) import_want_family(x);
    if (given(s, O_LONGEST)) b->desc.context = (int32_t)whole_of(s, O_LONGEST);
    tfn_import_peek(x, &b->desc);
    must_be_ok(&x->error);
    if (x->aside[0])
        fprintf(stderr, "tfn: %s/config.json: left aside: %s\n", x->folder, x->aside);
    if (!given(s, O_LONGEST) && b->desc.context > 1024) b->desc.context = 1024;
}

/* Sets the parts of an experiment that later commands need. */
static void import_experiment(bundle *b)
{
    static char context[16];
    snprintf(context, sizeof context, "%d", (int)b->desc.context);
    b->from.text[O_KIND] = "text";
    if (b->desc.arch == TFN_ARCH_ENCODER) b->from.text[O_KIND] = "masked";
    if (b->desc.arch == TFN_ARCH_ENCODER_DECODER) b->from.text[O_KIND] = "pairs";
    b->from.text[O_TOKENIZER] = "bpe";
    b->from.text[O_CONTEXT] = context;
}

/* The chat template of the .gguf file or of the folder; NULL: none. The caller frees it. */
static char *import_template(tfn_import *x, const char *folder)
{
    data_file f = { 0 };
    tfn_import own;
    char *text = NULL;
    size_t bytes;
    memset(&own, 0, sizeof own);
    if (hub_is_gguf(x->folder)) own.folder = x->folder;
    else if (import_read(&f, folder, "chat_template.jinja")) {
        text = (char *)reserve(f.size + 1, 1);
        memcpy(text, f.bytes, f.size);
        text[f.size] = 0;
    } else if (import_read(&f, folder, "tokenizer_config.json")) {
        own.config = f.bytes;
        own.config_size = f.size;
    }
    bytes = own.folder || own.config ? tfn_import_text(&own, "chat_template", NULL, 0) : 0;
    if (bytes) {
        text = (char *)reserve(bytes + 1, 1);
        tfn_import_text(&own, "chat_template", text, bytes + 1);
    }
    data_file_free(&f);
    return text;
}

/* Keeps the format of turns for tfn chat, and says which. */
static void import_chat(bundle *b, tfn_import *x, const char *folder)
{
    char *text = NULL;
    if (b->desc.arch == TFN_ARCH_DECODER) text = import_template(x, folder);
    if (text) b->from.text[O_TEMPLATE] = chat_template_of(text);
    if (given(&b->from, O_TEMPLATE)) printf("chat        %s\n", text_of(&b->from, O_TEMPLATE));
    else if (text) printf("chat        unknown: tfn chat needs --user, --assistant and --end\n");
    free(text);
}

/* Adds groups for an adapter of PEFT, if one is given, so that the model has LoRA. The adapter's
 * tensors have the names of the hub, even if the model is a .gguf file. */
static void import_adapter(tfn_import *x, bundle *b, const settings *s, const tfn_family *family)
{
    const char *folder = text_of(s, O_ADAPTER);
    if (!folder) return;
    if (!is_peft(folder))
        die("%s has no adapter_config.json: expected a folder of PEFT", folder);
    x->folder = folder;
    x->lenient = given(s, O_LENIENT);
    x->family = tfn_family_find(family->name);
    if (!x->family) die("the hub has no family %s, so there are no names for an adapter",
                        family->name);
    tfn_peft_peek(x, &b->desc);
    must_be_ok(&x->error);
}

/* Prints the bytes of packed weights, and of the floats, which were never in memory. */
static void import_say_weights(const tfn_model *m)
{
    tfn_param_info p;
    size_t bytes = 0;
    if (!m->desc.weights) return;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) bytes += param_bytes(&p);
    printf("weights     %s: %zu bytes, of float32 %zu\n", weights_name(m->desc.weights), bytes,
           sizeof(float) * (size_t)param_count(m));
}

int import(settings *s, cli *c)
{
    static bundle b;
    static tfn_import x, adapter;
    data_file generation = { 0 };
    const char *out = out_of(s, c, true);
    const char *folder;
    if (s->files != 1) cli_fail(c, "expected one folder or .gguf file");
    import_peek(&x, &b, s);
    folder = import_folder(x.folder);
    import_tokenizer(&b, folder, hub_is_gguf(x.folder) ? x.folder : NULL);
    b.desc.inference = b.desc.blank = true;
    b.desc.threads = 1;
    b.desc.weights = (tfn_weights)tfn_choice_find("weights", text_of(s, O_WEIGHTS))->value;
    import_adapter(&adapter, &b, s, x.family);
    tfn_model_new(&b.model, &b.desc, NULL);
    must_be_model(&b.model, &b.desc);
    tfn_import_weights(&x, &b.model);
    must_be_ok(&x.error);
    if (adapter.folder) tfn_peft_read(&adapter, &b.model);
    must_be_ok(&adapter.error);
    import_experiment(&b);
    hub_keep_classes(&b, &x);
    import_read(&generation, folder, "generation_config.json");
    hub_keep_ids(&b, &x, &generation);
    b.from.text[O_FAMILY] = x.family->name;
    b.from.text[O_DTYPE] = hub_dtype_name(x.dtype);
    import_chat(&b, &x, folder);
    bundle_save(&b, &b.from, out, true);
    printf("family      %s\nparameters  %lld\ncontext     %d\n", x.family->name,
           (long long)param_count(&b.model), (int)b.desc.context);
    import_say_weights(&b.model);
    if (b.tokenizer.mem) printf("tokens      %d\n", (int)b.tokenizer.tokenizer.vocab);
    else printf("tokens      none: no valid tokenizer.json, vocab.json with merges.txt or "
                "source.spm, tokenizer.model, spiece.model, vocab.txt\n");
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    data_file_free(&generation);
    bundle_free(&b);
    return 0;
}
