/* Measurements of normlab. A measurement is a lab_spec, plain data; running it gives a lab_record,
 * named lists of numbers, which depend on the spec alone: not on threads, order or machine. Records
 * are kept in a file of JSON lines under the text of their spec, so that nothing is measured twice,
 * by an interrupted run or by two claims.
 *
 * A claim asks for records (lab_get, lab_sample). The first time around nothing is there: what is
 * asked for is noted, NaN is answered. Then lab_work measures all that was noted, and the claim is
 * asked again. */
#ifndef LAB_H
#define LAB_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include "data.h"
#include "lanczos.h"
#include "output.h"
#include "tongues.h"

/* -- specs and records ----------------------------------------------------------------------- */

typedef enum lab_task {
    LAB_REVERSE,            /* 5 to 8 of 8 letters, backwards, by letters: encoder-decoder */
    LAB_GRAMMAR,            /* toy German to toy English, by words: encoder-decoder */
    LAB_TRANSLATE,          /* the same of two clauses: hundreds of updates do not learn it all */
    LAB_HEADLINE,           /* two toy English sentences to a headline: encoder-decoder */
    LAB_SPEECH,             /* spoken digits, 25 codes a second, to words: encoder-decoder */
    LAB_TONGUES,            /* a pivot and four toy languages, see tongues.h: encoder-decoder */
    LAB_TEXT,               /* toy English by letters: decoder */
    LAB_MARKOV,             /* words whose two predecessors leave four, 1.21 nats: decoder */
    LAB_FILE,               /* a text that is given, by bytes: decoder; see lab_take_text */
    LAB_MASKED,             /* two facts, some words hidden: encoder */
    LAB_LABEL,              /* two facts: does one say the other? encoder, a class a pair */
    LAB_RANDOM,             /* tokens of 64, any targets: encoder; nothing to learn */
    LAB_DISTINCT            /* every token of a batch another: encoder, the theory's input */
} lab_task;
static const struct {
    const char *name, *row;             /* in keys; in tasks.h, NULL: none */
    int         most;                   /* its largest size, 0: the row's */
    bool        letters;                /* not words */
    int32_t     time, source_time;      /* tokens of a sentence */
    int32_t     answer;                 /* tokens of the longest answer, 0: time */
} lab_tasks[] = {
    { "reverse", "reverse", 0, true, 9, 9, 0 }, { "grammar", "translate", 1, false, 16, 16, 0 },
    { "translate", "translate", 2, false, 26, 26, 0 },
    { "headline", "headline", 1, false, 12, 26, 26 }, { "speech", "digits", 0, false, 6, 32, 0 },
    { "tongues", NULL, 0, false, TONGUE_LONGEST + 1, TONGUE_LONGEST + 2, 0 },
    { "text", "sentences", 2, true, 32, 0, 0 }, { "markov", "markov", 0, false, 32, 0, 0 },
    { "file", NULL, 0, true, 32, 0, 0 },
    { "masked", "entailment", 0, false, 28, 0, 0 }, { "label", "entailment", 0, false, 28, 0, 0 },
    { "random", NULL, 0, false, 12, 0, 0 }, { "distinct", NULL, 0, false, 16, 0, 0 }
};
enum { LAB_TASKS = sizeof lab_tasks / sizeof *lab_tasks };

/* A text of one's own: its last tenth is the test. Bytes are numbered as they first appear. */
enum { LAB_LEAST_TEXT = 1000 };
static struct lab_corpus {
    unsigned char *text;
    size_t   bytes;
    int32_t  kinds, number[256];        /* of a byte, from 0; -1: it does not appear */
    uint64_t hash;                      /* FNV-1a: a key says which text it was */
} lab_corpus;

typedef struct lab_spec {
    lab_task    task;
    int32_t     layers, decoder_layers;       /* decoder_layers 0: layers */
    int32_t     width, heads, ffn, batch;
    const char *recipe;
    const char *decoder;      /* NULL, or the recipe whose topology the decoder has */
    const char *init, *norm;  /* NULL: the recipe's */
    tfn_optimizer optimizer;
    double      lr, beta1, beta2, dropout, smoothing;
    double      inner;        /* dropout of attention and activations */
    int32_t     corpus;       /* training sentences; 0: endless */
    tfn_schedule_kind schedule;
    int64_t     warmup, steps;
    int64_t     anchor;       /* of the inverse square root: from here on it falls */
    int64_t     stop;         /* train so many of the steps */
    bool        settle;       /* train until the loss settles, in `steps` at most: lab_go_on */
    bool        each;         /* with `step`: also with each layer moved alone */
    bool        at_512;       /* B2T without norms as at width 512, with a final norm */
    bool        half;         /* simulated half precision */
    int64_t     tune;         /* updates of a classifier, after each quarter of the steps */
    bool        fold;         /* compare with the folded model at the end */
    bool        trace;        /* look at updates 1, 2, 4, 8 ...: lab_trace */
    bool        without;      /* the loss without each of the layers at the end */
    bool        plain;        /* embeddings are not multiplied by sqrt(d), as muP wants it */
    int32_t     base;         /* muP: the width that rates are for; 0: none */
    bool        score;        /* greedy decoding at the end: accuracy, BLEU, ROUGE, WER */
    bool        look;         /* at values and gradients of all sub-layers at the end */
    bool        theory;       /* W_Q = W_K = 0, W_O = 1, N(0, 1) embeddings without positions */
    bool        itself;       /* with `theory`: W_Q = W_K = 1, each token attends to itself */
    double      alpha;        /* of DyT at the start; 0: the norm's own */
    double      noise;        /* > 0: shift of the output when each matrix entry moves by +-noise */
    double      step;         /* > 0: the same for a step of so much against the gradient's sign */
    uint64_t    seed;
    bool        few;          /* a quarter of the seeds; like isa it is not in the key, */
    tfn_isa     isa;          /* for it changes no number */
} lab_spec;

enum { LAB_LISTS = 112, LAB_KEY = 320, LAB_USERS = 4 };
typedef struct lab_list { char name[28]; int32_t n; double *v; } lab_list;
typedef struct lab_record {
    char     key[LAB_KEY];
    lab_spec spec;
    bool     done, left;      /* left: not measured now, for it costs too much */
    uint32_t asked;           /* see lab */
    uint64_t users[LAB_USERS];      /* claims that asked for it, a bit each */
    double   seconds;
    int32_t  count;
    lab_list lists[LAB_LISTS];
} lab_record;

/* The list of a name with room for n numbers, all NaN. */
static double *lab_put(lab_record *r, int32_t n, const char *format, ...)
{
    va_list args;
    lab_list *l = &r->lists[r->count];
    if (r->count == LAB_LISTS || n < 1) return NULL;
    l->v = (double *)malloc((size_t)n * sizeof *l->v);
    if (!l->v) return NULL;
    va_start(args, format);
    vsnprintf(l->name, sizeof l->name, format, args);
    va_end(args);
    for (l->n = 0; l->n < n; l->n++) l->v[l->n] = (double)NAN;
    r->count++;
    return l->v;
}

static const lab_list *lab_list_of(const lab_record *r, const char *name)
{
    if (!r) return NULL;
    for (int32_t i = 0; i < r->count; i++)
        if (!strcmp(r->lists[i].name, name)) return &r->lists[i];
    return NULL;
}

static const char *lab_optimizer_name(tfn_optimizer kind)
{
    const char *name = tfn_choice_name("optimizer", (int32_t)kind);
    if (!name) return "adamw";
    return name;
}

/* Of a key: the schedules that claims use. */
static const char *lab_schedule_name(tfn_schedule_kind kind)
{
    if (kind == TFN_SCHEDULE_LINEAR) return "linear";
    if (kind == TFN_SCHEDULE_CONSTANT) return "constant";
    return "inverse-sqrt";
}

/* What identifies a measurement; zeros and defaults are left out, so that keys last. */
static void lab_key_text(char *text, const lab_spec *s)
{
    const char *optimizer = lab_optimizer_name(s->optimizer);
    int at = snprintf(text, LAB_KEY, "%s %s L%d", lab_tasks[s->task].name, s->recipe, s->layers);
#define LAB_ADD(condition, ...)                                                                  \
    if ((condition) && at < LAB_KEY) at += snprintf(text + at, (size_t)(LAB_KEY - at), __VA_ARGS__)
    LAB_ADD(s->decoder_layers, "-%d", s->decoder_layers);
    LAB_ADD(true, " d%d h%d f%d B%d", s->width, s->heads, s->ffn, s->batch);
    LAB_ADD(s->decoder, " decoder=%s", s->decoder);
    LAB_ADD(s->init, " init=%s", s->init);
    LAB_ADD(s->norm, " norm=%s", s->norm);
    LAB_ADD(s->stop, " %s lr=%g b1=%g b2=%g %s warmup=%ld steps=%ld", optimizer,
            s->lr, s->beta1, s->beta2, lab_schedule_name(s->schedule), (long)s->warmup,
            (long)s->steps);
    LAB_ADD(s->anchor, " anchor=%ld", (long)s->anchor);
    LAB_ADD(s->stop != s->steps, " stop=%ld", (long)s->stop);
    LAB_ADD(s->dropout > 0, " dropout=%g", s->dropout);
    LAB_ADD(s->inner > 0, " inner=%g", s->inner);
    LAB_ADD(s->corpus, " corpus=%d", s->corpus);
    LAB_ADD(s->smoothing > 0, " smoothing=%g", s->smoothing);
    LAB_ADD(s->task == LAB_FILE, " text=%016llx", (unsigned long long)lab_corpus.hash);
    LAB_ADD(s->tune, " tune=%ld", (long)s->tune);
    LAB_ADD(s->settle, " settle");
    LAB_ADD(s->each, " each");
    LAB_ADD(s->at_512, " at512");
    LAB_ADD(s->fold, " fold");
    LAB_ADD(s->trace, " trace");
    LAB_ADD(s->without, " without");
    LAB_ADD(s->plain, " plain");
    LAB_ADD(s->base, " base=%d", s->base);
    LAB_ADD(s->half, " half");
    LAB_ADD(s->score, " score");
    LAB_ADD(s->look, " look");
    LAB_ADD(s->theory, " theory");
    LAB_ADD(s->itself, " itself");
    LAB_ADD(s->alpha > 0, " alpha=%g", s->alpha);
    LAB_ADD(s->noise > 0, " noise=%g", s->noise);
    LAB_ADD(s->step > 0, " step=%g", s->step);
    LAB_ADD(true, " seed=%lu", (unsigned long)s->seed);
#undef LAB_ADD
}

static bool lab_is_pair(lab_task t) { return t <= LAB_TONGUES; }
static bool lab_is_text(lab_task t) { return t >= LAB_TEXT && t <= LAB_FILE; }
static int32_t lab_depth(const lab_spec *s, bool decoder)
{
    if (!lab_is_pair(s->task) && decoder != lab_is_text(s->task)) return 0;
    if (decoder && s->decoder_layers) return s->decoder_layers;
    return s->layers;
}

/* -- data ------------------------------------------------------------------------------------ */

enum { LAB_TIME = 32, LAB_TEST = 128 };             /* longest sentence; sentences of the test */
enum { LAB_PAD, LAB_BEGIN, LAB_END, LAB_FIRST };    /* ids of pairs */

typedef struct lab_data {
    int32_t   source[LAB_TEST * LAB_TIME], tokens[LAB_TEST * LAB_TIME];
    int32_t   targets[LAB_TEST * LAB_TIME], lengths[LAB_TEST], source_lengths[LAB_TEST];
    tfn_batch batch;
} lab_data;

/* Words, or letters, of tasks.h: ids in the order of the alphabet, the same for all seeds. */
enum { LAB_WORDS = 256, LAB_WORD = 24, LAB_SAMPLES = 4000 };
typedef struct lab_words { int32_t count; char text[LAB_WORDS][LAB_WORD]; } lab_words;
static lab_words lab_vocabularies[LAB_LABEL + 1];       /* filled by lab_prepare, then constant */

static void lab_make(task_item *item, lab_task t, uint64_t seed, task_split split, uint64_t i)
{
    task_options o;
    memset(&o, 0, sizeof o);
    o.seed = seed;
    o.max = lab_tasks[t].most;
    task_make(item, task_find(lab_tasks[t].row), &o, split, i);
}

/* The next word of a text, with a full stop or comma as one of its own; or the next letter. */
static bool lab_next(const char **text, char word[LAB_WORD], bool letters)
{
    size_t n = 0;
    if (!letters) *text += strspn(*text, " ");
    if (!**text) return false;
    if (!letters) n = strcspn(*text, " .,");
    if (!n) n = 1;
    snprintf(word, LAB_WORD, "%.*s", (int)n, *text);
    *text += n;
    return true;
}

