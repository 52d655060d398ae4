/* The state of a model in every way: saved and loaded, averaged, exported, folded; read by a
 * decoder after each call that changes weights; and without the batch that it was given. All
 * recipes, all architectures, and user's rows that no recipe has. */
#include "../lib.h"
#include "../check.h"

enum { STATE_V = 11, STATE_B = 2, STATE_T = 6, STATE_S = 5,
       STATE_LOGITS = STATE_B * STATE_T * STATE_V };

static const char *const state_archs[] = { "decoder", "encoder", "both" };

/* -- cases: recipes, then Post-LN with a scheduled scale in each place, and others ------------- */

typedef struct state_case {
    tfn_model_desc desc;
    char           name[80];
} state_case;

static tfn_topology state_rows[7];
enum { STATE_TOPOLOGIES = sizeof state_rows / sizeof *state_rows, STATE_SCHEDULED = 4 };

/* A user's norms and initializations: the statistics of half the channels, with a bias, in both
 * stacks; a squash in the encoder and LayerNorm with another eps in the decoder; gains by layer. */
static const tfn_norm_rule state_half = {
    "own-half", "g x/sqrt(mean of the first half (x^2) + e) + b", "none", 2026, TFN_NORM_RMS,
    TFN_FLAG_GAIN | TFN_FLAG_BIAS, (float)1e-3, (float)0.5, TFN_SQUASH_TANH
};
static const tfn_norm_rule state_squash = {
    "own-squash", "g softsign(a x) + b", "none", 2026, TFN_NORM_POINT,
    TFN_FLAG_GAIN | TFN_FLAG_BIAS, 0, 0, TFN_SQUASH_SOFTSIGN
};
static const tfn_norm_rule state_layer = {
    "own-layer", "LayerNorm, 1 + g", "none", 2026, TFN_NORM_LAYER,
    TFN_FLAG_GAIN | TFN_FLAG_OFFSET | TFN_FLAG_BIAS, (float)1e-2, 0, TFN_SQUASH_TANH
};
static void state_gains(const tfn_place *place, tfn_gains *gains)
{
    gains->o = gains->w2 = (float)(1 / sqrt((double)(2 * place->depth)));
    if (place->layer > 1) gains->v = (float)0.5;
}
static const tfn_init_rule state_init = {
    "own-init", "o, w2: 1/sqrt(2 N); v: 1/2 behind the first layer", "none", 2026,
    TFN_DISTRIBUTION_NORMAL, TFN_DISTRIBUTION_TRUNCATED_NORMAL, (float)0.2, (float)0.3, false,
    false, true, false, false, false, state_gains
};
static const struct {
    const tfn_norm_rule *norm, *decoder_norm;
    const tfn_init_rule *init;
} state_own[] = {
    { &state_half, NULL, NULL }, { &state_squash, &state_layer, NULL }, { NULL, NULL, &state_init }
};
enum { STATE_ROWS = STATE_TOPOLOGIES + sizeof state_own / sizeof *state_own };

static void state_make_rows(void)
{
    static const char *const names[] = { "own-in", "own-out", "own-skip", "own-extra" };
    state_rows[4] = state_rows[5] = *tfn_topology_find("dlcl-post");
    state_rows[4].name = "own-vectors";
    state_rows[4].mix.channels = state_rows[4].mix.softmax = true;
    state_rows[5].name = "own-groups";
    state_rows[5].mix.groups = 3;
    state_rows[5].mix.window = 2;
    state_rows[6] = *tfn_topology_find("resi-dual");
    state_rows[6].name = "own-side";
    state_rows[6].side_scale = (float)0.5;
    state_rows[6].side_weight = (float)0.75;
    for (int i = 0; i < STATE_SCHEDULED; i++) {
        tfn_topology *row = state_rows + i;
        *row = *tfn_topology_find("post");
        row->name = names[i];
        for (int k = 0; k < 2; k++) {
            tfn_join *j = k ? &row->ffn : &row->attention;
            tfn_scale_rule *at[] = { &j->in, &j->out, &j->skip, &j->extra };
            at[i]->kind = TFN_SCALE_SCHEDULED;
            at[i]->value = (float)(4 + 90*k);    /* one is finished when the model is saved */
        }
    }
}

