#include "decoder.h"
#include "../ground/ground.h"
#include "../ground/basics.h"
#include "../tape/tape.h"
#include "../tape/record.h"
#include "../tape/record_ops.h"
#include "../tape/op_attention.h"
#include "options.h"
#include "resolve.h"
#include "builder.h"
#include "joins.h"
#include "stacks.h"
#include "model.h"
#include "step.h"
#include "profile.h"

TFN__SMALL
/* A decoder keeps the keys and values of earlier positions. So the next token costs the work of one
 * position, and its attention to those before it. Up to two tapes share one state:
 *
 *     encode   only in an encoder-decoder: the encoder, then keys and values of each
 *              cross-attention. tfn_decoder_start runs it, once a sentence.
 *     decode   up to `chunk` positions of the decoder, whose keys and values are appended to the
 *              caches at position run.start. tfn_decoder_next runs it.
 *
 * The caches of the memory, the encoder's output, come first in the state, one a layer. No other
 * cache comes before them on either tape, so the tapes agree on their places. The caches of the
 * past follow.
 *
 * With context T and G heads of keys and values with D channels, the cache of a layer is
 *
 *     2 B T G D numbers      of the past, or with a window W, 2 B min(T, W + chunk - 1) G D
 *     2 B Ts G D numbers     of the memory, in an encoder-decoder
 *
 * With a long context, this is most of a decoder's memory: 4 bytes a number, or 2 with
 * desc.cache_type. */
/* -- recording ------------------------------------------------------------------------------- */

/* Records the encoder's stack, and the keys and values of each layer's cross-attention. They depend
 * only on the source, so they are computed once a sentence, not for each token. */
static void tfn__record_encode(tfn__builder *b)
{
    const tfn_model_desc *d = b->d;
    tfn__build_table(b);
    b->memory = tfn__build_stack(b, TFN__IN_ENCODER);
    for (int32_t layer = 0; layer < d->decoder_layers; layer++) {
        const tfn__spot at = tfn__spot_in(TFN__IN_DECODER, layer, TFN_SUBLAYER_CROSS_ATTENTION);
        const tfn_var from = tfn__memory_of(b, at);
        const tfn_var k = tfn__project(b, at, from, false, false);      /* a key, not rotated */
        const tfn_var v = tfn__project_values(b, at, from);
        tfn__memory_cache(b, k, v);
    }
}

/* Records the decoder's stack with caches of the past (b->decode). Returns the logits (B, V) of the
 * last position fed; the head is applied only there. */
static tfn_var tfn__record_decode(tfn__builder *b)
{
    const tfn_model_desc *d = b->d;
    tfn_var x;
    b->decode = true;
    tfn__build_table(b);
    if (tfn__is_pair(d)) {      /* without inputs: `encode` fills them */
        b->memory = tfn__memory_cache(b, tfn__none, tfn__none);
        for (int32_t l = 1; l < d->decoder_layers; l++) tfn__memory_cache(b, tfn__none, tfn__none);
    }
    x = tfn__build_stack(b, TFN__IN_DECODER);
    x = tfn__build_logits(b, tfn__last(b->t, x));
    tfn_keep(b->t, x);
    return x;
}

/* Records and plans one of the tapes. `encode` has no target positions, the other up to `chunk`. */
static void tfn__lay_tape(tfn_decoder *d, tfn__arena *a, tfn_tape *t, bool encode)
{
    const tfn_model *m = d->model;
    tfn__builder b;
    int32_t source = 0;
    int32_t target = 0;
    if (d->error.status != TFN_OK) return;
    TFNORM_MEMSET(&b, 0, sizeof b);
    b.t = t;
    b.d = &m->desc;
    b.weights = m->weights;
    b.count = m->weight_count;

    if (tfn__is_pair(&m->desc)) source = m->desc.source_context;
    if (!encode) target = d->chunk;
    tfn__tape_begin(t, a, d->batch, source, target, false);
    if (TFN__PACKS) t->cache_type = m->desc.cache_type;
    if (encode) tfn__record_encode(&b);
    else d->logits = tfn__record_decode(&b);
    if (tfn__tape_end(t, a, m->kernels, &m->desc) != TFN_OK) d->error = t->error;
}

