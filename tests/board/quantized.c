/* Decoders with 8-bit and 4-bit weights, initialized and quantized on the board: see
 * ../compile/quantized.h. Needs a build with training, because others cannot initialize. */
#undef BOARD_SMALL                     /* a small build lacks windows and packed weights */
#include "config.h"
#define TFNORM_ARCHS       TFN_SET(TFN_ARCH_DECODER)
#define TFNORM_NORMS       TFN_SET(TFN_NORM_LAYER)
#define TFNORM_POSITIONS   TFN_SET(TFN_POSITION_LEARNED)
#define TFNORM_OPTIMIZERS  TFN_SET(TFN_OPTIMIZER_ADAMW)
#define TFNORM_SCHEDULES   TFN_SET(TFN_SCHEDULE_CONSTANT)
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include <string.h>
#include "../compile/quantized.h"
#include "board.h"

int board_main(void)
{
    const uint64_t begin = board_count();
    const uint64_t q8 = quantized_hash(TFN_WEIGHTS_Q8, TFN_ISA_BEST);
    const uint64_t q4 = quantized_hash(TFN_WEIGHTS_Q4, TFN_ISA_BEST);
    board_number("instructions", (board_count() - begin) / (2 * QUANTIZED_TOKENS));
    board_hash("q8", q8);
    board_hash("q4", q4);
    board_hash("hash", q8 ^ q4 << 1);
    board_report(0, 0);
    if (q8 == 0 || q4 == 0) return 1;
    return q8 == q4;                    /* equal only if all logits are 0 */
}
