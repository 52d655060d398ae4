/* Norms and initializations by pointer. A copy of a library row under another name gives the same
 * model, to the bit. An error names what is wrong with a row or conflicts with it. Files identify
 * rows by their names. Training, decoding, folding and averages of rows that the library lacks:
 * test_state.c. */
#include "../lib.h"
#include "../check.h"

enum { OWN_V = 11, OWN_B = 2, OWN_T = 6 };

/* -- models of three architectures, and a batch for each --------------------------------------- */

static tfn_model_desc own_desc(tfn_arch arch)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.arch = arch;
    d.vocab = OWN_V;
    d.context = OWN_T;
    d.batch = OWN_B;
    d.width = 32;
    d.heads = 2;
    d.layers = 1;
    d.untied = true;
    d.recipe = "post";
    return d;
}

static bool own_new(tfn_model *m, const tfn_model_desc *d)
{
    char text[300];
    if (tfn_model_new(m, d, NULL) == TFN_OK) return true;
    FAIL("%s", tfn_error_text(&m->error, text, sizeof text));
    return false;
}

static void own_train(tfn_model *m, int updates)
{
    static int32_t ids[OWN_B * OWN_T];
    tfn_batch batch;
    for (int i = 0; i < OWN_B * OWN_T; i++) ids[i] = (i * 7 + i/5) % OWN_V;
    memset(&batch, 0, sizeof batch);
    batch.tokens = batch.targets = ids;
    batch.batch = OWN_B;
    batch.time = OWN_T;
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) {
        batch.source = ids;
        batch.source_time = OWN_T;
    }
    for (int i = 0; i < updates; i++) CHECK(tfn_model_step(m, &batch, NULL) == TFN_OK);
}

/* The hash of the weights after two updates; 0: an error. */
static uint64_t own_hash(const tfn_model_desc *d)
{
    tfn_model m;
    uint64_t hash;
    if (!own_new(&m, d)) return 0;
    own_train(&m, 2);
    hash = tfn_model_hash(&m);
    tfn_model_free(&m);
    return hash;
}

/* -- a copy of each row ------------------------------------------------------------------------ */

TEST(own_norms_same_bits)
{
    for (int32_t i = 0; tfn_norm_at(i); i++) {
        tfn_model_desc d = own_desc((tfn_arch)(i % 3));
        tfn_norm_rule row = *tfn_norm_at(i);
        uint64_t wanted;
        CASE("%s", row.name);
        d.norm = row.name;
        wanted = own_hash(&d);
        d.norm_rule = tfn_norm_at(i);           /* the library's own: by pointer and by name */
        CHECK(own_hash(&d) == wanted);
        d.norm = NULL;
        row.name = "mine";
        d.norm_rule = &row;
        CHECK(wanted && own_hash(&d) == wanted);
    }
}

TEST(own_inits_same_bits)
{
    for (int32_t i = 0; tfn_init_at(i); i++) {
        tfn_model_desc d = own_desc((tfn_arch)(i % 3));
        tfn_init_rule row = *tfn_init_at(i);
        uint64_t wanted;
        CASE("%s", row.name);
        d.init = row.name;
        wanted = own_hash(&d);
        d.init_rule = tfn_init_at(i);
        CHECK(own_hash(&d) == wanted);
        d.init = NULL;
        row.name = "mine";
        d.init_rule = &row;
        CHECK(wanted && own_hash(&d) == wanted);
    }
}

/* Each stack has its own row; the decoder uses the encoder's only if none is given. */
TEST(own_stacks)
{
    tfn_norm_rule mine = *tfn_norm_find("rmsnorm"), other = *tfn_norm_find("scalenorm");
    tfn_model_desc d = own_desc(TFN_ARCH_ENCODER_DECODER), named = d;
    mine.name = "mine";
    other.name = "other";
    d.norm_rule = &mine;
    named.norm = "rmsnorm";
    CHECK(own_hash(&d) == own_hash(&named));
    d.decoder_norm_rule = &other;
    named.decoder_norm = "scalenorm";
    CHECK(own_hash(&d) == own_hash(&named));
    d.decoder_norm_rule = NULL;
    d.decoder_norm = "scalenorm";
    CHECK(own_hash(&d) == own_hash(&named));
    d.decoder_norm = NULL;
    d.norm_rule = NULL;
    d.decoder_norm_rule = &mine;
    named.norm = NULL;
    named.decoder_norm = "rmsnorm";
    CHECK(own_hash(&d) == own_hash(&named));
}

