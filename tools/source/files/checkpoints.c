#include "checkpoints.h"
#include "../kernels/products.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../model/builder.h"
#include "../model/initial.h"
#include "../model/update.h"
#include "../model/model.h"
#include "../model/step.h"
#include "../text/json.h"
#include "files.h"
#include "safetensors.h"

TFN__RARE

/* -- checkpoints: saving --------------------------------------------------------------------- */

/* A weight has up to six tensors, one for each role: its values, its moments and so on. Tensors are
 * numbered role by role: first the values of all weights, then their first moments, and so on.
 * BEFORE: copies of parameters and statistics from before the update under way, because that update
 * may be skipped. */
enum {
    TFN__WEIGHTS, TFN__FIRST, TFN__SECOND, TFN__GRADIENTS, TFN__AVERAGES, TFN__BEFORE, TFN__ROLES
};
static const char tfn__roles[][20] = {
    "", "training.moment1.", "training.moment2.", "training.gradient.", "training.average.",
    "training.before."
};

/* True while the update under way profiles the model: norms and initializations that look at data
 * change parameters at the first update. Until it ends, the parameters from before are kept. */
static bool tfn__keeps_params(const tfn_model *m)
{
    return m->micro > 0 && m->profile_open && tfn__needs_profile(m);
}

/* Values of a weight or statistic before the update under way; NULL: the same as now. */
static float *tfn__before_data(const tfn_model *m, const tfn__weight *w)
{
    if (w->kind >= TFN__STATE) {
        if (!m->micro) return NULL;
        return m->before + w->at;
    }
    if (!tfn__keeps_params(m)) return NULL;
    return tfn__params_before(m) + w->at;
}

/* Data of tensor i (see the roles); NULL: the model has none. Statistics and frozen weights are not
 * trained. */
static float *tfn__role_data(const tfn_model *m, int32_t i)
{
    const int32_t role = i / m->weight_count;
    const tfn__weight *w = m->weights + i % m->weight_count;
    if (role == TFN__WEIGHTS) return tfn__weight_data(m, w);
    if (role == TFN__BEFORE) return tfn__before_data(m, w);
    if (w->line < 0) return NULL;                       /* frozen */
    if (role == TFN__GRADIENTS) {
        if (!m->micro) return NULL;
        return m->run.grads + tfn__trained_at(w);
    }
    if (role == TFN__AVERAGES) {                       /* the first update makes them */
        if (!m->averages || !m->step) return NULL;
        return m->averages + tfn__trained_at(w);
    }
    if (tfn__keeps_params(m)) return NULL;              /* the moments are 0 */
    if (!tfn__moment_of(&m->desc, w, role - TFN__FIRST)) return NULL;
    return m->moments + tfn__moment_at(m, i % m->weight_count, role - TFN__FIRST);
}

/* True for a moment that keeps only sums over the rows and columns of its tensor. */
static bool tfn__is_sums(const tfn_model *m, const tfn__weight *w, int32_t role)
{
    if (role != TFN__FIRST && role != TFN__SECOND) return false;
    return tfn__moment_of(&m->desc, w, role - TFN__FIRST) != (int64_t)w->rows * w->cols;
}

/* The dtype in the file. Packed weights and moments of fewer bits are not floats. */
static tfn_dtype tfn__role_dtype(const tfn_model *m, int32_t i)
{
    const int32_t role = i / m->weight_count;
    const tfn_weights type = tfn__type_of(m->weights + i % m->weight_count);
    if (type == TFN_WEIGHTS_BF16) return TFN_DTYPE_BF16;
    if (type == TFN_WEIGHTS_F16) return TFN_DTYPE_F16;
    if (type) return TFN_DTYPE_U8;
    if (!TFN__PACKS || (role != TFN__FIRST && role != TFN__SECOND)) return (tfn_dtype)TFN__FLOAT;
    if (m->desc.moment_type == TFN_MOMENT_TYPE_BF16) return TFN_DTYPE_BF16;
    if (m->desc.moment_type == TFN_MOMENT_TYPE_FP8) return TFN_DTYPE_U8;
    return (tfn_dtype)TFN__FLOAT;
}

/* Bytes of a tensor that is saved as a row of bytes (U8). */
static int64_t tfn__role_bytes(const tfn_model *m, const tfn__weight *w)
{
    if (tfn__type_of(w)) return 4 * tfn__weight_floats(w);
    return tfn__moment_bytes(&m->desc, (int64_t)w->rows * w->cols);
}

/* The name, shape and data of tensor i. A tensor with one row is saved as a vector, except a
 * matrix. Sums over rows and columns are a vector, too. */
static void tfn__role_tensor(const tfn_model *m, int32_t i, tfn_tensor *t)
{
    const tfn__weight *w = m->weights + i % m->weight_count;
    tfn__text text = tfn__text_in(t->name, sizeof t->name);
    tfn__put(&text, tfn__roles[i / m->weight_count]);
    tfn__weight_name(w, &text);
    tfn__end(&text);
    t->dtype = tfn__role_dtype(m, i);
    if (t->dtype == TFN_DTYPE_U8) {
        t->rank = 1;
        t->shape[0] = tfn__role_bytes(m, w);
    } else if (tfn__is_sums(m, w, i / m->weight_count)) {
        t->rank = 1;
        t->shape[0] = (int64_t)w->rows + w->cols;
    } else if (w->rows > 1 || w->kind == TFN__MATRIX || tfn__is_lora(w)) {
        t->rank = 2;
        t->shape[0] = w->rows;
        t->shape[1] = w->cols;
    } else {
        t->rank = 1;
        t->shape[0] = w->cols;
    }
    t->data = tfn__role_data(m, i);
}

