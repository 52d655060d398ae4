#include "safetensors.h"
#include "files.h"
#include "ggml.h"

TFN__RARE

/* -- safetensors: the header ----------------------------------------------------------------- */

/* Where a tensor's bytes are in the file, and where its name is in the header. */
typedef struct tfn__entry {
    uint64_t begin, end;
    uint32_t at;                        /* its name in the header */
} tfn__entry;

/* How the values of a dtype are coded. Only the bytes of OPAQUE ones are known. Same order as
 * tfn_dtype. Sizes below a byte are legal if all values together fill whole bytes. */
enum { TFN__OPAQUE, TFN__UNSIGNED, TFN__SIGNED, TFN__IEEE, TFN__BLOCKS };
SHARED const tfn__dtype tfn__dtypes[TFN_DTYPE_COUNT] = {
    { "",            0,  TFN__OPAQUE,   0 },
    { "U64",         64, TFN__UNSIGNED, 0 },
    { "I64",         64, TFN__SIGNED,   0 },
    { "F64",         64, TFN__IEEE,     11 },
    { "C64",         64, TFN__OPAQUE,   0 },
    { "F32",         32, TFN__IEEE,     8 },
    { "U32",         32, TFN__UNSIGNED, 0 },
    { "I32",         32, TFN__SIGNED,   0 },
    { "BF16",        16, TFN__IEEE,     8 },
    { "F16",         16, TFN__IEEE,     5 },
    { "U16",         16, TFN__UNSIGNED, 0 },
    { "I16",         16, TFN__SIGNED,   0 },
    { "F8_E5M2FNUZ", 8,  TFN__OPAQUE,   0 },
    { "F8_E4M3FNUZ", 8,  TFN__OPAQUE,   0 },
    { "F8_E8M0",     8,  TFN__OPAQUE,   0 },
    { "F8_E4M3",     8,  TFN__OPAQUE,   0 },
    { "F8_E5M2",     8,  TFN__OPAQUE,   0 },
    { "I8",          8,  TFN__SIGNED,   0 },
    { "U8",          8,  TFN__UNSIGNED, 0 },
    { "F6_E3M2",     6,  TFN__OPAQUE,   0 },
    { "F6_E2M3",     6,  TFN__OPAQUE,   0 },
    { "F4",          4,  TFN__OPAQUE,   0 },
    { "BOOL",        8,  TFN__UNSIGNED, 0 },
    { "GGUF Q4_0",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q4_1",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q5_0",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q5_1",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q8_0",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q4_K",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q5_K",   0,  TFN__BLOCKS,   0 },
    { "GGUF Q6_K",   0,  TFN__BLOCKS,   0 }
};

/* True if the values can be read as numbers. */
SHARED bool tfn__has_values(tfn_dtype d)
{
    return d > TFN_DTYPE_DEFAULT && d < TFN_DTYPE_COUNT && tfn__dtypes[d].code != TFN__OPAQUE;
}

/* Parse any dtype of the format. A tensor whose values cannot be read can still be listed. */
static void tfn__parse_dtype(tfn__reader *r, tfn_tensor *t)
{
    char name[16];
    tfn__json_string(r, name, sizeof name);
    for (int i = 1; i < TFN_DTYPE_COUNT; i++)
        if (tfn__equal(name, tfn__dtypes[i].name)) {
            t->dtype = (tfn_dtype)i;
            return;
        }
    tfn__want(r, "a known dtype");
}

/* count * size. -1 means overflow and stays, like SIZE_MAX in tfn__mul. */
SHARED int64_t tfn__volume(int64_t count, int64_t size)
{
    if (count < 0 || size < 0) return -1;
    if (size && count > INT64_MAX / size) return -1;
    return count * size;
}

/* Parse an array of counts, such as a shape, and return its length. Stores those that fit, and
 * their product, -1 if an int64_t cannot hold it. */
static int32_t tfn__parse_counts(tfn__reader *r, int64_t *to, int32_t room, int64_t *product)
{
    const int64_t most = (INT64_C(1) << 48) - 1;        /* the format's schema allows no more */
    int32_t n = 0;                      /* the header has under 10^8 bytes: no overflow */
    *product = 1;
    for (bool more = tfn__json_open(r, '[', ']'); more; more = tfn__json_more(r, ']')) {
        const int64_t v = tfn__json_count(r, most);
        if (n < room) to[n] = v;
        *product = tfn__volume(*product, v);
        n++;
    }
    return n;
}

