/* Data for the tools: files and generated tasks to token ids, to batches. Include it behind the
 * implementation of tfnorm.h.
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

#include "tasks.h"
#include <stdarg.h>
#include <stdlib.h>

enum { DATA_ERROR = 240, DATA_CLASSES = 64, DATA_NAME = 48 };

/* Keeps the first error; false, so that it can stand in a return. */
static inline bool data_fail(char *error, const char *format, ...)
{
    va_list args;
    if (error[0]) return false;
    va_start(args, format);
    vsnprintf(error, DATA_ERROR, format, args);
    va_end(args);
    return false;
}
/* Zeros; never NULL without an error. */
static inline void *data_alloc(char *error, int64_t count, size_t size)
{
    void *p = NULL;
    if (count >= 0 && (uint64_t)count < SIZE_MAX / size) p = calloc((size_t)count + 1, size);
    if (!p) data_fail(error, "no memory for %lld elements", (long long)count);
    return p;
}

/* The mean cosine of pairs of rows, but for rows of zeros, which have none; NaN: of none. */
static inline double data_cosine(const float *x, const float *y, ptrdiff_t rows, ptrdiff_t cols)
{
    double sum = 0;
    int64_t pairs = 0;
    for (; rows > 0; rows--, x += cols, y += cols) {
        double xy = 0, xx = 0, yy = 0;
        for (ptrdiff_t i = 0; i < cols; i++) {
            xy += (double)x[i] * (double)y[i];
            xx += (double)x[i] * (double)x[i];
            yy += (double)y[i] * (double)y[i];
        }
        if (xx == 0 || yy == 0) continue;
        sum += xy / (sqrt(xx) * sqrt(yy));
        pairs++;
    }
    return pairs ? sum / (double)pairs : (double)NAN;
}

/* -- files ----------------------------------------------------------------------------------- */

typedef struct data_file {
    const char *name;
    char       *bytes;          /* a zero behind the last */
    size_t      size;
    char        error[DATA_ERROR];
} data_file;

/* The byte-order mark in UTF-8, with which some editors begin a file: it is no part of the text. */
static inline bool data_has_mark(const char *bytes, size_t size)
{
    return size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3);
}
static inline bool data_read(data_file *x, const char *path)
{
    bool input = !strcmp(path, "-");
    FILE *f = input ? stdin : fopen(path, "rb");
    size_t room = 1 << 16, got = 1;
    memset(x, 0, sizeof *x);
    x->name = input ? "standard input" : path;
    if (!f) return data_fail(x->error, "%s: cannot be opened", x->name);
    x->bytes = (char *)malloc(room);
    while (x->bytes && got) {
        got = fread(x->bytes + x->size, 1, room - 1 - x->size, f);
        x->size += got;
        if (x->size == room - 1) {
            char *more = room > SIZE_MAX / 2 ? NULL : (char *)realloc(x->bytes, room *= 2);
            if (!more) free(x->bytes);
            x->bytes = more;
        }
    }
    if (!x->bytes) data_fail(x->error, "%s: no memory for it", x->name);
    else x->bytes[x->size] = 0;
    if (ferror(f)) data_fail(x->error, "%s: cannot be read", x->name);
    if (!x->error[0] && data_has_mark(x->bytes, x->size)) {
        x->size -= 3;
        memmove(x->bytes, x->bytes + 3, x->size + 1);
    }
    if (!input) fclose(f);
    return !x->error[0];
}
static inline void data_file_free(data_file *x) { free(x->bytes), x->bytes = NULL; }

/* Where the last tenth of a text begins, at a line's start: training text before, validation from
 * there on. If no line starts in its first half, as in a text of one line, at a character's
 * start. */
static inline size_t data_cut(const char *bytes, size_t size)
{
    size_t tenth = size - size / 10, latest = size - size / 20, at = tenth;
    while (at > 0 && at < latest && bytes[at - 1] != '\n') at++;
    if (at < latest) return at;
    at = tenth;
    while (at < size && ((unsigned char)bytes[at] >> 6) == 2) at++;
    return at;
}

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
static inline int32_t data_class(data_classes *x, const char *name, size_t bytes)
{
    for (int32_t i = 0; i < x->count; i++)
        if (strlen(x->name[i]) == bytes && !memcmp(x->name[i], name, bytes)) return i;
    if (x->fixed || x->count == DATA_CLASSES || bytes >= DATA_NAME || !bytes) return -1;
    memcpy(x->name[x->count], name, bytes);
    return x->count++;
}

