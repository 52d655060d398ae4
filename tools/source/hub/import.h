#ifndef TFN__IMPORT_H
#define TFN__IMPORT_H
#include "../ground/ground.h"
#include "config_json.h"

/* Names are few and short. So forms are compared directly, without a table of names, although each
 * name is compared several times a tensor: a hundred layers take a tenth of a second.
 *
 * The text that fills '#' and '*' in a name: */
typedef struct tfn__blanks { int32_t layer; const char *last; } tfn__blanks;
enum { TFN__PREFIX_ROOM = 64 };
SHARED bool tfn__has_form(const char *form, const char *name, tfn__blanks *b);
SHARED void tfn__put_form(char *to, size_t size, const char *prefix, const char *form,
                          const tfn__blanks *b);
SHARED const tfn_tensor_rule *tfn__tensor_rule(const tfn_family *family, const tfn_model_desc *d,
                                               const char *name, tfn__blanks *b);
SHARED bool tfn__rule_holds(const tfn_tensor_rule *r, const tfn_model_desc *d);
SHARED const tfn_tensor_rule *tfn__rules_of(const tfn_family *family);
SHARED bool tfn__next_prefix(const tfn_family *family, const char **list, char *prefix,
                             size_t size);
SHARED bool tfn__import_fine(tfn_import *x, const tfn_file *f);
SHARED tfn_file *tfn__import_file(tfn_import *x, tfn_file *f, const char *name);
SHARED void tfn__read_text(tfn_import *x, tfn_file *f, const char *name);
SHARED bool tfn__open_named(tfn_import *x, const char *name);
SHARED void tfn__import_close(tfn_import *x);
SHARED void tfn__bad_tensor(tfn_import *x, const char *text, const char *name, int64_t found,
                            int64_t wanted);
SHARED void tfn__start_over(tfn_model *m);
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
SHARED void tfn__read_strided(const tfn__match *c, float *to, int64_t first, int64_t count,
                              int64_t step);
SHARED bool tfn__named_param(const tfn_model *m, const char *name, tfn_param_info *info);
#endif /* TFN__IMPORT_H */
