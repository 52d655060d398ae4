/* Every recipe against a separate implementation in PyTorch (golden/make_variants.py): logits,
 * loss, two projections of every parameter's gradient, running statistics after an update, within
 * 1e-5; and the scales of Admin's profile. A parameter that only one side has is a failure. */
#include "../lib.h"
#include "../check.h"
#include "../golden/golden.h"
#include "../golden/golden_variants.h"

enum { VARIANTS_VOCAB = 11, VARIANTS_B = 2, VARIANTS_TIME = 5, VARIANTS_SOURCE = 6 };

/* The stored values are rounded to millionths. */
#ifdef TFN__DOUBLE
static const double variants_tolerance = 1e-6;
#else
static const double variants_tolerance = 1e-5;
#endif

static const int32_t variants_lengths[] = { 5, 3 }, variants_source_lengths[] = { 4, 6 };

/* Differences from the common model, like the class of that name in make_variants.py. */
typedef struct variants_case {
    const char *name, *recipe, *decoder;    /* recipe NULL: name; decoder: its own topology */
    const char *norm;                       /* NULL: the recipe's */
    int32_t     width, layers, head_size;   /* 0: 8, 3, width/heads */
    bool        full, scaled, tied;         /* decoder without padding; embeddings times sqrt(C) */
    int64_t     step, warmup;
    float       attention_cap, logit_cap, norm_factor;
    bool        both_only, unit, learned;   /* unit: nGPT's model; learned: positions */
    bool        rates;      /* every other learned rate of nGPT is negative */
    tfn_mix_rule mix;       /* unless all 0: a user's row, the recipe's with these */
    float       side_scale, side_weight;
    bool        sigma;      /* sigmaReparam: other random numbers, SGD with rate 0.01 */
    bool        sensitive;  /* statistics of two features: the sides agree only in double */
    struct { const char *name, *value; } options[8];    /* for tfn_desc_set, after all above */
} variants_case;

