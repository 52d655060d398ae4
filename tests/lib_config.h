/* Comes before each part that library.mk compiles, and before the whole header in lib.c. Turns threads on.
 * In the build in double, `float` becomes double, which no system header may see. */
#include "hook.h"
extern int lib_always_teams;
#undef TFN__ALWAYS_TEAMS
#define TFN__ALWAYS_TEAMS lib_always_teams
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
