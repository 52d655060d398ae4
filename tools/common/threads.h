/* Threads for the hook of tfnorm.h where OpenMP is missing: pthreads or Win32. Include it before
 * the implementation; link with -pthread where the C library asks for it.
 *
 * tfn_threads_run starts threads and joins them, for work that takes seconds. TFNORM_PARALLEL_FOR
 * calls tfn_workers_run, which keeps its threads: a training step has several regions of a few
 * milliseconds, and starting and joining a thread would add 0.1 to 0.4 ms to each. After a region
 * these workers spin for about 0.1 ms, longer than the time between two regions of a step, and then
 * sleep. They live until the process ends or tfn_workers_stop ends them. Call it before you unload
 * a library that contains them, and at the end of a program that a memory checker looks at.
 *
 * The caller starts its own part at once. Then it also runs the parts of workers that have not
 * begun. If the threads share their work through a queue, such a part finds the queue empty. So the
 * caller never waits for a worker that the system has not scheduled yet, that could not be started,
 * or that a fork has lost.
 *
 * It does wait for a worker that the system suspends in the middle of its part, because another
 * program needs the processor. Such a wait takes some milliseconds, as long as a step of a small
 * model. After a region in which a worker was suspended for most of the time, the caller runs the
 * regions of the next milliseconds by itself, longer each time that this happens again. */
#ifndef TFN_THREADS_H
#define TFN_THREADS_H

#ifdef _WIN32
#include <windows.h>
typedef HANDLE tfn_thread;
typedef SRWLOCK tfn_lock;
typedef CONDITION_VARIABLE tfn_signal;
#define TFN_LOCK SRWLOCK_INIT
#define TFN_SIGNAL CONDITION_VARIABLE_INIT
static inline void tfn_lock_take(tfn_lock *l) { AcquireSRWLockExclusive(l); }
static inline void tfn_lock_give(tfn_lock *l) { ReleaseSRWLockExclusive(l); }
static inline void tfn_signal_wait(tfn_signal *s, tfn_lock *l)
{
    SleepConditionVariableSRW(s, l, INFINITE, 0);
}
static inline void tfn_signal_send(tfn_signal *s) { WakeConditionVariable(s); }
static inline void tfn_thread_yield(void) { Sleep(0); }
#else
#include <pthread.h>
#include <sched.h>
static inline void tfn_thread_yield(void) { sched_yield(); }
typedef pthread_t tfn_thread;
typedef pthread_mutex_t tfn_lock;
typedef pthread_cond_t tfn_signal;
#define TFN_LOCK PTHREAD_MUTEX_INITIALIZER
#define TFN_SIGNAL PTHREAD_COND_INITIALIZER
static inline void tfn_lock_take(tfn_lock *l) { pthread_mutex_lock(l); }
static inline void tfn_lock_give(tfn_lock *l) { pthread_mutex_unlock(l); }
static inline void tfn_signal_wait(tfn_signal *s, tfn_lock *l) { pthread_cond_wait(s, l); }
static inline void tfn_signal_send(tfn_signal *s) { pthread_cond_signal(s); }
#endif

#include <time.h>

#define TFN_THREADS_MAX 64

typedef struct tfn_thread_job {
    void (*run)(void *context, int index);
    void  *context;
    int    index, started;
    tfn_thread thread;
} tfn_thread_job;

#ifdef _WIN32
static DWORD WINAPI tfn_thread_main(LPVOID p)
{
    tfn_thread_job *job = (tfn_thread_job *)p;
    job->run(job->context, job->index);
    return 0;
}
static inline int tfn_thread_start(tfn_thread_job *job)
{
    return (job->thread = CreateThread(NULL, 0, tfn_thread_main, job, 0, NULL)) != NULL;
}
static inline void tfn_thread_join(tfn_thread_job *job)
{
    WaitForSingleObject(job->thread, INFINITE);
    CloseHandle(job->thread);
}
#else
static void *tfn_thread_main(void *p)
{
    tfn_thread_job *job = (tfn_thread_job *)p;
    job->run(job->context, job->index);
    return NULL;
}
static inline int tfn_thread_start(tfn_thread_job *job)
{
    return pthread_create(&job->thread, NULL, tfn_thread_main, job) == 0;
}
static inline void tfn_thread_join(tfn_thread_job *job) { pthread_join(job->thread, NULL); }
#endif

