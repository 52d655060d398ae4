#include "import.h"
#include "../ground/basics.h"
#include "../kernels/packing.h"
#include "../tape/record_ops.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../model/builder.h"
#include "../model/initial.h"
#include "../model/update.h"
#include "../model/model.h"
#include "../text/json.h"
#include "../files/files.h"
#include "../files/safetensors.h"
#include "../files/fields.h"
#include "../files/checkpoints.h"
#include "config_json.h"
#include "families.h"
#include "gguf.h"
#include "pickle.h"
#include "keys.h"

/* Reads folders of the hub: finds the family by config.json, resolves names of tensors, and
 * loads the weights. Builds on config_json, safetensors, pickle and model. */

TFN__RARE

/* -- names ----------------------------------------------------------------------------------- */

/* Read the number of a layer at *s and step over it. -1: not a number, or too large: names come
 * from files, and a thousand digits are not a layer. */
static int32_t tfn__layer_at(const char **s)
{
    int32_t n = 0;
    if (**s < '0' || **s > '9') return -1;
    for (; **s >= '0' && **s <= '9'; ++*s) {
        n = 10 * n + (**s - '0');
        if (n > 4096) return -1;
    }
    return n;
}

/* The end of a tensor's name; files of 2018 use TensorFlow's names. NULL: something else. */
static const char *const tfn__lasts[][2] = {
    { "weight", "weight" }, { "bias", "bias" }, { "gamma", "weight" }, { "beta", "bias" }
};
static const char *tfn__last_of(const char *name)
{
    for (size_t i = 0; i < sizeof tfn__lasts / sizeof *tfn__lasts; i++)
        if (tfn__equal(name, tfn__lasts[i][0])) return tfn__lasts[i][1];
    return NULL;
}

/* True if the name has this form; fills the blanks. */
SHARED bool tfn__has_form(const char *form, const char *name, tfn__blanks *b)
{
    b->layer = 0;
    b->last = "";
    for (; *form; form++) {
        if (*form == '%') return true;
        if (*form == '#') {
            b->layer = tfn__layer_at(&name);
            if (b->layer < 0) return false;
        } else if (*form == '*') {
            b->last = tfn__last_of(name);
            return b->last != NULL;
        } else {
            if (*name != *form) return false;
            name++;
        }
    }
    return !*name;
}

/* Build a name of this form, and fill its blanks. A layer below 0 is a star. */
SHARED void tfn__put_form(char *to, size_t size, const char *prefix, const char *form,
                          const tfn__blanks *b)
{
    tfn__text t = tfn__text_in(to, size);
    tfn__put(&t, prefix);
    for (; *form; form++) {
        if (*form == '#' && b->layer < 0) tfn__put(&t, "*");
        else if (*form == '#') tfn__put_int(&t, NULL, b->layer, NULL);
        else if (*form == '*') tfn__put(&t, b->last);
        else tfn__put_bytes(&t, form, 1);
    }
    tfn__end(&t);
}

/* True if the rule applies to this model. */
SHARED bool tfn__rule_holds(const tfn_tensor_rule *r, const tfn_model_desc *d)
{
    if ((r->form & TFN_FORM_GATED) && tfn__gate_of(d->activation) == d->activation) return false;
    if ((r->form & TFN_FORM_SEQUENCE) && d->head != TFN_HEAD_SEQUENCE) return false;
    return !(r->form & TFN_FORM_APART) || d->separate_source;
}

/* The family's own rows, without those of the family that it is like. A parameter has one rule, the
 * first that holds. A tensor may have several, and each looks for its own parameter. OPT's
 *
 *     decoder.layers.#.self_attn_layer_norm.*
 *
 * is the norm before the attention in all its models except that of 350 M, where it is the norm
 * after it. A model has either decoder.#.self.norm_in or decoder.#.self.norm. */
SHARED const tfn_tensor_rule *tfn__rules_of(const tfn_family *family)
{
    static const tfn_tensor_rule none = { NULL, NULL, 0, 0, 0, 0 };
    if (family->tensors) return family->tensors;
    return &none;
}

