#include "options.h"
#include "../kernels/choice.h"

TFN__RARE

/* Returns an option, or its default if it is 0. A real number must be positive to count as set. */
SHARED int32_t tfn__value_or(int32_t value, int32_t otherwise)
{
    if (value) return value;
    return otherwise;
}

SHARED float tfn__positive_or(float value, float otherwise)
{
    if (value > 0) return value;
    return otherwise;
}

/* The number of layers of a stack. A model with one stack returns its depth for both. */
SHARED int32_t tfn__depth(const tfn_model_desc *d, bool decoder)
{
    if (decoder && tfn__is_pair(d)) return d->decoder_layers;
    return d->layers;
}

/* Describes a sub-layer for the rules of a row. Layers count from 1. */
SHARED tfn_place tfn__place_at(const tfn_model_desc *d, bool decoder, tfn_sublayer kind,
                               int32_t layer)
{
    tfn_place p;
    p.kind = kind;
    p.decoder = decoder;
    p.alone = !tfn__is_pair(d);
    p.layer = layer;
    p.depth = tfn__depth(d, decoder);
    p.encoder_depth = tfn__depth(d, false);
    p.decoder_depth = tfn__depth(d, true);
    p.width = d->width;
    return p;
}

/* -- choices: tables of the enumerations ----------------------------------------------------- */

/* Linkers drop an array that is never read, but not a string: hence name[20], and no other texts in
 * small builds. */
#if TFN__DETAILS
#define TFN__CHOICE(value, name, formula, paper) { value, name, formula, paper },
#else
#define TFN__CHOICE(value, name, formula, paper) { value, name, NULL, NULL },
#endif
#define TFN__OPTIMIZER_CHOICE(first, second, matrices, value, name, formula, paper)                \
    TFN__CHOICE(value, name, formula, paper)
/* One table for each list. The lists also define the enumerators, in the api section. */
static const tfn_choice tfn__activation_rows[] = { TFN__ACTIVATION_LIST(TFN__CHOICE) };
static const tfn_choice tfn__arch_rows[] = { TFN__ARCH_LIST(TFN__CHOICE) };
static const tfn_choice tfn__cache_type_rows[] = { TFN__CACHE_TYPE_LIST(TFN__CHOICE) };
static const tfn_choice tfn__frame_map_rows[] = { TFN__FRAME_MAP_LIST(TFN__CHOICE) };
static const tfn_choice tfn__head_rows[] = { TFN__HEAD_LIST(TFN__CHOICE) };
static const tfn_choice tfn__moment_type_rows[] = { TFN__MOMENT_TYPE_LIST(TFN__CHOICE) };
static const tfn_choice tfn__number_loss_rows[] = { TFN__NUMBER_LOSS_LIST(TFN__CHOICE) };
static const tfn_choice tfn__optimizer_rows[] = { TFN__OPTIMIZER_LIST(TFN__OPTIMIZER_CHOICE) };
static const tfn_choice tfn__position_rows[] = { TFN__POSITION_LIST(TFN__CHOICE) };
static const tfn_choice tfn__qk_norm_rows[] = { TFN__QK_NORM_LIST(TFN__CHOICE) };
static const tfn_choice tfn__radam_rows[] = { TFN__RADAM_LIST(TFN__CHOICE) };
static const tfn_choice tfn__schedule_rows[] = { TFN__SCHEDULE_LIST(TFN__CHOICE) };
static const tfn_choice tfn__rotary_scaling_rows[] = { TFN__ROTARY_SCALING_LIST(TFN__CHOICE) };
static const tfn_choice tfn__attention_bias_rows[] = { TFN__ATTENTION_BIAS_LIST(TFN__CHOICE) };
static const tfn_choice tfn__weights_rows[] = { TFN__WEIGHTS_LIST(TFN__CHOICE) };
static const tfn_choice tfn__smoothing_rows[] = { TFN__SMOOTHING_LIST(TFN__CHOICE) };

