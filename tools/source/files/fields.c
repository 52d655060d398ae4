#include "fields.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "../text/json.h"
#include "files.h"

/* The options of a model as named texts, for checkpoints and for tfn_desc_set. Builds on options,
 * json and files. */

TFN__RARE
/* A checkpoint is a safetensors file:
 *
 *     decoder.0.self.q.weight ...      the weights, and running statistics, by their names
 *     training.moment1.NAME ...        the state of training of each: see tfn__roles
 *     training.average.NAME ...        with desc.ema; a model for inference prefers them
 *     training.state                   eight or nine numbers: see tfn__saved_state
 *     tokenizer                        the blob of tfn_tokenizer_write
 *     __metadata__                     the options as texts, "tfn.width"; and the user's "extra"
 *
 * Any program that reads safetensors finds the weights without knowing this library. With the
 * state, a resumed run computes the same bits as one that was never interrupted. */

/* -- options as texts ------------------------------------------------------------------------ */

#define TFN__FIELD_OF(type, same, field, later) \
    { "tfn." #field, type, same, later, offsetof(tfn_model_desc, field), \
      sizeof(((tfn_model_desc *)0)->field) }
/* Words are pasted here, not in TFN__FIELD_OF, because macros of the program, such as REAL, would
 * change them on their way there. */
#define TFN__FIELD(type, same, field) TFN__FIELD_OF(TFN__FIELD_##type, TFN__##same, field, false)
#define TFN__LATER(type, same, field) TFN__FIELD_OF(TFN__FIELD_##type, TFN__##same, field, true)

/* Sorted by name, so that the keys of __metadata__ are sorted too. An option that does not change
 * the model's results may differ (memory, the largest batch). An option that only a training step
 * reads may differ if the load does not resume training. Threads and instruction set depend on the
 * machine and are not saved. Nor are options that each use of a model chooses, such as inference.
 * tfn_desc_set needs rows for them, too. */