static int lab_by_text(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

static void lab_learn(lab_words *w, const char *text, bool letters)
{
    char word[LAB_WORD];
    while (lab_next(&text, word, letters)) {
        if (bsearch(word, w->text, (size_t)w->count, LAB_WORD, lab_by_text)) continue;
        if (w->count == LAB_WORDS) return;
        memcpy(w->text[w->count++], word, LAB_WORD);
        qsort(w->text, (size_t)w->count, LAB_WORD, lab_by_text);
    }
}

static void lab_number_bytes(struct lab_corpus *c)
{
    for (int i = 0; i < 256; i++) c->number[i] = -1;
    c->hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < c->bytes; i++) {
        c->hash = (c->hash ^ c->text[i]) * 1099511628211u;
        if (c->number[c->text[i]] < 0) c->number[c->text[i]] = c->kinds++;
    }
}

/* NULL, or what is wrong with a file as a text to learn. */
static const char *lab_take_text(const char *path)
{
    struct lab_corpus *c = &lab_corpus;
    FILE *f = fopen(path, "rb");
    size_t got = 1;
    if (!f) return "it cannot be read";
    while (got) {
        unsigned char *more = (unsigned char *)realloc(c->text, c->bytes + 65536);
        if (!more) break;
        c->text = more;
        got = fread(c->text + c->bytes, 1, 65536, f);
        c->bytes += got;
    }
    const bool failed = got || ferror(f);
    fclose(f);
    if (failed) return "it cannot be read";
    if (c->bytes < LAB_LEAST_TEXT) return "it has less than 1000 bytes";
    lab_number_bytes(c);
    return NULL;
}

/* Before anything is measured: the vocabularies. */
static void lab_prepare(void)
{
    task_item item;
    for (int t = 0; t <= LAB_LABEL; t++)
        for (uint64_t i = 0; i < LAB_SAMPLES; i++) {
            if (!lab_tasks[t].row) break;
            lab_make(&item, (lab_task)t, 0, TASK_TRAIN, i);
            lab_learn(&lab_vocabularies[t], item.source, lab_tasks[t].letters);
            lab_learn(&lab_vocabularies[t], item.second, lab_tasks[t].letters);
            if (t < LAB_MASKED) lab_learn(&lab_vocabularies[t], item.target, lab_tasks[t].letters);
        }
}

static int32_t lab_encode(int32_t *ids, int32_t most, lab_task t, const char *text)
{
    const lab_words *w = &lab_vocabularies[t];
    char word[LAB_WORD];
    int32_t n = 0;
    while (n < most) {
        if (!lab_next(&text, word, lab_tasks[t].letters)) break;
        const char *found = (const char *)bsearch(word, w->text, (size_t)w->count, LAB_WORD,
                                                  lab_by_text);
        if (found) ids[n++] = LAB_FIRST + (int32_t)((found - w->text[0]) / LAB_WORD);
    }
    return n;
}

/* Speech: four frames, 40 ms, are the number of the nearest of 64 means of such fours, as in models
 * of discrete units; in the place of a convolution, whose weights would be trained. */
enum { LAB_CODES = 64, LAB_ROUNDS = 10, LAB_SPOKEN = 512 + LAB_TEST };  /* training first */
static struct lab_sound { int32_t n, code[LAB_TIME], words, word[8]; } lab_sounds[LAB_SPOKEN];

static int32_t lab_nearest(const float means[LAB_CODES][TASK_BANDS], const float *x)
{
    int32_t best = 0;
    double least = 1e30;
    for (int32_t k = 0; k < LAB_CODES; k++) {
        double sum = 0;
        for (int c = 0; c < TASK_BANDS; c++) {
            double d = (double)x[c] - (double)means[k][c];
            sum += d*d;
        }
        if (sum < least) {
            least = sum;
            best = k;
        }
    }
    return best;
}

/* Means of the training sounds' fours, from every so-maniest of them on (Lloyd 1957). */
static void lab_means(float means[LAB_CODES][TASK_BANDS], const float *fours, int32_t n)
{
    for (int32_t k = 0; k < LAB_CODES; k++)
        memcpy(means[k], fours + (ptrdiff_t)(n / LAB_CODES * k) * TASK_BANDS, sizeof means[k]);
    for (int round = 0; round < LAB_ROUNDS; round++) {
        double sum[LAB_CODES][TASK_BANDS] = { { 0 } };
        int32_t count[LAB_CODES] = { 0 };
        for (int32_t i = 0; i < n; i++) {
            const float *x = fours + (ptrdiff_t)i * TASK_BANDS;
            int32_t k = lab_nearest((const float (*)[TASK_BANDS])means, x);
            count[k]++;
            for (int c = 0; c < TASK_BANDS; c++) sum[k][c] += (double)x[c];
        }
        for (int32_t k = 0; k < LAB_CODES; k++) {
            if (!count[k]) continue;
            for (int c = 0; c < TASK_BANDS; c++) means[k][c] = (float)(sum[k][c] / count[k]);
        }
    }
}

/* Before speech is measured, once: all that is said. */
static bool lab_speak(void)
{
    const ptrdiff_t most = LAB_TIME - 1;                /* an END follows */
    float *fours = (float *)calloc((size_t)(LAB_SPOKEN * most * TASK_BANDS), sizeof *fours);
    float frames[TASK_FRAMES * TASK_BANDS], means[LAB_CODES][TASK_BANDS], *to = fours;
    int32_t training = 0;
    task_item item;
    if (!fours || lab_sounds[0].n) {
        free(fours);
        return lab_sounds[0].n > 0;
    }
    for (int32_t i = 0; i < LAB_SPOKEN; i++) {
        struct lab_sound *x = &lab_sounds[i];
        bool test = i >= LAB_SPOKEN - LAB_TEST;
        const task_split split = test ? TASK_TEST : TASK_TRAIN;
        lab_make(&item, LAB_SPEECH, 0, split, (uint64_t)i);
        x->n = (int32_t)tfn__min(task_features(frames, &item) / 4, most);
        x->words = lab_encode(x->word, 7, LAB_SPEECH, item.target);
        for (int32_t k = 0; k < x->n * TASK_BANDS; k++, to++)
            for (int f = 0; f < 4; f++)
                *to += frames[(k / TASK_BANDS * 4 + f) * TASK_BANDS + k % TASK_BANDS] / 4;
        if (!test) training += x->n;
    }
    lab_means(means, fours, training);
    to = fours;
    for (int32_t i = 0; i < LAB_SPOKEN; i++)
        for (int32_t k = 0; k < lab_sounds[i].n; k++, to += TASK_BANDS)
            lab_sounds[i].code[k] = lab_nearest((const float (*)[TASK_BANDS])means, to);
    free(fours);
    return true;
}

static int32_t lab_time(lab_task t) { return lab_tasks[t].time; }
static int32_t lab_answer(lab_task t)
{
    if (lab_tasks[t].answer) return lab_tasks[t].answer;
    return lab_tasks[t].time;
}

static int32_t lab_vocab(const lab_spec *s)
{
    if (s->task == LAB_RANDOM) return 64;
    if (s->task == LAB_DISTINCT) return 16 * s->batch;
    const int32_t words = LAB_FIRST + lab_vocabularies[s->task].count;
    if (s->task == LAB_FILE) return lab_corpus.kinds;
    if (s->task == LAB_TONGUES) return LAB_FIRST + TONGUES * (1 + TONGUE_WORDS);
    if (s->task == LAB_SPEECH) return words + LAB_CODES;
    return words;
}

/* Row `row`: its source stands there, of n tokens; its target has m and begins at `target`. */
static void lab_fill_pair(lab_data *d, int32_t row, const lab_spec *s, int32_t n,
                          const int32_t *target, int32_t m)
{
    int32_t at = row * lab_time(s->task);
    d->source[row * lab_tasks[s->task].source_time + n] = LAB_END;
    d->tokens[at] = LAB_BEGIN;
    for (int32_t i = 0; i < m; i++) {
        d->targets[at + i] = target[i];
        d->tokens[at + i + 1] = target[i];
    }
    d->targets[at + m] = LAB_END;
    d->source_lengths[row] = n + 1;
    d->lengths[row] = m + 1;
}

static void lab_fill_sound(lab_data *d, int32_t row, const lab_spec *s, uint64_t i)
{
    const struct lab_sound *x = &lab_sounds[i];
    const int32_t first = LAB_FIRST + lab_vocabularies[LAB_SPEECH].count;
    for (int32_t k = 0; k < x->n; k++)
        d->source[row * lab_tasks[s->task].source_time + k] = first + x->code[k];
    lab_fill_pair(d, row, s, x->n, x->word, x->words);
}

/* Toy languages: the source begins with the name of the tongue that is wanted (Johnson 2017). The
 * test has meanings of its own; LAB_UNSEEN also pairs of tongues that training has not. */
static const uint64_t LAB_UNSEEN = UINT64_MAX - 3;
static const int32_t LAB_WORD_IDS = LAB_FIRST + TONGUES;      /* the first word's id */
static void lab_fill_tongues(lab_data *d, int32_t row, const lab_spec *s, uint64_t which,
                             tfn_key key)
{
    const bool unseen = which == LAB_UNSEEN;
    const tongue_meaning m = tongue_draw(tfn_random_bits(key, 0), unseen || which == UINT64_MAX);
    int32_t source[TONGUE_LONGEST], target[TONGUE_LONGEST];
    int pair[2];
    tongue_pair(tfn_random_bits(key, 1), unseen, pair);
    const int32_t n = tongue_say(source, &m, pair[0]);
    const int32_t answer = tongue_say(target, &m, pair[1]);
    int32_t *to = d->source + row * lab_tasks[s->task].source_time;
    to[0] = LAB_FIRST + pair[1];
    for (int32_t i = 0; i < n; i++) to[i + 1] = LAB_WORD_IDS + source[i];
    for (int32_t i = 0; i < answer; i++) target[i] += LAB_WORD_IDS;
    lab_fill_pair(d, row, s, n + 1, target, answer);
}

/* BEGIN, a fact, END, a fact, END: their label; or 15 words of 100 hidden, whose targets they are:
 * 8 of 10 behind PAD, 1 behind any word, 1 not at all (Devlin 2018, section 3.1). */
static void lab_fill_two(lab_data *d, int32_t row, const lab_spec *s, const task_item *item,
                         tfn_key key)
{
    const int32_t time = lab_time(s->task);
    const int32_t words = lab_vocabularies[s->task].count;
    int32_t *to = d->tokens + row * time;
    int32_t n = 1;
    to[0] = LAB_BEGIN;
    n += lab_encode(to + n, time - 1 - n, s->task, item->source);
    to[n++] = LAB_END;
    n += lab_encode(to + n, time - 1 - n, s->task, item->second);
    to[n++] = LAB_END;
    d->lengths[row] = n;
    if (s->task == LAB_LABEL) d->targets[row] = item->label;
    if (s->task != LAB_MASKED) return;
    for (int32_t t = 0; t < n; t++) {
        uint64_t draw = tfn_random_bits(key, (uint64_t)t);
        uint64_t how = draw / 100 % 10;
        if (to[t] < LAB_FIRST || draw % 100 >= 15) continue;
        d->targets[row * time + t] = to[t];
        if (how < 8) to[t] = LAB_PAD;
        else if (how < 9) to[t] = LAB_FIRST + (int32_t)(draw / 1000 % (uint64_t)words);
    }
}

/* Letters of sentences i, i + 1 ...; or words of lines, an END behind each. */
static void lab_fill_text(lab_data *d, int32_t row, int32_t time, const lab_spec *s, uint64_t seed,
                          task_split split, uint64_t i)
{
    int32_t ids[LAB_TIME + 1], n = 0;
    task_item item;
    while (n <= time) {
        lab_make(&item, s->task, seed, split, i++);
        n += lab_encode(ids + n, time + 1 - n, s->task, item.target);
        if (s->task == LAB_MARKOV && n <= time) ids[n++] = LAB_END;
    }
    for (int32_t t = 0; t < time; t++) {
        d->tokens[row * time + t] = ids[t];
        d->targets[row * time + t] = ids[t + 1];
    }
}

