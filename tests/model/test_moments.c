/* Moments of 16 and 8 bits (desc.moment_type): their stored form; that they are right on average
 * where rounding to nearest would freeze; exact memory; equal bits over threads and instruction
 * sets; resumed runs; groups and LoRA; the loss compared with floats; refused combinations. */
#include <math.h>
#include "../lib.h"
#include "../check.h"
#include "../batch.h"

enum { MOMENTS_V = 24, MOMENTS_T = 16, MOMENTS_B = 8, MOMENTS_TYPES = TFN_MOMENT_TYPE_COUNT };

static const char *const moments_names[] = { "float32", "bf16", "fp8" };

static tfn_model_desc moments_desc(tfn_moment_type type)
{
    tfn_model_desc d = { 0 };
    d.recipe = "pre";
    d.vocab = 11;
    d.context = 5;
    d.width = 20;
    d.heads = 2;
    d.ffn = 36;
    d.batch = BATCH_MOST;
    d.threads = 1;
    d.dropout = 0.125f;
    d.clip = 0.5f;
    d.ema = 0.5f;
    d.decay = 0.01f;
    d.schedule.lr = 1e-2f;
    d.moment_type = type;
    return d;
}

static void moments_train(tfn_model *m, int first, int last)
{
    for (int i = first; i < last; i++) {
        batch_room b;
        batch_fill(&b, &m->desc, (uint64_t)i);
        CHECK(tfn_model_step(m, &b.batch, NULL) == TFN_OK);
    }
}

/* An update that moves no weight, from a gradient that is set by hand. All but one of 32 numbers
 * have size `scale`. */
static void moments_update(tfn_model *m, int step, float scale, float largest)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(7), (uint64_t)step);
    const tfn_sums sums = { 1, 1, 1 };
    tfn_report report;
    int64_t floats;
    float *g = tfn_model_gradients(m, &floats);
    for (int64_t i = 0; i < floats; i++) {
        const float size = (float)(1 + i % 13) * (i % 32 ? scale : largest);
        g[i] = size * tfn_random_normal(key, (uint64_t)i);
    }
    CHECK(tfn_model_update(m, &sums, 0, &report) == TFN_OK && report.updated);
}

/* -- memory -------------------------------------------------------------------------------- */

/* Bytes of one moment of n numbers: 2 each, or 33 for 32 of them, at a multiple of 64. */
static size_t moments_bytes(int64_t n, tfn_moment_type type)
{
    size_t bytes = 4 * (size_t)n;
    if (type == TFN_MOMENT_TYPE_BF16) bytes = 2 * (size_t)n;
    if (type == TFN_MOMENT_TYPE_FP8) bytes = (size_t)((n + 31) / 32) * 33;
    return (bytes + 63) / 64 * 64;
}

TEST(moments_memory)
{
    static const tfn_optimizer takers[] = {
        TFN_OPTIMIZER_SGD, TFN_OPTIMIZER_ADAM, TFN_OPTIMIZER_ADAMW, TFN_OPTIMIZER_RADAM,
        TFN_OPTIMIZER_LION
    };
    static const int each[] = { 1, 2, 2, 2, 1 };
    for (size_t k = 0; k < sizeof takers / sizeof *takers; k++)
        for (int type = 0; type < MOMENTS_TYPES; type++) {
            tfn_model_desc d = moments_desc((tfn_moment_type)type);
            tfn_model m;
            tfn_model less;
            tfn_param_info info;
            size_t wanted = 0;
            d.optimizer = takers[k];
            d.beta1 = 0.9f;
            CASE("optimizer %d, %s", (int)takers[k], moments_names[type]);
            snprintf(d.groups[0].pattern, sizeof d.groups[0].pattern, "*.0.*");
            d.groups[0].frozen = true;
            if (!batch_open(&m, &d)) return;
            for (int32_t i = 0; tfn_model_param(&m, i, &info); i++)
                if (info.grad)
                    wanted += (size_t)each[k] * moments_bytes((int64_t)info.rows * info.cols,
                                                              (tfn_moment_type)type);
            CHECK_INT(m.memory.moments, wanted);
            CHECK(tfn_model_init(&less, &d, m.mem, m.mem_size - 1) == TFN_NO_MEMORY);
            CHECK(tfn_model_init(&less, &d, m.mem, m.mem_size) == TFN_OK);
            moments_train(&less, 0, 3);
            tfn_model_free(&m);
        }
}

