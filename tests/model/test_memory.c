/* Exact memory: for every configuration of a table, tfn_model_size bytes are enough at any address
 * and are used to the last, and every smaller block is refused. The blocks are between guard pages
 * where the system supports these. All calls of malloc in the header come here and can fail. */
#if defined __linux__ || defined __APPLE__
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#define MEMORY_PAGES
#include <sys/mman.h>
#endif
#include "../hook.h"
#include <stdlib.h>
#include "../check.h"

static int memory_calls, memory_fails_at, memory_live;      /* fails_at: 0: no call */
static void *memory_malloc(size_t size)
{
    void *p = ++memory_calls == memory_fails_at ? NULL : malloc(size);
    memory_live += p != NULL;
    return p;
}
static void memory_free(void *p)
{
    memory_live -= p != NULL;
    free(p);
}
#define malloc memory_malloc
#define free memory_free
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#undef malloc
#undef free

enum { MEMORY_PLAIN = 216, MEMORY_TOKENS = 512 };

/* -- the table: every combination of six choices, others in turn --------------------------- */

static int memory_digit(int *i, int base)
{
    int digit = *i % base;
    *i /= base;
    return digit;
}

/* Then every recipe once, with common options. */
static int memory_count(void)
{
    int n = 0;
    while (tfn_recipe_at(n)) n++;
    return MEMORY_PLAIN + n;
}
static tfn_model_desc memory_plain(int i)
{
    static const tfn_optimizer optimizers[] = { TFN_OPTIMIZER_ADAMW, TFN_OPTIMIZER_SGD,
                                                TFN_OPTIMIZER_RADAM, TFN_OPTIMIZER_LION,
                                                TFN_OPTIMIZER_MUON, TFN_OPTIMIZER_ADAFACTOR,
                                                TFN_OPTIMIZER_SCHEDULE_FREE };
    static const char *const norms[] = { "layernorm", "rmsnorm" };
    static const tfn_position_kind positions[] = { TFN_POSITION_LEARNED, TFN_POSITION_ROTARY,
        TFN_POSITION_SINUSOIDAL,
                                                   TFN_POSITION_NONE };
    static const int32_t sizes[3][4] = { { 1, 1, 8, 5 }, { 2, 7, 12, 40 }, { 3, 33, 24, 61 } };
    const int turn = i;
    const int32_t *size;
    tfn_model_desc d;
    int kind;
    memset(&d, 0, sizeof d);
    d.arch = (tfn_arch)memory_digit(&i, 3);
    d.recipe = memory_digit(&i, 2) ? "post" : "pre";
    d.activation = memory_digit(&i, 2) ? TFN_ACTIVATION_SWIGLU : TFN_ACTIVATION_RELU;
    kind = memory_digit(&i, 3);
    d.inference = kind == 1;
    d.recompute = kind == 2;
    size = sizes[memory_digit(&i, 3)];
    d.threads = HOOK_THREADS(1 + 2 * memory_digit(&i, 2));
    d.batch = size[0];
    d.context = size[1];
    d.source_context = d.arch == TFN_ARCH_ENCODER_DECODER ? size[1] + turn % 3 : 0;
    d.width = size[2];
    d.vocab = size[3];
    d.layers = 1 + turn % 2;
    d.decoder_layers = 1 + turn / 2 % 2;
    d.heads = 2;
    d.kv_heads = 1 + turn / 3 % 2;
    d.ffn = turn % 4 ? 0 : 31;
    d.norm = norms[turn / 5 % 2];
    d.position = positions[turn % 4];
    d.untied = turn % 3 == 1;
    d.no_bias = turn % 7 == 3;
    d.separate_source = turn % 5 == 2;
    d.segments = d.arch == TFN_ARCH_ENCODER && turn % 2 ? 2 : 0;
    d.head = d.arch == TFN_ARCH_ENCODER && turn % 4 == 1 ? TFN_HEAD_SEQUENCE : TFN_HEAD_TOKENS;
    d.classes = d.head == TFN_HEAD_SEQUENCE ? 3 : 0;
    d.optimizer = optimizers[turn % 7];
    d.beta1 = turn % 2 ? (float)0.5 : 0;
    d.dropout = turn % 3 ? (float)0.1 : 0;
    d.seed = (uint64_t)turn;
    return d;
}
static tfn_model_desc memory_desc(int i)
{
    tfn_model_desc d = memory_plain((i * 7) % MEMORY_PLAIN);
    if (i < MEMORY_PLAIN) return memory_plain(i);
    d.recipe = tfn_recipe_at(i - MEMORY_PLAIN)->name;
    d.norm = NULL;
    d.kv_heads = d.heads;
    d.layers = 1 + i % 4;
    d.decoder_layers = 1 + i / 4 % 3;
    d.probes = i % 2 == 0;
    d.half = i % 3 == 0 && strcmp(d.recipe, "hanin-rolnick");    /* which diverges, */
    if (!strcmp(d.recipe, "hanin-rolnick")) d.schedule.lr = (float)1e-5;    /* at high rates, too */
    if (d.half) d.threads = 1;
    return d;
}

