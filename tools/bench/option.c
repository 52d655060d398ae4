/* Set once, by the arguments in bench.c. */
#include "option.h"

struct bench_option option;