/* -- stored values ------------------------------------------------------------------------- */

typedef struct moments_file { tfn_file file; void *bytes; } moments_file;

static moments_file moments_save(const tfn_model *m)
{
    moments_file f;
    memset(&f, 0, sizeof f);
    CHECK(tfn_model_save(&f.file, m, NULL) == TFN_OK);
    f.bytes = malloc((size_t)f.file.used);
    f.file.to = f.bytes;
    f.file.to_size = (size_t)f.file.used;
    CHECK(tfn_model_save(&f.file, m, NULL) == TFN_OK);
    f.file.from = f.bytes;
    f.file.from_size = (size_t)f.file.used;
    f.file.to = NULL;
    f.file.to_size = 0;
    return f;
}

/* Number i in FP8's bytes, by the formula in the header. *gap: the distance of codes there. */
static double moments_fp8(const uint8_t *bytes, int64_t count, int64_t i, int which, double *gap)
{
    const int64_t blocks = (count + 31) / 32;
    const int exponent = bytes[32*blocks + i/32] - 127;
    const int bits = 3 + which;
    const int code = which ? bytes[i] : bytes[i] & 127;
    const int e = code >> bits;
    const int f = code & ((1 << bits) - 1);
    double x;
    *gap = ldexp(1, exponent + (e ? e : 1) - 14 - bits);
    if (e) x = ldexp(1 + ldexp(f, -bits), exponent + e - 14);
    else x = ldexp(ldexp(f, -bits), exponent - 13);
    if (!which && bytes[i] & 128) return -x;
    return x;
}

/* After one update the moments equal those in floats, each rounded up or down by one code. */
static void moments_compare(tfn_file *f, tfn_file *plain, const char *name, int which)
{
    char text[128];
    tfn_tensor t, own;
    uint8_t bytes[4096];
    float wanted[4096];
    snprintf(text, sizeof text, "training.moment%d.%s", which + 1, name);
    CHECK(tfn_file_find(f, text, &t) && tfn_file_find(plain, text, &own));
    if (own.count > 4000) return;
    CHECK(own.dtype == TFN_DTYPE_F32 && t.dtype == TFN_DTYPE_U8);
    CHECK_INT(t.count, (own.count + 31) / 32 * 33);
    memcpy(bytes, (const uint8_t *)f->from + t.at, (size_t)t.count);
    CHECK(tfn_file_read(plain, &own, wanted, 0, own.count) == TFN_OK);
    for (int64_t i = 0; i < own.count; i++) {
        double gap;
        const double x = moments_fp8(bytes, own.count, i, which, &gap);
        const double y = which ? sqrt((double)wanted[i]) : (double)wanted[i];
        if (which && !(y > 0)) CHECK(!(x > 0));
        if (which && y > 0) CHECK(x > 0);
        if (!(fabs(x - y) <= gap * 1.0001)) FAIL("%s %d: %g, not %g", text, (int)i, x, y);
    }
}

static void moments_compare_all(const tfn_model *m, const tfn_model *plain)
{
    tfn_param_info info;
    moments_file f = moments_save(m);
    moments_file g = moments_save(plain);
    CHECK(tfn_file_open(&f.file) == TFN_OK && tfn_file_open(&g.file) == TFN_OK);
    for (int32_t i = 0; tfn_model_param(m, i, &info); i++) {
        if (!info.grad) continue;
        moments_compare(&f.file, &g.file, info.name, 0);
        moments_compare(&f.file, &g.file, info.name, 1);
    }
    tfn_file_close(&f.file);
    tfn_file_close(&g.file);
    free(f.bytes);
    free(g.bytes);
}

/* Gradients of a batch; then gradients in which one number of each block is ten million times the
 * others, whose second moments must not become 0. The first update has the bits of floats. */
