#include "export.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../model/joins.h"
#include "../model/update.h"
#include "../text/json.h"
#include "../text/tokenize.h"
#include "../text/tokenizer_save.h"
#include "../files/files.h"
#include "../files/fields.h"
#include "../files/ggml.h"
#include "../files/foreign.h"
#include "import.h"
#include "keys.h"

TFN__RARE
/* Writes models as folders of the hub. Builds on import, whose rows it uses in reverse, and on
 * tokenizer_save. In order:
 *
 *   options          one spelling for all options that mean the same
 *   config.json      a value for each key
 *   the family       fits if its config.json, read again, gives the model's options
 *   tensors          which tensors are written, with which parameters and dtypes
 *   values           in the file's order
 *   files            one after the other
 *
 * config.json lacks each value that no rule can express. The export then reads its own config.json
 * to see whether a family fits. So a wrong row of a family cannot produce a folder that means
 * another model. For example, the row of Llama that sets activation to "swiglu" for
 *
 *     "hidden_act": "silu"
 *
 * writes that line for a model with SwiGLU. For a model with ReLU it writes nothing. Read again,
 * the file gives SwiGLU, the default, so the family does not fit. The rows of tensors turn
 * decoder.5.self.q.weight, .k.weight and .v.weight into the three thirds of
 * transformer.h.5.attn.c_attn.weight.
 *
 * Values go from the model to the file one by one, in the order of each tensor, so no tensor is in
 * memory a second time. Writing a 16-bit dtype is exact or an error, unless the caller asks for
 * rounding. Only vectors that the dtype cannot hold become F32. So weights that were read from BF16
 * are written as BF16 with the same bits. */

/* -- options --------------------------------------------------------------------------------- */

/* A model that is only a decoder has its topology and norm in decoder_topology and decoder_norm:
 * copy them to topology and norm. Without a head of classes, set classes to 0. */
static void tfn__spell_out_stacks(tfn_model_desc *d)
{
    if (d->head != TFN_HEAD_SEQUENCE && d->head != TFN_HEAD_POSITIONS) d->classes = 0;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) return;
    d->separate_source = false;
    if (d->arch == TFN_ARCH_ENCODER) return;
    d->topology = d->decoder_topology;
    d->norm = d->decoder_norm;
    d->norm_rule = d->decoder_norm_rule;
}

/* Bring resolved options into a form in which two models that compute the same are equal: options
 * without effect get a fixed value, and defaults from other options or rows are filled in. */
SHARED void tfn__spell_out(tfn_model_desc *d)
{
    tfn__spell_out_stacks(d);
    if (d->position != TFN_POSITION_ROTARY) {
        d->rotary_scaling = TFN_ROTARY_SCALING_NONE;
        d->rotary_base = 10000;
        d->rotary_size = 0;
    }
    if (d->position != TFN_POSITION_ROTARY || d->rotary_period > tfn__depth(d, true))
        d->rotary_period = 0;
    if (d->rotary_scaling == TFN_ROTARY_SCALING_NONE) d->rotary_factor = 0;
    if (d->rotary_scaling != TFN_ROTARY_SCALING_LLAMA3) {
        d->rotary_low = d->rotary_high = 0;
        d->rotary_context = 0;
    }
    if (!d->no_bias && d->attention_bias <= TFN_ATTENTION_BIAS_ALL)
        d->attention_bias = TFN_ATTENTION_BIAS_ALL;
    if (d->no_bias && d->attention_bias == TFN_ATTENTION_BIAS_OFF)
        d->attention_bias = TFN_ATTENTION_BIAS_NONE;
    d->norm_eps = tfn__eps_of(d, tfn__norm_row(d, false));
    if (d->score_scale == 0) d->score_scale = 1 / TFN__SQRT((float)tfn__head_size(d));
}

/* True if the option changes the results or the length of texts. */
static bool tfn__counts(const tfn__field *x, const tfn_model_desc *d)
{
    const char *name = tfn__field_name(x);
    if (tfn__begins(&name, "decoder_") && d->arch != TFN_ARCH_ENCODER_DECODER) return false;
    return x->same == TFN__SAME_ALWAYS || tfn__equal(name, "context");
}

/* Describe windows by their effect, as if they were read from a list of layers. A window has no
 * effect if no text is longer and all layers rotate alike: then set it to 0. */
static void tfn__plain_window(tfn_model_desc *d)
{
    const tfn_model_desc given = *d;
    const bool matters = tfn__window_hides(d) || d->window_base > 0;
    tfn__layers s = tfn__no_layers();
    for (int32_t l = 0; l < tfn__depth(d, true); l++)
        tfn__tell_layer(&s, matters && tfn__layer_has_window(&given, l));
    tfn__set_window_by(d, &s);
    if (!d->window) d->window_base = 0;
}

/* Count the options in which two models differ, after tfn__plain_window of both. *first is the
 * first of them, or NULL. */
static int32_t tfn__differences(tfn_model_desc *a, tfn_model_desc *b, const tfn__field **first)
{
    char texts[2][TFN__FIELD_ROOM];
    int32_t count = 0;
    *first = NULL;
    tfn__plain_window(a);
    tfn__plain_window(b);
    for (int32_t i = TFN__FIELDS; i-- > 0;) {
        const tfn__field *x = tfn__fields + i;
        if (!tfn__counts(x, b)) continue;
        if (tfn__equal(tfn__field_text(x, a, texts[0]), tfn__field_text(x, b, texts[1]))) continue;
        *first = x;
        count++;
    }
    return count;
}

/* True if the option has this text. For a recipe, only the topology must match, which several
 * recipes share. */
static bool tfn__option_is(const tfn_model_desc *d, const char *option, const char *text)
{
    char own[TFN__FIELD_ROOM];
    const tfn_recipe *recipe = NULL;
    if (tfn__equal(option, "recipe")) recipe = tfn_recipe_find(text);
    if (recipe) return tfn__equal(recipe->topology, d->topology->name);
    return tfn_desc_get(d, option, own, sizeof own) && tfn__equal(own, text);
}

