#include "config_json.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../model/update.h"
#include "../text/json.h"
#include "../files/files.h"
#include "../files/safetensors.h"
#include "../files/fields.h"
#include "families.h"
#include "keys.h"

TFN__RARE

/* -- config.json ----------------------------------------------------------------------------- */

/* Move the reader to the value of a key. Names in the path are separated by dots. False: no such
 * key. */
SHARED bool tfn__config_find(tfn__reader *r, const char *path)
{
    char name[TFN__VALUE_ROOM];
    tfn__json_space(r);
    if (tfn__peek(r) != '{') return false;
    for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
        const char *rest = path;
        tfn__reader key = *r;
        tfn__json_string(&key, name, sizeof name);
        tfn__json_string(r, NULL, 0);
        tfn__json_want(r, ':', ":");
        if (!key.wanted && tfn__begins(&rest, name)) {
            if (!*rest) return true;
            if (*rest == '.') return tfn__config_find(r, rest + 1);
        }
        tfn__json_skip(r, TFN__CONFIG_DEPTH);
    }
    return false;
}

/* Put the value at the reader: the characters of a string, or any other value as it is written. */
SHARED void tfn__put_config_value(tfn__text *t, tfn__reader r)
{
    size_t from;
    tfn__json_space(&r);
    from = r.at;
    if (tfn__peek(&r) == '"') {
        tfn__copy_string(t, r);
    } else {
        tfn__json_skip(&r, TFN__CONFIG_DEPTH);
        tfn__put_bytes(t, r.s + from, r.at - from);
    }
}

enum { TFN__LAYERS_MOST = 4096 };

/* Copy that value, cut to the room for a rule's value. */
static void tfn__config_copy(tfn__reader r, char *value)
{
    tfn__text t = tfn__text_in(value, TFN__VALUE_ROOM);
    tfn__put_config_value(&t, r);
    tfn__end(&t);
}

/* Find a key and copy its value; false: no such key. A path leads only through objects, because no
 * rule needs a value inside a list. */
static bool tfn__config_value(const tfn_import *x, const char *path, char *value)
{
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    if (!tfn__config_find(&r, path)) return false;
    tfn__config_copy(r, value);
    return true;
}

/* "config.json: use_sliding_window is true; false is expected" */
static void tfn__bad_key(tfn_import *x, const char *key, const char *value, const char *wanted)
{
    tfn__text t = tfn__text_in(x->error.name, sizeof x->error.name);
    if (x->error.status != TFN_OK) return;
    tfn__fail(&x->error, TFN_UNSUPPORTED, "import", "%s", 0, 0);
    tfn__put_texts(&t, "config.json: ", key, " is ");
    tfn__put_texts(&t, value, "; ", wanted);
    tfn__put(&t, " is expected");
    tfn__end(&t);
}

/* Names of activations: as published, plain, as a gate. "gelu" is the form with erf. All others of
 * GELU are the form with tanh, which differs by at most 5e-4: a model with the wrong form still
 * writes well, so nothing else would reveal the mistake. The last two are T5's words for an
 * activation with its gate. */
SHARED const char *const tfn__hub_activations[TFN__HUB_ACTIVATIONS][3] = {
    { "gelu", "gelu", "geglu" },
    { "gelu_pytorch_tanh", "gelu-tanh", "geglu-tanh" },
    { "gelu_new", "gelu-tanh", "geglu-tanh" },
    { "gelu_fast", "gelu-tanh", "geglu-tanh" },
    { "gelu_accurate", "gelu-tanh", "geglu-tanh" },
    { "gelu_python", "gelu", "geglu" },
    { "silu", "silu", "swiglu" },
    { "swish", "silu", "swiglu" },
    { "relu", "relu", NULL },
    { "relu2", "relu2", NULL },
    { "tanh", "tanh", NULL },
    { "linear", "identity", NULL },
    { "identity", "identity", NULL },
    { "gated-gelu", "geglu-tanh", NULL },
    { "gated-silu", "swiglu", NULL }
};

/* The library's name of an activation; NULL: it has none in this form. */
SHARED const char *tfn__hub_activation(const char *name, tfn_key_form form)
{
    for (size_t i = 0; i < TFN__HUB_ACTIVATIONS; i++) {
        const char *const *row = tfn__hub_activations[i];
        if (!tfn__equal(name, row[0])) continue;
        if (form == TFN_KEY_GATED) return row[2];
        return row[1];
    }
    return NULL;
}

