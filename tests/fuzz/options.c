/* Random options, a whole model for each: resolve, init in a block of exactly its size, steps,
 * eval, logits, decoding, saving, loading. Numbers and bools come from the library's own tables, so
 * that a new option is tried, too. A refusal has the same message everywhere and names the problem.
 * Accepted options run, keep the library's promises and survive a file. */
#include "../lib.h"
#include "fuzz.h"
#include <math.h>

enum { T = 8, B = 3, MOST = 1 << 22 };      /* MOST: bytes of the largest model to try */

/* Reuses freed blocks early, because fresh memory costs more time than the models. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=4"; }

/* -- options ----------------------------------------------------------------------------------- */

/* A value that is rarely legal. */
static double strange(void)
{
    static const double values[] = { NAN, INFINITY, -INFINITY, -1, 1e-42, 3e38, 1e-7, 2, 1e6, 0.5 };
    return values[fuzz_below(10)];
}

static void set_number(void *options, const lib_limit *l, double x)
{
    char *p = (char *)options + l->at;
    const float real = (float)x;
    const double most = l->size > 4 ? 9e18 : 2147483647.0;
    int64_t whole = 0;
    if (x == x) whole = (int64_t)(x > most ? most : x < -most ? -most : x);
    if (l->real) memcpy(p, &real, sizeof real);
    else if (l->size == 4) memcpy(p, &(int32_t){ (int32_t)whole }, 4);
    else memcpy(p, &whole, sizeof whole);
}

/* A legal value. Whole numbers are small, so that models are small. */
static double ordinary(const lib_limit *l)
{
    const double span = l->most - l->least;
    if (!l->real) return l->least + fuzz_below(span < 12 ? (int)span + 1 : 13);
    if (l->most <= 1) return l->least + span * 0.9 * fuzz_below(100) / 100;
    if (fuzz_one_in(8)) return fuzz_one_in(2) ? l->least : l->most;
    return 0.001 * (1 + fuzz_below(5000));
}

static void set_numbers(tfn_model_desc *d)
{
    lib_limit l;
    for (int i = 0; lib_limit_at(LIB_MODEL, i, &l); i++) {
        const int dice = fuzz_below(200);
        if (dice == 0) set_number(d, &l, strange());
        else if (dice < 50) set_number(d, &l, ordinary(&l));
    }
}

static void set_names(tfn_model_desc *d)
{
    const int recipes = 60, rows = 40;
    const char **names[] = { &d->recipe, &d->norm, &d->decoder_norm, &d->init };
    int i = fuzz_below(recipes + 40);
    if (tfn_recipe_at(i)) d->recipe = tfn_recipe_at(i)->name;
    i = fuzz_below(rows);
    if (fuzz_one_in(6) && tfn_norm_at(i)) d->norm = tfn_norm_at(i)->name;
    if (fuzz_one_in(12) && tfn_norm_at(i + 1)) d->decoder_norm = tfn_norm_at(i + 1)->name;
    if (fuzz_one_in(6) && tfn_init_at(i)) d->init = tfn_init_at(i)->name;
    if (fuzz_one_in(6)) d->topology = tfn_topology_at(fuzz_below(70));
    if (fuzz_one_in(8)) d->decoder_topology = tfn_topology_at(fuzz_below(70));
    if (fuzz_one_in(100)) *names[fuzz_below(4)] = "nonsense";
}

/* Mostly repairs combinations that are illegal. */
static void mend(tfn_model_desc *d)
{
    if (d->arch != TFN_ARCH_ENCODER) {
        d->segments = 0;
        d->head = TFN_HEAD_TOKENS;
    }
    if (d->arch == TFN_ARCH_DECODER) d->bands = 0;
    if (d->bands && d->arch == TFN_ARCH_ENCODER && !d->head) d->head = TFN_HEAD_SEQUENCE;
    if (d->head && !d->classes) d->classes = 1 + fuzz_below(4);
    if (d->head == TFN_HEAD_NUMBERS && !d->numbers) d->numbers = 1 + fuzz_below(4);
    if (!fuzz_one_in(4)) d->cutoffs[0] = d->cutoffs[1] = 0;
    if (d->cutoffs[0] <= 0 || d->cutoffs[1] <= d->cutoffs[0]) d->cutoffs[1] = 0;
    if (d->layers > 2 && !fuzz_one_in(20)) d->layers = 1 + fuzz_below(2);
    if (d->decoder_layers > 2 && !fuzz_one_in(20)) d->decoder_layers = 1 + fuzz_below(2);
    d->kv_heads = 0;
    d->heads = 1 + fuzz_below(3);
    d->width = d->heads * (fuzz_one_in(2) ? 2 + 2*fuzz_below(5) : 1 + fuzz_below(9));
    if (d->heads == 2 && fuzz_one_in(2)) d->kv_heads = 1;
    if (d->position == TFN_POSITION_ROTARY && d->width / d->heads % 2)
        d->position = TFN_POSITION_LEARNED;
    if (!d->schedule.steps) d->schedule.steps = 1 + fuzz_below(9);
    if (!d->schedule.step_at) d->schedule.step_at = 1 + fuzz_below(3);
    if (!d->inference) d->folded = false;
}