/* -- config.json ----------------------------------------------------------------------------- */

typedef struct tfn__config {
    tfn__text             text;
    const tfn_model_desc *d;                /* after tfn__spell_out */
    const tfn_family     *family;
    const char           *object;           /* a key of the object that is open; NULL: none */
    bool                  written[TFN__FIELDS];     /* options that a key has expressed */
} tfn__config;

/* Return the length of "OBJECT." at the beginning of a key, or 0 if it is not inside an object. */
static size_t tfn__object_bytes(const char *key)
{
    for (size_t i = 0; key[i]; i++)
        if (key[i] == '.') return i + 1;
    return 0;
}

/* True if both keys begin with the same "OBJECT.", of this length. */
static bool tfn__same_object(const char *a, const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static void tfn__close_object(tfn__config *c)
{
    if (c->object) tfn__put(&c->text, "\n  }");
    c->object = NULL;
}

/* Begin a new line with the key, inside its object. The rows of a family keep the keys of an object
 * together. A line can begin with a comma, because tfn__put_config has written the first one. */
static void tfn__put_key(tfn__config *c, const char *key)
{
    const size_t bytes = tfn__object_bytes(key);
    if (c->object && !tfn__same_object(key, c->object, bytes)) tfn__close_object(c);
    if (bytes && !c->object) {
        tfn__put(&c->text, ",\n  \"");
        tfn__put_bytes(&c->text, key, bytes - 1);
        tfn__put(&c->text, "\": {\n    \"");
        c->object = key;
    } else if (bytes) {
        tfn__put(&c->text, ",\n    \"");
    } else {
        tfn__put(&c->text, ",\n  \"");
    }
    tfn__put_texts(&c->text, key + bytes, "\": ", NULL);
}

/* Return the published name of an activation: the one in the family's own files, else the first
 * that the rule's key accepts, or NULL. */
static const char *tfn__published(const char *own, const tfn_key_rule *k)
{
    const int form = 1 + (k->form == TFN_KEY_GATED);
    const char *usual = NULL;
    if (k->text && k->text[0]) usual = tfn__hub_activation(k->text, k->form);
    if (usual && tfn__equal(usual, own)) return k->text;
    for (size_t i = 0; i < TFN__HUB_ACTIVATIONS; i++) {
        const char *published = tfn__hub_activations[i][0];
        const char *name = tfn__hub_activations[i][form];
        if (!tfn__key_takes(k, published)) continue;
        if (name && tfn__equal(own, name)) return published;
    }
    return NULL;
}

/* Put the text of a real number. A whole number gets ".0", because some readers distinguish 8 from
 * 8.0. */
static void tfn__put_real(tfn__text *t, const char *number)
{
    bool whole = true;
    for (const char *s = number; *s; s++)
        if (*s == '.' || *s == 'e') whole = false;
    tfn__put(t, number);
    if (whole) tfn__put(t, ".0");
}

/* Put the value of an option in the file's form. False if the key must be left out, for example
 * because 0 means none. tfn__put_rule tries with a text of no bytes first. */
static bool tfn__put_option(tfn__text *t, const tfn__field *x, const tfn_key_rule *k,
                            const char *own)
{
    if (tfn__equal(k->option, "activation")) own = tfn__published(own, k);
    if (!own) return false;
    if (x->type == TFN__FIELD_BOOL) {
        tfn__put(t, own);
        return true;
    }
    if (x->type != TFN__FIELD_WHOLE && x->type != TFN__FIELD_REAL) {
        tfn__put_texts(t, "\"", own, "\"");
        return true;
    }
    if (tfn__equal(own, "0")) {
        tfn__put(t, "null");
        return k->form == TFN_KEY_IS_OR_OFF;
    }
    if (x->type == TFN__FIELD_REAL) tfn__put_real(t, own);
    else tfn__put(t, own);
    return true;
}

/* Put v with v^(-1/2) == scale: a whole number if possible, else a float near 1/scale^2 for which
 * this holds to the last bit, if there is one. */
static void tfn__put_inverse_root(tfn__text *t, float scale)
{
    const float v = 1 / (scale * scale);
    float whole = 0;
    float best = v;
    if (v < (float)1e6) whole = (float)(int32_t)((double)v + 0.5);
    if (whole > 0 && 1 / TFN__SQRT(whole) == scale) {
        tfn__put_int(t, NULL, (int64_t)whole, NULL);
        return;
    }
    for (int i = -4; i <= 4; i++) {
        const float tried = v + v * (float)(i * 6e-8);
        if (1 / TFN__SQRT(tried) == scale) best = tried;
    }
    tfn__put_float(t, best);
}

/* Put channels as a share of a head. A reader multiplies and truncates. If the rounded share gives
 * one channel too few, half a channel more is put, which truncates to the right number. */
static void tfn__put_share(tfn__text *t, int32_t channels, int32_t size)
{
    double wanted = (double)channels / size;
    for (int i = 0; i < 2; i++) {
        char number[TFN__VALUE_ROOM];
        tfn__text text = tfn__text_in(number, sizeof number);
        tfn__reader r;
        tfn__put_float(&text, (float)wanted);
        r = tfn__read_from(tfn__end(&text), text.used);
        if (i || (int32_t)(tfn__json_number(&r) * size) == channels) {
            tfn__put_real(t, number);
            return;
        }
        wanted = (channels + 0.5) / size;
    }
}

/* Return the number of channels of a head that rotate. */
static int32_t tfn__rotating(const tfn_model_desc *d)
{
    return tfn__value_or(d->rotary_size, tfn__head_size(d));
}

/* Put a list with a name for each layer, or GPT-Neo's group with one such list. A name that is a
 * number has no quotes. A list of windows is left out if no layer has one, except GPT-Neo's, which
 * has windows by default. */
static bool tfn__put_layers(tfn__text *t, const tfn_model_desc *d, const tfn_key_rule *k)
{
    const bool group = k->form == TFN_KEY_GROUPS;
    char name[32];
    if (!group && !d->window && tfn__equal(k->option, "window")) return false;
    if (group) tfn__put(t, "[[");
    tfn__put(t, "[");
    for (int32_t l = 0; l < tfn__depth(d, true); l++) {
        tfn__layer_name(k, tfn__layer_has(d, k, l), name, sizeof name);
        if (l) tfn__put(t, ", ");
        if (name[0] <= '9') tfn__put(t, name);
        else tfn__put_texts(t, "\"", name, "\"");
    }
    tfn__put(t, "]");
    if (group) tfn__put(t, ", 1]]");
    return true;
}

/* Put the value from which the rule makes the option, the inverse of tfn__apply_key. False if there
 * is no such value, or none is needed. If the window is off, its size is written as the context,
 * because some readers cannot turn it off. If all channels rotate, their number is written, because
 * a missing rotary_dim means 64 in GPT-J. */
static bool tfn__put_value(tfn__text *t, const tfn_model_desc *d, const tfn_key_rule *k)
{
    char own[TFN__FIELD_ROOM];
    const tfn__field *x = tfn__find_field(k->option);
    bool truth;
    tfn__field_text(x, d, own);
    switch (k->form) {
    case TFN_KEY_ENTRIES:           /* num_labels has the number, tfn__export_labels the names */
        return false;
    case TFN_KEY_LAYERS:
    case TFN_KEY_GROUPS:
        return tfn__put_layers(t, d, k);
    case TFN_KEY_IS_OR_OFF:
        if (d->window || !tfn__equal(k->option, "window"))
            return tfn__put_option(t, x, k, tfn__field_text(x, d, own));
        tfn__put_int(t, NULL, d->context, NULL);
        return true;
    case TFN_KEY_INVERSE_ROOT:
        tfn__put_inverse_root(t, d->score_scale);
        return true;
    case TFN_KEY_SAME:
        if (!tfn__equal(k->option, "rotary_size")) return tfn__put_option(t, x, k, own);
        tfn__put_share(t, tfn__rotating(d), tfn__head_size(d));
        return true;
    case TFN_KEY_SHARE:
        tfn__put_share(t, tfn__rotating(d), tfn__head_size(d));
        return true;
    case TFN_KEY_LESS:
        tfn__put_int(t, NULL, d->context + tfn__whole_text(k->text), NULL);
        return true;
    case TFN_KEY_NOT:
        truth = tfn__equal(own, "false");
        break;
    case TFN_KEY_IF:
        truth = tfn__option_is(d, k->option, k->text);
        break;
    case TFN_KEY_UNLESS:
    case TFN_KEY_ONLY_IF:
        truth = !tfn__option_is(d, k->option, k->text);
        break;
    default:
        if (d->position != TFN_POSITION_ROTARY || !tfn__equal(k->option, "rotary_size"))
            return tfn__put_option(t, x, k, tfn__field_text(x, d, own));
        tfn__put_int(t, NULL, tfn__rotating(d), NULL);
        return true;
    }
    if (truth) tfn__put(t, "true");
    else tfn__put(t, "false");
    return true;
}

/* Put a key with its value. A key inside an object is only put if its option is set and no earlier
 * key has expressed it: rates of rotary positions have old and new names. Keys with a required
 * value (WANT) are left out, because a missing key means that value. */
static void tfn__put_rule(tfn__config *c, const tfn_key_rule *k)
{
    char own[TFN__FIELD_ROOM];
    tfn__text nowhere = tfn__text_in(NULL, 0);
    const tfn__field *x = NULL;
    if (k->option) x = tfn__find_field(k->option);
    if (!x || k->form == TFN_KEY_WANT || k->form == TFN_KEY_NAMES) return;
    if (tfn__object_bytes(k->key)) {
        if (c->written[x - tfn__fields]) return;
        if (tfn__field_unset(x, tfn__field_text(x, c->d, own))) return;
    }
    if (!tfn__put_value(&nowhere, c->d, k)) return;
    c->written[x - tfn__fields] = true;
    tfn__put_key(c, k->key);
    tfn__put_value(&c->text, c->d, k);
}

/* Put the keys inside objects, or all others. Only the last rule of a key counts. */
static void tfn__put_rules(tfn__config *c, const tfn_family *family, bool inside)
{
    if (family->like) tfn__put_rules(c, family->like, inside);
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++) {
        if (!k->key || (tfn__object_bytes(k->key) > 0) != inside) continue;
        if (tfn__rule_of_key(c->family, k->key) == k) tfn__put_rule(c, k);
    }
}

