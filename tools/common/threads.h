/* Threads for the hook of tfnorm.h where OpenMP is missing: pthreads or Win32. Include it before
 * the implementation; link with -pthread where the C library asks for it.
 * A region starts its threads and joins them. It runs once per forward and once per backward, so
 * the start is negligible next to the work. If a thread cannot be started, the caller does its
 * work. */
#ifndef TFN_THREADS_H
#define TFN_THREADS_H

#ifdef _WIN32
#include <windows.h>
typedef HANDLE tfn_thread;
typedef SRWLOCK tfn_lock;
#define TFN_LOCK SRWLOCK_INIT
static inline void tfn_lock_take(tfn_lock *l) { AcquireSRWLockExclusive(l); }
static inline void tfn_lock_give(tfn_lock *l) { ReleaseSRWLockExclusive(l); }
static inline void tfn_thread_yield(void) { Sleep(0); }
#else
#include <pthread.h>
#include <sched.h>
static inline void tfn_thread_yield(void) { sched_yield(); }
typedef pthread_t tfn_thread;
typedef pthread_mutex_t tfn_lock;
#define TFN_LOCK PTHREAD_MUTEX_INITIALIZER
static inline void tfn_lock_take(tfn_lock *l) { pthread_mutex_lock(l); }
static inline void tfn_lock_give(tfn_lock *l) { pthread_mutex_unlock(l); }
#endif

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
#define TFNORM_PARALLEL_FOR(threads, run, context) tfn_threads_run(threads, run, context)

#endif
