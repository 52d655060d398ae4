/* Packed weights as floats, the loss before and after, and the command. */
#include "quantize.h"
#include "../common/output.h"
#include "eval.h"
#include "models.h"
#include "trainer.h"
#include "use.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- parameters -------------------------------------------------------------------------------- */

const char *weights_name(tfn_weights type)
{
    return tfn_choice_name("weights", (int32_t)type);
}

size_t param_bytes(const tfn_param_info *p)
{
    if (p->weights) return p->bytes;
    return (size_t)p->rows * (size_t)p->cols * sizeof(float);
}

/* True if the rows of a table are stored as columns: Q8 and Q4 have blocks along the inputs, which
 * are a table's columns. */
static bool param_is_turned(const tfn_model *m, int32_t i, const tfn_param_info *p)
{
    return m->weights[i].table && (p->weights == TFN_WEIGHTS_Q8 || p->weights == TFN_WEIGHTS_Q4);
}

/* Reads a table, whose rows are its outputs, as columns, sixteen at a time. */
static void param_read_turned(const tfn_param_info *p, float *to)
{
    float *some = (float *)reserve(16 * (size_t)p->cols, sizeof *some);
    for (int32_t first = 0; first < p->rows; first += 16) {
        float *row = to + (int64_t)first * p->cols;
        int32_t n = p->rows - first;
        if (n > 16) n = 16;
        tfn_quant_unpack(some, p->packed, p->weights, p->cols, p->rows, first, n);
        for (int32_t r = 0; r < n; r++, row += p->cols)
            for (int32_t c = 0; c < p->cols; c++) row[c] = some[c * n + r];
    }
    free(some);
}

float *param_floats(const tfn_model *m, int32_t i)
{
    tfn_param_info p;
    tfn_model_param(m, i, &p);
    float *to = (float *)reserve((size_t)p.rows * (size_t)p.cols, sizeof *to);
    if (!p.weights) memcpy(to, p.data, param_bytes(&p));
    else if (param_is_turned(m, i, &p)) param_read_turned(&p, to);
    else tfn_quant_unpack(to, p.packed, p.weights, p.rows, p.cols, 0, p.cols);
    return to;
}

void param_store(const tfn_model *m, int32_t i, const float *from)
{
    tfn_param_info p;
    tfn_model_param(m, i, &p);
    if (!p.weights) memcpy(p.data, from, param_bytes(&p));
    else if (param_is_turned(m, i, &p))
        tfn_quant_pack(p.packed, p.weights, from, p.cols, p.rows, 1, p.cols);
    else tfn_quant_pack(p.packed, p.weights, from, p.rows, p.cols, p.cols, 1);
}

/* -- models ------------------------------------------------------------------------------------ */

/* Returns the model with weights of another type. `from` becomes the original, which the caller
 * frees. One of the two types is float32. */
static void bundle_repack(bundle *b, tfn_model *from, tfn_weights type)
{
    char text[DATA_ERROR];
    const char *hint = b->desc.folded ? "" : "; tfn fold makes one that may";
    *from = b->model;
    b->desc.weights = type;
    tfn_model_new(&b->model, &b->desc, NULL);
    if (b->model.error.status == TFN_BAD_OPTION)
        die("%s cannot have weights of %s: %s%s", b->path, weights_name(type),
            tfn_error_text(&b->model.error, text, sizeof text), hint);
    must_be_model(&b->model, &b->desc);
    if (type) {
        tfn_model_quantize(&b->model, from);
        must_be_ok(&b->model.error);
        return;
    }
    for (int32_t i = 0; i < from->weight_count; i++) {
        float *numbers = param_floats(from, i);
        param_store(&b->model, i, numbers);
        free(numbers);
    }
    b->model.step = from->step;
}

/* -- what it has changed ----------------------------------------------------------------------- */

enum { QUANT_EMBEDDINGS, QUANT_ATTENTION, QUANT_FFN, QUANT_OUTPUT, QUANT_OTHERS, QUANT_KEPT,
       QUANT_KINDS };
typedef struct quant_kind {
    int64_t count;              /* count of values */
    size_t  was, is;            /* bytes */
    double  off, all;           /* sums of squares: of the differences, of the values */
} quant_kind;

/* True for a matrix that has, or had, fewer bits. */
static int quant_kind_of(const char *name)
{
    static const struct { const char *part; int kind; } parts[] = {
        { "embedding", QUANT_EMBEDDINGS }, { ".self.", QUANT_ATTENTION },
        { ".cross.", QUANT_ATTENTION }, { ".ffn", QUANT_FFN }, { "output", QUANT_OUTPUT }
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part)) return parts[i].kind;
    return QUANT_OTHERS;
}