static int32_t state_recipes(void)
{
    int32_t n = 0;
    while (tfn_recipe_at(n)) n++;
    return n;
}
static int32_t state_count(void) { return (state_recipes() + STATE_ROWS) * 3; }

/* Case i; with half, the same in half precision. */
static state_case state_at(int32_t i, bool half)
{
    const int32_t recipe = i / 3, recipes = state_recipes();
    int32_t own;
    state_case c;
    tfn_model_desc *d = &c.desc;
    const char *name;
    memset(&c, 0, sizeof c);
    d->arch = (tfn_arch)(i % 3);
    d->vocab = STATE_V;
    d->context = STATE_T;
    d->source_context = d->arch == TFN_ARCH_ENCODER_DECODER ? STATE_S : 0;
    d->batch = STATE_B;
    d->width = 8;
    d->heads = 2;
    d->ffn = 12;
    d->dropout = (float)0.1;
    d->half = half;
    d->schedule.lr = (float)0.01;
    d->recipe = recipe < recipes ? tfn_recipe_at(recipe)->name : "post";
    name = d->recipe;
    if (!strcmp(d->recipe, "prmsnorm")) d->width = 64;      /* four features, not one */
    own = recipe - recipes - STATE_TOPOLOGIES;
    if (own >= 0) {
        d->norm_rule = state_own[own].norm;
        d->decoder_norm_rule = state_own[own].decoder_norm;
        d->init_rule = state_own[own].init;
        name = d->norm_rule ? d->norm_rule->name : d->init_rule->name;
    } else if (recipe >= recipes) {
        d->topology = &state_rows[recipe - recipes];
        name = d->topology->name;
    }
    snprintf(c.name, sizeof c.name, "%s %s%s", name, state_archs[i % 3], half ? " half" : "");
    CASE("%d: %s", (int)i, c.name);
    return c;
}

/* A batch in separate memory, so that it can be overwritten and freed. */
typedef struct state_batch {
    tfn_batch batch;
    int32_t  *ids;
    size_t    count;
} state_batch;

static state_batch state_make_batch(tfn_arch arch, int32_t first, bool lengths)
{
    const size_t n = STATE_B * STATE_T, s = STATE_B * STATE_S;
    state_batch b;
    memset(&b, 0, sizeof b);
    b.count = 2*n + s + 2*STATE_B;
    b.ids = (int32_t *)malloc(b.count * sizeof *b.ids);
    for (size_t i = 0; i < 2*n + s; i++) b.ids[i] = (int32_t)(i * 7 + i/5 + (size_t)first * 3)
        % STATE_V;
    b.batch.tokens = b.ids;
    b.batch.targets = b.ids + n;
    b.batch.batch = STATE_B;
    b.batch.time = STATE_T;
    for (int32_t i = 0; i < STATE_B; i++) {
        b.ids[2*n + s + (size_t)i] = STATE_T - i;                          /* lengths of targets */
        b.ids[2*n + s + STATE_B + (size_t)i] = STATE_S - 2*i;
    }
    if (lengths) b.batch.lengths = b.ids + 2*n + s;
    if (arch != TFN_ARCH_ENCODER_DECODER) return b;
    b.batch.source = b.ids + 2*n;
    b.batch.source_time = STATE_S;
    b.batch.source_lengths = b.ids + 2*n + s + STATE_B;
    return b;
}
static void state_free_batch(state_batch *b)
{
    for (size_t i = 0; i < b->count; i++) b->ids[i] = -0x55555555;
    free(b->ids);
    memset(b, 0, sizeof *b);
}

static bool state_new(tfn_model *m, const tfn_model_desc *d, const char *name)
{
    char text[200];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s: %s", name, tfn_error_text(&m->error, text, sizeof text));
    return false;
}
static void state_train(tfn_model *m, int32_t first, int32_t updates)
{
    for (int32_t i = first; i < first + updates; i++) {
        state_batch b = state_make_batch(m->desc.arch, i, i % 2 == 0);
        tfn_report report;
        CHECK(tfn_model_step(m, &b.batch, &report) == TFN_OK);
        state_free_batch(&b);
    }
}

/* -- logits and loss of an evaluation ---------------------------------------------------------- */

