/* The self-check on a board: 20 steps of training, whose hash the header promises. */
#undef BOARD_SMALL                     /* it needs more than a decoder */
#include "config.h"
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "board.h"

static unsigned char block[3 << 20];        /* of the board's 4 MiB */

int board_main(void)
{
    const uint64_t begin = board_count();
    const uint64_t hash = tfn_selfcheck(block, sizeof block, TFN_ISA_BEST, 1);
    board_number("instructions", (board_count() - begin) / 20);
    board_hash("hash", hash);
    board_text("bits ");
    board_text(tfn_bits(TFN_ISA_BEST));
    board_text("\n");
    board_report(0, 0);
    return hash != TFN_BITS_HASH;
}
