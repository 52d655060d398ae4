/* Measures everything that was asked for and is missing, the most expensive first, on several
 * threads. Offers the cost of a spec, which is known in advance. */
#ifndef LAB_WORK_H
#define LAB_WORK_H

#include "lab.h"
#include "lab_spec.h"
#include <stdbool.h>
#include <stdio.h>

/* Rough number of operations: 6 for a weight and token, and 4,000 for work between the products. A
 * look costs 8 steps plus separating the parts of each sub-layer. Fitted to the records of a full
 * run. */
double lab_cost(const lab_spec *s);

extern const double LAB_SECONDS;

/* Appends a record to the file. After a line that cannot be written, none is tried, and the program
 * fails at its end. */
void lab_keep(lab *l, const char *line);

/* Opens a file to append to. A line that an interruption cut remains a line by itself. */
FILE *lab_append(const char *path);

/* Measures everything that was asked for and is missing, the most expensive first. */
bool lab_work(lab *l);
#endif
