/* With unit_other.c: two units, one with the implementation or both with a static one. */
#include "../../tfnorm.h"
#include <stdio.h>
#include <string.h>

const char *other_version(void);

int main(void)
{
    char numbers[40];
    snprintf(numbers, sizeof numbers, "%d.%d.%d", TFNORM_VERSION_MAJOR, TFNORM_VERSION_MINOR,
             TFNORM_VERSION_PATCH);
    if (strcmp(numbers, TFNORM_VERSION) || !tfn_version_agrees()) return 1;
    return tfn_kernels_for(TFN_ISA_BEST) == NULL || strcmp(tfn_version(), other_version());
}