/* Return the class or pattern after the '=' in the key of a NAMES rule, or NULL for other rules. */
static const char *tfn__class_in(const tfn_key_rule *k)
{
    const char *s = k->key;
    if (k->form != TFN_KEY_NAMES || !s) return NULL;
    while (*s && *s != '=') s++;
    if (!*s) return NULL;
    return s + 1;
}

/* True if the model has the options of all rules with this key. */
static bool tfn__class_holds(const tfn_family *family, const tfn_model_desc *d, const char *key)
{
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++)
        if (k->key && tfn__equal(k->key, key) && !tfn__option_is(d, k->option, k->text))
            return false;
    return true;
}

/* Return the class of a model, such as "BertModel", or NULL. *pattern is the class of its head,
 * such as "*ForMaskedLM", or leaves it NULL. Sets *heads if the family has heads: then a model that
 * matches no pattern has none. */
SHARED const char *tfn__class_of(const tfn_family *family, const tfn_model_desc *d,
                                 const char **pattern, bool *heads)
{
    const char *name = NULL;
    if (family->like) name = tfn__class_of(family->like, d, pattern, heads);
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++) {
        const char *found = tfn__class_in(k);
        if (!found || (!k->option && k->text)) continue;    /* a class that is refused */
        if (!k->option) name = found;
        else if (!*pattern && tfn__class_holds(family, d, k->key)) *pattern = found;
        if (k->option) *heads = true;
    }
    return name;
}

