/* Reading and watching, for every recipe on each architecture with options in turn. A probe sees
 * the same values in training without dropout, in an evaluation, in a model for inference and in
 * decoding, to the bit. Hidden states equal a probe's values. Weights of attention sum to 1, give
 * the attention's output with its values, and equal the decoder's. */
#include <stdint.h>
#include "../lib.h"
#include "../check.h"
#include "../batch.h"

enum { READING_B = 2, READING_T = 5, READING_TS = 4, READING_V = 13, READING_BANDS = 3,
       READING_FRAMES = 4 * READING_TS + 3, READING_WIDTH = 64, READING_HEADS = 4,
       READING_ROWS = READING_B * READING_T, READING_FLOATS = READING_ROWS * READING_WIDTH,
       READING_POINTS = 128, READING_LAYERS = 2 };

/* -- models and batches ---------------------------------------------------------------------- */

static const tfn_model_desc reading_turns[] = {
    { .position = TFN_POSITION_ROTARY, .kv_heads = 1, .head_size = 6, .rotary_size = 4,
      .window = 2, .window_base = 100, .threads = 2 },
    { .qk_norm = TFN_QK_NORM_L2, .attention_cap = 2, .no_bias = true },
    { .position = TFN_POSITION_NONE, .qk_norm = TFN_QK_NORM_HEAD, .kv_heads = 2, .untied = true },
    { .qk_norm = TFN_QK_NORM_COSINE, .recompute = true, .bands = READING_BANDS },
    { .position = TFN_POSITION_SINUSOIDAL, .attention_cap = 1, .output_bias = true, .half = true },
    { .position = TFN_POSITION_ROTARY, .qk_norm = TFN_QK_NORM_QKV_HEAD, .cutoffs = { 5, 9 } },
    { .position = TFN_POSITION_ROTARY, .qk_norm = TFN_QK_NORM_UNIT, .scale_embedding = true },
    { .qk_norm = TFN_QK_NORM_FULL, .separate_source = true, .logit_cap = 3, .embedding_size = 6 },
    { .position = TFN_POSITION_RELATIVE, .relative_buckets = 4, .kv_heads = 2, .threads = 2 },
    { .position = TFN_POSITION_ALIBI, .attention_cap = 2, .window = 3 }
};
enum { READING_TURNS = sizeof reading_turns / sizeof *reading_turns };

/* Wide enough for a norm of a sixteenth of the channels; frames and clusters where possible. */
static tfn_model_desc reading_desc(int recipe, int round)
{
    tfn_model_desc d = reading_turns[(recipe + round) % READING_TURNS];
    tfn_model_desc resolved;
    d.recipe = tfn_recipe_at(recipe)->name;
    d.arch = (tfn_arch)((recipe + round) % 3);
    CASE("%s, arch %d, round %d", d.recipe, (int)d.arch, round);
    d.vocab = READING_V;
    d.context = READING_T;
    d.batch = READING_B;
    d.width = strcmp(d.recipe, "prmsnorm") ? 16 : READING_WIDTH;
    d.layers = READING_LAYERS;
    d.decoder_layers = READING_LAYERS + 1;
    d.heads = READING_HEADS;
    d.ffn = 16;
    d.probes = true;
    d.seed = (uint64_t)recipe;
    if (!strncmp(d.recipe, "ngpt", 4)) d.embedding_size = 0;
    if (!strncmp(d.recipe, "ngpt", 4) || d.qk_norm == TFN_QK_NORM_UNIT) d.kv_heads = 0;
    d.threads = d.threads ? HOOK_THREADS(d.threads) : 1;
    d.schedule.lr = (float)0.01;
    if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = READING_TS;
    if (d.arch == TFN_ARCH_DECODER) d.bands = 0;
    if (d.bands && recipe % 2) d.frame_map = TFN_FRAME_MAP_LINEAR;
    if (d.bands && d.arch == TFN_ARCH_ENCODER) {
        d.head = TFN_HEAD_SEQUENCE;
        d.classes = READING_V;
        d.embedding_size = 0;
    }
    if (d.arch != TFN_ARCH_DECODER) memset(d.cutoffs, 0, sizeof d.cutoffs);
    if (d.cutoffs[0]) d.untied = false;
    if (!tfn_model_resolve(&resolved, &d, NULL))        /* some recipes allow no clusters */
        memset(d.cutoffs, 0, sizeof d.cutoffs);
    return d;
}

/* padded: every second sentence ends before the others. */
static void reading_fill(batch_room *b, const tfn_model_desc *d, bool padded)
{
    static int32_t lengths[2], source_lengths[2];
    const bool alone = d->bands && d->arch == TFN_ARCH_ENCODER;
    batch_fill(b, d, d->seed + 7);
    if (!padded) return;
    lengths[0] = b->batch.time;
    lengths[1] = alone ? batch_frames(d, 3) : 3;
    source_lengths[0] = b->batch.source_time;
    source_lengths[1] = d->bands ? batch_frames(d, 2) : 2;
    if (d->arch != TFN_ARCH_DECODER) b->batch.lengths = lengths;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) b->batch.source_lengths = source_lengths;
}

