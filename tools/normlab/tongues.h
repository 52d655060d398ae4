/* Toy languages for translation between pairs that training never had: five of them, each with
 * words of its own and an order of its own, which say the same things. Training translates between
 * the first, the pivot, and the others; between the others there is only the test. A sentence of 3
 * to 6 words says who does what to whom, perhaps when, and of what kind they are. */
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
    int32_t verb, adverb, noun[2], adjective[2];        /* [0] of the subject, [1] of the object */
} tongue_meaning;

/* An eighth of all meanings, spread evenly, is for the test alone. */
bool tongue_is_test(int32_t number);

/* The meaning that a random number draws, of training or of the test. */
tongue_meaning tongue_draw(uint64_t draw, bool test);

/* Its words in a tongue, numbers from 0 to TONGUES * TONGUE_WORDS - 1; returns how many. */
int32_t tongue_say(int32_t words[TONGUE_LONGEST], const tongue_meaning *m, int tongue);

int tongue_of(int32_t word);

/* Two tongues: the pivot and another one, either way; or, unseen, two others. */
void tongue_pair(uint64_t draw, bool unseen, int pair[2]);
#endif