/* Parse "NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[BEGIN,END]}. Each key comes once, in
 * any order; others are skipped. An end before the beginning gives bytes that are negative as an
 * int64_t: tfn__check_place finds that, where the message can include the name. */
static void tfn__parse_tensor(tfn__reader *r, tfn_tensor *t)
{
    int64_t offsets[2] = { 0, 0 };
    int64_t ignored;
    bool seen[3] = { false, false, false };
    tfn__reader name;
    TFNORM_MEMSET(t, 0, sizeof *t);
    name = *r;
    if (tfn__json_string(&name, NULL, 0) < sizeof t->name)
        tfn__json_string(r, t->name, sizeof t->name);
    else *r = name;                     /* tfn__keep_entries leaves it out */
    tfn__json_want(r, ':', ":");
    for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
        const int key = tfn__json_key(r, "dtype\"shape\"data_offsets\"");
        if (key < 0) {
            tfn__json_skip(r, 8);
            continue;
        }
        if (seen[key]) tfn__want(r, "each key once");
        seen[key] = true;
        if (key == 0) tfn__parse_dtype(r, t);
        else if (key == 1) t->rank = tfn__parse_counts(r, t->shape, TFN__RANK, &t->count);
        else if (tfn__parse_counts(r, offsets, 2, &ignored) != 2) tfn__want(r, "two offsets");
    }
    if (!seen[0] || !seen[1] || !seen[2])
        tfn__want(r, "a tensor with dtype, shape and data_offsets");
    t->at = (uint64_t)offsets[0];
    t->bytes = (uint64_t)(offsets[1] - offsets[0]);
}

/* True for the name of a file without any folder, so that it cannot lead out of the folder. */
static bool tfn__plain(const char *s)
{
    if (tfn__equal(s, "") || tfn__equal(s, ".") || tfn__equal(s, "..")) return false;
    for (; *s; s++)
        if (*s == '/' || *s == '\\' || *s == ':') return false;
    return true;
}

/* Parse an object of texts, or null, and keep its place. In an index (`files`) the texts are names
 * of files that a program will open, so none of them may lead out of the folder. */
static void tfn__parse_texts(tfn_file *f, tfn__reader *r, bool files)
{
    char file[256];
    if (f->metadata) tfn__want(r, "one of it");
    f->metadata = r->at;
    if (tfn__peek(r) == 'n') {
        tfn__json_skip(r, 0);
        f->metadata_end = r->at;
        return;
    }
    for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
        tfn__json_string(r, NULL, 0);
        tfn__json_want(r, ':', ":");
        if (!files) {
            tfn__json_string(r, NULL, 0);
            continue;
        }
        tfn__json_string(r, file, sizeof file);
        if (!r->wanted && !tfn__plain(file)) tfn__want(r, "a plain file name");
    }
    f->metadata_end = r->at;
}

/* A reader at tensor i, in the header's order. The header was checked. */
static tfn__reader tfn__entry_of(const tfn_file *f, int32_t i)
{
    tfn__reader r = tfn__read_from(f->header, f->header_size);
    r.at = ((const tfn__entry *)f->entries)[i].at;
    return r;
}
/* Parse tensor i; `at` counts from the header's end, as in the file. */
static void tfn__entry_at(const tfn_file *f, int32_t i, tfn_tensor *t)
{
    tfn__reader r = tfn__entry_of(f, i);
    tfn__parse_tensor(&r, t);
}

/* For tfn__order. Compares names in the header, from after their opening quotes, character by
 * character: an escape equals the character that it encodes. */
static bool tfn__name_before(const void *x, int32_t i, int32_t j)
{
    const tfn_file *f = (const tfn_file *)x;
    tfn__reader a = tfn__entry_of(f, i);
    tfn__reader b = tfn__entry_of(f, j);
    a.at++;
    b.at++;
    return tfn__json_compare(a, b) < 0;
}
/* Order by offset. An empty tensor comes before the one that begins at the same byte, so that each
 * begins where the last one ended. */
static bool tfn__offset_before(const void *x, int32_t i, int32_t j)
{
    const tfn_file *f = (const tfn_file *)x;
    const tfn__entry *a = (const tfn__entry *)f->entries + i;
    const tfn__entry *b = (const tfn__entry *)f->entries + j;

    if (a->begin != b->begin) return a->begin < b->begin;
    return a->end < b->end;
}