/* -- values that a probe sees ----------------------------------------------------------------- */

typedef struct reading_point {
    int32_t   id;
    ptrdiff_t rows, cols;
    float     x[READING_FLOATS];
} reading_point;
typedef struct reading_list {
    int count, backward, others;        /* others: the library's own probes */
    reading_point point[READING_POINTS];
} reading_list;

static void reading_see(void *user, int32_t id, const float *data, ptrdiff_t rows, ptrdiff_t cols,
                        bool backward)
{
    reading_list *l = (reading_list *)user;
    reading_point *p = l->point + l->count;
    l->backward += backward;
    if (backward) return;
    l->others += tfn_probe_of(id).point == TFN_WATCH_NONE;
    if (tfn_probe_of(id).point == TFN_WATCH_NONE) return;
    if (l->count == READING_POINTS || rows * cols > READING_FLOATS) {
        FAIL("point %d has %d rows and %d columns", (int)id, (int)rows, (int)cols);
        return;
    }
    p->id = id;
    p->rows = rows;
    p->cols = cols;
    memcpy(p->x, data, (size_t)(rows * cols) * sizeof *data);
    l->count++;
}

/* True for a row of padding, which is 0 where the tape trains. */
static bool reading_is_padding(const float *x, ptrdiff_t cols)
{
    for (ptrdiff_t c = 0; c < cols; c++)
        if (x[c] < 0 || x[c] > 0) return false;
    return true;
}

static void reading_same(const reading_list *a, const reading_list *b, const char *what)
{
    CHECK_INT(a->count, b->count);
    for (int i = 0; i < a->count && i < b->count; i++) {
        const reading_point *p = a->point + i, *q = b->point + i;
        CHECK(p->id == q->id && p->rows == q->rows && p->cols == q->cols);
        ptrdiff_t differ = 0;
        for (ptrdiff_t r = 0; r < p->rows; r++) {
            const float *x = p->x + r * p->cols, *y = q->x + r * p->cols;
            if (reading_is_padding(x, p->cols) || reading_is_padding(y, p->cols)) continue;
            differ += memcmp(x, y, (size_t)p->cols * sizeof *x) != 0;
        }
        if (differ)
            FAIL("%s: point %d of layer %d, kind %d", what, (int)tfn_probe_of(p->id).point,
                 (int)tfn_probe_of(p->id).layer, (int)tfn_probe_of(p->id).kind);
    }
}

static const reading_point *reading_find(const reading_list *l, tfn_watched point, bool decoder,
                                         int32_t layer, tfn_sublayer kind)
{
    for (int i = 0; i < l->count; i++) {
        const tfn_probe_info info = tfn_probe_of(l->point[i].id);
        if (info.point != point || info.decoder != decoder) continue;
        if (point >= TFN_WATCH_EMBEDDING) return l->point + i;
        if (info.layer == layer && info.kind == kind) return l->point + i;
    }
    return NULL;
}

/* -- watching: training, evaluation, inference, decoding -------------------------------------- */

/* True for norms over a batch: training uses the batch's statistics, everything else running
 * ones. */
static bool reading_of_batches(const tfn_model *m)
{
    return tfn_norm_find(m->desc.norm)->kind >= TFN_NORM_BATCH
        || tfn_norm_find(m->desc.decoder_norm)->kind >= TFN_NORM_BATCH;
}
static bool reading_is_whole(const tfn_model *m)
{
    return (tfn_norm_find(m->desc.norm)->flags & TFN_FLAG_WHOLE) != 0;
}

