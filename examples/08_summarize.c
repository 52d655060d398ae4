/* cc -O2 -pthread examples/08_summarize.c tools/common/[a-z]*.c -o summarize -lm && ./summarize
 * Summarizes: an encoder-decoder reads two sentences and writes a headline in the simple present.
 * ROUGE compares the headlines of unseen sentences with the correct ones. The baseline is the first
 * words of each text; for news they are hard to beat. Sentences and batches come
 * from tools/common/data.h.
 * Prints:
 *     ...
 *     six small mice can sleep. the men laugh.
 *       -> six small mice sleep
 *     first words  ROUGE-1 0.431, ROUGE-2 0.207, ROUGE-L 0.431
 *     model        ROUGE-1 0.875, ROUGE-2 0.803, ROUGE-L 0.873 */
#include "../tfnorm.h"
#include "../tools/common/data.h"
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 6000, TESTS = 100, STEPS = 700, MOST = 64 };

static char work[1 << 21];
static data_tokenizer words;

static bool cut(data_set *set, data_batches *batches, data_task *task, int64_t count)
{
    data_set_options o = { .kind = DATA_PAIRS, .most = MOST, .space = true };
    data_batch_options b = { .batch = 64, .tokens = 1024, .seed = 1 };
    tfn_tokenizer_desc d = { .kind = TFN_TOKENIZER_WORDS };
    data_tokenizer_init(&words, &d, data_get_task, task, count, DATA_FIRST | DATA_SECOND, true);
    o.tokenizer = &words.tokenizer;
    return data_set_init(set, &o, data_get_task, task, count)
        && data_batches_init(batches, set, &b);
}

/* The headline of an item, by beam search. */
static void write_headline(tfn_generator *g, const data_item *item, char *to, size_t room)
{
    const tfn_tokenizer *k = &words.tokenizer;
    char spaced[2 * TASK_BYTES];
    int32_t ids[2 * TASK_BYTES];
    int n = snprintf(spaced, sizeof spaced, " %.*s", (int)item->bytes[0], item->text[0]);
    int32_t count = (int32_t)tfn_tokenizer_encode(k, ids, 2 * TASK_BYTES - 1, spaced, (size_t)n);
    if (count >= MOST) count = MOST - 1;
    ids[count++] = k->special[TFN_SPECIAL_EOS];
    tfn_batch batch = { .source = ids, .batch = 1, .source_time = count };
    tfn_generator_run(g, &batch, NULL);
    to[tfn_tokenizer_decode(k, to, room - 1, g->tokens, g->lengths[0])] = 0;
}

static void show(const char *name, const tfn_rouge *r)
{
    printf("%-12s ROUGE-1 %.3f, ROUGE-2 %.3f, ROUGE-L %.3f\n", name, tfn_rouge_score(r, 0),
           tfn_rouge_score(r, 1), tfn_rouge_score(r, 2));
}

static int failed(const tfn_error *e) { char t[199]; return puts(tfn_error_text(e, t, 199)), 1; }

int main(void)
{
    data_task task = { .task = task_find("headline"), .split = TASK_TRAIN };
    data_set set;
    data_batches batches;
    tfn_model m;
    tfn_generator g;
    tfn_report r = { 0 };
    tfn_rouge rouge = { { 0 }, 0 }, first = { { 0 }, 0 };
    if (!cut(&set, &batches, &task, ITEMS)) return 1;
    tfn_model_desc desc = { .arch = TFN_ARCH_ENCODER_DECODER, .vocab = words.tokenizer.vocab,
        .context = MOST, .batch = batches.most_rows, .position = TFN_POSITION_ROTARY, .clip = 1,
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 3e-3f, .warmup = 70, .steps = STEPS } };
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return failed(&m.error);
    for (int step = 1; step <= STEPS; step++) {
        tfn_model_step(&m, data_batch(&batches, step - 1), &r);
        if (step % 100 == 0) printf("step %d: loss %.3f\n", step, r.loss);
    }
    tfn_generate_desc how = { .beam = 3, .end = words.tokenizer.special[TFN_SPECIAL_EOS] };
    size_t size = tfn_generator_size(&m, &how, work, sizeof work);
    if (tfn_generator_init(&g, &m, &how, malloc(size), size) != TFN_OK) return failed(&g.error);
    task.split = TASK_TEST;
    for (int i = 0; i < TESTS; i++) {
        data_item item;
        char found[TASK_BYTES], lead[TASK_BYTES];
        if (!data_get_task(&item, &task, i)) return 1;
        write_headline(&g, &item, found, sizeof found);
        snprintf(lead, sizeof lead, "%.*s", (int)item.bytes[1] + 4, item.text[0]);
        tfn_rouge_add(&rouge, found, item.text[1], work, sizeof work);
        tfn_rouge_add(&first, lead, item.text[1], work, sizeof work);
        if (i < 3) printf("%s\n  ->%s\n", item.text[0], found);
    }
    show("first words", &first);
    show("model", &rouge);
    return 0;
}