/* Put the class: "BertModel" and "*ForMaskedLM" give "BertForMaskedLM". */
static void tfn__put_class(tfn__config *c)
{
    const char *pattern = NULL;
    bool heads = false;
    const char *name = tfn__class_of(c->family, c->d, &pattern, &heads);
    size_t bytes;
    if (!name) return;
    tfn__put(&c->text, ",\n  \"architectures\": [\n    \"");
    bytes = tfn__length(name);
    if (pattern && bytes > sizeof "Model") bytes -= sizeof "Model" - 1;
    tfn__put_bytes(&c->text, name, bytes);
    if (pattern) tfn__put(&c->text, pattern + (*pattern == '*'));
    tfn__put(&c->text, "\"\n  ]");
}

/* Return the name of a dtype in config.json. */
static const char *tfn__dtype_word(tfn_dtype dtype)
{
    if (dtype == TFN_DTYPE_F16) return "float16";
    if (dtype == TFN_DTYPE_BF16) return "bfloat16";
    return "float32";
}

/* Return special id i: the caller's, or else the tokenizer's. -1 if it is missing. As in
 * tfn_generator_run, the decoder's start is the tokenizer's end. */
SHARED int32_t tfn__special_id(const tfn_export *x, int i)
{
    if (x->specials) return x->specials[i];
#if TFN__TOKENIZERS
    if (i == TFN__ID_START) i = TFN__ID_END;
    if (tfn__usable(x->tokenizer)) return x->tokenizer->special[i];
#endif
    return -1;
}

/* Return the only value that the family allows for a key, or "null". */
static const char *tfn__required(const tfn_family *family, const char *key)
{
    const tfn_key_rule *k = tfn__rule_of_key(family, key);
    if (k && k->form == TFN_KEY_WANT) return k->text;
    return "null";
}

/* Put the special ids. A missing one becomes the id that the family requires, or null, because the
 * family's default would belong to another tokenizer. A decoder without a source has no start
 * token: it continues its text. */
static void tfn__put_special_ids(tfn__config *c, const tfn_export *x)
{
    static const char names[TFN__IDS][24] = { "pad_token_id", "bos_token_id", "eos_token_id",
                                              "decoder_start_token_id" };
    for (int i = 0; i < TFN__IDS; i++) {
        const int32_t id = tfn__special_id(x, i);
        if (i == TFN__ID_START && c->d->arch != TFN_ARCH_ENCODER_DECODER) break;
        tfn__put_key(c, names[i]);
        if (id >= 0) tfn__put_int(&c->text, NULL, id, NULL);
        else tfn__put(&c->text, tfn__required(c->family, names[i]));
    }
}

/* Write the whole config.json. Returns its bytes, and stores those that fit. d has been through
 * tfn__spell_out. Sizes that may be left to the width are filled in here. */
SHARED size_t tfn__put_config(const tfn_export *x, const tfn_family *family,
                              const tfn_model_desc *d, char *to, size_t size)
{
    tfn__config c;
    tfn_model_desc sized = *d;
    sized.head_size = tfn__head_size(d);
    sized.embedding_size = tfn__value_or(d->embedding_size, d->width);
    TFNORM_MEMSET(&c, 0, sizeof c);
    c.text = tfn__text_in(to, size);
    c.family = family;
    c.d = &sized;
    tfn__put_texts(&c.text, "{\n  \"model_type\": \"", family->name, "\"");
    tfn__put_class(&c);
    tfn__put_rules(&c, family, false);
    tfn__put_rules(&c, family, true);
    tfn__close_object(&c);
    tfn__put_special_ids(&c, x);
    tfn__put_texts(&c.text, ",\n  \"torch_dtype\": \"", tfn__dtype_word(x->dtype), "\"\n}\n");
    return c.text.used;
}

/* -- the family ------------------------------------------------------------------------------ */

/* Set an error such as "llama has norm rmsnorm, the model layernorm". */
static void tfn__fail_difference(tfn_error *e, const tfn_family *family, const tfn__field *x,
                                 const tfn_model_desc *found, const tfn_model_desc *d)
{
    char own[TFN__FIELD_ROOM];
    tfn__text t = tfn__text_in(e->name, sizeof e->name);
    tfn__fail(e, TFN_UNSUPPORTED, "export", "%s", 0, 0);
    tfn__put_texts(&t, family->name, " has ", tfn__field_name(x));
    tfn__put_texts(&t, " ", tfn__field_text(x, found, own), ", the model ");
    tfn__put(&t, tfn__field_text(x, d, own));
    tfn__end(&t);
}

/* Return the number of options in which a family differs from the model, or 0 if it fits. *why
 * names the first. If the written config.json cannot be read, return TFN__FIELDS; *why is the
 * reason. */
static int32_t tfn__misfits(const tfn_export *x, const tfn_family *family,
                            const tfn_model_desc *d, tfn_error *why)
{
    char text[TFN__CONFIG_ROOM];
    const tfn__field *first;
    tfn_import again;
    tfn_model_desc found;
    tfn_model_desc own = *d;
    int32_t count;
    tfn__no_error(why);
    TFNORM_MEMSET(&again, 0, sizeof again);
    TFNORM_MEMSET(&found, 0, sizeof found);
    found.inference = true;
    found.threads = 1;
    again.family = family;
    again.config = text;
    again.config_size = tfn__put_config(x, family, d, text, sizeof text);
    if (again.config_size > sizeof text) {
        tfn__fail(why, TFN_TOO_LARGE, "export", "config.json has %d bytes, the limit is %d",
                  (int64_t)again.config_size, sizeof text);
        return TFN__FIELDS;
    }
    if (tfn_import_peek(&again, &found) != TFN_OK) {
        *why = again.error;
        return TFN__FIELDS;
    }
    if (!tfn_model_resolve(&found, &found, why)) return TFN__FIELDS;
    tfn__spell_out(&found);
    count = tfn__differences(&found, &own, &first);
    if (first) tfn__fail_difference(why, family, first, &found, &own);
    return count;
}

