/* The library, compiled once. */
#define TFNORM_IMPLEMENTATION
#include "tfnorm_board.h"
