/* Caches of 16 bits (desc.cache_type). The kernel has the bits of one that reads the same numbers
 * as floats. Decoders have equal bits with any instruction set, threads, chunks and batch. Their
 * memory is exact and half as large, and their logits are close to the logits with floats. Also
 * beams, windows, two stacks, half precision, attention. */
#include <math.h>
#include "../lib.h"
#include "../check.h"

enum { CACHE_V = 29, CACHE_T = 24, CACHE_TS = 7, CACHE_B = 3, CACHE_MOST = 4096 };

static const char *const cache_names[] = { "float32", "bf16", "f16" };

/* -- the kernel ------------------------------------------------------------------------------- */

/* Draws halves, and converts them to floats with the reader of packed weights. */
static void cache_draw(uint16_t *half, float *wide, ptrdiff_t n, tfn_cache_type type, uint64_t seed)
{
    static float x[CACHE_MOST];
    static uint64_t packed[CACHE_MOST / 4 + 16];
    const tfn_weights as = type == TFN_CACHE_TYPE_BF16 ? TFN_WEIGHTS_BF16 : TFN_WEIGHTS_F16;
    for (ptrdiff_t i = 0; i < n; i++) x[i] = tfn_random_normal(tfn_key_make(seed), (uint64_t)i);
    x[0] = 1e-7f;                                   /* a denormal half */
    tfn_quant_pack(packed, as, x, 1, n, n, 1);
    tfn_quant_unpack(wide, packed, as, 1, n, 0, n);
    memcpy(half, packed, (size_t)n * sizeof *half);
}

/* Heads that share keys, more keys than a block, sentences of different lengths, cache rows by
 * beam, and a ring whose window wraps. */
TEST(cache_kernel)
{
    static uint16_t half[2][CACHE_MOST];
    static float wide[2][CACHE_MOST];
    static float work[CACHE_MOST];
    static const int32_t beam[] = { 1, 0 }, lengths[] = { 70, 3 };
    enum { B = 2, H = 4, G = 2, D = 5, CAPACITY = 80 };
    for (int type = 1; type < TFN_CACHE_TYPE_COUNT; type++)
        for (int form = 0; form < 3; form++)
            for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
                const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
                tfn_attention_cached_args p;
                float q[B * H * D], y[2][B * H * D];
                if (!k) continue;
                CASE("%s, form %d, %s", cache_names[type], form, k->name);
                for (int part = 0; part < 2; part++)
                    cache_draw(half[part], wide[part], B * G * D * CAPACITY,
                               (tfn_cache_type)type, (uint64_t)part);
                for (int i = 0; i < B * H * D; i++)
                    q[i] = tfn_random_normal(tfn_key_make(9), (uint64_t)i);
                memset(&p, 0, sizeof p);
                p.q = q;
                p.batch = B;
                p.count = form == 2 ? 110 : 77;
                p.capacity = CAPACITY;
                p.window = form == 2 ? 75 : 0;
                p.lengths = form == 1 ? lengths : NULL;
                p.beam = form == 1 ? beam : NULL;
                p.heads = H;
                p.kv_heads = G;
                p.head_size = D;
                p.q_ld = H * D;
                p.y_ld = H * D;
                p.scale = 0.5f;
                p.k_cache = wide[0];
                p.v_cache = wide[1];
                p.y = y[0];
                k->attention_cached(&p, 0, B * G, work);
                p.k_cache = NULL;
                p.v_cache = NULL;
                p.type = (tfn_cache_type)type;
                p.k_half = half[0];
                p.v_half = half[1];
                p.y = y[1];
                k->attention_cached(&p, 0, B * G, work);
                CHECK_BITS(y[0], y[1], sizeof y[0]);
            }
}

/* Several queries of a sentence in one call have the same bits as in one call each. Keys after the
 * last query's are NaN. */
enum { TOGETHER_B = 2, TOGETHER_H = 4, TOGETHER_G = 2, TOGETHER_D = 5, TOGETHER_C = 96,
       TOGETHER_Q = 37,
       TOGETHER_ROW = TOGETHER_H * TOGETHER_D + 3,
       TOGETHER_CACHE = TOGETHER_B * TOGETHER_G * TOGETHER_D * TOGETHER_C };
