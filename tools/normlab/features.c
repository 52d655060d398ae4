/* Places of a model, the features of joins, and text about them. */
#include "features.h"
#include "rows.h"
#include <stdio.h>
#include <string.h>

const char *const stack_names[] = { "encoder", "decoder", "enc only", "dec only" };

tfn_place place_at(shape s, int stack, tfn_sublayer kind, int32_t layer)
{
    tfn_place p;
    p.kind = kind;
    p.decoder = stack == DECODER || stack == LONE_DECODER;
    p.alone = stack > DECODER;
    p.layer = layer;
    p.depth = p.encoder_depth = p.decoder_depth = s.layers;
    p.width = s.width;
    return p;
}

const char *stack_name(const tfn_place *p)
{
    if (p->alone) return stack_names[LONE_ENCODER + p->decoder];
    return stack_names[ENCODER + p->decoder];
}

bool has_sublayer(const tfn_topology *t, const tfn_place *p)
{
    if (p->kind == TFN_SUBLAYER_FFN_BEFORE) return (t->flags & TFN_TOPOLOGY_MACARON) != 0;
    return p->kind != TFN_SUBLAYER_CROSS_ATTENTION || (p->decoder && !p->alone);
}

/* -- features of a join ----------------------------------------------------------------------- */

static int norms_of(const tfn_join *j)
{
    return j->norm_in + j->norm_branch + j->norm_sum;
}

static bool any_scale(const tfn_join *j, tfn_scale_kind kind)
{
    return j->in.kind == kind || j->out.kind == kind || j->skip.kind == kind
        || j->extra.kind == kind;
}

tfn_qk_norm qk_of(const tfn_join *j, const tfn_place *p)
{
    return p->kind < TFN_SUBLAYER_FFN ? j->qk : TFN_QK_NORM_NONE;
}

/* Features of a join that Pre-LN and Post-LN lack: a name, a test of join j at place p, and a text.
 * In the text, %s becomes the sub-layers with the feature, such as "attention". */
#define FEATURES(X)                                                                             \
    X(no_norm,    norms_of(j) == 0 && j->source != TFN_SOURCE_FIRST, "no norm per %s")            \
    X(one_norm,   j->source == TFN_SOURCE_FIRST,        "one norm for all of a layer")            \
    X(two_norms,  norms_of(j) == 2,                   "a second norm per %s")                   \
    X(inner,      j->norm_inner,                      "a norm inside each %s")                  \
    X(scalar,     any_scale(j, TFN_SCALE_LEARNED),    "a scalar per %s")                        \
    X(vector,     any_scale(j, TFN_SCALE_VECTOR),     "a vector per %s")                        \
    X(shared,     any_scale(j, TFN_SCALE_SHARED),     "a scalar per layer")                     \
    X(profiled,   any_scale(j, TFN_SCALE_PROFILED),   "a vector per %s, profiled")              \
    X(folded,     any_scale(j, TFN_SCALE_FOLDED),     "a vector per %s, profiled, then folded") \
    X(gate,       j->gate,                            "a gate (scalar) per layer")              \
    X(shifts,     j->shifts,                          "a shift per %s")                         \
    X(shifts_ffn, j->shifts && p->kind == TFN_SUBLAYER_FFN,    "two more in each %s")           \
    X(head_scale, j->head_scale != TFN_HEAD_SCALE_NONE, "a scalar per head and %s")               \
    X(qk_l2,      qk_of(j, p) == TFN_QK_NORM_L2,           "a scalar per %s (queries)")         \
    X(qk_cosine,  qk_of(j, p) == TFN_QK_NORM_COSINE,       "a scalar per head and %s (queries)")  \
    X(qk_head,    qk_of(j, p) == TFN_QK_NORM_HEAD,         "norms of q, k of a head per %s")      \
    X(qk_full,    qk_of(j, p) == TFN_QK_NORM_FULL,         "norms of q, k per %s")             \
    X(qk_unit,    qk_of(j, p) == TFN_QK_NORM_UNIT,         "a vector for q, k per %s")          \
    X(qkv_head,   qk_of(j, p) == TFN_QK_NORM_QKV_HEAD,        "norms of q, k, v of a head per %s") \
    X(scales,     j->scales && p->kind == TFN_SUBLAYER_FFN,    "vectors behind W_1, W_3")
