/* Generated tasks: endless, seeded, with exact references, the same on every machine.
 *
 *     task_options options = { 0 };                    // seed 0, the task's own sizes
 *     const task *t = task_find("translate");          // task_at(i): all of them
 *     task_item item;
 *     task_make(&item, t, &options, TASK_TRAIN, i);    // item i: item.source, item.target
 *
 * Item i of a split is drawn by the key (seed, task, split, i) and depends on nothing else. Splits
 * are disjoint by content, for all seeds together. The hash of an item's input (for translations
 * and texts, of its output) decides its split: 14/16 are for training and 1/16 each for validation
 * and test. Items of other splits are drawn again. So no source of one split is in another; within
 * a split short items may be repeated. Texts are UTF-8 without capitals at the start, with a final
 * zero. A word-level tokenizer has one piece for a word in all places if a space is put before each
 * text (data_options.space). */
#ifndef TASKS_H
#define TASKS_H

#include "../../tfnorm.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum task_kind {
    TASK_PAIR,          /* source, target */
    TASK_LABEL,         /* source, second or "", target and label: one of the task's classes */
    TASK_TEXT,          /* target */
    TASK_SPEECH         /* target; task_features makes the sound */
} task_kind;
typedef enum task_split { TASK_TRAIN, TASK_VALID, TASK_TEST } task_split;
enum { TASK_BYTES = 1024, TASK_CLASSES = 4, TASK_BANDS = 24, TASK_FRAMES = 128 };

typedef struct task_options {
    uint64_t seed;
    int      min, max;          /* sizes, see the rows; 0: the row's; cut to the row's most */
    int      symbols;           /* letters of copy, reverse, sort, words of markov; 0: the row's */
} task_options;

typedef struct task_item {
    char    source[TASK_BYTES], second[TASK_BYTES], target[TASK_BYTES];
    int32_t label;
    tfn_key key;                /* key of its voice */
} task_item;

/* Random numbers in order: number `at` of a key. */
typedef struct task_draw { tfn_key key; uint64_t at; int min, max, symbols; } task_draw;

/* -- a grammar: German-like and English-like -------------------------------------------------- */

enum { TASK_THE, TASK_THE_MANY, TASK_A, TASK_COUNT };           /* determiners */
enum { TASK_PRESENT, TASK_PERFECT, TASK_CAN, TASK_WANT, TASK_TENSES };
enum { TASK_SUBJECT_FIRST, TASK_ADVERB_FIRST, TASK_OBJECT_FIRST, TASK_CLAUSE_FIRST };
enum { TASK_NO_GAP, TASK_SUBJECT_GAP, TASK_OBJECT_GAP };        /* role of a relative pronoun */

typedef struct task_np { int noun, adjective, determiner, number, relative; } task_np;  /* -1: no */
typedef struct task_clause {
    int     verb, tense, first, gap, adverb;
    bool    negated;
    task_np subject, object;
} task_clause;
/* Clause 0 is the main one. Clause 1 follows the conjunction `joint`, unless that is -1. The others
 * are relative clauses. */
enum { TASK_CLAUSES = 6 };
typedef struct task_sentence { task_clause clause[TASK_CLAUSES]; int count, joint; } task_sentence;

/* -- German */

void task_german(char *text, const task_sentence *s);

/* -- English */

void task_english(char *text, const task_sentence *s, bool hidden);

/* -- spoken digits ---------------------------------------------------------------------------- */

enum { TASK_RATE = 8000, TASK_WINDOW = 200, TASK_HOP = 80, TASK_FFT = 256 };

/* Replaces x = re + i im, 256 values, by sum over n of x_n exp(-2 pi i k n / 256), k with reversed
 * bits: decimation in frequency. */
void task_fft(double *re, double *im);

/* Features (frames, TASK_BANDS) of a spoken item, 100 frames a second; room for TASK_FRAMES of
 * them. Returns how many, 0: not a spoken item. */
int32_t task_features(float *features, const task_item *item);

/* -- the table -------------------------------------------------------------------------------- */

typedef struct task {
    const char *name;
    task_kind   kind;
    const char *formula, *text;
    int         min, max, most;             /* sizes if options have none; the largest */
    int         symbols, most_symbols;
    tfn_tokenizer_kind tokens;              /* suitable tokens: characters or words */
    bool        by_target;                  /* the target decides the split */
    const char *classes[TASK_CLASSES];      /* for TASK_LABEL, ends with NULL */
    void      (*make)(task_item *item, task_draw *r);
} task;

const task *task_at(int i)            /* NULL: past the end */;

const task *task_find(const char *name);

/* The split of a text: FNV-1a, mixed. */
task_split task_split_of(const char *text, size_t bytes);

/* False if none of 4096 draws belongs to the split: then the sizes leave too few items. */
bool task_make(task_item *item, const task *t, const task_options *o, task_split split, uint64_t i);
#endif
