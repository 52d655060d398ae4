/* Drawings of the block of a topology, the steps of a norm and the gains of an init. */
#ifndef BLOCK_H
#define BLOCK_H

#include "../../tfnorm.h"
#include "drawing.h"
#include "features.h"
#include <stdint.h>

/* -- the block of a topology ------------------------------------------------------------------- */

/* A layer is drawn downwards: the stream x in the column TRUNK, what F does with it in BRANCH, the
 * layer's input x_0 in RAIL where a sum wants it, ResiDual's second stream in SIDE. The functions
 * below draw from row y on and return the next row that is free. */
enum { RAIL = 3, TRUNK = 22, BRANCH = 52, SIDE = 76 };

typedef struct block {          /* what is drawn: a layer of a topology */
    const tfn_topology *t;
    const char *norm;           /* its name; "" if open */
    shape       s;
    int         stack;          /* in which the layer is: DECODER, LONE_DECODER ... */
    int32_t     layer;
} block;
/* A scale as it stands in a formula: a number, or the name of what is learned. The texts of numbers
 * stay until four more were made. */
const char *scale_name(const tfn_scale_rule *s, const tfn_place *p);

const char *sublayer_name(tfn_sublayer kind);

/* Embedding, the layer with dots for those before and behind it, output; returns the next row. */
int draw_block(drawing *d, const block *b, int y);

/* -- the steps of a norm ----------------------------------------------------------------------- */

int draw_norm(drawing *d, const tfn_norm_rule *n, int y);

/* -- the gains of an init ---------------------------------------------------------------------- */

void draw_init(drawing *d, const tfn_init_rule *w, shape s, int y);
#endif
