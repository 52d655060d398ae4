/* Every operation with dead memory full of NaN: what the planner gives away, nobody reads. */
#define TFN__POISON tape_poison
#include "test_tape.c"
