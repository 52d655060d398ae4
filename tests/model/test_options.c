/* Every numeric option: a value out of range is refused with a message that gives the range; an
 * accepted value is used, trains and survives a checkpoint. The tables are compared with the
 * header's structs, so that a new option cannot be forgotten. */
#include "../lib.h"
#include "../check.h"
#include "../digest.h"
#include "../header.h"
#include <limits.h>

enum { OPTIONS_V = 11, OPTIONS_T = 6, OPTIONS_B = 2, OPTIONS_VALUES = 14, OPTIONS_ROOM = 1 << 22 };

/* -- the tables are complete ------------------------------------------------------------------- */

/* Members of the structs of options that are not numbers with a range: bools, names, pointers. Seed
 * and key may have any value, and the end has no minimum. */
static const char *const options_other[LIB_TABLES] = {
    " blank only_decoders untied separate_source scale_embedding no_bias output_bias head_transform scale_by_layer scale_output map_last "
    "recipe norm "
    "decoder_norm init topology decoder_topology norm_rule decoder_norm_rule init_rule folded nesterov eps_inside "
    "relative_rate seed inference recompute probes half parameters gradients moments workspace "
    "decay_all schedule.fairseq schedule.frozen groups loss loss_user ",
    " allow_empty end forbidden ends unnormalized key ",
    " no_pad no_bos no_eos no_unk mask "
};

static bool options_in_words(const char *words, const char *name)
{
    char text[80];
    snprintf(text, sizeof text, " %s ", name);
    return strstr(words, text) != NULL;
}

/* The row of an option; for an array, its first. */
static bool options_find(lib_table table, const char *name, lib_limit *limit)
{
    char first[80];
    snprintf(first, sizeof first, "%s[0]", name);
    for (int i = 0; lib_limit_at(table, i, limit); i++)
        if (!strcmp(limit->name, name) || !strcmp(limit->name, first)) return true;
    return false;
}

static int options_members;

static void options_cover(lib_table table, const char *type, const char *prefix)
{
    char member[64], name[80];
    for (int i = 0; header_member(type, i, member, sizeof member); i++) {
        lib_limit limit;
        bool known;
        snprintf(name, sizeof name, "%s%s", prefix, member);
        if (!strcmp(name, "schedule")) {
            options_cover(table, "tfn_schedule", "schedule.");
            continue;
        }
        known = options_find(table, name, &limit);
        options_members++;
        if (known == options_in_words(options_other[table], name))
            FAIL("%s of %s is %s", name, type, known ? "in both lists" : "in no list");
    }
}

TEST(options_covered)
{
    options_members = 0;
    options_cover(LIB_MODEL, "tfn_model_desc", "");
    CHECK(options_members > 70);
    options_cover(LIB_GENERATOR, "tfn_generate_desc", "");
    options_cover(LIB_TOKENIZER, "tfn_tokenizer_desc", "");
    CHECK(options_members > 90);
}

/* Options that a checkpoint does not store, because the machine or the use decides. Rows of norms
 * and initializations are stored by their names. */
static const char options_local[] =
    " batch_tokens threads isa inference blank only_decoders probes parameters gradients moments workspace "
    "norm_rule decoder_norm_rule init_rule loss loss_user ";

static bool options_in_file(const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; lib_field_at(i); i++) {
        const char *field = lib_field_at(i);
        if (!strncmp(field, name, n) && (!field[n] || field[n] == '[')) return true;
    }
    return false;
}

static void options_saved_of(const char *type, const char *prefix)
{
    char member[64], name[80];
    for (int i = 0; header_member(type, i, member, sizeof member); i++) {
        snprintf(name, sizeof name, "%s%s", prefix, member);
        if (!strcmp(name, "schedule")) options_saved_of("tfn_schedule", "schedule.");
        else if (options_in_file(name) == options_in_words(options_local, name))
            FAIL("%s is %s", name, options_in_file(name) ? "saved and local" : "not saved");
    }
}

TEST(options_in_checkpoints) { options_saved_of("tfn_model_desc", ""); }

/* -- values for each option -------------------------------------------------------------------- */

typedef struct options_value { const char *name; double real; int64_t whole; } options_value;

/* Values for every option, then its least, its most, and their neighbours outside. */
static int options_values(const lib_limit *l, options_value *v)
{
    const options_value real[] = {
        { "NaN", NAN, 0 }, { "inf", INFINITY, 0 }, { "-inf", -INFINITY, 0 }, { "-1", -1, 0 },
        { "0", 0, 0 }, { "denormal", 1e-42, 0 }, { "-denormal", -1e-42, 0 },
        { "max", 3.4028234663852886e38, 0 }, { "min", -3.4028234663852886e38, 0 }
    };
    const int64_t largest = l->size > 4 ? INT64_MAX : INT32_MAX;
    const options_value whole[] = {
        { "-1", 0, -1 }, { "0", 0, 0 }, { "max", 0, largest }, { "min", 0, -largest - 1 },
        { "1", 0, 1 }, { "2", 0, 2 }
    };
    const int count = l->real ? 9 : 6;
    const double step = l->real ? 1e-6 * (l->most + 1) : 1;
    const double around[] = { l->least, l->most, l->least - step, l->most + step };
    memcpy(v, l->real ? real : whole, (size_t)count * sizeof *v);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = { "least", "most", "below least", "above most" };
        v[count + i].name = names[i];
        v[count + i].real = (double)(float)around[i];
        v[count + i].whole = around[i] < (double)largest ? (int64_t)around[i] : largest;
    }
    return count + 4;
}