TEST(moments_form)
{
    const tfn_model_desc d = moments_desc(TFN_MOMENT_TYPE_FP8);
    const tfn_model_desc floats = moments_desc(TFN_MOMENT_TYPE_FLOAT);
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        tfn_model m, plain;
        if (!batch_open(&m, &d) || !batch_open(&plain, &floats)) return;
        if (by_hand) {
            moments_update(&m, 0, 1e-8f, 0.1f);
            moments_update(&plain, 0, 1e-8f, 0.1f);
        } else {
            moments_train(&m, 0, 1);
            moments_train(&plain, 0, 1);
        }
        CHECK(tfn_model_hash(&m) == tfn_model_hash(&plain));
        moments_compare_all(&m, &plain);
        moments_train(&m, 1, 2);
        moments_train(&plain, 1, 2);
        CHECK(tfn_model_hash(&m) != tfn_model_hash(&plain));
        tfn_model_free(&m);
        tfn_model_free(&plain);
    }
}

/* An update of n numbers changes no others, even if the last block is not full. It writes at most
 * 512 floats of scratch, and whole blocks of codes. */
TEST(moments_update_exactly)
{
    enum { N = 70, BLOCKS = (N + 31) / 32, WORK = 512 };
    for (int type = TFN_MOMENT_TYPE_BF16; type < MOMENTS_TYPES; type++)
        for (int n = 0; n <= N; n++) {
            const int codes = type == TFN_MOMENT_TYPE_BF16 ? 2 * n : (n + 31) / 32 * 32;
            uint16_t data[2][BLOCKS * 32 + 1];
            uint8_t exponents[2][BLOCKS + 1];
            float p[N + 1], g[N], work[WORK + 1];
            tfn_packed_moments m = { 0 };
            tfn_update_args u = { 0 };
            CASE("%s, %d numbers", moments_names[type], n);
            memset(data, 0x3f, sizeof data);
            memset(exponents, 0x3f, sizeof exponents);
            for (int i = 0; i <= N; i++) p[i] = -7;
            for (int i = 0; i < N; i++) g[i] = 1;
            work[WORK] = -7;
            m.type = (tfn_moment_type)type;
            for (int k = 0; k < 2; k++) {
                m.data[k] = data[k];
                m.exponents[k] = exponents[k];
            }
            u.optimizer = TFN_OPTIMIZER_ADAM;
            u.lr = 0.1f;
            u.beta1 = 0.5f;
            u.beta2 = 0.5f;
            u.eps = 1e-8f;
            u.grad_scale = 1;
            tfn_update_at(&u, 1);
            tfn_kernels_for(TFN_ISA_BEST)->update_packed(p, g, &m, n, &u, work);
            for (int i = 0; i <= N; i++) CHECK((p[i] == -7) == (i >= n));
            CHECK(work[WORK] == -7);
            for (int k = 0; k < 2; k++) {
                CHECK(exponents[k][(n + 31) / 32] == 0x3f);
                CHECK(((uint8_t *)data[k])[codes] == 0x3f);
            }
        }
}

/* Sums over all weights of the root and the size of the moments, read from a file as floats, and
 * the difference from another run's. */
typedef struct moments_sums { double roots, sizes, error; } moments_sums;

static void moments_add(moments_sums *s, const tfn_model *m, tfn_file *f, tfn_file *plain)
{
    static float x[4096];
    static float y[4096];
    tfn_param_info info;
    for (int32_t i = 0; tfn_model_param(m, i, &info); i++) {
        const int64_t n = (int64_t)info.rows * info.cols;
        for (int which = 0; which < 2 && info.grad; which++) {
            char text[128];
            double gap;
            tfn_tensor t, own;
            snprintf(text, sizeof text, "training.moment%d.%s", which + 1, info.name);
            if (!tfn_file_find(f, text, &t) || !tfn_file_find(plain, text, &own) || n > 4096) {
                FAIL("%s", text);
                return;
            }
            CHECK(tfn_file_read(plain, &own, y, 0, n) == TFN_OK);
            if (t.dtype != TFN_DTYPE_U8) CHECK(tfn_file_read(f, &t, x, 0, n) == TFN_OK);
            for (int64_t k = 0; k < n; k++) {
                if (t.dtype == TFN_DTYPE_U8) {
                    const uint8_t *bytes = (const uint8_t *)f->from + t.at;
                    const double code = moments_fp8(bytes, n, k, which, &gap);
                    x[k] = (float)(which ? code * code : code);
                }
                if (which) s->roots += sqrt((double)x[k]);
                else s->sizes += fabs((double)x[k]);
                if (!which) s->error += fabs((double)x[k] - (double)y[k]);
            }
        }
    }
}