/* True if files may have this name under the rule's key: only T5's key has names with "gated-". */
SHARED bool tfn__key_takes(const tfn_key_rule *k, const char *name)
{
    if (!tfn__begins(&name, "gated-")) return true;
    return tfn__equal(k->key, "feed_forward_proj");
}

/* The library's name of the activation in a key's value. The library's own words are not legal in
 * a file. */
static const char *tfn__activation_of(tfn_import *x, const tfn_key_rule *k, const char *value)
{
    const char *own = tfn__hub_activation(value, k->form);
    if (own && tfn__key_takes(k, value)) return own;
    if (k->form == TFN_KEY_GATED) tfn__bad_key(x, k->key, value, "a gate, gelu, gelu_new or silu,");
    else tfn__bad_key(x, k->key, value, "gelu, gelu_new, silu, relu or tanh");
    return "default";
}

/* True if a file must give a number other than 0. In a desc 0 would mean a default. */
static bool tfn__is_not_zero(const tfn_key_rule *k)
{
    return !k->text || tfn__equal(k->option, "layers") || tfn__equal(k->option, "heads")
        || tfn__equal(k->option, "ffn");
}

/* Set an option by its text. "default" is our word for 0; in a file it is legal only as
 * rope_type. */
static void tfn__set_option(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k,
                            const char *value)
{
    if (k->key && tfn__equal(k->option, "activation")) value = tfn__activation_of(x, k, value);
    if (x->error.status != TFN_OK) return;
    if (tfn__equal(value, "default") && !tfn__equal(k->option, "rotary_scaling"))
        tfn__bad_key(x, k->key, value, "a value");
    else if (k->key && tfn__is_not_zero(k) && tfn__same_value(value, "0"))
        tfn__bad_key(x, k->key, value, "a positive number");
    else tfn_desc_set(d, k->option, value, &x->error);
}

/* Read the whole number that a rule gives as its text. */
SHARED int64_t tfn__whole_text(const char *text)
{
    tfn__reader r = tfn__read_from(text, tfn__length(text));
    return (int64_t)tfn__json_number(&r);
}

/* Set an option that is computed from a number in the file. The result goes through a text with the
 * shortest digits that read as the same float, so that every option is set and checked in one
 * place. */
static void tfn__set_computed(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k,
                              const char *value)
{
    char text[TFN__VALUE_ROOM];
    tfn__text t = tfn__text_in(text, sizeof text);
    tfn__reader r = tfn__read_from(value, tfn__length(value));
    const double v = tfn__json_number(&r);
    int64_t less = 0;
    if (k->form == TFN_KEY_LESS) less = tfn__whole_text(k->text);
    if (r.wanted || !(v > (double)less)) tfn__bad_key(x, k->key, value, "a larger number");
    else if (v > TFN__ANY) tfn__bad_key(x, k->key, value, "a smaller number");
    if (x->error.status != TFN_OK) return;
    if (k->form == TFN_KEY_LESS) {
        tfn__put_int(&t, NULL, (int64_t)v - less, NULL);
    } else if (k->form == TFN_KEY_INVERSE_ROOT) {
        tfn__put_float(&t, 1 / TFN__SQRT((float)v));
    } else {                                            /* TFN_KEY_SHARE */
        tfn__put_int(&t, NULL, (int64_t)(v * tfn__head_size(d)), NULL);
    }
    tfn__end(&t);
    tfn__set_option(x, d, k, text);
}

/* Set an option to the number of entries of an object. Files of the hub give names of classes but
 * not their number: "id2label": {"0": "negative", "1": "positive"} means two. The names do not
 * matter here. Any value counts as one entry, even an object. A repeated key counts twice; then the
 * head's weights do not fit, and that error names both sizes. */
