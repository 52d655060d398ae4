/* The whole header, and access to its private functions (lib.h): for a test that is compiled by
 * hand, and for programs that need one compile. library.mk makes the same from the parts. */
#include "lib_config.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef TEST_EXACT
#define TFNORM_EXACT
#endif
#define TFN__REFERENCE
#define TFNORM_ALL_ISA
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include "reference.h"
#ifdef TEST_LIBRARY
#define TEST_LINKED
#include "lib.h"
#endif

#include "inside/instances.c"
#include "inside/reading.c"
#include "inside/run.c"
#include "inside/metrics.c"
#include "inside/options.c"
#include "inside/generate.c"
#include "inside/trainer.c"
#include "inside/shared.c"