typedef struct state_out {
    float  logits[STATE_LOGITS];
    double loss;
} state_out;

static state_out state_look(tfn_model *m)
{
    state_batch b = state_make_batch(m->desc.arch, 5, false);
    state_out o;
    tfn_report report;
    const float *z = tfn_model_logits(m, &b.batch);
    memset(&o, 0, sizeof o);
    memset(&report, 0, sizeof report);
    if (z) memcpy(o.logits, z, sizeof o.logits);
    CHECK(z && tfn_model_eval(m, &b.batch, &report) == TFN_OK);
    o.loss = report.loss;
    state_free_batch(&b);
    return o;
}
static void state_same(const char *name, const char *way, const state_out *a, const state_out *b)
{
    if (memcmp(a->logits, b->logits, sizeof a->logits))
        FAIL("%s, %s: other logits", name, way);
    if (memcmp(&a->loss, &b->loss, sizeof a->loss))
        FAIL("%s, %s: loss %.9g, %.9g before", name, way, b->loss, a->loss);
}
static void state_close(const char *name, const char *way, const state_out *a, const state_out *b,
                        double tolerance)
{
    double most = 1, gap = 0;
    for (int i = 0; i < STATE_LOGITS; i++) {
        const double d = fabs((double)a->logits[i] - (double)b->logits[i]);
        most = fmax(most, fabs((double)a->logits[i]));
        gap = check_worse(gap, d);
    }
    if (!(gap <= tolerance * most) || !(fabs(a->loss - b->loss) <= tolerance * most))
        FAIL("%s, %s: logits off by %.3g of %.3g, loss %.9g, was %.9g", name, way, gap, most,
             b->loss,
             a->loss);
}

/* -- saving and loading ------------------------------------------------------------------------ */

static tfn_file state_save(const tfn_model *m, bool weights_only)
{
    const tfn_checkpoint with = { NULL, NULL, weights_only };
    tfn_file f;
    void *bytes;
    memset(&f, 0, sizeof f);
    CHECK(tfn_model_save(&f, m, &with) == TFN_OK);
    bytes = malloc((size_t)f.used);
    f.to = bytes;
    f.to_size = (size_t)f.used;
    CHECK(tfn_model_save(&f, m, &with) == TFN_OK);
    f.from = bytes;
    f.from_size = f.to_size;
    return f;
}
static void state_free_file(tfn_file *f) { free(f->to); }

/* bit 0: the file has only weights; bit 1: the model is for inference; by: 0 load, 1 load_weights,
 * 2 the mean of two files. */
static void state_load(const state_case *c, tfn_file *files, int kind, int by,
                       const state_out *before)
{
    static const char *const names[] = { "load", "load_weights", "average" };
    char way[80];
    tfn_model_desc d = c->desc;
    tfn_model m;
    tfn_file f[2];
    tfn_status status;
    state_out after;
    snprintf(way, sizeof way, "%s of %s, %s", names[by],
             kind & 1 ? "weights alone" : "a checkpoint",
             kind & 2 ? "inference" : "training");
    d.inference = (kind & 2) != 0;
    d.seed = 99;
    if (kind < 2 && !by) d.seed = c->desc.seed;
    if (!state_new(&m, &d, c->name)) return;
    f[0] = f[1] = files[kind & 1];
    status = by ? tfn_model_load_weights(&m, f, by) : tfn_model_load(&m, f);
    if (status != TFN_OK) {
        char text[300];
        FAIL("%s, %s: %s", c->name, way, tfn_error_text(&f[0].error, text, sizeof text));
    }
    after = state_look(&m);
    state_same(c->name, way, before, &after);
    tfn_model_free(&m);
}

/* Constant weights, as from tfn export. */
static void state_export(const state_case *c, const tfn_model *from, const state_out *before)
{
    tfn_model_desc d = c->desc;
    const int64_t n = from->param_floats + from->buffer_floats;
    float *copy = (float *)malloc((size_t)n * sizeof *copy);
    tfn_model m;
    state_out after;
    memcpy(copy, from->params, (size_t)n * sizeof *copy);
    d.inference = true;
    d.parameters = copy;
    if (state_new(&m, &d, c->name)) {
        after = state_look(&m);
        state_same(c->name, "export", before, &after);
        tfn_model_free(&m);
    }
    free(copy);
}

