/* Random sequences of public calls with valid, NULL, zeroed and wrong arguments. A call that must
 * fail fails with an error in its object; a failed call changes nothing in the model; all memory is
 * freed. An execution is a call; an accepted one returned success. */
#include "../lib.h"
#include "fuzz.h"
#include <math.h>

enum { V = 9, T = 6, B = 2, CALLS = 40, ROOM = 1 << 20 };

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=4"; }

static struct {
    tfn_model m;
    tfn_decoder d;
    tfn_generator g;
    tfn_trainer t;
    tfn_tokenizer k;
    tfn_file f;
    tfn_tape tape;
    tfn_run run;
    tfn_tensor tensor;
    tfn_report report;
    tfn_param_info info;
    bool has_decoder, has_generator, has_tokenizer, has_file, has_tape;
} all;

static unsigned char blocks[6][ROOM], saved[ROOM];
static size_t saved_size;
static int32_t tokens[B * T], targets[B * T], lengths[B];
static bool broken;             /* this call has an illegal NULL or zeroed argument */

/* -- arguments --------------------------------------------------------------------------------- */

/* A required pointer: rarely NULL. */
static void *given(const void *p)
{
    if (!fuzz_one_in(25)) return (void *)(uintptr_t)p;
    broken = true;
    return NULL;
}
/* An object: rarely NULL or all zero. */
static void *object(const void *p)
{
    static long long zero[4096];
    if (!fuzz_one_in(30)) return given(p);
    broken = true;
    return memset(zero, 0, sizeof zero);
}
static void *optional(const void *p) { return fuzz_one_in(4) ? NULL : (void *)(uintptr_t)p; }
static int32_t number(int32_t most)
{
    static const int32_t odd[] = { 0, -1, INT32_MIN, INT32_MAX, 1 << 20 };
    return fuzz_one_in(12) ? odd[fuzz_below(5)] : 1 + fuzz_below(most);
}

static tfn_batch batch_of(void)
{
    tfn_batch b;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < B * T; i++) {
        tokens[i] = fuzz_one_in(300) ? number(100) : fuzz_below(V);
        targets[i] = fuzz_one_in(300) ? number(100) : fuzz_below(V + 1) - 1;
    }
    for (int i = 0; i < B; i++) lengths[i] = fuzz_one_in(50) ? -1 : fuzz_below(3);
    b.batch = fuzz_one_in(20) ? number(B) : 1 + fuzz_below(B);
    b.time = fuzz_one_in(20) ? number(T) : 2 + fuzz_below(T - 1);
    b.tokens = fuzz_one_in(40) ? NULL : tokens;
    b.targets = fuzz_one_in(40) ? NULL : targets;
    b.lengths = fuzz_one_in(2) ? lengths : NULL;
    b.source = fuzz_one_in(20) ? NULL : tokens;
    b.source_time = fuzz_one_in(20) ? number(T) : 1 + fuzz_below(T);
    return b;
}

static void draw_desc(tfn_model_desc *d)
{
    memset(d, 0, sizeof *d);
    d->vocab = V;
    d->context = T;
    d->batch = B;
    d->width = 8;
    d->heads = 2;
    d->layers = 1;
    d->threads = 1;
    d->arch = fuzz_one_in(4) ? TFN_ARCH_ENCODER_DECODER : fuzz_one_in(6) ? TFN_ARCH_ENCODER
        : TFN_ARCH_DECODER;
    d->recipe = fuzz_one_in(2) ? NULL : tfn_recipe_at(fuzz_below(60))->name;
    d->inference = fuzz_one_in(6);
    d->half = fuzz_one_in(6);
    d->micro_batches = 1 + fuzz_one_in(4);
    if (fuzz_one_in(40)) d->width = -1;
}

/* -- checks of every call ---------------------------------------------------------------------- */

/* Hash of parameters, statistics, moments and counts, even if the model has an error. */
static uint64_t model_state(void)
{
    const size_t floats = (size_t)(all.m.param_floats + all.m.buffer_floats);
    uint64_t sum = (uint64_t)all.m.step * 7 + (uint64_t)all.m.micro;
    for (size_t i = 0; i < floats; i++) {
        uint32_t bits;
        memcpy(&bits, all.m.params + i, sizeof bits);
        sum = sum * UINT64_C(0x9e3779b97f4a7c15) + bits;
        if (!all.m.moments || i >= (size_t)all.m.param_floats) continue;
        memcpy(&bits, all.m.moments + i, sizeof bits);
        sum = sum * UINT64_C(0x9e3779b97f4a7c15) + bits;
    }
    return sum;
}