static void tfn__set_count(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k)
{
    char text[TFN__VALUE_ROOM];
    tfn__text t = tfn__text_in(text, sizeof text);
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    int64_t n = 0;
    if (!tfn__config_find(&r, k->key)) {
        tfn__set_option(x, d, k, k->text);
        return;
    }
    tfn__json_space(&r);
    if (tfn__peek(&r) != '{') {
        tfn__config_copy(r, text);
        tfn__bad_key(x, k->key, text, "an object");
        return;
    }
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__json_string(&r, NULL, 0);
        tfn__json_want(&r, ':', ":");
        tfn__json_skip(&r, TFN__CONFIG_DEPTH);
        n++;
    }
    tfn__put_int(&t, NULL, n, NULL);
    tfn__end(&t);
    tfn__set_option(x, d, k, text);
}

/* Require that the value is the text. */
static void tfn__want_value(tfn_import *x, const char *path, const char *found, const char *text)
{
    if (!tfn__same_value(found, text)) tfn__bad_key(x, path, found, text);
}

/* Require that the value agrees with an option that is already set. For rotary_size, the value is a
 * share of a head and the option a number of channels. */
static void tfn__want_same(tfn_import *x, const tfn_model_desc *d, const tfn_key_rule *k,
                           const char *found)
{
    char own[TFN__VALUE_ROOM];
    tfn_model_desc shared = *d;
    if (tfn__equal(k->option, "rotary_size")) {
        const tfn_key_rule share = { k->key, k->option, NULL, TFN_KEY_SHARE };
        tfn__set_computed(x, &shared, &share, found);
        if (shared.rotary_size != d->rotary_size)
            tfn__bad_key(x, k->key, found, "the share that the other key says");
        return;
    }
    if (!tfn_desc_get(d, k->option, own, sizeof own)) own[0] = 0;
    tfn__want_value(x, k->key, found, own);
}

/* The name that a rule gives to layers with its feature, or without, in `word`. */
SHARED const char *tfn__layer_name(const tfn_key_rule *k, bool has, char *word, size_t size)
{
    const char *list = k->text;
    tfn__next_word(&list, word, size);
    if (!has) tfn__next_word(&list, word, size);
    return word;
}

/* Read the name of a layer and step over it. True if it is the first one in the rule's text. */
static bool tfn__reads_layer(tfn_import *x, const tfn_key_rule *k, tfn__reader *r)
{
    char value[TFN__VALUE_ROOM];
    char names[2][32];
    char both[TFN__VALUE_ROOM];
    tfn__text t = tfn__text_in(both, sizeof both);
    tfn__config_copy(*r, value);
    tfn__json_skip(r, TFN__CONFIG_DEPTH);
    for (int i = 0; i < 2; i++)
        if (tfn__equal(value, tfn__layer_name(k, !i, names[i], sizeof names[i]))) return !i;
    tfn__put_texts(&t, names[0], " or ", names[1]);
    tfn__bad_key(x, k->key, value, tfn__end(&t));
    return false;
}

SHARED tfn__layers tfn__no_layers(void)
{
    const tfn__layers none = { 0, -1, -1, -1 };
    return none;
}

/* Report the next layer. In published models a feature begins at some layer, or every n-th layer
 * lacks it. So three layers decide. */
SHARED void tfn__tell_layer(tfn__layers *s, bool has)
{
    const int32_t l = s->count++;
    if (has && s->from < 0) s->from = l;
    if (has || s->from < 0) return;
    if (s->first < 0) s->first = l;
    else if (s->second < 0) s->second = l;
}

/* The period of the layers without the feature; 0: none. */
static int32_t tfn__layers_period(const tfn__layers *s)
{
    if (s->second >= 0) return s->second - s->first;
    return s->first + 1;
}

/* Set the options of the window. No layer with a window: it is off. */
SHARED void tfn__set_window_by(tfn_model_desc *d, const tfn__layers *s)
{
    const int32_t period = tfn__layers_period(s);
    if (s->from < 0) d->window = 0;
    d->window_from = (int32_t)tfn__max(s->from, 0);
    d->window_period = period;
    d->window_shift = 0;
    if (s->second >= 0) d->window_shift = (period - (s->first + 1) % period) % period;
}

/* True if layer l has the feature of the rule. */
SHARED bool tfn__layer_has(const tfn_model_desc *d, const tfn_key_rule *k, int32_t l)
{
    if (tfn__equal(k->option, "window")) return tfn__layer_has_window(d, l);
    return !d->rotary_period || (l + 1) % d->rotary_period;
}