static void options_set(void *options, const lib_limit *l, const options_value *v)
{
    char *p = (char *)options + l->at;
    const float real = (float)v->real;
    const int32_t four = (int32_t)v->whole;
    if (l->real) memcpy(p, &real, sizeof real);
    else if (l->size == 4) memcpy(p, &four, sizeof four);
    else memcpy(p, &v->whole, sizeof v->whole);
}

static bool options_legal(const lib_limit *l, const options_value *v)
{
    const double x = l->real ? v->real : (double)v->whole;
    if (l->real && l->or_zero && x == 0) return true;
    if (l->below && x >= l->most) return false;
    return x >= l->least && x <= l->most;
}

/* Words that a message must contain. */
static const char *options_word(const lib_limit *l, const options_value *v)
{
    if (l->real && v->real != v->real) return "not a number";
    if (l->real && v->real - v->real != 0) return "infini";
    if ((l->real ? v->real : (double)v->whole) < l->least) return "at least ";
    return l->below ? "below " : "at most ";
}

/* A refusal names the option, its value and the range. */
static void options_refused(const lib_limit *l, const options_value *v, const tfn_error *e)
{
    char text[300];
    tfn_error_text(e, text, sizeof text);
    if (e->status != TFN_BAD_OPTION || !strstr(text, l->name) || !strstr(text, "must be")
        || !strstr(text, options_word(l, v)))
        FAIL("%s %s: status %d, \"%s\"", l->name, v->name, (int)e->status, text);
}

/* -- options of models ------------------------------------------------------------------------- */

static const int32_t options_tokens[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1 };
static const int32_t options_zeros[16] = { 0 };         /* legal in any vocabulary */

/* Bases in which every option has an effect: a decoder, an encoder, an encoder of frames with a
 * decoder, an encoder of frames by itself. */
static tfn_model_desc options_base(int base)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = OPTIONS_V;
    d.context = OPTIONS_T;
    d.width = 8;
    d.heads = 2;
    d.layers = 1;
    d.batch = OPTIONS_B;
    d.threads = 1;
    d.position = TFN_POSITION_ROTARY;
    d.schedule.kind = base == 1 ? TFN_SCHEDULE_STEP : TFN_SCHEDULE_LINEAR;
    d.schedule.steps = 10;
    d.schedule.step_at = 1;
    d.schedule.lr = (float)1e-3;
    d.recipe = base == 1 ? "powernorm" : "pre";
    if (base == 1) {
        d.arch = TFN_ARCH_ENCODER;
        d.head = TFN_HEAD_SEQUENCE;
        d.classes = 3;
        d.segments = 2;
        d.optimizer = TFN_OPTIMIZER_SGD;
    }
    if (base == 2) {
        d.arch = TFN_ARCH_ENCODER_DECODER;
        d.bands = 2;
        d.half = true;
        d.loss_scale = 64;
    }
    if (base == 3) {
        d.arch = TFN_ARCH_ENCODER;
        d.bands = 2;
        d.frame_map = TFN_FRAME_MAP_LINEAR;
        d.head = TFN_HEAD_SEQUENCE;
        d.classes = 3;
    }
    return d;
}

static bool options_finite(const tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int64_t j = 0; j < (int64_t)p.rows * p.cols; j++)
            if (!(p.data[j] - p.data[j] == 0)) return false;
    return true;
}

static void options_batch(const tfn_model_desc *d, tfn_batch *b)
{
    static float frames[OPTIONS_B * (4 * OPTIONS_T + 3) * 2];
    memset(b, 0, sizeof *b);
    b->tokens = options_tokens;
    b->targets = options_tokens;
    b->batch = 1;
    b->time = d->context < OPTIONS_T ? d->context : OPTIONS_T;
    if (d->batch_tokens && d->batch_tokens < b->time) b->time = d->batch_tokens;
    if (d->vocab < OPTIONS_V || d->classes) b->tokens = b->targets = options_zeros;
    if (d->arch == TFN_ARCH_DECODER) return;
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) frames[i] = (float)(i % 5) - 2;
    b->source = options_zeros;
    b->frames = frames;
    if (d->arch == TFN_ARCH_ENCODER) {
        if (d->bands) b->tokens = NULL;
        if (d->bands && !d->frame_map) b->time = 7;
        return;
    }
    b->source_time = d->bands && !d->frame_map ? 7 : 1;
}

/* True if an option has the same value in two descriptions. */
static bool options_same(const lib_limit *l, const tfn_model_desc *a, const tfn_model_desc *b)
{
    return !memcmp((const char *)a + l->at, (const char *)b + l->at, l->size);
}

/* An accepted description of a small model: after two steps everything is finite, and a checkpoint
 * gives the same option again. */
