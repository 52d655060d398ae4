/* The cost of a measurement, and the threads that share the work. */
#include "lab_work.h"
#include "../common/output.h"
#include "../common/threads.h"
#include "lab_data.h"
#include "lab_run.h"
#include "lab_trace.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The length of a sentence in a stack, in tokens. */
static int32_t lab_stack_time(const lab_spec *s, bool decoder)
{
    if (lab_is_pair(s->task) && !decoder) return lab_tasks[s->task].source_time;
    return lab_time(s->task);
}

double lab_cost(const lab_spec *s)
{
    const double layer = (double)s->width * s->width * 4 + 2.0 * s->width * s->ffn;
    const bool looks = s->look || s->noise > 0 || s->step > 0;
    double step = 6.0 * s->width * lab_vocab(s) * lab_time(s->task);
    double parts = 0;
    double steps = ((double)s->stop * (1 + 6.0 / s->batch) + 4.0 * (double)s->tune + 20*s->score)
                 * (s->half ? 1.4 : 1) + 9*looks;
    if (s->trace)                       /* each product with the Hessian takes gradients */
        steps += 2.0 * LAB_SHARP_STEPS * LAB_SHARP_ROWS / s->batch * lab_trace_points(s->stop);
    const double passes = looks + s->each * 2.0 * (s->layers + 1);
    steps += s->each * 2.0 * (s->layers + 1);
    for (int side = 0; side < 2; side++) {
        const bool cross = side && lab_is_pair(s->task);
        const double layers = lab_depth(s, side);
        const double subs = layers * (cross ? 3 : 2);
        step += layers * (cross ? 1.4 : 1) * lab_stack_time(s, side) * (6 * layer + 4000);
        parts += 300 * subs*subs * lab_stack_time(s, side) * s->width;
    }
    return s->batch * (steps * step + parts * passes);
}

const double LAB_SECONDS = 2.1e-11;          /* for one operation, on Zen 4 */

typedef struct lab_jobs {
    lab         *l;
    lab_record **wanted;
    int32_t      count, next;       /* next, the file and the progress need the lock */
    tfn_lock     lock;
} lab_jobs;
static int lab_costlier(const void *a, const void *b)
{
    double x = lab_cost(&(*(lab_record *const *)a)->spec);
    double y = lab_cost(&(*(lab_record *const *)b)->spec);
    return (x < y) - (x > y);
}

/* Prints a line of progress. A narrow terminal gets less: without the record's name, then without
 * the time spent. The width is asked for each time because a window may be resized. */
static void lab_say_progress(double percent, double spent, double left, const char *key)
{
    char begin[64], middle[64], end[64];
    int columns = 10000;
    if (output_is_terminal(stderr)) columns = output_columns(stderr) - 1;
    snprintf(begin, sizeof begin, "normlab: %3.0f %%", percent);
    snprintf(middle, sizeof middle, ", %.0f s", spent);
    snprintf(end, sizeof end, ", about %.0f s left", left);
    const int needed = (int)(strlen(begin) + strlen(end));
    const int used = needed + (int)strlen(middle);
    if (used > columns) middle[0] = 0;
    if (needed > columns) end[0] = 0;
    fprintf(stderr, "%s%s%s", begin, middle, end);
    if (used + 8 <= columns) fprintf(stderr, ": %.*s", columns - used - 2, key);
    fputc('\n', stderr);
}

static void lab_progress(lab *l, const lab_record *r)
{
    const double spent = difftime(time(NULL), l->start);
    double left = 0;
    l->cost_done += lab_cost(&r->spec);
    if (l->cost_done > 0) left = spent * (l->cost - l->cost_done) / l->cost_done;
    lab_say_progress(100 * l->cost_done / l->cost, spent, left, r->key);
}

void lab_keep(lab *l, const char *line)
{
    if (!line || !l->out) return;
    errno = 0;
    if (fputs(line, l->out) >= 0 && fflush(l->out) == 0) return;
    l->lost = output_lost(l->file);
    fclose(l->out);
    l->out = NULL;
}

FILE *lab_append(const char *path)
{
    FILE *f = fopen(path, "rb");
    int last = '\n';
    if (f && !fseek(f, -1, SEEK_END)) last = getc(f);
    if (f) fclose(f);
    errno = 0;
    f = fopen(path, "ab");
    if (f && last != '\n') fputc('\n', f);
    return f;
}

/* A thread: takes the most expensive record that is left, until none is left. */
static void lab_job(void *context, int job)
{
    lab_jobs *w = (lab_jobs *)context;
    (void)job;
    tfn_lock_take(&w->lock);
    while (w->next < w->count) {
        lab_record *r = w->wanted[w->next++];
        char *line;
        tfn_lock_give(&w->lock);
        lab_run(r);
        line = lab_line(r);
        tfn_lock_take(&w->lock);
        lab_keep(w->l, line);
        free(line);
        r->done = true;
        lab_progress(w->l, r);
    }
    tfn_lock_give(&w->lock);
}

/* Sorts the missing records by cost and keeps every parts-th one for this machine. */
static void lab_take_part(lab_jobs *w, long part, long parts)
{
    int32_t kept = 0;
    qsort(w->wanted, (size_t)w->count, sizeof *w->wanted, lab_costlier);
    for (int32_t i = 0; i < w->count; i++)
        if (!parts || i % parts == part - 1) w->wanted[kept++] = w->wanted[i];
    w->count = kept;
}

bool lab_work(lab *l)
{
    lab_jobs w = { NULL, NULL, 0, 0, TFN_LOCK };
    w.l = l;
    w.wanted = (lab_record **)malloc((size_t)(l->count + 1) * sizeof *w.wanted);
    if (!w.wanted) return false;
    l->cost = l->cost_done = 0;
    l->start = time(NULL);
    for (int32_t i = 0; i < l->count; i++)
        if (!l->records[i]->done && !l->records[i]->left) {
            if (l->records[i]->spec.task == LAB_SPEECH && !lab_speak()) {
                free(w.wanted);
                return false;
            }
            w.wanted[w.count++] = l->records[i];
        }
    lab_take_part(&w, l->part, l->parts);
    for (int32_t i = 0; i < w.count; i++) l->cost += lab_cost(&w.wanted[i]->spec);
    if (w.count) {
        const double foretold = l->cost * LAB_SECONDS / l->jobs;
        if (output_is_terminal(stderr) && output_columns(stderr) < 80)
            fprintf(stderr, "normlab: %d measurements\nabout %.0f s on Zen 4\n", (int)w.count,
                    foretold);
        else
            fprintf(stderr, "normlab: %d measurements, %.3g operations, about %.0f s on Zen 4\n",
                    (int)w.count, l->cost, foretold);
        if (l->file) l->out = lab_append(l->file);
        if (l->file && !l->out) l->lost = output_lost(l->file);
        tfn_threads_run(l->jobs, lab_job, &w);
        if (l->out) fclose(l->out);
        l->out = NULL;
    }
    free(w.wanted);
    return true;
}