/* -- blocks between guards ----------------------------------------------------------------- */

typedef struct memory_block { unsigned char *all, *first, *end; size_t bytes; } memory_block;

static memory_block memory_map(size_t room)
{
    const size_t page = 65536;                      /* at least the system's */
    memory_block b;
    b.bytes = (room + page - 1) / page * page + 2 * page;
#ifdef MEMORY_PAGES
    b.all = (unsigned char *)mmap(NULL, b.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON,
                                  -1, 0);
    if (b.all == (unsigned char *)MAP_FAILED) exit(2);
    if (mprotect(b.all, page, PROT_NONE)
        || mprotect(b.all + b.bytes - page, page, PROT_NONE)) exit(2);
#else
    b.all = (unsigned char *)malloc(b.bytes);
    if (!b.all) exit(2);
#endif
    b.first = b.all + page;
    b.end = b.all + b.bytes - page;
    return b;
}
static void memory_unmap(memory_block b)
{
#ifdef MEMORY_PAGES
    munmap(b.all, b.bytes);
#else
    free(b.all);
#endif
}

enum { MEMORY_FILL = 0xa5 };

static bool memory_untouched(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == MEMORY_FILL) from++;
    return from == to;
}

/* -- a batch that fits a configuration ----------------------------------------------------- */

typedef struct memory_data {
    int32_t tokens[MEMORY_TOKENS], targets[MEMORY_TOKENS];
    tfn_batch batch;
} memory_data;

static void memory_fill(memory_data *x, const tfn_model_desc *d)
{
    memset(&x->batch, 0, sizeof x->batch);
    for (int32_t i = 0; i < MEMORY_TOKENS; i++) {
        x->tokens[i] = i * 7 % d->vocab;
        x->targets[i] = i * 3 % (d->classes ? d->classes : d->vocab);
    }
    x->batch.tokens = x->tokens;
    x->batch.targets = x->targets;
    x->batch.batch = d->batch;
    x->batch.time = d->context;
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return;
    x->batch.source = x->tokens;
    x->batch.source_time = d->source_context;
}

static size_t memory_size(const tfn_model_desc *d)
{
    size_t scratch = tfn_model_scratch(d), size;
    void *mem = malloc(scratch ? scratch : 1);
    size = mem ? tfn_model_size(d, mem, scratch) : 0;
    free(mem);
    return size;
}

/* Calls everything that a model does; the memory was filled with MEMORY_FILL before. */
static uint64_t memory_use(tfn_model *m, const tfn_model_desc *d)
{
    static memory_data x;
    tfn_report report;
    memory_fill(&x, d);
    for (int i = 0; i < 2 && !d->inference; i++)
        if (tfn_model_step(m, &x.batch, &report) != TFN_OK || !report.updated)
            FAIL("%s: no update, loss %g", d->recipe, report.loss);
    CHECK(tfn_model_eval(m, &x.batch, &report) == TFN_OK && report.loss - report.loss >= 0);
    CHECK(tfn_model_logits(m, &x.batch) != NULL);
    return tfn_model_hash(m);
}

static size_t memory_tail;     /* most bytes at the end of a block that were never used */

/* The exact size at one address; with shift 0 the block's last byte is the last before the guard
 * page. */
