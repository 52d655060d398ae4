#ifndef TFN__TOPOLOGIES_H
#define TFN__TOPOLOGIES_H
#include "../ground/ground.h"

#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC optimize("Og", "fp-contract=off")
#endif
TFN__RARE
/* What is known of a method stands in one block: its formula and paper, what differs by place
 * (rules of its topology and of its initialization), and its rows. A row is a topology, a norm, an
 * initialization, or a recipe, which names one of each. One builder reads the rows, and the
 * library's have no privileges over a user's. Where published code differs from its paper, the
 * block says so; the paper's form is the one without a suffix.
 *
 * The header reads the blocks five times: here for the rules, with rows that expand to nothing, and
 * then for each table, in the order of the blocks (see "tables of the rows", below them). To add a
 * method, write a block: functions between #ifdef TFN__RULES and #endif, then rows. */

/* The rows, which each table defines in its turn. */
#define TFN__TOPOLOGY(...)
#define TFN__AGGREGATED(...)
#define TFN__NORM(...)
#define TFN__NORM_OF(...)
#define TFN__POINT(...)
#define TFN__INIT(...)
#define TFN__INIT_STD(...)
#define TFN__RECIPE(...)
#define TFN__RULES

#ifdef TFN__EXTRA_NORMS
static tfn_scale_rule tfn__scale_of(tfn_scale_kind kind, double value)
{
    tfn_scale_rule s;
    TFNORM_MEMSET(&s, 0, sizeof s);
    s.kind = kind;
    s.value = (float)value;
    return s;
}

static tfn_scale_rule tfn__constant_of(double a) { return tfn__scale_of(TFN_SCALE_CONSTANT, a); }

/* All matrices of a sub-layer. */
static void tfn__all_gains(tfn_gains *g, double a)
{
    g->q = g->k = g->v = g->o = g->w1 = g->w2 = (float)a;
}

/* Those that the size of the branch is proportional to: queries and keys only steer a softmax. */
static void tfn__branch_gains(tfn_gains *g, double a)
{
    g->v = g->o = g->w1 = g->w2 = (float)a;
}

static void tfn__qkv_gains(tfn_gains *g, double a) { g->q = g->k = g->v = (float)a; }

/* Q, K and V drawn as one C x 3C matrix, sqrt(2/(C + 3C)), against Xavier's sqrt(2/(C + C)). */
#define TFN__FUSED 0.70710678118654752

/* A stack's residual sub-layers: 2 a layer, 3 with cross-attention. */
static int32_t tfn__sublayers(const tfn_place *p)
{
    if (p->decoder && !p->alone) return 3 * p->depth;
    return 2 * p->depth;
}
#endif
#define TFN__METHODS          /* reads the blocks of `methods` */
#endif /* TFN__TOPOLOGIES_H */
