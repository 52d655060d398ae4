/* cc -O2 examples/23_import_lora.c -o import_lora -lm && ./import_lora GPT2 TEXT OUT
 * Fine-tunes GPT-2 with LoRA on a text. GPT2 is a Hugging Face folder (see 06_gpt2.c). Into OUT, a
 * folder that exists, it writes the trained weights (lora.safetensors) and the merged model in the
 * form of a Hugging Face folder.
 * Prints the loss every ten steps. Without arguments it prints:
 *     usage: import_lora GPT2 TEXT OUT */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>
#include <stdlib.h>

enum { B = 4, T = 64, STEPS = 100, MOST = 1 << 22 };
static char text[1 << 26], why[300];    /* tokenizer.json, then the text; an error */
static int32_t ids[MOST];

static size_t read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    const size_t bytes = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return bytes;
}
static int fail(const tfn_error *e)
{
    return puts(tfn_error_text(e, why, sizeof why)), 1;
}

int main(int argc, char **argv)
{
    tfn_model m, merged;
    tfn_model_desc desc = { .micro_batches = B, .batch_tokens = T, .schedule = { .lr = 1e-3f } };
    tfn_tokenizer k;
    tfn_tokenizer_source source = { .json = text };
    char path[1000];
    tfn_file adapter = { .path = path };
    tfn_report r;
    if (argc < 4) return puts("usage: import_lora GPT2 TEXT OUT") < 0;
    snprintf(path, sizeof path, "%s/tokenizer.json", argv[1]);
    source.json_size = read_text(path);
    size_t bytes = tfn_tokenizer_size(&source);
    if (tfn_tokenizer_init(&k, &source, malloc(bytes), bytes) != TFN_OK) return fail(&k.error);
    const ptrdiff_t n = tfn_tokenizer_encode(&k, ids, MOST, text, read_text(argv[2])) - T;
    if (n < 1 || n > MOST - T) return puts("the text is too short or too long"), 1;
    tfn_group_add(&desc, "decoder.*.self.[qv].weight rank=8 alpha=16", NULL);
    if (tfn_import_new(&m, argv[1], &desc) != TFN_OK) return fail(&m.error);
    for (uint64_t i = 0; i < STEPS * B; i++) {
        const int32_t *at = ids + tfn_random_bits(tfn_key_make(1), i) % (uint64_t)n;
        const tfn_batch batch = { .tokens = at, .targets = at + 1, .batch = 1, .time = T };
        if (tfn_model_step(&m, &batch, &r) != TFN_OK) return fail(&m.error);
        if (r.updated && r.step % 10 == 0) printf("step %3d: loss %.3f\n", (int)r.step, r.loss);
    }
    snprintf(path, sizeof path, "%s/lora.safetensors", argv[3]);
    if (tfn_model_save_adapter(&adapter, &m, NULL) != TFN_OK) return fail(&adapter.error);
    desc = m.desc;
    desc.groups[0] = (tfn_group){ 0 };
    desc.inference = true;
    tfn_model_new(&merged, &desc, NULL);                /* if it fails, fold returns the error */
    if (tfn_model_fold(&merged, &m) != TFN_OK) return fail(&merged.error);
    tfn_export out = { .folder = argv[3], .tokenizer = &k };
    return tfn_export_write(&out, &merged) != TFN_OK ? fail(&out.error) : 0;
}
