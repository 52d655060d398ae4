/* Data for the tools: files and generated tasks to token ids, to batches.
 *
 *     data_file file;  data_lines lines;  data_set set;  data_batches batches;
 *     data_read(&file, "pairs.tsv");                         // "-": the standard input
 *     data_lines_init(&lines, &file, DATA_PAIRS, NULL);      // "pairs.tsv:7: 1 field, wanted ..."
 *     data_set_init(&set, &set_options, data_get_line, &lines, lines.count);
 *     data_batches_init(&batches, &set, &batch_options);
 *     tfn_model_step(&model, data_batch(&batches, position), &report);    // position 0, 1, 2 ...
 *
 * Each init returns false and leaves a line of text in `error` if it fails. Each has its own free,
 * which may follow a failure. Sizes are counted in a first pass, then allocated, then filled. The
 * position is the only state: position / batches.count is the epoch, the rest the batch in it. A
 * position always gives the same batch, whatever was called before. */
#ifndef DATA_H
#define DATA_H

#include "../../tfnorm.h"
#include "tasks.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An error has room for the longest path (PATH_MAX of Linux) and the message about it. */
enum { DATA_ERROR = 4096 + 512, DATA_CLASSES = 64, DATA_NAME = 48 };
/* Allocates zeros; NULL only with an error. */
void *data_alloc(char *error, int64_t count, size_t size);

/* The mean cosine of pairs of rows, without rows of zeros, which have none; NaN: no pair is
 * left. */
double data_cosine(const float *x, const float *y, ptrdiff_t rows, ptrdiff_t cols);

/* -- files ----------------------------------------------------------------------------------- */

typedef struct data_file {
    const char *name;
    char       *bytes;          /* followed by a zero */
    size_t      size;
    char        error[DATA_ERROR];
} data_file;

/* True if the text begins with a byte-order mark, which some editors write; it is not content. */
bool data_has_mark(const char *bytes, size_t size);

/* Reads the whole file; "-" is the standard input. A pipe, which can be read only once, gives the
 * same bytes in later calls. */
bool data_read(data_file *x, const char *path);

void data_file_free(data_file *x);

/* The beginning of the last tenth of a text, at a line's start: training text before it, validation
 * after it. If no line starts in that tenth's first half, as in a text of one line, at a
 * character's start. */
size_t data_cut(const char *bytes, size_t size);

/* -- items: one or two texts ------------------------------------------------------------------ */

typedef enum data_kind {
    DATA_TEXT,          /* one stream, cut into windows: language models */
    DATA_PAIRS,         /* SOURCE tab TARGET: encoder-decoder */
    DATA_JOINED,        /* the same in one row: decoder */
    DATA_LABELS,        /* LABEL tab A, or LABEL tab A tab B: encoder, a class each */
    DATA_MASKED         /* A, or A tab B: encoder, masked tokens */
} data_kind;

typedef struct data_item {
    const char *text[2];
    size_t      bytes[2];
    int32_t     label;
    const task_item *spoken;    /* not NULL: the source is its sound, and text[1] its words */
} data_item;
/* Gets item i from `user`; its texts are valid until the next call. */
typedef bool data_get(data_item *item, void *user, int64_t i);

typedef struct data_classes {
    int32_t count;
    bool    fixed;              /* an unknown label is an error */
    char    name[DATA_CLASSES][DATA_NAME];
} data_classes;

/* The class's number, a new one unless they are fixed; -1: unknown, or too many. */
int32_t data_class(data_classes *x, const char *name, size_t bytes);

typedef struct data_lines {     /* the file's bytes must stay in memory */
    data_item *items;
    int64_t    count;
    char       error[DATA_ERROR];
} data_lines;

/* The lines of a file, which end in LF or CR LF. Empty lines are skipped in running text and at the
 * end of a file. classes: for DATA_LABELS; new labels are added unless they are fixed. */
bool data_lines_init(data_lines *x, const data_file *file, data_kind kind, data_classes *classes);

void data_lines_free(data_lines *x);

bool data_get_line(data_item *item, void *user, int64_t i);

/* Keeps the lines of one split, chosen by the hash of the first text as in tasks.h, so that equal
 * lines are always in the same split. */
void data_keep(data_lines *x, task_split split);

/* Gets a whole text as the only item. */
bool data_get_text(data_item *item, void *user, int64_t i);

