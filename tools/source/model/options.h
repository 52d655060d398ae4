#ifndef TFN__OPTIONS_H
#define TFN__OPTIONS_H
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../tape/tape.h"

/* The options of a model: the tables of their enumerations, names for error messages, the ranges of
 * numbers, and defaults. Resolve builds on them, and so do the options of generators and
 * tokenizers. */

SHARED int32_t tfn__value_or(int32_t value, int32_t otherwise);
SHARED float tfn__positive_or(float value, float otherwise);

/* Questions about the architecture. In a build that keeps only decoders they are constants, so the
 * code for encoders, for the memory and for cross-attention is dropped. */
static TFN__FOLD bool tfn__is_encoder_only(const tfn_model_desc *d)
{
    return tfn__is_kept(TFNORM_ARCHS, (int)d->arch, TFN_ARCH_ENCODER);
}
static TFN__FOLD bool tfn__is_decoder_only(const tfn_model_desc *d)
{
    return tfn__is_kept(TFNORM_ARCHS, (int)d->arch, TFN_ARCH_DECODER);
}
/* True for an encoder-decoder. The encoder's memory and a decoder's second tape depend on it. */
static TFN__FOLD bool tfn__is_pair(const tfn_model_desc *d)
{
    return tfn__is_kept(TFNORM_ARCHS, (int)d->arch, TFN_ARCH_ENCODER_DECODER);
}
/* Without encoders, every model has a head of tokens, and options for other heads are errors. */
static TFN__FOLD bool tfn__is_head(const tfn_model_desc *d, tfn_head head)
{
    if (!TFN__ENCODERS) return head == TFN_HEAD_TOKENS;
    return d->head == head;
}

static TFN__FOLD bool tfn__follows(const tfn_schedule *s, tfn_schedule_kind which)
{
    return (TFNORM_SCHEDULES & TFN_SET(which)) != 0 && s->kind == which;
}

/* True if the positions are of this kind and the build keeps it. A build without rotary, sinusoidal
 * and ALiBi positions has no table of positions, and drops sines and powers in double. On a board
 * without hardware for double this saves 4 KB. */
static TFN__FOLD bool tfn__is_position(const tfn_model_desc *d, tfn_position_kind kind)
{
    return tfn__is_kept(TFNORM_POSITIONS, (int)d->position, (int)kind);
}

/* True if each position has a learned vector, and if scores get learned numbers by distance. MPNet
 * has both. */
static TFN__FOLD bool tfn__is_learned(const tfn_model_desc *d)
{
    if (TFN__ALL && d->position == TFN_POSITION_LEARNED_RELATIVE) return true;
    return tfn__is_position(d, TFN_POSITION_LEARNED);
}
static TFN__FOLD bool tfn__is_relative(const tfn_model_desc *d)
{
    if (!TFN__ALL) return false;
    return d->position == TFN_POSITION_RELATIVE || d->position == TFN_POSITION_LEARNED_RELATIVE;
}

/* True if scores decrease with distance (ALiBi). */
static TFN__FOLD bool tfn__is_alibi(const tfn_model_desc *d)
{
    return TFN__ALL && d->position == TFN_POSITION_ALIBI;
}

/* True if the model trains with this optimizer and the build keeps it. */
static TFN__FOLD bool tfn__trains_by(const tfn_model_desc *d, tfn_optimizer which)
{
    return (TFNORM_OPTIMIZERS & TFN_SET(which)) != 0 && d->optimizer == which;
}
SHARED int32_t tfn__depth(const tfn_model_desc *d, bool decoder);
SHARED tfn_place tfn__place_at(const tfn_model_desc *d, bool decoder, tfn_sublayer kind,
                               int32_t layer);
SHARED const char *tfn__name_of(const char *option, int32_t i);

/* The name closest to a given one so far, or NULL if none is close. */
typedef struct tfn__nearest {
    const char *given;
    const char *name;
    int32_t     distance;
} tfn__nearest;
SHARED tfn__nearest tfn__nearest_to(const char *given);
SHARED void tfn__compare_name(tfn__nearest *n, const char *like, const char *name);
SHARED void tfn__put_nearest(tfn__text *t, const char *option, const char *given);
SHARED void tfn__no_name(tfn_error *e, const char *text, const char *option, const char *given);

/* The place of a numeric option in its struct and its range after defaults are filled in. A number
 * is whole or real, from least to most; a rate must be below most; REAL_OR_0 also allows 0, for
 * "none". The same row serves the check, its message, and tests, which try values just inside and
 * just outside. */
enum { TFN__WHOLE, TFN__REAL, TFN__RATE, TFN__REAL_OR_0 };
typedef struct tfn__limit {               /* small, because microcontrollers have the table, too */
    const char *name;
    uint8_t     kind, size;
    uint16_t    at;
    float       least, most;
} tfn__limit;
#define TFN__RANGE_OF(type, field, kind, least, most) \
    { #field, kind, (uint8_t)sizeof(((type *)0)->field), (uint16_t)offsetof(type, field), \
      (float)(least), (float)(most) }
SHARED int64_t tfn__whole_at(const char *p, size_t size);
SHARED void tfn__in_range(tfn_error *e, const char *op, const char *name, int64_t v, int64_t least,
                          int64_t most);
SHARED void tfn__check_ranges(tfn_error *e, const char *op, const void *options,
                              const tfn__limit *limits, size_t count);

/* Limits of the options. Sizes are bounded so that products of them are found too large before they
 * overflow. A test fails if a numeric option has no row. */
#define TFN__TINY  1e-18                  /* to 1e18: squares and inverses are normal numbers */
#define TFN__HUGE  1e18
#define TFN__COUNT 9007199254740992.0     /* 2^53: checkpoints store steps exactly as doubles */
#define TFN__ANY   2147483648.0           /* 2^31: no limit for 32 bits */
#define TFN__MAX_SIDE  1048576                /* 2^20: any side of a tensor except the vocabulary */
#define TFN__VOCAB 16777216               /* 2^24 words */
SHARED void tfn__check_limits(tfn_error *e, const tfn_model_desc *d);
SHARED void tfn__check_limit(tfn_error *e, const tfn_model_desc *d, size_t at);
SHARED bool tfn__is_frames_only(const tfn_model_desc *d);
SHARED void tfn__fill_defaults(tfn_model_desc *d);
#endif /* TFN__OPTIONS_H */
