/* A contest measures our time, the limit of the machine and the times of the peers alternately, and
 * prints a line for people or for programs. Also offers the common parts of all benches: time,
 * memory, random numbers. */
#ifndef CONTEST_H
#define CONTEST_H

#include "../../tfnorm.h"
#include "peer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- time ---------------------------------------------------------------------------------- */

double now(void);
double median(double *v, int n);

/* Seconds per call, over enough calls that the clock's resolution does not matter; *calls 0: find
 * their number. */
typedef void job_fn(void *context);
double time_job(job_fn *job, void *context, int *calls);

/* -- rows: ours, the limit and the peers alternately ------------------------------------------ */

enum { GFLOPS, GBYTES, MBYTES, SENTENCES };

typedef struct contest {
    const char *bench, *name, *isa;
    double (*ours)(void *job);                    /* seconds */
    double (*theirs)(void *job, peer *p);         /* NULL: no peers; < 0: no answer */
    double (*limit)(void *job);                   /* the largest possible rate, or NULL */
    void   *job;
    double  amount;                               /* operations, bytes or sentences */
    int     unit;
    struct {                                      /* another number, if it has a text */
        const char *text, *key;
        double amount;                            /* divided by the seconds; `times`: multiplied */
        bool   times;
    } more;
} contest;

/* The result: medians, and for every peer the lower quartile of theirs / ours. */
typedef struct outcome { double seconds, part, theirs[PEERS], ratio[PEERS]; } outcome;

bool wanted(const char *name);

outcome compete(const contest *c, peer *peers, int count);

void fail(const char *what, const char *error);
void must_be_ok(const char *what, const tfn_error *e);
void *need(void *p);
/* Random floats that begin at a cache line, like a model's and PyTorch's arrays. malloc's pointer
 * is stored in front of them. */
float *random_floats(ptrdiff_t n, uint64_t seed);
void free_floats(float *p);

/* PyTorch as installed, and tuned for the instruction set in use; on one thread, like ours. */
int torch_peers(peer *p);
#endif