/* State of a save, for tfn__saved_tensor and tfn__saved_texts. */
typedef struct tfn__saving {
    const tfn_model *m;
    const tfn_checkpoint *with;
    bool     adapter;                   /* save only weights that train */
    double   state[TFN__SAVED_COUNT];
    uint8_t *blob;                      /* the tokenizer */
    size_t   blob_size;
} tfn__saving;

/* Data of tensor i for a run that will go on. While averages are swapped in (tfn_model_swap_ema),
 * weights and averages are saved in their own roles. */
static float *tfn__kept_data(const tfn_model *m, int32_t i)
{
    const int32_t weight = i % m->weight_count;
    float *average = tfn__role_data(m, TFN__AVERAGES * m->weight_count + weight);
    if (m->swapped && average) {
        if (i / m->weight_count == TFN__WEIGHTS) return average;
        if (i / m->weight_count == TFN__AVERAGES) return tfn__weight_data(m, m->weights + weight);
    }
    return tfn__role_data(m, i);
}

/* For tfn__source: tensors of all roles, then the state and the tokenizer. A tensor without a name
 * is left out: roles that the model does not have, and the state of training where the model is for
 * inference or weights_only is set. */
static void tfn__saved_tensor(const tfn__source *s, int32_t i, tfn_tensor *t)
{
    const tfn__saving *x = (const tfn__saving *)s->user;
    const int32_t weights = x->m->weight_count;
    const bool trains = !x->with->weights_only && !x->m->desc.inference && !x->adapter;
    tfn__text name = tfn__text_in(t->name, sizeof t->name);
    if (i < TFN__ROLES * weights) {
        tfn__role_tensor(x->m, i, t);
        if (trains) t->data = tfn__kept_data(x->m, i);
        if (!t->data || (i >= weights && !trains)) t->name[0] = 0;
        if (x->adapter && tfn__is_frozen(&x->m->desc, x->m->weights + i % weights)) t->name[0] = 0;
        return;
    }
    t->rank = 1;
    if (i == TFN__ROLES * weights) {
        if (trains) tfn__put(&name, "training.state");
        t->dtype = TFN_DTYPE_F64;
        t->shape[0] = TFN__SAVED_ALWAYS;
        if (x->state[TFN__SAVED_RATE_SQUARES] > 0) t->shape[0] = TFN__SAVED_COUNT;
        t->data = x->state;
    } else {
        if (x->blob_size) tfn__put(&name, "tokenizer");
        t->dtype = TFN_DTYPE_U8;
        t->shape[0] = (int64_t)x->blob_size;
        t->data = x->blob;
    }
    tfn__end(&name);
}

/* {"extra":"...","format":"pt","tfn.activation":"gelu-tanh", ... ,"tfn_format":"2"}. Programs in
 * Python look for "pt". */
static void tfn__saved_texts(const tfn__source *s, tfn_file *f)
{
    const tfn__saving *x = (const tfn__saving *)s->user;
    char buf[256];
    char value[TFN__FIELD_ROOM];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put(&t, "{\"");
    if (x->with->extra) {
        tfn__put(&t, "extra\":\"");
        tfn__put_name(&t, x->with->extra, f);
        tfn__put(&t, "\",\"");
    }
    tfn__put(&t, "format\":\"pt");
    for (int i = 0; i < TFN__FIELDS; i++) {
        const char *text = tfn__field_text(tfn__fields + i, &x->m->desc, value);
        if (tfn__fields[i].same == TFN__NOT_SAVED) continue;
        if (tfn__field_unset(tfn__fields + i, text)) continue;
        tfn__put_texts(&t, "\",\"", tfn__fields[i].name, "\":\"");
        tfn__put_name(&t, text, f);
        tfn__flush_text(f, &t);
    }
    if (x->adapter) tfn__put(&t, "\",\"tfn_adapter\":\"true");
    tfn__put_int(&t, "\",\"tfn_format\":\"", TFN_FORMAT, "\"}");
    tfn__flush_text(f, &t);
}

/* Bytes of the tokenizer's blob, or 0 without a tokenizer. Stores it if `size` is large enough. */
static size_t tfn__blob_size(const tfn_checkpoint *with, void *blob, size_t size)
{
#if TFN__TOKENIZERS
    if (with && with->tokenizer) return tfn_tokenizer_write(with->tokenizer, blob, size);
#endif
    (void)with;
    (void)blob;
    (void)size;
    return 0;
}

/* Work holds the order of the tensors, 4 bytes for each, and the tokenizer. */
TFNORM_API size_t tfn_model_save_work(const tfn_model *m, const tfn_checkpoint *with)
{
    size_t order;
    if (!m || !m->weights) return 0;
    order = 4 * ((size_t)TFN__ROLES * (size_t)m->weight_count + 2) + 2 * TFN__ALIGN;
    return tfn__sum(order, tfn__blob_size(with, NULL, 0));
}