/* Checks a returned status; e: the object's error, or NULL if there was no object. */
static void returned(const char *name, tfn_status status, const tfn_error *e)
{
    char text[300];
    fuzz_executions++;
    fuzz_accepted += status == TFN_OK;
    if (broken && status == TFN_OK) FUZZ_FAIL("%s takes what it must not", name);
    if ((unsigned)status >= TFN_STATUS_COUNT) FUZZ_FAIL("%s returns %d", name, (int)status);
    if (!e || status == TFN_OK) return;
    tfn_error_text(e, text, sizeof text);
    if (e->status == status && (!text[0] || strstr(text, "no error")))
        FUZZ_FAIL("%s: status %d, but \"%s\"", name, (int)status, text);
}
static void answered(const char *name, bool well)
{
    returned(name, well ? TFN_OK : TFN_NULL, NULL);
}

/* -- calls on models --------------------------------------------------------------------------- */

static void make_model(void)
{
    tfn_model_desc d;
    draw_desc(&d);
    all.has_decoder = all.has_generator = false;
    broken = false;
    if (tfn_model_init(&all.m, &d, blocks[0], ROOM) == TFN_OK) fuzz_models++;
    returned("init", all.m.error.status, &all.m.error);
}

/* Hidden states, lens, attention or pooling, with numbers around the legal ones. The array has room
 * for the longest result. */
static tfn_status call_reading(tfn_model *m, const tfn_batch *x)
{
    static float result[4 * B * T * (8 + T)];
    const int which = fuzz_below(5);
    float *to = which < 3 ? (float *)given(result) : NULL;
    const tfn_stack stack = (tfn_stack)fuzz_below(4);
    const int32_t layers = fuzz_below(4) - 2;
    switch (which) {
    case 0: return tfn_model_hidden_all(m, x, stack, to);
    case 1: return tfn_model_pool(m, x, stack, layers, (tfn_pool)fuzz_below(4), fuzz_one_in(2), to);
    case 2: return tfn_model_attention(m, x, stack, layers + 1, (tfn_sublayer)fuzz_below(3),
                                       fuzz_below(4) - 1, to);
    case 3:
        if (tfn_model_lens(m, x, layers)) return TFN_OK;
        return m ? m->error.status : TFN_NULL;
    default:
        if (tfn_model_hidden(m, x, stack, layers)) return TFN_OK;
        return m ? m->error.status : TFN_NULL;
    }
}

static void call_model(void)
{
    tfn_batch b = batch_of();
    tfn_model *m = (tfn_model *)object(&all.m);
    const tfn_batch *x = (const tfn_batch *)given(&b);
    tfn_report *r = (tfn_report *)optional(&all.report);
    const uint64_t before = model_state();
    tfn_status status = TFN_OK;
    const int which = fuzz_below(10);
    switch (which) {
    case 0: case 1: case 2: status = tfn_model_step(m, x, r); break;
    case 3: status = tfn_model_eval(m, x, r); break;
    case 4: status = tfn_model_logits(m, x) ? TFN_OK : m ? m->error.status : TFN_NULL; break;
    case 5: status = tfn_model_profile(m, x); break;
    case 7: case 8: status = call_reading(m, x); break;
    case 6:
        broken = m != &all.m;                               /* NULL is legal: no batch */
        status = tfn_model_watch(m, NULL, optional(&b));
        break;
    default:
        broken = m != &all.m;
        answered("param", tfn_model_param(m, 0, &all.info));
        return;
    }
    if (which == 4 && status == TFN_OK && m && m->error.status) FUZZ_FAIL("logits with an error");
    returned("model", status, m ? &m->error : NULL);
    if (!m && status != TFN_NULL) FUZZ_FAIL("model NULL, status %d", (int)status);
    if (status != TFN_OK && status != TFN_NOT_FINITE && model_state() != before)
        FUZZ_FAIL("call %d failed with %d and changed the model", which, (int)status);
    if (all.m.error.status != TFN_OK && all.m.error.status != TFN_BAD_BATCH) make_model();
}

/* -- allocation -------------------------------------------------------------------------------- */

static int live_blocks, fails_in;
static void *allocate(size_t size, void *user)
{
    (void)user;
    if (fails_in-- == 0) return NULL;
    live_blocks++;
    return malloc(size);
}
static void release(void *mem, size_t size, void *user)
{
    (void)size, (void)user;
    live_blocks--;
    free(mem);
}

