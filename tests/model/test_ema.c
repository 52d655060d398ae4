/* Moving averages of the weights: the formula in double and that of PyTorch's AveragedModel, frozen
 * weights, skipped updates, swapping and back, checkpoints in either state, resumed runs, models
 * for inference, equal bits over threads and instruction sets, exact memory. */
#include <math.h>
#include "../lib.h"
#include "../check.h"
#include "../batch.h"
#include "../golden/golden.h"
#include "../golden/golden_averages.h"

enum { EMA_B = 2, EMA_T = 5, EMA_V = 11, EMA_UPDATES = 8, EMA_STEPS = 3, EMA_N = 12 };

static bool ema_free;                   /* schedule-free AdamW makes the averages */

static tfn_model_desc ema_desc(const char *recipe)
{
    tfn_model_desc d = { 0 };
    d.recipe = recipe;
    d.vocab = EMA_V;
    d.context = EMA_T;
    d.width = 12;
    d.heads = 2;
    d.ffn = 16;
    d.batch = EMA_B;
    d.threads = 1;
    d.dropout = 0.125f;
    d.clip = 0.5f;
    d.ema = 0.5f;
    if (ema_free) {
        d.optimizer = TFN_OPTIMIZER_SCHEDULE_FREE;
        d.ema = 0;
        d.decay = 0.125f;
        d.schedule.warmup = 3;
    }
    d.schedule.lr = 1e-2f;
    return d;
}

/* Takes batch i of an endless stream. */
static tfn_status ema_call(tfn_model *m, int i, tfn_report *report, bool trains)
{
    batch_room b;
    batch_fill(&b, &m->desc, (uint64_t)i);
    if (trains) return tfn_model_step(m, &b.batch, report);
    return tfn_model_eval(m, &b.batch, report);
}

static void ema_train(tfn_model *m, int first, int last)
{
    tfn_report report;
    for (int i = first; i < last; i++) CHECK(ema_call(m, i, &report, true) == TFN_OK);
}

static double ema_loss(tfn_model *m)
{
    tfn_report report = { 0 };
    CHECK(ema_call(m, 100, &report, false) == TFN_OK);
    return report.loss;
}

static uint64_t ema_hash(tfn_model *m)       /* hash of the averages */
{
    uint64_t hash;
    CHECK(tfn_model_swap_ema(m) == TFN_OK);
    hash = tfn_model_hash(m);
    CHECK(tfn_model_swap_ema(m) == TFN_OK);
    return hash;
}

/* -- the formula ------------------------------------------------------------------------------- */

/* The averages follow the weights, which are those of a run without averages. */
TEST(ema_formula)
{
    static const float decays[] = { 0.5f, 0.3f, 0.999f };
    for (size_t k = 0; k < sizeof decays / sizeof *decays; k++) {
        tfn_model_desc d = ema_desc("pre");
        tfn_model m;
        tfn_model plain;
        double *wanted;
        d.ema = decays[k];
        CASE("ema %g", (double)d.ema);
        if (!batch_open(&m, &d)) return;
        d.ema = 0;
        if (!batch_open(&plain, &d)) return;
        wanted = (double *)calloc((size_t)m.param_floats, sizeof *wanted);
        for (int t = 0; t < EMA_UPDATES; t++) {
            const double warm = (1.0 + t) / (10.0 + t);
            double decay = warm < (double)decays[k] ? warm : (double)decays[k];
            if (t == 0) decay = 0;
            ema_train(&m, t, t + 1);
            ema_train(&plain, t, t + 1);
            for (int64_t i = 0; i < m.param_floats; i++) {
                wanted[i] = decay * wanted[i] + (1 - decay) * (double)plain.params[i];
                CHECK_CLOSE((double)m.averages[i], wanted[i], 1e-6);
            }
        }
        CHECK(tfn_model_hash(&m) == tfn_model_hash(&plain) && !plain.averages);
        free(wanted);
        tfn_model_free(&m);
        tfn_model_free(&plain);
    }
}

