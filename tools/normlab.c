/* make -C tools && tools/bin/normlab list
 *
 * The laboratory of norms: what there is, what it looks like, whether it trains.
 *     normlab list [topologies | norms | inits | recipes] [--markdown]
 *                                  tables: formula, paper, what it has and needs
 *     normlab show NAME [--layers N] [--layer L] [--width C] [--svg FILE]
 *                                  the block as text or picture, its joins at every place, where
 *                                  paper and code differ, the reference as BibTeX
 *     normlab claims               the papers' claims that are measured
 *     normlab run ID [ID ...] | all [--quick | --full] [--seeds N] [--depth N] [--width C]
 *         [--topology NAME] [--jobs N] [--file F]
 *                                  measures claims: do they show at this scale, and of others?
 *     normlab report [--markdown]  a page of HTML, or a table, of what was measured
 *     normlab compare RECIPE ...   trains recipes side by side and draws what happens
 *     normlab lesson N             a guided run, see LESSONS.md
 *     normlab smoke [NAME ...] [--steps N] [--seed N] [--jobs N]
 *                                  trains recipes on string reversal: do they learn?
 * All of it comes from the rows of tfnorm.h, but for the notes and references below. Exit codes: 0;
 * 1: something failed, or a recipe did not learn that should; 2: wrong arguments. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "threads.h"
#include "cli.h"
#include "svg.h"
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <math.h>
#include "lessons.h"

static const char usage[] =
    "normlab list [topologies | norms | inits | recipes] [--markdown]\n"
    "    tables of everything: formula, paper, what it has and what it needs\n"
    "normlab show NAME [--layers N] [--layer L] [--width C] [--svg FILE]\n"
    "    the block of a topology or recipe, the steps of a norm, the gains of an init; what\n"
    "    differs by place; where paper and code differ; the reference as BibTeX. A stack has N\n"
    "    layers (6), the drawn one is L (a middle one), the width is C (512); --svg writes the\n"
    "    picture to FILE instead (-: to the standard output)\n"
    "normlab claims\n"
    "    every claim of Xiong 2020 (X), Liu 2020 (A), Takase 2022 (B) that is measured here\n"
    "normlab show ID\n"
    "    a claim: what the paper says, what is measured, when it counts as shown\n"
    "normlab run ID [ID ...] | normlab all  [--quick | --full] [--seeds N] [--start-seeds N]\n"
    "        [--jobs N] [--file F] [--depth N] [--width C] [--topology [OLD=]NAME] [--draw]\n"
    "    measures claims; a line each: shown, not shown, opposite or not testable here, and the\n"
    "    numbers, with --draw the figure too. --quick (default): 2 seeds of training (1 of costly\n"
    "    claims), 8 of starts; --full: 5 and 30. --jobs: so many threads, a measurement each; no\n"
    "    number depends on it. Measurements are kept in F (normlab.jsonl), with which an\n"
    "    interrupted run goes on; - keeps none. --depth and --width are those of a claim's\n"
    "    deepest stack and widest model, the others in proportion; --topology puts a recipe in\n"
    "    the place of OLD (post): a claim's criterion was not made for these. --isa NAME: the\n"
    "    instruction set\n"
    "normlab report [ID ...] [--markdown] [the same options]\n"
    "    what is in F as one page of HTML with pictures, or as a table of Markdown\n"
    "normlab compare RECIPE ... [--layers N] [--width C] [--lr X] [--warmup N] [--steps N]\n"
    "        [--optimizer adam | adamw | radam | sgd] [--beta2 X] [--dropout X] [--corpus N]\n"
    "        [--task reverse | grammar | headline | speech | text | markov] [--seed N]\n"
    "        [--svg PREFIX]\n"
    "    trains up to 8 recipes in lock step and draws their losses and their gradients by\n"
    "    layer; PREFIX-loss.svg and PREFIX-gradients.svg are pictures of them. Tasks: strings\n"
    "    backwards, toy German to English, headlines, spoken digits; toy English by letters and\n"
    "    words of known entropy, both as language models. A corpus of N sentences comes again,\n"
    "    else all are new. Defaults: 6 layers, width 32, Adam at 2e-3, beta2 0.98, no warm-up,\n"
    "    400 steps, string reversal, seed 1\n"
    "normlab lesson N [--file F]\n"
    "    a guided run in the terminal: 1 break Post-LN, 2 repair it, 3 where the gradient\n"
    "    vanishes, 4 why upper layers idle, 5 where each breaks; tools/LESSONS.md\n"
    "normlab smoke [NAME ...] [--steps N] [--seed N] [--jobs N]\n"
    "    trains all recipes, or those named, to write a string backwards (300 steps, seed 1,\n"
    "    1 job) and says which get below the loss of guessing\n"
    "normlab --help\n"
    "Exit codes: 0; 1: something failed, or a recipe that should learn did not; 2: arguments.\n";

/* -- rows: four kinds of things that have a name ----------------------------------------------- */

enum { TOPOLOGY, NORM, INIT, RECIPE, KINDS };
enum { ROWS_MAX = 256, TEXT = 200 };
static const char *const kinds[] = { "topology", "norm", "init", "recipe" };
static const char *const plurals[] = { "topologies", "norms", "inits", "recipes" };

/* Names of a kind, NULL past the end. */
static const char *name_at(int kind, int32_t i)
{
    const tfn_topology *t = kind == TOPOLOGY ? tfn_topology_at(i) : NULL;
    const tfn_norm_rule *n = kind == NORM ? tfn_norm_at(i) : NULL;
    const tfn_init_rule *w = kind == INIT ? tfn_init_at(i) : NULL;
    const tfn_recipe *r = kind == RECIPE ? tfn_recipe_at(i) : NULL;
    return t ? t->name : n ? n->name : w ? w->name : r ? r->name : NULL;
}
static bool is_a(int kind, const char *name)
{
    return kind == TOPOLOGY ? tfn_topology_find(name) != NULL
         : kind == NORM ? tfn_norm_find(name) != NULL
         : kind == INIT ? tfn_init_find(name) != NULL : tfn_recipe_find(name) != NULL;
}

static bool is_close(const char *wanted, const char *name)
{
    return cli_distance(wanted, name) <= 2 || (strlen(wanted) > 2 && strstr(name, wanted))
        || (strlen(name) > 2 && strstr(wanted, name));
}

/* An unknown name ends the program: what was found, which names are close. only: a kind or KINDS */
static void unknown(const cli *c, const char *name, int only)
{
    char close[TEXT] = "";
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t i = 0; (only == KINDS || only == kind) && name_at(kind, i); i++) {
            const char *other = name_at(kind, i);
            bool seen = false;
            for (int k = 0; k < kind && only == KINDS; k++) seen = seen || is_a(k, other);
            if (seen || !is_close(name, other)) continue;
            if (strlen(close) + strlen(other) + 3 > sizeof close) continue;
            if (close[0]) strcat(close, ", ");
            strcat(close, other);
        }
    cli_fail(c, "no %s is called \"%s\"%s%s", only == KINDS ? "topology, norm, init or recipe"
             : kinds[only], name, close[0] ? "; close: " : "", close);
}

/* -- what a topology has, found by asking for its join at every place -------------------------- */

typedef struct shape { int32_t layers, width; } shape;

/* The stacks of an encoder-decoder, and those of a model with one stack. */
enum { ENCODER, DECODER, LONE_ENCODER, LONE_DECODER, STACKS };
static const char *const stack_names[] = { "encoder", "decoder", "enc only", "dec only" };

static tfn_place place_at(shape s, int stack, tfn_sublayer kind, int32_t layer)
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
static const char *stack_name(const tfn_place *p)
{
    return stack_names[(p->alone ? LONE_ENCODER : ENCODER) + p->decoder];
}
static bool has_sublayer(const tfn_topology *t, const tfn_place *p)
{
    if (p->kind == TFN_SUBLAYER_FFN_BEFORE) return (t->flags & TFN_TOPOLOGY_MACARON) != 0;
    return p->kind != TFN_SUBLAYER_CROSS_ATTENTION || (p->decoder && !p->alone);
}

static int norms_of(const tfn_join *j)
{
    return j->norm_in + j->norm_branch + j->norm_sum;
}
static bool any_scale(const tfn_join *j, tfn_scale_kind kind)
{
    return j->in.kind == kind || j->out.kind == kind || j->skip.kind == kind
        || j->extra.kind == kind;
}

static tfn_qk_norm qk_of(const tfn_join *j, const tfn_place *p)
{
    return p->kind < TFN_SUBLAYER_FFN ? j->qk : TFN_QK_NORM_NONE;
}

/* What a join may have that Pre-LN and Post-LN have not. %s is the place. */
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

typedef void visit_fn(void *user, const tfn_place *place, const tfn_join *join);
static void each_place(const tfn_topology *t, shape s, visit_fn *visit, void *user)
{
    static const tfn_sublayer order[] = { TFN_SUBLAYER_FFN_BEFORE, TFN_SUBLAYER_SELF_ATTENTION,
                                          TFN_SUBLAYER_CROSS_ATTENTION,
                                          TFN_SUBLAYER_FFN };
    for (int stack = 0; stack < STACKS; stack++)
        for (int k = 0; k < 4; k++)
            for (int32_t l = 1; l <= s.layers; l++) {
                tfn_place p = place_at(s, stack, order[k], l);
                tfn_join join = tfn_topology_join(t, &p);
                if (has_sublayer(t, &p)) visit(user, &p, &join);
            }
}

/* Where a feature is, as bits: kinds of sub-layers; 16, 32, 64: encoder, decoder, lone stack. */
typedef struct found { const feature *f; unsigned mask, all; } found;
static unsigned place_bits(const tfn_place *p)
{
    return 1u << p->kind | (p->alone ? 64u : p->decoder ? 32u : 16u);
}
static void visit_feature(void *user, const tfn_place *place, const tfn_join *join)
{
    found *f = (found *)user;
    f->all |= place_bits(place);
    if (f->f->has(join, place)) f->mask |= place_bits(place);
}

static const char *where_text(unsigned mask, unsigned all)
{
    enum { SELF = 1 << TFN_SUBLAYER_SELF_ATTENTION, CROSS = 1 << TFN_SUBLAYER_CROSS_ATTENTION,
           FFN = 1 << TFN_SUBLAYER_FFN };
    unsigned sub = mask & 15u;
    if (sub == (all & 15u)) return "sub-layer";
    if (sub == (SELF | CROSS)) return "attention";
    if (sub == (SELF | FFN)) return "self-attention and feed-forward";
    if (sub == SELF) return "self-attention";
    if (sub == CROSS) return "cross-attention";
    return "feed-forward";
}

static void add_text(char *text, const char *more)
{
    if (strlen(text) + strlen(more) + 3 > TEXT) return;
    if (text[0]) strcat(text, "; ");
    strcat(text, more);
}

/* What a layer has beyond plain Pre- or Post-LN. */
static void extra_text(char *text, const tfn_topology *t)
{
    static const shape s = { 8, 64 };
    text[0] = 0;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        found f = { &features[i], 0, 0 };
        char line[TEXT];
        each_place(t, s, visit_feature, &f);
        if (!f.mask) continue;
        snprintf(line, sizeof line, features[i].text, where_text(f.mask, f.all));
        if ((f.mask & 112u) == 96u) strcat(line, ", decoder only");
        add_text(text, line);
    }
    if (t->aggregate) add_text(text, aggregate_texts[t->aggregate]);
    for (size_t i = 0; i < sizeof flag_texts / sizeof *flag_texts; i++)
        if (t->flags & flag_texts[i].flag) add_text(text, flag_texts[i].text);
    if (!text[0]) strcpy(text, "none");
}

static void visit_needs(void *user, const tfn_place *place, const tfn_join *join)
{
    bool *needs = (bool *)user;
    (void)place;
    needs[0] = needs[0] || any_scale(join, TFN_SCALE_PROFILED) || any_scale(join, TFN_SCALE_FOLDED);
    needs[1] = needs[1] || any_scale(join, TFN_SCALE_SCHEDULED);
}
/* What topology, norm and init want beyond a forward and a backward; each may be NULL. */
static void needs_text(char *text, const tfn_topology *t, const tfn_norm_rule *n,
                       const tfn_init_rule *w)
{
    bool needs[2] = { false, false };
    shape s = { 8, 64 };
    if (t) each_place(t, s, visit_needs, needs);
    text[0] = 0;
    if (needs[0] || (w && w->unit_variance)) add_text(text, "profiling");
    if (needs[1]) add_text(text, "step count");
    if (n && (n->kind == TFN_NORM_BATCH || n->kind == TFN_NORM_POWER)) add_text(text, "norm state");
    if (t && t->flags & TFN_TOPOLOGY_UNIT_WEIGHTS) add_text(text,
        "weights projected after each step");
    if (t && t->flags & TFN_TOPOLOGY_SIGMA_REPARAM) add_text(text,
        "a power iteration after each step");
    if (n && n->flags & TFN_FLAG_WHOLE) add_text(text, "neither causal nor equal in decode");
    if (!text[0]) strcpy(text, "-");
}

static void norm_parameters(char *text, const tfn_norm_rule *n)
{
    text[0] = 0;
    if (n->flags & TFN_FLAG_GAIN)
        add_text(text, n->flags & TFN_FLAG_OFFSET ? "gain, stored less 1" : "gain");
    if (n->flags & TFN_FLAG_BIAS) add_text(text, "bias");
    if (n->flags & TFN_FLAG_SCALAR) add_text(text, "scalar");
    if (n->kind == TFN_NORM_POINT) add_text(text, "alpha");
    if (n->kind == TFN_NORM_SEED) add_text(text, "alpha, direction (vectors)");
    if (n->flags & TFN_FLAG_SHIFT) add_text(text, "shift");
    if (n->kind == TFN_NORM_BATCH) add_text(text, "running mean, variance");
    if (n->kind == TFN_NORM_POWER) add_text(text, "running square, nu");
    if (!text[0]) strcpy(text, "none");
}

/* -- list: tables as text or Markdown ---------------------------------------------------------- */

