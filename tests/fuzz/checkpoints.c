/* Fuzz: checkpoints of small runs and of models with packed weights, with changed options, types,
 * shapes, state or bytes, or cut off. Peek returns options that make a model, or an error. A failed
 * load changes nothing; after a successful one the model trains or decodes. With callbacks that
 * fail at every call in turn, the model is unchanged or has the error that it is half loaded. */
#include "input.h"
#include "../lib.h"

/* From PACKED on, models have packed weights. The last one also has LoRA, and trains. */
enum { PACKED = 7, BASES = 12, BLOCK = 1 << 21 };
typedef struct base {
    tfn_model model;
    tfn_file file;                      /* its file, in memory */
    size_t data;                        /* offset of the tensors' bytes */
    size_t state;                       /* offset of its "training.state"; 0: none */
    uint64_t hash;
    int saving, loading, peeking;       /* calls of a callback during each */
} base;

static base bases[BASES];
static input whole, second;
static input_room file_room, second_room, work_room;
static unsigned char scratch[BLOCK], block[BLOCK];

/* -- small runs ------------------------------------------------------------------------------ */

static tfn_model_desc small_desc(int i)
{
    static const char *const recipes[BASES] = { "admin", "deepnorm", "post", NULL, "branchnorm",
                                                "ngpt", "pre", "pre", "pre", "b2t",
                                                "pre", "pre" };
    static const tfn_weights weights[BASES - PACKED] = {
        TFN_WEIGHTS_Q8, TFN_WEIGHTS_Q4, TFN_WEIGHTS_BF16, TFN_WEIGHTS_F16, TFN_WEIGHTS_Q8
    };
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = 5;
    d.context = 4;
    d.width = 4;
    d.layers = d.heads = 1;
    d.ffn = 4;
    d.recipe = recipes[i];
    d.seed = 7;
    if (i == 0) d.micro_batches = 2;
    if (i == 1) {
        d.arch = TFN_ARCH_ENCODER_DECODER;
        d.position = TFN_POSITION_ROTARY;
        d.heads = 2;
        d.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT;
        d.schedule.warmup = 10;
    }
    if (i == 2) {
        d.arch = TFN_ARCH_ENCODER;
        d.head = TFN_HEAD_SEQUENCE;
        d.classes = 3;
        d.norm = "batchnorm";
    }
    if (i == 3) d.inference = true;
    if (i == 6) d.half = true;
    if (i >= PACKED) {
        d.weights = weights[i - PACKED];
        d.inference = i + 1 < BASES;
        if (!d.inference) tfn_group_add(&d, "*.self.q.weight rank=2", NULL);
    }
    return d;
}

/* A sentence, with a source of `source` tokens if the model has one. */
static tfn_batch sentence(const tfn_model *m, int32_t source)
{
    static const int32_t tokens[] = { 0, 1, 2, 1 }, targets[] = { 1, 2, 1, 0 };
    tfn_batch b;
    memset(&b, 0, sizeof b);
    b.tokens = tokens;
    b.targets = targets;
    b.batch = 1;
    b.time = m->desc.context < 4 ? m->desc.context : 4;
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) {
        b.source = tokens;
        b.source_time = source;
    }
    return b;
}

static tfn_status train(tfn_model *m, int calls)
{
    const tfn_batch b = sentence(m, 3);
    tfn_status status = TFN_OK;
    tfn_report r;
    for (int i = 0; i < calls && status == TFN_OK; i++) status = tfn_model_step(m, &b, &r);
    return status;
}

/* Decodes a sentence: with any weights the result is numbers, or an error. */
static bool decode(tfn_model *m)
{
    const tfn_batch b = sentence(m, 1);
    return tfn_model_logits(m, &b) != NULL;
}

static void must(int i, tfn_status status, const tfn_error *e)
{
    char text[300];
    if (status == TFN_OK) return;
    printf("base %d: %s\n", i, tfn_error_text(e, text, sizeof text));
    exit(2);
}