/* A window of the given text, anywhere in its part; those of the test lie evenly. */
static void lab_fill_window(lab_data *d, int32_t row, int32_t time, uint64_t draw, bool test)
{
    const struct lab_corpus *c = &lab_corpus;
    const size_t first = c->bytes - c->bytes / 10;
    const size_t room = (test ? c->bytes - first : first) - (size_t)time - 1;
    size_t at = (size_t)(draw % room);
    if (test) at = first + room * (size_t)row / LAB_TEST;
    for (int32_t t = 0; t < time; t++) {
        d->tokens[row * time + t] = c->number[c->text[at + (size_t)t]];
        d->targets[row * time + t] = c->number[c->text[at + (size_t)t + 1]];
    }
}

/* Row `row` of batch `which`, a sentence of tasks.h: those of a corpus come again. */
static void lab_fill_row(lab_data *d, int32_t row, const lab_spec *s, uint64_t seed, uint64_t which)
{
    const int32_t time = lab_time(s->task);
    const int32_t source_time = lab_tasks[s->task].source_time;
    const bool test = which == UINT64_MAX;
    const task_split split = test ? TASK_TEST : TASK_TRAIN;
    const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_make(seed), which), (uint64_t)row);
    uint64_t i = which * 1024 + 4 * (uint64_t)row;
    int32_t target[LAB_TIME], n, m;
    task_item item;
    if (s->corpus && !test) i = tfn_random_bits(key, 0) % (uint64_t)s->corpus;
    if (s->task == LAB_SPEECH) {
        const uint64_t training = LAB_SPOKEN - LAB_TEST;
        if (test) lab_fill_sound(d, row, s, training + (uint64_t)row);
        else lab_fill_sound(d, row, s, tfn_random_bits(key, 0) % training);
        return;
    }
    if (s->task == LAB_TONGUES) {
        lab_fill_tongues(d, row, s, which, key);
        return;
    }
    if (s->task == LAB_FILE) {
        lab_fill_window(d, row, time, tfn_random_bits(key, 0), test);
        return;
    }
    if (lab_is_text(s->task)) {
        lab_fill_text(d, row, time, s, seed, split, i);
        return;
    }
    lab_make(&item, s->task, seed, split, i);
    if (!lab_is_pair(s->task)) {
        lab_fill_two(d, row, s, &item, key);
        return;
    }
    n = lab_encode(d->source + row * source_time, source_time - 1, s->task, item.source);
    m = lab_encode(target, time - 1, s->task, item.target);
    lab_fill_pair(d, row, s, n, target, m);
}

/* n tokens with any targets: random ones, or each another. */
static void lab_fill_random(lab_data *d, const lab_spec *s, int32_t n, tfn_key key)
{
    const uint64_t vocab = (uint64_t)lab_vocab(s);
    for (int32_t i = 0; i < n; i++) {
        d->tokens[i] = (int32_t)(tfn_random_bits(key, 2*(uint64_t)i) % vocab);
        if (s->task == LAB_DISTINCT) d->tokens[i] = i;
        d->targets[i] = (int32_t)(tfn_random_bits(key, 2*(uint64_t)i + 1) % vocab);
    }
}

/* Sentences number `which` of a seed; those of UINT64_MAX are the test, of no run's seed. */
static void lab_fill(lab_data *d, const lab_spec *s, int32_t rows, uint64_t seed, uint64_t which)
{
    const int32_t time = lab_time(s->task);
    const bool made = lab_tasks[s->task].row || s->task == LAB_FILE || s->task == LAB_TONGUES;
    tfn_batch *b = &d->batch;
    memset(d, 0, sizeof *d);
    for (int32_t i = 0; i < rows * time; i++) d->targets[i] = -1;
    if (made)
        for (int32_t row = 0; row < rows; row++) lab_fill_row(d, row, s, seed, which);
    else lab_fill_random(d, s, rows * time, tfn_key_fold(tfn_key_make(seed), which));
    b->tokens = d->tokens;
    b->targets = d->targets;
    b->batch = rows;
    b->time = time;
    if (made && !lab_is_text(s->task)) b->lengths = d->lengths;
    if (!lab_is_pair(s->task)) return;
    b->source = d->source;
    b->source_lengths = d->source_lengths;
    b->source_time = lab_tasks[s->task].source_time;
}

/* The loss of guessing by the test's frequencies, in nats. */
static double lab_unigram(const lab_data *test)
{
    int32_t count[LAB_FIRST + LAB_WORDS] = { 0 }, all = 0;
    double sum = 0;
    for (int32_t i = 0; i < test->batch.batch * test->batch.time; i++)
        if (test->targets[i] >= 0) {
            count[test->targets[i]]++;
            all++;
        }
    for (int32_t i = 0; i < LAB_FIRST + LAB_WORDS; i++)
        if (count[i]) sum -= (double)count[i] / all * log((double)count[i] / all);
    return sum;
}

/* Equations 7 and 8 of Takase 2022 as they stand at the paper's width, whatever the model's; the
 * paper leaves out the norms "in internal layers", so that a stack keeps its last one. */
static void lab_rule_512(const tfn_place *place, tfn_join *join)
{
    tfn_place wide = *place;
    wide.width = 512;
    *join = tfn_topology_join(tfn_topology_find("b2t-no-norm"), &wide);
}
static const tfn_topology lab_b2t_512 = {
    .name = "b2t-no-norm-512", .formula = "x = x + F(x); at the feed-forward a x_0 + b (x + F(x))",
    .paper = "Takase et al., eq. 6 to 8 at width 512", .year = 2022,
    .flags = TFN_TOPOLOGY_FINAL_NORM, .rule = lab_rule_512
};

static tfn_model_desc lab_desc(const lab_spec *s, bool probes)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = TFN_ARCH_ENCODER;
    if (lab_is_pair(s->task)) d.arch = TFN_ARCH_ENCODER_DECODER;
    if (lab_is_text(s->task)) d.arch = TFN_ARCH_DECODER;
    d.vocab = lab_vocab(s);
    d.context = lab_answer(s->task);
    d.source_context = lab_tasks[s->task].source_time;
    if (s->task == LAB_LABEL) {
        d.head = TFN_HEAD_SEQUENCE;
        d.classes = 3;
    }
    d.layers = s->layers;
    d.decoder_layers = s->decoder_layers;
    d.width = s->width;
    d.heads = s->heads;
    d.ffn = s->ffn;
    d.activation = TFN_ACTIVATION_RELU;
    d.position = s->theory ? TFN_POSITION_NONE : TFN_POSITION_SINUSOIDAL;
    d.scale_embedding = !s->theory && !s->plain;
    d.mup_base_width = s->base;
    d.recipe = s->recipe;
    d.init = s->init;
    d.norm = s->norm;
    if (s->at_512) d.topology = &lab_b2t_512;
    if (s->decoder)
        d.decoder_topology = tfn_topology_find(tfn_recipe_find(s->decoder)->topology);
    d.smoothing = (float)s->smoothing;
    d.dropout = (float)s->dropout;
    d.attention_dropout = d.activation_dropout = (float)s->inner;
    d.optimizer = s->optimizer;
    d.beta1 = (float)s->beta1;
    d.beta2 = (float)s->beta2;
    d.schedule.kind = s->schedule;
    d.schedule.lr = 1e-3f;
    if (s->lr > 0) d.schedule.lr = (float)s->lr;
    d.schedule.warmup = s->warmup;
    d.schedule.anchor = s->anchor;
    d.schedule.steps = s->steps;
    if (s->steps == 0) d.schedule.kind = TFN_SCHEDULE_CONSTANT;  /* it is looked at as it starts */
    d.batch = s->stop ? LAB_TEST : s->batch;
    d.threads = 1;
    d.isa = s->isa;
    d.seed = s->seed;
    d.half = s->half;
    d.probes = probes;
    return d;
}

/* The setting of the theorems (Xiong 2020, 3.3): uniform attention, one matrix W_V, x_0 normal. Or
 * each token attends to itself: by W_Q = W_K = 1 its score is sqrt(d), others' are near 0. */
static void lab_theory(tfn_model *m, const lab_spec *s)
{
    tfn_param_info p;
    tfn_key key = tfn_key_fold(tfn_key_make(s->seed), 77);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const int32_t n = p.rows * p.cols;
        const bool scores = strstr(p.name, ".q.weight") || strstr(p.name, ".k.weight");
        const bool output = strstr(p.name, ".o.weight") != NULL;
        if (!strcmp(p.name, "embedding.weight"))
            for (int32_t j = 0; j < n; j++) p.data[j] = tfn_random_normal(key, (uint64_t)j);
        if (!scores && !output) continue;
        for (int32_t j = 0; j < n; j++)
            p.data[j] = (output || s->itself) && j / p.cols == j % p.cols;
    }
}
static void lab_alpha(tfn_model *m, double alpha)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        if (strstr(p.name, ".alpha")) *p.data = (float)alpha;
}

/* -- looking at a training step -------------------------------------------------------------- */

/* Sub-layers of a stack in order; what is seen at each of the points of tfn_watched. */
typedef struct lab_stack {
    int32_t  subs, per_layer, rows, cols;
    double  *energy[TFN_WATCH_STACK], *variance[TFN_WATCH_STACK], *gradient[TFN_WATCH_STACK];
    double  *beta;                 /* (subs, subs + 1): beta_ij of Liu 2020, section 4.1 */
    double  *jacobian;             /* of the norm that reads x: mean of 1/deviation */
    float   *parts;                /* (subs + 1, rows, cols): what x consists of */
    float   *x, *p, *z;            /* the sub-layer's input, branch and sum */
    float   *outputs;              /* (layers + 1, rows, cols): x_0 and what layers give */
} lab_stack;
typedef struct lab_look {
    lab_stack stack[2];
    double   *energies;            /* of each token at the last sum: |z|^2/d */
    float    *last;                /* (rows, cols) what the last sub-layer gives: F */
    float    *read;                /* what it read */
    float    *end;                 /* the last stack's output, after its final norm */
} lab_look;

static int32_t lab_sub(const lab_stack *s, const tfn_probe_info *i)
{
    const int32_t first = i->layer * s->per_layer;
    if (i->kind == TFN_SUBLAYER_SELF_ATTENTION) return first;
    if (i->kind == TFN_SUBLAYER_CROSS_ATTENTION) return first + 1;
    return first + s->per_layer - 1;
}

/* z = skip*x + p and y = N(z) are taken apart: each part of x is multiplied by the skip, found by
 * least squares a channel, p is a new part, and the norm multiplies by gain/deviation. */
static void lab_parts_add(lab_stack *s, int32_t sub)
{
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    for (int32_t c = 0; c < s->cols; c++) {
        double xz = 0;
        double xx = 0;
        for (size_t i = (size_t)c; i < n; i += (size_t)s->cols) {
            xz += (double)s->x[i] * ((double)s->z[i] - (double)s->p[i]);
            xx += (double)s->x[i] * (double)s->x[i];
        }
        const float skip = xx > 0 ? (float)(xz / xx) : 1;
        for (int32_t j = 0; j <= sub; j++)
            for (size_t i = (size_t)c; i < n; i += (size_t)s->cols)
                s->parts[(size_t)j*n + i] *= skip;
    }
    memcpy(s->parts + (size_t)(sub + 1)*n, s->p, n * sizeof *s->p);
}

static double lab_mean(const float *x, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)x[i];
    return sum / n;
}

static double lab_deviation(const float *x, int32_t n)
{
    double mean = lab_mean(x, n);
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return sqrt(sum / n);
}

/* The norm that made y of z, or none where y is z. */
static void lab_parts_norm(lab_stack *s, int32_t sub, const float *y)
{
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    float *gain = s->x;                               /* no longer needed */
    if (!memcmp(y, s->z, n * sizeof *y)) return;
    for (int32_t c = 0; c < s->cols; c++) {           /* least squares against the normed z */
        double sy = 0;
        double sh = 0;
        double hy = 0;
        double hh = 0;
        for (int32_t r = 0; r < s->rows; r++) {
            const float *z = s->z + (size_t)r * (size_t)s->cols;
            double h = ((double)z[c] - lab_mean(z, s->cols)) / (lab_deviation(z, s->cols) + 1e-12);
            double v = (double)y[r * s->cols + c];
            sy += v;
            sh += h;
            hy += h*v;
            hh += h*h;
        }
        gain[c] = (float)((hy - sh*sy/s->rows) / (hh - sh*sh/s->rows));
    }
    for (int32_t r = 0; r < s->rows; r++) {
        double deviation = lab_deviation(s->z + r * s->cols, s->cols) + 1e-12;
        for (int32_t j = 0; j <= sub + 1; j++) {
            float *part = s->parts + (size_t)j*n + (size_t)(r * s->cols);
            double mean = lab_mean(part, s->cols);
            for (int32_t c = 0; c < s->cols; c++)
                part[c] = (float)(((double)part[c] - mean) / deviation) * gain[c];
        }
    }
}