static moments_sums moments_of(const tfn_model *m, const tfn_model *plain)
{
    moments_sums s = { 0, 0, 0 };
    moments_file f = moments_save(m);
    moments_file g = moments_save(plain);
    CHECK(tfn_file_open(&f.file) == TFN_OK && tfn_file_open(&g.file) == TFN_OK);
    moments_add(&s, m, &f.file, &g.file);
    tfn_file_close(&f.file);
    tfn_file_close(&g.file);
    free(f.bytes);
    free(g.bytes);
    return s;
}

/* Hundreds of updates with beta2 = 0.999 while all weights stay, so that gradients repeat:
 * gradients of one size, then of a tenth, as late in a run. The second moment must grow and decay
 * like that of floats. With rounding to nearest, sqrt(v) was 1.01 and 2.05 times floats' (bf16),
 * 0.62 and 1.25 times (fp8). */
TEST(moments_mean)
{
    for (int type = 1; type < MOMENTS_TYPES; type++) {
        tfn_model_desc d = moments_desc((tfn_moment_type)type);
        tfn_model_desc floats;
        tfn_model m, plain;
        d.optimizer = TFN_OPTIMIZER_ADAM;
        d.beta2 = 0.999f;
        d.layers = 1;
        d.decay = 0;
        d.ema = 0;
        d.clip = 0;
        floats = d;
        floats.moment_type = TFN_MOMENT_TYPE_FLOAT;
        if (!batch_open(&m, &d) || !batch_open(&plain, &floats)) return;
        for (int part = 0; part < 2; part++) {
            const int updates = part ? 1500 : 500;
            moments_sums s, p;
            CASE("%s, part %d", moments_names[type], part);
            for (int i = 0; i < updates; i++) {
                const float scale = part ? 0.001f : 0.01f;
                moments_update(&m, 2000 * part + i, scale, scale);
                moments_update(&plain, 2000 * part + i, scale, scale);
            }
            s = moments_of(&m, &plain);
            p = moments_of(&plain, &plain);
            printf("  %s, %d updates: sqrt(v) %.3f of floats', |m| %.3f, m is off by %.3f\n",
                   moments_names[type], updates, s.roots / p.roots, s.sizes / p.sizes,
                   s.error / p.sizes);
            CHECK(fabs(s.roots / p.roots - 1) < (type == TFN_MOMENT_TYPE_BF16 ? 0.01 : 0.05));
            CHECK(fabs(s.sizes / p.sizes - 1) < 0.03);
            CHECK(s.error / p.sizes < (type == TFN_MOMENT_TYPE_BF16 ? 0.02 : 0.15));
        }
        tfn_model_free(&m);
        tfn_model_free(&plain);
    }
}

/* -- the loss ------------------------------------------------------------------------------ */

/* A chain of words: three times in four the next word is the word's own follower. */
static void moments_chain(int32_t *tokens, int32_t *targets, uint64_t seed)
{
    const tfn_key key = tfn_key_make(seed);
    for (int b = 0; b < MOMENTS_B; b++) {
        int32_t word = (int32_t)(tfn_random_bits(key, (uint64_t)(1000 + b)) % MOMENTS_V);
        for (int t = 0; t < MOMENTS_T; t++) {
            const uint64_t bits = tfn_random_bits(key, (uint64_t)(b * MOMENTS_T + t));
            tokens[b * MOMENTS_T + t] = word;
            if (bits % 4) word = (word * 7 + 5) % MOMENTS_V;
            else word = (int32_t)((bits >> 8) % MOMENTS_V);
            targets[b * MOMENTS_T + t] = word;
        }
    }
}