typedef struct together_form {
    const char *name;
    int32_t count, window;
    bool causal, lengths, beam, bias;
    float cap;
} together_form;
static const together_form together_forms[] = {
    { "causal", 40, 0, true, false, false, false, 0 },
    { "the first queries", 1, 0, true, false, true, true, 0 },
    { "no key", 0, 0, true, false, false, false, 5 },
    { "a memory", 70, 0, false, false, false, false, 0 },
    { "lengths", 70, 0, false, true, true, false, 0 },
    { "capped, with bias", 59, 0, true, false, false, true, 5 },
    { "a ring", 130, 50, true, false, false, true, 0 },
};

/* Clears the keys and values that no query sees: those at places from `from` on. */
static void together_clear(float *keys, float *values, int from)
{
    for (int unit = 0; unit < TOGETHER_B * TOGETHER_G; unit++)
        for (int j = from; j < TOGETHER_C; j++)
            for (int c = 0; c < TOGETHER_D; c++) {
                keys[(unit*TOGETHER_D + c)*TOGETHER_C + j] = (float)NAN;
                values[(unit*TOGETHER_C + j)*TOGETHER_D + c] = (float)NAN;
            }
}

static void together_run(const tfn_kernels *k, const together_form *f, int queries, int type)
{
    static uint16_t half[2][TOGETHER_CACHE];
    static float wide[2][TOGETHER_CACHE], bias[TOGETHER_B * TOGETHER_H * 2 * 200];
    static float q[TOGETHER_B * TOGETHER_Q * TOGETHER_ROW];
    static float y[2][TOGETHER_B * TOGETHER_Q * TOGETHER_ROW];
    static const int32_t beam[] = { 1, 0 }, lengths[] = { 70, 0 };
    const ptrdiff_t work = k->attention_work(-queries, TOGETHER_C, TOGETHER_D);
    float *scratch = (float *)malloc((size_t)(work + 64 * TOGETHER_D) * sizeof(float));
    tfn_attention_cached_args p;
    for (int part = 0; part < 2; part++)
        cache_draw(half[part], wide[part], TOGETHER_CACHE, (tfn_cache_type)(type ? type : 1),
                   (uint64_t)part);
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        q[i] = tfn_random_normal(tfn_key_make(9), i);
    for (size_t i = 0; i < sizeof bias / sizeof *bias; i++)
        bias[i] = tfn_random_normal(tfn_key_make(8), i);
    memset(y, 0, sizeof y);
    memset(&p, 0, sizeof p);
    if (!f->window && !type)
        together_clear(wide[0], wide[1], (f->causal ? f->count + queries - 1 : f->count));
    p.batch = TOGETHER_B, p.heads = TOGETHER_H, p.kv_heads = TOGETHER_G, p.head_size = TOGETHER_D;
    p.capacity = TOGETHER_C, p.count = f->count, p.window = f->window, p.causal = f->causal;
    p.lengths = f->lengths ? lengths : NULL;
    p.beam = f->beam ? beam : NULL;
    p.scale = 0.5f, p.cap = f->cap;
    if (f->bias) {
        p.bias.at = bias;
        p.bias.sentence = TOGETHER_H * 400, p.bias.head = 400, p.bias.zero = 200;
    }
    p.k_cache = wide[0], p.v_cache = wide[1];
    p.type = (tfn_cache_type)type, p.k_half = half[0], p.v_half = half[1];
    p.q_ld = p.y_ld = queries * TOGETHER_ROW;
    for (int i = 0; i < queries; i++) {
        p.q = q + i*TOGETHER_ROW, p.y = y[0] + i*TOGETHER_ROW;
        p.count = f->count + (f->causal ? i : 0);
        k->attention_cached(&p, 0, TOGETHER_B * TOGETHER_G, scratch);
    }
    p.q = q, p.y = y[1], p.count = f->count;
    p.queries = queries, p.q_row = p.y_row = TOGETHER_ROW;
    k->attention_cached(&p, 0, TOGETHER_B * TOGETHER_G, scratch);
    CHECK_BITS(y[0], y[1], sizeof y[0]);
    CHECK(y[1][0] == y[1][0]);
    free(scratch);
}

TEST(cache_queries_together)
{
    static const int queries[] = { 1, 2, 3, 16, 17, TOGETHER_Q };
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (!k) continue;
        for (int f = 0; f < (int)(sizeof together_forms / sizeof *together_forms); f++)
            for (int n = 0; n < (int)(sizeof queries / sizeof *queries); n++)
                for (int type = 0; type < TFN_CACHE_TYPE_COUNT; type++) {
                    CASE("%s, %d queries, type %d, %s", together_forms[f].name, queries[n], type,
                         k->name);
                    together_run(k, together_forms + f, queries[n], type);
                }
    }
}