/* Folded, and folded, saved, loaded. */
static void state_fold(const state_case *c, const tfn_model *from, const char *way,
                       const state_out *before)
{
    tfn_model_desc d = c->desc;
    tfn_model m, again;
    tfn_file f;
    state_out after, last;
    d.inference = d.folded = true;
    if (!state_new(&m, &d, c->name)) return;
    if (tfn_model_fold(&m, from) != TFN_OK) FAIL("%s, %s: not folded", c->name, way);
    after = state_look(&m);
    state_close(c->name, way, before, &after, c->desc.half ? 0.05 : 1e-5);
    f = state_save(&m, true);
    if (state_new(&again, &d, c->name)) {
        tfn_file one = f;
        CHECK(tfn_model_load(&again, &one) == TFN_OK);
        last = state_look(&again);
        state_same(c->name, "folded, saved and loaded", &after, &last);
        tfn_model_free(&again);
    }
    state_free_file(&f);
    tfn_model_free(&m);
}

static void state_ways(const state_case *c)
{
    tfn_model_desc d = c->desc;
    tfn_model m, loaded;
    tfn_file files[2], f;
    state_out before;
    if (!state_new(&m, &d, c->name)) return;
    state_train(&m, 0, 5);
    before = state_look(&m);
    files[0] = state_save(&m, false);
    files[1] = state_save(&m, true);
    for (int kind = 0; kind < 4; kind++)
        for (int by = 0; by < 3; by++)
            if (check_tier() > 1 || !kind || by == (kind + (int)d.arch) % 3)
                state_load(c, files, kind, by, &before);
    state_export(c, &m, &before);
    state_fold(c, &m, "folded", &before);
    d.inference = true;
    if (state_new(&loaded, &d, c->name)) {
        f = files[1];
        CHECK(tfn_model_load(&loaded, &f) == TFN_OK);
        state_fold(c, &loaded, "loaded, then folded", &before);
        tfn_model_free(&loaded);
    }
    state_free_file(files);
    state_free_file(files + 1);
    tfn_model_free(&m);
}

/* Runs all cases. Below the full tier only some run in half precision, and each loads its files in
 * six ways of twelve. */
static void state_all(void (*check)(const state_case *c))
{
    for (int32_t i = 0; i < state_count(); i++)
        for (int half = 0; half < 2; half++) {
            state_case c;
            if (check_tier() < 2 && half != (i%3 + i/3) % 2) continue;
            c = state_at(i, half != 0);
            check(&c);
        }
}
TEST(state_ways_back) { state_all(state_ways); }

/* A model that starts from loaded weights continues a scheduled scale like a run without
 * interruption. */
TEST(state_ramp_goes_on)
{
    state_case c;
    tfn_model one, two;
    tfn_file f;
    tfn_param_info p;
    double updates[2] = { -1, -1 };
    for (int32_t i = 0; i < state_count(); i++) {
        c = state_at(i, false);
        if (!strcmp(c.desc.recipe, "branchnorm") && c.desc.arch == TFN_ARCH_DECODER) break;
    }
    if (!state_new(&one, &c.desc, c.name) || !state_new(&two, &c.desc, c.name)) return;
    state_train(&one, 0, 5);
    f = state_save(&one, true);
    CHECK(tfn_model_load_weights(&two, &f, 1) == TFN_OK && two.step == 0);
    state_train(&one, 5, 1);
    state_train(&two, 5, 1);
    for (int32_t i = 0; tfn_model_param(&one, i, &p); i++)
        if (!strcmp(p.name, "schedule.updates")) updates[0] = (double)*p.data;
    for (int32_t i = 0; tfn_model_param(&two, i, &p); i++)
        if (!strcmp(p.name, "schedule.updates")) updates[1] = (double)*p.data;
    CHECK(updates[0] == 6 && updates[1] == 6);
    state_free_file(&f);
    tfn_model_free(&one);
    tfn_model_free(&two);
}

/* A file of version 0.1 lacks the count of updates: it is the checkpoint's step; without a step the
 * schedule is finished. */
