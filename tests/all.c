/* cc -O2 tests/all.c -o all -lm && ./all [NAME ...]
 * Runs the core tests as one program: all files of all_list.h, or only the named ones. check.h
 * renames the main of each file. A name that is not in the list is an error. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE         /* MAP_ANONYMOUS, before any header */
#endif
#define TESTS_ALL
#include "lib.h"
#include "check.h"
#include "all_list.h"

#define ALL_MOST 64                     /* names on the command line */
static bool all_found[ALL_MOST];

static bool all_wants(int argc, char **argv, const char *name)
{
    bool wants = argc < 2;
    for (int i = 1; i < argc && i < ALL_MOST; i++) {
        if (strcmp(argv[i], name)) continue;
        all_found[i] = true;
        wants = true;
    }
    return wants;
}

int main(int argc, char **argv)
{
#define ALL_CALLS
#include "all_list.h"
    for (int i = 1; i < argc; i++) {
        if (i < ALL_MOST && all_found[i]) continue;
        printf("FAILED all: no file %s\n", argv[i]);
        check_failed++;
    }
    return CHECK_TALLY();
}
