/* decode.c with the model of weights.c, its weights q4. */
#define BOARD_MODEL "weights_q4.h"
#define BOARD_PACKED
#include "decode.c"
