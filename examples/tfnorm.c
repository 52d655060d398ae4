/* cc -O2 -c examples/tfnorm.c -o tfnorm.o
 * The implementation in a separate file, compiled once: other files only include the header and
 * compile in no time. Macros that change the code, such as TFNORM_NO_SIMD, are defined here. */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
