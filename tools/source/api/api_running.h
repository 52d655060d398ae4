#ifndef TFNORM_ONLY_KERNELS

/* -- training on a board --------------------------------------------------------------------- */

#ifndef TFNORM_NO_TRAINING
/* Checkpoints in pages of flash, which the caller reads and writes. A checkpoint has parameters,
 * moments, averages and the step in this machine's format, so a run continues with the same bits.
 * It does not have options: make the model, then load. Slot 0 starts at page 0, slot 1 at page
 * `pages`. A save uses the slot without the newest checkpoint and writes its first page last.
 * Hashes tell whether a checkpoint is complete, so a power cut at any page leaves the one before.
 */
typedef struct tfn_flash {
    tfn_error error;
    int32_t page;                 /* bytes in a page: a multiple of 8, at least 128 */
    int32_t pages;                /* pages in a slot, at least tfn_flash_pages */
    void   *work;                 /* RAM for one page, aligned like a double */
    bool  (*read)(void *user, int32_t page, void *to);
    bool  (*write)(void *user, int32_t page, const void *from);     /* erase the page, then program
                                                                     * it */
    void   *user;
} tfn_flash;
/* Returns the pages a slot needs for this model, or 0 if the model does not train or page is
 * invalid. */
TFNORM_API int32_t    tfn_flash_pages(const tfn_model *m, int32_t page);
/* Saves a checkpoint, between two updates. TFN_NOT_READY: an update is not complete, or averages
 * are in place of the weights. TFN_BAD_FILE: a callback returned false; the previous checkpoint is
 * intact. */
TFNORM_API tfn_status tfn_flash_save(tfn_flash *f, const tfn_model *m);
/* Loads the newest complete checkpoint. TFN_NOT_FOUND: neither slot has one for this shape of
 * model; nothing was changed. */
TFNORM_API tfn_status tfn_flash_load(tfn_model *m, tfn_flash *f);
#endif

/* -- decoding -------------------------------------------------------------------------------- */

/* Inference one token after another, with caches. Several decoders may share a model. */
typedef struct tfn_decoder {
    tfn_error  error;
    const tfn_model *model;
    tfn_tape   encode, decode;
    tfn_run    run;
    int32_t    batch, chunk;
    tfn_var    logits;
    float     *spare;                   /* room to reorder the caches of beams */
    int32_t   *lengths;                 /* copy of the source's lengths */
    int32_t   *words;                   /* tokens by cluster */
    bool       started;
} tfn_decoder;

/* Returns the bytes of a decoder for B sentences and up to `chunk` tokens a call (0: 1), or 0 if
 * they are invalid. Give it tfn_model_scratch bytes of scratch. */
TFNORM_API size_t tfn_decoder_size(const tfn_model *m, int32_t batch, int32_t chunk, void *scratch,
                                   size_t scratch_size);
TFNORM_API tfn_status tfn_decoder_init(tfn_decoder *d, const tfn_model *m, int32_t batch,
                                       int32_t chunk, void *mem, size_t size);
/* Does for a decoder what tfn_model_watch does for a model with desc.probes. tfn_decoder_next shows
 * values of the positions it feeds, (B*time, C), with the bits of the full forward;
 * tfn_decoder_start shows the values of the source. */
TFNORM_API tfn_status tfn_decoder_watch(tfn_decoder *d, tfn_probe_fn *probe, void *user);
/* Starts new sentences. source: the batch for the encoder of an encoder-decoder, otherwise NULL. */
TFNORM_API tfn_status tfn_decoder_start(tfn_decoder *d, const tfn_batch *source);
/* Feeds `time` tokens per sentence, (B, time). Returns the logits (B, V) of the last token, or NULL
 * with an error in d->error. beam (B): the sentence whose past each sentence continues, or NULL. */
TFNORM_API const float *tfn_decoder_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                         const int32_t *beam);

/* -- reading --------------------------------------------------------------------------------- */