static void draw(tfn_model_desc *d)
{
    size_t at;
    memset(d, 0, sizeof *d);
    set_numbers(d);
    for (int i = 0; lib_truth_at(i, &at); i++) {
        const bool yes = fuzz_one_in(6);
        memcpy((char *)d + at, &yes, sizeof yes);
    }
    set_names(d);
    d->probes = fuzz_one_in(8);
    d->inference = fuzz_one_in(8);
    d->seed = fuzz_bits() >> fuzz_below(64);
    if (d->vocab == 0) d->vocab = 1 + fuzz_below(12);
    if (d->context == 0) d->context = 1 + fuzz_below(T);
    if (d->context > T && d->context < 100) d->context = T;
    if (!fuzz_one_in(10)) d->threads = d->half ? 1 : 1 + fuzz_one_in(20);
    if (!fuzz_one_in(10)) mend(d);
}

/* -- one model --------------------------------------------------------------------------------- */

typedef struct data {
    int32_t tokens[B * T], targets[B * T], source[B * T], lengths[B], source_lengths[B];
    int32_t segments[B * T];
    float   frames[B * (4*T + 3) * 13], numbers[B * 13];
} data;

/* The number of frames that give `positions` positions. */
static int32_t frames_of(const tfn_model_desc *d, int32_t positions)
{
    return d->frame_map == TFN_FRAME_MAP_LINEAR ? positions : 4 * positions + 3;
}

/* Gives the batch frames instead of an encoder's tokens. */
static void put_frames(tfn_batch *b, const tfn_model_desc *d, data *x)
{
    const bool alone = d->arch == TFN_ARCH_ENCODER;
    int32_t *time = alone ? &b->time : &b->source_time;
    int32_t *lengths = alone ? x->lengths : x->source_lengths;
    *time = frames_of(d, *time);
    for (int i = 0; i < b->batch; i++) lengths[i] = fuzz_below(*time + 1);
    b->frames = x->frames;
    if (alone) b->tokens = NULL;
    else b->source = NULL;
}

static tfn_batch batch_of(const tfn_model_desc *d, data *x)
{
    const int32_t most_b = d->batch < B ? d->batch : B, most_t = d->context < T ? d->context : T;
    const int32_t most_s = d->source_context < T ? d->source_context : T;
    const bool own = d->head == TFN_HEAD_SEQUENCE || d->head == TFN_HEAD_POSITIONS;
    const int32_t classes = own ? d->classes : d->vocab;
    tfn_batch b;
    memset(&b, 0, sizeof b);
    b.batch = 1 + fuzz_below(most_b);
    b.time = 1 + fuzz_below(most_t);
    if (d->batch_tokens && b.batch * b.time > d->batch_tokens) b.batch = b.time = 1;
    b.source_time = d->arch == TFN_ARCH_ENCODER_DECODER ? 1 + fuzz_below(most_s) : 0;
    if (d->batch_tokens && b.batch * b.source_time > d->batch_tokens)
        b.batch = b.time = b.source_time = 1;
    for (int i = 0; i < B * T; i++) {
        x->tokens[i] = fuzz_below(d->vocab);
        x->source[i] = fuzz_below(d->vocab);
        x->targets[i] = fuzz_one_in(5) ? -1 : fuzz_below(classes);
        x->segments[i] = d->segments ? fuzz_below(d->segments) : 0;
    }
    for (size_t i = 0; i < sizeof x->frames / sizeof *x->frames; i++)
        x->frames[i] = (float)fuzz_below(2001) / 1000 - 1;
    for (size_t i = 0; i < sizeof x->numbers / sizeof *x->numbers; i++)
        x->numbers[i] = fuzz_one_in(5) ? (float)NAN : (float)fuzz_below(2001) / 1000 - 1;
    b.tokens = x->tokens;
    b.targets = x->targets;
    if (d->head == TFN_HEAD_NUMBERS) b.numbers = x->numbers;
    if (d->segments && fuzz_one_in(2)) b.segments = x->segments;
    for (int i = 0; i < b.batch; i++) {
        x->lengths[i] = fuzz_one_in(20) ? 0 : 1 + fuzz_below(b.time);
        x->source_lengths[i] = 1 + fuzz_below(b.source_time ? b.source_time : 1);
    }
    if (fuzz_one_in(2)) b.lengths = x->lengths;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) {
        b.source = x->source;
        if (fuzz_one_in(2)) b.source_lengths = x->source_lengths;
    }
    if (d->bands) put_frames(&b, d, x);
    return b;
}