/* The rule for a parameter of a model of these options: the first that holds; NULL: none. */
SHARED const tfn_tensor_rule *tfn__tensor_rule(const tfn_family *family, const tfn_model_desc *d,
                                               const char *name, tfn__blanks *b)
{
    for (const tfn_tensor_rule *r = tfn__rules_of(family); r->theirs; r++)
        if (r->ours && tfn__rule_holds(r, d) && tfn__has_form(r->ours, name, b)) return r;
    if (!family->like) return NULL;
    return tfn__tensor_rule(family->like, d, name, b);
}

/* -- files ----------------------------------------------------------------------------------- */

/* Make the first error of a file the import's. */
SHARED bool tfn__import_fine(tfn_import *x, const tfn_file *f)
{
    if (x->error.status == TFN_OK && f->error.status != TFN_OK) x->error = f->error;
    return x->error.status == TFN_OK;
}

/* Build FOLDER/NAME, at most `size` bytes. */
SHARED void tfn__folder_path(tfn_error *e, char *path, size_t size, const char *folder,
                             const char *name)
{
    tfn__text t = tfn__text_in(path, size);
    const size_t n = tfn__length(folder);
    tfn__put(&t, folder);
    if (n && folder[n - 1] != '/') tfn__put(&t, "/");
    tfn__put(&t, name);
    tfn__end(&t);
    if (t.used >= t.size)
        tfn__fail(e, TFN_BAD_FILE, "import", "the folder's path has %d bytes, the limit is %d",
                  (int64_t)n, (int64_t)size - 256);
}

/* Set the path of the next file to open. One path is in use at a time: an index is completely read
 * before a part is opened. */
static void tfn__import_path(tfn_import *x, const char *name)
{
    tfn__folder_path(&x->error, x->path, sizeof x->path, x->folder, name);
}

/* Close the open file and start another. */
SHARED tfn_file *tfn__import_file(tfn_import *x, tfn_file *f, const char *name)
{
    tfn_file_close(f);
    TFNORM_MEMSET(f, 0, sizeof *f);
    tfn__import_path(x, name);
    f->path = x->path;
    return f;
}

/* Read a whole text of the folder into memory until the file is closed. */
SHARED void tfn__read_text(tfn_import *x, tfn_file *f, const char *name)
{
    tfn__arena a;
    if (tfn__begin(tfn__import_file(x, f, name), false)) {
        if (f->used > TFN__HEADER_MOST)
            tfn__file_fail(f, TFN_TOO_LARGE, "it has %d bytes, the limit is %d", NULL,
                           (int64_t)f->used, TFN__HEADER_MOST);
        if (tfn__fine(f)) a = tfn__work_of(f, (size_t)f->used + TFN__ALIGN);
        if (tfn__fine(f)) f->header = tfn__take(&a, (size_t)f->used, 1, &f->error);
        tfn__file_get(f, 0, f->header, f->used);
        x->text = f->header;
        x->text_size = (size_t)f->used;
    }
    tfn__import_fine(x, f);
}

/* Read config.json. A text in memory is used in place. Finds invalid JSON before any rule reads it.
 * False: an error. */
static bool tfn__read_config(tfn_import *x)
{
    tfn_file *f = &x->file;
    x->text = (const uint8_t *)x->config;
    x->text_size = x->config_size;
    if (!x->folder && !tfn__given(&x->error, "import", "folder or config", x->config)) return false;
    if (tfn__is_gguf(x)) {
        tfn_file_close(f);
        TFNORM_MEMSET(f, 0, sizeof *f);
        f->path = x->folder;
        tfn__open_gguf(x);
    } else if (x->folder) {
        tfn__read_text(x, f, "config.json");
    }
    if (tfn__import_fine(x, f))
        tfn__check_config(x, "config.json: %s is expected at byte %d");
    return x->error.status == TFN_OK;
}

/* Read config.json of a model: finds its family and checks every key. */
static void tfn__open_config(tfn_import *x)
{
    if (!tfn__read_config(x)) return;
    tfn__find_family(x);
    tfn__check_keys(x);
}

/* Refuse a file of weights that has none: a state that was saved empty, or inside another
 * dictionary, as training programs save it. */
static void tfn__check_filled(tfn_file *f)
{
    tfn_tensor t;
    if (!tfn__fine(f) || tfn_file_tensor(f, 0, &t)) return;
    tfn__file_fail(f, TFN_NOT_FOUND, "it has no tensors; the dictionary of a model's state, by the "
                   "names of its tensors, is expected", NULL, 0, 0);
}

