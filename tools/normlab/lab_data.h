/* Batches and models for the measurements: the sentences of every task as token ids, vocabularies,
 * the sounds of spoken digits, and the model options of a spec. */
#ifndef LAB_DATA_H
#define LAB_DATA_H

#include "../../tfnorm.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stdint.h>

enum { LAB_TIME = 32, LAB_TEST = 128 };             /* longest sentence; sentences of the test */
enum { LAB_PAD, LAB_BEGIN, LAB_END, LAB_FIRST };    /* ids in tasks of pairs */
enum { LAB_IDS = 4096 };                            /* no task has more */

typedef struct lab_data {
    int32_t   source[LAB_TEST * LAB_TIME], tokens[LAB_TEST * LAB_TIME];
    int32_t   targets[LAB_TEST * LAB_TIME], lengths[LAB_TEST], source_lengths[LAB_TEST];
    tfn_batch batch;
} lab_data;

/* The words or letters of tasks.h. Ids are in alphabetical order, the same for all seeds. */
enum { LAB_WORDS = 256, LAB_WORD = 24, LAB_SAMPLES = 4000 };
typedef struct lab_words { int32_t count; char text[LAB_WORDS][LAB_WORD]; } lab_words;
extern lab_words lab_vocabularies[LAB_LABEL + 1];       /* filled by lab_prepare, then constant */

void lab_number_bytes(struct lab_corpus *c);

/* Reads a text to learn. NULL, or the reason why a file is not suitable. */
const char *lab_take_text(const char *path);

/* Call before measuring: fills the vocabularies. */
void lab_prepare(void);

/* Call once before measuring speech: synthesizes all sentences. */
bool lab_speak(void);

int32_t lab_time(lab_task t);
int32_t lab_answer(lab_task t);

int32_t lab_vocab(const lab_spec *s);

/* Toy languages: the source begins with the name of the target language (Johnson 2017). The test
 * has its own meanings. LAB_UNSEEN also has pairs of languages that training lacks. */
extern const uint64_t LAB_UNSEEN;
extern const int32_t LAB_WORD_IDS;

/* Batch number `LAB_HELD - k` has rows 128 k to 128 k + 127 of the pairs that are held out. */
extern const uint64_t LAB_HELD;
enum { LAB_HELD_BATCHES = 8 };

/* Fills in batch `which` of a seed. Seed UINT64_MAX, which no run uses, is the test. */
void lab_fill(lab_data *d, const lab_spec *s, int32_t rows, uint64_t seed, uint64_t which);

/* The loss of guessing by the frequencies in the test, in nats. */
double lab_unigram(const lab_data *test);

tfn_model_desc lab_desc(const lab_spec *s, bool probes);

/* Sets weights for the theorems (Xiong 2020, 3.3): uniform attention, one matrix W_V, x_0 normal.
 * Or each token attends to itself: with W_Q = W_K = 1 its score is sqrt(d), the others are near
 * 0. */
void lab_theory(tfn_model *m, const lab_spec *s);
void lab_alpha(tfn_model *m, double alpha);
#endif
