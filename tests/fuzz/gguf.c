/* Fuzz: GGUF files, put together from metadata and tensors of all types, then changed a little. The
 * tensors of an accepted file must be found by their names, lie in the file, and be readable. Its
 * tokenizer must be refused, or give ids of its vocabulary and decode them within bounds. */
#include "input.h"
#include "../lib.h"
#include "tensors.h"

enum { MOST_KEYS = 5, MOST_TENSORS = 4, MOST_TOKENS = 12 };
static input file;
static input_room file_room, value_room, text_room, tokenizer_room;

static void put_number(unsigned long long v, int bytes)
{
    for (int i = 0; i < bytes; i++) input_byte(&file, (int)(v >> 8*i & 255));
}
static void put_string(const char *s)
{
    put_number(strlen(s), 8);
    input_put(&file, s);
}

/* -- metadata -------------------------------------------------------------------------------- */

/* Types of the format: 8 is a string and 9 an array; 13 does not exist. */
static void put_value(int type)
{
    static const int sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8, 4 };
    if (type == 8) put_string(fuzz_one_in(2) ? "llama" : "a \"word\"");
    else put_number(fuzz_one_in(3) ? fuzz_bits() : (unsigned long long)fuzz_below(70), sizes[type]);
}
static void put_key(void)
{
    static const char *const names[] = {
        "general.architecture", "general.alignment", "llama.block_count", "llama.rope.freq_base",
        "tokenizer.ggml.tokens", "tokenizer.ggml.eos_token_id", "x", ""
    };
    const char *name = INPUT_ONE_OF(names);
    int type = fuzz_one_in(30) ? 13 : fuzz_below(13);
    if (!strcmp(name, "general.architecture") && !fuzz_one_in(4)) type = 8;
    if (!strcmp(name, "general.alignment")) type = fuzz_one_in(4) ? 6 : 4;
    put_string(name);
    put_number((unsigned long long)type, 4);
    if (type == 9) {
        const int count = fuzz_below(4);
        type = fuzz_one_in(10) ? 9 : fuzz_below(9);
        put_number((unsigned long long)type, 4);
        put_number(fuzz_one_in(20) ? fuzz_bits() : (unsigned long long)count, 8);
        for (int i = 0; i < count; i++) put_value(type);
    } else put_value(type);
}

/* -- a tokenizer ----------------------------------------------------------------------------- */

static void put_list(const char *name, int type, int count)
{
    put_string(name);
    put_number(9, 4);
    put_number((unsigned long long)type, 4);
    put_number(fuzz_one_in(40) ? fuzz_bits() : (unsigned long long)count, 8);
}

/* The keys of a tokenizer, some of which are left out at random; returns how many there are. */
static int put_tokenizer(void)
{
    static const char *const models[] = { "gpt2", "llama", "gpt2", "llama", "t5" };
    static const char *const pre[] = { "gpt-2", "llama-bpe", "qwen2", "smollm", "tekken", "gpt-4o",
                                       "bloom", "none", "" };
    static const char *const words[] = { "a", "b", "ab", "<s>", "</s>", "<unk>", "<0x0A>", "  ",
                                         "\xe2\x96\x81", "\xe2\x96\x81" "a", "\xc4\xa0",
                                         "\"\\", "\xff", "", "ba" };
    static const char *const merges[] = { "a b", "b a", "a", "ab a", " ", "\xc4\xa0 a" };
    static const char *const ids[] = { "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.unknown_token_id" };
    static const char *const truths[] = { "tokenizer.ggml.add_bos_token",
                                          "tokenizer.ggml.add_eos_token",
                                          "tokenizer.ggml.add_space_prefix" };
    const int count = fuzz_below(MOST_TOKENS + 1);
    int keys = 4;
    put_string("tokenizer.ggml.model");
    put_number(8, 4);
    put_string(INPUT_ONE_OF(models));
    put_string("tokenizer.ggml.pre");
    put_number(8, 4);
    put_string(INPUT_ONE_OF(pre));
    put_list("tokenizer.ggml.tokens", 8, count);
    for (int i = 0; i < count; i++) put_string(INPUT_ONE_OF(words));
    put_list("tokenizer.ggml.merges", 8, count / 2);
    for (int i = 0; i < count / 2; i++) put_string(INPUT_ONE_OF(merges));
    if (!fuzz_one_in(4)) {
        put_list("tokenizer.ggml.token_type", 5, count);
        for (int i = 0; i < count; i++) put_number((unsigned long long)fuzz_below(8), 4);
        keys++;
    }
    if (!fuzz_one_in(4)) {
        put_list("tokenizer.ggml.scores", 6, count);
        for (int i = 0; i < count; i++)
            put_number(fuzz_one_in(8) ? fuzz_bits() : 0xbf800000ULL + (unsigned long long)i, 4);
        keys++;
    }
    for (int i = 0; i < 3; i++) {
        if (fuzz_one_in(2)) continue;
        put_string(ids[i]);
        put_number(4, 4);
        put_number(fuzz_one_in(10) ? fuzz_bits() : (unsigned long long)fuzz_below(count + 2), 4);
        put_string(truths[i]);
        put_number(7, 4);
        put_number((unsigned long long)fuzz_below(2), 1);
        keys += 2;
    }
    return keys;
}

