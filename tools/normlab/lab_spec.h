/* Measurements of normlab. lab_spec is plain data that says what to train and what to measure.
 * lab_record holds the result: named lists of numbers that depend only on the spec, not on threads,
 * order or machine. Offers the key of a spec, which identifies a record, and access to the
 * lists. */
#ifndef LAB_SPEC_H
#define LAB_SPEC_H

#include "../../tfnorm.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_task {
    LAB_REVERSE,            /* 5 to 8 of 8 letters, backwards, by letters: encoder-decoder */
    LAB_GRAMMAR,            /* toy German to toy English, by words: encoder-decoder */
    LAB_TRANSLATE,          /* the same with two clauses: hundreds of updates do not learn it all */
    LAB_HEADLINE,           /* two toy English sentences to a headline: encoder-decoder */
    LAB_SPEECH,             /* spoken digits, 25 codes a second, to words: encoder-decoder */
    LAB_TONGUES,            /* a pivot and four toy languages, see tongues.h: encoder-decoder */
    LAB_PAIRS,              /* given pairs, by subwords, see lab_pairs.h: encoder-decoder */
    LAB_TEXT,               /* toy English by letters: decoder */
    LAB_MARKOV,             /* two words leave four choices for the next, 1.21 nats: decoder */
    LAB_FILE,               /* a given text, by bytes: decoder; see lab_take_text */
    LAB_MASKED,             /* two facts, some words hidden: encoder */
    LAB_LABEL,              /* does one of two facts imply the other? encoder, a class a pair */
    LAB_RANDOM,             /* tokens of 64, random targets: encoder; nothing to learn */
    LAB_DISTINCT            /* all tokens of a batch differ: encoder, the theory's input */
} lab_task;
typedef struct lab_task_row {
    const char *name, *row;             /* name in keys; row in tasks.h, NULL: none */
    int         most;                   /* its largest size; 0: the row's */
    bool        letters;                /* by letters, not words */
    int32_t     time, source_time;      /* tokens of a sentence */
    int32_t     answer;                 /* tokens of the longest answer; 0: time */
} lab_task_row;
enum { LAB_TASKS = LAB_DISTINCT + 1 };
extern const lab_task_row lab_tasks[LAB_TASKS];

/* A text of the user: its last tenth is the test. Bytes are numbered as they first appear. */
enum { LAB_LEAST_TEXT = 1000 };
struct lab_corpus {
    unsigned char *text;
    size_t   bytes;
    int32_t  kinds, number[256];        /* number of a byte, from 0; -1: it does not appear */
    uint64_t hash;                      /* FNV-1a, so that a key identifies the text */
};
extern struct lab_corpus lab_corpus;

/* Pairs of the user: subwords of both sides, by part. */
enum { LAB_TRAINING, LAB_VALID, LAB_HELD_OUT, LAB_PARTS, LAB_SUBWORDS = 31 };
typedef struct lab_pair { uint16_t n, m, source[LAB_SUBWORDS], target[LAB_SUBWORDS]; } lab_pair;
struct lab_pairs {
    int32_t   vocab, count[LAB_PARTS];  /* vocab 0: none were given */
    lab_pair *rows[LAB_PARTS];
    uint64_t  hash;                     /* of all three files */
    void    (*text)(char *text, size_t room, const int32_t *ids, int32_t n);    /* of ids */
};
extern struct lab_pairs lab_pairs;

typedef struct lab_spec {
    lab_task    task;
    int32_t     layers, decoder_layers;       /* decoder_layers 0: layers */
    int32_t     width, heads, ffn, batch;
    const char *recipe;
    const char *decoder;      /* recipe whose topology the decoder has; NULL: the same */
    const char *init, *norm;  /* NULL: the recipe's */
    tfn_optimizer optimizer;
    double      lr, beta1, beta2, dropout, smoothing;
    double      inner;        /* dropout of attention and activations */
    int32_t     corpus;       /* training sentences; 0: endless */
    tfn_schedule_kind schedule;
    int64_t     warmup, steps;
    int64_t     anchor;       /* update from which the inverse square root falls */
    int64_t     stop;         /* end training after this many of the steps */
    bool        settle;       /* train until the loss settles, at most `steps`: lab_go_on */
    int64_t     every;        /* updates between its checks; 0: lab_every */
    bool        each;         /* with `step`: also move each layer separately */
    bool        at_512;       /* B2T without norms as at width 512, with a final norm */
    bool        half;         /* simulated half precision */
    int64_t     tune;         /* updates of a classifier, after each quarter of the steps */
    bool        fold;         /* compare with the folded model at the end */
    bool        trace;        /* observe updates 1, 2, 4, 8 ...: lab_trace */
    bool        without;      /* at the end, the loss without each of the layers */
    bool        plain;        /* embeddings are not multiplied by sqrt(d), as muP requires */
    int32_t     base;         /* muP: the width that rates are for; 0: none */
    bool        score;        /* greedy decoding at the end: accuracy, BLEU, ROUGE, WER */
    bool        look;         /* at the end, observe values and gradients of all sub-layers */
    bool        theory;       /* W_Q = W_K = 0, W_O = 1, N(0, 1) embeddings without positions */
    bool        itself;       /* with `theory`: W_Q = W_K = 1, each token attends to itself */
    double      alpha;        /* initial alpha of DyT; 0: the norm's own */
    double      noise;        /* > 0: shift of the output after +-noise on each matrix entry */
    double      step;         /* > 0: the same, but by this much against the gradient's sign */
    uint64_t    seed;
    bool        few;          /* a quarter of the seeds; not part of the key */
    tfn_isa     isa;          /* changes no number, so it is not part of the key either */
} lab_spec;

/* A run with `settle` checks its loss 40 times within its most updates. */
enum { LAB_CHECKS = 40 };
int64_t lab_every(const lab_spec *s);

/* The same run with three times the most updates and the same checks. A run that has not settled is
 * measured again with this spec (lab_final). Up to the last fifth both have the same numbers. */
enum { LAB_LONGER = 3 };
lab_spec lab_longer(lab_spec s);

enum { LAB_LISTS = 112, LAB_KEY = 320, LAB_USERS = 4 };
typedef struct lab_list { char name[28]; int32_t n; double *v; } lab_list;
typedef struct lab_record {
    char     key[LAB_KEY];
    lab_spec spec;
    bool     done, left;      /* left: not measured in this run because it costs too much */
    uint32_t asked;           /* see lab */
    uint64_t users[LAB_USERS];      /* claims that asked for it, a bit each */
    double   seconds;
    int32_t  count;
    lab_list lists[LAB_LISTS];
} lab_record;

/* Creates the list of a name with room for n numbers, all NaN. */
double *lab_put(lab_record *r, int32_t n, const char *format, ...);

const lab_list *lab_list_of(const lab_record *r, const char *name);

/* The key of a measurement. Zeros and defaults are left out, so that keys stay valid. */
void lab_key_text(char *text, const lab_spec *s);

bool lab_is_pair(lab_task t);
bool lab_is_text(lab_task t);
int32_t lab_depth(const lab_spec *s, bool decoder);
#endif
