/* Statistics of tensors, then the command. */
#include "tensors.h"
#include "../../tfnorm.h"
#include "../common/json.h"
#include "inspect.h"
#include "models.h"
#include "quantize.h"
#include "use.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_bytes(uint64_t hash, const void *from, size_t n)         /* FNV-1a */
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)from)[i]) * UINT64_C(1099511628211);
    return hash;
}

enum { RANK = 8 };

/* The printed facts about a tensor. */
typedef struct tensor_line {
    char        name[128];
    const char *type;
    long long   shape[RANK];
    int         rank;
    int64_t     values, bytes;
    double      sum, most;              /* of squares, of magnitudes */
} tensor_line;

static void inspect_values(tensor_line *x, const float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)v[i];
        x->sum += value * value;
        if (fabs(value) > x->most || value != value) x->most = fabs(value);
    }
}

/* Measures a packed matrix by the numbers that its bytes represent. False: it is not packed. */
static bool inspect_packed(tensor_line *x, const tfn_model *m, const tfn_tensor *t)
{
    static const char *const types[TFN_WEIGHTS_COUNT] = { "", "Q8", "Q4", "", "" };
    tfn_param_info p;
    int32_t i = 0;
    if (t->dtype != TFN_DTYPE_U8) return false;
    for (; tfn_model_param(m, i, &p); i++)
        if (!strcmp(p.name, t->name)) break;
    if (!tfn_model_param(m, i, &p) || p.bytes != t->bytes) return false;
    float *numbers = param_floats(m, i);
    x->type = types[p.weights];
    x->values = (int64_t)p.rows * p.cols;
    x->rank = 2;
    x->shape[0] = p.rows;
    x->shape[1] = p.cols;
    x->sum = x->most = 0;
    inspect_values(x, numbers, x->values);
    free(numbers);
    return true;
}

/* Measures a tensor; its values join the hash as floats. */
static tensor_line inspect_tensor(tfn_file *f, const tfn_tensor *t, const tfn_model *m,
                                  uint64_t *hash)
{
    static const char *const names[TFN_DTYPE_COUNT] = {
        "", "U64", "I64", "F64", "C64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16",
        "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "F6_E3M2",
        "F6_E2M3", "F4", "BOOL", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"
    };
    float part[1024];
    tensor_line x;
    memset(&x, 0, sizeof x);
    snprintf(x.name, sizeof x.name, "%s", t->name);
    x.type = names[t->dtype];
    x.values = t->count;
    x.bytes = (int64_t)t->bytes;
    x.rank = t->rank;
    for (int32_t i = 0; i < t->rank; i++) x.shape[i] = t->shape[i];
    for (int64_t at = 0; at < t->count; at += 1024) {
        int64_t n = t->count - at;
        if (n > 1024) n = 1024;
        if (tfn_file_read(f, t, part, at, n) != TFN_OK) break;
        *hash = hash_bytes(*hash, part, (size_t)n * sizeof *part);
        inspect_values(&x, part, n);
    }
    if (f->error.status == TFN_UNSUPPORTED) {
        memset(&f->error, 0, sizeof f->error);
        x.sum = x.most = (double)NAN;
    }
    must_be_ok(&f->error);
    if (t->dtype == TFN_DTYPE_U8 && !strncmp(t->name, "training.", 9))
        x.sum = x.most = (double)NAN;   /* moments of 8 bits, with their scales */
    inspect_packed(&x, m, t);
    return x;
}

static void print_tensor(const tensor_line *x, bool json)
{
    char shape[RANK * 24] = "";
    const char *form = "%lld";          /* 3 x 4 x 5 */
    if (json) {
        json_line line = json_begin(stdout);
        json_text(&line, "tensor", x->name);
        json_text(&line, "dtype", x->type);
        json_wholes(&line, "shape", x->shape, x->rank);
        json_real(&line, "norm", sqrt(x->sum));
        json_real(&line, "max", x->most);
        json_whole(&line, "bytes", x->bytes);
        json_end(&line);
        return;
    }
    for (int i = 0; i < x->rank; i++) {
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), form, x->shape[i]);
        form = " x %lld";
    }
    printf("%-40s %-5s %-14s norm %-11.6g max %-11.6g bytes %lld\n", x->name, x->type, shape,
           sqrt(x->sum), x->most, (long long)x->bytes);
}

/* Loads the model of a checkpoint. False: the file is of another program, or the model cannot be
 * made. */
