/* Data for the tools: files and generated tasks to token ids, to batches.
 *
 *     data_file file;  data_lines lines;  data_set set;  data_batches batches;
 *     data_read(&file, "pairs.tsv");                         // "-": the standard input
 *     data_lines_init(&lines, &file, DATA_PAIRS, NULL);      // "pairs.tsv:7: 1 field, wanted ..."
 *     data_set_init(&set, &set_options, data_get_line, &lines, lines.count);
 *     data_batches_init(&batches, &set, &batch_options);
 *     tfn_model_step(&model, data_batch(&batches, position), &report);    // position 0, 1, 2 ...
 *
 * Each init returns false and leaves a line of text in `error` if it fails; each has its free,
 * which may follow a failure. Sizes are counted in a first pass, then allocated, then filled.
 * A position is all there is to remember: position / batches.count is the epoch, the rest the batch
 * in it. The same position gives the same batch, whatever was asked before. */
#ifndef DATA_H
#define DATA_H

#include "../../tfnorm.h"
#include "tasks.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An error has room for the longest path (PATH_MAX of Linux) and what is said of it. */
enum { DATA_ERROR = 4096 + 512, DATA_CLASSES = 64, DATA_NAME = 48 };
/* Zeros; never NULL without an error. */
void *data_alloc(char *error, int64_t count, size_t size);

/* The mean cosine of pairs of rows, but for rows of zeros, which have none; NaN: of none. */
double data_cosine(const float *x, const float *y, ptrdiff_t rows, ptrdiff_t cols);

/* -- files ----------------------------------------------------------------------------------- */

typedef struct data_file {
    const char *name;
    char       *bytes;          /* a zero behind the last */
    size_t      size;
    char        error[DATA_ERROR];
} data_file;

/* The byte-order mark in UTF-8, with which some editors begin a file: it is no part of the text. */
bool data_has_mark(const char *bytes, size_t size);

/* The whole file; "-" is the standard input. A pipe, which can be read only once, gives the same
 * bytes again when it is asked for again. */
bool data_read(data_file *x, const char *path);

void data_file_free(data_file *x);

/* Where the last tenth of a text begins, at a line's start: training text before, validation from
 * there on. If no line starts in its first half, as in a text of one line, at a character's
 * start. */
size_t data_cut(const char *bytes, size_t size);

/* -- items: one or two texts ------------------------------------------------------------------ */

typedef enum data_kind {
    DATA_TEXT,          /* one stream, cut into windows: language models */
    DATA_PAIRS,         /* SOURCE tab TARGET: encoder-decoder */
    DATA_JOINED,        /* the same as one row: decoder */
    DATA_LABELS,        /* LABEL tab A, or LABEL tab A tab B: encoder, a class each */
    DATA_MASKED         /* A, or A tab B: encoder, masked tokens */
} data_kind;

typedef struct data_item {
    const char *text[2];
    size_t      bytes[2];
    int32_t     label;
    const task_item *spoken;    /* NULL; or the source is its sound, and text[1] what is said */
} data_item;
/* Item i of what `user` stands for; texts stay until the next call. */
typedef bool data_get(data_item *item, void *user, int64_t i);

typedef struct data_classes {
    int32_t count;
    bool    fixed;              /* a label that is not among them is an error */
    char    name[DATA_CLASSES][DATA_NAME];
} data_classes;

/* The class's number, a new one unless they are fixed; -1: no. */
int32_t data_class(data_classes *x, const char *name, size_t bytes);

typedef struct data_lines {     /* of a file, whose bytes must stay */
    data_item *items;
    int64_t    count;
    char       error[DATA_ERROR];
} data_lines;

/* The lines of a file, which end in LF or CR LF. Empty ones are passed over in running text and at
 * the end of a file. classes: of DATA_LABELS, which grow as labels come unless they are fixed. */
bool data_lines_init(data_lines *x, const data_file *file, data_kind kind, data_classes *classes);

void data_lines_free(data_lines *x);

bool data_get_line(data_item *item, void *user, int64_t i);