SHARED const tfn__field tfn__fields[TFN__FIELDS] = {
    TFN__FIELD(CHOICE, SAME_ALWAYS, activation),
    TFN__FIELD(REAL, SAME_TO_TRAIN, activation_dropout),
    TFN__FIELD(CHOICE, SAME_ALWAYS, arch),
    TFN__LATER(CHOICE, SAME_ALWAYS, attention_bias),
    TFN__FIELD(REAL, SAME_ALWAYS, attention_cap),
    TFN__FIELD(REAL, SAME_TO_TRAIN, attention_dropout),
    TFN__LATER(WHOLE, SAME_ALWAYS, bands),
    TFN__FIELD(WHOLE, MAY_DIFFER, batch),
    TFN__FIELD(WHOLE, NOT_SAVED, batch_tokens),
    TFN__FIELD(REAL, SAME_TO_TRAIN, beta1),
    TFN__FIELD(REAL, SAME_TO_TRAIN, beta2),
    TFN__FIELD(BOOL, NOT_SAVED, blank),
    TFN__LATER(REAL, SAME_ALWAYS, branch_factor),
    TFN__LATER(CHOICE, MAY_DIFFER, cache_type),
    TFN__FIELD(WHOLE, SAME_ALWAYS, classes),
    TFN__FIELD(REAL, SAME_TO_TRAIN, clip),
    TFN__LATER(REAL, SAME_TO_TRAIN, clip_value),
    TFN__FIELD(WHOLE, MAY_DIFFER, context),
    TFN__LATER(WHOLE, SAME_ALWAYS, cutoffs[0]),
    TFN__LATER(WHOLE, SAME_ALWAYS, cutoffs[1]),
    TFN__FIELD(REAL, SAME_TO_TRAIN, decay),
    TFN__LATER(BOOL, SAME_TO_TRAIN, decay_all),
    TFN__FIELD(WHOLE, SAME_ALWAYS, decoder_layers),
    TFN__FIELD(ROW, SAME_ALWAYS, decoder_norm),
    TFN__FIELD(TOPOLOGY, SAME_ALWAYS, decoder_topology),
    TFN__LATER(REAL, SAME_TO_TRAIN, delta),
    TFN__FIELD(REAL, SAME_TO_TRAIN, dropout),
    TFN__LATER(REAL, SAME_TO_TRAIN, ema),
    TFN__LATER(REAL, SAME_ALWAYS, embedding_factor),
    TFN__LATER(WHOLE, SAME_ALWAYS, embedding_size),
    TFN__FIELD(REAL, SAME_TO_TRAIN, eps),
    TFN__FIELD(BOOL, SAME_TO_TRAIN, eps_inside),
    TFN__FIELD(WHOLE, SAME_ALWAYS, ffn),
    TFN__FIELD(BOOL, SAME_ALWAYS, folded),
    TFN__LATER(CHOICE, SAME_ALWAYS, frame_map),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[0]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[1]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[2]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[3]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[4]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[5]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[6]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[7]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[8]),
    TFN__LATER(GROUP, SAME_TO_TRAIN, groups[9]),
    TFN__FIELD(BOOL, SAME_TO_TRAIN, half),
    TFN__FIELD(CHOICE, SAME_ALWAYS, head),
    TFN__LATER(WHOLE, SAME_ALWAYS, head_size),
    TFN__LATER(BOOL, SAME_ALWAYS, head_transform),
    TFN__FIELD(WHOLE, SAME_ALWAYS, heads),
    TFN__FIELD(BOOL, NOT_SAVED, inference),
    TFN__FIELD(ROW, SAME_TO_TRAIN, init),
    TFN__FIELD(ISA, NOT_SAVED, isa),
    TFN__FIELD(WHOLE, SAME_ALWAYS, kv_heads),
    TFN__FIELD(WHOLE, SAME_ALWAYS, layers),
    TFN__FIELD(REAL, SAME_ALWAYS, logit_cap),
    TFN__LATER(REAL, SAME_ALWAYS, logit_divisor),
    TFN__FIELD(REAL, SAME_TO_TRAIN, loss_scale),
    TFN__LATER(BOOL, SAME_ALWAYS, map_last),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, micro_batches),
    TFN__LATER(CHOICE, SAME_TO_TRAIN, moment_type),
    TFN__LATER(REAL, SAME_TO_TRAIN, muon_momentum),
    TFN__LATER(REAL, SAME_TO_TRAIN, muon_rate),
    TFN__LATER(WHOLE, SAME_ALWAYS, mup_base_width),
    TFN__FIELD(BOOL, SAME_TO_TRAIN, nesterov),
    TFN__FIELD(BOOL, SAME_ALWAYS, no_bias),
    TFN__FIELD(ROW, SAME_ALWAYS, norm),
    TFN__FIELD(REAL, SAME_ALWAYS, norm_eps),
    TFN__LATER(REAL, SAME_ALWAYS, norm_factor),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, norm_warmup),
    TFN__LATER(CHOICE, SAME_TO_TRAIN, number_loss),
    TFN__LATER(WHOLE, SAME_ALWAYS, numbers),
    TFN__FIELD(BOOL, NOT_SAVED, only_decoders),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, optimizer),
    TFN__LATER(BOOL, SAME_ALWAYS, output_bias),
    TFN__LATER(CHOICE, SAME_ALWAYS, pooler),
    TFN__FIELD(CHOICE, SAME_ALWAYS, position),
    TFN__FIELD(BOOL, NOT_SAVED, probes),
    TFN__FIELD(CHOICE, SAME_ALWAYS, qk_norm),
    TFN__LATER(REAL, SAME_ALWAYS, qkv_clip),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, radam),
    TFN__FIELD(NAME, SAME_TO_TRAIN, recipe),
    TFN__FIELD(BOOL, MAY_DIFFER, recompute),
    TFN__LATER(WHOLE, SAME_ALWAYS, relative_buckets),
    TFN__LATER(WHOLE, SAME_ALWAYS, relative_distance),
    TFN__LATER(BOOL, SAME_TO_TRAIN, relative_rate),
    TFN__FIELD(REAL, SAME_ALWAYS, rotary_base),
    TFN__LATER(WHOLE, SAME_ALWAYS, rotary_context),
    TFN__LATER(REAL, SAME_ALWAYS, rotary_factor),
    TFN__LATER(REAL, SAME_ALWAYS, rotary_high),
    TFN__LATER(REAL, SAME_ALWAYS, rotary_low),
    TFN__LATER(WHOLE, SAME_ALWAYS, rotary_period),
    TFN__LATER(CHOICE, SAME_ALWAYS, rotary_scaling),
    TFN__LATER(WHOLE, SAME_ALWAYS, rotary_size),
    TFN__LATER(BOOL, SAME_ALWAYS, scale_by_layer),
    TFN__FIELD(BOOL, SAME_ALWAYS, scale_embedding),
    TFN__LATER(BOOL, SAME_ALWAYS, scale_output),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.anchor),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.decay_steps),
    TFN__LATER(BOOL, SAME_TO_TRAIN, schedule.fairseq),
    TFN__LATER(BOOL, SAME_TO_TRAIN, schedule.frozen),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, schedule.kind),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.lr),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.lr_init),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.lr_min),
    TFN__LATER(REAL, SAME_TO_TRAIN, schedule.power),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.step_at),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.step_factor),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.steps),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.warmup),
    TFN__LATER(REAL, SAME_ALWAYS, score_scale),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, seed),
    TFN__FIELD(WHOLE, SAME_ALWAYS, segments),
    TFN__FIELD(BOOL, SAME_ALWAYS, separate_source),
    TFN__FIELD(REAL, SAME_TO_TRAIN, smoothing),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, smoothing_kind),
    TFN__FIELD(WHOLE, MAY_DIFFER, source_context),
    TFN__FIELD(WHOLE, NOT_SAVED, threads),
    TFN__FIELD(TOPOLOGY, SAME_ALWAYS, topology),
    TFN__FIELD(BOOL, SAME_ALWAYS, untied),
    TFN__FIELD(WHOLE, SAME_ALWAYS, vocab),
    TFN__LATER(CHOICE, SAME_ALWAYS, weights),
    TFN__FIELD(WHOLE, SAME_ALWAYS, width),
    TFN__LATER(WHOLE, SAME_ALWAYS, window),
    TFN__LATER(REAL, SAME_ALWAYS, window_base),
    TFN__LATER(WHOLE, SAME_ALWAYS, window_from),
    TFN__LATER(WHOLE, SAME_ALWAYS, window_period),
    TFN__LATER(WHOLE, SAME_ALWAYS, window_shift)
};

