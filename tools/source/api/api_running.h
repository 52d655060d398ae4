#ifndef TFNORM_ONLY_KERNELS

/* -- training on a board --------------------------------------------------------------------- */

#ifndef TFNORM_NO_TRAINING
/* A checkpoint in pages of flash that the caller reads and writes: parameters, moments, averages
 * and the step, as this machine has them, so that a run goes on with the same bits. There are two
 * slots, page 0 on and page `pages` on. What is saved goes into the slot that does not have the
 * newest checkpoint, its first page at the end, and hashes say whether all of it is there: a power
 * cut at any page leaves the one before. Options are the program's: make the model, then load. */
typedef struct tfn_flash {
    tfn_error error;
    int32_t page;                 /* bytes of one, a multiple of 8, at least 128 */
    int32_t pages;                /* of a slot, at least tfn_flash_pages */
    void   *work;                 /* one page of RAM, aligned as a double is */
    bool  (*read)(void *user, int32_t page, void *to);
    bool  (*write)(void *user, int32_t page, const void *from);     /* erase it, then program it */
    void   *user;
} tfn_flash;
/* Pages that a slot must have for this model; 0: no model that trains, or no such page. */
TFNORM_API int32_t    tfn_flash_pages(const tfn_model *m, int32_t page);
/* Between two updates (TFN_NOT_READY: within one, or averages stand in the place of the weights).
 * TFN_BAD_FILE: a callback said false, and the checkpoint before is as it was. */
TFNORM_API tfn_status tfn_flash_save(tfn_flash *f, const tfn_model *m);
/* The newest whole checkpoint. TFN_NOT_FOUND: neither slot has one of a model of this shape;
 * nothing was changed. */
TFNORM_API tfn_status tfn_flash_load(tfn_model *m, tfn_flash *f);
#endif

/* -- decoding -------------------------------------------------------------------------------- */

/* One token after the other against a cache; several decoders may share one model. */
typedef struct tfn_decoder {
    tfn_error  error;
    const tfn_model *model;
    tfn_tape   encode, decode;
    tfn_run    run;
    int32_t    batch, chunk;
    tfn_var    logits;
    float     *spare;                   /* to reorder the caches of beams */
    int32_t   *lengths;                 /* of the source, a copy */
    int32_t   *words;                   /* tokens as each cluster has them */
    bool       started;
} tfn_decoder;

/* Bytes for B sentences, up to `chunk` tokens a call (0: 1); 0: invalid. Scratch: as much as
 * tfn_model_scratch says for the model. */
TFNORM_API size_t tfn_decoder_size(const tfn_model *m, int32_t batch, int32_t chunk, void *scratch,
                                   size_t scratch_size);
TFNORM_API tfn_status tfn_decoder_init(tfn_decoder *d, const tfn_model *m, int32_t batch,
                                       int32_t chunk, void *mem, size_t size);
/* tfn_model_watch of a decoder, whose model has desc.probes: tfn_decoder_next shows the values of
 * the positions that it feeds, (B*time, C), with the bits of the full forward, and
 * tfn_decoder_start those of the source. */
TFNORM_API tfn_status tfn_decoder_watch(tfn_decoder *d, tfn_probe_fn *probe, void *user);
/* Begin again; source: the encoder's batch of an encoder-decoder, else NULL. */
TFNORM_API tfn_status tfn_decoder_start(tfn_decoder *d, const tfn_batch *source);
/* Feed `time` tokens per sentence, (B, time): the logits (B, V) of the last one, or NULL and
 * d->error. beam: NULL, or the sentence whose past each of the B continues. */
TFNORM_API const float *tfn_decoder_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                         const int32_t *beam);

/* -- reading --------------------------------------------------------------------------------- */

/* What stands between tokens and logits, of any model that can compute these, without dropout: each
 * call is a forward of the batch as far as is wanted, keeps nothing, and shows nothing to a probe.
 * What is wrong with its arguments concerns that call only, as with a batch. T is batch->time; of
 * the encoder of an encoder-decoder source_time; of frames, through convolutions, (T - 3)/4. Rows
 * of padding mean nothing. */
typedef enum tfn_stack {
    TFN_STACK_LAST = 0,       /* the one that the logits are made of */
    TFN_STACK_ENCODER,
    TFN_STACK_DECODER
} tfn_stack;
#define TFN_LAYERS_ALL (-1)   /* the stack's output: all layers, and the final norm */
TFNORM_API int32_t tfn_model_channels(const tfn_model *m);    /* C: the width; of CRMSNorm 1 less */

/* Hidden states (B, T, C) behind so many layers: 0 is the embedding, 1 what the first layer gives.
 * A Pre-LN stack's output is the norm of what its last layer gives, a Post-LN stack's is the same.
 * Valid until the next call on the model; NULL: error. */
TFNORM_API const float *tfn_model_hidden(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                         int32_t layers);
/* All of them in one forward, copied: hidden (depth + 2, B, T, C), behind 0 layers, 1 ... depth,
 * and the stack's output. */
TFNORM_API tfn_status tfn_model_hidden_all(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                           float *hidden);
/* The weights of an attention, layers from 0 as in names of parameters, kind SELF_ATTENTION or
 * CROSS_ATTENTION: weights (B, H, Tq, Tk), or (B, Tq, Tk) of one head; head below 0: of all. They
 * are made again from queries and keys, with the kernel's bits: a row sums to 1, and is 0 where a
 * query sees no key: behind it, in the padding. */
