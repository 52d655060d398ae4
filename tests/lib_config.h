/* What comes before the first line of each part that library.mk compiles: threads, and in the build in
 * double `float` is double, which no header of the system may see. */
#include "hook.h"
#ifdef TFN__DOUBLE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define float double
#endif
