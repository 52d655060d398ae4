/* Fuzz: safetensors files and their index, built from the format's grammar with small changes. In
 * an accepted file every tensor is found by its name, is inside the file, and can be read; written
 * again, it is the same. */
#include "input.h"
#include "../lib.h"

enum { MOST_TENSORS = 6 };
typedef struct made { const char *dtype; int bits, rank; long long shape[10], bytes, begin; } made;

static input header, whole;
static input_room file_room, work_room, value_room;
static unsigned char again[2 * INPUT_MOST];

/* -- the grammar ----------------------------------------------------------------------------- */

static void put_space(void)
{
    static const char *const spaces[] = { " ", "\n", "\t", "\r", "  " };
    if (fuzz_one_in(8)) input_put(&header, INPUT_ONE_OF(spaces));
}
static void put_mark(const char *mark)
{
    put_space();
    input_put(&header, mark);
    put_space();
}

static void put_string(void)
{
    static const char *const pieces[] = {
        "a", "b", "weight", ".", "layers.0", "\\u0061", "\\n", "\\\"", "\\\\", "\\/", "\xc3\xa9",
            "\\ud83d\\ude00",
        "\xe2\x82\xac", "\xf0\x9f\x98\x80", "model-00001-of-00002.safetensors", "\\t", "\\b\\f\\r",
            "\\uABCD", ""
    };
    input_put(&header, "\"");
    do input_put(&header, INPUT_ONE_OF(pieces)); while (fuzz_one_in(3));
    input_put(&header, "\"");
}

/* A name of about 128 bytes. One of 128 or more does not fit into tfn_tensor. */
static void put_long_name(void)
{
    input_put(&header, "\"");
    for (int i = fuzz_below(4); i < 128; i++) input_put(&header, "n");
    if (fuzz_one_in(4)) input_put(&header, "\\ud83d\\ude00");
    input_put(&header, "\"");
}

static void put_value(int depth)
{
    static const char *const words[] = { "true", "false", "null", "-0", "1.5e-3", "0", "12E+2",
                                         "3.25" };
    const int kind = depth ? fuzz_below(4) : 1;
    if (kind < 2) input_put(&header, INPUT_ONE_OF(words));
    else if (kind == 2) put_string();
    else {
        const bool object = fuzz_one_in(2);
        put_mark(object ? "{" : "[");
        for (int i = fuzz_below(3); i > 0; i--) {
            if (object) {
                put_string();
                put_mark(":");
            }
            put_value(depth - 1);
            if (i > 1) put_mark(",");
        }
        put_mark(object ? "}" : "]");
    }
}

static void put_texts(bool files)
{
    static const char *const known[] = { "\"format\"", "\"extra\"", "\"a\"", "\"tfn_format\"" };
    put_mark("{");
    for (int i = fuzz_below(4); i > 0; i--) {
        if (fuzz_one_in(2)) input_put(&header, INPUT_ONE_OF(known));
        else put_string();
        put_mark(":");
        if (files && !fuzz_one_in(8)) input_put(&header, "\"model.safetensors\"");
        else put_string();
        if (i > 1) put_mark(",");
    }
    put_mark("}");
}

static made make_tensor(long long at)
{
    static const struct { const char *name; int bits; } types[] = {
        { "F32", 32 }, { "F64", 64 }, { "I64", 64 }, { "U64", 64 }, { "C64", 64 }, { "U32", 32 },
            { "I32", 32 },
        { "BF16", 16 }, { "F16", 16 }, { "U16", 16 }, { "I16", 16 }, { "F8_E5M2FNUZ", 8 },
            { "F8_E4M3", 8 },
        { "I8", 8 }, { "U8", 8 }, { "F4", 4 }, { "F6_E2M3", 6 }, { "BOOL", 8 }
    };
    const int type = fuzz_below((int)(sizeof types / sizeof *types));
    long long count = 1;
    made m;
    m.dtype = types[type].name;
    m.bits = types[type].bits;
    m.rank = fuzz_one_in(16) ? fuzz_below(10) : fuzz_below(4);
    for (int k = 0; k < m.rank; k++) {
        m.shape[k] = fuzz_one_in(12) ? 0 : fuzz_below(k > 3 ? 2 : 5) + 1;
        count *= m.shape[k];
    }
    m.begin = at;
    m.bytes = count * m.bits / 8;
    return m;
}