typedef struct data_lines {     /* of a file, whose bytes must stay */
    data_item *items;
    int64_t    count;
    char       error[DATA_ERROR];
} data_lines;

static const struct { int least, most; const char *form; } data_forms[] = {
    { 1, 1, "TEXT" }, { 2, 2, "SOURCE tab TARGET" }, { 2, 2, "SOURCE tab TARGET" },
    { 2, 3, "LABEL tab A or LABEL tab A tab B" }, { 1, 2, "A or A tab B" }
};

/* One line: its fields, or false and what is wrong with them. */
static inline bool data_parse(char *why, data_item *item, const char *line, size_t bytes,
                              data_kind kind, data_classes *classes)
{
    const char *field[4], *form = data_forms[kind].form, *end = line + bytes;
    size_t size[4];
    int fields = 0, skip = kind == DATA_LABELS;
    for (const char *s = line; s; fields++) {
        const char *tab = (const char *)memchr(s, '\t', (size_t)(end - s));
        size_t n = (size_t)((tab ? tab : end) - s);
        if (fields < 4) field[fields] = s, size[fields] = n;
        if (!n) return data_fail(why, "field %d is empty, wanted %s", fields + 1, form);
        s = tab ? tab + 1 : NULL;
    }
    if (fields < data_forms[kind].least || fields > data_forms[kind].most)
        return data_fail(why, "%d field%s, wanted %s", fields, fields > 1 ? "s" : "", form);
    if (memchr(line, 0, bytes)) return data_fail(why, "a zero byte, wanted text");
    memset(item, 0, sizeof *item);
    for (int k = 0; k < fields - skip; k++)
        item->text[k] = field[k + skip], item->bytes[k] = size[k + skip];
    if (!skip) return true;
    if (size[0] >= DATA_NAME) return data_fail(why, "a label of %u bytes, wanted at most %d",
                                               (unsigned)size[0], DATA_NAME - 1);
    item->label = data_class(classes, field[0], size[0]);
    return item->label >= 0
        || data_fail(why, "label \"%.*s\", wanted one of the %d before it", (int)size[0], field[0],
                     (int)classes->count);
}

/* The lines of a file, which end in LF or CR LF. Empty ones are passed over in running text and at
 * the end of a file. classes: of DATA_LABELS, which grow as labels come unless they are fixed. */
static inline bool data_lines_init(data_lines *x, const data_file *file, data_kind kind,
                                   data_classes *classes)
{
    memset(x, 0, sizeof *x);
    for (int pass = 0; pass < 2; pass++) {
        const char *s = file->bytes, *end = s + file->size;
        int64_t number = 1, count = 0;
        for (const char *next; s < end; s = next, number++) {
            const char *stop = (const char *)memchr(s, '\n', (size_t)(end - s));
            size_t bytes = (size_t)((stop ? stop : end) - s);
            data_item item;
            char why[DATA_ERROR] = "";
            next = stop ? stop + 1 : end;
            if (bytes && s[bytes - 1] == '\r') bytes--;
            if (!bytes && (kind == DATA_TEXT || kind == DATA_MASKED || next == end)) continue;
            if (!data_parse(why, &item, s, bytes, kind, classes))
                return data_fail(x->error, "%s:%lld: %s", file->name, (long long)number, why);
            if (pass) x->items[count] = item;
            count++;
        }
        if (!count) return data_fail(x->error, "%s: no line, wanted %s", file->name,
                                     data_forms[kind].form);
        if (!pass) x->items = (data_item *)data_alloc(x->error, count, sizeof *x->items);
        if (!x->items) return false;
        x->count = count;
    }
    return true;
}
static inline void data_lines_free(data_lines *x) { free(x->items), x->items = NULL; }

static inline bool data_get_line(data_item *item, void *user, int64_t i)
{
    *item = ((const data_lines *)user)->items[i];
    return true;
}

/* Keep the lines of one split, told by the hash of the first text as in tasks.h: equal lines are
 * always in the same one. */
static inline void data_keep(data_lines *x, task_split split)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->count; i++)
        if (task_split_of(x->items[i].text[0], x->items[i].bytes[0]) == split)
            x->items[n++] = x->items[i];
    x->count = n;
}

/* A whole text as the only item. */
static inline bool data_get_text(data_item *item, void *user, int64_t i)
{
    (void)i;
    *item = *(const data_item *)user;
    return true;
}

