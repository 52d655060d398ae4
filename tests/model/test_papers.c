/* Statements of papers and their code, for every row of the tables: which norms are causal, which
 * options a recipe accepts, which parameters decay. */
#include "../lib.h"
#include "../check.h"

enum { PAPERS_V = 13, PAPERS_B = 2, PAPERS_T = 7, PAPERS_WIDTH = 20, PAPERS_HEADS = 2 };

static tfn_model_desc papers_desc(const char *recipe)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = PAPERS_V;
    d.context = PAPERS_T;
    d.width = PAPERS_WIDTH;
    d.heads = PAPERS_HEADS;
    d.ffn = 24;
    d.layers = 2;
    d.batch = PAPERS_B;
    d.recipe = recipe;
    d.isa = TFN_ISA_PLAIN;
    return d;
}

static bool papers_new(tfn_model *m, const tfn_model_desc *d, const char *name)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s: %s", name, tfn_error_text(&m->error, text, sizeof text));
    return false;
}

typedef struct papers_data {
    int32_t   tokens[PAPERS_B * PAPERS_T], targets[PAPERS_B * PAPERS_T];
    int32_t   source[PAPERS_B * PAPERS_T];
    tfn_batch batch;
} papers_data;

static void papers_batch(papers_data *x, tfn_arch arch)
{
    memset(x, 0, sizeof *x);
    for (int32_t i = 0; i < PAPERS_B * PAPERS_T; i++) {
        x->tokens[i] = (i*5 + i/3) % (PAPERS_V - 1);        /* the last word is reserved */
        x->targets[i] = (i*7 + 3) % PAPERS_V;
        x->source[i] = (i*3 + i/4 + 2) % PAPERS_V;
    }
    x->batch.batch = PAPERS_B;
    x->batch.time = PAPERS_T;
    x->batch.tokens = x->tokens;
    x->batch.targets = x->targets;
    if (arch != TFN_ARCH_ENCODER_DECODER) return;
    x->batch.source = x->source;
    x->batch.source_time = PAPERS_T;
}

/* -- causality --------------------------------------------------------------------------------- */

/* True if the logits of the first positions of the first sentence do not change with the word at
 * place `changed`. */
static bool papers_stays(tfn_model *m, papers_data *x, int32_t changed)
{
    enum { N = (PAPERS_T - 1) * PAPERS_V };
    float first[N];
    const int32_t was = x->tokens[changed];
    bool same = true;
    memcpy(first, tfn_model_logits(m, &x->batch), sizeof first);
    for (int32_t word = 0; word < PAPERS_V; word++) {
        x->tokens[changed] = word;
        same = same && !memcmp(first, tfn_model_logits(m, &x->batch), sizeof first);
    }
    x->tokens[changed] = was;
    return same;
}
static bool papers_decodes(tfn_model *m, papers_data *x)
{
    static char scratch[1 << 20], block[1 << 20];
    tfn_decoder d;
    int32_t column[PAPERS_B];
    bool same = true;
    float wanted[PAPERS_B * PAPERS_T * PAPERS_V];
    memcpy(wanted, tfn_model_logits(m, &x->batch), sizeof wanted);
    CHECK(tfn_decoder_size(m, PAPERS_B, 1, scratch, sizeof scratch) <= sizeof block);
    CHECK(tfn_decoder_init(&d, m, PAPERS_B, 1, block, sizeof block) == TFN_OK);
    for (int32_t t = 0; t < PAPERS_T; t++) {
        const float *z;
        for (int32_t b = 0; b < PAPERS_B; b++) column[b] = x->tokens[b*PAPERS_T + t];
        z = tfn_decoder_next(&d, column, 1, NULL);
        for (int32_t b = 0; z && b < PAPERS_B; b++)
            same = same && !memcmp(z + b*PAPERS_V, wanted + (b*PAPERS_T + t)*PAPERS_V,
                                   PAPERS_V * sizeof *z);
        CHECK(z != NULL);
    }
    return same;
}