/* beta_ij: the deviations over features of x_i's parts, a mean over tokens, of length 1. */
static void lab_parts_beta(lab_stack *s, int32_t sub)
{
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    double *beta = s->beta + sub * (s->subs + 1);
    double sum = 0;
    for (int32_t j = 0; j <= s->subs; j++) {
        beta[j] = 0;
        if (j > sub + 1) continue;              /* what comes after this sub-layer; adds 0 */
        for (int32_t r = 0; r < s->rows; r++)
            beta[j] += lab_deviation(s->parts + (size_t)j*n + (size_t)(r * s->cols), s->cols);
        sum += beta[j] * beta[j];
    }
    for (int32_t j = 0; j <= s->subs; j++) beta[j] /= sqrt(sum);
}

static void lab_see_value(lab_look *l, const tfn_probe_info *info, const float *x, int32_t rows)
{
    lab_stack *s = &l->stack[info->decoder];
    const int32_t sub = lab_sub(s, info);
    const int32_t cols = s->cols;
    const size_t bytes = (size_t)rows * (size_t)cols * sizeof *x;
    double energy = 0;
    double deviation = 0;
    double rate = 0;
    for (int32_t r = 0; r < rows; r++) {
        double e = 0;
        for (int32_t c = 0; c < cols; c++) e += (double)x[r*cols + c] * (double)x[r*cols + c];
        energy += e / cols / rows;
        rate += 1 / lab_deviation(x + r*cols, cols) / rows;
        if (info->point == TFN_WATCH_SUM) l->energies[r] = e / cols;
    }
    deviation = lab_deviation(x, rows * cols);
    s->energy[info->point][sub] = energy;
    s->variance[info->point][sub] = deviation * deviation;
    if (info->point == TFN_WATCH_INPUT) {
        s->jacobian[sub] = rate;
        if (sub == 0) {
            memcpy(s->parts, x, bytes);
            memcpy(s->outputs, x, bytes);
        }
        memcpy(s->x, x, bytes);
    }
    if (info->point == TFN_WATCH_READ) memcpy(l->read, x, bytes);
    if (info->point == TFN_WATCH_BRANCH) memcpy(s->p, x, bytes);
    if (info->point == TFN_WATCH_SUM) {
        memcpy(s->z, x, bytes);
        lab_parts_add(s, sub);
    }
    if (info->point != TFN_WATCH_OUTPUT) return;
    lab_parts_norm(s, sub, x);
    lab_parts_beta(s, sub);
    memcpy(l->last, x, bytes);
    if (sub % s->per_layer == s->per_layer - 1)
        memcpy(s->outputs + (size_t)(info->layer + 1) * (size_t)(rows * cols), x, bytes);
}

static void lab_probe(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                      bool backward)
{
    lab_look *l = (lab_look *)user;
    tfn_probe_info info = tfn_probe_of(id);
    lab_stack *s = &l->stack[info.decoder];
    if (info.point == TFN_WATCH_STACK && !backward)
        memcpy(l->end, data, (size_t)(rows * cols) * sizeof *data);
    if (info.point == TFN_WATCH_NONE || info.point >= TFN_WATCH_EMBEDDING) return;
    s->rows = (int32_t)rows;
    s->cols = (int32_t)cols;
    if (backward) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < rows * cols; i++) sum += (double)data[i] * (double)data[i];
        s->gradient[info.point][lab_sub(s, &info)] = sqrt(sum);
    } else lab_see_value(l, &info, data, (int32_t)rows);
}

static float *lab_floats(size_t n) { return (float *)calloc(n, sizeof(float)); }

/* Lists of a record, by name: enc_sum_energy, dec_output_gradient ... */
static bool lab_look_start(lab_look *l, lab_record *r, int32_t rows)
{
    static const char *const points[] = { "", "input", "read", "branch", "sum", "output" };
    const lab_spec *s = &r->spec;
    const size_t n = (size_t)rows * (size_t)s->width;
    bool ok = (l->energies = lab_put(r, rows, "energies")) != NULL;
    l->last = lab_floats(n);
    l->read = lab_floats(n);
    l->end = lab_floats(n);
    for (int side = 0; side < 2; side++) {
        lab_stack *k = &l->stack[side];
        int32_t layers = lab_depth(s, side);
        const char *name = side ? "dec" : "enc";
        k->per_layer = side && lab_is_pair(s->task) ? 3 : 2;
        k->subs = layers * k->per_layer;
        if (!k->subs) continue;
        for (int p = TFN_WATCH_INPUT; p <= TFN_WATCH_OUTPUT; p++) {
            k->energy[p] = lab_put(r, k->subs, "%s_%s_energy", name, points[p]);
            k->variance[p] = lab_put(r, k->subs, "%s_%s_variance", name, points[p]);
            k->gradient[p] = lab_put(r, k->subs, "%s_%s_gradient", name, points[p]);
            ok = ok && k->energy[p] && k->variance[p] && k->gradient[p];
        }
        k->beta = lab_put(r, k->subs * (k->subs + 1), "%s_beta", name);
        k->jacobian = lab_put(r, k->subs, "%s_jacobian", name);
        k->parts = lab_floats(n * (size_t)(k->subs + 1));
        k->x = lab_floats(n);
        k->p = lab_floats(n);
        k->z = lab_floats(n);
        k->outputs = lab_floats(n * (size_t)(layers + 1));
        ok = ok && k->beta && k->jacobian && k->parts && k->x && k->p && k->z && k->outputs;
    }
    return ok && l->last && l->read && l->end;
}

static void lab_look_end(lab_look *l)
{
    for (int side = 0; side < 2; side++) {
        lab_stack *k = &l->stack[side];
        free(k->parts);
        free(k->x);
        free(k->p);
        free(k->z);
        free(k->outputs);
    }
    free(l->last);
    free(l->read);
    free(l->end);
}

/* Cosines of the outputs of layers i and j, a mean over tokens (Takase 2022, section 3.2). */
static void lab_cosines(lab_record *r, const lab_stack *s, const char *name)
{
    const int32_t layers = s->subs / s->per_layer;
    const size_t n = (size_t)s->rows * (size_t)s->cols;
    double *v = lab_put(r, layers * layers, "%s_cosine", name);
    if (!v) return;
    for (int32_t i = 0; i < layers * layers; i++)
        v[i] = data_cosine(s->outputs + (size_t)(i / layers + 1)*n,
                           s->outputs + (size_t)(i % layers + 1)*n, s->rows, s->cols);
}

/* -- weights and their gradients ------------------------------------------------------------- */

static const char *const lab_matrices[] = { "self.q", "self.k", "self.v", "self.o", "ffn.w1",
                                            "ffn.w2" };
enum { LAB_MATRICES = 6 };

/* Class and stack of a weight matrix, or -1. */
static int lab_matrix(const tfn_param_info *p, int *side)
{
    char name[64];
    *side = !strncmp(p->name, "dec", 3);
    const char *stack = *side ? "decoder" : "encoder";
    if (p->layer < 0) return -1;
    for (int k = 0; k < LAB_MATRICES; k++) {
        snprintf(name, sizeof name, "%s.%d.%s.weight", stack, (int)p->layer, lab_matrices[k]);
        if (!strcmp(p->name, name)) return k;
    }
    return -1;
}

/* Norms of the matrices of `flat`, which lies as the parameters do: dec_w2_gradient ... */
static void lab_norms(lab_record *r, const tfn_model *m, const double *flat, const char *what)
{
    double *lists[2][LAB_MATRICES] = { { NULL } };
    tfn_param_info p, first;
    int side;
    if (!tfn_model_param(m, 0, &first)) return;
    for (side = 0; side < 2; side++) {
        const char *stack = side ? "dec" : "enc";
        const int32_t layers = lab_depth(&r->spec, side);
        if (!layers) continue;
        for (int k = 0; k < LAB_MATRICES; k++)
            lists[side][k] = lab_put(r, layers, "%s_%s_%s", stack, strchr(lab_matrices[k], '.') + 1,
                                     what);
    }
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const double *x = flat + (p.data - first.data);
        int k = lab_matrix(&p, &side);
        double sum = 0;
        if (k < 0 || !lists[side][k]) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++) sum += x[j] * x[j];
        lists[side][k][p.layer] = sqrt(sum);
    }
}

/* max_p ReLU(x W_1)_p^2 of each token in the last feed-forward (Xiong 2020, proof of theorem 1). */
static void lab_hidden(lab_record *r, const tfn_model *m, const float *x)
{
    const int32_t rows = r->spec.batch * lab_time(r->spec.task);
    const int32_t cols = r->spec.width;
    double *most = lab_put(r, rows, "hidden_max");
    tfn_param_info p;
    int side;
    if (!most) return;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (lab_matrix(&p, &side) != 4 || p.layer != r->spec.layers - 1) continue;
        for (int32_t t = 0; t < rows; t++) {
            most[t] = 0;
            for (int32_t h = 0; h < p.cols; h++) {
                double u = 0;
                for (int32_t c = 0; c < cols; c++)
                    u += (double)x[t*cols + c] * (double)p.data[c*p.cols + h];
                if (u > 0 && u*u > most[t]) most[t] = u*u;
            }
        }
    }
}

/* The gradient at the present weights, a mean over batches, and what is seen in the last one. */
enum { LAB_LOOK_BATCHES = 8 };
static bool lab_measure(lab_record *r, tfn_model *m, lab_data *data)
{
    const lab_spec *s = &r->spec;
    const size_t n = (size_t)m->param_floats;
    lab_look look;
    tfn_report report;
    tfn_param_info first;
    float *kept = lab_floats(n);
    double *mean = (double *)calloc(n, sizeof *mean);
    memset(&look, 0, sizeof look);
    tfn_model_param(m, 0, &first);
    bool ok = kept && mean && lab_look_start(&look, r, s->batch * lab_time(s->task));
    if (ok) memcpy(kept, first.data, n * sizeof *kept);
    for (int b = 0; b < LAB_LOOK_BATCHES; b++) {
        if (!ok) break;
        lab_fill(data, s, s->batch, s->seed, UINT64_MAX - 100 - (uint64_t)b);
        tfn_model_watch(m, b == LAB_LOOK_BATCHES - 1 ? lab_probe : NULL, &look);
        if (tfn_model_step(m, &data->batch, &report) != TFN_OK) ok = false;
        for (size_t i = 0; i < n; i++)      /* gradients are of the summed loss */
            mean[i] += (double)first.grad[i] / (double)report.tokens / LAB_LOOK_BATCHES;
        memcpy(first.data, kept, n * sizeof *kept);
    }
    if (ok) {
        lab_norms(r, m, mean, "gradient");
        if (s->theory) lab_hidden(r, m, look.read);
        for (int side = 0; side < 2; side++)
            if (look.stack[side].subs) lab_cosines(r, &look.stack[side], side ? "dec" : "enc");
    }
    tfn_model_watch(m, NULL, NULL);
    lab_look_end(&look);
    free(kept);
    free(mean);
    return ok;
}

/* How far the output moves when weights do. F is what the stack gives, after the final norm where
 * there is one (shift), and the last sub-layer's output (inner), which Liu 2020's released code
 * takes; |F(W) - F(W*)|^2 a token. */
typedef struct lab_move {
    tfn_model *m;
    lab_data  *data;
    lab_spec   spec;
    lab_record other;               /* what is seen of the moved weights is not kept */
    lab_look   before, after;
    float     *kept;
    double     shift, inner;        /* the last one's */
} lab_move;

/* The sign of a step against the gradient, or of chance. */
static float lab_way(const lab_spec *s, const tfn_param_info *p, int32_t j, uint64_t at)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(s->seed), 99);
    if (s->noise <= 0) return (float)-s->step * (float)((p->grad[j] > 0) - (p->grad[j] < 0));
    if (tfn_random_bits(key, at) & 1) return (float)s->noise;
    return -(float)s->noise;
}

/* Moves all that is no bias, norm or scale, as Liu 2020's code does: of a layer, from 0, or of the
 * embedding (-1), or of all (LAB_ALL). */
enum { LAB_ALL = -2 };
static void lab_move_weights(lab_move *v, int32_t layer)
{
    tfn_param_info p;
    uint64_t at = 0;
    for (int32_t i = 0; tfn_model_param(v->m, i, &p); i++) {
        if (!p.decay) continue;
        for (int32_t j = 0; j < p.rows * p.cols; j++, at++)
            if (layer == LAB_ALL || layer == p.layer) p.data[j] += lab_way(&v->spec, &p, j, at);
    }
}