static const variants_case variants_cases[] = {
#define VARIANT(...) { __VA_ARGS__ },
    VARIANT(.name = "post") VARIANT(.name = "pre")
    VARIANT(.name = "post-then-pre", .recipe = "post", .decoder = "pre", .both_only = true)
    VARIANT(.name = "pre-then-post", .recipe = "pre", .decoder = "post", .both_only = true)
    VARIANT(.name = "admin") VARIANT(.name = "admin-constant") VARIANT(.name = "admin-sqrt")
    VARIANT(.name = "b2t") VARIANT(.name = "b2t-pre") VARIANT(.name = "b2t-skip-last")
    VARIANT(.name = "b2t-no-norm") VARIANT(.name = "dlcl") VARIANT(.name = "dlcl-post")
    VARIANT(.name = "dlcl-softmax") VARIANT(.name = "dlcl-vector") VARIANT(.name = "dlcl-groups")
    VARIANT(.name = "dlcl-one") VARIANT(.name = "dlcl-window")
    VARIANT(.name = "dlcl-post-vector-softmax", .recipe = "dlcl-post",
            .mix = { 0, true, true, false, 0 })
    VARIANT(.name = "resi-dual-weighted", .recipe = "resi-dual", .side_scale = 0.5f,
            .side_weight = 0.75f)
    VARIANT(.name = "t-fixup") VARIANT(.name = "fixup") VARIANT(.name = "rezero")
    VARIANT(.name = "rezero-post") VARIANT(.name = "looklinear") VARIANT(.name = "deepnorm")
    VARIANT(.name = "ds-init") VARIANT(.name = "scalenorm", .scaled = true, .tied = true)
    VARIANT(.name = "batchnorm") VARIANT(.name = "transparent") VARIANT(.name = "macaron")
    VARIANT(.name = "macaron-pre") VARIANT(.name = "adanorm") VARIANT(.name = "layernorm-simple")
    VARIANT(.name = "detachnorm") VARIANT(.name = "detachnorm-mean")
    VARIANT(.name = "detachnorm-std") VARIANT(.name = "zero-gamma")
    VARIANT(.name = "hanin-rolnick") VARIANT(.name = "dense")
    VARIANT(.name = "linear-aggregation") VARIANT(.name = "pre-rms") VARIANT(.name = "post-rms")
    VARIANT(.name = "prmsnorm", .width = 32, .sensitive = true) VARIANT(.name = "rmsnorm-outside")
    VARIANT(.name = "gemma") VARIANT(.name = "sandwich") VARIANT(.name = "peri")
    VARIANT(.name = "output-norm") VARIANT(.name = "olmo2") VARIANT(.name = "swin-v2")
    VARIANT(.name = "qknorm") VARIANT(.name = "qk-head") VARIANT(.name = "qkv-head")
    VARIANT(.name = "sub-ln") VARIANT(.name = "normformer") VARIANT(.name = "normformer-res")
    VARIANT(.name = "resi-dual") VARIANT(.name = "dyt") VARIANT(.name = "derf")
    VARIANT(.name = "lns") VARIANT(.name = "mix-ln", .layers = 4) VARIANT(.name = "hybridnorm")
    VARIANT(.name = "hybridnorm-first") VARIANT(.name = "layerscale") VARIANT(.name = "gpt2")
    VARIANT(.name = "embed-norm") VARIANT(.name = "bert") VARIANT(.name = "ngpt", .unit = true)
    VARIANT(.name = "ngpt-signed", .recipe = "ngpt", .unit = true, .rates = true)
    VARIANT(.name = "parallel") VARIANT(.name = "parallel-shared") VARIANT(.name = "skipinit")
    VARIANT(.name = "powernorm", .warmup = 4, .full = true)
    VARIANT(.name = "powernorm-warm", .recipe = "powernorm", .full = true)
    VARIANT(.name = "groupnorm") VARIANT(.name = "branchnorm")
    VARIANT(.name = "branchnorm-1000", .recipe = "branchnorm", .step = 1000)
    VARIANT(.name = "sigma-reparam", .sigma = true)
    VARIANT(.name = "sigma-reparam-post", .sigma = true)
    VARIANT(.name = "sigma-reparam-vision", .sigma = true)
    VARIANT(.name = "gpas") VARIANT(.name = "gpas-post") VARIANT(.name = "crmsnorm",
        .learned = true)
    VARIANT(.name = "seednorm") VARIANT(.name = "centernorm") VARIANT(.name = "l2norm")
    VARIANT(.name = "dyt-isru") VARIANT(.name = "dyt-exp") VARIANT(.name = "dyt-atan")
    VARIANT(.name = "dyt-sin") VARIANT(.name = "dyt-softsign")
    VARIANT(.name = "softcap", .recipe = "pre", .attention_cap = 5, .logit_cap = 3)
    VARIANT(.name = "adanorm-1.5", .recipe = "adanorm", .norm_factor = 1.5f)
    VARIANT(.name = "layernorm-simple-code", .recipe = "pre", .norm = "layernorm-simple-code")
    VARIANT(.name = "detachnorm-code", .recipe = "pre", .norm = "detachnorm-code")
    VARIANT(.name = "detachnorm-mean-code", .recipe = "pre", .norm = "detachnorm-mean-code")
    VARIANT(.name = "detachnorm-std-code", .recipe = "pre", .norm = "detachnorm-std-code")
    VARIANT(.name = "normformer-code") VARIANT(.name = "dyt-lm")
    VARIANT(.name = "head-size", .recipe = "pre", .head_size = 6)
    VARIANT(.name = "head-size-unit", .recipe = "ngpt", .unit = true, .head_size = 6)
    VARIANT(.name = "score-scale", .recipe = "pre", .options = { { "score_scale", "0.75" },
            { "scale_by_layer", "true" }, { "output_bias", "true" } })
    VARIANT(.name = "head-transform", .recipe = "bert", .options = { { "head_transform", "true" } })
    VARIANT(.name = "embedding-size", .recipe = "post", .options = { { "embedding_size", "5" } })
    VARIANT(.name = "map-last", .recipe = "bert", .options = { { "embedding_size", "6" },
            { "map_last", "true" } })
    VARIANT(.name = "map-last-transform", .recipe = "bert", .options = { { "embedding_size", "6" },
            { "map_last", "true" }, { "head_transform", "true" } })
    VARIANT(.name = "rotary-part", .recipe = "pre", .head_size = 8, .options = {
            { "position", "rotary" }, { "rotary_size", "4" }, { "rotary_scaling", "linear" },
            { "rotary_factor", "2" }, { "no_bias", "true" }, { "attention_bias", "qkv" } })
    VARIANT(.name = "rotary-llama3", .recipe = "pre", .head_size = 8, .options = {
            { "position", "rotary" }, { "rotary_scaling", "llama3" }, { "rotary_factor", "4" },
            { "rotary_context", "100" }, { "no_bias", "true" }, { "attention_bias", "all" },
            { "output_bias", "true" } })
    VARIANT(.name = "windows", .recipe = "pre", .head_size = 8, .options = {
            { "position", "rotary" }, { "rotary_scaling", "linear" }, { "window", "3" },
            { "window_period", "2" }, { "window_base", "100" } })
    VARIANT(.name = "modernbert", .recipe = "embed-norm", .norm = "layernorm-gain", .options = {
            { "topology", "modernbert" } })
    VARIANT(.name = "alibi", .recipe = "pre", .options = { { "position", "alibi" } })
    VARIANT(.name = "relative", .recipe = "pre", .options = { { "position", "relative" },
            { "relative_buckets", "9" }, { "relative_distance", "6" }, { "scale_output", "true" } })
    /* these differ from "post" only in their initial values: test_inits */
    VARIANT(.name = "he") VARIANT(.name = "orthogonal") VARIANT(.name = "lsuv")
    VARIANT(.name = "admin-direct")
#undef VARIANT
};
enum { VARIANTS_CASES = sizeof variants_cases / sizeof *variants_cases };