static double moments_loss(tfn_optimizer optimizer, tfn_moment_type type, int updates)
{
    tfn_model_desc d = { 0 };
    int32_t tokens[MOMENTS_B * MOMENTS_T];
    int32_t targets[MOMENTS_B * MOMENTS_T];
    tfn_batch b = { 0 };
    tfn_report report = { 0 };
    tfn_model m;
    double sum = 0;
    d.recipe = "pre";
    d.vocab = MOMENTS_V;
    d.context = MOMENTS_T;
    d.width = 32;
    d.heads = 2;
    d.layers = 1;
    d.batch = MOMENTS_B;
    d.threads = 1;
    d.optimizer = optimizer;
    d.beta1 = 0.9f;
    d.beta2 = 0.999f;
    if (optimizer == TFN_OPTIMIZER_SGD) d.schedule.lr = 0.1f;
    else d.schedule.lr = optimizer == TFN_OPTIMIZER_LION ? 3e-4f : 3e-3f;
    d.moment_type = type;
    if (!batch_open(&m, &d)) return 0;
    b.tokens = tokens;
    b.targets = targets;
    b.batch = MOMENTS_B;
    b.time = MOMENTS_T;
    for (int i = 0; i < updates + 20; i++) {
        moments_chain(tokens, targets, (uint64_t)i);
        if (i < updates) CHECK(tfn_model_step(&m, &b, NULL) == TFN_OK);
        else CHECK(tfn_model_eval(&m, &b, &report) == TFN_OK);
        if (i >= updates) sum += report.loss / 20;
    }
    tfn_model_free(&m);
    return sum;
}

/* On batches that no run has seen. The chain's entropy is 1.30 nats, log 24 is 3.18. The bound is
 * about ten times the differences; with fp8 rounded to nearest, radam is off by 0.007. */
TEST(moments_quality)
{
    static const tfn_optimizer optimizers[] = {
        TFN_OPTIMIZER_SGD, TFN_OPTIMIZER_ADAM, TFN_OPTIMIZER_RADAM, TFN_OPTIMIZER_LION
    };
    for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k++) {
        const char *name = tfn_choice_name("optimizer", (int32_t)optimizers[k]);
        const double plain = moments_loss(optimizers[k], TFN_MOMENT_TYPE_FLOAT, 400);
        CHECK(plain < 2);
        for (int type = 1; type < MOMENTS_TYPES; type++) {
            const double loss = moments_loss(optimizers[k], (tfn_moment_type)type, 400);
            CASE("%s, %s", name, moments_names[type]);
            printf("  %-6s after 400 updates %.4f, floats %.4f\n", moments_names[type], loss,
                   plain);
            CHECK(fabs(loss - plain) < 0.005);
        }
    }
}

/* -- the same bits ------------------------------------------------------------------------- */

TEST(moments_same)
{
    for (int type = 1; type < MOMENTS_TYPES; type++) {
        tfn_model_desc d = moments_desc((tfn_moment_type)type);
        uint64_t wanted[2] = { 0, 0 };              /* without and with a fused multiply-add */
        for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++)
            for (int threads = 1; threads <= 3; threads += 2) {
                const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
                tfn_model m;
                if (!k) continue;
                CASE("%s, %s, %d threads", moments_names[type], k->name, threads);
                d.isa = (tfn_isa)isa;
                d.threads = threads;
                if (!batch_open(&m, &d)) return;
                moments_train(&m, 0, 6);
                if (!wanted[k->fma]) wanted[k->fma] = tfn_model_hash(&m);
                CHECK(tfn_model_hash(&m) == wanted[k->fma]);
                tfn_model_free(&m);
            }
    }
}

/* The same update is rounded in the same way; with another seed it is not. */
TEST(moments_draws)
{
    const tfn_model_desc d = moments_desc(TFN_MOMENT_TYPE_FP8);
    tfn_model a, b;
    if (!batch_open(&a, &d) || !batch_open(&b, &d)) return;
    moments_update(&a, 0, 0.01f, 0.01f);
    moments_update(&b, 0, 0.01f, 0.01f);
    CHECK_BITS(a.moments, b.moments, a.memory.moments);
    tfn_model_free(&b);
    {
        tfn_model_desc other = d;
        other.seed = 5;
        if (!batch_open(&b, &other)) return;
        moments_update(&b, 0, 0.01f, 0.01f);
        CHECK(memcmp(a.moments, b.moments, a.memory.moments) != 0);
        tfn_model_free(&b);
    }
    tfn_model_free(&a);
}

