/* cc -O2 -c examples/tfnorm.c -o tfnorm.o
 * The implementation in a file of its own, compiled once: other files only include the header and
 * compile in no time. Macros such as TFNORM_NO_SIMD that change the code are defined here. */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
