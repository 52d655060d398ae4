#include "peft.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../model/builder.h"
#include "../model/model.h"
#include "../text/json.h"
#include "../files/files.h"
#include "../files/safetensors.h"
#include "../files/fields.h"
#include "import.h"
#include "keys.h"
#include "pickle.h"

TFN__RARE

/* -- adapter_config.json --------------------------------------------------------------------- */

/* The keys that are understood, in the form of tfn__json_members. */
static const char tfn__peft_keys[] = "peft_type\"r\"lora_alpha\"use_rslora\"bias\""
    "init_lora_weights\"target_modules\"exclude_modules\"layers_to_transform\"layers_pattern\""
    "rank_pattern\"alpha_pattern\"";
enum { TFN__PEFT_TYPE, TFN__PEFT_R, TFN__PEFT_ALPHA, TFN__PEFT_RSLORA, TFN__PEFT_BIAS,
       TFN__PEFT_INIT, TFN__PEFT_TARGETS, TFN__PEFT_EXCLUDED, TFN__PEFT_LAYERS,
       TFN__PEFT_LAYERS_OF, TFN__PEFT_RANKS, TFN__PEFT_ALPHAS, TFN__PEFT_KEYS };

/* Keys without effect on the adapter's output. lora_dropout is for training. fan_in_fan_out
 * tells how the module stores its matrix, which the family's rows know. */
static const char tfn__peft_idle[] = "auto_mapping base_model_name_or_path revision task_type "
    "inference_mode peft_version megatron_core lora_dropout fan_in_fan_out qalora_group_size "
    "runtime_config ensure_weight_tying eva_config";

/* An adapter being read. The values of keys that are missing have size 0. */
typedef struct tfn__peft {
    tfn_import *x;
    tfn__reader value[TFN__PEFT_KEYS];
    double      rank, alpha;            /* where no pattern gives another */
    bool        stabilized;             /* use_rslora */
} tfn__peft;

/* "adapter_config.json: bias is all; none is expected" */
static void tfn__peft_refuse(tfn_import *x, const char *key, tfn__reader value, const char *wanted)
{
    char found[48] = "missing";
    tfn__text v = tfn__text_in(found, sizeof found);
    tfn__text t = tfn__text_in(x->error.name, sizeof x->error.name);
    if (x->error.status != TFN_OK) return;
    if (value.size) {
        tfn__put_config_value(&v, value);
        tfn__end(&v);
    }
    tfn__fail(&x->error, TFN_UNSUPPORTED, "import", "%s", 0, 0);
    tfn__put_texts(&t, "adapter_config.json: ", key, " is ");
    tfn__put_texts(&t, found, "; ", wanted);
    tfn__put(&t, " is expected");
    tfn__end(&t);
}

/* True if the value is as good as missing: null, false, 0, "", [] or {}. */
static bool tfn__peft_off(tfn__reader value)
{
    const int32_t c = tfn__peek(&value);
    if (c == '[') return !tfn__json_open(&value, '[', ']');
    if (c == '{') return !tfn__json_open(&value, '{', '}');
    return tfn__json_empty(value);
}

/* True if the word is in a list with spaces. */
static bool tfn__peft_lists(const char *list, const char *name)
{
    char word[TFN__PREFIX_ROOM];
    while (tfn__next_word(&list, word, sizeof word))
        if (tfn__equal(word, name)) return true;
    return false;
}

/* Refuse unknown keys, such as use_dora, unless their value turns them off. */
static void tfn__peft_check_keys(tfn_import *x)
{
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    char name[TFN__NAME_ROOM];
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__reader key = r;
        const bool known = tfn__json_key(&r, tfn__peft_keys) >= 0;
        const bool off = tfn__peft_off(r);
        tfn__json_string(&key, name, sizeof name);
        if (!known && !off && !x->lenient && !tfn__peft_lists(tfn__peft_idle, name))
            tfn__peft_refuse(x, name, r, "a key that is known, or null,");
        tfn__json_skip(&r, TFN__CONFIG_DEPTH);
    }
}

