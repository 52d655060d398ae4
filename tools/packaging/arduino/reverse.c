/* The model of model.h, which tfn export wrote: its weights stay in flash, all else is here. In C,
 * because what tfn export writes is. */
#include "tfnorm_board.h"
#include "model.h"
#include <string.h>

static unsigned char words[model_tokenizer_memory];
static unsigned char memory[model_memory], more[32 * 1024];     /* the model, its generator */

/* What it makes of at most four letters; an error's text, or what the model wrote, in a buffer that
 * the next call uses again. */
const char *reverse(const char *letters);
const char *reverse(const char *letters)
{
    static char text[100];
    tfn_model_desc desc = model_desc();
    tfn_tokenizer_source source = { 0 };
    tfn_generate_desc how = { 0 };
    tfn_batch batch = { 0 };
    tfn_tokenizer k;
    tfn_model model;
    tfn_generator g;
    int32_t ids[12];
    ptrdiff_t n;
    source.blob = model_tokenizer;
    source.blob_size = sizeof model_tokenizer;
    if (tfn_tokenizer_init(&k, &source, words, sizeof words) != TFN_OK)
        return tfn_error_text(&k.error, text, sizeof text);
    n = tfn_tokenizer_encode(&k, ids, 10, letters, strlen(letters));
    if (n < 0 || n > 10) return "too many letters";
    ids[n] = how.end = k.special[TFN_SPECIAL_EOS];
    batch.tokens = ids;
    batch.batch = 1;
    batch.time = (int32_t)n + 1;
    if (tfn_model_init(&model, &desc, memory, sizeof memory) != TFN_OK)
        return tfn_error_text(&model.error, text, sizeof text);
    if (tfn_generator_init(&g, &model, &how, more, sizeof more) != TFN_OK
        || tfn_generator_run(&g, &batch, NULL) != TFN_OK)
        return tfn_error_text(&g.error, text, sizeof text);
    memset(text, 0, sizeof text);
    tfn_tokenizer_decode(&k, text, sizeof text - 1, g.tokens, g.lengths[0]);
    return text;
}
