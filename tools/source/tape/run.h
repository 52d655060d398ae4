#ifndef TFN__RUN_H
#define TFN__RUN_H
#include "../ground/ground.h"
#include "tape.h"

/* Runs a planned tape: the forward and the backward, on one thread or several. Offers the threads
 * to work outside a tape, such as an optimizer's update. Builds on plan. */

#ifdef TFN__TEAMS
/* A word that threads share. It is explicitly aligned, because 32-bit x86 aligns 8-byte integers to
 * 4 bytes, and clang would then call a library for atomics. */
typedef __attribute__((__aligned__(8))) uint64_t tfn__atomic;
#endif

/* A thread that does its share of work outside a tape. All threads call the same function, which
 * goes through the same list of arrays, and does TFN__EACH_PART of each. */
typedef struct tfn__worker {
#ifdef TFN__TEAMS
    tfn__atomic *queue;           /* the next part of all arrays, counted through the list */
    uint64_t taken, passed;       /* the part that it has taken; parts of the arrays so far */
    bool     alone;               /* one thread: an array is one part */
    bool     holds;               /* has taken a part and not done it */
#endif
    float   *work;                /* its scratch */
} tfn__worker;
typedef void tfn__share_fn(void *job, tfn__worker *w);

/* Numbers in a part of an array, a multiple of the 4,096 terms in a block of a flat sum; and the
 * least numbers for each thread, so that its start pays. */
enum { TFN__PART_FLOATS = 16384, TFN__SHARE_FLOATS = 32768 };

#ifdef TFN__TEAMS
/* Tests define it as 1, so that their small models run on several threads. */
#ifndef TFN__ALWAYS_TEAMS
#define TFN__ALWAYS_TEAMS 0
#endif
/* The most weights that stay in the caches of the cores between updates. */
enum { TFN__CACHED_WEIGHTS = 2097152 };
SHARED bool tfn__team_pays(const tfn_tape *t, const tfn_run *r);
SHARED int32_t tfn__sharers(int32_t threads, int64_t floats);
SHARED void tfn__share(int32_t threads, float *work, int64_t scratch, tfn__share_fn *f, void *job);
SHARED bool tfn__next_part(tfn__worker *w, tfn__range *s, ptrdiff_t n, ptrdiff_t step);
/* For each part s of an array of n items, `step` at a time, that falls to worker w. */
#define TFN__EACH_PART(w, s, n, step) while (tfn__next_part(w, &(s), n, step))
#else
/* Without threads the caller does the job, and all n items are one part. These are inline, so that
 * a small build has no code of them. */
static TFN__INLINE int32_t tfn__sharers(int32_t threads, int64_t floats)
{
    (void)threads;
    (void)floats;
    return 1;
}
static TFN__INLINE void tfn__share(int32_t threads, float *work, int64_t scratch, tfn__share_fn *f,
                                   void *job)
{
    tfn__worker w;
    (void)threads;
    (void)scratch;
    w.work = work;
    f(job, &w);
}
static TFN__INLINE bool tfn__whole(tfn__worker *w, tfn__range *s, ptrdiff_t n)
{
    (void)w;
    s->first = 0;
    s->count = n;
    return true;
}
#define TFN__EACH_PART(w, s, n, step)                                                            \
    for (bool part_ = tfn__whole(w, &(s), n); part_; part_ = false)
#endif

SHARED void tfn__make_call(tfn__call *c, const tfn_tape *t, const tfn_run *r, int32_t entry,
                           float *work);
SHARED void tfn__run_entries(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last);
#endif /* TFN__RUN_H */