static void moments_resume(const tfn_model_desc *d, int stop)
{
    tfn_model whole, first, second;
    moments_file file, ends[2];
    if (!batch_open(&whole, d) || !batch_open(&first, d) || !batch_open(&second, d)) return;
    moments_train(&whole, 0, 9);
    moments_train(&first, 0, stop);
    file = moments_save(&first);
    moments_train(&second, 0, 5);                   /* to be overwritten */
    CHECK(tfn_model_load(&second, &file.file) == TFN_OK);
    moments_train(&second, stop, 9);
    ends[0] = moments_save(&whole);
    ends[1] = moments_save(&second);
    CHECK_INT(ends[0].file.from_size, ends[1].file.from_size);
    if (ends[0].file.from_size == ends[1].file.from_size)
        CHECK_BITS(ends[0].bytes, ends[1].bytes, ends[0].file.from_size);
    free(file.bytes);
    free(ends[0].bytes);
    free(ends[1].bytes);
    tfn_model_free(&whole);
    tfn_model_free(&first);
    tfn_model_free(&second);
}

/* Micro-batches, so that a stop may be during an update; a method that profiles its first batch,
 * whose copy of the weights uses the moments' memory if it fits; frozen layers; LoRA. */
TEST(moments_resumed)
{
    static const int stops[] = { 0, 1, 4, 7 };
    for (int type = 1; type < MOMENTS_TYPES; type++)
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            tfn_model_desc d = moments_desc((tfn_moment_type)type);
            CASE("%s, %d", moments_names[type], stops[i]);
            d.recipe = i % 2 ? "sigma-reparam" : "admin";
            d.micro_batches = 2;
            if (i == 2) CHECK(tfn_group_add(&d, "*.1.* frozen", NULL));
            if (i == 3) CHECK(tfn_group_add(&d, "*.self.[qv].weight rank=3", NULL));
            moments_resume(&d, stops[i]);
        }
}

/* Two slots in an array: tfn_flash_load returns what tfn_flash_save wrote. */
enum { MOMENTS_PAGE = 512, MOMENTS_PAGES = 96 };
static unsigned char moments_flash[2 * MOMENTS_PAGES * MOMENTS_PAGE];
static bool moments_page_read(void *user, int32_t page, void *to)
{
    (void)user;
    memcpy(to, moments_flash + page * MOMENTS_PAGE, MOMENTS_PAGE);
    return true;
}
static bool moments_page_write(void *user, int32_t page, const void *from)
{
    (void)user;
    memcpy(moments_flash + page * MOMENTS_PAGE, from, MOMENTS_PAGE);
    return true;
}
TEST(moments_in_flash)
{
    static uint64_t work[MOMENTS_PAGE / 8];
    tfn_model_desc d = moments_desc(TFN_MOMENT_TYPE_FP8);
    tfn_flash flash = { 0 };
    tfn_model a, b;
    d.layers = 1;
    d.ema = 0;
    memset(moments_flash, 0xff, sizeof moments_flash);
    flash.page = MOMENTS_PAGE;
    flash.pages = MOMENTS_PAGES;
    flash.work = work;
    flash.read = moments_page_read;
    flash.write = moments_page_write;
    if (!batch_open(&a, &d) || !batch_open(&b, &d)) return;
    moments_train(&a, 0, 3);
    CHECK(tfn_flash_save(&flash, &a) == TFN_OK);
    CHECK(tfn_flash_load(&b, &flash) == TFN_OK);
    moments_train(&a, 3, 6);
    moments_train(&b, 3, 6);
    CHECK(tfn_model_hash(&a) == tfn_model_hash(&b));
    CHECK_BITS(a.moments, b.moments, a.memory.moments);
    tfn_model_free(&b);
    d.moment_type = TFN_MOMENT_TYPE_BF16;           /* other bytes, so another shape */
    if (!batch_open(&b, &d)) return;
    CHECK(tfn_flash_load(&b, &flash) == TFN_NOT_FOUND);
    tfn_model_free(&a);
    tfn_model_free(&b);
}

