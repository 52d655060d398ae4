/* Drawings of the block of a topology, the steps of a norm and the gains of an init. */
#ifndef BLOCK_H
#define BLOCK_H

#include "../../tfnorm.h"
#include "drawing.h"
#include "features.h"
#include <stdint.h>

/* -- the block of a topology ------------------------------------------------------------------- */

/* A layer is drawn downwards: the stream x in the column TRUNK, its branch F in BRANCH, the layer's
 * input x_0 in RAIL if a sum uses it, ResiDual's second stream in SIDE. The functions below draw
 * from row y on and return the next free row. */
enum { RAIL = 3, TRUNK = 22, BRANCH = 52, SIDE = 76 };

typedef struct block {          /* the subject of a drawing: a layer of a topology */
    const tfn_topology *t;
    const char *norm;           /* its name; "" for any norm */
    shape       s;
    int         stack;          /* the layer's stack: DECODER, LONE_DECODER ... */
    int32_t     layer;
} block;
/* A scale as a formula shows it: a number, or the name of a learned parameter. The text of a number
 * is valid until four more were made. */
const char *scale_name(const tfn_scale_rule *s, const tfn_place *p);

const char *sublayer_name(tfn_sublayer kind);

/* Draws only the layer. */
int draw_layer(drawing *d, const block *b, int y);

/* Draws the embedding, the layer with dots for its neighbours, and the output. Returns the next
 * free row. */
int draw_block(drawing *d, const block *b, int y);

/* -- the steps of a norm ----------------------------------------------------------------------- */

int draw_norm(drawing *d, const tfn_norm_rule *n, int y);

/* -- the gains of an init ---------------------------------------------------------------------- */

void draw_init(drawing *d, const tfn_init_rule *w, shape s, int y);
#endif