static const char *said(const tfn_error *e)
{
    static char text[300];
    return tfn_error_text(e, text, sizeof text);
}

/* True if n values have the same bits, or are both NaN. C does not specify the sign and payload of a
 * NaN, and they differ between kernels. */
static bool same_values(const float *a, const float *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (!(isnan(a[i]) && isnan(b[i])) && memcmp(a + i, b + i, sizeof *a)) return false;
    return true;
}

/* The decoder's last logits equal those of the full forward, for one sentence without padding. */
static void decode(tfn_model *m, const data *x)
{
    const tfn_model_desc *d = &m->desc;
    const int32_t time = d->context < T ? d->context : T;
    const size_t scratch = tfn_model_scratch(d);
    void *temporary = malloc(scratch), *mem;
    size_t size = tfn_decoder_size(m, 1, 0, temporary, scratch);
    const float *logits = NULL, *full;
    tfn_decoder decoder;
    tfn_batch b;
    const bool whole = (tfn_norm_find(d->norm)->flags | tfn_norm_find(d->decoder_norm)->flags)
                     & TFN_FLAG_WHOLE;
    free(temporary);
    mem = malloc(size);
    memset(&b, 0, sizeof b);
    b.batch = 1;
    b.time = time;
    b.tokens = x->tokens;
    b.source = x->source;
    b.frames = x->frames;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) b.source_time = d->bands ? frames_of(d, 1) : 1;
    if (!size || tfn_decoder_init(&decoder, m, 1, 0, mem, size) != TFN_OK)
        FUZZ_FAIL("no decoder of %zu bytes", size);
    else if (tfn_decoder_start(&decoder, d->arch == TFN_ARCH_ENCODER_DECODER ? &b : NULL) != TFN_OK)
        FUZZ_FAIL("start: %s", said(&decoder.error));
    else {
        for (int32_t t = 0; t < time; t++)
            logits = tfn_decoder_next(&decoder, x->tokens + t, 1, NULL);
        if (!logits) FUZZ_FAIL("next: %s", said(&decoder.error));
        full = (!d->batch_tokens || time <= d->batch_tokens) ? tfn_model_logits(m, &b) : NULL;
        if (full) full += (ptrdiff_t)(time - 1) * d->vocab;
        if (logits && full && !whole && !d->cache_type && !same_values(logits, full, d->vocab))
            FUZZ_FAIL("%s, norm %s: decoder and full forward differ", d->recipe, d->norm);
    }
    free(mem);
}

/* A model from a file has the same weights and continues with the same bits. */
static void save(tfn_model *m, const tfn_model_desc *desc, const tfn_batch *b)
{
    tfn_file f;
    tfn_model again;
    tfn_model_desc found;
    tfn_report x, y;
    tfn_status status;
    void *bytes;
    memset(&f, 0, sizeof f);
    memset(&again, 0, sizeof again);
    if (tfn_model_save(&f, m, NULL) != TFN_OK) {
        FUZZ_FAIL("size of file: %s", said(&f.error));
        return;
    }
    bytes = malloc((size_t)f.used);
    f.to = bytes;
    f.to_size = (size_t)f.used;
    if (tfn_model_save(&f, m, NULL) != TFN_OK) FUZZ_FAIL("save: %s", said(&f.error));
    f.from = bytes;
    f.from_size = f.to_size;
    if (tfn_model_peek(&f, &found, NULL) != TFN_OK) FUZZ_FAIL("peek: %s", said(&f.error));
    if (tfn_model_new(&again, desc, NULL) != TFN_OK) FUZZ_FAIL("new: %s", said(&again.error));
    else if (tfn_model_load(&again, &f) != TFN_OK) FUZZ_FAIL("load: %s", said(&f.error));
    else if (tfn_model_hash(m) != tfn_model_hash(&again)) FUZZ_FAIL("other weights from a file");
    else if (!desc->inference) {
        status = tfn_model_step(m, b, &x);
        if (tfn_model_step(&again, b, &y) != status) FUZZ_FAIL("another status after loading");
        if (tfn_model_hash(m) != tfn_model_hash(&again)) FUZZ_FAIL("other bits after loading");
    }
    tfn_model_free(&again);
    free(bytes);
}

