/* cc -O2 examples/04_language_model.c -o language_model -lm && ./language_model [text file]
 * A language model of the bytes of a text, by default 04_language_model.txt. Ctrl-C stops it early.
 * Prints:
 *     held-out 2.2118 bits per byte
 *     ... */
#ifdef _REENTRANT
#include "../tools/common/threads.h"
#endif
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 8, CONTEXT = 64, STEPS = 1200, BLOCK = 1024, SAMPLE = 300 };

static unsigned char text[1 << 22];
static long size;
static int32_t tokens[BATCH * CONTEXT], targets[BATCH * CONTEXT];
static volatile sig_atomic_t stopped;

static void stop(int sig) { stopped = sig; }

static bool read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f) size = (long)fread(text, 1, sizeof text, f), fclose(f);
    return size >= 10 * BLOCK;
}

/* Every tenth block is held out: training never sees a byte of it. */
static bool held_out(long at) { return at / BLOCK % 10 == 9; }

/* Sentence b of the batch: the bytes from `at` on, each with the next byte as its target. */
static void cut(int b, long at)
{
    for (int t = 0; t < CONTEXT; t++)
        tokens[b*CONTEXT + t] = text[at + t], targets[b*CONTEXT + t] = text[at + t + 1];
}

static void cut_randomly(tfn_key key)
{
    for (uint64_t b = 0, i = 0; b < BATCH; i++) {
        long at = (long)(tfn_random_bits(key, i) % (uint64_t)(size - CONTEXT));
        if (!held_out(at) && !held_out(at + CONTEXT)) cut((int)b++, at);
    }
}

/* Bits per byte over all held-out bytes, each predicted from those before it in its window. */
static double evaluate(tfn_model *m, tfn_batch batch)
{
    double nats = 0, bytes = 0;
    tfn_report r;
    batch.batch = 1;
    for (long at = 9*BLOCK; at + CONTEXT <= size; at += CONTEXT) {
        if (!held_out(at)) continue;
        cut(0, at - 1);
        if (tfn_model_eval(m, &batch, &r) != TFN_OK) break;
        if (r.tokens) nats += r.loss * (double)r.tokens;
        bytes += (double)r.tokens;
    }
    return nats / bytes / 0.69314718;
}

/* Continue the middle of the text byte by byte; when the context is full, keep its later half. */
static void write_text(tfn_decoder *d)
{
    int32_t past[SAMPLE] = { 0 };
    for (int i = 0; i < CONTEXT/2; i++) putchar(past[i] = text[size/2 + i]);
    for (int n = CONTEXT/2, from = 0, fed = 0; n < SAMPLE; fed = n++) {
        if (n - from > CONTEXT) from = fed = n - CONTEXT/2, tfn_decoder_start(d, NULL);
        const float *logits = tfn_decoder_next(d, past + fed, n - fed, NULL);
        float p[256], u = tfn_random_uniform(tfn_key_make(1), (uint64_t)n);
        for (int i = 0; i < 256; i++) p[i] = logits[i] / 0.7f;
        d->model->kernels->softmax_forward(p, p, 1, 256);
        while (past[n] < 255 && (u -= p[past[n]]) >= 0) past[n]++;
        putchar(past[n]);
    }
}

int main(int argc, char **argv)
{
    tfn_model_desc desc = { .vocab = 256, .context = CONTEXT, .batch = BATCH, .heads = 4,
        .position = TFN_POSITION_ROTARY, .clip = 1, .isa = tfn_isa_find(getenv("TFNORM_ISA")),
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 4e-3f, .warmup = 40, .steps = STEPS },
        .threads = getenv("TFNORM_THREADS") ? atoi(getenv("TFNORM_THREADS")) : 0 };
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = CONTEXT };
    tfn_model m;
    tfn_decoder d;
    tfn_report r;
    time_t start = time(NULL);
    if (argc > 1 ? !read_text(argv[1]) : !read_text("examples/04_language_model.txt")
                                         && !read_text("04_language_model.txt"))
        return fprintf(stderr, "a text of at least 10 KB is expected\n"), 1;
    tfn_model_new(&m, &desc, NULL);
    signal(SIGINT, stop);
    for (int i = 1; i <= STEPS && !stopped && m.error.status == TFN_OK; i++) {
        cut_randomly(tfn_key_fold(tfn_key_make(0), (uint64_t)i));
        tfn_model_step(&m, &batch, &r);
        if (i % (STEPS / 10)) continue;
        fprintf(stderr, "step %d of %d: %.2f bits per byte, %.0f s left\n", i, STEPS,
                r.loss / 0.69314718, difftime(time(NULL), start) / i * (STEPS - i));
    }
    size_t bytes = tfn_model_scratch(&desc);
    void *mem = malloc(bytes);
    bytes = tfn_decoder_size(&m, 1, CONTEXT/2, mem, bytes);
    if (tfn_decoder_init(&d, &m, 1, CONTEXT/2, mem = realloc(mem, bytes), bytes) != TFN_OK)
        return fprintf(stderr, "%s\n", tfn_error_text(&d.error, (char *)text, sizeof text)), 1;
    printf("held-out %.4f bits per byte\n", evaluate(&m, batch));
    write_text(&d);
    printf("\nhash %016llX\nbits %s\n", (unsigned long long)tfn_model_hash(&m), tfn_bits(desc.isa));
}