/* Parse the whole header: check its form, and find the place of every tensor. */
static void tfn__read_entries(tfn_file *f)
{
    tfn__reader r = tfn__read_from(f->header, f->header_size);
    tfn__entry *e = (tfn__entry *)f->entries;
    if (!tfn__is_utf8(r.s, r.size)) tfn__bad(f, "the header is not UTF-8", NULL, 0, 0);
    if (!tfn__fine(f)) return;
    f->metadata = 0;
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__reader key = r;            /* to look at the name and come back */
        tfn_tensor t;
        if (tfn__json_key(&key, "__metadata__\"") == 0) {
            r = key;
            tfn__parse_texts(f, &r, false);
            continue;
        }
        e[f->count].at = (uint32_t)r.at;
        tfn__parse_tensor(&r, &t);
        e[f->count].begin = t.at;
        e[f->count].end = t.at + t.bytes;
        f->count++;
    }
    if (r.at < r.size) tfn__want(&r, "the header's end");
    if (r.wanted)
        tfn__bad(f, "%s is expected at byte %d of the header", r.wanted, (int64_t)r.at, 0);
}

/* Fail if two names are equal. Leaves the tensors in the order of their names. */
static void tfn__check_names(tfn_file *f)
{
    tfn_tensor t;
    tfn__order(f->order, f->count, tfn__name_before, f);
    for (int32_t i = 1; i < f->count; i++) {
        if (tfn__name_before(f, f->order[i - 1], f->order[i])) continue;
        tfn__entry_at(f, f->order[i], &t);
        tfn__bad(f, "%s comes twice", t.name, 0, 0);
    }
}

/* Fail unless a tensor begins where the last one ended and has the bytes of its shape. */
static void tfn__check_place(tfn_file *f, const tfn_tensor *t, uint64_t last)
{
    const int64_t bits = tfn__volume(t->count, tfn__dtypes[t->dtype].bits);
    if (t->at != last)
        tfn__bad(f, "%s begins at %d, %d is expected", t->name, (int64_t)t->at, (int64_t)last);
    if ((int64_t)t->bytes < 0) tfn__bad(f, "%s ends before it begins", t->name, 0, 0);
    if (bits < 0)
        tfn__file_fail(f, TFN_TOO_LARGE, "%s: too many values", t->name, 0, 0);
    else if (bits % 8 || (uint64_t)bits / 8 != t->bytes)
        tfn__bad(f, "%s has %d bytes, its shape needs %d", t->name, (int64_t)t->bytes, bits / 8);
}

/* Leave out tensors whose name or rank does not fit into tfn_tensor. The file is legal, and the
 * other tensors are read. */
static void tfn__keep_entries(tfn_file *f)
{
    int32_t kept = 0;
    tfn_tensor t;
    for (int32_t i = 0; i < f->count; i++) {
        tfn__reader name = tfn__entry_of(f, f->order[i]);
        tfn__entry_at(f, f->order[i], &t);
        if (tfn__json_string(&name, NULL, 0) >= sizeof t.name || t.rank > TFN__RANK) continue;
        f->order[kept++] = f->order[i];
    }
    f->count = kept;
}

/* Fail unless the tensors, ordered by their bytes, follow each other without gap or overlap up to
 * the end of the file. */
static void tfn__check_entries(tfn_file *f)
{
    uint64_t last = 0;
    tfn_tensor t;
    tfn__check_names(f);
    tfn__order(f->order, f->count, tfn__offset_before, f);
    for (int32_t i = 0; i < f->count; i++) {
        if (!tfn__fine(f)) break;
        tfn__entry_at(f, f->order[i], &t);
        tfn__check_place(f, &t, last);
        last += t.bytes;
    }
    if (last != f->used - f->data)
        tfn__bad(f, "the tensors have %d bytes, the file has %d", NULL, (int64_t)last,
                 (int64_t)(f->used - f->data));
    if (!tfn__fine(f)) return;
    tfn__order(f->order, f->count, tfn__name_before, f);    /* for tfn_file_find */
    tfn__keep_entries(f);
}