static uint64_t memory_check_at(const tfn_model_desc *d, memory_block b, size_t size, size_t shift,
                                bool run)
{
    unsigned char *mem = b.end - size - shift;
    tfn_model m;
    uint64_t hash = 0;
    char text[200];
    memset(b.first, MEMORY_FILL, (size_t)(b.end - b.first));
    if (tfn_model_init(&m, d, mem, size) != TFN_OK) {
        FAIL("%d bytes at %d: %s", (int)size, (int)((uintptr_t)mem % 64),
             tfn_error_text(&m.error, text, sizeof text));
        return 0;
    }
    hash = run ? memory_use(&m, d) : tfn_model_hash(&m);
    CHECK(m.memory.total + 63 == size);             /* the reported bytes are used */
    CHECK(m.memory.metadata + m.memory.parameters + m.memory.gradients + m.memory.moments
          + m.memory.averages + m.memory.tables + m.memory.workspace <= m.memory.total);
    CHECK(m.memory.scratch <= m.memory.workspace);
    CHECK(memory_untouched(b.first, mem) && memory_untouched(mem + size, b.end));
    if (run && (uintptr_t)mem % 64 == 1) {          /* the address that needs all the slack */
        size_t tail = 0;
        while (tail < size && mem[size - 1 - tail] == MEMORY_FILL) tail++;
        memory_tail = tail > memory_tail ? tail : memory_tail;
    }
    return hash;
}

static void memory_refuse(const tfn_model_desc *d, memory_block b, size_t size)
{
    const tfn_batch none = { NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 };
    unsigned char *mem = b.end - size;
    tfn_model m;
    char text[200];
    memset(b.first, MEMORY_FILL, (size_t)(mem - b.first < 256 ? mem - b.first : 256));
    memset(mem - 64, MEMORY_FILL, 64);
    if (tfn_model_init(&m, d, mem, size) != TFN_NO_MEMORY || m.error.status != TFN_NO_MEMORY)
        FAIL("%d bytes: status %d", (int)size, (int)m.error.status);
    tfn_error_text(&m.error, text, sizeof text);
    if (!strstr(text, "bytes") && !strstr(text, "nodes")) FAIL("%d bytes: \"%s\"", (int)size, text);
    CHECK(memory_untouched(mem - 64, mem));
    CHECK(tfn_model_profile(&m, &none) == TFN_NO_MEMORY);
}

TEST(memory_exact)
{
    size_t most = 0, least = SIZE_MAX;
    int every = 0;
    for (int i = 0; i < memory_count(); i++) {
        tfn_model_desc d = memory_desc(i);
        size_t size = memory_size(&d), step;
        uint64_t hash, first;
        memory_block b;
        if (!size) {
            FAIL("configuration %d has no size", i);
            continue;
        }
        b = memory_map(size + 128);
        first = (uintptr_t)(b.end - size) % 64 == 1 ? 0 : ((uintptr_t)(b.end - size) + 63) % 64;
        hash = memory_check_at(&d, b, size, (size_t)first, true);
        CHECK(memory_check_at(&d, b, size, 0, true) == hash);
        hash = memory_check_at(&d, b, size, 0, false);
        for (size_t shift = 1; shift < 64; shift += i % 8 ? 9 : 1)
            CHECK(memory_check_at(&d, b, size, shift, false) == hash);
        /* smaller blocks: all of them for the smallest configurations, else a sample */
        step = size < 40000 && every < 12 ? 16 : size / 23 + 1;
        every += step == 16;
        memory_refuse(&d, b, size - 1);
        for (size_t less = step; less <= size; less += step) memory_refuse(&d, b, size - less);
        memory_refuse(&d, b, 0);
        memory_unmap(b);
        most = size > most ? size : most;
        least = size < least ? size : least;
    }
    printf("       %d configurations of %d to %d bytes, %d in every step; at most %d bytes at the "
           "end unused\n", memory_count(), (int)least, (int)most, every, (int)memory_tail);
    CHECK(every == 12);
    CHECK(memory_tail < 64);
}

