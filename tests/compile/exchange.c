/* Files between machines: exchange write|read FILE [ISA]
 * write: a checkpoint of a run in the middle of an update, with optimizer, gradients and a
 * tokenizer; also FILE.types with a tensor of every type that can be written. read: both from FILE.
 * They must hold what `write` would have written, and give the same bytes when they are written
 * again; then the run continues. The machines differ in byte order. If one of them lacks FMA, name
 * kernels without FMA, so that their bits agree. */
#include "../lib.h"
#include "../check.h"

enum { ROOM = 1 << 18 };
static unsigned char blob[ROOM], again[ROOM];
static const char *path, *types;
static tfn_isa isa;

static const uint64_t u64[] = { 1, UINT64_C(0x0102030405060708) };
static const int64_t i64[] = { -2, INT64_C(0x0102030405060708) };
static const double f64[] = { -0.1, 1e300 };
static const float f32[] = { 0.1f, -1e30f, 3 };
static const uint32_t u32[] = { 0x01020304, 7 };
static const int32_t i32[] = { -5, 0x01020304 };
static const uint16_t u16[] = { 0x0102, 3 }, halves[] = { 0x3c00, 0xc000 },
    brains[] = { 0x3f80, 0x4049 };
static const int16_t i16[] = { -3, 0x0102 };
static const int8_t i8[] = { -4, 4 };
static const uint8_t u8[] = { 5, 255 }, truths[] = { 1, 0 };

static const struct { const char *name; tfn_dtype dtype; int64_t count; const void *data;
                      float first; }
rows[] = {
    { "u64", TFN_DTYPE_U64, 2, u64, 1 }, { "i64", TFN_DTYPE_I64, 2, i64, -2 },
        { "f64", TFN_DTYPE_F64, 2, f64, -0.1f },
    { "f32", TFN_DTYPE_F32, 3, f32, 0.1f }, { "u32", TFN_DTYPE_U32, 2, u32, 16909060 },
    { "i32", TFN_DTYPE_I32, 2, i32, -5 }, { "u16", TFN_DTYPE_U16, 2, u16, 258 },
        { "f16", TFN_DTYPE_F16, 2, halves, 1 },
    { "bf16", TFN_DTYPE_BF16, 2, brains, 1 }, { "i16", TFN_DTYPE_I16, 2, i16, -3 },
        { "i8", TFN_DTYPE_I8, 2, i8, -4 },
    { "u8", TFN_DTYPE_U8, 2, u8, 5 }, { "bool", TFN_DTYPE_BOOL, 2, truths, 1 }
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *text_of(const tfn_error *e)
{
    static char text[300];
    return tfn_error_text(e, text, sizeof text);
}
#define FINE(call, f)                                                                          \
    do {                                                                                       \
        if ((call) != TFN_OK) FAIL("%s: %s", #call, text_of(&(f)->error));                     \
    } while (0)

static tfn_file file_at(const char *name)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.path = name;
    return f;
}
static tfn_file file_to(void *to, size_t size)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.to = to;
    f.to_size = size;
    return f;
}

static size_t bytes_of(const char *name, unsigned char *to)
{
    FILE *f = fopen(name, "rb");
    size_t n = f ? fread(to, 1, ROOM, f) : 0;
    if (f) fclose(f);
    CHECK(n > 0);
    return n;
}

/* -- every type ------------------------------------------------------------------------------ */

static void write_types(tfn_file *f)
{
    tfn_tensor t[ROWS];
    memset(t, 0, sizeof t);
    for (int i = 0; i < ROWS; i++) {
        strcpy(t[i].name, rows[i].name);
        t[i].dtype = rows[i].dtype;
        t[i].rank = 1;
        t[i].shape[0] = rows[i].count;
        t[i].data = rows[i].data;
    }
    FINE(tfn_file_write(f, t, ROWS), f);
}

TEST(exchange_types_write)
{
    tfn_file f = file_at(types);
    write_types(&f);
}

