/* Access to the ranges of a generator's options. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/model/generate.c"
#endif

#ifndef TFNORM_NO_TRAINING
const tfn__limit *lib_generate_limits(size_t *count)
{
    *count = sizeof tfn__generate_limits / sizeof *tfn__generate_limits;
    return tfn__generate_limits;
}
#endif