/* The same for decoders: exact, at any address, with and without chunks. */
TEST(memory_decoders)
{
    for (int i = 0; i < memory_count(); i++) {
        tfn_model_desc d = memory_desc(i < MEMORY_PLAIN ? i - i % 3 + 2 * (i % 2) : i);
        static memory_data x;
        tfn_model m;
        tfn_decoder decoder;
        size_t scratch = tfn_model_scratch(&d), size;
        void *aside = malloc(scratch);
        int32_t chunk = d.context < 3 || i % 4 == 0 ? 1 : 3, batch = 1 + i % 3;
        memory_block b;
        if (d.arch == TFN_ARCH_ENCODER) {
            free(aside);
            continue;
        }
        if (tfn_model_new(&m, &d, NULL) != TFN_OK || !aside) FAIL("configuration %d", i);
        size = tfn_decoder_size(&m, batch, chunk, aside, scratch);
        free(aside);
        if (!size) {
            FAIL("configuration %d: no decoder", i);
            continue;
        }
        b = memory_map(size + 128);
        memory_fill(&x, &d);
        x.batch.batch = batch;
        for (size_t shift = 0; shift < 64; shift += i % 8 ? 13 : 1) {
            unsigned char *mem = b.end - size - shift;
            memset(b.first, MEMORY_FILL, (size_t)(b.end - b.first));
            CHECK(tfn_decoder_init(&decoder, &m, batch, chunk, mem, size) == TFN_OK);
            if (shift % 7 == 0) {
                CHECK(tfn_decoder_start(&decoder, &x.batch) == TFN_OK);
                for (int32_t t = 0; t + chunk <= d.context; t += chunk)
                    CHECK(tfn_decoder_next(&decoder, x.tokens, chunk, NULL) != NULL);
            }
            CHECK(memory_untouched(b.first, mem) && memory_untouched(mem + size, b.end));
        }
        for (size_t less = 1; less <= size; less += i % 20 ? size / 7 + 1 : 16) {
            if (tfn_decoder_init(&decoder, &m, batch, chunk, b.end - (size - less), size - less)
                != TFN_NO_MEMORY) FAIL("configuration %d: %d bytes less", i, (int)less);
            CHECK(tfn_decoder_next(&decoder, x.tokens, 1, NULL) == NULL);
        }
        memory_unmap(b);
        tfn_model_free(&m);
    }
}

/* One token at a time needs no room for a packed matrix, which saves memory on a board. */
TEST(memory_decoder_token)
{
    enum { WIDTH = 64, FFN = 256 };
    tfn_model_desc d = { 0 };
    tfn_model m;
    tfn_decoder token, chunk;
    size_t bytes;
    void *mem;
    d.vocab = 8;
    d.context = 8;
    d.width = WIDTH;
    d.ffn = FFN;
    d.layers = 1;
    d.inference = true;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    bytes = tfn_decoder_size(&m, 1, 3, NULL, 0) + 1000000;
    mem = malloc(bytes);
    CHECK(tfn_decoder_init(&token, &m, 1, 1, mem, bytes) == TFN_OK);
    CHECK(tfn_decoder_init(&chunk, &m, 1, 3, mem, bytes) == TFN_OK);
    CHECK(token.decode.scratch < WIDTH * FFN / 4 && chunk.decode.scratch >= WIDTH * FFN / 4);
    free(mem);
    tfn_model_free(&m);
}

/* tfn_model_scratch bytes of scratch are enough (memory_size uses no more); less gives 0 or the
 * same size, never another. */
TEST(memory_scratch_bound)
{
    for (int i = 0; i < memory_count(); i += 7) {
        tfn_model_desc d = memory_desc(i);
        size_t bound = tfn_model_scratch(&d), size = memory_size(&d), needed = 0;
        memory_block b = memory_map(bound);
        CHECK(size > 0);
        for (size_t n = 0; n <= bound; n += n < 256 ? 1 : bound / 61 + 1) {
            size_t found = tfn_model_size(&d, b.end - n, n);
            if (found && !needed) needed = n;
            if (found != (needed ? size : 0))
                FAIL("%d: size %d with %d of scratch", i, (int)found, (int)n);
        }
        CHECK(tfn_model_size(&d, b.end - bound, bound) == size);
        CHECK(tfn_model_size(&d, NULL, bound) == 0);
        memory_unmap(b);
    }
    for (int layers = 1; layers <= 40; layers += 13)        /* the bound grows with the depth */
        for (int kind = 0; kind < 3; kind++) {
            tfn_model_desc d = memory_desc(kind);
            d.layers = d.decoder_layers = layers;
            d.dropout = d.activation_dropout = (float)0.1;
            d.activation = TFN_ACTIVATION_SWIGLU;
            CHECK(memory_size(&d) > 0);
        }
}

/* The fewest bytes with which sizing succeeds; one byte less is refused as too little. */
static size_t memory_scratch_needed(const tfn_model_desc *d, void *mem, size_t bound)
{
    size_t fails = 0;
    size_t fits = bound;
    while (fits - fails > 1) {
        const size_t n = (fits + fails) / 2;
        if (tfn_model_size(d, mem, n)) fits = n;
        else fails = n;
    }
    return fits;
}

/* For all recipes and architectures, with and without training, with short and long tapes: the
 * bound is at least the need of sizing and at most twice that, and a decoder can be sized in it. */
