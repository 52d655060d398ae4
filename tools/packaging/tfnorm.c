/* The library that `make -C tools install` compiles: all of the header, with threads. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../common/threads.h"
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