/* Chunks of 2, 1 and 2 positions: each point of the decoder has the rows of the full forward. */
static void reading_decode(tfn_model *m, const batch_room *b, const reading_list *full)
{
    static reading_list seen;
    const int32_t chunks[] = { 2, 1, 2 };
    const bool two = m->desc.arch == TFN_ARCH_ENCODER_DECODER;
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    void *scratch = malloc(scratch_size);
    const size_t size = tfn_decoder_size(m, READING_B, 2, scratch, scratch_size);
    void *mem = malloc(size);
    tfn_decoder d;
    int32_t at = 0, tokens[READING_B * 2];
    CHECK(tfn_decoder_init(&d, m, READING_B, 2, mem, size) == TFN_OK);
    CHECK(tfn_decoder_watch(&d, reading_see, &seen) == TFN_OK);
    seen.count = 0;
    if (two) CHECK(tfn_decoder_start(&d, &b->batch) == TFN_OK);
    for (int i = 0; i < seen.count; i++) {
        const reading_point *p = seen.point + i, *q = full->point + i;
        CHECK(p->id == q->id && !tfn_probe_of(p->id).decoder);
        CHECK_BITS(p->x, q->x, (size_t)(p->rows * p->cols) * sizeof *p->x);
    }
    for (int step = 0; step < 3; at += chunks[step], step++) {
        for (int32_t s = 0; s < READING_B; s++)
            for (int32_t t = 0; t < chunks[step]; t++)
                tokens[s*chunks[step] + t] = b->tokens[s*READING_T + at + t];
        seen.count = 0;
        CHECK(tfn_decoder_next(&d, tokens, chunks[step], NULL) != NULL);
        CHECK(seen.count > 0);
        for (int i = 0; i < seen.count; i++) {
            const reading_point *p = seen.point + i;
            const tfn_probe_info info = tfn_probe_of(p->id);
            const reading_point *q = reading_find(full, info.point, true, info.layer, info.kind);
            CHECK(q && info.decoder && p->rows == READING_B * chunks[step] && p->cols == q->cols);
            for (ptrdiff_t r = 0; q && r < p->rows; r++) {
                const ptrdiff_t row = r / chunks[step] * READING_T + at + r % chunks[step];
                CHECK_BITS(p->x + r*p->cols, q->x + row*p->cols,
                           (size_t)p->cols * sizeof *p->x);
            }
        }
    }
    free(mem);
    free(scratch);
}

/* Weights that have moved, on batches with and without padding. */
static void reading_watch_model(const tfn_model_desc *d)
{
    static reading_list trained, evaluated, logits, inferred;
    static batch_room b;
    tfn_model_desc frozen = *d;
    tfn_model m, other;
    reading_fill(&b, d, true);
    if (!batch_open(&m, d)) return;
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    CHECK(tfn_model_watch(&m, reading_see, &evaluated) == TFN_OK);
    evaluated.count = evaluated.others = evaluated.backward = 0;
    CHECK(tfn_model_eval(&m, &b.batch, NULL) == TFN_OK);
    CHECK(evaluated.count > 0 && !evaluated.others && !evaluated.backward);
    logits.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &logits) == TFN_OK);
    CHECK(tfn_model_logits(&m, &b.batch) != NULL);
    reading_same(&logits, &evaluated, "logits");

    frozen.inference = true;
    frozen.parameters = m.params;
    if (batch_open(&other, &frozen)) {
        inferred.count = 0;
        CHECK(tfn_model_watch(&other, reading_see, &inferred) == TFN_OK);
        CHECK(tfn_model_logits(&other, &b.batch) != NULL);
        reading_same(&inferred, &evaluated, "inference");
        reading_fill(&b, d, false);
        inferred.count = 0;
        CHECK(tfn_model_logits(&other, &b.batch) != NULL);
        if (d->arch != TFN_ARCH_ENCODER && !reading_is_whole(&other))
            reading_decode(&other, &b, &inferred);
        tfn_model_free(&other);
        reading_fill(&b, d, true);
    }
    trained.count = trained.backward = 0;
    CHECK(tfn_model_watch(&m, reading_see, &trained) == TFN_OK);
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    CHECK(trained.backward > 0);
    if (!reading_of_batches(&m)) reading_same(&trained, &evaluated, "training");
    tfn_model_free(&m);
}

TEST(reading_watched)
{
    for (int recipe = 0; tfn_recipe_at(recipe); recipe++) {
        const int rounds = check_tier() < 2 ? 3 : 3 * READING_TURNS;
        for (int round = 0; round < rounds; round++) {
            const tfn_model_desc d = reading_desc(recipe, round);
            reading_watch_model(&d);
        }
    }
}

/* The last forward of a profile on request is watched; a profile within a step is not. */
TEST(reading_profile)
{
    static reading_list seen, step;
    static batch_room b;
    tfn_model_desc d = reading_desc(0, 0);
    tfn_model m;
    d.recipe = "admin";
    d.arch = TFN_ARCH_DECODER;
    reading_fill(&b, &d, true);
    if (!batch_open(&m, &d)) return;
    seen.count = seen.backward = 0;
    CHECK(tfn_model_watch(&m, reading_see, &seen) == TFN_OK);
    CHECK(tfn_model_profile(&m, &b.batch) == TFN_OK);
    CHECK(seen.count == READING_LAYERS * 2 * 5 + 2 && !seen.backward);
    step.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &step) == TFN_OK);
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    reading_same(&step, &seen, "profile");
    tfn_model_free(&m);
    if (!batch_open(&m, &d)) return;
    seen.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &seen) == TFN_OK);
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    reading_same(&seen, &step, "a step that profiles");
    tfn_model_free(&m);
}

/* -- hidden states ---------------------------------------------------------------------------- */

