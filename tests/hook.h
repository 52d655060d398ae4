/* Threads for the tests: OpenMP if it is on, else tools/common/threads.h if it links without an
 * option (glibc before 2.34 needs -pthread). Include it before tfnorm.h. */
#ifndef HOOK_H
#define HOOK_H
#include <stdlib.h>
#ifndef TFN__ALWAYS_TEAMS
#define TFN__ALWAYS_TEAMS 1             /* the small models of tests run on all threads */
#endif
#if defined __GLIBC__ && __GLIBC__ == 2 && __GLIBC_MINOR__ < 34
#define HOOK_OLD_GLIBC
#endif
#if !defined _OPENMP && !defined HOOK_OLD_GLIBC && !defined TEST_LINKED
#include "../tools/common/threads.h"
#undef TFNORM_PARALLEL_COUNT            /* also while other tests need the processors */
#endif
/* The number of threads to use; 1 in a build without threads, where a model refuses more. */
#if (defined __GNUC__ || defined __clang__) && (defined _OPENMP || !defined HOOK_OLD_GLIBC)
#define HOOK_THREADS(n) (n)
#else
#define HOOK_THREADS(n) 1
#endif
#endif
