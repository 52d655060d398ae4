/* cc -O2 examples/quickstart.c -o quickstart -lm && ./quickstart [number ...]
 * Learns to spell numbers, character by character: 4207 is "four thousand two hundred seven".
 * One number in ten is held out. At the end the model spells these, and the numbers that you
 * give it. TFNORM_ISA=avx2 or, with -fopenmp or -pthread, TFNORM_THREADS=2 change no bit.
 * Prints:
 *     step 100 of 600: loss 0.0919
 *     ...
 *     9595= nine thousand five hundred ninety five
 *     994 of 1000 numbers that it has never seen are right
 *     hash D9BACC5186AA5DE3
 *     bits canonical */
#ifdef _REENTRANT
#include "../tools/common/threads.h"
#endif
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>

enum { NUMBERS = 10000, PROMPT = 5, TIME = 48, BATCH = 32, STEPS = 600, ASCII = 128 };
static int32_t tokens[BATCH * TIME], targets[BATCH * TIME], numbers[BATCH];

/* The line of a number, such as "0042= forty two\n"; returns its length. */
static int write_line(char *line, int n)
{
    static const char *ones[] = { "", " one", " two", " three", " four", " five", " six", " seven",
        " eight", " nine", " ten", " eleven", " twelve", " thirteen", " fourteen", " fifteen",
        " sixteen", " seventeen", " eighteen", " nineteen" };
    static const char *tens[] = { "", "", " twenty", " thirty", " forty", " fifty", " sixty",
        " seventy", " eighty", " ninety" };
    const int low = n % 100, ten = low < 20 ? 0 : low / 10;
    return sprintf(line, "%04d=%s%s%s%s%s%s%s\n", n, ones[n / 1000], n < 1000 ? "" : " thousand",
                   ones[n / 100 % 10], n / 100 % 10 ? " hundred" : "", tens[ten],
                   ones[low - 10 * ten], n ? "" : " zero");
}

static bool held_out(int n) { return n * 7919 % 10007 % 10 == 1; }      /* 0, "zero", is not */

/* Sentences of numbers that are not held out. The target of a character is the next one, or -1 for
 * digits and characters after the line's end, which are not scored. */
static void fill_batch(tfn_key key)
{
    for (int b = 0, i = 0; b < BATCH; i++) {
        char line[2 * TIME];
        const int n = (int)(tfn_random_bits(key, (uint64_t)i) % NUMBERS);
        const int length = write_line(line, n);
        if (held_out(n)) continue;
        for (int t = 0; t < TIME; t++) {
            tokens[b*TIME + t] = t < length ? line[t] : '\n';
            targets[b*TIME + t] = t + 1 >= PROMPT && t + 1 < length ? line[t + 1] : -1;
        }
        b++;
    }
}

/* Spells `count` numbers side by side and prints the first `shown`; returns how many are right. */
static int spell(tfn_decoder *d, int count, int shown)
{
    char said[BATCH][TIME], line[2 * TIME];
    int32_t next[BATCH * PROMPT];
    int right = 0;
    for (int b = 0; b < BATCH; b++) {
        write_line(line, numbers[b]);
        for (int t = 0; t < PROMPT; t++) next[b*PROMPT + t] = said[b][t] = line[t];
    }
    tfn_decoder_start(d, NULL);
    for (int t = PROMPT; t < TIME; t++) {
        const float *logits = tfn_decoder_next(d, next, t == PROMPT ? PROMPT : 1, NULL);
        for (int b = 0; b < BATCH; b++, logits += ASCII) {
            next[b] = 0;
            for (int v = 1; v < ASCII; v++) if (logits[v] > logits[next[b]]) next[b] = v;
            said[b][t] = (char)next[b];
        }
    }
    for (int b = 0; b < count; b++) {
        const bool same = !memcmp(line, said[b], (size_t)write_line(line, numbers[b]));
        right += same;
        if (b < shown)
            printf("%.*s%s\n", (int)strcspn(said[b], "\n"), said[b], same ? "" : "    <- wrong");
    }
    return right;
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(int argc, char **argv)
{
    tfn_model_desc desc = { .vocab = ASCII, .context = TIME, .batch = BATCH, .heads = 4, .clip = 1,
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 3e-3f, .warmup = 40, .steps = STEPS },
        .isa = tfn_isa_find(getenv("TFNORM_ISA")),
        .threads = getenv("TFNORM_THREADS") ? atoi(getenv("TFNORM_THREADS")) : 0 };
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = TIME };
    tfn_model m;
    tfn_decoder d;
    tfn_report r;
    int asked = 0, right = 0;
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return failed(&m.error);
    for (int i = 1; i <= STEPS; i++) {
        fill_batch(tfn_key_fold(tfn_key_make(0), (uint64_t)i));
        if (tfn_model_step(&m, &batch, &r) != TFN_OK) return failed(&m.error);
        if (i % 100 == 0) printf("step %d of %d: loss %.4f\n", i, STEPS, r.loss);
    }
    size_t bytes = tfn_model_scratch(&desc);
    void *mem = malloc(bytes);
    bytes = tfn_decoder_size(&m, BATCH, PROMPT, mem, bytes);
    if (tfn_decoder_init(&d, &m, BATCH, PROMPT, realloc(mem, bytes), bytes) != TFN_OK) return 1;
    for (int n = 0, count = 0; n < NUMBERS; n++) {
        if (held_out(n)) numbers[count++] = n;
        if (count < BATCH && n < NUMBERS - 1) continue;
        right += spell(&d, count, asked % (3 * BATCH) == 0), asked += count, count = 0;
    }
    printf("%d of %d numbers that it has never seen are right\n", right, asked);
    for (int i = 1; i < argc; i++) numbers[0] = abs(atoi(argv[i])) % NUMBERS, spell(&d, 1, 1);
    printf("hash %016llX\nbits %s\n", (unsigned long long)tfn_model_hash(&m), tfn_bits(desc.isa));
}