/* Weights are drawn by the row: deviation, gains, biases. */
static void own_quarter(const tfn_place *place, tfn_gains *gains)
{
    (void)place;
    gains->q = (float)0.25;
}
static double own_deviation(const tfn_model *m, const char *name)
{
    tfn_param_info p;
    double sum = 0;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        if (strcmp(p.name, name)) continue;
        for (int32_t k = 0; k < p.rows * p.cols; k++)
            sum += (double)p.data[k] * (double)p.data[k];
        return sqrt(sum / (p.rows * p.cols));
    }
    return -1;
}
TEST(own_init_draws)
{
    static const tfn_init_rule row = {
        "mine", "q: 1/4", "none", 2026, TFN_DISTRIBUTION_NORMAL, TFN_DISTRIBUTION_NORMAL,
        (float)0.5, (float)2, false, false, false, false, false, false, own_quarter
    };
    tfn_model_desc d = own_desc(TFN_ARCH_DECODER);
    tfn_model m;
    d.init_rule = &row;
    if (!own_new(&m, &d)) return;
    CHECK_CLOSE(own_deviation(&m, "decoder.0.self.q.weight"), 0.125, 0.02);
    CHECK_CLOSE(own_deviation(&m, "decoder.0.self.k.weight"), 0.5, 0.05);
    CHECK_CLOSE(own_deviation(&m, "embedding.weight"), 2, 0.2);
    tfn_model_free(&m);
}

/* -- errors ------------------------------------------------------------------------------------ */

static void own_refuse(const tfn_model_desc *d, const char *wanted)
{
    tfn_model_desc out;
    tfn_error e;
    char text[300];
    CASE("%s", wanted);
    CHECK(!tfn_model_resolve(&out, d, &e));
    if (strcmp(tfn_error_text(&e, text, sizeof text), wanted)) FAIL("it says \"%s\"", text);
}

TEST(own_norms_refused)
{
    static const tfn_norm_rule good = { "mine", "", "", 0, TFN_NORM_RMS, TFN_FLAG_GAIN, 0, 0,
                                        TFN_SQUASH_TANH };
    enum { BAD = 13 };
    static const char *const texts[BAD] = {
        "norm_rule: a row of your own needs a name",
        "norm_rule: a row of your own needs a name",
        "norm_rule: the library has a row called layernorm; yours needs another name",
        "norm_rule: kind is 12; it must be at most 11",
        "norm_rule: flags is 1024; it must be at most 1023",
        "norm_rule: part is 2; it must be at most 1",
        "norm_rule: eps is not a number; it must be 0 or at least 1e-18",
        "norm_rule: squash is 7; it must be at most 6",
        "norm_rule: only kind 1 can use a part of the channels",
        "norm_rule: flags is 129; kind 1 does not read all of them",
        "norm_rule: flags is 9; kind 10 does not read all of them",
        "norm_rule: flags is 8; kind 1 needs a gain",
        "norm_rule: flags is 0; kind 9 needs a gain"
    };
    tfn_norm_rule bad[BAD];
    tfn_model_desc d = own_desc(TFN_ARCH_ENCODER_DECODER);
    for (int i = 0; i < BAD; i++) bad[i] = good;
    bad[0].name = NULL;
    bad[1].name = "";
    bad[2].name = "layernorm";
    bad[3].kind = (tfn_norm_kind)(TFN_NORM_POWER + 1);
    bad[4].flags = 1024;
    bad[5].part = 2;
    bad[6].eps = (float)NAN;
    bad[7].squash = (tfn_squash_kind)(TFN_SQUASH_SOFTSIGN + 1);
    bad[8].kind = TFN_NORM_LAYER;
    bad[8].part = (float)0.5;
    bad[9].flags = TFN_FLAG_GAIN | TFN_FLAG_SHIFT;
    bad[10].kind = TFN_NORM_BATCH;
    bad[10].flags = TFN_FLAG_GAIN | TFN_FLAG_OFFSET;
    bad[11].flags = TFN_FLAG_OFFSET;
    bad[12].kind = TFN_NORM_SEED;
    bad[12].flags = 0;
    for (int i = 0; i < BAD; i++) {
        char decoder[300];
        d.norm_rule = &bad[i];
        d.decoder_norm_rule = NULL;
        own_refuse(&d, texts[i]);
        d.norm_rule = NULL;
        d.decoder_norm_rule = &bad[i];
        snprintf(decoder, sizeof decoder, "decoder_%s", texts[i]);
        own_refuse(&d, decoder);
    }
    d.decoder_norm_rule = NULL;
    d.norm_rule = &good;
    d.norm = "rmsnorm";
    own_refuse(&d, "norm_rule: it is another row than the one named beside it, rmsnorm: one of the "
               "two must be NULL");
    d.norm_rule = NULL;
    d.norm = "mine";                            /* unknown without its row */
    CHECK(!tfn_model_resolve(&d, &d, NULL));
}