static void put_field(const made *m, int which)
{
    static const char *const keys[] = { "\"dtype\"", "\"shape\"", "\"data_offsets\"" };
    input_put(&header, keys[which]);
    put_mark(":");
    if (which == 0) {
        input_put(&header, "\"");
        input_put(&header, m->dtype);
        input_put(&header, "\"");
    } else if (which == 1) {
        put_mark("[");
        for (int k = 0; k < m->rank; k++) {
            if (k) put_mark(",");
            input_number(&header, m->shape[k]);
        }
        put_mark("]");
    } else {
        put_mark("[");
        input_number(&header, m->begin);
        put_mark(",");
        input_number(&header, m->begin + m->bytes);
        put_mark("]");
    }
}

static void put_tensor(const made *m, int number)
{
    const int first = fuzz_below(3);
    if (fuzz_one_in(6)) put_string();
    else if (fuzz_one_in(30)) put_long_name();
    else {
        static const char names[][12] = { "\"a\"", "\"b.w\"", "\"c\"", "\"layers.0\"",
                                          "\"\xc3\xa9\"", "\"zz\"" };
        input_put(&header, names[number]);
    }
    put_mark(":");
    put_mark("{");
    for (int k = 0; k < 3; k++) {
        if (k) put_mark(",");
        put_field(m, (first + k) % 3);
    }
    if (fuzz_one_in(10)) {              /* an unknown key */
        put_mark(",");
        put_string();
        put_mark(":");
        put_value(3);
    }
    put_mark("}");
}

/* The header, with the tensors in another order than their bytes. Returns the bytes of data. */
static long long make_header(void)
{
    made list[MOST_TENSORS];
    long long at = 0;
    const int count = fuzz_below(MOST_TENSORS + 1), turn = count ? fuzz_below(count) : 0;
    bool any = fuzz_one_in(2);
    header.n = 0;
    for (int i = 0; i < count; i++) {
        list[i] = make_tensor(at);
        at += list[i].bytes;
    }
    put_mark("{");
    if (any) {
        input_put(&header, "\"__metadata__\"");
        put_mark(":");
        if (fuzz_one_in(16)) input_put(&header, "null");
        else put_texts(false);
    }
    for (int i = 0; i < count; i++, any = true) {
        if (any) put_mark(",");
        put_tensor(&list[(i + turn) % count], i);
    }
    put_mark("}");
    return at;
}

static void make_index(void)
{
    header.n = 0;
    put_mark("{");
    if (fuzz_one_in(2)) {
        input_put(&header, "\"metadata\":");
        put_value(3);
        put_mark(",");
    }
    input_put(&header, "\"weight_map\"");
    put_mark(":");
    put_texts(true);
    put_mark("}");
}

/* -- the header, read a second time ----------------------------------------------------------- */

/* A reader for accepted headers only: it relies on the library's check of their form. */
typedef struct text { char s[32]; size_t bytes; } text;     /* its beginning; its full length */
static const unsigned char *next;

static void skip_space(void)
{
    while (*next == ' ' || *next == '\t' || *next == '\r' || *next == '\n') next++;
}

/* Reads an escape after its backslash. Sets its bytes in UTF-8: each half of a surrogate pair counts
 * as two. Returns the character, '?' if it is not ASCII. */
static char get_escape(size_t *bytes)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char digits[5] = "";
    unsigned long code;
    const char *found = strchr(from, *next);
    *bytes = 1;
    if (*next != 'u') {
        next++;
        return found ? to[found - from] : (char)next[-1];
    }
    memcpy(digits, next + 1, 4);
    next += 5;
    code = strtoul(digits, NULL, 16);
    if (code >= 0x80) *bytes = code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3;
    return code && code < 0x80 ? (char)code : '?';
}

static text get_string(void)
{
    text t;
    memset(&t, 0, sizeof t);
    for (next++; *next != '"';) {
        size_t bytes = 1;
        char c = (char)*next++;
        if (c == '\\') c = get_escape(&bytes);
        if (t.bytes < sizeof t.s - 1) t.s[t.bytes] = c;
        t.bytes += bytes;
    }
    next++;
    return t;
}

/* Reads the next key of an object up to its value; false at the object's end. */
static bool get_key(text *key)
{
    skip_space();
    if (*next != '}') {
        next++;                         /* '{' or ',' */
        skip_space();
    }
    if (*next == '}') {
        next++;
        return false;
    }
    *key = get_string();
    skip_space();
    next++;                             /* ':' */
    skip_space();
    return true;
}

/* Skips a value and the spaces after it. */
static void skip_value(void)
{
    int depth = 0;
    while (depth || (*next != ',' && *next != '}')) {
        if (*next == '"') {
            get_string();
            continue;
        }
        if (*next == '{' || *next == '[') depth++;
        if (*next == '}' || *next == ']') depth--;
        next++;
    }
}