/* Bytes of the header. The number is not used before it was found to be small enough. */
static size_t tfn__header_size(tfn_file *f)
{
    uint8_t s[8];
    uint64_t n;
    if (f->used < 8) tfn__bad(f, "it has %d bytes, %d are expected", NULL, (int64_t)f->used, 8);
    if (!tfn__file_get(f, 0, s, 8)) return 0;
    n = tfn__from_bytes(s, 8);
    if (n > TFN__HEADER_MOST)
        tfn__bad(f, "the header has over %d bytes", NULL, TFN__HEADER_MOST, 0);
    else if (n > f->used - 8)
        tfn__bad(f, "a header of %d bytes, the file has %d", NULL, (int64_t)n,
                 (int64_t)(f->used - 8));
    if (!tfn__fine(f)) return 0;
    return (size_t)n;
}

/* Place the header of n bytes, its entries and their order in the work. The number of entries is at
 * most n divided by the length of the shortest entry. Returns the bytes that it takes; with an
 * arena that only counts, this is the size that tfn_file_work returns. */
static size_t tfn__place_header(tfn_file *f, tfn__arena a, size_t n)
{
    const size_t room = n / TFN__ENTRY_BYTES + 1;
    f->header = tfn__take(&a, n, 1, &f->error);
    f->entries = tfn__take(&a, room, sizeof(tfn__entry), &f->error);
    f->order = tfn__take_ids(&a, room, &f->error);
    f->header_size = n;
    f->data = 8 + (uint64_t)n;
    return a.used + (TFN__ALIGN - 1);
}

/* Make room for a header of n bytes that comes from elsewhere, with offsets from the file's begin.
 * The caller fills it, then calls tfn__list_entries. */
SHARED uint8_t *tfn__room_for_header(tfn_file *f, size_t n)
{
    const size_t bytes = tfn__place_header(f, tfn__arena_in(NULL, SIZE_MAX), n);
    tfn__place_header(f, tfn__work_of(f, bytes), n);
    f->data = 0;
    return f->header;
}

SHARED void tfn__list_entries(tfn_file *f)
{
    tfn__read_entries(f);
    if (tfn__fine(f)) tfn__check_names(f);
    if (tfn__fine(f)) tfn__keep_entries(f);
}

/* Open the source of the bytes. Returns the work that the header needs, and its size in *n. */
static size_t tfn__open_bytes(tfn_file *f, size_t *n)
{
    *n = 0;
    if (tfn__begin(f, false)) *n = tfn__header_size(f);
    return tfn__place_header(f, tfn__arena_in(NULL, SIZE_MAX), *n);
}

/* Reads only the first 8 bytes: tfn_file_open may still refuse the header. */
TFNORM_API size_t tfn_file_work(tfn_file *f)
{
    size_t n, bytes;
    if (!f) return 0;
    bytes = tfn__open_bytes(f, &n);
    tfn_file_close(f);
    if (!tfn__fine(f)) return 0;
    return bytes;
}

/* The header is read once, into memory of its size, which the file's size bounds. */
TFNORM_API tfn_status tfn_file_open(tfn_file *f)
{
    size_t n, bytes;
    if (!f) return TFN_NULL;
    tfn_file_close(f);
    bytes = tfn__open_bytes(f, &n);
    if (tfn__fine(f)) tfn__place_header(f, tfn__work_of(f, bytes), n);
    if (tfn__file_get(f, 8, f->header, n)) tfn__read_entries(f);
    if (tfn__fine(f)) tfn__check_entries(f);
    if (!tfn__fine(f)) tfn_file_close(f);
    return f->error.status;
}

/* -- safetensors: reading -------------------------------------------------------------------- */

/* True if the file is open; else an error. */
SHARED bool tfn__file_open(tfn_file *f)
{
    if (!f) return false;
    if (!f->header) tfn__file_fail(f, TFN_NOT_READY, "the file is not open", NULL, 0, 0);
    return tfn__fine(f);
}

/* Fail if an argument is NULL. */
SHARED bool tfn__file_given(tfn_file *f, const char *name, const void *p)
{
    if (!p) tfn__file_fail(f, TFN_NULL, "%s is NULL", name, 0, 0);
    return p != NULL;
}

/* In the order of names. `at` counts from the beginning of the file. */
TFNORM_API bool tfn_file_tensor(tfn_file *f, int32_t i, tfn_tensor *t)
{
    if (!tfn__file_open(f) || !tfn__file_given(f, "tensor", t)) return false;
    if (i < 0 || i >= f->count) return false;
    tfn__entry_at(f, f->order[i], t);
    t->at += f->data;
    return true;
}

