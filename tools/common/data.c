/* Files, items, tokenizers, sets and batches; each part builds on the one before. */
#include "data.h"
#include "output.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Keeps the first error. Returns false, for use in a return. */
static bool data_fail(char *error, const char *format, ...)
{
    va_list args;
    if (error[0]) return false;
    va_start(args, format);
    vsnprintf(error, DATA_ERROR, format, args);
    va_end(args);
    return false;
}
void *data_alloc(char *error, int64_t count, size_t size)
{
    void *p = NULL;
    if (count >= 0 && (uint64_t)count < SIZE_MAX / size) p = calloc((size_t)count + 1, size);
    if (!p) data_fail(error, "no memory for %lld elements", (long long)count);
    return p;
}

double data_cosine(const float *x, const float *y, ptrdiff_t rows, ptrdiff_t cols)
{
    double sum = 0;
    int64_t pairs = 0;
    for (; rows > 0; rows--, x += cols, y += cols) {
        double xy = 0;
        double xx = 0;
        double yy = 0;
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

bool data_has_mark(const char *bytes, size_t size)
{
    return size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3);
}

/* Reads all bytes of a stream and adds a zero; false: no memory. */
static bool data_read_stream(data_file *x, FILE *f)
{
    size_t room = 1 << 16;
    x->bytes = (char *)malloc(room);
    if (!x->bytes) return false;
    for (;;) {
        const size_t got = fread(x->bytes + x->size, 1, room - 1 - x->size, f);
        x->size += got;
        if (!got) break;
        if (x->size < room - 1) continue;
        if (room > SIZE_MAX / 2) return false;
        char *more = (char *)realloc(x->bytes, 2 * room);
        if (!more) return false;
        room *= 2;
        x->bytes = more;
    }
    x->bytes[x->size] = 0;
    return true;
}

/* A pipe or the standard input can be read only once, so its bytes are kept for later calls. */
typedef struct data_stream {
    struct data_stream *next;
    char               *path;
    data_file           file;
} data_stream;
static data_stream *data_streams;

static bool data_is_stream(const char *path)
{
    return !strcmp(path, "-") || output_is_device(path);
}

/* Copies the bytes that were kept for this path; false: none, or no memory. */
static bool data_take(data_file *x, const char *path)
{
    const data_stream *s = data_streams;
    for (; s; s = s->next)
        if (!strcmp(s->path, path)) break;
    if (!s) return false;
    x->bytes = (char *)data_alloc(x->error, (int64_t)s->file.size, 1);
    if (!x->bytes) return false;
    x->size = s->file.size;
    memcpy(x->bytes, s->file.bytes, x->size);
    return true;
}

static void data_keep_stream(const data_file *x, const char *path)
{
    data_stream *s = (data_stream *)calloc(1, sizeof *s);
    const size_t n = strlen(path) + 1;
    if (s) s->path = (char *)malloc(n);
    if (s) s->file.bytes = (char *)malloc(x->size + 1);
    if (!s || !s->path || !s->file.bytes) return;       /* later readings will find nothing */
    memcpy(s->path, path, n);
    memcpy(s->file.bytes, x->bytes, x->size + 1);
    s->file.size = x->size;
    s->next = data_streams;
    data_streams = s;
}

bool data_read(data_file *x, const char *path)
{
    const bool input = !strcmp(path, "-");
    const bool stream = data_is_stream(path);
    FILE *f = stdin;
    memset(x, 0, sizeof *x);
    x->name = "standard input";
    if (!input) x->name = path;
    if (stream && data_take(x, path)) return true;
    if (!input) {
        f = fopen(path, "rb");
        if (!f)
            return data_fail(x->error, "%s: cannot be opened: %s", x->name, strerror(errno));
    }
    if (input && output_is_terminal(stdin)) fprintf(stderr, "type the data; Ctrl-D ends it\n");
    if (!data_read_stream(x, f)) data_fail(x->error, "%s: no memory for it", x->name);
    if (ferror(f)) data_fail(x->error, "%s: cannot be read: %s", x->name, strerror(errno));
    if (!x->error[0] && data_has_mark(x->bytes, x->size)) {
        x->size -= 3;
        memmove(x->bytes, x->bytes + 3, x->size + 1);
    }
    if (!input) fclose(f);
    if (stream && !x->error[0]) data_keep_stream(x, path);
    return !x->error[0];
}

void data_file_free(data_file *x)
{
    free(x->bytes);
    x->bytes = NULL;
}

size_t data_cut(const char *bytes, size_t size)
{
    const size_t tenth = size - size / 10;
    const size_t latest = size - size / 20;
    if (!tenth) return 0;
    for (size_t at = tenth; at < latest; at++)
        if (bytes[at - 1] == '\n') return at;
    for (size_t at = tenth; at < size; at++)
        if ((unsigned char)bytes[at] >> 6 != 2) return at;
    return size;
}

/* -- items: one or two texts ------------------------------------------------------------------ */

int32_t data_class(data_classes *x, const char *name, size_t bytes)
{
    for (int32_t i = 0; i < x->count; i++)
        if (strlen(x->name[i]) == bytes && !memcmp(x->name[i], name, bytes)) return i;
    if (x->fixed || x->count == DATA_CLASSES || bytes >= DATA_NAME || !bytes) return -1;
    memcpy(x->name[x->count], name, bytes);
    return x->count++;
}

static const struct { int least, most; const char *form; } data_forms[] = {
    { 1, 1, "TEXT" }, { 2, 2, "SOURCE tab TARGET" }, { 2, 2, "SOURCE tab TARGET" },
    { 2, 3, "LABEL tab A or LABEL tab A tab B" }, { 1, 2, "A or A tab B" }
};

typedef struct data_fields {    /* the fields of a line, between tabs */
    const char *text[3];
    size_t      bytes[3];
    int         count;          /* all fields, even if there are too many */
} data_fields;

static bool data_split(char *why, data_fields *x, const char *line, const char *end,
                       const char *form)
{
    x->count = 0;
    for (const char *s = line; s <= end; s++) {
        const char *tab = (const char *)memchr(s, '\t', (size_t)(end - s));
        if (!tab) tab = end;
        if (x->count < 3) {
            x->text[x->count] = s;
            x->bytes[x->count] = (size_t)(tab - s);
        }
        x->count++;
        if (tab == s) return data_fail(why, "field %d is empty, expected %s", x->count, form);
        s = tab;
    }
    return true;
}

/* The number of the label with this name. */
static bool data_label(char *why, int32_t *label, const char *name, size_t bytes,
                       data_classes *classes)
{
    if (bytes >= DATA_NAME)
        return data_fail(why, "a label of %u bytes, expected at most %d", (unsigned)bytes,
                         DATA_NAME - 1);
    *label = data_class(classes, name, bytes);
    if (*label >= 0) return true;
    return data_fail(why, "label \"%.*s\", expected one of the %d before it", (int)bytes, name,
                     (int)classes->count);
}

/* Parses a line into its fields; false: it is wrong, *why says how. */
static bool data_parse(char *why, data_item *item, const char *line, size_t bytes,
                       data_kind kind, data_classes *classes)
{
    const char *form = data_forms[kind].form;
    const bool labeled = kind == DATA_LABELS;
    data_fields x;
    if (!data_split(why, &x, line, line + bytes, form)) return false;
    if (x.count < data_forms[kind].least || x.count > data_forms[kind].most)
        return data_fail(why, "%d field%s, expected %s", x.count, x.count > 1 ? "s" : "", form);
    if (memchr(line, 0, bytes)) return data_fail(why, "a zero byte, expected text");
    memset(item, 0, sizeof *item);
    for (int k = labeled; k < x.count; k++) {
        item->text[k - labeled] = x.text[k];
        item->bytes[k - labeled] = x.bytes[k];
    }
    if (!labeled) return true;
    return data_label(why, &item->label, x.text[0], x.bytes[0], classes);
}

/* Goes through the lines once: counts them, and stores those that there is room for. */
static bool data_lines_pass(data_lines *x, const data_file *file, data_kind kind,
                            data_classes *classes)
{
    const char *end = file->bytes + file->size;
    const char *next;
    int64_t number = 0;
    x->count = 0;
    for (const char *s = file->bytes; s < end; s = next) {
        const char *stop = (const char *)memchr(s, '\n', (size_t)(end - s));
        char why[DATA_ERROR] = "";
        data_item item;
        if (!stop) stop = end;
        next = stop < end ? stop + 1 : end;
        number++;
        size_t bytes = (size_t)(stop - s);
        if (bytes && s[bytes - 1] == '\r') bytes--;
        if (!bytes && (kind == DATA_TEXT || kind == DATA_MASKED || next == end)) continue;
        if (!data_parse(why, &item, s, bytes, kind, classes))
            return data_fail(x->error, "%s:%lld: %s", file->name, (long long)number, why);
        if (x->items) x->items[x->count] = item;
        x->count++;
    }
    if (x->count) return true;
    return data_fail(x->error, "%s: no line, expected %s", file->name, data_forms[kind].form);
}

bool data_lines_init(data_lines *x, const data_file *file, data_kind kind, data_classes *classes)
{
    memset(x, 0, sizeof *x);
    if (!data_lines_pass(x, file, kind, classes)) return false;
    x->items = (data_item *)data_alloc(x->error, x->count, sizeof *x->items);
    return x->items && data_lines_pass(x, file, kind, classes);
}

void data_lines_free(data_lines *x)
{
    free(x->items);
    x->items = NULL;
}

bool data_get_line(data_item *item, void *user, int64_t i)
{
    *item = ((const data_lines *)user)->items[i];
    return true;
}

void data_keep(data_lines *x, task_split split)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->count; i++)
        if (task_split_of(x->items[i].text[0], x->items[i].bytes[0]) == split)
            x->items[n++] = x->items[i];
    x->count = n;
}