/* Calls run(context, i) for i in 0 .. threads-1 in parallel; index 0 on the caller's thread. */
static inline void tfn_threads_run(int threads, void (*run)(void *, int), void *context)
{
    tfn_thread_job jobs[TFN_THREADS_MAX];
    int n = threads < TFN_THREADS_MAX ? threads : TFN_THREADS_MAX;
    for (int i = 1; i < n; i++) {
        jobs[i].run = run;
        jobs[i].context = context;
        jobs[i].index = i;
        jobs[i].started = tfn_thread_start(&jobs[i]);
    }
    run(context, 0);
    for (int i = 1; i < threads; i++)
        if (i < n && jobs[i].started) tfn_thread_join(&jobs[i]);
        else run(context, i);
}

#ifdef __GNUC__
/* -- persistent workers ------------------------------------------------------------------------ */

/* The state of a worker. The caller sets OFFERED to hand over a part, FREE to withdraw the offer,
 * and AWAITED before it sleeps until the worker has finished. The worker sets RUNS when it begins,
 * FREE when it has finished, and ASLEEP before it sleeps. */
enum { TFN_WORKER_FREE, TFN_WORKER_ASLEEP, TFN_WORKER_OFFERED, TFN_WORKER_RUNS,
       TFN_WORKER_AWAITED };

/* A worker was preempted if it was suspended for more than PREEMPTED ns, and for more than half of
 * the time that it ran. In a region of more than LONG ns it still helps if another program leaves
 * it half of its processor, so there the limit is twice the time that it ran. After a region with
 * a preempted worker, or with one that did not begin within PREEMPTED ns, all workers rest for
 * REST_LEAST to REST_MOST ns. */
enum { TFN_WORKER_PREEMPTED = 500000, TFN_WORKER_LONG = 100000000,
       TFN_REST_LEAST = 8000000, TFN_REST_MOST = 512000000 };

/* How many times a worker polls for work before it sleeps, after how many polls it yields the
 * processor (the caller may need it), and how many times a caller polls a running worker before it
 * sleeps. */
enum { TFN_WORKER_SPINS = 4000, TFN_WORKER_YIELDS = 64, TFN_CALLER_SPINS = 1000 };

typedef struct tfn_worker {
    int state;
    int lives;                      /* 1: its thread has started, -1: that failed, 0: not tried */
    tfn_thread_job life, part;      /* the worker's thread; its part of the current region */
    tfn_lock   lock;                /* held to fall asleep and to wake */
    tfn_signal signal;
    int        preempted;           /* 1: the last part was */
    char       line[64];            /* keeps the next worker's state in another cache line */
} tfn_worker;

typedef struct tfn_workers {
    int        busy;                /* 1: a region is running on these workers */
    long long  rest;                /* ns of the last rest, or 0 */
    unsigned   rested;              /* ms of the clock when it ends, or 0 */
    tfn_worker worker[TFN_THREADS_MAX];
} tfn_workers;

static inline tfn_workers *tfn_workers_all(void)
{
    static tfn_workers all;
    return &all;
}