/* A binary search over the names, which are parsed in place. */
TFNORM_API bool tfn_file_find(tfn_file *f, const char *name, tfn_tensor *t)
{
    int32_t low = 0;
    int32_t high;
    if (!tfn__file_open(f) || !tfn__file_given(f, "name", name)) return false;
    if (!tfn__file_given(f, "tensor", t)) return false;
    high = f->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        int order;
        if (!tfn_file_tensor(f, middle, t)) return false;
        order = tfn__compare(t->name, name);
        if (!order) return true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}
SHARED bool tfn__texts_open(const tfn_file *f, tfn__reader *r)
{
    if (!f->header || !f->metadata || !tfn__fine(f)) return false;
    *r = tfn__read_from(f->header, f->metadata_end);
    r->at = f->metadata;
    return tfn__peek(r) == '{' && tfn__json_open(r, '{', '}');
}
/* Read the name into TFN__NAME_ROOM bytes ("" if too long); returns a reader at the value. */
SHARED tfn__reader tfn__next_text(tfn__reader *r, char *name)
{
    tfn__reader key = *r;
    tfn__reader value;
    tfn__json_string(&key, name, TFN__NAME_ROOM);
    if (key.wanted) name[0] = 0;
    tfn__json_string(r, NULL, 0);
    tfn__json_want(r, ':', ":");
    value = *r;
    tfn__json_string(r, NULL, 0);
    return value;
}

/* Append the characters of a string with escapes resolved. */
SHARED void tfn__copy_string(tfn__text *t, tfn__reader r)
{
    int32_t c;
    tfn__json_mark(&r, '"');
    while ((c = tfn__json_char(&r)) >= 0) tfn__put_code(t, c);
}

/* Like snprintf: returns the bytes of the whole text and stores those that fit. */
TFNORM_API size_t tfn_file_text(tfn_file *f, const char *key, char *text, size_t size)
{
    char name[TFN__NAME_ROOM];
    tfn__text t = tfn__text_in(text, size);
    tfn__reader r;
    tfn__end(&t);                       /* an error leaves an empty text */
    if (!tfn__file_open(f) || !tfn__file_given(f, "key", key)) return 0;
    for (bool more = tfn__texts_open(f, &r); more; more = tfn__json_more(&r, '}')) {
        const tfn__reader value = tfn__next_text(&r, name);
        if (!tfn__equal(name, key)) continue;
        tfn__copy_string(&t, value);
        break;
    }
    tfn__end(&t);
    return t.used;
}

TFN__RARE_END
TFN__SMALL
/* Decode one value as a double. Exact, except for 64-bit integers above 2^53. */
static double tfn__decode(tfn_dtype dtype, const uint8_t *s)
{
    const int bits = tfn__dtypes[dtype].bits;
    const int exponent = tfn__dtypes[dtype].exponent_bits;
    const uint64_t u = tfn__from_bytes(s, (size_t)bits / 8);
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    if (tfn__dtypes[dtype].code == TFN__IEEE) return tfn__ieee(u, exponent, bits - 1 - exponent);
    if (tfn__dtypes[dtype].code == TFN__SIGNED && u & sign)
        return -(double)(sign - (u - sign));            /* 2^bits - u, which 64 bits cannot hold */
    return (double)u;
}

/* Store a value as one of three types. For I32 the caller makes sure that it fits. */
static void tfn__store(void *to, int64_t i, double v, tfn_dtype as)
{
    if (as == TFN_DTYPE_I32) ((int32_t *)to)[i] = (int32_t)v;
    else if (as == TFN_DTYPE_F64) ((double *)to)[i] = v;
    else ((float *)to)[i] = (float)v;
}

/* Read values of a dtype of blocks, a block at a time. */
static void tfn__read_blocks(tfn_file *f, const tfn_tensor *t, void *to, tfn_dtype as,
                             int64_t first, int64_t count)
{
    const tfn__block *b = tfn__block_of(t->dtype);
    float values[TFN__BLOCK_MOST];
    uint8_t s[TFN__BLOCK_BYTES];
    int64_t block = -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = first + i;
        if (at / b->values != block) {
            block = at / b->values;
            if (!tfn__file_get(f, t->at + (uint64_t)(block * b->bytes), s, (uint64_t)b->bytes))
                return;
            tfn__decode_block(t->dtype, s, values);
        }
        tfn__store(to, i, (double)values[at % b->values], as);
    }
}