/* -- decoders ---------------------------------------------------------------------------------- */

static const char *const cache_forms[] = {
    "plain", "a window", "shared heads", "two stacks", "alibi", "rotary"
};
enum { CACHE_FORMS = 6, CACHE_PAIR = 3 };

static tfn_model_desc cache_desc(int form, tfn_cache_type type)
{
    tfn_model_desc d = { 0 };
    d.vocab = CACHE_V;
    d.context = CACHE_T;
    d.width = 32;
    d.heads = 4;
    d.batch = CACHE_B;
    d.threads = 1;
    d.inference = true;
    d.cache_type = type;
    if (form == 1) {
        d.window = 5;
        d.window_period = 2;
    }
    if (form == 2) d.kv_heads = 2;
    if (form == CACHE_PAIR) {
        d.arch = TFN_ARCH_ENCODER_DECODER;
        d.source_context = CACHE_TS;
    }
    if (form == 4) d.position = TFN_POSITION_ALIBI;
    if (form == 5) d.position = TFN_POSITION_ROTARY;
    return d;
}

typedef struct cache_run { tfn_model m; tfn_decoder d; void *mem; size_t size; } cache_run;

static bool cache_open(cache_run *x, const tfn_model_desc *d, int32_t batch, int32_t chunk)
{
    size_t scratch = tfn_model_scratch(d);
    void *mem = malloc(scratch);
    char text[200];
    tfn_param_info p;
    if (tfn_model_new(&x->m, d, NULL) != TFN_OK) {
        FAIL("%s", tfn_error_text(&x->m.error, text, sizeof text));
        free(mem);
        return false;
    }
    for (int32_t i = 0; tfn_model_param(&x->m, i, &p); i++)     /* larger than initial values */
        for (int32_t j = 0; j < p.rows * p.cols; j++)
            p.data[j] += 0.2f * tfn_random_normal(tfn_key_make((uint64_t)i), (uint64_t)j);
    x->size = tfn_decoder_size(&x->m, batch, chunk, mem, scratch);
    free(mem);
    x->mem = malloc(x->size);
    if (tfn_decoder_init(&x->d, &x->m, batch, chunk, x->mem, x->size) == TFN_OK) return true;
    FAIL("%s", tfn_error_text(&x->d.error, text, sizeof text));
    return false;
}
static void cache_close(cache_run *x)
{
    free(x->mem);
    tfn_model_free(&x->m);
}

static int32_t cache_token(int32_t sentence, int32_t t)
{
    return (int32_t)(tfn_random_bits(tfn_key_make(3), (uint64_t)(100*sentence + t)) % CACHE_V);
}

static void cache_start(cache_run *x, int32_t first, int32_t batch)
{
    int32_t source[CACHE_B * CACHE_TS], lengths[CACHE_B];
    tfn_batch b = { 0 };
    for (int32_t i = 0; i < batch * CACHE_TS; i++)
        source[i] = cache_token(50 + first + i / CACHE_TS, i % CACHE_TS);
    for (int32_t i = 0; i < batch; i++) lengths[i] = CACHE_TS - 2 * (first + i);
    b.source = source;
    b.source_time = CACHE_TS;
    b.source_lengths = lengths;
    b.batch = batch;
    CHECK(tfn_decoder_start(&x->d, &b) == TFN_OK);
}

/* The logits of the last token, for sentences from `first` on, fed `chunk` tokens at a time. */
static void cache_feed(cache_run *x, float *logits, int32_t first, int32_t batch, int32_t chunk)
{
    const float *last = NULL;
    cache_start(x, first, batch);
    x->d.run.batch = batch;
    for (int32_t t = 0; t < CACHE_T; t += chunk) {
        int32_t tokens[CACHE_B * CACHE_T];
        for (int32_t b = 0; b < batch; b++)
            for (int32_t i = 0; i < chunk; i++)
                tokens[b*chunk + i] = cache_token(first + b, t + i);
        last = tfn_decoder_next(&x->d, tokens, chunk, NULL);
        CHECK(last != NULL);
    }
    if (last) memcpy(logits, last, (size_t)(batch * CACHE_V) * sizeof *logits);
}