TEST(memory_scratch_recipes)
{
    double least = 1e9;
    double most = 0;
    int count = 0;
    for (int i = 0; tfn_recipe_at(i); i++)
        for (int form = 0; form < 12; form++) {
            tfn_model_desc d = { 0 };
            size_t bound, needed;
            void *mem;
            d.recipe = tfn_recipe_at(i)->name;
            d.arch = (tfn_arch)(form % 3);
            d.inference = form / 3 % 2;
            d.layers = form / 6 ? 5 : 1;
            d.vocab = 50;
            d.context = 8;
            d.width = 32;
            d.heads = 2;
            d.threads = 1;
            if (i % 2) d.dropout = d.attention_dropout = d.activation_dropout = (float)0.1;
            d.probes = i % 3 == 0;
            d.half = i % 5 == 0;
            CASE("%s, form %d", d.recipe, form);
            if (!tfn_model_resolve(&d, &d, NULL)) continue;
            bound = tfn_model_scratch(&d);
            mem = malloc(bound);
            if (!tfn_model_size(&d, mem, bound)) FAIL("the bound is too small: %d", (int)bound);
            needed = memory_scratch_needed(&d, mem, bound);
            CHECK(!tfn_model_size(&d, mem, needed - 1));
            if (bound > 2 * needed) FAIL("%d bytes are needed, not %d", (int)needed, (int)bound);
            least = fmin(least, (double)bound / (double)needed);
            most = fmax(most, (double)bound / (double)needed);
            count++;
            if (d.arch != TFN_ARCH_ENCODER) {
                tfn_model m;
                CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
                CHECK(tfn_decoder_size(&m, 1, 4, mem, bound) > 0);
                tfn_model_free(&m);
            }
            free(mem);
        }
    printf("  the bound of scratch is %.2f to %.2f times what %d models need\n", least, most,
           count);
}

/* The same for the model's decoder, whose cache is smaller than its plan. */
static void memory_planned_decoder(const tfn_model *m)
{
    static unsigned char scratch[100000];
    const size_t size = tfn_decoder_size(m, 1, 1, scratch, sizeof scratch);
    void *mem = malloc(size);
    tfn_decoder decoder;
    char text[200];
    if (tfn_decoder_init(&decoder, m, 1, 1, mem, size) != TFN_OK)
        FAIL("decoder: \"%s\"", tfn_error_text(&decoder.error, text, sizeof text));
    CHECK(tfn_decoder_init(&decoder, m, 1, 1, mem, size - 1) == TFN_NO_MEMORY);
    free(mem);
}

/* If the data are elsewhere, planning needs the most bytes of the block: the reported size is
 * enough for it, too, and a byte less is not. */
TEST(memory_planned)
{
    enum { MOST = 20000 };                  /* more than the parameters of the largest */
    static float parameters[MOST], gradients[MOST], moments[2 * MOST], workspace[MOST];
    int most = 0;
    for (int i = 0; tfn_recipe_at(i); i++)
        for (int form = 0; form < 24; form++) {
            tfn_model_desc d = { 0 };
            tfn_model m;
            size_t size;
            void *mem;
            char text[200];
            d.recipe = tfn_recipe_at(i)->name;
            d.arch = (tfn_arch)(form % 3);
            d.inference = form / 3 % 2;
            d.layers = 1 + form / 6;
            d.parameters = parameters;
            d.workspace = workspace;
            if (!d.inference) {
                d.gradients = gradients;
                d.moments = moments;
            }
            d.vocab = 5;
            d.context = 2;
            d.width = 4;
            d.heads = 1;
            d.batch = 1;
            d.threads = 1;
            CASE("%s, form %d", d.recipe, form);
            if (!tfn_model_resolve(&d, &d, NULL)) continue;
            size = memory_size(&d);
            mem = malloc(size);
            if (tfn_model_init(&m, &d, mem, size) != TFN_OK)
                FAIL("%d bytes: \"%s\"", (int)size, tfn_error_text(&m.error, text, sizeof text));
            if (m.memory.total + 63 > m.memory.kept) most++;
            CHECK(m.memory.total + 63 == size);
            CHECK(m.param_floats + m.buffer_floats <= MOST);
            if (d.inference && d.arch != TFN_ARCH_ENCODER) memory_planned_decoder(&m);
            CHECK(tfn_model_init(&m, &d, mem, size - 1) == TFN_NO_MEMORY);
            free(mem);
        }
    printf("  in %d models planning wants the most\n", most);
    CHECK(most > 100);
}