enum { COLUMNS_MAX = 7 };
typedef struct table {
    int  columns, rows;
    char cell[ROWS_MAX][COLUMNS_MAX][TEXT];     /* row 0: headings */
} table;

static void put_row(table *t, int columns, ...)
{
    va_list args;
    va_start(args, columns);
    t->columns = columns;
    for (int i = 0; i < columns && t->rows < ROWS_MAX; i++)
        snprintf(t->cell[t->rows][i], TEXT, "%s", va_arg(args, const char *));
    va_end(args);
    t->rows += t->rows < ROWS_MAX;
}

static void print_text_table(const table *t)
{
    int width[COLUMNS_MAX] = { 0 };
    for (int r = 0; r < t->rows; r++)
        for (int i = 0; i < t->columns; i++)
            if ((int)strlen(t->cell[r][i]) > width[i]) width[i] = (int)strlen(t->cell[r][i]);
    for (int r = 0; r < t->rows; r++)
        for (int i = 0; i < t->columns; i++)
            if (i < t->columns - 1) printf("%-*s  ", width[i], t->cell[r][i]);
            else printf("%s\n", t->cell[r][i]);
}

/* Names and formulas as code; a bar inside a cell is escaped. */
static void print_markdown_cell(const char *text, bool code)
{
    if (!strcmp(text, "-")) text = "";
    printf(code ? " `" : " ");
    for (; *text; text++) printf(*text == '|' ? "\\|" : "%c", *text);
    printf(code ? "` |" : " |");
}
static void print_markdown_table(const table *t)
{
    for (int r = 0; r < t->rows; r++) {
        printf("|");
        for (int i = 0; i < t->columns; i++) print_markdown_cell(t->cell[r][i], r && i < 2);
        printf("\n");
        for (int i = 0; r == 0 && i < t->columns; i++) printf("|---");
        if (r == 0) printf("|\n");
    }
}

/* The row's year stands behind the first of its papers, unless one stands there already. */
static const char *paper_text(char *text, const char *paper, int32_t year)
{
    int n = (int)strcspn(paper, ",;");
    bool dated = false;
    for (int i = 0; i + 5 <= n; i++)
        dated = dated || !strncmp(paper + i, " 20", 3) || !strncmp(paper + i, " 19", 3);
    if (dated) snprintf(text, TEXT, "%s", paper);
    else snprintf(text, TEXT, strchr("0123456789", paper[n - 1]) ? "%.*s (%d)%s" : "%.*s %d%s", n,
                  paper, (int)year, paper + n);
    return text;
}

static void table_topologies(table *t)
{
    put_row(t, 6, "topology", "formula", "paper", "final norm", "beyond plain Pre-/Post-LN",
            "needs");
    for (int32_t i = 0; tfn_topology_at(i); i++) {
        const tfn_topology *x = tfn_topology_at(i);
        char paper[TEXT], extra[TEXT], needs[TEXT];
        extra_text(extra, x);
        needs_text(needs, x, NULL, NULL);
        put_row(t, 6, x->name, x->formula, paper_text(paper, x->paper, x->year),
                x->flags & TFN_TOPOLOGY_FINAL_NORM ? "yes" : "no", extra, needs);
    }
}
static void table_norms(table *t)
{
    put_row(t, 5, "norm", "formula", "paper", "parameters", "needs");
    for (int32_t i = 0; tfn_norm_at(i); i++) {
        const tfn_norm_rule *x = tfn_norm_at(i);
        char paper[TEXT], parameters[TEXT], needs[TEXT];
        norm_parameters(parameters, x);
        needs_text(needs, NULL, x, NULL);
        put_row(t, 5, x->name, x->formula, paper_text(paper, x->paper, x->year), parameters, needs);
    }
}
static void table_inits(table *t)
{
    put_row(t, 4, "init", "formula", "paper", "needs");
    for (int32_t i = 0; tfn_init_at(i); i++) {
        const tfn_init_rule *x = tfn_init_at(i);
        char paper[TEXT], needs[TEXT];
        needs_text(needs, NULL, NULL, x);
        put_row(t, 4, x->name, x->formula, paper_text(paper, x->paper, x->year), needs);
    }
}

/* Which of its three parts a recipe is known for: the one of its name; else what is not usual. */
static int origin_of(const tfn_recipe *r)
{
    if (tfn_topology_find(r->name)) return TOPOLOGY;
    if (tfn_norm_find(r->name)) return NORM;
    if (tfn_init_find(r->name)) return INIT;
    if (strcmp(r->topology, "pre") && strcmp(r->topology, "post")) return TOPOLOGY;
    return strcmp(r->norm, "layernorm") ? NORM : INIT;
}
static void table_recipes(table *t)
{
    put_row(t, 6, "recipe", "formula", "norm", "init", "paper", "needs");
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const tfn_recipe *r = tfn_recipe_at(i);
        const tfn_topology *x = tfn_topology_find(r->topology);
        const tfn_norm_rule *n = tfn_norm_find(r->norm);
        const tfn_init_rule *w = tfn_init_find(r->init);
        int origin = origin_of(r);
        char paper[TEXT], needs[TEXT];
        paper_text(paper, origin == TOPOLOGY ? x->paper : origin == NORM ? n->paper : w->paper,
                   origin == TOPOLOGY ? x->year : origin == NORM ? n->year : w->year);
        needs_text(needs, x, n, w);
        put_row(t, 6, r->name, x->formula, n->name, w->name, paper, needs);
    }
}

static int list_command(cli *c)
{
    static void (*const fill[])(table *) = { table_topologies, table_norms, table_inits,
                                             table_recipes };
    table *t = (table *)malloc(sizeof *t);
    bool markdown = false, wanted[KINDS] = { false }, any = false;
    while (cli_next(c)) {
        int kind = 0;
        if (cli_is(c, "--markdown") && (markdown = true)) continue;
        while (kind < KINDS && !cli_is(c, plurals[kind])) kind++;
        if (kind == KINDS)
            cli_fail(c, "list wants topologies, norms, inits or recipes, not \"%s\"",
                     c->argv[c->at]);
        wanted[kind] = any = true;
    }
    if (!t) return fprintf(stderr, "normlab: out of memory\n"), 1;
    for (int kind = 0, printed = 0; kind < KINDS; kind++) {
        if (any && !wanted[kind]) continue;
        if (printed++) printf("\n");
        t->rows = 0;
        fill[kind](t);
        if (markdown) print_markdown_table(t);
        else print_text_table(t);
    }
    free(t);
    return 0;
}

/* -- drawings: boxes, lines and words on a grid of cells, printed as text or as SVG ------------ */

enum { WIDE = 80, HIGH = 400, ITEMS_MAX = 1200 };
typedef enum look {                 /* what a box stands for: the colours of the SVG */
    LOOK_WORD, LOOK_LINE, LOOK_SUM, LOOK_PLAIN, LOOK_SCALE,
    LOOK_IN, LOOK_BRANCH, LOOK_AFTER, LOOK_INNER, LOOK_FINAL
} look;
static const char *const fills[] = {
    NULL, NULL, "#ffffff", "#e8e8e8", "#fff2b3", "#a8d1ff", "#a8e6b8", "#ffb3a8", "#e0c2ff",
    "#ffd199"
};

/* Words and boxes: centred on x, or from x on if `left`. Lines: from (x, y) to (x2, y2). */
typedef struct item { look look; int x, y, x2, y2; bool left; char text[WIDE]; } item;
typedef struct drawing {
    int  count, high, rail;         /* rail: the last row to which the layer's input goes */
    item items[ITEMS_MAX];
} drawing;

static item *new_item(drawing *d, look how, int x, int y, const char *text)
{
    item *i = &d->items[d->count < ITEMS_MAX - 1 ? d->count++ : ITEMS_MAX - 1];
    memset(i, 0, sizeof *i);
    i->look = how;
    i->x = i->x2 = x, i->y = i->y2 = y;
    snprintf(i->text, sizeof i->text, "%.79s", text);       /* WIDE - 1 */
    if (y >= d->high) d->high = y + 1;
    return i;
}
static void line(drawing *d, int x, int y, int x2, int y2)
{
    item *i = new_item(d, LOOK_LINE, x, y, "");
    i->x2 = x2, i->y2 = y2;
    if (y2 >= d->high) d->high = y2 + 1;
}
static void word(drawing *d, int x, int y, const char *text)
{
    new_item(d, LOOK_WORD, x, y, text)->left = true;
}

static void put(char (*grid)[WIDE + 1], int x, int y, char c)
{
    if (x >= 0 && x < WIDE && y >= 0 && y < HIGH) grid[y][x] = c;
}
static void draw_line(char (*grid)[WIDE + 1], const item *i)
{
    for (int x = i->x; x <= i->x2 && i->y == i->y2; x++)
        put(grid, x, i->y, x == i->x || x == i->x2 ? '+' : '-');
    for (int y = i->y; y <= i->y2 && i->x == i->x2; y++)
        if (y < HIGH && grid[y][i->x] != '+') put(grid, i->x, y, '|');
}
static void draw_box(char (*grid)[WIDE + 1], const item *i)
{
    char text[WIDE + 4];
    int n = snprintf(text, sizeof text, i->look == LOOK_WORD ? "%s" : i->look == LOOK_SUM ? "(%s)"
                     : "[ %s ]", i->text);
    int x = i->left ? i->x : i->x - n / 2;
    for (int k = 0; k < n; k++) put(grid, x + k, i->y, text[k]);
}
static void print_text(const drawing *d)
{
    static char grid[HIGH][WIDE + 1];
    memset(grid, ' ', sizeof grid);
    for (int k = 0; k < d->count; k++)
        if (d->items[k].look == LOOK_LINE) draw_line(grid, &d->items[k]);
    for (int k = 0; k < d->count; k++)
        if (d->items[k].look != LOOK_LINE) draw_box(grid, &d->items[k]);
    for (int y = 0; y < d->high && y < HIGH; y++) {
        int n = WIDE;
        while (n && grid[y][n - 1] == ' ') n--;
        printf("%.*s\n", n, grid[y]);
    }
}

enum { CELL = 9, ROW = 26, BOX = 20 };      /* of the SVG, in pixels */
static void svg_item(FILE *f, const item *i)
{
    double x = (i->x + 0.5) * CELL, y = (i->y + 0.5) * ROW;
    int n = (int)strlen(i->text);
    if (i->look == LOOK_LINE) {
        svg_rule(f, "va", x, y, (i->x2 + 0.5) * CELL, (i->y2 + 0.5) * ROW);
        return;
    }
    if (i->left) x -= CELL / 2.0;
    if (i->look == LOOK_WORD && !i->left)
        fprintf(f, "<rect class=\"vb\" x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\"/>\n",
                x - n * CELL / 2.0, y - ROW / 2.0, n * CELL, ROW);
    if (i->look == LOOK_SUM)
        fprintf(f, "<circle cx=\"%g\" cy=\"%g\" r=\"9\" fill=\"#fff\" stroke=\"#555\"/>\n", x, y);
    else if (i->look != LOOK_WORD)
        fprintf(f, "<rect x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" "
                "stroke=\"#555\"/>\n", x - (n + 2) * CELL / 2.0, y - BOX / 2.0, (n + 2) * CELL, BOX,
                fills[i->look]);
    if (i->look == LOOK_WORD) svg_word(f, x, y + 5, i->left ? "start" : "middle", i->text);
    else {                                  /* dark on the light box */
        fprintf(f, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">", x, y + 5);
        svg_text(f, i->text);
        fprintf(f, "</text>\n");
    }
}
static void print_svg(FILE *f, const drawing *d, const char *title)
{
    svg_begin(f, WIDE * CELL, (d->high + 1) * ROW, title);
    fprintf(f, "<g font-family=\"monospace\" font-size=\"14\">\n");
    for (int lines = 1; lines >= 0; lines--)
        for (int k = 0; k < d->count; k++)
            if ((d->items[k].look == LOOK_LINE) == (lines == 1)) svg_item(f, &d->items[k]);
    fprintf(f, "</g>\n");
    svg_end(f);
}

/* -- the block of a topology ------------------------------------------------------------------- */

enum { RAIL = 3, TRUNK = 22, BRANCH = 52, SIDE = 76 };      /* columns: x_0, x, F, second stream */

typedef struct block {          /* what is drawn: a layer of a topology */
    const tfn_topology *t;
    const char *norm;           /* its name; "" if open */
    shape       s;
    int32_t     layer;
} block;

static void norm_box(drawing *d, const block *b, look how, int x, int y)
{
    static const char *const names[] = { "N_in", "N_branch", "N_sum", "N_inner", "N_final" };
    char text[WIDE];
    snprintf(text, sizeof text, "%s%s%s", names[how - LOOK_IN], b->norm[0] ? " " : "", b->norm);
    new_item(d, how, x, y, text);
}

/* value * N^n * M^m * l^layer, as the header says */
static double scale_value(const tfn_scale_rule *s, const tfn_place *p)
{
    return (double)s->value * pow(p->encoder_depth, (double)s->n)
         * pow(p->decoder_depth, (double)s->m) * pow(p->layer, (double)s->layer);
}
static const char *scale_name(const tfn_scale_rule *s, const tfn_place *p)
{
    static char text[4][32];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof *text, "%.4g", scale_value(s, p));
    switch (s->kind) {
    case TFN_SCALE_NONE: return "";
    case TFN_SCALE_CONSTANT: return text[turn];
    case TFN_SCALE_LEARNED: return "a";
    case TFN_SCALE_VECTOR: return "v";
    case TFN_SCALE_SHARED: return "a_l";
    case TFN_SCALE_PROFILED: return "w";
    case TFN_SCALE_FOLDED: return "";
    case TFN_SCALE_SCHEDULED:
        snprintf(text[turn], sizeof *text, "min(1, t/%.4g)", scale_value(s, p));
        return text[turn];
    case TFN_SCALE_LERP: return "(1 - |v|)";
    }
    return "";
}
static bool is_scaled(const tfn_scale_rule *s)
{
    return s->kind != TFN_SCALE_NONE && s->kind != TFN_SCALE_FOLDED;
}
static void scale_box(drawing *d, const tfn_scale_rule *s, const tfn_place *p, int x, int *y)
{
    char text[WIDE];
    if (!is_scaled(s)) return;
    snprintf(text, sizeof text, "* %s", scale_name(s, p));
    if (s->kind == TFN_SCALE_LEARNED || s->kind == TFN_SCALE_VECTOR || s->kind == TFN_SCALE_SHARED)
        snprintf(text, sizeof text, "* %s, from %.4g", scale_name(s, p), scale_value(s, p));
    if (s->kind == TFN_SCALE_PROFILED) snprintf(text, sizeof text, "* w, profiled");
    new_item(d, LOOK_SCALE, x, (*y)++, text);
}