/* Read a number above 0, or give the default if there is none; whole: without a fraction. */
static double tfn__peft_number(tfn_import *x, const char *key, tfn__reader value, bool whole,
                               double otherwise)
{
    tfn__reader r = value;
    double v;
    if (!value.size) return otherwise;
    v = tfn__json_number(&r);
    if (r.wanted || !(v > 0 && v <= TFN__MAX_SIDE) || (whole && (double)(int32_t)v < v)) {
        tfn__peft_refuse(x, key, value, whole ? "a whole number above 0" : "a number above 0");
        return otherwise;
    }
    return v;
}

/* True if the key of a pattern is a name, perhaps with ^ in front. PEFT reads it as a regular
 * expression, in which a dot is any character. */
static bool tfn__peft_plain(const char *key)
{
    if (*key == '^') key++;
    if (!*key) return false;
    for (; *key; key++) {
        const bool letter = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z');
        if (!letter && !(*key >= '0' && *key <= '9') && *key != '_' && *key != '.') return false;
    }
    return true;
}

/* Check the keys and the numbers of a pattern. */
static void tfn__peft_check_pattern(tfn_import *x, const char *key, tfn__reader value, bool whole)
{
    tfn__reader r = value;
    char name[TFN__PEFT_NAME];
    if (!value.size || tfn__peft_off(value)) return;
    if (tfn__peek(&r) != '{') {
        tfn__peft_refuse(x, key, value, "an object");
        return;
    }
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__reader name_at = r;
        tfn__json_string(&name_at, name, sizeof name);
        if (name_at.wanted || !tfn__peft_plain(name))
            tfn__peft_refuse(x, key, value, "an object whose keys are names, not expressions,");
        tfn__json_string(&r, NULL, 0);
        tfn__json_want(&r, ':', ":");
        tfn__peft_number(x, key, r, whole, 1);
        tfn__json_skip(&r, TFN__CONFIG_DEPTH);
    }
}

/* Refuse initial values that change the matrices of the base: PiSSA takes them apart, and the
 * adapter only adds up with what remains. */
static void tfn__peft_check_init(tfn_import *x, tfn__reader value)
{
    static const char *const harmless[] = { "gaussian\"", "eva\"", "orthogonal\"" };
    if (!value.size || tfn__peek(&value) != '"') return;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (tfn__json_says(value, harmless[i])) return;
    tfn__peft_refuse(x, "init_lora_weights", value, "true, gaussian, eva or orthogonal");
}

/* layers_to_transform is a number or a list of numbers. */
static void tfn__peft_check_layers(tfn_import *x, tfn__reader value)
{
    tfn__reader r = value;
    if (!value.size || tfn__peek(&value) == 'n') return;
    if (tfn__peek(&r) != '[') {
        tfn__json_count(&r, TFN__MAX_SIDE);
    } else for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']'))
        tfn__json_count(&r, TFN__MAX_SIDE);
    if (r.wanted) tfn__peft_refuse(x, "layers_to_transform", value, "a list of layers");
}

/* Read adapter_config.json, which is in x->text. */
static void tfn__peft_read_config(tfn__peft *p)
{
    tfn_import *x = p->x;
    tfn__reader *value = p->value;
    tfn__reader r = tfn__read_from(x->text, x->text_size);
    tfn__check_config(x, "adapter_config.json: %s is expected at byte %d");
    if (x->error.status != TFN_OK) return;
    tfn__json_space(&r);
    tfn__json_members(&r, value, tfn__peft_keys);
    if (!tfn__json_says(value[TFN__PEFT_TYPE], "LORA\""))
        tfn__peft_refuse(x, "peft_type", value[TFN__PEFT_TYPE], "LORA");
    tfn__peft_check_keys(x);
    p->rank = tfn__peft_number(x, "r", value[TFN__PEFT_R], true, 8);
    p->alpha = tfn__peft_number(x, "lora_alpha", value[TFN__PEFT_ALPHA], false, 8);
    p->stabilized = tfn__peek(&value[TFN__PEFT_RSLORA]) == 't';
    if (!p->stabilized && !tfn__json_empty(value[TFN__PEFT_RSLORA]))
        tfn__peft_refuse(x, "use_rslora", value[TFN__PEFT_RSLORA], "true or false");
    if (value[TFN__PEFT_BIAS].size && !tfn__json_says(value[TFN__PEFT_BIAS], "none\""))
        tfn__peft_refuse(x, "bias", value[TFN__PEFT_BIAS], "none");
    tfn__peft_check_init(x, value[TFN__PEFT_INIT]);
    tfn__peft_check_layers(x, value[TFN__PEFT_LAYERS]);
    tfn__peft_check_pattern(x, "rank_pattern", value[TFN__PEFT_RANKS], true);
    tfn__peft_check_pattern(x, "alpha_pattern", value[TFN__PEFT_ALPHAS], false);
}