static tfn_stack reading_stack(bool decoder)
{
    return decoder ? TFN_STACK_DECODER : TFN_STACK_ENCODER;
}
static int32_t reading_depth(const tfn_model *m, bool decoder)
{
    return decoder && m->desc.arch == TFN_ARCH_ENCODER_DECODER ? m->desc.decoder_layers
                                                               : m->desc.layers;
}
static bool reading_has(const tfn_model *m, bool decoder)
{
    return m->desc.arch != (decoder ? TFN_ARCH_ENCODER : TFN_ARCH_DECODER);
}

/* A model without probes returns the values that a probe sees in one with them. */
static void reading_check_hidden(tfn_model *m, const tfn_batch *batch, const reading_list *seen,
                                 bool decoder)
{
    static float all[(READING_LAYERS + 3) * READING_FLOATS];
    const int32_t depth = reading_depth(m, decoder);
    const tfn_topology *row = decoder ? m->desc.decoder_topology : m->desc.topology;
    const float *x = all;
    CHECK(tfn_model_hidden_all(m, batch, reading_stack(decoder), all) == TFN_OK);
    for (int32_t l = 0; l <= depth + 1; l++) {
        const int32_t layers = l <= depth ? l : TFN_LAYERS_ALL;
        const tfn_watched point = l == 0 ? TFN_WATCH_EMBEDDING
                                : l <= depth ? TFN_WATCH_OUTPUT : TFN_WATCH_STACK;
        const reading_point *p = reading_find(seen, point, decoder, l - 1, TFN_SUBLAYER_FFN);
        const size_t bytes = p ? (size_t)(p->rows * p->cols) * sizeof(float) : 0;
        const float *one = tfn_model_hidden(m, batch, reading_stack(decoder), layers);
        CHECK(p && one && p->cols == tfn_model_channels(m));
        if (!p || !one) return;
        CHECK_BITS(one, x, bytes);
        if (l == 0 || l > depth || row->aggregate != TFN_AGGREGATE_NORMED)
            CHECK_BITS(x, p->x, bytes);
        x += p->rows * p->cols;
    }
}

/* The logits are h E^T of the stack's output if nothing is between them. */
static void reading_check_logits(tfn_model *m, const tfn_batch *batch)
{
    static float kept[READING_FLOATS];
    const float *h = tfn_model_hidden(m, batch, TFN_STACK_LAST, TFN_LAYERS_ALL);
    const uint32_t between = TFN_TOPOLOGY_LOGIT_SCALE | TFN_TOPOLOGY_FIXNORM;
    const tfn_model_desc *d = &m->desc;
    const float *logits;
    tfn_param_info e;
    int32_t rows = batch->batch * batch->time;
    if (d->untied || d->cutoffs[0] || d->logit_cap > 0 || d->half) return;
    if ((d->topology->flags | d->decoder_topology->flags) & between) return;
    for (int32_t i = 0; ; i++) {
        if (!tfn_model_param(m, i, &e)) return;
        if (!strcmp(e.name, "embedding.weight")) break;
    }
    memcpy(kept, h, (size_t)(rows * e.cols) * sizeof *h);
    logits = tfn_model_logits(m, batch);
    for (int32_t r = 0; r < rows; r++)
        for (int32_t v = 0; v < READING_V; v++) {
            double sum = 0;
            for (int32_t c = 0; c < e.cols; c++)
                sum += (double)kept[r*e.cols + c] * (double)e.data[v*e.cols + c];
            CHECK_CLOSE((double)logits[r*READING_V + v], sum, 1e-5);
        }
}

/* After all layers a lens shows the logits. After fewer it shows something else, unless the output
 * combines several layers. */
static void reading_check_lens(tfn_model *m, const tfn_batch *batch)
{
    static float wanted[READING_ROWS * READING_V];
    const int32_t depth = reading_depth(m, m->desc.arch != TFN_ARCH_ENCODER);
    const bool one = m->desc.head == TFN_HEAD_SEQUENCE;         /* a row of logits per sentence */
    const size_t bytes = (size_t)(batch->batch * (one ? 1 : batch->time) * READING_V) * sizeof(float);
    const tfn_topology *row = m->desc.arch == TFN_ARCH_ENCODER ? m->desc.topology
                                                               : m->desc.decoder_topology;
    const bool several = row->aggregate || (row->flags & TFN_TOPOLOGY_SIDE_STREAM);
    const bool zero = !strncmp(m->desc.init, "fixup", 5);       /* branches are still 0 */
    char text[200];
    memcpy(wanted, tfn_model_logits(m, batch), bytes);
    for (int32_t l = TFN_LAYERS_ALL; l <= depth; l++) {
        const float *x = tfn_model_lens(m, batch, l);
        CHECK(!x == several);
        if (!x) {
            CHECK_INT(m->error.status, TFN_BAD_BATCH);
            CHECK(strstr(tfn_error_text(&m->error, text, sizeof text), "no lens") != NULL);
        } else if (l == TFN_LAYERS_ALL || l == depth) CHECK_BITS(x, wanted, bytes);
        else CHECK(zero || memcmp(x, wanted, bytes) != 0);
    }
    CHECK_BITS(tfn_model_logits(m, batch), wanted, bytes);
}

