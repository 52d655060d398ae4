/* Every operation as a debug build looks at it, with all kernels: what the planner gives away,
 * which is NaN from then on, nobody reads, and nobody writes beside what is his. */
#define TFN__CHECKED
#include "test_tape.c"