/* Open a file of weights, or an index of several, with this name. True: it exists, and is in
 * x->file or x->index, or it is invalid, which becomes the import's error. */
SHARED bool tfn__open_named(tfn_import *x, const char *name)
{
    tfn_file *f = &x->file;
    if (tfn__name_matches("*.json", name)) {
        f = &x->index;
        tfn_index_open(tfn__import_file(x, f, name));
        TFNORM_MEMSET(&x->file, 0, sizeof x->file);
    } else {
        tfn__open_tensors(tfn__import_file(x, f, name), name);
    }
    if (f->error.status == TFN_BAD_FILE) return false;
    if (f == &x->file) tfn__check_filled(f);
    tfn__import_fine(x, f);
    return true;
}

/* Open the first of these files that exists. Parts of an index are opened one at a time, as tensors
 * are needed. Parts hold layers in order, like a model, so few are opened twice. */
static void tfn__open_weights(tfn_import *x)
{
    static const char *const names[] = { "model.safetensors", "model.safetensors.index.json",
                                         "pytorch_model.bin", "pytorch_model.bin.index.json" };
    if (!x->folder || tfn__is_gguf(x) || x->error.status != TFN_OK) return;
    x->part[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tfn__open_named(x, names[i])) return;
    tfn_file_open(tfn__import_file(x, &x->file, names[0]));         /* for its error */
    tfn__import_fine(x, &x->file);
}

/* Find a tensor in the caller's files. Each file sorts its names, so few are read to find one. */
static tfn_file *tfn__given_file_with(tfn_import *x, const char *name, tfn_tensor *t)
{
    for (int32_t i = 0; i < x->count; i++) {
        if (tfn_file_find(x->files + i, name, t)) return x->files + i;
        if (!tfn__import_fine(x, x->files + i)) return NULL;
    }
    return NULL;
}

/* The file with a tensor of this name; NULL: none, or an error. */
static tfn_file *tfn__file_with(tfn_import *x, const char *name, tfn_tensor *t)
{
    char part[sizeof x->part];
    if (!x->folder) return tfn__given_file_with(x, name, t);
    if (x->index.header) {
        if (!tfn_file_text(&x->index, name, part, sizeof part)) return NULL;
        if (!tfn__equal(part, x->part)) {
            tfn__open_tensors(tfn__import_file(x, &x->file, part), part);
            TFNORM_MEMCPY(x->part, part, sizeof part);
        }
    }
    if (tfn__import_fine(x, &x->file) && tfn_file_find(&x->file, name, t)) return &x->file;
    return NULL;
}

/* -- weights --------------------------------------------------------------------------------- */

/* Outputs of queries, keys and values together. */
static int64_t tfn__fused_outputs(const tfn_model_desc *d)
{
    return (d->heads + 2 * (int64_t)d->kv_heads) * tfn__head_size(d);
}

/* Outputs of the tensor, those of all parts together. */
SHARED int64_t tfn__outputs(const tfn__match *c, const tfn_model_desc *d)
{
    if (c->rule->form & TFN_FORM_QKV) return tfn__fused_outputs(d);
    return (int64_t)c->info.cols * tfn__max(c->rule->parts, 1);
}

/* The tensor's output with which the rule's part begins, where parts follow each other. Keys and
 * values may be narrower than queries. */
static int64_t tfn__first_output(const tfn__match *c, const tfn_model_desc *d)
{
    const int64_t part = c->rule->part;
    if ((c->rule->form & TFN_FORM_QKV) && part)
        return tfn__fused_outputs(d) - (3 - part) * (int64_t)c->info.cols;
    return part * c->info.cols;
}

SHARED void tfn__bad_tensor(tfn_import *x, const char *text, const char *name, int64_t found,
                            int64_t wanted)
{
    if (x->error.status != TFN_OK) return;
    tfn__fail_name(&x->error, TFN_BAD_SHAPE, "import", text, name);
    x->error.found = found;
    x->error.wanted = wanted;
}

/* Compare the shape with the rule and the parameter: (out, in) or (in, out); a vector is (out). A
 * table of positions may have more rows than the model. */