TFNORM_API tfn_status tfn_model_attention(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                          int32_t layer, tfn_sublayer kind, int32_t head,
                                          float *weights);
/* Those with which a decoder would read these tokens, which it is then not fed: (B, H, time, Tk),
 * where Tk are the positions so far and `time` more, or those of the source. */
TFNORM_API tfn_status tfn_decoder_attention(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                            int32_t layer, tfn_sublayer kind, int32_t head,
                                            float *weights);

/* The logits that the model would give if its stack ended behind so many layers: their output
 * through the final norm, if the stack has one, and the head: the logit lens (nostalgebraist 2020).
 * Shape and life are those of tfn_model_logits, which this is behind all layers. TFN_BAD_BATCH: the
 * stack's output is made of several layers' (ResiDual, DLCL ...), of which no one is the last. */
TFNORM_API const float *tfn_model_lens(tfn_model *m, const tfn_batch *batch, int32_t layers);

/* A vector of each sentence, (B, C), from the hidden states of its positions without padding. */
typedef enum tfn_pool {
    TFN_POOL_MEAN = 0,
    TFN_POOL_FIRST,           /* of an encoder that classifies by it */
    TFN_POOL_LAST,            /* of a decoder: the one position that has seen all */
    TFN_POOL_COUNT
} tfn_pool;
/* unit: divided by its length. A sentence of length 0 has the vector 0. */
TFNORM_API tfn_status tfn_model_pool(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                                     int32_t layers, tfn_pool pool, bool unit, float *vectors);

/* 20 training steps on generated data: equals TFN_BITS_HASH where the bits are canonical. The block
 * must hold tfn_selfcheck_size() bytes; 0: error. */
TFNORM_API size_t   tfn_selfcheck_size(void);
TFNORM_API uint64_t tfn_selfcheck(void *mem, size_t size, tfn_isa isa, int32_t threads);

/* -- generation ------------------------------------------------------------------------------ */

/* Text from a model: greedy, drawn, or by beam search. All zero is greedy. */
typedef struct tfn_generate_desc {
    int32_t sentences;        /* 0: 1; the most of a call */
    int32_t beam;             /* 0: greedy or drawn; else so many beams, fairseq's search */
    int32_t max_tokens;       /* 0: 200; without the end; what is fed never exceeds the context */
    float   max_ratio;        /* so many more for each source token; 0: none */
    int32_t min_tokens;       /* 0: 1; the end may not come before */
    bool    allow_empty;      /* true: min_tokens 0 means 0 */
    int32_t end;              /* the token that ends a text, itself included; below 0: none does */
    const int32_t *forbidden; /* tokens never chosen, such as padding, but the end; copied */
    int32_t forbidden_count;
    float   length_penalty;   /* 0: 1; a text's score is sum(log p) / length^this, end counted */
    bool    unnormalized;     /* true: the score is the sum */
    float   temperature;      /* 0: greedy; else tokens are drawn from softmax(logits/this) */
    int32_t top_k;            /* 0: all; draw from so many likeliest */
    float   top_p;            /* 0: 1; of these, from the fewest that hold so much probability */
    tfn_key key;              /* of the draws: token t of text i has draw (key, id of i, t) */
    int32_t chunk;            /* 0: 16, encoder-decoder 1; tokens of a prompt fed at once */
} tfn_generate_desc;

typedef struct tfn_generator {
    tfn_error error;
    tfn_generate_desc desc;   /* resolved */
    tfn_decoder decoder;
    /* what the last run gave; each text's hypotheses, the best first */
    int32_t   sentences;
    int32_t   width, most;    /* hypotheses of a sentence, places of each */
    int32_t  *tokens;         /* (sentences, width, most), the end included */
    int32_t  *lengths;        /* (sentences, width); 0: there is none */
    float    *scores;         /* (sentences, width) */
    /* private: of sentences, */
    int32_t  *order, *begin, *last, *found, *alive;   /* (sentences) */
    int32_t   live, fed;
    /* of beams: what was chosen at each step and from which beam, sums of log p, rows to feed */
    int32_t  *chosen, *parent, *next, *from;
    double   *sums;
    /* candidates of a step; softmax of a row, and a heap of it to draw from */
    double   *score;
    int32_t  *row, *token, *heap, count, room;
    float    *weights;
} tfn_generator;

/* Bytes, exact; scratch as for a decoder. 0: invalid. */
TFNORM_API size_t tfn_generator_size(const tfn_model *m, const tfn_generate_desc *desc,
                                     void *scratch, size_t scratch_size);
TFNORM_API tfn_status tfn_generator_init(tfn_generator *g, const tfn_model *m,
                                         const tfn_generate_desc *desc, void *mem, size_t size);
/* Continue the prompts: batch->tokens and lengths (NULL: all time), each of at least one token;
 * without tokens each begins with the end token, as fairseq's decoders do. An encoder-decoder also
 * has source and source_lengths. The result of a sentence depends neither on the others nor on
 * padding. ids: what names a sentence's draws, NULL: 0, 1 ... What is wrong with a batch, and
 * logits that are not finite, concern that call only. */
TFNORM_API tfn_status tfn_generator_run(tfn_generator *g, const tfn_batch *batch,
                                        const int64_t *ids);
#endif /* TFNORM_ONLY_KERNELS */
