/* Fuzz: files of torch.save, built from the operations that PyTorch writes, with small changes in
 * the pickle or in the archive. In an accepted file every tensor is found by its name, is inside
 * the file, and can be read. */
#include "input.h"
#include "../lib.h"
#include "tensors.h"

enum { MOST_TENSORS = 5, STORAGE_BYTES = 64 };
static input pickle, whole;
static input_room file_room, value_room;

/* -- the pickle ------------------------------------------------------------------------------ */

static void put_text(const char *text)
{
    input_byte(&pickle, 'X');
    input_byte(&pickle, (int)strlen(text));
    input_bytes(&pickle, "\0\0\0", 3);
    input_put(&pickle, text);
}
static void put_int(int v)
{
    const unsigned char bytes[4] = { (unsigned char)v, (unsigned char)(v >> 8), 0, 0 };
    const int form = fuzz_below(3);
    if (form == 0 && v < 256) {
        input_byte(&pickle, 'K');
        input_byte(&pickle, v);
    } else {
        input_byte(&pickle, form == 1 ? 'M' : 'J');
        input_bytes(&pickle, bytes, form == 1 ? 2 : 4);
    }
}
static void put_memo(void)
{
    if (fuzz_one_in(3)) return;
    input_byte(&pickle, fuzz_one_in(8) ? 'h' : 'q');
    input_byte(&pickle, fuzz_below(6));
}
static void put_tuple(const int *v, int n)
{
    input_byte(&pickle, '(');
    for (int i = 0; i < n; i++) put_int(v[i]);
    input_byte(&pickle, 't');
}

static void put_tensor(int number)
{
    static const char *const types[] = { "Float", "Half", "BFloat16", "Double", "Long", "Int",
                                         "Short", "Char", "Byte", "Bool", "Quantized" };
    char key[2] = { (char)('0' + fuzz_below(3)), 0 };
    int shape[3], strides[3], step = 1;
    const int rank = fuzz_below(4);
    for (int i = rank - 1; i >= 0; i--) {
        shape[i] = fuzz_below(3);
        strides[i] = step;
        step *= shape[i];
    }
    input_put(&pickle, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text("storage");
    input_put(&pickle, "ctorch\n");
    input_put(&pickle, types[fuzz_below(fuzz_one_in(20) ? 11 : 10)]);
    input_put(&pickle, "Storage\n");
    put_text(key);
    put_text("cpu");
    put_int(STORAGE_BYTES / 8);
    input_put(&pickle, "tQ");
    put_int(fuzz_one_in(4) ? fuzz_below(9) : 0);
    put_tuple(shape, rank);
    put_tuple(strides, rank);
    input_put(&pickle, "\x89" "ccollections\nOrderedDict\n)RtR");
    if (number & 1) put_memo();
}

static void put_dictionary(void)
{
    static const char *const names[] = { "a", "b.weight", "\xc3\xa9", "\"", "layers.0" };
    input_put(&pickle, fuzz_one_in(2) ? "\x80\x02}" : "\x80\x02" "ccollections\nOrderedDict\n)R");
    input_put(&pickle, "q");
    input_byte(&pickle, 0);
    input_byte(&pickle, '(');
    for (int i = fuzz_below(MOST_TENSORS + 1); i > 0; i--) {
        put_text(names[i - 1]);
        if (fuzz_one_in(8)) input_put(&pickle, fuzz_one_in(2) ? "]" : "N");
        else put_tensor(i);
    }
    input_byte(&pickle, 'u');
    if (fuzz_one_in(3)) {
        input_put(&pickle, "}");
        put_text("_metadata");
        input_put(&pickle, "}sb");
    }
    input_byte(&pickle, '.');
}

/* -- the archive ----------------------------------------------------------------------------- */

static void put_number(unsigned long long v, int bytes)
{
    for (int i = 0; i < bytes; i++) input_byte(&whole, i < 8 ? (int)(v >> 8*i & 255) : 0);
}

typedef struct stored { char name[16]; const void *bytes; size_t size, at; } stored;

static void put_local(stored *s)
{
    s->at = whole.n;
    put_number(0x04034b50, 4);
    put_number(0, 14);
    put_number(s->size, 4);
    put_number(s->size, 4);
    put_number(strlen(s->name), 2);
    put_number(0, 2);
    input_put(&whole, s->name);
    input_bytes(&whole, s->bytes, s->size);
}

static void put_central(const stored *s, int wide)
{
    put_number(0x02014b50, 4);
    put_number(0, 16);
    put_number(wide ? 0xffffffff : s->size, 4);
    put_number(wide ? 0xffffffff : s->size, 4);
    put_number(strlen(s->name), 2);
    put_number(wide ? 28 : 0, 2);
    put_number(0, 10);
    put_number(wide ? 0xffffffff : s->at, 4);
    input_put(&whole, s->name);
    if (!wide) return;
    put_number(1, 2);
    put_number(24, 2);
    put_number(s->size, 8);
    put_number(s->size, 8);
    put_number(s->at, 8);
}

static void put_archive(int wide)
{
    static unsigned char values[STORAGE_BYTES];
    stored s[4] = { { "m/data.pkl", NULL, 0, 0 }, { "m/data/0", NULL, 0, 0 },
                    { "m/data/1", NULL, 0, 0 }, { "m/data/2", NULL, 0, 0 } };
    size_t begin, size;
    s[0].bytes = pickle.s;
    s[0].size = pickle.n;
    for (int i = 1; i < 4; i++) {
        s[i].bytes = values;
        s[i].size = sizeof values;
    }
    for (int i = 0; i < 4; i++) put_local(s + i);
    begin = whole.n;
    for (int i = 0; i < 4; i++) put_central(s + i, wide);
    size = whole.n - begin;
    if (wide) {
        const size_t at = whole.n;
        put_number(0x06064b50, 4);
        put_number(0, 36);
        put_number(size, 8);
        put_number(begin, 8);
        put_number(0x07064b50, 4);
        put_number(0, 4);
        put_number(at, 8);
        put_number(1, 4);
    }
    put_number(0x06054b50, 4);
    put_number(0, 8);
    put_number(wide ? 0xffffffff : size, 4);
    put_number(wide ? 0xffffffff : begin, 4);
    put_number(0, 2);
}

/* -- a case ---------------------------------------------------------------------------------- */

static void fuzz_case(void)
{
    tfn_file f;
    const int archive = fuzz_one_in(4);
    if (!file_room.size) {
        file_room = input_room_new(INPUT_MOST);
        value_room = input_room_new(INPUT_MOST);
    }
    pickle.n = whole.n = 0;
    put_dictionary();
    if (!archive) input_mutate(&pickle, 0);
    put_archive(fuzz_one_in(3));
    if (archive) input_mutate(&whole, 0);
    memset(&f, 0, sizeof f);
    f.from = input_place(file_room, whole.s, whole.n);
    f.from_size = whole.n;
    fuzz_executions++;
    if (tfn_pickle_open(&f) == TFN_OK) {
        fuzz_accepted++;
        check_tensors(&f, whole.n, value_room);
    } else FUZZ_CHECK(!f.header);
    tfn_file_close(&f);
}

int main(int argc, char **argv) { return fuzz_main("pickles", argc, argv); }