static const char *sublayer_name(tfn_sublayer kind)
{
    return kind == TFN_SUBLAYER_SELF_ATTENTION ? "self-attention"
        : kind == TFN_SUBLAYER_CROSS_ATTENTION
         ? "cross-attention" : kind == TFN_SUBLAYER_FFN ? "feed-forward" : "feed-forward 1";
}

static const char *const qk_boxes[] = {
    "", "", "q, k of length 1 a head, q * g", "q, k of length 1 a head, q * g_h",
    "norms of q, k, a head", "norms of q, k", "q, k of length 1 a head, * v",
    "norms of q, k, v, a head"
};

/* F itself: one box, or its parts where something stands between them. */
static void draw_attention(drawing *d, const block *b, const tfn_join *j, const tfn_place *p,
                           int *y)
{
    bool parts = j->qk > TFN_QK_NORM_NONE || j->head_scale != TFN_HEAD_SCALE_NONE || j->norm_inner;
    char text[WIDE];
    snprintf(text, sizeof text, "%s%s", sublayer_name(p->kind),
             p->kind == TFN_SUBLAYER_CROSS_ATTENTION ? ": q of x, k and v of m" : "");
    if (parts) new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_Q, W_K, W_V");
    if (j->qk > TFN_QK_NORM_NONE) new_item(d, LOOK_INNER, BRANCH, (*y)++, qk_boxes[j->qk]);
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, text);
    if (j->head_scale == TFN_HEAD_SCALE_BEFORE)
        new_item(d, LOOK_SCALE, BRANCH, (*y)++, "* a_h, a scalar a head, from 1");
    if (j->norm_inner) norm_box(d, b, LOOK_INNER, BRANCH, (*y)++);
    if (parts) new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_O");
    if (j->head_scale == TFN_HEAD_SCALE_AFTER)
        new_item(d, LOOK_SCALE, BRANCH, (*y)++, "* a_h, a scalar a block, from 1");
}
static void draw_ffn(drawing *d, const block *b, const tfn_join *j, const tfn_place *p, int *y)
{
    if (!j->norm_inner && !j->shifts && !j->scales) {
        new_item(d, LOOK_PLAIN, BRANCH, (*y)++, sublayer_name(p->kind));
        return;
    }
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "feed-forward: W_1");
    if (j->scales) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "* v sqrt(C), v from 1");
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "activation");
    if (j->norm_inner) norm_box(d, b, LOOK_INNER, BRANCH, (*y)++);
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    new_item(d, LOOK_PLAIN, BRANCH, (*y)++, "W_2");
}

/* p = out * N_branch(F(in * N_in(source))), downwards from the row after *y. */
static void draw_branch(drawing *d, const block *b, const tfn_join *j, const tfn_place *p, int *y)
{
    bool above = j->skip_from == TFN_SOURCE_NORMED;           /* N_in stands before the fork */
    if (j->norm_in && !above) norm_box(d, b, LOOK_IN, BRANCH, (*y)++);
    scale_box(d, &j->in, p, BRANCH, y);
    if (j->shifts) new_item(d, LOOK_SCALE, BRANCH, (*y)++, "- s, a scalar");
    if (p->kind < TFN_SUBLAYER_FFN) draw_attention(d, b, j, p, y);
    else draw_ffn(d, b, j, p, y);
    if (j->norm_branch) norm_box(d, b, LOOK_BRANCH, BRANCH, (*y)++);
    scale_box(d, &j->out, p, BRANCH, y);
}

/* The layer's input joins the sum from the left. */
static void draw_extra(drawing *d, const tfn_join *j, const tfn_place *p, int y)
{
    char text[WIDE];
    line(d, RAIL, y, TRUNK, y);
    d->rail = y;
    snprintf(text, sizeof text, "* %s", scale_name(&j->extra, p));
    if (j->extra.kind != TFN_SCALE_CONSTANT || fabs(scale_value(&j->extra, p) - 1) > 1e-6)
        new_item(d, LOOK_SCALE, (RAIL + TRUNK) / 2, y, text);
}

static int draw_sublayer(drawing *d, const block *b, const tfn_place *p, int y)
{
    tfn_join j = tfn_topology_join(b->t, p);
    int top = y, fork, left, right;
    bool extra = j.extra.kind != TFN_SCALE_NONE, rail = j.skip_from == TFN_SOURCE_LAYER;
    if (j.norm_in && j.skip_from == TFN_SOURCE_NORMED) norm_box(d, b, LOOK_IN, TRUNK, ++y);
    fork = ++y;
    if (j.source == TFN_SOURCE_STREAM) line(d, TRUNK, fork, BRANCH, fork);
    else new_item(d, LOOK_WORD, BRANCH, fork, j.source == TFN_SOURCE_LAYER
                  ? "x_0, the layer's input" : "n, what the attention read");
    left = right = fork + 1;
    draw_branch(d, b, &j, p, &right);
    if (j.gate && j.norm_sum)
        new_item(d, LOOK_SCALE, TRUNK, left++, "x - SiLU(q) sg(x)");
    if (j.skip.kind == TFN_SCALE_FOLDED)
        new_item(d, LOOK_SCALE, TRUNK, left++, "w in the weights");
    scale_box(d, &j.skip, p, TRUNK, &left);
    y = left > right ? left : right;
    line(d, BRANCH, fork, BRANCH, y);
    line(d, TRUNK, y, BRANCH, y);
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) {
        line(d, BRANCH, y, SIDE, y);
        new_item(d, LOOK_SUM, SIDE, y, "+");
    }
    if ((extra && !j.extra_last) || rail) draw_extra(d, &j, p, y);
    new_item(d, LOOK_SUM, TRUNK, y++, "+");
    if (j.gate && !j.norm_sum) new_item(d, LOOK_SCALE, TRUNK, y++, "x - SiLU(q) sg(x)");
    if (j.norm_sum) norm_box(d, b, LOOK_AFTER, TRUNK, y++);
    if (extra && j.extra_last) {
        draw_extra(d, &j, p, y);
        new_item(d, LOOK_SUM, TRUNK, y++, "+");
    }
    line(d, TRUNK, top, TRUNK, y);
    return y;
}

/* From the tokens to the first layer. */
static int draw_ends(drawing *d, const block *b, int y)
{
    uint32_t flags = b->t->flags;
    int top = y;
    new_item(d, LOOK_PLAIN, TRUNK, y++, flags & TFN_TOPOLOGY_FIXNORM ? "embedding, rows of length 1"
             : "embedding");
    if (flags & TFN_TOPOLOGY_EMBEDDING_SCALE)
        new_item(d, LOOK_SCALE, TRUNK, y++, "* a, from sqrt(C)");
    if (flags & TFN_TOPOLOGY_EMBEDDING_NORM) norm_box(d, b, LOOK_FINAL, TRUNK, y++);
    line(d, TRUNK, top, TRUNK, y);
    return y;
}

static const char *const aggregate_boxes[] = {
    "", "sum of w_k N(y_k)", "N(sum of w_k y_k)", "N(sum of y_k)", "sum of w_k y_k"
};

static int draw_layer(drawing *d, const block *b, int y)
{
    static const tfn_sublayer order[] = { TFN_SUBLAYER_FFN_BEFORE, TFN_SUBLAYER_SELF_ATTENTION,
                                          TFN_SUBLAYER_CROSS_ATTENTION,
                                          TFN_SUBLAYER_FFN };
    char text[WIDE];
    int top, first = y;
    snprintf(text, sizeof text, "layer %d of %d", (int)b->layer, (int)b->s.layers);
    if (b->t->aggregate) new_item(d, LOOK_FINAL, TRUNK, y++, aggregate_boxes[b->t->aggregate]);
    word(d, TRUNK + 3, y, text);
    top = y++;
    d->rail = 0;
    for (int k = 0; k < 4; k++) {
        tfn_place p = place_at(b->s, DECODER, order[k], b->layer);
        if (has_sublayer(b->t, &p)) y = draw_sublayer(d, b, &p, y);
    }
    if (d->rail) {
        line(d, RAIL, top, RAIL, d->rail);
        line(d, RAIL, top, TRUNK, top);
        word(d, RAIL + 4, top + 1, "x_0");
    }
    line(d, TRUNK, first, TRUNK, y);
    return y;
}

static int draw_output(drawing *d, const block *b, int y)
{
    int top = y;
    uint32_t flags = b->t->flags;
    if (b->t->aggregate) new_item(d, LOOK_FINAL, TRUNK, y++, aggregate_boxes[b->t->aggregate]);
    if (flags & TFN_TOPOLOGY_EDGE_SHIFTS)
        new_item(d, LOOK_SCALE, TRUNK, y++, "- s; encoder: a (x - s)");
    if (flags & TFN_TOPOLOGY_SIDE_STREAM) {
        norm_box(d, b, LOOK_FINAL, SIDE - 8, y++);
        line(d, TRUNK, y, SIDE, y);
        new_item(d, LOOK_SUM, TRUNK, y++, "+");
    } else if (flags & TFN_TOPOLOGY_FINAL_NORM) norm_box(d, b, LOOK_FINAL, TRUNK, y++);
    line(d, TRUNK, top, TRUNK, y);
    new_item(d, LOOK_WORD, TRUNK, y, "output");
    if (flags & TFN_TOPOLOGY_LOGIT_SCALE) word(d, TRUNK + 6, y, "; logits * a scalar per word");
    return y + 1;
}

static int draw_block(drawing *d, const block *b, int y)
{
    int top = y = draw_ends(d, b, y);
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) line(d, TRUNK, y, TRUNK, y + 1), y++;
    if (b->layer > 1) new_item(d, LOOK_WORD, TRUNK, y++, ":");
    y = draw_layer(d, b, y);
    if (b->layer < b->s.layers) new_item(d, LOOK_WORD, TRUNK, y++, ":");
    if (b->t->flags & TFN_TOPOLOGY_SIDE_STREAM) {
        int end = y + (b->t->aggregate != 0) + 1;
        line(d, TRUNK, top, SIDE, top);
        line(d, SIDE, top, SIDE, end);
        word(d, SIDE + 2, top, "y");
    }
    return draw_output(d, b, y);
}
/* -- references, and where paper and code differ ----------------------------------------------- */

