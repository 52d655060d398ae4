/* TFNORM_DEBUG: whole models whose dead memory is full of NaN have the same bits as ever. Mistakes
 * in custom operations and in kernels are found: reading dead memory, and writing to another's.
 * planted.sh plants the same mistakes in the header. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE         /* MAP_ANONYMOUS, before any header */
#endif
#define TFNORM_DEBUG
static int debug_found;
#define TFNORM_ASSERT(x) do { if (!(x)) debug_found++; } while (0)
#define TFNORM_ALL_ISA
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "../check.h"
#if defined __unix__ || defined __APPLE__
#include <sys/mman.h>
#include <unistd.h>
#endif

enum { DEBUG_V = 11, DEBUG_B = 2, DEBUG_T = 6, DEBUG_C = DEBUG_V, DEBUG_NODES = 16 };

static int32_t debug_ids[DEBUG_B * DEBUG_T];

static tfn_batch debug_batch(tfn_arch arch)
{
    tfn_batch batch;
    for (int i = 0; i < DEBUG_B * DEBUG_T; i++) debug_ids[i] = (i * 7 + i/5) % DEBUG_V;
    memset(&batch, 0, sizeof batch);
    batch.tokens = batch.targets = debug_ids;
    batch.batch = DEBUG_B;
    batch.time = DEBUG_T;
    if (arch == TFN_ARCH_ENCODER_DECODER) {
        batch.source = debug_ids;
        batch.source_time = DEBUG_T;
    }
    return batch;
}

/* -- models work as usual ---------------------------------------------------------------------- */

/* Token by token, the scores of the full forward. */
static void debug_decode(tfn_model *m, const tfn_batch *batch)
{
    const size_t scratch_size = tfn_model_scratch(&m->desc);
    void *scratch = malloc(scratch_size);
    const size_t size = tfn_decoder_size(m, DEBUG_B, 1, scratch, scratch_size);
    void *block = malloc(size ? size : 1);
    float full[DEBUG_B * DEBUG_T * DEBUG_V];
    const float *z = tfn_model_logits(m, batch);
    tfn_decoder decoder;
    CHECK(z != NULL);
    if (z) memcpy(full, z, sizeof full);
    CHECK(tfn_decoder_init(&decoder, m, DEBUG_B, 1, block, size) == TFN_OK);
    CHECK(tfn_decoder_start(&decoder, batch) == TFN_OK);
    for (int t = 0; z && t < DEBUG_T; t++) {
        const int32_t now[DEBUG_B] = { debug_ids[t], debug_ids[DEBUG_T + t] };
        const float *next = tfn_decoder_next(&decoder, now, 1, NULL);
        CHECK(next != NULL);
        for (int b = 0; next && b < DEBUG_B; b++)
            CHECK_BITS(next + b * DEBUG_V, full + (b * DEBUG_T + t) * DEBUG_V,
                       DEBUG_V * sizeof *full);
    }
    free(block);
    free(scratch);
}

TEST(debug_models)
{
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        tfn_model_desc d;
        tfn_model m;
        tfn_report report;
        const tfn_arch arch = (tfn_arch)(i % 3);
        const tfn_batch batch = debug_batch(arch);
        const bool whole = !strcmp(tfn_recipe_at(i)->norm, "cogview");
        memset(&d, 0, sizeof d);
        d.vocab = DEBUG_V;
        d.context = DEBUG_T;
        d.batch = DEBUG_B;
        d.width = 16;
        d.heads = 2;
        d.arch = arch;
        if (arch == TFN_ARCH_ENCODER) d.segments = 2;       /* the batch leaves them out */
        d.recipe = tfn_recipe_at(i)->name;
        d.dropout = d.attention_dropout = d.activation_dropout = (float)0.1;
        d.recompute = i % 2 != 0;
        d.micro_batches = 1 + i % 2;
        CASE("%s", d.recipe);
        if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
            FAIL("no model");
            continue;
        }
        for (int k = 0; k < 4; k++)
            CHECK(tfn_model_step(&m, &batch, &report) == TFN_OK && !report.skipped);
        CHECK(isfinite(report.loss));
        if (arch != TFN_ARCH_ENCODER && !whole) debug_decode(&m, &batch);
        tfn_model_free(&m);
    }
    CHECK_INT(debug_found, 0);
}

