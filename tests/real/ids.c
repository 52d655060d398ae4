/* ids TOKENIZER STRINGS: encodes strings with a tokenizer.json, a model of SentencePiece or the
 * metadata of a .gguf file, for tokenizers.mjs. STRINGS has
 * each string after its number of bytes, four bytes, lowest first. Prints a line per string: its
 * ids with special tokens allowed, then a tab and the decoded text in hexadecimal digits. The
 * tokenizer is saved as a blob and read again before the second half, and written as tokenizer.json
 * and read again before the last quarter. */
#ifndef TEST_LINKED
#define TFNORM_IMPLEMENTATION
#endif
#include "../../tfnorm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    unsigned char *s;
    if (!f) exit(2);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    s = (unsigned char *)malloc(*size + 1);
    if (fread(s, 1, *size, f) != *size) exit(2);
    fclose(f);
    return s;
}

static void make(tfn_tokenizer *k, const tfn_tokenizer_source *source)
{
    char text[512];
    const size_t size = tfn_tokenizer_size(source);
    if (tfn_tokenizer_init(k, source, malloc(size + 1), size) == TFN_OK) return;
    printf("%s\n", tfn_error_text(&k->error, text, sizeof text));
    exit(1);
}

/* The same tokenizer from its blob, or with `json` from its tokenizer.json if that can express
 * it. */
static void make_again(tfn_tokenizer *k, int json)
{
    tfn_tokenizer_source source;
    size_t size = tfn_tokenizer_write(k, NULL, 0);
    char *saved;
    memset(&source, 0, sizeof source);
    if (json) size = tfn_tokenizer_json_text(k, NULL, 0);
    if (!size) return;
    saved = (char *)malloc(size);
    if (json) tfn_tokenizer_json_text(k, saved, size);
    else tfn_tokenizer_write(k, saved, size);
    if (json) {
        source.json = saved;
        source.json_size = size;
    } else {
        source.blob = saved;
        source.blob_size = size;
    }
    make(k, &source);
}

/* The tokenizer in the metadata of a file of llama.cpp. */
static void take_gguf(tfn_tokenizer_source *source, const char *path)
{
    char text[512];
    tfn_file f;
    size_t size;
    void *saved;
    memset(&f, 0, sizeof f);
    f.path = path;
    tfn_gguf_open(&f);
    size = tfn_gguf_tokenizer(&f, source, NULL, 0);
    saved = malloc(size + 1);
    tfn_gguf_tokenizer(&f, source, saved, size);
    if (f.error.status == TFN_OK && size) return;
    printf("%s\n", tfn_error_text(&f.error, text, sizeof text));
    exit(1);
}

int main(int count, char **args)
{
    tfn_tokenizer_source source;
    tfn_tokenizer k;
    size_t size;
    size_t strings;
    size_t at = 0;
    int line = 0;
    int lines = 0;
    unsigned char *s;
    if (count < 3) return 2;
    memset(&source, 0, sizeof source);
    s = read_file(args[1], &size);
    if (!strcmp(args[1] + strlen(args[1]) - 5, ".gguf")) {
        take_gguf(&source, args[1]);
    } else if (size > 6 && strcmp(args[1] + strlen(args[1]) - 5, ".json")) {
        source.model = s;
        source.model_size = size;
    } else {
        source.json = (const char *)s;
        source.json_size = size;
    }
    make(&k, &source);
    s = read_file(args[2], &strings);
    for (size_t i = 0; i < strings; lines++)
        i += 4 + (s[i] | (size_t)s[i + 1] << 8 | (size_t)s[i + 2] << 16 | (size_t)s[i + 3] << 24);
    for (; at < strings; line++) {
        const size_t n = s[at] | (size_t)s[at + 1] << 8 | (size_t)s[at + 2] << 16
                         | (size_t)s[at + 3] << 24;
        const char *text = (const char *)s + at + 4;
        ptrdiff_t room = line % 3 ? (ptrdiff_t)n * 3 : 0;      /* without room it is called again */
        int32_t *ids = (int32_t *)malloc((size_t)(room + 1) * sizeof *ids);
        ptrdiff_t ids_count = tfn_tokenizer_encode_specials(&k, ids, room, text, n);
        char *back;
        size_t bytes;
        if (ids_count > room) {
            room = ids_count;
            ids = (int32_t *)realloc(ids, (size_t)room * sizeof *ids);
            ids_count = tfn_tokenizer_encode_specials(&k, ids, room, text, n);
            if (ids_count > room) return 3;
        }
        for (ptrdiff_t i = 0; i < ids_count; i++) printf(" %d", ids[i]);
        bytes = tfn_tokenizer_decode(&k, NULL, 0, ids, ids_count);
        back = (char *)malloc(bytes + 1);
        tfn_tokenizer_decode(&k, back, bytes, ids, ids_count);
        printf("\t");
        for (size_t i = 0; i < bytes; i++) printf("%02x", (unsigned char)back[i]);
        printf("\n");
        free(back);
        free(ids);
        at += 4 + n;
        if (line == lines / 2) make_again(&k, 0);
        if (line == lines / 4 * 3) make_again(&k, 1);
    }
    return 0;
}