/* Items first, first + 1 ... of a generated task. */
typedef struct data_task {
    const task  *task;
    task_options options;
    task_split   split;
    uint64_t     first;
    task_item    item;
} data_task;
static inline bool data_get_task(data_item *item, void *user, int64_t i)
{
    data_task *x = (data_task *)user;
    bool speech = x->task->kind == TASK_SPEECH;
    if (!task_make(&x->item, x->task, &x->options, x->split, x->first + (uint64_t)i)) return false;
    item->text[0] = x->task->kind == TASK_TEXT ? x->item.target : x->item.source;
    item->text[1] = x->task->kind == TASK_PAIR || speech ? x->item.target : x->item.second;
    item->label = x->item.label;
    item->spoken = speech ? &x->item : NULL;
    for (int k = 0; k < 2; k++) item->bytes[k] = strlen(item->text[k]);
    return true;
}

/* -- a tokenizer trained on items -------------------------------------------------------------- */

typedef struct data_tokenizer {
    tfn_tokenizer tokenizer;
    void         *mem;
    char          error[DATA_ERROR];
} data_tokenizer;
enum { DATA_FIRST = 1, DATA_SECOND = 2 };       /* which texts; added: both */

static inline bool data_say(char *error, const tfn_error *e)
{
    char text[DATA_ERROR];
    return data_fail(error, "%s", tfn_error_text(e, text, sizeof text));
}

/* Text k of an item with the space that may stand before it; buffer grows as it must. */
static inline const char *data_spaced(char *error, data_item *item, int k, bool space,
                                      char **buffer, size_t *room)
{
    if (!space || !item->bytes[k]) return item->text[k];
    if (item->bytes[k] >= *room) {
        free(*buffer);
        *room = 2*item->bytes[k] + 256;
        *buffer = (char *)data_alloc(error, (int64_t)*room, 1);
        if (!*buffer) return NULL;
    }
    (*buffer)[0] = ' ';
    memcpy(*buffer + 1, item->text[k], item->bytes[k]++);
    return *buffer;
}

static inline bool data_train(data_tokenizer *x, tfn_trainer *t, data_get *get, void *user,
                              int64_t count, int which, bool space)
{
    char *buffer = NULL;
    size_t room = 0;
    for (int64_t i = 0; i < count && !x->error[0]; i++) {
        data_item item = { { NULL }, { 0 }, 0, NULL };
        if (!get(&item, user, i)) data_fail(x->error, "item %lld cannot be had", (long long)i);
        for (int k = 0; k < 2 && !x->error[0]; k++) {
            const char *text = !(which >> k & 1) ? NULL
                             : data_spaced(x->error, &item, k, space, &buffer, &room);
            if (text && item.bytes[k]) tfn_trainer_add(t, text, item.bytes[k]);
        }
    }
    free(buffer);
    if (!x->error[0] && tfn_trainer_run(t) != TFN_OK) data_say(x->error, &t->error);
    return !x->error[0];
}

static inline bool data_tokenizer_init(data_tokenizer *x, const tfn_tokenizer_desc *desc,
                                       data_get *get, void *user, int64_t count, int which,
                                       bool space)
{
    size_t size = tfn_trainer_size(desc);
    void *mem;
    tfn_trainer trainer;
    tfn_tokenizer_source source;
    memset(x, 0, sizeof *x);
    memset(&source, 0, sizeof source);
    mem = data_alloc(x->error, (int64_t)size, 1);
    if (mem && tfn_trainer_init(&trainer, desc, mem, size) != TFN_OK)
        data_say(x->error, &trainer.error);
    else if (mem && data_train(x, &trainer, get, user, count, which, space)) {
        source.trainer = &trainer;
        size = tfn_tokenizer_size(&source);
        x->mem = data_alloc(x->error, (int64_t)size, 1);
        if (x->mem && tfn_tokenizer_init(&x->tokenizer, &source, x->mem, size) != TFN_OK)
            data_say(x->error, &x->tokenizer.error);
    }
    free(mem);
    return !x->error[0];
}
static inline void data_tokenizer_free(data_tokenizer *x) { free(x->mem), x->mem = NULL; }

/* -- sets: items as ids ------------------------------------------------------------------------ */

/* Rows of a batch, END and BEGIN being the tokenizer's </s> and <s>:
 *     TEXT     a window of the stream; its items are joined by END
 *     PAIRS    source END;  tokens END target, targets target END (fairseq's and the generator's);
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

static inline const tfn_tokenizer *data_tokenizer_of(const data_set *x, int k)
{
    bool second = x->options.target && k == 1 && x->options.kind == DATA_PAIRS;
    return second ? x->options.target : x->options.tokenizer;
}

/* Tokens of item i's rows: source (0 if there is none; of speech positions) and target. */
static inline void data_lengths(const data_set *x, int64_t i, int32_t *source, int32_t *target)
{
    const int64_t *at = x->at + 2*i;
    int32_t a = (int32_t)(at[1] - at[0]), b = (int32_t)(at[2] - at[1]);
    bool pairs = x->options.kind == DATA_PAIRS;
    *source = x->options.speech ? x->heard[i] / 4 : pairs ? a + 1 : 0;
    *target = pairs ? b + 1 : x->options.kind == DATA_JOINED ? a + b + 1 : a + 2 + (b ? b + 1 : 0);
}