/* Only what is certain: a field that is NULL is left out. kind: article, inproceedings, misc. */
typedef struct reference {
    const char *key, *kind, *author, *title, *venue, *arxiv;
    int year;
} reference;
static const reference references[] = {
    { "vaswani2017", "inproceedings", "Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and "
      "Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, "
      "Illia", "Attention Is All You Need", "NeurIPS", "1706.03762", 2017 },
    { "xiong2020", "inproceedings", "Xiong, Ruibin and Yang, Yunchang and He, Di and Zheng, Kai "
      "and Zheng, Shuxin and Xing, Chen and Zhang, Huishuai and Lan, Yanyan and Wang, Liwei and "
      "Liu, Tie-Yan", "On Layer Normalization in the Transformer Architecture", "ICML",
      "2002.04745", 2020 },
    { "baevski2019", "inproceedings", "Baevski, Alexei and Auli, Michael",
      "Adaptive Input Representations for Neural Language Modeling", "ICLR", "1809.10853", 2019 },
    { "child2019", "misc", "Child, Rewon and Gray, Scott and Radford, Alec and Sutskever, Ilya",
      "Generating Long Sequences with Sparse Transformers", NULL, "1904.10509", 2019 },
    { "wang2019", "inproceedings", "Wang, Qiang and Li, Bei and Xiao, Tong and Zhu, Jingbo and "
      "Li, Changliang and Wong, Derek F. and Chao, Lidia S.",
      "Learning Deep Transformer Models for Machine Translation", "ACL", "1906.01787", 2019 },
    { "liu2020", "inproceedings", "Liu, Liyuan and Liu, Xiaodong and Gao, Jianfeng and Chen, "
      "Weizhu and Han, Jiawei", "Understanding the Difficulty of Training Transformers", "EMNLP",
      "2004.08249", 2020 },
    { "admintorch", "misc", "Microsoft", "admin-torch (software)", NULL, NULL, 2022 },
    { "takase2022", "misc", "Takase, Sho and Kiyono, Shun and Kobayashi, Sosuke and Suzuki, Jun",
      "On Layer Normalizations and Residual Connections in Transformers", NULL, "2206.00330",
      2022 },
    { "huang2020", "inproceedings", "Huang, Xiao Shi and Perez, Felipe and Ba, Jimmy and Volkovs, "
      "Maksims", "Improving Transformer Optimization Through Better Initialization", "ICML", NULL,
      2020 },
    { "zhang2019fixup", "inproceedings", "Zhang, Hongyi and Dauphin, Yann N. and Ma, Tengyu",
      "Fixup Initialization: Residual Learning Without Normalization", "ICLR", "1901.09321",
      2019 },
    { "bachlechner2020", "misc", "Bachlechner, Thomas and Majumder, Bodhisattwa Prasad and Mao, "
      "Huanru Henry and Cottrell, Garrison W. and McAuley, Julian",
      "ReZero is All You Need: Fast Convergence at Large Depth", NULL, "2003.04887", 2020 },
    { "balduzzi2017", "inproceedings", "Balduzzi, David and Frean, Marcus and Leary, Lennox and "
      "Lewis, J. P. and Ma, Kurt Wan-Duo and McWilliams, Brian",
      "The Shattered Gradients Problem: If resnets are the answer, then what is the question?",
      "ICML", "1702.08591", 2017 },
    { "wang2022deepnet", "misc", "Wang, Hongyu and Ma, Shuming and Dong, Li and Huang, Shaohan and "
      "Zhang, Dongdong and Wei, Furu", "DeepNet: Scaling Transformers to 1,000 Layers", NULL,
      "2203.00555", 2022 },
    { "zhang2019depth", "inproceedings", "Zhang, Biao and Titov, Ivan and Sennrich, Rico",
      "Improving Deep Transformer with Depth-Scaled Initialization and Merged Attention", "EMNLP",
      "1908.11365", 2019 },
    { "nguyen2019", "inproceedings", "Nguyen, Toan Q. and Salazar, Julian",
      "Transformers without Tears: Improving the Normalization of Self-Attention", "IWSLT",
      "1910.05895", 2019 },
    { "ioffe2015", "inproceedings", "Ioffe, Sergey and Szegedy, Christian",
      "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate "
      "Shift", "ICML", "1502.03167", 2015 },
    { "shen2020", "inproceedings", "Shen, Sheng and Yao, Zhewei and Gholami, Amir and Mahoney, "
      "Michael W. and Keutzer, Kurt", "PowerNorm: Rethinking Batch Normalization in Transformers",
      "ICML", "2003.07845", 2020 },
    { "bapna2018", "inproceedings", "Bapna, Ankur and Chen, Mia Xu and Firat, Orhan and Cao, Yuan "
      "and Wu, Yonghui",
      "Training Deeper Neural Machine Translation Models with Transparent Attention", "EMNLP",
      "1808.07561", 2018 },
    { "lu2019", "misc", "Lu, Yiping and Li, Zhuohan and He, Di and Sun, Zhiqing and Dong, Bin and "
      "Qin, Tao and Wang, Liwei and Liu, Tie-Yan", "Understanding and Improving Transformer From a "
      "Multi-Particle Dynamic System Point of View", NULL, "1906.02762", 2019 },
    { "xu2019", "inproceedings", "Xu, Jingjing and Sun, Xu and Zhang, Zhiyuan and Zhao, Guangxiang "
      "and Lin, Junyang", "Understanding and Improving Layer Normalization", "NeurIPS",
      "1911.07013", 2019 },
    { "goyal2017", "misc", "Goyal, Priya and others",
      "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", NULL, "1706.02677", 2017 },
    { "hanin2018", "inproceedings", "Hanin, Boris and Rolnick, David",
      "How to Start Training: The Effect of Initialization and Architecture", "NeurIPS",
      "1803.01719", 2018 },
    { "dou2018", "inproceedings", "Dou, Zi-Yi and Tu, Zhaopeng and Wang, Xing and Shi, Shuming and "
      "Zhang, Tong", "Exploiting Deep Representations for Neural Machine Translation", "EMNLP",
      "1810.10181", 2018 },
    { "mishkin2016", "inproceedings", "Mishkin, Dmytro and Matas, Jiri", "All You Need Is a Good "
      "Init", "ICLR", "1511.06422", 2016 },
    { "saxe2014", "inproceedings", "Saxe, Andrew M. and McClelland, James L. and Ganguli, Surya",
      "Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Neural Networks",
      "ICLR", "1312.6120", 2014 },
    { "he2015", "inproceedings", "He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian",
      "Delving Deep into Rectifiers: Surpassing Human-Level Performance on ImageNet "
      "Classification", "ICCV", "1502.01852", 2015 },
    { "ba2016", "misc", "Ba, Jimmy Lei and Kiros, Jamie Ryan and Hinton, Geoffrey E.",
      "Layer Normalization", NULL, "1607.06450", 2016 },
    { "zhang2019rms", "inproceedings", "Zhang, Biao and Sennrich, Rico",
      "Root Mean Square Layer Normalization", "NeurIPS", "1910.07467", 2019 },
    { "wu2018", "inproceedings", "Wu, Yuxin and He, Kaiming", "Group Normalization", "ECCV",
      "1803.08494", 2018 },
    { "jiang2023", "inproceedings", "Jiang, Zixuan and Gu, Jiaqi and Zhu, Hanqing and Pan, David "
      "Z.", "Pre-RMSNorm and Pre-CRMSNorm Transformers: Equivalent and Efficient Pre-LN "
      "Transformers", "NeurIPS", "2305.14858", 2023 },
    { "qi2023", "inproceedings", "Qi, Xianbiao and Wang, Jianan and Chen, Yihao and Shi, Yukai and "
      "Zhang, Lei", "LipsFormer: Introducing Lipschitz Continuity to Vision Transformers", "ICLR",
      "2304.09856", 2023 },
    { "ding2021", "inproceedings", "Ding, Ming and others",
      "CogView: Mastering Text-to-Image Generation via Transformers", "NeurIPS", "2105.13290",
      2021 },
    { "zhu2025", "inproceedings", "Zhu, Jiachen and Chen, Xinlei and He, Kaiming and LeCun, Yann "
      "and Liu, Zhuang", "Transformers without Normalization", "CVPR", "2503.10622", 2025 },
    { "chen2025derf", "misc", "Chen, Mingzhi and Lu, Taiming and Zhu, Jiachen and Sun, Mingjie "
      "and Liu, Zhuang", "Stronger Normalization-Free Transformers", NULL, "2512.10938", 2025 },
    { "cai2025", "misc", "Cai, Wenrui and Zhu, Defa and Liu, Qingjie and Min, Qiyang",
      "SeeDNorm: Self-Rescaled Dynamic Normalization", NULL, "2510.22777", 2025 },
    { "loshchilov2024", "misc", "Loshchilov, Ilya and Hsieh, Cheng-Ping and Sun, Simeng and "
      "Ginsburg, Boris", "nGPT: Normalized Transformer with Representation Learning on the "
      "Hypersphere", NULL, "2410.01131", 2024 },
    { "kim2025", "inproceedings", "Kim, Jeonghoon and others",
      "Peri-LN: Revisiting Normalization Layer in the Transformer Architecture", "ICML",
      "2502.02732", 2025 },
    { "gemma2024", "misc", "{Gemma Team}",
      "Gemma: Open Models Based on Gemini Research and Technology", NULL, "2403.08295", 2024 },
    { "gemma2", "misc", "{Gemma Team}",
      "Gemma 2: Improving Open Language Models at a Practical Size", NULL, "2408.00118", 2024 },
    { "olmo2", "misc", "{Team OLMo}", "2 OLMo 2 Furious", NULL, "2501.00656", 2024 },
    { "liu2022swin", "inproceedings", "Liu, Ze and others",
      "Swin Transformer V2: Scaling Up Capacity and Resolution", "CVPR", "2111.09883", 2022 },
    { "henry2020", "inproceedings", "Henry, Alex and Dachapally, Prudhvi Raj and Pawar, Shubham "
      "and Chen, Yuxuan", "Query-Key Normalization for Transformers", "Findings of EMNLP",
      "2010.04245", 2020 },
    { "dehghani2023", "inproceedings", "Dehghani, Mostafa and others",
      "Scaling Vision Transformers to 22 Billion Parameters", "ICML", "2302.05442", 2023 },
    { "zhuo2025", "misc", "Zhuo, Zhijian and others", "HybridNorm: Towards Stable and Efficient "
      "Transformer Training via Hybrid Normalization", NULL, "2503.04598", 2025 },
    { "wang2022magneto", "misc", "Wang, Hongyu and others", "Foundation Transformers (Magneto)",
      NULL, "2210.06423", 2022 },
    { "shleifer2021", "misc", "Shleifer, Sam and Weston, Jason and Ott, Myle",
      "NormFormer: Improved Transformer Pretraining with Extra Normalization", NULL, "2110.09456",
      2021 },
    { "xie2023", "misc", "Xie, Shufang and others",
      "ResiDual: Transformer with Dual Residual Connections", NULL, "2304.14802", 2023 },
    { "sun2025", "misc", "Sun, Wenfang and others", "The Curse of Depth in Large Language Models",
      NULL, "2502.05795", 2025 },
    { "li2024", "misc", "Li, Pengxiang and Yin, Lu and Liu, Shiwei", "Mix-LN: Unleashing the Power "
      "of Deeper Layers by Combining Pre-LN and Post-LN", NULL, "2412.13795", 2024 },
    { "touvron2021", "inproceedings", "Touvron, Hugo and Cord, Matthieu and Sablayrolles, "
      "Alexandre and Synnaeve, Gabriel and Jegou, Herve", "Going Deeper with Image Transformers",
      "ICCV", "2103.17239", 2021 },
    { "radford2019", "misc", "Radford, Alec and Wu, Jeffrey and Child, Rewon and Luan, David and "
      "Amodei, Dario and Sutskever, Ilya", "Language Models are Unsupervised Multitask Learners",
      "OpenAI", NULL, 2019 },
    { "devlin2018", "inproceedings", "Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and "
      "Toutanova, Kristina", "BERT: Pre-training of Deep Bidirectional Transformers for Language "
      "Understanding", "NAACL", "1810.04805", 2019 },
    { "bloom2022", "misc", "{BigScience Workshop}",
      "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model", NULL, "2211.05100", 2022 },
    { "black2022", "misc", "Black, Sid and others",
      "GPT-NeoX-20B: An Open-Source Autoregressive Language Model", NULL, "2204.06745", 2022 },
    { "gptj2021", "misc", "Wang, Ben and Komatsuzaki, Aran", "GPT-J-6B (software)", NULL, NULL,
      2021 },
    { "chowdhery2022", "misc", "Chowdhery, Aakanksha and others",
      "PaLM: Scaling Language Modeling with Pathways", NULL, "2204.02311", 2022 },
    { "liu2023", "misc", "Liu, Yijin and Zeng, Xianfeng and Meng, Fandong and Zhou, Jie",
      "BranchNorm: Robustly Scaling Extremely Deep Transformers", NULL, "2305.02790", 2023 },
    { "zhai2023", "inproceedings", "Zhai, Shuangfei and Likhomanenko, Tatiana and others",
      "Stabilizing Transformer Training by Preventing Attention Entropy Collapse", "ICML",
      "2303.06296", 2023 },
    { "chen2025gpas", "misc", "Chen, Tianhao and others", "GPAS: Accelerating Convergence of LLM "
      "Pretraining via Gradient-Preserving Activation Scaling", NULL, "2506.22049", 2025 },
    { "de2020", "inproceedings", "De, Soham and Smith, Samuel L.", "Batch Normalization Biases "
      "Residual Blocks Towards the Identity Function in Deep Networks", "NeurIPS", "2002.10444",
      2020 },
    { "glorot2010", "inproceedings", "Glorot, Xavier and Bengio, Yoshua",
      "Understanding the Difficulty of Training Deep Feedforward Neural Networks", "AISTATS", NULL,
      2010 },
    { "ott2019", "inproceedings", "Ott, Myle and others",
      "fairseq: A Fast, Extensible Toolkit for Sequence Modeling", "NAACL (Demonstrations)",
      "1904.01038", 2019 },
    { "paszke2019", "inproceedings", "Paszke, Adam and others",
      "PyTorch: An Imperative Style, High-Performance Deep Learning Library", "NeurIPS",
      "1912.01703", 2019 },
    { "ma2022", "misc", "Ma, Shuming and others", "TorchScale: Transformers at Scale", NULL,
      "2211.13184", 2022 }
};

#define ADMIN_NOTE                                                                              \
    "The paper's w_i = sqrt(sum of Var(f_j), j < i) gives w_1 = 0 if read literally, which "    \
    "would delete the embedding. The default is the authors' code: w_1 = 1, the chain starts "  \
    "at Var(x_0), each w is filled at once so that later sub-layers see it, and the variance "  \
    "is that of the whole tensor after dropout. When folding, the appendix displays 1/w on "    \
    "the cross-attention's W_V; its text does not, and the text is right: the memory is not "   \
    "rescaled. The code profiles a layer again at a second forward; here there is exactly "     \
    "one."
#define B2T_NOTE                                                                                \
    "Since May 2023 the authors' repository also multiplies every matrix of a layer by "        \
    "L^(-1/2), which the paper does not mention: that is the init \"b2t\", not the default. "   \
    "The recipe uses \"fairseq\", the init of the paper's code base (W_1, W_2 from the "        \
    "framework's default, not Xavier)."
#define DEEPNORM_NOTE                                                                           \
    "Default: the paper's table. torchscale multiplies the encoder's weights of an "            \
    "encoder-decoder by 1.15 = 1/0.87 where the paper has 0.87, starts from the framework's "   \
    "weights instead of Xavier's and scales biases too: that is the init "                      \
    "\"deepnorm-torchscale\". It also leaves the decoder Pre-LN unless a flag is cleared, "     \
    "which is plainly wrong and no option."
#define TFIXUP_NOTE                                                                             \
    "The paper has one depth for both stacks; N and M here are the code's reading of it. The "  \
    "paper says Xavier for all matrices, the code leaves W_Q and W_K at 1/sqrt(2): the paper "  \
    "is the default, the code is \"t-fixup-code\"."
#define FIXUP_NOTE                                                                              \
    "The code builds cross-attention without the number of branches and so uses 12^(-1/6) at "  \
    "any depth, a slip (\"fixup-code\"); the default is B^(-1/6) everywhere, as in the "        \
    "paper's rule and in the TensorFlow port. Q, K, V are those of a fused Xavier matrix in "   \
    "both."
#define DSINIT_NOTE                                                                             \
    "The paper scales the limits of layer l by l^(-1/2). The code hands l^(-1/2) to an "        \
    "initializer as a variance, which makes it l^(-1/4), and draws q, k, v of self-attention "  \
    "as one matrix, a further 1/sqrt(2): \"ds-init-code\". The paper is the default."
#define SUBLN_NOTE                                                                              \
    "Paper and code agree that cross-attention gets neither the inner norm nor, in the "        \
    "decoder, the gain. torchscale applies the gain to the framework's weights and to "         \
    "biases; the default is the paper's Xavier normal, without biases."