/* Hidden states, attention weights and vectors of sentences, for any model that can compute logits.
 * Each call runs as much of the forward as it needs, without dropout, keeps nothing, and calls no
 * probe. Errors in its arguments affect only that call. T is batch->time, or source_time for the
 * encoder of an encoder-decoder, or (T - 3)/4 for frames with convolutions. Rows of padding have no
 * meaning. */
typedef enum tfn_stack {
    TFN_STACK_LAST = 0,       /* the stack that the logits come from */
    TFN_STACK_ENCODER,
    TFN_STACK_DECODER
} tfn_stack;
#define TFN_LAYERS_ALL (-1)   /* the stack's output: all layers and the final norm */
TFNORM_API int32_t tfn_model_channels(const tfn_model *m);    /* C: the width, or 1 less for
                                                               * CRMSNorm */

/* Returns hidden states (B, T, C) after this many layers: 0 is the embedding, 1 the output of the
 * first layer. The output of a Pre-LN stack is the norm of its last layer's output; in a Post-LN
 * stack they are the same. Valid until the next call on the model. NULL: error. */
TFNORM_API const float *tfn_model_hidden(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                         int32_t layers);
/* Copies all of them in one forward: hidden (depth + 2, B, T, C) after 0, 1 ... depth layers, then
 * the stack's output. */
TFNORM_API tfn_status tfn_model_hidden_all(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                           float *hidden);
/* Computes the weights of an attention: weights (B, H, Tq, Tk), or (B, Tq, Tk) for one head; head <
 * 0 means all. Layers count from 0, as in names of parameters; kind is SELF_ATTENTION or
 * CROSS_ATTENTION. Weights are computed again from queries and keys, with the kernel's bits. A row
 * sums to 1, and is 0 for keys that the query does not see: later ones, or padding. */
TFNORM_API tfn_status tfn_model_attention(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                          int32_t layer, tfn_sublayer kind, int32_t head,
                                          float *weights);
/* Computes the weights for these tokens as a decoder would, without feeding them: (B, H, time, Tk),
 * where Tk is the positions so far plus `time`, or the source's positions. */
TFNORM_API tfn_status tfn_decoder_attention(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                            int32_t layer, tfn_sublayer kind, int32_t head,
                                            float *weights);

/* Returns the logits if the stack ended after this many layers: their output goes through the final
 * norm, if there is one, and the head (logit lens, nostalgebraist 2020). Shape and lifetime are
 * those of tfn_model_logits, and after all layers so is the result. TFN_BAD_BATCH: the stack's
 * output combines several layers (ResiDual, DLCL ...). */
TFNORM_API const float *tfn_model_lens(tfn_model *m, const tfn_batch *batch, int32_t layers);

/* How a vector of each sentence, (B, C), is made from its hidden states without padding. */
typedef enum tfn_pool {
    TFN_POOL_MEAN = 0,
    TFN_POOL_FIRST,           /* for encoders that classify by the first position */
    TFN_POOL_LAST,            /* for decoders, whose last position attends to all */
    TFN_POOL_COUNT
} tfn_pool;
/* Computes these vectors. unit: divides each by its length. A sentence of length 0 has the vector
 * 0. */
TFNORM_API tfn_status tfn_model_pool(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                     int32_t layers, tfn_pool pool, bool unit, float *vectors);

/* Runs 20 training steps on generated data and returns a hash, which equals TFN_BITS_HASH where the
 * bits are canonical, or 0 on an error. The block must have tfn_selfcheck_size() bytes. */
TFNORM_API size_t   tfn_selfcheck_size(void);
TFNORM_API uint64_t tfn_selfcheck(void *mem, size_t size, tfn_isa isa, int32_t threads);

/* -- generation ------------------------------------------------------------------------------ */