/* Items first, first + 1 ... of a generated task. */
typedef struct data_task {
    const task  *task;
    task_options options;
    task_split   split;
    uint64_t     first;
    task_item    item;
} data_task;

bool data_get_task(data_item *item, void *user, int64_t i);

/* -- a tokenizer trained on items -------------------------------------------------------------- */

typedef struct data_tokenizer {
    tfn_tokenizer tokenizer;
    void         *mem;
    char          error[DATA_ERROR];
} data_tokenizer;
enum { DATA_FIRST = 1, DATA_SECOND = 2 };       /* which texts; 3: both */

bool data_tokenizer_init(data_tokenizer *x, const tfn_tokenizer_desc *desc,
                         data_get *get, void *user, int64_t count, int which,
                         bool space);

void data_tokenizer_free(data_tokenizer *x);

/* -- sets: items as ids ------------------------------------------------------------------------ */

/* Rows of a batch, where END and BEGIN are the tokenizer's </s> and <s>:
 *     TEXT     a window of the stream; its items are joined by END
 *     PAIRS    source END;  tokens END target, targets target END (like fairseq and the generator),
 *              or tokens START target for imported models;
 *              for speech the source is frames of TASK_BANDS numbers, 4 n + 3 of them
 *     JOINED   source END target END in one row; only the target is scored
 *     LABELS   BEGIN A END [B END] with segments 0 and 1: BERT's [CLS] A [SEP] B [SEP]
 *     MASKED   the same */
typedef struct data_set_options {
    data_kind kind;
    const tfn_tokenizer *tokenizer, *target;    /* target NULL: tokenizer */
    int32_t most, most_source;      /* longest row, or the window; most_source 0: most */
    bool    space;                  /* put a space before each text */
    bool    speech;                 /* PAIRS with sound as the source */
    bool    starts;                 /* PAIRS whose tokens begin with `start` instead of END */
    int32_t start;
} data_set_options;

typedef struct data_set {
    data_set_options options;
    int64_t  count;             /* items */
    int64_t *at;                /* text k of item i: ids[at[2i + k]] up to at[2i + k + 1] */
    int32_t *ids, *label, *heard;    /* heard: frames of item i, for speech */
    float   *frames;
    int64_t  dropped, cut;      /* too long: pairs are dropped; others cut, the longer text first */
    char     error[DATA_ERROR];
} data_set;

bool data_set_init(data_set *x, const data_set_options *options, data_get *get,
                   void *user, int64_t count);

void data_set_free(data_set *x);

/* -- batches ----------------------------------------------------------------------------------- */

typedef struct data_batch_options {
    int32_t  batch;             /* most rows; 0: as many as `tokens` allows, or 1 */
    int32_t  tokens;            /* > 0: limit for rows times the longest of either side; rows of
                                 * similar length share a batch; 4096 in the papers */
    uint64_t seed;
    bool     in_order;          /* no shuffling: every epoch is the same; for evaluation */
} data_batch_options;

/* Each epoch is shuffled anew. With `tokens`, items of equal length and whole batches change
 * places; the batches' number and sizes stay. Otherwise items change places. Each item comes
 * exactly once an epoch. In a text each target does, while the cuts between windows move. */
typedef struct data_batches {
    const data_set *set;
    data_batch_options options;
    int64_t   count;                        /* batches of an epoch */
    int32_t   most_rows, most_time, most_source;    /* sizes that a model needs */
    tfn_batch batch;                        /* the last one */
    int32_t  *items;                        /* items, or windows, in its rows */
    char      error[DATA_ERROR];
    /* private */
    int64_t   windows, slack, epoch;        /* epoch: the one that `order` is for, -1: none */
    int32_t  *order, *spare, *first;        /* with tokens: items by length, starts of batches */
    int32_t  *tokens, *targets, *segments, *lengths, *source, *source_lengths;
    float    *frames;
} data_batches;

/* The beginning and end of window i of an epoch. */
void data_window(const data_batches *b, int64_t epoch, int64_t i, int64_t *begin, int64_t *end);

bool data_batches_init(data_batches *b, const data_set *set, const data_batch_options *options);

void data_batches_free(data_batches *b);

bool data_is_special(const tfn_tokenizer *k, int32_t id);

/* Batch number `position`, from 0, since the beginning of training; valid until the next call. */
const tfn_batch *data_batch(data_batches *b, int64_t position);
#endif