static void call_new(void)
{
    tfn_allocator a = { allocate, release, NULL };
    tfn_model_desc d;
    tfn_model m;
    tfn_model *to = (tfn_model *)given(&m);
    const tfn_model_desc *desc = (const tfn_model_desc *)given(&d);
    tfn_status status;
    draw_desc(&d);
    memset(&m, 0, sizeof m);
    fails_in = fuzz_below(6);
    if (fuzz_one_in(30)) {
        a.allocate = NULL;
        broken = true;
    }
    status = tfn_model_new(to, desc, &a);
    returned("new", status, to ? &m.error : NULL);
    tfn_model_free(to);
    if (live_blocks) FUZZ_FAIL("%d blocks are left", live_blocks);
    live_blocks = 0;
}

/* -- decoders and generators ------------------------------------------------------------------- */

static void call_decoder(void)
{
    tfn_batch b = batch_of();
    tfn_decoder *d = (tfn_decoder *)object(&all.d);
    const int32_t *past = fuzz_one_in(4) ? lengths : NULL;
    if (!all.has_decoder || fuzz_one_in(8)) {
        const tfn_model *m = (const tfn_model *)object(&all.m);
        tfn_status status;
        broken = broken && (!d || m != &all.m);             /* init makes a zeroed decoder anew */
        status = tfn_decoder_init(d, m, fuzz_one_in(9) ? number(B) : B,
                                  fuzz_one_in(9) ? number(T) : T, blocks[1], ROOM);
        returned("decoder init", status, d ? &d->error : NULL);
        all.has_decoder = d == &all.d && status == TFN_OK;
        return;
    }
    if (fuzz_one_in(2)) {
        const bool needed = all.m.desc.arch == TFN_ARCH_ENCODER_DECODER;
        const tfn_batch *x = needed ? (const tfn_batch *)given(&b) : NULL;
        returned("start", tfn_decoder_start(d, x), d ? &d->error : NULL);
    } else if (fuzz_one_in(4)) {
        static float weights[B * 2 * T * T];
        const int32_t *in = (const int32_t *)given(tokens);
        float *to = (float *)given(weights);
        returned("attention", tfn_decoder_attention(d, in, fuzz_one_in(6) ? number(T) : 1,
                                                    fuzz_below(3) - 1,
                                                    (tfn_sublayer)fuzz_below(3),
                                                    fuzz_below(4) - 1, to),
                 d ? &d->error : NULL);
    } else {
        const int32_t *in = (const int32_t *)given(tokens);
        const float *logits = tfn_decoder_next(d, in, fuzz_one_in(6) ? number(T) : 1, past);
        returned("next", logits ? TFN_OK : d ? d->error.status : TFN_NULL, d ? &d->error : NULL);
    }
    if (all.d.error.status != TFN_OK && all.d.error.status != TFN_BAD_BATCH)
        all.has_decoder = false;
}

static void call_generator(void)
{
    tfn_batch b = batch_of();
    tfn_generator *g = (tfn_generator *)object(&all.g);
    if (!all.has_generator || fuzz_one_in(8)) {
        const tfn_model *m = (const tfn_model *)object(&all.m);
        tfn_generate_desc o;
        tfn_status status;
        broken = broken && (!g || m != &all.m);
        memset(&o, 0, sizeof o);
        o.sentences = B;
        o.beam = fuzz_below(3);
        o.max_tokens = fuzz_one_in(9) ? number(9) : 4;
        o.temperature = o.beam ? 0 : (float)fuzz_below(2);
        o.end = fuzz_below(V + 1) - 1;
        status = tfn_generator_init(g, m, &o, blocks[2], ROOM);
        returned("generator init", status, g ? &g->error : NULL);
        all.has_generator = g == &all.g && status == TFN_OK;
        return;
    }
    returned("run", tfn_generator_run(g, (const tfn_batch *)given(&b), NULL), g ? &g->error : NULL);
    if (all.g.error.status != TFN_OK && all.g.error.status != TFN_BAD_BATCH)
        all.has_generator = false;
}

/* -- tokenizers -------------------------------------------------------------------------------- */

