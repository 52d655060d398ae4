/* The processors that this process may use. */
#ifndef PROCESSORS_H
#define PROCESSORS_H

/* Returns n, or fewer if the affinity of the process (taskset) or the quota of its control group (a
 * container) allows fewer; at least 1. More threads than that only wait for each other. */
long processors_allowed(long n);
#endif