/* True if a plain key of a pattern matches the module, or the end of it after a dot. */
static bool tfn__peft_matches(const char *key, const char *module)
{
    const size_t all = tfn__length(module);
    const bool whole = *key == '^';
    size_t bytes;
    const char *end;
    if (whole) key++;
    bytes = tfn__length(key);
    if (bytes > all || (whole && bytes != all)) return false;
    end = module + (all - bytes);
    if (bytes < all && end[-1] != '.') return false;
    for (size_t i = 0; i < bytes; i++)
        if (key[i] != '.' && key[i] != end[i]) return false;
    return true;
}

/* The number of the first key of a pattern that matches the module. */
static double tfn__peft_of(tfn__reader pattern, const char *module, double otherwise)
{
    char name[TFN__PEFT_NAME];
    if (!pattern.size || tfn__peek(&pattern) != '{') return otherwise;
    for (bool more = tfn__json_open(&pattern, '{', '}'); more;
         more = tfn__json_more(&pattern, '}')) {
        tfn__json_string(&pattern, name, sizeof name);
        tfn__json_want(&pattern, ':', ":");
        if (tfn__peft_matches(name, module)) return tfn__json_number(&pattern);
        tfn__json_skip(&pattern, TFN__CONFIG_DEPTH);
    }
    return otherwise;
}

/* The rank of a module. */
static int32_t tfn__peft_rank(const tfn__peft *p, const char *module)
{
    return (int32_t)tfn__peft_of(p->value[TFN__PEFT_RANKS], module, p->rank);
}

/* The alpha of a module's group: alpha / rank is the module's factor. */
static float tfn__peft_alpha(const tfn__peft *p, const char *module)
{
    const double alpha = tfn__peft_of(p->value[TFN__PEFT_ALPHAS], module, p->alpha);
    const float rank = (float)tfn__peft_rank(p, module);
    if (p->stabilized) return (float)(alpha * (double)TFN__SQRT(rank));
    return (float)alpha;
}

/* True if layers_to_transform is not given or has this layer. */
static bool tfn__peft_has_layer(const tfn__peft *p, int32_t layer)
{
    tfn__reader r = p->value[TFN__PEFT_LAYERS];
    if (!r.size || tfn__peek(&r) == 'n') return true;
    if (tfn__peek(&r) != '[') return tfn__json_count(&r, TFN__MAX_SIDE) == layer;
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']'))
        if (tfn__json_count(&r, TFN__MAX_SIDE) == layer) return true;
    return false;
}

/* True if target_modules, a list of names, has the module. If it is an expression, it is not
 * evaluated, and no module is required. */
static bool tfn__peft_requires(const tfn__peft *p, const char *module, int32_t layer)
{
    tfn__reader r = p->value[TFN__PEFT_TARGETS];
    char name[TFN__PEFT_NAME];
    bool found = false;
    if (!r.size || tfn__peek(&r) != '[' || !tfn__peft_has_layer(p, layer)) return false;
    if (!tfn__peft_off(p->value[TFN__PEFT_EXCLUDED])
        || !tfn__peft_off(p->value[TFN__PEFT_LAYERS_OF])) return false;
    for (bool more = tfn__json_open(&r, '[', ']'); more; more = tfn__json_more(&r, ']')) {
        const size_t all = tfn__length(module);
        const size_t bytes = tfn__json_string(&r, name, sizeof name);
        if (bytes > all || !tfn__equal(name, module + (all - bytes))) continue;
        if (bytes == all || module[all - bytes - 1] == '.') found = true;
    }
    return found && !r.wanted;
}

