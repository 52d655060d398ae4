/* bench threads --simulate N: what N threads could gain on a quiet machine. */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "shapes.h"

/* Plans each model for N threads, times every chunk of a step on one thread, and deals the chunks
 * out in order to the thread that is free first. Each entry that threads share costs one barrier,
 * and each team one start. The bandwidth limits arrays of 8 MiB or more. Prints the speed-up over a
 * plan for one thread, the rounds that lose most, and the serial rest.
 *
 * Times are the least of the rounds, in processor time of the thread, so a busy machine changes
 * them little. It cannot see caches that threads share, nor clocks that fall as cores wake. */
void bench_simulate(const shape *list, int n);
#endif