static void tfn__check_match(tfn_import *x, const tfn_model_desc *d, const tfn__match *c)
{
    const tfn_tensor *t = &c->tensor;
    const bool vector = c->info.rows == 1 && t->rank == 1;
    const bool turned = !vector && (c->rule->form & TFN_FORM_TRANSPOSED);
    const bool table = tfn__equal(c->info.name, "decoder.position.weight")
                    || tfn__equal(c->info.name, "encoder.position.weight");
    int64_t shape[2];
    shape[turned] = (int64_t)c->info.rows + c->rule->first;
    shape[!turned] = tfn__outputs(c, d);
    if (vector) shape[0] = shape[1];
    if (t->rank != 2 && !vector) tfn__bad_tensor(x, "%s has rank %d, not %d", t->name, t->rank, 2);
    if (!tfn__has_values(t->dtype))
        tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", "%s has a dtype that is not read",
                       t->name);
    for (int k = 0; k < t->rank; k++) {
        if (x->error.status != TFN_OK) return;
        if (t->shape[k] == shape[k] || (table && k == 0 && t->shape[k] > shape[k])) continue;
        tfn__bad_tensor(x, "%s has a side of %d, %d is expected", t->name, t->shape[k], shape[k]);
    }
}

/* The next prefix of the family's names, "" after the last. False: that was the last. */
SHARED bool tfn__next_prefix(const tfn_family *family, const char **list, char *prefix, size_t size)
{
    if (!*list) *list = family->prefix;
    prefix[0] = 0;
    return *list && tfn__next_word(list, prefix, size);
}

/* Find the tensor of the rule under the name with these blanks. */
static bool tfn__find_named(tfn_import *x, tfn__match *c, const char *prefix, const tfn__blanks *b)
{
    char name[sizeof c->tensor.name];
    tfn__put_form(name, sizeof name, prefix, c->rule->theirs, b);
    c->file = tfn__file_with(x, name, &c->tensor);
    return c->file != NULL;
}

/* Find the tensor of c->rule. Files of a model with a head have the family's prefix in front of all
 * tensors except the head's; files of only the body lack it. So names are tried with each prefix
 * and without, in current words and in those of 2018. */
static bool tfn__find_by_rule(tfn_import *x, tfn__match *c, const tfn__blanks *blanks)
{
    char prefix[TFN__PREFIX_ROOM];
    const char *list = NULL;
    tfn__blanks old = *blanks;
    bool more;
    old.last = "beta";
    if (tfn__equal(blanks->last, "weight")) old.last = "gamma";
    do {
        more = tfn__next_prefix(x->family, &list, prefix, sizeof prefix);
        if (tfn__find_named(x, c, prefix, blanks) || tfn__find_named(x, c, prefix, &old))
            return true;
    } while (more);
    return false;
}

/* Report a parameter without values. Name the tensor that has them in an order that is not read, if
 * there is one, otherwise the last name under which they may be stored. */
static void tfn__miss(tfn_import *x, const tfn__match *c, const tfn__blanks *blanks)
{
    char name[sizeof c->tensor.name];
    char prefix[TFN__PREFIX_ROOM];
    const char *list = NULL;
    bool more;
    do {
        more = tfn__next_prefix(x->family, &list, prefix, sizeof prefix);
        tfn__put_form(name, sizeof name, prefix, c->rule->theirs, blanks);
        if (tfn__has_strides(&x->file, name))
            tfn__fail_name(&x->error, TFN_NOT_FOUND, "import", "the values of %s do not follow "
                           "each other: save it contiguous", name);
    } while (more);
    tfn__fail_name(&x->error, TFN_NOT_FOUND, "import", "the files have no tensor %s", name);
}

/* Find the tensor by c->rule, or by a later rule for the same parameter: a head of positions is
 * "classifier" or "qa_outputs". */
static bool tfn__find_by_rules(tfn_import *x, const tfn_model_desc *d, tfn__match *c)
{
    const tfn_tensor_rule *first = c->rule;
    for (; c->rule->theirs; c->rule++) {
        tfn__blanks blanks;
        if (!c->rule->ours || !tfn__rule_holds(c->rule, d)) continue;
        if (!tfn__has_form(c->rule->ours, c->info.name, &blanks)) continue;
        if (tfn__find_by_rule(x, c, &blanks)) return true;
    }
    c->rule = first;
    return false;
}

/* Find the values of parameter i. False: an error because it has no tensor, or because there is no
 * such parameter. */
