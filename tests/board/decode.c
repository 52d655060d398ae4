/* Decodes with a model in flash, BOARD_MODEL or examples/20_model.h: logits for the whole context,
 * repeatedly, each time fed with the most likely token. */
#define TFNORM_NO_TRAINING
#include "config.h"
#ifdef BOARD_SMALL
#define TFNORM_ONLY_DECODERS
#endif
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#ifndef BOARD_MODEL
#define BOARD_MODEL "../../examples/20_model.h"
#endif
#include BOARD_MODEL
#include "board.h"

enum { TEXTS = 4 };
static unsigned char memory[1024 * 1024];       /* the board reports how much of it is needed */

int board_main(void)
{
    tfn_model_desc desc = model_desc();
    uint64_t hash = BOARD_EMPTY;
    unsigned char *cache;
    size_t size;
    uint64_t begin;
    size_t more;
    tfn_model model;
    tfn_decoder d;
#ifdef BOARD_SMALL
    desc.only_decoders = true;
#endif
    size = tfn_model_size(&desc, memory, sizeof memory);
    if (tfn_model_init(&model, &desc, memory, size) != TFN_OK) return 1;
    cache = memory + model.memory.kept;
    more = tfn_decoder_size(&model, 1, 1, cache, sizeof memory - model.memory.kept);
    if (more > sizeof memory - model.memory.kept) return 5;
    if (tfn_decoder_init(&d, &model, 1, 1, cache, more - 1) == TFN_OK) return 2;
    if (tfn_decoder_init(&d, &model, 1, 1, cache, more) != TFN_OK) return 3;
    begin = board_count();
    for (int32_t text = 0; text < TEXTS; text++) {
        int32_t token = text;
        tfn_decoder_start(&d, NULL);
        for (int32_t i = 0; i < desc.context; i++) {
            const float *logits = tfn_decoder_next(&d, &token, 1, NULL);
            if (!logits) return 4;
            hash = board_fold(hash, logits, desc.vocab);
            token = 0;
            for (int32_t v = 1; v < desc.vocab; v++)
                if (logits[v] > logits[token]) token = v;
        }
    }
    board_number("instructions", (board_count() - begin) / (uint64_t)(TEXTS * desc.context));
    board_hash("hash", hash);
    if (size < model.memory.kept + more) size = model.memory.kept + more;
    board_report(sizeof memory, size);
    return 0;
}