/* Choose the caller's family, or the first of at(0), at(1) and so on that fits. If none fits, the
 * error is `none`, then the first difference from the nearest family. A text model that was read
 * from inside a larger one is written as the family that it is like. */
SHARED void tfn__find_export(tfn_export *x, const tfn_model_desc *d,
                             const tfn_family *(*at)(int32_t i), const char *none)
{
    int32_t least = INT32_MAX;
    tfn_error why;
    while (x->family && tfn__inside_rule(x->family)) x->family = x->family->like;
    if (x->family) {
        tfn__misfits(x, x->family, d, &x->error);
        return;
    }
    for (int32_t i = 0; at(i); i++) {
        const int32_t count = tfn__misfits(x, at(i), d, &why);
        if (count >= least) continue;
        least = count;
        x->error = why;
        if (!count) x->family = at(i);
    }
    if (least && x->error.status == TFN_UNSUPPORTED) x->error.text = none;
}

/* Make RMSNorms that store their gains with one offset such that store them with another. True:
 * they were the first. */
SHARED bool tfn__change_norm(tfn_model_desc *d, const char *from, const char *to)
{
    const tfn_norm_rule *other = tfn_norm_find(to);
    if (!other || !tfn__equal(tfn__norm_row(d, false)->name, from)) return false;
    d->norm = d->decoder_norm = other->name;
    d->norm_rule = d->decoder_norm_rule = other;
    return true;
}

/* Find the family of a folder. Gemma stores the gains of its norms less 1, GGUF as they are: so if
 * no family fits, try those with the other gains. */
SHARED void tfn__find_folder(tfn_export *x, tfn_model_desc *d)
{
    static const char none[] = "no family of the hub has this model; the nearest, %s";
    const tfn_model_desc plain = *d;
    const tfn_family *given = x->family;
    tfn_error first;
    tfn__find_export(x, d, tfn_family_at, none);
    first = x->error;
    if (first.status == TFN_OK || !tfn__change_norm(d, "rmsnorm", "rmsnorm-offset")) return;
    tfn__no_error(&x->error);
    x->family = given;
    tfn__find_export(x, d, tfn_family_at, none);
    if (x->error.status == TFN_OK) return;
    x->error = first;
    *d = plain;
}

/* Refuse models that no file of the hub can hold a part of: with an error, or folded. */
SHARED void tfn__check_whole(tfn_export *x, const tfn_model *m)
{
    tfn__made(&x->error, "export", m->weights);
    if (x->error.status != TFN_OK) return;
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH)
        tfn__fail(&x->error, TFN_NOT_READY, "export", "the model has an error", 0, 0);
    else if (m->desc.folded)
        tfn__fail(&x->error, TFN_UNSUPPORTED, "export", "the model is folded, and no family can "
                  "hold that; export the model from which it was folded", 0, 0);
}

/* Refuse also models with LoRA. */
SHARED void tfn__check_export(tfn_export *x, const tfn_model *m)
{
    tfn__check_whole(x, m);
    if (x->error.status == TFN_OK && tfn__has_lora(&m->desc))
        tfn__fail(&x->error, TFN_UNSUPPORTED, "export", "groups: the model has LoRA, and no family "
                  "can hold that; fold it into a model without groups", 0, 0);
}

SHARED void tfn__check_dtype(tfn_export *x)
{
    if (x->error.status == TFN_OK && x->dtype && x->dtype != TFN_DTYPE_F32
        && x->dtype != TFN_DTYPE_F16 && x->dtype != TFN_DTYPE_BF16)
        tfn__fail(&x->error, TFN_BAD_OPTION, "export", "dtype is %d; F32, F16 or BF16 is expected",
                  (int64_t)x->dtype, 0);
}

/* -- tensors --------------------------------------------------------------------------------- */

/* Return the rule of part `part` of the tensor `theirs`, or NULL. */
SHARED const tfn_tensor_rule *tfn__rule_of_part(const tfn_family *family, const char *theirs,
                                                int32_t part)
{
    if (family->tensors) for (const tfn_tensor_rule *r = family->tensors; r->theirs; r++)
        if (r->ours && r->part == part && tfn__equal(r->theirs, theirs)) return r;
    if (!family->like) return NULL;
    return tfn__rule_of_part(family->like, theirs, part);
}

/* Collect all parameters of the tensor whose part 0 is parameter i. False after an error, or if
 * parameter i is a later part of its tensor. */
SHARED bool tfn__fuse(const tfn_export *x, const tfn_model *m, int32_t i, tfn__fusion *o,
                      tfn_error *e)
{
    char name[sizeof o->part->info.name];
    tfn__match *c = o->part;
    tfn_model_param(m, i, &c->info);
    c->rule = tfn__tensor_rule(x->family, &m->desc, c->info.name, &o->blanks);
    if (!c->rule || c->rule->parts > TFN__FUSED_MOST) {
        tfn__fail_name(e, TFN_UNSUPPORTED, "export", "the family has no tensor for %s",
                       c->info.name);
        return false;
    }
    if (c->rule->part) return false;
    o->vector = m->weights[i].kind != TFN__MATRIX;
    o->parts = (int32_t)tfn__max(c->rule->parts, 1);
    for (int32_t p = 1; p < o->parts; p++) {
        tfn__match *other = o->part + p;
        other->rule = tfn__rule_of_part(x->family, c->rule->theirs, p);
        name[0] = 0;
        if (other->rule) tfn__put_form(name, sizeof name, NULL, other->rule->ours, &o->blanks);
        if (tfn__named_param(m, name, &other->info) && other->info.rows == c->info.rows
            && (other->info.cols == c->info.cols || (c->rule->form & TFN_FORM_QKV))) continue;
        tfn__fail_name(e, TFN_UNSUPPORTED, "export", "%s has no parameter of the same shape next "
                       "to it, which the family's tensor needs", c->info.name);
        return false;
    }
    return true;
}

/* Find the parameter that has output j of the tensor, and make j its own output: the inverse of
 * tfn__output_at. Where outputs have another order, a search over those of one head finds it. */
