#include "../ground/ground.h"

#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC pop_options
#endif

/* The self-check: whether this machine and this build compute the promised bits (tfn_selfcheck).
 * Builds on the public functions of models. */

/* -- the self-check: generated data, dropout on, every kind of kernel ------------------------ */

/* A machine has the promised bits if a small model, trained for some steps, has the hash
 * TFN_BITS_HASH. The sizes are odd on purpose: no row, width or head fills whole vectors or blocks,
 * so that the ends of all loops run, too. Any change of a number below changes the hash. */
enum { TFN__CHECK_BATCH = 3, TFN__CHECK_TIME = 19, TFN__CHECK_VOCAB = 37, TFN__CHECK_STEPS = 20 };

/* Returns 6 MiB, which is enough in every build, so that the caller may use a static array. */
TFNORM_API size_t tfn_selfcheck_size(void) { return (size_t)6 << 20; }

/* Makes one sentence of n tokens and its padding. The task is to write n random symbols backwards.
 * Token t is the previous target, or 0 at the beginning. */
static void tfn__check_sentence(tfn_key key, int32_t at, int32_t n, int32_t *source,
                                int32_t *tokens, int32_t *targets)
{
    for (int32_t i = 0; i < n; i++) {       /* with a ?: inside, clang 14 -msimd128 hangs */
        const uint64_t r = tfn_random_bits(key, (uint64_t)(at + i));
        source[at + i] = 1 + (int32_t)(r % (TFN__CHECK_VOCAB - 1));
    }
    for (int32_t i = 0; i < n; i++) targets[at + i] = source[at + n - 1 - i];
    tokens[at] = 0;
    for (int32_t i = 1; i < n; i++) tokens[at + i] = targets[at + i - 1];
    for (int32_t i = n; i < TFN__CHECK_TIME; i++) {
        source[at + i] = 0;
        tokens[at + i] = 0;
        targets[at + i] = -1;               /* ignored */
    }
}

/* Makes the batch of a step: sentences of different lengths, padded on the right. */
static void tfn__check_data(int64_t step, int32_t *source, int32_t *tokens, int32_t *targets,
                            int32_t *lengths)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(20), (uint64_t)step);
    for (int32_t b = 0; b < TFN__CHECK_BATCH; b++) {
        lengths[b] = TFN__CHECK_TIME - 5*b;
        tfn__check_sentence(key, b * TFN__CHECK_TIME, lengths[b], source, tokens, targets);
    }
}

/* Options that exercise every rule of the arithmetic: a learned scalar in each join, whose gradient
 * is a sum over the rows that count; a rate that drives softmax and GELU into their tails; and
 * gradients clipped so strongly that moments fall below the smallest that counts. */
static tfn_model_desc tfn__check_desc(tfn_isa isa, int32_t threads)
{
    tfn_model_desc d;
    TFNORM_MEMSET(&d, 0, sizeof d);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.vocab = TFN__CHECK_VOCAB;
    d.context = TFN__CHECK_TIME;
    d.batch = TFN__CHECK_BATCH;
    d.width = 36;
    d.heads = 6;
    d.kv_heads = 2;
    d.ffn = 70;
    d.position = TFN_POSITION_ROTARY;
    d.recipe = "rezero-post";
    d.dropout = (float)0.1;
    d.attention_dropout = (float)0.1;
    d.activation_dropout = (float)0.1;
    d.smoothing = (float)0.1;
    d.scale_embedding = true;
    d.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT;
    d.schedule.lr = 3;
    d.schedule.warmup = 8;
    d.decay = (float)0.01;
    d.clip = (float)1e-4;
    d.seed = 1;
    d.isa = isa;
#ifdef TFN__THREADS
    d.threads = threads;
#else
    (void)threads;                          /* a build without threads runs on one */
#endif
    return d;
}

/* Returns the hash after the last step, or 0 if the model could not be trained, for example in a
 * build without training. */
TFNORM_API uint64_t tfn_selfcheck(void *mem, size_t size, tfn_isa isa, int32_t threads)
{
    if (!TFN__TRAINS) return 0;
    int32_t source[TFN__CHECK_BATCH * TFN__CHECK_TIME];
    int32_t tokens[TFN__CHECK_BATCH * TFN__CHECK_TIME];
    int32_t targets[TFN__CHECK_BATCH * TFN__CHECK_TIME];
    int32_t lengths[TFN__CHECK_BATCH];
    const tfn_model_desc desc = tfn__check_desc(isa, threads);
    tfn_model m;
    tfn_batch batch;
    tfn_report report;
    TFNORM_MEMSET(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.targets = targets;
    batch.lengths = lengths;
    batch.source = source;
    batch.source_lengths = lengths;
    batch.batch = TFN__CHECK_BATCH;
    batch.time = TFN__CHECK_TIME;
    batch.source_time = TFN__CHECK_TIME;
    if (tfn_model_init(&m, &desc, mem, size) != TFN_OK) return 0;
    for (int64_t step = 0; step < TFN__CHECK_STEPS; step++) {
        tfn__check_data(step, source, tokens, targets, lengths);
        if (tfn_model_step(&m, &batch, &report) != TFN_OK || report.skipped) return 0;
    }
    return tfn_model_hash(&m);
}