#define FEATURE_TEST(name, test, text)                                                          \
    static bool has_##name(const tfn_join *j, const tfn_place *p) { (void)p; return test; }
FEATURES(FEATURE_TEST)

typedef struct feature {
    bool      (*has)(const tfn_join *j, const tfn_place *p);
    const char *text;
} feature;
static const feature features[] = {
#define FEATURE_ROW(name, test, text) { has_##name, text },
    FEATURES(FEATURE_ROW)
};

static const struct { uint32_t flag; const char *text; } flag_texts[] = {
    { TFN_TOPOLOGY_EMBEDDING_NORM, "a norm of the embedding" },
    { TFN_TOPOLOGY_EMBEDDING_SCALE, "a scalar on the embedding" },
    { TFN_TOPOLOGY_SIGMA_REPARAM, "linear maps gamma/sigma W" },
    { TFN_TOPOLOGY_SIGMA_OWN, "gamma starts at sigma" },
    { TFN_TOPOLOGY_MACARON, "a second feed-forward per layer" },
    { TFN_TOPOLOGY_SIDE_STREAM, "a second stream and its norm" },
    { TFN_TOPOLOGY_TRANSPARENT, "N + 1 weights per decoder layer" },
    { TFN_TOPOLOGY_EDGE_SHIFTS, "a shift at the end of each stack, a scalar after the encoder" },
    { TFN_TOPOLOGY_BIASLESS, "no biases" },
    { TFN_TOPOLOGY_LOGIT_SCALE, "a scalar per word" }
};
static const char *const aggregate_texts[] = {
    "", "l weights and a norm before layer l", "l weights and a norm before layer l",
    "a norm before layer l", "l weights before layer l"
};

/* -- visiting every place --------------------------------------------------------------------- */

static void visit_layers(const tfn_topology *t, shape s, int stack, tfn_sublayer kind,
                         visit_fn *visit, void *user)
{
    for (int32_t layer = 1; layer <= s.layers; layer++) {
        const tfn_place p = place_at(s, stack, kind, layer);
        const tfn_join join = tfn_topology_join(t, &p);
        if (has_sublayer(t, &p)) visit(user, &p, &join);
    }
}

void each_place(const tfn_topology *t, shape s, visit_fn *visit, void *user)
{
    static const tfn_sublayer order[] = { TFN_SUBLAYER_FFN_BEFORE, TFN_SUBLAYER_SELF_ATTENTION,
                                          TFN_SUBLAYER_CROSS_ATTENTION,
                                          TFN_SUBLAYER_FFN };
    for (int stack = 0; stack < STACKS; stack++)
        for (int k = 0; k < 4; k++) visit_layers(t, s, stack, order[k], visit, user);
}

/* The places of a feature as bits: one for each kind of sub-layer, and the stacks. */
enum { IN_SUBLAYERS = 15, IN_ENCODER = 16, IN_DECODER = 32, IN_LONE = 64,
       IN_STACKS = IN_ENCODER | IN_DECODER | IN_LONE };
typedef struct found { const feature *f; unsigned mask, all; } found;

static unsigned place_bits(const tfn_place *p)
{
    const unsigned sublayer = 1u << p->kind;
    if (p->alone) return sublayer | IN_LONE;
    if (p->decoder) return sublayer | IN_DECODER;
    return sublayer | IN_ENCODER;
}

static void visit_feature(void *user, const tfn_place *place, const tfn_join *join)
{
    found *f = (found *)user;
    f->all |= place_bits(place);
    if (f->f->has(join, place)) f->mask |= place_bits(place);
}