#define NORMFORMER_NOTE                                                                         \
    "Default: the paper, which scales head i before W_O. fairseq scales the output of W_O in "  \
    "blocks of D channels, which is not a scale per head, and does so in decoder layers "       \
    "only: \"normformer-code\". The vector on the feed-forward's skip is optional in the "      \
    "paper: \"normformer-res\"."
#define LNS_NOTE                                                                                \
    "In the released code the norm's name is put in lower case and then compared with "         \
    "\"LNS\", so that the branch is never reached; the fork in the GPAS repository does not "   \
    "repair it (one form there puts 1/sqrt(l) into the trainable gain at the start). The "      \
    "default is the paper's constant."
#define HYBRID_NOTE                                                                             \
    "The paper's feed-forward is written as Post-Norm; in the code its norm is on the input "   \
    "and the skip is taken after that norm, while the layer's output is not normed. The "       \
    "default is that of the code, n = N(x), x = n + F(n)."
#define NGPT_NOTE                                                                               \
    "The released position function is not a rotation (it lacks the second term); the paper "   \
    "means rotary positions, and so does this library: set position TFN_POSITION_ROTARY, "      \
    "activation TFN_ACTIVATION_SWIGLU, untied. Learned scales are stored times a unit, so that "\
    "their learning rate "                                                                      \
    "is the paper's; the rates v of the stream count by their absolute value, as in the code. " \
    "A row of length 0 is guarded."
#define SANDWICH_NOTE                                                                           \
    "The released CogView divides by the maximum over the whole tensor inside its LayerNorm "   \
    "(the norm \"cogview\") and has the attention's PB-relax switched off; so has this "        \
    "library. By its nature this norm is neither causal nor equal in decode: what stands at a " \
    "position depends on later ones and on the other sentences of the batch."
#define POWER_NOTE                                                                              \
    "The paper's backward divides by the running psi, the code's by the statistics of the "     \
    "batch, and the code puts a norm by groups (as many as heads) first. The default is the "   \
    "code, with which the paper's results were made. It is not a true gradient."
#define BATCH_NOTE                                                                              \
    "The PowerNorm repository clamps the variance at e instead of adding e, draws the gain "    \
    "from U(0, 1) and never uses its running statistics. The default is Ioffe & Szegedy's "     \
    "form. In a causal decoder training sees statistics of later tokens; decoding uses the "    \
    "running ones."
#define XU_NOTE                                                                                 \
    "The authors' code takes the unbiased deviation and adds e outside the root: adanorm is "   \
    "that form, the others are LayerNorm's own, and their \"-code\" forms the code's. The "     \
    "paper and the code have a factor c on adanorm, the option norm_factor: 1 unless given, "   \
    "1, 1.5 or 2 in the authors' scripts."
#define DYT_NOTE                                                                                \
    "In language models the authors' code drops the bias, gives alpha other starts by place "   \
    "and width (0.8 for attention, 0.2 elsewhere at 7B), and multiplies the embedding by a "    \
    "learned scalar: the last is the topology \"pre-embed-scale\" and the recipe \"dyt-lm\". "  \
    "alpha starts at 1/2 here, the paper's default."
#define RMS_NOTE                                                                                \
    "The same authors' two files differ in the place of e: inside the root (the default, and "  \
    "the paper) or outside (\"rmsnorm-outside\"); they agree to first order in e."
#define DLCL_NOTE                                                                               \
    "The code's option for a norm on the embedding sets a name that is never read, and its "    \
    "window over layers shapes the initial weights only, unless rows are a softmax. Here y_0 "  \
    "has no norm, and dlcl and dlcl-post no window, as in the paper; the other rows are the "   \
    "code's options, which any row can combine (mix)."
#define GPAS_NOTE                                                                               \
    "The gate is shared by the sub-layers of a layer, as in the code. x - SiLU(q) sg(x) is "    \
    "not a true gradient by design: the second x is a constant in the backward."
#define MIXLN_NOTE                                                                              \
    "The first quarter of the layers is Post-LN. The code's own DeepNorm baseline has a "       \
    "wrong sign and a fixed a; do not compare with it."
#define REZERO_NOTE                                                                             \
    "One a per layer for all of its sub-layers, as in the code; a scalar per branch is "        \
    "SkipInit."
#define OLMO_NOTE                                                                               \
    "No norm before the branch: the attention reads an unnormed stream, and the norms of "      \
    "queries and keys (over all heads jointly) bound its scores."
#define QKNORM_NOTE                                                                             \
    "g starts at log2(T^2 - T), with T the 97.5th percentile of the training lengths; a "       \
    "library does not know them and takes the context."
#define SIGMA_NOTE                                                                              \
    "gamma starts at 1 in the paper and in the speech code, at the matrix's own sigma in the "  \
    "vision code (-vision), which also takes all norms out; speech and translation keep Post-"  \
    "LN (-post). One power iteration follows each update, where the code iterates when the "    \
    "next forward begins: the same numbers. The code begins with singular vectors, here "       \
    "up to 100 iterations find them. Embeddings and a tied output are left as they are."
#define HANIN_NOTE                                                                              \
    "The paper's theorem is about fully connected residual networks with ReLU and any scales "  \
    "of finite sum; 0.9^l is one such choice."

/* For every name: keys of its references, and the note. */
static const struct { const char *name, *keys, *note; } notes[] = {
    { "pre", "xiong2020 baevski2019 child2019 wang2019",
      "Some code bases can leave out the decoder's final norm; without it the theory (gradients of "
      "order 1/sqrt(L)) and the scale of the loss both fail. It is always there, in both stacks." },
    { "post", "vaswani2017 xiong2020", NULL },
    { "admin", "liu2020", ADMIN_NOTE }, { "admin-direct", "liu2020", ADMIN_NOTE },
    { "admin-constant", "admintorch liu2020", NULL }, { "admin-sqrt", "admintorch liu2020", NULL },
    { "b2t", "takase2022", B2T_NOTE }, { "b2t-skip-last", "takase2022", NULL },
    { "b2t-pre", "takase2022", "Not in the paper: what its code does with the Pre-LN flag." },
    { "b2t-no-norm", "takase2022",
      "The paper removes norms in internal layers; the code has no norm at all unless it is "
      "Pre-LN. The default is the code's. a = min(L/12, L^(-0.15)), b = C^(-0.2)." },
    { "dlcl", "wang2019", DLCL_NOTE }, { "dlcl-post", "wang2019", DLCL_NOTE },
    { "dlcl-softmax", "wang2019", DLCL_NOTE }, { "dlcl-vector", "wang2019", DLCL_NOTE },
    { "dlcl-groups", "wang2019", DLCL_NOTE }, { "dlcl-one", "wang2019", DLCL_NOTE },
    { "dlcl-window", "wang2019", DLCL_NOTE },
    { "no-norm", "huang2020", NULL },
    { "t-fixup", "huang2020", TFIXUP_NOTE }, { "t-fixup-code", "huang2020", TFIXUP_NOTE },
    { "fixup", "zhang2019fixup", FIXUP_NOTE }, { "fixup-code", "zhang2019fixup", FIXUP_NOTE },
    { "rezero", "bachlechner2020", REZERO_NOTE }, { "rezero-post", "liu2020 bachlechner2020",
      REZERO_NOTE },
    { "skipinit", "de2020", NULL }, { "looklinear", "balduzzi2017 liu2020", NULL },
    { "deepnorm", "wang2022deepnet", DEEPNORM_NOTE },
    { "deepnorm-torchscale", "ma2022 wang2022deepnet", DEEPNORM_NOTE },
    { "post-ln-init", "wang2022deepnet", "Known at second hand only: weights of layer l over "
      "L - l + 1." },
    { "ds-init", "zhang2019depth", DSINIT_NOTE }, { "ds-init-code", "zhang2019depth", DSINIT_NOTE },
    { "pre-fixnorm", "nguyen2019", NULL },
    { "scalenorm", "nguyen2019", "The code draws the embedding from U(+-0.01) with FixNorm, where "
      "only its direction matters, and has an output bias; here it is N(0, 1/C), without." },
    { "small", "nguyen2019", NULL },
    { "batchnorm", "ioffe2015 shen2020", BATCH_NOTE }, { "powernorm", "shen2020", POWER_NOTE },
    { "transparent", "bapna2018", NULL },
    { "macaron", "lu2019", NULL }, { "macaron-pre", "lu2019", NULL },
    { "adanorm", "xu2019", XU_NOTE }, { "layernorm-simple", "xu2019", XU_NOTE },
    { "detachnorm", "xu2019", XU_NOTE }, { "detachnorm-mean", "xu2019", XU_NOTE },
    { "detachnorm-std", "xu2019", XU_NOTE }, { "layernorm-simple-code", "xu2019", XU_NOTE },
    { "detachnorm-code", "xu2019", XU_NOTE }, { "detachnorm-mean-code", "xu2019", XU_NOTE },
    { "detachnorm-std-code", "xu2019", XU_NOTE },
    { "zero-gamma", "goyal2017", NULL }, { "hanin-rolnick", "hanin2018", HANIN_NOTE },
    { "dense", "dou2018", NULL }, { "linear-aggregation", "dou2018", NULL },
    { "lsuv", "mishkin2016", NULL }, { "orthogonal", "saxe2014", NULL }, { "he", "he2015", NULL },
    { "layernorm", "ba2016", NULL }, { "pre-rms", "zhang2019rms xiong2020", RMS_NOTE },
    { "post-rms", "zhang2019rms vaswani2017", RMS_NOTE }, { "rmsnorm", "zhang2019rms", RMS_NOTE },
    { "rmsnorm-outside", "zhang2019rms", RMS_NOTE },
    { "rmsnorm-offset", "gemma2024", "Weight decay pulls this gain to 1, that of rmsnorm to 0." },
    { "prmsnorm", "zhang2019rms", NULL }, { "gemma", "gemma2024 gemma2", NULL },
    { "l2norm", "loshchilov2024", NULL }, { "groupnorm", "wu2018", NULL },
    { "crmsnorm", "jiang2023", NULL }, { "centernorm", "qi2023", "LipsFormer combines it with "
      "branches scaled by 1/L, a spectral init and cosine attention; the recipe has the norm "
      "alone, which does not bound the stream." },
    { "cogview", "ding2021", SANDWICH_NOTE }, { "sandwich", "ding2021 kim2025", SANDWICH_NOTE },
    { "dyt", "zhu2025", DYT_NOTE }, { "dyt-lm", "zhu2025", DYT_NOTE },
    { "pre-embed-scale", "zhu2025", DYT_NOTE }, { "derf", "chen2025derf",
      "The authors' language-model patch multiplies the embedding by a learned scalar too: combine "
      "the norm with the topology \"pre-embed-scale\" for that." },
    { "dyt-isru", "chen2025derf", NULL }, { "dyt-exp", "chen2025derf", NULL },
    { "dyt-atan", "chen2025derf", NULL }, { "dyt-sin", "chen2025derf", NULL },
    { "dyt-softsign", "chen2025derf", NULL },
    { "seednorm", "cai2025", "Known at second hand only." },
    { "peri", "kim2025 ding2021 gemma2", NULL },
    { "output-norm", "olmo2 liu2022swin", OLMO_NOTE }, { "olmo2", "olmo2", OLMO_NOTE },
    { "swin-v2", "liu2022swin", "Large models of the code add a norm on the stream every few "
      "blocks; this row has none." },
    { "qknorm", "henry2020", QKNORM_NOTE }, { "qk-head", "dehghani2023", NULL },
    { "qkv-head", "zhuo2025", NULL }, { "sub-ln", "wang2022magneto", SUBLN_NOTE },
    { "normformer", "shleifer2021", NORMFORMER_NOTE },
    { "normformer-res", "shleifer2021", NORMFORMER_NOTE },
    { "normformer-code", "shleifer2021", NORMFORMER_NOTE },
    { "resi-dual", "xie2023", "The norm of the second stream has e = 1e-7, as in the code, which "
      "also knows a factor on that stream against overflow in half precision and a weight on x; "
      "they are 1 here, and fields of a row: side_scale, side_weight." },
    { "lns", "sun2025", LNS_NOTE }, { "mix-ln", "li2024", MIXLN_NOTE },
    { "hybridnorm", "zhuo2025", HYBRID_NOTE }, { "hybridnorm-first", "zhuo2025", HYBRID_NOTE },
    { "layerscale", "touvron2021", "The start by depth is the paper's; the code's default is 1e-4, "
      "and its model files say 1e-5 and 1e-6." },
    { "gpt2", "radford2019", NULL }, { "pre-embed-norm", "bloom2022 kim2025", NULL },
    { "embed-norm", "bloom2022 kim2025", NULL }, { "post-embed-norm", "devlin2018", NULL },
    { "bert", "devlin2018", NULL }, { "truncated", "devlin2018", NULL },
    { "ngpt", "loshchilov2024", NGPT_NOTE },
    { "parallel", "black2022", NULL }, { "parallel-shared", "gptj2021 chowdhery2022", NULL },
    { "sigma-reparam", "zhai2023", SIGMA_NOTE }, { "sigma-reparam-post", "zhai2023", SIGMA_NOTE },
    { "sigma-reparam-vision", "zhai2023", SIGMA_NOTE },
    { "branchnorm", "liu2023", "Known at second hand only: the ramp of 4000 updates is of the "
      "order the paper reports as robust." },
    { "gpas", "chen2025gpas", GPAS_NOTE }, { "gpas-post", "chen2025gpas", GPAS_NOTE },
    { "xavier", "glorot2010 xiong2020", NULL }, { "xavier-uniform", "glorot2010", NULL },
    { "fused", "ott2019 liu2020", "What \"Xavier\" means depends on the code: drawn as one "
      "C x 3C matrix, Q, K and V each get 1/sqrt(2) of the gain of a matrix drawn alone." },
    { "fairseq", "ott2019", "Since version 0.10 fairseq draws W_1 and W_2 by the framework's rule: "
      "at ffn = 4 C the feed-forward starts with about 5.8 times less variance than by Xavier." },
    { "framework", "paszke2019", NULL }
};