static void options_live(const lib_limit *l, const options_value *v, const tfn_model_desc *d)
{
    static unsigned char block[OPTIONS_ROOM], bytes[OPTIONS_ROOM];
    const size_t size = tfn_model_scratch(d) < OPTIONS_ROOM
                      ? tfn_model_size(d, block, OPTIONS_ROOM) : OPTIONS_ROOM + 1;
    tfn_model m;
    tfn_model_desc again;
    tfn_batch batch;
    tfn_file f;
    if (!size || size > OPTIONS_ROOM / 2) return;
    if (tfn_model_init(&m, d, block, OPTIONS_ROOM) != TFN_OK) {
        FAIL("%s %s: no model", l->name, v->name);
        return;
    }
    options_batch(&m.desc, &batch);
    for (int step = 0; step < 2; step++) {
        tfn_status status = tfn_model_step(&m, &batch, NULL);
        if (status != TFN_OK) FAIL("%s %s: step gives %d", l->name, v->name, (int)status);
    }
    if (!options_finite(&m)) FAIL("%s %s: parameters are not finite", l->name, v->name);
    memset(&f, 0, sizeof f);
    f.to = bytes;
    f.to_size = sizeof bytes;
    if (tfn_model_save(&f, &m, NULL) != TFN_OK) FAIL("%s %s: not saved", l->name, v->name);
    f.from = bytes;
    f.from_size = (size_t)f.used;
    if (tfn_model_peek(&f, &again, NULL) != TFN_OK) {
        char text[300];
        FAIL("%s %s: %s", l->name, v->name, tfn_error_text(&f.error, text, sizeof text));
    } else if (!options_in_words(options_local, l->name) && !options_same(l, &m.desc, &again))
        FAIL("%s %s: another value in a checkpoint", l->name, v->name);
    if (tfn_model_load(&m, &f) != TFN_OK) FAIL("%s %s: not loaded", l->name, v->name);
}

static int options_accepted, options_tried;

static void options_try(const lib_limit *l, const options_value *v, int base)
{
    tfn_model_desc d = options_base(base), out;
    const tfn_model_desc zero = d;
    const bool is_zero = l->real ? v->real == 0 : v->whole == 0;
    tfn_error e;
    bool taken;
    options_set(&d, l, v);
    if (!strcmp(l->name, "threads") && v->whole > 1) d.half = false;
    options_tried++;
    taken = tfn_model_resolve(&out, &d, &e);
    if (!is_zero && !options_legal(l, v)) {
        if (taken) FAIL("%s %s is accepted", l->name, v->name);
        else options_refused(l, v, &e);
        return;
    }
    if (l->real && !taken && strcmp(l->name, "smoothing")) {
        char text[300];
        FAIL("%s %s: %s", l->name, v->name, tfn_error_text(&e, text, sizeof text));
    }
    if (!taken) return;                 /* in range, but incompatible with another option */
    options_accepted++;
    if (!is_zero && !options_same(l, &out, &d) && strcmp(l->name, "loss_scale")
        && strcmp(l->name, "arch") && !strstr(l->name, "kind") && out.isa == d.isa)
        FAIL("%s %s becomes another value", l->name, v->name);
    if (options_same(l, &zero, &d) || !is_zero || l->real) options_live(l, v, &d);
}

TEST(options_models)
{
    lib_limit l;
    options_accepted = options_tried = 0;
    for (int i = 0; lib_limit_at(LIB_MODEL, i, &l); i++) {
        options_value v[OPTIONS_VALUES];
        const int count = options_values(&l, v);
        for (int base = 0; base < 4; base++)
            for (int j = 0; j < count; j++) options_try(&l, v + j, base);
    }
    printf("  %d values of options, %d accepted\n", options_tried, options_accepted);
    CHECK(options_accepted > 500);
}

/* Up to four random options together. The digest holds the resolved options or the numbers in the
 * error, and for a small model its parameters and their initial values. */
static int64_t options_pick(uint64_t i, int64_t n)
{
    return (int64_t)(tfn_random_bits(tfn_key_make(15), i) % (uint64_t)n);
}

static void options_any_model(uint32_t *digest, const tfn_model_desc *d)
{
    static unsigned char block[OPTIONS_ROOM];
    tfn_model m;
    tfn_param_info p;
    if (tfn_model_scratch(d) >= OPTIONS_ROOM) return;
    if (tfn_model_init(&m, d, block, OPTIONS_ROOM) != TFN_OK) {
        if (m.error.status != TFN_NO_MEMORY) digest_error(digest, &m.error);
        return;
    }
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        const size_t n = (size_t)p.rows * (size_t)p.cols;
        digest_text(digest, p.name, strlen(p.name));
        digest_int(digest, p.rows * 4096 + p.cols + ((int64_t)p.frozen << 40));
        if (p.data) digest_floats(digest, p.data, n < 6 ? n : 6);
    }
}