/* The sub-layers of a mask in words; all: the sub-layers of the topology. */
static const char *where_text(unsigned mask, unsigned all)
{
    enum { SELF = 1 << TFN_SUBLAYER_SELF_ATTENTION, CROSS = 1 << TFN_SUBLAYER_CROSS_ATTENTION,
           FFN = 1 << TFN_SUBLAYER_FFN };
    const unsigned sub = mask & IN_SUBLAYERS;
    if (sub == (all & IN_SUBLAYERS)) return "sub-layer";
    if (sub == (SELF | CROSS)) return "attention";
    if (sub == (SELF | FFN)) return "self-attention and feed-forward";
    if (sub == SELF) return "self-attention";
    if (sub == CROSS) return "cross-attention";
    return "feed-forward";
}

void extra_text(char *text, const tfn_topology *t)
{
    static const shape s = { 8, 64 };
    text[0] = 0;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        found f = { &features[i], 0, 0 };
        char line[TEXT];
        each_place(t, s, visit_feature, &f);
        if (!f.mask) continue;
        snprintf(line, sizeof line, features[i].text, where_text(f.mask, f.all));
        if ((f.mask & IN_STACKS) == (IN_DECODER | IN_LONE)) strcat(line, ", decoder only");
        add_text(text, line);
    }
    if (t->aggregate) add_text(text, aggregate_texts[t->aggregate]);
    for (size_t i = 0; i < sizeof flag_texts / sizeof *flag_texts; i++)
        if (t->flags & flag_texts[i].flag) add_text(text, flag_texts[i].text);
    if (!text[0]) strcpy(text, "none");
}

/* -- requirements and parameters -------------------------------------------------------------- */

typedef struct join_needs { bool profile, steps; } join_needs;

static void visit_needs(void *user, const tfn_place *place, const tfn_join *join)
{
    join_needs *needs = (join_needs *)user;
    (void)place;
    if (any_scale(join, TFN_SCALE_PROFILED)) needs->profile = true;
    if (any_scale(join, TFN_SCALE_FOLDED)) needs->profile = true;
    if (any_scale(join, TFN_SCALE_SCHEDULED)) needs->steps = true;
}

static void topology_needs(char *text, const tfn_topology *t)
{
    if (t->flags & TFN_TOPOLOGY_UNIT_WEIGHTS) add_text(text, "weights projected after each step");
    if (t->flags & TFN_TOPOLOGY_SIGMA_REPARAM)
        add_text(text, "a power iteration after each step");
}

void needs_text(char *text, const tfn_topology *t, const tfn_norm_rule *n, const tfn_init_rule *w)
{
    static const shape s = { 8, 64 };
    join_needs needs = { false, false };
    if (t) each_place(t, s, visit_needs, &needs);
    if (w && w->unit_variance) needs.profile = true;
    text[0] = 0;
    if (needs.profile) add_text(text, "profiling");
    if (needs.steps) add_text(text, "step count");
    if (n && (n->kind == TFN_NORM_BATCH || n->kind == TFN_NORM_POWER)) add_text(text, "norm state");
    if (t) topology_needs(text, t);
    if (n && n->flags & TFN_FLAG_WHOLE) add_text(text, "neither causal nor equal in decode");
    if (!text[0]) strcpy(text, "-");
}

void norm_parameters(char *text, const tfn_norm_rule *n)
{
    text[0] = 0;
    if (n->flags & TFN_FLAG_GAIN && n->flags & TFN_FLAG_OFFSET)
        add_text(text, "gain, stored less 1");
    else if (n->flags & TFN_FLAG_GAIN) add_text(text, "gain");
    if (n->flags & TFN_FLAG_BIAS) add_text(text, "bias");
    if (n->flags & TFN_FLAG_SCALAR) add_text(text, "scalar");
    if (n->kind == TFN_NORM_POINT) add_text(text, "alpha");
    if (n->kind == TFN_NORM_SEED) add_text(text, "alpha, direction (vectors)");
    if (n->flags & TFN_FLAG_SHIFT) add_text(text, "shift");
    if (n->kind == TFN_NORM_BATCH) add_text(text, "running mean, variance");
    if (n->kind == TFN_NORM_POWER) add_text(text, "running square, nu");
    if (!text[0]) strcpy(text, "none");
}
