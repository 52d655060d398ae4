/* decode.c with the model of weights.c, its weights float32. */
#define BOARD_MODEL "weights_float32.h"
#include "decode.c"
