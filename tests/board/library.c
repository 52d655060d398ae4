/* The header for check.c and train.c, compiled once a board; linkers drop what neither calls. */
#include "config.h"
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
