#ifndef TFN__OPTIONS_H
#define TFN__OPTIONS_H
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../tape/tape.h"

SHARED int32_t tfn__value_or(int32_t value, int32_t otherwise);
SHARED float tfn__positive_or(float value, float otherwise);

/* A stack alone, or both. Of a model whose only architecture is that of a decoder nothing asks for
 * an encoder, and its memory, its cross-attention and its batches are gone. */
static TFN__FOLD bool tfn__is_encoder_alone(const tfn_model_desc *d)
{
    return tfn__is_kept(TFNORM_ARCHS, (int)d->arch, TFN_ARCH_ENCODER);
}
static TFN__FOLD bool tfn__is_decoder_alone(const tfn_model_desc *d)
{
    return tfn__is_kept(TFNORM_ARCHS, (int)d->arch, TFN_ARCH_DECODER);
}
/* The encoder's memory, its padding and the second tape of a decoder hang on this question. */
static TFN__FOLD bool tfn__is_pair(const tfn_model_desc *d)
{
    return tfn__is_kept(TFNORM_ARCHS, (int)d->arch, TFN_ARCH_ENCODER_DECODER);
}
/* Without encoders all models say tokens: an option that asks for another head is refused. */
static TFN__FOLD bool tfn__is_head(const tfn_model_desc *d, tfn_head head)
{
    if (!TFN__ENCODERS) return head == TFN_HEAD_TOKENS;
    return d->head == head;
}

/* Positions that a build keeps decide on more than their own operation: without rotary ones,
 * sinusoids and ALiBi no model has a table, and what computes sines and powers in double is gone:
 * on a board without double precision these are 4 KB of a library's arithmetic, and ours. */
static TFN__FOLD bool tfn__is_position(const tfn_model_desc *d, tfn_position_kind kind)
{
    return tfn__is_kept(TFNORM_POSITIONS, (int)d->position, (int)kind);
}

/* What trains it, if the build keeps that: defaults are filled in before the others are refused. */
static TFN__FOLD bool tfn__trains_by(const tfn_model_desc *d, tfn_optimizer which)
{
    return (TFNORM_OPTIMIZERS & TFN_SET(which)) != 0 && d->optimizer == which;
}
SHARED int32_t tfn__depth(const tfn_model_desc *d, bool decoder);
SHARED tfn_place tfn__place_at(const tfn_model_desc *d, bool decoder, tfn_sublayer kind,
                               int32_t layer);
SHARED const char *tfn__name_of(const char *option, int32_t i);

/* The name that is most like a given one, of those that it was compared with so far; NULL: none is
 * more like it than not. */
typedef struct tfn__nearest {
    const char *given;
    const char *name;
    int32_t     distance;
} tfn__nearest;
SHARED tfn__nearest tfn__nearest_to(const char *given);
SHARED void tfn__compare_name(tfn__nearest *n, const char *like, const char *name);
SHARED void tfn__put_nearest(tfn__text *t, const char *option, const char *given);
SHARED void tfn__no_name(tfn_error *e, const char *text, const char *option, const char *given);

/* Where a numeric option stands in its struct, and what it may be when defaults are filled in. The
 * kinds: a whole number or a real one, from least to most; a rate, which is below most; a real one
 * that may also be 0, for "none". One row serves for the check, for its message, and for the tests,
 * which try what is just inside and just outside. */
enum { TFN__WHOLE, TFN__REAL, TFN__RATE, TFN__REAL_OR_0 };
typedef struct tfn__limit {               /* small: a microcontroller has the table, too */
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

/* Every numeric option of a model: a test fails when one is missing. Sizes are bounded so that
 * their products are found to be too large before they overflow. */
#define TFN__TINY  1e-18                  /* TINY, HUGE: squares and inverses are normal numbers */
#define TFN__HUGE  1e18
#define TFN__COUNT 9007199254740992.0     /* 2^53: checkpoints keep steps as doubles, exactly */
#define TFN__ANY   2147483648.0           /* of 32 bits: no limit */
#define TFN__MAX_SIDE  1048576                /* 2^20: any side of a tensor except the vocabulary */
#define TFN__VOCAB 16777216               /* 2^24 words */
SHARED void tfn__check_limits(tfn_error *e, const tfn_model_desc *d);
SHARED void tfn__check_limit(tfn_error *e, const tfn_model_desc *d, size_t at);
SHARED bool tfn__frames_alone(const tfn_model_desc *d);
SHARED void tfn__fill_defaults(tfn_model_desc *d);
#endif /* TFN__OPTIONS_H */
