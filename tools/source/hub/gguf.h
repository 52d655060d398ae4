#ifndef TFN__GGUF_H
#define TFN__GGUF_H
#include "../ground/ground.h"
#include "../ground/basics.h"

/* Reads GGUF, the files of llama.cpp, like a folder of the hub: the scalars of the metadata become
 * a config.json, and rows of data say which key is which option, as for every family. Builds on
 * files, safetensors, blocks, and the rules of part families. */

SHARED bool tfn__is_gguf(const tfn_import *x);
SHARED void tfn__open_gguf(tfn_import *x);
SHARED void tfn__gguf_find_scaling(tfn_import *x, tfn_model_desc *d);

/* Numbers of the format: types of metadata and of tensors. */
enum {
    TFN__GGUF_U8, TFN__GGUF_I8, TFN__GGUF_U16, TFN__GGUF_I16, TFN__GGUF_U32, TFN__GGUF_I32,
    TFN__GGUF_F32, TFN__GGUF_BOOL, TFN__GGUF_STRING, TFN__GGUF_ARRAY, TFN__GGUF_U64,
    TFN__GGUF_I64, TFN__GGUF_F64, TFN__GGUF_TYPES
};

/* A file that is read in order. Functions after an error do nothing. */
typedef struct tfn__gguf {
    tfn_file *f;
    uint64_t  at;                       /* the next byte */
    uint64_t  keys, tensors;            /* their numbers, */
    uint64_t  first_key, first_tensor;  /* and where they begin */
    uint64_t  data, alignment;
    uint32_t  present;                  /* which of tfn__gguf_present the file has */
    int64_t   vocab;
    char      arch[64];
    tfn__text text;
    uint64_t  window;                   /* bytes of the file from `window` on are in memory */
    size_t    window_size;
    uint8_t   bytes[4096];
} tfn__gguf;

typedef enum tfn__gguf_form { TFN__GGUF_PLAIN, TFN__GGUF_MARKED, TFN__GGUF_QUOTED } tfn__gguf_form;
SHARED void tfn__gguf_bad(tfn__gguf *g);
SHARED uint64_t tfn__gguf_number(tfn__gguf *g, size_t bytes);
SHARED void tfn__gguf_string(tfn__gguf *g, char *to, size_t size);
SHARED void tfn__gguf_skip(tfn__gguf *g, uint64_t type);
SHARED const tfn_family *tfn__gguf_family_at(int32_t i);                /* NULL: past the end */
SHARED bool tfn__gguf_is_present(const char *key);
SHARED uint32_t tfn__gguf_type(tfn_dtype dtype);
SHARED int64_t tfn__gguf_size(const tfn_tensor *t);
SHARED void tfn__gguf_put(tfn__gguf *g, tfn__text *t, tfn__gguf_form form);
#endif /* TFN__GGUF_H */