/* A pass with what is seen in `look`; the update that goes with it is taken back. */
static bool lab_pass(lab_move *v, lab_look *look)
{
    tfn_report report;
    tfn_param_info p;
    tfn_model_watch(v->m, lab_probe, look);
    const bool ok = tfn_model_step(v->m, &v->data->batch, &report) == TFN_OK;
    tfn_model_param(v->m, 0, &p);
    memcpy(p.data, v->kept, (size_t)v->m->param_floats * sizeof *v->kept);
    return ok;
}

/* Moves, and measures how far the output went; the gradients are those of the weights as they were,
 * which a pass overwrites. */
static bool lab_move_once(lab_move *v, int32_t layer)
{
    const int32_t rows = v->spec.batch * lab_time(v->spec.task);
    const size_t n = (size_t)rows * (size_t)v->spec.width;
    double sum[2] = { 0, 0 };
    bool ok = lab_pass(v, &v->before);
    lab_move_weights(v, layer);
    ok = lab_pass(v, &v->after) && ok;
    for (size_t i = 0; i < n; i++) {
        const double e = (double)v->before.end[i] - (double)v->after.end[i];
        const double d = (double)v->before.last[i] - (double)v->after.last[i];
        sum[0] += e*e;
        sum[1] += d*d;
    }
    v->shift = sum[0] / rows;
    v->inner = sum[1] / rows;
    return ok;
}

/* each: the shifts of single layers, added: what independent changes would sum to. */
static bool lab_move_each(lab_record *r, lab_move *v)
{
    double *sum = lab_put(r, 2, "each");
    if (!sum) return false;
    sum[0] = sum[1] = 0;
    for (int32_t layer = -1; layer < v->spec.layers; layer++) {
        if (!lab_move_once(v, layer)) return false;
        sum[0] += v->shift;
        sum[1] += v->inner;
    }
    return true;
}

static bool lab_shift(lab_record *r, tfn_model *m, lab_data *data)
{
    const lab_spec *s = &r->spec;
    const int32_t rows = s->batch * lab_time(s->task);
    lab_move *v = (lab_move *)calloc(1, sizeof *v);
    double *shift = lab_put(r, 1, "shift");
    double *inner = lab_put(r, 1, "shift_inner");
    tfn_param_info p;
    if (!v) return false;
    v->m = m;
    v->data = data;
    v->spec = v->other.spec = *s;
    v->kept = lab_floats((size_t)m->param_floats);
    bool ok = lab_look_start(&v->before, r, rows);
    ok = lab_look_start(&v->after, &v->other, rows) && ok && v->kept && shift && inner;
    if (ok) {
        tfn_model_param(m, 0, &p);
        memcpy(v->kept, p.data, (size_t)m->param_floats * sizeof *v->kept);
        lab_fill(data, s, s->batch, s->seed, UINT64_MAX - 100);
        ok = lab_move_once(v, LAB_ALL);
        *shift = v->shift;
        *inner = v->inner;
    }
    if (ok && s->each) ok = lab_move_each(r, v);
    tfn_model_watch(m, NULL, NULL);
    lab_look_end(&v->before);
    lab_look_end(&v->after);
    for (int32_t i = 0; i < v->other.count; i++) free(v->other.lists[i].v);
    free(v->kept);
    free(v);
    return ok;
}

/* -- training -------------------------------------------------------------------------------- */

enum { LAB_POINTS = 20 };           /* of a loss curve, behind the one at step 0 */

/* Greedy answers to the test: exact ones, and BLEU of ids as words. */
static void lab_text(char *text, const int32_t *ids, int32_t n)
{
    int at = 0;
    text[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] == LAB_END) return;
        if (i) text[at++] = ' ';
        at += snprintf(text + at, 15, "w%d", (int)ids[i]);
    }
}

/* Answers, in hundred, of which less than half the words are of the tongue that was wanted. */
static double lab_off_target(const tfn_generator *g, const lab_data *test)
{
    const int32_t time = test->batch.source_time;
    double off = 0;
    for (int32_t i = 0; i < test->batch.batch; i++) {
        const int32_t *found = g->tokens + i * g->width * g->most;
        const int wanted = test->source[i * time] - LAB_FIRST;
        int32_t right = 0;
        int32_t n = 0;
        for (; n < g->lengths[i * g->width]; n++) {
            if (found[n] == LAB_END) break;
            right += found[n] >= LAB_WORD_IDS && tongue_of(found[n] - LAB_WORD_IDS) == wanted;
        }
        off += 2 * right < n || !n;
    }
    return 100 * off / test->batch.batch;
}

/* Lists accuracy, bleu ..., behind `of` of another test than the run's own. */
static bool lab_score(lab_record *r, tfn_model *m, const lab_data *test, const char *of)
{
    const int32_t forbidden[] = { LAB_PAD, LAB_BEGIN };
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    tfn_generate_desc d;
    tfn_generator g;
    tfn_bleu bleu;
    tfn_rouge rouge;
    tfn_edits edits;
    tfn_batch batch = test->batch;
    int32_t begins[LAB_TEST], right = 0;
    char found[LAB_TIME * 16], wanted[LAB_TIME * 16], work[1 << 15];
    const char *reference = wanted;
    memset(&d, 0, sizeof d);
    memset(&bleu, 0, sizeof bleu);
    memset(&rouge, 0, sizeof rouge);
    memset(&edits, 0, sizeof edits);
    d.sentences = batch.batch;
    d.max_tokens = lab_answer(r->spec.task);
    d.end = LAB_END;
    d.forbidden = forbidden;
    d.forbidden_count = 2;
    for (int32_t i = 0; i < LAB_TEST; i++) begins[i] = LAB_BEGIN;
    batch.tokens = begins;
    batch.lengths = NULL;
    batch.targets = NULL;
    batch.time = 1;
    void *scratch = malloc(scratch_size);
    size_t size = scratch ? tfn_generator_size(m, &d, scratch, scratch_size) : 0;
    void *mem = size ? malloc(size) : NULL;
    bool ok = mem && tfn_generator_init(&g, m, &d, mem, size) == TFN_OK
              && tfn_generator_run(&g, &batch, NULL) == TFN_OK;
    for (int32_t i = 0; i < batch.batch; i++) {
        if (!ok) break;
        lab_text(found, g.tokens + i * g.width * g.most, g.lengths[i * g.width]);
        lab_text(wanted, test->targets + i * test->batch.time, test->batch.lengths[i]);
        right += !strcmp(found, wanted);
        ok = tfn_bleu_add(&bleu, found, &reference, 1, work, sizeof work) == TFN_OK
             && tfn_rouge_add(&rouge, found, wanted, work, sizeof work) == TFN_OK
             && tfn_edits_add_words(&edits, found, wanted, work, sizeof work) == TFN_OK;
    }
    double *accuracy = lab_put(r, 1, "%saccuracy", of);
    double *score = lab_put(r, 1, "%sbleu", of);
    double *f1 = lab_put(r, 3, "%srouge", of);
    double *wer = lab_put(r, 1, "%swer", of);
    double *off = NULL;
    if (r->spec.task == LAB_TONGUES) off = lab_put(r, 1, "%soff", of);
    if (ok && off) *off = lab_off_target(&g, test);
    if (ok && accuracy && score && f1 && wer) {
        *wer = 100 * tfn_edits_score(&edits);
        for (int32_t i = 0; i < 3; i++) f1[i] = 100 * tfn_rouge_score(&rouge, i);
        *accuracy = (double)right / batch.batch;
        *score = tfn_bleu_score(&bleu, TFN_SMOOTH_EXP, false);
    }
    free(mem);
    free(scratch);
    return ok;
}

/* The loss of the test, plain; NaN when it is not finite. */
static double lab_nll(tfn_model *m, const lab_data *test)
{
    tfn_report report;
    if (tfn_model_eval(m, &test->batch, &report) != TFN_OK) return (double)NAN;
    return report.nll;
}

/* Copies the tensors that two models have of one name and shape. */
static void lab_take_weights(tfn_model *c, const tfn_model *m)
{
    tfn_param_info to, from;
    for (int32_t i = 0; tfn_model_param(c, i, &to); i++)
        for (int32_t k = 0; tfn_model_param(m, k, &from); k++) {
            if (strcmp(to.name, from.name)) continue;
            if (to.rows != from.rows || to.cols != from.cols) continue;
            memcpy(to.data, from.data, (size_t)to.rows * (size_t)to.cols * sizeof *to.data);
        }
}

/* The share of LAB_TEST rows whose largest logit is the target's. */
static double lab_right(const float *logits, int32_t classes, const int32_t *targets)
{
    double right = 0;
    if (!logits) return 0;
    for (int32_t i = 0; i < LAB_TEST; i++, logits += classes) {
        int32_t best = 0;
        for (int32_t k = 1; k < classes; k++)
            if (logits[k] > logits[best]) best = k;
        right += best == targets[i];
    }
    return right / LAB_TEST;
}

/* A classifier with the weights of a model where it has the same, trained: what share of the test
 * it gets right. Its head is drawn anew, its rate 1e-3, the first tenth warm-up. */
static double lab_tuned(const lab_spec *s, const tfn_model *m, lab_data *data, lab_data *test)
{
    lab_spec t = *s;
    tfn_model c;
    t.task = LAB_LABEL;
    t.lr = 1e-3;
    t.warmup = s->tune / 10;
    t.steps = t.stop = s->tune;
    t.smoothing = 0;
    tfn_model_desc d = lab_desc(&t, false);
    bool ok = tfn_model_new(&c, &d, NULL) == TFN_OK;
    if (ok) lab_take_weights(&c, m);
    for (int64_t step = 0; step < s->tune; step++) {
        tfn_report report;
        if (!ok) break;
        lab_fill(data, &t, t.batch, t.seed, (uint64_t)step);
        ok = tfn_model_step(&c, &data->batch, &report) == TFN_OK;
    }
    lab_fill(test, &t, LAB_TEST, 1u << 20, UINT64_MAX);
    double right = (double)NAN;
    if (ok) right = lab_right(tfn_model_logits(&c, &test->batch), d.classes, test->targets);
    tfn_model_free(&c);
    return right;
}

/* The largest difference of the folded model's logits, in the largest logit. */
static bool lab_fold(lab_record *r, tfn_model *m, const lab_data *test)
{
    tfn_model_desc d = lab_desc(&r->spec, false);
    double *fold = lab_put(r, 1, "fold");
    double most = 0;
    double wrong = 0;
    const tfn_batch *b = &test->batch;
    tfn_model to;
    d.inference = d.folded = true;
    bool ok = tfn_model_new(&to, &d, NULL) == TFN_OK && tfn_model_fold(&to, m) == TFN_OK && fold;
    const float *x = NULL;
    const float *y = NULL;
    int32_t logits = 0;
    if (ok) {
        x = tfn_model_logits(m, b);
        y = tfn_model_logits(&to, b);
    }
    if (x && y) logits = b->batch * b->time * d.vocab;
    for (int32_t i = 0; i < logits; i++) {
        if (test->targets[i / d.vocab] < 0) continue;
        most = fmax(most, fabs((double)x[i]));
        wrong = fmax(wrong, fabs((double)x[i] - (double)y[i]));
    }
    if (ok) *fold = wrong / most;
    tfn_model_free(&to);
    return ok;
}

/* -- what single updates do ------------------------------------------------------------------- */

/* Updates 1, 2, 4, 8 ... of a run with `trace`: turn, the angle by which they turn the weight
 * matrices, in degrees, a mean over these; change, how far they move the test's logits, over the
 * size of these (Kosson 2024); sharpness, the largest eigenvalue of P^-1/2 H P^-1/2, H the Hessian
 * of the test's loss, P what Adam divides by (Cohen 2022; Kalra 2024, section 3). */
enum { LAB_SHARP_ROWS = 64, LAB_SHARP_STEPS = 16 };
typedef struct lab_trace {
    tfn_model       copy;               /* whose gradients disturb no training */
    const lab_data *test;
    double  beta1, beta2;
    double *turn, *change, *sharpness;
    double *second, *scale, *slope;     /* Adam's v; P^-1/2; a gradient */
    float  *weights, *logits;           /* before the update */
    size_t  n, logit_count;
} lab_trace;

static int32_t lab_trace_points(int64_t updates)
{
    int32_t n = 0;
    while (updates >> n) n++;
    return n;
}

