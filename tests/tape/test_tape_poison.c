/* Every operation with all kernels in a debug build: no operation reads memory that the planner has
 * released, which is NaN from then on, and none writes outside its own. */
#define TFN__CHECKED
#include "test_tape.c"