/* -- one block of memory --------------------------------------------------------------------- */

/* Takes room for `count` floats, or as many int32_t, which are not larger. */
static void *tfn__take_numbers(tfn_decoder *d, tfn__arena *a, int64_t count)
{
    return tfn__take(a, tfn__count(count), sizeof(float), &d->error);
}

/* Gives a new decoder or generator the error of its model, if any. An error of a batch affected
 * only that call of the model, and is ignored. */
SHARED void tfn__take_model_error(tfn_error *e, const char *op, const tfn_model *m)
{
    tfn__no_error(e);
    if (!tfn__given(e, op, "model", m)) return;
    *e = m->error;
    tfn__forgive(e);
    if (!m->weights) tfn__fail(e, TFN_NOT_READY, op, "the model was not initialized", 0, 0);
}

/* Fills in and checks the options. 0 means 1. */
static void tfn__decoder_resolve(tfn_decoder *d, const tfn_model *m, int32_t batch, int32_t chunk)
{
    d->model = m;
    d->batch = tfn__value_or(batch, 1);
    d->chunk = tfn__value_or(chunk, 1);
    if (tfn__is_encoder_only(&m->desc))
        tfn__fail(&d->error, TFN_BAD_OPTION, "decoder", "an encoder has nothing to decode", 0, 0);
    tfn__in_range(&d->error, "decoder", "a decoder's batch", d->batch, 1, TFN__MAX_SIDE);
    tfn__in_range(&d->error, "decoder", "a chunk of tokens", d->chunk, 1, m->desc.context);
}

/* Lays out what follows the tapes in the block: lengths, words, state, workspace. */
static void tfn__lay_run(tfn_decoder *d, tfn__arena *a)
{
    const tfn_model *m = d->model;
    const int32_t kv_width = tfn__head_size(&m->desc) * m->desc.kv_heads;
    int64_t work = d->decode.work;
    int64_t halves = 0;                     /* 1: a float holds two numbers of a cache */
    if (TFN__PACKS && m->desc.cache_type) halves = 1;
    if (d->encode.work > work) work = d->encode.work;
    d->lengths = (int32_t *)tfn__take_numbers(d, a, d->batch);
    if (tfn__clusters(&m->desc))            /* at most three clusters */
        d->words = (int32_t *)tfn__take_numbers(d, a, (int64_t)3 * d->batch * d->chunk);
    d->run.state = (float *)tfn__take_numbers(d, a, d->decode.state);
    if (d->batch > 1)                       /* for keys or values of a cache in tfn__reorder */
        d->spare = (float *)tfn__take_numbers(d, a, ((int64_t)d->batch * m->desc.context * kv_width
                                                     + halves) / (1 + halves));
    d->run.work = (float *)tfn__take_numbers(d, a, work);
    d->run.params = m->params;
    if (TFN__ALL && m->desc.half)
        d->run.params = (float *)tfn__take_numbers(d, a, m->param_floats);
}

/* Checks, records and lays out a decoder. Returns its bytes, or 0 after an error. To size one (real
 * is false), `mem` is scratch for recording the tapes, and the rest is only counted. */
SHARED size_t tfn__lay_decoder(tfn_decoder *d, const tfn_model *m, int32_t batch, int32_t chunk,
                               void *mem, size_t size, bool real)
{
    tfn__arena a;
    if (!mem) size = 0;
    a = tfn__arena_in(mem, size);
    TFNORM_MEMSET(d, 0, sizeof *d);
    tfn__take_model_error(&d->error, "decoder", m);
    if (d->error.status != TFN_OK) return 0;

    tfn__decoder_resolve(d, m, batch, chunk);
    if (tfn__is_pair(&m->desc)) tfn__lay_tape(d, &a, &d->encode, true);
    tfn__lay_tape(d, &a, &d->decode, false);
    if (d->error.status != TFN_OK) return 0;

    if (!real) tfn__only_count(&a);
    tfn__lay_run(d, &a);
    if (d->error.status != TFN_OK) return 0;
    return a.peak + TFN__ALIGN - 1;         /* what aligning the block may cost */
}