/* Read values first, first + 1 ... of a tensor as I32, F64 or float. If the file stores this type
 * they are copied, else converted a chunk at a time. */
SHARED void tfn__read_as(tfn_file *f, const tfn_tensor *t, void *to, tfn_dtype as, int64_t first,
                         int64_t count)
{
    const uint64_t each = tfn__dtypes[t->dtype].bits / 8;
    const uint64_t at = t->at + (uint64_t)first * each;
    uint8_t s[8 * TFN__CHUNK];
    if (TFN__GGUF && tfn__block_of(t->dtype)) {
        tfn__read_blocks(f, t, to, as, first, count);
        return;
    }
    if (t->dtype == as && tfn__little()) {
        tfn__file_get(f, at, to, (uint64_t)count * each);
        return;
    }
    for (int64_t done = 0; done < count; done += TFN__CHUNK) {
        int64_t n = count - done;
        if (n > TFN__CHUNK) n = TFN__CHUNK;
        if (!tfn__file_get(f, at + (uint64_t)done * each, s, (uint64_t)n * each)) return;
        for (int64_t i = 0; i < n; i++)
            tfn__store(to, done + i, tfn__decode(t->dtype, s + (uint64_t)i * each), as);
    }
}

/* The tensor comes from tfn_file_find or tfn_file_tensor, which checked its place. But the caller
 * may have changed it, so tfn__file_get checks the bytes again. */
TFNORM_API tfn_status tfn_file_read(tfn_file *f, const tfn_tensor *t, float *to, int64_t first,
                                    int64_t count)
{
    if (!f) return TFN_NULL;
    if (!tfn__file_open(f) || !tfn__file_given(f, "tensor", t)) return f->error.status;
    if (first < 0 || count < 0 || count > t->count - first)
        tfn__file_fail(f, TFN_BAD_SHAPE, "%s has %d values, not %d more", t->name, t->count, count);
    if (!tfn__has_values(t->dtype))
        tfn__file_fail(f, TFN_UNSUPPORTED, "%s has a dtype that is not read", t->name, 0, 0);
    if (count > 0) tfn__file_given(f, "to", to);
    if (tfn__fine(f)) tfn__read_as(f, t, to, (tfn_dtype)TFN__FLOAT, first, count);
    return f->error.status;
}

TFN__SMALL_END
TFN__RARE

/* -- safetensors: writing -------------------------------------------------------------------- */

/* Set count and bytes of a tensor to write. count is -1 for an illegal dtype or shape, or for more
 * bytes than memory can have. */
static void tfn__measure_tensor(tfn_tensor *t)
{
    t->count = -1;
    t->bytes = 0;
    if (t->rank < 0 || t->rank > TFN__RANK || !tfn__has_values(t->dtype)) return;
    if (!tfn__dtypes[t->dtype].bits) return;            /* blocks are not written */
    t->count = 1;
    for (int32_t k = 0; k < t->rank; k++) t->count = tfn__volume(t->count, t->shape[k]);
    if (t->count > INT64_MAX / 64) t->count = -1;       /* its bits must fit, too */
    if (t->count >= 0) t->bytes = (uint64_t)t->count * tfn__dtypes[t->dtype].bits / 8;
    if (t->bytes > SIZE_MAX / 2) t->count = -1;
}

/* Tensor i with its sizes. Called at every use, so s->tensor must always return the same. */
static tfn_tensor tfn__source_tensor(const tfn__source *s, int32_t i)
{
    tfn_tensor t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    s->tensor(s, i, &t);
    if (!t.dtype) t.dtype = TFN_DTYPE_F32;
    tfn__measure_tensor(&t);
    return t;
}

/* For tfn__order: by name. */
static bool tfn__source_name_before(const void *x, int32_t i, int32_t j)
{
    const tfn__source *s = (const tfn__source *)x;
    const tfn_tensor a = tfn__source_tensor(s, i);
    const tfn_tensor b = tfn__source_tensor(s, j);
    return tfn__compare(a.name, b.name) < 0;
}

/* For tfn__order: wide dtypes first, so that every tensor is aligned; then by name. */
static bool tfn__source_before(const void *x, int32_t i, int32_t j)
{
    const tfn__source *s = (const tfn__source *)x;
    const tfn_tensor a = tfn__source_tensor(s, i);
    const tfn_tensor b = tfn__source_tensor(s, j);
    if (a.dtype != b.dtype) return a.dtype < b.dtype;
    return tfn__source_name_before(x, i, j);
}