/* TFN_FLAG_WHOLE marks exactly the norms whose output at a position depends on later ones or on
 * other sentences, so that a decoder computes something else. */
TEST(papers_whole_norms)
{
    int whole = 0;
    for (int32_t i = 0; tfn_norm_at(i); i++) {
        const tfn_norm_rule *norm = tfn_norm_at(i);
        const bool wanted = !(norm->flags & TFN_FLAG_WHOLE);
        tfn_model_desc d = papers_desc("pre");
        papers_data x;
        tfn_model m;
        tfn_param_info info;
        d.norm = norm->name;
        d.norm_eps = 0.125f;                            /* so that the maximum has an effect */
        if (!papers_new(&m, &d, norm->name)) continue;
        for (int32_t j = 0; tfn_model_param(&m, j, &info); j++)
            if (!strcmp(info.name, "embedding.weight"))
                for (int32_t c = 0; c < info.cols; c++)       /* a word with its own maximum */
                    info.data[(PAPERS_V - 1) * info.cols + c] *= 8;
        papers_batch(&x, d.arch);
        if (papers_stays(&m, &x, PAPERS_T - 1) != wanted)
            FAIL("%s is %scausal", norm->name, wanted ? "not " : "");
        if (papers_stays(&m, &x, 2*PAPERS_T - 1) != wanted)
            FAIL("%s: a sentence is %sby itself", norm->name, wanted ? "not " : "");
        if (papers_decodes(&m, &x) != wanted)
            FAIL("%s is %sequal in decode", norm->name, wanted ? "not " : "");
        whole += !wanted;
        tfn_model_free(&m);
    }
    CHECK_INT(whole, 1);
}

/* -- options that a recipe accepts ------------------------------------------------------------- */

/* Fewer key/value heads: a model that the resolver accepts can be made, and a refusal has a reason.
 * Only nGPT's form is refused. */
TEST(papers_kv_heads)
{
    static const int32_t kv[] = { 1, 2, 4 };
    int refused = 0, made = 0;
    for (int32_t i = 0; tfn_recipe_at(i); i++)
        for (int form = TFN_QK_NORM_DEFAULT; form <= TFN_QK_NORM_QKV_HEAD; form++)
            for (int k = 0; k < 3; k++) {
                const char *name = tfn_recipe_at(i)->name;
                tfn_model_desc d = papers_desc(name), resolved;
                bool unit = form ? form == TFN_QK_NORM_UNIT : !strcmp(name, "ngpt");
                tfn_error e;
                tfn_model m;
                char text[200];
                d.arch = (tfn_arch)((i + form + k) % 3);
                d.layers = 1;
                d.width = 32;                       /* also for groups of a head's channels */
                d.heads = 4;
                d.kv_heads = kv[k];
                d.qk_norm = (tfn_qk_norm)form;
                if (tfn_model_resolve(&resolved, &d, &e)) {
                    if (!papers_new(&m, &d, name)) continue;
                    tfn_model_free(&m);
                    made++;
                    if (unit && kv[k] < 4) FAIL("%s: %d heads are accepted", name, (int)kv[k]);
                    continue;
                }
                refused++;
                tfn_error_text(&e, text, sizeof text);
                if (!unit || e.status != TFN_BAD_OPTION || !strstr(text, "share their scales"))
                    FAIL("%s, form %d, %d heads: %s", name, form, (int)kv[k], text);
            }
    CHECK(made > 500 && refused > 100);
}

/* -- weight decay ------------------------------------------------------------------------------ */

static void papers_step(tfn_model *m, float *p, const tfn_model_desc *d, const char *name)
{
    papers_data x;
    tfn_report report;
    tfn_param_info info;
    ptrdiff_t at = 0;
    if (!papers_new(m, d, name)) return;
    papers_batch(&x, d->arch);
    m->profiled = true;
    CHECK(tfn_model_step(m, &x.batch, &report) == TFN_OK && report.updated);
    for (int32_t i = 0; tfn_model_param(m, i, &info); i++) {
        memcpy(p + at, info.data, (size_t)(info.rows * info.cols) * sizeof *p);
        at += info.rows * info.cols;
    }
}