/* PyTorch's AveragedModel on weights that are set by hand: updates with a rate of 0. */
TEST(ema_golden)
{
    const golden_row *row = golden_find(golden_averages, "averages");
    tfn_model_desc d = ema_desc("pre");
    const tfn_key key = golden_key("averages");
    const tfn_sums sums = { 1, 1, 5 };
    tfn_model m;
    d.ema = 0.3125f;
    if (!row || row->count % EMA_N) {
        FAIL("no golden values");
        return;
    }
    if (!batch_open(&m, &d)) return;
    for (int t = 0; t < row->count / EMA_N; t++) {
        const double *wanted = golden_averages_values + row->first + t * EMA_N;
        for (int i = 0; i < EMA_N; i++)
            m.params[i] = (float)golden_draw(key, (uint64_t)(t * EMA_N + i));
        CHECK(tfn_model_update(&m, &sums, 0, NULL) == TFN_OK);
        for (int i = 0; i < EMA_N; i++) CHECK_CLOSE((double)m.averages[i], wanted[i], 1e-6);
    }
    tfn_model_free(&m);
}

/* A frozen weight has no average and no memory for one. Other weights have the averages of the same
 * run without frozen ones, and swapping leaves frozen weights unchanged. */
TEST(ema_frozen)
{
    tfn_model_desc d = ema_desc("ngpt");
    tfn_model m;
    tfn_param_info p;
    uint64_t before;
    snprintf(d.groups[0].pattern, sizeof d.groups[0].pattern, "*.self.*");
    d.groups[0].frozen = true;
    if (!batch_open(&m, &d)) return;
    CHECK(m.trained_floats < m.param_floats);
    CHECK_INT(m.memory.averages, (size_t)m.trained_floats * sizeof(float));
    ema_train(&m, 0, 3);
    before = tfn_model_hash(&m);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        float *average = m.averages;
        if (!p.grad) continue;
        average += p.grad - tfn_model_gradients(&m, NULL);
        if (strstr(p.name, "ffn.w1.weight"))
            CHECK(memcmp(p.data, average, (size_t)(p.rows * p.cols) * sizeof(float)));
    }
    CHECK(tfn_model_swap_ema(&m) == TFN_OK && tfn_model_hash(&m) == before);
    tfn_model_free(&m);
}

/* nGPT's weights have length 1, and their averages, too. */
TEST(ema_unit_weights)
{
    const tfn_model_desc d = ema_desc("ngpt");
    tfn_model m;
    tfn_param_info p;
    int rows = 0;
    if (!batch_open(&m, &d)) return;
    ema_train(&m, 0, 4);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(&m, i, &p); i++) {
        if (strcmp(p.name, "embedding.weight")) continue;
        for (int32_t r = 0; r < p.rows; r++, rows++) {
            double sum = 0;
            for (int32_t c = 0; c < p.cols; c++)
                sum += (double)p.data[r * p.cols + c] * (double)p.data[r * p.cols + c];
            CHECK_CLOSE(sum, 1, 1e-5);
        }
    }
    CHECK_INT(rows, EMA_V);
    tfn_model_free(&m);
}

/* -- swapping ---------------------------------------------------------------------------------- */

/* Swapping twice gives the same bits, and the run continues unaffected. Between the two calls the
 * loss is that with the averages, and training is refused. */
static void ema_exchange(tfn_model_desc d)
{
    tfn_model m;
    tfn_model other;
    tfn_report report;
    char text[200];
    uint64_t before;
    double loss;
    const int stop = 3 * d.micro_batches + d.micro_batches / 2;
    if (!batch_open(&m, &d) || !batch_open(&other, &d)) return;
    before = tfn_model_hash(&m);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK && tfn_model_hash(&m) == before);
    ema_train(&m, 0, stop);
    ema_train(&other, 0, stop);
    before = tfn_model_hash(&m);
    loss = ema_loss(&m);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK);
    CHECK(tfn_model_hash(&m) != before && ema_loss(&m) != loss);
    CHECK(ema_call(&m, 9, &report, true) == TFN_BAD_BATCH);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "tfn_model_swap_ema") != NULL);
    CHECK(tfn_model_update(&m, NULL, (float)0.1, NULL) == TFN_BAD_BATCH);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK);
    CHECK(tfn_model_hash(&m) == before && ema_loss(&m) == loss);
    ema_train(&m, stop, 6 * d.micro_batches);
    ema_train(&other, stop, 6 * d.micro_batches);
    CHECK(tfn_model_hash(&m) == tfn_model_hash(&other) && ema_hash(&m) == ema_hash(&other));
    tfn_model_free(&m);
    tfn_model_free(&other);
}
TEST(ema_exchanged)
{
    static const char *const recipes[] = {
        "pre", "post", "admin", "batchnorm", "sigma-reparam", "ngpt"
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        tfn_model_desc d = ema_desc(recipes[i]);
        d.half = i % 3 == 1;
        d.micro_batches = 1 + (int32_t)(i % 2);
        CASE("%s", recipes[i]);
        ema_exchange(d);
    }
}