TEST(state_old_file)
{
    for (int weights = 0; weights < 2; weights++) {
        state_case c = state_at(0, false);
        tfn_model m, other;
        tfn_file f;
        tfn_param_info p;
        unsigned char *bytes, *at = NULL;
        double found = -1;
        c.desc.recipe = "branchnorm";
        if (!state_new(&m, &c.desc, "branchnorm") || !state_new(&other, &c.desc, "branchnorm"))
            return;
        state_train(&m, 0, 3);
        f = state_save(&m, weights != 0);
        bytes = (unsigned char *)f.to;
        for (size_t i = 0; !at && i + 18 < f.from_size; i++)
            if (!memcmp(bytes + i, "\"schedule.updates\"", 18)) at = bytes + i;
        CHECK(at != NULL);
        if (at) memcpy(at, "\"schedule.another\"", 18);
        CHECK(tfn_model_load(&other, &f) == TFN_OK);
        for (int32_t i = 0; tfn_model_param(&other, i, &p); i++)
            if (!strcmp(p.name, "schedule.updates")) found = (double)*p.data;
        CHECK(found == (weights ? 16777216 : 3));
        state_free_file(&f);
        tfn_model_free(&m);
        tfn_model_free(&other);
    }
}

/* -- a decoder equals the model after every change of weights ---------------------------------- */

typedef struct state_reader {
    tfn_decoder decoder;
    void       *block;
} state_reader;

static bool state_reader_new(state_reader *r, const tfn_model *m)
{
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    void *scratch = malloc(scratch_size);
    size_t size = tfn_decoder_size(m, STATE_B, 1, scratch, scratch_size);
    free(scratch);
    r->block = malloc(size ? size : 1);
    return tfn_decoder_init(&r->decoder, m, STATE_B, 1, r->block, size) == TFN_OK;
}

/* All positions one by one; the batch is overwritten and freed before the first token. */
static void state_decode(state_reader *r, const state_case *c, int32_t first, bool lengths,
                         bool start, state_out *o)
{
    state_batch b = state_make_batch(c->desc.arch, first, lengths);
    int32_t tokens[STATE_T][STATE_B];
    for (int t = 0; t < STATE_T; t++)
        for (int i = 0; i < STATE_B; i++) tokens[t][i] = b.batch.tokens[i * STATE_T + t];
    if (start && tfn_decoder_start(&r->decoder, &b.batch) != TFN_OK)
        FAIL("%s: the decoder does not start", c->name);
    state_free_batch(&b);
    for (int t = 0; t < STATE_T; t++) {
        int32_t *now = (int32_t *)malloc(sizeof tokens[t]);
        const float *z;
        memcpy(now, tokens[t], sizeof tokens[t]);
        z = tfn_decoder_next(&r->decoder, now, 1, NULL);
        free(now);
        for (int i = 0; z && i < STATE_B; i++)
            memcpy(o->logits + (i * STATE_T + t) * STATE_V, z + i * STATE_V, STATE_V * sizeof *z);
        if (!z) FAIL("%s: no logits at %d", c->name, t);
    }
}

static void state_decodes(state_reader *r, tfn_model *m, const state_case *c, const char *after)
{
    const bool start = c->desc.arch == TFN_ARCH_ENCODER_DECODER || strcmp(after, "init");
    state_out model, decoder;
    memset(&decoder, 0, sizeof decoder);
    state_decode(r, c, 5, false, start, &decoder);      /* first: the model's call may refresh */
    model = state_look(m);
    decoder.loss = model.loss;
    state_same(c->name, after, &model, &decoder);
}

