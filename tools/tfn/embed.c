/* Vectors of lines, then the file. */
#include "embed.h"
#include "../../tfnorm.h"
#include "../common/library.h"
#include "../common/output.h"
#include "models.h"
#include "prompt.h"
#include "use.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Collects a vector for each line, in order. For an encoder-decoder it is the encoder's; the
 * decoder gets one unused token. */
typedef struct embedder {
    bundle   *b;
    tfn_stack stack;
    tfn_pool  pool;
    bool      unit;
    int32_t   layers, room, used;       /* room: tokens of a row; used: waiting rows */
    int32_t  *ids, *tokens, *lengths, *starts;
    float    *vectors;
    int64_t   count, most;
} embedder;

static void embedder_open(embedder *x, bundle *b, const settings *s)
{
    const size_t rows = (size_t)b->desc.batch;
    memset(x, 0, sizeof *x);
    x->b = b;
    x->room = b->desc.context;
    x->layers = TFN_LAYERS_ALL;
    if (given(s, O_LAYER)) x->layers = (int32_t)whole_of(s, O_LAYER);
    x->pool = (tfn_pool)choice_of(s, O_POOL);           /* the names have its order */
    x->unit = given(s, O_UNIT);
    if (b->desc.arch == TFN_ARCH_ENCODER_DECODER) {
        x->stack = TFN_STACK_ENCODER;
        x->room = b->model.desc.source_context;
    }
    x->ids = (int32_t *)reserve(rows * (size_t)x->room, sizeof *x->ids);
    x->tokens = (int32_t *)reserve(rows * (size_t)x->room, sizeof *x->tokens);
    x->lengths = (int32_t *)reserve(rows, sizeof *x->lengths);
    x->starts = (int32_t *)reserve(rows, sizeof *x->starts);
}

static void embedder_free(embedder *x)
{
    free(x->ids);
    free(x->tokens);
    free(x->lengths);
    free(x->starts);
    free(x->vectors);
}

/* Adds a row: the line with the special tokens of training. */
static void embedder_add(embedder *x, const char *text, size_t bytes, int64_t number)
{
    int32_t *row = x->ids + (int64_t)x->used * x->room;
    x->lengths[x->used++] = prompt_row(x->b, text, bytes, false, x->room, number,
                                        row);
}

/* Makes room for more vectors. */
static void embedder_grow(embedder *x, int32_t rows, int32_t cols)
{
    float *more;
    if (x->count + rows <= x->most) return;
    x->most = 2 * (x->count + rows);
    more = (float *)reserve((size_t)x->most, (size_t)cols * sizeof *more);
    if (x->count) memcpy(more, x->vectors, (size_t)x->count * (size_t)cols * sizeof *more);
    free(x->vectors);
    x->vectors = more;
}

/* Runs the waiting rows as one batch, padded to the longest. */
static void embedder_run(embedder *x)
{
    const int32_t cols = tfn_model_channels(&x->b->model);
    tfn_batch batch = { 0 };
    int32_t longest = 1;
    for (int32_t r = 0; r < x->used; r++)
        if (x->lengths[r] > longest) longest = x->lengths[r];
    memset(x->tokens, 0, (size_t)x->used * (size_t)longest * sizeof *x->tokens);
    for (int32_t r = 0; r < x->used; r++)
        memcpy(x->tokens + (int64_t)r * longest, x->ids + (int64_t)r * x->room,
               (size_t)x->lengths[r] * sizeof *x->tokens);
    batch.batch = x->used;
    batch.tokens = x->tokens;
    batch.time = longest;
    batch.lengths = x->lengths;
    if (x->stack == TFN_STACK_ENCODER) {
        batch.source = x->tokens;
        batch.source_time = longest;
        batch.source_lengths = x->lengths;
        batch.tokens = x->starts;
        batch.time = 1;
        batch.lengths = NULL;
    }
    embedder_grow(x, x->used, cols);
    tfn_model_pool(&x->b->model, &batch, x->stack, x->layers, x->pool, x->unit,
                   x->vectors + x->count * cols);
    must_be_ok(&x->b->model.error);
    x->count += x->used;
    x->used = 0;
}

/* Prints a line for each vector, with enough digits to read the same floats again. */
static void put_vectors(FILE *f, const embedder *x, int32_t cols)
{
    for (int64_t i = 0; i < x->count; i++)
        for (int32_t c = 0; c < cols; c++)
            fprintf(f, "%.9g%c", (double)x->vectors[i * cols + c], c + 1 < cols ? '\t' : '\n');
}

static bool write_vectors(const embedder *x, const char *out, bool npy)
{
    const int32_t cols = tfn_model_channels(&x->b->model);
    tfn_tensor t = { 0 };
    output_file o;
    if (!out) {
        put_vectors(stdout, x, cols);
        return true;
    }
    if (npy) {
        tfn_file f = file_at(out);
        t.dtype = TFN_DTYPE_F32;
        t.rank = 2;
        t.shape[0] = x->count;
        t.shape[1] = cols;
        t.data = x->vectors;
        library_npy_write(&f, &t);
        must_be_ok(&f.error);
        return true;
    }
    FILE *f = output_open(&o, out);
    if (f) put_vectors(f, x, cols);
    return output_close(&o);
}

/* The file format: by --format, else by the extension. */
static bool wants_npy(const settings *s, cli *c)
{
    enum { AUTO, NPY };                                 /* in the order of --format */
    const char *out = text_of(s, O_OUT);
    size_t n = 0;
    if (out) n = strlen(out);
    if (choice_of(s, O_FORMAT) == NPY && !out) cli_fail(c, "--format npy needs --out FILE");
    if (choice_of(s, O_FORMAT) != AUTO) return choice_of(s, O_FORMAT) == NPY;
    return n >= 4 && !strcmp(out + n - 4, ".npy");
}

int embed(settings *s, cli *c)
{
    static bundle b;
    embedder x;
    line_file input;
    const bool npy = wants_npy(s, c);
    const char *out = NULL;
    const char *path;
    bool written;
    if (given(s, O_OUT)) out = out_of(s, c, npy);
    path = open_use(&b, s, c);
    if (b.desc.bands) die("%s is a model of sound, not of lines", b.path);
    lines_open(&input, path);
    b.desc.batch_tokens = 0;                            /* any */
    bundle_load(&b, (int32_t)whole_of(s, O_BATCH), threads_of(s));
    embedder_open(&x, &b, s);
    while (next_line(&input)) {
        embedder_add(&x, input.line, input.bytes, input.number - 1);
        if (x.used == b.desc.batch) embedder_run(&x);
    }
    if (x.used) embedder_run(&x);
    written = write_vectors(&x, out, npy);
    embedder_free(&x);
    lines_close(&input);
    bundle_free(&b);
    return written ? 0 : 1;
}