TEST(options_any)
{
    static const char *const recipes[] = { "pre", "post", "ngpt", "deepnorm", "b2t", "dlcl", "qknorm",
                                           "transparent", "powernorm", "resi-dual", "fixup" };
    static const char *const norms[] = { NULL, "layernorm", "rmsnorm", "batchnorm", "prmsnorm" };
    lib_limit l;
    size_t truth;
    int limits = 0;
    int truths = 0;
    int accepted = 0;
    uint32_t digest = DIGEST_BEGIN;
    while (lib_limit_at(LIB_MODEL, limits, &l)) limits++;
    while (lib_truth_at(truths, &truth)) truths++;
    for (int i = 0; i < 4000; i++) {
        const uint64_t draw = 64 * (uint64_t)i;
        tfn_model_desc d = options_base((int)options_pick(draw, 4)), out;
        tfn_error e;
        d.inference = true;
        for (int k = 0; k < 1 + i % 4; k++) {
            options_value v[OPTIONS_VALUES + 4];
            int count;
            lib_limit_at(LIB_MODEL, (int)options_pick(draw + 8 + 4*(uint64_t)k, limits), &l);
            if (!strcmp(l.name, "isa") || !strcmp(l.name, "threads")) continue;
            count = options_values(&l, v);
            for (int j = 0; j < 4; j++) {
                v[count].name = "some";
                v[count].real = 0.25 * (j + 1);
                v[count++].whole = 3 + 2*j;
            }
            count = (int)options_pick(draw + 9 + 4*(uint64_t)k, count);
            if (options_legal(&l, v + count) || i % 8 == 0) options_set(&d, &l, v + count);
        }
        if (i % 3 == 0) d.recipe = recipes[options_pick(draw + 1, 11)];
        if (i % 5 == 0) d.norm = norms[options_pick(draw + 2, 5)];
        lib_truth_at((int)options_pick(draw + 3, truths), &truth);
        if (i % 2) *(bool *)((char *)&d + truth) = true;
        memset(&out, 0, sizeof out);
        if (tfn_model_resolve(&out, &d, &e)) {
            for (int k = 0; lib_limit_at(LIB_MODEL, k, &l); k++)
                if (strcmp(l.name, "isa"))
                    digest_option(&digest, (const char *)&out + l.at, l.size);
            for (int k = 0; lib_truth_at(k, &truth); k++)
                digest_int(&digest, ((const bool *)&out)[truth]);
            options_any_model(&digest, &d);
            accepted++;
        } else digest_error(&digest, &e);
    }
    printf("  %d of 4000 accepted\n", accepted);
    CHECK(accepted > 1000 && accepted < 3900);
    if (sizeof(size_t) > 4) CHECK_DIGEST(digest, 0x1ff99e74u);  /* else more models fit into the room */
}

/* -- options of generators and tokenizers ------------------------------------------------------ */

/* T5's buckets. */
TEST(options_relative_defaults)
{
    tfn_model_desc d = { 0 }, full;
    d.vocab = 5;
    d.context = 8;
    d.position = TFN_POSITION_RELATIVE;
    CHECK(tfn_model_resolve(&full, &d, NULL));
    CHECK_INT(full.relative_buckets, 32);
    CHECK_INT(full.relative_distance, 128);
}

