#include "pickle.h"
#include "../ground/basics.h"
#include "../model/resolve.h"
#include "../text/json.h"
#include "../files/files.h"
#include "../files/safetensors.h"

TFN__RARE
/* Reads pytorch_model.bin, as torch.save writes it since PyTorch 1.6: a zip archive without
 * compression, with a pickle, NAME/data.pkl, and the bytes of each storage, NAME/data/KEY. A
 * pickle is a program for a stack machine. This machine knows the operations that build a
 * dictionary of tensors, and executes nothing else. It also knows by name four functions that
 * a pickle may call, and refuses all others. Builds on files and safetensors.
 *
 * The result is a header like that of safetensors with places in this file, so that the rest of the
 * library reads both kinds alike. Files are hostile: each place is checked against the size of the
 * file, and the sizes of the directory and of the pickle bound the memory. */
enum {
    TFN__PICKLE_MOST = 8 << 20,         /* bytes of data.pkl */
    TFN__PICKLE_RANK = 64,              /* most dimensions: a pickle may reuse one tuple */
    TFN__PICKLE_NAME = 1024,            /* most bytes of a name: a pickle may reuse one text */
    TFN__ZIP_MOST = 64 << 20,           /* most bytes of the directory */
    TFN__ZIP_ENTRY = 46,                /* bytes of an entry without its name */
    TFN__ZIP_END = 22,
    TFN__ZIP_TAIL = TFN__ZIP_END + 65535         /* a comment may follow */
};

/* -- zip ------------------------------------------------------------------------------------- */

typedef struct tfn__zip {
    tfn_file *f;
    uint8_t  *list;                     /* the central directory */
    size_t    bytes;
    uint32_t *at;                       /* place of each entry in it */
    int32_t  *order, count;             /* entries sorted by name */
} tfn__zip;

static size_t tfn__zip_number(const tfn__zip *z, size_t at, size_t bytes)
{
    return (size_t)tfn__from_bytes(z->list + at, bytes);
}

/* Compare the name of an entry with n bytes: -1, 0 or 1. */
static int tfn__zip_compare(const tfn__zip *z, int32_t i, const uint8_t *name, size_t n)
{
    const uint8_t *own = z->list + z->at[i] + TFN__ZIP_ENTRY;
    const size_t bytes = tfn__zip_number(z, z->at[i] + 28, 2);
    const size_t common = bytes < n ? bytes : n;
    for (size_t k = 0; k < common; k++) {
        if (own[k] < name[k]) return -1;
        if (own[k] > name[k]) return 1;
    }
    return (bytes > n) - (bytes < n);
}

static bool tfn__zip_before(const void *x, int32_t i, int32_t j)
{
    const tfn__zip *z = (const tfn__zip *)x;
    return tfn__zip_compare(z, i, z->list + z->at[j] + TFN__ZIP_ENTRY,
                            tfn__zip_number(z, z->at[j] + 28, 2)) < 0;
}

