/* cc -O2 -pthread examples/05_words.c tools/common/[a-z]*.c -o words -lm && ./words
 * A language model of words, for an artificial language of 8 words with a known entropy. Each
 * pair of words can be followed by four words, with probabilities 1/2, 1/4, 1/8 and 1/8, an entropy
 * of 1.75 bits. A line has 16 to 32 words; the first two are random. So no model has a perplexity
 * below
 *     exp((2 ln 8 + 22 * 1.75 ln 2 + ln 17) / 25) = 3.85
 * The vocabulary has two clusters (Baevski & Auli 2018): the rarest four words have vectors of a
 * quarter of the width, at the input and in the softmax. In a real vocabulary, most words are rare.
 * Text and batches come from tools/common/data.h.
 * Prints:
 *     12 words; 55.83 before training
 *     step  200: held-out perplexity 4.523
 *     step  400: held-out perplexity 4.289
 *     step  600: held-out perplexity 4.106
 *     step  800: held-out perplexity 4.039 */
#include "../tfnorm.h"
#include "../tools/common/data.h"
#include <stdio.h>

enum { LINES = 20000, HELD = 500, T = 64, STEPS = 800, EVERY = 200 };

typedef struct part { data_task task; data_set set; data_batches batches; } part;

/* Cut lines, joined by their ends, into windows of T words. */
static bool cut(part *p, data_tokenizer *words, task_split split, int64_t lines)
{
    data_set_options o = { .kind = DATA_TEXT, .most = T, .space = true };
    data_batch_options b = { .batch = 16, .in_order = split != TASK_TRAIN };
    tfn_tokenizer_desc d = { .kind = TFN_TOKENIZER_WORDS };
    p->task.task = task_find("markov"), p->task.split = split, p->task.options.symbols = 8;
    if (split == TASK_TRAIN)
        data_tokenizer_init(words, &d, data_get_task, &p->task, lines, DATA_FIRST, true);
    o.tokenizer = &words->tokenizer;
    return data_set_init(&p->set, &o, data_get_task, &p->task, lines)
        && data_batches_init(&p->batches, &p->set, &b);
}

static double perplexity(tfn_model *m, part *p)
{
    int64_t tokens = 0;
    double nll = 0;
    tfn_report r = { 0 };
    for (int64_t i = 0; i < p->batches.count; i++) {
        tfn_model_eval(m, data_batch(&p->batches, i), &r);
        if (r.tokens) nll += r.nll * (double)r.tokens;
        tokens += r.tokens;
    }
    return tfn_perplexity(nll, tokens);
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    static part text, held;
    data_tokenizer words;
    tfn_model m;
    tfn_report r = { 0 };
    if (!cut(&text, &words, TASK_TRAIN, LINES) || !cut(&held, &words, TASK_VALID, HELD)) return 1;
    tfn_model_desc desc = { .vocab = words.tokenizer.vocab, .context = T, .batch = 16,
        .position = TFN_POSITION_ROTARY, .clip = 1, .cutoffs = { words.tokenizer.vocab - 4 },
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 4e-3f, .warmup = 50, .steps = STEPS } };
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return failed(&m.error);
    printf("%d words; %.2f before training\n", (int)desc.vocab, perplexity(&m, &held));
    for (int step = 1; step <= STEPS; step++) {
        tfn_model_step(&m, data_batch(&text.batches, step - 1), &r);
        if (step % EVERY == 0)
            printf("step %4d: held-out perplexity %.3f\n", step, perplexity(&m, &held));
    }
    return 0;
}