/* Options that no recipe has: the limits of models, norms of heads, LoRA, packed weights,
 * losses. */
static tfn_var memory_long_loss(void *user, tfn_tape *t, tfn_var logits)
{
    tfn_var x = tfn_cross_entropy(t, logits, TFN_INT_TARGETS, 0, TFN_SMOOTHING_UNIFORM);
    const int32_t *operations = (const int32_t *)user;
    for (int32_t i = 1; i < *operations; i++) x = tfn_add(t, x, x, (float)0.5, (float)0.5);
    return x;
}

TEST(memory_scratch_options)
{
    static int32_t operations = 255;                    /* the mask after it is one more */
    for (int form = 0; form < 90; form++) {
        tfn_model_desc d = { 0 };
        const int option = form / 6;
        size_t bound, needed;
        void *mem;
        d.arch = (tfn_arch)(form % 3);
        d.inference = form / 3 % 2;
        d.layers = 2;
        d.vocab = 60;
        d.context = 8;
        d.width = 32;
        d.heads = 2;
        d.threads = 1;
        switch (option) {
        case 0: d.head_transform = d.output_bias = d.scale_output = true; break;
        case 1: d.cutoffs[0] = 10; d.cutoffs[1] = 30; break;
        case 2: d.qk_norm = TFN_QK_NORM_QKV_HEAD; d.norm = "derf"; d.heads = 1; break;
        case 3: d.qk_norm = TFN_QK_NORM_COSINE; d.position = TFN_POSITION_ROTARY; break;
        case 4: d.qk_norm = TFN_QK_NORM_UNIT; d.position = TFN_POSITION_RELATIVE; break;
        case 5: d.embedding_size = 16; d.untied = true; d.logit_cap = 30; break;
        case 6: d.bands = 4; d.frame_map = TFN_FRAME_MAP_CONVOLUTIONS; break;
        case 7: d.norm = "batchnorm"; d.activation = TFN_ACTIVATION_SWIGLU; break;
        case 8: d.groups[0].rank = 2; strcpy(d.groups[0].pattern, "*"); break;
        case 9: d.init = "lsuv"; d.recipe = "admin"; break;
        case 10: d.weights = TFN_WEIGHTS_Q8; d.inference = true; break;
        case 11: d.only_decoders = d.inference = true; d.arch = TFN_ARCH_DECODER; break;
        case 12: d.head = TFN_HEAD_SEQUENCE; d.classes = 3; break;
        case 13: d.recipe = "ngpt"; d.norm = "adanorm"; break;
        default: d.loss = memory_long_loss; d.loss_user = &operations; break;
        }
        CASE("option %d, form %d", option, form);
        bound = tfn_model_scratch(&d);
        if (!bound) continue;
        mem = malloc(bound);
        if (!tfn_model_size(&d, mem, bound)) FAIL("the bound is too small: %d", (int)bound);
        needed = memory_scratch_needed(&d, mem, bound);
        if (bound > 2 * needed) FAIL("%d bytes are needed, not %d", (int)needed, (int)bound);
        free(mem);
    }
}

/* -- malloc: only in tfn_model_new, and it may fail ---------------------------------------- */

TEST(memory_allocations)
{
    static memory_data x;
    for (int i = 0; i < memory_count(); i += 5) {
        tfn_model_desc d = memory_desc(i);
        tfn_model m;
        tfn_report report;
        memory_calls = memory_live = 0;
        CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK && m.mem_size == memory_size(&d));
        CHECK(memory_calls == 2 && memory_live == 1);
        memory_fill(&x, &d);
        memory_fails_at = memory_calls + 1;         /* the next call fails */
        memory_use(&m, &d);
        CHECK(d.inference || tfn_model_profile(&m, &x.batch) == TFN_OK);
        tfn_model_eval(&m, &x.batch, &report);
        CHECK(memory_calls == 2);
        tfn_model_free(&m);
        CHECK(memory_live == 0);
        memory_fails_at = 0;
        for (int call = 1; call <= 2; call++) {
            memory_calls = 0;
            memory_fails_at = call;
            CHECK(tfn_model_new(&m, &d, NULL) == TFN_NO_MEMORY && m.error.status == TFN_NO_MEMORY);
            CHECK(memory_live == 0);
            tfn_model_free(&m);
            tfn_model_free(&m);                     /* twice does no harm */
            CHECK(memory_live == 0);
        }
        memory_fails_at = 0;
    }
}