/* Report the names of a list. With d, compare each with the options instead. */
static void tfn__read_names(tfn_import *x, const tfn_model_desc *d, const tfn_key_rule *k,
                            tfn__reader *r, tfn__layers *s)
{
    for (bool more = tfn__json_open(r, '[', ']'); more; more = tfn__json_more(r, ']')) {
        const bool has = tfn__reads_layer(x, k, r);
        if (d && has != tfn__layer_has(d, k, s->count))
            tfn__bad_key(x, k->key, "mixed", "a change at one layer, or in every n-th,");
        tfn__tell_layer(s, has);
    }
}

/* The same for groups, [[names, how often], ...]. */
static void tfn__read_groups(tfn_import *x, const tfn_model_desc *d, const tfn_key_rule *k,
                             tfn__reader *r, tfn__layers *s)
{
    for (bool more = tfn__json_open(r, '[', ']'); more; more = tfn__json_more(r, ']')) {
        tfn__reader names;
        int64_t often = 0;
        if (!tfn__json_open(r, '[', ']')) continue;
        names = *r;
        tfn__json_skip(r, TFN__CONFIG_DEPTH);
        if (tfn__json_more(r, ']')) {
            tfn__json_space(r);
            often = tfn__json_count(r, TFN__LAYERS_MOST);
            tfn__json_mark(r, ']');
        }
        for (int64_t i = 0; i < often; i++) {
            tfn__reader again = names;
            if (s->count > TFN__LAYERS_MOST) break;
            tfn__read_names(x, d, k, &again, s);
        }
    }
}

/* Read a list with a name for each layer. After all were reported, compare each with the options
 * that resulted. If the window is off, the list is ignored. */
static void tfn__set_layers(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k)
{
    const bool window = tfn__equal(k->option, "window");
    tfn__layers s = tfn__no_layers();
    if (window && !d->window) return;
    for (int pass = 0; pass < 2; pass++) {
        const tfn_model_desc *like = NULL;
        tfn__reader r = tfn__read_from(x->text, x->text_size);
        if (x->error.status != TFN_OK) return;
        tfn__config_find(&r, k->key);
        if (pass) like = d;
        s = tfn__no_layers();
        if (k->form == TFN_KEY_GROUPS) tfn__read_groups(x, like, k, &r, &s);
        else tfn__read_names(x, like, k, &r, &s);
        if (x->error.status == TFN_OK && s.count != d->layers) {
            tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", "config.json: %s has %d layers, "
                           "there are %d", k->key);
            x->error.found = s.count;
            x->error.wanted = d->layers;
        }
        if (window && !pass) tfn__set_window_by(d, &s);
        if (!window && s.from < 0) d->rotary_period = 1;
        else if (!window) d->rotary_period = tfn__layers_period(&s);
    }
}

/* Set an option from a list or an object with an entry for each layer or class. Rules for single
 * values would see only its beginning. */
static void tfn__set_listed(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k)
{
    if (k->form == TFN_KEY_ENTRIES) tfn__set_count(x, d, k);
    else tfn__set_layers(x, d, k);
}

/* Split "KEY=PATTERN": copies the key, and returns the pattern; NULL: there is none. */
static const char *tfn__pattern_of(const tfn_key_rule *k, char *key)
{
    tfn__text t = tfn__text_in(key, TFN__VALUE_ROOM);
    const char *pattern = k->key;
    while (*pattern && *pattern != '=') pattern++;
    tfn__put_bytes(&t, k->key, (size_t)(pattern - k->key));
    tfn__end(&t);
    if (!*pattern) return NULL;
    return pattern + 1;
}

/* "KEY=PATTERN": true if the value, or one value of its list, matches. "architectures" is a list of
 * one name, the class that wrote the file: no other key says which head the weights have. */
static bool tfn__value_is(const tfn_import *x, const tfn_key_rule *k)
{
    char key[TFN__VALUE_ROOM];
    char value[TFN__VALUE_ROOM];
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    const char *pattern = tfn__pattern_of(k, key);
    if (!pattern || !tfn__config_find(&r, key)) return false;
    tfn__json_space(&r);
    if (tfn__peek(&r) != '[') {
        tfn__config_copy(r, value);
        return tfn__name_matches(pattern, value);
    }
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']')) {
        tfn__config_copy(r, value);
        if (tfn__name_matches(pattern, value)) return true;
        tfn__json_skip(&r, TFN__CONFIG_DEPTH);
    }
    return false;
}