/* Several threads are accepted, but only one runs. */
TEST(debug_hash)
{
    const size_t size = (size_t)1 << 22;
    void *mem = malloc(size);
    uint64_t wanted = TFN_BITS_HASH;
    if (!tfn_kernels_for(TFN_ISA_BEST)->fma) wanted = TFN_BITS_HASH_NO_FMA;
    CHECK(tfn_selfcheck(mem, size, TFN_ISA_BEST, 1) == wanted);
    CHECK_INT(debug_found, 0);
    free(mem);
}

/* Floats that end at an inaccessible page; NULL: no such memory here. */
static float *debug_before_page(size_t floats)
{
#ifdef MAP_ANONYMOUS
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (floats * sizeof(float) + page - 1) / page * page;
    char *all = (char *)mmap(NULL, room + page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == (char *)MAP_FAILED || mprotect(all + room, page, PROT_NONE)) return NULL;
    return (float *)(void *)(all + room) - floats;
#else
    (void)floats;
    return NULL;
#endif
}

/* The caller's gradients are only as long as the weights that train, even if the parameters are
 * longer: the model must not read more of them. */
TEST(debug_frozen)
{
    tfn_model_desc d;
    tfn_model m;
    const tfn_batch batch = debug_batch(TFN_ARCH_DECODER);
    memset(&d, 0, sizeof d);
    d.vocab = DEBUG_V;
    d.context = DEBUG_T;
    d.batch = DEBUG_B;
    d.width = 16;
    CHECK(tfn_group_add(&d, "* frozen", NULL) && tfn_group_add(&d, "decoder.1.*", NULL));
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    d.gradients = debug_before_page((size_t)m.trained_floats);
    tfn_model_free(&m);
    if (!d.gradients) SKIP("no pages that can be guarded");
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    CHECK(m.trained_floats < m.param_floats);
    CHECK(tfn_model_step(&m, &batch, NULL) == TFN_OK);
    CHECK_INT(debug_found, 0);
    tfn_model_free(&m);
}

/* The caller's arrays are as long as the batch says; the model must not read more. */
TEST(debug_ends)
{
    enum { BANDS = 3, FRAMES = 4 * DEBUG_T + 3 };
    float *frames = debug_before_page(DEBUG_B * FRAMES * BANDS);
    float *room[3];
    int32_t *lengths, *of_source, *ids;
    for (int i = 0; i < 3; i++) room[i] = debug_before_page(i < 2 ? DEBUG_B : DEBUG_B * DEBUG_T);
    if (!frames || !room[0] || !room[1] || !room[2]) SKIP("no pages that can be guarded");
    lengths = (int32_t *)(void *)room[0];
    of_source = (int32_t *)(void *)room[1];
    ids = (int32_t *)(void *)room[2];
    for (int i = 0; i < DEBUG_B * FRAMES * BANDS; i++) frames[i] = (float)(i % 7 - 3) / 4;
    for (int arch = 0; arch < 6; arch++) {
        tfn_model_desc d;
        tfn_model m;
        tfn_batch batch = debug_batch((tfn_arch)(arch % 3));
        memset(&d, 0, sizeof d);
        d.vocab = DEBUG_V;
        d.context = DEBUG_T;
        d.batch = DEBUG_B;
        d.width = 16;
        d.arch = (tfn_arch)(arch % 3);
        if (arch >= 3 && d.arch != TFN_ARCH_DECODER) d.bands = BANDS;
        if (d.bands && d.arch == TFN_ARCH_ENCODER) {
            d.head = TFN_HEAD_POSITIONS;
            d.classes = DEBUG_V;
        }
        CASE("arch %d, bands %d", (int)d.arch, (int)d.bands);
        memcpy(ids, debug_ids, sizeof debug_ids);
        batch.targets = ids;
        batch.tokens = ids;
        if (batch.source) batch.source = ids;
        batch.lengths = lengths;
        batch.source_lengths = batch.source ? of_source : NULL;
        for (int i = 0; i < DEBUG_B; i++) lengths[i] = of_source[i] = DEBUG_T - i % 2;
        if (d.bands) {
            int32_t *of_frames = batch.source ? of_source : lengths;
            batch.frames = frames;
            for (int i = 0; i < DEBUG_B; i++) of_frames[i] = FRAMES - i % 2;
            if (batch.source) batch.source_time = FRAMES, batch.source = NULL;
            else batch.time = FRAMES, batch.tokens = NULL;
        }
        if (tfn_model_new(&m, &d, NULL) != TFN_OK) {
            FAIL("%s", m.error.text);
            continue;
        }
        CHECK(tfn_model_step(&m, &batch, NULL) == TFN_OK);
        CHECK(tfn_model_logits(&m, &batch) != NULL);
        for (int32_t n = m.train.count - 1; n > m.train.count - 3; n--)     /* the loss, logits */
            CHECK_INT(m.train.nodes[n].layer, -1);
        tfn_model_free(&m);
    }
}