/* The model's state besides its tensors. Sums of the loss cover the micro-batches so far. */
static void tfn__saved_state(double *state, const tfn_model *m)
{
    state[TFN__SAVED_STEP] = (double)m->step;
    state[TFN__SAVED_MICRO] = (double)m->micro;
    state[TFN__SAVED_TOKENS] = (double)m->sums.targets;
    state[TFN__SAVED_FINITE_STEPS] = (double)m->finite_steps;
    state[TFN__SAVED_PROFILED] = (double)m->profiled;
    if (m->profiled && m->profile_open) state[TFN__SAVED_PROFILED] = 2;
    state[TFN__SAVED_LOSS_SCALE] = (double)m->loss_scale;
    state[TFN__SAVED_LOSS_SUM] = m->sums.loss;
    state[TFN__SAVED_NLL_SUM] = m->sums.nll;
    state[TFN__SAVED_RATE_SQUARES] = m->rate_squares;
}

/* A model may be saved after a bad batch, because that left it unchanged. */
static void tfn__check_saved(tfn_file *f, const tfn_model *m)
{
    if (!m->weights) tfn__file_fail(f, TFN_NOT_READY, "the model was not initialized", NULL, 0, 0);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH)
        tfn__file_fail(f, TFN_NOT_READY, "the model has an error", NULL, 0, 0);
}

/* The values go straight from the model to the file, without a copy. */
static tfn_status tfn__save(tfn_file *f, const tfn_model *m, const tfn_checkpoint *with,
                            bool adapter)
{
    static const tfn_checkpoint none = { NULL, NULL, false };
    tfn__saving x;
    tfn__source s = { &x, 0, tfn__saved_tensor, tfn__saved_texts, NULL };
    tfn__arena a;
    if (!f) return TFN_NULL;
    if (!tfn__file_given(f, "model", m)) return f->error.status;
    tfn__check_saved(f, m);
    if (!tfn__begin(f, true)) return f->error.status;
    TFNORM_MEMSET(&x, 0, sizeof x);
    x.m = m;
    x.adapter = adapter;
    x.with = &none;
    if (with) x.with = with;
    tfn__saved_state(x.state, m);
    s.count = TFN__ROLES * m->weight_count + 2;
    a = tfn__work_of(f, tfn_model_save_work(m, with));
    x.blob_size = tfn__blob_size(with, NULL, 0);
    if (x.with->tokenizer && !x.blob_size)
        tfn__file_fail(f, TFN_NOT_READY, "the tokenizer was not initialized", NULL, 0, 0);
    if (tfn__fine(f)) x.blob = tfn__take(&a, x.blob_size, 1, &f->error);
    if (tfn__fine(f)) tfn__blob_size(with, x.blob, x.blob_size);
    return tfn__write_source(f, &s, a);
}

TFNORM_API tfn_status tfn_model_save(tfn_file *f, const tfn_model *m, const tfn_checkpoint *with)
{
    return tfn__save(f, m, with, false);
}

/* An error for a model for inference: it has no record of which weights train. */
TFNORM_API tfn_status tfn_model_save_adapter(tfn_file *f, const tfn_model *m,
                                             const tfn_checkpoint *with)
{
    if (f && m && m->weights && m->desc.inference)
        tfn__file_fail(f, TFN_NOT_READY, "a model for inference has nothing that trains", NULL, 0,
                       0);
    return tfn__save(f, m, with, true);
}

/* -- checkpoints: loading -------------------------------------------------------------------- */

/* The first option in which file and model differ: "layers is 1, the model has 2". */
static void tfn__differs(tfn_file *f, const tfn__field *x, const char *value, const char *wanted)
{
    char buf[TFN__NAME_ROOM];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put_texts(&t, tfn__field_name(x), " is ", value);
    tfn__put_texts(&t, ", the model has ", wanted, NULL);
    tfn__end(&t);
    tfn__file_fail(f, TFN_BAD_SHAPE, "%s", buf, 0, 0);
}

/* "position is rotery, which is not known here; did you mean rotary?" */
SHARED void tfn__put_unknown(tfn__text *t, const tfn__field *x, const char *value)
{
    tfn__put_texts(t, tfn__field_name(x), " is ", value);
    tfn__put(t, ", which is not known here");
    tfn__put_nearest(t, tfn__field_name(x), value);
    tfn__end(t);
}
static void tfn__unknown(tfn_file *f, const tfn__field *x, const char *value)
{
    char buf[TFN__NAME_ROOM];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put_unknown(&t, x, value);
    tfn__file_fail(f, TFN_BAD_SHAPE, "%s", buf, 0, 0);
}

/* Files of format 1 store an enumerator as a number: replace it by its name. */
static void tfn__name_number(const tfn__field *x, char *value)
{
    tfn__reader r = tfn__read_from(value, tfn__length(value));
    tfn__text t = tfn__text_in(value, TFN__FIELD_ROOM);
    const char *name;
    if (x->type != TFN__FIELD_CHOICE) return;
    name = tfn__choice_text(x, tfn__json_count(&r, INT32_MAX));
    if (r.at < r.size || !name) return;
    tfn__put(&t, name);
    tfn__end(&t);
}