static void state_changes(const state_case *c)
{
    tfn_model m, other, folded;
    state_reader r, s, t;
    tfn_model_desc d = c->desc;
    tfn_file f;
    tfn_param_info p;
    state_batch b;
    const tfn_norm_rule *norm = tfn_norm_find(tfn_recipe_find(c->desc.recipe)->norm);
    if (c->desc.arch == TFN_ARCH_ENCODER) return;                       /* cannot decode */
    if (norm->kind == TFN_NORM_ABSMAX) return;                     /* decoding must differ */
    d.inference = d.folded = true;
    if (!state_new(&m, &c->desc, c->name) || !state_new(&other, &c->desc, c->name)) return;
    if (!state_new(&folded, &d, c->name)) return;
    if (!state_reader_new(&r, &m) || !state_reader_new(&s, &other)
        || !state_reader_new(&t, &folded)) {
        FAIL("%s: no decoder", c->name);
        return;
    }
    state_decodes(&r, &m, c, "init");
    b = state_make_batch(c->desc.arch, 1, false);
    CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
    state_free_batch(&b);
    state_decodes(&r, &m, c, "profile");
    for (int i = 0; i < 3; i++) {
        state_train(&m, i, 1);
        state_decodes(&r, &m, c, "step");
    }
    f = state_save(&m, false);
    CHECK(tfn_model_load(&other, &f) == TFN_OK);
    state_decodes(&s, &other, c, "load");
    for (int i = 1; i < 3; i++) {
        tfn_file two[2];
        two[0] = two[1] = f;
        state_train(&other, 3, 1);
        CHECK(tfn_model_load_weights(&other, two, i) == TFN_OK);
        state_decodes(&s, &other, c, i > 1 ? "average" : "load_weights");
    }
    CHECK(tfn_model_fold(&folded, &m) == TFN_OK);
    state_decodes(&t, &folded, c, "fold");
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        if (p.grad)
            for (int32_t j = 0; j < p.rows * p.cols; j++) p.data[j] += (float)0.03 * (float)(j % 3);
    state_decodes(&r, &m, c, "a write of the user's");
    state_free_file(&f);
    free(r.block), free(s.block), free(t.block);
    tfn_model_free(&m), tfn_model_free(&other), tfn_model_free(&folded);
}
TEST(state_decoders) { state_all(state_changes); }

/* -- no object keeps a pointer into a batch ---------------------------------------------------- */

/* True if a word of the object is an address in the batch. */
static bool state_keeps(const void *object, size_t size, const state_batch *b)
{
    const uintptr_t low = (uintptr_t)b->ids, high = low + b->count * sizeof *b->ids;
    for (size_t at = 0; at + sizeof low <= size; at += sizeof low) {
        uintptr_t word;
        memcpy(&word, (const char *)object + at, sizeof word);
        if (word >= low && word < high) return true;
    }
    return false;
}

static void state_lets_go(const state_case *c)
{
    tfn_model m;
    state_batch b = state_make_batch(c->desc.arch, 2, true);
    tfn_report report;
    state_reader r;
    state_out with, without;
    if (!state_new(&m, &c->desc, c->name)) return;
    CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
    if (state_keeps(&m, sizeof m, &b)) FAIL("%s: kept after profile", c->name);
    CHECK(tfn_model_step(&m, &b.batch, &report) == TFN_OK);
    if (state_keeps(&m, sizeof m, &b)) FAIL("%s: kept after step", c->name);
    CHECK(tfn_model_eval(&m, &b.batch, &report) == TFN_OK);
    if (state_keeps(&m, sizeof m, &b)) FAIL("%s: kept after eval", c->name);
    CHECK(tfn_model_logits(&m, &b.batch) != NULL);
    if (state_keeps(&m, sizeof m, &b)) FAIL("%s: kept after logits", c->name);
    if (c->desc.arch != TFN_ARCH_ENCODER && state_reader_new(&r, &m)) {
        CHECK(tfn_decoder_start(&r.decoder, &b.batch) == TFN_OK);
        if (state_keeps(&r.decoder, sizeof r.decoder, &b)) FAIL("%s: kept after start", c->name);
        CHECK(tfn_decoder_next(&r.decoder, b.ids, 1, NULL) != NULL);
        if (state_keeps(&r.decoder, sizeof r.decoder, &b)) FAIL("%s: kept after next", c->name);
        memset(&with, 0, sizeof with);
        without = with;
        state_decode(&r, c, 2, true, true, &with);    /* lengths of the targets have no effect */
        state_decode(&r, c, 2, false, true, &without);
        state_same(c->name, "with lengths of targets", &without, &with);
        free(r.block);
    }
    state_free_batch(&b);
    tfn_model_free(&m);
}
TEST(state_batches) { state_all(state_lets_go); }

int main(void)
{
    state_make_rows();
    RUN(state_ways_back);
    RUN(state_ramp_goes_on);
    RUN(state_old_file);
    RUN(state_decoders);
    RUN(state_batches);
    return DONE();
}