/* A fold writes only to the caller's parameters. The last one is an output matrix: the transposed
 * embedding plus its LoRA. */
TEST(debug_folded)
{
    tfn_model_desc d;
    tfn_model m, folded;
    tfn_param_info last;
    memset(&d, 0, sizeof d);
    d.vocab = DEBUG_V;
    d.context = DEBUG_T;
    d.width = 16;
    d.recipe = "pre-rms";
    d.no_bias = true;
    CHECK(tfn_group_add(&d, "output.weight rank=2", NULL));
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    memset(d.groups, 0, sizeof d.groups);
    d.untied = true;
    d.inference = d.folded = true;
    CHECK(tfn_model_new(&folded, &d, NULL) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&folded, i, &last); i++) continue;
    CHECK(!strcmp(last.name, "output.weight"));
    d.parameters = debug_before_page((size_t)folded.param_floats);
    tfn_model_free(&folded);
    if (!d.parameters) SKIP("no pages that can be guarded");
    CHECK(tfn_model_new(&folded, &d, NULL) == TFN_OK);
    CHECK(tfn_model_fold(&folded, &m) == TFN_OK);
    tfn_model_free(&folded);
    tfn_model_free(&m);
}

/* The library reads nothing after the final zero of a path, a name or a text. */
TEST(debug_strings)
{
    static const char *const words[] = { "vocab", "isa", "best", "schedule", "build/none/x", "?" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t bytes = strlen(words[i]) + 1, floats = (bytes + 3) / 4;
        char *s = (char *)(void *)debug_before_page(floats);
        char text[300];
        tfn_model_desc d;
        tfn_error e;
        tfn_file f;
        if (!s) SKIP("no pages that can be guarded");
        s += 4*floats - bytes;
        memcpy(s, words[i], bytes);
        memset(&d, 0, sizeof d);
        memset(&f, 0, sizeof f);
        memset(&e, 0, sizeof e);
        f.path = s;
        CHECK(tfn_file_open(&f) == TFN_BAD_FILE);
        CHECK(strstr(tfn_error_text(&f.error, text, sizeof text), words[i]) != NULL);
        CHECK((tfn_desc_set(&d, s, "1", &e) == TFN_OK) == (i == 0));
        CHECK(tfn_desc_set(&d, "recipe", s, &e) != TFN_OK);
        CHECK((tfn_desc_set(&d, "isa", s, &e) == TFN_OK) == (i == 2));
        CHECK((tfn_isa_find(s) == TFN_ISA_BEST));
        CHECK(!tfn_choice_find(s, s));
        d.recipe = d.norm = s;
        CHECK(!tfn_model_resolve(&d, &d, &e));
    }
}

/* -- planted mistakes -------------------------------------------------------------------------- */

typedef enum debug_mistake {
    DEBUG_NONE, DEBUG_READS_DEAD, DEBUG_BEHIND, DEBUG_BEFORE, DEBUG_GRADIENT, DEBUG_KERNEL
} debug_mistake;

/* Two operations y = x in a row. The first knows the place of the second's value, which is dead
 * when the first's backward runs. */
typedef struct debug_ops {
    debug_mistake mistake;
    const float  *second;
} debug_ops;