/* The file's format, see TFN_FORMAT; 0: an error. */
static int tfn__read_format(tfn_file *f)
{
    char format[8];
    if (!tfn_file_text(f, "tfn_format", format, sizeof format))
        tfn__bad(f, "it is not a checkpoint of this library", NULL, 0, 0);
    if (!tfn__fine(f)) return 0;
    if (format[0] >= '1' && format[0] <= '0' + TFN_FORMAT && !format[1]) return format[0] - '0';
    tfn__file_fail(f, TFN_UNSUPPORTED, "its format is %s, the latest known here is %d", format,
                   TFN_FORMAT, 0);
    return 0;
}

/* Why a file is read: to compare its options with a model's, or to store them. */
typedef struct tfn__reading {
    const tfn_model *m;
    bool trains;                        /* more options must be the same */
    tfn_model_desc *out;                /* NULL: compare */
} tfn__reading;

/* True if the text is a group with a rank: a model without LoRA has no place for its tensors. The
 * reverse is legal: a model with LoRA may load a base without it. */
static bool tfn__text_has_lora(const tfn__field *x, const char *value)
{
    tfn_group g;
    return x->type == TFN__FIELD_GROUP && tfn__set_group(&g, value) && g.rank > 0;
}

/* Returns the value in the form that this build writes, so that numbers compare as numbers. Earlier
 * builds wrote 0.1 as "1e-1". */
static const char *tfn__renewed(const tfn__field *x, const char *value, char *buf)
{
    tfn_model_desc d;
    if (x->type != TFN__FIELD_REAL && x->type != TFN__FIELD_GROUP) return value;
    TFNORM_MEMSET(&d, 0, sizeof d);
    if (!tfn__field_set(x, &d, value)) return value;
    return tfn__field_text(x, &d, buf);
}

/* Store an option, or compare it. An empty value means that the file lacks it. A file without
 * "weights" has floats, which a model of packed weights packs, unless it goes on training. */
static void tfn__read_field(tfn_file *f, const tfn__reading *x, const tfn__field *field,
                            const char *value)
{
    char buf[TFN__FIELD_ROOM];
    char renewed[TFN__FIELD_ROOM];
    const char *own;
    if (x->out) {
        if (!tfn__field_set(field, x->out, value)) tfn__unknown(f, field, value);
        return;
    }
    if (field->same == TFN__MAY_DIFFER) return;
    if (field->same == TFN__SAME_TO_TRAIN && !x->trains
        && !tfn__text_has_lora(field, value)) return;
    if (TFN__PACKS && !x->trains && value[0] == 0
        && tfn__equal(tfn__field_name(field), "weights")) return;
    own = tfn__field_text(field, &x->m->desc, buf);
    if (value[0] != 0) value = tfn__renewed(field, value, renewed);
    if (tfn__equal(value, own)) return;
    if (value[0] == 0 && tfn__field_unset(field, own)) return;
    if (value[0] == 0) value = "not given";
    if (own[0] == 0) own = "none";
    tfn__differs(f, field, value, own);
}

/* Read all options of an open file. A missing one is an error unless it is `later`. */
static void tfn__read_desc(tfn_file *f, const tfn__reading *x)
{
    char name[TFN__NAME_ROOM];
    char value[TFN__FIELD_ROOM];
    bool seen[TFN__FIELDS] = { false };
    tfn__reader r;
    const int format = tfn__read_format(f);
    for (bool more = tfn__texts_open(f, &r); more; more = tfn__json_more(&r, '}')) {
        tfn__reader text = tfn__next_text(&r, name);
        for (int i = 0; i < TFN__FIELDS; i++) {
            if (tfn__fields[i].same == TFN__NOT_SAVED) continue;
            if (!tfn__equal(name, tfn__fields[i].name)) continue;
            seen[i] = true;
            tfn__json_string(&text, value, sizeof value);
            if (format == 1) tfn__name_number(tfn__fields + i, value);
            tfn__read_field(f, x, tfn__fields + i, value);
        }
    }
    for (int i = 0; i < TFN__FIELDS; i++) {
        if (seen[i] || tfn__fields[i].same == TFN__NOT_SAVED) continue;
        if (!tfn__fields[i].later)
            tfn__bad(f, "it lacks the option %s", tfn__field_name(tfn__fields + i), 0, 0);
        else if (!x->out) tfn__read_field(f, x, tfn__fields + i, "");
    }
}

/* True for a count in the state below a limit that an int64_t or int32_t can hold, because C leaves
 * a larger conversion undefined. Steps are below 2^53, so that a double holds them exactly. */
static bool tfn__legal_count(double v, double limit)
{
    return v >= 0 && v < limit && (double)(int64_t)v == v;
}
/* Check all counts, and the loss scale, which gradients are divided by. */
static bool tfn__legal_state(const double *s)
{
    const double most = 9e15;
    const double most32 = 2e9;
    return tfn__legal_count(s[TFN__SAVED_STEP], most)
        && tfn__legal_count(s[TFN__SAVED_MICRO], most32)
        && tfn__legal_count(s[TFN__SAVED_TOKENS], most)
        && tfn__legal_count(s[TFN__SAVED_FINITE_STEPS], most32)
        && tfn__legal_count(s[TFN__SAVED_PROFILED], most32)
        && s[TFN__SAVED_LOSS_SCALE] > 0 && s[TFN__SAVED_LOSS_SCALE] < 1e30
        && s[TFN__SAVED_RATE_SQUARES] >= 0 && s[TFN__SAVED_RATE_SQUARES] < 1e30;
}