/* -- names ----------------------------------------------------------------------------------- */

SHARED const char tfn__peft_prefix[] = "base_model.model.";

/* Build the name of a module from the rule of its matrix, "h.#.attn.c_attn.*". */
SHARED void tfn__peft_module_name(char *to, size_t size, const char *prefix,
                                  const tfn_tensor_rule *rule, const tfn__blanks *b)
{
    size_t last = 0;
    tfn__put_form(to, size, prefix, rule->theirs, b);
    for (size_t i = 0; to[i]; i++)
        if (to[i] == '.') last = i;
    to[last] = 0;
}

/* Split the name of a tensor into its module and 'A' or 'B'. Returns 0 if the name has another
 * form. `module` must have room for the longest name of a tensor. */
static char tfn__peft_split(const char *name, char *module)
{
    static const char *const ends[] = { ".lora_A.weight", ".lora_B.weight" };
    const char *s = name;
    size_t n;
    tfn__begins(&s, tfn__peft_prefix);
    n = tfn__length(s);
    for (int i = 0; i < 2; i++) {
        const size_t bytes = tfn__length(ends[i]);
        if (n <= bytes || !tfn__equal(s + (n - bytes), ends[i])) continue;
        TFNORM_MEMCPY(module, s, n - bytes);
        module[n - bytes] = 0;
        return (char)('A' + i);
    }
    return 0;
}

/* True if a rule is for the tensor of this name, with one of the family's prefixes or without. */
static bool tfn__peft_fits(const tfn_family *family, const tfn_tensor_rule *rule,
                           const char *theirs, tfn__blanks *b)
{
    char prefix[TFN__PREFIX_ROOM];
    const char *list = NULL;
    bool more;
    do {
        const char *bare = theirs;
        more = tfn__next_prefix(family, &list, prefix, sizeof prefix);
        if (tfn__begins(&bare, prefix) && tfn__has_form(rule->theirs, bare, b)) return true;
    } while (more);
    return false;
}

/* Find map number n whose matrix is in the module, and put the name of that matrix, with a star for
 * the layer if `any`. False: the module has no more maps. */
static bool tfn__peft_map(const tfn_import *x, const tfn_model_desc *d, const char *module,
                          int32_t n, bool any, char *name, size_t size)
{
    char theirs[TFN__PEFT_NAME];
    tfn__blanks blanks;
    tfn__text t = tfn__text_in(theirs, sizeof theirs);
    tfn__put_texts(&t, module, ".weight", NULL);
    tfn__end(&t);
    for (const tfn_family *f = x->family; f; f = f->like) {
        for (const tfn_tensor_rule *r = tfn__rules_of(f); r->theirs; r++) {
            if (!r->ours || !tfn__rule_holds(r, d)) continue;
            if (!tfn__peft_fits(x->family, r, theirs, &blanks) || n-- > 0) continue;
            blanks.last = "weight";
            if (any) blanks.layer = -1;
            tfn__put_form(name, size, NULL, r->ours, &blanks);
            return true;
        }
    }
    return false;
}

/* -- files ----------------------------------------------------------------------------------- */

/* File k with the adapter's tensors; NULL: there are no more. */
static tfn_file *tfn__peft_file(tfn_import *x, int32_t k)
{
    if (!x->folder && k < x->count) return x->files + k;
    if (x->folder && k == 0) return &x->file;
    return NULL;
}

/* Open the adapter of a folder, or use the text and the files of the caller. The text is in
 * x->index, so that it stays while tensors are read. */
static void tfn__peft_open(tfn__peft *p, tfn_import *x)
{
    static const char *const names[] = { "adapter_model.safetensors", "adapter_model.bin" };
    bool found = !x->folder;
    TFNORM_MEMSET(p, 0, sizeof *p);
    p->x = x;
    x->text = (const uint8_t *)x->config;
    x->text_size = x->config_size;
    if (!tfn__given(&x->error, "import", "family", x->family)) return;
    if (!x->folder && !tfn__given(&x->error, "import", "folder or config", x->config)) return;
    if (x->folder) tfn__read_text(x, &x->index, "adapter_config.json");
    tfn__peft_read_config(p);
    for (int i = 0; i < 2; i++)
        if (!found && x->error.status == TFN_OK) found = tfn__open_named(x, names[i]);
    if (found || x->error.status != TFN_OK) return;
    tfn_file_open(tfn__import_file(x, &x->file, names[0]));         /* for its error */
    tfn__import_fine(x, &x->file);
}

