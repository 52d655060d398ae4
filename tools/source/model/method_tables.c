#define TFNORM_FILE "methods.h"
#include "method_tables.h"
#include "../ground/ground.h"
#include "topologies.h"
#include "../ground/math.h"
#include "methods.h"

/* Builds the tables of norms, topologies, initializations and recipes from the blocks of
 * methods.h, and offers the public functions that look rows up by number or by name. Builds on
 * methods and topologies. */

/* -- tables of the rows ---------------------------------------------------------------------- */

/* Each table defines the macro of its rows and reads the blocks again, with TFN__IMPLEMENTING
 * undefined. */
#undef TFN__RULES
#undef TFN__IMPLEMENTING

/* Norms: the function (kind) and what is learned (flags). eps 0 means 1e-5; part 0 means all
 * channels. */
enum { TFN__AFFINE = TFN_FLAG_GAIN | TFN_FLAG_BIAS };
#undef TFN__NORM
#undef TFN__NORM_OF
#undef TFN__POINT
#define TFN__NORM(name, formula, paper, year, kind, flags)                                         \
    { name, TFN__ROW_TEXTS(formula, paper), year, TFN_NORM_##kind, flags, 0, 0, TFN_SQUASH_TANH },
#define TFN__NORM_OF(name, formula, paper, year, kind, flags, eps, part)                           \
    { name, TFN__ROW_TEXTS(formula, paper), year,                                                  \
      TFN_NORM_##kind, flags, (float)(eps), (float)(part),                                         \
      TFN_SQUASH_TANH },
#define TFN__POINT(name, formula, paper, year, flags, squash)                                      \
    { name, TFN__ROW_TEXTS(formula, paper), year,                                                  \
      TFN_NORM_POINT, TFN__AFFINE | (flags), 0, 0,                                                 \
      TFN_SQUASH_##squash },
SHARED const tfn_norm_rule tfn__norms[] = {
#include TFNORM_FILE
};
#undef TFN__NORM
#undef TFN__NORM_OF
#undef TFN__POINT
#define TFN__NORM(...)
#define TFN__NORM_OF(...)
#define TFN__POINT(...)

/* Topologies: a host, flags for the ends of the stack, and a rule or NULL. The host is the join
 * before the rule changes it. A stack whose stream is not normalized has a final norm, except BARE
 * ones, which have no norms. */
#define TFN__NO_SCALE  { TFN_SCALE_NONE, 0, 0, 0, 0, 0 }
#define TFN__JOIN(in, branch, sum)                                                                 \
    { in, branch, sum, false, false, false, false, false, TFN_SOURCE_STREAM, TFN_SOURCE_STREAM,    \
      TFN_QK_NORM_DEFAULT, TFN_HEAD_SCALE_NONE, TFN__NO_SCALE, TFN__NO_SCALE, TFN__NO_SCALE,       \
      TFN__NO_SCALE }
#define TFN__HOST_BARE    TFN__JOIN(false, false, false)
#define TFN__HOST_POST    TFN__JOIN(false, false, true)
#define TFN__HOST_PRE     TFN__JOIN(true, false, false)
#define TFN__HOST_PERI    TFN__JOIN(true, true, false)
#define TFN__HOST_BRANCH  TFN__JOIN(false, true, false)
#define TFN__HOST_UNIT    TFN__JOIN(false, true, true)
enum {
    TFN__ENDS_BARE = 0, TFN__ENDS_POST = 0, TFN__ENDS_UNIT = 0,
    TFN__ENDS_PRE = TFN_TOPOLOGY_FINAL_NORM, TFN__ENDS_PERI = TFN_TOPOLOGY_FINAL_NORM,
    TFN__ENDS_BRANCH = TFN_TOPOLOGY_FINAL_NORM
};
/* Columns of a rule for mixing layers: groups, channels, softmax, ones, window. */
#define TFN__MIX_SCALAR      { 0, false, false, false, 0 }
#define TFN__MIX_SOFTMAX     { 0, false, true, false, 0 }
#define TFN__MIX_VECTOR      { 0, true, false, false, 0 }
#define TFN__MIX_TWO_GROUPS  { 2, false, false, false, 0 }
#define TFN__MIX_ONES        { 0, false, false, true, 0 }
#define TFN__MIX_LAST_THREE  { 0, false, true, false, 3 }
#undef TFN__TOPOLOGY
#undef TFN__AGGREGATED
#define TFN__TOPOLOGY(name, formula, paper, year, host, flags, rule)                               \
    { name, TFN__ROW_TEXTS(formula, paper), year,                                                  \
      (uint32_t)TFN__ENDS_##host | (uint32_t)(flags),                                              \
      TFN_AGGREGATE_NONE, rule, TFN__HOST_##host, TFN__HOST_##host, TFN__MIX_SCALAR, 0, 0 },
#define TFN__AGGREGATED(name, formula, paper, year, host, aggregate, mix)                          \
    { name, TFN__ROW_TEXTS(formula, paper), year,                                                  \
      TFN__ENDS_##host, TFN_AGGREGATE_##aggregate, NULL,                                           \
      TFN__HOST_##host, TFN__HOST_##host, TFN__MIX_##mix, 0, 0 },
static const tfn_topology tfn__topologies[] = {
#include TFNORM_FILE
};
#undef TFN__TOPOLOGY
#undef TFN__AGGREGATED
#define TFN__TOPOLOGY(...)
#define TFN__AGGREGATED(...)

/* Initializations: distributions for attention and for the feed-forward, flags for what else is
 * drawn, and a rule or NULL. In formulas, gains by matrix multiply the base distribution. Biases
 * are 0 unless the formula says otherwise. */
enum {
    TFN__ZERO_OUTPUT = 1, TFN__ZERO_BRANCH = 2, TFN__QKV_BIAS = 4, TFN__GAIN_BIAS = 8,
    TFN__UNIT_VARIANCE = 16, TFN__TABLE_OUTPUT = 32
};
#undef TFN__INIT
#undef TFN__INIT_STD
#define TFN__INIT(name, formula, paper, year, base, ffn_base, flags, rule)                         \
    { name, TFN__ROW_TEXTS(formula, paper), year,                                                  \
      TFN_DISTRIBUTION_##base, TFN_DISTRIBUTION_##ffn_base, 0, 0,                                  \
      ((flags) & TFN__ZERO_OUTPUT) != 0, ((flags) & TFN__ZERO_BRANCH) != 0,                        \
      ((flags) & TFN__QKV_BIAS) != 0, ((flags) & TFN__GAIN_BIAS) != 0,                             \
      ((flags) & TFN__UNIT_VARIANCE) != 0, ((flags) & TFN__TABLE_OUTPUT) != 0, rule },
#define TFN__INIT_STD(name, formula, paper, year, base, std, rule)                                 \
    { name, TFN__ROW_TEXTS(formula, paper), year,                                                  \
      TFN_DISTRIBUTION_##base, TFN_DISTRIBUTION_##base, (float)(std),                              \
      (float)(std), false, false, false, false, false, false, rule },
static const tfn_init_rule tfn__inits[] = {
#include TFNORM_FILE
};
#undef TFN__INIT
#undef TFN__INIT_STD
#define TFN__INIT(...)
#define TFN__INIT_STD(...)

/* Recipes: the name of a method for a topology, a norm and an initialization. */
#undef TFN__RECIPE
#define TFN__RECIPE(name, topology, norm, init) { name, topology, norm, init },
static const tfn_recipe tfn__recipes[] = {
#include TFNORM_FILE
};
#define TFN__IMPLEMENTING
#undef TFN__METHODS
#undef TFN__RECIPE
#undef TFN__TOPOLOGY
#undef TFN__AGGREGATED
#undef TFN__NORM
#undef TFN__NORM_OF
#undef TFN__POINT
#undef TFN__INIT
#undef TFN__INIT_STD
#undef TFN__NO_SCALE
#undef TFN__JOIN
#undef TFN__HOST_BARE
#undef TFN__HOST_POST
#undef TFN__HOST_PRE
#undef TFN__HOST_PERI
#undef TFN__HOST_BRANCH
#undef TFN__HOST_UNIT
#undef TFN__MIX_SCALAR
#undef TFN__MIX_SOFTMAX
#undef TFN__MIX_VECTOR
#undef TFN__MIX_TWO_GROUPS
#undef TFN__MIX_ONES
#undef TFN__MIX_LAST_THREE
#undef TFN__FUSED

/* -- lookup ---------------------------------------------------------------------------------- */

TFNORM_API tfn_join tfn_topology_join(const tfn_topology *t, const tfn_place *place)
{
    tfn_join join;
    TFNORM_MEMSET(&join, 0, sizeof join);
    if (!t || !place) return join;
    join = t->attention;
    if (place->kind == TFN_SUBLAYER_FFN || place->kind == TFN_SUBLAYER_FFN_BEFORE) join = t->ffn;
    if (t->rule) t->rule(place, &join);
    return join;
}

/* Defines tfn_KIND_at and tfn_KIND_find of a table. Every row starts with its name. */
#define TFN__LOOKUP(kind, type, table)                                                             \
    TFNORM_API const type *tfn_##kind##_at(int32_t i)                                              \
    {                                                                                              \
        const int32_t count = sizeof table / sizeof *table;                                        \
        if (i < 0 || i >= count) return NULL;                                                      \
        return table + i;                                                                          \
    }                                                                                              \
    TFNORM_API const type *tfn_##kind##_find(const char *name)                                     \
    {                                                                                              \
        const int32_t count = sizeof table / sizeof *table;                                        \
        if (!name) return NULL;                                                                    \
        for (int32_t i = 0; i < count; i++)                                                        \
            if (tfn__equal(name, table[i].name)) return table + i;                                 \
        return NULL;                                                                               \
    }
TFN__LOOKUP(norm, tfn_norm_rule, tfn__norms)
TFN__LOOKUP(topology, tfn_topology, tfn__topologies)
TFN__LOOKUP(init, tfn_init_rule, tfn__inits)
TFN__LOOKUP(recipe, tfn_recipe, tfn__recipes)
#undef TFN__LOOKUP
TFN__RARE_END