/* The tables by the names of their options. Add a line for a new enumeration. */
#define TFN__CHOICES_OF(option, rows) { option, rows, sizeof rows / sizeof *rows },
static const struct { char option[16]; const tfn_choice *rows; int32_t count; } tfn__choices[] = {
    TFN__CHOICES_OF("activation", tfn__activation_rows)
    TFN__CHOICES_OF("arch", tfn__arch_rows)
    TFN__CHOICES_OF("attention_bias", tfn__attention_bias_rows)
    TFN__CHOICES_OF("cache_type", tfn__cache_type_rows)
    TFN__CHOICES_OF("frame_map", tfn__frame_map_rows)
    TFN__CHOICES_OF("head", tfn__head_rows)
    TFN__CHOICES_OF("moment_type", tfn__moment_type_rows)
    TFN__CHOICES_OF("number_loss", tfn__number_loss_rows)
    TFN__CHOICES_OF("optimizer", tfn__optimizer_rows)
    TFN__CHOICES_OF("pooler", tfn__activation_rows)
    TFN__CHOICES_OF("position", tfn__position_rows)
    TFN__CHOICES_OF("qk_norm", tfn__qk_norm_rows)
    TFN__CHOICES_OF("radam", tfn__radam_rows)
    TFN__CHOICES_OF("rotary_scaling", tfn__rotary_scaling_rows)
    TFN__CHOICES_OF("schedule.kind", tfn__schedule_rows)
    TFN__CHOICES_OF("smoothing_kind", tfn__smoothing_rows)
    TFN__CHOICES_OF("weights", tfn__weights_rows)
};
#undef TFN__CHOICE
#undef TFN__OPTIMIZER_CHOICE
#undef TFN__CHOICES_OF

/* A linear search, because there are few options. */
TFNORM_API const tfn_choice *tfn_choice_at(const char *option, int32_t i)
{
    if (!option || i < 0) return NULL;
    for (size_t k = 0; k < sizeof tfn__choices / sizeof *tfn__choices; k++) {
        if (!tfn__equal(option, tfn__choices[k].option)) continue;
        if (i < tfn__choices[k].count) return tfn__choices[k].rows + i;
    }
    return NULL;
}

/* Names are case-sensitive: "AdamW" is not found. */
TFNORM_API const tfn_choice *tfn_choice_find(const char *option, const char *name)
{
    if (!name) return NULL;
    for (int32_t i = 0;; i++) {
        const tfn_choice *row = tfn_choice_at(option, i);
        if (!row || tfn__equal(name, row->name)) return row;
    }
}

/* Searches by value, because the first row has the value 1 where 0 is "default". */
TFNORM_API const char *tfn_choice_name(const char *option, int32_t value)
{
    for (int32_t i = 0;; i++) {
        const tfn_choice *row = tfn_choice_at(option, i);
        if (!row) return NULL;
        if (row->value == value) return row->name;
    }
}

/* -- names for messages ---------------------------------------------------------------------- */

/* Returns name i that an option can have, or NULL past the last. */
SHARED const char *tfn__name_of(const char *option, int32_t i)
{
    const tfn_recipe *recipe = tfn_recipe_at(i);
    const tfn_norm_rule *norm = tfn_norm_at(i);
    const tfn_init_rule *init = tfn_init_at(i);
    const tfn_topology *topology = tfn_topology_at(i);
    const tfn_choice *choice = tfn_choice_at(option, i);
    if (recipe && tfn__equal(option, "recipe")) return recipe->name;
    if (topology && tfn__equal(option, "topology")) return topology->name;
    if (topology && tfn__equal(option, "decoder_topology")) return topology->name;
    if (init && tfn__equal(option, "init")) return init->name;
    if (norm && tfn__equal(option, "norm")) return norm->name;
    if (norm && tfn__equal(option, "decoder_norm")) return norm->name;
    if (i >= 0 && i < TFN_ISA_COUNT && tfn__equal(option, "isa")) return tfn__isa_names[i];
    if (choice) return choice->name;
    return NULL;
}