/* Read "training.state". False if there is none or on an error; then `state` is unchanged. */
static bool tfn__read_state(tfn_file *f, double *state)
{
    double found[TFN__SAVED_COUNT] = { 0 };
    tfn_tensor t;
    bool legal;
    if (!tfn_file_find(f, "training.state", &t)) return false;
    legal = t.dtype == TFN_DTYPE_F64 && t.rank == 1;
    if (t.count != TFN__SAVED_ALWAYS && t.count != TFN__SAVED_COUNT) legal = false;
    if (legal) tfn__read_as(f, &t, found, TFN_DTYPE_F64, 0, t.count);
    if (!tfn__fine(f)) return false;
    if (!legal || !tfn__legal_state(found)) {
        tfn__bad(f, "training.state has no legal values", NULL, 0, 0);
        return false;
    }
    TFNORM_MEMCPY(state, found, sizeof found);
    return true;
}

/* Fail unless the file's tensor has the shape of the model's. The dtype may differ. */
static void tfn__check_shape(tfn_file *f, const tfn_tensor *own, const tfn_tensor *t)
{
    static const char *const texts[] = { "%s has %d rows, %d are expected",
                                         "%s has %d columns, %d are expected" };
    if (t->rank != own->rank)
        tfn__file_fail(f, TFN_BAD_SHAPE, "%s has rank %d, not %d", own->name, t->rank, own->rank);
    else if (!tfn__has_values(t->dtype))
        tfn__file_fail(f, TFN_UNSUPPORTED, "%s has a dtype that is not read", own->name, 0, 0);
    else if (own->dtype != (tfn_dtype)TFN__FLOAT && own->dtype != t->dtype)
        tfn__file_fail(f, TFN_BAD_SHAPE, "%s has another dtype than the model's",
                       own->name, 0, 0);
    for (int32_t k = 0; k < own->rank; k++) {
        if (!tfn__fine(f)) return;
        if (t->shape[k] == own->shape[k]) continue;
        tfn__file_fail(f, TFN_BAD_SHAPE, texts[k], own->name, t->shape[k], own->shape[k]);
    }
}

/* True if the model has LoRA and the file, a base, has no LoRA tensors. */
static bool tfn__is_base(tfn_file *f, const tfn_model *m)
{
    tfn_tensor own, t;
    for (int32_t i = 0; i < m->weight_count; i++) {
        if (!tfn__is_lora(m->weights + i)) continue;
        tfn__role_tensor(m, i, &own);
        if (tfn_file_find(f, own.name, &t)) return false;
    }
    return tfn__has_lora(&m->desc);
}

/* The tensor to load for weight i. A model for inference takes its average if the file has one,
 * unless its own desc.ema is 0. LoRA was trained next to the last weights of a base and has its own
 * averages, so a base gives its weights. */
static int32_t tfn__average_of(tfn_file *f, const tfn_model *m, int32_t i)
{
    const int32_t average = TFN__AVERAGES * m->weight_count + i;
    tfn_tensor own, t;
    if (!m->desc.inference || !tfn__averages(&m->desc) || i >= m->weight_count) return i;
    if (tfn__is_base(f, m)) return i;
    tfn__role_tensor(m, average, &own);
    if (tfn_file_find(f, own.name, &t)) return average;
    return i;
}

/* True if tensor i is packed in the model and floats in the file. */
static bool tfn__packs_floats(tfn_file *f, const tfn_model *m, int32_t i)
{
    char text[8];
    if (!tfn__type_of(m->weights + i % m->weight_count)) return false;
    return !tfn_file_text(f, "tfn.weights", text, sizeof text);
}

/* Find tensor i of the model in the file and compare its shape. */
static bool tfn__find_tensor(tfn_file *f, const tfn_model *m, int32_t i, tfn_tensor *t)
{
    tfn_tensor own;
    tfn__role_tensor(m, tfn__average_of(f, m, i), &own);
    if (tfn__packs_floats(f, m, i)) {
        own.dtype = (tfn_dtype)TFN__FLOAT;
        own.rank = 2;
        own.shape[0] = m->weights[i % m->weight_count].rows;
        own.shape[1] = m->weights[i % m->weight_count].cols;
    }
    if (tfn_file_find(f, own.name, t)) tfn__check_shape(f, &own, t);
    else tfn__file_fail(f, TFN_NOT_FOUND, "%s is missing", own.name, 0, 0);
    return tfn__fine(f);
}

/* True if a file without an error has no tensor of this name. */
static bool tfn__lacks_tensor(tfn_file *f, const tfn_model *m, int32_t i)
{
    tfn_tensor own, t;
    tfn__role_tensor(m, i, &own);
    return !tfn_file_find(f, own.name, &t) && tfn__fine(f);
}

/* Files of version 0.1 have the number of updates only in "training.state", and files with only
 * weights not at all. In the second case every schedule counts as finished. */
static bool tfn__lacks_updates(tfn_file *f, const tfn_model *m, int32_t i)
{
    if (m->weights[i % m->weight_count].kind != TFN__UPDATES) return false;
    return tfn__lacks_tensor(f, m, i);
}
/* The number of updates for such a file. */
static float tfn__old_updates(tfn_file *f)
{
    const float over = 16777216;        /* 2^24: no longer warm-up */
    double state[TFN__SAVED_COUNT];
    if (tfn__read_state(f, state)) return (float)state[TFN__SAVED_STEP];
    return over;
}