bool data_get_text(data_item *item, void *user, int64_t i)
{
    (void)i;
    *item = *(const data_item *)user;
    return true;
}

bool data_get_task(data_item *item, void *user, int64_t i)
{
    data_task *x = (data_task *)user;
    const task_kind kind = x->task->kind;
    if (!task_make(&x->item, x->task, &x->options, x->split, x->first + (uint64_t)i)) return false;
    item->text[0] = x->item.source;
    item->text[1] = x->item.second;
    item->label = x->item.label;
    item->spoken = NULL;
    if (kind == TASK_TEXT) item->text[0] = x->item.target;
    if (kind == TASK_PAIR || kind == TASK_SPEECH) item->text[1] = x->item.target;
    if (kind == TASK_SPEECH) item->spoken = &x->item;
    for (int k = 0; k < 2; k++) item->bytes[k] = strlen(item->text[k]);
    return true;
}

/* -- a tokenizer trained on items -------------------------------------------------------------- */

static bool data_say(char *error, const tfn_error *e)
{
    char text[DATA_ERROR];
    return data_fail(error, "%s", tfn_error_text(e, text, sizeof text));
}

/* Text k of an item, with a space in front if asked for; the buffer grows as needed. */
static const char *data_spaced(char *error, data_item *item, int k, bool space,
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

/* Gives the trainer the texts of an item that `which` selects. */
static bool data_train_item(data_tokenizer *x, tfn_trainer *t, data_item *item, int which,
                            bool space, char **buffer, size_t *room)
{
    for (int k = 0; k < 2; k++) {
        if (!(which >> k & 1)) continue;
        const char *text = data_spaced(x->error, item, k, space, buffer, room);
        if (x->error[0]) return false;
        if (text && item->bytes[k]) tfn_trainer_add(t, text, item->bytes[k]);
    }
    return true;
}

static bool data_train(data_tokenizer *x, tfn_trainer *t, data_get *get, void *user,
                       int64_t count, int which, bool space)
{
    char *buffer = NULL;
    size_t room = 0;
    for (int64_t i = 0; i < count; i++) {
        data_item item = { { NULL }, { 0 }, 0, NULL };
        if (!get(&item, user, i)) data_fail(x->error, "item %lld cannot be had", (long long)i);
        if (x->error[0]) break;
        if (!data_train_item(x, t, &item, which, space, &buffer, &room)) break;
    }
    free(buffer);
    if (!x->error[0] && tfn_trainer_run(t) != TFN_OK) data_say(x->error, &t->error);
    return !x->error[0];
}

bool data_tokenizer_init(data_tokenizer *x, const tfn_tokenizer_desc *desc,
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

void data_tokenizer_free(data_tokenizer *x)
{
    free(x->mem);
    x->mem = NULL;
}

/* -- sets: items as ids ------------------------------------------------------------------------ */

static const tfn_tokenizer *data_tokenizer_of(const data_set *x, int k)
{
    if (x->options.target && k == 1 && x->options.kind == DATA_PAIRS) return x->options.target;
    return x->options.tokenizer;
}

/* The lengths of item i's rows in tokens: source (0 if there is none; for speech, positions) and
 * target, with the END and BEGIN that are added. */
static void data_lengths(const data_set *x, int64_t i, int32_t *source, int32_t *target)
{
    const int64_t *at = x->at + 2*i;
    const int32_t a = (int32_t)(at[1] - at[0]);
    const int32_t b = (int32_t)(at[2] - at[1]);
    *source = 0;
    switch (x->options.kind) {
    case DATA_PAIRS:
        *source = x->options.speech ? x->heard[i] / 4 : a + 1;
        *target = b + 1;
        return;
    case DATA_JOINED:
        *target = a + b + 1;
        return;
    default:                                    /* BEGIN A END, and B END with a second text */
        *target = a + 2;
        if (b) *target += b + 1;
    }
}

/* True if a pair has both texts and fits. Two convolutions of stride 2 need at least 7 frames for
 * one position. */
static bool data_pair_fits(const data_set *x, int64_t i)
{
    const data_set_options *o = &x->options;
    const int64_t *at = x->at + 2*i;
    int32_t source, target;
    data_lengths(x, i, &source, &target);
    if (o->speech && x->heard[i] < 7) return false;
    if (!o->speech && at[1] == at[0]) return false;
    if (at[2] == at[1]) return false;
    return target <= o->most && source <= o->most_source;
}

/* Removes the last token of the longer text. */
static void data_shorten(data_set *x, int64_t *at)
{
    if (at[1] - at[0] > at[2] - at[1]) {
        memmove(x->ids + at[1] - 1, x->ids + at[1], (size_t)(at[2] - at[1]) * sizeof *x->ids);
        at[1]--;
    }
    at[2]--;
}

/* Shortens item i to fit; false: drop it. */
static bool data_fit(data_set *x, int64_t i)
{
    int64_t *at = x->at + 2*i;
    int32_t source, target;
    if (x->options.kind == DATA_TEXT) return true;
    if (x->options.kind < DATA_LABELS) return data_pair_fits(x, i);
    data_lengths(x, i, &source, &target);
    if (at[1] == at[0]) return false;
    if (target > x->options.most) x->cut++;
    for (; target > x->options.most; target--) data_shorten(x, at);
    return true;
}

/* The state of a pass over the items. */
typedef struct data_encoder {
    char   *buffer;             /* a text with its space */
    size_t  room;
    int64_t kept, end, most;    /* items and ids so far; room for ids */
} data_encoder;

/* Appends the ids of text k of an item. */
static void data_encode_text(data_set *x, data_encoder *e, data_item *item, int k)
{
    const char *text = data_spaced(x->error, item, k, x->options.space, &e->buffer, &e->room);
    int32_t *to = NULL;
    int64_t room = 0;
    if (!text || !item->bytes[k]) return;
    if (x->ids) {
        to = x->ids + e->end;
        room = e->most - e->end;
    }
    e->end += tfn_tokenizer_encode(data_tokenizer_of(x, k), to, room, text, item->bytes[k]);
}

/* Encodes both texts; joined: END follows, as between the items of a stream. */
static void data_encode_item(data_set *x, data_encoder *e, data_item *item, bool joined)
{
    if (x->ids) x->at[2 * e->kept] = e->end;
    if (x->ids && x->options.speech && item->spoken)
        x->heard[e->kept] = task_features(x->frames + e->kept*TASK_FRAMES*TASK_BANDS, item->spoken);
    for (int k = 0; k < 2; k++) {
        data_encode_text(x, e, item, k);
        if (x->error[0]) return;
        if (joined && k == 1) {
            if (x->ids) x->ids[e->end] = x->options.tokenizer->special[TFN_SPECIAL_EOS];
            e->end++;
        }
        if (x->ids) x->at[2 * e->kept + k + 1] = e->end;
    }
}

/* Does both passes: the first counts ids into *total, the second stores them and keeps items that
 * fit. */
static bool data_encode(data_set *x, data_get *get, void *user, int64_t count,
                        int64_t *total)
{
    data_encoder e = { NULL, 0, 0, 0, 0 };
    e.most = *total;
    for (int64_t i = 0; i < count; i++) {
        const bool joined = x->options.kind == DATA_TEXT && i + 1 < count;
        data_item item = { { NULL }, { 0 }, 0, NULL };
        if (!get(&item, user, i)) data_fail(x->error, "item %lld cannot be had", (long long)i);
        if (!x->error[0]) data_encode_item(x, &e, &item, joined);
        if (x->error[0]) break;
        if (!x->ids) continue;
        x->label[e.kept] = item.label;
        if (data_fit(x, e.kept)) e.kept++;
        else x->dropped++;
        e.end = x->at[2 * e.kept];              /* remove the ids of a dropped item */
    }
    free(e.buffer);
    *total = e.end;
    x->count = e.kept;
    return !x->error[0];
}

static bool data_needs(data_set *x, const tfn_tokenizer *k, tfn_special special)
{
    static const char *const names[] = { "<pad>", "<s>", "</s>", "<unk>", "<mask>" };
    if (k->special[special] >= 0) return true;
    return data_fail(x->error, "the tokenizer has no %s", names[special]);
}

/* Checks that the tokenizer has the special tokens for this kind of rows. */
static bool data_specials(data_set *x, int64_t count)
{
    const data_set_options *o = &x->options;
    const tfn_tokenizer *k = o->tokenizer;
    const bool text = o->kind == DATA_TEXT;
    if ((!text || count > 1) && !data_needs(x, k, TFN_SPECIAL_EOS)) return false;
    if (!text && !data_needs(x, data_tokenizer_of(x, 1), TFN_SPECIAL_EOS)) return false;
    if (o->kind >= DATA_LABELS && !data_needs(x, k, TFN_SPECIAL_BOS)) return false;
    return o->kind != DATA_MASKED || data_needs(x, k, TFN_SPECIAL_MASK);
}

bool data_set_init(data_set *x, const data_set_options *options, data_get *get,
                   void *user, int64_t count)
{
    int64_t total = 0;
    memset(x, 0, sizeof *x);
    x->options = *options;
    if (!x->options.most_source) x->options.most_source = options->most;
    if (options->most < 4)
        return data_fail(x->error, "rows of %d tokens, expected at least 4", (int)options->most);
    if (!data_specials(x, count)) return false;
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
    if (options->kind == DATA_TEXT && total < 2)
        return data_fail(x->error, "%lld tokens, expected 2", (long long)total);
    if (!x->count) return data_fail(x->error, "no item of at most %d tokens among %lld",
                                    (int)options->most, (long long)count);
    if (x->count > INT32_MAX) return data_fail(x->error, "%lld items, the limit is 2147483647",
                                               (long long)x->count);
    return true;
}

void data_set_free(data_set *x)
{
    free(x->at);
    free(x->ids);
    free(x->label);
    free(x->heard);
    free(x->frames);
    x->at = NULL;
    x->ids = x->label = x->heard = NULL;
    x->frames = NULL;
}

/* -- batches ----------------------------------------------------------------------------------- */

static tfn_key data_key(const data_batches *b, int64_t epoch, uint64_t stream)
{
    tfn_key key = tfn_key_fold(tfn_key_make(b->options.seed), stream);
    return tfn_key_fold(key, (uint64_t)epoch);
}

/* The length by which items are sorted: the source's, or that of the longer side. */
static int32_t data_rank(const data_set *x, int64_t i, bool longest)
{
    int32_t source, target;
    data_lengths(x, i, &source, &target);
    if (longest && target > source) return target;
    return source;
}

static int32_t data_longest(const data_batches *b)
{
    return b->most_time > b->most_source ? b->most_time : b->most_source;
}

/* Sorts items by this length, stable: count each length, add the counts up, place each item. */
static void data_sort(data_batches *b, int32_t *to, const int32_t *from, bool longest)
{
    const int32_t most = data_longest(b);
    int32_t *at = b->first + b->count + 1;              /* most + 2 numbers after the batches */
    int64_t n = b->set->count;
    memset(at, 0, ((size_t)most + 2) * sizeof *at);
    for (int64_t i = 0; i < n; i++) at[data_rank(b->set, from[i], longest) + 1]++;
    for (int32_t k = 0; k <= most; k++) at[k + 1] += at[k];
    for (int64_t i = 0; i < n; i++) to[at[data_rank(b->set, from[i], longest)]++] = from[i];
}

/* The item at `place` in an epoch's order of n items. */
static int64_t data_shuffled(const data_batches *b, int64_t epoch, int64_t place, int64_t n)
{
    if (b->options.in_order) return place;
    return tfn_random_shuffle(data_key(b, epoch, 1), place, n);
}

/* Orders the items of an epoch by length; those of equal length are shuffled. */
static void data_order(data_batches *b, int64_t epoch)
{
    const int64_t n = b->set->count;
    if (b->epoch == epoch) return;
    for (int64_t i = 0; i < n; i++) b->order[i] = (int32_t)data_shuffled(b, epoch, i, n);
    data_sort(b, b->spare, b->order, false);
    data_sort(b, b->order, b->spare, true);
    b->epoch = epoch;
}

/* Cuts sorted items into batches. Returns their number and stores where they begin. */
static int64_t data_cut_batches(data_batches *b, const int32_t *longest, int32_t *first)
{
    int64_t count = 0;
    int64_t begin = 0;
    b->most_rows = 1;
    for (int64_t i = 0; i <= b->set->count; i++) {
        const int64_t rows = i - begin + 1;
        bool fits = i < b->set->count && rows * longest[i] <= b->options.tokens;
        if (b->options.batch && rows > b->options.batch) fits = false;
        if (fits) continue;
        if (first) first[count] = (int32_t)begin;
        if (rows - 1 > b->most_rows) b->most_rows = (int32_t)(rows - 1);
        count++;
        begin = i;
    }
    if (first) first[count] = (int32_t)b->set->count;
    return count;
}

/* Plans batches of similar lengths, which are the same in every epoch. */
static bool data_plan_tokens(data_batches *b)
{
    int64_t n = b->set->count;
    const int64_t most = data_longest(b);
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

/* Plans windows of T targets from -offset on. The offset, 0 <= offset < T, is drawn so that all
 * epochs have the same number of windows: slack = windows*T - targets. */
static void data_plan_text(data_batches *b)
{
    int64_t time = b->set->options.most;
    int64_t targets = b->set->at[2*b->set->count] - 1;
    b->windows = (targets + time - 1) / time;
    b->slack = b->windows * time - targets;
    if (!b->options.in_order && b->slack < time / 2 && targets > time) b->windows++;
    b->most_time = (int32_t)time;
    if (targets < time) b->most_time = (int32_t)targets;
}

/* The epoch's offset: how far before the text its first window begins. With one window more than
 * necessary it is above the slack, otherwise not. */
static int64_t data_offset(const data_batches *b, int64_t epoch, int64_t targets)
{
    const int64_t time = b->set->options.most;
    if (b->options.in_order || targets <= time) return 0;
    const uint64_t bits = tfn_random_bits(data_key(b, epoch, 2), 0);
    if (b->windows * time - targets <= b->slack) return (int64_t)(bits % (uint64_t)(b->slack + 1));
    return b->slack + 1 + (int64_t)(bits % (uint64_t)(time - 1 - b->slack));
}

void data_window(const data_batches *b, int64_t epoch, int64_t i, int64_t *begin, int64_t *end)
{
    int64_t time = b->set->options.most;
    int64_t targets = b->set->at[2*b->set->count] - 1;
    const int64_t offset = data_offset(b, epoch, targets);
    *begin = i * time - offset;
    *end = *begin + time;
    if (*begin < 0) *begin = 0;
    if (*end > targets) *end = targets;
}

/* Plans batches of a fixed number of rows, whatever their length. */
static bool data_plan_rows(data_batches *b)
{
    int32_t *rows = &b->options.batch;
    int32_t most = b->options.tokens / b->set->options.most;
    int64_t items = b->set->count;
    if (b->set->options.kind == DATA_TEXT) {
        data_plan_text(b);
        items = b->windows;
    }
    if (b->options.tokens && !most)
        return data_fail(b->error, "windows of %d tokens, batches of %d",
                         (int)b->set->options.most, (int)b->options.tokens);
    if (b->options.tokens && (!*rows || most < *rows)) *rows = most;
    if (!*rows) *rows = 1;
    b->count = (items + *rows - 1) / *rows;
    b->most_rows = *rows;
    if (items < *rows) b->most_rows = (int32_t)items;
    return true;
}

static void data_find_longest(data_batches *b)
{
    for (int64_t i = 0; i < b->set->count; i++) {
        int32_t source, target;
        data_lengths(b->set, i, &source, &target);
        if (source > b->most_source) b->most_source = source;
        if (target > b->most_time) b->most_time = target;
    }
}

bool data_batches_init(data_batches *b, const data_set *set, const data_batch_options *options)
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
    if (!text) data_find_longest(b);
    const bool by_length = !text && options->tokens > 0;
    if (by_length && !data_plan_tokens(b)) return false;
    if (!by_length && !data_plan_rows(b)) return false;
    rows = b->most_rows;
    tokens = rows * b->most_time;
    source = rows * b->most_source;
    if (by_length && tokens > options->tokens) tokens = options->tokens;
    if (by_length && source > options->tokens) source = options->tokens;
    b->items = (int32_t *)data_alloc(b->error, rows, sizeof(int32_t));
    b->tokens = (int32_t *)data_alloc(b->error, 3*tokens, sizeof(int32_t));
    b->lengths = (int32_t *)data_alloc(b->error, 2*rows, sizeof(int32_t));
    b->source = (int32_t *)data_alloc(b->error, source, sizeof(int32_t));
    if (set->options.speech)
        b->frames = (float *)data_alloc(b->error, rows * (4*b->most_source + 3),
                                        TASK_BANDS * sizeof(float));
    if (!b->items || !b->tokens || !b->lengths || !b->source || b->error[0]) return false;
    b->targets = b->tokens + tokens;
    b->segments = b->targets + tokens;
    b->source_lengths = b->lengths + rows;
    return true;
}

void data_batches_free(data_batches *b)
{
    free(b->order);
    free(b->spare);
    free(b->first);
    free(b->items);
    free(b->tokens);
    free(b->lengths);
    free(b->source);
    free(b->frames);
    b->frames = NULL;
    b->order = b->spare = b->first = b->items = b->tokens = b->lengths = b->source = NULL;
}

bool data_is_special(const tfn_tokenizer *k, int32_t id)
{
    for (int s = 0; s < TFN_SPECIAL_COUNT; s++)
        if (k->special[s] == id) return true;
    return false;
}

/* BERT's corruption (Devlin 2019, 3.1): each token that is not special is chosen with probability
 * 15 %. In 80 % of the cases it becomes <mask>, in 10 % a random token, in 10 % it stays. The
 * chosen tokens are the targets. Random number p of the key decides for place p; the place with the
 * smallest number is always chosen, so that every row has a target. */
static void data_mask(int32_t *tokens, int32_t *targets, int32_t n, const tfn_tokenizer *k,
                      tfn_key key)
{
    const uint32_t limit = 644245094;                           /* 0.15 * 2^32 */
    int32_t lowest = -1;
    for (int32_t p = 0; p < n; p++)
        if (!data_is_special(k, tokens[p]) && (lowest < 0
            || (uint32_t)tfn_random_bits(key, (uint64_t)p)
             < (uint32_t)tfn_random_bits(key, (uint64_t)lowest))) lowest = p;
    for (int32_t p = 0; p < n; p++) {
        uint64_t bits = tfn_random_bits(key, (uint64_t)p);
        uint64_t fate = (bits >> 32) % 10;
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

/* Writes item i to row r of the batch, which is filled with padding. */
static void data_fill_pair(data_batches *b, int32_t r, int64_t i)
{
    const data_set *x = b->set;
    const int64_t *at = x->at + 2*i;
    const int64_t a = at[1] - at[0];
    const int64_t n = at[2] - at[1];
    int32_t *tokens = b->tokens + (int64_t)r * b->batch.time;
    int32_t *targets = b->targets + (int64_t)r * b->batch.time;
    int64_t mid = 0;                            /* beginning of the second text */
    if (x->options.kind == DATA_JOINED) {
        mid = a;
        memcpy(tokens, x->ids + at[0], (size_t)a * sizeof *tokens);
    } else {
        int32_t *source = b->source + (int64_t)r * b->batch.source_time;
        memcpy(source, x->ids + at[0], (size_t)a * sizeof *source);
        source[a] = data_tokenizer_of(x, 0)->special[TFN_SPECIAL_EOS];
    }
    tokens[mid] = targets[mid + n] = data_tokenizer_of(x, 1)->special[TFN_SPECIAL_EOS];
    if (x->options.kind == DATA_PAIRS && x->options.starts) tokens[0] = x->options.start;
    memcpy(tokens + mid + 1, x->ids + at[1], (size_t)n * sizeof *tokens);
    memcpy(targets + mid, x->ids + at[1], (size_t)n * sizeof *targets);
}

/* The same for sound: frames after a shorter one are set to silence. */
static void data_fill_sound(data_batches *b, int32_t r, int64_t i)
{
    const data_set *x = b->set;
    const int64_t *at = x->at + 2*i;
    int64_t n = at[2] - at[1];
    int64_t cells = (int64_t)b->batch.source_time * TASK_BANDS;
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

static void data_fill_encoder(data_batches *b, int32_t r, int64_t i, int64_t epoch)
{
    const data_set *x = b->set;
    const tfn_tokenizer *k = x->options.tokenizer;
    const int64_t *at = x->at + 2*i;
    int32_t *tokens = b->tokens + (int64_t)r * b->batch.time;
    int32_t *segments = b->segments + (int64_t)r * b->batch.time;
    int32_t n = 0;
    tokens[n++] = k->special[TFN_SPECIAL_BOS];
    for (int part = 0; part < 2; part++) {
        const int32_t begin = n;
        if (part == 1 && at[2] == at[1]) break;
        for (int64_t j = at[part]; j < at[part + 1]; j++) tokens[n++] = x->ids[j];
        tokens[n++] = k->special[TFN_SPECIAL_EOS];
        for (int32_t j = begin; j < n; j++) segments[j] = part;
    }
    if (x->options.kind == DATA_LABELS) b->targets[r] = x->label[i];
    else data_mask(tokens, b->targets + (int64_t)r * b->batch.time, n, k,
                   tfn_key_fold(data_key(b, epoch, 4), (uint64_t)i));
}

static int64_t data_items(const data_batches *b)
{
    return b->windows ? b->windows : b->set->count;
}

/* The item at `place` in the epoch. */
static int32_t data_item_at(data_batches *b, int64_t epoch, int64_t place)
{
    if (b->order) return b->order[place];
    return (int32_t)data_shuffled(b, epoch, place, data_items(b));
}

/* The lengths of the rows, which give the batch its shape. */
static void data_shape(data_batches *b, int64_t epoch, int64_t begin, int64_t end)
{
    tfn_batch *x = &b->batch;
    memset(x, 0, sizeof *x);
    x->batch = (int32_t)(end - begin);
    for (int32_t r = 0; r < x->batch; r++) {
        int64_t i = b->items[r] = data_item_at(b, epoch, begin + r);
        int64_t from = 0;
        int64_t to = 0;
        if (b->windows) {
            data_window(b, epoch, i, &from, &to);
            b->lengths[r] = (int32_t)(to - from);
        } else data_lengths(b->set, i, &b->source_lengths[r], &b->lengths[r]);
        if (b->lengths[r] > x->time) x->time = b->lengths[r];
        if (!b->windows && b->source_lengths[r] > x->source_time)
            x->source_time = b->source_lengths[r];
    }
    x->tokens = b->tokens;
    x->targets = b->targets;
    x->lengths = b->lengths;
    if (x->source_time) {
        x->source = b->source;
        x->source_lengths = b->source_lengths;
    }
    if (b->set->options.speech) {
        x->source = NULL;
        x->frames = b->frames;
        x->source_time = 4 * x->source_time + 3;
        for (int32_t r = 0; r < x->batch; r++) b->source_lengths[r] = b->set->heard[b->items[r]];
    }
    if (b->set->options.kind >= DATA_LABELS) x->segments = b->segments;
}

/* Fills the rows with padding before they are written. */
static void data_clear(data_batches *b)
{
    const int64_t cells = (int64_t)b->batch.batch * b->batch.time;
    int32_t pad = b->set->options.tokenizer->special[TFN_SPECIAL_PAD];
    if (pad < 0) pad = 0;
    for (int64_t i = 0; i < cells; i++) {
        b->tokens[i] = pad;
        b->targets[i] = -1;
        b->segments[i] = 0;
    }
    if (!b->batch.source) return;
    for (int64_t i = 0; i < (int64_t)b->batch.batch * b->batch.source_time; i++) b->source[i] = pad;
}

/* Writes a window to row r: each token's target is the next one. */
static void data_fill_window(data_batches *b, int32_t r, int64_t epoch)
{
    const int32_t *ids = b->set->ids;
    int32_t *tokens = b->tokens + (int64_t)r * b->batch.time;
    int32_t *targets = b->targets + (int64_t)r * b->batch.time;
    int64_t from, to;
    data_window(b, epoch, b->items[r], &from, &to);
    for (int64_t j = from; j < to; j++) {
        tokens[j - from] = ids[j];
        targets[j - from] = ids[j + 1];
    }
}

const tfn_batch *data_batch(data_batches *b, int64_t position)
{
    const data_set_options *o = &b->set->options;
    int64_t epoch = 0;
    int64_t k = position % b->count;
    if (!b->options.in_order) epoch = position / b->count;
    if (b->order) {
        data_order(b, epoch);
        if (!b->options.in_order) k = tfn_random_shuffle(data_key(b, epoch, 3), k, b->count);
        data_shape(b, epoch, b->first[k], b->first[k + 1]);
    } else {
        const int64_t begin = k * b->options.batch;
        int64_t end = begin + b->options.batch;
        if (end > data_items(b)) end = data_items(b);
        data_shape(b, epoch, begin, end);
    }
    data_clear(b);
    for (int32_t r = 0; r < b->batch.batch; r++) {
        if (b->windows) data_fill_window(b, r, epoch);
        else if (o->speech) data_fill_sound(b, r, b->items[r]);
        else if (o->kind >= DATA_LABELS) data_fill_encoder(b, r, b->items[r], epoch);
        else data_fill_pair(b, r, b->items[r]);
    }
    return &b->batch;
}
