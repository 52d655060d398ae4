/* cc -O2 examples/12_lora.c -o lora -lm && ./lora
 * Fine-tunes with LoRA (Hu et al. 2021). A model learns one rule. Then its weights are frozen,
 * and a few small matrices learn another rule. The program saves only these matrices. A second
 * model loads them on top of the base. A third merges them into its weights and is then as small
 * and as fast as the base.
 * Prints:
 *     the base   loss of x + 1  0.001, of x + 3 10.336; 7.2 MB, 1.2 for gradients and moments
 *     with LoRA  loss of x + 1  7.376, of x + 3  0.011; 6.4 MB, 0.1 for gradients and moments
 *     lora_adapter.safetensors has 31.6 kB
 *     loaded     loss of x + 1  7.376, of x + 3  0.011; 2.6 MB, 0.0 for gradients and moments
 *     merged     loss of x + 1  7.376, of x + 3  0.011; 1.6 MB, 0.0 for gradients and moments */
#include <stdio.h>
#include <string.h>
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"

enum { VOCAB = 11, T = 16, B = 32, STEPS = 150 };

/* Each number is the previous one plus `more`, modulo 11. */
static void fill(int32_t *tokens, int32_t *targets, int32_t more, int step)
{
    for (int i = 0; i < B * T; i++) {
        const tfn_key key = tfn_key_make((uint64_t)step);
        const int32_t first = (int32_t)(tfn_random_bits(key, (uint64_t)(i / T)) % VOCAB);
        tokens[i] = (first + i % T * more) % VOCAB;
        targets[i] = (tokens[i] + more) % VOCAB;
    }
}

static void train(tfn_model *m, int32_t more)
{
    int32_t tokens[B * T], targets[B * T];
    const tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = B, .time = T };
    tfn_report report;
    for (int step = 0; step < STEPS; step++) {
        fill(tokens, targets, more, step);
        if (tfn_model_step(m, &batch, &report) != TFN_OK) return;
    }
}

/* Print the loss for each rule. */
static bool show(const char *name, tfn_model *m)
{
    int32_t tokens[B * T], targets[B * T];
    const tfn_batch batch = { .tokens = tokens, .targets = targets, .batch = B, .time = T };
    tfn_report one, two;
    fill(tokens, targets, 1, STEPS);
    if (tfn_model_eval(m, &batch, &one) != TFN_OK) return false;
    fill(tokens, targets, 3, STEPS);
    if (tfn_model_eval(m, &batch, &two) != TFN_OK) return false;
    printf("%-10s loss of x + 1 %6.3f, of x + 3 %6.3f; %3.1f MB, %3.1f for gradients and moments\n",
           name, one.loss, two.loss, (double)m->memory.total / 1e6,
           (double)(m->memory.gradients + m->memory.moments) / 1e6);
    return true;
}

static bool good(const tfn_error *e)
{
    char text[200];
    if (e->status != TFN_OK) puts(tfn_error_text(e, text, sizeof text));
    return e->status == TFN_OK;
}

int main(void)
{
    tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = B, .schedule = { .lr = 3e-3f } };
    tfn_model base, tuned, loaded, merged;
    tfn_file whole = { 0 }, adapter = { 0 };
    whole.path = "lora_base.safetensors";
    adapter.path = "lora_adapter.safetensors";

    tfn_model_new(&base, &desc, NULL);
    train(&base, 1);
    if (!good(&base.error) || !show("the base", &base)) return 1;
    if (tfn_model_save(&whole, &base, NULL) != TFN_OK) return !good(&whole.error);

    /* Add two matrices to each query, value and feed-forward map; all other weights are frozen. */
    if (!tfn_group_add(&desc, "decoder.*.self.[qv].weight rank=4 alpha=8", NULL)) return 1;
    if (!tfn_group_add(&desc, "decoder.*.ffn.w?.weight rank=4 alpha=8", NULL)) return 1;
    tfn_model_new(&tuned, &desc, NULL);
    if (!good(&tuned.error)) return 1;
    if (tfn_model_load_weights(&tuned, &whole, 1) != TFN_OK) return !good(&whole.error);
    train(&tuned, 3);
    if (!show("with LoRA", &tuned)) return 1;
    if (tfn_model_save_adapter(&adapter, &tuned, NULL) != TFN_OK) return !good(&adapter.error);
    printf("%s has %.1f kB\n", adapter.path, (double)adapter.used / 1e3);

    /* The base, then what it has learned since. */
    tfn_model_peek(&adapter, &desc, NULL);
    desc.inference = true;
    tfn_model_new(&loaded, &desc, NULL);
    tfn_model_load_weights(&loaded, &whole, 1);
    tfn_model_load_weights(&loaded, &adapter, 1);
    if (!good(&whole.error) || !good(&adapter.error) || !show("loaded", &loaded)) return 1;

    desc.folded = true;
    tfn_model_new(&merged, &desc, NULL);
    tfn_model_fold(&merged, &loaded);
    if (!good(&merged.error) || !show("merged", &merged)) return 1;
    tfn_model_free(&base);
    tfn_model_free(&tuned);
    tfn_model_free(&loaded);
    tfn_model_free(&merged);
    return remove(whole.path) || remove(adapter.path);
}
