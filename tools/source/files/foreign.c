#include "foreign.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "checkpoints.h"

TFN__SMALL
/* For programs in other languages, which read no header: options by name, through the rows and
 * texts of checkpoints, and the layout of structs. tools/tfnorm.py is such a program. Builds on
 * fields and checkpoints. */

/* -- options by name ------------------------------------------------------------------------- */

/* Reports "no option is called widht; did you mean width?" A user who writes "lr" means
 * schedule.lr, so the part after a dot is compared on its own, too. */
static void tfn__no_option(tfn_error *e, const char *given)
{
    tfn__text t = tfn__text_in(e->name, sizeof e->name);
    tfn__nearest n = tfn__nearest_to(given);
    tfn__fail(e, TFN_NOT_FOUND, "model", "no option is called %s", 0, 0);
    for (int i = 0; i < TFN__FIELDS; i++) {
        const char *name = tfn__field_name(tfn__fields + i);
        tfn__compare_name(&n, name, name);
        for (const char *s = name; *s; s++)
            if (*s == '.') tfn__compare_name(&n, s + 1, name);
    }
    tfn__put(&t, given);
    if (n.name) tfn__put_texts(&t, "; did you mean ", n.name, "?");
    tfn__end(&t);
}

/* Returns the row of an option, or NULL if no option has this name. */
SHARED const tfn__field *tfn__find_field(const char *name)
{
    for (int i = 0; i < TFN__FIELDS; i++)
        if (tfn__equal(name, tfn__field_name(tfn__fields + i))) return tfn__fields + i;
    return NULL;
}

/* Reports "layers is two; a whole number of 32 bits is expected", also for a number that does not
 * fit the type. */
static void tfn__no_value(tfn_error *e, const tfn__field *x, const char *value)
{
    const char *wanted = NULL;
    tfn__text t = tfn__text_in(e->name, sizeof e->name);
    if (x->type == TFN__FIELD_BOOL) wanted = "true or false";
    if (x->type == TFN__FIELD_WHOLE && x->size > 4) wanted = "a whole number of 64 bits";
    if (x->type == TFN__FIELD_WHOLE && x->size <= 4) wanted = "a whole number of 32 bits";
    if (x->type == TFN__FIELD_REAL) wanted = "a number";
    if (x->type == TFN__FIELD_GROUP) wanted = "a pattern, then rate=R, rank=N ...,";
    if (!wanted) {
        tfn__fail(e, TFN_NOT_FOUND, "model", "%s", 0, 0);
        tfn__put_unknown(&t, x, value);
        return;
    }
    tfn__fail(e, TFN_BAD_OPTION, "model", "%s", 0, 0);
    tfn__put_texts(&t, tfn__field_name(x), " is ", value);
    tfn__put_texts(&t, "; ", wanted, " is expected");
    tfn__end(&t);
}

static bool tfn__is_zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i]) return false;
    return true;
}

/* Check the option's range in the table of limits. 0 is legal before defaults are filled in. */
static void tfn__check_field(tfn_error *e, const tfn__field *x, const tfn_model_desc *d)
{
    if (tfn__is_zero((const char *)d + x->at, x->size)) return;
    tfn__check_limit(e, d, x->at);
}

/* Set the option in a copy, so that a refused value changes nothing. An unknown row gives NULL
 * there, which tfn_model_peek needs; here it is an error. */
TFNORM_API tfn_status tfn_desc_set(tfn_model_desc *d, const char *name, const char *value,
                                   tfn_error *e)
{
    tfn_error none;
    tfn_model_desc changed;
    const tfn__field *x;
    if (!e) e = &none;
    tfn__no_error(e);
    if (!tfn__given(e, "model", "desc", d) || !tfn__given(e, "model", "name", name)
        || !tfn__given(e, "model", "value", value)) return e->status;
    x = tfn__find_field(name);
    if (!x) {
        tfn__no_option(e, name);
        return e->status;
    }
    changed = *d;
    if (tfn__equal(value, "default")) TFNORM_MEMSET((char *)&changed + x->at, 0, x->size);
    else if (!tfn__field_set(x, &changed, value)) tfn__no_value(e, x, value);
    else if (x->type >= TFN__FIELD_NAME && tfn__is_zero((const char *)&changed + x->at, x->size))
        tfn__no_value(e, x, value);
    else tfn__check_field(e, x, &changed);
    if (e->status == TFN_OK) *d = changed;
    return e->status;
}