/* Item i is stored: cut it, or false to drop it. */
static inline bool data_fit(data_set *x, int64_t i)
{
    const data_set_options *o = &x->options;
    int64_t *at = x->at + 2*i;
    int32_t source, target, over;
    if (o->kind == DATA_TEXT) return true;
    data_lengths(x, i, &source, &target);
    if (o->speech ? x->heard[i] < 7 : at[1] == at[0]) return false;
    if (o->kind < DATA_LABELS && at[2] == at[1]) return false;
    if (o->kind < DATA_LABELS) return target <= o->most && source <= o->most_source;
    over = target - o->most;
    x->cut += over > 0;
    for (; over > 0; over--) {
        if (at[1] - at[0] <= at[2] - at[1]) at[2]--;
        else {
            memmove(x->ids + at[1] - 1, x->ids + at[1], (size_t)(at[2] - at[1]) * sizeof *x->ids);
            at[1]--, at[2]--;
        }
    }
    return true;
}

/* Both passes: the first counts ids into *total, the second stores them. */
static inline bool data_encode(data_set *x, data_get *get, void *user, int64_t count,
                               int64_t *total)
{
    char *buffer = NULL;
    size_t room = 0;
    int64_t kept = 0, end = 0, most = *total;
    int32_t eos = x->options.tokenizer->special[TFN_SPECIAL_EOS];
    for (int64_t i = 0; i < count && !x->error[0]; i++) {
        data_item item = { { NULL }, { 0 }, 0, NULL };
        if (!get(&item, user, i)) data_fail(x->error, "item %lld cannot be had", (long long)i);
        if (x->ids) x->at[2*kept] = end;
        if (x->ids && x->options.speech && item.spoken)
            x->heard[kept] = task_features(x->frames + kept*TASK_FRAMES*TASK_BANDS, item.spoken);
        for (int k = 0; k < 2 && !x->error[0]; k++) {
            const char *text = data_spaced(x->error, &item, k, x->options.space, &buffer, &room);
            if (text && item.bytes[k])
                end += tfn_tokenizer_encode(data_tokenizer_of(x, k), x->ids ? x->ids + end : NULL,
                                            x->ids ? most - end : 0, text, item.bytes[k]);
            if (x->options.kind == DATA_TEXT && k && i + 1 < count) {
                if (x->ids) x->ids[end] = eos;
                end++;
            }
            if (x->ids) x->at[2*kept + k + 1] = end;
        }
        if (x->ids && !x->error[0]) {
            bool fits = data_fit(x, kept);
            x->label[kept] = item.label;
            end = x->at[2*kept + 2*fits];
            kept += fits;
            x->dropped += !fits;
        }
    }
    free(buffer);
    *total = end;
    x->count = kept;
    return !x->error[0];
}

static inline bool data_needs(data_set *x, const tfn_tokenizer *k, tfn_special special)
{
    static const char *const names[] = { "<pad>", "<s>", "</s>", "<unk>", "<mask>" };
    return k->special[special] >= 0 || data_fail(x->error, "the tokenizer has no %s",
                                                 names[special]);
}