/* Find a tensor of the adapter under its module and end, with PEFT's prefix or without. */
static bool tfn__peft_tensor(tfn_import *x, const char *module, const char *end, tfn__match *c)
{
    char name[TFN__PEFT_NAME];
    for (int bare = 0; bare < 2; bare++) {
        tfn__text t = tfn__text_in(name, sizeof name);
        if (!bare) tfn__put(&t, tfn__peft_prefix);
        tfn__put_texts(&t, module, end, NULL);
        tfn__end(&t);
        for (int32_t k = 0; tfn__peft_file(x, k); k++) {
            c->file = tfn__peft_file(x, k);
            if (tfn_file_find(c->file, name, &c->tensor)) return true;
        }
    }
    return false;
}

/* -- groups ---------------------------------------------------------------------------------- */

/* A group for all maps of one kind of sub-layer, such as "decoder.*.self." with the maps "qv". Maps
 * of a lower rank are padded with zeros, which stay 0 in training: the gradient of a row of A is a
 * product with a column of B, and the reverse. */
typedef struct tfn__peft_group {
    char    head[sizeof ((tfn_group *)0)->pattern];
    char    maps[8];
    int32_t rank;
    float   alpha;
} tfn__peft_group;

/* The letter or digit by which a map differs from others of its sub-layer, "q" or "w1", or 0. */
static char tfn__peft_letter(const char *name, size_t n)
{
    if (n < 3) return 0;
    if (name[n - 2] == '.' || (name[n - 2] == 'w' && name[n - 3] == '.')) return name[n - 1];
    return 0;
}

/* Add a map, whose name has a star for the layer and ends in ".weight", to its group. */
static void tfn__peft_join(tfn_import *x, tfn__peft_group *groups, const char *name, int32_t rank,
                           float alpha)
{
    char head[TFN__PEFT_NAME];
    const size_t n = tfn__length(name) - (sizeof ".weight" - 1);
    const char letter = tfn__peft_letter(name, n);
    tfn__text t = tfn__text_in(head, sizeof head);
    size_t m = 0;
    int k = 0;
    tfn__put_bytes(&t, name, n - (letter != 0));
    tfn__end(&t);
    for (; k < TFN_MOST_GROUPS; k++)
        if (!groups[k].head[0] || tfn__equal(groups[k].head, head)) break;
    if (k == TFN_MOST_GROUPS || t.used >= sizeof groups->head) {
        tfn__fail_name(&x->error, TFN_TOO_LARGE, "import", "there is no group left for %s", name);
        return;
    }
    TFNORM_MEMCPY(groups[k].head, head, t.used + 1);
    for (; m + 2 < sizeof groups->maps; m++)
        if (!groups[k].maps[m] || groups[k].maps[m] == letter) break;
    groups[k].maps[m] = letter;
    if (rank <= groups[k].rank) return;
    groups[k].rank = rank;
    groups[k].alpha = alpha;
}

/* Append the groups to the options: "decoder.*.self.[qv].weight rank=8 alpha=16". */
static void tfn__peft_add(tfn_import *x, tfn_model_desc *d, const tfn__peft_group *groups)
{
    for (int k = 0; k < TFN_MOST_GROUPS; k++) {
        char text[128];
        tfn__text t = tfn__text_in(text, sizeof text);
        const tfn__peft_group *g = groups + k;
        if (!g->head[0] || x->error.status != TFN_OK) continue;
        tfn__put(&t, g->head);
        if (g->maps[0] && g->maps[1]) tfn__put_texts(&t, "[", g->maps, "]");
        else tfn__put(&t, g->maps);
        tfn__put_int(&t, ".weight rank=", g->rank, " alpha=");
        tfn__put_float(&t, g->alpha);
        tfn_group_add(d, tfn__end(&t), &x->error);
    }
}