/* A 0 in an option that the optimizer uses becomes its default; the others stay 0. */
TEST(options_optimizer_defaults)
{
    static const struct {
        tfn_optimizer optimizer;
        double beta1, beta2, momentum, rate;
    } rows[] = {
        { TFN_OPTIMIZER_ADAM, 0.9, 0.98, 0, 0 }, { TFN_OPTIMIZER_LION, 0.9, 0.99, 0, 0 },
        { TFN_OPTIMIZER_MUON, 0.9, 0.98, 0.95, 20 }, { TFN_OPTIMIZER_ADAFACTOR, 0, 0, 0, 0 },
        { TFN_OPTIMIZER_RADAM, 0.9, 0.98, 0, 0 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model_desc d = { 0 }, full;
        d.vocab = 5;
        d.context = 8;
        d.optimizer = rows[i].optimizer;
        CASE("optimizer %d", (int)d.optimizer);
        CHECK(tfn_model_resolve(&full, &d, NULL));
        CHECK_CLOSE((double)full.beta1, rows[i].beta1, 1e-7);
        CHECK_CLOSE((double)full.beta2, rows[i].beta2, 1e-7);
        CHECK_CLOSE((double)full.muon_momentum, rows[i].momentum, 1e-7);
        CHECK_CLOSE((double)full.muon_rate, rows[i].rate, 1e-7);
        CHECK_CLOSE((double)full.eps * 1e8, 1, 1e-6);
    }
}

/* The size of tables of positions, in floats: 0 if positions are learned, relative or absent. */
TEST(options_tables)
{
    static const struct { tfn_position_kind position; int floats; } rows[] = {
        { TFN_POSITION_LEARNED, 0 }, { TFN_POSITION_NONE, 0 }, { TFN_POSITION_RELATIVE, 0 },
        { TFN_POSITION_LEARNED_RELATIVE, 0 },
        { TFN_POSITION_SINUSOIDAL, 24 * 16 }, { TFN_POSITION_SINUSOIDAL_FAIRSEQ, 24 * 16 },
        { TFN_POSITION_ROTARY, 24 * 8 }, { TFN_POSITION_ALIBI, 2 * (2*24 - 1) }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model_desc d = { 0 };
        tfn_model m;
        d.vocab = 5;
        d.context = 24;
        d.width = 16;
        d.heads = 2;
        d.position = rows[i].position;
        CASE("position %d", (int)d.position);
        CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
        CHECK_INT(m.memory.tables / sizeof(float) / 16, (rows[i].floats + 15) / 16);
        tfn_model_free(&m);
    }
}

TEST(options_generators)
{
    static unsigned char block[OPTIONS_ROOM], room[OPTIONS_ROOM];
    const tfn_model_desc d = options_base(0);
    tfn_model m;
    lib_limit l;
    CHECK(tfn_model_init(&m, &d, block, sizeof block) == TFN_OK);
    for (int i = 0; lib_limit_at(LIB_GENERATOR, i, &l); i++) {
        options_value v[OPTIONS_VALUES];
        const int count = options_values(&l, v);
        for (int j = 0; j < count; j++) {
            tfn_generate_desc o;
            tfn_generator g;
            const bool is_zero = l.real ? v[j].real == 0 : v[j].whole == 0;
            tfn_status status;
            memset(&o, 0, sizeof o);
            options_set(&o, &l, v + j);
            status = tfn_generator_init(&g, &m, &o, room, sizeof room);
            if (!is_zero && !options_legal(&l, v + j)) options_refused(&l, v + j, &g.error);
            else if (status == TFN_OK) {
                tfn_batch batch;
                memset(&batch, 0, sizeof batch);
                batch.tokens = options_tokens;
                batch.batch = batch.time = 1;
                status = tfn_generator_run(&g, &batch, NULL);
                if (status != TFN_OK) FAIL("%s %s: run gives %d", l.name, v[j].name, (int)status);
            } else if (l.real) FAIL("%s %s is refused", l.name, v[j].name);
        }
    }
}

static void options_generator_says(const tfn_generate_desc *o, const char *wanted)
{
    static unsigned char block[OPTIONS_ROOM], room[OPTIONS_ROOM];
    const tfn_model_desc d = options_base(0);
    tfn_model m;
    tfn_generator g;
    char text[300];
    CHECK(tfn_model_init(&m, &d, block, sizeof block) == TFN_OK);
    CHECK_INT(tfn_generator_init(&g, &m, o, room, sizeof room), TFN_BAD_OPTION);
    tfn_error_text(&g.error, text, sizeof text);
    if (strcmp(text, wanted)) FAIL("\"%s\", not \"%s\"", text, wanted);
}

TEST(options_generator_messages)
{
    static const int32_t forbidden[] = { 3, OPTIONS_V };
    tfn_generate_desc o;
    memset(&o, 0, sizeof o);
    o.end = OPTIONS_V;
    options_generator_says(&o, "generator: end is 11; it must be at most 10");
    o.end = 0;
    o.sentences = o.beam = 1 << 12;
    options_generator_says(&o, "generator: the number of all beams is 16777216; it must be at "
                           "most 1048576");
    memset(&o, 0, sizeof o);
    o.forbidden_count = 2;
    options_generator_says(&o, "generator: 2 tokens are forbidden, but none are given");
    o.forbidden = forbidden;
    options_generator_says(&o, "generator: a forbidden token is 11; it must be at most 10");
}

TEST(options_tokenizers)
{
    lib_limit l;
    for (int i = 0; lib_limit_at(LIB_TOKENIZER, i, &l); i++) {
        options_value v[OPTIONS_VALUES];
        const int count = options_values(&l, v);
        for (int j = 0; j < count; j++) {
            tfn_tokenizer_desc o;
            tfn_trainer t;
            memset(&o, 0, sizeof o);
            options_set(&o, &l, v + j);
            tfn_trainer_init(&t, &o, NULL, 0);              /* with a legal value it lacks memory */
            if (v[j].whole && !options_legal(&l, v + j)) options_refused(&l, v + j, &t.error);
            else if (t.error.status != TFN_NO_MEMORY && strcmp(l.name, "vocab"))
                FAIL("%s %s: status %d", l.name, v[j].name, (int)t.error.status);
        }
    }
}

/* -- options that depend on others ------------------------------------------------------------- */

static void options_says(const tfn_model_desc *d, tfn_status status, const char *wanted)
{
    tfn_model_desc out;
    tfn_error e;
    char text[300];
    CHECK(!tfn_model_resolve(&out, d, &e));
    CHECK_INT(e.status, status);
    tfn_error_text(&e, text, sizeof text);
    if (!strstr(text, wanted)) FAIL("\"%s\" lacks \"%s\"", text, wanted);
}

static tfn_var options_loss(void *user, tfn_tape *t, tfn_var logits)
{
    (void)user;
    (void)t;
    return logits;
}

/* Messages for the usual mistakes of beginners: none is about an option that was never set. */
TEST(options_messages)
{
#define OPTIONS_MISTAKES(X)                                                                       \
    X(d.vocab = 0, BAD_OPTION, "model: vocab is 0; it must be at least 1")                        \
    X(d.dropout = 1, BAD_OPTION, "model: dropout is 1; it must be below 1")                       \
    X(d.clip = -1, BAD_OPTION, "model: clip is -1; it must be 0 or at least 1e-18")               \
    X(d.clip = -(float)INFINITY, BAD_OPTION, "model: clip is minus infinity; it must be 0 or")     \
    X(d.clip = (float)INFINITY, BAD_OPTION, "model: clip is infinite; it must be")                \
    X(d.clip = (float)NAN, BAD_OPTION, "model: clip is not a number; it must be")                 \
    X(d.width = 100, BAD_OPTION, "width is 100; it is not a multiple of width/32, 3: set heads") \
    X(d.heads = 3, BAD_OPTION, "width is 64; it must be a multiple of heads, 3")                  \
    X(d.heads = 4; d.kv_heads = 3, BAD_OPTION, "kv_heads is 3; it must divide heads, 4")          \
    X(d.heads = 3; d.head_size = 1 << 19, BAD_OPTION, "heads * head_size is 1572864; it must be at most") \
    X(d.heads = 3; d.head_size = 5; d.position = TFN_POSITION_ROTARY, BAD_OPTION,                  \
      "head size is 5; for rotary it must be even")                                      \
    X(d.heads = 64; d.position = TFN_POSITION_ROTARY, BAD_OPTION, "head size is 1; for rotary") \
    X(d.position = TFN_POSITION_ALIBI; d.heads = d.width = 4096; d.context = 1 << 20, BAD_OPTION,  \
      "heads times all distances, 2*context - 1, is 8589930496")                                  \
    X(d.position = TFN_POSITION_RELATIVE; d.relative_distance = 16, BAD_OPTION,                    \
      "relative_distance is 16; it must be at least 17")                                          \
    X(d.position = TFN_POSITION_RELATIVE; d.attention_cap = 5, UNSUPPORTED, "exclude attention_cap")    \
    X(d.arch = TFN_ARCH_ENCODER; d.window = 1, BAD_OPTION, "in an encoder it is at least 2")       \
    X(d.position = TFN_POSITION_RELATIVE; d.relative_buckets = 3, BAD_OPTION,                     \
      "relative_buckets is 3; it must be at least 4")                                             \
    X(d.rotary_size = 3, BAD_OPTION, "rotary_size is 3; it must be even")                         \
    X(d.rotary_size = 34, BAD_OPTION, "rotary_size is 34; it must be at most 32")                 \
    X(d.rotary_scaling = TFN_ROTARY_SCALING_LLAMA3; d.rotary_low = 4, BAD_OPTION,                 \
      "rotary_high must be above rotary_low")                                                     \
    X(d.rotary_factor = 0.5f, BAD_OPTION, "rotary_factor is 0.5; it must be 0 or at least 1")    \
    X(d.recipe = "qknorm"; d.score_scale = 1, BAD_OPTION, "neither score_scale nor scale_by_lay") \
    X(d.recipe = "ngpt"; d.scale_by_layer = true, BAD_OPTION, "have a scale of their own")        \
    X(d.mup_base_width = 32; d.score_scale = 1, UNSUPPORTED, "bands, cutoffs, score_scale")       \
    X(d.cutoffs[0] = 4; d.output_bias = true, BAD_OPTION, "output_bias needs a head of tokens")          \
    X(d.cutoffs[0] = 4; d.head_transform = true, BAD_OPTION, "head_transform needs a head of tokens")     \
    X(d.pooler = TFN_ACTIVATION_RELU, BAD_OPTION, "pooler needs a head of sequence")         \
    X(d.arch = TFN_ARCH_ENCODER; d.head = TFN_HEAD_SEQUENCE; d.classes = 2;                       \
      d.pooler = TFN_ACTIVATION_GEGLU, BAD_OPTION, "a function without a gate")                             \
    X(d.cutoffs[0] = 4; d.embedding_size = 9, BAD_OPTION, "embedding_size goes with neither")      \
    X(d.arch = TFN_ARCH_ENCODER_DECODER; d.bands = 3; d.embedding_size = 9; d.map_last = true, BAD_OPTION, \
      "map_last needs tokens, but bands is 3")                                                    \
    X(d.recipe = "ngpt"; d.embedding_size = 9, BAD_OPTION, "embedding_size goes with neither")     \
    X(d.recipe = "pre-ln", NOT_FOUND, "no recipe is called pre-ln; did you mean pre?")            \
    X(d.recipe = "deepnrm", NOT_FOUND, "no recipe is called deepnrm; did you mean deepnorm?")     \
    X(d.norm = "rmsnrom", NOT_FOUND, "no norm is called rmsnrom; did you mean rmsnorm?")          \
    X(d.norm = "qwertyuiop", NOT_FOUND, "no norm is called qwertyuiop")                           \
    X(d.norm = "qwertyuiop"; d.init = "xaviar", NOT_FOUND, "no norm is called qwertyuiop")        \
    X(d.decoder_norm = "rmsnrom", NOT_FOUND, "no norm is called rmsnrom; did you mean rmsnorm?")  \
    X(d.norm = "crmsnorm"; d.decoder_norm = "rmsnorm", BAD_OPTION,                                \
      "crmsnorm must be the norm of both stacks")                                                 \
    X(d.norm = "crmsnorm"; d.width = d.heads = 1, BAD_OPTION,                                     \
      "width is 1; crmsnorm needs at least 2")                                                    \
    X(d.mup_base_width = 32; d.qk_norm = TFN_QK_NORM_UNIT, UNSUPPORTED,                           \
      "the topology has scales of its own by width")                                              \
    X(d.arch = TFN_ARCH_ENCODER; d.head = TFN_HEAD_NUMBERS; d.numbers = 2; d.loss = options_loss, \
      BAD_OPTION, "a head of numbers has neither smoothing nor a loss")                           \
    X(d.folded = true, BAD_OPTION, "a folded model is for inference")                             \
    X(d.only_decoders = true, BAD_OPTION, "only_decoders needs a decoder made for inference")     \
    X(d.only_decoders = d.inference = true; d.arch = TFN_ARCH_ENCODER, BAD_OPTION,                \
      "only_decoders needs a decoder made for inference")                                         \
    X(d.init = "xaviar", NOT_FOUND, "no initialization is called xaviar; did you mean xavier?")
#define OPTIONS_MISTAKE(change, status, text)                                                     \
    {                                                                                             \
        tfn_model_desc d;                                                                         \
        memset(&d, 0, sizeof d);                                                                  \
        d.vocab = 8;                                                                              \
        d.context = 8;                                                                            \
        change;                                                                                   \
        options_says(&d, TFN_##status, text);                                                     \
    }
    OPTIONS_MISTAKES(OPTIONS_MISTAKE)
}

/* A schedule with an end needs its step; a model for inference needs no schedule. */
TEST(options_schedules)
{
    static const tfn_schedule_kind ends[] = { TFN_SCHEDULE_LINEAR, TFN_SCHEDULE_COSINE,
                                              TFN_SCHEDULE_WARMUP_STABLE_DECAY,
                                              TFN_SCHEDULE_STEP };
    for (int i = 0; i < 4; i++) {
        tfn_model_desc d = options_base(0), out;
        d.schedule.kind = ends[i];
        CHECK(tfn_model_resolve(&out, &d, NULL));
        d.schedule.steps = d.schedule.step_at = 0;
        options_says(&d, TFN_BAD_OPTION, i < 3 ? "schedule.steps, is 0; it must be at least 1"
                                               : "schedule.step_at, is 0; it must be at least 1");
        d.inference = true;
        CHECK(tfn_model_resolve(&out, &d, NULL));
    }
}

/* Options of heads must divide by the number of heads, whatever their size. Setting the usual size
 * explicitly gives the same model. */
TEST(options_head_size)
{
    static const struct { const char *recipe, *wanted; } refused[] = {
        { "groupnorm", "a norm of 32 channels has no 3 groups of equal size" },
        { "normformer-code", "width is 32; scales of 3 heads need a multiple of that" }
    };
    static unsigned char block[OPTIONS_ROOM];
    tfn_model_desc d = options_base(0), out;
    char text[300];
    d.width = 32;
    d.heads = 4;
    d.kv_heads = 0;
    d.head_size = 8;
    CHECK(tfn_model_resolve(&out, &d, NULL) && out.head_size == 0);
    d.heads = 3;
    CHECK(tfn_model_resolve(&out, &d, NULL) && out.head_size == 8 && out.kv_heads == 3);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tfn_model m;
        d.recipe = refused[i].recipe;
        d.norm = NULL;
        CHECK(tfn_model_init(&m, &d, block, sizeof block) != TFN_OK);
        tfn_error_text(&m.error, text, sizeof text);
        if (!strstr(text, refused[i].wanted)) FAIL("\"%s\" lacks \"%s\"", text, refused[i].wanted);
    }
}

TEST(options_of_half)
{
    tfn_model_desc d = options_base(2), out;
    d.threads = 2;
    if (HOOK_THREADS(2) == 2) options_says(&d, TFN_BAD_OPTION, "threads is 2, half needs 1");
    d.threads = 0;
    CHECK(tfn_model_resolve(&out, &d, NULL) && out.threads == 1 && out.loss_scale == 64);
    d.half = false;
    CHECK(tfn_model_resolve(&out, &d, NULL) && out.loss_scale == 1);
}

/* -- a rate of 0 ------------------------------------------------------------------------------- */

/* Hash of all weights without running statistics. */
static uint64_t options_weights(const tfn_model *m)
{
    uint64_t sum = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int64_t j = 0; p.grad && j < (int64_t)p.rows * p.cols; j++) {
            uint64_t bits = 0;
            memcpy(&bits, p.data + j, sizeof *p.data);
            sum = sum * UINT64_C(0x9e3779b97f4a7c15) + bits;
        }
    return sum;
}