static void quant_add(quant_kind *k, const tfn_model *was, const tfn_model *is, int32_t i)
{
    tfn_param_info a, b;
    tfn_model_param(was, i, &a);
    tfn_model_param(is, i, &b);
    const int64_t count = (int64_t)a.rows * a.cols;
    k->count += count;
    k->was += param_bytes(&a);
    k->is += param_bytes(&b);
    if (!a.weights && !b.weights) return;
    float *x = param_floats(was, i);
    float *y = param_floats(is, i);
    for (int64_t j = 0; j < count; j++) {
        const double off = (double)y[j] - (double)x[j];
        k->off += off * off;
        k->all += (double)x[j] * (double)x[j];
    }
    free(x);
    free(y);
}

static void quant_line(const char *name, const quant_kind *k)
{
    printf("%-16s %12lld %13zu %13zu  ", name, (long long)k->count, k->was, k->is);
    if (k->off > 0) printf("%.5f\n", sqrt(k->off / k->all));
    else printf("0\n");
}

/* Prints a line for each kind of tensor: values, bytes before and after, and the relative error
 * (the root of the ratio of the sums of squares). */
static void quant_say(const tfn_model *was, const tfn_model *is)
{
    static const char *const names[QUANT_KINDS] = { "embeddings", "attention", "feed-forward",
                                                    "output", "other matrices", "still float32" };
    quant_kind kinds[QUANT_KINDS];
    quant_kind all;
    memset(kinds, 0, sizeof kinds);
    memset(&all, 0, sizeof all);
    for (int32_t i = 0; i < is->weight_count; i++) {
        tfn_param_info a, b;
        int kind = QUANT_KEPT;
        tfn_model_param(was, i, &a);
        tfn_model_param(is, i, &b);
        if (a.weights || b.weights) kind = quant_kind_of(b.name);
        quant_add(&kinds[kind], was, is, i);
    }
    printf("%-16s %12s %13s %13s  %s\n", "", "numbers", weights_name(was->desc.weights),
           weights_name(is->desc.weights), "moved by");
    for (int i = 0; i < QUANT_KINDS; i++) {
        const quant_kind *k = &kinds[i];
        if (!k->count) continue;
        quant_line(names[i], k);
        all.count += k->count;
        all.was += k->was;
        all.is += k->is;
        all.off += k->off;
        all.all += k->all;
    }
    quant_line("all", &all);
}

/* -- quantize ---------------------------------------------------------------------------------- */

static void must_repack(const bundle *b, tfn_weights type)
{
    const char *is = weights_name(b->desc.weights);
    if (b->desc.weights == type) die("%s has weights of %s already", b->path, is);
    if (b->desc.weights && type)
        die("%s has weights of %s: quantize the model that it was made of, or --to float32 first",
            b->path, is);
}

/* The default output: MODEL.q8.safetensors for MODEL.safetensors. */
static const char *quantized_name(settings *s, cli *c)
{
    static char name[OUTPUT_PATH];
    if (!given(s, O_OUT)) {
        kept_name(name, sizeof name, s->file[0], text_of(s, O_TO));
        s->text[O_OUT] = name;
    }
    return out_of(s, c, true);
}

/* The loss of a file on the batches of --on. This bundle is separate from the saved one, because
 * its batch size must not be stored. */
static double quantize_loss(bundle *on, corpus *x, const char *path, tfn_weights type)
{
    on->path = path;
    on->desc.weights = type;
    bundle_load(on, x->batches.most_rows, 1);
    const double loss = loss_of_batches(&on->model, x, INT64_MAX);
    tfn_model_free(&on->model);
    return loss;
}

int quantize(settings *s, cli *c)
{
    static bundle b, on;
    tfn_model was;
    corpus x;
    const char *out;
    double loss = 0;
    if (s->files != 1) cli_fail(c, "expected one model");
    if (!given(s, O_TO)) cli_fail(c, "expected --to q8, q4, bf16, f16 or float32");
    const tfn_weights type = (tfn_weights)tfn_choice_find("weights", text_of(s, O_TO))->value;
    out = quantized_name(s, c);
    bundle_look(&b, s->file[0]);
    must_repack(&b, type);
    if (given(s, O_ON)) {
        bundle_open(&on, s->file[0]);
        open_corpus(&on, &x, s, text_of(s, O_ON));
        loss = quantize_loss(&on, &x, s->file[0], b.desc.weights);
    }
    bundle_load(&b, 1, 1);
    bundle_repack(&b, &was, type);
    quant_say(&was, &b.model);
    bundle_save(&b, &b.from, out, true);
    if (given(s, O_ON)) {
        const double now = quantize_loss(&on, &x, out, type);
        printf("loss        %.6f, was %.6f: %+.3f %%\n", now, loss, 100 * (now / loss - 1));
        corpus_free(&x);
        bundle_free(&on);
    }
    printf("hash %016llX\n", (unsigned long long)tfn_model_hash(&b.model));
    tfn_model_free(&was);
    bundle_free(&b);
    return 0;
}