static void debug_first(const tfn_custom_args *a)
{
    memcpy(a->y, a->x[0], (size_t)(a->rows * a->cols) * sizeof *a->y);
}
static void debug_second(const tfn_custom_args *a)
{
    debug_ops *ops = (debug_ops *)a->user;
    debug_first(a);
    ops->second = a->y;
    if (ops->mistake == DEBUG_BEHIND) a->y[a->rows * a->cols] = 1;
    if (ops->mistake == DEBUG_BEFORE) a->y[-1] = 1;
}
static void debug_back(const tfn_custom_args *a)
{
    const ptrdiff_t n = a->rows * a->cols;
    for (ptrdiff_t i = 0; i < n; i++)
        a->dx[0][i] = a->add[0] ? a->dx[0][i] + a->dy[i] : a->dy[i];
}
static void debug_first_back(const tfn_custom_args *a)
{
    const debug_ops *ops = (const debug_ops *)a->user;
    debug_back(a);
    if (ops->mistake == DEBUG_READS_DEAD)
        for (ptrdiff_t i = 0; i < a->rows * a->cols; i++) a->dx[0][i] += ops->second[i];
    if (ops->mistake == DEBUG_GRADIENT) a->dx[0][a->rows * a->cols] = 1;
}

/* A kernel that processes one value too many. */
static void debug_activation(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind)
{
    tfn_kernels_for(TFN_ISA_PLAIN)->activation_forward(y, x, n, kind);
    y[n] = 0;
}

/* Embedding, twice y = x, activation, loss: returns the sum of the table's gradient. */
static float debug_run(debug_mistake mistake)
{
    debug_ops ops = { mistake, NULL };
    const tfn_custom_op custom[2] = { { "first", debug_first, debug_first_back, &ops },
                                      { "second", debug_second, debug_back, &ops } };
    tfn_kernels kernels = *tfn_kernels_for(TFN_ISA_PLAIN);
    void *nodes = malloc(tfn_tape_bytes(DEBUG_NODES));
    const tfn_batch batch = debug_batch(TFN_ARCH_DECODER);
    tfn_tape t;
    tfn_run r;
    tfn_var x;
    float *mem;
    float sum = 0;
    if (mistake == DEBUG_KERNEL) kernels.activation_forward = debug_activation;
    tfn_tape_init(&t, nodes, tfn_tape_bytes(DEBUG_NODES), DEBUG_B, 0, DEBUG_T, true);
    t.custom = custom;
    t.customs = 2;
    x = tfn_embedding(&t, tfn_param(&t, DEBUG_V, DEBUG_C), TFN_INT_TOKENS, TFN_ROWS_TARGET, 1);
    x = tfn_custom(&t, 0, &x, 1, TFN_ROWS_TARGET, 0, DEBUG_C);
    x = tfn_custom(&t, 1, &x, 1, TFN_ROWS_TARGET, 0, DEBUG_C);
    x = tfn_activation(&t, x, TFN_ACTIVATION_RELU);
    tfn_cross_entropy(&t, x, TFN_INT_TARGETS, 0, 0);
    CHECK(tfn_tape_plan(&t, &kernels, 1) == TFN_OK);
    mem = (float *)calloc((size_t)(2*t.params + t.work), sizeof *mem);
    memset(&r, 0, sizeof r);
    r.batch = DEBUG_B;
    r.target = DEBUG_T;
    r.params = mem;
    r.grads = mem + t.params;
    r.work = mem + 2*t.params;
    r.ints[TFN_INT_TOKENS] = r.ints[TFN_INT_TARGETS] = batch.tokens;
    for (int64_t i = 0; i < t.params; i++)
        r.params[i] = tfn_random_normal(tfn_key_make(1), (uint64_t)i);
    debug_found = 0;
    CHECK(tfn_tape_forward(&t, &r) == TFN_OK && tfn_tape_backward(&t, &r) == TFN_OK);
    for (int64_t i = 0; i < t.params; i++) sum += r.grads[i];
    free(mem);
    free(nodes);
    return sum;
}

TEST(debug_reads_dead)
{
    CHECK(isfinite((double)debug_run(DEBUG_NONE)) && !debug_found);
    CHECK(isnan((double)debug_run(DEBUG_READS_DEAD)) && !debug_found);
}

TEST(debug_writes_beside)
{
    for (int i = DEBUG_BEHIND; i <= DEBUG_KERNEL; i++) {
        CASE("mistake %d", i);
        debug_run((debug_mistake)i);
        CHECK_INT(debug_found, 1);
    }
    debug_found = 0;
}

int main(void)
{
    RUN(debug_hash);
    RUN(debug_frozen);
    RUN(debug_ends);
    RUN(debug_folded);
    RUN(debug_strings);
    RUN(debug_models);
    RUN(debug_reads_dead);
    RUN(debug_writes_beside);
    return DONE();
}
