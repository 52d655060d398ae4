/* Statistics of tensors, and the command. */
#include "tensors.h"
#include "../../tfnorm.h"
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

/* What a line of a tensor says. */
typedef struct tensor_line {
    const char *type;
    char        shape[160];
    int64_t     values;
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

/* Bytes of a packed matrix are no numbers: what they stand for is, as the model has it. */
static bool inspect_packed(tensor_line *x, const tfn_model *m, const tfn_tensor *t)
{
    static const char *const types[TFN_WEIGHTS_COUNT] = { "", "Q8", "Q4", "", "" };
    tfn_param_info p;
    int32_t i = 0;
    if (t->dtype != TFN_DTYPE_U8) return false;
    while (tfn_model_param(m, i, &p) && strcmp(p.name, t->name)) i++;
    if (!tfn_model_param(m, i, &p) || p.bytes != t->bytes) return false;
    float *numbers = param_floats(m, i);
    x->type = types[p.weights];
    x->values = (int64_t)p.rows * p.cols;
    snprintf(x->shape, sizeof x->shape, "%d x %d", (int)p.rows, (int)p.cols);
    x->sum = x->most = 0;
    inspect_values(x, numbers, x->values);
    free(numbers);
    return true;
}

/* A line for a tensor; its values join the hash as floats. Returns how many it has. */
static int64_t inspect_tensor(tfn_file *f, const tfn_tensor *t, const tfn_model *m, uint64_t *hash)
{
    static const char *const names[TFN_DTYPE_COUNT] = {
        "", "U64", "I64", "F64", "C64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16",
        "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "F6_E3M2",
        "F6_E2M3", "F4", "BOOL"
    };
    float part[1024];
    tensor_line x = { names[t->dtype], "", t->count, 0, 0 };
    const char *form = "%lld";          /* 3 x 4 x 5 */
    for (int32_t i = 0; i < t->rank; i++) {
        snprintf(x.shape + strlen(x.shape), sizeof x.shape - strlen(x.shape), form,
                 (long long)t->shape[i]);
        form = " x %lld";
    }
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
    printf("%-40s %-5s %-14s norm %-11.6g max %-11.6g bytes %lld\n", t->name, x.type, x.shape,
           sqrt(x.sum), x.most, (long long)t->bytes);
    return x.values;
}

/* The model of a checkpoint; false: the file is of another program, or no such model is made. */
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

static void inspect_file(const char *path)
{
    tfn_file f = file_at(path);
    tfn_tensor t;
    uint64_t hash = UINT64_C(14695981039346656037);
    int64_t values = 0;
    int64_t step = -1;
    int32_t i;
    tfn_model_desc d;
    tfn_model m;
    tfn_file_open(&f);
    must_be_file(&f.error, path);
    const bool made = inspect_load(&m, path, &d, &step);
    for (i = 0; tfn_file_tensor(&f, i, &t); i++) values += inspect_tensor(&f, &t, &m, &hash);
    must_be_ok(&f.error);
    tfn_file_close(&f);
    printf("%s: %d tensors, %lld values, hash %016llX\n", path, (int)i, (long long)values,
           (unsigned long long)hash);
    if (made)
        printf("model: %s, %d layers, width %d, hidden width %d, vocabulary %d, %s, weights %s, "
               "step %lld, hash %016llX\n",
               tfn_choice_name("arch", (int32_t)d.arch), (int)d.layers, (int)d.width,
               (int)m.desc.ffn, (int)d.vocab, d.recipe, weights_name(d.weights), (long long)step,
               (unsigned long long)tfn_model_hash(&m));
    tfn_model_free(&m);
}

int inspect(settings *s, cli *c)
{
    if (given(s, O_SAID) || given(s, O_IDS)) {
        const char *out = "-";
        if (given(s, O_OUT)) out = out_of(s, c, false);
        return inspect_sentence(s, c, out);
    }
    if (s->files < 1) cli_fail(c, "wanted FILE.safetensors");
    if (given(s, O_OUT) || given(s, O_TARGET))
        cli_fail(c, "--out and --target are of a sentence: wanted --text or --ids");
    for (int k = 0; k < s->files; k++) inspect_file(s->file[k]);
    return 0;
}
