/* Runs programs as processes and reads the losses that they print. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "learn.h"
#include "../common/data.h"
#include "../common/output.h"
#include "contest.h"
#include "option.h"
#include "peer.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined __unix__ || defined __APPLE__
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEARN_POINTS = 5, LEARN_STEPS = 2000 };       /* questions to PyTorch; nanoGPT's updates */

typedef struct learn_files { char train[300], valid[300], model[300], said[300]; } learn_files;

static void learn_print(const char *name, double seconds, double loss, bool json)
{
    if (json)
        printf("{\"bench\":\"learn\",\"name\":\"%s\",\"seconds\":%.2f,\"nats\":%.4f,"
               "\"bits\":%.4f}\n", name, seconds, loss, loss / log(2));
    else printf("%-24s %8.1f s   %.4f nats/byte   %.4f bits/byte\n", name, seconds, loss,
                loss / log(2));
    if (!output_flush()) exit(output_code());
}

static bool learn_write(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    n -= fwrite(bytes, 1, n, f);
    return !fclose(f) && !n;
}

/* Writes the text as two files; false: they cannot be written. */
static bool learn_split(learn_files *x, const data_file *text)
{
    const size_t train = text->size * 9 / 10;
    memset(x, 0, sizeof *x);
    if (!peer_file(x->train, sizeof x->train) || !peer_file(x->valid, sizeof x->valid) ||
        !peer_file(x->model, sizeof x->model) || !peer_file(x->said, sizeof x->said))
        return false;
    return learn_write(x->train, text->bytes, train) &&
           learn_write(x->valid, text->bytes + train, text->size - train);
}

static void learn_remove(const learn_files *x)
{
    char best[310];
    snprintf(best, sizeof best, "%s.best", x->model);
    remove(x->train);
    remove(x->valid);
    remove(x->model);
    remove(x->said);
    remove(best);
}

/* Runs a program with its standard output in a file. Returns its processor seconds; negative: it
 * failed. */
static double learn_run(const char *const argv[], const char *said)
{
    struct rusage before, after;
    int status = -1;
    pid_t child;
    getrusage(RUSAGE_CHILDREN, &before);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        const int f = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (f >= 0 && dup2(f, 1) >= 0) execv(argv[0], (char **)argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) return -1;
    getrusage(RUSAGE_CHILDREN, &after);
    return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
           (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
           1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
           1e-6 * (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec);
}

/* Reads the bits per byte in the output of `tfn eval`; negative: none. */
static double learn_bits(const char *said)
{
    char line[200];
    double bits = -1;
    FILE *f = fopen(said, "r");
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) sscanf(line, "bits/byte %lf", &bits);
    fclose(f);
    return bits;
}

/* Total seconds of PyTorch, with a line for each fifth of its updates; negative: no answer. */
static double learn_peer(peer *p, const learn_files *x, bool json)
{
    char question[700], line[100];
    double seconds = -1;
    double loss;
    snprintf(question, sizeof question, "learn %s %s %d", x->train, x->valid,
             LEARN_STEPS / LEARN_POINTS);
    for (int i = 0; i < LEARN_POINTS; i++) {
        if (!peer_tell(p, question, line, sizeof line)) return -1;
        if (sscanf(line, "%lf %lf", &seconds, &loss) != 2) return -1;
        learn_print(p->name, seconds, loss, json);
    }
    return seconds;
}

/* Trains for some minutes with this seed, and evaluates all held-out text. */
static bool learn_ours(const char *tfn, const learn_files *x, double minutes, int seed, bool json)
{
    char budget[32], number[16], name[64];
    const char *const train[] = { tfn, "train", x->train, "--valid", x->valid, "--minutes", budget,
                                  "--seed", number, "--threads", "1", "--quiet", "--force", "--out",
                                  x->model, NULL };
    const char *const eval[] = { tfn, "eval", x->model, x->valid, "--threads", "1", NULL };
    double seconds, bits;
    snprintf(budget, sizeof budget, "%.4g", minutes);
    snprintf(number, sizeof number, "%d", seed);
    snprintf(name, sizeof name, "tfn, seed %d", seed);
    seconds = learn_run(train, x->said);
    if (seconds < 0 || learn_run(eval, x->said) < 0) return false;
    bits = learn_bits(x->said);
    if (bits < 0) return false;
    learn_print(name, seconds, bits * log(2), json);
    return true;
}

#endif
void bench_learn(const char *path)
{
#if defined __unix__ || defined __APPLE__
    peer peers[PEERS];
    const int count = torch_peers(peers);
    const int seeds = option.quick ? 1 : 3;
    double minutes = option.minutes;
    learn_files files;
    data_file text;
    if (!path) fail("learn", "needs a file of text");
    if (!data_read(&text, path)) fail("text", text.error);
    if (!learn_split(&files, &text)) {
        learn_remove(&files);
        fail("learn", "its files cannot be written");
    }
    if (count) {                                /* the last one is tuned for this processor */
        const double seconds = learn_peer(&peers[count - 1], &files, option.json);
        if (minutes <= 0) minutes = seconds / 60;
    }
    if (minutes <= 0) minutes = 3.3;
    for (int seed = 1; seed <= seeds; seed++)
        if (!learn_ours(option.tfn, &files, minutes, seed, option.json)) {
            learn_remove(&files);
            fail(option.tfn, "did not train");
        }
    learn_remove(&files);
    data_file_free(&text);
#else
    (void)path;
    fail("learn", "needs a system with processes");
#endif
}