/* Refuse a tensor that is no A or B of a module, such as DoRA's magnitudes. */
static void tfn__peft_unknown(tfn_import *x, const char *name)
{
    tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", "the adapter has a tensor %s; names that "
                   "end in lora_A.weight or lora_B.weight are expected", name);
}

/* Join the maps of all tensors to groups. A module that the family does not have is an error. */
static void tfn__peft_collect(tfn__peft *p, const tfn_model_desc *d, tfn__peft_group *groups)
{
    char module[TFN__PEFT_NAME];
    char name[TFN__PEFT_NAME];
    tfn_tensor t;
    for (int32_t k = 0; tfn__peft_file(p->x, k); k++) {
        tfn_file *f = tfn__peft_file(p->x, k);
        for (int32_t i = 0; p->x->error.status == TFN_OK; i++) {
            int32_t n = 0;
            if (!tfn_file_tensor(f, i, &t)) break;
            if (!tfn__peft_split(t.name, module)) tfn__peft_unknown(p->x, t.name);
            else for (; tfn__peft_map(p->x, d, module, n, true, name, sizeof name); n++)
                tfn__peft_join(p->x, groups, name, tfn__peft_rank(p, module),
                               tfn__peft_alpha(p, module));
            if (!n)
                tfn__fail_name(&p->x->error, TFN_UNSUPPORTED, "import", "the adapter has a tensor "
                               "%s, for which the family has no linear map", t.name);
        }
        tfn__import_fine(p->x, f);
    }
}

TFNORM_API tfn_status tfn_peft_peek(tfn_import *x, tfn_model_desc *desc)
{
    tfn__peft_group groups[TFN_MOST_GROUPS];
    tfn_model_desc d;
    tfn__peft p;
    if (!x) return TFN_NULL;
    tfn__no_error(&x->error);
    if (!tfn__given(&x->error, "import", "desc", desc)) return x->error.status;
    d = *desc;
    TFNORM_MEMSET(groups, 0, sizeof groups);
    tfn__peft_open(&p, x);
    if (x->error.status == TFN_OK) tfn__peft_collect(&p, &d, groups);
    if (x->error.status == TFN_OK && !groups[0].head[0])
        tfn__fail(&x->error, TFN_NOT_FOUND, "import", "the adapter has no tensors", 0, 0);
    tfn__peft_add(x, &d, groups);
    tfn__import_close(x);
    if (x->error.status == TFN_OK) *desc = d;
    return x->error.status;
}

/* -- values ---------------------------------------------------------------------------------- */

/* A map of the model and its tensors in the adapter. */
typedef struct tfn__peft_pair {
    tfn__match a, b;
    int32_t    layer;
    char       module[TFN__PEFT_NAME];
    float      factor;                  /* of the model: alpha / rank of its group */
    bool       found;                   /* false: the adapter leaves this map as it is */
} tfn__peft_pair;

/* The layer of a module, or -1 if it is in none. */
static int32_t tfn__peft_layer(const tfn_tensor_rule *rule, const tfn__blanks *b)
{
    for (const char *s = rule->theirs; *s; s++)
        if (*s == '#') return b->layer;
    return -1;
}

/* Look for the tensors of the map under all names that its matrix may have. If the adapter has none
 * of them, o->module becomes the first of these names. */
static void tfn__peft_find(tfn__peft *p, const tfn_model_desc *d, const char *matrix,
                           tfn__peft_pair *o)
{
    char module[TFN__PEFT_NAME];
    char prefix[TFN__PREFIX_ROOM];
    o->module[0] = 0;
    for (const tfn_family *f = p->x->family; f; f = f->like) {
        for (const tfn_tensor_rule *r = tfn__rules_of(f); r->theirs; r++) {
            const char *list = NULL;
            tfn__blanks blanks;
            bool more = r->ours && tfn__rule_holds(r, d);
            if (more) more = tfn__has_form(r->ours, matrix, &blanks);
            while (more) {
                more = tfn__next_prefix(p->x->family, &list, prefix, sizeof prefix);
                tfn__peft_module_name(module, sizeof module, prefix, r, &blanks);
                o->found = tfn__peft_tensor(p->x, module, ".lora_A.weight", &o->a);
                if (o->found || !o->module[0]) {
                    TFNORM_MEMCPY(o->module, module, sizeof module);
                    o->a.rule = o->b.rule = r;
                    o->layer = tfn__peft_layer(r, &blanks);
                }
                if (o->found) return;
            }
        }
    }
}

