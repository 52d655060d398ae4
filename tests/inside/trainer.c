/* Access to the ranges of a tokenizer trainer's options. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/text/trainer.c"
#endif

#ifndef TFNORM_NO_TRAINING
const tfn__limit *lib_trainer_limits(size_t *count)
{
    *count = sizeof tfn__tokenizer_limits / sizeof *tfn__tokenizer_limits;
    return tfn__tokenizer_limits;
}
#endif
