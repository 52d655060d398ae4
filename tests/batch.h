/* Models and batches of random tokens, for tests that train any description. */
#ifndef BATCH_H
#define BATCH_H
#include "lib.h"
#include "check.h"

/* Room for a batch of these tests, its values, and the lengths that a test may set. */
enum { BATCH_MOST = 2, BATCH_TOKENS = 16, BATCH_FRAMES = 160 };
typedef struct batch_room {
    tfn_batch batch;
    int32_t   tokens[BATCH_TOKENS], targets[BATCH_TOKENS], source[BATCH_TOKENS];
    int32_t   lengths[BATCH_MOST];
    float     frames[BATCH_FRAMES], numbers[BATCH_FRAMES];
} batch_room;

static inline bool batch_open(tfn_model *m, const tfn_model_desc *d)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s: %s", d->recipe, tfn_error_text(&m->error, text, sizeof text));
    return false;
}

/* The number of frames that give `positions` positions after two convolutions of step 2 or a linear
 * map. */
static inline int32_t batch_frames(const tfn_model_desc *d, int32_t positions)
{
    if (!d->bands) return 0;
    return d->frame_map == TFN_FRAME_MAP_LINEAR ? positions : 4 * positions + 3;
}

/* Fills all inputs of the model to its full capacity. The same seed and sizes give the same
 * values. */
static inline void batch_fill(batch_room *r, const tfn_model_desc *d, uint64_t seed)
{
    const tfn_key key = tfn_key_make(seed);
    const int32_t source_time = d->source_context ? d->source_context : d->context;
    const bool alone = d->bands && d->arch == TFN_ARCH_ENCODER;
    const int32_t frames = batch_frames(d, alone ? d->context : source_time);
    const uint64_t vocab = (uint64_t)d->vocab;
    uint64_t at = 0;
    memset(&r->batch, 0, sizeof r->batch);
    if (d->batch > BATCH_MOST || d->batch * d->context > BATCH_TOKENS ||
        d->batch * source_time > BATCH_TOKENS || d->batch * frames * d->bands > BATCH_FRAMES) {
        FAIL("%s", "a batch beyond the room for it");
        return;
    }
    for (int i = 0; i < d->batch * d->context; i++) {
        r->tokens[i] = (int32_t)(tfn_random_bits(key, at++) % vocab);
        r->targets[i] = (int32_t)(tfn_random_bits(key, at++) % vocab);
    }
    for (int i = 0; i < d->batch * source_time; i++)
        r->source[i] = (int32_t)(tfn_random_bits(key, at++) % vocab);
    for (int i = 0; i < d->batch * frames * d->bands; i++)
        r->frames[i] = 2 * tfn_random_uniform(key, at++) - 1;
    r->batch.tokens = r->tokens;
    r->batch.targets = r->targets;
    r->batch.batch = d->batch;
    r->batch.time = d->context;
    for (int i = 0; i < d->batch && d->head == TFN_HEAD_SEQUENCE; i++)
        r->targets[i] = (int32_t)(tfn_random_bits(key, at++) % (uint64_t)d->classes);
    for (int i = 0; i < d->batch * d->context && d->head == TFN_HEAD_POSITIONS; i++)
        r->targets[i] = (int32_t)(tfn_random_bits(key, at++) % (uint64_t)d->classes);
    for (int i = 0; i < d->batch * d->numbers && i < BATCH_FRAMES; i++)
        r->numbers[i] = 2 * tfn_random_uniform(key, at++) - 1;
    r->batch.numbers = d->head == TFN_HEAD_NUMBERS ? r->numbers : NULL;
    if (alone) {
        r->batch.tokens = NULL;
        r->batch.frames = r->frames;
        r->batch.time = frames;
    }
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    r->batch.source = d->bands ? NULL : r->source;
    r->batch.frames = d->bands ? r->frames : NULL;
    r->batch.source_time = d->bands ? frames : source_time;
}

/* The same, but the second sentence ends after three positions. */
static inline void batch_fill_uneven(batch_room *r, const tfn_model_desc *d, uint64_t seed)
{
    batch_fill(r, d, seed);
    r->lengths[0] = r->batch.time;
    r->lengths[1] = d->bands && d->arch == TFN_ARCH_ENCODER ? batch_frames(d, 3) : 3;
    r->batch.lengths = r->lengths;
}
#endif
