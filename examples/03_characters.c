/* cc -O2 examples/03_characters.c -o characters -lm && ./characters [text file]
 * A language model of characters. The vocabulary is the set of characters of the text, by
 * default 04_language_model.txt. The program trains for some seconds, then writes three lines with
 * the same beginning.
 * Prints:
 *     199836 characters, 97 different
 *     step 100: 4.50 bits per character
 *     ...
 *     step 600: 2.57 bits per character
 *     ... */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, CONTEXT = 64, STEPS = 600, LINES = 3 };

static char text[1 << 22];
static int32_t ids[1 << 22];
static const char prompt[] = "static ";

static size_t read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return size;
}

/* Make a tokenizer from the characters of the text; BPE and words work the same way. */
static bool learn_alphabet(tfn_tokenizer *k, size_t size)
{
    /* rarer: <unk> */
    tfn_tokenizer_desc desc = { .kind = TFN_TOKENIZER_CHARACTERS, .min_count = 5 };
    tfn_trainer trainer;
    size_t bytes = tfn_trainer_size(&desc);
    tfn_trainer_init(&trainer, &desc, malloc(bytes), bytes);
    tfn_trainer_add(&trainer, text, size);
    tfn_trainer_run(&trainer);
    tfn_tokenizer_source source = { .trainer = &trainer };
    bytes = tfn_tokenizer_size(&source);
    return tfn_tokenizer_init(k, &source, malloc(bytes), bytes) == TFN_OK;
}

/* Train on windows of the text, drawn anew for each step; targets are the next characters. */
static void train(tfn_model *m, ptrdiff_t count)
{
    static int32_t tokens[BATCH * CONTEXT], targets[BATCH * CONTEXT];
    tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = BATCH, .time = CONTEXT };
    tfn_report r = { 0 };
    double sum = 0;
    for (int step = 1; step <= STEPS && m->error.status == TFN_OK; step++) {
        tfn_key key = tfn_key_fold(tfn_key_make(0), (uint64_t)step);
        for (int b = 0; b < BATCH; b++) {
            uint64_t at = tfn_random_bits(key, (uint64_t)b) % (uint64_t)(count - CONTEXT);
            memcpy(tokens + b * CONTEXT, ids + at, CONTEXT * sizeof *ids);
            memcpy(targets + b * CONTEXT, ids + at + 1, CONTEXT * sizeof *ids);
        }
        tfn_model_step(m, &batch, &r);
        sum += r.loss / 100;
        if (step % 100) continue;
        printf("step %3d: %.2f bits per character\n", step, sum / 0.69314718);
        sum = 0;
    }
}

static void write_lines(const tfn_model *m, const tfn_tokenizer *k)
{
    int32_t prompts[LINES * sizeof prompt];
    int32_t n = (int32_t)tfn_tokenizer_encode(k, prompts, sizeof prompt, prompt, strlen(prompt));
    for (int i = n; i < LINES * n; i++) prompts[i] = prompts[i - n];
    tfn_batch batch = { .tokens = prompts, .batch = LINES, .time = n };
    tfn_generate_desc how = { .sentences = LINES, .max_tokens = CONTEXT - n, .temperature = 0.7f,
                              .end = tfn_tokenizer_find(k, "\n", 1), .key = tfn_key_make(1) };
    tfn_generator g;
    size_t bytes = tfn_model_scratch(&m->desc);
    bytes = tfn_generator_size(m, &how, malloc(bytes), bytes);
    tfn_generator_init(&g, m, &how, malloc(bytes), bytes);
    tfn_generator_run(&g, &batch, NULL);
    for (int i = 0; i < LINES && g.error.status == TFN_OK; i++) {
        char line[4 * CONTEXT];
        size_t used = tfn_tokenizer_decode(k, line, sizeof line, g.tokens + i * g.most,
                                           g.lengths[i]);
        bool ended = used && line[used - 1] == '\n';
        printf("%s%.*s\n", prompt, (int)(used - ended), line);
    }
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? read_text(argv[1]) : read_text("examples/04_language_model.txt");
    tfn_tokenizer k;
    tfn_model m;
    if (!size || !learn_alphabet(&k, size))
        return fprintf(stderr, "a text is expected; the default is in the folder examples\n"), 1;
    ptrdiff_t count = tfn_tokenizer_encode(&k, ids, sizeof ids / sizeof *ids, text, size);
    tfn_model_desc desc = { .vocab = k.vocab, .context = CONTEXT, .batch = BATCH, .heads = 4,
        .position = TFN_POSITION_ROTARY, .clip = 1,
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 4e-3f, .warmup = 40, .steps = STEPS } };
    if (count <= CONTEXT) return fprintf(stderr, "over %d characters are expected\n", CONTEXT), 1;
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return failed(&m.error);
    printf("%ld characters, %d different\n", (long)count, (int)k.vocab);
    train(&m, count);
    write_lines(&m, &k);
    return 0;
}
