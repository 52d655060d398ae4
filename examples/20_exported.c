/* cc -O2 examples/20_exported.c -o exported -lm && ./exported [letters a to h, at most 4]
 * Runs a trained model that is compiled into the program, without malloc, files or training code.
 * The model (20_model.h) writes letters backwards. It was made in two seconds by
 *     tfn train --task reverse --arch decoder --layers 2 --width 16 --ffn 32 --heads 2 --min 1 \
 *         --max 4 --context 12 --steps 2000 --lr 0.005 --batch-tokens 256 --out m.safetensors
 *     tfn export m.safetensors --out examples/20_model.h
 * Prints:
 *     daeb -0.000279455504 */
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_NO_TRAINING
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include "20_model.h"
#include <stdio.h>                       /* for this program's own printf */
#include <string.h>

static unsigned char words[model_tokenizer_memory], memory[64 * 1024], more[64 * 1024];

int main(int argc, char **argv)
{
    tfn_model_desc desc = model_desc();
    tfn_tokenizer_source source = { .blob = model_tokenizer, .blob_size = sizeof model_tokenizer };
    tfn_tokenizer k;
    tfn_model model;
    tfn_generator g;
    int32_t ids[12];
    char text[64] = "";
    const char *letters = argc > 1 ? argv[1] : "bead";
    tfn_tokenizer_init(&k, &source, words, sizeof words);
    ptrdiff_t n = tfn_tokenizer_encode(&k, ids, 10, letters, strlen(letters));
    ids[n < 10 ? n : 10] = k.special[TFN_SPECIAL_EOS];
    tfn_batch batch = { .tokens = ids, .batch = 1, .time = (int32_t)(n < 10 ? n + 1 : 11) };
    tfn_generate_desc how = { .end = k.special[TFN_SPECIAL_EOS] };
    if (tfn_model_init(&model, &desc, memory, sizeof memory) != TFN_OK
        || tfn_generator_init(&g, &model, &how, more, sizeof more) != TFN_OK
        || tfn_generator_run(&g, &batch, NULL) != TFN_OK) return 1;
    tfn_tokenizer_decode(&k, text, sizeof text - 1, g.tokens, g.lengths[0]);
    printf("%s %.9g\n", text, (double)g.scores[0]);
    return 0;
}