/* Returns twice the edit distance from a to b (Levenshtein 1966). row[j] is the distance from the
 * characters of a so far to the first j of b. If one name is the beginning of the other, the
 * distance counts once, so that "pre-ln" is closer to "pre" than to "pre-rms". A '*' in a pattern a
 * matches any characters at no cost. */
static int32_t tfn__name_distance(const char *a, const char *b)
{
    enum { TFN__MOST_LETTERS = 63 };    /* longest name in the library */
    int32_t row[TFN__MOST_LETTERS + 1];
    const int32_t length = (int32_t)tfn__min((ptrdiff_t)tfn__length(b),
                                            TFN__MOST_LETTERS);
    int32_t same = 0;
    for (int32_t j = 0; j <= length; j++) row[j] = j;
    for (int32_t i = 0; a[i]; i++) {
        int32_t corner = row[0];        /* the distance with one character less on both sides */
        const int32_t cost = a[i] != '*';
        row[0] += cost;
        for (int32_t j = 1; j <= length; j++) {
            int32_t least = corner;
            if (a[i] != b[j - 1]) least += cost;
            corner = row[j];
            if (row[j] + cost < least) least = row[j] + cost;
            if (row[j - 1] + cost < least) least = row[j - 1] + cost;
            row[j] = least;
        }
    }
    while (a[same] == b[same]) {
        if (!a[same]) return 0;
        same++;
    }
    if (!a[same] || !b[same]) return row[length];
    return 2 * row[length];
}

SHARED tfn__nearest tfn__nearest_to(const char *given)
{
    tfn__nearest n = { given, NULL, 1 };
    n.distance += (int32_t)tfn__min((ptrdiff_t)tfn__length(given), 64);
    return n;
}

/* Compares with `like`, which is `name` or a part of it, and keeps the closest name. */
SHARED void tfn__compare_name(tfn__nearest *n, const char *like, const char *name)
{
    const int32_t distance = tfn__name_distance(n->given, like);
    if (distance >= n->distance) return;
    n->distance = distance;
    n->name = name;
}

/* Writes "; did you mean pre?" if a name of the option is close to the given one. Otherwise writes
 * all names of an enumeration, but not of recipes and norms, which are too many. */
SHARED void tfn__put_nearest(tfn__text *t, const char *option, const char *given)
{
    const char *name;
    tfn__nearest n = tfn__nearest_to(given);
    for (int32_t i = 0; (name = tfn__name_of(option, i)) != NULL; i++)
        tfn__compare_name(&n, name, name);
    if (n.name) {
        tfn__put_texts(t, "; did you mean ", n.name, "?");
        return;
    }
    for (int32_t i = 0; tfn_choice_at(option, i); i++) {
        if (i) tfn__put(t, ", ");
        else tfn__put(t, "; there are ");
        tfn__put(t, tfn_choice_at(option, i)->name);
    }
}

/* "no recipe is called pre-ln; did you mean pre?": e->name holds everything from %s on. A
 * microcontroller has no room for suggestions. */
SHARED void tfn__no_name(tfn_error *e, const char *text, const char *option, const char *given)
{
    tfn__text t;
    if (!TFN__DETAILS) {
        tfn__fail_name(e, TFN_NOT_FOUND, "model", text, given);
        return;
    }
    if (e->status != TFN_OK) return;
    tfn__fail(e, TFN_NOT_FOUND, "model", text, 0, 0);
    t = tfn__text_in(e->name, sizeof e->name);
    tfn__put(&t, given);
    tfn__put_nearest(&t, option, given);
    tfn__end(&t);
}

/* -- ranges ---------------------------------------------------------------------------------- */

