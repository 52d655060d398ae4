/* Training on a board, in one static block: sentences one by one, four to an update, with the
 * activations inside each layer recomputed in the backward, and embedding and lowest layer frozen.
 * The task is the one of examples/20_model.h: write letters backwards. */
#include "config.h"
#ifdef BOARD_SMALL
#define TFNORM_PLAIN
#define TFNORM_NO_FILES
#endif
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "board.h"
#include <string.h>

enum { LETTERS = 8, END = LETTERS, VOCAB = LETTERS + 1, N = 5, T = 2*N, PARTS = 4, STEPS = 10 };
static unsigned char block[256 * 1024];

static tfn_model_desc options(void)
{
    tfn_model_desc d = { 0 };
    d.vocab = VOCAB;
    d.context = T;
    d.batch = 1;
    d.micro_batches = PARTS;
    d.width = 16;
    d.heads = 2;
    d.ffn = 32;
    d.layers = 2;
    d.position = TFN_POSITION_ROTARY;
    d.recompute = true;
    d.optimizer = TFN_OPTIMIZER_ADAMW;
    d.schedule.lr = 0.005f;
    strcpy(d.groups[0].pattern, "decoder.0.*");
    d.groups[0].frozen = true;
    strcpy(d.groups[1].pattern, "embedding*");
    d.groups[1].frozen = true;
    return d;
}

/* N letters, END, and the letters backwards. The model must predict each of the latter. */
static void sentence(int32_t *tokens, int32_t *targets, uint64_t number)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(7), number);
    for (int32_t i = 0; i < N; i++) tokens[i] = (int32_t)(tfn_random_bits(key, (uint64_t)i) % LETTERS);
    tokens[N] = END;
    for (int32_t i = N + 1; i < T; i++) tokens[i] = tokens[T - i];
    for (int32_t i = 0; i < T; i++) targets[i] = -1;
    for (int32_t i = N; i < T - 1; i++) targets[i] = tokens[i + 1];
    targets[T - 1] = tokens[0];
}

int board_main(void)
{
    const tfn_model_desc desc = options();
    const size_t size = tfn_model_size(&desc, block, sizeof block);
    int32_t tokens[T];
    int32_t targets[T];
    tfn_batch batch = { 0 };
    uint64_t begin;
    tfn_model model;
    batch.tokens = tokens;
    batch.targets = targets;
    batch.batch = 1;
    batch.time = T;
    if (tfn_model_init(&model, &desc, block, size - 1) == TFN_OK) return 1;
    if (tfn_model_init(&model, &desc, block, size) != TFN_OK) return 2;
    begin = board_count();
    for (uint64_t i = 0; i < STEPS * PARTS; i++) {
        sentence(tokens, targets, i);
        if (tfn_model_step(&model, &batch, NULL) != TFN_OK) return 3;
    }
    board_number("instructions", (board_count() - begin) / STEPS);
    board_hash("hash", tfn_model_hash(&model));
    board_report(sizeof block, size);
    return 0;
}