/* The text of a NULL pointer is "default"; a number without an enumerator has an empty text. */
TFNORM_API const char *tfn_desc_get(const tfn_model_desc *d, const char *name, char *buf,
                                    size_t size)
{
    char text[TFN__FIELD_ROOM];
    const tfn__field *x = NULL;
    tfn__text t = tfn__text_in(buf, size);
    if (name) x = tfn__find_field(name);
    if (!d || !buf || !x) return NULL;
    tfn__put(&t, tfn__field_text(x, d, text));
    if (!t.used && x->type >= TFN__FIELD_NAME) tfn__put(&t, "default");
    return tfn__end(&t);
}

TFNORM_API const char *tfn_desc_name(int32_t i)
{
    if (i < 0 || i >= TFN__FIELDS) return NULL;
    return tfn__field_name(tfn__fields + i);
}

/* -- the layout of structs ------------------------------------------------------------------- */

/* Structs, each with the members that a caller reads or writes. A struct without members here is
 * one that the caller only allocates. Options of models have names instead. A new member is a new
 * row; a test compares the rows with the declarations. */
typedef struct tfn__member {
    char     type[24], name[20];
    char     kind;                      /* the letter that tfn_layout returns */
    uint32_t at, size;
} tfn__member;

#define TFN__STRUCT(type) { #type, "", 's', 0, sizeof(type) },
#define TFN__MEMBER(kind, type, name) \
    { #type, #name, kind, offsetof(type, name), sizeof(((type *)0)->name) },
static const tfn__member tfn__members[] = {
    /* its text comes from tfn_error_text */
    TFN__STRUCT(tfn_error) TFN__MEMBER('w', tfn_error, status)
    /* the other members have names for tfn_desc_set */
    TFN__STRUCT(tfn_model_desc) TFN__MEMBER('p', tfn_model_desc, loss)
    /* the resolved options; the updates so far */
    TFN__STRUCT(tfn_model) TFN__MEMBER('s', tfn_model, error) TFN__MEMBER('s', tfn_model, desc)
    TFN__MEMBER('r', tfn_model, loss_scale) TFN__MEMBER('w', tfn_model, step)
    TFN__MEMBER('s', tfn_model, memory)
    /* bytes by class */
    TFN__STRUCT(tfn_memory) TFN__MEMBER('w', tfn_memory, total)
    TFN__MEMBER('w', tfn_memory, parameters) TFN__MEMBER('w', tfn_memory, gradients)
    TFN__MEMBER('w', tfn_memory, moments) TFN__MEMBER('w', tfn_memory, tables)
    TFN__MEMBER('w', tfn_memory, workspace) TFN__MEMBER('w', tfn_memory, scratch)
    TFN__MEMBER('w', tfn_memory, metadata) TFN__MEMBER('w', tfn_memory, working)
    TFN__MEMBER('w', tfn_memory, before) TFN__MEMBER('w', tfn_memory, averages)
    TFN__MEMBER('w', tfn_memory, kept)
    /* the caller fills in every member */
    TFN__STRUCT(tfn_batch) TFN__MEMBER('p', tfn_batch, tokens)
    TFN__MEMBER('p', tfn_batch, targets) TFN__MEMBER('p', tfn_batch, lengths)
    TFN__MEMBER('p', tfn_batch, source) TFN__MEMBER('p', tfn_batch, frames)
    TFN__MEMBER('p', tfn_batch, source_lengths) TFN__MEMBER('p', tfn_batch, segments)
    TFN__MEMBER('w', tfn_batch, batch) TFN__MEMBER('w', tfn_batch, time)
    TFN__MEMBER('w', tfn_batch, source_time) TFN__MEMBER('p', tfn_batch, numbers)
    /* the result of a step or an evaluation */
    TFN__STRUCT(tfn_report) TFN__MEMBER('r', tfn_report, loss) TFN__MEMBER('r', tfn_report, nll)
    TFN__MEMBER('w', tfn_report, tokens) TFN__MEMBER('w', tfn_report, step)
    TFN__MEMBER('r', tfn_report, lr) TFN__MEMBER('r', tfn_report, grad_norm)
    TFN__MEMBER('r', tfn_report, loss_scale) TFN__MEMBER('b', tfn_report, updated)
    TFN__MEMBER('b', tfn_report, skipped) TFN__MEMBER('w', tfn_report, culprit)
    /* the sums of a gradient, for tfn_model_update */
    TFN__STRUCT(tfn_sums) TFN__MEMBER('r', tfn_sums, loss) TFN__MEMBER('r', tfn_sums, nll)
    TFN__MEMBER('w', tfn_sums, targets)
    /* a tensor; its values and gradient stay where they are */
    TFN__STRUCT(tfn_param_info) TFN__MEMBER('t', tfn_param_info, name)
    TFN__MEMBER('p', tfn_param_info, data) TFN__MEMBER('p', tfn_param_info, grad)
    TFN__MEMBER('w', tfn_param_info, rows) TFN__MEMBER('w', tfn_param_info, cols)
    TFN__MEMBER('w', tfn_param_info, layer) TFN__MEMBER('b', tfn_param_info, decay)
    TFN__MEMBER('b', tfn_param_info, frozen) TFN__MEMBER('r', tfn_param_info, rate)
    TFN__MEMBER('w', tfn_param_info, weights) TFN__MEMBER('p', tfn_param_info, packed)
    TFN__MEMBER('w', tfn_param_info, bytes)
    /* its calls return logits */
    TFN__STRUCT(tfn_decoder) TFN__MEMBER('s', tfn_decoder, error)
    /* options of generation; few, and none is a text */
    TFN__STRUCT(tfn_generate_desc) TFN__MEMBER('w', tfn_generate_desc, sentences)
    TFN__MEMBER('w', tfn_generate_desc, beam) TFN__MEMBER('w', tfn_generate_desc, max_tokens)
    TFN__MEMBER('r', tfn_generate_desc, max_ratio) TFN__MEMBER('w', tfn_generate_desc, min_tokens)
    TFN__MEMBER('b', tfn_generate_desc, allow_empty) TFN__MEMBER('w', tfn_generate_desc, end)
    TFN__MEMBER('p', tfn_generate_desc, forbidden)
    TFN__MEMBER('w', tfn_generate_desc, forbidden_count)
    TFN__MEMBER('r', tfn_generate_desc, length_penalty)
    TFN__MEMBER('b', tfn_generate_desc, unnormalized)
    TFN__MEMBER('r', tfn_generate_desc, temperature) TFN__MEMBER('w', tfn_generate_desc, top_k)
    TFN__MEMBER('r', tfn_generate_desc, top_p) TFN__MEMBER('s', tfn_generate_desc, key)
    TFN__MEMBER('w', tfn_generate_desc, chunk) TFN__MEMBER('p', tfn_generate_desc, ends)
    TFN__MEMBER('w', tfn_generate_desc, ends_count)
    /* the result of the last run */
    TFN__STRUCT(tfn_generator) TFN__MEMBER('s', tfn_generator, error)
    TFN__MEMBER('w', tfn_generator, sentences) TFN__MEMBER('w', tfn_generator, width)
    TFN__MEMBER('w', tfn_generator, most) TFN__MEMBER('p', tfn_generator, tokens)
    TFN__MEMBER('p', tfn_generator, lengths) TFN__MEMBER('p', tfn_generator, scores)
    TFN__MEMBER('p', tfn_generator, stops)
#if TFN__TOKENIZERS
    /* blob: as a checkpoint stores it */
    TFN__STRUCT(tfn_tokenizer_source) TFN__MEMBER('p', tfn_tokenizer_source, trainer)
    TFN__MEMBER('p', tfn_tokenizer_source, blob) TFN__MEMBER('w', tfn_tokenizer_source, blob_size)
    TFN__MEMBER('p', tfn_tokenizer_source, vocab) TFN__MEMBER('p', tfn_tokenizer_source, merges)
    TFN__MEMBER('w', tfn_tokenizer_source, vocab_size)
    TFN__MEMBER('w', tfn_tokenizer_source, merges_size)
    TFN__MEMBER('w', tfn_tokenizer_source, kind) TFN__MEMBER('b', tfn_tokenizer_source, cased)
    TFN__MEMBER('p', tfn_tokenizer_source, json) TFN__MEMBER('w', tfn_tokenizer_source, json_size)
    TFN__MEMBER('p', tfn_tokenizer_source, model) TFN__MEMBER('w', tfn_tokenizer_source, model_size)
    TFN__MEMBER('b', tfn_tokenizer_source, begin) TFN__MEMBER('b', tfn_tokenizer_source, end)
    /* only allocated; calls return everything else */
    TFN__STRUCT(tfn_tokenizer) TFN__MEMBER('s', tfn_tokenizer, error)
    TFN__MEMBER('w', tfn_tokenizer, vocab)
#endif
    /* a path or memory; the bytes that were written */
    TFN__STRUCT(tfn_file) TFN__MEMBER('s', tfn_file, error) TFN__MEMBER('p', tfn_file, path)
    TFN__MEMBER('p', tfn_file, from) TFN__MEMBER('p', tfn_file, to)
    TFN__MEMBER('w', tfn_file, from_size) TFN__MEMBER('w', tfn_file, to_size)
    TFN__MEMBER('w', tfn_file, used)
    /* for a user's own loss, a custom operation: its first array is enough */
    TFN__STRUCT(tfn_tape) TFN__MEMBER('w', tfn_tape, customs) TFN__MEMBER('p', tfn_tape, custom)
    TFN__STRUCT(tfn_custom_op) TFN__MEMBER('p', tfn_custom_op, name)
    TFN__MEMBER('p', tfn_custom_op, forward) TFN__MEMBER('p', tfn_custom_op, backward)
    TFN__STRUCT(tfn_custom_args) TFN__MEMBER('p', tfn_custom_args, x[0])
    TFN__MEMBER('p', tfn_custom_args, dy) TFN__MEMBER('p', tfn_custom_args, y)
    TFN__MEMBER('p', tfn_custom_args, dx[0]) TFN__MEMBER('b', tfn_custom_args, add[0])
    TFN__MEMBER('w', tfn_custom_args, rows) TFN__MEMBER('w', tfn_custom_args, x_cols[0])
    /* additions to a checkpoint */
    TFN__STRUCT(tfn_checkpoint) TFN__MEMBER('p', tfn_checkpoint, tokenizer)
    TFN__MEMBER('p', tfn_checkpoint, extra) TFN__MEMBER('b', tfn_checkpoint, weights_only)
#if TFN__IMPORTS
    /* a folder of the hub */
    TFN__STRUCT(tfn_export) TFN__MEMBER('s', tfn_export, error)
    TFN__MEMBER('p', tfn_export, folder) TFN__MEMBER('p', tfn_export, family)
    TFN__MEMBER('w', tfn_export, dtype) TFN__MEMBER('b', tfn_export, round)
    TFN__MEMBER('p', tfn_export, tokenizer)
#endif
};

/* Returns the kind of the first row with these names. The struct's own row has an empty name. */
TFNORM_API char tfn_layout(const char *type, const char *name, size_t *at, size_t *size)
{
    if (!type) return 0;
    if (!name) name = "";
    for (size_t i = 0; i < sizeof tfn__members / sizeof *tfn__members; i++) {
        const tfn__member *m = tfn__members + i;
        if (!tfn__equal(type, m->type) || !tfn__equal(name, m->name)) continue;
        if (at) *at = m->at;
        if (size) *size = m->size;
        return m->kind;
    }
    return 0;
}
TFN__SMALL_END