/* Makes a new model, or packs one. */
static void make_model(tfn_model *m, int i)
{
    const tfn_model_desc d = small_desc(i);
    tfn_model_desc plain = d;
    tfn_model floats;
    must(i, tfn_model_new(m, &d, NULL), &m->error);
    if (!d.weights) return;
    plain.weights = TFN_WEIGHTS_FLOAT;
    memset(plain.groups, 0, sizeof plain.groups);
    must(i, tfn_model_new(&floats, &plain, NULL), &floats.error);
    must(i, tfn_model_quantize(m, &floats), &m->error);
    tfn_model_free(&floats);
}

/* Saves it with a text; a tokenizer of no bytes takes that place. */
static void make_base(base *x, int i)
{
    const tfn_checkpoint with = { NULL, "golden", i == 6 };
    tfn_tensor t;
    memset(x, 0, sizeof *x);
    make_model(&x->model, i);
    if (!x->model.desc.inference) must(i, train(&x->model, 3), &x->model.error);
    x->file.to = malloc(INPUT_MOST);
    x->file.to_size = INPUT_MOST;
    must(i, tfn_model_save(&x->file, &x->model, &with), &x->file.error);
    x->file.from = x->file.to;
    x->file.from_size = (size_t)x->file.used;
    tfn_file_open(&x->file);
    x->data = (size_t)x->file.data;
    if (tfn_file_find(&x->file, "training.state", &t)) x->state = (size_t)t.at;
    tfn_file_close(&x->file);
    x->hash = tfn_model_hash(&x->model);
}

/* -- changes --------------------------------------------------------------------------------- */

/* Finds the text `what` in the header from byte `at` on; 0: none. */
static size_t find_text(const char *what, size_t at, size_t end)
{
    const size_t n = strlen(what);
    for (; at + n <= end; at++)
        if (!memcmp(whole.s + at, what, n)) return at;
    return 0;
}

/* Replaces or removes the value of a random option. Returns the header's new end. */
static size_t change_option(size_t end)
{
    static const char *const values[] = {
        "0", "1", "2", "3", "4", "8", "16", "true", "false", "-1", "0.5", "0.1", "1e-3",
            "2147483647", "1e9999",
        "9223372036854775807", "18446744073709551615", "18446744073709551616", "nan", "inf", "-inf",
            "", "1e-50", "post",
        "pre", "admin", "deepnorm", "layernorm", "rmsnorm", "batchnorm", "xavier", "default", "x",
            "\\u0031", "1e39", "-0", "rotary", "encoder", "cosine", "sgd", "relu", "fairseq",
        "unit", "q8", "q4", "bf16", "f16", "float32"
    };
    const size_t before = whole.n;
    size_t at = 0, from, to;
    for (int skip = fuzz_below(66); skip >= 0; skip--) {
        const size_t next = find_text("\"tfn.", at + 1, end);
        if (!next) break;
        at = next;
    }
    from = find_text("\":\"", at, end);
    if (!at || !from) return end;
    from += 3;
    for (to = from; to < end && whole.s[to] != '"'; to++) {}
    if (fuzz_one_in(6)) input_splice(&whole, at, to + 2 - at, NULL, 0);
    else {
        const char *value = INPUT_ONE_OF(values);
        input_splice(&whole, from, to - from, value, strlen(value));
    }
    return end + whole.n - before;
}