static bool lab_trace_start(lab_trace *t, lab_record *r, const tfn_model *m, const lab_data *test)
{
    const int32_t points = lab_trace_points(r->spec.stop);
    const tfn_model_desc d = lab_desc(&r->spec, false);
    memset(t, 0, sizeof *t);
    t->test = test;
    t->beta1 = r->spec.beta1;
    t->beta2 = r->spec.beta2;
    t->n = (size_t)m->param_floats;
    t->logit_count = (size_t)(test->batch.batch * test->batch.time * d.vocab);
    t->turn = lab_put(r, points, "turn");
    t->change = lab_put(r, points, "change");
    t->sharpness = lab_put(r, points, "sharpness");
    t->second = (double *)calloc(3 * t->n, sizeof *t->second);
    t->weights = lab_floats(t->n);
    t->logits = lab_floats(t->logit_count);
    if (!t->second) return false;
    t->scale = t->second + t->n;
    t->slope = t->scale + t->n;
    if (!t->turn || !t->change || !t->sharpness || !t->weights || !t->logits) return false;
    return tfn_model_new(&t->copy, &d, NULL) == TFN_OK;
}

static void lab_trace_end(lab_trace *t)
{
    tfn_model_free(&t->copy);
    free(t->second);
    free(t->weights);
    free(t->logits);
}

/* The mean gradient of the test's first sentences, at `weights` of the copy. */
static bool lab_slope(lab_trace *t, double *slope)
{
    tfn_batch some = t->test->batch;
    tfn_sums sums;
    tfn_param_info p;
    some.batch = LAB_SHARP_ROWS;
    if (tfn_model_gradient(&t->copy, &some, 0, false, &sums) != TFN_OK) return false;
    tfn_model_param(&t->copy, 0, &p);
    for (size_t i = 0; i < t->n; i++) slope[i] = (double)p.grad[i] / (double)sums.targets;
    return isfinite(sums.loss);
}

/* y = P^-1/2 H P^-1/2 x, H by a difference of gradients around the weights. */
static bool lab_hessian(void *user, double *y, const double *x)
{
    lab_trace *t = (lab_trace *)user;
    tfn_param_info p;
    double length = 0;
    tfn_model_param(&t->copy, 0, &p);
    for (size_t i = 0; i < t->n; i++) length += t->scale[i] * x[i] * t->scale[i] * x[i];
    const double size = 0.02 / sqrt(length);
    for (int way = -1; way < 2; way += 2) {
        for (size_t i = 0; i < t->n; i++)
            p.data[i] = (float)((double)t->weights[i] + way * size * t->scale[i] * x[i]);
        if (!lab_slope(t, way < 0 ? t->slope : y)) return false;
    }
    for (size_t i = 0; i < t->n; i++)
        y[i] = t->scale[i] * (y[i] - t->slope[i]) / (2 * size);
    return true;
}

/* After `step` updates. What has never had a gradient has no curvature either. */
static double lab_sharpness(lab_trace *t, const tfn_model *m, int64_t step)
{
    const double first = 1 - tfn__pow(t->beta1, (double)step);
    const double second = 1 - tfn__pow(t->beta2, (double)step);
    tfn_param_info p;
    double *start = (double *)calloc(t->n, sizeof *start);
    if (!start) return (double)NAN;
    tfn_model_param(m, 0, &p);
    memcpy(t->weights, p.data, t->n * sizeof *t->weights);
    for (size_t i = 0; i < t->n; i++) {
        start[i] = (double)tfn_random_normal(tfn_key_make(1), i);
        t->scale[i] = 0;
        if (t->second[i] > 0)
            t->scale[i] = 1 / sqrt(first * (sqrt(t->second[i] / second) + 1e-8));
    }
    const double top = lanczos_top(lab_hessian, t, start, t->n, LAB_SHARP_STEPS);
    free(start);
    return top;
}

/* The angle between two vectors in degrees; of the differences of their directions, so that small
 * ones are exact. */
static double lab_angle(const float *a, const float *b, int32_t n)
{
    double aa = 0;
    double bb = 0;
    double apart = 0;
    for (int32_t i = 0; i < n; i++) aa += (double)a[i] * (double)a[i];
    for (int32_t i = 0; i < n; i++) bb += (double)b[i] * (double)b[i];
    for (int32_t i = 0; i < n; i++) {
        const double d = (double)a[i] / sqrt(aa) - (double)b[i] / sqrt(bb);
        apart += d*d;
    }
    const double sine = sqrt(apart) / 2;                /* of half the angle */
    return 2 * atan(sine / sqrt(1 - sine*sine)) * 57.29577951308232;
}

static double lab_turn(const lab_trace *t, const tfn_model *m)
{
    tfn_param_info p, first;
    double sum = 0;
    int32_t count = 0;
    int side;
    tfn_model_param(m, 0, &first);
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (lab_matrix(&p, &side) < 0) continue;
        sum += lab_angle(t->weights + (p.data - first.data), p.data, p.rows * p.cols);
        count++;
    }
    return sum / count;
}

/* Of the test's logits, which are kept: how far they are from the last ones, in their size. */
static double lab_change(lab_trace *t, tfn_model *m)
{
    const float *logits = tfn_model_logits(m, &t->test->batch);
    const size_t vocab = (size_t)m->desc.vocab;
    double moved = 0;
    double size = 0;
    if (!logits) return (double)NAN;
    for (size_t i = 0; i < t->logit_count; i++) {
        const double d = (double)logits[i] - (double)t->logits[i];
        if (t->test->targets[i / vocab] < 0) continue;
        moved += d*d;
        size += (double)t->logits[i] * (double)t->logits[i];
    }
    memcpy(t->logits, logits, t->logit_count * sizeof *logits);
    return sqrt(moved / size);
}

static bool lab_is_traced(int64_t step) { return (step & (step - 1)) == 0; }

/* Before update number `step`, from 1. */
static void lab_trace_before(lab_trace *t, tfn_model *m, int64_t step)
{
    tfn_param_info p;
    if (!t || !lab_is_traced(step)) return;
    tfn_model_param(m, 0, &p);
    memcpy(t->weights, p.data, t->n * sizeof *t->weights);
    lab_change(t, m);
}

static void lab_trace_after(lab_trace *t, tfn_model *m, int64_t step, double tokens)
{
    tfn_param_info p;
    if (!t) return;
    tfn_model_param(m, 0, &p);
    for (size_t i = 0; i < t->n; i++) {
        const double g = (double)p.grad[i] / tokens;
        t->second[i] += (1 - t->beta2) * (g*g - t->second[i]);
    }
    if (!lab_is_traced(step)) return;
    const int32_t point = lab_trace_points(step) - 1;
    t->turn[point] = lab_turn(t, m);
    t->change[point] = lab_change(t, m);
    t->sharpness[point] = lab_sharpness(t, m, step);
}

/* -- without a layer -------------------------------------------------------------------------- */

/* The last matrix of a branch of this layer, or its bias: with 0 in both the branch gives 0, and
 * where only the branch is normed the layer gives what it was given. */
static bool lab_ends_branch(const tfn_param_info *p, bool decoder, int32_t layer)
{
    if (p->layer != layer || !strncmp(p->name, "dec", 3) != decoder) return false;
    return strstr(p->name, ".o.") || strstr(p->name, ".w2.");
}

/* enc_without, dec_without: the test's loss without each of the layers. */
static bool lab_without(lab_record *r, tfn_model *m, const lab_data *test)
{
    const size_t n = (size_t)m->param_floats;
    float *kept = lab_floats(n);
    tfn_param_info first, p;
    tfn_model_param(m, 0, &first);
    if (kept) memcpy(kept, first.data, n * sizeof *kept);
    for (int side = 0; side < 2; side++) {
        const int32_t layers = lab_depth(&r->spec, side);
        double *loss = NULL;
        if (kept && layers) loss = lab_put(r, layers, "%s_without", side ? "dec" : "enc");
        for (int32_t layer = 0; layer < layers; layer++) {
            if (!loss) break;
            for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
                if (lab_ends_branch(&p, side, layer))
                    memset(p.data, 0, (size_t)(p.rows * p.cols) * sizeof *p.data);
            loss[layer] = lab_nll(m, test);
            memcpy(first.data, kept, n * sizeof *kept);
        }
    }
    free(kept);
    return kept != NULL;
}

/* -- a training run --------------------------------------------------------------------------- */

/* curve: the test's loss at 21 points; nll: the last; updates of the last twentieth; tuned: after
 * each quarter. data: three, the second is the test. trace: NULL, or what looks at updates. */
static tfn_status lab_train(lab_record *r, tfn_model *m, lab_data *data, lab_trace *trace)
{
    const lab_data *test = data + 1;
    const lab_spec *s = &r->spec;
    const size_t n = (size_t)m->param_floats;
    double *curve = lab_put(r, LAB_POINTS + 1, "curve");
    double *nll = lab_put(r, 1, "nll");
    double *unigram = lab_put(r, 1, "unigram");
    double *tuned = s->tune ? lab_put(r, 4, "tuned") : NULL;
    double *skipped = lab_put(r, 1, "skipped");
    double *moved = (double *)calloc(n, sizeof *moved);
    tfn_param_info p;
    tfn_report report;
    int64_t point = 0;
    int64_t skips = 0;
    tfn_model_param(m, 0, &p);
    if (!curve || !nll || !unigram || !skipped || !moved) {
        free(moved);
        return TFN_NO_MEMORY;
    }
    curve[0] = lab_nll(m, test);
    *unigram = lab_unigram(test);
    for (int64_t step = 0; step < s->stop; step++) {
        if (m->error.status != TFN_OK) break;
        if (step == s->stop - s->stop / LAB_POINTS)
            for (size_t i = 0; i < n; i++) moved[i] = (double)p.data[i];
        lab_fill(data, s, s->batch, s->seed, (uint64_t)step);
        lab_trace_before(trace, m, step + 1);
        if (tfn_model_step(m, &data->batch, &report) != TFN_OK) break;
        lab_trace_after(trace, m, step + 1, (double)report.tokens);
        skips += report.skipped;
        if ((step + 1) * LAB_POINTS / s->stop > point) {
            point = (step + 1) * LAB_POINTS / s->stop;
            curve[point] = lab_nll(m, test);
        }
        if (tuned && (step + 1) % (s->stop / 4) == 0)
            tuned[(step + 1) / (s->stop / 4) - 1] = lab_tuned(s, m, data, data + 2);
    }
    *nll = curve[LAB_POINTS];
    *skipped = (double)skips;
    for (size_t i = 0; i < n; i++) moved[i] = (double)p.data[i] - moved[i];
    if (s->look) lab_norms(r, m, moved, "update");
    free(moved);
    return TFN_OK;                    /* a diverged run is a result */
}

/* The rule by which a loss has settled, of a run with `settle`: the least of the last five checks
 * is less than 1 % below the least before them. There are forty checks in the most updates it may
 * have. Up to there the rate is constant behind its warm-up; then it falls to 0 in a quarter of the
 * updates so far, as in a schedule of warm-up, stable phase and decay. */
enum { LAB_CHECKS = 40, LAB_PATIENCE = 5 };
static bool lab_has_settled(const double *loss, int32_t n)
{
    double before = HUGE_VAL;
    double last = HUGE_VAL;
    if (n <= LAB_PATIENCE + 1) return false;
    for (int32_t i = 0; i < n - LAB_PATIENCE; i++) before = fmin(before, loss[i]);
    for (int32_t i = n - LAB_PATIENCE; i < n; i++) last = fmin(last, loss[i]);
    return !(last < 0.99 * before);
}

/* What a run with `settle` has come to; `begin`: the updates after which the rate falls. */
typedef struct lab_course {
    double  loss[LAB_CHECKS + 2];
    int32_t checks;
    int64_t step, begin, end, skips;
    bool    settled, broken;
} lab_course;

static void lab_check_course(lab_course *c, const lab_spec *s, tfn_model *m, const lab_data *test)
{
    c->loss[c->checks++] = lab_nll(m, test);
    c->broken = !(c->loss[c->checks - 1] < HUGE_VAL);
    if (c->begin) return;
    c->settled = lab_has_settled(c->loss, c->checks);
    if (!c->settled && c->step < s->stop * 4 / 5) return;
    c->begin = c->step;
    c->end = c->step + c->step / 4;
}

/* One update; its rate falls from the end of the constant ones on, to 0 behind the last. */
static bool lab_course_step(lab_course *c, tfn_model *m, const lab_data *data)
{
    tfn_report report;
    double rate = (double)tfn_model_rate(m);
    if (c->begin)
        rate *= (double)(c->end - c->step) / (double)(c->end - c->begin);
    if (tfn_model_gradient(m, &data->batch, 0, false, NULL) != TFN_OK) return false;
    if (tfn_model_update(m, NULL, (float)rate, &report) != TFN_OK) return false;
    c->skips += report.skipped;
    c->step++;
    return true;
}