static bool tfn__match_param(tfn_import *x, const tfn_model *m, int32_t i, tfn__match *c)
{
    tfn__blanks blanks;
    if (x->error.status != TFN_OK || !tfn_model_param(m, i, &c->info)) return false;
    c->rule = tfn__tensor_rule(x->family, &m->desc, c->info.name, &blanks);
    if (!c->rule) {
        tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import", "the family has no tensor for %s",
                       c->info.name);
        return false;
    }
    if (tfn__find_by_rules(x, &m->desc, c)) tfn__check_match(x, &m->desc, c);
    else if (x->error.status == TFN_OK) tfn__miss(x, c, &blanks);
    c->table = TFN__PACKS && m->weights[i].table;
    if (!i) x->dtype = c->tensor.dtype;
    return x->error.status == TFN_OK;
}

/* The place of channel i of a head in a file whose rotated channels come first. We rotate j with
 * j + D/2 for j < r/2, they rotate j with j + r/2; the others keep their order. For D = 8, r = 4
 * our channels are their 0 1 4 5 2 3 6 7. Scores stay the same, because queries and keys have the
 * same order. */
static int64_t tfn__turning_at(int64_t i, int64_t size, int64_t turning)
{
    const int64_t half = size / 2;
    const int64_t pairs = turning / 2;
    const bool second = i >= half;
    if (!turning) return i;
    if (second && i - half < pairs) return i - half + pairs;
    if (!second && i < pairs) return i;
    if (second) return turning + (half - pairs) + (i - half - pairs);
    return turning + (i - pairs);
}

/* The place of output i of the parameter among the outputs of the tensor. In files of GPT-J,
 * channels 2j and 2j + 1 of the rotated ones turn together. */
SHARED int64_t tfn__output_at(const tfn__match *c, const tfn_model_desc *d, int64_t i)
{
    const int64_t size = tfn__head_size(d);
    const int64_t head = i / size;
    const uint32_t form = c->rule->form;
    int64_t channel = i % size;
    int64_t turning = size;
    if (!(form & TFN__FORM_ORDERED)) return tfn__first_output(c, d) + i;
    if (form & TFN_FORM_TURNING) {
        channel = tfn__turning_at(channel, size, d->rotary_size);
        turning = tfn__value_or(d->rotary_size, (int32_t)size);
    }
    if ((form & TFN_FORM_PAIRS) && channel < turning)
        channel = channel % (turning / 2) * 2 + channel / (turning / 2);
    if (form & TFN_FORM_BY_HEAD)
        return (head * c->rule->parts + c->rule->part) * size + channel;
    return tfn__first_output(c, d) + head * size + channel;
}

TFN__RARE_END
TFN__SMALL
/* Read `count` values from value `first` on to every `step`-th place. The caller checks the file's
 * error after the tensor. */
SHARED void tfn__read_strided(const tfn__match *c, float *to, int64_t first, int64_t count,
                              int64_t step)
{
    float some[TFN__CHUNK];
    if (step == 1) {
        tfn_file_read(c->file, &c->tensor, to, first, count);
        return;
    }
    for (int64_t at = 0; at < count; at += TFN__CHUNK) {
        int64_t n = count - at;
        if (n > TFN__CHUNK) n = TFN__CHUNK;
        tfn_file_read(c->file, &c->tensor, some, first + at, n);
        for (int64_t i = 0; i < n; i++) to[(at + i) * step] = some[i];
    }
}

/* True if the file stores the matrix as (out, in). */
static bool tfn__is_turned(const tfn__match *c)
{
    return c->info.rows > 1 && (c->rule->form & TFN_FORM_TRANSPOSED);
}

/* Read a tile of a parameter to (t->rows, t->cols). A matrix (out, in) is read output by output,
 * all else row by row; vectors with another order of outputs value by value. An output is a row of
 * the file and a column here, so each of its values is in another cache line. The next outputs find
 * those lines in the cache, which has room for as many lines as a matrix has rows. */
