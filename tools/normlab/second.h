/* normlab second: the second stage. Rows that the thorough run leaves undecided are measured again
 * with fresh seeds, as many as its own numbers ask for, and judged by these only. The rule is in
 * second.c; it was committed before any of its results. */
#ifndef SECOND_H
#define SECOND_H

#include "claims.h"
#include "../common/cli.h"

/* What the second stage does with a row after the first. */
typedef enum second_fate {
    FATE_UNMEASURED,            /* the first stage is not complete */
    FATE_DECIDED,               /* nothing to do */
    FATE_TOO_CLOSE,             /* more than 999 seeds */
    FATE_TOO_COSTLY,            /* more than a core hour */
    FATE_AGAIN                  /* measured with fresh seeds */
} second_fate;

/* The factor by which the samples of the first stage must grow to decide every open criterion; 0:
 * more than JUDGE_SEEDS seeds. */
double second_growth(const claim *c, const outcome *o);

/* The growth for a row whose samples cost `seconds` at `growth`: twice as much, or what a core hour
 * pays for; 0: it does not pay for `growth`. */
double second_affordable(double growth, double seconds);

int second_command(cli *c);
#endif
