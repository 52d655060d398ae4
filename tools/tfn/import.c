/* The tokenizer, the options of generation, the weights. */
#include "import.h"
#include "../../tfnorm.h"
#include "../common/data.h"
#include "hub.h"
#include "models.h"
#include "quantize.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FOLDER/NAME, whole; false: there is none. */
static bool import_read(data_file *f, const char *folder, const char *name)
{
    char *path = hub_path(folder, name);
    const bool there = exists(path);
    if (there) must(data_read(f, path), f->error);
    free(path);
    return there;
}

/* Whether do_lower_case of tokenizer_config.json is false. It is a search of its text: white space
 * may stand around the colon. */
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

/* Marian's source.spm and vocab.json, which says what the pieces of target.spm are, too. Where that
 * has a vocabulary of its own, one tokenizer is not enough. */
static bool import_marian(data_file *model, data_file *vocab, const char *folder)
{
    data_file target = { 0 };
    if (import_read(&target, folder, "target_vocab.json")) {
        data_file_free(&target);
        return false;
    }
    return import_read(model, folder, "source.spm") && import_read(vocab, folder, "vocab.json");
}

/* The tokenizer of the folder, if it has one that is read; else the model takes ids alone. */
static void import_tokenizer(bundle *b, const char *folder)
{
    tfn_tokenizer_source source = { 0 };
    tfn_tokenizer *k = &b->tokenizer.tokenizer;
    data_file json = { 0 };
    data_file vocab = { 0 };
    data_file merges = { 0 };
    data_file model = { 0 };
    if (import_read(&json, folder, "tokenizer.json")) {
        source.json = json.bytes;
        source.json_size = json.size;
    } else if (import_marian(&model, &vocab, folder)) {
        source.model = model.bytes;
        source.model_size = model.size;
        source.vocab = vocab.bytes;
        source.vocab_size = vocab.size;
        source.end = true;
    } else if (import_read(&vocab, folder, "vocab.json")
               && import_read(&merges, folder, "merges.txt")) {
        source.vocab = vocab.bytes;
        source.vocab_size = vocab.size;
        source.merges = merges.bytes;
        source.merges_size = merges.size;
    } else if (import_read(&vocab, folder, "tokenizer.model")
               || import_read(&vocab, folder, "spiece.model")) {
        source.begin = b->desc.arch == TFN_ARCH_DECODER;    /* Llama's; texts of others end */
        source.end = !source.begin;
        source.model = vocab.bytes;
        source.model_size = vocab.size;
    } else if (import_read(&vocab, folder, "vocab.txt")) {
        source.kind = TFN_TOKENIZER_WORDPIECE;
        source.vocab = vocab.bytes;
        source.vocab_size = vocab.size;
        source.cased = import_is_cased(folder);
    }
    if (source.json || source.model || source.vocab) {
        const size_t size = tfn_tokenizer_size(&source);
        b->tokenizer.mem = reserve(size ? size : 1, 1);
        tfn_tokenizer_init(k, &source, b->tokenizer.mem, size);
        must_be_ok(&k->error);
        if (k->vocab > b->desc.vocab)
            die("%s: the tokenizer has %d tokens, the model %d", folder, (int)k->vocab,
                (int)b->desc.vocab);
    }
    data_file_free(&json);
    data_file_free(&vocab);
    data_file_free(&merges);
    data_file_free(&model);
}

/* What a training of it would have been started with, as far as its use asks for that. */
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

/* Bytes of packed weights, and of the floats that were never in memory. */
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
    static tfn_import x;
    data_file generation = { 0 };
    const char *out = out_of(s, c, true);
    if (s->files != 1) cli_fail(c, "wanted one folder");
    x.folder = s->file[0];
    x.lenient = given(s, O_LENIENT);
    if (given(s, O_LONGEST)) b.desc.context = (int32_t)whole_of(s, O_LONGEST);
    tfn_import_peek(&x, &b.desc);
    must_be_ok(&x.error);
    if (!given(s, O_LONGEST) && b.desc.context > 1024) b.desc.context = 1024;
    import_tokenizer(&b, x.folder);
    b.desc.inference = b.desc.blank = true;
    b.desc.threads = 1;
    b.desc.weights = (tfn_weights)tfn_choice_find("weights", text_of(s, O_WEIGHTS))->value;
    tfn_model_new(&b.model, &b.desc, NULL);
    must_be_model(&b.model, &b.desc);
    tfn_import_weights(&x, &b.model);
    must_be_ok(&x.error);
    import_experiment(&b);
    hub_keep_classes(&b, &x);
    import_read(&generation, x.folder, "generation_config.json");
    hub_keep_ids(&b, &x, &generation);
    b.from.text[O_FAMILY] = x.family->name;
    b.from.text[O_DTYPE] = hub_dtype_name(x.dtype);
    bundle_save(&b, &b.from, out, true);
    printf("family      %s\nparameters  %lld\ncontext     %d\n", x.family->name,
           (long long)param_count(&b.model), (int)b.desc.context);
    import_say_weights(&b.model);
    if (b.tokenizer.mem) printf("tokens      %d\n", (int)b.tokenizer.tokenizer.vocab);
    else printf("tokens      none: no tokenizer.json, vocab.json with merges.txt or source.spm, "
                "tokenizer.model, spiece.model, vocab.txt\n");
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    data_file_free(&generation);
    bundle_free(&b);
    return 0;
}