/* If branches of the last layers are 0, the logits equal those that a lens shows before these
 * layers, with any norm, head, caps and biases. */
static void reading_silence(tfn_model *m, int32_t from)
{
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++) {
        const bool ends = strstr(p.name, ".o.") || strstr(p.name, ".w2.");
        if (!ends || p.layer < from) continue;
        if (m->desc.arch == TFN_ARCH_ENCODER_DECODER && p.name[0] == 'e') continue;
        memset(p.data, 0, (size_t)p.rows * (size_t)p.cols * sizeof *p.data);
    }
}

TEST(reading_lens)
{
    static const tfn_model_desc turns[] = {
        { .recipe = "pre", .logit_cap = 2 }, { .recipe = "pre-rms", .untied = true },
        { .recipe = "pre", .arch = TFN_ARCH_ENCODER, .head_transform = true, .output_bias = true },
        { .recipe = "pre", .arch = TFN_ARCH_ENCODER, .head = TFN_HEAD_SEQUENCE,
          .classes = READING_V },
        { .recipe = "pre", .arch = TFN_ARCH_ENCODER_DECODER, .threads = 2 },
        { .recipe = "olmo2", .norm = "rmsnorm" }, { .recipe = "pre", .cutoffs = { 5, 9 } }
    };
    static batch_room b;
    static float wanted[READING_ROWS * READING_V];
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        tfn_model_desc d = turns[i];
        tfn_model m;
        CASE("case %d", (int)i);
        d.vocab = READING_V;
        d.context = READING_T;
        d.batch = READING_B;
        d.width = 16;
        d.layers = 5;
        d.heads = READING_HEADS;
        d.threads = d.threads ? HOOK_THREADS(d.threads) : 1;
        if (d.arch == TFN_ARCH_ENCODER_DECODER) d.source_context = READING_TS;
        reading_fill(&b, &d, true);
        if (!batch_open(&m, &d)) continue;
        CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
        for (int32_t l = d.layers; l >= 0; l--) {
            const bool one = d.head == TFN_HEAD_SEQUENCE;
            const size_t rows = one ? READING_B : READING_ROWS;
            memcpy(wanted, tfn_model_lens(&m, &b.batch, l), rows * READING_V * sizeof *wanted);
            reading_silence(&m, l);
            CHECK_BITS(tfn_model_logits(&m, &b.batch), wanted, rows * READING_V * sizeof *wanted);
        }
        tfn_model_free(&m);
    }
}

/* -- attention -------------------------------------------------------------------------------- */

/* Rows sum to 1 over the visible keys, and with the values they give the output. */
static void reading_check_weights(const tfn_model *m, const float *w, const tfn_attention_args *p)
{
    const double tolerance = m->desc.half ? 2e-3 : 1e-5;
    for (ptrdiff_t b = 0; b < p->batch; b++)
        for (ptrdiff_t h = 0; h < p->heads; h++)
            for (ptrdiff_t i = 0; i < p->tq; i++, w += p->tk) {
                const ptrdiff_t g = h / (p->heads / p->kv_heads);
                const float *v = p->v + b*p->tk*p->v_ld + g*p->head_size;
                const float *y = p->y + (b*p->tq + i)*p->y_ld + h*p->head_size;
                ptrdiff_t seen = p->lengths ? p->lengths[b] : p->tk;
                double sum = 0;
                if (p->causal && i + 1 + p->ahead < seen) seen = i + 1 + p->ahead;
                ptrdiff_t first = p->window && seen > p->window ? seen - p->window : 0;
                if (p->ahead) first = i < p->ahead ? 0 : i - p->ahead;
                if (first >= seen) first = seen - 1;
                for (ptrdiff_t j = 0; j < p->tk; j++) {
                    sum += (double)w[j];
                    CHECK(w[j] >= 0 && (w[j] <= 0 || (j >= first && j < seen)));
                }
                CHECK_CLOSE(sum, 1, 1e-6);
                for (ptrdiff_t c = 0; c < p->head_size; c++) {
                    double out = 0;
                    for (ptrdiff_t j = 0; j < seen; j++)
                        out += (double)w[j] * (double)v[j*p->v_ld + c];
                    CHECK_CLOSE(out, (double)y[c], tolerance);
                }
            }
}

enum { READING_WEIGHTS = READING_B * READING_HEADS * READING_T * READING_T };

/* Each head by itself is its part of all heads. */
static void reading_check_head(tfn_model *m, const tfn_batch *batch, tfn_stack stack,
                               int32_t layer, tfn_sublayer kind, const float *all,
                               const tfn_attention_args *p)
{
    float one[READING_WEIGHTS];
    const int32_t head = layer % READING_HEADS;
    const ptrdiff_t size = p->tq * p->tk;
    CHECK(tfn_model_attention(m, batch, stack, layer, kind, head, one) == TFN_OK);
    for (ptrdiff_t b = 0; b < p->batch; b++)
        CHECK_BITS(one + b*size, all + (b*p->heads + head) * size, (size_t)size * sizeof *one);
}