static void options_freeze(const char *recipe, tfn_optimizer optimizer)
{
    static unsigned char block[OPTIONS_ROOM];
    tfn_model_desc d = options_base(0);
    tfn_model m;
    tfn_batch batch;
    tfn_report report;
    uint64_t before;
    d.recipe = recipe;
    d.optimizer = optimizer;
    d.decay = 1;
    d.schedule.lr_min = d.schedule.lr_init = 1;
    d.schedule.frozen = true;
    if (tfn_model_init(&m, &d, block, sizeof block) != TFN_OK) {
        FAIL("%s: no model", recipe);
        return;
    }
    options_batch(&m.desc, &batch);
    CHECK(tfn_model_profile(&m, &batch) == TFN_OK);
    before = options_weights(&m);
    for (int i = 0; i < 3; i++) {
        CHECK(tfn_model_step(&m, &batch, &report) == TFN_OK && report.updated);
        CHECK(report.lr == 0 && report.grad_norm > 0);
    }
    if (options_weights(&m) != before) FAIL("%s, optimizer %d: moved", recipe, (int)optimizer);
}

TEST(options_frozen)
{
    for (int i = TFN_OPTIMIZER_DEFAULT + 1; i < TFN_OPTIMIZER_COUNT; i++)
        options_freeze("pre", (tfn_optimizer)i);
    for (int32_t i = 0; tfn_recipe_at(i); i++) options_freeze(tfn_recipe_at(i)->name,
        TFN_OPTIMIZER_ADAMW);
}