/* Hash of everything that has a gradient: not running statistics or counts. */
static uint64_t weights_of(const tfn_model *m)
{
    uint64_t sum = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int32_t j = 0; p.grad && j < p.rows * p.cols; j++) {
            uint32_t bits;
            memcpy(&bits, p.data + j, sizeof bits);
            sum = sum * UINT64_C(0x9e3779b97f4a7c15) + bits;
        }
    return sum;
}

/* Trains some steps. Some are skipped, because of half precision or ruinous rates. */
static void train(tfn_model *m, const tfn_batch *b)
{
    for (int i = 0; i < 2; i++) {
        tfn_report report;
        const uint64_t before = weights_of(m);
        const bool profiled = m->profiled || m->step || m->micro;
        const bool open = m->profile_open;      /* a skipped update restores it */
        const tfn_status status = tfn_model_step(m, b, fuzz_one_in(9) ? NULL : &report);
        if (status != TFN_OK && (status != TFN_NOT_FINITE || !m->desc.half))
            FUZZ_FAIL("step gives %d, %s", (int)status, said(&m->error));
        if (profiled && m->desc.schedule.frozen && !(open && !m->profiled)
            && before != weights_of(m))
            FUZZ_FAIL("frozen, but it moved");
    }
}

static void live(const tfn_model_desc *desc, size_t size)
{
    static data x;
    void *mem = malloc(size);
    tfn_model m;
    tfn_batch b;
    tfn_report report;
    tfn_status status;
    if (fuzz_one_in(8) && tfn_model_init(&m, desc, mem, size - 1) != TFN_NO_MEMORY)
        FUZZ_FAIL("a byte less is not refused");
    if (tfn_model_init(&m, desc, mem, size) != TFN_OK) {
        FUZZ_FAIL("init: %s", said(&m.error));
        free(mem);
        return;
    }
    fuzz_models++;
    b = batch_of(&m.desc, &x);
    if (!m.desc.inference) train(&m, &b);
    status = tfn_model_eval(&m, &b, &report);
    if (status != TFN_OK) FUZZ_FAIL("eval: %s", said(&m.error));
    if (!tfn_model_logits(&m, &b)) FUZZ_FAIL("logits: %s", said(&m.error));
    if (m.desc.arch != TFN_ARCH_ENCODER) decode(&m, &x);
    save(&m, desc, &b);
    free(mem);
}

static void fuzz_case(void)
{
    tfn_model_desc desc, out;
    tfn_error e;
    tfn_model m;
    void *scratch;
    size_t bytes, size;
    draw(&desc);
    fuzz_executions++;
    if (!tfn_model_resolve(&out, &desc, &e)) {
        unsigned char small[64];
        FUZZ_CHECK(e.status == TFN_BAD_OPTION || e.status == TFN_NOT_FOUND
                   || e.status == TFN_UNSUPPORTED);
        FUZZ_CHECK(strlen(said(&e)) > 10 && !strstr(said(&e), "no error"));
        FUZZ_CHECK(tfn_model_scratch(&desc) == 0);
        FUZZ_CHECK(tfn_model_init(&m, &desc, small, sizeof small) == e.status);
        return;
    }
    fuzz_accepted++;
    bytes = tfn_model_scratch(&desc);
    FUZZ_CHECK(bytes > 0);
    if (bytes > MOST) return;
    scratch = malloc(bytes);
    size = tfn_model_size(&desc, scratch, bytes);
    if (!size && (double)out.vocab * out.width < 1e12) {
        if (tfn_model_init(&m, &desc, scratch, bytes) == TFN_OK || m.error.status == TFN_NO_MEMORY)
            FUZZ_FAIL("no size, but: %s", said(&m.error));
    }
    free(scratch);
    if (size && size <= MOST) live(&desc, size);
}

int main(int argc, char **argv) { return fuzz_main("options", argc, argv); }