static void make_tokenizer(void)
{
    tfn_tokenizer_desc o;
    tfn_tokenizer_source source;
    memset(&o, 0, sizeof o);
    memset(&source, 0, sizeof source);
    o.kind = (tfn_tokenizer_kind)fuzz_below(4);
    o.words = 50;
    o.word_bytes = 1000;
    o.vocab = o.kind == TFN_TOKENIZER_WORDS ? 0 : 300;
    if (fuzz_one_in(20)) o.vocab = number(9);
    returned("trainer", tfn_trainer_init(&all.t, &o, blocks[3], ROOM), &all.t.error);
    tfn_trainer_add(&all.t, "a word, a word and another word", 31);
    tfn_trainer_run(&all.t);
    source.trainer = &all.t;
    returned("tokenizer", tfn_tokenizer_init(&all.k, &source, blocks[4], ROOM), &all.k.error);
    all.has_tokenizer = all.k.error.status == TFN_OK;
}

static void call_tokenizer(void)
{
    static char text[64];
    const tfn_tokenizer *k;
    size_t bytes, room = (size_t)fuzz_below(64);
    int32_t ids[8];
    const char *word;
    if (!all.has_tokenizer || fuzz_one_in(10)) {
        make_tokenizer();
        return;
    }
    k = (const tfn_tokenizer *)object(&all.k);
    for (int i = 0; i < 8; i++) ids[i] = fuzz_one_in(9) ? number(400) : fuzz_below(all.k.vocab);
    switch (fuzz_below(6)) {
    case 0:
        word = (const char *)given("a word");
        answered("encode", tfn_tokenizer_encode(k, optional(ids), 8, word, 6) > 0);
        break;
    case 1: tfn_tokenizer_decode(k, optional(text), room, given(ids), 8); break;
    case 2: tfn_tokenizer_token(k, number(400), optional(&bytes)); break;
    case 3: tfn_tokenizer_find(k, given("<pad>"), 5); break;
    case 4: answered("write", tfn_tokenizer_write(k, optional(text), room) > 0); break;
    default:
        returned("add", tfn_trainer_add((tfn_trainer *)given(&all.t), "b", 1), NULL);
        broken = false;
        all.has_tokenizer = false;
    }
}

/* -- files ------------------------------------------------------------------------------------- */

static void save_model(void)
{
    tfn_file f;
    tfn_checkpoint with;
    tfn_status status;
    memset(&f, 0, sizeof f);
    memset(&with, 0, sizeof with);
    f.to = saved;
    f.to_size = fuzz_one_in(20) ? (size_t)fuzz_below(5000) : ROOM;
    with.extra = "a \"text\"";
    with.weights_only = fuzz_one_in(4);
    if (all.has_tokenizer && fuzz_one_in(2)) with.tokenizer = &all.k;
    status = tfn_model_save(&f, (const tfn_model *)object(&all.m), optional(&with));
    returned("save", status, &f.error);
    saved_size = status == TFN_OK ? (size_t)f.used : 0;
}

static void load_model(void)
{
    tfn_file f;
    tfn_model *m = (tfn_model *)object(&all.m);
    tfn_file *from = (tfn_file *)given(&f);
    const uint64_t before = model_state();
    tfn_model_desc d;
    int64_t step;
    tfn_status status;
    memset(&f, 0, sizeof f);
    f.from = saved;
    f.from_size = fuzz_one_in(10) ? (size_t)fuzz_below((int)saved_size + 1) : saved_size;
    switch (fuzz_below(3)) {
    case 0: status = tfn_model_load(m, from); break;
    case 1: status = tfn_model_load_weights(m, from, fuzz_one_in(9) ? 0 : 1); break;
    default:
        broken = !from;
        status = tfn_model_peek(from, &d, optional(&step));
    }
    returned("load", status, from ? &f.error : NULL);
    if (status != TFN_OK && model_state() != before) FUZZ_FAIL("a failed load changed the model");
    if (all.m.error.status != TFN_OK && all.m.error.status != TFN_BAD_BATCH) make_model();
}

static void call_file(void)
{
    static float values[32];
    static char text[64];
    const size_t room = (size_t)fuzz_below(64);
    tfn_file *f = (tfn_file *)given(&all.f);
    const char *name = (const char *)given("training.state");
    tfn_tensor *t = (tfn_tensor *)given(&all.tensor);
    tfn_status status;
    broken = f == NULL;
    if (!all.has_file || fuzz_one_in(8)) {
        tfn_file_close(&all.f);
        memset(&all.f, 0, sizeof all.f);
        all.f.from = saved;
        all.f.from_size = saved_size;
        status = tfn_file_open(f);
        returned("open", status, f ? &f->error : NULL);
        all.has_file = f && status == TFN_OK;
        return;
    }
    switch (fuzz_below(5)) {
    case 0:
        if (fuzz_one_in(4)) tfn_file_close(&all.f);         /* later calls must report this */
        break;
    case 1: tfn_file_tensor(f, number(30), t); break;
    case 2: tfn_file_find(f, name, t); break;
    case 3: tfn_file_text(f, name, optional(text), room); break;
    default:
        if (!tfn_file_tensor(&all.f, fuzz_below(5), &all.tensor)) break;
        status = tfn_file_read(f, &all.tensor, (float *)given(values), 0, 1 + fuzz_below(8));
        returned("read", status, f ? &f->error : NULL);
    }
    if (all.f.error.status != TFN_OK) all.has_file = false;
}

