/* quantized [ISA]: see quantized.h and quantized.sh. */
#define TFNORM_EXACT
#define TFNORM_ALL_ISA
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "quantized.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    tfn_isa isa = TFN_ISA_BEST;
    if (argc > 1) isa = tfn_isa_find(argv[1]);
    if (!tfn_kernels_for(isa)) return 3;                            /* not on this machine */
    printf("q8 %016llx\n", (unsigned long long)quantized_hash(TFN_WEIGHTS_Q8, isa));
    printf("q4 %016llx\n", (unsigned long long)quantized_hash(TFN_WEIGHTS_Q4, isa));
    return 0;
}