/* Write the text to the file and empty it. */
SHARED void tfn__flush_text(tfn_file *f, tfn__text *t)
{
    tfn__file_put(f, t->buf, t->used);
    t->used = 0;
}

/* Put the inside of a JSON string of any length. The text goes to the file when it is half full. */
SHARED void tfn__put_name(tfn__text *t, const char *s, tfn_file *f)
{
    const size_t n = tfn__length(s);
    size_t at = 0;
    if (!tfn__is_utf8((const uint8_t *)s, n))
        tfn__file_fail(f, TFN_BAD_OPTION, "a name or text is not UTF-8", NULL, 0, 0);
    while (at < n) {
        int32_t c;
        if (!tfn__fine(f)) return;
        at += tfn__utf8((const uint8_t *)s + at, n - at, &c);
        if (t->used > t->size / 2) tfn__flush_text(f, t);
        tfn__put_json(t, c);
    }
}

/* Put ,"NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[BEGIN,END]}; the bytes begin at `at`. */
static void tfn__put_entry(tfn_file *f, tfn__text *t, const tfn_tensor *x, uint64_t at)
{
    tfn__put(t, ",\"");
    tfn__put_name(t, x->name, f);
    tfn__put_texts(t, "\":{\"dtype\":\"", tfn__dtypes[x->dtype].name, "\",\"shape\":[");
    for (int32_t k = 0; k < x->rank; k++) {
        if (k) tfn__put(t, ",");
        tfn__put_int(t, NULL, x->shape[k], NULL);
    }
    tfn__put_int(t, "],\"data_offsets\":[", (int64_t)at, ",");
    tfn__put_int(t, NULL, (int64_t)(at + x->bytes), "]}");
    tfn__flush_text(f, t);
}

/* Put the JSON from the opening brace to the closing one. Offsets follow the order of the
 * values. */
static void tfn__put_header(tfn_file *f, const tfn__source *s, const int32_t *order)
{
    char buf[512];
    uint64_t at = 0;
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put(&t, "{\"__metadata__\":");
    if (!s->metadata) tfn__put(&t, "{\"format\":\"pt\"}");
    tfn__flush_text(f, &t);
    if (s->metadata) s->metadata(s, f);
    for (int32_t i = 0; i < s->count; i++) {
        const tfn_tensor x = tfn__source_tensor(s, order[i]);
        if (!x.name[0]) continue;
        tfn__put_entry(f, &t, &x, at);
        at += x.bytes;
    }
    tfn__file_put(f, "}", 1);
}

/* Check all tensors before anything is written. In the order of names, equal names are
 * neighbours. */
static void tfn__check_tensors(tfn_file *f, const tfn__source *s, int32_t *order)
{
    tfn_tensor t, last;
    last.name[0] = 0;
    tfn__order(order, s->count, tfn__source_name_before, s);
    for (int32_t i = 0; i < s->count; i++) {
        t = tfn__source_tensor(s, order[i]);
        if (t.name[0] && t.count < 0)
            tfn__file_fail(f, TFN_BAD_SHAPE, "%s has no legal dtype or shape", t.name, 0, 0);
        if (t.name[0] && t.bytes && !t.data)
            tfn__file_fail(f, TFN_NULL, "%s has no data", t.name, 0, 0);
        if (t.name[0] && (tfn__equal(t.name, last.name) || tfn__equal(t.name, "__metadata__")))
            tfn__file_fail(f, TFN_BAD_OPTION, "%s is not a name, or comes twice", t.name, 0, 0);
        if (!tfn__fine(f)) return;
        last = t;
    }
}

