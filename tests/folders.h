/* The folders of tests/golden with checkpoints, adapters and GGUF files: their paths, texts,
 * models, sentences and logits. Files in memory, and imports of them. */
#ifndef FOLDERS_H
#define FOLDERS_H
#include "errors.h"

enum { FOLDERS_TEXT = 1 << 16, FOLDERS_PATHS = 8, FOLDERS_SENTENCES = 2, FOLDERS_TOKENS = 64 };

/* -- files ------------------------------------------------------------------------------------- */

/* golden/KIND/NAME/FILE, from the tests' folder or from the top level; name and file may be NULL.
 * GOLDEN_HUB=FOLDER is used instead of golden/hub. The last eight paths stay valid. */
static inline const char *folders_path(const char *kind, const char *name, const char *file)
{
    static char paths[FOLDERS_PATHS][400];
    static int next;
    char *path = paths[next++ % FOLDERS_PATHS];
    const char *hub = strcmp(kind, "hub") ? NULL : getenv("GOLDEN_HUB");
    const char *golden = "tests/golden/";
    FILE *f = fopen("golden/configs.txt", "rb");
    if (f) {
        fclose(f);
        golden = "golden/";
    }
    if (hub) snprintf(path, sizeof paths[0], "%s", hub);
    else snprintf(path, sizeof paths[0], "%s%s", golden, kind);
    if (name) snprintf(path + strlen(path), sizeof paths[0] - strlen(path), "/%s", name);
    if (file) snprintf(path + strlen(path), sizeof paths[0] - strlen(path), "/%s", file);
    return path;
}

/* Reads a file and puts a zero after it. Returns its bytes, at most room - 1. */
static inline size_t folders_read(const char *path, void *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    const size_t bytes = f ? fread(to, 1, room - 1, f) : 0;
    if (f) fclose(f);
    ((char *)to)[bytes] = 0;
    return bytes;
}

static inline size_t folders_config(const char *name, char *to, size_t room)
{
    return folders_read(folders_path("hub", name, "config.json"), to, room);
}

/* Reads the numbers of a text file, separated by white space; returns how many. */
static inline int folders_numbers(const char *path, double *to, int room)
{
    static char text[FOLDERS_TEXT];
    char *s = text, *end;
    int n = 0;
    folders_read(path, text, sizeof text);
    while (n < room) {
        const double v = strtod(s, &end);
        if (end == s) break;
        to[n++] = v;
        s = end;
    }
    return n;
}

/* A file to read from memory, or to write there. */
static inline tfn_file folders_from(const void *bytes, size_t size)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.from = bytes;
    f.from_size = size;
    return f;
}
static inline tfn_file folders_to(void *room, size_t size)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.to = room;
    f.to_size = size;
    return f;
}

/* Writes a safetensors file to memory: a header and so many bytes of zeros. Returns its bytes. */
static inline size_t folders_tensors(unsigned char *to, const char *header, size_t zeros)
{
    const size_t n = strlen(header);
    for (int i = 0; i < 8; i++) to[i] = (unsigned char)((uint64_t)n >> 8*i);
    memcpy(to + 8, header, n);
    memset(to + 8 + n, 0, zeros);
    return 8 + n + zeros;
}
static inline void folders_write(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, size, f) == size);
    if (f) fclose(f);
}

/* -- models ------------------------------------------------------------------------------------ */

static inline tfn_model_desc folders_desc(bool inference)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.inference = inference;
    d.batch = FOLDERS_SENTENCES;
    d.threads = 1;
    return d;
}

static inline bool folders_model(tfn_model *m, const char *path, bool inference)
{
    const tfn_model_desc d = folders_desc(inference);
    return CHECK_OK(tfn_import_new(m, path, &d), &m->error);
}

/* An import of the text of a config.json and of an open file, or NULL. */
static inline tfn_import folders_import(const char *config, size_t size, tfn_file *f)
{
    tfn_import x;
    memset(&x, 0, sizeof x);
    x.config = config;
    x.config_size = size;
    x.files = f;
    x.count = f != NULL;
    return x;
}

/* Makes the model of an import, loads its weights, and closes the file. */
static inline bool folders_load(tfn_model *m, tfn_import *x, bool inference)
{
    tfn_model_desc d = folders_desc(inference);
    bool good = CHECK_OK(tfn_import_peek(x, &d), &x->error)
             && CHECK_OK(tfn_model_new(m, &d, NULL), &m->error);
    if (good && !CHECK_OK(tfn_import_weights(x, m), &x->error)) {
        tfn_model_free(m);
        good = false;
    }
    if (x->files) tfn_file_close(x->files);
    return good;
}

/* -- sentences and their logits ---------------------------------------------------------------- */

typedef struct folders_case {
    int32_t   tokens[FOLDERS_TOKENS], source[FOLDERS_TOKENS], count;
    tfn_batch batch;
} folders_case;

/* For encoder-decoders, a line of ids.txt has a source and then the decoder's input, of these
 * lengths. */
enum { FOLDERS_SOURCE = 13, FOLDERS_TARGET = 11 };
static inline bool folders_pairs(const char *name)
{
    return !strncmp(name, "t5", 2) || !strncmp(name, "mt5", 3) || !strncmp(name, "marian", 6)
        || strstr(name, "bart") || !strncmp(name, "m2m", 3);
}

/* Reads the sentences of a folder of golden/hub. */
static inline bool folders_sentences(folders_case *c, const char *name)
{
    double ids[FOLDERS_TOKENS];
    const int all = folders_numbers(folders_path("hub", name, "ids.txt"), ids, FOLDERS_TOKENS);
    const int both = all / FOLDERS_SENTENCES, source = folders_pairs(name) ? FOLDERS_SOURCE : 0;
    const int own = source ? FOLDERS_TARGET : both;
    memset(c, 0, sizeof *c);
    if (!all || all != FOLDERS_SENTENCES * (source + own)) {
        FAIL("%s has %d ids", name, all);
        return false;
    }
    for (int i = 0; i < all; i++) {
        const int b = i / both, t = i % both;
        if (t < source) c->source[b * source + t] = (int32_t)ids[i];
        else c->tokens[b * own + t - source] = (int32_t)ids[i];
    }
    c->count = FOLDERS_SENTENCES * own;
    c->batch.tokens = c->tokens;
    c->batch.batch = FOLDERS_SENTENCES;
    c->batch.time = own;
    if (source) c->batch.source = c->source;
    c->batch.source_time = source;
    return true;
}

/* The largest difference must be at most `most` of the largest number. */
#define CHECK_NEAR(found, wanted, n, most)                                                     \
    folders_near(found, wanted, n, most, #found, __FILE__, __LINE__)
static inline void folders_near(const float *found, const double *wanted, int n, double most,
                                const char *name, const char *file, int line)
{
    double off = 0, largest = 0;
    for (int i = 0; found && i < n; i++) {
        if (fabs(wanted[i]) > largest) largest = fabs(wanted[i]);
        off = check_worse(off, fabs((double)found[i] - wanted[i]));
    }
    if (found && largest > 0 && off <= most * largest) return;
    if (check_fails(file, line)) printf("%s: off by %.1e of the largest\n", name, off / largest);
}
#endif
