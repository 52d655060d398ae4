#ifndef TFN__EXPORT_H
#define TFN__EXPORT_H
#include "../ground/ground.h"
#include "../files/safetensors.h"
#include "import.h"

/* Converts values to a dtype and writes them to a file. Without a file (f NULL), only counts values
 * that the dtype cannot hold. */
typedef struct tfn__packing {
    tfn_file *f;
    tfn_dtype dtype;
    int64_t   lost, beyond;                 /* values it cannot hold; those of them too large */
    float     plus;                         /* added to each value, except in block formats */
    size_t    used;
    uint8_t   bytes[8 * TFN__CHUNK];
    float     block[32];                    /* of a block format: the values of the next block */
    int32_t   filled;
} tfn__packing;

SHARED void tfn__pack(tfn__packing *p, const float *from, int64_t count, int64_t step);

enum { TFN__FUSED_MOST = 4 };               /* parameters that one tensor holds side by side */

/* A tensor of a file and the parameters that it holds. part[0] has the rule of part 0. */
typedef struct tfn__fusion {
    tfn__match  part[TFN__FUSED_MOST];
    tfn__blanks blanks;
    int32_t     parts;
    bool        vector;
} tfn__fusion;
SHARED bool tfn__fuse(const tfn_export *x, const tfn_model *m, int32_t i, tfn__fusion *o,
                      tfn_error *e);
SHARED const tfn_tensor_rule *tfn__rule_of_part(const tfn_family *family, const char *theirs,
                                                int32_t part);
SHARED int32_t tfn__part_at(const tfn__fusion *o, const tfn_model_desc *d, int64_t *j);
SHARED void tfn__pack_tensor(tfn__packing *p, const tfn__fusion *o, const tfn_model_desc *d);
SHARED void tfn__flush_values(tfn__packing *p);
SHARED tfn_dtype tfn__dtype_for(const tfn_export *x, const tfn__fusion *o,
                                const tfn_model_desc *d, float plus, tfn_error *e);

/* The state that the functions of a tfn__source share. */
typedef struct tfn__exporting {
    const tfn_export *x;
    const tfn_model  *m;
    uint8_t          *dtypes;               /* of the tensor whose part 0 is parameter i; 0: none */
    bool              bare;                 /* the model has no head, so names have no prefix */
    float             plus;                 /* is added to gains: see tfn__plus_of */
} tfn__exporting;
SHARED float tfn__plus_of(const tfn_model *m, const tfn_model_desc *d);
SHARED float tfn__plus_for(const tfn__exporting *g, const tfn__fusion *o);
SHARED bool tfn__change_norm(tfn_model_desc *d, const char *from, const char *to);
SHARED void tfn__hub_tensor(const tfn__source *s, int32_t i, tfn_tensor *t);

enum { TFN__CONFIG_ROOM = 8192 };           /* bytes: 1,000, and 20 for the window of each layer */
enum { TFN__ID_PAD, TFN__ID_BEGIN, TFN__ID_END, TFN__ID_START, TFN__IDS };
SHARED void tfn__spell_out(tfn_model_desc *d);
SHARED const char *tfn__class_of(const tfn_family *family, const tfn_model_desc *d,
                                 const char **pattern, bool *heads);
SHARED int32_t tfn__special_id(const tfn_export *x, int i);
SHARED size_t tfn__put_config(const tfn_export *x, const tfn_family *family,
                              const tfn_model_desc *d, char *to, size_t size);
SHARED void tfn__find_export(tfn_export *x, const tfn_model_desc *d,
                             const tfn_family *(*at)(int32_t i), const char *none);
SHARED void tfn__find_folder(tfn_export *x, tfn_model_desc *d);
SHARED void tfn__check_whole(tfn_export *x, const tfn_model *m);
SHARED void tfn__check_export(tfn_export *x, const tfn_model *m);
SHARED void tfn__check_dtype(tfn_export *x);
SHARED bool tfn__begin_export(tfn_export *x, const tfn_model *m);
#endif /* TFN__EXPORT_H */
