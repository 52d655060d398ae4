/* cc -O2 -c examples/tfnorm.c -o tfnorm.o
 * The implementation in a separate file, compiled once: other files only include the header and
 * compile in no time. Define macros that change the code here, such as TFNORM_NO_SIMD. */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