/* -- tapes ------------------------------------------------------------------------------------- */

static void record(tfn_tape *t)
{
    tfn_var x[12];
    const tfn_var none = { 0 };
    x[0] = tfn_param(t, 4, 4);
    x[1] = tfn_param(t, 1, 4);
    x[2] = tfn_embedding(t, x[0], TFN_INT_TOKENS, TFN_ROWS_TARGET, 1);
    for (int i = 3; i < 12; i++) {
        const tfn_var a = fuzz_one_in(60) ? (tfn_var){ number(30) } : x[2 + fuzz_below(i - 2)];
        switch (fuzz_below(7)) {
        case 0: x[i] = tfn_linear(t, a, x[0], fuzz_one_in(2) ? x[1] : none, TFN_ACTIVATION_GELU);
            break;
        case 1: x[i] = tfn_add(t, a, x[2], 1, 2); break;
        case 2: x[i] = tfn_rmsnorm(t, a, fuzz_one_in(2) ? x[1] : none, (float)1e-5); break;
        case 3: x[i] = tfn_softmax(t, a); break;
        case 4: x[i] = tfn_attention(t, a, a, a, 1 + fuzz_below(3), 1, true, -1, 0); break;
        case 5: x[i] = tfn_scale(t, a, x[1]); break;
        default: x[i] = tfn_dropout(t, a, (float)0.25);
        }
    }
    tfn_cross_entropy(t, x[11], TFN_INT_TARGETS, 0, 0);
}

static void call_tape(void)
{
    static float region[20000];
    tfn_tape *t = (tfn_tape *)object(&all.tape);
    tfn_run *r = (tfn_run *)object(&all.run);
    tfn_status status;
    if (!all.has_tape || fuzz_one_in(6)) {
        tfn_tape_init(&all.tape, blocks[5], fuzz_one_in(20) ? 500 : ROOM, B, 0, T, true);
        record(&all.tape);
        broken = broken && t != &all.tape;
        status = tfn_tape_plan(t, tfn_kernels_for(TFN_ISA_BEST), 1);
        returned("plan", status, t ? &t->error : NULL);
        all.has_tape = t == &all.tape && status == TFN_OK && t->work < 15000;
        memset(&all.run, 0, sizeof all.run);
        all.run.params = region;
        all.run.grads = region + 100;
        all.run.work = region + 200;
        return;
    }
    for (int i = 0; i < B * T; i++) {
        tokens[i] = fuzz_below(4);
        targets[i] = fuzz_below(5) - 1;
    }
    all.run.batch = fuzz_one_in(20) ? number(B) : 1 + fuzz_below(B);
    all.run.target = fuzz_one_in(20) ? number(T) : 1 + fuzz_below(T);
    all.run.ints[TFN_INT_TOKENS] = optional(tokens);
    all.run.ints[TFN_INT_TARGETS] = targets;
    for (int i = 0; i < 100; i++) region[i] = (float)fuzz_below(200) / 100 - 1;
    status = tfn_tape_forward(t, r);
    returned("forward", status, NULL);
    if (status == TFN_OK) returned("backward", tfn_tape_backward(t, r), NULL);
}

static void fuzz_case(void)
{
    void (*const calls[])(void) = { call_model, call_model, call_model, call_new, call_decoder,
                                    call_decoder, call_generator, call_tokenizer, save_model,
                                    load_model, call_file, call_tape };
    memset(&all, 0, sizeof all);
    saved_size = 0;
    do make_model(); while (all.m.error.status != TFN_OK);
    for (int i = 0; i < CALLS && fuzz_failures < 10; i++) {
        broken = false;
        calls[fuzz_below((int)(sizeof calls / sizeof *calls))]();
    }
    tfn_file_close(&all.f);
}

int main(int argc, char **argv) { return fuzz_main("calls", argc, argv); }