static const struct { const char *name; tfn_arch arch; } variants_archs[] = {
    { "decoder", TFN_ARCH_DECODER }, { "encoder", TFN_ARCH_ENCODER },
        { "both", TFN_ARCH_ENCODER_DECODER }
};

/* Fills a named parameter with the numbers that parameter() in make_variants.py draws. */
static void variants_fill(float *p, const char *name, int32_t rows, int32_t cols, bool sigma)
{
    static const char *const zeros[] = { ".bias", ".shift", ".direction", ".running_mean" };
    const char *dot = strrchr(name, '.');
    tfn_key key = golden_key(name);
    float centre = strstr(name, "qk_scale.") ? 0.5f : 1.0f;
    if (strstr(name, "gate.") || strstr(name, ".shift_") || strstr(name, "final_shift."))
        centre = 0;
    for (int i = 0; dot && i < 4; i++)
        if (!strcmp(dot, zeros[i])) centre = 0;
    if (!strcmp(name, "schedule.updates")) return;          /* a count, not drawn */
    for (int32_t i = 0; i < rows * cols; i++)
        p[i] = rows > 1 ? 0.5f * golden_draw(key, (uint64_t)i)
                        : centre + 0.25f * golden_draw(key, (uint64_t)i);
    for (int32_t i = 0; sigma && i < rows * cols; i++) {
        if (rows > 1) p[i] += 0.25f;
        if (strstr(name, ".gamma")) p[i] *= 0.25f;
        if (strstr(name, ".sigma_")) p[i] /= (float)sqrt(cols);
    }
}