/* curve: the loss at its start and at each check; nll: the last; updates; settled: 1, or 0 where
 * the most updates came first. */
static bool lab_course_lists(lab_record *r, const lab_course *c, const lab_data *test)
{
    double *curve = lab_put(r, c->checks, "curve");
    double *nll = lab_put(r, 1, "nll");
    double *unigram = lab_put(r, 1, "unigram");
    double *skipped = lab_put(r, 1, "skipped");
    double *updates = lab_put(r, 1, "updates");
    double *settled = lab_put(r, 1, "settled");
    if (!curve || !nll || !unigram || !skipped || !updates || !settled) return false;
    memcpy(curve, c->loss, (size_t)c->checks * sizeof *curve);
    *nll = c->loss[c->checks - 1];
    *unigram = lab_unigram(test);
    *skipped = (double)c->skips;
    *updates = (double)c->step;
    *settled = c->settled;
    return true;
}

static tfn_status lab_go_on(lab_record *r, tfn_model *m, lab_data *data)
{
    const lab_spec *s = &r->spec;
    const int64_t every = tfn__max(s->stop / LAB_CHECKS, 1);
    lab_course c;
    memset(&c, 0, sizeof c);
    c.end = s->stop;
    lab_check_course(&c, s, m, data + 1);
    while (c.step < c.end) {
        lab_fill(data, s, s->batch, s->seed, (uint64_t)c.step);
        if (!lab_course_step(&c, m, data)) break;
        if (c.step % every && c.step < c.end) continue;
        lab_check_course(&c, s, m, data + 1);
        if (c.broken) break;
    }
    if (!lab_course_lists(r, &c, data + 1)) return TFN_NO_MEMORY;
    return TFN_OK;
}

/* With updates looked at, where the spec wants it. */
static tfn_status lab_train_traced(lab_record *r, tfn_model *m, lab_data *data)
{
    lab_trace trace;
    tfn_status status = TFN_NO_MEMORY;
    if (!r->spec.trace) return lab_train(r, m, data, NULL);
    if (lab_trace_start(&trace, r, m, data + 1)) status = lab_train(r, m, data, &trace);
    lab_trace_end(&trace);
    return status;
}

/* Greedy answers to the test, and to one of pairs of tongues that training has not. */
static void lab_score_all(lab_record *r, tfn_model *m, lab_data *data)
{
    lab_score(r, m, data + 1, "");
    if (r->spec.task != LAB_TONGUES) return;
    lab_fill(data + 2, &r->spec, LAB_TEST, 1u << 20, LAB_UNSEEN);
    lab_score(r, m, data + 2, "unseen_");
}

/* CPU time of this thread; of the program where that is not known. */
static double lab_seconds(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec t;
    if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Measure what r->spec says. */
static bool lab_run(lab_record *r)
{
    const lab_spec *s = &r->spec;
    const bool shifts = s->noise > 0 || s->step > 0;
    lab_data *data = (lab_data *)malloc(3 * sizeof *data);
    tfn_model_desc d = lab_desc(s, s->look || shifts);
    tfn_model m;
    const double start = lab_seconds();
    bool ok = data && tfn_model_new(&m, &d, NULL) == TFN_OK;
    if (ok && s->theory) lab_theory(&m, s);
    if (ok && s->alpha > 0) lab_alpha(&m, s->alpha);
    if (ok) {
        lab_fill(data, s, d.batch, s->seed, UINT64_MAX - 1);
        ok = tfn_model_profile(&m, &data->batch) == TFN_OK;
        lab_fill(data + 1, s, d.batch, 1u << 20, UINT64_MAX);      /* the test, of no run's seed */
    }
    if (ok && s->settle) ok = lab_go_on(r, &m, data) == TFN_OK;
    else if (ok && s->stop) ok = lab_train_traced(r, &m, data) == TFN_OK;
    if (ok && s->score && isfinite(lab_nll(&m, data + 1))) lab_score_all(r, &m, data);
    if (ok && s->without) ok = lab_without(r, &m, data + 1);
    if (ok && s->fold) ok = lab_fold(r, &m, data + 1);
    if (ok && s->look) ok = lab_measure(r, &m, data);
    if (ok && shifts) ok = lab_shift(r, &m, data);
    if (!ok && data) {
        char text[160];
        fprintf(stderr, "normlab: %s: %s\n", r->key, tfn_error_text(&m.error, text, sizeof text));
    }
    if (data) tfn_model_free(&m);
    free(data);
    r->seconds = lab_seconds() - start;
    return ok;
}

/* -- the laboratory: records, the file, the work --------------------------------------------- */

typedef struct lab {
    lab_record **records;
    int32_t      count, capacity;
    bool         full;                /* seeds and depths of --full */
    int          seeds, init_seeds;   /* of training; of initialization alone */
    int          jobs;
    long         part, parts;         /* of the work, 1 to `parts`; 0: all of it */
    const char  *file;                /* JSON lines; NULL: none */
    FILE        *out;
    bool         lost;                /* not all of it could be written */
    int32_t      missing;             /* asked for and not there; reset it */
    double       spent;               /* seconds of the records asked for, once each; reset it */
    uint32_t     asked;               /* counts the resets of `spent` */
    int32_t      depth, width;        /* wanted of the deepest and widest of a claim; 0: its own */
    const char  *recipe, *instead;    /* recipe in the place of `instead`; NULL: none */
    tfn_isa      isa;                 /* changes no number */
    int32_t      deepest, widest;     /* of a claim, found by asking it */
    bool         asking;
    long         first;               /* samples begin with the seed behind this one */
    int          user;                /* the claim that asks: a bit of the records' users */
    double       cost, cost_done;     /* operations wanted and done */
    time_t       start;
    int          wrong;               /* numbers that a claim asked for and that there cannot be */
    char         wrong_text[LAB_KEY + 120];     /* the first of them */
} lab;

static lab_record *lab_find(const lab *l, const char *key)
{
    for (int32_t i = 0; i < l->count; i++)
        if (!strcmp(l->records[i]->key, key)) return l->records[i];
    return NULL;
}

static lab_record *lab_add(lab *l, const char *key)
{
    lab_record *r;
    if (l->count == l->capacity) {
        int32_t capacity = l->capacity ? 2 * l->capacity : 256;
        lab_record **more = (lab_record **)realloc(l->records, (size_t)capacity * sizeof *more);
        if (!more) return NULL;
        l->records = more;
        l->capacity = capacity;
    }
    r = (lab_record *)calloc(1, sizeof *r);
    if (!r) return NULL;
    snprintf(r->key, sizeof r->key, "%s", key);
    return l->records[l->count++] = r;
}

/* Layers and widths of a claim in proportion to the wanted ones; whole, and multiples of 8. */
enum { LAB_DEEPEST = 64 };
static int32_t lab_layers(const lab *l, int32_t layers)
{
    if (!l->depth || !l->deepest || !layers) return layers;
    layers = (2 * layers * l->depth + l->deepest) / (2 * l->deepest);
    return layers > 1 ? layers : 1;
}

static int32_t lab_width(const lab *l, int32_t width)
{
    if (!l->width || !l->widest) return width;
    width = width * l->width / l->widest & ~7;
    return width > 8 ? width : 8;
}

static const char *lab_recipe(const lab *l, const char *recipe)
{
    if (recipe && l->instead && !strcmp(recipe, l->instead)) return l->recipe;
    return recipe;
}

/* A claim's spec as it is wanted. */
static lab_spec lab_wanted(lab *l, lab_spec s)
{
    const int32_t width = lab_width(l, s.width);
    if (l->asking) {
        if (s.layers > l->deepest) l->deepest = s.layers;
        if (s.width > l->widest) l->widest = s.width;
    }
    s.layers = lab_layers(l, s.layers);
    s.decoder_layers = lab_layers(l, s.decoder_layers);
    s.ffn = s.ffn * width / s.width;
    s.width = width;
    s.recipe = lab_recipe(l, s.recipe);
    s.decoder = lab_recipe(l, s.decoder);
    s.isa = l->isa;
    return s;
}

/* The record of a measurement, or NULL while there is none; it is then noted as wanted. */
static const lab_record *lab_get(lab *l, const lab_spec *spec)
{
    const lab_spec wanted = lab_wanted(l, *spec);
    const lab_spec *s = &wanted;
    char key[LAB_KEY];
    lab_record *r;
    if (l->asking) return NULL;
    lab_key_text(key, s);
    r = lab_find(l, key);
    if (r && r->done) {
        if (l->spent <= 0) l->asked++;
        if (r->asked != l->asked) l->spent += r->seconds;
        r->asked = l->asked;
        r->users[l->user / 64] |= UINT64_C(1) << l->user % 64;
        return r;
    }
    l->missing++;
    if (!r) r = lab_add(l, key);
    if (!r) return NULL;
    r->spec = *s;
    r->users[l->user / 64] |= UINT64_C(1) << l->user % 64;
    return NULL;
}

/* Of all that was asked for and is there. */
static void lab_total(const lab *l, int *count, double *seconds)
{
    *count = 0;
    *seconds = 0;
    for (int32_t i = 0; i < l->count; i++) {
        if (!l->records[i]->asked) continue;
        ++*count;
        *seconds += l->records[i]->seconds;
    }
}

static void lab_free(lab *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        for (int32_t k = 0; k < l->records[i]->count; k++) free(l->records[i]->lists[k].v);
        free(l->records[i]);
    }
    free(l->records);
    memset(l, 0, sizeof *l);
}

/* {"lab":3.2,"spec":"...","seconds":1.5,"name":[1,2,null]} a line; NaN is null. The number counts
 * the changes of what a spec means, and behind the point it is TFN_BITS_VERSION: 1 had a string
 * reversal of its own, whose test was in training too; 2 was measured by version 0.1, whose
 * schedules and some initializations were others. Lines of another number are not read. */
#define LAB_TEXT_OF(x) #x
#define LAB_NUMBER(x) LAB_TEXT_OF(x)
#define LAB_LINE "{\"lab\":3." LAB_NUMBER(TFN_BITS_VERSION) ",\"spec\":\""
static char *lab_line(const lab_record *r)
{
    size_t size = LAB_KEY + 64;
    size_t at = 0;
    char *text;
    for (int32_t i = 0; i < r->count; i++) size += 40 + 26 * (size_t)r->lists[i].n;
    text = (char *)malloc(size);
    if (!text) return NULL;
    at += (size_t)snprintf(text, size, LAB_LINE "%s\",\"seconds\":%.2f", r->key, r->seconds);
    for (int32_t i = 0; i < r->count; i++) {
        const lab_list *l = &r->lists[i];
        at += (size_t)snprintf(text + at, size - at, ",\"%s\":[", l->name);
        for (int32_t k = 0; k < l->n; k++) {
            if (k) text[at++] = ',';
            if (isfinite(l->v[k])) at += (size_t)snprintf(text + at, size - at, "%.17g", l->v[k]);
            else at += (size_t)snprintf(text + at, size - at, "null");
        }
        at += (size_t)snprintf(text + at, size - at, "]");
    }
    snprintf(text + at, size - at, "}\n");
    return text;
}

/* Whether a line is whole to its end, and every list in it holds numbers and is closed. */
static bool lab_is_whole(const char *line)
{
    const char *end = strchr(line, '\n');
    if (!end || end == line) return false;
    if (end[-1] == '\r') end--;                /* a file that an editor made lines of Windows of */
    if (end == line || end[-1] != '}') return false;
    for (const char *list = strchr(line, '['); list; list = strchr(list + 1, '['))
        if (list[1 + strspn(list + 1, "0123456789+-.e,nul")] != ']') return false;
    return true;
}

/* One line of the file; a line cut short by an interruption is no record. */
static void lab_read_line(lab *l, char *line)
{
    const size_t n = strlen(LAB_LINE);
    char *at = line + n;
    char *quote;
    lab_record *r;
    if (strncmp(line, LAB_LINE, n) || !lab_is_whole(line)) return;
    quote = strchr(at, '"');
    if (!quote) return;
    *quote = 0;
    if (lab_find(l, at) || !(r = lab_add(l, at))) return;
    at = quote + 1;
    while ((at = strchr(at, '"')) != NULL) {
        char *name = at + 1;
        char *close = strchr(name, '"');
        int32_t count = 1;
        double *v;
        if (!close || close[1] != ':') break;
        *close = 0;
        at = close + 2;
        if (*at != '[') { r->seconds = strtod(at, &at); continue; }
        for (char *c = at; *c != ']'; c++) count += *c == ',';
        v = lab_put(r, count, "%s", name);
        if (!v) break;
        for (int32_t i = 0; i < count; i++) {
            at++;
            if (!strncmp(at, "null", 4)) at += 4;
            else v[i] = strtod(at, &at);
        }
    }
    r->done = true;
}