/* The entry of this name; -1: not found. */
static int32_t tfn__zip_find(const tfn__zip *z, const char *name)
{
    int32_t low = 0;
    int32_t high = z->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const int found = tfn__zip_compare(z, z->order[middle], (const uint8_t *)name,
                                           tfn__length(name));
        if (!found) return z->order[middle];
        if (found < 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

/* Find the directory from the record at the end of the file, or from that of zip64. */
static bool tfn__zip_directory(tfn_file *f, const uint8_t *tail, size_t bytes, uint64_t *begin,
                               uint64_t *size)
{
    uint8_t end[56];
    size_t at = bytes - TFN__ZIP_END;
    while (at) {
        if (tfn__from_bytes(tail + at, 4) == 0x06054b50) break;
        at--;
    }
    if (tfn__from_bytes(tail + at, 4) != 0x06054b50) return false;
    *size = tfn__from_bytes(tail + at + 12, 4);
    *begin = tfn__from_bytes(tail + at + 16, 4);
    if (at < 20 || tfn__from_bytes(tail + at - 20, 4) != 0x07064b50) return true;
    if (!tfn__file_get(f, tfn__from_bytes(tail + at - 12, 8), end, sizeof end)) return false;
    if (tfn__from_bytes(end, 4) != 0x06064b50) return false;
    *size = tfn__from_bytes(end + 40, 8);
    *begin = tfn__from_bytes(end + 48, 8);
    return true;
}

/* Find the place of each entry in the directory; false: it is invalid. */
static bool tfn__zip_entries(tfn__zip *z)
{
    size_t at = 0;
    z->count = 0;
    while (at < z->bytes) {
        size_t bytes = TFN__ZIP_ENTRY;
        if (z->bytes - at < bytes || tfn__zip_number(z, at, 4) != 0x02014b50) return false;
        bytes += tfn__zip_number(z, at + 28, 2) + tfn__zip_number(z, at + 30, 2)
               + tfn__zip_number(z, at + 32, 2);
        if (z->bytes - at < bytes) return false;
        z->at[z->count] = (uint32_t)at;
        z->order[z->count] = z->count;
        z->count++;
        at += bytes;
    }
    tfn__order(z->order, z->count, tfn__zip_before, z);
    return true;
}

/* Read the directory into memory at z->at, which the caller frees. */
static void tfn__zip_open(tfn__zip *z, tfn_file *f)
{
    size_t bytes = TFN__ZIP_TAIL;
    uint64_t begin = 0;
    uint64_t size = 0;
    uint8_t *tail;
    bool fine = false;
    TFNORM_MEMSET(z, 0, sizeof *z);
    z->f = f;
    if (f->used < bytes) bytes = (size_t)f->used;
    if (bytes < TFN__ZIP_END) {
        tfn__bad(f, "it is not a file of torch.save", NULL, 0, 0);
        return;
    }
    tail = (uint8_t *)TFN__MALLOC(bytes);
    if (tail && tfn__file_get(f, f->used - bytes, tail, bytes))
        fine = tfn__zip_directory(f, tail, bytes, &begin, &size);
    TFN__RELEASE(tail);
    if (fine) fine = size <= TFN__ZIP_MOST && size <= f->used && begin <= f->used - size;
    if (fine) {
        const size_t room = (size_t)size / TFN__ZIP_ENTRY + 1;
        z->bytes = (size_t)size;
        z->at = (uint32_t *)TFN__MALLOC(room * (sizeof *z->at + sizeof *z->order) + z->bytes);
        if (!z->at) {
            tfn__file_fail(f, TFN_NO_MEMORY, "no memory for the directory", NULL, 0, 0);
            return;
        }
        z->order = (int32_t *)(void *)(z->at + room);
        z->list = (uint8_t *)(z->order + room);
        fine = tfn__file_get(f, begin, z->list, size) && tfn__zip_entries(z);
    }
    if (!fine) tfn__bad(f, "it is not a zip archive of torch.save", NULL, 0, 0);
}

/* The size or place of an entry, from its 4 bytes. If these are all ones, it is in the extra field
 * of zip64, after `before` other such fields. */
static uint64_t tfn__zip_wide(const tfn__zip *z, size_t at, size_t field, size_t before)
{
    size_t extra = at + TFN__ZIP_ENTRY + tfn__zip_number(z, at + 28, 2);
    const size_t end = extra + tfn__zip_number(z, at + 30, 2);
    const uint64_t value = tfn__from_bytes(z->list + at + field, 4);
    if (value != 0xffffffff) return value;
    while (end - extra >= 4) {
        const size_t bytes = tfn__zip_number(z, extra + 2, 2);
        if (bytes > end - extra - 4) break;
        if (tfn__zip_number(z, extra, 2) == 1 && bytes >= 8 * (before + 1))
            return tfn__from_bytes(z->list + extra + 4 + 8 * before, 8);
        extra += 4 + bytes;
    }
    return value;
}

/* The place of the bytes of entry i in the file; false: they are compressed or missing. */
static bool tfn__zip_place(const tfn__zip *z, int32_t i, uint64_t *begin, uint64_t *size)
{
    uint8_t local[30];
    const size_t at = z->at[i];
    const bool wide_size = tfn__zip_number(z, at + 24, 4) == 0xffffffff;
    const bool wide_packed = tfn__zip_number(z, at + 20, 4) == 0xffffffff;
    const uint64_t packed = tfn__zip_wide(z, at, 20, wide_size);
    const uint64_t from = tfn__zip_wide(z, at, 42, (size_t)wide_size + wide_packed);
    *size = tfn__zip_wide(z, at, 24, 0);
    if (tfn__zip_number(z, at + 10, 2) || packed != *size) return false;
    if (tfn__zip_number(z, at + 8, 2) & 1) return false;            /* encrypted */
    if (from > z->f->used - sizeof local) return false;     /* an entry is longer than local */
    if (!tfn__file_get(z->f, from, local, sizeof local)) return false;
    if (tfn__from_bytes(local, 4) != 0x04034b50) return false;
    *begin = from + sizeof local + tfn__from_bytes(local + 26, 2) + tfn__from_bytes(local + 28, 2);
    return *begin <= z->f->used && *size <= z->f->used - *begin;
}

/* -- pickle: values -------------------------------------------------------------------------- */

enum { TFN__PK_NOTHING, TFN__PK_MARK, TFN__PK_OTHER, TFN__PK_INT, TFN__PK_TEXT, TFN__PK_TUPLE,
       TFN__PK_DICT, TFN__PK_REBUILD, TFN__PK_PARAMETER, TFN__PK_ORDERED, TFN__PK_TYPE,
       TFN__PK_STORAGE, TFN__PK_TENSOR };

/* A text is in the pickle, the members of a tuple are in the pool. A storage is the tuple that
 * names it; a tensor is the tuple from which it is rebuilt. */
typedef struct tfn__pickled {
    int32_t  kind;
    uint32_t n;                         /* bytes of a text, members of a tuple, a dtype */
    int64_t  a;                         /* the number, or where text or members begin */
} tfn__pickled;

typedef struct tfn__pickle {
    tfn_file   *f;
    tfn__zip   *zip;
    const char *folder;                 /* folder inside the archive, "NAME/" */
    const uint8_t *s;
    size_t      size, at;
    tfn__pickled  *stack, *pool, *memo;
    size_t      room, depth, pooled;    /* each table has room for one item per operation */
    tfn__text   text;                   /* the header */
    bool        comma;                  /* the next entry needs a comma in front */
    bool        strided;                /* only tensors that are not row-major */
} tfn__pickle;

static void tfn__pickle_bad(tfn__pickle *p)
{
    tfn__bad(p->f, "data.pkl is not a pickle of tensors at byte %d", NULL, (int64_t)p->at, 0);
}

static void tfn__pickle_push(tfn__pickle *p, int32_t kind, uint32_t n, int64_t a)
{
    tfn__pickled *i = p->stack + p->depth;
    if (p->depth >= p->room) {
        tfn__pickle_bad(p);
        return;
    }
    p->depth++;
    i->kind = kind;
    i->n = n;
    i->a = a;
}

static tfn__pickled tfn__unpickled(tfn__pickle *p)
{
    static const tfn__pickled nothing = { TFN__PK_NOTHING, 0, 0 };
    if (p->depth) return p->stack[--p->depth];
    tfn__pickle_bad(p);
    return nothing;
}

/* The number of items above the last mark. */
static size_t tfn__pickle_marked(tfn__pickle *p)
{
    size_t n = 0;
    while (n < p->depth) {
        if (p->stack[p->depth - 1 - n].kind == TFN__PK_MARK) break;
        n++;
    }
    if (n == p->depth) tfn__pickle_bad(p);
    return n;
}

/* Make a tuple of the last n items and remove the mark below them. */
static void tfn__pickle_tuple(tfn__pickle *p, size_t n, bool marked)
{
    const size_t begin = p->pooled;
    if (!tfn__fine(p->f)) return;
    if (n > p->depth || n > p->room - p->pooled) {
        tfn__pickle_bad(p);
        return;
    }
    p->depth -= n;
    for (size_t i = 0; i < n; i++) p->pool[p->pooled++] = p->stack[p->depth + i];
    if (marked) tfn__unpickled(p);
    tfn__pickle_push(p, TFN__PK_TUPLE, (uint32_t)n, (int64_t)begin);
}

/* Member i of a tuple, a storage or a tensor; for any other item, NOTHING. */
static tfn__pickled tfn__pickled_member(const tfn__pickle *p, const tfn__pickled *tuple, uint32_t i)
{
    static const tfn__pickled nothing = { TFN__PK_NOTHING, 0, 0 };
    const bool has = tuple->kind == TFN__PK_TUPLE || tuple->kind == TFN__PK_STORAGE
                  || tuple->kind == TFN__PK_TENSOR;
    if (!has || i >= tuple->n) return nothing;
    return p->pool[(size_t)tuple->a + i];
}

/* -- pickle: functions ----------------------------------------------------------------------- */

typedef struct tfn__pickle_name { const char *name; int32_t kind; tfn_dtype dtype; }
    tfn__pickle_name;
static const tfn__pickle_name tfn__pickle_names[] = {
    { "torch._utils\n_rebuild_tensor_v2\n", TFN__PK_REBUILD, TFN_DTYPE_DEFAULT },
    { "torch._utils\n_rebuild_tensor\n", TFN__PK_REBUILD, TFN_DTYPE_DEFAULT },
    { "torch._utils\n_rebuild_parameter\n", TFN__PK_PARAMETER, TFN_DTYPE_DEFAULT },
    { "collections\nOrderedDict\n", TFN__PK_ORDERED, TFN_DTYPE_DEFAULT },
    { "torch\nFloatStorage\n", TFN__PK_TYPE, TFN_DTYPE_F32 },
    { "torch\nHalfStorage\n", TFN__PK_TYPE, TFN_DTYPE_F16 },
    { "torch\nBFloat16Storage\n", TFN__PK_TYPE, TFN_DTYPE_BF16 },
    { "torch\nDoubleStorage\n", TFN__PK_TYPE, TFN_DTYPE_F64 },
    { "torch\nLongStorage\n", TFN__PK_TYPE, TFN_DTYPE_I64 },
    { "torch\nIntStorage\n", TFN__PK_TYPE, TFN_DTYPE_I32 },
    { "torch\nShortStorage\n", TFN__PK_TYPE, TFN_DTYPE_I16 },
    { "torch\nCharStorage\n", TFN__PK_TYPE, TFN_DTYPE_I8 },
    { "torch\nByteStorage\n", TFN__PK_TYPE, TFN_DTYPE_U8 },
    { "torch\nBoolStorage\n", TFN__PK_TYPE, TFN_DTYPE_BOOL },
    { "torch\nSize\n", TFN__PK_OTHER, TFN_DTYPE_DEFAULT }
};

static bool tfn__pickle_equal(const tfn__pickle *p, int64_t at, uint32_t n, const char *text)
{
    if (tfn__length(text) != n) return false;
    for (uint32_t i = 0; i < n; i++)
        if (p->s[(size_t)at + i] != (uint8_t)text[i]) return false;
    return true;
}

/* Look up a function by its module and name, each with its line's end. */
static void tfn__pickle_function(tfn__pickle *p, int64_t at, uint32_t n)
{
    char name[96];
    tfn__text t = tfn__text_in(name, sizeof name);
    for (size_t i = 0; i < sizeof tfn__pickle_names / sizeof *tfn__pickle_names; i++) {
        const tfn__pickle_name *row = tfn__pickle_names + i;
        if (!tfn__pickle_equal(p, at, n, row->name)) continue;
        tfn__pickle_push(p, row->kind, (uint32_t)row->dtype, 0);
        return;
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        const char c = (char)p->s[(size_t)at + i];
        if (c == '\n') tfn__put(&t, ".");
        else if (c >= ' ' && c <= '~') tfn__put_bytes(&t, &c, 1);
        else tfn__put(&t, "?");
    }
    tfn__file_fail(p->f, TFN_UNSUPPORTED, "data.pkl calls %s, which no file of tensors needs",
                   tfn__end(&t), 0, 0);
}

/* Make a call: the function, then its arguments. */
static void tfn__pickle_call(tfn__pickle *p)
{
    const tfn__pickled arguments = tfn__unpickled(p);
    const tfn__pickled function = tfn__unpickled(p);
    tfn__pickled first;
    if (arguments.kind != TFN__PK_TUPLE) tfn__pickle_bad(p);
    else if (function.kind == TFN__PK_REBUILD)
        tfn__pickle_push(p, TFN__PK_TENSOR, arguments.n, arguments.a);
    else if (function.kind == TFN__PK_PARAMETER) {
        first = tfn__pickled_member(p, &arguments, 0);
        tfn__pickle_push(p, first.kind, first.n, first.a);
    } else if (function.kind == TFN__PK_ORDERED) tfn__pickle_push(p, TFN__PK_DICT, 0, 0);
    else if (function.kind == TFN__PK_OTHER) tfn__pickle_push(p, TFN__PK_OTHER, 0, 0);
    else tfn__pickle_bad(p);
}

/* -- pickle: tensors ------------------------------------------------------------------------- */

/* The place of a storage's bytes in the file: ("storage", type, key, device, count). */
static tfn_dtype tfn__pickle_place(tfn__pickle *p, const tfn__pickled *storage, uint64_t *begin,
                                    uint64_t *size)
{
    const tfn__pickled type = tfn__pickled_member(p, storage, 1);
    const tfn__pickled key = tfn__pickled_member(p, storage, 2);
    char name[512];
    tfn__text t = tfn__text_in(name, sizeof name);
    int32_t entry = -1;
    if (storage->kind != TFN__PK_STORAGE || type.kind != TFN__PK_TYPE || key.kind != TFN__PK_TEXT) {
        tfn__pickle_bad(p);
        return TFN_DTYPE_DEFAULT;
    }
    tfn__put_texts(&t, p->folder, "data/", NULL);
    tfn__put_bytes(&t, p->s + key.a, key.n);
    tfn__end(&t);
    if (t.used < t.size) entry = tfn__zip_find(p->zip, name);
    if (entry < 0 || !tfn__zip_place(p->zip, entry, begin, size))
        tfn__bad(p->f, "the archive lacks %s, or has it compressed", name, 0, 0);
    return (tfn_dtype)type.n;
}

/* Numbers of a tuple, and their product, -1 if an int64_t cannot hold it. */
static int64_t tfn__pickle_shape(tfn__pickle *p, const tfn__pickled *tuple)
{
    int64_t product = 1;
    if (tuple->kind != TFN__PK_TUPLE || tuple->n > TFN__PICKLE_RANK) tfn__pickle_bad(p);
    for (uint32_t i = 0; i < tuple->n; i++) {
        const tfn__pickled side = tfn__pickled_member(p, tuple, i);
        if (side.kind != TFN__PK_INT || side.a < 0 || side.a >> 48) tfn__pickle_bad(p);
        if (!tfn__fine(p->f)) return -1;
        product = tfn__volume(product, side.a);
    }
    return product;
}

/* True if the values are row-major. The stride of a side of length 1 does not matter. */
static bool tfn__pickle_plain(const tfn__pickle *p, const tfn__pickled *shape,
                              const tfn__pickled *strides)
{
    int64_t wanted = 1;
    if (strides->n != shape->n) return false;
    for (uint32_t i = shape->n; i-- > 0;) {
        const int64_t side = tfn__pickled_member(p, shape, i).a;
        if (side != 1 && tfn__pickled_member(p, strides, i).a != wanted) return false;
        wanted *= side;
    }
    return true;
}

static void tfn__put_pickled_name(tfn__pickle *p, const tfn__pickled *key)
{
    size_t at = 0;
    int32_t c;
    tfn__put(&p->text, "\"");
    while (at < key->n) {
        at += tfn__utf8(p->s + (size_t)key->a + at, key->n - at, &c);
        tfn__put_json(&p->text, c);
    }
    tfn__put(&p->text, "\"");
}

/* Put "NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[BEGIN,END]}. For a tensor that is not
 * row-major, put only "NAME":"strides", which goes into __metadata__. */
static void tfn__put_pickled(tfn__pickle *p, const tfn__pickled *key, const tfn__pickled *tensor)
{
    const tfn__pickled storage = tfn__pickled_member(p, tensor, 0);
    const tfn__pickled offset = tfn__pickled_member(p, tensor, 1);
    const tfn__pickled shape = tfn__pickled_member(p, tensor, 2);
    const tfn__pickled strides = tfn__pickled_member(p, tensor, 3);
    const int64_t count = tfn__pickle_shape(p, &shape);
    uint64_t begin = 0;
    uint64_t size = 0;
    uint64_t each, from;
    const tfn_dtype dtype = tfn__pickle_place(p, &storage, &begin, &size);
    bool plain;
    tfn__pickle_shape(p, &strides);
    if (!tfn__fine(p->f)) return;
    each = tfn__dtypes[dtype].bits / 8;
    from = (uint64_t)offset.a;
    if (offset.kind != TFN__PK_INT || offset.a < 0 || count < 0 || key->n > TFN__PICKLE_NAME
        || !tfn__is_utf8(p->s + key->a, key->n)) {
        tfn__pickle_bad(p);
        return;
    }
    plain = count == 0 || tfn__pickle_plain(p, &shape, &strides);
    if (plain && (from > size / each || (uint64_t)count > size / each - from))
        tfn__bad(p->f, "a tensor of data.pkl extends past its storage", NULL, 0, 0);
    if (plain == p->strided || !tfn__fine(p->f)) return;
    if (p->comma) tfn__put(&p->text, ",");
    p->comma = true;
    tfn__put_pickled_name(p, key);
    if (p->strided) {
        tfn__put(&p->text, ":\"strides\"");
        return;
    }
    tfn__put_texts(&p->text, ":{\"dtype\":\"", tfn__dtypes[dtype].name, "\",\"shape\":[");
    for (uint32_t i = 0; i < shape.n; i++) {
        if (i) tfn__put(&p->text, ",");
        tfn__put_int(&p->text, NULL, tfn__pickled_member(p, &shape, i).a, NULL);
    }
    begin += from * each;
    tfn__put_int(&p->text, "],\"data_offsets\":[", (int64_t)begin, ",");
    tfn__put_int(&p->text, NULL, (int64_t)(begin + (uint64_t)count * each), "]}");
}

/* Put the tensors among the last n items, which are pairs of a key and a value. */
static void tfn__put_items(tfn__pickle *p, size_t n)
{
    for (size_t i = p->depth - n; i < p->depth; i += 2) {
        const tfn__pickled key = p->stack[i];
        const tfn__pickled value = p->stack[i + 1];
        if (key.kind != TFN__PK_TEXT || value.kind != TFN__PK_TENSOR) continue;
        if (tfn__fine(p->f)) tfn__put_pickled(p, &key, &value);
        if (p->text.used > TFN__HEADER_MOST)
            tfn__file_fail(p->f, TFN_TOO_LARGE, "data.pkl has too many tensors", NULL, 0, 0);
    }
}

/* Set the keys and values above the mark, or the last two items, in the dictionary below them. Only
 * the pickle's first dictionary has the tensors; others are inside it. */
static void tfn__pickle_set(tfn__pickle *p, size_t n, bool marked)
{
    const size_t below = n + marked + 1;
    if (n % 2 || p->depth < below || p->stack[p->depth - below].kind != TFN__PK_DICT)
        tfn__pickle_bad(p);
    else {
        if (p->depth == below) tfn__put_items(p, n);
        p->depth -= n + marked;
    }
}

/* -- pickle: operations ---------------------------------------------------------------------- */

/* An operation and its argument: a number, or a text. */
typedef struct tfn__pickle_op { uint8_t code; int64_t number; uint32_t bytes; } tfn__pickle_op;

/* Step over `bytes` bytes; false: there are not as many. */
static bool tfn__pickle_take(tfn__pickle *p, size_t bytes, size_t *at)
{
    *at = p->at;
    if (bytes > p->size - p->at) {
        tfn__pickle_bad(p);
        return false;
    }
    p->at += bytes;
    return true;
}

/* Read a text after its length, a number of `width` bytes. */
static void tfn__pickle_text(tfn__pickle *p, size_t width, tfn__pickle_op *o)
{
    size_t at;
    if (!tfn__pickle_take(p, width, &at)) return;
    o->bytes = (uint32_t)tfn__from_bytes(p->s + at, width);
    if (tfn__pickle_take(p, o->bytes, &at)) o->number = (int64_t)at;
}

/* Read two lines: a module and a name. */
static void tfn__pickle_lines(tfn__pickle *p, tfn__pickle_op *o)
{
    int lines = 0;
    o->number = (int64_t)p->at;
    while (lines < 2 && p->at < p->size) lines += p->s[p->at++] == '\n';
    if (lines < 2) tfn__pickle_bad(p);
    o->bytes = (uint32_t)(p->at - (size_t)o->number);
}

static void tfn__pickle_number(tfn__pickle *p, size_t width, tfn__pickle_op *o)
{
    size_t at;
    if (tfn__pickle_take(p, width, &at)) o->number = (int64_t)tfn__from_bytes(p->s + at, width);
}

/* Read a signed number of 4 bytes, or of up to 8. */
static int64_t tfn__pickle_signed(const tfn__pickle *p, size_t at, uint32_t bytes)
{
    const uint64_t v = tfn__from_bytes(p->s + at, bytes);
    if (!bytes || bytes == 8 || !(v >> (8 * bytes - 1))) return (int64_t)v;
    return (int64_t)(v | ~UINT64_C(0) << 8 * bytes);
}

/* Read the next operation; refuse one that no file of tensors has. */
static tfn__pickle_op tfn__pickle_next(tfn__pickle *p)
{
    static const char plain[] = "}])(tRQusaebN.0\x85\x86\x87\x88\x89";
    tfn__pickle_op o = { 0, 0, 0 };
    size_t at;
    if (!tfn__pickle_take(p, 1, &at)) return o;
    o.code = p->s[at];
    switch (o.code) {
    case 'q': case 'h': case 'K': case 0x80:
        tfn__pickle_number(p, 1, &o);
        break;
    case 'M':
        tfn__pickle_number(p, 2, &o);
        break;
    case 'r': case 'j':
        tfn__pickle_number(p, 4, &o);
        break;
    case 'J':
        if (tfn__pickle_take(p, 4, &at)) o.number = tfn__pickle_signed(p, at, 4);
        break;
    case 'G':
        tfn__pickle_number(p, 8, &o);
        break;
    case 'U':
        tfn__pickle_text(p, 1, &o);
        break;
    case 'X': case 'T':
        tfn__pickle_text(p, 4, &o);
        break;
    case 0x8a:
        tfn__pickle_text(p, 1, &o);
        if (o.bytes > 8) tfn__pickle_bad(p);
        else if (tfn__fine(p->f)) o.number = tfn__pickle_signed(p, (size_t)o.number, o.bytes);
        break;
    case 'c':
        tfn__pickle_lines(p, &o);
        break;
    default:
        for (size_t i = 0; i + 1 < sizeof plain; i++)
            if (o.code == (uint8_t)plain[i]) return o;
        tfn__file_fail(p->f, TFN_UNSUPPORTED, "data.pkl has the operation %d at byte %d, which no "
                       "file of tensors needs", NULL, o.code, (int64_t)at);
    }
    return o;
}

/* Keep the last item under a number, or get it back. */
static void tfn__pickle_memo(tfn__pickle *p, int64_t number, bool keep)
{
    if (number >= (int64_t)p->room || (keep && !p->depth)) {
        tfn__pickle_bad(p);
    } else if (keep) {
        p->memo[number] = p->stack[p->depth - 1];
    } else {
        const tfn__pickled i = p->memo[number];
        if (i.kind == TFN__PK_NOTHING) tfn__pickle_bad(p);
        tfn__pickle_push(p, i.kind, i.n, i.a);
    }
}

/* A persistent id names a storage. */
static void tfn__pickle_storage(tfn__pickle *p)
{
    const tfn__pickled tuple = tfn__unpickled(p);
    const tfn__pickled word = tfn__pickled_member(p, &tuple, 0);
    if (tuple.kind != TFN__PK_TUPLE || tuple.n < 5 || word.kind != TFN__PK_TEXT
        || !tfn__pickle_equal(p, word.a, word.n, "storage"))
        tfn__pickle_bad(p);
    else tfn__pickle_push(p, TFN__PK_STORAGE, tuple.n, tuple.a);
}

/* Drop items that are put into a list: lists never hold tensors that matter. */
static void tfn__pickle_append(tfn__pickle *p, size_t n, bool marked)
{
    if (tfn__fine(p->f) && p->depth > n + marked) p->depth -= n + marked;
    else tfn__pickle_bad(p);
}

static void tfn__pickle_do(tfn__pickle *p, const tfn__pickle_op *o)
{
    switch (o->code) {
    case 0x80:
        if (o->number > 3) tfn__pickle_bad(p);
        break;
    case '(': tfn__pickle_push(p, TFN__PK_MARK, 0, 0); break;
    case ')': tfn__pickle_tuple(p, 0, false); break;
    case '}': tfn__pickle_push(p, TFN__PK_DICT, 0, 0); break;
    case ']': case 'N': case 'G': case 0x88: case 0x89:
        tfn__pickle_push(p, TFN__PK_OTHER, 0, 0);
        break;
    case 'K': case 'M': case 'J': case 0x8a: tfn__pickle_push(p, TFN__PK_INT, 0, o->number); break;
    case 'X': case 'U': case 'T': tfn__pickle_push(p, TFN__PK_TEXT, o->bytes, o->number); break;
    case 'c': tfn__pickle_function(p, o->number, o->bytes); break;
    case 't': tfn__pickle_tuple(p, tfn__pickle_marked(p), true); break;
    case 0x85: case 0x86: case 0x87: tfn__pickle_tuple(p, (size_t)o->code - 0x84, false); break;
    case 'q': case 'r': tfn__pickle_memo(p, o->number, true); break;
    case 'h': case 'j': tfn__pickle_memo(p, o->number, false); break;
    case 'R': tfn__pickle_call(p); break;
    case 'Q': tfn__pickle_storage(p); break;
    case 's': tfn__pickle_set(p, 2, false); break;
    case 'u': tfn__pickle_set(p, tfn__pickle_marked(p), true); break;
    case 'a': tfn__pickle_append(p, 1, false); break;
    case 'e': tfn__pickle_append(p, tfn__pickle_marked(p), true); break;
    case 'b': case '0': tfn__unpickled(p); break;
    default: break;
    }
}

/* Run the pickle to its end. The remaining item must be the dictionary. */
static void tfn__pickle_run(tfn__pickle *p, bool strided)
{
    tfn__pickle_op o = { 0, 0, 0 };
    p->at = p->depth = p->pooled = 0;
    p->comma = !strided;                /* after __metadata__ */
    p->strided = strided;
    TFNORM_MEMSET(p->memo, 0, p->room * sizeof *p->memo);
    while (tfn__fine(p->f)) {
        o = tfn__pickle_next(p);
        tfn__pickle_do(p, &o);          /* tfn__pickle_operations has read it before */
        if (o.code == '.') break;
    }
    if (p->depth != 1 || p->stack[0].kind != TFN__PK_DICT) tfn__pickle_bad(p);
}

/* Count the operations: each table needs at most one item per operation. */
static size_t tfn__pickle_operations(tfn__pickle *p)
{
    size_t n = 1;
    p->at = 0;
    while (tfn__fine(p->f)) {
        n++;
        if (tfn__pickle_next(p).code == '.') break;
    }
    return n;
}

/* Build the header of all tensors: once to count its bytes, once to store them. */
static size_t tfn__pickle_header(tfn__pickle *p, uint8_t *to, size_t size)
{
    p->text = tfn__text_in((char *)to, size);
    tfn__put(&p->text, "{\"__metadata__\":{");
    tfn__pickle_run(p, true);
    tfn__put(&p->text, "}");
    if (tfn__fine(p->f)) tfn__pickle_run(p, false);
    tfn__put(&p->text, "}");
    return p->text.used;
}

/* -- the file -------------------------------------------------------------------------------- */

static bool tfn__name_is(const uint8_t *name, const char *text, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (name[k] != (uint8_t)text[k]) return false;
    return true;
}

/* Find the entry data.pkl and the folder that it is in. */
static int32_t tfn__pickle_entry(const tfn__zip *z, char *folder, size_t size)
{
    static const char last[] = "data.pkl";
    const size_t n = sizeof last - 1;
    for (int32_t i = 0; i < z->count; i++) {
        const uint8_t *name = z->list + z->at[i] + TFN__ZIP_ENTRY;
        const size_t bytes = tfn__zip_number(z, z->at[i] + 28, 2);
        tfn__text t = tfn__text_in(folder, size);
        bool same = bytes >= n && (bytes == n || name[bytes - n - 1] == '/');
        if (same) same = tfn__name_is(name + bytes - n, last, n);
        if (!same || bytes - n >= size) continue;
        tfn__put_bytes(&t, name, bytes - n);
        tfn__end(&t);
        return i;
    }
    return -1;
}

/* Place the machine's tables in one block, and the header in the work of the file. */
static void tfn__pickle_read(tfn__pickle *p)
{
    uint8_t *header;
    size_t bytes;
    p->room = tfn__pickle_operations(p);
    if (!tfn__fine(p->f)) return;
    p->stack = (tfn__pickled *)TFN__MALLOC(3 * p->room * sizeof *p->stack);
    if (!p->stack) {
        tfn__file_fail(p->f, TFN_NO_MEMORY, "no memory for data.pkl", NULL, 0, 0);
        return;
    }
    p->pool = p->stack + p->room;
    p->memo = p->pool + p->room;
    bytes = tfn__pickle_header(p, NULL, 0);
    if (!tfn__fine(p->f)) return;
    header = tfn__room_for_header(p->f, bytes + 1);
    if (!tfn__fine(p->f)) return;
    tfn__pickle_header(p, header, bytes + 1);
    header[bytes] = ' ';
    if (tfn__fine(p->f)) tfn__list_entries(p->f);
}

static void tfn__pickle_entries(tfn_file *f, tfn__zip *z)
{
    tfn__pickle p;
    char folder[256];
    uint64_t begin = 0;
    uint64_t size = 0;
    uint8_t *bytes = NULL;
    const int32_t entry = tfn__pickle_entry(z, folder, sizeof folder);
    if (entry < 0 || !tfn__zip_place(z, entry, &begin, &size))
        tfn__bad(f, "the archive lacks data.pkl, or has it compressed", NULL, 0, 0);
    if (size > TFN__PICKLE_MOST)
        tfn__file_fail(f, TFN_TOO_LARGE, "data.pkl has %d bytes, the limit is %d", NULL,
                       (int64_t)size, TFN__PICKLE_MOST);
    if (!tfn__fine(f)) return;
    TFNORM_MEMSET(&p, 0, sizeof p);
    bytes = (uint8_t *)TFN__MALLOC((size_t)size + 1);
    if (!bytes) tfn__file_fail(f, TFN_NO_MEMORY, "no memory for data.pkl", NULL, 0, 0);
    p.f = f;
    p.zip = z;
    p.folder = folder;
    p.s = bytes;
    p.size = (size_t)size;
    if (tfn__file_get(f, begin, bytes, size)) tfn__pickle_read(&p);
    TFN__RELEASE(p.stack);
    TFN__RELEASE(bytes);
}

TFNORM_API tfn_status tfn_pickle_open(tfn_file *f)
{
    uint8_t first = 0;
    tfn__zip z;
    if (!f) return TFN_NULL;
    tfn_file_close(f);
    if (!TFN__PICKLE)
        return tfn__file_fail(f, TFN_UNSUPPORTED, "files of torch.save are left out by "
                              "TFNORM_NO_PICKLE", NULL, 0, 0);
    if (!tfn__begin(f, false)) return f->error.status;
    if (f->used && tfn__file_get(f, 0, &first, 1) && first == 0x80)
        tfn__file_fail(f, TFN_UNSUPPORTED, "it has the form of PyTorch before 1.6: load it there "
                       "and save it again", NULL, 0, 0);
    if (tfn__fine(f)) {
        tfn__zip_open(&z, f);
        if (tfn__fine(f)) tfn__pickle_entries(f, &z);
        TFN__RELEASE(z.at);
    }
    if (!tfn__fine(f)) tfn_file_close(f);
    return f->error.status;
}

/* Open a file of weights of either kind, by its name. */
SHARED tfn_status tfn__open_tensors(tfn_file *f, const char *name)
{
    if (tfn__name_matches("*.bin", name)) return tfn_pickle_open(f);
    return tfn_file_open(f);
}

/* True if the file has this tensor but its values are not row-major. */
SHARED bool tfn__has_strides(tfn_file *f, const char *name)
{
    return f->header && tfn_file_text(f, name, NULL, 0) > 0;
}
TFN__RARE_END