/* Chunks of 1, 4 and 24 tokens, one thread and three, each sentence by itself: the same bits. */
TEST(cache_same_bits)
{
    for (int type = 1; type < TFN_CACHE_TYPE_COUNT; type++)
        for (int form = 0; form < CACHE_FORMS; form++) {
            static float wanted[2][CACHE_B * CACHE_V];
            bool seen[2] = { false, false };
            for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
                static const int32_t chunks[] = { 1, 4, CACHE_T };
                const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
                tfn_model_desc d = cache_desc(form, (tfn_cache_type)type);
                if (!k) continue;
                d.isa = (tfn_isa)isa;
                for (int c = 0; c < 3; c++) {
                    float logits[CACHE_B * CACHE_V];
                    cache_run x;
                    d.threads = HOOK_THREADS(c == 1 ? 3 : 1);
                    CASE("%s, %s, %s, chunk %d", cache_names[type], cache_forms[form], k->name,
                         (int)chunks[c]);
                    if (!cache_open(&x, &d, CACHE_B, chunks[c])) return;
                    cache_feed(&x, logits, 0, CACHE_B, chunks[c]);
                    if (!seen[k->fma]) memcpy(wanted[k->fma], logits, sizeof logits);
                    seen[k->fma] = true;
                    CHECK_BITS(logits, wanted[k->fma], sizeof logits);
                    for (int32_t s = 0; s < CACHE_B && c == 1; s++) {
                        cache_feed(&x, logits, s, 1, chunks[c]);
                        CHECK_BITS(logits, wanted[k->fma] + s*CACHE_V, CACHE_V * sizeof *logits);
                    }
                    cache_close(&x);
                }
            }
        }
}

/* With a prompt this long, each pair of a sentence and a head is a chunk that threads share out. Any
 * number of threads gives the same bits. */
TEST(cache_pairs_of_threads)
{
    enum { TIME = 128 };
    float wanted[CACHE_B * CACHE_V];
    for (int threads = 1; threads <= 3; threads++) {
        static int32_t tokens[CACHE_B * TIME];
        tfn_model_desc d = cache_desc(2, TFN_CACHE_TYPE_FLOAT);
        const float *last;
        cache_run x;
        CASE("%d threads", threads);
        d.context = TIME;
        d.threads = HOOK_THREADS(threads);
        if (!cache_open(&x, &d, CACHE_B, TIME)) return;
        cache_start(&x, 0, CACHE_B);
        for (int32_t i = 0; i < CACHE_B * TIME; i++) tokens[i] = cache_token(i / TIME, i % TIME);
        last = tfn_decoder_next(&x.d, tokens, TIME, NULL);
        CHECK(last != NULL);
        if (last && threads == 1) memcpy(wanted, last, sizeof wanted);
        if (last) CHECK_BITS(last, wanted, sizeof wanted);
        cache_close(&x);
    }
}

/* The largest difference of two runs' logits, relative to the largest logit. */
static double cache_gap(const float *a, const float *b)
{
    double gap = 0;
    double most = 0;
    for (int i = 0; i < CACHE_B * CACHE_V; i++) {
        gap = check_worse(gap, fabs((double)a[i] - (double)b[i]));
        most = fmax(most, fabs((double)b[i]));
    }
    return gap / most;
}

/* Compared with floats: logits differ, but little; the state is half as large. */
TEST(cache_beside_floats)
{
    for (int form = 0; form < CACHE_FORMS; form++) {
        float wanted[CACHE_B * CACHE_V];
        tfn_model_desc d = cache_desc(form, TFN_CACHE_TYPE_FLOAT);
        cache_run plain;
        if (!cache_open(&plain, &d, CACHE_B, 1)) return;
        cache_feed(&plain, wanted, 0, CACHE_B, 1);
        for (int type = 1; type < TFN_CACHE_TYPE_COUNT; type++) {
            const double bound = type == TFN_CACHE_TYPE_BF16 ? 0.02 : 0.0025;
            float logits[CACHE_B * CACHE_V];
            tfn_decoder less;
            cache_run x;
            double gap;
            CASE("%s, %s", cache_names[type], cache_forms[form]);
            d.cache_type = (tfn_cache_type)type;
            if (!cache_open(&x, &d, CACHE_B, 1)) return;
            cache_feed(&x, logits, 0, CACHE_B, 1);
            gap = cache_gap(logits, wanted);
            if (type == 2)
                printf("  %-12s bytes of state %ld, floats %ld; f16 is off by %.5f\n",
                       cache_forms[form], (long)(4 * x.d.decode.state),
                       (long)(4 * plain.d.decode.state), gap);
            CHECK(gap > 0 && gap < bound);
            CHECK(x.d.decode.state <= plain.d.decode.state / 2 + 64 * 4);
            CHECK(x.d.decode.state >= plain.d.decode.state / 2);
            CHECK(x.size < plain.size);
            CHECK(tfn_decoder_init(&less, &x.m, CACHE_B, 1, x.mem, x.size - 1) == TFN_NO_MEMORY);
            cache_close(&x);
        }
        cache_close(&plain);
    }
}