/* A copy of a statistic from before the update under way. Files of version 0.1 lack it: then the
 * current statistic is the best substitute. */
static bool tfn__lacks_copy(tfn_file *f, const tfn_model *m, int32_t i)
{
    if (i / m->weight_count != TFN__BEFORE) return false;
    if (m->weights[i % m->weight_count].kind < TFN__STATE) return false;
    return tfn__lacks_tensor(f, m, i);
}

/* True for a weight that the file may lack and that then keeps its value: LoRA's weights if the
 * file is a base; the base's weights and frozen LoRA if the file is an adapter. */
static bool tfn__lacks_part(tfn_file *f, const tfn_model *m, int32_t i)
{
    char text[8];
    const bool adapter = tfn_file_text(f, "tfn_adapter", text, sizeof text) > 0;
    if (!tfn__has_lora(&m->desc) || i >= m->weight_count) return false;
    const bool lora = tfn__is_lora(m->weights + i);
    const bool frozen = tfn__is_frozen(&m->desc, m->weights + i);
    if (!adapter && !lora) return false;
    if (adapter && lora && !frozen) return false;
    return tfn__lacks_tensor(f, m, i);
}

/* True if the file may lack the tensor. */
static bool tfn__may_lack(tfn_file *f, const tfn_model *m, int32_t i)
{
    return tfn__lacks_copy(f, m, i) || tfn__lacks_part(f, m, i) || tfn__lacks_updates(f, m, i);
}

/* to[0..n) = mean over the files of the values at, at + 1 ... of tensor i. Sums are in double, in
 * the order of the files. */
static bool tfn__read_chunk(float *to, tfn_file *f, int32_t count, const tfn_model *m, int32_t i,
                            int64_t at, int64_t n)
{
    double sum[TFN__CHUNK] = { 0 };
    float part[TFN__CHUNK];
    tfn_tensor t;
    for (int32_t k = 0; k < count; k++) {
        if (!tfn__find_tensor(f + k, m, i, &t) || tfn_file_read(f + k, &t, part, at, n) != TFN_OK)
            return false;
        for (int64_t j = 0; j < n; j++) sum[j] += (double)part[j];
    }
    for (int64_t j = 0; j < n; j++) to[j] = (float)(sum[j] / count);
    return true;
}

#if TFN__PACKS

/* The tile that begins at this row and column, cut at the end of the parameter. turned: a line of
 * the file is a column of the parameter, not a row. */
SHARED tfn__tile tfn__packed_tile(const tfn__packed *p, bool turned, int32_t row, int32_t col)
{
    const bool by_input = p->table != turned;           /* inputs are side by side in the file */
    ptrdiff_t side = p->cols;
    ptrdiff_t lines;
    tfn__tile t;
    if (turned) side = p->rows;
    if (by_input) side = tfn__min(side, TFN__TILE);
    else side = tfn__min(side, TFN__TILE / TFN__QBLOCK);
    lines = TFN__TILE / side;
    if (!by_input) lines = lines / TFN__QBLOCK * TFN__QBLOCK;
    t.row = row;
    t.col = col;
    t.rows = (int32_t)lines;
    t.cols = (int32_t)side;
    if (turned) {
        t.rows = (int32_t)side;
        t.cols = (int32_t)lines;
    }
    t.rows = (int32_t)tfn__min(t.rows, p->rows - row);
    t.cols = (int32_t)tfn__min(t.cols, p->cols - col);
    return t;
}

/* Pack floats (t->rows, t->cols) into a tile of the parameter, whose bytes must begin as 0. */
SHARED void tfn__pack_tile(void *w, const tfn__packed *p, const tfn__tile *t, const float *from)
{
    const tfn__quant_part map = { p->rows, p->cols, t->row, t->rows, t->col, t->cols };
    const tfn__quant_part table = { p->cols, p->rows, t->col, t->cols, t->row, t->rows };
    if (p->table && tfn__quant_block_bytes(p->type))
        tfn__quant_pack_part(w, p->type, &table, from, 1, t->cols);
    else
        tfn__quant_pack_part(w, p->type, &map, from, t->cols, 1);
}

/* Pack a tensor of floats as it is read; the result equals that from tfn_model_quantize. Not
 * inlined, so that loading floats needs no stack for a tile. */
static TFN__NOINLINE void tfn__pack_floats(tfn_file *f, const tfn_tensor *t, const tfn__weight *w,
                                           float *to)
{
    const tfn__packed p = { tfn__type_of(w), w->table, w->rows, w->cols };
    float some[TFN__TILE];
    tfn__tile tile;
    TFNORM_MEMSET(to, 0, tfn__packed_bytes(&p));
    for (int32_t row = 0; row < p.rows; row += tile.rows) {
        for (int32_t col = 0; col < p.cols; col += tile.cols) {
            tile = tfn__packed_tile(&p, false, row, col);
            for (int64_t r = 0; r < tile.rows; r++)
                tfn_file_read(f, t, some + r * tile.cols, (row + r) * p.cols + col, tile.cols);
            if (!tfn__fine(f)) return;
            tfn__pack_tile(to, &p, &tile, some);
        }
    }
}
#endif

