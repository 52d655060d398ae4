#ifndef TFN__CONFIG_JSON_H
#define TFN__CONFIG_JSON_H
#include "../ground/ground.h"
#include "../text/json.h"

/* Reads config.json: finds the family, and sets options by its rules and texts. Offers lookups
 * of keys to import and export. Builds on families, keys and fields. */

/* A config.json has a few kilobytes and a family some thirty rules. So each rule reads the text
 * from its beginning: no tree in memory, no second form of the values. If a key appears twice in an
 * object, the first one counts. */
enum {
    TFN__VALUE_ROOM = 128,              /* bytes of a value; a longer one is cut and matches none */
    TFN__CONFIG_DEPTH = 16              /* objects in objects */
};

enum { TFN__HUB_ACTIVATIONS = 15 };
extern SHARED const char *const tfn__hub_activations[TFN__HUB_ACTIVATIONS][3];
SHARED bool tfn__config_find(tfn__reader *r, const char *path);
SHARED void tfn__put_config_value(tfn__text *t, tfn__reader r);
SHARED const char *tfn__hub_activation(const char *name, tfn_key_form form);
SHARED int64_t tfn__whole_text(const char *text);
SHARED bool tfn__key_takes(const tfn_key_rule *k, const char *name);

/* Layers, reported in order: the first with a feature, and the two after it without; -1: not yet
 * found. */
typedef struct tfn__layers { int32_t count, from, first, second; } tfn__layers;
SHARED tfn__layers tfn__no_layers(void);
SHARED void tfn__tell_layer(tfn__layers *s, bool has);
SHARED void tfn__set_window_by(tfn_model_desc *d, const tfn__layers *s);
SHARED bool tfn__layer_has(const tfn_model_desc *d, const tfn_key_rule *k, int32_t l);
SHARED const char *tfn__layer_name(const tfn_key_rule *k, bool has, char *word, size_t size);
SHARED const tfn_key_rule *tfn__rule_of_key(const tfn_family *family, const char *key);
SHARED const tfn_key_rule *tfn__inside_rule(const tfn_family *family);
SHARED bool tfn__is_rule(const tfn_key_rule *k);
SHARED void tfn__apply_keys(tfn_import *x, tfn_model_desc *d, const tfn_family *family);
SHARED void tfn__check_config(tfn_import *x, const char *text);
SHARED void tfn__check_keys(tfn_import *x);
SHARED void tfn__find_family(tfn_import *x);
#endif /* TFN__CONFIG_JSON_H */
