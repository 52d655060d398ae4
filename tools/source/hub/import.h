#ifndef TFN__IMPORT_H
#define TFN__IMPORT_H
#include "../ground/ground.h"
#include "config_json.h"

/* Names are few and short. So forms are compared directly, without a table of names, although each
 * name is compared several times a tensor: a hundred layers take a tenth of a second.
 *
 * The text that fills '#' and '*' in a name: */
typedef struct tfn__blanks { int32_t layer; const char *last; } tfn__blanks;
SHARED void tfn__put_form(char *to, size_t size, const char *prefix, const char *form,
                          const tfn__blanks *b);
SHARED const tfn_tensor_rule *tfn__tensor_rule(const tfn_family *family, const tfn_model_desc *d,
                                               const char *name, tfn__blanks *b);
SHARED void tfn__folder_path(tfn_error *e, char *path, size_t size, const char *folder,
                             const char *name);

/* A parameter and the place of its values. */
typedef struct tfn__match {
    tfn_param_info info;
    const tfn_tensor_rule *rule;
    tfn_file  *file;
    tfn_tensor tensor;
    bool       table;           /* of packed weights: see tfn__packed */
} tfn__match;
/* Forms whose outputs have another order in the file. */
enum { TFN__FORM_ORDERED = TFN_FORM_BY_HEAD | TFN_FORM_TURNING | TFN_FORM_PAIRS };
SHARED int64_t tfn__outputs(const tfn__match *c, const tfn_model_desc *d);
SHARED int64_t tfn__output_at(const tfn__match *c, const tfn_model_desc *d, int64_t i);
SHARED bool tfn__named_param(const tfn_model *m, const char *name, tfn_param_info *info);
#endif /* TFN__IMPORT_H */
