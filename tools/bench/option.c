/* Set once, from the arguments in bench.c. */
#include "option.h"

struct bench_option option;