/* Put the values of a tensor in little-endian order; a big-endian machine swaps their bytes. */
static void tfn__put_values(tfn_file *f, const tfn_tensor *t)
{
    const size_t each = tfn__dtypes[t->dtype].bits / 8;
    const size_t bytes = (size_t)t->bytes;
    const uint8_t *from = (const uint8_t *)t->data;
    uint8_t s[8 * TFN__CHUNK];
    if (tfn__little() || each == 1) {
        tfn__file_put(f, from, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof s) {
        size_t n = bytes - at;
        if (n > sizeof s) n = sizeof s;
        for (size_t i = 0; i < n; i++) s[i] = from[at + (i ^ (each - 1))];    /* each: 2, 4 or 8 */
        tfn__file_put(f, s, n);
    }
}

/* Bytes of the header without padding, measured by writing it to nowhere. */
static uint64_t tfn__measure_header(tfn_file *f, const tfn__source *s, const int32_t *order)
{
    const bool counts = f->counts;
    uint64_t n;
    f->counts = true;
    tfn__put_header(f, s, order);
    f->counts = counts;
    n = f->used;
    f->used = 0;
    return n;
}

/* Write the length, the header padded to a multiple of 8, then the data. The work begins with the
 * order. The header is written twice, first to nowhere, because its length comes before it. */
SHARED tfn_status tfn__write_source(tfn_file *f, const tfn__source *s, tfn__arena a)
{
    int32_t *order = NULL;
    uint8_t length[8];
    uint64_t n, pad;
    if (tfn__fine(f)) order = tfn__take_ids(&a, (size_t)s->count, &f->error);
    if (!order) return tfn__finish_writing(f);
    tfn__check_tensors(f, s, order);
    if (!tfn__fine(f)) return tfn__finish_writing(f);
    tfn__order(order, s->count, tfn__source_before, s);
    n = tfn__measure_header(f, s, order);
    pad = (0 - n) & 7;                  /* so the values begin at a multiple of 8 */
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((n + pad) >> 8*i);
    tfn__file_put(f, length, 8);
    tfn__put_header(f, s, order);
    tfn__file_put(f, "       ", (size_t)pad);
    for (int32_t i = 0; i < s->count; i++) {
        const tfn_tensor t = tfn__source_tensor(s, order[i]);
        if (!tfn__fine(f)) break;
        if (!t.name[0]) continue;
        if (s->values) s->values(s, order[i], f);
        else tfn__put_values(f, &t);
    }
    return tfn__finish_writing(f);
}

/* For tfn_file_write: the tensors are in an array, and __metadata__ is minimal. */
static void tfn__given_tensor(const tfn__source *s, int32_t i, tfn_tensor *t)
{
    *t = ((const tfn_tensor *)s->user)[i];
}

/* The work holds the order of the tensors: 4 bytes for each, aligned. */
TFNORM_API tfn_status tfn_file_write(tfn_file *f, const tfn_tensor *tensors, int32_t count)
{
    tfn__source s = { tensors, count, tfn__given_tensor, NULL, NULL };
    if (!f) return TFN_NULL;
    if (count < 0) tfn__file_fail(f, TFN_BAD_OPTION, "%d tensors", NULL, count, 0);
    if (count > 0) tfn__file_given(f, "tensors", tensors);
    if (!tfn__begin(f, true)) return f->error.status;
    return tfn__write_source(f, &s, tfn__work_of(f, tfn__sum(tfn__mul((size_t)count, 4), 63)));
}

/* -- the index of several files -------------------------------------------------------------- */

/* {"metadata":{...},"weight_map":{"TENSOR":"FILE", ...}}: the whole file is the header, and the map
 * is its texts. */
TFNORM_API tfn_status tfn_index_open(tfn_file *f)
{
    tfn__reader r;
    tfn__arena a;
    if (!f) return TFN_NULL;
    tfn_file_close(f);
    f->metadata = 0;
    if (!tfn__begin(f, false)) return f->error.status;
    f->header_size = SIZE_MAX;
    if (f->used < SIZE_MAX / 2) f->header_size = (size_t)f->used;
    a = tfn__work_of(f, tfn__sum(f->header_size, TFN__ALIGN - 1));
    if (tfn__fine(f)) f->header = tfn__take(&a, f->header_size, 1, &f->error);
    r = tfn__read_from(f->header, f->header_size);
    if (!tfn__file_get(f, 0, f->header, f->used)) r.size = 0;
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        if (tfn__json_key(&r, "weight_map\"") == 0) tfn__parse_texts(f, &r, true);
        else tfn__json_skip(&r, 8);
    }
    if (!f->metadata) tfn__want(&r, "a weight_map");
    if (r.at < r.size) tfn__want(&r, "its end");
    if (r.wanted) tfn__bad(f, "%s is expected at byte %d", r.wanted, (int64_t)r.at, 0);
    if (!tfn__fine(f)) tfn_file_close(f);               /* count is 0: it has no tensors */
    return f->error.status;
}
TFN__RARE_END