/* Set the option of a rule "KEY=PATTERN" whose value matches. Without an option, refuse it. */
static void tfn__set_named(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k)
{
    char key[TFN__VALUE_ROOM];
    if (!tfn__value_is(x, k)) return;
    if (k->option) {
        tfn__set_option(x, d, k, k->text);
    } else {
        const char *pattern = tfn__pattern_of(k, key);
        tfn__bad_key(x, key, pattern, k->text);
    }
}

/* False at the last row, which is all zeros. A family may have no rules of its own: the tensors of
 * Mistral have the same names as Llama's. */
SHARED bool tfn__is_rule(const tfn_key_rule *k) { return k && (k->key || k->option); }

/* The last rule for a key, which overrides the others. */
SHARED const tfn_key_rule *tfn__rule_of_key(const tfn_family *family, const char *key)
{
    const tfn_key_rule *found = NULL;
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++)
        if (k->key && tfn__equal(k->key, key)) found = k;
    if (found || !family->like) return found;
    return tfn__rule_of_key(family->like, key);
}

/* True if the last rule for a key of this family gives a default: it makes a required key
 * optional. */
static bool tfn__has_default(const tfn_family *family, const char *key)
{
    const tfn_key_rule *last = tfn__rule_of_key(family, key);
    return last->form == TFN_KEY_IS && last->text;
}

/* Apply a rule with a key to the file. A null value counts as a missing key (n_inner, head_dim,
 * rope_scaling). In windows and caps, however, null means off, and a missing key means the default
 * of the published configuration. */
static void tfn__apply_key(tfn_import *x, tfn_model_desc *d, const tfn_key_rule *k)
{
    char value[TFN__VALUE_ROOM];
    const bool known = tfn__config_value(x, k->key, value);
    const bool off = known && tfn__equal(value, "null");
    const bool condition = k->form == TFN_KEY_IF || k->form == TFN_KEY_UNLESS
                        || k->form == TFN_KEY_LAYERS || k->form == TFN_KEY_GROUPS;
    const bool sets = k->form != TFN_KEY_NAMES && k->form != TFN_KEY_WANT;
    const char *found = k->text;
    if (!k->option && (sets || !k->text)) return;
    if (off && k->form == TFN_KEY_IS_OR_OFF) return;
    if (k->form == TFN_KEY_LESS) found = NULL;
    if (known && !off) found = value;
    else if (condition) return;
    if (!found && !tfn__has_default(x->family, k->key))
        tfn__fail_name(&x->error, TFN_NOT_FOUND, "import", "config.json has no %s", k->key);
    if (!found || !found[0]) return;
    switch (k->form) {
    case TFN_KEY_NOT:
        if (tfn__equal(found, "true")) found = "false";
        else if (tfn__equal(found, "false")) found = "true";
        tfn__set_option(x, d, k, found);
        break;
    case TFN_KEY_IF:
        if (tfn__equal(found, "true")) tfn__set_option(x, d, k, k->text);
        else tfn__want_value(x, k->key, found, "false");
        break;
    case TFN_KEY_UNLESS:
        if (tfn__equal(found, "false")) tfn__set_option(x, d, k, k->text);
        else tfn__want_value(x, k->key, found, "true");
        break;
    case TFN_KEY_NAMES:
        tfn__set_named(x, d, k);
        break;
    case TFN_KEY_ONLY_IF:
        if (known && tfn__equal(found, "true")) break;
        tfn__set_option(x, d, k, k->text);
        if (known && !off) tfn__want_value(x, k->key, found, "false");
        break;
    case TFN_KEY_LAYERS:
    case TFN_KEY_GROUPS:
    case TFN_KEY_ENTRIES:
        tfn__set_listed(x, d, k);
        break;
    case TFN_KEY_INVERSE_ROOT:
    case TFN_KEY_SHARE:
    case TFN_KEY_LESS:
        tfn__set_computed(x, d, k, found);
        break;
    case TFN_KEY_SAME:
        tfn__want_same(x, d, k, found);
        break;
    case TFN_KEY_WANT:
        tfn__want_value(x, k->key, found, k->text);
        break;
    default:
        tfn__set_option(x, d, k, found);
    }
}