/* A line of any length, in a block that grows; false: there is none. */
static bool lab_get_line(char **line, size_t *size, FILE *f)
{
    if (!fgets(*line, (int)*size, f)) return false;
    while (!strchr(*line, '\n')) {
        if (feof(f)) break;
        char *more = (char *)realloc(*line, 2 * *size);
        if (!more) break;
        *line = more;
        if (!fgets(*line + strlen(*line), (int)(2 * *size - strlen(*line)), f)) break;
        *size *= 2;
    }
    return true;
}

/* What the file has; none is as good as an empty one. Another file is not taken for one of
 * measurements, which are written behind what it holds. */
static void lab_read(lab *l)
{
    static const char begin[] = "{\"lab\":";
    size_t size = 1 << 20;
    bool first = true;
    if (!l->file) return;
    FILE *f = fopen(l->file, "rb");
    if (!f) return;
    char *line = (char *)malloc(size);
    while (line) {
        if (!lab_get_line(&line, &size, f)) break;
        if (first && strncmp(line, begin, sizeof begin - 1)) {
            fprintf(stderr, "normlab: \"%s\" is no file of measurements\n", l->file);
            exit(1);
        }
        lab_read_line(l, line);
        first = false;
    }
    free(line);
    fclose(f);
}

/* Tokens of a sentence in a stack. */
static int32_t lab_stack_time(const lab_spec *s, bool decoder)
{
    if (lab_is_pair(s->task) && !decoder) return lab_tasks[s->task].source_time;
    return lab_time(s->task);
}

/* Operations, roughly: 6 a weight and token, and 4,000 for what is between the products; a look
 * costs 8 steps, and taking each sub-layer's parts apart. Fitted to the records of a full run. */
static double lab_cost(const lab_spec *s)
{
    const double layer = (double)s->width * s->width * 4 + 2.0 * s->width * s->ffn;
    const bool looks = s->look || s->noise > 0 || s->step > 0;
    double step = 6.0 * s->width * lab_vocab(s) * lab_time(s->task);
    double parts = 0;
    double steps = ((double)s->stop * (1 + 6.0 / s->batch) + 4.0 * (double)s->tune + 20*s->score)
                 * (s->half ? 1.4 : 1) + 9*looks;
    if (s->trace)                       /* products with the Hessian, gradients each */
        steps += 2.0 * LAB_SHARP_STEPS * LAB_SHARP_ROWS / s->batch * lab_trace_points(s->stop);
    const double passes = looks + s->each * 2.0 * (s->layers + 1);
    steps += s->each * 2.0 * (s->layers + 1);
    for (int side = 0; side < 2; side++) {
        const bool cross = side && lab_is_pair(s->task);
        const double layers = lab_depth(s, side);
        const double subs = layers * (cross ? 3 : 2);
        step += layers * (cross ? 1.4 : 1) * lab_stack_time(s, side) * (6 * layer + 4000);
        parts += 300 * subs*subs * lab_stack_time(s, side) * s->width;
    }
    return s->batch * (steps * step + parts * passes);
}

static const double LAB_SECONDS = 2.1e-11;          /* an operation's, on Zen 4 */

typedef struct lab_jobs {
    lab         *l;
    lab_record **wanted;
    int32_t      count, next;       /* next, the file and the progress are behind the lock */
    tfn_lock     lock;
} lab_jobs;
static int lab_costlier(const void *a, const void *b)
{
    double x = lab_cost(&(*(lab_record *const *)a)->spec);
    double y = lab_cost(&(*(lab_record *const *)b)->spec);
    return (x < y) - (x > y);
}

static void lab_progress(lab *l, const lab_record *r)
{
    const double spent = difftime(time(NULL), l->start);
    double left = 0;
    l->cost_done += lab_cost(&r->spec);
    if (l->cost_done > 0) left = spent * (l->cost - l->cost_done) / l->cost_done;
    fprintf(stderr, "normlab: %3.0f %%, %.0f s, about %.0f s left: %s\n",
            100 * l->cost_done / l->cost, spent, left, r->key);
}

/* A record more in the file. After one that is lost none is tried, and the program fails at its
 * end. */
static void lab_keep(lab *l, const char *line)
{
    if (!line || !l->out) return;
    errno = 0;
    if (fputs(line, l->out) >= 0 && fflush(l->out) == 0) return;
    l->lost = output_lost(l->file);
    fclose(l->out);
    l->out = NULL;
}

/* A file that goes on. The line that an interruption cut stays a line of its own. */
static FILE *lab_append(const char *path)
{
    FILE *f = fopen(path, "rb");
    int last = '\n';
    if (f && !fseek(f, -1, SEEK_END)) last = getc(f);
    if (f) fclose(f);
    errno = 0;
    f = fopen(path, "ab");
    if (f && last != '\n') fputc('\n', f);
    return f;
}

/* A thread: the costliest that none has taken, until there is none. */
static void lab_job(void *context, int job)
{
    lab_jobs *w = (lab_jobs *)context;
    (void)job;
    tfn_lock_take(&w->lock);
    while (w->next < w->count) {
        lab_record *r = w->wanted[w->next++];
        char *line;
        tfn_lock_give(&w->lock);
        lab_run(r);
        line = lab_line(r);
        tfn_lock_take(&w->lock);
        lab_keep(w->l, line);
        free(line);
        r->done = true;
        lab_progress(w->l, r);
    }
    tfn_lock_give(&w->lock);
}

/* Of what is wanted, the costly first, every so-maniest is this machine's part. */
static void lab_take_part(lab_jobs *w, long part, long parts)
{
    int32_t kept = 0;
    qsort(w->wanted, (size_t)w->count, sizeof *w->wanted, lab_costlier);
    for (int32_t i = 0; i < w->count; i++)
        if (!parts || i % parts == part - 1) w->wanted[kept++] = w->wanted[i];
    w->count = kept;
}

/* Measure all that was asked for and is not there, the costly first. */
static bool lab_work(lab *l)
{
    lab_jobs w = { NULL, NULL, 0, 0, TFN_LOCK };
    w.l = l;
    w.wanted = (lab_record **)malloc((size_t)(l->count + 1) * sizeof *w.wanted);
    if (!w.wanted) return false;
    l->cost = l->cost_done = 0;
    l->start = time(NULL);
    for (int32_t i = 0; i < l->count; i++)
        if (!l->records[i]->done && !l->records[i]->left) {
            if (l->records[i]->spec.task == LAB_SPEECH && !lab_speak()) {
                free(w.wanted);
                return false;
            }
            w.wanted[w.count++] = l->records[i];
        }
    lab_take_part(&w, l->part, l->parts);
    for (int32_t i = 0; i < w.count; i++) l->cost += lab_cost(&w.wanted[i]->spec);
    if (w.count) {
        fprintf(stderr, "normlab: %d measurements, %.3g operations, about %.0f s on Zen 4\n",
                (int)w.count, l->cost, l->cost * LAB_SECONDS / l->jobs);
        if (l->file) l->out = lab_append(l->file);
        if (l->file && !l->out) l->lost = output_lost(l->file);
        tfn_threads_run(l->jobs, lab_job, &w);
        if (l->out) fclose(l->out);
        l->out = NULL;
    }
    free(w.wanted);
    return true;
}

/* -- samples --------------------------------------------------------------------------------- */

enum { LAB_SEEDS = 64 };
typedef struct lab_sample { int32_t n; double v[LAB_SEEDS], mean, sd; } lab_sample;

static void lab_sum_up(lab_sample *a)
{
    double sum = 0;
    double squares = 0;
    for (int32_t i = 0; i < a->n; i++) sum += a->v[i];
    a->mean = (double)NAN;
    if (a->n) a->mean = sum / a->n;
    for (int32_t i = 0; i < a->n; i++) squares += (a->v[i] - a->mean) * (a->v[i] - a->mean);
    a->sd = 0;
    if (a->n > 1) a->sd = sqrt(squares / (a->n - 1));
}

/* A training run that went to infinity: its numbers may be NaN, which claims count as failures. */
static bool lab_diverged(const lab_record *r)
{
    const lab_list *curve = lab_list_of(r, "curve");
    const lab_list *skipped = lab_list_of(r, "skipped");
    if (skipped && skipped->n > 0 && !(skipped->v[0] <= 0)) return true;
    if (!curve) return false;
    for (int32_t i = 0; i < curve->n; i++)
        if (!(curve->v[i] - curve->v[i] >= 0)) return true;
    return false;
}

/* Counts a mistake and keeps the first one's text; NaN, in the place of what was asked for. */
static double lab_mistake(lab *l, const char *format, const char *name, const char *key)
{
    if (!l->wrong) snprintf(l->wrong_text, sizeof l->wrong_text, format, name, key);
    l->wrong++;
    return (double)NAN;
}

/* What a diverged run counts for where it has no number: the loss of guessing, no word right. */
static double lab_lost(const lab_record *r, const char *name)
{
    const lab_list *unigram = lab_list_of(r, "unigram");
    if (!strcmp(name, "nll") && unigram && unigram->n > 0) return unigram->v[0];
    if (!strcmp(name, "wer")) return 100;
    if (!strcmp(name, "bleu") || !strcmp(name, "rouge") || !strcmp(name, "accuracy")) return 0;
    return (double)NAN;
}

/* Number `index` (-1: the last) of a record that is there. A list of another name, a place behind
 * its end and NaN after a run that did not diverge are mistakes of the claim. */
static double lab_number(lab *l, const lab_record *r, const char *name, int32_t index)
{
    const lab_list *list = lab_list_of(r, name);
    const bool diverged = lab_diverged(r);
    if (!list && diverged) return lab_lost(r, name);
    if (!list) return lab_mistake(l, "no list is called \"%s\" in %s", name, r->key);
    if (index < 0) index += list->n;
    if (index < 0 || index >= list->n)
        return lab_mistake(l, "list \"%s\" is shorter in %s", name, r->key);
    const double x = list->v[index];
    if (x == x) return x;
    if (diverged) return lab_lost(r, name);
    return lab_mistake(l, "list \"%s\" holds NaN in %s", name, r->key);
}

/* The spec of the sample's number i. */
static lab_spec lab_seeded(const lab *l, lab_spec s, int32_t i)
{
    s.seed = (uint64_t)(l->first + i + 1);
    return s;
}

static int32_t lab_seeds(const lab *l, const lab_spec *s)
{
    if (s->stop) return l->seeds;
    if (s->few) return (int32_t)tfn__max(l->init_seeds / 4, 3);
    return l->init_seeds;
}

/* Number `index` of a list over seeds 1, 2 ...; NaN while it is not measured. */
static lab_sample lab_over(lab *l, lab_spec s, const char *name, int32_t index)
{
    lab_sample a;
    a.n = lab_seeds(l, &s);
    for (int32_t i = 0; i < a.n; i++) {
        const lab_spec seeded = lab_seeded(l, s, i);
        const lab_record *r = lab_get(l, &seeded);
        a.v[i] = (double)NAN;
        if (r) a.v[i] = lab_number(l, r, name, index);
    }
    lab_sum_up(&a);
    return a;
}

/* Least squares y = a + b x: b, and the share of the variance it explains. */
typedef struct lab_fit { double a, b, r2; } lab_fit;
static lab_fit lab_line_through(int32_t n, const double *x, const double *y)
{
    double sx = 0;
    double sy = 0;
    double xx = 0;
    double xy = 0;
    double yy = 0;
    lab_fit f;
    for (int32_t i = 0; i < n; i++) {
        sx += x[i] / n;
        sy += y[i] / n;
    }
    for (int32_t i = 0; i < n; i++) {
        xx += (x[i] - sx) * (x[i] - sx);
        yy += (y[i] - sy) * (y[i] - sy);
        xy += (x[i] - sx) * (y[i] - sy);
    }
    f.b = xy / xx;
    f.a = sy - f.b * sx;
    f.r2 = xy * xy / (xx * yy);
    return f;
}

/* The exponent of y ~ x^b. */
static double lab_power(int32_t n, const double *x, const double *y)
{
    double u[2 * LAB_DEEPEST], v[2 * LAB_DEEPEST];
    for (int32_t i = 0; i < n; i++) {
        u[i] = log(x[i]);
        v[i] = log(y[i]);
    }
    return lab_line_through(n, u, v).b;
}
#endif
