/* Padding in a debug build: NaN after every operation until the tape sets it to 0, and permanently
 * where nothing is trained. No logit, loss, gradient or statistic may change. */
#define TFN__CHECKED
#define TFN__POISONED
#include "test_padding.c"