static void tfn__read_tile(const tfn__match *c, const tfn_model_desc *d, const tfn__tile *t,
                           float *to)
{
    const bool ordered = c->rule->form & TFN__FORM_ORDERED;
    const int64_t rows = c->info.rows;
    const int64_t line = tfn__outputs(c, d);
    const int64_t part = tfn__first_output(c, d);
    if (tfn__is_turned(c)) {
        for (int64_t i = 0; i < t->cols; i++)
            tfn__read_strided(c, to + i, tfn__output_at(c, d, t->col + i) * rows + t->row, t->rows,
                              t->cols);
    } else if (ordered) {
        for (int64_t i = 0; i < t->cols; i++)
            tfn__read_strided(c, to + i, tfn__output_at(c, d, t->col + i), 1, 1);
    } else {
        for (int64_t i = 0; i < t->rows; i++)
            tfn__read_strided(c, to + i * t->cols, (t->row + i + c->rule->first) * line + part
                              + t->col, t->cols, 1);
    }
}

#if TFN__PACKS
/* Read all tiles, up to the first that fails. Bits of Q4 are or-ed, so all begin as 0. */
static void tfn__read_tiles(const tfn__match *c, const tfn_model_desc *d)
{
    const tfn__packed p = { c->info.weights, c->table, c->info.rows, c->info.cols };
    float some[TFN__TILE];
    tfn__tile t;
    TFNORM_MEMSET(c->info.packed, 0, c->info.bytes);
    for (int32_t row = 0; row < p.rows; row += t.rows) {
        for (int32_t col = 0; col < p.cols; col += t.cols) {
            t = tfn__packed_tile(&p, tfn__is_turned(c), row, col);
            tfn__read_tile(c, d, &t, some);
            if (!tfn__fine(c->file)) return;
            tfn__pack_tile(c->info.packed, &p, &t, some);
        }
    }
}
#endif

/* Read the values of a parameter. */
static void tfn__read_match(const tfn__match *c, const tfn_model_desc *d)
{
    const tfn__tile all = { 0, 0, c->info.rows, c->info.cols };
#if TFN__PACKS
    if (c->info.weights) {
        tfn__read_tiles(c, d);
        return;
    }
#endif
    tfn__read_tile(c, d, &all, c->info.data);
}

TFN__SMALL_END

TFN__RARE
/* Find a parameter by its name. */
SHARED bool tfn__named_param(const tfn_model *m, const char *name, tfn_param_info *info)
{
    for (int32_t i = 0; tfn_model_param(m, i, info); i++)
        if (tfn__equal(info->name, name)) return true;
    return false;
}

/* True if a tensor of this name belongs to a parameter, or is known to be no weight. Several rules
 * may know it, for parts of it, or for models that have it in different places. */
static bool tfn__has_place(const tfn_family *family, const tfn_model *m, const char *name)
{
    char ours[sizeof ((tfn_param_info *)0)->name];
    tfn_param_info info;
    tfn__blanks blanks;
    for (const tfn_tensor_rule *r = tfn__rules_of(family); r->theirs; r++) {
        if (!tfn__has_form(r->theirs, name, &blanks)) continue;
        if (!r->ours || (r->form & (TFN_FORM_SPARE | TFN_FORM_HEAD))) return true;
        tfn__put_form(ours, sizeof ours, NULL, r->ours, &blanks);
        if (tfn__named_param(m, ours, &info)) return true;
    }
    return family->like && tfn__has_place(family->like, m, name);
}

/* Refuse a tensor without a place, such as a bias that the options do not mention, or one layer too
 * many. Otherwise it would be lost silently. */
static void tfn__check_tensor(tfn_import *x, const tfn_model *m, const char *name)
{
    char prefix[TFN__PREFIX_ROOM];
    const char *list = NULL;
    bool more;
    do {
        const char *bare = name;
        more = tfn__next_prefix(x->family, &list, prefix, sizeof prefix);
        if (tfn__begins(&bare, prefix) && tfn__has_place(x->family, m, bare)) return;
    } while (more);
    tfn__fail_name(&x->error, TFN_UNSUPPORTED, "import",
                   "the files have a tensor %s, for which the model has no place", name);
}

static void tfn__check_tensors_of(tfn_import *x, const tfn_model *m, tfn_file *f)
{
    tfn_tensor t;
    for (int32_t i = 0; tfn_file_tensor(f, i, &t); i++)
        if (x->error.status == TFN_OK) tfn__check_tensor(x, m, t.name);
}

