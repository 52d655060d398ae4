/* Padding as a debug build looks at it: NaN after every operation, before the rule of the tape makes
 * it 0, and for good where nothing is trained. No logit, loss, gradient or statistic may change. */
#define TFN__CHECKED
#define TFN__POISONED
#include "test_padding.c"
