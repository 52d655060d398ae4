/* With unit_other.c: two units, one with the implementation or both with a static one. */
#include "../../tfnorm.h"
#include <string.h>

const char *other_version(void);

int main(void)
{
    return tfn_kernels_for(TFN_ISA_BEST) == NULL || strcmp(tfn_version(), other_version());
}