/* Read weights that are already packed. On a big-endian machine swap the bytes of 16-bit values. */
static void tfn__read_packed(tfn_file *f, const tfn_tensor *t, float *to)
{
    uint16_t *half = (uint16_t *)(void *)to;
    if (!tfn__file_get(f, t->at, to, (uint64_t)t->bytes)) return;
    if (tfn__little() || t->dtype == TFN_DTYPE_U8) return;
    for (int64_t i = 0; i < t->count; i++) half[i] = (uint16_t)(half[i] << 8 | half[i] >> 8);
}

/* Read tensor i of the model, or its mean over several files. */
static void tfn__read_tensor(float *to, tfn_file *f, int32_t count, const tfn_model *m, int32_t i)
{
    tfn_tensor t;
    if (!to || tfn__lacks_copy(f, m, i) || tfn__lacks_part(f, m, i)) return;
    if (tfn__lacks_updates(f, m, i)) {
        *to = tfn__old_updates(f);
        return;
    }
    if (!tfn__find_tensor(f, m, i, &t)) return;
#if TFN__PACKS
    if (tfn__packs_floats(f, m, i)) {
        tfn__pack_floats(f, &t, m->weights + i, to);
        return;
    }
#endif
    if (tfn__role_dtype(m, i) != (tfn_dtype)TFN__FLOAT) {
        tfn__read_packed(f, &t, to);
        return;
    }
    if (count == 1) {
        tfn_file_read(f, &t, to, 0, t.count);
        return;
    }
    for (int64_t at = 0; at < t.count; at += TFN__CHUNK) {
        int64_t n = t.count - at;
        if (n > TFN__CHUNK) n = TFN__CHUNK;
        if (!tfn__read_chunk(to + at, f, count, m, i, at, n)) return;
    }
}

/* The first error of the files. */
static tfn_status tfn__files_status(const tfn_file *f, int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        if (!tfn__fine(f + k)) return f[k].error.status;
    return TFN_OK;
}

/* The model after the load: its tensors are in the same places, its state is the file's. */
SHARED tfn_model tfn__model_after(const tfn_model *m, const double *state)
{
    tfn_model next = *m;
    TFNORM_MEMSET(&next.error, 0, sizeof next.error);
    next.step = (int64_t)state[TFN__SAVED_STEP];
    next.swapped = false;
    next.micro = (int32_t)state[TFN__SAVED_MICRO];
    next.sums.targets = (int64_t)state[TFN__SAVED_TOKENS];
    next.finite_steps = (int32_t)state[TFN__SAVED_FINITE_STEPS];
    next.profiled = state[TFN__SAVED_PROFILED] > 0;
    next.profile_open = state[TFN__SAVED_PROFILED] > 1 && next.micro > 0;
    next.loss_scale = (float)state[TFN__SAVED_LOSS_SCALE];
    next.sums.loss = state[TFN__SAVED_LOSS_SUM];
    next.sums.nll = state[TFN__SAVED_NLL_SUM];
    next.rate_squares = state[TFN__SAVED_RATE_SQUARES];
    return next;
}

/* How many tensors to look for: only the weights, or all roles. */
static int32_t tfn__tensors_of(const tfn_model *m, bool trains)
{
    if (trains) return TFN__ROLES * m->weight_count;
    return m->weight_count;
}

/* A mean needs files that lack the same tensors. */
static bool tfn__lacks_alike(tfn_file *f, tfn_file *first, const tfn_model *m, int32_t i)
{
    tfn_tensor own;
    if (f == first || tfn__may_lack(f, m, i) == tfn__may_lack(first, m, i)) return true;
    tfn__role_tensor(m, i, &own);
    tfn__file_fail(f, TFN_NOT_FOUND, "%s is not in all files, so they have no mean",
                   own.name, 0, 0);
    return false;
}

/* Check one file: its options, and the shapes of the tensors that the model takes from it. */
static void tfn__check_file(tfn_file *f, tfn_file *first, int32_t files, const tfn_model *next,
                            const tfn_model *m, bool trains)
{
    const tfn__reading reading = { m, trains, NULL };
    const int32_t count = tfn__tensors_of(m, trains);
    tfn_tensor t;
    if (tfn__fine(f)) tfn__read_desc(f, &reading);
    for (int32_t i = 0; i < count; i++) {
        if (!tfn__role_data(next, i)) continue;
        if (!tfn__lacks_alike(f, first, m, i)) return;
        if (tfn__may_lack(f, m, i)) continue;
        if (!tfn__find_tensor(f, m, i, &t)) return;
        if (files > 1 && tfn__role_dtype(m, i) != (tfn_dtype)TFN__FLOAT)
            tfn__file_fail(f, TFN_UNSUPPORTED, "%s is packed, and packed weights have no mean",
                           t.name, 0, 0);
    }
}

/* Read files that were checked. Now only the disk can fail; then the model is half loaded and gets
 * an error. The moments are 0 if there is no state or if a profile is under way. The role BEFORE is
 * read last, after tfn__begin_update has copied the current values: an older file without it leaves
 * that copy as it is. */
