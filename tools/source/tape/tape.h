#ifndef TFN__TAPE_H
#define TFN__TAPE_H
#include "../ground/ground.h"

/* The tape: a graph of operations that is recorded once, planned once and run many times (see
 * tape.c for how). Offers the table of operations, the arguments that a node stores for each of
 * them, and the cutting of work into chunks and products that operations share. Builds on the
 * table of kernels. */

/* Defined in builds whose tapes may run on several threads. */
#if defined TFN__THREADS && !defined TFN__CHECKED
#define TFN__TEAMS
#endif

/* The arguments of an operation's functions: pointers and sizes of this run. Absent inputs,
 * gradients that are not needed, and saved arrays of a tape that does not train are NULL, and every
 * function must expect that. `add` tells the kernel to add to an input's gradient instead of
 * storing it; an input that two operations use has it set in the later one. */
typedef struct tfn__call {
    const tfn_tape    *t;
    const tfn_run     *r;
    const tfn_kernels *k;
    const tfn_node    *n;
    float    *y, *saved, *dy;         /* value, saved array, gradient of the value */
    float    *x[TFN_INPUTS];          /* inputs, NULL if absent */
    float    *dx[TFN_INPUTS];         /* their gradients, NULL if not needed */
    bool      add[TFN_INPUTS];        /* dx[i] is added to, not stored */
    float    *work;                   /* scratch of this thread */
    ptrdiff_t rows, cols;             /* of y */
    ptrdiff_t x_rows[TFN_INPUTS], x_cols[TFN_INPUTS];
    ptrdiff_t chunk, chunks;          /* the number of this part of the work, and of all parts */
#ifdef TFN__THREADS
    int32_t   threads;                /* that share the entry; it is cut into chunks for so many */
#endif
} tfn__call;
/* Return and set the number of threads that share an entry. */
static TFN__INLINE int32_t tfn__threads_of(const tfn__call *c)
{
#ifdef TFN__THREADS
    return c->threads;
#else
    (void)c;
    return 1;
#endif
}
static TFN__INLINE void tfn__set_threads(tfn__call *c, int32_t threads)
{
#ifdef TFN__THREADS
    c->threads = threads;
#else
    (void)c;
    (void)threads;
#endif
}
/* One function does chunk c->chunk of an operation, another returns the number of chunks. Both may
 * depend only on the call, because threads ask independently and must agree. */
typedef void tfn__op_fn(const tfn__call *c);
typedef ptrdiff_t tfn__chunks_fn(const tfn__call *c);

/* A mask of the arrays that a backward reads, besides its own gradient and the parameters. The plan
 * keeps only these alive. A debug build fills dead memory with NaN, which tests the masks. */
enum { TFN__IN0 = 1, TFN__IN1 = 2, TFN__IN2 = 4, TFN__IN3 = 8, TFN__IN4 = 16, TFN__IN5 = 32,
       TFN__OUT = 64, TFN__SAVED = 128, TFN__READ_ALL = 255 };

/* Flags of a node. Recording sets KEEP, PROBED, BATCH_STATISTICS and LAYER; the plan sets the
 * others. */
enum { TFN__KEEP = 1,              /* set by tfn_keep: value and gradient outlive the run */
       TFN__LEARNS = 2,            /* depends on a parameter that trains */
       TFN__NEED = 4,              /* has a gradient: LEARNS, and the last value depends on it */
       TFN__WRITTEN = 8,           /* a writer of its gradient is known: later ones add */
       TFN__AGAIN = 16,            /* recomputed in the backward, in a second life */
       TFN__PROBED = 32,           /* a probe watches it */
       TFN__BATCH_STATISTICS = 64, /* saves saved_cols floats in total, read after the run */
       TFN__LAYER = 128 };         /* output of a layer, or input of the first one */

/* A row of TFN__OPS has a name for messages, the forward and the function that counts its chunks,
 * the same two for the backward, and the mask of arrays that the backward reads. Leaves do nothing;
 * they come first, up to INPUT. Builds without training omit TFN__BACK(f). */