/* Changes the dtype or shape of a tensor, with as many bytes, or the format. */
static size_t change_tensor(size_t end)
{
    static const char *const changes[][2] = {
        { "\"F32\"", "\"I32\"" }, { "\"F32\"", "\"U32\"" }, { "\"F64\",\"shape\":[8]",
            "\"C64\",\"shape\":[8]" },
        { "[4,4]", "[16]" }, { "[4,4]", "[2,8]" }, { "[4,4]", "[4,4,1]" }, { "[5,4]", "[4,5]" },
            { "[4]", "[2,2]" },
        { "[4]", "[1,4]" }, { "\"F32\",\"shape\":[4]", "\"BF16\",\"shape\":[8]" },
        { "\"F32\",\"shape\":[4]", "\"F8_E4M3\",\"shape\":[16]" }, { "tfn_format\":\"2\"",
            "tfn_format\":\"1\"" },
        { "tfn_format\":\"2\"", "tfn_format\":\"3\"" },
        { "training.", "straining." },
        { "\"U8\"", "\"I8\"" }, { "\"U8\",\"shape\":[576]", "\"F32\",\"shape\":[144]" },
        { "[576]", "[24,24]" }, { "[576]", "[576,1]" }, { "[576]", "[575]" }, { "[320]", "[576]" },
        { "\"BF16\"", "\"F16\"" }, { "\"F16\"", "\"BF16\"" }, { "\"BF16\"", "\"U16\"" },
        { "\"F16\",\"shape\":[4,4]", "\"F32\",\"shape\":[2,4]" }, { "\"q8\"", "\"q4\"" },
        { "\"q4\"", "\"q8\"" }, { "\"bf16\"", "\"f16\"" }, { "\"f16\"", "\"float32\"" }
    };
    const int i = fuzz_below((int)(sizeof changes / sizeof *changes));
    const char *from = changes[i][0], *to = changes[i][1];
    size_t at = find_text(from, 8 + fuzz_bits() % (end - 8), end);
    const size_t before = whole.n;
    if (!at) at = find_text(from, 8, end);
    if (at) input_splice(&whole, at, strlen(from), to, strlen(to));
    return end + whole.n - before;
}

static void change_state(const base *x)
{
    static const double values[] = { 0, 1, 2, 3, 1000, 0.5, -1, 1e15, 1e16, 1e30, 1e300, -0.0 };
    double v = INPUT_ONE_OF(values);
    if (fuzz_one_in(10)) v = (double)NAN;
    if (fuzz_one_in(10)) v = (double)INFINITY;
    if (x->state) memcpy(whole.s + x->state + 8 * fuzz_below(8), &v, 8);
}

/* Copies a base and changes it; usually corrects the header's length afterwards. */
static void make_file(const base *x)
{
    size_t end = x->data;
    const int kind = fuzz_below(10);
    whole.n = 0;
    input_bytes(&whole, x->file.from, x->file.from_size);
    if (kind == 0) change_state(x);     /* before offsets move */
    if (kind == 1) {
        const size_t at = fuzz_bits() % whole.n;
        whole.s[at] ^= (unsigned char)(1 << fuzz_below(8));
    }
    if (kind == 2 || kind == 3)
        do end = change_option(end); while (fuzz_one_in(3));
    if (kind == 4) {
        const size_t before = whole.n;
        input_change(&whole, fuzz_bits() % end);
        end += whole.n - before;
    }
    if (kind == 5) {                    /* like an older file: one name is missing */
        const size_t at = find_text("tfn.", fuzz_bits() % end, end);
        if (at) whole.s[at] = 'T';
    }
    if (kind == 6) end = change_tensor(end);
    if (kind == 8) whole.n = fuzz_bits() % whole.n;     /* cut off */
    if (kind == 9)                      /* other weights: blocks, scales, 16-bit numbers */
        do whole.s[end + fuzz_bits() % (whole.n - end)] ^= (unsigned char)(1 << fuzz_below(8));
        while (!fuzz_one_in(8));
    if (((kind >= 2 && kind <= 4) || kind == 6) && end >= 8 && !fuzz_one_in(16))
        for (int k = 0; k < 8; k++) whole.s[k] = (unsigned char)((end - 8) >> 8*k);
}

static tfn_file opened_by(input_room room, const input *in, size_t work)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.from = input_place(room, in->s, in->n);
    f.from_size = in->n;
    f.work = input_last(work_room, work);
    f.work_size = work;
    return f;
}

/* -- accepted files -------------------------------------------------------------------------- */

/* Makes a model from the file's options, if they are small, and loads its weights. */
static void use_desc(tfn_model_desc *d)
{
    tfn_file f = opened_by(file_room, &whole, work_room.size);
    tfn_model m;
    const int64_t tokens = (int64_t)d->vocab + d->context + d->source_context + d->classes;
    size_t size;
    if (d->width > 64 || d->layers > 8 || d->decoder_layers > 8 || d->ffn > 256 || tokens > 4096)
        return;
    if (d->batch > 64 || d->threads > 8) return;
    d->threads = 1;
    size = tfn_model_size(d, scratch, sizeof scratch);
    if (!size || size > sizeof block) return;
    if (tfn_model_init(&m, d, block, size) != TFN_OK) {
        char text[300];
        FUZZ_FAIL("size says %d bytes, init: %s", (int)size,
                  tfn_error_text(&m.error, text, sizeof text));
        return;
    }
    fuzz_models++;
    if (tfn_model_load(&m, &f) != TFN_OK) return;
    if (!d->inference && d->vocab >= 3 && !d->bands) train(&m, 2);
    else if (d->vocab >= 3 && !d->bands) FUZZ_CHECK(decode(&m) || m.error.status != TFN_OK);
}

