/* Fuzz: config.json of each family, built from the family's rules with small changes, and the
 * weights of a tiny checkpoint with a changed header. An accepted one gives a model that returns
 * logits for each token; a refused one leaves everything unchanged. Models that fit a family are
 * exported and imported with the same weights. */
#include "input.h"
#include "../lib.h"

static input config, weights;
static input_room config_room, weights_room, model_room;

/* -- config.json ----------------------------------------------------------------------------- */

static void put_value(const tfn_key_rule *k)
{
    static const char *const sizes[] = { "1", "2", "4", "8", "12", "16", "7", "3" };
    static const char *const truths[] = { "true", "false", "null" };
    static const char *const acts[] = { "\"silu\"", "\"gelu\"", "\"gelu_new\"", "\"relu\"", "null" };
    static const char *const any[] = { "null", "-1", "1e9", "0.5", "\"x\"", "[]", "{}", "[\"x\"]",
                                       "\"linear\"", "\"default\"", "1e-5", "99999999999" };
    const char *option = k->option ? k->option : "";
    if (fuzz_one_in(24)) input_put(&config, INPUT_ONE_OF(any));
    else if (!strcmp(option, "vocab")) input_number(&config, 5 + fuzz_below(30));
    else if (!strcmp(option, "width")) input_put(&config, "16");
    else if (!strcmp(option, "heads")) input_put(&config, "4");
    else if (!strcmp(option, "kv_heads")) input_put(&config, fuzz_one_in(2) ? "2" : "null");
    else if (!strcmp(option, "head_size")) input_put(&config, fuzz_one_in(2) ? "6" : "4");
    else if (!strcmp(option, "activation")) input_put(&config, INPUT_ONE_OF(acts));
    else if (!strcmp(option, "norm_eps")) input_put(&config, "1e-06");
    else if (!strcmp(option, "rotary_scaling")) input_put(&config, "\"linear\"");
    else if (k->form == TFN_KEY_SHARE) input_put(&config, "0.5");
    else if (k->form == TFN_KEY_WANT || (k->form == TFN_KEY_SAME && fuzz_one_in(2)))
        input_put(&config, "null");
    else if (k->form == TFN_KEY_NOT || k->form == TFN_KEY_IF || k->form == TFN_KEY_UNLESS)
        input_put(&config, INPUT_ONE_OF(truths));
    else input_put(&config, INPUT_ONE_OF(sizes));
}

/* Puts "key": value; a key inside an object gets an object for itself. */
static void put_key(const tfn_key_rule *k)
{
    const char *dot = strchr(k->key, '.');
    input_put(&config, ", \"");
    if (dot) {
        input_bytes(&config, k->key, (size_t)(dot - k->key));
        input_put(&config, "\": {\"");
    }
    input_put(&config, dot ? dot + 1 : k->key);
    input_put(&config, "\": ");
    put_value(k);
    if (dot) input_put(&config, "}");
}

static void put_keys(const tfn_family *f)
{
    if (f->like) put_keys(f->like);
    for (const tfn_key_rule *k = f->keys; k && (k->key || k->option); k++)
        if (k->key && (!k->text || fuzz_one_in(4))) put_key(k);
}

/* -- a model from it ------------------------------------------------------------------------- */

/* Exports and imports again; if no family fits, there is an error. */
static void try_export(const tfn_model *m, const tfn_family *family)
{
    static unsigned char bytes[1 << 22];
    static char text[1 << 14];
    tfn_export out;
    tfn_import in;
    tfn_file config_file, weights_file;
    tfn_model_desc d;
    tfn_model again;
    memset(&out, 0, sizeof out);
    memset(&in, 0, sizeof in);
    memset(&config_file, 0, sizeof config_file);
    memset(&weights_file, 0, sizeof weights_file);
    memset(&d, 0, sizeof d);
    config_file.to = text;
    config_file.to_size = sizeof text;
    weights_file.to = bytes;
    weights_file.to_size = sizeof bytes;
    out.config = &config_file;
    out.weights = &weights_file;
    out.family = family;
    out.dtype = fuzz_one_in(2) ? TFN_DTYPE_BF16 : TFN_DTYPE_DEFAULT;
    out.round = fuzz_one_in(2);
    if (tfn_export_write(&out, m) != TFN_OK) {
        FUZZ_CHECK(tfn_error_text(&out.error, text, sizeof text)[0]);
        FUZZ_CHECK(out.dtype == TFN_DTYPE_BF16);        /* an import can be exported otherwise */
        return;
    }
    fuzz_models++;
    in.config = text;
    in.config_size = (size_t)config_file.used;
    in.files = &weights_file;
    in.count = 1;
    memset(&weights_file.error, 0, sizeof weights_file.error);
    weights_file.from = bytes;
    weights_file.from_size = (size_t)weights_file.used;
    d.inference = true;
    d.threads = 1;
    FUZZ_CHECK(tfn_file_open(&weights_file) == TFN_OK);
    FUZZ_CHECK(tfn_import_peek(&in, &d) == TFN_OK);
    FUZZ_CHECK(tfn_model_new(&again, &d, NULL) == TFN_OK);
    FUZZ_CHECK(tfn_import_weights(&in, &again) == TFN_OK);
    FUZZ_CHECK(out.dtype == TFN_DTYPE_BF16 || tfn_model_hash(&again) == tfn_model_hash(m));
    FUZZ_CHECK(again.param_floats == m->param_floats && again.desc.context == m->desc.context);
    tfn_model_free(&again);
    tfn_file_close(&weights_file);
}