/* Returns a signed whole number of 1, 2, 4 or 8 bytes, such as an enum. It is copied by size,
 * because a cast pointer would have the wrong type. */
SHARED int64_t tfn__whole_at(const char *p, size_t size)
{
    int8_t one = 0;
    int16_t two = 0;
    int32_t four = 0;
    int64_t eight = 0;
    if (size == sizeof one) TFNORM_MEMCPY(&one, p, sizeof one);
    if (size == sizeof two) TFNORM_MEMCPY(&two, p, sizeof two);
    if (size == sizeof four) TFNORM_MEMCPY(&four, p, sizeof four);
    if (size == sizeof eight) TFNORM_MEMCPY(&eight, p, sizeof eight);
    return one + two + four + eight;                /* all others are 0 */
}

/* Checks that v is in least .. most. The error names the limit. Only the first error is kept. */
SHARED void tfn__in_range(tfn_error *e, const char *op, const char *name, int64_t v, int64_t least,
                          int64_t most)
{
    if (e->status != TFN_OK) return;
    if (v < least) {
        tfn__fail_name(e, TFN_BAD_OPTION, op, "%s is %d; it must be at least %d", name);
        e->found = v;
        e->wanted = least;
    } else if (v > most) {
        tfn__fail_name(e, TFN_BAD_OPTION, op, "%s is %d; it must be at most %d", name);
        e->found = v;
        e->wanted = most;
    }
}

/* NaN fails both comparisons, and so the check. */
static bool tfn__real_in_range(const tfn__limit *r, float v)
{
    if (r->kind == TFN__REAL_OR_0 && v == 0) return true;
    if (r->kind == TFN__RATE) return v >= r->least && v < r->most;
    return v >= r->least && v <= r->most;
}

/* Writes " is 1.5", or why it is not a number. */
static void tfn__put_found(tfn__text *t, float v)
{
    const bool finite = v - v == 0;
    if (v != v) {
        tfn__put(t, " is not a number");
    } else if (finite) {
        tfn__put(t, " is ");
        tfn__put_float(t, v);
    } else if (v > 0) {
        tfn__put(t, " is infinite");
    } else {
        tfn__put(t, " is minus infinity");
    }
}

/* Writes "; it must be 0 or at least 1e-18", with the limit that v violates; for NaN, the lower
 * one. */
static void tfn__put_wanted(tfn__text *t, const tfn__limit *r, float v)
{
    const bool above = v >= r->most;
    tfn__put(t, "; it must be");
    if (r->kind == TFN__REAL_OR_0) tfn__put(t, " 0 or");
    if (!above) tfn__put(t, " at least ");
    else if (r->kind == TFN__RATE) tfn__put(t, " below ");
    else tfn__put(t, " at most ");
    if (above) tfn__put_float(t, r->most);
    else tfn__put_float(t, r->least);
}

/* "norm_eps is -1; it must be 0 or at least 1e-18". Formats of errors have only whole numbers, so
 * e->name holds the whole sentence. */
static void tfn__check_real(tfn_error *e, const char *op, const tfn__limit *r, float v)
{
    tfn__text t;
    if (e->status != TFN_OK || tfn__real_in_range(r, v)) return;
    if (!TFN__DETAILS) {                    /* writing numbers takes a kilobyte of code */
        tfn__fail_name(e, TFN_BAD_OPTION, op, "%s is not within its range", r->name);
        return;
    }
    tfn__fail(e, TFN_BAD_OPTION, op, "%s", 0, 0);
    t = tfn__text_in(e->name, sizeof e->name);
    tfn__put(&t, r->name);
    tfn__put_found(&t, v);
    tfn__put_wanted(&t, r, v);
    tfn__end(&t);
}

/* Converts a limit of up to 2^53 to a whole number. See tfn__float_of. */
static int64_t tfn__whole_limit(float limit)
{
    const float unit = 16777216;
    const int32_t high = (int32_t)(limit / unit);
    return (int64_t)high * 16777216 + (int32_t)(limit - (float)high * unit);
}