static inline bool data_set_init(data_set *x, const data_set_options *options, data_get *get,
                                 void *user, int64_t count)
{
    int64_t total = 0;
    bool text = options->kind == DATA_TEXT, encoder = options->kind >= DATA_LABELS;
    memset(x, 0, sizeof *x);
    x->options = *options;
    if (!x->options.most_source) x->options.most_source = options->most;
    if (options->most < 4)
        return data_fail(x->error, "rows of %d tokens, wanted at least 4", (int)options->most);
    if ((!text || count > 1) && !data_needs(x, options->tokenizer, TFN_SPECIAL_EOS)) return false;
    if (!text && !data_needs(x, data_tokenizer_of(x, 1), TFN_SPECIAL_EOS)) return false;
    if (encoder && !data_needs(x, options->tokenizer, TFN_SPECIAL_BOS)) return false;
    if (options->kind == DATA_MASKED && !data_needs(x, options->tokenizer, TFN_SPECIAL_MASK))
        return false;
    if (!data_encode(x, get, user, count, &total)) return false;
    x->at = (int64_t *)data_alloc(x->error, 2*count + 1, sizeof *x->at);
    x->label = (int32_t *)data_alloc(x->error, count, sizeof *x->label);
    x->ids = (int32_t *)data_alloc(x->error, total, sizeof *x->ids);
    if (options->speech) {
        x->heard = (int32_t *)data_alloc(x->error, count, sizeof *x->heard);
        x->frames = (float *)data_alloc(x->error, count, TASK_FRAMES*TASK_BANDS * sizeof(float));
    }
    if (!x->at || !x->label || !x->ids || x->error[0]) return false;
    if (!data_encode(x, get, user, count, &total)) return false;
    if (text && total < 2) return data_fail(x->error, "%lld tokens, wanted 2", (long long)total);
    if (!x->count) return data_fail(x->error, "no item of at most %d tokens among %lld",
                                    (int)options->most, (long long)count);
    if (x->count > INT32_MAX) return data_fail(x->error, "%lld items, the limit is 2147483647",
                                               (long long)x->count);
    return true;
}
static inline void data_set_free(data_set *x)
{
    free(x->at), free(x->ids), free(x->label), free(x->heard), free(x->frames);
    x->at = NULL, x->ids = x->label = x->heard = NULL, x->frames = NULL;
}

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

static inline tfn_key data_key(const data_batches *b, int64_t epoch, uint64_t stream)
{
    tfn_key key = tfn_key_fold(tfn_key_make(b->options.seed), stream);
    return tfn_key_fold(key, (uint64_t)epoch);
}

/* Stable sort of items by the length of the source, or of the longer side. */
static inline int32_t data_rank(const data_set *x, int64_t i, bool longest)
{
    int32_t source, target;
    data_lengths(x, i, &source, &target);
    return longest && target > source ? target : source;
}
static inline void data_sort(data_batches *b, int32_t *to, const int32_t *from, bool longest)
{
    int32_t most = b->most_time > b->most_source ? b->most_time : b->most_source;
    int32_t *at = b->first + b->count + 1;              /* most + 2 places behind the batches */
    int64_t n = b->set->count;
    memset(at, 0, ((size_t)most + 2) * sizeof *at);
    for (int64_t i = 0; i < n; i++) at[data_rank(b->set, from[i], longest) + 1]++;
    for (int32_t k = 0; k <= most; k++) at[k + 1] += at[k];
    for (int64_t i = 0; i < n; i++) to[at[data_rank(b->set, from[i], longest)]++] = from[i];
}

static inline void data_order(data_batches *b, int64_t epoch)
{
    tfn_key key = data_key(b, epoch, 1);
    if (b->epoch == epoch) return;
    for (int64_t i = 0; i < b->set->count; i++)
        b->order[i] = (int32_t)(b->options.in_order ? i
                                : tfn_random_shuffle(key, i, b->set->count));
    data_sort(b, b->spare, b->order, false);
    data_sort(b, b->order, b->spare, true);
    b->epoch = epoch;
}

/* The batches of sorted items: returns their number, and stores where they begin. */
static inline int64_t data_cut_batches(data_batches *b, const int32_t *longest, int32_t *first)
{
    int64_t count = 0, begin = 0;
    b->most_rows = 1;
    for (int64_t i = 0; i <= b->set->count; i++) {
        int64_t rows = i - begin + 1;
        if (i < b->set->count && rows * longest[i] <= b->options.tokens
            && (!b->options.batch || rows <= b->options.batch)) continue;
        if (first) first[count] = (int32_t)begin;
        if (rows - 1 > b->most_rows) b->most_rows = (int32_t)(rows - 1);
        count++;
        begin = i;
    }
    if (first) first[count] = (int32_t)b->set->count;
    return count;
}

/* A plan of batches of like lengths; their lengths do not depend on the epoch. */
static inline bool data_plan_tokens(data_batches *b)
{
    int64_t n = b->set->count, most = b->most_time > b->most_source ? b->most_time : b->most_source;
    if (most > b->options.tokens)
        return data_fail(b->error, "an item of %lld tokens, batches of %d", (long long)most,
                         (int)b->options.tokens);
    b->order = (int32_t *)data_alloc(b->error, n, sizeof *b->order);
    b->spare = (int32_t *)data_alloc(b->error, n, sizeof *b->spare);
    b->first = (int32_t *)data_alloc(b->error, most + 8, sizeof *b->first);
    if (!b->order || !b->spare || !b->first) return false;
    b->count = 0;
    data_order(b, 0);
    for (int64_t i = 0; i < n; i++) b->spare[i] = data_rank(b->set, b->order[i], true);
    b->count = data_cut_batches(b, b->spare, NULL);
    free(b->first);
    b->first = (int32_t *)data_alloc(b->error, b->count + most + 8, sizeof *b->first);
    if (b->first) data_cut_batches(b, b->spare, b->first);
    return b->first != NULL;
}