static tfn_model_desc variants_desc(const variants_case *c, tfn_arch arch)
{
    const bool both = arch == TFN_ARCH_ENCODER_DECODER, four = c->layers == 4;
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = arch;
    d.vocab = VARIANTS_VOCAB;
    d.context = VARIANTS_TIME;
    d.source_context = both ? VARIANTS_SOURCE : 0;
    d.width = c->width ? c->width : 8;
    d.layers = four ? 4 : both ? 2 : 3;
    d.decoder_layers = !both ? 0 : four ? 5 : 3;
    d.heads = 2;
    d.head_size = c->head_size;
    d.ffn = 12;
    d.activation = c->unit ? TFN_ACTIVATION_SWIGLU : TFN_ACTIVATION_RELU;
    d.position = c->unit ? TFN_POSITION_ROTARY : both && !c->learned ? TFN_POSITION_SINUSOIDAL
               : TFN_POSITION_LEARNED;
    d.untied = c->unit || (arch == TFN_ARCH_ENCODER && !c->tied);
    d.scale_embedding = both || c->scaled;
    d.recipe = c->recipe ? c->recipe : c->name;
    d.decoder_topology = c->decoder ? tfn_topology_find(c->decoder) : NULL;
    d.attention_cap = c->attention_cap;
    d.logit_cap = c->logit_cap;
    d.norm = c->norm;
    d.norm_factor = c->norm_factor;
    d.norm_eps = 0.015625f;
    d.norm_warmup = c->warmup;
    d.batch = VARIANTS_B;
    if (c->mix.channels || c->side_scale > 0) {
        static tfn_topology row;
        row = *tfn_topology_find(tfn_recipe_find(c->recipe)->topology);
        row.mix = c->mix;
        row.side_scale = c->side_scale;
        row.side_weight = c->side_weight;
        d.topology = &row;
    }
    if (c->sigma) d.optimizer = TFN_OPTIMIZER_SGD, d.schedule.lr = 0.01f;
    for (int i = 0; c->options[i].name; i++)
        CHECK(tfn_desc_set(&d, c->options[i].name, c->options[i].value, NULL) == TFN_OK);
    return d;
}

typedef struct variants_data {
    int32_t   tokens[VARIANTS_B * VARIANTS_TIME], targets[VARIANTS_B * VARIANTS_TIME];
    int32_t   source[VARIANTS_B * VARIANTS_SOURCE];
    bool      valid[VARIANTS_B * VARIANTS_TIME];
    tfn_batch batch;
} variants_data;

static void variants_batch(variants_data *data, tfn_arch arch, bool full)
{
    tfn_batch *b = &data->batch;
    const bool padded = arch == TFN_ARCH_ENCODER || !full;
    memset(data, 0, sizeof *data);
    for (int32_t i = 0; i < VARIANTS_B * VARIANTS_TIME; i++) {
        data->valid[i] = !padded || i % VARIANTS_TIME < variants_lengths[i / VARIANTS_TIME];
        data->tokens[i] = (i*5 + i/3) % VARIANTS_VOCAB;
        data->targets[i] = i % 4 == 2 || !data->valid[i] ? -1 : (i*7 + 3) % VARIANTS_VOCAB;
    }
    for (int32_t i = 0; i < VARIANTS_B * VARIANTS_SOURCE; i++)
        data->source[i] = (i*3 + i/4 + 2) % VARIANTS_VOCAB;
    b->batch = VARIANTS_B;
    b->time = VARIANTS_TIME;
    b->tokens = data->tokens;
    b->targets = data->targets;
    b->lengths = padded ? variants_lengths : NULL;
    if (arch != TFN_ARCH_ENCODER_DECODER) return;
    b->source = data->source;
    b->source_time = VARIANTS_SOURCE;
    b->source_lengths = variants_source_lengths;
}

static const golden_variant *variants_find(const char *name)
{
    const golden_variant *row = golden_variants;
    while (row->name && strcmp(row->name, name)) row++;
    return row->name ? row : NULL;
}

/* The index of a tensor in a model's list, or -1. */
static int variants_place(const golden_variant *row, const char *name)
{
    const short *list = golden_variants_lists + row->list;
    for (int i = 0; list[i] >= 0; i++)
        if (!strcmp(golden_variants_names[list[i]], name)) return i;
    return -1;
}

/* size: the magnitude of the terms whose sum gave `found` */
static void variants_compare(const char *of, const char *what, double found, int wanted,
                             double size)
{
    double value = wanted / 1e6;
    if (!(fabs(found - value) <= variants_tolerance * (size > 1 ? size : 1)))
        FAIL("%s %s is %.7g, not %.7g", of, what, found, value);
}

