#ifndef TFN__TOPOLOGIES_H
#define TFN__TOPOLOGIES_H
#include "../ground/ground.h"

/* Prepares the reading of methods.h, where each method has one block: its formula and paper,
 * functions for what differs by place (the rules of a topology or an initialization), and its
 * rows. A row is a topology, a norm, an initialization, or a recipe, which names one of each. Rows
 * of users have the same rights as rows of the library. A block says where published code differs
 * from its paper; the row without a suffix is the paper's form. Builds on the public rows of
 * api_tape.
 *
 * The blocks are read five times: here for the rules, with rows that expand to nothing, then once
 * for each table (see method_tables). To add a method, write a block: functions between #ifdef
 * TFN__RULES and #endif, then rows. */

#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC optimize("Og", "fp-contract=off")
#endif
TFN__RARE

/* The macros of rows. Each table redefines the ones it needs. */
#define TFN__TOPOLOGY(...)
#define TFN__AGGREGATED(...)
#define TFN__NORM(...)
#define TFN__NORM_OF(...)
#define TFN__POINT(...)
#define TFN__INIT(...)
#define TFN__INIT_STD(...)
#define TFN__RECIPE(...)
#define TFN__RULES

#if TFN__ALL
static tfn_scale_rule tfn__scale_of(tfn_scale_kind kind, double value)
{
    tfn_scale_rule s;
    TFNORM_MEMSET(&s, 0, sizeof s);
    s.kind = kind;
    s.value = (float)value;
    return s;
}

static tfn_scale_rule tfn__constant_of(double a) { return tfn__scale_of(TFN_SCALE_CONSTANT, a); }

/* Gains of all matrices of a sub-layer. */
static void tfn__all_gains(tfn_gains *g, double a)
{
    g->q = g->k = g->v = g->o = g->w1 = g->w2 = (float)a;
}

/* Gains of the matrices that scale the branch. Queries and keys do not: they only steer a softmax.
 */
static void tfn__branch_gains(tfn_gains *g, double a)
{
    g->v = g->o = g->w1 = g->w2 = (float)a;
}

static void tfn__qkv_gains(tfn_gains *g, double a) { g->q = g->k = g->v = (float)a; }

/* The factor for q, k and v drawn as one C x 3C matrix: sqrt(2/(C + 3C)) over Xavier's sqrt(2/(C +
 * C)). */
#define TFN__FUSED 0.70710678118654752

/* Returns the number of sub-layers of a stack: 2 a layer, or 3 with cross-attention. */
static int32_t tfn__sublayers(const tfn_place *p)
{
    if (p->decoder && !p->alone) return 3 * p->depth;
    return 2 * p->depth;
}
#endif
#define TFN__METHODS          /* read the blocks of `methods` */
#endif /* TFN__TOPOLOGIES_H */