/* -- names of enumerators ---------------------------------------------------------------------- */

/* Every value of an enumeration has one row, in order, and its name finds it. */
static void options_choice(const char *option, int32_t first, int32_t end)
{
    for (int32_t v = first; v < end; v++) {
        const tfn_choice *row = tfn_choice_at(option, v - first);
        if (!row || row->value != v || !row->name[0] || !row->formula) {
            FAIL("%s %d: no row", option, (int)v);
            continue;
        }
        if (tfn_choice_find(option, row->name) != row)
            FAIL("%s %s: not found, or twice", option, row->name);
        if (tfn_choice_name(option, v) != row->name)
            FAIL("%s %d: not its name", option, (int)v);
    }
    if (tfn_choice_at(option, end - first) || tfn_choice_at(option, -1))
        FAIL("%s: a row more", option);
    if (tfn_choice_find(option, "none such") || tfn_choice_name(option, end))
        FAIL("%s: found what is not there", option);
}

TEST(options_choices)
{
    options_choice("activation", 1, TFN_ACTIVATION_COUNT);
    options_choice("arch", 0, TFN_ARCH_COUNT);
    options_choice("attention_bias", 0, TFN_ATTENTION_BIAS_COUNT);
    options_choice("head", 0, TFN_HEAD_COUNT);
    options_choice("optimizer", 1, TFN_OPTIMIZER_COUNT);
    options_choice("pooler", 1, TFN_ACTIVATION_COUNT);
    options_choice("position", 1, TFN_POSITION_COUNT);
    options_choice("qk_norm", 1, TFN_QK_NORM_COUNT);
    options_choice("radam", 0, TFN_RADAM_COUNT);
    options_choice("rotary_scaling", 0, TFN_ROTARY_SCALING_COUNT);
    options_choice("schedule.kind", 1, TFN_SCHEDULE_COUNT);
    options_choice("smoothing_kind", 0, TFN_SMOOTHING_COUNT);
    if (tfn_choice_at("width", 0)) FAIL("width is no enumeration");
}

