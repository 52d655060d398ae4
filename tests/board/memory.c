/* Memory as board.ld lays it out, for both families. The stack is below everything else, so an
 * overflow leaves the RAM and faults. The stack is painted; the paint that is left measures it. */
#include "board.h"

/* These are addresses, not variables: the linker script defines them. */
extern uint32_t board_code_begin[], board_code_end[], board_model_begin[], board_model_end[];
extern uint32_t board_data_from[], board_data_begin[], board_data_end[], board_zero_end[];
extern uint32_t board_stack_begin[], board_stack_end[];
extern uint32_t board_paint_end[];              /* below the stack that painting itself needs */
enum { PAINT = 0x5AFEC0DE };

/* Volatile, or the compiler would call memset and memcpy, whose own data may not be there yet. */
void board_start(void)
{
    volatile uint32_t *from = board_data_from;
    volatile uint32_t *to = board_data_begin;
    while (to < board_data_end) *to++ = *from++;
    while (to < board_zero_end) *to++ = 0;
    for (to = board_stack_begin; to < board_paint_end; to++) *to = PAINT;
    board_end(board_main());
}

static size_t between(const uint32_t *from, const uint32_t *to)
{
    return (size_t)((uintptr_t)to - (uintptr_t)from);
}

board_bytes board_sizes(void)
{
    board_bytes b;
    const uint32_t *deepest = board_stack_begin;
    while (deepest < board_paint_end && *deepest == PAINT) deepest++;
    b.model = between(board_model_begin, board_model_end);
    b.code = between(board_code_begin, board_code_end)
             + between(board_data_begin, board_data_end);       /* initial values in flash */
    b.data = between(board_data_begin, board_zero_end);
    b.stack = between(deepest, board_stack_end);
    return b;
}