SHARED int32_t tfn__part_at(const tfn__fusion *o, const tfn_model_desc *d, int64_t *j)
{
    const int64_t size = tfn__head_size(d);
    const int64_t place = *j;
    int64_t head = place / size;
    int64_t part = 0;
    if (o->part->rule->form & TFN_FORM_BY_HEAD) {
        part = head % o->parts;
        head /= o->parts;
    } else {
        for (; part + 1 < o->parts && *j >= o->part[part].info.cols; part++)
            *j -= o->part[part].info.cols;
        head = *j / size;
    }
    if (!(o->part[part].rule->form & TFN__FORM_ORDERED)) return (int32_t)part;
    for (int64_t i = head * size; i < (head + 1) * size; i++)
        if (tfn__output_at(o->part + part, d, i) == place) *j = i;
    return (int32_t)part;
}
TFN__RARE_END

TFN__SMALL
/* -- values ---------------------------------------------------------------------------------- */

SHARED void tfn__flush_values(tfn__packing *p)
{
    tfn__file_put(p->f, p->bytes, p->used);
    p->used = 0;
}

/* Count a value that the dtype cannot hold. */
static void tfn__count_loss(tfn__packing *p, double v, uint64_t bits)
{
    const int exponent = tfn__dtypes[p->dtype].exponent_bits;
    const double back = tfn__ieee(bits, exponent, tfn__dtypes[p->dtype].bits - 1 - exponent);
    if (v - v == 0 && !(back - back == 0)) p->beyond++;
    if (v == v && (back < v || back > v)) p->lost++;
}

/* Return a value as it is written. Adding a `plus` of 0 would change the sign of -0. */
static float tfn__packed_value(const tfn__packing *p, float v)
{
    if (p->plus > 0 || p->plus < 0) return v + p->plus;
    return v;
}

/* Collect values of a block format, and write each full block. */
static void tfn__pack_blocks(tfn__packing *p, const float *from, int64_t count, int64_t step)
{
    const tfn__block *b = tfn__block_of(p->dtype);
    if (!TFN__GGUF) return;
    for (int64_t i = 0; i < count; i++) {
        p->block[p->filled++] = from[i * step];
        if (p->filled < b->values) continue;
        p->filled = 0;
        if (!tfn__encode_block(p->dtype, p->block, p->bytes + p->used)) p->lost++;
        if (!p->f) continue;
        p->used += (size_t)b->bytes;
        if (p->used + TFN__BLOCK_BYTES > sizeof p->bytes) tfn__flush_values(p);
    }
}

/* Pack `count` values, every `step`-th one. */
SHARED void tfn__pack(tfn__packing *p, const float *from, int64_t count, int64_t step)
{
    const int exponent = tfn__dtypes[p->dtype].exponent_bits;
    const int fraction = tfn__dtypes[p->dtype].bits - 1 - exponent;
    const size_t each = tfn__dtypes[p->dtype].bits / 8;
    if (!each) {
        tfn__pack_blocks(p, from, count, step);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const float v = tfn__packed_value(p, from[i * step]);
        uint64_t bits;
        if (p->dtype == (tfn_dtype)TFN__FLOAT) {
            uint32_t same;
            TFNORM_MEMCPY(&same, &v, sizeof same);
            bits = same;
        } else bits = tfn__ieee_bits((double)v, exponent, fraction);
        if (!p->f) {
            tfn__count_loss(p, (double)v, bits);
            continue;
        }
        for (size_t k = 0; k < each; k++) p->bytes[p->used++] = (uint8_t)(bits >> 8*k);
        if (p->used + 8 > sizeof p->bytes) tfn__flush_values(p);
    }
}

/* Pack the tensor in the file's order: a matrix (out, in) output by output, any other row by row,
 * each row with the outputs of all parts. Rows of the file before the model's first are 0.
 * tfn__read_match is the inverse. */
SHARED void tfn__pack_tensor(tfn__packing *p, const tfn__fusion *o, const tfn_model_desc *d)
{
    static const float zero = 0;
    const tfn__match *c = o->part;
    const tfn_param_info *own;
    const int64_t rows = c->info.rows;
    const int64_t line = tfn__outputs(c, d);
    const bool transposed = !o->vector && (c->rule->form & TFN_FORM_TRANSPOSED);
    tfn__pack(p, &zero, c->rule->first * line, 0);
    if (transposed) {
        for (int64_t j = 0; j < line; j++) {
            int64_t i = j;
            own = &o->part[tfn__part_at(o, d, &i)].info;
            tfn__pack(p, own->data + i, rows, own->cols);
        }
    } else for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < line; j++) {
            int64_t i = j;
            own = &o->part[tfn__part_at(o, d, &i)].info;
            tfn__pack(p, own->data + r * own->cols + i, 1, 1);
        }
}
TFN__SMALL_END

TFN__RARE

/* The offset of the gains that RMSNorm stores. */
static float tfn__offset_of(const tfn_model_desc *d)
{
    if (tfn__norm_row(d, true)->flags & TFN_FLAG_OFFSET) return 1;
    return 0;
}

/* Returns the number to add to the gains of norms in a file whose options are d, because the file
 * and the model may store gains with different offsets. */
SHARED float tfn__plus_of(const tfn_model *m, const tfn_model_desc *d)
{
    return tfn__offset_of(&m->desc) - tfn__offset_of(d);
}

/* Returns the number to add to the values of a tensor. */
SHARED float tfn__plus_for(const tfn__exporting *g, const tfn__fusion *o)
{
    if (o->vector && tfn__name_matches("*norm*.weight", o->part->info.name)) return g->plus;
    return 0;
}

/* Return the dtype in which a tensor is written: the caller's, or F32 for a vector that this cannot
 * hold. A matrix that it cannot hold is an error, unless the caller asked for rounding. */