static void try_model(const tfn_model_desc *d, const tfn_family *family)
{
    static unsigned char scratch[1 << 23];
    static const int32_t tokens[] = { 0, 1, 2 };
    tfn_model m;
    tfn_batch batch;
    size_t size;
    if (d->vocab > 64 || d->context > 64 || d->width > 64 || d->layers > 4 || d->ffn > 64) return;
    if (!tfn_model_scratch(d) || tfn_model_scratch(d) > sizeof scratch) return;
    size = tfn_model_size(d, scratch, sizeof scratch);
    if (!size || size > model_room.size) return;
    FUZZ_CHECK(tfn_model_init(&m, d, input_last(model_room, size), size) == TFN_OK);
    fuzz_models++;
    memset(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.batch = 1;
    batch.time = d->context < 3 ? d->context : 3;
    FUZZ_CHECK(tfn_model_logits(&m, &batch) != NULL || m.error.status == TFN_BAD_BATCH);
    try_export(&m, fuzz_one_in(2) ? family : NULL);
}

static void give_config(void)
{
    tfn_import x;
    tfn_model_desc d, before;
    memset(&x, 0, sizeof x);
    memset(&d, 0, sizeof d);
    d.inference = true;
    d.threads = 1;
    d.context = fuzz_one_in(4) ? 1 + fuzz_below(8) : 0;
    before = d;
    x.config = (const char *)input_place(config_room, config.s, config.n);
    x.config_size = config.n;
    x.lenient = fuzz_one_in(8);
    fuzz_executions++;
    if (tfn_import_peek(&x, &d) != TFN_OK) {
        char text[300];
        FUZZ_CHECK(tfn_error_text(&x.error, text, sizeof text)[0]);
        FUZZ_CHECK(!memcmp(&d, &before, sizeof d));
        return;
    }
    fuzz_accepted++;
    if (fuzz_one_in(8)) try_model(&d, x.family);
}

/* -- weights --------------------------------------------------------------------------------- */

static size_t read_file(const char *path, void *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(to, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
}

/* Changes the header of Llama's tiny checkpoint, or one of its numbers. */
static void give_weights(void)
{
    static unsigned char bytes[INPUT_MOST];
    static size_t size, header;
    static tfn_model m;
    static char text[1 << 12];
    tfn_import x;
    tfn_model_desc d;
    tfn_file f;
    uint64_t hash;
    memset(&x, 0, sizeof x);
    memset(&f, 0, sizeof f);
    memset(&d, 0, sizeof d);
    if (!size) {
        size = read_file("golden/hub/llama/model.safetensors", bytes, sizeof bytes);
        for (int i = 7; i >= 0 && size; i--) header = header << 8 | bytes[i];
        d.inference = true;
        if (!size || tfn_import_new(&m, "golden/hub/llama", &d) != TFN_OK) exit(2);
    }
    x.config = text;
    x.config_size = read_file("golden/hub/llama/config.json", text, sizeof text);
    weights.n = 0;
    input_bytes(&weights, bytes + 8, header);
    input_mutate(&weights, 0);
    {
        const unsigned char n[8] = { (unsigned char)weights.n, (unsigned char)(weights.n >> 8) };
        input_splice(&weights, 0, 0, n, 8);
    }
    input_bytes(&weights, bytes + 8 + header, size - 8 - header);
    f.from = input_place(weights_room, weights.s, weights.n);
    f.from_size = weights.n;
    fuzz_executions++;
    if (tfn_file_open(&f) != TFN_OK) return;
    x.files = &f;
    x.count = 1;
    hash = tfn_model_hash(&m);
    if (tfn_import_weights(&x, &m) == TFN_OK) fuzz_accepted++;
    else FUZZ_CHECK(tfn_model_hash(&m) == hash && m.error.status == TFN_OK);
    tfn_file_close(&f);
}

static void fuzz_case(void)
{
    int32_t families = 0;
    const tfn_family *f;
    if (!config_room.end) {
        config_room = input_room_new(INPUT_MOST);
        weights_room = input_room_new(INPUT_MOST);
        model_room = input_room_new(1 << 22);
    }
    while (tfn_family_at(families)) families++;
    f = tfn_family_at(fuzz_below(families));
    if (fuzz_one_in(8)) give_weights();
    config.n = 0;
    input_put(&config, "{\"model_type\": \"");
    input_put(&config, f->name);
    input_put(&config, "\"");
    put_keys(f);
    input_put(&config, "}");
    for (int i = 0; i < 4; i++) {
        if (i) input_mutate(&config, 0);
        give_config();
    }
}

int main(int argc, char **argv) { return fuzz_main("imports", argc, argv); }