/* Check the tensors of all files; for parts, the index lists them. */
static void tfn__check_all(tfn_import *x, const tfn_model *m)
{
    char name[TFN__NAME_ROOM];
    tfn__reader r;
    if (!x->folder)
        for (int32_t i = 0; i < x->count; i++) tfn__check_tensors_of(x, m, x->files + i);
    else if (!x->index.header)
        tfn__check_tensors_of(x, m, &x->file);
    for (bool more = tfn__texts_open(&x->index, &r); more; more = tfn__json_more(&r, '}')) {
        tfn__next_text(&r, name);
        if (x->error.status == TFN_OK) tfn__check_tensor(x, m, name);
    }
}

/* -- both ------------------------------------------------------------------------------------ */

/* An import keeps files open only within a call; the caller's own stay open. The text of
 * config.json is the file's memory and goes with it. */
SHARED void tfn__import_close(tfn_import *x)
{
    tfn_file_close(&x->file);
    tfn_file_close(&x->index);
    x->text = NULL;
}

/* Set the context that the caller asks for, if the model allows it; a source, too. A table of
 * positions has an end, and rotation by angles never seen in training gives nonsense. A caller that
 * needs more anyway sets it after tfn_import_peek. */
static void tfn__want_context(tfn_import *x, tfn_model_desc *d, int32_t wanted)
{
    if (x->error.status != TFN_OK || !wanted) return;
    if (wanted > d->context)
        tfn__fail(&x->error, TFN_BAD_OPTION, "import", "context is %d; the model's is at most %d",
                  wanted, d->context);
    else d->context = wanted;
    d->source_context = (int32_t)tfn__min(d->source_context, d->context);
}

/* True if the folder has a tensor for a parameter of the head. */
static bool tfn__has_tensor_for(tfn_import *x, const tfn_model_desc *d, const char *name)
{
    tfn__blanks blanks;
    tfn__match c;
    c.rule = tfn__tensor_rule(x->family, d, name, &blanks);
    return c.rule && tfn__find_by_rule(x, &c, &blanks);
}

/* Some folders of sentence encoders have the class of the model that they were tuned from, but not
 * its head, as all-mpnet-base-v2. If no tensor of the head of masked words is there, the model is a
 * body. A folder whose weights cannot be read keeps its head; reading them gives the error. */
static void tfn__drop_lost_head(tfn_import *x, tfn_model_desc *d)
{
    if (x->error.status != TFN_OK || !x->folder || !d->head_transform) return;
    tfn__open_weights(x);
    if (x->error.status == TFN_OK && !tfn__has_tensor_for(x, d, "transform.weight")
        && !tfn__has_tensor_for(x, d, "output.bias") && x->error.status == TFN_OK)
        d->head_transform = d->output_bias = false;
    tfn__no_error(&x->error);
}

TFNORM_API tfn_status tfn_import_peek(tfn_import *x, tfn_model_desc *desc)
{
    tfn_model_desc d;
    if (!x) return TFN_NULL;
    tfn__no_error(&x->error);
    if (!tfn__given(&x->error, "import", "desc", desc)) return x->error.status;
    d = *desc;
    tfn__open_config(x);
    if (x->error.status == TFN_OK) tfn__apply_keys(x, &d, x->family);
    if (tfn__is_gguf(x)) tfn__gguf_find_scaling(x, &d);
    if (d.head != TFN_HEAD_SEQUENCE && d.head != TFN_HEAD_POSITIONS)
        d.classes = 0;                  /* files of other heads have classes, too */
    tfn__drop_lost_head(x, &d);
    tfn__want_context(x, &d, desc->context);
    tfn__import_close(x);
    if (x->error.status == TFN_OK) *desc = d;
    return x->error.status;
}

/* Like snprintf: returns the bytes of the whole value and stores those that fit.
 *
 * Everything that a forward needs becomes an option. This function is for programs that use the
 * model: the tokens with which a decoder starts and ends, or names of classes. There are many such
 * keys, and no two programs need the same ones, so the caller asks by name. The file, a few
 * kilobytes, is read for each call, because none of it stays in memory. The model's family may be
 * unknown: generation_config.json names none. */