SHARED tfn_dtype tfn__dtype_for(const tfn_export *x, const tfn__fusion *o,
                                const tfn_model_desc *d, float plus, tfn_error *e)
{
    static const char *const texts[] = { "%s has %d values that the dtype does not hold: round "
                                         "them, or write F32",
                                         "%s has %d values beyond the dtype's range" };
    tfn__packing p;
    if (x->dtype != TFN_DTYPE_F16 && x->dtype != TFN_DTYPE_BF16) return TFN_DTYPE_F32;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.dtype = x->dtype;
    p.plus = plus;
    tfn__pack_tensor(&p, o, d);
    if (!p.lost) return x->dtype;
    if (o->vector) return TFN_DTYPE_F32;
    if (x->round && !p.beyond) return x->dtype;
    tfn__fail_name(e, TFN_UNSUPPORTED, "export", texts[p.beyond > 0], o->part->info.name);
    e->found = p.lost;
    if (p.beyond) e->found = p.beyond;
    return x->dtype;
}

/* -- files ----------------------------------------------------------------------------------- */

/* Describe the tensor whose part 0 is parameter i: its name, shape and dtype. */
SHARED void tfn__hub_tensor(const tfn__source *s, int32_t i, tfn_tensor *t)
{
    const tfn__exporting *g = (const tfn__exporting *)s->user;
    const char *list = g->x->family->prefix;
    char prefix[64] = "";
    tfn_param_info info;
    tfn__blanks blanks;
    const tfn_tensor_rule *r;
    tfn__match c;
    bool transposed;
    if (!g->dtypes[i]) return;              /* no name: not written */
    tfn_model_param(g->m, i, &info);
    r = tfn__tensor_rule(g->x->family, &g->m->desc, info.name, &blanks);
    if (g->bare || (r->form & TFN_FORM_HEAD)) list = NULL;
    if (list) tfn__next_word(&list, prefix, sizeof prefix);
    tfn__put_form(t->name, sizeof t->name, prefix, r->theirs, &blanks);
    c.info = info;
    c.rule = r;
    transposed = r->form & TFN_FORM_TRANSPOSED;
    t->rank = 2;
    if (g->m->weights[i].kind != TFN__MATRIX && !(r->form & TFN_FORM_ROW)) t->rank = 1;
    if (t->rank == 1) transposed = true;
    t->shape[!transposed] = tfn__outputs(&c, &g->m->desc);
    if (t->rank == 2) t->shape[transposed] = (int64_t)info.rows + r->first;
    t->dtype = (tfn_dtype)g->dtypes[i];
    t->data = info.data;
}

static void tfn__hub_values(const tfn__source *s, int32_t i, tfn_file *f)
{
    const tfn__exporting *g = (const tfn__exporting *)s->user;
    tfn__fusion o;
    tfn__packing p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.f = f;
    p.dtype = (tfn_dtype)g->dtypes[i];
    if (!tfn__fuse(g->x, g->m, i, &o, &f->error)) return;
    p.plus = tfn__plus_for(g, &o);
    tfn__pack_tensor(&p, &o, &g->m->desc);
    tfn__flush_values(&p);
}

/* For each tensor 4 bytes for its place in the order, and 1 for its dtype. */
TFNORM_API size_t tfn_export_work(const tfn_model *m)
{
    if (!m || !m->weights) return 0;
    return 5 * (size_t)m->weight_count + 3 * TFN__ALIGN;
}

/* Write model.safetensors: check all tensors first, then write them. */
static void tfn__export_weights(tfn_export *x, const tfn_model *m, const tfn_model_desc *d,
                                tfn_file *f)
{
    tfn__exporting g = { x, m, NULL, false, 0 };
    tfn__source s = { &g, m->weight_count, tfn__hub_tensor, NULL, tfn__hub_values };
    const char *pattern = NULL;
    bool heads = false;
    tfn__fusion o;
    tfn__arena a;
    if (!tfn__begin(f, true)) return;
    a = tfn__work_of(f, tfn_export_work(m));
    if (tfn__fine(f)) g.dtypes = tfn__take(&a, (size_t)m->weight_count, 1, &f->error);
    tfn__class_of(x->family, &m->desc, &pattern, &heads);
    g.bare = heads && !pattern;
    g.plus = tfn__plus_of(m, d);
    for (int32_t i = 0; i < m->weight_count; i++) {
        if (!tfn__fine(f)) break;
        g.dtypes[i] = 0;
        if (!tfn__fuse(x, m, i, &o, &f->error)) continue;
        g.dtypes[i] = (uint8_t)tfn__dtype_for(x, &o, &m->desc, tfn__plus_for(&g, &o), &f->error);
        x->tensors++;
        x->kept += x->dtype && x->dtype != (tfn_dtype)g.dtypes[i];
    }
    tfn__write_source(f, &s, a);
}

/* Write "id2label": {"0": "bad", "1": "good"}, or the reverse: "label2id": {"bad": 0, "good": 1},
 */
static void tfn__export_labels(const tfn_export *x, int32_t classes, bool back, tfn_file *f)
{
    char room[256];
    tfn__text t = tfn__text_in(room, sizeof room);
    if (back) tfn__put(&t, "\n  \"label2id\": {");
    else      tfn__put(&t, "\n  \"id2label\": {");
    for (int32_t i = 0; i < classes; i++) {
        if (i) tfn__put(&t, ", ");
        if (back) tfn__put(&t, "\"");
        else      tfn__put_int(&t, "\"", i, "\": \"");
        tfn__put_name(&t, x->labels[i], f);
        if (back) tfn__put_int(&t, "\": ", i, NULL);
        else      tfn__put(&t, "\"");
    }
    tfn__put(&t, "},");
    tfn__flush_text(f, &t);
}

static void tfn__export_config(tfn_export *x, const tfn_model_desc *d, tfn_file *f)
{
    char text[TFN__CONFIG_ROOM];
    const size_t bytes = tfn__put_config(x, x->family, d, text, sizeof text);
    if (!tfn__begin(f, true)) return;
    tfn__file_put(f, text, 1);              /* it fits, as it did in tfn__misfits */
    for (int back = 0; back < 2; back++)
        if (x->labels && d->classes > 0)
            tfn__export_labels(x, d->classes, back, f);
    tfn__file_put(f, text + 1, bytes - 1);
    tfn__finish_writing(f);
}

