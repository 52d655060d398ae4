#ifndef TFN__SAFETENSORS_H
#define TFN__SAFETENSORS_H
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../text/json.h"

/* The files of safetensors: reads the header of one file or of several with an index, finds
 * tensors by name, converts their values, and writes such files. Offers this to checkpoints and
 * to the hub. Builds on files and json. */

/* The header stays in memory unparsed, so that the file's size determines the work that the caller
 * must give. `entries` holds the position of each tensor's name in the header, and `order` sorts
 * them by name: 28 bytes a tensor, where a tfn_tensor has 232. A tensor is parsed again at each
 * use. */
enum {
    TFN__RANK = 8,                      /* most dimensions of a tfn_tensor */
    TFN__HEADER_MOST = 100000000,       /* bytes: the reference implementation's limit */
    TFN__ENTRY_BYTES = 49,              /* length of the shortest entry; bounds their number */
    TFN__CHUNK = 128                    /* values that are converted at a time */
};

typedef struct tfn__dtype {
    char    name[12];
    uint8_t bits, code, exponent_bits;
} tfn__dtype;
extern SHARED const tfn__dtype tfn__dtypes[TFN_DTYPE_COUNT];
SHARED bool tfn__has_values(tfn_dtype d);

#ifdef TFN__DOUBLE
enum { TFN__FLOAT = TFN_DTYPE_F64 };
#else
enum { TFN__FLOAT = TFN_DTYPE_F32 };
#endif
SHARED int64_t tfn__volume(int64_t count, int64_t size);
SHARED uint8_t *tfn__room_for_header(tfn_file *f, size_t n);
SHARED void tfn__list_entries(tfn_file *f);
SHARED bool tfn__file_open(tfn_file *f);
SHARED bool tfn__file_given(tfn_file *f, const char *name, const void *p);

/* Loop over the texts of __metadata__ or of an index. Opening the file has checked them:
 *     for (bool more = tfn__texts_open(f, &r); more; more = tfn__json_more(&r, '}'))
 *         value = tfn__next_text(&r, name);
 */
enum { TFN__NAME_ROOM = sizeof(((tfn_error *)0)->name) };
SHARED bool tfn__texts_open(const tfn_file *f, tfn__reader *r);
SHARED tfn__reader tfn__next_text(tfn__reader *r, char *name);
SHARED void tfn__copy_string(tfn__text *t, tfn__reader r);
SHARED void tfn__read_as(tfn_file *f, const tfn_tensor *t, void *to, tfn_dtype as, int64_t first,
                         int64_t count);

/* The tensors to write: tensor i of `count`, left out if it has no name. metadata writes
 * __metadata__, and values writes the values of tensor i; if NULL, its data are written. So a model
 * is written without a list of its tensors in memory: a large one has thousands. */
typedef struct tfn__source {
    const void *user;
    int32_t count;
    void  (*tensor)(const struct tfn__source *s, int32_t i, tfn_tensor *t);
    void  (*metadata)(const struct tfn__source *s, tfn_file *f);
    void  (*values)(const struct tfn__source *s, int32_t i, tfn_file *f);
} tfn__source;
SHARED void tfn__flush_text(tfn_file *f, tfn__text *t);
SHARED void tfn__put_name(tfn__text *t, const char *s, tfn_file *f);
SHARED tfn_status tfn__write_source(tfn_file *f, const tfn__source *s, tfn__arena a);
#endif /* TFN__SAFETENSORS_H */