/* A model of simulated half precision caches halves already, so nothing is lost. */
TEST(cache_of_halves)
{
    tfn_model_desc d = cache_desc(0, TFN_CACHE_TYPE_FLOAT);
    float wanted[CACHE_B * CACHE_V], logits[CACHE_B * CACHE_V];
    cache_run x;
    d.half = true;
    if (!cache_open(&x, &d, CACHE_B, 1)) return;
    cache_feed(&x, wanted, 0, CACHE_B, 1);
    cache_close(&x);
    d.cache_type = TFN_CACHE_TYPE_F16;
    if (!cache_open(&x, &d, CACHE_B, 1)) return;
    cache_feed(&x, logits, 0, CACHE_B, 1);
    cache_close(&x);
    CHECK_BITS(logits, wanted, sizeof logits);
}

/* Sentences change places and one is forked: their pasts move with them. Heads of 5 channels and an
 * odd context make rows of the cache an odd number of halves. */
TEST(cache_beams)
{
    for (int type = 1; type < TFN_CACHE_TYPE_COUNT; type++)
        for (int form = 0; form < 2; form++) {
            static const int32_t beam[CACHE_B] = { 2, 0, 2 };
            tfn_model_desc d = cache_desc(form, (tfn_cache_type)type);
            cache_run x, alone;
            CASE("%s, %s", cache_names[type], cache_forms[form]);
            d.width = 15;
            d.heads = 3;
            d.context = 9;
            if (!cache_open(&x, &d, CACHE_B, 1) || !cache_open(&alone, &d, 1, 1)) return;
            for (int32_t b = 0; b < CACHE_B; b++) {
                const float *logits = NULL;
                const float *own = NULL;
                cache_start(&x, 0, CACHE_B);
                cache_start(&alone, beam[b], 1);
                for (int32_t t = 0; t < 8; t++) {
                    const int32_t token = t < 4 ? cache_token(beam[b], t) : cache_token(10 + b, t);
                    int32_t tokens[CACHE_B];
                    for (int32_t i = 0; i < CACHE_B; i++)
                        tokens[i] = cache_token(t < 4 ? i : 10 + i, t);
                    logits = tfn_decoder_next(&x.d, tokens, 1, t == 4 ? beam : NULL);
                    own = tfn_decoder_next(&alone.d, &token, 1, NULL);
                    if (!logits || !own) FAIL("token %d", (int)t);
                }
                if (logits && own) CHECK_BITS(logits + b*CACHE_V, own, CACHE_V * sizeof *own);
            }
            cache_close(&x);
            cache_close(&alone);
        }
}

/* Beam search on three sentences together, whose caches are copied to the beams, and on each. */
TEST(cache_generated)
{
    for (int type = 1; type < TFN_CACHE_TYPE_COUNT; type++) {
        tfn_model_desc d = cache_desc(CACHE_PAIR, (tfn_cache_type)type);
        tfn_generate_desc o = { 0 };
        int32_t source[CACHE_B * CACHE_TS], tokens[CACHE_B * 2 * CACHE_T];
        tfn_batch b = { 0 };
        tfn_generator g;
        cache_run x;
        size_t size = tfn_model_scratch(&d);
        void *mem = malloc(size);
        if (!cache_open(&x, &d, 1, 1)) return;
        o.sentences = CACHE_B;
        o.beam = 2;
        o.end = 2;
        o.max_tokens = 12;
        size = tfn_generator_size(&x.m, &o, mem, size);
        free(mem);
        mem = malloc(size);
        CHECK(tfn_generator_init(&g, &x.m, &o, mem, size) == TFN_OK);
        for (int32_t i = 0; i < CACHE_B * CACHE_TS; i++) source[i] = cache_token(70, i);
        b.source = source;
        b.source_time = CACHE_TS;
        for (int32_t s = -1; s < CACHE_B; s++) {
            CASE("%s, sentence %d", cache_names[type], (int)s);
            b.batch = s < 0 ? CACHE_B : 1;
            b.source = source + (s < 0 ? 0 : s * CACHE_TS);
            CHECK(tfn_generator_run(&g, &b, NULL) == TFN_OK);
            CHECK(g.most > 0 && g.most <= CACHE_T && g.lengths[0] > 0);
            if (s < 0) memcpy(tokens, g.tokens, (size_t)(CACHE_B * 2 * g.most) * sizeof *tokens);
            else CHECK_BITS(tokens + s*2*g.most, g.tokens, (size_t)g.lengths[0] * sizeof *tokens);
        }
        free(mem);
        cache_close(&x);
    }
}

