/* normlab compare: recipes trained in lock step on one task, their loss curves and gradients
 * by layer as text while they run, as SVG at the end. The page of tools/web trains by these
 * options, too, so that its command line and this one give the same bits. */
#ifndef COMPARE_H
#define COMPARE_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include "lab_data.h"
#include "lab_score.h"
#include <stdbool.h>

enum { COMPARED = 8, COMPARE_LAYERS = 64 };     /* eight curves at most look different */

/* One recipe: its losses at LAB_POINTS + 1 times, and the gradients of its last update. */
typedef struct compared {
    lab_spec  spec;
    tfn_model model;
    bool      probes;                           /* it can be watched */
    bool      ok;                               /* false: an update failed, the rest is NaN */
    double    loss[LAB_POINTS + 1];
    double    gradient[COMPARE_LAYERS];         /* of W_2 by layer, of the decoder */
} compared;

typedef struct comparison {
    compared  run[COMPARED];
    int       count, points;                    /* recipes; losses so far */
    double    updates[LAB_POINTS + 1], layers[COMPARE_LAYERS];      /* the x of both plots */
    lab_data  data, test;
} comparison;

/* -- training ---------------------------------------------------------------------------------- */

bool compare_start(comparison *x);

/* -- the command ------------------------------------------------------------------------------- */

/* An instruction set that this machine has; tfn_isa_find takes an unknown name for the best. */
tfn_isa isa_named(const cli *c, const char *name);

/* The text that is learned; a page has no files. */
bool compare_text(cli *c);

/* What is done with the runs. */
typedef struct compare_wishes {
    const char *svg;                            /* NULL: no pictures */
    long        hash;                           /* below 0: curves; else updates before the hash */
} compare_wishes;

void compare_arguments(cli *c, comparison *x, compare_wishes *w);

int compare_command(cli *c);
#endif
