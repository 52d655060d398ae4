/* Measures all that was asked for and is missing, the most expensive first, on several threads.
 * Offers the cost of a spec, which is known before it is measured. */
#ifndef LAB_WORK_H
#define LAB_WORK_H

#include "lab.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stdio.h>

/* Operations, roughly: 6 a weight and token, and 4,000 for what is between the products; a look
 * costs 8 steps, and taking each sub-layer's parts apart. Fitted to the records of a full run. */
double lab_cost(const lab_spec *s);

extern const double LAB_SECONDS;

/* A record more in the file. After one that is lost none is tried, and the program fails at its
 * end. */
void lab_keep(lab *l, const char *line);

/* A file that goes on. The line that an interruption cut stays a line of its own. */
FILE *lab_append(const char *path);

/* Measure all that was asked for and is not there, the costly first. */
bool lab_work(lab *l);
#endif