/* In the order of the tape: the encoder's, the decoder's self- and cross-attention. */
static void reading_check_attention(tfn_model *m, const tfn_batch *batch)
{
    float w[READING_WEIGHTS];
    const bool two = m->desc.arch == TFN_ARCH_ENCODER_DECODER;
    tfn_attention_args p;
    int32_t nth = 0;
    for (int decoder = 0; decoder < 2; decoder++) {
        const tfn_stack stack = reading_stack(decoder);
        if (!reading_has(m, decoder)) continue;
        for (int32_t layer = 0; layer < reading_depth(m, decoder); layer++)
            for (int kind = 0; kind <= (two && decoder); kind++, nth++) {
                CHECK(tfn_model_attention(m, batch, stack, layer, (tfn_sublayer)kind, -1, w)
                      == TFN_OK);
                CHECK(lib_attention(m, batch, nth, &p));
                reading_check_weights(m, w, &p);
                reading_check_head(m, batch, stack, layer, (tfn_sublayer)kind, w, &p);
            }
    }
    CHECK(!lib_attention(m, batch, nth, &p));
}

/* A decoder's weights are rows of the full forward's; reading them changes nothing. */
static void reading_check_decoder(tfn_model *m, const batch_room *b)
{
    const int32_t chunks[] = { 2, 1, 2 };
    const bool two = m->desc.arch == TFN_ARCH_ENCODER_DECODER;
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    void *scratch = malloc(scratch_size);
    const size_t size = tfn_decoder_size(m, READING_B, 2, scratch, scratch_size);
    void *mem = malloc(size);
    float full[READING_WEIGHTS], w[READING_WEIGHTS];
    float last[READING_B * READING_V] = { 0 };
    int32_t at = 0, tokens[READING_B * 2];
    const float *logits = NULL;
    tfn_decoder d;
    CHECK(tfn_decoder_init(&d, m, READING_B, 2, mem, size) == TFN_OK);
    if (two) CHECK(tfn_decoder_start(&d, &b->batch) == TFN_OK);
    for (int step = 0; step < 3; at += chunks[step], step++) {
        const int32_t n = chunks[step];
        for (int32_t s = 0; s < READING_B; s++)
            for (int32_t t = 0; t < n; t++) tokens[s*n + t] = b->tokens[s*READING_T + at + t];
        for (int32_t layer = reading_depth(m, true) - 1; layer >= 0; layer--)
            for (int kind = 0; kind <= two; kind++) {
                const tfn_sublayer sub = (tfn_sublayer)kind;
                const int32_t keys = kind ? READING_TS : at + n;
                const int32_t full_keys = kind ? READING_TS : READING_T;
                CHECK(tfn_model_attention(m, &b->batch, TFN_STACK_LAST, layer, sub, -1, full)
                      == TFN_OK);
                CHECK(tfn_decoder_attention(&d, tokens, n, layer, sub, -1, w) == TFN_OK);
                for (int32_t r = 0; r < READING_B * READING_HEADS * n; r++)
                    CHECK_BITS(w + r*keys,
                               full + (r / n * READING_T + at + r % n) * full_keys,
                               (size_t)keys * sizeof *w);
                CHECK(tfn_decoder_attention(&d, tokens, n, layer, sub, 1, w) == TFN_OK);
                for (int32_t r = 0; r < READING_B * n; r++) {
                    const int32_t from = (r / n * READING_HEADS + 1) * READING_T + at + r % n;
                    CHECK_BITS(w + r*keys, full + from * full_keys, (size_t)keys * sizeof *w);
                }
            }
        logits = tfn_decoder_next(&d, tokens, n, NULL);
    }
    CHECK(logits != NULL);
    if (logits) memcpy(last, logits, sizeof last);
    logits = tfn_model_logits(m, &b->batch);
    for (int32_t s = 0; s < READING_B; s++)
        CHECK_BITS(last + s*READING_V, logits + (s*READING_T + READING_T - 1) * READING_V,
                   READING_V * sizeof *last);
    free(mem);
    free(scratch);
}

/* -- all recipes ------------------------------------------------------------------------------ */