/* The option's name for users, without "tfn.". */
SHARED const char *tfn__field_name(const tfn__field *x) { return x->name + sizeof "tfn." - 1; }

/* The name of an enumerator, or NULL if none has this value. A 0 without a name is "default". */
SHARED const char *tfn__choice_text(const tfn__field *x, int64_t value)
{
    const char *name = NULL;
    if (value >= 0 && value <= INT32_MAX)
        name = tfn_choice_name(tfn__field_name(x), (int32_t)value);
    if (!name && value == 0) return "default";
    return name;
}

/* Writes a group, such as "decoder.*.norm* rate=0.1 decay=0". Omits defaults. */
static void tfn__put_group(tfn__text *t, const tfn_group *g)
{
    tfn__put(t, g->pattern);
    if (g->rate > 0 && (g->rate < 1 || g->rate > 1)) {
        tfn__put(t, " rate=");
        tfn__put_float(t, g->rate);
    }
    if (g->decay < 0) tfn__put(t, " decay=0");
    if (g->decay > 0) {
        tfn__put(t, " decay=");
        tfn__put_float(t, g->decay);
    }
    if (g->rank > 0) tfn__put_int(t, " rank=", g->rank, NULL);
    if (g->rank > 0 && g->alpha > 0) {
        tfn__put(t, " alpha=");
        tfn__put_float(t, g->alpha);
    }
    if (g->frozen) tfn__put(t, " frozen");
}

/* The value as a text, in buf. Equal values give equal texts, so models are compared by their
 * texts. A real number is the shortest text that reads as the same float. A name that is not set is
 * an empty text; in a resolved model every name is set. */
SHARED const char *tfn__field_text(const tfn__field *x, const tfn_model_desc *d, char *buf)
{
    const char *p = (const char *)d + x->at;
    const char *name = NULL;
    const tfn_topology *row = NULL;
    float real;
    tfn__text t = tfn__text_in(buf, TFN__FIELD_ROOM);
    switch (x->type) {
    case TFN__FIELD_BOOL:
        name = tfn__whole_at(p, x->size) ? "true" : "false";
        break;
    case TFN__FIELD_WHOLE:
        tfn__put_int(&t, NULL, tfn__whole_at(p, x->size), NULL);
        break;
    case TFN__FIELD_REAL:
        TFNORM_MEMCPY(&real, p, sizeof real);
        tfn__put_float(&t, real);
        break;
    case TFN__FIELD_CHOICE:
        name = tfn__choice_text(x, tfn__whole_at(p, x->size));
        break;
    case TFN__FIELD_ISA:
        name = tfn__name_of("isa", (int32_t)tfn__whole_at(p, x->size));
        break;
    case TFN__FIELD_NAME:
    case TFN__FIELD_ROW:
        TFNORM_MEMCPY(&name, p, sizeof name);
        break;
    case TFN__FIELD_GROUP:
        tfn__put_group(&t, (const tfn_group *)(const void *)p);
        break;
    default:
        TFNORM_MEMCPY(&row, p, sizeof row);
        if (row) name = row->name;
    }
    tfn__put(&t, name);
    return tfn__end(&t);
}

