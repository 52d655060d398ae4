/* The part of <sched.h> that the header uses, for builds without a C library. */
#ifndef BARE_SCHED_H
#define BARE_SCHED_H
int sched_yield(void);
#endif
