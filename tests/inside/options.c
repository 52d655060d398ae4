/* Access to the ranges of a model's options. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/model/options.c"
#endif

#ifndef TFNORM_NO_TRAINING
const tfn__limit *lib_options_limits(size_t *count)
{
    *count = sizeof tfn__limits / sizeof *tfn__limits;
    return tfn__limits;
}
#endif
