/* Includes the header twice before and twice after the implementation: still one program. */
#include "../../tfnorm.h"
#include "../../tfnorm.h"
#define TFNORM_ALL_ISA
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "../../tfnorm.h"

int main(void) { return tfn_kernels_for(TFN_ISA_PLAIN) == NULL; }