/* Windows of T targets from -offset on, where 0 <= offset < T is drawn so that all epochs have as
 * many: slack = windows*T - targets. */
static inline void data_plan_text(data_batches *b)
{
    int64_t time = b->set->options.most, targets = b->set->at[2*b->set->count] - 1;
    b->windows = (targets + time - 1) / time;
    b->slack = b->windows * time - targets;
    if (!b->options.in_order && b->slack < time / 2 && targets > time) b->windows++;
    b->most_time = (int32_t)(targets < time ? targets : time);
}
static inline void data_window(const data_batches *b, int64_t epoch, int64_t i, int64_t *begin,
                               int64_t *end)
{
    int64_t time = b->set->options.most, targets = b->set->at[2*b->set->count] - 1, offset = 0;
    if (!b->options.in_order && targets > time) {
        uint64_t bits = tfn_random_bits(data_key(b, epoch, 2), 0);
        bool more = b->windows * time - targets > b->slack;         /* offset above the slack */
        offset = more ? b->slack + 1 + (int64_t)(bits % (uint64_t)(time - 1 - b->slack))
               : (int64_t)(bits % (uint64_t)(b->slack + 1));
    }
    *begin = i * time - offset, *end = *begin + time;
    if (*begin < 0) *begin = 0;
    if (*end > targets) *end = targets;
}

/* A plan of batches of so many rows, whatever their length. */
static inline bool data_plan_rows(data_batches *b)
{
    bool text = b->set->options.kind == DATA_TEXT;
    int32_t *rows = &b->options.batch, most = b->options.tokens / b->set->options.most;
    int64_t items;
    if (text) data_plan_text(b);
    items = text ? b->windows : b->set->count;
    if (b->options.tokens && !most)
        return data_fail(b->error, "windows of %d tokens, batches of %d",
                         (int)b->set->options.most, (int)b->options.tokens);
    if (b->options.tokens && (!*rows || most < *rows)) *rows = most;
    if (!*rows) *rows = 1;
    b->count = (items + *rows - 1) / *rows;
    b->most_rows = items < *rows ? (int32_t)items : *rows;
    return true;
}

static inline bool data_batches_init(data_batches *b, const data_set *set,
                                     const data_batch_options *options)
{
    bool text = set->options.kind == DATA_TEXT;
    int64_t rows, tokens, source;
    memset(b, 0, sizeof *b);
    b->set = set;
    b->options = *options;
    b->epoch = -1;
    if (options->batch < 0 || options->tokens < 0)
        return data_fail(b->error, "a batch of %d rows and %d tokens", (int)options->batch,
                         (int)options->tokens);
    for (int64_t i = 0; i < set->count && !text; i++) {
        int32_t s, t;
        data_lengths(set, i, &s, &t);
        if (s > b->most_source) b->most_source = s;
        if (t > b->most_time) b->most_time = t;
    }
    if (!text && options->tokens ? !data_plan_tokens(b) : !data_plan_rows(b)) return false;
    rows = b->most_rows, tokens = rows * b->most_time, source = rows * b->most_source;
    if (!text && options->tokens && tokens > options->tokens) tokens = options->tokens;
    if (!text && options->tokens && source > options->tokens) source = options->tokens;
    b->items = (int32_t *)data_alloc(b->error, rows, sizeof(int32_t));
    b->tokens = (int32_t *)data_alloc(b->error, 3*tokens, sizeof(int32_t));
    b->lengths = (int32_t *)data_alloc(b->error, 2*rows, sizeof(int32_t));
    b->source = (int32_t *)data_alloc(b->error, source, sizeof(int32_t));
    if (set->options.speech)
        b->frames = (float *)data_alloc(b->error, rows * (4*b->most_source + 3),
                                        TASK_BANDS * sizeof(float));
    if (!b->items || !b->tokens || !b->lengths || !b->source || b->error[0]) return false;
    b->targets = b->tokens + tokens, b->segments = b->targets + tokens;
    b->source_lengths = b->lengths + rows;
    return true;
}
static inline void data_batches_free(data_batches *b)
{
    free(b->order), free(b->spare), free(b->first), free(b->items);
    free(b->tokens), free(b->lengths), free(b->source), free(b->frames);
    b->frames = NULL;
    b->order = b->spare = b->first = b->items = b->tokens = b->lengths = b->source = NULL;
}