static void reading_read_model(const tfn_model_desc *d)
{
    static reading_list seen;
    static batch_room b;
    tfn_model_desc plain = *d;
    tfn_model m, other;
    reading_fill(&b, d, true);
    if (!batch_open(&m, d)) return;
    CHECK(tfn_model_step(&m, &b.batch, NULL) == TFN_OK);
    seen.count = 0;
    CHECK(tfn_model_watch(&m, reading_see, &seen) == TFN_OK);
    CHECK(tfn_model_logits(&m, &b.batch) != NULL);
    plain.probes = false;
    plain.inference = true;
    plain.parameters = m.params;
    if (batch_open(&other, &plain)) {
        const int count = seen.count;
        for (int decoder = 0; decoder < 2; decoder++) {
            if (!reading_has(&m, decoder)) continue;
            reading_check_hidden(&other, &b.batch, &seen, decoder);
            CHECK(tfn_model_hidden(&m, &b.batch, reading_stack(decoder), 1) != NULL);
        }
        CHECK_INT(seen.count, count);                   /* reading does not call probes */
        reading_check_logits(&other, &b.batch);
        reading_check_lens(&other, &b.batch);
        reading_check_attention(&other, &b.batch);
        reading_fill(&b, d, false);
        if (d->arch != TFN_ARCH_ENCODER && !reading_is_whole(&m))
            reading_check_decoder(&other, &b);
        tfn_model_free(&other);
    }
    tfn_model_free(&m);
}

TEST(reading_recipes)
{
    for (int recipe = 0; tfn_recipe_at(recipe); recipe++) {
        const int rounds = check_tier() < 2 ? 3 : 3 * READING_TURNS;
        for (int round = 0; round < rounds; round++) {
            const tfn_model_desc d = reading_desc(recipe, round + 3);
            reading_read_model(&d);
        }
    }
}

/* -- pooling ---------------------------------------------------------------------------------- */

/* One sentence with all positions, one with three, and one with none. */
TEST(reading_pooled)
{
    static batch_room b;
    static float h[READING_FLOATS];
    tfn_model_desc d = reading_desc(0, 2);
    float v[READING_B * READING_WIDTH], unit[READING_B * READING_WIDTH];
    int32_t lengths[] = { READING_T, 3 };
    tfn_model m;
    d.arch = TFN_ARCH_ENCODER;
    d.inference = true;
    reading_fill(&b, &d, true);
    b.batch.lengths = lengths;
    if (!batch_open(&m, &d)) return;
    for (int32_t layers = TFN_LAYERS_ALL; layers <= READING_LAYERS; layers++)
        for (int pool = 0; pool < TFN_POOL_COUNT; pool++) {
            const int32_t cols = tfn_model_channels(&m);
            memcpy(h, tfn_model_hidden(&m, &b.batch, TFN_STACK_LAST, layers),
                   (size_t)(READING_ROWS * cols) * sizeof *h);
            CHECK(tfn_model_pool(&m, &b.batch, TFN_STACK_LAST, layers, (tfn_pool)pool, false, v)
                  == TFN_OK);
            CHECK(tfn_model_pool(&m, &b.batch, TFN_STACK_LAST, layers, (tfn_pool)pool, true, unit)
                  == TFN_OK);
            for (int32_t s = 0; s < READING_B; s++) {
                double length = 0, one = 0;
                for (int32_t c = 0; c < cols; c++) {
                    const float *x = h + s*READING_T*cols + c;
                    double wanted = 0;
                    for (int32_t t = 0; t < lengths[s]; t++) {
                        if (pool == TFN_POOL_FIRST && t > 0) continue;
                        if (pool == TFN_POOL_LAST && t < lengths[s] - 1) continue;
                        wanted += (double)x[t*cols];
                    }
                    if (pool == TFN_POOL_MEAN) wanted /= lengths[s];
                    CHECK_CLOSE((double)v[s*cols + c], wanted, 1e-6);
                    length += wanted * wanted;
                }
                for (int32_t c = 0; c < cols; c++) {
                    one += (double)unit[s*cols + c] * (double)unit[s*cols + c];
                    CHECK_CLOSE((double)unit[s*cols + c],
                                (double)v[s*cols + c] / sqrt(length), 1e-5);
                }
                CHECK_CLOSE(one, 1, 1e-5);
            }
        }
    lengths[1] = 0;
    for (int pool = 0; pool < TFN_POOL_COUNT; pool++) {
        CHECK(tfn_model_pool(&m, &b.batch, TFN_STACK_LAST, 1, (tfn_pool)pool, true, v) == TFN_OK);
        for (int32_t c = 0; c < m.desc.width; c++)
            CHECK(v[m.desc.width + c] >= 0 && v[m.desc.width + c] <= 0);
    }
    tfn_model_free(&m);
}

