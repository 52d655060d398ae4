/* Rows of Takase 2022 (B): what the rows of other papers share with them. */
#ifndef TAKASE_H
#define TAKASE_H

#include "claims.h"
#include "lab.h"

extern const char *const post_pre_b2t[];

/* -- gradients at the start -------------------------------------------------------------------- */

void b3a(lab *l, outcome *o);
void b4(lab *l, outcome *o);

/* -- what layers do ---------------------------------------------------------------------------- */

void b5a(lab *l, outcome *o);
#endif