static bool inspect_load(tfn_model *m, const char *path, tfn_model_desc *d, int64_t *step)
{
    tfn_file f = file_at(path);
    memset(m, 0, sizeof *m);
    if (tfn_model_peek(&f, d, step) != TFN_OK) return false;
    d->inference = true;
    d->batch = d->threads = 1;
    f = file_at(path);
    return tfn_model_new(m, d, NULL) == TFN_OK && tfn_model_load_weights(m, &f, 1) == TFN_OK;
}

/* The printed facts about a file, before its tensors. */
typedef struct file_line {
    const char    *path;
    int64_t        tensors, values, step;
    uint64_t       hash;
    bool           made;                /* a model of this program, with: */
    tfn_model_desc desc;
    tfn_model      model;
} file_line;

static void print_file_json(const file_line *x)
{
    const tfn_model_desc *d = &x->desc;
    char hash[20];
    json_line line = json_begin(stdout);
    json_text(&line, "file", x->path);
    json_whole(&line, "tensors", x->tensors);
    json_whole(&line, "values", x->values);
    snprintf(hash, sizeof hash, "%016llX", (unsigned long long)x->hash);
    json_text(&line, "hash", hash);
    if (x->made) {
        json_text(&line, "arch", tfn_choice_name("arch", (int32_t)d->arch));
        json_whole(&line, "layers", d->layers);
        json_whole(&line, "width", d->width);
        json_whole(&line, "ffn", x->model.desc.ffn);
        json_whole(&line, "vocabulary", d->vocab);
        json_text(&line, "recipe", d->recipe);
        json_text(&line, "weights", weights_name(d->weights));
        if (x->step >= 0) json_whole(&line, "step", x->step);
        snprintf(hash, sizeof hash, "%016llX", (unsigned long long)tfn_model_hash(&x->model));
        json_text(&line, "model_hash", hash);
    }
    json_end(&line);
}

static void print_file(const file_line *x)
{
    const tfn_model_desc *d = &x->desc;
    printf("%s: %lld tensors, %lld values, hash %016llX\n", x->path, (long long)x->tensors,
           (long long)x->values, (unsigned long long)x->hash);
    if (!x->made) return;
    printf("model: %s, %d layers, width %d, hidden width %d, vocabulary %d, %s, weights %s, "
           "step %lld, hash %016llX\n",
           tfn_choice_name("arch", (int32_t)d->arch), (int)d->layers, (int)d->width,
           (int)x->model.desc.ffn, (int)d->vocab, d->recipe, weights_name(d->weights),
           (long long)x->step, (unsigned long long)tfn_model_hash(&x->model));
}

/* Measures all tensors, prints the summary, then a line a tensor. */
static void inspect_file(const char *path, bool json)
{
    tfn_file f = file_at(path);
    tfn_tensor t;
    file_line x;
    tensor_line *lines;
    memset(&x, 0, sizeof x);
    x.path = path;
    x.hash = UINT64_C(14695981039346656037);
    x.step = -1;
    tfn_file_open(&f);
    must_be_file(&f.error, path);
    x.made = inspect_load(&x.model, path, &x.desc, &x.step);
    while (tfn_file_tensor(&f, (int32_t)x.tensors, &t)) x.tensors++;
    lines = (tensor_line *)reserve((size_t)x.tensors + 1, sizeof *lines);
    for (int32_t i = 0; i < x.tensors; i++) {
        tfn_file_tensor(&f, i, &t);
        lines[i] = inspect_tensor(&f, &t, &x.model, &x.hash);
        x.values += lines[i].values;
    }
    must_be_ok(&f.error);
    tfn_file_close(&f);
    if (json) print_file_json(&x);
    else print_file(&x);
    for (int64_t i = 0; i < x.tensors; i++) print_tensor(&lines[i], json);
    free(lines);
    tfn_model_free(&x.model);
}

int inspect(settings *s, cli *c)
{
    if (given(s, O_SAID) || given(s, O_IDS)) {
        const char *out = "-";
        if (given(s, O_JSON)) cli_fail(c, "--json is for tensors, a sentence gives a page");
        if (given(s, O_OUT)) out = out_of(s, c, false);
        return inspect_sentence(s, c, out);
    }
    if (s->files < 1) cli_fail(c, "expected FILE.safetensors");
    if (given(s, O_OUT) || given(s, O_TARGET))
        cli_fail(c, "--out and --target need a sentence: --text or --ids");
    for (int k = 0; k < s->files; k++) inspect_file(s->file[k], given(s, O_JSON));
    return 0;
}