/* AdamW without decay, with decay, and with decay of all: the difference is lr*decay*p, for
 * matrices or for every parameter, in every recipe; tfn_model_param says which. */
TEST(papers_decay_all)
{
    static float start[1 << 16], plain[1 << 16], part[1 << 16], all[1 << 16];
    int more = 0;
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const char *name = tfn_recipe_at(i)->name;
        tfn_model_desc d = papers_desc(name);
        tfn_model m[4];
        tfn_param_info info;
        ptrdiff_t at = 0;
        d.arch = (tfn_arch)(i % 3);
        d.schedule.lr = (float)0.01;
        if (tfn_topology_find(tfn_recipe_at(i)->topology)->flags & TFN_TOPOLOGY_UNIT_WEIGHTS)
            continue;
        if (!papers_new(m, &d, name)) continue;
        papers_step(m + 1, plain, &d, name);
        d.decay = (float)0.5;
        papers_step(m + 2, part, &d, name);
        d.decay_all = true;
        papers_step(m + 3, all, &d, name);
        for (int32_t j = 0; tfn_model_param(m, j, &info); j++) {
            memcpy(start + at, info.data, (size_t)(info.rows * info.cols) * sizeof *start);
            at += info.rows * info.cols;
        }
        at = 0;
        for (int32_t j = 0; tfn_model_param(m + 3, j, &info); j++) {
            const ptrdiff_t end = at + info.rows * info.cols;
            const bool state = !info.grad, scale = strstr(info.name, ".mix.") != NULL;
            const bool matrix = info.rows > 1 && !state && !scale;      /* DLCL's rows of scales */
            CHECK(info.decay == !state);
            more += info.decay && !matrix;
            for (; at < end; at++) {
                double shrink = state ? 0 : 0.01 * 0.5 * (double)start[at], p = (double)plain[at];
                if (state) continue;
                if (!(fabs((double)all[at] - (p - shrink)) <= 1e-6))
                    FAIL("%s: %s is %g, not %g", name, info.name, (double)all[at], p - shrink);
                if (!matrix && part[at] != plain[at])
                    FAIL("%s: %s decays without being asked to", name, info.name);
                if (matrix && !(fabs((double)part[at] - (p - shrink)) <= 1e-6))
                    FAIL("%s: %s does not decay", name, info.name);
            }
        }
        for (int j = 0; j < 4; j++) tfn_model_free(m + j);
    }
    CHECK(more > 1000);
}

/* ALiBi (Press et al. 2022, section 3, and get_slopes of their code): if the number of heads is no
 * power of two, the rest of the slopes are every other one of twice the power below it. */
TEST(papers_alibi_slopes)
{
    static const struct { int32_t heads; double powers[6]; } rows[] = {
        { 1, { 8 } }, { 2, { 4, 8 } }, { 3, { 4, 8, 2 } }, { 4, { 2, 4, 6, 8 } },
        { 6, { 2, 4, 6, 8, 1, 3 } }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model_desc d = papers_desc("pre");
        tfn_model m;
        d.position = TFN_POSITION_ALIBI;
        d.heads = rows[i].heads;
        d.width = 12;
        if (!papers_new(&m, &d, "alibi")) return;
        for (int32_t h = 0; h < d.heads; h++)
            for (int32_t j = 0; j < 2*PAPERS_T - 1; j++) {
                const double distance = fabs((double)(j - (PAPERS_T - 1)));
                CASE("head %d of %d, distance %g", h, d.heads, distance);
                CHECK_CLOSE((double)m.run.tables[h * (2*PAPERS_T - 1) + j],
                            -pow(2, -rows[i].powers[h]) * distance, 1e-6);
            }
        tfn_model_free(&m);
    }
}

int main(void)
{
    RUN(papers_whole_norms);
    RUN(papers_kv_heads);
    RUN(papers_decay_all);
    RUN(papers_alibi_slopes);
    return DONE();
}