/* Keep the lines of one split, told by the hash of the first text as in tasks.h: equal lines are
 * always in the same one. */
void data_keep(data_lines *x, task_split split);

/* A whole text as the only item. */
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
enum { DATA_FIRST = 1, DATA_SECOND = 2 };       /* which texts; added: both */

bool data_tokenizer_init(data_tokenizer *x, const tfn_tokenizer_desc *desc,
                         data_get *get, void *user, int64_t count, int which,
                         bool space);

void data_tokenizer_free(data_tokenizer *x);

/* -- sets: items as ids ------------------------------------------------------------------------ */

/* Rows of a batch, END and BEGIN being the tokenizer's </s> and <s>:
 *     TEXT     a window of the stream; its items are joined by END
 *     PAIRS    source END;  tokens END target, targets target END (fairseq's and the generator's),
 *              or tokens START target, of models that were imported;
 *              of speech the source is frames of TASK_BANDS numbers, 4 n + 3 of them
 *     JOINED   source END target END as one row, of which only the target is scored
 *     LABELS   BEGIN A END [B END] with segments 0 and 1: BERT's [CLS] A [SEP] B [SEP]
 *     MASKED   the same */
typedef struct data_set_options {
    data_kind kind;
    const tfn_tokenizer *tokenizer, *target;    /* target NULL: tokenizer */
    int32_t most, most_source;      /* longest row; the window. most_source 0: most */
    bool    space;                  /* a space before each text */
    bool    speech;                 /* PAIRS whose source is sound */
    bool    starts;                 /* PAIRS whose tokens begin with `start`, not with END */
    int32_t start;
} data_set_options;

typedef struct data_set {
    data_set_options options;
    int64_t  count;             /* items */
    int64_t *at;                /* text k of item i: ids[at[2i + k]] up to at[2i + k + 1] */
    int32_t *ids, *label, *heard;    /* of speech: frames of item i, of the TASK_FRAMES it has */
    float   *frames;
    int64_t  dropped, cut;      /* too long: pairs are dropped, others cut, the longer text first */
    char     error[DATA_ERROR];
} data_set;

bool data_set_init(data_set *x, const data_set_options *options, data_get *get,
                   void *user, int64_t count);

void data_set_free(data_set *x);

/* -- batches ----------------------------------------------------------------------------------- */

typedef struct data_batch_options {
    int32_t  batch;             /* most rows; 0: as many as tokens allow, or 1 */
    int32_t  tokens;            /* > 0: rows times the longest of either side are at most so many,
                                 * and rows of like length stand together; 4096 in the papers */
    uint64_t seed;
    bool     in_order;          /* not shuffled: every epoch is the same. For evaluation */
} data_batch_options;

/* Each epoch shuffles anew. With `tokens`, items of equal length change places, and batches do;
 * their number and sizes stay. Without, items do. Each item comes exactly once an epoch; of a text
 * each target does, while the cuts between windows move. */
typedef struct data_batches {
    const data_set *set;
    data_batch_options options;
    int64_t   count;                        /* batches of an epoch */
    int32_t   most_rows, most_time, most_source;    /* what a model must hold */
    tfn_batch batch;                        /* of the last call */
    int32_t  *items;                        /* its rows' items; windows of a text */
    char      error[DATA_ERROR];
    /* private */
    int64_t   windows, slack, epoch;        /* epoch: that of `order`, -1 none */
    int32_t  *order, *spare, *first;        /* with tokens: items by length, where batches begin */
    int32_t  *tokens, *targets, *segments, *lengths, *source, *source_lengths;
    float    *frames;
} data_batches;

/* Where window i of an epoch begins and ends. */
void data_window(const data_batches *b, int64_t epoch, int64_t i, int64_t *begin, int64_t *end);

bool data_batches_init(data_batches *b, const data_set *set, const data_batch_options *options);

void data_batches_free(data_batches *b);

bool data_is_special(const tfn_tokenizer *k, int32_t id);

/* Batch number `position`, from 0, since the beginning of training; valid until the next call. */
const tfn_batch *data_batch(data_batches *b, int64_t position);
#endif