/* -- checkpoints of all seeds ------------------------------------------------------------------ */

TEST(options_seeds)
{
    static const uint64_t seeds[] = { 0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 2,
                                      UINT64_MAX - 1, UINT64_MAX };
    static unsigned char block[OPTIONS_ROOM], bytes[OPTIONS_ROOM];
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        tfn_model_desc d = options_base(0), again;
        tfn_model m;
        tfn_file f;
        char text[300];
        memset(&f, 0, sizeof f);
        d.seed = seeds[i];
        CHECK(tfn_model_init(&m, &d, block, sizeof block) == TFN_OK);
        f.to = bytes;
        f.to_size = sizeof bytes;
        CHECK(tfn_model_save(&f, &m, NULL) == TFN_OK);
        f.from = bytes;
        f.from_size = (size_t)f.used;
        if (tfn_model_peek(&f, &again, NULL) != TFN_OK || again.seed != seeds[i]
            || tfn_model_load(&m, &f) != TFN_OK)
            FAIL("seed %llu: %s", (unsigned long long)seeds[i],
                 tfn_error_text(&f.error, text, sizeof text));
    }
}

/* -- numbers in headers ------------------------------------------------------------------------ */

/* 100 kB of numbers with large exponents. If the reader's work depended on the exponent instead of
 * the digits, 2e9 steps for each of 8,000 numbers would never end. */
static tfn_status options_opened(const char *number)
{
    enum { SIZE = 100000 };
    static char header[SIZE + 64];
    static unsigned char bytes[SIZE + 80];
    const size_t length = strlen(number);
    size_t n;
    tfn_file f;
    strcpy(header, "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"b\":[0");
    for (n = strlen(header); n + length + 1 < SIZE; n += length + 1) {
        header[n] = ',';
        memcpy(header + n + 1, number, length);
    }
    strcpy(header + n, "]}}");
    n = strlen(header);
    memset(bytes, 0, 8);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)n >> 8*i);
    memcpy(bytes + 8, header, n);
    memset(&f, 0, sizeof f);
    f.from = bytes;
    f.from_size = n + 8;
    tfn_file_open(&f);
    tfn_file_close(&f);
    return f.error.status;
}

TEST(options_exponents)
{
    static const char *const numbers[] = { "1e2147483647", "1e-2147483647", "0e2147483647", "1e308",
                                           "1e-320", "99999999999999999999e999" };
    for (int i = 0; i < 6; i++)
        if (options_opened(numbers[i]) != TFN_OK) FAIL("%s: not opened", numbers[i]);
}

/* -- undefined behaviour, found by the sanitizers ---------------------------------------------- */

TEST(options_defined)
{
    static unsigned char block[OPTIONS_ROOM], bytes[OPTIONS_ROOM];
    tfn_model_desc d = options_base(2);
    tfn_model m;
    tfn_batch batch;
    tfn_file f;
    CHECK(tfn_model_init(&m, &d, block, sizeof block) == TFN_OK);
    options_batch(&m.desc, &batch);
    batch.source_time = INT32_MIN;
    CHECK(tfn_model_step(&m, &batch, NULL) == TFN_BAD_BATCH);
    m.desc.decay = (float)-INFINITY;            /* illegal */
    memset(&f, 0, sizeof f);
    f.to = bytes;
    f.to_size = sizeof bytes;
    CHECK(tfn_model_save(&f, &m, NULL) == TFN_OK);
    d.vocab = INT32_MIN;
    CHECK(tfn_model_scratch(&d) == 0);
}

int main(void)
{
    RUN(options_covered);
    RUN(options_in_checkpoints);
    RUN(options_models);
    RUN(options_any);
    RUN(options_relative_defaults);
    RUN(options_optimizer_defaults);
    RUN(options_tables);
    RUN(options_generators);
    RUN(options_generator_messages);
    RUN(options_tokenizers);
    RUN(options_messages);
    RUN(options_schedules);
    RUN(options_head_size);
    RUN(options_of_half);
    RUN(options_choices);
    RUN(options_frozen);
    RUN(options_choices);
    RUN(options_seeds);
    RUN(options_exponents);
    RUN(options_defined);
    return DONE();
}
