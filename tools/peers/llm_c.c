/* cc -Ofast -march=native -I LLM_C tools/peers/llm_c.c -lm -o llm_c
 *
 * llm.c as a peer of bench, on one thread: taskset -c 0 tools/bin/bench train gpt2 --peer ./llm_c
 * LLM_C is a copy of github.com/karpathy/llm.c, and the flags are those of its Makefile.
 *
 * It answers the questions of torch_peer.py that it can: "version", and "train gpt LAYERS WIDTH
 * HEADS FFN TIME BATCH VOCAB STEPS" by the seconds of processor time of an update. It says -1 to
 * others, and where FFN is not 4 WIDTH, because its models are GPT-2's. */
#define TESTING                         /* without its main */
#include "train_gpt2.c"

enum { HEADER = 256, MAGIC = 20240326, VERSION = 3 };
typedef struct sizes { int layers, width, heads, ffn, time, batch, vocab; } sizes;
static GPT2 model;
static sizes built;
static int step;

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Writes a checkpoint of small numbers for a model of this size, and reads it as llm.c does. */
static void build(const sizes *s)
{
    char path[] = "/tmp/llm_c-XXXXXX";
    size_t parts[NUM_PARAMETER_TENSORS];
    size_t count = 0;
    int header[HEADER] = { MAGIC, VERSION, s->time, s->vocab, s->layers, s->heads, s->width,
                           (s->vocab + 127) / 128 * 128 };
    GPT2Config config = { s->time, s->vocab, header[7], s->layers, s->heads, s->width };
    FILE *f = fdopen(mkstemp(path), "wb");
    fill_in_parameter_sizes(parts, config);
    for (int i = 0; i < NUM_PARAMETER_TENSORS; i++) count += parts[i];
    fwrite(header, sizeof *header, HEADER, f);
    for (size_t i = 0; i < count; i++) {
        const float value = 0.02f * ((float)(i * 2654435761u >> 7 & 0xffff) / 32768 - 1);
        fwrite(&value, sizeof value, 1, f);
    }
    fclose(f);
    if (built.layers) gpt2_free(&model);
    gpt2_build_from_checkpoint(&model, path);
    unlink(path);
    built = *s;
    step = 0;
}

static double train(const sizes *s, int steps)
{
    const int rows = s->batch * s->time;
    int *tokens = malloc((size_t)rows * 2 * sizeof *tokens);
    double begin;
    if (memcmp(s, &built, sizeof *s)) build(s);
    for (int i = 0; i < 2 * rows; i++)
        tokens[i] = (int)(((unsigned)i * 2654435761u >> 3) % (unsigned)s->vocab);
    begin = seconds();
    for (int i = 0; i < steps; i++) {
        gpt2_forward(&model, tokens, tokens + rows, s->batch, s->time);
        gpt2_zero_grad(&model);
        gpt2_backward(&model);
        gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0, ++step);
    }
    begin = seconds() - begin;
    free(tokens);
    return begin / steps;
}

int main(void)
{
    char line[200];
    FILE *answers = fdopen(dup(1), "w");
    if (!freopen("/dev/null", "w", stdout)) return 1;       /* llm.c prints what it reads */
    while (fgets(line, sizeof line, stdin)) {
        sizes s;
        int steps;
        const int got = sscanf(line, "train gpt %d %d %d %d %d %d %d %d", &s.layers, &s.width,
                               &s.heads, &s.ffn, &s.time, &s.batch, &s.vocab, &steps);
        if (!strcmp(line, "version\n")) fprintf(answers, "llm.c\n");
        else if (got == 8 && s.ffn == 4 * s.width) fprintf(answers, "%.9g\n", train(&s, steps));
        else fprintf(answers, "-1\n");
        fflush(answers);
    }
    return 0;
}