static void tfn__read_model(tfn_model *next, tfn_file *f, int32_t count, const tfn_model *m,
                            bool trains)
{
    const int32_t all = tfn__tensors_of(m, trains);
    if (!trains || tfn__keeps_params(next))
        tfn__clear(m->moments, tfn__moments_floats(m));
    for (int32_t i = 0; i < all; i++) {
        if (i == TFN__BEFORE * m->weight_count) tfn__begin_update(next);
        tfn__read_tensor(tfn__role_data(next, i), f, count, m, i);
    }
    if (tfn__files_status(f, count) != TFN_OK)
        tfn__fail(&next->error, TFN_NOT_READY, "model", "it was half loaded from a file", 0, 0);
}

/* Compare everything before writing anything. Without a state in the file, or with several files,
 * training starts from step 0. */
static tfn_status tfn__load(tfn_model *m, tfn_file *f, int32_t count, bool weights)
{
    double state[TFN__SAVED_COUNT] = { 0 };
    tfn_model next;
    bool trains;
    tfn__made(&m->error, "model", m->weights);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return m->error.status;
    for (int32_t k = 0; k < count; k++) tfn_file_open(f + k);
    state[TFN__SAVED_PROFILED] = 1;
    state[TFN__SAVED_LOSS_SCALE] = (double)m->desc.loss_scale;
    trains = !weights && !m->desc.inference && tfn__fine(f) && tfn__read_state(f, state);
    if (state[TFN__SAVED_MICRO] >= (double)m->desc.micro_batches)
        tfn__bad(f, "%d micro-batches, %d make a step", NULL, (int64_t)state[TFN__SAVED_MICRO],
                 m->desc.micro_batches);
    next = tfn__model_after(m, state);
    for (int32_t k = 0; k < count; k++) tfn__check_file(f + k, f, count, &next, m, trains);
    if (tfn__files_status(f, count) == TFN_OK) {
        tfn__read_model(&next, f, count, m, trains);
        *m = next;
    }
    for (int32_t k = 0; k < count; k++) tfn_file_close(f + k);
    return tfn__files_status(f, count);
}

/* With a state in the file, training goes on; without one, only the weights are loaded. */
TFNORM_API tfn_status tfn_model_load(tfn_model *m, tfn_file *f)
{
    if (!m || !f) return TFN_NULL;
    return tfn__load(m, f, 1, false);
}
/* Averages of the last checkpoints often translate better than the last one (Vaswani et al. 2017,
 * section 6.1). */
TFNORM_API tfn_status tfn_model_load_weights(tfn_model *m, tfn_file *files, int32_t count)
{
    if (!m || !files) return TFN_NULL;
    if (count <= 0) return TFN_BAD_OPTION;
    return tfn__load(m, files, count, true);
}

/* Check that a model can be made from the options, at least for inference: the end of a schedule,
 * which training needs, may be missing. Norms and initializations that the library does not know
 * are checked as if they were the recipe's and stay NULL. Their names must not stay, because the
 * caller will set rows of its own, with other names. */
static void tfn__check_options(tfn_file *f, tfn_model_desc *d)
{
    const tfn_model_desc read = *d;
    char text[TFN__NAME_ROOM];
    tfn_error e;
    if (!tfn__fine(f)) return;
    d->inference = true;
    if (!tfn_model_resolve(d, d, &e))
        tfn__file_fail(f, TFN_BAD_OPTION, "%s", tfn_error_text(&e, text, sizeof text), 0, 0);
    d->inference = d->folded || (d->weights && !tfn__has_lora(d));
    d->norm = read.norm;
    d->decoder_norm = read.decoder_norm;
    d->init = read.init;
}

/* The options go to desc only if all of them are legal together. */
TFNORM_API tfn_status tfn_model_peek(tfn_file *f, tfn_model_desc *desc, int64_t *step)
{
    double state[TFN__SAVED_COUNT] = { -1 };
    tfn_model_desc found;
    tfn__reading reading = { NULL, false, NULL };
    reading.out = &found;
    TFNORM_MEMSET(&found, 0, sizeof found);
    if (!f) return TFN_NULL;
    if (!tfn__file_given(f, "desc", desc)) return f->error.status;
    if (tfn_file_open(f) == TFN_OK) tfn__read_desc(f, &reading);
    if (tfn__fine(f)) tfn__read_state(f, state);
    tfn__check_options(f, &found);
    tfn_file_close(f);
    if (!tfn__fine(f)) return f->error.status;
    *desc = found;
    if (step) *step = (int64_t)state[TFN__SAVED_STEP];
    return TFN_OK;
}

/* The tensor "tokenizer"; version 0.1 called it "tokeniser". */
TFNORM_API size_t tfn_checkpoint_tokenizer(tfn_file *f, void *blob, size_t size)
{
    tfn_tensor t;
    bool found = false;
    size_t bytes;
    if (!f) return 0;
    if (!blob) size = 0;
    if (tfn_file_open(f) == TFN_OK)
        found = tfn_file_find(f, "tokenizer", &t) || tfn_file_find(f, "tokeniser", &t);
    if (!found) t.bytes = 0;
    bytes = (size_t)t.bytes;
    if (bytes < size) size = bytes;
    if (found) tfn__file_get(f, t.at, blob, size);
    tfn_file_close(f);
    if (!tfn__fine(f)) return 0;
    return bytes;
}
TFN__RARE_END