/* True if the option is `later` and the text means 0, which a file without the option means. The
 * text of an unused group is empty. */
SHARED bool tfn__field_unset(const tfn__field *x, const char *text)
{
    const char *zero = NULL;
    if (x->type == TFN__FIELD_CHOICE) zero = tfn_choice_name(tfn__field_name(x), 0);
    if (zero && tfn__equal(text, zero)) return x->later;
    if (tfn__equal(text, "0") || tfn__equal(text, "false")) return x->later;
    if (tfn__equal(text, "none") || tfn__equal(text, "default")) return x->later;
    return x->later && !text[0];
}

/* Write a whole number of 1, 2, 4 or 8 bytes: the low bytes of v. */
static void tfn__set_whole(char *p, int64_t v, size_t size)
{
    const char *low = (const char *)&v;
    if (!tfn__little()) low += sizeof v - size;
    TFNORM_MEMCPY(p, low, size);
}

/* Set a number or a bool. False if the text is no such value or has more characters after it.
 * tfn_model_resolve checks whether the value is legal. */
static bool tfn__set_number(const tfn__field *x, char *p, const char *text)
{
    tfn__reader r = tfn__read_from(text, tfn__length(text));
    const bool truth = tfn__equal(text, "true");
    if (x->type == TFN__FIELD_BOOL) {
        tfn__set_whole(p, truth, x->size);
        return truth || tfn__equal(text, "false");
    }
    if (x->type == TFN__FIELD_REAL) {
        const float real = (float)tfn__json_number(&r);
        TFNORM_MEMCPY(p, &real, sizeof real);
    } else {
        const int64_t most = INT64_MAX >> (64 - 8 * x->size);    /* of an int of this size */
        tfn__set_whole(p, tfn__json_whole(&r, most), x->size);
    }
    return !r.wanted && r.at == r.size;
}

/* False if no row has this name. "default" sets a 0 without a name. */
static bool tfn__set_choice(const tfn__field *x, char *p, const char *text)
{
    const tfn_choice *row = tfn_choice_find(tfn__field_name(x), text);
    if (row) tfn__set_whole(p, row->value, x->size);
    else tfn__set_whole(p, 0, x->size);
    return row || tfn__equal(text, tfn__choice_text(x, 0));
}

/* Stores the library's copy of the name, not the given text, or NULL if it has no such name. */
static bool tfn__set_name(const tfn__field *x, char *p, const char *text)
{
    const char *name;
    for (int32_t i = 0; (name = tfn__name_of(tfn__field_name(x), i)) != NULL; i++)
        if (tfn__equal(name, text)) break;
    TFNORM_MEMCPY(p, &name, sizeof name);
    return name != NULL;
}

/* False if no instruction set has this name: tfn_isa_find then returns TFN_ISA_BEST. */
static bool tfn__set_isa(const tfn__field *x, char *p, const char *text)
{
    const tfn_isa isa = tfn_isa_find(text);
    tfn__set_whole(p, (int64_t)isa, x->size);
    return isa != TFN_ISA_BEST || tfn__equal(text, "best");
}

/* If the text begins with this word, skip the word and return true. */
SHARED bool tfn__begins(const char **text, const char *word)
{
    const size_t n = tfn__length(word);
    for (size_t i = 0; i < n; i++)
        if ((*text)[i] != word[i]) return false;
    *text += n;
    return true;
}

/* Counts the bytes up to the next space or the end. */
static size_t tfn__word_length(const char *text)
{
    size_t n = 0;
    while (text[n] && text[n] != ' ') n++;
    return n;
}

/* Reads a word of the text as a number, and moves *text past it. Returns -1 if it is not one. */
static float tfn__group_number(const char **text)
{
    const size_t n = tfn__word_length(*text);
    tfn__reader r = tfn__read_from(*text, n);
    float v;
    v = (float)tfn__json_number(&r);
    *text += n;
    if (r.wanted || r.at < n) return -1;
    return v;
}