/* A weight has its own draws, which do not depend on whether another one is frozen. */
TEST(moments_frozen)
{
    tfn_model_desc d = moments_desc(TFN_MOMENT_TYPE_FP8);
    tfn_model all, some;
    tfn_param_info a, b;
    d.clip = 0;                                     /* the norm depends on the weights that train */
    if (!batch_open(&all, &d)) return;
    CHECK(tfn_group_add(&d, "decoder.0.self.* frozen", NULL));
    if (!batch_open(&some, &d)) return;
    moments_train(&all, 0, 1);
    moments_train(&some, 0, 1);
    memcpy(all.params, some.params, some.memory.parameters);
    moments_train(&all, 1, 2);                      /* now the first moments matter */
    moments_train(&some, 1, 2);
    for (int32_t i = 0; tfn_model_param(&all, i, &a) && tfn_model_param(&some, i, &b); i++) {
        CASE("%s", a.name);
        if (b.grad) CHECK_BITS(a.data, b.data, sizeof(float) * (size_t)(a.rows * a.cols));
    }
    tfn_model_free(&all);
    tfn_model_free(&some);
}

/* -- refused ------------------------------------------------------------------------------- */

TEST(moments_refused)
{
    static const tfn_optimizer others[] = {
        TFN_OPTIMIZER_MUON, TFN_OPTIMIZER_ADAFACTOR, TFN_OPTIMIZER_SCHEDULE_FREE
    };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        tfn_model_desc d = moments_desc(TFN_MOMENT_TYPE_BF16);
        tfn_error e;
        tfn_model_desc out;
        d.optimizer = others[k];
        d.ema = 0;
        CHECK(!tfn_model_resolve(&out, &d, &e) && e.status == TFN_BAD_OPTION);
        CHECK(!strcmp(e.name, tfn_choice_name("optimizer", (int32_t)others[k])));
        CHECK(strstr(e.text, "moment_type must be float32") != NULL);
        d.moment_type = TFN_MOMENT_TYPE_FLOAT;
        CHECK(tfn_model_resolve(&out, &d, &e));
        d.moment_type = TFN_MOMENT_TYPE_BF16;       /* ignored */
        d.inference = true;
        CHECK(tfn_model_resolve(&out, &d, &e));
    }
}

/* A run continues with the moments that it has; its weights may be loaded anywhere. */
TEST(moments_other_files)
{
    tfn_model_desc d = moments_desc(TFN_MOMENT_TYPE_BF16);
    tfn_model_desc found = { 0 };
    tfn_model m, other;
    moments_file f;
    char text[300];
    if (!batch_open(&m, &d)) return;
    moments_train(&m, 0, 2);
    f = moments_save(&m);
    CHECK(tfn_model_peek(&f.file, &found, NULL) == TFN_OK);
    CHECK_INT(found.moment_type, TFN_MOMENT_TYPE_BF16);
    d.moment_type = TFN_MOMENT_TYPE_FP8;
    if (!batch_open(&other, &d)) return;
    CHECK(tfn_model_load(&other, &f.file) == TFN_BAD_SHAPE);
    CHECK(strstr(tfn_error_text(&f.file.error, text, sizeof text), "moment_type") != NULL);
    memset(&f.file.error, 0, sizeof f.file.error);
    CHECK(tfn_model_load_weights(&other, &f.file, 1) == TFN_OK);
    CHECK(tfn_model_hash(&m) == tfn_model_hash(&other));
    moments_train(&other, 0, 1);
    free(f.bytes);
    tfn_model_free(&m);
    tfn_model_free(&other);
}

int main(void)
{
    RUN(moments_memory);
    RUN(moments_form);
    RUN(moments_update_exactly);
    RUN(moments_mean);
    RUN(moments_quality);
    RUN(moments_same);
    RUN(moments_draws);
    RUN(moments_resumed);
    RUN(moments_in_flash);
    RUN(moments_frozen);
    RUN(moments_refused);
    RUN(moments_other_files);
    return DONE();
}