TFNORM_API size_t tfn_decoder_size(const tfn_model *m, int32_t batch, int32_t chunk, void *scratch,
                                   size_t scratch_size)
{
    tfn_decoder d;
    return tfn__lay_decoder(&d, m, batch, chunk, scratch, scratch_size, false);
}

TFNORM_API tfn_status tfn_decoder_init(tfn_decoder *d, const tfn_model *m, int32_t batch,
                                       int32_t chunk, void *mem, size_t size)
{
    if (!d) return TFN_NULL;
    tfn__lay_decoder(d, m, batch, chunk, mem, size, true);
    if (d->error.status != TFN_OK) return d->error.status;

    tfn__clear(d->run.state, d->decode.state);
    d->run.buffers = m->run.buffers;
    d->run.tables = m->run.tables;
    d->run.batch = d->batch;
    if (tfn__is_pair(&m->desc)) return TFN_OK;    /* it waits for a source */
    return tfn_decoder_start(d, NULL);
}

/* Both tapes call the probe: `encode` for the source, `decode` for the positions fed. */
TFNORM_API tfn_status tfn_decoder_watch(tfn_decoder *d, tfn_probe_fn *probe, void *user)
{
    if (!d) return TFN_NULL;
    tfn__made(&d->error, "decoder", d->model);
    if (!d->model) return d->error.status;
    return tfn__watch(&d->run, &d->error, &d->model->desc, probe, user);
}

/* -- start ----------------------------------------------------------------------------------- */

/* Encodes the source of an encoder-decoder into the caches of the memory. Later calls need only its
 * lengths: tfn__bind copies them, and the copy stays bound. */
static tfn_status tfn__start_source(tfn_decoder *d, const tfn_batch *source)
{
    const tfn_model_desc *m = &d->model->desc;
    int32_t sentences = 0;
    tfn_status status;
    if (source) sentences = source->batch;
    if (sentences < 1 || sentences > d->batch)
        tfn__fail(&d->error, TFN_BAD_BATCH, "decoder", "%d source sentences, the limit is %d",
                  sentences, d->batch);
    else tfn__check_source(&d->error, m, source);
    if (d->error.status != TFN_OK) return d->error.status;

    tfn__bind(&d->run, m, source, d->lengths);
    d->run.target = 0;
    d->started = true;
    tfn__refresh_copy(d->model, d->run.params);
    status = tfn_tape_forward(&d->encode, &d->run);
    tfn__unbind(&d->run);
    if (source->source_lengths) d->run.ints[TFN_INT_SOURCE_LENGTHS] = d->lengths;
    return status;
}

TFNORM_API tfn_status tfn_decoder_start(tfn_decoder *d, const tfn_batch *source)
{
    if (!d) return TFN_NULL;
    tfn__forgive(&d->error);
    tfn__made(&d->error, "decoder", d->model);
    if (d->error.status != TFN_OK) return d->error.status;
    if (tfn__is_pair(&d->model->desc)) return tfn__start_source(d, source);
    d->run.start = 0;           /* attention reads no cache beyond it, so none is cleared */
    return TFN_OK;
}

/* -- caches ---------------------------------------------------------------------------------- */

/* Returns the keys (part 0) or values (part 1) of a cache node: B rows, one for each sentence or
 * beam, of *bytes each. tfn__cache_of defines the layout. */
SHARED unsigned char *tfn__cache_part(const tfn_decoder *d, const tfn_node *n, int part,
                                      size_t *bytes)
{
    size_t each = sizeof(float);
    if (TFN__PACKS && n->arg[TFN__CACHE_TYPE]) each = sizeof(uint16_t);
    *bytes = (size_t)n->cols * (size_t)n->arg[TFN__CACHE_CAPACITY] * each;
    return (unsigned char *)(d->run.state + (int64_t)n->arg[TFN__CACHE_PLACE] * TFN__CACHE_ALIGN)
         + (size_t)(part * d->batch) * *bytes;
}