/* sum(w x), with w from the name's two streams */
static void variants_project(const char *of, const char *name, const float *x, ptrdiff_t count,
                             const int *wanted)
{
    for (int stream = 1; stream <= 2; stream++) {
        char text[80];
        double sum = 0, size = 0;
        snprintf(text, sizeof text, "%s w%d", name, stream);
        for (ptrdiff_t i = 0; i < count; i++) {
            double term = (double)golden_draw(golden_key(text), (uint64_t)i) * (double)x[i];
            sum += term;
            size += fabs(term);
        }
        variants_compare(of, text, sum, wanted[stream - 1], size);
    }
}

/* The list has every parameter and no other. */
static void variants_names(const tfn_model *m, const golden_variant *row)
{
    const short *list = golden_variants_lists + row->list;
    tfn_param_info p;
    int count = 0;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++, count++)
        if (variants_place(row, p.name) < 0)
            FAIL("%s: the header has %s (%d, %d), the script has not", row->name, p.name,
                 (int)p.rows, (int)p.cols);
    for (int i = 0; list[i] >= 0; i++) {
        bool found = false;
        for (int32_t j = 0; !found && tfn_model_param(m, j, &p); j++)
            found = !strcmp(p.name, golden_variants_names[list[i]]);
        if (!found)
            FAIL("%s: the script has %s, the header has not", row->name,
                 golden_variants_names[list[i]]);
    }
}

static void variants_check_logits(tfn_model *m, const variants_data *data,
                                  const golden_variant *row, const int *wanted)
{
    const float *z = tfn_model_logits(m, &data->batch);
    if (!z) {
        FAIL("%s: no logits", row->name);
        return;
    }
    for (int i = 0, at = 0; i < VARIANTS_B * VARIANTS_TIME; i++)
        for (int j = 0; data->valid[i] && j < VARIANTS_VOCAB; j++, at++) {
            char what[40];
            double value = (double)z[i*VARIANTS_VOCAB + j];
            snprintf(what, sizeof what, "logit of token %d, word %d", i, j);
            variants_compare(row->name, what, value, wanted[at], fabs(wanted[at] / 1e6));
        }
}

static void variants_negate(tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t j = 1; strstr(p.name, ".out.weight") && j < p.cols; j += 2) p.data[j] *= -1;
}

static bool variants_model(tfn_model *m, const tfn_model_desc *d, const char *name)
{
    char text[200];
    tfn_param_info p;
    bool sigma;
    if (tfn_model_new(m, d, NULL) != TFN_OK) {
        FAIL("%s: %s", name, tfn_error_text(&m->error, text, sizeof text));
        return false;
    }
    sigma = (m->desc.topology->flags & TFN_TOPOLOGY_SIGMA_REPARAM) != 0;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        variants_fill(p.data, p.name, p.rows, p.cols, sigma);
    return true;
}

static void variants_check(const variants_case *c, int arch, bool recompute)
{
    tfn_model_desc d = variants_desc(c, variants_archs[arch].arch);
    const golden_variant *row;
    const int *wanted;
    tfn_model m;
    tfn_report report;
    tfn_param_info p;
    variants_data data;
    int valid = 0, targets = 0;
    char name[60];
    snprintf(name, sizeof name, "%s %s", c->name, variants_archs[arch].name);
    d.recompute = recompute;
    if (!(row = variants_find(name))) {
        FAIL("no golden values for %s", name);
        return;
    }
    if (!variants_model(&m, &d, name)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        if (!strcmp(p.name, "schedule.updates")) *p.data = (float)c->step;
    if (c->rates) variants_negate(&m);
    variants_batch(&data, d.arch, c->full);
    for (int i = 0; i < VARIANTS_B * VARIANTS_TIME; i++) {
        valid += data.valid[i];
        targets += data.targets[i] >= 0;
    }
    wanted = golden_variants_values + row->first;
    variants_names(&m, row);
    variants_check_logits(&m, &data, row, wanted + 1);
    m.profiled = true;                          /* keeps the weights */
    if (tfn_model_step(&m, &data.batch, &report) != TFN_OK || !report.updated)
        FAIL("%s: no step", name);
    else {
        variants_compare(name, "loss", report.loss * targets, wanted[0], fabs(wanted[0] / 1e6));
        for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
            int at = variants_place(row, p.name);
            bool buffer = p.grad == NULL;
            if (at >= 0)
                variants_project(name, p.name, buffer ? p.data : p.grad, p.rows * p.cols,
                                 wanted + 1 + valid*VARIANTS_VOCAB + 2*at);
        }
    }
    tfn_model_free(&m);
}