static inline bool data_is_special(const tfn_tokenizer *k, int32_t id)
{
    for (int s = 0; s < TFN_SPECIAL_COUNT; s++)
        if (k->special[s] == id) return true;
    return false;
}

/* BERT's corruption (Devlin 2019, 3.1): each token that is not special is chosen with probability
 * 15 %, and becomes <mask> in 80 %, any token in 10 %, itself in 10 % of the cases; the chosen are
 * the targets. Number p of the key decides about place p; the place with the smallest is always
 * chosen, so that every row has a target. */
static inline void data_mask(int32_t *tokens, int32_t *targets, int32_t n, const tfn_tokenizer *k,
                             tfn_key key)
{
    const uint32_t limit = 644245094;                           /* 0.15 * 2^32 */
    int32_t lowest = -1;
    for (int32_t p = 0; p < n; p++)
        if (!data_is_special(k, tokens[p]) && (lowest < 0
            || (uint32_t)tfn_random_bits(key, (uint64_t)p)
             < (uint32_t)tfn_random_bits(key, (uint64_t)lowest))) lowest = p;
    for (int32_t p = 0; p < n; p++) {
        uint64_t bits = tfn_random_bits(key, (uint64_t)p), fate = (bits >> 32) % 10;
        targets[p] = -1;
        if (data_is_special(k, tokens[p]) || (p != lowest && (uint32_t)bits >= limit)) continue;
        targets[p] = tokens[p];
        if (fate < 8) tokens[p] = k->special[TFN_SPECIAL_MASK];
        for (uint64_t again = 1; fate == 8; again++) {          /* a token that is not special */
            bits = tfn_random_bits(key, again << 32 | (uint64_t)p);
            tokens[p] = (int32_t)(bits % (uint64_t)k->vocab);
            if (!data_is_special(k, tokens[p])) break;
        }
    }
}

/* Row r of the batch: item i. The rows hold padding so far. */
static inline void data_fill_pair(data_batches *b, int32_t r, int64_t i)
{
    const data_set *x = b->set;
    const int64_t *at = x->at + 2*i;
    int64_t a = at[1] - at[0], n = at[2] - at[1], mid = x->options.kind == DATA_JOINED ? a : 0;
    int32_t *tokens = b->tokens + (int64_t)r * b->batch.time;
    int32_t *targets = b->targets + (int64_t)r * b->batch.time;
    int32_t *first = mid ? tokens : b->source + (int64_t)r * b->batch.source_time;
    memcpy(first, x->ids + at[0], (size_t)a * sizeof *first);
    if (!mid) first[a] = data_tokenizer_of(x, 0)->special[TFN_SPECIAL_EOS];
    tokens[mid] = targets[mid + n] = data_tokenizer_of(x, 1)->special[TFN_SPECIAL_EOS];
    memcpy(tokens + mid + 1, x->ids + at[1], (size_t)n * sizeof *tokens);
    memcpy(targets + mid, x->ids + at[1], (size_t)n * sizeof *targets);
}

/* The same, of sound: what stood behind shorter ones is silenced. */
static inline void data_fill_sound(data_batches *b, int32_t r, int64_t i)
{
    const data_set *x = b->set;
    const int64_t *at = x->at + 2*i;
    int64_t n = at[2] - at[1], cells = (int64_t)b->batch.source_time * TASK_BANDS;
    int32_t *tokens = b->tokens + (int64_t)r * b->batch.time;
    int32_t *targets = b->targets + (int64_t)r * b->batch.time;
    float *frames = b->frames + r * cells;
    memset(frames, 0, (size_t)cells * sizeof *frames);
    memcpy(frames, x->frames + i*TASK_FRAMES*TASK_BANDS,
           (size_t)x->heard[i] * TASK_BANDS * sizeof *frames);
    tokens[0] = targets[n] = data_tokenizer_of(x, 1)->special[TFN_SPECIAL_EOS];
    memcpy(tokens + 1, x->ids + at[1], (size_t)n * sizeof *tokens);
    memcpy(targets, x->ids + at[1], (size_t)n * sizeof *targets);
}

