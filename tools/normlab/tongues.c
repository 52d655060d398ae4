/* Sentences of the toy languages, made from the number of their meaning. */
#include "tongues.h"

/* S subject, O object, V verb, T adverb; before: adjectives come before their nouns */
static const struct { char order[5]; bool before; } tongue_rows[TONGUES] = {
    { "SVOT", true }, { "SOVT", false }, { "VSOT", true }, { "TOSV", false }, { "OVST", true }
};

/* Takes a digit out of a number and leaves the rest. */
static int32_t tongue_digit(int32_t *number, int32_t kinds)
{
    const int32_t digit = *number % kinds;
    *number /= kinds;
    return digit;
}

bool tongue_is_test(int32_t number)
{
    return ((uint32_t)number * 2654435761u >> 24) % 8 == 0;
}

tongue_meaning tongue_draw(uint64_t draw, bool test)
{
    int32_t number = (int32_t)(draw % TONGUE_MEANINGS);
    tongue_meaning m;
    while (tongue_is_test(number) != test) number = (number + 1) % TONGUE_MEANINGS;
    for (int who = 0; who < 2; who++) {
        m.noun[who] = tongue_digit(&number, TONGUE_NOUNS);
        m.adjective[who] = tongue_digit(&number, TONGUE_ADJECTIVES + 1) - 1;
    }
    m.verb = tongue_digit(&number, TONGUE_VERBS);
    m.adverb = number - 1;
    return m;
}

int32_t tongue_say(int32_t words[TONGUE_LONGEST], const tongue_meaning *m, int tongue)
{
    const int32_t verbs = TONGUE_NOUNS, adjectives = verbs + TONGUE_VERBS;
    const int32_t adverbs = adjectives + TONGUE_ADJECTIVES;
    const bool before = tongue_rows[tongue].before;
    int32_t n = 0;
    for (const char *part = tongue_rows[tongue].order; *part; part++) {
        const int who = *part == 'O';
        if (*part == 'V') words[n++] = verbs + m->verb;
        if (*part == 'T' && m->adverb >= 0) words[n++] = adverbs + m->adverb;
        if (*part == 'V' || *part == 'T') continue;
        if (before && m->adjective[who] >= 0) words[n++] = adjectives + m->adjective[who];
        words[n++] = m->noun[who];
        if (!before && m->adjective[who] >= 0) words[n++] = adjectives + m->adjective[who];
    }
    for (int32_t i = 0; i < n; i++) words[i] += tongue * TONGUE_WORDS;
    return n;
}

int tongue_of(int32_t word) { return word / TONGUE_WORDS; }

void tongue_pair(uint64_t draw, bool unseen, int pair[2])
{
    const int others = TONGUES - 1;
    const int first = (int)(draw % (uint64_t)others);
    const int way = (int)(draw / (uint64_t)others % 2);
    pair[way] = 0;
    pair[1 - way] = 1 + first;
    if (!unseen) return;
    pair[0] = 1 + first;
    pair[1] = 1 + (first + 1 + (int)(draw / (uint64_t)others % (uint64_t)(others - 1))) % others;
}
