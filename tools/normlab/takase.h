/* Rows of Takase 2022 (B): parts that the rows of other papers share. */
#ifndef TAKASE_H
#define TAKASE_H

#include "claims.h"
#include "lab.h"

extern const char *const post_pre_b2t[];

/* -- gradients at the start -------------------------------------------------------------------- */

void b3a(lab *l, outcome *o);
void b4(lab *l, outcome *o);

/* -- the effect of layers ---------------------------------------------------------------------- */

void b5a(lab *l, outcome *o);
#endif