/* The caller's allocator gets back what it gave, with its size and user pointer. */
typedef struct memory_user { int given, back; size_t bytes; } memory_user;
static void *memory_give(size_t size, void *user)
{
    memory_user *u = (memory_user *)user;
    u->given++;
    u->bytes += size;
    return malloc(size);
}
static void memory_back(void *mem, size_t size, void *user)
{
    memory_user *u = (memory_user *)user;
    u->back++;
    u->bytes -= size;
    free(mem);
}
TEST(memory_allocator)
{
    memory_user user = { 0, 0, 0 };
    tfn_allocator a;
    tfn_model_desc d = memory_desc(40);
    tfn_model m;
    a.allocate = memory_give;
    a.release = memory_back;
    a.user = &user;
    memory_calls = 0;
    CHECK(tfn_model_new(&m, &d, &a) == TFN_OK);
    CHECK(user.given == 2 && user.back == 1 && user.bytes == m.mem_size && memory_calls == 0);
    tfn_model_free(&m);
    CHECK(user.given == 2 && user.back == 2 && user.bytes == 0);
}

/* -- growth -------------------------------------------------------------------------------- */

/* No buffer grows faster than linearly in B, T or Ts: twice the length, at most twice the bytes. */
static void memory_check_growth(const char *what, tfn_model_desc d, int axis)
{
    double size[4];
    for (int i = 0; i < 4; i++) {
        if (axis == 0) d.context = 1000 << i;
        if (axis == 1) d.source_context = 1000 << i;
        if (axis == 2) d.batch = 16 << i;
        size[i] = (double)memory_size(&d);
        if (size[i] <= 0) FAIL("%s has no size", what);
        if (i && size[i] > 2 * size[i - 1])
            FAIL("%s: %.0f, then %.0f bytes", what, size[i - 1], size[i]);
    }
}

TEST(memory_growth)
{
    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int axis = 0; axis < 3; axis++) {
                tfn_model_desc d = memory_desc(i);
                char what[60];
                d.width = 32;
                d.context = 100;
                d.source_context = i == 2 ? 90 : 0;
                d.inference = kind == 1;
                d.recompute = kind == 2;
                if (axis == 1 && i != 2) continue;
                snprintf(what, sizeof what, "arch %d kind %d axis %d", i, kind, axis);
                memory_check_growth(what, d, axis);
            }
}

/* Inference needs a fraction of training, recomputation less than keeping, threads only scratch. */
TEST(memory_classes)
{
    tfn_model_desc d;
    tfn_model m;
    tfn_memory train, other;
    memset(&d, 0, sizeof d);
    d.vocab = 50;
    d.context = 64;
    d.layers = 6;
    d.batch = 4;
    d.threads = 1;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    train = m.memory;
    CHECK(train.moments == 2 * train.parameters && train.gradients == train.parameters);
    tfn_model_free(&m);
    d.recompute = true;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK(m.memory.workspace < train.workspace / 2 && m.memory.parameters == train.parameters);
    tfn_model_free(&m);
    d.recompute = false;
    d.threads = HOOK_THREADS(3);
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK(m.memory.scratch == HOOK_THREADS(3) * train.scratch);
    CHECK(m.memory.workspace == train.workspace + (HOOK_THREADS(3) - 1) * train.scratch);
    tfn_model_free(&m);
    d.threads = 1;
    d.inference = true;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    other = m.memory;
    CHECK(other.workspace < train.workspace / 5 && other.gradients == 0 && other.moments == 0);
    CHECK(other.parameters == train.parameters);
    tfn_model_free(&m);
}

/* With batch_tokens a model holds few long rows or many short ones in less memory, with the bits of
 * one that has room for all; the block is used exactly to its end. */