/* Text in lines of at most 78 columns, each after `indent`; the first follows what stands there. */
static void print_wrapped(const char *text, int indent)
{
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + n + 1 > 78) column = printf("\n%*s", indent, "") - 1;
        else if (column > indent) column += printf(" ");
        column += printf("%.*s", n, text);
        text += n;
        while (*text == ' ') text++;
    }
    printf("\n");
}
static const reference *find_reference(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (strlen(references[i].key) == length && !strncmp(references[i].key, key, length))
            return references + i;
    return NULL;
}

static void print_bibtex_field(const char *name, const char *value)
{
    char text[512];
    if (!value) return;
    snprintf(text, sizeof text, "{%s},", value);
    printf("  %-13s = ", name);
    print_wrapped(text, 18);
}
static void print_bibtex(const reference *r)
{
    const char *venue = !strcmp(r->kind, "inproceedings") ? "booktitle" : "howpublished";
    printf("@%s{%s,\n", r->kind, r->key);
    print_bibtex_field("author", r->author);
    print_bibtex_field("title", r->title);
    print_bibtex_field(venue, r->venue);
    print_bibtex_field("eprint", r->arxiv);
    if (r->arxiv) print_bibtex_field("archivePrefix", "arXiv");
    printf("  %-13s = {%d}\n}\n", "year", r->year);
}

/* The note and the references of a name. */
static void print_notes(const char *name)
{
    const char *keys = "", *note = NULL;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (!strcmp(notes[i].name, name)) {
            keys = notes[i].keys;
            note = notes[i].note;
            break;
        }
    if (note) {
        printf("\nPaper, code and this library:\n  ");
        print_wrapped(note, 2);
    }
    for (printf("\n"); *keys; keys += *keys == ' ') {
        size_t n = strcspn(keys, " ");
        const reference *r = find_reference(keys, n);
        if (r) print_bibtex(r);
        keys += n;
    }
}

/* -- the steps of a norm ----------------------------------------------------------------------- */

/* By kind: what happens to a row x, a step a line. */
static const char *const norm_steps[] = {
    "- mean\n/ sqrt(var + e)", "/ sqrt(mean(x^2) + e)", "/ (sqrt(mean(x^2)) + e)", "/ max(|x|, e)",
    "/ sqrt((sum(x^2) + sum(x)^2)/C + e)", "- mean\n* C/(C-1)",
    "- mean\n/ (s + e), s over C - 1\n* c (1 - n/10), a constant in the backward",
    "/ (max|x| of the tensor / 8)\n- mean\n/ sqrt(var + e)", "",
    "/ sqrt(mean(x^2) + e)\n* (g + alpha tanh(x . direction))",
    "- mean over the batch\n/ sqrt(var over the batch + e)",
    "/ sqrt(mean(x^2) + e), by head\n/ psi, psi^2 the running mean of x^2"
};
static const char *const squash_steps[] = {
    "tanh(alpha x)", "erf(alpha x + shift)", "z/sqrt(z^2 + 1), z = alpha x + shift",
    "sign(z)(1 - exp(-|z|)), z = alpha x + shift", "2/pi atan(alpha x + shift)",
    "sin(alpha x + shift, clipped)", "z/(1 + |z|), z = alpha x + shift"
};

static int draw_norm(drawing *d, const tfn_norm_rule *n, int y)
{
    char steps[TEXT], *step;
    const int x = TRUNK + 10;
    int top = y;
    snprintf(steps, sizeof steps, "%s", n->kind == TFN_NORM_POINT ? squash_steps[n->squash]
             : norm_steps[n->kind]);
    if (n->flags & TFN_FLAG_PLAIN) *strrchr(steps, '\n') = 0;         /* n itself */
    new_item(d, LOOK_WORD, x, y++, n->flags & TFN_FLAG_BY_HEAD ? "x, each of H groups of channels"
             : n->part > 0 ? "x; sums over its first 1/16 only" : "x");
    for (step = steps; step; y++) {
        char *end = strchr(step, '\n');
        if (end) *end = 0;
        new_item(d, LOOK_IN, x, y, step);
        step = end ? end + 1 : NULL;
    }
    if (n->flags & TFN_FLAG_GAIN && n->kind != TFN_NORM_SEED)
        new_item(d, LOOK_SCALE, x, y++, n->flags & TFN_FLAG_OFFSET ? "* (1 + g), g from 0"
                 : "* g, from 1");
    if (n->flags & TFN_FLAG_SCALAR) new_item(d, LOOK_SCALE, x, y++, "* G, from sqrt(C)");
    if (n->flags & TFN_FLAG_BIAS) new_item(d, LOOK_SCALE, x, y++, "+ b, from 0");
    line(d, x, top, x, y);
    new_item(d, LOOK_WORD, x, y++, "y");
    return y;
}

/* -- the gains of an init ---------------------------------------------------------------------- */

static tfn_gains gains_at(const tfn_init_rule *w, const tfn_place *p)
{
    tfn_gains g = { 1, 1, 1, 1, 1, 1, 1 };
    if (w->rule) w->rule(p, &g);
    return g;
}

static const char *const short_names[] = { "self", "cross", "ffn", "ffn" };

static const char *const distributions[] = {
    "N(0, 2/(in+out))", "U, variance 2/(in+out)", "N(0, s^2)", "N(0, s^2) within two s",
    "U(+-1/sqrt(in)), biases too", "N(0, 1/in)", "N(0, 2/in)", "orthonormal",
    "xavier uniform, W_1 = [A, -A], W_2 = [C; -C]"
};

static int draw_gains(drawing *d, const tfn_init_rule *w, shape s, const tfn_place *place, int y)
{
    static const char *const matrices[] = { "Q", "K", "V", "O", "W_1", "W_2" };
    int from = place->kind == TFN_SUBLAYER_FFN ? 4 : 0,
        to = place->kind == TFN_SUBLAYER_FFN ? 6 : 4;
    tfn_place p = *place, q = *place;
    tfn_gains first, last;
    char text[WIDE];
    p.layer = 1;
    q.layer = s.layers;
    first = gains_at(w, &p);
    last = gains_at(w, &q);
    snprintf(text, sizeof text, "%s %s", stack_name(&p), short_names[p.kind]);
    word(d, 1, y, text);
    for (int i = from; i < to; i++) {
        const float a[] = { first.q, first.k, first.v, first.o, first.w1, first.w2 };
        const float b[] = { last.q, last.k, last.v, last.o, last.w1, last.w2 };
        bool equal = a[i] == b[i];
        snprintf(text, sizeof text, equal ? "%s %.3g" : "%s %.2g..%.2g", matrices[i],
                 (double)a[i], (double)b[i]);
        new_item(d, equal && a[i] == 1 ? LOOK_PLAIN : LOOK_SCALE,
                 23 + (from ? 20 : 16) * (i - from), y, text);
    }
    return y + 1;
}

static int draw_init(drawing *d, const tfn_init_rule *w, shape s, int y)
{
    char text[WIDE];
    tfn_place bottom = place_at(s, ENCODER, TFN_SUBLAYER_SELF_ATTENTION, 1);
    double embedding = (double)gains_at(w, &bottom).embedding;
    snprintf(text, sizeof text, "attention %s", distributions[w->base]);
    word(d, 1, y++, text);
    snprintf(text, sizeof text, "feed-forward %s", distributions[w->ffn_base]);
    word(d, 1, y++, text);
    if (w->std > 0) snprintf(text, sizeof text, "s = %.3g; embedding deviation %.3g",
                             (double)w->std, (double)w->embedding_std);
    else snprintf(text, sizeof text, w->embedding_std > 0 ? "embedding deviation %.3g"
                  : "embedding deviation 1/sqrt(C)", (double)w->embedding_std);
    word(d, 1, y++, text);
    snprintf(text, sizeof text, "embedding times %.3g", embedding);
    if (embedding != 1) word(d, 1, y++, text);
    if (w->qkv_bias) word(d, 1, y++, "biases of q, k, v: U(+-1/sqrt(in))");
    if (w->gain_bias) word(d, 1, y++, "gains act on biases too");
    if (w->table_output) word(d, 1, y++, "untied output: deviation 1/sqrt(C)");
    if (w->zero_output) word(d, 1, y++, "an untied output matrix is 0");
    if (w->zero_branch) word(d, 1, y++, "gains of the norm after a branch are 0");
    if (w->unit_variance) word(d, 1, y++, "each W over the deviation of its output on one batch");
    snprintf(text, sizeof text, "Gains, of the first and the last of %d layers if they differ:",
             (int)s.layers);
    word(d, 1, ++y, text);
    y++;
    for (int stack = 0; stack < STACKS; stack++)
        for (int kind = 0; kind <= TFN_SUBLAYER_FFN; kind++)
            if (kind != TFN_SUBLAYER_CROSS_ATTENTION || stack == DECODER) {
                tfn_place p = place_at(s, stack, (tfn_sublayer)kind, 1);
                y = draw_gains(d, w, s, &p, y);
            }
    return y;
}

/* -- joins as formulas, place by place --------------------------------------------------------- */

static const char *spaced(const char *scale) { return scale[0] ? " " : ""; }

/* What F reads, F, and what follows it. */
static void branch_formula(char *text, const tfn_join *j, const tfn_place *p)
{
    const char *source = j->source == TFN_SOURCE_LAYER ? "x_0" : j->source == TFN_SOURCE_FIRST ? "n"
                       : "x";
    const char *in = scale_name(&j->in, p), *out = scale_name(&j->out, p);
    char u[WIDE];
    bool above = j->skip_from == TFN_SOURCE_NORMED;
    snprintf(u, sizeof u, j->norm_in && !above ? "%s%sN(%s)%s" : "%s%s%s%s", in, spaced(in),
             above ? "n" : source, j->shifts ? " - s" : "");
    snprintf(text, TEXT, j->norm_branch ? "%s%sN(F(%s))" : "%s%sF(%s)", out, spaced(out), u);
}
/* What stands between the matrices of F. */
static void inside_formula(char *text, const tfn_join *j, const tfn_place *p)
{
    tfn_qk_norm qk = qk_of(j, p);
    char parts[TEXT] = "";
    if (qk > TFN_QK_NORM_NONE)
        add_text(parts, qk == TFN_QK_NORM_QKV_HEAD ? "norms of q, k, v" : "norms of q, k");
    if (j->head_scale == TFN_HEAD_SCALE_BEFORE) add_text(parts, "scales of heads");
    if (j->norm_inner) add_text(parts,
                                p->kind < TFN_SUBLAYER_FFN ? "N before W_O" : "N before W_2");
    if (j->head_scale == TFN_HEAD_SCALE_AFTER) add_text(parts, "scales behind W_O");
    if (p->kind >= TFN_SUBLAYER_FFN && j->scales) add_text(parts, "scales behind W_1");
    if (p->kind >= TFN_SUBLAYER_FFN && j->shifts) add_text(parts, "shifts");
    if (!parts[0] || strlen(text) + strlen(parts) + 12 > TEXT) return;
    strcat(text, "; in F: ");
    strcat(text, parts);
}
static void join_formula(char *text, const tfn_join *j, const tfn_place *p)
{
    char branch[TEXT], z[TEXT + WIDE], gated[WIDE] = "";
    const char *skip = scale_name(&j->skip, p), *extra = scale_name(&j->extra, p);
    const char *from = j->skip_from == TFN_SOURCE_NORMED ? "n" : j->skip_from == TFN_SOURCE_LAYER
                     ? "x_0" : "x";
    bool above = j->skip_from == TFN_SOURCE_NORMED;
    branch_formula(branch, j, p);
    if (j->gate && j->norm_sum) from = "(x - SiLU(q) sg(x))";
    if (j->gate && !j->norm_sum) snprintf(gated, sizeof gated, "; x = x - SiLU(q) sg(x)");
    snprintf(z, sizeof z, "%s%s%s + %s", skip, spaced(skip), from, branch);
    if (!strcmp(extra, "1")) extra = "";
    if (j->extra.kind != TFN_SCALE_NONE && !j->extra_last)
        snprintf(z + strlen(z), sizeof z - strlen(z), " + %s%sx_0", extra, spaced(extra));
    snprintf(text, TEXT, j->norm_sum ? "%sx = N(%s)%s" : "%sx = %s%s", above && j->norm_in
             ? "n = N(x); " : "", z, gated);
    if (j->extra.kind != TFN_SCALE_NONE && j->extra_last)
        snprintf(text + strlen(text), TEXT - strlen(text), " + %s%sx_0", extra, spaced(extra));
    inside_formula(text, j, p);
}

static void print_place(const tfn_place *p, int32_t first, int32_t last, const char *text)
{
    char layers[32];
    snprintf(layers, sizeof layers, first == last ? "%d" : "%d-%d", (int)first, (int)last);
    printf("  %-9s%-16s%-6s", stack_name(p), sublayer_name(p->kind), layers);
    print_wrapped(text, 33);
}

typedef struct places { char text[TEXT]; tfn_place p; int32_t first; } places;
/* Equal formulas of neighbouring layers become one line. */
static void visit_formula(void *user, const tfn_place *p, const tfn_join *join)
{
    places *run = (places *)user;
    char text[TEXT];
    join_formula(text, join, p);
    if (run->first && (p->layer == 1 || strcmp(text, run->text))) {
        print_place(&run->p, run->first, run->p.layer, run->text);
        run->first = 0;
    }
    if (!run->first) run->first = p->layer;
    strcpy(run->text, text);
    run->p = *p;
}
static void print_places(const tfn_topology *t, shape s)
{
    places run;
    memset(&run, 0, sizeof run);
    printf("\nThe join of every place (%d + %d layers, one stack of %d, width %d):\n",
           (int)s.layers, (int)s.layers, (int)s.layers, (int)s.width);
    each_place(t, s, visit_formula, &run);
    if (run.first) print_place(&run.p, run.first, run.p.layer, run.text);
}

/* -- show -------------------------------------------------------------------------------------- */

static void print_field(const char *name, const char *text)
{
    if (!text || !text[0]) return;
    printf("%-12s", name);
    print_wrapped(text, 12);
}

