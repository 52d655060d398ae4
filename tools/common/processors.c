/* Limits of a process on Linux; other systems allow all processors. */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                     /* sched_getaffinity */
#endif
#endif
#include "processors.h"
#include <stdio.h>
#ifdef __linux__
#include <sched.h>

/* Reads a whole number from a file; 0: there is none, or it says "max". */
static long number_in(const char *path)
{
    long n = 0;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%ld", &n) != 1) n = 0;
    fclose(f);
    return n;
}

/* Processors of the quota, or 0 without one. cgroup v2 has cpu.max, cgroup v1 the other files. */
static long quota(void)
{
    long most = 0;
    long each = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (f) {
        if (fscanf(f, "%ld %ld", &most, &each) != 2) most = 0;
        fclose(f);
    } else {
        most = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        each = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    }
    if (most < 1 || each < 1) return 0;
    return most < each ? 1 : most / each;
}
#endif

long processors_allowed(long n)
{
#ifdef __linux__
    const long limit = quota();
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < n) n = CPU_COUNT(&set);
    if (limit > 0 && limit < n) n = limit;
#endif
    return n < 1 ? 1 : n;
}