TEST(memory_batch_tokens)
{
    static const int32_t shapes[][3] = { { 2, 32, 20 }, { 8, 8, 8 }, { 4, 3, 16 }, { 1, 1, 32 } };
    static int32_t ids[256], lengths[8];
    tfn_model_desc d;
    tfn_model m[2];
    tfn_batch b;
    tfn_report r;
    char text[200];
    size_t size;
    memory_block block;
    for (int i = 0; i < 256; i++) ids[i] = i * 7 % 11;
    for (int i = 0; i < 8; i++) lengths[i] = 1 + i % 3;
    memset(&d, 0, sizeof d);
    memset(&b, 0, sizeof b);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.vocab = 11, d.context = 32, d.batch = 8, d.width = 16, d.dropout = (float)0.1;
    CHECK(tfn_model_new(&m[0], &d, NULL) == TFN_OK);
    d.batch_tokens = 64;
    size = memory_size(&d);
    block = memory_map(size);
    CHECK(tfn_model_init(&m[1], &d, block.end - size, size) == TFN_OK);
    CHECK(m[1].memory.workspace < m[0].memory.workspace / 3);
    b.tokens = b.targets = b.source = ids;
    for (int i = 0; i < 4; i++) {
        b.batch = shapes[i][0], b.time = shapes[i][1], b.source_time = shapes[i][2];
        b.lengths = i ? NULL : lengths;
        for (int k = 0; k < 2; k++) CHECK(tfn_model_step(&m[k], &b, &r) == TFN_OK && !r.skipped);
        CHECK(tfn_model_hash(&m[0]) == tfn_model_hash(&m[1]));
    }
    b.batch = 3, b.time = 8, b.source_time = 22, b.lengths = NULL;
    CHECK(tfn_model_step(&m[1], &b, &r) == TFN_BAD_BATCH);
    CHECK(strstr(tfn_error_text(&m[1].error, text, sizeof text), "66 tokens, the limit is 64"));
    CHECK(tfn_model_eval(&m[0], &b, &r) == TFN_OK);
    memory_unmap(block);
    tfn_model_free(&m[0]);
}

/* Sizes beyond the machine's integers are refused, not wrapped. */
TEST(memory_too_large)
{
    static unsigned char block[1 << 16];
    tfn_model_desc d;
    tfn_model m;
    memset(&d, 0, sizeof d);
    d.vocab = 1 << 24;
    d.context = 1 << 20;
    d.width = 1 << 20;
    d.ffn = 1 << 22;
    d.batch = 1 << 20;
    d.layers = 100;
    d.threads = HOOK_THREADS(1000);
    CHECK(tfn_model_scratch(&d) > 0);
    CHECK(memory_size(&d) == 0 || memory_size(&d) > (size_t)1 << 48);
    CHECK(tfn_model_new(&m, &d, NULL) != TFN_OK);
    CHECK(m.error.status == TFN_TOO_LARGE || m.error.status == TFN_NO_MEMORY);
    CHECK(tfn_model_init(&m, &d, block, sizeof block) != TFN_OK);
    CHECK(tfn_model_init(&m, &d, NULL, 0) != TFN_OK);
    CHECK(tfn_model_init(&m, &d, NULL, SIZE_MAX) != TFN_OK);
}

/* Sizes that a size_t cannot hold are errors, not small numbers. */
TEST(memory_sizes)
{
    tfn__arena a = tfn__arena_in(NULL, 0);
    tfn_error e;
    char text[80];
    CHECK(tfn__mul(0, SIZE_MAX) == 0 && tfn__mul(SIZE_MAX, 0) == 0 && tfn__mul(3, 4) == 12);
    CHECK(tfn__mul(SIZE_MAX / 2, 3) == SIZE_MAX && tfn__mul(SIZE_MAX, SIZE_MAX) == SIZE_MAX);
    CHECK(tfn__sum(SIZE_MAX, 1) == SIZE_MAX && tfn__sum(SIZE_MAX, SIZE_MAX) == SIZE_MAX);
    CHECK(tfn__sum(SIZE_MAX - 3, 2) == SIZE_MAX - 1);
    CHECK(tfn__count(-1) == SIZE_MAX && tfn__count(INT64_MAX) == SIZE_MAX && tfn__count(7) == 7);
    memset(&e, 0, sizeof e);
    tfn__only_count(&a);
    CHECK(tfn__take(&a, 64, 2, &e) && a.used == 128 && e.status == TFN_OK);
    CHECK(!tfn__take(&a, SIZE_MAX / 2, 4, &e) && a.used == 128);
    CHECK_INT(e.status, TFN_TOO_LARGE);
    tfn_error_text(&e, text, sizeof text);
    CHECK(!strncmp(text, "memory: ", 8));
}

int main(void)
{
    RUN(memory_sizes);
    RUN(memory_exact);
    RUN(memory_decoders);
    RUN(memory_decoder_token);
    RUN(memory_scratch_bound);
    RUN(memory_scratch_recipes);
    RUN(memory_planned);
    RUN(memory_scratch_options);
    RUN(memory_allocations);
    RUN(memory_allocator);
    RUN(memory_growth);
    RUN(memory_classes);
    RUN(memory_batch_tokens);
    RUN(memory_too_large);
    return DONE();
}