/* Padding changes nothing, whatever it contains; with frames, positions count. */
TEST(reading_padding)
{
    static batch_room b;
    float v[READING_B * READING_WIDTH], other[READING_B * READING_WIDTH];
    tfn_model_desc d = reading_desc(0, 2);
    tfn_model m;
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.source_context = READING_TS;
    d.bands = READING_BANDS;
    d.frame_map = TFN_FRAME_MAP_CONVOLUTIONS;
    reading_fill(&b, &d, true);
    if (!batch_open(&m, &d)) return;
    CHECK(tfn_model_pool(&m, &b.batch, TFN_STACK_ENCODER, 1, TFN_POOL_MEAN, false, v) == TFN_OK);
    for (int i = (READING_FRAMES + 11) * READING_BANDS; i < 2 * READING_FRAMES * READING_BANDS; i++)
        b.frames[i] = 100;
    CHECK(tfn_model_pool(&m, &b.batch, TFN_STACK_ENCODER, 1, TFN_POOL_MEAN, false, other)
          == TFN_OK);
    CHECK_BITS(v, other, (size_t)(READING_B * m.desc.width) * sizeof *v);
    tfn_model_free(&m);
}

/* -- errors ----------------------------------------------------------------------------------- */

/* A bad argument is an error of that call only; the message names the value that was found. */
#define READING_REFUSED(call, words)                                                               \
    do {                                                                                           \
        char text_[200];                                                                           \
        CHECK((call) == TFN_BAD_BATCH);                                                            \
        tfn_error_text(&m.error, text_, sizeof text_);                                             \
        if (!strstr(text_, words)) FAIL("\"%s\" has no \"%s\"", text_, words);                     \
    } while (0)

TEST(reading_errors)
{
    static batch_room b;
    static float x[(READING_LAYERS + 2) * READING_FLOATS];
    const tfn_sublayer self = TFN_SUBLAYER_SELF_ATTENTION;
    const tfn_sublayer cross = TFN_SUBLAYER_CROSS_ATTENTION;
    tfn_model_desc d = reading_desc(0, 0);
    const tfn_batch *in = &b.batch;
    tfn_model m;
    d.arch = TFN_ARCH_DECODER;
    d.probes = false;
    reading_fill(&b, &d, true);
    if (!batch_open(&m, &d)) return;
    CHECK(tfn_model_watch(&m, reading_see, NULL) == TFN_NOT_READY);
    CHECK(!tfn_model_hidden(&m, in, TFN_STACK_ENCODER, 0) && m.error.status == TFN_BAD_BATCH);
    CHECK(!tfn_model_hidden(&m, in, TFN_STACK_LAST, -2) && m.error.status == TFN_BAD_BATCH);
    CHECK(!tfn_model_lens(&m, in, 3) && m.error.status == TFN_BAD_BATCH);
    CHECK(!tfn_model_lens(&m, NULL, 0) && m.error.status == TFN_BAD_BATCH);
    READING_REFUSED(tfn_model_hidden_all(&m, in, (tfn_stack)3, x), "no stack 3");
    READING_REFUSED(tfn_model_hidden_all(&m, in, TFN_STACK_LAST, NULL), "no array");
    READING_REFUSED(tfn_model_pool(&m, in, TFN_STACK_LAST, 3, TFN_POOL_MEAN, false, x),
                    "after 3 layers, the stack has 2");
    READING_REFUSED(tfn_model_pool(&m, in, TFN_STACK_LAST, 1, (tfn_pool)7, false, x),
                    "pool 7, there are 3");
    READING_REFUSED(tfn_model_pool(&m, in, TFN_STACK_LAST, 1, TFN_POOL_LAST, false, NULL),
                    "no array");
    READING_REFUSED(tfn_model_attention(&m, in, TFN_STACK_LAST, 2, self, 0, x),
                    "layer 2, the stack has 2");
    READING_REFUSED(tfn_model_attention(&m, in, TFN_STACK_LAST, -1, self, 0, x), "layer -1");
    READING_REFUSED(tfn_model_attention(&m, in, TFN_STACK_LAST, 0, cross, 0, x), "of kind 1");
    READING_REFUSED(tfn_model_attention(&m, in, TFN_STACK_LAST, 0, self, 4, x),
                    "head 4, there are 4");
    READING_REFUSED(tfn_model_attention(&m, in, TFN_STACK_LAST, 0, self, 0, NULL), "no array");
    READING_REFUSED(tfn_model_attention(&m, NULL, TFN_STACK_LAST, 0, self, 0, x), "NULL");
    CHECK(tfn_model_attention(&m, in, TFN_STACK_LAST, 1, self, 3, x) == TFN_OK);
    CHECK(tfn_model_step(&m, in, NULL) == TFN_OK);
    tfn_model_free(&m);
    d.arch = TFN_ARCH_ENCODER_DECODER;              /* it attends to two things, but not in its FFN */
    reading_fill(&b, &d, true);
    if (!batch_open(&m, &d)) return;
    READING_REFUSED(tfn_model_attention(&m, in, TFN_STACK_LAST, 0, TFN_SUBLAYER_FFN, 0, x),
                    "no attention of kind 2");
    tfn_model_free(&m);
}

int main(void)
{
    RUN(reading_watched);
    RUN(reading_profile);
    RUN(reading_recipes);
    RUN(reading_lens);
    RUN(reading_pooled);
    RUN(reading_padding);
    RUN(reading_errors);
    return DONE();
}