/* The rows that have the name; a recipe brings its parts. */
typedef struct shown {
    const char          *name;
    const tfn_topology  *topology;
    const tfn_norm_rule *norm;
    const tfn_init_rule *init;
    const tfn_recipe    *recipe;
    bool                 is_norm, is_init, is_topology;
} shown;

static shown find_shown(const cli *c, const char *name)
{
    shown x;
    memset(&x, 0, sizeof x);
    x.name = name;
    x.recipe = tfn_recipe_find(name);
    x.is_topology = (x.topology = tfn_topology_find(name)) != NULL;
    x.is_norm = (x.norm = tfn_norm_find(name)) != NULL;
    x.is_init = (x.init = tfn_init_find(name)) != NULL;
    if (!x.recipe && !x.topology && !x.norm && !x.init) unknown(c, name, KINDS);
    if (x.recipe) {
        x.topology = tfn_topology_find(x.recipe->topology);
        x.norm = tfn_norm_find(x.recipe->norm);
        x.init = tfn_init_find(x.recipe->init);
    }
    return x;
}

static void print_row(const char *kind, const char *name, const char *formula, const char *paper,
                      int32_t year)
{
    char text[TEXT];
    print_field(kind, name);
    print_field("", formula);
    if (paper) print_field("", paper_text(text, paper, year));
}

static void print_facts(const shown *x)
{
    char text[TEXT];
    if (x->recipe) print_field("recipe", x->name);
    if (x->topology) {
        print_row("topology", x->topology->name, x->topology->formula, x->topology->paper,
                  x->topology->year);
        extra_text(text, x->topology);
        print_field("beyond", text);
        print_field("final norm", x->topology->flags & TFN_TOPOLOGY_FINAL_NORM ? "yes"
                    : x->topology->flags & TFN_TOPOLOGY_SIDE_STREAM ? "of the second stream"
                        : "no");
    }
    if (x->norm) {
        print_row("norm", x->norm->name, x->norm->formula, x->norm->paper, x->norm->year);
        norm_parameters(text, x->norm);
        print_field("learns", text);
    }
    if (x->init) print_row("init", x->init->name, x->init->formula, x->init->paper, x->init->year);
    needs_text(text, x->topology, x->norm, x->init);
    if (strcmp(text, "-")) print_field("needs", text);
}

/* titled: with the name and the formula, for a picture that stands alone */
static void draw_shown(drawing *d, const shown *x, shape s, int32_t layer, bool titled)
{
    int y = titled ? 3 : 0;
    if (titled) {
        word(d, 1, 0, x->name);
        word(d, 1, 1, x->topology ? x->topology->formula : x->norm ? x->norm->formula
             : x->init->formula);
    }
    if (x->topology) {
        block b;
        b.t = x->topology;
        b.norm = x->recipe ? x->norm->name : "";
        b.s = s;
        b.layer = layer;
        y = draw_block(d, &b, y) + 1;
    }
    if (x->is_norm) {
        char text[WIDE];
        snprintf(text, sizeof text, "The norm %s:", x->norm->name);
        word(d, 1, y++, text);
        y = draw_norm(d, x->norm, y) + 1;
    }
    if (x->init) {
        char text[WIDE];
        snprintf(text, sizeof text, "The weights, by %s:", x->init->name);
        word(d, 1, y++, text);
        draw_init(d, x->init, s, y);
    }
}

static void print_text_page(const shown *x, const drawing *d, shape s)
{
    print_facts(x);
    if (x->topology)
        printf("\nA decoder layer of an encoder-decoder; m: memory, x_0: the layer's input:\n");
    printf("\n");
    print_text(d);
    if (x->topology) print_places(x->topology, s);
    print_notes(x->name);
}

static int write_svg(const char *path, const drawing *d, const char *name)
{
    output_file o;
    FILE *f = output_open(&o, path);
    if (f) print_svg(f, d, name);
    return output_close(&o) ? 0 : 1;
}

static const claim *find_claim(const char *id)
{
    for (int i = 0; i < CLAIMS; i++)
        if (!strcmp(claims[i].id, id)) return &claims[i];
    return NULL;
}
static void show_claim(const claim *c)
{
    printf("%s: %s, %s\n\n", c->id, paper_of(c), c->item);
    print_field("claim", c->title);
    print_field("paper", c->expected);
    print_field("", c->paper);
    if (c->measure) {
        print_field("setting", c->setting);
        print_field("shown if", c->criterion);
    } else print_field("not here", c->reason);
}

static int show_command(cli *c)
{
    const char *name = NULL, *svg = NULL;
    long layers = 6, layer = 0, width = 512;
    shape s;
    drawing *d = (drawing *)calloc(1, sizeof *d);
    shown x;
    int code = 0;
    if (!d) return fprintf(stderr, "normlab: out of memory\n"), 1;
    while (cli_next(c)) {
        if (cli_number(c, "--layers", 1, 1000, &layers) || cli_text(c, "--svg", &svg)
            || cli_number(c, "--layer", 1, 1000, &layer)
            || cli_number(c, "--width", 1, 1 << 20, &width)) continue;
        if (name || c->argv[c->at][0] == '-')
            cli_fail(c, "show does not know \"%s\"", c->argv[c->at]);
        name = c->argv[c->at];
    }
    if (!name) cli_fail(c, "show wants a name");
    if (find_claim(name)) return free(d), show_claim(find_claim(name)), 0;
    if (layer > layers) cli_fail(c, "there is no layer %ld of %ld", layer, layers);
    x = find_shown(c, name);
    s.layers = (int32_t)layers;
    s.width = (int32_t)width;
    if (!layer) layer = layers / 2 + 1 < layers ? layers / 2 + 1 : layers;
    draw_shown(d, &x, s, (int32_t)layer, svg != NULL);
    if (svg) code = write_svg(svg, d, x.name);
    else print_text_page(&x, d, s);
    free(d);
    return code;
}

/* -- smoke: every recipe learns to write a string backwards ------------------------------------ */

/* Encoder-decoder, 6 + 6 layers, width 32. What lab.md's deep runs have in common goes for all:
 * ReLU, sinusoids, one table of embeddings times sqrt(C), Adam(0.9, 0.98) to 2e-3 within 100 steps,
 * then linearly to 0; label smoothing 0.1; 32 fresh strings a step. No recipe has settings of
 * its own but nGPT, whose model has other parts. The encoder reads 8 of 16 letters and END, the
 * decoder BEGIN and the letters backwards; it learns to write those and END, the test counts the
 * letters alone. */
enum { SMOKE_LETTERS = 16, SMOKE_BEGIN = SMOKE_LETTERS, SMOKE_END, SMOKE_VOCAB };
enum { SMOKE_LENGTH = 8, SMOKE_TIME, SMOKE_BATCH = 32, SMOKE_TEST = 128 };
#define SMOKE_MARGIN 0.05           /* nats below the unigram loss that count as learning */

/* Recipes that do not get below the unigram loss here, and why; each reason was measured. */
#define SMALL_EMBEDDING "its embeddings have deviation 0.02, as in language models with learned "  \
    "or rotary positions, and drown in this task's sinusoids of variance 1/2: with learned "       \
    "positions of the same deviation it learns"
static const struct { const char *name, *reason; } untrainable[] = {
    { "hanin-rolnick", "He's gain belongs before a ReLU; W_V W_O has none and multiplies the "
      "variance by up to 4, and nothing norms the stream. The paper's theorem is about fully "
      "connected ReLU networks. With Xavier's weights it learns" },
    { "prmsnorm", "1/16 of 32 channels is two, too few for a mean of squares; the paper has 32 of "
      "512. At width 128 it learns like RMSNorm" },
    { "sandwich", SMALL_EMBEDDING }, { "output-norm", SMALL_EMBEDDING },
    { "olmo2", SMALL_EMBEDDING },
    { "centernorm", "it does not bound the stream, which grows with every sub-layer; LipsFormer "
      "has it with branches over L and a spectral init. With T-Fixup's weights it learns" }
};

typedef struct smoke_result {
    const tfn_recipe *recipe;
    double first, last;             /* losses of the test strings */
    char   error[160];
} smoke_result;

typedef struct smoke_run {
    smoke_result *results;
    int           count, jobs;
    long          steps, seed;
} smoke_run;

typedef struct smoke_data {
    int32_t   source[SMOKE_TEST * SMOKE_TIME], tokens[SMOKE_TEST * SMOKE_TIME];
    int32_t   targets[SMOKE_TEST * SMOKE_TIME];
    tfn_batch batch;
} smoke_data;

/* Strings number `which` of a seed; end: what END is worth as a target, -1 for nothing. */
static void smoke_fill(smoke_data *data, int32_t strings, uint64_t seed, uint64_t which,
                       int32_t end)
{
    tfn_key key = tfn_key_fold(tfn_key_make(seed), which);
    tfn_batch *b = &data->batch;
    memset(b, 0, sizeof *b);
    for (int32_t i = 0; i < strings * SMOKE_TIME; i++) {
        int32_t t = i % SMOKE_TIME;
        int32_t letter = (int32_t)(tfn_random_bits(key, (uint64_t)i) % SMOKE_LETTERS);
        data->source[i] = t < SMOKE_LENGTH ? letter : SMOKE_END;
        if (t < SMOKE_LENGTH) data->targets[i - 2*t + SMOKE_LENGTH - 1] = letter;
        else data->targets[i] = end;
    }
    for (int32_t i = 0; i < strings * SMOKE_TIME; i++)
        data->tokens[i] = i % SMOKE_TIME ? data->targets[i - 1] : SMOKE_BEGIN;
    b->tokens = data->tokens, b->targets = data->targets, b->source = data->source;
    b->batch = strings;
    b->time = b->source_time = SMOKE_TIME;
}

static tfn_model_desc smoke_desc(const smoke_run *run, const tfn_recipe *recipe)
{
    uint32_t flags = tfn_topology_find(recipe->topology)->flags;
    bool unit = (flags & TFN_TOPOLOGY_UNIT_WEIGHTS) != 0;    /* nGPT is a model of its own */
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.vocab = SMOKE_VOCAB;
    d.context = SMOKE_TIME;
    d.layers = 6;
    d.width = 32, d.heads = 4, d.ffn = 128;
    d.activation = unit ? TFN_ACTIVATION_SWIGLU : TFN_ACTIVATION_RELU;
    d.position = unit ? TFN_POSITION_ROTARY : TFN_POSITION_SINUSOIDAL;
    d.untied = unit;
    d.scale_embedding = !unit && !(flags & TFN_TOPOLOGY_EMBEDDING_SCALE);
    d.recipe = recipe->name;
    d.smoothing = 0.1f;
    d.optimizer = TFN_OPTIMIZER_ADAM;
    d.schedule.kind = TFN_SCHEDULE_LINEAR;
    d.schedule.lr = 2e-3f;
    d.schedule.warmup = 100;
    d.schedule.steps = run->steps;
    d.batch = SMOKE_TEST;
    d.threads = 1;
    d.seed = (uint64_t)run->seed;
    return d;
}

static bool smoke_train(tfn_model *m, const smoke_run *run, smoke_result *r, smoke_data *data,
                        const smoke_data *test)
{
    uint64_t seed = (uint64_t)run->seed;
    tfn_report report;
    smoke_fill(data, SMOKE_BATCH, seed, 0, SMOKE_END);
    if (tfn_model_profile(m, &data->batch) != TFN_OK) return false;
    if (tfn_model_eval(m, &test->batch, &report) != TFN_OK) return false;
    r->first = report.nll;
    for (long step = 0; step < run->steps; step++) {
        smoke_fill(data, SMOKE_BATCH, seed, (uint64_t)step, SMOKE_END);
        if (tfn_model_step(m, &data->batch, &report) != TFN_OK) return false;
    }
    if (tfn_model_eval(m, &test->batch, &report) != TFN_OK) return false;
    r->last = report.nll;
    return true;
}

/* Every jobs-th recipe, from number `job` on. The test strings are the same for all seeds. */
static void smoke_worker(void *context, int job)
{
    const smoke_run *run = (const smoke_run *)context;
    smoke_data *data = (smoke_data *)malloc(2 * sizeof *data);
    for (int i = job; data && i < run->count; i += run->jobs) {
        smoke_result *r = run->results + i;
        tfn_model_desc d = smoke_desc(run, r->recipe);
        tfn_model m;
        smoke_fill(data + 1, SMOKE_TEST, 0, UINT64_MAX, -1);
        if (tfn_model_new(&m, &d, NULL) != TFN_OK || !smoke_train(&m, run, r, data, data + 1))
            tfn_error_text(&m.error, r->error, sizeof r->error);
        tfn_model_free(&m);
        fprintf(stderr, "%s %.4f\n", r->recipe->name, r->last);
    }
    if (!data)
        for (int i = job; i < run->count; i += run->jobs)
            strcpy(run->results[i].error, "out of memory");
    free(data);
}

static const char *known_untrainable(const char *name)
{
    for (size_t i = 0; i < sizeof untrainable / sizeof *untrainable; i++)
        if (!strcmp(untrainable[i].name, name)) return untrainable[i].reason;
    return NULL;
}

static bool is_below(const smoke_result *r)
{
    return r->last < log((double)SMOKE_LETTERS) - SMOKE_MARGIN;     /* false for NaN */
}

static void smoke_row(const smoke_result *r)
{
    const char *known = known_untrainable(r->recipe->name) ? " (known)" : "";
    if (r->error[0]) printf("%-20s %s\n", r->recipe->name, r->error);
    else printf("%-20s %11.4f %11.4f %9.4f  %s%s\n", r->recipe->name, r->first, r->last,
                log((double)SMOKE_LETTERS), is_below(r) ? "below" : "not below", known);
}