/* Reads an array of numbers, stores the first two, and returns how many there are. */
static int get_numbers(uint64_t *to)
{
    int n = 0;
    for (next++; *next != ']'; next++) {
        if (*next >= '0' && *next <= '9') {
            char *end;
            const uint64_t v = strtoull((const char *)next, &end, 10);
            if (n < 2) to[n] = v;
            n++;
            next = (const unsigned char *)end - 1;
        }
    }
    next++;
    return n;
}

/* The bytes of tensors that tfn_file_open leaves out, because their names or ranks do not fit. */
static uint64_t bytes_left_out(void)
{
    const tfn_tensor *t = NULL;
    uint64_t left_out = 0;
    text name, key;
    next = whole.s + 8;
    while (get_key(&name)) {
        uint64_t offsets[2] = { 0, 0 }, shape[2];
        int rank = 0;
        if (!strcmp(name.s, "__metadata__")) {
            skip_value();
            continue;
        }
        while (get_key(&key)) {
            if (!strcmp(key.s, "data_offsets")) get_numbers(offsets);
            else if (!strcmp(key.s, "shape")) rank = get_numbers(shape);
            else skip_value();
        }
        if (name.bytes >= sizeof t->name || rank > 8) left_out += offsets[1] - offsets[0];
    }
    return left_out;
}

/* -- accepted files -------------------------------------------------------------------------- */

static bool io_read(void *user, uint64_t at, void *to, size_t bytes)
{
    if (at > whole.n || bytes > whole.n - at) return false;
    memcpy(to, whole.s + at, bytes);
    return !user || !fuzz_one_in(6);    /* with user: a disk that sometimes fails */
}

static bool has_values(tfn_dtype d)
{
    return d != TFN_DTYPE_C64 && (d < TFN_DTYPE_F8_E5M2FNUZ || d == TFN_DTYPE_I8
                                  || d == TFN_DTYPE_U8 || d == TFN_DTYPE_BOOL);
}

static void check_values(tfn_file *f, const tfn_tensor *t)
{
    const int64_t first = t->count ? (int64_t)(fuzz_bits() % (uint64_t)t->count) : 0,
        n = t->count - first;
    float *to = (float *)input_last(value_room, 4 * (size_t)n);
    if (!to) return;
    if (fuzz_one_in(16)) {
        FUZZ_CHECK(tfn_file_read(f, t, to, first + 1, n) != TFN_OK);
        memset(&f->error, 0, sizeof f->error);
    }
    FUZZ_CHECK(tfn_file_read(f, t, to, first, n) == TFN_OK || !has_values(t->dtype));
    if (t->dtype == TFN_DTYPE_F32) FUZZ_CHECK(!memcmp(to, whole.s + t->at + 4 * first,
        4 * (size_t)n));
    if (t->dtype == TFN_DTYPE_U8 && n) FUZZ_CHECK(to[0] == (float)whole.s[t->at + (uint64_t)first]);
    memset(&f->error, 0, sizeof f->error);      /* the dtype cannot be read */
}

/* Writes the tensors that have values, opens the result, and finds them with the same bytes. */
static void check_again(const tfn_tensor *list, int32_t count)
{
    tfn_file f, g;
    tfn_tensor t;
    memset(&f, 0, sizeof f);
    f.to = again;
    f.to_size = sizeof again;
    f.work = input_last(work_room, 4 * (size_t)count + 63);
    f.work_size = 4 * (size_t)count + 63;
    if (tfn_file_write(&f, list, count) != TFN_OK) {
        char text[200];
        FUZZ_FAIL("what was read is not written: %s", tfn_error_text(&f.error, text, sizeof text));
        return;
    }
    memset(&g, 0, sizeof g);
    g.from = again;
    g.from_size = (size_t)f.used;
    g.work = input_last(work_room, work_room.size);
    g.work_size = work_room.size;
    FUZZ_CHECK(tfn_file_open(&g) == TFN_OK && g.count == count);
    for (int32_t i = 0; i < count && g.error.status == TFN_OK; i++) {
        FUZZ_CHECK(tfn_file_find(&g, list[i].name, &t) && t.dtype == list[i].dtype
                   && t.rank == list[i].rank);
        FUZZ_CHECK(!memcmp(t.shape, list[i].shape, sizeof t.shape) && t.bytes == list[i].bytes);
        FUZZ_CHECK(!memcmp(again + t.at, list[i].data, (size_t)t.bytes));
    }
    tfn_file_close(&g);
}

