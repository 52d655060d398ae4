/* Toy languages for translation between pairs that training lacks: five languages, each with its
 * own words and word order, that express the same meanings. Training translates between the first,
 * the pivot, and the others; pairs of the others are only in the test. A sentence of 3 to 6 words
 * says who does what to whom, perhaps when, and describes them. */
#ifndef TONGUES_H
#define TONGUES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TONGUES = 5, TONGUE_NOUNS = 8, TONGUE_VERBS = 6, TONGUE_ADJECTIVES = 6, TONGUE_ADVERBS = 4,
    TONGUE_WORDS = TONGUE_NOUNS + TONGUE_VERBS + TONGUE_ADJECTIVES + TONGUE_ADVERBS,
    TONGUE_LONGEST = 6,
    TONGUE_MEANINGS = TONGUE_NOUNS * TONGUE_NOUNS * TONGUE_VERBS * (TONGUE_ADVERBS + 1)
                    * (TONGUE_ADJECTIVES + 1) * (TONGUE_ADJECTIVES + 1)
};

/* Numbers of words within their class; -1: none. */
typedef struct tongue_meaning {
    int32_t verb, adverb, noun[2], adjective[2];        /* [0] subject, [1] object */
} tongue_meaning;

/* True for an eighth of all meanings, spread evenly, which only the test uses. */
bool tongue_is_test(int32_t number);

/* The meaning for a random number, from the training or the test meanings. */
tongue_meaning tongue_draw(uint64_t draw, bool test);

/* The words of a meaning in a language, from 0 to TONGUES * TONGUE_WORDS - 1; returns how many. */
int32_t tongue_say(int32_t words[TONGUE_LONGEST], const tongue_meaning *m, int tongue);

int tongue_of(int32_t word);

/* Two languages: the pivot and another one in either order; if `unseen`, two others. */
void tongue_pair(uint64_t draw, bool unseen, int pair[2]);
#endif
