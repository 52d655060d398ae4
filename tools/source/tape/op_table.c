#include "op_table.h"
#include "op_linear.h"
#include "op_norms.h"
#include "op_values.h"
#include "op_attention.h"
#include "op_loss.h"

/* The table of operations: one row for each, from the list TFN__OPS in tape.h. Builds
 * on the parts op_linear to op_loss, which have the functions. */

#define TFN__OP_ROW(id, name, forward, chunks, backward, backward_chunks, reads) \
    { name, forward, chunks, TFN__BACK(backward), TFN__BACK(backward_chunks), (uint8_t)(reads) },
SHARED const tfn__op tfn__ops[] = { TFN__OPS(TFN__OP_ROW) };