/* Checks all options of a struct that have a row in `limits`. Limits of whole numbers are floats,
 * too, and exact: powers of 2, small numbers, and these minus 1. */
SHARED void tfn__check_ranges(tfn_error *e, const char *op, const void *options,
                              const tfn__limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const tfn__limit *r = limits + i;
        const char *p = (const char *)options + r->at;
        if (r->kind == TFN__WHOLE) {
            tfn__in_range(e, op, r->name, tfn__whole_at(p, r->size), tfn__whole_limit(r->least),
                          tfn__whole_limit(r->most));
        } else {
            float real;
            TFNORM_MEMCPY(&real, p, sizeof real);
            tfn__check_real(e, op, r, real);
        }
    }
}
#define TFN__RANGE_LIST(X)                                                                     \
    /* the shape */                                                                            \
    X(vocab,                WHOLE,     1, TFN__VOCAB)                                          \
    X(context,              WHOLE,     1, TFN__MAX_SIDE)                                       \
    X(arch,                 WHOLE,     0, TFN_ARCH_COUNT - 1)                                  \
    X(source_context,       WHOLE,     1, TFN__MAX_SIDE)                                       \
    X(width,                WHOLE,     1, TFN__MAX_SIDE)                                       \
    X(layers,               WHOLE,     1, 4096)                                                \
    X(decoder_layers,       WHOLE,     1, 4096)                                                \
    X(heads,                WHOLE,     1, 32768)                                               \
    X(kv_heads,             WHOLE,     1, 32768)                                               \
    X(head_size,            WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(ffn,                  WHOLE,     1, 4 * TFN__MAX_SIDE)                                   \
    X(segments,             WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(classes,              WHOLE,     0, TFN__VOCAB)                                          \
    X(numbers,              WHOLE,     0, TFN__MAX_SIDE)                                       \
    /* what it reads and says */                                                               \
    X(bands,                WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(frame_map,            WHOLE,     0, TFN_FRAME_MAP_COUNT - 1)                             \
    X(head,                 WHOLE,     0, TFN_HEAD_COUNT - 1)                                  \
    X(activation,           WHOLE,     0, TFN_ACTIVATION_COUNT - 1)                            \
    X(position,             WHOLE,     0, TFN_POSITION_COUNT - 1)                              \
    /* attention and norms */                                                                  \
    X(rotary_base,          REAL,      1, TFN__HUGE)                                           \
    X(qk_norm,              WHOLE,     0, TFN_QK_NORM_COUNT - 1)                               \
    X(norm_eps,             REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(norm_factor,          REAL_OR_0, TFN__TINY, 1e6)                                         \
    /* of a run */                                                                             \
    X(batch,                WHOLE,     1, TFN__MAX_SIDE)                                       \
    X(batch_tokens,         WHOLE,     0, TFN__ANY)                                            \
    X(threads,              WHOLE,     1, 1024)                                                \
    X(weights,              WHOLE,     0, TFN__PACKS * (TFN_WEIGHTS_COUNT - 1))                \
    X(isa,                  WHOLE,     0, TFN_ISA_COUNT - 1)
/* Options that tfn__is_plain_model rejects if TFN__ALL is false have no row in such a build. */
#define TFN__MORE_RANGES(X)                                                                    \
    X(embedding_size,       WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(cache_type,           WHOLE,     0, TFN__PACKS * (TFN_CACHE_TYPE_COUNT - 1))             \
    X(pooler,               WHOLE,     0, TFN_ACTIVATION_COUNT - 1)                            \
    X(mup_base_width,       WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(cutoffs[0],           WHOLE,     0, TFN__VOCAB)                                          \
    X(cutoffs[1],           WHOLE,     0, TFN__VOCAB)                                          \
    X(attention_bias,       WHOLE,     0, TFN_ATTENTION_BIAS_COUNT - 1)                        \
    X(rotary_size,          WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(rotary_scaling,       WHOLE,     0, TFN_ROTARY_SCALING_COUNT - 1)                        \
    X(rotary_factor,        REAL_OR_0, 1, TFN__HUGE)                                           \
    X(rotary_low,           REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(rotary_high,          REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(rotary_context,       WHOLE,     0, TFN__ANY)                                            \
    X(rotary_period,        WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(relative_buckets,     WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(relative_distance,    WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(score_scale,          REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(window,               WHOLE,     0, TFN__ANY)                                            \
    X(window_from,          WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(window_period,        WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(window_shift,         WHOLE,     0, TFN__MAX_SIDE)                                       \
    X(window_base,          REAL_OR_0, 1, TFN__HUGE)                                           \
    X(embedding_factor,     REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(branch_factor,        REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(logit_divisor,        REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(qkv_clip,             REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(attention_cap,        REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(logit_cap,            REAL_OR_0, TFN__TINY, TFN__HUGE)
#define TFN__TRAINING_RANGES(X)                                                                \
    /* regularization */                                                                       \
    X(dropout,              RATE,      0, 1)                                                   \
    X(attention_dropout,    RATE,      0, 1)                                                   \
    X(activation_dropout,   RATE,      0, 1)                                                   \
    X(smoothing,            RATE,      0, 1)                                                   \
    X(smoothing_kind,       WHOLE,     0, TFN_SMOOTHING_COUNT - 1)                             \
    X(number_loss,          WHOLE,     0, TFN_NUMBER_LOSS_COUNT - 1)                           \
    X(delta,                REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    /* the update */                                                                           \
    X(optimizer,            WHOLE,     0, TFN_OPTIMIZER_COUNT - 1)                             \
    X(moment_type,          WHOLE,     0, TFN__PACKS * (TFN_MOMENT_TYPE_COUNT - 1))            \
    /* the rate, and the warm-up of PowerNorm */                                                \
    X(schedule.kind,        WHOLE,     0, TFN_SCHEDULE_COUNT - 1)                              \
    X(schedule.lr,          REAL,      0, 1e6)                                                 \
    X(schedule.lr_init,     REAL,      0, 1e6)                                                 \
    X(schedule.lr_min,      REAL,      0, 1e6)                                                 \
    X(schedule.warmup,      WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.steps,       WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.anchor,      WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.step_at,     WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.step_factor, REAL,      0, 1e6)                                                 \
    X(schedule.power,       REAL_OR_0, TFN__TINY, 1e6)                                         \
    X(schedule.decay_steps, WHOLE,     0, TFN__COUNT)                                          \
    X(norm_warmup,          WHOLE,     0, TFN__COUNT)                                          \
    /* the optimizer */                                                                        \
    X(beta1,                RATE,      0, 1)                                                   \
    X(beta2,                RATE,      0, 1)                                                   \
    X(eps,                  REAL,      TFN__TINY, TFN__HUGE)                                   \
    X(decay,                REAL,      0, 1e3)                                                 \
    X(radam,                WHOLE,     0, TFN_RADAM_COUNT - 1)                                 \
    X(muon_rate,            REAL_OR_0, TFN__TINY, 1e6)                                         \
    X(muon_momentum,        RATE,      0, 1)                                                   \
    X(clip,                 REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(clip_value,           REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(ema,                  RATE,      0, 1)                                                   \
    X(micro_batches,        WHOLE,     1, TFN__MAX_SIDE)                                       \
    /* of half precision: below 2^-5 training has diverged */                                  \
    X(loss_scale,           REAL,      0.03125, TFN__HUGE)
/* A build without training does not check options that only training reads. */
#if !TFN__TRAINS
#undef TFN__TRAINING_RANGES
#define TFN__TRAINING_RANGES(X)
#endif
#if !TFN__ALL
#undef TFN__MORE_RANGES
#define TFN__MORE_RANGES(X)
#endif
#define TFN__RANGE(field, kind, least, most) \
    TFN__RANGE_OF(tfn_model_desc, field, TFN__##kind, least, most),
static const tfn__limit tfn__limits[] = {
    TFN__RANGE_LIST(TFN__RANGE)
    TFN__MORE_RANGES(TFN__RANGE)
    TFN__TRAINING_RANGES(TFN__RANGE)
};
enum { TFN__LIMITS = sizeof tfn__limits / sizeof *tfn__limits };

/* Checks the ranges of all options, after defaults are filled in. */
SHARED void tfn__check_limits(tfn_error *e, const tfn_model_desc *d)
{
    tfn__check_ranges(e, "model", d, tfn__limits, TFN__LIMITS);
}

/* Checks the range of the option at this offset in tfn_model_desc. */
SHARED void tfn__check_limit(tfn_error *e, const tfn_model_desc *d, size_t at)
{
    for (size_t i = 0; i < TFN__LIMITS; i++)
        if (tfn__limits[i].at == at) tfn__check_ranges(e, "model", d, tfn__limits + i, 1);
}

/* Fills the defaults of training. Noam's rate is a factor, 1 in Vaswani 2017, and beta2 is from
 * there, too. SGD's beta1 is the momentum, so 0 means none. Adafactor has no first moment by
 * default, to save memory. Lion needs a larger beta2, and a tenth of Adam's rate because the rate
 * is the length of each step (Chen et al. 2023, section 5). A polynomial of power 1 is linear. Half
 * precision starts at fairseq's scale, 128; without half the scale is 1, whatever is set. */
static void tfn__fill_training_defaults(tfn_model_desc *d)
{
    tfn_schedule *s = &d->schedule;
    const bool muon = tfn__trains_by(d, TFN_OPTIMIZER_MUON);
    const bool adafactor = tfn__trains_by(d, TFN_OPTIMIZER_ADAFACTOR);
    const bool without = adafactor || tfn__trains_by(d, TFN_OPTIMIZER_SGD);  /* no first moment */
    const bool lion = tfn__trains_by(d, TFN_OPTIMIZER_LION);
    if (d->optimizer == TFN_OPTIMIZER_DEFAULT) d->optimizer = TFN_OPTIMIZER_ADAMW;
    if (s->lr == 0 && tfn__follows(s, TFN_SCHEDULE_NOAM)) s->lr = 1;
    if (s->lr == 0 && lion) s->lr = (float)1e-4;
    if (s->lr == 0) s->lr = (float)1e-3;
    if (s->power == 0 && tfn__follows(s, TFN_SCHEDULE_POLYNOMIAL)) s->power = 1;
    if (d->beta1 == 0 && !without) d->beta1 = (float)0.9;
    if (d->beta2 == 0 && lion) d->beta2 = (float)0.99;
    if (d->beta2 == 0 && !adafactor) d->beta2 = (float)0.98;
    if (d->muon_rate == 0 && muon) d->muon_rate = 20;
    if (d->muon_momentum == 0 && muon) d->muon_momentum = (float)0.95;
    if (d->eps == 0) d->eps = (float)1e-8;
    if (d->delta == 0 && d->number_loss == TFN_NUMBER_LOSS_HUBER) d->delta = 1;
    if (TFN__ALL && !d->norm_warmup) d->norm_warmup = s->warmup;
    d->micro_batches = tfn__value_or(d->micro_batches, 1);
    if (d->loss_scale == 0 && d->half) d->loss_scale = 128;
    if (d->loss_scale == 0) d->loss_scale = 1;
}

/* A rotary_size of a whole head becomes 0, which means all channels. Defaults of scaling are those
 * of Llama 3.1. */
static void tfn__fill_rotary(tfn_model_desc *d)
{
    const int64_t turning = (int64_t)d->rotary_size * d->heads;
    if (turning == d->width && !d->head_size) d->rotary_size = 0;
    if (d->rotary_size == d->head_size) d->rotary_size = 0;
    if (d->rotary_scaling == TFN_ROTARY_SCALING_NONE) return;
    if (d->rotary_factor == 0) d->rotary_factor = 8;
    if (d->rotary_low == 0) d->rotary_low = 1;
    if (d->rotary_high == 0) d->rotary_high = 4;
    d->rotary_context = tfn__value_or(d->rotary_context, 8192);
}

/* A factor of 1 becomes 0, which means none. */
static void tfn__fill_factor(float *factor)
{
    if (*factor <= 1 && *factor >= 1) *factor = 0;
}

/* Options with two values for the same model get one of them. */
static void tfn__fill_equals(tfn_model_desc *d)
{
    if (d->embedding_size == d->width) d->embedding_size = 0;
    if (!d->embedding_size) d->map_last = false;
    if (d->pooler == TFN_ACTIVATION_TANH) d->pooler = TFN_ACTIVATION_DEFAULT;
    tfn__fill_factor(&d->embedding_factor);
    tfn__fill_factor(&d->branch_factor);
    tfn__fill_factor(&d->logit_divisor);
}

/* True for an encoder that reads frames and has no decoder. It has no words: neither an embedding
 * nor logits tied to one. */
SHARED bool tfn__is_frames_only(const tfn_model_desc *d)
{
    return d->bands > 0 && tfn__is_encoder_only(d);
}

/* Gives options that are 0 or NULL their defaults. Nothing is checked yet, so products of sizes
 * must not overflow. The order matters, because a default may depend on options filled before it.
 * Heads have 32 channels, and the feed-forward is four times as wide as the stream (Vaswani 2017).
 */
SHARED void tfn__fill_defaults(tfn_model_desc *d)
{
    if (tfn__is_frames_only(d)) d->vocab = tfn__value_or(d->vocab, 1);     /* not used */
    d->source_context = tfn__value_or(d->source_context, d->context);
    d->width = tfn__value_or(d->width, 64);
    d->layers = tfn__value_or(d->layers, 2);
    d->decoder_layers = tfn__value_or(d->decoder_layers, d->layers);
    d->heads = tfn__value_or(d->heads, (int32_t)tfn__max(d->width / 32, 1));
    d->kv_heads = tfn__value_or(d->kv_heads, d->heads);
    if ((int64_t)d->head_size * d->heads == d->width) d->head_size = 0;     /* the same model */
    if (TFN__ALL) tfn__fill_equals(d);
    if (!d->ffn && d->width > 0 && d->width < INT32_MAX / 4) d->ffn = 4 * d->width;
    d->ffn = tfn__value_or(d->ffn, 1);                    /* the width is invalid */
    if (d->activation == TFN_ACTIVATION_DEFAULT) d->activation = TFN_ACTIVATION_GELU_TANH;
    if (d->position == TFN_POSITION_DEFAULT) d->position = TFN_POSITION_LEARNED;
    if (d->rotary_base == 0) d->rotary_base = 10000;
    if (TFN__ALL) tfn__fill_rotary(d);
    if (tfn__is_relative(d)) {
        d->relative_buckets = tfn__value_or(d->relative_buckets, 32);
        d->relative_distance = tfn__value_or(d->relative_distance, 128);
    }
    if (!d->recipe) d->recipe = "pre";
    if (TFN__TRAINS) tfn__fill_training_defaults(d);
    d->batch = tfn__value_or(d->batch, 1);
#if defined TFN__THREADS && !defined TFNORM_PARALLEL_FOR
    if (!d->half) d->threads = tfn__value_or(d->threads, omp_get_max_threads());
#endif
    d->threads = tfn__value_or(d->threads, 1);
}
TFN__RARE_END