/* Keys and values beyond a half's range saturate and give no NaN. */
TEST(cache_large_keys)
{
    const tfn_model_desc d = cache_desc(0, TFN_CACHE_TYPE_F16);
    float logits[CACHE_B * CACHE_V];
    tfn_param_info p;
    cache_run x;
    if (!cache_open(&x, &d, CACHE_B, 1)) return;
    for (int32_t i = 0; tfn_model_param(&x.m, i, &p); i++)
        if (strstr(p.name, "self.k.bias") || strstr(p.name, "self.v.bias"))
            for (int32_t j = 0; j < p.cols; j++) p.data[j] = j % 2 ? 1e6f : -1e6f;
    cache_feed(&x, logits, 0, CACHE_B, 1);
    for (int i = 0; i < CACHE_B * CACHE_V; i++) CHECK(logits[i] - logits[i] == 0);
    cache_close(&x);
}

/* tfn_decoder_attention computes weights from the same keys: close to the weights with floats. */
TEST(cache_attention)
{
    for (int form = 0; form < CACHE_FORMS; form++) {
        static float weights[TFN_CACHE_TYPE_COUNT][CACHE_B * 4 * CACHE_T];
        for (int type = 0; type < TFN_CACHE_TYPE_COUNT; type++) {
            tfn_model_desc d = cache_desc(form, (tfn_cache_type)type);
            int32_t tokens[CACHE_B];
            cache_run x;
            CASE("%s, %s", cache_names[type], cache_forms[form]);
            if (!cache_open(&x, &d, CACHE_B, 1)) return;
            cache_start(&x, 0, CACHE_B);
            for (int32_t t = 0; t < 12; t++) {
                for (int32_t b = 0; b < CACHE_B; b++) tokens[b] = cache_token(b, t);
                CHECK(tfn_decoder_next(&x.d, tokens, 1, NULL) != NULL);
            }
            CHECK(tfn_decoder_attention(&x.d, tokens, 1, 1, TFN_SUBLAYER_SELF_ATTENTION, -1,
                                        weights[type]) == TFN_OK);
            for (int i = 0; i < CACHE_B * 4 * 13 && type; i++) {
                const double gap = fabs((double)weights[type][i] - (double)weights[0][i]);
                if (!(gap < (type == TFN_CACHE_TYPE_BF16 ? 0.03 : 0.004))) FAIL("%d: %g", i, gap);
            }
            CHECK(!type || memcmp(weights[type], weights[0], sizeof weights[0]) != 0);
            cache_close(&x);
        }
    }
}

TEST(cache_refused)
{
    tfn_model_desc d = cache_desc(0, (tfn_cache_type)TFN_CACHE_TYPE_COUNT);
    tfn_model_desc out;
    tfn_error e;
    CHECK(!tfn_model_resolve(&out, &d, &e) && e.status == TFN_BAD_OPTION);
    CHECK_INT(tfn_choice_find("cache_type", "f16")->value, TFN_CACHE_TYPE_F16);
    d.cache_type = TFN_CACHE_TYPE_F16;
    CHECK(tfn_model_resolve(&out, &d, &e));
}

int main(void)
{
    RUN(cache_kernel);
    RUN(cache_queries_together);
    RUN(cache_same_bits);
    RUN(cache_pairs_of_threads);
    RUN(cache_beside_floats);
    RUN(cache_of_halves);
    RUN(cache_beams);
    RUN(cache_generated);
    RUN(cache_large_keys);
    RUN(cache_attention);
    RUN(cache_refused);
    return DONE();
}