/* Text from a model: greedy, sampled, or by beam search. All zero is greedy. */
typedef struct tfn_generate_desc {
    int32_t sentences;        /* the most sentences in a call; 0: 1 */
    int32_t beam;             /* beams of fairseq's search; 0: greedy or sampled */
    int32_t max_tokens;       /* without the end token; 0: 200. Texts also end where the context
                               * does */
    float   max_ratio;        /* additional tokens for each source token; 0: none */
    int32_t min_tokens;       /* the end token cannot come before; 0: 1 */
    bool    allow_empty;      /* true: min_tokens may be 0 */
    int32_t end;              /* token that ends a text, and is part of it; < 0: none */
    const int32_t *forbidden; /* tokens that are never chosen, such as padding; does not apply to
                               * `end` and `ends`; copied */
    int32_t forbidden_count;
    float   length_penalty;   /* a text's score is sum(log p) / length^this, where the length
                               * includes the end; 0: 1 */
    bool    unnormalized;     /* true: the score is the sum */
    float   temperature;      /* tokens are drawn from softmax(logits/this); 0: greedy */
    int32_t top_k;            /* draws from this many likeliest tokens; 0: all */
    float   top_p;            /* draws from the fewest of these with this probability; 0: 1 */
    tfn_key key;              /* token t of text i uses the draw (key, id of i, t) */
    int32_t chunk;            /* tokens of a prompt fed at once; 0: 16, or 1 for encoder-decoders */
    const int32_t *ends;      /* further tokens that end a text, each like `end`, which is then
                               * required; copied */
    int32_t ends_count;
} tfn_generate_desc;

/* Why a generated text stops. */
typedef enum tfn_stop {
    TFN_STOP_END = 0,         /* the model chose the end token */
    TFN_STOP_LENGTH,          /* it has max_tokens, and max_ratio's */
    TFN_STOP_CONTEXT,         /* no room is left in the context, before it had these */
    TFN_STOP_COUNT
} tfn_stop;

typedef struct tfn_generator {
    tfn_error error;
    tfn_generate_desc desc;   /* resolved */
    tfn_decoder decoder;
    /* results of the last run: hypotheses of each sentence, best first */
    int32_t   sentences;
    int32_t   width, most;    /* hypotheses of a sentence, and places for each */
    int32_t  *tokens;         /* (sentences, width, most), including the end */
    int32_t  *lengths;        /* (sentences, width); 0: no hypothesis */
    float    *scores;         /* (sentences, width) */
    int32_t  *stops;          /* (sentences, width), each a tfn_stop. A beam search with an end
                               * puts it after a text of full length, too: only END means that it
                               * was chosen */
    /* private: of sentences */
    int32_t  *order, *begin, *last, *found, *alive, *cut;   /* (sentences) */
    int32_t   live, fed;
    /* private: of beams: choices and their beams at each step, sums of log p, rows to feed */
    int32_t  *chosen, *parent, *next, *from;
    double   *sums;
    /* private: candidates of a step; softmax of a row, and a heap to draw from it */
    double   *score;
    int32_t  *row, *token, *heap, count, room;
    float    *weights;
} tfn_generator;

/* Returns the exact bytes of a generator, or 0 if desc is invalid. Scratch is as for a decoder. */
TFNORM_API size_t tfn_generator_size(const tfn_model *m, const tfn_generate_desc *desc,
                                     void *scratch, size_t scratch_size);
TFNORM_API tfn_status tfn_generator_init(tfn_generator *g, const tfn_model *m,
                                         const tfn_generate_desc *desc, void *mem, size_t size);
/* Continues the prompts in batch->tokens and lengths (NULL: all time), each with at least one
 * token. Without tokens each sentence starts with the end token, as in fairseq. Encoder-decoders
 * also need source and source_lengths. The result of a sentence depends neither on other sentences
 * nor on padding. ids identify the draws of sentences; NULL: 0, 1 ... Errors of a batch, and logits
 * that are not finite, affect only that call. */
TFNORM_API tfn_status tfn_generator_run(tfn_generator *g, const tfn_batch *batch,
                                        const int64_t *ids);
#endif /* TFNORM_ONLY_KERNELS */