SHARED bool tfn__is_memory(const tfn_node *n) { return n->op == TFN__OP_MEMORY; }

/* Replaces row b of each cache of the past by row beam[b]. Beams may swap, so all moved rows are
 * copied aside before any is written. */
SHARED void tfn__reorder(tfn_decoder *d, const int32_t *beam)
{
    for (int32_t i = 1; i < d->decode.count; i++) {
        const tfn_node *n = d->decode.nodes + i;
        if (n->op != TFN__OP_CACHE) continue;
        for (int part = 0; part < 2; part++) {
            size_t row;
            unsigned char *cache = tfn__cache_part(d, n, part, &row);
            unsigned char *spare = (unsigned char *)d->spare;
            for (int32_t b = 0; b < d->run.batch; b++)
                if (beam[b] != b)
                    TFNORM_MEMCPY(spare + (size_t)b*row, cache + (size_t)beam[b]*row, row);
            for (int32_t b = 0; b < d->run.batch; b++)
                if (beam[b] != b)
                    TFNORM_MEMCPY(cache + (size_t)b*row, spare + (size_t)b*row, row);
        }
    }
}

/* -- next ------------------------------------------------------------------------------------ */

/* Checks tokens (B, time) and beam (B), which may be NULL. */
static bool tfn__check_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                            const int32_t *beam)
{
    const tfn_model_desc *m = &d->model->desc;
    const int32_t left = m->context - d->run.start;
    tfn_error *e = &d->error;
    if (tfn__is_pair(m) && !d->started)
        tfn__fail(e, TFN_BAD_BATCH, "decoder", "tfn_decoder_start was not called", 0, 0);
    if (time < 1 || time > d->chunk)
        tfn__fail(e, TFN_BAD_BATCH, "decoder", "%d tokens at once, the limit is %d", time,
                  d->chunk);
    if (time > left)
        tfn__fail(e, TFN_BAD_BATCH, "decoder", "%d tokens, the context has room for %d", time,
                  left);
    if (e->status != TFN_OK) return false;

    tfn__check_ids(e, "a token is %d, the vocabulary has %d", tokens, d->run.batch, time, NULL,
                   m->vocab, false);
    if (beam)
        tfn__check_ids(e, "beam %d, there are %d", beam, 1, d->run.batch, NULL, d->run.batch,
                       false);
    return e->status == TFN_OK;
}

/* Begins every call with tokens. Returns false on an error. */
SHARED bool tfn__begin_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                            const int32_t *beam)
{
    if (!d) return false;
    tfn__forgive(&d->error);
    tfn__made(&d->error, "decoder", d->model);
    if (!tokens) tfn__fail(&d->error, TFN_BAD_BATCH, "decoder", "there are no tokens", 0, 0);
    if (d->error.status != TFN_OK) return false;
    return tfn__check_next(d, tokens, time, beam);
}

/* Binds the tokens. At the start of a text, also renews the rounded weights of half precision. */
SHARED void tfn__bind_next(tfn_decoder *d, const int32_t *tokens, int32_t time)
{
    d->run.target = time;
    d->run.ints[TFN_INT_TOKENS] = tokens;
    tfn__part_words(&d->run, &d->model->desc, d->words, tokens, (int64_t)d->run.batch * time,
                    false);
    if (d->run.start == 0) tfn__refresh_copy(d->model, d->run.params);
}

TFNORM_API const float *tfn_decoder_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                         const int32_t *beam)
{
    tfn_status status;
    if (!tfn__begin_next(d, tokens, time, beam)) return NULL;
    if (beam && d->batch > 1) tfn__reorder(d, beam);
    tfn__bind_next(d, tokens, time);
    status = tfn_tape_forward(&d->decode, &d->run);
    d->run.ints[TFN_INT_TOKENS] = NULL;         /* keep no pointer of the caller's */
    if (status != TFN_OK) return NULL;
    d->run.start += time;
    return tfn_value(&d->decode, &d->run, d->logits);
}
TFN__SMALL_END