/* Makes the tokenizer of an open file, encodes a text, and decodes the ids. */
static void check_tokenizer(tfn_file *f)
{
    static const char text[] = "ab a  b\n<s>\xc3\xa4\xff 12";
    tfn_tokenizer_source source;
    tfn_tokenizer k;
    int32_t ids[200];
    char back[400];
    size_t size;
    ptrdiff_t count;
    const size_t bytes = tfn_gguf_tokenizer(f, &source, NULL, 0);
    if (!bytes || bytes > INPUT_MOST) return;
    FUZZ_CHECK(tfn_gguf_tokenizer(f, &source, text_room.end - bytes, bytes) == bytes);
    size = tfn_tokenizer_size(&source);
    if (!size || size > tokenizer_room.size) return;
    if (tfn_tokenizer_init(&k, &source, tokenizer_room.end - tokenizer_room.size, size) != TFN_OK)
        return;
    count = tfn_tokenizer_encode_specials(&k, ids, 200, text, sizeof text - 1);
    FUZZ_CHECK(count >= 0 && count <= 200);
    for (ptrdiff_t i = 0; i < count; i++) FUZZ_CHECK(ids[i] >= 0 && ids[i] < k.vocab);
    FUZZ_CHECK(tfn_tokenizer_decode(&k, back, sizeof back, ids, count) <= sizeof back);
}

/* -- tensors --------------------------------------------------------------------------------- */

/* ggml's types with values and bytes of a block; the last one is not read. */
static const int types[][3] = {
    { 0, 1, 4 }, { 1, 1, 2 }, { 2, 32, 18 }, { 3, 32, 20 }, { 6, 32, 22 }, { 7, 32, 24 },
    { 8, 32, 34 }, { 12, 256, 144 }, { 13, 256, 176 }, { 14, 256, 210 }, { 24, 1, 1 }, { 26, 1, 4 },
    { 28, 1, 8 }, { 30, 1, 2 }, { 10, 256, 84 }
};
/* Puts the entry of a tensor whose data begin at `at`; returns where the next one may begin. */
static unsigned long long put_tensor(int number, unsigned long long at)
{
    const int *type = types[fuzz_below(fuzz_one_in(20) ? 15 : 14)];
    const int rank = fuzz_one_in(20) ? fuzz_below(6) : 1 + fuzz_below(3);
    char name[8] = "t0";
    unsigned long long count = 1;
    name[1] = (char)('0' + (fuzz_one_in(10) ? 0 : number));
    put_string(name);
    put_number((unsigned long long)rank, 4);
    for (int k = 0; k < rank; k++) {
        unsigned long long side = (unsigned long long)fuzz_below(4);
        if (!k) side *= (unsigned long long)type[1];
        if (fuzz_one_in(40)) side = fuzz_bits();
        count *= side;
        put_number(side, 8);
    }
    put_number((unsigned long long)type[0], 4);
    put_number(fuzz_one_in(20) ? fuzz_bits() : at, 8);
    count = count / (unsigned long long)type[1] * (unsigned long long)type[2];
    return at + (count + 31) / 32 * 32;
}

/* -- a case ---------------------------------------------------------------------------------- */

static void fuzz_case(void)
{
    const int keys = fuzz_below(MOST_KEYS + 1);
    const int tensors = fuzz_below(MOST_TENSORS + 1);
    unsigned long long end = 0;
    tfn_file f;
    if (!file_room.size) {
        file_room = input_room_new(INPUT_MOST);
        value_room = input_room_new(INPUT_MOST);
        text_room = input_room_new(INPUT_MOST);
        tokenizer_room = input_room_new(1 << 20);
    }
    file.n = 0;
    input_put(&file, "GGUF");
    put_number((unsigned long long)(fuzz_one_in(30) ? fuzz_below(5) : 2 + fuzz_below(2)), 4);
    put_number(fuzz_one_in(40) ? fuzz_bits() : (unsigned long long)tensors, 8);
    put_number(fuzz_one_in(40) ? fuzz_bits() : (unsigned long long)keys, 8);
    for (int i = 0; i < keys; i++) put_key();
    if (fuzz_one_in(2)) file.s[16] = (unsigned char)(file.s[16] + put_tokenizer());
    for (int i = 0; i < tensors; i++) end = put_tensor(i, end);
    input_mutate(&file, 0);
    for (unsigned long long i = 0; i < end + 64; i++) {         /* padding and data */
        if (file.n == INPUT_MOST) break;
        input_byte(&file, fuzz_below(256));
    }
    memset(&f, 0, sizeof f);
    f.from = input_place(file_room, file.s, file.n);
    f.from_size = file.n;
    fuzz_executions++;
    if (tfn_gguf_open(&f) == TFN_OK) {
        fuzz_accepted++;
        check_tensors(&f, file.n, value_room);
        check_tokenizer(&f);
    } else FUZZ_CHECK(!f.header);
    tfn_file_close(&f);
}

int main(int argc, char **argv) { return fuzz_main("gguf", argc, argv); }