static inline void tfn_pause(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

static inline int tfn_worker_state(tfn_worker *w)
{
    return __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);
}
/* Changes the state from `from` to `to`. Returns 0 if the state is another one. */
static inline int tfn_worker_turns(tfn_worker *w, int from, int to)
{
    return __atomic_compare_exchange_n(&w->state, &from, to, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* If the state is `from`, changes it to `to` and sleeps until it changes again. */
static inline void tfn_worker_sleep(tfn_worker *w, int from, int to)
{
    tfn_lock_take(&w->lock);
    if (tfn_worker_turns(w, from, to))
        while (tfn_worker_state(w) == to) tfn_signal_wait(&w->signal, &w->lock);
    tfn_lock_give(&w->lock);
}
/* Sets the state. Wakes the thread that sleeps on this worker if the state was `sleeping`. */
static inline void tfn_worker_set(tfn_worker *w, int state, int sleeping)
{
    if (__atomic_exchange_n(&w->state, state, __ATOMIC_ACQ_REL) != sleeping) return;
    tfn_lock_take(&w->lock);
    tfn_signal_send(&w->signal);
    tfn_lock_give(&w->lock);
}

/* Nanoseconds: of the clock, and of this thread on a processor. Both are 0 where the system cannot
 * tell, and no worker counts as preempted then. MinGW has these clocks only in a library. */
#if defined CLOCK_MONOTONIC && defined CLOCK_THREAD_CPUTIME_ID && !defined _WIN32
static inline long long tfn_clock_read(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t)) return 0;
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline long long tfn_clock(void) { return tfn_clock_read(CLOCK_MONOTONIC); }
static inline long long tfn_thread_clock(void) { return tfn_clock_read(CLOCK_THREAD_CPUTIME_ID); }
#else
static inline long long tfn_clock(void) { return 0; }
static inline long long tfn_thread_clock(void) { return 0; }
#endif

/* Runs a worker's part, and notes whether the worker was preempted. */
static inline void tfn_worker_part(tfn_worker *w)
{
    const long long begun = tfn_clock();
    const long long ran = tfn_thread_clock();
    long long all, mine, most;
    w->part.run(w->part.context, w->part.index);
    mine = tfn_thread_clock() - ran;
    all = tfn_clock() - begun;
    most = all > TFN_WORKER_LONG ? 2 * mine : mine / 2;
    w->preempted = all - mine > TFN_WORKER_PREEMPTED && all - mine > most;
}

static inline void tfn_worker_lives(void *worker, int index)
{
    tfn_worker *w = (tfn_worker *)worker;
    int spins = 0;
    (void)index;
    for (;;) {
        if (tfn_worker_state(w) == TFN_WORKER_OFFERED
            && tfn_worker_turns(w, TFN_WORKER_OFFERED, TFN_WORKER_RUNS)) {
            if (!w->part.run) return;               /* from tfn_workers_stop */
            tfn_worker_part(w);
            tfn_worker_set(w, TFN_WORKER_FREE, TFN_WORKER_AWAITED);
            spins = 0;
        } else if (spins < TFN_WORKER_SPINS) {
            tfn_pause();
            if (++spins % TFN_WORKER_YIELDS == 0) tfn_thread_yield();
        } else {
            tfn_worker_sleep(w, TFN_WORKER_FREE, TFN_WORKER_ASLEEP);
            spins = 0;
        }
    }
}

/* Starts a worker's thread unless that was tried before. Returns 0 if the worker has no thread. */
static inline int tfn_worker_started(tfn_worker *w)
{
    static const tfn_lock lock = TFN_LOCK;
    static const tfn_signal signal = TFN_SIGNAL;
    if (w->lives) return w->lives > 0;
    w->lock = lock;
    w->signal = signal;
    w->life.run = tfn_worker_lives;
    w->life.context = w;
    w->lives = -1;
    if (tfn_thread_start(&w->life)) w->lives = 1;
    return w->lives > 0;
}

/* Offers part `index` of a region to a worker. */
static inline void tfn_worker_offer(tfn_worker *w, void (*run)(void *, int), void *context,
                                    int index)
{
    w->part.run = run;
    w->part.context = context;
    w->part.index = index;
    w->preempted = 0;
    tfn_worker_set(w, TFN_WORKER_OFFERED, TFN_WORKER_ASLEEP);
}

/* Waits until a worker has finished its part. If the worker has not begun, withdraws the offer and
 * returns 0: the caller must run the part. */
static inline int tfn_worker_done(tfn_worker *w)
{
    if (tfn_worker_turns(w, TFN_WORKER_OFFERED, TFN_WORKER_FREE)) return 0;
    for (int i = 0; i < TFN_CALLER_SPINS; i++) {
        if (tfn_worker_state(w) != TFN_WORKER_RUNS) return 1;
        tfn_pause();
    }
    tfn_worker_sleep(w, TFN_WORKER_RUNS, TFN_WORKER_AWAITED);
    return 1;
}

/* The clock after some ns more, in ms: 32 bits, which all machines store at once. */
static inline unsigned tfn_clock_ms(long long ns)
{
    return (unsigned)((tfn_clock() + ns) / 1000000);
}

/* Begins a rest if a worker was preempted in a region, else shortens the next one. */
static inline void tfn_workers_note(tfn_workers *all, int preempted)
{
    if (preempted) {
        all->rest *= 2;
        if (all->rest < TFN_REST_LEAST) all->rest = TFN_REST_LEAST;
        if (all->rest > TFN_REST_MOST) all->rest = TFN_REST_MOST;
        __atomic_store_n(&all->rested, tfn_clock_ms(all->rest) | 1, __ATOMIC_RELAXED);
    } else {
        all->rest -= all->rest / 16;
        __atomic_store_n(&all->rested, 0, __ATOMIC_RELAXED);
    }
}
/* Same as tfn_threads_run, on the persistent workers. If another thread is using them, starts new
 * threads. */
static inline void tfn_workers_run(int threads, void (*run)(void *, int), void *context)
{
    tfn_workers *all = tfn_workers_all();
    int n = threads < TFN_THREADS_MAX ? threads : TFN_THREADS_MAX;
    const long long begun = tfn_clock();
    int preempted = 0;
    if (__atomic_exchange_n(&all->busy, 1, __ATOMIC_ACQUIRE)) {
        tfn_threads_run(threads, run, context);
        return;
    }
    for (int i = 1; i < n; i++)
        if (tfn_worker_started(&all->worker[i]))
            tfn_worker_offer(&all->worker[i], run, context, i);
    run(context, 0);
    for (int i = 1; i < n; i++) {
        if (all->worker[i].lives > 0 && tfn_worker_done(&all->worker[i])) {
            preempted |= all->worker[i].preempted;
            continue;
        }
        preempted |= tfn_clock() - begun > TFN_WORKER_PREEMPTED;
        run(context, i);
    }
    tfn_workers_note(all, preempted);
    for (int i = n; i < threads; i++) run(context, i);
    __atomic_store_n(&all->busy, 0, __ATOMIC_RELEASE);
}

/* Returns how many of so many threads are worth starting now: 1 while the workers rest. */
static inline int tfn_workers_ready(int threads)
{
    const tfn_workers *all = tfn_workers_all();
    const unsigned rested = __atomic_load_n(&all->rested, __ATOMIC_RELAXED);
    return rested && (int)(tfn_clock_ms(0) - rested) < 0 ? 1 : threads;
}

/* Ends the persistent workers and waits for their threads. The next region starts new ones. Do not
 * call it in a child process after a fork, because only the parent has these threads. */
static inline void tfn_workers_stop(void)
{
    tfn_workers *all = tfn_workers_all();
    while (__atomic_exchange_n(&all->busy, 1, __ATOMIC_ACQUIRE)) tfn_thread_yield();
    for (int i = 1; i < TFN_THREADS_MAX; i++) {
        tfn_worker *w = &all->worker[i];
        if (w->lives > 0) {
            tfn_worker_offer(w, NULL, NULL, i);
            tfn_thread_join(&w->life);
        }
        w->state = TFN_WORKER_FREE;
        w->lives = 0;
    }
    __atomic_store_n(&all->busy, 0, __ATOMIC_RELEASE);
}
#else
#define tfn_workers_run tfn_threads_run
#define tfn_workers_ready(threads) (threads)
#define tfn_workers_stop() ((void)0)
#endif
#define TFNORM_PARALLEL_FOR(threads, run, context) tfn_workers_run(threads, run, context)
#define TFNORM_PARALLEL_COUNT(threads) tfn_workers_ready(threads)

#endif