/* A table, and why those known not to learn do not. Surprises: errors, and recipes that should. */
static int smoke(smoke_run *run)
{
    int surprises = 0;
    tfn_threads_run(run->jobs, smoke_worker, run);
    printf("String reversal, 6 + 6 layers, width 32, %ld steps, seed %ld.\n"
           "Losses a letter of 128 test strings, at the start and after the steps, and of\n"
           "guessing; below means by %g at least.\n\n%-20s %11s %11s %9s\n", run->steps, run->seed,
           SMOKE_MARGIN, "recipe", "start", "end", "unigram");
    for (int i = 0; i < run->count; i++) {
        const smoke_result *r = run->results + i;
        smoke_row(r);
        surprises += r->error[0] || (!is_below(r) && !known_untrainable(r->recipe->name));
    }
    for (int i = 0; i < run->count; i++) {
        const char *name = run->results[i].recipe->name, *reason = known_untrainable(name);
        if (!reason) continue;
        printf("\n%s: ", name);
        print_wrapped(reason, 2);
    }
    if (surprises) printf("\n%d recipes should have learned and have not\n", surprises);
    return surprises ? 1 : 0;
}

static int smoke_command(cli *c)
{
    smoke_run run = { NULL, 0, 1, 300, 1 };
    long jobs = 1;
    smoke_result *r = run.results = (smoke_result *)calloc(ROWS_MAX, sizeof *run.results);
    if (!r) return fprintf(stderr, "normlab: out of memory\n"), 1;
    while (cli_next(c)) {
        if (cli_number(c, "--steps", 1, 1000000, &run.steps)) continue;
        if (cli_number(c, "--seed", 0, 1L << 30, &run.seed)) continue;
        if (cli_number(c, "--jobs", 1, TFN_THREADS_MAX, &jobs)) continue;
        if (run.count == ROWS_MAX) cli_fail(c, "more than %d recipes", ROWS_MAX);
        r[run.count].recipe = tfn_recipe_find(c->argv[c->at]);
        if (!r[run.count++].recipe) unknown(c, c->argv[c->at], RECIPE);
    }
    if (!run.count)
        while (run.count < ROWS_MAX && tfn_recipe_at(run.count)) {
            r[run.count].recipe = tfn_recipe_at(run.count);
            run.count++;
        }
    run.jobs = (int)jobs;
    jobs = smoke(&run);
    free(run.results);
    return (int)jobs;
}

/* -- claims ------------------------------------------------------------------------------------ */

static int claims_command(cli *c)
{
    if (cli_next(c)) cli_fail(c, "claims takes no argument, not \"%s\"", c->argv[c->at]);
    for (int i = 0; i < CLAIMS; i++)
        printf("%-4s %-22s %s%s\n", claims[i].id, claims[i].item, claims[i].title,
               claims[i].measure ? "" : " (not testable here)");
    return 0;
}
/* What claims asked for was there, or it says what was not. */
static bool claims_right(const lab *l)
{
    if (l->wrong)
        fprintf(stderr, "normlab: %d numbers that claims ask for are not there: %s\n", l->wrong,
                l->wrong_text);
    return !l->wrong;
}

static int measure_claims(lab *l, const claim *const *wanted, int count, bool drawn)
{
    outcome *o = (outcome *)malloc(sizeof *o);
    if (!o) return fprintf(stderr, "normlab: out of memory\n"), 1;
    lab_read(l);
    for (int i = 0; i < count; i++) decide(wanted[i], l, o);
    if (!lab_work(l)) return free(o), fprintf(stderr, "normlab: out of memory\n"), 1;
    for (int i = 0; i < count; i++) {
        decide(wanted[i], l, o);
        printf("%-4s %-17s %s\n", wanted[i]->id, verdicts[o->verdict], o->numbers);
        if (drawn) draw_text(stdout, wanted[i], o);
        if (!output_flush()) break;
    }
    free(o);
    return l->lost || !claims_right(l) ? 1 : 0;
}

/* Options that run and report share: what is measured, where it is kept. */
typedef struct lab_options {
    long seeds, starts, jobs, depth, width;
    char instead[64];
} lab_options;
/* NAME in the place of post, or OLD=NAME. */
static bool lab_topology(cli *c, lab *l, lab_options *o)
{
    const char *text, *equals;
    if (!cli_text(c, "--topology", &text)) return false;
    equals = strchr(text, '=');
    snprintf(o->instead, sizeof o->instead, "%.*s", equals ? (int)(equals - text) : 4,
             equals ? text : "post");
    l->instead = o->instead;
    l->recipe = equals ? equals + 1 : text;
    if (!tfn_recipe_find(l->instead)) unknown(c, l->instead, RECIPE);
    if (!tfn_recipe_find(l->recipe)) unknown(c, l->recipe, RECIPE);
    return true;
}
static bool lab_isa(cli *c, lab *l)
{
    const char *name;
    if (!cli_text(c, "--isa", &name)) return false;
    l->isa = tfn_isa_find(name);
    if (!tfn_kernels_for(l->isa)) cli_fail(c, "this machine lacks \"%s\"", name);
    return true;
}
static bool lab_option(cli *c, lab *l, lab_options *o)
{
    if (cli_number(c, "--seeds", 1, LAB_SEEDS, &o->seeds)) return true;
    if (cli_number(c, "--start-seeds", 1, LAB_SEEDS, &o->starts)) return true;
    if (cli_number(c, "--jobs", 1, TFN_THREADS_MAX, &o->jobs)) return true;
    if (cli_number(c, "--depth", 1, LAB_DEEPEST, &o->depth)) return true;
    if (cli_number(c, "--width", 8, 1024, &o->width)) return true;
    if (lab_topology(c, l, o) || lab_isa(c, l)) return true;
    if (cli_text(c, "--file", &l->file)) return true;
    if (!cli_is(c, "--quick") && !cli_is(c, "--full")) return false;
    l->full = cli_is(c, "--full");
    return true;
}
static void lab_begin(lab *l, const lab_options *o)
{
    l->seeds = o->seeds ? (int)o->seeds : l->full ? 5 : 2;
    l->init_seeds = o->starts ? (int)o->starts : l->full ? 30 : 8;
    l->jobs = o->jobs ? (int)o->jobs : 1;
    l->depth = (int32_t)o->depth, l->width = (int32_t)o->width & ~7;
    if (!strcmp(l->file, "-")) l->file = NULL;
    lab_prepare();
}
/* Claims named so far, or all of them. */
typedef struct lab_claims { const claim *list[CLAIMS]; int count; } lab_claims;
static void claim_named(cli *c, lab_claims *wanted)
{
    const claim *named = find_claim(c->argv[c->at]);
    if (!named || wanted->count == CLAIMS)
        cli_fail(c, "there is no claim \"%s\"; normlab claims lists them", c->argv[c->at]);
    wanted->list[wanted->count++] = named;
}
static void all_claims(lab_claims *wanted)
{
    for (int i = 0; i < CLAIMS; i++) wanted->list[i] = &claims[i];
    wanted->count = CLAIMS;
}

static int report_command(cli *c)
{
    bool markdown = false;
    lab_options options;
    lab_claims wanted;
    lab l;
    outcome *o = (outcome *)malloc(sizeof *o);
    if (!o) return fprintf(stderr, "normlab: out of memory\n"), 1;
    memset(&l, 0, sizeof l), memset(&options, 0, sizeof options);
    l.file = "normlab.jsonl";
    wanted.count = 0;
    while (cli_next(c)) {
        if (lab_option(c, &l, &options)) continue;
        if (cli_is(c, "--markdown")) markdown = true;
        else claim_named(c, &wanted);
    }
    if (!wanted.count) all_claims(&wanted);
    lab_begin(&l, &options);
    lab_read(&l);
    if (!l.count) fprintf(stderr, "normlab: nothing is measured yet: normlab all\n");
    if (markdown) markdown_report(stdout, &l, wanted.list, wanted.count, o);
    else html_report(stdout, &l, wanted.list, wanted.count, o);
    lab_free(&l);
    free(o);
    return claims_right(&l) ? 0 : 1;
}

static int run_command(cli *c, bool all)
{
    lab_options options;
    lab_claims wanted;
    bool drawn = false;
    int status;
    lab l;
    memset(&l, 0, sizeof l), memset(&options, 0, sizeof options);
    l.file = "normlab.jsonl";
    wanted.count = 0;
    while (cli_next(c)) {
        if (lab_option(c, &l, &options)) continue;
        if (cli_is(c, "--draw")) drawn = true;
        else if (all) cli_fail(c, "all does not know \"%s\"", c->argv[c->at]);
        else claim_named(c, &wanted);
    }
    if (all) all_claims(&wanted);
    if (!wanted.count) cli_fail(c, "run wants the ids of claims; normlab claims lists them");
    lab_begin(&l, &options);
    status = measure_claims(&l, wanted.list, wanted.count, drawn);
    lab_free(&l);
    return status;
}

static int lesson_command(cli *c)
{
    long number = 0;
    bool ok;
    lab l;
    outcome *o = (outcome *)malloc(sizeof *o);
    if (!o) return fprintf(stderr, "normlab: out of memory\n"), 1;
    memset(&l, 0, sizeof l);
    l.file = "normlab.jsonl";
    while (cli_next(c)) {
        if (cli_text(c, "--file", &l.file)) continue;
        if (!number && strlen(c->argv[c->at]) == 1) number = c->argv[c->at][0] - '0';
        else number = -1;
    }
    if (number < 1 || number > LESSONS) cli_fail(c, "lesson wants a number from 1 to %d", LESSONS);
    l.seeds = l.jobs = 1;
    l.init_seeds = 2;
    if (!strcmp(l.file, "-")) l.file = NULL;
    lab_prepare();
    lab_read(&l);
    ok = lesson(&l, (int)number, o) && !l.lost;
    lab_free(&l);
    free(o);
    return ok ? 0 : 1;
}

static bool compare_optimizer(cli *c, lab_spec *s)
{
    const char *name;
    if (!cli_text(c, "--optimizer", &name)) return false;
    for (int i = 0; i < LAB_OPTIMIZERS; i++)
        if (!strcmp(lab_optimizers[i].name, name))
            return s->optimizer = lab_optimizers[i].kind, true;
    cli_fail(c, "--optimizer wants adam, adamw, radam or sgd, not \"%s\"", name);
    return false;
}
/* Pairs and texts: those of one decoder at least. */
static bool compare_task(cli *c, lab_spec *s)
{
    const char *name;
    if (!cli_text(c, "--task", &name)) return false;
    for (int i = 0; i < LAB_MASKED; i++)
        if (!strcmp(lab_tasks[i].name, name)) return s->task = (lab_task)i, true;
    cli_fail(c, "--task wants reverse, grammar, headline, speech, text or markov, not \"%s\"",
             name);
    return false;
}
static bool compare_option(cli *c, lab_spec *s, const char **svg)
{
    long n;
    if (cli_number(c, "--layers", 1, COMPARE_LAYERS, &n)) return s->layers = (int32_t)n, true;
    if (cli_number(c, "--width", 8, 1024, &n))
        return s->width = (int32_t)(n & ~7), s->ffn = 2 * s->width, true;
    if (cli_number(c, "--warmup", 0, 1L << 30, &n)) return s->warmup = n, true;
    if (cli_number(c, "--steps", 1, 1L << 30, &n)) return s->steps = s->stop = n, true;
    if (cli_number(c, "--seed", 0, 1L << 30, &n)) return s->seed = (uint64_t)n, true;
    if (cli_number(c, "--corpus", 0, 1L << 30, &n)) return s->corpus = (int32_t)n, true;
    if (cli_real(c, "--lr", 0, 1e3, &s->lr)) return true;
    if (cli_real(c, "--dropout", 0, 0.9, &s->dropout)) return true;
    if (cli_real(c, "--beta2", 0, 1, &s->beta2)) return true;
    return compare_optimizer(c, s) || compare_task(c, s) || cli_text(c, "--svg", svg);
}
static int compare_command(cli *c)
{
    lab_spec s = training("", 6, 2e-3, 0, 400);
    const char *names[COMPARED], *svg = NULL;
    comparison *x = (comparison *)calloc(1, sizeof *x);
    bool ok;
    if (!x) return fprintf(stderr, "normlab: out of memory\n"), 1;
    s.seed = 1;
    while (cli_next(c)) {
        if (compare_option(c, &s, &svg)) continue;
        if (x->count == COMPARED) cli_fail(c, "compare takes at most %d recipes", COMPARED);
        if (!tfn_recipe_find(c->argv[c->at])) unknown(c, c->argv[c->at], RECIPE);
        names[x->count++] = c->argv[c->at];
    }
    if (!x->count) cli_fail(c, "compare wants recipes; normlab list recipes lists them");
    for (int k = 0; k < x->count; k++) {
        x->run[k].spec = s;
        x->run[k].spec.recipe = names[k];
    }
    ok = compare_start(x);
    if (ok) compare_train(x, compare_is_terminal());
    if (ok && svg) ok = compare_svg(x, svg);
    for (int k = 0; k < x->count; k++) tfn_model_free(&x->run[k].model);
    free(x);
    return ok ? 0 : 1;
}

static int run_tool(int argc, char **argv)
{
    cli c = { "normlab", NULL, 0, 1 };
    c.argv = argv, c.argc = argc;
    if (argc > 1 && !strcmp(argv[1], "list")) return list_command(&c);
    if (argc > 1 && !strcmp(argv[1], "show")) return show_command(&c);
    if (argc > 1 && !strcmp(argv[1], "claims")) return claims_command(&c);
    if (argc > 1 && !strcmp(argv[1], "compare")) return compare_command(&c);
    if (argc > 1 && !strcmp(argv[1], "report")) return report_command(&c);
    if (argc > 1 && !strcmp(argv[1], "lesson")) return lesson_command(&c);
    if (argc > 1 && !strcmp(argv[1], "run")) return run_command(&c, false);
    if (argc > 1 && !strcmp(argv[1], "all")) return run_command(&c, true);
    if (argc > 1 && !strcmp(argv[1], "smoke")) return smoke_command(&c);
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return fputs(usage, stdout), 0;
    if (argc > 1) cli_fail(&c, "there is no command \"%s\"", argv[1]);
    return fputs(usage, stderr), 2;
}

int main(int argc, char **argv)
{
    output_begin("normlab");
    return output_end(run_tool(argc, argv));
}