TEST(ema_refused)
{
    tfn_model_desc d = ema_desc("pre");
    tfn_model m;
    char text[200];
    d.ema = 0;
    if (!batch_open(&m, &d)) return;
    CHECK(tfn_model_swap_ema(&m) == TFN_BAD_BATCH);
    CHECK(strstr(tfn_error_text(&m.error, text, sizeof text), "desc.ema is 0") != NULL);
    ema_train(&m, 0, 1);                            /* training still works */
    tfn_model_free(&m);
    d.ema = 0.5f;
    d.inference = true;
    if (!batch_open(&m, &d)) return;
    CHECK(!m.averages && m.memory.averages == 0);
    CHECK(tfn_model_swap_ema(&m) == TFN_BAD_BATCH);
    tfn_model_free(&m);
}

/* A skipped update changes neither the averages nor their warm-up. */
TEST(ema_skipped)
{
    const tfn_model_desc d = ema_desc("pre");
    tfn_model m;
    tfn_model other;
    tfn_report report;
    const tfn_sums bad = { (double)NAN, 1, 5 };
    if (!batch_open(&m, &d) || !batch_open(&other, &d)) return;
    for (int i = 0; i < 4; i++) {
        ema_train(&m, i, i + 1);
        ema_train(&other, i, i + 1);
        CHECK(tfn_model_update(&m, &bad, 1, &report) == TFN_OK && report.skipped);
        CHECK_BITS(m.averages, other.averages, m.memory.averages);
        CHECK_BITS(m.moments, other.moments, m.memory.moments);
    }
    tfn_model_free(&m);
    tfn_model_free(&other);
}

/* -- files ------------------------------------------------------------------------------------- */

typedef struct ema_file { tfn_file file; void *bytes; } ema_file;

static ema_file ema_save(const tfn_model *m, bool weights_only)
{
    tfn_checkpoint with = { NULL, NULL, weights_only };
    ema_file f;
    memset(&f, 0, sizeof f);
    CHECK(tfn_model_save(&f.file, m, &with) == TFN_OK);
    f.bytes = malloc((size_t)f.file.used);
    f.file.to = f.bytes;
    f.file.to_size = (size_t)f.file.used;
    CHECK(tfn_model_save(&f.file, m, &with) == TFN_OK);
    f.file.from = f.bytes;
    f.file.from_size = (size_t)f.file.used;
    f.file.to = NULL;
    f.file.to_size = 0;
    return f;
}
static void ema_same_file(const ema_file *a, const ema_file *b)
{
    CHECK_INT(a->file.from_size, b->file.from_size);
    if (a->file.from_size == b->file.from_size)
        CHECK_BITS(a->bytes, b->bytes, a->file.from_size);
}

/* Saved after `stop` batches, swapped or not, the file is the same. Loaded and trained further, it
 * gives the file of a run without interruption. */
