/* Random models: rows of the descriptor that are in no paper, and recipes with random options. Used
 * by fuzz/rows.c and test_rows.c; include it after the header under test.
 *
 * A case is drawn from one number and stored as named fields, so that it can be printed, shrunk and
 * read again. rows_check reports what is wrong with it. */
#ifndef ROWS_H
#define ROWS_H
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_BATCH = 3, ROWS_TIME = 7, ROWS_FRAMES = 4*ROWS_TIME + 3, ROWS_VOCAB = 11,
       ROWS_FLAGS = 13 };             /* flags of a stack */

/* A user's row: a host for each kind of sub-layer, and a join that its rule substitutes. */
typedef struct rows_row {
    bool     own;                   /* false: the recipe's topology */
    uint32_t flags;
    int32_t  aggregate;
    bool     ruled;                 /* use `other` where kind and layer match; below 0, 0: all */
    int32_t  kind, layer;
    tfn_join attention, ffn, other;
} rows_row;
typedef struct rows_case {
    uint64_t seed;
    tfn_model_desc desc;
    rows_row row, decoder_row;
    int32_t  steps;
    int32_t  chunk;                 /* tokens that the decoder gets at a time */
    bool     twins;                 /* train again with two threads and with recomputation */
} rows_case;

typedef enum rows_verdict {
    ROWS_GOOD, ROWS_REFUSED,        /* refused: at init, with a reason */
    ROWS_NO_FOLD,                   /* everything holds, but fold refuses, with a reason */
    ROWS_WILD,                      /* logits are not finite, so they cannot be compared */
    ROWS_WRONG
} rows_verdict;
typedef struct rows_result {
    rows_verdict verdict;
    char    text[300];              /* the reason */
    double  gap;                    /* difference of folded logits, relative to the largest */
    int32_t weights, folded;        /* parameter tensors before and after */
    int32_t models;                 /* models that were made */
} rows_result;

/* -- random numbers -------------------------------------------------------------------------- */

