/* B batch, T time, C channels (the width), H heads, D head size, V vocabulary, F hidden width
 * of the feed-forward, L layers. Matrices are row-major; weights are stored (in, out): y = x W. */

/* -- status and errors ----------------------------------------------------------------------- */

#define TFN__STATUS_LIST(X)                                                                    \
    X(TFN_OK,           "no error")                                                            \
    X(TFN_BAD_OPTION,   "an option has no legal value")                                        \
    X(TFN_BAD_SHAPE,    "shapes do not fit")                                                   \
    X(TFN_BAD_BATCH,    "the batch does not fit the model")                                    \
    X(TFN_NOT_FOUND,    "no such name")                                                        \
    X(TFN_NO_MEMORY,    "the memory block is too small")                                       \
    X(TFN_TOO_LARGE,    "a size does not fit the machine's integers")                          \
    X(TFN_NO_GRADIENT,  "a gradient reached an operation that has no backward")                \
    X(TFN_NOT_READY,    "called before what it needs was done")                                \
    X(TFN_NOT_FINITE,   "a number is not finite")                                              \
    X(TFN_BAD_FORMAT,   "the data does not have the right format")                             \
    X(TFN_BAD_FILE,     "a file cannot be read or written")                                    \
    X(TFN_UNSUPPORTED,  "left out of this build or not available on this machine")             \
    X(TFN_NULL,         "a pointer is NULL that must not be")

#define TFN__STATUS_ENUM(name, text) name,
typedef enum tfn_status { TFN__STATUS_LIST(TFN__STATUS_ENUM) TFN_STATUS_COUNT } tfn_status;

/* The first error of an object; later calls return it again and do nothing. */
typedef struct tfn_error {
    tfn_status  status;
    const char *op;            /* the operation that failed, such as "linear"; static text */
    const char *text;          /* static format: %d takes found, then wanted; %s takes name */
    int64_t     found, wanted;
    const char *path;          /* the file, or NULL; the caller's text, not a copy */
    int32_t     node, layer;   /* tape node and layer, or -1: none */
    char        name[128];     /* a name given by the user, cut to fit */
} tfn_error;

/* Writes the error as one line of text ("linear: input has 48 channels, weight needs 64 (node 17,
 * layer 2)"), always terminated. Returns buf, for use in a printf. buf may be NULL. */
TFNORM_API const char *tfn_error_text(const tfn_error *error, char *buf, size_t size);
TFNORM_API const char *tfn_status_text(tfn_status status);
/* Returns the version that the implementation was compiled with, such as "0.3.0". */
TFNORM_API const char *tfn_version(void);
/* True if the header that this file includes has the version of the implementation. If not, structs
 * may differ in size: compile both anew. It is compiled into the caller, not into the library. */
static inline bool tfn_version_agrees(void)
{
    const char *compiled = tfn_version();
    const char *included = TFNORM_VERSION;
    while (*compiled && *compiled == *included) {
        compiled++;
        included++;
    }
    return *compiled == *included;
}

/* -- random numbers: counter-based, no state ------------------------------------------------- */

/* A key selects a stream of random numbers. The same key and index give the same number on every
 * machine. */
typedef struct tfn_key { uint64_t bits; } tfn_key;
TFNORM_API tfn_key  tfn_key_make(uint64_t seed);
TFNORM_API tfn_key  tfn_key_fold(tfn_key key, uint64_t data);      /* a sub-stream */
TFNORM_API uint64_t tfn_random_bits(tfn_key key, uint64_t index);
TFNORM_API float    tfn_random_uniform(tfn_key key, uint64_t index);   /* [0, 1) */
TFNORM_API float    tfn_random_normal(tfn_key key, uint64_t index);    /* mean 0, variance 1 */
/* Returns element i of a random permutation of 0..n-1, in constant memory, or 0 if n <= 1. */
TFNORM_API int64_t  tfn_random_shuffle(tfn_key key, int64_t i, int64_t n);