TEST(exchange_types_read)
{
    tfn_file f = file_at(types), to = file_to(again, sizeof again);
    size_t n = bytes_of(types, blob);
    FINE(tfn_file_open(&f), &f);
    for (int i = 0; i < ROWS; i++) {
        tfn_tensor t;
        float first = -99;
        CHECK(tfn_file_find(&f, rows[i].name, &t) && t.dtype == rows[i].dtype);
        FINE(tfn_file_read(&f, &t, &first, 0, 1), &f);
        if (first != rows[i].first) FAIL("%s begins with %g", rows[i].name, (double)first);
    }
    tfn_file_close(&f);
    write_types(&to);
    CHECK_INT(to.used, n);
    CHECK_BITS(again, blob, n);
}

/* -- a run ----------------------------------------------------------------------------------- */

static tfn_model model_new(void)
{
    tfn_model_desc d;
    tfn_model m;
    memset(&d, 0, sizeof d);
    d.vocab = 300;
    d.context = 8;
    d.width = 8;
    d.layers = d.heads = 1;
    d.recipe = "admin";
    d.dropout = 0.1f;
    d.micro_batches = 2;
    d.seed = UINT64_C(0x0102030405060708);
    d.isa = isa;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) FAIL("%s", text_of(&m.error));
    return m;
}

static void train(tfn_model *m, int calls)
{
    static const int32_t tokens[] = { 0, 1, 2, 1, 299, 7 }, targets[] = { 1, 2, 1, 299, 7, 0 };
    tfn_batch b;
    tfn_report r;
    memset(&b, 0, sizeof b);
    b.tokens = tokens;
    b.targets = targets;
    b.batch = 1;
    b.time = 6;
    for (int i = 0; i < calls; i++) CHECK_INT(tfn_model_step(m, &b, &r), TFN_OK);
}

static tfn_tokenizer tokenizer_new(void **mem)
{
    static const char text[] = "the theme of the thesis is there; the other theory is theirs";
    tfn_tokenizer_desc d;
    tfn_tokenizer_source s;
    tfn_trainer t;
    tfn_tokenizer k;
    size_t size;
    void *work;
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    d.words = d.word_bytes = 1000;
    size = tfn_trainer_size(&d);
    work = malloc(size);
    CHECK_INT(tfn_trainer_init(&t, &d, work, size), TFN_OK);
    CHECK_INT(tfn_trainer_add(&t, text, sizeof text - 1), TFN_OK);
    CHECK_INT(tfn_trainer_run(&t), TFN_OK);
    s.trainer = &t;
    size = tfn_tokenizer_size(&s);
    *mem = malloc(size);
    CHECK_INT(tfn_tokenizer_init(&k, &s, *mem, size), TFN_OK);
    free(work);
    return k;
}

/* Saves the state to exchange: after five micro-batches of two. */
static void save(tfn_file *f, const tfn_model *m)
{
    void *mem;
    tfn_tokenizer k = tokenizer_new(&mem);
    tfn_checkpoint with = { &k, "line 4711", false };
    FINE(tfn_model_save(f, m, &with), f);
    free(mem);
}

TEST(exchange_run_write)
{
    tfn_file f = file_at(path);
    tfn_model m = model_new();
    train(&m, 5);
    save(&f, &m);
    tfn_model_free(&m);
}

TEST(exchange_run_read)
{
    tfn_file f = file_at(path), to = file_to(again, sizeof again);
    tfn_model m = model_new(), other = model_new();
    size_t n = bytes_of(path, blob);
    FINE(tfn_model_load(&m, &f), &f);
    train(&other, 5);
    CHECK_INT(tfn_model_hash(&m), tfn_model_hash(&other));
    save(&to, &m);
    CHECK_INT(to.used, n);
    CHECK_BITS(again, blob, n);
    train(&m, 4);
    train(&other, 4);
    CHECK_INT(tfn_model_hash(&m), tfn_model_hash(&other));
    tfn_model_free(&m);
    tfn_model_free(&other);
}

int main(int argc, char **argv)
{
    static char name[1024];
    if (argc < 3) return 2;
    path = argv[2];
    snprintf(name, sizeof name, "%s.types", path);
    types = name;
    isa = tfn_isa_find(argc > 3 ? argv[3] : NULL);
    if (!tfn_kernels_for(isa)) isa = TFN_ISA_BEST;      /* the other machine's kernels */
    if (!strcmp(argv[1], "write")) {
        RUN(exchange_types_write);
        RUN(exchange_run_write);
    } else {
        RUN(exchange_types_read);
        RUN(exchange_run_read);
    }
    return DONE();
}