/* Apply the rules of a family, after those of the family that it is like. A rule without a key sets
 * its option to its text. */
SHARED void tfn__apply_keys(tfn_import *x, tfn_model_desc *d, const tfn_family *family)
{
    if (family->like) tfn__apply_keys(x, d, family->like);
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++) {
        if (x->error.status != TFN_OK) return;
        if (k->key) tfn__apply_key(x, d, k);
        else if (k->text && k->text[0]) tfn__set_option(x, d, k, k->text);
    }
}

/* Check that the text is JSON, so that later readers need no check. */
SHARED void tfn__check_config(tfn_import *x, const char *text)
{
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    tfn__json_space(&r);
    if (tfn__peek(&r) != '{') tfn__want(&r, "{");
    tfn__json_skip(&r, TFN__CONFIG_DEPTH);
    tfn__json_space(&r);
    if (r.at < r.size) tfn__want(&r, "its end");
    if (!r.wanted) return;
    tfn__fail_name(&x->error, TFN_BAD_FORMAT, "import", text, r.wanted);
    x->error.found = (int64_t)r.at;
}

/* Find a path in the rules of a family: unknown, a key, or an object of keys. */
enum { TFN__NO_KEY, TFN__KNOWN_KEY, TFN__KNOWN_OBJECT };
static int tfn__known_key(const tfn_family *family, const char *path)
{
    int found = TFN__NO_KEY;
    if (family->like) found = tfn__known_key(family->like, path);
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++) {
        const char *rest = k->key;
        if (!rest || !tfn__begins(&rest, path)) continue;
        if (!*rest || *rest == '=') return TFN__KNOWN_KEY;
        if (*rest == '.') found = TFN__KNOWN_OBJECT;
    }
    return found;
}

/* Keys without a rule that change the model. */
typedef struct tfn__strangers {
    tfn__text named;            /* refused keys, as many as fit into the error */
    tfn__text all;              /* x->aside */
    int32_t   count;            /* number of refused keys */
    bool      grave;            /* one of them is refused even if lenient */
} tfn__strangers;

static void tfn__put_stranger(tfn__text *t, const char *path)
{
    const char *between = "";
    if (t->used) between = ", ";
    if (t->used + tfn__length(path) + 6 < t->size) tfn__put_texts(t, between, path, NULL);
    else if (t->used + 5 < t->size) tfn__put(t, " ...");
}

static void tfn__strange_key(tfn_import *x, tfn__strangers *s, const char *path)
{
    const bool grave = tfn__key_is_grave(path);
    tfn__put_stranger(&s->all, path);
    if (x->lenient && !grave) return;
    tfn__put_stranger(&s->named, path);
    s->count++;
    s->grave = s->grave || grave;
}

static void tfn__check_object(tfn_import *x, tfn__strangers *s, tfn__reader r, const char *in);

/* Check the key of this path; the reader is at its value. */
static void tfn__check_key(tfn_import *x, tfn__strangers *s, tfn__reader r, const char *path)
{
    const int known = tfn__known_key(x->family, path);
    char value[TFN__VALUE_ROOM];
    tfn__json_space(&r);
    if (tfn__peek(&r) == 'n' || known == TFN__KNOWN_KEY) return;
    if (known == TFN__KNOWN_OBJECT && tfn__peek(&r) == '{') {
        tfn__check_object(x, s, r, path);
    } else if (known == TFN__KNOWN_OBJECT) {
        tfn__config_copy(r, value);
        tfn__bad_key(x, path, value, "an object");
    } else if (!tfn__key_is_idle(x->family, path, r)) {
        tfn__strange_key(x, s, path);
    }
}

/* Require a type for the numbers of a scaling: without one they would have no effect, and no file
 * means that. */