static void ema_resume(const tfn_model_desc *d, int stop)
{
    tfn_model whole;
    tfn_model first;
    tfn_model second;
    ema_file file, swapped, ends[2];
    if (!batch_open(&whole, d) || !batch_open(&first, d) || !batch_open(&second, d)) return;
    ema_train(&whole, 0, 9);
    ema_train(&first, 0, stop);
    file = ema_save(&first, false);
    CHECK(tfn_model_swap_ema(&first) == TFN_OK);
    swapped = ema_save(&first, false);
    ema_same_file(&file, &swapped);
    ema_train(&second, 0, 5);                       /* to be overwritten */
    CHECK(tfn_model_swap_ema(&second) == TFN_OK);
    CHECK(tfn_model_load(&second, &file.file) == TFN_OK);
    ema_train(&second, stop, 9);
    ends[0] = ema_save(&whole, false);
    ends[1] = ema_save(&second, false);
    ema_same_file(&ends[0], &ends[1]);
    CHECK(ema_hash(&whole) == ema_hash(&second));
    free(file.bytes);
    free(swapped.bytes);
    free(ends[0].bytes);
    free(ends[1].bytes);
    tfn_model_free(&whole);
    tfn_model_free(&first);
    tfn_model_free(&second);
}
TEST(ema_resumed)
{
    static const int stops[] = { 0, 1, 4, 7 };
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        tfn_model_desc d = ema_desc(i % 2 ? "sigma-reparam" : "admin");
        d.micro_batches = 2;
        snprintf(d.groups[0].pattern, sizeof d.groups[0].pattern, "*.1.*");
        d.groups[0].frozen = i > 1;
        d.half = i == 2;
        CASE("%d batches", stops[i]);
        ema_resume(&d, stops[i]);
    }
}

/* weights_only saves whichever weights are in place. A model for inference takes the averages of a
 * training checkpoint, or the weights if it asks for them. */
TEST(ema_inference)
{
    tfn_model_desc d = ema_desc("batchnorm");
    tfn_model m;
    tfn_model reader;
    ema_file file, averages;
    uint64_t hash, average;
    int64_t step;
    if (!batch_open(&m, &d)) return;
    ema_train(&m, 0, 4);
    hash = tfn_model_hash(&m);
    average = ema_hash(&m);
    file = ema_save(&m, false);
    CHECK(tfn_model_swap_ema(&m) == TFN_OK);
    averages = ema_save(&m, true);
    tfn_model_free(&m);

    CHECK(tfn_model_peek(&file.file, &d, &step) == TFN_OK);
    CHECK(step == 4);
    if (!ema_free) CHECK(d.ema == 0.5f);
    d.inference = true;
    for (int i = 0; i < 3; i++) {
        tfn_file *from = i == 1 ? &averages.file : &file.file;
        if (ema_free && i == 2) d.optimizer = TFN_OPTIMIZER_ADAMW;
        if (!ema_free) d.ema = i == 2 ? 0 : 0.5f;
        CASE("file %d", i);
        if (!batch_open(&reader, &d)) return;
        CHECK(tfn_model_load(&reader, from) == TFN_OK);
        CHECK(tfn_model_hash(&reader) == (i == 2 ? hash : average));
        CHECK(tfn_model_load_weights(&reader, from, 1) == TFN_OK);
        CHECK(tfn_model_hash(&reader) == (i == 2 ? hash : average));
        tfn_model_free(&reader);
    }
    free(file.bytes);
    free(averages.bytes);
}

/* A run with averages cannot be resumed without them, nor the reverse. */
TEST(ema_same_option)
{
    tfn_model_desc d = ema_desc("pre");
    tfn_model m;
    ema_file file;
    char text[200];
    if (!batch_open(&m, &d)) return;
    ema_train(&m, 0, 2);
    file = ema_save(&m, false);
    tfn_model_free(&m);
    d.ema = 0;
    if (!batch_open(&m, &d)) return;
    CHECK(tfn_model_load(&m, &file.file) == TFN_BAD_SHAPE);
    CHECK(strstr(tfn_error_text(&file.file.error, text, sizeof text), "ema is 0.5") != NULL);
    tfn_model_free(&m);
    free(file.bytes);
}

/* -- memory and bits --------------------------------------------------------------------------- */