TFNORM_API size_t tfn_import_text(tfn_import *x, const char *key, char *text, size_t size)
{
    tfn__text t = tfn__text_in(text, size);
    tfn__reader r;
    tfn__end(&t);                       /* an error leaves an empty text */
    if (!x) return 0;
    tfn__no_error(&x->error);
    if (!tfn__given(&x->error, "import", "key", key)) return 0;
    if (tfn__read_config(x)) {
        r = tfn__read_from(x->text, x->text_size);
        if (tfn__config_find(&r, key)) {
            tfn__json_space(&r);
            if (tfn__peek(&r) != 'n') tfn__put_config_value(&t, r);        /* 'n' is null */
        }
    }
    tfn__end(&t);
    tfn__import_close(x);
    return t.used;
}

/* The first parameter from i on that a file of the hub has. LoRA's are in none. */
static int32_t tfn__next_stored(const tfn_model *m, int32_t i)
{
    while (i < m->weight_count && tfn__is_lora(m->weights + i)) i++;
    return i;
}

/* Start as after loading only weights: step 0, no moments, no profile to come. Values that a method
 * would find in its first batch, such as Admin's scales, are in the published weights. */
SHARED void tfn__start_over(tfn_model *m)
{
    double state[TFN__SAVED_COUNT] = { 0 };
    state[TFN__SAVED_PROFILED] = 1;
    state[TFN__SAVED_LOSS_SCALE] = (double)m->desc.loss_scale;
    *m = tfn__model_after(m, state);
    tfn__clear(m->moments, tfn__moments_floats(m));
}

/* Give LoRA of a blank model its initial values, because it would never learn with A and B both
 * 0. */
static void tfn__init_lora(tfn_model *m)
{
    if (!m->desc.blank || m->desc.parameters) return;
    for (int32_t i = 0; i < m->weight_count; i++)
        if (tfn__is_lora(m->weights + i))
            tfn__init_weight(m, i, tfn__weight_data(m, m->weights + i));
}

TFNORM_API tfn_status tfn_import_weights(tfn_import *x, tfn_model *m)
{
    tfn__match c;
    if (!x) return TFN_NULL;
    tfn__no_error(&x->error);
    if (!tfn__given(&x->error, "import", "model", m)) return x->error.status;
    tfn__made(&m->error, "model", m->weights);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return m->error.status;
    tfn__open_config(x);
    tfn__open_weights(x);
    if (x->error.status == TFN_OK) tfn__check_all(x, m);
    for (int32_t i = tfn__next_stored(m, 0); tfn__match_param(x, m, i, &c);)
        i = tfn__next_stored(m, i + 1);                                  /* check all first */
    if (x->error.status == TFN_OK) {
        tfn__start_over(m);
        tfn__init_lora(m);
    }
    for (int32_t i = tfn__next_stored(m, 0); tfn__match_param(x, m, i, &c);
         i = tfn__next_stored(m, i + 1)) {
        tfn__read_match(&c, &m->desc);
        if (!tfn__import_fine(x, c.file))
            tfn__fail(&m->error, TFN_NOT_READY, "model", "it was half loaded from a file", 0, 0);
    }
    tfn__import_close(x);
    return x->error.status;
}

#if TFN__ALLOCATES
/* The import and its path are on the stack, so an error gets the caller's path instead. */
TFNORM_API tfn_status tfn_import_new(tfn_model *m, const char *folder, const tfn_model_desc *with)
{
    tfn_import x;
    tfn_model_desc d;
    if (!m) return TFN_NULL;
    TFNORM_MEMSET(m, 0, sizeof *m);
    if (!tfn__given(&m->error, "import", "folder", folder)) return m->error.status;
    TFNORM_MEMSET(&x, 0, sizeof x);
    TFNORM_MEMSET(&d, 0, sizeof d);
    x.folder = folder;
    d.inference = true;
    d.threads = 1;
    if (with) d = *with;
    tfn_import_peek(&x, &d);
    if (!with) d.context = (int32_t)tfn__min(d.context, 1024);
    d.blank = true;
    if (x.error.status == TFN_OK && tfn_model_new(m, &d, NULL) == TFN_OK) {
        if (tfn_import_weights(&x, m) != TFN_OK) tfn_model_free(m);     /* no half-loaded model */
        m->desc.blank = with && with->blank;
    }
    if (x.error.status == TFN_OK) return m->error.status;
    m->error = x.error;
    m->error.path = folder;
    return m->error.status;
}
#endif
TFN__RARE_END
