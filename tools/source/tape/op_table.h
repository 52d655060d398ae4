#ifndef TFN__OP_TABLE_H
#define TFN__OP_TABLE_H
#include "../ground/ground.h"
#include "tape.h"

/* A row of TFN__OPS. */
typedef struct tfn__op {
    const char     *name;
    tfn__op_fn     *forward;
    tfn__chunks_fn *chunks;
    tfn__op_fn     *backward;
    tfn__chunks_fn *backward_chunks;
    uint8_t         reads;
} tfn__op;

extern SHARED const tfn__op tfn__ops[];
#endif /* TFN__OP_TABLE_H */