/* Every library row is legal as a user's row, and every legal row trains: all kinds with any two
 * flags, with statistics over all channels or a part. */
static bool own_trains(const tfn_norm_rule *row)
{
    static const int32_t ids[OWN_B * OWN_T] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 3 };
    tfn_model_desc d = own_desc(TFN_ARCH_DECODER);
    tfn_batch batch;
    tfn_report report;
    tfn_model m;
    d.width = 16;
    d.ffn = 8;
    d.norm_rule = row;
    if (!tfn_model_resolve(&d, &d, NULL)) return false;
    if (!own_new(&m, &d)) return true;
    memset(&batch, 0, sizeof batch);
    batch.tokens = batch.targets = ids;
    batch.batch = OWN_B;
    batch.time = OWN_T;
    for (int i = 0; i < 2; i++)
        CHECK(tfn_model_step(&m, &batch, &report) == TFN_OK && !report.skipped);
    CHECK(isfinite((double)report.loss));
    tfn_model_free(&m);
    return true;
}
TEST(own_norms_legal)
{
    tfn_norm_rule row;
    int trained = 0;
    for (int32_t i = 0; tfn_norm_at(i); i++) {
        row = *tfn_norm_at(i);
        row.name = "mine";
        CASE("%s", tfn_norm_at(i)->name);
        CHECK(own_trains(&row));
    }
    memset(&row, 0, sizeof row);
    row.name = "mine";
    for (int kind = 0; kind <= TFN_NORM_POWER; kind++)
        for (int a = 0; a < 10; a++)
            for (int b = 0; b <= a; b++) {
                row.kind = (tfn_norm_kind)kind;
                row.flags = (1u << a) | (1u << b);
                row.part = kind == TFN_NORM_RMS && b % 2 ? (float)0.25 : 0;
                CASE("kind %d, flags %d", kind, (int)row.flags);
                trained += own_trains(&row);
            }
    CHECK(trained > 150);
}

TEST(own_inits_refused)
{
    tfn_init_rule row = *tfn_init_find("xavier");
    tfn_model_desc d = own_desc(TFN_ARCH_DECODER);
    d.init_rule = &row;
    own_refuse(&d, "init_rule: the library has a row called xavier; yours needs another name");
    row.name = "mine";
    CHECK(tfn_model_resolve(&d, &d, NULL));
    row.base = (tfn_distribution)99;
    own_refuse(&d, "init_rule: base is 99; it must be at most 8");
    row = *tfn_init_find("xavier");
    row.name = "mine";
    row.std = -1;
    own_refuse(&d, "init_rule: std is -1; it must be at least 0");
    row.std = 0;
    d.init = "small";
    own_refuse(&d, "init_rule: it is another row than the one named beside it, small: one of the "
               "two must be NULL");
}

/* Resolved options have the rows' names, and resolve to themselves. */
TEST(own_resolved)
{
    tfn_norm_rule norm = *tfn_norm_find("rmsnorm");
    tfn_init_rule init = *tfn_init_find("small");
    tfn_model_desc d = own_desc(TFN_ARCH_DECODER), once, twice;
    norm.name = "mine";
    init.name = "my-init";
    d.norm_rule = &norm;
    d.init_rule = &init;
    CHECK(tfn_model_resolve(&once, &d, NULL));
    CHECK(!strcmp(once.norm, "mine") && !strcmp(once.init, "my-init"));
    CHECK(!strcmp(once.decoder_norm, "mine") && once.decoder_norm_rule == &norm);
    CHECK(tfn_model_resolve(&twice, &once, NULL));
    CHECK(!memcmp(&once, &twice, sizeof once));
    d = own_desc(TFN_ARCH_DECODER);             /* by name as usual: no pointer appears */
    CHECK(tfn_model_resolve(&once, &d, NULL));
    CHECK(!once.norm_rule && !once.decoder_norm_rule && !once.init_rule);
}

