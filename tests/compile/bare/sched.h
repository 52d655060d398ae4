/* What the header wants of <sched.h>, for builds without a C library. */
#ifndef BARE_SCHED_H
#define BARE_SCHED_H
int sched_yield(void);
#endif