static void peek(void)
{
    tfn_file f = opened_by(file_room, &whole, work_room.size);
    tfn_model_desc d, used;
    tfn_error e;
    int64_t step = -2;
    memset(&d, 0x55, sizeof d);
    fuzz_executions++;
    if (tfn_model_peek(&f, &d, &step) != TFN_OK) {
        unsigned char same[sizeof d];
        memset(same, 0x55, sizeof same);
        FUZZ_CHECK(!memcmp(&d, same, sizeof d) && step == -2);
        return;
    }
    fuzz_accepted++;
    used = d;    /* a schedule's end, which only training needs, may be missing */
    used.inference = true;
    FUZZ_CHECK(step >= -1 && tfn_model_resolve(&used, &used, &e));
    if (fuzz_one_in(16)) use_desc(&d);
}

/* Restores the weights from the base's own file. */
static void restore(base *x)
{
    tfn_file f = x->file;
    memset(&f.error, 0, sizeof f.error);
    f.work = input_last(work_room, work_room.size);
    f.work_size = work_room.size;
    memset(&x->model.error, 0, sizeof x->model.error);
    FUZZ_CHECK(tfn_model_load(&x->model, &f) == TFN_OK && tfn_model_hash(&x->model) == x->hash);
}

static void load(base *x)
{
    tfn_file f[2];
    tfn_status status;
    const int way = fuzz_below(8);
    f[0] = opened_by(file_room, &whole, work_room.size);
    fuzz_executions++;
    if (way == 0) status = tfn_model_load_weights(&x->model, f, 1);
    else if (way == 1) {                /* the mean of this file and the base */
        second.n = 0;
        input_bytes(&second, x->file.from, x->file.from_size);
        f[1] = opened_by(second_room, &second, 0);
        f[0].work = f[1].work = NULL;   /* from malloc, because two files are open */
        status = tfn_model_load_weights(&x->model, f, 2);
    } else status = tfn_model_load(&x->model, f);
    if (status != TFN_OK) {
        FUZZ_CHECK(tfn_model_hash(&x->model) == x->hash && x->model.error.status == TFN_OK);
        return;
    }
    fuzz_accepted++;
    if (fuzz_one_in(32) && !x->model.desc.inference) {
        fuzz_models++;
        train(&x->model, 1);
    }
    if (fuzz_one_in(4) && x->model.desc.weights) FUZZ_CHECK(decode(&x->model));
    if (tfn_model_hash(&x->model) != x->hash) restore(x);
}

/* -- callbacks that fail --------------------------------------------------------------------- */

/* The bytes of a base, or room for them. Call number `fail` and all later ones fail. */
typedef struct disk {
    unsigned char bytes[INPUT_MOST];
    size_t size;
    int calls, fail;
} disk;
static disk the_disk;

static bool disk_read(void *user, uint64_t at, void *to, size_t bytes)
{
    disk *d = (disk *)user;
    FUZZ_CHECK(at <= d->size && bytes <= d->size - at);
    if (++d->calls >= d->fail || at > d->size || bytes > d->size - at) return false;
    memcpy(to, d->bytes + at, bytes);
    return true;
}
static bool disk_write(void *user, const void *from, size_t bytes)
{
    disk *d = (disk *)user;
    if (++d->calls >= d->fail || bytes > sizeof d->bytes - d->size) return false;
    memcpy(d->bytes + d->size, from, bytes);
    d->size += bytes;
    return true;
}
static tfn_io disk_io(int fail)
{
    tfn_io io;
    io.read = disk_read;
    io.write = disk_write;
    io.user = &the_disk;
    io.size = the_disk.size;
    the_disk.calls = 0;
    the_disk.fail = fail;
    return io;
}

