/* cc -O2 -pthread examples/10_speech.c tools/common/[a-z]*.c -o speech -lm && ./speech
 * Recognizes speech: writes 2 to 5 spoken digits as words. The input is a spectrum of 24 bands, 100
 * frames per second. Two convolutions with stride 2 turn four frames into one position, which an
 * encoder-decoder reads. The speech is synthetic: a digit is two tones that glide as in vowels,
 * with random pitch and speed, in noise (tools/common/tasks.h). The test measures the word error
 * rate on combinations of digits that are not in the training data. Batches come from
 * tools/common/data.h.
 * Prints:
 *     step 100: loss 0.8380
 *     ...
 *      90 frames: heard six nine nine zero one, was six nine nine zero one
 *     word error rate 3.8 % */
#include "../tfnorm.h"
#include "../tools/common/data.h"
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 1500, HELD = 100, ROWS = 25, T = 8, STEPS = 400, EVERY = 100 };

typedef struct part { data_task task; data_set set; data_batches batches; } part;

static bool hear(part *p, data_tokenizer *words, task_split split, int64_t items)
{
    data_set_options o = { .kind = DATA_PAIRS, .most = T, .most_source = TASK_FRAMES / 4,
                           .space = true, .speech = true };
    data_batch_options b = { .batch = ROWS, .in_order = split != TASK_TRAIN };
    tfn_tokenizer_desc d = { .kind = TFN_TOKENIZER_WORDS };
    p->task.task = task_find("digits"), p->task.split = split;
    if (split == TASK_TRAIN)
        data_tokenizer_init(words, &d, data_get_task, &p->task, items, DATA_SECOND, true);
    o.tokenizer = &words->tokenizer;
    return data_set_init(&p->set, &o, data_get_task, &p->task, items)
        && data_batches_init(&p->batches, &p->set, &b);
}

/* The text of ids, without the space before its first word. */
static const char *text(char *to, size_t size, const tfn_tokenizer *k, const int32_t *ids,
                        ptrdiff_t count)
{
    size_t n = tfn_tokenizer_decode(k, to, size - 1, ids, count);
    to[n < size ? n : size - 1] = 0;
    return to;
}

static double word_errors(tfn_model *m, part *p, const tfn_tokenizer *k)
{
    static char scratch[1 << 20], work[1 << 14];
    tfn_generate_desc how = { .sentences = ROWS, .beam = 4, .end = k->special[TFN_SPECIAL_EOS] };
    size_t size = tfn_generator_size(m, &how, scratch, sizeof scratch);
    void *mem = malloc(size);
    tfn_generator g;
    tfn_edits edits = { 0 };
    if (tfn_generator_init(&g, m, &how, mem, size) != TFN_OK) return -1;
    for (int64_t i = 0; i < p->batches.count; i++) {
        tfn_batch batch = *data_batch(&p->batches, i);
        batch.tokens = NULL;                            /* each begins with only the end token */
        if (tfn_generator_run(&g, &batch, NULL) != TFN_OK) return -1;
        for (int32_t r = 0; r < batch.batch; r++) {
            char found[200], said[200];
            const int64_t *at = p->set.at + 2*p->batches.items[r] + 1;
            text(found, sizeof found, k, g.tokens + (ptrdiff_t)r * g.width * g.most,
                 g.lengths[r * g.width]);
            text(said, sizeof said, k, p->set.ids + at[0], (ptrdiff_t)(at[1] - at[0]));
            tfn_edits_add_words(&edits, found, said, work, sizeof work);
            if (!i && r < 3) printf("%3d frames: heard%s, was%s\n", (int)batch.source_lengths[r],
                                    found, said);
        }
    }
    free(mem);
    return tfn_edits_score(&edits);
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    static part sounds, held;
    data_tokenizer words;
    tfn_model m;
    tfn_report r = { 0 };
    if (!hear(&sounds, &words, TASK_TRAIN, ITEMS) || !hear(&held, &words, TASK_VALID, HELD))
        return 1;
    tfn_model_desc desc = { .arch = TFN_ARCH_ENCODER_DECODER, .vocab = words.tokenizer.vocab,
        .bands = TASK_BANDS, .source_context = TASK_FRAMES / 4, .context = T, .batch = ROWS,
        .position = TFN_POSITION_ROTARY, .clip = 1,
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 3e-3f, .warmup = 50, .steps = STEPS } };
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return failed(&m.error);
    for (int step = 1; step <= STEPS; step++) {
        tfn_model_step(&m, data_batch(&sounds.batches, step - 1), &r);
        if (step % EVERY == 0) printf("step %d: loss %.4f\n", step, r.loss);
    }
    printf("word error rate %.1f %%\n", 100 * word_errors(&m, &held, &words.tokenizer));
    return 0;
}
