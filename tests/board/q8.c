/* decode.c with the model of weights.c, its weights q8. */
#define BOARD_MODEL "weights_q8.h"
#define BOARD_PACKED
#include "decode.c"