/* Saves through callbacks of which one may fail. If it does, the file has an error and the model is
 * unaffected; otherwise the bytes equal those saved to memory. Returns the number of calls. */
static int save_failing(base *x, int fail)
{
    const tfn_checkpoint with = { NULL, "golden", x == bases + 6 };
    tfn_io io;
    tfn_file f;
    the_disk.size = 0;
    io = disk_io(fail);
    memset(&f, 0, sizeof f);
    f.io = &io;
    if (tfn_model_save(&f, &x->model, &with) == TFN_OK) {
        FUZZ_CHECK(the_disk.calls < fail && the_disk.size == x->file.from_size);
        FUZZ_CHECK(!memcmp(the_disk.bytes, x->file.from, the_disk.size));
    } else FUZZ_CHECK(the_disk.calls == fail && f.error.status == TFN_BAD_FILE);
    FUZZ_CHECK(x->model.error.status == TFN_OK && tfn_model_hash(&x->model) == x->hash);
    return the_disk.calls;
}

/* A half-loaded model has an error and cannot be used. */
static int load_failing(base *x, int fail)
{
    tfn_io io;
    tfn_file f;
    the_disk.size = x->file.from_size;
    memcpy(the_disk.bytes, x->file.from, the_disk.size);
    io = disk_io(fail);
    memset(&f, 0, sizeof f);
    f.io = &io;
    if (tfn_model_load(&x->model, &f) == TFN_OK) FUZZ_CHECK(the_disk.calls < fail);
    else FUZZ_CHECK(the_disk.calls == fail && f.error.status == TFN_BAD_FILE);
    if (x->model.error.status == TFN_OK) FUZZ_CHECK(tfn_model_hash(&x->model) == x->hash);
    else FUZZ_CHECK(x->model.error.status == TFN_NOT_READY && !decode(&x->model));
    return the_disk.calls;
}

static int peek_failing(base *x, int fail)
{
    tfn_model_desc d, same;
    int64_t step = -2;
    tfn_io io;
    tfn_file f;
    the_disk.size = x->file.from_size;
    memcpy(the_disk.bytes, x->file.from, the_disk.size);
    io = disk_io(fail);
    memset(&f, 0, sizeof f);
    memset(&d, 0x55, sizeof d);
    memset(&same, 0x55, sizeof same);
    f.io = &io;
    if (tfn_model_peek(&f, &d, &step) == TFN_OK)
        FUZZ_CHECK(the_disk.calls < fail && d.weights == x->model.desc.weights);
    else FUZZ_CHECK(the_disk.calls == fail && step == -2 && !memcmp(&d, &same, sizeof d));
    return the_disk.calls;
}

static void restore_whole(base *x)
{
    if (x->model.error.status != TFN_OK) restore(x);
}

/* Fails every call in turn, for every base. */
static void fail_everywhere(void)
{
    for (base *x = bases; x < bases + BASES; x++) {
        x->saving = save_failing(x, 1 << 30);
        x->loading = load_failing(x, 1 << 30);
        x->peeking = peek_failing(x, 1 << 30);
        FUZZ_CHECK(x->saving > 60 && x->loading > 10 && x->peeking > 1);
        for (int i = 1; i <= x->saving; i++) save_failing(x, i);
        for (int i = 1; i <= x->peeking; i++) peek_failing(x, i);
        for (int i = 1; i <= x->loading; i++) {
            load_failing(x, i);
            restore_whole(x);
        }
    }
}

static void fuzz_case(void)
{
    base *x;
    if (!file_room.end) {
        file_room = input_room_new(INPUT_MOST);
        second_room = input_room_new(INPUT_MOST);
        work_room = input_room_new(1 << 17);
        for (int i = 0; i < BASES; i++) make_base(bases + i, i);
        fail_everywhere();
    }
    x = bases + fuzz_below(BASES);
    make_file(x);
    peek();
    load(x);
    if (fuzz_one_in(8)) {
        tfn_file f = opened_by(file_room, &whole, work_room.size);
        char to[16];
        tfn_checkpoint_tokenizer(&f, to, sizeof to);
    }
}

int main(int argc, char **argv) { return fuzz_main("checkpoints", argc, argv); }