static const variants_case *variants_now;

static void variants_one(void)
{
    for (int arch = 0; arch < 3; arch++) {
        const bool both = variants_archs[arch].arch == TFN_ARCH_ENCODER_DECODER;
        if (both ? variants_now->unit : variants_now->both_only) continue;
        if (both && variants_now->sensitive && sizeof(float) < 8) continue;
        variants_check(variants_now, arch, false);
        if (!check_errors) variants_check(variants_now, arch, true);
    }
}

/* Admin's profile: every element of a skip scale is the sub-layer's omega. */
static void variants_profile(int arch)
{
    static const variants_case admin = { .name = "admin", .layers = 4, .full = true };
    tfn_model_desc d = variants_desc(&admin, variants_archs[arch].arch);
    const golden_variant *row;
    tfn_model m;
    tfn_param_info p;
    variants_data data;
    int found = 0, count = 0;
    char name[60];
    snprintf(name, sizeof name, "admin-profile %s", variants_archs[arch].name);
    if (d.decoder_layers) d.decoder_layers = 4;
    if (!(row = variants_find(name)) || !variants_model(&m, &d, name)) {
        FAIL("no golden values for %s", name);
        return;
    }
    variants_batch(&data, d.arch, true);
    CHECK(tfn_model_profile(&m, &data.batch) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        int at = variants_place(row, p.name);
        if (at < 0) continue;
        found++;
        at += row->first;
        for (int32_t j = 0; j < p.cols; j++)
            variants_compare(name, p.name, (double)p.data[j], golden_variants_values[at],
                             (double)p.data[j]);
    }
    while (golden_variants_lists[row->list + count] >= 0) count++;
    CHECK_INT(found, count);
    tfn_model_free(&m);
}
TEST(variants_admin_profile)
{
    variants_profile(0);
    variants_profile(2);
}

/* The script has no variant that the list above lacks. */
TEST(variants_all_known)
{
    int count = 2, rows = 0;                    /* the profiles */
    for (int i = 0; i < VARIANTS_CASES; i++)
        count += variants_cases[i].both_only ? 1 : variants_cases[i].unit ? 2 : 3;
    while (golden_variants[rows].name) rows++;
    CHECK_INT(rows, count);
}

/* Recipes without golden values, each with its reason: none at present. */
static const struct { const char *recipe, *reason; } variants_without[] = { { NULL, NULL } };

static bool variants_has(const char *recipe)
{
    for (int i = 0; i < VARIANTS_CASES; i++) {
        const char *of = variants_cases[i].recipe ? variants_cases[i].recipe
            : variants_cases[i].name;
        if (!strcmp(of, recipe)) return true;
    }
    return false;
}
static bool variants_excused(const char *recipe)
{
    for (int i = 0; variants_without[i].recipe; i++)
        if (!strcmp(variants_without[i].recipe, recipe)) return strlen(variants_without[i].reason)
            > 9;
    return false;
}

/* Every recipe of the header has either golden values or a reason. */
TEST(variants_all_recipes)
{
    int count = 0;
    for (const tfn_recipe *r; (r = tfn_recipe_at(count)); count++)
        if (variants_has(r->name) == variants_excused(r->name))
            FAIL("%s has %s", r->name, variants_has(r->name) ? "golden values and an excuse"
                                                             : "no golden values");
    CHECK(count > 80);
}

int main(void)
{
    RUN(variants_all_known);
    RUN(variants_all_recipes);
    for (int i = 0; i < VARIANTS_CASES; i++) {
        char name[60];
        variants_now = &variants_cases[i];
        snprintf(name, sizeof name, "variants %s", variants_now->name);
        check_run(name, variants_one);
    }
    RUN(variants_admin_profile);
    return DONE();
}