/* Check that a tensor is (rows, cols), and that its dtype can be read. */
static void tfn__peft_check_shape(tfn_import *x, const tfn_tensor *t, int64_t rows, int64_t cols)
{
    if (t->rank != 2) tfn__bad_tensor(x, "%s has rank %d, not %d", t->name, t->rank, 2);
    else if (t->shape[0] != rows)
        tfn__bad_tensor(x, "%s has %d rows, %d are expected", t->name, t->shape[0], rows);
    else if (t->shape[1] != cols)
        tfn__bad_tensor(x, "%s has %d columns, %d are expected", t->name, t->shape[1], cols);
    if (x->error.status == TFN_OK && !tfn__has_values(t->dtype))
        tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", "%s has a dtype that is not read",
                       t->name);
}

/* Check the tensors of a map, or that it may lack them. */
static void tfn__peft_check_pair(tfn__peft *p, const tfn_model *m, tfn__peft_pair *o)
{
    const int32_t rank = tfn__peft_rank(p, o->module);
    if (p->x->error.status != TFN_OK) return;
    if (o->found && !tfn__peft_tensor(p->x, o->module, ".lora_B.weight", &o->b))
        tfn__fail_name(&p->x->error, TFN_NOT_FOUND, "import", "%s has lora_A.weight, but no "
                       "lora_B.weight", o->module);
    if (!o->found && tfn__peft_requires(p, o->module, o->layer))
        tfn__fail_name(&p->x->error, TFN_NOT_FOUND, "import", "the adapter has no lora_A.weight of "
                       "%s, which target_modules names", o->module);
    if (!o->found || p->x->error.status != TFN_OK) return;
    tfn__peft_check_shape(p->x, &o->a.tensor, rank, o->a.info.rows);
    tfn__peft_check_shape(p->x, &o->b.tensor, tfn__outputs(&o->b, &m->desc), rank);
    if (rank <= o->a.info.cols || p->x->error.status != TFN_OK) return;
    tfn__fail_name(&p->x->error, TFN_BAD_SHAPE, "import", "%s has rank %d, the model's LoRA has %d",
                   o->module);
    p->x->error.found = rank;
    p->x->error.wanted = o->a.info.cols;
}

/* Find A and B of weight i. False: an error, or there are no more weights. Weights that are no A of
 * LoRA are passed over; *i is then the next one. */
static bool tfn__peft_next(tfn__peft *p, const tfn_model *m, int32_t *i, tfn__peft_pair *o)
{
    char matrix[sizeof o->a.info.name];
    const tfn_group *g;
    tfn__text t;
    size_t n;
    for (; *i < m->weight_count; ++*i)
        if (m->weights[*i].kind == TFN__LORA_A) break;
    if (p->x->error.status != TFN_OK || *i >= m->weight_count) return false;
    TFNORM_MEMSET(o, 0, sizeof *o);
    tfn_model_param(m, *i, &o->a.info);
    n = tfn__length(o->a.info.name) - 1;                            /* "....lora_" */
    TFNORM_MEMCPY(matrix, o->a.info.name, n + 2);
    matrix[n] = 'b';
    tfn__named_param(m, matrix, &o->b.info);
    n -= sizeof "lora_" - 1;
    t = tfn__text_in(matrix + n, sizeof matrix - n);
    tfn__put(&t, "weight");
    tfn__end(&t);
    g = m->desc.groups + tfn__lora_group(&m->desc, tfn__spot_of(m->weights + *i),
                                         m->weights[*i].part);
    o->factor = g->alpha / (float)g->rank;
    tfn__peft_find(p, &m->desc, matrix, o);
    if (!o->module[0])
        tfn__fail_name(&p->x->error, TFN_UNSUPPORTED, "import", "the family has no tensor for %s",
                       o->a.info.name);
    tfn__peft_check_pair(p, m, o);
    ++*i;
    return p->x->error.status == TFN_OK;
}

