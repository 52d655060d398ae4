/* Threads for the tests: OpenMP if it is on, else tools/threads.h where it links without an option
 * (glibc before 2.34 wants -pthread). Comes before tfnorm.h. */
#ifndef HOOK_H
#define HOOK_H
#include <stdlib.h>
#if defined __GLIBC__ && __GLIBC__ == 2 && __GLIBC_MINOR__ < 34
#define HOOK_OLD_GLIBC
#endif
#if !defined _OPENMP && !defined HOOK_OLD_GLIBC
#include "../tools/threads.h"
#endif
#endif
