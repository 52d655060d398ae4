/* The placements, norms and initializations of the sides of a comparison. A comparison names every
 * difference between its sides. */
#ifndef SIDES_H
#define SIDES_H

#include "lab_spec.h"

enum { SIDES_TEXT = 400 };
typedef struct sides {
    char placements[SIDES_TEXT], norms[SIDES_TEXT], inits[SIDES_TEXT];      /* "a, b", each once */
} sides;

/* The init of a spec: the one that it names, or its recipe's. */
const char *side_init(const lab_spec *s);

/* The init to use for all sides: `init`, if the spec names none and its recipe's own is a general
 * one. An init that is part of a method (DeepNorm, T-Fixup, Fixup ...) stays. NULL: the
 * recipe's. */
const char *side_init_wanted(const lab_spec *s, const char *init);

void sides_add(sides *x, const lab_spec *s);

/* "placement; initialization: xavier, fairseq"; empty without a difference. */
const char *sides_differ(const sides *x);
#endif