/* Reads a rank. Returns 0 if it is not a whole number in range. */
static int32_t tfn__group_rank(const char **text)
{
    const float v = tfn__group_number(text);
    if (!(v >= 1 && v <= TFN__MAX_SIDE) || (float)(int32_t)v < v) return 0;
    return (int32_t)v;
}

/* Reads one word after the pattern. False if it is not legal. "rate=0" is refused, because a stored
 * rate of 0 means 1; "frozen" says it. "decay=0" is stored as -1. */
static bool tfn__group_word(tfn_group *g, const char **text)
{
    if (tfn__begins(text, "frozen")) {
        g->frozen = true;
    } else if (tfn__begins(text, "rate=")) {
        g->rate = tfn__group_number(text);
        if (!(g->rate > 0)) return false;
    } else if (tfn__begins(text, "rank=")) {
        g->rank = tfn__group_rank(text);
        if (g->rank < 1) return false;
    } else if (tfn__begins(text, "alpha=")) {
        g->alpha = tfn__group_number(text);
        if (!(g->alpha > 0)) return false;
    } else if (tfn__begins(text, "decay=")) {
        g->decay = tfn__group_number(text);
        if (g->decay < 0) return false;
        if (g->decay == 0) g->decay = -1;
    } else {
        return false;
    }
    return !**text || **text == ' ';
}

/* False if the text is no group; then *g stays. The empty text is the empty group. */
SHARED bool tfn__set_group(tfn_group *g, const char *text)
{
    const size_t n = tfn__word_length(text);
    tfn_group x;
    TFNORM_MEMSET(&x, 0, sizeof x);
    if (n >= sizeof x.pattern) return false;
    TFNORM_MEMCPY(x.pattern, text, n);
    text += n;
    while (*text) {
        const bool space = tfn__begins(&text, " ");
        if (!space && !tfn__group_word(&x, &text)) return false;
    }
    if (x.alpha > 0 && x.rank < 1) return false;            /* alpha needs LoRA */
    *g = x;
    return true;
}

TFNORM_API bool tfn_group_add(tfn_model_desc *desc, const char *text, tfn_error *e)
{
    tfn_error unread;
    if (!e) e = &unread;
    tfn__no_error(e);
    if (!tfn__given(e, "group", "desc", desc) || !tfn__given(e, "group", "text", text))
        return false;
    for (int i = 0; i < TFN_MOST_GROUPS; i++) {
        if (desc->groups[i].pattern[0]) continue;
        if (text[0] && text[0] != ' ' && tfn__set_group(desc->groups + i, text)) return true;
        /* of two errors, the first is kept */
        if (tfn__word_length(text) >= sizeof desc->groups[i].pattern)
            tfn__fail(e, TFN_BAD_OPTION, "group", "the pattern has %d characters, at most %d fit",
                      (int64_t)tfn__word_length(text),
                      (int64_t)sizeof desc->groups[i].pattern - 1);
        tfn__fail_name(e, TFN_BAD_OPTION, "group", "\"%s\" is not a pattern and then rate=R, "
                       "decay=D, rank=N, alpha=A or frozen", text);
        return false;
    }
    tfn__fail(e, TFN_BAD_OPTION, "group", "there are %d groups already", TFN_MOST_GROUPS, 0);
    return false;
}

/* False if the value is not legal or the name unknown. A norm, init or topology that is not the
 * library's becomes NULL; after tfn_model_peek the caller sets it. */
SHARED bool tfn__field_set(const tfn__field *x, tfn_model_desc *d, const char *text)
{
    char *p = (char *)d + x->at;
    const tfn_topology *row;
    switch (x->type) {
    case TFN__FIELD_CHOICE:
        return tfn__set_choice(x, p, text);
    case TFN__FIELD_ISA:
        return tfn__set_isa(x, p, text);
    case TFN__FIELD_NAME:
        return tfn__set_name(x, p, text);
    case TFN__FIELD_ROW:
        tfn__set_name(x, p, text);
        return true;
    case TFN__FIELD_GROUP:
        return tfn__set_group((tfn_group *)(void *)p, text);
    case TFN__FIELD_TOPOLOGY:
        row = tfn_topology_find(text);
        TFNORM_MEMCPY(p, &row, sizeof row);
        return true;
    default:
        return tfn__set_number(x, p, text);
    }
}
TFN__RARE_END
