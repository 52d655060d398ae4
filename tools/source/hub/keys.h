#ifndef TFN__KEYS_H
#define TFN__KEYS_H
#include "../ground/ground.h"
#include "../text/json.h"

/* Keys of config.json without a rule: keys that do not change the forward, and keys that must never
 * be skipped. The path of a key inside an object has a dot ("rope_scaling.factor"). */
SHARED bool tfn__next_word(const char **list, char *word, size_t size);
SHARED bool tfn__same_value(const char *found, const char *text);
SHARED bool tfn__key_is_idle(const tfn_family *family, const char *path, tfn__reader value);
SHARED bool tfn__key_is_grave(const char *path);
#endif /* TFN__KEYS_H */
