/* Training: the loop; its messages, plots and files; and its checks for mistakes. */
#ifndef TRAINER_H
#define TRAINER_H

#include "../../tfnorm.h"
#include "budget.h"
#include "models.h"
#include "options.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { GROUPS = 64, PARTS = 150, VALIDS = 1000 };
typedef struct trainer {
    settings   *s;
    bundle      b;
    corpus      data, valid;
    const char *out;
    char        best[1024];             /* OUT.best: the weights with the least validation loss */
    double      best_valid;             /* the least validation loss */
    int64_t     best_step;
    int64_t     position, steps, first; /* batches seen; in all; seen when the program began */
    bool        terminal, colored, warned, validated;
    double      began, shown;           /* seconds */
    double      opened[CLOCKS];         /* the clocks when the program began */
    double      minutes;                /* asked for by --minutes; 0: none */
    double      first_loss;
    double      loss_sum, unigram, last_valid;
    double      before;                 /* the validation before the last one */
    int64_t     loss_count, tokens, skipped;
    int64_t     good;                   /* position of the last good validation */
    FILE       *log;
    char        log_path[1024];
    bool        csv, log_lost;
    int         groups;
    char        group[GROUPS][24];      /* "encoder.3" */
} trainer;

/* -- saving ------------------------------------------------------------------------------------ */

/* OUT with a word before its last dot: "m.1000.safetensors", "m.best.safetensors". */
void kept_name(char *to, size_t room, const char *out, const char *word);

void remove_stale(const char *out);

/* -- the run ----------------------------------------------------------------------------------- */

void step(trainer *t, tfn_report *r);

/* Takes the architecture of --from where the arguments leave it open. */
void take_arch(settings *s);

void prepare(trainer *t, bool resumed);

/* Until run() begins, Ctrl-C, SIGTERM and SIGHUP end the program with a message: there is nothing
 * to save yet. */
void catch_early_signals(void);

/* Trains to the end or to Ctrl-C. Returns the program's exit code. */
int run(trainer *t);
#endif