static void tfn__check_scaling(tfn_import *x, const char *in)
{
    char path[TFN__VALUE_ROOM];
    char value[TFN__VALUE_ROOM];
    static const char *const names[] = { ".rope_type", ".type", ".factor" };
    bool there[3];
    for (int i = 0; i < 3; i++) {
        tfn__text t = tfn__text_in(path, sizeof path);
        tfn__put_texts(&t, in, names[i], NULL);
        tfn__end(&t);
        there[i] = tfn__config_value(x, path, value) && !tfn__equal(value, "null");
    }
    if (there[2] && !there[0] && !there[1])
        tfn__bad_key(x, path, value, "a rope_type beside it");
}

/* Check all keys of an object; in: its path, "" for the whole file. */
static void tfn__check_object(tfn_import *x, tfn__strangers *s, tfn__reader r, const char *in)
{
    char key[TFN__VALUE_ROOM];
    char path[2 * TFN__VALUE_ROOM];
    const char *dot = "";
    if (in[0]) dot = ".";
    if (tfn__name_matches("rope_*", in)) tfn__check_scaling(x, in);
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__text t = tfn__text_in(path, sizeof path);
        tfn__json_string(&r, key, sizeof key);
        tfn__json_want(&r, ':', ":");
        tfn__put_texts(&t, in, dot, key);
        tfn__end(&t);
        tfn__check_key(x, s, r, path);
        tfn__json_skip(&r, TFN__CONFIG_DEPTH);
    }
}

/* The rule of the object that has the family's keys; NULL: the file itself has them. */
SHARED const tfn_key_rule *tfn__inside_rule(const tfn_family *family)
{
    for (const tfn_key_rule *k = family->keys; tfn__is_rule(k); k++)
        if (k->form == TFN_KEY_INSIDE) return k;
    return NULL;
}

/* From here on, read only the object that has the family's keys: a model of pictures and texts has
 * those of its text model there. False: the file itself has them, or there is an error. */
static bool tfn__enter_object(tfn_import *x)
{
    const tfn_key_rule *k = tfn__inside_rule(x->family);
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    char value[TFN__VALUE_ROOM];
    size_t from;
    if (!k) return false;
    if (!tfn__config_find(&r, k->key)) {
        tfn__fail_name(&x->error, TFN_NOT_FOUND, "import", "config.json has no %s", k->key);
        return false;
    }
    tfn__json_space(&r);
    tfn__config_copy(r, value);
    if (tfn__peek(&r) != '{') tfn__bad_key(x, k->key, value, "an object");
    from = r.at;
    tfn__json_skip(&r, TFN__CONFIG_DEPTH);
    x->text += from;
    x->text_size = r.at - from;
    return x->error.status == TFN_OK;
}

/* Refuse keys that no rule knows and that may matter. A new release of the family may use them to
 * compute something else; the model would still write plausible text, only worse. One message names
 * all of them. A lenient import skips them, except those of scales and quantization. */
SHARED void tfn__check_keys(tfn_import *x)
{
    static const char *const texts[2][2] = {
        { "config.json: nothing is known of the key %s; lenient would leave it aside",
          "config.json: nothing is known of the key %s, which may change what the model computes" },
        { "config.json: nothing is known of the keys %s; lenient would leave them aside",
          "config.json: nothing is known of the keys %s, which may change what the model computes" }
    };
    char names[sizeof x->error.name];
    tfn__strangers s;
    if (x->error.status != TFN_OK) return;
    s.named = tfn__text_in(names, sizeof names);
    s.all = tfn__text_in(x->aside, sizeof x->aside);
    s.count = 0;
    s.grave = false;
    tfn__check_object(x, &s, tfn__read_from(x->text, x->text_size), "");
    if (tfn__enter_object(x))
        tfn__check_object(x, &s, tfn__read_from(x->text, x->text_size), "");
    tfn__end(&s.all);
    if (!s.count) return;
    tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", texts[s.count > 1][s.grave],
                   tfn__end(&s.named));
}

/* Find the family: the caller's, or the one that "model_type" names. */
SHARED void tfn__find_family(tfn_import *x)
{
    char value[TFN__VALUE_ROOM];
    if (x->family) return;
    if (!tfn__config_value(x, "model_type", value)) {
        tfn__fail(&x->error, TFN_NOT_FOUND, "import", tfn__no_type_text, 0, 0);
        return;
    }
    x->family = tfn_family_find(value);
    if (!x->family)
        tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", tfn__no_family_text, value);
}
TFN__RARE_END