/* -- files ------------------------------------------------------------------------------------- */

static tfn_file own_save(const tfn_model *m)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    CHECK(tfn_model_save(&f, m, NULL) == TFN_OK);
    f.to_size = (size_t)f.used;
    f.to = malloc(f.to_size);
    CHECK(tfn_model_save(&f, m, NULL) == TFN_OK);
    f.from = f.to;
    f.from_size = f.to_size;
    return f;
}

/* Reads the options of a file, makes a model of them and loads the file; returns the error, or
 * "". */
static void own_reload(tfn_file file, const tfn_norm_rule *norm, const tfn_norm_rule *decoder,
                       const tfn_init_rule *init, tfn_model *m, char *text, size_t size)
{
    tfn_model_desc d;
    memset(m, 0, sizeof *m);
    text[0] = 0;
    CHECK(tfn_model_peek(&file, &d, NULL) == TFN_OK);
    CHECK(!d.norm && !d.init);
    d.norm_rule = norm;
    d.decoder_norm_rule = decoder;
    d.init_rule = init;
    if (!own_new(m, &d)) return;
    if (tfn_model_load(m, &file) != TFN_OK) tfn_error_text(&file.error, text, size);
}

/* A resumed run has the bits of one without interruption; other rows are refused. */
TEST(own_checkpoint)
{
    tfn_norm_rule norm = *tfn_norm_find("rmsnorm"), decoder = *tfn_norm_find("scalenorm");
    tfn_init_rule init = *tfn_init_find("small");
    tfn_model_desc d = own_desc(TFN_ARCH_ENCODER_DECODER);
    tfn_model m, again;
    tfn_file f;
    char text[300];
    norm.name = "my \"norm\"";
    decoder.name = "my decoder's";
    init.name = "my-init";
    for (int two = 0; two < 2; two++) {
        const tfn_norm_rule *second = two ? &decoder : NULL;
        d.norm_rule = &norm;
        d.decoder_norm_rule = second;
        d.init_rule = &init;
        if (!own_new(&m, &d)) return;
        own_train(&m, 2);
        f = own_save(&m);
        own_train(&m, 2);
        own_reload(f, &norm, second, &init, &again, text, sizeof text);
        CHECK(!text[0]);
        own_train(&again, 2);
        CHECK(tfn_model_hash(&again) == tfn_model_hash(&m));
        tfn_model_free(&again);

        own_reload(f, NULL, second, &init, &again, text, sizeof text);
        CHECK(strstr(text, two ? "norm is my \"norm\", the model has layernorm"
                               : "decoder_norm is my \"norm\", the model has layernorm"));
        tfn_model_free(&again);
        own_reload(f, &norm, second, NULL, &again, text, sizeof text);
        CHECK(strstr(text, "init is my-init, the model has xavier"));
        tfn_model_free(&again);
        tfn_model_free(&m);
        free(f.to);
    }
}

/* Rows with one name but different functions. */
TEST(own_folds)
{
    tfn_norm_rule norm = *tfn_norm_find("rmsnorm"), other;
    tfn_model_desc d = own_desc(TFN_ARCH_DECODER);
    tfn_model m, folded;
    char text[300];
    norm.name = "mine";
    norm.eps = (float)0.02;
    norm.part = (float)0.75;
    d.norm_rule = &norm;
    if (!own_new(&m, &d)) return;
    for (int i = 0; i < 7; i++) {
        static const char wrong[] = "fold: the models must have the same options, but folded: norm "
                                    "differs";
        other = norm;
        if (i == 1) other.eps = (float)0.01;
        if (i == 2) other.part = (float)0.5;
        if (i == 3) other.flags |= TFN_FLAG_BIAS;
        if (i == 4) other.kind = TFN_NORM_LAYER, other.part = 0;
        if (i == 5) other.eps = (float)0.03;
        if (i == 6) other.part = (float)0.875;
        d.inference = d.folded = true;
        d.norm_rule = &other;
        if (!own_new(&folded, &d)) continue;
        CASE("fold %d", i);
        CHECK((tfn_model_fold(&folded, &m) == TFN_OK) == (i == 0));
        tfn_error_text(&folded.error, text, sizeof text);
        if (i && strcmp(text, wrong))
            FAIL("it says \"%s\"", text);
        tfn_model_free(&folded);
    }
    tfn_model_free(&m);
}

