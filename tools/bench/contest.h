/* A contest: our time, the limit of the machine and the times of the peers, measured in turn, as a
 * line for people or for programs. Also what all benches need: time, memory, random numbers. */
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

/* Seconds a call: of so many that the clock's grain is nothing; *calls 0: find out how many. */
typedef void job_fn(void *context);
double time_job(job_fn *job, void *context, int *calls);

/* -- rows: ours, the limit and the peers in turn ---------------------------------------------- */

enum { GFLOPS, GBYTES, MBYTES, SENTENCES };

typedef struct contest {
    const char *bench, *name, *isa;
    double (*ours)(void *job);                    /* seconds */
    double (*theirs)(void *job, peer *p);         /* NULL: nobody's; < 0: no answer */
    double (*limit)(void *job);                   /* amounts a second that are possible, or NULL */
    void   *job;
    double  amount;                               /* of operations, bytes, sentences */
    int     unit;
    struct {                                      /* one more number, if it has a text */
        const char *text, *key;
        double amount;                            /* a second, or times the seconds */
        bool   times;
    } more;
} contest;

/* What a contest found: medians, and for every peer the lower quartile of theirs / ours. */
typedef struct outcome { double seconds, part, theirs[PEERS], ratio[PEERS]; } outcome;

bool wanted(const char *name);

outcome compete(const contest *c, peer *peers, int count);

void fail(const char *what, const char *error);
void must_be_ok(const char *what, const tfn_error *e);
void *need(void *p);
/* On a cache line, as a model's arrays are, and PyTorch's; what malloc gave stands before them. */
float *random_floats(ptrdiff_t n, uint64_t seed);
void free_floats(float *p);

/* PyTorch as installed, and tuned for the instruction set in use; on one thread, as ours. */
int torch_peers(peer *p);
#endif