#if TFN__TOKENIZERS
/* Write tokenizer_config.json. Returns its bytes, and stores those that fit. Without this file, a
 * program in Python uses the family's own class, which adds its own special tokens to a text. */
static size_t tfn__tokenizer_config(const tfn_tokenizer *k, int32_t context, char *to, size_t size)
{
    static const char names[][12] = { "pad_token", "bos_token", "eos_token", "unk_token",
                                      "mask_token" };
    tfn__text t = tfn__text_in(to, size);
    tfn__put_int(&t, "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
                     "  \"clean_up_tokenization_spaces\": false,\n  \"model_max_length\": ",
                 context, NULL);
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++) {
        if (k->special[i] < 0) continue;
        tfn__put_texts(&t, ",\n  \"", names[i], "\": \"");
        tfn__put_content(&t, k, k->special[i]);
        tfn__put(&t, "\"");
    }
    tfn__put(&t, "\n}\n");
    return t.used;
}

/* Write one of the tokenizer's files. Its text is made twice, the first time only to count bytes.
 */
static void tfn__export_tokenizer(const tfn_export *x, int32_t context, bool config, tfn_file *f)
{
    const tfn_tokenizer *k = x->tokenizer;
    tfn__arena a;
    char *text = NULL;
    size_t bytes = tfn_tokenizer_json_text(k, NULL, 0);
    if (!bytes) return;
    if (config) bytes = tfn__tokenizer_config(k, context, NULL, 0);
    if (!tfn__begin(f, true)) return;
    a = tfn__work_of(f, tfn__sum(bytes, TFN__ALIGN));
    if (tfn__fine(f)) text = (char *)tfn__take(&a, bytes, 1, &f->error);
    if (text && config) tfn__tokenizer_config(k, context, text, bytes);
    else if (text) tfn_tokenizer_json_text(k, text, bytes);
    if (text) tfn__file_put(f, text, bytes);
    tfn__finish_writing(f);
}
#else
static void tfn__export_tokenizer(const tfn_export *x, int32_t context, bool config, tfn_file *f)
{
    (void)x;
    (void)context;
    (void)config;
    (void)f;
}
#endif

/* The files of a folder in the order in which they are written. config.json is last, because a
 * folder without it is not a model. */
enum { TFN__HUB_WEIGHTS, TFN__HUB_TOKENIZER, TFN__HUB_TOKENIZER_CONFIG, TFN__HUB_CONFIG,
       TFN__HUB_FILES };
static const char tfn__hub_names[TFN__HUB_FILES][24] = {
    "model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json"
};

/* Set the path of a file. False, with an error, if it does not fit. */
static bool tfn__export_path(tfn_export *x, int file)
{
    tfn__folder_path(&x->error, x->path, sizeof x->path, x->folder, tfn__hub_names[file]);
    return x->error.status == TFN_OK;
}

static void tfn__export_file(tfn_export *x, const tfn_model *m, const tfn_model_desc *d, int file,
                             tfn_file *f)
{
    if (file == TFN__HUB_WEIGHTS) tfn__export_weights(x, m, d, f);
    else if (file == TFN__HUB_CONFIG) tfn__export_config(x, d, f);
    else if (x->tokenizer)
        tfn__export_tokenizer(x, d->context, file == TFN__HUB_TOKENIZER_CONFIG, f);
    if (x->error.status == TFN_OK) x->error = f->error;
}

/* Write all files. After an error, remove the files before it, and also the one that failed,
 * because the error may come after its rename. Only weights that failed stay: they may be those of
 * an older model. At the end, x->path is the path of the file that failed. */
static void tfn__export_folder(tfn_export *x, const tfn_model *m, const tfn_model_desc *d)
{
    bool written[TFN__HUB_FILES] = { false };
    tfn_error first;
    tfn_file f;
    int file = 0;
    for (; file < TFN__HUB_FILES; file++) {
        if (!tfn__export_path(x, file)) return;
        TFNORM_MEMSET(&f, 0, sizeof f);
        f.path = x->path;
        tfn__export_file(x, m, d, file, &f);
        written[file] = f.used > 0 && file > 0;
        if (x->error.status != TFN_OK) break;
        written[file] = f.used > 0;
    }
    if (file == TFN__HUB_FILES) return;
    first = x->error;
    tfn__no_error(&x->error);
    for (int i = 0; i <= file; i++)
        if (written[i]) {
            tfn__export_path(x, i);
            remove(x->path);
        }
    tfn__export_path(x, file);
    x->error = first;
}

/* Clear the results of an earlier export. False: there is no model, or nowhere to write. */
SHARED bool tfn__begin_export(tfn_export *x, const tfn_model *m)
{
    tfn__no_error(&x->error);
    x->tensors = x->kept = 0;
    if (!tfn__given(&x->error, "export", "model", m)) return false;
    if (x->folder || x->config) return true;
    return tfn__given(&x->error, "export", "folder", x->weights);
}

TFNORM_API tfn_status tfn_export_write(tfn_export *x, const tfn_model *m)
{
    tfn_model_desc d;
    if (!x) return TFN_NULL;
    if (!tfn__begin_export(x, m)) return x->error.status;
    tfn__check_export(x, m);
    tfn__check_dtype(x);
    if (x->error.status != TFN_OK) return x->error.status;
    d = m->desc;
    tfn__spell_out(&d);
    tfn__find_folder(x, &d);
    if (x->error.status != TFN_OK) return x->error.status;
    if (x->folder) tfn__export_folder(x, m, &d);
    if (!x->folder && x->weights) tfn__export_file(x, m, &d, TFN__HUB_WEIGHTS, x->weights);
    if (!x->folder && x->config) tfn__export_file(x, m, &d, TFN__HUB_CONFIG, x->config);
    return x->error.status;
}
TFN__RARE_END