/* Changes one member of a join or of a row. Returns false after the last one. */
static bool own_change(tfn_topology *row, int i)
{
    tfn_join *j = &row->ffn;
    switch (i) {
    case 0:  return true;                               /* the same numbers at another address */
    case 1:  row->flags ^= TFN_TOPOLOGY_UNIT_WEIGHTS; return true;
    case 2:  row->aggregate = TFN_AGGREGATE_LINEAR; return true;
    case 3:  j->norm_in = false; return true;
    case 4:  j->norm_branch = true; return true;
    case 5:  j->norm_sum = true; return true;
    case 6:  j->norm_inner = true; return true;
    case 7:  j->shifts = true; return true;
    case 8:  j->gate = true; return true;
    case 9:  j->extra_last = true; return true;
    case 10: j->scales = true; return true;
    case 11: j->source = TFN_SOURCE_LAYER; return true;
    case 12: j->skip_from = TFN_SOURCE_LAYER; return true;
    case 13: j->qk = TFN_QK_NORM_L2; return true;
    case 14: j->head_scale = TFN_HEAD_SCALE_AFTER; return true;
    case 15: j->in.kind = TFN_SCALE_LEARNED; return true;
    case 16: j->out.value = 2; return true;
    case 17: j->out.value = -2; return true;
    case 18: j->skip.unit = 3; return true;
    case 19: j->extra.layer = 1; return true;
    case 20: row->attention.out.n = 1; return true;
    default: return false;
    }
}

/* A transparent encoder without a final norm: the decoder gets the weighted mean as it is. */
TEST(own_transparent_without_norm)
{
    tfn_topology row = *tfn_topology_find("transparent");
    tfn_model_desc d = own_desc(TFN_ARCH_ENCODER_DECODER);
    tfn_param_info p;
    tfn_model m;
    CHECK(row.flags & TFN_TOPOLOGY_FINAL_NORM && row.flags & TFN_TOPOLOGY_TRANSPARENT);
    row.name = "bare-transparent";
    row.flags &= ~TFN_TOPOLOGY_FINAL_NORM;
    d.layers = 2;
    d.topology = &row;
    if (!own_new(&m, &d)) return;
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++)
        CHECK(!strstr(p.name, "encoder.final_norm"));
    own_train(&m, 2);
    tfn_model_free(&m);
}

/* A topology with the same name cannot be folded if any number of it differs. */
TEST(own_folds_of_joins)
{
    const tfn_topology *row = tfn_topology_find("pre");
    tfn_topology other;
    tfn_model_desc d = own_desc(TFN_ARCH_DECODER);
    tfn_model m, folded;
    d.topology = row;
    if (!own_new(&m, &d)) return;
    other = *row;
    for (int i = 0; own_change(&other, i); i++) {
        static const char wrong[] = "fold: the models must have the same options, but folded: "
                                    "decoder_topology differs";
        char text[300];
        d.inference = d.folded = true;
        d.topology = &other;
        CASE("fold %d", i);
        if (own_new(&folded, &d)) {
            CHECK((tfn_model_fold(&folded, &m) == TFN_OK) == (i == 0));
            if (i && strcmp(tfn_error_text(&folded.error, text, sizeof text), wrong))
                FAIL("it says \"%s\"", text);
            tfn_model_free(&folded);
        }
        other = *row;
    }
    tfn_model_free(&m);
}

int main(void)
{
    RUN(own_norms_same_bits);
    RUN(own_inits_same_bits);
    RUN(own_stacks);
    RUN(own_init_draws);
    RUN(own_norms_refused);
    RUN(own_norms_legal);
    RUN(own_inits_refused);
    RUN(own_resolved);
    RUN(own_checkpoint);
    RUN(own_folds);
    RUN(own_folds_of_joins);
    RUN(own_transparent_without_norm);
    return DONE();
}