TEST(ema_memory)
{
    tfn_model_desc d = ema_desc("pre");
    const size_t scratch_size = tfn_model_scratch(&d);
    void *scratch = malloc(scratch_size);
    const size_t with = tfn_model_size(&d, scratch, scratch_size);
    size_t without;
    unsigned char *block = (unsigned char *)malloc(with);
    tfn_model m;
    d.ema = 0;
    without = tfn_model_size(&d, scratch, scratch_size);
    d.ema = 0.5f;
    CHECK(tfn_model_init(&m, &d, block, with - 1) == TFN_NO_MEMORY);
    CHECK(tfn_model_init(&m, &d, block, with) == TFN_OK);
    CHECK_INT(m.memory.averages, (size_t)m.param_floats * sizeof(float));
    CHECK_INT(with - without, m.memory.averages + (0 - m.memory.averages) % 64);
    ema_train(&m, 0, 2);
    CHECK(m.averages + m.param_floats <= (float *)(void *)(block + with));
    free(scratch);
    free(block);
}

TEST(ema_bits)
{
    tfn_model_desc d = ema_desc("pre");
    uint64_t first = 0;
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++)
        for (int threads = 1; threads <= EMA_STEPS; threads += 2) {
            tfn_model m;
            if (!tfn_kernels_for((tfn_isa)isa)) continue;
            if (strcmp(tfn_bits((tfn_isa)isa), "canonical")) continue;
            d.isa = (tfn_isa)isa;
            d.threads = HOOK_THREADS(threads);
            CASE("instruction set %d, %d threads", isa, threads);
            if (!batch_open(&m, &d)) return;
            ema_train(&m, 0, EMA_STEPS);
            if (!first) first = ema_hash(&m);
            CHECK(ema_hash(&m) == first);
            tfn_model_free(&m);
        }
}

/* -- schedule-free AdamW, whose averages are x ------------------------------------------------- */

/* x is the average of all z, weighted by the squares of the rates with v's correction; the
 * parameters are y, between both. */
TEST(free_points)
{
    tfn_model_desc d;
    tfn_model m;
    double *x;
    double sum = 0;
    ema_free = true;
    d = ema_desc("pre");
    ema_free = false;
    if (!batch_open(&m, &d)) return;
    x = (double *)calloc((size_t)m.param_floats, sizeof *x);
    for (int t = 1; t <= EMA_UPDATES; t++) {
        const double warm = t < 3 ? t / 3.0 : 1;
        const double rate = 1e-2 * warm * sqrt(1 - pow(0.98, t));
        sum += rate * rate;
        ema_train(&m, t, t + 1);
        for (int64_t i = 0; i < m.param_floats; i++) {
            const double z = (double)m.moments[i];
            x[i] += rate * rate / sum * (z - x[i]);
            CHECK_CLOSE((double)m.averages[i], x[i], 1e-6);
            CHECK_CLOSE((double)m.params[i], 0.9 * x[i] + 0.1 * z, 1e-6);
        }
    }
    free(x);
    tfn_model_free(&m);
}

TEST(free_refused)
{
    tfn_model_desc d = ema_desc("pre");
    tfn_error e;
    char text[200];
    d.optimizer = TFN_OPTIMIZER_SCHEDULE_FREE;
    CHECK(!tfn_model_resolve(&d, &d, &e) && e.status == TFN_BAD_OPTION);
    CHECK(strstr(tfn_error_text(&e, text, sizeof text), "ema must be 0") != NULL);
}

/* Tests of averages that also hold for these. */
static void free_as(void (*test)(void))
{
    ema_free = true;
    test();
    ema_free = false;
}
TEST(free_exchanged) { free_as(ema_exchanged); }
TEST(free_skipped)   { free_as(ema_skipped); }
TEST(free_resumed)   { free_as(ema_resumed); }
TEST(free_inference) { free_as(ema_inference); }
TEST(free_bits)      { free_as(ema_bits); }

int main(void)
{
    RUN(ema_formula);
    RUN(ema_golden);
    RUN(ema_frozen);
    RUN(ema_unit_weights);
    RUN(ema_exchanged);
    RUN(ema_refused);
    RUN(ema_skipped);
    RUN(ema_resumed);
    RUN(ema_inference);
    RUN(ema_same_option);
    RUN(ema_memory);
    RUN(ema_bits);
    RUN(free_points);
    RUN(free_refused);
    RUN(free_exchanged);
    RUN(free_skipped);
    RUN(free_resumed);
    RUN(free_inference);
    RUN(free_bits);
    return DONE();
}