#define TFN__NO_GRAD NULL               /* the only way to have no backward */
#if TFN__TRAINS
#define TFN__BACK(f) f
#else
#define TFN__BACK(f) NULL
#endif

/* Operations that small builds may omit: they are only in some models, or never in a decoder.
 * Recording a row whose forward is NULL is an error (tfn__record), so no run meets one. The kernel
 * is NULL in its table, too, and the linker drops both. */
#define TFN__ROTARY_OP(f)  TFN__KEPT(TFN__KEEPS(POSITIONS, TFN_POSITION_ROTARY), f)
#define TFN__WHOLE_OP(f)   TFN__KEPT(TFN__SENTENCES, f)
#define TFN__ENCODER_OP(f) TFN__KEPT(TFN__ENCODERS, f)
#define TFN__CACHE_OP(f)   TFN__KEPT(TFN__DECODES, f)
#define TFN__DROP_OP(f)    TFN__KEPT(TFN__DROPS, f)

#define TFN__OPS(X)                                                                              \
    X(NONE,       "operation",       NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(PARAM,      "parameter",       NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(TABLE,      "table",           NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(BUFFER,     "buffer",          NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(MEMORY,     "memory",          NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(INPUT,      "input",           NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
                                                                                                 \
    X(FRAMES,     "frames",          TFN__ENCODER_OP(tfn__frames_op),                            \
                                     tfn__by_sentence, TFN__NO_GRAD, NULL, 0)                    \
    X(LINEAR,     "linear",          tfn__linear_forward,         tfn__linear_chunks,            \
                                     tfn__linear_backward,        tfn__linear_backward_chunks,   \
                                     TFN__IN0 | TFN__IN1 | TFN__SAVED)                           \
    X(NORM,       "norm",            tfn__norm_forward,           tfn__norm_chunks,              \
                                     tfn__norm_backward,          tfn__norm_backward_chunks,     \
                                     TFN__IN0 | TFN__IN1 | TFN__SAVED)                           \
    X(SOFTMAX,    "softmax",         TFN__WHOLE_OP(tfn__softmax_op), tfn__by_rows, \
                                     tfn__softmax_backward_op,    tfn__by_rows,                  \
                                     TFN__OUT)                                                   \
    X(ACTIVATE,   "activation",      tfn__activate_forward,       tfn__by_rows,                  \
                                     tfn__activate_backward,      tfn__by_rows,                  \
                                     TFN__IN0)                                                   \
    X(GATED,      "gated unit",      TFN__KEPT(TFN__GATES, tfn__gated_op), tfn__by_rows,         \
                                     TFN__KEPT(TFN__GATES, tfn__gated_backward_op), tfn__by_rows, \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(ADD,        "add",             tfn__add_forward,            tfn__by_rows,                  \
                                     tfn__add_backward,           tfn__by_rows,                  \
                                     0)                                                          \
    X(MULTIPLE,   "multiple",        tfn__multiple_forward,       tfn__by_rows,                  \
                                     tfn__multiple_backward,      tfn__by_rows,                  \
                                     0)                                                          \
    X(SCALE,      "scale",           TFN__KEPT(TFN__SCALES, tfn__scale_forward), tfn__by_rows,   \
                                     TFN__KEPT(TFN__SCALES, tfn__scale_backward),                \
                                     tfn__rows_and_by,                                           \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(DROPOUT,    "dropout",         TFN__BACK(TFN__DROP_OP(tfn__dropout_forward)), tfn__by_rows, \
                                     TFN__DROP_OP(tfn__dropout_backward), tfn__by_rows,            \
                                     0)                                                          \
    X(EMBED,      "embedding",       tfn__embed_op,               tfn__by_rows,                  \
                                     tfn__embed_backward_op,      tfn__by_cols,                  \
                                     0)                                                          \
    X(POSITION,   "position",        tfn__position_op,            tfn__by_positions,             \
                                     tfn__position_backward_op,   tfn__position_backward_chunks, \
                                     0)                                                          \
    X(ROTARY,     "rotary",          TFN__ROTARY_OP(tfn__rotary_op), tfn__by_positions, \
                                     TFN__ROTARY_OP(tfn__rotary_backward), tfn__by_positions, \
                                     0)                                                          \
    X(FIRST,      "first",           TFN__ENCODER_OP(TFN__WHOLE_OP(tfn__first_forward)), tfn__one, \
                                     TFN__ENCODER_OP(tfn__first_backward), tfn__one,             \
                                     0)                                                          \
    X(LAST,       "last",            tfn__last_forward,           tfn__one,                      \
                                     tfn__last_backward,          tfn__one,                      \
                                     0)                                                          \
    X(ATTEND,     "attention",       TFN__WHOLE_OP(tfn__attend_forward), tfn__by_heads, \
                                     tfn__attend_backward,        tfn__by_heads,                 \
                                     TFN__IN0 | TFN__IN1 | TFN__IN2 | TFN__IN3 | TFN__OUT        \
                                     | TFN__SAVED)                                               \
    X(CACHE,      "cache",           TFN__CACHE_OP(tfn__cache_op), tfn__one,                     \
                                     TFN__NO_GRAD, NULL, 0)                                      \
    X(ENCODED,    "encoded memory",  TFN__CACHE_OP(TFN__KEPT(TFN__PAIRS, tfn__encoded_op)),      \
                                     tfn__one, TFN__NO_GRAD, NULL, 0)                            \
    X(CACHED,     "cached attention",TFN__CACHE_OP(tfn__cached_op), TFN__CACHE_OP(tfn__by_cached), \
                                     TFN__NO_GRAD, NULL, 0)                                      \
    X(LOSS,       "cross-entropy",   TFN__BACK(tfn__loss_forward), TFN__BACK(tfn__loss_chunks),  \
                                     tfn__loss_backward,          tfn__loss_chunks,              \
                                     TFN__IN0 | TFN__SAVED)                                      \
    X(TARGETS,    "targets",         TFN__BACK(tfn__targets_forward), TFN__BACK(tfn__one),       \
                                     tfn__targets_backward,       tfn__one,                      \
                                     0)                                                          \
    X(NUMBERS,    "number loss",     TFN__BACK(TFN__ENCODER_OP(tfn__numbers_forward)), tfn__one, \
                                     TFN__ENCODER_OP(tfn__numbers_backward), tfn__one,            \
                                     TFN__IN0)                                                   \
    X(PROBE,      "probe",           tfn__probe_forward,          tfn__one,                      \
                                     tfn__probe_backward,         tfn__one,                      \
                                     0)                                                          \
    X(CUSTOM,     "custom",          TFN__WHOLE_OP(tfn__custom_forward), tfn__one, \
                                     tfn__custom_backward,        tfn__one,                      \
                                     TFN__READ_ALL & ~TFN__SAVED)                                \
    TFN__MORE_OPS(X)

#if TFN__ALL
#define TFN__MORE_OPS(X)                                                                         \
    X(WORDS,      "words",           tfn__words_op, tfn__by_rows, TFN__NO_GRAD, NULL, 0)         \
    X(RELATIVE,   "relative positions", tfn__relative_forward,    tfn__one,                      \
                                     tfn__relative_backward,      tfn__one,                      \
                                     0)                                                          \
    X(CONV,       "convolution",     tfn__conv_forward,           tfn__by_sentence,              \
                                     tfn__conv_backward,          tfn__conv_backward_chunks,     \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(POINT,      "pointwise norm",  tfn__point_forward,          tfn__by_rows,                  \
                                     tfn__point_backward,         tfn__rows_and_one,             \
                                     TFN__IN0 | TFN__IN1 | TFN__IN3 | TFN__IN4)                  \
    X(SEED,       "SeeDNorm",        tfn__seed_forward,           tfn__by_rows,                  \
                                     tfn__seed_backward,          tfn__rows_and_one,             \
                                     TFN__IN0 | TFN__IN1 | TFN__IN2 | TFN__IN3 | TFN__SAVED)     \
    X(COLUMNS,    "batch norm",      tfn__columns_forward,        tfn__by_cols,                  \
                                     tfn__columns_backward,       tfn__by_cols,                  \
                                     TFN__IN0 | TFN__IN1 | TFN__IN3 | TFN__SAVED)                \
    X(EXP_CAPPED, "capped exp",      tfn__exp_capped_forward,     tfn__by_rows,                  \
                                     tfn__exp_capped_backward,    tfn__by_rows,                  \
                                     TFN__IN0)                                                   \
    X(SIGMA,      "sigma",           tfn__sigma_forward,          tfn__one,                      \
                                     tfn__sigma_backward,         tfn__by_weight_rows,           \
                                     TFN__IN1 | TFN__IN2)                                        \
    X(RESCALE,    "rescale",         tfn__rescale_forward,        tfn__by_rows,                  \
                                     tfn__rescale_backward,       tfn__rows_and_one,             \
                                     TFN__IN0 | TFN__IN1 | TFN__IN2)                             \
    X(RAMP,       "ramp",            tfn__ramp_forward,           tfn__by_rows,                  \
                                     tfn__ramp_backward,          tfn__by_rows,                  \
                                     TFN__IN1)                                                   \
    X(SHIFT,      "shift",           tfn__shift_forward,          tfn__by_rows,                  \
                                     tfn__shift_backward,         tfn__rows_and_by,              \
                                     0)                                                          \
    X(MIX,        "mix",             tfn__mix_forward,            tfn__by_rows,                  \
                                     tfn__mix_backward,           tfn__rows_and_by,              \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(GATE,       "gate",            tfn__gate_forward,           tfn__by_rows,                  \
                                     tfn__gate_backward,          tfn__rows_and_by,              \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(MAGNITUDE,  "magnitude",       tfn__magnitude_forward,      tfn__by_rows,                  \
                                     tfn__magnitude_backward,     tfn__by_rows,                  \
                                     TFN__IN0)                                                   \
    X(CLAMP,      "clamp",           tfn__clamp_forward,          tfn__by_rows,                  \
                                     tfn__clamp_backward,         tfn__by_rows,                  \
                                     TFN__IN0)
#else
/* A small build has none of these: recording one (TFN__OP_NONE) is an error. */
#define TFN__MORE_OPS(X)
enum { TFN__OP_WORDS, TFN__OP_CONV = 0, TFN__OP_POINT = 0, TFN__OP_SEED = 0, TFN__OP_COLUMNS = 0,
       TFN__OP_RELATIVE = 0, TFN__OP_EXP_CAPPED = 0, TFN__OP_SIGMA = 0, TFN__OP_RESCALE = 0,
       TFN__OP_RAMP = 0, TFN__OP_SHIFT = 0, TFN__OP_MIX = 0, TFN__OP_GATE = 0,
       TFN__OP_MAGNITUDE = 0, TFN__OP_CLAMP = 0 };
#endif

#define TFN__OP_ENUM(id, name, forward, chunks, backward, backward_chunks, reads) TFN__OP_##id,
enum { TFN__OPS(TFN__OP_ENUM) TFN__OP_COUNT };

/* Leaves have no entry on the timeline. */
static TFN__INLINE bool tfn__is_leaf(const tfn_node *n) { return n->op <= TFN__OP_INPUT; }

/* The meaning of a node's arg by operation. A SLOT is an index of a run's inputs or ints. LENGTHS
 * is one, too, or -1 if every key counts. */
enum { TFN__INPUT_SLOT };
enum { TFN__PARAM_WEIGHTS, TFN__PARAM_TABLE };             /* how it is packed: tfn__packed */
enum { TFN__EMBED_SLOT };
enum { TFN__LOSS_SLOT, TFN__LOSS_KIND };                    /* of the targets; form of smoothing */
enum { TFN__LINEAR_ACTIVATION, TFN__LINEAR_TRANSPOSED };
enum { TFN__FUNCTION };                                     /* of an activation or gated unit */
enum { TFN__NORM_KIND, TFN__NORM_GROUPS, TFN__NORM_PART, TFN__NORM_COLS };
enum { TFN__POINT_FUNCTION };
enum { TFN__BATCH_KIND, TFN__BATCH_WARMUP };
enum { TFN__MIX_OUTPUT };                                   /* column of the weights */
enum { TFN__ROTARY_HEAD_SIZE };
enum { TFN__RELATIVE_DISTANCE, TFN__RELATIVE_BOTH };        /* BOTH: keys on both sides */
/* WINDOW: the number of keys a query attends to, up to its own position; 0: all keys; INT32_MAX:
 * all up to its own position; below 0: minus the number of keys before, and after, its position */
enum { TFN__ATTEND_HEADS, TFN__ATTEND_KV_HEADS, TFN__ATTEND_WINDOW, TFN__ATTEND_LENGTHS };
enum { TFN__CACHED_HEADS, TFN__CACHED_CACHE, TFN__CACHED_LENGTHS,           /* CACHE: a node */
       TFN__CACHED_WINDOW };                                                /* 0: no ring */
enum { TFN__CACHE_KV_HEADS, TFN__CACHE_CAPACITY, TFN__CACHE_PLACE, TFN__CACHE_TYPE };
enum { TFN__PROBE_ID };                                     /* passed to the callback */
enum { TFN__CUSTOM_INDEX };                                 /* of the tape's `custom` */

/* Items first ... first + count - 1: rows, columns or values. */
typedef struct tfn__range {
    ptrdiff_t first, count;
} tfn__range;

SHARED tfn__range tfn__slice(ptrdiff_t n, ptrdiff_t step, ptrdiff_t chunk);
SHARED ptrdiff_t tfn__pieces(ptrdiff_t n, ptrdiff_t step);
SHARED bool tfn__serial(const tfn__call *c);
SHARED ptrdiff_t tfn__item_step(const tfn__call *c, ptrdiff_t items, ptrdiff_t steps);
SHARED ptrdiff_t tfn__row_step(const tfn__call *c, ptrdiff_t rows, ptrdiff_t cols);
SHARED ptrdiff_t tfn__col_step(const tfn__call *c, ptrdiff_t cols);
SHARED ptrdiff_t tfn__one(const tfn__call *c);
SHARED ptrdiff_t tfn__by_cols(const tfn__call *c);
SHARED ptrdiff_t tfn__by_rows(const tfn__call *c);
SHARED tfn__range tfn__cols_of(const tfn__call *c, ptrdiff_t cols, ptrdiff_t chunk);
SHARED tfn__range tfn__chunk_rows(const tfn__call *c);
SHARED tfn__range tfn__chunk_values(const tfn__call *c);

/* A matrix in memory with strides: element (i, j) is at[i*row + j*col]. */
typedef struct tfn__matrix {
    const float *at;
    ptrdiff_t row, col;
} tfn__matrix;
SHARED tfn__matrix tfn__matrix_of(const float *at, ptrdiff_t cols);
SHARED tfn__matrix tfn__transpose(tfn__matrix m);
SHARED TFN__NOINLINE tfn_matmul_args tfn__product(float *y, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                                                  tfn__matrix a, tfn__matrix b);
SHARED void tfn__add_product(tfn_matmul_args *p);
SHARED ptrdiff_t tfn__product_chunks(const tfn__call *c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
SHARED ptrdiff_t tfn__product_block(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk);
SHARED void tfn__product_chunk(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk);
#endif /* TFN__TAPE_H */