static inline void data_fill_encoder(data_batches *b, int32_t r, int64_t i, int64_t epoch)
{
    const data_set *x = b->set;
    const tfn_tokenizer *k = x->options.tokenizer;
    const int64_t *at = x->at + 2*i;
    int32_t *tokens = b->tokens + (int64_t)r * b->batch.time;
    int32_t *segments = b->segments + (int64_t)r * b->batch.time, n = 0;
    tokens[n++] = k->special[TFN_SPECIAL_BOS];
    for (int part = 0; part < 2 && (!part || at[2] > at[1]); part++) {
        int32_t begin = n;
        for (int64_t j = at[part]; j < at[part + 1]; j++) tokens[n++] = x->ids[j];
        tokens[n++] = k->special[TFN_SPECIAL_EOS];
        for (int32_t j = begin; j < n; j++) segments[j] = part;
    }
    if (x->options.kind == DATA_LABELS) b->targets[r] = x->label[i];
    else data_mask(tokens, b->targets + (int64_t)r * b->batch.time, n, k,
                   tfn_key_fold(data_key(b, epoch, 4), (uint64_t)i));
}

/* Number of item at place `place` of the epoch. */
static inline int32_t data_item_at(data_batches *b, int64_t epoch, int64_t place)
{
    int64_t n = b->windows ? b->windows : b->set->count;
    if (b->order) return b->order[place];
    return (int32_t)(b->options.in_order ? place
                     : tfn_random_shuffle(data_key(b, epoch, 1), place, n));
}

/* Lengths of the rows, from which the batch has its shape. */
static inline void data_shape(data_batches *b, int64_t epoch, int64_t begin, int64_t end)
{
    tfn_batch *x = &b->batch;
    memset(x, 0, sizeof *x);
    x->batch = (int32_t)(end - begin);
    for (int32_t r = 0; r < x->batch; r++) {
        int64_t i = b->items[r] = data_item_at(b, epoch, begin + r), from = 0, to = 0;
        if (b->windows) {
            data_window(b, epoch, i, &from, &to);
            b->lengths[r] = (int32_t)(to - from);
        } else data_lengths(b->set, i, &b->source_lengths[r], &b->lengths[r]);
        if (b->lengths[r] > x->time) x->time = b->lengths[r];
        if (!b->windows && b->source_lengths[r] > x->source_time)
            x->source_time = b->source_lengths[r];
    }
    x->tokens = b->tokens, x->targets = b->targets, x->lengths = b->lengths;
    if (x->source_time) x->source = b->source, x->source_lengths = b->source_lengths;
    if (b->set->options.speech) {
        x->source = NULL, x->frames = b->frames;
        x->source_time = 4 * x->source_time + 3;
        for (int32_t r = 0; r < x->batch; r++) b->source_lengths[r] = b->set->heard[b->items[r]];
    }
    if (b->set->options.kind >= DATA_LABELS) x->segments = b->segments;
}

/* Batch number `position`, from 0, since the beginning of training; valid until the next call. */
static inline const tfn_batch *data_batch(data_batches *b, int64_t position)
{
    const data_set *x = b->set;
    bool shuffled = !b->options.in_order;
    int64_t epoch = shuffled ? position / b->count : 0, k = position % b->count, cells;
    int64_t n = b->windows ? b->windows : x->count, begin, end;
    int32_t pad = x->options.tokenizer->special[TFN_SPECIAL_PAD];
    if (b->order) data_order(b, epoch);
    if (b->order && shuffled) k = tfn_random_shuffle(data_key(b, epoch, 3), k, b->count);
    begin = b->order ? b->first[k] : k * b->options.batch;
    end = b->order ? b->first[k + 1] : begin + b->options.batch < n ? begin + b->options.batch : n;
    data_shape(b, epoch, begin, end);
    cells = (int64_t)b->batch.batch * b->batch.time;
    for (int64_t i = 0; i < cells; i++)
        b->tokens[i] = pad < 0 ? 0 : pad, b->targets[i] = -1, b->segments[i] = 0;
    for (int64_t i = 0; b->batch.source && i < (int64_t)b->batch.batch * b->batch.source_time; i++)
        b->source[i] = pad < 0 ? 0 : pad;
    for (int32_t r = 0; r < b->batch.batch; r++)
        if (b->windows) {
            int64_t from, to;
            data_window(b, epoch, b->items[r], &from, &to);
            for (int64_t j = from; j < to; j++) {
                b->tokens[(int64_t)r * b->batch.time + j - from] = x->ids[j];
                b->targets[(int64_t)r * b->batch.time + j - from] = x->ids[j + 1];
            }
        } else if (x->options.speech) data_fill_sound(b, r, b->items[r]);
        else if (x->options.kind >= DATA_LABELS) data_fill_encoder(b, r, b->items[r], epoch);
        else data_fill_pair(b, r, b->items[r]);
    return &b->batch;
}
#endif
