/* cc -O2 examples/06_gpt2.c -o gpt2 -lm && ./gpt2 FOLDER "Once upon a time"
 * Runs GPT-2 from a Hugging Face folder with config.json, model.safetensors and tokenizer.json.
 * The same code runs Llama, Qwen, Gemma (text only), Pythia and others: see tfn_import_new.
 * Prints the prompt and its continuation. Without arguments it prints:
 *     usage: gpt2 FOLDER PROMPT */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 100 };

static char text[1 << 26];              /* tokenizer.json, then the generated text */

static size_t read_text(const char *folder, const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    const size_t bytes = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    static int32_t ids[1 << 16];
    tfn_model m;
    tfn_tokenizer k;
    tfn_tokenizer_source source = { .json = text };
    tfn_generate_desc how = { .max_tokens = LENGTH, .temperature = 0.8f, .top_k = 40,
                              .key = tfn_key_make(1) };
    tfn_generator g;
    char error[300];
    if (argc < 3) return puts("usage: gpt2 FOLDER PROMPT") < 0;

    if (tfn_import_new(&m, argv[1], NULL) != TFN_OK)
        return puts(tfn_error_text(&m.error, error, sizeof error)), 1;
    source.json_size = read_text(argv[1], "tokenizer.json");
    size_t bytes = tfn_tokenizer_size(&source);
    if (tfn_tokenizer_init(&k, &source, malloc(bytes), bytes) != TFN_OK)
        return puts(tfn_error_text(&k.error, error, sizeof error)), 1;

    tfn_batch prompt = { .tokens = ids, .batch = 1, .time = k.begins };
    for (int32_t i = 0; i < k.begins; i++) ids[i] = k.frame[i];
    prompt.time += (int32_t)tfn_tokenizer_encode(&k, ids + k.begins, 1 << 15, argv[2],
                                                 strlen(argv[2]));
    how.end = k.special[TFN_SPECIAL_EOS];
    bytes = tfn_model_scratch(&m.desc);
    bytes = tfn_generator_size(&m, &how, malloc(bytes), bytes);
    tfn_generator_init(&g, &m, &how, malloc(bytes), bytes);
    if (tfn_generator_run(&g, &prompt, NULL) != TFN_OK)
        return puts(tfn_error_text(&g.error, error, sizeof error)), 1;
    bytes = tfn_tokenizer_decode(&k, text, sizeof text, g.tokens, g.lengths[0]);
    return printf("%s%.*s\n", argv[2], (int)bytes, text) < 0;
}
