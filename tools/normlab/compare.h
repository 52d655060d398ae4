/* normlab compare: trains recipes in lock step on one task. Prints their loss curves and gradients
 * by layer while they run and writes them as SVG at the end. The page of tools/web uses the same
 * options, so that its command line and this one give the same bits. */
#ifndef COMPARE_H
#define COMPARE_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include "lab_data.h"
#include "lab_score.h"
#include <stdbool.h>

enum { COMPARED = 8, COMPARE_LAYERS = 64 };     /* only eight curves are easy to tell apart */

/* One recipe: its losses at LAB_POINTS + 1 times, and the gradients of its last update. */
typedef struct compared {
    lab_spec  spec;
    tfn_model model;
    bool      probes;                           /* the model can be watched */
    bool      ok;                               /* false: an update failed; later losses are NaN */
    double    loss[LAB_POINTS + 1];
    double    gradient[COMPARE_LAYERS];         /* of W_2, by layer of the decoder */
} compared;

typedef struct comparison {
    compared  run[COMPARED];
    int       count, points;                    /* recipes; losses so far */
    double    updates[LAB_POINTS + 1], layers[COMPARE_LAYERS];      /* x of the two plots */
    lab_data  data, test;
} comparison;

/* -- training ---------------------------------------------------------------------------------- */

bool compare_start(comparison *x);

/* -- the command ------------------------------------------------------------------------------- */

/* An instruction set that this machine has. tfn_isa_find would return the best for unknown
 * names. */
tfn_isa isa_named(const cli *c, const char *name);

/* Reads the text to learn, or the pairs; a web page has no files. */
bool compare_text(cli *c);
bool compare_pairs(cli *c);

/* Output options. */
typedef struct compare_wishes {
    const char *svg;                            /* NULL: no pictures */
    long        hash;                           /* updates before the hash; below 0: curves */
} compare_wishes;

void compare_arguments(cli *c, comparison *x, compare_wishes *w);

int compare_command(cli *c);
#endif