static uint64_t rows_state;
static uint64_t rows_bits(void)                     /* splitmix64 */
{
    uint64_t z = rows_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
static int32_t rows_below(int32_t n) { return (int32_t)(rows_bits() % (uint64_t)n); }
static bool rows_one_in(int32_t n) { return rows_below(n) == 0; }

/* -- the fields of a case -------------------------------------------------------------------- */

typedef struct rows_field { const char *name; size_t at; char type; } rows_field;
#define ROWS_SCALE(join, s)                                                                        \
    { #join "." #s ".kind", offsetof(rows_case, join.s.kind), 'i' },                               \
    { #join "." #s ".value", offsetof(rows_case, join.s.value), 'f' },                             \
    { #join "." #s ".n", offsetof(rows_case, join.s.n), 'f' },                                     \
    { #join "." #s ".m", offsetof(rows_case, join.s.m), 'f' },                                     \
    { #join "." #s ".layer", offsetof(rows_case, join.s.layer), 'f' },                             \
    { #join "." #s ".unit", offsetof(rows_case, join.s.unit), 'f' }
#define ROWS_FIELD(name, type) { #name, offsetof(rows_case, name), type }
#define ROWS_JOIN(join)                                                                            \
    ROWS_FIELD(join.norm_in, 'b'), ROWS_FIELD(join.norm_branch, 'b'),                              \
    ROWS_FIELD(join.norm_sum, 'b'), ROWS_FIELD(join.norm_inner, 'b'),                              \
    ROWS_FIELD(join.shifts, 'b'), ROWS_FIELD(join.gate, 'b'), ROWS_FIELD(join.extra_last, 'b'),    \
    ROWS_FIELD(join.scales, 'b'), ROWS_FIELD(join.source, 'i'), ROWS_FIELD(join.skip_from, 'i'),   \
    ROWS_FIELD(join.qk, 'i'), ROWS_FIELD(join.head_scale, 'i'),                                    \
    ROWS_SCALE(join, in), ROWS_SCALE(join, out), ROWS_SCALE(join, skip), ROWS_SCALE(join, extra)
#define ROWS_ROW(row)                                                                              \
    ROWS_FIELD(row.own, 'b'), ROWS_FIELD(row.flags, 'i'), ROWS_FIELD(row.aggregate, 'i'),          \
    ROWS_FIELD(row.ruled, 'b'), ROWS_FIELD(row.kind, 'i'), ROWS_FIELD(row.layer, 'i'),             \
    ROWS_JOIN(row.attention), ROWS_JOIN(row.ffn), ROWS_JOIN(row.other)
static const rows_field rows_fields[] = {
    ROWS_FIELD(twins, 'b'),
    ROWS_ROW(row), ROWS_ROW(decoder_row),
    ROWS_FIELD(desc.recipe, 's'), ROWS_FIELD(desc.norm, 's'), ROWS_FIELD(desc.decoder_norm, 's'),
    ROWS_FIELD(desc.init, 's'), ROWS_FIELD(desc.arch, 'i'), ROWS_FIELD(desc.context, 'i'),
    ROWS_FIELD(desc.vocab, 'i'), ROWS_FIELD(desc.source_context, 'i'),
    ROWS_FIELD(desc.width, 'i'), ROWS_FIELD(desc.layers, 'i'), ROWS_FIELD(desc.decoder_layers, 'i'),
    ROWS_FIELD(desc.heads, 'i'), ROWS_FIELD(desc.kv_heads, 'i'),
    ROWS_FIELD(desc.head_size, 'i'), ROWS_FIELD(desc.embedding_size, 'i'),
    ROWS_FIELD(desc.map_last, 'b'),
    ROWS_FIELD(desc.ffn, 'i'),
    ROWS_FIELD(desc.segments, 'i'), ROWS_FIELD(desc.classes, 'i'), ROWS_FIELD(desc.bands, 'i'),
    ROWS_FIELD(desc.frame_map, 'i'), ROWS_FIELD(desc.numbers, 'i'),
   
    ROWS_FIELD(desc.head, 'i'), ROWS_FIELD(desc.cutoffs[0], 'i'), ROWS_FIELD(desc.cutoffs[1], 'i'),
    ROWS_FIELD(desc.activation, 'i'), ROWS_FIELD(desc.position, 'i'), ROWS_FIELD(desc.untied, 'b'),
    ROWS_FIELD(desc.separate_source, 'b'), ROWS_FIELD(desc.scale_embedding, 'b'),
    ROWS_FIELD(desc.no_bias, 'b'), ROWS_FIELD(desc.attention_bias, 'i'),
    ROWS_FIELD(desc.output_bias, 'b'), ROWS_FIELD(desc.head_transform, 'b'),
    ROWS_FIELD(desc.pooler, 'i'),
    ROWS_FIELD(desc.qk_norm, 'i'),
    ROWS_FIELD(desc.rotary_size, 'i'), ROWS_FIELD(desc.rotary_scaling, 'i'),
    ROWS_FIELD(desc.score_scale, 'f'), ROWS_FIELD(desc.scale_by_layer, 'b'),
    ROWS_FIELD(desc.embedding_factor, 'f'), ROWS_FIELD(desc.branch_factor, 'f'),
    ROWS_FIELD(desc.logit_divisor, 'f'), ROWS_FIELD(desc.qkv_clip, 'f'),
    ROWS_FIELD(desc.rotary_period, 'i'), ROWS_FIELD(desc.window_shift, 'i'),
    ROWS_FIELD(desc.window, 'i'), ROWS_FIELD(desc.window_period, 'i'),
    ROWS_FIELD(desc.window_base, 'f'), ROWS_FIELD(desc.relative_buckets, 'i'),
    ROWS_FIELD(desc.relative_distance, 'i'), ROWS_FIELD(desc.scale_output, 'b'),
    ROWS_FIELD(desc.attention_cap, 'f'), ROWS_FIELD(desc.logit_cap, 'f'),
    ROWS_FIELD(desc.norm_eps, 'f'), ROWS_FIELD(desc.norm_factor, 'f'),
    ROWS_FIELD(desc.dropout, 'f'),
    ROWS_FIELD(desc.attention_dropout, 'f'), ROWS_FIELD(desc.activation_dropout, 'f'),
    ROWS_FIELD(desc.smoothing, 'f'), ROWS_FIELD(desc.optimizer, 'i'),
    ROWS_FIELD(desc.moment_type, 'i'),
    ROWS_FIELD(desc.schedule.lr, 'f'), ROWS_FIELD(desc.clip, 'f'),
    ROWS_FIELD(desc.mup_base_width, 'i'),
    ROWS_FIELD(desc.ema, 'f'),
    ROWS_FIELD(desc.decay, 'f'),
    ROWS_FIELD(desc.decay_all, 'b'),
    ROWS_FIELD(desc.micro_batches, 'i'), ROWS_FIELD(desc.recompute, 'b'),
    ROWS_FIELD(desc.half, 'b'), ROWS_FIELD(steps, 'i'), ROWS_FIELD(chunk, 'i')
};
enum { ROWS_FIELDS = sizeof rows_fields / sizeof *rows_fields };

/* A field as a number. A name is its index among the library's names, from 1; 0: none. */
static const char *rows_name_at(const char *field, int32_t i)
{
    if (strstr(field, "recipe")) return tfn_recipe_at(i) ? tfn_recipe_at(i)->name : NULL;
    if (strstr(field, "init")) return tfn_init_at(i) ? tfn_init_at(i)->name : NULL;
    return tfn_norm_at(i) ? tfn_norm_at(i)->name : NULL;
}
static double rows_get(const rows_case *c, const rows_field *f)
{
    const char *p = (const char *)c + f->at, *name;
    int32_t i, n = 0;
    float x;
    if (f->type == 'b') return *(const bool *)(const void *)p;
    if (f->type == 'f') return memcpy(&x, p, sizeof x), (double)x;
    if (f->type == 'i') return memcpy(&i, p, sizeof i), (double)i;
    memcpy(&name, p, sizeof name);
    while (name && rows_name_at(f->name, n) && strcmp(name, rows_name_at(f->name, n))) n++;
    return name ? n + 1 : 0;
}
static void rows_set(rows_case *c, const rows_field *f, double value)
{
    char *p = (char *)c + f->at;
    const int32_t i = (int32_t)value;
    const float x = (float)value;
    const char *name = f->type == 's' && i > 0 ? rows_name_at(f->name, i - 1) : NULL;
    if (f->type == 'b') *(bool *)(void *)p = i != 0;
    if (f->type == 'f') memcpy(p, &x, sizeof x);
    if (f->type == 'i') memcpy(p, &i, sizeof i);
    if (f->type == 's') memcpy(p, &name, sizeof name);
}

/* Prints the fields that are not 0: "seed=7 row.own=1 desc.norm=rmsnorm ...". */
static void rows_print(const rows_case *c, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "seed=%llu", (unsigned long long)c->seed);
    for (size_t i = 0; i < ROWS_FIELDS && n < size; i++) {
        const rows_field *f = rows_fields + i;
        const double value = rows_get(c, f);
        if (value == 0) continue;
        if (f->type == 's')
            n += (size_t)snprintf(text + n, size - n, " %s=%s", f->name,
                                  rows_name_at(f->name, (int32_t)value - 1));
        else n += (size_t)snprintf(text + n, size - n, " %s=%.9g", f->name, value);
    }
}
/* Reads them again; false: no such field, or no such name. */
static bool rows_read(rows_case *c, const char *text)
{
    char name[64], value[64];
    int used;
    memset(c, 0, sizeof *c);
    while (sscanf(text, " %63[^=]=%63s%n", name, value, &used) == 2) {
        size_t i = 0;
        text += used;
        if (!strcmp(name, "seed")) {
            c->seed = strtoull(value, NULL, 10);
            continue;
        }
        while (i < ROWS_FIELDS && strcmp(rows_fields[i].name, name)) i++;
        if (i == ROWS_FIELDS) return false;
        if (rows_fields[i].type != 's') {
            rows_set(c, rows_fields + i, strtod(value, NULL));
            continue;
        }
        for (int32_t k = 0; ; k++) {
            if (!rows_name_at(name, k)) return false;
            if (strcmp(rows_name_at(name, k), value)) continue;
            rows_set(c, rows_fields + i, k + 1);
            break;
        }
    }
    return true;
}

/* -- drawing cases --------------------------------------------------------------------------- */

static float rows_one_of(const float *values, int32_t count) { return values[rows_below(count)]; }
#define ROWS_PICK(values) rows_one_of(values, (int32_t)(sizeof (values) / sizeof *(values)))

static void rows_draw_scale(tfn_scale_rule *s)
{
    static const float values[] = { 0, 0.1f, 0.5f, 0.5f, 0.9f, 1, 1, 1.5f, 2, 3, -0.7f, -1 };
    static const float powers[] = { 0, 0, 0, 0.25f, -0.25f, 0.5f, -0.5f };
    static const float units[] = { 0, 0, 0, 1, 0.05f, 2 };
    s->kind = (tfn_scale_kind)rows_below(TFN_SCALE_LERP + 1);
    s->value = ROWS_PICK(values);
    s->n = ROWS_PICK(powers);
    s->m = ROWS_PICK(powers);
    s->layer = ROWS_PICK(powers);
    s->unit = ROWS_PICK(units);
}

/* Changes a join, in few or in most fields, so that often enough of the host is left to fold it. */
static void rows_draw_join(tfn_join *j)
{
    if (rows_one_in(6)) j->norm_in = !j->norm_in;
    if (rows_one_in(6)) j->norm_branch = !j->norm_branch;
    if (rows_one_in(6)) j->norm_sum = !j->norm_sum;
    if (rows_one_in(6)) j->norm_inner = !j->norm_inner;
    if (rows_one_in(8)) j->shifts = !j->shifts;
    if (rows_one_in(10)) j->gate = !j->gate;
    if (rows_one_in(8)) j->extra_last = !j->extra_last;
    if (rows_one_in(10)) j->scales = !j->scales;
    if (rows_one_in(8)) j->source = (tfn_source)rows_below(4);
    if (rows_one_in(8)) j->skip_from = (tfn_source)rows_below(3);
    if (rows_one_in(6)) j->qk = (tfn_qk_norm)rows_below(TFN_QK_NORM_COUNT);
    if (rows_one_in(6)) j->head_scale = (tfn_head_scale)rows_below(3);
    if (rows_one_in(5)) rows_draw_scale(&j->in);
    if (rows_one_in(4)) rows_draw_scale(&j->out);
    if (rows_one_in(4)) rows_draw_scale(&j->skip);
    if (rows_one_in(5)) rows_draw_scale(&j->extra);
}

/* Draws a row of the library and changes it. Most have few flags. */
static void rows_draw_row(rows_row *row, const tfn_model_desc *d, bool decoder)
{
    tfn_place place = { TFN_SUBLAYER_SELF_ATTENTION, false, true, 1, 2, 2, 2, 8 };
    const tfn_topology *host;
    int32_t count = 0, changes = rows_below(3);
    while (tfn_topology_at(count)) count++;
    host = tfn_topology_at(rows_one_in(3) ? rows_below(2) : rows_below(count));
    memset(row, 0, sizeof *row);
    row->own = true;
    row->flags = host->flags;
    row->aggregate = (int32_t)host->aggregate;
    if (rows_one_in(8)) row->aggregate = rows_below(TFN_AGGREGATE_LINEAR + 1);
    if (rows_one_in(2)) changes = 0;
    for (int32_t i = 0; i < changes; i++) row->flags ^= 1u << rows_below(ROWS_FLAGS);
    place.decoder = decoder;
    place.alone = d->arch != TFN_ARCH_ENCODER_DECODER;
    row->attention = tfn_topology_join(host, &place);
    place.kind = TFN_SUBLAYER_FFN;
    row->ffn = tfn_topology_join(host, &place);
    rows_draw_join(&row->attention);
    rows_draw_join(&row->ffn);
    row->ruled = rows_one_in(2);
    if (!row->ruled) return;
    row->kind = rows_below(5) - 1;
    row->layer = rows_below(4);
    row->other = rows_one_in(2) ? row->attention : row->ffn;
    rows_draw_join(&row->other);
}

static const char *rows_draw_name(const char *field, int32_t usual)
{
    int32_t count = 0;
    while (rows_name_at(field, count)) count++;
    return rows_name_at(field, usual && !rows_one_in(3) ? rows_below(usual) : rows_below(count));
}

static void rows_draw_shape(tfn_model_desc *d)
{
    static const int32_t heads[] = { 1, 2, 2, 4 };
    d->vocab = ROWS_VOCAB;
    d->context = 3 + rows_below(ROWS_TIME - 2);
    d->source_context = 2 + rows_below(ROWS_TIME - 1);
    d->arch = (tfn_arch)rows_below(3);
    d->heads = heads[rows_below(4)];
    d->kv_heads = rows_one_in(3) ? 1 : d->heads;
    d->width = d->heads * 2 * (1 + rows_below(16 / d->heads)) + (rows_one_in(8) ? d->heads : 0);
    if (d->width < 6) d->width = 8;
    d->ffn = d->heads * (2 + rows_below(8));
    d->layers = 1 + rows_below(3);
    d->decoder_layers = 1 + rows_below(3);
    if (d->arch == TFN_ARCH_ENCODER && rows_one_in(3)) d->head = TFN_HEAD_SEQUENCE;
    if (d->head == TFN_HEAD_SEQUENCE) d->classes = 5;
    if (d->arch == TFN_ARCH_ENCODER && rows_one_in(3)) d->segments = 2;
    if (d->arch != TFN_ARCH_DECODER && rows_one_in(8)) d->bands = 5;
    if (d->bands && rows_one_in(2)) d->frame_map = TFN_FRAME_MAP_LINEAR;
    if (d->bands && d->arch == TFN_ARCH_ENCODER) {
        d->head = (tfn_head)(TFN_HEAD_SEQUENCE + rows_below(3));
        d->classes = d->numbers = 5;
        d->segments = 0;
    }
    if (d->arch != TFN_ARCH_DECODER || !rows_one_in(12)) return;
    d->width = 16;
    d->cutoffs[0] = 4;
    d->cutoffs[1] = rows_one_in(2) ? 7 : 0;
}

static void rows_draw_options(tfn_model_desc *d)
{
    static const float rates[] = { 0, 0, 0.1f, 0.3f }, epsilons[] = { 0, 0, 0, 1e-3f, 1e-6f };
    d->activation = (tfn_activation_kind)rows_below(TFN_ACTIVATION_COUNT);
    d->position = (tfn_position_kind)rows_below(TFN_POSITION_COUNT);
    d->untied = rows_one_in(2);
    d->separate_source = rows_one_in(3);
    d->scale_embedding = rows_one_in(3);
    d->no_bias = rows_one_in(4);
    if (rows_one_in(6)) d->qk_norm = (tfn_qk_norm)rows_below(TFN_QK_NORM_COUNT);
    if (rows_one_in(6)) d->attention_cap = 5;
    if (rows_one_in(6)) d->logit_cap = 3;
    d->relative_buckets = 4 + rows_below(6);
    d->relative_distance = 6 + rows_below(6);
    d->scale_output = rows_one_in(8);
    if (rows_one_in(6)) d->head_size = 2 * (1 + rows_below(4));
    if (rows_one_in(6)) d->embedding_size = 3 + rows_below(20);
    d->map_last = d->embedding_size % 2 && !d->bands;
    if (rows_one_in(4)) d->rotary_size = 2;
    d->rotary_scaling = (tfn_rotary_scaling)rows_below(TFN_ROTARY_SCALING_COUNT);
    if (rows_one_in(8)) d->score_scale = 0.5f;
    d->scale_by_layer = rows_one_in(12);
    if (rows_one_in(8)) d->embedding_factor = 3;
    if (rows_one_in(8)) d->branch_factor = 0.5f;
    if (rows_one_in(8)) d->logit_divisor = 2;
    if (rows_one_in(8)) d->qkv_clip = 0.75f;
    if (rows_one_in(8)) d->rotary_period = 2;
    if (rows_one_in(4)) {
        d->window = 1 + rows_below(5) + (d->arch == TFN_ARCH_ENCODER);
        d->window_period = rows_below(3);
        d->window_shift = rows_below(3);
        if (rows_one_in(2)) d->window_base = 100;
    }
    d->attention_bias = (tfn_attention_bias)rows_below(TFN_ATTENTION_BIAS_COUNT);
    d->output_bias = d->head == TFN_HEAD_TOKENS && !d->cutoffs[0] && rows_one_in(4);
    d->head_transform = d->head == TFN_HEAD_TOKENS && !d->cutoffs[0] && rows_one_in(6);
    if (d->head == TFN_HEAD_SEQUENCE && rows_one_in(2)) d->pooler = TFN_ACTIVATION_RELU;
    d->norm_eps = ROWS_PICK(epsilons);
    if (rows_one_in(4)) d->norm_factor = 1.5f;
    d->dropout = ROWS_PICK(rates);
    d->attention_dropout = ROWS_PICK(rates);
    d->activation_dropout = ROWS_PICK(rates);
    if (rows_one_in(4) && d->head != TFN_HEAD_NUMBERS) d->smoothing = 0.1f;
    d->optimizer = (tfn_optimizer)rows_below(TFN_OPTIMIZER_COUNT);
    d->schedule.lr = 0.01f;
    d->clip = rows_one_in(2) ? 1 : 0;
    if (rows_one_in(4)) d->decay = 0.1f;
    d->decay_all = rows_one_in(4);
    d->micro_batches = 1 + rows_one_in(4);
    d->recompute = rows_one_in(4);
    d->half = rows_one_in(16);
}

/* Draws a user's row in two of three cases, else a recipe. */
static void rows_draw(rows_case *c, uint64_t seed)
{
    tfn_model_desc *d = &c->desc;
    memset(c, 0, sizeof *c);
    rows_state = seed;
    rows_bits();
    c->seed = seed;
    rows_draw_shape(d);
    rows_draw_options(d);
    if (rows_one_in(3)) d->recipe = rows_draw_name("recipe", 0);
    else rows_draw_row(&c->row, d, d->arch == TFN_ARCH_DECODER);
    if (c->row.own || rows_one_in(4)) d->norm = rows_draw_name("norm", 2);
    if (d->arch == TFN_ARCH_ENCODER_DECODER && rows_one_in(3)) rows_draw_row(&c->decoder_row, d,
        true);
    if (rows_one_in(4)) d->decoder_norm = rows_draw_name("norm", 2);
    if (rows_one_in(3)) d->init = rows_draw_name("init", 0);
    c->steps = 2 + rows_below(2);
    c->chunk = rows_one_in(2) ? 1 : 1 + rows_below(3);
    c->twins = rows_one_in(4);
#ifndef TFN__DOUBLE
    if (d->optimizer <= TFN_OPTIMIZER_LION && rows_one_in(3))
        d->moment_type = (tfn_moment_type)rows_below(TFN_MOMENT_TYPE_COUNT);
#endif
}

/* -- a case in the library's form ------------------------------------------------------------ */

static const rows_case *rows_now;
static void rows_rule_of(const rows_row *row, const tfn_place *place, tfn_join *join)
{
    if (row->kind >= 0 && row->kind != (int32_t)place->kind) return;
    if (row->layer > 0 && row->layer != place->layer) return;
    *join = row->other;
}
static void rows_rule(const tfn_place *place, tfn_join *join)
{
    rows_rule_of(&rows_now->row, place, join);
}
static void rows_decoder_rule(const tfn_place *place, tfn_join *join)
{
    rows_rule_of(&rows_now->decoder_row, place, join);
}
static tfn_topology rows_topology(const rows_row *row, bool decoder)
{
    tfn_topology t;
    memset(&t, 0, sizeof t);
    t.name = decoder ? "decoder row" : "row";
    t.formula = t.paper = "random";
    t.flags = row->flags;
    t.aggregate = (tfn_aggregate)row->aggregate;
    t.attention = row->attention;
    t.ffn = row->ffn;
    if (row->ruled) t.rule = decoder ? rows_decoder_rule : rows_rule;
    return t;
}

typedef struct rows_data {
    tfn_topology row[2];
    int32_t tokens[ROWS_BATCH * ROWS_TIME], targets[ROWS_BATCH * ROWS_TIME];
    int32_t source[ROWS_BATCH * ROWS_TIME], segments[ROWS_BATCH * ROWS_TIME];
    int32_t lengths[ROWS_BATCH], source_lengths[ROWS_BATCH];
    float   frames[ROWS_BATCH * ROWS_FRAMES * 5], numbers[ROWS_BATCH * 5];
    tfn_batch batch;
    size_t  logits;                 /* numbers that tfn_model_logits returns */
} rows_data;

/* The options, with rows that are in `data`. */
static tfn_model_desc rows_desc(const rows_case *c, const rows_data *data)
{
    tfn_model_desc d = c->desc;
    if (c->row.own) d.topology = &data->row[0];
    if (c->decoder_row.own) d.decoder_topology = &data->row[1];
    d.batch = ROWS_BATCH;
    d.threads = 1;
    d.seed = c->seed;
    return d;
}

/* The number of frames that give `positions` positions. */
static int32_t rows_frames(const tfn_model_desc *d, int32_t positions)
{
    return d->frame_map == TFN_FRAME_MAP_LINEAR ? positions : 4*positions + 3;
}

static void rows_fill(rows_data *data, const tfn_model_desc *d, uint64_t seed)
{
    tfn_batch *b = &data->batch;
    const bool classes = d->head != TFN_HEAD_TOKENS, each = d->head == TFN_HEAD_POSITIONS;
    const bool alone = d->bands && d->arch == TFN_ARCH_ENCODER;
    const int32_t most = classes ? d->classes : d->vocab;
    rows_state = seed ^ 77;
    memset(b, 0, sizeof *b);
    b->batch = ROWS_BATCH;
    b->time = d->context;
    b->source_time = d->bands ? rows_frames(d, d->source_context) : d->source_context;
    for (int32_t i = 0; i < ROWS_BATCH * ROWS_TIME; i++) {
        data->tokens[i] = rows_below(d->vocab);
        data->source[i] = rows_below(d->vocab);
        data->segments[i] = d->segments ? rows_below(d->segments) : 0;
        data->targets[i] = i > 0 && rows_one_in(5) ? -1 : rows_below(most);
    }
    for (int32_t i = 0; i < ROWS_BATCH; i++) {
        data->lengths[i] = 1 + rows_below(d->context);
        data->source_lengths[i] = 1 + rows_below(d->source_context);
        if (d->bands) data->source_lengths[i] = rows_frames(d, data->source_lengths[i]);
        if (alone) data->lengths[i] = rows_frames(d, data->lengths[i]);
    }
    for (int32_t i = 0; i < ROWS_BATCH * ROWS_FRAMES * 5; i++)
        data->frames[i] = (float)(rows_below(2001) - 1000) / 1000;
    b->tokens = data->tokens;
    b->targets = data->targets;
    b->lengths = data->lengths;
    if (d->segments) b->segments = data->segments;
    data->logits = (size_t)ROWS_BATCH
                 * (classes ? 5 : (size_t)d->vocab)
                 * (each || !classes ? (size_t)d->context : 1);
    for (int32_t i = 0; i < ROWS_BATCH * 5; i++)
        data->numbers[i] = (float)(rows_below(2001) - 1000) / 1000;
    b->numbers = data->numbers;
    if (d->bands) b->frames = data->frames;
    if (alone) {
        b->tokens = NULL;
        b->time = rows_frames(d, d->context);
    }
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    if (!d->bands) b->source = data->source;
    b->source_lengths = data->source_lengths;
}

/* Moves weights away from their start, where scales are 0 or 1 and biases 0. */
static void rows_move(tfn_model *m)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const bool running = strstr(p.name, "running") != NULL;
        for (int32_t k = 0; k < p.rows * p.cols; k++) {
            const float by = (float)(rows_below(2001) - 1000) / 10000;
            if (p.grad) p.data[k] += by;
            else if (running) p.data[k] += (float)fabs((double)by);
        }
    }
}

static bool rows_train(const rows_case *c, tfn_model *m, const rows_data *data, rows_result *r)
{
    const int32_t calls = c->steps * m->desc.micro_batches;
    rows_state = c->seed ^ 99;
    if (m->param_floats) rows_move(m);
    for (int32_t i = 0; i < calls; i++) {
        tfn_report report;
        const tfn_status status = tfn_model_step(m, &data->batch, &report);
        if (status == TFN_OK || status == TFN_NOT_FINITE) continue;
        r->verdict = ROWS_WRONG;
        snprintf(r->text, sizeof r->text, "step: ");
        tfn_error_text(&m->error, r->text + 6, sizeof r->text - 6);
        return false;
    }
    return true;
}

/* -- properties that must hold --------------------------------------------------------------- */

/* The largest |x|; infinite if one is not finite. */
static double rows_largest(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs((double)x[i]);
        if (!(size <= 1e30)) return HUGE_VAL;
        if (size > most) most = size;
    }
    return most;
}
/* The largest |x - y|; infinite if one is not finite. */
static double rows_gap(const float *x, const float *y, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs((double)x[i] - (double)y[i]);
        if (!(size <= 1e30)) return HUGE_VAL;
        if (size > most) most = size;
    }
    return most;
}
static float *rows_copy(const float *x, size_t n)
{
    float *p = (float *)malloc((n ? n : 1) * sizeof *p);
    if (!p) exit(2);
    if (x) memcpy(p, x, n * sizeof *p);
    return p;
}

/* True if decoding cannot equal the full forward: the norm takes the maximum over a tensor. */
static bool rows_whole_tensor(const tfn_model *m)
{
    return tfn_norm_find(m->desc.norm)->kind == TFN_NORM_ABSMAX
        || tfn_norm_find(m->desc.decoder_norm)->kind == TFN_NORM_ABSMAX;
}

static bool rows_bad(rows_result *r, const char *what, const tfn_error *e)
{
    int n = snprintf(r->text, sizeof r->text, "%s", what);
    r->verdict = ROWS_WRONG;
    if (e && e->status != TFN_OK) {
        n += snprintf(r->text + n, sizeof r->text - (size_t)n, ": ");
        tfn_error_text(e, r->text + n, sizeof r->text - (size_t)n);
    }
    return false;
}

/* The decoder must give the bits of the full forward, `want`, for every token. */
static bool rows_decode(const rows_case *c, const tfn_model *m, const rows_data *data,
                        const float *want, const char *what, rows_result *r)
{
    const int32_t context = m->desc.context, vocab = m->desc.vocab;
    const int32_t wanted = c->chunk > 0 ? c->chunk : 1;
    const int32_t chunk = wanted < context ? wanted : context;
    const size_t scratch = tfn_model_scratch(&m->desc);
    void *room = malloc(scratch), *block;
    const size_t size = tfn_decoder_size(m, ROWS_BATCH, chunk, room, scratch);
    tfn_decoder d;
    bool good = size > 0;
    block = malloc(size ? size : 1);
    if (!room || !block) exit(2);
    good = good && tfn_decoder_init(&d, m, ROWS_BATCH, chunk, block, size) == TFN_OK;
    if (good && m->desc.arch == TFN_ARCH_ENCODER_DECODER)
        good = tfn_decoder_start(&d, &data->batch) == TFN_OK;
    if (!good) rows_bad(r, "a decoder", size ? &d.error : NULL);
    for (int32_t t = 0; good && t < context; t += chunk) {
        int32_t feed[ROWS_BATCH * ROWS_TIME], n = context - t < chunk ? context - t : chunk;
        const float *found;
        for (int32_t b = 0; b < ROWS_BATCH; b++)
            for (int32_t k = 0; k < n; k++) feed[b*n + k] = data->tokens[b*context + t + k];
        found = tfn_decoder_next(&d, feed, n, NULL);
        good = found != NULL;
        if (!good) rows_bad(r, "decoding", &d.error);
        for (int32_t b = 0; good && b < ROWS_BATCH; b++) {
            const size_t at = ((size_t)b * (size_t)context + (size_t)(t + n) - 1) * (size_t)vocab;
            if (t + n > data->lengths[b]) continue;
            good = !memcmp(found + (size_t)b * (size_t)vocab, want + at,
                           (size_t)vocab * sizeof *want);
            if (!good) rows_bad(r, what, NULL);
        }
    }
    free(room);
    free(block);
    return good;
}

/* Logits of inference, for positions with a token; padding gives 0. */
static float *rows_logits(tfn_model *m, const rows_data *data)
{
    const float *found = tfn_model_logits(m, &data->batch);
    float *x = found ? rows_copy(found, data->logits) : NULL;
    const tfn_model_desc *d = &m->desc;
    const bool tokens = d->head == TFN_HEAD_TOKENS, positions = d->head == TFN_HEAD_POSITIONS;
    const size_t cols = (size_t)(tokens ? d->vocab : d->classes), context = (size_t)d->context;
    const bool fewer = d->bands && d->arch == TFN_ARCH_ENCODER
                    && d->frame_map == TFN_FRAME_MAP_CONVOLUTIONS;
    if (!x || !(tokens || positions)) return x;
    for (size_t b = 0; b < ROWS_BATCH; b++) {
        const int32_t n = data->lengths[b];
        for (size_t t = (size_t)(fewer ? (n - 3) / 4 : n); t < context; t++)
            memset(x + (b*context + t) * cols, 0, cols * sizeof *x);
    }
    return x;
}

/* How far the logits move when each weight changes by its last bit: the largest of four tries. No
 * other form of the same function can be closer than this. */
static double rows_trembling(tfn_model *m, const rows_data *data, const float *want)
{
    const double ulp = sizeof(float) > 4 ? 2.3e-16 : 1.2e-7;
    const size_t bytes = (size_t)m->param_floats * sizeof(float);
    float *kept = (float *)malloc(bytes);
    double most = 0;
    memcpy(kept, m->params, bytes);
    for (int round = 0; round < 4; round++) {
        tfn_param_info p;
        float *found;
        double gap = 0;
        for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
            for (int32_t k = 0; p.grad && k < p.rows * p.cols; k++)
                p.data[k] = (float)((double)p.data[k] * (1 + (rows_one_in(2) ? ulp : -ulp)));
        found = rows_logits(m, data);
        if (found) gap = rows_gap(found, want, data->logits);
        if (gap > most) most = gap;
        free(found);
        memcpy(m->params, kept, bytes);
    }
    free(kept);
    return most;
}

static int32_t rows_weights(const tfn_model *m)
{
    tfn_param_info p;
    int32_t n = 0;
    while (tfn_model_param(m, n, &p)) n++;
    return n;
}

/* The folded model must be the same function, also in the decoder; or fold refuses with a
 * reason. */
static void rows_fold(const rows_case *c, tfn_model *m, const rows_data *data, const float *want,
                      rows_result *r)
{
    const double most = rows_largest(want, data->logits), limit = sizeof(float) > 4 ? 1e-9 : 1e-5;
    tfn_model_desc d = rows_desc(c, data);
    tfn_model folded;
    float *found;
    d.inference = d.folded = true;
    if (tfn_model_new(&folded, &d, NULL) != TFN_OK) {
        rows_bad(r, "no folded model", &folded.error);
        tfn_model_free(&folded);
        return;
    }
    r->models++;
    r->weights = rows_weights(m);
    r->folded = rows_weights(&folded);
    if (tfn_model_fold(&folded, m) != TFN_OK) {
        r->verdict = ROWS_NO_FOLD;
        tfn_error_text(&folded.error, r->text, sizeof r->text);
        tfn_model_free(&folded);
        return;
    }
    found = rows_logits(&folded, data);
    if (!found) rows_bad(r, "folded logits", &folded.error);
    else {
        const double gap = rows_gap(found, want, data->logits);
        r->gap = gap / (most > 0 ? most : 1);
        if (!(r->gap <= limit) && !(gap < 8 * rows_trembling(m, data, want))) {
            r->verdict = ROWS_WRONG;
            snprintf(r->text, sizeof r->text, "folded is off by %.3g of the largest", r->gap);
        } else if (m->desc.arch != TFN_ARCH_ENCODER && !rows_whole_tensor(m)) {
            rows_decode(c, &folded, data, found, "folded, the decoder and the full forward differ",
                        r);
        }
    }
    free(found);
    tfn_model_free(&folded);
}

/* Two threads and recomputed layers must give the same bits. */
static void rows_twin(const rows_case *c, const tfn_model *m, const rows_data *data, rows_result *r)
{
    for (int i = 0; i < 2 && r->verdict == ROWS_GOOD; i++) {
        tfn_model_desc d = rows_desc(c, data);
        tfn_model twin;
        if (i) d.recompute = !d.recompute;
        d.threads = i || d.half ? 1 : 2;
        if (tfn_model_new(&twin, &d, NULL) != TFN_OK) {
            char text[300];                 /* this build may lack threads */
            tfn_error_text(&twin.error, text, sizeof text);
            if (i || !strstr(text, "threads")) rows_bad(r, "no twin", &twin.error);
        } else {
            r->models++;
            if (rows_train(c, &twin, data, r) && tfn_model_hash(&twin) != tfn_model_hash(m))
                rows_bad(r, i ? "bits differ if layers are recomputed" : "bits differ by thread",
                         NULL);
        }
        tfn_model_free(&twin);
    }
}

/* The scratch for sizing must be enough, and at most twice what is needed: with less than half of
 * it the size cannot be computed. */
static bool rows_scratch(const tfn_model_desc *d, rows_result *r)
{
    const size_t bound = tfn_model_scratch(d);
    void *mem = malloc(bound ? bound : 1);
    bool good = true;
    if (!mem) exit(2);
    if (bound && !tfn_model_size(d, mem, bound)) good = rows_bad(r, "too little scratch", NULL);
    if (bound && tfn_model_size(d, mem, (bound - 1) / 2))
        good = rows_bad(r, "twice the scratch that is needed", NULL);
    free(mem);
    return good;
}

static rows_result rows_check(const rows_case *c)
{
    static rows_data data;
    tfn_model_desc d;
    tfn_model m;
    float *want;
    rows_result r;
    memset(&r, 0, sizeof r);
    rows_now = c;
    data.row[0] = rows_topology(&c->row, false);
    data.row[1] = rows_topology(&c->decoder_row, true);
    d = rows_desc(c, &data);
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
        r.verdict = ROWS_REFUSED;
        tfn_error_text(&m.error, r.text, sizeof r.text);
        tfn_model_free(&m);
        return r;
    }
    r.models = 1;
    rows_fill(&data, &m.desc, c->seed);
    d.inference = true;
    d.folded = c->seed % 2;
    if (!rows_scratch(&m.desc, &r) || !rows_scratch(&d, &r) || !rows_train(c, &m, &data, &r)) {
        tfn_model_free(&m);
        return r;
    }
    if (c->twins) rows_twin(c, &m, &data, &r);
    want = rows_logits(&m, &data);
    if (!want) rows_bad(&r, "logits", &m.error);
    else if (rows_largest(want, data.logits) > 1e6) r.verdict = ROWS_WILD;
    if (r.verdict == ROWS_GOOD && m.desc.arch != TFN_ARCH_ENCODER && !rows_whole_tensor(&m))
        rows_decode(c, &m, &data, want, "the decoder and the full forward differ", &r);
    if (r.verdict == ROWS_GOOD && !m.desc.half) rows_fold(c, &m, &data, want, &r);
    free(want);
    tfn_model_free(&m);
    return r;
}

/* -- shrinking to the smallest case that fails in the same way ------------------------------- */

static bool rows_same(const rows_case *c, const char *text)
{
    const rows_result r = rows_check(c);
    return r.verdict == ROWS_WRONG && !strncmp(r.text, text, 12);
}
static bool rows_shrink_flags(rows_case *c, uint32_t *flags, const char *text)
{
    bool changed = false;
    for (int bit = 0; bit < ROWS_FLAGS; bit++) {
        const uint32_t old = *flags;
        *flags &= ~(1u << bit);
        if (*flags == old) continue;
        if (rows_same(c, text)) changed = true;
        else *flags = old;
    }
    return changed;
}
static void rows_shrink(rows_case *c)
{
    char text[300];
    bool changed = true;
    snprintf(text, sizeof text, "%s", rows_check(c).text);
    while (changed) {
        changed = rows_shrink_flags(c, &c->row.flags, text);
        if (rows_shrink_flags(c, &c->decoder_row.flags, text)) changed = true;
        for (size_t i = 0; i < ROWS_FIELDS; i++) {
            static const double values[] = { 0, 1, 2 };
            const double value = rows_get(c, rows_fields + i);
            for (int k = 0; k < 3 && value != 0; k++) {
                if (k && (rows_fields[i].type != 'i' || value <= values[k])) continue;
                rows_set(c, rows_fields + i, values[k]);
                if (rows_same(c, text)) {
                    changed = true;
                    break;
                }
                rows_set(c, rows_fields + i, value);
            }
        }
    }
}
#endif