/* The tensors, with those that do not fit into tfn_tensor, fill the bytes after the header. */
static void check_places(tfn_file *f)
{
    tfn_tensor a, b;
    uint64_t all = 0, begin = 8;
    for (int k = 0; k < 8; k++) begin += (uint64_t)whole.s[k] << 8*k;
    for (int32_t i = 0; tfn_file_tensor(f, i, &a); i++) {
        all += a.bytes;
        FUZZ_CHECK(a.at >= begin);
        for (int32_t j = 0; j < i && tfn_file_tensor(f, j, &b); j++)
            FUZZ_CHECK(!a.bytes || !b.bytes || a.at + a.bytes <= b.at || b.at + b.bytes <= a.at);
    }
    FUZZ_CHECK(all + bytes_left_out() == whole.n - begin);
}

static void check_file(tfn_file *f, bool rewrite)
{
    tfn_tensor list[64], t, found;
    int32_t written = 0, i;
    char text[64];
    check_places(f);
    for (i = 0; tfn_file_tensor(f, i, &t); i++) {
        FUZZ_CHECK(t.at <= whole.n && t.bytes <= whole.n - t.at && t.rank >= 0 && t.rank <= 8);
        FUZZ_CHECK(tfn_file_find(f, t.name, &found) && found.at == t.at && found.bytes == t.bytes);
        check_values(f, &t);
        if (written == 64 || !has_values(t.dtype) || !t.name[0]) continue;
        t.data = whole.s + t.at;
        list[written++] = t;
    }
    FUZZ_CHECK(i == f->count);
    FUZZ_CHECK(!tfn_file_find(f, "no such name", &t));
    tfn_file_text(f, "format", text, sizeof text);
    tfn_file_text(f, "a", text, 3);
    if (rewrite) check_again(list, written);
}

static void give(bool index)
{
    tfn_file f;
    tfn_io io = { io_read, NULL, NULL, 0 };
    const int way = fuzz_below(16);     /* 0: callbacks; 1: callbacks that fail; else memory */
    size_t work;
    bool good;
    memset(&f, 0, sizeof f);
    io.size = whole.n;
    if (way == 1) io.user = &f;
    if (way < 2) f.io = &io;
    else f.from = input_place(file_room, whole.s, whole.n);
    f.from_size = whole.n;
    work = index ? whole.n + 63 : way ? tfn_file_work(&f) : work_room.size;
    if (way == 2 && work) work--;       /* one byte too small: only an error */
    f.work = input_last(work_room, work);
    f.work_size = f.work ? work : 0;
    fuzz_executions++;
    good = f.work && (index ? tfn_index_open(&f) : tfn_file_open(&f)) == TFN_OK;
    if (good) fuzz_accepted++;
    if (good && way == 2) FUZZ_FAIL("opened with a byte too little");
    if (good && way != 1) {
        if (index) {
            char text[300];
            tfn_file_text(&f, "a", text, sizeof text);
            tfn_file_text(&f, "layers.0", text, sizeof text);
        } else check_file(&f, way > 8);
    }
    tfn_file_close(&f);
}

static void fuzz_case(void)
{
    const bool index = fuzz_one_in(8);
    long long data = 0;
    if (!file_room.end) {
        file_room = input_room_new(INPUT_MOST);
        work_room = input_room_new(1 << 18);
        value_room = input_room_new(4 * INPUT_MOST);
    }
    if (index) make_index();
    else data = make_header();
    for (int i = 0; i < 4; i++) {       /* four changes */
        static const unsigned char some[256] = { 0, 1, 2, 128, 255, 63, 64, 65 };
        unsigned long long n = 0;
        whole.n = 0;
        if (!index) input_bytes(&whole, "\0\0\0\0\0\0\0\0", 8);
        input_bytes(&whole, header.s, header.n);
        if (i) input_mutate(&whole, whole.n - header.n);
        n = whole.n - 8;
        if (!index && fuzz_one_in(64)) n = fuzz_one_in(2) ? fuzz_bits()
            : n + (unsigned long long)fuzz_below(9) - 4;
        for (int k = 0; k < 8 && !index; k++) whole.s[k] = (unsigned char)(n >> 8*k);
        for (long long at = 0; at < data; at += 256)
            input_bytes(&whole, some, (size_t)(data - at < 256 ? data - at : 256));
        if (!index && fuzz_one_in(64)) whole.n -= whole.n > 1;
        give(index);
    }
}

int main(int argc, char **argv) { return fuzz_main("safetensors", argc, argv); }