/* Read A and B. Both are 0 if the adapter leaves the map as it is, and rows beyond the module's
 * rank are 0. If the module's factor is not its group's, B is multiplied by their ratio. */
static void tfn__peft_read_pair(const tfn__peft *p, const tfn_model *m, const tfn__peft_pair *o)
{
    const tfn_param_info *a = &o->a.info;
    const tfn_param_info *b = &o->b.info;
    const int64_t rank = o->a.tensor.shape[0];
    float factor;
    TFNORM_MEMSET(a->data, 0, sizeof *a->data * (size_t)a->rows * (size_t)a->cols);
    TFNORM_MEMSET(b->data, 0, sizeof *b->data * (size_t)b->rows * (size_t)b->cols);
    if (!o->found) return;
    factor = tfn__peft_alpha(p, o->module) / (float)rank;
    for (int64_t k = 0; k < rank; k++)
        tfn__read_strided(&o->a, a->data + k, k * a->rows, a->rows, a->cols);
    for (int64_t i = 0; i < b->cols; i++)
        tfn__read_strided(&o->b, b->data + i, tfn__output_at(&o->b, &m->desc, i) * rank, rank,
                          b->cols);
    if (factor < o->factor || factor > o->factor)
        for (int64_t i = 0; i < rank * b->cols; i++) b->data[i] *= factor / o->factor;
}

/* Refuse tensors of the adapter that the model has no place for. */
static void tfn__peft_check_all(tfn__peft *p, const tfn_model *m)
{
    char module[TFN__PEFT_NAME];
    char name[TFN__PEFT_NAME];
    tfn_param_info info;
    tfn_tensor t;
    for (int32_t k = 0; tfn__peft_file(p->x, k); k++) {
        tfn_file *f = tfn__peft_file(p->x, k);
        for (int32_t i = 0; p->x->error.status == TFN_OK; i++) {
            bool placed = false;
            if (!tfn_file_tensor(f, i, &t)) break;
            if (!tfn__peft_split(t.name, module)) tfn__peft_unknown(p->x, t.name);
            for (int32_t n = 0; p->x->error.status == TFN_OK; n++) {
                if (!tfn__peft_map(p->x, &m->desc, module, n, false, name, sizeof name)) break;
                TFNORM_MEMCPY(name + tfn__length(name) - (sizeof "weight" - 1), "lora_a", 7);
                if (tfn__named_param(m, name, &info)) placed = true;
            }
            if (!placed)
                tfn__fail_name(&p->x->error, TFN_UNSUPPORTED, "import", "the adapter has a tensor "
                               "%s, for which the model has no LoRA", t.name);
        }
        tfn__import_fine(p->x, f);
    }
}

TFNORM_API tfn_status tfn_peft_read(tfn_import *x, tfn_model *m)
{
    tfn__peft p;
    tfn__peft_pair pair;
    if (!x) return TFN_NULL;
    tfn__no_error(&x->error);
    if (!tfn__given(&x->error, "import", "model", m)) return x->error.status;
    tfn__made(&m->error, "model", m->weights);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return m->error.status;
    tfn__peft_open(&p, x);
    if (x->error.status == TFN_OK) tfn__peft_check_all(&p, m);
    for (int32_t i = 0; tfn__peft_next(&p, m, &i, &pair);) continue;        /* check all first */
    if (x->error.status == TFN_OK) tfn__start_over(m);
    for (int32_t i = 0; tfn__peft_next(&p, m, &i, &pair);) {
        tfn__peft_read_pair(&p, m, &pair);
        if (!pair.found) continue;
        if (tfn__import_fine(x, pair.a.file) && tfn__import_fine(x, pair.b.file)) continue;
        tfn__fail(&m->error, TFN_NOT_READY, "model", "it was half loaded from a file", 0, 0);
    }
    tfn__import_close(x);
    return x->error.status;
}
TFN__RARE_END
